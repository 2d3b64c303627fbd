// SPDX-License-Identifier: MIT
//
// Shared by the verify*.c files only. Everything may be wrong: no index is used before it was
// checked. Pointers with their lengths are the exception, there is no way to check them.
#ifndef SALTUS_IR_VERIFY_H
#define SALTUS_IR_VERIFY_H

#include "ir/internal.h"

/// What an expression gives; masks of what a slot may hold.
enum { VERIFY_NUMBER = 1, VERIFY_TRUTH = 2, VERIFY_EQUATION = 4, VERIFY_ANY = 3 };

/// What is known about a shape after its first use.
typedef struct VerifyShape {
  uint32_t need_begin, slot_count;  // in `needs`: what each slot must hold
  bool reads_time, reads_random;
} VerifyShape;

typedef struct Verify {
  const IrModel* model;
  Arena* arena;
  Str why;
  uint8_t* type;       // per node
  uint8_t* need;       // per node: what its users in the present shape want of it
  uint32_t* needed;    // per node: visit for which `need` holds
  uint32_t* opened;    // per node: visit in which it was last looked into
  uint32_t* shape_of;  // node -> shape + 1
  uint32_t visit;
  BASE_VEC(VerifyShape) shapes;
  BASE_VEC(uint8_t) needs;
  BASE_VEC(uint32_t) slots;
  BASE_VEC(uint32_t) stack;
} Verify;

/// What a term in a certain place may be.
typedef struct VerifyRule {
  const char* what;
  uint8_t type;
  uint8_t leaves;  // mask of 1 << IrLeafKind
  bool optional, when, random, time;
} VerifyRule;

/// Note what is broken and give false.
bool verify_fail(Verify* v, const char* format, ...) __attribute__((format(printf, 2, 3)));

bool verify_pool(Verify* v);
bool verify_term(Verify* v, const VerifyRule* rule, uint32_t index, IrTerm term);

bool verify_span(Verify* v, const char* what, uint32_t index, Span span);
/// `begin` is `*next`, and `count` more fit into `total`; `*next` moves behind them.
bool verify_range(Verify* v, const char* what, uint32_t index, uint32_t begin, uint32_t count,
                  uint32_t* next, uint32_t total);

bool verify_automata(Verify* v);

#endif

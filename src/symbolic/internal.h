// SPDX-License-Identifier: MIT
//
// Shared by the files of symbolic only.
#ifndef SALTUS_SYMBOLIC_INTERNAL_H
#define SALTUS_SYMBOLIC_INTERNAL_H

#include "symbolic/symbolic.h"

#define SYM_NO_EXPR ((ExprId){0})  // in sums and derivatives: zero

/// What is remembered about a shape.
typedef enum SymMemoKind {
  SYM_MEMO_SHAPE,       // pointer: SymShape
  SYM_MEMO_DERIVATIVE,  // key: slot
  SYM_MEMO_TOTAL,       // key: one byte per slot, 1 where it moves
  SYM_MEMO_SIMPLE,
  SYM_MEMO_SOLVE,    // key: slots; tag: SymSolution
  SYM_MEMO_PARTIAL,  // key: slots
  SYM_MEMO_REST      // key: slots; tag: whether there is an answer
} SymMemoKind;

typedef struct SymMemoEntry {
  uint64_t hash;
  const void* key;
  uint32_t key_size;
  uint32_t kind;  // SymMemoKind
  ExprId shape;
  // the answer
  ExprId expr;
  uint32_t tag;
  const void* pointer;
} SymMemoEntry;

/// The entry of (kind, shape, key), made when it is not there yet; `fresh` tells. A fresh entry is
/// entered by sym_memo_add only, so that running out of memory in between leaves nothing half done.
SymMemoEntry* sym_memo_find(Sym* sym, SymMemoKind kind, ExprId shape, const void* key,
                            uint32_t key_size);
SymMemoEntry* sym_memo_add(Sym* sym, SymMemoKind kind, ExprId shape, const void* key,
                           uint32_t key_size);

static inline const IrNode* sym_node(const Sym* sym, ExprId expr) {
  return &sym->view.pool.nodes.data[expr.index];
}

static inline bool sym_present(ExprId expr) {
  return expr.index != 0;
}

static inline ExprId sym_make1(Sym* sym, IrOp op, ExprId a) {
  return sym_make(sym, op, a, SYM_NO_EXPR, SYM_NO_EXPR);
}

static inline ExprId sym_make2(Sym* sym, IrOp op, ExprId a, ExprId b) {
  return sym_make(sym, op, a, b, SYM_NO_EXPR);
}

/// Work space with one expression per step of a shape, all zero.
ExprId* sym_work(Sym* sym, int which, uint32_t count);

/// Derivative of a laid out shape along `seeds` (per slot; zero where a slot stands still) and
/// `time_seed`. Zero (SYM_NO_EXPR) when nothing moves.
ExprId sym_tangent(Sym* sym, const SymShape* shape, const ExprId* seeds, ExprId time_seed);

// messages of a mode that cannot be solved (mode_fail.c)

typedef struct SymFailure {
  Sym* sym;
  Arena* scratch;
  const uint32_t* mode;
  const uint32_t* equations;  // of the mode; rows index them
  const uint32_t* columns;    // variable of each column
  const SymVar* vars;
} SymFailure;

const Diag* sym_fail_over(const SymFailure* failure, SymPart part);
const Diag* sym_fail_under(const SymFailure* failure, SymPart part);
const Diag* sym_fail_growth(const SymFailure* failure, uint32_t row, uint32_t times);
const Diag* sym_fail_index(const SymFailure* failure, SymPart part);
const Diag* sym_fail_loop(const SymFailure* failure, const int* rows, const int* columns,
                          uint32_t count);
const Diag* sym_fail_scalar(const SymFailure* failure, uint32_t row, uint32_t column,
                            SymSolution how);

// modes that need differentiation or simultaneous solution (mode_implicit.c)

typedef struct SymImplicit {
  Sym* sym;
  Arena* out;
  Arena* scratch;
  SymMode* mode;
  SymVar* vars;
  const uint32_t* columns;  // variable of each column
  const uint32_t* column_of_var;
  uint32_t column_count;
  const SymFailure* failure;
  SymPartner* partners;  // per equation; NULL: none
} SymImplicit;

/// Partners of the equations of a mode; NULL where there are none. Without `all`, only of those
/// that determine other quantities than their partners, in automata whose guards lead both ways.
SymPartner* sym_partners(Sym* sym, Arena* out, Arena* scratch, const uint32_t* equations,
                         uint32_t count, const uint32_t* mode, bool all);
/// Forget partners that stand alone: two of them must be coupled, or one with something that is
/// one too many (`redundant`, may be NULL), for the equations to lack rank. False: none is left.
bool sym_partners_meet(Arena* scratch, const SymIncidence* joined, const int* row_of_column,
                       const uint8_t* redundant, SymPartner* partners);
/// The pattern with the unknowns of the partners.
SymIncidence sym_join_partners(Sym* sym, Arena* scratch, const SymIncidence* tight,
                               const SymPartner* partners, const SymVar* vars,
                               const uint32_t* column_of_var);

/// Whether an equation may be one too many: never, if it finds no unknown of its own, always.
enum { SYM_OTHER, SYM_ELEMENT, SYM_COPY };

/// As sym_offsets() where rows marked in `element` may be too many: those without a column of their
/// own are marked in `redundant` and get columns that nothing else determines.
bool sym_offsets_redundant(Arena* scratch, const SymSignature* signature, const uint8_t* element,
                           int* c, int* d, int* row_of_column, uint8_t* redundant);
/// The pattern with redundant rows joined to everything that they leave open.
SymIncidence sym_join_redundant(Arena* scratch, const SymIncidence* tight, const int* row_of_column,
                                const uint8_t* redundant);

/// Fills the mode; every unknown can be paired with an equation in which it occurs in some order.
const Diag* sym_analyse_implicit(SymImplicit* a);

// tearing (tearing.c)

/// What stands before an unknown of a block in one of its equations.
typedef enum SymEntryKind {
  SYM_ENTRY_FIXED,   // numbers and parameters
  SYM_ENTRY_MOVES,   // anything but unknowns of the block
  SYM_ENTRY_UNKNOWN  // the equation cannot be solved for it
} SymEntryKind;

/// The coefficients of a block, members numbered from 0.
typedef struct SymPattern {
  const uint32_t* begin;  // row i has entries begin[i] .. begin[i + 1] - 1
  const uint32_t* columns;
  const uint8_t* kinds;  // SymEntryKind
} SymPattern;

/// Choose torn unknowns of a block, or none.
void sym_tear(Arena* out, Arena* scratch, const SymPattern* pattern, SymBlock* block);

#endif

// SPDX-License-Identifier: MIT
//
// Shared by the write*.c only.
#ifndef SALTUS_NATIVE_WRITE_H
#define SALTUS_NATIVE_WRITE_H

#include "native/native.h"

#define TEXT_MAX 40  // of an operand

// where the value of a register is
#define IN_PLACE  UINT32_MAX        // where the call left it: time, states, registers
#define IN_MEMORY (UINT32_MAX - 1)  // in the registers

typedef struct Writer {
  TextBuffer* out;
  const ModelProgram* program;
  uint32_t* where;  // per register: number of the variable, or one of the above
  uint32_t next;    // number of the next variable
  bool lanes;       // one of several points: k is its number
  bool body;        // inside the body of a block: everything comes from the registers
} Writer;

typedef struct Operand {
  char text[TEXT_MAX];
} Operand;

/// A number in C, to the bit; finite.
Operand native_number(double value);
/// The value of a register; may write a line that fetches it.
Operand native_operand(Writer* w, uint32_t reg);
void native_operation(Writer* w, const ModelInstr* pc);
/// Whether an instruction reads a register.
bool native_reads(const ModelInstr* pc, uint32_t reg);

/// A long program as loops over its repetitions; false, and nothing written, when it has too few.
bool native_write_rolled(Writer* w, uint32_t number);

/// Whether the block at `at` is linear and small enough to be solved in place.
bool native_is_inline(const ModelProgram* program, uint32_t at);
/// Its solution written out, with the operations and the order of model_solve().
void native_write_linear(Writer* w, uint32_t number, uint32_t at);
/// Put a register's value where the runtime and bodies look for it.
void native_spill(Writer* w, uint32_t reg);

#endif

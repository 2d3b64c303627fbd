// SPDX-License-Identifier: MIT
//
// Shared by the print*.c files only.
#ifndef SALTUS_IR_PRINT_H
#define SALTUS_IR_PRINT_H

#include "ir/internal.h"

/// A name as LISMA reads it: in backquotes unless it is a word, possibly with indices.
void ir_print_name(TextBuffer* out, Str name);
bool ir_name_is_plain(Str name);
/// `x`, `x'`, `x''`, `x'''`, `der(x, 4)`, ...
void ir_print_var(TextBuffer* out, const IrModel* model, uint32_t var, uint32_t order);
/// `main.flying`
void ir_print_state(TextBuffer* out, const IrModel* model, uint32_t automaton, uint32_t state);
/// Text of a place on one line; nothing when there is no such text.
bool ir_print_source(TextBuffer* out, const IrModel* model, Span span);
const char* ir_atom_type_text(uint32_t type);
const char* ir_atom_relation_text(uint32_t relation);

#endif

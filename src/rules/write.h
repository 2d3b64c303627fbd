// SPDX-License-Identifier: MIT
//
// Shared by the write_*.c files only: the model as LISMA text.
#ifndef SALTUS_RULES_WRITE_H
#define SALTUS_RULES_WRITE_H

#include "rules/rules.h"

typedef struct Writer {
  const RulesModel* m;
  Arena* arena;
  TextBuffer out;
  RulesMap* map;   // NULL: not wanted
  bool* assigned;  // logical states that some row of Situations sets
  bool plain;      // conditions in the words of the tables
} Writer;

/// What is written from here on comes from this place.
void write_mark(Writer* w, Span span);
void write_name(Writer* w, Str name);
/// Name of a helper of a rule: `target (rule label) part`.
Str write_helper_name(const Writer* w, const RulesRule* rule, const char* part);
void write_helper(Writer* w, const RulesRule* rule, const char* part);
void write_helper_index(Writer* w, const RulesRule* rule, const char* part, const char* index);
/// Note that a helper is no column of the results.
void write_hide(Writer* w, const RulesRule* rule, const char* part);
/// "automaton NAME {", and how people are told of it.
void write_automaton_as(Writer* w, RulesShown shown);
void write_state(Writer* w, uint32_t state);
void write_number(Writer* w, double value);
void write_expr(Writer* w, const RulesExpr* e);
/// The conjunction; "[1 > 0]" when it is empty.
void write_when(Writer* w, const RulesWhen* when);
bool write_is_always(const RulesWhen* when);

#define W(text) text_append_c(&w->out, (text))

/// Value of an algebraic rule, or the derivative it gives.
void write_value(Writer* w, const RulesRule* rule);
/// Helper equations of a rule: hidden states, schedules, automata.
void write_support(Writer* w, const RulesRule* rule);
/// Argument `i` of a rule.
void write_arg(Writer* w, const RulesRule* rule, uint32_t i);
void write_k_times_arg(Writer* w, const RulesRule* rule);
/// A parameter; 0 when absent.
void write_param(Writer* w, const RulesRule* rule, RulesParam param);

#endif

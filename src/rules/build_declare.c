// SPDX-License-Identifier: MIT
//
// Constants, states, predicates and situations.
#include "rules/read.h"

#include <math.h>
#include <string.h>

#define CONSTANT_LEVELS_MAX 200u  // constants that need constants that need ...

static CellScan scan_cell(Builder* b, const MergedRow* row, RulesColumn column) {
  return (CellScan){.r = b->r,
                    .table = row->table,
                    .row = row->row,
                    .column = column,
                    .cell = rules_cell(row->table, row->row, column)};
}

/// Give a name its meaning; false when it has one already or is no name.
static bool declare(Builder* b, const MergedRow* row, RulesColumn column, NameKind kind,
                    uint32_t index, Str* out) {
  CellScan scan = scan_cell(b, row, column);
  Str name = rules_cell_name(scan.cell);
  if (name.length == 0) {
    rules_report(b->r, DIAG_E1011, row->table, row->row, column, scan.cell.span,
                 "the name is missing");
    return false;
  }
  if (name.length > RULES_NAME_MAX || memchr(name.data, '`', name.length)) {
    rules_report(b->r, DIAG_E1013, row->table, row->row, column, scan.cell.span,
                 "a name has at most %u bytes and no backquote inside", RULES_NAME_MAX);
    return false;
  }
  static const char* const reserved = "time|время|evertrue|всегда|true|false|истина|ложь";
  if (rules_in_list(reserved, rules_fold(b->r->arena, name))) {
    rules_report(b->r, DIAG_E1013, row->table, row->row, column, scan.cell.span,
                 "'%.*s' has a meaning of its own and cannot be declared", STR_ARGS(name));
    return false;
  }
  uint32_t id = names_intern(&b->names, str_copy(b->r->arena, name));
  while (b->entries.count <= id)
    base_vec_push(b->r->arena, &b->entries, (NameEntry){0});
  if (b->entries.data[id].kind != NAME_NONE) {
    static const char* const words[] = {"", "a constant", "a state", "a predicate", "a situation"};
    rules_report(b->r, DIAG_E1014, row->table, row->row, column, scan.cell.span,
                 "'%.*s' is already %s", STR_ARGS(name), words[b->entries.data[id].kind]);
    return false;
  }
  b->entries.data[id] = (NameEntry){.kind = (uint8_t)kind, .index = index};
  *out = names_get(&b->names, id);
  return true;
}

// ---- constants
// ------------------------------------------------------------------------------------

static void declare_constants(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_CONSTANTS];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    RulesConstant constant = {.unit = rules_cell(row->table, row->row, COLUMN_UNIT).text,
                              .span = row->row->span};
    if (!declare(b, row, COLUMN_NAME, NAME_CONSTANT, b->m->constants.count, &constant.name)) {
      continue;
    }
    CellScan scan = scan_cell(b, row, COLUMN_VALUE);
    if (scan.cell.text.length == 0) {
      rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_VALUE, scan.cell.span,
                   "the value of '%.*s' is missing", STR_ARGS(constant.name));
    } else {
      constant.value = rules_parse_value(&scan);
    }
    base_vec_push(b->r->arena, &b->m->constants, constant);
  }
}

/// Values of constants; one that needs itself is told.
static double constant_value(Builder* b, const uint32_t* rows, uint8_t* state, uint32_t index,
                             uint32_t level) {
  RulesConstant* c = &b->m->constants.data[index];
  if (state[index] == 2) return c->number;
  if (state[index] == 1 || level > CONSTANT_LEVELS_MAX) {
    CellScan scan = scan_cell(b, &b->rows[RULES_SECTION_CONSTANTS].data[rows[index]], COLUMN_VALUE);
    rules_report(b->r, DIAG_E1015, scan.table, scan.row, COLUMN_VALUE, scan.cell.span,
                 state[index] == 1 ? "the value of '%.*s' depends on itself"
                                   : "the value of '%.*s' leads through too many constants",
                 STR_ARGS(c->name));
    state[index] = 2;
    c->value = NULL;
    return (double)NAN;
  }
  state[index] = 1;
  // walk the expression for the constants it needs first
  const RulesExpr* stack[RULES_DEPTH_MAX * 4];
  uint32_t depth = 0;
  if (c->value) stack[depth++] = c->value;
  while (depth > 0) {
    const RulesExpr* e = stack[--depth];
    if (e->op == RULES_OP_CONSTANT && state[e->index] != 2)
      constant_value(b, rows, state, e->index, level + 1);
    if (e->a && depth < SLT_COUNT(stack)) stack[depth++] = e->a;
    if (e->b && depth < SLT_COUNT(stack)) stack[depth++] = e->b;
  }
  c = &b->m->constants.data[index];
  c->number = c->value ? rules_constant_value(b->m, c->value) : (double)NAN;
  const RulesOptions* o = b->r->options;
  for (uint32_t i = 0; i < o->override_count; i++) {
    if (!str_equal(o->overrides[i].name, c->name)) continue;
    if (!isnan(o->overrides[i].value)) c->number = o->overrides[i].value;
    if (o->applied) o->applied[i] = true;
  }
  state[index] = 2;
  return c->number;
}

static void resolve_constants(Builder* b) {
  RulesModel* m = b->m;
  uint32_t count = m->constants.count;
  uint32_t* rows = ARENA_ARRAY(b->r->arena, uint32_t, count + 1);
  uint8_t* state = ARENA_ARRAY(b->r->arena, uint8_t, count + 1);
  const MergedRows* all = &b->rows[RULES_SECTION_CONSTANTS];
  for (uint32_t i = 0; i < all->count; i++) {
    NameEntry entry = rules_lookup(b, all->data[i].key);
    if (entry.kind == NAME_CONSTANT) rows[entry.index] = i;
  }
  for (uint32_t i = 0; i < count; i++) {
    CellScan scan = scan_cell(b, &all->data[rows[i]], COLUMN_VALUE);
    if (!rules_resolve(b, &scan, m->constants.data[i].value, true))
      m->constants.data[i].value = NULL;
  }
  for (uint32_t i = 0; i < count; i++)
    constant_value(b, rows, state, i, 0);
}

// ---- states
// ---------------------------------------------------------------------------------------

static void read_kind(Builder* b, const MergedRow* row, bool* logical) {
  CellScan scan = scan_cell(b, row, COLUMN_KIND);
  Str word = rules_fold(b->r->arena, scan.cell.text);
  *logical = rules_in_list("logical|boolean|discrete|логическая|логическое|дискретное", word);
  if (*logical || word.length == 0) return;
  if (rules_in_list("real|number|continuous|вещественная|вещественное|непрерывное|число", word)) {
    return;
  }
  Diag* diag = rules_report(b->r, DIAG_E1016, row->table, row->row, COLUMN_KIND, scan.cell.span,
                            "'%.*s' is no kind of state", STR_ARGS(scan.cell.text));
  diag_hint(b->r->diags, diag, "a state is 'real' or 'logical'");
  // its initial value shows what was meant, and one mistake is one message
  word = rules_fold(b->r->arena, rules_cell(row->table, row->row, COLUMN_INITIAL).text);
  *logical = rules_in_list("true|false|истина|ложь", word);
}

static void read_initial(Builder* b, const MergedRow* row, RulesState* state) {
  CellScan scan = scan_cell(b, row, COLUMN_INITIAL);
  if (scan.cell.text.length == 0) return;
  if (!state->logical) {
    state->initial = rules_parse_value(&scan);
    if (!rules_resolve(b, &scan, state->initial, true)) state->initial = NULL;
    if (state->initial) state->number = rules_constant_value(b->m, state->initial);
    return;
  }
  Str word = rules_fold(b->r->arena, scan.cell.text);
  if (rules_word_true(word)) {
    state->number = 1.0;
  } else if (!rules_word_false(word)) {
    Diag* diag =
        rules_report(b->r, DIAG_E1016, row->table, row->row, COLUMN_INITIAL, scan.cell.span,
                     "'%.*s' is neither true nor false", STR_ARGS(scan.cell.text));
    diag_hint(b->r->diags, diag, "a logical state begins as 'true' or 'false'");
  }
}

static void declare_states(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_STATES];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    RulesState state = {.unit = rules_cell(row->table, row->row, COLUMN_UNIT).text,
                        .span = row->row->span};
    if (!declare(b, row, COLUMN_NAME, NAME_STATE, b->m->states.count, &state.name)) continue;
    read_kind(b, row, &state.logical);
    read_initial(b, row, &state);
    base_vec_push(b->r->arena, &b->m->states, state);
  }
}

// ---- predicates
// -----------------------------------------------------------------------------------

static const RulesExpr* node(Builder* b, RulesOp op, const RulesExpr* x, const RulesExpr* y,
                             Span span) {
  RulesExpr* e = ARENA_NEW(b->r->arena, RulesExpr);
  *e = (RulesExpr){.op = (uint8_t)op, .a = x, .b = y, .span = span};
  return e;
}

/// A cell of the range form: a name or a value; an empty one is 0.
static const RulesExpr* range_cell(Builder* b, const MergedRow* row, RulesColumn column,
                                   bool* given) {
  CellScan scan = scan_cell(b, row, column);
  if (scan.cell.text.length == 0) return node(b, RULES_OP_NUMBER, NULL, NULL, row->row->span);
  *given = true;
  Str name = rules_cell_name(scan.cell);
  if (rules_lookup(b, name).kind != NAME_NONE) {
    RulesExpr* e = ARENA_NEW(b->r->arena, RulesExpr);
    *e = (RulesExpr){.op = RULES_OP_NAME, .name = name, .span = scan.cell.span};
    return rules_resolve(b, &scan, e, false) ? e : NULL;
  }
  const RulesExpr* e = rules_parse_value(&scan);
  return e && rules_resolve(b, &scan, e, false) ? e : NULL;
}

/// (x1 >= a + x2) and (x3 <= b + x4); a half whose cells are all empty is left out.
static const RulesExpr* range_relation(Builder* b, const MergedRow* row) {
  CellScan strict = scan_cell(b, row, COLUMN_STRICT);
  Str word = rules_fold(b->r->arena, strict.cell.text);
  bool both = rules_in_list("yes|both|true|да|оба", word);
  bool strict_a = both || rules_in_list("a|а", word);
  bool strict_b = both || rules_in_list("b|в", word);
  if (word.length && !strict_a && !strict_b && !rules_word_false(word)) {
    rules_report(b->r, DIAG_E1016, row->table, row->row, COLUMN_STRICT, strict.cell.span,
                 "'%.*s' is not one of yes, no, a, b", STR_ARGS(strict.cell.text));
  }
  bool lower = false;
  bool upper = false;
  const RulesExpr* x1 = range_cell(b, row, COLUMN_X1, &lower);
  const RulesExpr* a = range_cell(b, row, COLUMN_A, &lower);
  const RulesExpr* x2 = range_cell(b, row, COLUMN_X2, &lower);
  const RulesExpr* x3 = range_cell(b, row, COLUMN_X3, &upper);
  const RulesExpr* limit = range_cell(b, row, COLUMN_B, &upper);
  const RulesExpr* x4 = range_cell(b, row, COLUMN_X4, &upper);
  if (!x1 || !a || !x2 || !x3 || !limit || !x4) return NULL;
  Span span = row->row->span;
  const RulesExpr* low =
      node(b, strict_a ? RULES_OP_GT : RULES_OP_GE, x1, node(b, RULES_OP_ADD, a, x2, span), span);
  const RulesExpr* high = node(b, strict_b ? RULES_OP_LT : RULES_OP_LE, x3,
                               node(b, RULES_OP_ADD, limit, x4, span), span);
  if (lower && upper) return node(b, RULES_OP_AND, low, high, span);
  if (lower || upper) return lower ? low : high;
  rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_RELATION, span,
               "the relation is missing");
  return NULL;
}

static void declare_predicates(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_PREDICATES];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    RulesPredicate predicate = {.span = row->row->span};
    if (!declare(b, row, COLUMN_NAME, NAME_PREDICATE, b->m->predicates.count, &predicate.name)) {
      continue;
    }
    base_vec_push(b->r->arena, &b->m->predicates, predicate);
  }
}

static void resolve_predicates(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_PREDICATES];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    NameEntry entry = rules_lookup(b, row->key);
    if (entry.kind != NAME_PREDICATE) continue;
    RulesPredicate* predicate = &b->m->predicates.data[entry.index];
    CellScan scan = scan_cell(b, row, COLUMN_RELATION);
    if (scan.cell.text.length == 0) {
      predicate->relation = range_relation(b, row);
      continue;
    }
    predicate->span = scan.cell.span;
    const RulesExpr* e = rules_parse_relation(&scan);
    predicate->relation = e && rules_resolve(b, &scan, e, false) ? e : NULL;
  }
}

// ---- situations
// -----------------------------------------------------------------------------------

static void declare_situations(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_SITUATIONS];
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    if (row->key.length == 0 || rules_lookup(b, row->key).kind == NAME_SITUATION) continue;
    RulesSituation situation = {.span = row->row->span};
    uint32_t index = b->m->situations.count;
    if (declare(b, row, COLUMN_SITUATION, NAME_SITUATION, index, &situation.name)) {
      base_vec_push(b->r->arena, &b->m->situations, situation);
    }
  }
}

static void read_assignments(Builder* b, const MergedRow* row, RulesSituationRow* out) {
  CellScan scan = scan_cell(b, row, COLUMN_THEN);
  Str rest = scan.cell.text;
  Str name = {0};
  bool negated = false;
  while (rules_next_literal(&rest, &name, &negated)) {
    NameEntry entry = rules_lookup(b, name);
    bool logical = entry.kind == NAME_STATE && b->m->states.data[entry.index].logical;
    if (!logical) {
      Diag* diag = rules_report(b->r, DIAG_E1034, row->table, row->row, COLUMN_THEN, scan.cell.span,
                                "'%.*s' is no logical state, so it cannot be set", STR_ARGS(name));
      Str near = rules_nearest(b, name, 1u << NAME_STATE);
      if (entry.kind == NAME_NONE && near.length) {
        diag_hint(b->r->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
      } else {
        diag_hint(b->r->diags, diag, "declare it in the table of states with the kind 'logical'");
      }
      continue;
    }
    RulesAssignment set = {.state = entry.index, .value = !negated, .span = scan.cell.span};
    base_vec_push(b->r->arena, &out->then, set);
  }
}

static void resolve_situations(Builder* b) {
  const MergedRows* rows = &b->rows[RULES_SECTION_SITUATIONS];
  bool* seen = ARENA_ARRAY(b->r->arena, bool, b->m->situations.count + 1);
  for (uint32_t i = 0; i < rows->count; i++) {
    const MergedRow* row = &rows->data[i];
    NameEntry entry = rules_lookup(b, row->key);
    RulesSituationRow out = {.situation = RULES_NONE, .span = row->row->span};
    if (entry.kind == NAME_SITUATION) {
      out.situation = entry.index;
      out.first = !seen[entry.index];
      seen[entry.index] = true;
    }
    CellScan when = scan_cell(b, row, COLUMN_WHEN);
    if (when.cell.text.length == 0) {
      rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_WHEN, when.cell.span,
                   "the condition is missing");
      continue;
    }
    out.span = when.cell.span;
    rules_parse_when(b, &when, &out.when);
    read_assignments(b, row, &out);
    bool empty = rules_cell(row->table, row->row, COLUMN_THEN).text.length == 0;
    if (out.situation == RULES_NONE && row->key.length == 0 && empty) {
      rules_report(b->r, DIAG_E1011, row->table, row->row, COLUMN_SITUATION, row->row->span,
                   "the row names no situation and sets nothing");
    }
    base_vec_push(b->r->arena, &b->m->rows, out);
  }
}

void rules_build_declarations(Builder* b) {
  declare_constants(b);
  resolve_constants(b);
  declare_states(b);
  declare_predicates(b);
  declare_situations(b);
  resolve_predicates(b);
  resolve_situations(b);
}

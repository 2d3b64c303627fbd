// SPDX-License-Identifier: MIT
//
// Names of the model and what they stand for.
#include "rules/read.h"

NameEntry rules_lookup(const Builder* b, Str name) {
  uint32_t id = names_find(&b->names, name);
  return id && id < b->entries.count ? b->entries.data[id] : (NameEntry){0};
}

Str rules_nearest(const Builder* b, Str name, uint32_t kinds) {
  // names of one letter that differ have nothing in common
  uint32_t letters = utf8_count(name);
  uint32_t best = letters < 2 ? 1 : letters < 4 ? 2 : 3;
  Str nearest = {0};
  for (uint32_t id = 1; id < b->entries.count; id++) {
    if (!(kinds & 1u << b->entries.data[id].kind)) continue;
    Str known = names_get(&b->names, id);
    uint32_t distance = str_distance(known, name, best);
    if (distance >= best) continue;
    best = distance;
    nearest = known;
  }
  return nearest;
}

RawCell rules_cell(const RawTable* table, const RawRow* row, RulesColumn column) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (table->columns[i] == column) return row->cells[i];
  }
  return (RawCell){.span = row->span};
}

static bool is_time(Str name) {
  return str_equal(name, STR_LIT("time")) || str_equal(name, STR_LIT("время"));
}

static bool unknown_value(Builder* b, const CellScan* scan, Str name, bool constant) {
  NameEntry entry = rules_lookup(b, name);
  uint32_t kinds = 1u << NAME_CONSTANT | (constant ? 0 : 1u << NAME_STATE);
  Diag* diag = NULL;
  if (entry.kind == NAME_PREDICATE || entry.kind == NAME_SITUATION) {
    rules_report(b->r, DIAG_E1031, scan->table, scan->row, scan->column, scan->cell.span,
                 "'%.*s' is true or false, and a number is wanted", STR_ARGS(name));
    return false;
  }
  if (constant && entry.kind == NAME_STATE) {
    diag = rules_report(b->r, DIAG_E1031, scan->table, scan->row, scan->column, scan->cell.span,
                        "'%.*s' is a state, and a constant is wanted", STR_ARGS(name));
    diag_hint(b->r->diags, diag, "a state can be an argument of a rule");
    return false;
  }
  diag = rules_report(b->r, DIAG_E1030, scan->table, scan->row, scan->column, scan->cell.span,
                      "there is no %s '%.*s'", constant ? "constant" : "state or constant",
                      STR_ARGS(name));
  Str near = rules_nearest(b, name, kinds);
  if (near.length) {
    diag_hint(b->r->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  } else if (scan->column == COLUMN_INITIAL && rules_in_list("true|false|истина|ложь", name)) {
    diag_hint(b->r->diags, diag, "a state that is true or false has the kind 'logical'");
  } else {
    diag_hint(b->r->diags, diag, "declare it in the table of %s",
              constant ? "constants" : "states or constants");
  }
  return false;
}

bool rules_resolve(Builder* b, const CellScan* scan, const RulesExpr* expr, bool constant) {
  if (!expr) return true;
  if (expr->op != RULES_OP_NAME) {
    bool left = rules_resolve(b, scan, expr->a, constant);
    return rules_resolve(b, scan, expr->b, constant) && left;
  }
  // the parser made this node for this cell alone
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  RulesExpr* e = (RulesExpr*)(uintptr_t)expr;
  NameEntry entry = rules_lookup(b, e->name);
  if (entry.kind == NAME_CONSTANT) {
    e->op = RULES_OP_CONSTANT;
    e->index = entry.index;
    return true;
  }
  if (entry.kind == NAME_STATE && !constant) {
    if (b->m->states.data[entry.index].logical) {
      rules_report(b->r, DIAG_E1031, scan->table, scan->row, scan->column, scan->cell.span,
                   "'%.*s' is true or false, and a number is wanted", STR_ARGS(e->name));
      return false;
    }
    e->op = RULES_OP_STATE;
    e->index = entry.index;
    return true;
  }
  if (entry.kind == NAME_NONE && is_time(e->name) && !constant) {
    e->op = RULES_OP_TIME;
    return true;
  }
  return unknown_value(b, scan, e->name, constant);
}

// ---- conditions
// -----------------------------------------------------------------------------------

/// A literal of a conjunction by its name, with or without brackets around it.
static bool find_literal(const Builder* b, Str name, RulesLiteral* out) {
  static const char* const always = "evertrue|always|true|всегда|всегда истина|истина";
  for (uint32_t attempt = 0; attempt < 2; attempt++) {
    NameEntry entry = rules_lookup(b, name);
    if (entry.kind == NAME_STATE && b->m->states.data[entry.index].logical) {
      out->kind = RULES_LOGIC_STATE;
    } else if (entry.kind == NAME_PREDICATE) {
      out->kind = RULES_LOGIC_PREDICATE;
    } else if (entry.kind == NAME_SITUATION) {
      out->kind = RULES_LOGIC_SITUATION;
    } else if (rules_in_list(always, rules_fold(b->r->arena, name))) {
      out->kind = RULES_LOGIC_TRUE;
      return true;
    } else {
      bool bracket = name.length > 2 && name.data[0] == '(' && name.data[name.length - 1] == ')';
      if (!bracket) return false;
      name = rules_cell_name((RawCell){.text = {name.data + 1, name.length - 2}});
      continue;
    }
    out->index = entry.index;
    return true;
  }
  return false;
}

static void unknown_literal(Builder* b, const CellScan* scan, Str name) {
  NameEntry entry = rules_lookup(b, name);
  if (entry.kind == NAME_STATE || entry.kind == NAME_CONSTANT) {
    Diag* diag =
        rules_report(b->r, DIAG_E1033, scan->table, scan->row, scan->column, scan->cell.span,
                     "'%.*s' is a number, and a condition is wanted", STR_ARGS(name));
    diag_hint(b->r->diags, diag, "compare it in the table of predicates");
    return;
  }
  Diag* diag =
      rules_report(b->r, DIAG_E1032, scan->table, scan->row, scan->column, scan->cell.span,
                   "there is no situation, predicate or logical state '%.*s'", STR_ARGS(name));
  Str near = rules_nearest(b, name, 1u << NAME_STATE | 1u << NAME_PREDICATE | 1u << NAME_SITUATION);
  if (near.length) {
    diag_hint(b->r->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  } else {
    diag_hint(b->r->diags, diag, "a rule that always holds has the situation EverTrue");
  }
}

bool rules_parse_when(Builder* b, const CellScan* scan, RulesWhen* out) {
  // a name may hold commas or words that join: the whole cell comes first
  Str rest = scan->cell.text;
  RulesLiteral whole = {.span = scan->cell.span};
  if (rest.length && find_literal(b, rules_cell_name(scan->cell), &whole)) {
    base_vec_push(b->r->arena, &out->literals, whole);
    return true;
  }
  bool fine = true;
  Str name = {0};
  bool negated = false;
  while (rules_next_literal(&rest, &name, &negated)) {
    RulesLiteral literal = {.negated = negated, .span = scan->cell.span};
    if (find_literal(b, name, &literal)) {
      base_vec_push(b->r->arena, &out->literals, literal);
    } else {
      unknown_literal(b, scan, name);
      fine = false;
    }
  }
  return fine;
}

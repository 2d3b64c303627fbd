// SPDX-License-Identifier: MIT
//
// The model as equations: predicates and situations become macros, logical states automata, and
// the rules of one variable one equation.
//
// In a situation valuation the active integrals of a variable add up; otherwise the last active
// algebraic rule of the list gives its value, and beats integrals. With none active the variable is
// 0 or keeps its value (rules_target_holds).
#include "rules/write.h"

#include <math.h>
#include <string.h>

// ---- pieces
// ---------------------------------------------------------------------------------------

void write_mark(Writer* w, Span span) {
  if (!w->map) return;
  base_vec_push(w->arena, &w->map->items, (RulesMapping){.begin = w->out.length, .span = span});
}

static bool is_plain(Str name) {
  static const char* const words[] = {
      "const",   "macro",     "state",      "from",       "for",       "if",       "else",
      "at",      "automaton", "not",        "and",        "or",        "mod",      "each",
      "repeat",  "priority",  "like",       "set",        "ic",        "delete",   "goto",
      "stop",    "data",      "invariant",  "unilateral", "bilateral", "ordinary", "shortliving",
      "noEvent", "energy",    "experiment", "t0",         "sum",       "prod",     "der",
      "init",    "pre",       "post",       "table",      "true",      "false",    "abs",
      "sin",     "cos",       "tan",        "tg",         "exp",       "ln",       "sqrt",
      "pow",     "min",       "max",        "sign",       "floor"};
  for (uint32_t i = 0; i < SLT_COUNT(words); i++) {
    if (str_equal(name, str_from_c(words[i]))) return false;
  }
  for (uint32_t i = 0; i < name.length; i++) {
    char c = name.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return name.length > 0;
}

void write_name(Writer* w, Str name) {
  bool plain = is_plain(name);
  if (!plain) W("`");
  text_append(&w->out, name);
  if (!plain) W("`");
}

Str write_helper_name(const Writer* w, const RulesRule* rule, const char* part) {
  Str target = w->m->states.data[rule->target].name;
  return str_format(w->arena, "%.*s (rule %.*s)%s%s", STR_ARGS(target), STR_ARGS(rule->label),
                    part[0] ? " " : "", part);
}

void write_helper(Writer* w, const RulesRule* rule, const char* part) {
  write_name(w, write_helper_name(w, rule, part));
}

void write_helper_index(Writer* w, const RulesRule* rule, const char* part, const char* index) {
  write_name(w, write_helper_name(w, rule, part));
  text_append_format(&w->out, "[%s]", index);
}

void write_hide(Writer* w, const RulesRule* rule, const char* part) {
  if (w->map) base_vec_push(w->arena, &w->map->hidden, write_helper_name(w, rule, part));
}

void write_automaton_as(Writer* w, RulesShown shown) {
  if (w->map) base_vec_push(w->arena, &w->map->automata, shown);
  W("automaton ");
  write_name(w, shown.name);
  W(" {\n");
}

void write_state(Writer* w, uint32_t state) {
  write_name(w, w->m->states.data[state].name);
}

void write_number(Writer* w, double value) {
  if (value < 0.0 || (value == 0.0 && signbit(value))) {
    W("(");
    text_append_double(&w->out, value);
    W(")");
  } else {
    text_append_double(&w->out, value);
  }
}

void write_expr(Writer* w, const RulesExpr* e) {
  static const char* const signs[] = {
      [RULES_OP_ADD] = " + ", [RULES_OP_SUB] = " - ", [RULES_OP_MUL] = "*",
      [RULES_OP_DIV] = "/",   [RULES_OP_LT] = " < ",  [RULES_OP_LE] = " <= ",
      [RULES_OP_GT] = " > ",  [RULES_OP_GE] = " >= ", [RULES_OP_AND] = " && "};
  switch ((RulesOp)e->op) {
  case RULES_OP_NUMBER: write_number(w, e->value); return;
  case RULES_OP_CONSTANT: write_name(w, w->m->constants.data[e->index].name); return;
  case RULES_OP_STATE: write_state(w, e->index); return;
  case RULES_OP_TIME: W("time"); return;
  case RULES_OP_NAME: write_name(w, e->name); return;
  case RULES_OP_NEG:
    W("(-");
    write_expr(w, e->a);
    W(")");
    return;
  case RULES_OP_ABS:
    W("abs(");
    write_expr(w, e->a);
    W(")");
    return;
  case RULES_OP_LT:
  case RULES_OP_LE:
  case RULES_OP_GT:
  case RULES_OP_GE:
    W("[");
    write_expr(w, e->a);
    W(signs[e->op]);
    write_expr(w, e->b);
    W("]");
    return;
  case RULES_OP_ADD:
  case RULES_OP_SUB:
  case RULES_OP_MUL:
  case RULES_OP_DIV:
  case RULES_OP_AND: break;
  }
  // "0 + x" comes from empty cells of the range form
  bool zero = e->op == RULES_OP_ADD && e->a->op == RULES_OP_NUMBER && e->a->value == 0.0;
  bool nothing = e->op == RULES_OP_ADD && e->b->op == RULES_OP_NUMBER && e->b->value == 0.0;
  if (zero || nothing) {
    write_expr(w, nothing ? e->a : e->b);
    return;
  }
  bool bracket = e->op != RULES_OP_AND;
  if (bracket) W("(");
  write_expr(w, e->a);
  W(signs[e->op]);
  write_expr(w, e->b);
  if (bracket) W(")");
}

static Str literal_name(const RulesModel* m, const RulesLiteral* literal) {
  switch ((RulesLogic)literal->kind) {
  case RULES_LOGIC_TRUE: break;
  case RULES_LOGIC_STATE: return m->states.data[literal->index].name;
  case RULES_LOGIC_PREDICATE: return m->predicates.data[literal->index].name;
  case RULES_LOGIC_SITUATION: return m->situations.data[literal->index].name;
  }
  return STR_LIT("EverTrue");
}

/// A logical state: an automaton of two states, or an input that nobody but the world outside
/// changes.
static void write_logical_state(Writer* w, const RulesLiteral* literal) {
  const RulesState* state = &w->m->states.data[literal->index];
  bool assigned = w->assigned[literal->index];
  bool begins = assigned && state->number != 0.0;
  if (literal->negated != begins) W("!");
  if (!assigned) W("[");
  write_name(w, state->name);
  W(!assigned ? " > 0.5]" : begins ? ".`false`" : ".`true`");
}

static void write_literal(Writer* w, const RulesLiteral* literal) {
  bool negated = literal->negated;
  if (!w->plain && literal->kind == RULES_LOGIC_TRUE) {
    W(negated ? "[1 < 0]" : "[1 > 0]");
  } else if (!w->plain && literal->kind == RULES_LOGIC_STATE) {
    write_logical_state(w, literal);
  } else {
    if (negated) W(w->plain ? "not " : "!");
    write_name(w, literal_name(w->m, literal));
  }
}

bool write_is_always(const RulesWhen* when) {
  for (uint32_t i = 0; i < when->literals.count; i++) {
    const RulesLiteral* literal = &when->literals.data[i];
    if (literal->kind != RULES_LOGIC_TRUE || literal->negated) return false;
  }
  return true;
}

void write_when(Writer* w, const RulesWhen* when) {
  bool first = true;
  for (uint32_t i = 0; i < when->literals.count; i++) {
    const RulesLiteral* literal = &when->literals.data[i];
    if (literal->kind == RULES_LOGIC_TRUE && !literal->negated) continue;
    if (!first) W(w->plain ? ", " : " && ");
    write_literal(w, literal);
    first = false;
  }
  if (first) W("[1 > 0]");
}

// ---- declarations
// ---------------------------------------------------------------------------------

static void write_constants(Writer* w) {
  const RulesModel* m = w->m;
  for (uint32_t i = 0; i < m->constants.count; i++) {
    const RulesConstant* c = &m->constants.data[i];
    write_mark(w, c->span);
    W("const ");
    write_name(w, c->name);
    W(" = ");
    write_expr(w, c->value);
    W(";\n");
  }
}

static bool unit_is_plain(Str unit) {
  for (uint32_t i = 0; i < unit.length; i++) {
    if ((unsigned char)unit.data[i] < ' ') return false;
  }
  return unit.length > 0;
}

static void write_states(Writer* w) {
  const RulesModel* m = w->m;
  W("\n");
  for (uint32_t i = 0; i < m->states.count; i++) {
    const RulesState* s = &m->states.data[i];
    write_mark(w, s->span);
    write_name(w, s->name);
    W("(t0) ~ ");
    if (s->initial) {
      write_expr(w, s->initial);
    } else {
      write_number(w, s->number);
    }
    W(";");
    // units of tables are words, which an attribute would have checked
    if (unit_is_plain(s->unit)) text_append_format(&w->out, "  // %.*s", STR_ARGS(s->unit));
    W("\n");
  }
}

static void write_situation(Writer* w, uint32_t situation) {
  const RulesModel* m = w->m;
  write_mark(w, m->situations.data[situation].span);
  W("macro ");
  write_name(w, m->situations.data[situation].name);
  W(" = ");
  bool first = true;
  for (uint32_t i = 0; i < m->rows.count; i++) {
    const RulesSituationRow* row = &m->rows.data[i];
    if (row->situation != situation) continue;
    if (!first) W(" || ");
    write_mark(w, row->span);
    W("(");
    write_when(w, &row->when);
    W(")");
    first = false;
  }
  W(";\n");
}

/// The only rule of a state, when it is an absolute value and the state is 0 without it.
static const RulesRule* absolute_rule(const Writer* w, const RulesExpr* e) {
  const RulesModel* m = w->m;
  const RulesRule* found = NULL;
  if (e->op != RULES_OP_STATE || rules_target_holds(m, e->index)) return NULL;
  for (uint32_t i = 0; i < m->rules.count; i++) {
    const RulesRule* rule = &m->rules.data[i];
    if (rule->target != e->index) continue;
    if (found || rule->procedure != RULES_ABSOLUTE) return NULL;
    found = rule;
  }
  bool positive = found && rules_constant_value(m, found->coefficient) > 0.0;
  return positive ? found : NULL;
}

static void write_not_zero(Writer* w, const RulesExpr* e) {
  W("([");
  write_expr(w, e);
  W(" > 0] || [");
  write_expr(w, e);
  W(" < 0])");
}

/// A relation as atoms. |x| > 0 touches its boundary and never crosses it: it becomes the two sides
/// of x = 0, which do, so that a trajectory can stay on that surface.
static void write_relation(Writer* w, const RulesExpr* e) {
  if (e->op == RULES_OP_AND) {
    write_relation(w, e->a);
    W(" && ");
    write_relation(w, e->b);
    return;
  }
  bool positive = e->op == RULES_OP_GT && e->b->op == RULES_OP_NUMBER && e->b->value == 0.0;
  const RulesRule* rule = positive ? absolute_rule(w, e->a) : NULL;
  if (positive && e->a->op == RULES_OP_ABS) {
    write_not_zero(w, e->a->a);
  } else if (rule && rule->arg[0].expr->op == RULES_OP_STATE) {
    if (!write_is_always(&rule->when)) {
      write_when(w, &rule->when);
      W(" && ");
    }
    write_not_zero(w, rule->arg[0].expr);
  } else {
    write_expr(w, e);
  }
}

static void write_conditions(Writer* w) {
  const RulesModel* m = w->m;
  W("\n");
  for (uint32_t i = 0; i < m->predicates.count; i++) {
    const RulesPredicate* p = &m->predicates.data[i];
    write_mark(w, p->span);
    W("macro ");
    write_name(w, p->name);
    W(" = ");
    write_relation(w, p->relation);
    W(";\n");
  }
  for (uint32_t i = 0; i < m->situations.count; i++)
    write_situation(w, i);
}

// ---- logical states
// -------------------------------------------------------------------------------

static bool row_sets(const RulesSituationRow* row, uint32_t state, bool value) {
  for (uint32_t i = 0; i < row->then.count; i++) {
    if (row->then.data[i].state == state && row->then.data[i].value == value) return true;
  }
  return false;
}

/// Condition under which the scan of the list leaves `value`: some row that gives it holds and no
/// later one that takes it back.
static bool write_final(Writer* w, uint32_t state, bool value) {
  const RulesModel* m = w->m;
  bool any = false;
  for (uint32_t i = 0; i < m->rows.count; i++) {
    if (!row_sets(&m->rows.data[i], state, value)) continue;
    if (any) W(" || ");
    write_mark(w, m->rows.data[i].span);
    W("(");
    any = true;
    write_when(w, &m->rows.data[i].when);
    for (uint32_t k = i + 1; k < m->rows.count; k++) {
      if (!row_sets(&m->rows.data[k], state, !value)) continue;
      W(" && !(");
      write_when(w, &m->rows.data[k].when);
      W(")");
    }
    W(")");
  }
  return any;
}

static bool ever_set(const RulesModel* m, uint32_t state, bool value) {
  for (uint32_t i = 0; i < m->rows.count; i++) {
    if (row_sets(&m->rows.data[i], state, value)) return true;
  }
  return false;
}

static void write_logical(Writer* w, uint32_t index) {
  const RulesState* state = &w->m->states.data[index];
  bool begins = state->number != 0.0;
  const char* other = begins ? "false" : "true";
  write_automaton_as(
      w, (RulesShown){.name = state->name, .initial = str_from_c(begins ? "true" : "false")});
  text_append_format(&w->out, "  state `%s` ", other);
  write_final(w, index, !begins);
  W(" {} from init;\n");
  if (ever_set(w->m, index, begins)) {
    W("  state init ");
    write_final(w, index, begins);
    text_append_format(&w->out, " {} from `%s`;\n", other);
  }
  W("}\n");
  // its column: an equation, since a reset would be dropped with a candidate that does not stand
  write_name(w, state->name);
  W(" = if(");
  write_name(w, state->name);
  text_append_format(&w->out, ".`%s`, %d, %d);\n", begins ? "false" : "true", begins ? 0 : 1,
                     begins ? 1 : 0);
}

static void write_logicals(Writer* w) {
  const RulesModel* m = w->m;
  for (uint32_t i = 0; i < m->states.count; i++) {
    if (!m->states.data[i].logical || !w->assigned[i]) continue;
    // only what leads away from the initial value can ever change it
    if (!ever_set(m, i, m->states.data[i].number == 0.0)) continue;
    write_mark(w, m->states.data[i].span);
    W("\n");
    write_logical(w, i);
  }
}

// ---- equations
// ------------------------------------------------------------------------------------

/// The rules of one variable by what they are.
typedef struct Target {
  uint32_t state;
  BASE_VEC(const RulesRule*) flows;
  BASE_VEC(const RulesRule*) values;
  BASE_VEC(const RulesRule*) others;  // discrete, assign, play
} Target;

static uint32_t class_of(const RulesRule* rule) {
  return rules_signature((RulesProcedure)rule->procedure)->class;
}

static bool is_function(const RulesRule* rule) {
  return class_of(rule) == RULES_CLASS_ALGEBRAIC || class_of(rule) == RULES_CLASS_MEMORY;
}

static Target collect(Writer* w, uint32_t state) {
  const RulesModel* m = w->m;
  Target t = {.state = state};
  bool functions = false;
  for (uint32_t i = 0; i < m->rules.count; i++) {
    functions |= m->rules.data[i].target == state && is_function(&m->rules.data[i]);
  }
  for (uint32_t i = 0; i < m->rules.count; i++) {
    const RulesRule* rule = &m->rules.data[i];
    if (rule->target != state) continue;
    uint32_t class = class_of(rule);
    // an assignment among functions is one more function, at its place in the list
    if (is_function(rule) || (functions && class == RULES_CLASS_ASSIGN)) {
      base_vec_push(w->arena, &t.values, rule);
    } else if (class == RULES_CLASS_FLOW || class == RULES_CLASS_SECOND ||
               class == RULES_CLASS_TIMER) {
      base_vec_push(w->arena, &t.flows, rule);
    } else {
      base_vec_push(w->arena, &t.others, rule);
    }
  }
  return t;
}

/// Some of the rules is active; false when one of them always is.
static bool write_any(Writer* w, const RulesRule* const* rules, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (write_is_always(&rules[i]->when)) return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    W(i ? " || (" : "(");
    write_when(w, &rules[i]->when);
    W(")");
  }
  return true;
}

static bool always_active(const RulesRule* const* rules, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (write_is_always(&rules[i]->when)) return true;
  }
  return count == 0;
}

/// Last active rule first. `zero`: 0 when none is active; else the first rule stands for that.
static void write_chain(Writer* w, const Target* t, bool zero) {
  uint32_t open = 0;
  for (uint32_t i = t->values.count; i > 0; i--) {
    const RulesRule* rule = t->values.data[i - 1];
    write_mark(w, rule->span);
    bool last = i == 1 && !zero;
    if (write_is_always(&rule->when) || last) {
      write_value(w, rule);
      break;
    }
    W("if(");
    write_when(w, &rule->when);
    W(", ");
    write_value(w, rule);
    W(", ");
    open++;
    if (i == 1) W("0");
  }
  for (uint32_t i = 0; i < open; i++)
    W(")");
}

static void write_flows(Writer* w, const Target* t) {
  for (uint32_t i = 0; i < t->flows.count; i++) {
    const RulesRule* rule = t->flows.data[i];
    if (i) W(" + ");
    write_mark(w, rule->span);
    bool always = write_is_always(&rule->when);
    if (!always) {
      W("if(");
      write_when(w, &rule->when);
      W(", ");
    }
    write_value(w, rule);
    if (!always) W(", 0)");
  }
}

static void write_label(Writer* w, uint32_t state) {
  write_name(w, str_format(w->arena, "%.*s (equation)", STR_ARGS(w->m->states.data[state].name)));
  W(": ");
}

static void write_held(Writer* w, uint32_t state) {
  write_name(w, str_format(w->arena, "%.*s (held)", STR_ARGS(w->m->states.data[state].name)));
}

/// The variable keeps its value while no rule is active: the transition that ends the last one
/// notes the value and replaces the equation in one go, so nothing can come in between.
static void write_holding(Writer* w, const Target* t) {
  const RulesState* state = &w->m->states.data[t->state];
  Str held = str_format(w->arena, "%.*s (held)", STR_ARGS(state->name));
  if (w->map) base_vec_push(w->arena, &w->map->hidden, held);
  write_held(w, t->state);
  W("(t0) = ");
  if (state->initial) {
    write_expr(w, state->initial);
  } else {
    write_number(w, state->number);
  }
  W(";\n");
  write_label(w, t->state);
  write_state(w, t->state);
  W(" = ");
  write_chain(w, t, false);
  W(";\n");
  write_automaton_as(
      w, (RulesShown){.name = str_format(w->arena, "%.*s (holding)", STR_ARGS(state->name)),
                      .hidden = true});
  // One round later than the logical states, which come before the rules in the first cycle too.
  // The guard is always true; what it reads has been read before when the next ones ask for it.
  W("  state begin ");
  write_any(w, t->values.data, t->values.count);
  W(" || !(");
  write_any(w, t->values.data, t->values.count);
  W(") {} from init;\n");
  for (uint32_t pass = 0; pass < 2; pass++) {
    text_append_format(&w->out, "  state %s !(", pass ? "holding" : "resting");
    write_any(w, t->values.data, t->values.count);
    W(") { ");
    if (pass) {
      W("set ");
      write_held(w, t->state);
      W(" = ");
      write_state(w, t->state);
      W("; ");
    }
    write_label(w, t->state);
    write_state(w, t->state);
    W(" = ");
    write_held(w, t->state);
    text_append_format(&w->out, "; } from %s;\n", pass ? "active" : "begin");
  }
  W("  state active ");
  write_any(w, t->values.data, t->values.count);
  W(" {} from begin, resting, holding;\n}\n");
}

/// Functions in some situations, integrals in the others.
static void write_mixed(Writer* w, const Target* t) {
  write_label(w, t->state);
  write_state(w, t->state);
  W("' = ");
  write_flows(w, t);
  W(";\n");
  if (t->values.count) {
    W("if (");
    if (!write_any(w, t->values.data, t->values.count)) W("[1 > 0]");
    W(") { ");
    write_label(w, t->state);
    write_state(w, t->state);
    W(" = ");
    write_chain(w, t, false);
    W("; }\n");
  }
}

/// What flows or acts at instants leaves its variable as it is; with `zero` it ends with its
/// situations. As with what is held, the logical states come first when the run begins.
static void write_zeroing(Writer* w, const Target* t) {
  const RulesRule** rules =
      ARENA_ARRAY(w->arena, const RulesRule*, t->values.count + t->flows.count + t->others.count);
  uint32_t count = 0;
  for (uint32_t i = 0; i < t->values.count; i++)
    rules[count++] = t->values.data[i];
  for (uint32_t i = 0; i < t->flows.count; i++)
    rules[count++] = t->flows.data[i];
  for (uint32_t i = 0; i < t->others.count; i++)
    rules[count++] = t->others.data[i];
  if (always_active(rules, count)) return;
  Str name = w->m->states.data[t->state].name;
  write_automaton_as(w, (RulesShown){.name = str_format(w->arena, "%.*s (ending)", STR_ARGS(name)),
                                     .hidden = true});
  W("  state begin ");
  write_any(w, rules, count);
  W(" || !(");
  write_any(w, rules, count);
  W(") {} from init;\n  state off !(");
  write_any(w, rules, count);
  W(") { set ");
  write_state(w, t->state);
  W(" = 0; } from begin, on;\n  state on ");
  write_any(w, rules, count);
  W(" {} from begin, off;\n}\n");
}

static void write_target(Writer* w, uint32_t state) {
  Target t = collect(w, state);
  const RulesModel* m = w->m;
  bool holds = rules_target_holds(m, state);
  uint32_t first = t.values.count ? 0 : t.flows.count ? 1 : 2;
  if (first == 2 && t.others.count == 0) return;
  const RulesRule* any = first == 0   ? t.values.data[0]
                         : first == 1 ? t.flows.data[0]
                                      : t.others.data[0];
  write_mark(w, any->span);
  if (t.flows.count) {
    if (t.values.count) {
      write_mixed(w, &t);
    } else {
      write_state(w, state);
      W("' = ");
      write_flows(w, &t);
      W(";\n");
    }
    if (m->unguarded == RULES_ZERO) write_zeroing(w, &t);
  } else if (t.values.count) {
    if (holds && !always_active(t.values.data, t.values.count)) {
      write_holding(w, &t);
    } else {
      write_state(w, state);
      W(" = ");
      write_chain(w, &t, true);
      W(";\n");
    }
  } else if (m->unguarded == RULES_ZERO) {
    write_zeroing(w, &t);
  }
  for (uint32_t i = 0; i < m->rules.count; i++) {
    if (m->rules.data[i].target == state) {
      write_mark(w, m->rules.data[i].span);
      write_support(w, &m->rules.data[i]);
    }
  }
}

/// A text with the names of its values as equations write them.
static void write_shape_text(Writer* w, const RulesShape* shape) {
  uint32_t at = 0;
  W("\"");
  for (uint32_t i = 0; i < shape->values.count; i++) {
    const RulesTextValue* value = &shape->values.data[i];
    text_append(&w->out, (Str){shape->text.data + at, value->begin - at});
    write_expr(w, value->expr);
    at = value->end;
  }
  text_append(&w->out, (Str){shape->text.data + at, shape->text.length - at});
  W("\"");
}

static void write_drawing(Writer* w) {
  const RulesModel* m = w->m;
  if (m->shapes.count == 0) return;
  write_mark(w, m->shapes.data[0].span);
  W("\nanimate {\n");
  for (uint32_t i = 0; i < m->shapes.count; i++) {
    const RulesShape* shape = &m->shapes.data[i];
    const char* separator = "";
    write_mark(w, shape->span);
    text_append_format(&w->out, "  %s(", shape->kind);
    for (uint32_t k = 0; k < RULES_SHAPE_NUMBERS; k++) {
      if (!shape->numbers[k]) continue;
      W(separator);
      write_expr(w, shape->numbers[k]);
      separator = ", ";
    }
    if (shape->text.length) {
      W(", ");
      write_shape_text(w, shape);
    }
    if (shape->colour.length) text_append_format(&w->out, ", \"%.*s\"", STR_ARGS(shape->colour));
    W(");\n");
  }
  W("}\n");
}

static void write_controls(Writer* w) {
  for (uint32_t i = 0; i < w->m->controls.count; i++) {
    const RulesControl* control = &w->m->controls.data[i];
    write_mark(w, control->span);
    W("control ");
    write_name(w, control->name);
    for (uint32_t k = 0; k < control->values.count; k++) {
      W(k == 0 ? " = " : control->range ? ":" : ", ");
      text_append_double(&w->out, control->values.data[k]);
    }
    W(";\n");
  }
}

static void write_experiment(Writer* w) {
  const RulesModel* m = w->m;
  const struct {
    const char* name;
    double value;
  } settings[] = {{"start", m->start}, {"end", m->end},   {"every", m->every},
                  {"rtol", m->rtol},   {"atol", m->atol}, {"step", m->cycle}};
  bool any = false;
  for (uint32_t i = 0; i < SLT_COUNT(settings); i++)
    any = any || !isnan(settings[i].value);
  if (!any) return;
  write_mark(w, (Span){0, 0});
  W("\nexperiment {");
  for (uint32_t i = 0; i < SLT_COUNT(settings); i++) {
    if (isnan(settings[i].value)) continue;
    text_append_format(&w->out, " %s = ", settings[i].name);
    text_append_double(&w->out, settings[i].value);
    W(";");
  }
  W(" }\n");
}

Str rules_write_lisma(const RulesModel* model, Arena* arena, RulesMap* map) {
  Writer writer = {.m = model, .arena = arena, .out = {.arena = arena}, .map = map};
  Writer* w = &writer;
  w->assigned = ARENA_ARRAY(arena, bool, model->states.count + 1);
  for (uint32_t i = 0; i < model->rows.count; i++) {
    for (uint32_t k = 0; k < model->rows.data[i].then.count; k++) {
      w->assigned[model->rows.data[i].then.data[k].state] = true;
    }
  }
  for (uint32_t i = 0; i < model->states.count; i++) {
    // a state that is only ever set to what it is stays what it is
    if (w->assigned[i] && !ever_set(model, i, model->states.data[i].number == 0.0)) {
      w->assigned[i] = false;
    }
  }
  write_mark(w, (Span){0, 0});
  write_constants(w);
  write_states(w);
  write_conditions(w);
  write_logicals(w);
  W("\n");
  for (uint32_t i = 0; i < model->states.count; i++) {
    if (!model->states.data[i].logical) write_target(w, i);
  }
  write_drawing(w);
  write_controls(w);
  write_experiment(w);
  return text_str(&w->out);
}

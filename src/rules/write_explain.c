// SPDX-License-Identifier: MIT
//
// The model for people: what each variable is in which situation, and who reads and writes what.
#include "rules/write.h"

static void pad(TextBuffer* out, Str text, uint32_t width) {
  text_append(out, text);
  for (uint32_t i = utf8_count(text); i < width; i++)
    text_append_char(out, ' ');
}

static bool is_flow(const RulesRule* rule) {
  uint32_t class = rules_signature((RulesProcedure)rule->procedure)->class;
  return class == RULES_CLASS_FLOW || class == RULES_CLASS_SECOND || class == RULES_CLASS_TIMER;
}

static bool is_value(const RulesRule* rule) {
  uint32_t class = rules_signature((RulesProcedure)rule->procedure)->class;
  return is_flow(rule) || class == RULES_CLASS_ALGEBRAIC || class == RULES_CLASS_MEMORY ||
         class == RULES_CLASS_ASSIGN;
}

static void explain_rule(Writer* w, const RulesRule* rule) {
  text_append_format(&w->out, "  rule %.*s  ", STR_ARGS(rule->label));
  write_state(w, rule->target);
  if (is_value(rule)) {
    W(is_flow(rule) ? "' = " : " = ");
    write_value(w, rule);
  } else {
    W(": ");
    text_append(&w->out, rules_first_name(rules_signature((RulesProcedure)rule->procedure)->names));
    if (rule->arg[0].expr) {
      W(" of ");
      write_arg(w, rule, 0);
    }
  }
  if (!write_is_always(&rule->when)) {
    W("    while ");
    write_when(w, &rule->when);
  }
  W("\n");
}

static void explain_equations(Writer* w) {
  const RulesModel* m = w->m;
  W("equations by situation\n");
  for (uint32_t s = 0; s < m->states.count; s++) {
    bool any = false;
    bool always = false;
    for (uint32_t i = 0; i < m->rules.count; i++) {
      const RulesRule* rule = &m->rules.data[i];
      if (rule->target != s) continue;
      explain_rule(w, rule);
      any = true;
      always = always || write_is_always(&rule->when);
    }
    if (!any || always) continue;
    W("          ");
    write_state(w, s);
    W(rules_target_holds(m, s) ? " keeps its value otherwise\n" : " = 0 otherwise\n");
  }
}

static void explain_conditions(Writer* w) {
  const RulesModel* m = w->m;
  if (m->predicates.count + m->rows.count == 0) return;
  W("\nconditions\n");
  for (uint32_t i = 0; i < m->predicates.count; i++) {
    W("  ");
    write_name(w, m->predicates.data[i].name);
    W(" = ");
    write_expr(w, m->predicates.data[i].relation);
    W("\n");
  }
  for (uint32_t i = 0; i < m->rows.count; i++) {
    const RulesSituationRow* row = &m->rows.data[i];
    W("  ");
    if (row->situation != RULES_NONE) {
      write_name(w, m->situations.data[row->situation].name);
      W(row->first ? " when " : " or when ");
    } else {
      W("when ");
    }
    write_when(w, &row->when);
    for (uint32_t k = 0; k < row->then.count; k++) {
      W(k ? ", " : ": set ");
      write_state(w, row->then.data[k].state);
      W(row->then.data[k].value ? " = true" : " = false");
    }
    W("\n");
  }
}

/// What was written since `begin`, without brackets and backquotes.
static Str take_words(Writer* w, uint32_t begin) {
  TextBuffer words = {.arena = w->arena};
  for (uint32_t i = begin; i < w->out.length; i++) {
    char c = w->out.data[i];
    if (c != '[' && c != ']' && c != '`') text_append_char(&words, c);
  }
  return text_str(&words);
}

void rules_write_conditions(RulesModel* model, Arena* arena) {
  Writer writer = {.m = model, .arena = arena, .out = {.arena = arena}, .plain = true};
  Writer* w = &writer;
  for (uint32_t i = 0; i < model->predicates.count; i++) {
    uint32_t begin = w->out.length;
    write_expr(w, model->predicates.data[i].relation);
    model->predicates.data[i].text = take_words(w, begin);
  }
  for (uint32_t s = 0; s < model->situations.count; s++) {
    uint32_t begin = w->out.length;
    bool any = false;
    for (uint32_t i = 0; i < model->rows.count; i++) {
      if (model->rows.data[i].situation != s) continue;
      if (any) W(" or ");
      write_when(w, &model->rows.data[i].when);
      any = true;
    }
    model->situations.data[s].text = take_words(w, begin);
  }
}

static bool expr_reads(const RulesExpr* e, uint8_t op, uint32_t index) {
  if (!e) return false;
  if (e->op == op && e->index == index) return true;
  return expr_reads(e->a, op, index) || expr_reads(e->b, op, index);
}

static bool rule_reads(const RulesRule* rule, uint8_t op, uint32_t index) {
  bool found = expr_reads(rule->arg[0].expr, op, index) ||
               expr_reads(rule->arg[1].expr, op, index) || expr_reads(rule->coefficient, op, index);
  for (uint32_t k = 0; k < RULES_PARAM_COUNT && !found; k++)
    found = expr_reads(rule->params[k], op, index);
  return found;
}

/// Labels of the rules that read (or write) a state or constant.
static void list_rules(Writer* w, uint8_t op, uint32_t index, bool writes) {
  const RulesModel* m = w->m;
  bool any = false;
  for (uint32_t i = 0; i < m->rules.count; i++) {
    const RulesRule* rule = &m->rules.data[i];
    bool found =
        writes ? op == RULES_OP_STATE && rule->target == index : rule_reads(rule, op, index);
    if (!found) continue;
    text_append_format(&w->out, any ? ", %.*s" : "%.*s", STR_ARGS(rule->label));
    any = true;
  }
  if (!any) W("-");
}

// ---- logical states
// -------------------------------------------------------------------------------

static bool when_reads(const RulesWhen* when, uint8_t kind, uint32_t index) {
  for (uint32_t i = 0; i < when->literals.count; i++) {
    const RulesLiteral* literal = &when->literals.data[i];
    if (literal->kind == kind && literal->index == index) return true;
  }
  return false;
}

/// A logical state: the rows of Situations that set and read it, the rules that wait for it.
static void explain_logical(Writer* w, uint32_t state, uint32_t width) {
  const RulesModel* m = w->m;
  W("  ");
  pad(&w->out, m->states.data[state].name, width);
  for (uint32_t pass = 0; pass < 2; pass++) {
    bool any = false;
    W(pass ? "; read by situation rows " : "  set by situation rows ");
    for (uint32_t i = 0; i < m->rows.count; i++) {
      const RulesSituationRow* row = &m->rows.data[i];
      bool found = pass && when_reads(&row->when, RULES_LOGIC_STATE, state);
      for (uint32_t k = 0; k < row->then.count && !pass; k++)
        found = found || row->then.data[k].state == state;
      if (!found) continue;
      text_append_format(&w->out, any ? ", %u" : "%u", i + 1);
      any = true;
    }
    if (!any) W("-");
  }
  W("; situation of rules ");
  bool any = false;
  for (uint32_t i = 0; i < m->rules.count; i++) {
    if (!when_reads(&m->rules.data[i].when, RULES_LOGIC_STATE, state)) continue;
    text_append_format(&w->out, any ? ", %.*s" : "%.*s", STR_ARGS(m->rules.data[i].label));
    any = true;
  }
  W(any ? "\n" : "-\n");
}

static void explain_use(Writer* w, uint8_t op, uint32_t index, Str name, uint32_t width) {
  const RulesModel* m = w->m;
  W("  ");
  pad(&w->out, name, width);
  W("  written by ");
  list_rules(w, op, index, true);
  W("; read by ");
  list_rules(w, op, index, false);
  for (uint32_t i = 0; i < m->predicates.count; i++) {
    if (!expr_reads(m->predicates.data[i].relation, op, index)) continue;
    W("; predicate ");
    write_name(w, m->predicates.data[i].name);
  }
  W("\n");
}

static void explain_uses(Writer* w) {
  const RulesModel* m = w->m;
  uint32_t width = 0;
  for (uint32_t i = 0; i < m->states.count; i++) {
    uint32_t length = utf8_count(m->states.data[i].name);
    if (length > width && length < 40) width = length;
  }
  for (uint32_t i = 0; i < m->constants.count; i++) {
    uint32_t length = utf8_count(m->constants.data[i].name);
    if (length > width && length < 40) width = length;
  }
  W("\nwho reads and writes what (numbers of rules)\n");
  for (uint32_t i = 0; i < m->states.count; i++) {
    if (m->states.data[i].logical) {
      explain_logical(w, i, width);
    } else {
      explain_use(w, RULES_OP_STATE, i, m->states.data[i].name, width);
    }
  }
  for (uint32_t i = 0; i < m->constants.count; i++) {
    explain_use(w, RULES_OP_CONSTANT, i, m->constants.data[i].name, width);
  }
}

Str rules_write_explanation(const RulesModel* model, Arena* arena) {
  Writer writer = {.m = model, .arena = arena, .out = {.arena = arena}, .plain = true};
  Writer* w = &writer;
  explain_equations(w);
  explain_conditions(w);
  explain_uses(w);
  return text_str(&w->out);
}

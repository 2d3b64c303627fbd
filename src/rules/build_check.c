// SPDX-License-Identifier: MIT
//
// Questions about a whole model, and what can only be checked when everything is read.
#include "rules/read.h"

double rules_constant_value(const RulesModel* m, const RulesExpr* e) {
  switch ((RulesOp)e->op) {
  case RULES_OP_NUMBER: return e->value;
  case RULES_OP_CONSTANT: return m->constants.data[e->index].number;
  case RULES_OP_NEG: return -rules_constant_value(m, e->a);
  case RULES_OP_ABS: {
    double value = rules_constant_value(m, e->a);
    return value < 0.0 ? -value : value;
  }
  case RULES_OP_ADD: return rules_constant_value(m, e->a) + rules_constant_value(m, e->b);
  case RULES_OP_SUB: return rules_constant_value(m, e->a) - rules_constant_value(m, e->b);
  case RULES_OP_MUL: return rules_constant_value(m, e->a) * rules_constant_value(m, e->b);
  case RULES_OP_DIV: return rules_constant_value(m, e->a) / rules_constant_value(m, e->b);
  case RULES_OP_NAME:
  case RULES_OP_STATE:
  case RULES_OP_TIME:
  case RULES_OP_LT:
  case RULES_OP_LE:
  case RULES_OP_GT:
  case RULES_OP_GE:
  case RULES_OP_AND: break;
  }
  return 0.0;
}

double rules_param(const RulesModel* m, const RulesRule* rule, RulesParam param, double fallback) {
  const RulesExpr* e = rule->params[param];
  return e ? rules_constant_value(m, e) : fallback;
}

bool rules_target_holds(const RulesModel* m, uint32_t target) {
  if (m->unguarded != RULES_AUTO) return m->unguarded == RULES_HOLD;
  // what has a memory keeps its value, what is a function of the present does not
  for (uint32_t i = 0; i < m->rules.count; i++) {
    const RulesRule* rule = &m->rules.data[i];
    if (rule->target != target) continue;
    if (rules_signature((RulesProcedure)rule->procedure)->class != RULES_CLASS_ALGEBRAIC)
      return true;
  }
  return false;
}

static void check_finite(Builder* b) {
  RulesModel* m = b->m;
  for (uint32_t i = 0; i < m->constants.count; i++) {
    const RulesConstant* c = &m->constants.data[i];
    if (c->number - c->number == 0.0) continue;
    diag_add(b->r->diags, DIAG_E1017, c->span, "the value of the constant '%.*s' is not finite",
             STR_ARGS(c->name));
  }
  for (uint32_t i = 0; i < m->states.count; i++) {
    const RulesState* s = &m->states.data[i];
    if (s->number - s->number == 0.0) continue;
    diag_add(b->r->diags, DIAG_E1017, s->span, "the initial value of '%.*s' is not finite",
             STR_ARGS(s->name));
  }
}

void rules_check(Builder* b) {
  check_finite(b);
  if (b->m->rules.count == 0) {
    Diag* diag = diag_add(b->r->diags, DIAG_E1002, (Span){0, 0}, "the model has no rules");
    diag_hint(b->r->diags, diag, "a table of rules stands under the heading '## Rules'");
  }
}

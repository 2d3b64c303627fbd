// SPDX-License-Identifier: MIT
//
// Numbers at compilation: loop bounds, indices, repeat counts, values of constants.
//
// The same functions evaluate constants and structural expressions. The difference is only that a
// structural use marks the constants it reads, directly or through others: changing them later
// would change the model and not only its numbers.
#include "lisma/lower.h"

#include <math.h>

static bool eval(Lower* l, const AstExpr* expr, bool structural, double* out);
static bool eval_kind(Lower* l, const AstExpr* expr, bool structural, double* out);
static bool eval_scalar(Lower* l, const AstExpr* expr, bool structural, double* out);
static bool eval_condition(Lower* l, const AstExpr* expr, bool structural, bool* out);

static IrOp op_of_link(AstOp op) {
  switch (op) {
  case AST_OP_IMPLIES:
  case AST_OP_XOR: return IR_NIL;
  case AST_OP_OR: return IR_OR;
  case AST_OP_AND: return IR_AND;
  case AST_OP_EQ: return IR_EQ;
  case AST_OP_NE: return IR_NE;
  case AST_OP_LT: return IR_LT;
  case AST_OP_LE: return IR_LE;
  case AST_OP_GT: return IR_GT;
  case AST_OP_GE: return IR_GE;
  case AST_OP_ADD: return IR_ADD;
  case AST_OP_SUB: return IR_SUB;
  case AST_OP_MUL: return IR_MUL;
  case AST_OP_DIV: return IR_DIV;
  case AST_OP_MOD: return IR_MOD;
  }
  return IR_NIL;
}

// ---------------------------------------------------------------------------------------------
// constants

static void report_cycle(Lower* l, uint32_t constant, Span use) {
  Constant* c = &l->names.constants.data[constant];
  Diag* diag = lower_report(l, DIAG_E0204, c->span, "the constant '%.*s' depends on itself",
                            STR_ARGS(lower_name(l, c->name)));
  diag_note(l->diags, diag, use, "its value is needed again here");
}

bool resolve_names_unbounded(Lower* l, const AstExpr* e) {
  if (e->kind == AST_NAME) {
    uint32_t name = resolve_plain(l, &e->as.name.name);
    Symbol symbol = name ? *resolve_symbol(l, name) : (Symbol){0};
    if (symbol.kind == SYM_PARAM && !isfinite(l->names.constants.data[symbol.index].number))
      return true;
    Str head = e->as.name.name.head;
    bool word = str_equal(head, STR_LIT("inf")) || str_equal(head, STR_LIT("nan"));
    if (word && (symbol.kind == SYM_NONE || symbol.kind == SYM_BUILTIN)) return true;
  }
  for (uint32_t i = 0; ast_child(e, i); i++) {
    if (resolve_names_unbounded(l, ast_child(e, i))) return true;
  }
  return false;
}

/// Give `constant` its number. Already known ones are only followed again to mark what they read.
static bool eval_constant(Lower* l, uint32_t constant, bool structural, Span use, double* out) {
  Constant* c = &l->names.constants.data[constant];
  if (c->state == EVAL_BUSY) {
    report_cycle(l, constant, use);
    return false;
  }
  if (c->state == EVAL_FAILED) return false;
  bool* marked = &l->m->params.data[constant].structural;
  bool follow = structural && (!*marked || l->scale) && !c->overridden;
  if (l->scale && l->scale->placing && str_equal(lower_name(l, c->name), l->scale->name)) {
    scale_fail(l);  // the size inside of something: not known to count evenly
  }
  if (structural) *marked = true;
  if (c->state == EVAL_DONE && !follow) {
    *out = c->number;
    return true;
  }

  // the definition sees its own indices, not those of the place that uses it
  BindingMark outer = resolve_enter_bindings(l, c->bindings);
  c->state = EVAL_BUSY;
  double number = 0.0;
  bool fine = eval_scalar(l, c->value, structural, &number);
  c = &l->names.constants.data[constant];
  bool unbounded = fine && !isfinite(number) && resolve_names_unbounded(l, c->value);
  l->m->params.data[constant].unbounded = unbounded;
  if (fine && !isfinite(number) && !unbounded) {
    lower_report(l, DIAG_E0309, c->span, "the constant '%.*s' is not a finite number: %.*s",
                 STR_ARGS(lower_name(l, c->name)), STR_ARGS(lower_number_text(l, number)));
    fine = false;
  }
  c->state = fine ? EVAL_DONE : EVAL_FAILED;
  c->number = number;
  resolve_leave_bindings(l, outer);
  *out = number;
  return fine;
}

bool resolve_constant(Lower* l, uint32_t constant, double* value) {
  return eval_constant(l, constant, false, l->names.constants.data[constant].span, value);
}

bool resolve_enter_macro(Lower* l, uint32_t index, Span use, BindingMark* mark) {
  Macro* macro = &l->names.macros.data[index];
  if (macro->failed) return false;
  if (macro->busy) {
    macro->failed = true;
    Diag* diag = lower_report(l, DIAG_E0205, macro->span, "the macro '%.*s' contains itself",
                              STR_ARGS(lower_name(l, macro->name)));
    diag_note(l->diags, diag, use, "it is used again here");
    return false;
  }
  macro->busy = true;
  *mark = resolve_enter_bindings(l, macro->bindings);
  return true;
}

void resolve_leave_macro(Lower* l, uint32_t macro, BindingMark mark) {
  l->names.macros.data[macro].busy = false;
  resolve_leave_bindings(l, mark);
}

static bool eval_macro(Lower* l, uint32_t index, bool structural, Span use, double* out) {
  BindingMark mark;
  if (!resolve_enter_macro(l, index, use, &mark)) return false;
  bool fine = eval_scalar(l, l->names.macros.data[index].value, structural, out);
  resolve_leave_macro(l, index, mark);
  return fine;
}

// ---------------------------------------------------------------------------------------------
// expressions

static bool report_not_constant(Lower* l, uint32_t name, Span span) {
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_NONE && !symbol.is_variable) {
    resolve_unknown(l, name, span, true);
    return false;
  }
  Str text = lower_name(l, name);
  uint32_t kind = symbol.kind == SYM_NONE ? SYM_VAR : symbol.kind;
  Diag* diag = lower_report(l, DIAG_E0206, span, "'%.*s' is %s, and a constant is needed here",
                            STR_ARGS(text), resolve_kind_text(kind));
  diag_hint(l->diags, diag, "only numbers, loop indices and constants have a value here");
  return false;
}

static bool eval_name(Lower* l, const AstExpr* expr, bool structural, double* out) {
  Local* local = expr->order ? NULL : lower_local(l, &expr->as.name.name);
  if (local) {
    LocalMark mark;
    if (!lower_enter_local(l, local, &mark)) return false;
    bool fine = eval_scalar(l, local->value, structural, out);
    lower_leave_local(l, local, mark);
    return fine;
  }
  uint32_t name = resolve_name(l, &expr->as.name.name);
  if (name == 0) return false;
  if (expr->order) {
    lower_report(l, DIAG_E0206, expr->span, "a derivative is not a constant");
    return false;
  }
  const Binding* binding = ast_name_is_plain(&expr->as.name.name) ? resolve_binding(l, name) : NULL;
  if (binding) {
    if (binding->scaled) scale_fail(l);  // instances may come out in any way
    *out = binding->value;
    return true;
  }
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_PARAM) {
    return eval_constant(l, symbol.index, structural, expr->span, out);
  }
  if (symbol.kind == SYM_MACRO) return eval_macro(l, symbol.index, structural, expr->span, out);
  if (symbol.kind == SYM_BUILTIN) {
    switch ((Builtin)symbol.index) {
    case BUILTIN_PI: *out = 3.14159265358979323846; return true;
    case BUILTIN_E: *out = 2.71828182845904523536; return true;
    case BUILTIN_G: *out = 9.80665; return true;
    case BUILTIN_TRUE: *out = 1.0; return true;
    case BUILTIN_FALSE: *out = 0.0; return true;
    case BUILTIN_INF: *out = (double)INFINITY; return true;
    case BUILTIN_NAN: *out = (double)NAN; return true;
    case BUILTIN_TIME:
    case BUILTIN_T0: break;
    }
  }
  return report_not_constant(l, name, expr->as.name.name.span);
}

static bool eval_chain(Lower* l, const AstExpr* expr, bool structural, double* out) {
  const AstLinkList* links = &expr->as.chain.links;
  double total = 0.0;
  if (!eval(l, links->data[0].operand, structural, &total)) return false;
  for (uint32_t i = 1; i < links->count; i++) {
    double operand = 0.0;
    if (!eval(l, links->data[i].operand, structural, &operand)) return false;
    total = ir_apply(op_of_link(links->data[i].op), total, operand, 0.0);
  }
  *out = total;
  return true;
}

static bool eval_call(Lower* l, const AstExpr* expr, bool structural, double* out) {
  const AstExprList* args = &expr->as.call.args;
  const Function* function = lower_find_function(l, expr->as.call.callee);
  if (ast_name_is_word(expr->as.call.callee, STR_LIT("noEvent")) && args->count == 1) {
    return eval(l, args->data[0], structural, out);
  }
  uint32_t user = function ? IR_NONE : lower_find_user_function(l, expr->as.call.callee);
  if (user != IR_NONE) {
    CallFrame frame;
    if (!lower_enter_function(l, expr, user, &frame)) return false;
    bool fine = eval_scalar(l, l->functions.user.data[user].ast->result, structural, out);
    lower_leave_function(l, &frame);
    return fine;
  }
  if (!function || function->kind == FUNCTION_RANDOM || function->kind == FUNCTION_SPECIAL) {
    Str name = expr->as.call.callee->head;
    lower_report(l, DIAG_E0206, expr->span, "'%.*s(...)' is not a constant", STR_ARGS(name));
    return false;
  }
  if (!lower_has_arity(l, expr, function)) return false;
  double total = 0.0;
  if (!eval_scalar(l, args->data[0], structural, &total)) return false;
  if (function->arity == 1) {
    *out = ir_apply((IrOp)function->op, total, 0.0, 0.0);
    return true;
  }
  for (uint32_t i = 1; i < args->count; i++) {
    double argument = 0.0;
    if (!eval_scalar(l, args->data[i], structural, &argument)) return false;
    total = ir_apply((IrOp)function->op, total, argument, 0.0);
  }
  *out = total;
  return true;
}

/// Loops of a sum or product, the first one outermost.
static bool eval_reduction(Lower* l, const AstExpr* expr, uint32_t level, bool structural,
                           double* total) {
  if (level == expr->as.reduction.iterators.count) {
    double term = 0.0;
    if (!eval_scalar(l, expr->as.reduction.body, structural, &term)) return false;
    *total = expr->as.reduction.product ? *total * term : *total + term;
    return true;
  }
  const AstIterator* iterator = &expr->as.reduction.iterators.data[level];
  RangeValues range = {0};
  if (!resolve_range(l, &iterator->range, &range)) return false;
  if (range.scaled) scale_fail(l);
  uint32_t name = names_intern(&l->m->names, iterator->variable);
  bool fine = true;
  for (int64_t i = range.first; fine && i <= range.last; i++) {
    resolve_bind(l, name, (double)i);
    fine = lower_enter(l, expr->span);
    if (fine) {
      fine = eval_reduction(l, expr, level + 1, structural, total);
      lower_leave(l);
    }
    resolve_unbind(l);
  }
  return fine;
}

static bool eval_kind(Lower* l, const AstExpr* expr, bool structural, double* out) {
  bool truth = false;
  switch (expr->kind) {
  case AST_NUMBER:
    scale_note_number(l, expr->as.number);
    *out = expr->as.number;
    return true;
  case AST_NAME: return eval_name(l, expr, structural, out);
  case AST_CALL: return eval_call(l, expr, structural, out);
  case AST_REDUCTION:
    *out = expr->as.reduction.product ? 1.0 : 0.0;
    return eval_reduction(l, expr, 0, structural, out);
  case AST_CONDITIONAL:
    if (!eval_condition(l, expr->as.conditional.condition, structural, &truth)) return false;
    return eval(l, truth ? expr->as.conditional.then_value : expr->as.conditional.else_value,
                structural, out);
  case AST_UNARY:
    if (!eval(l, expr->as.unary.operand, structural, out)) return false;
    if (expr->as.unary.op == AST_UNARY_MINUS) *out = -*out;
    return true;
  case AST_POWER: {
    double base = 0.0;
    double exponent = 0.0;
    if (!eval(l, expr->as.power.base, structural, &base)) return false;
    if (!eval(l, expr->as.power.exponent, structural, &exponent)) return false;
    *out = ir_apply(IR_POW, base, exponent, 0.0);
    return true;
  }
  case AST_CHAIN: return eval_chain(l, expr, structural, out);
  case AST_ERROR:
  case AST_QUALIFIED:
  case AST_ATOM: break;
  }
  return false;
}

static bool eval(Lower* l, const AstExpr* expr, bool structural, double* out) {
  if (lower_is_condition(expr)) {
    lower_report(l, DIAG_E0301, expr->span, "a number is needed here, and this is a condition");
    return false;
  }
  if (!lower_enter(l, expr->span)) return false;
  bool fine = eval_kind(l, expr, structural, out);
  lower_leave(l);
  return fine;
}

/// A number, or a condition as 1 or 0.
static bool eval_scalar(Lower* l, const AstExpr* expr, bool structural, double* out) {
  bool truth = false;
  if (!lower_means_condition(l, expr)) return eval(l, expr, structural, out);
  if (!eval_condition(l, expr, structural, &truth)) return false;
  *out = truth ? 1.0 : 0.0;
  return true;
}

/// `a xor b`, `a implies b`.
static bool eval_logic(Lower* l, const AstExpr* expr, bool structural, bool* out) {
  const AstLinkList* links = &expr->as.chain.links;
  bool implies = expr->as.chain.level == AST_LEVEL_IMPLIES;
  bool all = true;  // of the causes
  bool parity = false;
  for (uint32_t i = 0; i < links->count; i++) {
    if (!eval_condition(l, links->data[i].operand, structural, out)) return false;
    parity = parity != *out;
    if (i + 1 < links->count) all = all && *out;
  }
  *out = implies ? !all || *out : parity;
  return true;
}

/// a < b, a == b over numbers.
static bool eval_comparison(Lower* l, const AstExpr* expr, bool structural, bool* out) {
  const AstLinkList* links = &expr->as.chain.links;
  double a = 0.0;
  double b = 0.0;
  if (links->count != 2) {
    lower_report(l, DIAG_E0307, expr->span, "comparisons cannot be chained");
    return false;
  }
  if (!eval_scalar(l, links->data[0].operand, structural, &a)) return false;
  if (!eval_scalar(l, links->data[1].operand, structural, &b)) return false;
  *out = ir_apply(op_of_link(links->data[1].op), a, b, 0.0) != 0.0;
  return true;
}

static bool eval_condition_kind(Lower* l, const AstExpr* expr, bool structural, bool* out) {
  bool named = expr->kind == AST_NAME || (expr->kind == AST_CALL && !lower_is_condition(expr));
  if (named) {
    double number = 0.0;
    if (!eval_kind(l, expr, structural, &number)) return false;
    *out = number != 0.0;
    return true;
  }
  if (expr->kind == AST_CALL) {
    return eval_condition(l, expr->as.call.args.data[0], structural, out);
  }
  if (expr->kind == AST_ATOM) {
    return eval_condition(l, expr->as.atom.condition, structural, out);
  }
  if (expr->kind == AST_UNARY && expr->as.unary.op == AST_UNARY_NOT) {
    if (!eval_condition(l, expr->as.unary.operand, structural, out)) return false;
    *out = !*out;
    return true;
  }
  if (expr->kind != AST_CHAIN || expr->as.chain.level > AST_LEVEL_RELATION) {
    lower_report(l, DIAG_E0206, expr->span, "a condition over numbers and constants is needed");
    return false;
  }
  const AstLinkList* links = &expr->as.chain.links;
  if (expr->as.chain.level >= AST_LEVEL_EQUALITY) return eval_comparison(l, expr, structural, out);
  bool logic = expr->as.chain.level == AST_LEVEL_XOR || expr->as.chain.level == AST_LEVEL_IMPLIES;
  if (logic) return eval_logic(l, expr, structural, out);
  // `||` and `&&` stop where the answer is clear, as guards of indices need it
  bool stop_at = expr->as.chain.level == AST_LEVEL_OR;
  for (uint32_t i = 0; i < links->count; i++) {
    if (!eval_condition(l, links->data[i].operand, structural, out)) return false;
    if (*out == stop_at) break;
  }
  return true;
}

static bool eval_condition(Lower* l, const AstExpr* expr, bool structural, bool* out) {
  if (!lower_enter(l, expr->span)) return false;
  bool fine = eval_condition_kind(l, expr, structural, out);
  lower_leave(l);
  return fine;
}

bool resolve_eval(Lower* l, const AstExpr* expr, double* value) {
  return eval(l, expr, true, value);
}

bool resolve_eval_whole(Lower* l, const AstExpr* expr, const char* what, DiagCode code,
                        double* value) {
  // the usual index is a bare loop variable
  if (expr->kind == AST_NAME && expr->order == 0) {
    uint32_t name = resolve_plain(l, &expr->as.name.name);
    const Binding* binding = name ? resolve_binding(l, name) : NULL;
    if (binding) {
      if (binding->scaled) scale_fail(l);
      *value = binding->value;
      return true;
    }
  }
  if (!resolve_eval(l, expr, value)) return false;
  bool whole = *value == floor(*value);
  if (whole && fabs(*value) <= LOWER_INDEX_MAX) return true;
  Str text = lower_number_text(l, *value);
  Str instance = lower_instance_text(l);
  lower_report(l, code, expr->span,
               whole ? "%s is too large: %.*s%.*s"
                     : "%s must be a whole number; here it is %.*s%.*s",
               what, STR_ARGS(text), STR_ARGS(instance));
  return false;
}

bool resolve_eval_place(Lower* l, const AstExpr* expr, const char* what, DiagCode code,
                        double* value, bool* scaled) {
  if (scaled) *scaled = false;
  if (!l->scale) return resolve_eval_whole(l, expr, what, code, value);
  if (scale_place(l, expr, value)) {
    if (scaled) *scaled = true;
    return true;
  }
  l->scale->placing++;
  bool fine = resolve_eval_whole(l, expr, what, code, value);
  l->scale->placing--;
  if (fine && fabs(*value) > l->scale->fixed) l->scale->fixed = fabs(*value);
  return fine;
}

// ---------------------------------------------------------------------------------------------
// terms

#define TERM_DEPTH_MAX 200u
#define TERM_WORK_MAX  2000u  // shared parts are visited once per use

typedef struct TermEval {
  Lower* l;
  IrTerm term;
  uint32_t work;
} TermEval;

static bool term_value(TermEval* t, uint32_t index, uint32_t depth, double* out) {
  if (depth > TERM_DEPTH_MAX || ++t->work > TERM_WORK_MAX) return false;
  const IrModel* m = t->l->m;
  IrNode node = m->pool.nodes.data[index];
  IrOp op = (IrOp)node.op;
  if (op == IR_CONST) {
    *out = node.value;
    return true;
  }
  if (op == IR_SLOT) {
    IrLeaf leaf = ir_leaf(m, t->term, node.arg[0]);
    if (leaf.kind == IR_LEAF_NUMBER) {
      *out = m->numbers.data[leaf.id];
      return true;
    }
    return leaf.kind == IR_LEAF_PARAM && resolve_constant(t->l, leaf.id, out);
  }
  if (op == IR_TABLE || op == IR_TIME || op >= IR_RANDOM) return false;
  double args[3] = {0.0, 0.0, 0.0};
  for (uint32_t k = 0; k < ir_op_arity(op); k++) {
    if (!term_value(t, node.arg[k], depth + 1, &args[k])) return false;
  }
  *out = ir_apply(op, args[0], args[1], args[2]);
  return true;
}

bool resolve_term_value(Lower* l, IrTerm term, double* value) {
  TermEval t = {.l = l, .term = term};
  return ir_term_present(term) && term_value(&t, term.shape.index, 0, value);
}

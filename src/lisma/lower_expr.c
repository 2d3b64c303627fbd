// SPDX-License-Identifier: MIT
//
// Numbers: expressions into the term under construction.
#include "lisma/lower.h"

#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------
// terms

TermFrame lower_begin(Lower* l) {
  TermFrame frame = {.builder = l->terms.builder, .term_number = l->terms.number};
  ir_term_begin(&l->terms.builder, l->m);
  l->terms.number = ++l->terms.count;
  return frame;
}

IrTerm lower_end(Lower* l, TermFrame frame, ExprId root) {
  IrTerm term = ir_term_end(&l->terms.builder, root);
  l->terms.builder = frame.builder;
  l->terms.number = frame.term_number;
  return term;
}

IrTerm lower_snapshot(Lower* l, ExprId root) {
  IrTermBuilder copy;
  ir_term_begin(&copy, l->m);
  uint32_t count = l->terms.builder.row.count;
  base_vec_reserve(l->arena, &copy.row, count);
  if (count) memcpy(copy.row.data, l->terms.builder.row.data, count * sizeof *copy.row.data);
  copy.row.count = count;
  return ir_term_end(&copy, root);
}

ExprId lower_leaf(Lower* l, IrLeaf leaf) {
  return ir_term_leaf(&l->terms.builder, leaf);
}

ExprId lower_op(Lower* l, IrOp op, ExprId a, ExprId b) {
  return ir_node(&l->m->pool, op, a, b, (ExprId){0});
}

Value lower_value_bad(void) {
  return (Value){.type = VALUE_BAD};
}

static Value number_value(ExprId e, unsigned flags) {
  return (Value){.e = e, .type = VALUE_NUMBER, .flags = (uint8_t)flags};
}

IrTerm lower_term(Lower* l, const AstExpr* expr, Scope scope, uint8_t* flags) {
  Scope outer = l->terms.scope;
  l->terms.scope = scope;
  TermFrame frame = lower_begin(l);
  Value value = lower_scalar(l, expr);
  if (flags) *flags = value.flags;
  if (value.type == VALUE_BAD) value.e.index = 0;
  IrTerm term = lower_end(l, frame, value.e);
  l->terms.scope = outer;
  return term;
}

// ---------------------------------------------------------------------------------------------
// names

static bool constants_only(const Lower* l) {
  return l->terms.scope.kind == SCOPE_CONSTANT || l->terms.scope.kind == SCOPE_SCHEDULE;
}

static Value report_not_constant(Lower* l, Span span, uint32_t name) {
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_NONE && !symbol.is_variable) {
    resolve_unknown(l, name, span, true);
    return lower_value_bad();
  }
  uint32_t kind = symbol.kind == SYM_NONE ? SYM_VAR : symbol.kind;
  Diag* diag = lower_report(l, DIAG_E0206, span, "'%.*s' is %s, and a constant is needed here",
                            STR_ARGS(lower_name(l, name)), resolve_kind_text(kind));
  diag_hint(l->diags, diag, "only numbers, loop indices and constants have a value here");
  return lower_value_bad();
}

static Value report_derivative(Lower* l, Span span, Str name, const char* kind) {
  lower_report(l, DIAG_E0306, span, "'%.*s' is %s and has no derivative; only variables have one",
               STR_ARGS(name), kind);
  return lower_value_bad();
}

static Value lower_builtin(Lower* l, Builtin builtin, Span span, uint32_t name) {
  IrTermBuilder* builder = &l->terms.builder;
  switch (builtin) {
  case BUILTIN_PI: return number_value(ir_term_number(builder, 3.14159265358979323846), 0);
  case BUILTIN_E: return number_value(ir_term_number(builder, 2.71828182845904523536), 0);
  case BUILTIN_G: return number_value(ir_term_number(builder, 9.80665), 0);
  case BUILTIN_TIME:
    if (constants_only(l)) return report_not_constant(l, span, name);
    return number_value(lower_op(l, IR_TIME, (ExprId){0}, (ExprId){0}), VALUE_VARIES);
  case BUILTIN_TRUE: return number_value(ir_term_number(builder, 1.0), 0);
  case BUILTIN_FALSE: return number_value(ir_term_number(builder, 0.0), 0);
  case BUILTIN_INF: return number_value(ir_term_number(builder, (double)INFINITY), 0);
  case BUILTIN_NAN: return number_value(ir_term_number(builder, (double)NAN), 0);
  case BUILTIN_T0: break;
  }
  if (l->terms.scope.kind == SCOPE_CONSTANT) return report_not_constant(l, span, name);
  if (l->terms.scope.entry_is_now) {
    return number_value(lower_op(l, IR_TIME, (ExprId){0}, (ExprId){0}), VALUE_VARIES);
  }
  IrLeaf leaf = {.id = l->terms.scope.automaton, .kind = IR_LEAF_ENTRY};
  return number_value(lower_leaf(l, leaf), VALUE_VARIES);
}

static Value lower_variable_leaf(Lower* l, uint32_t name, uint32_t order, Span span) {
  if (constants_only(l)) return report_not_constant(l, span, name);
  if (order > LOWER_ORDER_MAX) {
    lower_report(l, DIAG_E0306, span, "derivatives go up to order %u", LOWER_ORDER_MAX);
    return lower_value_bad();
  }
  uint32_t var = resolve_var(l, name, span);
  if (l->terms.scope.equation) {
    VarInfo* info = &l->names.vars.data[var];
    info->flags |= order ? VAR_IN_EQUATION | VAR_STRONG : VAR_IN_EQUATION;
    info->uses++;
  } else if (order) {
    resolve_note_derivative(l, var, span);
  }
  IrTermBuilder* builder = &l->terms.builder;
  IrLeaf leaf = {.id = var, .kind = IR_LEAF_VAR, .order = (uint8_t)order, .when = IR_NOW};
  ExprId slot = l->walk.selected ? ir_term_addend_leaf(builder, leaf) : ir_term_leaf(builder, leaf);
  return number_value(slot, VALUE_VARIES);
}

uint32_t lower_scope_key(const Lower* l) {
  return (uint32_t)l->terms.scope.kind | (l->terms.scope.literal ? 256u : 0u) |
         (l->terms.scope.in_atom ? 512u : 0u);
}

static Value inline_macro(Lower* l, uint32_t index, Span use) {
  Macro* macro = &l->names.macros.data[index];
  if (macro->memo_term == l->terms.number && macro->memo_scope == lower_scope_key(l))
    return macro->memo;
  if (lower_is_condition(macro->value)) {
    Diag* diag =
        lower_report(l, DIAG_E0301, use, "a number is needed here, and '%.*s' is a condition",
                     STR_ARGS(lower_name(l, macro->name)));
    diag_note(l->diags, diag, macro->span, "it is defined here");
    return lower_value_bad();
  }
  BindingMark mark;
  if (!resolve_enter_macro(l, index, use, &mark)) return lower_value_bad();
  Value value = lower_value(l, macro->value);
  resolve_leave_macro(l, index, mark);
  macro = &l->names.macros.data[index];
  macro->memo_term = l->terms.number;
  macro->memo_scope = lower_scope_key(l);
  macro->memo = value;
  return value;
}

/// A name that is no loop index, with `order` derivative marks.
static Value lower_symbol(Lower* l, uint32_t name, uint32_t order, Span span) {
  Symbol symbol = *resolve_symbol(l, name);
  Str text = lower_name(l, name);
  bool variable = symbol.kind == SYM_VAR || symbol.kind == SYM_NONE;
  if (variable) return lower_variable_leaf(l, name, order, span);
  if (order) return report_derivative(l, span, text, resolve_kind_text(symbol.kind));
  if (symbol.kind == SYM_PARAM) {
    return number_value(ir_term_param(&l->terms.builder, symbol.index), VALUE_PARAM);
  }
  if (symbol.kind == SYM_MACRO) return inline_macro(l, symbol.index, span);
  if (symbol.kind == SYM_BUILTIN) return lower_builtin(l, (Builtin)symbol.index, span, name);
  if (symbol.kind == SYM_FUNCTION) {
    lower_report(l, DIAG_E0202, span, "'%.*s' is a function and needs its arguments",
                 STR_ARGS(text));
    return lower_value_bad();
  }
  Diag* diag = lower_report(l, DIAG_E0310, span, "'%.*s' is a table, not a number", STR_ARGS(text));
  diag_hint(l->diags, diag, "write table(%.*s, x)", STR_ARGS(text));
  return lower_value_bad();
}

/// A path where the model has no parts.
static Value lower_report_path(Lower* l, const AstName* name) {
  Diag* diag =
      lower_report(l, DIAG_E0215, name->span, "there is no part '%.*s' here", STR_ARGS(name->head));
  diag_hint(l->diags, diag, "'.' leads to a member of a part, or to a state of an automaton");
  return lower_value_bad();
}

static Value lower_name_value(Lower* l, const AstExpr* expr) {
  const AstName* written = &expr->as.name.name;
  uint32_t order = expr->order;
  if (written->member) return lower_report_path(l, written);
  Local* local = lower_local(l, written);
  if (local) return lower_local_value(l, local, order, expr->span);
  l->walk.selected = false;
  uint32_t name = resolve_name(l, written);
  if (name == 0) return lower_value_bad();
  const Binding* index = ast_name_is_plain(written) ? resolve_binding(l, name) : NULL;
  if (!index) return lower_symbol(l, name, order, written->span);
  if (order) return report_derivative(l, expr->span, lower_name(l, name), "a loop index");
  scale_note_index(l, index);
  return number_value(ir_term_number_leaf(&l->terms.builder, index->value), VALUE_INDEX);
}

// ---------------------------------------------------------------------------------------------
// operators

static IrOp arithmetic_op(AstOp op) {
  switch ((int)op) {
  case AST_OP_ADD: return IR_ADD;
  case AST_OP_SUB: return IR_SUB;
  case AST_OP_MUL: return IR_MUL;
  case AST_OP_DIV: return IR_DIV;
  default: return IR_MOD;
  }
}

// ---- quotients by a magnitude -------------------------------------------------------------------

static const IrNode* node_of(const Lower* l, uint32_t index) {
  return &l->m->pool.nodes.data[index];
}

/// Whether an expression is abs(u), as switches write it.
static bool is_magnitude(const Lower* l, uint32_t e, uint32_t* u) {
  const IrNode* node = node_of(l, e);
  if (node->op != IR_SELECT) return false;
  *u = node->arg[2];
  const IrNode* negative = node_of(l, node->arg[1]);
  return negative->op == IR_NEG && negative->arg[0] == *u;
}

/// `a` with its factor u as the sign of u, by the switch of abs(u); index 0: u is no factor.
static ExprId with_sign_of(Lower* l, uint32_t a, uint32_t u, ExprId sign) {
  if (a == u) return sign;
  IrNode node = *node_of(l, a);
  if (node.op != IR_NEG && node.op != IR_MUL) return (ExprId){0};
  ExprId first = with_sign_of(l, node.arg[0], u, sign);
  if (node.op == IR_NEG) return first.index ? lower_op(l, IR_NEG, first, (ExprId){0}) : first;
  if (first.index) return lower_op(l, IR_MUL, first, (ExprId){node.arg[1]});
  ExprId second = with_sign_of(l, node.arg[1], u, sign);
  return second.index ? lower_op(l, IR_MUL, (ExprId){node.arg[0]}, second) : second;
}

/// u/abs(u), u/sqrt(abs(u)) and u/abs(u)^p are written without a quotient that has no value where
/// u = 0: sign(u), and sign(u)*abs(u)^(1 - p).
static ExprId divide(Lower* l, ExprId a, ExprId b) {
  IrNode divisor = *node_of(l, b.index);
  if (divisor.op == IR_MUL) {
    ExprId first = divide(l, a, (ExprId){divisor.arg[0]});
    bool plain = node_of(l, first.index)->op == IR_DIV;
    ExprId both = divide(l, plain ? a : first, (ExprId){divisor.arg[1]});
    if (plain && node_of(l, both.index)->op == IR_DIV) return lower_op(l, IR_DIV, a, b);
    return plain ? lower_op(l, IR_DIV, both, (ExprId){divisor.arg[0]}) : both;
  }
  bool root = divisor.op == IR_SQRT || divisor.op == IR_POW;
  uint32_t u = 0;
  uint32_t magnitude = root ? divisor.arg[0] : b.index;
  if (!is_magnitude(l, magnitude, &u)) return lower_op(l, IR_DIV, a, b);
  ExprId one = ir_term_number(&l->terms.builder, 1.0);
  ExprId less = ir_term_number(&l->terms.builder, -1.0);
  ExprId below = {node_of(l, magnitude)->arg[0]};
  ExprId whole = with_sign_of(l, a.index, u, ir_node(&l->m->pool, IR_SELECT, below, less, one));
  if (!whole.index) return lower_op(l, IR_DIV, a, b);
  if (!root) return whole;
  if (divisor.op == IR_SQRT) return lower_op(l, IR_MUL, whole, b);
  ExprId power = lower_op(l, IR_SUB, one, (ExprId){divisor.arg[1]});
  return lower_op(l, IR_MUL, whole, lower_op(l, IR_POW, (ExprId){magnitude}, power));
}

static Value combine(Lower* l, IrOp op, Value a, Value b, Span span) {
  if (a.type == VALUE_BAD || b.type == VALUE_BAD) return lower_value_bad();
  if (op == IR_MOD) {
    Function mod = {.name = "mod", .op = IR_MOD, .arity = 2, .kind = FUNCTION_JUMPING};
    return lower_piecewise(l, &mod, (Value[]){a, b}, span);
  }
  ExprId e = op == IR_DIV ? divide(l, a.e, b.e) : lower_op(l, op, a.e, b.e);
  return number_value(e, (unsigned)a.flags | b.flags);
}

static Value lower_chain(Lower* l, const AstExpr* expr) {
  const AstLinkList* links = &expr->as.chain.links;
  Value total = lower_value(l, links->data[0].operand);
  for (uint32_t i = 1; i < links->count; i++) {
    const AstLink* link = &links->data[i];
    Value operand = lower_value(l, link->operand);
    Span span = span_join(expr->span, link->operand->span);
    total = combine(l, arithmetic_op(link->op), total, operand, span);
  }
  return total;
}

static Value lower_unary(Lower* l, const AstExpr* expr) {
  const AstExpr* operand = expr->as.unary.operand;
  bool minus = expr->as.unary.op == AST_UNARY_MINUS;
  if (minus && operand->kind == AST_NUMBER) {
    return number_value(ir_term_number(&l->terms.builder, -operand->as.number), 0);
  }
  Value value = lower_value(l, operand);
  if (value.type == VALUE_BAD || !minus) return value;
  return number_value(lower_op(l, IR_NEG, value.e, (ExprId){0}), value.flags);
}

static Value lower_power(Lower* l, const AstExpr* expr) {
  Value base = lower_value(l, expr->as.power.base);
  Value exponent = lower_value(l, expr->as.power.exponent);
  return combine(l, IR_POW, base, exponent, expr->span);
}

#define REDUCED_MAX  4000000u  // terms of all sums and products of a model
#define REDUCED_SURE 8.0       // by so much an estimate may be too large

/// State of a sum or product while its loops run.
typedef struct Reduction {
  const AstExpr* expr;
  Value total;
  bool started;
} Reduction;

static void stop_reduction(Lower* l, const AstExpr* expr) {
  Diag* diag =
      lower_report(l, DIAG_E0721, expr->span, "this sum or product makes the model too large");
  diag_hint(l->diags, diag, "all sums and products of a model may have %u terms", REDUCED_MAX);
  l->walk.stopped = true;
}

static void reduce(Lower* l, Reduction* r, uint32_t level) {
  if (level == r->expr->as.reduction.iterators.count) {
    // sums in sums multiply their ranges: each may be small, all together not
    if (++l->walk.reduced > REDUCED_MAX) {
      stop_reduction(l, r->expr);
      return;
    }
    uint32_t around = l->terms.builder.addend;
    l->terms.builder.addend = l->terms.builder.row.count;
    Value term = lower_scalar(l, r->expr->as.reduction.body);
    l->terms.builder.addend = around;
    IrOp op = r->expr->as.reduction.product ? IR_MUL : IR_ADD;
    r->total = r->started ? combine(l, op, r->total, term, r->expr->span) : term;
    r->started = true;
    return;
  }
  const AstIterator* iterator = &r->expr->as.reduction.iterators.data[level];
  RangeValues range = {0};
  if (!resolve_range(l, &iterator->range, &range)) {
    r->total = lower_value_bad();
    r->started = true;
    return;
  }
  if (range.scaled) scale_fail(l);
  if (range.last - range.first > l->walk.max_leaves) {
    lower_report(l, DIAG_E0721, iterator->span, "this range makes the model too large");
    l->walk.stopped = true;
    return;
  }
  uint32_t name = names_intern(&l->m->names, iterator->variable);
  for (int64_t i = range.first; i <= range.last && !l->walk.stopped; i++) {
    resolve_bind(l, name, (double)i);
    bool innermost = level + 1 == r->expr->as.reduction.iterators.count;
    if (innermost) l->names.bindings.data[l->names.bindings.count - 1].sum = l->walk.sums;
    reduce(l, r, level + 1);
    resolve_unbind(l);
  }
}

static Value lower_reduction(Lower* l, const AstExpr* expr) {
  Reduction r = {.expr = expr};
  // what is surely too much is refused before anything is made of it; those inside are counted with
  // it
  bool outermost = l->walk.sums == 0;
  uint32_t errors = l->diags->error_count;
  if (outermost && resolve_terms(l, expr) > REDUCED_SURE * REDUCED_MAX) stop_reduction(l, expr);
  if (l->diags->error_count != errors) return lower_value_bad();
  l->walk.sums++;
  reduce(l, &r, 0);
  l->walk.sums--;
  if (l->walk.stopped) return lower_value_bad();
  if (r.started) return r.total;
  double empty = expr->as.reduction.product ? 1.0 : 0.0;
  return number_value(ir_term_number(&l->terms.builder, empty), 0);
}

static Value lower_kind(Lower* l, const AstExpr* expr) {
  switch (expr->kind) {
  case AST_NUMBER: return number_value(ir_term_number(&l->terms.builder, expr->as.number), 0);
  case AST_NAME: return lower_name_value(l, expr);
  case AST_CALL: return lower_call(l, expr);
  case AST_REDUCTION: return lower_reduction(l, expr);
  case AST_CONDITIONAL: return lower_conditional(l, expr);
  case AST_UNARY: return lower_unary(l, expr);
  case AST_POWER: return lower_power(l, expr);
  case AST_CHAIN: return lower_chain(l, expr);
  case AST_ERROR:
  case AST_QUALIFIED:
  case AST_ATOM: break;
  }
  return lower_value_bad();
}

Value lower_value(Lower* l, const AstExpr* expr) {
  if (lower_is_condition(expr)) {
    Diag* diag =
        lower_report(l, DIAG_E0301, expr->span, "a number is needed here, and this is a condition");
    diag_hint(l->diags, diag, "if(condition, 1, 0) makes a number of it");
    return lower_value_bad();
  }
  if (!lower_enter(l, expr->span)) return lower_value_bad();
  Value value = lower_kind(l, expr);
  lower_leave(l);
  return value;
}

Value lower_scalar(Lower* l, const AstExpr* expr) {
  if (!lower_means_condition(l, expr)) return lower_value(l, expr);
  AstExpr yes = {.kind = AST_NUMBER, .depth = 1, .span = expr->span};
  AstExpr no = yes;
  yes.as.number = 1.0;
  AstExpr choice = {.kind = AST_CONDITIONAL, .depth = expr->depth, .span = expr->span};
  choice.as.conditional.condition = (AstExpr*)expr;
  choice.as.conditional.then_value = &yes;
  choice.as.conditional.else_value = &no;
  if (!lower_enter(l, expr->span)) return lower_value_bad();
  Value value = lower_conditional(l, &choice);
  lower_leave(l);
  return value;
}

// ---------------------------------------------------------------------------------------------
// variables in their own right

bool lower_variable(Lower* l, const AstExpr* expr, uint32_t* var, uint32_t* order) {
  const AstExpr* written = expr;
  uint32_t extra = 0;
  if (expr->kind == AST_CALL && ast_name_is_word(expr->as.call.callee, STR_LIT("der"))) {
    if (!lower_der_order(l, expr, &extra)) return false;
    written = expr->as.call.args.data[0];
  }
  if (written->kind != AST_NAME || written->as.name.name.member) return false;
  Local* local = lower_local(l, &written->as.name.name);
  if (local) {
    LocalMark mark;
    if (!lower_enter_local(l, local, &mark)) return false;
    bool variable = lower_variable(l, local->value, var, order);
    lower_leave_local(l, local, mark);
    *order += written->order + extra;
    return variable && *order <= LOWER_ORDER_MAX;
  }
  uint32_t name = resolve_name(l, &written->as.name.name);
  if (name == 0) return false;
  if (ast_name_is_plain(&written->as.name.name) && resolve_binding(l, name)) return false;
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind != SYM_VAR && symbol.kind != SYM_NONE) return false;
  *order = written->order + extra;
  if (*order > LOWER_ORDER_MAX) return false;
  *var = resolve_var(l, name, written->as.name.name.span);
  return true;
}

bool lower_target(Lower* l, const AstName* written, uint32_t order, bool action, uint32_t* var) {
  if (written->member) {
    lower_report_path(l, written);
    return false;
  }
  uint32_t name = resolve_name(l, written);
  if (name == 0) return false;
  Str text = lower_name(l, name);
  if (order > LOWER_ORDER_MAX) {
    lower_report(l, DIAG_E0306, written->span, "derivatives go up to order %u", LOWER_ORDER_MAX);
    return false;
  }
  if (ast_name_is_plain(written) && resolve_binding(l, name)) {
    lower_report(l, DIAG_E0202, written->span, "'%.*s' is a loop index and cannot be given a value",
                 STR_ARGS(text));
    return false;
  }
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_NONE || symbol.kind == SYM_VAR) {
    *var = resolve_var(l, name, written->span);
    if (order) resolve_note_derivative(l, *var, written->span);
    return true;
  }
  bool constant = symbol.kind == SYM_PARAM;
  Diag* diag = NULL;
  if (constant && action) {
    diag = lower_report(l, DIAG_E0207, written->span, "the constant '%.*s' cannot be assigned",
                        STR_ARGS(text));
    if (lower_is_member(text)) {
      diag_hint(l->diags, diag,
                "what changes during a run is a variable of the part, no parameter");
    } else {
      diag_hint(l->diags, diag, "declare it as a variable with '%.*s(t0) = ...'", STR_ARGS(text));
    }
  } else {
    diag = lower_report(l, DIAG_E0202, written->span, "'%.*s' is %s and has no initial value",
                        STR_ARGS(text), resolve_kind_text(symbol.kind));
  }
  if (symbol.kind != SYM_BUILTIN) {
    diag_note(l->diags, diag, resolve_symbol_span(l, symbol), "it is declared here");
  }
  return false;
}

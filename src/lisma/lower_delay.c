// SPDX-License-Identifier: MIT
//
// delay(x, T): what x was T ago. The past of x is kept in every state, so the call becomes an
// equation of the global body: a helper variable with the text of the call as its name, read from a
// table that the run fills. An argument that is more than a variable gets a helper as well. Equal
// calls have equal names and are one.
#include "lisma/lower.h"

#define DELAY_ARGUMENTS_MIN 2u
#define DELAY_ARGUMENTS_MAX 4u

static bool check_call(Lower* l, const AstExpr* expr) {
  uint32_t count = expr->as.call.args.count;
  if (count < DELAY_ARGUMENTS_MIN || count > DELAY_ARGUMENTS_MAX) {
    Diag* diag =
        lower_report(l, DIAG_E0303, expr->span, "'delay' takes 2 to 4 arguments, and here %s %u",
                     count == 1 ? "is" : "are", count);
    diag_hint(l->diags, diag, "delay(x, T): what x was T ago; delay(x, T, x0): with x0 until then");
    return false;
  }
  if (l->terms.scope.kind == SCOPE_CONSTANT || l->terms.scope.kind == SCOPE_SCHEDULE ||
      l->terms.scope.kind == SCOPE_START) {
    Diag* diag = lower_report(l, DIAG_E0314, expr->span, "'delay' has no value here");
    diag_hint(l->diags, diag, "a past is known while time flows: in equations, guards and resets");
    return false;
  }
  return true;
}

/// The word behind the value before the start.
static bool read_interpolation(Lower* l, const AstExpr* expr, uint8_t* interpolation) {
  *interpolation = IR_CUBIC;
  if (expr->as.call.args.count < DELAY_ARGUMENTS_MAX) return true;
  const AstExpr* word = expr->as.call.args.data[3];
  bool plain = word->kind == AST_NAME && word->as.name.order == 0 && !word->as.name.name.quoted &&
               ast_name_is_plain(&word->as.name.name);
  Str text = plain ? word->as.name.name.head : STR_LIT("");
  if (str_equal(text, STR_LIT("cubic"))) return true;
  *interpolation = IR_LINEAR;
  if (str_equal(text, STR_LIT("linear"))) return true;
  lower_report(l, DIAG_E0314, word->span, "the last argument of 'delay' is 'linear' or 'cubic'");
  return false;
}

/// A variable that the model does not write out; true when it is new.
static bool helper_var(Lower* l, Str text, Span span, uint32_t* var) {
  uint32_t name = names_intern(&l->m->names, text);
  bool known = resolve_symbol(l, name)->kind == SYM_VAR;
  *var = resolve_var(l, name, span);
  l->names.vars.data[*var].flags |= VAR_IN_EQUATION | VAR_STRONG | VAR_HELPER;
  return !known;
}

static void add_equation(Lower* l, IrTerm term, uint32_t var, Span span) {
  IrEquation equation = {.term = term, .body = 0, .lhs_var = var, .span = span};
  base_vec_push(l->arena, &l->m->equations, equation);
}

/// The variable whose past is wanted; IR_NONE after an error. Its text goes to `out`.
static uint32_t delayed_var(Lower* l, const AstExpr* argument, TextBuffer* out) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_EQUATION, .equation = true, .automaton = outer.automaton};
  TermFrame frame = lower_begin(l);
  Value value = lower_value(l, argument);
  uint32_t var = IR_NONE;
  uint32_t order = 0;
  IrTerm term = {{0}, 0, 0};
  bool fine = value.type == VALUE_NUMBER;
  if (fine) ir_print_expr(out, l->m, value.e, l->terms.builder.row.data);
  bool plain = fine && lower_variable(l, argument, &var, &order) && order == 0;
  bool fresh = false;
  if (fine && !plain) {
    TextBuffer name = {.arena = l->scratch};
    text_append_c(&name, "input of delay(");
    text_append(&name, text_str(out));
    text_append_c(&name, ")");
    fresh = helper_var(l, text_str(&name), argument->span, &var);
    ExprId left = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
    term = lower_snapshot(l, lower_op(l, IR_EQUALS, left, value.e));
  }
  lower_end(l, frame, (ExprId){0});
  l->terms.scope = outer;
  if (fresh) add_equation(l, term, var, argument->span);
  return fine ? var : IR_NONE;
}

/// A constant argument as a term of its own, and its text; absent after an error.
static IrTerm constant_term(Lower* l, const AstExpr* expr, TextBuffer* out) {
  IrTerm term = lower_term(l, expr, (Scope){.kind = SCOPE_CONSTANT, .literal = true}, NULL);
  text_append_c(out, ", ");
  if (ir_term_present(term)) ir_print_term(out, l->m, term);
  return term;
}

/// Whether a term is a number whatever the constants are set to.
static bool is_number(const Lower* l, IrTerm term) {
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    if (ir_leaf(l->m, term, k).kind != IR_LEAF_NUMBER) return false;
  }
  return true;
}

/// helper = past(time - T)
static void add_result(Lower* l, const AstExpr* expr, uint32_t var, uint32_t data) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_CONSTANT, .literal = true};
  TermFrame frame = lower_begin(l);
  Value delay = lower_value(l, expr->as.call.args.data[1]);
  ExprId time = lower_op(l, IR_TIME, (ExprId){0}, (ExprId){0});
  ExprId then = lower_op(l, IR_SUB, time, delay.e);
  ExprId left = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
  ExprId right = ir_table(&l->m->pool, data, then);
  IrTerm term = lower_end(l, frame, lower_op(l, IR_EQUALS, left, right));
  l->terms.scope = outer;
  add_equation(l, term, var, expr->span);
}

Value lower_delay(Lower* l, const AstExpr* expr) {
  const AstExprList* args = &expr->as.call.args;
  uint8_t interpolation = IR_CUBIC;
  if (!check_call(l, expr) || !read_interpolation(l, expr, &interpolation)) {
    return lower_value_bad();
  }
  TextBuffer inner = {.arena = l->scratch};
  TextBuffer text = {.arena = l->scratch};
  uint32_t var = delayed_var(l, args->data[0], &inner);
  text_append_c(&text, "delay(");
  text_append(&text, text_str(&inner));
  IrTerm delay = constant_term(l, args->data[1], &text);
  IrTerm before = {{0}, 0, 0};
  if (args->count > 2) before = constant_term(l, args->data[2], &text);
  if (interpolation == IR_LINEAR) text_append_c(&text, ", linear");
  text_append_c(&text, ")");
  bool fine = var != IR_NONE && ir_term_present(delay);
  if (!fine || (args->count > 2 && !ir_term_present(before))) return lower_value_bad();

  double number = 0.0;
  if (is_number(l, delay) && resolve_term_value(l, delay, &number) && !(number > 0.0)) {
    lower_report(l, DIAG_E0314, args->data[1]->span, "the delay is %.*s; it must be greater than 0",
                 STR_ARGS(lower_number_text(l, number)));
    return lower_value_bad();
  }
  uint32_t result = 0;
  if (helper_var(l, text_str(&text), expr->span, &result)) {
    static const double stand_in[2] = {0.0, 1.0};
    uint32_t name = l->m->vars.data[result].name;
    uint32_t data = lower_add_data(l, name, stand_in, stand_in, 2, interpolation, expr->span);
    IrData* past = &l->m->data.data[data];
    past->past = true;
    past->var = var;
    past->delay = delay;
    past->before = before;
    add_result(l, expr, result, data);
  }
  return (Value){.e = ir_term_var(&l->terms.builder, result, 0, IR_NOW),
                 .type = VALUE_NUMBER,
                 .flags = VALUE_VARIES};
}

void lower_hide_helpers(Lower* l) {
  for (uint32_t v = 0; v < l->m->vars.count; v++) {
    Symbol symbol = *resolve_symbol(l, l->m->vars.data[v].name);
    bool helper = symbol.kind == SYM_VAR && l->names.vars.data[symbol.index].flags & VAR_HELPER;
    if (helper) l->m->vars.data[v].hidden = true;
  }
}

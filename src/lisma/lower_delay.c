// SPDX-License-Identifier: MIT
//
// delay(x, T): what x was T ago. The past of x is kept in every state, so the call becomes an
// equation of the global body: a helper variable with the text of the call as its name, read from a
// table that the run fills. An argument that is more than a variable gets a helper as well. Equal
// calls have equal names and are one.
//
// delay(x, tau, most): a lag that varies is a variable too; the run keeps as much as it may ask
// for.
#include "lisma/lower.h"

#define DELAY_ARGUMENTS_MIN 2u
#define DELAY_ARGUMENTS_MAX 4u  // one more where the lag varies: its largest value

/// The arguments of a call behind the lag.
typedef struct DelayCall {
  bool varies;
  const AstExpr* most;    // longest lag: the lag itself, where it does not vary
  const AstExpr* before;  // value before the start; NULL: that at the start
  const AstExpr* word;    // of the interpolation; NULL: none
} DelayCall;

static bool check_place(Lower* l, const AstExpr* expr) {
  if (l->terms.scope.kind == SCOPE_CONSTANT || l->terms.scope.kind == SCOPE_SCHEDULE ||
      l->terms.scope.kind == SCOPE_START) {
    Diag* diag = lower_report(l, DIAG_E0314, expr->span, "'delay' has no value here");
    diag_hint(
        l->diags, diag,
        "the history of a variable is known while time flows: in equations, guards and resets");
    return false;
  }
  return true;
}

/// Lower an expression as an equation would; the caller ends the frame and gives the scope back.
static Value begin_value(Lower* l, const AstExpr* expr, TermFrame* frame) {
  uint32_t automaton = l->terms.scope.automaton;
  l->terms.scope = (Scope){.kind = SCOPE_EQUATION, .equation = true, .automaton = automaton};
  *frame = lower_begin(l);
  return lower_scalar(l, expr);
}

/// A name that nothing declares: a constant that was misspelt rather than a variable.
static bool is_unknown(Lower* l, const AstExpr* expr) {
  if (expr->kind != AST_NAME || !ast_name_is_plain(&expr->as.name.name)) return false;
  Symbol symbol = *resolve_symbol(l, resolve_plain(l, &expr->as.name.name));
  return symbol.kind == SYM_NONE && !symbol.is_variable;
}

/// Whether a lag is more than constants; false after an error.
static bool check_lag(Lower* l, const AstExpr* lag, bool* varies) {
  if (is_unknown(l, lag)) return true;
  Scope outer = l->terms.scope;
  TermFrame frame;
  Value value = begin_value(l, lag, &frame);
  lower_end(l, frame, (ExprId){0});
  l->terms.scope = outer;
  *varies = (value.flags & VALUE_VARIES) != 0;
  return value.type == VALUE_NUMBER;
}

static bool read_call(Lower* l, const AstExpr* expr, DelayCall* call) {
  const AstExprList* args = &expr->as.call.args;
  if (args->count >= DELAY_ARGUMENTS_MIN && !check_lag(l, args->data[1], &call->varies)) {
    return false;
  }
  uint32_t more = call->varies ? 1 : 0;
  if (args->count < DELAY_ARGUMENTS_MIN || args->count > DELAY_ARGUMENTS_MAX + more) {
    Diag* diag = lower_report(
        l, DIAG_E0303, expr->span, "'delay' takes %u to %u arguments%s, and here %s %u",
        DELAY_ARGUMENTS_MIN + more, DELAY_ARGUMENTS_MAX + more,
        more ? " where its time varies" : "", args->count == 1 ? "is" : "are", args->count);
    diag_hint(l->diags, diag, "delay(x, T): what x was T ago; delay(x, T, x0): with x0 until then");
    return false;
  }
  if (call->varies && args->count == DELAY_ARGUMENTS_MIN) {
    Diag* diag = lower_report(l, DIAG_E0314, args->data[1]->span,
                              "a delay that varies needs its largest value");
    diag_hint(l->diags, diag,
              "delay(x, tau, most): `most` is a number or a constant that tau never "
              "exceeds");
    return false;
  }
  call->most = args->data[1 + more];
  call->before = args->count > 2 + more ? args->data[2 + more] : NULL;
  call->word = args->count > 3 + more ? args->data[3 + more] : NULL;
  return true;
}

/// The word behind the value before the start.
static bool read_interpolation(Lower* l, const AstExpr* word, uint8_t* interpolation) {
  *interpolation = IR_CUBIC;
  if (!word) return true;
  bool plain = word->kind == AST_NAME && word->order == 0 && !word->as.name.name.quoted &&
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

/// An argument as a variable: itself, or a helper called by `role` and its text; IR_NONE after an
/// error. Its text goes to `out`.
static uint32_t argument_var(Lower* l, const AstExpr* argument, const char* role, TextBuffer* out) {
  Scope outer = l->terms.scope;
  TermFrame frame;
  Value value = begin_value(l, argument, &frame);
  uint32_t begin = out->length;
  uint32_t var = IR_NONE;
  uint32_t order = 0;
  IrTerm term = {{0}, 0, 0};
  bool fine = value.type == VALUE_NUMBER;
  if (fine) ir_print_expr(out, l->m, value.e, l->terms.builder.row.data);
  bool plain = fine && lower_variable(l, argument, &var, &order) && order == 0;
  bool fresh = false;
  if (fine && !plain) {
    TextBuffer name = {.arena = l->scratch};
    Str text = text_str(out);
    text_append_format(&name, "%s of delay(%.*s)", role, (int)(text.length - begin),
                       text.data + begin);
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

/// helper = past(time - T), where T is a constant expression or a variable
static void add_result(Lower* l, const AstExpr* expr, uint32_t var, const IrData* history,
                       uint32_t data) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_CONSTANT, .literal = true};
  TermFrame frame = lower_begin(l);
  ExprId lag = history->lag != IR_NONE ? ir_term_var(&l->terms.builder, history->lag, 0, IR_NOW)
                                       : lower_value(l, expr->as.call.args.data[1]).e;
  ExprId time = lower_op(l, IR_TIME, (ExprId){0}, (ExprId){0});
  ExprId then = lower_op(l, IR_SUB, time, lag);
  ExprId left = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
  ExprId right = ir_table(&l->m->pool, data, then);
  IrTerm term = lower_end(l, frame, lower_op(l, IR_EQUALS, left, right));
  l->terms.scope = outer;
  add_equation(l, term, var, expr->span);
}

/// A time that is known here and makes no sense is reported.
static bool check_time(Lower* l, IrTerm time, Span span) {
  double number = 0.0;
  if (!is_number(l, time) || !resolve_term_value(l, time, &number) || number > 0.0) return true;
  lower_report(l, DIAG_E0314, span, "the delay is %.*s; it must be greater than 0",
               STR_ARGS(lower_number_text(l, number)));
  return false;
}

Value lower_delay(Lower* l, const AstExpr* expr) {
  const AstExprList* args = &expr->as.call.args;
  IrData history = {.history = true, .lag = IR_NONE};
  DelayCall call = {0};
  if (!check_place(l, expr) || !read_call(l, expr, &call) ||
      !read_interpolation(l, call.word, &history.interpolation)) {
    return lower_value_bad();
  }
  TextBuffer text = {.arena = l->scratch};
  text_append_c(&text, "delay(");
  history.var = argument_var(l, args->data[0], "input", &text);
  bool fine = history.var != IR_NONE;
  if (call.varies) {
    text_append_c(&text, ", ");
    history.lag = argument_var(l, args->data[1], "lag", &text);
    fine = fine && history.lag != IR_NONE;
  }
  history.delay = constant_term(l, call.most, &text);
  if (call.before) history.before = constant_term(l, call.before, &text);
  if (history.interpolation == IR_LINEAR) text_append_c(&text, ", linear");
  text_append_c(&text, ")");
  fine = fine && ir_term_present(history.delay);
  if (!fine || (call.before && !ir_term_present(history.before))) return lower_value_bad();
  if (!check_time(l, history.delay, call.most->span)) return lower_value_bad();
  uint32_t result = 0;
  if (helper_var(l, text_str(&text), expr->span, &result)) {
    static const double stand_in[2] = {0.0, 1.0};
    history.name = l->m->vars.data[result].name;
    history.x = history.y = stand_in;
    history.count = 2;
    history.span = expr->span;
    base_vec_push(l->arena, &l->m->data, history);
    add_result(l, expr, result, &history, l->m->data.count - 1);
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

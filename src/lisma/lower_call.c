// SPDX-License-Identifier: MIT
//
// Calls: functions, derivatives, values before and after an event, tables.
#include "lisma/lower.h"

static const Function functions[] = {
#define ENTRY(X, name, word, ...) {word, IR_##name, 1, FUNCTION_PLAIN},
    BASE_FUNCTIONS(ENTRY, )
#undef ENTRY
        {"abs", IR_ABS, 1, FUNCTION_PIECEWISE},
    {"tg", IR_TAN, 1, FUNCTION_PLAIN},
    {"atan2", IR_ATAN2, 2, FUNCTION_PLAIN},
    {"sqrt", IR_SQRT, 1, FUNCTION_PLAIN},
    {"pow", IR_POW, 2, FUNCTION_PLAIN},
    {"min", IR_MIN, 2, FUNCTION_PIECEWISE},
    {"max", IR_MAX, 2, FUNCTION_PIECEWISE},
    {"sign", IR_SIGN, 1, FUNCTION_JUMPING},
    {"floor", IR_FLOOR, 1, FUNCTION_JUMPING},
    {"ceil", IR_CEIL, 1, FUNCTION_JUMPING},
    {"mod", IR_MOD, 2, FUNCTION_JUMPING},
    {"random", IR_RANDOM, 0, FUNCTION_RANDOM},
    {"uniform", IR_UNIFORM, 2, FUNCTION_RANDOM},
    {"normal", IR_NORMAL, 2, FUNCTION_RANDOM},
    {"exponential", IR_EXPONENTIAL, 1, FUNCTION_RANDOM},
    {"noise", IR_NOISE, 2, FUNCTION_RANDOM},
    {"der", IR_NIL, 2, FUNCTION_SPECIAL},
    {"pre", IR_NIL, 1, FUNCTION_SPECIAL},
    {"post", IR_NIL, 1, FUNCTION_SPECIAL},
    {"noEvent", IR_NIL, 1, FUNCTION_SPECIAL},
    {"table", IR_TABLE, 2, FUNCTION_SPECIAL},
    {"delay", IR_NIL, 2, FUNCTION_SPECIAL},
};

#define ARGUMENTS_MAX 16u  // of min and max

void lower_init_functions(Lower* l) {
  for (uint32_t i = 0; i < SLT_COUNT(functions); i++) {
    uint32_t name = names_intern(&l->m->names, str_from_c(functions[i].name));
    map_set(&l->functions.ids, name, 0, i + 1);
  }
}

const Function* lower_find_function(Lower* l, const AstName* callee) {
  if (callee->quoted || !ast_name_is_plain(callee)) return NULL;
  uint32_t name = resolve_plain(l, callee);
  uint32_t index = map_get(&l->functions.ids, name, 0);
  if (index && resolve_symbol(l, name)->kind == SYM_FUNCTION) return NULL;  // the model's own
  return index ? &functions[index - 1] : NULL;
}

static bool is_variadic(const Function* function) {
  return function->op == IR_MIN || function->op == IR_MAX;
}

bool lower_has_arity(Lower* l, const AstExpr* call, const Function* function) {
  uint32_t count = call->as.call.args.count;
  bool variadic = is_variadic(function);
  if (count == function->arity) return true;
  if (variadic && count > 2 && count <= ARGUMENTS_MAX) return true;
  lower_report(l, DIAG_E0303, call->span, "'%s' takes %s%u argument%s, and here %s %u",
               function->name, variadic ? "at least " : "", (unsigned)function->arity,
               function->arity == 1 ? "" : "s", count == 1 ? "is" : "are", count);
  return false;
}

// ---------------------------------------------------------------------------------------------
// special forms

bool lower_der_order(Lower* l, const AstExpr* expr, uint32_t* order) {
  const AstExprList* args = &expr->as.call.args;
  if (args->count < 1 || args->count > 2) {
    lower_report(l, DIAG_E0303, expr->span, "'der' takes a variable and, if wanted, the order");
    return false;
  }
  double number = 1.0;
  if (args->count == 2 &&
      !resolve_eval_whole(l, args->data[1], "the order of a derivative", DIAG_E0306, &number)) {
    return false;
  }
  if (number < 0.0 || number > LOWER_ORDER_MAX) {
    lower_report(l, DIAG_E0306, args->data[1]->span, "derivatives go up to order %u",
                 LOWER_ORDER_MAX);
    return false;
  }
  *order = (uint32_t)number;
  return true;
}

/// der, pre, post: the argument must be a variable. Reports if it is none.
static bool variable_argument(Lower* l, const AstExpr* call, const char* function, uint32_t* var,
                              uint32_t* order) {
  uint32_t errors = l->diags->error_count;
  const AstExpr* argument = call->as.call.args.data[0];
  if (lower_variable(l, argument, var, order)) return true;
  if (l->diags->error_count != errors) return false;
  Diag* diag = lower_report(l, DIAG_E0306, argument->span,
                            "'%s' needs a variable, and this is something else", function);
  if (argument->kind != AST_NAME) {
    diag_hint(l->diags, diag,
              "give the expression a name by an equation of its own, y = ..., and "
              "use %s(y)",
              function);
  }
  return false;
}

static Value variable_value(Lower* l, uint32_t var, uint32_t order, IrWhen when, Span span) {
  bool constant = l->terms.scope.kind == SCOPE_CONSTANT || l->terms.scope.kind == SCOPE_SCHEDULE;
  if (constant) {
    lower_report(l, DIAG_E0206, span, "a variable is not a constant");
    return lower_value_bad();
  }
  if (order > LOWER_ORDER_MAX) {
    lower_report(l, DIAG_E0306, span, "derivatives go up to order %u", LOWER_ORDER_MAX);
    return lower_value_bad();
  }
  if (l->terms.scope.equation) {
    VarInfo* info = &l->names.vars.data[var];
    info->flags |= order ? VAR_IN_EQUATION | VAR_STRONG : VAR_IN_EQUATION;
    info->uses++;
  } else if (order) {
    resolve_note_derivative(l, var, span);
  }
  unsigned flags = VALUE_VARIES | (when == IR_NOW ? 0u : (unsigned)VALUE_WHEN);
  return (Value){.e = ir_term_var(&l->terms.builder, var, (uint8_t)order, when),
                 .type = VALUE_NUMBER,
                 .flags = (uint8_t)flags};
}

static Value lower_der(Lower* l, const AstExpr* expr) {
  uint32_t order = 0;
  uint32_t var = 0;
  if (!lower_der_order(l, expr, &order)) return lower_value_bad();
  uint32_t inner = 0;
  if (!variable_argument(l, expr, "der", &var, &inner)) return lower_value_bad();
  return variable_value(l, var, order + inner, IR_NOW, expr->span);
}

static Value lower_when(Lower* l, const AstExpr* expr, const Function* function, IrWhen when) {
  if (!lower_has_arity(l, expr, function)) return lower_value_bad();
  bool allowed = l->terms.scope.kind == SCOPE_ACTION ||
                 (l->terms.scope.kind == SCOPE_GUARD && l->terms.scope.events);
  if (!allowed) {
    Diag* diag = lower_report(l, DIAG_E0305, expr->span,
                              "'%s' has a meaning in guards and resets only", function->name);
    diag_hint(l->diags, diag, "an equation knows the present values only");
    return lower_value_bad();
  }
  uint32_t var = 0;
  uint32_t order = 0;
  if (!variable_argument(l, expr, function->name, &var, &order)) return lower_value_bad();
  return variable_value(l, var, order, when, expr->span);
}

static Value lower_no_event(Lower* l, const AstExpr* expr, const Function* function) {
  if (!lower_has_arity(l, expr, function)) return lower_value_bad();
  Scope outer = l->terms.scope;
  l->terms.scope.literal = true;
  l->terms.scope.guard = (IrTerm){{0}, 0, 0};
  Value value = lower_value(l, expr->as.call.args.data[0]);
  l->terms.scope = outer;
  return value;
}

static Value table_bound(Lower* l, double x) {
  return (Value){.e = ir_term_number(&l->terms.builder, x), .type = VALUE_NUMBER};
}

/// The argument of a table by what holds beyond its ends; `word` is the third argument, and
/// `fenced` whether that is an error.
static Value table_argument(Lower* l, const AstExpr* word, uint32_t data, Value x, Span span,
                            bool* fenced) {
  IrData table = l->m->data.data[data];
  Value first = table_bound(l, table.x[0]);
  Value last = table_bound(l, table.x[table.count - 1]);
  bool plain = word->kind == AST_NAME && word->order == 0;
  const AstName* name = plain ? &word->as.name.name : NULL;
  if (name && ast_name_is_word(name, STR_LIT("extrapolate"))) return x;
  if (name && ast_name_is_word(name, STR_LIT("hold"))) {
    static const Function most = {"min", IR_MIN, 2, FUNCTION_PIECEWISE};
    static const Function least = {"max", IR_MAX, 2, FUNCTION_PIECEWISE};
    Value low = lower_piecewise(l, &least, (Value[]){x, first}, span);
    return lower_piecewise(l, &most, (Value[]){low, last}, span);
  }
  if (name && ast_name_is_word(name, STR_LIT("periodic"))) {
    static const Function rest = {"mod", IR_MOD, 2, FUNCTION_JUMPING};
    Value period = table_bound(l, table.x[table.count - 1] - table.x[0]);
    Value place = {.e = lower_op(l, IR_SUB, x.e, first.e), .type = VALUE_NUMBER, .flags = x.flags};
    Value inside = lower_piecewise(l, &rest, (Value[]){place, period}, span);
    inside.e = lower_op(l, IR_ADD, inside.e, first.e);
    return inside;
  }
  if (name && ast_name_is_word(name, STR_LIT("error"))) {
    *fenced = true;
    return x;
  }
  lower_report(l, DIAG_E0310, word->span,
               "beyond its ends a table can 'hold', 'extrapolate', be 'periodic' or an 'error'");
  return lower_value_bad();
}

/// A function from outside: what is asked for, then its arguments. That it is asked for comes last,
/// so that lists of arguments are shared.
static Value lower_foreign_call(Lower* l, const AstExprList* args, uint32_t data) {
  ExprId list = ir_term_number(&l->terms.builder, 0.0);
  uint8_t flags = 0;
  for (uint32_t i = 2; i <= args->count; i++) {
    Value value = lower_value(l, args->data[i < args->count ? i : 1]);
    if (value.type == VALUE_BAD) return value;
    list = ir_node(&l->m->pool, IR_PACK, list, value.e, (ExprId){0});
    flags = (uint8_t)(flags | value.flags);
  }
  return (Value){.e = ir_table(&l->m->pool, data, list), .type = VALUE_NUMBER, .flags = flags};
}

static Value lower_table_call(Lower* l, const AstExpr* expr, const Function* function) {
  const AstExprList* args = &expr->as.call.args;
  const AstName* first =
      args->count && args->data[0]->kind == AST_NAME ? &args->data[0]->as.name.name : NULL;
  uint32_t called = first ? resolve_name(l, first) : 0;
  Symbol block = called ? *resolve_symbol(l, called) : (Symbol){0};
  if (args->count > 1 && block.kind == SYM_DATA && l->m->data.data[block.index].foreign) {
    return lower_foreign_call(l, args, block.index);
  }
  if (args->count != 3 && !lower_has_arity(l, expr, function)) return lower_value_bad();
  const AstExpr* table = args->data[0];
  uint32_t name = table->kind == AST_NAME ? resolve_name(l, &table->as.name.name) : 0;
  Symbol symbol = name ? *resolve_symbol(l, name) : (Symbol){0};
  Value argument = lower_value(l, args->data[1]);
  if (symbol.kind != SYM_DATA) {
    Diag* diag = lower_report(l, DIAG_E0310, table->span, "the first argument must name a table");
    diag_hint(l->diags, diag, "declare one with data NAME = \"file.csv\", column;");
    return lower_value_bad();
  }
  if (argument.type == VALUE_BAD) return argument;
  bool fenced = false;
  if (args->count == 3) {
    argument = table_argument(l, args->data[2], symbol.index, argument, expr->span, &fenced);
    if (argument.type == VALUE_BAD) return argument;
  }
  return fenced ? lower_fenced_table(l, symbol.index, argument, expr->span)
                : lower_table(l, symbol.index, argument, expr->span);
}

static Value lower_special(Lower* l, const AstExpr* expr, const Function* function) {
  Str name = str_from_c(function->name);
  if (str_equal(name, STR_LIT("der"))) return lower_der(l, expr);
  if (str_equal(name, STR_LIT("pre"))) return lower_when(l, expr, function, IR_PRE);
  if (str_equal(name, STR_LIT("post"))) return lower_when(l, expr, function, IR_POST);
  if (str_equal(name, STR_LIT("noEvent"))) return lower_no_event(l, expr, function);
  if (str_equal(name, STR_LIT("delay"))) return lower_delay(l, expr);
  return lower_table_call(l, expr, function);
}

// ---------------------------------------------------------------------------------------------
// what is no function

/// `x(t0)` and `x(0)` outside of a left side.
static bool is_start_reference(Lower* l, const AstExpr* expr) {
  if (expr->as.call.args.count != 1) return false;
  const AstExpr* argument = expr->as.call.args.data[0];
  if (argument->kind == AST_NUMBER) return argument->as.number == 0.0;
  if (argument->kind != AST_NAME || argument->order) return false;
  uint32_t name = resolve_plain(l, &argument->as.name.name);
  Symbol symbol = name ? *resolve_symbol(l, name) : (Symbol){0};
  return symbol.kind == SYM_BUILTIN && symbol.index == BUILTIN_T0;
}

static bool is_declared_variable(Lower* l, const AstName* callee) {
  uint32_t name = resolve_name(l, callee);
  Symbol symbol = name ? *resolve_symbol(l, name) : (Symbol){0};
  return symbol.kind == SYM_VAR || symbol.is_variable;
}

static Value lower_start_reference(Lower* l, const AstExpr* expr) {
  uint32_t var = 0;
  Str name = expr->as.call.callee->head;
  if (l->terms.scope.kind != SCOPE_START) {
    Diag* diag = lower_report(l, DIAG_E0311, expr->span,
                              "an initial value can be read in initial values only");
    if (l->terms.scope.kind == SCOPE_ACTION) {
      diag_hint(l->diags, diag, "in a reset '%.*s' is the value before the event", STR_ARGS(name));
    } else {
      diag_hint(l->diags, diag, "keep it in a constant, or in a variable that no equation changes");
    }
    return lower_value_bad();
  }
  if (!lower_target(l, expr->as.call.callee, expr->as.call.order, false, &var)) {
    return lower_value_bad();
  }
  return variable_value(l, var, expr->as.call.order, IR_NOW, expr->span);
}

static Str near_function(Str name) {
  const char* words[SLT_COUNT(functions)];
  for (size_t i = 0; i < SLT_COUNT(functions); i++) {
    words[i] = functions[i].name;
  }
  return resolve_near_word(name, words, SLT_COUNT(functions));
}

/// How functions of other languages are written here.
static const char* foreign_function(Str name) {
  static const struct {
    const char* name;
    const char* hint;
  } foreign[] = {
      {"lg", "the decimal logarithm is log10(x)"},
      {"sum", "write sum(i = 1:N, expression)"},
      {"prod", "write prod(i = 1:N, expression)"},
      {"d", "the derivative of x by time is written x'"},
      {"diff", "the derivative of x by time is written x'"},
      {"ddt", "the derivative of x by time is written x'"},
      {"integral", "a quantity is integrated by an equation of its own: y' = x;"},
      {"arcsin", "write asin(x)"},
      {"arccos", "write acos(x)"},
      {"arctan", "write atan(x)"},
      {"arctg", "write atan(x)"},
      {"int", "write trunc(x), or floor(x)"},
      {"limit", "write clamp(x, lo, hi)"},
      {"saturate", "write clamp(x, lo, hi)"},
      {"step", "a step at time T is written if(time >= T, 1, 0)"},
      {"heaviside", "a step at time T is written if(time >= T, 1, 0)"},
      {"rand", "write random(), in resets"},
      {"power", "write a^b"},
  };
  for (size_t i = 0; i < SLT_COUNT(foreign); i++) {
    if (str_equal(name, str_from_c(foreign[i].name))) return foreign[i].hint;
  }
  return NULL;
}

static Value report_no_function(Lower* l, const AstExpr* expr) {
  const AstName* callee = expr->as.call.callee;
  uint32_t name = resolve_name(l, callee);
  if (name == 0) return lower_value_bad();
  Str text = lower_name(l, name);
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.told) return lower_value_bad();
  bool index = ast_name_is_plain(callee) && resolve_binding(l, name);
  Diag* diag =
      lower_report(l, DIAG_E0210, callee->span, "'%.*s' is not a function", STR_ARGS(text));
  if (diag == &l->walk.ignored) return lower_value_bad();
  Str near = near_function(text);
  const char* foreign = foreign_function(text);
  if (index || symbol.kind != SYM_NONE) {
    diag_hint(l->diags, diag, "a product is written with '*': %.*s*(...)", STR_ARGS(text));
  } else if (foreign) {
    diag_hint(l->diags, diag, "%s", foreign);
  } else if (near.length) {
    diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  }
  return lower_value_bad();
}

void lower_check_callee(Lower* l, const AstExpr* expr) {
  const AstName* callee = expr->as.call.callee;
  const Function* function = lower_find_function(l, callee);
  bool known = function || lower_find_user_function(l, callee) != IR_NONE;
  if (!known && !callee->member && ast_name_is_plain(callee) && !is_start_reference(l, expr)) {
    report_no_function(l, expr);
  }
}

// ---------------------------------------------------------------------------------------------

static Value lower_function(Lower* l, const AstExpr* expr, const Function* function) {
  if (!lower_has_arity(l, expr, function)) return lower_value_bad();
  bool drawn = l->terms.scope.kind == SCOPE_ACTION || l->terms.scope.kind == SCOPE_START;
  if (function->kind == FUNCTION_RANDOM && !drawn) {
    Diag* diag = lower_report(l, DIAG_E0304, expr->span,
                              "'%s' can be used in resets and initial values only", function->name);
    diag_hint(l->diags, diag, "draw the number in a state or 'at' body: set x = %s(...);",
              function->name);
    return lower_value_bad();
  }
  const AstExprList* args = &expr->as.call.args;
  Value values[ARGUMENTS_MAX];
  bool bad = false;
  unsigned flags = 0;
  for (uint32_t i = 0; i < args->count; i++) {
    values[i] = lower_scalar(l, args->data[i]);
    bad = bad || values[i].type == VALUE_BAD;
    flags |= values[i].flags;
  }
  if (bad) return lower_value_bad();
  bool piecewise = function->kind == FUNCTION_PIECEWISE || function->kind == FUNCTION_JUMPING;
  if (piecewise) {
    Value total = lower_piecewise(l, function, values, expr->span);
    for (uint32_t i = 2; i < args->count; i++) {
      total = lower_piecewise(l, function, (Value[]){total, values[i]}, expr->span);
    }
    return total;
  }
  ExprId a = args->count > 0 ? values[0].e : (ExprId){0};
  ExprId b = args->count > 1 ? values[1].e : (ExprId){0};
  if (function->kind == FUNCTION_RANDOM) flags |= VALUE_VARIES;
  return (Value){
      .e = lower_op(l, (IrOp)function->op, a, b), .type = VALUE_NUMBER, .flags = (uint8_t)flags};
}

Value lower_call(Lower* l, const AstExpr* expr) {
  const Function* function = lower_find_function(l, expr->as.call.callee);
  uint32_t user = function ? IR_NONE : lower_find_user_function(l, expr->as.call.callee);
  if (user != IR_NONE &&
      !(is_declared_variable(l, expr->as.call.callee) && is_start_reference(l, expr))) {
    return lower_user_call(l, expr, user);
  }
  // a variable may be called like a function
  bool newer = function && (function->op == IR_NIL || function->op == IR_NOISE);
  bool start = newer && expr->as.call.args.count == 1 &&
               is_declared_variable(l, expr->as.call.callee) && is_start_reference(l, expr);
  if (expr->as.call.order == 0 && function && !start) {
    if (function->kind == FUNCTION_SPECIAL) return lower_special(l, expr, function);
    return lower_function(l, expr, function);
  }
  if (is_start_reference(l, expr)) return lower_start_reference(l, expr);
  return report_no_function(l, expr);
}

// SPDX-License-Identifier: MIT
//
// Functions of a model. A call is written out: arguments and local names are expressions with the
// place they are read in, and are lowered where the body uses them, once per term, so that what is
// used twice is shared. Nothing is typed: an argument may be a number, a condition, a variable
// under pre(), an index; its use decides.
//
// Functions of the language that can be written in it are read the same way (prelude.def).
#include "lisma/lower.h"

#include <string.h>

/// The k-th of the arguments and local names of a function.
static const AstName* own_name(const AstFunction* f, uint32_t k) {
  uint32_t arguments = f->parameters.count;
  return k < arguments ? &f->parameters.data[k] : &f->locals.data[k - arguments].names.data[0];
}

static void check_names(Lower* l, const AstFunction* f) {
  for (uint32_t i = 0; i < f->parameters.count + f->locals.count; i++) {
    const AstName* second = own_name(f, i);
    for (uint32_t k = 0; k < i; k++) {
      const AstName* first = own_name(f, k);
      if (!str_equal(second->head, first->head)) continue;
      Diag* diag = lower_report(l, DIAG_E0201, second->span, "'%.*s' is declared twice",
                                STR_ARGS(second->head));
      diag_note(l->diags, diag, first->span, "first declared here");
      break;
    }
  }
}

void lower_declare_function(Lower* l, const AstFunction* function) {
  uint32_t name = resolve_name(l, &function->name);
  if (name == 0) return;
  Symbol* symbol = resolve_symbol(l, name);
  if (symbol->kind != SYM_NONE) {
    Diag* diag = lower_report(l, symbol->kind == SYM_FUNCTION ? DIAG_E0201 : DIAG_E0202,
                              function->name.span, "'%.*s' is already %s",
                              STR_ARGS(lower_name(l, name)), resolve_kind_text(symbol->kind));
    diag_note(l->diags, diag, resolve_symbol_span(l, *symbol), "first declared here");
    return;
  }
  if (lower_find_function(l, &function->name)) {
    lower_report(l, DIAG_W0220, function->name.span, "this hides the built-in function '%.*s'",
                 STR_ARGS(function->name.head));
  }
  if (function->parameters.count + function->locals.count > FUNCTION_NAMES_MAX) {
    lower_report(l, DIAG_E0303, function->name.span,
                 "a function has at most %u arguments and local names", FUNCTION_NAMES_MAX);
    symbol->told = true;
    return;
  }
  check_names(l, function);
  UserFunction added = {.ast = (AstFunction*)function, .name = name, .span = function->name.span};
  base_vec_push(l->scratch, &l->functions.user, added);
  resolve_define(l, name, SYM_FUNCTION, l->functions.user.count - 1);
}

// ---------------------------------------------------------------------------------------------
// the prelude

static const char prelude_text[] =
#define X(name, text) text "\n"
#include "lisma/prelude.def"
#undef X
    ;

static void read_prelude(Lower* l) {
  l->functions.prelude_read = true;
  Source* source = ARENA_NEW(l->scratch, Source);
  DiagList* diags = ARENA_NEW(l->scratch, DiagList);
  source_init(source, l->scratch, STR_LIT("prelude"), str_from_c(prelude_text));
  diag_init(diags, l->scratch, source);
  const AstModel* model = lisma_parse(l->scratch, source, diags);
  SLT_ASSERT(diags->error_count == 0);
  for (uint32_t i = 0; i < model->body.statements.count; i++) {
    AstFunction* function = model->body.statements.data[i].as.function;
    uint32_t name = names_intern(&l->m->names, function->name.head);
    base_vec_push(l->scratch, &l->functions.user,
                  ((UserFunction){.ast = function, .name = name, .prelude = true}));
    map_set(&l->functions.prelude, name, 0, l->functions.user.count);
  }
}

/// A function of the prelude has no text of its own in the model: its places are those of the call.
static void stamp(AstExpr* e, Span span) {
  e->span = span;
  switch (e->kind) {
  case AST_NAME:
    e->as.name.name.span = span;
    e->as.name.name.number = 0;
    break;
  case AST_CALL:
    e->as.call.callee->span = span;
    e->as.call.callee->number = 0;
    for (uint32_t i = 0; i < e->as.call.args.count; i++) {
      stamp(e->as.call.args.data[i], span);
    }
    break;
  case AST_CONDITIONAL:
    stamp(e->as.conditional.condition, span);
    stamp(e->as.conditional.then_value, span);
    stamp(e->as.conditional.else_value, span);
    break;
  case AST_UNARY: stamp(e->as.unary.operand, span); break;
  case AST_POWER:
    stamp(e->as.power.base, span);
    stamp(e->as.power.exponent, span);
    break;
  case AST_CHAIN:
    for (uint32_t i = 0; i < e->as.chain.links.count; i++) {
      stamp(e->as.chain.links.data[i].operand, span);
    }
    break;
  case AST_ERROR:
  case AST_NUMBER:
  case AST_QUALIFIED:
  case AST_REDUCTION:
  case AST_ATOM: break;
  }
}

uint32_t lower_find_user_function(Lower* l, const AstName* callee) {
  if (callee->member) return IR_NONE;
  uint32_t name = resolve_name(l, callee);
  if (name == 0) return IR_NONE;
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_FUNCTION) return symbol.index;
  if (callee->quoted || !ast_name_is_plain(callee)) return IR_NONE;
  if (!l->functions.prelude_read) read_prelude(l);
  uint32_t known = map_get(&l->functions.prelude, name, 0);
  return known ? known - 1 : IR_NONE;
}

// ---------------------------------------------------------------------------------------------
// calls

void lower_report_recursion(Lower* l, const UserFunction* f, const AstExpr* call) {
  Diag* diag = lower_report(l, DIAG_E0219, f->prelude ? call->span : f->span,
                            "the function '%.*s' calls itself", STR_ARGS(lower_name(l, f->name)));
  diag_note(l->diags, diag, call->span, "it is called again here");
  diag_hint(l->diags, diag,
            "functions are written out where they are called: what adds up is a sum(i = 1:N, ...), "
            "what follows in time a variable with a reset");
}

static bool check_call(Lower* l, const AstExpr* call, const UserFunction* f) {
  uint32_t wanted = f->ast->parameters.count;
  uint32_t given = call->as.call.args.count;
  if (wanted != given) {
    Diag* diag =
        lower_report(l, DIAG_E0303, call->span, "'%.*s' takes %u argument%s, and here %s %u",
                     STR_ARGS(lower_name(l, f->name)), wanted, wanted == 1 ? "" : "s",
                     given == 1 ? "is" : "are", given);
    if (!f->prelude) diag_note(l->diags, diag, f->span, "the function is declared here");
    if (f->prelude && str_equal(lower_name(l, f->name), STR_LIT("log"))) {
      diag_hint(l->diags, diag, "ln(x) is the natural and log10(x) the decimal logarithm");
    }
    return false;
  }
  uint32_t depth = 0;
  for (const CallFrame* frame = l->functions.frame; frame; frame = frame->parent, depth++) {
    const UserFunction* around = &l->functions.user.data[frame->function];
    if (around->ast == f->ast) {
      lower_report_recursion(l, f, call);
    } else if (depth >= FUNCTION_DEPTH_MAX) {
      lower_report(l, DIAG_E0722, call->span, "functions are nested too deeply; the limit is %u",
                   FUNCTION_DEPTH_MAX);
    } else {
      continue;
    }
    return false;
  }
  return true;
}

/// Functions that call each other twice and more multiply where arguments differ and nothing can be
/// shared. A call inside of others counts for all of them: its arguments are looked up through
/// them.
static bool count_call(Lower* l, const AstExpr* call) {
  LowerFunctions* functions = &l->functions;
  if (functions->depth == 0) functions->work = 0;
  if (functions->work > FUNCTION_WORK_MAX) return false;  // told before
  functions->work += functions->depth + 1;
  if (functions->work <= FUNCTION_WORK_MAX) return true;
  Diag* diag = lower_report(l, DIAG_E0721, call->span,
                            "functions that call functions make too long an expression here");
  diag_hint(l->diags, diag, "give what is computed several times a name: a variable of the model");
  return false;
}

/// Which elements of arrays of parts the place of a call belongs to. The names of such indices are
/// made by the expansion of parts, with a '#' that no text can hold.
static void bind_elements(Lower* l, BindingMark caller) {
  for (uint32_t i = caller.base; i < caller.count; i++) {
    Binding binding = l->names.bindings.data[i];
    Str name = lower_name(l, binding.name);
    if (!memchr(name.data, '#', name.length)) continue;
    base_vec_push(l->scratch, &l->names.bindings, binding);
  }
}

bool lower_enter_function(Lower* l, const AstExpr* call, uint32_t function, CallFrame* frame) {
  const UserFunction* f = &l->functions.user.data[function];
  if (call->as.call.order) {
    lower_report(l, DIAG_E0306, call->span, "a function has no derivative mark");
    return false;
  }
  if (!check_call(l, call, f) || !count_call(l, call)) return false;
  if (f->prelude) stamp(f->ast->result, call->span);
  frame->parent = l->functions.frame;
  frame->function = function;
  frame->count = 0;
  for (uint32_t i = 0; i < f->ast->parameters.count; i++) {
    frame->locals[frame->count++] =
        (Local){.name = names_intern(&l->m->names, f->ast->parameters.data[i].head),
                .value = call->as.call.args.data[i],
                .frame = l->functions.frame,
                .base = l->names.binding_base,
                .count = l->names.bindings.count};
  }
  // the body sees its arguments, not the indices of the place that calls it
  frame->mark = (BindingMark){.base = l->names.binding_base, .count = l->names.bindings.count};
  l->names.binding_base = l->names.bindings.count;
  if (f->ast->of_part) bind_elements(l, frame->mark);
  for (uint32_t i = 0; i < f->ast->locals.count; i++) {
    const AstDefinition* local = &f->ast->locals.data[i];
    frame->locals[frame->count++] =
        (Local){.name = names_intern(&l->m->names, local->names.data[0].head),
                .value = local->value,
                .frame = frame,
                .base = l->names.binding_base,
                .count = l->names.bindings.count};
  }
  l->functions.frame = frame;
  l->functions.depth++;
  return true;
}

void lower_leave_function(Lower* l, CallFrame* frame) {
  l->names.bindings.count = frame->mark.count;
  l->names.binding_base = frame->mark.base;
  l->functions.frame = (CallFrame*)frame->parent;
  l->functions.depth--;
}

/// The arguments of a call as far as its body reads them as numbers: false when it does otherwise.
static bool arguments_known(const Lower* l, const CallFrame* frame, uint32_t count, ExprId* out) {
  for (uint32_t i = 0; i < count; i++) {
    const Local* argument = &frame->locals[i];
    bool known =
        argument->memo_term == l->terms.number && argument->memo_scope == lower_scope_key(l);
    if (!known || argument->memo.type == VALUE_BAD) return false;
    out[i] = argument->memo.e;
  }
  return true;
}

static uint64_t hash_arguments(const ExprId* args, uint32_t count, uint32_t scope) {
  uint64_t hash = scope;
  for (uint32_t i = 0; i < count; i++) {
    hash = hash_mix(hash, args[i].index);
  }
  return hash;
}

/// What a call with these arguments gave before in this term, or NULL.
static const KnownCall* find_known(const Lower* l, uint64_t key, const ExprId* args,
                                   uint32_t count) {
  uint64_t hash = hash_arguments(args, count, lower_scope_key(l));
  uint32_t found = map_get(&l->functions.results, key, hash);
  if (!found) return NULL;
  const KnownCall* known = &l->functions.known.data[found - 1];
  bool same = known->scope == lower_scope_key(l);
  for (uint32_t i = 0; same && i < count; i++) {
    same = known->args[i].index == args[i].index;
  }
  return same ? known : NULL;
}

static void keep_known(Lower* l, uint64_t key, const ExprId* args, uint32_t count, Value value) {
  ExprId* kept = ARENA_ARRAY(l->scratch, ExprId, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    kept[i] = args[i];
  }
  KnownCall known = {.args = kept, .scope = lower_scope_key(l), .value = value};
  base_vec_push(l->scratch, &l->functions.known, known);
  map_set(&l->functions.results, key, hash_arguments(args, count, known.scope),
          l->functions.known.count);
}

Value lower_user_call(Lower* l, const AstExpr* call, uint32_t function) {
  CallFrame frame;
  bool outermost = l->functions.depth == 0;
  if (!lower_enter_function(l, call, function, &frame)) return lower_value_bad();
  const UserFunction* f = &l->functions.user.data[function];
  uint32_t count = f->ast->parameters.count;
  ExprId args[FUNCTION_NAMES_MAX];
  uint64_t key = (uint64_t)l->terms.number << 32 | function;
  // a body that has read its arguments as numbers does so again: they can be read beforehand
  bool read = !outermost && map_get(&l->functions.results, key, 0) != 0;
  for (uint32_t i = 0; read && i < count; i++) {
    lower_local_value(l, &frame.locals[i], 0, call->span);
  }
  const KnownCall* known =
      read && arguments_known(l, &frame, count, args) ? find_known(l, key, args, count) : NULL;
  Value value = known ? known->value : lower_scalar(l, f->ast->result);
  if (!known && !outermost && arguments_known(l, &frame, count, args)) {
    map_set(&l->functions.results, key, 0, 1);
    keep_known(l, key, args, count, value);
  }
  lower_leave_function(l, &frame);
  if (outermost) {
    map_clear(&l->functions.results);
    l->functions.known.count = 0;
  }
  return value;
}

// ---------------------------------------------------------------------------------------------
// arguments and local names

Local* lower_local(Lower* l, const AstName* name) {
  if (!l->functions.frame || !ast_name_is_plain(name) || name->member) return NULL;
  uint32_t id = resolve_plain(l, name);
  if (resolve_binding(l, id)) return NULL;  // the index of a sum inside
  for (uint32_t i = l->functions.frame->count; i > 0; i--) {
    if (l->functions.frame->locals[i - 1].name == id) return &l->functions.frame->locals[i - 1];
  }
  return NULL;
}

bool lower_enter_local(Lower* l, Local* local, LocalMark* mark) {
  if (local->busy) {
    lower_report(l, DIAG_E0219, local->value->span, "the local name '%.*s' depends on itself",
                 STR_ARGS(lower_name(l, local->name)));
    return false;
  }
  local->busy = true;
  mark->frame = l->functions.frame;
  mark->bindings = (BindingMark){.base = l->names.binding_base, .count = l->names.bindings.count};
  uint32_t base = l->names.bindings.count;
  for (uint32_t i = local->base; i < local->count; i++) {
    Binding binding = l->names.bindings.data[i];
    base_vec_push(l->scratch, &l->names.bindings, binding);
  }
  l->names.binding_base = base;
  l->functions.frame = (CallFrame*)local->frame;
  return true;
}

void lower_leave_local(Lower* l, Local* local, LocalMark mark) {
  local->busy = false;
  l->names.bindings.count = mark.bindings.count;
  l->names.binding_base = mark.bindings.base;
  l->functions.frame = mark.frame;
}

Value lower_local_value(Lower* l, Local* local, uint32_t order, Span span) {
  uint32_t scope = lower_scope_key(l);
  bool known = local->memo_term == l->terms.number && local->memo_scope == scope;
  if (known && order == 0) return local->memo;
  LocalMark mark;
  if (!lower_enter_local(l, local, &mark)) return lower_value_bad();
  Value value = lower_value_bad();
  if (order == 0) {
    value = lower_scalar(l, local->value);
  } else if (local->value->kind == AST_NAME) {
    AstExpr derivative = *local->value;
    uint32_t sum = derivative.order + order;
    derivative.order = (uint16_t)(sum < UINT16_MAX ? sum : UINT16_MAX);
    value = lower_value(l, &derivative);
  } else {
    lower_report(l, DIAG_E0306, span, "only a variable has a derivative, and '%.*s' is none here",
                 STR_ARGS(lower_name(l, local->name)));
  }
  lower_leave_local(l, local, mark);
  if (order) return value;
  local->memo_term = l->terms.number;
  local->memo_scope = scope;
  local->memo = value;
  return value;
}

// ---------------------------------------------------------------------------------------------

#define MEANING_DEPTH_MAX 100u

static bool is_plain_name(const AstExpr* expr) {
  return expr->kind == AST_NAME && expr->order == 0 && ast_name_is_plain(&expr->as.name.name);
}

/// What a call gives, where that is a local name or an argument.
static const AstExpr* result_of(const AstExpr* call, const AstFunction* f) {
  const AstExpr* result = f->result;
  for (uint32_t i = 0; i < f->locals.count && is_plain_name(result); i++) {
    for (uint32_t k = 0; k < f->locals.count; k++) {
      Str name = f->locals.data[k].names.data[0].head;
      if (ast_name_is_word(&result->as.name.name, name)) result = f->locals.data[k].value;
      if (!is_plain_name(result)) return result;
    }
  }
  for (uint32_t i = 0; is_plain_name(result) && i < f->parameters.count; i++) {
    bool given = ast_name_is_word(&result->as.name.name, f->parameters.data[i].head);
    if (given && i < call->as.call.args.count) return call->as.call.args.data[i];
  }
  return result;
}

static bool means_condition(Lower* l, const AstExpr* expr, uint32_t depth) {
  if (lower_is_condition(expr)) return true;
  if (depth > MEANING_DEPTH_MAX) return false;
  if (expr->kind == AST_NAME && expr->order == 0) {
    Local* local = lower_local(l, &expr->as.name.name);
    if (local) {
      LocalMark mark;
      if (local->busy || !lower_enter_local(l, local, &mark)) return false;
      bool truth = means_condition(l, local->value, depth + 1);
      lower_leave_local(l, local, mark);
      return truth;
    }
    if (!ast_name_is_plain(&expr->as.name.name)) return false;
    Symbol symbol = *resolve_symbol(l, resolve_plain(l, &expr->as.name.name));
    if (symbol.kind != SYM_MACRO || l->names.macros.data[symbol.index].busy) return false;
    return means_condition(l, l->names.macros.data[symbol.index].value, depth + 1);
  }
  if (expr->kind != AST_CALL || lower_find_function(l, expr->as.call.callee)) return false;
  uint32_t function = lower_find_user_function(l, expr->as.call.callee);
  if (function == IR_NONE) return false;
  return means_condition(l, result_of(expr, l->functions.user.data[function].ast), depth + 1);
}

bool lower_means_condition(Lower* l, const AstExpr* expr) {
  return means_condition(l, expr, 0);
}

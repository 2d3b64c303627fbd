// SPDX-License-Identifier: MIT
//
// Loops: their values, and how large they are. The size of a nest of loops is found before any of
// its instances is made, so that `for i = 1:1000000000` fails at once and not after an hour.
#include "lisma/lower.h"

#include <math.h>

bool resolve_range(Lower* l, const AstRange* range, RangeValues* values) {
  const char* what = range->last ? "the bound of a range" : "the value of a range";
  double first = 0.0;
  bool scaled[2] = {false, false};
  if (!resolve_eval_place(l, range->first, what, DIAG_E0209, &first, &scaled[0])) return false;
  double last = first;
  if (range->last) {
    if (!resolve_eval_place(l, range->last, what, DIAG_E0209, &last, &scaled[1])) return false;
  }
  *values = (RangeValues){(int64_t)first, (int64_t)last, scaled[0] || scaled[1]};
  return true;
}

/// Size of something with all loops written out.
typedef struct Size {
  double instances;
  double leaves;
} Size;

/// The largest expression and block that is weighed; what is left out is caught while lowering.
typedef struct Weigher {
  Lower* l;
  uint32_t work;
  bool terms;  // of sums and products are counted, not names and numbers
  bool open;   // some bounds read names that are not declared yet
} Weigher;

#define WEIGH_WORK_MAX 2000000u
#define KNOWN_DEPTH    100u  // of constants made of constants

static Size weigh_block(Weigher* w, const AstBlock* block);
static double weigh_expr(Weigher* w, const AstExpr* expr);

static double range_length(RangeValues values) {
  return values.last < values.first ? 0.0 : (double)(values.last - values.first) + 1.0;
}

static bool is_known(Lower* l, const AstExpr* e, uint32_t depth);

static bool is_known_in(Lower* l, const AstExpr* value, Bindings bindings, uint32_t depth) {
  BindingMark outer = resolve_enter_bindings(l, bindings);
  bool known = is_known(l, value, depth + 1);
  resolve_leave_bindings(l, outer);
  return known;
}

static bool is_known_name(Lower* l, const AstName* written, uint32_t depth) {
  uint32_t name = resolve_name(l, written);
  if (name == 0 || (ast_name_is_plain(written) && resolve_binding(l, name))) return true;
  Symbol symbol = *resolve_symbol(l, name);
  if (symbol.kind == SYM_PARAM) {
    const Constant* c = &l->names.constants.data[symbol.index];
    return c->state != EVAL_NEW || is_known_in(l, c->value, c->bindings, depth);
  }
  if (symbol.kind == SYM_MACRO) {
    const Macro* m = &l->names.macros.data[symbol.index];
    return is_known_in(l, m->value, m->bindings, depth);
  }
  return symbol.kind != SYM_NONE || symbol.is_variable;
}

/// Whether all names that a bound reads are declared. Those of other loops may not be yet.
static bool is_known(Lower* l, const AstExpr* e, uint32_t depth) {
  if (depth > KNOWN_DEPTH || e->kind == AST_REDUCTION) return true;
  const AstExpr* child = NULL;
  for (uint32_t i = 0; (child = ast_child(e, i)); i++) {
    if (!is_known(l, child, depth)) return false;
  }
  return e->kind != AST_NAME || is_known_name(l, &e->as.name.name, depth);
}

static bool weigh_bounds(Weigher* w, const AstRange* range, RangeValues* values) {
  bool known = is_known(w->l, range->first, 0) && (!range->last || is_known(w->l, range->last, 0));
  if (!known) w->open = true;
  return known && resolve_range(w->l, range, values);
}

static double weigh_list(Weigher* w, const AstExprList* list) {
  double leaves = 0.0;
  for (uint32_t i = 0; i < list->count; i++) {
    leaves += weigh_expr(w, list->data[i]);
  }
  return leaves;
}

static double weigh_reduction(Weigher* w, const AstExpr* expr, uint32_t level) {
  if (level == expr->as.reduction.iterators.count) {
    return weigh_expr(w, expr->as.reduction.body) + (w->terms ? 1.0 : 0.0);
  }
  const AstIterator* iterator = &expr->as.reduction.iterators.data[level];
  RangeValues range = {0};
  if (!weigh_bounds(w, &iterator->range, &range)) return 0.0;
  double count = range_length(range);
  if (count == 0.0) return 0.0;

  // the ends stand for all between them: bounds may grow or fall with the index
  uint32_t name = names_intern(&w->l->m->names, iterator->variable);
  int64_t ends[] = {range.first, range.last};
  double leaves[2] = {0.0, 0.0};
  for (uint32_t i = 0; i < 2; i++) {
    resolve_bind_in(w->l, name, (double)ends[i], &range);
    leaves[i] = weigh_reduction(w, expr, level + 1);
    resolve_unbind(w->l);
  }
  return count * (leaves[0] > leaves[1] ? leaves[0] : leaves[1]);
}

static double weigh_expr(Weigher* w, const AstExpr* expr) {
  if (++w->work > WEIGH_WORK_MAX) return 0.0;
  switch (expr->kind) {
  case AST_NUMBER:
  case AST_NAME:
  case AST_QUALIFIED: return w->terms ? 0.0 : 1.0;
  case AST_CALL: return weigh_list(w, &expr->as.call.args);
  case AST_REDUCTION: return weigh_reduction(w, expr, 0);
  case AST_CONDITIONAL:
    return weigh_expr(w, expr->as.conditional.condition) +
           weigh_expr(w, expr->as.conditional.then_value) +
           weigh_expr(w, expr->as.conditional.else_value);
  case AST_ATOM: return weigh_expr(w, expr->as.atom.condition);
  case AST_UNARY: return weigh_expr(w, expr->as.unary.operand);
  case AST_POWER:
    return weigh_expr(w, expr->as.power.base) + weigh_expr(w, expr->as.power.exponent);
  case AST_CHAIN: {
    double leaves = 0.0;
    for (uint32_t i = 0; i < expr->as.chain.links.count; i++) {
      leaves += weigh_expr(w, expr->as.chain.links.data[i].operand);
    }
    return leaves;
  }
  case AST_ERROR: break;
  }
  return 0.0;
}

static Size size_add(Size a, Size b) {
  return (Size){a.instances + b.instances, a.leaves + b.leaves};
}

/// Whether a bound reads a loop index. A false alarm costs time only.
static bool uses_name(const AstExpr* expr, Str name) {
  if (expr->kind == AST_NAME && str_equal(expr->as.name.name.head, name)) return true;
  const AstExpr* child = NULL;
  for (uint32_t i = 0; (child = ast_child(expr, i)); i++) {
    if (uses_name(child, name)) return true;
  }
  return false;
}

static bool block_bounds_use(const AstBlock* block, Str name);

static bool statement_bounds_use(const AstStatement* s, Str name) {
  switch (s->kind) {
  case AST_FOR:
    for (uint32_t i = 0; i < s->as.loop.ranges.count; i++) {
      const AstRange* range = &s->as.loop.ranges.data[i];
      if (uses_name(range->first, name)) return true;
      if (range->last && uses_name(range->last, name)) return true;
    }
    return block_bounds_use(&s->as.loop.body, name);
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      if (block_bounds_use(&s->as.branches.data[i].body, name)) return true;
    }
    return false;
  case AST_STATE: return s->as.state->has_body && block_bounds_use(&s->as.state->body, name);
  case AST_ELEMENT: return block_bounds_use(&s->as.element->body, name);
  case AST_AUTOMATON: return block_bounds_use(&s->as.automaton.body, name);
  case AST_AT: return block_bounds_use(&s->as.at.body, name);
  case AST_AFTER: return block_bounds_use(&s->as.after->body, name);
  case AST_INSTANCE: return block_bounds_use(&s->as.instances.data[0].body, name);
  case AST_FUNCTION:
  case AST_PART:
  case AST_PORT:
  case AST_CONNECT:
  case AST_INCLUDE:
  case AST_CONST:
  case AST_MACRO:
  case AST_DATA:
  case AST_EQUATION:
  case AST_INIT:
  case AST_DELETE:
  case AST_ATTRIBUTES:
  case AST_ENERGY:
  case AST_EXPERIMENT:
  case AST_MEASURE:
  case AST_ANIMATE:
  case AST_CONTROL:
  case AST_INVARIANT:
  case AST_STOP:
  case AST_GOTO: break;
  }
  return false;
}

/// Whether the bounds of some loop inside a block depend on the index `name`.
static bool block_bounds_use(const AstBlock* block, Str name) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    if (statement_bounds_use(&block->statements.data[i], name)) return true;
  }
  return false;
}

static Size weigh_range(Weigher* w, const AstStatement* loop, RangeValues range) {
  Lower* l = w->l;
  double count = range_length(range);
  Size total = {0};
  if (count == 0.0) return total;
  uint32_t name = names_intern(&l->m->names, loop->as.loop.variable);
  bool varying = block_bounds_use(&loop->as.loop.body, loop->as.loop.variable);
  int64_t last = varying ? range.last : range.first;  // otherwise one value stands for all
  for (int64_t i = range.first; i <= last; i++) {
    resolve_bind_in(l, name, (double)i, &range);
    total = size_add(total, weigh_block(w, &loop->as.loop.body));
    resolve_unbind(l);
    bool full = total.instances > l->walk.max_instances || total.leaves > l->walk.max_leaves;
    if (full || w->work > WEIGH_WORK_MAX) break;
  }
  if (!varying) total = (Size){total.instances * count, total.leaves * count};
  total.instances += count;
  return total;
}

static Size weigh_loop(Weigher* w, const AstStatement* loop) {
  Size total = {0};
  for (uint32_t i = 0; i < loop->as.loop.ranges.count; i++) {
    RangeValues range = {0};
    if (!weigh_bounds(w, &loop->as.loop.ranges.data[i], &range)) return total;
    total = size_add(total, weigh_range(w, loop, range));
  }
  return total;
}

static Size weigh_statement(Weigher* w, const AstStatement* s) {
  Size size = {0};
  switch (s->kind) {
  case AST_EQUATION:
    size.leaves = weigh_expr(w, s->as.equation.lhs) + weigh_expr(w, s->as.equation.rhs);
    break;
  case AST_INIT:
    for (uint32_t i = 0; i < s->as.init.items.count; i++) {
      size.leaves += weigh_expr(w, s->as.init.items.data[i].value);
    }
    break;
  case AST_FOR: return weigh_loop(w, s);
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      size = size_add(size, weigh_block(w, &s->as.branches.data[i].body));
    }
    break;
  case AST_STATE:
    if (s->as.state->guard) size.leaves = weigh_expr(w, s->as.state->guard);
    if (s->as.state->has_body) size = size_add(size, weigh_block(w, &s->as.state->body));
    break;
  case AST_ELEMENT: return weigh_block(w, &s->as.element->body);
  case AST_AUTOMATON: return weigh_block(w, &s->as.automaton.body);
  case AST_AT: return weigh_block(w, &s->as.at.body);
  case AST_AFTER: return weigh_block(w, &s->as.after->body);
  case AST_INSTANCE: return weigh_block(w, &s->as.instances.data[0].body);
  case AST_CONST:
  case AST_MACRO:
  case AST_DATA:
  case AST_DELETE:
  case AST_ATTRIBUTES:
  case AST_ENERGY:
  case AST_EXPERIMENT:
  case AST_MEASURE:
  case AST_ANIMATE:
  case AST_CONTROL:
  case AST_INVARIANT:
  case AST_STOP:
  case AST_GOTO:
  case AST_FUNCTION:
  case AST_PART:
  case AST_PORT:
  case AST_CONNECT:
  case AST_INCLUDE: break;
  }
  return size;
}

static Size weigh_block(Weigher* w, const AstBlock* block) {
  Size size = {0};
  uint32_t mark = resolve_try_constants(w->l, block);
  for (uint32_t i = 0; i < block->statements.count && w->work <= WEIGH_WORK_MAX; i++) {
    w->work++;
    size = size_add(size, weigh_statement(w, &block->statements.data[i]));
  }
  resolve_forget_constants(w->l, mark);
  return size;
}

double resolve_terms(Lower* l, const AstExpr* reduction) {
  Weigher w = {.l = l, .terms = true};
  return weigh_expr(&w, reduction);
}

static LoopFit weigh(Lower* l, const AstStatement* loop) {
  Weigher w = {.l = l};
  uint32_t errors = l->diags->error_count;
  Size size = weigh_loop(&w, loop);
  Span head = {loop->span.begin, loop->as.loop.body.span.begin};
  if (l->diags->error_count != errors) return LOOP_REFUSED;
  if ((double)l->walk.instances + size.instances > l->walk.max_instances) {
    Diag* diag = lower_report(l, DIAG_E0720, head, "this loop makes %.*s instances",
                              STR_ARGS(lower_number_text(l, size.instances)));
    diag_hint(l->diags, diag, "a model may have %u instances of all loops together",
              l->walk.max_instances);
    return LOOP_REFUSED;
  }
  if (l->m->leaves.count + size.leaves > l->walk.max_leaves) {
    Diag* diag = lower_report(l, DIAG_E0721, head,
                              "this loop makes the model too large: about "
                              "%.*s names and numbers",
                              STR_ARGS(lower_number_text(l, size.leaves)));
    diag_hint(l->diags, diag, "a model may have %u of all expressions together",
              l->walk.max_leaves);
    return LOOP_REFUSED;
  }
  return w.open ? LOOP_OPEN : LOOP_FITS;
}

LoopFit resolve_loop_fits(Lower* l, const AstStatement* loop) {
  uint64_t key = (uint64_t)(uintptr_t)loop;
  if (map_get(&l->walk.refused, key, 0)) return LOOP_REFUSED;
  LoopFit fit = weigh(l, loop);
  if (fit == LOOP_REFUSED) map_set(&l->walk.refused, key, 0, 1);
  return fit;
}

static bool is_literal(const AstExpr* e) {
  return e->kind == AST_NUMBER || (e->kind == AST_UNARY && is_literal(e->as.unary.operand));
}

static void warn_empty(Lower* l, const AstRange* range, RangeValues values) {
  bool literal = is_literal(range->first) && range->last && is_literal(range->last);
  if (values.last >= values.first || !literal) return;
  lower_report(l, DIAG_W0320, range->span, "this range is empty: it runs upwards only");
}

static bool loop_range(Lower* l, const AstStatement* loop, const AstRange* range, uint32_t name,
                       LoopBody* body, void* user) {
  RangeValues values = {0};
  if (!resolve_range(l, range, &values)) return false;
  warn_empty(l, range, values);
  for (int64_t i = values.first; i <= values.last; i++) {
    if (l->walk.stopped) return false;
    if (++l->walk.instances > l->walk.max_instances) {
      lower_report(l, DIAG_E0720, loop->span, "the loops make more than %u instances",
                   l->walk.max_instances);
      l->walk.stopped = true;
      return false;
    }
    resolve_bind_in(l, name, (double)i, &values);
    body(l, &loop->as.loop.body, user);
    resolve_unbind(l);
  }
  return true;
}

void resolve_loop(Lower* l, const AstStatement* loop, LoopBody* body, void* user) {
  uint32_t name = names_intern(&l->m->names, loop->as.loop.variable);
  for (uint32_t i = 0; i < loop->as.loop.ranges.count; i++) {
    if (!loop_range(l, loop, &loop->as.loop.ranges.data[i], name, body, user)) return;
  }
}

// SPDX-License-Identifier: MIT
//
// Piecewise functions as located switches.
//
// abs, min, max and if(c, a, b) select between smooth pieces by the state of a switch, an automaton
// of two states that follows a condition. floor, ceil and mod have a piece per whole number: a
// hidden discrete variable holds the whole number next to the argument, two hidden transitions move
// it, and a switch tells on which side of it the argument is. A linear table numbers its pieces in
// the same way. So the equations of a mode are smooth, and every kink and jump is an event.
#include "lisma/lower.h"

#include <math.h>

#define FENCE_MARGIN 1e-9  // of the length of a table
#define CELL_REACH   0.75  // from its whole number, within which an argument belongs to it

static Value number_of(ExprId e, unsigned flags) {
  return (Value){.e = e, .type = VALUE_NUMBER, .flags = (uint8_t)flags};
}

static ExprId number(Lower* l, double value) {
  return ir_term_number(&l->terms.builder, value);
}

static ExprId select(Lower* l, ExprId condition, ExprId yes, ExprId no) {
  return ir_node(&l->m->pool, IR_SELECT, condition, yes, no);
}

// ---------------------------------------------------------------------------------------------
// switches

uint32_t lower_add_switch(Lower* l, IrTerm condition, uint32_t parent_body, Span span) {
  IrModel* m = l->m;
  uint32_t automaton = m->automata.count;
  IrAutomaton added = {.name = lower_place_name(l, "if", span),
                       .kind = IR_AUTOMATON_SWITCH,
                       .condition = condition,
                       .parent_body = parent_body,
                       .state_begin = m->states.count,
                       .state_count = 2,
                       .span = span};
  base_vec_push(l->arena, &m->automata, added);
  IrState state = {.automaton = automaton, .body = IR_NONE, .span = span};
  state.name = names_intern(&m->names, STR_LIT("false"));
  base_vec_push(l->arena, &m->states, state);
  state.name = names_intern(&m->names, STR_LIT("true"));
  base_vec_push(l->arena, &m->states, state);
  return automaton;
}

/// The switch that follows a condition; `fence`: what is read while it holds ends the run.
static ExprId shared_switch(Lower* l, ExprId condition, bool fence, Span span) {
  IrTerm term = lower_snapshot(l, condition);
  const Shared* known = lower_find_shared(l, &l->terms.switches, term, fence);
  if (known) return lower_mode_leaf(l, known->index, 1);
  uint32_t automaton = lower_add_switch(l, term, IR_NONE, span);
  lower_add_shared(l, &l->terms.switches, term, fence, automaton);
  if (fence) {
    TermFrame frame = lower_begin(l);
    IrState* holds = &l->m->states.data[l->m->states.count - 1];
    holds->invariant = lower_end(l, frame, lower_op(l, IR_FALSE, (ExprId){0}, (ExprId){0}));
    holds->invariant_span = span;
  }
  return lower_mode_leaf(l, automaton, 1);
}

ExprId lower_switch(Lower* l, ExprId condition, Span span) {
  return shared_switch(l, condition, false, span);
}

/// The switch of `a relation b`; `kink`: what it selects from is the same where a is b.
static ExprId relation_switch(Lower* l, IrOp op, ExprId a, ExprId b, bool kink, Span span) {
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .bipolar = true, .shared = true, .kink = kink};
  uint8_t relation = IR_REL_GE;
  ExprId g = lower_oriented(l, op, a, b, &relation);
  uint32_t atom = lower_add_atom(l, lower_snapshot(l, g), relation, style, span);
  return lower_switch(l, lower_leaf(l, (IrLeaf){.id = atom, .kind = IR_LEAF_ATOM}), span);
}

static Value located_conditional(Lower* l, const AstExpr* expr) {
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .bipolar = true, .shared = true};
  return lower_condition(l, expr->as.conditional.condition, style);
}

/// A condition made of noEvent only is evaluated as it stands.
static Value literal_conditional(Lower* l, const AstExpr* expr) {
  bool literal = l->terms.scope.literal;
  l->terms.scope.literal = true;
  Value condition = lower_condition(l, expr->as.conditional.condition, (AtomStyle){0});
  l->terms.scope.literal = literal;
  return condition;
}

Value lower_conditional(Lower* l, const AstExpr* expr) {
  const AstExpr* written = expr->as.conditional.condition;
  bool literal = l->terms.scope.literal || lower_is_unlocated(written);
  Value condition = literal ? literal_conditional(l, expr) : located_conditional(l, expr);
  uint32_t op = condition.type == VALUE_CONDITION ? l->m->pool.nodes.data[condition.e.index].op : 0;
  if (op == IR_TRUE) return lower_scalar(l, expr->as.conditional.then_value);
  if (op == IR_FALSE) return lower_scalar(l, expr->as.conditional.else_value);
  Value yes = lower_scalar(l, expr->as.conditional.then_value);
  Value no = lower_scalar(l, expr->as.conditional.else_value);
  bool bad = condition.type == VALUE_BAD || yes.type == VALUE_BAD || no.type == VALUE_BAD;
  if (bad) return lower_value_bad();

  ExprId which = literal ? condition.e : lower_switch(l, condition.e, expr->span);
  unsigned flags = (unsigned)condition.flags | yes.flags | no.flags;
  return number_of(select(l, which, yes.e, no.e), flags & ~(unsigned)(VALUE_NEVER | VALUE_ALWAYS));
}

// ---------------------------------------------------------------------------------------------
// cells: hidden variables that number the pieces

/// A hidden automaton with one state, for the transitions of a cell.
static uint32_t add_cell_automaton(Lower* l, uint32_t name, Span span) {
  IrModel* m = l->m;
  IrAutomaton automaton = {.name = name,
                           .kind = IR_AUTOMATON_USER,
                           .hidden = true,
                           .parent_body = IR_NONE,
                           .state_begin = m->states.count,
                           .state_count = 1,
                           .span = span};
  base_vec_push(l->arena, &m->automata, automaton);
  IrState state = {.name = names_intern(&m->names, STR_LIT("init")),
                   .automaton = m->automata.count - 1,
                   .body = IR_NONE,
                   .span = span};
  base_vec_push(l->arena, &m->states, state);
  return m->automata.count - 1;
}

/// A transition of a cell: while `guard` holds, `var` becomes `value`.
static void add_cell_transition(Lower* l, uint32_t automaton, ExprId guard, uint32_t var,
                                ExprId value, Span span) {
  IrModel* m = l->m;
  IrAction action = {
      .var = var, .kind = IR_ACTION_SET, .value = lower_snapshot(l, value), .span = span};
  IrTransition transition = {.automaton = automaton,
                             .from_begin = m->from_states.count,
                             .from_count = 1,
                             .to = 0,
                             .guard = lower_snapshot(l, guard),
                             .action_begin = m->actions.count,
                             .action_count = 1,
                             .span = span};
  base_vec_push(l->arena, &m->from_states, 0);
  base_vec_push(l->arena, &m->actions, action);
  base_vec_push(l->arena, &m->transitions, transition);
}

/// The truth of `a relation b` as an atom of a guard.
static ExprId guard_atom(Lower* l, IrOp op, ExprId a, ExprId b, Span span) {
  uint8_t relation = IR_REL_GE;
  ExprId g = lower_oriented(l, op, a, b, &relation);
  AtomStyle style = {.type = IR_ATOM_CRITICAL};
  uint32_t atom = lower_add_atom(l, lower_snapshot(l, g), relation, style, span);
  return lower_leaf(l, (IrLeaf){.id = atom, .kind = IR_LEAF_ATOM});
}

static uint32_t add_cell(Lower* l, const char* prefix, ExprId start, Span span) {
  uint32_t name = lower_place_name(l, prefix, span);
  uint32_t var = resolve_hidden_var(l, name, span);
  IrStart first = {
      .var = var, .kind = IR_START_FIXED, .value = lower_snapshot(l, start), .span = span};
  base_vec_push(l->arena, &l->m->starts, first);
  add_cell_automaton(l, name, span);
  return var;
}

/// floor(u). A hidden variable m is the whole number next to u, and moves only well away from it,
/// where floor has no jump; the jump at m is a switch like any other, so that motion may slide
/// along it.
static ExprId located_floor(Lower* l, ExprId u, Span span) {
  IrTerm term = lower_snapshot(l, u);
  const Shared* known = lower_find_shared(l, &l->terms.cells, term, 0);
  uint32_t var = known ? known->index : 0;
  if (!known) {
    ExprId nearest = lower_op(l, IR_FLOOR, lower_op(l, IR_ADD, u, number(l, 0.5)), (ExprId){0});
    var = add_cell(l, "floor", nearest, span);
    uint32_t automaton = l->m->automata.count - 1;
    lower_add_shared(l, &l->terms.cells, term, 0, var);
    ExprId m = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
    ExprId above = lower_op(l, IR_ADD, m, number(l, CELL_REACH));
    ExprId below = lower_op(l, IR_SUB, m, number(l, CELL_REACH));
    add_cell_transition(l, automaton, guard_atom(l, IR_GE, u, above, span), var, nearest, span);
    add_cell_transition(l, automaton, guard_atom(l, IR_LT, u, below, span), var, nearest, span);
  }
  ExprId m = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
  ExprId reached = relation_switch(l, IR_GE, u, m, false, span);
  return select(l, reached, m, lower_op(l, IR_SUB, m, number(l, 1.0)));
}

// ---------------------------------------------------------------------------------------------
// functions

static ExprId located_sign(Lower* l, ExprId u, Span span) {
  ExprId zero = number(l, 0.0);
  ExprId positive = relation_switch(l, IR_GT, u, zero, false, span);
  ExprId negative = relation_switch(l, IR_LT, u, zero, false, span);
  ExprId rest = select(l, negative, number(l, -1.0), zero);
  return select(l, positive, number(l, 1.0), rest);
}

static ExprId located_function(Lower* l, IrOp op, const Value* args, Span span) {
  ExprId a = args[0].e;
  ExprId negative = {0};
  switch ((int)op) {
  case IR_ABS:
    negative = relation_switch(l, IR_LT, a, number(l, 0.0), true, span);
    return select(l, negative, lower_op(l, IR_NEG, a, (ExprId){0}), a);
  case IR_MIN: return select(l, relation_switch(l, IR_LE, a, args[1].e, true, span), a, args[1].e);
  case IR_MAX: return select(l, relation_switch(l, IR_LE, a, args[1].e, true, span), args[1].e, a);
  case IR_SIGN: return located_sign(l, a, span);
  case IR_FLOOR: return located_floor(l, a, span);
  case IR_CEIL: {
    ExprId n = located_floor(l, lower_op(l, IR_NEG, a, (ExprId){0}), span);
    return lower_op(l, IR_NEG, n, (ExprId){0});
  }
  default: break;
  }
  // mod: a - b*floor(a/b)
  ExprId n = located_floor(l, lower_op(l, IR_DIV, a, args[1].e), span);
  return lower_op(l, IR_SUB, a, lower_op(l, IR_MUL, args[1].e, n));
}

Value lower_piecewise(Lower* l, const Function* function, const Value* args, Span span) {
  IrOp op = (IrOp)function->op;
  bool binary = ir_op_arity(op) == 2;
  if (args[0].type == VALUE_BAD || (binary && args[1].type == VALUE_BAD)) return lower_value_bad();
  unsigned flags = (unsigned)args[0].flags | (binary ? args[1].flags : 0u);
  bool constant = !(flags & VALUE_VARIES);
  bool continuous = function->kind == FUNCTION_PIECEWISE;
  bool literal = l->terms.scope.literal || constant || (flags & VALUE_WHEN) != 0;
  if (literal || (continuous && l->terms.scope.in_atom)) {
    return number_of(lower_op(l, op, args[0].e, binary ? args[1].e : (ExprId){0}), flags);
  }
  return number_of(located_function(l, op, args, span), flags);
}

// ---------------------------------------------------------------------------------------------
// tables

/// Cell c of a linear table reaches from knot c to knot c + 1; the outer ones go on for ever.
static const TableCells* table_cells(Lower* l, uint32_t data) {
  while (l->terms.tables.count <= data) {
    base_vec_push(l->scratch, &l->terms.tables, (TableCells){.knots = IR_NONE});
  }
  TableCells* cells = &l->terms.tables.data[data];
  if (cells->knots != IR_NONE) return cells;

  IrData table = l->m->data.data[data];
  double* place = ARENA_ARRAY(l->arena, double, table.count);
  double* slope = ARENA_ARRAY(l->arena, double, table.count);
  for (uint32_t i = 0; i < table.count; i++) {
    place[i] = i;
    uint32_t k = i + 1 < table.count ? i : i - 1;
    slope[i] = (table.y[k + 1] - table.y[k]) / (table.x[k + 1] - table.x[k]);
  }
  static const char* const parts[4] = {"knots", "values", "slopes", "places"};
  uint32_t made[4];
  for (uint32_t i = 0; i < 4; i++) {
    Str name = str_format(l->scratch, "%.*s@%s", STR_ARGS(lower_name(l, table.name)), parts[i]);
    const double* ys[4] = {table.x, table.y, slope, place};
    made[i] = lower_add_data(l, names_intern(&l->m->names, name), i == 3 ? table.x : place, ys[i],
                             table.count, IR_LINEAR, table.span);
  }
  l->terms.tables.data[data] = (TableCells){made[0], made[1], made[2], made[3]};
  return &l->terms.tables.data[data];
}

/// Number of the cell that `u` is in, between 0 and `last`.
static ExprId table_place(Lower* l, uint32_t places, ExprId u, ExprId last) {
  ExprId place = lower_op(l, IR_FLOOR, ir_table(&l->m->pool, places, u), (ExprId){0});
  return lower_op(l, IR_MAX, number(l, 0.0), lower_op(l, IR_MIN, last, place));
}

static uint32_t table_cell_var(Lower* l, uint32_t data, ExprId u, Span span) {
  IrTerm term = lower_snapshot(l, u);
  const Shared* known = lower_find_shared(l, &l->terms.cells, term, data + 1);
  if (known) return known->index;

  TableCells cells = *table_cells(l, data);
  IrPool* pool = &l->m->pool;
  ExprId one = number(l, 1.0);
  ExprId last = number(l, (double)(l->m->data.data[data].count - 2));
  ExprId place = table_place(l, cells.places, u, last);
  uint32_t var = add_cell(l, "table", place, span);
  uint32_t automaton = l->m->automata.count - 1;
  lower_add_shared(l, &l->terms.cells, term, data + 1, var);

  ExprId c = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
  ExprId above = lower_op(l, IR_ADD, c, one);
  ExprId below = lower_op(l, IR_SUB, c, one);
  ExprId rises = lower_op(l, IR_AND, guard_atom(l, IR_LT, c, last, span),
                          guard_atom(l, IR_GE, u, ir_table(pool, cells.knots, above), span));
  add_cell_transition(l, automaton, rises, var, lower_op(l, IR_MAX, place, above), span);
  ExprId falls = lower_op(l, IR_AND, guard_atom(l, IR_GT, c, number(l, 0.0), span),
                          guard_atom(l, IR_LT, u, ir_table(pool, cells.knots, c), span));
  add_cell_transition(l, automaton, falls, var, lower_op(l, IR_MIN, place, below), span);
  return var;
}

Value lower_table(Lower* l, uint32_t data, Value argument, Span span) {
  const IrData* table = &l->m->data.data[data];
  bool smooth = table->interpolation != IR_LINEAR || table->count < 3;
  bool constant = !(argument.flags & VALUE_VARIES);
  bool literal = l->terms.scope.literal || constant || (argument.flags & VALUE_WHEN) != 0;
  if (smooth || literal || l->terms.scope.in_atom) {
    return number_of(ir_table(&l->m->pool, data, argument.e), argument.flags);
  }
  uint32_t var = table_cell_var(l, data, argument.e, span);
  TableCells cells = l->terms.tables.data[data];
  IrPool* pool = &l->m->pool;
  ExprId c = ir_term_var(&l->terms.builder, var, 0, IR_NOW);
  ExprId offset = lower_op(l, IR_SUB, argument.e, ir_table(pool, cells.knots, c));
  ExprId rise = lower_op(l, IR_MUL, ir_table(pool, cells.slopes, c), offset);
  return number_of(lower_op(l, IR_ADD, ir_table(pool, cells.values, c), rise), argument.flags);
}

Value lower_fenced_table(Lower* l, uint32_t data, Value argument, Span span) {
  IrData table = l->m->data.data[data];
  double first = table.x[0];
  double last = table.x[table.count - 1];
  // what ends where the table does may pass its end by rounding
  double margin = FENCE_MARGIN * (last - first);
  ExprId low = number(l, first - margin);
  ExprId high = number(l, last + margin);
  uint8_t kind = l->terms.scope.kind;
  bool located = (kind == SCOPE_EQUATION || kind == SCOPE_GUARD) &&
                 (argument.flags & (VALUE_VARIES | VALUE_WHEN)) == VALUE_VARIES;
  ExprId early =
      located ? guard_atom(l, IR_LT, argument.e, low, span) : lower_op(l, IR_LT, argument.e, low);
  ExprId late =
      located ? guard_atom(l, IR_GT, argument.e, high, span) : lower_op(l, IR_GT, argument.e, high);
  ExprId outside = lower_op(l, IR_OR, early, late);
  if (located) outside = shared_switch(l, outside, true, span);
  Value value = lower_table(l, data, argument, span);
  value.e = select(l, outside, number(l, (double)NAN), value.e);
  return value;
}

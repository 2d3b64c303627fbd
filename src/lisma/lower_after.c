// SPDX-License-Identifier: MIT
//
// Resets that are written without a state: those of `after`, and those in a branch of `if`. Each of
// these is an automaton of its own.
//
// `after D [c] { ... }`:
//
//   idle     from fired when c does not hold, from waiting too unless it is persistent
//   waiting  from idle when c holds; the delay is taken then
//   fired    from waiting D later, with the resets of the body
//
// With `trigger` the values of the resets are taken when it begins to wait, into hidden variables.
// A `goto` is a wish that the firing notes in a hidden variable of the automaton it names, as the
// number of the state: a transition from all of its states, which comes before all others, fulfils
// it with what was reset in view.
//
// A branch of `if`: outside, and inside while its equations are in force, entered with its resets.
//
// `control A.s;` is a wish for a state that somebody makes by hand: a variable of that name.
#include "lisma/lower.h"

#include <math.h>

enum { STATE_OUTSIDE, STATE_INSIDE, BRANCH_STATE_COUNT };
enum { STATE_IDLE, STATE_WAITING, STATE_FIRED, STATE_COUNT };

static const char* const after_states[STATE_COUNT] = {"idle", "waiting", "fired"};
static const char* const branch_states[BRANCH_STATE_COUNT] = {"outside", "inside"};

static uint32_t add_automaton(Lower* l, uint32_t name, const char* const* names, uint32_t count,
                              Span span) {
  IrModel* m = l->m;
  IrAutomaton automaton = {.name = name,
                           .kind = IR_AUTOMATON_USER,
                           .parent_body = IR_NONE,
                           .state_begin = m->states.count,
                           .state_count = count,
                           .appearance = ++l->automata.met,
                           .span = span};
  base_vec_push(l->arena, &m->automata, automaton);
  for (uint32_t i = 0; i < count; i++) {
    IrState state = {.name = names_intern(&m->names, str_from_c(names[i])),
                     .automaton = m->automata.count - 1,
                     .body = IR_NONE,
                     .span = span};
    base_vec_push(l->arena, &m->states, state);
  }
  return m->automata.count - 1;
}

static IrTransition* add_transition(Lower* l, uint32_t automaton, uint32_t from, uint32_t to,
                                    IrTerm guard, Span span) {
  IrTransition transition = {.automaton = automaton,
                             .from_begin = l->m->from_states.count,
                             .from_count = 1,
                             .to = to,
                             .guard = guard,
                             .span = span};
  base_vec_push(l->arena, &l->m->from_states, from);
  base_vec_push(l->arena, &l->m->transitions, transition);
  return &l->m->transitions.data[l->m->transitions.count - 1];
}

static void begin_at_zero(Lower* l, uint32_t var, Span span) {
  TermFrame frame = lower_begin(l);
  IrTerm zero = lower_end(l, frame, ir_term_number(&l->terms.builder, 0.0));
  IrStart start = {.var = var, .kind = IR_START_FIXED, .value = zero, .span = span};
  base_vec_push(l->arena, &l->m->starts, start);
}

/// A hidden variable that is 0 until something is kept in it.
static uint32_t add_memory(Lower* l, Span span) {
  uint32_t var = resolve_hidden_var(l, lower_place_name(l, "after", span), span);
  begin_at_zero(l, var, span);
  return var;
}

static IrTerm variable_term(Lower* l, uint32_t var) {
  TermFrame frame = lower_begin(l);
  return lower_end(l, frame, ir_term_var(&l->terms.builder, var, 0, IR_NOW));
}

/// The relation left >= right, of which `inner` is the frame.
static ExprId reached(Lower* l, TermFrame inner, ExprId left, ExprId right, Span span) {
  uint8_t relation = IR_REL_GE;
  ExprId g = lower_oriented(l, IR_GE, left, right, &relation);
  IrTerm term = lower_end(l, inner, g);
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .text = STR_LIT("the delay is over")};
  uint32_t atom = lower_add_atom(l, term, relation, style, span);
  return lower_leaf(l, (IrLeaf){.id = atom, .kind = IR_LEAF_ATOM});
}

/// wish >= bound, or wish <= bound
static ExprId wish_bound(Lower* l, uint32_t wish, double bound, bool above, Span span) {
  TermFrame inner = lower_begin(l);
  ExprId value = ir_term_var(&l->terms.builder, wish, 0, IR_NOW);
  ExprId limit = ir_term_number(&l->terms.builder, bound);
  return above ? reached(l, inner, value, limit, span) : reached(l, inner, limit, value, span);
}

/// And no wish is open for the automata that the first `count` of the body's `goto` name.
static ExprId and_fulfilled(Lower* l, ExprId all, uint32_t count, Span span) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t wish = l->automata.all.data[l->automata.gotos.data[i].automaton].wish - 1;
    all = lower_op(l, IR_AND, all, wish_bound(l, wish, 0.5, false, span));
  }
  return all;
}

/// time >= t0 + delay, and no wish is open for an automaton that the body sends somewhere: what
/// fires at one time does so one after the other, each with its own entry.
static IrTerm due_term(Lower* l, uint32_t automaton, uint32_t delay, Span span) {
  TermFrame frame = lower_begin(l);
  TermFrame inner = lower_begin(l);
  ExprId time = lower_op(l, IR_TIME, (ExprId){0}, (ExprId){0});
  ExprId entry = lower_leaf(l, (IrLeaf){.id = automaton, .kind = IR_LEAF_ENTRY});
  ExprId due = lower_op(l, IR_ADD, entry, ir_term_var(&l->terms.builder, delay, 0, IR_NOW));
  ExprId all = reached(l, inner, time, due, span);
  return lower_end(l, frame, and_fulfilled(l, all, l->automata.gotos.count, span));
}

static IrAction set_number(Lower* l, uint32_t var, double number, Span span) {
  TermFrame frame = lower_begin(l);
  IrTerm value = lower_end(l, frame, ir_term_number(&l->terms.builder, number));
  return (IrAction){.var = var, .kind = IR_ACTION_SET, .value = value, .span = span};
}

/// A transition from all states, before all others, that takes back the wish for it.
static void fulfil(Lower* l, uint32_t wish, uint32_t automaton, uint32_t state, IrTerm guard,
                   Span span) {
  IrTransition* enters = add_transition(l, automaton, 0, state, guard, span);
  for (uint32_t s = 1; s < l->m->automata.data[automaton].state_count; s++) {
    base_vec_push(l->arena, &l->m->from_states, s);
    enters->from_count++;
  }
  enters->action_begin = l->m->actions.count;
  enters->action_count = 1;
  base_vec_push(l->arena, &l->m->actions, set_number(l, wish, 0.0, span));
  PriorityOf first = {l->m->transitions.count - 1, HUGE_VAL};
  base_vec_push(l->scratch, &l->automata.transition_priorities, first);
}

/// The wishes of the body's `goto`, with what fulfils them; the actions that note them join the
/// resets of the firing.
static void wish_gotos(Lower* l, Span span) {
  for (uint32_t i = 0; i < l->automata.gotos.count; i++) {
    IrGoto jump = l->automata.gotos.data[i];
    uint32_t known = l->automata.all.data[jump.automaton].wish;
    uint32_t wish = known ? known - 1 : add_memory(l, span);
    l->automata.all.data[jump.automaton].wish = wish + 1;
    double number = jump.state + 1.0;
    base_vec_push(l->scratch, &l->automata.actions, set_number(l, wish, number, span));
    TermFrame frame = lower_begin(l);
    ExprId above = wish_bound(l, wish, number - 0.5, true, span);
    ExprId below = wish_bound(l, wish, number + 0.5, false, span);
    ExprId turn = and_fulfilled(l, lower_op(l, IR_AND, above, below), i, span);  // as in the text
    fulfil(l, wish, jump.automaton, jump.state, lower_end(l, frame, turn), span);
  }
}

void lower_state_control(Lower* l, const AstName* automaton, const AstName* state, Span span) {
  uint32_t a = lower_find_automaton(l, automaton);
  uint32_t s = a == IR_NONE ? IR_NONE : lower_find_state(l, a, state);
  if (s == IR_NONE) return;
  Str text =
      str_format(l->arena, "%.*s.%.*s", STR_ARGS(lower_name(l, l->automata.all.data[a].name)),
                 STR_ARGS(state->head));
  uint32_t wish = resolve_var(l, names_intern(&l->m->names, text), span);
  l->names.vars.data[wish].flags |= VAR_FIXED | VAR_SET;
  begin_at_zero(l, wish, span);
  TermFrame frame = lower_begin(l);
  IrTerm guard = lower_end(l, frame, wish_bound(l, wish, 0.5, true, span));
  fulfil(l, wish, a, l->automata.states.data[s].index, guard, span);
  IrControl control = {.name = text, .low = (double)NAN, .high = (double)NAN, .span = span};
  base_vec_push(l->arena, &control.values, 1.0);
  base_vec_push(l->arena, &l->m->experiment.controls, control);
}

/// The condition and its negation. False after an error.
static bool condition_terms(Lower* l, const AstExpr* condition, uint32_t automaton, IrTerm* holds,
                            IrTerm* fails) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_GUARD, .events = true, .automaton = automaton};
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .bipolar = true};
  TermFrame frame = lower_begin(l);
  Value value = lower_condition(l, condition, style);
  bool fine = value.type == VALUE_CONDITION;
  if (fine) *fails = lower_snapshot(l, lower_op(l, IR_NOT, value.e, (ExprId){0}));
  if (!fine) value.e.index = 0;
  *holds = lower_end(l, frame, value.e);
  l->terms.scope = outer;
  return fine;
}

/// The resets of the body as they are, or as values that are kept at the trigger in `kept`.
static void keep_values(Lower* l, IrAction* kept, Span span) {
  for (uint32_t i = 0; i < l->automata.actions.count; i++) {
    IrAction* action = &l->automata.actions.data[i];
    uint32_t memory = add_memory(l, span);
    kept[i] = *action;
    kept[i].var = memory;
    kept[i].order = 0;
    kept[i].kind = IR_ACTION_SET;
    action->value = variable_term(l, memory);
  }
}

void lower_after(Lower* l, const AstStatement* statement, const Site* site) {
  const AstAfter* after = statement->as.after;
  Span span = {statement->span.begin, after->condition->span.end};
  uint32_t name = lower_line_name(l, "after", statement->span);
  uint32_t automaton = add_automaton(l, name, after_states, STATE_COUNT, span);
  uint32_t delay = add_memory(l, after->delay->span);
  l->m->vars.data[delay].delay = true;
  IrTerm holds = {{0}, 0, 0};
  IrTerm fails = {{0}, 0, 0};
  if (!condition_terms(l, after->condition, automaton, &holds, &fails)) return;

  lower_begin_actions(l);
  Site inside = *site;
  inside.actions = true;
  inside.in_at = true;
  inside.guard = after->trigger ? holds : (IrTerm){{0}, 0, 0};
  lower_block(l, &after->body, &inside);
  Scope scope = {.kind = SCOPE_ACTION, .literal = true, .automaton = IR_NONE};
  IrTerm value = lower_term(l, after->delay, scope, NULL);
  if (!ir_term_present(value)) return;
  double number = 0.0;
  if (resolve_term_value(l, value, &number) && !(number >= 0.0)) {
    lower_report(l, DIAG_E0410, after->delay->span,
                 "the delay of 'after' must be at least 0; here it is %.*s",
                 STR_ARGS(lower_number_text(l, number)));
  }
  uint32_t kept_count = after->trigger ? l->automata.actions.count : 0;
  IrAction* kept = ARENA_ARRAY(l->scratch, IrAction, kept_count + 1);
  if (after->trigger) keep_values(l, kept, span);
  Span delayed = {statement->span.begin, after->delay->span.end};
  wish_gotos(l, delayed);
  uint32_t fired_count = l->automata.actions.count;
  uint32_t fired_begin = lower_flush_actions(l);
  l->m->states.data[l->m->automata.data[automaton].state_begin + STATE_FIRED].stop =
      l->automata.stop;

  // what happens when it begins to wait
  kept[kept_count] =
      (IrAction){.var = delay, .kind = IR_ACTION_SET, .value = value, .span = after->delay->span};
  uint32_t wait_begin = l->m->actions.count;
  for (uint32_t i = 0; i <= kept_count; i++) {
    base_vec_push(l->arena, &l->m->actions, kept[i]);
  }
  Span condition = after->condition->span;
  IrTransition* waits = add_transition(l, automaton, STATE_IDLE, STATE_WAITING, holds, condition);
  waits->action_begin = wait_begin;
  waits->action_count = kept_count + 1;
  IrTerm due = due_term(l, automaton, delay, after->delay->span);
  IrTransition* fires = add_transition(l, automaton, STATE_WAITING, STATE_FIRED, due, delayed);
  fires->action_begin = fired_begin;
  fires->action_count = fired_count;
  if (!after->persistent) {
    add_transition(l, automaton, STATE_WAITING, STATE_IDLE, fails, condition)->negated = true;
  }
  add_transition(l, automaton, STATE_FIRED, STATE_IDLE, fails, condition)->negated = true;
}

ExprId lower_body_holds(Lower* l, uint32_t body) {
  ExprId all = {0};
  while (body != 0 && body != IR_NONE) {
    IrBody b = l->m->bodies.data[body];
    ExprId here = lower_mode_leaf(l, b.automaton, b.state);
    all = all.index ? lower_op(l, IR_AND, all, here) : here;
    body = l->m->automata.data[b.automaton].parent_body;
  }
  return all.index ? all : lower_op(l, IR_TRUE, (ExprId){0}, (ExprId){0});
}

uint32_t lower_entry_resets(Lower* l, uint32_t name, TermFrame frame, ExprId holds, Span span) {
  uint32_t count = l->automata.actions.count;
  uint32_t begin = lower_flush_actions(l);
  bool always = l->m->pool.nodes.data[holds.index].op == IR_TRUE;
  IrTerm leaves = lower_snapshot(l, lower_op(l, IR_NOT, holds, (ExprId){0}));
  IrTerm enters = lower_end(l, frame, holds);
  uint32_t automaton = add_automaton(l, name, branch_states, BRANCH_STATE_COUNT, span);
  IrTransition* in = add_transition(l, automaton, STATE_OUTSIDE, STATE_INSIDE, enters, span);
  in->action_begin = begin;
  in->action_count = count;
  if (!always) add_transition(l, automaton, STATE_INSIDE, STATE_OUTSIDE, leaves, span);
  return automaton;
}

// SPDX-License-Identifier: MIT
//
// Automata, states, transitions, schedules.
#include "lisma/lower.h"

// ---------------------------------------------------------------------------------------------
// declared automata in the model

void lower_automata(Lower* l) {
  IrModel* m = l->m;
  for (uint32_t a = 0; a < l->automata.all.count; a++) {
    const AutomatonInfo* info = &l->automata.all.data[a];
    IrAutomaton automaton = {.name = info->name,
                             .kind = IR_AUTOMATON_USER,
                             .yields = info->yields,
                             .parent_body = IR_NONE,
                             .state_begin = m->states.count,
                             .state_count = info->count,
                             .span = info->span};
    base_vec_push(l->arena, &m->automata, automaton);
    for (uint32_t s = info->first; s != IR_NONE; s = l->automata.states.data[s].next) {
      StateInfo* state = &l->automata.states.data[s];
      if (state->edits && state->index != 0) state->body = lower_add_body(l, a, state->index);
      state->ir = m->states.count;
      IrState added = {
          .name = state->name, .automaton = a, .body = state->body, .span = state->span};
      base_vec_push(l->arena, &m->states, added);
    }
  }
}

uint32_t lower_find_automaton(Lower* l, const AstName* written) {
  uint32_t name = resolve_name(l, written);
  if (name == 0) return IR_NONE;
  uint32_t known = resolve_symbol(l, name)->automaton;
  if (known) return known - 1;
  Str text = lower_name(l, name);
  Diag* diag =
      lower_report(l, DIAG_E0407, written->span, "there is no automaton '%.*s'", STR_ARGS(text));
  if (diag == &l->walk.ignored) return IR_NONE;
  Str near = resolve_near_automaton(l, text);
  if (near.length) {
    diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  } else if (str_equal(text, STR_LIT("main"))) {
    diag_hint(l->diags, diag,
              "'main' holds the states outside of automaton blocks, and there are "
              "none");
  }
  return IR_NONE;
}

uint32_t lower_find_state(Lower* l, uint32_t automaton, const AstName* written) {
  uint32_t name = resolve_name(l, written);
  if (name == 0) return IR_NONE;
  uint32_t known = resolve_state(l, automaton, name);
  if (known != IR_NONE) return known;
  Str text = lower_name(l, name);
  Str owner = lower_name(l, l->automata.all.data[automaton].name);
  Diag* diag = lower_report(l, DIAG_E0401, written->span, "there is no state '%.*s' in '%.*s'",
                            STR_ARGS(text), STR_ARGS(owner));
  if (diag == &l->walk.ignored) return IR_NONE;
  Str near = resolve_near_state(l, automaton, text);
  uint32_t elsewhere = resolve_symbol(l, name)->owner;
  if (near.length) {
    diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  } else if (elsewhere) {
    Str other = lower_name(l, l->automata.all.data[elsewhere - 1].name);
    diag_hint(l->diags, diag,
              "'%.*s' is a state of the automaton '%.*s'; transitions stay inside "
              "one automaton",
              STR_ARGS(text), STR_ARGS(other));
  } else if (str_equal(text, STR_LIT("start")) || str_equal(text, STR_LIT("initial"))) {
    diag_hint(l->diags, diag, "the state an automaton begins in is called 'init'");
  }
  return IR_NONE;
}

// ---------------------------------------------------------------------------------------------
// states

static void lower_like(Lower* l, uint32_t at, const AstName* like) {
  StateInfo* state = &l->automata.states.data[at];
  uint32_t parent = lower_find_state(l, state->automaton, like);
  if (parent == IR_NONE) return;
  state = &l->automata.states.data[at];
  if (state->like != IR_NONE && state->like != parent) {
    Diag* diag = lower_report(l, DIAG_E0405, like->span, "'%.*s' is made like two states",
                              STR_ARGS(lower_name(l, state->name)));
    diag_note(l->diags, diag, state->like_name->span, "the first one is here");
    return;
  }
  state->like = parent;
  state->like_name = like;
  l->automata.states.data[parent].is_parent = true;
}

/// The guard of a transition. False: there is no transition.
static bool lower_guard(Lower* l, const AstState* declaration, StateInfo* state, IrTerm* guard) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_GUARD, .events = true, .automaton = state->automaton};
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .judge = true};
  TermFrame frame = lower_begin(l);
  Value value = lower_condition(l, declaration->guard, style);
  bool bad = value.type == VALUE_BAD;
  if (bad) value.e.index = 0;
  *guard = lower_end(l, frame, value.e);
  l->terms.scope = outer;
  if (bad) {
    state->suspect = true;
    return false;
  }
  if (!(value.flags & VALUE_NEVER)) return true;

  // in a loop, an index may switch a transition off on purpose
  state->suspect = true;
  bool decided = l->m->pool.nodes.data[value.e.index].op == IR_FALSE;
  if (decided && l->names.bindings.count) return false;
  Diag* diag =
      lower_report(l, DIAG_W0403, declaration->guard->span, "the guard of '%.*s' can never hold",
                   STR_ARGS(lower_name(l, state->name)));
  diag_hint(l->diags, diag,
            "it is false for all values of the variables; the transition is left out");
  return false;
}

/// The states of `from`; false when one of them is unknown.
static bool lower_from(Lower* l, const AstState* declaration, uint32_t automaton,
                       IrTransition* transition) {
  bool fine = true;
  transition->from_begin = l->m->from_states.count;
  for (uint32_t i = 0; i < declaration->from.count; i++) {
    uint32_t from = lower_find_state(l, automaton, &declaration->from.data[i]);
    if (from == IR_NONE) {
      fine = false;
      continue;
    }
    uint32_t index = l->automata.states.data[from].index;
    bool twice = false;
    for (uint32_t k = transition->from_begin; k < l->m->from_states.count; k++) {
      twice = twice || l->m->from_states.data[k] == index;
    }
    if (!twice) base_vec_push(l->arena, &l->m->from_states, index);
  }
  transition->from_count = l->m->from_states.count - transition->from_begin;
  return fine;
}

/// The word `zeno`, unless the model has a meaning of its own for it.
static bool is_zeno(Lower* l, const AstExpr* expr) {
  if (expr->kind != AST_NAME || expr->order) return false;
  if (!ast_name_is_word(&expr->as.name.name, STR_LIT("zeno"))) return false;
  Symbol symbol = *resolve_symbol(l, resolve_plain(l, &expr->as.name.name));
  return symbol.kind == SYM_NONE;
}

/// `zeno` as the guard or as one of the conditions it joins by `&&`; NULL when it is not there.
static const AstExpr* zeno_operand(Lower* l, const AstExpr* guard) {
  if (is_zeno(l, guard)) return guard;
  if (guard->kind != AST_CHAIN || guard->as.chain.level != AST_LEVEL_AND) return NULL;
  for (uint32_t i = 0; i < guard->as.chain.links.count; i++) {
    const AstExpr* operand = guard->as.chain.links.data[i].operand;
    if (is_zeno(l, operand)) return operand;
  }
  return NULL;
}

static void lower_transition(Lower* l, const AstState* declaration, uint32_t at) {
  if (declaration->pulse && l->terms.level_is_known) return;  // it never is a pulse
  StateInfo* state = &l->automata.states.data[at];
  IrTransition transition = {.automaton = state->automaton,
                             .to = state->index,
                             .made = declaration->made,
                             .span = declaration->guard ? declaration->guard->span
                                                        : declaration->name.span};
  l->terms.zeno_operand = declaration->guard ? zeno_operand(l, declaration->guard) : NULL;
  transition.zeno = declaration->zeno || l->terms.zeno_operand;
  transition.instead = declaration->zeno;
  bool guarded = !declaration->guard || lower_guard(l, declaration, state, &transition.guard);
  l->terms.zeno_operand = NULL;
  if (declaration->from.count == 0) {
    if (!declaration->guard) return;
    Diag* diag = lower_report(l, DIAG_E0406, declaration->guard->span,
                              "this guard leads to '%.*s' from nowhere",
                              STR_ARGS(lower_name(l, state->name)));
    diag_hint(l->diags, diag, "say where from, behind the body: } from init;");
    state->suspect = true;
    return;
  }
  bool known = lower_from(l, declaration, state->automaton, &transition);
  state = &l->automata.states.data[at];
  if (!known) state->suspect = true;
  if (!guarded || !known) {
    l->m->from_states.count = transition.from_begin;
    return;
  }
  if (!declaration->guard) {
    TermFrame frame = lower_begin(l);
    transition.guard = lower_end(l, frame, lower_op(l, IR_TRUE, (ExprId){0}, (ExprId){0}));
  }
  transition.by_lot = declaration->by_lot;
  base_vec_push(l->arena, &l->m->transitions, transition);
  double priority = 0.0;
  if (declaration->priority &&
      resolve_eval_whole(l, declaration->priority, "a priority", DIAG_E0412, &priority)) {
    PriorityOf given = {l->m->transitions.count - 1, priority};
    base_vec_push(l->scratch, &l->automata.transition_priorities, given);
  }
}

void lower_begin_actions(Lower* l) {
  l->automata.actions.count = 0;
  l->automata.action_group++;
  l->automata.gotos.count = 0;
  l->automata.stop = (Str){0};
}

uint32_t lower_flush_actions(Lower* l) {
  uint32_t begin = l->m->actions.count;
  for (uint32_t i = 0; i < l->automata.actions.count; i++) {
    base_vec_push(l->arena, &l->m->actions, l->automata.actions.data[i]);
  }
  return begin;
}

static void lower_state_body(Lower* l, const AstState* declaration, uint32_t at, IrTerm guard) {
  StateInfo state = l->automata.states.data[at];
  if (state.index == 0 && state.edits) {
    Diag* diag = lower_report(l, DIAG_E0413, declaration->name.span,
                              "'init' has the global "
                              "equations; its body can only hold resets and 'stop'");
    diag_hint(l->diags, diag, "write the equations outside of the states");
    return;
  }
  lower_begin_actions(l);
  l->automata.invariant = (ExprId){0};
  TermFrame frame = lower_begin(l);
  Site inside = {.body = state.body == IR_NONE ? 0 : state.body,
                 .automaton = state.automaton,
                 .owner = state.automaton,
                 .actions = true,
                 .guard = guard};
  lower_block(l, &declaration->body, &inside);
  IrState* ir = &l->m->states.data[state.ir];
  ir->invariant = lower_end(l, frame, l->automata.invariant);
  ir->invariant_span = l->automata.invariant_span;
  ir->stop = l->automata.stop;
  if (state.split) return;  // its resets belong to this declaration
  ir->action_count = l->automata.actions.count;
  ir->action_begin = lower_flush_actions(l);
}

static void lower_resets(Lower* l, const AstBlock* block, void* user) {
  const Site* inside = user;
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_INIT) lower_init(l, s, inside);
    if (s->kind == AST_FOR) resolve_loop(l, s, lower_resets, user);
  }
}

/// The resets of a further declaration, which are those of its transition.
static void lower_further_resets(Lower* l, const AstState* declaration, const StateInfo* state,
                                 IrTerm guard) {
  Site inside = {
      .automaton = state->automaton, .owner = state->automaton, .actions = true, .guard = guard};
  lower_begin_actions(l);
  lower_resets(l, &declaration->body, &inside);
}

void lower_state(Lower* l, const AstStatement* statement, const Site* site) {
  const AstState* declaration = statement->as.state;
  uint32_t automaton = site->owner == IR_NONE ? l->automata.main : site->owner;
  uint32_t name = resolve_name(l, &declaration->name);
  uint32_t at = name && automaton != IR_NONE ? resolve_state(l, automaton, name) : IR_NONE;
  if (at == IR_NONE) return;  // its declaration failed
  uint32_t* met = &l->m->automata.data[automaton].appearance;
  if (*met == 0) *met = ++l->automata.met;
  if (declaration->like) lower_like(l, at, declaration->like);
  uint32_t transitions = l->m->transitions.count;
  lower_transition(l, declaration, at);
  bool fires = l->m->transitions.count > transitions;
  StateInfo state = l->automata.states.data[at];
  bool first = state.with_body == declaration;
  bool split = state.split && (declaration->has_body || state.alike);
  IrTerm guard = {{0}, 0, 0};
  if (fires && (split || state.ways == 1)) guard = l->m->transitions.data[transitions].guard;
  if (declaration->has_body && first) lower_state_body(l, declaration, at, guard);
  if (split && !first) {
    lower_further_resets(l, state.alike ? state.with_body : declaration, &state, guard);
  }
  if (!split || !fires) return;
  l->m->transitions.data[transitions].action_count = l->automata.actions.count;
  uint32_t begin = lower_flush_actions(l);
  l->m->transitions.data[transitions].action_begin = begin;
}

void lower_automaton(Lower* l, const AstStatement* statement, const Site* site) {
  uint32_t name = resolve_name(l, statement->as.automaton.name);
  uint32_t known = name ? resolve_symbol(l, name)->automaton : 0;
  if (known == 0) return;
  const AstExpr* written = statement->as.automaton.priority;
  double priority = 0.0;
  if (written && resolve_eval_whole(l, written, "a priority", DIAG_E0412, &priority)) {
    base_vec_push(l->scratch, &l->automata.automaton_priorities,
                  ((PriorityOf){known - 1, priority}));
  }
  Site inside = *site;
  inside.owner = known - 1;
  lower_block(l, &statement->as.automaton.body, &inside);
}

void lower_invariant(Lower* l, const AstStatement* statement, const Site* site) {
  Scope outer = l->terms.scope;
  l->terms.scope = (Scope){.kind = SCOPE_GUARD, .automaton = site->automaton};
  AtomStyle style = {.type = IR_ATOM_CRITICAL, .bipolar = true};
  Value value = lower_condition(l, statement->as.invariant, style);
  l->terms.scope = outer;
  if (value.type == VALUE_BAD) return;
  bool first = l->automata.invariant.index == 0;
  l->automata.invariant = first ? value.e : lower_op(l, IR_AND, l->automata.invariant, value.e);
  if (first) l->automata.invariant_span = statement->as.invariant->span;
}

void lower_stop(Lower* l, const AstStatement* statement) {
  l->automata.stop = str_copy(l->arena, statement->as.stop.text);
}

// ---------------------------------------------------------------------------------------------
// schedules

void lower_goto(Lower* l, const AstStatement* statement) {
  const AstName* written = statement->as.jump.automaton;
  uint32_t automaton = l->automata.main;
  if (written) {
    automaton = lower_find_automaton(l, written);
  } else if (automaton == IR_NONE) {
    lower_report(l, DIAG_E0401, statement->as.jump.state->span,
                 "the model has no states outside of automaton blocks");
  }
  if (automaton == IR_NONE) return;
  uint32_t state = lower_find_state(l, automaton, statement->as.jump.state);
  if (state == IR_NONE) return;
  for (uint32_t i = 0; i < l->automata.gotos.count; i++) {
    if (l->automata.gotos.data[i].automaton != automaton) continue;
    Diag* diag = lower_report(l, DIAG_E0409, statement->span,
                              "a second 'goto' for the automaton "
                              "'%.*s'",
                              STR_ARGS(lower_name(l, l->automata.all.data[automaton].name)));
    diag_hint(l->diags, diag, "one firing can move an automaton only once");
    return;
  }
  IrGoto jump = {.automaton = automaton,
                 .state = l->automata.states.data[state].index,
                 .appearance = l->automata.gotos.count};
  base_vec_push(l->scratch, &l->automata.gotos, jump);
}

/// How often a schedule fires.
static bool lower_repeat(Lower* l, const AstStatement* statement, int64_t* count) {
  *count = 1;
  const AstExpr* each = statement->as.at.each;
  const AstExpr* repeat = statement->as.at.repeat;
  if (statement->as.at.repeat_forever) {
    *count = -1;
  } else if (repeat) {
    double number = 0.0;
    if (!resolve_eval_whole(l, repeat, "the number of firings", DIAG_E0411, &number)) return false;
    if (number < 1.0) {
      lower_report(l, DIAG_E0411, repeat->span,
                   "the number of firings must be at least 1; here it "
                   "is %.*s",
                   STR_ARGS(lower_number_text(l, number)));
      return false;
    }
    *count = (int64_t)number;
  } else if (each) {
    Diag* diag = lower_report(l, DIAG_W0430, each->span, "without 'repeat' this fires only once");
    diag_hint(l->diags, diag, "write 'repeat *' to fire for ever");
  }
  if (*count == 1 || each) return true;
  Span span = repeat ? repeat->span : statement->as.at.time->span;
  Diag* diag = lower_report(l, DIAG_E0410, span, "'repeat' needs the time between two firings");
  diag_hint(l->diags, diag, "write at T each P repeat N");
  return false;
}

static void lower_priority(Lower* l, const AstStatement* statement, IrSchedule* schedule) {
  double priority = 0.0;
  const AstExpr* expr = statement->as.at.priority;
  if (expr && resolve_eval_whole(l, expr, "a priority", DIAG_E0412, &priority)) {
    schedule->priority = (int32_t)priority;
  }
}

static IrTerm lower_time(Lower* l, const AstExpr* time, Scope scope) {
  if (!lower_is_condition(time)) return lower_term(l, time, scope, NULL);
  Diag* diag =
      lower_report(l, DIAG_E0301, time->span, "'at' takes a time, and this is a condition");
  if (diag != &l->walk.ignored) {
    diag_hint(
        l->diags, diag,
        "write at 5 { ... }; what waits for a condition is a state: state NAME [x > 1] { ... } "
        "from init, NAME;");
  }
  return (IrTerm){0};
}

void lower_at(Lower* l, const AstStatement* statement) {
  Scope scope = {.kind = SCOPE_SCHEDULE, .literal = true, .automaton = IR_NONE};
  IrSchedule schedule = {.span = {statement->span.begin, statement->as.at.body.span.begin}};
  schedule.start = lower_time(l, statement->as.at.time, scope);
  bool fine = ir_term_present(schedule.start);
  if (statement->as.at.each) {
    schedule.period = lower_term(l, statement->as.at.each, scope, NULL);
    fine = fine && ir_term_present(schedule.period);
    double period = 1.0;
    if (resolve_term_value(l, schedule.period, &period) && !(period > 0.0)) {
      lower_report(l, DIAG_E0410, statement->as.at.each->span,
                   "the time between two firings must be greater than 0; here it is %.*s",
                   STR_ARGS(lower_number_text(l, period)));
    }
  }
  fine = lower_repeat(l, statement, &schedule.count) && fine;
  lower_priority(l, statement, &schedule);
  while (schedule.span.end > schedule.span.begin &&
         (unsigned char)l->source->text.data[schedule.span.end - 1] <= ' ') {
    schedule.span.end--;
  }

  lower_begin_actions(l);
  Site inside = {.body = 0, .automaton = IR_NONE, .owner = IR_NONE, .actions = true, .in_at = true};
  lower_block(l, &statement->as.at.body, &inside);
  if (!fine) return;
  schedule.action_count = l->automata.actions.count;
  schedule.action_begin = lower_flush_actions(l);
  schedule.goto_begin = l->m->gotos.count;
  schedule.goto_count = l->automata.gotos.count;
  for (uint32_t i = 0; i < l->automata.gotos.count; i++) {
    base_vec_push(l->arena, &l->m->gotos, l->automata.gotos.data[i]);
  }
  schedule.stop = l->automata.stop;
  base_vec_push(l->arena, &l->m->schedules, schedule);
}

// SPDX-License-Identifier: MIT
//
// What fires assigns: states of automata at once, values in groups. All assignments of a round read
// the values before it. What was assigned is kept in a list, so that a candidate can be made again
// in another mode, or dropped, without asking for the values once more.
#include "engine/local/parts.h"

#include <math.h>
#include <string.h>

#define REBOUND_ROUNDING 1e-10  // of what it is computed from: a negative speed that is none

// ---- firing -------------------------------------------------------------------------------------

void events_forget_assigned(EngSim* sim) {
  sim->events.queue.count = 0;
  sim->events.queue.actions = 0;
  sim->events.queue.move_count = 0;
  sim->events.assigned_count = 0;
}

SltStatus events_queue_group(EngSim* sim, EngGroup group) {
  EventsQueue* queue = &sim->events.queue;
  if (group.action_count == 0) return SLT_OK;
  queue->actions += group.action_count;
  SLT_TRY(ENG_MORE(sim, queue->groups, (size_t)queue->count + 1));
  queue->groups[queue->count++] = group;
  return SLT_OK;
}

/// Part of a state or a value in the key of a configuration.
static uint64_t key_of(uint32_t place, uint64_t bits) {
  bits = (bits ^ ((uint64_t)place << 32 | place)) * 0x9E3779B97F4A7C15u;
  return (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9u;
}

void events_set_state(EngSim* sim, uint32_t automaton, uint32_t to) {
  sim->events.mode_key += key_of(~automaton, to) - key_of(~automaton, sim->state[automaton]);
  sim->state[automaton] = to;
  sim->dae.least = MODEL_NONE;  // what a block left open in another position does not matter
  eng_publish_state(sim, automaton, sim->core.t);
}

const uint32_t* events_equation_states(EngSim* sim) {
  Events* events = &sim->events;
  bool kept = false;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    bool keeps = sim->model->automata[a].states[sim->state[a]].written->keeps;
    events->equation_state[a] = keeps ? events->left[a] : sim->state[a];
    kept |= keeps;
  }
  return kept ? events->equation_state : sim->state;
}

void events_enter_state(EngSim* sim, uint32_t automaton, uint32_t to) {
  Events* events = &sim->events;
  if (events->readers.list && !events->is_entered[automaton]) {
    events->is_entered[automaton] = true;
    events->entered[events->entered_count++] = automaton;
  }
  const ModelState* left = &sim->model->automata[automaton].states[sim->state[automaton]];
  if (!left->written->keeps) events->left[automaton] = sim->state[automaton];
  events_set_state(sim, automaton, to);
  const ModelState* state = &sim->model->automata[automaton].states[to];
  if (state->written->stops) {
    sim->core.stop_wanted = true;
    sim->instant.stop_text = state->written->stop_text;
    sim->instant.stop_span = state->written->span;
  }
  // what holds on entry is no new edge for the self loops of the state
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    sim->instant.transitions[state->outgoing[i]].edge_seen = true;
    sim->instant.transitions[state->outgoing[i]].taken = true;
  }
}

SltStatus events_note_move(EngSim* sim, uint32_t automaton) {
  EventsQueue* queue = &sim->events.queue;
  SLT_TRY(ENG_MORE(sim, queue->moves, (size_t)queue->move_count + 1));
  queue->moves[queue->move_count++] = (EventsMove){automaton, sim->state[automaton]};
  return SLT_OK;
}

SltStatus eng_fire_transition(EngSim* sim, uint32_t transition, uint32_t iteration) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  uint32_t from = sim->state[t->automaton];
  sim->instant.transitions[transition].fired_now = true;
  if (t->by_lot) (void)model_random_uniform(&sim->core.random);
  uint32_t record = eng_trace_transition(sim, t->automaton, transition, from, t->to, iteration);
  if (from != t->to || to->written->stops) {
    SLT_TRY(events_note_move(sim, t->automaton));
    events_enter_state(sim, t->automaton, t->to);
  } else {
    uint32_t entered = sim->model->automata[t->automaton].entry_env;
    if (entered != MODEL_NONE) sim->env[entered] = sim->core.t;
    sim->instant.transitions[transition].edge_seen = true;
    sim->instant.transitions[transition].taken = true;
  }
  EngGroup group = {to->action_begin, to->action_count, t->automaton, record};
  SLT_TRY(events_queue_group(sim, group));
  group.action_begin = t->action_begin;
  group.action_count = t->action_count;
  return events_queue_group(sim, group);
}

void eng_fire_switch(EngSim* sim, uint32_t automaton, uint32_t iteration) {
  uint32_t from = sim->state[automaton];
  eng_trace_transition(sim, automaton, MODEL_NONE, from, 1 - from, iteration);
  events_enter_state(sim, automaton, 1 - from);
}

// ---- assigning ----------------------------------------------------------------------------------

/// A contact keeps the speed that its impact leaves, an `after` the time it waits: not below 0.
static SltStatus check_memory(EngSim* sim, const ModelAction* action, double value) {
  const ModelVar* var = &sim->model->vars[action->var];
  if (isfinite(value) ? value >= 0.0 : !var->delay) return SLT_OK;
  double size = 0.0;
  for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
    uint32_t env = model_term_input(&action->value, k);
    if (env != MODEL_NONE) size = fmax(size, fabs(sim->env[env]));
  }
  if (fabs(value) < REBOUND_ROUNDING * size) return SLT_OK;
  if (var->delay) {
    return eng_fail(sim, SLT_ERR_SEMANTIC, DIAG_E0808, &action->span,
                    "at t = %s this delay is %s: it must be a finite number, not below 0",
                    eng_number(sim->core.t).text, eng_short(value).text);
  }
  uint32_t length = var->name.length;
  while (length > 1 && var->name.data[length - 1] != '.') {
    length--;  // what is behind the contact's name
  }
  eng_fail(sim, SLT_ERR_SEMANTIC, DIAG_E0828, &action->span,
           "at t = %s the restitution of '%.*s' is negative: the impact would leave the speed %s",
           eng_number(sim->core.t).text, (int)length - 1, var->name.data, eng_short(value).text);
  return eng_hint(
      sim, "it is the share of the speed that an impact gives back: 0 for none, 1 for all of "
           "it; max(0, ...) keeps a formula from going below");
}

static void assign(EngSim* sim, const EventsAssigned* given) {
  const ModelAction* action = &sim->model->actions[given->action];
  uint32_t env = action->env;
  sim->values.given[env] = action->guess ? ENG_GIVEN_GUESS : ENG_GIVEN_SET;
  if (action->guess) {
    // a guess matters to the solution of the equations only, not where a state is kept
    if (sim->values.computed[env]) sim->env[env] = given->value;
    return;
  }
  if (sim->env[env] == given->value) return;
  // a copy by memcpy would be a call: kernels are compiled without builtins
  union {
    double value;
    uint64_t bits;
  } now = {given->value}, before = {sim->env[env]};
  sim->events.values_key += key_of(env, now.bits) - key_of(env, before.bits);
  sim->env[env] = given->value;
}

/// Resets ask for the states before their round.
static void show_states_before(EngSim* sim) {
  const EventsQueue* queue = &sim->events.queue;
  for (uint32_t i = 0; i < queue->move_count; i++) {
    const ModelState* states = sim->model->automata[queue->moves[i].automaton].states;
    uint32_t from = states[queue->moves[i].from].test_env;
    uint32_t to = states[sim->state[queue->moves[i].automaton]].test_env;
    if (to != MODEL_NONE) sim->env[to] = 0.0;
    if (from != MODEL_NONE) sim->env[from] = 1.0;
  }
}

static void show_states(EngSim* sim) {
  EventsQueue* queue = &sim->events.queue;
  for (uint32_t i = 0; i < queue->move_count; i++) {
    eng_publish_state(sim, queue->moves[i].automaton, sim->core.t);
  }
  queue->move_count = 0;
}

/// The value of a queued action, from the environment as it is.
static SltStatus evaluate_action(EngSim* sim, uint32_t id, double* value) {
  const ModelAction* action = &sim->model->actions[id];
  const ModelVar* var = &sim->model->vars[action->var];
  const EngObserver* observer = sim->report.observer;
  ModelRandom random = sim->core.random;
  *value = events_eval(sim, &action->value);
  if (ENG_UNLIKELY(var->memory || var->delay)) SLT_TRY(check_memory(sim, action, *value));
  if (!isfinite(*value) && !var->unbounded) {
    return eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0802, &action->span,
                    "the new value of '%.*s' is not a finite number", STR_ARGS(var->name));
  }
  if (ENG_UNLIKELY(observer)) observer->evaluates(observer->user, id, *value, &random);
  return SLT_OK;
}

/// The queued groups become assignments, from `given` on. One about the memory of elements alone
/// never falls: a contact whose closing was rejected still hits, and must know the speed before.
static SltStatus evaluate_queued(EngSim* sim, EventsAssigned* given) {
  const EventsQueue* queue = &sim->events.queue;
  for (const EngGroup* group = queue->groups; group < queue->groups + queue->count; group++) {
    bool memory = true;
    for (uint32_t k = 0; k < group->action_count; k++) {
      given[k].action = group->action_begin + k;
      given[k].record = group->record;
      SLT_TRY(evaluate_action(sim, given[k].action, &given[k].value));
      memory &= sim->model->vars[sim->model->actions[given[k].action].var].hidden;
    }
    for (uint32_t k = 0; k < group->action_count; k++) {
      given[k].automaton = memory ? MODEL_NONE : group->automaton;
    }
    given += group->action_count;
  }
  return SLT_OK;
}

SltStatus events_assign(EngSim* sim) {
  Events* events = &sim->events;
  EventsQueue* queue = &events->queue;
  if (queue->count == 0) {
    queue->move_count = 0;
    return SLT_OK;
  }
  eng_active_complete(sim);
  size_t count = events->assigned_count + queue->actions;
  SLT_TRY(ENG_MORE(sim, events->assigned, count));
  show_states_before(sim);
  SltStatus status = evaluate_queued(sim, events->assigned + events->assigned_count);
  show_states(sim);
  SLT_TRY(status);
  if (ENG_UNLIKELY(sim->report.observer)) sim->report.observer->assigns(sim->report.observer->user);
  for (; events->assigned_count < count; events->assigned_count++) {
    const EventsAssigned* given = &events->assigned[events->assigned_count];
    const ModelAction* action = &sim->model->actions[given->action];
    double before = sim->env[action->env];
    assign(sim, given);
    if (action->guess || before == given->value) continue;
    // a flag of the equations is part of the mode
    bool flag = sim->sliding.is_flag[action->env] && eng_is_mode_flag(sim, action->env);
    if (!flag) sim->core.changes++;
    eng_trace_change(sim, given->record, action, before, given->value);
  }
  queue->count = 0;
  queue->actions = 0;
  return SLT_OK;
}

// ---- committed values ---------------------------------------------------------------------------

void events_save_values(EngSim* sim) {
  // nobody reads what else was
  memcpy(sim->env + sim->model->env_count + sim->values.var_begin, sim->env + sim->values.var_begin,
         (sim->values.var_end - sim->values.var_begin) * sizeof(double));
}

void events_take_up_values(EngSim* sim) {
  Events* events = &sim->events;
  const double* saved = sim->env + sim->model->env_count;
  // truths and states of automata stay as they are
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    for (uint32_t order = 0; order < var->slots; order++) {
      sim->env[var->env + order] = saved[var->env + order];
    }
  }
  memset(sim->values.given, 0, sim->model->env_count);
  events->values_key = events->round_key;
  for (uint32_t i = 0; i < events->assigned_count; i++) {
    assign(sim, &events->assigned[i]);
  }
}

void events_drop_assigned(EngSim* sim, uint32_t automaton) {
  Events* events = &sim->events;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < events->assigned_count; i++) {
    if (events->assigned[i].automaton == automaton) {
      eng_trace_fallen(sim, events->assigned[i].record);
    } else {
      events->assigned[kept++] = events->assigned[i];
    }
  }
  bool dropped = kept < events->assigned_count;
  events->assigned_count = kept;
  if (ENG_UNLIKELY(dropped && sim->report.observer))
    sim->report.observer->discards(sim->report.observer->user);
}

// ---- the order of transitions that interfere ----------------------------------------------------

typedef struct Actions {
  uint32_t begin, count;
} Actions;

/// The entry actions of the state that a transition leads to, or its own.
static Actions actions_of(const EngSim* sim, uint32_t transition, bool own) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  return own ? (Actions){t->action_begin, t->action_count}
             : (Actions){to->action_begin, to->action_count};
}

/// Computed values follow the environment, where that takes no solving: a hint is worth no more.
static void follow_values(EngSim* sim) {
  bool apart = sim->local && sim->local->now.apart;
  if (apart || sim->core.mode->implicit || sim->core.slide.count) return;
  eng_bind(sim);
  eng_evaluate_full(sim, sim->core.t);
}

/// Assign to the environment what transitions that fire at once assign; `values` is work space.
static void try_together(EngSim* sim, const uint32_t* transitions, uint32_t count, double* values) {
  for (int pass = 0; pass < 2; pass++) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2 * count; i++) {
      Actions part = actions_of(sim, transitions[i / 2], i % 2);
      for (uint32_t k = part.begin; k < part.begin + part.count; k++, n++) {
        const ModelAction* action = &sim->model->actions[k];
        if (pass == 0) values[n] = events_eval(sim, &action->value);
        if (pass == 1 && !action->guess) sim->env[action->env] = values[n];
      }
    }
  }
}

/// Copy what the transitions write from the environment to a list, or back; returns how many values
/// that are. Without a list they are counted alone.
static uint32_t copy_written(EngSim* sim, const uint32_t* transitions, uint32_t count, double* list,
                             bool back) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < 2 * count; i++) {
    Actions part = actions_of(sim, transitions[i / 2], i % 2);
    for (uint32_t k = part.begin; k < part.begin + part.count; k++, n++) {
      double* at = &sim->env[sim->model->actions[k].env];
      if (list && back) *at = list[n];
      if (list && !back) list[n] = *at;
    }
  }
  return n;
}

bool events_order_matters(EngSim* sim, const uint32_t* first, uint32_t count, uint32_t then) {
  Events* events = &sim->events;
  uint32_t a = copy_written(sim, first, count, NULL, false);
  uint32_t n = a + copy_written(sim, &then, 1, NULL, false);
  if (!sim->report.to.on_warning || sim->instant.transitions[then].warned) return false;
  if (n == 0 || ENG_GROW(sim, events->order_values, 4 * (size_t)n) < 0) return false;
  double* before = events->order_values;
  double* one = before + n;
  double* other = one + n;
  double* work = other + n;
  ModelRandom random = sim->core.random;
  double* results[] = {one, other};
  copy_written(sim, first, count, before, false);
  copy_written(sim, &then, 1, before + a, false);
  for (int turn = 0; turn < 2; turn++) {
    if (turn == 0) try_together(sim, first, count, work);
    follow_values(sim);
    try_together(sim, &then, 1, work);
    follow_values(sim);
    if (turn == 1) try_together(sim, first, count, work);
    copy_written(sim, first, count, results[turn], false);
    copy_written(sim, &then, 1, results[turn] + a, false);
    copy_written(sim, &then, 1, before + a, true);
    copy_written(sim, first, count, before, true);
    follow_values(sim);
    sim->core.random = random;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!(fabs(one[i] - other[i]) <= 1e-9 * (fabs(one[i]) + fabs(other[i])))) return true;
  }
  return false;
}

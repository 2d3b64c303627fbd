// SPDX-License-Identifier: MIT
//
// The event instant: due time events, then rounds of transitions until nothing more is enabled.
//
// A round starts from committed values x_k. What fires is applied to a *candidate*: the values x_k
// with the resets of what fired, evaluated in the new mode. Before the candidate is committed the
// mode must settle:
//   - switches (`if`, `abs`, ...) and guards that test only other automata's states follow the
//     candidate at once; the queued resets stay;
//   - a guard that reads a quantity the new mode computes in another way (a force, a voltage: see
//     reads_candidate) may reject the candidate: it was mythical, its resets are dropped, and the
//     transition goes on from x_k.
// Guards on states and on quantities that did not change their meaning are read in the next round,
// on committed values only. Every mode passed through is remembered: a repetition within one
// settling would never end, and is reported with its path.
#include "engine/internal.h"

#include <math.h>
#include <string.h>

// ---- what is enabled ----------------------------------------------------------------------------

/// Whether a relation of the guard has just crossed: a new edge even if the guard was true before.
static bool guard_has_new_edge(const EngSim* sim, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (atom->located && atom->located_truth) return true;
  }
  return false;
}

bool eng_transition_enabled(EngSim* sim, uint32_t transition) {
  const ModelTransition* model = &sim->model->transitions[transition];
  EngTransition* edge = &sim->transitions[transition];
  bool self = model->to == sim->state[model->automaton];
  // an impact does not happen while its contact is closed, unless something drives it inward
  if (ENG_SELDOM(edge->closed)) return eng_contact_is_struck(sim, transition);
  if (model->zeno && !edge->exits && !(model->instead && eng_impact_is_last(sim, transition))) {
    return false;
  }
  if (eng_dwells(sim, model->automaton)) return false;
  if (!eng_guard(sim, &model->guard)) {
    if (!self) return false;
    edge->edge_seen = false;
    edge->taken = false;
    return false;
  }
  if (!self) return true;
  if (edge->taken) return false;
  return !edge->edge_seen || guard_has_new_edge(sim, &model->guard);
}

bool eng_switch_flips(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  if (eng_dwells(sim, automaton)) return false;
  return eng_guard(sim, a->condition) != (sim->state[automaton] == 1);
}

/// First enabled transition of an automaton; MODEL_NONE for none.
uint32_t eng_first_enabled(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const ModelState* state = &a->states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    if (eng_transition_enabled(sim, state->outgoing[i])) return state->outgoing[i];
  }
  return MODEL_NONE;
}

static bool invariants_hold(EngSim* sim, uint32_t* automaton) {
  if (!sim->has_invariants) return true;
  uint32_t automaton_count = 0;
  const uint32_t* automata = eng_instant_automata(sim, &automaton_count);
  for (uint32_t n = 0; n < automaton_count; n++) {
    uint32_t a = eng_nth(automata, n);
    const ModelState* state = &sim->model->automata[a].states[sim->state[a]];
    if (!state->invariant || eng_guard(sim, state->invariant)) continue;
    *automaton = a;
    return false;
  }
  return true;
}

bool eng_anything_enabled(EngSim* sim) {
  // what is slid along stays where it is
  uint32_t count = 0;
  const uint32_t* automata = eng_stirred(sim, &count);
  for (uint32_t n = 0; n < count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (eng_is_barred(sim, a) || !eng_automaton_active(sim, a)) continue;
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH) {
      if (eng_switch_flips(sim, a)) return true;
    } else if (eng_first_enabled(sim, a) != MODEL_NONE) {
      return true;
    }
  }
  uint32_t broken = 0;
  return !invariants_hold(sim, &broken);
}

/// Visit the self loops of the present states.
static void visit_self_loops(EngSim* sim, bool latch) {
  if (!sim->has_self_loops) return;
  uint32_t automaton_count = 0;
  const uint32_t* automata = eng_instant_automata(sim, &automaton_count);
  for (uint32_t n = 0; n < automaton_count; n++) {
    uint32_t a = eng_nth(automata, n);
    const ModelState* state = &sim->model->automata[a].states[sim->state[a]];
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      uint32_t id = state->outgoing[i];
      const ModelTransition* transition = &sim->model->transitions[id];
      if (transition->to != sim->state[a]) continue;
      bool holds = eng_guard(sim, &transition->guard);
      sim->transitions[id].taken = false;
      if (latch || !holds) sim->transitions[id].edge_seen = holds;
    }
  }
}

void eng_edges_latch(EngSim* sim) {
  visit_self_loops(sim, true);
}

void eng_edges_clear(EngSim* sim) {
  visit_self_loops(sim, false);
}

// ---- which transitions may fire together --------------------------------------------------------

void eng_marks_clear(EngSim* sim) {
  memset(sim->marks, 0, sim->model->env_count);
  sim->marked_algebraic_read = false;
  sim->marked_state_write = false;
}

static bool var_is_computed(const EngSim* sim, uint32_t var, uint32_t order) {
  const ModelVarMode* mode = &sim->core.mode->vars[var];
  if (mode->role == MODEL_ROLE_ALGEBRAIC) return true;
  return mode->role == MODEL_ROLE_STATE && order >= mode->state_order;
}

/// Whether somebody writes what is read or written here; where is noted.
static bool meets_writer(EngSim* sim, uint32_t env) {
  if (!(sim->marks[env] & ENG_WRITTEN)) return false;
  sim->collides_at = env;
  return true;
}

/// Visit what the actions of a range read and write. With `mark` they are noted; without, the
/// result says whether they collide with what is noted.
static bool actions_collide(EngSim* sim, uint32_t begin, uint32_t count, bool mark) {
  bool collide = false;
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    bool continuous = sim->model->vars[action->var].kind != MODEL_VAR_DISCRETE;
    collide |= meets_writer(sim, action->env) || sim->marks[action->env] != 0;
    collide |= continuous && sim->marked_algebraic_read;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env == MODEL_NONE) continue;
      if (env >= sim->model->env_count) env -= sim->model->env_count;  // pre(x)
      collide |= meets_writer(sim, env);
      collide |= sim->env_computed[env] && sim->marked_state_write;
      if (mark) sim->marks[env] |= ENG_READ;
      if (mark && sim->env_computed[env]) sim->marked_algebraic_read = true;
    }
    if (mark) sim->marks[action->env] |= ENG_WRITTEN;
    if (mark && continuous) sim->marked_state_write = true;
  }
  return collide;
}

static bool guard_collides(EngSim* sim, const ModelGuard* guard, bool mark) {
  bool collide = false;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const ModelAtom* atom = &sim->model->atoms[guard->atoms[i]];
    for (uint32_t k = 0; k < atom->read_count; k++) {
      const ModelRead* read = &atom->reads[k];
      uint32_t env = sim->model->vars[read->var].env + read->order;
      bool computed = var_is_computed(sim, read->var, read->order);
      collide |= meets_writer(sim, env);
      collide |= computed && sim->marked_state_write;
      if (mark) sim->marks[env] |= ENG_READ;
      if (mark && computed) sim->marked_algebraic_read = true;
    }
  }
  return collide;
}

bool eng_transition_collides(EngSim* sim, uint32_t transition, bool mark) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  sim->collides_at = MODEL_NONE;
  bool collide = guard_collides(sim, &t->guard, mark);
  collide |= actions_collide(sim, t->action_begin, t->action_count, mark);
  collide |= actions_collide(sim, to->action_begin, to->action_count, mark);
  return collide;
}

/// A transition joins what fires in this iteration unless its resets interfere with theirs. The
/// first is noted only when there is a second (`alone`: MODEL_NONE from then on).
static bool may_join(EngSim* sim, uint32_t transition, uint32_t* alone, bool first) {
  if (first) {
    *alone = transition;
    return true;
  }
  if (*alone != MODEL_NONE) {
    eng_marks_clear(sim);
    eng_transition_collides(sim, *alone, true);
    *alone = MODEL_NONE;
  }
  if (eng_transition_collides(sim, transition, false)) return false;
  eng_transition_collides(sim, transition, true);
  return true;
}

// ---- firing -------------------------------------------------------------------------------------

static SltStatus queue_group(EngSim* sim, uint32_t begin, uint32_t count, uint32_t record) {
  if (count == 0) return SLT_OK;
  size_t queued = count;
  for (uint32_t i = 0; i < sim->group_count; i++) {
    queued += sim->groups[i].action_count;
  }
  if (sim->group_count == sim->group_capacity || queued > sim->act_capacity) {
    return eng_fail(sim, SLT_ERR_LIMIT, DIAG_E0804, NULL, "too many resets in one instant");
  }
  sim->groups[sim->group_count++] = (EngGroup){begin, count, record};
  return SLT_OK;
}

static void enter_state(EngSim* sim, uint32_t automaton, uint32_t to) {
  sim->state[automaton] = to;
  eng_publish_state(sim, automaton, sim->core.t);
  const ModelState* state = &sim->model->automata[automaton].states[to];
  if (state->written->stops) {
    sim->core.stop_wanted = true;
    sim->stop_text = state->written->stop_text;
    sim->stop_span = state->written->span;
  }
  // what holds on entry is no new edge for the self loops of the state
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    sim->transitions[state->outgoing[i]].edge_seen = true;
    sim->transitions[state->outgoing[i]].taken = true;
  }
}

SltStatus eng_fire_transition(EngSim* sim, uint32_t transition, uint32_t iteration) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  uint32_t from = sim->state[t->automaton];
  sim->transitions[transition].fired_now = true;
  uint32_t record = eng_trace_transition(sim, t->automaton, transition, from, t->to, iteration);
  if (from == t->to) {
    sim->transitions[transition].edge_seen = true;
    sim->transitions[transition].taken = true;
    eng_publish_state(sim, t->automaton, sim->core.t);
    if (to->written->stops) enter_state(sim, t->automaton, t->to);
  } else {
    enter_state(sim, t->automaton, t->to);
  }
  SLT_TRY(queue_group(sim, to->action_begin, to->action_count, record));
  return queue_group(sim, t->action_begin, t->action_count, record);
}

void eng_fire_switch(EngSim* sim, uint32_t automaton, uint32_t iteration) {
  uint32_t from = sim->state[automaton];
  eng_trace_transition(sim, automaton, MODEL_NONE, from, 1 - from, iteration);
  enter_state(sim, automaton, 1 - from);
}

/// The memory of a contact is the speed that its impact leaves, which leads away.
static SltStatus check_rebound(EngSim* sim, const ModelAction* action, double value) {
  const ModelVar* var = &sim->model->vars[action->var];
  if (!var->memory || value >= -10.0 * sim->options.event_eps * var->nominal) return SLT_OK;
  uint32_t length = var->name.length;
  while (length > 0 && var->name.data[length - 1] != '.') {
    length--;  // what is behind the contact's name
  }
  eng_fail(sim, SLT_ERR_SEMANTIC, DIAG_E0828, &action->span,
           "at t = %s the restitution of '%.*s' is negative: the impact would leave the speed %s",
           eng_number(sim->core.t).text, (int)(length > 0 ? length - 1 : 0), var->name.data,
           eng_short(value).text);
  eng_hint(sim, "it is the share of the speed that an impact gives back: 0 for none, 1 for all of "
                "it; max(0, ...) keeps a formula from going below");
  return sim->error.status;
}

SltStatus eng_apply_groups(EngSim* sim) {
  uint32_t n = 0;
  if (sim->group_count) eng_widen(sim);
  for (uint32_t i = 0; i < sim->group_count; i++) {
    const EngGroup* group = &sim->groups[i];
    for (uint32_t k = 0; k < group->action_count; k++) {
      const ModelAction* action = &sim->model->actions[group->action_begin + k];
      double value = eng_eval(sim, &action->value);
      if (!isfinite(value)) {
        const ModelVar* var = &sim->model->vars[action->var];
        return eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0802, &action->span,
                        "the new value of '%.*s' is not a finite number", STR_ARGS(var->name));
      }
      SLT_TRY(check_rebound(sim, action, value));
      sim->act_values[n++] = value;
    }
  }
  n = 0;
  for (uint32_t i = 0; i < sim->group_count; i++) {
    const EngGroup* group = &sim->groups[i];
    for (uint32_t k = 0; k < group->action_count; k++) {
      const ModelAction* action = &sim->model->actions[group->action_begin + k];
      double value = sim->act_values[n++];
      sim->given[action->env] = action->guess ? ENG_GIVEN_GUESS : ENG_GIVEN_SET;
      if (action->guess) {
        // a guess matters to the solution of the equations only, not where a state is kept
        if (sim->env_computed[action->env]) sim->env[action->env] = value;
        continue;
      }
      if (sim->env[action->env] != value) sim->core.changes++;
      eng_trace_change(sim, group->record, action, sim->env[action->env], value);
      sim->env[action->env] = value;
    }
  }
  return SLT_OK;
}

/// Committed values back into the environment; truths and states stay as they are.
static void restore_values(EngSim* sim) {
  const double* saved = sim->env + sim->model->env_count;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    for (uint32_t order = 0; order < var->slots; order++) {
      sim->env[var->env + order] = saved[var->env + order];
    }
  }
}

static void save_values(EngSim* sim) {
  // nobody reads what else was
  memcpy(sim->env + sim->model->env_count + sim->var_begin, sim->env + sim->var_begin,
         (sim->var_end - sim->var_begin) * sizeof(double));
}

/// The candidate of values that are the committed ones.
static SltStatus make_candidate(EngSim* sim) {
  memset(sim->given, 0, sim->model->env_count);
  eng_trace_candidate(sim);
  SLT_TRY(eng_apply_groups(sim));
  SLT_TRY(eng_enter_mode(sim));
  eng_atoms_update(sim);
  return SLT_OK;
}

SltStatus eng_make_candidate(EngSim* sim) {
  restore_values(sim);
  return make_candidate(sim);
}

// ---- settling -----------------------------------------------------------------------------------

/// Remember the present mode; true when it was there before.
bool eng_visited_before(EngSim* sim) {
  uint64_t hash = eng_instant_key(sim);
  for (uint32_t i = 0; i < sim->visited_count; i++) {
    if (sim->visited[i] == hash) return true;
  }
  if (sim->visited_count < sim->iteration_limit) sim->visited[sim->visited_count++] = hash;
  return false;
}

SltStatus eng_endless(EngSim* sim) {
  if (eng_zeno_suspected(sim)) return sim->error.status;
  char path[1200];
  eng_trace_path(sim, path, sizeof path);
  eng_fail(sim, SLT_ERR_MODE_LOOP, DIAG_E0803, NULL, "at t = %s the modes repeat without end: %s",
           eng_number(sim->core.t).text, path);
  eng_hint(sim, "the guards of these states contradict each other; time cannot go on");
  return sim->error.status;
}

/// Through which equations a quantity is computed; 0 where it is none of those that are.
static uint64_t way_of(const ModelMode* mode, const ModelRead* read) {
  return mode->var_way ? mode->var_way[read->var] : 0;
}

static bool is_state(const ModelMode* mode, const ModelRead* read) {
  const ModelVarMode* var = &mode->vars[read->var];
  return var->role == MODEL_ROLE_STATE && read->order < var->state_order;
}

/// A guard is read on the candidate, and may reject it, when it asks for post(x) or when the new
/// mode computes something it reads in another way than the mode of the committed values did
/// (whether or not anybody has asked for it there). What was a state has its value from before.
static bool reads_candidate(const EngSim* sim, const ModelGuard* guard, const ModelMode* from) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const ModelAtom* atom = &sim->model->atoms[guard->atoms[i]];
    for (uint32_t k = 0; k < atom->read_count; k++) {
      const ModelRead* read = &atom->reads[k];
      if (read->when == MODEL_POST) return true;
      if (!from || is_state(from, read) || is_state(mode, read)) continue;
      uint64_t way = way_of(mode, read);
      if (way != 0 && way != way_of(from, read)) return true;
    }
  }
  return false;
}

static bool tests_modes_only(const ModelGuard* guard) {
  return guard->atom_count == 0 && guard->has_mode_test;
}

/// Fire what follows the candidate without rejecting it; returns how many fired. `quiet`: nothing
/// is enabled at all.
static SltStatus follow_candidate(EngSim* sim, uint32_t iteration, uint32_t* fired, bool* quiet) {
  *fired = 0;
  *quiet = true;
  uint32_t automaton_count = 0;
  const uint32_t* automata = eng_instant_automata(sim, &automaton_count);
  for (uint32_t n = 0; n < automaton_count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (eng_is_barred(sim, a) || !eng_automaton_active(sim, a)) continue;
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH) {
      if (!eng_switch_flips(sim, a)) continue;
      *quiet = false;
      eng_fire_switch(sim, a, iteration);
      (*fired)++;
      continue;
    }
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE) continue;
    *quiet = false;
    const ModelTransition* t = &sim->model->transitions[transition];
    if (t->to == sim->state[a] || !tests_modes_only(&t->guard)) continue;
    SLT_TRY(eng_fire_transition(sim, transition, iteration));
    (*fired)++;
  }
  return SLT_OK;
}

/// Resets of a discarded candidate are dropped, but for the memory of elements: a contact that hits
/// still does, and must know the speed before.
static void drop_resets(EngSim* sim) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < sim->group_count; i++) {
    EngGroup group = sim->groups[i];
    bool memory = true;
    for (uint32_t k = 0; k < group.action_count; k++) {
      memory &= sim->model->vars[sim->model->actions[group.action_begin + k].var].hidden;
    }
    if (memory) sim->groups[kept++] = group;
  }
  sim->group_count = kept;
}

/// Fire the transitions that reject the candidate; its records from `first` on are mythical.
static SltStatus reject_candidate(EngSim* sim, const ModelMode* from, uint32_t first,
                                  uint32_t iteration, uint32_t* fired) {
  *fired = 0;
  uint32_t automaton_count = 0;
  const uint32_t* automata = eng_instant_automata(sim, &automaton_count);
  for (uint32_t n = 0; n < automaton_count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (eng_is_barred(sim, a)) continue;
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH) continue;
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE) continue;
    if (!reads_candidate(sim, &sim->model->transitions[transition].guard, from)) continue;
    if (*fired == 0) {
      eng_trace_mythical(sim, first);
      drop_resets(sim);
      sim->core.stop_wanted = false;
    }
    SLT_TRY(eng_fire_transition(sim, transition, iteration));
    (*fired)++;
    if (sim->one_by_one) break;
  }
  sim->rejected_together |= *fired > 1;
  return SLT_OK;
}

static SltStatus iteration_exceeded(EngSim* sim) {
  char path[1200];
  eng_trace_path(sim, path, sizeof path);
  eng_fail(sim, SLT_ERR_MODE_LOOP, DIAG_E0804, NULL,
           "the instant at t = %s does not come to an end: ... %s", eng_number(sim->core.t).text,
           path);
  eng_hint(sim, "each of these transitions makes the next one possible; add a condition that "
                "becomes false once it has fired");
  return sim->error.status;
}

/// A relation that was taken for reached but only grazes its boundary: the motion turns round
/// inside the zone.
static bool only_grazes(const EngSim* sim, uint32_t id) {
  const EngAtom* atom = &sim->atoms[id];
  if (!atom->located || !atom->located_truth) return false;
  return fabs(atom->g_start) <= fmax(atom->zone, atom->eps);
}

/// A relation that holds because it is at its boundary, up to rounding: a body at rest is neither
/// slower nor faster.
static bool only_touches(EngSim* sim, const ModelMode* from, uint32_t id) {
  const EngAtom* atom = &sim->atoms[id];
  if (!sim->model->atoms[id].continuous || !sim->live[id] || !atom->truth) return false;
  uint32_t index = 0;
  while (index < from->atom_count && from->atoms[index] != id) {
    index++;
  }
  if (index == from->atom_count) return false;
  eng_control_margin(sim);
  return fabs(sim->g[index]) <= sim->margin[index];
}

/// Relations of a guard that only graze or touch are not reached for now.
static bool let_go(EngSim* sim, const ModelMode* from, const ModelGuard* guard) {
  bool found = false;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (!only_grazes(sim, guard->atoms[i]) && !only_touches(sim, from, guard->atoms[i])) continue;
    found = true;
    // it stays in its zone, and waits until it has left it
    atom->truth = false;
    atom->tangential = true;
    atom->held = true;
    atom->held_changes = (uint32_t)sim->core.changes;
    sim->env[sim->model->atoms[guard->atoms[i]].env] = 0.0;
  }
  return found;
}

/// All candidates were rejected and lead back to where the round began. If what fired were
/// relations that only graze their boundaries, or rest on them, they were not reached after all,
/// and nothing happens. (Of two brakes on one wheel one holds it, and the other, at its limit, is
/// at rest without holding.)
static SltStatus return_to_start(EngSim* sim, const ModelMode* from, bool* returned) {
  *returned = false;
  if (eng_instant_key(sim) != sim->visited[0]) return SLT_OK;
  sim->group_count = 0;
  SLT_TRY(eng_make_candidate(sim));
  for (uint32_t i = 0; i < sim->fired_count; i++) {
    const ModelGuard* guard = sim->fired_switch[i] ? sim->model->automata[sim->fired[i]].condition
                                                   : &sim->model->transitions[sim->fired[i]].guard;
    *returned |= let_go(sim, from, guard);
  }
  return SLT_OK;
}

/// From what has fired (states set, groups queued) to a committed mode.
static SltStatus settle(EngSim* sim, const ModelMode* from, uint32_t first_record,
                        uint32_t* iteration) {
  for (bool first = true;; first = false) {
    if (eng_visited_before(sim)) {
      bool returned = false;
      SLT_TRY(return_to_start(sim, from, &returned));
      if (!returned) return eng_endless(sim);
      eng_trace_mythical(sim, first_record);
      return SLT_OK;
    }
    // what has fired so far has changed states and truths, but no value
    SLT_TRY(first ? make_candidate(sim) : eng_make_candidate(sim));
    uint32_t fired = 0;
    bool quiet = false;
    if (++*iteration > sim->iteration_limit) return iteration_exceeded(sim);
    SLT_TRY(follow_candidate(sim, *iteration, &fired, &quiet));
    if (fired > 0) continue;
    // the next round would ask the same guards about the same values
    sim->quiet = quiet && !sim->has_pre;
    if (quiet) break;
    uint32_t next_first = eng_trace_count(sim);
    SLT_TRY(reject_candidate(sim, from, first_record, *iteration, &fired));
    if (fired == 0) break;
    first_record = next_first;
  }
  sim->group_count = 0;
  return SLT_OK;
}

/// A round begins; the values are those of the one before, and not saved yet.
static void begin_settling(EngSim* sim) {
  if (!sim->narrow) memcpy(sim->live_round, sim->live, sim->model->atom_count * sizeof *sim->live);
  sim->dae.from = sim->core.mode;
  eng_trace_settling(sim);
  sim->group_count = 0;
  sim->visited_count = 0;
  if (!sim->has_pre) return;
  // what was committed is the past of this round
  save_values(sim);
  eng_bind(sim);
  eng_atoms_update(sim);
}

void eng_begin_settling(EngSim* sim) {
  save_values(sim);
  begin_settling(sim);
}

/// One round on committed values; `fired` false when nothing is enabled.
static SltStatus run_round(EngSim* sim, uint64_t key, uint32_t* iteration, bool* fired) {
  *fired = false;
  const ModelMode* from = sim->core.mode;
  begin_settling(sim);
  if (sim->quiet) return SLT_OK;
  sim->visited[sim->visited_count++] = key;
  uint32_t first_record = eng_trace_count(sim);
  uint32_t count = 0;
  uint32_t alone = MODEL_NONE;
  bool joined = false;
  bool stays = true;
  uint32_t automaton_count = 0;
  const uint32_t* automata = eng_instant_automata(sim, &automaton_count);
  for (uint32_t n = 0; n < automaton_count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (eng_is_barred(sim, a) || !eng_automaton_active(sim, a)) continue;
    if (sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH) {
      if (!eng_switch_flips(sim, a)) continue;
      sim->fired_switch[count] = true;
      sim->fired[count++] = a;
      continue;
    }
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE || !may_join(sim, transition, &alone, !joined)) continue;
    joined = true;
    sim->fired_switch[count] = false;
    sim->fired[count++] = transition;
  }
  if (sim->one_by_one && count > 1) count = 1;
  sim->fired_count = count;
  if (count == 0) return SLT_OK;
  *fired = true;
  if (sim->core.full_stale) eng_evaluate_full(sim, sim->core.t);
  if (!sim->has_pre) save_values(sim);
  for (uint32_t i = 0; i < count; i++) {
    if (sim->fired_switch[i]) {
      eng_fire_switch(sim, sim->fired[i], *iteration);
      stays = false;
      continue;
    }
    const ModelTransition* t = &sim->model->transitions[sim->fired[i]];
    if (t->to != sim->state[t->automaton]) stays = false;
    SLT_TRY(eng_fire_transition(sim, sim->fired[i], *iteration));
  }
  // self loops alone leave the mode as it is: that is no repetition
  if (stays) sim->visited_count = 0;
  return settle(sim, from, first_record, iteration);
}

/// Modes committed one after the other in an instant, with the count of changed values at the time.
typedef struct Path {
  uint64_t mode[16];
  uint64_t changes[16];
  uint32_t count;
} Path;

/// A mode that comes back with nothing changed: the flows on both sides of a surface point at it.
static bool comes_back(Path* path, const EngSim* sim, uint64_t hash) {
  for (uint32_t i = 0; i < path->count; i++) {
    if (path->mode[i] == hash && path->changes[i] == sim->core.changes) return true;
  }
  if (path->count < SLT_COUNT(path->mode)) {
    path->mode[path->count] = hash;
    path->changes[path->count++] = sim->core.changes;
  }
  return false;
}

/// Nothing more follows from the pulses of the committed values: from here on forces are finite,
/// and what they say is asked in a round of its own. (A tip that was stopped by a pulse may be
/// pulled off its floor at once by the rotation it was left with.)
static void pulse_is_over(EngSim* sim) {
  sim->dae.impulsive = false;
  sim->quiet = false;
  eng_atoms_update(sim);
}

static SltStatus run_rounds(EngSim* sim, uint32_t* iteration, bool* any, bool* undecided) {
  Path path;
  path.count = 0;
  sim->quiet = false;
  SLT_TRY(eng_local_rounds(sim, iteration, any));
  uint64_t key = eng_instant_key(sim);
  comes_back(&path, sim, key);
  *undecided = false;
  for (uint32_t round = 0;; round++) {
    bool fired = false;
    if (round > sim->iteration_limit) return iteration_exceeded(sim);
    SLT_TRY(run_round(sim, key, iteration, &fired));
    if (!fired && !sim->dae.impulsive) return SLT_OK;
    if (!fired) {
      pulse_is_over(sim);
      continue;
    }
    *any = true;
    uint64_t before = key;
    key = eng_instant_key(sim);
    if (key == before || !comes_back(&path, sim, key)) continue;
    *undecided = sim->one_by_one || !sim->rejected_together;
    if (*undecided) return SLT_OK;
    // what rejects a mode together may lead past the one that holds, for ever: one after the other
    sim->one_by_one = true;
    path.count = 0;
    comes_back(&path, sim, key);
  }
}

// ---- going on from surfaces ---------------------------------------------------------------------

/// Take over the states in side_work; every change is a record.
static SltStatus move_to_side(EngSim* sim, uint32_t iteration) {
  uint32_t automaton_count = 0;
  const uint32_t* automata = eng_instant_automata(sim, &automaton_count);
  for (uint32_t n = 0; n < automaton_count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (sim->state[a] == sim->side_work[a]) continue;
    eng_trace_flow(sim, a, sim->state[a], sim->side_work[a], iteration);
    enter_state(sim, a, sim->side_work[a]);
  }
  sim->dae.from = sim->core.mode;
  memset(sim->given, 0, sim->model->env_count);
  eng_trace_settling(sim);
  SLT_TRY(eng_enter_mode(sim));
  eng_atoms_update(sim);
  return SLT_OK;
}

/// Rounds, then the question how the flow goes on, until both have nothing more to say.
static SltStatus run_to_rest(EngSim* sim, uint32_t* iteration, bool* any) {
  for (uint32_t turn = 0; turn < sim->iteration_limit; turn++) {
    // where the flows on both sides point at the surface nothing fires: the motion goes along it
    EngSlideVerdict verdict = ENG_SLIDE_NONE;
    SLT_TRY(eng_slide_continue(sim, false, &verdict));
    bool undecided = false;
    bool fired = false;
    SLT_TRY(run_rounds(sim, iteration, &fired, &undecided));
    *any |= fired;
    if (!fired && verdict == ENG_SLIDE_ALONG) return SLT_OK;
    SLT_TRY(eng_slide_continue(sim, true, &verdict));
    if (verdict != ENG_SLIDE_MOVES) {
      bool goes_on = !undecided || verdict == ENG_SLIDE_ALONG || sim->slide_decided;
      return goes_on || eng_dwell_undecided(sim) ? SLT_OK : eng_endless(sim);
    }
    eng_trace_boundary(sim);
    *any = true;
    sim->core.slide.count = 0;
    SLT_TRY(move_to_side(sim, ++*iteration));
  }
  return iteration_exceeded(sim);
}

/// The segment ended because a surface is left.
static SltStatus leave_surface(EngSim* sim, bool* any) {
  sim->core.exit_pending = false;
  *any = true;
  eng_slide_leave(sim, sim->core.exit_surface, sim->core.exit_above);
  return move_to_side(sim, 0);
}

// ---- time events --------------------------------------------------------------------------------

static SltStatus run_schedule(EngSim* sim, uint32_t index, uint32_t* iteration) {
  const ModelSchedule* schedule = &sim->model->schedules[index];
  const ModelMode* from = sim->core.mode;
  eng_begin_settling(sim);
  sim->fired_count = 0;
  uint32_t first_record = eng_trace_count(sim);
  uint32_t record = MODEL_NONE;
  for (uint32_t i = 0; i < schedule->goto_count; i++) {
    uint32_t a = schedule->gotos[i].automaton;
    uint32_t to = schedule->gotos[i].state;
    record = eng_trace_schedule(sim, index, a, sim->state[a], to, *iteration);
    enter_state(sim, a, to);
    const ModelState* state = &sim->model->automata[a].states[to];
    SLT_TRY(queue_group(sim, state->action_begin, state->action_count, record));
  }
  if (record == MODEL_NONE) {
    record = eng_trace_schedule(sim, index, MODEL_NONE, MODEL_NONE, MODEL_NONE, *iteration);
  }
  SLT_TRY(queue_group(sim, schedule->action_begin, schedule->action_count, record));
  if (schedule->stops) {
    sim->core.stop_wanted = true;
    sim->stop_text = schedule->stop_text;
    sim->stop_span = schedule->span;
  }
  return settle(sim, from, first_record, iteration);
}

SltStatus eng_run_due_now(EngSim* sim, bool late, uint32_t* iteration, bool* any) {
  for (uint32_t i = 0; i < sim->due_count; i++) {
    if ((sim->model->schedules[sim->due[i]].priority < 0) != late) continue;
    SLT_TRY(run_schedule(sim, sim->due[i], iteration));
    *any = true;
  }
  return SLT_OK;
}

// ---- the whole instant --------------------------------------------------------------------------

/// Whether the integration must start anew: equations, states or their inputs differ.
bool eng_flow_changed(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (ENG_SELDOM(sim->core.slide.count || sim->was_sliding || sim->core.contact.active))
    return true;
  if (mode->id != sim->core.mode_before->id || mode->state_count == 0) return true;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    if (sim->env[mode->state_env[i]] != sim->before[mode->state_env[i]]) return true;
  }
  const ModelProgram* programs[] = {&mode->rhs, &mode->full, &mode->g_flow, &mode->gdot};
  for (size_t p = 0; p < SLT_COUNT(programs); p++) {
    for (uint32_t i = 0; i < programs[p]->input_count; i++) {
      uint32_t env = programs[p]->inputs[i].env;
      if (env < sim->model->env_count && sim->env[env] != sim->before[env]) return true;
    }
  }
  return false;
}

static SltStatus check_invariants(EngSim* sim) {
  uint32_t a = 0;
  if (invariants_hold(sim, &a)) return SLT_OK;
  const ModelAutomaton* automaton = &sim->model->automata[a];
  const ModelState* state = &automaton->states[sim->state[a]];
  eng_fail(sim, SLT_ERR_INVARIANT, DIAG_E0805, &state->written->invariant_span,
           "at t = %s state '%.*s' of '%.*s' leaves its invariant and no transition is enabled",
           eng_number(sim->core.t).text, STR_ARGS(state->written->name), STR_ARGS(automaton->name));
  eng_hint(sim, "add a state that takes over from '%.*s', or widen the invariant",
           STR_ARGS(state->written->name));
  return sim->error.status;
}

/// The equations with the switches in their present positions, from the given values. `side`: what
/// is solved for begins as it was given (0), or on one of the two sides of zero.
static SltStatus enter_from_start(EngSim* sim, int side) {
  const Model* model = sim->model;
  for (uint32_t v = 0; v < model->var_count; v++) {
    double* value = sim->env + model->vars[v].env;
    for (uint32_t order = 0; order < model->vars[v].slots; order++) {
      if (!isfinite(value[order])) value[order] = 0.0;  // what a failed attempt has left
    }
    // eng_start_values puts the fixed ones back
    bool solved = sim->core.mode->vars[v].role == MODEL_ROLE_ALGEBRAIC;
    if (side && solved) *value = copysign(fmax(fabs(*value), model->vars[v].nominal), side);
  }
  SLT_TRY(eng_start_values(sim));
  for (uint32_t i = 0; side && i < model->start_count; i++) {
    const ModelStart* start = &model->starts[i];
    double* value = sim->env + model->vars[start->var].env;
    if (start->fixed || start->order) continue;
    if (sim->core.mode->vars[start->var].role == MODEL_ROLE_ALGEBRAIC) {
      *value = copysign(fmax(fabs(*value), model->vars[start->var].nominal), side);
    }
  }
  SLT_TRY(eng_enter_mode(sim));
  eng_atoms_update(sim);
  return SLT_OK;
}

static bool is_settled(EngSim* sim) {
  if (sim->dae.failed != MODEL_NONE || sim->dae.contradicts) return false;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (sim->model->automata[a].kind != MODEL_AUTOMATON_SWITCH) continue;
    if (eng_automaton_active(sim, a) && eng_switch_flips(sim, a)) return false;
  }
  return true;
}

static void turn_switches(EngSim* sim, const uint32_t* switches, uint32_t count, uint32_t mask) {
  for (uint32_t i = 0; i < count; i++) {
    if (!(mask >> i & 1u)) continue;
    sim->state[switches[i]] = 1 - sim->state[switches[i]];
    eng_publish_state(sim, switches[i], sim->core.t);
  }
}

static uint32_t count_bits(uint32_t mask) {
  uint32_t count = 0;
  for (; mask; mask &= mask - 1u) {
    count++;
  }
  return count;
}

#define POSITIONS_MAX 6u  // switches whose positions are tried in all combinations

/// Equations that have no solution with the switches as the guesses put them (`q*abs(q) = p` from q
/// = 0 with p < 0) may have one with others: a few are tried, the fewest turned first. All is as it
/// was when none fits.
static SltStatus try_positions(EngSim* sim) {
  uint32_t switches[POSITIONS_MAX];
  uint32_t count = 0;
  for (uint32_t a = 0; a < sim->model->automaton_count && count < POSITIONS_MAX; a++) {
    bool turns = sim->model->automata[a].kind == MODEL_AUTOMATON_SWITCH;
    if (turns && eng_automaton_active(sim, a)) switches[count++] = a;
  }
  EngError before = sim->error;
  uint32_t now = 0;  // those that are turned
  for (uint32_t turned = 1; turned <= count; turned++) {
    for (uint32_t mask = 1; mask < 1u << count; mask++) {
      if (count_bits(mask) != turned) continue;
      turn_switches(sim, switches, count, now ^ mask);
      now = mask;
      for (int attempt = 0; attempt < 3; attempt++) {
        static const int sides[] = {0, -1, 1};
        SltStatus status = enter_from_start(sim, sides[attempt]);
        sim->error = before;
        if (status == SLT_ERR_NOMEM) return status;
        if (status >= 0 && is_settled(sim)) return SLT_OK;
      }
    }
  }
  turn_switches(sim, switches, count, now);
  return enter_from_start(sim, 0);
}

/// Switches take the position that the initial values ask for, without records.
static SltStatus follow_initial_switches(EngSim* sim) {
  sim->visited_count = 0;
  sim->group_count = 0;
  for (;;) {
    bool flipped = false;
    for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
      if (sim->model->automata[a].kind != MODEL_AUTOMATON_SWITCH) continue;
      if (!eng_automaton_active(sim, a) || !eng_switch_flips(sim, a)) continue;
      sim->state[a] = 1 - sim->state[a];
      eng_publish_state(sim, a, sim->core.t);
      flipped = true;
    }
    // a position that comes back is one between two flows: that is decided later
    if (!flipped || eng_visited_before(sim)) return SLT_OK;
    // the mode tried first may have computed what is a state in this one
    SLT_TRY(enter_from_start(sim, 0));
  }
}

SltStatus eng_settle_initial_switches(EngSim* sim) {
  SLT_TRY(follow_initial_switches(sim));
  bool fails = sim->dae.failed != MODEL_NONE || sim->dae.contradicts;
  return fails ? try_positions(sim) : SLT_OK;
}

/// The model has a state for what comes after infinitely many events: enter it.
static SltStatus take_zeno_exit(EngSim* sim) {
  uint32_t iteration = eng_trace_count(sim);
  bool any = false;
  SltStatus status = run_to_rest(sim, &iteration, &any);
  sim->zeno_automaton = MODEL_NONE;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    sim->transitions[i].fired_now = false;
    sim->transitions[i].exits = false;
  }
  return status;
}

/// What was before the start follows from the values at the start, which may be read from it: a
/// chain of delays takes a turn each.
static SltStatus settle_past(EngSim* sim) {
  for (uint32_t turn = 0; turn <= sim->model->delay_count + 1; turn++) {
    if (!eng_past_update_start(sim)) return SLT_OK;
    SLT_TRY(eng_start_values(sim));
    SLT_TRY(eng_enter_mode(sim));
    eng_atoms_update(sim);
    SLT_TRY(eng_settle_initial_switches(sim));
  }
  return eng_past_circular(sim);
}

/// Values that a delay has held back.
static SltStatus take_arrivals(EngSim* sim, bool* any) {
  sim->past_arrived = eng_past_arrive(sim, sim->core.t, any);
  if (!sim->past_arrived) return SLT_OK;
  sim->dae.from = sim->core.mode;
  memset(sim->given, 0, sim->model->env_count);
  sim->core.changes++;
  return SLT_OK;
}

static SltStatus carry_out(EngSim* sim, EngInstantKind kind, bool* any) {
  uint32_t iteration = 0;
  if (sim->has_pre) save_values(sim);
  if (kind == ENG_INSTANT_EVENT) {
    eng_bind_states(sim);
  } else {
    eng_bind(sim);
  }
  if (kind == ENG_INSTANT_EVENT) eng_narrow_begin(sim);
  // in a narrow one they are saved before something fires
  if (!sim->has_pre && !sim->narrow) save_values(sim);
  eng_atoms_begin_instant(sim);
  eng_zeno_foresee(sim);
  SLT_TRY(take_arrivals(sim, any));
  if (kind == ENG_INSTANT_INITIAL) {
    for (uint32_t i = 0; i < sim->model->atom_count; i++) {
      sim->atoms[i].relevant_start = false;
      sim->atoms[i].fresh = true;
      sim->atoms[i].g_start = (double)NAN;
    }
    eng_atoms_update(sim);
    SLT_TRY(eng_settle_initial_switches(sim));
    SLT_TRY(settle_past(sim));
    sim->dae.tentative = false;
    if (sim->dae.contradicts) {
      SLT_TRY(eng_start_values(sim));
      SLT_TRY(eng_enter_mode(sim));
    }
    sim->dae.initial = false;
    eng_trace_mark(sim, SLT_EVENT_INITIAL, NULL, (Str){NULL, 0});
  }
  if (ENG_SELDOM(sim->core.exit_pending)) {
    SLT_TRY(leave_surface(sim, any));
  } else if (kind == ENG_INSTANT_INITIAL) {
    sim->core.slide.count = 0;
    eng_atoms_update(sim);
  } else if (ENG_SELDOM(sim->past_arrived)) {
    sim->core.slide.count = 0;
    SLT_TRY(eng_enter_mode(sim));
    eng_atoms_update(sim);
  } else {
    sim->core.slide.count = 0;
    eng_atoms_judge(sim);
  }
  sim->one_by_one = false;
  sim->rejected_together = false;
  SLT_TRY(eng_run_due(sim, false, &iteration, any));
  SLT_TRY(run_to_rest(sim, &iteration, any));
  bool late = false;
  SLT_TRY(eng_run_due(sim, true, &iteration, &late));
  if (late) {
    *any = true;
    SLT_TRY(run_to_rest(sim, &iteration, any));
  }
  return check_invariants(sim);
}

/// Records for the surfaces that are slid along now and were not, and the other way round.
static void trace_sliding(EngSim* sim, bool* fired) {
  bool leads = false;
  if (!sim->was_sliding && !sim->core.slide.count) return;
  uint32_t count = 0;
  const uint32_t* atoms = eng_instant_atoms(sim, &count);
  if (!sim->narrow) count = sim->model->atom_count;
  for (uint32_t n = 0; n < count; n++) {
    uint32_t i = sim->narrow ? sim->core.mode->atoms[atoms[n]] : n;
    if (!sim->atoms[i].led || eng_slides_along(sim, i, &leads)) continue;
    eng_trace_slide(sim, SLT_EVENT_SLIDE_OUT, i);
    *fired = true;
  }
  for (uint32_t n = 0; n < count; n++) {
    uint32_t i = sim->narrow ? sim->core.mode->atoms[atoms[n]] : n;
    if (!eng_slides_along(sim, i, &leads) || !leads || sim->atoms[i].slid) continue;
    eng_trace_slide(sim, SLT_EVENT_SLIDE_IN, i);
    *fired = true;
  }
  if (!sim->core.slide.count) return;
  if (eng_narrow_unseen(sim)) {
    sim->core.full_stale = true;
    return;
  }
  eng_evaluate_full(sim, sim->core.t);
  eng_trace_equivalents(sim);
}

static void mark_sliding(EngSim* sim) {
  sim->loose_stale = true;
  if (ENG_SELDOM(sim->core.contact.active)) {
    for (uint32_t i = 0; i < sim->model->atom_count; i++) {
      if (sim->atoms[i].rides) sim->atoms[i].sliding = true;
    }
  }
  if (!sim->core.slide.count) return;
  uint32_t count = 0;
  const uint32_t* atoms = eng_instant_atoms(sim, &count);
  if (!sim->narrow) count = sim->model->atom_count;
  for (uint32_t n = 0; n < count; n++) {
    uint32_t i = sim->narrow ? sim->core.mode->atoms[atoms[n]] : n;
    bool leads = false;
    if (!eng_slides_along(sim, i, &leads)) continue;
    sim->atoms[i].sliding = true;
    sim->atoms[i].leads = leads;
  }
}

/// Contacts that are closed after this instant, and the values with their reactions.
static SltStatus settle_contacts(EngSim* sim, bool* changed) {
  eng_widen(sim);
  SLT_TRY(eng_contact_settle(sim, changed));
  SLT_TRY(eng_zeno_conclude(sim));
  sim->core.contact.active = sim->core.contact.count > 0;
  eng_bind(sim);
  if (sim->core.contact.active) SLT_TRY(eng_contact_rebind(sim));
  eng_evaluate_full(sim, sim->core.t);
  return SLT_OK;
}

SltStatus eng_instant(EngSim* sim, EngInstantKind kind, bool* changed, bool* fired) {
  if (sim->options.method->literal) return eng_mosterman_instant(sim, kind, changed, fired);
  sim->core.local_automaton = MODEL_NONE;
  sim->narrow = false;
  // constants are there since the start
  uint32_t first = kind == ENG_INSTANT_INITIAL ? 0 : sim->moving;
  memcpy(sim->before + first, sim->env + first, (sim->model->env_count - first) * sizeof(double));
  memcpy(sim->state_before, sim->state, sim->model->automaton_count * sizeof *sim->state);
  sim->core.mode_before = sim->core.mode;
  sim->core.stop_wanted = false;
  *fired = false;
  eng_trace_begin(sim);
  eng_dwell_release(sim);
  eng_audit_begin(sim, kind == ENG_INSTANT_INITIAL);
  sim->in_instant = true;
  sim->was_sliding = sim->core.slide.count > 0;
  bool released = sim->core.contact.active;
  sim->contact_holds = released;
  sim->core.contact.active = false;
  if (ENG_SELDOM(released)) eng_contact_begin_instant(sim, kind == ENG_INSTANT_INPUT);
  SltStatus status = carry_out(sim, kind, fired);
  if (status >= 0 && sim->dae.impulsive) {
    // the pulse is over: what is latched holds after it
    sim->dae.impulsive = false;
    eng_atoms_update(sim);
  }
  if (status >= 0) trace_sliding(sim, fired);
  EngZenoVerdict zeno = ENG_ZENO_NONE;
  if (status >= 0) status = eng_zeno_check(sim, &zeno);
  if (zeno != ENG_ZENO_NONE) eng_widen(sim);
  if (status >= 0 && zeno == ENG_ZENO_EXIT) status = take_zeno_exit(sim);
  bool dwells = false;
  if (status >= 0) status = eng_dwell_check(sim, &dwells);
  bool regrouped = false;
  bool settles = sim->core.contact.count > 0 || sim->accumulating != MODEL_NONE;
  if (ENG_SELDOM(status >= 0 && settles)) status = settle_contacts(sim, &regrouped);
  *fired |= regrouped;
  if (status >= 0) {
    eng_atoms_end_instant(sim);
    mark_sliding(sim);
    eng_edges_latch(sim);
    eng_schedule_linear(sim);
    sim->core.mesh_t = sim->core.t;
    *changed = dwells || regrouped || sim->past_arrived || eng_flow_changed(sim);
    eng_past_instant(sim, *changed);
    if (ENG_SELDOM(sim->core.stop_wanted)) {
      eng_trace_mark(sim, SLT_EVENT_STOP, &sim->stop_span, sim->stop_text);
      sim->core.ended = true;
    }
  }
  eng_narrow_end(sim);
  sim->in_instant = false;
  sim->contact_holds = false;
  if (*fired) sim->core.instants++;
  if (status >= 0) eng_audit_end(sim, kind == ENG_INSTANT_INITIAL);
  eng_trace_end(sim);
  sim->due_count = 0;
  sim->crossing_count = 0;
  return status;
}

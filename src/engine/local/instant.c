// SPDX-License-Identifier: MIT
//
// The instant at a crossing that concerns few, on a trial that stays valid for all others. Its
// rounds are those of events/active.c. What differs is where values come from: states are on the
// dense output of the trial, and come into the environment one by one when somebody asks.
//
// Where the rounds meet something that is not plain (a truth at its boundary, values that many
// read, another automaton) the instant is taken back, and carried out on all states instead.
#include "engine/local/parts.h"

#include <math.h>
#include <string.h>

void local_set_env(EngSim* sim, uint32_t env, double value) {
  sim->env[env] = value;
  local_patch(sim, env);
}

// ---- values from the trial ----------------------------------------------------------------------

static double present_state(const void* user, uint32_t state) {
  const EngSim* sim = user;
  if (!sim->local->now.apart) return sim->x[state];
  LocalPoint point = {sim, sim->core.t, sim->local->x};
  return local_point_state(&point, state);
}

void local_fetch(EngSim* sim, uint32_t env) {
  if (!sim->local->now.apart) return;
  uint32_t state = sim->local->index.state_of_env[env];
  if (state != MODEL_NONE) sim->env[env] = present_state(sim, state);
}

bool local_present_value(EngSim* sim, uint32_t id) {
  double t = sim->core.t;
  sim->detect.g_epoch = 0;
  return eng_output(sim, ENG_SINGLE_G, t, present_state, sim, id, &sim->detect.g[id]) &&
         eng_output(sim, ENG_SINGLE_SLOPE, t, present_state, sim, id, &sim->detect.gdot[id]);
}

/// The states that an event indicator reads, for its bounds.
static void fetch_reads(EngSim* sim, uint32_t id) {
  const BaseLists* reads = &sim->local->index.reads;
  for (uint32_t k = reads->begin[id]; k < reads->begin[id + 1]; k++) {
    sim->x[reads->list[k]] = present_state(sim, reads->list[k]);
  }
}

/// Whether the instant has changed nothing that a relation reads.
static bool reads_the_same(const EngSim* sim, uint32_t id) {
  const LocalInstant* now = &sim->local->now;
  const ModelAtom* atom = &sim->model->atoms[id];
  for (uint32_t k = 0; k < atom->read_count; k++) {
    uint32_t env = sim->model->vars[atom->reads[k].var].env + atom->reads[k].order;
    if (sim->values.computed[env]) return false;
    for (uint32_t i = 0; i < now->change_count; i++) {
      if (now->changes[i].env == env && now->changes[i].before != sim->env[env]) return false;
    }
  }
  return true;
}

bool local_tells_truth(EngSim* sim, uint32_t id) {
  EngAtom* atom = &sim->atoms[id];
  if (!sim->local->now.apart) return true;
  if (isnan(atom->g_start) && reads_the_same(sim, id)) {
    atom->g_start = sim->detect.g[id];
    atom->gdot = sim->detect.gdot[id];
  }
  if (atom->literal) return !sim->detect.has_pre;
  if (atom->relation == MODEL_REL_EQ) return false;
  if (eng_at_boundary(sim, id, sim->detect.g[id])) {
    bool unchanged = atom->located && sim->core.changes == sim->instant.changes_start;
    return (unchanged && !atom->kind.separates) || eng_slope_decides(sim, id);
  }
  if (!atom->fresh || !(sim->detect.g[id] > 0.0)) return true;
  fetch_reads(sim, id);
  return sim->detect.g[id] > eng_sigma(sim, id);
}

// ---- what takes part ----------------------------------------------------------------------------

bool local_add_state(EngSim* sim, uint32_t state) {
  struct EngLocal* local = sim->local;
  if (!local->now.apart) return true;
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (local->states[k] == state) return true;
  }
  if (local->state_count == LOCAL_STATES || local_is_held(sim, state)) return false;
  local->x[local->state_count] = present_state(sim, state);
  local->states[local->state_count++] = state;
  return !(local->index.wide[sim->model->env_count + state] & 2);
}

void local_set_state(EngSim* sim, uint32_t state, double value) {
  struct EngLocal* local = sim->local;
  if (!local->now.apart) sim->x[state] = value;
  for (uint32_t k = 0; local->now.apart && k < local->state_count; k++) {
    if (local->states[k] == state) local->x[k] = value;
  }
}

bool local_keep_atom(EngSim* sim, uint32_t id) {
  LocalInstant* now = &sim->local->now;
  if (!now->apart) return true;
  for (uint32_t k = 0; k < now->kept_count; k++) {
    if (now->kept[k].id == id) return true;
  }
  if (now->kept_count == LOCAL_ATOMS || sim->local->held.atoms[id]) return false;
  LocalKept* kept = &now->kept[now->kept_count++];
  kept->id = id;
  kept->live = sim->active.live[id];
  kept->atom = sim->atoms[id];
  eng_atom_begin_instant(sim, id);
  return true;
}

/// The event indicator takes part, with its value at the present time.
static bool bring_atom(EngSim* sim, uint32_t id) {
  uint32_t known = sim->local->now.kept_count;
  if (!local_keep_atom(sim, id)) return false;
  if (sim->local->now.kept_count == known) return true;
  if (!local_present_value(sim, id)) return false;
  EngAtom* atom = &sim->atoms[id];
  atom->end_known = false;
  if (eng_atom_mesh(sim, id)) local_patch(sim, atom->env);
  atom->g_start = sim->detect.g[id];
  return true;
}

static bool bring_guard(EngSim* sim, const ModelGuard* guard) {
  bool brought = true;
  for (uint32_t k = 0; brought && k < guard->atom_count; k++) {
    brought = bring_atom(sim, guard->atoms[k]);
  }
  return brought;
}

bool local_widen(EngSim* sim, uint32_t state) {
  const BaseLists* atoms = &sim->local->index.atoms;
  uint32_t key = sim->model->env_count + state;
  if (!local_add_state(sim, state)) return false;
  for (uint32_t i = atoms->begin[key]; i < atoms->begin[key + 1]; i++) {
    if (sim->active.live[atoms->list[i]] && !bring_atom(sim, atoms->list[i])) return false;
  }
  return true;
}

bool local_bring_guards(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  if (!sim->local->now.apart) return true;
  if (a->condition) return bring_guard(sim, a->condition);
  const ModelState* state = &a->states[sim->state[automaton]];
  bool brought = true;
  for (uint32_t i = 0; brought && i < state->outgoing_count; i++) {
    brought = bring_guard(sim, &sim->model->transitions[state->outgoing[i]].guard);
  }
  return brought;
}

bool local_note_change(EngSim* sim, uint32_t env) {
  LocalInstant* now = &sim->local->now;
  if (!now->apart || env == MODEL_NONE) return true;
  for (uint32_t i = 0; i < now->change_count; i++) {
    if (now->changes[i].env == env) return true;
  }
  if (now->change_count == LOCAL_WRITES) return false;
  double value = sim->env[env];
  now->changes[now->change_count++] = (LocalChange){env, value, value, value};
  return true;
}

bool local_sees_change(EngSim* sim, uint32_t env) {
  LocalInstant* now = &sim->local->now;
  if (!now->apart) return true;
  LocalChange* change = now->changes;
  while (change->env != env) {
    change++;
  }
  if (change->seen == sim->env[env]) return false;
  change->seen = sim->env[env];
  return true;
}

/// The automaton is about to leave its state.
static bool note_leaving(EngSim* sim, uint32_t automaton) {
  LocalInstant* now = &sim->local->now;
  uint32_t from = sim->state[automaton];
  const ModelState* left = &sim->model->automata[automaton].states[from];
  for (uint32_t k = 0; k < now->moved_count; k++) {
    if (now->moved[k].automaton == automaton) return true;
  }
  if (now->moved_count == ENG_LOCAL_MOVED || left->outgoing_count > LOCAL_EDGES) return false;
  LocalMoved* moved = &now->moved[now->moved_count++];
  moved->automaton = automaton;
  moved->from = from;
  for (uint32_t i = 0; i < left->outgoing_count; i++) {
    moved->edges[i] = sim->instant.transitions[left->outgoing[i]];
  }
  return true;
}

bool local_note_flip(EngSim* sim, uint32_t automaton) {
  return !eng_chatter_is_suspect(sim, automaton) && note_leaving(sim, automaton);
}

bool local_note_firing(EngSim* sim, uint32_t transition) {
  LocalInstant* now = &sim->local->now;
  if (!now->apart) return true;
  if (now->fired_count == LOCAL_ROUNDS || eng_zeno_is_suspect(sim, transition)) return false;
  now->fired[now->fired_count++] = transition;
  return note_leaving(sim, sim->model->transitions[transition].automaton);
}

// ---- begin and end ------------------------------------------------------------------------------

static void begin_instant(EngSim* sim) {
  EngCore* core = &sim->core;
  LocalInstant* now = &sim->local->now;
  sim->local->shares = false;
  sim->local->state_count = 0;
  now->apart = true;
  now->moved_count = 0;
  now->switch_count = 0;
  now->fired_count = 0;
  now->change_count = 0;
  now->kept_count = 0;
  now->random = core->random;
  now->changes_before = core->changes;
  sim->instant.at_start = false;
  sim->instant.changes_start = core->changes;
  sim->instant.impulses = 0;
  core->mode_before = core->mode;
  events_begin(sim);
  eng_trace_begin(sim);
}

/// Whether the flow goes on over the boundary that was reached, if it depends on which side it is.
static bool is_crossed(EngSim* sim, uint32_t id) {
  if (!sim->active.live[id] || !sim->atoms[id].kind.separates) return true;
  if (!local_present_value(sim, id)) return false;
  return !eng_at_boundary(sim, id, sim->detect.g[id]) || eng_slope_decides(sim, id);
}

/// The crossings are carried out; false: not in this way.
static bool run_rounds(EngSim* sim) {
  const uint32_t* owner = sim->local->index.owner;
  uint32_t iteration = 0;
  bool fired = false;
  bool plain = true;
  bool back = false;
  events_enabled_clear(sim);
  base_keys_clear(&sim->events.path);
  if (events_comes_back(sim, &back) < 0) return false;
  uint32_t due = 0;
  if (local_run_due(sim, &due, &iteration, &plain) < 0 || due < sim->events.due_count) return false;
  fired = due > 0;
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* crossing = &sim->detect.crossings[i];
    EngAtom* atom = &sim->atoms[crossing->index];
    if (!local_bring_guards(sim, owner[crossing->index])) return false;
    atom->located = true;
    atom->located_truth = crossing->rising;
    atom->truth = crossing->rising;
    local_set_env(sim, atom->env, eng_atom_shows(atom));
    if (!local_ask(sim, owner[crossing->index])) return false;
  }
  SltStatus status = local_run_rounds(sim, &iteration, &fired, &plain, &back);
  for (uint32_t i = 0; plain && i < sim->local->now.fired_count; i++) {
    plain = !eng_zeno_is_slow(sim, sim->local->now.fired[i]);
  }
  for (uint32_t i = 0; plain && i < sim->detect.crossing_count; i++) {
    plain = is_crossed(sim, sim->detect.crossings[i].index);
  }
  return status >= 0 && fired && plain && !back;
}

/// Nothing has happened.
static void take_back(EngSim* sim) {
  LocalInstant* now = &sim->local->now;
  now->apart = false;
  for (uint32_t i = 0; i < now->change_count; i++) {
    local_set_env(sim, now->changes[i].env, now->changes[i].before);
  }
  for (uint32_t k = 0; k < now->kept_count; k++) {
    const LocalKept* kept = &now->kept[k];
    sim->atoms[kept->id] = kept->atom;
    sim->active.live[kept->id] = kept->live;
    local_set_env(sim, kept->atom.env, kept->atom.truth ? 1.0 : 0.0);
  }
  for (uint32_t i = 0; i < now->fired_count; i++) {
    sim->instant.transitions[now->fired[i]].fired_now = false;
  }
  sim->core.random = now->random;
  sim->core.changes = now->changes_before;
  for (uint32_t k = 0; k < now->moved_count; k++) {
    const LocalMoved* moved = &now->moved[k];
    sim->state[moved->automaton] = moved->from;
    sim->programs.entered_state[moved->automaton] = moved->from;
    const ModelState* state = &sim->model->automata[moved->automaton].states[moved->from];
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      sim->instant.transitions[state->outgoing[i]] = moved->edges[i];
    }
  }
}

/// The trial ends here: all values and all event indicators as of now.
static void bring_all(EngSim* sim) {
  const struct EngLocal* local = sim->local;
  EngCore* core = &sim->core;
  eng_local_settle_active(sim);
  for (uint32_t i = 0; i < sim->active.indicator_count; i++) {
    sim->atoms[core->mode->atoms[sim->active.indicators[i]]].end_known = false;
  }
  eng_sample(sim, core->t);
  for (uint32_t k = 0; k < local->state_count; k++) {
    sim->x[local->states[k]] = local->x[k];
    sim->env[core->mode->state_env[local->states[k]]] = local->x[k];
  }
  core->full_stale = true;  // rates and what is computed are those before the event
  eng_atoms_mesh(sim);
  core->mesh_t = core->t;
  core->local.running = false;
}

/// Those that took part, as every instant leaves them.
static void end_atoms(EngSim* sim) {
  const LocalInstant* now = &sim->local->now;
  for (uint32_t k = 0; k < now->kept_count; k++) {
    uint32_t id = now->kept[k].id;
    EngAtom* atom = &sim->atoms[id];
    if (sim->active.live[id]) eng_atom_end_instant(sim, id);
    atom->located = false;
    atom->t_linear = (double)INFINITY;
    atom->end_known = false;
    atom->relevant_start = sim->active.live[id];
    sim->waiting.waits[id] = 0;
  }
}

/// When the relation will cross, if it is linear in time.
static void schedule(EngSim* sim, uint32_t id) {
  double g_zero = 0.0;
  if (eng_may_be_linear(sim, id) &&
      eng_output(sim, ENG_SINGLE_G, 0.0, present_state, sim, id, &g_zero)) {
    eng_schedule_time(sim, id, g_zero);
  }
}

/// Their next crossings on the trial.
static void follow_atoms(EngSim* sim) {
  const LocalInstant* now = &sim->local->now;
  for (uint32_t k = 0; k < now->kept_count; k++) {
    uint32_t id = now->kept[k].id;
    EngCrossing crossing;
    if (!sim->active.live[id] || !eng_is_followed(sim, id)) continue;
    local_come_near(sim, id);
    schedule(sim, id);
    if (!local_watch(sim, id, sim->core.t, &crossing)) continue;
    if (!crossing.certified) sim->core.local.doubt = true;
    local_wait_for(sim, &crossing);
  }
  local_follow_imminent(sim);
}

/// The motion from here on, and what was proved of it.
static void replace_motion(EngSim* sim) {
  const struct EngLocal* local = sim->local;
  if (local->restart) bring_all(sim);
  local_share(sim);
  if (local->restart) return;
  for (uint32_t k = 0; k < local->state_count; k++) {
    num_dense_replace(sim->stepper, local->states[k], local->part, k);
    eng_control_state(sim, local->states[k]);
  }
  follow_atoms(sim);
}

static void end_instant(EngSim* sim) {
  EngCore* core = &sim->core;
  LocalInstant* now = &sim->local->now;
  for (uint32_t i = 0; i < now->change_count; i++) {
    now->changes[i].after = sim->env[now->changes[i].env];
  }
  while (core->local.moved_count > 0) {
    uint32_t a = core->local.moved[--core->local.moved_count];
    sim->values.state_before[a] = sim->state[a];
  }
  for (uint32_t k = 0; k < now->moved_count; k++) {
    core->local.moved[core->local.moved_count++] = now->moved[k].automaton;
    sim->values.state_before[now->moved[k].automaton] = now->moved[k].from;
  }
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    if (sim->detect.crossings[i].bend > 0.0) fetch_reads(sim, sim->detect.crossings[i].index);
  }
  eng_warn_of_grazing(sim);
  end_atoms(sim);
  now->apart = false;
  sim->detect.g_epoch = 0;  // the trial ends elsewhere
  core->local.behind = eng_is_held(sim);
  replace_motion(sim);
  for (uint32_t k = 0; k < now->moved_count; k++) {
    events_latch_edges(sim, now->moved[k].automaton, true);
    eng_chatter_note(sim, now->moved[k].automaton);
  }
  for (uint32_t i = 0; i < now->fired_count; i++) {
    sim->instant.transitions[now->fired[i]].fired_now = false;
    eng_zeno_note(sim, now->fired[i]);
  }
  core->counts.instants++;
  core->local.spacing += 0.1 * (core->t - core->local.t - core->local.spacing);
  core->local.t = core->t;
  sim->values.sampled = false;
  core->local.stale = true;
  // records in which no automaton moves tell of computed values too
  bool recorded = sim->report.to.on_event && core->local.moved_count == 0;
  if (recorded && !sim->programs.only_states) eng_local_refresh(sim);
  eng_trace_end(sim);
  sim->detect.crossing_count = 0;
  sim->events.due_count = 0;
}

bool eng_local_event_slow(EngSim* sim, bool* restart) {
  if (!local_take_crossings(sim)) return false;
  begin_instant(sim);
  if (!run_rounds(sim)) {
    local_return_crossings(sim);
    take_back(sim);
    return false;
  }
  sim->local->restart = !local_integrate(sim);
  *restart = sim->local->restart;
  end_instant(sim);
  return true;
}

// ---- values when somebody asks ------------------------------------------------------------------

bool eng_kept_value(const EngSim* sim, uint32_t env, bool before, double* value) {
  const struct EngLocal* local = sim->local;
  if (!sim->core.local.stale || sim->values.computed[env]) return false;
  for (uint32_t i = 0; i < local->now.change_count; i++) {
    const LocalChange* c = &local->now.changes[i];
    if (c->env != env) continue;
    *value = before ? c->before : c->after;
    return true;
  }
  uint32_t state = local->index.state_of_env[env];
  bool moves = state != MODEL_NONE;
  *value = moves ? num_dense_component(sim->stepper, state, sim->core.t) : sim->env[env];
  return true;
}

void eng_local_refresh(EngSim* sim) {
  EngCore* core = &sim->core;
  if (!core->local.stale) return;
  core->local.stale = false;
  if (core->local.behind) eng_local_rejoin_slow(sim);
  struct EngLocal* local = sim->local;
  // values before the event, then those after it; resets are exact
  num_dense_eval(sim->stepper, core->t, sim->x);
  for (int side = 0; side < 2; side++) {
    eng_place_states(sim, sim->x);
    for (uint32_t i = 0; i < local->now.change_count; i++) {
      const LocalChange* c = &local->now.changes[i];
      uint32_t state = local->index.state_of_env[c->env];
      local_set_env(sim, c->env, side ? c->after : c->before);
      if (state != MODEL_NONE) sim->x[state] = side ? c->after : c->before;
    }
    eng_evaluate_full(sim, core->t);
    if (side == 0) memcpy(sim->values.before, sim->env, sim->model->env_count * sizeof(double));
  }
}

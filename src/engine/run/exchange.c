// SPDX-License-Identifier: MIT
//
// Motion that somebody else integrates: points come from outside, and this side tells rates, event
// indicators and, when asked, carries out the instant. What an indicator is follows from the truth
// and arming of its relation (atoms.c), which change at instants and at the ends of steps alone.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>

#define CLEAR_ROOMS      8.0    // distances after which a relation is clear of its last crossing
#define LOCATED          128.0  // roundings of the time that integrators locate events to
#define UNKNOWN_ACCURACY 1e-4   // of an integrator that does not tell its tolerance
#define LEAVES_MAX       1000   // instants at one time that relations leave their boundaries in

/// Indicators behind those of the relations.
enum { FROM_SURFACES, FROM_CONTACTS, EXTRA_INDICATORS };

SltStatus eng_exchange_begin(EngSim* sim, double accuracy) {
  EngCore* core = &sim->core;
  if (!core->started || core->failed) return SLT_ERR_ARGUMENT;
  if (sim->history.delays) return SLT_ERR_UNSUPPORTED;
  core->segment.valid = false;
  core->segment.trial_pending = false;
  sim->contact.accuracy = accuracy > 0.0 ? accuracy : UNKNOWN_ACCURACY;
  return SLT_OK;
}

uint32_t eng_exchange_indicator_count(const EngSim* sim) {
  return sim->model->atom_count + EXTRA_INDICATORS;
}

// ---- points -------------------------------------------------------------------------------------

void eng_exchange_value(EngSim* sim, uint32_t var, uint32_t order, double value) {
  const ModelVarMode* mode = &sim->core.mode->vars[var];
  if (mode->role != MODEL_ROLE_STATE || order >= mode->state_order) return;
  sim->env[sim->model->vars[var].env + order] = value;
}

void eng_exchange_point(EngSim* sim, double t) {
  sim->core.t = t;
  sim->core.full_stale = true;
  sim->values.sampled = false;
  eng_bind_states(sim);
}

SltStatus eng_exchange_input(EngSim* sim, uint32_t var, double value) {
  uint8_t role = sim->core.mode->vars[var].role;
  if (role != MODEL_ROLE_DISCRETE && role != MODEL_ROLE_UNDETERMINED) return SLT_ERR_ARGUMENT;
  sim->env[sim->model->vars[var].env] = value;
  sim->core.full_stale = true;
  eng_bind(sim);
  return SLT_OK;
}

SltStatus eng_exchange_rates(EngSim* sim) {
  // whoever integrates looks for the boundary by passing it
  bool unilateral = sim->detect.has_unilateral;
  sim->detect.has_unilateral = false;
  SltStatus status = eng_rhs(sim, sim->core.t, sim->x, sim->values.tangent);
  sim->detect.has_unilateral = unilateral;
  if (status < 0) return status;
  return eng_all_finite(sim->values.tangent, sim->core.mode->state_count) ? SLT_OK
                                                                          : SLT_ERR_NOT_FINITE;
}

double eng_exchange_rate(const EngSim* sim, uint32_t var, uint32_t order) {
  uint32_t place = eng_state_place(sim, sim->model->vars[var].env + order);
  return place == MODEL_NONE ? 0.0 : sim->values.tangent[place];
}

// ---- indicators ---------------------------------------------------------------------------------

/// Whether g of a relation says something while time flows. Those that read no state may read an
/// input.
static bool is_watched(const EngSim* sim, uint32_t id) {
  const EngAtom* atom = &sim->atoms[id];
  if (sim->model->atoms[id].type == MODEL_ATOM_NOEVENT) return false;
  return !atom->kind.pulse && !atom->kind.constant && !atom->sliding;
}

/// A relation that stands at its boundary since its last event, or was latched against its sign
/// there, is kept on its side by a few roundings, for as long as its slope needs to take it there.
/// (A flight may be over within one step, at whose end nothing is to be left of them.)
static double indicator_of(const EngSim* sim, const EngAtom* atom, double g) {
  bool side = atom->truth;
  if (atom->armed && (atom->g > 0.0) == side) return g;
  double room = atom->zone + 2.0 * fabs(atom->g) + DBL_MIN;
  double away = side ? atom->gdot : -atom->gdot;
  if (away > 0.0) room = fmax(room - (sim->core.t - sim->core.mesh_t) * away / CLEAR_ROOMS, 0.0);
  return side ? g + room : g - room;
}

/// How far the motion along surfaces is from leaving one of them, as a share of its sides.
static double surface_indicator(EngSim* sim) {
  EngCore* core = &sim->core;
  double* share = sim->detect.end_gdot;  // belongs to trials, which there are none of
  double least = 1.0;
  if (!core->slide.count || !eng_slide_coefficients(sim, share)) return least;
  for (uint32_t k = 0; k < core->slide.count; k++) {
    double inside = fmin(share[k], 1.0 - share[k]);
    if (inside >= least) continue;
    least = inside;
    core->exit.surface = k;
    core->exit.above = share[k] > 0.5;
  }
  return least;
}

static double contact_indicator(EngSim* sim) {
  return sim->core.contact.active ? -eng_contact_end(sim, sim->core.t, sim->x) : 1.0;
}

void eng_exchange_indicators(EngSim* sim, double* z) {
  const ModelMode* mode = sim->core.mode;
  uint32_t count = sim->model->atom_count;
  for (uint32_t i = 0; i < count + EXTRA_INDICATORS; i++)
    z[i] = 1.0;
  if (sim->active.indicator_count) eng_evaluate_g(sim, sim->core.t, false);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    uint32_t id = mode->atoms[i];
    if (is_watched(sim, id)) z[id] = indicator_of(sim, &sim->atoms[id], sim->detect.g[i]);
  }
  z[count + FROM_SURFACES] = surface_indicator(sim);
  z[count + FROM_CONTACTS] = contact_indicator(sim);
}

// ---- events -------------------------------------------------------------------------------------

/// Whether an indicator is about to leave its side, within what whoever located it may have left.
static bool is_about_to(const EngSim* sim, double z, bool side, double slope) {
  double t = sim->core.t;
  double span = LOCATED * DBL_EPSILON * fmax(fabs(t), t - sim->core.mesh_t);
  return (side ? slope < 0.0 : slope > 0.0) && fabs(z) <= span * fabs(slope);
}

/// The crossings at the point: relations whose indicators have changed, and those in time alone
/// that are due. Nobody has proved that they are the first. `asked`: somebody says that there is an
/// event here, and may stand on the boundary itself or a few roundings before it.
static void find_crossings(EngSim* sim, bool asked) {
  const ModelMode* mode = sim->core.mode;
  double t = sim->core.t;
  sim->detect.crossing_count = 0;
  if (!sim->active.indicator_count) return;
  eng_evaluate_g(sim, t, true);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    const EngAtom* atom = &sim->atoms[mode->atoms[i]];
    if (!is_watched(sim, mode->atoms[i])) continue;
    bool side = atom->truth;
    bool due =
        sim->model->atoms[mode->atoms[i]].time_only && t >= atom->t_linear - num_time_resolution(t);
    double z = indicator_of(sim, atom, sim->detect.g[i]);
    bool met = (z > 0.0) != side || (asked && is_about_to(sim, z, side, sim->detect.gdot[i]));
    if (!due && !met) continue;
    sim->detect.crossings[sim->detect.crossing_count++] =
        eng_crossing(i, t, fmin(sim->core.mesh_t, t), t, sim->detect.gdot[i], !side, false);
  }
}

/// What is due at the point: marks it for the instant that follows.
static bool is_due(EngSim* sim, bool asked) {
  EngCore* core = &sim->core;
  if (core->full_stale) eng_evaluate_full(sim, core->t);
  find_crossings(sim, asked);
  core->exit.pending = surface_indicator(sim) <= 0.0;
  core->contact.lifts = contact_indicator(sim) <= 0.0;
  // what ends a constrained motion comes first, as it does on a trial
  if (core->exit.pending || core->contact.lifts) sim->detect.crossing_count = 0;
  if (core->contact.lifts) core->exit.pending = false;
  return sim->detect.crossing_count || core->exit.pending || core->contact.lifts;
}

/// Whether a relation that makes no events enables something.
static bool is_met(EngSim* sim) {
  return sim->detect.has_auxiliary && eng_anything_enabled(sim);
}

/// Constraints of the mode hold again; whether states have moved by more than the caller can have
/// meant.
static SltStatus project(EngSim* sim, bool* moved) {
  const ModelMode* mode = sim->core.mode;
  bool changed = false;
  *moved = false;
  if (!mode->implicit) return SLT_OK;
  if (!eng_project(sim, sim->core.t, sim->x, &changed)) {
    sim->core.failed = true;
    return eng_fail(sim, SLT_ERR_NO_CONVERGENCE, DIAG_E0824, NULL,
                    "at t = %s the constraints cannot be satisfied near the states given",
                    eng_number(sim->core.t).text);
  }
  for (uint32_t i = 0; changed && i < mode->state_count; i++) {
    double* value = &sim->env[mode->state_env[i]];
    *moved |= fabs(*value - sim->x[i]) > sim->options.rtol * fmax(fabs(*value), fabs(sim->x[i]));
    *value = sim->x[i];
  }
  if (changed) sim->core.full_stale = true;
  eng_dae_guess(sim);
  return SLT_OK;
}

/// The caller has come to the point. Its steps are those of the run: what chatters is told by them.
static void end_step(EngSim* sim) {
  EngCore* core = &sim->core;
  if (core->t > core->mesh_t) sim->stepper->counters.steps++;
  core->mesh_t = core->t;
  if (core->contact.active) eng_contact_begin(sim, core->t, sim->x);
}

SltStatus eng_exchange_step(EngSim* sim, bool* event) {
  EngCore* core = &sim->core;
  *event = false;
  if (core->failed) return SLT_ERR_ARGUMENT;
  // the point of an event is left to it
  if (is_due(sim, false)) {
    sim->detect.crossing_count = 0;
    *event = true;
    return SLT_OK;
  }
  SLT_TRY(project(sim, event));
  if (core->full_stale) eng_evaluate_full(sim, core->t);
  if (core->t > core->mesh_t) sim->stepper->control.h_next = core->t - core->mesh_t;
  num_stepper_cover(sim->stepper, sim->x);
  eng_atoms_mesh(sim);
  end_step(sim);
  // an importer may step past a time event: it is handled late rather than dropped
  *event |= is_met(sim) || eng_queue_next(sim) <= core->t;
  return SLT_OK;
}

static double next_time(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  double next = fmin(eng_queue_next(sim), eng_dwell_end(sim));
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t id = mode->atoms[sim->active.indicators[place]];
    if (sim->model->atoms[id].time_only) next = fmin(next, sim->atoms[id].t_linear);
  }
  return next;
}

static SltStatus carry_out(EngSim* sim) {
  EngCore* core = &sim->core;
  bool ignored = false;
  bool due = is_due(sim, true);
  // the instant begins where a trial ends: what it moves is not told from errors of the caller
  SLT_TRY(project(sim, &ignored));
  // times of callers are sums of steps: what is due within rounding is due
  double next = eng_queue_next(sim);
  if (next <= core->t + num_time_resolution(core->t)) {
    core->t = fmax(core->t, next);
    SLT_TRY(eng_queue_take(sim, core->t));
    due = true;
  }
  due |= eng_dwell_end(sim) <= core->t;
  if (due || is_met(sim)) SLT_TRY(eng_instant_here(sim, ENG_INSTANT_EVENT, &ignored));
  if (core->touched && !core->ended) SLT_TRY(eng_advance(sim, core->t, false));
  for (uint32_t turn = 0; core->leaves && !core->ended && turn < LEAVES_MAX; turn++)
    SLT_TRY(eng_leave_boundaries(sim, &ignored));
  return SLT_OK;
}

SltStatus eng_exchange_event(EngSim* sim, double* next, bool* restarts) {
  EngCore* core = &sim->core;
  *next = (double)INFINITY;
  *restarts = false;
  if (core->failed) return SLT_ERR_ARGUMENT;
  if (core->ended) return SLT_END;
  core->step.open = false;
  SltStatus status = carry_out(sim);
  *restarts = core->step.open;
  if (status >= 0) status = eng_memory_check(sim);
  if (status < 0) {
    core->failed = true;
    return status;
  }
  if (core->full_stale) eng_evaluate_full(sim, core->t);
  end_step(sim);
  *next = next_time(sim);
  return core->ended ? SLT_END : SLT_OK;
}

// SPDX-License-Identifier: MIT
//
// Zeno behaviour: infinitely many events in finite time, and what comes after them.
//
// A transition whose intervals shrink by a steady ratio r accumulates at t + d r/(1 - r). When that
// is as good as reached, an impact (a self loop with resets) is closed: its relation stays at zero
// with zero rate, held by a force along the direction d of the resets,
//     x' = f + lambda d,   lambda such that g'' = 0 (and g, g' are drawn to zero),
// for as long as the force pushes. For a ball on a floor d is the velocity's axis and lambda the
// floor's reaction; the ball rests until the floor moves away. A model that says itself what comes
// after (a guard with `zeno`) is followed. Anything else that accumulates is an error with the time
// where it does, or, if the user wants it so, goes on with every mode kept for a while (dwell.c).
#include "engine/internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SEQUENCE     8     // firings at steady ratios that are one
#define STILL        3     // firings of an impact without speed after which it is closed
#define SUSPECT      5     // firings at steady ratios that may become a sequence
#define SOON         1e-6  // of a step: firings so close to each other may chatter
#define RATIO_LOW    0.02
#define RATIO_HIGH   0.995
#define RATIO_SPREAD 0.05
#define DWELL_SHARE  1e-4  // of the length of the sequence: how long a mode is kept from then on
#define ZONES        4.0   // of its event zone: so near is a relation that the zone decides
#define REST_SHARE   1e-6  // of the rates that cancel: what is left of them is rounding
#define NEARNESS     2e-6  // of the accumulation point, relative to the length of the sequence
#define THROWN_SHARE 0.5   // of a jump of the rate: what has to be left of it
#define TOGETHER     10.0  // times that near: what accumulates at the same place

// ---- detection ----------------------------------------------------------------------------------

/// Note a firing; a ratio out of line begins a new sequence.
static void note_firing(EngZeno* zeno, double t) {
  if (zeno->count == 0) {
    *zeno = (EngZeno){.count = 1, .still = zeno->still, .first = t, .last = t};
    return;
  }
  double interval = t - zeno->last;
  double ratio = zeno->count > 1 ? interval / zeno->interval : 0.0;
  bool steady = zeno->count < 2 || (ratio > RATIO_LOW && ratio < RATIO_HIGH &&
                                    (zeno->count < 3 || fabs(ratio - zeno->ratio) < RATIO_SPREAD));
  if (!steady || !(interval > 0.0)) {
    *zeno = (EngZeno){
        .count = 2, .still = zeno->still, .first = zeno->last, .last = t, .interval = interval};
    return;
  }
  zeno->ratio = ratio;
  zeno->interval = interval;
  zeno->last = t;
  zeno->count++;
}

void eng_zeno_note(EngSim* sim, uint32_t transition) {
  note_firing(&sim->zenos[transition], sim->core.t);
}

bool eng_zeno_is_suspect(const EngSim* sim, uint32_t transition) {
  const EngZeno* zeno = &sim->zenos[transition];
  bool soon = zeno->count > 0 && sim->core.t - zeno->last < SOON * sim->stepper->trial.h;
  return zeno->count >= SUSPECT || soon;
}

static bool in_guard(const EngSim* sim, uint32_t transition, uint32_t atom) {
  const ModelGuard* guard = &sim->model->transitions[transition].guard;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    if (guard->atoms[i] == atom) return true;
  }
  return false;
}

static bool writes_range(const EngSim* sim, uint32_t begin, uint32_t count, uint32_t env) {
  for (uint32_t i = begin; i < begin + count; i++) {
    if (sim->model->actions[i].env == env) return true;
  }
  return false;
}

/// Whether the resets of a transition write a state.
static bool writes(const EngSim* sim, const ModelTransition* t, uint32_t env) {
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  return writes_range(sim, t->action_begin, t->action_count, env) ||
         writes_range(sim, to->action_begin, to->action_count, env);
}

/// Whether actions write a state; `nothing` becomes false where they have changed one.
static bool resets_state(const EngSim* sim, uint32_t begin, uint32_t count, bool* nothing) {
  bool resets = false;
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    const ModelVarMode* var = &sim->core.mode->vars[action->var];
    if (var->role != MODEL_ROLE_STATE || action->order >= var->state_order) continue;
    resets = true;
    *nothing &= sim->env[action->env] == sim->before[action->env];
  }
  return resets;
}

/// Whether an impact has no speed: its relations are all at their boundaries, and one of them is
/// not going anywhere. Where that comes again and again the contact is closed, whatever keeps the
/// intervals from shrinking: the zone of `v < w`, or an error of the method that has left the body
/// a hair inside. `nothing`: it has changed nothing, so its guard would hold on and never fire
/// again.
static bool is_still(const EngSim* sim, uint32_t transition, bool* nothing) {
  const ModelMode* mode = sim->core.mode;
  const ModelTransition* t = &sim->model->transitions[transition];
  if (t->to != sim->state[t->automaton]) return false;
  bool still = false;
  for (uint32_t k = 0; k < t->guard.atom_count; k++) {
    uint32_t id = t->guard.atoms[k];
    if (!sim->model->atoms[id].continuous || !sim->live[id]) continue;
    uint32_t i = eng_atom_place(mode, id);
    double zone = ZONES * sim->atoms[id].eps;
    if (fabs(sim->g[i]) > zone) return false;
    still |= fabs(sim->gdot[i]) <= zone;
  }
  if (!still) return false;
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  *nothing = true;
  bool resets = resets_state(sim, t->action_begin, t->action_count, nothing);
  return resets_state(sim, to->action_begin, to->action_count, nothing) || resets;
}

/// Whether a relation of the guard besides the located one has come so near its boundary that its
/// event zone takes over: `v < w` of an impact, when hardly any speed is left.
static bool zones_take_over(const EngSim* sim, uint32_t transition) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t id = mode->atoms[i];
    if (sim->atoms[id].located || !sim->model->atoms[id].continuous) continue;
    if (fabs(sim->g[i]) > ZONES * sim->atoms[id].eps) continue;
    if (in_guard(sim, transition, id)) return true;
  }
  return false;
}

/// From the last firing of a steady sequence to where it accumulates.
static double time_left(const EngZeno* zeno) {
  return zeno->interval * zeno->ratio / (1.0 - zeno->ratio);
}

static bool has_accumulated(const EngSim* sim, uint32_t transition, const EngZeno* zeno,
                            double nearness, double* t_limit) {
  *t_limit = zeno->last;
  if (zeno->still >= STILL) return true;
  if (zeno->count < SEQUENCE) return false;
  double left = time_left(zeno);
  *t_limit = zeno->last + left;
  return left < nearness * (zeno->last - zeno->first) || zones_take_over(sim, transition);
}

// ---- the closed contact -------------------------------------------------------------------------

/// Rates of g' of the contact's atom: along the flow, and along the direction of the force.
typedef struct Rates {
  double g, gdot;
  double flow, force;
} Rates;

/// d/dt of g' when the states move along dx (time moving too).
static double second_rate(EngSim* sim, double t, const double* x, const double* dx) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double d = dx ? dx[i] : 0.0;
    sim->x_dual[i] = (ModelDual){{x[i], x[i]}, {d, d}};
  }
  model_program_enclose(&mode->gdot, context, sim->contact_regs, (ModelInterval){t, t}, sim->x_dual,
                        sim->g_dual);
  ModelInterval rate = sim->g_dual[sim->core.contact.index].d;
  return 0.5 * (rate.lo + rate.hi);
}

static void contact_rates(EngSim* sim, double t, const double* x, const double* f, Rates* out) {
  const ModelMode* mode = sim->core.mode;
  const EngContact* contact = &sim->core.contact;
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, x, sim->side_g);
  out->g = sim->side_g[contact->index];
  model_program_run(&mode->gdot, context, sim->gdot_regs, t, x, sim->side_g);
  out->gdot = sim->side_g[contact->index];
  out->flow = second_rate(sim, t, x, f);
  out->force = second_rate(sim, t, x, sim->contact_d) - second_rate(sim, t, x, NULL);
}

/// The force that keeps g'' at zero; positive while it pushes along the resets.
static double holding_force(const Rates* rates) {
  return -rates->flow / rates->force;
}

SltStatus eng_contact_rhs(EngSim* sim, double t, const double* x, double* dx) {
  Rates rates;
  contact_rates(sim, t, x, dx, &rates);
  double k = sim->core.contact.stiffness;
  double pull = (-2.0 * k * rates.gdot - k * k * rates.g) / rates.force;
  double lambda = holding_force(&rates) + pull;
  if (!isfinite(lambda)) return SLT_ERR_NOT_FINITE;
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    dx[i] += lambda * sim->contact_d[i];
  }
  return SLT_OK;
}

void eng_contact_soften(EngSim* sim) {
  const NumStepper* stepper = sim->stepper;
  EngContact* contact = &sim->core.contact;
  Rates rates;
  if (sim->core.slide.count) return;
  model_program_run(&sim->core.mode->rhs, eng_context(sim), sim->rhs_regs, stepper->t, stepper->x,
                    sim->contact_f);
  contact_rates(sim, stepper->t, stepper->x, sim->contact_f, &rates);
  // after many events steps are short: what is left of g must not be thrown out of the contact
  double most = 0.5 * fabs(rates.flow);
  double soft = fmin(sqrt(most / fabs(rates.g)), 0.5 * most / fabs(rates.gdot));
  if (soft > 0.0 && soft < contact->stiffness) contact->stiffness = soft;
}

/// Holding force at (t, x), the flow evaluated there: that along the surfaces where it slides.
static double force_at(EngSim* sim, double t, const double* x) {
  const ModelContext* context = eng_context(sim);
  Rates rates;
  if (sim->core.slide.count) {
    if (eng_slide_rhs(sim, t, x, sim->contact_f) < 0) return (double)NAN;
  } else {
    model_program_run(&sim->core.mode->rhs, context, sim->rhs_regs, t, x, sim->contact_f);
  }
  contact_rates(sim, t, x, sim->contact_f, &rates);
  return holding_force(&rates);
}

void eng_contact_full(EngSim* sim, double t) {
  double lambda = force_at(sim, t, sim->x);
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    // the derivative of a state follows it in the environment
    if (sim->contact_d[i] != 0.0) sim->env[mode->state_env[i] + 1] += lambda * sim->contact_d[i];
  }
}

/// The relation of the impact's guard, besides those that ride, that is farthest beyond its
/// boundary: a ball on a table is carried as far as the table goes. `beyond` is negative before.
static uint32_t left_relation(EngSim* sim, double t, const double* x, double* beyond) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, x, sim->side_g);
  uint32_t found = MODEL_NONE;
  *beyond = -(double)INFINITY;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t id = mode->atoms[i];
    const EngAtom* atom = &sim->atoms[id];
    if (atom->rides || !atom->truth || !in_guard(sim, sim->core.contact.transition, id)) continue;
    if (!(-sim->side_g[i] > *beyond)) continue;
    *beyond = -sim->side_g[i];
    found = id;
  }
  return found;
}

static SltStatus exit_function(void* user, double t, double* value) {
  EngSim* sim = user;
  num_dense_eval(sim->stepper, t, sim->probe_x);
  double force = force_at(sim, t, sim->probe_x);
  double beyond;
  uint32_t left = left_relation(sim, t, sim->probe_x, &beyond);
  sim->core.contact.left = -force >= beyond ? MODEL_NONE : left;
  *value = fmax(-force, beyond);
  return SLT_OK;
}

double eng_contact_exit(EngSim* sim, double t_from) {
  double t_end = sim->stepper->trial.t;
  double middle = t_from + 0.5 * (t_end - t_from);
  double at_start = 0.0;
  double at_middle = 0.0;
  double at_end = 0.0;
  exit_function(sim, middle, &at_middle);
  exit_function(sim, t_end, &at_end);
  double hi = at_middle > 0.0 ? middle : t_end;
  double g_hi = at_middle > 0.0 ? at_middle : at_end;
  if (!(g_hi > 0.0)) return (double)INFINITY;
  exit_function(sim, t_from, &at_start);
  if (!(at_start < 0.0)) return t_from;
  NumBracket bracket = {t_from, hi, at_start, g_hi};
  NumRootOptions options = {.t_tol = 4.0 * DBL_EPSILON * fmax(fabs(t_from), fabs(hi)),
                            .g_window = (double)INFINITY,
                            .side = NUM_SIDE_HI,
                            .zero_is_positive = true,
                            .max_evaluations = 200};
  num_root_bracket(exit_function, sim, &options, &bracket, NULL);
  exit_function(sim, bracket.hi, &at_end);  // what it is that ends there
  return bracket.hi;
}

bool eng_contact_allowed(EngSim* sim) {
  const ModelGuard* guard = &sim->model->transitions[sim->core.contact.transition].guard;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    if (sim->atoms[guard->atoms[i]].rides) sim->env[sim->model->atoms[guard->atoms[i]].env] = 1.0;
  }
  bool allowed = eng_guard(sim, guard);
  eng_restore_truths(sim);
  return allowed;
}

void eng_contact_release(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->atom_count; i++) {
    if (sim->atoms[i].rides) sim->atoms[i].tangential = true;
    sim->atoms[i].rides = false;
  }
}

/// Rate of the contact's relation with the values of the environment.
static double rate_here(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->probe_x[i] = sim->env[mode->state_env[i]];
  }
  model_program_run(&mode->gdot, context, sim->gdot_regs, sim->core.t, sim->probe_x, sim->side_g);
  return sim->side_g[sim->core.contact.index];
}

void eng_contact_begin_instant(EngSim* sim, bool input) {
  // what an input has written is in the environment already
  sim->core.contact.rate = input ? 0.0 : rate_here(sim);
}

/// Another automaton has changed the mode: the relation and the direction in terms of it; false
/// when they have no meaning there.
static bool take_over(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const ModelMode* before = sim->core.mode_before;
  EngContact* contact = &sim->core.contact;
  if (mode == before) return true;
  uint32_t index = 0;
  while (index < mode->atom_count && mode->atoms[index] != contact->atom) {
    index++;
  }
  if (index == mode->atom_count) return false;
  contact->index = index;
  memcpy(sim->contact_f, sim->contact_d, before->state_count * sizeof(double));
  memset(sim->contact_d, 0, mode->state_count * sizeof(double));
  for (uint32_t k = 0; k < before->state_count; k++) {
    if (sim->contact_f[k] == 0.0) continue;
    uint32_t i = 0;
    while (i < mode->state_count && mode->state_env[i] != before->state_env[k]) {
      i++;
    }
    if (i == mode->state_count) return false;
    sim->contact_d[i] = sim->contact_f[k];
  }
  return true;
}

/// Take the speed out that leads into or off the boundary, along the direction of the force.
static void stop_motion(EngSim* sim, double rate, double force) {
  double step = -rate / force;
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    sim->env[sim->core.mode->state_env[i]] += step * sim->contact_d[i];
  }
}

bool eng_contact_goes_on(EngSim* sim) {
  uint32_t automaton = sim->model->transitions[sim->core.contact.transition].automaton;
  if (sim->state[automaton] != sim->state_before[automaton] || !take_over(sim)) return false;
  if (eng_contact_rebind(sim) < 0) return false;
  // a reset, or a mode with another flow, may throw it off; what is pushed into the boundary is
  // stopped there, as by the element `contact` while it is closed
  double rate = rate_here(sim);
  double jump = rate - sim->core.contact.rate;
  if (jump < 0.0 && rate < THROWN_SHARE * jump) return false;
  if (jump > 0.0 && rate > THROWN_SHARE * jump) {
    double t = sim->core.t;
    double force =
        second_rate(sim, t, sim->probe_x, sim->contact_d) - second_rate(sim, t, sim->probe_x, NULL);
    if (!isfinite(rate / force)) return false;
    stop_motion(sim, rate, force);
  }
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    sim->x[i] = sim->env[sim->core.mode->state_env[i]];
  }
  return sim->core.mode == sim->core.mode_before || force_at(sim, sim->core.t, sim->x) > 0.0;
}

SltStatus eng_contact_rebind(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(eng_grow(sim, (void**)&sim->contact_regs, &sim->contact_capacity, mode->gdot.reg_count,
                   sizeof *sim->contact_regs));
  model_program_bind_dual(&mode->gdot, sim->env, sim->contact_regs);
  return SLT_OK;
}

// ---- closing ------------------------------------------------------------------------------------

/// The direction of the resets: what this instant changed, as far as they write it; if that is
/// nothing, the one state that they write. False: there is none.
static bool find_direction(EngSim* sim, const ModelTransition* t, double* length) {
  const ModelMode* mode = sim->core.mode;
  uint32_t count = 0;
  uint32_t only = 0;
  *length = 0.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    uint32_t env = mode->state_env[i];
    bool written = writes(sim, t, env);
    sim->contact_d[i] = written ? sim->env[env] - sim->before[env] : 0.0;
    *length = fmax(*length, fabs(sim->contact_d[i]));
    count += written;
    if (written) only = i;
  }
  for (uint32_t i = 0; i<mode->state_count&& * length> 0.0; i++) {
    sim->contact_d[i] /= *length;
  }
  if (*length == 0.0 && count == 1) sim->contact_d[only] = 1.0;
  return *length > 0.0 || count == 1;
}

/// Whether a force along the direction acts on the relation as on a distance: on its second
/// derivative, and not on itself. (The speed in `y <= h && v < w` is no distance.)
static bool is_distance(EngSim* sim, uint32_t index) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->core.t;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->probe_x[i] = sim->x[i] + sim->contact_d[i];
  }
  model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, sim->x, sim->side_g);
  double g = sim->side_g[index];
  model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, sim->probe_x, sim->side_g);
  double moved = fabs(sim->side_g[index] - g);
  sim->core.contact.index = index;
  double force = second_rate(sim, t, sim->x, sim->contact_d) - second_rate(sim, t, sim->x, NULL);
  return isfinite(force) && moved <= REST_SHARE * fabs(force);
}

/// The relation of an impact that its resets hold at zero, in the present mode's list; MODEL_NONE
/// for none. What was located comes first.
static uint32_t impact_atom(EngSim* sim, uint32_t transition) {
  const ModelMode* mode = sim->core.mode;
  for (int turn = 0; turn < 2; turn++) {
    for (uint32_t place = 0; place < sim->active_count; place++) {
      uint32_t i = sim->active[place];
      const EngAtom* atom = &sim->atoms[mode->atoms[i]];
      if (!sim->model->atoms[mode->atoms[i]].continuous) continue;
      if (!in_guard(sim, transition, mode->atoms[i]) || atom->located != (turn == 0)) continue;
      bool near = atom->located || fabs(sim->g[i]) <= ZONES * atom->eps;
      if (near && is_distance(sim, i)) return i;
    }
  }
  return MODEL_NONE;
}

/// Which relations of the impact's guard stay at their boundaries with the contact closed: the one
/// it holds, and those of the speed, whose rates the force takes away.
static void mark_riding(EngSim* sim, double lambda) {
  const ModelMode* mode = sim->core.mode;
  const EngContact* contact = &sim->core.contact;
  const ModelContext* context = eng_context(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->x[i] = sim->env[mode->state_env[i]];
    sim->probe_x[i] = sim->x[i] + sim->contact_d[i];
  }
  double t = sim->core.t;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t id = mode->atoms[i];
    sim->atoms[id].rides = i == contact->index;
    if (sim->atoms[id].rides || !in_guard(sim, contact->transition, id)) continue;
    model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, sim->x, sim->side_g);
    double g = sim->side_g[i];
    model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, sim->probe_x, sim->side_g);
    double by_force = lambda * (sim->side_g[i] - g);
    model_program_run(&mode->gdot, context, sim->gdot_regs, t, sim->x, sim->side_g);
    double by_flow = sim->side_g[i];
    bool rests = fabs(by_flow + by_force) <= REST_SHARE * (fabs(by_flow) + fabs(by_force));
    sim->atoms[id].rides = fabs(g) <= ZONES * sim->atoms[id].eps && rests;
  }
}

/// Close the contact of a self loop; false when its relation and resets do not allow it.
static bool close_contact(EngSim* sim, uint32_t transition) {
  const ModelMode* mode = sim->core.mode;
  const ModelTransition* t = &sim->model->transitions[transition];
  double length = 0.0;
  if (t->to != sim->state[t->automaton] || !find_direction(sim, t, &length)) return false;
  if (eng_contact_rebind(sim) < 0) return false;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->x[i] = sim->env[mode->state_env[i]];
  }
  uint32_t index = impact_atom(sim, transition);
  if (index == MODEL_NONE) return false;
  sim->core.contact =
      (EngContact){.index = index, .atom = mode->atoms[index], .transition = transition};
  const ModelContext* context = eng_context(sim);
  Rates rates;
  model_program_run(&mode->rhs, context, sim->rhs_regs, sim->core.t, sim->x, sim->side_f);
  contact_rates(sim, sim->core.t, sim->x, sim->side_f, &rates);
  if (length == 0.0 && rates.force > 0.0) {
    // an impact leads away from the boundary
    for (uint32_t i = 0; i < mode->state_count; i++) {
      sim->contact_d[i] = -sim->contact_d[i];
    }
    rates.force = -rates.force;
  }
  double lambda = holding_force(&rates);
  if (!isfinite(lambda) || !(lambda > 0.0)) return false;
  // take the rest of the speed out, along the same direction
  stop_motion(sim, rates.gdot, rates.force);
  mark_riding(sim, lambda);
  sim->core.contact.active = true;
  return true;
}

/// One contact can be held: what closes beside it would let it go.
static SltStatus second_contact(EngSim* sim, uint32_t transition, double t_limit) {
  const ModelTransition* t = &sim->model->transitions[transition];
  Str held = sim->model->atoms[sim->core.contact.atom].written->text;
  eng_fail(sim, SLT_ERR_ZENO, DIAG_E0807, &t->span,
           "infinitely many impacts accumulate at t = %s while the contact '%.*s' is closed; only "
           "one contact that the model does not declare can be closed at a time",
           eng_number(t_limit).text, STR_ARGS(held));
  eng_hint(sim, "declare them: contact NAME { gap = ...; force = ...; restitution = ...; }, or a "
                "state with the guard zeno");
  return sim->error.status;
}

static SltStatus accumulates(EngSim* sim, uint32_t transition, double t_limit, double ratio) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelAutomaton* a = &sim->model->automata[t->automaton];
  eng_fail(
      sim, SLT_ERR_ZENO, DIAG_E0807, &t->span,
      "infinitely many events accumulate at t = %s: the transitions of '%.*s' to '%.*s' follow "
      "each other ever faster (ratio %s)",
      eng_number(t_limit).text, STR_ARGS(a->name), STR_ARGS(a->states[t->to].written->name),
      eng_number(ratio).text);
  eng_hint(sim, "the model says nothing about what comes after; add a state for it");
  return sim->error.status;
}

bool eng_zeno_suspected(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    const EngZeno* zeno = &sim->zenos[i];
    if (!sim->transitions[i].fired_now || zeno->count < 6) continue;
    double left = time_left(zeno);
    accumulates(sim, i, zeno->last + left, zeno->ratio);
    return true;
  }
  return false;
}

/// Sequences of an automaton that goes on in another way are over.
static void forget(EngSim* sim, uint32_t automaton) {
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (sim->model->transitions[i].automaton != automaton) continue;
    sim->zenos[i].count = 0;
    sim->zenos[i].still = 0;
  }
}

/// Whether the model has a state for what comes after, and it can be entered now: its transitions
/// are enabled then.
static bool open_exit(EngSim* sim, uint32_t automaton) {
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  bool found = false;
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
    if (!t->zeno || t->instead || !eng_guard(sim, &t->guard)) continue;
    sim->transitions[state->outgoing[i]].exits = true;
    found = true;
  }
  return found;
}

/// What accumulates together ends together: a box that lands flat on two feet must not tip over
/// because one of them was looked at first.
static void open_other_exits(EngSim* sim, uint32_t first) {
  uint32_t automaton = sim->model->transitions[first].automaton;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    const EngZeno* zeno = &sim->zenos[i];
    uint32_t other = sim->model->transitions[i].automaton;
    double limit = 0.0;
    if (other == automaton || zeno->last != sim->core.t) continue;
    if (!has_accumulated(sim, i, zeno, TOGETHER * NEARNESS, &limit)) continue;
    if (!open_exit(sim, other)) continue;
    eng_trace_mark(sim, SLT_EVENT_ZENO, &sim->model->transitions[i].span, (Str){NULL, 0});
    forget(sim, other);
  }
}

// ---- the last event of a sequence ---------------------------------------------------------------

/// A transition that its automaton can make now in place of another one; MODEL_NONE for none.
static uint32_t instead_of(const EngSim* sim, uint32_t transition) {
  uint32_t automaton = sim->model->transitions[transition].automaton;
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  bool leaves = false;
  uint32_t found = MODEL_NONE;
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    leaves |= state->outgoing[i] == transition;
    if (sim->model->transitions[state->outgoing[i]].instead) found = state->outgoing[i];
  }
  return leaves ? found : MODEL_NONE;
}

static bool is_located(const EngSim* sim, uint32_t transition) {
  const ModelGuard* guard = &sim->model->transitions[transition].guard;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (atom->located && atom->located_truth) return true;
  }
  return false;
}

/// Open what stands for the last firing of sequences that this instant would bring to their end.
static bool open_instead(EngSim* sim, double nearness) {
  bool any = false;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    EngZeno zeno = sim->zenos[i];
    if (zeno.count + 1 < SEQUENCE || !is_located(sim, i)) continue;
    uint32_t other = instead_of(sim, i);
    if (other == MODEL_NONE) continue;
    double limit = 0.0;
    note_firing(&zeno, sim->core.t);
    if (!has_accumulated(sim, i, &zeno, nearness, &limit)) continue;
    sim->transitions[other].exits = true;
    any = true;
  }
  return any;
}

void eng_zeno_foresee(EngSim* sim) {
  if (sim->options.zeno == SLT_ZENO_STOP || !sim->has_instead) return;
  // what accumulates together ends together
  if (open_instead(sim, NEARNESS)) open_instead(sim, TOGETHER * NEARNESS);
}

/// What the foreseen ends of sequences have come to. True: there was one, and what happened beside
/// it belonged to it.
static bool note_instead(EngSim* sim) {
  bool any = false;
  for (uint32_t i = 0; sim->has_instead && i < sim->model->transition_count; i++) {
    const ModelTransition* t = &sim->model->transitions[i];
    if (!t->instead) continue;
    sim->transitions[i].exits = false;
    if (!sim->transitions[i].fired_now) continue;
    sim->transitions[i].fired_now = false;
    eng_trace_mark(sim, SLT_EVENT_ZENO, &t->span, (Str){NULL, 0});
    forget(sim, t->automaton);
    any = true;
  }
  for (uint32_t i = 0; any && i < sim->model->transition_count; i++) {
    if (!sim->transitions[i].fired_now) continue;
    sim->transitions[i].fired_now = false;
    sim->zenos[i].count = 0;
  }
  return any;
}

/// Sequences of a contact end with an impact that is foreseen, not with one that has been.
static bool ends_instead(const EngSim* sim, uint32_t automaton) {
  if (sim->options.zeno == SLT_ZENO_STOP || !sim->has_instead) return false;
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    if (sim->model->transitions[state->outgoing[i]].instead) return true;
  }
  return false;
}

static bool has_resets(const Model* model, const ModelTransition* t) {
  return t->action_count > 0 || model->automata[t->automaton].states[t->to].action_count > 0;
}

/// Whether the sequence follows from impacts of another automaton: it goes on where they happen, or
/// accumulates where they do. It ends with them. (A brake changes its direction at every bounce,
/// and between two.)
static bool follows_impacts(const EngSim* sim, uint32_t transition) {
  const Model* model = sim->model;
  const EngZeno* own = &sim->zenos[transition];
  bool own_resets = has_resets(model, &model->transitions[transition]);
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const EngZeno* zeno = &sim->zenos[i];
    const ModelTransition* t = &model->transitions[i];
    if (zeno->count == 0) continue;
    if (zeno->last == sim->core.t && ends_instead(sim, t->automaton)) return true;
    if (t->automaton == model->transitions[transition].automaton || own_resets) continue;
    if (!has_resets(model, t)) continue;
    if (zeno->last == sim->core.t) return true;
    if (zeno->count < SUSPECT) continue;
    double apart = fabs(zeno->last + time_left(zeno) - own->last - time_left(own));
    if (apart <= time_left(zeno) + time_left(own)) return true;
  }
  return false;
}

/// The first transition of this instant whose firings have accumulated; MODEL_NONE for none.
static uint32_t find_accumulation(EngSim* sim, double* t_limit) {
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (!sim->transitions[i].fired_now) continue;
    EngZeno* zeno = &sim->zenos[i];
    note_firing(zeno, sim->core.t);
    bool nothing = false;
    zeno->still = is_still(sim, i, &nothing) ? zeno->still + 1 : 0;
    if (zeno->still > 0 && nothing) zeno->still = STILL;
  }
  uint32_t found = MODEL_NONE;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (!sim->transitions[i].fired_now) continue;
    sim->transitions[i].fired_now = false;
    double limit = 0.0;
    if (found != MODEL_NONE) continue;
    if (!has_accumulated(sim, i, &sim->zenos[i], NEARNESS, &limit)) continue;
    if (follows_impacts(sim, i)) continue;
    found = i;
    *t_limit = limit;
  }
  return found;
}

SltStatus eng_zeno_check(EngSim* sim, EngZenoVerdict* verdict) {
  *verdict = ENG_ZENO_NONE;
  double t_limit = 0.0;
  if (note_instead(sim)) return SLT_OK;
  uint32_t i = find_accumulation(sim, &t_limit);
  if (i == MODEL_NONE) return SLT_OK;
  uint32_t automaton = sim->model->transitions[i].automaton;
  double ratio = sim->zenos[i].ratio;
  if (sim->options.zeno == SLT_ZENO_STOP) return accumulates(sim, i, t_limit, ratio);
  if (open_exit(sim, automaton)) {
    sim->zeno_automaton = automaton;
    eng_trace_mark(sim, SLT_EVENT_ZENO, &sim->model->transitions[i].span, (Str){NULL, 0});
    open_other_exits(sim, i);
    *verdict = ENG_ZENO_EXIT;
  } else if (sim->contact_holds && sim->options.zeno != SLT_ZENO_DWELL) {
    return second_contact(sim, i, t_limit);
  } else if (!sim->contact_holds && close_contact(sim, i)) {
    eng_trace_slide(sim, SLT_EVENT_ZENO, sim->core.contact.atom);
    *verdict = ENG_ZENO_CLOSED;
  } else if (sim->options.zeno == SLT_ZENO_DWELL) {
    const EngZeno* zeno = &sim->zenos[i];
    eng_dwell_begin(sim, automaton, DWELL_SHARE * (zeno->last - zeno->first));
  } else if (sim->zenos[i].still < STILL) {
    return accumulates(sim, i, t_limit, ratio);
  }
  forget(sim, automaton);
  return SLT_OK;
}

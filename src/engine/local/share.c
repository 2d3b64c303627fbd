// SPDX-License-Identifier: MIT
//
// A state that everybody reads: what its change does to those that are left alone.
//
// A room that switches changes the supply of all rooms a little. To integrate all of them anew at
// every event would make events cost what the whole costs; to leave them alone is an error that
// soon reaches the tolerance. But the error has a form: to first order it is, for each reader, the
// integral of the change of the shared state times a weight of its own, the derivative of its
// equation. The integral is one polynomial for all, kept beside the dense output of the trial
// (num_dense_share), which then has the correction in it wherever it is asked for a value.
//
// Relations that read corrected states move with every event, by no more than weight times the
// `reach` that is allowed for the integral. So a crossing that was found may come earlier, and one
// that was not may come after all. Each relation that could come to its boundary by that much has a
// time to be looked at before it can; once it is that close it is `imminent` and followed anew
// whenever what is shared has moved it noticeably (a tenth of the tolerance, as elsewhere).
//
// Weights move over a trial, where a reader's equation has other factors that do. Each is the mean
// of those at both ends, and the reach is small enough that half of their difference, which is what
// the mean may be off by, makes no more than a tenth of the tolerance.
//
// Second order: the correction moves the readers, and that moves their equations. This is computed
// for the largest correction allowed, and the reach is made small enough that it stays a tenth of
// the tolerance over a step.
#include "engine/detect/follow.h"
#include "engine/local/parts.h"

#include <math.h>
#include <string.h>

#define LARGEST    10.0   // correction allowed, in tolerances
#define ECONOMY    512.0  // a fifth power on [0, 1] is one of lower degree up to this part of it
#define IDLE_SHARE 0.01   // changes that do less than this part of what is allowed are left out
#define LOOK_DEPTH 12     // halvings in the search for a time to look

double local_tolerance(const EngSim* sim, uint32_t state) {
  return eng_state_weight(sim, state, sim->stepper->trial.x[state]);
}

// ---- weights ------------------------------------------------------------------------------------

/// Weights at a time of the trial, whose states are in probe_x.
static void weights_at(EngSim* sim, double t, double delta, double* out) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  uint32_t shared = sim->local->index.shared;
  double* x = sim->probe.x;
  double* plain = sim->probe.flow;
  model_program_run(&mode->rhs, context, sim->programs.rhs, t, x, plain);
  x[shared] += delta;
  model_program_run(&mode->rhs, context, sim->programs.rhs, t, x, out);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    out[i] = i == shared ? 0.0 : (out[i] - plain[i]) / delta;
  }
}

/// Weights that move: means over the trial of what they are at its beginning, as given, in its
/// middle and at its end; and the reach that the distance from these allows.
static double take_means(EngSim* sim, double delta) {
  const NumStepper* s = sim->stepper;
  uint32_t count = sim->core.mode->state_count;
  double* middle = sim->probe.flow + sim->values.n_max;
  double* end = sim->probe.flow + (size_t)2 * sim->values.n_max;
  double most = (double)INFINITY;
  num_dense_eval(s, s->trial.t0 + 0.5 * s->trial.h, sim->probe.x);
  weights_at(sim, s->trial.t0 + 0.5 * s->trial.h, delta, middle);
  memcpy(sim->probe.x, s->trial.x, count * sizeof *sim->probe.x);
  weights_at(sim, s->trial.t, delta, end);
  for (uint32_t i = 0; i < count; i++) {
    double begin = sim->waiting.weight[i];
    if (begin == 0.0 && middle[i] == 0.0 && end[i] == 0.0) continue;
    double mean = (begin + 4.0 * middle[i] + end[i]) / 6.0;
    double off = fmax(fabs(begin - mean), fmax(fabs(middle[i] - mean), fabs(end[i] - mean)));
    sim->waiting.weight[i] = mean;
    // written so that NaN allows none
    double allowed = LOCAL_SHARE * local_tolerance(sim, i) / off;
    if (!(allowed >= most)) most = isnan(allowed) && off != 0.0 ? 0.0 : allowed;
  }
  return most;
}

/// Weights of all states on the trial, and the reach that they allow.
static void find_weights(EngSim* sim) {
  EngCore* core = &sim->core;
  const NumStepper* s = sim->stepper;
  const ModelMode* mode = core->mode;
  const ModelContext* context = eng_context(sim);
  uint32_t shared = sim->local->index.shared;
  double* x = sim->probe.x;
  double* moved = sim->probe.flow;
  double delta = 16.0 * local_tolerance(sim, shared);
  core->local.most = 0.0;
  memcpy(x, s->trial.x0, mode->state_count * sizeof *x);
  x[shared] += delta;
  model_program_run(&mode->rhs, context, sim->programs.rhs, s->trial.t0, x, moved);
  double most = (double)INFINITY;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double weight = (moved[i] - s->trial.f0[i]) / delta;
    sim->waiting.weight[i] = i == shared ? 0.0 : weight;
  }
  core->local.steady = (double)INFINITY;
  if (!sim->local->index.steady) core->local.steady = take_means(sim, delta);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double weight = sim->waiting.weight[i];
    if (weight == 0.0 || i == shared) continue;
    // written so that NaN gives none
    double allowed = LARGEST * local_tolerance(sim, i) / fabs(weight);
    most = allowed < most || isnan(allowed) ? allowed : most;
  }
  if (!(most > 0.0 && most < (double)INFINITY)) return;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    x[i] = s->trial.x0[i] + most * sim->waiting.weight[i];
  }
  model_program_run(&mode->rhs, context, sim->programs.rhs, s->trial.t0, x, moved);
  double worst = 0.0;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double rate = fabs(moved[i] - s->trial.f0[i]) / local_tolerance(sim, i);
    worst = rate > worst || isnan(rate) ? rate : worst;
  }
  if (isnan(worst)) return;
  core->local.most = most;
  core->local.bend = worst / most;
}

void local_begin_sharing(EngSim* sim) {
  EngCore* core = &sim->core;
  uint32_t shared = sim->local->index.shared;
  core->local.reach = 0.0;
  core->local.imminent_count = 0;
  core->local.crowded = false;
  if (shared == MODEL_NONE || sim->stepper->trial.degree != 4) return;
  find_weights(sim);
  if (core->local.most == 0.0) return;
  double bent = core->local.bend * sim->stepper->trial.h;
  core->local.reach = fmin(core->local.most, bent > 0.0 ? LOCAL_SHARE / bent : core->local.most);
  core->local.reach = fmin(core->local.reach, core->local.steady);
  num_dense_power(sim->stepper, shared, core->local.base);
  static const double nothing[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  num_dense_share(sim->stepper, NULL, nothing);
}

/// What is shared now, or nothing.
static const double* shared_now(const EngSim* sim) {
  static const double nothing[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  return sim->stepper->shared.weight ? sim->stepper->shared.c : nothing;
}

static double value_of(const double* c, double theta) {
  return c[0] + theta * (c[1] + theta * (c[2] + theta * (c[3] + theta * c[4])));
}

bool local_share_is_idle(EngSim* sim, double area, double* spent) {
  double cost = area * LARGEST / sim->core.local.most;
  if (!(cost <= IDLE_SHARE * LOCAL_SHARE && *spent + cost <= 0.5 * LOCAL_SHARE)) return false;
  *spent += cost;
  return true;
}

bool local_share_next(EngSim* sim, uint32_t k) {
  struct EngLocal* local = sim->local;
  const NumStepper* s = sim->stepper;
  double theta = num_dense_theta(s, sim->core.t);
  double change[5];
  double* c = local->shared_c;
  num_dense_transfer(s, local->part, k, change);
  // the integral from here on, continuous with what it was
  double fifth = 0.0;
  c[0] = 0.0;
  for (uint32_t j = 0; j < 5; j++) {
    double term = s->trial.h * (change[j] - sim->core.local.base[j]) / (double)(j + 1);
    if (j < 4) c[j + 1] = term;
    if (j == 4) fifth = term;
  }
  // its fifth power, by the polynomial of degree 4 that is nearest
  c[0] += fifth / ECONOMY;
  c[1] -= 50.0 * fifth / ECONOMY;
  c[2] += 400.0 * fifth / ECONOMY;
  c[3] -= 1120.0 * fifth / ECONOMY;
  c[4] += 1280.0 * fifth / ECONOMY;
  c[0] += value_of(shared_now(sim), theta) - value_of(c, theta);
  double b[5] = {c[0], c[0] + c[1] / 4.0, c[0] + c[1] / 2.0 + c[2] / 6.0,
                 c[0] + 0.75 * c[1] + c[2] / 2.0 + c[3] / 4.0, value_of(c, 1.0)};
  num_bernstein_restrict(b, 4, theta, 1.0);
  double reach = 2.0 * fabs(fifth) / ECONOMY;
  for (uint32_t j = 0; j < 5; j++) {
    reach = fmax(reach, fabs(b[j]));
  }
  return reach <= sim->core.local.reach;
}

/// A state of the event now or at the end of the trial, the shared one moved.
typedef struct SharedPoint {
  const EngSim* sim;
  double t, delta;
  bool later;  // than the event: its states have moved on
} SharedPoint;

static double shared_point(const void* user, uint32_t state) {
  const SharedPoint* point = user;
  const EngSim* sim = point->sim;
  const struct EngLocal* local = sim->local;
  double x = num_dense_component(sim->stepper, state, point->t);
  for (uint32_t k = 0; k < local->state_count; k++) {
    if (local->states[k] != state) continue;
    x = point->later ? num_dense_component(local->part, k, point->t) : local->x[k];
  }
  return state == local->index.shared ? x + point->delta : x;
}

static double weight_at(EngSim* sim, uint32_t state, double t, bool later) {
  double f[2] = {0.0, 0.0};
  double delta = 16.0 * local_tolerance(sim, sim->local->index.shared);
  for (int side = 0; side < 2; side++) {
    SharedPoint point = {sim, t, side ? delta : 0.0, later};
    eng_output(sim, ENG_SINGLE_RHS, t, shared_point, &point, state, &f[side]);
  }
  return (f[1] - f[0]) / delta;
}

static void find_weight(EngSim* sim, uint32_t state) {
  const struct EngLocal* local = sim->local;
  if (state == local->index.shared) return;
  double t = sim->core.t;
  double weight = weight_at(sim, state, t, false);
  if (!local->index.steady) {
    double end = sim->stepper->trial.t;
    double middle = weight_at(sim, state, 0.5 * (t + end), true);
    weight = (weight + 4.0 * middle + weight_at(sim, state, end, true)) / 6.0;
  }
  sim->waiting.weight[state] = isfinite(weight) ? weight : 0.0;
}

void local_share(EngSim* sim) {
  const struct EngLocal* local = sim->local;
  // where the motion begins anew the next trial has its own weights; those of this one are part of
  // its values
  if (local->index.shared == MODEL_NONE || local->restart) return;
  for (uint32_t k = 0; k < local->state_count; k++) {
    find_weight(sim, local->states[k]);
  }
  if (sim->core.local.reach == 0.0) return;
  const double* c = local->shares ? local->shared_c : shared_now(sim);
  double kept[5];
  memcpy(kept, c, sizeof kept);
  if (local->shares || sim->stepper->shared.weight) {
    num_dense_share(sim->stepper, sim->waiting.weight, kept);
  }
}

// ---- relations that move with it ----------------------------------------------------------------

static double allowance_of(const EngSim* sim, uint32_t id) {
  const LocalIndex* index = &sim->local->index;
  double sum = 0.0;
  if (sim->core.local.reach == 0.0) return 0.0;
  for (uint32_t k = index->reads.begin[id]; k < index->reads.begin[id + 1]; k++) {
    double part = index->form_coef[k] * sim->waiting.weight[index->reads.list[k]];
    sum += part < 0.0 ? -part : part;
  }
  // it was anywhere within reach when the relation was followed, and may come to be anywhere
  return 2.0 * sim->core.local.reach * sum;
}

static bool moves_with_it(const EngSim* sim, uint32_t id) {
  const LocalIndex* index = &sim->local->index;
  for (uint32_t k = index->reads.begin[id]; k < index->reads.begin[id + 1]; k++) {
    if (sim->waiting.weight[index->reads.list[k]] != 0.0) return true;
  }
  return false;
}

static bool is_below(const double* c, double level) {
  bool below = true;
  for (uint32_t j = 0; j <= 4; j++) {
    below &= c[j] < level;
  }
  return below;
}

/// A time before which g, with its control points in place, does not come above `level`; INFINITY
/// when it never does on this trial.
static double first_look(const EngSim* sim, uint32_t id, double t_from, double level) {
  const NumStepper* s = sim->stepper;
  double c[MODEL_LANES];
  double left[MODEL_LANES];
  double right[MODEL_LANES];
  double from = num_dense_theta(s, t_from);
  double width = 1.0 - from;
  memcpy(c, sim->proof.control_g + (size_t)id * MODEL_LANES, sizeof c);
  num_bernstein_restrict(c, 4, from, 1.0);
  bool last = true;  // the piece reaches to the end of the trial
  for (int depth = 0; depth < LOOK_DEPTH; depth++) {
    if (is_below(c, level)) break;
    num_bernstein_halve(c, 4, left, right);
    width *= 0.5;
    bool clear = is_below(left, level);
    memcpy(c, clear ? right : left, sizeof c);
    if (clear) from += width;
    last &= clear;
  }
  if (is_below(c, level)) {
    if (last) return (double)INFINITY;
    from += width;
  }
  return fmax(t_from, s->trial.t0 + from * s->trial.h);
}

/// Note that the relation is followed closely; without room for that nothing is local any more.
static void note_imminent(EngSim* sim, uint32_t id) {
  EngCore* core = &sim->core;
  uint32_t i = 0;
  while (i < core->local.imminent_count && sim->waiting.imminent[i].atom != id) {
    i++;
  }
  if (i == ENG_LOCAL_IMMINENT) {
    core->local.crowded = true;
    return;
  }
  if (i == core->local.imminent_count) core->local.imminent_count++;
  sim->waiting.imminent[i].atom = id;
  memcpy(sim->waiting.imminent[i].c, shared_now(sim), sizeof sim->waiting.imminent[i].c);
}

bool local_watch(EngSim* sim, uint32_t id, double t_from, EngCrossing* out) {
  const LocalIndex* index = &sim->local->index;
  const EngAtom* atom = &sim->atoms[id];
  for (uint32_t k = index->reads.begin[id]; k < index->reads.begin[id + 1]; k++) {
    eng_control_state(sim, index->reads.list[k]);
  }
  if (sim->core.local.reach == 0.0 || !moves_with_it(sim, id)) {
    return eng_detect_atom(sim, id, t_from, out);
  }
  double allowance = allowance_of(sim, id);
  bool waits = index->has_form[id] && !atom->truth && atom->armed;
  double t = t_from;
  if (waits && atom->g < -3.0 * allowance - atom->eps) {
    eng_control_atom(sim, id, t_from);
    double level = -allowance - atom->eps - 4.0 * sim->proof.margin[id];
    t = first_look(sim, id, t_from, level);
  }
  if (t <= t_from) {
    note_imminent(sim, id);
    return eng_detect_atom(sim, id, t_from, out);
  }
  *out = (EngCrossing){.index = id, .t = t, .lo = t, .hi = t, .certified = true, .look = true};
  return isfinite(t);
}

void local_look(EngSim* sim, uint32_t id) {
  double t = sim->waiting.crossing[id].t;
  EngCrossing crossing;
  sim->waiting.waits[id] = 0;
  if (!local_value(sim, id, t)) {
    sim->core.local.crowded = true;
    return;
  }
  if (local_watch(sim, id, t, &crossing)) local_wait_for(sim, &crossing);
}

/// How far what is shared has moved the relation since it was last followed, in tolerances.
static double moved_by(const EngSim* sim, const EngImminent* imminent) {
  const LocalIndex* index = &sim->local->index;
  uint32_t id = imminent->atom;
  double t = sim->waiting.waits[id] ? sim->waiting.crossing[id].t : sim->stepper->trial.t;
  double theta = num_dense_theta(sim->stepper, t);
  double change = fabs(value_of(shared_now(sim), theta) - value_of(imminent->c, theta));
  double most = 0.0;
  for (uint32_t k = index->reads.begin[id]; k < index->reads.begin[id + 1]; k++) {
    uint32_t state = index->reads.list[k];
    most = fmax(most, change * fabs(sim->waiting.weight[state]) / local_tolerance(sim, state));
  }
  return most;
}

void local_follow_imminent(EngSim* sim) {
  EngCore* core = &sim->core;
  for (uint32_t i = 0; i < core->local.imminent_count;) {
    EngImminent* imminent = &sim->waiting.imminent[i];
    uint32_t id = imminent->atom;
    if (!sim->active.live[id]) {
      *imminent = sim->waiting.imminent[--core->local.imminent_count];
      continue;
    }
    i++;
    if (moved_by(sim, imminent) <= LOCAL_SHARE) continue;
    EngCrossing crossing;
    sim->waiting.waits[id] = 0;
    if (!local_value(sim, id, core->t)) {
      core->local.crowded = true;
    } else if (local_watch(sim, id, core->t, &crossing)) {
      local_wait_for(sim, &crossing);
    }
  }
}

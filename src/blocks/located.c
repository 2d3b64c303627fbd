// SPDX-License-Identifier: MIT
//
// The located way: an adaptive one-step method with dense output. Check blocks are probed at
// several points of every accepted step; a crossing is bracketed on the dense output down to
// rounding, and the step is cut there. Where three probes show a valley that may reach zero, its
// deepest point is looked for: a dip between two probes is an event too. Right after an event the
// first part of the step is probed more closely, so that a signal that comes back soon is seen to
// have been positive.
#include "blocks/blocks.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PROBES_MAX 1e6  // per step
#define ROW_Y      5
#define DIP_PART   0.7   // a valley whose parabola stays above this part of its rim is left alone
#define DIP_ERROR  0.02  // error of the parabola, as a part of how much the values differ
#define DIP_SLACK  0.25  // how far outside of its probes its bottom may seem to lie

typedef struct Trial {
  SltWorld* world;
  double t0, t1;
  bool dense;       // a polynomial stands behind it; else only time passes
  uint32_t memory;  // whose x is followed
} Trial;

void blk_stepper_free(SltWorld* world) {
  base_free(&world->allocator, world->motion.stepper_storage, world->motion.stepper_size);
  world->motion.stepper_storage = NULL;
  world->motion.stepper = NULL;
  world->motion.stepper_size = 0;
  world->motion.stepper_capacity = 0;
}

static SltStatus right_hand_side(void* user, double t, const double* x, double* dx) {
  SltWorld* world = user;
  blk_scatter(world, x);
  SltStatus status = blk_pass(world, t, dx);
  return world->failure.status < 0 ? world->failure.status : status;
}

/// A stepper for at least the present number of states, begun at the present point.
static SltStatus prepare_stepper(SltWorld* world, double target) {
  uint32_t n = world->motion.state_count;
  double h = 0.0;
  if (world->motion.stepper &&
      (world->motion.stepper_capacity < n || world->motion.stepper_method != world->method)) {
    h = world->motion.stepper->control.h_next;
    blk_stepper_free(world);
    world->motion.stepper_stale = true;
  }
  if (!world->motion.stepper) {
    uint32_t capacity = n < 8 ? 8 : n + n / 2;
    NumOptions options = num_options();
    options.rtol = world->options.rtol;
    options.atol = world->options.atol;
    options.h_max = world->options.h_max;
    size_t size = num_stepper_size(world->method, capacity);
    void* storage = size < SIZE_MAX ? base_alloc(&world->allocator, size) : NULL;
    if (!storage) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
    world->motion.stepper_storage = storage;
    world->motion.stepper_size = size;
    world->motion.stepper_capacity = capacity;
    world->motion.stepper_method = world->method;
    SLT_TRY(num_stepper_init(storage, world->method, capacity, &options, &world->motion.stepper));
    num_stepper_set_rhs(world->motion.stepper, right_hand_side, world);
    world->motion.stepper_fresh = true;
  }
  double t = world->t;
  double* y = blk_row(world, ROW_Y);
  blk_gather(world, y);
  NumStepper* s = world->motion.stepper;
  if (world->motion.stepper_fresh) {
    num_stepper_start(s, t, n, y, NULL);
    if (h > 0.0) {
      s->control.h_next = h;
    } else if (num_stepper_choose_h(s, target, (double)INFINITY) < 0) {
      world->t = t;
      return blk_fail(world, SLT_ERR_NOT_FINITE, DIAG_E0901,
                      "the input of an integrator is not a finite number");
    }
    world->motion.stepper_fresh = false;
  } else if (world->motion.stepper_stale || s->n != n || s->t != t ||
             memcmp(y, s->x, n * sizeof *y) != 0) {
    num_stepper_restart(s, t, n, y, NULL);
  }
  world->motion.stepper_stale = false;
  world->t = t;
  return SLT_OK;
}

/// One accepted trial towards `target`.
static SltStatus attempt(SltWorld* world, double target) {
  NumStepper* s = world->motion.stepper;
  double t0 = s->t;
  for (;;) {
    double h = s->control.h_next;
    double rest = target - t0;
    double t1 = t0 + h;
    if (h >= rest * (1.0 - 1e-9) || t1 >= target) {
      t1 = target;
    } else if (h > 0.5 * rest) {
      t1 = t0 + 0.5 * rest;  // two equal steps instead of one and a crumb
    }
    world->h = t1 - t0;
    SltStatus status = num_stepper_attempt(s, t1);
    if (world->failure.status < 0) return world->failure.status;
    if (status >= 0 && s->trial.error <= 1.0) return SLT_OK;
    if (num_stepper_reject(s) < 0) {
      world->t = t0;
      blk_scatter(world, s->x);
      if (status == SLT_ERR_NOT_FINITE) {
        return blk_fail(world, status, DIAG_E0901,
                        "the input of an integrator is not a finite number");
      }
      return blk_fail(world, SLT_ERR_STEP, DIAG_E0902, "the step size fell below its minimum");
    }
  }
}

/// Put the user's memory into the state of time t inside the trial.
static SltStatus state_at(const Trial* trial, double t) {
  SltWorld* world = trial->world;
  if (trial->dense) {
    double* y = blk_row(world, ROW_Y);
    num_dense_eval(world->motion.stepper, t, y);
    blk_scatter(world, y);
  }
  (void)blk_pass(world, t, NULL);
  return world->failure.status < 0 ? world->failure.status : SLT_OK;
}

static SltStatus followed(void* user, double t, double* g) {
  const Trial* trial = user;
  SltWorld* world = trial->world;
  SLT_TRY(state_at(trial, t));
  SLT_TRY(blk_check_pass(world, BLK_PASS_PROBE));
  blk_check_forget(world);
  const BlkMemory* memory = &world->memory.data[trial->memory];
  *g = memory->pass == world->passes.present ? memory->x : (double)NAN;
  return SLT_OK;
}

/// The earliest crossing between two probes; `*te` is at first the later one.
static SltStatus locate(Trial* trial, double lo, double* te) {
  SltWorld* world = trial->world;
  // the list of touched memories is written anew by every probe: keep the crossed marks
  uint32_t count = world->memory.count;
  uint32_t last = UINT32_MAX;
  for (uint32_t i = 0; i < count; i++) {
    if (!world->memory.data[i].crossed) continue;
    trial->memory = i;
    double g_hi = 0.0;
    SLT_TRY(followed(trial, *te, &g_hi));
    if (!(g_hi <= 0.0)) continue;  // another event comes before
    NumRootOptions options = {.t_tol = 4.0 * DBL_EPSILON * fmax(fabs(*te), *te - lo),
                              .g_window = HUGE_VAL,
                              .side = NUM_SIDE_HI,
                              .max_evaluations = 200};
    NumBracket bracket = {lo, *te, world->memory.data[i].x_last, g_hi};
    SltStatus status = num_root_bracket(followed, trial, &options, &bracket, NULL);
    if (world->failure.status < 0) return world->failure.status;
    // a signal that jumps or is not defined in between: the bracket is as good as it gets
    (void)status;
    *te = bracket.hi;
    last = i;
  }
  if (last != UINT32_MAX) world->memory.data[last].forced = true;
  return SLT_OK;
}

/// Probes are `probes` to a step, but never further apart than samples: a signal that dips for
/// longer than that is not missed however long the steps are.
static uint32_t probe_count(const SltWorld* world, double h) {
  double wanted = world->options.probes;
  if (world->grid.step > 0.0) wanted = fmax(wanted, ceil(h / world->grid.step));
  return (uint32_t)fmin(wanted, PROBES_MAX);
}

/// The next probe after `t`.
static double next_probe(const Trial* trial, double t, uint32_t count) {
  double h = trial->t1 - trial->t0;
  double done = (t - trial->t0) / h;
  double regular = (floor(done * count + 1e-9) + 1.0) / count;
  if (trial->world->passes.after_event) {
    // right after an event: 1/4096, 1/1024, ... of the regular distance
    double part = fmax(4.0 * done, 1.0 / (4096.0 * count));
    while (trial->t0 + part * h <= t && part < 1.0 / count)
      part *= 4.0;  // too fine for the resolution of time
    if (part < 1.0 / count) regular = part;
  }
  double next = trial->t0 + regular * h;
  return regular >= 1.0 - 1e-12 || next >= trial->t1 ? trial->t1 : next;
}

static bool mark_crossings(SltWorld* world) {
  bool any = false;
  for (uint32_t i = 0; i < world->memory.count; i++) {
    world->memory.data[i].crossed = false;
  }
  for (uint32_t i = 0; i < world->memory.touched_count; i++) {
    BlkMemory* memory = &world->memory.data[world->memory.touched[i]];
    memory->crossed = blk_memory_crosses(world, memory);
    any |= memory->crossed;
  }
  return any;
}

// ---- dips between probes ------------------------------------------------------------------------

/// Three probes after one another, the last of them the present one.
typedef struct Triple {
  double t[3];
  uint64_t pass_first, pass_middle;
} Triple;

/// Whether the parabola through the values of the three probes has a valley that goes deep.
static bool may_dip(const SltWorld* world, const BlkMemory* m, const Triple* at) {
  if (m->pass != world->passes.present || m->pass_last != at->pass_middle ||
      m->pass_earlier != at->pass_first) {
    return false;
  }
  if (!(m->x_earlier > 0.0) || !(m->x_last > 0.0) || !(m->x > 0.0)) return false;
  const double* t = at->t;
  double left = (m->x_last - m->x_earlier) / (t[1] - t[0]);
  double right = (m->x - m->x_last) / (t[2] - t[1]);
  double bend = (right - left) / (t[2] - t[0]);
  if (!(bend > 0.0)) return false;
  double bottom = 0.5 * (t[0] + t[1]) - 0.5 * left / bend;
  // the parabola is not the signal: its bottom may lie beside the one that is there
  double slack = DIP_SLACK * (t[2] - t[0]);
  if (!(bottom > t[0] - slack) || !(bottom < t[2] + slack)) return false;
  double depth = m->x_earlier + (bottom - t[0]) * left + bend * (bottom - t[0]) * (bottom - t[1]);
  double least = fmin(m->x_earlier, fmin(m->x_last, m->x));
  double most = fmax(m->x_earlier, fmax(m->x_last, m->x));
  return depth < DIP_PART * least || depth < DIP_ERROR * (most - least);
}

static SltStatus followed_down(void* user, double t, double* g) {
  SLT_TRY(followed(user, t, g));
  *g = -*g;
  return SLT_OK;
}

/// The probe in the middle is taken back: an event lies before it.
static void step_back(SltWorld* world, const Triple* at) {
  for (uint32_t i = 0; i < world->memory.count; i++) {
    BlkMemory* memory = &world->memory.data[i];
    if (memory->pass_last != at->pass_middle) continue;
    memory->x_last = memory->pass_earlier == at->pass_first ? memory->x_earlier : 0.0;
  }
}

/// A signal that goes below zero and comes back between probes. SLT_EVENT as search().
static SltStatus search_dips(Trial* trial, const Triple* at, double* te) {
  SltWorld* world = trial->world;
  bool any = false;
  for (uint32_t i = 0; i < world->memory.count; i++) {
    BlkMemory* memory = &world->memory.data[i];
    memory->crossed = may_dip(world, memory, at);
    any |= memory->crossed;
  }
  if (!any) return SLT_OK;
  blk_check_forget(world);
  double first = HUGE_VAL;
  for (uint32_t i = 0; i < world->memory.count; i++) {
    if (!world->memory.data[i].crossed) continue;
    trial->memory = i;
    NumMaximum bottom = {0.0, -HUGE_VAL};
    (void)num_max_on_interval(followed_down, trial, at->t[0], at->t[2],
                              1e-7 * (at->t[2] - at->t[0]), 0.0, &bottom, NULL);
    if (world->failure.status < 0) return world->failure.status;
    world->memory.data[i].crossed = bottom.g >= 0.0;
    if (bottom.g >= 0.0 && bottom.t < first) first = bottom.t;
  }
  if (!(first < HUGE_VAL)) {
    SLT_TRY(state_at(trial, at->t[2]));
    return blk_check_pass(world, BLK_PASS_PROBE);
  }
  *te = first;
  bool early = *te <= at->t[1];
  if (early) step_back(world, at);
  SLT_TRY(locate(trial, early ? at->t[0] : at->t[1], te));
  return SLT_EVENT;
}

/// Look at t, and between the probe before it and this one. SLT_EVENT as in search().
static SltStatus probe(Trial* trial, double before, double t, Triple* at, double* te) {
  SltWorld* world = trial->world;
  SLT_TRY(state_at(trial, t));
  SLT_TRY(blk_check_pass(world, BLK_PASS_PROBE));
  if (mark_crossings(world)) {
    blk_check_forget(world);
    *te = t;
    SLT_TRY(locate(trial, before, te));
    return SLT_EVENT;
  }
  *at = (Triple){{at->t[1], before, t}, at->pass_middle, world->passes.kept};
  return at->t[0] < at->t[1] ? search_dips(trial, at, te) : SLT_OK;
}

/// Look for the first state event of the trial. SLT_EVENT: it is at `*te`, the memories are forced.
static SltStatus search(Trial* trial, double* te) {
  SltWorld* world = trial->world;
  uint32_t count = probe_count(world, trial->t1 - trial->t0);
  Triple at = {.t = {trial->t0, trial->t0, trial->t0}};
  for (double before = trial->t0; before < trial->t1;) {
    double t = next_probe(trial, before, count);
    if (t <= before) t = trial->t1;
    SltStatus status = probe(trial, before, t, &at, te);
    if (status != SLT_OK) return status;
    // what check blocks want happens at the end of the step, after the discrete blocks there
    if (t < trial->t1 || blk_due(world, t)) blk_check_forget(world);
    blk_check_keep(world);
    before = t;
  }
  return SLT_OK;
}

static SltStatus sample_at(Trial* trial, double t) {
  SltWorld* world = trial->world;
  SLT_TRY(state_at(trial, t));
  if (blk_has_checks(world) && world->record.scene.shape_count > 0) {
    SLT_TRY(blk_check_pass(world, BLK_PASS_PROBE));  // for the poses they give
    blk_check_forget(world);
  }
  return blk_sample(world);
}

/// Samples strictly inside the trial.
static SltStatus sample_inside(Trial* trial, double t1) {
  SltWorld* world = trial->world;
  if (!(world->grid.step > 0.0)) return SLT_OK;
  for (;; world->grid.next++) {
    double t = blk_grid_time(world, world->grid.next);
    if (!(t < t1 - blk_time_eps(t1))) return SLT_OK;
    if (t > trial->t0 && blk_wants_samples(world)) SLT_TRY(sample_at(trial, t));
  }
}

/// An accepted trial with its polynomial, or just a stretch of time when there is no state.
static SltStatus make_trial(SltWorld* world, double target, Trial* trial) {
  SLT_TRY(blk_layout(world));
  *trial =
      (Trial){.world = world, .t0 = world->t, .t1 = target, .dense = world->motion.state_count > 0};
  world->h = target - world->t;
  if (!trial->dense) return SLT_OK;
  SLT_TRY(prepare_stepper(world, target));
  SLT_TRY(attempt(world, target));
  trial->t1 = world->motion.stepper->trial.t;
  SltStatus status = num_dense_prepare(world->motion.stepper);
  if (status < 0) return blk_fail(world, status, DIAG_E0901, "dense output cannot be computed");
  return SLT_OK;
}

SltStatus blk_step_located(SltWorld* world, double target) {
  Trial trial;
  SLT_TRY(make_trial(world, target, &trial));
  double te = trial.t1;
  SltStatus found = blk_has_checks(world) ? search(&trial, &te) : SLT_OK;
  if (found < 0) return found;
  world->passes.after_event = false;
  SLT_TRY(sample_inside(&trial, te));
  if (trial.dense) {
    SLT_TRY(num_stepper_accept_until(world->motion.stepper, te));
    blk_scatter(world, world->motion.stepper->x);
  }
  SLT_TRY(blk_pass(world, te, NULL));
  world->statistics.steps++;
  if (found == SLT_EVENT) world->statistics.rollbacks++;
  return found;
}

// SPDX-License-Identifier: MIT
//
// The run: steps between instants, and what happens at an instant.
//
// Instant: discrete blocks that are due (and what they schedule without delay), the continuous
// blocks once so that everybody sees the new state, the check blocks, the conditions of waiting
// processes; again until nothing is due. A world without anything continuous takes a short cut
// through the queue.
#include "blocks/blocks.h"

#include <math.h>

#define CROWD           1000000  // events at one instant that deserve a remark
#define ZENO_FIRINGS    10000    // state events without progress of time
#define WINDOW_RELATIVE 1e-12    // times closer than this are one time

double blk_time_eps(double t) {
  return WINDOW_RELATIVE * fmax(1e-3, fabs(t));
}

double blk_grid_time(const SltWorld* world, uint64_t n) {
  return world->grid.base + (double)n * world->grid.step;
}

bool blk_wants_samples(const SltWorld* world) {
  return !world->record.off &&
         (world->record.watch_count > 0 || world->record.scene.shape_count > 0);
}

bool blk_due(SltWorld* world, double t) {
  return blk_queue_time(world) <= t;
}

SltStatus blk_sample(SltWorld* world) {
  if (world->record.off) return SLT_OK;
  world->record.t_sampled = world->t;
  if (world->record.watch_count > 0) SLT_TRY(blk_watch_row(world));
  if (world->record.scene.shape_count > 0) SLT_TRY(blk_scene_commit(world));
  if (world->record.watcher.writer.write) blk_watcher_tell(world);
  return SLT_OK;
}

/// Nothing but events: no step, sample or check is needed between them.
static bool is_plain(SltWorld* world) {
  if (!world->plain_known) {
    world->plain = world->motion.order_count == 0 && world->nodes.active_count[0] == 0 &&
                   world->nodes.active_count[1] == 0 && world->processes.condition_count == 0 &&
                   world->record.watch_count == 0 && world->record.scene.shape_count == 0 &&
                   !world->pace.on_input && world->pace.factor == 0.0;
    world->plain_known = true;
  }
  return world->plain;
}

/// Execute an event that was taken out of the queue.
static SltStatus execute(SltWorld* world, BlkEntry entry) {
  BlkNode* node = &world->nodes.all[entry.slot];
  if (node->kind != SLT_BLOCK_DISCRETE) return blk_node_activate(world, entry.slot);
  if (node->chain > world->options.max_chain) {
    return blk_fail(world, SLT_ERR_LIMIT, DIAG_E0903,
                    "endless loop without delay: block '%s' is the last of %u events that follow "
                    "from each other at one time",
                    blk_name_text(world, node->name), node->chain);
  }
  node->state = BLK_RUNNING;
  world->nodes.chain = node->chain;
  world->statistics.events++;
  world->phase = BLK_DISCRETE;
  blk_call_node(world, entry.slot);
  world->phase = BLK_IDLE;
  blk_node_free(world, entry.slot);
  if (++world->passes.instant_events == CROWD) {
    blk_message(world, SLT_NOTE, DIAG_W0908, "more than %d events at one instant", CROWD);
  }
  return world->failure.status < 0 ? world->failure.status : SLT_OK;
}

static void enter_time(SltWorld* world, double t) {
  world->t = t;
  world->passes.instant++;
  world->passes.instant_events = 0;
  world->nodes.chain = 0;
  world->record.scene.now_count = 0;
}

/// Events up to `t_end` as long as the world is plain.
static SltStatus run_plain(SltWorld* world, double t_end) {
  while (!world->stop && is_plain(world)) {
    BlkEntry entry;
    if (!blk_queue_take(world, t_end, &entry)) {
      enter_time(world, t_end);
      break;
    }
    double t = blk_key_time(entry.key);
    if (t > world->t) {
      world->t = t;
      world->passes.instant++;
      world->passes.instant_events = 0;
    }
    SLT_TRY(execute(world, entry));
  }
  // the continuous part, should it come into being, starts from what the events have left
  world->dirty = true;
  if (world->grid.step > 0.0) {
    double passed = floor((world->t - world->grid.base) / world->grid.step);
    world->grid.next = (uint64_t)passed + 1;
  }
  return SLT_OK;
}

/// Bring the values the continuous blocks compute up to date.
static SltStatus refresh(SltWorld* world) {
  if (!world->dirty) return SLT_OK;
  double t = world->t;
  SLT_TRY(blk_layout(world));
  world->dirty = false;
  SltStatus status = blk_pass(world, t, blk_row(world, 1));
  world->motion.derivative_known = status >= 0;
  if (world->motion.state_count > 0) blk_gather(world, blk_row(world, 5));
  world->motion.stepper_stale = true;
  return world->failure.status < 0 ? world->failure.status : SLT_OK;
}

static SltStatus check_live(SltWorld* world) {
  if (!blk_has_checks(world)) return SLT_OK;
  SLT_TRY(blk_check_pass(world, BLK_PASS_LIVE));
  for (uint32_t i = 0; i < world->memory.count; i++) {
    world->memory.data[i].forced = false;
  }
  blk_check_keep(world);
  return SLT_OK;
}

static SltStatus sample_if(SltWorld* world, bool wanted) {
  return wanted && blk_wants_samples(world) ? blk_sample(world) : SLT_OK;
}

/// Discrete blocks that are due, then everything that looks at their results. `first`: look anyway.
static SltStatus instant_round(SltWorld* world, bool first) {
  bool ran = false;
  while (!world->stop && blk_due(world, world->t)) {
    SLT_TRY(execute(world, blk_queue_pop(world)));
    world->dirty = true;
    ran = true;
  }
  SLT_TRY(refresh(world));
  if (!ran && !first) return SLT_OK;
  world->passes.fired = false;
  SLT_TRY(check_live(world));
  if (world->passes.fired) world->passes.after_event = true;
  return refresh(world);
}

/// A state event was located at the present time: the check blocks hear of it.
static SltStatus instant_fired(SltWorld* world) {
  SLT_TRY(check_live(world));
  world->passes.after_event = true;
  return refresh(world);
}

/// Everything that happens at the present time. `fired`: a state event was located here.
static SltStatus instant(SltWorld* world, bool fired, bool begin) {
  bool due = blk_due(world, world->t);
  if (!begin && !fired && !due && world->processes.condition_count == 0) return SLT_OK;
  bool both_sides = (fired || due) && !begin;
  SLT_TRY(sample_if(world, both_sides));
  if (begin) world->dirty = true;  // between two runs the user may have changed anything
  if (fired) SLT_TRY(instant_fired(world));
  bool again = true;
  for (bool first = begin; again; first = false) {
    SLT_TRY(instant_round(world, first));
    bool woke = blk_conditions(world);
    again = !world->stop && (woke || blk_due(world, world->t));
  }
  return sample_if(world, both_sides);
}

/// Guards against state events that pile up at one time.
static SltStatus note_firing(SltWorld* world) {
  bool still = world->t - world->passes.t_fired <= blk_time_eps(world->t);
  world->passes.fired_chain = still ? world->passes.fired_chain + 1 : 0;
  world->passes.t_fired = world->t;
  if (world->passes.fired_chain < ZENO_FIRINGS) return SLT_OK;
  return blk_fail(world, SLT_ERR_ZENO, DIAG_E0904,
                  "state events follow each other without progress of time");
}

/// At a sample: pace, input, row.
static SltStatus grid_point(SltWorld* world, bool sampled) {
  world->grid.next++;
  if (world->pace.factor > 0.0) blk_pace_wait(world);
  if (!sampled && blk_wants_samples(world)) SLT_TRY(blk_sample(world));
  if (world->pace.on_input) {
    world->phase = BLK_DISCRETE;
    world->pace.on_input(world, world->pace.input_user);
    world->phase = BLK_IDLE;
    if (world->journal.count > 0) blk_journal_apply(world);
    world->dirty = true;
    SLT_TRY(refresh(world));
  }
  return world->failure.status < 0 ? world->failure.status : SLT_OK;
}

/// Where the next step may go at most. Times that differ by rounding only are one time: the
/// event's.
static double next_target(SltWorld* world) {
  double target = world->t_end;
  double event = blk_queue_time(world);
  if (event < target + blk_time_eps(target) && event <= target) target = event;
  bool grid_bound = !world->method || world->pace.on_input || world->pace.factor > 0.0 ||
                    (world->motion.order_count == 0 && world->grid.step > 0.0);
  if (grid_bound && world->grid.step > 0.0) {
    double grid = blk_grid_time(world, world->grid.next);
    if (grid < target - blk_time_eps(target)) target = grid;
  }
  return target;
}

static SltStatus advance(SltWorld* world) {
  double target = next_target(world);
  enter_time(world, world->t);
  SltStatus status =
      world->method ? blk_step_located(world, target) : blk_step_literal(world, target);
  if (status < 0) return world->failure.status < 0 ? world->failure.status : status;
  bool fired = status == SLT_EVENT;
  if (fired) SLT_TRY(note_firing(world));
  bool sampled = fired || blk_due(world, world->t);
  SLT_TRY(instant(world, fired, false));
  if (world->grid.step > 0.0) {
    double grid = blk_grid_time(world, world->grid.next);
    while (grid < world->t - blk_time_eps(world->t)) {
      grid = blk_grid_time(world, ++world->grid.next);
    }
    if (grid <= world->t + blk_time_eps(world->t)) SLT_TRY(grid_point(world, sampled));
  }
  return SLT_OK;
}

static SltStatus begin_run(SltWorld* world, double t_end, double step) {
  world->t_end = t_end;
  world->grid.base = world->t;
  world->grid.step = step;
  world->grid.next = 1;
  world->plain_known = false;
  world->h = step;
  blk_pace_begin(world);
  enter_time(world, world->t);
  SLT_TRY(instant(world, false, true));
  if (blk_wants_samples(world) && world->record.t_sampled != world->t) SLT_TRY(blk_sample(world));
  if (world->pace.on_input) {
    world->grid.next = 0;
    SLT_TRY(grid_point(world, true));
  }
  return SLT_OK;
}

/// One event of a plain world up to `t_end`, or one step of any other.
static SltStatus proceed(SltWorld* world, double t_end) {
  if (is_plain(world)) return run_plain(world, t_end);
  if (!(world->grid.step > 0.0)) {
    return blk_fail(world, SLT_ERR_ARGUMENT, DIAG_E0905, "the step is not positive");
  }
  return world->t < t_end ? advance(world) : instant(world, false, false);
}

static SltStatus run(SltWorld* world, double t_end, double step) {
  SLT_TRY(begin_run(world, t_end, step));
  while (!world->stop && (world->t < t_end || blk_due(world, t_end))) {
    SLT_TRY(proceed(world, t_end));
  }
  return sample_if(world, !world->stop && world->record.t_sampled != world->t);
}

SltStatus slt_world_run(SltWorld* world, double t_end, double step) {
  if (!world) return SLT_ERR_ARGUMENT;
  if (world->running) {
    blk_message(world, SLT_WARNING, DIAG_W0909, "a run is started inside a run; ignored");
    return SLT_ERR_ARGUMENT;
  }
  if (world->failure.status < 0) return world->failure.status;
  if (!isfinite(t_end) || t_end < world->t || !(step >= 0.0) || isinf(step)) {
    return SLT_ERR_ARGUMENT;
  }
  world->running = true;
  world->stop = false;
  world->plain_known = false;
  SltStatus status = run(world, t_end, step);
  if (status < 0) (void)blk_fail(world, status, DIAG_E0906, "%s", slt_status_text(status));
  world->running = false;
  world->phase = BLK_IDLE;
  world->probing = false;
  world->nodes.current = 0;
  if (world->failure.status < 0) return world->failure.status;
  return world->stop ? SLT_END : SLT_OK;
}

// SPDX-License-Identifier: MIT
//
// The literal way (J. Culik, "CDCSIS - software for discrete continuous simulation", 2.3 and 2.4):
// classical Runge-Kutta over the whole step; when a check block has seen a signal leave the
// positive values, one linear interpolation gives the time, and the step is repeated up to there.
//
// Bit for bit, with h = t1 - t0:
//   k1 = f(t0, y)             k2 = f(t0 + 0.5 h, y + (0.5 h) k1)
//   k3 = f(t0 + 0.5 h, y + (0.5 h) k2)       k4 = f(t1, y + h k3)
//   y1 = y + (h / 6) (((k1 + 2 k2) + 2 k3) + k4)
//   te = t0 + (x0 / (x0 - x1)) h
// The continuous blocks run once more at (t1, y1), for discrete and check blocks to see what
// belongs to the new time; that pass is k1 of the next step unless an event comes between.
#include "blocks/blocks.h"

#include <math.h>
#include <string.h>

#define ROW_Y0 0
#define ROW_K1 1
#define ROW_K2 2
#define ROW_K3 3
#define ROW_K4 4
#define ROW_Y  5

static void stage(SltWorld* world, double h, uint32_t k_row) {
  const double* y0 = blk_row(world, ROW_Y0);
  const double* k = blk_row(world, k_row);
  double* y = blk_row(world, ROW_Y);
  for (uint32_t i = 0; i < world->motion.state_count; i++) {
    y[i] = y0[i] + h * k[i];
  }
  blk_scatter(world, y);
}

/// From y0 and k1 to time t1; leaves the new state in the user's memory and its derivative in k2.
static SltStatus runge_kutta(SltWorld* world, double t0, double t1) {
  double h = t1 - t0;
  world->h = h;
  if (world->motion.state_count > 0) {
    stage(world, 0.5 * h, ROW_K1);
    SLT_TRY(blk_pass(world, t0 + 0.5 * h, blk_row(world, ROW_K2)));
    stage(world, 0.5 * h, ROW_K2);
    SLT_TRY(blk_pass(world, t0 + 0.5 * h, blk_row(world, ROW_K3)));
    stage(world, h, ROW_K3);
    SLT_TRY(blk_pass(world, t1, blk_row(world, ROW_K4)));
    const double* y0 = blk_row(world, ROW_Y0);
    const double* k1 = blk_row(world, ROW_K1);
    const double* k2 = blk_row(world, ROW_K2);
    const double* k3 = blk_row(world, ROW_K3);
    const double* k4 = blk_row(world, ROW_K4);
    double* y = blk_row(world, ROW_Y);
    double sixth = h / 6.0;
    for (uint32_t i = 0; i < world->motion.state_count; i++) {
      y[i] = y0[i] + sixth * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
    blk_scatter(world, y);
  }
  return blk_pass(world, t1, blk_row(world, ROW_K2));
}

/// Earliest interpolated crossing, HUGE_VAL when there is none; the memories that cross there are
/// forced.
static double earliest_crossing(SltWorld* world, double t0, double h) {
  double earliest = HUGE_VAL;
  for (uint32_t i = 0; i < world->memory.touched_count; i++) {
    BlkMemory* memory = &world->memory.data[world->memory.touched[i]];
    memory->crossed = blk_memory_crosses(world, memory);
    if (!memory->crossed) continue;
    memory->t_cross = t0 + memory->x_last / (memory->x_last - memory->x) * h;
    if (memory->t_cross < earliest) earliest = memory->t_cross;
  }
  for (uint32_t i = 0; i < world->memory.touched_count; i++) {
    BlkMemory* memory = &world->memory.data[world->memory.touched[i]];
    memory->forced = memory->crossed && memory->t_cross == earliest;
  }
  return earliest;
}

/// y0 and k1 at the present point.
static SltStatus begin_step(SltWorld* world) {
  SLT_TRY(blk_layout(world));
  double* y0 = blk_row(world, ROW_Y0);
  if (world->motion.state_count > 0) {
    blk_gather(world, y0);
    // a check block may have written into the state without any event
    size_t bytes = world->motion.state_count * sizeof *y0;
    if (memcmp(y0, blk_row(world, ROW_Y), bytes) != 0) world->motion.derivative_known = false;
  }
  return world->motion.derivative_known ? SLT_OK
                                        : blk_pass(world, world->t, blk_row(world, ROW_K1));
}

/// Let the check blocks look at the end of the step; `*te` is the earliest crossing or HUGE_VAL.
static SltStatus probe_end(SltWorld* world, double t0, double t1, double* te) {
  *te = HUGE_VAL;
  if (!blk_has_checks(world)) return SLT_OK;
  SLT_TRY(blk_check_pass(world, BLK_PASS_PROBE));
  *te = earliest_crossing(world, t0, t1 - t0);
  if (*te < HUGE_VAL) {
    blk_check_forget(world);
    *te = fmin(fmax(*te, t0), t1);
    return SLT_OK;
  }
  if (blk_due(world, t1)) blk_check_forget(world);  // discrete blocks first, then checks once more
  blk_check_keep(world);
  return SLT_OK;
}

SltStatus blk_step_literal(SltWorld* world, double target) {
  double t0 = world->t;
  double te = HUGE_VAL;
  SLT_TRY(begin_step(world));
  SLT_TRY(runge_kutta(world, t0, target));
  SLT_TRY(probe_end(world, t0, target, &te));
  world->statistics.steps++;
  if (te < HUGE_VAL) {
    world->statistics.rollbacks++;
    if (world->motion.state_count > 0) blk_scatter(world, blk_row(world, ROW_Y0));
    SLT_TRY(runge_kutta(world, t0, te));
  }
  if (world->motion.state_count > 0) {
    memcpy(blk_row(world, ROW_K1), blk_row(world, ROW_K2),
           world->motion.state_count * sizeof(double));
    blk_gather(world, blk_row(world, ROW_Y));
  }
  world->motion.derivative_known = true;
  return te < HUGE_VAL ? SLT_EVENT : SLT_OK;
}

// SPDX-License-Identifier: MIT
//
// Dormand-Prince 5(4), the default method.
#include "numeric/erk.h"

const NumStageRow num_dp54_rows[6] = {DP54_STAGES(ERK_ROW)};

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus dp54_any(NumStepper* s, bool small) {
  ERK_ROWS;
  double* restrict k2 = erk_k(s, 2);
  double* restrict k3 = erk_k(s, 3);
  double* restrict k4 = erk_k(s, 4);
  double* restrict k5 = erk_k(s, 5);
  double* restrict k6 = erk_k(s, 6);
  double* restrict k7 = s->f_row[s->row_end];
  double* restrict scaled = s->scaled;
  bool ahead = s->ahead.kernel && num_ahead_take(s);
  if (ahead || s->stages) {
    const NumStages stages = {.t = s->trial.t0,
                              .h = h,
                              .t_end = s->trial.t,
                              .x = x,
                              .k1 = k1,
                              .k = s->k,
                              .stride = s->n_max,
                              .y = y,
                              .x_end = x_end,
                              .k7 = k7};
    s->counters.rhs += SLT_COUNT(num_dp54_rows);
    if (!ahead) SLT_TRY(s->stages(s->user, &stages));
    ERK_SCALED_ERROR(DP54_E, scaled);
    return erk_finish(s, num_norm_squared(s, scaled));
  }
  ERK_STAGE(2, 1.0 / 5, DP54_A2);
  ERK_STAGE(3, 3.0 / 10, DP54_A3);
  ERK_STAGE(4, 4.0 / 5, DP54_A4);
  ERK_STAGE(5, 8.0 / 9, DP54_A5);
  ERK_STAGE_END(6, DP54_A6);
  ERK_END(DP54_B);
  SLT_TRY(num_rhs(s, s->trial.t, x_end, k7));
  ERK_SCALED_ERROR(DP54_E, scaled);
  return erk_finish(s, num_norm_squared(s, scaled));
}
ERK_STEP(dp54)

/// Hairer & Wanner II, IV.2: stage 6 and the end share c = 1, so a forcing cancels.
static double dp54_probe(const NumStepper* s) {
  return erk_ratio(s, s->trial.h, s->trial.f, erk_k(s, 6), s->trial.x, s->stage_x);
}

ERK_INLINE SltStatus dp54_dense_any(NumStepper* s, const bool small) {
  const size_t n = s->n;
  const double h = s->trial.h;
  const double* restrict k1 = s->trial.f0;
  const double* restrict k3 = erk_k(s, 3);
  const double* restrict k4 = erk_k(s, 4);
  const double* restrict k5 = erk_k(s, 5);
  const double* restrict k6 = erk_k(s, 6);
  const double* restrict k7 = s->trial.f;
  double* restrict r4 = s->dense + (size_t)4 * s->n_max;
  ERK_FOR(r4[i] = h * ERK_SUM(DP54_D));
  return SLT_OK;
}

static SltStatus dp54_dense(NumStepper* s) {
  return s->n <= ERK_SMALL ? dp54_dense_any(s, true) : dp54_dense_any(s, false);
}

/// k2 = f at `theta` on the quartic. What comes after the step reads other rows.
static SltStatus dp54_slope(NumStepper* s, double theta) {
  double t = s->trial.t0 + theta * s->trial.h;
  num_dense_eval(s, t, s->dense);
  return num_rhs(s, t, s->dense, erk_k(s, 2));
}

// f on the quartic is off by O(h^5): a quintic with the slopes there, at DP54_EXTEND_1 and
// DP54_EXTEND_2, has order 5. It is r4 + theta r5 in place of r4, and with these two places its
// constants of order 6 are no larger than those of the step. (The slope of theta^2 (1 - theta)^2
// vanishes at the second.)
static bool dp54_extend(NumStepper* s) {
  const size_t n = s->trial.n;
  const double h = s->trial.h;
  const double* k2 = erk_k(s, 2);
  const double* restrict r1 = s->dense + s->n_max;
  const double* restrict r2 = s->dense + (size_t)2 * s->n_max;
  const double* restrict r3 = s->dense + (size_t)3 * s->n_max;
  double* restrict r4 = s->dense + (size_t)4 * s->n_max;
  double* restrict r5 = s->dense + (size_t)5 * s->n_max;
  double zero = 0.0;
  if (dp54_slope(s, DP54_EXTEND_1) < 0) return false;
  for (size_t i = 0; i < n; i++) {
    r5[i] = h * k2[i] - (r1[i] + 0.6 * r2[i] + 0.28 * r3[i]);
    zero += r5[i] - r5[i];  // NaN for NaN and infinity
  }
  if (dp54_slope(s, DP54_EXTEND_2) < 0) return false;
  for (size_t i = 0; i < n; i++) {
    zero += h * k2[i] - h * k2[i];
  }
  if (zero != 0.0) return false;
  for (size_t i = 0; i < n; i++) {
    double bend = 16.0 * (h * k2[i] - (r1[i] + 0.25 * r3[i]));
    r4[i] = r5[i] / 0.192 - bend / 3.0;
    r5[i] = bend;
  }
  s->trial.degree = 5;
  return true;
}

const NumKernel num_kernel_dp54 = {.k_rows = 5,
                                   .rows = num_dp54_rows,
                                   .row_count = SLT_COUNT(num_dp54_rows),
                                   .step = dp54_step,
                                   .dense = dp54_dense,
                                   .extend = dp54_extend,
                                   .probe = dp54_probe,
                                   .error_exponent = 1.0 / 5};

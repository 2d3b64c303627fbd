// SPDX-License-Identifier: MIT
//
// Dormand-Prince 8(5,3) with a continuous extension of order 7, for tight tolerances.
#include "numeric/erk.h"

/// Square of |h e5|^2 / sqrt(|h e5|^2 + 0.01 |h e3|^2), which behaves like h^8 (HNW I, II.10).
static double dop853_error_squared(const NumStepper* s, const double* e5, const double* e3) {
  double five = num_norm_squared(s, e5);
  double three = num_norm_squared(s, e3);
  double scale = five + 0.01 * three;
  return scale == 0.0 ? 0.0 : five * (five / scale);
}

static const NumStageRow rows[] = {
    // clang-format off
    ERK_ROW(2, DOP853_C2, DOP853_A2)
    ERK_ROW(3, DOP853_C3, DOP853_A3)
    ERK_ROW(4, DOP853_C4, DOP853_A4)
    ERK_ROW(5, DOP853_C5, DOP853_A5)
    ERK_ROW(6, DOP853_C6, DOP853_A6)
    ERK_ROW(7, DOP853_C7, DOP853_A7)
    ERK_ROW(8, DOP853_C8, DOP853_A8)
    ERK_ROW(9, DOP853_C9, DOP853_A9)
    ERK_ROW(10, DOP853_C10, DOP853_A10)
    ERK_ROW(11, DOP853_C11, DOP853_A11)
    ERK_ROW(12, 1.0, DOP853_A12)
    ERK_ROW(13, 1.0, DOP853_B)
    // clang-format on
};

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus dop853_any(NumStepper* s, bool small) {
  ERK_ROWS;
  double* restrict k2 = erk_k(s, 2);
  double* restrict k3 = erk_k(s, 3);
  double* restrict k4 = erk_k(s, 4);
  double* restrict k5 = erk_k(s, 5);
  double* restrict k6 = erk_k(s, 6);
  double* restrict k7 = erk_k(s, 7);
  double* restrict k8 = erk_k(s, 8);
  double* restrict k9 = erk_k(s, 9);
  double* restrict k10 = erk_k(s, 10);
  double* restrict k11 = erk_k(s, 11);
  double* restrict k12 = erk_k(s, 12);
  double* restrict k13 = s->f_row[s->row_end];
  double* restrict scaled = s->scaled;
  double* restrict scaled3 = s->dense;  // free until dense output is prepared
  if (s->ahead.kernel && num_ahead_take(s)) {
    s->counters.rhs += SLT_COUNT(rows);
  } else {
    ERK_STAGE(2, DOP853_C2, DOP853_A2);
    ERK_STAGE(3, DOP853_C3, DOP853_A3);
    ERK_STAGE(4, DOP853_C4, DOP853_A4);
    ERK_STAGE(5, DOP853_C5, DOP853_A5);
    ERK_STAGE(6, DOP853_C6, DOP853_A6);
    ERK_STAGE(7, DOP853_C7, DOP853_A7);
    ERK_STAGE(8, DOP853_C8, DOP853_A8);
    ERK_STAGE(9, DOP853_C9, DOP853_A9);
    ERK_STAGE(10, DOP853_C10, DOP853_A10);
    ERK_STAGE(11, DOP853_C11, DOP853_A11);
    ERK_STAGE_END(12, DOP853_A12);
    ERK_END(DOP853_B);
    SLT_TRY(num_rhs(s, s->trial.t, x_end, k13));
  }
  ERK_SCALED_ERROR(DOP853_E5, scaled);
  ERK_SCALED_ERROR(DOP853_E3, scaled3);
  return erk_finish(s, dop853_error_squared(s, scaled, scaled3));
}
ERK_STEP(dop853)

/// Stage 12 and the end share c = 1.
static double dop853_probe(const NumStepper* s) {
  return erk_ratio(s, s->trial.h, s->trial.f, erk_k(s, 12), s->trial.x, s->stage_x);
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
static SltStatus dop853_dense(NumStepper* s) {
  const bool small = s->n <= ERK_SMALL;
  const size_t n = s->n;
  const size_t row = s->n_max;
  const double h = s->trial.h;
  const double* restrict x = s->trial.x0;
  const double* restrict k1 = s->trial.f0;
  const double* restrict k6 = erk_k(s, 6);
  const double* restrict k7 = erk_k(s, 7);
  const double* restrict k8 = erk_k(s, 8);
  const double* restrict k9 = erk_k(s, 9);
  const double* restrict k10 = erk_k(s, 10);
  const double* restrict k11 = erk_k(s, 11);
  const double* restrict k12 = erk_k(s, 12);
  const double* restrict k13 = s->trial.f;
  double* restrict k14 = erk_k(s, 14);
  double* restrict k15 = erk_k(s, 15);
  double* restrict k16 = erk_k(s, 16);
  double* restrict r4 = s->dense + 4 * row;
  double* restrict r5 = s->dense + 5 * row;
  double* restrict r6 = s->dense + 6 * row;
  double* restrict r7 = s->dense + 7 * row;

  // three more stages; their argument uses a row of the result, the probe still needs stage_x
  double* y = r4;
  ERK_STAGE(14, DOP853_C14, DOP853_A14);
  ERK_STAGE(15, DOP853_C15, DOP853_A15);
  ERK_STAGE(16, DOP853_C16, DOP853_A16);
  ERK_FOR(r4[i] = h * ERK_SUM(DOP853_D4));
  ERK_FOR(r5[i] = h * ERK_SUM(DOP853_D5));
  ERK_FOR(r6[i] = h * ERK_SUM(DOP853_D6));
  ERK_FOR(r7[i] = h * ERK_SUM(DOP853_D7));
  return SLT_OK;
}

// stage 13 is f at the end and needs no row; its place is left empty to keep the numbering plain
const NumKernel num_kernel_dop853 = {.rows = rows,
                                     .row_count = SLT_COUNT(rows),
                                     .k_rows = 15,
                                     .step = dop853_step,
                                     .dense = dop853_dense,
                                     .probe = dop853_probe,
                                     .error_exponent = 1.0 / 8};

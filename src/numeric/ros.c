// SPDX-License-Identifier: MIT
//
// Rosenbrock methods: linearly implicit, L-stable, stiffly accurate (Hairer & Wanner II, IV.7,
// VI.4).
//
// One matrix D/(h gamma) - J is factored per step and serves all stages; J itself lasts until a
// step is accepted. Algebraic unknowns are rows without a derivative. Their values at the beginning
// of a step come from the system's own solution of the algebraic equations, so nothing drifts;
// inside the step they follow the stages, which costs no iteration. The error is estimated in the
// states.
#include "numeric/erk.h"
#include "numeric/ros_tableau.h"

#define ROS_FOR(limit, ...) \
  do { \
    if (small) { \
      for (size_t i = 0; i < (limit); i++) { \
        ERK_SCALAR(i); \
        __VA_ARGS__; \
      } \
    } else { \
      for (size_t i = 0; i < (limit); i++) { \
        __VA_ARGS__; \
      } \
    } \
  } while (0)

/// Names that every kernel uses; `all` counts states and algebraic unknowns.
#define ROS_ROWS \
  const NumLinearRows* rows = num_linear_rows(s->system.linear); \
  const size_t n = rows->states; \
  const size_t all = rows->count; \
  const double h = s->trial.h; \
  const double per_h = 1.0 / h; \
  const double* restrict x = rows->xu; \
  double* restrict y = rows->y; \
  double* restrict out = rows->out; \
  double* restrict k1 = rows->u[1]; \
  double* restrict k2 = rows->u[2]; \
  double* restrict k3 = rows->u[3]; \
  double* restrict k4 = rows->u[4]

/// System at a stage, its argument being in y.
static SltStatus evaluate(NumStepper* s, double t, const double* y, double* out) {
  if (!s->system.stage) {
    return num_rhs(s, t, y, out);
  }
  s->counters.rhs++;
  return s->system.stage(s->system.user, t, y, out);
}

/// Factors for this step size; those of the last attempt if it was as long.
static SltStatus factor(NumStepper* s, double gamma) {
  double c = 1.0 / (s->trial.h * gamma);
  if (s->factored == c) {
    return SLT_OK;
  }
  s->factored = 0.0;
  s->counters.factors++;
  SLT_TRY(num_linear_factor(s->system.linear, c));
  s->factored = c;
  return SLT_OK;
}

/// Part of every stage's right-hand side: h d F_t.
static inline void add_time(const NumStepper* s, const NumLinearRows* rows, double d, double* b) {
  if (!s->timed || d == 0.0) {
    return;
  }
  const double scale = s->trial.h * d;
  for (size_t i = 0; i < rows->count; i++) {
    b[i] += scale * rows->ft[i];
  }
}

/// The first stage; the algebraic equations hold where it begins.
static void first_stage(const NumStepper* s, const NumLinearRows* rows, double d) {
  double* b = rows->u[1];
  for (size_t i = 0; i < rows->count; i++) {
    b[i] = i < rows->states ? s->trial.f0[i] : 0.0;
  }
  add_time(s, rows, d, b);
  num_linear_solve(s->system.linear, b);
}

/// Increment of stage j. Its row holds what the earlier ones contribute, `out` the system's part.
static inline void solve_stage(const NumStepper* s, const NumLinearRows* rows, double d,
                               double* k) {
  NumLinear* linear = s->system.linear;
  if (!s->timed || d == 0.0) {
    num_linear_solve_sum(linear, k, rows->out);
    return;
  }
  const double scale = s->trial.h * d;
  for (size_t i = 0; i < rows->count; i++) {
    k[i] = (rows->out[i] + k[i]) + scale * rows->ft[i];
  }
  num_linear_solve(linear, k);
}

// Both sums over the increments in one pass: large systems are limited by memory.
#define ROS_BEGIN(j, argument, C) \
  ROS_FOR(n, y[i] = argument; k##j[i] = per_h * ERK_SUM(C)); \
  for (size_t i = n; i < all; i++) { \
    y[i] = argument; \
    k##j[i] = 0.0; \
  }

#define ROS_STAGE(j, c, d, A, C) \
  ROS_BEGIN(j, x[i] + ERK_SUM(A), C) \
  SLT_TRY(evaluate(s, (c) == 1.0 ? s->trial.t : s->trial.t0 + (c)*h, y, out)); \
  solve_stage(s, rows, d, k##j)

/// The argument is that of the stage before with its increment.
#define ROS_STAGE_END(j, before, C) \
  ROS_BEGIN(j, y[i] + k##before[i], C) \
  SLT_TRY(evaluate(s, s->trial.t, y, out)); \
  solve_stage(s, rows, 0.0, k##j)

/// New state and error from the last stage.
#define ROS_END(last) \
  do { \
    double* restrict x_end = s->x_row[s->row_end]; \
    double* restrict scaled = s->scaled; \
    const double* restrict atol = s->atol; \
    const double rtol = s->options.rtol; \
    ROS_FOR(n, x_end[i] = y[i] + k##last[i]; \
            double weight = atol[i] + rtol * num_max(num_abs(x[i]), num_abs(x_end[i])); \
            scaled[i] = k##last[i] / weight); \
  } while (0)

#define ROS_DENSE(j, LIST) \
  do { \
    double* restrict r = s->dense + (size_t)(j)*s->n_max; \
    ROS_FOR(n, r[i] = ERK_SUM(LIST)); \
  } while (0)

#define MIDDLE_SHARE 0.25  // square of the part of the error between the ends that counts
#define LAYER_SEEN   4.0   // squares of a rate, in steps, that show a layer: its error...
#define LAYER_FAR    400.0
#define LAYER_WEIGHT 625.0  // ...falls slowly with the step, or not at all: cut it further

/// Error by weight, squared norm.
ERK_INLINE double scaled_norm(NumStepper* s, const double* error, bool small) {
  const size_t n = s->n;
  const double rtol = s->options.rtol;
  const double* restrict atol = s->atol;
  const double* restrict x0 = s->trial.x0;
  const double* restrict x1 = s->trial.x;
  double* restrict scaled = s->scaled;
  ROS_FOR(n, double size = num_max(num_abs(x0[i]), num_abs(x1[i]));
          scaled[i] = error[i] / (atol[i] + rtol * size));
  return num_norm_squared(s, scaled);
}

/// Store the error of the trial: that at its end or, if larger, that of the dense output at its
/// middle.
///
/// Stiff components are right at the end whatever happened on the way; their way is seen by the
/// defect of the dense output, f(p) - p', filtered by the matrix of the step. For slow components
/// this is about their error, for fast ones their distance from where they belong. So a layer that
/// an event has left is not stepped over as long as it is larger than the tolerance.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus finish(NumStepper* s, const NumLinearRows* rows, uint32_t degree, bool small) {
  const double end_squared = num_norm_squared(s, s->scaled);
  if (!(end_squared <= 1.0)) {
    return erk_finish(s, end_squared);
  }
  const size_t n = rows->states;
  const double per_h = 1.0 / s->trial.h;
  const double* restrict x0 = s->trial.x0;
  const double* restrict x1 = s->trial.x;
  const double* restrict r2 = s->dense + (size_t)2 * s->n_max;
  const double* restrict r3 = s->dense + (size_t)(degree > 2 ? 3 : 2) * s->n_max;
  const double* restrict r4 = s->dense + (size_t)(degree > 3 ? 4 : 2) * s->n_max;
  double* restrict middle = rows->y;
  double* restrict defect = rows->out;
  ROS_FOR(n, double bend = r2[i]; if (degree == 3) bend += 0.5 * r3[i];
          if (degree == 4) bend += 0.5 * (r3[i] + 0.5 * r4[i]);
          middle[i] = x0[i] + 0.5 * ((x1[i] - x0[i]) + 0.5 * bend));
  SLT_TRY(num_rhs(s, s->trial.t0 + 0.5 * s->trial.h, middle, defect));
  ROS_FOR(n, double slope = x1[i] - x0[i]; if (degree > 2) slope += 0.25 * r3[i];
          defect[i] -= per_h * slope; middle[i] = defect[i]);
  for (size_t i = n; i < rows->count; i++) {
    defect[i] = 0.0;
  }
  num_linear_solve(s->system.linear, defect);
  double middle_squared = MIDDLE_SHARE * scaled_norm(s, defect, small);
  if (middle_squared > 1.0) {
    // |f(p) - p'| by its filtered value is the rate of what is seen, beside that of the step
    double raw_squared = MIDDLE_SHARE * scaled_norm(s, middle, small);
    double rate_squared = raw_squared / (s->factored * s->factored * middle_squared);
    if (rate_squared > LAYER_SEEN) {
      middle_squared *= rate_squared > LAYER_FAR ? LAYER_WEIGHT * LAYER_WEIGHT : LAYER_WEIGHT;
    }
  }
  // written so that a NaN is not lost
  return erk_finish(s, middle_squared <= end_squared ? end_squared : middle_squared);
}

// ---- order 3 ------------------------------------------------------------------------------------

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus rodas3_any(NumStepper* s, bool small) {
  ROS_ROWS;
  SLT_TRY(factor(s, RODAS3_GAMMA));
  first_stage(s, rows, RODAS3_D1);
  // the second stage looks where the first did
  for (size_t i = 0; i < all; i++) {
    out[i] = i < n ? s->trial.f0[i] : 0.0;
  }
  ROS_FOR(n, k2[i] = per_h * ERK_SUM(RODAS3_C2));
  for (size_t i = n; i < all; i++) {
    k2[i] = 0.0;
  }
  solve_stage(s, rows, 1.5, k2);
  ROS_STAGE(3, 1.0, 0.0, RODAS3_A3, RODAS3_C3);
  ROS_STAGE_END(4, 3, RODAS3_C4);
  ROS_END(4);
  ROS_DENSE(2, RODAS3_H2);
  return finish(s, rows, 2, small);
}
ERK_STEP(rodas3)

const NumKernel num_kernel_rodas3 = {.k_rows = 1, .step = rodas3_step, .error_exponent = 1.0 / 3};

// ---- order 4 ------------------------------------------------------------------------------------

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus rodas_any(NumStepper* s, bool small) {
  ROS_ROWS;
  double* restrict k5 = rows->u[5];
  double* restrict k6 = rows->u[6];
  SLT_TRY(factor(s, RODAS_GAMMA));
  first_stage(s, rows, RODAS_D1);
  ROS_STAGE(2, 0.75, -0.5, RODAS_A2, RODAS_C2);
  ROS_STAGE(3, 0.321448134013046, -0.189532918363016, RODAS_A3, RODAS_C3);
  ROS_STAGE(4, 0.519745732277726, 0.085612108792769, RODAS_A4, RODAS_C4);
  ROS_STAGE(5, 1.0, 0.0, RODAS_A5, RODAS_C5);
  ROS_STAGE_END(6, 5, RODAS_C6);
  ROS_END(6);
  ROS_DENSE(2, RODAS_H2);
  ROS_DENSE(3, RODAS_H3);
  return finish(s, rows, 3, small);
}
ERK_STEP(rodas)

const NumKernel num_kernel_rodas = {.k_rows = 1, .step = rodas_step, .error_exponent = 1.0 / 4};

// ---- order 5 ------------------------------------------------------------------------------------

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus rodas5_any(NumStepper* s, bool small) {
  ROS_ROWS;
  double* restrict k5 = rows->u[5];
  double* restrict k6 = rows->u[6];
  double* restrict k7 = rows->u[7];
  double* restrict k8 = rows->u[8];
  SLT_TRY(factor(s, RODAS5_GAMMA));
  first_stage(s, rows, RODAS5_D1);
  ROS_STAGE(2, 0.6358126895828704, -0.42387512638858027, RODAS5_A2, RODAS5_C2);
  ROS_STAGE(3, 0.4095798393397535, -0.3384627126235924, RODAS5_A3, RODAS5_C3);
  ROS_STAGE(4, 0.9769306725060716, 1.8046452872882734, RODAS5_A4, RODAS5_C4);
  ROS_STAGE(5, 0.4288403609558664, 2.325825639765069, RODAS5_A5, RODAS5_C5);
  ROS_STAGE(6, 1.0, 0.0, RODAS5_A6, RODAS5_C6);
  ROS_STAGE_END(7, 6, RODAS5_C7);
  ROS_STAGE_END(8, 7, RODAS5_C8);
  ROS_END(8);
  ROS_DENSE(2, RODAS5_H2);
  ROS_DENSE(3, RODAS5_H3);
  ROS_DENSE(4, RODAS5_H4);
  return finish(s, rows, 4, small);
}
ERK_STEP(rodas5)

const NumKernel num_kernel_rodas5 = {.k_rows = 1, .step = rodas5_step, .error_exponent = 1.0 / 5};

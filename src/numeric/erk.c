// SPDX-License-Identifier: MIT
//
// Explicit Runge-Kutta methods of low order: Euler, classical, Merson, Bogacki-Shampine.
#include "numeric/erk.h"

SltStatus erk_check_end(NumStepper* s) {
  const double* x_end = s->trial.x;
  double zero = 0.0;
  for (size_t i = 0; i < s->n; i++) {
    zero += x_end[i] - x_end[i];  // NaN for NaN and infinity
  }
  s->trial.error = 0.0;
  return zero == 0.0 ? SLT_OK : SLT_ERR_NOT_FINITE;
}

/// Weighted sums of squares of numerators and denominators, and of what rounding makes of the
/// latter.
typedef struct Ratio {
  double top, bottom, noise;
} Ratio;

/// What rounding may make of a difference of two rates, as far as that is known.
static inline double rate_rounding(const NumStepper* s, size_t i) {
  return s->scales.noise_steps ? 4.0 * s->scales.noise[i] : 0.0;
}

static inline void ratio_add(Ratio* r, double weight, double top, double bottom, double size) {
  double scale = 1.0 / weight;
  double u = top * scale;
  double v = bottom * scale;
  double e = 64.0 * DBL_EPSILON * size * scale;
  r->top += u * u;
  r->bottom += v * v;
  r->noise += e * e;
}

static double ratio_value(const Ratio* r, double factor) {
  return r->bottom > r->noise ? factor * num_sqrt(r->top / r->bottom) : 0.0;
}

double erk_ratio(const NumStepper* s, double factor, const double* a, const double* b,
                 const double* p, const double* q) {
  const double rtol = s->options.rtol;
  Ratio r = {0.0, 0.0, 0.0};
  for (size_t i = 0; i < s->n; i++) {
    double weight = s->atol[i] + rtol * num_abs(s->trial.x[i]);
    double top = num_max(num_abs(a[i] - b[i]) - rate_rounding(s, i), 0.0);
    ratio_add(&r, weight, top, p[i] - q[i], num_abs(p[i]) + num_abs(q[i]));
  }
  return ratio_value(&r, factor);
}

// ---- Euler --------------------------------------------------------------------------------------

#define EULER_B(F, N) F(1, 1.0)

ERK_INLINE SltStatus euler_any(NumStepper* s, bool small) {
  ERK_ROWS;
  (void)y;
  ERK_END(EULER_B);
  return erk_check_end(s);
}
ERK_STEP(euler)

const NumKernel num_kernel_euler = {.k_rows = 0, .step = euler_step};

// ---- classical Runge-Kutta ----------------------------------------------------------------------

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus rk4_any(NumStepper* s, bool small) {
  ERK_ROWS;
  double* restrict k2 = erk_k(s, 2);
  double* restrict k3 = erk_k(s, 3);
  double* restrict k4 = erk_k(s, 4);
  ERK_STAGE(2, 1.0 / 2, RK4_A2);
  ERK_STAGE(3, 1.0 / 2, RK4_A3);
  ERK_STAGE_END(4, RK4_A4);
  ERK_END(RK4_B);
  return erk_check_end(s);
}
ERK_STEP(rk4)

/// Stages 2 and 3 share c = 1/2, and their arguments differ by h/2 (k2 - k1).
static double rk4_probe(const NumStepper* s) {
  return erk_ratio(s, 2.0, erk_k(s, 3), erk_k(s, 2), erk_k(s, 2), s->trial.f0);
}

const NumKernel num_kernel_rk4 = {.k_rows = 3, .step = rk4_step, .probe = rk4_probe};

// ---- Merson -------------------------------------------------------------------------------------

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus merson_any(NumStepper* s, bool small) {
  ERK_ROWS;
  double* restrict k2 = erk_k(s, 2);
  double* restrict k3 = erk_k(s, 3);
  double* restrict k4 = erk_k(s, 4);
  double* restrict k5 = erk_k(s, 5);
  double* restrict scaled = s->scaled;
  ERK_STAGE(2, 1.0 / 3, MERSON_A2);
  ERK_STAGE(3, 1.0 / 3, MERSON_A3);
  ERK_STAGE(4, 1.0 / 2, MERSON_A4);
  ERK_STAGE_END(5, MERSON_A5);
  ERK_END(MERSON_B);
  ERK_SCALED_ERROR(MERSON_E, scaled);
  return erk_finish(s, num_norm_squared(s, scaled));
}
ERK_STEP(merson)

/// Novikov: 6 |k3 - k2| / |k2 - k1|; stages 2 and 3 share c = 1/3.
static double merson_probe(const NumStepper* s) {
  return erk_ratio(s, 6.0, erk_k(s, 3), erk_k(s, 2), erk_k(s, 2), s->trial.f0);
}

const NumKernel num_kernel_merson = {
    .k_rows = 4, .step = merson_step, .probe = merson_probe, .error_exponent = 1.0 / 5};

// ---- Bogacki-Shampine 3(2) ----------------------------------------------------------------------

// NOLINTNEXTLINE(readability-function-cognitive-complexity)
ERK_INLINE SltStatus bs32_any(NumStepper* s, bool small) {
  ERK_ROWS;
  double* restrict k2 = erk_k(s, 2);
  double* restrict k3 = erk_k(s, 3);
  double* restrict k4 = s->f_row[s->row_end];
  double* restrict scaled = s->scaled;
  ERK_STAGE(2, 1.0 / 2, BS32_A2);
  ERK_STAGE(3, 3.0 / 4, BS32_A3);
  ERK_END(BS32_B);
  SLT_TRY(num_rhs(s, s->trial.t, x_end, k4));
  ERK_SCALED_ERROR(BS32_E, scaled);
  return erk_finish(s, num_norm_squared(s, scaled));
}
ERK_STEP(bs32)

/// No two stages share a time, but c = 1/2, 3/4, 1 are equally spaced: second differences of the
/// stages and of their arguments, in which a motion linear in time cancels.
static double bs32_probe(const NumStepper* s) {
  const double* k1 = s->trial.f0;
  const double* k2 = erk_k(s, 2);
  const double* k3 = erk_k(s, 3);
  const double* k4 = s->trial.f;
  const double* x = s->trial.x0;
  const double* y3 = s->stage_x;
  const double* x_end = s->trial.x;
  const double half = 0.5 * s->trial.h;
  const double rtol = s->options.rtol;
  Ratio r = {0.0, 0.0, 0.0};
  for (size_t i = 0; i < s->n; i++) {
    double weight = s->atol[i] + rtol * num_abs(x_end[i]);
    double y2 = x[i] + half * k1[i];
    double bend = (x_end[i] - y3[i]) - (y3[i] - y2);
    double top = num_abs((k4[i] - k3[i]) - (k3[i] - k2[i])) - 2.0 * rate_rounding(s, i);
    ratio_add(&r, weight, num_max(top, 0.0), bend, 4.0 * num_abs(y3[i]));
  }
  return ratio_value(&r, s->trial.h);
}

const NumKernel num_kernel_bs32 = {
    .k_rows = 2, .step = bs32_step, .probe = bs32_probe, .error_exponent = 1.0 / 3};

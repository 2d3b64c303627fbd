// SPDX-License-Identifier: MIT
//
// Dormand-Prince 5(4) as a specialist writes it for one problem: number of states known to the
// compiler, right-hand side inlined, FSAL, dense output of degree 4, step size carried over events.
//
// The file that includes it defines DP5_N and
//   static inline void dp5_rhs(double t, const double* x, double* dx);
// Error control: rtol 1e-6, atol 1e-9 unless set, weighted RMS norm, PI controller.
#ifndef DP5_N
#error "DP5_N: number of states"
#endif

#include <math.h>
#include <string.h>

typedef struct Dp5 {
  double t, h;                  // committed point, next step
  double x[DP5_N], k1[DP5_N];   // there
  double xn[DP5_N], k7[DP5_N];  // end of the trial
  double k3[DP5_N], k4[DP5_N], k5[DP5_N], k6[DP5_N];
  double r[5][DP5_N];  // dense output of the trial, from t over h_trial
  double h_trial;
  double previous;  // error of the step before
  double rtol, atol;
} Dp5;

static inline void dp5_start(Dp5* s, double t, const double* x, double h) {
  memset(s, 0, sizeof *s);
  s->t = t;
  s->h = h;
  s->previous = 1e-4;
  s->rtol = 1e-6;
  s->atol = 1e-9;
  memcpy(s->x, x, sizeof s->x);
  dp5_rhs(t, s->x, s->k1);
}

/// A trial over s->h; returns its error by the tolerance.
static inline double dp5_try(Dp5* s) {
  const double h = s->h;
  double y[DP5_N];
  double k2[DP5_N];
  s->h_trial = h;
  for (int i = 0; i < DP5_N; i++)
    y[i] = s->x[i] + h * (0.2 * s->k1[i]);
  dp5_rhs(s->t + 0.2 * h, y, k2);
  for (int i = 0; i < DP5_N; i++)
    y[i] = s->x[i] + h * (3.0 / 40 * s->k1[i] + 9.0 / 40 * k2[i]);
  dp5_rhs(s->t + 0.3 * h, y, s->k3);
  for (int i = 0; i < DP5_N; i++)
    y[i] = s->x[i] + h * (44.0 / 45 * s->k1[i] - 56.0 / 15 * k2[i] + 32.0 / 9 * s->k3[i]);
  dp5_rhs(s->t + 0.8 * h, y, s->k4);
  for (int i = 0; i < DP5_N; i++)
    y[i] = s->x[i] + h * (19372.0 / 6561 * s->k1[i] - 25360.0 / 2187 * k2[i] +
                          64448.0 / 6561 * s->k3[i] - 212.0 / 729 * s->k4[i]);
  dp5_rhs(s->t + 8.0 / 9 * h, y, s->k5);
  for (int i = 0; i < DP5_N; i++)
    y[i] =
        s->x[i] + h * (9017.0 / 3168 * s->k1[i] - 355.0 / 33 * k2[i] + 46732.0 / 5247 * s->k3[i] +
                       49.0 / 176 * s->k4[i] - 5103.0 / 18656 * s->k5[i]);
  dp5_rhs(s->t + h, y, s->k6);
  for (int i = 0; i < DP5_N; i++)
    s->xn[i] =
        s->x[i] + h * (35.0 / 384 * s->k1[i] + 500.0 / 1113 * s->k3[i] + 125.0 / 192 * s->k4[i] -
                       2187.0 / 6784 * s->k5[i] + 11.0 / 84 * s->k6[i]);
  dp5_rhs(s->t + h, s->xn, s->k7);
  double sum = 0.0;
  for (int i = 0; i < DP5_N; i++) {
    double e = h * (71.0 / 57600 * s->k1[i] - 71.0 / 16695 * s->k3[i] + 71.0 / 1920 * s->k4[i] -
                    17253.0 / 339200 * s->k5[i] + 22.0 / 525 * s->k6[i] - 1.0 / 40 * s->k7[i]);
    double a = fabs(s->x[i]) > fabs(s->xn[i]) ? fabs(s->x[i]) : fabs(s->xn[i]);
    e /= s->atol + s->rtol * a;
    sum += e * e;
  }
  return sqrt(sum / DP5_N);
}

static inline void dp5_shrink(Dp5* s, double error) {
  double f = 0.9 * pow(error, -0.2);
  s->h *= f > 0.2 ? f : 0.2;
}

static inline void dp5_grow(Dp5* s, double error) {
  if (error < 1e-10) {
    s->h *= 5.0;  // exact: no need of powers
    s->previous = 1e-4;
    return;
  }
  double f = 0.9 * pow(error, -0.17) * pow(s->previous, 0.04);
  s->h *= f < 0.2 ? 0.2 : f > 5.0 ? 5.0 : f;
  s->previous = error > 1e-4 ? error : 1e-4;
}

/// The trial becomes the committed point; FSAL.
static inline void dp5_accept(Dp5* s) {
  s->t += s->h_trial;
  memcpy(s->x, s->xn, sizeof s->x);
  memcpy(s->k1, s->k7, sizeof s->k1);
}

/// A trial that is accurate enough; returns its error.
static inline __attribute__((always_inline)) double dp5_attempt(Dp5* s) {
  for (;;) {
    double error = dp5_try(s);
    if (!(error > 1.0)) return error;
    dp5_shrink(s, error);
  }
}

/// Coefficients of the dense output (HNW I, II.6).
static inline void dp5_dense(Dp5* s) {
  const double h = s->h_trial;
  for (int i = 0; i < DP5_N; i++) {
    double rise = s->xn[i] - s->x[i];
    double bend = h * s->k1[i] - rise;
    s->r[0][i] = s->x[i];
    s->r[1][i] = rise;
    s->r[2][i] = bend;
    s->r[3][i] = rise - h * s->k7[i] - bend;
    s->r[4][i] =
        h * (-12715105075.0 / 11282082432.0 * s->k1[i] + 87487479700.0 / 32700410799.0 * s->k3[i] -
             10690763975.0 / 1880347072.0 * s->k4[i] + 701980252875.0 / 199316789632.0 * s->k5[i] -
             1453857185.0 / 822651844.0 * s->k6[i] + 69997945.0 / 29380423.0 * s->k7[i]);
  }
}

/// Component i at theta of the trial, and its derivative by theta.
static inline double dp5_at(const Dp5* s, int i, double theta, double* slope) {
  double rest = 1.0 - theta;
  double v = s->r[4][i];
  double d = 0.0;
  d = rest * d - v;
  v = s->r[3][i] + rest * v;
  d = theta * d + v;
  v = s->r[2][i] + theta * v;
  d = rest * d - v;
  v = s->r[1][i] + rest * v;
  d = theta * d + v;
  v = s->r[0][i] + theta * v;
  if (slope) *slope = d;
  return v;
}

/// The committed point moves to (t, x): after an event. The step size is kept.
static inline void dp5_restart(Dp5* s, double t, const double* x) {
  s->t = t;
  memcpy(s->x, x, sizeof s->x);
  dp5_rhs(t, s->x, s->k1);
}

/// Root of g on [lo, hi] of theta by Newton within bisection, to rounding; g(lo) < 0 < g(hi) after
/// multiplication by `sign`.
typedef double Dp5Guard(const Dp5* s, double theta, double* slope);

static inline __attribute__((always_inline)) double
dp5_root(const Dp5* s, Dp5Guard* guard, double sign, double lo, double hi, double start) {
  double theta = start;
  for (int i = 0; i < 60; i++) {
    double slope;
    double g = sign * guard(s, theta, &slope);
    if (g < 0.0) {
      lo = theta;
    } else {
      hi = theta;
    }
    double next = theta - g / (sign * slope);
    if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
    if (fabs(next - theta) <= 1e-15 * theta || hi - lo <= 1e-16) return next;
    theta = next;
  }
  return theta;
}

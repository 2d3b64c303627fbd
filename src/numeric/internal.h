// SPDX-License-Identifier: MIT
//
// Shared inside numeric: the method's inner loops, and arithmetic that must not become a libm call.
#ifndef SALTUS_NUMERIC_INTERNAL_H
#define SALTUS_NUMERIC_INTERNAL_H

#include "numeric/numeric.h"

#include <float.h>
#include <math.h>

/// Arrays side by side in one block of memory: laid out first without a block, to learn its size.
typedef struct NumCarver {
  char* base;
  size_t used;
} NumCarver;

static inline void* num_carve(NumCarver* c, size_t count, size_t size) {
  size_t at = c->used;
  size_t bytes = base_add_size(base_mul_size(count ? count : 1, size), 7) & ~(size_t)7;
  c->used = base_add_size(c->used, bytes);
  return c->base ? c->base + at : NULL;
}

/// A method's inner loops. All of them work on the trial's rows; `step` and `dense` stop at the
/// first failing right-hand side.
struct NumKernel {
  uint32_t k_rows;          // stages kept beside f at both ends
  const NumStageRow* rows;  // stages 2 and on, and the end: for several steps at once; NULL: none
  uint32_t row_count;
  SltStatus (*step)(NumStepper* s);   // x at the end (f too if fsal), trial.error
  SltStatus (*dense)(NumStepper* s);  // rows 4.. of the coefficients; NULL: none beyond Hermite
  bool (*extend)(NumStepper* s);      // one degree and order more; false: not possible; NULL: never
  double (*probe)(const NumStepper* s);  // |h lambda| seen by the stages; NULL: cannot be seen
  double error_exponent;                 // error ratio ~ h^(1 / error_exponent)
};

extern const NumKernel num_kernel_euler, num_kernel_rk4, num_kernel_merson, num_kernel_bs32,
    num_kernel_dp54, num_kernel_dop853, num_kernel_rodas3, num_kernel_rodas, num_kernel_rodas5,
    num_kernel_multistep;

/// Whether the stages of the trial are there already; they are in their rows then.
bool num_ahead_take(NumStepper* s);

/// Row of x and f at the end of the next trial.
static inline uint32_t num_next_row(const NumStepper* s) {
  return s->row == 2 ? 0 : s->row + 1;
}

#define NUM_LINEAR_STAGES 8  // most stages of a stiff method

/// Rows that a step of a stiff method works on, of states + algebraic unknowns.
typedef struct NumLinearRows {
  uint32_t states, count;
  double* u[NUM_LINEAR_STAGES + 1];  // increments of the stages, from 1
  double* xu;                        // begin of the step
  double* y;                         // argument of a stage
  double* out;                       // what the system makes of it
  double* ft;                        // derivative with respect to time
} NumLinearRows;

NumLinearRows* num_linear_rows(NumLinear* linear);

// band.c: elimination within a band. Row i of `a` holds columns i - below .. i + above, those
// outside of the matrix being 0; `lower` has n * below numbers.
/// False: singular.
bool num_band_factor(uint32_t n, uint32_t below, uint32_t above, double* a, double* lower,
                     uint32_t* pivot);
void num_band_solve(uint32_t n, uint32_t below, uint32_t above, const double* a,
                    const double* lower, const uint32_t* pivot, double* b);

/// Order of the nodes of a symmetric graph that keeps neighbours close (reverse Cuthill-McKee):
/// order[new] = old. `work`: 3 n numbers.
void num_order_band(uint32_t n, const uint32_t* begin, const uint32_t* neighbours, uint32_t* order,
                    uint32_t* work);

// The modules are compiled with -fno-builtin, which would make calls of these; both are exact.
#if defined(__GNUC__)
static inline double num_abs(double v) {
  return __builtin_fabs(v);
}
static inline double num_sqrt(double v) {
  return __builtin_sqrt(v);
}
#else
static inline double num_abs(double v) {
  return fabs(v);
}
static inline double num_sqrt(double v) {
  return sqrt(v);
}
#endif

static inline double num_max(double a, double b) {
  return a > b ? a : b;
}
static inline double num_min(double a, double b) {
  return a < b ? a : b;
}

/// Finite and not NaN.
static inline bool num_finite(double v) {
  return num_abs(v) <= DBL_MAX;
}

/// base^exponent for base > 0 normal, to about 1e-7: enough for step sizes. Own code, so that steps
/// do not depend on libm.
double num_power(double base, double exponent);

// multistep.c
/// The end of the trial is to be `x` instead.
void num_multistep_corrected(NumStepper* s, const double* x);
/// Whether what the method remembers leads to the end of the trial.
bool num_multistep_keeps_past(const NumStepper* s);

/// Coefficients of the dense output that come with the step, not from f at its ends.
static inline bool num_has_own_output(const NumMethod* method) {
  return method->stiff || method->multistep;
}

// scale.c
/// Absolute parts of the weights from the scales, where they follow these.
void num_scale_absolute(NumStepper* s);
/// A trial from a known point begins: absolute parts for components that have no scale yet, and
/// above rounding.
void num_scale_begin(NumStepper* s);
/// A trial was rejected, and some components have no scale.
void num_scale_reject(NumStepper* s);
/// The trial moves a component that it could not test, and is too long for that.
bool num_scale_too_far(const NumStepper* s);
/// x was the state at a committed point: scales cover it.
void num_scale_note(NumStepper* s, const double* x);
/// Account for an accepted trial, or `part` of it: counters, next step, stability.
void num_control_accept(NumStepper* s, bool part);

/// A first step for a method of the given order, as num_stepper_choose_h says.
SltStatus num_first_step(NumStepper* s, double t_bound, double span, uint32_t order, double* out);

/// Square of the norm of a scaled vector (mean square, or largest square), NaN if any component is.
double num_norm_squared(const NumStepper* s, const double* v);

/// Evaluate the right-hand side and count it.
static inline SltStatus num_rhs(NumStepper* s, double t, const double* x, double* dx) {
  s->counters.rhs++;
  return s->rhs(s->user, t, x, dx);
}

#endif

// SPDX-License-Identifier: MIT
//
// The inner loops of explicit Runge-Kutta methods, spelled out from the lists of tableau.h.
//
// A sum of products is written out per method, so zero coefficients cost nothing, the constants are
// known to the compiler, and the order of summation is that of the list: products are added from
// left to right, multiplied by h, added to x. The macros expect the names of ERK_ROWS. (The linter
// counts their loops as the kernel's own complexity, hence its exemptions there.)
#ifndef SALTUS_NUMERIC_ERK_H
#define SALTUS_NUMERIC_ERK_H

#include "base/lanes.h"
#include "numeric/internal.h"
#include "numeric/tableau.h"

#define ERK_FIRST(j, a) (a) * k##j[i]
#define ERK_NEXT(j, a)  +(a)*k##j[i]
#define ERK_SUM(LIST)   (LIST(ERK_FIRST, ERK_NEXT))

/// A row of a tableau as numbers.
#define ERK_TERM(j, a)      {j, a},
#define ERK_COUNT(j, a)     +1
#define ERK_ROW(j, c, LIST) {c, 0 LIST(ERK_COUNT, ERK_COUNT), {LIST(ERK_TERM, ERK_TERM)}},

/// Row of stage j = 2, 3, ...
static inline double* erk_k(const NumStepper* s, uint32_t j) {
  return s->k + (size_t)(j - 2) * s->n_max;
}

// A kernel exists twice, by `small`: up to ERK_SMALL components its loops are kept scalar. There
// the right-hand side has just stored k one by one, and a wide load of it would have to wait for
// these stores to reach the cache. The results are the same bits.
#define ERK_SMALL 8

#if defined(__GNUC__)
#define ERK_INLINE    static inline __attribute__((always_inline))
#define ERK_SCALAR(i) __asm__("" : "+r"(i))  // the compiler cannot see through it, so not combine
#else
#define ERK_INLINE    static inline
#define ERK_SCALAR(i) ((void)0)
#endif

#define ERK_FOR(...) \
  do { \
    if (small) { \
      for (size_t i = 0; i < n; i++) { \
        ERK_SCALAR(i); \
        __VA_ARGS__; \
      } \
    } else { \
      for (size_t i = 0; i < n; i++) { \
        __VA_ARGS__; \
      } \
    } \
  } while (0)

/// Names that every kernel uses: state and f at the begin, state at the end, argument of a stage.
#define ERK_ROWS \
  const size_t n = s->n; \
  const double h = s->trial.h; \
  const double* restrict x = s->trial.x0; \
  const double* restrict k1 = s->trial.f0; \
  double* restrict y = s->stage_x; \
  double* restrict x_end = s->x_row[s->row_end]

/// k_j = f(t0 + c h, x + h * sum). The time is computed, never accumulated.
#define ERK_STAGE(j, c, LIST) \
  ERK_FOR(y[i] = x[i] + h * ERK_SUM(LIST)); \
  SLT_TRY(num_rhs(s, s->trial.t0 + (c)*h, y, k##j))

/// The same for c = 1: the time is that of the end, to the bit.
#define ERK_STAGE_END(j, LIST) \
  ERK_FOR(y[i] = x[i] + h * ERK_SUM(LIST)); \
  SLT_TRY(num_rhs(s, s->trial.t, y, k##j))

#define ERK_END(LIST) ERK_FOR(x_end[i] = x[i] + h * ERK_SUM(LIST))

/// Error by weight, w_i = atol_i + rtol * max(|x_i|, |x_end_i|), into `out`.
#define ERK_SCALED_ERROR(LIST, out) \
  do { \
    const double* restrict atol = s->atol; \
    const double rtol = s->options.rtol; \
    ERK_FOR(double weight = atol[i] + rtol * num_max(num_abs(x[i]), num_abs(x_end[i])); \
            out[i] = ERK_SUM(LIST) * (h / weight)); \
  } while (0)

/// The versions of a kernel as one function: for few components, for many, and for many with wide
/// vectors where the machine has them.
#if BASE_LANES_WIDE
#define ERK_WIDE(name) \
  BASE_LANES_TARGET static SltStatus name##_wide(NumStepper* s) { \
    return name##_any(s, false); \
  }
#define ERK_MANY(name) (BASE_LANES_ARE_WIDE() ? name##_wide(s) : name##_any(s, false))
#else
#define ERK_WIDE(name)
#define ERK_MANY(name) name##_any(s, false)
#endif
#define ERK_STEP(name) \
  ERK_WIDE(name) \
  static SltStatus name##_step(NumStepper* s) { \
    return s->n <= ERK_SMALL ? name##_any(s, true) : ERK_MANY(name); \
  }

/// SLT_ERR_NOT_FINITE when the end of the trial is not a number; for methods without an estimate.
SltStatus erk_check_end(NumStepper* s);

/// Store the error of the trial; SLT_ERR_NOT_FINITE when it is not a number.
static inline SltStatus erk_finish(NumStepper* s, double error_squared) {
  s->error_squared = error_squared;
  s->trial.error = num_sqrt(error_squared);
  return num_finite(error_squared) ? SLT_OK : SLT_ERR_NOT_FINITE;
}

/// factor * |a - b| / |p - q| in the weighted norm; 0 when the denominator is lost in rounding.
/// This is Novikov's estimate of |h lambda| from differences of stages, with norms in place of the
/// largest ratio of components: that one is unbounded for smooth solutions with many components,
/// since one of them always passes through zero.
double erk_ratio(const NumStepper* s, double factor, const double* a, const double* b,
                 const double* p, const double* q);

#endif

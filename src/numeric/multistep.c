// SPDX-License-Identifier: MIT
//
// Methods with a past (BDF, Adams, the BDF of a DAE) as steppers: another library makes the steps,
// here they get the form that everything else works with.
//
// The method decides by itself about its step and order, so a trial may end before its target, and
// its error needs no second judgement. Its past fits the committed point as long as whole trials
// are accepted; anything else (an event, a shorter trial, another right-hand side, a snapshot)
// begins anew at order 1.
//
// The polynomial of a step meets the end of the step before up to its error only. The difference is
// spread over the step as a straight line, so that the output is continuous and meets both ends to
// the bit.
#include "numeric/multistep.h"

#define HAIR    128.0  // units of rounding of the time: what is shorter is a straight line
#define OFF_MAX 10.0   // corrections of the state, in tolerances, that the past is kept for

/// Coefficients of the output from the polynomial sum row_k (theta - 1)^k, in place.
///
/// The form is c + theta (r1 + (1 - theta) (r2 + theta (r3 + ...))): divided by theta in turn with
/// -(theta - 1), what is left over being the coefficients.
static void make_nested(NumStepper* s, uint32_t degree) {
  const size_t n = s->n;
  for (uint32_t j = 0; j < degree; j += 2) {
    for (uint32_t i = degree; i-- > j;) {
      double* restrict row = s->dense + (size_t)i * s->n_max;
      const double* restrict next = s->dense + ((size_t)i + 1) * s->n_max;
      for (size_t k = 0; k < n; k++) {
        row[k] -= next[k];
      }
    }
    for (uint32_t i = j + 2; i <= degree; i++) {
      double* row = s->dense + (size_t)i * s->n_max;
      for (size_t k = 0; k < n; k++) {
        row[k] = -row[k];
      }
    }
  }
}

static SltStatus make_output(NumStepper* s, uint32_t order) {
  const uint32_t degree = s->method->dense_degree;
  double scale = 1.0;
  for (uint32_t j = 0; j <= degree; j++) {
    double* row = s->dense + (size_t)j * s->n_max;
    if (j > order) {
      for (size_t i = 0; i < s->n; i++) {
        row[i] = 0.0;
      }
      continue;
    }
    SLT_TRY(num_multistep_derivative(s->system.multistep, s->trial.t, j, row));
    scale = j == 0 ? 1.0 : scale * s->trial.h / (double)j;
    for (size_t i = 0; i < s->n; i++) {
      row[i] *= scale;
    }
  }
  make_nested(s, order);
  return SLT_OK;
}

/// A step too short for the method to see that time goes on.
static SltStatus straight_step(NumStepper* s) {
  const double* f = NULL;
  SLT_TRY(num_stepper_derivative(s, &f));
  double* x = s->x_row[s->row_end];
  for (size_t i = 0; i < s->n; i++) {
    x[i] = s->trial.x0[i] + s->trial.h * f[i];
    if (!num_finite(x[i])) {
      return SLT_ERR_NOT_FINITE;
    }
  }
  for (size_t j = 2; j <= s->method->dense_degree; j++) {
    double* row = s->dense + j * s->n_max;
    for (size_t i = 0; i < s->n; i++) {
      row[i] = 0.0;
    }
  }
  s->h_proposed = s->control.h_next;
  s->past_off = HUGE_VAL;
  return SLT_OK;
}

static SltStatus multistep_step(NumStepper* s) {
  NumTrial* trial = &s->trial;
  double* x = s->x_row[s->row_end];
  bool goes_on = s->past;
  s->past = false;  // until the trial is accepted
  s->past_off = 0.0;
  s->error_squared = 0.0;
  trial->error = 0.0;
  if (s->n == 0) {
    return SLT_OK;
  }
  if (!s->system.multistep) {
    return SLT_ERR_ARGUMENT;
  }
  if (trial->h <= HAIR * DBL_EPSILON * num_max(num_abs(trial->t0), num_abs(trial->t))) {
    return straight_step(s);
  }
  NumAdvance step = {0};
  if (!goes_on) {
    SLT_TRY(num_multistep_begin(s->system.multistep, s, trial->t));
  }
  SLT_TRY(num_multistep_advance(s->system.multistep, s, trial->t, x, &step));
  for (size_t i = 0; i < s->n; i++) {
    if (!num_finite(x[i])) {
      return SLT_ERR_NOT_FINITE;
    }
  }
  trial->t = step.t;
  trial->h = step.t - trial->t0;
  s->h_tried = trial->h;
  s->h_proposed = step.h_next;
  return make_output(s, step.order);
}

void num_multistep_corrected(NumStepper* s, const double* x) {
  const double* end = s->x_row[s->row_end];
  for (size_t i = 0; i < s->n; i++) {
    s->scaled[i] = (x[i] - end[i]) / (s->atol[i] + s->options.rtol * num_abs(end[i]));
  }
  s->past_off = num_sqrt(num_norm_squared(s, s->scaled));
}

bool num_multistep_keeps_past(const NumStepper* s) {
  return s->method->multistep && !s->trial.drift && s->past_off <= OFF_MAX;
}

const NumKernel num_kernel_multistep = {.k_rows = 1, .step = multistep_step, .error_exponent = 0.2};

// SPDX-License-Identifier: MIT
//
// The stepper: storage, the committed point, trial steps.
#include "numeric/internal.h"

#include <string.h>

NumOptions num_options(void) {
  return (NumOptions){.rtol = 1e-6, .atol = 1e-9, .norm = NUM_NORM_RMS, .stability = true};
}

// rows: 3 x, 3 f, stage argument, scaled error, atol, scale, noise, then stages and dense
// coefficients
#define FIXED_ROWS 11

#define TOO_FAR    1e6     // as an error: asks for a step that is a good deal shorter
#define WEIGHT_MIN 1e-280  // a weight is never zero, also where atol and the state are

static size_t row_count(const NumMethod* method) {
  size_t dense = method->dense_degree + (method->kernel->extend ? 2u : 1u);
  return FIXED_ROWS + (size_t)method->kernel->k_rows + dense;
}

size_t num_stepper_size(const NumMethod* method, uint32_t n_max) {
  size_t row = base_mul_size(n_max, sizeof(double));
  return base_add_size(sizeof(NumStepper), base_mul_size(row, row_count(method)));
}

/// Pointers into the storage, from the indices kept in the struct.
static void set_pointers(NumStepper* s) {
  size_t row = s->n_max;
  double* at = (double*)(void*)((char*)s + sizeof *s);
  for (uint32_t i = 0; i < 3; i++) {
    s->x_row[i] = at + i * row;
    s->f_row[i] = at + (3 + i) * row;
  }
  s->stage_x = at + 6 * row;
  s->scaled = at + 7 * row;
  s->atol = at + 8 * row;
  s->scales.value = at + 9 * row;
  s->scales.noise = at + 10 * row;
  s->k = at + FIXED_ROWS * row;
  s->dense = s->k + s->method->kernel->k_rows * row;
  s->x = s->x_row[s->row];
  s->trial.x0 = s->x_row[s->row_begin];
  s->trial.f0 = s->f_row[s->row_begin];
  s->trial.x = s->x_row[s->row_end];
  s->trial.f = s->f_row[s->row_end];
}

static bool options_valid(const NumMethod* method, const NumOptions* o) {
  if (!(o->rtol >= 0.0) || !(o->by_scale || o->atol >= 0.0) || !(o->h0 >= 0.0) ||
      !(o->h_min >= 0.0) || !(o->h_max >= 0.0)) {
    return false;
  }
  if (o->h_max > 0.0 && o->h_min > o->h_max) {
    return false;
  }
  if (!method->adaptive) {
    return o->h0 > 0.0;
  }
  return o->rtol > 0.0 || (!o->by_scale && (o->atol > 0.0 || o->atol_vector));
}

static void set_method(NumStepper* s, const NumMethod* method) {
  s->method = method;
  for (uint32_t i = 0; i < num_method_count(); i++) {
    if (num_method_get(i) == method) {
      s->method_index = i;
    }
  }
}

SltStatus num_stepper_init(void* storage, const NumMethod* method, uint32_t n_max,
                           const NumOptions* options, NumStepper** out) {
  *out = NULL;
  if (!options_valid(method, options)) {
    return SLT_ERR_ARGUMENT;
  }
  memset(storage, 0, num_stepper_size(method, n_max));
  NumStepper* s = storage;
  set_method(s, method);
  s->n_max = n_max;
  s->n = n_max;
  s->options = *options;
  s->options.atol_vector = NULL;
  set_pointers(s);
  num_stepper_set_tolerance(s, options->rtol, options->atol, options->atol_vector);
  *out = s;
  return SLT_OK;
}

void num_stepper_switch(NumStepper* s, const NumMethod* method) {
  set_method(s, method);
  s->trial.valid = false;
  s->trial.pending = false;
  s->trial.dense_ready = false;
  s->linear_known = false;
  s->past = false;
  s->control = (NumControl){.h_next = s->control.h_next};
  set_pointers(s);
}

NumStepper* num_stepper_rebind(void* storage, NumRhs* rhs, void* user) {
  NumStepper* s = storage;
  s->method = num_method_get(s->method_index);
  s->rhs = rhs;
  s->stages = NULL;
  s->ahead.kernel = NULL;
  s->user = user;
  s->scales.family = NULL;
  s->system = (NumSystem){0};
  s->linear_known = false;
  s->past = false;
  set_pointers(s);
  return s;
}

void num_stepper_set_system(NumStepper* s, const NumSystem* system) {
  s->system = system ? *system : (NumSystem){0};
  s->linear_known = false;
}

void num_stepper_set_rhs(NumStepper* s, NumRhs* rhs, void* user) {
  s->ahead.kernel = NULL;
  s->linear_known = false;
  s->rhs = rhs;
  s->user = user;
}

void num_stepper_set_tolerance(NumStepper* s, double rtol, double atol, const double* atol_vector) {
  s->options.rtol = rtol;
  s->options.atol = atol;
  for (uint32_t i = 0; i < s->n_max && !s->options.by_scale; i++) {
    s->atol[i] = num_max(atol_vector ? atol_vector[i] : atol, WEIGHT_MIN);
  }
  num_scale_absolute(s);
}

static void copy_row(double* to, const double* from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    to[i] = from[i];
  }
}

void num_stepper_restart(NumStepper* s, double t, uint32_t n, const double* x, const double* f) {
  SLT_ASSERT(n <= s->n_max);
  SLT_ASSERT(x || n == s->n);
  if (!s->trial.dense_ready) {
    s->trial.valid = false;
  }
  s->trial.pending = false;
  s->ahead.kernel = NULL;

  // the trial's own rows stay as they are: its dense output may still be read
  uint32_t row = s->row_begin == s->row_end ? s->row : 3 - s->row_begin - s->row_end;
  copy_row(s->x_row[row], x ? x : s->x, n);
  if (f) {
    copy_row(s->f_row[row], f, n);
  }
  s->t = t;
  s->n = n;
  s->n_inverse = n ? 1.0 / (double)n : 0.0;
  s->row = row;
  s->x = s->x_row[row];
  s->f_known = f != NULL;
  s->linear_known = false;
  s->past = false;
  s->control.error_log2 = 0.0;
  s->control.lambda = 0.0;
  num_scale_note(s, s->x);
}

void num_stepper_start(NumStepper* s, double t, uint32_t n, const double* x, const double* f) {
  s->trial.valid = false;
  s->trial.dense_ready = false;
  num_stepper_restart(s, t, n, x, f);
  s->control = (NumControl){.h_next = s->options.h0};
  if (s->options.h_max > 0.0 && s->control.h_next > s->options.h_max) {
    s->control.h_next = s->options.h_max;
  }
}

SltStatus num_stepper_derivative(NumStepper* s, const double** f) {
  *f = s->f_row[s->row];
  if (s->f_known) {
    return SLT_OK;
  }
  SLT_TRY(num_rhs(s, s->t, s->x, s->f_row[s->row]));
  s->f_known = true;
  if (s->trial.valid && s->row == s->row_end) {
    s->trial.f_known = true;
  }
  return SLT_OK;
}

/// f at the committed point, with all that a stiff method needs there.
static SltStatus know_point(NumStepper* s) {
  double* f = s->f_row[s->row];
  if (s->method->multistep) {
    return SLT_OK;  // it asks by itself
  }
  if (!s->method->stiff) {
    if (s->f_known) {
      return SLT_OK;
    }
    SLT_TRY(num_rhs(s, s->t, s->x, f));
    s->f_known = true;
    return SLT_OK;
  }
  if (s->linear_known && s->f_known) {
    return SLT_OK;
  }
  NumLinearRows* rows = num_linear_rows(s->system.linear);
  s->counters.rhs++;
  s->counters.jacobians++;
  s->timed = true;
  copy_row(rows->xu, s->x, s->n);
  SLT_TRY(s->system.linearize(s->system.user, s->t, rows->xu, f,
                              num_linear_values(s->system.linear), rows->ft, &s->timed));
  s->factored = 0.0;
  s->f_known = true;
  s->linear_known = true;
  return SLT_OK;
}

/// Rows and times of a new trial.
static void begin_trial(NumStepper* s, double t_target) {
  NumTrial* trial = &s->trial;
  trial->valid = false;
  trial->pending = false;
  trial->dense_ready = false;
  trial->rough = false;
  trial->drift = false;
  trial->replaced = false;
  s->shared.weight = NULL;
  trial->f_known = s->method->fsal;
  trial->n = s->n;
  trial->degree = s->method->dense_degree;
  trial->t0 = s->t;
  trial->t = t_target;
  trial->h = t_target - s->t;
  s->h_wanted = s->control.h_next;
  s->h_tried = trial->h;
  s->failed = true;

  s->row_begin = s->row;
  s->row_end = num_next_row(s);
  trial->x0 = s->x;
  trial->f0 = s->f_row[s->row];
  trial->x = s->x_row[s->row_end];
  trial->f = s->f_row[s->row_end];
}

SltStatus num_stepper_attempt(NumStepper* s, double t_target) {
  if (s->method->stiff &&
      (!s->system.linear || num_linear_rows(s->system.linear)->states != s->n)) {
    return SLT_ERR_ARGUMENT;
  }
  if (!(t_target > s->t)) {
    return SLT_ERR_ARGUMENT;
  }
  begin_trial(s, t_target);
  SLT_TRY(know_point(s));
  num_scale_begin(s);
  SLT_TRY(s->method->kernel->step(s));
  if (s->scales.open && num_scale_too_far(s)) {
    s->trial.error = num_max(s->trial.error, TOO_FAR);
  }
  s->failed = false;
  s->trial.valid = true;
  s->trial.pending = true;
  return SLT_OK;
}

SltStatus num_stepper_drift(NumStepper* s, double t_target, const double* f) {
  if (!(t_target > s->t)) {
    return SLT_ERR_ARGUMENT;
  }
  if (f) {
    copy_row(s->f_row[s->row], f, s->n);
    s->f_known = false;  // it is not the right-hand side's
  } else {
    SLT_TRY(num_stepper_derivative(s, &f));
  }
  begin_trial(s, t_target);
  s->past = false;
  NumTrial* trial = &s->trial;
  double* x = s->x_row[s->row_end];
  for (uint32_t i = 0; i < s->n; i++) {
    x[i] = trial->x0[i] + trial->h * trial->f0[i];
    if (!num_finite(x[i])) {
      return SLT_ERR_NOT_FINITE;
    }
  }
  copy_row(s->f_row[s->row_end], trial->f0, s->n);
  trial->error = 0.0;
  trial->f_known = true;
  trial->drift = true;
  s->failed = false;
  trial->valid = true;
  trial->pending = true;
  return SLT_OK;
}

SltStatus num_stepper_trial_derivative(NumStepper* s, const double** f) {
  NumTrial* trial = &s->trial;
  SLT_ASSERT(trial->valid);
  *f = trial->f;
  if (!trial->f_known) {
    SLT_TRY(num_rhs(s, trial->t, trial->x, s->f_row[s->row_end]));
    trial->f_known = true;
    if (s->row == s->row_end) {
      s->f_known = true;
    }
  }
  return SLT_OK;
}

void num_stepper_correct(NumStepper* s, const double* x) {
  SLT_ASSERT(s->trial.valid && !s->trial.dense_ready);
  if (s->method->multistep) {
    num_multistep_corrected(s, x);
  }
  copy_row(s->x_row[s->row_end], x, s->trial.n);
  s->trial.f_known = false;
}

/// An accepted trial, or part of it, in the counters and the step control.
static void account(NumStepper* s, bool part) {
  if (s->trial.drift) {
    s->counters.steps++;
  } else {
    num_control_accept(s, part);
  }
}

void num_stepper_accept(NumStepper* s) {
  SLT_ASSERT(s->trial.pending);
  num_dense_settle(s);
  account(s, false);
  s->t = s->trial.t;
  s->row = s->row_end;
  s->x = s->x_row[s->row];
  s->f_known = s->trial.f_known && !s->trial.drift;
  s->linear_known = false;
  s->past = num_multistep_keeps_past(s);
  s->trial.pending = false;
  num_scale_note(s, s->x);
}

void num_stepper_leave(NumStepper* s, double t_event, const double* x) {
  SLT_ASSERT(s->trial.pending);
  account(s, t_event < s->trial.t);
  num_scale_note(s, x);
  s->trial.pending = false;
}

SltStatus num_stepper_accept_until(NumStepper* s, double t_event) {
  SLT_ASSERT(s->trial.pending);
  SLT_ASSERT(s->trial.t0 < t_event && t_event <= s->trial.t);
  if (t_event == s->trial.t) {
    num_stepper_accept(s);
    return SLT_OK;
  }
  SLT_TRY(num_dense_prepare(s));
  uint32_t row = 3 - s->row_begin - s->row_end;
  num_dense_eval(s, t_event, s->x_row[row]);
  account(s, true);
  s->t = t_event;
  s->row = row;
  s->x = s->x_row[row];
  s->f_known = false;
  s->linear_known = false;
  s->trial.pending = false;
  num_scale_note(s, s->x);
  return SLT_OK;
}

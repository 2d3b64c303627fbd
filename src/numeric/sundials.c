// SPDX-License-Identifier: MIT
//
// CVODE and IDA of SUNDIALS (Hindmarsh et al. 2005): variable order, variable step. Their linear
// systems are the ones of the other stiff methods (linear.c), so Jacobian and structure are the
// model's here too; error weights and norm are those of the step control.
//
// SUNDIALS takes its memory by malloc when an object is made; steps take none. It says nothing: all
// messages are statuses.
#include "numeric/multistep.h"

#if defined(SALTUS_HAVE_SUNDIALS) && SALTUS_HAVE_SUNDIALS

#include <cvode/cvode.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#define STOP_MARGIN 1e-9  // bounds this close to the end of the step, beside it, do not shorten it

struct NumMultistep {
  SltAllocator allocator;
  NumFamily family;
  uint32_t n;     // states
  uint32_t rows;  // unknowns: with algebraic ones for IDA
  SUNContext context;
  void* memory;
  N_Vector y, slope, differential;
  N_Vector work;
  SUNMatrix matrix;
  SUNLinearSolver solver;
  SUNNonlinearSolver fixed_point;
  NumStepper* s;      // at work
  SltStatus failure;  // of the last evaluation
  double c;           // of the matrix c D - J
  double h_next;      // 0: no step since the beginning
};

static double* data(N_Vector v) {
  return N_VGetArrayPointer(v);
}

// ---- what SUNDIALS asks for ---------------------------------------------------------------------

static bool all_finite(const double* v, size_t count) {
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    sum += 0.0 * v[i];
  }
  return sum == 0.0;
}

/// 0, or 1 to let it try a shorter step.
static int answer(NumMultistep* m, SltStatus status, const double* values, size_t count) {
  if (status >= 0 && !all_finite(values, count)) {
    status = SLT_ERR_NOT_FINITE;
  }
  m->failure = status;
  return status < 0;
}

static int right_hand_side(sunrealtype t, N_Vector y, N_Vector f, void* user) {
  NumMultistep* m = user;
  return answer(m, num_rhs(m->s, t, data(y), data(f)), data(f), m->n);
}

/// 0 = (x' - f, -r).
static int residual(sunrealtype t, N_Vector y, N_Vector slope, N_Vector out, void* user) {
  NumMultistep* m = user;
  NumStepper* s = m->s;
  double* r = data(out);
  SltStatus status = SLT_OK;
  if (s->system.stage) {
    s->counters.rhs++;
    status = s->system.stage(s->system.user, t, data(y), r);
  } else {
    status = num_rhs(s, t, data(y), r);
  }
  for (uint32_t i = 0; i < m->rows; i++) {
    r[i] = i < m->n ? data(slope)[i] - r[i] : -r[i];
  }
  return answer(m, status, r, m->rows);
}

static int weights(N_Vector y, N_Vector w, void* user) {
  NumMultistep* m = user;
  const NumStepper* s = m->s;
  for (uint32_t i = 0; i < m->rows; i++) {
    double atol = i < m->n ? s->atol[i] : num_max(s->options.atol, s->options.rtol * 1e-3);
    data(w)[i] = 1.0 / (atol + s->options.rtol * num_abs(data(y)[i]));
  }
  return 0;
}

/// J at (t, x), with f and the algebraic unknowns that belong to x in the rows of the system.
static SltStatus linearize(NumMultistep* m, double t, const double* x) {
  NumStepper* s = m->s;
  NumLinear* linear = s->system.linear;
  NumLinearRows* rows = num_linear_rows(linear);
  bool timed = true;
  s->counters.rhs++;
  s->counters.jacobians++;
  for (uint32_t i = 0; i < m->n; i++) {
    rows->xu[i] = x[i];
  }
  return s->system.linearize(s->system.user, t, rows->xu, rows->out, num_linear_values(linear),
                             rows->ft, &timed);
}

static int system_of_cvode(sunrealtype t, N_Vector y, N_Vector f, SUNMatrix a,
                           sunbooleantype usable, sunbooleantype* anew, sunrealtype gamma,
                           void* user, N_Vector work1, N_Vector work2, N_Vector work3) {
  (void)f, (void)a, (void)work1, (void)work2, (void)work3;
  NumMultistep* m = user;
  m->c = 1.0 / gamma;
  *anew = !usable;
  return usable ? 0 : answer(m, linearize(m, t, data(y)), NULL, 0);
}

static int jacobian_of_ida(sunrealtype t, sunrealtype c, N_Vector y, N_Vector slope, N_Vector r,
                           SUNMatrix a, void* user, N_Vector work1, N_Vector work2,
                           N_Vector work3) {
  (void)slope, (void)r, (void)a, (void)work1, (void)work2, (void)work3;
  NumMultistep* m = user;
  m->c = c;
  return answer(m, linearize(m, t, data(y)), NULL, 0);
}

static SUNMatrix_ID matrix_id(SUNMatrix a) {
  (void)a;
  return SUNMATRIX_CUSTOM;
}

/// The matrix lives in the linear system; for SUNDIALS it is a name.
static int matrix_zero(SUNMatrix a) {
  (void)a;
  return 0;
}

static SUNLinearSolver_Type solver_type(SUNLinearSolver solver) {
  (void)solver;
  return SUNLINEARSOLVER_DIRECT;
}

static SUNLinearSolver_ID solver_id(SUNLinearSolver solver) {
  (void)solver;
  return SUNLINEARSOLVER_CUSTOM;
}

static int solver_setup(SUNLinearSolver solver, SUNMatrix a) {
  (void)a;
  NumMultistep* m = solver->content;
  m->s->counters.factors++;
  return num_linear_factor(m->s->system.linear, m->c) < 0;
}

/// CVODE asks for (1 - gamma J) x = b, IDA for (c D - J) x = b. Where CVODE's system has algebraic
/// unknowns, these follow the states.
static int solver_solve(SUNLinearSolver solver, SUNMatrix a, N_Vector x, N_Vector b,
                        sunrealtype tolerance) {
  (void)a, (void)tolerance;
  NumMultistep* m = solver->content;
  NumLinear* linear = m->s->system.linear;
  const NumLinearRows* rows = num_linear_rows(linear);
  double* solution = rows->u[1];
  double scale = m->family == NUM_FAMILY_IDA ? 1.0 : m->c;
  for (uint32_t i = 0; i < rows->count; i++) {
    solution[i] = i < m->rows ? scale * data(b)[i] : 0.0;
  }
  num_linear_solve(linear, solution);
  for (uint32_t i = 0; i < m->rows; i++) {
    data(x)[i] = solution[i];
  }
  return 0;
}

static void no_message(int code, const char* module, const char* function, char* text, void* user) {
  (void)code, (void)module, (void)function, (void)text, (void)user;
}

// ---- making -------------------------------------------------------------------------------------

static bool make_solver(NumMultistep* m) {
  m->matrix = SUNMatNewEmpty(m->context);
  m->solver = SUNLinSolNewEmpty(m->context);
  if (!m->matrix || !m->solver) {
    return false;
  }
  m->matrix->ops->getid = matrix_id;
  m->matrix->ops->zero = matrix_zero;
  m->solver->ops->gettype = solver_type;
  m->solver->ops->getid = solver_id;
  m->solver->ops->setup = solver_setup;
  m->solver->ops->solve = solver_solve;
  m->solver->content = m;
  return true;
}

static bool make_cvode(NumMultistep* m) {
  bool bdf = m->family == NUM_FAMILY_BDF;
  m->memory = CVodeCreate(bdf ? CV_BDF : CV_ADAMS, m->context);
  if (!m->memory || CVodeSetErrHandlerFn(m->memory, no_message, NULL) < 0 ||
      CVodeInit(m->memory, right_hand_side, 0.0, m->y) < 0 || CVodeSetUserData(m->memory, m) < 0 ||
      CVodeWFtolerances(m->memory, weights) < 0 ||
      CVodeSetMaxOrd(m->memory, bdf ? NUM_BDF_ORDER : NUM_ADAMS_ORDER) < 0 ||
      CVodeSetMaxHnilWarns(m->memory, -1) < 0) {
    return false;
  }
  if (!bdf) {
    m->fixed_point = SUNNonlinSol_FixedPoint(m->y, 0, m->context);
    return m->fixed_point && CVodeSetNonlinearSolver(m->memory, m->fixed_point) >= 0;
  }
  return make_solver(m) && CVodeSetLinearSolver(m->memory, m->solver, m->matrix) >= 0 &&
         CVodeSetLinSysFn(m->memory, system_of_cvode) >= 0;
}

static bool make_ida(NumMultistep* m) {
  m->memory = IDACreate(m->context);
  m->differential = N_VClone(m->y);
  if (!m->memory || !m->differential) {
    return false;
  }
  for (uint32_t i = 0; i < m->rows; i++) {
    data(m->differential)[i] = i < m->n ? 1.0 : 0.0;
  }
  return IDASetErrHandlerFn(m->memory, no_message, NULL) >= 0 &&
         IDAInit(m->memory, residual, 0.0, m->y, m->slope) >= 0 &&
         IDASetUserData(m->memory, m) >= 0 && IDAWFtolerances(m->memory, weights) >= 0 &&
         IDASetId(m->memory, m->differential) >= 0 && IDASetSuppressAlg(m->memory, SUNTRUE) >= 0 &&
         make_solver(m) && IDASetLinearSolver(m->memory, m->solver, m->matrix) >= 0 &&
         IDASetJacFn(m->memory, jacobian_of_ida) >= 0;
}

SltStatus num_multistep_create(const SltAllocator* allocator, const NumMethod* method,
                               uint32_t states, uint32_t algebraic, NumMultistep** out) {
  *out = NULL;
  SltAllocator a = base_allocator(allocator);
  NumMultistep* m = base_alloc(&a, sizeof *m);
  if (!m) {
    return SLT_ERR_NOMEM;
  }
  *m = (NumMultistep){.allocator = a, .family = (NumFamily)method->family, .n = states};
  m->rows = m->family == NUM_FAMILY_IDA ? states + algebraic : states;
  bool made = SUNContext_Create(NULL, &m->context) >= 0;
  if (made) {
    m->y = N_VNew_Serial((sunindextype)m->rows, m->context);
    m->slope = m->y ? N_VClone(m->y) : NULL;
    m->work = m->y ? N_VClone(m->y) : NULL;
    made = m->y && m->slope && m->work;
  }
  if (made) {
    N_VConst(0.0, m->y);
    N_VConst(0.0, m->slope);
    made = m->family == NUM_FAMILY_IDA ? make_ida(m) : make_cvode(m);
  }
  if (!made) {
    num_multistep_free(m);
    return SLT_ERR_NOMEM;
  }
  *out = m;
  return SLT_OK;
}

void num_multistep_free(NumMultistep* m) {
  if (!m) {
    return;
  }
  if (m->memory && m->family == NUM_FAMILY_IDA) {
    IDAFree(&m->memory);
  } else if (m->memory) {
    CVodeFree(&m->memory);
  }
  if (m->fixed_point) {
    SUNNonlinSolFree(m->fixed_point);
  }
  if (m->solver) {
    SUNLinSolFreeEmpty(m->solver);
  }
  if (m->matrix) {
    SUNMatFreeEmpty(m->matrix);
  }
  N_VDestroy(m->y);
  N_VDestroy(m->slope);
  N_VDestroy(m->differential);
  N_VDestroy(m->work);
  if (m->context) {
    SUNContext_Free(&m->context);
  }
  SltAllocator a = m->allocator;
  base_free(&a, m, sizeof *m);
}

// ---- steps --------------------------------------------------------------------------------------

/// Why SUNDIALS gave up: the model's own failure first.
static SltStatus give_up(const NumMultistep* m) {
  return m->failure < 0 ? m->failure : SLT_ERR_STEP;
}

/// 1 for a flag that tells of a failure, so that these can be added up.
static int failed(int flag) {
  return flag < 0;
}

static SltStatus begin_ida(NumMultistep* m, NumStepper* s, double t_bound) {
  // the algebraic unknowns that belong to the states; their slopes do not matter
  SLT_TRY(linearize(m, s->t, s->x));
  const NumLinearRows* rows = num_linear_rows(s->system.linear);
  for (uint32_t i = 0; i < m->rows; i++) {
    data(m->y)[i] = rows->xu[i];
    data(m->slope)[i] = i < m->n ? rows->out[i] : 0.0;
  }
  if (!all_finite(data(m->y), m->rows) || !all_finite(data(m->slope), m->rows)) {
    return SLT_ERR_NOT_FINITE;
  }
  // its own first step is half a tolerance long, which rounding may swallow
  double h = 0.0;
  SLT_TRY(num_first_step(s, t_bound, s->control.h_next, 1, &h));
  int failures = failed(IDAReInit(m->memory, s->t, m->y, m->slope));
  failures += failed(IDASetInitStep(m->memory, h));
  failures += failed(IDASetMaxStep(m->memory, s->options.h_max));
  return failures ? SLT_ERR_ARGUMENT : SLT_OK;
}

static SltStatus begin_cvode(NumMultistep* m, const NumStepper* s) {
  memcpy(data(m->y), s->x, m->n * sizeof(double));
  int failures = failed(CVodeReInit(m->memory, s->t, m->y));
  failures += failed(CVodeSetInitStep(m->memory, 0.0));
  failures += failed(CVodeSetMaxStep(m->memory, s->options.h_max));
  return failures ? SLT_ERR_ARGUMENT : SLT_OK;
}

SltStatus num_multistep_begin(NumMultistep* m, NumStepper* s, double t_bound) {
  SLT_ASSERT(s->n == m->n);
  m->s = s;
  m->h_next = 0.0;
  m->failure = SLT_OK;
  return m->family == NUM_FAMILY_IDA ? begin_ida(m, s, t_bound) : begin_cvode(m, s);
}

static int stop_at(const NumMultistep* m, double t) {
  return m->family == NUM_FAMILY_IDA ? IDASetStopTime(m->memory, t)
                                     : CVodeSetStopTime(m->memory, t);
}

static int one_step(NumMultistep* m, double t_bound, double* t) {
  return m->family == NUM_FAMILY_IDA ? IDASolve(m->memory, t_bound, t, m->y, m->slope, IDA_ONE_STEP)
                                     : CVode(m->memory, t_bound, m->y, t, CV_ONE_STEP);
}

SltStatus num_multistep_advance(NumMultistep* m, NumStepper* s, double t_bound, double* x,
                                NumAdvance* out) {
  m->s = s;
  m->failure = SLT_OK;
  // a bound where the step would end anyway is none: cutting it there would disturb the method
  bool stops = m->h_next == 0.0 || t_bound < s->t + m->h_next * (1.0 - STOP_MARGIN);
  if (stop_at(m, stops ? t_bound : DBL_MAX) < 0 || one_step(m, t_bound, &out->t) < 0) {
    return give_up(m);
  }
  if (!(out->t > s->t)) {
    return SLT_ERR_STEP;
  }
  if (out->t > t_bound) {
    out->t = t_bound;
    SLT_TRY(num_multistep_derivative(m, t_bound, 0, x));
  } else {
    memcpy(x, data(m->y), m->n * sizeof *x);
  }
  int order = 0;
  if (m->family == NUM_FAMILY_IDA) {
    IDAGetLastOrder(m->memory, &order);
    IDAGetCurrentStep(m->memory, &m->h_next);
  } else {
    CVodeGetLastOrder(m->memory, &order);
    CVodeGetCurrentStep(m->memory, &m->h_next);
  }
  out->order = (uint32_t)order;
  out->h_next = m->h_next;
  return SLT_OK;
}

SltStatus num_multistep_derivative(NumMultistep* m, double t, uint32_t k, double* out) {
  int flag = m->family == NUM_FAMILY_IDA ? IDAGetDky(m->memory, t, (int)k, m->work)
                                         : CVodeGetDky(m->memory, t, (int)k, m->work);
  if (flag < 0) {
    return SLT_ERR_STEP;
  }
  memcpy(out, data(m->work), m->n * sizeof *out);
  return SLT_OK;
}

#else

// without SUNDIALS no method asks for any of these

SltStatus num_multistep_create(const SltAllocator* allocator, const NumMethod* method,
                               uint32_t states, uint32_t algebraic, NumMultistep** out) {
  (void)allocator, (void)method, (void)states, (void)algebraic;
  *out = NULL;
  return SLT_ERR_ARGUMENT;
}

void num_multistep_free(NumMultistep* m) {
  (void)m;
}

SltStatus num_multistep_begin(NumMultistep* m, NumStepper* s, double t_bound) {
  (void)m, (void)s, (void)t_bound;
  return SLT_ERR_ARGUMENT;
}

SltStatus num_multistep_advance(NumMultistep* m, NumStepper* s, double t_bound, double* x,
                                NumAdvance* out) {
  (void)m, (void)s, (void)t_bound, (void)x, (void)out;
  return SLT_ERR_ARGUMENT;
}

SltStatus num_multistep_derivative(NumMultistep* m, double t, uint32_t k, double* out) {
  (void)m, (void)t, (void)k, (void)out;
  return SLT_ERR_ARGUMENT;
}

#endif

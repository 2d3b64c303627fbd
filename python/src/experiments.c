// SPDX-License-Identifier: MIT
//
// Experiments: many runs of one model without the interpreter lock. Arrays go back as bytes of
// doubles, which saltus/_experiments.py makes numpy arrays of.
#include "saltus_py.h"

#include <saltus/saltus_experiment.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What every experiment has: the model, the measures, the options of its runs.
typedef struct Work {
  ModelObject* model;
  SltMeasures* measures;
  SltSimOptions sim;
  double until;
  SltProblem problem;
  Driver driver;
  SltStatus status;
} Work;

/// SltSweepCancelFn; user: a Work, or a struct that begins with one.
static bool is_cancelled(void* user) {
  Work* work = user;
  return driver_step(&work->driver, 0.0);
}

/// `until` may be NULL: then data say how long the runs are.
static bool work_begin(Work* work, PyObject* self, PyObject* options, PyObject* until) {
  *work = (Work){.model = (ModelObject*)self, .sim = slt_sim_options()};
  if (!sim_options_from(options, &work->sim)) return false;
  const char* problem = NULL;
  if (slt_sim_options_check(work->model->model, &work->sim, &problem) < 0) {
    raise_options(problem ? problem : "options that cannot be");
    return false;
  }
  if (until && !end_from(until, work->model->model, &work->sim, &work->until)) return false;
  if (!model_enter(work->model)) return false;
  driver_begin(&work->driver, Py_None, Py_None);
  return true;
}

static void raise_problem(const Work* work, const char* doing) {
  const SltProblem* p = &work->problem;
  // some hints speak of options of the command line
  bool fits = p->hint[0] && !strstr(p->hint, "--") && !strstr(p->hint, "`saltus ");
  if (!p->message[0]) {
    raise_status(work->status, doing);
  } else if (p->code[0]) {
    raise_failed(work->status, p->code, p->message);
  } else if (fits) {
    PyErr_Format(PyExc_ValueError, "%s (%s)", p->message, p->hint);
  } else {
    PyErr_SetString(PyExc_ValueError, p->message);
  }
}

/// Whether the result may be made: otherwise an exception is set.
static bool work_end(Work* work, const char* doing) {
  bool good = work->status >= 0;
  if (driver_raise(&work->driver)) {
    good = false;
  } else if (!good) {
    raise_problem(work, doing);
  }
  driver_end(&work->driver);
  model_leave(work->model);
  return good;
}

static bool read_measures(Work* work, PyObject* texts) {
  Names names;
  if (!names_from(texts, "measures", &names)) return false;
  work->status = slt_measures_create(work->model->model, names.texts, names.count, &work->measures,
                                     &work->problem);
  names_free(&names);
  if (work->status < 0) raise_problem(work, "measures");
  return work->status >= 0;
}

static PyObject* measure_names(const SltMeasures* measures) {
  uint32_t count = slt_measures_count(measures);
  PyObject* list = PyList_New(0);
  for (uint32_t i = 0; list && i < count; i++) {
    PyObject* name = PyUnicode_FromString(slt_measures_name(measures, i));
    if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

static bool whole_from(PyObject* object, const char* what, uint64_t* out) {
  *out = PyLong_AsUnsignedLongLong(object);
  if (!PyErr_Occurred()) return true;
  PyErr_Format(PyExc_ValueError, "%s must be a whole number from 0 on, not %R", what, object);
  return false;
}

/// The same for what the library counts with 32 bits.
static bool count_from(PyObject* object, const char* what, uint32_t* out) {
  uint64_t value = 0;
  if (!whole_from(object, what, &value)) return false;
  *out = (uint32_t)value;
  if (value <= UINT32_MAX) return true;
  PyErr_Format(PyExc_ValueError, "%s must be at most 4294967295, not %R", what, object);
  return false;
}

static PyObject* doubles(const Bytes* bytes) {
  return PyBytes_FromStringAndSize(bytes->data ? bytes->data : "", (Py_ssize_t)bytes->used);
}

static bool has_arguments(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return true;
  PyErr_Format(PyExc_TypeError, "%zd arguments are needed, not %zd", wanted, count);
  return false;
}

// ---- sweeps -------------------------------------------------------------------------------------

typedef struct Sweep {
  Work work;
  SltDesign* design;
  uint32_t parameter_count, measure_count;
  Bytes rows, states;
  PyObject* messages;
} Sweep;

static SltStatus keep_row(void* user, const SltSweepRow* row) {
  Sweep* sweep = user;
  int32_t status = row->status;
  SltStatus kept = bytes_write(&sweep->rows, (const char*)row->parameters,
                               sweep->parameter_count * sizeof(double));
  if (kept >= 0) {
    kept =
        bytes_write(&sweep->rows, (const char*)row->values, sweep->measure_count * sizeof(double));
  }
  if (kept >= 0) kept = bytes_write(&sweep->states, (const char*)&status, sizeof status);
  if (kept < 0 || !row->message) return kept;
  driver_acquire(&sweep->work.driver);
  PyObject* item = Py_BuildValue("(Kzs)", (unsigned long long)row->member, row->code, row->message);
  if (!item || PyList_Append(sweep->messages, item) < 0) {
    driver_keep(&sweep->work.driver);
    kept = SLT_ERR_NOMEM;
  }
  Py_XDECREF(item);
  driver_release(&sweep->work.driver);
  return kept;
}

typedef SltStatus DesignFn(SltDesign* design, const char* text, SltProblem* problem);

static bool add_texts(Sweep* sweep, PyObject* texts, const char* what, DesignFn* add) {
  Names names;
  if (!names_from(texts, what, &names)) return false;
  for (uint32_t i = 0; i < names.count && sweep->work.status >= 0; i++) {
    sweep->work.status = add(sweep->design, names.texts[i], &sweep->work.problem);
  }
  names_free(&names);
  if (sweep->work.status < 0) raise_problem(&sweep->work, what);
  return sweep->work.status >= 0;
}

typedef enum SweepArgument {
  SWEEP_PARAMETERS,
  SWEEP_CORRELATE,
  SWEEP_SAMPLING,
  SWEEP_COUNT,
  SWEEP_SEED,
  SWEEP_MEASURES,
  SWEEP_UNTIL,
  SWEEP_JOBS,
  SWEEP_OPTIONS,
  SWEEP_ARGUMENTS
} SweepArgument;

static bool make_design(Sweep* sweep, PyObject* const* args) {
  uint64_t sampling = 0;
  uint64_t count = 0;
  uint64_t seed = 0;
  Work* work = &sweep->work;
  if (!whole_from(args[SWEEP_SAMPLING], "sampling", &sampling) ||
      !whole_from(args[SWEEP_COUNT], "samples", &count) ||
      !whole_from(args[SWEEP_SEED], "seed", &seed)) {
    return false;
  }
  work->status = slt_design_create(work->model->model, &sweep->design);
  if (work->status < 0) {
    raise_status(work->status, "sweep");
    return false;
  }
  if (!add_texts(sweep, args[SWEEP_PARAMETERS], "parameters", slt_design_add) ||
      !add_texts(sweep, args[SWEEP_CORRELATE], "correlations", slt_design_correlate)) {
    return false;
  }
  work->status =
      slt_design_sample(sweep->design, (SltSampling)sampling, count, seed, &work->problem);
  if (work->status < 0) raise_problem(work, "samples");
  return work->status >= 0;
}

static bool check_names(Sweep* sweep) {
  Work* work = &sweep->work;
  if (slt_measures_count(work->measures) == 0) {
    PyErr_SetString(PyExc_ValueError,
                    "a sweep needs to know what to measure: measures=\"max(x)\", or "
                    "`measure peak = max(x);` in the model");
    return false;
  }
  work->status = slt_design_check_names(sweep->design, work->measures, &work->problem);
  if (work->status < 0) raise_problem(work, "measures");
  return work->status >= 0;
}

static void run_sweep(Sweep* sweep, uint32_t jobs) {
  Work* work = &sweep->work;
  SltSweepOptions options = slt_sweep_options();
  options.sim = work->sim;
  options.t_end = work->until;
  options.jobs = jobs;
  options.on_row = keep_row;
  options.cancel = is_cancelled;
  options.user = sweep;
  driver_release(&work->driver);
  work->status = slt_sweep_run(work->model->model, sweep->design, work->measures, &options);
  driver_acquire(&work->driver);
}

static PyObject* sweep_result(const Sweep* sweep) {
  PyObject* names = PyList_New(0);
  for (uint32_t i = 0; names && i < sweep->parameter_count; i++) {
    PyObject* name = PyUnicode_FromString(slt_design_parameter_name(sweep->design, i));
    if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  if (!names) return NULL;
  return Py_BuildValue("(NNNNO)", names, measure_names(sweep->work.measures), doubles(&sweep->rows),
                       doubles(&sweep->states), sweep->messages);
}

PyObject* model_sweep(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  Sweep sweep = {.design = NULL};
  uint32_t jobs = 0;
  PyObject* result = NULL;
  if (!has_arguments(count, SWEEP_ARGUMENTS) || !count_from(args[SWEEP_JOBS], "jobs", &jobs) ||
      !work_begin(&sweep.work, self, args[SWEEP_OPTIONS], args[SWEEP_UNTIL])) {
    return NULL;
  }
  sweep.messages = PyList_New(0);
  bool ready = sweep.messages && make_design(&sweep, args) &&
               read_measures(&sweep.work, args[SWEEP_MEASURES]) && check_names(&sweep);
  if (ready) {
    sweep.parameter_count = slt_design_parameter_count(sweep.design);
    sweep.measure_count = slt_measures_count(sweep.work.measures);
    run_sweep(&sweep, jobs);
  }
  if (!ready) sweep.work.status = SLT_OK;  // the exception is there
  if (work_end(&sweep.work, "sweep") && ready) result = sweep_result(&sweep);
  slt_measures_free(sweep.work.measures);
  slt_design_free(sweep.design);
  bytes_free(&sweep.rows);
  bytes_free(&sweep.states);
  Py_XDECREF(sweep.messages);
  return result;
}

// ---- sensitivities ------------------------------------------------------------------------------

typedef struct Sens {
  Work work;
  PyObject* list;
} Sens;

static void keep_derivative(void* user, const SltDerivative* d) {
  Sens* sens = user;
  driver_acquire(&sens->work.driver);
  PyObject* item = Py_BuildValue("(ssddddddizdd)", d->measure, d->parameter, d->at, d->value,
                                 d->derivative, d->left, d->right, d->error, (int)d->verdict,
                                 d->reason, d->changes_at[0], d->changes_at[1]);
  if (!item || PyList_Append(sens->list, item) < 0) driver_keep(&sens->work.driver);
  Py_XDECREF(item);
  driver_release(&sens->work.driver);
}

typedef enum SensArgument {
  SENS_MEASURES,
  SENS_NAMES,
  SENS_AT,
  SENS_UNTIL,
  SENS_REACH,
  SENS_OPTIONS,
  SENS_ARGUMENTS
} SensArgument;

/// A list of numbers, NaN for None; PyMem_Free() it.
static double* numbers_from(PyObject* list, uint32_t count, const char* what) {
  double* numbers = PyMem_Calloc((size_t)count + 1, sizeof *numbers);
  if (!numbers) PyErr_NoMemory();
  for (uint32_t i = 0; numbers && i < count; i++) {
    PyObject* item = PySequence_GetItem(list, (Py_ssize_t)i);
    bool good = item && number_from(item, what, &numbers[i]);
    Py_XDECREF(item);
    if (good) continue;
    PyMem_Free(numbers);
    numbers = NULL;
  }
  return numbers;
}

PyObject* model_sens(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  Sens sens = {.list = NULL};
  Names names = {NULL, NULL, 0};
  SltSensOptions options = slt_sens_options();
  double reach = 0.0;
  if (!has_arguments(count, SENS_ARGUMENTS) || !number_from(args[SENS_REACH], "reach", &reach) ||
      !work_begin(&sens.work, self, args[SENS_OPTIONS], args[SENS_UNTIL])) {
    return NULL;
  }
  if (!isnan(reach)) options.reach = reach;
  double* at = NULL;
  sens.list = PyList_New(0);
  bool ready = sens.list && names_from(args[SENS_NAMES], "params", &names) &&
               (at = numbers_from(args[SENS_AT], names.count, "a parameter")) != NULL &&
               read_measures(&sens.work, args[SENS_MEASURES]);
  if (ready) {
    options.sim = sens.work.sim;
    options.t_end = sens.work.until;
    options.on_derivative = keep_derivative;
    options.cancel = is_cancelled;
    options.user = &sens;
    driver_release(&sens.work.driver);
    sens.work.status = slt_sens_run(sens.work.model->model, sens.work.measures, names.texts, at,
                                    names.count, &options, &sens.work.problem);
    driver_acquire(&sens.work.driver);
  } else {
    sens.work.status = SLT_OK;
  }
  bool good = work_end(&sens.work, "sens") && ready;
  slt_measures_free(sens.work.measures);
  names_free(&names);
  PyMem_Free(at);
  if (!good) Py_CLEAR(sens.list);
  return sens.list;
}

// ---- parameters that are searched for -----------------------------------------------------------

/// [(name, start, lower, upper)] as parameters; PyMem_Free() it. Names live as long as the list.
static SltFitParameter* parameters_from(PyObject* list, uint32_t* count) {
  Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : -1;
  if (size < 0 || size >= UINT32_MAX) {
    PyErr_SetString(PyExc_TypeError, "params must be a list");
    return NULL;
  }
  SltFitParameter* parameters = PyMem_Calloc((size_t)size + 1, sizeof *parameters);
  if (!parameters) PyErr_NoMemory();
  *count = (uint32_t)size;
  for (Py_ssize_t i = 0; parameters && i < size; i++) {
    PyObject* tuple = PyList_GetItem(list, i);
    SltFitParameter* p = &parameters[i];
    bool good = PyTuple_Check(tuple) && PyTuple_Size(tuple) == 4 &&
                (p->name = text_from(PyTuple_GetItem(tuple, 0), "a parameter")) != NULL &&
                number_from(PyTuple_GetItem(tuple, 1), "a start", &p->start) &&
                number_from(PyTuple_GetItem(tuple, 2), "a bound", &p->lower) &&
                number_from(PyTuple_GetItem(tuple, 3), "a bound", &p->upper);
    if (good) continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a parameter has four parts");
    PyMem_Free(parameters);
    parameters = NULL;
  }
  return parameters;
}

static PyObject* parameter_values(const SltFitParameter* parameters, uint32_t count) {
  PyObject* list = PyList_New(0);
  for (uint32_t i = 0; list && i < count; i++) {
    const SltFitParameter* p = &parameters[i];
    PyObject* item =
        Py_BuildValue("(dddd)", p->value, p->deviation, p->interval[0], p->interval[1]);
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/// CSV text as a table; NULL with an exception.
static SltTable* table_from(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
  SltTable* table = NULL;
  uint32_t line = 0;
  if (!data) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the data must be a text");
    return NULL;
  }
  SltStatus status = slt_table_read_csv(data, (size_t)size, &table, &line);
  if (status == SLT_ERR_SYNTAX) {
    PyErr_Format(PyExc_ValueError, "line %lu of the data is no row of numbers",
                 (unsigned long)line);
  } else if (status < 0) {
    raise_status(status, "data");
  }
  return status < 0 ? NULL : table;
}

// ---- fits ---------------------------------------------------------------------------------------

typedef struct Fit {
  Work work;
  SltFitData* data;
  SltTable** tables;
  Overrides* settings;
  uint32_t data_count;
  SltFitParameter* parameters;
  uint32_t count;
  Overrides weights;
  SltFitOptions options;
  SltFitResult result;
} Fit;

typedef enum FitArgument {
  FIT_DATA,  // [(csv, settings)]
  FIT_PARAMETERS,
  FIT_LOSS,
  FIT_STARTS,
  FIT_SEED,
  FIT_WEIGHTS,
  FIT_ITERATIONS,
  FIT_OPTIONS,
  FIT_ARGUMENTS
} FitArgument;

static bool read_data(Fit* fit, PyObject* list) {
  Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : -1;
  if (size <= 0 || size >= UINT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "there are no data");
    return false;
  }
  fit->data = PyMem_Calloc((size_t)size, sizeof *fit->data);
  fit->tables = PyMem_Calloc((size_t)size, sizeof *fit->tables);
  fit->settings = PyMem_Calloc((size_t)size, sizeof *fit->settings);
  if (!fit->data || !fit->tables || !fit->settings) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < size; i++) {
    PyObject* pair = PyList_GetItem(list, i);
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
      PyErr_SetString(PyExc_TypeError, "data are pairs");
      return false;
    }
    fit->tables[i] = table_from(PyTuple_GetItem(pair, 0));
    if (!fit->tables[i]) return false;
    fit->data_count++;
    if (!overrides_from(PyTuple_GetItem(pair, 1), &fit->settings[i])) return false;
    fit->data[i] = (SltFitData){fit->tables[i], fit->settings[i].list, fit->settings[i].count};
  }
  return true;
}

static bool read_fit(Fit* fit, PyObject* const* args) {
  uint64_t loss = 0;
  uint32_t iterations = 0;
  fit->options = slt_fit_options();
  if (!whole_from(args[FIT_LOSS], "loss", &loss) ||
      !count_from(args[FIT_STARTS], "starts", &fit->options.starts) ||
      !whole_from(args[FIT_SEED], "seed", &fit->options.seed) ||
      !count_from(args[FIT_ITERATIONS], "iterations", &iterations) ||
      !overrides_from(args[FIT_WEIGHTS], &fit->weights) || !read_data(fit, args[FIT_DATA])) {
    return false;
  }
  fit->parameters = parameters_from(args[FIT_PARAMETERS], &fit->count);
  if (!fit->parameters) return false;
  size_t n = fit->count;
  fit->result.correlation = PyMem_Calloc(n * n + 1, sizeof(double));
  fit->result.weakest = PyMem_Calloc(n + 1, sizeof(double));
  if (!fit->result.correlation || !fit->result.weakest) {
    PyErr_NoMemory();
    return false;
  }
  fit->options.sim = fit->work.sim;
  fit->options.loss = (SltLoss)loss;
  if (iterations) fit->options.iterations = iterations;
  fit->options.weights = fit->weights.list;
  fit->options.weight_count = fit->weights.count;
  fit->options.cancel = is_cancelled;
  fit->options.user = fit;
  return true;
}

static PyObject* fit_result(const Fit* fit) {
  const SltFitResult* r = &fit->result;
  Py_ssize_t n = (Py_ssize_t)fit->count;
  Py_ssize_t size = (Py_ssize_t)sizeof(double);
  return Py_BuildValue("(NKdIIOy#y#dK)", parameter_values(fit->parameters, fit->count),
                       (unsigned long long)r->points, r->rms, r->iterations, r->runs,
                       r->converged ? Py_True : Py_False, (const char*)r->correlation, n * n * size,
                       (const char*)r->weakest, n * size, r->condition,
                       (unsigned long long)r->left_out);
}

static void fit_free(Fit* fit) {
  for (uint32_t i = 0; i < fit->data_count; i++) {
    overrides_free(&fit->settings[i]);
    slt_table_free(fit->tables[i]);
  }
  PyMem_Free(fit->data);
  PyMem_Free((void*)fit->tables);
  PyMem_Free(fit->settings);
  PyMem_Free(fit->parameters);
  PyMem_Free(fit->result.correlation);
  PyMem_Free(fit->result.weakest);
  overrides_free(&fit->weights);
}

PyObject* model_fit(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  Fit fit = {.data = NULL};
  PyObject* result = NULL;
  if (!has_arguments(count, FIT_ARGUMENTS) || !work_begin(&fit.work, self, args[FIT_OPTIONS], NULL))
    return NULL;
  bool ready = read_fit(&fit, args);
  if (ready) {
    driver_release(&fit.work.driver);
    fit.work.status = slt_fit_run(fit.work.model->model, fit.data, fit.data_count, fit.parameters,
                                  fit.count, &fit.options, &fit.result, &fit.work.problem);
    driver_acquire(&fit.work.driver);
  }
  if (work_end(&fit.work, "fit") && ready) result = fit_result(&fit);
  fit_free(&fit);
  return result;
}

// ---- optimisation -------------------------------------------------------------------------------

typedef struct Search {
  Work work;
  SltFitParameter* parameters;
  uint32_t count;
  SltConstraint* constraints;
  SltOptimizeOptions options;
  SltOptimum optimum;
  Bytes history;
  bool lost;
} Search;

static void keep_evaluation(void* user, const SltEvaluation* e) {
  Search* search = user;
  size_t measures = slt_measures_count(search->work.measures);
  double feasible = e->feasible ? 1.0 : 0.0;
  search->lost |=
      bytes_write(&search->history, (const char*)e->parameters, search->count * sizeof(double)) <
          0 ||
      bytes_write(&search->history, (const char*)e->values, measures * sizeof(double)) < 0 ||
      bytes_write(&search->history, (const char*)&feasible, sizeof feasible) < 0;
}

typedef enum OptimizeArgument {
  OPTIMIZE_MEASURES,
  OPTIMIZE_PARAMETERS,
  OPTIMIZE_CONSTRAINTS,  // [(measure, at least, bound)]
  OPTIMIZE_SEARCH,
  OPTIMIZE_MAXIMIZE,
  OPTIMIZE_EVALUATIONS,
  OPTIMIZE_TOLERANCE,
  OPTIMIZE_SEED,
  OPTIMIZE_UNTIL,
  OPTIMIZE_OPTIONS,
  OPTIMIZE_ARGUMENTS
} OptimizeArgument;

static bool read_constraints(Search* search, PyObject* list) {
  Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : 0;
  search->constraints = PyMem_Calloc((size_t)size + 1, sizeof *search->constraints);
  if (!search->constraints) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < size; i++) {
    int at_least = 0;
    unsigned int measure = 0;
    SltConstraint* c = &search->constraints[i];
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "Ipd", &measure, &at_least, &c->bound)) {
      return false;
    }
    c->measure = measure;
    c->at_least = at_least != 0;
  }
  search->options.constraints = search->constraints;
  search->options.constraint_count = (uint32_t)size;
  return true;
}

static bool read_search(Search* search, PyObject* const* args) {
  uint64_t kind = 0;
  uint32_t evaluations = 0;
  double tolerance = 0.0;
  SltOptimizeOptions* o = &search->options;
  *o = slt_optimize_options();
  if (!whole_from(args[OPTIMIZE_SEARCH], "search", &kind) ||
      !count_from(args[OPTIMIZE_EVALUATIONS], "evaluations", &evaluations) ||
      !whole_from(args[OPTIMIZE_SEED], "seed", &o->seed) ||
      !number_from(args[OPTIMIZE_TOLERANCE], "tolerance", &tolerance) ||
      !read_constraints(search, args[OPTIMIZE_CONSTRAINTS]) ||
      !read_measures(&search->work, args[OPTIMIZE_MEASURES])) {
    return false;
  }
  search->parameters = parameters_from(args[OPTIMIZE_PARAMETERS], &search->count);
  if (!search->parameters) return false;
  o->sim = search->work.sim;
  o->t_end = search->work.until;
  o->search = (SltSearch)kind;
  o->maximize = args[OPTIMIZE_MAXIMIZE] == Py_True;
  if (evaluations) o->evaluations = evaluations;
  if (!isnan(tolerance)) o->tolerance = tolerance;
  o->on_evaluation = keep_evaluation;
  o->cancel = is_cancelled;
  o->user = search;
  return true;
}

PyObject* model_optimize(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  Search search = {.parameters = NULL};
  Work* work = &search.work;
  PyObject* result = NULL;
  if (!has_arguments(count, OPTIMIZE_ARGUMENTS) ||
      !work_begin(work, self, args[OPTIMIZE_OPTIONS], args[OPTIMIZE_UNTIL])) {
    return NULL;
  }
  bool ready = read_search(&search, args);
  if (ready) {
    driver_release(&work->driver);
    work->status = slt_optimize_run(work->model->model, work->measures, search.parameters,
                                    search.count, &search.options, &search.optimum, &work->problem);
    driver_acquire(&work->driver);
    if (work->status >= 0 && search.lost) work->status = SLT_ERR_NOMEM;
  } else {
    work->status = SLT_OK;
  }
  if (work_end(work, "optimize") && ready) {
    const SltOptimum* o = &search.optimum;
    result = Py_BuildValue("(NdKOONN)", parameter_values(search.parameters, search.count), o->value,
                           (unsigned long long)o->evaluations, o->feasible ? Py_True : Py_False,
                           o->converged ? Py_True : Py_False, measure_names(work->measures),
                           doubles(&search.history));
  }
  slt_measures_free(work->measures);
  PyMem_Free(search.parameters);
  PyMem_Free(search.constraints);
  bytes_free(&search.history);
  return result;
}

// ---- comparisons --------------------------------------------------------------------------------

static void keep_comparison(void* user, const SltComparison* c) {
  PyObject* list = user;
  if (PyErr_Occurred()) return;
  PyObject* item = Py_BuildValue("(sddddIIdKO)", c->name, c->largest, c->t_largest, c->rms,
                                 c->scale, c->jumps[0], c->jumps[1], c->jump_shift,
                                 (unsigned long long)c->points, c->within ? Py_True : Py_False);
  if (!item || PyList_Append(list, item) < 0) PyErr_NoMemory();
  Py_XDECREF(item);
}

PyObject* compare_tables(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  (void)module;
  SltCompareOptions options = slt_compare_options();
  SltProblem problem = {.message = ""};
  if (!has_arguments(count, 5) || !number_from(args[2], "tol", &options.tol) ||
      !number_from(args[3], "abs_tol", &options.abs_tol) ||
      !number_from(args[4], "time_tol", &options.time_tol)) {
    return NULL;
  }
  SltTable* a = table_from(args[0]);
  SltTable* b = a ? table_from(args[1]) : NULL;
  PyObject* list = b ? PyList_New(0) : NULL;
  if (list) {
    SltStatus status = slt_compare_tables(a, b, &options, keep_comparison, list, &problem);
    Work work = {.problem = problem, .status = status};
    if (status < 0 && !PyErr_Occurred()) raise_problem(&work, "compare");
    if (PyErr_Occurred()) Py_CLEAR(list);
  }
  slt_table_free(a);
  slt_table_free(b);
  return list;
}

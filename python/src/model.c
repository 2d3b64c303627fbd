// SPDX-License-Identifier: MIT
//
// Compiled models, and whole runs of them.
#include "saltus_py.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNINGS_MAX 1000  // kept of one run

/// Calls that are inside of models now, those around a callback included. The list is read and
/// written with the interpreter lock only.
typedef struct Call {
  ModelObject* model;
  unsigned long thread;
} Call;

static Call* calls;
static size_t call_count, call_capacity;

// ---- life ---------------------------------------------------------------------------------------

bool model_enter(ModelObject* model) {
  if (model->orphaned) {
    PyErr_SetString(PyExc_RuntimeError,
                    "another thread was using this model when the process forked, and does not "
                    "exist here; load the model again in the child process");
    return false;
  }
  if (call_count == call_capacity) {
    size_t capacity = call_capacity ? 2 * call_capacity : 16;
    Call* grown = realloc(calls, capacity * sizeof *grown);
    if (!grown) {
      PyErr_NoMemory();
      return false;
    }
    calls = grown;
    call_capacity = capacity;
  }
  calls[call_count++] = (Call){model, PyThread_get_thread_ident()};
  return true;
}

void model_leave(ModelObject* model) {
  unsigned long thread = PyThread_get_thread_ident();
  size_t i = call_count;
  while (i-- > 0) {
    if (calls[i].model != model || calls[i].thread != thread) continue;
    calls[i] = calls[--call_count];
    return;
  }
}

/// Of the threads that were inside of models only the one that has forked exists here: what it was
/// doing goes on, what the others were doing does not.
PyObject* model_after_fork(PyObject* module, PyObject* ignored) {
  (void)module;
  (void)ignored;
  unsigned long thread = PyThread_get_thread_ident();
  for (size_t i = 0; i < call_count; i++)
    calls[i].model->orphaned |= calls[i].thread != thread;
  Py_RETURN_NONE;
}

static ModelObject* model_create(SltModel* compiled) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(types.model, Py_tp_alloc);
  ModelObject* model = (ModelObject*)alloc(types.model, 0);
  if (model) model->model = compiled;
  return model;
}

static void model_dealloc(PyObject* self) {
  ModelObject* model = (ModelObject*)self;
  PyTypeObject* type = Py_TYPE(self);
  // what a thread of the parent process was in the middle of cannot be taken apart
  if (!model->orphaned) slt_model_free(model->model);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

// ---- compilation --------------------------------------------------------------------------------

/// Messages of a compilation, collected without the interpreter lock.
typedef struct Messages {
  PyObject* list;
  PyThreadState* thread;
} Messages;

static void add_message(void* user, const SltDiagnostic* diagnostic) {
  Messages* messages = user;
  PyEval_RestoreThread(messages->thread);
  if (!PyErr_Occurred()) {
    PyObject* item = diagnostic_dict(diagnostic);
    if (item) PyList_Append(messages->list, item);
    Py_XDECREF(item);
  }
  messages->thread = PyEval_SaveThread();
}

static bool set_native(SltModel* model, PyObject* when, PyObject* compiler, PyObject* cache) {
  SltNativeOptions options = slt_native_options();
  long value = PyLong_AsLong(when);
  if (value == -1 && PyErr_Occurred()) return false;
  if (value == SLT_NATIVE_OFF) return true;
  options.when = value == SLT_NATIVE_ON ? SLT_NATIVE_ON : SLT_NATIVE_AUTO;
  if (compiler != Py_None && !(options.compiler = text_from(compiler, "compiler"))) return false;
  if (cache != Py_None && !(options.cache = text_from(cache, "cache"))) return false;
  SltStatus status = slt_model_set_native(model, &options);
  if (status < 0) raise_status(status, "machine code");
  return status >= 0;
}

static void raise_compile(SltStatus status, const char* name, PyObject* messages) {
  if (status == SLT_ERR_NOMEM) {
    PyErr_NoMemory();
    return;
  }
  if (status == SLT_ERR_IO && PyList_Size(messages) == 0) {
    PyErr_Format(PyExc_OSError, "cannot read %s", name);
    return;
  }
  raise_made("model_error",
             Py_BuildValue("{s:i,s:s,s:s,s:O}", "status", (int)status, "text",
                           slt_status_text(status), "name", name, "messages", messages));
}

/// compile(name, text or None for a file, params, structure, native, compiler, cache)
/// -> (Model, messages)
PyObject* model_compile(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  (void)module;
  if (count != 7) {
    PyErr_SetString(PyExc_TypeError, "compile takes 7 arguments");
    return NULL;
  }
  SltCompileOptions options = slt_compile_options();
  Messages messages = {NULL, NULL};
  Overrides overrides;
  const char* name = text_from(args[0], "the name");
  Py_ssize_t size = 0;
  const char* text = NULL;
  if (!name) return NULL;
  if (args[1] != Py_None) {
    if (!PyUnicode_Check(args[1])) {
      PyErr_SetString(PyExc_TypeError, "the text must be a str");
      return NULL;
    }
    text = PyUnicode_AsUTF8AndSize(args[1], &size);
    if (!text) return NULL;
  }
  if (!overrides_from(args[2], &overrides)) return NULL;
  messages.list = PyList_New(0);
  if (!messages.list) {
    overrides_free(&overrides);
    return NULL;
  }
  options.overrides = overrides.list;
  options.override_count = overrides.count;
  options.on_diagnostic = add_message;
  options.user = &messages;
  options.structure = args[3] == Py_True;
  options.foreign = foreign_host();
  SltModel* compiled = NULL;
  messages.thread = PyEval_SaveThread();
  SltStatus status = text ? slt_model_compile(name, text, (size_t)size, &options, &compiled)
                          : slt_model_compile_file(name, &options, &compiled);
  PyEval_RestoreThread(messages.thread);
  overrides_free(&overrides);
  PyObject* result = NULL;
  ModelObject* model = NULL;
  bool raised = PyErr_Occurred() != NULL;
  if (!raised && status < 0) {
    raise_compile(status, name, messages.list);
  } else if (!raised && set_native(compiled, args[4], args[5], args[6]) &&
             (model = model_create(compiled))) {
    result = Py_BuildValue("(NO)", model, messages.list);
  } else {
    slt_model_free(compiled);
  }
  Py_DECREF(messages.list);
  return result;
}

// ---- what a model is ----------------------------------------------------------------------------

static SltStatus add_name(void* user, const SltName* name) {
  static const char* const kinds[] = {"variable", "derivative", "constant",
                                      "macro",    "automaton",  "time"};
  PyObject* item = Py_BuildValue(
      "{s:s,s:s,s:s,s:O,s:O,s:O,s:I,s:I,s:I,s:I}", "kind", kinds[name->quantity.kind], "name",
      name->name, "unit", name->unit, "discrete", name->discrete ? Py_True : Py_False, "input",
      name->input ? Py_True : Py_False, "fixed", name->fixed ? Py_True : Py_False, "derivatives",
      name->derivatives, "states", name->states, "line", name->line, "index", name->quantity.index);
  int failed = item ? PyList_Append(user, item) : -1;
  Py_XDECREF(item);
  return failed ? SLT_ERR_NOMEM : SLT_OK;
}

static PyObject* model_names(PyObject* self, PyObject* ignored) {
  (void)ignored;
  ModelObject* model = (ModelObject*)self;
  PyObject* list = PyList_New(0);
  if (list && slt_model_names(model->model, add_name, list) < 0) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
    Py_CLEAR(list);
  }
  return list;
}

static PyObject* model_states(PyObject* self, PyObject* index) {
  ModelObject* model = (ModelObject*)self;
  unsigned long value = PyLong_AsUnsignedLong(index);
  if (value == (unsigned long)-1 && PyErr_Occurred()) return NULL;
  PyObject* list = PyList_New(0);
  SltQuantity quantity = {SLT_KIND_MODE, value < UINT32_MAX ? (uint32_t)value : UINT32_MAX, 0};
  for (uint32_t i = 0; list; i++) {
    const char* name = slt_model_state_name(model->model, quantity, i);
    if (!name) break;
    PyObject* item = PyUnicode_FromString(name);
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject* model_experiment(PyObject* self, PyObject* ignored) {
  (void)ignored;
  SltExperiment e = slt_model_experiment(((ModelObject*)self)->model);
  PyObject* out = PyTuple_New(e.out_count);
  for (uint32_t i = 0; out && i < e.out_count; i++) {
    PyObject* name = PyUnicode_FromString(e.out[i]);
    if (!name || PyTuple_SetItem(out, i, name) < 0) Py_CLEAR(out);
  }
  if (!out) return NULL;
  return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:z,s:N}", "start", e.start,
                       "until", e.end, "every", e.every, "step", e.step, "h0", e.h0, "h_min",
                       e.h_min, "h_max", e.h_max, "rtol", e.rtol, "atol", e.atol, "event_eps",
                       e.event_eps, "gamma", e.gamma, "method", e.method, "out", out);
}

static PyObject* model_explain(PyObject* self, PyObject* form) {
  ModelObject* model = (ModelObject*)self;
  static const char* const words[] = {"text", "json", "ir"};
  const char* word = text_from(form, "the form");
  if (!word) return NULL;
  int format = 0;
  while (format < 3 && strcmp(words[format], word) != 0)
    format++;
  if (format == 3) {
    PyErr_Format(PyExc_ValueError, "the form must be text, json or ir, not %R", form);
    return NULL;
  }
  Bytes bytes = {NULL, 0, 0};
  SltStatus status = SLT_OK;
  if (!model_enter(model)) return NULL;
  Py_BEGIN_ALLOW_THREADS status =
      slt_model_explain(model->model, (SltExplainFormat)format, (SltWriter){bytes_write, &bytes});
  Py_END_ALLOW_THREADS model_leave(model);
  PyObject* text = status >= 0 ? bytes_text(&bytes) : NULL;
  if (status < 0) raise_status(status, "explain");
  bytes_free(&bytes);
  return text;
}

/// The automata as SVG; None where there are none.
static PyObject* model_graph(PyObject* self, PyObject* title) {
  ModelObject* model = (ModelObject*)self;
  const char* text = text_from(title, "the title");
  if (!text) return NULL;
  SltGraph* graph = NULL;
  Bytes bytes = {NULL, 0, 0};
  SltStatus status = slt_graph_create(model->model, &graph);
  if (status >= 0) status = slt_graph_write(graph, text, (SltWriter){bytes_write, &bytes});
  slt_graph_free(graph);
  PyObject* result = NULL;
  if (status >= 0) {
    result = bytes_text(&bytes);
  } else if (status == SLT_ERR_ARGUMENT) {
    result = Py_NewRef(Py_None);
  } else {
    raise_status(status, "graph");
  }
  bytes_free(&bytes);
  return result;
}

static PyObject* model_native_report(PyObject* self, PyObject* ignored) {
  (void)ignored;
  SltNativeReport r = slt_model_native_report(((ModelObject*)self)->model);
  return Py_BuildValue("{s:I,s:I,s:I,s:z}", "programs", r.programs, "compiled", r.compiled,
                       "loaded", r.loaded, "note", r.note);
}

// ---- runs ---------------------------------------------------------------------------------------

typedef enum RunArgument {
  ARG_UNTIL,
  ARG_PARAMS,
  ARG_OUT,
  ARG_EVERY,
  ARG_SAMPLES,
  ARG_ALL_STEPS,
  ARG_EVENT_ROWS,
  ARG_EVENTS,
  ARG_ON_EVENT,
  ARG_ON_STEP,
  ARG_OPTIONS,
  ARG_COUNT
} RunArgument;

/// How far the making of a run has come.
typedef enum RunStage { RUN_SETTINGS, RUN_PARAMS, RUN_ROWS, RUN_MADE } RunStage;

/// One run from its arguments to its recording. All that the library does is done without the
/// interpreter lock, making and freeing the run included: threads wait for each other no longer
/// than the arguments and the answer need.
typedef struct Run {
  ModelObject* model;
  SltSimOptions settings;
  SltRecorderOptions rows;
  SltSim* sim;
  SltRecorder* recorder;
  RecordingObject* recording;
  Driver driver;
  Names names;
  Overrides params;
  double until;
  long events;          // 0: none, 1: their fixed part, 2: all that is known of them
  RunStage stage;       // what has failed, or RUN_MADE
  const char* problem;  // of the settings, or a name that the model does not have
  SltStatus status;
} Run;

static void run_event(void* user, const SltEvent* event) {
  Run* run = user;
  recording_event(run->recording, event);
  if (run->driver.on_event) driver_event(&run->driver, event);
}

static void run_warning(void* user, const SltDiagnostic* diagnostic) {
  Run* run = user;
  RecordingObject* r = run->recording;
  if (r->warnings && PyList_Size(r->warnings) >= WARNINGS_MAX) {
    r->warnings_dropped++;
    return;
  }
  bool released = run->driver.thread != NULL;
  if (released) driver_acquire(&run->driver);
  if (!r->warnings) r->warnings = PyList_New(0);
  PyObject* item = r->warnings ? diagnostic_dict(diagnostic) : NULL;
  if (!item || PyList_Append(r->warnings, item) < 0) driver_keep(&run->driver);
  Py_XDECREF(item);
  if (released) driver_release(&run->driver);
}

static bool recorder_options_from(Run* run, PyObject* const* args) {
  SltRecorderOptions* options = &run->rows;
  SltExperiment experiment = slt_model_experiment(run->model->model);
  int beyond = 0;
  PyObject* wanted = args[ARG_SAMPLES];
  long samples = wanted == Py_None ? 0 : PyLong_AsLongAndOverflow(wanted, &beyond);
  long event_rows = PyErr_Occurred() ? -1 : PyLong_AsLong(args[ARG_EVENT_ROWS]);
  if (PyErr_Occurred()) return false;
  if (!number_from(args[ARG_EVERY], "every", &options->every)) return false;
  int all_steps = PyObject_IsTrue(args[ARG_ALL_STEPS]);
  if (all_steps < 0) return false;
  options->all_steps = all_steps == 1;
  options->event_rows = (SltEventRows)event_rows;
  if (wanted != Py_None && (beyond || samples < 1 || samples > UINT32_MAX / 2)) {
    PyErr_SetString(PyExc_ValueError, "samples must be a whole number from 1 to 2147483647");
    return false;
  }
  if (args[ARG_EVERY] != Py_None && !(options->every > 0.0 && isfinite(options->every))) {
    PyErr_SetString(PyExc_ValueError, "every must be greater than 0");
    return false;
  }
  if (samples > 0) {
    options->samples = (uint32_t)samples;
  } else if (args[ARG_EVERY] == Py_None && !options->all_steps) {
    options->every = experiment.every;
  }
  if (!names_from(args[ARG_OUT], "out", &run->names)) return false;
  options->names = run->names.texts;
  options->name_count = run->names.count;
  if (!options->names && experiment.out_count) {
    options->names = experiment.out;
    options->name_count = experiment.out_count;
  }
  options->keep = true;
  options->bands = false;
  return true;
}

/// What the call asks for; false with an exception.
static bool prepare(Run* run, PyObject* const* args) {
  run->settings = slt_sim_options();
  run->rows = slt_recorder_options();
  run->events = PyLong_AsLong(args[ARG_EVENTS]);
  if (run->events == -1 && PyErr_Occurred()) return false;
  if (!sim_options_from(args[ARG_OPTIONS], &run->settings)) return false;
  if (!end_from(args[ARG_UNTIL], run->model->model, &run->settings, &run->until)) return false;
  if (!recorder_options_from(run, args)) return false;
  if (!overrides_from(args[ARG_PARAMS], &run->params)) return false;
  run->recording = recording_create();
  if (!run->recording) return false;
  if (run->events > 1) run->rows.events = (SltWriter){bytes_write, &run->recording->lines};
  driver_begin(&run->driver, args[ARG_ON_EVENT], args[ARG_ON_STEP]);
  return true;
}

/// Without the lock: the run, ready to start.
static SltStatus make_run(Run* run) {
  run->stage = RUN_SETTINGS;
  SltStatus status = sim_make(run->model->model, &run->settings, &run->sim, &run->problem);
  if (status < 0) return status;
  run->stage = RUN_PARAMS;
  for (uint32_t i = 0; i < run->params.count && status >= 0; i++)
    status = sim_set_param(run->sim, &run->params.list[i]);
  if (status < 0) return status;
  run->stage = RUN_ROWS;
  status = slt_recorder_create(run->sim, &run->rows, &run->recorder, &run->problem);
  if (status < 0) return status;
  run->stage = RUN_MADE;
  if (run->events > 0) {
    slt_recorder_on_event(run->recorder, run_event, run);
  } else if (run->driver.on_event) {
    slt_recorder_on_event(run->recorder, driver_event, &run->driver);
  }
  slt_sim_on_warning(run->sim, run_warning, run);
  slt_sim_on_step(run->sim, driver_step, &run->driver);
  slt_sim_on_round(run->sim, driver_round, &run->driver);
  return status;
}

/// Without the lock: from the start to the recording. A run that has failed stays, to be asked why.
static void carry_out(Run* run) {
  run->status = make_run(run);
  if (run->stage != RUN_MADE) return;
  run->status = slt_recorder_run(run->recorder, run->until);
  recording_take(run->recording, run->sim, run->recorder, run->status);
  if (run->status < 0) return;
  slt_recorder_free(run->recorder);
  slt_sim_free(run->sim);
  run->recorder = NULL;
  run->sim = NULL;
}

/// Say why there is no run.
static void raise_not_made(Run* run) {
  if (run->stage == RUN_SETTINGS) {
    raise_settings(run->status, run->problem);
  } else if (run->stage == RUN_PARAMS &&
             sim_set_params(run->sim, &run->params, (PyObject*)run->model)) {
    raise_status(run->status, "params");
  } else if (run->stage == RUN_ROWS && run->status == SLT_ERR_NOT_FOUND && run->problem) {
    raise_unknown(run->problem, (PyObject*)run->model);
  } else if (run->stage == RUN_ROWS) {
    raise_status(run->status, "recording");
  }
}

/// (Recording, error or None, exception or None)
static PyObject* conclude(Run* run) {
  SltStatus status = run->recording->lost ? SLT_ERR_NOMEM : run->status;
  if (status == SLT_ERR_NOMEM && !run->driver.type) {
    PyErr_SetString(PyExc_MemoryError, "no memory for what the run records; `every`, `samples`, "
                                       "`out` and `events` say how much that is");
    return NULL;
  }
  PyObject* error = Py_NewRef(Py_None);
  if (status < 0 && status != SLT_ERR_CANCELLED && run->sim) {
    Py_DECREF(error);
    error = run_error_dict(run->sim, status);
    if (!error) return NULL;
  }
  // an exception of a callback or a signal goes with what was recorded before it
  PyObject* exception = Py_None;
  if (run->driver.type) {
    PyErr_NormalizeException(&run->driver.type, &run->driver.value, &run->driver.trace);
    if (run->driver.trace) PyException_SetTraceback(run->driver.value, run->driver.trace);
    exception = run->driver.value;
  }
  return Py_BuildValue("(ONO)", run->recording, error, exception);
}

static PyObject* model_run(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != ARG_COUNT) {
    PyErr_Format(PyExc_TypeError, "run takes %d arguments", (int)ARG_COUNT);
    return NULL;
  }
  Run run = {.model = (ModelObject*)self};
  PyObject* result = NULL;
  if (!model_enter(run.model)) return NULL;
  if (prepare(&run, args)) {
    driver_release(&run.driver);
    carry_out(&run);
    driver_acquire(&run.driver);
    bool refused = run.stage == RUN_MADE && run.status == SLT_ERR_ARGUMENT;
    if (run.stage != RUN_MADE) {
      raise_not_made(&run);
    } else if (refused && slt_sim_error(run.sim).status >= 0) {
      PyErr_SetString(PyExc_ValueError,
                      "every is too small for a run of this length: there are not so many times");
    } else {
      result = conclude(&run);
    }
  }
  slt_recorder_free(run.recorder);
  slt_sim_free(run.sim);
  model_leave(run.model);
  driver_end(&run.driver);
  names_free(&run.names);
  overrides_free(&run.params);
  Py_XDECREF((PyObject*)run.recording);
  return result;
}

static PyMethodDef model_methods[] = {
    {"names", model_names, METH_NOARGS, "Names of the model as dicts."},
    {"states", model_states, METH_O, "Names of the states of an automaton."},
    {"experiment", model_experiment, METH_NOARGS, "Defaults of a run; nan where not given."},
    {"explain", model_explain, METH_O, "What the model is: text, json or ir."},
    {"graph", model_graph, METH_O, "The automata as SVG, or None."},
    {"native_report", model_native_report, METH_NOARGS, "What was compiled to machine code."},
    {"run", FAST(model_run), METH_FASTCALL, "One run with its recording."},
    {"sweep", FAST(model_sweep), METH_FASTCALL, "Many runs and their measures."},
    {"sens", FAST(model_sens), METH_FASTCALL, "Derivatives of measures."},
    {"fit", FAST(model_fit), METH_FASTCALL, "Parameters that fit data."},
    {"optimize", FAST(model_optimize), METH_FASTCALL, "Parameters for the best measure."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, "A compiled model. May be used by several threads at once."},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_methods, model_methods},
    {0, NULL},
};
static PyType_Spec model_spec = {"saltus._saltus.Model", sizeof(ModelObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 model_slots};

bool model_add(PyObject* module) {
  types.model = module_add_type(module, &model_spec);
  return types.model != NULL;
}

// SPDX-License-Identifier: MIT
//
// A run under the caller's control: advance, look, write, go back.
#include "saltus_py.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SimObject {
  PyObject_HEAD ModelObject* model;
  SltSim* sim;
  atomic_flag busy;
  bool keeps_records;
  Bytes records;  // lines of JSON that nobody has taken yet
  PyObject* on_event;
  PyObject* on_step;
  Driver* driver;  // of the call that is going on
  SltStatus status;
} SimObject;

// ---- making runs --------------------------------------------------------------------------------

SltStatus sim_make(const SltModel* model, const SltSimOptions* options, SltSim** sim,
                   const char** problem) {
  SltStatus status = slt_sim_options_check(model, options, problem);
  return status < 0 ? status : slt_sim_create(model, options, sim);
}

void raise_settings(SltStatus status, const char* problem) {
  if (problem) {
    raise_options(problem);
  } else {
    raise_status(status, "run");
  }
}

/// Check options from a dict and make a run of a model; NULL with an exception.
static SltSim* sim_create(const SltModel* model, PyObject* dict) {
  SltSimOptions options = slt_sim_options();
  const char* problem = NULL;
  SltSim* sim = NULL;
  if (!sim_options_from(dict, &options)) return NULL;
  SltStatus status = sim_make(model, &options, &sim, &problem);
  if (status < 0) raise_settings(status, problem);
  return sim;
}

SltStatus sim_set_param(SltSim* sim, const SltOverride* param) {
  size_t length = strlen(param->name);
  size_t ending = strlen("(t0)");
  bool initial = length > ending && strcmp(param->name + length - ending, "(t0)") == 0;
  if (!initial) return slt_sim_set_constant(sim, param->name, param->value);
  char* name = malloc(length + 1);
  if (!name) return SLT_ERR_NOMEM;
  memcpy(name, param->name, length - ending);
  name[length - ending] = '\0';
  SltStatus status = slt_sim_set_initial(sim, name, param->value);
  free(name);
  return status;
}

bool sim_set_params(SltSim* sim, const Overrides* params, PyObject* model) {
  for (uint32_t i = 0; i < params->count; i++) {
    const SltOverride* p = &params->list[i];
    SltStatus status = sim_set_param(sim, p);
    if (status >= 0) continue;
    SltQuantity quantity;
    if (status == SLT_ERR_NOT_FOUND && slt_sim_find(sim, p->name, &quantity) >= 0) {
      PyErr_Format(PyExc_ValueError,
                   "'%s' is no constant: params sets constants and initial values, '%s(t0)'; other "
                   "values can be set in a Sim",
                   p->name, p->name);
    } else if (status == SLT_ERR_NOT_FOUND) {
      raise_unknown(p->name, model);
    } else if (status == SLT_ERR_NOMEM) {
      PyErr_NoMemory();
    } else if (!isfinite(p->value)) {
      PyErr_Format(PyExc_ValueError, "the parameter '%s' must be finite", p->name);
    } else {
      PyErr_Format(PyExc_ValueError,
                   "'%s' shapes the model and can only be set when it is compiled: "
                   "saltus.load(..., params={'%s': ...})",
                   p->name, p->name);
    }
    return false;
  }
  return true;
}

/// {automaton: state}
static PyObject* sim_states(SltSim* sim) {
  PyObject* dict = PyDict_New();
  uint32_t count = slt_sim_automaton_count(sim);
  for (uint32_t i = 0; dict && i < count; i++) {
    const char* text = slt_sim_automaton_state(sim, i);
    PyObject* state = text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
    if (!state || PyDict_SetItemString(dict, slt_sim_automaton_name(sim, i), state) < 0) {
      Py_CLEAR(dict);
    }
    Py_XDECREF(state);
  }
  return dict;
}

// ---- one at a time ------------------------------------------------------------------------------

static bool sim_enter(SimObject* self) {
  if (!self->sim) {
    PyErr_SetString(PyExc_ValueError, "this run is closed");
    return false;
  }
  if (self->model->orphaned) {
    (void)model_enter(self->model);  // says why
    return false;
  }
  if (atomic_flag_test_and_set(&self->busy)) {
    PyErr_SetString(PyExc_RuntimeError,
                    self->driver ? "this run is at work: in another thread, or around the callback "
                                   "that this call was made from"
                                 : "another thread is using this run");
    return false;
  }
  return true;
}

static void sim_leave(SimObject* self) {
  atomic_flag_clear(&self->busy);
}

static void on_event(void* user, const SltEvent* event) {
  SimObject* self = user;
  if (self->keeps_records) {
    (void)slt_event_write(event, (SltWriter){bytes_write, &self->records});
  }
  if (self->on_event && self->driver) driver_event(self->driver, event);
}

static bool on_step(void* user, double t) {
  SimObject* self = user;
  return self->driver && driver_step(self->driver, t);
}

static bool on_round(void* user, double t) {
  SimObject* self = user;
  return self->driver && driver_round(self->driver, t);
}

typedef enum Way { WAY_START, WAY_TO_TIME, WAY_TO_EVENT, WAY_STEP } Way;

static SltStatus move(SimObject* self, Way way, double t) {
  SltStatus status = SLT_OK;
  switch (way) {
  case WAY_START: return slt_sim_start(self->sim);
  case WAY_TO_EVENT: return slt_sim_advance(self->sim, t, NULL);
  case WAY_STEP: return slt_sim_advance_step(self->sim, t, NULL);
  case WAY_TO_TIME:
    do {
      status = slt_sim_advance(self->sim, t, NULL);
      // several instants may stand at one time; the last of them is where `t` is reached
    } while (status == SLT_EVENT && (!self->driver->type));
    return status;
  }
  return SLT_ERR_ARGUMENT;
}

/// Work without the interpreter lock; false with an exception. The caller has entered.
static bool work(SimObject* self, Way way, double t) {
  Driver driver;
  if (!model_enter(self->model)) return false;
  driver_begin(&driver, self->on_event, self->on_step);
  self->driver = &driver;
  driver_release(&driver);
  SltStatus status = move(self, way, t);
  driver_acquire(&driver);
  self->driver = NULL;
  model_leave(self->model);
  self->status = status;
  bool raised = driver_raise(&driver);
  bool stopped = driver.stop;
  driver_end(&driver);
  if (raised) return false;
  if (status >= 0 || (status == SLT_ERR_CANCELLED && stopped)) return true;
  raise_run(self->sim, status);
  return false;
}

static bool check_time(SimObject* self, double t) {
  double now = slt_sim_time(self->sim);
  if (isfinite(t) && t >= now) return true;
  PyObject* wanted = PyFloat_FromDouble(t);
  PyObject* present = PyFloat_FromDouble(now);
  if (wanted && present) {
    PyErr_Format(PyExc_ValueError, "cannot advance to %R: the run is at %R", wanted, present);
  }
  Py_XDECREF(wanted);
  Py_XDECREF(present);
  return false;
}

static PyObject* advance(PyObject* object, PyObject* to, Way way) {
  SimObject* self = (SimObject*)object;
  double t = 0.0;
  if (!number_from(to, "the time", &t)) return NULL;
  if (to == Py_None) {
    PyErr_SetString(PyExc_TypeError, "the time must be a number, not None");
    return NULL;
  }
  if (!sim_enter(self)) return NULL;
  bool good = check_time(self, t) && work(self, way, t);
  double reached = slt_sim_time(self->sim);
  SltStatus status = self->status;
  sim_leave(self);
  if (!good) return NULL;
  if (way == WAY_TO_EVENT) return PyBool_FromLong(status == SLT_EVENT || status == SLT_END);
  return PyFloat_FromDouble(reached);
}

static PyObject* sim_advance(PyObject* self, PyObject* to) {
  return advance(self, to, WAY_TO_TIME);
}

static PyObject* sim_to_event(PyObject* self, PyObject* to) {
  return advance(self, to, WAY_TO_EVENT);
}

static PyObject* sim_step(PyObject* self, PyObject* to) {
  return advance(self, to, WAY_STEP);
}

// ---- life ---------------------------------------------------------------------------------------

/// Sim(model, params, options, on_event, on_step, records)
static PyObject* sim_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject *model = NULL, *params = NULL, *options = NULL, *event = NULL, *step = NULL;
  int records = 0;
  if (keywords && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "Sim takes no keywords; use Model.sim");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O!OOOOp", types.model, &model, &params, &options, &event, &step,
                        &records)) {
    return NULL;
  }
  Overrides list;
  if (!overrides_from(params, &list)) return NULL;
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  SimObject* self = (SimObject*)alloc(type, 0);
  if (!self) {
    overrides_free(&list);
    return NULL;
  }
  atomic_flag_clear(&self->busy);
  self->model = (ModelObject*)Py_NewRef(model);
  self->on_event = event == Py_None ? NULL : Py_NewRef(event);
  self->on_step = step == Py_None ? NULL : Py_NewRef(step);
  self->keeps_records = records;
  bool good = model_enter(self->model);
  if (good) {
    self->sim = sim_create(self->model->model, options);
    good = self->sim && sim_set_params(self->sim, &list, model);
    model_leave(self->model);
  }
  overrides_free(&list);
  if (good) {
    if (self->keeps_records || self->on_event) slt_sim_on_event(self->sim, on_event, self);
    slt_sim_on_step(self->sim, on_step, self);
    slt_sim_on_round(self->sim, on_round, self);
    good = sim_enter(self);
  }
  if (good) {
    good = work(self, WAY_START, 0.0);
    sim_leave(self);
  }
  if (good) return (PyObject*)self;
  Py_DECREF((PyObject*)self);
  return NULL;
}

static int sim_traverse(PyObject* object, visitproc visit, void* arg) {
  SimObject* self = (SimObject*)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT((PyObject*)self->model);
  Py_VISIT(self->on_event);
  Py_VISIT(self->on_step);
  return 0;
}

static int sim_clear(PyObject* object) {
  SimObject* self = (SimObject*)object;
  Py_CLEAR(self->on_event);
  Py_CLEAR(self->on_step);
  return 0;
}

static void sim_dealloc(PyObject* object) {
  SimObject* self = (SimObject*)object;
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  sim_clear(object);
  // after a fork another thread of the parent may have been in the middle of it
  if (self->model && !self->model->orphaned) slt_sim_free(self->sim);
  bytes_free(&self->records);
  Py_XDECREF((PyObject*)self->model);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static PyObject* sim_close(PyObject* object, PyObject* ignored) {
  (void)ignored;
  SimObject* self = (SimObject*)object;
  if (!self->sim) Py_RETURN_NONE;
  if (!sim_enter(self)) return NULL;
  slt_sim_free(self->sim);
  self->sim = NULL;
  sim_leave(self);
  Py_RETURN_NONE;
}

// ---- values -------------------------------------------------------------------------------------

static PyObject* value_of(SimObject* self, const char* name, bool before) {
  SltQuantity q;
  if (slt_sim_find(self->sim, name, &q) < 0) {
    raise_unknown(name, (PyObject*)self->model);
    return NULL;
  }
  if (q.kind == SLT_KIND_MODE) {
    const char* text =
        before ? slt_sim_mode_name_before(self->sim, q) : slt_sim_mode_name(self->sim, q);
    return PyUnicode_FromString(text ? text : "");
  }
  return PyFloat_FromDouble(before ? slt_sim_get_before(self->sim, q) : slt_sim_get(self->sim, q));
}

static PyObject* read_one(PyObject* object, PyObject* name, bool before) {
  SimObject* self = (SimObject*)object;
  const char* text = text_from(name, "the name");
  if (!text || !sim_enter(self)) return NULL;
  PyObject* value = value_of(self, text, before);
  sim_leave(self);
  return value;
}

static PyObject* sim_get(PyObject* self, PyObject* name) {
  return read_one(self, name, false);
}

static PyObject* sim_before(PyObject* self, PyObject* name) {
  return read_one(self, name, true);
}

static PyObject* sim_get_many(PyObject* object, PyObject* names) {
  SimObject* self = (SimObject*)object;
  Names list;
  if (!names_from(names, "names", &list)) return NULL;
  bool entered = sim_enter(self);
  PyObject* values = entered ? PyList_New(list.count) : NULL;
  for (uint32_t i = 0; values && i < list.count; i++) {
    PyObject* value = value_of(self, list.texts[i], false);
    if (!value || PyList_SetItem(values, i, value) < 0) Py_CLEAR(values);
  }
  if (entered) sim_leave(self);
  names_free(&list);
  return values;
}

static SltStatus write_value(SimObject* self, const char* name, double value) {
  SltSim* sim = self->sim;
  SltQuantity q;
  SltStatus status = slt_sim_find(sim, name, &q);
  if (status < 0) {
    raise_unknown(name, (PyObject*)self->model);
    return status;
  }
  bool constant = q.kind == SLT_KIND_CONSTANT;
  status = constant ? slt_sim_set_constant(sim, name, value) : slt_sim_set(sim, q, value);
  if (status == SLT_ERR_ARGUMENT && constant) {
    PyErr_Format(PyExc_ValueError,
                 "'%s' cannot be changed during a run: it shapes the model, decides when something "
                 "is due or "
                 "is read by initial values alone, or another constant would not be finite",
                 name);
  } else if (status == SLT_ERR_ARGUMENT) {
    PyErr_Format(
        PyExc_ValueError,
        "'%s' cannot be written: an equation of the present mode computes it, or the run has "
        "ended",
        name);
  } else if (status < 0) {
    raise_run(sim, status);
  }
  return status;
}

static int sim_set_item(PyObject* object, PyObject* name, PyObject* value) {
  SimObject* self = (SimObject*)object;
  double number = 0.0;
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "values cannot be deleted");
    return -1;
  }
  const char* text = text_from(name, "the name");
  if (!text || !number_from(value, text, &number)) return -1;
  if (value == Py_None || !isfinite(number)) {
    PyErr_Format(PyExc_ValueError, "'%s' must be a finite number, not %R", text, value);
    return -1;
  }
  if (!sim_enter(self)) return -1;
  SltStatus status = write_value(self, text, number);
  sim_leave(self);
  return status < 0 ? -1 : 0;
}

static PyObject* sim_is_determined(PyObject* object, PyObject* name) {
  SimObject* self = (SimObject*)object;
  const char* text = text_from(name, "the name");
  if (!text || !sim_enter(self)) return NULL;
  SltQuantity q;
  SltStatus status = slt_sim_find(self->sim, text, &q);
  bool known = status >= 0 && slt_sim_is_determined(self->sim, q);
  sim_leave(self);
  if (status >= 0) return PyBool_FromLong(known);
  raise_unknown(text, (PyObject*)self->model);
  return NULL;
}

static PyObject* sim_states_method(PyObject* object, void* closure) {
  (void)closure;
  SimObject* self = (SimObject*)object;
  if (!sim_enter(self)) return NULL;
  PyObject* states = sim_states(self->sim);
  sim_leave(self);
  return states;
}

static PyObject* sim_columns(PyObject* object, void* closure) {
  (void)closure;
  SimObject* self = (SimObject*)object;
  if (!sim_enter(self)) return NULL;
  uint32_t count = slt_sim_column_count(self->sim);
  PyObject* list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    PyObject* name = PyUnicode_FromString(slt_sim_column_name(self->sim, i));
    if (!name || PyList_SetItem(list, i, name) < 0) Py_CLEAR(list);
  }
  sim_leave(self);
  return list;
}

static PyObject* sim_time(PyObject* object, void* closure) {
  (void)closure;
  SimObject* self = (SimObject*)object;
  if (!sim_enter(self)) return NULL;
  double t = slt_sim_time(self->sim);
  sim_leave(self);
  return PyFloat_FromDouble(t);
}

static PyObject* sim_stopped(PyObject* object, void* closure) {
  (void)closure;
  return PyBool_FromLong(((SimObject*)object)->status == SLT_END);
}

static PyObject* sim_statistics(PyObject* object, void* closure) {
  (void)closure;
  SimObject* self = (SimObject*)object;
  if (!sim_enter(self)) return NULL;
  SltStatistics statistics = slt_sim_statistics(self->sim);
  PyObject* dict = statistics_dict(&statistics);
  sim_leave(self);
  return dict;
}

/// Take the records kept so far; whether to keep those to come is the argument.
static PyObject* sim_take_records(PyObject* object, PyObject* keep) {
  SimObject* self = (SimObject*)object;
  int keeps = PyObject_IsTrue(keep);
  if (keeps < 0 || !sim_enter(self)) return NULL;
  self->keeps_records = keeps;
  slt_sim_on_event(self->sim, keeps || self->on_event ? on_event : NULL, self);
  PyObject* text = bytes_text(&self->records);
  self->records.used = 0;
  if (!keeps) bytes_free(&self->records);
  sim_leave(self);
  return text;
}

// ---- snapshots ----------------------------------------------------------------------------------

typedef struct SnapshotObject {
  PyObject_HEAD SimObject* sim;
  void* data;
  size_t size;
  SltStatus status;
} SnapshotObject;

static PyObject* sim_snapshot(PyObject* object, PyObject* ignored) {
  (void)ignored;
  SimObject* self = (SimObject*)object;
  if (!sim_enter(self)) return NULL;
  allocfunc alloc = (allocfunc)PyType_GetSlot(types.snapshot, Py_tp_alloc);
  SnapshotObject* snapshot = (SnapshotObject*)alloc(types.snapshot, 0);
  if (snapshot) {
    snapshot->size = slt_sim_snapshot_size(self->sim);
    snapshot->data = malloc(snapshot->size ? snapshot->size : 1);
    snapshot->sim = (SimObject*)Py_NewRef(object);
    snapshot->status = self->status;
    SltStatus status = snapshot->data
                           ? slt_sim_snapshot_save(self->sim, snapshot->data, snapshot->size)
                           : SLT_ERR_NOMEM;
    if (status < 0) {
      raise_status(status, "snapshot");
      Py_DECREF((PyObject*)snapshot);
      snapshot = NULL;
    }
  }
  sim_leave(self);
  return (PyObject*)snapshot;
}

static PyObject* sim_restore(PyObject* object, PyObject* from) {
  SimObject* self = (SimObject*)object;
  if (Py_TYPE(from) != types.snapshot) {
    PyErr_Format(PyExc_TypeError, "restore takes what snapshot() gave, not %R",
                 (PyObject*)Py_TYPE(from));
    return NULL;
  }
  SnapshotObject* snapshot = (SnapshotObject*)from;
  if (snapshot->sim != self) {
    PyErr_SetString(PyExc_ValueError, "this snapshot belongs to another run");
    return NULL;
  }
  if (!sim_enter(self)) return NULL;
  SltStatus status = slt_sim_snapshot_restore(self->sim, snapshot->data, snapshot->size);
  if (status < 0) raise_status(status, "restore");
  if (status >= 0) self->status = snapshot->status;
  sim_leave(self);
  if (status < 0) return NULL;
  Py_RETURN_NONE;
}

static int snapshot_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT((PyObject*)((SnapshotObject*)object)->sim);
  return 0;
}

static void snapshot_dealloc(PyObject* object) {
  SnapshotObject* snapshot = (SnapshotObject*)object;
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  free(snapshot->data);
  Py_XDECREF((PyObject*)snapshot->sim);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static PyType_Slot snapshot_slots[] = {
    {Py_tp_doc, "The whole state of a run at one time; Sim.restore goes back to it."},
    {Py_tp_dealloc, snapshot_dealloc},
    {Py_tp_traverse, snapshot_traverse},
    {0, NULL},
};
static PyType_Spec snapshot_spec = {
    "saltus._saltus.Snapshot", sizeof(SnapshotObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, snapshot_slots};

// ---- the type -----------------------------------------------------------------------------------

static PyMethodDef sim_methods[] = {
    {"advance", sim_advance, METH_O,
     "advance(t, /)\n--\n\nGo on to time t, through all events. Returns the time reached: t, or "
     "less where the model has stopped the run or on_step asked for the end."},
    {"to_event", sim_to_event, METH_O,
     "to_event(t, /)\n--\n\nGo on to the next event, at most to time t. Returns whether there was "
     "one."},
    {"step", sim_step, METH_O,
     "step(t, /)\n--\n\nGo on by one step of the integrator, at most to time t; events end a step. "
     "Returns the time reached."},
    {"get", sim_get, METH_O,
     "get(name, /)\n--\n\nPresent value: a number, or the name of a state for AUTOMATON.state; nan "
     "where the present mode does not determine it."},
    {"before", sim_before, METH_O, "before(name, /)\n--\n\nValue just before the last event."},
    {"get_many", sim_get_many, METH_O, "get_many(names, /)\n--\n\nPresent values as a list."},
    {"is_determined", sim_is_determined, METH_O,
     "is_determined(name, /)\n--\n\nWhether the present mode determines a quantity."},
    {"take_records", sim_take_records, METH_O,
     "take_records(keep, /)\n--\n\nRecords kept since the last call as lines of JSON, and whether "
     "to "
     "keep those to come."},
    {"snapshot", sim_snapshot, METH_NOARGS,
     "snapshot()\n--\n\nThe whole state of the run, to go back to with restore()."},
    {"restore", sim_restore, METH_O,
     "restore(snapshot, /)\n--\n\nGo back; the run then continues with the same bits. Undoes a "
     "failure too."},
    {"close", sim_close, METH_NOARGS, "close()\n--\n\nGive the memory back now."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef sim_fields[] = {
    {"time", sim_time, NULL, "Present time.", NULL},
    {"states", sim_states_method, NULL, "The states of the automata: {automaton: state}.", NULL},
    {"columns", sim_columns, NULL, "Names of the variables, in the order of the text.", NULL},
    {"stopped", sim_stopped, NULL, "Whether the model has stopped the run.", NULL},
    {"statistics", sim_statistics, NULL, "What the run has cost so far.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot sim_slots[] = {
    {Py_tp_doc, "A run under the caller's control."},
    {Py_tp_new, sim_new},
    {Py_tp_dealloc, sim_dealloc},
    {Py_tp_traverse, sim_traverse},
    {Py_tp_clear, sim_clear},
    {Py_tp_methods, sim_methods},
    {Py_tp_getset, sim_fields},
    {Py_mp_subscript, sim_get},
    {Py_mp_ass_subscript, sim_set_item},
    {0, NULL},
};
static PyType_Spec sim_spec = {"saltus._saltus.Sim", sizeof(SimObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                               sim_slots};

bool sim_add(PyObject* module) {
  types.sim = module_add_type(module, &sim_spec);
  types.snapshot = types.sim ? module_add_type(module, &snapshot_spec) : NULL;
  return types.snapshot != NULL;
}

// SPDX-License-Identifier: MIT
//
// Rule tables: other forms of them, and their cyclic execution.
#include "saltus_py.h"

#include <math.h>
#include <string.h>

typedef struct RulesObject {
  PyObject_HEAD SltRules* rules;
} RulesObject;

typedef struct CyclicObject {
  PyObject_HEAD RulesObject* rules;
  SltCyclic* cyclic;
  atomic_flag busy;
} CyclicObject;

static void add_message(void* user, const SltDiagnostic* diagnostic) {
  if (PyErr_Occurred()) return;
  PyObject* item = diagnostic_dict(diagnostic);
  if (item) PyList_Append(user, item);
  Py_XDECREF(item);
}

/// compile_rules(name, text or None for a file, params) -> (Rules, messages)
PyObject* rules_compile(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  (void)module;
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "compile_rules takes 3 arguments");
    return NULL;
  }
  const char* name = text_from(args[0], "the name");
  Py_ssize_t size = 0;
  const char* text = NULL;
  if (!name) return NULL;
  if (args[1] != Py_None) {
    text = PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8AndSize(args[1], &size) : NULL;
    if (!text && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the text must be a str");
    if (!text) return NULL;
  }
  SltCompileOptions options = slt_compile_options();
  Overrides overrides;
  if (!overrides_from(args[2], &overrides)) return NULL;
  PyObject* messages = PyList_New(0);
  options.overrides = overrides.list;
  options.override_count = overrides.count;
  options.on_diagnostic = add_message;
  options.user = messages;
  SltRules* rules = NULL;
  SltStatus status = SLT_ERR_NOMEM;
  if (messages) {
    status = text ? slt_rules_compile(name, text, (size_t)size, &options, &rules)
                  : slt_rules_compile_file(name, &options, &rules);
  }
  overrides_free(&overrides);
  PyObject* result = NULL;
  if (status < 0 && !PyErr_Occurred()) {
    if (status == SLT_ERR_NOMEM) {
      PyErr_NoMemory();
    } else if (status == SLT_ERR_IO && PyList_Size(messages) == 0) {
      PyErr_Format(PyExc_OSError, "cannot read %s", name);
    } else {
      raise_made("model_error",
                 Py_BuildValue("{s:i,s:s,s:s,s:O}", "status", (int)status, "text",
                               slt_status_text(status), "name", name, "messages", messages));
    }
  }
  if (!PyErr_Occurred()) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(types.rules, Py_tp_alloc);
    RulesObject* object = (RulesObject*)alloc(types.rules, 0);
    if (object) {
      object->rules = rules;
      rules = NULL;
      result = Py_BuildValue("(NO)", object, messages);
    }
  }
  slt_rules_free(rules);
  Py_XDECREF(messages);
  return result;
}

static void rules_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  slt_rules_free(((RulesObject*)self)->rules);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject* rules_write(PyObject* self, PyObject* form) {
  static const char* const words[] = {"markdown",   "lisma",      "explanation",
                                      "settings",   "constants",  "states",
                                      "predicates", "situations", "rules"};
  const char* word = text_from(form, "the form");
  if (!word) return NULL;
  size_t format = 0;
  while (format < sizeof words / sizeof *words && strcmp(words[format], word) != 0)
    format++;
  if (format == sizeof words / sizeof *words) {
    PyErr_Format(PyExc_ValueError, "there is no form %R of rule tables", form);
    return NULL;
  }
  Bytes bytes = {NULL, 0, 0};
  SltStatus status = slt_rules_write(((RulesObject*)self)->rules, (SltRulesFormat)format,
                                     (SltWriter){bytes_write, &bytes});
  PyObject* text = status >= 0 ? bytes_text(&bytes) : NULL;
  if (status < 0) raise_status(status, "writing the tables");
  bytes_free(&bytes);
  return text;
}

static PyObject* rules_settings(PyObject* self, PyObject* ignored) {
  (void)ignored;
  SltRulesSettings s = slt_rules_settings(((RulesObject*)self)->rules);
  return Py_BuildValue("{s:O,s:d,s:d,s:d,s:d,s:I}", "cyclic", s.cyclic ? Py_True : Py_False,
                       "cycle", s.cycle, "start", s.start, "end", s.end, "every", s.every, "rules",
                       s.rule_count);
}

static PyMethodDef rules_methods[] = {
    {"write", rules_write, METH_O, "The tables in another form."},
    {"settings", rules_settings, METH_NOARGS, "What the tables say about a run."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot rules_slots[] = {
    {Py_tp_doc, "Rule tables."},
    {Py_tp_dealloc, rules_dealloc},
    {Py_tp_methods, rules_methods},
    {0, NULL},
};
static PyType_Spec rules_spec = {"saltus._saltus.Rules", sizeof(RulesObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 rules_slots};

// ---- cyclic execution ---------------------------------------------------------------------------

static bool enter(CyclicObject* self) {
  if (!atomic_flag_test_and_set(&self->busy)) return true;
  PyErr_SetString(PyExc_RuntimeError, "another thread is using this cyclic execution");
  return false;
}

/// Cyclic(rules, dt, seed)
static PyObject* cyclic_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject* rules = NULL;
  double dt = 0.0;
  unsigned long long seed = 0;
  if (keywords && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "Cyclic takes no keywords; use Rules.cyclic");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O!dK", types.rules, &rules, &dt, &seed)) return NULL;
  if (!(dt > 0.0 && isfinite(dt))) {
    PyErr_SetString(PyExc_ValueError, "the period dt must be greater than 0");
    return NULL;
  }
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  CyclicObject* self = (CyclicObject*)alloc(type, 0);
  if (!self) return NULL;
  atomic_flag_clear(&self->busy);
  self->rules = (RulesObject*)Py_NewRef(rules);
  SltStatus status = slt_cyclic_create(self->rules->rules, dt, NULL, &self->cyclic);
  if (status >= 0) status = slt_cyclic_seed(self->cyclic, seed);
  if (status >= 0) return (PyObject*)self;
  raise_status(status, "cyclic execution");
  Py_DECREF((PyObject*)self);
  return NULL;
}

static void cyclic_dealloc(PyObject* object) {
  CyclicObject* self = (CyclicObject*)object;
  PyTypeObject* type = Py_TYPE(object);
  slt_cyclic_free(self->cyclic);
  Py_XDECREF((PyObject*)self->rules);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static PyObject* cyclic_cycle(PyObject* object, PyObject* ignored) {
  (void)ignored;
  CyclicObject* self = (CyclicObject*)object;
  if (!enter(self)) return NULL;
  SltStatus status = SLT_OK;
  Py_BEGIN_ALLOW_THREADS status = slt_cyclic_cycle(self->cyclic);
  Py_END_ALLOW_THREADS double t = slt_cyclic_time(self->cyclic);
  SltCyclicProblem p = slt_cyclic_problem(self->cyclic);
  atomic_flag_clear(&self->busy);
  if (status >= 0) return PyFloat_FromDouble(t);
  raise_made("cyclic_error",
             Py_BuildValue("{s:i,s:d,s:z,s:z,s:z,s:I}", "status", (int)status, "time", t, "rule",
                           p.rule, "variable", p.variable, "file", p.file, "line", p.line));
  return NULL;
}

static PyObject* cyclic_reset(PyObject* object, PyObject* ignored) {
  (void)ignored;
  CyclicObject* self = (CyclicObject*)object;
  if (!enter(self)) return NULL;
  slt_cyclic_reset(self->cyclic);
  atomic_flag_clear(&self->busy);
  Py_RETURN_NONE;
}

static PyObject* cyclic_get(PyObject* object, PyObject* name) {
  CyclicObject* self = (CyclicObject*)object;
  const char* text = text_from(name, "the name");
  if (!text || !enter(self)) return NULL;
  uint32_t place = 0;
  SltStatus status = slt_cyclic_find(self->cyclic, text, &place);
  double value = status >= 0 ? slt_cyclic_get(self->cyclic, place) : 0.0;
  atomic_flag_clear(&self->busy);
  if (status >= 0) return PyFloat_FromDouble(value);
  raise_unknown(text, NULL);
  return NULL;
}

static int cyclic_set(PyObject* object, PyObject* name, PyObject* value) {
  CyclicObject* self = (CyclicObject*)object;
  double number = 0.0;
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "values cannot be deleted");
    return -1;
  }
  const char* text = text_from(name, "the name");
  if (!text || !number_from(value, text, &number) || !enter(self)) return -1;
  uint32_t place = 0;
  SltStatus found = slt_cyclic_find(self->cyclic, text, &place);
  SltStatus status = found >= 0 ? slt_cyclic_set(self->cyclic, place, number) : found;
  atomic_flag_clear(&self->busy);
  if (status >= 0) return 0;
  if (found < 0) {
    raise_unknown(text, NULL);
  } else {
    PyErr_Format(PyExc_ValueError,
                 "'%s' cannot be set to %R: it is computed, or this is not finite", text, value);
  }
  return -1;
}

static PyObject* cyclic_time(PyObject* object, void* closure) {
  (void)closure;
  CyclicObject* self = (CyclicObject*)object;
  if (!enter(self)) return NULL;
  double t = slt_cyclic_time(self->cyclic);
  atomic_flag_clear(&self->busy);
  return PyFloat_FromDouble(t);
}

static PyObject* cyclic_columns(PyObject* object, void* closure) {
  (void)closure;
  CyclicObject* self = (CyclicObject*)object;
  uint32_t count = slt_cyclic_column_count(self->cyclic);
  PyObject* list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    PyObject* name = PyUnicode_FromString(slt_cyclic_column_name(self->cyclic, i));
    if (!name || PyList_SetItem(list, i, name) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyMethodDef cyclic_methods[] = {
    {"cycle", cyclic_cycle, METH_NOARGS,
     "cycle()\n--\n\nOne scan of predicates, situations and rules. Returns the time after it."},
    {"reset", cyclic_reset, METH_NOARGS, "reset()\n--\n\nBack to the initial values."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef cyclic_fields[] = {
    {"time", cyclic_time, NULL, "Present time.", NULL},
    {"columns", cyclic_columns, NULL, "Names of the states, in the order of their table.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot cyclic_slots[] = {
    {Py_tp_doc, "Cyclic execution of rule tables: write inputs, run a cycle, read outputs."},
    {Py_tp_new, cyclic_new},
    {Py_tp_dealloc, cyclic_dealloc},
    {Py_tp_methods, cyclic_methods},
    {Py_tp_getset, cyclic_fields},
    {Py_mp_subscript, cyclic_get},
    {Py_mp_ass_subscript, cyclic_set},
    {0, NULL},
};
static PyType_Spec cyclic_spec = {"saltus._saltus.Cyclic", sizeof(CyclicObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, cyclic_slots};

bool rules_add(PyObject* module) {
  types.rules = module_add_type(module, &rules_spec);
  types.cyclic = types.rules ? module_add_type(module, &cyclic_spec) : NULL;
  return types.cyclic != NULL;
}

// SPDX-License-Identifier: MIT
//
// Between Python's objects and the library's arguments.
#include "saltus_py.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char* text_from(PyObject* text, const char* what) {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, (PyObject*)Py_TYPE(text));
    return NULL;
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data && strlen(data) != (size_t)size) {
    PyErr_Format(PyExc_ValueError, "%s has a zero character in it", what);
    return NULL;
  }
  return data;
}

bool number_from(PyObject* object, const char* what, double* out) {
  *out = (double)NAN;
  if (!object || object == Py_None) return true;
  if (PyUnicode_Check(object) || PyBytes_Check(object)) {  // float("3") is not what was meant
    PyErr_Format(PyExc_TypeError, "%s must be a number, not %R", what, object);
    return false;
  }
  *out = PyFloat_AsDouble(object);
  if (*out == -1.0 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Format(PyExc_TypeError, "%s must be a number, not %R", what, object);
    } else if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Format(PyExc_ValueError, "%s is too large for a number", what);
    }
    return false;
  }
  if (isnan(*out)) {
    PyErr_Format(PyExc_ValueError, "%s is not a number (nan)", what);
    return false;
  }
  return true;
}

void names_free(Names* names) {
  PyMem_Free((void*)names->texts);
  Py_XDECREF(names->owner);
  *names = (Names){NULL, NULL, 0};
}

bool names_from(PyObject* sequence, const char* what, Names* out) {
  *out = (Names){NULL, NULL, 0};
  if (!sequence || sequence == Py_None) return true;
  if (PyUnicode_Check(sequence)) {
    PyErr_Format(PyExc_TypeError, "%s must be a list of names; for one name write [%R]", what,
                 sequence);
    return false;
  }
  out->owner = PySequence_Tuple(sequence);
  if (!out->owner) return false;
  Py_ssize_t count = PyTuple_Size(out->owner);
  if (count >= UINT32_MAX) {
    PyErr_Format(PyExc_ValueError, "%s has too many names", what);
    names_free(out);
    return false;
  }
  // room for one more: an empty list is a list, not "no list given"
  out->texts = PyMem_Calloc((size_t)count + 1, sizeof *out->texts);
  if (!out->texts) {
    PyErr_NoMemory();
    names_free(out);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    out->texts[i] = text_from(PyTuple_GetItem(out->owner, i), what);
    if (!out->texts[i]) {
      names_free(out);
      return false;
    }
  }
  out->count = (uint32_t)count;
  return true;
}

// ---- options ------------------------------------------------------------------------------------

typedef enum FieldKind {
  FIELD_NUMBER,
  FIELD_COUNT,
  FIELD_THREADS,
  FIELD_METHOD,
  FIELD_WORD
} FieldKind;

#define THREADS_MAX 1024u

typedef struct Field {
  const char* name;
  FieldKind kind;
  size_t offset;
  const char* const* words;  // of FIELD_WORD, value `first` on
  int first;
} Field;

static const char* const detections[] = {"certified", "combined", "extrapolation", "interpolation",
                                         NULL};
static const char* const slidings[] = {"on", "off", "utkin", NULL};
static const char* const zenos[] = {"auto", "stop", "dwell", NULL};

#define AT(field) offsetof(SltSimOptions, field)
static const Field fields[] = {
    {"start", FIELD_NUMBER, AT(t_start), NULL, 0},
    {"method", FIELD_METHOD, AT(method), NULL, 0},
    {"rtol", FIELD_NUMBER, AT(rtol), NULL, 0},
    {"atol", FIELD_NUMBER, AT(atol), NULL, 0},
    {"h0", FIELD_NUMBER, AT(h0), NULL, 0},
    {"h_min", FIELD_NUMBER, AT(h_min), NULL, 0},
    {"h_max", FIELD_NUMBER, AT(h_max), NULL, 0},
    {"step", FIELD_NUMBER, AT(step), NULL, 0},
    {"event_eps", FIELD_NUMBER, AT(event_eps), NULL, 0},
    {"gamma", FIELD_NUMBER, AT(gamma), NULL, 0},
    {"detection", FIELD_WORD, AT(detection), detections, SLT_DETECTION_CERTIFIED},
    {"sliding", FIELD_WORD, AT(sliding), slidings, SLT_SLIDING_FILIPPOV},
    {"zeno", FIELD_WORD, AT(zeno), zenos, SLT_ZENO_AUTO},
    {"seed", FIELD_COUNT, AT(seed), NULL, 0},
    {"max_events", FIELD_COUNT, AT(max_events), NULL, 0},
    {"max_steps", FIELD_COUNT, AT(max_steps), NULL, 0},
    {"threads", FIELD_THREADS, AT(threads), NULL, 0},
};

static bool word_from(const Field* field, PyObject* value, int* out) {
  const char* text = text_from(value, field->name);
  if (!text) return false;
  for (int i = 0; field->words[i]; i++) {
    if (strcmp(field->words[i], text) != 0) continue;
    *out = field->first + i;
    return true;
  }
  PyErr_Format(PyExc_ValueError, "%s must be %s, %s%s%s%s%s, not %R", field->name, field->words[0],
               field->words[1], field->words[2][0] ? ", " : "", field->words[2],
               field->words[3] ? ", " : "", field->words[3] ? field->words[3] : "", value);
  return false;
}

/// A text with more in it: TEXT, then a separator and a name. Steals `text`.
static PyObject* with_name(PyObject* text, const char* separator, const char* name) {
  PyObject* longer = text ? PyUnicode_FromFormat("%U%s%s", text, separator, name) : NULL;
  Py_XDECREF(text);
  return longer;
}

static bool is_method(const char* name) {
  uint32_t count = slt_method_count();
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(slt_method_get(i).name, name) == 0) return true;
  }
  return false;
}

static bool method_from(PyObject* value, const char** out) {
  *out = text_from(value, "method");
  if (!*out || is_method(*out)) return *out != NULL;
  PyObject* text = PyUnicode_FromFormat("there is no method %R; there are", value);
  for (uint32_t i = 0; i < slt_method_count(); i++)
    text = with_name(text, i ? ", " : " ", slt_method_get(i).name);
  if (text) PyErr_SetObject(PyExc_ValueError, text);
  Py_XDECREF(text);
  return false;
}

static bool count_from(const Field* field, PyObject* value, uint64_t* out) {
  bool threads = field->kind == FIELD_THREADS;
  unsigned long long number = PyLong_AsUnsignedLongLong(value);
  bool bad = number == (unsigned long long)-1 && PyErr_Occurred();
  *out = number;
  if (!bad && (!threads || (number >= 1 && number <= THREADS_MAX))) return true;
  PyErr_Format(PyExc_ValueError, "%s must be a whole number from %s, not %R", field->name,
               threads ? "1 to 1024" : "0 on", value);
  return false;
}

static bool field_from(const Field* field, PyObject* value, SltSimOptions* options) {
  char* place = (char*)options + field->offset;
  switch (field->kind) {
  case FIELD_NUMBER: return number_from(value, field->name, (double*)(void*)place);
  case FIELD_METHOD: return method_from(value, (const char**)(void*)place);
  case FIELD_WORD: {
    int word = 0;
    if (!word_from(field, value, &word)) return false;
    memcpy(place, &word, sizeof word);
    return true;
  }
  case FIELD_COUNT: return count_from(field, value, (uint64_t*)(void*)place);
  case FIELD_THREADS: {
    uint64_t threads = 0;
    if (!count_from(field, value, &threads)) return false;
    *(uint32_t*)(void*)place = (uint32_t)threads;
    return true;
  }
  }
  return false;
}

static bool option_from(PyObject* key, PyObject* value, SltSimOptions* options) {
  const char* name = text_from(key, "the name of an option");
  if (!name) return false;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(fields[i].name, name) != 0) continue;
    return value == Py_None || field_from(&fields[i], value, options);
  }
  PyObject* text = PyUnicode_FromFormat("there is no option %R; there are", key);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    text = with_name(text, i ? ", " : " ", fields[i].name);
  if (text) PyErr_SetObject(PyExc_TypeError, text);
  Py_XDECREF(text);
  return false;
}

bool sim_options_from(PyObject* dict, SltSimOptions* options) {
  if (!dict || dict == Py_None) return true;
  PyObject* items = PyMapping_Items(dict);  // a list of its own, whatever happens to the dict
  Py_ssize_t count = items ? PyList_Size(items) : 0;
  bool good = items != NULL;
  for (Py_ssize_t i = 0; good && i < count; i++) {
    PyObject* pair = PyList_GetItem(items, i);
    good = option_from(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), options);
  }
  Py_XDECREF(items);
  return good;
}

bool end_from(PyObject* until, const SltModel* model, const SltSimOptions* options, double* out) {
  SltExperiment experiment = slt_model_experiment(model);
  if (!number_from(until, "until", out)) return false;
  if (isnan(*out)) *out = isnan(experiment.end) ? 10.0 : experiment.end;
  double start = !isnan(options->t_start) ? options->t_start : experiment.start;
  if (!isfinite(*out)) {
    PyErr_SetString(PyExc_ValueError, "until must be finite");
  } else if (*out < (isnan(start) ? 0.0 : start)) {
    PyErr_SetString(PyExc_ValueError, "the run would end before it starts");
  }
  return !PyErr_Occurred();
}

void overrides_free(Overrides* overrides) {
  PyMem_Free(overrides->list);
  Py_XDECREF(overrides->owner);
  *overrides = (Overrides){NULL, NULL, 0};
}

bool overrides_from(PyObject* dict, Overrides* out) {
  *out = (Overrides){NULL, NULL, 0};
  if (!dict || dict == Py_None) return true;
  if (!PyDict_Check(dict)) {
    PyErr_Format(PyExc_TypeError, "params must be a dict of names and numbers, not %R",
                 (PyObject*)Py_TYPE(dict));
    return false;
  }
  // a copy: converting a number may run code of the user's that changes the dict
  out->owner = PyDict_Copy(dict);
  if (!out->owner) return false;
  out->list = PyMem_Calloc((size_t)PyDict_Size(out->owner) + 1, sizeof *out->list);
  if (!out->list) PyErr_NoMemory();
  PyObject* key = NULL;
  PyObject* value = NULL;
  Py_ssize_t at = 0;
  while (out->list && PyDict_Next(out->owner, &at, &key, &value)) {
    SltOverride* next = &out->list[out->count];
    next->name = text_from(key, "the name of a parameter");
    if (value == Py_None) PyErr_Format(PyExc_TypeError, "the parameter %R is None", key);
    if (!next->name || value == Py_None || !number_from(value, next->name, &next->value)) break;
    out->count++;
  }
  if (!PyErr_Occurred()) return true;
  overrides_free(out);
  return false;
}

// ---- bytes --------------------------------------------------------------------------------------

SltStatus bytes_write(void* user, const char* data, size_t length) {
  Bytes* bytes = user;
  if (length == 0) return SLT_OK;
  if (bytes->capacity - bytes->used < length) {
    size_t wanted = bytes->capacity ? bytes->capacity : 4096;
    while (wanted - bytes->used < length && wanted <= SIZE_MAX / 2)
      wanted *= 2;
    char* moved = wanted - bytes->used < length ? NULL : realloc(bytes->data, wanted);
    if (!moved) return SLT_ERR_NOMEM;
    bytes->data = moved;
    bytes->capacity = wanted;
  }
  memcpy(bytes->data + bytes->used, data, length);
  bytes->used += length;
  return SLT_OK;
}

void bytes_free(Bytes* bytes) {
  free(bytes->data);
  *bytes = (Bytes){NULL, 0, 0};
}

PyObject* bytes_text(const Bytes* bytes) {
  return PyUnicode_DecodeUTF8(bytes->used ? bytes->data : "", (Py_ssize_t)bytes->used, "replace");
}

// ---- errors -------------------------------------------------------------------------------------

static PyObject* text_or_none(const char* text) {
  if (!text) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject* diagnostic_dict(const SltDiagnostic* d) {
  static const char* const severities[] = {"note", "warning", "error"};
  return Py_BuildValue("{s:N,s:s,s:N,s:I,s:I,s:(nn),s:N,s:N,s:N}", "code", text_or_none(d->code),
                       "severity", severities[d->severity], "file", text_or_none(d->file), "line",
                       d->line, "column", d->column, "span", (Py_ssize_t)d->begin,
                       (Py_ssize_t)d->end, "message", text_or_none(d->message), "hint",
                       text_or_none(d->hint), "rendered", text_or_none(d->rendered));
}

void raise_made(const char* maker, PyObject* keywords) {
  if (!keywords) return;
  PyObject* module = PyImport_ImportModule("saltus._errors");
  PyObject* function = module ? PyObject_GetAttrString(module, maker) : NULL;
  PyObject* none = function ? PyTuple_New(0) : NULL;
  PyObject* error = none ? PyObject_Call(function, none, keywords) : NULL;
  if (error) PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_XDECREF(error);
  Py_XDECREF(none);
  Py_XDECREF(function);
  Py_XDECREF(module);
  Py_DECREF(keywords);
}

void raise_options(const char* problem) {
  raise_made("value_error", Py_BuildValue("{s:s}", "text", problem));
}

PyObject* run_error_dict(SltSim* sim, SltStatus status) {
  SltRunError e = {.status = SLT_OK};
  if (sim) e = slt_sim_error(sim);
  bool known = e.status < 0 && e.message && e.message[0];
  return Py_BuildValue(
      "{s:i,s:N,s:N,s:I,s:I,s:N,s:N,s:N}", "status", (int)status, "code",
      text_or_none(known ? e.code : NULL), "time",
      known || sim ? PyFloat_FromDouble(known ? e.t : slt_sim_time(sim)) : Py_NewRef(Py_None),
      "line", known ? e.line : 0u, "column", known ? e.column : 0u, "message",
      text_or_none(known ? e.message : slt_status_text(status)), "hint",
      text_or_none(known ? e.hint : NULL), "rendered", text_or_none(known ? e.rendered : NULL));
}

void raise_run(SltSim* sim, SltStatus status) {
  if (status == SLT_ERR_NOMEM) {
    PyErr_NoMemory();
    return;
  }
  raise_made("run_error", run_error_dict(sim, status));
}

void raise_failed(SltStatus status, const char* code, const char* message) {
  raise_made("run_error",
             Py_BuildValue("{s:i,s:N,s:O,s:N}", "status", (int)status, "code", text_or_none(code),
                           "time", Py_None, "message", text_or_none(message)));
}

void raise_status(SltStatus status, const char* doing) {
  if (status == SLT_ERR_NOMEM) {
    PyErr_NoMemory();
    return;
  }
  PyErr_Format(status == SLT_ERR_ARGUMENT ? PyExc_ValueError : PyExc_RuntimeError, "%s: %s", doing,
               slt_status_text(status));
}

void raise_unknown(const char* name, PyObject* model) {
  raise_made("unknown_name", Py_BuildValue("{s:N,s:O}", "name", text_or_none(name), "model",
                                           model ? model : Py_None));
}

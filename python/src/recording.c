// SPDX-License-Identifier: MIT
//
// Rows and records of one run. The memory is the library's own, taken over when the run has ended;
// arrays are views of it and keep it alive.
#include "saltus_py.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- texts --------------------------------------------------------------------------------------

static uint32_t text_hash(const char* text) {
  uint32_t hash = 2166136261u;
  for (; *text; text++)
    hash = (hash ^ (unsigned char)*text) * 16777619u;
  return hash;
}

static bool texts_grow(Texts* texts) {
  uint32_t wanted = texts->slot_count ? texts->slot_count * 2 : 32;
  uint32_t* slots = calloc(wanted, sizeof *slots);
  char** items = slots ? realloc(texts->items, wanted * sizeof *items) : NULL;
  if (!items) {
    free(slots);
    return false;
  }
  texts->items = items;
  for (uint32_t i = 0; i < texts->count; i++) {
    uint32_t at = text_hash(items[i]) & (wanted - 1);
    while (slots[at])
      at = (at + 1) & (wanted - 1);
    slots[at] = i + 1;
  }
  free(texts->slots);
  texts->slots = slots;
  texts->slot_count = wanted;
  return true;
}

/// Number of a text; -1 for NULL, -2 when memory is exhausted.
static int32_t texts_number(Texts* texts, const char* text) {
  if (!text) return -1;
  if (texts->count >= texts->slot_count / 2 && !texts_grow(texts)) return -2;
  uint32_t mask = texts->slot_count - 1;
  uint32_t at = text_hash(text) & mask;
  for (; texts->slots[at]; at = (at + 1) & mask) {
    uint32_t known = texts->slots[at] - 1;
    if (strcmp(texts->items[known], text) == 0) return (int32_t)known;
  }
  size_t size = strlen(text) + 1;
  char* copy = malloc(size);
  if (!copy) return -2;
  memcpy(copy, text, size);
  texts->items[texts->count] = copy;
  texts->slots[at] = ++texts->count;
  return (int32_t)texts->count - 1;
}

static void texts_free(Texts* texts) {
  for (uint32_t i = 0; i < texts->count; i++)
    free(texts->items[i]);
  free(texts->items);
  free(texts->slots);
}

// ---- records ------------------------------------------------------------------------------------

RecordingObject* recording_create(void) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(types.recording, Py_tp_alloc);
  return (RecordingObject*)alloc(types.recording, 0);  // zeroed
}

void recording_event(void* user, const SltEvent* event) {
  RecordingObject* r = user;
  if (r->lost) return;
  if (r->row_count == r->row_capacity) {
    uint32_t wanted = r->row_capacity ? r->row_capacity * 2 : 8;
    EventRow* moved = wanted > r->row_capacity ? realloc(r->rows, wanted * sizeof *moved) : NULL;
    r->lost = !moved;
    if (!moved) return;
    r->rows = moved;
    r->row_capacity = wanted;
  }
  EventRow row = {.t = event->t,
                  .lo = event->bracket[0],
                  .hi = event->bracket[1],
                  .slope = event->slope,
                  .n = event->n,
                  .iter = event->iter,
                  .line = event->line,
                  .automaton = texts_number(&r->texts, event->automaton),
                  .from = texts_number(&r->texts, event->automaton ? event->from : NULL),
                  .to = texts_number(&r->texts, event->automaton ? event->to : NULL),
                  .kind = (int8_t)event->kind,
                  .event_class = (int8_t)event->event_class,
                  .type = (int8_t)event->type,
                  .cause = (int8_t)event->cause,
                  .certified = event->certified};
  r->lost = row.automaton == -2 || row.from == -2 || row.to == -2;
  if (!r->lost) r->rows[r->row_count++] = row;
}

static void take_states(RecordingObject* r, const SltSim* sim) {
  uint32_t count = slt_sim_automaton_count(sim);
  r->final = count ? malloc(2 * (size_t)count * sizeof *r->final) : NULL;
  r->lost |= count && !r->final;
  for (uint32_t i = 0; r->final && i < count; i++) {
    int32_t* pair = &r->final[2 * (size_t)i];
    pair[0] = texts_number(&r->texts, slt_sim_automaton_name(sim, i));
    pair[1] = texts_number(&r->texts, slt_sim_automaton_state(sim, i));
    r->lost |= pair[0] == -2 || pair[1] == -2;
    r->final_count = i + 1;
  }
}

void recording_take(RecordingObject* r, SltSim* sim, SltRecorder* recorder, SltStatus status) {
  r->status = status;
  r->t = slt_sim_time(sim);
  r->statistics = slt_sim_statistics(sim);
  if (r->statistics.method_reason) {  // a text of the run
    snprintf(r->method_reason, sizeof r->method_reason, "%s", r->statistics.method_reason);
    r->statistics.method_reason = r->method_reason;
  }
  take_states(r, sim);
  r->table = slt_recorder_take_table(recorder);
}

static void recording_dealloc(PyObject* self) {
  RecordingObject* r = (RecordingObject*)self;
  PyTypeObject* type = Py_TYPE(self);
  slt_table_free(r->table);
  free(r->rows);
  free(r->final);
  texts_free(&r->texts);
  bytes_free(&r->lines);
  Py_XDECREF(r->warnings);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

// ---- views --------------------------------------------------------------------------------------

/// Bytes of somebody else's memory, who lives as long as the view does.
typedef struct ViewObject {
  PyObject_HEAD PyObject* owner;
  const void* data;
  Py_ssize_t size;
} ViewObject;

/// As a memoryview.
static PyObject* view_create(PyObject* owner, const void* data, size_t size) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(types.view, Py_tp_alloc);
  ViewObject* view = (ViewObject*)alloc(types.view, 0);
  if (!view) return NULL;
  view->owner = Py_NewRef(owner);
  view->data = data ? data : "";
  view->size = (Py_ssize_t)size;
  PyObject* memory = PyMemoryView_FromObject((PyObject*)view);
  Py_DECREF((PyObject*)view);
  return memory;
}

static int view_getbuffer(PyObject* self, Py_buffer* out, int flags) {
  ViewObject* view = (ViewObject*)self;
  return PyBuffer_FillInfo(out, self, (void*)view->data, view->size, 1, flags);
}

static void view_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((ViewObject*)self)->owner);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyType_Slot view_slots[] = {
    {Py_tp_doc, "Bytes of a recording; read-only."},
    {Py_bf_getbuffer, view_getbuffer},
    {Py_tp_dealloc, view_dealloc},
    {0, NULL},
};
static PyType_Spec view_spec = {"saltus._saltus.View", sizeof(ViewObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, view_slots};

// ---- what Python sees ---------------------------------------------------------------------------

static bool column_from(RecordingObject* r, PyObject* index, uint32_t* out) {
  unsigned long value = PyLong_AsUnsignedLong(index);
  if (value == (unsigned long)-1 && PyErr_Occurred()) return false;
  if (value >= slt_table_column_count(r->table)) {
    PyErr_SetString(PyExc_IndexError, "no such column");
    return false;
  }
  *out = (uint32_t)value;
  return true;
}

static PyObject* recording_column(PyObject* self, PyObject* index) {
  RecordingObject* r = (RecordingObject*)self;
  uint32_t column = 0;
  if (!column_from(r, index, &column)) return NULL;
  size_t rows = slt_table_row_count(r->table);
  return view_create(self, slt_table_column(r->table, column), rows * sizeof(double));
}

static PyObject* recording_texts(PyObject* self, PyObject* index) {
  RecordingObject* r = (RecordingObject*)self;
  uint32_t column = 0;
  if (!column_from(r, index, &column)) return NULL;
  uint32_t rows = slt_table_row_count(r->table);
  PyObject* list = PyList_New(rows);
  for (uint32_t i = 0; list && i < rows; i++) {
    const char* text = slt_table_text(r->table, i, column);
    PyObject* item =
        text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : Py_NewRef(Py_None);
    if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* recording_is_text(PyObject* self, PyObject* index) {
  RecordingObject* r = (RecordingObject*)self;
  uint32_t column = 0;
  if (!column_from(r, index, &column)) return NULL;
  return PyBool_FromLong(slt_table_row_count(r->table) &&
                         slt_table_text(r->table, 0, column) != NULL);
}

static PyObject* recording_names(PyObject* self, void* closure) {
  (void)closure;
  RecordingObject* r = (RecordingObject*)self;
  uint32_t count = slt_table_column_count(r->table);
  PyObject* list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    const char* name = slt_table_column_name(r->table, i);
    PyObject* item = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
    if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* recording_event_texts(PyObject* self, void* closure) {
  (void)closure;
  const Texts* texts = &((RecordingObject*)self)->texts;
  PyObject* list = PyList_New(texts->count);
  for (uint32_t i = 0; list && i < texts->count; i++) {
    const char* text = texts->items[i];
    PyObject* item = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/// {automaton: state at the end}
static PyObject* recording_final(PyObject* self, void* closure) {
  (void)closure;
  const RecordingObject* r = (RecordingObject*)self;
  PyObject* dict = PyDict_New();
  for (uint32_t i = 0; dict && i < r->final_count; i++) {
    const int32_t* pair = &r->final[2 * (size_t)i];
    PyObject* state = pair[1] >= 0 ? PyUnicode_FromString(r->texts.items[pair[1]]) : Py_None;
    if (pair[1] < 0) Py_INCREF(Py_None);
    if (!state || PyDict_SetItemString(dict, r->texts.items[pair[0]], state) < 0) Py_CLEAR(dict);
    Py_XDECREF(state);
  }
  return dict;
}

static PyObject* recording_event_rows(PyObject* self, void* closure) {
  (void)closure;
  RecordingObject* r = (RecordingObject*)self;
  return view_create(self, r->rows, r->row_count * sizeof *r->rows);
}

static PyObject* recording_event_lines(PyObject* self, void* closure) {
  (void)closure;
  RecordingObject* r = (RecordingObject*)self;
  return view_create(self, r->lines.data, r->lines.used);
}

static PyObject* recording_row_count(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(slt_table_row_count(((RecordingObject*)self)->table));
}

static PyObject* recording_status(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromLong(((RecordingObject*)self)->status);
}

static PyObject* recording_time(PyObject* self, void* closure) {
  (void)closure;
  return PyFloat_FromDouble(((RecordingObject*)self)->t);
}

static PyObject* recording_warnings(PyObject* self, void* closure) {
  (void)closure;
  PyObject* warnings = ((RecordingObject*)self)->warnings;
  return warnings ? Py_NewRef(warnings) : PyList_New(0);
}

PyObject* statistics_dict(const SltStatistics* s) {
  return Py_BuildValue("{s:d,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:I,s:s,s:z,s:d,s:d,s:d,s:d}", "t",
                       s->t, "steps", s->steps, "rejected", s->rejected, "evaluations",
                       s->evaluations, "guard_evaluations", s->guard_evaluations, "instants",
                       s->instants, "records", s->records, "not_certified", s->not_certified,
                       "silent", s->silent, "not_proved", s->not_proved, "modes", s->modes,
                       "method", s->method ? s->method : "", "method_reason", s->method_reason,
                       "energy_start", s->energy_start, "energy_events", s->energy_events,
                       "energy_gained", s->energy_gained, "energy_motion", s->energy_motion);
}

static PyObject* recording_statistics(PyObject* self, void* closure) {
  (void)closure;
  return statistics_dict(&((RecordingObject*)self)->statistics);
}

/// A picture of the rows: plot(title, x, names, width, height) as SVG.
static PyObject* recording_plot(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  RecordingObject* r = (RecordingObject*)self;
  if (count != 5) {
    PyErr_SetString(PyExc_TypeError, "plot takes a title, x, names, width, height");
    return NULL;
  }
  SltPlotOptions options = slt_plot_options();
  Names names;
  unsigned long width = PyLong_AsUnsignedLong(args[3]);
  unsigned long height = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLong(args[4]);
  if (PyErr_Occurred()) return NULL;
  if (args[0] != Py_None && !(options.title = text_from(args[0], "title"))) return NULL;
  if (args[1] != Py_None && !(options.x = text_from(args[1], "x"))) return NULL;
  if (!names_from(args[2], "names", &names)) return NULL;
  options.names = names.texts;
  options.name_count = names.count;
  options.width = (uint32_t)(width < 20000 ? width : 20000);
  options.height = (uint32_t)(height < 20000 ? height : 20000);
  Bytes svg = {NULL, 0, 0};
  const char* bad = NULL;
  SltStatus status = slt_table_plot(r->table, &options, (SltWriter){bytes_write, &svg}, &bad);
  PyObject* text = NULL;
  if (status >= 0) {
    text = bytes_text(&svg);
  } else if (status == SLT_ERR_NOT_FOUND && bad) {
    raise_made("unknown_name",
               Py_BuildValue("{s:s,s:N}", "name", bad, "columns", recording_names(self, NULL)));
  } else {
    raise_status(status, "no picture");
  }
  bytes_free(&svg);
  names_free(&names);
  return text;
}

/// The rows in a format of files: write(number of the format).
static PyObject* recording_write(PyObject* self, PyObject* path) {
  RecordingObject* r = (RecordingObject*)self;
  const char* name = text_from(path, "path");
  if (!name) return NULL;
  SltFormat format;
  if (slt_format_find(name, &format) < 0) {
    PyErr_Format(PyExc_ValueError, "the ending of %R names no format", path);
    return NULL;
  }
  if (format.missing) {
    PyErr_Format(PyExc_RuntimeError, "%s cannot be written here: install the package %s",
                 format.ending, format.missing);
    return NULL;
  }
  Bytes bytes = {NULL, 0, 0};
  SltStatus status = SLT_OK;
  Py_BEGIN_ALLOW_THREADS status =
      slt_table_write(r->table, format.id, (SltWriter){bytes_write, &bytes});
  Py_END_ALLOW_THREADS PyObject* result = NULL;
  if (status >= 0) {
    result = PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.used);
  } else {
    raise_status(status, "writing the table");
  }
  bytes_free(&bytes);
  return result;
}

static PyMethodDef recording_methods[] = {
    {"column", recording_column, METH_O, "The numbers of a column, as bytes of doubles."},
    {"texts", recording_texts, METH_O, "The texts of a column; None where a cell is a number."},
    {"is_text", recording_is_text, METH_O, "Whether a column holds texts."},
    {"plot", FAST(recording_plot), METH_FASTCALL, "A picture of the rows as SVG."},
    {"write", recording_write, METH_O, "The rows as the bytes of a file with such a name."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef recording_fields[] = {
    {"names", recording_names, NULL, "Names of the columns.", NULL},
    {"row_count", recording_row_count, NULL, "Number of rows.", NULL},
    {"event_rows", recording_event_rows, NULL, "The fixed part of the records.", NULL},
    {"event_texts", recording_event_texts, NULL, "Texts that the records number.", NULL},
    {"event_lines", recording_event_lines, NULL, "The records as lines of JSON.", NULL},
    {"final", recording_final, NULL, "The states that the automata ended in.", NULL},
    {"status", recording_status, NULL, "How the run ended, a number of the C interface.", NULL},
    {"t", recording_time, NULL, "Time reached.", NULL},
    {"warnings", recording_warnings, NULL, "Warnings of the run.", NULL},
    {"statistics", recording_statistics, NULL, "What the run has cost.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot recording_slots[] = {
    {Py_tp_doc, "Rows and event records of one run; owns its memory."},
    {Py_tp_dealloc, recording_dealloc},
    {Py_tp_methods, recording_methods},
    {Py_tp_getset, recording_fields},
    {0, NULL},
};
static PyType_Spec recording_spec = {"saltus._saltus.Recording", sizeof(RecordingObject), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                     recording_slots};

bool recording_add(PyObject* module) {
  types.view = module_add_type(module, &view_spec);
  types.recording = types.view ? module_add_type(module, &recording_spec) : NULL;
  return types.recording != NULL;
}

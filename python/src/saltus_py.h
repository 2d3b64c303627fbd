// SPDX-License-Identifier: MIT
//
// The Python extension: public headers of Saltus on one side, Python's limited API on the other, so
// that one binary serves every Python from 3.11 on. What is convenient is written in Python beside
// it (saltus/*.py); here is what needs memory, locks and speed.
//
//   model.c      Model: compiled text; runs of it
//   recording.c  Recording: rows and event records of one run, and views of its memory
//   driver.c     a run without the interpreter lock: callbacks, signals, exceptions
//   sim.c        Sim, Snapshot: a run under the caller's control
//   experiments.c  sweeps, sensitivities, fits, optimisation, comparisons
//   rules.c      Rules, Cyclic: rule tables
//   convert.c    numbers, names, options, errors
//
// Locks. Everything here is entered with the interpreter lock. Compiling and running release it. A
// model may be run by several threads at once; a Sim or Cyclic that is at work refuses others.
#ifndef SALTUS_PY_H
#define SALTUS_PY_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <saltus/saltus.h>
#include <saltus/saltus_rules.h>

#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Types of the module, made when it is loaded. The module is loaded once per process.
typedef struct Types {
  PyTypeObject* model;
  PyTypeObject* recording;
  PyTypeObject* view;
  PyTypeObject* sim;
  PyTypeObject* snapshot;
  PyTypeObject* rules;
  PyTypeObject* cyclic;
} Types;

extern Types types;

/// Make a type of `spec` and add it to the module; NULL with an exception.
PyTypeObject* module_add_type(PyObject* module, PyType_Spec* spec);

// ---- convert.c ----------------------------------------------------------------------------------

/// A list of texts for the library; free with names_free(). `count` 0 with a NULL list.
typedef struct Names {
  PyObject* owner;  // the sequence as a tuple: keeps the texts alive
  const char** texts;
  uint32_t count;
} Names;

bool names_from(PyObject* sequence, const char* what, Names* out);
void names_free(Names* names);

/// A finite or infinite number; NaN where `object` is None. False with an exception.
bool number_from(PyObject* object, const char* what, double* out);
/// UTF-8 of a str without NUL; NULL with an exception. Lives as long as `text`.
const char* text_from(PyObject* text, const char* what);
/// Fill options from a dict of keywords, NULL or None for none. Texts live as long as the dict.
bool sim_options_from(PyObject* dict, SltSimOptions* options);
/// When runs with such options end: None is where the model's experiment says, else 10. False with
/// an exception where that is not behind their start.
bool end_from(PyObject* until, const SltModel* model, const SltSimOptions* options, double* out);

/// {name: number} as overrides of constants; free with overrides_free().
typedef struct Overrides {
  PyObject* owner;  // keeps the names alive
  SltOverride* list;
  uint32_t count;
} Overrides;

bool overrides_from(PyObject* dict, Overrides* out);
void overrides_free(Overrides* overrides);

/// Bytes that grow.
typedef struct Bytes {
  char* data;
  size_t used, capacity;
} Bytes;

/// SltWriteFn into Bytes.
SltStatus bytes_write(void* user, const char* data, size_t length);
void bytes_free(Bytes* bytes);
/// As str.
PyObject* bytes_text(const Bytes* bytes);

/// A diagnostic as a dict.
PyObject* diagnostic_dict(const SltDiagnostic* diagnostic);

/// Raise what saltus._errors makes of keywords (steals `fields`): `maker` is one of its functions.
void raise_made(const char* maker, PyObject* fields);
/// The error of a run, of a status alone where `sim` says nothing.
/// A ValueError for options that do not go together.
void raise_options(const char* problem);
PyObject* run_error_dict(SltSim* sim, SltStatus status);
void raise_run(SltSim* sim, SltStatus status);
void raise_status(SltStatus status, const char* doing);
/// A run of an experiment that failed, by the code and message of its diagnostic.
void raise_failed(SltStatus status, const char* code, const char* message);
/// A name that the model does not have; `model`, which may be NULL, tells which it has.
void raise_unknown(const char* name, PyObject* model);

// ---- model.c ------------------------------------------------------------------------------------

/// A model with a count of the calls that are inside it without the interpreter lock: after a fork
/// other threads are gone, and a model they were inside of cannot be used any more.
typedef struct ModelObject {
  PyObject_HEAD SltModel* model;
  bool orphaned;  // a thread that no longer exists is inside of it
} ModelObject;

/// Around work that calls back or lets other threads go on, with the interpreter lock.
bool model_enter(ModelObject* model);
void model_leave(ModelObject* model);
bool model_add(PyObject* module);
/// Module functions.
PyObject* model_compile(PyObject* module, PyObject* const* args, Py_ssize_t count);
PyObject* model_after_fork(PyObject* module, PyObject* ignored);

// ---- experiments.c ------------------------------------------------------------------------------

/// Methods of Model.
PyObject* model_sweep(PyObject* self, PyObject* const* args, Py_ssize_t count);
PyObject* model_sens(PyObject* self, PyObject* const* args, Py_ssize_t count);
PyObject* model_fit(PyObject* self, PyObject* const* args, Py_ssize_t count);
PyObject* model_optimize(PyObject* self, PyObject* const* args, Py_ssize_t count);
/// Module function.
PyObject* compare_tables(PyObject* module, PyObject* const* args, Py_ssize_t count);

// ---- driver.c -----------------------------------------------------------------------------------

/// A stretch of work without the interpreter lock.
typedef struct Driver {
  PyThreadState* thread;  // while the lock is released
  PyObject* on_event;     // borrowed; NULL: none
  PyObject* on_step;
  PyObject *type, *value, *trace;  // an exception that ends the work
  bool stop;                       // on_step asked for the end
  bool signals;                    // this is the thread that answers signals
  uint32_t skip, skipped;          // steps between two looks at the clock
  uint64_t looked;                 // nanoseconds
} Driver;

void driver_begin(Driver* driver, PyObject* on_event, PyObject* on_step);
void driver_release(Driver* driver);
void driver_acquire(Driver* driver);
/// Called with the lock back. True when an exception was kept, which is then raised.
bool driver_raise(Driver* driver);
/// Forget an exception that was kept.
void driver_end(Driver* driver);
/// SltCancelFn, SltEventFn; user: a Driver.
bool driver_step(void* user, double t);
/// Within an instant: whether a signal asks for the end.
bool driver_round(void* user, double t);
void driver_event(void* user, const SltEvent* event);
/// Keep the exception that is set now.
void driver_keep(Driver* driver);
/// The identity of the thread that answers signals, from Python.
PyObject* driver_set_main(PyObject* module, PyObject* ident);

// ---- recording.c --------------------------------------------------------------------------------

/// The fixed part of an event record. Python reads these as a structured array: keep in step with
/// EVENT_DTYPE in saltus/_events.py.
typedef struct EventRow {
  double t, lo, hi, slope;
  uint32_t n, iter, line;
  int32_t automaton, from, to;  // numbers of texts, -1 for none
  int8_t kind, event_class, type, cause;
  uint8_t certified;
  uint8_t padding[3];
} EventRow;

/// Texts by number, each once.
typedef struct Texts {
  char** items;
  uint32_t count, capacity;
  uint32_t* slots;
  uint32_t slot_count;
} Texts;

/// Rows and records of one run; owns its memory.
typedef struct RecordingObject {
  PyObject_HEAD SltTable* table;
  EventRow* rows;
  uint32_t row_count, row_capacity;
  Texts texts;
  Bytes lines;     // of JSON, one per record
  int32_t* final;  // numbers of texts: each automaton, then its state at the end
  uint32_t final_count;
  bool lost;  // out of memory for records
  SltStatus status;
  SltStatistics statistics;
  char method_reason[200];
  double t;
  uint64_t warnings_dropped;
  PyObject* warnings;  // list of dicts, or NULL
} RecordingObject;

RecordingObject* recording_create(void);
/// SltEventFn that keeps the fixed part of a record; user: a RecordingObject.
void recording_event(void* user, const SltEvent* event);
/// Without the lock: take over what a run has recorded, and how it ended.
void recording_take(RecordingObject* recording, SltSim* sim, SltRecorder* recorder,
                    SltStatus status);
bool recording_add(PyObject* module);

// ---- sim.c, rules.c -----------------------------------------------------------------------------

bool sim_add(PyObject* module);
bool rules_add(PyObject* module);
/// Give a run that has not started a constant, or with a name like `x(t0)` an initial value.
SltStatus sim_set_param(SltSim* sim, const SltOverride* param);
/// Do so for all of them; false with an exception.
bool sim_set_params(SltSim* sim, const Overrides* params, PyObject* model);
/// Check the options and make a run of a model, with or without the lock. `problem` stays NULL
/// where the status says all.
SltStatus sim_make(const SltModel* model, const SltSimOptions* options, SltSim** sim,
                   const char** problem);
void raise_settings(SltStatus status, const char* problem);
/// Statistics as a dict.
PyObject* statistics_dict(const SltStatistics* statistics);
PyObject* rules_compile(PyObject* module, PyObject* const* args, Py_ssize_t count);

/// Methods of C types whose functions take an array of arguments.
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

/// What computes FMUs inside of models; NULL where the package cannot read FMUs.
const SltForeign* foreign_host(void);

#endif

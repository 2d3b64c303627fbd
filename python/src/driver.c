// SPDX-License-Identifier: MIT
//
// Work without the interpreter lock. Between steps the library asks whether to go on; every few
// milliseconds the lock is taken there for a moment, so that Ctrl-C is answered. An exception in a
// callback ends the work at the next step and is raised when it has ended.
#define _POSIX_C_SOURCE 200809L
#include "saltus_py.h"

#include <time.h>

#define LOOK_NS  20000000u  // distance of two looks for signals
#define SHORT_NS (LOOK_NS / 4)
#define SKIP_MAX 15u  // few: a step may be a thousand times longer than the one before

static unsigned long main_thread;  // written with the interpreter lock only

PyObject* driver_set_main(PyObject* module, PyObject* ident) {
  static int64_t home = -1;
  (void)module;
  int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (home < 0) home = here;
  if (here != home) {
    PyErr_SetString(PyExc_ImportError,
                    "saltus can be used in one interpreter of a process only, and is in use in "
                    "another one; threads and processes are possible");
    return NULL;
  }
  unsigned long value = PyLong_AsUnsignedLong(ident);
  if (value == (unsigned long)-1 && PyErr_Occurred()) return NULL;
  main_thread = value;
  Py_RETURN_NONE;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void driver_begin(Driver* driver, PyObject* on_event, PyObject* on_step) {
  *driver = (Driver){.on_event = on_event == Py_None ? NULL : on_event,
                     .on_step = on_step == Py_None ? NULL : on_step,
                     .signals = PyThread_get_thread_ident() == main_thread};
  // others may drop their references while callbacks run
  Py_XINCREF(driver->on_event);
  Py_XINCREF(driver->on_step);
  if (driver->signals) driver->looked = now();
}

void driver_release(Driver* driver) {
  driver->thread = PyEval_SaveThread();
}

void driver_acquire(Driver* driver) {
  PyEval_RestoreThread(driver->thread);
  driver->thread = NULL;
}

void driver_keep(Driver* driver) {
  if (driver->type) {  // the first one counts
    PyErr_Clear();
    return;
  }
  PyErr_Fetch(&driver->type, &driver->value, &driver->trace);
}

void driver_end(Driver* driver) {
  Py_CLEAR(driver->type);
  Py_CLEAR(driver->value);
  Py_CLEAR(driver->trace);
  Py_CLEAR(driver->on_event);
  Py_CLEAR(driver->on_step);
}

bool driver_raise(Driver* driver) {
  if (!driver->type) return false;
  PyErr_Restore(driver->type, driver->value, driver->trace);
  driver->type = driver->value = driver->trace = NULL;
  return true;
}

/// With the lock: whether the caller's function asks for the end, or has failed.
static bool ask(Driver* driver, double t) {
  PyObject* answer = PyObject_CallFunction(driver->on_step, "d", t);
  int truth = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  if (truth < 0) driver_keep(driver);
  if (truth > 0) driver->stop = true;
  return truth != 0;
}

/// The clock is read seldom where steps are short, and at every step where they are long.
static bool is_time_to_look(Driver* driver) {
  if (++driver->skipped <= driver->skip) return false;
  driver->skipped = 0;
  uint64_t elapsed = now() - driver->looked;
  if (elapsed < SHORT_NS) {
    if (driver->skip < SKIP_MAX) driver->skip = driver->skip * 2 + 1;
    return false;
  }
  if (elapsed > LOOK_NS) driver->skip /= 4;
  driver->looked += elapsed;
  return true;
}

/// With the lock: whether a signal asks for the end.
static bool is_signalled(Driver* driver) {
  if (!driver->signals || PyErr_CheckSignals() >= 0) return false;
  driver_keep(driver);
  return true;
}

bool driver_step(void* user, double t) {
  Driver* driver = user;
  if (driver->type) return true;
  bool looks = driver->signals && is_time_to_look(driver);
  if (!looks && !driver->on_step) return false;
  driver_acquire(driver);
  bool ends = (driver->on_step && ask(driver, t)) || is_signalled(driver);
  driver_release(driver);
  return ends;
}

bool driver_round(void* user, double t) {
  Driver* driver = user;
  (void)t;
  if (driver->type) return true;
  if (!driver->signals || !is_time_to_look(driver)) return false;
  driver_acquire(driver);
  bool ends = is_signalled(driver);
  driver_release(driver);
  return ends;
}

void driver_event(void* user, const SltEvent* event) {
  Driver* driver = user;
  if (!driver->on_event || driver->type) return;
  Bytes line = {NULL, 0, 0};
  SltStatus status = slt_event_write(event, (SltWriter){bytes_write, &line});
  driver_acquire(driver);
  PyObject* text = status < 0 ? PyErr_NoMemory() : bytes_text(&line);
  bytes_free(&line);
  PyObject* module = text ? PyImport_ImportModule("saltus._events") : NULL;
  PyObject* record = module ? PyObject_CallMethod(module, "event_from_line", "O", text) : NULL;
  PyObject* answer = record ? PyObject_CallFunctionObjArgs(driver->on_event, record, NULL) : NULL;
  if (!answer) driver_keep(driver);
  Py_XDECREF(answer);
  Py_XDECREF(record);
  Py_XDECREF(module);
  Py_XDECREF(text);
  driver_release(driver);
}

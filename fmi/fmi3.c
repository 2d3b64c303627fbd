// SPDX-License-Identifier: MIT
//
// FMI 3.0 for Co-Simulation with event mode and early return. Declarations follow the standard's
// interface; types are its own.
#include "instance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void LogMessage(void* environment, fmi3Status status, const char* category,
                        const char* message);

typedef struct Component {
  Instance* instance;
  LogMessage* log;
  void* environment;
  bool early;  // return at events
  bool initialized;
  bool event_mode;
} Component;

typedef struct SavedState {
  char* bytes;
  size_t size;
  bool event_mode;
} SavedState;

static void log_message(void* user, bool error, const char* message) {
  Component* c = user;
  if (c->log) {
    c->log(c->environment, error ? fmi3Error : fmi3OK, error ? "logStatusError" : "logEvents",
           message);
  }
}

static fmi3Status result(bool good) {
  return good ? fmi3OK : fmi3Error;
}

static fmi3Status refuse(Component* c, const char* text) {
  if (c) instance_fail(c->instance, "%s", text);
  return fmi3Error;
}

EXPORT const char* fmi3GetVersion(void) {
  return "3.0";
}

EXPORT fmi3Status fmi3SetDebugLogging(void* c, bool on, size_t count,
                                      const char* const categories[]) {
  (void)on;
  (void)count;
  (void)categories;
  return result(c != NULL);
}

EXPORT void fmi3FreeInstance(void* component) {
  Component* c = component;
  if (!c) return;
  instance_free(c->instance);
  free(c);
}

EXPORT void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources,
                                         bool visible, bool logging, bool event_mode_used,
                                         bool early_return, const unsigned required[],
                                         size_t required_count, void* environment, LogMessage* log,
                                         void* intermediate_update) {
  (void)name;
  (void)visible;
  (void)logging;
  (void)required;
  (void)intermediate_update;
  Component* c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->log = log;
  c->environment = environment;
  char folder[4096];
  if (required_count > 0) {
    log_message(c, true, "this FMU has no intermediate variables");
  } else if (!instance_folder(resources, folder, sizeof folder)) {
    log_message(c, true, "resourcePath is no folder");
  } else {
    c->instance = instance_create(folder, token, log_message, c);
  }
  if (!c->instance) {
    free(c);
    return NULL;
  }
  c->instance->events = event_mode_used;
  // an event that nobody is to handle is handled here: returning early from it tells nothing
  c->early = event_mode_used && early_return;
  return c;
}

static void* no_such_kind(void* environment, LogMessage* log, const char* text) {
  if (log) log(environment, fmi3Error, "logStatusError", text);
  return NULL;
}

EXPORT void* fmi3InstantiateModelExchange(const char* name, const char* token,
                                          const char* resources, bool visible, bool logging,
                                          void* environment, LogMessage* log) {
  (void)name;
  (void)token;
  (void)resources;
  (void)visible;
  (void)logging;
  return no_such_kind(environment, log, "this FMU is for co-simulation only");
}

EXPORT void* fmi3InstantiateScheduledExecution(const char* name, const char* token,
                                               const char* resources, bool visible, bool logging,
                                               void* environment, LogMessage* log) {
  (void)name;
  (void)token;
  (void)resources;
  (void)visible;
  (void)logging;
  return no_such_kind(environment, log, "this FMU is for co-simulation only");
}

EXPORT fmi3Status fmi3EnterInitializationMode(void* component, bool has_tolerance, double tolerance,
                                              double start, bool has_stop, double stop) {
  (void)has_stop;
  (void)stop;
  Component* c = component;
  if (!c || c->initialized) return refuse(c, "initialization comes once");
  c->instance->start = start;
  c->instance->rtol = has_tolerance ? tolerance : (double)NAN;
  c->instance->initializing = true;
  return fmi3OK;
}

EXPORT fmi3Status fmi3ExitInitializationMode(void* component) {
  Component* c = component;
  if (!c || !c->instance->initializing) return refuse(c, "initialization was not begun");
  bool good = c->instance->sim || instance_start(c->instance);
  c->instance->initializing = false;
  c->initialized = good;
  c->event_mode = good && c->instance->events;
  return result(good);
}

EXPORT fmi3Status fmi3EnterEventMode(void* component) {
  Component* c = component;
  if (!c || !c->initialized || !c->instance->events)
    return refuse(c, "there is no event mode here");
  c->event_mode = true;
  return fmi3OK;
}

EXPORT fmi3Status fmi3UpdateDiscreteStates(void* component, bool* again, bool* terminate,
                                           bool* nominals, bool* values, bool* has_next,
                                           double* next) {
  Component* c = component;
  if (!c || !c->event_mode) return refuse(c, "UpdateDiscreteStates belongs to event mode");
  bool good = instance_update(c->instance);
  *again = false;
  *terminate = c->instance->phase == PHASE_STOPPED;
  *nominals = false;
  *values = false;
  *has_next = false;
  *next = 0.0;
  return result(good);
}

EXPORT fmi3Status fmi3EvaluateDiscreteStates(void* component) {
  Component* c = component;
  return c && c->event_mode ? fmi3OK : refuse(c, "EvaluateDiscreteStates belongs to event mode");
}

EXPORT fmi3Status fmi3EnterStepMode(void* component) {
  Component* c = component;
  if (!c || !c->event_mode) return refuse(c, "EnterStepMode ends event mode");
  bool good = instance_update(c->instance);
  c->event_mode = false;
  return result(good);
}

EXPORT fmi3Status fmi3Terminate(void* component) {
  Component* c = component;
  if (!c) return fmi3Error;
  c->instance->phase = PHASE_TERMINATED;
  return fmi3OK;
}

EXPORT fmi3Status fmi3Reset(void* component) {
  Component* c = component;
  if (!c) return fmi3Error;
  instance_reset(c->instance);
  c->initialized = false;
  c->event_mode = false;
  return fmi3OK;
}

EXPORT fmi3Status fmi3DoStep(void* component, double t, double h, bool no_set_state, bool* event,
                             bool* terminate, bool* early, double* reached) {
  (void)no_set_state;
  Component* c = component;
  *event = *terminate = *early = false;
  if (!c || !c->initialized || c->event_mode) return refuse(c, "DoStep belongs to step mode");
  if (!(h > 0.0) || !isfinite(t + h)) return refuse(c, "the step must be greater than 0");
  InstanceStep step;
  bool good = instance_step(c->instance, t + h, c->early, &step);
  *reached = step.reached;
  if (!good) return fmi3Error;
  *event = step.event;
  *terminate = step.stopped;
  *early = step.reached < t + h;
  return fmi3OK;
}

// ---- values -------------------------------------------------------------------------------------

EXPORT fmi3Status fmi3GetFloat64(void* component, const unsigned refs[], size_t count,
                                 double values[], size_t value_count) {
  Component* c = component;
  if (!c || count != value_count) return refuse(c, "there is one value per variable");
  for (size_t i = 0; i < count; i++) {
    if (!instance_get(c->instance, refs[i], &values[i])) return fmi3Error;
  }
  return fmi3OK;
}

EXPORT fmi3Status fmi3SetFloat64(void* component, const unsigned refs[], size_t count,
                                 const double values[], size_t value_count) {
  Component* c = component;
  if (!c || count != value_count) return refuse(c, "there is one value per variable");
  for (size_t i = 0; i < count; i++) {
    if (!instance_set(c->instance, refs[i], values[i])) return fmi3Error;
  }
  return fmi3OK;
}

EXPORT fmi3Status fmi3GetInt64(void* component, const unsigned refs[], size_t count,
                               int64_t values[], size_t value_count) {
  Component* c = component;
  if (!c || count != value_count) return refuse(c, "there is one value per variable");
  for (size_t i = 0; i < count; i++) {
    double value = 0.0;
    if (!instance_get(c->instance, refs[i], &value)) return fmi3Error;
    values[i] = (int64_t)value;
  }
  return fmi3OK;
}

// ---- state --------------------------------------------------------------------------------------

EXPORT fmi3Status fmi3FreeFMUState(void* component, void** state) {
  if (!component || !state) return fmi3Error;
  SavedState* saved = *state;
  if (saved) free(saved->bytes);
  free(saved);
  *state = NULL;
  return fmi3OK;
}

EXPORT fmi3Status fmi3GetFMUState(void* component, void** state) {
  Component* c = component;
  if (!c || !state) return fmi3Error;
  char* bytes = NULL;
  size_t size = 0;
  if (!instance_save(c->instance, &bytes, &size)) return fmi3Error;
  SavedState* saved = *state ? *state : calloc(1, sizeof *saved);
  if (!saved) {
    free(bytes);
    return fmi3Error;
  }
  free(saved->bytes);
  *saved = (SavedState){bytes, size, c->event_mode};
  *state = saved;
  return fmi3OK;
}

EXPORT fmi3Status fmi3SetFMUState(void* component, void* state) {
  Component* c = component;
  const SavedState* saved = state;
  if (!c || !saved) return fmi3Error;
  bool good = instance_restore(c->instance, saved->bytes, saved->size);
  c->initialized = c->instance->phase != PHASE_CREATED && !c->instance->initializing;
  c->event_mode = saved->event_mode;
  return result(good);
}

EXPORT fmi3Status fmi3SerializedFMUStateSize(void* component, void* state, size_t* size) {
  const SavedState* saved = state;
  if (!component || !saved || !size) return fmi3Error;
  *size = saved->size + 1;
  return fmi3OK;
}

EXPORT fmi3Status fmi3SerializeFMUState(void* component, void* state, uint8_t bytes[],
                                        size_t size) {
  const SavedState* saved = state;
  if (!component || !saved || size < saved->size + 1) return fmi3Error;
  bytes[0] = saved->event_mode;
  memcpy(bytes + 1, saved->bytes, saved->size);
  return fmi3OK;
}

EXPORT fmi3Status fmi3DeserializeFMUState(void* component, const uint8_t bytes[], size_t size,
                                          void** state) {
  if (!component || !bytes || !state || size < 1) return fmi3Error;
  SavedState* saved = calloc(1, sizeof *saved);
  char* copy = malloc(size);
  if (!saved || !copy) {
    free(saved);
    free(copy);
    return fmi3Error;
  }
  memcpy(copy, bytes + 1, size - 1);
  *saved = (SavedState){copy, size - 1, bytes[0] != 0};
  *state = saved;
  return fmi3OK;
}

// ---- what this FMU has nothing of ---------------------------------------------------------------
//
// Importers look all functions of the standard up when they load a library. None of these is ever
// to be called; one that is says so. They read their first argument alone.

#define ABSENT(function, what) \
  EXPORT fmi3Status function(void* component) { \
    return refuse(component, "this FMU has no " what); \
  }

ABSENT(fmi3GetFloat32, "variables of type Float32")
ABSENT(fmi3GetInt8, "variables of type Int8")
ABSENT(fmi3GetUInt8, "variables of type UInt8")
ABSENT(fmi3GetInt16, "variables of type Int16")
ABSENT(fmi3GetUInt16, "variables of type UInt16")
ABSENT(fmi3GetInt32, "variables of type Int32")
ABSENT(fmi3GetUInt32, "variables of type UInt32")
ABSENT(fmi3GetUInt64, "variables of type UInt64")
ABSENT(fmi3GetBoolean, "variables of type Boolean")
ABSENT(fmi3GetString, "variables of type String")
ABSENT(fmi3GetBinary, "variables of type Binary")
ABSENT(fmi3GetClock, "clocks")
ABSENT(fmi3SetFloat32, "variables of type Float32")
ABSENT(fmi3SetInt8, "variables of type Int8")
ABSENT(fmi3SetUInt8, "variables of type UInt8")
ABSENT(fmi3SetInt16, "variables of type Int16")
ABSENT(fmi3SetUInt16, "variables of type UInt16")
ABSENT(fmi3SetInt32, "variables of type Int32")
ABSENT(fmi3SetUInt32, "variables of type UInt32")
ABSENT(fmi3SetInt64, "integers that can be set")
ABSENT(fmi3SetUInt64, "variables of type UInt64")
ABSENT(fmi3SetBoolean, "variables of type Boolean")
ABSENT(fmi3SetString, "variables of type String")
ABSENT(fmi3SetBinary, "variables of type Binary")
ABSENT(fmi3SetClock, "clocks")
ABSENT(fmi3GetNumberOfVariableDependencies, "dependencies")
ABSENT(fmi3GetVariableDependencies, "dependencies")
ABSENT(fmi3GetDirectionalDerivative, "directional derivatives")
ABSENT(fmi3GetAdjointDerivative, "adjoint derivatives")
ABSENT(fmi3EnterConfigurationMode, "structural parameters")
ABSENT(fmi3ExitConfigurationMode, "structural parameters")
ABSENT(fmi3GetIntervalDecimal, "clocks")
ABSENT(fmi3GetIntervalFraction, "clocks")
ABSENT(fmi3GetShiftDecimal, "clocks")
ABSENT(fmi3GetShiftFraction, "clocks")
ABSENT(fmi3SetIntervalDecimal, "clocks")
ABSENT(fmi3SetIntervalFraction, "clocks")
ABSENT(fmi3SetShiftDecimal, "clocks")
ABSENT(fmi3SetShiftFraction, "clocks")
ABSENT(fmi3EnterContinuousTimeMode, "model exchange")
ABSENT(fmi3CompletedIntegratorStep, "model exchange")
ABSENT(fmi3SetTime, "model exchange")
ABSENT(fmi3SetContinuousStates, "model exchange")
ABSENT(fmi3GetContinuousStateDerivatives, "model exchange")
ABSENT(fmi3GetEventIndicators, "model exchange")
ABSENT(fmi3GetContinuousStates, "model exchange")
ABSENT(fmi3GetNominalsOfContinuousStates, "model exchange")
ABSENT(fmi3GetNumberOfEventIndicators, "model exchange")
ABSENT(fmi3GetNumberOfContinuousStates, "model exchange")
ABSENT(fmi3GetOutputDerivatives, "derivatives of outputs")
ABSENT(fmi3ActivateModelPartition, "clocks")

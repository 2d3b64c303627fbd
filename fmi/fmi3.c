// SPDX-License-Identifier: MIT
//
// FMI 3.0 for Model Exchange, and for Co-Simulation with event mode and early return. Declarations
// follow the standard's interface; types are its own.
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
} Component;

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

static void* no_such_kind(void* environment, LogMessage* log, const char* text) {
  if (log) log(environment, fmi3Error, "logStatusError", text);
  return NULL;
}

static Component* instantiate(const char* token, const char* resources, void* environment,
                              LogMessage* log) {
  Component* c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->log = log;
  c->environment = environment;
  char folder[4096];
  if (!instance_folder(resources, folder, sizeof folder)) {
    log_message(c, true, "resourcePath is no folder");
  } else {
    c->instance = instance_create(folder, token, log_message, c);
  }
  if (c->instance) return c;
  free(c);
  return NULL;
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
  if (required_count > 0) {
    return no_such_kind(environment, log, "this FMU has no intermediate variables");
  }
  Component* c = instantiate(token, resources, environment, log);
  if (!c) return NULL;
  c->instance->events = event_mode_used;
  // an event that nobody is to handle is handled here: returning early from it tells nothing
  c->early = event_mode_used && early_return;
  return c;
}

EXPORT void* fmi3InstantiateModelExchange(const char* name, const char* token,
                                          const char* resources, bool visible, bool logging,
                                          void* environment, LogMessage* log) {
  (void)name;
  (void)visible;
  (void)logging;
  Component* c = instantiate(token, resources, environment, log);
  if (c) c->instance->exchange = true;
  return c;
}

EXPORT void* fmi3InstantiateScheduledExecution(const char* name, const char* token,
                                               const char* resources, bool visible, bool logging,
                                               void* environment, LogMessage* log) {
  (void)name;
  (void)token;
  (void)resources;
  (void)visible;
  (void)logging;
  return no_such_kind(environment, log, "this FMU has no clocks and partitions");
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
  c->instance->event_mode = good && (c->instance->events || c->instance->exchange);
  return result(good);
}

EXPORT fmi3Status fmi3EnterEventMode(void* component) {
  Component* c = component;
  if (!c || !c->initialized || !(c->instance->events || c->instance->exchange))
    return refuse(c, "there is no event mode here");
  c->instance->event_mode = true;
  return fmi3OK;
}

EXPORT fmi3Status fmi3UpdateDiscreteStates(void* component, bool* again, bool* terminate,
                                           bool* nominals, bool* values, bool* has_next,
                                           double* next) {
  Component* c = component;
  if (!c || !c->instance->event_mode)
    return refuse(c, "UpdateDiscreteStates belongs to event mode");
  InstanceEvent event = {.next = (double)INFINITY};
  bool exchange = c->instance->exchange;
  bool good =
      exchange ? instance_exchange_event(c->instance, &event) : instance_update(c->instance);
  *again = false;
  *terminate = c->instance->phase == PHASE_STOPPED;
  *nominals = false;
  *values = event.changed;
  *has_next = isfinite(event.next);
  *next = *has_next ? event.next : 0.0;
  return result(good);
}

EXPORT fmi3Status fmi3EvaluateDiscreteStates(void* component) {
  Component* c = component;
  return c && c->instance->event_mode ? fmi3OK
                                      : refuse(c, "EvaluateDiscreteStates belongs to event mode");
}

EXPORT fmi3Status fmi3EnterStepMode(void* component) {
  Component* c = component;
  if (!c || !c->instance->event_mode || c->instance->exchange)
    return refuse(c, "EnterStepMode ends event mode of co-simulation");
  bool good = instance_update(c->instance);
  c->instance->event_mode = false;
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
  return fmi3OK;
}

EXPORT fmi3Status fmi3DoStep(void* component, double t, double h, bool no_set_state, bool* event,
                             bool* terminate, bool* early, double* reached) {
  (void)no_set_state;
  Component* c = component;
  *event = *terminate = *early = false;
  if (!c || !c->initialized || c->instance->event_mode || c->instance->exchange)
    return refuse(c, "DoStep belongs to step mode");
  if (!(h > 0.0) || !isfinite(t + h)) return refuse(c, "the step must be greater than 0");
  InstanceStep step;
  bool good = instance_step(c->instance, t, t + h, c->early, &step);
  *reached = step.reached;
  if (!good) return fmi3Error;
  *event = step.event;
  *terminate = step.stopped;
  *early = step.reached < t + h;
  return fmi3OK;
}

// ---- model exchange -----------------------------------------------------------------------------

static fmi3Status status_of(InstanceAnswer answer) {
  return answer == ANSWER_GOOD ? fmi3OK : answer == ANSWER_DISCARD ? fmi3Discard : fmi3Error;
}

/// Whether a function of model exchange may be called: with a message otherwise.
static bool exchanges(Component* c) {
  if (c && c->instance->exchange) return true;
  refuse(c, "this belongs to model exchange");
  return false;
}

EXPORT fmi3Status fmi3EnterContinuousTimeMode(void* component) {
  Component* c = component;
  if (!exchanges(c) || !c->initialized) return fmi3Error;
  c->instance->event_mode = false;
  return fmi3OK;
}

EXPORT fmi3Status fmi3CompletedIntegratorStep(void* component, bool no_set_state, bool* event,
                                              bool* terminate) {
  (void)no_set_state;
  Component* c = component;
  if (!exchanges(c) || !c->initialized || !event || !terminate) return fmi3Error;
  bool good = instance_step_done(c->instance, event);
  *terminate = c->instance->phase == PHASE_STOPPED;
  return result(good);
}

EXPORT fmi3Status fmi3SetTime(void* component, double t) {
  Component* c = component;
  return result(exchanges(c) && instance_set_time(c->instance, t));
}

EXPORT fmi3Status fmi3SetContinuousStates(void* component, const double x[], size_t count) {
  Component* c = component;
  return result(exchanges(c) && instance_set_states(c->instance, x, count));
}

EXPORT fmi3Status fmi3GetContinuousStates(void* component, double x[], size_t count) {
  Component* c = component;
  return result(exchanges(c) && instance_get_states(c->instance, x, count));
}

EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(void* component, double x[], size_t count) {
  Component* c = component;
  return result(exchanges(c) && instance_get_nominals(c->instance, x, count));
}

EXPORT fmi3Status fmi3GetContinuousStateDerivatives(void* component, double rates[], size_t count) {
  Component* c = component;
  return exchanges(c) ? status_of(instance_get_rates(c->instance, rates, count)) : fmi3Error;
}

EXPORT fmi3Status fmi3GetEventIndicators(void* component, double z[], size_t count) {
  Component* c = component;
  return exchanges(c) ? status_of(instance_get_indicators(c->instance, z, count)) : fmi3Error;
}

EXPORT fmi3Status fmi3GetNumberOfContinuousStates(void* component, size_t* count) {
  Component* c = component;
  if (!exchanges(c) || !count) return fmi3Error;
  *count = c->instance->variables.state_count;
  return fmi3OK;
}

EXPORT fmi3Status fmi3GetNumberOfEventIndicators(void* component, size_t* count) {
  Component* c = component;
  if (!exchanges(c) || !count) return fmi3Error;
  *count = c->instance->variables.indicator_count;
  return fmi3OK;
}

EXPORT fmi3Status fmi3GetDirectionalDerivative(void* component, const unsigned unknowns[],
                                               size_t count, const unsigned knowns[],
                                               size_t known_count, const double seed[],
                                               size_t seed_count, double out[], size_t out_count) {
  Component* c = component;
  if (!exchanges(c)) return fmi3Error;
  if (count != out_count || known_count != seed_count)
    return refuse(c, "there is one value per variable");
  return status_of(
      instance_direction(c->instance, unknowns, count, knowns, known_count, seed, out));
}

// ---- values -------------------------------------------------------------------------------------

EXPORT fmi3Status fmi3GetFloat64(void* component, const unsigned refs[], size_t count,
                                 double values[], size_t value_count) {
  Component* c = component;
  if (!c || count != value_count) return refuse(c, "there is one value per variable");
  return result(instance_get(c->instance, refs, count, values));
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
    if (!instance_get(c->instance, &refs[i], 1, &value)) return fmi3Error;
    values[i] = (int64_t)value;
  }
  return fmi3OK;
}

// ---- state --------------------------------------------------------------------------------------

EXPORT fmi3Status fmi3FreeFMUState(void* component, void** state) {
  if (!component || !state) return fmi3Error;
  instance_state_free(state);
  return fmi3OK;
}

EXPORT fmi3Status fmi3GetFMUState(void* component, void** state) {
  Component* c = component;
  return result(c && state && instance_state_get(c->instance, state));
}

EXPORT fmi3Status fmi3SetFMUState(void* component, void* state) {
  Component* c = component;
  if (!c || !state) return fmi3Error;
  bool good = instance_state_set(c->instance, state);
  c->initialized = c->instance->phase != PHASE_CREATED && !c->instance->initializing;
  return result(good);
}

EXPORT fmi3Status fmi3SerializedFMUStateSize(void* component, void* state, size_t* size) {
  if (!component || !state || !size) return fmi3Error;
  *size = instance_state_size(state);
  return fmi3OK;
}

EXPORT fmi3Status fmi3SerializeFMUState(void* component, void* state, uint8_t bytes[],
                                        size_t size) {
  return result(component && state && instance_state_write(state, bytes, size));
}

EXPORT fmi3Status fmi3DeserializeFMUState(void* component, const uint8_t bytes[], size_t size,
                                          void** state) {
  return result(component && bytes && state && instance_state_read(bytes, size, state));
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
ABSENT(fmi3GetOutputDerivatives, "derivatives of outputs")
ABSENT(fmi3ActivateModelPartition, "clocks")

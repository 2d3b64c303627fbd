// SPDX-License-Identifier: MIT
//
// FMI 2.0 for Model Exchange and Co-Simulation. Declarations follow the standard's interface; types
// are its own.
#include "instance.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef int fmi2Boolean;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef struct {
  fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged,
      valuesOfContinuousStatesChanged, nextEventTimeDefined;
  double nextEventTime;
} fmi2EventInfo;
typedef enum {
  fmi2DoStepStatus,
  fmi2PendingStatus,
  fmi2LastSuccessfulTime,
  fmi2Terminated
} fmi2StatusKind;
typedef unsigned int fmi2ValueReference;
typedef const char* fmi2String;
typedef struct {
  void (*logger)(void* environment, fmi2String name, fmi2Status status, fmi2String category,
                 fmi2String message, ...);
  void* (*allocateMemory)(size_t count, size_t size);
  void (*freeMemory)(void* memory);
  void (*stepFinished)(void* environment, fmi2Status status);
  void* environment;
} fmi2CallbackFunctions;

typedef struct Component {
  Instance* instance;
  fmi2CallbackFunctions callbacks;
  char* name;
  bool initialized;
  double stop;  // NaN: none
  bool terminated;
} Component;

/// Messages are formats in this version. What stands in one here is a text: some importers hand it
/// on as it is, others with the (absent) arguments filled in.
static void log_message(void* user, bool error, const char* message) {
  Component* c = user;
  if (!c->callbacks.logger) return;
  char text[6100];
  size_t used = 0;
  for (; *message && used + 3 < sizeof text; message++) {
    if (*message == '%') text[used++] = '%';
    text[used++] = *message;
  }
  text[used] = '\0';
  c->callbacks.logger(c->callbacks.environment, c->name ? c->name : "", error ? fmi2Error : fmi2OK,
                      error ? "logStatusError" : "logAll", text);
}

static fmi2Status result(bool good) {
  return good ? fmi2OK : fmi2Error;
}

static fmi2Status refuse(Component* c, const char* text) {
  if (c) instance_fail(c->instance, "%s", text);
  return fmi2Error;
}

EXPORT const char* fmi2GetTypesPlatform(void) {
  return "default";
}

EXPORT const char* fmi2GetVersion(void) {
  return "2.0";
}

EXPORT fmi2Status fmi2SetDebugLogging(void* c, fmi2Boolean on, size_t count,
                                      const fmi2String categories[]) {
  (void)on;
  (void)count;
  (void)categories;
  return c ? fmi2OK : fmi2Error;
}

EXPORT void fmi2FreeInstance(void* component) {
  Component* c = component;
  if (!c) return;
  instance_free(c->instance);
  free(c->name);
  free(c);
}

EXPORT void* fmi2Instantiate(fmi2String name, int type, fmi2String guid, fmi2String resources,
                             const fmi2CallbackFunctions* functions, fmi2Boolean visible,
                             fmi2Boolean logging) {
  (void)visible;
  (void)logging;
  Component* c = calloc(1, sizeof *c);
  if (!c) return NULL;
  if (functions) c->callbacks = *functions;
  c->name = malloc(strlen(name ? name : "") + 1);
  if (c->name) memcpy(c->name, name ? name : "", strlen(name ? name : "") + 1);
  c->stop = (double)NAN;
  char folder[4096];
  if (type != fmi2ModelExchange && type != fmi2CoSimulation) {
    log_message(c, true, "fmuType is none");
  } else if (!instance_folder(resources, folder, sizeof folder)) {
    log_message(c, true, "fmuResourceLocation is no address of a folder");
  } else {
    c->instance = instance_create(folder, guid, log_message, c);
  }
  if (c->instance) {
    c->instance->exchange = type == fmi2ModelExchange;
    return c;
  }
  fmi2FreeInstance(c);
  return NULL;
}

EXPORT fmi2Status fmi2SetupExperiment(void* component, fmi2Boolean has_tolerance, double tolerance,
                                      double start, fmi2Boolean has_stop, double stop) {
  Component* c = component;
  if (!c || c->initialized) return refuse(c, "SetupExperiment comes before initialization");
  c->instance->start = start;
  c->instance->rtol = has_tolerance ? tolerance : (double)NAN;
  c->stop = has_stop ? stop : (double)NAN;
  return fmi2OK;
}

EXPORT fmi2Status fmi2EnterInitializationMode(void* component) {
  Component* c = component;
  if (!c || c->initialized) return refuse(c, "initialization comes once");
  c->instance->initializing = true;
  return fmi2OK;
}

EXPORT fmi2Status fmi2ExitInitializationMode(void* component) {
  Component* c = component;
  if (!c || !c->instance->initializing) return refuse(c, "initialization was not begun");
  bool good = c->instance->sim || instance_start(c->instance);
  c->instance->initializing = false;
  c->initialized = good;
  c->instance->event_mode = good && c->instance->exchange;
  return result(good);
}

EXPORT fmi2Status fmi2Terminate(void* component) {
  Component* c = component;
  if (!c) return fmi2Error;
  c->instance->phase = PHASE_TERMINATED;
  return fmi2OK;
}

EXPORT fmi2Status fmi2Reset(void* component) {
  Component* c = component;
  if (!c) return fmi2Error;
  instance_reset(c->instance);
  c->initialized = false;
  c->terminated = false;
  return fmi2OK;
}

// ---- values -------------------------------------------------------------------------------------

EXPORT fmi2Status fmi2GetReal(void* component, const fmi2ValueReference refs[], size_t count,
                              double values[]) {
  Component* c = component;
  return result(c && instance_get(c->instance, refs, count, values));
}

EXPORT fmi2Status fmi2GetInteger(void* component, const fmi2ValueReference refs[], size_t count,
                                 int values[]) {
  Component* c = component;
  for (size_t i = 0; c && i < count; i++) {
    double value = 0.0;
    if (!instance_get(c->instance, &refs[i], 1, &value)) return fmi2Error;
    values[i] = (int)value;
  }
  return result(c != NULL);
}

EXPORT fmi2Status fmi2SetReal(void* component, const fmi2ValueReference refs[], size_t count,
                              const double values[]) {
  Component* c = component;
  for (size_t i = 0; c && i < count; i++) {
    if (!instance_set(c->instance, refs[i], values[i])) return fmi2Error;
  }
  return result(c != NULL);
}

static fmi2Status none_of(void* component, size_t count, const char* what) {
  Component* c = component;
  if (!c || count == 0) return result(c != NULL);
  instance_fail(c->instance, "this FMU has no %s", what);
  return fmi2Error;
}

EXPORT fmi2Status fmi2SetInteger(void* c, const fmi2ValueReference refs[], size_t count,
                                 const int values[]) {
  (void)refs;
  (void)values;
  return none_of(c, count, "integers that can be set");
}

EXPORT fmi2Status fmi2GetBoolean(void* c, const fmi2ValueReference refs[], size_t count,
                                 fmi2Boolean values[]) {
  (void)refs;
  (void)values;
  return none_of(c, count, "booleans");
}

EXPORT fmi2Status fmi2SetBoolean(void* c, const fmi2ValueReference refs[], size_t count,
                                 const fmi2Boolean values[]) {
  (void)refs;
  (void)values;
  return none_of(c, count, "booleans");
}

EXPORT fmi2Status fmi2GetString(void* c, const fmi2ValueReference refs[], size_t count,
                                fmi2String values[]) {
  (void)refs;
  (void)values;
  return none_of(c, count, "strings");
}

EXPORT fmi2Status fmi2SetString(void* c, const fmi2ValueReference refs[], size_t count,
                                const fmi2String values[]) {
  (void)refs;
  (void)values;
  return none_of(c, count, "strings");
}

// ---- model exchange -----------------------------------------------------------------------------

static fmi2Status status_of(InstanceAnswer answer) {
  return answer == ANSWER_GOOD ? fmi2OK : answer == ANSWER_DISCARD ? fmi2Discard : fmi2Error;
}

/// Whether a function of model exchange may be called: with a message otherwise.
static bool exchanges(Component* c) {
  if (c && c->initialized && c->instance->exchange) return true;
  refuse(c, "this belongs to model exchange after initialization");
  return false;
}

EXPORT fmi2Status fmi2EnterEventMode(void* component) {
  Component* c = component;
  if (!exchanges(c)) return fmi2Error;
  c->instance->event_mode = true;
  return fmi2OK;
}

EXPORT fmi2Status fmi2NewDiscreteStates(void* component, fmi2EventInfo* info) {
  Component* c = component;
  if (!exchanges(c) || !info) return fmi2Error;
  if (!c->instance->event_mode) return refuse(c, "NewDiscreteStates belongs to event mode");
  InstanceEvent event;
  bool good = instance_exchange_event(c->instance, &event);
  bool next = isfinite(event.next);
  *info = (fmi2EventInfo){.terminateSimulation = event.stopped,
                          .valuesOfContinuousStatesChanged = event.changed,
                          .nextEventTimeDefined = next,
                          .nextEventTime = next ? event.next : 0.0};
  return result(good);
}

EXPORT fmi2Status fmi2EnterContinuousTimeMode(void* component) {
  Component* c = component;
  if (!exchanges(c)) return fmi2Error;
  c->instance->event_mode = false;
  return fmi2OK;
}

EXPORT fmi2Status fmi2CompletedIntegratorStep(void* component, fmi2Boolean no_set_state,
                                              fmi2Boolean* event, fmi2Boolean* terminate) {
  (void)no_set_state;
  Component* c = component;
  if (!exchanges(c) || !event || !terminate) return fmi2Error;
  bool wanted = false;
  bool good = instance_step_done(c->instance, &wanted);
  *event = wanted;
  *terminate = c->instance->phase == PHASE_STOPPED;
  return result(good);
}

EXPORT fmi2Status fmi2SetTime(void* component, double t) {
  Component* c = component;
  return result(exchanges(c) && instance_set_time(c->instance, t));
}

EXPORT fmi2Status fmi2SetContinuousStates(void* component, const double x[], size_t count) {
  Component* c = component;
  return result(exchanges(c) && instance_set_states(c->instance, x, count));
}

EXPORT fmi2Status fmi2GetContinuousStates(void* component, double x[], size_t count) {
  Component* c = component;
  return result(c && c->instance->exchange && instance_get_states(c->instance, x, count));
}

EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(void* component, double x[], size_t count) {
  Component* c = component;
  return result(c && instance_get_nominals(c->instance, x, count));
}

EXPORT fmi2Status fmi2GetDerivatives(void* component, double rates[], size_t count) {
  Component* c = component;
  if (!c || !c->instance->exchange) return refuse(c, "derivatives belong to model exchange");
  return status_of(instance_get_rates(c->instance, rates, count));
}

EXPORT fmi2Status fmi2GetEventIndicators(void* component, double z[], size_t count) {
  Component* c = component;
  if (!c || !c->instance->exchange) return refuse(c, "indicators belong to model exchange");
  return status_of(instance_get_indicators(c->instance, z, count));
}

// ---- steps --------------------------------------------------------------------------------------

EXPORT fmi2Status fmi2DoStep(void* component, double t, double h, fmi2Boolean no_set_state) {
  (void)no_set_state;
  Component* c = component;
  if (!c || !c->initialized || c->instance->exchange)
    return refuse(c, "DoStep comes after initialization, in co-simulation");
  if (!(h >= 0.0) || !isfinite(t + h)) return refuse(c, "the step must be a number from 0 on");
  InstanceStep step;
  if (c->terminated) return fmi2Discard;
  if (!instance_step(c->instance, t, t + h, false, &step)) return fmi2Error;
  c->terminated = step.stopped;
  return step.stopped && step.reached < t + h ? fmi2Discard : fmi2OK;
}

EXPORT fmi2Status fmi2CancelStep(void* c) {
  return refuse(c, "steps do not go on by themselves: there is nothing to cancel");
}

EXPORT fmi2Status fmi2GetStatus(void* c, fmi2StatusKind kind, fmi2Status* value) {
  (void)kind;
  (void)value;
  return refuse(c, "no step is pending");
}

EXPORT fmi2Status fmi2GetRealStatus(void* component, fmi2StatusKind kind, double* value) {
  Component* c = component;
  if (!c || kind != fmi2LastSuccessfulTime || !c->instance->sim) return refuse(c, "no such status");
  *value = slt_sim_time(c->instance->sim);
  return fmi2OK;
}

EXPORT fmi2Status fmi2GetBooleanStatus(void* component, fmi2StatusKind kind, fmi2Boolean* value) {
  Component* c = component;
  if (!c || kind != fmi2Terminated) return refuse(c, "no such status");
  *value = c->terminated;
  return fmi2OK;
}

EXPORT fmi2Status fmi2GetIntegerStatus(void* c, fmi2StatusKind kind, int* value) {
  (void)kind;
  (void)value;
  return refuse(c, "no such status");
}

EXPORT fmi2Status fmi2GetStringStatus(void* c, fmi2StatusKind kind, fmi2String* value) {
  (void)kind;
  (void)value;
  return refuse(c, "no such status");
}

EXPORT fmi2Status fmi2SetRealInputDerivatives(void* c, const fmi2ValueReference refs[],
                                              size_t count, const int orders[],
                                              const double values[]) {
  (void)refs;
  (void)orders;
  (void)values;
  return none_of(c, count, "derivatives of inputs");
}

EXPORT fmi2Status fmi2GetRealOutputDerivatives(void* c, const fmi2ValueReference refs[],
                                               size_t count, const int orders[], double values[]) {
  (void)refs;
  (void)orders;
  (void)values;
  return none_of(c, count, "derivatives of outputs");
}

EXPORT fmi2Status fmi2GetDirectionalDerivative(void* component, const fmi2ValueReference unknowns[],
                                               size_t count, const fmi2ValueReference knowns[],
                                               size_t known_count, const double seed[],
                                               double out[]) {
  Component* c = component;
  if (!c || !unknowns || !knowns || !seed || !out) return fmi2Error;
  return status_of(
      instance_direction(c->instance, unknowns, count, knowns, known_count, seed, out));
}

// ---- state --------------------------------------------------------------------------------------

EXPORT fmi2Status fmi2FreeFMUstate(void* component, void** state) {
  if (!component || !state) return fmi2Error;
  instance_state_free(state);
  return fmi2OK;
}

EXPORT fmi2Status fmi2GetFMUstate(void* component, void** state) {
  Component* c = component;
  return result(c && state && instance_state_get(c->instance, state));
}

EXPORT fmi2Status fmi2SetFMUstate(void* component, void* state) {
  Component* c = component;
  if (!c || !state) return fmi2Error;
  bool good = instance_state_set(c->instance, state);
  InstancePhase phase = c->instance->phase;
  c->initialized = phase != PHASE_CREATED && !c->instance->initializing;
  c->terminated = phase == PHASE_STOPPED;
  return result(good);
}

EXPORT fmi2Status fmi2SerializedFMUstateSize(void* component, void* state, size_t* size) {
  if (!component || !state || !size) return fmi2Error;
  *size = instance_state_size(state);
  return fmi2OK;
}

EXPORT fmi2Status fmi2SerializeFMUstate(void* component, void* state, char bytes[], size_t size) {
  return result(component && state && instance_state_write(state, bytes, size));
}

EXPORT fmi2Status fmi2DeSerializeFMUstate(void* component, const char bytes[], size_t size,
                                          void** state) {
  return result(component && bytes && state && instance_state_read(bytes, size, state));
}

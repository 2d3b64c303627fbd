// SPDX-License-Identifier: MIT
//
// An instance of an exported model: what both versions of the standard ask for, without their
// types. fmi2.c and fmi3.c translate.
#ifndef SALTUS_FMI_INSTANCE_H
#define SALTUS_FMI_INSTANCE_H

#include "variables.h"

typedef void InstanceLogFn(void* user, bool error, const char* message);

typedef enum InstancePhase {
  PHASE_CREATED,    // values may be given; nothing is computed yet
  PHASE_RUNNING,    // started
  PHASE_STOPPED,    // the model has ended the run
  PHASE_FAILED,     // it cannot go on
  PHASE_TERMINATED  // the importer has ended it
} InstancePhase;

typedef struct Instance {
  SltModel* model;
  SltSim* sim;  // NULL before the start
  FmuVariables variables;
  double* given;  // per variable: what the importer has set before the start, or to a parameter
  bool* has_given;
  InstancePhase phase;
  bool initializing;  // values set now act on the start
  bool events;        // the importer handles events itself
  bool before;        // stands at an event whose handling the importer has not begun
  bool event_mode;    // in the midst of an event
  bool exchange;      // model exchange: the importer integrates
  bool moved;         // ... and has set time or states since the run was told
  double t;           // the importer's point
  double* x;
  double* z;           // event indicators
  double start, rtol;  // NaN: of the model
  InstanceLogFn* log;
  void* log_user;
} Instance;

/// Read the model in the folder of resources. NULL with a message to `log`.
Instance* instance_create(const char* folder, const char* token, InstanceLogFn* log,
                          void* log_user);
/// The path of a "file:" address, as versions before 3 give it, or of a path; false if it is none.
bool instance_folder(const char* address, char* path, size_t size);
void instance_free(Instance* instance);
/// Back to the state after creation.
void instance_reset(Instance* instance);

/// Begin the run with the values that were given. May be called again while `initializing`.
bool instance_start(Instance* instance);
bool instance_get(Instance* instance, const uint32_t* references, size_t count, double* values);
bool instance_set(Instance* instance, uint32_t reference, double value);

/// How far a step has come.
typedef struct InstanceStep {
  double reached;
  bool event;    // at an event that the importer is to handle
  bool stopped;  // the model has ended the run
} InstanceStep;

/// Go on from the present, which the importer takes to be `from`, to `target`; with `early` to the
/// first event before it or at it.
bool instance_step(Instance* instance, double from, double target, bool early, InstanceStep* out);
/// Values after the event that the instance stands at, and after what was set there.
bool instance_update(Instance* instance);

// model exchange

typedef enum InstanceAnswer {
  ANSWER_GOOD,
  ANSWER_DISCARD,  // there is none at this point: the importer may try another one
  ANSWER_FAILED
} InstanceAnswer;

/// What an event iteration has come to.
typedef struct InstanceEvent {
  bool stopped;
  bool changed;  // continuous states have other values, or move on in another way
  double next;   // time event; infinite for none
} InstanceEvent;

/// The run is started: the importer integrates from here on.
bool instance_exchange_begin(Instance* instance);
bool instance_set_time(Instance* instance, double t);
bool instance_set_states(Instance* instance, const double* x, size_t count);
bool instance_get_states(Instance* instance, double* x, size_t count);
/// Magnitudes that the states have at the start; 1 where that is 0.
bool instance_get_nominals(Instance* instance, double* x, size_t count);
InstanceAnswer instance_get_rates(Instance* instance, double* rates, size_t count);
InstanceAnswer instance_get_indicators(Instance* instance, double* z, size_t count);
/// How unknowns (derivatives, outputs) change along knowns (continuous states, inputs).
InstanceAnswer instance_direction(Instance* instance, const uint32_t* unknowns,
                                  size_t unknown_count, const uint32_t* knowns, size_t known_count,
                                  const double* seed, double* out);
/// A step of the importer ends at its point; `event`: it is to enter event mode.
bool instance_step_done(Instance* instance, bool* event);
bool instance_exchange_event(Instance* instance, InstanceEvent* out);
/// Tell the run the importer's point, if that has changed.
bool instance_move(Instance* instance);

/// The whole state as bytes, for this or another instance of the same model.
bool instance_save(Instance* instance, char** bytes, size_t* size);
bool instance_restore(Instance* instance, const char* bytes, size_t size);

/// The same as the handles of both versions: what a state was saved in.
bool instance_state_get(Instance* instance, void** state);
bool instance_state_set(Instance* instance, const void* state);
void instance_state_free(void** state);
size_t instance_state_size(const void* state);
/// Into `size` bytes; false where they are too few.
bool instance_state_write(const void* state, void* bytes, size_t size);
bool instance_state_read(const void* bytes, size_t size, void** state);

/// The run has failed: its error to the importer; returns false.
bool instance_fail_run(Instance* instance);
/// A message to the importer; returns false.
bool instance_fail(Instance* instance, const char* format, ...);

#endif

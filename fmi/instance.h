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
  bool initializing;   // values set now act on the start
  bool events;         // the importer handles events itself
  bool before;         // stands at an event whose handling the importer has not begun
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
bool instance_get(Instance* instance, uint32_t reference, double* value);
bool instance_set(Instance* instance, uint32_t reference, double value);

/// How far a step has come.
typedef struct InstanceStep {
  double reached;
  bool event;    // at an event that the importer is to handle
  bool stopped;  // the model has ended the run
} InstanceStep;

/// Go on to `target`; with `early` to the first event before it or at it.
bool instance_step(Instance* instance, double target, bool early, InstanceStep* out);
/// Values after the event that the instance stands at, and after what was set there.
bool instance_update(Instance* instance);

/// The whole state as bytes, for this or another instance of the same model.
bool instance_save(Instance* instance, char** bytes, size_t* size);
bool instance_restore(Instance* instance, const char* bytes, size_t size);

/// A message to the importer; returns false.
bool instance_fail(Instance* instance, const char* format, ...);

#endif

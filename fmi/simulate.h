// SPDX-License-Identifier: MIT
//
// One run of a foreign FMU: model exchange is integrated here, co-simulation is asked step by step.
#ifndef SALTUS_FMI_SIMULATE_H
#define SALTUS_FMI_SIMULATE_H

#include "foreign.h"

typedef struct FmuSetting {
  const FmuItem* item;
  double value;
} FmuSetting;

/// Signals for inputs: rows in the order of time. Between rows numbers change straight; whole
/// numbers, truths and discrete inputs are held. Two rows of one time are a jump.
typedef struct FmuInputs {
  const double* time;
  const double* const* columns;  // one for each item
  const FmuItem* const* items;
  uint32_t row_count, count;
} FmuInputs;

typedef struct FmuRun {
  bool exchange;
  double start, stop, tolerance;
  double every;  // distance of rows, and of communication points
  const FmuSetting* settings;
  uint32_t setting_count;
  const FmuInputs* inputs;  // NULL: none
  bool early;               // only ask for what belongs to a later phase
  bool probe;               // look whether points and saved states mean what they should
  /// Receives each row's time; values are asked for there. False ends the run.
  bool (*on_row)(void* user, Foreign* foreign, double t);
  void* user;
} FmuRun;

typedef struct FmuSummary {
  double t;
  uint64_t steps, events;
  uint64_t stiff;     // steps that stability bounds
  uint64_t implicit;  // ... or would bound: those of an implicit method
  bool ended;         // by the FMU
  // event indicators of model exchange
  bool jumps;          // one of them changes sign without passing zero
  uint32_t jumping;    // that one
  double least, most;  // largest magnitudes among the indicators
  // what probing has found
  bool remembers;  // values at a point depend on what was looked at before
  bool early;      // what belongs to a later phase is done
  bool unsaid;     // states are others after an event that is said to have changed none
  bool slopes;     // directional derivatives are not those of the rates
  bool forgets;    // a state that is put back is not what was kept
} FmuSummary;

/// False with the reason in `foreign->problem`.
bool fmu_simulate(Foreign* foreign, const FmuRun* run, FmuSummary* out);

#endif

// SPDX-License-Identifier: MIT
//
// Derivatives of measures: what the ways to find them share.
#ifndef SALTUS_EXPERIMENT_SENS_H
#define SALTUS_EXPERIMENT_SENS_H

#include "experiment/measure.h"

#define SENS_SEARCH 12  // distances tried, each a quarter of the one before
#define SENS_PROBES 256

/// Runs at one distance from the parameter, below and above.
typedef struct Probe {
  double h;
  bool made[2];
  SltStatus status[2];
  double* values[2];
  double* slopes[2];  // of the measures by the parameter; NULL: not asked for
  Track track[2];
} Probe;

typedef struct Sens {
  const SltModel* model;
  const SltMeasures* measures;
  const SltSensOptions* options;
  SltSimOptions sim;
  double t_end;
  Parameter* parameters;
  double* at;
  bool* given;  // by the caller: to be set in every run
  uint32_t count;
  Probe nominal;       // its side 0; `slopes` has a row of all parameters for each measure
  double* sizes;       // ... and how large what a measure is made of has been
  const char* gap;     // what it did that is not differentiated
  bool stiff;          // methods of high order take too many steps
  SltProblem failure;  // of the run itself
  double* direction;   // backwards: in which all parameters move together; else NULL
  // of the present parameter
  uint32_t present;
  double scale;
  Probe probes[SENS_PROBES];
  uint32_t probe_count;
  double changes_at[2];
} Sens;

/// The runs at a distance, made when they are first asked for.
SltStatus sens_probe(Sens* s, double h, int side, Probe** out);
/// ... with derivatives.
SltStatus sens_slope_probe(Sens* s, double h, int side, Probe** out);
/// What the events were, as far as they came before the measure was taken; 0: it has no value.
uint64_t sens_signature(const Sens* s, const Probe* probe, int side, uint32_t measure);

/// Derivative, sides, error and verdict.
SltStatus sens_by_differences(Sens* s, uint32_t measure, SltDerivative* out);
/// The same from derivatives along the runs, `slope` the one at the parameter itself; `found`
/// false: they are not known, or not believed.
SltStatus sens_along(Sens* s, uint32_t measure, double slope, SltDerivative* out, bool* found);

#endif

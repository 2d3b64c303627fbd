// SPDX-License-Identifier: MIT
#ifndef SALTUS_EXPERIMENT_DESIGN_H
#define SALTUS_EXPERIMENT_DESIGN_H

#include "experiment/experiment.h"

#define DESIGN_AXES        64
#define DESIGN_SOBOL_MAX   21
#define DESIGN_MEMBERS_MAX UINT64_C(1000000000000000)

typedef enum Spread {
  SPREAD_LIST,    // `values`
  SPREAD_RANGE,   // from a to b
  SPREAD_LOG,     // the same in equal ratios
  SPREAD_NORMAL,  // mean a, deviation b
  SPREAD_LOGNORMAL,
  SPREAD_TRIANGULAR  // a, b, c
} Spread;

/// A parameter and the values it takes.
typedef struct DesignAxis {
  Parameter parameter;
  Spread spread;
  double a, b, c;
  uint64_t count;  // of values; 0: a continuous distribution
  double* values;
  char* file;  // they were read from; NULL: none
} DesignAxis;

struct SltDesign {
  const SltModel* model;
  DesignAxis axes[DESIGN_AXES];
  uint32_t count;
  SltSampling sampling;
  uint64_t seed;
  uint64_t members;
  bool correlated;
  double correlation[DESIGN_AXES][DESIGN_AXES];  // below the diagonal
  double factor[DESIGN_AXES][DESIGN_AXES];       // Cholesky's, of it
};

#endif

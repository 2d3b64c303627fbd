// SPDX-License-Identifier: MIT
#ifndef SALTUS_EXPERIMENT_DESIGN_H
#define SALTUS_EXPERIMENT_DESIGN_H

#include "experiment/experiment.h"

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
  DesignAxis* axes;
  uint32_t count;
  SltSampling sampling;
  uint64_t seed;
  uint64_t members;
  bool correlated;
  // rows up to the diagonal, one behind the other; NULL as long as nothing is correlated
  double* correlation;
  double* factor;   // Cholesky's, of it
  size_t triangle;  // numbers in each of them
};

/// Where the rows of a triangle up to its diagonal have row i, column j.
static inline size_t design_place(uint32_t i, uint32_t j) {
  return (size_t)i * (i + 1) / 2 + j;
}

/// Cholesky's factor of the correlations of all parameters.
/// @return SLT_OK, SLT_ERR_ARGUMENT (no numbers can have them), SLT_ERR_NOMEM.
SltStatus design_factorise(SltDesign* design);
/// One parameter of a member of a grid.
double design_grid_value(const SltDesign* design, uint64_t member, uint32_t axis);

#endif

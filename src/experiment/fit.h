// SPDX-License-Identifier: MIT
#ifndef SALTUS_EXPERIMENT_FIT_H
#define SALTUS_EXPERIMENT_FIT_H

#include "experiment/experiment.h"

#define FIT_PARAMETERS 32

/// A column of the data and what of the model it is compared with.
typedef struct FitColumn {
  uint32_t column;
  SltQuantity quantity;
  char* automaton;    // of a column of entry times; NULL: a quantity
  const char* state;  // in the same block
  double weight;
} FitColumn;

typedef struct FitSet {
  const SltFitData* data;
  FitColumn* columns;
  uint32_t column_count;
  uint32_t time;      // number of the column
  uint64_t residual;  // number of its first one
  double t_start;     // of the run
} FitSet;

typedef struct Fit {
  const SltModel* model;
  const SltFitOptions* options;
  SltSimOptions sim;
  FitSet* sets;
  uint32_t set_count;
  Parameter* parameters;
  SltFitParameter* out;
  uint32_t n;
  bool late;          // data begin after the end of the model's experiment
  uint64_t left_out;  // numbers of the data before the run, or at jumps
  uint64_t m;
  uint32_t runs;
  SltProblem failure;  // of the first run that failed
} Fit;

/// Residuals of all data with the parameters p; a negative status where a run fails. `jacobian`:
/// with their derivatives, column by column, along the runs, or NULL; SLT_ERR_UNSUPPORTED where
/// they do something that is not differentiated.
SltStatus fit_residuals(Fit* fit, const double* p, double* r, double* jacobian);
/// Find the columns of the data in the model, and count the residuals.
SltStatus fit_prepare(Fit* fit, SltProblem* problem);
void fit_clear(Fit* fit);

/// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations.
void symmetric_eigen(uint32_t n, double* a, double* values, double* vectors);
/// Quantile of Student's distribution for a 95 % interval.
double student_95(uint64_t freedom);

#endif

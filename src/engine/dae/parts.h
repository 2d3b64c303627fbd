// SPDX-License-Identifier: MIT
//
// Shared by the files about modes with constraints or blocks. They work on the *quantities* of a
// mode, values and derivatives of its variables, and on *rows*, its equations differentiated so and
// so many times; ModelImplicit.system computes the rows and their Jacobian from the quantities.
#ifndef SALTUS_ENGINE_DAE_PARTS_H
#define SALTUS_ENGINE_DAE_PARTS_H

#include "engine/run/run.h"

/// Normal equations with these entries (a program's outputs), kept in `normal` once they are made.
SltStatus dae_normal(EngSim* sim, const ModelEntry* entries, uint32_t count, uint32_t rows,
                     uint32_t columns, NumNormal** normal);
/// Those of the present mode.
EngDaeNormals* dae_normals(EngSim* sim);

/// The next piece of the work space.
double* dae_take(double** at, size_t count);

/// Values of all quantities; where the environment has none, the guess.
void dae_gather(const EngSim* sim, const ModelImplicit* im, double* q);
/// Into the environment and the state vector; what is solved for only with `tops`.
void dae_scatter(EngSim* sim, const ModelImplicit* im, const double* q, bool tops);
void dae_run_system(EngSim* sim, const ModelImplicit* im, const double* q, double* out);

// ---- scale.c ------------------------------------------------------------------------------------

/// Rows of a program: residuals are its first outputs, slopes those that the entries name.
typedef struct DaeRows {
  const ModelEntry* entries;
  uint32_t entry_count, row_count, column_count;
  bool homogeneous;  // no residuals
} DaeRows;

/// Give unknown scales (0) those that the rows tell of; none stays unknown. `row` and `found` are
/// work space, per row and column.
void dae_complete_scales(const DaeRows* rows, const double* out, double* row, double* found,
                         double* scale);
/// Scales of all quantities of the mode, at these values and outputs of its system.
void dae_scales(EngSim* sim, const ModelImplicit* im, const double* value, const double* out,
                double* row, double* found, double* scale);
/// How far a row is from holding, by the size of its terms.
double dae_row_distance(double residual, double size);

// ---- project.c ----------------------------------------------------------------------------------

#define DAE_TINY     1e-14  // distance from the constraints, relative: nothing is to be done
#define DAE_ROUNDING (8.0 * DAE_TINY)  // ... where a mode is entered
#define DAE_CLOSE    1e-10             // ... from here on steps go on while they help

/// Distance to the constraints of the mode with the values in sim->x, relative.
double dae_distance(EngSim* sim);
/// What an impulsive reinitialisation has left: small differences of lower levels are projected
/// away, large ones are an error.
SltStatus dae_close_rest(EngSim* sim);

// ---- initialise.c -------------------------------------------------------------------------------

size_t dae_initialise_size(const ModelImplicit* im);
/// Values that fulfil all equations, from the initial values (at the start) or from what the
/// actions of the candidate set and guessed.
SltStatus dae_initialise(EngSim* sim);
/// What is solved for from the states as they are, by all means; false when that fails.
bool dae_solve_tops(EngSim* sim);
/// The values of what is solved for that come closest to a solution: residuals of all rows, and the
/// quantities. Both live in the work space. False when there is no room to look for them.
bool dae_nearest(EngSim* sim, const double** residual, const double** value);
/// Whether an initial value of the model fixes this quantity; where, if `line` is not NULL.
bool dae_is_fixed_start(const EngSim* sim, const ModelQuantity* quantity, uint32_t* line);

// ---- impulse.c ----------------------------------------------------------------------------------

size_t dae_reinitialise_size(const ModelImplicit* im);
/// The equations integrated over the instant: what may jump jumps, the rest becomes pulses.
/// `distance`: how far the constraints are from holding before.
SltStatus dae_reinitialise(EngSim* sim, double distance);
/// Where no jump of velocities reaches the constraints: guards on forces see the signs of the
/// impulses that would. (A table that is taken away would have to pull what lies on it.)
void dae_pull_apart(EngSim* sim);

// ---- complement.c -------------------------------------------------------------------------------

/// Relations of complementary states on what equations compute: states that hold are searched for,
/// so there is no motion along their boundaries.
void dae_release_complementary(EngSim* sim);
/// At the end of a trial: relations that did not stay at their boundary are followed after all.
void dae_check_constant(EngSim* sim);

// ---- fail.c -------------------------------------------------------------------------------------

/// Values contradict the rows with the largest distances. `residual`: of the values with which the
/// mode was entered.
SltStatus dae_fail_rows(EngSim* sim, const double* distance, const double* residual,
                        uint32_t row_count);
/// The motion cannot be brought back to its constraints; residuals at the end of the last step.
SltStatus dae_fail_drift(EngSim* sim, const double* residual);
/// The Jacobian of the mode does not determine a quantity.
SltStatus dae_fail_singular(EngSim* sim, uint32_t quantity);

#endif

// SPDX-License-Identifier: MIT
//
// Inside `model` only: units in which the rows and columns of a matrix can be compared.
#ifndef SALTUS_MODEL_SOLVE_BALANCE_H
#define SALTUS_MODEL_SOLVE_BALANCE_H

#include "model/model.h"

/// Factors, powers of two, by which the coefficients of a block come as close to 1 as may be; they
/// follow any change of units of equations and unknowns. Coefficients that are 0 do not count. What
/// stands in the place of equations in another state (ModelSolve.relax_count) counts as further
/// rows, with factors behind those of the equations. False without memory, or where a coefficient
/// is not a number.
bool model_balance(const ModelSolve* solve, const double* regs, double* row, double* column);

#endif

// SPDX-License-Identifier: MIT
//
// Inside `model` only: sparse elimination in large blocks.
#ifndef SALTUS_MODEL_SOLVE_SPARSE_H
#define SALTUS_MODEL_SOLVE_SPARSE_H

#include "model/model.h"

/// Factors of the block's matrix in the order that was chosen when it was built, in `work`
/// (model_sparse_room numbers). False when a pivot is too small beside its row: nothing is said
/// about the matrix then. `scale` receives the largest entry of each row.
bool model_sparse_factor(const ModelSolve* solve, const double* regs, double* scale, double* work);
/// step := -J^-1 residual
void model_sparse_solve(const ModelSolve* solve, const double* regs, const double* work,
                        double* step);

/// The same with rows exchanged as the numbers want it, in the given units of equations and
/// unknowns (NULL: as they are); takes memory. NULL when the matrix is singular or memory has run
/// out.
typedef struct ModelPivoted ModelPivoted;
ModelPivoted* model_pivoted_create(const ModelSolve* solve, const double* regs, const double* row,
                                   const double* column, double* scale);
/// The step in these units.
void model_pivoted_solve(ModelPivoted* factors, const ModelSolve* solve, const double* regs,
                         const double* scale, double* step);
void model_pivoted_free(ModelPivoted* factors);

#endif

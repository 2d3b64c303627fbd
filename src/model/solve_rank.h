// SPDX-License-Identifier: MIT
//
// Inside `model` only: systems without full rank.
#ifndef SALTUS_MODEL_SOLVE_RANK_H
#define SALTUS_MODEL_SOLVE_RANK_H

#include "model/model.h"

#define MODEL_RANK_NONE UINT32_MAX

/// The smallest solution of a x = b (n rows of n, both overwritten) into x. Returns the rank, or
/// MODEL_RANK_NONE when the equations contradict each other: those beyond the rank may be off by
/// rounding relative to `size`, the size of b. `order` is work space for n numbers.
uint32_t model_rank_solve(uint32_t n, double* a, double* b, double size, double* order, double* x);

#endif

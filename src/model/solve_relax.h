// SPDX-License-Identifier: MIT
//
// Inside `model` only: blocks whose equations may lack rank or contradict each other.
#ifndef SALTUS_MODEL_SOLVE_RELAX_H
#define SALTUS_MODEL_SOLVE_RELAX_H

#include "model/model.h"

/// As model_solve() for a block with a relaxation; its work space is model_relax_room registers.
ModelSolved model_solve_relaxed(const ModelSolve* solve, double* regs, ModelBody* run, void* user);

static inline size_t model_relax_room(uint32_t count) {
  return (MODEL_RELAX_SCALE + 1) * (size_t)count;
}

#endif

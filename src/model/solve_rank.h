// SPDX-License-Identifier: MIT
//
// Inside `model` only: systems without full rank.
#ifndef SALTUS_MODEL_SOLVE_RANK_H
#define SALTUS_MODEL_SOLVE_RANK_H

#include "model/model.h"

#endif

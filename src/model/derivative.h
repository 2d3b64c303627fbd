// SPDX-License-Identifier: MIT
//
// What the two ways to differentiate a tape share: forwards (tangent.c) and backwards (adjoint.c).
#ifndef SALTUS_MODEL_DERIVATIVE_H
#define SALTUS_MODEL_DERIVATIVE_H

#include "model/model.h"
#include "model/operations.h"

/// The value of an operation on numbers; false for those that are none.
bool model_op_value(uint32_t op, double a, double b, double* value);
/// Derivatives of an operation with respect to its operands; those of steps are 0.
void model_op_slopes(uint32_t op, double a, double b, double self, double* da, double* db);
/// x := a^-1 x for n rows of a and n rows of `count`, by elimination with row pivoting.
bool model_eliminate(uint32_t n, uint32_t count, double* a, double* x);

#endif

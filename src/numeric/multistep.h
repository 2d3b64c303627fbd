// SPDX-License-Identifier: MIT
//
// Between the stepper (multistep.c) and the library that makes the steps (sundials.c).
#ifndef SALTUS_NUMERIC_MULTISTEP_H
#define SALTUS_NUMERIC_MULTISTEP_H

#include "numeric/internal.h"

typedef enum NumFamily { NUM_FAMILY_BDF, NUM_FAMILY_ADAMS, NUM_FAMILY_IDA } NumFamily;

/// Highest orders: what the dense output can hold.
#define NUM_BDF_ORDER   5
#define NUM_ADAMS_ORDER 7

/// What a step came to.
typedef struct NumAdvance {
  double t;        // its end
  double h_next;   // what the method wants to do next
  uint32_t order;  // of the polynomial behind it
} NumAdvance;

/// Forget the past and begin at the committed point of `s`, towards `t_bound`.
SltStatus num_multistep_begin(NumMultistep* m, NumStepper* s, double t_bound);
/// One step, not beyond `t_bound`; the state at its end goes to `x`.
SltStatus num_multistep_advance(NumMultistep* m, NumStepper* s, double t_bound, double* x,
                                NumAdvance* out);
/// k-th derivative of the polynomial of the last step at its end, of the states.
SltStatus num_multistep_derivative(NumMultistep* m, double t, uint32_t k, double* out);

#endif

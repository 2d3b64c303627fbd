// SPDX-License-Identifier: MIT
//
// sensitivity: how a run depends on its parameters, to first order, exact through events.
//
// Along with the run the variational equations s' = f_x s + f_p are solved on its dense output. At
// an instant everything is differentiated along the moving time of the event: with the derivative
// dtau of that time, from g(tau, x(tau)) = 0, the total derivative of what is there before is
// s + f dtau; assignments are differentiated as the run evaluates them; and behind it the motion
// takes s = total - f dtau with the flow f of the new mode (the saltation of the sensitivities).
//
//   sensitivity.c  the start, instants, what is read from outside
//   start.c        initial values that constraints determine
//   variation.c    the variational equations along a stretch of motion
//   project.c      what keeps the constraints of the states
//   history.c         delayed variables
//   adjoint.c      the way back, from what was asked to all parameters
//   linear.c       the equations of a mode to first order
#ifndef SALTUS_SENSITIVITY_H
#define SALTUS_SENSITIVITY_H

#include "engine/engine.h"

/// A parameter: a constant, or an initial value.
typedef struct SensitivityParameter {
  bool initial;
  uint32_t index;  // of the constant, or of the variable...
  uint32_t order;  // ...and the order of its derivative
} SensitivityParameter;

typedef struct Sensitivity Sensitivity;

/// Follow a run that is not started yet. `backwards`: nothing is known along the run; what is
/// marked can be differentiated by all parameters when it is over.
SltStatus sensitivity_create(EngSim* sim, const SensitivityParameter* parameters, uint32_t count,
                             bool backwards, Sensitivity** out);
void sensitivity_free(Sensitivity* s);

/// The motion from where it was followed to, up to `until`, which is at most the end of the
/// segment: eng_ahead() was called.
SltStatus sensitivity_stretch(Sensitivity* s, double until);

/// Points of the last stretch at which integrals over it are taken: the sum of weight times value.
#define SENSITIVITY_NODES 6
double sensitivity_node(const Sensitivity* s, uint32_t node, double* weight);

/// Which values are differentiated.
typedef enum SensitivityWhen {
  SENSITIVITY_NOW,     // at the present time, which stands: after eng_look() inside the stretch
  SENSITIVITY_BEFORE,  // just before the last instant, along its moving time
  SENSITIVITY_AFTER    // ... and just after it
} SensitivityWhen;

/// Derivatives of a variable or one of its derivatives in time, of a constant, of a term; false:
/// they are not known.
bool sensitivity_of_variable(Sensitivity* s, SensitivityWhen when, uint32_t var, uint32_t order,
                             double* out);
bool sensitivity_of_constant(const Sensitivity* s, uint32_t param, double* out);
bool sensitivity_of_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term, double* out);
/// The same of a run that is followed backwards: marks are numbered from 0 on.
bool sensitivity_mark_variable(Sensitivity* s, SensitivityWhen when, uint32_t var, uint32_t order,
                               uint32_t* mark);
bool sensitivity_mark_constant(Sensitivity* s, uint32_t param, uint32_t* mark);
bool sensitivity_mark_term(Sensitivity* s, SensitivityWhen when, const ModelTerm* term,
                           uint32_t* mark);
bool sensitivity_mark_time(Sensitivity* s, uint32_t* mark);
uint32_t sensitivity_mark_count(const Sensitivity* s);
/// Derivatives, by all parameters, of the sum of weights times what was marked; false: they are not
/// known.
bool sensitivity_gradient(Sensitivity* s, const double* weights, double* gradient);
/// ... and of the time of the last instant.
const double* sensitivity_of_time(const Sensitivity* s);

/// What the run did that is not differentiated, from which on nothing is known; NULL: nothing.
const char* sensitivity_gap(const Sensitivity* s);

// ---- the equations of a mode
// ------------------------------------------------------------------------

/// What is looked at: a term, or a place of the environment.
typedef struct SensitivityOutput {
  const ModelTerm* term;  // NULL: the place
  uint32_t place;
} SensitivityOutput;

/// Memory of the caller: rows have the states first and the inputs behind them.
typedef struct SensitivityLinear {
  double *x, *f, *y;
  double *f_rows, *y_rows;
  double *held, *held_rows;  // what the motion keeps at 0: constraints, or indicators of surfaces
  uint32_t crossed;  // relations of the mode that do not hold there as they do at the present point
} SensitivityLinear;

/// How many numbers the present motion keeps at 0.
uint32_t sensitivity_held_count(EngSim* sim);
/// At the present time and states, or others. Inputs are constants, or (`initial`) variables that
/// do not flow; SLT_ERR_ARGUMENT where one moves what is held. Along surfaces the derivatives are
/// differences of fourth order of the flow, and outputs are states. SLT_ERR_UNSUPPORTED with closed
/// contacts or delays, and of other outputs there.
SltStatus sensitivity_linearize(EngSim* sim, const double* x, const SensitivityParameter* inputs,
                                uint32_t input_count, const SensitivityOutput* outputs,
                                uint32_t output_count, SensitivityLinear* out);

#endif

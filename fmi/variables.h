// SPDX-License-Identifier: MIT
//
// The variables of a model as its FMU numbers them: the one list that the description is written
// from and that the exchanged library answers by.
#ifndef SALTUS_FMI_VARIABLES_H
#define SALTUS_FMI_VARIABLES_H

#include <saltus/saltus.h>

typedef enum FmuRole {
  FMU_TIME,       // value reference 0
  FMU_INPUT,      // nobody in the model writes it
  FMU_OUTPUT,     // computed or kept by the model
  FMU_PARAMETER,  // a constant
  FMU_FOLLOWING,  // a constant that is computed from others
  FMU_SHAPE,      // a constant that shapes the model: fixed in the FMU
  FMU_STATE,      // the state of an automaton: an enumeration, its first state is 1
  FMU_RATE,       // a derivative of a continuous state
  FMU_HIDDEN,     // a continuous state of what some modes compute; 0 while they do
  FMU_INDICATOR   // an event indicator
} FmuRole;

/// Whether an importer may give a variable its initial value.
typedef enum FmuInitial {
  FMU_CALCULATED,  // no: it follows from others
  FMU_APPROX,      // the model makes another value of it at the start
  FMU_EXACT
} FmuInitial;

typedef struct FmuVariable {
  FmuRole role;
  SltQuantity quantity;
  char* name;        // in the model
  const char* unit;  // lives as long as the model
  bool discrete;     // changes at events only
  bool tunable;      // a parameter that may be changed during a run
  uint32_t states;
  uint32_t rate;       // reference of the derivative of a continuous state; 0: it is none
  uint32_t rate_of;    // of a derivative: reference of what it is the derivative of
  FmuInitial initial;  // of what is neither a constant nor an input
  bool by_constants;   // its initial value follows from constants alone
  double start;
} FmuVariable;

/// Its index is the value reference.
typedef struct FmuVariables {
  FmuVariable* items;
  uint32_t count, capacity;
  double start, end, every, rtol;  // of the experiment; NaN for none
  // model exchange
  bool exchangeable;
  uint32_t indicator;  // reference of the first event indicator; the others follow
  uint32_t indicator_count;
  uint32_t* states;     // references of the continuous states...
  SltQuantity* moving;  // ...and what they are
  uint32_t state_count;
} FmuVariables;

/// List the variables of a model. Start values are those of a run that is started and thrown away;
/// `problem` receives why there is none, free() it.
bool fmu_variables_init(FmuVariables* variables, const SltModel* model, char** problem);
void fmu_variables_free(FmuVariables* variables);

/// The name that the model has for a variable or one of its derivatives.
const char* fmu_model_name(const FmuVariable* variable);

/// Text that identifies model and version: 32 digits and a NUL.
void fmu_token(const char* text, size_t length, uint32_t version, char token[33]);

#endif

// SPDX-License-Identifier: MIT
//
// A foreign FMU at work: one instance of either interface and version, behind one set of functions.
// Its code is not ours: to be used in a child process only.
#ifndef SALTUS_FMI_FOREIGN_H
#define SALTUS_FMI_FOREIGN_H

#include "read.h"

typedef enum ForeignStatus {
  FOREIGN_OK,
  FOREIGN_ENDED,  // the FMU has ended the simulation
  FOREIGN_FAILED  // `problem` says what
} ForeignStatus;

typedef void (*ForeignCall)(void);  // a function of the FMU, of any type

/// A function of the FMU that was looked up before.
typedef struct ForeignFunction {
  char name[36];
  ForeignCall symbol;
} ForeignFunction;

#define FOREIGN_FUNCTIONS 64

/// What an array was set to: its elements are set together.
typedef struct ForeignArray {
  const FmuItem* first;
  double* values;
  struct ForeignArray* next;
} ForeignArray;

typedef struct Foreign {
  const FmuDescription* d;
  const char* folder;
  bool exchange;  // model exchange, else co-simulation
  void* library;
  void* instance;
  uint32_t states, indicators;
  bool events;        // co-simulation of version 3 with event mode
  double next_event;  // time event; infinite for none
  uint32_t messages;  // written so far
  bool quiet;         // refusals are asked for: they need not be told
  bool discarded;     // the last call was; it has failed all the same
  bool returns;       // states are put back: steps may be made again
  uint32_t function_count;
  ForeignFunction functions[FOREIGN_FUNCTIONS];
  ForeignArray* arrays;
  void* raw;  // values of one variable as the FMU has them
  size_t raw_size;
  char problem[1000];
} Foreign;

/// Load the library and make an instance.
bool foreign_open(Foreign* foreign, const FmuDescription* d, const char* folder, bool exchange);
void foreign_close(Foreign* foreign);

/// From the start to where steps begin: start values are set by `prepare` in between.
bool foreign_initialize(Foreign* foreign, double start, double stop, double tolerance,
                        bool (*prepare)(Foreign* foreign, void* user), void* user);
/// Values of several variables; NaN for what is no single number.
bool foreign_get(Foreign* foreign, const FmuItem* const* items, uint32_t count, double* values);
/// Set variables, those of one array in one call. `held`: those too that may be set at the start
/// and in events alone.
bool foreign_set(Foreign* foreign, const FmuItem* const* items, const double* values,
                 uint32_t count, bool held);

// model exchange
/// Rates of the states, then outputs, along one input or state.
bool foreign_direction(Foreign* foreign, const FmuItem* by, const FmuItem* const* outputs,
                       uint32_t output_count, double* out);
/// Differences that directional derivatives are held against move arguments by this part of their
/// size, and by FAR times as much.
#define FOREIGN_NEAR 1.5e-8
#define FOREIGN_FAR  64.0
/// Whether a directional derivative is not what two changes of the rate show, near and far.
bool foreign_belied(double said, double rate, const double change[2], const double step[2]);
bool foreign_set_point(Foreign* foreign, double t, const double* x);
bool foreign_states(Foreign* foreign, double* x);
/// Where the FMU discards the point they are NaN.
bool foreign_derivatives(Foreign* foreign, double* rates);
bool foreign_indicators(Foreign* foreign, double* z);
/// After a step of the integrator: whether the FMU wants an event.
ForeignStatus foreign_step_done(Foreign* foreign, bool* event);
bool foreign_enter_event(Foreign* foreign);
/// The event iteration, and back to where time goes on. `changed`: the states have other values.
ForeignStatus foreign_event(Foreign* foreign, bool* changed);

/// Co-simulation: a step; `reached` may be less than t + h.
ForeignStatus foreign_step(Foreign* foreign, double t, double h, double* reached, bool* event);

/// The whole state kept and put back.
bool foreign_keep(Foreign* foreign, void** state);
bool foreign_put_back(Foreign* foreign, void* state);
void foreign_drop(Foreign* foreign, void** state);

#endif

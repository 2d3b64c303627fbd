// SPDX-License-Identifier: MIT
//
// A block and its process: numbers lie in memory that both see, a byte through a pipe hands over.
#ifndef SALTUS_FMI_BLOCK_WIRE_H
#define SALTUS_FMI_BLOCK_WIRE_H

#include "foreign.h"

#include <sys/types.h>

#define BLOCK_SLOTS 4u  // states of the FMU that are kept

typedef enum BlockOp {
  // start, tolerance, parameters, start values, whether inputs are told, inputs -> states, time
  // event, outputs, indicators
  BLOCK_INIT,
  BLOCK_POINT,      // time, inputs, states -> rates, indicators, outputs
  BLOCK_DIRECTION,  // time, inputs, states, which of them -> rates and outputs along it
  BLOCK_EVENT,      // time, inputs, states, wish -> states, time event, whether ended, domains
  BLOCK_DONE,       // -> whether an event is wanted
  BLOCK_STEP,       // time, length -> time reached, whether there is an event, whether it has ended
  BLOCK_ARRIVE,     // event, BLOCK_OVER or neither; inputs -> whether it has ended, outputs
  BLOCK_KEEP,       // slot
  BLOCK_BACK,       // slot
  BLOCK_QUIT
} BlockOp;

#define BLOCK_OVER 2.0  // it has ended the simulation

typedef struct Wire {
  BlockOp op;
  uint64_t ticket;  // of the question; the answer is the same number
  bool good;
  char problem[1000];
  double numbers[];
} Wire;

/// What of an FMU a model sees, in the order of arguments and answers.
typedef struct BlockLayout {
  bool exchange;
  const FmuItem** parameters;
  const FmuItem** starts;  // variables that may be given another start value
  const FmuItem** inputs;
  const FmuItem** outputs;
  const FmuItem** states;
  uint32_t parameter_count, start_count, input_count, output_count, state_count, indicator_count;
} BlockLayout;

/// Numbers that a question or an answer may have.
static inline size_t block_numbers(const BlockLayout* l) {
  return 16 + (size_t)l->parameter_count + l->start_count + 2 * (size_t)l->input_count +
         2 * (size_t)l->state_count + l->output_count + l->indicator_count;
}

/// The process: answers until it is told to quit or nobody is there. Never returns.
void block_process(const FmuDescription* d, const char* folder, const BlockLayout* layout,
                   Wire* wire, pid_t owner, int from, int to);

#endif

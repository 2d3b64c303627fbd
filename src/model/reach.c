// SPDX-License-Identifier: MIT
//
// What follows from what: states that are marked may have any value, and what is known less well
// then than without them depends on them. Enclosures over all values cannot overlook anything, as
// values at a few points could.
#include "model/model.h"

#include <math.h>
#include <string.h>

size_t model_reach_room(const ModelProgram* rhs, const ModelProgram* out) {
  size_t duals = model_program_spread_room(rhs) + model_program_spread_room(out);
  return rhs->state_count + 2 * ((size_t)rhs->output_count + out->output_count) +
         duals * (sizeof(ModelDual) / sizeof(double));
}

/// Whether each output depends on the marked states.
static void find_dependent(const ModelProgram* program, const ModelContext* context,
                           const double* env, double t, const double* x, const double* marks,
                           double* depends, double* room) {
  double* none = room;
  double* still = none + program->state_count;
  ModelDual* duals = (ModelDual*)(still + program->output_count);
  ModelInterval time = model_interval_point(t);
  memset(none, 0, program->state_count * sizeof *none);
  model_program_spread(program, context, env, time, x, none, 0.0, still, duals);
  model_program_spread(program, context, env, time, x, marks, 0.0, depends, duals);
  for (uint32_t i = 0; i < program->output_count; i++) {
    depends[i] = depends[i] <= still[i] ? 0.0 : HUGE_VAL;
  }
}

void model_reach(const ModelProgram* rhs, const ModelProgram* out, const ModelContext* context,
                 const double* env, double t, const double* x, double* marks, double* depends,
                 double* room) {
  double* rates = room;
  bool more = true;
  while (more) {
    find_dependent(rhs, context, env, t, x, marks, rates, rates + rhs->output_count);
    more = false;
    for (uint32_t i = 0; i < rhs->state_count; i++) {
      if (marks[i] != 0.0 || rates[i] == 0.0) continue;
      marks[i] = HUGE_VAL;
      more = true;
    }
  }
  find_dependent(out, context, env, t, x, marks, depends, room);
}

// SPDX-License-Identifier: MIT
//
// Where a run spends its work: relations that had to be followed closely, and states whose error
// decided about the length of the steps. Counted only when somebody asks.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

SltStatus eng_costs_begin(EngSim* sim) {
  EngCosts* costs = &sim->costs;
  size_t relations = (size_t)sim->model->atom_count + 1;
  size_t places = (size_t)sim->model->env_count + 1;
  SLT_TRY(ENG_GROW(sim, costs->relations, relations));
  memset(costs->relations, 0, relations * sizeof *costs->relations);
  SLT_TRY(ENG_GROW(sim, costs->states, places));
  memset(costs->states, 0, places * sizeof *costs->states);
  costs->on = true;
  return SLT_OK;
}

void eng_costs_step(EngSim* sim) {
  const NumStepper* s = sim->stepper;
  const ModelMode* mode = sim->core.mode;
  if (!s->method->adaptive || s->method->multistep || s->n != mode->state_count) return;
  size_t largest = 0;
  for (size_t i = 1; i < s->n; i++) {
    if (fabs(s->scaled[i]) > fabs(s->scaled[largest])) largest = i;
  }
  if (s->n > 0 && fabs(s->scaled[largest]) > 0.0) sim->costs.states[mode->state_env[largest]]++;
}

uint64_t eng_cost_of_relation(const EngSim* sim, uint32_t atom) {
  return sim->costs.on ? sim->costs.relations[atom] : 0;
}

uint64_t eng_cost_of_variable(const EngSim* sim, uint32_t var) {
  const ModelVar* v = &sim->model->vars[var];
  uint64_t count = 0;
  for (uint32_t k = 0; sim->costs.on && k < v->slots; k++)
    count += sim->costs.states[v->env + k];
  return count;
}

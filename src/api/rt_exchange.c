// SPDX-License-Identifier: MIT
//
// Runs that their caller integrates.
#include "api/handles.h"

#include <math.h>

struct SltExchange {
  SltQuantity* states;
  uint32_t count;
  uint8_t* orders;  // per variable: how many of its orders are among them
  uint32_t var_count;
};

void exchange_free(SltSim* sim) {
  struct SltExchange* exchange = sim->exchange;
  if (!exchange) return;
  SltAllocator a = sim->allocator;
  base_free(&a, exchange->states, exchange->count * sizeof *exchange->states);
  base_free(&a, exchange->orders, exchange->var_count);
  base_free(&a, exchange, sizeof *exchange);
  sim->exchange = NULL;
}

SltStatus slt_sim_exchange_states(const SltSim* sim, SltQuantity* out, uint32_t capacity,
                                  uint32_t* count) {
  if (!sim || !count || !eng_is_started(sim->engine)) return SLT_ERR_ARGUMENT;
  const ModelMode* mode = eng_mode(sim->engine);
  *count = 0;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    uint32_t orders = sim->model->vars[v].max_order;
    bool moves = mode->vars[v].role == MODEL_ROLE_STATE;
    if (moves && mode->vars[v].state_order > orders) orders = mode->vars[v].state_order;
    for (uint32_t order = 0; order < orders; order++) {
      SltKind kind = order ? SLT_KIND_DERIVATIVE : SLT_KIND_VARIABLE;
      if (*count < capacity && out) out[*count] = (SltQuantity){kind, v, order};
      ++*count;
    }
  }
  return out && *count > capacity ? SLT_ERR_LIMIT : SLT_OK;
}

static bool is_state(const SltSim* sim, SltQuantity q) {
  return (q.kind == SLT_KIND_VARIABLE || q.kind == SLT_KIND_DERIVATIVE) &&
         q.index < sim->model->var_count && q.order + 1u < sim->model->vars[q.index].slots;
}

/// Whether everything that the present mode integrates is integrated by the caller.
static bool integrates_all(const SltSim* sim) {
  const ModelMode* mode = eng_mode(sim->engine);
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVarMode* var = &mode->vars[v];
    if (var->role == MODEL_ROLE_STATE && var->state_order > sim->exchange->orders[v]) return false;
  }
  return true;
}

static SltStatus take_states(SltSim* sim, const SltQuantity* states, uint32_t count,
                             double accuracy) {
  struct SltExchange* exchange = base_alloc(&sim->allocator, sizeof *exchange);
  if (!exchange) return SLT_ERR_NOMEM;
  sim->exchange = exchange;
  exchange->count = count;
  exchange->var_count = sim->model->var_count;
  exchange->states = base_alloc(&sim->allocator, count * sizeof *states);
  exchange->orders = base_alloc(&sim->allocator, exchange->var_count);
  if ((count && !exchange->states) || (exchange->var_count && !exchange->orders)) {
    return SLT_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!is_state(sim, states[i])) return SLT_ERR_ARGUMENT;
    exchange->states[i] = states[i];
    uint8_t* orders = &exchange->orders[states[i].index];
    if (states[i].order == *orders) ++*orders;
  }
  SLT_TRY(eng_exchange_begin(sim->engine, accuracy));
  return integrates_all(sim) ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

SltStatus slt_sim_exchange_begin(SltSim* sim, const SltQuantity* states, uint32_t count,
                                 double accuracy) {
  if (!sim || (count && !states) || !(accuracy >= 0.0)) return SLT_ERR_ARGUMENT;
  exchange_free(sim);
  SltStatus status = take_states(sim, states, count, accuracy);
  if (status < 0) exchange_free(sim);
  return status;
}

uint32_t slt_sim_exchange_indicator_count(const SltSim* sim) {
  return sim ? eng_exchange_indicator_count(sim->engine) : 0;
}

SltStatus slt_sim_exchange_point(SltSim* sim, double t, const double* values) {
  if (!sim || !sim->exchange || !isfinite(t)) return SLT_ERR_ARGUMENT;
  const struct SltExchange* exchange = sim->exchange;
  for (uint32_t i = 0; i < exchange->count; i++) {
    if (!isfinite(values[i])) return SLT_ERR_ARGUMENT;
  }
  for (uint32_t i = 0; i < exchange->count; i++) {
    eng_exchange_value(sim->engine, exchange->states[i].index, exchange->states[i].order,
                       values[i]);
  }
  eng_exchange_point(sim->engine, t);
  return SLT_OK;
}

SltStatus slt_sim_exchange_rates(SltSim* sim, double* rates) {
  if (!sim || !sim->exchange) return SLT_ERR_ARGUMENT;
  const struct SltExchange* exchange = sim->exchange;
  SLT_TRY(eng_exchange_rates(sim->engine));
  for (uint32_t i = 0; i < exchange->count; i++) {
    rates[i] = eng_exchange_rate(sim->engine, exchange->states[i].index, exchange->states[i].order);
  }
  return SLT_OK;
}

static bool computes(const SltSim* sim, SltQuantity state, bool before) {
  if (!sim || !eng_is_started(sim->engine) || !is_state(sim, state)) return false;
  const ModelMode* mode = before ? eng_mode_before(sim->engine) : eng_mode(sim->engine);
  const ModelVarMode* var = &mode->vars[state.index];
  return var->role == MODEL_ROLE_ALGEBRAIC ||
         (var->role == MODEL_ROLE_STATE && state.order >= var->state_order);
}

bool slt_sim_exchange_computes(const SltSim* sim, SltQuantity state) {
  return computes(sim, state, false);
}

bool slt_sim_exchange_computed(const SltSim* sim, SltQuantity state) {
  return computes(sim, state, true);
}

SltStatus slt_sim_exchange_input(SltSim* sim, SltQuantity input, double value) {
  if (!sim || !sim->exchange || input.kind != SLT_KIND_VARIABLE || !isfinite(value)) {
    return SLT_ERR_ARGUMENT;
  }
  if (input.index >= sim->model->var_count) return SLT_ERR_ARGUMENT;
  return eng_exchange_input(sim->engine, input.index, value);
}

SltStatus slt_sim_exchange_indicators(SltSim* sim, double* z, uint32_t count) {
  if (!sim || !sim->exchange || count != eng_exchange_indicator_count(sim->engine)) {
    return SLT_ERR_ARGUMENT;
  }
  eng_exchange_indicators(sim->engine, z);
  return SLT_OK;
}

SltStatus slt_sim_exchange_step(SltSim* sim, bool* event) {
  if (!sim || !sim->exchange || !event) return SLT_ERR_ARGUMENT;
  return eng_exchange_step(sim->engine, event);
}

SltStatus slt_sim_exchange_event(SltSim* sim, double* next, bool* restarts) {
  if (!sim || !sim->exchange || !next || !restarts) return SLT_ERR_ARGUMENT;
  SltStatus status = eng_exchange_event(sim->engine, next, restarts);
  return status < 0 || integrates_all(sim) ? status : SLT_ERR_UNSUPPORTED;
}

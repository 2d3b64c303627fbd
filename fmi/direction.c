// SPDX-License-Identifier: MIT
//
// Directional derivatives in model exchange: how rates and outputs change along states and inputs.
// Where the equations of the present mode can be differentiated they are; along surfaces, with
// contacts and with constraints of the states central differences stand in.
#include "instance.h"

#include <saltus/saltus_experiment.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Direction {
  Instance* instance;
  const uint32_t* unknowns;
  size_t unknown_count;
  const uint32_t* knowns;
  size_t known_count;
  const double* seed;
  double* out;
} Direction;

static const FmuVariable* variable(const Direction* d, uint32_t reference) {
  return &d->instance->variables.items[reference];
}

/// Number of the continuous state that a variable is; the count of states for none.
static uint32_t state_of(const Direction* d, uint32_t reference) {
  const FmuVariables* variables = &d->instance->variables;
  uint32_t i = 0;
  while (i < variables->state_count && variables->states[i] != reference)
    i++;
  return i;
}

static bool same(SltQuantity a, SltQuantity b) {
  return a.kind == b.kind && a.index == b.index && a.order == b.order;
}

static uint32_t place_of(const SltLinear* linear, SltQuantity quantity) {
  uint32_t i = 0;
  while (i < linear->state_count && !same(linear->states[i], quantity))
    i++;
  return i;
}

/// Whether all of it can be asked for: a message otherwise.
static bool check(const Direction* d) {
  const FmuVariables* variables = &d->instance->variables;
  for (size_t i = 0; i < d->unknown_count; i++) {
    bool known = d->unknowns[i] < variables->count;
    FmuRole role = known ? variable(d, d->unknowns[i])->role : FMU_TIME;
    if (role == FMU_RATE || role == FMU_OUTPUT) continue;
    return instance_fail(d->instance, "the unknown %u is no derivative and no output",
                         d->unknowns[i]);
  }
  for (size_t k = 0; k < d->known_count; k++) {
    bool known = d->knowns[k] < variables->count;
    bool moves = known && (variable(d, d->knowns[k])->role == FMU_INPUT ||
                           state_of(d, d->knowns[k]) < variables->state_count);
    if (!moves) {
      return instance_fail(d->instance, "the known %u is no continuous state and no input",
                           d->knowns[k]);
    }
  }
  return true;
}

/// Sums over the matrices of the mode. What the mode computes of the states does not move with
/// what the importer makes of it, and has the rate 0.
static void combine(const Direction* d, const SltLinear* linear) {
  const FmuVariables* variables = &d->instance->variables;
  for (size_t i = 0; i < d->unknown_count; i++) {
    const FmuVariable* unknown = variable(d, d->unknowns[i]);
    double sum = 0.0;
    uint32_t input = 0;
    for (size_t k = 0; k < d->known_count; k++) {
      uint32_t state = state_of(d, d->knowns[k]);
      if (state == variables->state_count) {
        sum += linear->d[i * linear->input_count + input++] * d->seed[k];
        continue;
      }
      uint32_t place = place_of(linear, variables->moving[state]);
      if (place < linear->state_count)
        sum += linear->c[i * linear->state_count + place] * d->seed[k];
    }
    uint32_t of = unknown->role == FMU_RATE ? state_of(d, unknown->rate_of) : 0;
    bool stands =
        unknown->role == FMU_RATE && place_of(linear, variables->moving[of]) == linear->state_count;
    d->out[i] = stands ? 0.0 : sum;
  }
}

static bool differentiate(const Direction* d) {
  SltQuantity* inputs = calloc(d->known_count + d->unknown_count + 1, sizeof *inputs);
  if (!inputs) return false;
  SltQuantity* outputs = inputs + d->known_count;
  uint32_t input_count = 0;
  for (size_t k = 0; k < d->known_count; k++) {
    const FmuVariable* known = variable(d, d->knowns[k]);
    if (known->role == FMU_INPUT) inputs[input_count++] = known->quantity;
  }
  for (size_t i = 0; i < d->unknown_count; i++)
    outputs[i] = variable(d, d->unknowns[i])->quantity;
  SltLinear* linear = NULL;
  SltStatus status = slt_sim_linearize(d->instance->sim, NULL, inputs, input_count, outputs,
                                       (uint32_t)d->unknown_count, &linear);
  // an importer moves states one by one, also those that constraints tie together
  if (status >= 0 && linear->held_count) status = SLT_ERR_UNSUPPORTED;
  if (status >= 0) combine(d, linear);
  slt_linear_free(linear);
  free(inputs);
  for (size_t i = 0; status >= 0 && i < d->unknown_count; i++) {
    if (!isfinite(d->out[i])) return false;
  }
  return status >= 0;
}

// ---- differences --------------------------------------------------------------------------------

/// Values of the unknowns at the point moved by `h` along the seed from `from`.
static bool look(const Direction* d, const double* from, double h, double* values) {
  Instance* one = d->instance;
  for (size_t k = 0; k < d->known_count; k++) {
    uint32_t state = state_of(d, d->knowns[k]);
    double value = from[k] + h * d->seed[k];
    if (state < one->variables.state_count) {
      one->x[state] = value;
    } else if (slt_sim_exchange_input(one->sim, variable(d, d->knowns[k])->quantity, value) < 0) {
      return false;
    }
  }
  one->moved = true;
  double* rates = calloc(one->variables.state_count + 1u, sizeof *rates);
  bool good = rates && instance_move(one) && slt_sim_exchange_rates(one->sim, rates) >= 0;
  for (size_t i = 0; good && i < d->unknown_count; i++) {
    const FmuVariable* unknown = variable(d, d->unknowns[i]);
    uint32_t of = unknown->role == FMU_RATE ? state_of(d, unknown->rate_of) : 0;
    bool rate = unknown->role == FMU_RATE;
    values[i] = rate ? rates[of] : slt_sim_get(one->sim, unknown->quantity);
  }
  free(rates);
  return good;
}

static bool differ(const Direction* d) {
  double* from = calloc(d->known_count + d->unknown_count + 1, sizeof *from);
  if (!from) return false;
  double* behind = from + d->known_count;
  double h = (double)INFINITY;
  for (size_t k = 0; k < d->known_count; k++) {
    uint32_t state = state_of(d, d->knowns[k]);
    const FmuVariable* known = variable(d, d->knowns[k]);
    from[k] = state < d->instance->variables.state_count
                  ? d->instance->x[state]
                  : slt_sim_get(d->instance->sim, known->quantity);
    double size = fmax(fabs(from[k]), fabs(known->start));
    if (!(size > 0.0)) size = 1.0;
    if (d->seed[k] != 0.0) h = fmin(h, cbrt(DBL_EPSILON) * size / fabs(d->seed[k]));
  }
  bool moves = isfinite(h);
  bool good = !moves || (look(d, from, -h, behind) && look(d, from, h, d->out));
  for (size_t i = 0; good && i < d->unknown_count; i++)
    d->out[i] = moves ? (d->out[i] - behind[i]) / (2.0 * h) : 0.0;
  // back to the importer's point, whatever was found
  bool back = !moves || look(d, from, 0.0, behind);
  free(from);
  return good && back;
}

InstanceAnswer instance_direction(Instance* instance, const uint32_t* unknowns,
                                  size_t unknown_count, const uint32_t* knowns, size_t known_count,
                                  const double* seed, double* out) {
  Direction d = {instance, unknowns, unknown_count, knowns, known_count, seed, out};
  if (!instance->exchange || !instance->sim) {
    instance_fail(instance, "directional derivatives belong to model exchange");
    return ANSWER_FAILED;
  }
  if (!check(&d) || (instance->moved && !instance_move(instance))) return ANSWER_FAILED;
  return differentiate(&d) || differ(&d) ? ANSWER_GOOD : ANSWER_DISCARD;
}

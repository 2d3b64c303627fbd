// SPDX-License-Identifier: MIT
//
// Sensitivities of a run through the public interface.
#include "sensitivity/sensitivity.h"

#include "api/handles.h"

#include <saltus/saltus_experiment.h>

#include <stdlib.h>
#include <string.h>

_Static_assert(SLT_SENSITIVITY_NODES == SENSITIVITY_NODES, "the same nodes");

struct SltSensitivity {
  Sensitivity* own;
  const Model* model;
  uint32_t count;
  bool backwards;
};

static SltStatus find_parameter(const SltSim* sim, const SltSensitivityParameter* given,
                                SensitivityParameter* out) {
  SltQuantity q;
  if (!given->name) return SLT_ERR_ARGUMENT;
  SLT_TRY(slt_sim_find(sim, given->name, &q));
  bool variable = q.kind == SLT_KIND_VARIABLE || q.kind == SLT_KIND_DERIVATIVE;
  if (given->initial ? !variable : q.kind != SLT_KIND_CONSTANT) return SLT_ERR_NOT_FOUND;
  *out = (SensitivityParameter){given->initial, q.index, given->initial ? q.order : 0};
  return SLT_OK;
}

static SltStatus create(SltSim* sim, const SltSensitivityParameter* parameters, uint32_t count,
                        bool backwards, SltSensitivity** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!sim || !parameters || count == 0 || eng_is_started(sim->engine)) return SLT_ERR_ARGUMENT;
  SensitivityParameter* found = calloc(count, sizeof *found);
  SltSensitivity* s = calloc(1, sizeof *s);
  SltStatus status = found && s ? SLT_OK : SLT_ERR_NOMEM;
  for (uint32_t i = 0; status >= 0 && i < count; i++)
    status = find_parameter(sim, &parameters[i], &found[i]);
  if (status >= 0) status = sensitivity_create(sim->engine, found, count, backwards, &s->own);
  free(found);
  if (status < 0) {
    free(s);
    return status;
  }
  s->model = sim->model;
  s->count = count;
  s->backwards = backwards;
  *out = s;
  return SLT_OK;
}

SltStatus slt_sensitivity_create(SltSim* sim, const SltSensitivityParameter* parameters,
                                 uint32_t count, SltSensitivity** out) {
  return create(sim, parameters, count, false, out);
}

SltStatus slt_sensitivity_create_adjoint(SltSim* sim, const SltSensitivityParameter* parameters,
                                         uint32_t count, SltSensitivity** out) {
  return create(sim, parameters, count, true, out);
}

void slt_sensitivity_free(SltSensitivity* sensitivity) {
  if (!sensitivity) return;
  sensitivity_free(sensitivity->own);
  free(sensitivity);
}

SltStatus slt_sensitivity_stretch(SltSensitivity* sensitivity, double until) {
  return sensitivity ? sensitivity_stretch(sensitivity->own, until) : SLT_ERR_ARGUMENT;
}

double slt_sensitivity_node(const SltSensitivity* sensitivity, uint32_t node, double* weight) {
  *weight = 0.0;
  if (!sensitivity || node >= SENSITIVITY_NODES) return 0.0;
  return sensitivity_node(sensitivity->own, node, weight);
}

static SensitivityWhen own_when(SltWhen when) {
  if (when == SLT_WHEN_NOW) return SENSITIVITY_NOW;
  return when == SLT_WHEN_BEFORE ? SENSITIVITY_BEFORE : SENSITIVITY_AFTER;
}

SltStatus slt_sensitivity_get(SltSensitivity* sensitivity, SltWhen when, SltQuantity q,
                              double* out) {
  if (!sensitivity || !out || (unsigned)when > SLT_WHEN_AFTER) return SLT_ERR_ARGUMENT;
  if (sensitivity->backwards) return SLT_ERR_UNSUPPORTED;
  Sensitivity* s = sensitivity->own;
  SensitivityWhen at = own_when(when);
  bool known = false;
  memset(out, 0, sensitivity->count * sizeof *out);
  switch (q.kind) {
  case SLT_KIND_VARIABLE:
  case SLT_KIND_DERIVATIVE: known = sensitivity_of_variable(s, at, q.index, q.order, out); break;
  case SLT_KIND_CONSTANT: known = sensitivity_of_constant(s, q.index, out); break;
  case SLT_KIND_MACRO:
    known = sensitivity_of_term(s, at, &sensitivity->model->macros[q.index].value, out);
    break;
  case SLT_KIND_TIME:
    if (when != SLT_WHEN_NOW) return slt_sensitivity_time(sensitivity, out);
    known = true;
    break;
  case SLT_KIND_MODE:
  default: return SLT_ERR_ARGUMENT;
  }
  return known ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

SltStatus slt_sensitivity_time(const SltSensitivity* sensitivity, double* out) {
  if (!sensitivity || !out) return SLT_ERR_ARGUMENT;
  if (sensitivity->backwards) return SLT_ERR_UNSUPPORTED;
  memcpy(out, sensitivity_of_time(sensitivity->own), sensitivity->count * sizeof *out);
  return sensitivity_gap(sensitivity->own) ? SLT_ERR_UNSUPPORTED : SLT_OK;
}

SltStatus slt_sensitivity_mark(SltSensitivity* sensitivity, SltWhen when, SltQuantity q,
                               uint32_t* mark) {
  if (!sensitivity || !mark || (unsigned)when > SLT_WHEN_AFTER) return SLT_ERR_ARGUMENT;
  if (!sensitivity->backwards) return SLT_ERR_UNSUPPORTED;
  Sensitivity* s = sensitivity->own;
  SensitivityWhen at = own_when(when);
  bool known = false;
  *mark = SLT_SENSITIVITY_STANDS;
  switch (q.kind) {
  case SLT_KIND_VARIABLE:
  case SLT_KIND_DERIVATIVE: known = sensitivity_mark_variable(s, at, q.index, q.order, mark); break;
  case SLT_KIND_CONSTANT: known = sensitivity_mark_constant(s, q.index, mark); break;
  case SLT_KIND_MACRO:
    known = sensitivity_mark_term(s, at, &sensitivity->model->macros[q.index].value, mark);
    break;
  case SLT_KIND_TIME: known = when == SLT_WHEN_NOW || sensitivity_mark_time(s, mark); break;
  case SLT_KIND_MODE:
  default: return SLT_ERR_ARGUMENT;
  }
  return known ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

SltStatus slt_sensitivity_mark_time(SltSensitivity* sensitivity, uint32_t* mark) {
  if (!sensitivity || !mark) return SLT_ERR_ARGUMENT;
  if (!sensitivity->backwards) return SLT_ERR_UNSUPPORTED;
  return sensitivity_mark_time(sensitivity->own, mark) ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

SltStatus slt_sensitivity_gradient(SltSensitivity* sensitivity, const double* weights,
                                   uint32_t mark_count, double* out) {
  if (!sensitivity || !out || (mark_count && !weights)) return SLT_ERR_ARGUMENT;
  if (!sensitivity->backwards) return SLT_ERR_UNSUPPORTED;
  if (mark_count != sensitivity_mark_count(sensitivity->own)) return SLT_ERR_ARGUMENT;
  return sensitivity_gradient(sensitivity->own, weights, out) ? SLT_OK : SLT_ERR_UNSUPPORTED;
}

const char* slt_sensitivity_gap(const SltSensitivity* sensitivity) {
  return sensitivity ? sensitivity_gap(sensitivity->own) : NULL;
}

// ---- the equations of a mode --------------------------------------------------------------------

static bool find_input(const SltSim* sim, SltQuantity q, SensitivityParameter* out) {
  const ModelMode* mode = eng_mode(sim->engine);
  *out = (SensitivityParameter){q.kind != SLT_KIND_CONSTANT, q.index, 0};
  if (q.kind == SLT_KIND_CONSTANT) return q.index < sim->model->param_count;
  return q.kind == SLT_KIND_VARIABLE && q.index < sim->model->var_count &&
         mode->vars[q.index].role != MODEL_ROLE_STATE &&
         mode->vars[q.index].role != MODEL_ROLE_ALGEBRAIC;
}

static bool find_output(const SltSim* sim, SltQuantity q, SensitivityOutput* out) {
  const Model* model = sim->model;
  if (q.kind == SLT_KIND_MACRO && q.index < model->macro_count) {
    *out = (SensitivityOutput){&model->macros[q.index].value, 0};
    return true;
  }
  bool variable = q.kind == SLT_KIND_VARIABLE || q.kind == SLT_KIND_DERIVATIVE;
  if (!variable || q.index >= model->var_count || q.order >= model->vars[q.index].slots) {
    return false;
  }
  *out = (SensitivityOutput){NULL, model->vars[q.index].env + q.order};
  return true;
}

static SltQuantity state_quantity(const SltSim* sim, uint32_t place) {
  SltQuantity q = {.kind = SLT_KIND_VARIABLE};
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    if (place < var->env || place - var->env >= var->slots) continue;
    q.index = v;
    q.order = place - var->env;
    if (q.order) q.kind = SLT_KIND_DERIVATIVE;
  }
  return q;
}

/// `x`, `x'`, `x''`, one behind the other in one block.
static char** state_names(const SltSim* sim, const SltQuantity* states, size_t count) {
  size_t size = (count + 1) * sizeof(char*);
  for (size_t i = 0; i < count; i++)
    size += sim->model->vars[states[i].index].name.length + states[i].order + 1u;
  char** names = calloc(1, size);
  char* at = (char*)(names + count + 1);
  for (size_t i = 0; names && i < count; i++) {
    Str name = sim->model->vars[states[i].index].name;
    names[i] = at;
    memcpy(at, name.data, name.length);
    memset(at + name.length, '\'', states[i].order);
    at += name.length + states[i].order + 1u;
  }
  return names;
}

static SltLinear* linear_new(const SltSim* sim, uint32_t inputs, uint32_t outputs) {
  const ModelMode* mode = eng_mode(sim->engine);
  size_t n = mode->state_count;
  uint32_t held = sensitivity_held_count(sim->engine);
  size_t numbers = 2 * n + outputs + (n + outputs) * (n + inputs) + held * (1 + n);
  SltLinear* l = calloc(1, sizeof *l);
  SltQuantity* states = calloc(n + 1, sizeof *states);
  double* data = calloc(numbers + 1, sizeof *data);
  if (!l || !states || !data) {
    free(l);
    free(states);
    free(data);
    return NULL;
  }
  *l = (SltLinear){.state_count = (uint32_t)n,
                   .input_count = inputs,
                   .output_count = outputs,
                   .held_count = held,
                   .states = states,
                   .x = data,
                   .f = data + n,
                   .y = data + 2 * n,
                   .a = data + 2 * n + outputs};
  l->b = l->a + n * n;
  l->c = l->b + n * inputs;
  l->d = l->c + outputs * n;
  l->held = l->d + (size_t)outputs * inputs;
  l->held_rows = l->held + held;
  for (size_t i = 0; i < n; i++)
    states[i] = state_quantity(sim, mode->state_env[i]);
  l->names = state_names(sim, states, n);
  if (l->names) return l;
  slt_linear_free(l);
  return NULL;
}

void slt_linear_free(SltLinear* linear) {
  if (!linear) return;
  free((void*)linear->names);
  free(linear->states);
  free(linear->x);
  free(linear);
}

/// Rows with states in front of inputs, into two matrices.
static void split_rows(const double* rows, uint32_t count, uint32_t n, uint32_t m, double* first,
                       double* second) {
  for (uint32_t i = 0; i < count; i++) {
    const double* row = rows + (size_t)i * (n + m);
    for (uint32_t j = 0; j < n; j++)
      first[(size_t)i * n + j] = row[j];
    for (uint32_t j = 0; j < m; j++)
      second[(size_t)i * m + j] = row[n + j];
  }
}

SltStatus slt_sim_linearize(SltSim* sim, const double* x, const SltQuantity* inputs,
                            uint32_t input_count, const SltQuantity* outputs, uint32_t output_count,
                            SltLinear** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!sim || !eng_is_started(sim->engine)) return SLT_ERR_ARGUMENT;
  SensitivityParameter* in = calloc(input_count + 1u, sizeof *in);
  SensitivityOutput* seen = calloc(output_count + 1u, sizeof *seen);
  SltLinear* l = linear_new(sim, input_count, output_count);
  uint32_t n = l ? l->state_count : 0;
  size_t width = (size_t)n + input_count;
  uint32_t held = l ? l->held_count : 0;
  double* rows = calloc((n + (size_t)output_count + held) * width + 1, sizeof *rows);
  SltStatus status = in && seen && l && rows ? SLT_OK : SLT_ERR_NOMEM;
  for (uint32_t i = 0; status >= 0 && i < input_count; i++) {
    if (!find_input(sim, inputs[i], &in[i])) status = SLT_ERR_ARGUMENT;
  }
  for (uint32_t i = 0; status >= 0 && i < output_count; i++) {
    if (!find_output(sim, outputs[i], &seen[i])) status = SLT_ERR_ARGUMENT;
  }
  if (status >= 0) {
    SensitivityLinear own = {
        .x = l->x, .f = l->f, .y = l->y, .f_rows = rows, .y_rows = rows + n * width};
    own.held = l->held;
    own.held_rows = own.y_rows + output_count * width;
    status = sensitivity_linearize(sim->engine, x, in, input_count, seen, output_count, &own);
    l->crossed = own.crossed;
    split_rows(own.f_rows, n, n, input_count, l->a, l->b);
    split_rows(own.y_rows, output_count, n, input_count, l->c, l->d);
    for (size_t i = 0; i < held; i++)
      memcpy(l->held_rows + i * n, own.held_rows + i * width, n * sizeof *rows);
  }
  free(in);
  free(seen);
  free(rows);
  if (status < 0) {
    slt_linear_free(l);
    return status;
  }
  *out = l;
  return SLT_OK;
}

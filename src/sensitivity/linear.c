// SPDX-License-Identifier: MIT
//
// The equations of the present mode to first order around a point: all directions at once, the
// states first and the inputs behind them.
#include "sensitivity/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Linear {
  EngSim* sim;
  const Model* model;
  const ModelMode* mode;
  const double* env;
  double t;
  const double* x;
  uint32_t n, width;  // states; directions
  double* states;     // rows of the states: the unit matrix
  double* rows;       // rows of the environment
} Linear;

static bool run_program(const Linear* l, const ModelProgram* program, double* out, double* d) {
  double* room = malloc((model_tangent_room(program, l->width) + 1) * sizeof *room);
  if (!room) return false;
  ModelSeeds seeds = {
      .count = l->width, .states = l->states, .env = l->rows, .env_count = l->model->env_count};
  bool good = model_program_tangent(program, eng_flow_context(l->sim), l->env, l->t, l->x, &seeds,
                                    room, out, d);
  free(room);
  return good;
}

static bool run_term(const Linear* l, const ModelTerm* term, double* out, double* d) {
  double* room = malloc((model_tangent_room(&term->shape->program, l->width) + 1) * sizeof *room);
  if (!room) return false;
  ModelSeeds seeds = {.count = l->width, .env = l->rows, .env_count = l->model->env_count};
  bool good = model_term_tangent(term, eng_flow_context(l->sim), l->model->numbers, l->env, l->t,
                                 &seeds, room, out, d);
  free(room);
  return good;
}

/// Inputs move, and with constants those that are computed from them.
static bool seed_inputs(const Linear* l, const SensitivityParameter* inputs, uint32_t count) {
  for (uint32_t p = 0; p < l->model->param_count; p++) {
    const ModelParam* param = &l->model->params[p];
    double* row = l->rows + (size_t)param->env * l->width;
    double value = 0.0;
    bool input = false;
    for (uint32_t k = 0; k < count; k++) {
      if (inputs[k].initial || inputs[k].index != p) continue;
      row[l->n + k] = 1.0;
      input = true;
    }
    bool stands = input || eng_param_given(l->sim, p);
    if (!stands && !run_term(l, &param->value, &value, row)) return false;
  }
  for (uint32_t k = 0; k < count; k++) {
    if (!inputs[k].initial) continue;
    uint32_t place = l->model->vars[inputs[k].index].env + inputs[k].order;
    l->rows[(size_t)place * l->width + l->n + k] = 1.0;
  }
  return true;
}

/// Values and rows of what the mode computes, into the environment's.
static bool compute(Linear* l, double* env) {
  const ModelProgram* full = &l->mode->full;
  size_t count = full->output_count;
  double* out = malloc((count * (1 + (size_t)l->width) + 1) * sizeof *out);
  if (!out) return false;
  bool good = run_program(l, full, out, out + count);
  for (size_t i = 0; good && i < count; i++) {
    uint32_t place = l->mode->full_env[i];
    env[place] = out[i];
    memcpy(l->rows + (size_t)place * l->width, out + count + i * l->width, l->width * sizeof *out);
  }
  free(out);
  return good;
}

static bool take_outputs(const Linear* l, const SensitivityOutput* outputs, uint32_t count,
                         double* y, double* rows) {
  for (uint32_t i = 0; i < count; i++) {
    double* row = rows + (size_t)i * l->width;
    if (outputs[i].term) {
      if (!run_term(l, outputs[i].term, &y[i], row)) return false;
      continue;
    }
    uint32_t place = outputs[i].place;
    y[i] = l->env[place];
    memcpy(row, l->rows + (size_t)place * l->width, l->width * sizeof *row);
  }
  return true;
}

/// Whether a relation is that of a surface which the motion keeps.
static bool is_surface(const Linear* l, uint32_t relation) {
  bool slides = eng_motion(l->sim) == ENG_MOTION_SLIDING;
  uint32_t surfaces = slides ? eng_surface_count(l->sim) : 0;
  for (uint32_t i = 0; i < surfaces; i++) {
    if (eng_surface_indicator(l->sim, i) == relation) return true;
  }
  return false;
}

/// Relations of the mode that hold at one of two points and not at the other.
static uint32_t count_crossed(const Linear* l, const double* here) {
  const ModelProgram* g = &l->mode->g_flow;
  ModelSeeds none = {.count = 0};
  uint32_t crossed = 0;
  double* room =
      malloc((model_tangent_room(g, 0) + 2 * (size_t)g->output_count + 1) * sizeof *room);
  if (!room) return 0;
  double* one = room + model_tangent_room(g, 0);
  double* other = one + g->output_count;
  const ModelContext* context = eng_flow_context(l->sim);
  bool good = model_program_tangent(g, context, l->env, l->t, l->x, &none, room, one, NULL) &&
              model_program_tangent(g, context, l->env, l->t, here, &none, room, other, NULL);
  for (uint32_t i = 0; good && i < g->output_count; i++) {
    bool moves = l->model->atoms[l->mode->atoms[i]].continuous && !is_surface(l, i);
    crossed += moves && one[i] * other[i] < 0.0;
  }
  free(room);
  return crossed;
}

// ---- along surfaces -----------------------------------------------------------------------------

#define SHIFT 1e-3  // of differences, relative
#define LEFT  1e-9  // of a convex coefficient beyond its range: its surface is left

/// Flow and rows by differences: there is no program for it.
static bool slide(const Linear* l, double* f, double* f_rows) {
  uint32_t n = l->n;
  uint32_t places = l->model->env_count;
  double* room = calloc(4 * (size_t)n + 2 * (size_t)places + 1, sizeof *room);
  if (!room) return false;
  double* d_x = room;
  double* d_f = d_x + n;
  double* d_env = d_f + n;
  bool good = eng_flow(l->sim, l->t, l->x, NULL, f, NULL) >= 0;
  for (uint32_t k = 0; good && k < l->width; k++) {
    bool input = k >= n;
    double size = 0.0;
    for (uint32_t i = 0; i < n; i++)
      d_x[i] = i == k ? 1.0 : 0.0;
    for (uint32_t i = 0; input && i < places; i++) {
      d_env[i] = l->rows[(size_t)i * l->width + k];
      if (d_env[i] == 1.0) size = fmax(size, fabs(l->env[i]));
    }
    // the point may be the origin
    if (!input) size = fmax(fabs(l->x[k]), eng_scale(l->sim, l->mode->state_env[k]));
    SensitivityShift along = {l->t, 0.0, SHIFT * (size > 0.0 ? size : 1.0),
                              l->x, d_x, input ? d_env : NULL};
    good = sensitivity_difference(l->sim, &along, d_env + places, d_f, NULL);
    for (uint32_t i = 0; good && i < n; i++)
      f_rows[(size_t)i * l->width + k] = d_f[i];
  }
  free(room);
  return good;
}

/// What is computed from the states is mixed from both sides there.
static bool are_states(const ModelMode* mode, const SensitivityOutput* outputs, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    bool state = false;
    for (uint32_t i = 0; i < mode->state_count; i++)
      state |= !outputs[k].term && mode->state_env[i] == outputs[k].place;
    if (!state) return false;
  }
  return true;
}

/// Surfaces that the motion does not keep at the point: their convex coefficients are beyond their
/// range.
static uint32_t count_left(const Linear* l) {
  uint32_t surfaces = eng_surface_count(l->sim);
  double* alpha = malloc(((size_t)surfaces + l->n) * sizeof *alpha);
  uint32_t left = 0;
  bool good = alpha && eng_flow(l->sim, l->t, l->x, NULL, alpha + surfaces, alpha) >= 0;
  for (uint32_t i = 0; good && i < surfaces; i++)
    left += alpha[i] < -LEFT || alpha[i] > 1.0 + LEFT;
  free(alpha);
  return left;
}

// ---- what is held -------------------------------------------------------------------------------

uint32_t sensitivity_held_count(EngSim* sim) {
  const ModelMode* mode = eng_mode(sim);
  if (eng_motion(sim) == ENG_MOTION_SLIDING) return eng_surface_count(sim);
  return sensitivity_is_constrained(mode) ? mode->implicit->constraint_count : 0;
}

static SltStatus find_held(const Linear* l, double* held, double* rows) {
  bool slides = eng_motion(l->sim) == ENG_MOTION_SLIDING;
  uint32_t count = sensitivity_held_count(l->sim);
  if (count == 0) return SLT_OK;
  const ModelProgram* program = slides ? &l->mode->g_flow : &l->mode->implicit->constraint;
  size_t outputs = program->output_count;
  double* out = malloc((outputs * (1 + (size_t)l->width) + 1) * sizeof *out);
  if (!out) return SLT_ERR_NOMEM;
  SltStatus status = run_program(l, program, out, out + outputs) ? SLT_OK : SLT_ERR_NOT_FINITE;
  for (uint32_t i = 0; status >= 0 && i < count; i++) {
    size_t from = slides ? eng_surface_indicator(l->sim, i) : i;
    held[i] = out[from];
    memcpy(rows + (size_t)i * l->width, out + outputs + from * l->width, l->width * sizeof *rows);
    // with an input that moves it the states would jump
    for (uint32_t k = l->n; k < l->width; k++) {
      if (rows[(size_t)i * l->width + k] != 0.0) status = SLT_ERR_ARGUMENT;
    }
  }
  free(out);
  return status;
}

SltStatus sensitivity_linearize(EngSim* sim, const double* x, const SensitivityParameter* inputs,
                                uint32_t input_count, const SensitivityOutput* outputs,
                                uint32_t output_count, SensitivityLinear* out) {
  const ModelMode* mode = eng_mode(sim);
  const Model* model = eng_model(sim);
  bool slides = eng_motion(sim) == ENG_MOTION_SLIDING;
  if (eng_motion(sim) == ENG_MOTION_CONTACT || model->delay_count ||
      (slides && (sensitivity_is_constrained(mode) || !are_states(mode, outputs, output_count)))) {
    return SLT_ERR_UNSUPPORTED;
  }
  uint32_t n = mode->state_count;
  uint32_t width = n + input_count;
  size_t places = model->env_count;
  Linear l = {.sim = sim, .model = model, .mode = mode, .t = eng_time(sim), .n = n, .width = width};
  double* env = malloc(2 * places * sizeof *env + sizeof *env);
  double* here = calloc((size_t)n + 1, sizeof *here);
  l.states = calloc((size_t)n * width + 1, sizeof(double));
  l.rows = calloc(places * width + 1, sizeof(double));
  SltStatus status = env && here && l.states && l.rows ? SLT_OK : SLT_ERR_NOMEM;
  if (status >= 0) {
    memcpy(env, eng_env(sim), 2 * places * sizeof *env);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t place = mode->state_env[i];
      here[i] = env[place];
      out->x[i] = x ? x[i] : env[place];
      env[place] = out->x[i];
      l.states[(size_t)i * width + i] = 1.0;
      l.rows[(size_t)place * width + i] = 1.0;
    }
    l.env = env;
    l.x = out->x;
    bool good = seed_inputs(&l, inputs, input_count) &&
                (slides ? slide(&l, out->f, out->f_rows)
                        : run_program(&l, &mode->rhs, out->f, out->f_rows)) &&
                compute(&l, env) && take_outputs(&l, outputs, output_count, out->y, out->y_rows);
    out->crossed = x ? count_crossed(&l, here) : 0;
    if (x && slides) out->crossed += count_left(&l);
    status = good ? find_held(&l, out->held, out->held_rows) : SLT_ERR_NOT_FINITE;
  }
  free(env);
  free(here);
  free(l.states);
  free(l.rows);
  return status;
}

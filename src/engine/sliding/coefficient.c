// SPDX-License-Identifier: MIT
//
// Sliding by value: flows on both sides of the surfaces, and the coefficients that follow from
// them.
//
// Where what slides is shifted by a number, coefficients are noted for the last point they were
// wanted at (value_last, value_last_x). At the next point only those surfaces are asked whose
// equations read a state that differs, bit by bit; the others have the coefficient that they had.
#include "engine/sliding/value.h"

#include <math.h>
#include <string.h>

#define SOLVED     1e-10  // residual of the rates, relative to their range
#define ITERATIONS 60
#define LINE       16  // states that are compared at once

void value_publish_coefficients(EngSim* sim, const double* alpha) {
  for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
    const EngValueSwitch* s = &sim->sliding.value.switches[i];
    double a = alpha[s->surface];
    const ModelState* states = sim->model->automata[s->automaton].states;
    double high = s->rises ? a : 1.0 - a;
    if (states[1].test_env != MODEL_NONE) sim->env[states[1].test_env] = high;
    if (states[0].test_env != MODEL_NONE) sim->env[states[0].test_env] = 1.0 - high;
  }
}

void value_publish_positions(EngSim* sim) {
  for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
    uint32_t a = sim->sliding.value.switches[i].automaton;
    const ModelState* states = sim->model->automata[a].states;
    for (uint32_t s = 0; s < 2; s++) {
      if (states[s].test_env != MODEL_NONE) {
        sim->env[states[s].test_env] = sim->state[a] == s ? 1.0 : 0.0;
      }
    }
  }
}

/// Rates of the surfaces with these coefficients; into `rate`. Leaves the switches where they are.
static SltStatus rates_at(EngSim* sim, double t, const double* x, const double* alpha,
                          double* rate) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->sliding.sides.regs[2];
  SLT_TRY(ENG_GROW(sim, regs->gdot, mode->gdot.reg_count));
  value_publish_coefficients(sim, alpha);
  model_program_bind(&mode->gdot, sim->env, regs->gdot);
  model_program_guess(&mode->gdot, sim->values.guess, regs->gdot);
  model_program_run(&mode->gdot, context, regs->gdot, t, x, sim->probe.g);
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    rate[i] = sim->probe.g[sim->sliding.value.surfaces[i].index];
  }
  return SLT_OK;
}

/// Flows on both sides, each with its switches in place: `below`, value_out.
void value_run_ends(EngSim* sim, double t, const double* x, double* below) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->rhs, context, sim->sliding.sides.regs[0].rhs, t, x, below);
  model_program_run(&mode->rhs, context, sim->sliding.sides.regs[1].rhs, t, x,
                    sim->sliding.motion.out);
}

void value_rates_of_flows(EngSim* sim, const double* below) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    const EngSurface* s = &sim->sliding.value.surfaces[i];
    double sign = s->negative ? -1.0 : 1.0;
    sim->sliding.motion.low[i] = sign * below[s->state];
    sim->sliding.motion.high[i] = sign * sim->sliding.motion.out[s->state];
  }
}

SltStatus value_coefficients_of_flows(EngSim* sim, const double* below, const double* x, bool pull,
                                      double* alpha) {
  const EngSlide* slide = &sim->core.slide;
  value_rates_of_flows(sim, below);
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngSurface* s = &sim->sliding.value.surfaces[i];
    double sign = s->negative ? -1.0 : 1.0;
    double wanted = pull ? -slide->stiffness * (sign * x[s->state]) : 0.0;
    double range = sim->sliding.motion.low[i] - sim->sliding.motion.high[i];
    if (!(range > 0.0)) return SLT_ERR_NO_CONVERGENCE;
    sim->sliding.motion.wanted[i] = wanted;
    alpha[i] = (sim->sliding.motion.low[i] - wanted) / range;
  }
  return SLT_OK;
}

SltStatus value_ends_at(EngSim* sim, double t, const double* x) {
  for (uint32_t end = 0; end < 2; end++) {
    for (uint32_t i = 0; i < sim->core.slide.count; i++) {
      const EngSurface* s = &sim->sliding.value.surfaces[i];
      sim->sliding.motion.trial[i] = s->slides ? (double)end : s->above ? 1.0 : 0.0;
    }
    SLT_TRY(rates_at(sim, t, x, sim->sliding.motion.trial,
                     end ? sim->sliding.motion.high : sim->sliding.motion.low));
  }
  return SLT_OK;
}

/// Root in (0, 1) of the parabola through the rates at 0, at 1 and at a coefficient between.
static double parabola(double low, double high, double alpha, double rate, double wanted,
                       double* slope) {
  double bend = (rate - low - (high - low) * alpha) / (alpha * (alpha - 1.0));
  double b = high - low - bend;
  double c = low - wanted;
  double root = 2.0 * c / (-b + sqrt(fmax(0.0, b * b - 4.0 * bend * c)));
  *slope = b + 2.0 * bend * root;
  return root;
}

bool value_refine(EngSim* sim, double t, const double* x, const double* wanted, double* alpha) {
  uint32_t n = sim->core.slide.count;
  for (uint32_t iteration = 0; iteration < ITERATIONS; iteration++) {
    if (rates_at(sim, t, x, alpha, sim->sliding.motion.rate) < 0) return false;
    bool settled = true;
    for (uint32_t i = 0; i < n; i++) {
      if (!sim->sliding.value.surfaces[i].slides) continue;
      double low = sim->sliding.motion.low[i];
      double high = sim->sliding.motion.high[i];
      double residual = sim->sliding.motion.rate[i] - wanted[i];
      if (fabs(residual) <= SOLVED * (fabs(low - high) + fabs(wanted[i]))) continue;
      settled = false;
      double* slope = &sim->sliding.motion.slope[i];
      bool inside = alpha[i] > 0.0 && alpha[i] < 1.0;
      if (iteration == 0) *slope = high - low;
      if (iteration == 0 && inside) {
        alpha[i] = parabola(low, high, alpha[i], sim->sliding.motion.rate[i], wanted[i], slope);
      } else {
        alpha[i] -= residual / *slope;
      }
    }
    if (settled) return true;
  }
  return false;
}

static void touch(EngSim* sim, uint32_t output, uint32_t* count) {
  uint32_t surface = sim->sliding.value.of_state[output];
  if (surface == MODEL_NONE || sim->sliding.motion.mark[surface]) return;
  sim->sliding.motion.mark[surface] = 1;
  sim->sliding.motion.touched[(*count)++] = surface;
}

static void touch_readers(EngSim* sim, const EngDependency* dependency, uint32_t reg,
                          uint32_t* count) {
  const BaseLists* rows = &dependency->rows;
  for (uint32_t i = rows->begin[reg]; i < rows->begin[reg + 1]; i++) {
    touch(sim, rows->list[i], count);
  }
}

void value_touch_changed(EngSim* sim, const EngDependency* dependency, const double* x,
                         uint32_t* count) {
  const double* noted = sim->sliding.motion.last_x;
  uint32_t n = sim->core.mode->state_count;
  for (uint32_t begin = 0; begin < n; begin += LINE) {
    uint32_t end = n - begin < LINE ? n : begin + LINE;
    // most of them stand still
    if (memcmp(x + begin, noted + begin, (end - begin) * sizeof *x) == 0) continue;
    for (uint32_t k = begin; k < end; k++) {
      if (x[k] != noted[k]) touch_readers(sim, dependency, k + 1, count);
    }
  }
  touch_readers(sim, dependency, 0, count);
}

void value_forget_touched(EngSim* sim, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    sim->sliding.motion.mark[sim->sliding.motion.touched[i]] = 0;
  }
}

bool value_coefficient_of(EngSim* sim, uint32_t surface, double t, const double* x, double* alpha) {
  double f = 0.0;
  if (!model_program_run_output(&sim->core.mode->rhs, eng_context(sim),
                                sim->sliding.sides.regs[0].rhs, t, eng_point_state, x,
                                sim->sliding.motion.state[surface], &f)) {
    return false;
  }
  *alpha = f / sim->sliding.motion.fall[surface];
  return true;
}

bool value_note_coefficients(EngSim* sim, const EngDependency* dependency, double t,
                             const double* x, uint32_t surfaces) {
  if (!dependency || !dependency->has_rows || isnan(sim->sliding.motion.last_t)) return false;
  uint32_t count = 0;
  value_touch_changed(sim, dependency, x, &count);
  // switches that have moved since
  for (uint32_t k = 0; sim->active.reduced && k < sim->active.automaton_count; k++) {
    const ModelAutomaton* automaton = &sim->model->automata[sim->active.automata[k]];
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      uint32_t env = automaton->states[s].test_env;
      if (env == MODEL_NONE) continue;
      for (uint32_t i = dependency->readers.begin[env]; i < dependency->readers.begin[env + 1];
           i++) {
        EngDependencyReader reader = eng_dependency_reader(dependency, i);
        if (reader.kind == ENG_READER_RHS) {
          touch(sim, dependency->rhs.dependent[reader.at].output, &count);
        }
      }
    }
  }
  value_forget_touched(sim, count);
  if (count > sim->core.slide.count / VALUE_PART_SHARE) return false;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = sim->sliding.motion.touched[k];
    if (i < surfaces && !value_coefficient_of(sim, i, t, x, &sim->sliding.motion.last[i]))
      return false;
  }
  memcpy(sim->sliding.motion.last_x, x, sim->core.mode->state_count * sizeof *x);
  sim->sliding.motion.last_t = t;
  return true;
}

SltStatus value_coefficients_at(EngSim* sim, double t, const double* x, bool pull, double* alpha) {
  EngSlide* slide = &sim->core.slide;
  const ModelMode* mode = sim->core.mode;
  if (slide->lean) {
    const ModelContext* context = eng_context(sim);
    model_program_run(&mode->rhs, context, sim->sliding.sides.regs[0].rhs, t, x, sim->probe.flow);
    for (uint32_t i = 0; i < slide->count; i++) {
      alpha[i] = sim->probe.flow[sim->sliding.motion.state[i]] / sim->sliding.motion.fall[i];
    }
    return SLT_OK;
  }
  if (slide->mixed) {
    value_run_ends(sim, t, x, sim->probe.flow);
    return value_coefficients_of_flows(sim, sim->probe.flow, x, pull, alpha);
  }
  SLT_TRY(value_ends_at(sim, t, x));
  if (pull) {
    const ModelContext* context = eng_context(sim);
    model_program_run(&mode->g_flow, context, sim->programs.g_flow, t, x, sim->probe.g);
  }
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngSurface* s = &sim->sliding.value.surfaces[i];
    sim->sliding.motion.wanted[i] = pull ? -slide->stiffness * sim->probe.g[s->index] : 0.0;
    double range = sim->sliding.motion.low[i] - sim->sliding.motion.high[i];
    if (!(range > 0.0)) return SLT_ERR_NO_CONVERGENCE;
    alpha[i] = (sim->sliding.motion.low[i] - sim->sliding.motion.wanted[i]) / range;
  }
  return value_refine(sim, t, x, sim->sliding.motion.wanted, alpha) ? SLT_OK
                                                                    : SLT_ERR_NO_CONVERGENCE;
}

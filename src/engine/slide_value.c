// SPDX-License-Identifier: MIT
//
// Sliding by value: motion along any number of surfaces, where the sides differ in the values of
// switches alone.
//
// The equations are the same on all sides; what differs is the position of switches that they read
// (`sign`, `if(c, a, b)`). Each surface i moves its own switches. Two ways lead from here, both at
// a cost that grows with the size of the model and not with the 2^k sides:
//
// * Mixed: where every derivative hangs on the switches of one surface at most (blocks with dry
//   friction between springs), the flows with all surfaces below and all above give the whole
//   picture. The share of surface i is a_i = r_i(0)/(r_i(0) - r_i(1)), and what hangs on it is
//   combined with it: Filippov's motion, component by component.
// * Otherwise, and where the user wants it (`utkin`): the share makes the switches take the value
//   between their two positions, and goes through the equations: Utkin's equivalent control. The
//   rates r(a) of all surfaces come from one run of the program for the slopes of the relations,
//   and are solved for a.
//
// How the motion goes on is the problem of finding a with: r_i = 0 and 0 < a_i < 1 (slides), or
// a_i = 0 and r_i <= 0 (goes below), or a_i = 1 and r_i >= 0 (goes above).
#include "engine/slide_value.h"

#include "engine/detect.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME_SURFACE 1e-9   // relative difference of g at the probe point
#define SOLVED       1e-10  // residual of the rates, relative to their range
#define ITERATIONS   60
#define ASSIGNMENTS  40  // changes of who slides, in one search
#define PART_SHARE   4   // equations are run one by one where they are one in so many

// ---- evaluation ---------------------------------------------------------------------------------

/// Switches of the surfaces take the positions that the shares say.
static void publish_shares(EngSim* sim, const double* share) {
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    const EngValueSwitch* s = &sim->value_switches[i];
    double a = share[s->surface];
    const ModelState* states = sim->model->automata[s->automaton].states;
    double high = s->rises ? a : 1.0 - a;
    if (states[1].test_env != MODEL_NONE) sim->env[states[1].test_env] = high;
    if (states[0].test_env != MODEL_NONE) sim->env[states[0].test_env] = 1.0 - high;
  }
}

static void publish_positions(EngSim* sim) {
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    uint32_t a = sim->value_switches[i].automaton;
    const ModelState* states = sim->model->automata[a].states;
    for (uint32_t s = 0; s < 2; s++) {
      if (states[s].test_env != MODEL_NONE) {
        sim->env[states[s].test_env] = sim->state[a] == s ? 1.0 : 0.0;
      }
    }
  }
}

/// Rates of the surfaces with these shares; into `rate`. Leaves the switches where they are.
static SltStatus rates_at(EngSim* sim, double t, const double* x, const double* share,
                          double* rate) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->side_regs[2];
  SLT_TRY(eng_grow(sim, (void**)&regs->gdot, &regs->gdot_capacity, mode->gdot.reg_count,
                   sizeof(double)));
  publish_shares(sim, share);
  model_program_bind(&mode->gdot, sim->env, regs->gdot);
  model_program_guess(&mode->gdot, sim->guess, regs->gdot);
  model_program_run(&mode->gdot, context, regs->gdot, t, x, sim->side_g);
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    rate[i] = sim->side_g[sim->value_surfaces[i].index];
  }
  return SLT_OK;
}

/// Largest rate at both ends of the shares: what is small beside it has no direction.
static double rate_scale(const EngSim* sim) {
  double largest = 0.0;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    largest = fmax(largest, fmax(fabs(sim->value_low[i]), fabs(sim->value_high[i])));
  }
  return 1.0 + largest;
}

/// Flows on both sides, each with its switches in place: `below`, value_out.
void value_run_ends(EngSim* sim, double t, const double* x, double* below) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->rhs, context, sim->side_regs[0].rhs, t, x, below);
  model_program_run(&mode->rhs, context, sim->side_regs[1].rhs, t, x, sim->value_out);
}

/// Rates of the surfaces from the flows on both sides: where g is a state they are components.
static void rates_of_flows(EngSim* sim, const double* below) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    const EngValueSurface* s = &sim->value_surfaces[i];
    double sign = s->negative ? -1.0 : 1.0;
    sim->value_low[i] = sign * below[s->state];
    sim->value_high[i] = sign * sim->value_out[s->state];
  }
}

/// Shares from the flows on both sides.
static SltStatus shares_of_flows(EngSim* sim, const double* below, const double* x, bool pull,
                                 double* share) {
  const EngSlide* slide = &sim->core.slide;
  rates_of_flows(sim, below);
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngValueSurface* s = &sim->value_surfaces[i];
    double sign = s->negative ? -1.0 : 1.0;
    double wanted = pull ? -slide->stiffness * (sign * x[s->state]) : 0.0;
    double range = sim->value_low[i] - sim->value_high[i];
    if (!(range > 0.0)) return SLT_ERR_NO_CONVERGENCE;
    sim->value_wanted[i] = wanted;
    share[i] = (sim->value_low[i] - wanted) / range;
  }
  return SLT_OK;
}

/// Shares from the flow below all surfaces, where it is known how much it falls across each.
static void shares_of_shifted(const EngSim* sim, const double* below, const double* x, bool pull,
                              double* share) {
  uint32_t n = sim->core.slide.count;
  const uint32_t* state = sim->value_state;
  const double* fall = sim->value_fall;
  if (!pull) {
    for (uint32_t i = 0; i < n; i++) {
      share[i] = below[state[i]] / fall[i];
    }
    return;
  }
  double stiffness = sim->core.slide.stiffness;
  for (uint32_t i = 0; i < n; i++) {
    share[i] = (below[state[i]] + stiffness * x[state[i]]) / fall[i];
  }
}

static SltStatus ends_at(EngSim* sim, double t, const double* x) {
  uint32_t n = sim->core.slide.count;
  if (sim->core.slide.mixed) {
    // bound when the motion began
    const ModelMode* mode = sim->core.mode;
    const ModelContext* context = eng_context(sim);
    for (uint32_t end = 0; end < 2; end++) {
      double* rate = end ? sim->value_high : sim->value_low;
      model_program_run(&mode->gdot, context, sim->side_regs[end].gdot, t, x, sim->side_g);
      for (uint32_t i = 0; i < n; i++) {
        rate[i] = sim->side_g[sim->value_surfaces[i].index];
      }
    }
    return SLT_OK;
  }
  for (uint32_t end = 0; end < 2; end++) {
    for (uint32_t i = 0; i < n; i++) {
      const EngValueSurface* s = &sim->value_surfaces[i];
      sim->value_trial[i] = s->slides ? (double)end : s->above ? 1.0 : 0.0;
    }
    SLT_TRY(rates_at(sim, t, x, sim->value_trial, end ? sim->value_high : sim->value_low));
  }
  return SLT_OK;
}

/// Root in (0, 1) of the parabola through the rates at 0, at 1 and at a share between.
static double parabola(double low, double high, double share, double rate, double wanted,
                       double* slope) {
  double bend = (rate - low - (high - low) * share) / (share * (share - 1.0));
  double b = high - low - bend;
  double c = low - wanted;
  double root = 2.0 * c / (-b + sqrt(fmax(0.0, b * b - 4.0 * bend * c)));
  *slope = b + 2.0 * bend * root;
  return root;
}

/// Shares for which every sliding surface moves at the wanted rate, from the rates at the ends.
/// False when the iteration does not settle.
static bool refine(EngSim* sim, double t, const double* x, const double* wanted, double* share) {
  uint32_t n = sim->core.slide.count;
  for (uint32_t iteration = 0; iteration < ITERATIONS; iteration++) {
    if (rates_at(sim, t, x, share, sim->value_rate) < 0) return false;
    bool settled = true;
    for (uint32_t i = 0; i < n; i++) {
      if (!sim->value_surfaces[i].slides) continue;
      double low = sim->value_low[i];
      double high = sim->value_high[i];
      double residual = sim->value_rate[i] - wanted[i];
      if (fabs(residual) <= SOLVED * (fabs(low - high) + fabs(wanted[i]))) continue;
      settled = false;
      double* slope = &sim->value_slope[i];
      bool inside = share[i] > 0.0 && share[i] < 1.0;
      if (iteration == 0) *slope = high - low;
      if (iteration == 0 && inside) {
        share[i] = parabola(low, high, share[i], sim->value_rate[i], wanted[i], slope);
      } else {
        share[i] -= residual / *slope;
      }
    }
    if (settled) return true;
  }
  return false;
}

static void touch(EngSim* sim, uint32_t output, uint32_t* count) {
  uint32_t surface = sim->value_of_state[output];
  if (surface == MODEL_NONE || sim->value_mark[surface]) return;
  sim->value_mark[surface] = 1;
  sim->value_touched[(*count)++] = surface;
}

/// The surfaces whose share may be another one at x than was noted for value_last_x: something they
/// read is.
static void touch_changed(EngSim* sim, const EngHang* hang, const double* x, uint32_t* count) {
  const double* noted = sim->value_last_x;
  for (uint32_t k = 0; k < sim->core.mode->state_count; k++) {
    if (x[k] == noted[k]) continue;
    for (uint32_t i = hang->row_begin[k]; i < hang->row_begin[k + 1]; i++) {
      touch(sim, hang->rows[i], count);
    }
  }
  for (uint32_t i = 0; i < hang->timed_count; i++) {
    touch(sim, hang->timed[i], count);
  }
}

static void forget_touched(EngSim* sim, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    sim->value_mark[sim->value_touched[i]] = 0;
  }
}

static double point_state(const void* user, uint32_t state) {
  return ((const double*)user)[state];
}

/// The share of one surface; false: that is not possible.
static bool share_of(EngSim* sim, uint32_t surface, double t, const double* x, double* share) {
  double f = 0.0;
  if (!model_program_run_output(&sim->core.mode->rhs, eng_context(sim), sim->side_regs[0].rhs, t,
                                point_state, x, sim->value_state[surface], &f)) {
    return false;
  }
  *share = f / sim->value_fall[surface];
  return true;
}

bool value_note_shares(EngSim* sim, const EngHang* hang, double t, const double* x,
                       uint32_t surfaces) {
  if (!hang || !hang->has_rows || isnan(sim->value_last_t)) return false;
  uint32_t count = 0;
  touch_changed(sim, hang, x, &count);
  // switches that have moved since
  for (uint32_t k = 0; sim->narrow && k < sim->stirred_count; k++) {
    const ModelAutomaton* automaton = &sim->model->automata[sim->stirred[k]];
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      uint32_t env = automaton->states[s].test_env;
      if (env == MODEL_NONE) continue;
      for (uint32_t i = hang->reader_begin[env]; i < hang->reader_begin[env + 1]; i++) {
        EngHangReader reader = hang->readers[i];
        if (reader.kind == ENG_READER_RHS) {
          touch(sim, hang->rhs.hanging[reader.at].output, &count);
        }
      }
    }
  }
  forget_touched(sim, count);
  if (count > sim->core.slide.count / PART_SHARE) return false;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = sim->value_touched[k];
    if (i < surfaces && !share_of(sim, i, t, x, &sim->value_last[i])) return false;
  }
  memcpy(sim->value_last_x, x, sim->core.mode->state_count * sizeof *x);
  sim->value_last_t = t;
  return true;
}

static SltStatus shares_at(EngSim* sim, double t, const double* x, bool pull, double* share) {
  EngSlide* slide = &sim->core.slide;
  const ModelMode* mode = sim->core.mode;
  if (slide->rest) return SLT_OK;
  if (slide->shifted) {
    const ModelContext* context = eng_context(sim);
    model_program_run(&mode->rhs, context, sim->side_regs[0].rhs, t, x, sim->side_f);
    shares_of_shifted(sim, sim->side_f, x, pull, share);
    return SLT_OK;
  }
  if (slide->direct) {
    value_run_ends(sim, t, x, sim->side_f);
    return shares_of_flows(sim, sim->side_f, x, pull, share);
  }
  SLT_TRY(ends_at(sim, t, x));
  if (pull) {
    const ModelContext* context = eng_context(sim);
    model_program_run(&mode->g_flow, context, sim->g_flow_regs, t, x, sim->side_g);
  }
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngValueSurface* s = &sim->value_surfaces[i];
    sim->value_wanted[i] = pull ? -slide->stiffness * sim->side_g[s->index] : 0.0;
    double range = sim->value_low[i] - sim->value_high[i];
    if (!(range > 0.0)) return SLT_ERR_NO_CONVERGENCE;
    share[i] = (sim->value_low[i] - sim->value_wanted[i]) / range;
  }
  if (slide->mixed) return SLT_OK;
  return refine(sim, t, x, sim->value_wanted, share) ? SLT_OK : SLT_ERR_NO_CONVERGENCE;
}

// ---- what hangs on which surface ----------------------------------------------------------------

static uint32_t surface_of_entry(const EngSim* sim, uint32_t env) {
  uint32_t found = sim->value_of_env[env];
  return found == MODEL_NONE ? NO_SURFACE : found / 2;
}

/// Surface of every output of a program, from the switches it reads, by a walk along its tape:
/// value_output_label. False: a block of equations is solved in it, or memory is short.
static bool label_outputs(EngSim* sim, const ModelProgram* program) {
  if (program->solve_count) return false;
  if (eng_grow(sim, (void**)&sim->value_labels, &sim->value_label_capacity, program->reg_count,
               sizeof(uint32_t)) < 0 ||
      eng_grow(sim, (void**)&sim->value_output_label, &sim->value_output_capacity,
               program->output_count, sizeof(uint32_t)) < 0) {
    return false;
  }
  uint32_t* label = sim->value_labels;
  memset(label, 0xff, program->reg_count * sizeof *label);
  for (uint32_t i = 0; i < program->input_count; i++) {
    label[program->inputs[i].reg] =
        surface_of_entry(sim, program->inputs[i].env % sim->model->env_count);
  }
  for (const ModelInstr* pc = program->code; pc->op != MODEL_OP_END; pc++) {
    uint32_t operands = model_op_operands(pc->op);
    uint32_t found = pc->op == MODEL_OP_SELECT ? label[pc->dst] : NO_SURFACE;
    if (operands > 0) found = value_join(found, label[pc->a]);
    if (operands > 1) found = value_join(found, label[pc->b]);
    label[pc->dst] = found;
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    sim->value_output_label[i] = label[program->outputs[i]];
  }
  return true;
}

/// The outputs that hang on a surface, from the labels of all. False: one hangs on several.
static bool parts_of_labels(EngSim* sim, uint32_t outputs, EngValuePart* parts, uint32_t* count) {
  *count = 0;
  for (uint32_t i = 0; i < outputs; i++) {
    uint32_t label = sim->value_output_label[i];
    if (label == MANY_SURFACES) return false;
    if (label != NO_SURFACE) parts[(*count)++] = (EngValuePart){i, label};
  }
  return true;
}

/// The same from the labels of the sets. `shifts`: all of them are shifted by numbers.
static bool parts_of_sets(const EngHang* hang, const EngHangProgram* program, EngValuePart* parts,
                          uint32_t* count, bool* shifts) {
  *count = 0;
  for (uint32_t i = 0; i < program->count; i++) {
    const EngHangOutput* hanging = &program->hanging[i];
    uint32_t label = hang->label[hanging->set];
    if (label == NO_SURFACE) continue;
    if (label == MANY_SURFACES) return false;
    *shifts &= hanging->shifts;
    parts[(*count)++] = (EngValuePart){hanging->output, label};
  }
  return true;
}

uint32_t value_label(const EngSim* sim, const EngHang* hang, uint32_t set) {
  uint32_t label = NO_SURFACE;
  for (uint32_t k = hang->begin[set]; k < hang->begin[set + 1]; k++) {
    label = value_join(label, surface_of_entry(sim, hang->members[k]));
  }
  return label;
}

static void label_sets(const EngSim* sim, const EngHang* hang) {
  hang->label[ENG_SET_EMPTY] = NO_SURFACE;
  hang->label[ENG_SET_WIDE] = MANY_SURFACES;
  for (uint32_t s = ENG_SET_FIRST; s < hang->set_count; s++) {
    hang->label[s] = value_label(sim, hang, s);
  }
}

/// The places that the switches of the surfaces write, and what they write below them.
static void label_entries(EngSim* sim) {
  memset(sim->value_of_env, 0xff, sim->model->env_count * sizeof *sim->value_of_env);
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    const EngValueSwitch* s = &sim->value_switches[i];
    const ModelState* states = sim->model->automata[s->automaton].states;
    for (uint32_t k = 0; k < 2; k++) {
      if (states[k].test_env == MODEL_NONE) continue;
      bool below = s->rises == (k == 0);
      sim->value_of_env[states[k].test_env] = 2 * s->surface + (below ? 1u : 0u);
    }
  }
}

/// Whether every quantity hangs on one surface at most, and every rate on its own; which. `shifts`:
/// all of them are shifted by numbers.
static bool can_mix(EngSim* sim, bool* shifts) {
  const ModelMode* mode = sim->core.mode;
  const EngSlide* slide = &sim->core.slide;
  *shifts = false;
  if (sim->options.sliding == SLT_SLIDING_UTKIN) return false;
  if (eng_grow(sim, (void**)&sim->value_rhs, &sim->value_rhs_capacity, mode->rhs.output_count,
               sizeof *sim->value_rhs) < 0 ||
      eng_grow(sim, (void**)&sim->value_full, &sim->value_full_capacity, mode->full.output_count,
               sizeof *sim->value_full) < 0) {
    return false;
  }
  label_entries(sim);
  const EngHang* hang = eng_hang(sim);
  if (hang) {
    label_sets(sim, hang);
  } else if (!label_outputs(sim, &mode->gdot)) {
    return false;
  }
  for (uint32_t i = 0; i < slide->count; i++) {
    uint32_t output = sim->value_surfaces[i].index;
    uint32_t label = hang ? hang->label[hang->gdot.set[output]] : sim->value_output_label[output];
    if (label != i && label != NO_SURFACE) return false;
  }
  if (hang) {
    *shifts = true;
    return parts_of_sets(hang, &hang->rhs, sim->value_rhs, &sim->value_rhs_count, shifts) &&
           parts_of_sets(hang, &hang->full, sim->value_full, &sim->value_full_count, shifts);
  }
  return label_outputs(sim, &mode->rhs) &&
         parts_of_labels(sim, mode->rhs.output_count, sim->value_rhs, &sim->value_rhs_count) &&
         label_outputs(sim, &mode->full) &&
         parts_of_labels(sim, mode->full.output_count, sim->value_full, &sim->value_full_count);
}

/// Inputs of a program with the switches of the surfaces below and above.
static void bind_both(const EngSim* sim, const ModelProgram* program, double* below,
                      double* above) {
  uint32_t present = sim->model->env_count;
  for (uint32_t i = 0; i < program->input_count; i++) {
    const ModelInput* input = &program->inputs[i];
    double low = sim->env[input->env];
    double high = low;
    uint32_t entry = input->env < present ? sim->value_of_env[input->env] : MODEL_NONE;
    if (entry != MODEL_NONE) {
      low = (double)(entry & 1u);
      high = 1.0 - low;
    }
    below[input->reg] = low;
    above[input->reg] = high;
  }
}

/// Room and constants for the programs on both sides.
static SltStatus room_for_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (sim->value_bound == mode) return SLT_OK;
  sim->value_bound = NULL;
  uint32_t outputs = mode->rhs.output_count > mode->full.output_count ? mode->rhs.output_count
                                                                      : mode->full.output_count;
  SLT_TRY(
      eng_grow(sim, (void**)&sim->value_out, &sim->value_out_capacity, outputs, sizeof(double)));
  for (uint32_t end = 0; end < 2; end++) {
    EngSideRegs* regs = &sim->side_regs[end];
    SLT_TRY(eng_grow(sim, (void**)&regs->rhs, &regs->rhs_capacity, mode->rhs.reg_count,
                     sizeof(double)));
    SLT_TRY(eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
                     sizeof(double)));
    SLT_TRY(eng_grow(sim, (void**)&regs->gdot, &regs->gdot_capacity, mode->gdot.reg_count,
                     sizeof(double)));
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_bind(&mode->full, sim->env, regs->full);
    model_program_bind(&mode->gdot, sim->env, regs->gdot);
  }
  sim->value_bound = mode;
  return SLT_OK;
}

/// Both sides with their switches in place, for the programs that are mixed.
static SltStatus bind_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(room_for_ends(sim));
  EngSideRegs* regs = sim->side_regs;
  bind_both(sim, &mode->rhs, regs[0].rhs, regs[1].rhs);
  bind_both(sim, &mode->full, regs[0].full, regs[1].full);
  if (!sim->core.slide.direct) bind_both(sim, &mode->gdot, regs[0].gdot, regs[1].gdot);
  return SLT_OK;
}

/// Whether g of every surface is a state or its negative, as in `sign(v)`; which.
static bool find_direct(EngSim* sim) {
  const uint32_t* direct = eng_hang_direct(sim);
  if (!direct) return false;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    uint32_t found = direct[s->index];
    if (found == MODEL_NONE) return false;
    s->state = found / 2;
    s->negative = found & 1u;
    sim->value_state[i] = s->state;
  }
  return true;
}

/// Whether no derivative hangs on a surface but that of the state that is its g.
static bool is_lean(const EngSim* sim) {
  for (uint32_t i = 0; i < sim->value_rhs_count; i++) {
    const EngValuePart* part = &sim->value_rhs[i];
    if (part->output != sim->value_surfaces[part->surface].state) return false;
  }
  return true;
}

/// Whether nothing hangs on the surfaces' relations but switches that follow one each.
static bool are_plain(EngSim* sim) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    s->eps = (double)INFINITY;
    for (uint32_t a = s->first; a != MODEL_NONE; a = sim->value_next[a]) {
      if (!sim->value_plain[a]) return false;
      s->eps = fmin(s->eps, sim->atoms[a].eps);
    }
  }
  return true;
}

static void set_bit(uint64_t* bits, uint32_t i) {
  bits[i / 64] |= (uint64_t)1 << i % 64;
}

/// Instructions that an output needs, and the states that they read; how many.
static uint32_t need(const ModelProgram* program, uint32_t output, uint64_t* instrs,
                     uint64_t* states) {
  const ModelSlices* slices = program->slices;
  for (uint32_t i = slices->begin[output]; i < slices->begin[output + 1]; i++) {
    const ModelInstr* pc = &program->code[slices->instrs[i]];
    uint32_t operands = model_op_operands(pc->op);
    set_bit(instrs, slices->instrs[i]);
    if (operands > 0 && pc->a - 1 < program->state_count) set_bit(states, pc->a - 1);
    if (operands > 1 && pc->b - 1 < program->state_count) set_bit(states, pc->b - 1);
  }
  return slices->begin[output + 1] - slices->begin[output];
}

/// The bits of a word that are set: the first one goes.
static uint32_t next_bit(uint64_t* word) {
  uint32_t bit = 0;
  while (!(*word >> bit & 0xffu)) {
    bit += 8;
  }
  while (!(*word >> bit & 1u)) {
    bit++;
  }
  *word &= *word - 1;
  return bit;
}

static SltStatus room_for_part(EngSim* sim, uint32_t most) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  size_t words = (size_t)rhs->code_count / 64 + (size_t)rhs->state_count / 64 + 2;
  SLT_TRY(eng_grow(sim, (void**)&sim->value_needed, &sim->value_needed_capacity, words,
                   sizeof *sim->value_needed));
  SLT_TRY(eng_grow(sim, (void**)&sim->value_code, &sim->value_code_capacity, (size_t)most + 1,
                   sizeof *sim->value_code));
  SLT_TRY(eng_grow(sim, (void**)&sim->value_reads, &sim->value_reads_capacity, rhs->state_count,
                   sizeof *sim->value_reads));
  SLT_TRY(eng_grow(sim, (void**)&sim->value_outputs, &sim->value_outputs_capacity,
                   rhs->output_count, sizeof *sim->value_outputs));
  SLT_TRY(eng_grow(sim, (void**)&sim->value_plain_runs, &sim->value_plain_capacity,
                   rhs->output_count, sizeof *sim->value_plain_runs));
  SLT_TRY(eng_grow(sim, (void**)&sim->value_pulled, &sim->value_pulled_capacity, rhs->output_count,
                   sizeof *sim->value_pulled));
  memset(sim->value_needed, 0, words * sizeof *sim->value_needed);
  return SLT_OK;
}

/// One more output: of the last run, or of a new one.
static void add_output(ModelPartOutput* runs, uint32_t* count, uint32_t output, uint32_t from) {
  if (*count > 0) {
    ModelPartOutput* last = &runs[*count - 1];
    if (last->output + last->count == output && last->from + last->count == from) {
      last->count++;
      return;
    }
  }
  runs[(*count)++] = (ModelPartOutput){output, from, 1};
}

/// Outputs by what they are: states that slide (value_pulled), others that are states
/// (value_plain_runs), and all others with what they need. False: that is too much.
static bool sort_outputs(EngSim* sim, uint32_t most, uint32_t* plain, uint32_t* count) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  uint64_t* states = sim->value_needed + rhs->code_count / 64 + 1;
  bool listed = rhs->slices != NULL;
  uint32_t needed = 0;
  for (uint32_t k = 0; k < rhs->output_count; k++) {
    uint32_t reg = rhs->outputs[k];
    if (sim->value_of_state[k] != MODEL_NONE) {
      add_output(sim->value_pulled, &sim->value_pulled_count, k, k);
    } else if (reg - 1 < rhs->state_count) {
      add_output(sim->value_plain_runs, plain, k, reg - 1);
    } else if (listed) {
      add_output(sim->value_outputs, count, k, reg);
      listed = !rhs->slices->whole[k];
      if (listed) needed += need(rhs, k, sim->value_needed, states);
      listed = listed && needed <= most;
    }
  }
  return listed;
}

SltStatus value_choose_part(EngSim* sim) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  uint32_t most = rhs->code_count / PART_SHARE;
  uint32_t plain = 0;
  uint32_t outputs = 0;
  sim->value_part = (ModelPart){.code = NULL};
  sim->value_pulled_count = 0;
  SLT_TRY(room_for_part(sim, most));
  if (!sort_outputs(sim, most, &plain, &outputs)) return SLT_OK;
  uint32_t words = rhs->code_count / 64 + 1;
  uint32_t at = 0;
  for (uint32_t w = 0; w < words; w++) {
    for (uint64_t left = sim->value_needed[w]; left;) {
      sim->value_code[at++] = rhs->code[64 * w + next_bit(&left)];
    }
  }
  sim->value_code[at] = (ModelInstr){.op = MODEL_OP_END};
  uint32_t reads = 0;
  for (uint32_t w = 0; w <= rhs->state_count / 64; w++) {
    for (uint64_t left = sim->value_needed[words + w]; left;) {
      sim->value_reads[reads++] = 64 * w + next_bit(&left);
    }
  }
  sim->value_part = (ModelPart){.code = sim->value_code,
                                .reads = sim->value_reads,
                                .plain = sim->value_plain_runs,
                                .outputs = sim->value_outputs,
                                .read_count = reads,
                                .plain_count = plain,
                                .output_count = outputs};
  return SLT_OK;
}

/// Which states slide.
static void map_states(EngSim* sim) {
  memset(sim->value_of_state, 0xff, sim->core.mode->state_count * sizeof *sim->value_of_state);
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    sim->value_of_state[sim->value_state[i]] = i;
  }
}

/// How the motion along the present surfaces is computed.
static SltStatus choose_way(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  bool shifts = false;
  slide->mixed = false;
  slide->direct = false;
  slide->shifted = false;
  slide->lean = false;
  slide->local = false;
  sim->value_last_t = (double)NAN;
  if (!can_mix(sim, &shifts)) return SLT_OK;
  slide->direct = find_direct(sim);
  SLT_TRY(bind_ends(sim));
  slide->mixed = true;
  slide->shifted = slide->direct && shifts && !sim->has_auxiliary;
  slide->lean = slide->shifted && is_lean(sim);
  slide->local = slide->lean && are_plain(sim);
  if (!slide->lean) return SLT_OK;
  map_states(sim);
  return value_choose_part(sim);
}

SltStatus eng_value_rebind(EngSim* sim) {
  // by how much things are shifted was measured when the motion began, and stands in the snapshot
  bool shifted = sim->core.slide.shifted;
  sim->value_bound = NULL;
  SLT_TRY(choose_way(sim));
  sim->core.slide.shifted &= shifted;
  sim->core.slide.lean &= shifted;
  sim->core.slide.local &= shifted;
  return SLT_OK;
}

void value_measure_parts(EngSim* sim, uint32_t first_rhs, uint32_t first_full) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->core.t;
  for (uint32_t i = first_rhs; i < sim->value_rhs_count; i++) {
    uint32_t output = sim->value_rhs[i].output;
    sim->value_rhs_shift[output] = sim->value_out[output] - sim->side_f[output];
  }
  if (first_full == sim->value_full_count) return;
  model_program_run(&mode->full, context, sim->side_regs[0].full, t, sim->x, sim->full);
  model_program_run(&mode->full, context, sim->side_regs[1].full, t, sim->x, sim->value_out);
  for (uint32_t i = first_full; i < sim->value_full_count; i++) {
    uint32_t output = sim->value_full[i].output;
    sim->value_full_shift[output] = sim->value_out[output] - sim->full[output];
  }
}

/// By how much what hangs on the surfaces is shifted across them, at the present point. (It is the
/// same everywhere but for rounding.)
static void measure_shifts(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  value_run_ends(sim, sim->core.t, sim->x, sim->side_f);
  rates_of_flows(sim, sim->side_f);
  for (uint32_t i = 0; i < slide->count; i++) {
    double fall = sim->value_low[i] - sim->value_high[i];
    if (!(fall > 0.0)) slide->shifted = false;
    sim->value_fall[i] = sim->value_surfaces[i].negative ? -fall : fall;
  }
  value_measure_parts(sim, 0, 0);
  slide->lean &= slide->shifted;
  slide->local &= slide->shifted;
}

/// Outputs of both sides combined, each with the share of the surface it hangs on.
static void mix(const EngSim* sim, const EngValuePart* parts, uint32_t count, const double* high,
                double* out) {
  for (uint32_t i = 0; i < count; i++) {
    double a = sim->value_share[parts[i].surface];
    uint32_t k = parts[i].output;
    out[k] = (1.0 - a) * out[k] + a * high[k];
  }
}

/// The same from the side below and the shifts.
static void shift(const EngSim* sim, const EngValuePart* parts, uint32_t count,
                  const double* shifts, double* out) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t output = parts[i].output;
    out[output] += sim->value_share[parts[i].surface] * shifts[output];
  }
}

// ---- surfaces -----------------------------------------------------------------------------------

static int compare_probes(const void* a, const void* b) {
  const EngValueProbe* p = a;
  const EngValueProbe* q = b;
  double x = fabs(p->g);
  double y = fabs(q->g);
  if (x != y) return x < y ? -1 : 1;
  return p->atom < q->atom ? -1 : p->atom > q->atom;
}

static int compare_surfaces(const void* a, const void* b) {
  uint32_t x = ((const EngValueSurface*)a)->atom;
  uint32_t y = ((const EngValueSurface*)b)->atom;
  return x < y ? -1 : x > y;
}

/// Whether a relation may be part of a surface, wherever the motion is.
bool value_may_bound(const EngSim* sim, uint32_t atom) {
  const ModelAtom* model = &sim->model->atoms[atom];
  if (!model->continuous || model->type == MODEL_ATOM_NOEVENT) return false;
  return model->relation != MODEL_REL_EQ && !sim->atoms[atom].left_now;
}

bool value_is_at_zero(const EngSim* sim, uint32_t atom, double g) {
  return fabs(g) <= fmax(sim->atoms[atom].zone, sim->atoms[atom].eps);
}

static void begin_surfaces(EngSim* sim) {
  memset(sim->value_of_atom, 0xff, sim->model->atom_count * sizeof *sim->value_of_atom);
  sim->core.slide.count = 0;
}

void value_add_relation(EngSim* sim, uint32_t surface, uint32_t atom, bool same) {
  EngValueSurface* s = &sim->value_surfaces[surface];
  if (s->first == MODEL_NONE) {
    s->first = atom;
  } else {
    sim->value_next[s->last] = atom;
  }
  s->last = atom;
  s->wanted |= sim->atoms[atom].surface;
  sim->value_next[atom] = MODEL_NONE;
  sim->value_of_atom[atom] = surface;
  sim->value_same[atom] = same;
}

/// Surfaces where every relation at zero is a state or its negative: those of one state are one.
/// False: there are others.
static bool surfaces_of_states(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const uint32_t* direct = eng_hang_direct(sim);
  if (!direct) return false;
  EngSlide* slide = &sim->core.slide;
  begin_surfaces(sim);
  memset(sim->value_of_state, 0xff, mode->state_count * sizeof *sim->value_of_state);
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t atom = mode->atoms[i];
    if (!value_may_bound(sim, atom)) continue;
    if (direct[i] == MODEL_NONE) return false;
    uint32_t state = direct[i] / 2;
    bool negative = direct[i] & 1u;
    if (!value_is_at_zero(sim, atom, sim->x[state])) continue;
    uint32_t surface = sim->value_of_state[state];
    if (surface == MODEL_NONE) {
      surface = slide->count++;
      sim->value_of_state[state] = surface;
      sim->value_surfaces[surface] = (EngValueSurface){
          .atom = atom, .index = i, .state = state, .negative = negative, .first = MODEL_NONE};
    }
    value_add_relation(sim, surface, atom, sim->value_surfaces[surface].negative == negative);
  }
  return true;
}

/// Relations at zero, sorted into surfaces by their values at the probe point.
static SltStatus surfaces_of_probes(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(eng_probe(sim, mode));
  uint32_t n = 0;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t atom = mode->atoms[i];
    if (!value_may_bound(sim, atom) || !value_is_at_zero(sim, atom, sim->side_g[i])) continue;
    if (sim->side_probe[i] == 0.0) continue;
    sim->value_probes[n++] = (EngValueProbe){sim->side_probe[i], atom, i};
  }
  qsort(sim->value_probes, n, sizeof *sim->value_probes, compare_probes);
  begin_surfaces(sim);
  EngSlide* slide = &sim->core.slide;
  for (uint32_t k = 0; k < n;) {
    uint32_t end = k + 1;
    double size = fabs(sim->value_probes[k].g);
    while (end < n && fabs(sim->value_probes[end].g) - size <= SAME_SURFACE * size) {
      end++;
    }
    uint32_t lead = k;
    for (uint32_t m = k; m < end; m++) {
      if (sim->value_probes[m].atom < sim->value_probes[lead].atom) lead = m;
    }
    const EngValueProbe* first = &sim->value_probes[lead];
    uint32_t surface = slide->count++;
    sim->value_surfaces[surface] =
        (EngValueSurface){.atom = first->atom, .index = first->index, .first = MODEL_NONE};
    for (uint32_t m = k; m < end; m++) {
      const EngValueProbe* probe = &sim->value_probes[m];
      value_add_relation(sim, surface, probe->atom, probe->g * first->g > 0.0);
    }
    k = end;
  }
  qsort(sim->value_surfaces, slide->count, sizeof *sim->value_surfaces, compare_surfaces);
  for (uint32_t s = 0; s < slide->count; s++) {
    for (uint32_t a = sim->value_surfaces[s].first; a != MODEL_NONE; a = sim->value_next[a]) {
      sim->value_of_atom[a] = s;
    }
  }
  return SLT_OK;
}

/// Truths of a surface's relations as on one side, in the environment.
static void impose(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->value_surfaces[surface].first; a != MODEL_NONE; a = sim->value_next[a]) {
    sim->env[sim->model->atoms[a].env] = above == sim->value_same[a] ? 1.0 : 0.0;
  }
}

/// The surface among ours that a guard hangs on; MODEL_NONE for none. `several`: more than one.
static uint32_t surface_of(const EngSim* sim, const ModelGuard* guard, bool* several) {
  uint32_t found = MODEL_NONE;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t s = sim->value_of_atom[guard->atoms[i]];
    if (s == MODEL_NONE || s == found) continue;
    if (found != MODEL_NONE) *several = true;
    found = s;
  }
  return found;
}

/// Whether the switch follows the surface: it is on above it and off below (`rises`), or the other
/// way round.
static bool follows(EngSim* sim, uint32_t automaton, uint32_t surface, bool* rises) {
  uint32_t one = sim->value_follows[automaton];
  if (one != MODEL_NONE) {
    *rises = sim->value_same[one / 2] == (one & 1u);
    return true;
  }
  const ModelGuard* condition = sim->model->automata[automaton].condition;
  impose(sim, surface, false);
  bool low = eng_guard(sim, condition);
  impose(sim, surface, true);
  *rises = eng_guard(sim, condition);
  return low != *rises;
}

/// Which switches follow which surface. False when anything else hangs on them: states with guards
/// of their own, switches of equations, switches of two surfaces. Leaves the truths of the surfaces
/// in the environment as on one side.
static bool find_switches(EngSim* sim) {
  const Model* model = sim->model;
  sim->value_switch_count = 0;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    if (automaton->parent_automaton != MODEL_NONE && !eng_automaton_active(sim, a)) continue;
    bool several = false;
    if (automaton->kind != MODEL_AUTOMATON_SWITCH) {
      const ModelState* state = &automaton->states[sim->state[a]];
      for (uint32_t i = 0; i < state->outgoing_count; i++) {
        const ModelGuard* guard = &model->transitions[state->outgoing[i]].guard;
        if (surface_of(sim, guard, &several) != MODEL_NONE) return false;
      }
      continue;
    }
    uint32_t one = sim->value_follows[a];
    uint32_t surface = one != MODEL_NONE ? sim->value_of_atom[one / 2]
                                         : surface_of(sim, automaton->condition, &several);
    if (several) return false;
    bool rises = false;
    if (surface == MODEL_NONE || !follows(sim, a, surface, &rises)) continue;
    if (automaton->has_bodies) return false;
    sim->value_switches[sim->value_switch_count++] =
        (EngValueSwitch){.automaton = a, .surface = surface, .rises = rises};
    sim->value_surfaces[surface].separates = true;
    bool above = (sim->state[a] == 1) == rises;
    sim->value_surfaces[surface].stands_above |= above;
    sim->value_surfaces[surface].stands_below |= !above;
  }
  return sim->value_switch_count > 0;
}

typedef enum Keep { KEEP_WANTED, KEEP_SEPARATING, KEEP_SLIDING } Keep;

/// Leave out the surfaces that are not to be kept, and what belongs to them; renumbers. Whether
/// there were any.
static bool compact(EngSim* sim, Keep what) {
  EngSlide* slide = &sim->core.slide;
  uint32_t n = 0;
  for (uint32_t i = 0; i < slide->count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    bool keep = what == KEEP_WANTED ? s->wanted : what == KEEP_SLIDING ? s->slides : s->separates;
    s->number = keep ? n++ : MODEL_NONE;
  }
  if (n == slide->count) return false;
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngValueSurface* s = &sim->value_surfaces[i];
    for (uint32_t a = s->first; a != MODEL_NONE; a = sim->value_next[a]) {
      sim->value_of_atom[a] = s->number;
    }
  }
  uint32_t switches = 0;
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    EngValueSwitch s = sim->value_switches[i];
    s.surface = sim->value_surfaces[s.surface].number;
    if (s.surface != MODEL_NONE) sim->value_switches[switches++] = s;
  }
  sim->value_switch_count = switches;
  for (uint32_t i = 0; i < slide->count; i++) {
    uint32_t to = sim->value_surfaces[i].number;
    if (to == MODEL_NONE) continue;
    sim->value_share[to] = sim->value_share[i];
    sim->value_surfaces[to] = sim->value_surfaces[i];
  }
  slide->count = n;
  return true;
}

/// The surfaces that the motion stands on, and the switches that follow them.
static bool find_surfaces(EngSim* sim) {
  const EngSlide* slide = &sim->core.slide;
  if (sim->core.mode->state_count == 0) return false;
  if (!surfaces_of_states(sim) && surfaces_of_probes(sim) < 0) return false;
  sim->value_switch_count = 0;
  compact(sim, KEEP_WANTED);
  if (slide->count == 0 || !find_switches(sim)) return false;
  compact(sim, KEEP_SEPARATING);
  return true;
}

bool eng_value_many(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  uint32_t seen[ENG_SURFACES_MAX];
  uint32_t count = 0;
  uint32_t marked = 0;
  const uint32_t* direct = NULL;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    marked += sim->atoms[mode->atoms[sim->active[place]]].surface;
    if (marked > ENG_SURFACES_MAX) break;
  }
  if (marked > ENG_SURFACES_MAX) direct = eng_hang_direct(sim);
  for (uint32_t place = 0; direct && place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t atom = mode->atoms[i];
    if (!sim->atoms[atom].surface || direct[i] == MODEL_NONE || !value_may_bound(sim, atom))
      continue;
    uint32_t state = direct[i] / 2;
    if (!value_is_at_zero(sim, atom, sim->x[state])) continue;
    bool known = false;
    for (uint32_t k = 0; k < count; k++) {
      known |= seen[k] == state;
    }
    if (known) continue;
    if (count == ENG_SURFACES_MAX) return true;
    seen[count++] = state;
  }
  return false;
}

// ---- the continuation ---------------------------------------------------------------------------

/// Side of a surface that the present positions stand for.
bool value_present_side(const EngSim* sim, uint32_t surface) {
  const EngValueSurface* s = &sim->value_surfaces[surface];
  if (s->stands_above != s->stands_below) return s->stands_above;
  return sim->atoms[s->atom].truth;
}

static void warn_of_escaping(EngSim* sim, const EngValueSurface* s) {
  EngAtom* atom = &sim->atoms[s->atom];
  if (atom->warned_escaping || !sim->on_warning) return;
  atom->warned_escaping = true;
  char message[300];
  snprintf(
      message, sizeof message,
      "at t = %s the motion stands on this boundary and could leave it to either side; it goes "
      "on where the relation %s",
      eng_number(sim->core.t).text, s->above ? "holds" : "does not hold");
  sim->on_warning(sim->warning_user, DIAG_W0804, sim->model->atoms[s->atom].span, message);
}

/// First assignment: every surface by its rates on both sides, the others sliding with it.
static void assign(EngSim* sim, double tolerance) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    double low = sim->value_low[i];
    double high = sim->value_high[i];
    bool present = value_present_side(sim, i);
    s->slides = low > tolerance && high < -tolerance;
    if (low < -tolerance && high > tolerance) {
      s->above = present;
      warn_of_escaping(sim, s);
    } else if (low > tolerance || high > tolerance) {
      s->above = true;
    } else if (low < -tolerance || high < -tolerance) {
      s->above = false;
    } else {
      s->above = present;  // no direction at all
    }
    double range = low - high;
    sim->value_share[i] = s->slides ? low / range : s->above ? 1.0 : 0.0;
  }
}

/// Whether the assignment is consistent; corrects the surfaces where it is not.
static bool consistent(EngSim* sim, double tolerance) {
  bool good = true;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    double rate = sim->value_rate[i];
    if (s->slides) {
      if (sim->value_share[i] > 0.0 && sim->value_share[i] < 1.0) continue;
      s->slides = false;
      s->above = sim->value_share[i] >= 1.0;
      good = false;
    } else if (s->above ? rate < -tolerance : rate > tolerance) {
      s->slides = sim->value_low[i] > tolerance && sim->value_high[i] < -tolerance;
      s->above = !s->above;
      good = false;
    }
    if (!s->slides) sim->value_share[i] = s->above ? 1.0 : 0.0;
  }
  return good;
}

static bool search(EngSim* sim) {
  uint32_t n = sim->core.slide.count;
  double t = sim->core.t;
  for (uint32_t i = 0; i < n; i++) {
    sim->value_surfaces[i].slides = true;
    sim->value_wanted[i] = 0.0;
  }
  if (sim->core.slide.direct) {
    value_run_ends(sim, t, sim->x, sim->side_f);
    rates_of_flows(sim, sim->side_f);
  } else if (ends_at(sim, t, sim->x) < 0) {
    return false;
  }
  double tolerance = VALUE_RATE_TOLERANCE * rate_scale(sim);
  assign(sim, tolerance);
  // where every rate hangs on its own surface alone, so does what follows from it
  if (sim->core.slide.mixed) return true;
  for (uint32_t turn = 0; turn < ASSIGNMENTS; turn++) {
    if (!refine(sim, t, sim->x, sim->value_wanted, sim->value_share)) return false;
    if (consistent(sim, tolerance)) return true;
  }
  return false;
}

static bool side_after(const EngSim* sim, uint32_t surface) {
  const EngValueSurface* s = &sim->value_surfaces[surface];
  return s->slides ? value_present_side(sim, surface) : s->above;
}

void value_latch(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->value_surfaces[surface].first; a != MODEL_NONE; a = sim->value_next[a]) {
    EngAtom* atom = &sim->atoms[a];
    atom->truth = above == sim->value_same[a];
    atom->held = true;
    atom->held_changes = sim->core.changes;
    atom->located = false;
    sim->env[sim->model->atoms[a].env] = atom->truth ? 1.0 : 0.0;
  }
}

/// Truths as the motion goes on; the positions of the switches in side_work. Whether some of them
/// have to move.
static bool latch(EngSim* sim) {
  memcpy(sim->side_work, sim->state, sim->model->automaton_count * sizeof *sim->state);
  bool moves = false;
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    const EngValueSwitch* s = &sim->value_switches[i];
    uint32_t position = side_after(sim, s->surface) == s->rises ? 1 : 0;
    moves |= position != sim->state[s->automaton];
    sim->side_work[s->automaton] = position;
  }
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    value_latch(sim, i, side_after(sim, i));
  }
  return moves;
}

bool eng_value_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  EngSlide* slide = &sim->core.slide;
  *verdict = ENG_SLIDE_NONE;
  *slide = (EngSlide){.by_value = true, .base = sim->core.mode};
  bool able = find_surfaces(sim);
  eng_restore_truths(sim);
  able = able && choose_way(sim) >= 0 && search(sim);
  if (!slide->mixed) publish_positions(sim);
  if (!able) {
    *slide = (EngSlide){.count = 0};
    return false;
  }
  uint32_t sliding = 0;
  for (uint32_t i = 0; i < slide->count; i++) {
    sliding += sim->value_surfaces[i].slides;
  }
  sim->slide_decided = true;
  if (sliding == 0 && !settled) {
    // a plain crossing is left to the guards unless they have had their say
    *slide = (EngSlide){.count = 0};
    return true;
  }
  if (latch(sim)) *verdict = ENG_SLIDE_MOVES;
  bool fewer = compact(sim, KEEP_SLIDING);
  if (slide->count && *verdict == ENG_SLIDE_NONE) {
    *verdict = ENG_SLIDE_ALONG;
    if ((fewer || !slide->mixed) && choose_way(sim) < 0) return false;
    if (slide->shifted) measure_shifts(sim);
  }
  if (slide->count == 0) *slide = (EngSlide){.count = 0};
  return true;
}

// ---- motion -------------------------------------------------------------------------------------

/// One run of the equations: what is shifted by the surfaces follows from the side below.
static void shifted_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const EngSlide* slide = &sim->core.slide;
  const ModelContext* context = eng_context(sim);
  const ModelProgram* rhs = &sim->core.mode->rhs;
  if (slide->lean && sim->value_part.code) {
    model_program_run_part(rhs, context, &sim->value_part, sim->side_regs[0].rhs, t, x, dx);
  } else {
    model_program_run(rhs, context, sim->side_regs[0].rhs, t, x, dx);
  }
  if (!slide->lean) {
    shares_of_shifted(sim, dx, x, true, sim->value_share);
    shift(sim, sim->value_rhs, sim->value_rhs_count, sim->value_rhs_shift, dx);
  }
  // the shares are those with which the surfaces are drawn to zero
  double pull = -slide->stiffness;
  for (uint32_t i = 0; slide->lean && i < sim->value_pulled_count; i++) {
    ModelPartOutput run = sim->value_pulled[i];
    for (uint32_t k = run.output; k < run.output + run.count; k++) {
      dx[k] = pull * x[k];
    }
  }
  for (uint32_t i = 0; !slide->lean && i < slide->count; i++) {
    uint32_t state = sim->value_state[i];
    dx[state] = pull * x[state];
  }
}

SltStatus eng_value_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->side_regs[2];
  if (sim->core.slide.shifted) {
    shifted_rhs(sim, t, x, dx);
    return SLT_OK;
  }
  if (sim->core.slide.direct && !sim->core.slide.rest) {
    value_run_ends(sim, t, x, dx);
    SLT_TRY(shares_of_flows(sim, dx, x, true, sim->value_share));
    mix(sim, sim->value_rhs, sim->value_rhs_count, sim->value_out, dx);
    return SLT_OK;
  }
  SltStatus status = shares_at(sim, t, x, true, sim->value_share);
  if (sim->core.slide.mixed) {
    SLT_TRY(status);
    model_program_run(&mode->rhs, context, sim->side_regs[0].rhs, t, x, dx);
    model_program_run(&mode->rhs, context, sim->side_regs[1].rhs, t, x, sim->value_out);
    mix(sim, sim->value_rhs, sim->value_rhs_count, sim->value_out, dx);
    return SLT_OK;
  }
  if (status >= 0) {
    status =
        eng_grow(sim, (void**)&regs->rhs, &regs->rhs_capacity, mode->rhs.reg_count, sizeof(double));
  }
  if (status >= 0) {
    publish_shares(sim, sim->value_share);
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_guess(&mode->rhs, sim->guess, regs->rhs);
    model_program_run(&mode->rhs, context, regs->rhs, t, x, dx);
  }
  publish_positions(sim);
  return status;
}

void eng_value_full(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->side_regs[2];
  SltStatus status = SLT_OK;
  if (sim->narrow && sim->core.slide.local) eng_narrow_patch(sim);
  const EngHang* hang = sim->core.slide.lean ? eng_hang(sim) : NULL;
  if (value_note_shares(sim, hang, t, sim->x, sim->core.slide.count)) {
    memcpy(sim->value_share, sim->value_last, sim->core.slide.count * sizeof(double));
  } else {
    status = shares_at(sim, t, sim->x, false, sim->value_share);
  }
  if (sim->core.slide.mixed) {
    if (status < 0) return;
    model_program_run(&mode->full, context, sim->side_regs[0].full, t, sim->x, sim->full);
    if (sim->core.slide.shifted) {
      shift(sim, sim->value_full, sim->value_full_count, sim->value_full_shift, sim->full);
    } else {
      model_program_run(&mode->full, context, sim->side_regs[1].full, t, sim->x, sim->value_out);
      mix(sim, sim->value_full, sim->value_full_count, sim->value_out, sim->full);
    }
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      sim->env[mode->full_env[i]] = sim->full[i];
    }
    return;
  }
  if (status >= 0) {
    status = eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
                      sizeof(double));
  }
  if (status >= 0) {
    publish_shares(sim, sim->value_share);
    model_program_bind(&mode->full, sim->env, regs->full);
    model_program_guess(&mode->full, sim->guess, regs->full);
    model_program_run(&mode->full, context, regs->full, t, sim->x, sim->full);
    for (uint32_t i = 0; i < mode->full.output_count; i++) {
      sim->env[mode->full_env[i]] = sim->full[i];
    }
  }
  publish_positions(sim);
}

bool eng_value_shares(EngSim* sim, double* share) {
  SltStatus status = shares_at(sim, sim->core.t, sim->x, false, sim->value_share);
  if (!sim->core.slide.mixed) publish_positions(sim);
  if (status < 0) return false;
  memcpy(share, sim->value_share, sim->core.slide.count * sizeof *share);
  return true;
}

void eng_value_side(EngSim* sim, uint32_t surface, bool above, const double* share, double* values,
                    uint8_t* known) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->side_regs[2];
  if (eng_grow(sim, (void**)&regs->full, &regs->full_capacity, mode->full.reg_count,
               sizeof(double)) < 0) {
    return;
  }
  memcpy(sim->value_trial, share, sim->core.slide.count * sizeof *share);
  sim->value_trial[surface] = above ? 1.0 : 0.0;
  publish_shares(sim, sim->value_trial);
  model_program_bind(&mode->full, sim->env, regs->full);
  model_program_guess(&mode->full, sim->guess, regs->full);
  model_program_run(&mode->full, context, regs->full, sim->core.t, sim->x, sim->full);
  publish_positions(sim);
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    values[mode->full_env[i]] += sim->full[i];
    known[mode->full_env[i]] = 1;
  }
}

// ---- leaving ------------------------------------------------------------------------------------

typedef struct Exit {
  EngSim* sim;
  uint32_t surface;
  bool above;
} Exit;

static SltStatus shares_on_trial(EngSim* sim, double t) {
  num_dense_eval(sim->stepper, t, sim->x);
  SltStatus status = shares_at(sim, t, sim->x, false, sim->value_share);
  if (!sim->core.slide.mixed) publish_positions(sim);
  return status;
}

/// Share of one surface alone; false where that is not possible.
static bool share_on_trial(EngSim* sim, uint32_t surface, double t, double* share) {
  const EngValueSurface* s = &sim->value_surfaces[surface];
  const ModelProgram* rhs = &sim->core.mode->rhs;
  const ModelContext* context = eng_context(sim);
  EngTrialPoint point = {sim->stepper, t};
  double f[2] = {0.0, 0.0};
  if (!sim->core.slide.direct) return false;
  bool shifted = sim->core.slide.shifted;
  for (uint32_t end = 0; end < (shifted ? 1u : 2u); end++) {
    if (!model_program_run_output(rhs, context, sim->side_regs[end].rhs, t, eng_trial_state, &point,
                                  s->state, &f[end])) {
      return false;
    }
  }
  if (shifted) {
    *share = f[0] / sim->value_fall[surface];
    return true;
  }
  double sign = s->negative ? -1.0 : 1.0;
  double range = sign * f[0] - sign * f[1];
  *share = sign * f[0] / range;
  return range > 0.0;
}

static SltStatus exit_function(void* user, double t, double* value) {
  const Exit* e = user;
  double a = 0.0;
  if (!share_on_trial(e->sim, e->surface, t, &a)) {
    SLT_TRY(shares_on_trial(e->sim, t));
    a = e->sim->value_share[e->surface];
  }
  *value = e->above ? a - 1.0 : -a;
  return SLT_OK;
}

/// The shares at the end of the trial before are those at the begin of this one, if nothing has
/// happened in between.
static bool shares_are_known(EngSim* sim, double t_from) {
  uint32_t n = sim->core.mode->state_count;
  if (sim->value_last_t != t_from || t_from != sim->stepper->trial.t0) return false;
  return memcmp(sim->value_last_x, sim->stepper->trial.x0, n * sizeof(double)) == 0;
}

static double distance(double share, bool above) {
  return above ? share - 1.0 : -share;
}

/// Shares of the touched surfaces in the middle and at the end, one by one. False: there are many,
/// or that is not possible.
static bool share_touched(EngSim* sim, double middle, double t_end, uint32_t* count) {
  const EngHang* hang = sim->core.slide.lean ? eng_hang(sim) : NULL;
  if (!hang || !hang->has_rows) return false;
  num_dense_eval(sim->stepper, middle, sim->probe_x);
  num_dense_eval(sim->stepper, t_end, sim->x);
  *count = 0;
  touch_changed(sim, hang, sim->probe_x, count);
  touch_changed(sim, hang, sim->x, count);
  forget_touched(sim, *count);
  if (*count > sim->core.slide.count / PART_SHARE) return false;
  for (uint32_t k = 0; k < *count; k++) {
    uint32_t i = sim->value_touched[k];
    if (!share_of(sim, i, middle, sim->probe_x, &sim->value_middle[i]) ||
        !share_of(sim, i, t_end, sim->x, &sim->value_last[i])) {
      return false;
    }
  }
  return true;
}

/// The first exit of a surface, if it is before `first`.
static double exit_of(EngSim* sim, uint32_t i, const double t[3], double first, uint32_t* surface,
                      bool* above) {
  double between = sim->value_middle[i];
  double last = sim->value_last[i];
  if (between >= 0.0 && between <= 1.0 && last >= 0.0 && last <= 1.0) return first;
  for (uint32_t side = 0; side < 2; side++) {
    Exit e = {sim, i, side == 1};
    double g[3] = {distance(sim->value_begin[i], e.above), distance(between, e.above),
                   distance(last, e.above)};
    double found = eng_exit_time(exit_function, &e, t, g);
    // of several at once that of the first relation, whatever the order of the surfaces
    bool earlier =
        found < first || (found == first && isfinite(found) && *surface != i &&
                          sim->value_surfaces[i].atom < sim->value_surfaces[*surface].atom);
    if (!earlier) continue;
    first = found;
    *surface = i;
    *above = e.above;
  }
  return first;
}

double eng_value_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above) {
  uint32_t n = sim->core.slide.count;
  size_t states = sim->core.mode->state_count * sizeof(double);
  double t_end = sim->stepper->trial.t;
  double middle = t_from + 0.5 * (t_end - t_from);
  double first = (double)INFINITY;
  if (!shares_are_known(sim, t_from)) {
    if (shares_on_trial(sim, t_from) < 0) return t_from;
    memcpy(sim->value_last, sim->value_share, n * sizeof(double));
    memcpy(sim->value_last_x, sim->x, states);
  }
  memcpy(sim->value_begin, sim->value_last, n * sizeof(double));
  uint32_t touched = 0;
  bool few = share_touched(sim, middle, t_end, &touched);
  if (!few) {
    sim->value_last_t = (double)NAN;
    if (shares_on_trial(sim, middle) < 0) return first;
    memcpy(sim->value_middle, sim->value_share, n * sizeof(double));
    if (shares_on_trial(sim, t_end) < 0) return first;
    memcpy(sim->value_last, sim->value_share, n * sizeof(double));
  }
  sim->value_last_t = t_end;
  memcpy(sim->value_last_x, sim->x, states);
  for (uint32_t k = 0; k < (few ? touched : n); k++) {
    uint32_t i = few ? sim->value_touched[k] : k;
    first = exit_of(sim, i, (double[3]){t_from, middle, t_end}, first, surface, above);
  }
  return first;
}

void eng_value_leave(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->value_surfaces[surface].first; a != MODEL_NONE; a = sim->value_next[a]) {
    EngAtom* atom = &sim->atoms[a];
    atom->truth = above == sim->value_same[a];
    atom->left_now = true;
    sim->env[sim->model->atoms[a].env] = atom->truth ? 1.0 : 0.0;
  }
  memcpy(sim->side_work, sim->state, sim->model->automaton_count * sizeof *sim->state);
  if (sim->narrow) {
    eng_narrow_leave(sim, surface, above);
  } else {
    for (uint32_t i = 0; i < sim->value_switch_count; i++) {
      const EngValueSwitch* s = &sim->value_switches[i];
      if (s->surface == surface) sim->side_work[s->automaton] = above == s->rises ? 1 : 0;
    }
  }
  sim->core.slide = (EngSlide){.count = 0};
}

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
#include "engine/detect.h"
#include "engine/internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_TOLERANCE 1e-9   // relative to the largest rate: smaller ones have no direction
#define SAME_SURFACE   1e-9   // relative difference of g at the probe point
#define SOLVED         1e-10  // residual of the rates, relative to their range
#define ITERATIONS     60
#define ASSIGNMENTS    40  // changes of who slides, in one search

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

/// Flows on both sides, each with its switches in place: value_below, value_out.
static void run_ends(EngSim* sim, double t, const double* x, double* below) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->rhs, context, sim->side_regs[0].rhs, t, x, below);
  model_program_run(&mode->rhs, context, sim->side_regs[1].rhs, t, x, sim->value_out);
}

/// Shares from the flows on both sides: where g is a state its rate is one of their components.
static SltStatus shares_of_flows(EngSim* sim, const double* below, const double* x, bool pull,
                                 double* share) {
  const EngSlide* slide = &sim->core.slide;
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngValueSurface* s = &sim->value_surfaces[i];
    double sign = s->negative ? -1.0 : 1.0;
    double low = sign * below[s->state];
    double high = sign * sim->value_out[s->state];
    double wanted = pull ? -slide->stiffness * (sign * x[s->state]) : 0.0;
    double range = low - high;
    if (!(range > 0.0)) return SLT_ERR_NO_CONVERGENCE;
    sim->value_low[i] = low;
    sim->value_high[i] = high;
    sim->value_wanted[i] = wanted;
    share[i] = (low - wanted) / range;
  }
  return SLT_OK;
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

static SltStatus shares_at(EngSim* sim, double t, const double* x, bool pull, double* share) {
  EngSlide* slide = &sim->core.slide;
  const ModelMode* mode = sim->core.mode;
  if (slide->rest) return SLT_OK;
  if (slide->direct) {
    run_ends(sim, t, x, sim->side_f);
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

#define NO_SURFACE    UINT32_MAX
#define MANY_SURFACES (UINT32_MAX - 1)

static uint32_t join(uint32_t a, uint32_t b) {
  if (a == b || b == NO_SURFACE) return a;
  return a == NO_SURFACE ? b : MANY_SURFACES;
}

/// Surface of every output of a program, from the switches it reads. False: a block of equations is
/// solved in it, or memory is short.
static bool label_outputs(EngSim* sim, const ModelProgram* program, uint32_t** out,
                          size_t* capacity) {
  if (program->solve_count) return false;
  if (eng_grow(sim, (void**)&sim->value_labels, &sim->value_label_capacity, program->reg_count,
               sizeof(uint32_t)) < 0 ||
      eng_grow(sim, (void**)out, capacity, program->output_count, sizeof(uint32_t)) < 0) {
    return false;
  }
  uint32_t* label = sim->value_labels;
  memset(label, 0xff, program->reg_count * sizeof *label);
  for (uint32_t i = 0; i < program->input_count; i++) {
    label[program->inputs[i].reg] =
        sim->value_of_env[program->inputs[i].env % sim->model->env_count];
  }
  for (const ModelInstr* pc = program->code; pc->op != MODEL_OP_END; pc++) {
    uint32_t operands = model_op_operands(pc->op);
    uint32_t found = pc->op == MODEL_OP_SELECT ? label[pc->dst] : NO_SURFACE;
    if (operands > 0) found = join(found, label[pc->a]);
    if (operands > 1) found = join(found, label[pc->b]);
    label[pc->dst] = found;
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    (*out)[i] = label[program->outputs[i]];
  }
  return true;
}

static bool has_many(const uint32_t* label, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (label[i] == MANY_SURFACES) return true;
  }
  return false;
}

/// Whether every quantity hangs on one sliding surface at most, and every rate on its own.
static bool can_mix(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const EngSlide* slide = &sim->core.slide;
  if (sim->options.sliding == SLT_SLIDING_UTKIN) return false;
  memset(sim->value_of_env, 0xff, sim->model->env_count * sizeof *sim->value_of_env);
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    const ModelState* states = sim->model->automata[sim->value_switches[i].automaton].states;
    for (uint32_t s = 0; s < 2; s++) {
      if (states[s].test_env == MODEL_NONE) continue;
      sim->value_of_env[states[s].test_env] = sim->value_switches[i].surface;
    }
  }
  if (!label_outputs(sim, &mode->gdot, &sim->value_full_label, &sim->value_full_capacity)) {
    return false;
  }
  for (uint32_t i = 0; i < slide->count; i++) {
    uint32_t label = sim->value_full_label[sim->value_surfaces[i].index];
    if (label != i && label != NO_SURFACE) return false;
  }
  if (!label_outputs(sim, &mode->rhs, &sim->value_rhs_label, &sim->value_rhs_capacity))
    return false;
  if (has_many(sim->value_rhs_label, mode->rhs.output_count)) return false;
  if (!label_outputs(sim, &mode->full, &sim->value_full_label, &sim->value_full_capacity)) {
    return false;
  }
  return !has_many(sim->value_full_label, mode->full.output_count);
}

/// Both sides with their switches in place, for the programs that are mixed.
static SltStatus bind_ends(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
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
    for (uint32_t i = 0; i < sim->core.slide.count; i++) {
      sim->value_trial[i] = (double)end;
    }
    publish_shares(sim, sim->value_trial);
    model_program_bind(&mode->rhs, sim->env, regs->rhs);
    model_program_bind(&mode->full, sim->env, regs->full);
    model_program_bind(&mode->gdot, sim->env, regs->gdot);
  }
  publish_positions(sim);
  return SLT_OK;
}

/// Whether g of every surface is a state or its negative, as in `sign(v)`; which.
static bool find_direct(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const ModelProgram* g = &mode->g_flow;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    uint32_t reg = g->outputs[s->index];
    s->negative = false;
    bool plain = reg >= 1 && reg <= g->state_count;
    if (!plain && g->slices && !g->slices->whole[s->index]) {
      uint32_t begin = g->slices->begin[s->index];
      const ModelInstr* pc = &g->code[g->slices->instrs[begin]];
      bool alone = g->slices->begin[s->index + 1] == begin + 1;
      s->negative = alone && pc->op == MODEL_OP_NEG && pc->dst == reg;
      if (s->negative) reg = pc->a;
    }
    if (reg < 1 || reg > g->state_count) return false;
    s->state = reg - 1;
  }
  return true;
}

SltStatus eng_value_rebind(EngSim* sim) {
  EngSlide* slide = &sim->core.slide;
  slide->mixed = false;
  slide->direct = false;
  sim->value_last_t = (double)NAN;
  if (!can_mix(sim)) return SLT_OK;
  SLT_TRY(bind_ends(sim));
  slide->mixed = true;
  slide->direct = find_direct(sim);
  return SLT_OK;
}

/// Outputs of both sides combined, each with the share of the surface it hangs on.
static void mix(EngSim* sim, const uint32_t* label, uint32_t count, const double* high,
                double* out) {
  for (uint32_t i = 0; i < count; i++) {
    if (label[i] == NO_SURFACE) continue;
    double a = sim->value_share[label[i]];
    out[i] = (1.0 - a) * out[i] + a * high[i];
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

/// Relations at zero, sorted into surfaces by their values at the probe point.
static SltStatus find_surfaces(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(eng_probe(sim, mode));
  uint32_t n = 0;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    uint32_t i = sim->active[place];
    uint32_t atom = mode->atoms[i];
    const ModelAtom* model = &sim->model->atoms[atom];
    if (!model->continuous || model->type == MODEL_ATOM_NOEVENT) continue;
    if (model->relation == MODEL_REL_EQ || sim->atoms[atom].left_now) continue;
    double zone = fmax(sim->atoms[atom].zone, sim->atoms[atom].eps);
    if (!(fabs(sim->side_g[i]) <= zone) || sim->side_probe[i] == 0.0) continue;
    sim->value_probes[n++] = (EngValueProbe){sim->side_probe[i], atom, i};
  }
  qsort(sim->value_probes, n, sizeof *sim->value_probes, compare_probes);
  memset(sim->value_of_atom, 0xff, sim->model->atom_count * sizeof *sim->value_of_atom);
  EngSlide* slide = &sim->core.slide;
  slide->count = 0;
  for (uint32_t k = 0; k < n;) {
    uint32_t end = k + 1;
    double size = fabs(sim->value_probes[k].g);
    while (end < n && fabs(sim->value_probes[end].g) - size <= SAME_SURFACE * size) {
      end++;
    }
    uint32_t lead = k;
    bool wanted = false;
    for (uint32_t m = k; m < end; m++) {
      wanted |= sim->atoms[sim->value_probes[m].atom].surface;
      if (sim->value_probes[m].atom < sim->value_probes[lead].atom) lead = m;
    }
    const EngValueProbe* first = &sim->value_probes[lead];
    if (wanted) {
      sim->value_surfaces[slide->count++] = (EngValueSurface){
          .atom = first->atom, .index = first->index, .probe = first->g, .begin = k, .end = end};
    }
    k = end;
  }
  qsort(sim->value_surfaces, slide->count, sizeof *sim->value_surfaces, compare_surfaces);
  for (uint32_t s = 0; s < slide->count; s++) {
    const EngValueSurface* surface = &sim->value_surfaces[s];
    for (uint32_t m = surface->begin; m < surface->end; m++) {
      const EngValueProbe* probe = &sim->value_probes[m];
      sim->value_of_atom[probe->atom] = s;
      sim->value_same[probe->atom] = probe->g * surface->probe > 0.0;
    }
  }
  return SLT_OK;
}

/// Truths of a surface's relations as on one side, in the environment.
static void impose(EngSim* sim, uint32_t surface, bool above) {
  const EngValueSurface* s = &sim->value_surfaces[surface];
  for (uint32_t m = s->begin; m < s->end; m++) {
    uint32_t atom = sim->value_probes[m].atom;
    sim->env[sim->model->atoms[atom].env] = above == sim->value_same[atom] ? 1.0 : 0.0;
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

/// Which switches follow which surface. False when anything else hangs on them: states with guards
/// of their own, switches of equations, switches of two surfaces.
static bool find_switches(EngSim* sim) {
  const Model* model = sim->model;
  sim->value_switch_count = 0;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    if (!eng_automaton_active(sim, a)) continue;
    const ModelAutomaton* automaton = &model->automata[a];
    bool several = false;
    if (automaton->kind != MODEL_AUTOMATON_SWITCH) {
      const ModelState* state = &automaton->states[sim->state[a]];
      for (uint32_t i = 0; i < state->outgoing_count; i++) {
        const ModelGuard* guard = &model->transitions[state->outgoing[i]].guard;
        if (surface_of(sim, guard, &several) != MODEL_NONE) return false;
      }
      continue;
    }
    uint32_t surface = surface_of(sim, automaton->condition, &several);
    if (several) return false;
    if (surface == MODEL_NONE) continue;
    impose(sim, surface, false);
    bool low = eng_guard(sim, automaton->condition);
    impose(sim, surface, true);
    bool high = eng_guard(sim, automaton->condition);
    if (low == high) continue;
    if (automaton->has_bodies) return false;
    sim->value_switches[sim->value_switch_count++] =
        (EngValueSwitch){.automaton = a, .surface = surface, .rises = high};
    sim->value_surfaces[surface].separates = true;
    bool above = (sim->state[a] == 1) == high;
    sim->value_surfaces[surface].stands_above |= above;
    sim->value_surfaces[surface].stands_below |= !above;
  }
  eng_restore_truths(sim);
  return sim->value_switch_count > 0;
}

/// Leave out the surfaces that `keep` does not want; renumbers.
static void compact(EngSim* sim, bool sliding_only) {
  EngSlide* slide = &sim->core.slide;
  uint32_t n = 0;
  for (uint32_t i = 0; i < slide->count; i++) {
    EngValueSurface* s = &sim->value_surfaces[i];
    bool keep = sliding_only ? s->slides : s->separates;
    s->number = keep ? n++ : MODEL_NONE;
  }
  for (uint32_t atom = 0; atom < sim->model->atom_count; atom++) {
    uint32_t s = sim->value_of_atom[atom];
    if (s != MODEL_NONE) sim->value_of_atom[atom] = sim->value_surfaces[s].number;
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
}

// ---- the continuation ---------------------------------------------------------------------------

/// Side of a surface that the present positions stand for.
static bool present_side(const EngSim* sim, uint32_t surface) {
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
    bool present = present_side(sim, i);
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
  if (ends_at(sim, t, sim->x) < 0) return false;
  double tolerance = RATE_TOLERANCE * rate_scale(sim);
  assign(sim, tolerance);
  for (uint32_t turn = 0; turn < ASSIGNMENTS; turn++) {
    if (!refine(sim, t, sim->x, sim->value_wanted, sim->value_share)) return false;
    if (consistent(sim, tolerance)) return true;
  }
  return false;
}

static void latch(EngSim* sim) {
  for (uint32_t id = 0; id < sim->model->atom_count; id++) {
    uint32_t s = sim->value_of_atom[id];
    if (s == MODEL_NONE) continue;
    EngAtom* atom = &sim->atoms[id];
    bool above =
        sim->value_surfaces[s].slides ? present_side(sim, s) : sim->value_surfaces[s].above;
    sim->value_truth[id] = above == sim->value_same[id];
    atom->held = true;
    atom->held_changes = sim->core.changes;
    atom->located = false;
  }
  for (uint32_t id = 0; id < sim->model->atom_count; id++) {
    if (sim->value_of_atom[id] == MODEL_NONE) continue;
    sim->atoms[id].truth = sim->value_truth[id];
    sim->env[sim->model->atoms[id].env] = sim->atoms[id].truth ? 1.0 : 0.0;
  }
}

bool eng_value_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  EngSlide* slide = &sim->core.slide;
  *verdict = ENG_SLIDE_NONE;
  *slide = (EngSlide){.by_value = true, .base = sim->core.mode};
  bool able = sim->core.mode->state_count > 0 && find_surfaces(sim) >= 0 && slide->count > 0 &&
              find_switches(sim);
  eng_restore_truths(sim);
  if (able) {
    compact(sim, false);
    able = search(sim);
    publish_positions(sim);
  }
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
  latch(sim);
  uint32_t automata = sim->model->automaton_count;
  memcpy(sim->side_work, sim->state, automata * sizeof *sim->state);
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    const EngValueSwitch* s = &sim->value_switches[i];
    const EngValueSurface* surface = &sim->value_surfaces[s->surface];
    bool above = surface->slides ? present_side(sim, s->surface) : surface->above;
    sim->side_work[s->automaton] = above == s->rises ? 1 : 0;
  }
  if (memcmp(sim->side_work, sim->state, automata * sizeof *sim->state) != 0) {
    *verdict = ENG_SLIDE_MOVES;
  }
  compact(sim, true);
  if (slide->count && *verdict == ENG_SLIDE_NONE) *verdict = ENG_SLIDE_ALONG;
  if (slide->count && *verdict == ENG_SLIDE_ALONG && eng_value_rebind(sim) < 0) return false;
  if (slide->count == 0) *slide = (EngSlide){.count = 0};
  return true;
}

// ---- motion -------------------------------------------------------------------------------------

SltStatus eng_value_rhs(EngSim* sim, double t, const double* x, double* dx) {
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = eng_context(sim);
  EngSideRegs* regs = &sim->side_regs[2];
  if (sim->core.slide.direct && !sim->core.slide.rest) {
    run_ends(sim, t, x, dx);
    SLT_TRY(shares_of_flows(sim, dx, x, true, sim->value_share));
    mix(sim, sim->value_rhs_label, mode->rhs.output_count, sim->value_out, dx);
    return SLT_OK;
  }
  SltStatus status = shares_at(sim, t, x, true, sim->value_share);
  if (sim->core.slide.mixed) {
    SLT_TRY(status);
    model_program_run(&mode->rhs, context, sim->side_regs[0].rhs, t, x, dx);
    model_program_run(&mode->rhs, context, sim->side_regs[1].rhs, t, x, sim->value_out);
    mix(sim, sim->value_rhs_label, mode->rhs.output_count, sim->value_out, dx);
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
  SltStatus status = shares_at(sim, t, sim->x, false, sim->value_share);
  if (sim->core.slide.mixed) {
    if (status < 0) return;
    model_program_run(&mode->full, context, sim->side_regs[0].full, t, sim->x, sim->full);
    model_program_run(&mode->full, context, sim->side_regs[1].full, t, sim->x, sim->value_out);
    mix(sim, sim->value_full_label, mode->full.output_count, sim->value_out, sim->full);
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
  for (uint32_t end = 0; end < 2; end++) {
    if (!model_program_run_output(rhs, context, sim->side_regs[end].rhs, t, eng_trial_state, &point,
                                  s->state, &f[end])) {
      return false;
    }
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
  if (memcmp(sim->value_last_x, sim->stepper->trial.x0, n * sizeof(double)) != 0) return false;
  memcpy(sim->value_share, sim->value_last, sim->core.slide.count * sizeof(double));
  return true;
}

static double distance(double share, bool above) {
  return above ? share - 1.0 : -share;
}

double eng_value_exit(EngSim* sim, double t_from, uint32_t* surface, bool* above) {
  uint32_t n = sim->core.slide.count;
  double t_end = sim->stepper->trial.t;
  double middle = t_from + 0.5 * (t_end - t_from);
  double first = (double)INFINITY;
  if (!shares_are_known(sim, t_from) && shares_on_trial(sim, t_from) < 0) return t_from;
  memcpy(sim->value_begin, sim->value_share, n * sizeof(double));
  if (shares_on_trial(sim, middle) < 0) return first;
  memcpy(sim->value_middle, sim->value_share, n * sizeof(double));
  if (shares_on_trial(sim, t_end) < 0) return first;
  memcpy(sim->value_last, sim->value_share, n * sizeof(double));
  sim->value_last_t = t_end;
  memcpy(sim->value_last_x, sim->x, sim->core.mode->state_count * sizeof(double));
  for (uint32_t k = 0; k < 2 * n; k++) {
    Exit e = {sim, k / 2, k % 2 == 1};
    double at_start = distance(sim->value_begin[e.surface], e.above);
    double at_middle = distance(sim->value_middle[e.surface], e.above);
    double at_end = distance(sim->value_last[e.surface], e.above);
    double t = eng_exit_time(exit_function, &e, (double[3]){t_from, middle, t_end},
                             (double[3]){at_start, at_middle, at_end});
    if (t >= first) continue;
    first = t;
    *surface = e.surface;
    *above = e.above;
  }
  return first;
}

void eng_value_leave(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t id = 0; id < sim->model->atom_count; id++) {
    if (sim->value_of_atom[id] != surface) continue;
    EngAtom* atom = &sim->atoms[id];
    atom->truth = above == sim->value_same[id];
    atom->left_now = true;
    sim->env[sim->model->atoms[id].env] = atom->truth ? 1.0 : 0.0;
  }
  memcpy(sim->side_work, sim->state, sim->model->automaton_count * sizeof *sim->state);
  for (uint32_t i = 0; i < sim->value_switch_count; i++) {
    const EngValueSwitch* s = &sim->value_switches[i];
    if (s->surface == surface) sim->side_work[s->automaton] = above == s->rises ? 1 : 0;
  }
  sim->core.slide = (EngSlide){.count = 0};
}

// SPDX-License-Identifier: MIT
//
// The surfaces that the motion stands on: relations at zero, sorted by the surface they describe.
//
// Several relations may describe one surface (`x > 0`, `x <= 0`, `1e-3*x >= 0`). Two that vanish on
// the same surface are multiples of each other near it, so they have the same ratio of values at
// two points beside the present one.
#include "engine/detect/follow.h"
#include "engine/sliding/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_ZERO \
  100.0  // weights of a state held at zero: errors of several steps, and of few among many
#define PROBE        1e-2  // distance of the points beside the present one, in sizes of the states
#define NEXT_TO_ZERO 0x1p-200
#define SAME_SURFACE 1e-9  // relative difference of the ratios
#define BESIDE       1e-3  // g of what vanishes here is that much smaller than beside

// ---- points beside the present one --------------------------------------------------------------

double slide_probe_time(const EngSim* sim, uint32_t point) {
  double size = fmax(fabs(sim->core.t), sim->stepper->control.h_next);
  return sim->core.t + (point ? 0.71 : 1.13) * PROBE * (size > 0.0 ? size : 1.0);
}

static double probe_distance(const EngSim* sim, uint32_t state) {
  return PROBE * (eng_state_weight(sim, state, sim->x[state]) / sim->options.rtol);
}

void slide_probe_point(const EngSim* sim, uint32_t point, double* x) {
  uint32_t n = sim->core.mode->state_count;
  double largest = 0.0;
  for (uint32_t i = 0; i < n; i++) {
    largest = fmax(largest, probe_distance(sim, i));
  }
  for (uint32_t i = 0; i < n; i++) {
    double by = probe_distance(sim, i);
    // of a state that has always been zero no size is known: where all have, relations that vanish
    // only here are told from others next to it
    if (!(by > 0.0)) by = largest > 0.0 ? largest : NEXT_TO_ZERO;
    x[i] = sim->x[i] + base_wobble(i, point) * by;
  }
}

SltStatus slide_values(EngSim* sim, const ModelMode* mode, double t, const double* x, double* g) {
  SLT_TRY(ENG_GROW(sim, sim->probe.g_regs, mode->g_flow.reg_count));
  model_program_bind(&mode->g_flow, sim->env, sim->probe.g_regs);
  model_program_run(&mode->g_flow, eng_context(sim), sim->probe.g_regs, t, x, g);
  return SLT_OK;
}

/// g of a mode's relations at two points beside the present one, into probe.beside and sides.trial.
static SltStatus values_beside(EngSim* sim, const ModelMode* mode) {
  SLT_TRY(ENG_GROW(sim, sim->sliding.sides.trial, sim->model->atom_count));
  for (uint32_t point = 0; point < 2; point++) {
    double* g = point ? sim->sliding.sides.trial : sim->probe.beside;
    slide_probe_point(sim, point, sim->probe.x);
    SLT_TRY(slide_values(sim, mode, slide_probe_time(sim, point), sim->probe.x, g));
  }
  return SLT_OK;
}

// ---- relations ----------------------------------------------------------------------------------

bool value_may_bound(const EngSim* sim, uint32_t atom) {
  const ModelAtom* model = &sim->model->atoms[atom];
  if (!model->continuous || model->type == MODEL_ATOM_NOEVENT) return false;
  const EngAtom* a = &sim->atoms[atom];
  return model->relation != MODEL_REL_EQ && !a->marks.left_now && !a->kind.asymptotic;
}

bool value_is_at_zero(const EngSim* sim, uint32_t state) {
  return fabs(sim->x[state]) <= AT_ZERO * eng_state_weight(sim, state, sim->x[state]);
}

bool slide_is_at_zero(EngSim* sim, uint32_t index, double g) {
  // where nothing is told apart nothing is crossed either
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (fabs(g) <= fmax(atom->zone, atom->eps) || fabs(g) <= eng_sigma(sim, index)) return true;
  // what was slid along drifts by the errors of many steps
  return atom->marks.slid && eng_at_boundary(sim, index, g);
}

static void begin_surfaces(EngSim* sim) {
  memset(sim->sliding.value.of_atom, 0xff,
         sim->model->atom_count * sizeof *sim->sliding.value.of_atom);
  sim->core.slide.count = 0;
}

static EngSurface new_surface(uint32_t atom, uint32_t index) {
  return (EngSurface){.atom = atom, .index = index, .first = MODEL_NONE, .order = 1};
}

void value_add_relation(EngSim* sim, uint32_t surface, uint32_t atom, bool same) {
  EngSurface* s = &sim->sliding.value.surfaces[surface];
  if (s->first == MODEL_NONE) {
    s->first = atom;
  } else {
    sim->sliding.value.next[s->last] = atom;
  }
  s->last = atom;
  sim->sliding.value.next[atom] = MODEL_NONE;
  sim->sliding.value.of_atom[atom] = surface;
  sim->sliding.value.same[atom] = same;
}

/// Surfaces where every relation at zero is a state or its negative: those of one state are one.
/// False: there are others.
static bool surfaces_of_states(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  const uint32_t* direct = eng_dependency_direct(sim);
  if (!direct) return false;
  EngSlide* slide = &sim->core.slide;
  begin_surfaces(sim);
  memset(sim->sliding.value.of_state, 0xff,
         mode->state_count * sizeof *sim->sliding.value.of_state);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    uint32_t atom = mode->atoms[i];
    if (!value_may_bound(sim, atom)) continue;
    if (direct[i] == MODEL_NONE) return false;
    uint32_t state = direct[i] / 2;
    bool negative = direct[i] & 1u;
    if (!value_is_at_zero(sim, state)) continue;
    uint32_t surface = sim->sliding.value.of_state[state];
    if (surface == MODEL_NONE) {
      surface = slide->count++;
      sim->sliding.value.of_state[state] = surface;
      sim->sliding.value.surfaces[surface] = new_surface(atom, i);
      sim->sliding.value.surfaces[surface].state = state;
      sim->sliding.value.surfaces[surface].negative = negative;
    }
    value_add_relation(sim, surface, atom,
                       sim->sliding.value.surfaces[surface].negative == negative);
    sim->sliding.value.surfaces[surface].wanted |= sim->atoms[atom].surface;
    sim->sliding.value.surfaces[surface].met = true;
  }
  return true;
}

static double ratio_of(const EngValueProbe* probe) {
  return probe->g2 / probe->g;
}

static int compare_probes(const void* a, const void* b) {
  const EngValueProbe* p = a;
  const EngValueProbe* q = b;
  double x = ratio_of(p);
  double y = ratio_of(q);
  if (x != y) return x < y ? -1 : 1;
  return p->atom < q->atom ? -1 : p->atom > q->atom;
}

static int compare_surfaces(const void* a, const void* b) {
  uint32_t x = ((const EngSurface*)a)->atom;
  uint32_t y = ((const EngSurface*)b)->atom;
  return x < y ? -1 : x > y;
}

static bool same_ratio(double a, double b) {
  return fabs(a - b) <= SAME_SURFACE * fmax(fabs(a), fabs(b));
}

/// Whether the motion stands at zero of a relation, and has not just come near.
static bool is_met(EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (!atom->surface) return false;
  return atom->located || atom->marks.slid || fabs(sim->probe.g[index]) <= eng_rho(sim, index);
}

/// Relations at zero, sorted into surfaces by their values at the two points.
static SltStatus surfaces_of_probes(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(values_beside(sim, mode));
  const double* at[2] = {sim->probe.beside, sim->sliding.sides.trial};
  SLT_TRY(slide_values(sim, mode, sim->core.t, sim->x, sim->probe.g));
  uint32_t n = 0;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    uint32_t atom = mode->atoms[i];
    if (!value_may_bound(sim, atom) || !(fabs(sim->probe.g[i]) <= BESIDE * fabs(at[0][i])))
      continue;
    sim->sliding.value.probes[n] = (EngValueProbe){at[0][i], at[1][i], atom, i};
    if (isfinite(ratio_of(&sim->sliding.value.probes[n]))) n++;
  }
  qsort(sim->sliding.value.probes, n, sizeof *sim->sliding.value.probes, compare_probes);
  begin_surfaces(sim);
  EngSlide* slide = &sim->core.slide;
  for (uint32_t k = 0; k < n;) {
    uint32_t end = k + 1;
    double ratio = ratio_of(&sim->sliding.value.probes[k]);
    while (end < n && same_ratio(ratio_of(&sim->sliding.value.probes[end]), ratio)) {
      end++;
    }
    uint32_t lead = k;
    for (uint32_t m = k; m < end; m++) {
      if (sim->sliding.value.probes[m].atom < sim->sliding.value.probes[lead].atom) lead = m;
    }
    const EngValueProbe* first = &sim->sliding.value.probes[lead];
    uint32_t surface = slide->count++;
    sim->sliding.value.surfaces[surface] = new_surface(first->atom, first->index);
    for (uint32_t m = k; m < end; m++) {
      const EngValueProbe* probe = &sim->sliding.value.probes[m];
      value_add_relation(sim, surface, probe->atom, probe->g * first->g > 0.0);
      bool near = sim->atoms[probe->atom].kind.separates &&
                  slide_is_at_zero(sim, probe->index, sim->probe.g[probe->index]);
      sim->sliding.value.surfaces[surface].wanted |= near;
      sim->sliding.value.surfaces[surface].met |= near && is_met(sim, probe->index);
    }
    k = end;
  }
  qsort(sim->sliding.value.surfaces, slide->count, sizeof *sim->sliding.value.surfaces,
        compare_surfaces);
  for (uint32_t s = 0; s < slide->count; s++) {
    for (uint32_t a = sim->sliding.value.surfaces[s].first; a != MODEL_NONE;
         a = sim->sliding.value.next[a]) {
      sim->sliding.value.of_atom[a] = s;
    }
  }
  return SLT_OK;
}

bool slide_keep(EngSim* sim, EngKeep what) {
  EngSlide* slide = &sim->core.slide;
  uint32_t n = 0;
  for (uint32_t i = 0; i < slide->count; i++) {
    EngSurface* s = &sim->sliding.value.surfaces[i];
    bool keep = what == ENG_KEEP_WANTED    ? s->wanted
                : what == ENG_KEEP_SLIDING ? s->slides
                                           : s->separates;
    s->number = keep ? n++ : MODEL_NONE;
  }
  if (n == slide->count) return false;
  for (uint32_t i = 0; i < slide->count; i++) {
    const EngSurface* s = &sim->sliding.value.surfaces[i];
    for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value.next[a]) {
      sim->sliding.value.of_atom[a] = s->number == MODEL_NONE && s->kink ? SLIDE_KINK : s->number;
    }
  }
  uint32_t switches = 0;
  for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
    EngValueSwitch s = sim->sliding.value.switches[i];
    s.surface = sim->sliding.value.surfaces[s.surface].number;
    if (s.surface != MODEL_NONE) sim->sliding.value.switches[switches++] = s;
  }
  sim->sliding.value.switch_count = switches;
  for (uint32_t i = 0; i < slide->count; i++) {
    uint32_t to = sim->sliding.value.surfaces[i].number;
    if (to == MODEL_NONE) continue;
    sim->sliding.motion.alpha[to] = sim->sliding.motion.alpha[i];
    sim->sliding.value.surfaces[to] = sim->sliding.value.surfaces[i];
  }
  slide->count = n;
  return true;
}

SltStatus slide_find_surfaces(EngSim* sim, bool many) {
  sim->sliding.value.switch_count = 0;
  if (!many || !surfaces_of_states(sim)) SLT_TRY(surfaces_of_probes(sim));
  slide_keep(sim, ENG_KEEP_WANTED);
  return SLT_OK;
}

void slide_impose(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->sliding.value.surfaces[surface].first; a != MODEL_NONE;
       a = sim->sliding.value.next[a]) {
    sim->env[sim->model->atoms[a].env] = above == sim->sliding.value.same[a] ? 1.0 : 0.0;
  }
}

void value_latch(EngSim* sim, uint32_t surface, bool above) {
  for (uint32_t a = sim->sliding.value.surfaces[surface].first; a != MODEL_NONE;
       a = sim->sliding.value.next[a]) {
    EngAtom* atom = &sim->atoms[a];
    atom->truth = above == sim->sliding.value.same[a];
    atom->marks.held = true;
    atom->held_changes = (uint32_t)sim->core.changes;
    atom->located = false;
    sim->env[sim->model->atoms[a].env] = atom->truth ? 1.0 : 0.0;
  }
}

void slide_warn_escaping(EngSim* sim, uint32_t surface, bool above) {
  uint32_t id = sim->sliding.value.surfaces[surface].atom;
  EngAtom* atom = &sim->atoms[id];
  if (atom->warned.escaping || !sim->report.to.on_warning) return;
  atom->warned.escaping = true;
  eng_warn(sim, DIAG_W0804, sim->model->atoms[id].written->span,
           "at t = %s the motion stands on this boundary and could leave it to either side; it "
           "goes on where the relation %s",
           eng_number(sim->core.t).text, above ? "holds" : "does not hold");
}

/// The relations of another mode at zero that belong to the surfaces. Values of the mode's
/// relations stay in side_g.
SltStatus slide_recognise(EngSim* sim, const ModelMode* mode) {
  const EngSlide* slide = &sim->core.slide;
  SLT_TRY(slide_values(sim, mode, sim->core.t, sim->x, sim->probe.g));
  if (mode->shared) eng_relevant_atoms(sim, mode, sim->active.relevant);
  bool missing = false;
  for (uint32_t i = 0; i < mode->atom_count && !missing; i++) {
    uint32_t atom = mode->atoms[i];
    if (mode->shared && !sim->active.relevant[atom]) continue;
    missing = !sim->active.live[atom] && sim->sliding.value.of_atom[atom] == MODEL_NONE &&
              value_may_bound(sim, atom);
  }
  if (!missing) return SLT_OK;
  SLT_TRY(values_beside(sim, mode));
  const double* at[2] = {sim->probe.beside, sim->sliding.sides.trial};
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t atom = mode->atoms[i];
    if (mode->shared && !sim->active.relevant[atom]) continue;
    bool known = sim->active.live[atom] || sim->sliding.value.of_atom[atom] != MODEL_NONE;
    if (known || !value_may_bound(sim, atom)) continue;
    for (uint32_t k = 0; k < slide->count; k++) {
      const double* probe = &sim->sliding.sides.probe[(size_t)2 * k];
      if (!same_ratio(at[1][i] / at[0][i], probe[1] / probe[0])) continue;
      value_add_relation(sim, k, atom, at[0][i] * probe[0] > 0.0);
      break;
    }
  }
  return SLT_OK;
}

SltStatus slide_note_probes(EngSim* sim) {
  EngSides* sides = &sim->sliding.sides;
  SLT_TRY(ENG_GROW(sim, sides->probe, 2 * (size_t)sim->core.slide.count));
  SLT_TRY(values_beside(sim, sim->core.mode));
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    uint32_t index = sim->sliding.value.surfaces[k].index;
    double* probe = sides->probe + 2 * (size_t)k;
    probe[0] = sim->probe.beside[index];
    probe[1] = sides->trial[index];
  }
  return SLT_OK;
}

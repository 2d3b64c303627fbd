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
#include "engine/sliding/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME_SURFACE 1e-9  // relative difference of g at the probe point
#define ASSIGNMENTS  40    // changes of who slides, in one search

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
  sim->on_warning(sim->warning_user, DIAG_W0804, sim->model->atoms[s->atom].written->span, message);
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
    value_rates_of_flows(sim, sim->side_f);
  } else if (value_ends_at(sim, t, sim->x) < 0) {
    return false;
  }
  double tolerance = VALUE_RATE_TOLERANCE * value_rate_scale(sim);
  assign(sim, tolerance);
  // where every rate hangs on its own surface alone, so does what follows from it
  if (sim->core.slide.mixed) return true;
  for (uint32_t turn = 0; turn < ASSIGNMENTS; turn++) {
    if (!value_refine(sim, t, sim->x, sim->value_wanted, sim->value_share)) return false;
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
    atom->held_changes = (uint32_t)sim->core.changes;
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
  able = able && value_choose_way(sim) >= 0 && search(sim);
  if (!slide->mixed) value_publish_positions(sim);
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
    if ((fewer || !slide->mixed) && value_choose_way(sim) < 0) return false;
    if (slide->shifted) value_measure_shifts(sim);
  }
  if (slide->count == 0) *slide = (EngSlide){.count = 0};
  return true;
}

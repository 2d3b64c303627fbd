// SPDX-License-Identifier: MIT
//
// Sliding by value: motion along any number of surfaces, where the sides differ in the values of
// switches alone.
//
// The equations are the same on all sides; what differs is the position of switches that they read
// (`sign`, `if(c, a, b)`). Each surface i moves its own switches. Two ways lead from here, both at
// a cost that grows with the size of the model and not with the 2^k sides:
//
// * Mixed: where every derivative depends on the switches of one surface at most (blocks with dry
//   friction between springs), the flows with all surfaces below and all above give the whole
//   picture. The coefficient of surface i is a_i = r_i(0)/(r_i(0) - r_i(1)), and what depends on it
//   is combined with it: Filippov's motion, component by component.
// * Otherwise, and where the user wants it (`utkin`): the coefficient makes the switches take the
// value
//   between their two positions, and goes through the equations: Utkin's equivalent control. The
//   rates r(a) of all surfaces come from one run of the program for the slopes of the relations,
//   and are solved for a.
//
// How the motion goes on is the problem of finding a with: r_i = 0 and 0 < a_i < 1 (slides), or
// a_i = 0 and r_i <= 0 (goes below), or a_i = 1 and r_i >= 0 (goes above).
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

#define ASSIGNMENTS 40  // changes of who slides, in one search

// ---- surfaces -----------------------------------------------------------------------------------

/// The surface among ours that a guard depends on; MODEL_NONE for none. `several`: more than one.
static uint32_t surface_of(const EngSim* sim, const ModelGuard* guard, bool* several) {
  uint32_t found = MODEL_NONE;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t s = sim->sliding.value.of_atom[guard->atoms[i]];
    if (s == MODEL_NONE || s == found) continue;
    if (found != MODEL_NONE) *several = true;
    found = s;
  }
  return found;
}

/// Whether the switch follows the surface: it is on above it and off below (`rises`), or the other
/// way round.
static bool follows(EngSim* sim, uint32_t automaton, uint32_t surface, bool* rises) {
  uint32_t one = sim->sliding.value.follows[automaton];
  if (one != MODEL_NONE) {
    *rises = sim->sliding.value.same[one / 2] == (one & 1u);
    return true;
  }
  const ModelGuard* condition = sim->model->automata[automaton].condition;
  slide_impose(sim, surface, false);
  bool low = eng_guard(sim, condition);
  slide_impose(sim, surface, true);
  *rises = eng_guard(sim, condition);
  return low != *rises;
}

/// Which switches follow which surface. False when anything else depends on them: states with
/// guards of their own, switches of equations, switches of two surfaces. Leaves the truths of the
/// surfaces in the environment as on one side.
static bool find_switches(EngSim* sim) {
  const Model* model = sim->model;
  sim->sliding.value.switch_count = 0;
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
    uint32_t one = sim->sliding.value.follows[a];
    uint32_t surface = one != MODEL_NONE ? sim->sliding.value.of_atom[one / 2]
                                         : surface_of(sim, automaton->condition, &several);
    if (several) return false;
    bool rises = false;
    if (surface == MODEL_NONE || !follows(sim, a, surface, &rises)) continue;
    if (automaton->has_bodies) return false;
    sim->sliding.value.switches[sim->sliding.value.switch_count++] =
        (EngValueSwitch){.automaton = a, .surface = surface, .rises = rises};
    sim->sliding.value.surfaces[surface].separates = true;
    bool above = (sim->state[a] == 1) == rises;
    sim->sliding.value.surfaces[surface].stands_above |= above;
    sim->sliding.value.surfaces[surface].stands_below |= !above;
  }
  return sim->sliding.value.switch_count > 0;
}

/// The surfaces that the motion stands on, and the switches that follow them.
static bool find_surfaces(EngSim* sim) {
  const EngSlide* slide = &sim->core.slide;
  if (sim->core.mode->state_count == 0) return false;
  if (slide_find_surfaces(sim, true) < 0) return false;
  if (slide->count == 0 || !find_switches(sim)) return false;
  slide_keep(sim, ENG_KEEP_SEPARATING);
  return true;
}

bool eng_value_many(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  uint32_t seen[ENG_GROUP_MAX];
  uint32_t count = 0;
  uint32_t marked = 0;
  const uint32_t* direct = NULL;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    marked += sim->atoms[mode->atoms[sim->active.indicators[place]]].surface;
    if (marked > ENG_GROUP_MAX) break;
  }
  if (marked > ENG_GROUP_MAX) direct = eng_dependency_direct(sim);
  for (uint32_t place = 0; direct && place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    uint32_t atom = mode->atoms[i];
    if (!sim->atoms[atom].surface || direct[i] == MODEL_NONE || !value_may_bound(sim, atom))
      continue;
    uint32_t state = direct[i] / 2;
    if (!value_is_at_zero(sim, state)) continue;
    bool known = false;
    for (uint32_t k = 0; k < count; k++) {
      known |= seen[k] == state;
    }
    if (known) continue;
    if (count == ENG_GROUP_MAX) return true;
    seen[count++] = state;
  }
  return false;
}

// ---- the continuation ---------------------------------------------------------------------------

/// Side of a surface that the present positions stand for.
bool value_present_side(const EngSim* sim, uint32_t surface) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  if (s->stands_above != s->stands_below) return s->stands_above;
  return sim->atoms[s->atom].truth;
}

/// First assignment: every surface by its rates on both sides, the others sliding with it.
static void assign(EngSim* sim) {
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngSurface* s = &sim->sliding.value.surfaces[i];
    double low = sim->sliding.motion.low[i];
    double high = sim->sliding.motion.high[i];
    int from_below = value_direction(low, low, high);
    int from_above = value_direction(high, low, high);
    bool present = value_present_side(sim, i);
    s->slides = from_below > 0 && from_above < 0;
    s->above = present;  // no direction at all
    if (from_below < 0 && from_above > 0) {
      slide_warn_escaping(sim, i, present);
    } else if (from_below > 0 || from_above > 0) {
      s->above = true;
    } else if (from_below < 0 || from_above < 0) {
      s->above = false;
    }
    double range = low - high;
    sim->sliding.motion.alpha[i] = s->slides ? low / range : s->above ? 1.0 : 0.0;
  }
}

/// Whether the assignment is consistent; corrects the surfaces where it is not.
static bool consistent(EngSim* sim) {
  bool good = true;
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    EngSurface* s = &sim->sliding.value.surfaces[i];
    double low = sim->sliding.motion.low[i];
    double high = sim->sliding.motion.high[i];
    int leads = value_direction(sim->sliding.motion.rate[i], low, high);
    if (s->slides) {
      if (sim->sliding.motion.alpha[i] > 0.0 && sim->sliding.motion.alpha[i] < 1.0) continue;
      s->slides = false;
      s->above = sim->sliding.motion.alpha[i] >= 1.0;
      good = false;
    } else if (s->above ? leads < 0 : leads > 0) {
      s->slides = value_direction(low, low, high) > 0 && value_direction(high, low, high) < 0;
      s->above = !s->above;
      good = false;
    }
    if (!s->slides) sim->sliding.motion.alpha[i] = s->above ? 1.0 : 0.0;
  }
  return good;
}

static bool search(EngSim* sim) {
  uint32_t n = sim->core.slide.count;
  double t = sim->core.t;
  for (uint32_t i = 0; i < n; i++) {
    sim->sliding.value.surfaces[i].slides = true;
    sim->sliding.motion.wanted[i] = 0.0;
  }
  if (sim->core.slide.mixed) {
    value_run_ends(sim, t, sim->x, sim->probe.flow);
    value_rates_of_flows(sim, sim->probe.flow);
  } else if (value_ends_at(sim, t, sim->x) < 0) {
    return false;
  }
  assign(sim);
  // where every rate depends on its own surface alone, so does what follows from it
  if (sim->core.slide.mixed) return true;
  for (uint32_t turn = 0; turn < ASSIGNMENTS; turn++) {
    if (!value_refine(sim, t, sim->x, sim->sliding.motion.wanted, sim->sliding.motion.alpha))
      return false;
    if (consistent(sim)) return true;
  }
  return false;
}

static bool side_after(const EngSim* sim, uint32_t surface) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  return s->slides ? value_present_side(sim, surface) : s->above;
}

/// Truths as the motion goes on; the positions of the switches in probe.states. Whether some of
/// them have to move.
static bool latch(EngSim* sim) {
  memcpy(sim->probe.states, sim->state, sim->model->automaton_count * sizeof *sim->state);
  bool moves = false;
  for (uint32_t i = 0; i < sim->sliding.value.switch_count; i++) {
    const EngValueSwitch* s = &sim->sliding.value.switches[i];
    uint32_t position = side_after(sim, s->surface) == s->rises ? 1 : 0;
    moves |= position != sim->state[s->automaton];
    sim->probe.states[s->automaton] = position;
  }
  for (uint32_t i = 0; i < sim->core.slide.count; i++) {
    value_latch(sim, i, side_after(sim, i));
  }
  return moves;
}

bool eng_value_continue(EngSim* sim, bool settled, EngSlideVerdict* verdict) {
  EngSlide* slide = &sim->core.slide;
  *verdict = ENG_SLIDE_NONE;
  *slide = (EngSlide){.by_value = true};
  bool able = side_room_rows(sim, 3) >= 0 && find_surfaces(sim);
  eng_restore_truths(sim);
  able = able && value_choose_strategy(sim) >= 0 && search(sim);
  if (!slide->mixed) value_publish_positions(sim);
  if (!able) {
    *slide = (EngSlide){.count = 0};
    return false;
  }
  uint32_t sliding = 0;
  for (uint32_t i = 0; i < slide->count; i++) {
    sliding += sim->sliding.value.surfaces[i].slides;
  }
  sim->instant.slide_decided = true;
  if (sliding == 0 && !settled) {
    // a plain crossing is left to the guards unless they have had their say
    *slide = (EngSlide){.count = 0};
    return true;
  }
  if (latch(sim)) *verdict = ENG_SLIDE_MOVES;
  bool fewer = slide_keep(sim, ENG_KEEP_SLIDING);
  if (slide->count && *verdict == ENG_SLIDE_NONE) {
    *verdict = ENG_SLIDE_ALONG;
    if ((fewer || !slide->mixed) && value_choose_strategy(sim) < 0) return false;
    if (slide->lean) value_measure_shifts(sim);
  }
  if (slide->count == 0) *slide = (EngSlide){.count = 0};
  return true;
}

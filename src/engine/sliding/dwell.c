// SPDX-License-Identifier: MIT
//
// Chattering: an automaton that changes its state again and again while time hardly moves.
//
// Where the flows on both sides of a surface point at it the motion slides (sliding/slide.c), and
// nothing chatters. What is left over (sides that have no common flow, sliding turned off) is
// recognised by its rhythm: many changes of one automaton, none of them with a jump, at distances
// far below the steps of the run, or such that its relations never get farther from their boundary
// than errors within the tolerances do (with a hysteresis they do, however fast it switches). It is
// never followed silently: the user is warned, and from then on the automaton keeps each state for
// a while, a hysteresis in time. It moves freely again as soon as nothing wants to change when such
// a while is over.
#include "engine/run/run.h"

#include <math.h>

#define CHATTER_CHANGES 12     // that follow each other
#define CHATTER_SHARE   1e-3   // of the mean step: distance below which they make no progress
#define ZONES           8.0    // of a relation: what chatters goes no farther from its boundary
#define WHILES          100.0  // distances of its changes for which each state is kept then
#define NEAR            100.0  // whiles: changes at this distance still belong to the same chattering
#define SHRINKS         0.999  // an interval that is shorter than the one before
#define LASTING_SHARE   5e-4   // of the time since it began: chattering that lasts slows down
#define LEAST_SHARE     1e-7   // of the experiment: no state is kept for less
#define ZENO_SUSPECT    6      // intervals that shrink steadily are another matter

/// The earliest end of all that dwell.
static void find_end(EngSim* sim) {
  sim->core.dwell.any = false;
  sim->core.dwell.until = (double)INFINITY;
  // no instant begins with a reduced active set while one dwells
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (!sim->instant.chatter[a].dwelling) continue;
    sim->core.dwell.any = true;
    sim->core.dwell.until = fmin(sim->core.dwell.until, sim->instant.chatter[a].until);
  }
}

static void keep(EngSim* sim, uint32_t automaton, double length) {
  EngChatter* c = &sim->instant.chatter[automaton];
  c->dwelling = true;
  c->released = false;
  c->length = fmax(length, LASTING_SHARE * (sim->core.t - c->begun));
  double until = sim->core.t + c->length;
  c->until = until > sim->core.t ? until : nextafter(sim->core.t, (double)INFINITY);
  double first = sim->core.dwell.any ? sim->core.dwell.until : (double)INFINITY;
  sim->core.dwell.until = fmin(first, c->until);
  sim->core.dwell.any = true;
}

void eng_dwell_until(EngSim* sim, uint32_t automaton, double t) {
  EngChatter* c = &sim->instant.chatter[automaton];
  c->dwelling = true;
  c->released = false;
  c->length = 0.0;
  c->until = t;
  find_end(sim);
}

void eng_dwell_begin(EngSim* sim, uint32_t automaton, double length) {
  EngChatter* c = &sim->instant.chatter[automaton];
  const ModelAutomaton* a = &sim->model->automata[automaton];
  bool again = c->length > 0.0;
  if (!again) c->begun = sim->core.t;
  keep(sim, automaton, again ? c->length : length);
  c->count = CHATTER_CHANGES;
  if (again) return;
  eng_trace_mark(sim, SLT_EVENT_CHATTER, &a->span, (Str){NULL, 0});
  if (c->warned || !sim->report.to.on_warning) return;
  c->warned = true;
  eng_warn(sim, DIAG_W0803, a->span,
           "from t = %s on '%.*s' only switches to and fro; each state is kept for %s at least",
           eng_short(sim->core.t).text, STR_ARGS(a->name),
           eng_number(eng_rounded(length, 1.0)).text);
}

void eng_dwell_release_slow(EngSim* sim) {
  if (sim->core.t < sim->core.dwell.until) return;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    EngChatter* c = &sim->instant.chatter[a];
    if (!c->dwelling || sim->core.t < c->until) continue;
    c->dwelling = false;
    c->released = c->length > 0.0;
  }
}

/// Whether this instant moved a state of the motion: then something other than switching happens.
static bool has_jumped(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    if (sim->env[mode->state_env[i]] != sim->values.before[mode->state_env[i]]) return true;
  }
  return false;
}

/// Time that the relations which crossed now take to leave what errors within the tolerances can
/// do to them, as far as their slopes tell; 0 where nothing crossed.
static double time_in_tolerance(EngSim* sim) {
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* crossing = &sim->detect.crossings[i];
    uint32_t atom = sim->core.mode_before->atoms[crossing->index];
    uint32_t place = eng_atom_place(sim->core.mode, atom);
    double sigma = place != MODEL_NONE ? eng_sigma(sim, place) : 0.0;
    least = fmin(least, ZONES * fmax(sim->atoms[atom].eps, sigma) / fabs(crossing->slope));
  }
  return isfinite(least) ? least : 0.0;
}

/// How long a state is kept from now on: not longer than a step is, unless that is within the
/// tolerances, or nothing beside the whole experiment.
static double while_length(const EngSim* sim, double step, double distance, double in_tolerance) {
  double length = distance <= CHATTER_SHARE * step ? CHATTER_SHARE * step : WHILES * distance;
  double span = eng_span(sim);
  double least = isfinite(span) ? LEAST_SHARE * span : 0.0;
  return fmax(fmax(fmin(step, length), in_tolerance), least);
}

static bool shrinks_steadily(const EngSim* sim, uint32_t automaton) {
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (sim->model->transitions[i].automaton != automaton) continue;
    if (sim->contact.accumulations[i].count >= ZENO_SUSPECT) return true;
  }
  return false;
}

static SltStatus stops(EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  eng_fail(sim, SLT_ERR_ZENO, DIAG_E0807, &a->span,
           "at t = %s '%.*s' only switches to and fro, and time hardly goes on",
           eng_number(sim->core.t).text, STR_ARGS(a->name));
  return eng_hint(
      sim, "its guards need a distance between switching on and off; without --zeno stop each "
           "state would be kept for a while");
}

static double mean_step(const EngSim* sim) {
  double steps = fmax(1.0, (double)sim->stepper->counters.steps);
  return (sim->core.t - sim->options.t_start) / steps;
}

bool eng_dwell_undecided(EngSim* sim) {
  if (sim->options.zeno != SLT_ZENO_DWELL) return false;
  double step = mean_step(sim);
  if (!(step > 0.0)) return false;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (!sim->instant.transitions[i].fired_now) continue;
    uint32_t automaton = sim->model->transitions[i].automaton;
    if (!sim->instant.chatter[automaton].dwelling)
      eng_dwell_begin(sim, automaton, CHATTER_SHARE * step);
  }
  find_end(sim);
  return sim->core.dwell.any;
}

/// Below this distance switching may be chatter.
static double chatter_distance(const EngSim* sim, const EngChatter* c) {
  return fmax(CHATTER_SHARE * mean_step(sim), NEAR * c->length);
}

bool eng_chatter_is_suspect(const EngSim* sim, uint32_t automaton) {
  const EngChatter* c = &sim->instant.chatter[automaton];
  return c->moved && sim->core.t - c->last <= chatter_distance(sim, c);
}

void eng_chatter_note(EngSim* sim, uint32_t automaton) {
  EngChatter* c = &sim->instant.chatter[automaton];
  c->interval = sim->core.t - c->last;
  c->last = sim->core.t;
  c->moved = true;
  c->count = 0;
}

SltStatus eng_dwell_check(EngSim* sim, bool* begun) {
  *begun = false;
  double t = sim->core.t;
  int jumped = -1;
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    EngChatter* c = &sim->instant.chatter[a];
    bool moved = sim->state[a] != sim->values.state_before[a];
    if (c->released && moved) {
      keep(sim, a, c->length);
      *begun = true;
    }
    if (c->released) c->released = false;  // what does not switch is not even touched
    if (!moved) continue;
    double step = mean_step(sim);
    double distance = t - c->last;
    double in_tolerance = time_in_tolerance(sim);
    double near = fmax(chatter_distance(sim, c), in_tolerance);
    bool close = c->moved && distance <= near;
    if (close && jumped < 0) jumped = has_jumped(sim);  // asked once, for however many move
    // at a kink the flows are the same: there is nothing to keep
    close &= jumped != 1 && sim->sliding.kink_t != t;
    // what comes ever faster has a limit point, where it goes on in another way
    bool shrinks = distance < SHRINKS * c->interval;
    c->count = !close ? 0 : shrinks ? c->count : c->count + 1;
    c->interval = distance;
    if (!close && !c->dwelling) c->length = 0.0;
    c->last = t;
    c->moved = true;
    if (c->dwelling || c->count < CHATTER_CHANGES || shrinks_steadily(sim, a)) continue;
    if (sim->options.zeno == SLT_ZENO_STOP) return stops(sim, a);
    eng_dwell_begin(sim, a, while_length(sim, step, distance, in_tolerance));
    *begun = true;
  }
  find_end(sim);
  return SLT_OK;
}

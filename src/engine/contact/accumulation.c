// SPDX-License-Identifier: MIT
//
// Zeno behaviour: infinitely many events in finite time, and what comes after them.
//
// A transition whose intervals shrink by a steady ratio r accumulates at t + d r/(1 - r). When that
// is as good as reached, or an impact leaves no flight that can be told from rounding, its contact
// closes (settle.c). A model that says itself what comes after (a guard with `zeno`) is followed.
// Anything else that accumulates is an error with the time where it does, or, if the user wants it
// so, goes on with every mode kept for a while (dwell.c).
#include "engine/run/run.h"

#include <float.h>
#include <math.h>

#define SEQUENCE     8     // firings at steady ratios that are one
#define SUSPECT      5     // firings at steady ratios that may become a sequence
#define SOON         1e-6  // of a step: firings so close to each other may chatter
#define SLOW         1e-3  // of the fastest impact: one that may be the last
#define RATIO_LOW    0.02
#define RATIO_HIGH   0.995
#define RATIO_SPREAD 0.05
#define DWELL_SHARE  1e-4   // of the length of the sequence: how long a mode is kept from then on
#define NEARNESS     2e-6   // of the accumulation point, relative to the length of the sequence
#define COMING       1e-2   // ... from which on a sequence is followed
#define LAST_ULPS    64.0   // roundings of the time between the last impacts
#define LATE_ULPS    256.0  // ... by which a limit is passed, so that it lies behind
#define BETWEEN      1.5    // intervals of a sequence within which what it follows from happens
#define TOGETHER     10.0   // times that near: what accumulates at the same place

// ---- sequences ----------------------------------------------------------------------------------

/// Note a firing; a ratio out of line begins a new sequence.
static void note_firing(EngAccumulation* times, double t) {
  double fastest = times->fastest;
  if (times->count == 0) {
    *times = (EngAccumulation){.count = 1, .first = t, .last = t, .fastest = fastest};
    return;
  }
  double interval = t - times->last;
  double ratio = times->count > 1 ? interval / times->interval : 0.0;
  bool steady =
      times->count < 2 || (ratio > RATIO_LOW && ratio < RATIO_HIGH &&
                           (times->count < 3 || fabs(ratio - times->ratio) < RATIO_SPREAD));
  if (!steady || !(interval > 0.0)) {
    *times = (EngAccumulation){
        .count = 2, .first = times->last, .last = t, .interval = interval, .fastest = fastest};
    return;
  }
  times->ratio = ratio;
  times->interval = interval;
  times->last = t;
  times->count++;
}

void eng_zeno_note(EngSim* sim, uint32_t transition) {
  note_firing(&sim->contact.accumulations[transition], sim->core.t);
}

/// How fast the boundary of this instant was reached; 0: it was there.
static double crossing_slope(const EngSim* sim) {
  return sim->detect.crossing_count ? fabs(sim->detect.crossings[0].slope) : 0.0;
}

/// A steady sequence is followed from firing to firing: `tangent` is how the states moved from the
/// last one to this one. Of several that alternate the first is taken.
static void follow_states(EngSim* sim, uint32_t transition) {
  EngContacts* contacts = &sim->core.contact;
  const EngAccumulation* times = &sim->contact.accumulations[transition];
  if (times->count < SUSPECT) return;
  if (contacts->followed && contacts->followed != transition + 1) {
    const EngAccumulation* other = &sim->contact.accumulations[contacts->followed - 1];
    if (other->count >= SUSPECT && times->last - other->last < BETWEEN * other->interval) return;
  }
  const ModelMode* mode = sim->core.mode;
  bool again = contacts->followed == transition + 1;
  if (!again) contacts->slope = crossing_slope(sim);
  contacts->known = again && contacts->mode == mode->id;
  contacts->followed = transition + 1;
  contacts->mode = mode->id;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double x = sim->env[mode->state_env[i]];
    sim->values.tangent[i] = (x - sim->contact.at_firing[i]) / times->interval;
    sim->contact.at_firing[i] = x;
  }
}

/// From the last firing of a steady sequence to where it accumulates.
static double time_left(const EngAccumulation* times) {
  return times->interval * times->ratio / (1.0 - times->ratio);
}

static bool is_near(const EngAccumulation* times, double nearness) {
  return time_left(times) < nearness * (times->last - times->first);
}

/// Whether a sequence has come to its end, or the time resolves no more of it.
static bool has_accumulated(const EngAccumulation* times, double nearness) {
  bool resolved = times->interval > LAST_ULPS * DBL_EPSILON * fabs(times->last);
  return times->count >= SEQUENCE && (is_near(times, nearness) || !resolved);
}

bool eng_zeno_is_suspect(const EngSim* sim, uint32_t transition) {
  const EngAccumulation* times = &sim->contact.accumulations[transition];
  bool soon = times->count > 0 && sim->core.t - times->last < SOON * sim->stepper->trial.h;
  return (times->count >= SUSPECT && is_near(times, COMING)) || soon;
}

bool eng_zeno_is_slow(EngSim* sim, uint32_t transition) {
  uint32_t gap = eng_impact_gap(sim, transition);
  if (gap == MODEL_NONE) return false;
  EngAccumulation* times = &sim->contact.accumulations[transition];
  double leaves = -sim->detect.gdot[gap];
  double fastest = fmax(times->fastest, fmax(leaves, eng_trace_speed(sim, gap)));
  bool slow = leaves <= fmax(SLOW, sqrt(sim->contact.accuracy)) * fastest;
  if (!slow && fastest == times->fastest) return false;
  // a reset that takes the gap elsewhere ends no flight
  if (!eng_at_boundary(sim, gap, sim->detect.g[gap])) return false;
  times->fastest = fastest;
  return slow;
}

static SltStatus accumulates(EngSim* sim, uint32_t transition) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelAutomaton* a = &sim->model->automata[t->automaton];
  const EngAccumulation* times = &sim->contact.accumulations[transition];
  eng_fail(
      sim, SLT_ERR_ZENO, DIAG_E0807, &t->span,
      "infinitely many events accumulate at t = %s: the transitions of '%.*s' to '%.*s' follow "
      "each other ever faster (ratio %s)",
      eng_short(times->last + time_left(times)).text, STR_ARGS(a->name),
      STR_ARGS(a->states[t->to].written->name), eng_number(times->ratio).text);
  return eng_hint(sim, "the model says nothing about what comes after; add a state for it");
}

static bool sets_state(const Model* model, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    if (model->vars[model->actions[i].var].kind != MODEL_VAR_DISCRETE) return true;
  }
  return false;
}

/// Whether an automaton resets states of the motion: where its firings end is more than switching.
static bool moves_states(const EngSim* sim, uint32_t automaton) {
  const Model* model = sim->model;
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelTransition* t = &model->transitions[i];
    const ModelState* to = &model->automata[t->automaton].states[t->to];
    if (t->automaton != automaton) continue;
    if (sets_state(model, t->action_begin, t->action_count)) return true;
    if (sets_state(model, to->action_begin, to->action_count)) return true;
  }
  return false;
}

/// Go on from where a sequence accumulates: the time of the limit, not before it, and the states
/// that the motion tends to. What comes there is decided by the rules of sliding. (A relay whose
/// hysteresis vanishes.) What accumulates together ends together.
static void follow_to_limit(EngSim* sim) {
  EngStep* step = &sim->core.step;
  if (!sim->core.contact.followed || !sim->core.contact.known) return;
  uint32_t transition = sim->core.contact.followed - 1;
  const EngAccumulation* times = &sim->contact.accumulations[transition];
  // one that alternates with it, or comes just before it, waits for it
  if (times->last != sim->core.t || !has_accumulated(times, TOGETHER * NEARNESS)) return;
  double late = LATE_ULPS * DBL_EPSILON * fabs(times->last) / (1.0 - times->ratio);
  double way = time_left(times) + late;
  step->limit = times->last + way;
  step->to_limit = true;
  sim->core.contact.followed = 0;
  eng_trace_mark(sim, SLT_EVENT_ZENO, &sim->model->transitions[transition].span, (Str){NULL, 0});
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    EngAccumulation* other = &sim->contact.accumulations[i];
    if (other->count < SUSPECT) continue;
    if (fabs(other->last + time_left(other) - step->limit) > way) continue;
    eng_dwell_until(sim, sim->model->transitions[i].automaton, step->limit);
    other->count = 1;
  }
}

bool eng_zeno_suspected(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    bool limit = sim->core.step.to_limit && sim->core.t >= sim->core.step.limit;
    if (!sim->instant.transitions[i].fired_now) continue;
    if (sim->contact.accumulations[i].count < (limit ? 1 : 6)) continue;
    accumulates(sim, i);
    return true;
  }
  return false;
}

/// Sequences of an automaton that goes on in another way are over.
static void forget(EngSim* sim, uint32_t automaton) {
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (sim->model->transitions[i].automaton != automaton) continue;
    sim->contact.accumulations[i].count = 0;
    sim->contact.accumulations[i].last = sim->core.t;
  }
}

// ---- states for what comes after ----------------------------------------------------------------

/// Whether the model has a state for what comes after, and it can be entered now: its transitions
/// are enabled then.
static bool open_exit(EngSim* sim, uint32_t automaton) {
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  bool found = false;
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
    if (!t->zeno || t->instead || !eng_guard(sim, &t->guard)) continue;
    sim->instant.transitions[state->outgoing[i]].exits = true;
    found = true;
  }
  return found;
}

/// What accumulates together ends together: a box that lands flat on two feet must not tip over
/// because one of them was looked at first.
static void open_other_exits(EngSim* sim, uint32_t first) {
  uint32_t automaton = sim->model->transitions[first].automaton;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    const EngAccumulation* times = &sim->contact.accumulations[i];
    uint32_t other = sim->model->transitions[i].automaton;
    if (other == automaton || times->last != sim->core.t) continue;
    if (!has_accumulated(times, TOGETHER * NEARNESS) || !open_exit(sim, other)) continue;
    eng_trace_mark(sim, SLT_EVENT_ZENO, &sim->model->transitions[i].span, (Str){NULL, 0});
    forget(sim, other);
  }
}
// ---- the last event of a sequence ---------------------------------------------------------------

/// The transition that an automaton can make now in place of its last event; MODEL_NONE for none.
static uint32_t instead_of(const EngSim* sim, uint32_t automaton) {
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    if (sim->model->transitions[state->outgoing[i]].instead) return state->outgoing[i];
  }
  return MODEL_NONE;
}

static bool is_located(const EngSim* sim, uint32_t transition) {
  const ModelGuard* guard = &sim->model->transitions[transition].guard;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (atom->located && atom->located_truth) return true;
  }
  return false;
}

/// Open what stands for the last firing of sequences that this instant would bring to their end.
static bool open_instead(EngSim* sim, double nearness) {
  bool any = false;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    EngAccumulation times = sim->contact.accumulations[i];
    if (times.count + 1 < SEQUENCE || !is_located(sim, i)) continue;
    uint32_t other = instead_of(sim, sim->model->transitions[i].automaton);
    if (other == MODEL_NONE) continue;
    note_firing(&times, sim->core.t);
    if (!has_accumulated(&times, nearness)) continue;
    sim->instant.transitions[other].exits = true;
    any = true;
  }
  return any;
}

void eng_zeno_foresee(EngSim* sim) {
  if (sim->options.zeno == SLT_ZENO_STOP || !sim->instant.has_instead) return;
  if (open_instead(sim, NEARNESS)) open_instead(sim, TOGETHER * NEARNESS);
}

/// What foreseen ends have come to. True: there was one, with what happened beside it.
static bool note_instead(EngSim* sim) {
  bool any = false;
  for (uint32_t i = 0; sim->instant.has_instead && i < sim->model->transition_count; i++) {
    const ModelTransition* t = &sim->model->transitions[i];
    if (!t->instead) continue;
    sim->instant.transitions[i].exits = false;
    if (!sim->instant.transitions[i].fired_now) continue;
    sim->instant.transitions[i].fired_now = false;
    eng_trace_mark(sim, SLT_EVENT_ZENO, &t->span, (Str){NULL, 0});
    forget(sim, t->automaton);
    any = true;
  }
  for (uint32_t i = 0; any && i < sim->model->transition_count; i++) {
    if (!sim->instant.transitions[i].fired_now) continue;
    sim->instant.transitions[i].fired_now = false;
    sim->contact.accumulations[i].count = 0;
  }
  return any;
}

/// Sequences of a contact end with an impact that is foreseen, not with one that has been.
static bool ends_instead(const EngSim* sim, uint32_t automaton) {
  return sim->options.zeno != SLT_ZENO_STOP && sim->instant.has_instead &&
         instead_of(sim, automaton) != MODEL_NONE;
}

/// Whether the sequence follows from impacts, which happen between its firings or with them. It
/// ends with them. (A brake changes its direction at every bounce, and between two; a branch that
/// an impact ends is left again.)
static bool follows_impacts(const EngSim* sim, uint32_t transition) {
  const Model* model = sim->model;
  const EngAccumulation* own = &sim->contact.accumulations[transition];
  bool own_resets = eng_reset_count(model, transition) > 0;
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const EngAccumulation* other = &sim->contact.accumulations[i];
    const ModelTransition* t = &model->transitions[i];
    if (other->count == 0 && other->interval == 0.0) continue;  // it has never fired
    if (other->last == sim->core.t && ends_instead(sim, t->automaton)) return true;
    if (i == transition || own_resets) continue;
    if (eng_reset_count(model, i) > 0 && other->last >= own->last - BETWEEN * own->interval)
      return true;
  }
  return false;
}

// ---- the end of an instant ----------------------------------------------------------------------

SltStatus eng_zeno_check(EngSim* sim, EngZenoVerdict* verdict) {
  *verdict = ENG_ZENO_NONE;
  sim->contact.accumulating = false;
  if (note_instead(sim)) return SLT_OK;
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (!sim->instant.transitions[i].fired_now) continue;
    note_firing(&sim->contact.accumulations[i], sim->core.t);
    follow_states(sim, i);
  }
  for (uint32_t i = 0; i < sim->model->transition_count; i++) {
    if (!sim->instant.transitions[i].fired_now) continue;
    sim->instant.transitions[i].fired_now = false;
    EngAccumulation* times = &sim->contact.accumulations[i];
    bool slow = eng_zeno_is_slow(sim, i);
    bool lost = slow && times->count >= SEQUENCE && eng_flights_are_lost(sim, i);
    bool ends = (lost || has_accumulated(times, NEARNESS)) && !follows_impacts(sim, i);
    if (ends && sim->options.zeno == SLT_ZENO_STOP) return accumulates(sim, i);
    if (ends && *verdict == ENG_ZENO_NONE && open_exit(sim, sim->model->transitions[i].automaton)) {
      sim->instant.zeno_automaton = sim->model->transitions[i].automaton;
      eng_trace_mark(sim, SLT_EVENT_ZENO, &sim->model->transitions[i].span, (Str){NULL, 0});
      open_other_exits(sim, i);
      forget(sim, sim->instant.zeno_automaton);
      *verdict = ENG_ZENO_EXIT;
      continue;
    }
    bool struck = sim->instant.transitions[i].closed;
    bool rests = struck || (slow && sim->options.zeno != SLT_ZENO_STOP);
    times->impact = (ends || rests) &&
                    eng_contact_propose(sim, i, ends ? ENG_CONTACT_ACCUMULATES : ENG_CONTACT_RESTS);
    times->ends = ends;
    sim->contact.accumulating |= ends;
  }
  return SLT_OK;
}

/// Relations that accumulate crossings are surfaces from now on; speeds beside them are none.
static void separate_crossed(EngSim* sim, const ModelGuard* guard) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    if (sim->atoms[guard->atoms[i]].located)
      eng_atoms_separate(sim, &(ModelGuard){.atoms = &guard->atoms[i], .atom_count = 1}, false);
  }
}

/// What a transition whose firings accumulate has come to.
static SltStatus conclude(EngSim* sim, uint32_t i) {
  uint32_t automaton = sim->model->transitions[i].automaton;
  const EngAccumulation* times = &sim->contact.accumulations[i];
  if (!eng_contact_holds_automaton(sim, automaton)) {
    // an impact may wait for what comes to rest beside it, and what comes to rest between two
    // boundaries slides there once its speed is below the tolerances
    bool flat = crossing_slope(sim) < 0.5 * sim->core.contact.slope;
    bool rests = times->impact || flat || moves_states(sim, automaton);
    if (rests && times->interval > LAST_ULPS * DBL_EPSILON * fabs(sim->core.t)) {
      separate_crossed(sim, &sim->model->transitions[i].guard);
      return SLT_OK;
    }
    if (sim->options.zeno != SLT_ZENO_DWELL) {
      // rules of sliding need flows that lead to the surface, also where the sequence ends
      if (flat || moves_states(sim, automaton)) return accumulates(sim, i);
      follow_to_limit(sim);
      return SLT_OK;
    }
    eng_dwell_begin(sim, automaton, DWELL_SHARE * (times->last - times->first));
  }
  forget(sim, automaton);
  return SLT_OK;
}

SltStatus eng_zeno_conclude(EngSim* sim) {
  for (uint32_t i = 0; sim->contact.accumulating && i < sim->model->transition_count; i++) {
    EngAccumulation* times = &sim->contact.accumulations[i];
    if (times->ends) SLT_TRY(conclude(sim, i));
    times->ends = false;
  }
  return SLT_OK;
}

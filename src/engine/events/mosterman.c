// SPDX-License-Identifier: MIT
//
// The algorithm as it was printed: P. J. Mosterman, F. Zhao, G. Biswas, "An Ontology for
// Transitions in Physical Dynamic Systems", 1998, Algorithm 1 with tables 1 and 2. It is here to be
// compared with, not to be used: forward Euler with a fixed step, nothing is located, every guard
// is read on (x, x+), and sliding is found by trying.
//
//   x = timeStep(a, x)
//   [a+, x+] = recursion(a, x)
//   if a+ != a:  repeat  a = a+;  x = x+;  [a+, x+] = recursion(a, x)  until a+ = a
//                [a, x] = slide(a, x)
//
// recursion: as long as a guard of the candidate holds, the candidate was mythical; all candidates
// are made from the same x. A name in a guard is x+, pre(name) is x. These are the rounds of any
// instant (rounds.c, settle.c), except that every guard may reject a candidate.
// slide: table 1, after a transition from k to m: within the time eps an Euler step in m leads back
// to k, and one in k to m. Then the motion goes on by the average of both flows that keeps the
// boundary, and the question is asked again at every mesh point.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

#define EULER_STEP 1e-6  // where no eps is given

static size_t states_size(const EngSim* sim) {
  return sim->model->automaton_count * sizeof *sim->state;
}

// ---- slide --------------------------------------------------------------------------------------

static bool same_states(const ModelMode* a, const ModelMode* b) {
  return a->state_count == b->state_count && a->state_count > 0 && !a->implicit && !b->implicit &&
         memcmp(a->state_env, b->state_env, a->state_count * sizeof *a->state_env) == 0;
}

/// States after the transitions that are enabled now, no resets allowed; false when there are any.
static bool next_states(EngSim* sim, uint32_t* out) {
  memcpy(out, sim->state, states_size(sim));
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    const ModelAutomaton* automaton = &sim->model->automata[a];
    if (!eng_automaton_active(sim, a)) continue;
    if (automaton->kind == MODEL_AUTOMATON_SWITCH) {
      out[a] = eng_guard(sim, automaton->condition) ? 1 : 0;
      continue;
    }
    uint32_t transition = eng_first_enabled(sim, a);
    if (transition == MODEL_NONE) continue;
    const ModelTransition* t = &sim->model->transitions[transition];
    if (t->action_count > 0 || automaton->states[t->to].action_count > 0) return false;
    out[a] = t->to;
  }
  return true;
}

/// Truths at a point of a mode whose states are published; returns an atom whose truth differs from
/// the one that is latched, MODEL_NONE for none.
static SltStatus truths_at(EngSim* sim, const ModelMode* mode, double t, const double* x,
                           uint32_t* turned) {
  const ModelContext* context = eng_context(sim);
  SLT_TRY(ENG_GROW(sim, sim->probe.g_regs, mode->g_flow.reg_count));
  model_program_bind(&mode->g_flow, sim->env, sim->probe.g_regs);
  model_program_run(&mode->g_flow, context, sim->probe.g_regs, t, x, sim->probe.g);
  *turned = MODEL_NONE;
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t id = mode->atoms[i];
    const ModelAtom* atom = &sim->model->atoms[id];
    bool truth = eng_relation_holds(atom->relation, sim->probe.g[i]);
    bool surface = atom->continuous && atom->relation != MODEL_REL_EQ;
    if (surface && truth != sim->atoms[id].truth && *turned == MODEL_NONE) *turned = id;
    sim->env[atom->env] = truth ? 1.0 : 0.0;
  }
  return SLT_OK;
}

/// Table 1: whether an Euler step of length eps in the mode `from` leads to the mode `to`. Also the
/// mode itself, and an atom that has turned on the way.
static SltStatus leads_to(EngSim* sim, const uint32_t* from, const uint32_t* to, bool* leads,
                          const ModelMode** mode, uint32_t* turned) {
  const ModelMode* present = sim->core.mode;
  const Diag* failure = NULL;
  *leads = false;
  eng_publish_states(sim, from);
  if (eng_get_mode(sim, sim->state, mode, &failure) < 0) return SLT_OK;
  if (!same_states(*mode, present)) return SLT_OK;
  SLT_TRY(ENG_GROW(sim, sim->probe.g_regs, (*mode)->rhs.reg_count));
  const ModelContext* context = eng_context(sim);
  model_program_bind(&(*mode)->rhs, sim->env, sim->probe.g_regs);
  model_program_run(&(*mode)->rhs, context, sim->probe.g_regs, sim->core.t, sim->x,
                    sim->probe.flow);
  double eps = sim->options.event_eps > 0.0 ? sim->options.event_eps : EULER_STEP;
  for (uint32_t i = 0; i < present->state_count; i++) {
    sim->probe.x[i] = sim->x[i] + eps * sim->probe.flow[i];
  }
  SLT_TRY(truths_at(sim, *mode, sim->core.t + eps, sim->probe.x, turned));
  bool free_of_resets = next_states(sim, sim->probe.states);
  *leads = free_of_resets && memcmp(sim->probe.states, to, states_size(sim)) == 0;
  return SLT_OK;
}

/// The states of the two modes are kept as those of two sides.
static uint32_t* side_states(EngSim* sim, uint32_t side) {
  return sim->sliding.sides.states + (size_t)side * sim->model->automaton_count;
}

/// slide(a, x): both conditions of table 1 between the departed states `k` and the present ones
/// `m`; if they hold, the motion goes on by the equivalent dynamics.
static SltStatus slide(EngSim* sim, const uint32_t* k, const uint32_t* m) {
  EngSlide* s = &sim->core.slide;
  s->count = 0;
  bool back = false;
  bool forth = false;
  const ModelMode* mode_m = NULL;
  const ModelMode* mode_k = NULL;
  uint32_t atom = MODEL_NONE;
  uint32_t other = MODEL_NONE;
  SltStatus status = leads_to(sim, m, k, &back, &mode_m, &atom);
  if (status >= 0 && back) status = leads_to(sim, k, m, &forth, &mode_k, &other);
  if (atom == MODEL_NONE) atom = other;
  eng_publish_states(sim, m);
  eng_restore_truths(sim);
  if (status < 0 || !back || !forth || atom == MODEL_NONE) return status;
  uint32_t place = eng_atom_place(mode_m, atom);
  if (place == MODEL_NONE) return SLT_OK;
  // side 1 is where g of the atom is positive: there the atom holds
  bool m_above = sim->atoms[atom].truth;
  return eng_slide_pair(sim, atom, m_above ? k : m, m_above ? m : k);
}

/// At a mesh point of a sliding motion: whether it goes on. Other transitions end it, too.
static SltStatus goes_on(EngSim* sim, bool* on) {
  uint32_t* k = sim->probe.settled;
  uint32_t present = memcmp(side_states(sim, 1), sim->state, states_size(sim)) == 0 ? 1 : 0;
  uint32_t atom = eng_slide_atom(sim, 0);
  memcpy(side_states(sim, 3), side_states(sim, 0), 2 * states_size(sim));
  sim->core.slide.count = 0;
  eng_atoms_update(sim);
  // the side the point is on by rounding does not matter: between the two modes there is nothing
  // to decide
  bool known = next_states(sim, sim->probe.states) &&
               (memcmp(sim->probe.states, side_states(sim, 0), states_size(sim)) == 0 ||
                memcmp(sim->probe.states, side_states(sim, 1), states_size(sim)) == 0);
  *on = false;
  if (!known) return SLT_OK;
  memcpy(k, side_states(sim, 1 - present), states_size(sim));
  uint32_t* m = side_states(sim, 2);
  memcpy(m, sim->state, states_size(sim));
  SLT_TRY(slide(sim, k, m));
  *on = sim->core.slide.count > 0;
  if (*on) {
    // the surface stays the one it was, whatever atom turned first now
    return eng_slide_pair(sim, atom, side_states(sim, 3), side_states(sim, 4));
  }
  return SLT_OK;
}

// ---- the instant --------------------------------------------------------------------------------

/// Algorithm 1 from the values at a mesh point on: the rounds of any instant, in which every guard
/// is read on the candidate (settle.c).
static SltStatus algorithm(EngSim* sim, bool* fired) {
  uint32_t iteration = 0;
  bool changed = false;
  bool undecided = false;
  eng_atoms_update(sim);
  events_begin(sim);
  SLT_TRY(eng_run_due(sim, false, &iteration, fired));
  uint32_t* k = sim->probe.settled;
  memcpy(k, sim->state, states_size(sim));
  SLT_TRY(events_run_rounds(sim, &iteration, &changed, &undecided));
  if (undecided) return eng_endless(sim);
  if (changed) {
    *fired = true;
    sim->dae.impulsive = false;
    uint32_t* m = side_states(sim, 2);
    memcpy(m, sim->state, states_size(sim));
    SLT_TRY(slide(sim, k, m));
    if (sim->core.slide.count) {
      eng_trace_slide(sim, SLT_EVENT_SLIDE_IN, eng_slide_atom(sim, 0));
    }
  }
  return eng_run_due(sim, true, &iteration, fired);
}

static SltStatus carry_out(EngSim* sim, EngInstantKind kind, bool* fired) {
  eng_bind(sim);
  if (kind == ENG_INSTANT_INITIAL) {
    eng_atoms_update(sim);
    SLT_TRY(eng_settle_initial_switches(sim));
    sim->dae.initial = false;
    eng_trace_mark(sim, SLT_EVENT_INITIAL, NULL, (Str){NULL, 0});
  }
  if (sim->core.slide.count) {
    uint32_t atom = eng_slide_atom(sim, 0);
    bool on = false;
    SLT_TRY(goes_on(sim, &on));
    if (on) return SLT_OK;
    *fired = true;
    eng_trace_slide(sim, SLT_EVENT_SLIDE_OUT, atom);
  }
  return algorithm(sim, fired);
}

SltStatus eng_mosterman_instant(EngSim* sim, EngInstantKind kind, bool* changed, bool* fired) {
  memcpy(sim->values.before, sim->env, sim->model->env_count * sizeof(double));
  memcpy(sim->values.state_before, sim->state, states_size(sim));
  sim->core.mode_before = sim->core.mode;
  sim->core.stop_wanted = false;
  sim->instant.was_sliding = sim->core.slide.count > 0;
  *fired = false;
  SLT_TRY(eng_slide_room(sim, 5));
  eng_trace_begin(sim);
  sim->instant.running = true;
  SltStatus status = carry_out(sim, kind, fired);
  for (uint32_t i = 0; i < sim->model->transition_count; i++)
    sim->instant.transitions[i].fired_now = false;
  if (status >= 0) {
    eng_bind(sim);
    eng_evaluate_full(sim, sim->core.t);
    if (sim->core.slide.count) eng_trace_equivalents(sim);
    sim->core.mesh_t = sim->core.t;
    *changed = *fired && eng_flow_changed(sim);
    if (sim->core.stop_wanted) {
      eng_trace_mark(sim, SLT_EVENT_STOP, &sim->instant.stop_span, sim->instant.stop_text);
      sim->core.ended = true;
    }
  }
  sim->instant.running = false;
  if (*fired) sim->core.counts.instants++;
  eng_trace_end(sim);
  sim->events.due_count = 0;
  sim->detect.crossing_count = 0;
  return status;
}

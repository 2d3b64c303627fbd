// SPDX-License-Identifier: MIT
//
// Plain crossings: the flows on both sides of a surface lead the same way.
//
// Most relations that are reached are crossed, and nothing slides. That can be told from the rates
// of this one relation, with the automata that ask for it in the states they have on either side:
// no other part of the model is looked at, whatever its size. What cannot be told here (rates that
// are not clear of rounding, or of opposite signs, automata that others follow, other surfaces at
// hand that these act on) is left to the survey of all sides.
#include "engine/sliding/sides.h"

#include <math.h>
#include <string.h>

#define CLEAR      64.0     // roundings of g that a step leaves behind it, where the rate is clear
#define KINK_SHARE 0x1p-10  // of the tolerance: flows that differ by less over a step are the same

/// A relation that is reached, and its rates with all that asks for it as below and above it.
typedef struct Crossing {
  uint32_t atom, index;
  double rate[2];
} Crossing;

static double state_now(const void* user, uint32_t state) {
  const EngSim* sim = user;
  return sim->x[state];
}

// ---- who asks for a relation --------------------------------------------------------------------

static void add_guard(EngAskers* askers, const ModelGuard* guard, uint32_t automaton,
                      bool filling) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t* begin = &askers->begin[guard->atoms[i]];
    if (!filling) {
      begin[1]++;
    } else {
      askers->list[(*begin)++] = automaton;
    }
  }
}

static void add_all(const Model* model, EngAskers* askers, bool filling) {
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelTransition* t = &model->transitions[i];
    add_guard(askers, &t->guard, t->automaton, filling);
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    if (model->automata[a].condition) add_guard(askers, model->automata[a].condition, a, filling);
  }
}

/// The automata whose guards and conditions read each relation.
static const EngAskers* find_askers(EngSim* sim) {
  EngAskers* askers = &sim->sliding.askers;
  const Model* model = sim->model;
  size_t n = model->atom_count;
  if (askers->made) return askers;
  if (eng_grow(sim, (void**)&askers->begin, &askers->begin_capacity, n + 1, sizeof *askers->begin) <
      0) {
    return NULL;
  }
  memset(askers->begin, 0, (n + 1) * sizeof *askers->begin);
  add_all(model, askers, false);
  for (size_t i = 0; i < n; i++) {
    askers->begin[i + 1] += askers->begin[i];
  }
  if (eng_grow(sim, (void**)&askers->list, &askers->list_capacity, askers->begin[n] + (size_t)1,
               sizeof *askers->list) < 0) {
    return NULL;
  }
  add_all(model, askers, true);
  // filling has moved every begin to the next one
  memmove(askers->begin + 1, askers->begin, n * sizeof *askers->begin);
  askers->begin[0] = 0;
  askers->made = true;
  return askers;
}

// ---- the sides ----------------------------------------------------------------------------------

/// The state of an automaton where its guards hold as they do now. False: resets lead there.
static bool next_state(EngSim* sim, uint32_t automaton, uint32_t* to) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  *to = sim->state[automaton];
  if (!eng_automaton_active(sim, automaton)) return true;
  if (a->kind == MODEL_AUTOMATON_SWITCH) {
    *to = eng_guard(sim, a->condition) ? 1 : 0;
    return a->states[*to].action_count == 0;
  }
  const ModelState* state = &a->states[*to];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
    if (!eng_guard(sim, &t->guard)) continue;
    *to = t->to;
    return t->action_count == 0 && a->states[t->to].action_count == 0 &&
           !a->states[t->to].written->keeps;
  }
  return true;
}

/// Whether nothing but equations' values hangs on the automaton's state.
static bool is_alone(const EngSim* sim, uint32_t automaton) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  const Events* events = &sim->events;
  if (a->has_bodies || a->parent_automaton != MODEL_NONE || a->entry_env != MODEL_NONE)
    return false;
  return !events->readers.list ||
         events->readers.begin[automaton] == events->readers.begin[automaton + 1];
}

/// Copies of an entry in the registers of slopes and derivatives.
static void put(EngSim* sim, const EngDependency* dependency, uint32_t env, double value) {
  if (env == MODEL_NONE) return;
  for (uint32_t k = dependency->reader_begin[env]; k < dependency->reader_begin[env + 1]; k++) {
    EngDependencyReader reader = dependency->readers[k];
    if (reader.kind == ENG_READER_GDOT_INPUT) sim->gdot_regs[reader.at] = value;
    if (reader.kind == ENG_READER_RHS_INPUT) sim->rhs_regs[reader.at] = value;
  }
}

static void put_state(EngSim* sim, const EngDependency* dependency, uint32_t automaton,
                      uint32_t state) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  for (uint32_t s = 0; s < a->state_count; s++) {
    put(sim, dependency, a->states[s].test_env, s == state ? 1.0 : 0.0);
  }
}

/// Registers as on one side of a relation. False: what asks for it does not only change values
/// there. `there`: the states are those of the present.
static bool look_from(EngSim* sim, const EngDependency* dependency, uint32_t atom, bool above,
                      bool* there) {
  const EngAskers* askers = &sim->sliding.askers;
  double* truth = &sim->env[sim->model->atoms[atom].env];
  double kept = *truth;
  bool good = true;
  *truth = above ? 1.0 : 0.0;
  put(sim, dependency, sim->model->atoms[atom].env, *truth);
  *there = true;
  for (uint32_t k = askers->begin[atom]; k < askers->begin[atom + 1] && good; k++) {
    uint32_t automaton = askers->list[k];
    uint32_t to = 0;
    good = is_alone(sim, automaton) && next_state(sim, automaton, &to);
    *there = *there && to == sim->state[automaton];
    put_state(sim, dependency, automaton, to);
  }
  *truth = kept;
  return good;
}

static void look_as_before(EngSim* sim, const EngDependency* dependency, uint32_t atom) {
  const EngAskers* askers = &sim->sliding.askers;
  put(sim, dependency, sim->model->atoms[atom].env, sim->env[sim->model->atoms[atom].env]);
  for (uint32_t k = askers->begin[atom]; k < askers->begin[atom + 1]; k++) {
    put_state(sim, dependency, askers->list[k], sim->state[askers->list[k]]);
  }
}

/// Visit what hangs on the automata that ask for a relation, until `see` says no.
typedef bool CrossingSee(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                         EngDependencyReader reader);

static bool each_reader(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                        CrossingSee* see) {
  const EngAskers* askers = &sim->sliding.askers;
  for (uint32_t k = askers->begin[c->atom]; k < askers->begin[c->atom + 1]; k++) {
    const ModelAutomaton* a = &sim->model->automata[askers->list[k]];
    for (uint32_t s = 0; s < a->state_count; s++) {
      uint32_t env = a->states[s].test_env;
      if (env == MODEL_NONE) continue;
      uint32_t end = dependency->reader_begin[env + 1];
      for (uint32_t i = dependency->reader_begin[env]; i < end; i++) {
        if (!see(sim, dependency, c, dependency->readers[i])) return false;
      }
    }
  }
  return true;
}

// ---- rates --------------------------------------------------------------------------------------

/// The step that the motion takes here; a trial may have been cut off by an event just before.
static double usual_step(const EngSim* sim) {
  return fmax(sim->stepper->trial.h, sim->stepper->control.h_next);
}

static bool is_clear(EngSim* sim, const Crossing* c, double rate) {
  return fabs(rate) * usual_step(sim) > CLEAR * eng_rho(sim, c->index);
}

/// Whether the motion is at the boundary; others are near within their tolerance.
static bool is_met(EngSim* sim, const Crossing* c) {
  return sim->atoms[c->atom].located || fabs(sim->g[c->index]) <= eng_rho(sim, c->index);
}

/// Whether the rate of another surface that the motion stands at, or near, hangs on the same.
static bool leaves_others_alone(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                                EngDependencyReader reader) {
  if (reader.kind != ENG_READER_GDOT) return true;
  uint32_t index = dependency->gdot.hanging[reader.at].output;
  uint32_t atom = sim->core.mode->atoms[index];
  if (atom == c->atom || !sim->live[atom]) return true;
  if (!sim->atoms[atom].separates || !value_may_bound(sim, atom)) return true;
  return !sim->atoms[atom].surface && !slide_is_at_zero(sim, index, sim->g[index]);
}

/// Whether a derivative is the same on both sides.
static bool flows_alike(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                        EngDependencyReader reader) {
  if (reader.kind != ENG_READER_RHS) return true;
  uint32_t state = dependency->rhs.hanging[reader.at].output;
  double flow[2];
  for (uint32_t side = 0; side < 2; side++) {
    bool there = false;
    look_from(sim, dependency, c->atom, side == 1, &there);
    if (!model_program_run_output(&sim->core.mode->rhs, eng_context(sim), sim->rhs_regs,
                                  sim->core.t, state_now, sim, state, &flow[side])) {
      return false;
    }
  }
  double moved = fabs(flow[1] - flow[0]) * usual_step(sim);
  return moved <= KINK_SHARE * side_tolerance(sim, state);
}

/// Whether a relation is plainly crossed; where guards have had their say, all has to be as where
/// the flow leads.
static bool crosses(EngSim* sim, const EngDependency* dependency, Crossing* c, bool settled) {
  if (!value_may_bound(sim, c->atom)) return false;
  if (!each_reader(sim, dependency, c, leaves_others_alone)) return false;
  bool known = true;
  bool there[2] = {false, false};
  for (uint32_t side = 0; side < 2 && known; side++) {
    known = look_from(sim, dependency, c->atom, side == 1, &there[side]) &&
            model_program_run_output(&sim->core.mode->gdot, eng_context(sim), sim->gdot_regs,
                                     sim->core.t, state_now, sim, c->index, &c->rate[side]);
  }
  look_as_before(sim, dependency, c->atom);
  if (!known || !is_clear(sim, c, c->rate[0]) || !is_clear(sim, c, c->rate[1])) return false;
  bool above = c->rate[0] > 0.0;
  if (above != (c->rate[1] > 0.0)) return false;
  if (!settled || (there[above] && sim->atoms[c->atom].truth == above)) return true;
  return there[!above] && !is_met(sim, c);  // it comes to it, and crosses it then
}

/// Programs are bound to the present mode, equations are straight, and nothing else is at work.
static const EngDependency* suits(EngSim* sim) {
  const EngCore* core = &sim->core;
  if (sim->was_sliding || core->contact.count || sim->contact_holds || sim->at_start) return NULL;
  if (!core->mode->shared || core->mode->implicit || sim->bound != core->mode) return NULL;
  if (sim->options.sliding != SLT_SLIDING_FILIPPOV || sim->stepper->method->stiff) return NULL;
  const EngDependency* dependency = eng_dependency(sim);
  return dependency && !dependency->g_reads && find_askers(sim) ? dependency : NULL;
}

bool slide_crosses_plainly(EngSim* sim, bool settled) {
  const ModelMode* mode = sim->core.mode;
  const EngDependency* dependency = suits(sim);
  if (!dependency) return false;
  bool kinks = true;
  for (uint32_t place = 0; place < sim->active_count; place++) {
    Crossing c = {.atom = mode->atoms[sim->active[place]], .index = sim->active[place]};
    if (!sim->atoms[c.atom].surface) continue;
    if (!crosses(sim, dependency, &c, settled)) return false;
    kinks = each_reader(sim, dependency, &c, flows_alike) && kinks;
    look_as_before(sim, dependency, c.atom);
  }
  if (kinks) sim->sliding.kink_t = sim->core.t;
  if (!kinks) sim->slide_decided = true;
  return true;
}

void slide_free_askers(EngSim* sim) {
  const SltAllocator* a = &sim->options.allocator;
  EngAskers* askers = &sim->sliding.askers;
  base_free(a, askers->begin, askers->begin_capacity * sizeof *askers->begin);
  base_free(a, askers->list, askers->list_capacity * sizeof *askers->list);
}

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
  if (ENG_GROW(sim, askers->begin, n + 1) < 0) {
    return NULL;
  }
  memset(askers->begin, 0, (n + 1) * sizeof *askers->begin);
  add_all(model, askers, false);
  for (size_t i = 0; i < n; i++) {
    askers->begin[i + 1] += askers->begin[i];
  }
  if (ENG_GROW(sim, askers->list, askers->begin[n] + (size_t)1) < 0) {
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

/// Where the guards of an automaton lead as they hold now.
typedef struct Move {
  uint32_t to;
  const ModelTransition* by;  // NULL: it stays, or is a switch
} Move;

static bool sets_something(const EngSim* sim, const ModelTransition* t) {
  return t->action_count > 0 || sim->model->automata[t->automaton].states[t->to].action_count > 0;
}

/// False: resets lead there. Flags that it sets are values like its state.
static bool next_state(EngSim* sim, uint32_t automaton, Move* move) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  *move = (Move){.to = sim->state[automaton]};
  if (!eng_automaton_active(sim, automaton)) return true;
  if (a->kind == MODEL_AUTOMATON_SWITCH) {
    move->to = eng_guard(sim, a->condition) ? 1 : 0;
    return a->states[move->to].action_count == 0;
  }
  const ModelState* state = &a->states[move->to];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
    if (!eng_guard(sim, &t->guard)) continue;
    if (eng_waits_for_accumulation(sim, state->outgoing[i])) continue;
    *move = (Move){t->to, t};
    bool plain = !sets_something(sim, t) || eng_sets_only_flags(sim, t);
    return plain && !a->states[t->to].written->keeps;
  }
  return true;
}

/// Whether nothing but equations' values depends on the automaton's state.
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
    if (reader.kind == ENG_READER_GDOT_INPUT) sim->programs.gdot[reader.at] = value;
    if (reader.kind == ENG_READER_RHS_INPUT) sim->programs.rhs[reader.at] = value;
  }
}

static void put_state(EngSim* sim, const EngDependency* dependency, uint32_t automaton,
                      uint32_t state) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  for (uint32_t s = 0; s < a->state_count; s++) {
    put(sim, dependency, a->states[s].test_env, s == state ? 1.0 : 0.0);
  }
}

static void put_actions(EngSim* sim, const EngDependency* dependency, uint32_t begin,
                        uint32_t count, bool done) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    put(sim, dependency, action->env, done ? eng_eval(sim, &action->value) : sim->env[action->env]);
  }
}

/// Flags that a transition sets, as it leaves them (`done`) or as they are.
static void put_flags(EngSim* sim, const EngDependency* dependency, const ModelTransition* t,
                      bool done) {
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  put_actions(sim, dependency, to->action_begin, to->action_count, done);
  put_actions(sim, dependency, t->action_begin, t->action_count, done);
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
    Move move;
    good = is_alone(sim, automaton) && next_state(sim, automaton, &move);
    if (!good) break;
    *there = *there && move.to == sim->state[automaton];
    put_state(sim, dependency, automaton, move.to);
    if (move.by) put_flags(sim, dependency, move.by, true);
  }
  *truth = kept;
  return good;
}

static void look_as_before(EngSim* sim, const EngDependency* dependency, uint32_t atom) {
  const EngAskers* askers = &sim->sliding.askers;
  put(sim, dependency, sim->model->atoms[atom].env, sim->env[sim->model->atoms[atom].env]);
  for (uint32_t k = askers->begin[atom]; k < askers->begin[atom + 1]; k++) {
    const ModelAutomaton* a = &sim->model->automata[askers->list[k]];
    const ModelState* state = &a->states[sim->state[askers->list[k]]];
    put_state(sim, dependency, askers->list[k], sim->state[askers->list[k]]);
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      put_flags(sim, dependency, &sim->model->transitions[state->outgoing[i]], false);
    }
  }
}

/// Visit the derivatives (ENG_READER_RHS) and the slopes (ENG_READER_GDOT) that depend on the
/// automata that ask for a relation, until `see` says no.
typedef bool CrossingSee(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                         uint32_t kind, uint32_t output);

static bool each_reader_of_state(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                                 CrossingSee* see, uint32_t env) {
  if (env == MODEL_NONE) return true;
  for (uint32_t i = dependency->reader_begin[env]; i < dependency->reader_begin[env + 1]; i++) {
    EngDependencyReader reader = dependency->readers[i];
    bool rhs = reader.kind == ENG_READER_RHS;
    if (!rhs && reader.kind != ENG_READER_GDOT) continue;
    const EngDependencyProgram* program = rhs ? &dependency->rhs : &dependency->gdot;
    if (!see(sim, dependency, c, reader.kind, program->dependent[reader.at].output)) return false;
  }
  return true;
}

/// ... on a flag, and so do the slopes of relations that read what it moves.
static bool each_reader_of_flag(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                                CrossingSee* see, uint32_t env) {
  if (!eng_local_is_prepared(sim)) return false;
  for (uint32_t i = dependency->reader_begin[env]; i < dependency->reader_begin[env + 1]; i++) {
    if (dependency->readers[i].kind == ENG_READER_G_INPUT) return false;  // it moves relations
  }
  const uint32_t* states = NULL;
  uint32_t count = eng_local_rates(sim, env, &states);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t* atoms = NULL;
    uint32_t atom_count = eng_local_indicators(sim, states[i], &atoms);
    if (!see(sim, dependency, c, ENG_READER_RHS, states[i])) return false;
    for (uint32_t k = 0; k < atom_count; k++) {
      if (!see(sim, dependency, c, ENG_READER_GDOT, atoms[k])) return false;
    }
  }
  return true;
}

static bool each_reader_of_flags(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                                 CrossingSee* see, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    if (!each_reader_of_flag(sim, dependency, c, see, sim->model->actions[i].env)) return false;
  }
  return true;
}

static bool each_reader(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                        CrossingSee* see) {
  const EngAskers* askers = &sim->sliding.askers;
  for (uint32_t k = askers->begin[c->atom]; k < askers->begin[c->atom + 1]; k++) {
    const ModelAutomaton* a = &sim->model->automata[askers->list[k]];
    for (uint32_t s = 0; s < a->state_count; s++) {
      const ModelState* state = &a->states[s];
      if (!each_reader_of_state(sim, dependency, c, see, state->test_env)) return false;
      bool flags =
          each_reader_of_flags(sim, dependency, c, see, state->action_begin, state->action_count);
      for (uint32_t i = 0; i < state->outgoing_count && flags; i++) {
        const ModelTransition* t = &sim->model->transitions[state->outgoing[i]];
        flags = each_reader_of_flags(sim, dependency, c, see, t->action_begin, t->action_count);
      }
      if (!flags) return false;
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
  return sim->atoms[c->atom].located || fabs(sim->detect.g[c->index]) <= eng_rho(sim, c->index);
}

/// Whether the rate of another surface that the motion stands at, or near, depends on the same.
static bool leaves_others_alone(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                                uint32_t kind, uint32_t index) {
  (void)dependency;
  if (kind != ENG_READER_GDOT) return true;
  uint32_t atom = sim->core.mode->atoms[index];
  if (atom == c->atom || !sim->active.live[atom]) return true;
  if (!sim->atoms[atom].kind.separates || !value_may_bound(sim, atom)) return true;
  return !sim->atoms[atom].surface && !slide_is_at_zero(sim, index, sim->detect.g[index]);
}

/// Whether a derivative is the same on both sides.
static bool flows_alike(EngSim* sim, const EngDependency* dependency, const Crossing* c,
                        uint32_t kind, uint32_t state) {
  if (kind != ENG_READER_RHS) return true;
  double flow[2];
  for (uint32_t side = 0; side < 2; side++) {
    bool there = false;
    look_from(sim, dependency, c->atom, side == 1, &there);
    if (!model_program_run_output(&sim->core.mode->rhs, eng_context(sim), sim->programs.rhs,
                                  sim->core.t, eng_point_state, sim->x, state, &flow[side])) {
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
    known =
        look_from(sim, dependency, c->atom, side == 1, &there[side]) &&
        model_program_run_output(&sim->core.mode->gdot, eng_context(sim), sim->programs.gdot,
                                 sim->core.t, eng_point_state, sim->x, c->index, &c->rate[side]);
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
  if (sim->instant.was_sliding || core->contact.count || sim->contact.holds ||
      sim->instant.at_start || core->step.chords)
    return NULL;
  if (!core->mode->shared || core->mode->implicit || sim->programs.bound != core->mode) return NULL;
  if (sim->options.sliding != SLT_SLIDING_FILIPPOV || sim->stepper->method->stiff) return NULL;
  const EngDependency* dependency = eng_dependency(sim);
  return dependency && !dependency->g_reads && find_askers(sim) ? dependency : NULL;
}

bool slide_crosses_plainly(EngSim* sim, bool settled) {
  const ModelMode* mode = sim->core.mode;
  const EngDependency* dependency = suits(sim);
  if (!dependency) return false;
  bool kinks = true;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    Crossing c = {.atom = mode->atoms[sim->active.indicators[place]],
                  .index = sim->active.indicators[place]};
    if (!sim->atoms[c.atom].surface) continue;
    if (!crosses(sim, dependency, &c, settled)) return false;
    kinks = each_reader(sim, dependency, &c, flows_alike) && kinks;
    look_as_before(sim, dependency, c.atom);
  }
  if (kinks) sim->sliding.kink_t = sim->core.t;
  if (!kinks) sim->instant.slide_decided = true;
  return true;
}

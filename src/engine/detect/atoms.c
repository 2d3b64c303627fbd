// SPDX-License-Identifier: MIT
//
// Truth and arming of atoms.
//
// An atom is latched: between events its truth is what the last event made it, not the sign of a g
// that hovers around zero. After an instant an atom with |g| <= eps is disarmed: it lingers at the
// boundary it has just crossed, and only leaving the zone on the side that contradicts its truth,
// or turning round inside it, counts as something new.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define READ_ULPS      16.0  // a value that has moved by less has not moved
#define TANGENT_SIGMAS 10.0
#define SLID_SIGMAS    10.0
#define CLEAR_MARGINS  4.0
#define CLEAR_TIMES    16.0

uint32_t eng_atom_place(const ModelMode* mode, uint32_t atom) {
  return base_find_sorted(mode->atoms, mode->atom_count, atom);
}

void eng_atoms_separate(EngSim* sim, const ModelGuard* guard, bool joined) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    EngAtom* atom = &sim->atoms[guard->atoms[i]];
    atom->joined = joined && (atom->joined || !atom->kind.separates);
    atom->kind.separates = true;
    sim->detect.has_separating = true;
  }
}

/// Whether the state can be left for another one without resets but those of flags.
static bool has_free_way_out(const EngSim* sim, const ModelState* state) {
  const Model* model = sim->model;
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    const ModelTransition* t = &model->transitions[state->outgoing[i]];
    const ModelState* to = &model->automata[t->automaton].states[t->to];
    if (to != state && eng_sets_only_flags(sim, t)) return true;
  }
  return false;
}

bool eng_guard_needs(const ModelGuard* guard, uint32_t env) {
  const ModelShape* shape = guard->term.shape;
  if (!shape || !shape->tabled) return false;
  uint32_t count = shape->program.input_count;
  for (uint32_t i = 0; i < count; i++) {
    if (guard->term.args[shape->program.inputs[i].env] != env) continue;
    bool holds = false;
    for (uint32_t truths = 0; truths < 1u << count; truths++) {
      holds |= !(truths >> i & 1) && (shape->table >> truths & 1);
    }
    return !holds;
  }
  return false;
}

/// A truth without which the guard does not hold; MODEL_NONE: no single one decides.
static uint32_t gate_of(const ModelGuard* guard) {
  const ModelShape* shape = guard->term.shape;
  for (uint32_t i = 0; shape && i < shape->program.input_count; i++) {
    uint32_t env = guard->term.args[shape->program.inputs[i].env];
    if (eng_guard_needs(guard, env)) return env;
  }
  return MODEL_NONE;
}

static void find_gates(EngSim* sim) {
  const Model* model = sim->model;
  uint32_t next = 0;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    sim->instant.gate_begin[a] = next;
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      const ModelState* state = &automaton->states[s];
      const ModelTransition* only =
          state->outgoing_count == 1 ? &model->transitions[state->outgoing[0]] : NULL;
      bool told = only && only->to != s && automaton->kind == MODEL_AUTOMATON_USER;
      sim->instant.gates[next++] = told ? gate_of(&only->guard) : MODEL_NONE;
      sim->instant.has_invariants |= state->invariant != NULL;
    }
  }
}

/// A switch that follows one relation and nothing else (see EngSliding::value_follows).
static uint32_t followed_relation(const Model* model, uint32_t automaton) {
  const ModelAutomaton* a = &model->automata[automaton];
  if (a->kind != MODEL_AUTOMATON_SWITCH) return MODEL_NONE;
  const ModelGuard* guard = a->condition;
  const ModelShape* shape = guard->term.shape;
  if (guard->atom_count != 1 || !shape || !shape->tabled || shape->program.input_count != 1) {
    return MODEL_NONE;
  }
  uint32_t atom = guard->atoms[0];
  if (guard->term.args[shape->program.inputs[0].env] != model->atoms[atom].env) return MODEL_NONE;
  if ((shape->table & 3) == 2) return 2 * atom + 1;
  return (shape->table & 3) == 1 ? 2 * atom : MODEL_NONE;
}

static void note_effect(EngSim* sim, const ModelGuard* guard) {
  for (uint32_t k = 0; guard && k < guard->atom_count; k++) {
    sim->atoms[guard->atoms[k]].acts = true;
  }
}

/// Whether events of an automaton have an effect: else they are recorded, no more.
static bool has_effect(const Model* model, const ModelAutomaton* a) {
  bool acts = a->kind == MODEL_AUTOMATON_SWITCH || a->has_bodies || a->entry_env != MODEL_NONE;
  for (uint32_t s = 0; s < a->state_count && !acts; s++) {
    const ModelState* state = &a->states[s];
    acts = state->invariant || state->action_count > 0 || state->test_env != MODEL_NONE ||
           state->written->stops;
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      acts |= model->transitions[state->outgoing[i]].action_count > 0;
    }
  }
  return acts;
}

static void note_effects(EngSim* sim, const ModelAutomaton* a) {
  if (!has_effect(sim->model, a)) return;
  note_effect(sim, a->condition);
  for (uint32_t s = 0; s < a->state_count; s++) {
    note_effect(sim, a->states[s].invariant);
    for (uint32_t i = 0; i < a->states[s].outgoing_count; i++) {
      note_effect(sim, &sim->model->transitions[a->states[s].outgoing[i]].guard);
    }
  }
}

void eng_atoms_init(EngSim* sim) {
  const Model* model = sim->model;
  find_gates(sim);
  eng_flags_init(sim);
  for (uint32_t i = 0; i < model->atom_count; i++) {
    sim->atoms[i].env = model->atoms[i].env;
    sim->atoms[i].relation = model->atoms[i].relation;
    sim->atoms[i].bipolar = model->atoms[i].bipolar;
    sim->atoms[i].kind.kink = model->atoms[i].kink;
    sim->atoms[i].kind.pulse = model->atoms[i].type >= MODEL_ATOM_PULSE;
    sim->atoms[i].kind.struck = model->atoms[i].type == MODEL_ATOM_STRUCK;
    sim->atoms[i].literal =
        !model->atoms[i].continuous || model->atoms[i].type == MODEL_ATOM_NOEVENT;
    sim->atoms[i].t_linear = (double)INFINITY;
    sim->values.is_truth[model->atoms[i].env] = 1;
    for (uint32_t k = 0; k < model->atoms[i].read_count; k++) {
      sim->detect.has_pre |= model->atoms[i].reads[k].when == MODEL_PRE;
    }
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    note_effects(sim, &model->automata[a]);
    if (model->automata[a].kind == MODEL_AUTOMATON_SWITCH) {
      const ModelGuard* condition = model->automata[a].condition;
      eng_atoms_separate(sim, condition, condition->atom_count > 1);
    }
    uint32_t follows = followed_relation(model, a);
    sim->sliding.value.follows[a] = follows;
    sim->detect.has_kinks |= follows != MODEL_NONE && model->atoms[follows / 2].kink;
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelTransition* t = &model->transitions[i];
    const ModelState* to = &model->automata[t->automaton].states[t->to];
    bool self = t->from_count == 1 && t->from[0] == t->to;
    for (uint32_t k = 0; k < t->from_count; k++) {
      sim->instant.has_self_loops |= t->from[k] == t->to;
    }
    bool cell = self && model->automata[t->automaton].hidden;
    for (uint32_t k = 0; k < t->guard.atom_count && cell; k++) {
      sim->atoms[t->guard.atoms[k]].kind.piece = true;
    }
    for (uint32_t k = 0; k < t->guard.atom_count && model->automata[t->automaton].has_bodies; k++) {
      sim->atoms[t->guard.atoms[k]].structural = true;
    }
    bool resets = !eng_sets_only_flags(sim, t);
    // what cannot be crossed back without resets is crossed, never slid along
    if (!self && !resets && has_free_way_out(sim, to)) eng_atoms_separate(sim, &t->guard, false);
  }
}

static inline void set_truth(EngSim* sim, EngAtom* atom, bool truth) {
  atom->truth = truth;
  double shows = eng_atom_shows(atom);
  sim->events.looked &= sim->env[atom->env] == shows;
  sim->env[atom->env] = shows;
}

static void mark_guard(const ModelGuard* guard, uint8_t* relevant) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    relevant[guard->atoms[i]] = 1;
  }
}

void eng_relevant_atoms(const EngSim* sim, const ModelMode* mode, uint8_t* relevant) {
  const Model* model = sim->model;
  memset(relevant, 0, model->atom_count);
  if (!mode->shared) {
    for (uint32_t i = 0; i < mode->atom_count; i++) {
      relevant[mode->atoms[i]] = 1;
    }
    return;
  }
  for (uint32_t i = 0; i < mode->equation_atom_count; i++) {
    relevant[mode->equation_atoms[i]] = 1;
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    const ModelState* state = &automaton->states[sim->state[a]];
    for (uint32_t i = 0; i < state->outgoing_count; i++) {
      mark_guard(&model->transitions[state->outgoing[i]].guard, relevant);
    }
    if (state->invariant) mark_guard(state->invariant, relevant);
    bool follows = automaton->kind == MODEL_AUTOMATON_SWITCH && eng_automaton_active(sim, a);
    if (follows) mark_guard(automaton->condition, relevant);
  }
}

/// What the atoms that matter are like.
static EngAtomTraits traits_of_active(const EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngAtomTraits traits = {0};
  bool interpolates = sim->options.detection == SLT_DETECTION_INTERPOLATION;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    const ModelAtom* atom = &sim->model->atoms[mode->atoms[sim->active.indicators[place]]];
    traits.time_only |= atom->time_only;
    traits.linear |= eng_may_be_linear(sim, sim->active.indicators[place]);
    traits.extrapolates |= eng_extrapolates(sim, atom);
    traits.unilateral |= atom->type == MODEL_ATOM_UNILATERAL && !interpolates;
  }
  return traits;
}

void eng_find_active(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  sim->pruning.stale = true;
  sim->active.followed_stale = true;
  sim->active.stale = false;
  sim->active.indicator_count = 0;
  if (mode->shared) eng_relevant_atoms(sim, mode, sim->active.relevant);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    if (!mode->shared || sim->active.relevant[mode->atoms[i]])
      sim->active.indicators[sim->active.indicator_count++] = i;
  }
  // a mode that keeps its registers has the same ones whenever it is entered
  EngSlot* slot =
      sim->programs.slot && sim->programs.slot->mode == mode ? sim->programs.slot : NULL;
  EngAtomTraits traits = slot && slot->traits.known ? slot->traits : traits_of_active(sim);
  traits.known = true;
  if (slot) slot->traits = traits;
  sim->detect.has_linear = traits.linear;
  sim->detect.extrapolates = traits.extrapolates;
  sim->detect.has_time_only = traits.time_only;
  sim->detect.has_unilateral = traits.unilateral;
}

EngList eng_followed_slow(EngSim* sim) {
  if (sim->active.followed_stale) {
    const ModelMode* mode = sim->core.mode;
    sim->active.followed_count = 0;
    for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
      uint32_t i = sim->active.indicators[place];
      const EngAtom* atom = &sim->atoms[mode->atoms[i]];
      if (!atom->sliding || atom->marks.kept_by_contact)
        sim->active.followed[sim->active.followed_count++] = i;
    }
    sim->active.followed_stale = false;
  }
  return (EngList){sim->active.followed, sim->active.followed_count};
}

void eng_atoms_enter_mode(EngSim* sim) {
  eng_find_active(sim);
  memset(sim->active.live, 0, sim->model->atom_count);
  const ModelMode* mode = sim->core.mode;
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t id = mode->atoms[sim->active.indicators[place]];
    EngAtom* atom = &sim->atoms[id];
    sim->active.live[id] = 1;
    if (!atom->relevant_start) atom->fresh = true;
  }
}

// ---- truth at the boundary ----------------------------------------------------------------------
//
// Beyond rounding the sign of g decides. Within it the comparison as written does where the values
// were given: at the start, and where an action has moved g. Otherwise g came here by itself, or
// was here already, and what counts is where it is going: a crossing that was located holds until
// the instant has changed something; after that the flow of the present values decides, then its
// second derivative, then what is latched.

/// Whether a relation holds as it is written; what rounding leaves of zero is zero. (floor(x) goes
/// up at x = 1 - 1e-16, and must not find itself above x then.)
static bool holds_up_to_rounding(EngSim* sim, uint32_t index, uint8_t relation, double g) {
  eng_control_margin(sim);
  return eng_relation_holds(relation, fabs(g) <= sim->proof.margin[index] ? 0.0 : g);
}

static bool released_constraint(const EngSim* sim) {
  const ModelMode* from = sim->dae.from;
  const ModelMode* mode = sim->core.mode;
  if (!from || !from->implicit || from == mode) return false;
  uint32_t left = mode->implicit ? mode->implicit->constraint_count : 0;
  return left < from->implicit->constraint_count;
}

/// Whether impulses have moved states in this instant, and nothing else has.
static bool only_impulses(const EngSim* sim) {
  uint64_t changes = sim->core.changes - sim->instant.changes_start;
  return changes > 0 && changes == sim->instant.impulses;
}

/// Whether a constraint that may have kept a relation at its boundary is released now. What was
/// slid along was kept there by the flows on its sides.
static bool was_released(EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (atom->marks.slid || !released_constraint(sim)) return false;
  return atom->fresh || only_impulses(sim) || fabs(atom->g_start) <= eng_sigma(sim, index);
}

static bool reads_the_same(const ModelAtom* a, const ModelAtom* b) {
  if (a->read_count != b->read_count) return false;
  for (uint32_t k = 0; k < a->read_count; k++) {
    if (a->reads[k].var != b->reads[k].var || a->reads[k].order != b->reads[k].order) return false;
  }
  return true;
}

/// Slope with which g came to this instant, whatever the flow of the present candidate is. Of a
/// relation that did not matter before it is that of a located one that reads the same.
static double slope_before(const EngSim* sim, uint32_t index) {
  uint32_t id = sim->core.mode->atoms[index];
  if (sim->instant.at_start) return sim->detect.gdot[index];
  if (!isnan(sim->atoms[id].g_start)) return sim->atoms[id].gdot;
  double slope = sim->detect.gdot[index];
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* crossing = &sim->detect.crossings[i];
    const ModelAtom* other = &sim->model->atoms[sim->core.mode_before->atoms[crossing->index]];
    if (!reads_the_same(&sim->model->atoms[id], other)) continue;
    if (fabs(crossing->slope) > fabs(slope)) slope = crossing->slope;
  }
  return slope;
}

/// Rounding of g in an instant: its time was located with the flow before it.
static double instant_rho(EngSim* sim, uint32_t index) {
  eng_control_margin(sim);
  return sim->proof.margin[index] + eng_time_rho(sim, slope_before(sim, index));
}

/// Whether this instant has moved g by more than rounding, be it there and back. Where a relation
/// did not matter before, what it reads tells. What is computed is as exact as what it is computed
/// from: a distance that a constraint kept at zero is now a difference of its ends.
static bool was_moved(EngSim* sim, uint32_t index, double g) {
  uint32_t id = sim->core.mode->atoms[index];
  const ModelAtom* model = &sim->model->atoms[id];
  double before = sim->atoms[id].g_start;
  if (sim->instant.at_start) return true;
  if (only_impulses(sim)) return false;
  if (sim->atoms[id].strayed == (uint32_t)sim->instant.changes_start + 1) return true;
  if (!isnan(before)) return fabs(g - before) > fmax(instant_rho(sim, index), sim->atoms[id].eps);
  for (uint32_t k = 0; k < model->read_count; k++) {
    const ModelRead* read = &model->reads[k];
    uint32_t env = sim->model->vars[read->var].env + read->order;
    double size = fmax(fabs(sim->env[env]), fabs(sim->values.before[env]));
    double move = fabs(sim->env[env] - sim->values.before[env]);
    double rounding = 0.0;
    if (eng_state_place(sim, env) != MODEL_NONE)
      rounding = eng_time_rho(sim, sim->values.before[env + 1]);
    if (sim->values.computed[env]) rounding = instant_rho(sim, index);
    if (move > fmax(READ_ULPS * DBL_EPSILON * size, rounding)) return true;
  }
  return false;
}

/// The rates of the mode's own flow, into probe.x.
static void find_rates(EngSim* sim) {
  model_program_run(&sim->core.mode->rhs, eng_context(sim), sim->programs.rhs, sim->core.t, sim->x,
                    sim->probe.x);
}

/// A time over which the flow changes something: the next step, or at the start, where none is
/// known yet, that in which the fastest state would change by its scale. From rest it is not known
/// either, and a small part of the run has to do.
static double time_of_change(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  if (sim->stepper->control.h_next > 0.0) return sim->stepper->control.h_next;
  if (sim->detect.keeps_change && sim->detect.change_time > 0.0) return sim->detect.change_time;
  find_rates(sim);
  double shortest = (double)INFINITY;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double scale = fmax(eng_scale(sim, mode->state_env[i]), fabs(sim->x[i]));
    if (scale > 0.0) shortest = fmin(shortest, scale / fabs(sim->probe.x[i]));
  }
  sim->detect.change_time = isfinite(shortest) ? shortest : 1e-3 * eng_horizon(sim);
  return sim->detect.change_time;
}

/// The flow stays as it is while relations are looked at one after the other.
static void keep_change(EngSim* sim, bool keeps) {
  sim->detect.keeps_change = keeps;
  sim->detect.change_time = 0.0;
}

/// A point ahead, along the flow.
typedef struct Ahead {
  EngSim* sim;
  double time;
} Ahead;

static double state_ahead(const void* user, uint32_t state) {
  EngSim* sim = ((const Ahead*)user)->sim;
  double rate = 0.0;
  if (!eng_output(sim, ENG_SINGLE_RHS, sim->core.t, eng_point_state, sim->x, state, &rate)) {
    find_rates(sim);
    rate = sim->probe.x[state];
  }
  return sim->x[state] + ((const Ahead*)user)->time * rate;
}

/// How much the slope of g changes along the flow within the time `ahead`; 0 where the flow is not
/// the mode's own.
static double slope_change(EngSim* sim, uint32_t index, double gdot, double ahead) {
  const ModelMode* mode = sim->core.mode;
  if (eng_is_held(sim) || !(ahead > 0.0)) return 0.0;
  double t = sim->core.t + ahead;
  double slope = 0.0;
  Ahead point = {sim, ahead};
  if (mode->rhs.slices && eng_output(sim, ENG_SINGLE_SLOPE, t, state_ahead, &point, index, &slope))
    return slope - gdot;
  find_rates(sim);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->probe.x[i] = sim->x[i] + ahead * sim->probe.x[i];
  }
  model_program_run(&mode->gdot, eng_context(sim), sim->programs.gdot, t, sim->probe.x,
                    sim->probe.g);
  return sim->probe.g[index] - gdot;
}

/// Whether the slope of a g at its boundary is more than what rounding of g would be within a step,
/// which is more than rounding of the slope; that of a slope which was located at zero is as much
/// larger as the time is than the step.
static bool has_clear_slope(EngSim* sim, uint32_t index, double gdot) {
  double h = sim->stepper->control.h_next;
  eng_control_margin(sim);
  double clear = CLEAR_MARGINS * sim->proof.margin[index] * (h + CLEAR_TIMES * fabs(sim->core.t));
  return h * (h * fabs(gdot)) > clear;
}

/// Whether the comparison as written decides at a boundary to which an action has moved g. Pieces
/// of floor(u) meet where u is, and what leads from one to the next moves the boundary: the value
/// is the one just after the instant.
static bool decides_by_value(const EngSim* sim, const EngAtom* atom) {
  return !atom->kind.kink && (!atom->kind.piece || sim->instant.at_start);
}

bool eng_slope_decides(EngSim* sim, uint32_t index) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  double gdot = sim->detect.gdot[index];
  if (isnan(atom->g_start) || atom->kind.asymptotic) return false;
  bool given = was_moved(sim, index, sim->detect.g[index]);
  if (given && decides_by_value(sim, atom)) return false;
  if (!has_clear_slope(sim, index, gdot)) return false;
  if (given || !atom->kind.separates) return true;
  if (atom->fresh) return gdot < 0.0;  // it is left behind
  return atom->located && (gdot > 0.0) == atom->located_truth &&
         has_clear_slope(sim, index, slope_before(sim, index));
}

/// Where the flow takes a g that is at its boundary: 1 up, -1 down, 0 nowhere as far as rounding
/// lets one see. A constraint that was just released has kept g at zero to tolerance and no better:
/// a rise that stays within that is none.
static int heading(EngSim* sim, uint32_t index, double gdot) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  bool released = was_released(sim, index);
  double h = sim->stepper->control.h_next;
  if (!released && has_clear_slope(sim, index, gdot)) return gdot > 0.0 ? 1 : -1;
  double noise = eng_slope_rho(sim, index);
  double ahead = 1e-3 * time_of_change(sim);
  double change = slope_change(sim, index, gdot, ahead);
  double bend = fabs(change) > 2.0 * noise ? change / ahead : 0.0;
  if (released && gdot * bend <= 0.0) {
    double sigma = eng_sigma(sim, index);
    bool grazes = gdot * gdot <= 2.0 * fabs(bend) * sigma;
    if (grazes || (h > 0.0 && fabs(gdot) * h <= TANGENT_SIGMAS * sigma)) {
      atom->marks.tangential = bend <= 0.0;
      return bend > 0.0 ? 1 : -1;
    }
  }
  // the slope that was located at zero is off by what it changes within the rounding of the time;
  // the bend over a part of a step says nothing of that where roots are close to each other
  noise += fabs(slope_change(sim, index, gdot, eng_time_rho(sim, 1.0)));
  if (fabs(gdot) > noise) return gdot > 0.0 ? 1 : -1;
  if (bend < 0.0) atom->marks.tangential = true;
  return bend > 0.0 ? 1 : bend < 0.0 ? -1 : 0;
}

/// Whether a relation that matters only now, or that a constraint has kept where it is, would hold
/// by nothing but errors within the tolerances, and less and less: a motion that sets out from the
/// boundary has not come to it.
static bool leaves_from_zero(EngSim* sim, uint32_t index, double g, double gdot) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (sim->instant.at_start || !(atom->fresh || was_released(sim, index))) return false;
  if (g > eng_sigma(sim, index) || heading(sim, index, gdot) >= 0) return false;
  atom->marks.tangential = true;
  return true;
}

/// Whether g is near a pole, where its rounding is as large as g itself: a relation has changed its
/// sign against its slope in this instant, as 1/x and tan(x) do at infinity.
static bool at_pole(EngSim* sim, uint32_t index, double g, double rho) {
  return sim->detect.polar && fabs(g) <= rho && eng_sign_is_sure(sim, index);
}

bool eng_at_boundary(EngSim* sim, uint32_t index, double g) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  double bound = fmax(atom->eps, instant_rho(sim, index));
  // what equations have kept at its boundary is there, as far as projection goes
  if (atom->fresh && fabs(g) > bound && sim->core.mode_before->implicit)
    bound = eng_impulse_rho(sim, index);
  if (fabs(g) <= bound) return !at_pole(sim, index, g, bound);
  if (atom->located) return fabs(fabs(g) - fabs(atom->g_start)) <= bound;
  // along a surface g is kept at zero to tolerance; an action may have taken it off
  if (fabs(g - atom->g_start) > bound) return false;
  return (atom->marks.slid || atom->sliding || atom->marks.left_now) &&
         fabs(g) <= SLID_SIGMAS * eng_sigma(sim, index);
}

bool eng_atom_was_turned(EngSim* sim, uint32_t id) {
  const EngAtom* atom = &sim->atoms[id];
  if (!sim->active.live[id] || !atom->relevant_start || !sim->model->atoms[id].continuous)
    return false;
  uint32_t index = eng_atom_place(sim->core.mode, id);
  if (index == MODEL_NONE || !(sim->detect.gdot[index] > 0.0) || isnan(atom->g_start)) return false;
  double g = sim->detect.g[index];
  if (!eng_at_boundary(sim, index, g) || was_moved(sim, index, g)) return false;
  double noise = eng_slope_rho(sim, index);
  return atom->gdot <= noise && sim->detect.gdot[index] > noise;
}

/// Where the flow depends on a relation that was located now and has the same boundary, the flow of
/// the present mode is not the one that follows: the side is that relation's. (A counter that asks
/// for x < 1 beside `x' = if(x >= 1, -1, 1)`.)
static bool has_side(const EngSim* sim, uint32_t id, double gdot, bool* truth) {
  bool asks = sim->detect.has_separating && !sim->atoms[id].located;
  for (uint32_t i = 0; asks && i < sim->detect.crossing_count; i++) {
    uint32_t other = sim->core.mode_before->atoms[sim->detect.crossings[i].index];
    if (!sim->atoms[other].kind.separates || other == id) continue;
    if (!reads_the_same(&sim->model->atoms[id], &sim->model->atoms[other])) continue;
    uint32_t place = eng_atom_place(sim->core.mode, other);
    double along = place == MODEL_NONE ? 0.0 : sim->detect.gdot[place] * gdot;
    if (along == 0.0 || !sim->atoms[other].located) continue;
    *truth = (along > 0.0) == sim->atoms[other].located_truth;
    return true;
  }
  return false;
}

/// Whether the flow depends on the relation itself, as all others are now: `x >= 1 && u > 0` asks
/// for x only where u is positive.
static bool separates_now(EngSim* sim, uint32_t index) {
  const Model* model = sim->model;
  uint32_t id = sim->core.mode->atoms[index];
  const EngAtom* atom = &sim->atoms[id];
  if (!atom->kind.separates || atom->fresh || was_released(sim, index)) return false;
  bool separates = !atom->joined;
  for (uint32_t a = 0; !separates && a < model->automaton_count; a++) {
    if (model->automata[a].kind == MODEL_AUTOMATON_SWITCH && eng_automaton_active(sim, a))
      separates = eng_guard_depends_on(sim, model->automata[a].condition, id);
  }
  return separates;
}

/// Where the flow depends on the relation, or on one of the same boundary, the rules of sliding
/// decide: it is what it was, or on the side of the other one.
static bool is_left_to_sliding(EngSim* sim, uint32_t index, double gdot, bool* truth) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (has_side(sim, sim->core.mode->atoms[index], gdot, truth)) return true;
  *truth = atom->located ? atom->located_truth : atom->truth;
  return separates_now(sim, index);
}

/// Truth of a relation that rests at its boundary: if it was not followed to it, the comparison as
/// written. Where the flow that led here took it down, it has ceased to hold: `x > 0` is over where
/// `x <= 0` was located and stops the motion.
static bool rests_true(EngSim* sim, uint32_t index, bool given) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (!given && !atom->fresh) return atom->truth;
  if (!given && eng_slope_before(sim, index) < 0.0) return false;
  return atom->relation != MODEL_REL_GT;
}

/// Whether a relation that rested at its boundary does so still. Where the flow takes it elsewhere
/// now it is what it was, unless errors have it on the other side and there it goes.
static bool stays_at_rest(EngSim* sim, uint32_t index, double g, double gdot) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  double at_rest = 0.0;
  bool here = !atom->fresh && fabs(g) <= atom->zone && !was_moved(sim, index, g);
  atom->kind.asymptotic =
      here && ((g > 0.0) == atom->truth || (gdot > 0.0) == atom->truth || !eng_flow_changed(sim) ||
               eng_rests(sim, index, sim->core.t, &at_rest));
  return atom->kind.asymptotic;
}

/// Whether a relation has stayed at its boundary since an earlier instant. What was not located has
/// not left it, and the flow that follows is not known in the first round.
static bool lingers(const EngSim* sim, const EngAtom* atom) {
  return !atom->armed && !atom->fresh && (!atom->truth || atom->bipolar) && !sim->instant.at_start;
}

/// Truth off the boundary; that an action took g there is kept in mind.
static bool is_beyond(EngSim* sim, uint32_t index, double g, double gdot) {
  EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (sim->core.changes != sim->instant.changes_start && (!atom->armed || atom->located))
    atom->strayed = (uint32_t)sim->instant.changes_start + 1;
  return g > 0.0 && !leaves_from_zero(sim, index, g, gdot);
}

/// Whether this instant has assigned nothing and changed no mode so far.
static bool is_unchanged(const EngSim* sim) {
  return sim->core.changes == sim->instant.changes_start && sim->core.mode == sim->core.mode_before;
}

/// Whether a relation is at the crossing that this instant is for. A flag is part of the mode, and
/// moves the boundary all the same where the relation reads it.
static bool is_at_crossing(EngSim* sim, uint32_t index, double g) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (!atom->located || !is_unchanged(sim)) return false;
  return g == atom->g_start || !was_moved(sim, index, g);
}

/// Truth of an atom during an instant.
static inline bool instant_truth(EngSim* sim, EngAtom* atom, uint32_t index, double g,
                                 double gdot) {
  if (atom->marks.by_flow) atom->marks.by_flow = false;
  if (atom->marks.held && atom->held_changes == (uint32_t)sim->core.changes) return atom->truth;
  if (atom->kind.struck) return false;  // a pulse decides
  if (atom->kind.pulse) return holds_up_to_rounding(sim, index, atom->relation, g);
  if (atom->literal) return eng_relation_holds(atom->relation, g);
  if (isnan(g)) return atom->truth;  // beyond where the equations have values: nothing new
  if (is_at_crossing(sim, index, g)) return atom->located_truth;
  if (atom->kind.asymptotic && stays_at_rest(sim, index, g, gdot)) return atom->truth;
  if (!eng_at_boundary(sim, index, g)) return is_beyond(sim, index, g, gdot);
  if (is_unchanged(sim) && lingers(sim, atom)) return atom->truth;
  bool given = was_moved(sim, index, g);
  if (given && decides_by_value(sim, atom)) {
    sim->core.leaves |= sim->instant.at_start || sim->core.changes != sim->instant.changes_start;
    return atom->relation != MODEL_REL_GT;
  }
  bool side = false;
  if (!given && is_left_to_sliding(sim, index, gdot, &side)) return side;
  int way = heading(sim, index, gdot);
  if (way == 0) return rests_true(sim, index, given);
  atom->marks.by_flow = way > 0;
  return way > 0;
}

/// Whether an equality holds during an instant: at its crossing until something changes, where an
/// action put g at zero, and where g rests there.
static bool is_equal(EngSim* sim, uint32_t index, double g) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (is_at_crossing(sim, index, g)) return atom->equal;
  if (isnan(g) || !eng_at_boundary(sim, index, g)) return false;
  return atom->fresh || was_moved(sim, index, g) ||
         heading(sim, index, sim->detect.gdot[index]) == 0;
}

/// Where the flow takes a relation that is at its boundary away from what was written there.
static bool leaves_boundary(EngSim* sim, uint32_t index) {
  uint32_t id = sim->core.mode->atoms[index];
  const EngAtom* atom = &sim->atoms[id];
  // a tangential one, or one at rest, waits until it has left its zone
  bool waits = !atom->armed && !atom->marks.tangential && !atom->sliding && !atom->kind.constant &&
               !atom->kind.asymptotic;
  if (!waits || atom->literal || atom->kind.pulse || atom->relation == MODEL_REL_EQ) return false;
  if (atom->truth && !atom->bipolar) return false;  // nobody waits for its becoming false
  if (!(fabs(atom->g) <= fmax(atom->eps, eng_rho(sim, index)))) return false;
  return heading(sim, index, atom->gdot) == (atom->truth ? -1 : 1);
}

bool eng_atoms_leave(EngSim* sim) {
  double t = sim->core.t;
  sim->detect.crossing_count = 0;
  keep_change(sim, true);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    if (!leaves_boundary(sim, i)) continue;
    const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[i]];
    bool certified = sim->options.detection == SLT_DETECTION_CERTIFIED;
    EngCrossing* crossing = &sim->detect.crossings[sim->detect.crossing_count++];
    *crossing = eng_crossing(i, t, t, t, atom->gdot, !atom->truth, certified);
    sim->env[atom->env] = eng_crossing_shows(atom, crossing);
  }
  keep_change(sim, false);
  if (sim->detect.crossing_count == 0) return false;
  bool fires = eng_anything_enabled(sim);
  // what fires nothing is latched silently, like any other crossing
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    EngAtom* atom = &sim->atoms[sim->core.mode->atoms[sim->detect.crossings[i].index]];
    set_truth(sim, atom, fires ? atom->truth : sim->detect.crossings[i].rising);
  }
  if (!fires) sim->detect.crossing_count = 0;
  return fires;
}

static void evaluate_instant(EngSim* sim) {
  if (ENG_UNLIKELY(sim->active.reduced)) eng_evaluate_followed(sim, sim->core.t, true);
  if (!sim->active.reduced) eng_evaluate_g(sim, sim->core.t, true);
}

void eng_atoms_update(EngSim* sim) {
  evaluate_instant(sim);
  eng_atoms_judge(sim);
}

static void judge(EngSim* sim, const uint32_t* places, uint32_t count) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = places[k];
    EngAtom* atom = &sim->atoms[mode->atoms[i]];
    double g = sim->detect.g[i];
    bool truth = instant_truth(sim, atom, i, g, sim->detect.gdot[i]);
    eng_impulse_truth(sim, i, &truth);
    if (ENG_UNLIKELY(atom->relation == MODEL_REL_EQ)) {
      atom->equal = atom->literal || atom->kind.pulse ? truth : is_equal(sim, i, g);
    }
    set_truth(sim, atom, truth);
    if (!atom->kind.separates) continue;
    if (eng_at_boundary(sim, i, g)) atom->surface = true;
  }
}

void eng_atom_judge(EngSim* sim, uint32_t i) {
  judge(sim, &i, 1);
}

void eng_atoms_judge(EngSim* sim) {
  EngList atoms = eng_instant_atoms(sim);
  keep_change(sim, true);
  judge(sim, atoms.at, atoms.count);
  keep_change(sim, false);
}

void eng_restore_truths(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->atom_count; i++) {
    sim->env[sim->model->atoms[i].env] = eng_atom_shows(&sim->atoms[i]);
  }
}

void eng_atom_begin_instant(EngSim* sim, uint32_t id) {
  EngAtom* atom = &sim->atoms[id];
  bool sliding = atom->sliding;
  bool describes = atom->marks.describes_surface;
  bool kept = atom->marks.kept_by_contact;
  atom->g_start = (double)NAN;
  atom->relevant_start = sim->active.live[id];
  // one after the other: they are one word
  atom->located = false;
  atom->fresh = false;
  atom->marks.held = false;
  atom->marks.left_now = false;
  atom->marks.tangential = false;
  atom->surface = false;
  atom->marks.slid = false;
  atom->marks.described_surface = false;
  atom->sliding = false;
  atom->kind.constant = false;
  atom->marks.describes_surface = false;
  if (!sliding && !describes) return;
  // what a closed contact keeps is held by its force, which the flows of modes know nothing of
  atom->surface = sliding && !(kept && sim->contact.holds);
  atom->marks.slid = sliding && !sim->core.contact.active;
  atom->marks.described_surface = describes;
}

void eng_atoms_begin_instant(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngList atoms = eng_instant_atoms(sim);
  // while time flows nobody has asked for the margins of what was slid along
  if (!sim->active.reduced && sim->core.slide.local) sim->core.margins.stale = true;
  for (uint32_t i = 0; !sim->active.reduced && i < sim->model->atom_count; i++)
    eng_atom_begin_instant(sim, i);
  for (uint32_t place = 0; sim->active.reduced && place < atoms.count; place++)
    eng_atom_begin_instant(sim, mode->atoms[atoms.at[place]]);
  // the search for the crossing has been here; along surfaces it looks at few
  bool known = !sim->detect.has_pre && !sim->instant.was_sliding &&
               sim->detect.g_epoch == sim->values.epoch &&
               sim->detect.gdot_epoch == sim->values.epoch;
  if (sim->active.reduced || !known) evaluate_instant(sim);
  sim->core.leaves = false;
  sim->instant.changes_start = sim->core.changes;
  sim->instant.impulses = 0;
  for (uint32_t place = 0; place < atoms.count; place++) {
    uint32_t i = atoms.at[place];
    sim->atoms[mode->atoms[i]].g_start = sim->detect.g[i];
    sim->atoms[mode->atoms[i]].gdot = sim->detect.gdot[i];
  }
  for (uint32_t i = 0; i < sim->detect.crossing_count; i++) {
    const EngCrossing* c = &sim->detect.crossings[i];
    EngAtom* atom = &sim->atoms[mode->atoms[c->index]];
    atom->located = true;
    atom->located_truth = c->rising;
    atom->equal = !c->leaves;
    sim->detect.polar |= c->rising ? c->slope < 0.0 : c->slope > 0.0;
  }
  eng_warn_of_grazing(sim);
}

/// Windows without a size of their own follow the scale of what g reads.
static void fit_windows(EngSim* sim) {
  for (uint32_t place = 0; sim->detect.has_windows && place < sim->active.indicator_count;
       place++) {
    uint32_t i = sim->active.indicators[place];
    EngAtom* atom = &sim->atoms[sim->core.mode->atoms[i]];
    if (atom->kind.windowed) atom->eps = fmax(atom->eps, eng_window(sim, i));
  }
}

void eng_atom_end_instant(EngSim* sim, uint32_t i) {
  uint32_t id = sim->core.mode->atoms[i];
  EngAtom* atom = &sim->atoms[id];
  double slope = fmax(fabs(slope_before(sim, i)), fabs(sim->detect.gdot[i]));
  eng_control_margin(sim);
  double rho = sim->proof.margin[i] + eng_time_rho(sim, slope);
  if (at_pole(sim, i, sim->detect.g[i], rho)) rho = 0.0;
  atom->g = sim->detect.g[i];
  atom->gdot = sim->detect.gdot[i];
  if (sim->detect.extrapolates) atom->previous.h = 0.0;
  // one that was clear of its crossing stays so where this instant has nothing to do with it
  bool stays = atom->armed && !atom->located && atom->g == atom->g_start &&
               fabs(atom->g) > atom->zone && (atom->g > 0.0) == atom->truth;
  // an indicator is done with its crossing as soon as rounding can tell; one that leaves its
  // boundary tangentially, as soon as errors within the tolerances can
  bool tangential = atom->marks.left_now || atom->marks.tangential || atom->kind.asymptotic;
  atom->zone = fmax(atom->eps, tangential ? fmax(eng_sigma(sim, i), rho) : rho);
  // along its surface g was zero: what was left of it is an error. So is what keeps it on the other
  // side than its truth, until it is clear of that.
  if (atom->marks.left_now) atom->zone = fmax(atom->zone, 2.0 * fabs(atom->g_start));
  if ((atom->g > 0.0) != atom->truth) atom->zone = fmax(atom->zone, 2.0 * fabs(atom->g));
  atom->armed = stays || fabs(atom->g) > atom->zone;
  if (atom->armed) atom->kind.asymptotic = false;
  atom->clear = atom->g < -atom->eps;
  atom->in_zone = false;
  atom->located = false;
  atom->fresh = false;
  if (ENG_UNLIKELY(atom->relation == MODEL_REL_EQ && sim->model->atoms[id].continuous)) {
    atom->equal = atom->equal && !atom->armed && heading(sim, i, atom->gdot) == 0;
    set_truth(sim, atom, atom->truth);
  }
}

void eng_atoms_end_instant(EngSim* sim) {
  eng_local_forget_far(sim);
  eng_pruned_forget(sim);
  if (!sim->active.reduced) eng_control_jumps(sim);  // a reduced instant has set no values
  eng_control_margin(sim);
  fit_windows(sim);
  EngList atoms = eng_instant_atoms(sim);
  for (uint32_t place = 0; place < atoms.count; place++)
    eng_atom_end_instant(sim, atoms.at[place]);
  sim->detect.polar = false;
  // in a reduced instant everything matters that did before
  for (uint32_t i = 0; !sim->active.reduced && i < sim->model->atom_count; i++) {
    sim->atoms[i].relevant_start = sim->active.live[i];
  }
}

/// Follow g of a located atom at a mesh point; returns its truth from there on.
static bool mesh_truth(EngAtom* atom) {
  if (!atom->truth) {
    if (atom->g < -atom->zone) atom->armed = true;
    return false;
  }
  // where nobody waits for its becoming false: follow silently, once it is clear of the zone
  if (atom->bipolar || eng_relation_holds(atom->relation, atom->g)) {
    if (atom->g > atom->zone) atom->armed = true;
    return true;
  }
  if (!atom->armed && atom->g >= -atom->zone) return true;
  atom->armed = true;
  return false;
}

bool eng_atom_mesh(EngSim* sim, uint32_t i) {
  uint32_t id = sim->core.mode->atoms[i];
  EngAtom* atom = &sim->atoms[id];
  // asked for where a relation bounds the step
  if (sim->detect.extrapolates) atom->previous.gdot = atom->gdot;
  if (sim->detect.extrapolates) atom->previous.h = sim->core.t - sim->core.mesh_t;
  atom->g = sim->detect.g[i];
  atom->gdot = sim->detect.gdot[i];
  bool literal = atom->literal;
  double before = eng_atom_shows(atom);
  if (atom->end_known && !literal) {
    atom->truth = atom->end_truth;
    atom->armed = atom->end_armed;
  }
  atom->end_known = false;
  if (atom->g < -atom->eps) atom->clear = true;
  atom->in_zone = !atom->truth && atom->clear && atom->g > -atom->eps;
  bool truth = literal                                ? eng_relation_holds(atom->relation, atom->g)
               : atom->sliding || atom->kind.constant ? atom->truth
                                                      : mesh_truth(atom);
  atom->truth = truth;
  if (atom->relation == MODEL_REL_EQ) {
    atom->equal = literal ? truth : atom->equal && fabs(atom->g) <= atom->zone;
  }
  if (atom->armed) atom->kind.asymptotic = false;
  bool changed = eng_atom_shows(atom) != before;
  if (changed) set_truth(sim, atom, truth);
  return changed;
}

bool eng_atoms_mesh(EngSim* sim) {
  if (sim->active.indicator_count == 0) return false;
  eng_local_forget_far(sim);
  eng_pruned_forget(sim);
  EngList followed = eng_followed(sim);
  // the search for events may have been here
  bool here =
      sim->detect.g_epoch == sim->values.epoch && sim->detect.gdot_epoch == sim->values.epoch;
  if (!here) eng_evaluate_followed(sim, sim->core.t, true);
  sim->detect.g_epoch = sim->detect.gdot_epoch = sim->values.epoch;
  fit_windows(sim);
  bool changed = false;
  // what is slid along stays where it is
  for (uint32_t place = 0; place < followed.count; place++) {
    changed |= eng_atom_mesh(sim, followed.at[place]);
    if (isnan(sim->detect.g[followed.at[place]])) eng_warn_of_relation(sim, followed.at[place]);
  }
  if (changed) eng_edges_visit(sim, false);
  // a scheduled crossing that fired nothing lies behind us
  if (sim->core.t >= fmin(sim->core.calendar.t_linear, sim->core.calendar.t_passing))
    eng_schedule_linear(sim);
  return changed;
}

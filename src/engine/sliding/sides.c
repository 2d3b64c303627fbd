// SPDX-License-Identifier: MIT
//
// The sides of surfaces: the modes there, their flows, and the rates of the surfaces under them.
//
// A row is one combination of sides. Row 0 is below all surfaces; every other row shows a pattern
// of sides of some groups (groups.c), and the other surfaces below.
//
// Where equations have no slope at a surface (`sign(x)*sqrt(abs(x))`) its sides are looked at
// beside it: g is brought to +offset or -offset by moving one state. On other surfaces offset is 0.
#include "engine/sliding/sides.h"

#include "engine/detect/bernstein.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SETTLE_LIMIT 20     // switches on the way to the mode of one side
#define RESETS_SLACK 100.0  // weights of a state by which motion along a surface may be off it

SltStatus side_room(EngSim* sim, uint32_t surfaces) {
  EngSliding* w = &sim->sliding;
  size_t entries = (size_t)surfaces * ENG_SIDES_MAX;
  size_t n = sim->values.n_max;
  SLT_TRY(ENG_GROW(sim, w->sides.rate, entries));
  SLT_TRY(ENG_GROW(sim, w->sides.speed, surfaces));
  SLT_TRY(ENG_GROW(sim, w->sides.bound, entries));
  SLT_TRY(ENG_GROW(sim, w->sides.wide, entries));
  SLT_TRY(ENG_GROW(sim, w->sides.place, entries));
  SLT_TRY(ENG_GROW(sim, w->sides.weight, entries));
  SLT_TRY(ENG_GROW(sim, w->sides.parent, surfaces));
  SLT_TRY(ENG_GROW(sim, w->sides.flow, 2 * n));
  return ENG_GROW(sim, w->sides.x, n);
}

SltStatus side_room_rows(EngSim* sim, uint32_t rows) {
  EngSliding* w = &sim->sliding;
  size_t automata = sim->model->automaton_count;
  size_t atoms = sim->model->atom_count;
  SLT_TRY(ENG_GROW(sim, w->sides.regs, rows));
  SLT_TRY(ENG_GROW(sim, w->sides.states, rows * automata));
  SLT_TRY(side_room_flags(sim, rows));
  SLT_TRY(ENG_GROW(sim, w->sides.truths, rows * atoms));
  return ENG_GROW(sim, w->sides.flows, (size_t)rows * sim->values.n_max);
}

// ---- modes --------------------------------------------------------------------------------------

/// Truths of the relations that matter in `mode` but not in the present one: what is latched of
/// them is from another time. Their values are those that slide_recognise() left.
static void judge_others(EngSim* sim, const ModelMode* mode) {
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t atom = mode->atoms[i];
    const ModelAtom* model = &sim->model->atoms[atom];
    if (sim->active.live[atom] || (mode->shared && !sim->active.relevant[atom])) continue;
    sim->env[model->env] = eng_relation_holds(model->relation, sim->probe.g[i]) ? 1.0 : 0.0;
  }
}

/// Whether an equation of the present mode reads a value. All readers are noted when a mode is
/// asked for the first time: an instant may set as many values as there are.
static bool flow_reads(EngSim* sim, uint32_t env) {
  const ModelMode* mode = sim->core.mode;
  uint8_t* reads = sim->sliding.flow_reads;
  if (sim->sliding.reads_of == mode->id + 1) return reads[env];
  sim->sliding.reads_of = mode->id + 1;
  memset(reads, 0, sim->model->env_count);
  for (uint32_t i = 0; i < mode->state_count; i++)
    reads[mode->state_env[i]] = 1;
  for (uint32_t i = 0; i < mode->rhs.input_count; i++)
    if (mode->rhs.inputs[i].env < sim->model->env_count) reads[mode->rhs.inputs[i].env] = 1;
  return reads[env];
}

static bool actions_concern_flow(EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++)
    if (flow_reads(sim, sim->model->actions[i].env)) return true;
  return false;
}

bool eng_is_mode_flag(EngSim* sim, uint32_t env) {
  return sim->sliding.is_flag[env] && flow_reads(sim, env);
}

/// Whether equations of the present mode read which of two states an automaton is in, or since
/// when.
static bool flow_reads_state(EngSim* sim, const ModelAutomaton* a, uint32_t from, uint32_t to) {
  const uint32_t tests[] = {a->states[from].test_env, a->states[to].test_env, a->entry_env};
  for (size_t i = 0; i < SLT_COUNT(tests); i++)
    if (tests[i] != MODEL_NONE && flow_reads(sim, tests[i])) return true;
  return false;
}

bool side_means_row(EngSim* sim, const ModelMode* mode, uint32_t row) {
  const EngFlags* flags = &sim->sliding.flags;
  const uint32_t* states = side_states(sim, row);
  bool same = mode->id == sim->sliding.sides.regs[row].mode->id;
  for (uint32_t i = 0; i < sim->model->automaton_count && same; i++) {
    const ModelAutomaton* a = &sim->model->automata[i];
    if (sim->state[i] == states[i] || !eng_automaton_active(sim, i)) continue;
    same = a->kind == MODEL_AUTOMATON_USER && states[i] == 0 &&
           !flow_reads_state(sim, a, states[i], sim->state[i]);
  }
  for (uint32_t i = 0; i < flags->count && same; i++)
    same = sim->env[flags->env[i]] == side_flags(sim, row)[i];
  return same;
}

bool eng_only_observes(EngSim* sim, uint32_t transition) {
  const ModelTransition* t = &sim->model->transitions[transition];
  const ModelAutomaton* a = &sim->model->automata[t->automaton];
  const ModelState* to = &a->states[t->to];
  if (a->has_bodies || flow_reads_state(sim, a, sim->state[t->automaton], t->to)) return false;
  return !actions_concern_flow(sim, t->action_begin, t->action_count) &&
         !actions_concern_flow(sim, to->action_begin, to->action_count);
}

/// Whether resets leave the motion as it is, up to its tolerances: at the limit of impacts that
/// follow each other ever faster they do. What the flow does not read may change.
static bool resets_vanish(EngSim* sim, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    if (sim->sliding.is_flag[action->env] || !flow_reads(sim, action->env)) continue;
    uint32_t state = eng_state_place(sim, action->env);
    if (state == MODEL_NONE) return false;
    double change = fabs(eng_eval(sim, &action->value) - sim->env[action->env]);
    if (!(change <= RESETS_SLACK * side_tolerance(sim, state))) return false;
  }
  return true;
}

static bool moves_nothing(EngSim* sim, const ModelTransition* t) {
  const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
  return resets_vanish(sim, t->action_begin, t->action_count) &&
         resets_vanish(sim, to->action_begin, to->action_count);
}

/// The first transition whose guard holds on this side; MODEL_NONE for none.
static uint32_t next_transition(EngSim* sim, uint32_t automaton) {
  const ModelState* state = &sim->model->automata[automaton].states[sim->state[automaton]];
  for (uint32_t i = 0; i < state->outgoing_count; i++) {
    uint32_t id = state->outgoing[i];
    const ModelTransition* t = &sim->model->transitions[id];
    bool closed = sim->instant.transitions[id].closed;
    if (t->to == sim->state[automaton] || closed || !eng_guard(sim, &t->guard)) continue;
    if (!eng_waits_for_accumulation(sim, id)) return id;
  }
  return MODEL_NONE;
}

/// Next state of one automaton on this side; false when a reset would be needed to get there.
static bool follow_side(EngSim* sim, uint32_t automaton, bool* moved) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  if (!eng_automaton_active(sim, automaton)) return true;
  bool is_switch = a->kind == MODEL_AUTOMATON_SWITCH;
  uint32_t next = is_switch ? MODEL_NONE : next_transition(sim, automaton);
  if (!is_switch && next == MODEL_NONE) return true;
  const ModelTransition* t = is_switch ? NULL : &sim->model->transitions[next];
  uint32_t to = t ? t->to : eng_guard(sim, a->condition) ? 1 : 0;
  if (to == sim->state[automaton]) return true;
  if (t && (t->action_count > 0 || a->states[to].action_count > 0)) {
    if (eng_only_observes(sim, next)) return true;
    if (!moves_nothing(sim, t)) return false;
    side_set_flags(sim, t);
  }
  eng_publish_move(sim, automaton, to);
  *moved = true;
  return true;
}

static bool same_states(const ModelMode* a, const ModelMode* b) {
  return a->state_count == b->state_count &&
         memcmp(a->state_env, b->state_env, a->state_count * sizeof *a->state_env) == 0;
}

SltStatus side_mode(EngSim* sim, const ModelMode** out) {
  *out = NULL;
  for (uint32_t round = 0; round < SETTLE_LIMIT; round++) {
    const ModelMode* mode = NULL;
    const Diag* failure = NULL;
    if (eng_get_mode(sim, sim->state, &mode, &failure) < 0) return SLT_OK;
    if (!same_states(mode, sim->core.mode)) return SLT_OK;
    SLT_TRY(slide_recognise(sim, mode));
    judge_others(sim, mode);
    for (uint32_t k = 0; k < sim->core.slide.count; k++)
      slide_impose(sim, k, sim->sliding.value.surfaces[k].above);
    bool moved = false;
    for (uint32_t a = 0; a < sim->model->automaton_count; a++)
      if (!follow_side(sim, a, &moved)) return SLT_OK;
    if (!moved) {
      *out = mode;
      return SLT_OK;
    }
  }
  return SLT_OK;
}

uint32_t side_place(const EngSim* sim, uint32_t surface, const ModelMode* mode) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  for (uint32_t a = s->first; a != MODEL_NONE; a = sim->sliding.value.next[a]) {
    uint32_t place = eng_atom_place(mode, a);
    if (place != MODEL_NONE) return 2 * place + (sim->sliding.value.same[a] ? 0u : 1u);
  }
  return MODEL_NONE;
}

/// Room for a row's programs, with the values of the environment in place.
static SltStatus bind_programs(EngSim* sim, uint32_t row, const ModelMode* mode) {
  EngSideRegs* r = &sim->sliding.sides.regs[row];
  const ModelProgram* rhs = &mode->rhs;
  const ModelProgram* gdot = &mode->gdot;
  sim->sliding.motion.bound = NULL;
  r->mode = mode;
  SLT_TRY(ENG_GROW(sim, r->rhs, rhs->reg_count));
  SLT_TRY(ENG_GROW(sim, r->full, mode->full.reg_count));
  SLT_TRY(ENG_GROW(sim, r->gdot, gdot->reg_count));
  SLT_TRY(ENG_GROW(sim, r->rhs_dual, rhs->reg_count));
  SLT_TRY(ENG_GROW(sim, r->gdot_dual, gdot->reg_count));
  model_program_bind(rhs, sim->env, r->rhs);
  model_program_bind(&mode->full, sim->env, r->full);
  model_program_bind(gdot, sim->env, r->gdot);
  model_program_bind_dual(rhs, sim->env, r->rhs_dual);
  model_program_bind_dual(gdot, sim->env, r->gdot_dual);
  eng_dae_note_guess(sim, rhs);
  eng_dae_note_guess(sim, &mode->full);
  model_program_guess(rhs, sim->values.guess, r->rhs);
  model_program_guess(&mode->full, sim->values.guess, r->full);
  model_program_guess(gdot, sim->values.guess, r->gdot);
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    uint32_t pattern = side_pattern(s, row);
    if (row && !pattern) continue;
    sim->sliding.sides.place[ENG_SIDES_MAX * k + pattern] = side_place(sim, k, mode);
  }
  return SLT_OK;
}

SltStatus side_bind(EngSim* sim, uint32_t row, const ModelMode* mode) {
  uint8_t* truths = side_truths(sim, row);
  side_note_row(sim, row);
  for (uint32_t i = 0; i < sim->model->atom_count; i++)
    truths[i] = sim->env[sim->model->atoms[i].env] != 0.0;
  return bind_programs(sim, row, mode);
}

SltStatus side_rebind(EngSim* sim, uint32_t row) {
  const ModelMode* mode = NULL;
  const Diag* failure = NULL;
  const uint8_t* truths = side_truths(sim, row);
  side_publish_row(sim, row);
  for (uint32_t i = 0; i < sim->model->atom_count; i++)
    sim->env[sim->model->atoms[i].env] = truths[i] ? 1.0 : 0.0;
  SLT_TRY(eng_get_mode(sim, sim->state, &mode, &failure));
  return bind_programs(sim, row, mode);
}

// ---- flows and rates ----------------------------------------------------------------------------

static double middle(ModelInterval a) {
  return 0.5 * (a.lo + a.hi);
}

double side_slope(EngSim* sim, uint32_t surface, double t, const double* x, double* g) {
  const EngSurface* s = &sim->sliding.value.surfaces[surface];
  ModelDual moving = eng_enclose_along(sim, s->index, t, x, s->lifts);
  ModelDual still = eng_enclose_along(sim, s->index, t, x, MODEL_NONE);
  *g = middle(still.v);
  return middle(moving.d) - middle(still.d);
}

/// Move the states that lift surfaces, one after the other. Whether any has been moved.
static bool lift_once(EngSim* sim, uint32_t row, double t, const double* from) {
  bool moved = false;
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    if (s->offset == 0.0) continue;
    double g = 0.0;
    double slope = side_slope(sim, k, t, from, &g);
    if (slope == 0.0) continue;
    if (from != sim->probe.x)
      memcpy(sim->probe.x, from, sim->core.mode->state_count * sizeof *from);
    from = sim->probe.x;
    double wanted = side_is_above(s, row) ? s->offset : -s->offset;
    sim->probe.x[s->lifts] += (wanted - g) / slope;
    moved = true;
  }
  return moved;
}

const double* side_point(EngSim* sim, uint32_t row, double t, const double* x) {
  if (!lift_once(sim, row, t, x)) return x;
  // a state that lifts one surface may move others: as many turns as there are surfaces settle them
  for (uint32_t turn = 1; turn < sim->core.slide.count; turn++)
    lift_once(sim, row, t, sim->probe.x);
  return sim->probe.x;
}

void side_rates_along(EngSim* sim, ModelDual time, const double* x, const double* flow) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->sliding.sides.x[i] = (ModelDual){{x[i], x[i]}, {flow[i], flow[i]}};
  }
  model_program_enclose(&mode->g_flow, eng_context(sim), sim->programs.dual, time,
                        sim->sliding.sides.x, sim->proof.g_dual);
}

/// The rate of a surface along a flow, where the row's mode has no relation of it.
static ModelDual rate_along(EngSim* sim, uint32_t surface, double t, const double* x,
                            const double* flow) {
  side_rates_along(sim, model_time(t, t), x, flow);
  return (ModelDual){sim->proof.g_dual[sim->sliding.value.surfaces[surface].index].d,
                     {-(double)INFINITY, (double)INFINITY}};
}

static ModelInterval flipped(ModelInterval a, bool flip) {
  return flip ? (ModelInterval){-a.hi, -a.lo} : a;
}

/// Second derivatives of the surfaces' g along the flow of a row.
static void evaluate_second(EngSim* sim, uint32_t row, double t, const double* x,
                            const double* flow) {
  EngSliding* w = &sim->sliding;
  const ModelMode* mode = sim->sliding.sides.regs[row].mode;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    w->sides.x[i] = (ModelDual){{x[i], x[i]}, {flow[i], flow[i]}};
  }
  model_program_enclose(&mode->gdot, eng_context(sim), w->sides.regs[row].gdot_dual,
                        model_time(t, t), w->sides.x, sim->proof.g_dual);
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    uint32_t pattern = side_pattern(s, row);
    uint32_t place = w->sides.place[ENG_SIDES_MAX * k + pattern];
    if (s->order != 2 || (row && !pattern) || place == MODEL_NONE) continue;
    w->sides.rate[ENG_SIDES_MAX * k + pattern] =
        middle(flipped(sim->proof.g_dual[place / 2].d, place & 1u));
  }
}

const double* side_run_flow(EngSim* sim, uint32_t row, double t, const double* x) {
  EngSideRegs* r = &sim->sliding.sides.regs[row];
  x = side_point(sim, row, t, x);
  model_program_run(&r->mode->rhs, eng_context(sim), r->rhs, t, x, side_flow(sim, row));
  return x;
}

void side_evaluate(EngSim* sim, uint32_t row, double t, const double* x) {
  EngSliding* w = &sim->sliding;
  const ModelMode* mode = sim->sliding.sides.regs[row].mode;
  const double* flow = side_flow(sim, row);
  x = side_run_flow(sim, row, t, x);
  model_program_run(&mode->gdot, eng_context(sim), w->sides.regs[row].gdot, t, x, sim->probe.g);
  bool second = false;
  for (uint32_t k = 0; k < sim->core.slide.count; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    uint32_t pattern = side_pattern(s, row);
    if (row && !pattern) continue;
    uint32_t place = w->sides.place[ENG_SIDES_MAX * k + pattern];
    second |= s->order == 2;
    double rate = 0.0;
    if (place == MODEL_NONE) {
      rate = middle(rate_along(sim, k, t, x, flow).v);
    } else {
      rate = place & 1u ? -sim->probe.g[place / 2] : sim->probe.g[place / 2];
    }
    w->sides.rate[ENG_SIDES_MAX * k + pattern] = rate;
    if (!pattern) w->sides.speed[k] = rate;
  }
  if (second) evaluate_second(sim, row, t, x, flow);
}

double side_rounding(const EngSim* sim, uint32_t state) {
  double size = sim->proof.margin_size[sim->core.mode->state_env[state]];
  return 4.0 * DBL_EPSILON * fmax(size, fabs(sim->x[state]));
}

double side_tolerance(const EngSim* sim, uint32_t state) {
  return eng_state_weight(sim, state, sim->x[state]);
}

void side_enclose(EngSim* sim, uint32_t row, SidePad* pad, const SideChanges* only, ModelDual* flow,
                  ModelDual* bound) {
  EngSliding* w = &sim->sliding;
  const ModelMode* mode = sim->sliding.sides.regs[row].mode;
  const ModelContext* context = eng_context(sim);
  double t = sim->core.t;
  double t_pad = 4.0 * DBL_EPSILON * fabs(t);
  ModelDual time = model_time(t - t_pad, t + t_pad);
  const double* x = side_point(sim, row, t, sim->x);
  if (x != sim->probe.x) memcpy(sim->probe.x, x, mode->state_count * sizeof *x);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double by = pad(sim, i);
    w->sides.x[i] = (ModelDual){{sim->probe.x[i] - by, sim->probe.x[i] + by}, {0.0, 0.0}};
  }
  if (!flow) flow = w->sides.flow;
  const EngSideRegs* r = &w->sides.regs[row];
  if (only) {
    model_program_enclose_some(&mode->rhs, context, r->rhs_dual, time, w->sides.x, only->states,
                               only->count, flow);
  } else {
    model_program_enclose(&mode->rhs, context, r->rhs_dual, time, w->sides.x, flow);
    for (uint32_t i = 0; i < mode->state_count; i++)
      w->sides.x[i].d = flow[i].v;
    model_program_enclose(&mode->gdot, context, r->gdot_dual, time, w->sides.x, sim->proof.g_dual);
  }
  uint32_t end = only ? only->surface + 1 : sim->core.slide.count;
  for (uint32_t k = only ? only->surface : 0; k < end; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    uint32_t pattern = side_pattern(s, row);
    if (row && !pattern) continue;
    uint32_t place = w->sides.place[ENG_SIDES_MAX * k + pattern];
    ModelDual* out = &bound[ENG_SIDES_MAX * k + pattern];
    if (place == MODEL_NONE) continue;
    uint32_t index = place / 2;
    if (only) {
      model_program_enclose_some(&mode->gdot, context, r->gdot_dual, time, w->sides.x, &index, 1,
                                 sim->proof.g_dual);
    }
    ModelDual found = sim->proof.g_dual[index];
    *out = (ModelDual){flipped(found.v, place & 1u), flipped(found.d, place & 1u)};
  }
  for (uint32_t k = only ? only->surface : 0; k < end; k++) {
    const EngSurface* s = &sim->sliding.value.surfaces[k];
    uint32_t pattern = side_pattern(s, row);
    if ((row && !pattern) || w->sides.place[ENG_SIDES_MAX * k + pattern] != MODEL_NONE) continue;
    bound[ENG_SIDES_MAX * k + pattern] = rate_along(sim, k, t, sim->probe.x, side_flow(sim, row));
  }
}

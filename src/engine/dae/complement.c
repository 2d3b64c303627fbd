// SPDX-License-Identifier: MIT
//
// Complementarity: automata of two states, each left by one relation, like ideal diodes (v = 0
// while i >= 0, i = 0 while v <= 0). What guards fire together may lead past the combination that
// holds, and around it for ever. It is looked for here as in linear complementarity problems: all
// that are against their relations change at once as long as that leaves fewer and fewer of them,
// otherwise the first of them alone (Murty's method with block pivots; Judice and Pires 1994).
//
// A relation at its boundary is decided by its rate. Where the equations of a combination
// contradict each other, only what is infinite decides (model/solve_relax.c).
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ZERO     1e-8  // beside the largest: at the boundary
#define INFINITE 1e-4  // beside the largest: infinite as it is
#define PATIENCE 4     // block pivots without fewer violations

#define TIME_PLACES 4096  // rounding errors of the time of an event

/// Where an automaton stands, and the relation that leads on from there.
typedef struct Way {
  uint32_t to;    // the state it leads to
  uint32_t atom;  // MODEL_NONE: there is not one relation alone
  bool falls;     // it leads on by becoming false
} Way;

typedef struct Search {
  EngSim* sim;
  uint32_t* automata;  // those that take part
  uint32_t count;
  uint32_t* states;    // of all automata when it began
  double* values;      // of the variables then
  double *g, *rate;    // per automaton, in the direction in which its state is left
  double* unit;        // ... what g changes by when all unknowns change by as much as they do
  double* scale;       // per entry of the environment: the same for what blocks solve for; or 0
  double level;        // the largest unknown, in these units
  uint32_t* index_of;  // atom -> place in the mode + 1
} Search;

// ---- which automata -----------------------------------------------------------------------------

/// A guard that is one relation, or its negation.
static bool is_single(const ModelGuard* guard, uint32_t* atom, bool* falls) {
  const ModelShape* shape = guard->term.shape;
  if (!shape || guard->atom_count != 1 || guard->has_mode_test || !shape->tabled) return false;
  if (shape->program.input_count != 1) return false;
  *atom = guard->atoms[0];
  *falls = (shape->table & 1) != 0;
  return (shape->table & 3) == (*falls ? 1u : 2u);
}

/// How an automaton leaves a state, if it does so by one relation and does nothing else.
static Way way_on(const EngSim* sim, uint32_t automaton, uint32_t from) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  Way way = {.to = 1 - from, .atom = MODEL_NONE};
  if (a->kind == MODEL_AUTOMATON_SWITCH) {
    bool falls = false;
    if (!a->condition || !is_single(a->condition, &way.atom, &falls)) return way;
    way.falls = (from == 1) != falls;
    return way;
  }
  const ModelState* state = &a->states[from];
  if (state->outgoing_count != 1) return way;
  const ModelTransition* t = &sim->model->transitions[state->outgoing[0]];
  const ModelState* entered = &a->states[t->to];
  if (t->to == from || t->zeno || t->action_count || entered->action_count ||
      entered->written->stops || !is_single(&t->guard, &way.atom, &way.falls)) {
    return (Way){.atom = MODEL_NONE};
  }
  way.to = t->to;
  return way;
}

static Way present_way(const EngSim* sim, uint32_t automaton) {
  return way_on(sim, automaton, sim->state[automaton]);
}

/// Whether an automaton goes back and forth between two states from now on; it may begin in a third.
static bool alternates(const EngSim* sim, uint32_t automaton) {
  Way first = present_way(sim, automaton);
  if (first.atom == MODEL_NONE) return false;
  Way second = way_on(sim, automaton, first.to);
  if (second.atom == MODEL_NONE) return false;
  Way third = way_on(sim, automaton, second.to);
  return third.atom != MODEL_NONE && third.to == first.to;
}

static SltStatus begin(EngSim* sim, Search* search) {
  const Model* model = sim->model;
  EngDae* dae = &sim->dae;
  size_t automata = model->automaton_count;
  size_t bytes = 2 * automata * sizeof(uint32_t) +
                 (3 * automata + 2 * (size_t)model->env_count) * sizeof(double) +
                 model->atom_count * sizeof(uint32_t) + 64;
  SLT_TRY(eng_grow(sim, (void**)&dae->search, &dae->search_capacity, bytes, 1));
  // explicit modes have no impulses and no room for them
  SLT_TRY(eng_grow(sim, (void**)&dae->guard, &dae->guard_capacity, model->atom_count,
                   sizeof *dae->guard));
  double* at = (double*)dae->search;
  *search = (Search){.sim = sim};
  search->g = at;
  search->rate = search->g + automata;
  search->unit = search->rate + automata;
  search->scale = search->unit + automata;
  search->values = search->scale + model->env_count;
  search->automata = (uint32_t*)(search->values + model->env_count);
  search->states = search->automata + automata;
  search->index_of = search->states + automata;
  for (uint32_t a = 0; a < automata; a++) {
    search->states[a] = sim->state[a];
    if (!eng_automaton_active(sim, a) || eng_dwells(sim, a)) continue;
    if (alternates(sim, a)) search->automata[search->count++] = a;
  }
  memcpy(search->values, sim->env, model->env_count * sizeof *search->values);
  return SLT_OK;
}

// ---- one combination ----------------------------------------------------------------------------

/// Units of the relations: those of the unknowns of the blocks that diodes stand in, by their
/// slopes.
static void measure(Search* s) {
  EngSim* sim = s->sim;
  const ModelMode* mode = sim->core.mode;
  memset(s->scale, 0, sim->model->env_count * sizeof *s->scale);
  s->level = 0.0;
  for (uint32_t i = 0; i < mode->full.solve_count; i++) {
    const ModelSolve* solve = &mode->full.solves[i];
    const double* scale = sim->full_regs + solve->work + MODEL_RELAX_SCALE * (size_t)solve->count;
    for (uint32_t j = 0; solve->relax_count && j < solve->count; j++) {
      uint32_t env = solve->guess_env[j];
      if (env == MODEL_NONE || !(scale[j] > 0.0)) continue;
      s->scale[env] = scale[j];
      if (isfinite(sim->env[env])) s->level = fmax(s->level, fabs(sim->env[env]) / scale[j]);
    }
  }
  double* units = sim->dae.guard;  // nobody waits for impulses here
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    units[i] = 0.0;
  }
  if (mode->impulse) {
    double* q = sim->dae.work;
    double* slopes = q + mode->implicit->quantity_count;
    dae_gather(sim, mode->implicit, q);
    model_program_run(&mode->impulse->slopes, eng_context(sim), sim->dae.impulse_regs, sim->core.t,
                      q, slopes);
    for (uint32_t i = 0; i < mode->impulse->entry_count; i++) {
      const ModelEntry* entry = &mode->impulse->entries[i];
      uint32_t env = mode->implicit->quantities[entry->column].env;
      if (env != MODEL_NONE) units[entry->row] += fabs(slopes[entry->reg]) * s->scale[env];
    }
  }
  for (uint32_t k = 0; k < s->count; k++) {
    uint32_t index = s->index_of[present_way(sim, s->automata[k]).atom];
    bool known = index && units[index - 1] > 0.0 && isfinite(units[index - 1]);
    s->unit[k] = known ? units[index - 1] : 1.0;
  }
}

/// Values and rates of the relations, as they stand in sim->g and sim->gdot.
static void read_relations(Search* s) {
  EngSim* sim = s->sim;
  const ModelMode* mode = sim->core.mode;
  memset(s->index_of, 0, sim->model->atom_count * sizeof *s->index_of);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    s->index_of[mode->atoms[i]] = i + 1;
  }
  for (uint32_t k = 0; k < s->count; k++) {
    Way way = present_way(sim, s->automata[k]);
    uint32_t index = s->index_of[way.atom];
    double sign = way.falls ? -1.0 : 1.0;
    s->g[k] = index ? sign * sim->g[index - 1] : 0.0;
    s->rate[k] = index ? sign * sim->gdot[index - 1] : 0.0;
    if (!isfinite(s->g[k])) s->g[k] = 0.0;
    if (!isfinite(s->rate[k])) s->rate[k] = 0.0;
  }
  measure(s);
}

/// Values and rates of the relations in the present combination.
static SltStatus evaluate(Search* s) {
  EngSim* sim = s->sim;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    memcpy(sim->env + var->env, s->values + var->env, var->slots * sizeof(double));
  }
  sim->dae.failed = MODEL_NONE;
  SLT_TRY(eng_enter_mode(sim));
  uint32_t failed = sim->dae.failed;
  eng_evaluate_g(sim, sim->core.t, true);
  sim->dae.failed = failed;  // rates need not exist
  read_relations(s);
  return SLT_OK;
}

/// What is zero beside the rest: of g, and of its rate. Where everything passes through zero, the
/// rounding of the time tells.
static void find_zeros(const Search* s, double* g, double* rate) {
  *g = s->level;
  *rate = 0.0;
  for (uint32_t k = 0; k < s->count; k++) {
    *g = fmax(*g, fabs(s->g[k]) / s->unit[k]);
    *rate = fmax(*rate, fabs(s->rate[k]) / s->unit[k]);
  }
  *g = fmax(ZERO * *g, TIME_PLACES * DBL_EPSILON * fabs(s->sim->core.t) * *rate);
  *rate *= ZERO;
}

/// Mark who is against its relation; returns how many.
static uint32_t find_violations(const Search* s, uint8_t* violates) {
  uint32_t count = 0;
  bool contradicts = s->sim->dae.contradicted != MODEL_NONE;
  double zero = 0.0;
  double zero_rate = 0.0;
  find_zeros(s, &zero, &zero_rate);
  if (contradicts) zero *= INFINITE / ZERO;
  for (uint32_t k = 0; k < s->count; k++) {
    violates[k] = s->g[k] > zero * s->unit[k];
    bool at_boundary = fabs(s->g[k]) <= zero * s->unit[k];
    if (at_boundary && !contradicts) violates[k] = s->rate[k] > zero_rate * s->unit[k];
    count += violates[k];
  }
  return count;
}

/// The relations as the search has decided them, until something changes.
static void hold_truths(Search* s) {
  EngSim* sim = s->sim;
  for (uint32_t k = 0; k < s->count; k++) {
    Way way = present_way(sim, s->automata[k]);
    EngAtom* atom = &sim->atoms[way.atom];
    atom->truth = way.falls;
    atom->held = true;
    atom->held_changes = (uint32_t)sim->core.changes;
    sim->env[sim->model->atoms[way.atom].env] = atom->truth ? 1.0 : 0.0;
  }
}

static void put_back(Search* s) {
  for (uint32_t a = 0; a < s->sim->model->automaton_count; a++) {
    if (s->sim->state[a] != s->states[a]) events_set_state(s->sim, a, s->states[a]);
  }
}

SltStatus eng_dae_complement(EngSim* sim, bool* found) {
  *found = false;
  Search s;
  SLT_TRY(begin(sim, &s));
  if (s.count < 2) return SLT_OK;
  SLT_TRY(eng_grow(sim, (void**)&sim->dae.violates, &sim->dae.violate_capacity, s.count, 1));
  uint8_t* violates = sim->dae.violates;
  uint32_t fewest = s.count + 1;
  uint32_t patience = PATIENCE;
  EngError error = sim->error;
  uint64_t limit = 100 + 20 * (uint64_t)s.count;
  for (uint64_t turn = 0; turn < limit; turn++) {
    SltStatus status = evaluate(&s);
    if (status == SLT_ERR_NOMEM) return status;
    if (status < 0) break;
    uint32_t count = find_violations(&s, violates);
    if (count == 0) {
      *found = sim->dae.contradicted == MODEL_NONE && sim->dae.failed == MODEL_NONE;
      break;
    }
    if (count < fewest) {
      fewest = count;
      patience = PATIENCE;
    } else if (patience > 0) {
      patience--;
    }
    for (uint32_t k = 0; k < s.count; k++) {
      if (!violates[k]) continue;
      events_set_state(sim, s.automata[k], present_way(sim, s.automata[k]).to);
      if (patience == 0) break;
    }
  }
  sim->error = error;
  if (!*found) {
    put_back(&s);
    SLT_TRY(evaluate(&s));
    eng_atoms_update(sim);
    return SLT_OK;
  }
  // records are written from where the search began to where it ended
  for (uint32_t k = 0; k < s.count; k++) {
    uint32_t a = s.automata[k];
    uint32_t to = sim->state[a];
    if (to == s.states[a]) continue;
    eng_trace_flow(sim, a, s.states[a], to, 0);
    events_enter_state(sim, a, to);
  }
  eng_atoms_update(sim);
  hold_truths(&s);
  return SLT_OK;
}

void eng_dae_mark_constant(EngSim* sim) {
  Search s;
  EngDae* dae = &sim->dae;
  dae->constant_count = 0;
  if (begin(sim, &s) < 0 || s.count == 0) return;
  if (eng_grow(sim, (void**)&dae->constants, &dae->constant_capacity, s.count,
               sizeof *dae->constants) < 0) {
    return;
  }
  eng_evaluate_g(sim, sim->core.t, true);
  read_relations(&s);
  double zero_g = 0.0;
  double zero_rate = 0.0;
  find_zeros(&s, &zero_g, &zero_rate);
  for (uint32_t k = 0; k < s.count; k++) {
    Way way = present_way(sim, s.automata[k]);
    EngAtom* atom = &sim->atoms[way.atom];
    double zero = zero_g * s.unit[k];
    uint32_t index = s.index_of[way.atom];
    atom->constant = index && fabs(s.g[k]) <= zero && fabs(s.rate[k]) <= zero_rate * s.unit[k];
    if (atom->constant) {
      dae->constants[dae->constant_count++] = (EngDaeConstant){.index = index - 1, .zero = zero};
    }
  }
}

void dae_check_constant(EngSim* sim) {
  EngDae* dae = &sim->dae;
  if (dae->constant_count == 0) return;
  const ModelMode* mode = sim->core.mode;
  double* g = dae->guard;  // nobody waits for impulses between events
  model_program_run(&mode->g_flow, &sim->flow_context, sim->g_flow_regs, sim->stepper->trial.t,
                    sim->stepper->trial.x, g);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < dae->constant_count; i++) {
    EngDaeConstant constant = dae->constants[i];
    bool stays = fabs(g[constant.index]) <= 10.0 * constant.zero;
    sim->atoms[mode->atoms[constant.index]].constant = stays;
    if (stays) dae->constants[kept++] = constant;
  }
  dae->constant_count = kept;
}

void eng_dae_relation(EngSim* sim, uint32_t point, double t, uint32_t index, double* g,
                      double* rate) {
  size_t count = sim->core.mode->atom_count;
  EngDaePoint* known = &sim->dae.points[point];
  double* values = sim->dae.relations + 2 * point * count;
  uint64_t stamp = sim->stepper->counters.rhs + 1;
  if (known->stamp != stamp || known->t != t) {
    eng_states_at(sim, t);
    eng_evaluate_g(sim, t, true);
    memcpy(values, sim->g, count * sizeof *values);
    memcpy(values + count, sim->gdot, count * sizeof *values);
    *known = (EngDaePoint){.stamp = stamp, .t = t};
  }
  *g = values[index];
  *rate = values[count + index];
}

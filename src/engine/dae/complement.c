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
typedef struct Toggle {
  uint32_t to;    // the state it leads to
  uint32_t atom;  // MODEL_NONE: there is not one relation alone
  bool falls;     // it leads on by becoming false
} Toggle;

/// What relations are compared with: what they change by when all that they read changes by as much
/// as it is.
typedef struct Measure {
  double unit;     // the unknowns of a block with diodes...
  double own;      // ...and whatever else is computed
  uint32_t block;  // MODEL_NONE: none
  bool across;     // of several blocks: what one of them does is no measure for it
} Measure;

typedef struct Search {
  EngSim* sim;
  uint32_t* automata;  // those that take part
  uint32_t count;
  uint32_t* states;          // of all automata when it began
  double* values;            // of the variables then
  double *g, *rate;          // per automaton, in the direction in which its state is left
  double *zero, *zero_rate;  // ... and what is at the boundary
  Measure* measures;         // per relation of the mode
  Measure* scales;     // per entry of the environment: what it is solved for in, and how large
  double* block_rate;  // per block: the largest rate, by the units of the relations
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

/// Whether entering a state does nothing but set discrete variables to numbers.
static bool only_sets_flags(const EngSim* sim, const ModelState* state) {
  for (uint32_t i = 0; i < state->action_count; i++) {
    const ModelAction* action = &sim->model->actions[state->action_begin + i];
    if (action->guess || sim->model->vars[action->var].kind != MODEL_VAR_DISCRETE) return false;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      if (model_term_input(&action->value, k) != MODEL_NONE) return false;
    }
  }
  return true;
}

/// How an automaton leaves a state, if it does so by one relation and does nothing else.
static Toggle toggle_from(const EngSim* sim, uint32_t automaton, uint32_t from) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  Toggle toggle = {.to = 1 - from, .atom = MODEL_NONE};
  if (a->kind == MODEL_AUTOMATON_SWITCH) {
    bool falls = false;
    if (!a->condition || !is_single(a->condition, &toggle.atom, &falls)) return toggle;
    toggle.falls = (from == 1) != falls;
    return toggle;
  }
  const ModelState* state = &a->states[from];
  if (state->outgoing_count != 1) return toggle;
  const ModelTransition* t = &sim->model->transitions[state->outgoing[0]];
  const ModelState* entered = &a->states[t->to];
  if (t->to == from || t->zeno || t->action_count || !only_sets_flags(sim, entered) ||
      entered->written->stops || !is_single(&t->guard, &toggle.atom, &toggle.falls)) {
    return (Toggle){.atom = MODEL_NONE};
  }
  toggle.to = t->to;
  return toggle;
}

static Toggle present_toggle(const EngSim* sim, uint32_t automaton) {
  return toggle_from(sim, automaton, sim->state[automaton]);
}

/// Whether an automaton goes back and forth between two states from now on; it may begin in a
/// third.
static bool alternates(const EngSim* sim, uint32_t automaton) {
  Toggle first = present_toggle(sim, automaton);
  if (first.atom == MODEL_NONE) return false;
  Toggle second = toggle_from(sim, automaton, first.to);
  if (second.atom == MODEL_NONE) return false;
  Toggle third = toggle_from(sim, automaton, second.to);
  return third.atom != MODEL_NONE && third.to == first.to;
}

/// Whether a relation reads something that equations compute, and so depends on other states.
static bool reads_computed(const EngSim* sim, uint32_t id) {
  const ModelAtom* atom = &sim->model->atoms[id];
  for (uint32_t k = 0; k < atom->read_count; k++) {
    const ModelVarMode* var = &sim->core.mode->vars[atom->reads[k].var];
    uint32_t known = var->role == MODEL_ROLE_STATE ? var->state_order : 0;
    if (var->role != MODEL_ROLE_DISCRETE && atom->reads[k].order >= known) return true;
  }
  return false;
}

void dae_release_complementary(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->complementary_count; i++) {
    uint32_t atom = mode->complementary[i];
    if (reads_computed(sim, atom)) sim->atoms[atom].kind.separates = false;
  }
}

static bool takes_part(const EngSim* sim, uint32_t automaton) {
  if (!eng_automaton_active(sim, automaton) || eng_dwells(sim, automaton)) return false;
  if (!alternates(sim, automaton)) return false;
  Toggle on = present_toggle(sim, automaton);
  return reads_computed(sim, on.atom) ||
         reads_computed(sim, toggle_from(sim, automaton, on.to).atom);
}

static SltStatus begin(EngSim* sim, Search* search) {
  const Model* model = sim->model;
  EngDae* dae = &sim->dae;
  size_t automata = model->automaton_count;
  size_t env = model->env_count;
  size_t atoms = model->atom_count;
  size_t bytes = (4 * automata + 2 * env) * sizeof(double) + (env + atoms) * sizeof(Measure) +
                 (2 * automata + atoms) * sizeof(uint32_t);
  SLT_TRY(ENG_GROW(sim, dae->search, bytes));
  *search = (Search){.sim = sim, .g = (double*)dae->search};
  search->rate = search->g + automata;
  search->zero = search->rate + automata;
  search->zero_rate = search->zero + automata;
  search->values = search->zero_rate + automata;
  search->block_rate = search->values + env;
  search->scales = (Measure*)(search->block_rate + env);
  search->measures = search->scales + env;
  search->automata = (uint32_t*)(search->measures + atoms);
  search->states = search->automata + automata;
  search->index_of = search->states + automata;
  for (uint32_t a = 0; a < automata; a++) {
    search->states[a] = sim->state[a];
    if (takes_part(sim, a)) search->automata[search->count++] = a;
  }
  memcpy(search->values, sim->env, env * sizeof *search->values);
  return SLT_OK;
}

// ---- one combination ----------------------------------------------------------------------------

/// What the unknowns of blocks with diodes are beside each other: a typical value of each.
static void measure_unknowns(Search* s) {
  EngSim* sim = s->sim;
  const ModelMode* mode = sim->core.mode;
  for (uint32_t e = 0; e < sim->model->env_count; e++) {
    s->scales[e] = (Measure){.block = MODEL_NONE};
  }
  for (uint32_t i = 0; i < mode->full.solve_count; i++) {
    const ModelSolve* solve = &mode->full.solves[i];
    if (solve->relax_count == 0) continue;
    const double* scale =
        sim->programs.full + solve->work + MODEL_RELAX_SCALE * (size_t)solve->count;
    double level = 0.0;
    for (uint32_t j = 0; j < solve->count; j++) {
      uint32_t env = solve->guess_env[j];
      bool finite = env != MODEL_NONE && isfinite(sim->env[env]) && scale[j] > 0.0;
      if (finite) level = fmax(level, fabs(sim->env[env]) / scale[j]);
    }
    for (uint32_t j = 0; j < solve->count; j++) {
      uint32_t env = solve->guess_env[j];
      if (env != MODEL_NONE) s->scales[env] = (Measure){.unit = level * scale[j], .block = i};
    }
  }
}

/// What is computed from one of these unknowns is as large as its equation says.
static void measure_computed(Search* s, const double* q) {
  EngSim* sim = s->sim;
  const ModelImplicit* im = sim->core.mode->implicit;
  if (im->system.output_count == 0) return;
  double* out = sim->dae.work + im->quantity_count;
  dae_run_system(sim, im, q, out);
  for (uint32_t k = 0; k < im->system_entry_count;) {
    uint32_t row = im->system_entries[k].row;
    uint32_t open = MODEL_NONE;
    uint32_t open_count = 0;
    double slope = 0.0;
    Measure sum = {.block = MODEL_NONE};
    for (; k < im->system_entry_count && im->system_entries[k].row == row; k++) {
      const ModelEntry* entry = &im->system_entries[k];
      const ModelQuantity* quantity = &im->quantities[entry->column];
      double size = fabs(out[entry->reg]);
      if (quantity->env == MODEL_NONE || quantity->state != MODEL_NONE || !(size > 0.0)) continue;
      const Measure* known = &s->scales[quantity->env];
      if (known->block != MODEL_NONE) {
        sum.unit += size * known->unit;
        sum.block = known->block;
      } else {
        open = quantity->env;
        slope = size;
        open_count++;
      }
    }
    if (open_count != 1 || sum.block == MODEL_NONE || row < im->constraint_count) continue;
    s->scales[open] = (Measure){.unit = sum.unit / slope, .block = sum.block};
  }
}

/// Units of the relations by their slopes.
static void measure_relations(Search* s) {
  EngSim* sim = s->sim;
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    s->measures[i] = (Measure){.block = MODEL_NONE};
  }
  measure_unknowns(s);
  if (!mode->impulse) return;
  double* q = sim->dae.work;
  double* slopes = q + mode->implicit->quantity_count;
  dae_gather(sim, mode->implicit, q);
  if (mode->relaxed) measure_computed(s, q);
  model_program_run(&mode->impulse->slopes, eng_context(sim), sim->dae.impulse_regs, sim->core.t, q,
                    slopes);
  for (uint32_t i = 0; i < mode->impulse->entry_count; i++) {
    const ModelEntry* entry = &mode->impulse->entries[i];
    uint32_t env = mode->implicit->quantities[entry->column].env;
    if (env == MODEL_NONE) continue;
    Measure scale = s->scales[env];
    Measure* measure = &s->measures[entry->row];
    bool joined = scale.block != MODEL_NONE;
    double part = fabs(slopes[entry->reg]) * (joined ? scale.unit : fabs(sim->env[env]));
    if (!isfinite(part)) continue;
    measure->across |= joined && measure->block != MODEL_NONE && measure->block != scale.block;
    if (joined) measure->block = scale.block;
    *(joined ? &measure->unit : &measure->own) += part;
  }
}

/// The relation by which an automaton leaves its state; NULL where nobody computes it.
static const Measure* measure_of(const Search* s, uint32_t k) {
  uint32_t index = s->index_of[present_toggle(s->sim, s->automata[k]).atom];
  return index ? &s->measures[index - 1] : NULL;
}

/// What is at the boundary, of g and of its rate. Where everything passes through zero, the
/// rounding of the time tells.
static void find_zeros(Search* s) {
  double places = TIME_PLACES * DBL_EPSILON * fabs(s->sim->core.t);
  memset(s->block_rate, 0, s->sim->model->env_count * sizeof *s->block_rate);
  for (uint32_t k = 0; k < s->count; k++) {
    const Measure* measure = measure_of(s, k);
    // what is not of the block is no measure for it
    if (!measure || measure->block == MODEL_NONE || measure->across) continue;
    if (!(measure->unit > measure->own)) continue;
    double* largest = &s->block_rate[measure->block];
    *largest = fmax(*largest, fabs(s->rate[k]) / measure->unit);
  }
  for (uint32_t k = 0; k < s->count; k++) {
    const Measure* measure = measure_of(s, k);
    bool joined = measure && measure->block != MODEL_NONE && !measure->across;
    double others = joined ? s->block_rate[measure->block] * measure->unit : 0.0;
    double rate = fmax(fabs(s->rate[k]), others);
    s->zero[k] = fmax(measure ? ZERO * (measure->unit + measure->own) : 0.0, places * rate);
    s->zero_rate[k] = ZERO * rate;
  }
}

/// Values and rates of the relations, as they stand in sim->detect.g and sim->detect.gdot.
static void read_relations(Search* s) {
  EngSim* sim = s->sim;
  const ModelMode* mode = sim->core.mode;
  memset(s->index_of, 0, sim->model->atom_count * sizeof *s->index_of);
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    s->index_of[mode->atoms[i]] = i + 1;
  }
  for (uint32_t k = 0; k < s->count; k++) {
    Toggle toggle = present_toggle(sim, s->automata[k]);
    uint32_t index = s->index_of[toggle.atom];
    double sign = toggle.falls ? -1.0 : 1.0;
    s->g[k] = index ? sign * sim->detect.g[index - 1] : 0.0;
    s->rate[k] = index ? sign * sim->detect.gdot[index - 1] : 0.0;
    if (!isfinite(s->g[k])) s->g[k] = 0.0;
    if (!isfinite(s->rate[k])) s->rate[k] = 0.0;
  }
  measure_relations(s);
  find_zeros(s);
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

/// Where the combination was entered with impulses, these decide before anything that is finite.
static bool by_impulse(const Search* s, uint32_t k, bool otherwise) {
  Toggle toggle = present_toggle(s->sim, s->automata[k]);
  uint32_t index = s->index_of[toggle.atom];
  bool truth = false;
  if (!index || !eng_impulse_truth_slow(s->sim, index - 1, &truth)) return otherwise;
  return truth != toggle.falls;
}

/// Mark who is against its relation; returns how many.
static uint32_t find_violations(const Search* s, uint8_t* violates) {
  uint32_t count = 0;
  bool contradicts = s->sim->dae.contradicted != MODEL_NONE;
  for (uint32_t k = 0; k < s->count; k++) {
    double zero = contradicts ? INFINITE / ZERO * s->zero[k] : s->zero[k];
    violates[k] = s->g[k] > zero;
    bool at_boundary = fabs(s->g[k]) <= zero;
    if (at_boundary && !contradicts) violates[k] = s->rate[k] > s->zero_rate[k];
    violates[k] = by_impulse(s, k, violates[k]);
    count += violates[k];
  }
  return count;
}

/// The relations as the search has decided them, until something changes.
static void hold_truths(Search* s) {
  EngSim* sim = s->sim;
  for (uint32_t k = 0; k < s->count; k++) {
    Toggle toggle = present_toggle(sim, s->automata[k]);
    EngAtom* atom = &sim->atoms[toggle.atom];
    atom->truth = toggle.falls;
    atom->marks.held = true;
    atom->held_changes = (uint32_t)sim->core.changes;
    sim->env[sim->model->atoms[toggle.atom].env] = atom->truth ? 1.0 : 0.0;
  }
}

static void put_back(Search* s) {
  for (uint32_t a = 0; a < s->sim->model->automaton_count; a++) {
    if (s->sim->state[a] != s->states[a]) events_set_state(s->sim, a, s->states[a]);
  }
}

SltStatus eng_dae_complement(EngSim* sim, bool* found) {
  *found = false;
  if (!sim->core.mode->relaxed) return SLT_OK;
  Search s;
  SLT_TRY(begin(sim, &s));
  if (s.count == 0) return SLT_OK;
  SLT_TRY(ENG_GROW(sim, sim->dae.violates, s.count));
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
      events_set_state(sim, s.automata[k], present_toggle(sim, s.automata[k]).to);
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
  sim->dae.decides = true;
  // records are written from where the search began to where it ended
  for (uint32_t k = 0; k < s.count; k++) {
    uint32_t a = s.automata[k];
    uint32_t to = sim->state[a];
    if (to == s.states[a]) continue;
    uint32_t record = eng_trace_flow(sim, a, s.states[a], to, 0);
    events_enter_state(sim, a, to);
    const ModelState* entered = &sim->model->automata[a].states[to];
    EngGroup group = {entered->action_begin, entered->action_count, a, record};
    SLT_TRY(events_queue_group(sim, group));
  }
  SLT_TRY(events_assign(sim));
  eng_atoms_update(sim);
  hold_truths(&s);
  return SLT_OK;
}

void eng_dae_end_instant(EngSim* sim) {
  Search s;
  EngDae* dae = &sim->dae;
  if (begin(sim, &s) < 0 || s.count == 0) return;
  if (ENG_GROW(sim, dae->constants, s.count) < 0) return;
  eng_evaluate_g(sim, sim->core.t, true);
  read_relations(&s);
  for (uint32_t k = 0; k < s.count; k++) {
    Toggle toggle = present_toggle(sim, s.automata[k]);
    EngAtom* atom = &sim->atoms[toggle.atom];
    uint32_t index = s.index_of[toggle.atom];
    if (index && fabs(s.g[k]) <= s.zero[k]) {
      // what counts as the boundary here has to be left before it is reached again
      atom->zone = fmax(atom->zone, s.zero[k]);
      atom->armed = fabs(atom->g) > atom->zone;
    }
    atom->kind.constant = index && s.measures[index - 1].block != MODEL_NONE &&
                          fabs(s.g[k]) <= s.zero[k] && fabs(s.rate[k]) <= s.zero_rate[k];
    if (!atom->kind.constant) continue;
    dae->constants[dae->constant_count++] = (EngDaeConstant){.index = index - 1, .zero = s.zero[k]};
  }
}

void dae_check_constant(EngSim* sim) {
  EngDae* dae = &sim->dae;
  if (dae->constant_count == 0) return;
  const ModelMode* mode = sim->core.mode;
  double* g = dae->guard;  // nobody waits for impulses between events
  model_program_run(&mode->g_flow, &sim->values.flow_context, sim->programs.g_flow,
                    sim->stepper->trial.t, sim->stepper->trial.x, g);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < dae->constant_count; i++) {
    EngDaeConstant constant = dae->constants[i];
    bool stays = fabs(g[constant.index]) <= 10.0 * constant.zero;
    sim->atoms[mode->atoms[constant.index]].kind.constant = stays;
    if (stays) dae->constants[kept++] = constant;
  }
  dae->constant_count = kept;
}

void eng_dae_relation(EngSim* sim, uint32_t point, double t, uint32_t index, double* g,
                      double* rate) {
  size_t count = sim->core.mode->atom_count;
  EngDaePoint* known = &sim->dae.points[point];
  double* values = sim->dae.relations + 2 * (size_t)point * count;
  uint64_t stamp = sim->stepper->counters.rhs + 1;
  if (known->stamp != stamp || known->t != t) {
    eng_states_at(sim, t);
    eng_evaluate_g(sim, t, true);
    memcpy(values, sim->detect.g, count * sizeof *values);
    memcpy(values + count, sim->detect.gdot, count * sizeof *values);
    *known = (EngDaePoint){.stamp = stamp, .t = t};
  }
  *g = values[index];
  *rate = values[count + index];
}

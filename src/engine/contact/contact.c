// SPDX-License-Identifier: MIT
//
// The motion with closed contacts: their structure in a mode, the reactions, and where they end.
#include "engine/contact/work.h"
#include "engine/detect/follow.h"

#include <string.h>

#define RATES_CHAIN 16     // rates that follow from each other
#define PROOF_MAX   16     // contacts of a group whose reactions are enclosed together
#define JUMP        1e-3   // of a direction: resets that change by more jump
#define AHEAD       64.0   // impacts within which a jump of resets counts
#define WEAK        1e-10  // of the largest reaction so far: as good as none

// ---- structure ----------------------------------------------------------------------------------

uint32_t eng_state_place(const EngSim* sim, uint32_t env) {
  const ModelMode* mode = sim->core.mode;
  return base_find_sorted(mode->state_env, mode->state_count, env);
}

uint32_t eng_output_place(const ModelMode* mode, uint32_t env) {
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    if (mode->full_env[i] == env) return i;
  }
  return MODEL_NONE;
}

static SltStatus note_reading(EngSim* sim, EngContactWork* w, Row* row, uint32_t env) {
  const Model* model = sim->model;
  uint32_t value = env < model->env_count ? env : env - model->env_count;  // pre(x) is x here
  Reading reading = {.env = env, .state = eng_state_place(sim, value), .relation = MODEL_NONE};
  if (sim->values.is_truth[value]) {
    reading.relation = eng_atom_place(sim->core.mode, value - model->atoms[0].env);
    if (reading.relation == MODEL_NONE) return SLT_OK;
  } else if (reading.state == MODEL_NONE) {
    if (!sim->values.computed[value]) return SLT_OK;
    reading.output = eng_output_place(sim->core.mode, value);
    row->reads_computed = true;
  }
  for (uint32_t i = row->reading_begin; i < row->reading_end; i++) {
    if (w->readings[i].env == env) return SLT_OK;
  }
  SLT_TRY(ENG_GROW(sim, w->readings, row->reading_end + 1));
  w->readings[row->reading_end++] = reading;
  return SLT_OK;
}

/// Speeds that a range of actions writes, and what their values are computed from.
static SltStatus note_actions(EngSim* sim, EngContactWork* w, Row* row, uint32_t begin,
                              uint32_t count, uint32_t along) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &sim->model->actions[i];
    uint32_t state = eng_state_place(sim, action->env);
    if (state == MODEL_NONE || action->guess) continue;
    for (uint32_t k = 0; k < model_term_inputs(&action->value); k++) {
      uint32_t env = model_term_input(&action->value, k);
      if (env != MODEL_NONE) SLT_TRY(note_reading(sim, w, row, env));
    }
    const ModelProgram* program = &action->value.shape->program;
    for (uint32_t k = 0; k < program->code_count; k++) {
      uint32_t op = program->code[k].op;
      row->jumps |= (op >= MODEL_OP_ABS && op <= MODEL_OP_CEIL) || op == MODEL_OP_SELECT;
    }
    uint32_t at = row->entry_begin;
    while (at < row->entry_end && w->entries[at].state != state) {
      at++;
    }
    SLT_TRY(ENG_GROW(sim, w->entries, at + 1));
    w->entries[at] = (Entry){.state = state, .action = i, .along = along + i - begin};
    if (at == row->entry_end) row->entry_end++;
  }
  return SLT_OK;
}

static void note_state_read(const uint32_t* writer, uint32_t* parent, uint32_t state,
                            uint32_t reader) {
  uint32_t other = writer[state];
  if (other == MODEL_NONE) return;
  reader = base_root(parent, reader);
  other = base_root(parent, other);
  parent[reader > other ? reader : other] = reader > other ? other : reader;
}

/// A contact whose gap's rate reads states that others write.
typedef struct Connecting {
  const ModelProgram* program;
  uint32_t *writer, *parent, contact;
} Connecting;

static void note_register(void* user, uint32_t reg) {
  const Connecting* c = user;
  bool state = reg >= 1 && reg <= c->program->state_count;
  if (state) note_state_read(c->writer, c->parent, reg - 1, c->contact);
}

/// Contacts whose gaps read the speeds of others depend on each other.
static void connect(EngSim* sim, EngContactWork* w, uint32_t count, uint32_t* writer,
                    uint32_t* parent) {
  const ModelProgram* program = &sim->core.mode->gdot;
  const ModelSlices* slices = program->slices;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t e = w->rows[i].entry_begin; e < w->rows[i].entry_end; e++) {
      note_state_read(writer, parent, w->entries[e].state, i);
      writer[w->entries[e].state] = i;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t index = w->rows[i].index;
    if (index == MODEL_NONE) continue;
    if (!slices || slices->whole[index]) {
      // nothing is known of what it reads
      for (uint32_t k = 0; k < count; k++) {
        if (w->rows[k].entry_begin == w->rows[k].entry_end) continue;
        note_state_read(writer, parent, w->entries[w->rows[k].entry_begin].state, i);
      }
      continue;
    }
    Connecting connecting = {program, writer, parent, i};
    model_program_visit_reads(program, index, note_register, &connecting);
  }
}

/// Number the groups and list their members.
static SltStatus make_groups(EngSim* sim, EngContactWork* w, uint32_t count) {
  uint32_t n = sim->core.mode->state_count;
  size_t need = 2 * (size_t)count + n + 1;
  SLT_TRY(ENG_GROW(sim, w->members, need));
  SLT_TRY(ENG_GROW(sim, w->group_begin, (size_t)count + 1));
  uint32_t* parent = w->members + count;
  uint32_t* writer = parent + count;
  memset(writer, 0xff, n * sizeof *writer);
  for (uint32_t i = 0; i < count; i++) {
    parent[i] = i;
  }
  connect(sim, w, count, writer, parent);
  w->group_count = 0;
  uint32_t listed = 0;
  size_t largest = 0;
  for (uint32_t root = 0; root < count; root++) {
    if (parent[root] != root) continue;
    w->group_begin[w->group_count] = listed;
    for (uint32_t i = root; i < count; i++) {
      if (base_root(parent, i) != root) continue;
      w->rows[i].group = w->group_count;
      w->members[listed++] = i;
    }
    uint32_t size = listed - w->group_begin[w->group_count++];
    largest = size > largest ? size : largest;
  }
  w->group_begin[w->group_count] = listed;
  // two matrices, six vectors, marks, and the solver's own room
  size_t numbers = 2 * largest * largest + 8 * largest + num_lcp_room((uint32_t)largest);
  return ENG_GROW(sim, w->numbers, numbers);
}

SltStatus eng_contact_structure(EngSim* sim, uint32_t count) {
  if (!sim->contact.work) {
    sim->contact.work = base_alloc(&sim->options.allocator, sizeof *sim->contact.work);
    if (!sim->contact.work) return eng_fail(sim, SLT_ERR_NOMEM, DIAG_E0811, NULL, "out of memory");
    memset(sim->contact.work, 0, sizeof *sim->contact.work);
  }
  EngContactWork* w = sim->contact.work;
  const ModelMode* mode = sim->core.mode;
  size_t n = sim->values.n_max;
  SLT_TRY(ENG_GROW(sim, w->rows, count));
  SLT_TRY(ENG_GROW(sim, w->x, n));
  SLT_TRY(ENG_GROW(sim, w->dx, n));
  SLT_TRY(ENG_GROW(sim, w->flow, n));
  SLT_TRY(ENG_GROW(sim, w->reaction, n));
  SLT_TRY(ENG_GROW(sim, w->dual, mode->gdot.reg_count));
  if (n > 0) memset(w->dx, 0, n * sizeof *w->dx);
  uint32_t entries = 0;
  uint32_t readings = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ModelTransition* t = &sim->model->transitions[sim->contact.closed[i].transition];
    const ModelState* to = &sim->model->automata[t->automaton].states[t->to];
    Row* row = &w->rows[i];
    *row = (Row){.index = eng_atom_place(mode, sim->contact.closed[i].atom),
                 .entry_begin = entries,
                 .entry_end = entries,
                 .reading_begin = readings,
                 .reading_end = readings,
                 .carries = true};
    uint32_t along = sim->contact.closed[i].direction;
    SLT_TRY(note_actions(sim, w, row, to->action_begin, to->action_count, along));
    along += to->action_count;
    SLT_TRY(note_actions(sim, w, row, t->action_begin, t->action_count, along));
    entries = row->entry_end;
    readings = row->reading_end;
  }
  SLT_TRY(ENG_GROW(sim, w->saved, readings));
  SLT_TRY(ENG_GROW(sim, w->resets, 3 * (size_t)entries));
  model_program_bind_dual(&mode->gdot, sim->env, w->dual);
  return make_groups(sim, w, count);
}

/// What the present mode computes from rates, and room for it.
static SltStatus find_rates(EngSim* sim) {
  EngContactWork* w = sim->contact.work;
  if (w->rates.mode == sim->core.mode || !sim->provider.rates) return SLT_OK;
  SLT_TRY(sim->provider.rates(sim->provider.user, sim->state, &w->rates.program));
  w->rates.mode = sim->core.mode;
  if (!w->rates.program) return SLT_OK;
  const ModelProgram* program = &w->rates.program->program;
  size_t need = (size_t)program->reg_count + program->output_count;
  SLT_TRY(ENG_GROW(sim, w->rates.regs, need));
  need = (size_t)program->input_count + program->output_count;
  return ENG_GROW(sim, w->rates.states, need);
}

/// Registers of what is computed from rates, and which states have these.
static void bind_rates(EngSim* sim) {
  EngContactWork* w = sim->contact.work;
  if (!w->rates.program) return;
  const ModelProgram* program = &w->rates.program->program;
  model_program_bind(program, sim->env, w->rates.regs);
  for (uint32_t i = 0; i < program->input_count; i++) {
    w->rates.states[i] = eng_state_place(sim, program->inputs[i].env - 1);
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    w->rates.states[program->input_count + i] = eng_state_place(sim, w->rates.program->env[i] - 1);
  }
}

SltStatus eng_contact_rebind(EngSim* sim) {
  SLT_TRY(eng_contact_structure(sim, sim->core.contact.count));
  SLT_TRY(find_rates(sim));
  bind_rates(sim);
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    sim->contact.work->rows[i].carries = sim->contact.closed[i].carries;
  }
  return SLT_OK;
}

bool eng_contact_valid(const EngSim* sim) {
  if (sim->core.contact.count > sim->contact.impact_count) return false;
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    if (sim->contact.closed[i].transition >= sim->model->transition_count) return false;
    if (sim->contact.closed[i].atom >= sim->model->atom_count) return false;
    if (eng_atom_place(sim->core.mode, sim->contact.closed[i].atom) == MODEL_NONE) return false;
  }
  return true;
}

// ---- evaluation ---------------------------------------------------------------------------------

typedef struct Motion {
  const double *x, *dx;
} Motion;

static ModelDual moving_state(const void* user, uint32_t i) {
  const Motion* motion = user;
  return (ModelDual){{motion->x[i], motion->x[i]}, {motion->dx[i], motion->dx[i]}};
}

/// Derivative of one output of a program over the atoms when states and time move.
static double output_rate(EngSim* sim, const ModelProgram* program, ModelDual* regs, uint32_t index,
                          ModelDual time, Motion motion) {
  ModelDual rate = eng_enclose_output(sim, program, regs, time, moving_state, &motion, index);
  return 0.5 * (rate.d.lo + rate.d.hi);
}

double eng_gap_acceleration(EngSim* sim, uint32_t index, double t, const double* x,
                            const double* dx) {
  return output_rate(sim, &sim->core.mode->gdot, sim->contact.work->dual, index, model_time(t, t),
                     (Motion){x, dx});
}

double eng_gap_effect(EngSim* sim, uint32_t index, double t, const double* x, const double* dx) {
  return output_rate(sim, &sim->core.mode->gdot, sim->contact.work->dual, index,
                     (ModelDual){.v = {t, t}}, (Motion){x, dx});
}

double eng_gap_slope(EngSim* sim, uint32_t index, double t, const double* x, const double* dx) {
  return output_rate(sim, &sim->core.mode->g_flow, sim->programs.dual, index,
                     (ModelDual){.v = {t, t}}, (Motion){x, dx});
}

SltStatus eng_contact_flow(EngSim* sim, double t, const double* x, double* f) {
  return sim->core.slide.count ? eng_slide_rhs(sim, t, x, f) : eng_free_flow(sim, t, x, f);
}

/// A relation of the guard as an impact at w->x finds it: what the contact keeps holds.
static bool holds_in_impact(EngSim* sim, const Row* row, uint32_t index, double t) {
  const EngAtom* atom = &sim->atoms[sim->core.mode->atoms[index]];
  if (index == row->index || atom->marks.kept_by_contact) return true;
  return eng_relation_holds(atom->relation,
                            eng_output_at(sim, &sim->core.mode->g_flow, sim->programs.g_flow, index,
                                          t, sim->contact.work->x));
}

void eng_contact_resets(EngSim* sim, const Row* row, double t, const double* x, double speed,
                        double* out) {
  EngContactWork* w = sim->contact.work;
  const ModelMode* mode = sim->core.mode;
  memcpy(w->x, x, mode->state_count * sizeof *x);
  for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
    const Entry* entry = &w->entries[e];
    w->x[entry->state] -= speed * sim->contact.direction[entry->along];
  }
  if (row->reads_computed) {
    model_program_run(&mode->full, &sim->values.flow_context, sim->programs.full, t, w->x,
                      sim->values.full);
  }
  for (uint32_t r = row->reading_begin; r < row->reading_end; r++) {
    const Reading* reading = &w->readings[r];
    double value = reading->relation != MODEL_NONE ? holds_in_impact(sim, row, reading->relation, t)
                   : reading->state != MODEL_NONE  ? w->x[reading->state]
                                                   : sim->values.full[reading->output];
    w->saved[r] = sim->env[reading->env];
    sim->env[reading->env] = value;
  }
  for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
    const ModelTerm* term = &sim->model->actions[w->entries[e].action].value;
    out[e - row->entry_begin] = model_term_value(
        term, &sim->values.flow_context, sim->model->numbers, sim->env, t, sim->values.scratch);
  }
  for (uint32_t r = row->reading_begin; r < row->reading_end; r++) {
    sim->env[w->readings[r].env] = w->saved[r];
  }
}

bool eng_contact_direction(EngSim* sim, uint32_t contact, double t, const double* x) {
  EngContactWork* w = sim->contact.work;
  const Row* row = &w->rows[contact];
  double reach = sim->contact.closed[contact].reach;
  double* near = w->resets;
  double* far = w->resets + (row->entry_end - row->entry_begin);
  double rate = eng_output_at(sim, &sim->core.mode->gdot, sim->programs.gdot, row->index, t, x);
  // of a contact that is just closing or struck, the speed that it has is left out
  eng_contact_resets(sim, row, t, x, -rate, near);
  eng_contact_resets(sim, row, t, x, reach - rate, far);
  bool any = false;
  for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
    Entry* entry = &w->entries[e];
    uint32_t k = e - row->entry_begin;
    double along = sim->contact.direction[entry->along];
    // what the approach alone adds to the change that the resets make
    entry->d = along == 0.0 && far[k] == near[k] ? 0.0 : (far[k] - near[k]) / reach + along;
    if (!isfinite(entry->d)) return false;
    any |= entry->d != 0.0;
  }
  return any;
}

/// Whether a few impacts more would turn the direction of a contact: its resets jump there, like
/// sign(u) where impacts rub. x is work space.
static bool turns(EngSim* sim, uint32_t contact, double t, double* x) {
  EngContactWork* w = sim->contact.work;
  const Row* row = &w->rows[contact];
  double* first = w->resets + 2 * (size_t)(row->entry_end - row->entry_begin);
  double largest = 0.0;
  double most = 0.0;
  for (int turn = 0; turn < 2 && eng_contact_direction(sim, contact, t, x); turn++) {
    for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
      double* before = &first[e - row->entry_begin];
      most = turn ? fmax(most, fabs(w->entries[e].d - *before)) : 0.0;
      *before = w->entries[e].d;
      largest = fmax(largest, fabs(*before));
      x[w->entries[e].state] += AHEAD * sim->contact.closed[contact].reach * *before;
    }
  }
  return most > JUMP * largest;
}

/// Fails where a contact rests at a jump of its resets, which no direction of its reaction follows
/// from; t is the begin of the trial.
static SltStatus check_jumps(EngSim* sim, double t) {
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    EngContact* contact = &sim->contact.closed[i];
    if (!sim->contact.work->rows[i].jumps) continue;
    num_dense_eval(sim->stepper, t, sim->probe.x);
    bool rubbed = contact->rubs;
    contact->rubs = turns(sim, i, t, sim->probe.x);
    if (!contact->rubs || !rubbed) contact->since = t;
    // a motion that passes the jump does so within a few impacts
    double gained = (t - contact->since) * fabs(sim->contact.work->rows[i].flow);
    if (!(gained > 256.0 * AHEAD * contact->reach)) continue;
    const ModelAtomText* gap = sim->model->atoms[contact->atom].written;
    eng_fail(sim, SLT_ERR_ZENO, DIAG_E0807, &gap->span,
             "from t = %s on the closed contact of '%.*s' rubs where its resets jump, without end",
             eng_short(contact->since).text, STR_ARGS(gap->text));
    return eng_hint(sim, "declare it with `contact`, and what rubs in it with `friction`");
  }
  return SLT_OK;
}

void eng_contact_spread(EngContactWork* w, const Row* row, bool back) {
  for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
    w->dx[w->entries[e].state] = back ? 0.0 : w->entries[e].d;
  }
}

SltStatus eng_contact_evaluate(EngSim* sim, double t, const double* x, const double* f) {
  EngContactWork* w = sim->contact.work;
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < w->group_begin[w->group_count]; i++) {
    Row* row = &w->rows[i];
    if (!eng_contact_direction(sim, i, t, x)) return SLT_ERR_NOT_FINITE;
    row->g = eng_output_at(sim, &mode->g_flow, sim->programs.g_flow, row->index, t, x);
    row->gdot = eng_output_at(sim, &mode->gdot, sim->programs.gdot, row->index, t, x);
    row->flow = eng_gap_acceleration(sim, row->index, t, x, f);
  }
  return SLT_OK;
}

void eng_contact_matrix(EngSim* sim, uint32_t group, double t, const double* x, double* a) {
  EngContactWork* w = sim->contact.work;
  const uint32_t* members = w->members + w->group_begin[group];
  uint32_t n = eng_group_size(w, group);
  for (uint32_t k = 0; k < n; k++) {
    eng_contact_spread(w, &w->rows[members[k]], false);
    for (uint32_t i = 0; i < n; i++) {
      const Row* row = &w->rows[members[i]];
      a[(size_t)i * n + k] = eng_gap_effect(sim, row->index, t, x, w->dx);
    }
    eng_contact_spread(w, &w->rows[members[k]], true);
  }
}

/// Reactions of a group that give its gaps the accelerations `wanted`, into `lambda`; by those that
/// carry. Its matrix is there.
static void solve_group(EngSim* sim, uint32_t group, const double* wanted, double* lambda) {
  EngContactWork* w = sim->contact.work;
  const uint32_t* members = w->members + w->group_begin[group];
  uint32_t n = eng_group_size(w, group);
  double* a = w->numbers;
  double* work = a + (size_t)n * n;
  bool* in = (bool*)(lambda + n);
  bool* carries = in + n;
  for (uint32_t i = 0; i < n; i++) {
    in[i] = w->rows[members[i]].carries;
  }
  num_dense_solve_members(n, a, wanted, in, lambda, carries, work);
}

/// Room of a group behind its matrix and the solver's: vectors of n numbers each.
static double* group_vector(const EngContactWork* w, uint32_t n, uint32_t which) {
  return w->numbers + 2 * (size_t)n * n + num_lcp_room(n) + (size_t)which * n;
}

/// Reactions that hold all gaps, with the stiffness k drawing them to zero.
static SltStatus find_reactions(EngSim* sim, double t, const double* x, double k) {
  EngContactWork* w = sim->contact.work;
  for (uint32_t group = 0; group < w->group_count; group++) {
    uint32_t n = eng_group_size(w, group);
    const uint32_t* members = w->members + w->group_begin[group];
    double* wanted = group_vector(w, n, 0);
    double* lambda = group_vector(w, n, 1);
    for (uint32_t i = 0; i < n; i++) {
      const Row* row = &w->rows[members[i]];
      wanted[i] = -row->flow - 2.0 * k * row->gdot - k * k * row->g;
    }
    eng_contact_matrix(sim, group, t, x, w->numbers);
    solve_group(sim, group, wanted, lambda);
    for (uint32_t i = 0; i < n; i++) {
      w->rows[members[i]].lambda = lambda[i];
      if (!isfinite(lambda[i])) return SLT_ERR_NOT_FINITE;
    }
  }
  return SLT_OK;
}

/// What is computed from rates sees the reactions in them: rates that follow from others, and
/// algebraic values, which are returned.
static const double* pass_rates_on(EngSim* sim, double t, const double* x, double* dx) {
  EngContactWork* w = sim->contact.work;
  const ModelProgram* program = &w->rates.program->program;
  const uint32_t* read = w->rates.states;
  const uint32_t* written = w->rates.states + program->input_count;
  double* out = w->rates.regs + program->reg_count;
  bool moved = true;
  for (uint32_t turn = 0; moved && turn < RATES_CHAIN; turn++) {
    moved = false;
    for (uint32_t i = 0; i < program->input_count; i++) {
      if (read[i] != MODEL_NONE) w->rates.regs[program->inputs[i].reg] = dx[read[i]];
    }
    model_program_run(program, &sim->values.flow_context, w->rates.regs, t, x, out);
    for (uint32_t i = w->rates.program->algebraic_count; i < program->output_count; i++) {
      uint32_t state = written[i];
      double rate = out[i] + w->reaction[state];
      moved |= dx[state] != rate;
      dx[state] = rate;
    }
  }
  return out;
}

/// What the reactions add to the rates of the states.
static void sum_reactions(EngSim* sim, double* dx) {
  EngContactWork* w = sim->contact.work;
  memset(w->reaction, 0, sim->core.mode->state_count * sizeof *w->reaction);
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    const Row* row = &w->rows[i];
    for (uint32_t e = row->entry_begin; e < row->entry_end; e++) {
      w->reaction[w->entries[e].state] += row->lambda * w->entries[e].d;
    }
  }
  for (uint32_t i = 0; i < sim->core.mode->state_count; i++) {
    dx[i] += w->reaction[i];
  }
}

SltStatus eng_contact_push(EngSim* sim, double t, const double* x, double stiffness, double* f) {
  SLT_TRY(eng_contact_evaluate(sim, t, x, f));
  SLT_TRY(find_reactions(sim, t, x, stiffness));
  sum_reactions(sim, f);
  return SLT_OK;
}

SltStatus eng_contact_rhs(EngSim* sim, double t, const double* x, double* dx) {
  SLT_TRY(eng_contact_push(sim, t, x, sim->core.contact.stiffness, dx));
  if (sim->contact.work->rates.program && !sim->core.slide.count) pass_rates_on(sim, t, x, dx);
  return SLT_OK;
}

/// Reactions at (t, x) without what draws gaps to zero; false: there are none.
static bool reactions_at(EngSim* sim, double t, const double* x) {
  EngContactWork* w = sim->contact.work;
  if (eng_slide_has_reactions(sim)) return eng_slide_reactions(sim, t, x);
  return eng_contact_flow(sim, t, x, w->flow) >= 0 &&
         eng_contact_evaluate(sim, t, x, w->flow) >= 0 && find_reactions(sim, t, x, 0.0) >= 0;
}

void eng_contact_soften(EngSim* sim) {
  const NumStepper* stepper = sim->stepper;
  EngContacts* contacts = &sim->core.contact;
  EngContactWork* w = sim->contact.work;
  if (sim->core.slide.count || !reactions_at(sim, stepper->t, stepper->x)) return;
  // after many events steps are short: what is left of g must not be thrown out of the contact
  for (uint32_t i = 0; i < contacts->count; i++) {
    const Row* row = &w->rows[i];
    // resets are probed along the reaction, which turns with the gap: a rope swings round
    eng_contact_spread(w, row, false);
    double own = eng_gap_effect(sim, row->index, stepper->t, stepper->x, w->dx);
    eng_contact_spread(w, row, true);
    for (uint32_t e = row->entry_begin; own < 0.0 && e < row->entry_end; e++) {
      w->dx[w->entries[e].state] = 1.0;  // what the gap does not read is no approach
      double effect = eng_gap_effect(sim, row->index, stepper->t, stepper->x, w->dx);
      w->dx[w->entries[e].state] = 0.0;
      sim->contact.direction[w->entries[e].along] = effect != 0.0 ? w->entries[e].d / -own : 0.0;
    }
    double most = 0.5 * fabs(row->flow);
    double soft = fmin(sqrt(most / fabs(row->g)), 0.5 * most / fabs(row->gdot));
    if (soft > 0.0 && soft < contacts->stiffness) contacts->stiffness = soft;
  }
}

void eng_contact_full(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  EngContactWork* w = sim->contact.work;
  if (!reactions_at(sim, t, sim->x)) return;
  // the derivative of a state follows it in the environment
  for (uint32_t i = 0; i < mode->state_count; i++) {
    w->flow[i] = sim->env[mode->state_env[i] + 1];
  }
  sum_reactions(sim, w->flow);
  if (w->rates.program && !sim->core.slide.count) {
    const double* out = pass_rates_on(sim, t, sim->x, w->flow);
    for (uint32_t i = 0; i < w->rates.program->algebraic_count; i++) {
      sim->env[w->rates.program->env[i]] = out[i];
    }
  }
  for (uint32_t i = 0; i < mode->state_count; i++) {
    if (sim->env[mode->state_env[i] + 1] != w->flow[i])
      sim->env[mode->state_env[i] + 1] = w->flow[i];
  }
}

// ---- the end of a contact -----------------------------------------------------------------------

/// How far the relations of the impact's guard besides those that ride are beyond their boundaries,
/// at time a with states x, or anywhere in [a, b] of the trial: a ball on a table is carried as far
/// as the table goes. Negative before.
static double beyond_guard(EngSim* sim, uint32_t contact, double a, double b, const double* x) {
  const ModelProgram* p = &sim->core.mode->g_flow;
  const ModelGuard* guard = &sim->model->transitions[sim->contact.closed[contact].transition].guard;
  EngTrialPart part = {sim, num_dense_theta(sim->stepper, a), num_dense_theta(sim->stepper, b)};
  double beyond = -(double)INFINITY;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const EngAtom* atom = &sim->atoms[guard->atoms[i]];
    if (atom->marks.kept_by_contact || !atom->truth || !sim->active.live[guard->atoms[i]]) continue;
    uint32_t at = eng_atom_place(sim->core.mode, guard->atoms[i]);
    ModelDual g = {.v = {-(double)INFINITY, 0.0}};  // what cannot be enclosed may be anything
    if (at == MODEL_NONE) continue;
    if (x) {
      g.v.lo = eng_output_at(sim, p, sim->programs.g_flow, at, a, x);
    } else {
      model_program_enclose_output(p, &sim->values.flow_context, sim->programs.dual,
                                   model_time(a, b), eng_enclose_dense, &part, at, &g);
    }
    beyond = fmax(beyond, -g.v.lo);
  }
  return beyond;
}

double eng_contact_end(EngSim* sim, double t, const double* x) {
  EngContactWork* w = sim->contact.work;
  if (!reactions_at(sim, t, x)) return -(double)INFINITY;
  double most = -(double)INFINITY;
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    double load = sim->contact.closed[i].load;
    double force = load > 0.0 ? w->rows[i].lambda / load : w->rows[i].lambda;
    double value = w->rows[i].carries ? -force - w->slack : -1.0;
    value = fmax(value, beyond_guard(sim, i, t, t, x));
    sim->contact.closed[i].lifts = value >= 0.0;
    most = fmax(most, value);
  }
  return most;
}

/// The same at time t of the trial.
static double end_function(EngSim* sim, double t) {
  num_dense_eval(sim->stepper, t, sim->probe.x);
  return eng_contact_end(sim, t, sim->probe.x);
}

/// Bounds of the gaps' accelerations along the flow over [a, b], for all rows:
/// sim->proof.g_dual[].d.
static bool enclose_flow(EngSim* sim, double a, double b) {
  EngContactWork* w = sim->contact.work;
  const ModelMode* mode = sim->core.mode;
  const ModelContext* context = &sim->values.flow_context;
  EngTrialPart part = {sim, num_dense_theta(sim->stepper, a), num_dense_theta(sim->stepper, b)};
  ModelDual time = model_time(a, b);
  if (ENG_GROW(sim, w->rhs_dual, mode->rhs.reg_count + mode->state_count) < 0) {
    return false;
  }
  ModelDual* f = w->rhs_dual + mode->rhs.reg_count;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->proof.x_dual[i] = eng_enclose_dense(&part, i);
  }
  model_program_bind_dual(&mode->rhs, sim->env, w->rhs_dual);
  model_program_enclose(&mode->rhs, context, w->rhs_dual, time, sim->proof.x_dual, f);
  for (uint32_t i = 0; i < mode->state_count; i++) {
    sim->proof.x_dual[i].d = f[i].v;
  }
  model_program_enclose(&mode->gdot, context, w->dual, time, sim->proof.x_dual, sim->proof.g_dual);
  return true;
}

/// Whether the reactions of a group are positive over a part of the trial, by the accelerations in
/// g_dual and the effect of reactions in the middle of it.
static bool group_pushes(EngSim* sim, uint32_t group, double t) {
  EngContactWork* w = sim->contact.work;
  const uint32_t* members = w->members + w->group_begin[group];
  uint32_t n = eng_group_size(w, group);
  if (n > PROOF_MAX) return false;
  double lo[PROOF_MAX] = {0.0};
  eng_contact_matrix(sim, group, t, sim->probe.x, w->numbers);
  for (uint32_t k = 0; k < n; k++) {
    double* unit = group_vector(w, n, 0);
    double* column = group_vector(w, n, 1);
    ModelInterval flow = sim->proof.g_dual[w->rows[members[k]].index].d;
    for (uint32_t i = 0; i < n; i++) {
      unit[i] = i == k ? -1.0 : 0.0;
    }
    solve_group(sim, group, unit, column);
    for (uint32_t i = 0; i < n; i++) {
      lo[i] += fmin(column[i] * flow.lo, column[i] * flow.hi);
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    if (w->rows[members[i]].carries && !(lo[i] > 0.0)) return false;
  }
  return true;
}

/// Whether no contact ends over [a, b] of the trial.
static bool holds_throughout(NumExit* e, double a, double b) {
  EngSim* sim = e->user;
  EngContactWork* w = sim->contact.work;
  for (uint32_t i = 0; i < sim->core.contact.count; i++)
    if (e->blind || !(beyond_guard(sim, i, a, b, NULL) < 0.0)) return false;
  if (!enclose_flow(sim, a, b)) return false;
  double middle = a + 0.5 * (b - a);
  num_dense_eval(sim->stepper, middle, sim->probe.x);
  for (uint32_t i = 0; i < sim->core.contact.count; i++) {
    if (!eng_contact_direction(sim, i, middle, sim->probe.x)) return false;
  }
  for (uint32_t group = 0; group < w->group_count; group++) {
    if (!group_pushes(sim, group, middle)) return false;
  }
  return true;
}

static SltStatus look_at_reactions(NumExit* e, double t, bool* above) {
  double end = end_function(e->user, t);
  *above = false;
  e->coefficient = -end;
  if (end >= 0.0) e->surface = 0;
  return SLT_OK;
}

double eng_contact_begin(EngSim* sim, double t, const double* x) {
  sim->contact.work->slack = 0.0;
  double at_start = eng_contact_end(sim, t, x);
  if (at_start < 0.0) return at_start;
  // a contact that is hardly needed: it ends where it is needed less
  sim->contact.work->slack = at_start + WEAK;
  return -WEAK;
}

SltStatus eng_contact_exit(EngSim* sim, double t_from, double* exit) {
  SLT_TRY(check_jumps(sim, t_from));
  NumExit search = {.user = sim,
                    .look = look_at_reactions,
                    .prove = holds_throughout,
                    .alone = true,
                    .blind = sim->core.slide.count || sim->core.mode->implicit};
  num_dense_eval(sim->stepper, t_from, sim->probe.x);
  eng_contact_begin(sim, t_from, sim->probe.x);
  num_exit_search(&search, t_from, sim->stepper->trial.t);
  if (search.undecided && !isfinite(search.t)) sim->core.counts.undecided++;
  if (isfinite(search.t)) end_function(sim, search.t);  // which ones end there
  *exit = search.t;
  return SLT_OK;
}

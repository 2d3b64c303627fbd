// SPDX-License-Identifier: MIT
//
// Who reads what: from values of the environment and states to the equations, atoms and registers
// that read them, for events that concern few (instant.c). Made once, from the slices of the
// programs.
#include "engine/local/parts.h"

#include <string.h>

// ---- index --------------------------------------------------------------------------------------

static void own(LocalIndex* index, const ModelGuard* guard, uint32_t automaton) {
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    uint32_t* owner = &index->owner[guard->atoms[i]];
    bool other = *owner != MODEL_NONE && *owner != automaton;
    *owner = other || guard->has_mode_test ? LOCAL_SEVERAL : automaton;
  }
}

/// Whether more than equations, and guards that read nothing else, asks in which state an automaton
/// is.
static bool states_are_asked(const EngSim* sim) {
  const Model* model = sim->model;
  bool asked = false;
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelGuard* guard = &model->transitions[i].guard;
    asked |= guard->has_mode_test && !events_asks_states_alone(guard);
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    asked |= automaton->condition && automaton->condition->has_mode_test;
  }
  // what stands behind the variables and the truths of relations is no value to be set
  for (uint32_t i = 0; !asked && i < model->action_count; i++) {
    const ModelTerm* term = &model->actions[i].value;
    for (uint32_t k = 0; k < model_term_inputs(term); k++) {
      uint32_t env = model_term_input(term, k);
      if (env == MODEL_NONE) continue;
      if (env >= model->env_count) env -= model->env_count;
      bool value =
          env < sim->values.moving || (env >= sim->values.var_begin && env < sim->values.var_end);
      asked |= !value;
    }
  }
  return asked;
}

static bool is_plain(const ModelAutomaton* a, bool asked) {
  bool plain = !a->has_bodies && a->parent_automaton == MODEL_NONE;
  for (uint32_t s = 0; s < a->state_count; s++) {
    plain &= !a->states[s].invariant && !a->states[s].written->stops;
    plain &= !asked || a->states[s].test_env == MODEL_NONE;
  }
  return plain;
}

static void index_automata(const EngSim* sim, LocalIndex* index) {
  const Model* model = sim->model;
  bool asked = states_are_asked(sim);
  memset(index->owner, 0xff, model->atom_count * sizeof *index->owner);
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    index->plain[a] = is_plain(automaton, asked);
    uint32_t name = index->plain[a] ? a : LOCAL_SEVERAL;
    if (automaton->condition) own(index, automaton->condition, name);
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      const ModelState* state = &automaton->states[s];
      if (state->invariant) own(index, state->invariant, LOCAL_SEVERAL);
      for (uint32_t i = 0; i < state->outgoing_count; i++) {
        own(index, &model->transitions[state->outgoing[i]].guard, name);
      }
    }
  }
  for (uint32_t i = 0; i < index->mode->equation_atom_count; i++) {
    index->owner[index->mode->equation_atoms[i]] = LOCAL_SEVERAL;
  }
}

/// What a register holds at the beginning of a program: a key, or MODEL_NONE.
typedef struct Leaves {
  uint32_t* key;
  const ModelProgram* program;
} Leaves;

static uint32_t leaf_key(const EngSim* sim, const Leaves* leaves, uint32_t reg) {
  if (reg >= 1 && reg <= leaves->program->state_count) return sim->model->env_count + reg - 1;
  return leaves->key[reg];
}

typedef struct ReaderPass {
  const EngSim* sim;
  Leaves leaves;
  LocalReaders* readers;
  uint32_t* seen;  // per key: last reader + 1
  bool count;
} ReaderPass;

static void note_read(ReaderPass* pass, uint32_t reg, uint32_t reader) {
  uint32_t key = leaf_key(pass->sim, &pass->leaves, reg);
  if (key == MODEL_NONE || pass->seen[key] == reader + 1) return;
  pass->seen[key] = reader + 1;
  uint32_t* at = &pass->readers->begin[key];
  if (!pass->count) pass->readers->list[*at] = reader;
  (*at)++;
}

/// Visit what each output of the program reads.
static void visit_reads(ReaderPass* pass, uint32_t key_count) {
  const ModelProgram* program = pass->leaves.program;
  const ModelSlices* slices = program->slices;
  memset(pass->seen, 0, key_count * sizeof *pass->seen);
  for (uint32_t k = 0; k < program->output_count; k++) {
    for (uint32_t i = slices->begin[k]; i < slices->begin[k + 1]; i++) {
      const ModelInstr* pc = &program->code[slices->instrs[i]];
      uint32_t operands = model_op_operands(pc->op);
      if (operands > 0) note_read(pass, pc->a, k);
      if (operands > 1) note_read(pass, pc->b, k);
    }
    note_read(pass, program->outputs[k], k);
  }
}

/// Counts become beginnings; visiting again then moves each to its end, which is the next
/// beginning.
static uint32_t counts_to_begins(uint32_t* begin, uint32_t key_count) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i <= key_count; i++) {
    uint32_t count = begin[i];
    begin[i] = sum;
    sum += count;
  }
  return sum;
}

static void shift_begins(uint32_t* begin, uint32_t key_count) {
  memmove(begin + 1, begin, key_count * sizeof *begin);
  begin[0] = 0;
}

static bool make_list(EngSim* sim, LocalReaders* readers, uint32_t count) {
  readers->list = base_alloc(&sim->options.allocator, ((size_t)count + 1) * sizeof(uint32_t));
  readers->list_capacity = (size_t)count + 1;
  return readers->list != NULL;
}

static bool index_program(EngSim* sim, LocalIndex* index, const ModelProgram* program,
                          LocalReaders* readers, uint8_t wide, uint32_t* work) {
  uint32_t keys = index->key_count;
  const ModelSlices* slices = program->slices;
  if (!slices) return false;
  for (uint32_t k = 0; k < program->output_count; k++) {
    if (slices->whole[k]) return false;
  }
  ReaderPass pass = {.sim = sim,
                     .leaves = {work, program},
                     .readers = readers,
                     .seen = work + program->reg_count,
                     .count = true};
  memset(work, 0xff, program->reg_count * sizeof *work);
  for (uint32_t i = 0; i < program->input_count; i++) {
    // pre(x) is x between events
    uint32_t env = program->inputs[i].env;
    work[program->inputs[i].reg] = env < sim->model->env_count ? env : env - sim->model->env_count;
  }
  visit_reads(&pass, keys);
  for (uint32_t i = 0; i < keys; i++) {
    if (readers->begin[i] > LOCAL_WIDE) index->wide[i] |= wide;
  }
  if (!make_list(sim, readers, counts_to_begins(readers->begin, keys))) return false;
  pass.count = false;
  visit_reads(&pass, keys);
  shift_begins(readers->begin, keys);
  return true;
}

/// States that each atom reads, from the atoms that read each state.
static bool index_reads(EngSim* sim, LocalIndex* index) {
  const SltAllocator* a = &sim->options.allocator;
  uint32_t atom_count = sim->model->atom_count;
  LocalReaders* reads = &index->reads;
  reads->begin = base_alloc(a, ((size_t)atom_count + 1) * sizeof(uint32_t));
  if (!reads->begin) return false;
  uint32_t first = index->atoms.begin[sim->model->env_count];
  uint32_t last = index->atoms.begin[index->key_count];
  for (uint32_t i = first; i < last; i++) {
    reads->begin[index->atoms.list[i]]++;
  }
  if (!make_list(sim, reads, counts_to_begins(reads->begin, atom_count))) return false;
  for (uint32_t key = sim->model->env_count; key < index->key_count; key++) {
    for (uint32_t i = index->atoms.begin[key]; i < index->atoms.begin[key + 1]; i++) {
      reads->list[reads->begin[index->atoms.list[i]]++] = key - sim->model->env_count;
    }
  }
  shift_begins(reads->begin, atom_count);
  index->form_coef = base_alloc(a, reads->list_capacity * sizeof(double));
  index->form_time = base_alloc(a, atom_count * sizeof(double));
  index->has_form = base_alloc(a, atom_count);
  return index->form_coef && index->form_time && index->has_form;
}

const ModelProgram* local_program(const ModelMode* mode, uint32_t which) {
  const ModelProgram* all[LOCAL_PROGRAMS] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow,
                                             &mode->gdot};
  return all[which];
}

static bool index_registers(EngSim* sim, LocalIndex* index) {
  const ModelMode* mode = index->mode;
  LocalReaders* regs = &index->regs;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t p = 0; p < LOCAL_PROGRAMS; p++) {
      const ModelProgram* program = local_program(mode, p);
      if (program->reg_count >> LOCAL_REG_BITS) return false;
      for (uint32_t i = 0; i < program->input_count; i++) {
        uint32_t env = program->inputs[i].env;
        if (env >= sim->model->env_count) continue;
        uint32_t* at = &regs->begin[env];
        if (pass) regs->list[*at] = p << LOCAL_REG_BITS | program->inputs[i].reg;
        (*at)++;
      }
    }
    if (pass == 0 && !make_list(sim, regs, counts_to_begins(regs->begin, index->key_count))) {
      return false;
    }
  }
  shift_begins(regs->begin, index->key_count);
  return true;
}

static bool index_arrays(EngSim* sim, LocalIndex* index) {
  const SltAllocator* a = &sim->options.allocator;
  size_t keys = (size_t)index->key_count + 1;
  index->state_of_env = base_alloc(a, sim->model->env_count * sizeof(uint32_t));
  index->owner = base_alloc(a, sim->model->atom_count * sizeof(uint32_t));
  index->plain = base_alloc(a, sim->model->automaton_count);
  index->wide = base_alloc(a, keys);
  index->rhs.begin = base_alloc(a, keys * sizeof(uint32_t));
  index->atoms.begin = base_alloc(a, keys * sizeof(uint32_t));
  index->regs.begin = base_alloc(a, keys * sizeof(uint32_t));
  return index->state_of_env && index->owner && index->plain && index->wide && index->rhs.begin &&
         index->atoms.begin && index->regs.begin;
}

static bool mode_is_suitable(const EngSim* sim, const ModelMode* mode) {
  const NumMethod* method = sim->stepper->method;
  return mode->shared && !mode->implicit && !method->stiff && mode->rhs.slices &&
         mode->gdot.slices && mode->rhs.output_count == mode->state_count && method->adaptive &&
         method->dense_degree <= 4 && sim->model->delay_count == 0;
}

/// The state that many equations read, if there is just one, and few relations do.
static void find_shared(const EngSim* sim, LocalIndex* index) {
  index->shared = MODEL_NONE;
  uint32_t count = 0;
  for (uint32_t key = sim->model->env_count; index->allowed && key < index->key_count; key++) {
    if (!(index->wide[key] & 1)) continue;
    count++;
    if (!(index->wide[key] & 2)) index->shared = key - sim->model->env_count;
  }
  if (count != 1) index->shared = MODEL_NONE;
}

/// How a register depends on the shared state while time flows.
enum { SHARE_STANDS, SHARE_MOVES, SHARE_AFFINE, SHARE_OTHER };

static uint8_t share_class(const ModelInstr* pc, uint8_t a, uint8_t b) {
  bool apart = a < SHARE_AFFINE && b < SHARE_AFFINE;
  if (apart) return a > b ? a : b;
  switch (pc->op) {
  case MODEL_OP_MOVE:
  case MODEL_OP_NEG: return a;
  case MODEL_OP_ADD:
  case MODEL_OP_SUB: return a > b ? a : b;
  case MODEL_OP_MUL: return a == SHARE_STANDS ? b : b == SHARE_STANDS ? a : SHARE_OTHER;
  case MODEL_OP_DIV: return b == SHARE_STANDS ? a : SHARE_OTHER;
  default: return SHARE_OTHER;
  }
}

/// Whether all equations are affine in the shared state, by factors that change at events alone.
static bool is_steady(const LocalIndex* index, uint32_t* work) {
  const ModelProgram* p = &index->mode->rhs;
  for (uint32_t i = 0; i < p->reg_count; i++) {
    work[i] = i <= p->state_count ? SHARE_MOVES : SHARE_STANDS;
  }
  work[1 + index->shared] = SHARE_AFFINE;
  for (uint32_t i = 0; i < p->code_count; i++) {
    const ModelInstr* pc = &p->code[i];
    uint32_t operands = model_op_operands(pc->op);
    uint8_t a = operands > 0 ? (uint8_t)work[pc->a] : SHARE_STANDS;
    uint8_t b = operands > 1 ? (uint8_t)work[pc->b] : a;
    uint8_t all = share_class(pc, a, operands > 1 ? b : SHARE_STANDS);
    if (pc->op == MODEL_OP_SELECT) {
      // the condition stands in the target
      uint8_t larger = a > b ? a : b;
      all = work[pc->dst] == SHARE_STANDS ? larger : SHARE_OTHER;
    }
    work[pc->dst] = all;
  }
  for (uint32_t k = 0; k < p->output_count; k++) {
    if (k != index->shared && work[p->outputs[k]] == SHARE_OTHER) return false;
  }
  return true;
}

static const ModelProgram* single_program(const ModelMode* mode, EngSingle which) {
  return which == ENG_SINGLE_RHS ? &mode->rhs : which == ENG_SINGLE_G ? &mode->g_flow : &mode->gdot;
}

/// Programs of single equations and relations.
static bool index_singles(EngSim* sim, LocalIndex* index) {
  for (uint32_t i = 0; i < ENG_SINGLES; i++) {
    const ModelProgram* program = single_program(index->mode, (EngSingle)i);
    if (!model_singles_init(&index->singles[i], program, &sim->options.allocator)) return false;
  }
  return true;
}

bool eng_output(EngSim* sim, EngSingle which, double t, ModelStateFn* state, const void* user,
                uint32_t output, double* value) {
  const ModelMode* mode = sim->core.mode;
  const ModelProgram* program = single_program(mode, which);
  double* regs = which == ENG_SINGLE_RHS ? sim->programs.rhs
                 : which == ENG_SINGLE_G ? sim->programs.g_flow
                                         : sim->programs.gdot;
  const ModelContext* context = eng_context(sim);
  if (sim->local && sim->local->index.allowed && sim->local->index.mode == mode) {
    return model_singles_run(&sim->local->index.singles[which], program, context, regs, t, state,
                             user, output, value);
  }
  return model_program_run_output(program, context, regs, t, state, user, output, value);
}

/// Learn who reads what in the present mode.
static bool index_mode(EngSim* sim) {
  LocalIndex* index = &sim->local->index;
  const ModelMode* mode = sim->core.mode;
  index->mode = mode;
  if (!mode_is_suitable(sim, mode)) return false;
  index->key_count = sim->model->env_count + mode->state_count;
  if (!index_arrays(sim, index)) return false;
  memset(index->state_of_env, 0xff, sim->model->env_count * sizeof(uint32_t));
  for (uint32_t i = 0; i < mode->state_count; i++) {
    index->state_of_env[mode->state_env[i]] = i;
  }
  index_automata(sim, index);
  uint32_t most = mode->rhs.reg_count;
  if (mode->g_flow.reg_count > most) most = mode->g_flow.reg_count;
  size_t room = (size_t)most + index->key_count;
  uint32_t* work = base_alloc(&sim->options.allocator, room * sizeof *work);
  if (!work) return false;
  index->allowed = index_program(sim, index, &mode->rhs, &index->rhs, 1, work) &&
                   index_program(sim, index, &mode->g_flow, &index->atoms, 2, work) &&
                   index_registers(sim, index) && index_reads(sim, index) &&
                   index_singles(sim, index);
  find_shared(sim, index);
  index->steady = index->shared == MODEL_NONE || is_steady(index, work);
  // there is a byte for each relation before those of the registers
  uint8_t* bytes = (uint8_t*)work;
  if (index->allowed) local_find_forms(sim, index, bytes, bytes + index->key_count);
  base_free(&sim->options.allocator, work, room * sizeof *work);
  return index->allowed;
}

static bool reads_now(const ModelAtom* atom) {
  bool now = true;
  for (uint32_t k = 0; k < atom->read_count; k++) {
    now &= atom->reads[k].when == MODEL_NOW;
  }
  return now;
}

/// Whether what a guard waits for is followed on every trial, or changes by assignments alone, and
/// other relations are asked for beside that.
static bool waits_for_events(const Model* model, const ModelGuard* guard) {
  bool asks = false;  // for relations that are looked at and not followed
  bool waits = false;
  for (uint32_t i = 0; i < guard->atom_count; i++) {
    const ModelAtom* atom = &model->atoms[guard->atoms[i]];
    bool looked_at = atom->type == MODEL_ATOM_NOEVENT;
    if (looked_at && !reads_now(atom)) return false;
    asks |= looked_at && atom->continuous;
    waits |= !looked_at && eng_guard_needs(guard, atom->env);
  }
  return waits || !asks;
}

/// Whether all relations are those of guards that wait for events.
static bool all_wait_for_events(const Model* model) {
  for (uint32_t i = 0; i < model->atom_count; i++) {
    if (model->atoms[i].type == MODEL_ATOM_UNILATERAL) return false;
    if (model->atoms[i].type == MODEL_ATOM_SHORTLIVING) return false;
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    if (!waits_for_events(model, &model->transitions[i].guard)) return false;
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelGuard* condition = model->automata[a].condition;
    if (condition && !waits_for_events(model, condition)) return false;
  }
  return true;
}

SltStatus eng_local_create(EngSim* sim) {
  if (sim->model->automaton_count < ENG_LOCAL_AUTOMATA) return SLT_OK;
  if (sim->options.detection != SLT_DETECTION_CERTIFIED) return SLT_OK;
  if (sim->model->energy) return SLT_OK;         // is looked at in every instant
  if (sim->model->foreign_count) return SLT_OK;  // so are inputs of foreign blocks
  if (!all_wait_for_events(sim->model)) return SLT_OK;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (sim->model->automata[a].has_bodies) return SLT_OK;  // the index is for one set of equations
  }
  sim->local = base_alloc(&sim->options.allocator, sizeof *sim->local);
  return sim->local ? SLT_OK : SLT_ERR_NOMEM;
}

static bool part_stepper(EngSim* sim) {
  struct EngLocal* local = sim->local;
  const NumMethod* method = sim->stepper->method;
  local->part_size = num_stepper_size(method, LOCAL_STATES);
  local->part_storage = base_alloc(&sim->options.allocator, local->part_size);
  if (!local->part_storage) return false;
  NumOptions options = num_options();
  options.rtol = sim->options.rtol;
  options.norm = sim->stepper->options.norm;
  options.stability = false;
  return num_stepper_init(local->part_storage, method, LOCAL_STATES, &options, &local->part) >= 0;
}

static bool touched_lists(EngSim* sim) {
  LocalTouched* touched = &sim->local->touched;
  const SltAllocator* a = &sim->options.allocator;
  touched->list = base_alloc(a, sim->model->atom_count * sizeof *touched->list);
  touched->at = base_alloc(a, sim->model->atom_count * sizeof *touched->at);
  return touched->list && touched->at;
}

void eng_local_prepare_slow(EngSim* sim) {
  struct EngLocal* local = sim->local;
  if (!local) return;
  // part of the run and of its snapshots, whatever is in memory already
  sim->core.local.prepared = true;
  if (local->prepared) return;
  local->prepared = true;
  // without memory events are not local, no more
  if (!index_mode(sim)) return;
  local->index.allowed = part_stepper(sim) && touched_lists(sim);
  local->rounds = local->index.allowed && local_rounds_suit(sim);
}

bool eng_local_flow_reads(const EngSim* sim, uint32_t env, bool* reads) {
  if (!eng_local_is_prepared(sim)) return false;
  const LocalIndex* index = &sim->local->index;
  bool is_state = index->state_of_env[env] != MODEL_NONE;
  *reads = is_state || index->rhs.begin[env] < index->rhs.begin[env + 1];
  return true;
}

bool eng_local_takes_time(const EngSim* sim, uint32_t id) {
  return eng_local_is_prepared(sim) && sim->local->index.owner[id] < LOCAL_SEVERAL;
}

bool eng_local_is_prepared(const EngSim* sim) {
  const struct EngLocal* local = sim->local;
  return local && sim->core.local.prepared && local->index.allowed &&
         local->index.mode == sim->core.mode && local->part &&
         local->part->method == sim->stepper->method;
}

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

bool local_reads_values(const EngSim* sim, const ModelTerm* term) {
  bool values = true;
  for (uint32_t k = 0; k < model_term_inputs(term); k++) {
    uint32_t env = model_term_input(term, k);
    if (env == MODEL_NONE) continue;
    if (env >= sim->model->env_count) env -= sim->model->env_count;
    values &=
        env < sim->values.moving || (env >= sim->values.var_begin && env < sim->values.var_end);
  }
  return values;
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
  for (uint32_t i = 0; !asked && i < model->action_count; i++) {
    asked = !local_reads_values(sim, &model->actions[i].value);
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

static bool index_program(EngSim* sim, LocalIndex* index, const ModelProgram* program,
                          BaseLists* readers, uint8_t wide, uint32_t* work) {
  uint32_t env_count = sim->model->env_count;
  memset(work, 0xff, program->reg_count * sizeof *work);
  for (uint32_t i = 0; i < program->state_count; i++) {
    work[1 + i] = env_count + i;
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    // pre(x) is x between events
    work[program->inputs[i].reg] = program->inputs[i].env % env_count;
  }
  if (!model_program_list_readers(program, work, index->key_count, work + program->reg_count,
                                  &sim->options.allocator, readers)) {
    return false;
  }
  for (uint32_t i = 0; i < index->key_count; i++) {
    if (readers->begin[i + 1] - readers->begin[i] > LOCAL_WIDE) index->wide[i] |= wide;
  }
  return true;
}

/// States that each atom reads, from the atoms that read each state.
static void visit_states_read(BaseLists* lists, void* user) {
  const LocalIndex* index = user;
  uint32_t first = index->key_count - index->mode->state_count;
  for (uint32_t key = first; key < index->key_count; key++) {
    for (uint32_t i = index->atoms.begin[key]; i < index->atoms.begin[key + 1]; i++) {
      base_lists_add(lists, index->atoms.list[i], key - first);
    }
  }
}

static bool index_reads(EngSim* sim, LocalIndex* index) {
  const SltAllocator* a = &sim->options.allocator;
  uint32_t count = sim->model->atom_count;
  if (!base_lists_make(&index->reads, a, count, visit_states_read, index)) return false;
  index->form_coef = base_alloc(a, ((size_t)index->reads.count + 1) * sizeof(double));
  index->form_time = base_alloc(a, count * sizeof(double));
  index->has_form = base_alloc(a, count);
  return index->form_coef && index->form_time && index->has_form;
}

const ModelProgram* local_program(const ModelMode* mode, uint32_t which) {
  const ModelProgram* all[LOCAL_PROGRAMS] = {&mode->rhs, &mode->full, &mode->g, &mode->g_flow,
                                             &mode->gdot};
  return all[which];
}

static void visit_registers(BaseLists* lists, void* user) {
  const LocalIndex* index = user;
  for (uint32_t p = 0; p < LOCAL_PROGRAMS; p++) {
    const ModelProgram* program = local_program(index->mode, p);
    for (uint32_t i = 0; i < program->input_count; i++) {
      ModelInput input = program->inputs[i];
      bool present = input.env < index->key_count - index->mode->state_count;
      if (present) base_lists_add(lists, input.env, p << LOCAL_REG_BITS | input.reg);
    }
  }
}

static bool index_registers(EngSim* sim, LocalIndex* index) {
  for (uint32_t p = 0; p < LOCAL_PROGRAMS; p++) {
    if (local_program(index->mode, p)->reg_count >> LOCAL_REG_BITS) return false;
  }
  return base_lists_make(&index->regs, &sim->options.allocator, index->key_count, visit_registers,
                         index);
}

static bool mode_is_suitable(const EngSim* sim, const ModelMode* mode) {
  const NumMethod* method = sim->stepper->method;
  bool sliced = mode->rhs.slices && (mode->atom_count == 0 || mode->gdot.slices);
  return mode->shared && !mode->implicit && !method->stiff && sliced &&
         mode->rhs.output_count == mode->state_count && method->adaptive &&
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

static bool take_arrays(EngSim* sim) {
  const SltAllocator* a = &sim->options.allocator;
  const Model* model = sim->model;
  LocalIndex* index = &sim->local->index;
  LocalTouched* touched = &sim->local->touched;
  LocalHeld* held = &sim->local->held;
  index->state_of_env = base_alloc(a, model->env_count * sizeof(uint32_t));
  index->owner = base_alloc(a, model->atom_count * sizeof(uint32_t));
  index->plain = base_alloc(a, model->automaton_count);
  index->plain_time = base_alloc(a, model->schedule_count);
  index->wide = base_alloc(a, index->key_count);
  touched->list = base_alloc(a, model->atom_count * sizeof *touched->list);
  touched->at = base_alloc(a, model->atom_count * sizeof *touched->at);
  held->keys = base_alloc(a, index->key_count);
  held->atoms = base_alloc(a, model->atom_count);
  held->automata = base_alloc(a, model->automaton_count);
  return eng_memory_check(sim) >= 0;
}

/// Learn who reads what in the present mode.
static bool index_mode(EngSim* sim) {
  LocalIndex* index = &sim->local->index;
  const ModelMode* mode = sim->core.mode;
  index->mode = mode;
  if (!mode_is_suitable(sim, mode)) return false;
  index->key_count = sim->model->env_count + mode->state_count;
  if (!take_arrays(sim)) return false;
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
  for (uint32_t i = 0; index->allowed && i < sim->model->schedule_count; i++) {
    index->plain_time[i] = local_is_plain_time(sim, &sim->model->schedules[i]);
  }
  find_shared(sim, index);
  index->steady = index->shared == MODEL_NONE ||
                  model_program_affine_in(&mode->rhs, index->shared, (uint8_t*)work);
  // there is a byte for each relation before those of the registers
  uint8_t* bytes = (uint8_t*)work;
  if (index->allowed) local_find_forms(sim, index, bytes, bytes + index->key_count);
  base_free(&sim->options.allocator, work, room * sizeof *work);
  return index->allowed;
}

bool local_reads_now(const ModelAtom* atom) {
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
    if (looked_at && !local_reads_now(atom)) return false;
    asks |= looked_at && atom->continuous;
    waits |= !looked_at && eng_guard_needs(guard, atom->env);
  }
  return waits || !asks;
}

/// Whether all relations are those of guards that wait for events, and the equations stay.
static bool all_wait_for_events(const Model* model) {
  for (uint32_t i = 0; i < model->atom_count; i++) {
    uint32_t type = model->atoms[i].type;
    if (type == MODEL_ATOM_UNILATERAL || type == MODEL_ATOM_SHORTLIVING) return false;
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    if (!waits_for_events(model, &model->transitions[i].guard)) return false;
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelGuard* condition = model->automata[a].condition;
    if (condition && !waits_for_events(model, condition)) return false;
    if (model->automata[a].has_bodies) return false;  // the index is for one set of equations
  }
  return true;
}

SltStatus eng_local_create(EngSim* sim) {
  const Model* model = sim->model;
  // energy and inputs of foreign blocks are looked at in every instant
  bool suits = eng_local_suits(model) && !model->energy && !model->foreign_count &&
               sim->options.detection == SLT_DETECTION_CERTIFIED;
  if (!suits || !all_wait_for_events(model)) return SLT_OK;
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

void eng_local_prepare_slow(EngSim* sim) {
  struct EngLocal* local = sim->local;
  // part of the run and of its snapshots, whatever is in memory already
  sim->core.local.prepared = true;
  if (!local->prepared) {
    local->prepared = true;
    // without memory events are not local, no more
    local->index.allowed = index_mode(sim) && part_stepper(sim);
    local->rounds = local->index.allowed && local_rounds_suit(sim);
  }
  if (local->index.allowed) local_find_held(sim);
}

bool eng_local_takes_time(const EngSim* sim, uint32_t id) {
  return eng_local_is_prepared(sim) && local_is_owned(sim, id);
}

bool eng_local_takes_next(const EngSim* sim) {
  return eng_local_is_prepared(sim) && sim->model->schedule_count > 0 &&
         sim->local->index.plain_time[sim->instant.due[0].id];
}

bool eng_local_is_prepared(const EngSim* sim) {
  const struct EngLocal* local = sim->local;
  return local && sim->core.local.prepared && local->index.allowed &&
         local->index.mode == sim->core.mode && local->part &&
         local->part->method == sim->stepper->method;
}

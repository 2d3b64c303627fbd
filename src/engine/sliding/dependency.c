// SPDX-License-Identifier: MIT
//
// What depends on which switches: facts about the programs of a mode that no event changes.
//
// A walk along the tape gives every register the set of switch entries (places of the environment
// that tell whether a switch is in a state) that its value depends on. Sets are few and small, so
// they are numbered; where one would grow beyond SET_LIMIT entries it is `wide`, and whoever asks
// has to walk along the tape for the surfaces at hand. Which surface an output depends on is then a
// question to its set, and an event that changes one surface asks nothing of the tape.
//
// The same walk tells how: an output `shifts` when moving switches adds a number to it that depends
// neither on time nor on states (`a(x) + f`, where f is a constant on either side, as dry friction
// of a given level is). Then one run of the program gives its value on both sides.
#include "engine/run/run.h"

#include <string.h>

#define SET_LIMIT 8u  // entries in a set

/// Work space of one walk.
typedef struct Walk {
  EngSim* sim;
  EngDependency* dependency;
  uint32_t* of_env;  // per entry of the environment: its set
  uint32_t* set;     // per register
  uint8_t* kind;     // per register
  BaseKeys sets;     // by a hash of their members
  bool failed;
} Walk;

// ---- sets ---------------------------------------------------------------------------------------

static uint64_t hash_members(const uint32_t* members, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ members[i]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/// Number of the set with these members.
static uint32_t set_with(Walk* walk, const uint32_t* members, uint32_t count) {
  EngDependency* dependency = walk->dependency;
  if (count == 0) return ENG_SET_EMPTY;
  if (count > SET_LIMIT || walk->failed) return ENG_SET_WIDE;
  uint64_t hash = hash_members(members, count);
  const BaseKey* known = base_keys_find(&walk->sets, hash);
  if (known) {
    uint32_t begin = dependency->begin[known->note];
    bool same = dependency->begin[known->note + 1] - begin == count &&
                memcmp(dependency->members + begin, members, count * sizeof *members) == 0;
    return same ? (uint32_t)known->note : ENG_SET_WIDE;
  }
  uint32_t set = dependency->set_count;
  uint32_t end = dependency->begin[set];
  if (!base_keys_add(&walk->sets, &walk->sim->options.allocator, hash, set) ||
      ENG_MORE(walk->sim, dependency->begin, (size_t)set + 2) < 0 ||
      ENG_MORE(walk->sim, dependency->members, (size_t)end + count) < 0) {
    walk->failed = true;
    return ENG_SET_WIDE;
  }
  memcpy(dependency->members + end, members, count * sizeof *members);
  dependency->set_count++;
  dependency->begin[set + 1] = end + count;
  return set;
}

static uint32_t join(Walk* walk, uint32_t a, uint32_t b) {
  if (a == b || b == ENG_SET_EMPTY) return a;
  if (a == ENG_SET_EMPTY) return b;
  if (a == ENG_SET_WIDE || b == ENG_SET_WIDE) return ENG_SET_WIDE;
  const EngDependency* dependency = walk->dependency;
  uint32_t both[2 * SET_LIMIT];
  uint32_t count = 0;
  uint32_t i = dependency->begin[a];
  uint32_t k = dependency->begin[b];
  uint32_t i_end = dependency->begin[a + 1];
  uint32_t k_end = dependency->begin[b + 1];
  while (i < i_end || k < k_end) {
    uint32_t x = i < i_end ? dependency->members[i] : UINT32_MAX;
    uint32_t y = k < k_end ? dependency->members[k] : UINT32_MAX;
    both[count++] = x < y ? x : y;
    if (x <= y) i++;
    if (y <= x) k++;
  }
  return set_with(walk, both, count);
}

// ---- the walk -----------------------------------------------------------------------------------

static void begin_registers(Walk* walk, const ModelProgram* program) {
  const EngSim* sim = walk->sim;
  uint32_t moving = program->state_count + 1;
  for (uint32_t r = 0; r < program->reg_count; r++) {
    walk->set[r] = ENG_SET_EMPTY;
    walk->kind[r] = r < moving ? MODEL_SWITCHED_FREE : MODEL_SWITCHED_FIXED;
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t env = program->inputs[i].env % sim->model->env_count;
    uint32_t reg = program->inputs[i].reg;
    walk->set[reg] = walk->of_env[env];
    // truths follow silently while time flows
    bool moves = sim->values.is_truth[env] != 0;
    if (walk->set[reg] != ENG_SET_EMPTY) {
      walk->kind[reg] = moves ? MODEL_SWITCHED_OTHER : MODEL_SWITCHED_KNOWN;
    } else if (moves) {
      walk->kind[reg] = MODEL_SWITCHED_FREE;
    }
  }
}

static bool walk_program(Walk* walk, const ModelProgram* program, EngDependencyProgram* out) {
  EngSim* sim = walk->sim;
  out->count = 0;
  out->wide = false;
  if (ENG_GROW(sim, out->set, program->output_count) < 0 ||
      ENG_GROW(sim, out->dependent, program->output_count) < 0) {
    return false;
  }
  begin_registers(walk, program);
  for (const ModelInstr* pc = program->code; pc->op != MODEL_OP_END; pc++) {
    uint32_t operands = model_op_operands(pc->op);
    bool select = pc->op == MODEL_OP_SELECT;
    uint32_t set = select ? walk->set[pc->dst] : ENG_SET_EMPTY;
    if (operands > 0) set = join(walk, set, walk->set[pc->a]);
    if (operands > 1) set = join(walk, set, walk->set[pc->b]);
    walk->kind[pc->dst] = (uint8_t)model_switched_by(
        pc, operands, operands > 0 ? walk->kind[pc->a] : MODEL_SWITCHED_FIXED,
        operands > 1 ? walk->kind[pc->b] : MODEL_SWITCHED_FIXED,
        select ? walk->kind[pc->dst] : MODEL_SWITCHED_FIXED, set != ENG_SET_EMPTY);
    walk->set[pc->dst] = set;
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    uint32_t reg = program->outputs[i];
    out->set[i] = walk->set[reg];
    if (out->set[i] == ENG_SET_EMPTY) continue;
    if (out->set[i] == ENG_SET_WIDE) out->wide = true;
    bool shifts =
        walk->kind[reg] == MODEL_SWITCHED_SHIFT || walk->kind[reg] == MODEL_SWITCHED_KNOWN;
    out->dependent[out->count++] =
        (EngDependencyOutput){.output = i, .set = out->set[i], .shifts = shifts};
  }
  return !walk->failed;
}

/// Every entry that tells the state of an automaton is a set of its own.
static void number_entries(Walk* walk) {
  const Model* model = walk->sim->model;
  for (uint32_t i = 0; i < model->env_count; i++) {
    walk->of_env[i] = ENG_SET_EMPTY;
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    for (uint32_t s = 0; s < model->automata[a].state_count; s++) {
      uint32_t env = model->automata[a].states[s].test_env;
      if (env != MODEL_NONE) walk->of_env[env] = set_with(walk, &env, 1);
    }
  }
}

/// Which relations of the mode are a state or its negative, as in `sign(v)`.
static bool find_direct(EngSim* sim, EngDependency* dependency, const ModelMode* mode) {
  const ModelProgram* g = &mode->g_flow;
  if (ENG_GROW(sim, dependency->direct, mode->atom_count) < 0) {
    return false;
  }
  for (uint32_t i = 0; i < mode->atom_count; i++) {
    uint32_t reg = g->outputs[i];
    bool negative = false;
    bool plain = reg >= 1 && reg <= g->state_count;
    if (!plain && g->slices && !g->slices->whole[i]) {
      uint32_t begin = g->slices->begin[i];
      // (a relation between numbers has no instruction at all)
      bool alone = g->slices->begin[i + 1] == begin + 1;
      const ModelInstr* pc = alone ? &g->code[g->slices->instrs[begin]] : NULL;
      negative = alone && pc->op == MODEL_OP_NEG && pc->dst == reg;
      if (negative) reg = pc->a;
    }
    bool is_state = reg >= 1 && reg <= g->state_count;
    dependency->direct[i] = is_state ? 2 * (reg - 1) + (negative ? 1u : 0u) : MODEL_NONE;
  }
  return true;
}

/// What the lists are made from.
typedef struct Readers {
  const EngSim* sim;
  const EngDependency* dependency;
  const ModelMode* mode;
  BaseLists* lists;
  uint32_t output;
} Readers;

static void add_dependent(const Readers* from, const EngDependencyProgram* program, uint32_t kind) {
  const EngDependency* dependency = from->dependency;
  for (uint32_t i = 0; i < program->count; i++) {
    uint32_t set = program->dependent[i].set;
    for (uint32_t k = dependency->begin[set]; k < dependency->begin[set + 1]; k++) {
      base_lists_add(from->lists, dependency->members[k], kind << ENG_READER_BITS | i);
    }
  }
}

static void add_inputs(const Readers* from, const ModelProgram* program, uint32_t kind) {
  for (uint32_t i = 0; i < program->input_count; i++) {
    ModelInput input = program->inputs[i];
    if (input.env >= from->sim->model->env_count) continue;  // pre(x)
    base_lists_add(from->lists, input.env, kind << ENG_READER_BITS | input.reg);
  }
}

/// The sets read backwards: who depends on an entry, and who holds copies of it.
static void visit_readers(BaseLists* lists, void* user) {
  Readers* from = user;
  const EngDependency* dependency = from->dependency;
  from->lists = lists;
  add_dependent(from, &dependency->rhs, ENG_READER_RHS);
  add_dependent(from, &dependency->full, ENG_READER_FULL);
  add_dependent(from, &dependency->gdot, ENG_READER_GDOT);
  add_inputs(from, &from->mode->rhs, ENG_READER_RHS_INPUT);
  add_inputs(from, &from->mode->full, ENG_READER_FULL_INPUT);
  add_inputs(from, &from->mode->g, ENG_READER_G_INPUT);
  add_inputs(from, &from->mode->gdot, ENG_READER_GDOT_INPUT);
}

static void add_row(void* user, uint32_t reg) {
  const Readers* from = user;
  if (reg <= from->mode->rhs.state_count) base_lists_add(from->lists, reg, from->output);
}

static void visit_rows(BaseLists* lists, void* user) {
  Readers* from = user;
  from->lists = lists;
  for (uint32_t i = 0; i < from->dependency->rhs.count; i++) {
    from->output = from->dependency->rhs.dependent[i].output;
    model_program_visit_reads(&from->mode->rhs, from->output, add_row, from);
  }
}

/// What may change an entry of the environment in an instant that sets no values.
enum { MOVED_BY_SWITCH = 1, MOVED_OTHERWISE = 2 };

static void mark_moved(const EngSim* sim, uint8_t* moved) {
  const Model* model = sim->model;
  for (uint32_t i = 0; i < model->env_count; i++) {
    if (sim->values.is_truth[i]) moved[i] = MOVED_OTHERWISE;
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    bool is_switch = automaton->kind == MODEL_AUTOMATON_SWITCH;
    if (automaton->entry_env != MODEL_NONE) moved[automaton->entry_env] = MOVED_OTHERWISE;
    for (uint32_t s = 0; s < automaton->state_count; s++) {
      uint32_t env = automaton->states[s].test_env;
      if (env != MODEL_NONE) moved[env] = is_switch ? MOVED_BY_SWITCH : MOVED_OTHERWISE;
    }
  }
}

static bool reads_moved(const EngSim* sim, const ModelProgram* program, const uint8_t* moved,
                        uint8_t by) {
  for (uint32_t i = 0; i < program->input_count; i++) {
    if (moved[program->inputs[i].env % sim->model->env_count] & by) return true;
  }
  return false;
}

/// Which programs read what may change in an instant that sets no values, besides what depends on
/// switches.
static bool find_moved(EngSim* sim, EngDependency* dependency, const ModelMode* mode) {
  const SltAllocator* a = &sim->options.allocator;
  uint8_t* moved = base_alloc(a, sim->model->env_count);
  if (!moved) return false;
  mark_moved(sim, moved);
  dependency->g_reads = reads_moved(sim, &mode->g_flow, moved, MOVED_BY_SWITCH | MOVED_OTHERWISE);
  if (reads_moved(sim, &mode->rhs, moved, MOVED_OTHERWISE)) dependency->has_rows = false;
  base_free(a, moved, sim->model->env_count);
  return true;
}

/// Who reads what; which of the derivatives that depend on switches read the time and the states.
static bool find_readers(EngSim* sim, EngDependency* dependency, const ModelMode* mode) {
  const SltAllocator* a = &sim->options.allocator;
  const ModelSlices* slices = mode->rhs.slices;
  Readers from = {.sim = sim, .dependency = dependency, .mode = mode};
  uint32_t most =
      mode->full.reg_count > mode->g.reg_count ? mode->full.reg_count : mode->g.reg_count;
  if (most >> ENG_READER_BITS) return false;
  dependency->has_rows = slices != NULL;
  for (uint32_t i = 0; slices && i < dependency->rhs.count; i++) {
    if (slices->whole[dependency->rhs.dependent[i].output]) dependency->has_rows = false;
  }
  return base_lists_make(&dependency->readers, a, sim->model->env_count, visit_readers, &from) &&
         (!dependency->has_rows ||
          base_lists_make(&dependency->rows, a, mode->rhs.state_count + 1, visit_rows, &from));
}

static bool prepare_walk(Walk* walk, const ModelMode* mode) {
  EngSim* sim = walk->sim;
  EngDependency* dependency = walk->dependency;
  const SltAllocator* a = &sim->options.allocator;
  size_t regs = mode->rhs.reg_count;
  if (mode->full.reg_count > regs) regs = mode->full.reg_count;
  if (mode->gdot.reg_count > regs) regs = mode->gdot.reg_count;
  walk->of_env = base_alloc(a, base_mul_size(sim->model->env_count, sizeof *walk->of_env));
  walk->set = base_alloc(a, base_mul_size(regs, sizeof *walk->set));
  walk->kind = base_alloc(a, regs);
  bool good = walk->of_env && walk->set && walk->kind &&
              ENG_GROW(sim, dependency->begin, ENG_SET_FIRST + 1) >= 0;
  if (good) {
    memset(dependency->begin, 0, (ENG_SET_FIRST + 1) * sizeof *dependency->begin);
    dependency->set_count = ENG_SET_FIRST;
    number_entries(walk);
    good = walk_program(walk, &mode->rhs, &dependency->rhs) &&
           walk_program(walk, &mode->full, &dependency->full) &&
           walk_program(walk, &mode->gdot, &dependency->gdot) &&
           ENG_GROW(sim, dependency->label, dependency->set_count) >= 0;
  }
  base_free(a, walk->of_env, sim->model->env_count * sizeof *walk->of_env);
  base_free(a, walk->set, regs * sizeof *walk->set);
  base_free(a, walk->kind, regs);
  base_keys_free(&walk->sets, a);
  return good;
}

/// The facts about the present mode. False: memory is short.
static bool look_at_mode(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  EngDependency* dependency = &sim->sliding.dependency;
  if (dependency->mode == mode) return true;
  dependency->mode = NULL;
  dependency->usable = false;
  if (!find_direct(sim, dependency, mode)) return false;
  // a block of equations that is solved ties what is in it together
  bool straight = !mode->rhs.solve_count && !mode->full.solve_count && !mode->gdot.solve_count;
  if (straight) {
    Walk walk = {.sim = sim, .dependency = dependency};
    if (!prepare_walk(&walk, mode)) return false;
    dependency->usable = !dependency->rhs.wide && !dependency->full.wide && !dependency->gdot.wide;
    if (dependency->usable &&
        !(find_readers(sim, dependency, mode) && find_moved(sim, dependency, mode))) {
      return false;
    }
  }
  dependency->mode = mode;
  return true;
}

const EngDependency* eng_dependency(EngSim* sim) {
  return look_at_mode(sim) && sim->sliding.dependency.usable ? &sim->sliding.dependency : NULL;
}

const uint32_t* eng_dependency_direct(EngSim* sim) {
  return look_at_mode(sim) ? sim->sliding.dependency.direct : NULL;
}

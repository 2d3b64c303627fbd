// SPDX-License-Identifier: MIT
//
// Long programs as loops. Equations of one shape give the same operations again and again, each
// time on other registers; a run of such repetitions becomes a loop over its instances. Text and
// compile time then grow with the number of shapes.
//
// Values that pass between instances, or into and out of a loop, go through the registers, as on
// the tape; all others are variables. Registers that advance evenly are addressed by base and
// stride, others through the instructions of the tape itself, which serve as index tables.
#include "native/write.h"

#include <string.h>

#define PERIOD_MAX   192  // operations of an instance
#define REPEATS_MIN  4
#define REGION_MIN   24  // operations: below, a loop is not worth it
#define STRAIGHT_MAX 4000
#define ROLLED_MAX   5000000  // operations: the search keeps some 20 bytes for each
#define REGIONS_MAX  100      // loops: compilers take long for very many
#define COPIES_MAX   40       // loops that copy outputs
#define NONE         UINT32_MAX

#define OUT(...) text_append_format(w->out, __VA_ARGS__)

/// `count` instances of `length` operations each; a single one for code that is not repeated.
typedef struct Region {
  uint32_t begin, length, count;
} Region;

typedef struct Roll {
  const ModelProgram* p;
  BASE_VEC(Region) regions;
  uint32_t* def[3];   // per instruction: where operands a, b and the old dst were computed, NONE
  uint8_t* local[3];  // per instruction: the operand is a variable
  uint8_t* stored;    // per instruction: the value goes into its register
  uint32_t* output;   // per instruction: the output it goes to, NONE
  uint8_t* direct;    // per output: written where it is computed
} Roll;

static uint32_t operand_reg(const ModelInstr* pc, uint32_t which) {
  return which == 0 ? pc->a : which == 1 ? pc->b : pc->dst;
}

static bool has_operand(const ModelInstr* pc, uint32_t which) {
  if (which == 2) return pc->op == MODEL_OP_SELECT;
  return model_op_operands(pc->op) > which;
}

static bool is_table(uint32_t op) {
  return op >= MODEL_OP_TABLE && op <= MODEL_OP_TABLE_CURVE;
}

// ---------------------------------------------------------------------------------------------
// finding repetitions

static bool same_kind(const ModelInstr* a, const ModelInstr* b) {
  return a->op == b->op && (!is_table(a->op) || a->b == b->b);
}

/// The repetition at `at` that covers most, the shortest period first.
static Region best_region(const ModelProgram* p, uint32_t at) {
  Region best = {at, 1, 1};
  uint32_t covered = 0;
  for (uint32_t length = 1; length <= PERIOD_MAX && at + 2 * length <= p->code_count; length++) {
    if (best.count > 1 && length % best.length == 0) continue;
    uint32_t same = 0;
    while (at + same + length < p->code_count &&
           same_kind(&p->code[at + same], &p->code[at + same + length])) {
      same++;
    }
    uint32_t count = same / length + 1;
    if (count < REPEATS_MIN || count * length < REGION_MIN) continue;
    if (count * length <= covered + length) continue;
    best = (Region){at, length, count};
    covered = count * length;
  }
  return best;
}

/// Whether an operand at slot `s` of three instances is computed in its own instance, or steps
/// evenly from one to the next.
static bool is_regular(const Roll* roll, const Region* region, uint32_t first, uint32_t s,
                       uint32_t which) {
  uint32_t at[3];
  bool local = true;
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t begin = region->begin + (first + k) * region->length;
    at[k] = begin + s;
    uint32_t def = roll->def[which][at[k]];
    local = local && def != NONE && def >= begin && at[k] - def == at[0] - roll->def[which][at[0]];
  }
  if (local) return true;
  uint32_t reg[3];
  for (uint32_t k = 0; k < 3; k++) {
    reg[k] = operand_reg(&roll->p->code[at[k]], which);
    // from another instance
    if (roll->def[which][at[k]] != NONE && roll->def[which][at[k]] >= region->begin) return false;
  }
  return reg[1] - reg[0] == reg[2] - reg[1];
}

/// Operands that are not.
static uint32_t irregularity(const Roll* roll, const Region* region, uint32_t first) {
  uint32_t count = 0;
  for (uint32_t s = 0; s < region->length; s++) {
    const ModelInstr* pc = &roll->p->code[region->begin + first * region->length + s];
    for (uint32_t which = 0; which < 3; which++) {
      count += has_operand(pc, which) && !is_regular(roll, region, first, s, which);
    }
  }
  return count;
}

/// Let instances begin where they depend on each other least, and leave out those at both ends that
/// are different from the rest: cells at a boundary read something else.
static Region refine(const Roll* roll, Region region) {
  if (region.count < REPEATS_MIN + 3) return region;
  Region best = region;
  uint32_t least = NONE;
  for (uint32_t turn = 0; turn < region.length; turn++) {
    Region turned = {region.begin + turn, region.length, region.count - (turn > 0)};
    uint32_t score = irregularity(roll, &turned, 2);
    if (score >= least) continue;
    least = score;
    best = turned;
  }
  for (uint32_t i = 0; i < 2 && irregularity(roll, &best, 0) > least; i++) {
    best.begin += best.length;
    best.count--;
  }
  for (uint32_t i = 0; i < 2 && irregularity(roll, &best, best.count - 3) > least; i++) {
    best.count--;
  }
  return best;
}

static void add_straight(Roll* roll, Arena* arena, uint32_t begin, uint32_t end) {
  if (begin == end) return;
  Region* last = roll->regions.count ? &roll->regions.data[roll->regions.count - 1] : NULL;
  if (last && last->count == 1) {
    last->length += end - begin;
  } else {
    base_vec_push(arena, &roll->regions, (Region){begin, end - begin, 1});
  }
}

/// False when too much is left that is not repeated.
static bool find_regions(Roll* roll, Arena* arena) {
  const ModelProgram* p = roll->p;
  uint32_t straight = 0;
  for (uint32_t at = 0; at < p->code_count;) {
    Region region = best_region(p, at);
    if (region.count > 1) region = refine(roll, region);
    uint32_t end = region.begin + region.length * region.count;
    straight += region.count == 1 ? end - at : region.begin - at;
    if (region.count > 1) {
      add_straight(roll, arena, at, region.begin);
      base_vec_push(arena, &roll->regions, region);
    } else {
      add_straight(roll, arena, at, end);
    }
    at = end;
    if (straight > STRAIGHT_MAX || roll->regions.count > REGIONS_MAX) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// where values go

static void find_definitions(Roll* roll, uint32_t* writer) {
  const ModelProgram* p = roll->p;
  memset(writer, 0xff, p->reg_count * sizeof *writer);
  for (uint32_t i = 0; i < p->code_count; i++) {
    const ModelInstr* pc = &p->code[i];
    for (uint32_t which = 0; which < 3; which++) {
      bool used = has_operand(pc, which);
      roll->def[which][i] = used ? writer[operand_reg(pc, which)] : NONE;
    }
    writer[pc->dst] = i;
    roll->output[i] = NONE;
  }
}

/// Outputs that are written where they are computed: one for every instance of a slot.
static void place_outputs(Roll* roll, const uint32_t* writer) {
  const ModelProgram* p = roll->p;
  for (uint32_t o = 0; o < p->output_count; o++) {
    uint32_t def = writer[p->outputs[o]];
    if (def == NONE) continue;
    if (roll->output[def] == NONE) {
      roll->output[def] = o;
      roll->direct[o] = 1;
    } else {
      roll->stored[def] = 1;
    }
  }
  for (uint32_t r = 0; r < roll->regions.count; r++) {
    const Region* region = &roll->regions.data[r];
    for (uint32_t s = 0; s < region->length; s++) {
      bool all = true;
      for (uint32_t k = 0; k < region->count; k++) {
        all = all && roll->output[region->begin + k * region->length + s] != NONE;
      }
      for (uint32_t k = 0; !all && k < region->count; k++) {
        uint32_t at = region->begin + k * region->length + s;
        if (roll->output[at] == NONE) continue;
        roll->direct[roll->output[at]] = 0;
        roll->output[at] = NONE;
        roll->stored[at] = 1;
      }
    }
  }
}

/// Whether an operand of slot `s` is computed in the same instance, at the same place in each.
static bool is_local(const Roll* roll, const Region* region, uint32_t s, uint32_t which) {
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t begin = region->begin + k * region->length;
    uint32_t def = roll->def[which][begin + s];
    if (def == NONE || def < begin || def >= begin + region->length) return false;
    if (k && def - begin != roll->def[which][region->begin + s] - region->begin) return false;
  }
  return true;
}

static void place_operand(Roll* roll, const Region* region, uint32_t s, uint32_t which) {
  bool local = is_local(roll, region, s, which);
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t at = region->begin + k * region->length + s;
    uint32_t def = roll->def[which][at];
    roll->local[which][at] = local;
    if (!local && def != NONE) roll->stored[def] = 1;
  }
}

/// What one instance of a slot stores, all store.
static void level_stores(Roll* roll, const Region* region) {
  for (uint32_t s = 0; s < region->length; s++) {
    uint8_t any = 0;
    for (uint32_t k = 0; k < region->count; k++) {
      any |= roll->stored[region->begin + k * region->length + s];
    }
    for (uint32_t k = 0; k < region->count; k++) {
      roll->stored[region->begin + k * region->length + s] = any;
    }
  }
}

static void place_operands(Roll* roll) {
  for (uint32_t r = 0; r < roll->regions.count; r++) {
    const Region* region = &roll->regions.data[r];
    for (uint32_t s = 0; s < region->length; s++) {
      for (uint32_t which = 0; which < 3; which++) {
        const ModelInstr* pc = &roll->p->code[region->begin + s];
        if (has_operand(pc, which)) place_operand(roll, region, s, which);
      }
    }
  }
  for (uint32_t r = 0; r < roll->regions.count; r++) {
    level_stores(roll, &roll->regions.data[r]);
  }
}

// ---------------------------------------------------------------------------------------------
// text

/// Numbers that belong to instances 0, 1, ...: base + k * stride if they are even.
typedef struct Steps {
  bool even;
  int64_t base, stride;
} Steps;

typedef uint32_t NumberFn(const Roll* roll, uint32_t at, uint32_t which);

static uint32_t number_of_operand(const Roll* roll, uint32_t at, uint32_t which) {
  return operand_reg(&roll->p->code[at], which);
}

static uint32_t number_of_output(const Roll* roll, uint32_t at, uint32_t which) {
  (void)which;
  return roll->output[at];
}

static Steps find_steps(const Roll* roll, const Region* region, uint32_t s, uint32_t which,
                        NumberFn* number) {
  int64_t base = number(roll, region->begin + s, which);
  int64_t stride = 0;
  if (region->count > 1) {
    stride = (int64_t)number(roll, region->begin + region->length + s, which) - base;
  }
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t at = region->begin + k * region->length + s;
    if (number(roll, at, which) != base + stride * (int64_t)k) return (Steps){.even = false};
  }
  return (Steps){true, base, stride};
}

/// Which registers an operand has over the instances: states, others, or both.
static void operand_kinds(const Roll* roll, const Region* region, uint32_t s, uint32_t which,
                          bool* states, bool* others) {
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t reg = operand_reg(&roll->p->code[region->begin + k * region->length + s], which);
    bool state = reg >= 1 && reg <= roll->p->state_count;
    *states = *states || state;
    *others = *others || !state;
  }
}

/// The same register in all instances, and none of them writes it.
static bool is_invariant(const Roll* roll, const Region* region, uint32_t s, uint32_t which) {
  uint32_t reg = operand_reg(&roll->p->code[region->begin + s], which);
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t at = region->begin + k * region->length + s;
    uint32_t def = roll->def[which][at];
    if (operand_reg(&roll->p->code[at], which) != reg) return false;
    if (def != NONE && def >= region->begin) return false;
  }
  return region->count > 1;
}

static bool is_finite_constant(const ModelProgram* p, uint32_t reg) {
  if (reg < p->const_begin || reg >= p->const_begin + p->const_count) return false;
  double value = p->consts[reg - p->const_begin];
  return value - value == 0.0;
}

/// Fetch what does not change before the loop: the compiler cannot know that stores leave it alone.
static void write_invariants(Writer* w, const Roll* roll, const Region* region) {
  const ModelProgram* p = roll->p;
  for (uint32_t s = 0; s < region->length; s++) {
    for (uint32_t which = 0; which < 3; which++) {
      const ModelInstr* pc = &p->code[region->begin + s];
      if (!has_operand(pc, which) || !is_invariant(roll, region, s, which)) continue;
      uint32_t reg = operand_reg(pc, which);
      bool state = reg >= 1 && reg <= p->state_count;
      if (is_finite_constant(p, reg)) continue;
      OUT("const double c%u_%u = %s[%u];\n", s, which, state ? "X" : "R", reg - state);
    }
  }
}

static void write_operand(Writer* w, const Roll* roll, const Region* region, uint32_t s,
                          uint32_t which) {
  static const char* const fields[] = {"a", "b", "dst"};
  const ModelProgram* p = roll->p;
  uint32_t at = region->begin + s;
  uint32_t reg = operand_reg(&p->code[at], which);
  if (!has_operand(&p->code[at], which)) {
    if (which == 1 && is_table(p->code[at].op)) {
      OUT("%u", p->code[at].b);
    } else {
      OUT("0");
    }
    return;
  }
  if (roll->local[which][at]) {
    OUT("u%u", roll->def[which][at] - region->begin);
    return;
  }
  Steps steps = find_steps(roll, region, s, which, number_of_operand);
  if (steps.even && steps.stride == 0 && is_finite_constant(p, reg)) {
    OUT("%s", native_number(p->consts[reg - p->const_begin]).text);
    return;
  }
  if (is_invariant(roll, region, s, which)) {
    OUT("c%u_%u", s, which);
    return;
  }
  bool states = false;
  bool others = false;
  operand_kinds(roll, region, s, which, &states, &others);
  bool from_x = states && !others;
  const char* array = from_x ? "X" : "R";
  if (!steps.even) {
    OUT("%s[q[%u].%s%s]", array, s, fields[which], from_x ? " - 1" : "");
  } else if (steps.stride == 0) {
    OUT("%s[%lld]", array, (long long)steps.base - from_x);
  } else {
    OUT("%s[%lld + k * %lld]", array, (long long)steps.base - from_x, (long long)steps.stride);
  }
}

static void write_slot(Writer* w, const Roll* roll, const Region* region, uint32_t s) {
  uint32_t at = region->begin + s;
  OUT("const double u%u = op%u(H, C, ", s, roll->p->code[at].op);
  for (uint32_t which = 0; which < 3; which++) {
    write_operand(w, roll, region, s, which);
    text_append_c(w->out, which < 2 ? ", " : ");\n");
  }
  if (roll->stored[at]) {
    Steps to = find_steps(roll, region, s, 2, number_of_operand);
    if (to.even) {
      OUT("R[%lld + k * %lld] = u%u;\n", (long long)to.base, (long long)to.stride, s);
    } else {
      OUT("R[q[%u].dst] = u%u;\n", s, s);
    }
  }
  if (roll->output[at] == NONE) return;
  Steps to = find_steps(roll, region, s, 0, number_of_output);
  OUT("O[%lld + k * %lld] = u%u;\n", (long long)to.base, (long long)to.stride, s);
}

/// Outputs whose numbers do not advance evenly are left in registers and copied at the end.
static void settle_outputs(Roll* roll) {
  for (uint32_t r = 0; r < roll->regions.count; r++) {
    const Region* region = &roll->regions.data[r];
    for (uint32_t s = 0; s < region->length; s++) {
      if (roll->output[region->begin + s] == NONE) continue;
      if (find_steps(roll, region, s, 0, number_of_output).even) continue;
      for (uint32_t k = 0; k < region->count; k++) {
        uint32_t at = region->begin + k * region->length + s;
        roll->direct[roll->output[at]] = 0;
        roll->output[at] = NONE;
        roll->stored[at] = 1;
      }
    }
  }
}

/// Outputs that stand in registers, one after the other.
typedef struct Run {
  uint32_t begin, end;
} Run;

/// The first from output `at` on; empty when there is none.
static Run next_run(const Roll* roll, uint32_t at) {
  const uint32_t count = roll->p->output_count;
  while (at < count && roll->direct[at]) {
    at++;
  }
  Run run = {at, at};
  while (run.end < count && !roll->direct[run.end]) {
    run.end++;
  }
  return run;
}

/// Runs of one length at one distance from each other, from `first` on.
static uint32_t count_even(const Roll* roll, Run first, uint32_t* distance) {
  Run last = first;
  uint32_t count = 1;
  for (Run run = next_run(roll, last.end); run.begin < run.end; run = next_run(roll, last.end)) {
    if (count == 1) *distance = run.begin - first.begin;
    if (run.end - run.begin != first.end - first.begin) break;
    if (run.begin - last.begin != *distance) break;
    last = run;
    count++;
  }
  return count;
}

/// Copies of outputs from their registers; returns the number of loops. `w` NULL: count them only.
static uint32_t write_copies(Writer* w, const Roll* roll) {
  uint32_t loops = 0;
  for (Run run = next_run(roll, 0); run.begin < run.end; loops++) {
    uint32_t distance = 0;
    uint32_t count = count_even(roll, run, &distance);
    uint32_t last = run.begin + (count - 1) * distance;
    uint32_t length = run.end - run.begin;
    if (w && count == 1) {
      OUT("for (long k = %u; k < %u; k++) O[k] = R[outputs[k]];\n", run.begin, run.end);
    } else if (w) {
      OUT("for (long j = %u; j <= %u; j += %u)\n"
          "for (long k = j; k < j + %u; k++) O[k] = R[outputs[k]];\n",
          run.begin, last, distance, length);
    }
    run = next_run(roll, last + length);
  }
  return loops;
}

/// Compilers take long for very many loops: then all outputs pass through registers.
static void limit_copies(Roll* roll) {
  if (write_copies(NULL, roll) <= COPIES_MAX) return;
  for (uint32_t i = 0; i < roll->p->code_count; i++) {
    if (roll->output[i] == NONE) continue;
    roll->direct[roll->output[i]] = 0;
    roll->output[i] = NONE;
    roll->stored[i] = 1;
  }
}

static bool needs_states_in_registers(const Roll* roll) {
  const ModelProgram* p = roll->p;
  for (uint32_t o = 0; o < p->output_count; o++) {
    if (!roll->direct[o] && p->outputs[o] <= p->state_count) return true;
  }
  for (uint32_t r = 0; r < roll->regions.count; r++) {
    const Region* region = &roll->regions.data[r];
    for (uint32_t s = 0; s < region->length; s++) {
      for (uint32_t which = 0; which < 3; which++) {
        uint32_t at = region->begin + s;
        if (!has_operand(&p->code[at], which) || roll->local[which][at]) continue;
        bool states = false;
        bool others = false;
        operand_kinds(roll, region, s, which, &states, &others);
        if (states && others) return true;
      }
    }
  }
  return false;
}

static bool init_roll(Roll* roll, Arena* arena, const ModelProgram* p) {
  uint32_t count = p->code_count;
  *roll = (Roll){.p = p};
  for (uint32_t which = 0; which < 3; which++) {
    roll->def[which] = ARENA_ARRAY(arena, uint32_t, count);
    roll->local[which] = ARENA_ARRAY(arena, uint8_t, count);
  }
  roll->stored = ARENA_ARRAY(arena, uint8_t, count);
  roll->output = ARENA_ARRAY(arena, uint32_t, count);
  roll->direct = ARENA_ARRAY(arena, uint8_t, p->output_count);
  uint32_t* writer = ARENA_ARRAY(arena, uint32_t, p->reg_count);
  find_definitions(roll, writer);
  if (!find_regions(roll, arena)) return false;
  place_outputs(roll, writer);
  settle_outputs(roll);
  limit_copies(roll);
  place_operands(roll);
  return true;
}

bool native_write_rolled(Writer* w, uint32_t number) {
  const ModelProgram* p = w->program;
  Roll roll;
  if (p->solve_count || p->code_count > ROLLED_MAX || !init_roll(&roll, w->out->arena, p))
    return false;
  OUT("static void p%u(const Host* H, const void* P, const void* C, double* restrict R, double t,"
      " const double* restrict X, double* restrict O) {\n"
      "const Instr* const code = *(const Instr* const*)((const char*)P + %zu);\n"
      "const unsigned* const outputs = *(const unsigned* const*)((const char*)P + %zu);\n"
      "(void)code;\n(void)outputs;\nR[0] = t;\n",
      number, offsetof(ModelProgram, code), offsetof(ModelProgram, outputs));
  if (needs_states_in_registers(&roll)) {
    OUT("for (long k = 0; k < %u; k++) R[1 + k] = X[k];\n", p->state_count);
  }
  for (uint32_t r = 0; r < roll.regions.count; r++) {
    const Region* region = &roll.regions.data[r];
    OUT("{\n");
    write_invariants(w, &roll, region);
    OUT("for (long k = 0; k < %u; k++) {\n", region->count);
    OUT("const Instr* const q = code + %u + k * %u;\n(void)q;\n", region->begin, region->length);
    for (uint32_t s = 0; s < region->length; s++) {
      write_slot(w, &roll, region, s);
    }
    OUT("}\n}\n");
  }
  write_copies(w, &roll);
  OUT("}\n");
  return true;
}

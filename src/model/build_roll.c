// SPDX-License-Identifier: MIT
//
// Repetitions of a tape as loops. Equations of one shape leave the same operations again and again,
// each time on other registers; a long run of such repetitions becomes a ModelLoop, which executes
// one operation for a whole block of instances. How the model was written does not matter.
//
// All instances of a block are at the same operation at a time. That is allowed if what an
// operation reads from an earlier instance was computed by an operation before it: an instance may
// be cut anywhere, and the cut is chosen such that this holds. Values that are read outside of
// their instance get registers of their own, one row per operation, so that the registers which the
// tape uses over and over again cannot get into each other's way; straight code between loops reads
// these rows too. Only where blocks of equations name registers in their tables, what straight code
// reads goes to the tape's own registers as well.
#include "model/build_internal.h"

#include <string.h>

#define CODE_MIN     256  // operations: short programs stay as they are
#define REPEATS_MIN  32
#define ROLLED_SHARE 2  // loops must cover the code but for one part in so many
#define REGIONS_MAX  4096
#define PRINT        8  // operations that tell where a period may begin again
#define TRIM_MAX     2  // instances at each end that may be different from the rest
#define LONG_RUN     8  // registers in a row: runs as long as this are kept instead of a list
#define NONE         UINT32_MAX

/// `count` instances of `length` operations each.
typedef struct Region {
  uint32_t begin, length, count;
} Region;

/// What happens to the values of one operation of a region.
typedef struct Slot {
  bool fresh;       // read outside of its instance by loops: has a row of registers
  bool copied;      // read by straight code with blocks: goes to the tape's registers too
  bool is_output;   // direct: each instance is one output, one after the other
  uint32_t target;  // first register, first output, lane register
} Slot;

typedef struct Roller {
  Arena* arena;
  Arena* scratch;
  ModelProgram* p;
  uint32_t* def[3];     // per instruction: who computed operands a, b and the old dst; NONE: a leaf
  uint32_t* last;       // per register: who wrote it last
  uint32_t* outputs;    // per instruction: the output that it is, NONE; NONE - 1: several
  uint32_t* again;      // per instruction: where the next PRINT operations are the same; 0: nowhere
  uint8_t* fixed_code;  // per instruction: must stay on the tape (blocks of equations, draws)
  BASE_VEC(Region) regions;
  BASE_VEC(uint32_t) slot_begin;  // per region: where its slots begin
  BASE_VEC(Slot) slots;
  uint32_t* stamp;  // per register: region that copies into it, + 1
} Roller;

static bool is_table(uint32_t op) {
  return op >= MODEL_OP_TABLE && op <= MODEL_OP_TABLE_CURVE;
}

static uint32_t operand_reg(const ModelInstr* pc, uint32_t which) {
  return which == 0 ? pc->a : which == 1 ? pc->b : pc->dst;
}

static bool has_operand(const ModelInstr* pc, uint32_t which) {
  if (which == 2) return pc->op == MODEL_OP_SELECT;
  return model_op_operands(pc->op) > which;
}

static bool may_loop(uint32_t op) {
  return op < MODEL_OP_RANDOM;
}

// ---------------------------------------------------------------------------------------------
// who reads what

/// Definitions, and what has to stay straight: a block of equations with its body.
static void find_definitions(Roller* r) {
  const ModelProgram* p = r->p;
  uint32_t body_end = 0;
  for (uint32_t i = 0; i < p->reg_count; i++) {
    r->last[i] = NONE;
  }
  for (uint32_t i = 0; i < p->code_count; i++) {
    const ModelInstr* pc = &p->code[i];
    r->outputs[i] = NONE;
    for (uint32_t which = 0; which < 3; which++) {
      r->def[which][i] = has_operand(pc, which) ? r->last[operand_reg(pc, which)] : NONE;
    }
    if (pc->op == MODEL_OP_SOLVE) {
      body_end = i + 1 + pc->a;
      const ModelSolve* solve = &p->solves[pc->dst];
      for (uint32_t k = 0; k < solve->count; k++) {
        r->last[solve->unknowns[k]] = i;
      }
    }
    r->fixed_code[i] = i < body_end || !may_loop(pc->op);
    if (pc->op != MODEL_OP_SOLVE && pc->op != MODEL_OP_END) r->last[pc->dst] = i;
  }
  for (uint32_t o = 0; o < p->output_count; o++) {
    uint32_t def = r->last[p->outputs[o]];
    if (def != NONE) r->outputs[def] = r->outputs[def] == NONE ? o : NONE - 1;
  }
}

// ---------------------------------------------------------------------------------------------
// regions

/// `strict`: operands are leaves or computed in the same places too.
static bool same_kind(const Roller* r, uint32_t i, uint32_t j, bool strict) {
  const ModelInstr* a = &r->p->code[i];
  const ModelInstr* b = &r->p->code[j];
  bool same = a->op == b->op && !r->fixed_code[i] && !r->fixed_code[j] &&
              (!is_table(a->op) || a->b == b->b);
  for (uint32_t which = 0; strict && which < 3; which++) {
    same = same && (r->def[which][i] == NONE) == (r->def[which][j] == NONE);
  }
  return same;
}

/// Where the same few operations come again: the lengths that a period can have.
static void find_prints(Roller* r) {
  uint32_t count = r->p->code_count;
  uint32_t room = 1024;
  while (room < count / 2 && room < (1u << 24)) {
    room *= 2;
  }
  uint32_t* places = ARENA_ARRAY(r->scratch, uint32_t, room);
  uint64_t print = 0;
  for (uint32_t i = count; i-- > 0;) {
    print = print << 8 | r->p->code[i].op;  // eight bits of each: exactly PRINT operations
    uint64_t hash = print * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t* place = &places[hash >> 32 & (room - 1)];
    r->again[i] = *place;
    *place = i;
  }
}

/// The repetition at `at` that covers most, the shortest period first; count 0: none.
static Region best_region(const Roller* r, uint32_t at, bool strict) {
  uint32_t end = r->p->code_count;
  Region best = {at, 1, 0};
  uint32_t covered = 0;
  for (uint32_t next = r->again[at]; next && next - at <= MODEL_LOOP_STEPS; next = r->again[next]) {
    uint32_t length = next - at;
    if (best.count && length % best.length == 0) continue;
    uint32_t same = 0;
    while (at + same + length < end && same_kind(r, at + same, at + same + length, strict)) {
      same++;
    }
    uint32_t count = same / length + 1;
    if (count < REPEATS_MIN || count * length <= covered + length) continue;
    best = (Region){at, length, count};
    covered = count * length;
  }
  return best;
}

/// Number of what an operand reads, such that even steps are steps of registers: the register of a
/// leaf, the place of an operation.
static int64_t source_of(const Roller* r, uint32_t at, uint32_t which) {
  uint32_t def = r->def[which][at];
  if (def != NONE) return -1 - (int64_t)def;
  return operand_reg(&r->p->code[at], which);
}

static bool is_inside(const Region* region, uint32_t at) {
  return at >= region->begin && at - region->begin < region->length * region->count;
}

/// How badly operand `which` of slot `s` suits a block, seen at three instances: 0 well, 1 it has
/// to be gathered, 2 it comes from another instance, NONE: not at all.
static uint32_t operand_trouble(const Roller* r, const Region* region, uint32_t first, uint32_t s,
                                uint32_t which) {
  int64_t source[3];
  uint32_t trouble = 0;
  bool local = true;
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t begin = region->begin + (first + k) * region->length;
    uint32_t def = r->def[which][begin + s];
    source[k] = source_of(r, begin + s, which);
    bool here = def != NONE && is_inside(region, def) && def >= begin;
    local = local && here;
    if (def == NONE || !is_inside(region, def) || here) continue;
    if ((def - region->begin) % region->length >= s) return NONE;
    trouble = 2;
  }
  if (local && source[0] - source[1] == source[1] - source[2] &&
      source[0] - source[1] == (int64_t)region->length) {
    return 0;
  }
  if (source[1] - source[0] != source[2] - source[1]) trouble += 1;
  return trouble;
}

static uint32_t region_trouble(const Roller* r, const Region* region, uint32_t first) {
  uint32_t sum = 0;
  for (uint32_t s = 0; s < region->length; s++) {
    const ModelInstr* pc = &r->p->code[region->begin + s];
    for (uint32_t which = 0; which < 3; which++) {
      if (!has_operand(pc, which)) continue;
      uint32_t trouble = operand_trouble(r, region, first, s, which);
      if (trouble == NONE) return NONE;
      sum += trouble;
    }
  }
  return sum;
}

/// Whether every read from another instance has been computed when its turn comes.
static bool is_ordered(const Roller* r, const Region* region) {
  uint32_t total = region->length * region->count;
  for (uint32_t i = 0; i < total; i++) {
    uint32_t at = region->begin + i;
    for (uint32_t which = 0; which < 3; which++) {
      uint32_t def = r->def[which][at];
      if (def == NONE || !is_inside(region, def)) continue;
      if ((def - region->begin) % region->length >= i % region->length) return false;
    }
  }
  return true;
}

/// Cut the instances where they depend on each other least, and leave out those at the ends that
/// read something else than the rest: cells at a boundary. Count 0 when it is no loop for blocks.
static Region fit_region(const Roller* r, Region region) {
  Region none = {region.begin, 1, 0};
  if (region.count == 0) return none;
  Region best = none;
  uint32_t least = NONE;
  uint32_t middle = region.count / 2;
  for (uint32_t turn = 0; turn < region.length && least > 0; turn++) {
    Region turned = {region.begin + turn, region.length, region.count - (turn > 0)};
    uint32_t trouble = region_trouble(r, &turned, middle);
    if (trouble >= least) continue;
    least = trouble;
    best = turned;
  }
  if (least == NONE) return none;
  for (uint32_t i = 0; i < TRIM_MAX && region_trouble(r, &best, 0) > least; i++) {
    best.begin += best.length;
    best.count--;
  }
  for (uint32_t i = 0; i < TRIM_MAX && region_trouble(r, &best, best.count - 3) > least; i++) {
    best.count--;
  }
  return best.count >= REPEATS_MIN && is_ordered(r, &best) ? best : none;
}

/// False when loops do not cover enough.
static bool find_regions(Roller* r) {
  const ModelProgram* p = r->p;
  uint32_t covered = 0;
  for (uint32_t at = 0; at < p->code_count;) {
    Region region = best_region(r, at, false);
    if (region.count == 0) {
      if (at - covered > p->code_count / ROLLED_SHARE) return false;
      at++;
      continue;
    }
    Region fitted = fit_region(r, region);
    // operations may be alike by chance, as of x - y and (x - y) - z: one reads the other then
    if (fitted.count == 0) fitted = fit_region(r, best_region(r, at, true));
    if (fitted.count == 0) {
      // what is a chain stays one however it is cut
      at = region.begin + region.length * (region.count - 1);
      continue;
    }
    base_vec_push(r->scratch, &r->regions, fitted);
    covered += fitted.length * fitted.count;
    at = fitted.begin + fitted.length * fitted.count;
    if (r->regions.count > REGIONS_MAX) return false;
  }
  return covered >= p->code_count / ROLLED_SHARE;
}

// ---------------------------------------------------------------------------------------------
// where values go

/// The region that an instruction stands in; NONE for straight code.
static uint32_t region_at(const Roller* r, uint32_t at) {
  uint32_t low = 0;
  uint32_t high = r->regions.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (r->regions.data[middle].begin <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 && is_inside(&r->regions.data[low - 1], at) ? low - 1 : NONE;
}

static Slot* slot_at(const Roller* r, uint32_t at, uint32_t region) {
  const Region* reg = &r->regions.data[region];
  return &r->slots.data[r->slot_begin.data[region] + (at - reg->begin) % reg->length];
}

/// Straight code reads what `def` computed.
static void read_straight(const Roller* r, uint32_t def) {
  if (def == NONE) return;
  uint32_t region = region_at(r, def);
  if (region == NONE) return;
  Slot* slot = slot_at(r, def, region);
  *(r->p->solve_count ? &slot->copied : &slot->fresh) = true;
}

static void read_solve(const Roller* r, const ModelSolve* solve, const uint32_t* last) {
  for (uint32_t k = 0; k < solve->count; k++) {
    read_straight(r, last[solve->residuals[k]]);
    if (!solve->linear) read_straight(r, last[solve->guesses[k]]);
  }
  for (uint32_t k = 0; k < solve->entry_count + solve->relax_count; k++) {
    read_straight(r, last[solve->entries[k].reg]);
  }
}

/// What stands between two regions.
static void mark_straight(Roller* r, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; i++) {
    for (uint32_t which = 0; which < 3; which++) {
      read_straight(r, r->def[which][i]);
    }
  }
}

static bool is_local(const Roller* r, const Region* region, uint32_t s, uint32_t which) {
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t begin = region->begin + k * region->length;
    uint32_t def = r->def[which][begin + s];
    if (def == NONE || def < begin || def - begin >= region->length) return false;
    if (def - begin != r->def[which][region->begin + s] - region->begin) return false;
  }
  return true;
}

static void mark_region(Roller* r, const Region* region) {
  for (uint32_t s = 0; s < region->length; s++) {
    const ModelInstr* pc = &r->p->code[region->begin + s];
    for (uint32_t which = 0; which < 3; which++) {
      if (!has_operand(pc, which) || is_local(r, region, s, which)) continue;
      for (uint32_t k = 0; k < region->count; k++) {
        uint32_t def = r->def[which][region->begin + k * region->length + s];
        uint32_t from = def == NONE ? NONE : region_at(r, def);
        if (from != NONE) slot_at(r, def, from)->fresh = true;
      }
    }
  }
}

/// Blocks of equations read registers by their tables: who wrote them is found by going through the
/// code once more.
static void mark_solves(Roller* r) {
  const ModelProgram* p = r->p;
  if (!p->solve_count) return;
  for (uint32_t i = 0; i < p->reg_count; i++) {
    r->last[i] = NONE;
  }
  uint32_t open = NONE;
  for (uint32_t i = 0; i < p->code_count; i++) {
    const ModelInstr* pc = &p->code[i];
    if (pc->op == MODEL_OP_SOLVE) {
      open = pc->dst;
      read_solve(r, &p->solves[open], r->last);
      for (uint32_t k = 0; k < p->solves[open].count; k++) {
        r->last[p->solves[open].unknowns[k]] = i;
      }
    } else if (pc->op == MODEL_OP_END) {
      if (open != NONE) read_solve(r, &p->solves[open], r->last);
      open = NONE;
    } else {
      r->last[pc->dst] = i;
    }
  }
}

/// Slots whose instances are outputs, one after the other.
static void mark_outputs(Roller* r, uint32_t region) {
  const Region* reg = &r->regions.data[region];
  for (uint32_t s = 0; s < reg->length; s++) {
    Slot* slot = &r->slots.data[r->slot_begin.data[region] + s];
    uint32_t first = r->outputs[reg->begin + s];
    bool direct = first < NONE - 1;
    bool any = false;
    for (uint32_t k = 0; k < reg->count; k++) {
      uint32_t output = r->outputs[reg->begin + k * reg->length + s];
      direct = direct && output == first + k;
      any = any || output != NONE;
    }
    if (!any) continue;
    slot->is_output = direct && !slot->fresh;
    if (!slot->is_output) slot->fresh = true;
  }
}

static void mark_all(Roller* r) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < r->regions.count; i++) {
    const Region* region = &r->regions.data[i];
    mark_straight(r, at, region->begin);
    mark_region(r, region);
    at = region->begin + region->length * region->count;
  }
  mark_straight(r, at, r->p->code_count);
  mark_solves(r);
  for (uint32_t i = 0; i < r->regions.count; i++) {
    mark_outputs(r, i);
  }
}

/// Registers that straight code reads are written by one instance only, and the loop itself does
/// not read them otherwise: instances side by side have no order.
static bool copies_are_safe(Roller* r, uint32_t index) {
  const Region* region = &r->regions.data[index];
  uint32_t total = region->length * region->count;
  bool any = false;
  for (uint32_t i = 0; i < total; i++) {
    uint32_t at = region->begin + i;
    if (!slot_at(r, at, index)->copied) continue;
    uint32_t* stamp = &r->stamp[r->p->code[at].dst];
    if (*stamp == index + 1) return false;
    *stamp = index + 1;
    any = true;
  }
  for (uint32_t i = 0; any && i < total; i++) {
    const ModelInstr* pc = &r->p->code[region->begin + i];
    for (uint32_t which = 0; which < 3; which++) {
      if (!has_operand(pc, which)) continue;
      uint32_t def = r->def[which][region->begin + i];
      bool from_tape = def == NONE || region_at(r, def) == NONE;
      if (from_tape && r->stamp[operand_reg(pc, which)] == index + 1) return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// loops

/// The register that an operand reads when everything is rolled.
static uint32_t rolled_reg(const Roller* r, uint32_t reg, uint32_t def) {
  uint32_t region = def == NONE ? NONE : region_at(r, def);
  if (region == NONE) return reg;
  const Region* from = &r->regions.data[region];
  return slot_at(r, def, region)->target + (def - from->begin) / from->length;
}

/// Whether the register of an instance does not follow that of the one before.
static bool begins_run(const Roller* r, const uint32_t* list, uint32_t k) {
  bool other_kind = list[k] == 1 || list[k] == r->p->state_count + 1;
  return k == 0 || list[k] != list[k - 1] + 1 || other_kind;
}

/// Registers of many instances as few runs; kind MODEL_LANE_NONE where they are not few.
static ModelLane lane_of_runs(const Roller* r, const uint32_t* list, uint32_t count) {
  uint32_t run_count = 0;
  for (uint32_t k = 0; k < count; k++) {
    run_count += begins_run(r, list, k);
  }
  if (run_count > count / LONG_RUN) return (ModelLane){.kind = MODEL_LANE_NONE};
  ModelLaneRun* runs = ARENA_ARRAY(r->arena, ModelLaneRun, run_count + 1);
  uint32_t at = 0;
  for (uint32_t k = 0; k < count; k++) {
    if (begins_run(r, list, k)) runs[at++] = (ModelLaneRun){k, list[k]};
  }
  runs[at] = (ModelLaneRun){count, 0};
  return (ModelLane){.kind = MODEL_LANE_RUNS, .at = run_count, .runs = runs};
}

/// Registers of all instances as base and stride, as runs, or listed.
static ModelLane make_lane(const Roller* r, const Region* region, uint32_t s, uint32_t which,
                           bool as_written) {
  uint32_t* list = ARENA_ARRAY(r->scratch, uint32_t, region->count);
  bool even = true;
  for (uint32_t k = 0; k < region->count; k++) {
    uint32_t at = region->begin + k * region->length + s;
    uint32_t reg = operand_reg(&r->p->code[at], which);
    list[k] = as_written ? reg : rolled_reg(r, reg, r->def[which][at]);
    even = even && (k < 2 || list[k] - list[k - 1] == list[1] - list[0]);
  }
  int32_t stride = (int32_t)(list[1] - list[0]);
  if (even) return (ModelLane){.kind = MODEL_LANE_EVEN, .at = list[0], .stride = stride};
  ModelLane runs = lane_of_runs(r, list, region->count);
  if (runs.kind != MODEL_LANE_NONE && !as_written) return runs;
  uint32_t* kept = ARENA_ARRAY(r->arena, uint32_t, region->count);
  memcpy(kept, list, region->count * sizeof *kept);
  return (ModelLane){.kind = MODEL_LANE_LISTED, .list = kept};
}

/// Lane registers while a loop is made.
typedef struct Lanes {
  uint32_t fixed[MODEL_LOOP_REGISTERS];
  uint32_t fixed_count;
  uint32_t free[MODEL_LOOP_STEPS];
  uint32_t free_count;
  uint32_t next;
} Lanes;

static ModelLane read_lane(const Roller* r, const Region* region, uint32_t s, uint32_t which,
                           Lanes* lanes) {
  if (!has_operand(&r->p->code[region->begin + s], which)) return (ModelLane){0};
  if (is_local(r, region, s, which)) {
    uint32_t def = r->def[which][region->begin + s];
    return (ModelLane){.kind = MODEL_LANE_LOCAL, .at = def - region->begin};
  }
  ModelLane lane = make_lane(r, region, s, which, false);
  if (lane.kind != MODEL_LANE_EVEN || lane.stride != 0) return lane;
  for (uint32_t i = 0; i < lanes->fixed_count; i++) {
    if (lanes->fixed[i] == lane.at) return (ModelLane){.kind = MODEL_LANE_FIXED, .at = i};
  }
  // most of the room is for values
  if (lanes->fixed_count >= MODEL_LOOP_REGISTERS / 2) return lane;
  lanes->fixed[lanes->fixed_count++] = lane.at;
  return (ModelLane){.kind = MODEL_LANE_FIXED, .at = lanes->fixed_count - 1};
}

static const ModelLane* operand_of(const ModelLoopStep* step, uint32_t which) {
  return which == 0 ? &step->a : which == 1 ? &step->b : &step->c;
}

/// Which operation reads each value last; itself where nobody does.
static void find_last_uses(const ModelLoopStep* steps, uint32_t count, uint32_t* last_use) {
  for (uint32_t i = 0; i < count; i++) {
    last_use[i] = i;
    for (uint32_t which = 0; which < 3; which++) {
      const ModelLane* operand = operand_of(&steps[i], which);
      if (operand->kind == MODEL_LANE_LOCAL) last_use[operand->at] = i;
    }
  }
}

static void free_lane(const ModelLoopStep* step, Lanes* lanes) {
  if (step->kind == MODEL_TARGET_LANE) lanes->free[lanes->free_count++] = step->target;
}

/// Lane registers by last use. An operation's target is none of its operands. False when there are
/// too few.
static bool place_lanes(ModelLoopStep* steps, const Slot* slots, uint32_t count, Lanes* lanes,
                        uint32_t* last_use) {
  find_last_uses(steps, count, last_use);
  lanes->next = lanes->fixed_count;
  for (uint32_t i = 0; i < count; i++) {
    steps[i].target = slots[i].target;
    steps[i].kind = slots[i].fresh       ? MODEL_TARGET_REGISTER
                    : slots[i].is_output ? MODEL_TARGET_OUTPUT
                                         : MODEL_TARGET_LANE;
    if (steps[i].kind == MODEL_TARGET_LANE) {
      if (lanes->free_count == 0 && lanes->next == MODEL_LOOP_REGISTERS) return false;
      steps[i].target = lanes->free_count ? lanes->free[--lanes->free_count] : lanes->next++;
    }
    for (uint32_t which = 0; which < 3; which++) {
      const ModelLane* operand = operand_of(&steps[i], which);
      if (operand->kind != MODEL_LANE_LOCAL || last_use[operand->at] != i) continue;
      last_use[operand->at] = NONE;  // once only, also for x op x
      free_lane(&steps[operand->at], lanes);
    }
    if (last_use[i] == i) free_lane(&steps[i], lanes);
  }
  return true;
}

/// Straight code between loops, with the operands that loops have computed in their rows. Returns
/// the number of instructions; `code` has place for twice as many as there are on the tape.
static uint32_t write_straight(const Roller* r, uint32_t begin, uint32_t end, ModelInstr* code) {
  uint32_t count = 0;
  for (uint32_t i = begin; i < end; i++) {
    ModelInstr pc = r->p->code[i];
    uint32_t reg[3];
    for (uint32_t which = 0; which < 3; which++) {
      bool moved = !r->p->solve_count && has_operand(&pc, which);
      reg[which] = operand_reg(&pc, which);
      if (moved) reg[which] = rolled_reg(r, reg[which], r->def[which][i]);
    }
    // the old value of the target is an operand
    if (reg[2] != pc.dst) {
      code[count++] = (ModelInstr){.op = MODEL_OP_MOVE, .dst = pc.dst, .a = reg[2]};
    }
    pc.a = reg[0];
    pc.b = reg[1];
    code[count++] = pc;
  }
  return count;
}

static const ModelInstr* straight_code(const Roller* r, uint32_t begin, uint32_t end) {
  if (begin == end) return NULL;
  ModelInstr* code = ARENA_ARRAY(r->scratch, ModelInstr, 2 * (size_t)(end - begin));
  uint32_t count = write_straight(r, begin, end, code);
  ModelInstr* kept = ARENA_ARRAY(r->arena, ModelInstr, (size_t)count + 1);
  memcpy(kept, code, count * sizeof *kept);
  kept[count] = (ModelInstr){.op = MODEL_OP_END};
  return kept;
}

/// Whether no instance reads what another one computes.
static bool instances_are_apart(const Roller* r, const Region* region) {
  uint32_t total = region->length * region->count;
  for (uint32_t i = 0; i < total; i++) {
    uint32_t own = region->begin + i - i % region->length;
    for (uint32_t which = 0; which < 3; which++) {
      uint32_t def = r->def[which][region->begin + i];
      if (def != NONE && is_inside(region, def) && def < own) return false;
    }
  }
  return true;
}

static bool make_loop(Roller* r, uint32_t index, ModelLoop* loop) {
  const Region* region = &r->regions.data[index];
  const Slot* slots = &r->slots.data[r->slot_begin.data[index]];
  Lanes* lanes = ARENA_NEW(r->scratch, Lanes);
  ModelLoopStep* steps = ARENA_ARRAY(r->arena, ModelLoopStep, region->length);
  for (uint32_t s = 0; s < region->length; s++) {
    const ModelInstr* pc = &r->p->code[region->begin + s];
    steps[s] = (ModelLoopStep){.op = pc->op,
                               .table = is_table(pc->op) ? pc->b : 0,
                               .a = read_lane(r, region, s, 0, lanes),
                               .b = read_lane(r, region, s, 1, lanes),
                               .c = read_lane(r, region, s, 2, lanes)};
    if (slots[s].copied) steps[s].copy = make_lane(r, region, s, 2, true);
  }
  uint32_t* last_use = ARENA_ARRAY(r->scratch, uint32_t, region->length);
  if (!place_lanes(steps, slots, region->length, lanes, last_use)) return false;
  uint32_t* fixed = ARENA_ARRAY(r->arena, uint32_t, lanes->fixed_count);
  if (lanes->fixed_count) memcpy(fixed, lanes->fixed, lanes->fixed_count * sizeof *fixed);
  loop->steps = steps;
  loop->step_count = region->length;
  loop->count = region->count;
  loop->apart = instances_are_apart(r, region);
  loop->fixed = fixed;
  loop->fixed_count = lanes->fixed_count;
  return true;
}

/// Rows of registers for what is read outside of its instance; outputs are given their numbers.
static bool place_slots(Roller* r) {
  uint64_t next = r->p->reg_count;
  for (uint32_t i = 0; i < r->regions.count; i++) {
    const Region* region = &r->regions.data[i];
    for (uint32_t s = 0; s < region->length; s++) {
      Slot* slot = &r->slots.data[r->slot_begin.data[i] + s];
      if (slot->is_output) slot->target = r->outputs[region->begin + s];
      if (!slot->fresh) continue;
      slot->target = (uint32_t)next;
      next += region->count;
      if (next > UINT32_MAX / 2) return false;
    }
  }
  r->p->reg_count = (uint32_t)next;
  return true;
}

/// Outputs that no loop writes where they belong.
static void list_outputs(const Roller* r, ModelRoll* roll) {
  const ModelProgram* p = r->p;
  BASE_VEC(ModelOutputRun) runs = {0};
  for (uint32_t o = 0; o < p->output_count; o++) {
    uint32_t def = r->last[p->outputs[o]];
    uint32_t region = def == NONE ? NONE : region_at(r, def);
    if (region != NONE && slot_at(r, def, region)->is_output) continue;
    uint32_t reg = rolled_reg(r, p->outputs[o], def);
    ModelOutputRun* last = runs.count ? &runs.data[runs.count - 1] : NULL;
    if (last && last->output + last->count == o && last->reg + last->count == reg) {
      last->count++;
    } else {
      base_vec_push(r->arena, &runs, (ModelOutputRun){.output = o, .reg = reg, .count = 1});
    }
  }
  roll->outputs = runs.data;
  roll->output_count = runs.count;
}

static bool make_roll(Roller* r) {
  for (uint32_t i = 0; i < r->regions.count; i++) {
    base_vec_push(r->scratch, &r->slot_begin, r->slots.count);
    base_vec_reserve(r->scratch, &r->slots, r->regions.data[i].length);
    memset(r->slots.data + r->slots.count, 0, r->regions.data[i].length * sizeof(Slot));
    r->slots.count += r->regions.data[i].length;
  }
  mark_all(r);
  for (uint32_t i = 0; i < r->regions.count; i++) {
    if (!copies_are_safe(r, i)) return false;
  }
  uint32_t reg_count = r->p->reg_count;
  if (!place_slots(r)) return false;
  ModelRoll* roll = ARENA_NEW(r->arena, ModelRoll);
  ModelLoop* loops = ARENA_ARRAY(r->arena, ModelLoop, r->regions.count);
  uint32_t at = 0;
  for (uint32_t i = 0; i < r->regions.count; i++) {
    const Region* region = &r->regions.data[i];
    loops[i].before = straight_code(r, at, region->begin);
    at = region->begin + region->length * region->count;
    if (!make_loop(r, i, &loops[i])) {
      r->p->reg_count = reg_count;
      return false;
    }
  }
  roll->loops = loops;
  roll->loop_count = r->regions.count;
  roll->after = straight_code(r, at, r->p->code_count);
  roll->loops_only = !roll->after;
  for (uint32_t i = 0; i < r->regions.count; i++) {
    roll->loops_only = roll->loops_only && !loops[i].before;
  }
  list_outputs(r, roll);
  r->p->roll = roll;
  return true;
}

void tape_roll(Arena* arena, Arena* scratch, ModelProgram* program) {
  if (program->code_count < CODE_MIN) return;
  Roller roller = {.arena = arena, .scratch = scratch, .p = program};
  for (size_t i = 0; i < SLT_COUNT(roller.def); i++) {
    roller.def[i] = ARENA_ARRAY(scratch, uint32_t, program->code_count);
  }
  roller.outputs = ARENA_ARRAY(scratch, uint32_t, program->code_count);
  roller.fixed_code = ARENA_ARRAY(scratch, uint8_t, program->code_count);
  roller.again = ARENA_ARRAY(scratch, uint32_t, program->code_count);
  roller.last = ARENA_ARRAY(scratch, uint32_t, program->reg_count);
  roller.stamp = ARENA_ARRAY(scratch, uint32_t, program->reg_count);
  find_definitions(&roller);
  find_prints(&roller);
  if (find_regions(&roller)) make_roll(&roller);
}

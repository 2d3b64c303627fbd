// SPDX-License-Identifier: MIT
//
// The tape over the instances of a shape: a loop's operations run one after the other, each over a
// block of instances whose values lie side by side, so that reading the operation costs next to
// nothing and the compiler makes vector instructions. Same bits as the tape: per instance the
// operations and their order are those of its code.
#include "model/model.h"
#include "model/operations.h"

#include <string.h>

#define LANES     MODEL_LOOP_LANES
#define TEAM_WORK 20000  // operations that are worth several threads

#define EACH(name, value) \
  case MODEL_OP_##name: \
    for (uint32_t k = 0; k < n; k++) { \
      double a = pa[k]; \
      double b = pb[k]; \
      (void)b; \
      (void)a; \
      pd[k] = (value); \
    } \
    break;

/// One operation over n instances. Operands that it does not have point somewhere harmless.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one body per operation
BASE_LANES_BOTH void run_step(const ModelLoopStep* step, const ModelContext* context, uint32_t n,
                              const double* restrict pa, const double* restrict pb,
                              const double* restrict pc, double* restrict pd) {
  switch (step->op) {
    MODEL_OPERATIONS(EACH, EACH)
    EACH(SELECT, model_select(pc[k], a, b))
    EACH(TABLE, model_table_value(&context->tables[step->table], a, 0))
    EACH(TABLE_SLOPE, model_table_value(&context->tables[step->table], a, 1))
    EACH(TABLE_CURVE, model_table_value(&context->tables[step->table], a, 2))
  default: break;  // nothing else is put into loops
  }
}

/// The block of a loop that is looked at.
typedef struct Block {
  const ModelLoop* loop;
  double* regs;
  const double* x;       // states, where they are not in the registers
  uint32_t state_count;  // of these; 0: they are in the registers
  uint32_t first, n;
  double* place[MODEL_LOOP_STEPS];  // values of the operations so far
} Block;

/// What an operand reads that is not there.
static const double nothing[LANES] = {0.0};

/// Whether a register is that of a state which lies elsewhere.
static inline bool is_outside(const Block* block, int64_t reg) {
  return reg >= 1 && reg <= (int64_t)block->state_count;
}

static inline double register_value(const Block* block, uint32_t reg) {
  return is_outside(block, reg) ? block->x[reg - 1] : block->regs[reg];
}

/// The same for registers that follow each other in runs: a block within one of them lies side by
/// side already.
BASE_LANES_BOTH const double* fetch_runs(const Block* block, const ModelLane* lane,
                                         double* restrict room) {
  const ModelLaneRun* run = model_lane_run(lane, block->first);
  for (uint32_t k = 0; k < block->n; run++) {
    uint32_t reg = run->reg + (block->first + k - run->begin);
    const double* from = is_outside(block, reg) ? block->x + (reg - 1) : block->regs + reg;
    uint32_t left = run[1].begin - block->first;
    if (k == 0 && left >= block->n) return from;
    uint32_t count = (left < block->n ? left : block->n) - k;
    for (uint32_t j = 0; j < count; j++) {
      room[k + j] = from[j];
    }
    k += count;
  }
  return room;
}

/// The values of an operand, side by side; `room` takes those that are not.
BASE_LANES_BOTH const double* fetch(const Block* block, const ModelLane* lane,
                                    double (*lanes)[LANES], double* room) {
  const double* regs = block->regs;
  uint32_t n = block->n;
  switch ((ModelLaneKind)lane->kind) {
  case MODEL_LANE_NONE: return nothing;
  case MODEL_LANE_LOCAL: return block->place[lane->at];
  case MODEL_LANE_FIXED: return lanes[lane->at];
  case MODEL_LANE_EVEN: {
    int64_t begin = (int64_t)lane->at + (int64_t)block->first * lane->stride;
    int64_t end = begin + (int64_t)(n - 1) * lane->stride;
    bool states = is_outside(block, begin);
    bool around = block->state_count && !states && (begin == 0) != (end == 0);
    if (states != is_outside(block, end) || around) {
      // some of both
      for (uint32_t k = 0; k < n; k++) {
        room[k] = register_value(block, (uint32_t)(begin + (int64_t)k * lane->stride));
      }
      return room;
    }
    const double* from = states ? block->x + (begin - 1) : regs + begin;
    if (lane->stride == 1) return from;
    for (uint32_t k = 0; k < n; k++) {
      room[k] = from[(ptrdiff_t)k * lane->stride];
    }
    return room;
  }
  case MODEL_LANE_LISTED: {
    const uint32_t* list = lane->list + block->first;
    for (uint32_t k = 0; block->state_count && k < n; k++) {
      room[k] = register_value(block, list[k]);
    }
    for (uint32_t k = 0; !block->state_count && k < n; k++) {
      room[k] = regs[list[k]];
    }
    return room;
  }
  case MODEL_LANE_RUNS: return fetch_runs(block, lane, room);
  }
  return room;
}

BASE_LANES_BOTH void copy_out(const Block* block, const ModelLane* lane, const double* values) {
  for (uint32_t k = 0; k < block->n; k++) {
    uint32_t reg = lane->kind == MODEL_LANE_LISTED
                       ? lane->list[block->first + k]
                       : (uint32_t)((int64_t)lane->at + (int64_t)(block->first + k) * lane->stride);
    block->regs[reg] = values[k];
  }
}

BASE_LANES_BOTH void run_block(Block* block, const ModelContext* context, double (*lanes)[LANES],
                               double* out) {
  double rooms[3][LANES];  // to gather operands in
  const ModelLoop* loop = block->loop;
  for (uint32_t i = 0; i < loop->step_count; i++) {
    const ModelLoopStep* step = &loop->steps[i];
    const double* pa = fetch(block, &step->a, lanes, rooms[0]);
    const double* pb = fetch(block, &step->b, lanes, rooms[1]);
    const double* pc = fetch(block, &step->c, lanes, rooms[2]);
    double* pd = step->kind == MODEL_TARGET_LANE       ? lanes[step->target]
                 : step->kind == MODEL_TARGET_REGISTER ? block->regs + step->target + block->first
                                                       : out + step->target + block->first;
    run_step(step, context, block->n, pa, pb, pc, pd);
    block->place[i] = pd;
    if (step->copy.kind != MODEL_LANE_NONE) copy_out(block, &step->copy, pd);
  }
}

/// A loop at work.
typedef struct LoopRun {
  const ModelLoop* loop;
  const ModelContext* context;
  double* regs;
  const double* x;
  uint32_t state_count;
  double* out;
} LoopRun;

BASE_LANES_BOTH void run_blocks(void* user, size_t begin, size_t end) {
  const LoopRun* run = user;
  const ModelLoop* loop = run->loop;
  Block block;  // `place` is filled as it goes
  block.loop = loop;
  block.regs = run->regs;
  block.x = run->x;
  block.state_count = run->state_count;
  double lanes[MODEL_LOOP_REGISTERS][LANES];
  uint32_t widest = loop->count < LANES ? loop->count : LANES;
  for (uint32_t i = 0; i < loop->fixed_count; i++) {
    double value = register_value(&block, loop->fixed[i]);
    for (uint32_t k = 0; k < widest; k++) {
      lanes[i][k] = value;
    }
  }
  for (uint32_t first = (uint32_t)begin; first < end; first += LANES) {
    block.first = first;
    block.n = (uint32_t)end - first < LANES ? (uint32_t)end - first : LANES;
    run_block(&block, run->context, lanes, run->out);
  }
}

static void run_instances(void* user, size_t begin, size_t end) {
  run_blocks(user, begin, end);
}

#if BASE_LANES_WIDE
BASE_LANES_TARGET static void run_instances_wide(void* user, size_t begin, size_t end) {
  run_blocks(user, begin, end);
}
#endif

static BaseTeamFn* instances_runner(void) {
#if BASE_LANES_WIDE
  if (BASE_LANES_ARE_WIDE()) return run_instances_wide;
#endif
  return run_instances;
}

static void run_loop(const ModelProgram* program, const ModelLoop* loop,
                     const ModelContext* context, double* regs, const double* x, double* out) {
  LoopRun run = {.loop = loop,
                 .context = context,
                 .regs = regs,
                 .x = x,
                 .state_count = x ? program->state_count : 0,
                 .out = out};
  bool worth = loop->apart && (uint64_t)loop->count * loop->step_count >= TEAM_WORK;
  base_team_run(worth ? context->team : NULL, loop->count, LANES, instances_runner(), &run);
}

void model_roll_run(const ModelProgram* program, const ModelContext* context, double* regs,
                    const double* x, double* out, ModelStraightFn* straight) {
  const ModelRoll* roll = program->roll;
  for (uint32_t i = 0; i < roll->loop_count; i++) {
    if (roll->loops[i].before) straight(program, context, roll->loops[i].before, regs);
    run_loop(program, &roll->loops[i], context, regs, x, out);
  }
  if (roll->after) straight(program, context, roll->after, regs);
  Block all;
  all.regs = regs;
  all.x = x;
  all.state_count = x ? program->state_count : 0;
  for (uint32_t i = 0; i < roll->output_count; i++) {
    const ModelOutputRun* run = &roll->outputs[i];
    bool some = run->reg <= all.state_count;
    if (!some) memcpy(out + run->output, regs + run->reg, run->count * sizeof *out);
    for (uint32_t k = 0; some && k < run->count; k++) {
      out[run->output + k] = register_value(&all, run->reg + k);
    }
  }
}

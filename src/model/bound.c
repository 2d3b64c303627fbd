// SPDX-License-Identifier: MIT
//
// Bounds of many outputs at once: the loops of a program (roll.c) on intervals, operation by
// operation over blocks of instances whose bounds lie side by side. What enclose.c computes for
// values, without slopes; outputs are handed over block by block, so that a million relations need
// no more room than one block, but for values that one instance reads from another.
#include "model/interval_quick.h"
#include "model/model.h"

#include <math.h>

#define LANES MODEL_BOUND_LANES
#define KEPT  24  // values of an instance that are outputs or rows of registers

/// Bounds of one value in all instances of a block.
typedef struct Row {
  const double *lo, *hi;
} Row;

typedef struct Bounder {
  const ModelProgram* program;
  const ModelContext* context;
  const double* regs;  // inputs and constants
  ModelInterval t;
  const double *x_lo, *x_hi;
  ModelInterval* room;  // temporaries; NULL: there are none outside of lanes
  uint32_t room_begin;  // register of the first
  ModelBoundFn* take;
  void* user;
} Bounder;

bool model_program_has_bounds(const ModelProgram* program) {
  if (!program->roll || program->solve_count > 0) return false;
  for (uint32_t i = 0; i < program->roll->loop_count; i++) {
    const ModelLoop* loop = &program->roll->loops[i];
    uint32_t kept = 0;
    for (uint32_t s = 0; s < loop->step_count; s++) {
      kept += loop->steps[s].kind != MODEL_TARGET_LANE;
    }
    if (kept > KEPT) return false;
  }
  return true;
}

static uint32_t first_temporary(const ModelProgram* program) {
  return program->const_begin + program->const_count;
}

size_t model_program_bound_room(const ModelProgram* program) {
  const ModelRoll* roll = program->roll;
  bool needed = roll->after != NULL;
  for (uint32_t i = 0; i < roll->loop_count && !needed; i++) {
    const ModelLoop* loop = &roll->loops[i];
    needed = loop->before != NULL;
    for (uint32_t s = 0; s < loop->step_count; s++) {
      needed |= loop->steps[s].kind == MODEL_TARGET_REGISTER;
      needed |= loop->steps[s].copy.kind != MODEL_LANE_NONE;
    }
  }
  return needed ? program->reg_count - first_temporary(program) : 0;
}

// ---- single values ------------------------------------------------------------------------------

static inline ModelInterval register_bounds(const Bounder* b, uint32_t reg) {
  if (reg == 0) return b->t;
  if (reg <= b->program->state_count) return (ModelInterval){b->x_lo[reg - 1], b->x_hi[reg - 1]};
  return reg < b->room_begin ? model_interval_point(b->regs[reg]) : b->room[reg - b->room_begin];
}

static ModelInterval choose(ModelInterval condition, ModelInterval a, ModelInterval b) {
  if (condition.lo > 0.0 || condition.hi < 0.0) return a;
  return condition.lo == 0.0 && condition.hi == 0.0 ? b : model_interval_hull(a, b);
}

static ModelInterval look_up(const Bounder* b, uint32_t op, uint32_t table, ModelInterval a) {
  int order = op == MODEL_OP_TABLE ? 0 : op == MODEL_OP_TABLE_SLOPE ? 1 : 2;
  return model_table_enclose(&b->context->tables[table], a, order);
}

/// Any operation that stands in loops or between them; c is the condition of SELECT.
static ModelInterval apply(const Bounder* b, uint32_t op, uint32_t table, ModelInterval x,
                           ModelInterval y, ModelInterval c) {
  bool usual = is_ordinary(x) && is_ordinary(y);
  switch (op) {
  case MODEL_OP_ADD: return usual ? quick_add(x, y) : model_interval_add(x, y);
  case MODEL_OP_SUB: return usual ? quick_sub(x, y) : model_interval_sub(x, y);
  case MODEL_OP_MUL: return usual ? quick_times(x, y) : model_interval_mul(x, y);
  case MODEL_OP_SQUARE: return is_ordinary(x) ? quick_square(x) : model_interval_apply(op, x, x);
  case MODEL_OP_SQRT:
    if (!is_ordinary(x) || !(x.lo > 1e-150)) return model_interval_apply(op, x, x);
    return outwards(__builtin_sqrt(x.lo), __builtin_sqrt(x.hi));
  case MODEL_OP_SELECT: return choose(c, x, y);
  case MODEL_OP_TABLE:
  case MODEL_OP_TABLE_SLOPE:
  case MODEL_OP_TABLE_CURVE: return look_up(b, op, table, x);
  case MODEL_OP_RANDOM:
  case MODEL_OP_UNIFORM:
  case MODEL_OP_NORMAL:
  case MODEL_OP_NOISE:
  case MODEL_OP_PACK:
  case MODEL_OP_EXPONENTIAL: return (ModelInterval){-HUGE_VAL, HUGE_VAL};
  default: return model_interval_apply(op, x, y);
  }
}

static void bound_straight(const Bounder* b, const ModelInstr* code) {
  for (const ModelInstr* pc = code; pc && pc->op != MODEL_OP_END; pc++) {
    uint32_t operands = model_op_operands(pc->op);
    ModelInterval none = {0.0, 0.0};
    ModelInterval x = operands > 0 ? register_bounds(b, pc->a) : none;
    bool two = operands > 1;
    ModelInterval y = two ? register_bounds(b, pc->b) : x;
    ModelInterval* to = &b->room[pc->dst - b->room_begin];
    *to = apply(b, pc->op, pc->b, x, y, *to);
  }
}

// ---- blocks -------------------------------------------------------------------------------------

typedef struct Block {
  const Bounder* b;
  const ModelLoop* loop;
  uint32_t first, n;
  Row place[MODEL_LOOP_STEPS];
  double lo[MODEL_LOOP_REGISTERS + KEPT][LANES];
  double hi[MODEL_LOOP_REGISTERS + KEPT][LANES];
  double room_lo[3][LANES], room_hi[3][LANES];  // to gather operands in
} Block;

static inline uint32_t lane_register(const ModelLane* lane, uint32_t k) {
  if (lane->kind == MODEL_LANE_LISTED) return lane->list[k];
  return (uint32_t)((int64_t)lane->at + (int64_t)k * lane->stride);
}

/// Bounds of an operand side by side; gathered into rows `which` where they are not.
static Row fetch(Block* block, const ModelLane* lane, uint32_t which) {
  const Bounder* b = block->b;
  double* lo = block->room_lo[which];
  double* hi = block->room_hi[which];
  if (lane->kind == MODEL_LANE_LOCAL) return block->place[lane->at];
  if (lane->kind == MODEL_LANE_FIXED) return (Row){block->lo[lane->at], block->hi[lane->at]};
  if (lane->kind != MODEL_LANE_NONE) {
    bool runs = lane->kind == MODEL_LANE_RUNS;
    const ModelLaneRun* run = runs ? model_lane_run(lane, block->first) : NULL;
    bool adjacent = lane->kind == MODEL_LANE_EVEN && lane->stride == 1;
    uint32_t begin = lane->at + block->first;
    if (adjacent && begin >= 1 && begin + block->n - 1 <= b->program->state_count) {
      return (Row){b->x_lo + begin - 1, b->x_hi + begin - 1};
    }
    for (uint32_t k = 0; k < block->n; k++) {
      uint32_t at = block->first + k;
      if (runs && run[1].begin <= at) run++;
      uint32_t reg = runs ? run->reg + (at - run->begin) : lane_register(lane, at);
      ModelInterval v = register_bounds(b, reg);
      lo[k] = v.lo;
      hi[k] = v.hi;
    }
  }
  return (Row){lo, hi};
}

/// Sum over a block in four parts, which the compiler may keep in vectors.
static inline double sum_of_block(const double* w) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  for (uint32_t k = 0; k < LANES; k += 4) {
    for (uint32_t j = 0; j < 4; j++) {
      sum[j] += w[k + j];
    }
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Whether quick operations may be used on all instances.
static bool are_ordinary(Row a, uint32_t n) {
  double odd[LANES] = {0.0};
  for (uint32_t k = 0; k < n; k++) {
    odd[k] = (a.lo[k] > -ORDINARY ? 0.0 : 1.0) + (a.hi[k] < ORDINARY ? 0.0 : 1.0);
  }
  return sum_of_block(odd) == 0.0;
}

#define EACH(value) \
  for (uint32_t k = 0; k < n; k++) { \
    ModelInterval a = {x.lo[k], x.hi[k]}; \
    ModelInterval b = {y.lo[k], y.hi[k]}; \
    (void)b; \
    ModelInterval v = (value); \
    lo[k] = v.lo; \
    hi[k] = v.hi; \
  } \
  return true

/// Whether a factor in the block is one that products with it do not round.
static bool has_power_of_2(Row x, uint32_t n) {
  bool any = false;
  for (uint32_t k = 0; k < n; k++) {
    any |= x.lo[k] == x.hi[k] && model_is_power_of_2(x.lo[k]);
  }
  return any;
}

/// One of the common operations over a block; false for others.
static bool quick_block(uint32_t op, uint32_t n, Row x, Row y, double* restrict lo,
                        double* restrict hi) {
  bool two = op == MODEL_OP_ADD || op == MODEL_OP_SUB || op == MODEL_OP_MUL;
  if (!two && op != MODEL_OP_SQUARE && op != MODEL_OP_NEG && op != MODEL_OP_MOVE) return false;
  if (!are_ordinary(x, n) || (two && !are_ordinary(y, n))) return false;
  if (!two) y = x;
  switch (op) {
  case MODEL_OP_ADD: EACH(quick_add(a, b));
  case MODEL_OP_SUB: EACH(quick_sub(a, b));
  case MODEL_OP_MUL:
    if (has_power_of_2(x, n) || has_power_of_2(y, n)) {
      EACH(quick_times(a, b));
    }
    EACH(quick_mul(a, b));
  case MODEL_OP_SQUARE: EACH(quick_square(a));
  case MODEL_OP_NEG: EACH(((ModelInterval){-a.hi, -a.lo}));
  default: EACH(a);
  }
}

static void bound_step(Block* block, const ModelLoopStep* step, double* lo, double* hi) {
  Row x = fetch(block, &step->a, 0);
  Row y = step->b.kind == MODEL_LANE_NONE ? x : fetch(block, &step->b, 1);
  if (quick_block(step->op, block->n, x, y, lo, hi)) return;
  Row c = fetch(block, &step->c, 2);
  for (uint32_t k = 0; k < block->n; k++) {
    ModelInterval v = apply(block->b, step->op, step->table, (ModelInterval){x.lo[k], x.hi[k]},
                            (ModelInterval){y.lo[k], y.hi[k]}, (ModelInterval){c.lo[k], c.hi[k]});
    lo[k] = v.lo;
    hi[k] = v.hi;
  }
}

/// Values that are read outside of their instance.
static void keep(const Block* block, const ModelLane* lane, const double* lo, const double* hi) {
  const Bounder* b = block->b;
  for (uint32_t k = 0; k < block->n; k++) {
    b->room[lane_register(lane, block->first + k) - b->room_begin] = (ModelInterval){lo[k], hi[k]};
  }
}

static void bound_block(Block* block) {
  const Bounder* b = block->b;
  uint32_t kept = MODEL_LOOP_REGISTERS;
  for (uint32_t i = 0; i < block->loop->step_count; i++) {
    const ModelLoopStep* step = &block->loop->steps[i];
    uint32_t row = step->kind == MODEL_TARGET_LANE ? step->target : kept++;
    double* lo = block->lo[row];
    double* hi = block->hi[row];
    bound_step(block, step, lo, hi);
    block->place[i] = (Row){lo, hi};
    if (step->kind == MODEL_TARGET_OUTPUT) {
      b->take(b->user, step->target + block->first, block->n, lo, hi);
    }
    if (step->kind == MODEL_TARGET_REGISTER) {
      ModelLane to = {.kind = MODEL_LANE_EVEN, .at = step->target, .stride = 1};
      keep(block, &to, lo, hi);
    }
    if (step->copy.kind != MODEL_LANE_NONE) keep(block, &step->copy, lo, hi);
  }
}

static void bound_loop(const Bounder* b, const ModelLoop* loop) {
  Block block;
  block.b = b;
  block.loop = loop;
  for (uint32_t i = 0; i < loop->fixed_count; i++) {
    ModelInterval v = register_bounds(b, loop->fixed[i]);
    for (uint32_t k = 0; k < LANES; k++) {
      block.lo[i][k] = v.lo;
      block.hi[i][k] = v.hi;
    }
  }
  for (uint32_t first = 0; first < loop->count; first += LANES) {
    block.first = first;
    block.n = loop->count - first < LANES ? loop->count - first : LANES;
    bound_block(&block);
  }
}

/// Outputs that are registers when everything has run.
static void bound_outputs(const Bounder* b, const ModelOutputRun* run) {
  double lo[LANES];
  double hi[LANES];
  for (uint32_t first = 0; first < run->count; first += LANES) {
    uint32_t n = run->count - first < LANES ? run->count - first : LANES;
    for (uint32_t k = 0; k < n; k++) {
      ModelInterval v = register_bounds(b, run->reg + first + k);
      lo[k] = v.lo;
      hi[k] = v.hi;
    }
    b->take(b->user, run->output + first, n, lo, hi);
  }
}

void model_program_bound(const ModelProgram* program, const ModelContext* context,
                         const double* regs, ModelInterval t, const double* x_lo,
                         const double* x_hi, ModelInterval* room, ModelBoundFn* take, void* user) {
  const ModelRoll* roll = program->roll;
  Bounder b = {.program = program,
               .context = context,
               .regs = regs,
               .t = t,
               .x_lo = x_lo,
               .x_hi = x_hi,
               .room = room,
               .room_begin = first_temporary(program),
               .take = take,
               .user = user};
  for (uint32_t i = 0; i < roll->loop_count; i++) {
    bound_straight(&b, roll->loops[i].before);
    bound_loop(&b, &roll->loops[i]);
  }
  bound_straight(&b, roll->after);
  for (uint32_t i = 0; i < roll->output_count; i++) {
    bound_outputs(&b, &roll->outputs[i]);
  }
}

// ---- what rounding leaves open ------------------------------------------------------------------

typedef struct Spread {
  double share;
  double* width;
} Spread;

static double half_width(const Spread* spread, double lo, double hi) {
  double largest = greatest(__builtin_fabs(lo), __builtin_fabs(hi));
  return 0.5 * (hi - lo) + spread->share * largest;
}

static void take_spread(void* user, uint32_t output, uint32_t count, const double* lo,
                        const double* hi) {
  const Spread* spread = user;
  for (uint32_t k = 0; k < count; k++) {
    spread->width[output + k] = half_width(spread, lo[k], hi[k]);
  }
}

size_t model_program_spread_room(const ModelProgram* program) {
  return (size_t)program->reg_count + program->state_count + program->output_count;
}

void model_program_spread(const ModelProgram* program, const ModelContext* context,
                          const double* env, ModelInterval t, const double* x, const double* off,
                          double share, double* width, ModelDual* room) {
  Spread spread = {share, width};
  ModelDual* at = room + program->reg_count;
  ModelDual* out = at + program->state_count;
  if (model_program_has_bounds(program)) {
    double* regs = (double*)room;  // a register and its bounds take three of the four numbers
    double* lo = (double*)at;
    double* hi = lo + program->state_count;
    for (uint32_t i = 0; i < program->state_count; i++) {
      lo[i] = x[i] - off[i];
      hi[i] = x[i] + off[i];
    }
    model_program_bind(program, env, regs);
    model_program_bound(program, context, regs, t, lo, hi,
                        (ModelInterval*)(regs + program->reg_count), take_spread, &spread);
    return;
  }
  for (uint32_t i = 0; i < program->state_count; i++) {
    at[i] = (ModelDual){{x[i] - off[i], x[i] + off[i]}, {0.0, 0.0}};
  }
  model_program_bind_dual(program, env, room);
  model_program_enclose(program, context, room, model_time(t.lo, t.hi), at, out);
  for (uint32_t i = 0; i < program->output_count; i++) {
    width[i] = half_width(&spread, out[i].v.lo, out[i].v.hi);
  }
}

// ---- far from zero ------------------------------------------------------------------------------

bool model_bounds_clear(uint32_t n, const double* restrict lo, const double* restrict hi,
                        const double* restrict exclusion, double* restrict candidate) {
  for (uint32_t k = 0; k < n; k++) {
    candidate[k] = (hi[k] < -exclusion[k] ? 0.0 : 1.0) * (lo[k] > exclusion[k] ? 0.0 : 1.0);
  }
  for (uint32_t k = n; k < LANES; k++) {
    candidate[k] = 0.0;
  }
  return sum_of_block(candidate) == 0.0;
}

// ---- sizes --------------------------------------------------------------------------------------

static inline double size_of(double lo, double hi) {
  return greatest(__builtin_fabs(lo), __builtin_fabs(hi));
}

bool model_bounds_fit(uint32_t n, const double* restrict lo, const double* restrict hi,
                      const double* restrict sizes, double least_share) {
  double misfit[LANES];
  for (uint32_t first = 0; first < n; first += LANES) {
    uint32_t count = n - first < LANES ? n - first : LANES;
    for (uint32_t k = 0; k < count; k++) {
      double size = size_of(lo[first + k], hi[first + k]);
      double made_for = sizes[first + k];
      double small = (size >= least_share * made_for ? 0.0 : 1.0) * (size == 0.0 ? 0.0 : 1.0);
      misfit[k] = (size <= 2.0 * made_for ? 0.0 : 1.0) + small;
    }
    for (uint32_t k = count; k < LANES; k++) {
      misfit[k] = 0.0;
    }
    if (sum_of_block(misfit) != 0.0) return false;
  }
  return true;
}

void model_bounds_widen(uint32_t n, double share, double* restrict lo, double* restrict hi) {
  for (uint32_t k = 0; k < n; k++) {
    double pad = share * size_of(lo[k], hi[k]);
    lo[k] -= pad;
    hi[k] += pad;
  }
}

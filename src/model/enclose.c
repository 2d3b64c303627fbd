// SPDX-License-Identifier: MIT
//
// The tape on enclosures: interval values with interval derivatives in forward mode.
#include "model/interval_quick.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

static const ModelInterval whole_line = {-HUGE_VAL, HUGE_VAL};
static const ModelInterval nothing = {0.0, 0.0};
static const ModelInterval one = {1.0, 1.0};

static ModelInterval apply(uint32_t op, ModelInterval a) {
  return model_interval_apply(op, a, nothing);
}

static bool is_zero(ModelInterval a) {
  return a.lo == 0.0 && a.hi == 0.0;
}

static ModelInterval times(ModelInterval a, ModelInterval b) {
  return model_interval_mul(a, b);
}

/// A number of the table of functions: whole ones are exact.
static ModelInterval constant(double value) {
  if (value == floor(value)) return model_interval_point(value);
  return (ModelInterval){value * (1.0 - DBL_EPSILON), value * (1.0 + DBL_EPSILON)};
}

#define ARG             a
#define SELF            v
#define NUM(x)          constant(x)
#define ADD(x, y)       model_interval_add(x, y)
#define SUB(x, y)       model_interval_sub(x, y)
#define MUL(x, y)       times(x, y)
#define NEG(x)          apply(MODEL_OP_NEG, x)
#define SQUARE(x)       apply(MODEL_OP_SQUARE, x)
#define CALL(name, x)   apply(MODEL_OP_##name, x)
#define POLYGAMMA(n, x) model_interval_apply(MODEL_OP_POLYGAMMA, n, x)
#define FACTOR(x)       (x)
#define DIVISOR(x)      model_interval_div(one, x)

/// f'(a) of a function of one argument, with v = f(a).
static ModelInterval outer_slope(uint32_t op, ModelInterval a, ModelInterval v) {
  ModelInterval two = {2.0, 2.0};
  switch (op) {
  case MODEL_OP_SQUARE: return times(two, a);
  case MODEL_OP_SQRT: return model_interval_div(one, times(two, v));
  case MODEL_OP_RECIP: return apply(MODEL_OP_NEG, apply(MODEL_OP_SQUARE, v));
#define CASE(X, name, word, call, lo, hi, enclosure, slope) \
  case MODEL_OP_##name: return slope;
    BASE_FUNCTIONS(CASE, )
#undef CASE
  default: return whole_line;
  }
}

static ModelInterval abs_slope(ModelDual a) {
  if (a.v.lo > 0.0) return a.d;
  ModelInterval back = apply(MODEL_OP_NEG, a.d);
  return a.v.hi < 0.0 ? back : model_interval_hull(a.d, back);
}

/// Derivative of min or max: of the side that is taken, or of either.
static ModelInterval choice_slope(ModelDual a, ModelDual b, bool min) {
  bool first = min ? a.v.hi < b.v.lo : a.v.lo > b.v.hi;
  bool second = min ? b.v.hi < a.v.lo : b.v.lo > a.v.hi;
  if (first) return a.d;
  return second ? b.d : model_interval_hull(a.d, b.d);
}

static ModelInterval power_slope(ModelDual a, ModelDual b, ModelInterval v) {
  // constant exponent: b a^(b-1) a'
  if (is_zero(b.d)) {
    ModelInterval lower = model_interval_sub(b.v, one);
    // b - 1 is exact for small whole exponents, and has to be: the base may be negative
    if (b.v.lo == b.v.hi && fabs(b.v.lo) < 1e9 && b.v.lo == floor(b.v.lo)) {
      lower = model_interval_point(b.v.lo - 1.0);
      if (lower.lo == 0.0) return a.d;
    }
    return times(times(b.v, model_interval_apply(MODEL_OP_POW, a.v, lower)), a.d);
  }
  // v (b' ln a + b a'/a)
  ModelInterval log_part = times(b.d, apply(MODEL_OP_LN, a.v));
  ModelInterval base_part = times(b.v, model_interval_div(a.d, a.v));
  return times(v, model_interval_add(log_part, base_part));
}

static ModelInterval angle_slope(ModelDual y, ModelDual x) {
  // the angle jumps where y passes zero at the left
  if (x.v.lo <= 0.0 && y.v.lo <= 0.0 && y.v.hi >= 0.0) return whole_line;
  ModelInterval square_sum =
      model_interval_add(apply(MODEL_OP_SQUARE, x.v), apply(MODEL_OP_SQUARE, y.v));
  ModelInterval turn = model_interval_sub(times(x.v, y.d), times(y.v, x.d));
  return model_interval_div(turn, square_sum);
}

/// A step function: at rest unless it jumps inside.
static ModelInterval step_slope(ModelInterval v) {
  return v.lo == v.hi ? nothing : whole_line;
}

/// a - b*floor(a/b): a straight line as long as a/b stays between two whole numbers.
static ModelInterval remainder_slope(ModelDual a, ModelDual b) {
  ModelInterval cell = apply(MODEL_OP_FLOOR, model_interval_div(a.v, b.v));
  if (cell.lo != cell.hi) return whole_line;
  return model_interval_sub(a.d, times(b.d, cell));
}

static ModelInterval binary_slope(uint32_t op, ModelDual a, ModelDual b, ModelInterval v) {
  switch (op) {
  case MODEL_OP_ADD: return model_interval_add(a.d, b.d);
  case MODEL_OP_SUB: return model_interval_sub(a.d, b.d);
  case MODEL_OP_MUL: return model_interval_add(times(a.d, b.v), times(a.v, b.d));
  case MODEL_OP_DIV:
    if (is_zero(b.d)) return model_interval_div(a.d, b.v);
    return model_interval_div(model_interval_sub(a.d, times(v, b.d)), b.v);
  case MODEL_OP_POW: return power_slope(a, b, v);
  case MODEL_OP_ATAN2: return angle_slope(a, b);
  case MODEL_OP_POLYGAMMA: return times(POLYGAMMA(ADD(a.v, one), b.v), b.d);
  case MODEL_OP_MIN: return choice_slope(a, b, true);
  case MODEL_OP_MAX: return choice_slope(a, b, false);
  case MODEL_OP_MOD: return remainder_slope(a, b);
  default: return step_slope(v);
  }
}

/// Nothing can be said about the slope of what is not bounded: there may be a pole inside.
static bool is_bounded(ModelInterval a) {
  return a.lo > -HUGE_VAL && a.hi < HUGE_VAL;
}

static ModelDual evaluate(uint32_t op, ModelDual a, ModelDual b) {
  ModelDual out = {.v = model_interval_apply(op, a.v, b.v), .d = nothing};
  bool rest = is_zero(a.d);
  switch (op) {
  case MODEL_OP_MOVE: out.d = a.d; break;
  case MODEL_OP_NEG: out.d = apply(MODEL_OP_NEG, a.d); break;
  case MODEL_OP_ABS: out.d = abs_slope(a); break;
  case MODEL_OP_FLOOR:
  case MODEL_OP_CEIL:
  case MODEL_OP_SIGN:
  case MODEL_OP_NOT: out.d = step_slope(out.v); break;
  case MODEL_OP_ADD:
  case MODEL_OP_SUB:
  case MODEL_OP_MUL:
  case MODEL_OP_DIV:
  case MODEL_OP_POW:
  case MODEL_OP_ATAN2:
  case MODEL_OP_POLYGAMMA:
  case MODEL_OP_MIN:
  case MODEL_OP_MAX:
  case MODEL_OP_MOD:
  case MODEL_OP_LT:
  case MODEL_OP_LE:
  case MODEL_OP_GT:
  case MODEL_OP_GE:
  case MODEL_OP_EQ:
  case MODEL_OP_NE:
  case MODEL_OP_AND:
  case MODEL_OP_OR:
    if (!rest || !is_zero(b.d)) out.d = binary_slope(op, a, b, out.v);
    break;
  default:
    if (!rest) out.d = times(outer_slope(op, a.v, out.v), a.d);
    break;
  }
  if (!is_bounded(out.v)) out.d = whole_line;
  return out;
}

// ---- the common operations, inlined ------------------------------------------------------------

/// Derivative of a product; what rests adds nothing, not even rounding.
static inline ModelInterval quick_product_slope(ModelDual a, ModelDual b) {
  if (is_zero(b.d)) return is_zero(a.d) ? nothing : quick_times(a.d, b.v);
  if (is_zero(a.d)) return quick_times(a.v, b.d);
  return quick_add(quick_times(a.d, b.v), quick_times(a.v, b.d));
}

/// Root of what is positive.
static inline ModelDual quick_sqrt(ModelDual a) {
  ModelInterval root = outwards(__builtin_sqrt(a.v.lo), __builtin_sqrt(a.v.hi));
  ModelInterval half = outwards(0.5 / root.hi, 0.5 / root.lo);
  return (ModelDual){root, is_zero(a.d) ? nothing : quick_times(half, a.d)};
}

/// One of the common operations; false for others, and where an operand is out of the ordinary.
static inline bool quick_step(uint32_t op, const ModelDual* a, const ModelDual* b, ModelDual* out) {
  bool two = op == MODEL_OP_ADD || op == MODEL_OP_SUB || op == MODEL_OP_MUL;
  if (!two && op != MODEL_OP_SQUARE && op != MODEL_OP_NEG && op != MODEL_OP_SQRT) return false;
  if (!is_ordinary(a->v) || !is_ordinary(a->d)) return false;
  if (op == MODEL_OP_SQUARE) {
    ModelInterval twice = {2.0 * a->v.lo, 2.0 * a->v.hi};
    *out = (ModelDual){quick_square(a->v), is_zero(a->d) ? nothing : quick_times(twice, a->d)};
    return true;
  }
  if (op == MODEL_OP_NEG) {
    *out = (ModelDual){{-a->v.hi, -a->v.lo}, {-a->d.hi, -a->d.lo}};
    return true;
  }
  if (op == MODEL_OP_SQRT) {
    if (!(a->v.lo > 1e-150)) return false;
    *out = quick_sqrt(*a);
    return true;
  }
  if (!is_ordinary(b->v) || !is_ordinary(b->d)) return false;
  ModelDual x = *a;
  ModelDual y = *b;
  if (op == MODEL_OP_MUL) {
    *out = (ModelDual){quick_times(x.v, y.v), quick_product_slope(x, y)};
  } else if (op == MODEL_OP_ADD) {
    ModelInterval d = is_zero(x.d) ? y.d : is_zero(y.d) ? x.d : quick_add(x.d, y.d);
    *out = (ModelDual){quick_add(x.v, y.v), d};
  } else {
    ModelInterval d = is_zero(y.d) ? x.d : quick_sub(x.d, y.d);
    *out = (ModelDual){quick_sub(x.v, y.v), d};
  }
  return true;
}

static ModelDual select(ModelDual condition, ModelDual a, ModelDual b) {
  if (condition.v.lo > 0.0 || condition.v.hi < 0.0) return a;
  if (is_zero(condition.v)) return b;
  // undecided: the values of either side; the choice may jump, and then there is no slope
  return (ModelDual){model_interval_hull(a.v, b.v), whole_line};
}

ModelDual model_dual_fixed(double value) {
  ModelInterval v = model_interval_point(value);
  return (ModelDual){v, is_bounded(v) ? nothing : whole_line};
}

void model_program_bind_dual(const ModelProgram* program, const double* env, ModelDual* regs) {
  for (uint32_t i = 0; i < program->const_count; i++) {
    regs[program->const_begin + i] = model_dual_fixed(program->consts[i]);
  }
  for (uint32_t i = 0; i < program->input_count; i++) {
    regs[program->inputs[i].reg] = model_dual_fixed(env[program->inputs[i].env]);
  }
}

/// Random numbers have no enclosure. Tables: values and slopes over the arguments between points.
static ModelDual look_up(const ModelInstr* pc, const ModelContext* context, ModelDual a) {
  int order = pc->op == MODEL_OP_TABLE ? 0 : pc->op == MODEL_OP_TABLE_SLOPE ? 1 : 2;
  const ModelTable* table = &context->tables[pc->b];
  ModelDual out = {.v = model_table_enclose(table, a.v, order), .d = nothing};
  if (!is_zero(a.d)) {
    // slopes of a linear table, and curvatures of a cubic one, jump at its points
    bool smooth = order == 0 || (order == 1 && table->slope) || model_table_one_segment(table, a.v);
    out.d = smooth ? times(model_table_enclose(table, a.v, order + 1), a.d) : whole_line;
  }
  if (!is_bounded(out.v)) out.d = whole_line;
  return out;
}

typedef struct DualBody {
  const ModelProgram* program;
  const ModelContext* context;
  ModelDual* regs;
  uint32_t begin, end;
} DualBody;

static void run_dual(void* user);

/// Straight code that computes a solution encloses it, whatever its checks would say of numbers:
/// divisors that can be 0 leave nothing bounded.
static bool accept_dual(const ModelSolve* solve, ModelDual* regs) {
  if (!solve->offers) return false;
  for (uint32_t k = 0; k < solve->count; k++) {
    if (!is_bounded(regs[solve->offers[k]].v)) return false;
  }
  for (uint32_t k = 0; k < solve->count; k++) {
    regs[solve->unknowns[k]] = regs[solve->offers[k]];
  }
  return true;
}

/// Bounds for what a block is solved for; the body is run as often as that takes.
static void enclose_block(const DualBody* outer, const ModelInstr* pc) {
  const ModelSolve* solve = &outer->program->solves[pc->dst];
  uint32_t at = (uint32_t)(pc - outer->program->code);
  if (accept_dual(solve, outer->regs)) return;
  DualBody body = *outer;
  body.begin = at + 1;
  body.end = at + pc->a;  // without its end
  if (model_solve_enclose(solve, outer->regs, run_dual, &body)) return;
  for (uint32_t k = 0; k < solve->count; k++) {
    outer->regs[solve->unknowns[k]] = (ModelDual){whole_line, whole_line};
  }
  // other values of the body may be read later
  run_dual(&body);
}

/// Any operation but SOLVE.
static void step_dual(const ModelInstr* pc, const ModelContext* context, ModelDual* regs) {
  if (quick_step(pc->op, &regs[pc->a], &regs[pc->b], &regs[pc->dst])) return;
  switch (pc->op) {
  case MODEL_OP_SELECT: regs[pc->dst] = select(regs[pc->dst], regs[pc->a], regs[pc->b]); break;
  case MODEL_OP_TABLE:
  case MODEL_OP_TABLE_SLOPE:
  case MODEL_OP_TABLE_CURVE: regs[pc->dst] = look_up(pc, context, regs[pc->a]); break;
  case MODEL_OP_RANDOM:
  case MODEL_OP_UNIFORM:
  case MODEL_OP_NORMAL:
  case MODEL_OP_NOISE:
  case MODEL_OP_PACK:
  case MODEL_OP_EXPONENTIAL: regs[pc->dst] = (ModelDual){whole_line, whole_line}; break;
  // one operand: the second register is not to be read
  default:
    regs[pc->dst] =
        evaluate(pc->op, regs[pc->a], model_op_operands(pc->op) > 1 ? regs[pc->b] : regs[pc->a]);
    break;
  }
}

static void run_dual(void* user) {
  const DualBody* body = user;
  for (uint32_t i = body->begin; i < body->end; i++) {
    const ModelInstr* pc = &body->program->code[i];
    if (pc->op == MODEL_OP_SOLVE) {
      enclose_block(body, pc);
      i += pc->a;
    } else {
      step_dual(pc, body->context, body->regs);
    }
  }
}

void model_program_enclose(const ModelProgram* program, const ModelContext* context,
                           ModelDual* regs, ModelDual time, const ModelDual* x, ModelDual* out) {
  regs[0] = time;
  for (uint32_t i = 0; i < program->state_count; i++) {
    regs[1 + i] = x[i];
  }
  DualBody all = {program, context, regs, 0, program->code_count};
  run_dual(&all);
  for (uint32_t i = 0; i < program->output_count; i++) {
    out[i] = regs[program->outputs[i]];
  }
}

ModelDual model_program_enclose_composed(const ModelProgram* program, const ModelContext* context,
                                         ModelDual* regs, const ModelComposed* composed,
                                         uint32_t output, ModelDual argument) {
  for (uint32_t i = 0; i < composed->before; i++) {
    step_dual(&program->code[composed->instrs[i]], context, regs);
  }
  regs[composed->reg] = argument;
  for (uint32_t i = composed->before; i < composed->instr_count; i++) {
    step_dual(&program->code[composed->instrs[i]], context, regs);
  }
  return regs[program->outputs[output]];
}

/// Fetch an operand that is a state.
static void fetch_state(const ModelProgram* program, ModelDual* regs, ModelStateDualFn* state,
                        const void* user, uint32_t reg) {
  if (reg >= 1 && reg <= program->state_count) regs[reg] = state(user, reg - 1);
}

bool model_program_enclose_output(const ModelProgram* program, const ModelContext* context,
                                  ModelDual* regs, ModelDual time, ModelStateDualFn* state,
                                  const void* user, uint32_t output, ModelDual* value) {
  const ModelSlices* slices = program->slices;
  if (!slices || slices->whole[output]) return false;
  regs[0] = time;
  for (uint32_t i = slices->begin[output]; i < slices->begin[output + 1]; i++) {
    const ModelInstr* pc = &program->code[slices->instrs[i]];
    uint32_t operands = model_op_operands(pc->op);
    if (operands > 0) fetch_state(program, regs, state, user, pc->a);
    if (operands > 1 && pc->b != pc->a) fetch_state(program, regs, state, user, pc->b);
    step_dual(pc, context, regs);
  }
  fetch_state(program, regs, state, user, program->outputs[output]);
  *value = regs[program->outputs[output]];
  return true;
}

static ModelDual state_in_row(const void* user, uint32_t state) {
  return ((const ModelDual*)user)[state];
}

void model_program_enclose_some(const ModelProgram* program, const ModelContext* context,
                                ModelDual* regs, ModelDual time, const ModelDual* x,
                                const uint32_t* outputs, uint32_t count, ModelDual* out) {
  bool alone = true;
  for (uint32_t i = 0; i < count && alone; i++) {
    alone = model_program_enclose_output(program, context, regs, time, state_in_row, x, outputs[i],
                                         &out[outputs[i]]);
  }
  if (!alone) model_program_enclose(program, context, regs, time, x, out);
}

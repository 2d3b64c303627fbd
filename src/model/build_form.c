// SPDX-License-Identifier: MIT
//
// Which outputs of a program are functions of one polynomial of time and states: the instructions
// of an output are walked through in order, each register with the degree of its content, until a
// value is no polynomial any more; from there on everything that moves must come from that one.
#include "model/build_internal.h"

#define SLICE_MAX     48    // instructions of an output
#define OPS_MAX       24    // of a polynomial
#define DEGREE_MAX    4     // in time and states together
#define OUTPUTS_MAX   1000  // outputs that are looked at
#define NO_POLYNOMIAL 255

/// What is known about the content of registers and about the instructions looked at.
typedef struct Walk {
  ModelBuild* build;
  const ModelProgram* program;
  uint8_t* degree;  // per register; 0: fixed
  uint32_t* value;  // per register: the value in it, see value_of()
  uint32_t* base;   // per register without a degree: the polynomial it is a function of
  const uint32_t* instrs;
  uint32_t count;
  uint8_t result[SLICE_MAX];       // degree of what each instruction computed
  uint32_t operand[SLICE_MAX][2];  // values that it read
  BASE_VEC(ModelPolynomial) polynomials;
  BASE_VEC(uint32_t) bases;  // values that they are
} Walk;

/// Values are numbered: places in the list of instructions, then registers that nothing wrote.
static uint32_t instr_value(const Walk* walk, uint32_t place) {
  return walk->instrs[place];
}

static uint32_t leaf_value(const Walk* walk, uint32_t reg) {
  return walk->program->code_count + reg;
}

static bool is_leaf(const Walk* walk, uint32_t value) {
  return value >= walk->program->code_count;
}

/// Degree of a result; NO_POLYNOMIAL where it is none.
static uint8_t degree_of(uint32_t op, uint8_t a, uint8_t b) {
  if (a == NO_POLYNOMIAL || b == NO_POLYNOMIAL) return NO_POLYNOMIAL;
  uint8_t higher = a > b ? a : b;
  uint8_t degree = NO_POLYNOMIAL;
  switch (op) {
  case MODEL_OP_MOVE:
  case MODEL_OP_NEG: degree = a; break;
  case MODEL_OP_ADD:
  case MODEL_OP_SUB: degree = higher; break;
  case MODEL_OP_MUL: degree = (uint8_t)(a + b); break;
  case MODEL_OP_SQUARE: degree = (uint8_t)(2 * a); break;
  case MODEL_OP_DIV: degree = b == 0 ? a : NO_POLYNOMIAL; break;
  default: break;
  }
  return degree > DEGREE_MAX ? NO_POLYNOMIAL : degree;
}

/// The polynomial behind an operand; MODEL_NONE for one that is fixed.
static uint32_t base_of(const Walk* walk, uint32_t reg) {
  if (walk->degree[reg] == NO_POLYNOMIAL) return walk->base[reg];
  return walk->degree[reg] > 0 ? walk->value[reg] : MODEL_NONE;
}

/// One instruction; false when its result depends on more than one polynomial, or cannot be
/// treated.
static bool walk_instr(Walk* walk, uint32_t place) {
  const ModelInstr* pc = &walk->program->code[walk->instrs[place]];
  uint32_t operands = model_op_operands(pc->op);
  if (operands == 0 || pc->op == MODEL_OP_SOLVE) return false;
  if (pc->op == MODEL_OP_UNIFORM || pc->op == MODEL_OP_NORMAL || pc->op == MODEL_OP_EXPONENTIAL) {
    return false;
  }
  uint32_t second = operands > 1 ? pc->b : pc->a;
  uint32_t read[3] = {pc->a, second, pc->op == MODEL_OP_SELECT ? pc->dst : pc->a};
  bool fixed = true;
  uint32_t base = MODEL_NONE;
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t of = base_of(walk, read[k]);
    fixed &= walk->degree[read[k]] == 0;
    if (of == MODEL_NONE) continue;
    if (base != MODEL_NONE && base != of) base = MODEL_NONE - 1;
    if (base == MODEL_NONE) base = of;
  }
  uint8_t b = operands > 1 ? walk->degree[second] : 0;
  uint8_t degree = fixed ? 0 : degree_of(pc->op, walk->degree[pc->a], b);
  if (degree == NO_POLYNOMIAL && base == MODEL_NONE - 1) return false;
  walk->operand[place][0] = walk->value[pc->a];
  walk->operand[place][1] = walk->value[second];
  walk->result[place] = degree;
  walk->degree[pc->dst] = degree;
  walk->value[pc->dst] = instr_value(walk, place);
  walk->base[pc->dst] = base;
  return true;
}

/// A value as an operand, if it is a leaf or was computed by one of the operations so far.
static ModelFormOperand operand_of(const Walk* walk, uint32_t value, const uint32_t* computed) {
  if (!is_leaf(walk, value)) {
    uint32_t at = 0;
    while (walk->instrs[computed[at]] != value) {
      at++;
    }
    return (ModelFormOperand){MODEL_FORM_VALUE, at};
  }
  uint32_t reg = value - walk->program->code_count;
  if (reg == 0) return (ModelFormOperand){MODEL_FORM_TIME, 0};
  if (reg <= walk->program->state_count) return (ModelFormOperand){MODEL_FORM_STATE, reg - 1};
  return (ModelFormOperand){MODEL_FORM_FIXED, reg};
}

/// Mark the instructions that a value needs.
static void mark_needed(const Walk* walk, uint32_t value, bool* needed) {
  uint32_t place = walk->count;
  for (uint32_t i = 0; i < walk->count; i++) {
    if (!is_leaf(walk, value) && walk->instrs[i] == value) place = i;
  }
  if (place == walk->count) return;
  needed[place] = true;
  for (uint32_t i = place + 1; i-- > 0;) {
    if (!needed[i]) continue;
    for (uint32_t j = 0; j < i; j++) {
      uint32_t at = walk->instrs[j];
      needed[j] |= at == walk->operand[i][0] || at == walk->operand[i][1];
    }
  }
}

/// Number of the polynomial that is a value; made when it is first met. MODEL_NONE: too long, or
/// with operations on what is fixed that polynomials do not have.
static uint32_t polynomial_of(Walk* walk, uint32_t value, uint8_t degree) {
  for (uint32_t i = 0; i < walk->bases.count; i++) {
    if (walk->bases.data[i] == value) return i;
  }
  bool needed[SLICE_MAX] = {false};
  uint32_t computed[OPS_MAX];
  mark_needed(walk, value, needed);
  ModelFormOp ops[OPS_MAX];
  uint32_t count = 0;
  for (uint32_t i = 0; i < walk->count; i++) {
    if (!needed[i]) continue;
    uint32_t op = walk->program->code[walk->instrs[i]].op;
    if (count == OPS_MAX || degree_of(op, 0, 0) == NO_POLYNOMIAL) return MODEL_NONE;
    ops[count] = (ModelFormOp){.op = op,
                               .a = operand_of(walk, walk->operand[i][0], computed),
                               .b = operand_of(walk, walk->operand[i][1], computed)};
    computed[count++] = i;
  }
  ModelPolynomial made = {.op_count = count, .degree = degree};
  made.result = operand_of(walk, value, computed);
  ModelFormOp* kept = ARENA_ARRAY(&walk->build->arena, ModelFormOp, count);
  for (uint32_t i = 0; i < count; i++) {
    kept[i] = ops[i];
  }
  made.ops = kept;
  base_vec_push(&walk->build->scratch, &walk->polynomials, made);
  base_vec_push(&walk->build->scratch, &walk->bases, value);
  return walk->polynomials.count - 1;
}

/// What is left of an output when its polynomial is known.
static ModelComposed compose(Walk* walk, uint32_t reg) {
  ModelComposed composed = {.polynomial = MODEL_NONE};
  bool whole = walk->degree[reg] != NO_POLYNOMIAL;
  uint32_t base = whole ? walk->value[reg] : walk->base[reg];
  if (base == MODEL_NONE) return composed;
  uint8_t degree = 1;
  composed.reg = base - walk->program->code_count;  // a leaf
  for (uint32_t i = 0; i < walk->count; i++) {
    if (is_leaf(walk, base) || walk->instrs[i] != base) continue;
    degree = walk->result[i];
    composed.reg = walk->program->code[base].dst;
  }
  uint32_t polynomial = polynomial_of(walk, base, degree);
  if (polynomial == MODEL_NONE) return composed;
  uint32_t* instrs = ARENA_ARRAY(&walk->build->arena, uint32_t, walk->count);
  for (uint32_t i = 0; i < walk->count; i++) {
    bool moves = walk->result[i] != 0 && walk->result[i] != NO_POLYNOMIAL;
    if (moves) continue;
    // registers are used again: the polynomial is put in place when the program has it
    if (!is_leaf(walk, base) && walk->instrs[i] < base) composed.before++;
    instrs[composed.instr_count++] = walk->instrs[i];
  }
  composed.instrs = instrs;
  composed.polynomial = polynomial;
  return composed;
}

static ModelComposed look_at(Walk* walk, uint32_t output) {
  ModelComposed none = {.polynomial = MODEL_NONE};
  const ModelProgram* program = walk->program;
  const ModelSlices* slices = program->slices;
  if (slices && slices->whole[output]) return none;
  uint32_t all[SLICE_MAX];
  if (slices) {
    walk->instrs = slices->instrs + slices->begin[output];
    walk->count = slices->begin[output + 1] - slices->begin[output];
  } else {
    // a single output needs everything
    walk->count = program->code_count;
    walk->instrs = all;
  }
  if (walk->count > SLICE_MAX) return none;
  for (uint32_t i = 0; !slices && i < walk->count; i++) {
    all[i] = i;
  }
  for (uint32_t i = 0; i < walk->count; i++) {
    if (!walk_instr(walk, i)) return none;
  }
  return compose(walk, program->outputs[output]);
}

const ModelForms* build_forms(ModelBuild* build, const ModelProgram* program,
                              const uint8_t* classes) {
  if (program->solve_count > 0 || (!program->slices && program->output_count != 1)) return NULL;
  Arena* scratch = &build->scratch;
  Walk walk = {.build = build,
               .program = program,
               .degree = ARENA_ARRAY(scratch, uint8_t, program->reg_count),
               .value = ARENA_ARRAY(scratch, uint32_t, program->reg_count),
               .base = ARENA_ARRAY(scratch, uint32_t, program->reg_count)};
  // registers of temporaries are written before they are read
  for (uint32_t reg = 0; reg < program->reg_count; reg++) {
    walk.degree[reg] = reg <= program->state_count ? 1 : 0;
    walk.value[reg] = leaf_value(&walk, reg);
    walk.base[reg] = MODEL_NONE;
  }
  ModelComposed* outputs = NULL;
  uint32_t looked = 0;
  for (uint32_t i = 0; i < program->output_count && looked < OUTPUTS_MAX; i++) {
    if (classes[i] != MODEL_CLASS_OTHER) continue;
    looked++;
    ModelComposed composed = look_at(&walk, i);
    if (composed.polynomial == MODEL_NONE) continue;
    if (!outputs) {
      outputs = ARENA_ARRAY(&build->arena, ModelComposed, program->output_count);
      for (uint32_t k = 0; k < program->output_count; k++) {
        outputs[k].polynomial = MODEL_NONE;
      }
    }
    outputs[i] = composed;
  }
  if (!outputs) return NULL;
  ModelPolynomial* polynomials =
      ARENA_ARRAY(&build->arena, ModelPolynomial, walk.polynomials.count);
  for (uint32_t i = 0; i < walk.polynomials.count; i++) {
    polynomials[i] = walk.polynomials.data[i];
  }
  ModelForms* forms = ARENA_NEW(&build->arena, ModelForms);
  *forms = (ModelForms){
      .polynomials = polynomials, .polynomial_count = walk.polynomials.count, .outputs = outputs};
  return forms;
}

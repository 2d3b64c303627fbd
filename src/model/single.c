// SPDX-License-Identifier: MIT
//
// Programs of single outputs by shape.
//
// A slice of a tape (ModelSlices) names instructions that lie anywhere in it, on registers that lie
// anywhere in its file: for one equation of ten thousand that is a walk through memory. Equations
// of one shape have the same instructions up to the names of their registers. So each slice is
// written once more on a few registers of its own, numbered in the order of their use, and equal
// ones become one; what is left per output is a row that says which registers of the tape go into
// the first of them. Same instructions in the same order, hence same bits.
#include "model/model.h"

#include <string.h>

/// A slice in its own registers.
typedef struct Draft {
  ModelInstr code[MODEL_SINGLE_LENGTH + 1];
  uint32_t length;
  uint32_t leaves[MODEL_SINGLE_REGS];  // registers of the tape: states first
  uint32_t state_count, leaf_count;
  uint32_t output;
} Draft;

typedef struct Maker {
  const ModelProgram* program;
  const SltAllocator* allocator;
  ModelSingles* out;
  uint32_t* own;    // per register of the tape: its number in the draft...
  uint32_t* stamp;  // ... if this is the output looked at, plus 1
  uint32_t now;
  uint32_t* slots;  // hash of a draft -> shape + 1; a power of two
  size_t slot_count;
  uint32_t code_count, row_count;
} Maker;

static bool is_state(const ModelProgram* program, uint32_t reg) {
  return reg >= 1 && reg <= program->state_count;
}

/// A register that is read before the slice has written it.
static bool note_leaf(Maker* m, Draft* draft, uint32_t reg) {
  if (m->stamp[reg] == m->now) return true;
  if (draft->leaf_count == MODEL_SINGLE_REGS - MODEL_SINGLE_LENGTH) return false;
  m->stamp[reg] = m->now;
  draft->leaves[draft->leaf_count++] = reg;
  return true;
}

static bool find_leaves(Maker* m, Draft* draft, uint32_t output) {
  const ModelProgram* p = m->program;
  const ModelSlices* slices = p->slices;
  m->now++;
  draft->leaf_count = 0;
  for (uint32_t i = slices->begin[output]; i < slices->begin[output + 1]; i++) {
    const ModelInstr* pc = &p->code[slices->instrs[i]];
    uint32_t operands = model_op_operands(pc->op);
    if (operands > 0 && !note_leaf(m, draft, pc->a)) return false;
    if (operands > 1 && !note_leaf(m, draft, pc->b)) return false;
    if (pc->op == MODEL_OP_SELECT && !note_leaf(m, draft, pc->dst)) return false;
    m->stamp[pc->dst] = m->now;
  }
  return note_leaf(m, draft, p->outputs[output]);
}

/// States before the others, each in the order of use; numbers accordingly.
static void order_leaves(Maker* m, Draft* draft) {
  uint32_t others[MODEL_SINGLE_REGS];
  uint32_t other_count = 0;
  draft->state_count = 0;
  for (uint32_t i = 0; i < draft->leaf_count; i++) {
    uint32_t reg = draft->leaves[i];
    if (is_state(m->program, reg)) {
      draft->leaves[draft->state_count++] = reg;
    } else {
      others[other_count++] = reg;
    }
  }
  memcpy(draft->leaves + draft->state_count, others, other_count * sizeof *others);
  for (uint32_t i = 0; i < draft->leaf_count; i++) {
    m->own[draft->leaves[i]] = i;
  }
}

static bool names_table(uint32_t op) {
  return op == MODEL_OP_TABLE || op == MODEL_OP_TABLE_SLOPE || op == MODEL_OP_TABLE_CURVE;
}

/// Every instruction writes a register of its own, so that how the tape reuses its registers does
/// not tell instances apart.
static bool make_draft(Maker* m, Draft* draft, uint32_t output) {
  const ModelProgram* p = m->program;
  const ModelSlices* slices = p->slices;
  uint32_t begin = slices->begin[output];
  if (slices->whole[output]) return false;
  draft->length = slices->begin[output + 1] - begin;
  if (draft->length > MODEL_SINGLE_LENGTH || !find_leaves(m, draft, output)) return false;
  order_leaves(m, draft);
  for (uint32_t i = 0; i < draft->length; i++) {
    const ModelInstr* pc = &p->code[slices->instrs[begin + i]];
    uint32_t operands = model_op_operands(pc->op);
    ModelInstr* to = &draft->code[i];
    *to = (ModelInstr){.op = pc->op, .b = names_table(pc->op) ? pc->b : 0};
    if (operands > 0) to->a = m->own[pc->a];
    if (operands > 1) to->b = m->own[pc->b];
    if (pc->op == MODEL_OP_SELECT) {
      to->dst = m->own[pc->dst];  // the condition stands there
      continue;
    }
    to->dst = draft->leaf_count + i;
    m->own[pc->dst] = to->dst;
  }
  draft->code[draft->length] = (ModelInstr){.op = MODEL_OP_END};
  draft->output = m->own[p->outputs[output]];
  return true;
}

static size_t draft_hash(const Draft* draft) {
  uint64_t hash = draft->leaf_count * 31u + draft->state_count;
  for (uint32_t i = 0; i < draft->length; i++) {
    const ModelInstr* pc = &draft->code[i];
    hash =
        (hash ^ pc->op ^ ((uint64_t)pc->a << 16) ^ ((uint64_t)pc->b << 32)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return (size_t)hash;
}

static bool is_shape(const ModelSingles* s, const ModelSingleShape* shape, const Draft* draft) {
  return shape->length == draft->length && shape->leaf_count == draft->leaf_count &&
         shape->state_count == draft->state_count && shape->output == draft->output &&
         memcmp(s->code + shape->code, draft->code, draft->length * sizeof *draft->code) == 0;
}

/// Room for `count` elements, doubled when it grows.
static bool grow(const SltAllocator* a, void** data, size_t* capacity, size_t count, size_t size) {
  if (count <= *capacity) return true;
  size_t wanted = *capacity ? *capacity : 64;
  while (wanted < count) {
    wanted *= 2;
  }
  void* larger = base_realloc(a, *data, *capacity * size, base_mul_size(wanted, size));
  if (!larger) return false;
  *data = larger;
  *capacity = wanted;
  return true;
}

/// Number of the draft's shape, a new one if there was none; MODEL_NONE without memory.
static uint32_t shape_of(Maker* m, const Draft* draft) {
  ModelSingles* s = m->out;
  size_t at = draft_hash(draft) & (m->slot_count - 1);
  for (; m->slots[at]; at = (at + 1) & (m->slot_count - 1)) {
    if (is_shape(s, &s->shapes[m->slots[at] - 1], draft)) return m->slots[at] - 1;
  }
  size_t code_end = (size_t)m->code_count + draft->length + 1;
  if (!grow(m->allocator, (void**)&s->code, &s->code_capacity, code_end, sizeof *s->code) ||
      !grow(m->allocator, (void**)&s->shapes, &s->shape_capacity, (size_t)s->shape_count + 1,
            sizeof *s->shapes)) {
    return MODEL_NONE;
  }
  memcpy(s->code + m->code_count, draft->code, ((size_t)draft->length + 1) * sizeof *s->code);
  s->shapes[s->shape_count] = (ModelSingleShape){.code = m->code_count,
                                                 .state_count = draft->state_count,
                                                 .leaf_count = draft->leaf_count,
                                                 .output = draft->output,
                                                 .length = draft->length};
  m->code_count = (uint32_t)code_end;
  m->slots[at] = ++s->shape_count;
  return s->shape_count - 1;
}

static bool add_output(Maker* m, uint32_t output) {
  ModelSingles* s = m->out;
  Draft draft;
  s->shape[output] = MODEL_NONE;
  s->row_begin[output] = m->row_count;
  if (!make_draft(m, &draft, output)) return true;
  size_t row_end = (size_t)m->row_count + draft.leaf_count;
  uint32_t shape = shape_of(m, &draft);
  if (shape == MODEL_NONE || row_end > UINT32_MAX ||
      !grow(m->allocator, (void**)&s->rows, &s->row_capacity, row_end, sizeof *s->rows)) {
    return false;
  }
  s->shape[output] = shape;
  memcpy(s->rows + m->row_count, draft.leaves, draft.leaf_count * sizeof *s->rows);
  m->row_count = (uint32_t)row_end;
  return true;
}

bool model_singles_init(ModelSingles* singles, const ModelProgram* program, const SltAllocator* a) {
  *singles = (ModelSingles){0};
  if (!program->slices) return true;
  uint32_t count = program->output_count;
  Maker maker = {.program = program, .allocator = a, .out = singles, .slot_count = 64};
  while (maker.slot_count < 2 * (size_t)count) {
    maker.slot_count *= 2;
  }
  size_t regs = program->reg_count;
  singles->shape = base_alloc(a, ((size_t)count + 1) * sizeof *singles->shape);
  singles->row_begin = base_alloc(a, ((size_t)count + 1) * sizeof *singles->row_begin);
  singles->output_count = count;
  maker.own = base_alloc(a, (regs + 1) * sizeof *maker.own);
  maker.stamp = base_alloc(a, (regs + 1) * sizeof *maker.stamp);
  maker.slots = base_alloc(a, maker.slot_count * sizeof *maker.slots);
  bool made = singles->shape && singles->row_begin && maker.own && maker.stamp && maker.slots;
  for (uint32_t k = 0; made && k < count; k++) {
    made = add_output(&maker, k);
  }
  if (maker.own) base_free(a, maker.own, (regs + 1) * sizeof *maker.own);
  if (maker.stamp) base_free(a, maker.stamp, (regs + 1) * sizeof *maker.stamp);
  if (maker.slots) base_free(a, maker.slots, maker.slot_count * sizeof *maker.slots);
  if (!made) model_singles_clear(singles, a);
  return made;
}

void model_singles_clear(ModelSingles* singles, const SltAllocator* a) {
  size_t per_output = ((size_t)singles->output_count + 1) * sizeof(uint32_t);
  if (singles->shape) base_free(a, singles->shape, per_output);
  if (singles->row_begin) base_free(a, singles->row_begin, per_output);
  if (singles->code) base_free(a, singles->code, singles->code_capacity * sizeof *singles->code);
  if (singles->shapes) {
    base_free(a, singles->shapes, singles->shape_capacity * sizeof *singles->shapes);
  }
  if (singles->rows) base_free(a, singles->rows, singles->row_capacity * sizeof *singles->rows);
  *singles = (ModelSingles){0};
}

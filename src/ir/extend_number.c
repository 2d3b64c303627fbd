// SPDX-License-Identifier: MIT
//
// Numbers of an extended model. They stand in order of size, so the place of one depends on all
// others: the values that loops count through, and what lies between them.
#include "ir/extend.h"

#include <math.h>
#include <stdlib.h>

/// first, first + 1, ... , last; or one value that is not whole.
typedef struct Piece {
  uint64_t key;  // of `first`: its place in the order of numbers
  double first;
  uint32_t last;  // of whole ones
  bool whole;
  uint32_t place;  // of `first` among the numbers of the model
} Piece;

typedef BASE_VEC(Piece) Pieces;

/// -NaN, -Inf, ..., -0, 0, ..., Inf, NaN: as canonical order has it.
static uint64_t number_key(double value) {
  uint64_t bits = ir_double_bits(value);
  uint64_t sign = UINT64_C(1) << 63;
  return bits & sign ? ~bits : bits | sign;
}

static int compare_pieces(const void* a, const void* b) {
  const Piece* x = a;
  const Piece* y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return 0;
}

static double odd_value(const ExtendTexts* texts, uint32_t id) {
  double value = 0.0;
  memcpy(&value, names_get(&texts->odd, id).data, sizeof value);
  return value;
}

static Piece whole_piece(uint32_t first, uint32_t last) {
  return (Piece){.key = number_key(first), .first = (double)first, .last = last, .whole = true};
}

/// Values of one leaf in all blocks of a run. False when they do not lie side by side.
static bool add_values(const ExtendTexts* texts, Pieces* pieces, const ExtendRun* run,
                       uint32_t row) {
  IrLeaf leaf;
  memcpy(&leaf, run->base + 2 * (size_t)row, sizeof leaf);
  if (leaf.kind != IR_LEAF_NUMBER || run->count == 0) return true;
  uint32_t step = run->step[2 * (size_t)row];
  if (leaf.pad == EXTEND_ODD) {
    double value = odd_value(texts, leaf.id);
    base_vec_push(texts->arena, pieces, (Piece){.key = number_key(value), .first = value});
    return step == 0;
  }
  uint32_t last = leaf.id + step * (run->count - 1);
  bool counts = step == 0 || step == 1 || step == UINT32_MAX;
  if (!counts || leaf.id > INT32_MAX || last > INT32_MAX) return false;
  bool up = leaf.id <= last;
  base_vec_push(texts->arena, pieces, whole_piece(up ? leaf.id : last, up ? last : leaf.id));
  return true;
}

/// Merge pieces in order of their first values into disjoint ones and give them places; returns
/// the number of numbers.
static uint32_t place_pieces(Arena* arena, const Pieces* all, Pieces* placed) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < all->count; i++) {
    Piece piece = all->data[i];
    Piece* before = placed->count ? &placed->data[placed->count - 1] : NULL;
    if (!piece.whole) {
      if (i > 0 && all->data[i - 1].key == piece.key) continue;
      // a value among whole ones: those above it are a piece of their own
      Piece rest = {.last = 0};
      bool among = before && before->whole && piece.first < before->last;
      if (among) {
        rest = whole_piece((uint32_t)piece.first + 1, before->last);
        before->last = (uint32_t)piece.first;
        place = before->place + (before->last - (uint32_t)before->first) + 1;
      }
      piece.place = place++;
      base_vec_push(arena, placed, piece);
      if (among) {
        rest.place = place;
        place += rest.last - (uint32_t)rest.first + 1;
        base_vec_push(arena, placed, rest);
      }
      continue;
    }
    if (before && before->whole && piece.first <= (double)before->last + 1.0) {
      if (piece.last <= before->last) continue;
      place += piece.last - before->last;
      before->last = piece.last;
      continue;
    }
    piece.place = place;
    place += piece.last - (uint32_t)piece.first + 1;
    base_vec_push(arena, placed, piece);
  }
  return place;
}

static uint32_t find_place(const Pieces* placed, double value) {
  uint64_t key = number_key(value);
  uint32_t low = 0;
  uint32_t high = placed->count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (placed->data[middle].key <= key) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const Piece* piece = &placed->data[low];
  return piece->place + (piece->whole ? (uint32_t)value - (uint32_t)piece->first : 0);
}

static void write_numbers(IrModel* model, const Pieces* placed, uint32_t count) {
  model->numbers.count = 0;
  base_vec_reserve(model->arena, &model->numbers, count);
  for (uint32_t i = 0; i < placed->count; i++) {
    const Piece* piece = &placed->data[i];
    model->numbers.data[model->numbers.count++] = piece->first;
    if (!piece->whole) continue;
    for (uint32_t v = (uint32_t)piece->first; v < piece->last; v++) {
      model->numbers.data[model->numbers.count++] = (double)v + 1.0;
    }
  }
}

/// One leaf of a block, in all blocks.
static void write_leaf(const ExtendTexts* texts, const Pieces* placed, const ExtendRun* run,
                       uint32_t row, IrLeaf* out) {
  IrLeaf leaf;
  memcpy(&leaf, run->base + 2 * (size_t)row, sizeof leaf);
  uint32_t step = run->step[2 * (size_t)row];
  uint32_t pad = leaf.pad;
  leaf.pad = 0;
  if (leaf.kind == IR_LEAF_NUMBER && (step == 0 || pad == EXTEND_ODD)) {
    leaf.id = find_place(placed, pad == EXTEND_ODD ? odd_value(texts, leaf.id) : (double)leaf.id);
    pad = 0;
  }
  for (uint32_t k = 0; k < run->count; k++) {
    IrLeaf written = leaf;
    if (pad == EXTEND_WHOLE) written.id = find_place(placed, (double)leaf.id);
    out[(size_t)k * run->period] = written;
    leaf.id += step;
  }
}

bool extend_write_leaves(ExtendTexts* texts, IrModel* model, const ExtendRuns* runs) {
  Pieces all = {0};
  for (uint32_t i = 0; i < runs->count; i++) {
    for (uint32_t row = 0; row < runs->data[i].period; row++) {
      if (!add_values(texts, &all, &runs->data[i], row)) return false;
    }
  }
  if (all.count) qsort(all.data, all.count, sizeof *all.data, compare_pieces);
  Pieces placed = {0};
  uint32_t count = place_pieces(texts->arena, &all, &placed);
  write_numbers(model, &placed, count);

  uint32_t rows = extend_rows(runs);
  model->leaves.count = 0;
  base_vec_reserve(model->arena, &model->leaves, rows);
  model->leaves.count = rows;
  IrLeaf* at = model->leaves.data;
  for (uint32_t i = 0; i < runs->count; i++) {
    const ExtendRun* run = &runs->data[i];
    for (uint32_t row = 0; row < run->period; row++) {
      write_leaf(texts, &placed, run, row, at + row);
    }
    at += (size_t)run->count * run->period;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// order of terms

/// The numbers in one slot of one shape.
typedef struct SlotRange {
  double counted;  // largest of those that loops count, -1 for none
  double fixed;    // largest of the others
} SlotRange;

typedef struct OrderCheck {
  const IrModel* model;
  const bool* counts;  // leaf -> it is a number that a loop counts
  uint32_t* first;     // shape -> its first slot in `slots` + 1; 0 not seen
  BASE_VEC(SlotRange) slots;
  Arena* arena;
  double more;    // instances that are to be added
  bool distinct;  // no term was found whose numbers would meet
} OrderCheck;

static void look_at_term(OrderCheck* check, IrTerm term) {
  if (!ir_term_present(term)) return;
  uint32_t* first = &check->first[term.shape.index];
  if (*first == 0) {
    *first = check->slots.count + 1;
    for (uint32_t k = 0; k < term.leaf_count; k++) {
      SlotRange none = {-1.0, -(double)INFINITY};
      base_vec_push(check->arena, &check->slots, none);
    }
  }
  for (uint32_t k = 0; k < term.leaf_count; k++) {
    IrLeaf leaf = ir_leaf(check->model, term, k);
    if (leaf.kind != IR_LEAF_NUMBER) continue;
    SlotRange* slot = &check->slots.data[*first - 1 + k];
    double value = check->model->numbers.data[leaf.id];
    double* most = check->counts[term.leaf_begin + k] ? &slot->counted : &slot->fixed;
    if (!(value <= *most)) *most = value;
  }
}

static void look_at_any(void* context, IrTerm* term) {
  look_at_term(context, *term);
}

/// Equal numbers share a slot, so a term has another shape where what it counts meets a number that
/// stands beside it. In the samples that is seen, in the instances behind them it must not happen.
static void check_distinct(void* context, IrTerm* term) {
  OrderCheck* check = context;
  const SlotRange* slots = check->slots.data + (check->first[term->shape.index] - 1);
  double counted = -1.0;
  for (uint32_t k = 0; k < term->leaf_count; k++) {
    bool counts = ir_leaf(check->model, *term, k).kind == IR_LEAF_NUMBER &&
                  check->counts[term->leaf_begin + k];
    if (counts) counted = fmax(counted, slots[k].counted);
  }
  for (uint32_t k = 0; k < term->leaf_count && counted >= 0.0; k++) {
    IrLeaf leaf = ir_leaf(check->model, *term, k);
    if (leaf.kind != IR_LEAF_NUMBER || check->counts[term->leaf_begin + k]) continue;
    double value = check->model->numbers.data[leaf.id];
    bool below = value + EXTEND_NEAR <= counted;
    bool above = value > counted + check->more + EXTEND_NEAR;
    if (!below && !above && value == floor(value)) check->distinct = false;
  }
}

/// Judge the terms looked at, and forget them.
static bool keeps_order(OrderCheck* check) {
  bool keeps = true;
  for (uint32_t i = 0; i < check->slots.count; i++) {
    SlotRange slot = check->slots.data[i];
    if (slot.counted >= 0.0 && !(slot.fixed + EXTEND_NEAR <= slot.counted)) keeps = false;
  }
  check->slots.count = 0;
  memset(check->first, 0, check->model->pool.nodes.count * sizeof *check->first);
  return keeps;
}

/// Lists that are ordered by their terms, each by itself.
static bool lists_keep_order(OrderCheck* check) {
  const IrModel* m = check->model;
  for (uint32_t i = 0; i < m->equations.count; i++) {
    look_at_term(check, m->equations.data[i].term);
  }
  if (!keeps_order(check)) return false;
  for (uint32_t i = 0; i < m->atoms.count; i++) {
    look_at_term(check, m->atoms.data[i].g);
    look_at_term(check, m->atoms.data[i].eps);
    look_at_term(check, m->atoms.data[i].gamma);
  }
  if (!keeps_order(check)) return false;
  for (uint32_t i = 0; i < m->actions.count; i++) {
    look_at_term(check, m->actions.data[i].value);
  }
  if (!keeps_order(check)) return false;
  for (uint32_t i = 0; i < m->starts.count; i++) {
    bool ordered = m->vars.data[m->starts.data[i].var].hidden;
    if (ordered) look_at_term(check, m->starts.data[i].value);
  }
  if (!keeps_order(check)) return false;
  for (uint32_t i = 0; i < m->schedules.count; i++) {
    look_at_term(check, m->schedules.data[i].start);
    look_at_term(check, m->schedules.data[i].period);
  }
  return keeps_order(check);
}

bool extend_numbers_keep_order(Arena* arena, IrModel* sample, const ExtendRuns* runs,
                               uint32_t more) {
  bool* counts = ARENA_ARRAY(arena, bool, sample->leaves.count);
  uint32_t at = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    const ExtendRun* run = &runs->data[i];
    for (uint32_t row = 0; row < run->count * run->period; row++) {
      counts[at++] = extend_grows(run, 2 * (row % run->period));
    }
  }
  OrderCheck check = {
      .model = sample, .counts = counts, .arena = arena, .more = more, .distinct = true};
  check.first = ARENA_ARRAY(arena, uint32_t, sample->pool.nodes.count);
  ir_each_term(sample, look_at_any, &check);
  ir_each_term(sample, check_distinct, &check);
  keeps_order(&check);
  return check.distinct && lists_keep_order(&check);
}

// SPDX-License-Identifier: MIT
//
// Entities as rows of words and back. A row is the entity itself with its padding cleared, and with
// texts replaced by numbers that are the same in all samples.
#include "ir/extend.h"

#include <stddef.h>

typedef enum FieldKind {
  FIELD_FREE,   // counts or refers to something: may move from instance to instance
  FIELD_EXACT,  // must be the same in all instances
  FIELD_TEXT    // a Str
} FieldKind;

typedef struct Field {
  uint16_t offset;
  uint8_t size;
  uint8_t kind;  // FieldKind
} Field;

#define FIELD(type, member, kind) \
  { (uint16_t) offsetof(type, member), (uint8_t)sizeof(((type*)0)->member), (kind) }
#define FREE(type, member)  FIELD(type, member, FIELD_FREE)
#define EXACT(type, member) FIELD(type, member, FIELD_EXACT)
#define TEXT(type, member)  FIELD(type, member, FIELD_TEXT)
#define TERM(type, member) \
  EXACT(type, member.shape), FREE(type, member.leaf_begin), EXACT(type, member.leaf_count)

static const Field params_fields[] = {
    FREE(IrParam, name),        FREE(IrParam, unit),    TERM(IrParam, value),
    EXACT(IrParam, structural), EXACT(IrParam, hidden), EXACT(IrParam, unbounded),
    FREE(IrParam, appearance),  EXACT(IrParam, span),
};
static const Field vars_fields[] = {
    FREE(IrVar, name),       EXACT(IrVar, kind),       EXACT(IrVar, select),
    EXACT(IrVar, hidden),    EXACT(IrVar, yields),     EXACT(IrVar, memory),
    EXACT(IrVar, delay),     EXACT(IrVar, unbounded),  EXACT(IrVar, inactive_zero),
    EXACT(IrVar, max_order), FREE(IrVar, unit),        EXACT(IrVar, nominal),
    FREE(IrVar, appearance), FREE(IrVar, start_begin), EXACT(IrVar, start_count),
    EXACT(IrVar, span),
};
static const Field starts_fields[] = {
    FREE(IrStart, var),   EXACT(IrStart, order), EXACT(IrStart, kind),
    TERM(IrStart, value), EXACT(IrStart, span),
};
static const Field equations_fields[] = {
    TERM(IrEquation, term),    FREE(IrEquation, body),       FREE(IrEquation, label),
    FREE(IrEquation, lhs_var), EXACT(IrEquation, lhs_order), EXACT(IrEquation, element),
    EXACT(IrEquation, span),
};
static const Field deletes_fields[] = {
    FREE(IrDelete, body),
    FREE(IrDelete, label),
    EXACT(IrDelete, span),
};
static const Field bodies_fields[] = {
    FREE(IrBody, automaton),      FREE(IrBody, state),          FREE(IrBody, parent),
    FREE(IrBody, equation_begin), FREE(IrBody, equation_count), FREE(IrBody, delete_begin),
    FREE(IrBody, delete_count),
};
static const Field atoms_fields[] = {
    TERM(IrAtom, g),           EXACT(IrAtom, type), EXACT(IrAtom, relation), EXACT(IrAtom, bipolar),
    EXACT(IrAtom, continuous), EXACT(IrAtom, kink), TERM(IrAtom, eps),       TERM(IrAtom, gamma),
    TEXT(IrAtom, text),        EXACT(IrAtom, span),
};
static const Field mode_tests_fields[] = {
    FREE(IrModeTest, automaton),
    EXACT(IrModeTest, state),
};
static const Field automata_fields[] = {
    FREE(IrAutomaton, name),
    EXACT(IrAutomaton, kind),
    EXACT(IrAutomaton, hidden),
    EXACT(IrAutomaton, yields),
    EXACT(IrAutomaton, ranked),
    TERM(IrAutomaton, condition),
    FREE(IrAutomaton, parent_body),
    FREE(IrAutomaton, state_begin),
    FREE(IrAutomaton, state_count),
    FREE(IrAutomaton, transition_begin),
    FREE(IrAutomaton, transition_count),
    FREE(IrAutomaton, appearance),
    EXACT(IrAutomaton, span),
};
static const Field states_fields[] = {
    FREE(IrState, name),
    FREE(IrState, automaton),
    FREE(IrState, body),
    FREE(IrState, action_begin),
    FREE(IrState, action_count),
    TERM(IrState, invariant),
    EXACT(IrState, invariant_span),
    TEXT(IrState, stop),
    EXACT(IrState, span),
};
static const Field transitions_fields[] = {
    FREE(IrTransition, automaton),    FREE(IrTransition, from_begin),
    FREE(IrTransition, from_count),   FREE(IrTransition, to),
    TERM(IrTransition, guard),        EXACT(IrTransition, zeno),
    EXACT(IrTransition, instead),     EXACT(IrTransition, by_lot),
    FREE(IrTransition, action_begin), FREE(IrTransition, action_count),
    EXACT(IrTransition, negated),     EXACT(IrTransition, made),
    EXACT(IrTransition, span),
};
static const Field from_states_fields[] = {{0, sizeof(uint32_t), FIELD_FREE}};
static const Field actions_fields[] = {
    FREE(IrAction, var),        EXACT(IrAction, order), EXACT(IrAction, kind),
    FREE(IrAction, appearance), TERM(IrAction, value),  EXACT(IrAction, span),
};
static const Field gotos_fields[] = {
    FREE(IrGoto, automaton),
    FREE(IrGoto, state),
    FREE(IrGoto, appearance),
};
static const Field schedules_fields[] = {
    TERM(IrSchedule, start),      TERM(IrSchedule, period),       EXACT(IrSchedule, count),
    EXACT(IrSchedule, priority),  FREE(IrSchedule, action_begin), FREE(IrSchedule, action_count),
    FREE(IrSchedule, goto_begin), FREE(IrSchedule, goto_count),   TEXT(IrSchedule, stop),
    FREE(IrSchedule, appearance), EXACT(IrSchedule, span),
};
static const Field macros_fields[] = {
    FREE(IrMacro, name),
    FREE(IrMacro, unit),
    TERM(IrMacro, value),
    EXACT(IrMacro, span),
};

typedef struct RowType {
  const Field* fields;
  uint32_t field_count;
  uint32_t size;
} RowType;

static const RowType row_types[] = {
#define X(list, type) {list##_fields, SLT_COUNT(list##_fields), sizeof(type)},
    EXTEND_LISTS(X)
#undef X
};

#define X(list, type) \
  _Static_assert(sizeof(type) <= EXTEND_WORDS_MAX * sizeof(uint32_t), "rows fit"); \
  _Static_assert(sizeof(type) % sizeof(uint32_t) == 0, "rows are words");
EXTEND_LISTS(X)
#undef X

void extend_texts_init(ExtendTexts* texts, Arena* arena) {
  *texts = (ExtendTexts){.arena = arena};
  names_init(&texts->texts, arena);
  names_init(&texts->odd, arena);
  names_init(&texts->outlines, arena);
}

// ---------------------------------------------------------------------------------------------
// reading

static void read_text(ExtendTexts* texts, const char* from, char* to) {
  Str text;
  memcpy(&text, from, sizeof text);
  uint64_t code = !text.data ? EXTEND_TEXT_NULL
                  : text.length == 0
                      ? EXTEND_TEXT_EMPTY
                      : EXTEND_TEXT_FIRST + (uint64_t)names_intern(&texts->texts, text);
  memcpy(to, &code, sizeof code);
}

static void read_row(ExtendTexts* texts, const RowType* type, const char* from, char* to) {
  for (uint32_t f = 0; f < type->field_count; f++) {
    Field field = type->fields[f];
    if (field.kind == FIELD_TEXT) {
      read_text(texts, from + field.offset, to + field.offset);
    } else {
      memcpy(to + field.offset, from + field.offset, field.size);
    }
  }
}

/// An entity of a list that is packed.
static void read_packed(const IrModel* model, uint32_t which, uint32_t index, void* out) {
  switch (which) {
#define X(list, type, reader) \
  case EXTEND_##list: { \
    type entity = reader(model, index); \
    memcpy(out, &entity, sizeof entity); \
    break; \
  }
    IR_PACKED_LISTS(X)
#undef X
  default: break;
  }
}

static ExtendTable read_list(ExtendTexts* texts, const IrModel* model, uint32_t which,
                             const void* data, uint32_t count) {
  const RowType* type = &row_types[which];
  uint32_t width = type->size / (uint32_t)sizeof(uint32_t);
  ExtendTable table = {.count = count, .width = width};
  table.words = ARENA_ARRAY(texts->arena, uint32_t, base_mul_size(count, width));
  for (uint32_t f = 0; f < type->field_count; f++) {
    Field field = type->fields[f];
    if (field.kind == FIELD_FREE) table.free |= 1u << (field.offset / sizeof(uint32_t));
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t entity[(EXTEND_WORDS_MAX + 1) / 2];
    const char* from = data ? (const char*)data + (size_t)i * type->size : NULL;
    if (!from) {
      read_packed(model, which, i, entity);
      from = (const char*)entity;
    }
    read_row(texts, type, from, (char*)(table.words + (size_t)i * width));
  }
  return table;
}

/// Numbers are compared by value: their places in the list of numbers depend on all others.
static IrLeaf read_leaf(ExtendTexts* texts, const IrModel* model, IrLeaf leaf) {
  leaf.pad = 0;
  if (leaf.kind != IR_LEAF_NUMBER) return leaf;
  double value = model->numbers.data[leaf.id];
  bool whole = value >= 0.0 && value < 2147483648.0 && (double)(uint32_t)value == value;
  if (whole && ir_double_bits(value) == ir_double_bits((double)(uint32_t)value)) {
    leaf.id = (uint32_t)value;
    leaf.pad = EXTEND_WHOLE;
    return leaf;
  }
  char bits[sizeof value];
  memcpy(bits, &value, sizeof bits);
  leaf.id = names_intern(&texts->odd, (Str){bits, sizeof bits});
  leaf.pad = EXTEND_ODD;
  return leaf;
}

static ExtendTable read_leaves(ExtendTexts* texts, const IrModel* model) {
  ExtendTable table = {.count = model->leaves.count, .width = 2, .free = 1};
  _Static_assert(sizeof(IrLeaf) == 2 * sizeof(uint32_t), "a leaf is two words");
  _Static_assert(offsetof(IrLeaf, id) == 0, "the first of them is its id");
  table.words = ARENA_ARRAY(texts->arena, uint32_t, 2 * (size_t)table.count);
  for (uint32_t i = 0; i < table.count; i++) {
    IrLeaf leaf = read_leaf(texts, model, model->leaves.data[i]);
    memcpy(table.words + 2 * (size_t)i, &leaf, sizeof leaf);
  }
  return table;
}

/// Length of the number at `at` that counting could have made: no leading zero, no overflow.
static uint32_t number_length(Str name, uint32_t at, uint32_t* value) {
  uint32_t end = at;
  *value = 0;
  while (end < name.length && name.data[end] >= '0' && name.data[end] <= '9') {
    if (end - at >= 9) return 0;
    *value = *value * 10 + (uint32_t)(name.data[end] - '0');
    end++;
  }
  if (end > at + 1 && name.data[at] == '0') return 0;
  return end - at;
}

/// A name is its outline and the numbers in it.
static void read_name(ExtendTexts* texts, Str name, TextBuffer* outline, uint32_t* words) {
  uint32_t parts = 0;
  outline->length = 0;
  for (uint32_t at = 0; at < name.length;) {
    uint32_t value = 0;
    bool begins = at == 0 || name.data[at - 1] < '0' || name.data[at - 1] > '9';
    uint32_t length = begins && parts < EXTEND_NAME_PARTS ? number_length(name, at, &value) : 0;
    if (length) {
      words[1 + parts++] = value;
      text_append_char(outline, '\1');
      at += length;
    } else {
      text_append_char(outline, name.data[at++]);
    }
  }
  words[0] = names_intern(&texts->outlines, text_str(outline));
}

static ExtendTable read_names(ExtendTexts* texts, const IrModel* model) {
  ExtendTable table = {.count = model->names.names.count, .width = 1 + EXTEND_NAME_PARTS};
  table.free = (1u << table.width) - 2;
  table.words = ARENA_ARRAY(texts->arena, uint32_t, base_mul_size(table.count, table.width));
  TextBuffer outline = {.arena = texts->arena};
  for (uint32_t i = 0; i < table.count; i++) {
    uint32_t* words = table.words + (size_t)i * table.width;
    read_name(texts, model->names.names.data[i], &outline, words);
  }
  return table;
}

void extend_read(ExtendTexts* texts, const IrModel* model, ExtendTable* tables) {
#define X(list, type) \
  tables[EXTEND_##list] = \
      read_list(texts, model, EXTEND_##list, model->list.data, model->list.count);
  EXTEND_LISTS(X)
#undef X
  tables[EXTEND_leaves] = read_leaves(texts, model);
  tables[EXTEND_names] = read_names(texts, model);
}

// ---------------------------------------------------------------------------------------------
// writing

/// The texts of the rows of a run, which do not move, back into their places.
static void restore_texts(ExtendTexts* texts, Arena* arena, const RowType* type,
                          const ExtendRun* run) {
  for (uint32_t f = 0; f < type->field_count; f++) {
    if (type->fields[f].kind != FIELD_TEXT) continue;
    for (uint32_t row = 0; row < run->period; row++) {
      char* at = (char*)run->base + (size_t)row * type->size + type->fields[f].offset;
      uint64_t code = 0;
      memcpy(&code, at, sizeof code);
      Str text = {NULL, 0};
      if (code == EXTEND_TEXT_EMPTY) text = STR_LIT("");
      if (code >= EXTEND_TEXT_FIRST) {
        uint32_t id = (uint32_t)(code - EXTEND_TEXT_FIRST);
        text = str_copy(arena, names_get(&texts->texts, id));
      }
      memcpy(at, &text, sizeof text);
    }
  }
}

void extend_write_list(ExtendTexts* texts, IrModel* model, uint32_t which, ExtendRuns* runs) {
  const RowType* type = &row_types[which];
  uint32_t width = type->size / (uint32_t)sizeof(uint32_t);
  uint32_t rows = extend_rows(runs);
  void* data = NULL;
  switch (which) {
#define X(list, type) \
  case EXTEND_##list: \
    model->list.count = 0; \
    base_vec_reserve(model->arena, &model->list, rows); \
    model->list.count = rows; \
    data = model->list.data; \
    break;
    EXTEND_LISTS(X)
#undef X
  default: return;
  }
  for (uint32_t i = 0; i < runs->count; i++) {
    restore_texts(texts, model->arena, type, &runs->data[i]);
  }
  if (rows) extend_write(runs, width, data, type->size);
}

// ---------------------------------------------------------------------------------------------
// packed lists

static uint32_t* keep_words(IrModel* model, const uint32_t* words, size_t count) {
  uint32_t* kept = ARENA_ARRAY(model->arena, uint32_t, count);
  memcpy(kept, words, count * sizeof *words);
  return kept;
}

static const IrPackedRun* pack_list(ExtendTexts* texts, IrModel* model, uint32_t which,
                                    const ExtendRuns* runs) {
  const RowType* type = &row_types[which];
  uint32_t width = type->size / (uint32_t)sizeof(uint32_t);
  IrPackedRun* kept = ARENA_ARRAY(model->arena, IrPackedRun, runs->count);
  uint32_t begin = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    ExtendRun* run = &runs->data[i];
    size_t words = (size_t)run->period * width;
    restore_texts(texts, model->arena, type, run);
    kept[i] = (IrPackedRun){.begin = begin, .period = run->period};
    kept[i].base = keep_words(model, run->base, words);
    kept[i].step = keep_words(model, run->step, words);
    begin += run->count * run->period;
  }
  return kept;
}

void extend_pack(ExtendTexts* texts, IrModel* model, ExtendRuns* runs) {
  IrPacked* packed = ARENA_NEW(model->arena, IrPacked);
#define X(list, type, reader) \
  packed->lists[IR_PACKED_##list].runs = \
      pack_list(texts, model, EXTEND_##list, &runs[EXTEND_##list]); \
  packed->lists[IR_PACKED_##list].run_count = runs[EXTEND_##list].count; \
  memset(&model->list, 0, sizeof model->list); \
  model->list.count = extend_rows(&runs[EXTEND_##list]);
  IR_PACKED_LISTS(X)
#undef X
  model->packed = packed;
}

void ir_unpack(IrModel* model) {
  if (!model->packed) return;
#define X(list, type, reader) \
  if (!model->list.data && model->list.count) { \
    type* data = ARENA_ARRAY(model->arena, type, model->list.count); \
    for (uint32_t i = 0; i < model->list.count; i++) { \
      data[i] = reader(model, i); \
    } \
    model->list.data = data; \
    model->list.capacity = model->list.count; \
  }
  IR_PACKED_LISTS(X)
#undef X
  model->packed = NULL;
}

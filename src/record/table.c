// SPDX-License-Identifier: MIT
#include "record/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

SltTable* table_create(void) {
  SltAllocator allocator = base_allocator(NULL);
  SltTable* table = base_alloc(&allocator, sizeof *table);
  if (table) table->allocator = allocator;
  return table;
}

void table_free(SltTable* table) {
  if (!table) return;
  SltAllocator allocator = table->allocator;
  for (uint32_t i = 0; i < table->column_count; i++) {
    TableColumn* column = &table->columns[i];
    base_free(&allocator, column->name, column->name_size);
    base_free(&allocator, column->unit, column->unit_size);
    base_free(&allocator, column->label, column->label_size);
    base_free(&allocator, column->values, column->value_capacity * sizeof *column->values);
    base_free(&allocator, column->texts, column->text_capacity * sizeof *column->texts);
  }
  base_free(&allocator, table->columns, table->column_capacity * sizeof *table->columns);
  for (uint32_t i = 1; i < table->text_count; i++) {
    base_free(&allocator, table->texts[i].data, (size_t)table->texts[i].length + 1);
  }
  base_free(&allocator, table->texts, table->text_capacity * sizeof *table->texts);
  base_free(&allocator, table->slots, table->slot_count * sizeof *table->slots);
  base_free(&allocator, table, sizeof *table);
}

/// Grow an array of `*capacity` elements so that one more than `count` fits.
static SltStatus grow(const SltAllocator* a, void** data, uint32_t count, uint32_t* capacity,
                      size_t size) {
  if (count < *capacity) return SLT_OK;
  if (*capacity > UINT32_MAX / 2) return SLT_ERR_NOMEM;
  uint32_t wanted = *capacity ? *capacity * 2 : 8;
  void* moved = base_realloc(a, *data, *capacity * size, base_mul_size(wanted, size));
  if (!moved) return SLT_ERR_NOMEM;
  *data = moved;
  *capacity = wanted;
  return SLT_OK;
}

static char* copy_text(const SltAllocator* a, Str text) {
  char* copy = base_alloc(a, (size_t)text.length + 1);
  if (copy && text.length) memcpy(copy, text.data, text.length);
  return copy;
}

/// `T [degC]`; the name alone where the unit is none, or part of it: `T in degC`.
static char* make_label(const SltAllocator* a, const char* name, Str unit, size_t* size) {
  size_t length = strlen(name);
  bool told = unit.length == 0 ||
              (length > unit.length && strcmp(name + length - unit.length, unit.data) == 0 &&
               strstr(name, " in "));
  *size = length + (told ? 1 : unit.length + sizeof " []");
  char* label = base_alloc(a, *size);
  if (label && told) snprintf(label, *size, "%s", name);
  if (label && !told) snprintf(label, *size, "%s [%.*s]", name, STR_ARGS(unit));
  return label;
}

SltStatus table_set_unit(SltTable* table, uint32_t index, Str unit) {
  const SltAllocator* a = &table->allocator;
  TableColumn* column = &table->columns[index];
  char* copy = copy_text(a, unit);
  size_t label_size = 0;
  char* label = copy ? make_label(a, column->name, (Str){copy, unit.length}, &label_size) : NULL;
  if (!label) {
    base_free(a, copy, (size_t)unit.length + 1);
    return SLT_ERR_NOMEM;
  }
  base_free(a, column->unit, column->unit_size);
  base_free(a, column->label, column->label_size);
  column->unit = copy;
  column->unit_size = (size_t)unit.length + 1;
  column->label = label;
  column->label_size = label_size;
  return SLT_OK;
}

SltStatus table_add_column(SltTable* table, Str name, const char* unit, bool hidden) {
  SLT_ASSERT(table->row_count == 0);
  void* columns = table->columns;
  SLT_TRY(grow(&table->allocator, &columns, table->column_count, &table->column_capacity,
               sizeof *table->columns));
  table->columns = columns;
  char* copy = copy_text(&table->allocator, name);
  if (!copy) return SLT_ERR_NOMEM;
  table->columns[table->column_count++] =
      (TableColumn){.name = copy, .name_size = (size_t)name.length + 1, .hidden = hidden};
  return table_set_unit(table, table->column_count - 1, str_from_c(unit));
}

SltStatus table_add_row(SltTable* table) {
  uint32_t row = table->row_count;
  for (uint32_t i = 0; i < table->column_count; i++) {
    TableColumn* column = &table->columns[i];
    void* values = column->values;
    SLT_TRY(grow(&table->allocator, &values, row, &column->value_capacity, sizeof(double)));
    column->values = values;
    column->values[row] = (double)NAN;
    if (!column->texts) continue;
    void* texts = column->texts;
    SLT_TRY(grow(&table->allocator, &texts, row, &column->text_capacity, sizeof(uint32_t)));
    column->texts = texts;
    column->texts[row] = 0;
  }
  table->row_count++;
  return SLT_OK;
}

void table_set_number(SltTable* table, uint32_t column, double value) {
  SLT_ASSERT(column < table->column_count && table->row_count > 0);
  table->columns[column].values[table->row_count - 1] = value;
}

/// Double the hash table; it is at most half full.
static SltStatus grow_slots(SltTable* table) {
  uint32_t wanted = table->slot_count ? table->slot_count * 2 : 32;
  if (wanted > UINT32_MAX / 4) return SLT_ERR_NOMEM;
  uint32_t* slots = base_alloc(&table->allocator, base_mul_size(wanted, sizeof *slots));
  if (!slots) return SLT_ERR_NOMEM;
  for (uint32_t i = 1; i < table->text_count; i++) {
    uint64_t hash = hash_bytes(table->texts[i].data, table->texts[i].length, 0);
    uint32_t at = (uint32_t)hash & (wanted - 1);
    while (slots[at])
      at = (at + 1) & (wanted - 1);
    slots[at] = i;
  }
  base_free(&table->allocator, table->slots, table->slot_count * sizeof *slots);
  table->slots = slots;
  table->slot_count = wanted;
  return SLT_OK;
}

static SltStatus intern(SltTable* table, Str text, uint32_t* id) {
  if (table->text_count >= table->slot_count / 2) SLT_TRY(grow_slots(table));
  uint32_t mask = table->slot_count - 1;
  uint32_t at = (uint32_t)hash_bytes(text.data, text.length, 0) & mask;
  for (; table->slots[at]; at = (at + 1) & mask) {
    const TableText* known = &table->texts[table->slots[at]];
    if (str_equal((Str){known->data, known->length}, text)) {
      *id = table->slots[at];
      return SLT_OK;
    }
  }
  void* texts = table->texts;
  uint32_t count = table->text_count ? table->text_count : 1;  // entry 0 stays empty
  SLT_TRY(grow(&table->allocator, &texts, count, &table->text_capacity, sizeof *table->texts));
  table->texts = texts;
  char* copy = copy_text(&table->allocator, text);
  if (!copy) return SLT_ERR_NOMEM;
  table->texts[count] = (TableText){.data = copy, .length = text.length};
  table->text_count = count + 1;
  table->slots[at] = count;
  *id = count;
  return SLT_OK;
}

SltStatus table_set_text(SltTable* table, uint32_t column, Str text) {
  SLT_ASSERT(column < table->column_count && table->row_count > 0);
  TableColumn* to = &table->columns[column];
  if (!to->texts) {
    // zeroed: no cell so far is a text
    to->texts = base_alloc(&table->allocator, base_mul_size(to->value_capacity, sizeof *to->texts));
    if (!to->texts) return SLT_ERR_NOMEM;
    to->text_capacity = to->value_capacity;
  }
  return intern(table, text, &to->texts[table->row_count - 1]);
}

uint32_t table_find(const SltTable* table, const char* name) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (strcmp(table->columns[i].name, name) == 0) return i;
  }
  return UINT32_MAX;
}

uint32_t table_text_id(const SltTable* table, uint32_t row, uint32_t column) {
  const uint32_t* texts = table->columns[column].texts;
  return texts ? texts[row] : 0;
}

bool table_is_text(const SltTable* table, uint32_t column) {
  return table->columns[column].texts != NULL;
}

SltStatus table_write(const SltTable* table,
                      SltStatus (*write)(const SltTable* table, Sink* sink, Arena* arena),
                      SltWriter writer) {
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  jmp_buf on_oom;
  Arena arena;
  arena_init(&arena, NULL, &on_oom);
  SltStatus status = SLT_ERR_NOMEM;
  if (!setjmp(on_oom)) status = write(table, &sink, &arena);
  arena_free(&arena);
  sink_clear(&sink);
  return status;
}

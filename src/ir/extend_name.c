// SPDX-License-Identifier: MIT
//
// Names of an extended model.
#include "ir/extend.h"

#define DIGITS_MAX 10

static uint32_t write_digits(char* out, uint32_t value) {
  char digits[DIGITS_MAX];
  uint32_t at = DIGITS_MAX;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  memcpy(out, digits + at, DIGITS_MAX - at);
  return DIGITS_MAX - at;
}

static uint32_t digit_count(uint32_t value) {
  uint32_t count = 1;
  while (value >= 10) {
    value /= 10;
    count++;
  }
  return count;
}

/// Bytes that the names of a run take, each with a NUL behind it.
static size_t run_bytes(const ExtendTexts* texts, const ExtendRun* run) {
  size_t bytes = 0;
  for (uint32_t row = 0; row < run->period; row++) {
    const uint32_t* base = run->base + (size_t)row * (1 + EXTEND_NAME_PARTS);
    const uint32_t* step = run->step + (size_t)row * (1 + EXTEND_NAME_PARTS);
    size_t longest = (size_t)names_get(&texts->outlines, base[0]).length + 1;
    for (uint32_t p = 1; p <= EXTEND_NAME_PARTS; p++) {
      uint32_t last = base[p] + step[p] * (run->count - 1);
      uint32_t most = last > base[p] && last <= INT32_MAX ? last : base[p];
      longest += digit_count(most);
    }
    bytes += longest * run->count;
  }
  return bytes;
}

/// Put the numbers into the outline; returns the end.
static char* write_name(Str outline, const uint32_t* numbers, char* out) {
  for (uint32_t i = 0; i < outline.length; i++) {
    if (outline.data[i] == '\1') {
      out += write_digits(out, *numbers++);
    } else {
      *out++ = outline.data[i];
    }
  }
  return out;
}

static char* write_run(const ExtendTexts* texts, const ExtendRun* run, Str* names, char* out) {
  uint32_t width = 1 + EXTEND_NAME_PARTS;
  for (uint32_t k = 0; k < run->count; k++) {
    for (uint32_t row = 0; row < run->period; row++) {
      const uint32_t* base = run->base + (size_t)row * width;
      const uint32_t* step = run->step + (size_t)row * width;
      uint32_t numbers[EXTEND_NAME_PARTS];
      for (uint32_t p = 0; p < EXTEND_NAME_PARTS; p++) {
        numbers[p] = base[1 + p] + step[1 + p] * k;
      }
      char* end = write_name(names_get(&texts->outlines, base[0]), numbers, out);
      *names++ = (Str){out, (uint32_t)(end - out)};
      *end = '\0';
      out = end + 1;
    }
  }
  return out;
}

void extend_write_names(ExtendTexts* texts, IrModel* model, const ExtendRuns* runs) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    bytes += run_bytes(texts, &runs->data[i]);
  }
  NameTable* table = &model->names;
  uint32_t rows = extend_rows(runs);
  table->names.count = 0;
  base_vec_reserve(model->arena, &table->names, rows);
  char* out = ARENA_ARRAY(model->arena, char, bytes);
  Str* names = table->names.data;
  for (uint32_t i = 0; i < runs->count; i++) {
    out = write_run(texts, &runs->data[i], names, out);
    names += (size_t)runs->data[i].count * runs->data[i].period;
  }
  table->names.count = rows;
  // found by text again only when somebody asks
  table->slots = NULL;
  table->slot_count = 0;
}

// ---------------------------------------------------------------------------------------------
// names that are there once

/// Where number `part` of a name begins; its length is not longer than what is left.
static uint32_t part_begin(Str name, uint32_t part) {
  uint32_t seen = 0;
  for (uint32_t at = 0; at < name.length; at++) {
    bool digit = name.data[at] >= '0' && name.data[at] <= '9';
    bool before = at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9';
    if (digit && !before && seen++ == part) return at;
  }
  return name.length;
}

/// The number that follows `prefix` in a name; 0 when there is none.
static uint64_t number_behind(Str name, Str prefix) {
  if (name.length <= prefix.length) return 0;
  if (!str_equal((Str){name.data, prefix.length}, prefix)) return 0;
  uint64_t value = 0;
  for (uint32_t i = prefix.length; i < name.length; i++) {
    if (name.data[i] < '0' || name.data[i] > '9') break;
    if (value < UINT32_MAX) value = value * 10 + (uint64_t)(name.data[i] - '0');
  }
  return value;
}

typedef struct Counted {
  Str prefix;  // text before the number
  uint64_t largest;
} Counted;

/// First number of row `row` of a run that counts; IR_NONE without.
static uint32_t counting_part(const ExtendRun* run, uint32_t row) {
  uint32_t width = 1 + EXTEND_NAME_PARTS;
  for (uint32_t p = 1; p < width; p++) {
    if (extend_grows(run, row * width + p)) return p - 1;
  }
  return IR_NONE;
}

static bool keeps_apart(const IrModel* sample, const ExtendRuns* runs, Counted counted) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    const ExtendRun* run = &runs->data[i];
    for (uint32_t row = 0; row < run->count * run->period; row++, at++) {
      if (counting_part(run, row % run->period) != IR_NONE) continue;
      uint64_t number = number_behind(names_get(&sample->names, at), counted.prefix);
      if (number + EXTEND_NEAR > counted.largest) return false;
    }
  }
  return true;
}

bool extend_names_keep_apart(const IrModel* sample, const ExtendRuns* runs) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    const ExtendRun* run = &runs->data[i];
    for (uint32_t row = 0; row < run->period; row++) {
      uint32_t part = counting_part(run, row);
      if (part == IR_NONE) continue;
      uint32_t last = at + (run->count - 1) * run->period + row;
      Str name = names_get(&sample->names, last);
      Counted counted = {.prefix = {name.data, part_begin(name, part)}};
      counted.largest = number_behind(name, counted.prefix);
      // descending names would have to be looked at from their other end
      uint32_t word = row * (1 + EXTEND_NAME_PARTS) + 1 + part;
      if (run->step[word] > INT32_MAX || run->slope[word] > INT32_MAX) return false;
      if (!keeps_apart(sample, runs, counted)) return false;
    }
    at += run->count * run->period;
  }
  return true;
}

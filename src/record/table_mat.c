// SPDX-License-Identifier: MIT
//
// MAT-files of level 4, which MATLAB, Octave, Scilab and SciPy read: matrices one after the other,
// each with its name. Every column becomes a vector; names that are no identifiers there are spelt
// with letters, and `names` holds them as they were. States of automata become rows of characters.
#include "record/table_mat.h"

#include <string.h>

#define MAT_NAME_MAX 63  // longer names are cut where they are read
#define MAT_TEXT     1u  // type of a matrix of characters; 0 is double, little endian

static void write_u32(Sink* sink, uint32_t value) {
  for (uint32_t shift = 0; shift < 32; shift += 8) {
    sink_char(sink, (char)(value >> shift & 255));
  }
}

static void write_double(Sink* sink, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  write_u32(sink, (uint32_t)bits);
  write_u32(sink, (uint32_t)(bits >> 32));
}

static void write_head(Sink* sink, uint32_t type, uint32_t rows, uint32_t columns,
                       const char* name) {
  uint32_t size = (uint32_t)strlen(name) + 1;
  write_u32(sink, type);
  write_u32(sink, rows);
  write_u32(sink, columns);
  write_u32(sink, 0);  // no imaginary part
  write_u32(sink, size);
  sink_bytes(sink, name, size);
}

/// A matrix of characters, one text per row, filled up with blanks; column by column.
static void write_texts(Sink* sink, const char* name, const TableText* texts, uint32_t count) {
  uint32_t width = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (texts[i].length > width) width = texts[i].length;
  }
  write_head(sink, MAT_TEXT, count, width, name);
  for (uint32_t k = 0; k < width; k++) {
    for (uint32_t i = 0; i < count; i++) {
      bool there = k < texts[i].length;
      write_double(sink, there ? (double)(unsigned char)texts[i].data[k] : (double)' ');
    }
  }
}

// ---- names --------------------------------------------------------------------------------------

static bool is_letter(uint32_t code) {
  return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
}

static bool is_digit(uint32_t code) {
  return code >= '0' && code <= '9';
}

/// The name with letters, digits and underscores only; a derivative x' is der_x.
static void spell(TextBuffer* out, Str name) {
  out->length = 0;
  while (name.length && name.data[name.length - 1] == '\'') {
    text_append(out, STR_LIT("der_"));
    name.length--;
  }
  for (uint32_t i = 0; i < name.length;) {
    uint32_t code = 0;
    uint32_t size = utf8_decode(name.data + i, name.length - i, &code);
    if (size == 0) code = (unsigned char)name.data[i];
    if (out->length == 0 && !is_letter(code)) text_append_char(out, 'x');
    if (code < 128) {
      bool kept = is_letter(code) || is_digit(code);
      text_append_char(out, (char)(kept ? code : '_'));
    } else {
      text_append_format(out, "u%04x", code);
    }
    i += size ? size : 1;
  }
  if (out->length == 0) text_append_char(out, 'x');
  if (out->length > MAT_NAME_MAX) out->length = MAT_NAME_MAX;
}

/// A spelling of its own for every column.
static const char* add_name(NameTable* names, const char* name) {
  TextBuffer text = {.arena = names->arena};
  spell(&text, str_from_c(name));
  uint32_t length = text.length;
  for (uint32_t k = 2; names_find(names, text_str(&text)); k++) {
    text.length = length < MAT_NAME_MAX - 11 ? length : MAT_NAME_MAX - 11;
    text_append_format(&text, "_%u", k);
  }
  return names_get(names, names_intern(names, text_str(&text))).data;
}

// ---- the file -----------------------------------------------------------------------------------

static void write_states(const SltTable* table, uint32_t column, const char* name, Sink* sink,
                         Arena* arena) {
  TableText* texts = ARENA_ARRAY(arena, TableText, table->row_count);
  for (uint32_t row = 0; row < table->row_count; row++) {
    uint32_t id = table_text_id(table, row, column);
    if (id) texts[row] = table->texts[id];
  }
  write_texts(sink, name, texts, table->row_count);
}

SltStatus table_write_mat(const SltTable* table, Sink* sink, Arena* arena) {
  NameTable names;
  names_init(&names, arena);
  names_intern(&names, STR_LIT("names"));
  TableText* originals = ARENA_ARRAY(arena, TableText, table->column_count);
  uint32_t count = 0;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const TableColumn* column = &table->columns[i];
    if (column->hidden) continue;
    originals[count++] = (TableText){column->name, (uint32_t)strlen(column->name)};
    const char* name = add_name(&names, column->name);
    if (table_is_text(table, i)) {
      write_states(table, i, name, sink, arena);
      continue;
    }
    write_head(sink, 0, table->row_count, 1, name);
    for (uint32_t row = 0; row < table->row_count; row++) {
      write_double(sink, column->values[row]);
    }
  }
  write_texts(sink, "names", originals, count);
  return sink_flush(sink);
}

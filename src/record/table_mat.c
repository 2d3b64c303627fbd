// SPDX-License-Identifier: MIT
//
// MAT-files of level 5, which MATLAB, Octave, Scilab and SciPy read: matrices one after the other,
// each with its name. Every column becomes a vector; names that are no identifiers there are spelt
// with letters, and the cell array `names` holds them as they were, in UTF-8; `units`, where any
// are known, has theirs. States of automata
// become a matrix of characters, a row each.
#include "record/table_mat.h"

#include <string.h>

#define MAT_NAME_MAX 63  // longer names are cut where they are read
#define MAT_HEAD     128

// types of data and classes of arrays, by the numbers of the format
enum { MI_INT8 = 1, MI_INT32 = 5, MI_UINT32 = 6, MI_DOUBLE = 9, MI_MATRIX = 14, MI_UTF8 = 16 };
enum { MX_CELL = 1, MX_CHAR = 4, MX_DOUBLE = 6 };

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

// ---- arrays -------------------------------------------------------------------------------------

/// Elements begin at multiples of eight bytes.
static uint64_t padded(uint64_t bytes) {
  return (bytes + 7) & ~UINT64_C(7);
}

static void pad(Sink* sink, uint64_t bytes) {
  for (uint64_t i = bytes; i < padded(bytes); i++)
    sink_char(sink, '\0');
}

/// Bytes of an array whose data takes `data` bytes: flags, two dimensions, name, data.
static uint64_t array_bytes(const char* name, uint64_t data) {
  return 16 + 16 + 8 + padded(strlen(name)) + 8 + padded(data);
}

/// Everything before the data; false when the format cannot hold so much.
static bool write_head(Sink* sink, uint32_t kind, uint32_t rows, uint32_t columns, const char* name,
                       uint32_t type, uint64_t data) {
  uint64_t bytes = array_bytes(name, data) - (kind == MX_CELL ? 8 : 0);
  if (bytes > UINT32_MAX || rows > INT32_MAX || columns > INT32_MAX) return false;
  write_u32(sink, MI_MATRIX);
  write_u32(sink, (uint32_t)bytes);
  write_u32(sink, MI_UINT32);
  write_u32(sink, 8);
  write_u32(sink, kind);
  write_u32(sink, 0);
  write_u32(sink, MI_INT32);
  write_u32(sink, 8);
  write_u32(sink, rows);
  write_u32(sink, columns);
  uint32_t length = (uint32_t)strlen(name);
  write_u32(sink, MI_INT8);
  write_u32(sink, length);
  sink_bytes(sink, name, length);
  pad(sink, length);
  if (kind == MX_CELL) return true;  // its cells are arrays of their own
  write_u32(sink, type);
  write_u32(sink, (uint32_t)data);
  return true;
}

static bool write_numbers(Sink* sink, const char* name, const TableColumn* column, uint32_t count) {
  if (!write_head(sink, MX_DOUBLE, count, 1, name, MI_DOUBLE, (uint64_t)count * 8)) return false;
  for (uint32_t row = 0; row < count; row++) {
    write_double(sink, column->values[row]);
  }
  return true;
}

/// One character of a text, or a blank behind its end; `at` moves on.
static Str next_character(const TableText* text, uint32_t* at) {
  if (*at >= text->length) return STR_LIT(" ");
  uint32_t size = utf8_decode(text->data + *at, text->length - *at, NULL);
  Str character = {text->data + *at, size ? size : 1};
  *at += character.length;
  return size ? character : STR_LIT("?");
}

/// A matrix of characters, one text per row, filled up with blanks; column by column.
static bool write_texts(Sink* sink, const char* name, const TableText* texts, uint32_t count,
                        Arena* arena) {
  uint32_t width = 0;
  uint64_t bytes = 0;
  uint64_t characters = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t length = 0;
    for (uint32_t at = 0; at < texts[i].length; length++)
      bytes += next_character(&texts[i], &at).length;
    characters += length;
    if (length > width) width = length;
  }
  bytes += (uint64_t)width * count - characters;
  if (!write_head(sink, MX_CHAR, count, width, name, MI_UTF8, bytes)) return false;
  uint32_t* places = ARENA_ARRAY(arena, uint32_t, (size_t)count + 1);
  for (uint32_t k = 0; k < width; k++) {
    for (uint32_t i = 0; i < count; i++)
      sink_str(sink, next_character(&texts[i], &places[i]));
  }
  pad(sink, bytes);
  return true;
}

/// Texts as they are, each in a cell of its own.
static bool write_cells(Sink* sink, const char* name, const TableText* texts, uint32_t count,
                        Arena* arena) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    bytes += 8 + array_bytes("", texts[i].length);
  if (!write_head(sink, MX_CELL, count, 1, name, 0, bytes)) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!write_texts(sink, "", &texts[i], 1, arena)) return false;
  }
  return true;
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

static void write_file_head(Sink* sink) {
  static const char text[] = "MATLAB 5.0 MAT-file, written by saltus";
  sink_bytes(sink, text, sizeof text - 1);
  for (size_t i = sizeof text - 1; i < MAT_HEAD - 12; i++)
    sink_char(sink, ' ');
  write_u32(sink, 0);
  write_u32(sink, 0);
  write_u32(sink, 0x4d490100u);  // version 1.0, and the letters that tell the order of bytes
}

static bool write_states(const SltTable* table, uint32_t column, const char* name, Sink* sink,
                         Arena* arena) {
  TableText* texts = ARENA_ARRAY(arena, TableText, (size_t)table->row_count + 1);
  for (uint32_t row = 0; row < table->row_count; row++) {
    uint32_t id = table_text_id(table, row, column);
    if (id) texts[row] = table->texts[id];
  }
  return write_texts(sink, name, texts, table->row_count, arena);
}

SltStatus table_write_mat(const SltTable* table, Sink* sink, Arena* arena) {
  NameTable names;
  names_init(&names, arena);
  names_intern(&names, STR_LIT("names"));
  names_intern(&names, STR_LIT("units"));
  TableText* originals = ARENA_ARRAY(arena, TableText, (size_t)table->column_count + 1);
  TableText* units = ARENA_ARRAY(arena, TableText, (size_t)table->column_count + 1);
  bool any_unit = false;
  uint32_t count = 0;
  bool fits = true;
  write_file_head(sink);
  for (uint32_t i = 0; i < table->column_count && fits; i++) {
    const TableColumn* column = &table->columns[i];
    if (column->hidden) continue;
    units[count] = (TableText){column->unit, (uint32_t)strlen(column->unit)};
    any_unit = any_unit || column->unit[0];
    originals[count++] = (TableText){column->name, (uint32_t)strlen(column->name)};
    const char* name = add_name(&names, column->name);
    fits = table_is_text(table, i) ? write_states(table, i, name, sink, arena)
                                   : write_numbers(sink, name, column, table->row_count);
  }
  fits = fits && write_cells(sink, "names", originals, count, arena);
  fits = fits && (!any_unit || write_cells(sink, "units", units, count, arena));
  return fits ? sink_flush(sink) : SLT_ERR_LIMIT;
}

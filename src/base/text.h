// SPDX-License-Identifier: MIT
//
// Text is {pointer, length}; places are byte spans. Line and column exist only when printed.
#ifndef SALTUS_BASE_TEXT_H
#define SALTUS_BASE_TEXT_H

#include "base/alloc.h"

#include <stdarg.h>
#include <stdbool.h>

typedef struct Str {
  const char* data;
  uint32_t length;
} Str;

#define STR_LIT(literal) ((Str){(literal), (uint32_t)(sizeof(literal) - 1)})
#define STR_ARGS(s)      (int)(s).length, (s).data  // for "%.*s"

typedef struct Span {
  uint32_t begin;
  uint32_t end;  // one past the last byte; begin == end marks an insertion point
} Span;

Str str_from_c(const char* text);
bool str_equal(Str a, Str b);
/// Byte order; a prefix comes first.
int str_compare(Str a, Str b);
/// Order in which runs of digits compare as numbers ("x_9" before "x_10"); ties by bytes.
int str_compare_natural(Str a, Str b);
/// Copy into the arena, NUL-terminated behind its end.
Str str_copy(Arena* arena, Str s);
/// snprintf into the arena; supports %s %.*s %u %d %c %zu and friends, never floating point.
Str str_format(Arena* arena, const char* format, ...) __attribute__((format(printf, 2, 3)));
Str str_format_va(Arena* arena, const char* format, va_list args);
/// Damerau-Levenshtein distance in characters, `limit + 1` when larger; for "did you mean".
uint32_t str_distance(Str a, Str b, uint32_t limit);

Span span_join(Span a, Span b);

/// Length in bytes of the UTF-8 sequence at `s`, or 0 if it is invalid there; `code` may be NULL.
uint32_t utf8_decode(const char* s, size_t length, uint32_t* code);
/// Whether a character can be shown to a terminal: it takes a place there and does nothing else.
bool utf8_is_printable(uint32_t code);
/// Columns a text takes on a terminal, one per code point.
uint32_t utf8_count(Str s);

uint64_t hash_bytes(const void* data, size_t length, uint64_t seed);
uint64_t hash_mix(uint64_t a, uint64_t b);

/// Normal number (mean 0, deviation 1) that is a function of its arguments: number `count` of a
/// stream `seed` in a run of seed `run`, which is mixed in unless it is 0.
double noise_normal(uint64_t run, double seed, double count);

/// Growing text in an arena; used by printers.
typedef struct TextBuffer {
  Arena* arena;
  char* data;
  uint32_t length;
  uint32_t capacity;
} TextBuffer;

void text_append(TextBuffer* buffer, Str s);
void text_append_c(TextBuffer* buffer, const char* text);
void text_append_char(TextBuffer* buffer, char c);
void text_append_double(TextBuffer* buffer, double value);  // shortest decimal
void text_append_format(TextBuffer* buffer, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
void text_append_format_va(TextBuffer* buffer, const char* format, va_list args);
/// The text so far; NUL-terminated behind its end.
Str text_str(TextBuffer* buffer);

/// Interned names: equal text gives equal ids. Id 0 is "no name".
typedef struct NameTable {
  Arena* arena;
  BASE_VEC(Str) names;
  uint32_t* slots;
  uint32_t slot_count;  // 0: filled without an index, which the next new name brings
} NameTable;

void names_init(NameTable* table, Arena* arena);
uint32_t names_intern(NameTable* table, Str name);
/// 0 when the name was never interned.
uint32_t names_find(const NameTable* table, Str name);
Str names_get(const NameTable* table, uint32_t id);

#endif

// SPDX-License-Identifier: MIT
#include "base/text.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

#define DISTANCE_MAX 128  // names whose differing middle is longer are never "nearly equal"

Str str_from_c(const char* text) {
  if (!text) return STR_LIT("");
  size_t length = strlen(text);
  return (Str){text, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
}

bool str_equal(Str a, Str b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

int str_compare(Str a, Str b) {
  uint32_t shorter = a.length < b.length ? a.length : b.length;
  int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
  if (order != 0) return order;
  return (a.length > b.length) - (a.length < b.length);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The run of digits at `*at` without its leading zeros; `*at` moves behind the run.
static Str take_digits(Str s, uint32_t* at) {
  while (*at < s.length && s.data[*at] == '0')
    (*at)++;
  uint32_t begin = *at;
  while (*at < s.length && is_digit(s.data[*at]))
    (*at)++;
  return (Str){s.data + begin, *at - begin};
}

int str_compare_natural(Str a, Str b) {
  uint32_t i = 0;
  uint32_t j = 0;
  while (i < a.length && j < b.length) {
    if (is_digit(a.data[i]) && is_digit(b.data[j])) {
      Str left = take_digits(a, &i);
      Str right = take_digits(b, &j);
      if (left.length != right.length) return left.length < right.length ? -1 : 1;
      int order = str_compare(left, right);
      if (order != 0) return order;
      continue;
    }
    unsigned char left = (unsigned char)a.data[i++];
    unsigned char right = (unsigned char)b.data[j++];
    if (left != right) return left < right ? -1 : 1;
  }
  if (i < a.length) return 1;
  if (j < b.length) return -1;
  return str_compare(a, b);
}

Str str_copy(Arena* arena, Str s) {
  char* data = arena_alloc(arena, (size_t)s.length + 1, 1);
  if (s.length) memcpy(data, s.data, s.length);
  return (Str){data, s.length};
}

/// Code points of a text, at most DISTANCE_MAX; an invalid byte stands for itself. False if longer.
static bool code_points(Str s, uint32_t* out, uint32_t* count) {
  *count = 0;
  for (uint32_t i = 0; i < s.length;) {
    if (*count == DISTANCE_MAX) return false;
    uint32_t code = (unsigned char)s.data[i];
    uint32_t step = utf8_decode(s.data + i, s.length - i, &code);
    out[(*count)++] = code;
    i += step ? step : 1;
  }
  return true;
}

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/// Optimal string alignment distance of two short sequences, by three rolling rows.
static uint32_t alignment_distance(const uint32_t* a, uint32_t m, const uint32_t* b, uint32_t n) {
  uint32_t rows[3][DISTANCE_MAX + 1];
  for (uint32_t j = 0; j <= n; j++) {
    rows[0][j] = j;
  }
  for (uint32_t i = 1; i <= m; i++) {
    uint32_t* row = rows[i % 3];
    const uint32_t* above = rows[(i + 2) % 3];
    const uint32_t* before = rows[(i + 1) % 3];
    row[0] = i;
    for (uint32_t j = 1; j <= n; j++) {
      uint32_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      uint32_t best = min_u32(min_u32(above[j], row[j - 1]) + 1, above[j - 1] + cost);
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) best = min_u32(best, before[j - 2] + 1);
      row[j] = best;
    }
  }
  return rows[m % 3][n];
}

uint32_t str_distance(Str a, Str b, uint32_t limit) {
  uint32_t beyond = limit == UINT32_MAX ? limit : limit + 1;
  uint32_t left[DISTANCE_MAX];
  uint32_t right[DISTANCE_MAX];
  uint32_t m = 0;
  uint32_t n = 0;
  if (!code_points(a, left, &m) || !code_points(b, right, &n)) {
    return str_equal(a, b) ? 0 : beyond;
  }
  uint32_t gap = m > n ? m - n : n - m;
  if (gap > limit) return beyond;
  return min_u32(alignment_distance(left, m, right, n), beyond);
}

Span span_join(Span a, Span b) {
  return (Span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

uint32_t utf8_decode(const char* s, size_t length, uint32_t* code) {
  if (length == 0) return 0;
  const unsigned char* u = (const unsigned char*)s;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t size = 1;
  uint32_t value = u[0];
  if (u[0] >= 0x80) {
    if (u[0] < 0xc2 || u[0] > 0xf4) return 0;
    size = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    value = u[0] & (0x7fu >> size);
  }
  if (size > length) return 0;
  for (uint32_t i = 1; i < size; i++) {
    if ((u[i] & 0xc0) != 0x80) return 0;
    value = value << 6 | (u[i] & 0x3fu);
  }
  bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < least[size] || surrogate || value > 0x10ffff) return 0;
  if (code) *code = value;
  return size;
}

bool utf8_is_printable(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  bool reorders = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                  code == 0x200e || code == 0x200f || code == 0x061c;
  bool breaks_line = code == 0x2028 || code == 0x2029;
  return !reorders && !breaks_line && code != 0xfeff;
}

uint32_t utf8_count(Str s) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < s.length; count++) {
    uint32_t step = utf8_decode(s.data + i, s.length - i, NULL);
    i += step ? step : 1;
  }
  return count;
}

/// Formats go through the C library, whose floating point follows the locale: our own code must
/// not use it.
static bool format_is_safe(const char* format) {
  for (const char* c = format; *c; c++) {
    if (*c != '%') continue;
    c++;
    c += strspn(c, "-+ #0123456789.*hlzjtL");
    if (*c == '\0' || strchr("aAeEfFgGn", *c)) return false;
  }
  return true;
}

Str str_format_va(Arena* arena, const char* format, va_list args) {
  TextBuffer buffer = {.arena = arena};
  text_append_format_va(&buffer, format, args);
  return text_str(&buffer);
}

Str str_format(Arena* arena, const char* format, ...) {
  va_list args;
  va_start(args, format);
  Str s = str_format_va(arena, format, args);
  va_end(args);
  return s;
}

/// Make room for `extra` bytes and a NUL behind them.
static void text_reserve(TextBuffer* buffer, size_t extra) {
  size_t wanted = base_add_size(buffer->length, base_add_size(extra, 1));
  if (buffer->data && wanted <= buffer->capacity) return;
  if (wanted > UINT32_MAX) wanted = SIZE_MAX;  // leaves through the arena
  size_t capacity = 2 * (size_t)buffer->capacity;
  if (capacity > UINT32_MAX) capacity = UINT32_MAX;
  if (capacity < wanted) capacity = wanted;
  if (capacity < 64) capacity = 64;
  buffer->data = arena_grow(buffer->arena, buffer->data, buffer->capacity, capacity, 1);
  buffer->capacity = (uint32_t)capacity;
}

void text_append(TextBuffer* buffer, Str s) {
  if (s.length == 0) return;
  text_reserve(buffer, s.length);
  memcpy(buffer->data + buffer->length, s.data, s.length);
  buffer->length += s.length;
}

void text_append_c(TextBuffer* buffer, const char* text) {
  text_append(buffer, str_from_c(text));
}

void text_append_char(TextBuffer* buffer, char c) {
  text_reserve(buffer, 1);
  buffer->data[buffer->length++] = c;
}

void text_append_double(TextBuffer* buffer, double value) {
  text_reserve(buffer, NUMBER_TEXT_MAX);
  buffer->length += number_write(buffer->data + buffer->length, value);
}

void text_append_format_va(TextBuffer* buffer, const char* format, va_list args) {
  SLT_ASSERT(format_is_safe(format));
  (void)format_is_safe;
  text_reserve(buffer, 0);
  va_list again;
  va_copy(again, args);
  size_t room = buffer->capacity - buffer->length;
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the caller has started it
  int wanted = vsnprintf(buffer->data + buffer->length, room, format, args);
  if (wanted >= 0 && (size_t)wanted >= room) {
    text_reserve(buffer, (size_t)wanted);
    vsnprintf(buffer->data + buffer->length, (size_t)wanted + 1, format, again);
  }
  va_end(again);
  if (wanted > 0) buffer->length += (uint32_t)wanted;
}

void text_append_format(TextBuffer* buffer, const char* format, ...) {
  va_list args;
  va_start(args, format);
  text_append_format_va(buffer, format, args);
  va_end(args);
}

Str text_str(TextBuffer* buffer) {
  text_reserve(buffer, 0);
  buffer->data[buffer->length] = '\0';
  return (Str){buffer->data, buffer->length};
}

/// Bytes that can be shown as they are, and of the character behind them that cannot; 0 at the end.
static size_t plain_bytes(const char* text, size_t length, uint32_t* wrong) {
  size_t i = 0;
  *wrong = 0;
  while (i < length) {
    uint32_t code = 0;
    uint32_t size = utf8_decode(text + i, length - i, &code);
    if (!size || !(utf8_is_printable(code) || code == '\n' || code == '\t')) {
      *wrong = size ? size : 1;
      return i;
    }
    i += size;
  }
  return i;
}

SltStatus slt_write_clean(SltWriter writer, const char* text, size_t length) {
  if (!writer.write || (!text && length)) return SLT_ERR_ARGUMENT;
  for (size_t begin = 0; begin < length;) {
    uint32_t wrong = 0;
    size_t plain = plain_bytes(text + begin, length - begin, &wrong);
    if (plain) SLT_TRY(writer.write(writer.user, text + begin, plain));
    if (wrong) SLT_TRY(writer.write(writer.user, "?", 1));
    begin += plain + wrong;
  }
  return SLT_OK;
}

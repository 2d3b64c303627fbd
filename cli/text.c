// SPDX-License-Identifier: MIT
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/// Room for `extra` bytes more, and one behind them.
static bool make_room(Text* text, size_t extra) {
  if (text->failed) return false;
  if (extra < text->capacity - text->length) return true;
  size_t capacity = 2 * (text->length + extra) + 64;
  char* grown = realloc(text->data, capacity);
  text->failed = grown == NULL;
  if (!grown) return false;
  text->data = grown;
  text->capacity = capacity;
  return true;
}

void text_put(Text* text, const char* data, size_t length) {
  if (length == 0 || !make_room(text, length)) return;
  memcpy(text->data + text->length, data, length);
  text->length += length;
}

void text_put_format(Text* text, const char* format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length <= 0 || !make_room(text, (size_t)length)) return;
  va_start(args, format);
  vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
  va_end(args);
  text->length += (size_t)length;
}

void text_put_json(Text* text, const char* data, size_t length) {
  text_put(text, "\"", 1);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)data[i];
    if (c == '"' || c == '\\') {
      text_put_format(text, "\\%c", c);
    } else if (c == '\n') {
      text_put(text, "\\n", 2);
    } else if (c < 0x20 || c == 0x7f) {
      text_put_format(text, "\\u%04x", c);
    } else {
      text_put(text, data + i, 1);
    }
  }
  text_put(text, "\"", 1);
}

SltStatus text_keep(void* user, const char* data, size_t length) {
  Text* text = user;
  text_put(text, data, length);
  return text->failed ? SLT_ERR_NOMEM : SLT_OK;
}

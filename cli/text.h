// SPDX-License-Identifier: MIT
//
// Text that grows.
#ifndef SALTUS_CLI_TEXT_H
#define SALTUS_CLI_TEXT_H

#include "cli.h"

typedef struct Text {
  char* data;  // NULL while empty; free() it
  size_t length, capacity;
  bool failed;  // out of memory: something is missing
} Text;

void text_put(Text* text, const char* data, size_t length);
void text_put_format(Text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// As a string of JSON, with its quotes.
void text_put_json(Text* text, const char* data, size_t length);
/// SltWriteFn into a Text.
SltStatus text_keep(void* text, const char* data, size_t length);

#endif

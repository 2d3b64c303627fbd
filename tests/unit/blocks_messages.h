// SPDX-License-Identifier: MIT
//
// The last message of a world and how many there were, for tests of its faults.
#ifndef SALTUS_TESTS_BLOCKS_MESSAGES_H
#define SALTUS_TESTS_BLOCKS_MESSAGES_H

#include "blocks/blocks.h"

#include <stdio.h>

typedef struct Messages {
  uint32_t count;
  char code[8];
  char text[BLK_TEXT_MAX];
} Messages;

static inline void keep_message(void* user, SltSeverity severity, const char* code, double t,
                                const char* text) {
  (void)severity;
  (void)t;
  Messages* messages = user;
  messages->count++;
  snprintf(messages->code, sizeof messages->code, "%s", code);
  snprintf(messages->text, sizeof messages->text, "%s", text);
}

#endif

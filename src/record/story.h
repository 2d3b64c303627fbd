// SPDX-License-Identifier: MIT
//
// A run told in words: one paragraph for each instant, with what fired, why, what was tried and
// given up, what changed, and how the motion goes on. Instants that repeat are counted instead of
// told again.
#ifndef SALTUS_RECORD_STORY_H
#define SALTUS_RECORD_STORY_H

#include "record/sink.h"

typedef struct Story Story;

/// `all`: tell every instant. NULL when memory is exhausted.
Story* story_create(const SltAllocator* allocator, SltWriter writer, bool all);
void story_free(Story* story);

/// States of the visible automata after an instant.
typedef struct StoryMode {
  const char* const* automata;
  const char* const* states;
  uint32_t count;  // of those given here
  uint32_t more;   // that are not
} StoryMode;

/// Take one record; the texts are copied.
void story_event(Story* story, const SltEvent* event, const StoryMode* mode);
/// Tell what is still held back and how the run ended; `done` false when it failed.
SltStatus story_end(Story* story, double t, bool done);

#endif

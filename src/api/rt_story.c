// SPDX-License-Identifier: MIT
//
// The story of a run: records of a run and the names of its states, handed to record/story.
#include "record/record.h"

#define SHOWN 8  // automata whose states are told

struct SltStory {
  const SltSim* sim;
  SltAllocator allocator;
  Story* story;
};

SltStatus slt_story_create(const SltSim* sim, bool all, SltWriter writer, SltStory** out) {
  if (out) *out = NULL;
  if (!sim || !writer.write || !out) return SLT_ERR_ARGUMENT;
  SltAllocator allocator = base_allocator(NULL);
  SltStory* story = base_alloc(&allocator, sizeof *story);
  if (!story) return SLT_ERR_NOMEM;
  *story = (SltStory){
      .sim = sim, .allocator = allocator, .story = story_create(&allocator, writer, all)};
  if (!story->story) {
    slt_story_free(story);
    return SLT_ERR_NOMEM;
  }
  *out = story;
  return SLT_OK;
}

void slt_story_free(SltStory* story) {
  if (!story) return;
  SltAllocator allocator = story->allocator;
  story_free(story->story);
  base_free(&allocator, story, sizeof *story);
}

void slt_story_event(void* story, const SltEvent* event) {
  SltStory* s = story;
  if (!s || !event) return;
  const char* automata[SHOWN];
  const char* states[SHOWN];
  uint32_t count = slt_sim_automaton_count(s->sim);
  uint32_t shown = count < SHOWN ? count : SHOWN;
  for (uint32_t i = 0; i < shown; i++) {
    automata[i] = slt_sim_automaton_name(s->sim, i);
    states[i] = slt_sim_automaton_state(s->sim, i);
  }
  StoryMode mode = {automata, states, shown, count - shown};
  story_event(s->story, event, &mode);
}

SltStatus slt_story_end(SltStory* story, SltStatus status) {
  if (!story) return SLT_ERR_ARGUMENT;
  return story_end(story->story, slt_sim_time(story->sim), status >= 0);
}

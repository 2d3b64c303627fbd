// SPDX-License-Identifier: MIT
//
// Who reads what: from what registers hold at the beginning of a program to the outputs whose
// slices read it.
#include "model/model.h"

#include <string.h>

typedef struct Reading {
  const ModelProgram* program;
  BaseLists* lists;
  const uint32_t* key;  // per register: what it holds at the beginning
  uint32_t* seen;       // per key: last output that reads it, + 1
  uint32_t key_count, output;
} Reading;

static void note_read(void* user, uint32_t reg) {
  const Reading* r = user;
  uint32_t key = r->key[reg];
  if (key == MODEL_NONE || r->seen[key] == r->output + 1) return;
  r->seen[key] = r->output + 1;
  base_lists_add(r->lists, key, r->output);
}

static void visit_outputs(BaseLists* lists, void* user) {
  Reading* r = user;
  r->lists = lists;
  memset(r->seen, 0, r->key_count * sizeof *r->seen);
  for (r->output = 0; r->output < r->program->output_count; r->output++) {
    model_program_visit_reads(r->program, r->output, note_read, r);
  }
}

bool model_program_list_readers(const ModelProgram* program, const uint32_t* key,
                                uint32_t key_count, uint32_t* seen, const SltAllocator* a,
                                BaseLists* readers) {
  const ModelSlices* slices = program->slices;
  if (!slices) return false;
  for (uint32_t k = 0; k < program->output_count; k++) {
    if (slices->whole[k]) return false;
  }
  Reading reading = {.program = program, .key = key, .seen = seen, .key_count = key_count};
  return base_lists_make(readers, a, key_count, visit_outputs, &reading);
}

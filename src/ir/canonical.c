// SPDX-License-Identifier: MIT
//
// Canonical order: the same model whatever the order of its declarations.
#include "ir/canonical.h"

/// Members of automata by their `automaton` field: list[first[a] .. first[a + 1]), order kept.
static void group_states(Canon* canon) {
  const IrModel* model = canon->model;
  size_t count = (size_t)model->automata.count + 1;
  canon->state_first = ARENA_ARRAY(canon->arena, uint32_t, count);
  canon->state_list = ARENA_ARRAY(canon->arena, uint32_t, model->states.count);
  for (uint32_t i = 0; i < model->states.count; i++) {
    canon->state_first[model->states.data[i].automaton + 1]++;
  }
  uint32_t* at = ARENA_ARRAY(canon->arena, uint32_t, count);
  for (uint32_t a = 0; a < model->automata.count; a++) {
    canon->state_first[a + 1] += canon->state_first[a];
    at[a] = canon->state_first[a];
  }
  for (uint32_t i = 0; i < model->states.count; i++) {
    canon->state_list[at[model->states.data[i].automaton]++] = i;
  }
}

static void group_transitions(Canon* canon) {
  const IrModel* model = canon->model;
  size_t count = (size_t)model->automata.count + 1;
  canon->transition_first = ARENA_ARRAY(canon->arena, uint32_t, count);
  canon->transition_list = ARENA_ARRAY(canon->arena, uint32_t, model->transitions.count);
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    canon->transition_first[model->transitions.data[i].automaton + 1]++;
  }
  uint32_t* at = ARENA_ARRAY(canon->arena, uint32_t, count);
  for (uint32_t a = 0; a < model->automata.count; a++) {
    canon->transition_first[a + 1] += canon->transition_first[a];
    at[a] = canon->transition_first[a];
  }
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    canon->transition_list[at[model->transitions.data[i].automaton]++] = i;
  }
}

static void canonicalise(Canon* canon) {
  group_states(canon);
  group_transitions(canon);
  canon_rank_names(canon);
  canon_rank_numbers(canon);
  canon_rank_nodes(canon);
  canon_rank_atoms(canon);
  canon_rank_equations(canon);
  canon_rank_automata(canon);
  canon_apply(canon);
}

/// False when memory ran out.
static bool canonicalise_guarded(IrModel* model, Arena* scratch, jmp_buf* failed) {
  if (setjmp(*failed)) return false;
  Canon* canon = ARENA_NEW(scratch, Canon);
  canon->model = model;
  canon->arena = scratch;
  canon->sorter.arena = scratch;
  canonicalise(canon);
  return true;
}

void ir_canonicalise(IrModel* model) {
  // the scratch arena must not be lost when memory runs out, in it or in the model's own
  jmp_buf failed;
  jmp_buf* outer = model->arena->on_oom;
  Arena scratch;
  arena_init(&scratch, &model->arena->allocator, &failed);
  model->arena->on_oom = &failed;
  bool done = canonicalise_guarded(model, &scratch, &failed);
  model->arena->on_oom = outer;
  arena_free(&scratch);
  if (!done) longjmp(*outer, 1);
}

// SPDX-License-Identifier: MIT
//
// Structural check of the modes one step away from the first one.
#include "model/build_internal.h"

#include <string.h>

typedef struct CheckFailure {
  const Diag* diag;
} CheckFailure;

typedef struct Check {
  uint32_t* mode;  // to look at next
  bool keep;       // its analysis: every run begins in the first mode
  BASE_VEC(CheckFailure) failures;
} Check;

/// The same equations fail in the same way; only the name of the mode differs.
static bool same_failure(const Diag* a, const Diag* b) {
  bool same = a->code == b->code && a->span.begin == b->span.begin && a->span.end == b->span.end &&
              a->notes.count == b->notes.count;
  for (uint32_t i = 0; same && i < a->notes.count; i++) {
    Span left = a->notes.data[i].span;
    Span right = b->notes.data[i].span;
    same = left.begin == right.begin && left.end == right.end;
  }
  return same;
}

static void check_begin(ModelBuild* build, void* argument) {
  Check* check = argument;
  if (build->failure)
    base_vec_push(&build->arena, &check->failures, (CheckFailure){build->failure});
  check->mode = ARENA_ARRAY(&build->arena, uint32_t, build->ir->automata.count);
}

static void check_mode(ModelBuild* build, void* argument) {
  Check* check = argument;
  const Diag* failure =
      check->keep ? build_set(build, check->mode)->failure : build_failure(build, check->mode);
  if (!failure) return;
  for (uint32_t i = 0; i < check->failures.count; i++) {
    if (same_failure(check->failures.data[i].diag, failure)) return;
  }
  base_vec_push(&build->arena, &check->failures, (CheckFailure){failure});
}

/// Put a nested automaton and those around it into the states in which it is in `state`.
static void enter(const ModelBuild* build, uint32_t* mode, uint32_t automaton, uint32_t state) {
  while (automaton != MODEL_NONE) {
    mode[automaton] = state;
    const ModelAutomaton* inner = &build->model.automata[automaton];
    automaton = inner->parent_automaton;
    state = inner->parent_state;
  }
}

static void leave(const ModelBuild* build, uint32_t* mode, uint32_t automaton) {
  while (automaton != MODEL_NONE) {
    mode[automaton] = 0;
    automaton = build->model.automata[automaton].parent_automaton;
  }
}

/// One guarded call per mode, so that the work space of one is free for the next.
static bool check_modes(ModelBuild* build, Check* check, uint32_t limit) {
  if (!build_guarded(build, check_begin, check)) return false;
  if (limit == 0) return true;
  check->keep = true;
  if (!build_guarded(build, check_mode, check)) return false;
  check->keep = false;
  limit--;
  for (uint32_t i = 0; i < build->editor_count; i++) {
    uint32_t automaton = build->editors[i];
    uint32_t states = build->model.automata[automaton].state_count;
    for (uint32_t s = 1; s < states && limit > 0; s++, limit--) {
      enter(build, check->mode, automaton, s);
      if (!build_guarded(build, check_mode, check)) return false;
      leave(build, check->mode, automaton);
    }
  }
  return true;
}

static void copy_diag(DiagList* diags, const Diag* from) {
  Diag* diag = diag_add(diags, from->code, from->span, "%.*s", STR_ARGS(from->message));
  if (from->hint.length) diag_hint(diags, diag, "%.*s", STR_ARGS(from->hint));
  for (uint32_t i = 0; i < from->notes.count; i++) {
    const DiagNote* note = &from->notes.data[i];
    diag_note(diags, diag, note->span, "%.*s", STR_ARGS(note->text));
  }
}

void model_build_check(ModelBuild* build, uint32_t limit, DiagList* diags) {
  Check check = {0};
  pthread_mutex_lock(&build->mutex);
  bool done = check_modes(build, &check, limit);
  pthread_mutex_unlock(&build->mutex);
  // the list's arena may leave by a jump: only without the lock
  if (!done) longjmp(*diags->arena->on_oom, 1);
  for (uint32_t i = 0; i < check.failures.count; i++) {
    copy_diag(diags, check.failures.data[i].diag);
  }
}

// SPDX-License-Identifier: MIT
//
// Structural check before a run: the first mode, which every run begins in, and, where somebody
// asks for it, the modes one step away from it, one of each family. Other modes are analysed when
// they are entered, and what no run enters is never an error.
#include "model/build_internal.h"

#include <math.h>
#include <string.h>

typedef BASE_VEC(const Diag*) Failures;

typedef struct Check {
  uint32_t* mode;  // to look at next
  bool keep;       // its analysis: every run begins in the first mode
  const Diag* first;
  Failures others;
  WordMap families;    // of automata already looked at
  uint32_t automaton;  // the family of this one...
  bool known;          // ...was looked at before
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
  check->first = build->failure;
  check->mode = ARENA_ARRAY(&build->arena, uint32_t, build->ir->automata.count);
}

static void check_mode(ModelBuild* build, void* argument) {
  Check* check = argument;
  if (check->keep) {
    if (!check->first) check->first = build_set(build, check->mode)->failure;
    return;
  }
  const Diag* failure = build_failure(build, check->mode);
  if (!failure || (check->first && same_failure(check->first, failure))) return;
  for (uint32_t i = 0; i < check->others.count; i++) {
    if (same_failure(check->others.data[i], failure)) return;
  }
  base_vec_push(&build->arena, &check->others, failure);
}

typedef BASE_VEC(uint32_t) Words;

/// What the states of an automaton do to the equations, by the place in the text and the shape:
/// members of a loop are one family.
static void find_family(ModelBuild* build, void* argument) {
  Check* check = argument;
  const IrModel* ir = build->ir;
  const IrAutomaton* automaton = (IrAutomaton[]){ir_automaton(ir, check->automaton)};
  Words words = {0};
  base_vec_push(&build->scratch, &words, build->model.automata[check->automaton].parent_state);
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    uint32_t body = ir_state(ir, automaton->state_begin + s).body;
    base_vec_push(&build->scratch, &words, IR_NONE);
    if (body == IR_NONE) continue;
    const IrBody* edits = &ir->bodies.data[body];
    base_vec_push(&build->scratch, &words, edits->delete_count);
    for (uint32_t k = 0; k < edits->equation_count; k++) {
      const IrEquation* equation = (IrEquation[]){ir_equation(ir, edits->equation_begin + k)};
      base_vec_push(&build->scratch, &words, equation->span.begin);
      base_vec_push(&build->scratch, &words, equation->term.shape.index);
    }
  }
  check->known = words_find(&check->families, words.data, words.count) != NULL;
  if (!check->known) {
    words_add(&check->families, &build->arena, words.data, words.count, check->mode);
  }
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
static bool check_modes(ModelBuild* build, Check* check, uint32_t limit, double* unseen) {
  if (!build_guarded(build, check_begin, check)) return false;
  check->keep = true;
  if (!build_guarded(build, check_mode, check)) return false;
  check->keep = false;
  double all = 1.0;
  double seen = 1.0;
  for (uint32_t i = 0; i < build->editor_count; i++) {
    uint32_t automaton = build->editors[i];
    uint32_t states = build->model.automata[automaton].state_count;
    all *= (double)states;
    if (limit == 0) continue;
    check->automaton = automaton;
    if (!build_guarded(build, find_family, check)) return false;
    for (uint32_t s = 1; s < states && limit > 0 && !check->known; s++, limit--) {
      enter(build, check->mode, automaton, s);
      if (!build_guarded(build, check_mode, check)) return false;
      leave(build, check->mode, automaton);
      seen++;
    }
  }
  *unseen = all - seen;
  return true;
}

/// A message about a mode that every run enters, or a warning about one that a run may enter.
static void tell(DiagList* diags, const Diag* from, bool entered) {
  Diag* diag = entered
                   ? diag_add(diags, from->code, from->span, "%.*s", STR_ARGS(from->message))
                   : diag_add(diags, DIAG_W0520, from->span,
                              "a run that comes to it would end: %.*s", STR_ARGS(from->message));
  if (from->hint.length) diag_hint(diags, diag, "%.*s", STR_ARGS(from->hint));
  for (uint32_t i = 0; i < from->notes.count; i++) {
    const DiagNote* note = &from->notes.data[i];
    diag_note(diags, diag, note->span, "%.*s", STR_ARGS(note->text));
  }
}

double model_build_check(ModelBuild* build, uint32_t limit, DiagList* diags) {
  Check check = {0};
  double unseen = 0.0;
  pthread_mutex_lock(&build->mutex);
  bool done = check_modes(build, &check, limit, &unseen);
  pthread_mutex_unlock(&build->mutex);
  // the list's arena may leave by a jump: only without the lock
  if (!done) longjmp(*diags->arena->on_oom, 1);
  if (check.first) tell(diags, check.first, true);
  for (uint32_t i = 0; i < check.others.count; i++) {
    tell(diags, check.others.data[i], false);
  }
  return unseen;
}

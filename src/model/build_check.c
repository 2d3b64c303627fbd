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
  bool kept_wanted;
  const Diag* first;
  Failures others;
  WordMap families;    // of automata already looked at
  uint32_t automaton;  // the family of this one...
  bool known;          // ...was looked at before
  uint8_t* kept;       // per action: Kept, in the modes looked at; NULL: nobody asks
  bool* edits;         // per automaton: its states have equations
} Check;

/// What becomes of values that are set.
enum { KEPT_SOMEWHERE = 1, LOST_SOMEWHERE = 2 };

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
  if (!check->kept_wanted) return;
  check->kept = ARENA_ARRAY(&build->arena, uint8_t, build->model.action_count + 1);
  check->edits = ARENA_ARRAY(&build->arena, bool, build->model.automaton_count + 1);
  for (uint32_t i = 0; i < build->editor_count; i++) {
    check->edits[build->editors[i]] = true;
  }
}

static void note_actions(const ModelBuild* build, Check* check, const SymMode* sym, uint32_t begin,
                         uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const ModelAction* action = &build->model.actions[i];
    const SymVar* var = &sym->vars[action->var];
    bool lost =
        var->role == SYM_ALGEBRAIC || (var->role == SYM_STATE && action->order >= var->order);
    bool matters = lost && !action->guess && !build->model.vars[action->var].hidden;
    check->kept[i] |= matters ? LOST_SOMEWHERE : KEPT_SOMEWHERE;
  }
}

/// What becomes of the values that are set on the way into a mode, or in it.
static void note_assigned(const ModelBuild* build, Check* check, const SymMode* sym) {
  const Model* model = &build->model;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    for (uint32_t s = 0; s < model->automata[a].state_count; s++) {
      const ModelState* state = &model->automata[a].states[s];
      if (check->edits[a] && check->mode[a] != s) continue;
      note_actions(build, check, sym, state->action_begin, state->action_count);
    }
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    const ModelTransition* t = &model->transitions[i];
    if (check->edits[t->automaton] && check->mode[t->automaton] != t->to) continue;
    note_actions(build, check, sym, t->action_begin, t->action_count);
  }
  for (uint32_t i = 0; i < model->schedule_count; i++) {
    note_actions(build, check, sym, model->schedules[i].action_begin,
                 model->schedules[i].action_count);
  }
}

static void check_mode(ModelBuild* build, void* argument) {
  Check* check = argument;
  if (check->keep) {
    const BuildSet* set = build_set(build, check->mode);
    if (!check->first) check->first = set->failure;
    if (check->kept && !set->failure) note_assigned(build, check, set->sym);
    return;
  }
  const SymMode* sym = NULL;
  const Diag* failure = build_failure(build, check->mode, &sym);
  if (!failure) note_assigned(build, check, sym);
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

/// Values that are set and lost in every mode looked at.
static void tell_lost(const ModelBuild* build, const Check* check, DiagList* diags) {
  Span last = {0, 0};
  for (uint32_t i = 0; check->kept && i < build->model.action_count; i++) {
    const ModelAction* action = &build->model.actions[i];
    bool again = action->span.begin == last.begin && action->span.end == last.end;  // in a loop
    if (check->kept[i] != LOST_SOMEWHERE || again) continue;
    last = action->span;
    Diag* diag = diag_add(diags, DIAG_W0433, action->span,
                          "a run that comes to it would end: '%.*s%.*s' is set here, and an "
                          "equation computes it in every mode that was looked at",
                          STR_ARGS(build->model.vars[action->var].name), (int)action->order,
                          "'''''''''''''''");
    diag_hint(diags, diag,
              "what is set would be gone at once: set what the equation reads, or leave one of the "
              "two out");
  }
}

double model_build_check(ModelBuild* build, uint32_t limit, DiagList* diags) {
  Check check = {.kept_wanted = limit > 0};
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
  if (!check.first) tell_lost(build, &check, diags);
  return unseen;
}

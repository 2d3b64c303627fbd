// SPDX-License-Identifier: MIT
//
// Atoms, guards, automata, actions and schedules.
#include "model/build_internal.h"

#include <stdlib.h>

static ModelGuard build_guard(ModelBuild* build, IrTerm term) {
  ModelGuard guard = {.term = {.shape = NULL}};
  if (!ir_term_present(term)) return guard;
  guard.term = build_term(build, term);
  SymTerm row = sym_term(&build->sym, term);
  guard.atoms = build_row_atoms(&build->arena, row.row, row.count, &guard.atom_count);
  for (uint32_t k = 0; k < row.count; k++) {
    guard.has_mode_test |= row.row[k].kind == IR_LEAF_MODE;
  }
  return guard;
}

static const ModelGuard* optional_guard(ModelBuild* build, IrTerm term) {
  if (!ir_term_present(term)) return NULL;
  ModelGuard* guard = ARENA_NEW(&build->arena, ModelGuard);
  *guard = build_guard(build, term);
  return guard;
}

static const ModelTerm* optional_term(ModelBuild* build, IrTerm term) {
  if (!ir_term_present(term)) return NULL;
  ModelTerm* out = ARENA_NEW(&build->arena, ModelTerm);
  *out = build_term(build, term);
  return out;
}

/// The relation as written; as printed when there is no source. `before`: the atom before it.
static Str atom_text(ModelBuild* build, const IrAtom* atom, const ModelAtom* before) {
  const Source* source = build->ir->source;
  Span span = atom->span;
  if (atom->text.length) {
    bool same = before && str_equal(before->written->text, atom->text);
    return same ? before->written->text : str_copy(&build->arena, atom->text);
  }
  if (source && span.begin < span.end && span.end <= source->text.length) {
    // instances of a loop have one text
    const ModelAtomText* last = before ? before->written : NULL;
    if (last && last->span.begin == span.begin && last->span.end == span.end) return last->text;
    // NUL-terminated: it goes out with event records
    return str_copy(&build->arena, (Str){source->text.data + span.begin, span.end - span.begin});
  }
  TextBuffer out = {.arena = &build->arena};
  ir_print_term(&out, build->ir, atom->g);
  static const char* const relations[] = {" > 0", " >= 0", " == 0"};
  text_append_c(&out, relations[atom->relation <= IR_REL_EQ ? atom->relation : 0]);
  return text_str(&out);
}

/// What is written about an atom: that of `before`, the atom before it, where it is the same.
static const ModelAtomText* atom_written(ModelBuild* build, const IrAtom* atom,
                                         const ModelAtom* before) {
  ModelAtomText written = {.text = atom_text(build, atom, before),
                           .line = build_line(build, atom->span),
                           .span = atom->span};
  bool same = before && before->written->text.data == written.text.data &&
              before->written->span.begin == written.span.begin &&
              before->written->span.end == written.span.end;
  if (same) return before->written;
  ModelAtomText* kept = ARENA_NEW(&build->arena, ModelAtomText);
  *kept = written;
  return kept;
}

static const ModelAtomOptions* atom_options(ModelBuild* build, const IrAtom* atom) {
  if (!ir_term_present(atom->eps) && !ir_term_present(atom->gamma)) return NULL;
  ModelAtomOptions* options = ARENA_NEW(&build->arena, ModelAtomOptions);
  options->eps = optional_term(build, atom->eps);
  options->gamma = optional_term(build, atom->gamma);
  return options;
}

static void atom_reads(ModelBuild* build, const IrAtom* atom, ModelAtom* out) {
  SymTerm term = sym_term(&build->sym, atom->g);
  uint32_t count = 0;
  for (uint32_t k = 0; k < term.count; k++) {
    count += term.row[k].kind == IR_LEAF_VAR;
  }
  ModelRead* reads = ARENA_ARRAY(&build->arena, ModelRead, count);
  out->time_only = true;
  for (uint32_t k = 0; k < term.count; k++) {
    IrLeaf leaf = term.row[k];
    if (leaf.kind != IR_LEAF_VAR) continue;
    reads[out->read_count++] =
        (ModelRead){.var = leaf.id, .order = leaf.order, .when = (uint8_t)leaf.when};
    if (ir_var(build->ir, leaf.id).kind == IR_VAR_UNKNOWN) out->time_only = false;
  }
  out->reads = reads;
}

static void build_atoms(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelAtom* atoms = ARENA_ARRAY(&build->arena, ModelAtom, ir->atoms.count);
  for (uint32_t i = 0; i < ir->atoms.count; i++) {
    const IrAtom* atom = (IrAtom[]){ir_atom(ir, i)};
    atoms[i] = (ModelAtom){.type = atom->type,
                           .relation = atom->relation,
                           .bipolar = atom->bipolar,
                           .kink = atom->kink,
                           .continuous = atom->continuous && atom->type < IR_ATOM_PULSE,
                           .written = atom_written(build, atom, i > 0 ? &atoms[i - 1] : NULL),
                           .options = atom_options(build, atom),
                           .env = build->layout.atom_begin + i};
    atom_reads(build, atom, &atoms[i]);
  }
  build->model.atoms = atoms;
  build->model.atom_count = ir->atoms.count;
}

static int compare_actions(const void* a, const void* b) {
  const ModelAction* x = a;
  const ModelAction* y = b;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/// Random numbers are drawn in the order of the text, whatever the variables are called.
static void order_group(ModelAction* actions, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin + 1; i < begin + count; i++) {
    if (actions[i - 1].rank <= actions[i].rank) continue;
    qsort(actions + begin, count, sizeof *actions, compare_actions);
    return;
  }
}

static void order_groups(const IrModel* ir, ModelAction* actions) {
  for (uint32_t i = 0; i < ir->states.count; i++) {
    IrState state = ir_state(ir, i);
    order_group(actions, state.action_begin, state.action_count);
  }
  for (uint32_t i = 0; i < ir->transitions.count; i++) {
    IrTransition t = ir_transition(ir, i);
    order_group(actions, t.action_begin, t.action_count);
  }
  for (uint32_t i = 0; i < ir->schedules.count; i++) {
    const IrSchedule* s = &ir->schedules.data[i];
    order_group(actions, s->action_begin, s->action_count);
  }
}

static void build_actions(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelAction* actions = ARENA_ARRAY(&build->arena, ModelAction, ir->actions.count);
  for (uint32_t i = 0; i < ir->actions.count; i++) {
    const IrAction* action = (IrAction[]){ir_action(ir, i)};
    actions[i] = (ModelAction){.var = action->var,
                               .order = action->order,
                               .guess = action->kind == IR_ACTION_GUESS,
                               .env = build->layout.var_env[action->var] + action->order,
                               .rank = action->appearance,
                               .value = build_term(build, action->value),
                               .span = action->span};
  }
  order_groups(ir, actions);
  build->model.actions = actions;
  build->model.action_count = ir->actions.count;
}

static void build_transitions(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelTransition* transitions = ARENA_ARRAY(&build->arena, ModelTransition, ir->transitions.count);
  for (uint32_t i = 0; i < ir->transitions.count; i++) {
    const IrTransition* t = (IrTransition[]){ir_transition(ir, i)};
    const uint32_t* from = t->from_count ? ir->from_states.data + t->from_begin : NULL;
    transitions[i] = (ModelTransition){.automaton = t->automaton,
                                       .from = from,
                                       .from_count = t->from_count,
                                       .to = t->to,
                                       .guard = build_guard(build, t->guard),
                                       .zeno = t->zeno,
                                       .instead = t->instead,
                                       .by_lot = t->by_lot,
                                       .negated = t->negated,
                                       .made = t->made,
                                       .action_begin = t->action_begin,
                                       .action_count = t->action_count,
                                       .line = build_line(build, t->span),
                                       .span = t->span};
  }
  build->model.transitions = transitions;
  build->model.transition_count = ir->transitions.count;
}

static bool spans_equal(Span a, Span b) {
  return a.begin == b.begin && a.end == b.end;
}

/// What is written about a state: that of a state of the automaton before, where it is the same.
static const ModelStateText* state_written(ModelBuild* build, const IrState* state,
                                           const ModelStateText* before) {
  Str name = names_get(&build->ir->names, state->name);
  bool stops = state->stop.data != NULL;
  bool same = before && spans_equal(before->span, state->span) &&
              spans_equal(before->invariant_span, state->invariant_span) &&
              before->stops == stops && str_equal(before->name, name) &&
              str_equal(before->stop_text, state->stop);
  if (same) return before;
  ModelStateText* written = ARENA_NEW(&build->arena, ModelStateText);
  *written =
      (ModelStateText){.name = name,
                       .invariant_span = state->invariant_span,
                       .stops = stops,
                       .keeps = stops && state->body == IR_NONE,
                       .stop_text = stops ? str_copy(&build->arena, state->stop) : state->stop,
                       .line = build_line(build, state->span),
                       .span = state->span};
  return written;
}

/// The states of all automata in one array, as in the IR, with the transitions that leave them.
static ModelState* build_states(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelState* states = ARENA_ARRAY(&build->arena, ModelState, ir->states.count);
  uint32_t automaton = IR_NONE;
  uint32_t begin = 0;   // of the automaton
  uint32_t before = 0;  // of the one before it
  for (uint32_t i = 0; i < ir->states.count; i++) {
    const IrState* state = (IrState[]){ir_state(ir, i)};
    if (state->automaton != automaton) {
      automaton = state->automaton;
      before = begin;
      begin = i;
    }
    uint32_t like = before + (i - begin);
    const ModelStateText* known = like < begin ? states[like].written : NULL;
    states[i] = (ModelState){.written = state_written(build, state, known),
                             .action_begin = state->action_begin,
                             .action_count = state->action_count,
                             .invariant = optional_guard(build, state->invariant),
                             .test_env = build->layout.test_env[i]};
  }
  return states;
}

static void build_outgoing(ModelBuild* build, ModelState* states) {
  const IrModel* ir = build->ir;
  uint32_t** lists = ARENA_ARRAY(&build->scratch, uint32_t*, ir->states.count);
  for (uint32_t pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < ir->transitions.count; i++) {
      const IrTransition* t = (IrTransition[]){ir_transition(ir, i)};
      uint32_t base = ir_automaton(ir, t->automaton).state_begin;
      for (uint32_t k = 0; k < t->from_count; k++) {
        uint32_t state = base + ir->from_states.data[t->from_begin + k];
        // counted first, then listed in order of priority
        if (pass) lists[state][states[state].outgoing_count] = i;
        states[state].outgoing_count++;
      }
    }
    for (uint32_t s = 0; s < ir->states.count && pass == 0; s++) {
      if (states[s].outgoing_count == 0) continue;
      lists[s] = ARENA_ARRAY(&build->arena, uint32_t, states[s].outgoing_count);
      states[s].outgoing = lists[s];
      states[s].outgoing_count = 0;
    }
  }
}

static void place_parent(const IrModel* ir, uint32_t body, ModelAutomaton* out) {
  out->parent_automaton = MODEL_NONE;
  out->parent_state = MODEL_NONE;
  if (body == IR_NONE || ir->bodies.data[body].automaton == IR_NONE) return;
  out->parent_automaton = ir->bodies.data[body].automaton;
  out->parent_state = ir->bodies.data[body].state;
}

static void build_automaton_list(ModelBuild* build, const ModelState* states) {
  const IrModel* ir = build->ir;
  ModelAutomaton* automata = ARENA_ARRAY(&build->arena, ModelAutomaton, ir->automata.count);
  uint32_t* editors = ARENA_ARRAY(&build->arena, uint32_t, ir->automata.count);
  for (uint32_t i = 0; i < ir->automata.count; i++) {
    const IrAutomaton* a = (IrAutomaton[]){ir_automaton(ir, i)};
    bool is_switch = a->kind == IR_AUTOMATON_SWITCH;
    automata[i] =
        (ModelAutomaton){.name = names_get(&ir->names, a->name),
                         .kind = is_switch ? MODEL_AUTOMATON_SWITCH : MODEL_AUTOMATON_USER,
                         .hidden = a->hidden,
                         .yields = a->yields,
                         .ranked = a->ranked,
                         .has_bodies = sym_edits_equations(ir, i),
                         .condition = optional_guard(build, a->condition),
                         .states = states + a->state_begin,
                         .state_count = a->state_count,
                         .entry_env = build->layout.entry_env[i],
                         .rank = a->appearance,
                         .line = build_line(build, a->span),
                         .span = a->span};
    place_parent(ir, a->parent_body, &automata[i]);
    if (automata[i].has_bodies) editors[build->editor_count++] = i;
  }
  build->editors = editors;
  build->edit_words = ARENA_ARRAY(&build->arena, uint32_t, build->editor_count);
  build->model.automata = automata;
  build->model.automaton_count = ir->automata.count;
}

/// The states that an `at` enters, in the order of the text.
static const ModelGoto* build_gotos(ModelBuild* build, const IrSchedule* s) {
  if (s->goto_count == 0) return NULL;
  ModelGoto* gotos = ARENA_ARRAY(&build->arena, ModelGoto, s->goto_count);
  const IrGoto* written = build->ir->gotos.data + s->goto_begin;
  uint32_t* place = ARENA_ARRAY(&build->scratch, uint32_t, s->goto_count);
  for (uint32_t k = 0; k < s->goto_count; k++) {
    uint32_t at = k;
    for (; at > 0 && written[place[at - 1]].appearance > written[k].appearance; at--) {
      place[at] = place[at - 1];
    }
    place[at] = k;
  }
  for (uint32_t k = 0; k < s->goto_count; k++) {
    gotos[k] = (ModelGoto){written[place[k]].automaton, written[place[k]].state};
  }
  return gotos;
}

/// The schedules in the order of the text: those of one time and priority fire in it.
static void build_schedules(ModelBuild* build) {
  const IrModel* ir = build->ir;
  ModelSchedule* schedules = ARENA_ARRAY(&build->arena, ModelSchedule, ir->schedules.count);
  uint32_t* in_text = ARENA_ARRAY(&build->scratch, uint32_t, ir->schedules.count);
  for (uint32_t i = 0; i < ir->schedules.count; i++) {
    uint32_t at = i;
    for (; at > 0 &&
           ir->schedules.data[in_text[at - 1]].appearance > ir->schedules.data[i].appearance;
         at--) {
      in_text[at] = in_text[at - 1];
    }
    in_text[at] = i;
  }
  for (uint32_t i = 0; i < ir->schedules.count; i++) {
    const IrSchedule* s = &ir->schedules.data[in_text[i]];
    schedules[i] =
        (ModelSchedule){.start = build_term(build, s->start),
                        .periodic = ir_term_present(s->period),
                        .count = s->count,
                        .priority = s->priority,
                        .action_begin = s->action_begin,
                        .action_count = s->action_count,
                        .gotos = build_gotos(build, s),
                        .goto_count = s->goto_count,
                        .stops = s->stop.data != NULL,
                        .stop_text = s->stop.data ? str_copy(&build->arena, s->stop) : s->stop,
                        .line = build_line(build, s->span),
                        .span = s->span};
    if (schedules[i].periodic) schedules[i].period = build_term(build, s->period);
  }
  build->model.schedules = schedules;
  build->model.schedule_count = ir->schedules.count;
}

void build_automata(ModelBuild* build) {
  build_atoms(build);
  build_actions(build);
  build_transitions(build);
  ModelState* states = build_states(build);
  build_outgoing(build, states);
  build_automaton_list(build, states);
  build_schedules(build);
}

// SPDX-License-Identifier: MIT
//
// Checks and decisions that need the whole model.
#include "lisma/lower.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------
// `like`

/// Whether following `like` from a state comes back to it.
static bool like_cycles(const Lower* l, uint32_t from) {
  uint32_t at = l->automata.states.data[from].like;
  for (uint32_t steps = 0; at != IR_NONE && steps <= l->automata.states.count; steps++) {
    if (at == from) return true;
    at = l->automata.states.data[at].like;
  }
  return false;
}

static void finish_likes(Lower* l) {
  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    StateInfo* state = &l->automata.states.data[i];
    if (state->like == IR_NONE || !like_cycles(l, i)) continue;
    lower_report(l, DIAG_E0405, state->like_name->span, "'%.*s' is made like itself",
                 STR_ARGS(lower_name(l, state->name)));
    state->like = IR_NONE;
  }
  // every child gets a body, and then every body its parent
  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    StateInfo* state = &l->automata.states.data[i];
    if (state->like == IR_NONE || state->body != IR_NONE) continue;
    state->body = lower_add_body(l, state->automaton, state->index);
    l->m->states.data[state->ir].body = state->body;
  }
  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    const StateInfo* state = &l->automata.states.data[i];
    if (state->like == IR_NONE) continue;
    l->m->bodies.data[state->body].parent = l->automata.states.data[state->like].body;
  }
}

// ---------------------------------------------------------------------------------------------
// `if` blocks decided at compilation

/// Depths of edits by what they edit.
typedef struct FixedMaps {
  Map labels;  // (body, label) -> greatest depth
  Map sides;   // (body, variable and order) -> greatest depth
  Map counts;  // (body, variable and order) -> equations outside of such blocks
} FixedMaps;

static uint64_t side_key(const IrEquation* equation) {
  return (uint64_t)equation->lhs_var << 8 | equation->lhs_order;
}

static void raise_depth(Map* map, uint64_t a, uint64_t b, uint32_t depth) {
  if (map_get(map, a, b) < depth) map_set(map, a, b, depth);
}

static void collect_edits(Lower* l, FixedMaps* maps, uint32_t* depths) {
  for (uint32_t i = 0; i < l->terms.fixed_edits.count; i++) {
    const FixedEdit* edit = &l->terms.fixed_edits.data[i];
    if (edit->equation != IR_NONE) depths[edit->equation] = edit->depth;
    if (edit->label) {
      // a deletion takes away what an equation of the same depth would leave
      uint32_t depth = edit->depth + (edit->equation == IR_NONE ? 1 : 0);
      raise_depth(&maps->labels, edit->body, edit->label, depth);
      continue;
    }
    const IrEquation* equation = &l->m->equations.data[edit->equation];
    if (equation->lhs_var == IR_NONE) continue;
    raise_depth(&maps->sides, edit->body, side_key(equation), edit->depth);
  }
}

/// An equation inside such a block replaces those around it, as the body of a state would.
static void apply_fixed_edits(Lower* l) {
  if (l->terms.fixed_edits.count == 0) return;
  IrModel* m = l->m;
  FixedMaps maps = {.labels = {.arena = l->scratch},
                    .sides = {.arena = l->scratch},
                    .counts = {.arena = l->scratch}};
  uint32_t* depths = ARENA_ARRAY(l->scratch, uint32_t, m->equations.count);
  collect_edits(l, &maps, depths);
  for (uint32_t i = 0; i < m->equations.count; i++) {
    const IrEquation* equation = &m->equations.data[i];
    if (depths[i] || equation->lhs_var == IR_NONE) continue;
    uint64_t key = side_key(equation);
    map_set(&maps.counts, equation->body, key, map_get(&maps.counts, equation->body, key) + 1);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m->equations.count; i++) {
    IrEquation equation = m->equations.data[i];
    bool gone = equation.label && map_get(&maps.labels, equation.body, equation.label) > depths[i];
    if (equation.lhs_var != IR_NONE) {
      uint64_t key = side_key(&equation);
      bool single = depths[i] > 0 || map_get(&maps.counts, equation.body, key) == 1;
      gone = gone || (single && map_get(&maps.sides, equation.body, key) > depths[i]);
    }
    if (!gone) m->equations.data[kept++] = equation;
  }
  m->equations.count = kept;
}

// ---------------------------------------------------------------------------------------------
// labels

/// Whether a label is defined in a body or in what the body edits.
static bool label_in_reach(const Lower* l, const Map* defined, uint32_t body, uint32_t label) {
  for (uint32_t steps = 0; steps <= l->m->bodies.count; steps++) {
    if (map_get(defined, body, label)) return true;
    if (body == 0) return false;
    const IrBody* b = &l->m->bodies.data[body];
    if (b->parent != IR_NONE) {
      body = b->parent;
      continue;
    }
    uint32_t around = l->m->automata.data[b->automaton].parent_body;
    body = around == IR_NONE ? 0 : around;
  }
  return false;
}

static void check_labels(Lower* l) {
  const IrModel* m = l->m;
  Map defined = {.arena = l->scratch};
  for (uint32_t i = 0; i < m->equations.count; i++) {
    const IrEquation* equation = &m->equations.data[i];
    if (equation->label) map_set(&defined, equation->body, equation->label, i + 1);
  }
  for (uint32_t i = 0; i < m->deletes.count; i++) {
    const IrDelete* edit = &m->deletes.data[i];
    if (label_in_reach(l, &defined, edit->body, edit->label)) continue;
    Str text = lower_name(l, edit->label);
    Diag* diag = lower_report(l, DIAG_E0501, edit->span, "no equation to delete is labelled '%.*s'",
                              STR_ARGS(text));
    if (diag == &l->walk.ignored) continue;
    Str near = resolve_near_label(l, text);
    if (near.length) diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  }
  Map told = {.arena = l->scratch};
  for (uint32_t i = 0; i < m->equations.count; i++) {
    const IrEquation* equation = &m->equations.data[i];
    if (equation->body == 0 || equation->label == 0) continue;
    if (map_get(&told, equation->label, 0)) continue;
    map_set(&told, equation->label, 0, 1);
    uint32_t surroundings = m->bodies.data[equation->body].parent;
    if (surroundings == IR_NONE) surroundings = 0;
    if (label_in_reach(l, &defined, surroundings, equation->label)) continue;
    Str text = lower_name(l, equation->label);
    Str near = resolve_near_label(l, text);
    if (near.length == 0) continue;
    Diag* diag = lower_report(l, DIAG_W0510, equation->span,
                              "the label '%.*s' replaces nothing: no global equation carries it",
                              STR_ARGS(text));
    diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  }
}

// ---------------------------------------------------------------------------------------------
// reachable states

/// Mark what transitions reach until nothing changes. Transitions of one automaton are few, those
/// of all automata many: they are walked per automaton.
static void mark_reached(const Lower* l, const uint32_t* list, uint32_t count, bool* reached,
                         uint32_t first) {
  const IrModel* m = l->m;
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t i = 0; i < count; i++) {
      const IrTransition* transition = &m->transitions.data[list[i]];
      if (reached[first + transition->to]) continue;
      for (uint32_t k = 0; k < transition->from_count; k++) {
        if (!reached[first + m->from_states.data[transition->from_begin + k]]) continue;
        reached[first + transition->to] = true;
        changed = true;
        break;
      }
    }
  }
}

static void report_unreached(Lower* l, const StateInfo* state, bool has_transition) {
  Str text = lower_name(l, state->name);
  Diag* diag =
      lower_report(l, DIAG_E0402, state->span, "the state '%.*s' is never reached", STR_ARGS(text));
  if (has_transition) {
    diag_hint(l->diags, diag, "its 'from' names only states that are never reached themselves");
  } else {
    diag_hint(l->diags, diag, "give it a guard and '} from init;', or a 'goto %.*s'",
              STR_ARGS(text));
  }
}

typedef struct Reach {
  uint32_t* first;  // automaton -> its transitions in `list`
  uint32_t* list;
  bool* reached;   // by state of the model
  bool* targeted;  // some transition leads there
  bool* suspect;   // automaton: say nothing more about it
  Map places;      // where states are written that some automaton of a loop or an array reaches
} Reach;

/// Whether an automaton belongs to a part: a model need not use all states that a part offers.
static bool is_of_part(const Lower* l, uint32_t automaton) {
  Str name = lower_name(l, l->automata.all.data[automaton].name);
  if (memchr(name.data, '.', name.length)) return true;
  for (uint32_t i = 0; i < l->functions.parts.count; i++) {
    Str head = l->functions.parts.data[i]->name.head;
    bool begins = head.length <= name.length && memcmp(head.data, name.data, head.length) == 0;
    if (begins && (head.length == name.length || name.data[head.length] == '[')) return true;
  }
  return false;
}

/// Transitions of declared automata, automaton by automaton.
static void group_transitions(const Lower* l, Reach* r) {
  const IrModel* m = l->m;
  uint32_t automata = l->automata.all.count;
  uint32_t* at = ARENA_ARRAY(l->scratch, uint32_t, (size_t)automata + 1);
  for (uint32_t i = 0; i < m->transitions.count; i++) {
    uint32_t a = m->transitions.data[i].automaton;
    if (a < automata) r->first[a + 1]++;
  }
  for (uint32_t a = 0; a < automata; a++) {
    r->first[a + 1] += r->first[a];
    at[a] = r->first[a];
  }
  for (uint32_t i = 0; i < m->transitions.count; i++) {
    const IrTransition* transition = &m->transitions.data[i];
    if (transition->automaton >= automata) continue;
    r->list[at[transition->automaton]++] = i;
    r->targeted[m->automata.data[transition->automaton].state_begin + transition->to] = true;
  }
}

/// Report the unreached states that transitions lead to, or those that none leads to.
static void report_unreached_states(Lower* l, Reach* r, bool targeted) {
  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    const StateInfo* state = &l->automata.states.data[i];
    if (r->reached[state->ir] || state->is_parent || r->suspect[state->automaton]) continue;
    if (r->targeted[state->ir] != targeted) continue;
    if (map_get(&r->places, state->span.begin, state->span.end)) continue;
    if (!targeted && is_of_part(l, state->automaton)) continue;
    report_unreached(l, state, targeted);
    if (targeted) r->suspect[state->automaton] = true;
  }
}

static void check_reachable(Lower* l) {
  const IrModel* m = l->m;
  uint32_t automata = l->automata.all.count;
  Reach r = {.first = ARENA_ARRAY(l->scratch, uint32_t, (size_t)automata + 1),
             .list = ARENA_ARRAY(l->scratch, uint32_t, m->transitions.count),
             .reached = ARENA_ARRAY(l->scratch, bool, m->states.count),
             .targeted = ARENA_ARRAY(l->scratch, bool, m->states.count),
             .suspect = ARENA_ARRAY(l->scratch, bool, automata),
             .places = {.arena = l->scratch}};
  group_transitions(l, &r);
  for (uint32_t i = 0; i < m->gotos.count; i++) {
    IrGoto jump = m->gotos.data[i];
    r.reached[m->automata.data[jump.automaton].state_begin + jump.state] = true;
  }
  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    if (l->automata.states.data[i].suspect) r.suspect[l->automata.states.data[i].automaton] = true;
  }
  for (uint32_t a = 0; a < automata; a++) {
    uint32_t begin = m->automata.data[a].state_begin;
    r.reached[begin] = true;
    mark_reached(l, r.list + r.first[a], r.first[a + 1] - r.first[a], r.reached, begin);
  }

  for (uint32_t i = 0; i < l->automata.states.count; i++) {
    const StateInfo* state = &l->automata.states.data[i];
    bool written = state->index > 0;  // init has the place of the first one
    if (written && r.reached[state->ir]) {
      map_set(&r.places, state->span.begin, state->span.end, 1);
    }
  }

  // a state that only unreached ones lead to is a consequence, unless nothing else is to blame
  uint32_t errors = l->diags->error_count;
  report_unreached_states(l, &r, false);
  if (l->diags->error_count == errors) report_unreached_states(l, &r, true);
}

// ---------------------------------------------------------------------------------------------
// initial values

/// Whether an equation has a variable alone on its left side: its value at the start follows.
static bool is_computed(const IrModel* m, uint32_t var) {
  for (uint32_t i = 0; i < m->equations.count; i++) {
    const IrEquation* equation = &m->equations.data[i];
    if (equation->lhs_var == var && equation->lhs_order == 0) return true;
  }
  return false;
}

static void check_starts(Lower* l) {
  const IrModel* m = l->m;
  for (uint32_t i = 0; i < m->starts.count; i++) {
    const IrStart* start = &m->starts.data[i];
    if (m->vars.data[start->var].hidden) continue;
    for (uint32_t k = 0; k < start->value.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(m, start->value, k);
      if (leaf.kind != IR_LEAF_VAR || lower_find_start(l, leaf.id, leaf.order)) continue;
      if ((l->names.vars.data[leaf.id].flags & (VAR_STRONG | VAR_SET)) == 0) continue;
      if (leaf.order == 0 && is_computed(m, leaf.id)) continue;
      Str text = lower_name(l, m->vars.data[leaf.id].name);
      Diag* diag = lower_report(l, DIAG_W0621, start->span,
                                "this uses the initial value of '%.*s', which has none: 0 is taken",
                                STR_ARGS(text));
      diag_hint(l->diags, diag, "give it one: %.*s(t0) = ...;", STR_ARGS(text));
    }
  }
}

// ---------------------------------------------------------------------------------------------
// values that are set and computed

/// A state that sets a variable and has an equation for its value says two things about it.
static void check_resets(Lower* l) {
  const IrModel* m = l->m;
  for (uint32_t i = 0; i < m->equations.count; i++) {
    const IrEquation* equation = &m->equations.data[i];
    if (equation->lhs_var == IR_NONE || equation->lhs_order > 0) continue;
    const IrBody* body = &m->bodies.data[equation->body];
    if (body->automaton == IR_NONE || body->state == IR_NONE) continue;
    const IrAutomaton* automaton = &m->automata.data[body->automaton];
    if (automaton->kind != IR_AUTOMATON_USER) continue;
    const IrState* state = &m->states.data[automaton->state_begin + body->state];
    for (uint32_t k = state->action_begin; k < state->action_begin + state->action_count; k++) {
      const IrAction* action = &m->actions.data[k];
      if (action->kind != IR_ACTION_SET || action->var != equation->lhs_var) continue;
      if (action->order > 0) continue;
      Str text = lower_name(l, m->vars.data[action->var].name);
      Diag* diag = lower_report(l, DIAG_E0419, action->span,
                                "'%.*s' is set here, and an equation of the state computes it",
                                STR_ARGS(text));
      diag_hint(l->diags, diag, "what is set would be gone at once: leave one of the two out");
    }
  }
}

// ---------------------------------------------------------------------------------------------
// order of appearance

static int compare_keys(const void* a, const void* b) {
  const uint64_t* x = a;
  const uint64_t* y = b;
  return (*x > *y) - (*x < *y);
}

/// keys: place in the text, then number; afterwards in order.
static void sort_keys(uint64_t* keys, uint32_t count) {
  bool sorted = true;
  for (uint32_t i = 1; i < count; i++) {
    sorted = sorted && keys[i - 1] <= keys[i];
  }
  if (!sorted) qsort(keys, count, sizeof *keys, compare_keys);
}

/// An index and what it is ordered by.
typedef struct Ranked {
  double priority;
  uint32_t place, index;
} Ranked;

static int compare_ranked(const void* a, const void* b) {
  const Ranked* x = a;
  const Ranked* y = b;
  if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/// The indices below `count` with the highest priority first, in order of their places where it is
/// the same.
static const uint32_t* order_by_priority(Lower* l, uint32_t count, const uint32_t* places,
                                         const PriorityOf* given, uint32_t given_count) {
  Ranked* ranked = ARENA_ARRAY(l->scratch, Ranked, count);
  uint32_t* order = ARENA_ARRAY(l->scratch, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    ranked[i] = (Ranked){.place = places ? places[i] : i, .index = i};
  }
  for (uint32_t i = 0; i < given_count; i++) {
    ranked[given[i].index].priority = given[i].value;
  }
  qsort(ranked, count, sizeof *ranked, compare_ranked);
  for (uint32_t i = 0; i < count; i++) {
    order[i] = ranked[i].index;
  }
  return order;
}

/// Transitions of one automaton are tried in the order in which they stand.
static void order_transitions(Lower* l) {
  uint32_t count = l->m->transitions.count;
  if (l->automata.transition_priorities.count == 0) return;
  const uint32_t* order = order_by_priority(l, count, NULL, l->automata.transition_priorities.data,
                                            l->automata.transition_priorities.count);
  IrTransition* before = ARENA_ARRAY(l->scratch, IrTransition, count);
  memcpy(before, l->m->transitions.data, count * sizeof *before);
  for (uint32_t i = 0; i < count; i++) {
    l->m->transitions.data[i] = before[order[i]];
  }
}

static void order_by_appearance(Lower* l) {
  IrModel* m = l->m;
  uint64_t* keys = ARENA_ARRAY(l->scratch, uint64_t, m->vars.count);
  for (uint32_t i = 0; i < m->vars.count; i++) {
    keys[i] = (uint64_t)l->names.vars.data[i].first << 32 | i;
  }
  sort_keys(keys, m->vars.count);
  for (uint32_t i = 0; i < m->vars.count; i++) {
    m->vars.data[(uint32_t)keys[i]].appearance = i;
  }
  keys = ARENA_ARRAY(l->scratch, uint64_t, m->params.count);
  for (uint32_t i = 0; i < m->params.count; i++) {
    keys[i] = (uint64_t)m->params.data[i].span.begin << 32 | i;
  }
  sort_keys(keys, m->params.count);
  for (uint32_t i = 0; i < m->params.count; i++) {
    m->params.data[(uint32_t)keys[i]].appearance = i;
  }
  // switches, which write nothing, come last
  uint32_t* places = ARENA_ARRAY(l->scratch, uint32_t, m->automata.count);
  for (uint32_t i = 0; i < m->automata.count; i++) {
    uint32_t met = m->automata.data[i].appearance;
    places[i] = met ? met : l->automata.met + 1 + i;
  }
  const uint32_t* order =
      order_by_priority(l, m->automata.count, places, l->automata.automaton_priorities.data,
                        l->automata.automaton_priorities.count);
  for (uint32_t i = 0; i < m->automata.count; i++) {
    m->automata.data[order[i]].appearance = i;
  }
  for (uint32_t i = 0; i < l->automata.automaton_priorities.count; i++) {
    m->automata.data[l->automata.automaton_priorities.data[i].index].ranked = true;
  }
  for (uint32_t i = 0; i < m->actions.count; i++) {
    m->actions.data[i].appearance = i;
  }
  for (uint32_t i = 0; i < m->schedules.count; i++) {
    m->schedules.data[i].appearance = i;
  }
}

static uint32_t unit_of_name(Lower* l, uint32_t name) {
  const LismaUnits* units = l->names.units;
  uint32_t id = names_find(&units->names, names_get(&l->m->names, name));
  if (!id) id = map_get(&l->names.pasted_units, name, 0);
  Str text = id ? units->texts[id] : (Str){0};
  return text.length ? names_intern(&l->m->names, text) : 0;
}

/// Units that were found by inference.
static void assign_units(Lower* l) {
  IrModel* m = l->m;
  if (l->names.meetings.count && l->diags->error_count == 0) {
    l->names.units =
        lisma_join_units(l->scratch, l->ast, l->names.units, &l->names.meetings, l->diags);
  }
  for (uint32_t i = 0; i < m->vars.count; i++) {
    if (!m->vars.data[i].unit) m->vars.data[i].unit = unit_of_name(l, m->vars.data[i].name);
  }
  for (uint32_t i = 0; i < m->params.count; i++) {
    m->params.data[i].unit = unit_of_name(l, m->params.data[i].name);
  }
  for (uint32_t i = 0; i < m->macros.count; i++) {
    m->macros.data[i].unit = unit_of_name(l, m->macros.data[i].name);
  }
}

void lower_finish(Lower* l) {
  order_transitions(l);
  finish_likes(l);
  apply_fixed_edits(l);
  check_labels(l);
  check_reachable(l);
  check_starts(l);
  check_resets(l);
  if (l->diags->error_count == 0) lower_warn_of_strays(l);
  order_by_appearance(l);
  if (l->names.units) assign_units(l);
}

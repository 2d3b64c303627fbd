// SPDX-License-Identifier: MIT
//
// Automata and switches that a loop has made differ by a number only: pictures show one for all.
#include "record/graph.h"

static bool arrows_alike(const GraphArrow* a, const GraphArrow* b) {
  return a->from == b->from && a->to == b->to && a->line == b->line &&
         str_equal(a->guard, b->guard);
}

static bool automata_alike(const GraphAutomaton* a, const GraphAutomaton* b) {
  if (a->state_count != b->state_count || a->arrow_count != b->arrow_count) return false;
  if (a->arrow_count == 0) return false;
  for (uint32_t s = 0; s < a->state_count; s++) {
    if (!str_equal(a->states[s].name, b->states[s].name)) return false;
  }
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    if (!arrows_alike(&a->arrows[i], &b->arrows[i])) return false;
  }
  return true;
}

/// A copy whose counts can be added to.
static GraphAutomaton copy_automaton(const GraphAutomaton* from, Arena* arena) {
  GraphAutomaton copy = *from;
  copy.states = ARENA_ARRAY(arena, GraphState, from->state_count);
  copy.arrows = ARENA_ARRAY(arena, GraphArrow, from->arrow_count + 1);
  for (uint32_t s = 0; s < from->state_count; s++)
    copy.states[s] = from->states[s];
  for (uint32_t i = 0; i < from->arrow_count; i++)
    copy.arrows[i] = from->arrows[i];
  return copy;
}

static void add_counts(GraphAutomaton* to, const GraphAutomaton* from) {
  for (uint32_t s = 0; s < to->state_count; s++) {
    to->states[s].real += from->states[s].real;
    to->states[s].mythical += from->states[s].mythical;
  }
  for (uint32_t i = 0; i < to->arrow_count; i++) {
    for (int c = 0; c < GRAPH_CLASSES; c++)
      to->arrows[i].count[c] += from->arrows[i].count[c];
  }
}

static void join_automata(const Graph* graph, Arena* arena, Graph* out) {
  out->automata = ARENA_ARRAY(arena, GraphAutomaton, graph->automaton_count + 1);
  out->automaton_count = 0;
  for (uint32_t a = 0; a < graph->automaton_count;) {
    const GraphAutomaton* first = &graph->automata[a];
    GraphAutomaton* one = &out->automata[out->automaton_count++];
    *one = copy_automaton(first, arena);
    uint32_t count = 1;
    while (a + count < graph->automaton_count && automata_alike(first, first + count))
      add_counts(one, first + count++);
    if (count > 1) {
      one->name = str_format(arena, "%.*s … %.*s (%u alike)", STR_ARGS(graph_name(first->name)),
                             STR_ARGS(graph_name(first[count - 1].name)), count);
    }
    a += count;
  }
}

static void join_switches(const Graph* graph, Arena* arena, Graph* out) {
  out->switches = ARENA_ARRAY(arena, GraphSwitch, graph->switch_count + 1);
  out->switch_count = 0;
  for (uint32_t s = 0; s < graph->switch_count;) {
    const GraphSwitch* first = &graph->switches[s];
    GraphSwitch* one = &out->switches[out->switch_count++];
    *one = *first;
    uint32_t count = 1;
    while (s + count < graph->switch_count && first->line == first[count].line &&
           str_equal(first->text, first[count].text))
      one->turned += first[count++].turned;
    one->alike = count;
    s += count;
  }
}

Graph graph_joined(const Graph* graph, Arena* arena) {
  Graph out = *graph;
  join_automata(graph, arena, &out);
  join_switches(graph, arena, &out);
  return out;
}

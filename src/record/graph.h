// SPDX-License-Identifier: MIT
//
// A picture of automata: states as boxes, transitions as arrows with their guards; after a run with
// what was visited, how often, and of which class.
#ifndef SALTUS_RECORD_GRAPH_H
#define SALTUS_RECORD_GRAPH_H

#include "record/sink.h"

#define GRAPH_ANY     UINT32_MAX  // `from` of an arrow that can start anywhere: `at ... goto`
#define GRAPH_CLASSES 5           // SltEventClass

typedef struct GraphState {
  Str name;
  uint64_t real, mythical;  // entered, and only passed through
} GraphState;

typedef struct GraphArrow {
  uint32_t from, to;
  Str guard;   // as written
  Str resets;  // names of what it sets; may be empty
  uint32_t line;
  uint64_t count[GRAPH_CLASSES];
} GraphArrow;

typedef struct GraphAutomaton {
  Str name;
  GraphState* states;  // the first one is where it begins
  uint32_t state_count;
  GraphArrow* arrows;
  uint32_t arrow_count, arrow_capacity;
} GraphAutomaton;

/// An `if` or a piecewise function.
typedef struct GraphSwitch {
  Str name, text;
  uint32_t line;
  uint32_t alike;  // how many a loop has made; 0 and 1: it stands alone
  uint64_t turned;
} GraphSwitch;

typedef struct Graph {
  GraphAutomaton* automata;
  uint32_t automaton_count;
  GraphSwitch* switches;
  uint32_t switch_count;
  uint64_t slides;
  bool ran;  // counts mean something
} Graph;

/// Neighbours that a loop has made, which differ by a number only, as one with the sum of their
/// counts.
Graph graph_joined(const Graph* graph, Arena* arena);

/// A guard in words.
Str graph_words(Str guard, Arena* arena);
/// The name of an automaton without what tells apart those that a program has made: `drum@6`.
Str graph_name(Str name);

/// A switch in words; after a run with how often it turned.
Str graph_switch_text(const GraphSwitch* s, bool ran, Arena* arena);

/// How arrows of a class (SltEventClass) look: "#d1351c"; "" for no dashes; the class in a word.
const char* graph_class_colour(int class);
const char* graph_class_dash(int class);
const char* graph_class_name(int class);

/// Write in the language of Graphviz. `arena` is for scratch memory.
void graph_write_dot(const Graph* graph, const char* title, Arena* arena, Sink* sink);
/// Draw as one SVG file.
void graph_write_svg(const Graph* graph, const char* title, Arena* arena, Sink* sink);

#endif

// SPDX-License-Identifier: MIT
//
// A picture of automata: states as boxes, transitions as arrows with their guards; after a run with
// what was visited, how often, and of which class.
#ifndef SALTUS_RECORD_GRAPH_H
#define SALTUS_RECORD_GRAPH_H

#include "record/sink.h"

#define GRAPH_ANY     UINT32_MAX  // `from` of an arrow that can start anywhere: `at ... goto`
#define GRAPH_CLASSES 5           // SltEventClass
#define GRAPH_AND     " ∧ "       // between conditions that hold together

#define GRAPH_MODES_NAME     "conditions that hold"
#define GRAPH_MODES_MAX      16  // more of them are no picture
#define GRAPH_MODES_SWITCHES 64

typedef struct GraphState {
  Str name;
  Str key;                  // for programs, where it is not the name; else empty
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

/// Which modes a run was in, told apart by the conditions that hold. Whether a condition held at
/// the start is known when it turns for the first time; one that never turns tells no modes apart.
typedef struct GraphModes {
  uint64_t known;                    // conditions that have turned
  uint64_t at_start;                 // those of them that held at the start
  uint64_t now;                      // those of them that are not as at the start
  uint64_t turned[GRAPH_MODES_MAX];  // `now` of each mode, in the order of entry
  uint64_t entered[GRAPH_MODES_MAX];
  uint64_t taken[GRAPH_MODES_MAX][GRAPH_MODES_MAX][GRAPH_CLASSES];  // from, to
  uint32_t count, place;
  int class;  // of the last turn
  bool too_many;
} GraphModes;

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
/// A condition has turned.
void graph_modes_turn(GraphModes* modes, uint32_t index, bool to, int class);
/// The instant is over: what holds now is a mode.
void graph_modes_settle(GraphModes* modes);
/// The modes as an automaton; false when there is but one, or too many for a picture.
bool graph_modes_automaton(const GraphModes* seen, const GraphSwitch* switches,
                           uint32_t switch_count, Arena* arena, GraphAutomaton* out);
/// The name of a condition, or its relation where nobody named it.
Str graph_switch_name(const GraphSwitch* one, Arena* arena);

/// A guard in words.
Str graph_words(Str guard, Arena* arena);
/// The name of an automaton without what tells apart those that a program has made: `drum@6`.
Str graph_name(Str name);

/// A switch in words; after a run with how often it turned.
Str graph_switch_text(const GraphSwitch* s, bool ran, Arena* arena);

/// Classes of the arrows that were taken, bit by bit.
uint32_t graph_classes_seen(const Graph* graph);
/// How arrows of a class (SltEventClass) look: "#d1351c"; "" for no dashes; the class in a word,
/// and what it means.
const char* graph_class_colour(int class);
const char* graph_class_dash(int class);
const char* graph_class_name(int class);
const char* graph_class_meaning(int class);

/// Write in the language of Graphviz. `arena` is for scratch memory.
void graph_write_dot(const Graph* graph, const char* title, Arena* arena, Sink* sink);
/// Draw as one SVG file.
void graph_write_svg(const Graph* graph, const char* title, Arena* arena, Sink* sink);

#endif

// SPDX-License-Identifier: MIT
//
// Automata in the language of Graphviz, whose `dot` finds places where no text covers another.
#include "record/figure.h"
#include "record/graph.h"

#include <string.h>

#define LINE_CHARS 30u

static bool is_joint(Str text, uint32_t at) {
  Str rest = {text.data + at, text.length - at};
  return (rest.length > 4 && memcmp(rest.data, "and ", 4) == 0) ||
         (rest.length > 3 && memcmp(rest.data, "or ", 3) == 0);
}

/// Length of what must not be broken: a condition up to the next `and` or `or`, else a word.
static uint32_t piece_length(Str text, uint32_t begin) {
  for (uint32_t i = begin + 1; i < text.length; i++) {
    if (text.data[i] == ' ' && is_joint(text, i + 1)) return i - begin;
  }
  return text.length - begin;
}

static void write_quoted(Sink* sink, Str text) {
  for (uint32_t i = 0; i < text.length; i++) {
    if (text.data[i] == '"' || text.data[i] == '\\') sink_char(sink, '\\');
    sink_char(sink, text.data[i]);
  }
}

/// A label, as markup or as a quoted text: a line gets as many whole conditions as it can hold.
static void write_lines(Sink* sink, Str text, bool markup) {
  uint32_t column = 0;
  uint32_t begin = 0;
  for (uint32_t i = 0; i <= text.length; i++) {
    bool end = i == text.length;
    if (!end && text.data[i] != ' ') continue;
    uint32_t width = utf8_count((Str){text.data + begin, i - begin});
    Str piece = {text.data + begin, is_joint(text, begin) ? piece_length(text, begin) : i - begin};
    if (column > 0 && column + 1 + utf8_count(piece) > LINE_CHARS) {
      sink_c(sink, markup ? "<BR/>" : "\\n");
      column = 0;
    } else if (column > 0) {
      sink_char(sink, ' ');
    }
    Str word = {text.data + begin, i - begin};
    if (markup) {
      plot_svg_escaped(sink, word);
    } else {
      write_quoted(sink, word);
    }
    column += 1 + width;
    begin = i + 1;
  }
}

static void write_broken(Sink* sink, Str text) {
  write_lines(sink, text, true);
}

static void write_id(Sink* sink, char letter, uint32_t automaton, uint32_t index) {
  sink_char(sink, letter);
  sink_unsigned(sink, automaton);
  sink_char(sink, '_');
  sink_unsigned(sink, index);
}

/// A guard and what is set: of an arrow, or of all arrows into a state.
static void write_guard(Sink* sink, const GraphArrow* arrow) {
  write_broken(sink, arrow->guard);
  if (arrow->resets.length == 0) return;
  sink_c(sink, "<BR/><I>");
  write_broken(sink, arrow->resets);
  sink_c(sink, "</I>");
}

/// One of several arrows into a state that all say the same: the state says it for them. NULL: they
/// differ or say nothing, or there is but one.
static const GraphArrow* common_arrow(const GraphAutomaton* automaton, uint32_t state) {
  const GraphArrow* first = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < automaton->arrow_count; i++) {
    const GraphArrow* arrow = &automaton->arrows[i];
    if (arrow->to != state) continue;
    if (!first) first = arrow;
    if (!str_equal(arrow->guard, first->guard) || !str_equal(arrow->resets, first->resets))
      return NULL;
    count++;
  }
  bool says = first && (first->guard.length || first->resets.length);
  return says && count > 1 ? first : NULL;
}

static void write_state(Sink* sink, const Graph* graph, uint32_t a, uint32_t s) {
  const GraphState* state = &graph->automata[a].states[s];
  const GraphArrow* common = common_arrow(&graph->automata[a], s);
  bool visited = !graph->ran || state->real || state->mythical;
  bool mythical = graph->ran && !state->real && state->mythical;
  sink_c(sink, "    ");
  write_id(sink, 's', a, s);
  if (common) {
    sink_c(sink, " [label=<<B>");
    write_broken(sink, state->name);
    sink_c(sink, "</B><BR/><FONT POINT-SIZE=\"11\">");
    write_guard(sink, common);
    sink_c(sink, "</FONT>>");
  } else {
    // a plain text: dot puts it in the middle of its box whatever the font of the reader
    sink_c(sink, " [label=\"");
    write_lines(sink, state->name, false);
    sink_c(sink, "\"");
  }
  if (!visited) sink_c(sink, ", fillcolor=\"#f6f8fa\", color=\"#8c959f\", fontcolor=\"#57606a\"");
  if (mythical) sink_c(sink, ", style=\"rounded,filled,dashed\"");
  sink_c(sink, "];\n");
}

static int arrow_class(const GraphArrow* arrow, uint64_t* most) {
  int found = -1;
  *most = 0;
  for (int c = 0; c < GRAPH_CLASSES; c++) {
    if (arrow->count[c] > *most) {
      *most = arrow->count[c];
      found = c;
    }
  }
  return found;
}

static void write_counts(Sink* sink, const GraphArrow* arrow, const char* separator) {
  for (int c = 0; c < GRAPH_CLASSES; c++) {
    if (arrow->count[c] == 0) continue;
    sink_c(sink, separator);
    sink_c(sink, "<B><FONT COLOR=\"");
    sink_c(sink, graph_class_colour(c));
    sink_c(sink, "\">");
    sink_unsigned(sink, arrow->count[c]);
    sink_c(sink, "× ");
    sink_c(sink, graph_class_name(c));
    sink_c(sink, "</FONT></B>");
    separator = "<BR/>";
  }
}

static void write_line(Sink* sink, const Graph* graph, const GraphArrow* arrow) {
  uint64_t most = 0;
  int class = arrow_class(arrow, &most);
  sink_c(sink, " [color=\"");
  sink_c(sink, class >= 0 ? graph_class_colour(class) : graph->ran ? "#8c959f" : "#1f2328");
  sink_c(sink, "\", penwidth=");
  sink_c(sink, class >= 0 ? "2" : "1");
  if (class >= 0 && graph_class_dash(class)[0]) sink_c(sink, ", style=dashed");
}

/// How many arrows each state is away from where the automaton begins.
static uint32_t* distances(const GraphAutomaton* automaton, Arena* arena) {
  uint32_t* away = ARENA_ARRAY(arena, uint32_t, automaton->state_count);
  for (uint32_t s = 0; s < automaton->state_count; s++)
    away[s] = s ? automaton->state_count : 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < automaton->arrow_count; i++) {
      const GraphArrow* arrow = &automaton->arrows[i];
      if (arrow->from == GRAPH_ANY || away[arrow->from] + 1 >= away[arrow->to]) continue;
      away[arrow->to] = away[arrow->from] + 1;
      changed = true;
    }
  }
  return away;
}

static void write_end(Sink* sink, uint32_t a, uint32_t state) {
  if (state == GRAPH_ANY) {
    sink_c(sink, "any");
    sink_unsigned(sink, a);
  } else {
    write_id(sink, 's', a, state);
  }
}

/// The text of an arrow as a node; false: there is none.
static bool write_text(Sink* sink, const GraphAutomaton* automaton, uint32_t a, uint32_t index) {
  const GraphArrow* arrow = &automaton->arrows[index];
  bool said = common_arrow(automaton, arrow->to) != NULL;
  uint64_t most = 0;
  if (said && arrow_class(arrow, &most) < 0) return false;
  sink_c(sink, "    ");
  write_id(sink, 'l', a, index);
  sink_c(sink, " [shape=plaintext, style=filled, fillcolor=white, fontsize=11, "
               "margin=\"0.03,0.02\", height=0, width=0, label=<");
  if (!said) write_guard(sink, arrow);
  write_counts(sink, arrow, said ? "" : "<BR/>");
  sink_c(sink, ">];\n");
  return true;
}

/// An arrow, with its text as a node on the way: lines go around nodes and end behind them, so that
/// none runs through a text. What leads back is written from its head: dot puts what comes first to
/// the left, and the text between the two.
static void write_arrow(Sink* sink, const Graph* graph, uint32_t a, uint32_t index, bool back) {
  const GraphArrow* arrow = &graph->automata[a].arrows[index];
  bool text = write_text(sink, &graph->automata[a], a, index);
  sink_c(sink, "    ");
  write_end(sink, a, back ? arrow->to : arrow->from);
  if (text) {
    sink_c(sink, " -> ");
    write_id(sink, 'l', a, index);
    write_line(sink, graph, arrow);
    sink_c(sink, back ? ", dir=back];\n    " : ", dir=none];\n    ");
    write_id(sink, 'l', a, index);
  }
  sink_c(sink, " -> ");
  write_end(sink, a, back ? arrow->from : arrow->to);
  write_line(sink, graph, arrow);
  sink_c(sink, !back ? "];\n" : text ? ", dir=none];\n" : ", dir=back];\n");
}

static void write_automaton(Sink* sink, const Graph* graph, uint32_t a, Arena* arena) {
  const GraphAutomaton* automaton = &graph->automata[a];
  const uint32_t* away = distances(automaton, arena);
  bool alone = graph->automaton_count == 1 && str_equal(automaton->name, STR_LIT("main"));
  bool any = false;
  sink_c(sink, alone ? "  subgraph a" : "  subgraph cluster_a");
  sink_unsigned(sink, a);
  sink_c(sink, " {\n");
  if (!alone) {
    sink_c(sink, "    label=<<B>");
    write_broken(sink, graph_name(automaton->name));
    sink_c(sink, "</B>>; color=\"#d0d7de\"; style=rounded; margin=16;\n");
  }
  sink_c(sink, "    begin");
  sink_unsigned(sink, a);
  sink_c(sink, " [shape=point, width=0.1, fillcolor=\"#1f2328\", label=\"\"];\n");
  for (uint32_t s = 0; s < automaton->state_count; s++)
    write_state(sink, graph, a, s);
  sink_c(sink, "    begin");
  sink_unsigned(sink, a);
  sink_c(sink, " -> s");
  sink_unsigned(sink, a);
  sink_c(sink, "_0;\n");
  for (uint32_t i = 0; i < automaton->arrow_count; i++) {
    const GraphArrow* arrow = &automaton->arrows[i];
    if (arrow->from == GRAPH_ANY && !any) {
      any = true;
      sink_c(sink, "    any");
      sink_unsigned(sink, a);
      sink_c(sink, " [label=\"any state\", shape=plaintext, style=\"\"];\n");
    }
    bool back = arrow->from != GRAPH_ANY && arrow->from != arrow->to &&
                (away[arrow->to] < away[arrow->from] ||
                 (away[arrow->to] == away[arrow->from] && arrow->to < arrow->from));
    write_arrow(sink, graph, a, i, back);
  }
  sink_c(sink, "  }\n");
}

/// Above the automata, at the left: a node would push them apart.
static void write_head(Sink* sink, const Graph* graph, const char* title, Arena* arena) {
  uint32_t seen = graph->ran ? graph_classes_seen(graph) : 0;
  if (!title[0] && graph->switch_count == 0 && seen == 0) return;
  sink_c(sink, ", label=<<TABLE BORDER=\"0\" CELLSPACING=\"2\" CELLPADDING=\"0\">");
  if (title[0]) {
    sink_c(sink, "<TR><TD ALIGN=\"LEFT\"><B>");
    plot_svg_escaped(sink, str_from_c(title));
    sink_c(sink, "</B></TD></TR>");
  }
  if (graph->switch_count) {
    sink_c(sink,
           "<TR><TD ALIGN=\"LEFT\">switches of conditions and piecewise functions:</TD></TR>");
  }
  for (uint32_t s = 0; s < graph->switch_count; s++) {
    sink_c(sink, "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"11\">");
    plot_svg_escaped(sink, graph_switch_text(&graph->switches[s], graph->ran, arena));
    sink_c(sink, "</FONT></TD></TR>");
  }
  for (int c = 0; c < GRAPH_CLASSES; c++) {
    if (!(seen >> c & 1u)) continue;
    sink_c(sink, "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"11\" COLOR=\"");
    sink_c(sink, graph_class_colour(c));
    sink_c(sink, "\">");
    sink_c(sink, graph_class_meaning(c));
    sink_c(sink, "</FONT></TD></TR>");
  }
  sink_c(sink, "</TABLE>>");
}

void graph_write_dot(const Graph* graph, const char* title, Arena* arena, Sink* sink) {
  sink_c(sink, "digraph automata {\n  graph [rankdir=LR, outputorder=edgesfirst, nodesep=0.3, "
               "ranksep=0.4, pad=0.2, "
               "fontname=\"sans-serif\", "
               "fontsize=13, labelloc=t, labeljust=l");
  write_head(sink, graph, title, arena);
  sink_c(
      sink,
      "];\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#e3eefa\", color=\"#1f2328\", "
      "fontname=\"sans-serif\", fontsize=13, margin=\"0.2,0.1\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=11, color=\"#1f2328\", arrowsize=0.8];\n");
  // from left to right, dot stacks from the bottom
  for (uint32_t a = graph->automaton_count; a-- > 0;)
    write_automaton(sink, graph, a, arena);
  sink_c(sink, "}\n");
}

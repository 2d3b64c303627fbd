// SPDX-License-Identifier: MIT
#include "record/events.h"
#include "record/figure.h"
#include "record/graph_layout.h"

#include <math.h>

#define PAGE_WIDTH   1000.0  // panels stand side by side up to here
#define PANEL_MAX    24      // automata that are drawn
#define SWITCH_MAX   12      // switches that are listed
#define MARGIN_LEFT  14.0
#define HEAD         26.0  // of a panel
#define LIST_LINE    17.0
#define TEXT_COLOUR  "#222222"
#define QUIET_COLOUR "#8c9196"
#define VISITED_FILL "#e3eefa"

typedef struct Style {
  const char* colour;
  const char* dash;
  const char* meaning;
} Style;

/// By SltEventClass.
static const Style styles[GRAPH_CLASSES] = {
    {"#1f6fb4", "", "interior: goes on in the new mode"},
    {"#8a4fbf", "6 4", "mythical: left before it exists"},
    {"#d1351c", "", "pinnacle: values jump"},
    {"#e08a00", "2 3", "boundary: left at once by its own flow"},
    {"#23883b", "11 3", "sliding: goes on along a boundary"},
};

const char* graph_class_colour(int class) {
  return styles[class].colour;
}

const char* graph_class_dash(int class) {
  return styles[class].dash;
}

const char* graph_class_meaning(int class) {
  return styles[class].meaning;
}

const char* graph_class_name(int class) {
  return events_class_text((SltEventClass) class);
}

/// The class to draw an arrow in: the most frequent one; -1 for none.
static int main_class(const GraphArrow* arrow) {
  int best = -1;
  for (int i = 0; i < GRAPH_CLASSES; i++) {
    if (arrow->count[i] > 0 && (best < 0 || arrow->count[i] > arrow->count[best])) best = i;
  }
  return best;
}

static void attribute(Sink* sink, const char* name, double value) {
  sink_c(sink, " ");
  sink_c(sink, name);
  sink_c(sink, "=\"");
  sink_coordinate(sink, value);
  sink_c(sink, "\"");
}

static void point(Sink* sink, GraphPoint p) {
  sink_coordinate(sink, p.x);
  sink_c(sink, " ");
  sink_coordinate(sink, p.y);
}

/// `style`: further attributes.
static void text_at(Sink* sink, double x, double y, double size, const char* colour,
                    const char* style, Str text) {
  sink_c(sink, "<text");
  attribute(sink, "x", x);
  attribute(sink, "y", y);
  attribute(sink, "font-size", size);
  sink_c(sink, " fill=\"");
  sink_c(sink, colour);
  sink_c(sink, "\"");
  sink_c(sink, style);
  sink_c(sink, ">");
  plot_svg_escaped(sink, text);
  sink_c(sink, "</text>\n");
}

static void draw_curve(Sink* sink, const GraphPoint* p, const char* colour, const char* dash,
                       double width) {
  sink_c(sink, "<path d=\"M");
  point(sink, p[0]);
  sink_c(sink, " C");
  for (int i = 1; i < 4; i++) {
    sink_c(sink, i > 1 ? ", " : "");
    point(sink, p[i]);
  }
  sink_c(sink, "\" fill=\"none\" stroke=\"");
  sink_c(sink, colour);
  sink_c(sink, "\"");
  attribute(sink, "stroke-width", width);
  if (dash[0]) {
    sink_c(sink, " stroke-dasharray=\"");
    sink_c(sink, dash);
    sink_c(sink, "\"");
  }
  sink_c(sink, "/>\n");
  // the head, along the last piece of the curve
  double dx = p[3].x - p[2].x;
  double dy = p[3].y - p[2].y;
  double length = fmax(1e-6, hypot(dx, dy));
  dx /= length;
  dy /= length;
  double size = 7.0 + width;
  GraphPoint tip = {p[3].x + dx, p[3].y + dy};
  GraphPoint left = {tip.x - size * dx - 0.42 * size * dy, tip.y - size * dy + 0.42 * size * dx};
  GraphPoint right = {tip.x - size * dx + 0.42 * size * dy, tip.y - size * dy - 0.42 * size * dx};
  sink_c(sink, "<path d=\"M");
  point(sink, tip);
  sink_c(sink, " L");
  point(sink, left);
  sink_c(sink, " L");
  point(sink, right);
  sink_c(sink, " Z\" fill=\"");
  sink_c(sink, colour);
  sink_c(sink, "\"/>\n");
}

static void draw_label(Sink* sink, const GraphLabel* label, bool quiet, const char* colour) {
  double y = label->box.y - 0.5 * label->box.h + 0.8 * GRAPH_LINE_HEIGHT;
  for (uint32_t i = 0; i < label->line_count; i++) {
    bool guard = i < label->guard_lines;
    bool count = !guard && i + 1 == label->line_count && colour != NULL;
    // a white edge keeps the text readable where a line passes
    const char* style = count ? " text-anchor=\"middle\" font-weight=\"bold\" stroke=\"#ffffff\" "
                                "stroke-width=\"3\" paint-order=\"stroke\""
                        : guard
                            ? " text-anchor=\"middle\" stroke=\"#ffffff\" stroke-width=\"3\" "
                              "paint-order=\"stroke\""
                            : " text-anchor=\"middle\" font-style=\"italic\" stroke=\"#ffffff\" "
                              "stroke-width=\"3\" paint-order=\"stroke\"";
    const char* fill = count ? colour : quiet ? QUIET_COLOUR : TEXT_COLOUR;
    text_at(sink, label->box.x, y, GRAPH_FONT, fill, style, label->lines[i]);
    y += GRAPH_LINE_HEIGHT;
  }
}

/// A name as an attribute, for programs that look for the box of a state.
static void name_attribute(Sink* sink, const char* name, Str value) {
  sink_c(sink, " ");
  sink_c(sink, name);
  sink_c(sink, "=\"");
  plot_svg_escaped(sink, value);
  sink_c(sink, "\"");
}

static void draw_state(Sink* sink, const GraphAutomaton* automaton, const GraphState* state,
                       const GraphBox* box, bool ran) {
  bool visited = ran && state->real > 0;
  bool mythical = ran && !visited && state->mythical > 0;
  sink_c(sink, "<rect");
  attribute(sink, "x", box->x - 0.5 * box->w);
  attribute(sink, "y", box->y - 0.5 * box->h);
  attribute(sink, "width", box->w);
  attribute(sink, "height", box->h);
  name_attribute(sink, "data-automaton", automaton->name);
  name_attribute(sink, "data-state", state->key.length ? state->key : state->name);
  sink_c(sink, " rx=\"9\" fill=\"");
  sink_c(sink, visited ? VISITED_FILL : "#ffffff");
  sink_c(sink, "\" stroke=\"");
  sink_c(sink, mythical          ? styles[SLT_CLASS_MYTHICAL].colour
               : ran && !visited ? QUIET_COLOUR
                                 : "#333333");
  sink_c(sink, mythical ? "\" stroke-dasharray=\"5 3\"" : "\"");
  attribute(sink, "stroke-width", visited ? 1.8 : 1.3);
  sink_c(sink, "/>\n");
  text_at(sink, box->x, box->y + 4.5, 13.0,
          ran && !visited && !mythical ? QUIET_COLOUR : TEXT_COLOUR, " text-anchor=\"middle\"",
          state->name);
}

/// The arrow from nowhere into the first state.
static void draw_start(Sink* sink, const GraphBox* box) {
  double edge = box->x - 0.5 * box->w - 2.0;
  sink_c(sink, "<circle");
  attribute(sink, "cx", edge - 28.0);
  attribute(sink, "cy", box->y);
  sink_c(sink, " r=\"4\" fill=\"#333333\"/>\n");
  GraphPoint p[4];
  for (int i = 0; i < 4; i++) {
    p[i] = (GraphPoint){edge - 24.0 + 8.0 * i, box->y};
  }
  draw_curve(sink, p, "#333333", "", 1.3);
}

static void draw_panel(Sink* sink, const GraphPanel* panel, bool ran, double x, double y) {
  const GraphAutomaton* a = panel->automaton;
  sink_c(sink, "<g transform=\"translate(");
  point(sink, (GraphPoint){x, y});
  sink_c(sink, ")\">\n");
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    const GraphCurve* curve = &panel->curves[i];
    int c = ran ? main_class(&a->arrows[i]) : -1;
    uint64_t count = 0;
    for (int k = 0; k < GRAPH_CLASSES; k++)
      count += a->arrows[i].count[k];
    double width = c >= 0 ? 2.0 + 0.5 * fmin(3.0, log10((double)count)) : 1.3;
    draw_curve(sink, curve->p,
               c >= 0 ? styles[c].colour
               : ran  ? QUIET_COLOUR
                      : "#555555",
               c >= 0 ? styles[c].dash : "", width);
  }
  draw_start(sink, &panel->boxes[0]);
  for (uint32_t s = 0; s < a->state_count; s++) {
    draw_state(sink, a, &a->states[s], &panel->boxes[s], ran);
  }
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    int c = ran ? main_class(&a->arrows[i]) : -1;
    draw_label(sink, &panel->curves[i].label, ran && c < 0, c >= 0 ? styles[c].colour : NULL);
  }
  sink_c(sink, "</g>\n");
}

// ---- the page -----------------------------------------------------------------------------------

static uint32_t switch_lines(const Graph* graph) {
  if (graph->switch_count == 0) return 0;
  return 1 + (graph->switch_count > SWITCH_MAX ? SWITCH_MAX + 1 : graph->switch_count);
}

static double write_switches(Sink* sink, const Graph* graph, Arena* arena, double y) {
  if (graph->switch_count == 0) return y;
  y += LIST_LINE;
  text_at(sink, MARGIN_LEFT, y, 12.0, TEXT_COLOUR, " font-weight=\"bold\"",
          STR_LIT("switches of conditions and piecewise functions"));
  for (uint32_t i = 0; i < graph->switch_count && i <= SWITCH_MAX; i++) {
    y += LIST_LINE;
    Str text = graph_switch_text(&graph->switches[i], graph->ran, arena);
    if (i == SWITCH_MAX) {
      TextBuffer more = {.arena = arena};
      text_append_format(&more, "and %u more", graph->switch_count - SWITCH_MAX);
      text = text_str(&more);
    }
    text_at(sink, MARGIN_LEFT + 12.0, y, GRAPH_FONT, TEXT_COLOUR, "", text);
  }
  return y;
}

/// Which classes occurred.
uint32_t graph_classes_seen(const Graph* graph) {
  uint32_t seen = 0;
  for (uint32_t a = 0; a < graph->automaton_count; a++) {
    for (uint32_t i = 0; i < graph->automata[a].arrow_count; i++) {
      for (uint32_t c = 0; c < GRAPH_CLASSES; c++) {
        if (graph->automata[a].arrows[i].count[c]) seen |= 1u << c;
      }
    }
  }
  return seen;
}

static bool any_unvisited(const Graph* graph) {
  for (uint32_t a = 0; a < graph->automaton_count; a++) {
    for (uint32_t i = 0; i < graph->automata[a].arrow_count; i++) {
      if (main_class(&graph->automata[a].arrows[i]) < 0) return true;
    }
  }
  return false;
}

static uint32_t legend_lines(const Graph* graph) {
  if (!graph->ran) return 0;
  uint32_t lines = (graph->slides ? 1u : 0u) + (any_unvisited(graph) ? 1u : 0u);
  for (uint32_t seen = graph_classes_seen(graph); seen; seen &= seen - 1)
    lines++;
  return lines;
}

static void legend_line(Sink* sink, double y, const char* colour, const char* dash, Str text) {
  GraphPoint p[4];
  for (int i = 0; i < 4; i++) {
    p[i] = (GraphPoint){MARGIN_LEFT + 12.0 * i, y - 4.0};
  }
  draw_curve(sink, p, colour, dash, 2.0);
  text_at(sink, MARGIN_LEFT + 48.0, y, GRAPH_FONT, TEXT_COLOUR, "", text);
}

static void write_legend(Sink* sink, const Graph* graph, Arena* arena, double y) {
  if (!graph->ran) return;
  uint32_t seen = graph_classes_seen(graph);
  for (uint32_t c = 0; c < GRAPH_CLASSES; c++) {
    if (!(seen >> c & 1u)) continue;
    y += LIST_LINE;
    legend_line(sink, y, styles[c].colour, styles[c].dash, str_from_c(styles[c].meaning));
  }
  if (any_unvisited(graph)) {
    y += LIST_LINE;
    legend_line(sink, y, QUIET_COLOUR, "", STR_LIT("not taken in this run"));
  }
  if (!graph->slides) return;
  y += LIST_LINE;
  TextBuffer text = {.arena = arena};
  text_append_format(&text, "sliding along a boundary began %llu time%s",
                     (unsigned long long)graph->slides, graph->slides == 1 ? "" : "s");
  text_at(sink, MARGIN_LEFT, y, GRAPH_FONT, TEXT_COLOUR, "", text_str(&text));
}

/// Places of the panels, row by row; returns the size of all.
static GraphPoint place_panels(const GraphPanel* panels, uint32_t count, GraphPoint* places) {
  double x = 0.0;
  double y = 34.0;
  double row = 0.0;
  GraphPoint size = {420.0, y};
  for (uint32_t i = 0; i < count; i++) {
    if (x > 0.0 && x + panels[i].width > PAGE_WIDTH) {
      x = 0.0;
      y += row;
      row = 0.0;
    }
    places[i] = (GraphPoint){x, y};
    x += panels[i].width;
    row = fmax(row, panels[i].height + HEAD);
    size.x = fmax(size.x, x);
  }
  size.y = y + row;
  return size;
}

static void begin_page(Sink* sink, double width, double height, const char* title) {
  sink_c(sink, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
  attribute(sink, "width", width);
  attribute(sink, "height", height);
  sink_c(sink, " viewBox=\"0 0 ");
  point(sink, (GraphPoint){width, height});
  sink_c(sink, "\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans',"
               " sans-serif\">\n<title>");
  plot_svg_escaped(sink, str_from_c(title));
  sink_c(sink, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  text_at(sink, MARGIN_LEFT, 24.0, 15.0, TEXT_COLOUR, " font-weight=\"bold\"", str_from_c(title));
}

void graph_write_svg(const Graph* graph, const char* title, Arena* arena, Sink* sink) {
  uint32_t count = graph->automaton_count < PANEL_MAX ? graph->automaton_count : PANEL_MAX;
  GraphPanel* panels = ARENA_ARRAY(arena, GraphPanel, count + 1);
  GraphPoint* places = ARENA_ARRAY(arena, GraphPoint, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    graph_layout(&graph->automata[i], graph->ran, arena, &panels[i]);
  }
  GraphPoint size = place_panels(panels, count, places);
  bool more = graph->automaton_count > count;
  double lists = size.y;
  double height = lists + LIST_LINE * (switch_lines(graph) + legend_lines(graph) + (more ? 1 : 0));
  begin_page(sink, size.x + 8.0, height + 24.0, title);
  for (uint32_t i = 0; i < count; i++) {
    // the only automaton of a model has no name of its own
    Str name = graph->automata[i].name;
    bool alone = graph->automaton_count == 1 && str_equal(name, STR_LIT("main"));
    if (!alone) {
      text_at(sink, places[i].x + MARGIN_LEFT, places[i].y + 16.0, 13.0, TEXT_COLOUR,
              " font-weight=\"bold\"", graph_name(name));
    }
    draw_panel(sink, &panels[i], graph->ran, places[i].x, places[i].y + (alone ? 0.0 : HEAD));
  }
  double y = write_switches(sink, graph, arena, lists);
  if (more) {
    TextBuffer text = {.arena = arena};
    text_append_format(&text, "and %u more automata", graph->automaton_count - count);
    y += LIST_LINE;
    text_at(sink, MARGIN_LEFT, y, GRAPH_FONT, TEXT_COLOUR, "", text_str(&text));
  }
  write_legend(sink, graph, arena, y);
  sink_c(sink, "</svg>\n");
}

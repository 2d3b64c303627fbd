// SPDX-License-Identifier: MIT
//
// States stand on an ellipse, in an order that follows the transitions, the first one at the left.
// Arrows bend to their left, so that an arrow and its opposite keep apart. Labels look for a place
// along their arrow where they cover nothing; if there is none, the ellipse grows.
#include "record/graph_layout.h"

#include <math.h>
#include <string.h>

#define PI         3.14159265358979323846
#define BOX_HEIGHT 34.0
#define NAME_FONT  13.0
#define LINE_CHARS 28    // of a guard, before it is broken
#define ATTEMPTS   6     // to make room
#define ENOUGH     40.0  // cost of the labels that is accepted
#define CLEARLY    6.0   // a label is so much nearer to its own arrow
#define MARGIN     14.0
#define START      36.0  // room for the arrow into the first state

double graph_text_width(Str text, double size) {
  uint32_t letters = 0;
  for (uint32_t i = 0; i < text.length; i++) {
    letters += ((unsigned char)text.data[i] & 0xc0u) != 0x80u;
  }
  return 0.56 * size * letters;
}

// ---- labels -------------------------------------------------------------------------------------

/// Where to break a text that is too long: before the last && or || that fits, else at the last
/// blank, else behind the first word.
static uint32_t break_at(Str text) {
  uint32_t blank = 0;
  uint32_t joint = 0;
  for (uint32_t i = 1; i < text.length && i <= LINE_CHARS; i++) {
    if (text.data[i] != ' ') continue;
    blank = i;
    char next = '\0';
    if (i + 1 < text.length) next = text.data[i + 1];
    if (next == '&' || next == '|') joint = i;
  }
  if (joint) return joint;
  if (blank) return blank;
  uint32_t cut = LINE_CHARS;
  while (cut < text.length && text.data[cut] != ' ')
    cut++;
  return cut;
}

static void break_lines(Str text, uint32_t most, GraphLabel* label) {
  while (text.length > 0 && label->line_count < most) {
    uint32_t cut = text.length > LINE_CHARS ? break_at(text) : text.length;
    label->lines[label->line_count++] = (Str){text.data, cut};
    while (cut < text.length && text.data[cut] == ' ')
      cut++;
    text = (Str){text.data + cut, text.length - cut};
  }
}

static Str count_text(const GraphArrow* arrow, Arena* arena) {
  static const char* const names[GRAPH_CLASSES] = {"interior", "mythical", "pinnacle", "boundary",
                                                   "sliding"};
  TextBuffer text = {.arena = arena};
  uint32_t kinds = 0;
  for (uint32_t i = 0; i < GRAPH_CLASSES; i++) {
    if (arrow->count[i] == 0) continue;
    text_append_format(&text, "%s%llu\xC3\x97 %s", kinds++ ? ", " : "",
                       (unsigned long long)arrow->count[i], names[i]);
  }
  return text_str(&text);
}

static void make_label(const GraphArrow* arrow, bool ran, Arena* arena, GraphLabel* label) {
  *label = (GraphLabel){.line_count = 0};
  break_lines(arrow->guard, GRAPH_LABEL_LINES - 2, label);
  label->guard_lines = label->line_count;
  if (arrow->resets.length) label->lines[label->line_count++] = arrow->resets;
  Str count = ran ? count_text(arrow, arena) : (Str){NULL, 0};
  if (count.length) label->lines[label->line_count++] = count;
  double width = 0.0;
  for (uint32_t i = 0; i < label->line_count; i++) {
    width = fmax(width, graph_text_width(label->lines[i], GRAPH_FONT));
  }
  label->box.w = width + 4.0;
  label->box.h = GRAPH_LINE_HEIGHT * label->line_count;
}

// ---- places of states ---------------------------------------------------------------------------

static uint32_t arrows_between(const GraphAutomaton* a, uint32_t s, uint32_t t) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    count += a->arrows[i].from == s && a->arrows[i].to == t;
  }
  return count;
}

/// An order in which neighbours have transitions: forward ones count more.
static void order_states(const GraphAutomaton* a, uint32_t* order, uint8_t* used) {
  memset(used, 0, a->state_count);
  uint32_t at = 0;
  for (uint32_t i = 0; i < a->state_count; i++) {
    order[i] = at;
    used[at] = 1;
    uint32_t best = 0;
    uint32_t best_score = 0;
    bool found = false;
    for (uint32_t s = 0; s < a->state_count; s++) {
      if (used[s]) continue;
      uint32_t score = 2 * arrows_between(a, at, s) + arrows_between(a, s, at);
      if (found && score <= best_score) continue;
      best = s;
      best_score = score;
      found = true;
    }
    at = best;
  }
}

static void place_states(const GraphAutomaton* a, const uint32_t* order, double rx, double ry,
                         GraphBox* boxes) {
  uint32_t n = a->state_count;
  for (uint32_t i = 0; i < n; i++) {
    double angle = PI + 2.0 * PI * i / n;
    GraphBox* box = &boxes[order[i]];
    box->x = n == 1 ? 0.0 : rx * cos(angle);
    box->y = n <= 2 ? 0.0 : ry * sin(angle);
    box->w = fmax(64.0, graph_text_width(a->states[order[i]].name, NAME_FONT) + 26.0);
    box->h = BOX_HEIGHT;
  }
}

// ---- arrows -------------------------------------------------------------------------------------

static GraphPoint on_curve(const GraphPoint* p, double t) {
  double s = 1.0 - t;
  double b[4] = {s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t};
  GraphPoint q = {0.0, 0.0};
  for (int i = 0; i < 4; i++) {
    q.x += b[i] * p[i].x;
    q.y += b[i] * p[i].y;
  }
  return q;
}

static bool inside(const GraphBox* box, GraphPoint p, double grow) {
  return fabs(p.x - box->x) <= 0.5 * box->w + grow && fabs(p.y - box->y) <= 0.5 * box->h + grow;
}

static GraphPoint between(GraphPoint a, GraphPoint b, double t) {
  return (GraphPoint){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
}

/// The part of a curve from t0 to t1 (de Casteljau, twice).
static void cut_curve(GraphPoint* p, double t0, double t1) {
  GraphPoint q[4];
  memcpy(q, p, sizeof q);
  for (int k = 1; k < 4; k++) {
    for (int i = 3; i >= k; i--)
      q[i] = between(q[i - 1], q[i], t1);
  }
  double t = t0 / t1;
  for (int k = 1; k < 4; k++) {
    for (int i = 0; i < 4 - k; i++)
      q[i] = between(q[i], q[i + 1], t);
  }
  memcpy(p, q, sizeof q);
}

/// Begin and end at the borders of the boxes.
static void clip_to_boxes(GraphPoint* p, const GraphBox* from, const GraphBox* to) {
  double t0 = 0.0;
  double t1 = 1.0;
  while (from && t0 < 0.45 && inside(from, on_curve(p, t0), 1.0))
    t0 += 0.004;
  while (t1 > 0.55 && inside(to, on_curve(p, t1), 2.0))
    t1 -= 0.004;
  cut_curve(p, t0, t1);
}

static void arrow_between(const GraphBox* from, const GraphBox* to, uint32_t number,
                          GraphPoint* p) {
  GraphPoint a = {from->x, from->y};
  GraphPoint b = {to->x, to->y};
  double dx = b.x - a.x;
  double dy = b.y - a.y;
  double length = fmax(1.0, hypot(dx, dy));
  // to the left of its direction on the screen: outside when the states are passed clockwise
  double bend = 0.16 * length + 10.0 + 46.0 * number;
  GraphPoint lift = {bend * dy / length, -bend * dx / length};
  p[0] = a;
  p[1] = (GraphPoint){a.x + 0.3 * dx + lift.x, a.y + 0.3 * dy + lift.y};
  p[2] = (GraphPoint){a.x + 0.7 * dx + lift.x, a.y + 0.7 * dy + lift.y};
  p[3] = b;
  clip_to_boxes(p, from, to);
}

/// Above the upper states, below the lower ones.
static void self_loop(const GraphBox* box, uint32_t number, GraphPoint* p) {
  double up = box->y > 1.0 ? 1.0 : -1.0;
  double edge = box->y + up * (0.5 * box->h + 1.0);
  double reach = 52.0 + 30.0 * number;
  double spread = 30.0 + 16.0 * number;
  p[0] = (GraphPoint){box->x - 11.0, edge};
  p[1] = (GraphPoint){box->x - spread, edge + up * reach};
  p[2] = (GraphPoint){box->x + spread, edge + up * reach};
  p[3] = (GraphPoint){box->x + 11.0, edge + up};
}

/// From anywhere: a short straight arrow on the other side of the self loops.
static void stub(const GraphBox* box, uint32_t number, GraphPoint* p) {
  double down = box->y > 1.0 ? -1.0 : 1.0;
  double edge = box->y + down * (0.5 * box->h + 2.0);
  double x = box->x + 20.0 * number;
  for (int i = 0; i < 4; i++) {
    p[i] = (GraphPoint){x, edge + down * 34.0 * (3 - i) / 3.0};
  }
}

static void make_curves(const GraphAutomaton* a, GraphPanel* panel) {
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    const GraphArrow* arrow = &a->arrows[i];
    GraphCurve* curve = &panel->curves[i];
    uint32_t number = 0;  // among those with the same ends
    for (uint32_t k = 0; k < i; k++) {
      number += a->arrows[k].from == arrow->from && a->arrows[k].to == arrow->to;
    }
    const GraphBox* to = &panel->boxes[arrow->to];
    if (arrow->from == GRAPH_ANY) {
      stub(to, number, curve->p);
    } else if (arrow->from == arrow->to) {
      self_loop(to, number, curve->p);
    } else {
      arrow_between(&panel->boxes[arrow->from], to, number, curve->p);
    }
    for (uint32_t k = 0; k < GRAPH_SAMPLES; k++) {
      curve->sample[k] = on_curve(curve->p, (double)k / (GRAPH_SAMPLES - 1));
    }
  }
}

// ---- places of labels ---------------------------------------------------------------------------

static double overlap(const GraphBox* a, const GraphBox* b) {
  double w = 0.5 * (a->w + b->w) - fabs(a->x - b->x);
  double h = 0.5 * (a->h + b->h) - fabs(a->y - b->y);
  return w > 0.0 && h > 0.0 ? w * h : 0.0;
}

static double distance(const GraphBox* box, const GraphCurve* curve) {
  double least = (double)INFINITY;
  for (uint32_t k = 0; k < GRAPH_SAMPLES; k++) {
    double dx = fmax(fabs(curve->sample[k].x - box->x) - 0.5 * box->w, 0.0);
    double dy = fmax(fabs(curve->sample[k].y - box->y) - 0.5 * box->h, 0.0);
    least = fmin(least, hypot(dx, dy));
  }
  return least;
}

/// A label that is not clearly nearer to its own arrow than to all others is read as theirs.
static double mistaken(const GraphPanel* panel, uint32_t index, const GraphBox* box) {
  double own = distance(box, &panel->curves[index]) + CLEARLY;
  double cost = 0.0;
  for (uint32_t i = 0; i < panel->automaton->arrow_count; i++) {
    if (i != index) cost += 4.0 * fmax(own - distance(box, &panel->curves[i]), 0.0);
  }
  return cost;
}

/// What a label would cover at this place.
static double cost_of(const GraphPanel* panel, uint32_t index, const GraphBox* box) {
  const GraphAutomaton* a = panel->automaton;
  double cost = mistaken(panel, index, box);
  for (uint32_t s = 0; s < a->state_count; s++) {
    GraphBox wide = panel->boxes[s];
    wide.w += 8.0;
    wide.h += 6.0;
    cost += overlap(box, &wide);
  }
  for (uint32_t i = 0; i < index; i++) {
    GraphBox wide = panel->curves[i].label.box;
    wide.w += 8.0;
    wide.h += 3.0;
    cost += overlap(box, &wide);
  }
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    for (uint32_t k = 0; k < GRAPH_SAMPLES; k++) {
      if (inside(box, panel->curves[i].sample[k], 2.0)) cost += i == index ? 9.0 : 60.0;
    }
  }
  return cost;
}

static double place_label(GraphPanel* panel, uint32_t index) {
  static const double along[] = {0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82};
  GraphCurve* curve = &panel->curves[index];
  GraphBox best = curve->label.box;
  double best_cost = (double)INFINITY;
  for (uint32_t k = 0; k < SLT_COUNT(along); k++) {
    uint32_t at = (uint32_t)(along[k] * (GRAPH_SAMPLES - 1));
    GraphPoint p = curve->sample[at];
    GraphPoint q = curve->sample[at + 1];
    double length = fmax(1e-6, hypot(q.x - p.x, q.y - p.y));
    GraphPoint normal = {(q.y - p.y) / length, -(q.x - p.x) / length};
    for (int side = 1; side >= -1; side -= 2) {
      for (int far = 0; far < 3; far++) {
        GraphBox box = curve->label.box;
        double clear =
            fabs(normal.x) * 0.5 * box.w + fabs(normal.y) * 0.5 * box.h + 5.0 + 9.0 * far;
        box.x = p.x + side * clear * normal.x;
        box.y = p.y + side * clear * normal.y;
        double cost = cost_of(panel, index, &box) + 12.0 * fabs(along[k] - 0.5) +
                      (side < 0 ? 2.0 : 0.0) + 4.0 * far;
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = box;
      }
    }
  }
  curve->label.box = best;
  return best_cost;
}

// ---- the whole panel ----------------------------------------------------------------------------

static void include(GraphBox* bounds, double x0, double y0, double x1, double y1) {
  // here: corners in (x, y) and (w, h)
  bounds->x = fmin(bounds->x, x0);
  bounds->y = fmin(bounds->y, y0);
  bounds->w = fmax(bounds->w, x1);
  bounds->h = fmax(bounds->h, y1);
}

static void include_box(GraphBox* bounds, const GraphBox* box) {
  include(bounds, box->x - 0.5 * box->w, box->y - 0.5 * box->h, box->x + 0.5 * box->w,
          box->y + 0.5 * box->h);
}

/// Move everything so that the upper left corner is at the margin.
static void normalise(GraphPanel* panel) {
  const GraphAutomaton* a = panel->automaton;
  GraphBox bounds = {1e9, 1e9, -1e9, -1e9};
  for (uint32_t s = 0; s < a->state_count; s++) {
    include_box(&bounds, &panel->boxes[s]);
  }
  include(&bounds, panel->boxes[0].x - 0.5 * panel->boxes[0].w - START, 0.0, -1e9, -1e9);
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    GraphCurve* curve = &panel->curves[i];
    include_box(&bounds, &curve->label.box);
    for (uint32_t k = 0; k < GRAPH_SAMPLES; k++) {
      include(&bounds, curve->sample[k].x, curve->sample[k].y, curve->sample[k].x,
              curve->sample[k].y);
    }
  }
  double dx = MARGIN - bounds.x;
  double dy = MARGIN - bounds.y;
  for (uint32_t s = 0; s < a->state_count; s++) {
    panel->boxes[s].x += dx;
    panel->boxes[s].y += dy;
  }
  for (uint32_t i = 0; i < a->arrow_count; i++) {
    GraphCurve* curve = &panel->curves[i];
    curve->label.box.x += dx;
    curve->label.box.y += dy;
    for (int k = 0; k < 4; k++) {
      curve->p[k].x += dx;
      curve->p[k].y += dy;
    }
  }
  panel->width = bounds.w + dx + MARGIN;
  panel->height = bounds.h + dy + MARGIN;
}

void graph_layout(const GraphAutomaton* automaton, bool ran, Arena* arena, GraphPanel* out) {
  uint32_t n = automaton->state_count;
  *out = (GraphPanel){.automaton = automaton,
                      .boxes = ARENA_ARRAY(arena, GraphBox, n),
                      .curves = ARENA_ARRAY(arena, GraphCurve, automaton->arrow_count + 1)};
  uint32_t* order = ARENA_ARRAY(arena, uint32_t, n);
  order_states(automaton, order, ARENA_ARRAY(arena, uint8_t, n));
  double widest = 0.0;
  for (uint32_t i = 0; i < automaton->arrow_count; i++) {
    make_label(&automaton->arrows[i], ran, arena, &out->curves[i].label);
    widest = fmax(widest, out->curves[i].label.box.w);
  }
  double rx = n <= 2 ? 70.0 + 0.42 * widest : 80.0 + 16.0 * n + 0.35 * widest;
  double ry = n <= 2 ? 0.0 : 50.0 + 18.0 * n;
  for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
    place_states(automaton, order, rx, ry, out->boxes);
    make_curves(automaton, out);
    double cost = 0.0;
    for (uint32_t i = 0; i < automaton->arrow_count; i++) {
      cost += place_label(out, i);
    }
    if (cost <= ENOUGH * (1.0 + automaton->arrow_count)) break;
    rx *= 1.15;
    ry *= 1.25;
  }
  normalise(out);
}

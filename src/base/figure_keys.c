// SPDX-License-Identifier: MIT
#include "base/figure_keys.h"

#include "base/number.h"

#include <math.h>
#include <string.h>

const FigureKey figure_keys[FIGURE_KEY_COUNT] = {
    [FIGURE_PANEL] = {"panel", FIGURE_NAMES, NULL, "A,B", "a panel with these columns"},
    [FIGURE_PHASE] = {"phase", FIGURE_NAMES, NULL, "A,B[,C]", "a panel with B over A, or in space"},
    [FIGURE_HISTOGRAM] = {"histogram", FIGURE_NAMES, NULL, "events|A",
                          "a panel that counts the intervals between events, or values"},
    [FIGURE_Y2] = {"y2", FIGURE_NAMES, NULL, "A,B", "columns on an axis of their own, right"},
    [FIGURE_X] = {"x", FIGURE_NAMES, NULL, "A", "column of the horizontal axis"},
    [FIGURE_XRANGE] = {"xrange", FIGURE_PAIR, NULL, "LO:HI", "range of the horizontal axis"},
    [FIGURE_YRANGE] = {"yrange", FIGURE_PAIR, NULL, "LO:HI", "range of the vertical axis"},
    [FIGURE_Y2RANGE] = {"y2range", FIGURE_PAIR, NULL, "LO:HI", "range of the right axis"},
    [FIGURE_LOG] = {"log", FIGURE_NAMES, NULL, "x,y,y2", "logarithmic axes"},
    [FIGURE_EQUAL] = {"equal", FIGURE_FLAG, NULL, "on|off", "one scale on both axes"},
    [FIGURE_TITLE] = {"title", FIGURE_TEXT, NULL, "TEXT", "text above the figure"},
    [FIGURE_XLABEL] = {"xlabel", FIGURE_TEXT, NULL, "TEXT", "text at the horizontal axis"},
    [FIGURE_YLABEL] = {"ylabel", FIGURE_TEXT, NULL, "TEXT", "text at the vertical axis"},
    [FIGURE_Y2LABEL] = {"y2label", FIGURE_TEXT, NULL, "TEXT", "text at the right axis"},
    [FIGURE_LEGEND] = {"legend", FIGURE_WORD,
                       "top right topleft topright bottomleft bottomright none", "PLACE",
                       "top, right, topleft, topright, bottomleft, bottomright or none"},
    [FIGURE_MARKS] = {"marks", FIGURE_NAMES, NULL, "all|none|WORDS",
                      "events marked: all, or of kinds, classes, automata, states"},
    [FIGURE_BANDS] = {"bands", FIGURE_NAMES, NULL, "on|off|A,B", "states of automata below"},
    [FIGURE_POINTS] = {"points", FIGURE_NAMES, NULL, "all|A,FILE",
                       "columns or tables drawn as points: measured data"},
    [FIGURE_DENSITY] = {"density", FIGURE_WORD, "auto on off", "auto|on|off",
                        "shades instead of lines that would cover everything"},
    [FIGURE_THEME] = {"theme", FIGURE_WORD, "light dark", "light|dark", "colours"},
    [FIGURE_SIZE] = {"size", FIGURE_PAIR, NULL, "W:H", "width and height"},
    [FIGURE_VIEW] = {"view", FIGURE_PAIR, NULL, "AZIMUTH:HEIGHT",
                     "degrees from which a curve in space is seen"},
    [FIGURE_ASCII] = {"ascii", FIGURE_FLAG, NULL, "on|off", "plain letters on the terminal"},
};

FigureKeyId figure_key_find(Str name) {
  uint32_t key = 0;
  while (key < FIGURE_KEY_COUNT && !str_equal(name, str_from_c(figure_keys[key].name)))
    key++;
  return (FigureKeyId)key;
}

bool figure_key_begins_panel(FigureKeyId key) {
  return key == FIGURE_PANEL || key == FIGURE_PHASE || key == FIGURE_HISTOGRAM;
}

int figure_word(const char* words, Str word) {
  int index = 0;
  for (const char* at = words; *at; index++) {
    uint32_t length = (uint32_t)strcspn(at, " ");
    if (str_equal(word, (Str){at, length})) return index;
    at += length + (at[length] == ' ');
  }
  return -1;
}

static Str trimmed(Str s) {
  while (s.length && s.data[0] == ' ')
    s = (Str){s.data + 1, s.length - 1};
  while (s.length && s.data[s.length - 1] == ' ')
    s.length--;
  return s;
}

/// A number with its sign, or nothing at all.
static bool read_side(Str text, double* value) {
  text = trimmed(text);
  *value = (double)NAN;
  if (text.length == 0) return true;
  return number_read(text, true, value) == text.length && isfinite(*value);
}

bool figure_pair(Str value, double pair[2]) {
  for (uint32_t i = 0; i < value.length; i++) {
    if (value.data[i] != ':' && value.data[i] != ',') continue;
    Str second = {value.data + i + 1, value.length - i - 1};
    return read_side((Str){value.data, i}, &pair[0]) && read_side(second, &pair[1]);
  }
  return false;
}

bool figure_next_name(Str* list, Str* name) {
  if (list->length == 0) return false;
  int depth = 0;
  bool quoted = false;
  uint32_t i = 0;
  for (; i < list->length; i++) {
    char c = list->data[i];
    if (c == '`') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') depth++;
    if (c == ']' || c == ')') depth--;
    if (c == ',' && depth <= 0) break;
  }
  *name = trimmed((Str){list->data, i});
  if (name->length >= 2 && name->data[0] == '`' && name->data[name->length - 1] == '`') {
    *name = (Str){name->data + 1, name->length - 2};
  }
  uint32_t taken = i < list->length ? i + 1 : i;
  *list = (Str){list->data + taken, list->length - taken};
  return true;
}

/// Names of axes; `xy` is both of a plane.
static bool are_axes(Str list) {
  for (Str name; figure_next_name(&list, &name);) {
    if (figure_word("x y y2 xy", name) < 0) return false;
  }
  return true;
}

bool figure_value_fits(FigureKeyId key, Str value) {
  double pair[2];
  if (key == FIGURE_LOG && !are_axes(value)) return false;
  switch (figure_keys[key].kind) {
  case FIGURE_TEXT: return true;
  case FIGURE_NAMES: return trimmed(value).length > 0;
  case FIGURE_PAIR:
    return figure_pair(value, pair) && !(pair[0] >= pair[1] && key <= FIGURE_Y2RANGE);
  case FIGURE_WORD: return figure_word(figure_keys[key].words, value) >= 0;
  case FIGURE_FLAG: return figure_word("on off", value) >= 0;
  }
  return false;
}

// SPDX-License-Identifier: MIT
//
// The settings of a figure: their names and what values they take. The command line, the experiment
// of a model and the library share this list.
#ifndef SALTUS_BASE_FIGURE_KEYS_H
#define SALTUS_BASE_FIGURE_KEYS_H

#include "base/text.h"

typedef enum FigureKeyId {
  FIGURE_PANEL,
  FIGURE_PHASE,
  FIGURE_HISTOGRAM,
  FIGURE_Y2,
  FIGURE_X,
  FIGURE_XRANGE,
  FIGURE_YRANGE,
  FIGURE_Y2RANGE,
  FIGURE_LOG,
  FIGURE_EQUAL,
  FIGURE_TITLE,
  FIGURE_XLABEL,
  FIGURE_YLABEL,
  FIGURE_Y2LABEL,
  FIGURE_LEGEND,
  FIGURE_MARKS,
  FIGURE_BANDS,
  FIGURE_POINTS,
  FIGURE_DENSITY,
  FIGURE_THEME,
  FIGURE_SIZE,
  FIGURE_VIEW,
  FIGURE_ASCII,
  FIGURE_KEY_COUNT
} FigureKeyId;

typedef enum FigureValueKind {
  FIGURE_TEXT,   // anything
  FIGURE_NAMES,  // names or patterns, separated by commas
  FIGURE_PAIR,   // two numbers; either may be left out: 0:5, 0:, :5
  FIGURE_WORD,   // one of `words`
  FIGURE_FLAG    // on or off
} FigureValueKind;

typedef struct FigureKey {
  const char* name;
  FigureValueKind kind;
  const char* words;  // of FIGURE_WORD, separated by blanks
  const char* value;  // what it takes, for people
  const char* about;
} FigureKey;

extern const FigureKey figure_keys[FIGURE_KEY_COUNT];

/// FIGURE_KEY_COUNT when there is none of that name.
FigureKeyId figure_key_find(Str name);
/// Whether the setting begins a panel: those behind it, up to the next, are about this panel.
bool figure_key_begins_panel(FigureKeyId key);
/// Whether a value is one that the setting takes.
bool figure_value_fits(FigureKeyId key, Str value);
/// Place of a word in a list separated by blanks; -1: none.
int figure_word(const char* words, Str word);
/// Two numbers with a colon or a comma between them; NaN for one that is left out.
bool figure_pair(Str value, double pair[2]);
/// Cut the next name off the front of a list: commas separate, backquotes and brackets keep
/// together. False at the end.
bool figure_next_name(Str* list, Str* name);

#endif

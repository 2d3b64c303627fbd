// SPDX-License-Identifier: MIT
//
// Settings of pictures as options of a command. The parser of options takes them itself, for every
// command that has a place for them.
#ifndef SALTUS_CLI_FIGURE_H
#define SALTUS_CLI_FIGURE_H

#include "cli.h"

typedef struct CliFigureSetting {
  const char* key;
  const char* value;
  bool begins_panel;
} CliFigureSetting;

typedef struct CliFigure {
  CliFigureSetting* items;  // in order
  uint32_t count;
  SltFigure* checked;  // has taken them all
} CliFigure;

/// Number of the setting that an option is, -1: none.
int figure_option_find(const char* text, size_t length);
/// False after a message.
bool figure_option_add(CliFigure* figure, int key, const char* value);
void figure_options_clear(CliFigure* figure);

/// A figure with the settings of a model (NULL: none) and the command line; NULL after a message.
SltFigure* figure_make(const CliFigure* options, const SltExperiment* experiment,
                       const char* title);
/// Whether some panel has a logarithmic time, on which rows at equal distances would leave nearly
/// all empty.
bool figure_has_log_time(const CliFigure* options, const SltExperiment* experiment);
/// Every word of the marks, of the options or else of the model's experiment, is a kind or class of
/// events, an automaton or a state. The exit status, after a message where it is none.
int figure_check_model(const CliFigure* options, const SltModel* model);
/// Draw to a file or to standard output; `path` says which (".svg", ".png", ".pdf", "-"). Names
/// near to a wrong one are looked for in `table`.
int figure_write(SltFigure* figure, const CliFigure* options, const SltTable* table,
                 const char* path);

#endif

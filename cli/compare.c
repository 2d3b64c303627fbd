// SPDX-License-Identifier: MIT
//
// saltus compare: two tables, or a model and data.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"
#include "figure.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum CompareOption {
  COMPARE_DATA = TRIAL_OPTION_COUNT,
  COMPARE_TOL,
  COMPARE_ABS_TOL,
  COMPARE_TIME_TOL,
  COMPARE_PLOT,
  COMPARE_OPTION_COUNT
} CompareOption;

static const OptionSpec specs[COMPARE_OPTION_COUNT] = {
    TRIAL_SPECS,
    TRIAL_UNTIL_SPEC,
    [COMPARE_DATA] = {"--data", NULL, OPTION_VALUE},
    [COMPARE_TOL] = {"--tol", NULL, OPTION_VALUE},
    [COMPARE_ABS_TOL] = {"--abs-tol", NULL, OPTION_VALUE},
    [COMPARE_TIME_TOL] = {"--time-tol", NULL, OPTION_VALUE},
    [COMPARE_PLOT] = {"--plot", NULL, OPTION_VALUE},
};

typedef struct CompareCommand {
  Trial trial;
  const char* words[2];
  int word_count;
  const char* data;
  const char* plot;
  CliTexts columns;  // that were compared
  SltCompareOptions options;
  uint64_t alone;  // most rows of a column without a counterpart
  bool differs;
  bool begun;
} CompareCommand;

static bool read_option(CompareCommand* c, int option, const char* text) {
  if (option < TRIAL_OPTION_COUNT) return trial_option(&c->trial, (TrialOption)option, text);
  switch (option) {
  case COMPARE_DATA: c->data = text; return true;
  case COMPARE_TOL: return option_positive("--tol", text, &c->options.tol);
  case COMPARE_ABS_TOL: return option_positive("--abs-tol", text, &c->options.abs_tol);
  case COMPARE_TIME_TOL: return option_positive("--time-tol", text, &c->options.time_tol);
  case COMPARE_PLOT: c->plot = text; return plot_path_check("--plot", text);
  default: return false;
  }
}

static int read_options(CompareCommand* c, int argc, char** argv) {
  OptionParser parser = {.command = "compare",
                         .specs = specs,
                         .spec_count = COMPARE_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (option == OPTION_WORD && c->word_count == 2) {
      cli_error("compare takes two tables, `%s` is too much", parser.value);
      return CLI_USAGE;
    }
    if (option == OPTION_WORD) {
      c->words[c->word_count++] = parser.value;
    } else if (!read_option(c, option, parser.value)) {
      return CLI_USAGE;
    }
  }
  const char* idle = c->data ? NULL : option_first(&parser, TRIAL_UNTIL, TRIAL_SET);
  if (idle) {
    cli_error("%s is about the run of a model, and here are two tables", idle);
    cli_hint("saltus compare MODEL --data FILE.csv");
    return CLI_USAGE;
  }
  if (c->word_count == (c->data ? 1 : 2)) return CLI_DONE;
  cli_error("compare needs two tables, or a model and data");
  cli_hint("saltus compare A.csv B.csv, or saltus compare MODEL --data FILE.csv");
  return CLI_USAGE;
}

static void print_comparison(void* user, const SltComparison* comparison) {
  CompareCommand* c = user;
  const SltComparison* k = comparison;
  if (!c->begun && !c->trial.quiet) {
    printf("%-20s %12s %12s %12s %12s %10s\n", "column", "difference", "at", "rms", "jumps",
           "shift");
  }
  c->begun = true;
  c->differs |= !k->within;
  if (k->alone > c->alone) c->alone = k->alone;
  char* name = strdup(k->name);
  if (!name || !texts_add(&c->columns, name)) free(name);
  if (c->trial.quiet) return;
  char rms[32] = "-";
  if (!isnan(k->rms)) snprintf(rms, sizeof rms, "%.3g", k->rms);
  char jumps[40];
  snprintf(jumps, sizeof jumps, k->jumps[0] == k->jumps[1] ? "%u" : "%u, %u", k->jumps[0],
           k->jumps[1]);
  cli_print(stdout, "%-20s %12.3g %12.6g %12s %12s %10.3g  %s\n", k->name, k->largest, k->t_largest,
            rms, jumps, k->jump_shift,
            k->within        ? "same"
            : k->points == 0 ? "no time in common"
                             : "differs");
}

static bool was_compared(const CompareCommand* c, const char* name) {
  bool found = strcmp(name, "time") == 0;
  for (uint32_t i = 0; i < c->columns.count && !found; i++)
    found = strcmp(c->columns.items[i], name) == 0;
  return found;
}

/// Say which columns of a table had no counterpart.
static void tell_lonely(const CompareCommand* c, const SltTable* table, const char* path) {
  enum { SHOWN = 8 };
  ReportText list = {0};
  if (!text_open(&list)) return;
  uint32_t found = 0;
  for (uint32_t i = 0; i < slt_table_column_count(table); i++) {
    const char* name = slt_table_column_name(table, i);
    if (was_compared(c, name)) continue;
    if (found++ < SHOWN) fprintf(list.file, "%s%s", found > 1 ? ", " : "", name);
  }
  if (found > SHOWN) fprintf(list.file, " and %u more", found - SHOWN);
  fflush(list.file);
  if (found) cli_note("not compared, in %s alone: %s", path, list.data);
  text_clear(&list);
}

/// Say what was not compared, of the columns and of the rows; `b` is NULL beside a model.
static void tell_rest(const CompareCommand* c, const SltTable* a, const char* a_path,
                      const SltTable* b, const char* b_path) {
  if (c->trial.quiet) return;
  tell_lonely(c, a, a_path);
  if (b) tell_lonely(c, b, b_path);
  if (c->alone == 0) return;
  cli_note(
      "not compared: %llu row%s outside the other's times, or where its rows are too far apart",
      (unsigned long long)c->alone, c->alone == 1 ? "" : "s");
}

// ---- the picture --------------------------------------------------------------------------------

/// The model over the time of the data, as rows of the columns that were compared.
static SltTable* run_model(const CompareCommand* c) {
  SltSim* sim = NULL;
  SltRecorder* recorder = NULL;
  SltTable* table = NULL;
  const char* bad = NULL;
  SltRecorderOptions options = slt_recorder_options();
  options.keep = true;
  options.samples = 2000;
  options.bands = false;
  options.names = c->columns.items;
  options.name_count = c->columns.count;
  if (slt_sim_create(c->trial.model, &c->trial.sim, &sim) >= 0 &&
      slt_recorder_create(sim, &options, &recorder, &bad) >= 0 &&
      slt_recorder_run(recorder, c->trial.t_end) >= 0) {
    table = slt_recorder_take_table(recorder);
  }
  slt_recorder_free(recorder);
  slt_sim_free(sim);
  return table;
}

/// Both courses of the columns that were compared, over each other.
static int draw(const CompareCommand* c, const SltTable* a, const char* a_name, const SltTable* b,
                const char* b_name) {
  char* names = NULL;
  size_t size = 0;
  FILE* list = open_memstream(&names, &size);
  for (uint32_t i = 0; list && i < c->columns.count; i++)
    fprintf(list, "%s`%s`", i ? "," : "", c->columns.items[i]);
  if (list) fclose(list);
  CliFigure options = {0};
  SltFigure* figure = list && a && b ? figure_make(&options, NULL, a_name) : NULL;
  int exit = CLI_RUN;
  if (figure && slt_figure_add(figure, a, path_base(a_name)) >= 0 &&
      slt_figure_add(figure, b, path_base(b_name)) >= 0 && slt_figure_columns(figure, names) >= 0) {
    exit = figure_write(figure, &options, a, c->plot);
  } else {
    cli_error("there is nothing to draw");
  }
  slt_figure_free(figure);
  free(names);
  return exit;
}

static int compare_tables(CompareCommand* c) {
  SltTable* a = input_table(c->words[0]);
  SltTable* b = a ? input_table(c->words[1]) : NULL;
  SltProblem problem = {.message = ""};
  int exit = CLI_USAGE;
  if (a && b) {
    SltStatus status = slt_compare_tables(a, b, &c->options, print_comparison, c, &problem);
    if (status < 0) problem_print(NULL, &problem, status);
    exit = status < 0 ? CLI_USAGE : CLI_DONE;
  }
  if (exit == CLI_DONE) tell_rest(c, a, c->words[0], b, c->words[1]);
  if (exit == CLI_DONE && c->plot) exit = draw(c, a, c->words[0], b, c->words[1]);
  slt_table_free(a);
  slt_table_free(b);
  return exit;
}

static int compare_model(CompareCommand* c) {
  c->trial.path = c->words[0];
  int exit = trial_open(&c->trial, "compare");
  if (exit != CLI_DONE) return exit == CLI_MODEL ? CLI_RUN : exit;
  SltTable* data = input_table(c->data);
  if (!data) return CLI_USAGE;
  SltSim* sim = NULL;
  SltProblem problem = {.message = ""};
  c->options.t_end = c->trial.until;
  SltStatus status = slt_sim_create(c->trial.model, &c->trial.sim, &sim);
  if (status >= 0) {
    status = slt_compare_model(sim, data, &c->options, print_comparison, c, &problem);
  }
  if (status < 0 && problem.message[0]) {
    problem_print("--data", &problem, status);
    exit = CLI_USAGE;
  } else if (status < 0) {
    SltRunError error = sim ? slt_sim_error(sim) : (SltRunError){.rendered = NULL};
    if (error.rendered) fputs(error.rendered, stderr);
    cli_error("the run failed: %s", slt_status_text(status));
    exit = CLI_RUN;
  }
  slt_sim_free(sim);
  if (exit == CLI_DONE) tell_rest(c, data, c->data, NULL, NULL);
  if (exit == CLI_DONE && c->plot) {
    SltTable* model = run_model(c);
    exit = draw(c, model, c->words[0], data, c->data);
    slt_table_free(model);
  }
  slt_table_free(data);
  return exit;
}

int command_compare(int argc, char** argv) {
  CompareCommand c = {.trial = trial_defaults(), .options = slt_compare_options()};
  int exit = read_options(&c, argc, argv);
  if (exit == CLI_DONE) exit = c.data ? compare_model(&c) : compare_tables(&c);
  trial_close(&c.trial);
  for (uint32_t i = 0; i < c.columns.count; i++)
    free((void*)c.columns.items[i]);
  texts_clear(&c.columns);
  if (exit != CLI_DONE) return exit;
  return c.differs ? CLI_MODEL : CLI_DONE;
}

// SPDX-License-Identifier: MIT
//
// saltus fit: parameters from data.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum FitOption {
  FIT_DATA = TRIAL_OPTION_COUNT,
  FIT_PARAMS,
  FIT_BOUNDS,
  FIT_COLUMNS,
  FIT_WEIGHT,
  FIT_LOSS,
  FIT_STARTS,
  FIT_SEED,
  FIT_OUTPUT,
  FIT_PLOT,
  FIT_OPTION_COUNT
} FitOption;

static const OptionSpec specs[FIT_OPTION_COUNT] = {
    TRIAL_SPECS,
    [FIT_DATA] = {"--data", NULL, OPTION_VALUE},
    [FIT_PARAMS] = {"--params", NULL, OPTION_VALUE},
    [FIT_BOUNDS] = {"--bounds", NULL, OPTION_VALUE},
    [FIT_COLUMNS] = {"--columns", NULL, OPTION_VALUE},
    [FIT_WEIGHT] = {"--weight", NULL, OPTION_VALUE},
    [FIT_LOSS] = {"--loss", NULL, OPTION_VALUE},
    [FIT_STARTS] = {"--starts", NULL, OPTION_VALUE},
    [FIT_SEED] = {"--seed", NULL, OPTION_VALUE},
    [FIT_OUTPUT] = {"--output", "-o", OPTION_VALUE},
    [FIT_PLOT] = {"--plot", NULL, OPTION_VALUE},
};

#define FIT_FILES 64
#define FIT_MOST  32

typedef struct FitCommand {
  Trial trial;
  CliTexts data, bounds;
  CliNames params;
  CliNames column_names;
  SltFitColumn columns[FIT_MOST];
  CliSettings weights;
  uint64_t starts, seed;
  SltLoss loss;
  const char* output;
  const char* plot;
  SltFitData sets[FIT_FILES];
  CliSettings settings[FIT_FILES];
  SltFitParameter parameters[FIT_MOST];
  Progress progress;
} FitCommand;

// ---- options ------------------------------------------------------------------------------------

static bool read_loss(const char* text, SltLoss* out) {
  static const char* const words[] = {"squares", "huber", "cauchy"};
  int choice = option_choice("--loss", text, words, 3);
  if (choice >= 0) *out = (SltLoss)choice;
  return choice >= 0;
}

/// `x=a,v=b`: what it is of, and its name in the data.
static bool read_columns(FitCommand* c, const char* text) {
  cli_names_clear(&c->column_names);
  if (!cli_names_parse("--columns", text, &c->column_names)) return false;
  for (uint32_t i = 0; i < c->column_names.count; i++) {
    char* sign = strrchr(c->column_names.items[i], '=');
    if (!sign || i == FIT_MOST) {
      cli_error("--columns '%s' gives no column its meaning", text);
      cli_hint("--columns y=position,time=t");
      return false;
    }
    *sign = '\0';
    c->columns[i] = (SltFitColumn){c->column_names.items[i], sign + 1};
  }
  return true;
}

static bool read_option(FitCommand* c, int option, const char* text) {
  if (option < TRIAL_OPTION_COUNT) return trial_option(&c->trial, (TrialOption)option, text);
  switch (option) {
  case FIT_DATA: return texts_add(&c->data, text);
  case FIT_PARAMS: cli_names_clear(&c->params); return trial_params(&c->trial, text, &c->params);
  case FIT_BOUNDS: return texts_add(&c->bounds, text);
  case FIT_COLUMNS: return read_columns(c, text);
  case FIT_WEIGHT: return cli_settings_add(&c->weights, text);
  case FIT_LOSS: return read_loss(text, &c->loss);
  case FIT_STARTS: return option_count("--starts", text, 1, 100000, &c->starts);
  case FIT_SEED: return option_count("--seed", text, 0, UINT64_MAX, &c->seed);
  case FIT_OUTPUT: c->output = text; return csv_path_check(text);
  case FIT_PLOT: c->plot = text; return plot_path_check("--plot", text);
  default: return false;
  }
}

static int read_options(FitCommand* c, int argc, char** argv) {
  OptionParser parser = {
      .command = "fit", .specs = specs, .spec_count = FIT_OPTION_COUNT, .argc = argc, .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    bool good = option == OPTION_WORD ? cli_one_model("fit", parser.value, &c->trial.path)
                                      : read_option(c, option, parser.value);
    if (!good) return CLI_USAGE;
  }
  if (c->data.count > 0 && c->data.count <= FIT_FILES && c->params.count > 0 &&
      c->params.count <= FIT_MOST) {
    return CLI_DONE;
  }
  cli_error("fit needs data and parameters (at most %d and %d)", FIT_FILES, FIT_MOST);
  cli_hint("saltus fit MODEL --data FILE.csv --params k,m");
  return CLI_USAGE;
}

/// `FILE.csv`, or `FILE.csv,NAME=VALUE,...` with what was set while it was measured.
static int read_data(FitCommand* c, uint32_t i) {
  size_t size = strlen(c->data.items[i]) + 1;
  char* path = malloc(size);
  if (!path) return out_of_memory();
  memcpy(path, c->data.items[i], size);
  char* comma = strchr(path, ',');
  bool good = true;
  while (comma && good) {
    *comma = '\0';
    char* setting = comma + 1;
    comma = strchr(setting, ',');
    if (comma) *comma = '\0';
    good = cli_settings_add(&c->settings[i], setting);
  }
  SltTable* table = good ? input_table(path) : NULL;
  free(path);
  c->sets[i] = (SltFitData){
      .table = table, .settings = c->settings[i].items, .setting_count = c->settings[i].count};
  return table ? CLI_DONE : CLI_USAGE;
}

static int prepare(FitCommand* c) {
  c->trial.data_end = true;
  int exit = trial_open(&c->trial, "fit");
  parameters_init(c->parameters, &c->params);
  for (uint32_t i = 0; exit == CLI_DONE && i < c->bounds.count; i++) {
    if (!parameters_bound(c->parameters, c->params.count, c->bounds.items[i])) exit = CLI_USAGE;
  }
  for (uint32_t i = 0; exit == CLI_DONE && i < c->data.count; i++)
    exit = read_data(c, i);
  if (exit == CLI_DONE && !(output_allowed(c->output) && output_allowed(c->plot))) exit = CLI_USAGE;
  return exit;
}

// ---- results ------------------------------------------------------------------------------------

static void print_weakest(const FitCommand* c, const SltFitResult* result) {
  printf("not determined by the data (relative changes that hardly change the residuals):\n ");
  for (uint32_t i = 0; i < c->params.count; i++) {
    if (fabs(result->weakest[i]) < 0.05) continue;
    cli_print(stdout, " %+.2f %s", result->weakest[i], c->parameters[i].name);
  }
  putchar('\n');
}

static void print_result(const FitCommand* c, const SltFitResult* result) {
  uint32_t n = c->params.count;
  printf("%-14s %16s %12s   %s\n", "parameter", "value", "deviation", "95 % interval");
  for (uint32_t i = 0; i < n; i++) {
    const SltFitParameter* p = &c->parameters[i];
    cli_print(stdout, "%-14s %16.9g %12.3g   [%.9g, %.9g]%s\n", p->name, p->value, p->deviation,
              p->interval[0], p->interval[1],
              p->value <= p->lower || p->value >= p->upper ? "  at its bound" : "");
  }
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < i; k++) {
      double r = result->correlation[i * n + k];
      if (fabs(r) < 0.9) continue;
      cli_print(stdout, "correlation of %s and %s: %.3f\n", c->parameters[k].name,
                c->parameters[i].name, r);
    }
  }
  if (result->condition > 1e6) print_weakest(c, result);
  printf("%llu residuals, rms %.4g, %u iterations, %u runs%s\n", (unsigned long long)result->points,
         result->rms, result->iterations, result->runs, result->converged ? "" : "; not converged");
  if (result->late) {
    printf("the data begin after the end of the model's experiment: it was run on to them\n");
  }
  if (result->left_out) {
    printf("%llu numbers of the data are left out: before the start, or at jumps\n",
           (unsigned long long)result->left_out);
  }
}

static int write_result(const FitCommand* c) {
  char* text = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  if (!out) return out_of_memory();
  fputs("parameter,value,deviation,lower,upper\n", out);
  for (uint32_t i = 0; i < c->params.count; i++) {
    const SltFitParameter* p = &c->parameters[i];
    cell_text(out, true, p->name);
    cell_number(out, false, p->value);
    cell_number(out, false, p->deviation);
    cell_number(out, false, p->interval[0]);
    cell_number(out, false, p->interval[1]);
    fputc('\n', out);
  }
  fclose(out);
  bool to_stdout = strcmp(c->output, "-") == 0;
  if (to_stdout) fwrite(text, 1, size, stdout);
  int exit = to_stdout ? CLI_DONE : output_replace(c->output, text, size);
  free(text);
  return exit;
}

static bool is_cancelled(void* user) {
  FitCommand* c = user;
  return progress_poll(&c->progress, 0.0);
}

static int run(FitCommand* c) {
  double correlation[FIT_MOST * FIT_MOST];
  double weakest[FIT_MOST];
  SltFitResult result = {.correlation = correlation, .weakest = weakest};
  SltFitOptions options = slt_fit_options();
  SltProblem problem = {.message = ""};
  options.sim = c->trial.sim;
  options.loss = c->loss;
  options.starts = (uint32_t)c->starts;
  options.seed = c->seed;
  options.weights = c->weights.items;
  options.weight_count = c->weights.count;
  options.columns = c->columns;
  options.column_count = c->column_names.count;
  options.cancel = is_cancelled;
  options.user = c;
  c->progress = (Progress){.quiet = true};
  progress_begin(&c->progress);
  SltStatus status = slt_fit_run(c->trial.model, c->sets, c->data.count, c->parameters,
                                 c->params.count, &options, &result, &problem);
  progress_end(&c->progress);
  if (status == SLT_ERR_CANCELLED) {
    cli_note("interrupted; nothing was found yet");
    return CLI_SIGNAL + progress_signal();
  }
  if (status < 0) {
    int exit = problem_print(NULL, &problem, status);
    return status <= SLT_ERR_NOT_FINITE ? CLI_RUN : exit;
  }
  int exit = c->output ? write_result(c) : CLI_DONE;
  if (exit == CLI_DONE && c->plot) {
    exit = fit_plot(&(FitFound){.trial = &c->trial,
                                .data = c->sets,
                                .data_count = c->data.count,
                                .columns = {c->columns, c->column_names.count},
                                .parameters = c->parameters,
                                .count = c->params.count,
                                .correlation = correlation},
                    c->plot);
  }
  bool to_stdout = c->output && strcmp(c->output, "-") == 0;
  if (exit == CLI_DONE && !c->trial.quiet && !to_stdout) print_result(c, &result);
  return exit;
}

int command_fit(int argc, char** argv) {
  FitCommand* c = calloc(1, sizeof *c);
  if (!c) return out_of_memory();
  c->trial = trial_defaults();
  int exit = read_options(c, argc, argv);
  if (exit == CLI_DONE) exit = prepare(c);
  if (exit == CLI_DONE) exit = run(c);
  for (uint32_t i = 0; i < FIT_FILES; i++) {
    slt_table_free((SltTable*)c->sets[i].table);
    cli_settings_clear(&c->settings[i]);
  }
  cli_settings_clear(&c->weights);
  cli_names_clear(&c->params);
  cli_names_clear(&c->column_names);
  texts_clear(&c->data);
  texts_clear(&c->bounds);
  trial_close(&c->trial);
  free(c);
  return exit;
}

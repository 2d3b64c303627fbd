// SPDX-License-Identifier: MIT
//
// saltus optimize: parameters for which a measure is smallest or largest.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum OptimizeOption {
  OPTIMIZE_MINIMIZE = TRIAL_OPTION_COUNT,
  OPTIMIZE_MAXIMIZE,
  OPTIMIZE_PARAMS,
  OPTIMIZE_BOUNDS,
  OPTIMIZE_SUBJECT,
  OPTIMIZE_SEARCH,
  OPTIMIZE_EVALUATIONS,
  OPTIMIZE_SEED,
  OPTIMIZE_OUTPUT,
  OPTIMIZE_OPTION_COUNT
} OptimizeOption;

static const OptionSpec specs[OPTIMIZE_OPTION_COUNT] = {
    TRIAL_SPECS,
    TRIAL_UNTIL_SPEC,
    [OPTIMIZE_MINIMIZE] = {"--minimize", NULL, OPTION_VALUE},
    [OPTIMIZE_MAXIMIZE] = {"--maximize", NULL, OPTION_VALUE},
    [OPTIMIZE_PARAMS] = {"--params", NULL, OPTION_VALUE},
    [OPTIMIZE_BOUNDS] = {"--bounds", NULL, OPTION_VALUE},
    [OPTIMIZE_SUBJECT] = {"--subject-to", NULL, OPTION_VALUE},
    [OPTIMIZE_SEARCH] = {"--search", NULL, OPTION_VALUE},
    [OPTIMIZE_EVALUATIONS] = {"--evaluations", NULL, OPTION_VALUE},
    [OPTIMIZE_SEED] = {"--seed", NULL, OPTION_VALUE},
    [OPTIMIZE_OUTPUT] = {"--output", "-o", OPTION_VALUE},
};

#define OPTIMIZE_MOST 32

typedef struct OptimizeCommand {
  Trial trial;
  const char* objective;
  CliNames params;
  CliTexts bounds, subjects;
  SltOptimizeOptions options;
  uint64_t evaluations;
  const char* output;
  Output csv;
  SltMeasures* measures;
  SltConstraint constraints[OPTIMIZE_MOST];
  char* left_sides[OPTIMIZE_MOST];
  SltFitParameter parameters[OPTIMIZE_MOST];
  Progress progress;
  double done;
} OptimizeCommand;

// ---- options ------------------------------------------------------------------------------------

static bool read_objective(OptimizeCommand* c, const char* text, bool maximize) {
  if (c->objective) {
    cli_error("optimize takes one measure to be smallest or largest");
    return false;
  }
  c->objective = text;
  c->options.maximize = maximize;
  return true;
}

static bool read_search(OptimizeCommand* c, const char* text) {
  static const char* const words[] = {"gradient", "simplex", "global"};
  int choice = option_choice("--search", text, words, 3);
  if (choice >= 0) c->options.search = (SltSearch)choice;
  return choice >= 0;
}

static bool read_option(OptimizeCommand* c, int option, const char* text) {
  if (option < TRIAL_OPTION_COUNT) return trial_option(&c->trial, (TrialOption)option, text);
  switch (option) {
  case OPTIMIZE_MINIMIZE: return read_objective(c, text, false);
  case OPTIMIZE_MAXIMIZE: return read_objective(c, text, true);
  case OPTIMIZE_PARAMS:
    cli_names_clear(&c->params);
    return trial_params(&c->trial, text, &c->params);
  case OPTIMIZE_BOUNDS: return texts_add(&c->bounds, text);
  case OPTIMIZE_SUBJECT: return texts_add(&c->subjects, text);
  case OPTIMIZE_SEARCH: return read_search(c, text);
  case OPTIMIZE_EVALUATIONS:
    return option_count("--evaluations", text, 1, 100000000, &c->evaluations);
  case OPTIMIZE_SEED: return option_count("--seed", text, 0, UINT32_MAX, &c->options.seed);
  case OPTIMIZE_OUTPUT: c->output = text; return csv_path_check(text);
  default: return false;
  }
}

static int read_options(OptimizeCommand* c, int argc, char** argv) {
  OptionParser parser = {.command = "optimize",
                         .specs = specs,
                         .spec_count = OPTIMIZE_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    bool good = option == OPTION_WORD ? cli_one_model("optimize", parser.value, &c->trial.path)
                                      : read_option(c, option, parser.value);
    if (!good) return CLI_USAGE;
  }
  bool some = c->params.count > 0 && c->params.count <= OPTIMIZE_MOST;
  if (c->objective && some && c->subjects.count < OPTIMIZE_MOST) return CLI_DONE;
  cli_error("optimize needs a measure and parameters (at most %d, and as many conditions)",
            OPTIMIZE_MOST);
  cli_hint("saltus optimize MODEL --minimize 'max(x)' --params k --subject-to 'end(v) >= 1'");
  return CLI_USAGE;
}

/// `FORMULA <= NUMBER`, `FORMULA >= NUMBER`.
static bool read_subject(OptimizeCommand* c, uint32_t i) {
  const char* text = c->subjects.items[i];
  const char* sign = strstr(text, "<=");
  if (!sign) sign = strstr(text, ">=");
  SltConstraint* constraint = &c->constraints[i];
  const char* number = sign ? sign + 2 + strspn(sign + 2, " ") : "";
  c->left_sides[i] = sign ? calloc((size_t)(sign - text) + 1, 1) : NULL;
  if (c->left_sides[i] && cli_read_value(number, &constraint->bound)) {
    memcpy(c->left_sides[i], text, (size_t)(sign - text));
    constraint->at_least = *sign == '>';
    constraint->measure = i + 1;
    return true;
  }
  cli_error("--subject-to %s: this is no condition", text);
  cli_hint("for example --subject-to 'max(x) <= 3'");
  return false;
}

static int make_measures(OptimizeCommand* c) {
  const char* texts[OPTIMIZE_MOST + 1] = {c->objective};
  SltProblem problem = {.message = ""};
  for (uint32_t i = 0; i < c->subjects.count; i++) {
    if (!read_subject(c, i)) return CLI_USAGE;
    // two conditions may be about one measure: names keep them apart
    char* text = NULL;
    size_t size = 0;
    FILE* out = open_memstream(&text, &size);
    if (!out) return out_of_memory();
    fprintf(out, "subject_%u = %s", i + 1, c->left_sides[i]);
    fclose(out);
    free(c->left_sides[i]);
    c->left_sides[i] = text;
    texts[i + 1] = text;
  }
  SltStatus status =
      slt_measures_create(c->trial.model, texts, c->subjects.count + 1, &c->measures, &problem);
  return status < 0 ? problem_print(NULL, &problem, status) : CLI_DONE;
}

static int prepare(OptimizeCommand* c) {
  int exit = trial_open(&c->trial, "optimize");
  if (exit == CLI_DONE) exit = make_measures(c);
  parameters_init(c->parameters, &c->params);
  for (uint32_t i = 0; exit == CLI_DONE && i < c->bounds.count; i++) {
    if (!parameters_bound(c->parameters, c->params.count, c->bounds.items[i])) exit = CLI_USAGE;
  }
  if (exit != CLI_DONE || !c->output) return exit;
  c->csv = (Output){.path = c->output, .fd = -1, .late = true, .csv = true};
  return output_open(&c->csv) ? CLI_DONE : CLI_USAGE;
}

// ---- results ------------------------------------------------------------------------------------

static void write_line(OptimizeCommand* c, const SltEvaluation* e) {
  OutputLine row;
  FILE* out = line_open(&row, &c->csv);
  if (!out) return;
  cell_text(out, true, e ? "" : "evaluation");
  if (e) fprintf(out, "%llu", (unsigned long long)e->number);
  for (uint32_t i = 0; i < c->params.count; i++) {
    if (e) cell_number(out, false, e->parameters[i]);
    if (!e) cell_text(out, false, c->parameters[i].name);
  }
  for (uint32_t k = 0; k < slt_measures_count(c->measures); k++) {
    if (e) cell_number(out, false, e->values[k]);
    if (!e) cell_text(out, false, slt_measures_name(c->measures, k));
  }
  cell_text(out, false, !e ? "feasible" : e->feasible ? "1" : "0");
  fputc('\n', out);
  line_close(&row);
}

static void take_evaluation(void* user, const SltEvaluation* evaluation) {
  OptimizeCommand* c = user;
  c->done += 1.0;
  if (c->output) write_line(c, evaluation);
}

static bool is_cancelled(void* user) {
  OptimizeCommand* c = user;
  return progress_poll(&c->progress, c->done);
}

static void print_result(const OptimizeCommand* c, const SltOptimum* optimum) {
  for (uint32_t i = 0; i < c->params.count; i++) {
    const SltFitParameter* p = &c->parameters[i];
    cli_print(stdout, "%-20s %.10g%s\n", p->name, p->value,
              p->value <= p->lower || p->value >= p->upper ? "  at its bound" : "");
  }
  cli_print(stdout, "%-20s %.10g%s\n", c->objective, optimum->value,
            optimum->feasible ? "" : "  (the conditions do not hold)");
  fprintf(stderr, "%llu runs%s\n", (unsigned long long)optimum->evaluations,
          optimum->converged ? "" : "; not converged: try --evaluations or another --search");
}

static int run(OptimizeCommand* c) {
  SltOptimum optimum = {0};
  SltProblem problem = {.message = ""};
  if (c->output) write_line(c, NULL);
  c->options.sim = c->trial.sim;
  c->options.t_end = c->trial.t_end;
  if (c->evaluations) c->options.evaluations = (uint32_t)c->evaluations;
  c->options.constraints = c->constraints;
  c->options.constraint_count = c->subjects.count;
  c->options.on_evaluation = take_evaluation;
  c->options.cancel = is_cancelled;
  c->options.user = c;
  c->progress = (Progress){
      .t_end = (double)c->options.evaluations, .what = "evaluations", .quiet = c->trial.quiet};
  progress_begin(&c->progress);
  SltStatus status = slt_optimize_run(c->trial.model, c->measures, c->parameters, c->params.count,
                                      &c->options, &optimum, &problem);
  progress_end(&c->progress);
  output_close(&c->csv);
  if (c->csv.error) return output_report(&c->csv, "rows");
  if (status < 0 && status != SLT_ERR_CANCELLED) {
    int exit = problem_print(NULL, &problem, status);
    return status <= SLT_ERR_NOT_FINITE ? CLI_RUN : exit;
  }
  bool to_stdout = c->output && strcmp(c->output, "-") == 0;
  if (!to_stdout && !c->trial.quiet) print_result(c, &optimum);
  if (status == SLT_ERR_CANCELLED) return CLI_SIGNAL + progress_signal();
  return optimum.feasible ? CLI_DONE : CLI_RUN;
}

int command_optimize(int argc, char** argv) {
  OptimizeCommand* c = calloc(1, sizeof *c);
  if (!c) return out_of_memory();
  c->trial = trial_defaults();
  c->csv.fd = -1;
  c->options = slt_optimize_options();
  int exit = read_options(c, argc, argv);
  if (exit == CLI_DONE) exit = prepare(c);
  if (exit == CLI_DONE) exit = run(c);
  output_close(&c->csv);
  for (uint32_t i = 0; i < OPTIMIZE_MOST; i++)
    free(c->left_sides[i]);
  slt_measures_free(c->measures);
  cli_names_clear(&c->params);
  texts_clear(&c->bounds);
  texts_clear(&c->subjects);
  trial_close(&c->trial);
  free(c);
  return exit;
}

// SPDX-License-Identifier: MIT
//
// saltus sens: derivatives of measures, with a verdict for each.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum SensOption {
  SENS_PARAMS = TRIAL_OPTION_COUNT,
  SENS_REACH,
  SENS_DIFFERENCES,
  SENS_ADJOINT,
  SENS_VARY,
  SENS_SOBOL,
  SENS_SEED,
  SENS_JOBS,
  SENS_OUTPUT,
  SENS_PLOT,
  SENS_OUT,
  SENS_EVERY,
  SENS_OPTION_COUNT
} SensOption;

static const OptionSpec specs[SENS_OPTION_COUNT] = {
    TRIAL_SPECS,
    TRIAL_UNTIL_SPEC,
    TRIAL_MEASURE_SPEC,
    [SENS_PARAMS] = {"--params", NULL, OPTION_VALUE},
    [SENS_REACH] = {"--reach", NULL, OPTION_VALUE},
    [SENS_DIFFERENCES] = {"--differences", NULL, OPTION_FLAG},
    [SENS_ADJOINT] = {"--adjoint", NULL, OPTION_FLAG},
    [SENS_VARY] = {"--vary", NULL, OPTION_VALUE},
    [SENS_SOBOL] = {"--sobol", NULL, OPTION_VALUE},
    [SENS_SEED] = {"--seed", NULL, OPTION_VALUE},
    [SENS_JOBS] = {"--jobs", "-j", OPTION_VALUE},
    [SENS_OUTPUT] = {"--output", "-o", OPTION_VALUE},
    [SENS_PLOT] = {"--plot", NULL, OPTION_VALUE},
    [SENS_OUT] = {"--out", NULL, OPTION_VALUE},
    [SENS_EVERY] = {"--every", NULL, OPTION_VALUE},
};

/// A line of the table that people read, in order of what matters most.
typedef struct SensLine {
  double weight, elasticity;
  char* text;
  char* label;
} SensLine;

typedef struct SensCommand {
  Trial trial;
  CliNames params;
  CliNames out;  // derivatives along the run are asked for, of these
  double every;
  double reach;
  bool differences, adjoint;
  CliTexts vary;
  uint64_t samples, seed, jobs;  // of variances; samples 0: derivatives are asked for
  const char* output;
  const char* plot;
  Output csv;
  SltMeasures* measures;
  SensLine* lines;
  size_t line_count;
  Progress progress;
  double total;
  double done;
  bool lost;  // a line found no memory
} SensCommand;

static bool read_option(SensCommand* c, int option, const char* text) {
  if (option < TRIAL_OPTION_COUNT) return trial_option(&c->trial, (TrialOption)option, text);
  switch (option) {
  case SENS_PARAMS: cli_names_clear(&c->params); return trial_params(&c->trial, text, &c->params);
  case SENS_REACH: return option_positive("--reach", text, &c->reach);
  case SENS_VARY: return texts_add(&c->vary, text) && trial_vary(&c->trial, text);
  case SENS_SOBOL: return option_count("--sobol", text, 8, UINT64_C(100000000), &c->samples);
  case SENS_SEED: return option_count("--seed", text, 0, UINT64_MAX, &c->seed);
  case SENS_JOBS: return option_count("--jobs", text, 1, 1024, &c->jobs);
  case SENS_DIFFERENCES: c->differences = true; return true;
  case SENS_ADJOINT: c->adjoint = true; return true;
  case SENS_OUTPUT: c->output = text; return csv_path_check(text);
  case SENS_PLOT: c->plot = text; return plot_path_check("--plot", text);
  case SENS_OUT: cli_names_clear(&c->out); return cli_names_parse("--out", text, &c->out);
  case SENS_EVERY: return option_span("--every", text, &c->every);
  default: return false;
  }
}

static int read_options(SensCommand* c, int argc, char** argv) {
  OptionParser parser = {.command = "sens",
                         .specs = specs,
                         .spec_count = SENS_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    bool good = option == OPTION_WORD ? cli_one_model("sens", parser.value, &c->trial.path)
                                      : read_option(c, option, parser.value);
    if (!good) return CLI_USAGE;
  }
  static const OptionRule rules[] = {
      {SENS_VARY, SENS_SOBOL, false},       {SENS_SEED, SENS_SOBOL, false},
      {SENS_JOBS, SENS_SOBOL, false},       {SENS_PARAMS, SENS_SOBOL, true},
      {SENS_REACH, SENS_SOBOL, true},       {SENS_ADJOINT, SENS_SOBOL, true},
      {SENS_DIFFERENCES, SENS_SOBOL, true}, {SENS_EVERY, SENS_OUT, false},
      {SENS_REACH, SENS_OUT, true}};
  if (!option_rules_hold(&parser, rules, sizeof rules / sizeof *rules)) return CLI_USAGE;
  if (c->adjoint && c->differences) {
    cli_error("--adjoint and --differences are two ways to the same derivatives: choose one");
    return CLI_USAGE;
  }
  if (c->samples ? c->vary.count > 0 : c->params.count > 0) return CLI_DONE;
  if (c->samples) {
    cli_error("--sobol needs parameters with distributions");
    cli_hint("--vary 'k~normal(1, 0.1)' --vary m=1:2");
    return CLI_USAGE;
  }
  cli_error("sens needs parameters");
  cli_hint("--params k,m: constants, or initial values as x(t0)");
  return CLI_USAGE;
}

static const char* verdict_text(const SltDerivative* d) {
  static const char* const words[] = {"exists", "one-sided", "none"};
  static const char* const differences[] = {"exists by differences", "one-sided by differences",
                                            "none by differences"};
  return d->by_differences ? differences[d->verdict] : words[d->verdict];
}

/// Why the verdict is what it is, and why it comes from differences.
static void reason_text(const SltDerivative* d, char* out, size_t size) {
  snprintf(out, size, "%s%s%s", d->reason ? d->reason : "",
           d->reason && d->by_differences ? "; differences: "
           : d->by_differences            ? "differences: "
                                          : "",
           d->by_differences ? d->by_differences : "");
}

static void write_row(SensCommand* c, const SltDerivative* d) {
  OutputLine row;
  FILE* line = line_open(&row, &c->csv);
  if (!line) return;
  cell_text(line, true, d->measure);
  cell_text(line, false, d->parameter);
  const double numbers[] = {d->at, d->value, d->derivative, d->left, d->right, d->error};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    cell_number(line, false, numbers[i]);
  cell_number(line, false, d->derivative * d->at / d->value);
  char reason[300];
  reason_text(d, reason, sizeof reason);
  cell_text(line, false, verdict_text(d));
  cell_text(line, false, reason);
  cell_number(line, false, d->changes_at[0]);
  cell_number(line, false, d->changes_at[1]);
  fputc('\n', line);
  line_close(&row);
}

/// The elasticity in front, so that the most important lines come first.
static void keep_line(SensCommand* c, const SltDerivative* d) {
  SensLine* lines = realloc(c->lines, (c->line_count + 1) * sizeof *lines);
  double elasticity = d->derivative * d->at / d->value;
  char* text = NULL;
  size_t size = 0;
  FILE* line = lines ? open_memstream(&text, &size) : NULL;
  if (lines) c->lines = lines;
  c->lost |= !line;
  if (!line) return;
  fprintf(line, "%-22s %-12s %14.8g %14.8g %10.2g %12.4g  %s", d->measure, d->parameter, d->value,
          d->derivative, d->error, elasticity, verdict_text(d));
  if (d->verdict == SLT_DERIVATIVE_ONE_SIDED) {
    fprintf(line, " (left %.8g, right %.8g)", d->left, d->right);
  } else if (d->reason) {
    fprintf(line, " (%s)", d->reason);
  }
  for (int side = 0; side < 2; side++) {
    if (!isnan(d->changes_at[side])) {
      fprintf(line, "; other events %s %.10g", side ? "above" : "below", d->changes_at[side]);
    }
  }
  fputc('\n', line);
  fclose(line);
  double weight = isfinite(elasticity) ? fabs(elasticity) : d->verdict ? HUGE_VAL : 0.0;
  char* label = NULL;
  FILE* name = open_memstream(&label, &size);
  if (name) fprintf(name, "%s by %s", d->measure, d->parameter);
  if (name) fclose(name);
  c->lost |= !text || !label;
  c->lines[c->line_count++] = (SensLine){weight, elasticity, text, label};
}

static void take_derivative(void* user, const SltDerivative* derivative) {
  SensCommand* c = user;
  c->done += 1.0;
  if (c->output) write_row(c, derivative);
  keep_line(c, derivative);
}

static bool is_cancelled(void* user) {
  SensCommand* c = user;
  return progress_poll(&c->progress, c->done);
}

static int by_weight(const void* a, const void* b) {
  const SensLine* x = a;
  const SensLine* y = b;
  return (x->weight < y->weight) - (x->weight > y->weight);
}

static int compute(SensCommand* c) {
  SltSensOptions options = slt_sens_options();
  SltProblem problem = {.message = ""};
  options.sim = c->trial.sim;
  options.t_end = c->trial.t_end;
  if (c->reach > 0.0) options.reach = c->reach;
  options.differences = c->differences;
  options.adjoint = c->adjoint;
  options.on_derivative = take_derivative;
  options.cancel = is_cancelled;
  options.user = c;
  c->progress = (Progress){.t_end = (double)c->params.count * slt_measures_count(c->measures),
                           .what = "derivatives",
                           .quiet = c->trial.quiet};
  progress_begin(&c->progress);
  SltStatus status = slt_sens_run(c->trial.model, c->measures, c->params.items, NULL,
                                  c->params.count, &options, &problem);
  progress_end(&c->progress);
  if (status == SLT_ERR_CANCELLED) return CLI_SIGNAL + progress_signal();
  if (status >= 0 && c->lost) status = SLT_ERR_NOMEM;
  if (status < 0) {
    int exit = problem_print(NULL, &problem, status);
    return status <= SLT_ERR_NOT_FINITE ? CLI_RUN : exit;
  }
  return CLI_DONE;
}

/// Bars of the elasticities, the longest first.
static int draw(SensCommand* c) {
  SltBar* bars = calloc(c->line_count + 1, sizeof *bars);
  Output out = {.path = c->plot, .fd = -1, .whole = true};
  if (!bars || !output_open(&out)) {
    free(bars);
    return CLI_USAGE;
  }
  for (size_t i = 0; i < c->line_count; i++)
    bars[i] = (SltBar){c->lines[i].label ? c->lines[i].label : "", c->lines[i].elasticity};
  SltStatus status =
      slt_tornado_picture(bars, (uint32_t)c->line_count, c->trial.source.name,
                          plot_path_format(c->plot), (SltWriter){output_write, &out});
  output_close(&out);
  free(bars);
  return status < 0 || out.error ? output_report(&out, "picture") : CLI_DONE;
}

static int follow_course(SensCommand* c) {
  if (c->trial.measures.count || c->adjoint || c->differences || c->samples || c->plot) {
    cli_error("--out is for derivatives along the run, without measures and ways to them");
    cli_hint("saltus sens MODEL --params k --out x --every 0.1");
    return CLI_USAGE;
  }
  int exit = trial_open(&c->trial, "sens");
  if (exit != CLI_DONE) return exit;
  char* usual = path_title(c->trial.source.name, ".sens.csv");
  c->csv = (Output){.path = c->output ? c->output : usual, .fd = -1, .late = true, .csv = true};
  SensCourse request = {&c->params, &c->out, c->every > 0.0 ? c->every : (double)NAN};
  exit = usual ? sens_course(&c->trial, &request, &c->csv) : out_of_memory();
  output_close(&c->csv);
  free(usual);
  return exit;
}

static int run(SensCommand* c) {
  if (c->out.count) return follow_course(c);
  int exit = trial_open(&c->trial, "sens");
  if (exit == CLI_DONE) exit = trial_measures(&c->trial, &c->measures);
  if (exit != CLI_DONE) return exit;
  if (slt_measures_count(c->measures) == 0) {
    cli_error("sens needs to know what to measure");
    cli_hint("--measure 'max(x)', or `measure peak = max(x);` in the model");
    return CLI_USAGE;
  }
  c->csv = (Output){.path = c->output, .fd = -1, .late = true, .csv = true};
  if (!output_allowed(c->plot) || !output_allowed(c->output)) return CLI_USAGE;
  if (c->samples) {
    exit = sens_variance(&c->trial, c->measures, &c->vary,
                         (VarianceRequest){c->samples, c->seed, (uint32_t)c->jobs}, &c->csv);
    output_close(&c->csv);
    return exit == CLI_DONE && c->csv.error ? output_report(&c->csv, "rows") : exit;
  }
  if (c->output && !output_open(&c->csv)) return CLI_USAGE;
  static const char header[] = "measure,parameter,at,value,derivative,left,right,error,elasticity,"
                               "verdict,reason,changes_below,changes_above\n";
  if (c->output) output_write(&c->csv, header, sizeof header - 1);
  exit = compute(c);
  output_close(&c->csv);
  if (exit == CLI_DONE && c->csv.error) return output_report(&c->csv, "rows");
  bool to_stdout = c->output && strcmp(c->output, "-") == 0;
  if (c->line_count) qsort(c->lines, c->line_count, sizeof *c->lines, by_weight);
  if (exit == CLI_DONE && c->plot) exit = draw(c);
  if (exit != CLI_DONE || to_stdout || c->trial.quiet) return exit;
  printf("%-22s %-12s %14s %14s %10s %12s  %s\n", "measure", "parameter", "value", "derivative",
         "error", "elasticity", "verdict");
  for (size_t i = 0; i < c->line_count; i++)
    cli_print(stdout, "%s", c->lines[i].text);
  return exit;
}

int command_sens(int argc, char** argv) {
  SensCommand c = {.trial = trial_defaults(), .csv = {.fd = -1}};
  int exit = read_options(&c, argc, argv);
  if (exit == CLI_DONE) exit = run(&c);
  for (size_t i = 0; i < c.line_count; i++)
    free(c.lines[i].text);
  for (size_t i = 0; i < c.line_count; i++)
    free(c.lines[i].label);
  free(c.lines);
  slt_measures_free(c.measures);
  cli_names_clear(&c.params);
  cli_names_clear(&c.out);
  texts_clear(&c.vary);
  trial_close(&c.trial);
  return exit;
}

// SPDX-License-Identifier: MIT
//
// saltus sens --sobol: which parameter has which share of a measure's variance.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct VarianceCommand {
  Output* csv;
  bool print;
  Progress progress;
} VarianceCommand;

static bool is_cancelled(void* user) {
  VarianceCommand* c = user;
  return progress_poll(&c->progress, 0.0);
}

static void take_share(void* user, const SltVarianceShare* s) {
  VarianceCommand* c = user;
  if (c->csv->path) {
    OutputLine row;
    FILE* line = line_open(&row, c->csv);
    if (!line) return;
    cell_text(line, true, s->measure);
    cell_text(line, false, s->parameter);
    const double numbers[] = {s->mean,  s->variance,    s->first,        s->first_error,
                              s->total, s->total_error, (double)s->used, (double)s->failed};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
      cell_number(line, false, numbers[i]);
    fputc('\n', line);
    line_close(&row);
  }
  if (!c->print) return;
  cli_print(stdout, "%-22s %-12s %8.4f +- %-8.4f %8.4f +- %-8.4f", s->measure, s->parameter,
            s->first, s->first_error, s->total, s->total_error);
  if (s->failed) cli_print(stdout, "  %llu members without a value", (unsigned long long)s->failed);
  cli_print(stdout, "\n");
}

int sens_variance(const Trial* trial, const SltMeasures* measures, const CliTexts* vary,
                  VarianceRequest request, Output* csv) {
  SltDesign* design = NULL;
  SltProblem problem = {.message = ""};
  VarianceCommand c = {.csv = csv};
  SltStatus status = slt_design_create(trial->model, &design);
  if (status >= 0) status = design_vary(design, vary, &problem);
  if (status < 0) {
    slt_design_free(design);
    return problem_print("--vary", &problem, status);
  }
  if (csv->path && !output_open(csv)) {
    slt_design_free(design);
    return CLI_USAGE;
  }
  SltVarianceOptions options = slt_variance_options();
  options.sim = trial->sim;
  options.t_end = trial->t_end;
  options.samples = request.samples;
  options.seed = request.seed;
  options.jobs = request.jobs;
  options.on_share = take_share;
  options.cancel = is_cancelled;
  options.user = &c;
  bool to_stdout = csv->path && strcmp(csv->path, "-") == 0;
  c.print = !trial->quiet && !to_stdout;
  c.progress =
      (Progress){.t_end = 1.0, .what = "variances", .quiet = trial->quiet, .to_stdout = to_stdout};
  static const char header[] =
      "measure,parameter,mean,variance,first,first_error,total,total_error,"
      "used,failed\n";
  if (csv->path) output_write(csv, header, sizeof header - 1);
  if (c.print) {
    printf("%-22s %-12s %-20s %-20s\n", "measure", "parameter", "first order", "total");
  }
  progress_begin(&c.progress);
  status = slt_variance_run(trial->model, design, measures, &options, &problem);
  progress_end(&c.progress);
  slt_design_free(design);
  if (status == SLT_ERR_CANCELLED) return CLI_SIGNAL + progress_signal();
  return status < 0 ? problem_print(NULL, &problem, status) : CLI_DONE;
}

// SPDX-License-Identifier: MIT
//
// saltus measure: one run of a model, and the numbers it is asked for.
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum MeasureOption {
  MEASURE_SEED = TRIAL_OPTION_COUNT,
  MEASURE_OUTPUT,
  MEASURE_OPTION_COUNT
} MeasureOption;

static const OptionSpec specs[MEASURE_OPTION_COUNT] = {
    TRIAL_SPECS,
    TRIAL_UNTIL_SPEC,
    TRIAL_MEASURE_SPEC,
    [MEASURE_SEED] = {"--seed", NULL, OPTION_VALUE},
    [MEASURE_OUTPUT] = {"--output", "-o", OPTION_VALUE},
};

static int read_options(Trial* trial, const char** output, int argc, char** argv) {
  OptionParser parser = {.command = "measure",
                         .specs = specs,
                         .spec_count = MEASURE_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    bool good = option != OPTION_BAD;
    if (option == OPTION_WORD) {
      good = cli_one_model("measure", parser.value, &trial->path);
    } else if (option == MEASURE_SEED) {
      good = option_count("--seed", parser.value, 0, UINT64_MAX, &trial->sim.seed);
    } else if (option == MEASURE_OUTPUT) {
      *output = parser.value;
      good = csv_path_check(parser.value);
    } else if (good) {
      good = trial_option(trial, (TrialOption)option, parser.value);
    }
    if (!good) return CLI_USAGE;
  }
  return CLI_DONE;
}

/// For people on the terminal: names in a column, and nothing where there is no value.
static void print_values(const SltMeasures* measures, const double* values) {
  int width = 0;
  for (uint32_t i = 0; i < slt_measures_count(measures); i++) {
    int length = (int)strlen(slt_measures_name(measures, i));
    if (length > width) width = length;
  }
  for (uint32_t i = 0; i < slt_measures_count(measures); i++) {
    char number[32];
    cli_print(stdout, "%-*s  %s\n", width, slt_measures_name(measures, i),
              isnan(values[i]) ? "no value" : cli_number_text(values[i], number));
  }
}

/// For other programs: names in the first row, all digits in the second.
static int write_values(const SltMeasures* measures, const double* values, const char* path) {
  Output out = {.path = path, .csv = true};
  if (!output_open(&out)) return CLI_USAGE;
  for (int row = 0; row < 2 && !out.error; row++) {
    OutputLine line;
    FILE* cells = line_open(&line, &out);
    if (!cells) break;
    for (uint32_t i = 0; i < slt_measures_count(measures); i++) {
      if (row == 0) cell_text(cells, i == 0, slt_measures_name(measures, i));
      if (row == 1) cell_number(cells, i == 0, values[i]);
    }
    fputc('\n', cells);
    line_close(&line);
  }
  output_close(&out);
  return output_report(&out, "rows");
}

static int measure(const Trial* trial, const SltMeasures* measures, const char* output) {
  uint32_t count = slt_measures_count(measures);
  if (count == 0) {
    cli_error("measure needs to know what to measure");
    cli_hint("--measure 'max(x)', or `measure peak = max(x);` in the model");
    return CLI_USAGE;
  }
  double* values = malloc(count * sizeof *values);
  SltSim* sim = NULL;
  SltStatus status = values ? slt_sim_create(trial->model, &trial->sim, &sim) : SLT_ERR_NOMEM;
  if (status >= 0) status = slt_measures_run(measures, sim, trial->t_end, values);
  int exit = CLI_DONE;
  if (status == SLT_ERR_NOMEM) {
    exit = out_of_memory();
  } else if (status < 0) {
    SltRunError error = sim ? slt_sim_error(sim) : (SltRunError){.rendered = NULL};
    if (error.rendered) fputs(error.rendered, stderr);
    cli_error("the run failed: %s", slt_status_text(status));
    exit = CLI_RUN;
  } else if (output) {
    exit = write_values(measures, values, output);
  } else {
    print_values(measures, values);
  }
  slt_sim_free(sim);
  free(values);
  return exit;
}

int command_measure(int argc, char** argv) {
  Trial trial = trial_defaults();
  const char* output = NULL;
  SltMeasures* measures = NULL;
  int exit = read_options(&trial, &output, argc, argv);
  if (exit == CLI_DONE) exit = trial_open(&trial, "measure");
  if (exit == CLI_DONE && !output_allowed(output)) exit = CLI_USAGE;
  if (exit == CLI_DONE) exit = trial_measures(&trial, &measures);
  if (exit == CLI_DONE) exit = measure(&trial, measures, output);
  slt_measures_free(measures);
  trial_close(&trial);
  return exit;
}

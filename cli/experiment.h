// SPDX-License-Identifier: MIT
//
// What the commands that make many runs of a model share: sweep, sens, fit, optimize, compare.
#ifndef SALTUS_CLI_EXPERIMENT_H
#define SALTUS_CLI_EXPERIMENT_H

#include "run.h"

#include <saltus/saltus_experiment.h>

/// Texts of an option that may be repeated.
typedef struct CliTexts {
  const char** items;
  uint32_t count;
} CliTexts;

/// False when memory is exhausted, after a message.
bool texts_add(CliTexts* texts, const char* text);
void texts_clear(CliTexts* texts);

/// The model of an experiment and how its runs are made.
typedef struct Trial {
  const char* path;
  double until;
  SltSimOptions sim;
  CliSettings settings;
  CliTexts measures;
  bool quiet;
  bool data_end;  // runs end where the data do
  // filled in by trial_open()
  ModelSource source;
  SltModel* model;
  SltExperiment experiment;
  double t_start, t_end;
} Trial;

/// Options that these commands share; they stand first in the table of each.
typedef enum TrialOption {
  TRIAL_UNTIL,
  TRIAL_FROM,
  TRIAL_METHOD,
  TRIAL_RTOL,
  TRIAL_ATOL,
  TRIAL_HMAX,
  TRIAL_SET,
  TRIAL_MEASURE,
  TRIAL_QUIET,
  TRIAL_OPTION_COUNT
} TrialOption;

#define TRIAL_SPECS \
  [TRIAL_FROM] = {"--from", NULL, OPTION_VALUE}, \
  [TRIAL_METHOD] = {"--method", NULL, OPTION_VALUE}, \
  [TRIAL_RTOL] = {"--rtol", NULL, OPTION_VALUE}, [TRIAL_ATOL] = {"--atol", NULL, OPTION_VALUE}, \
  [TRIAL_HMAX] = {"--hmax", NULL, OPTION_VALUE}, [TRIAL_SET] = {"--set", NULL, OPTION_VALUE}, \
  [TRIAL_QUIET] = {"--quiet", "-q", OPTION_FLAG}
/// Of the commands whose runs end at a time that can be chosen.
#define TRIAL_UNTIL_SPEC   [TRIAL_UNTIL] = {"--until", NULL, OPTION_VALUE}
/// Of the commands that take measures.
#define TRIAL_MEASURE_SPEC [TRIAL_MEASURE] = {"--measure", "-m", OPTION_VALUE}

Trial trial_defaults(void);
/// What is varied, `NAME`, `NAME=...` or `NAME~...`: where it is a cell of a rule the model is
/// compiled with it as a constant. False when memory is exhausted, after a message.
bool trial_vary(Trial* trial, const char* text);
/// The names of --params.
bool trial_params(Trial* trial, const char* text, CliNames* out);
/// One of these options; false after a message.
bool trial_option(Trial* trial, TrialOption option, const char* text);
/// Read and compile the model, and find out from when to when it runs. Returns the exit status.
int trial_open(Trial* trial, const char* command);
void trial_close(Trial* trial);
/// Measures given, else those that the model declares. Returns the exit status.
int trial_measures(const Trial* trial, SltMeasures** out);
/// Measures that the model declares are read by those who take them: look whether they can, and
/// say where not.
bool measures_are_good(const SltModel* model);

/// Print a problem with its cure; returns the exit status that belongs to it.
/// Add what varies, and remember the files that values are drawn from.
SltStatus design_vary(SltDesign* design, const CliTexts* vary, SltProblem* problem);
int problem_print(const char* option, const SltProblem* problem, SltStatus status);

/// Parameters with the names given, without bounds, to begin where the model does.
void parameters_init(SltFitParameter* parameters, const CliNames* names);
/// Take `k=1:10` as bounds of one of them; false after a message.
bool parameters_bound(SltFitParameter* parameters, uint32_t count, const char* text);

/// A cell of a CSV row, with a comma in front of all but the first: text as RFC 4180 wants it, or a
/// number as short as it can be; NaN is an empty cell.
void cell_text(FILE* out, bool first, const char* text);
void cell_number(FILE* out, bool first, double value);

/// The map of event sequences over a grid (map.c). Returns the exit status.
int sweep_map(const Trial* trial, const SltDesign* design, uint32_t jobs, const char* output,
              const char* plot);

/// Columns of data and what they are of the model.
typedef struct FitColumns {
  const SltFitColumn* items;
  uint32_t count;
} FitColumns;

/// What a fit has come to.
typedef struct FitFound {
  const Trial* trial;
  const SltFitData* data;
  uint32_t data_count;
  FitColumns columns;
  const SltFitParameter* parameters;
  uint32_t count;
  const double* correlation;
} FitFound;

/// Data, model, interval and residuals as a picture (fit_plot.c). Returns the exit status.
int fit_plot(const FitFound* found, const char* path);

/// Derivatives of these quantities by these parameters along the run.
typedef struct SensCourse {
  const CliNames* params;
  const CliNames* out;
  double every;  // between rows; NaN: the usual number of them
} SensCourse;

/// Write them (sens_course.c). Returns the exit status.
int sens_course(const Trial* trial, const SensCourse* request, Output* csv);

/// How variances are asked for.
typedef struct VarianceRequest {
  uint64_t samples, seed;
  uint32_t jobs;
} VarianceRequest;

/// Shares of variance (variance.c); rows go to `csv` where it is open. Returns the exit status.
int sens_variance(const Trial* trial, const SltMeasures* measures, const CliTexts* vary,
                  VarianceRequest request, Output* csv);

#endif

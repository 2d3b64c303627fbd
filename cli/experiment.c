// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool texts_add(CliTexts* texts, const char* text) {
  const char** items = realloc((void*)texts->items, (texts->count + 1) * sizeof *items);
  if (!items) {
    cli_error("out of memory");
    return false;
  }
  texts->items = items;
  texts->items[texts->count++] = text;
  return true;
}

void texts_clear(CliTexts* texts) {
  free((void*)texts->items);
  *texts = (CliTexts){0};
}

Trial trial_defaults(void) {
  return (Trial){.until = (double)NAN, .sim = slt_sim_options()};
}

static bool read_atol(const char* text, double* out) {
  if (!option_number("--atol", text, out)) return false;
  if (*out >= 0.0) return true;
  cli_error("--atol must not be negative, not %s", text);
  return false;
}

bool trial_option(Trial* trial, TrialOption option, const char* text) {
  SltSimOptions* sim = &trial->sim;
  switch (option) {
  case TRIAL_UNTIL: return option_time("--until", text, &trial->until);
  case TRIAL_FROM: return option_time("--from", text, &sim->t_start);
  case TRIAL_METHOD: sim->method = text; return run_method_known("--method", text);
  case TRIAL_RTOL: return option_positive("--rtol", text, &sim->rtol);
  case TRIAL_ATOL: return read_atol(text, &sim->atol);
  case TRIAL_HMAX: return option_span("--hmax", text, &sim->h_max);
  case TRIAL_SET: return cli_settings_add(&trial->settings, text);
  case TRIAL_MEASURE: return texts_add(&trial->measures, text);
  case TRIAL_QUIET: trial->quiet = true; return true;
  case TRIAL_OPTION_COUNT:
  default: return false;
  }
}

bool trial_vary(Trial* trial, const char* text) {
  const char* name = text + strspn(text, " `");
  if (strncmp(name, "rule ", 5) != 0 && strncmp(name, "правило ", strlen("правило ")) != 0)
    return true;
  return cli_settings_push(&trial->settings, text, text + strcspn(text, "=~"), (double)NAN);
}

bool trial_params(Trial* trial, const char* text, CliNames* out) {
  bool good = cli_names_parse("--params", text, out);
  for (uint32_t i = 0; good && i < out->count; i++)
    good = trial_vary(trial, out->items[i]);
  return good;
}

static int choose_times(Trial* trial) {
  trial->t_start = !isnan(trial->sim.t_start)        ? trial->sim.t_start
                   : !isnan(trial->experiment.start) ? trial->experiment.start
                                                     : 0.0;
  trial->t_end = !isnan(trial->until)            ? trial->until
                 : !isnan(trial->experiment.end) ? trial->experiment.end
                                                 : 10.0;
  if (trial->t_end > trial->t_start || trial->data_end) return CLI_DONE;
  char start[32];
  char end[32];
  cli_error("the runs would end at %s, and start at %s", cli_number_text(trial->t_end, end),
            cli_number_text(trial->t_start, start));
  cli_hint("give a later end with --until");
  return CLI_USAGE;
}

int trial_open(Trial* trial, const char* command) {
  if (!trial->path) {
    cli_error("%s needs a model", command);
    cli_hint("`saltus help %s` shows how it is used", command);
    return CLI_USAGE;
  }
  if (!source_open(&trial->source, trial->path)) return CLI_MODEL;
  uint32_t warnings = 0;
  trial->model = model_load(&trial->source, &trial->settings, &warnings);
  if (!trial->model) return CLI_MODEL;
  cyclic_tell_located(&trial->source);
  trial->experiment = slt_model_experiment(trial->model);
  const char* problem = NULL;
  SltStatus status = slt_sim_options_check(trial->model, &trial->sim, &problem);
  if (status >= 0) status = native_prepare(trial->model, SLT_NATIVE_AUTO);
  if (status < 0) {
    cli_error("%s", problem ? problem : slt_status_text(status));
    return CLI_USAGE;
  }
  return choose_times(trial);
}

SltStatus design_vary(SltDesign* design, const CliTexts* vary, SltProblem* problem) {
  for (uint32_t i = 0; i < vary->count; i++) {
    SltStatus status = slt_design_add(design, vary->items[i], problem);
    if (status < 0) return status;
    const char* file = slt_design_parameter_file(design, i);
    if (file && !inputs_add(file)) return SLT_ERR_NOMEM;
  }
  return SLT_OK;
}

void trial_close(Trial* trial) {
  slt_model_free(trial->model);
  source_close(&trial->source);
  cli_settings_clear(&trial->settings);
  texts_clear(&trial->measures);
}

int trial_measures(const Trial* trial, SltMeasures** out) {
  SltProblem problem = {.message = ""};
  bool own = trial->measures.count > 0;
  SltStatus status = slt_measures_create(trial->model, own ? trial->measures.items : NULL,
                                         trial->measures.count, out, &problem);
  return status < 0 ? problem_print(NULL, &problem, status) : CLI_DONE;
}

bool measures_are_good(const SltModel* model) {
  if (slt_model_measure_count(model) == 0) return true;
  SltMeasures* measures = NULL;
  SltProblem problem = {.message = ""};
  SltStatus status = slt_measures_create(model, NULL, 0, &measures, &problem);
  if (status < 0) problem_print(NULL, &problem, status);
  slt_measures_free(measures);
  return status >= 0;
}

int problem_print(const char* option, const SltProblem* problem, SltStatus status) {
  const char* message = problem->message[0] ? problem->message : slt_status_text(status);
  if (option) {
    cli_error("%s: %s", option, message);
  } else {
    cli_error("%s", message);
  }
  if (problem->hint[0]) cli_hint("%s", problem->hint);
  return status == SLT_ERR_NOT_FOUND ? CLI_MODEL : CLI_USAGE;
}

void parameters_init(SltFitParameter* parameters, const CliNames* names) {
  for (uint32_t i = 0; i < names->count; i++) {
    parameters[i] = (SltFitParameter){.name = names->items[i],
                                      .start = (double)NAN,
                                      .lower = -(double)INFINITY,
                                      .upper = (double)INFINITY};
  }
}

bool parameters_bound(SltFitParameter* parameters, uint32_t count, const char* text) {
  const char* equals = strchr(text, '=');
  const char* colon = equals ? strchr(equals, ':') : NULL;
  char first[64] = "";
  size_t length = colon ? (size_t)(colon - equals - 1) : 0;
  if (length > 0 && length < sizeof first) memcpy(first, equals + 1, length);
  for (uint32_t i = 0; colon && i < count; i++) {
    SltFitParameter* p = &parameters[i];
    size_t name = strlen(p->name);
    if ((size_t)(equals - text) != name || memcmp(p->name, text, name) != 0) continue;
    if (cli_read_value(first, &p->lower) && cli_read_value(colon + 1, &p->upper)) return true;
  }
  cli_error("--bounds %s: these are no bounds of a parameter of --params", text);
  cli_hint("for example --bounds k=0.1:10");
  return false;
}

void cell_text(FILE* out, bool first, const char* text) {
  if (!first) fputc(',', out);
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

void cell_number(FILE* out, bool first, double value) {
  if (!first) fputc(',', out);
  if (isnan(value)) return;
  char text[SLT_NUMBER_TEXT];
  slt_number_text(value, text);
  fputs(text, out);
}

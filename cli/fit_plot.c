// SPDX-License-Identifier: MIT
//
// The picture of a fit: what was measured, and the model with the parameters that were found.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"
#include "figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A constant, or `x(t0)`.
static SltStatus give(SltSim* sim, const SltFitParameter* parameter) {
  char name[128];
  snprintf(name, sizeof name, "%.120s", parameter->name);
  char* initial = strstr(name, "(t0)");
  if (!initial) initial = strstr(name, "(0)");
  if (!initial) return slt_sim_set_constant(sim, name, parameter->value);
  *initial = '\0';
  return slt_sim_set_initial(sim, name, parameter->value);
}

/// Names of the columns that are quantities of the model, separated by commas; NULL for none.
static char* common_names(SltSim* sim, const SltTable* data, const char** names, uint32_t* count) {
  char* text = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  *count = 0;
  if (!out) return NULL;
  for (uint32_t i = 0; i < slt_table_column_count(data); i++) {
    SltQuantity q;
    const char* name = slt_table_column_name(data, i);
    if (slt_sim_find(sim, name, &q) < 0 || q.kind == SLT_KIND_TIME) continue;
    fprintf(out, "%s`%s`", *count ? "," : "", name);
    names[(*count)++] = name;
  }
  fclose(out);
  if (*count) return text;
  free(text);
  return NULL;
}

/// Rows of the model over the time of the data.
static SltTable* run_model(SltSim* sim, const SltTable* data, const char* const* names,
                           uint32_t count) {
  double end = -HUGE_VAL;
  for (uint32_t c = 0; c < slt_table_column_count(data); c++) {
    if (strcmp(slt_table_column_name(data, c), "time") != 0) continue;
    for (uint32_t i = 0; i < slt_table_row_count(data); i++) {
      double t = slt_table_value(data, i, c);
      if (t > end) end = t;
    }
  }
  SltRecorderOptions options = slt_recorder_options();
  SltRecorder* recorder = NULL;
  const char* bad = NULL;
  options.keep = true;
  options.samples = 2000;
  options.bands = false;
  options.names = names;
  options.name_count = count;
  SltTable* table = NULL;
  if (isfinite(end) && slt_recorder_create(sim, &options, &recorder, &bad) >= 0 &&
      slt_recorder_run(recorder, end) >= 0) {
    table = slt_recorder_take_table(recorder);
  }
  slt_recorder_free(recorder);
  return table;
}

int fit_plot(const Trial* trial, const SltFitData* data, const SltFitParameter* parameters,
             uint32_t count, const char* path) {
  SltSim* sim = NULL;
  SltFigure* figure = NULL;
  SltTable* model = NULL;
  char* names = NULL;
  uint32_t name_count = 0;
  const char** items = calloc(slt_table_column_count(data->table) + 1u, sizeof *items);
  SltStatus status = items ? slt_sim_create(trial->model, &trial->sim, &sim) : SLT_ERR_NOMEM;
  for (uint32_t i = 0; status >= 0 && i < data->setting_count; i++)
    status = slt_sim_set_constant(sim, data->settings[i].name, data->settings[i].value);
  for (uint32_t i = 0; status >= 0 && i < count; i++)
    status = give(sim, &parameters[i]);
  if (status >= 0) names = common_names(sim, data->table, items, &name_count);
  if (names) model = run_model(sim, data->table, items, name_count);
  CliFigure options = {0};
  int exit = CLI_RUN;
  if (model) figure = figure_make(&options, NULL, trial->source.name);
  if (figure && slt_figure_add(figure, data->table, "data") >= 0 &&
      slt_figure_add(figure, model, "model") >= 0 && slt_figure_columns(figure, names) >= 0) {
    exit = figure_write(figure, &options, model, path);
  } else if (!figure) {
    cli_error(
        "there is nothing to draw: no column of the data is a quantity of the model over time");
  }
  slt_figure_free(figure);
  slt_table_free(model);
  slt_sim_free(sim);
  free(names);
  free((void*)items);
  return exit;
}

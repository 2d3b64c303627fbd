// SPDX-License-Identifier: MIT
//
// What the picture of a fit shows: for each column of the data that the model has, the data, the
// model with the parameters that were found, its 95 % interval and the residuals. The interval
// comes from the covariance of the parameters and from runs with each of them moved a little.
#include "experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANELS  12u
#define POINTS  2000u  // of the model's line
#define ENTRIES 60u    // most times of entries
#define MOVED   0.1    // of a parameter's deviation

typedef struct FitPlot {
  const Trial* trial;
  const SltFitParameter* parameters;
  uint32_t count;
  const double* correlation;
  const SltFitData* data;
  SltMeasures* entries;  // of the present column; NULL: it is a quantity over time
  double until;          // when they have come, or never will
  const char* quantity;
} FitPlot;

/// Numbers that belong to one panel.
typedef struct Course {
  double *t, *y;
  uint32_t count;
} Course;

static SltStatus give(SltSim* sim, const SltFitParameter* parameter, double value) {
  char name[128];
  snprintf(name, sizeof name, "%.120s", parameter->name);
  char* initial = strstr(name, "(t0)");
  if (!initial) initial = strstr(name, "(0)");
  if (!initial) return slt_sim_set_constant(sim, name, value);
  *initial = '\0';
  return slt_sim_set_initial(sim, name, value);
}

/// Values of the present quantity at ascending times.
static SltStatus read_along(SltSim* sim, const char* name, Course* course) {
  SltQuantity q;
  SltStatus status = slt_sim_start(sim);
  if (status >= 0) status = slt_sim_find(sim, name, &q);
  for (uint32_t i = 0; status >= 0 && i < course->count; i++) {
    double t = slt_sim_time(sim);
    while (status >= 0 && status != SLT_END && t < course->t[i])
      status = slt_sim_advance(sim, course->t[i], &t);
    if (status >= 0 && t == course->t[i]) course->y[i] = slt_sim_get(sim, q);
  }
  return status;
}

/// The model at the points of a course, with parameter `moved` at `value` (none: at `count`).
static void run_course(const FitPlot* f, uint32_t moved, double value, Course* course) {
  SltSim* sim = NULL;
  for (uint32_t i = 0; i < course->count; i++)
    course->y[i] = (double)NAN;
  SltStatus status = slt_sim_create(f->trial->model, &f->trial->sim, &sim);
  for (uint32_t i = 0; status >= 0 && i < f->data->setting_count; i++)
    status = slt_sim_set_constant(sim, f->data->settings[i].name, f->data->settings[i].value);
  for (uint32_t i = 0; status >= 0 && i < f->count; i++)
    status = give(sim, &f->parameters[i], i == moved ? value : f->parameters[i].value);
  if (status >= 0 && f->entries) {
    double times[ENTRIES];
    slt_measures_run(f->entries, sim, f->until, times);
    for (uint32_t i = 0; i < course->count; i++)
      course->y[i] = times[(uint32_t)course->t[i] - 1];
  } else if (status >= 0) {
    read_along(sim, f->quantity, course);
  }
  slt_sim_free(sim);
}

/// Half the width of the model's interval along a course; false: the data do not determine it.
static bool find_spread(const FitPlot* f, const Course* course, double* spread) {
  uint32_t n = f->count;
  double* slopes = calloc((size_t)n * course->count + 2 * (size_t)course->count, sizeof *slopes);
  if (!slopes) return false;
  double* low = slopes + (size_t)n * course->count;
  double* high = low + course->count;
  double quantile = 0.0;
  bool good = true;
  for (uint32_t k = 0; good && k < n; k++) {
    const SltFitParameter* p = &f->parameters[k];
    double h = MOVED * p->deviation;
    good = isfinite(h) && h > 0.0;
    if (!good) break;
    quantile = (p->interval[1] - p->value) / p->deviation;
    run_course(f, k, p->value - h, &(Course){course->t, low, course->count});
    run_course(f, k, p->value + h, &(Course){course->t, high, course->count});
    // in deviations of the parameter
    for (uint32_t i = 0; i < course->count; i++)
      slopes[(size_t)k * course->count + i] = (high[i] - low[i]) / (2.0 * MOVED);
  }
  for (uint32_t i = 0; good && i < course->count; i++) {
    double sum = 0.0;
    for (uint32_t a = 0; a < n; a++) {
      for (uint32_t b = 0; b < n; b++) {
        sum += f->correlation[a * n + b] * slopes[(size_t)a * course->count + i] *
               slopes[(size_t)b * course->count + i];
      }
    }
    spread[i] = quantile * sqrt(fmax(sum, 0.0));
  }
  free(slopes);
  return good;
}

static const char* meaning_of(const FitColumns* columns, const char* name) {
  for (uint32_t i = 0; i < columns->count; i++) {
    if (strcmp(columns->items[i].column, name) == 0) return columns->items[i].quantity;
  }
  return name;
}

static bool is_over_time(const FitPlot* f, const char* name) {
  SltSim* sim = NULL;
  SltQuantity q;
  bool found = slt_sim_create(f->trial->model, &f->trial->sim, &sim) >= 0 &&
               slt_sim_find(sim, name, &q) >= 0 && q.kind != SLT_KIND_TIME;
  slt_sim_free(sim);
  return found;
}

/// `time(A.s)` as the measures of its entries, so many; NULL: it is none.
static SltMeasures* entries_of(const FitPlot* f, const char* name, uint32_t count) {
  char texts[ENTRIES][160];
  const char* items[ENTRIES];
  size_t length = strlen(name);
  if (count == 0 || strncmp(name, "time(", 5) != 0 || length > 120) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    snprintf(texts[i], sizeof texts[i], "%.*s, %u)", (int)length - 1, name, i + 1);
    items[i] = texts[i];
  }
  SltMeasures* entries = NULL;
  SltProblem problem;
  slt_measures_create(f->trial->model, items, count, &entries, &problem);
  return entries;
}

/// Rows of a column that have a time and a value. Entries are numbered as for the fit: beside a
/// column of times their numbers follow each other, else they are those of the rows.
static bool take_data(const SltTable* table, uint32_t time, uint32_t column, bool entries,
                      Course* out) {
  uint32_t rows = slt_table_row_count(table);
  out->t = calloc((size_t)rows + 1, sizeof *out->t);
  out->y = calloc((size_t)rows + 1, sizeof *out->y);
  out->count = 0;
  if (!out->t || !out->y) return false;
  for (uint32_t i = 0; i < rows; i++) {
    double number = (time == UINT32_MAX ? i : out->count) + 1.0;
    double t = entries ? number : slt_table_value(table, i, time);
    double y = slt_table_value(table, i, column);
    bool later = out->count == 0 || t >= out->t[out->count - 1];
    if (!isfinite(t) || !isfinite(y) || !later || (entries && t > ENTRIES)) continue;
    out->t[out->count] = t;
    out->y[out->count++] = y;
  }
  return out->count > 0;
}

/// The points at which the model's line is drawn.
static Course line_points(const FitPlot* f, const Course* data) {
  uint32_t count = f->entries ? slt_measures_count(f->entries) : POINTS;
  Course line = {calloc(count, sizeof(double)), calloc(count, sizeof(double)), count};
  double begin = f->trial->t_start;
  double end = data->t[data->count - 1];
  for (uint32_t i = 0; line.t && i < count; i++) {
    line.t[i] = f->entries ? i + 1.0 : begin + (end - begin) * i / (count - 1.0);
  }
  return line;
}

static bool make_panel(FitPlot* f, uint32_t time, uint32_t column, const char* name,
                       SltFitPanel* panel) {
  Course data = {0};
  bool entries = strncmp(name, "time(", 5) == 0;
  *panel = (SltFitPanel){.name = name, .over = entries ? "entry" : "time"};
  if (!entries && (time == UINT32_MAX || !is_over_time(f, name))) return false;
  bool good = take_data(f->data->table, time, column, entries, &data);
  f->quantity = name;
  f->entries = good && entries ? entries_of(f, name, (uint32_t)data.t[data.count - 1]) : NULL;
  if (f->entries) {
    double last = data.y[data.count - 1];
    f->until = last + 0.5 * (last - f->trial->t_start);
  }
  good &= !entries || f->entries;
  panel->t = data.t;
  panel->y = data.y;
  panel->count = good ? data.count : 0;
  if (!good) return false;
  Course line = line_points(f, &data);
  Course at = {data.t, calloc(data.count, sizeof(double)), data.count};
  double* spread = calloc(line.count, sizeof *spread);
  panel->model_t = line.t;
  panel->model = line.y;
  panel->residual = at.y;
  good = line.t && line.y && at.y && spread;
  if (good) {
    run_course(f, f->count, 0.0, &line);
    run_course(f, f->count, 0.0, &at);
    for (uint32_t i = 0; i < at.count; i++)
      at.y[i] = data.y[i] - at.y[i];
    panel->model_count = line.count;
    if (find_spread(f, &line, spread)) panel->spread = spread;
  }
  if (!panel->spread) free(spread);
  slt_measures_free(f->entries);
  return good;
}

static void free_panel(SltFitPanel* panel) {
  free((void*)panel->t);
  free((void*)panel->y);
  free((void*)panel->residual);
  free((void*)panel->model_t);
  free((void*)panel->model);
  free((void*)panel->spread);
}

static uint32_t find_time(const SltTable* table, const FitColumns* columns) {
  for (uint32_t i = 0; i < slt_table_column_count(table); i++) {
    if (strcmp(meaning_of(columns, slt_table_column_name(table, i)), "time") == 0) return i;
  }
  return UINT32_MAX;
}

int fit_plot(const FitFound* found, const char* path) {
  SltFitPanel panels[PANELS];
  uint32_t count = 0;
  FitPlot f = {.trial = found->trial,
               .parameters = found->parameters,
               .count = found->count,
               .correlation = found->correlation};
  for (uint32_t d = 0; d < found->data_count; d++) {
    f.data = &found->data[d];
    uint32_t time = find_time(f.data->table, &found->columns);
    for (uint32_t i = 0; i < slt_table_column_count(f.data->table) && count < PANELS; i++) {
      const char* name = meaning_of(&found->columns, slt_table_column_name(f.data->table, i));
      if (i == time) continue;
      if (make_panel(&f, time, i, name, &panels[count])) {
        count++;
      } else {
        free_panel(&panels[count]);
      }
    }
  }
  Output out = {.path = path, .fd = -1, .whole = true};
  int exit = CLI_USAGE;
  if (count == 0) {
    cli_error("there is nothing to draw: no column of the data is a quantity of the model");
  } else if (output_open(&out)) {
    SltStatus status = slt_fit_picture(panels, count, found->trial->source.name,
                                       plot_path_format(path), (SltWriter){output_write, &out});
    output_close(&out);
    exit = status < 0 || out.error ? output_report(&out, "picture") : CLI_DONE;
  }
  for (uint32_t i = 0; i < count; i++)
    free_panel(&panels[i]);
  return exit;
}

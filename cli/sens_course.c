// SPDX-License-Identifier: MIT
//
// Derivatives along a run: a row for each time, in it the quantities and how they depend on each
// parameter while the time stands.
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS    100.0
#define TIGHT   1e-12  // tolerance, as of the derivatives of measures
#define INITIAL "(t0)"

typedef struct Course {
  const Trial* trial;
  const SensCourse* request;
  Output* csv;
  SltSim* sim;
  SltSensitivity* along;
  SltQuantity* quantities;
  double* by;
  double every;
  uint64_t row;  // number of the next one
  const char* gap;
} Course;

static double row_time(const Course* c) {
  double t = c->trial->t_start + (double)c->row * c->every;
  // the last one is the end, whatever its sum is
  return t > c->trial->t_end - 1e-9 * c->every ? c->trial->t_end : t;
}

static void write_names(Course* c) {
  OutputLine row;
  FILE* line = line_open(&row, c->csv);
  if (!line) return;
  cell_text(line, true, "time");
  for (uint32_t i = 0; i < c->request->out->count; i++) {
    const char* name = c->request->out->items[i];
    cell_text(line, false, name);
    for (uint32_t k = 0; k < c->request->params->count; k++) {
      char text[400];
      snprintf(text, sizeof text, "d %s/d %s", name, c->request->params->items[k]);
      cell_text(line, false, text);
    }
  }
  fputc('\n', line);
  line_close(&row);
}

static void write_row(Course* c, double t) {
  OutputLine row;
  FILE* line = line_open(&row, c->csv);
  if (!line) return;
  cell_number(line, true, t);
  for (uint32_t i = 0; i < c->request->out->count; i++) {
    cell_number(line, false, slt_sim_get(c->sim, c->quantities[i]));
    bool known = slt_sensitivity_get(c->along, SLT_WHEN_NOW, c->quantities[i], c->by) == SLT_OK;
    for (uint32_t k = 0; k < c->request->params->count; k++)
      cell_number(line, false, known ? c->by[k] : (double)NAN);
  }
  fputc('\n', line);
  line_close(&row);
  c->row++;
}

/// Constants by their names, initial values as `x(t0)`.
static SltStatus follow(Course* c, char* names) {
  uint32_t count = c->request->params->count;
  SltSensitivityParameter* parameters = calloc(count + 1u, sizeof *parameters);
  if (!parameters) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < count; i++) {
    size_t length = strlen(c->request->params->items[i]);
    size_t bare = length - (sizeof INITIAL - 1);
    bool initial =
        length >= sizeof INITIAL && strcmp(c->request->params->items[i] + bare, INITIAL) == 0;
    memcpy(names, c->request->params->items[i], length + 1);
    if (initial) names[bare] = '\0';
    parameters[i] = (SltSensitivityParameter){names, initial};
    names += length + 1;
  }
  SltStatus status = slt_sensitivity_create(c->sim, parameters, count, &c->along);
  free(parameters);
  return status;
}

static int find_quantities(Course* c) {
  for (uint32_t i = 0; i < c->request->out->count; i++) {
    if (slt_sim_find(c->sim, c->request->out->items[i], &c->quantities[i]) >= 0) continue;
    cli_error("--out: the model has no `%s`", c->request->out->items[i]);
    cli_hint("`saltus names` lists what it has");
    return CLI_MODEL;
  }
  return CLI_DONE;
}

/// One stretch of motion with its rows, and what happens at its end.
static SltStatus go_on(Course* c) {
  double until = 0.0;
  double t = slt_sim_time(c->sim);
  SltStatus status = slt_sim_ahead(c->sim, &until);
  if (status != SLT_OK) return status;
  until = fmin(until, c->trial->t_end);
  status = slt_sensitivity_stretch(c->along, until);
  while (status >= 0 && row_time(c) < until) {
    status = slt_sim_look(c->sim, row_time(c));
    if (status >= 0) write_row(c, row_time(c));
  }
  if (status >= 0) status = slt_sim_advance(c->sim, until, &t);
  return status;
}

static int follow_run(Course* c) {
  SltStatus status = slt_sim_start(c->sim);
  write_names(c);
  while (status >= 0 && status != SLT_END && slt_sim_time(c->sim) < c->trial->t_end &&
         !c->csv->error)
    status = go_on(c);
  if (status < 0) {
    cli_error("the run fails: %s", slt_status_text(status));
    cli_hint("`saltus run` tells more");
    return CLI_RUN;
  }
  write_row(c, slt_sim_time(c->sim));
  c->gap = slt_sensitivity_gap(c->along);
  if (c->gap) {
    cli_note("derivatives end where the run did what is not differentiated: %s", c->gap);
    cli_hint("measures have them by differences of runs: -m 'at(x, 1)'");
  }
  return c->csv->error ? output_report(c->csv, "rows") : CLI_DONE;
}

static int make(Course* c, char* names) {
  SltSimOptions options = c->trial->sim;
  slt_sim_options_tighten(c->trial->model, TIGHT, &options);
  if (slt_sim_create(c->trial->model, &options, &c->sim) < 0) return out_of_memory();
  SltStatus status = follow(c, names);
  if (status == SLT_ERR_NOT_FOUND || status == SLT_ERR_ARGUMENT) {
    cli_error("a parameter of --params is no constant or initial value of the model");
    cli_hint("`saltus names` lists what it has; initial values are written x(t0)");
    return CLI_MODEL;
  }
  return status < 0 ? out_of_memory() : find_quantities(c);
}

int sens_course(const Trial* trial, const SensCourse* request, Output* csv) {
  Course c = {.trial = trial, .request = request, .csv = csv};
  c.every = isnan(request->every) ? (trial->t_end - trial->t_start) / ROWS : request->every;
  if (!(c.every > 0.0) || (trial->t_end - trial->t_start) / c.every > 1e8) {
    cli_error("the run would have no time, or too many rows");
    return CLI_USAGE;
  }
  size_t room = 1;
  for (uint32_t i = 0; i < request->params->count; i++)
    room += strlen(request->params->items[i]) + 1;
  char* names = malloc(room);
  c.quantities = calloc(request->out->count + 1u, sizeof *c.quantities);
  c.by = calloc(request->params->count + 1u, sizeof *c.by);
  int exit = names && c.quantities && c.by ? make(&c, names) : out_of_memory();
  if (exit == CLI_DONE) exit = output_open(csv) ? follow_run(&c) : CLI_USAGE;
  slt_sensitivity_free(c.along);
  slt_sim_free(c.sim);
  free(names);
  free(c.quantities);
  free(c.by);
  return exit;
}

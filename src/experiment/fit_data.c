// SPDX-License-Identifier: MIT
//
// Residuals of a fit: the model run over the times of the data, read from dense output.
#include "experiment/fit.h"
#include "experiment/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Where the next number of a column is.
typedef struct Cursor {
  uint32_t row;
  uint64_t residual;
} Cursor;

/// One run over the data of a set.
typedef struct Following {
  const FitSet* set;
  double* residuals;
  Cursor* at;              // per column
  SltSensitivity* slopes;  // NULL: nobody asks for derivatives
  double* jacobian;        // column by column
  uint64_t m;              // its rows
  double row[FIT_PARAMETERS];
  uint32_t n;
} Following;

/// Derivatives of a residual, from those of what is measured; NaN where they are not known.
static void put_slopes(Following* f, uint64_t residual, double weight, bool known) {
  for (uint32_t k = 0; k < f->n; k++)
    f->jacobian[(uint64_t)k * f->m + residual] = known ? weight * f->row[k] : (double)NAN;
}

/// What a column was measured of: its own name, unless it is said otherwise.
static const char* quantity_of(const SltFitOptions* options, const SltTable* table,
                               uint32_t column) {
  const char* name = slt_table_column_name(table, column);
  for (uint32_t i = 0; i < options->column_count; i++) {
    if (strcmp(options->columns[i].column, name) == 0) return options->columns[i].quantity;
  }
  return name;
}

/// Whether it is said what a column stands for.
static bool is_named(const SltFitOptions* options, const char* name) {
  for (uint32_t i = 0; i < options->column_count; i++) {
    if (strcmp(options->columns[i].column, name) == 0) return true;
  }
  return false;
}

/// Two columns stand for one quantity only where both are named to do so: a heading that is there
/// twice, or that is the quantity's own name beside one that was named for it, is a mistake.
static SltStatus check_alone(const SltFitOptions* options, const SltTable* table, uint32_t column,
                             SltProblem* problem) {
  const char* name = slt_table_column_name(table, column);
  for (uint32_t i = 0; i < column; i++) {
    const char* other = slt_table_column_name(table, i);
    bool same = strcmp(other, name) == 0;
    const char* quantity = quantity_of(options, table, column);
    if (strcmp(quantity_of(options, table, i), quantity) != 0) continue;
    if (same) {
      return problem_set(problem, SLT_ERR_ARGUMENT, "rename one of them, or leave it out",
                         "the data have two columns `%.80s`", name);
    }
    if (is_named(options, name) && is_named(options, other)) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, "--columns x=a,x=b takes both",
                       "the columns `%.80s` and `%.80s` of the data both stand for `%.80s`", other,
                       name, quantity);
  }
  return SLT_OK;
}

static uint32_t find_time(const SltFitOptions* options, const SltTable* table) {
  for (uint32_t i = 0; i < slt_table_column_count(table); i++) {
    if (strcmp(quantity_of(options, table, i), "time") == 0) return i;
  }
  return UINT32_MAX;
}

// ---- columns ------------------------------------------------------------------------------------

/// `time(A.s)`, or `time(s)` of the automaton without a name.
static bool read_entry(const char* name, SltSim* sim, FitColumn* out) {
  size_t length = strlen(name);
  if (length < 7 || strncmp(name, "time(", 5) != 0 || name[length - 1] != ')') return false;
  const char* point = strrchr(name, '.');
  char automaton[128] = "main";
  char state[128];
  const char* begin = point ? point + 1 : name + 5;
  if (length > 120) return false;
  if (point) {
    memcpy(automaton, name + 5, (size_t)(point - name - 5));
    automaton[point - name - 5] = '\0';
  }
  memcpy(state, begin, (size_t)(name + length - 1 - begin));
  state[name + length - 1 - begin] = '\0';
  for (uint32_t a = 0; a < slt_sim_automaton_count(sim); a++) {
    if (strcmp(slt_sim_automaton_name(sim, a), automaton) != 0) continue;
    for (uint32_t s = 0; s < slt_sim_state_count(sim, a); s++) {
      if (strcmp(slt_sim_state_name(sim, a, s), state) != 0) continue;
      size_t first = strlen(automaton) + 1;
      out->automaton = malloc(first + strlen(state) + 1);
      if (!out->automaton) return false;
      memcpy(out->automaton, automaton, first);
      memcpy(out->automaton + first, state, strlen(state) + 1);
      out->state = out->automaton + first;
      return true;
    }
  }
  return false;
}

static double weight_of(const SltFitOptions* options, const char* name) {
  for (uint32_t i = 0; i < options->weight_count; i++) {
    if (strcmp(options->weights[i].name, name) == 0) return options->weights[i].value;
  }
  return 1.0;
}

/// Whether the data jump between a row and the next one: both have one time and differ.
static bool jumps_behind(const FitSet* set, uint32_t row) {
  const SltTable* table = set->data->table;
  if (row + 1 >= slt_table_row_count(table)) return false;
  if (slt_table_value(table, row, set->time) != slt_table_value(table, row + 1, set->time)) {
    return false;
  }
  for (uint32_t c = 0; c < slt_table_column_count(table); c++) {
    double a = slt_table_value(table, row, c);
    double b = slt_table_value(table, row + 1, c);
    if (a != b && !(isnan(a) && isnan(b))) return true;
  }
  return false;
}

/// Whether a cell makes a residual. Of a quantity those rows are left out that come before the run,
/// and those that stand at a jump: where the model jumps moves with the parameters, and no residual
/// there is smooth.
static bool is_counted(const FitSet* set, const FitColumn* column, uint32_t row) {
  const SltTable* table = set->data->table;
  if (isnan(slt_table_value(table, row, column->column))) return false;
  if (column->automaton) return true;
  if (row > 0 && jumps_behind(set, row - 1)) return false;
  return slt_table_value(table, row, set->time) >= set->t_start && !jumps_behind(set, row);
}

/// Numbers of a column that make residuals, and those that are left out.
static void count_numbers(Fit* fit, const FitSet* set, const FitColumn* column) {
  for (uint32_t i = 0; i < slt_table_row_count(set->data->table); i++) {
    bool counts = is_counted(set, column, i);
    fit->m += counts;
    fit->left_out += !counts && !isnan(slt_table_value(set->data->table, i, column->column));
  }
}

SltStatus table_check_numbers(const SltTable* table, uint32_t column, SltProblem* problem) {
  for (uint32_t i = 0; i < slt_table_row_count(table); i++) {
    const char* text = slt_table_text(table, i, column);
    if (isinf(slt_table_value(table, i, column))) text = "Inf";
    if (!text || !text[0]) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, "leave cells empty that have no number",
                       "row %u of column `%.80s` is `%.40s`, which is no number", i + 1,
                       slt_table_column_name(table, column), text);
  }
  return SLT_OK;
}

static SltStatus prepare_set(Fit* fit, FitSet* set, SltSim* sim, SltProblem* problem) {
  const SltTable* table = set->data->table;
  uint32_t count = slt_table_column_count(table);
  set->time = find_time(fit->options, table);
  set->residual = fit->m;
  double own = slt_model_experiment(fit->model).start;
  set->t_start = !isnan(fit->sim.t_start) ? fit->sim.t_start : !isnan(own) ? own : 0.0;
  set->columns = calloc(count + 1, sizeof *set->columns);
  if (!set->columns) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < count; i++) {
    const char* name = quantity_of(fit->options, table, i);
    FitColumn column = {.column = i, .weight = weight_of(fit->options, name)};
    bool entry = read_entry(name, sim, &column);
    bool found = entry || slt_sim_find(sim, name, &column.quantity) >= 0;
    bool usable =
        entry || (column.quantity.kind != SLT_KIND_TIME && column.quantity.kind != SLT_KIND_MODE);
    SltStatus alone = found ? check_alone(fit->options, table, i, problem) : SLT_OK;
    if (alone < 0) free(column.automaton);
    SLT_TRY(alone);
    if (!found || !usable) continue;
    if (!entry && set->time == UINT32_MAX) {
      return problem_set(problem, SLT_ERR_NOT_FOUND, "its times must stand in a column `time`",
                         "the data have no column `time`");
    }
    set->columns[set->column_count++] = column;
    SLT_TRY(table_check_numbers(table, i, problem));
    count_numbers(fit, set, &column);
  }
  if (set->time != UINT32_MAX) SLT_TRY(table_check_numbers(table, set->time, problem));
  fit->late |= set->time != UINT32_MAX && slt_table_row_count(table) > 0 &&
               slt_table_value(table, 0, set->time) > slt_model_experiment(fit->model).end;
  for (uint32_t i = 1; set->time != UINT32_MAX && i < slt_table_row_count(table); i++) {
    if (slt_table_value(table, i, set->time) >= slt_table_value(table, i - 1, set->time)) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, "sort them",
                       "row %u of the data is not in order of time", i + 1);
  }
  return SLT_OK;
}

/// Columns that are said to stand for something have to be there, and it too.
static SltStatus check_columns(const Fit* fit, SltSim* sim, SltProblem* problem) {
  for (uint32_t i = 0; i < fit->options->column_count; i++) {
    const SltFitColumn* given = &fit->options->columns[i];
    bool there = false;
    for (uint32_t s = 0; s < fit->set_count; s++) {
      const SltTable* table = fit->sets[s].data->table;
      for (uint32_t c = 0; c < slt_table_column_count(table); c++)
        there |= strcmp(slt_table_column_name(table, c), given->column) == 0;
    }
    if (!there) {
      return problem_set(problem, SLT_ERR_NOT_FOUND, "--columns x=measured: the column stands last",
                         "the data have no column `%s`", given->column);
    }
    SltQuantity q;
    FitColumn entry = {0};
    bool known = strcmp(given->quantity, "time") == 0 || read_entry(given->quantity, sim, &entry) ||
                 slt_sim_find(sim, given->quantity, &q) >= 0;
    free(entry.automaton);
    if (!known) {
      return problem_set(problem, SLT_ERR_NOT_FOUND, "--columns x=measured: what it is comes first",
                         "the model has no `%s`", given->quantity);
    }
  }
  return SLT_OK;
}

/// A weight is that of a column that makes residuals.
static SltStatus check_weights(const Fit* fit, SltProblem* problem) {
  for (uint32_t i = 0; i < fit->options->weight_count; i++) {
    const SltOverride* weight = &fit->options->weights[i];
    bool there = false;
    for (uint32_t s = 0; s < fit->set_count; s++) {
      const FitSet* set = &fit->sets[s];
      for (uint32_t c = 0; c < set->column_count; c++) {
        const char* name = quantity_of(fit->options, set->data->table, set->columns[c].column);
        there |= strcmp(name, weight->name) == 0;
      }
    }
    if (!there) {
      return problem_set(problem, SLT_ERR_NOT_FOUND, "weights are those of what is compared",
                         "the data have no `%.80s` to weigh", weight->name);
    }
    if (!(weight->value >= 0.0 && isfinite(weight->value))) {
      return problem_set(problem, SLT_ERR_ARGUMENT, "0 leaves a column out",
                         "the weight of `%.80s` must be a number from 0 on", weight->name);
    }
  }
  return SLT_OK;
}

/// What was set while something was measured is a constant, and not to be found.
static SltStatus check_setting(const Fit* fit, uint32_t set, const char* name,
                               SltProblem* problem) {
  Parameter setting = {0};
  SLT_TRY(parameter_find(fit->model, str_from_c(name), &setting, problem));
  bool constant = setting.kind == PARAMETER_CONSTANT;
  parameter_clear(&setting);
  if (!constant) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "give it the value of a constant, and set that",
                       "`%s` is set for data %u, and is no constant", name, set + 1);
  }
  for (uint32_t i = 0; i < fit->n; i++) {
    const Parameter* p = &fit->parameters[i];
    if (p->kind != PARAMETER_CONSTANT || strcmp(p->bare, name) != 0) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, "leave it out of one of them",
                       "`%s` is to be found, and is set for data %u", name, set + 1);
  }
  return SLT_OK;
}

static SltStatus check_settings(const Fit* fit, SltProblem* problem) {
  for (uint32_t s = 0; s < fit->set_count; s++) {
    const SltFitData* data = fit->sets[s].data;
    for (uint32_t k = 0; k < data->setting_count; k++)
      SLT_TRY(check_setting(fit, s, data->settings[k].name, problem));
  }
  return SLT_OK;
}

/// Whether all numbers come before the run begins.
static bool is_early(const Fit* fit) {
  for (uint32_t s = 0; s < fit->set_count; s++) {
    const FitSet* set = &fit->sets[s];
    uint32_t rows = slt_table_row_count(set->data->table);
    if (set->column_count == 0 || set->time == UINT32_MAX || rows == 0) continue;
    if (slt_table_value(set->data->table, rows - 1, set->time) < set->t_start) return true;
  }
  return false;
}

static SltStatus no_column(const Fit* fit, SltProblem* problem) {
  char hint[240] = "columns are matched by their names, or by --columns; the data have";
  const SltTable* table = fit->sets[0].data->table;
  for (uint32_t i = 0; i < slt_table_column_count(table) && strlen(hint) < 180; i++) {
    size_t used = strlen(hint);
    snprintf(hint + used, sizeof hint - used, "%s `%.40s`", i ? "," : "",
             slt_table_column_name(table, i));
  }
  return problem_set(problem, SLT_ERR_NOT_FOUND, hint,
                     "the data have no numbers in a column that the model knows");
}

SltStatus fit_prepare(Fit* fit, SltProblem* problem) {
  SltSim* sim = NULL;
  SLT_TRY(slt_sim_create(fit->model, &fit->sim, &sim));
  SltStatus status = check_columns(fit, sim, problem);
  if (status >= 0) status = check_settings(fit, problem);
  for (uint32_t i = 0; status >= 0 && i < fit->set_count; i++)
    status = prepare_set(fit, &fit->sets[i], sim, problem);
  slt_sim_free(sim);
  SLT_TRY(status);
  if (fit->m == 0 && is_early(fit)) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "--from T begins earlier",
                       "the data end before the run begins, at t = %.10g", fit->sets[0].t_start);
  }
  if (fit->m == 0 && fit->left_out > 0) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "keep one row of each time, or their mean",
                       "all numbers of the data stand at jumps: rows of one time that differ");
  }
  if (fit->m == 0) return no_column(fit, problem);
  SLT_TRY(check_weights(fit, problem));
  if (fit->m <= fit->n) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "more data, or fewer parameters",
                       "%u parameters cannot be found from %llu numbers", fit->n,
                       (unsigned long long)fit->m);
  }
  return SLT_OK;
}

void fit_clear(Fit* fit) {
  for (uint32_t i = 0; fit->sets && i < fit->set_count; i++) {
    for (uint32_t k = 0; k < fit->sets[i].column_count; k++)
      free(fit->sets[i].columns[k].automaton);
    free(fit->sets[i].columns);
  }
  for (uint32_t i = 0; fit->parameters && i < fit->n; i++)
    parameter_clear(&fit->parameters[i]);
  free(fit->sets);
  free(fit->parameters);
}

// ---- residuals ----------------------------------------------------------------------------------

/// The row of the next entry of a column; false: nobody has measured it. Beside a column of times
/// the numbers of a column follow each other. Else rows are numbered as entries are, and one that
/// was missed is an empty cell.
static bool next_entry(const FitSet* set, const FitColumn* column, Cursor* at, uint32_t* row) {
  const SltTable* table = set->data->table;
  uint32_t count = slt_table_row_count(table);
  while (set->time != UINT32_MAX && at->row < count &&
         isnan(slt_table_value(table, at->row, column->column))) {
    at->row++;
  }
  *row = at->row;
  if (at->row == count) return false;
  at->row++;
  return !isnan(slt_table_value(table, *row, column->column));
}

static void take_event(void* user, const SltEvent* event) {
  Following* f = user;
  if (!event->automaton || !event->to || event->event_class == SLT_CLASS_MYTHICAL) return;
  for (uint32_t c = 0; c < f->set->column_count; c++) {
    const FitColumn* column = &f->set->columns[c];
    if (!column->automaton || strcmp(column->automaton, event->automaton) != 0) continue;
    uint32_t row = 0;
    bool enters = strcmp(column->state, event->to) == 0;
    if (!enters || !next_entry(f->set, column, &f->at[c], &row)) continue;
    double measured = slt_table_value(f->set->data->table, row, column->column);
    uint64_t residual = f->at[c].residual++;
    f->residuals[residual] = column->weight * (event->t - measured);
    if (!f->slopes) continue;
    put_slopes(f, residual, column->weight, slt_sensitivity_time(f->slopes, f->row) >= 0);
  }
}

/// The last time that anything is known of.
static double last_time(const FitSet* set) {
  const SltTable* table = set->data->table;
  double last = -HUGE_VAL;
  for (uint32_t c = 0; c <= set->column_count; c++) {
    bool entry = c < set->column_count && set->columns[c].automaton;
    if (c < set->column_count && !entry) continue;
    uint32_t column = entry ? set->columns[c].column : set->time;
    if (column == UINT32_MAX) continue;
    for (uint32_t i = 0; i < slt_table_row_count(table); i++) {
      double t = slt_table_value(table, i, column);
      if (t > last) last = t;
    }
  }
  return last;
}

static void take_values(Following* f, SltSim* sim, uint32_t row, SltWhen when) {
  const FitSet* set = f->set;
  for (uint32_t c = 0; c < set->column_count; c++) {
    const FitColumn* column = &set->columns[c];
    double measured = slt_table_value(set->data->table, row, column->column);
    if (column->automaton || !is_counted(set, column, row)) continue;
    uint64_t residual = f->at[c].residual++;
    f->residuals[residual] = column->weight * (slt_sim_get(sim, column->quantity) - measured);
    if (!f->slopes) continue;
    bool known = slt_sensitivity_get(f->slopes, when, column->quantity, f->row) >= 0;
    put_slopes(f, residual, column->weight, known);
  }
}

/// Advance through events; SLT_OK or SLT_END at the end.
static SltStatus advance_to(const Following* f, SltSim* sim, double t) {
  SltStatus status = SLT_EVENT;
  while (!f->slopes && status == SLT_EVENT)
    status = slt_sim_advance(sim, t, NULL);
  while (f->slopes && status >= 0 && status != SLT_END && slt_sim_time(sim) < t) {
    double until = t;
    status = slt_sim_ahead(sim, &until);
    if (status != SLT_OK) continue;
    until = fmin(until, t);
    SLT_TRY(slt_sensitivity_stretch(f->slopes, until));
    status = slt_sim_advance(sim, until, NULL);
  }
  return status == SLT_EVENT ? SLT_OK : status;
}

/// Cursors at the first numbers, and residuals of events that never come: they are taken to come
/// at `late`. Columns follow each other, rows inside. Whether there are such events.
static bool begin_columns(Following* f, double late) {
  const FitSet* set = f->set;
  uint64_t residual = set->residual;
  bool entries = false;
  for (uint32_t c = 0; c < set->column_count; c++) {
    const FitColumn* column = &set->columns[c];
    f->at[c] = (Cursor){0, residual};
    entries |= column->automaton != NULL;
    for (uint32_t i = 0; i < slt_table_row_count(set->data->table); i++) {
      if (!is_counted(set, column, i)) continue;
      double measured = slt_table_value(set->data->table, i, column->column);
      if (column->automaton) f->residuals[residual] = column->weight * (late - measured);
      residual++;
    }
  }
  return entries;
}

static SltStatus follow_set(const FitSet* set, SltSim* sim, Following* f) {
  const SltTable* table = set->data->table;
  double last = last_time(set);
  // events are waited for half as long again
  double end = last + 0.5 * (last - set->t_start);
  bool entries = begin_columns(f, end);
  slt_sim_on_event(sim, take_event, f);
  SltStatus status = slt_sim_start(sim);
  bool rows = set->time != UINT32_MAX;
  for (uint32_t i = 0; rows && status >= 0 && i < slt_table_row_count(table); i++) {
    double t = slt_table_value(table, i, set->time);
    if (isnan(t)) continue;
    if (status != SLT_END && t > slt_sim_time(sim)) status = advance_to(f, sim, t);
    SltWhen when = status == SLT_END ? SLT_WHEN_AFTER : SLT_WHEN_NOW;
    if (status >= 0) take_values(f, sim, i, when);
  }
  bool more = entries && status >= 0 && status != SLT_END && end > slt_sim_time(sim);
  if (more) status = advance_to(f, sim, end);
  slt_sim_on_event(sim, NULL, NULL);
  return status < 0 ? status : SLT_OK;
}

static bool is_cancelled(void* user, double t) {
  const SltFitOptions* o = ((const Fit*)user)->options;
  (void)t;
  return o->cancel && o->cancel(o->user);
}

static SltStatus run_set(Fit* fit, const FitSet* set, const double* p, double* r,
                         double* jacobian) {
  SltSim* sim = NULL;
  Following f = {.set = set, .residuals = r, .jacobian = jacobian, .m = fit->m, .n = fit->n};
  SLT_TRY(slt_sim_create(fit->model, &fit->sim, &sim));
  slt_sim_on_step(sim, is_cancelled, fit);
  slt_sim_on_round(sim, is_cancelled, fit);
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; status >= 0 && i < set->data->setting_count; i++) {
    status = slt_sim_set_constant(sim, set->data->settings[i].name, set->data->settings[i].value);
  }
  for (uint32_t i = 0; status >= 0 && i < fit->n; i++)
    status = parameter_set(&fit->parameters[i], sim, p[i]);
  f.at = calloc(set->column_count + 1, sizeof *f.at);
  if (!f.at) status = SLT_ERR_NOMEM;
  if (status >= 0 && jacobian) {
    status = parameters_follow(fit->parameters, fit->n, sim, false, &f.slopes);
  }
  if (status >= 0) status = follow_set(set, sim, &f);
  free(f.at);
  slt_sensitivity_free(f.slopes);
  if (status < 0 && !fit->failure.message[0]) {
    problem_set_run(&fit->failure, sim, status, "the run fails with the values to begin with");
  }
  slt_sim_free(sim);
  fit->runs++;
  return status;
}

SltStatus fit_residuals(Fit* fit, const double* p, double* r, double* jacobian) {
  // what no event has come for does not move
  for (uint64_t i = 0; jacobian && i < fit->m * fit->n; i++)
    jacobian[i] = 0.0;
  for (uint32_t i = 0; i < fit->set_count; i++)
    SLT_TRY(run_set(fit, &fit->sets[i], p, r, jacobian));
  for (uint64_t i = 0; i < fit->m; i++) {
    if (!isfinite(r[i])) return SLT_ERR_NOT_FINITE;
  }
  for (uint64_t i = 0; jacobian && i < fit->m * fit->n; i++) {
    if (!isfinite(jacobian[i])) return SLT_ERR_UNSUPPORTED;
  }
  return SLT_OK;
}

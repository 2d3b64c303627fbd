// SPDX-License-Identifier: MIT
//
// Derivatives of readings and measures along one run. What is read at a time that stands takes the
// derivatives there; what is read at an event, those along its moving time. A maximum inside of the
// motion does not move with its time to first order. An integral has, beside the integral of the
// derivative, what each moving event cuts off and adds.
//
// A row holds derivatives by the parameters, or, where the run is differentiated backwards, what of
// the marked quantities it is made of.
#include "experiment/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- rows ---------------------------------------------------------------------------------------

typedef struct SlopePart {
  uint32_t mark;
  double factor;
} SlopePart;

struct SlopeRow {
  bool unknown;
  double* by;  // the parameters; NULL: backwards
  SlopePart* parts;
  size_t count, capacity;
};

static void row_clear(const Slopes* slopes, SlopeRow* row) {
  row->unknown = false;
  row->count = 0;
  if (row->by) memset(row->by, 0, slopes->count * sizeof *row->by);
}

static void add_part(SlopeRow* row, uint32_t mark, double factor) {
  if (row->count == row->capacity) {
    size_t capacity = row->capacity ? 2 * row->capacity : 8;
    SlopePart* parts = realloc(row->parts, capacity * sizeof *parts);
    if (!parts) {
      row->unknown = true;
      return;
    }
    row->parts = parts;
    row->capacity = capacity;
  }
  row->parts[row->count++] = (SlopePart){mark, factor};
}

static void add_numbers(const Slopes* slopes, SlopeRow* row, double factor, const double* by) {
  for (uint32_t k = 0; k < slopes->count; k++)
    row->by[k] += factor * by[k];
}

/// row += factor * other.
static void row_add(const Slopes* slopes, SlopeRow* row, double factor, const SlopeRow* other) {
  row->unknown |= other->unknown;
  if (row->by) add_numbers(slopes, row, factor, other->by);
  for (size_t i = 0; i < other->count; i++)
    add_part(row, other->parts[i].mark, factor * other->parts[i].factor);
}

static void row_scale(const Slopes* slopes, SlopeRow* row, double factor) {
  for (uint32_t k = 0; row->by && k < slopes->count; k++)
    row->by[k] *= factor;
  for (size_t i = 0; i < row->count; i++)
    row->parts[i].factor *= factor;
}

static void add_mark(Slopes* slopes, SlopeRow* row, uint32_t mark, double factor) {
  slopes->marks = mark + 1;
  add_part(row, mark, factor);
}

/// row += factor * what a quantity is.
static void row_add_quantity(Slopes* slopes, SlopeRow* row, double factor, SltWhen when,
                             SltQuantity q) {
  uint32_t mark = SLT_SENSITIVITY_STANDS;
  if (row->by) {
    row->unknown |= slt_sensitivity_get(slopes->run, when, q, slopes->work) < 0;
    if (!row->unknown) add_numbers(slopes, row, factor, slopes->work);
    return;
  }
  bool known = slt_sensitivity_mark(slopes->run, when, q, &mark) >= 0;
  row->unknown |= !known;
  if (known && mark != SLT_SENSITIVITY_STANDS) add_mark(slopes, row, mark, factor);
}

/// row += factor * the time of the last instant.
static void row_add_time(Slopes* slopes, SlopeRow* row, double factor) {
  uint32_t mark = 0;
  if (row->by) {
    row->unknown |= slt_sensitivity_time(slopes->run, slopes->work) < 0;
    if (!row->unknown) add_numbers(slopes, row, factor, slopes->work);
    return;
  }
  bool known = slt_sensitivity_mark_time(slopes->run, &mark) >= 0;
  row->unknown |= !known;
  if (known) add_mark(slopes, row, mark, factor);
}

// ---- memory -------------------------------------------------------------------------------------

static size_t row_count(const SltMeasures* measures) {
  return 2 * (size_t)measures->reading_count + measures->count + 1;
}

SltStatus slopes_create(Slopes* slopes, const SltMeasures* measures, SltSensitivity* run,
                        uint32_t count, bool adjoint) {
  size_t rows = row_count(measures);
  size_t numbers = (1 + (adjoint ? 0 : rows)) * count + measures->count;
  *slopes = (Slopes){.run = run,
                     .count = count,
                     .row_count = rows,
                     .rows = calloc(rows, sizeof *slopes->rows),
                     .work = calloc(numbers, sizeof *slopes->work)};
  if (!slopes->rows || !slopes->work) return SLT_ERR_NOMEM;
  slopes->sizes = slopes->work + count;
  for (size_t i = 0; !adjoint && i < rows; i++)
    slopes->rows[i].by = slopes->sizes + measures->count + i * count;
  return SLT_OK;
}

void slopes_clear(Slopes* slopes) {
  for (size_t i = 0; slopes->rows && i < slopes->row_count; i++)
    free(slopes->rows[i].parts);
  free(slopes->rows);
  free(slopes->work);
  *slopes = (Slopes){0};
}

static SlopeRow* reading_row(const Measuring* m, uint32_t reading) {
  return &m->slopes->rows[reading];
}

/// Row of the time at which the state of a reading was entered.
static SlopeRow* entered_row(const Measuring* m, uint32_t reading) {
  return &m->slopes->rows[m->measures->reading_count + reading];
}

static SlopeRow* measure_row(const Measuring* m, uint32_t measure) {
  return &m->slopes->rows[2 * m->measures->reading_count + measure];
}

// ---- signals ------------------------------------------------------------------------------------

/// row += factor * derivatives of a signal.
static void add_signal(Measuring* m, const Reading* reading, SltWhen when, double factor,
                       SlopeRow* row) {
  uint32_t end = formula_leaf_end(&reading->signal);
  measuring_read(m, reading, when == SLT_WHEN_BEFORE);
  formula_partials(&reading->signal, m->quantities, end, m->partials);
  for (uint32_t i = 0; i < end; i++) {
    if (m->partials[i] == 0.0) continue;
    row_add_quantity(m->slopes, row, factor * m->partials[i], when, m->measures->quantities[i]);
  }
}

void slopes_take(Measuring* m, uint32_t reading, SltWhen when) {
  SlopeRow* row = reading_row(m, reading);
  row_clear(m->slopes, row);
  add_signal(m, &m->measures->readings[reading], when, 1.0, row);
}

// ---- integrals ----------------------------------------------------------------------------------

static bool is_integral(ReadingKind kind) {
  return kind == READING_MEAN || kind == READING_RMS || kind == READING_INTEGRAL;
}

/// The integral from `a` to `b`, from the times and weights of the stretch around it.
static SltStatus add_integral(Measuring* m, uint32_t i, double a, double b) {
  const Reading* reading = &m->measures->readings[i];
  double share = (b - a) / (m->until - m->since);
  for (uint32_t node = 0; node < SLT_SENSITIVITY_NODES; node++) {
    double weight = 0.0;
    double t = slt_sensitivity_node(m->slopes->run, node, &weight);
    SLT_TRY(measuring_look(m, a + share * (t - m->since)));
    weight *= share;
    if (reading->kind == READING_RMS) weight *= 2.0 * measuring_signal(m, reading, false);
    add_signal(m, reading, SLT_WHEN_NOW, weight, reading_row(m, i));
  }
  return SLT_OK;
}

/// Whether the integral over a whole stretch is one sum; else it is taken piece by piece.
static bool is_whole(const Reading* reading) {
  return formula_is_smooth(&reading->signal) && !reading_has_times(reading);
}

SltStatus slopes_take_stretch(Measuring* m) {
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    SlopeRow* sum = reading_row(m, i);
    if (!is_integral(reading->kind) || sum->unknown) continue;
    sum->unknown = slt_sensitivity_gap(m->slopes->run) != NULL;
    if (!sum->unknown && is_whole(reading)) SLT_TRY(add_integral(m, i, m->since, m->until));
  }
  return SLT_OK;
}

SltStatus slopes_take_piece(Measuring* m, uint32_t i, double a, double b) {
  const Reading* reading = &m->measures->readings[i];
  bool asked = is_integral(reading->kind) && !is_whole(reading) && !reading_row(m, i)->unknown;
  return asked ? add_integral(m, i, a, b) : SLT_OK;
}

void slopes_take_jump(Measuring* m, bool stops) {
  double t = slt_sim_time(m->sim);
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    bool within = t >= reading->from && t <= reading->to;
    if (!is_integral(reading->kind) || !within) continue;
    double before = measuring_signal(m, reading, true);
    double after = stops ? 0.0 : measuring_signal(m, reading, false);
    double jump = reading->kind == READING_RMS ? before * before - after * after : before - after;
    if (jump != 0.0) row_add_time(m->slopes, reading_row(m, i), jump);
  }
}

// ---- states -------------------------------------------------------------------------------------

void slopes_enter(Measuring* m, uint32_t reading, bool event) {
  const Reading* model = &m->measures->readings[reading];
  SlopeRow* entered = entered_row(m, reading);
  row_clear(m->slopes, entered);
  if (event) row_add_time(m->slopes, entered, 1.0);
  bool here = model->kind == READING_TIME && (double)m->states[reading].entries == model->number;
  if (!here) return;
  row_clear(m->slopes, reading_row(m, reading));
  row_add(m->slopes, reading_row(m, reading), 1.0, entered);
}

void slopes_leave(Measuring* m, uint32_t reading, bool event) {
  if (m->measures->readings[reading].kind != READING_DURATION) return;
  SlopeRow* row = reading_row(m, reading);
  if (event) row_add_time(m->slopes, row, 1.0);
  row_add(m->slopes, row, -1.0, entered_row(m, reading));
}

// ---- results ------------------------------------------------------------------------------------

/// The row of a reading when the run is over.
static void conclude_reading(Measuring* m, uint32_t i, const double* readings) {
  const Reading* reading = &m->measures->readings[i];
  Slopes* slopes = m->slopes;
  SlopeRow* row = reading_row(m, i);
  double span = measuring_span(m, reading);
  double value = readings[i];
  bool ends = m->stopped && slt_sim_time(m->sim) < reading->to;  // the time moves that it is about
  switch (reading->kind) {
  case READING_END: slopes_take(m, i, m->stopped ? SLT_WHEN_AFTER : SLT_WHEN_NOW); break;
  case READING_QUANTILE: row->unknown = true; break;
  case READING_MEAN:
    if (ends) row_add_time(slopes, row, -value);
    row_scale(slopes, row, 1.0 / span);
    break;
  case READING_RMS:
    if (ends) row_add_time(slopes, row, -value * value);
    row_scale(slopes, row, 1.0 / (2.0 * value * span));
    break;
  case READING_CONSTANT:
    row_clear(slopes, row);
    row_add_quantity(slopes, row, 1.0, SLT_WHEN_AFTER, m->measures->quantities[reading->measure]);
    break;
  case READING_MEASURE:
    row_clear(slopes, row);
    row_add(slopes, row, 1.0, measure_row(m, reading->measure));
    break;
  case READING_START:
  case READING_AT:
  case READING_MAX:
  case READING_MIN:
  case READING_INTEGRAL:
  case READING_TIME:
  case READING_COUNT:
  case READING_DURATION:
  default: break;
  }
}

void slopes_conclude(Measuring* m) {
  uint32_t done = 0;
  for (uint32_t k = 0; k < m->measures->count; k++) {
    const Formula* formula = &m->measures->formulas[k];
    uint32_t end = formula_leaf_end(formula);
    for (; done < end; done++)
      conclude_reading(m, done, m->values);
    formula_partials(formula, m->values, end, m->weights);
    SlopeRow* row = measure_row(m, k);
    row_clear(m->slopes, row);
    for (uint32_t i = 0; i < end; i++) {
      double weight = m->weights[i];
      if (weight == 0.0) continue;
      m->slopes->sizes[k] += fabs(weight) * fmax(fabs(m->values[i]), m->states[i].scale);
      row_add(m->slopes, row, weight, reading_row(m, i));
    }
  }
}

/// Back from the marks to the parameters.
static bool gradient_of(const Slopes* slopes, const SlopeRow* row, double* out) {
  double* weights = calloc((size_t)slopes->marks + 1, sizeof *weights);
  if (!weights) return false;
  for (size_t i = 0; i < row->count; i++)
    weights[row->parts[i].mark] += row->parts[i].factor;
  bool known = slt_sensitivity_gradient(slopes->run, weights, slopes->marks, out) >= 0;
  free(weights);
  return known;
}

/// Rows of the measures as numbers; NaN where they are not known.
static void give_rows(const Slopes* slopes, const SltMeasures* measures, double* out) {
  const SlopeRow* rows = slopes->rows + 2 * (size_t)measures->reading_count;
  for (uint32_t m = 0; m < measures->count; m++) {
    double* to = out + (size_t)m * slopes->count;
    bool known = !rows[m].unknown;
    if (known && rows[m].by) {
      memcpy(to, rows[m].by, slopes->count * sizeof *to);
    } else if (known) {
      known = gradient_of(slopes, &rows[m], to);
    }
    for (uint32_t k = 0; !known && k < slopes->count; k++)
      to[k] = (double)NAN;
  }
}

// ---- runs ---------------------------------------------------------------------------------------

SltStatus parameters_follow(const Parameter* parameters, uint32_t count, SltSim* sim, bool adjoint,
                            SltSensitivity** out) {
  SltSensitivityParameter* names = calloc(count + 1, sizeof *names);
  if (!names) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < count; i++) {
    bool initial = parameters[i].kind == PARAMETER_INITIAL;
    names[i] = (SltSensitivityParameter){parameters[i].bare, initial};
  }
  SltStatus status = adjoint ? slt_sensitivity_create_adjoint(sim, names, count, out)
                             : slt_sensitivity_create(sim, names, count, out);
  free(names);
  return status;
}

SltStatus measures_follow_slopes(const SltMeasures* measures, SltSim* sim, double t_end,
                                 const Parameter* parameters, uint32_t count, double* values,
                                 Track* track, const SlopeRows* out) {
  SltSensitivity* run = NULL;
  Slopes slopes = {0};
  SltStatus status = parameters_follow(parameters, count, sim, out->adjoint, &run);
  if (status >= 0) status = slopes_create(&slopes, measures, run, count, out->adjoint);
  if (status >= 0) status = measures_follow(measures, sim, t_end, values, track, &slopes);
  if (status >= 0) {
    give_rows(&slopes, measures, out->rows);
    if (out->sizes) memcpy(out->sizes, slopes.sizes, measures->count * sizeof *out->sizes);
  }
  if (out->gap && run) *out->gap = slt_sensitivity_gap(run);
  slopes_clear(&slopes);
  slt_sensitivity_free(run);
  return status;
}

// SPDX-License-Identifier: MIT
//
// Derivatives of readings and measures along one run. What is read at a time that stands takes the
// derivatives there; what is read at an event, those along its moving time. A maximum inside of the
// motion does not move with its time to first order. An integral has, beside the integral of the
// derivative, what each moving event cuts off and adds.
#include "experiment/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SltStatus slopes_create(Slopes* slopes, const SltMeasures* measures, SltSensitivity* run,
                        uint32_t count) {
  size_t rows = 2 * (size_t)measures->reading_count + measures->count + 3;
  size_t need = rows * count + measures->count;
  *slopes = (Slopes){.run = run, .count = count, .readings = calloc(need, sizeof(double))};
  if (!slopes->readings) return SLT_ERR_NOMEM;
  slopes->entered = slopes->readings + (size_t)measures->reading_count * count;
  slopes->work = slopes->entered + (size_t)measures->reading_count * count;
  slopes->rows = slopes->work + 3 * (size_t)count;
  slopes->sizes = slopes->rows + (size_t)measures->count * count;
  return SLT_OK;
}

void slopes_clear(Slopes* slopes) {
  free(slopes->readings);
  *slopes = (Slopes){0};
}

static double* reading_row(const Measuring* m, uint32_t reading) {
  return m->slopes->readings + (size_t)reading * m->slopes->count;
}

static void fill(const Measuring* m, double* row, double value) {
  for (uint32_t k = 0; k < m->slopes->count; k++)
    row[k] = value;
}

/// Derivatives of a signal into `row`; NaN where they are not known.
static void signal_row(Measuring* m, const Reading* reading, SltWhen when, double* row) {
  double leaves[MEASURE_LEAVES] = {0.0};
  double partials[MEASURE_LEAVES];
  uint32_t count = m->measures->quantity_count;
  bool before = when == SLT_WHEN_BEFORE;
  for (uint32_t i = 0; i < count; i++) {
    if (!(reading->reads >> i & 1)) continue;
    SltQuantity q = m->measures->quantities[i];
    leaves[i] = before ? slt_sim_get_before(m->sim, q) : slt_sim_get(m->sim, q);
  }
  formula_partials(&reading->signal, leaves, count, partials);
  double* part = m->slopes->work;
  fill(m, row, 0.0);
  for (uint32_t i = 0; i < count; i++) {
    if (!(reading->reads >> i & 1) || partials[i] == 0.0) continue;
    if (slt_sensitivity_get(m->slopes->run, when, m->measures->quantities[i], part) < 0) {
      fill(m, row, (double)NAN);
      return;
    }
    for (uint32_t k = 0; k < m->slopes->count; k++)
      row[k] += partials[i] * part[k];
  }
}

void slopes_take(Measuring* m, uint32_t reading, SltWhen when) {
  signal_row(m, &m->measures->readings[reading], when, reading_row(m, reading));
}

// ---- integrals ----------------------------------------------------------------------------------

static bool is_integral(ReadingKind kind) {
  return kind == READING_MEAN || kind == READING_RMS || kind == READING_INTEGRAL;
}

SltStatus slopes_take_stretch(Measuring* m) {
  double* row = m->slopes->work + m->slopes->count;
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    double* sum = reading_row(m, i);
    if (!is_integral(reading->kind) || isnan(sum[0])) continue;
    if (!formula_is_smooth(&reading->signal) || slt_sensitivity_gap(m->slopes->run)) {
      fill(m, sum, (double)NAN);
      continue;
    }
    for (uint32_t node = 0; node < SLT_SENSITIVITY_NODES; node++) {
      double weight = 0.0;
      double t = slt_sensitivity_node(m->slopes->run, node, &weight);
      SLT_TRY(measuring_look(m, t));
      if (reading->kind == READING_RMS) weight *= 2.0 * measuring_signal(m, reading, false);
      signal_row(m, reading, SLT_WHEN_NOW, row);
      for (uint32_t k = 0; k < m->slopes->count; k++)
        sum[k] += weight * row[k];
    }
  }
  return SLT_OK;
}

void slopes_take_jump(Measuring* m, bool stops) {
  double* time = m->slopes->work;
  bool known = slt_sensitivity_time(m->slopes->run, time) >= 0;
  for (uint32_t i = 0; i < m->measures->reading_count; i++) {
    const Reading* reading = &m->measures->readings[i];
    if (!is_integral(reading->kind)) continue;
    double* sum = reading_row(m, i);
    double before = measuring_signal(m, reading, true);
    double after = stops ? 0.0 : measuring_signal(m, reading, false);
    double jump = reading->kind == READING_RMS ? before * before - after * after : before - after;
    for (uint32_t k = 0; k < m->slopes->count; k++)
      sum[k] = known ? sum[k] + (jump == 0.0 ? 0.0 : jump * time[k]) : (double)NAN;
  }
}

// ---- states -------------------------------------------------------------------------------------

/// Derivatives of the present time: of an event, or of the begin or end of the run.
static void time_row(const Measuring* m, bool event, double* row) {
  fill(m, row, 0.0);
  if (event && slt_sensitivity_time(m->slopes->run, row) < 0) fill(m, row, (double)NAN);
}

void slopes_enter(Measuring* m, uint32_t reading, bool event) {
  const Reading* model = &m->measures->readings[reading];
  double* entered = m->slopes->entered + (size_t)reading * m->slopes->count;
  time_row(m, event, entered);
  bool here = model->kind == READING_TIME && (double)m->states[reading].entries == model->number;
  if (here) memcpy(reading_row(m, reading), entered, m->slopes->count * sizeof *entered);
}

void slopes_leave(Measuring* m, uint32_t reading, bool event) {
  const double* entered = m->slopes->entered + (size_t)reading * m->slopes->count;
  double* time = m->slopes->work;
  if (m->measures->readings[reading].kind != READING_DURATION) return;
  time_row(m, event, time);
  for (uint32_t k = 0; k < m->slopes->count; k++)
    reading_row(m, reading)[k] += time[k] - entered[k];
}

// ---- results ------------------------------------------------------------------------------------

/// The row of a reading when the run is over.
static void conclude_reading(Measuring* m, uint32_t i, const double* readings) {
  const Reading* reading = &m->measures->readings[i];
  double* row = reading_row(m, i);
  double* time = m->slopes->work + m->slopes->count;
  double span = slt_sim_time(m->sim) - m->t_start;
  time_row(m, m->stopped, time);
  switch (reading->kind) {
  case READING_END: slopes_take(m, i, m->stopped ? SLT_WHEN_AFTER : SLT_WHEN_NOW); break;
  case READING_QUANTILE: fill(m, row, (double)NAN); break;
  case READING_MEAN:
    for (uint32_t k = 0; k < m->slopes->count; k++)
      row[k] = (row[k] - readings[i] * time[k]) / span;
    break;
  case READING_RMS:
    for (uint32_t k = 0; k < m->slopes->count; k++) {
      double square = readings[i] * readings[i];
      row[k] = (row[k] - square * time[k]) / (2.0 * readings[i] * span);
    }
    break;
  case READING_CONSTANT:
    if (slt_sensitivity_get(m->slopes->run, SLT_WHEN_AFTER,
                            m->measures->quantities[reading->measure], row) < 0) {
      fill(m, row, (double)NAN);
    }
    break;
  case READING_MEASURE:
    memcpy(row, m->slopes->rows + (size_t)reading->measure * m->slopes->count,
           m->slopes->count * sizeof *row);
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

void slopes_conclude(Measuring* m, const double* readings) {
  uint32_t count = m->slopes->count;
  uint32_t done = 0;
  double partials[MEASURE_LEAVES];
  for (uint32_t k = 0; k < m->measures->count; k++) {
    const Formula* formula = &m->measures->formulas[k];
    uint64_t wanted = formula_leaves(formula);
    for (; done < m->measures->reading_count && wanted >> done; done++)
      conclude_reading(m, done, readings);
    formula_partials(formula, readings, m->measures->reading_count, partials);
    double* row = m->slopes->rows + (size_t)k * count;
    fill(m, row, 0.0);
    for (uint32_t i = 0; i < m->measures->reading_count; i++) {
      if (partials[i] == 0.0) continue;
      m->slopes->sizes[k] += fabs(partials[i]) * fmax(fabs(readings[i]), m->states[i].scale);
      for (uint32_t p = 0; p < count; p++)
        row[p] += partials[i] * reading_row(m, i)[p];
    }
  }
}

// ---- runs ---------------------------------------------------------------------------------------

SltStatus parameters_follow(const Parameter* parameters, uint32_t count, SltSim* sim,
                            SltSensitivity** out) {
  SltSensitivityParameter* names = calloc(count + 1, sizeof *names);
  if (!names) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < count; i++) {
    bool initial = parameters[i].kind == PARAMETER_INITIAL;
    names[i] = (SltSensitivityParameter){parameters[i].bare, initial};
  }
  SltStatus status = slt_sensitivity_create(sim, names, count, out);
  free(names);
  return status;
}

SltStatus measures_follow_slopes(const SltMeasures* measures, SltSim* sim, double t_end,
                                 const Parameter* parameters, uint32_t count, double* values,
                                 Track* track, const SlopeRows* out) {
  SltSensitivity* run = NULL;
  Slopes slopes = {0};
  SltStatus status = parameters_follow(parameters, count, sim, &run);
  if (status >= 0) status = slopes_create(&slopes, measures, run, count);
  if (status >= 0) status = measures_follow(measures, sim, t_end, values, track, &slopes);
  if (status >= 0) {
    memcpy(out->rows, slopes.rows, (size_t)measures->count * count * sizeof *out->rows);
    if (out->sizes) memcpy(out->sizes, slopes.sizes, measures->count * sizeof *out->sizes);
  }
  if (out->gap && run) *out->gap = slt_sensitivity_gap(run);
  slopes_clear(&slopes);
  slt_sensitivity_free(run);
  return status;
}

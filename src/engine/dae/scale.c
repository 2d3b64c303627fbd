// SPDX-License-Identifier: MIT
//
// What the quantities of a mode measure. Least squares weigh unknowns, and rows are compared, by
// these scales, so that neither depends on units.
//
// A quantity measures what it has been so far, or what it is. Where it has never been anything but
// zero the equations tell: what they are off by, and the terms of known size beside it.
#include "engine/dae/parts.h"

#include <float.h>
#include <math.h>

#define ROUNDS 8  // through which sizes pass from one equation to the next

/// The largest term of each row, as far as the scales of its quantities are known.
static void measure_rows(const DaeRows* rows, const double* out, const double* scale, double* row) {
  for (uint32_t i = 0; i < rows->row_count; i++) {
    double off = rows->homogeneous ? 0.0 : fabs(out[i]);
    row[i] = off <= DBL_MAX ? off : 0.0;
  }
  for (uint32_t k = 0; k < rows->entry_count; k++) {
    const ModelEntry* entry = &rows->entries[k];
    double part = fabs(out[entry->reg]) * scale[entry->column];
    if (part <= DBL_MAX) row[entry->row] = fmax(row[entry->row], part);
  }
}

static void pass_scales(const DaeRows* rows, const double* out, double* row, double* found,
                        double* scale) {
  for (int round = 0; round < ROUNDS; round++) {
    bool any = false;
    measure_rows(rows, out, scale, row);
    for (uint32_t j = 0; j < rows->column_count; j++)
      found[j] = 0.0;
    for (uint32_t k = 0; k < rows->entry_count; k++) {
      const ModelEntry* entry = &rows->entries[k];
      double slope = fabs(out[entry->reg]);
      if (scale[entry->column] > 0.0 || !(slope > 0.0) || !(row[entry->row] > 0.0)) continue;
      double size = row[entry->row] / slope;
      double* best = &found[entry->column];
      if (size > 0.0 && size <= DBL_MAX && (*best == 0.0 || size < *best)) *best = size;
    }
    for (uint32_t j = 0; j < rows->column_count; j++) {
      if (scale[j] > 0.0 || found[j] == 0.0) continue;
      scale[j] = found[j];
      any = true;
    }
    if (!any) break;
  }
}

void dae_complete_scales(const DaeRows* rows, const double* out, double* row, double* found,
                         double* scale) {
  pass_scales(rows, out, row, found, scale);
  for (uint32_t j = 0; j < rows->column_count; j++) {
    if (!(scale[j] > 0.0)) scale[j] = 1.0;  // nothing tells: it stays as it is
  }
}

static DaeRows rows_of(const ModelImplicit* im) {
  return (DaeRows){.entries = im->system_entries,
                   .entry_count = im->system_entry_count,
                   .row_count = im->row_count,
                   .column_count = im->quantity_count};
}

/// Scales that are known, and at least the present values where they are.
static void known_scales(EngSim* sim, const ModelImplicit* im, const double* value, double* scale) {
  for (uint32_t j = 0; j < im->quantity_count; j++) {
    uint32_t env = im->quantities[j].env;
    double size = env == MODEL_NONE ? 0.0 : eng_scale(sim, env);
    bool finite = fabs(value[j]) <= DBL_MAX;
    scale[j] = size > 0.0 && finite ? fmax(size, fabs(value[j])) : size;
  }
}

void dae_scales(EngSim* sim, const ModelImplicit* im, const double* value, const double* out,
                double* row, double* found, double* scale) {
  DaeRows rows = rows_of(im);
  known_scales(sim, im, value, scale);
  for (uint32_t j = 0; j < im->quantity_count; j++)
    if (!(scale[j] > 0.0) && fabs(value[j]) <= DBL_MAX) scale[j] = fabs(value[j]);
  dae_complete_scales(&rows, out, row, found, scale);
}

void eng_dae_scales(EngSim* sim) {
  const ModelImplicit* im = sim->core.mode->implicit;
  double* at = sim->dae.work;
  double* value = dae_take(&at, im->quantity_count);
  double* out = dae_take(&at, im->system.output_count);
  double* row = dae_take(&at, im->row_count);
  double* found = dae_take(&at, im->quantity_count);
  double* scale = dae_take(&at, im->quantity_count);
  DaeRows rows = rows_of(im);
  rows.homogeneous = true;
  dae_gather(sim, im, value);
  known_scales(sim, im, value, scale);
  dae_run_system(sim, im, value, out);
  pass_scales(&rows, out, row, found, scale);
  for (uint32_t j = 0; j < im->quantity_count; j++) {
    uint32_t env = im->quantities[j].env;
    bool state = im->quantities[j].state != MODEL_NONE;
    if (state && env != MODEL_NONE && scale[j] > 0.0) eng_scale_note(sim, env, scale[j]);
  }
}

double dae_row_distance(double residual, double size) {
  double off = fabs(residual);
  if (off == 0.0) return 0.0;
  return size > 0.0 ? off / size : 1.0;  // nothing could make it hold
}

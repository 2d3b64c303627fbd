// SPDX-License-Identifier: MIT
//
// Constraints of the states to first order. The equations that a mode is reduced to keep its
// constraints for all parameters, but a fault of the rows across them grows with the time and its
// square; so the rows are brought back at the end of each stretch, as the run itself is.
#include "sensitivity/internal.h"

#include <math.h>
#include <string.h>

#define DEPENDENT 1e-12  // of a pivot: what is left of a row that repeats others

bool sensitivity_is_constrained(const ModelMode* mode) {
  return mode->implicit && mode->implicit->constraint_count;
}

bool sensitivity_constraints(Sensitivity* s, const SensitivityPoint* point, const double* x,
                             const double* rows, double* matrix, double* left, double* size) {
  const ModelImplicit* im = point->mode->implicit;
  const ModelProgram* program = &im->constraint;
  uint32_t n = point->mode->state_count;
  size_t outputs = program->output_count;
  double* out = sensitivity_room(s, &s->shifted, outputs * (1 + (size_t)s->count));
  double* regs = sensitivity_room(s, &s->regs, model_tangent_room(program, s->count));
  ModelSeeds seeds = sensitivity_seeds(s, s->count, 0);
  seeds.states = rows;
  seeds.env = point->d;
  if (!out || !regs ||
      !model_program_tangent(program, eng_flow_context(s->sim), sensitivity_values(s, point),
                             point->t, x, &seeds, regs, out, out + outputs)) {
    return false;
  }
  memset(matrix, 0, (size_t)im->constraint_count * n * sizeof *matrix);
  memset(size, 0, im->constraint_count * sizeof *size);
  memcpy(left, out + outputs, (size_t)im->constraint_count * s->count * sizeof *left);
  for (uint32_t i = 0; i < im->constraint_entry_count; i++) {
    const ModelEntry* entry = &im->constraint_entries[i];
    double value = out[entry->reg];
    matrix[(size_t)entry->row * n + entry->column] += value;
    for (uint32_t k = 0; k < s->count; k++) {
      double part = fabs(value * rows[(size_t)entry->column * s->count + k]);
      size[entry->row] = fmax(size[entry->row], fmax(part, fabs(value)));
    }
  }
  return true;
}

/// Orthogonal rows from the first to the last, with what is left of each; columns are measured by
/// the sizes of the states. A row that repeats others becomes zero.
static void orthogonalise(uint32_t n, uint32_t c, uint32_t count, double* matrix, double* left) {
  for (uint32_t i = 0; i < c; i++) {
    double* row = matrix + (size_t)i * n;
    double before = 0.0;
    double after = 0.0;
    for (uint32_t j = 0; j < n; j++)
      before += row[j] * row[j];
    for (uint32_t p = 0; p < i; p++) {
      const double* other = matrix + (size_t)p * n;
      double factor = 0.0;
      for (uint32_t j = 0; j < n; j++)
        factor += row[j] * other[j];
      for (uint32_t j = 0; j < n; j++)
        row[j] -= factor * other[j];
      for (uint32_t k = 0; k < count; k++)
        left[(size_t)i * count + k] -= factor * left[(size_t)p * count + k];
    }
    for (uint32_t j = 0; j < n; j++)
      after += row[j] * row[j];
    double scale = after > DEPENDENT * before ? 1.0 / sqrt(after) : 0.0;
    for (uint32_t j = 0; j < n; j++)
      row[j] *= scale;
    for (uint32_t k = 0; k < count; k++)
      left[(size_t)i * count + k] *= scale;
  }
}

bool sensitivity_project(Sensitivity* s, const double* x) {
  const ModelMode* mode = eng_mode(s->sim);
  uint32_t n = s->stretch.n;
  uint32_t c = mode->implicit->constraint_count;
  uint32_t count = s->count;
  double* rows = s->stretch.nodes + (size_t)(SENSITIVITY_NODES - 1) * n * count;
  double* matrix = sensitivity_room(s, &s->matrix, (size_t)c * n + (size_t)c * count + c + n);
  if (!matrix) return false;
  double* left = matrix + (size_t)c * n;
  double* unit = left + (size_t)c * count + c;
  SensitivityPoint end = {.mode = mode, .t = s->stretch.a + s->stretch.h, .d = s->now.d};
  if (!sensitivity_constraints(s, &end, x, rows, matrix, left, unit - c)) return false;
  for (uint32_t j = 0; j < n; j++) {
    double size = s->size[mode->state_env[j]];
    unit[j] = size > 0.0 ? size : 1.0;
    for (uint32_t i = 0; i < c; i++)
      matrix[(size_t)i * n + j] *= unit[j];
  }
  orthogonalise(n, c, count, matrix, left);
  for (uint32_t i = 0; i < c; i++) {
    for (uint32_t j = 0; j < n; j++) {
      double by = unit[j] * matrix[(size_t)i * n + j];
      for (uint32_t k = 0; by != 0.0 && k < count; k++)
        rows[(size_t)j * count + k] -= by * left[(size_t)i * count + k];
    }
  }
  return true;
}

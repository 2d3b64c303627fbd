// SPDX-License-Identifier: MIT
//
// Blocks of equations that states switch: ideal switches and diodes, each of which says v = 0 or
// i = 0. Some combinations lack rank (a floating potential, diodes in parallel), and some
// contradict each other, and yet guards must be asked about them to find the combination that
// holds.
//
// What real parts have and ideal ones lack is put back as a trace: each such equation F gets a
// small share e of the equation P that stands in its place in the other state, F + e P = 0, with
// the sign for which the part stays passive (a small resistance, a small conductance). The relaxed
// equations have one solution. Where the exact ones agree, corrections with the relaxed matrix lead
// from there to the limit e -> 0. Where they do not, the solution grows like 1/e, and its signs are
// those of the infinite currents and voltages that the guards wait for.
#include "model/solve_relax.h"

#include "model/solve_balance.h"

#include <float.h>
#include <klu.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRACE        1e-8   // e, by the sizes of rows and columns
#define RANK_MIN     1e-12  // pivots below, by the sizes of rows and columns, are rounding
#define HOLDS        1e-11  // residual of equations that hold, relative
#define STEPS_MAX    60
#define HALVINGS_MAX 20
#define REFINE_MAX   40

typedef struct Relaxed {
  const ModelSolve* solve;
  double* regs;
  ModelBody* run;
  void* user;
  uint32_t n;
  double* row;     // factors that make the entries of rows...
  double* trace;   // ...those of their relaxations, the trace included...
  double* column;  // ...and columns of one size
  double* step;
  double* start;
  klu_common common;
  klu_symbolic* symbolic;
  klu_numeric* numeric;
  int *begin, *rows, *next;
  double* values;
  bool failed;  // no memory, or no numbers
} Relaxed;

static void relaxed_free(Relaxed* s) {
  if (s->numeric) klu_free_numeric(&s->numeric, &s->common);
  if (s->symbolic) klu_free_symbolic(&s->symbolic, &s->common);
  free(s->begin);
  free(s->values);
}

static bool balance(Relaxed* s) {
  if (!model_balance(s->solve, s->regs, s->row, s->column)) return false;
  for (uint32_t i = 0; i < s->n; i++) {
    s->trace[i] *= TRACE;
  }
  return true;
}

/// A coefficient by the sizes of rows and columns; those behind the exact ones are the traces.
static double coefficient(const Relaxed* s, uint32_t k) {
  const ModelEntry* entry = &s->solve->entries[k];
  double factor = k < s->solve->entry_count ? s->row[entry->row] : s->trace[entry->row];
  return s->regs[entry->reg] * factor * s->column[entry->column];
}

/// Factors of the exact or of the relaxed matrix; false where it is singular.
static bool factor(Relaxed* s, bool relaxed) {
  uint32_t count = s->solve->entry_count + (relaxed ? s->solve->relax_count : 0);
  if (s->numeric) klu_free_numeric(&s->numeric, &s->common);
  if (s->symbolic) klu_free_symbolic(&s->symbolic, &s->common);
  memset(s->begin, 0, (s->n + 1) * sizeof *s->begin);
  for (uint32_t k = 0; k < count; k++) {
    s->begin[s->solve->entries[k].column + 1]++;
  }
  for (uint32_t j = 0; j < s->n; j++) {
    s->begin[j + 1] += s->begin[j];
    s->next[j] = s->begin[j];
  }
  for (uint32_t k = 0; k < count; k++) {
    const ModelEntry* entry = &s->solve->entries[k];
    double value = coefficient(s, k);
    if (!(fabs(value) <= DBL_MAX)) return false;
    // a place that both have is one entry
    int at = s->begin[entry->column];
    while (at < s->next[entry->column] && s->rows[at] != (int)entry->row) {
      at++;
    }
    if (at < s->next[entry->column]) {
      s->values[at] += value;
      continue;
    }
    s->next[entry->column]++;
    s->rows[at] = (int)entry->row;
    s->values[at] = value;
  }
  // close the gaps that those have left
  int end = 0;
  for (uint32_t j = 0; j < s->n; j++) {
    int from = s->begin[j];
    s->begin[j] = end;
    for (; from < s->next[j]; from++, end++) {
      s->rows[end] = s->rows[from];
      s->values[end] = s->values[from];
    }
  }
  s->begin[s->n] = end;
  s->symbolic = klu_analyze((int)s->n, s->begin, s->rows, &s->common);
  if (s->symbolic) s->numeric = klu_factor(s->begin, s->rows, s->values, s->symbolic, &s->common);
  if (!s->numeric) return false;
  const double* diagonal = s->numeric->Udiag;
  double least = relaxed ? RANK_MIN * TRACE : RANK_MIN;
  for (uint32_t k = 0; k < s->n; k++) {
    if (!(fabs(diagonal[k]) > least)) return false;
  }
  return true;
}

/// s->step := residuals by the sizes of their rows, with those of the relaxation or without;
/// returns the largest, or infinity.
static double residuals(Relaxed* s, bool relaxed) {
  const ModelSolve* solve = s->solve;
  for (uint32_t i = 0; i < s->n; i++) {
    s->step[i] = s->regs[solve->residuals[i]] * s->row[i];
  }
  for (uint32_t k = solve->entry_count; relaxed && k < solve->entry_count + solve->relax_count;
       k++) {
    const ModelEntry* entry = &solve->entries[k];
    double x = s->regs[solve->unknowns[entry->column]];
    s->step[entry->row] += s->regs[entry->reg] * s->trace[entry->row] * x;
  }
  double norm = 0.0;
  for (uint32_t i = 0; i < s->n; i++) {
    if (!(fabs(s->step[i]) <= DBL_MAX)) return (double)INFINITY;
    if (fabs(s->step[i]) > norm) norm = fabs(s->step[i]);
  }
  return norm;
}

/// s->step := the correction for the residuals in it.
static void correction(Relaxed* s) {
  (void)klu_solve(s->symbolic, s->numeric, (int)s->n, 1, s->step, &s->common);
  for (uint32_t j = 0; j < s->n; j++) {
    s->step[j] *= -s->column[j];
  }
}

static double unknowns_size(const Relaxed* s) {
  double size = 0.0;
  for (uint32_t j = 0; j < s->n; j++) {
    double part = fabs(s->regs[s->solve->unknowns[j]]) / s->column[j];
    if (part > size) size = part;
  }
  return size;
}

static void keep_unknowns(const Relaxed* s, double* to) {
  for (uint32_t j = 0; j < s->n; j++) {
    to[j] = s->regs[s->solve->unknowns[j]];
  }
}

/// The unknowns at `from` and a part of the step; runs the body.
static void move(Relaxed* s, const double* from, double part) {
  for (uint32_t j = 0; j < s->n; j++) {
    s->regs[s->solve->unknowns[j]] = from[j] + (part == 0.0 ? 0.0 : part * s->step[j]);
  }
  s->run(s->user);
}

/// Go part of the step from `from`, halved until it makes the residual smaller; `whole`: all of it.
static double damped(Relaxed* s, const double* from, const double* step, bool relaxed,
                     double before, bool whole) {
  double after = (double)INFINITY;
  double part = 1.0;
  for (int halving = 0; halving < HALVINGS_MAX; halving++, part *= 0.5) {
    memcpy(s->step, step, s->n * sizeof *step);
    move(s, from, part);
    after = residuals(s, relaxed);
    if (after <= (1.0 - 0.25 * part) * before || whole) break;
  }
  return after;
}

/// Whether the step has left but rounding; one that made it worse is taken back.
static bool stagnates(Relaxed* s, const double* from, double before, double after) {
  if (!(after < before)) move(s, from, 0.0);
  return !(after <= 0.5 * before);
}

/// Newton's method with damping on the exact or the relaxed equations, from the values as they are.
static bool newton(Relaxed* s, bool relaxed) {
  double* from = s->start + s->n;
  double* step = s->start + 2 * (size_t)s->n;
  for (int pass = 0; pass < STEPS_MAX; pass++) {
    bool anew = pass == 0 || !s->solve->linear;
    if (anew && !balance(s)) return false;
    double before = residuals(s, relaxed);
    if (!(before <= DBL_MAX)) return false;
    if (before == 0.0 && pass > 0) return true;
    if (anew && !factor(s, relaxed)) return false;
    residuals(s, relaxed);
    correction(s);
    keep_unknowns(s, from);
    memcpy(step, s->step, s->n * sizeof *step);
    bool close = before <= HOLDS * unknowns_size(s);
    double after = damped(s, from, step, relaxed, before, close || s->solve->linear);
    if (close && stagnates(s, from, before, after)) return true;
    // what is left of linear equations is the rounding of their terms
    if (s->solve->linear && pass >= 2) return true;
    if (!(after < before) && pass > 0) return s->solve->linear;
    if (!(after <= DBL_MAX)) return false;
  }
  return false;
}

/// From the solution of the relaxed equations to one of the exact ones, the relaxed matrix at hand.
static bool refine(Relaxed* s, double rounding) {
  double* from = s->start + s->n;
  double best = (double)INFINITY;
  for (int pass = 0; pass < REFINE_MAX; pass++) {
    double norm = residuals(s, false);
    double size = unknowns_size(s);
    bool holds = norm <= HOLDS * size || norm <= rounding;
    if (norm == 0.0 || (holds && !(norm < 0.5 * best))) return true;
    if (!(norm < 0.9 * best)) return holds;
    best = norm;
    correction(s);
    keep_unknowns(s, from);
    move(s, from, 1.0);
  }
  double norm = residuals(s, false);
  return norm <= HOLDS * unknowns_size(s) || norm <= rounding;
}

static void set_start(Relaxed* s) {
  for (uint32_t j = 0; j < s->n; j++) {
    double guess = s->solve->linear ? 0.0 : s->regs[s->solve->guesses[j]];
    s->regs[s->solve->unknowns[j]] = guess;
  }
  s->run(s->user);
}

/// In which units the unknowns are beside each other.
static void keep_units(Relaxed* s) {
  double* unit = s->regs + s->solve->work + MODEL_RELAX_SCALE * (size_t)s->n;
  for (uint32_t j = 0; j < s->n; j++) {
    unit[j] = s->column[j];
  }
}

static ModelSolved solve_all(Relaxed* s) {
  set_start(s);
  if (newton(s, false)) return MODEL_SOLVED;
  set_start(s);
  if (!newton(s, true)) return MODEL_UNSOLVED;
  keep_unknowns(s, s->start);
  // what the relaxed equations are off by is what rounding does to the exact ones
  if (refine(s, 16.0 * residuals(s, true))) return MODEL_SOLVED_LEAST;
  move(s, s->start, 0.0);
  return MODEL_CONTRADICTS;
}

ModelSolved model_solve_relaxed(const ModelSolve* solve, double* regs, ModelBody* run, void* user) {
  uint32_t n = solve->count;
  size_t entries = (size_t)solve->entry_count + solve->relax_count + 1;
  double* at = regs + solve->work;
  Relaxed s = {.solve = solve,
               .regs = regs,
               .run = run,
               .user = user,
               .n = n,
               .row = at,
               .trace = at + n,
               .column = at + 2 * (size_t)n,
               .step = at + 3 * (size_t)n,
               .start = at + 4 * (size_t)n};
  s.begin = malloc((2 * (size_t)n + 2 + entries) * sizeof *s.begin);
  s.values = malloc(entries * sizeof *s.values);
  ModelSolved solved = MODEL_UNSOLVED;
  if (s.begin && s.values) {
    s.next = s.begin + n + 1;
    s.rows = s.next + n + 1;
    klu_defaults(&s.common);
    s.common.scale = 0;  // rows are scaled already
    s.common.tol = 1.0;
    solved = solve_all(&s);
    keep_units(&s);
  }
  relaxed_free(&s);
  return solved;
}

// SPDX-License-Identifier: MIT
//
// Solving the blocks of a program. What comes out depends on the inputs (and, for nonlinear blocks,
// on the guesses among them) alone, never on earlier runs: a trial that is thrown away leaves no
// trace, and results do not depend on how often values were asked for.
#include "model/model.h"
#include "model/solve_balance.h"
#include "model/solve_rank.h"
#include "model/solve_relax.h"
#include "model/solve_sparse.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define NEWTON_MAX   60
#define NEWTON_FAR   0x1p800  // times what an unknown was: the derivatives vanish in all but name
#define HALVINGS_MAX 12
#define NEWTON_SMALL 1e-10  // a step below may be the last one if it does not get smaller
#define SUFFICIENT   1e-4   // share of the decrease that the slope promises, as Armijo asks for

/// Which factors are at hand.
typedef enum Kind { KIND_NONE, KIND_FULL, KIND_SPARSE, KIND_PIVOTED } Kind;

/// Pieces of a block's work space.
typedef struct Work {
  uint32_t n;
  Kind kind;
  double* scale;  // largest entry of each row
  double* step;
  double* trial;
  double* size;          // of each unknown: the largest that it or its step has been
  double* order;         // rows as pivots were found, as numbers
  double* sparse;        // factors in the order of the tables
  double* a;             // n*n, rows adjacent; NULL in large blocks
  double *row, *column;  // units of equations and unknowns; NULL: as they are
  ModelPivoted* pivoted;
} Work;

static Work work_space(const ModelSolve* solve, double* regs) {
  uint32_t n = solve->count;
  double* at = regs + solve->work;
  Work w = {.n = n,
            .scale = at,
            .step = at + n,
            .trial = at + 2 * (size_t)n,
            .order = at + 3 * (size_t)n,
            .size = at + 4 * (size_t)n,
            .sparse = at + 5 * (size_t)n};
  size_t sparse = solve->sparse ? model_sparse_room(solve->sparse) : 0;
  if (!solve->sparse || n <= MODEL_FULL_MAX) w.a = w.sparse + sparse;
  return w;
}

static void forget(Work* w) {
  model_pivoted_free(w->pivoted);
  w->pivoted = NULL;
  w->kind = KIND_NONE;
}

/// Units in which equations and unknowns can be compared, for the Jacobian as it stands in the
/// registers. False without memory, or where it is no matrix of numbers.
static bool take_units(const ModelSolve* solve, const double* regs, Work* w) {
  if (!w->row) w->row = malloc(2 * (size_t)w->n * sizeof *w->row);
  if (!w->row) return false;
  w->column = w->row + w->n;
  return model_balance(solve, regs, w->row, w->column);
}

static void drop_units(Work* w) {
  free(w->row);
  w->row = NULL;
  w->column = NULL;
}

/// The full Jacobian as it stands in the registers, in the units at hand.
static void fill_matrix(const ModelSolve* solve, const double* regs, Work* w) {
  size_t n = w->n;
  for (size_t i = 0; i < n * n; i++) {
    w->a[i] = 0.0;
  }
  for (uint32_t i = 0; i < solve->entry_count; i++) {
    const ModelEntry* entry = &solve->entries[i];
    double unit = w->row ? w->row[entry->row] * w->column[entry->column] : 1.0;
    w->a[entry->row * n + entry->column] += regs[entry->reg] * unit;
  }
}

/// Sizes of the rows; false: one is zero or not finite.
static bool scale_rows(Work* w) {
  uint32_t n = w->n;
  for (uint32_t i = 0; i < n; i++) {
    double largest = 0.0;
    for (uint32_t j = 0; j < n; j++) {
      double size = fabs(w->a[(size_t)i * n + j]);
      if (!(size <= DBL_MAX)) return false;
      if (size > largest) largest = size;
    }
    if (largest == 0.0) return false;
    w->scale[i] = largest;
    w->order[i] = (double)i;
  }
  return true;
}

static bool factor_full(const ModelSolve* solve, const double* regs, Work* w) {
  uint32_t n = w->n;
  fill_matrix(solve, regs, w);
  if (!scale_rows(w)) return false;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t best = k;
    double best_size = -1.0;
    for (uint32_t i = k; i < n; i++) {
      uint32_t row = (uint32_t)w->order[i];
      double size = fabs(w->a[(size_t)row * n + k]) / w->scale[row];
      if (size > best_size) {
        best = i;
        best_size = size;
      }
    }
    if (!(best_size > MODEL_PIVOT_MIN)) return false;
    double swap = w->order[k];
    w->order[k] = w->order[best];
    w->order[best] = swap;
    const double* pivot = w->a + (size_t)(uint32_t)w->order[k] * n;
    for (uint32_t i = k + 1; i < n; i++) {
      double* row = w->a + (size_t)(uint32_t)w->order[i] * n;
      double factor = row[k] / pivot[k];
      row[k] = factor;
      if (factor == 0.0) continue;
      for (uint32_t j = k + 1; j < n; j++) {
        row[j] -= factor * pivot[j];
      }
    }
  }
  return true;
}

/// Factors of the Jacobian with pivots as its numbers want them.
static bool factor_pivoted(const ModelSolve* solve, const double* regs, Work* w) {
  forget(w);
  if (w->a) {
    if (factor_full(solve, regs, w)) w->kind = KIND_FULL;
  } else {
    w->pivoted = model_pivoted_create(solve, regs, w->row, w->column, w->scale);
    if (w->pivoted) w->kind = KIND_PIVOTED;
  }
  return w->kind != KIND_NONE;
}

/// Factors of the Jacobian as it stands in the registers.
static bool factor(const ModelSolve* solve, const double* regs, Work* w) {
  forget(w);
  if (solve->sparse && model_sparse_factor(solve, regs, w->scale, w->sparse)) {
    w->kind = KIND_SPARSE;
    return true;
  }
  return factor_pivoted(solve, regs, w);
}

/// step := -J^-1 residual
static void back_solve(const ModelSolve* solve, const double* regs, Work* w) {
  uint32_t n = w->n;
  if (w->kind == KIND_SPARSE) {
    model_sparse_solve(solve, regs, w->sparse, w->step);
    return;
  }
  if (w->kind == KIND_PIVOTED) {
    model_pivoted_solve(w->pivoted, solve, regs, w->scale, w->step);
    for (uint32_t i = 0; w->column && i < n; i++) {
      w->step[i] *= w->column[i];
    }
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t row = (uint32_t)w->order[i];
    double sum = -regs[solve->residuals[row]] * (w->row ? w->row[row] : 1.0);
    for (uint32_t j = 0; j < i; j++) {
      sum -= w->a[(size_t)row * n + j] * w->step[j];
    }
    w->step[i] = sum;
  }
  for (uint32_t i = n; i-- > 0;) {
    uint32_t row = (uint32_t)w->order[i];
    double sum = w->step[i];
    for (uint32_t j = i + 1; j < n; j++) {
      sum -= w->a[(size_t)row * n + j] * w->step[j];
    }
    w->step[i] = sum / w->a[(size_t)row * n + i];
  }
  for (uint32_t i = 0; w->column && i < n; i++) {
    w->step[i] *= w->column[i];
  }
}

/// Residuals by the sizes of their rows; infinity when one is not a number.
static double residual_norm(const ModelSolve* solve, const double* regs, const Work* w) {
  double norm = 0.0;
  for (uint32_t i = 0; i < w->n; i++) {
    double part = fabs(regs[solve->residuals[i]]) * (w->row ? w->row[i] : 1.0) / w->scale[i];
    if (!(part <= DBL_MAX)) return (double)INFINITY;
    if (part > norm) norm = part;
  }
  return norm;
}

/// The largest unknown.
static double unknowns_size(const ModelSolve* solve, const double* regs, const Work* w) {
  double size = 0.0;
  for (uint32_t i = 0; i < solve->count; i++) {
    size = fmax(size, fabs(regs[solve->unknowns[i]]) / (w->column ? w->column[i] : 1.0));
  }
  return size;
}

/// step := the smallest solution of J step = -residual, for a Jacobian without full rank. What rank
/// it has is seen in balanced units; how small a solution is, in those of the model. False when the
/// equations contradict each other.
static bool smallest_step(const ModelSolve* solve, const double* regs, Work* w) {
  uint32_t n = w->n;
  if (!w->a || !take_units(solve, regs, w)) return false;  // too large for that
  fill_matrix(solve, regs, w);
  double size = unknowns_size(solve, regs, w);
  for (uint32_t i = 0; i < n; i++) {
    double largest = 0.0;
    for (uint32_t j = 0; j < n; j++) {
      largest = fmax(largest, fabs(w->a[(size_t)i * n + j]));
    }
    // an empty row must hold as it stands
    w->scale[i] = largest > 0.0 ? largest : 1.0;
    for (uint32_t j = 0; j < n; j++) {
      w->a[(size_t)i * n + j] /= w->scale[i];
    }
    w->trial[i] = -regs[solve->residuals[i]] * w->row[i] / w->scale[i];
    size = fmax(size, fabs(w->trial[i]));
  }
  uint32_t rank =
      model_rank_solve(n, w->a, w->trial, size, w->column, solve->yields, w->order, w->step);
  for (uint32_t j = 0; rank != MODEL_RANK_NONE && j < n; j++) {
    w->step[j] *= w->column[j];
  }
  return rank != MODEL_RANK_NONE;
}

/// A linear block without full rank: the smallest solution, if there is one.
static bool solve_deficient(const ModelSolve* solve, double* regs, Work* w, ModelBody* run,
                            void* user) {
  for (uint32_t i = 0; i < w->n; i++) {
    regs[solve->unknowns[i]] = 0.0;
  }
  for (int pass = 0; pass < 2; pass++) {
    run(user);
    if (!smallest_step(solve, regs, w)) return false;
    for (uint32_t i = 0; i < w->n; i++) {
      regs[solve->unknowns[i]] += w->step[i];
    }
  }
  run(user);
  double largest = unknowns_size(solve, regs, w);
  return residual_norm(solve, regs, w) <= MODEL_LINEAR_RESIDUAL * fmax(largest, DBL_MIN);
}

/// From 0 and with one refinement; the factors are at hand.
static bool refined(const ModelSolve* solve, double* regs, Work* w, ModelBody* run, void* user) {
  for (uint32_t i = 0; i < w->n; i++) {
    regs[solve->unknowns[i]] = 0.0;
  }
  double size = 0.0;
  for (int pass = 0; pass < 2; pass++) {
    run(user);
    double norm = residual_norm(solve, regs, w);
    if (!(norm <= DBL_MAX)) return false;
    if (pass == 0) size = norm;
    if (pass == 1) {
      double largest = fmax(size, unknowns_size(solve, regs, w));
      if (norm > MODEL_LINEAR_RESIDUAL * largest) return false;
    }
    back_solve(solve, regs, w);
    for (uint32_t i = 0; i < w->n; i++) {
      regs[solve->unknowns[i]] += w->step[i];
    }
  }
  return true;
}

static bool solve_linear(const ModelSolve* solve, double* regs, ModelBody* run, void* user) {
  Work w = work_space(solve, regs);
  bool done = factor(solve, regs, &w) && refined(solve, regs, &w, run, user);
  if (!done && w.kind == KIND_SPARSE) {
    // the order of the tables did not suit the numbers
    done = factor_pivoted(solve, regs, &w) && refined(solve, regs, &w, run, user);
  }
  forget(&w);
  return done;
}

/// Once more in units that suit the equations, and then without full rank: an unknown in units so
/// large that its coefficients vanish beside the others looks as if nothing determined it.
static bool solve_in_units(const ModelSolve* solve, double* regs, ModelBody* run, void* user,
                           bool* deficient) {
  Work w = work_space(solve, regs);
  bool done = take_units(solve, regs, &w) && factor_pivoted(solve, regs, &w) &&
              refined(solve, regs, &w, run, user);
  forget(&w);
  *deficient = !done;
  if (!done) done = solve_deficient(solve, regs, &w, run, user);
  drop_units(&w);
  return done;
}

/// Halve the step until the residual falls; false when it does not.
static bool damped_step(const ModelSolve* solve, double* regs, const Work* w, double before,
                        double small, ModelBody* run, void* user) {
  for (uint32_t i = 0; i < w->n; i++) {
    w->trial[i] = regs[solve->unknowns[i]];
  }
  double lambda = 1.0;
  for (int halving = 0; halving <= HALVINGS_MAX; halving++, lambda *= 0.5) {
    for (uint32_t i = 0; i < w->n; i++) {
      regs[solve->unknowns[i]] = w->trial[i] + lambda * w->step[i];
    }
    run(user);
    double after = residual_norm(solve, regs, w);
    // close to the solution rounding decides about residuals: steps are looked at there
    if (after <= (1.0 - SUFFICIENT * lambda) * before ||
        (small <= NEWTON_SMALL && after <= DBL_MAX)) {
      return true;
    }
  }
  return false;
}

/// How the lengths of Newton's steps follow each other.
typedef struct Pace {
  double length;  // of the last step
  double ratio;   // to the one before
} Pace;

/// At a root of multiplicity m (`z^3 = s` where s passes through 0) steps shrink by 1 - 1/m each
/// time and come to no end; once they do so evenly, m of them are taken at once.
static void lengthen_step(const Work* w, Pace* pace) {
  double length = 0.0;
  for (uint32_t i = 0; i < w->n; i++) {
    length = fmax(length, fabs(w->step[i]));
  }
  double ratio = pace->length > 0.0 ? length / pace->length : 0.0;
  bool even = ratio > 0.4 && ratio < 0.95 && fabs(ratio - pace->ratio) < 0.01;
  *pace = even ? (Pace){0} : (Pace){.length = length, .ratio = ratio};
  for (uint32_t i = 0; even && i < w->n; i++) {
    w->step[i] /= 1.0 - ratio;
  }
}

/// What the unknowns measure: what they have been since the guess, and the steps between.
static void grow_sizes(const ModelSolve* solve, const double* regs, Work* w) {
  for (uint32_t j = 0; j < w->n; j++) {
    w->size[j] = fmax(w->size[j], fabs(regs[solve->unknowns[j]]));
  }
}

/// The step by the sizes of the unknowns; infinity when it is not a number.
static double step_norm(Work* w) {
  double norm = 0.0;
  for (uint32_t j = 0; j < w->n; j++) {
    double step = fabs(w->step[j]);
    if (!(step <= DBL_MAX)) return (double)INFINITY;
    if (step > norm * w->size[j]) norm = w->size[j] > 0.0 ? step / w->size[j] : (double)INFINITY;
  }
  return norm;
}

/// trial := what the terms of each equation measure
static void take_terms(const ModelSolve* solve, const double* regs, Work* w) {
  for (uint32_t i = 0; i < w->n; i++) {
    w->trial[i] = 0.0;
  }
  for (uint32_t k = 0; k < solve->entry_count; k++) {
    const ModelEntry* entry = &solve->entries[k];
    w->trial[entry->row] += fabs(regs[entry->reg]) * w->size[entry->column];
  }
}

/// Whether what is left of the equations is small beside their terms.
static bool holds(const ModelSolve* solve, const double* regs, Work* w) {
  take_terms(solve, regs, w);
  for (uint32_t i = 0; i < w->n; i++) {
    if (!(fabs(regs[solve->residuals[i]]) <= NEWTON_SMALL * w->trial[i])) return false;
  }
  return true;
}

/// Whether an equation that does not hold changes by a part of the step as its derivatives say.
/// `before`: the unknowns, what is left of the equations, and their terms.
static bool follows(const ModelSolve* solve, double* regs, const Work* w, const double* before,
                    double part, ModelBody* run, void* user) {
  const double* left = before + w->n;
  const double* terms = left + w->n;
  for (uint32_t i = 0; i < w->n; i++) {
    regs[solve->unknowns[i]] = before[i] + part * w->step[i];
  }
  run(user);
  for (uint32_t i = 0; i < w->n; i++) {
    double error = regs[solve->residuals[i]] - (1.0 - part) * left[i];
    bool open = fabs(left[i]) > NEWTON_SMALL * terms[i];
    if (open && !(fabs(error) > 0.5 * fabs(part * left[i]) && fabs(error) <= DBL_MAX)) return true;
  }
  return false;
}

/// Whether what is left of the equations is the rounding of terms in which the unknowns vanish, as
/// in ln(1 + z) for small z. Otherwise some part of the step is small enough for curves to be
/// straight and still larger than rounding, forwards or, next to a kink, backwards. The unknowns
/// stay what they are.
static bool is_rounding(const ModelSolve* solve, double* regs, Work* w, ModelBody* run,
                        void* user) {
  drop_units(w);
  double* before = malloc(3 * (size_t)w->n * sizeof *before);
  bool rounding = before && factor(solve, regs, w);
  if (rounding) {
    back_solve(solve, regs, w);
    for (uint32_t j = 0; j < w->n; j++) {
      if (w->size[j] == 0.0) w->size[j] = fabs(regs[solve->unknowns[j]]);
    }
    take_terms(solve, regs, w);
    for (uint32_t i = 0; i < w->n; i++) {
      before[i] = regs[solve->unknowns[i]];
      before[w->n + i] = regs[solve->residuals[i]];
      before[2 * (size_t)w->n + i] = w->trial[i];
    }
    double size = step_norm(w);
    double least = fmax(0x1p-46, 1024.0 * DBL_EPSILON / size);
    rounding = least <= 1.0 && size <= 0x1p20;  // beyond, no part is small enough
    for (double part = fmax(0x1p-16, least); rounding && part >= least; part *= 0x1p-6) {
      rounding = !follows(solve, regs, w, before, part, run, user) &&
                 !follows(solve, regs, w, before, -part, run, user);
    }
    (void)follows(solve, regs, w, before, 0.0, run, user);
  }
  free(before);
  return rounding;
}

static bool newton(const ModelSolve* solve, double* regs, Work* w, ModelBody* run, void* user,
                   bool* deficient) {
  Pace pace = {0};
  for (uint32_t j = 0; j < w->n; j++) {
    w->size[j] = 0.0;
    regs[solve->unknowns[j]] = regs[solve->guesses[j]];
  }
  run(user);
  double last = (double)INFINITY;
  for (int iteration = 0; iteration < NEWTON_MAX; iteration++) {
    drop_units(w);
    *deficient = !factor(solve, regs, w);
    if (*deficient) {
      if (!smallest_step(solve, regs, w)) return false;
    } else {
      back_solve(solve, regs, w);
      forget(w);
    }
    double before = residual_norm(solve, regs, w);
    if (!(before <= DBL_MAX)) return false;
    if (before == 0.0) return true;
    grow_sizes(solve, regs, w);
    double size = step_norm(w);
    // at rounding: the last step does not shrink any more; it is as good as the pivots behind it
    if (size <= 2.0 * DBL_EPSILON ||
        (size <= NEWTON_SMALL && size >= 0.5 * last && size <= 2.0 * last)) {
      return holds(solve, regs, w);
    }
    if (size > NEWTON_FAR && size <= DBL_MAX) return false;
    lengthen_step(w, &pace);
    if (!damped_step(solve, regs, w, before, size, run, user)) {
      // the residuals of unknowns that pass through zero are rounding before their steps are small
      return holds(solve, regs, w) || is_rounding(solve, regs, w, run, user);
    }
    last = size;
  }
  return false;
}

static bool solve_newton(const ModelSolve* solve, double* regs, ModelBody* run, void* user,
                         bool* deficient) {
  Work w = work_space(solve, regs);
  bool done = newton(solve, regs, &w, run, user, deficient);
  forget(&w);
  drop_units(&w);
  return done;
}

ModelSolved model_solve(const ModelSolve* solve, double* regs, ModelBody* run, void* user) {
  bool deficient = false;
  bool done = false;
  if (solve->relax_count) {
    ModelSolved relaxed = model_solve_relaxed(solve, regs, run, user);
    if (relaxed != MODEL_UNSOLVED) return relaxed;
  } else if (solve->linear) {
    done =
        solve_linear(solve, regs, run, user) || solve_in_units(solve, regs, run, user, &deficient);
  } else {
    done = solve_newton(solve, regs, run, user, &deficient);
  }
  if (done) return deficient ? MODEL_SOLVED_LEAST : MODEL_SOLVED;
  for (uint32_t i = 0; i < solve->count; i++) {
    regs[solve->unknowns[i]] = (double)NAN;
  }
  return MODEL_UNSOLVED;
}

void model_solve_note(ModelSolved solved, const ModelSolve* solve, const ModelContext* context) {
  if (solve->tries) return;
  if (solved == MODEL_UNSOLVED && context->failed) *context->failed = solve->id;
  if (solved == MODEL_SOLVED_LEAST && context->least) *context->least = solve->id;
  if (solved != MODEL_CONTRADICTS) return;
  // where nobody waits for the signs of what is infinite there is no solution
  if (context->contradicts) *context->contradicts = solve->id;
  if (!context->contradicts && context->failed) *context->failed = solve->id;
}

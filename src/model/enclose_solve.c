// SPDX-License-Identifier: MIT
//
// Enclosures of what blocks of equations are solved for.
//
// A solution u at the middle of the inputs is found as usual. Then Krawczyk's operator shows that
// for all inputs in their intervals there is exactly one solution in a box around u, and the
// differentiated equations enclose its slope. Where this does not succeed nothing is said.
#include "model/model.h"

#include <float.h>
#include <math.h>

#define SIZE_MAX_BLOCK 24
#define NEWTON_MAX     25
#define WIDENINGS_MAX  8

typedef struct Enclosure {
  const ModelSolve* solve;
  ModelDual* regs;
  ModelBody* run;
  void* user;
  uint32_t n;
  double u[SIZE_MAX_BLOCK];
  double size[SIZE_MAX_BLOCK];                      // the largest that u has been
  double y[SIZE_MAX_BLOCK][SIZE_MAX_BLOCK];         // approximate inverse of the Jacobian
  ModelInterval c[SIZE_MAX_BLOCK][SIZE_MAX_BLOCK];  // 1 - y J
} Enclosure;

static double middle(ModelInterval a) {
  return 0.5 * a.lo + 0.5 * a.hi;
}

static double magnitude(ModelInterval a) {
  double lo = fabs(a.lo);
  double hi = fabs(a.hi);
  return lo > hi ? lo : hi;
}

static bool bounded(ModelInterval a) {
  return a.lo >= -DBL_MAX && a.hi <= DBL_MAX;
}

static ModelInterval widened(double value, ModelInterval by) {
  return model_interval_add(model_interval_point(value), by);
}

static void set_trial(Enclosure* e, const ModelInterval* around) {
  for (uint32_t i = 0; i < e->n; i++) {
    ModelInterval v = around ? widened(e->u[i], around[i]) : model_interval_point(e->u[i]);
    e->regs[e->solve->unknowns[i]] = (ModelDual){v, {0.0, 0.0}};
  }
  e->run(e->user);
}

/// Column k of a to that of the unit matrix, by the row that is largest there; false: it is zero.
static bool clear_column(double a[][2 * SIZE_MAX_BLOCK], uint32_t n, uint32_t k) {
  uint32_t best = k;
  for (uint32_t i = k + 1; i < n; i++) {
    if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
  }
  if (!(fabs(a[best][k]) > 0.0)) return false;
  for (uint32_t j = 0; j < 2 * n; j++) {
    double swap = a[k][j];
    a[k][j] = a[best][j];
    a[best][j] = swap;
  }
  double pivot = a[k][k];
  for (uint32_t j = 0; j < 2 * n; j++) {
    a[k][j] /= pivot;
  }
  for (uint32_t i = 0; i < n; i++) {
    double factor = a[i][k];
    if (i == k || factor == 0.0) continue;
    for (uint32_t j = 0; j < 2 * n; j++) {
      a[i][j] -= factor * a[k][j];
    }
  }
  return true;
}

/// y := inverse of the middle of the Jacobian, by elimination with row pivoting.
static bool invert(Enclosure* e) {
  double a[SIZE_MAX_BLOCK][2 * SIZE_MAX_BLOCK] = {{0.0}};
  uint32_t n = e->n;
  for (uint32_t i = 0; i < e->solve->entry_count; i++) {
    const ModelEntry* entry = &e->solve->entries[i];
    if (!bounded(e->regs[entry->reg].v)) return false;
    a[entry->row][entry->column] += middle(e->regs[entry->reg].v);
  }
  for (uint32_t i = 0; i < n; i++) {
    a[i][n + i] = 1.0;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (!clear_column(a, n, k)) return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < n; j++) {
      e->y[i][j] = a[i][n + j];
      if (!(fabs(e->y[i][j]) <= DBL_MAX)) return false;
    }
  }
  return true;
}

/// A solution for the middle of the inputs.
static bool find_point(Enclosure* e) {
  const ModelSolve* solve = e->solve;
  for (uint32_t i = 0; i < e->n; i++) {
    e->u[i] = solve->linear ? 0.0 : middle(e->regs[solve->guesses[i]].v);
    e->size[i] = fabs(e->u[i]);
  }
  for (int pass = 0; pass < NEWTON_MAX; pass++) {
    set_trial(e, NULL);
    if (!invert(e)) return false;
    double largest = 0.0;
    for (uint32_t i = 0; i < e->n; i++) {
      double step = 0.0;
      for (uint32_t j = 0; j < e->n; j++) {
        step -= e->y[i][j] * middle(e->regs[solve->residuals[j]].v);
      }
      if (!(fabs(step) <= DBL_MAX)) return false;
      e->u[i] += step;
      e->size[i] = fmax(e->size[i], fmax(fabs(e->u[i]), fabs(step)));
      if (fabs(step) > largest * e->size[i]) largest = fabs(step) / e->size[i];
    }
    if (largest <= 1e-12 || (solve->linear && pass == 1)) return true;
  }
  return false;
}

/// -y r for the residuals (or their slopes) in the registers.
static bool correction(const Enclosure* e, bool slope, ModelInterval* out) {
  for (uint32_t i = 0; i < e->n; i++) {
    ModelInterval sum = {0.0, 0.0};
    for (uint32_t j = 0; j < e->n; j++) {
      const ModelDual* r = &e->regs[e->solve->residuals[j]];
      sum = model_interval_sub(
          sum, model_interval_mul(model_interval_point(e->y[i][j]), slope ? r->d : r->v));
    }
    if (!bounded(sum)) return false;
    out[i] = sum;
  }
  return true;
}

/// c := 1 - y J for the Jacobian in the registers; returns the largest sum of a row.
static double contraction(Enclosure* e) {
  for (uint32_t i = 0; i < e->n; i++) {
    for (uint32_t j = 0; j < e->n; j++) {
      e->c[i][j] = model_interval_point(i == j ? 1.0 : 0.0);
    }
  }
  for (uint32_t k = 0; k < e->solve->entry_count; k++) {
    const ModelEntry* entry = &e->solve->entries[k];
    for (uint32_t i = 0; i < e->n; i++) {
      ModelInterval part =
          model_interval_mul(model_interval_point(e->y[i][entry->row]), e->regs[entry->reg].v);
      e->c[i][entry->column] = model_interval_sub(e->c[i][entry->column], part);
    }
  }
  double largest = 0.0;
  for (uint32_t i = 0; i < e->n; i++) {
    double sum = 0.0;
    for (uint32_t j = 0; j < e->n; j++) {
      sum += magnitude(e->c[i][j]);
    }
    if (!(sum <= largest)) largest = sum;
  }
  return largest * (1.0 + 1e-12);
}

/// A box around u that holds the solution for all inputs; the Jacobian over it is in the registers.
static bool find_box(Enclosure* e, ModelInterval* box) {
  ModelInterval z[SIZE_MAX_BLOCK];
  set_trial(e, NULL);
  if (!correction(e, false, z)) return false;
  for (uint32_t i = 0; i < e->n; i++) {
    double room = 0.1 * magnitude(z[i]) + 1e-14 * fabs(e->u[i]) + DBL_MIN;
    box[i] = (ModelInterval){fmin(z[i].lo, 0.0) - room, fmax(z[i].hi, 0.0) + room};
  }
  for (int attempt = 0; attempt < WIDENINGS_MAX; attempt++) {
    set_trial(e, box);
    if (!(contraction(e) < 1.0)) return false;
    bool inside = true;
    for (uint32_t i = 0; i < e->n; i++) {
      ModelInterval k = z[i];
      for (uint32_t j = 0; j < e->n; j++) {
        k = model_interval_add(k, model_interval_mul(e->c[i][j], box[j]));
      }
      if (!bounded(k)) return false;
      if (k.lo > box[i].lo && k.hi < box[i].hi) continue;
      inside = false;
      double room = 0.2 * (k.hi - k.lo);
      box[i] = (ModelInterval){fmin(k.lo, box[i].lo) - room, fmax(k.hi, box[i].hi) + room};
    }
    if (inside) return true;
  }
  return false;
}

bool model_solve_enclose(const ModelSolve* solve, ModelDual* regs, ModelBody* run, void* user) {
  Enclosure e = {.solve = solve, .regs = regs, .run = run, .user = user, .n = solve->count};
  ModelInterval box[SIZE_MAX_BLOCK];
  ModelInterval slope[SIZE_MAX_BLOCK];
  if (e.n > SIZE_MAX_BLOCK || !find_point(&e) || !find_box(&e, box)) return false;
  double c = contraction(&e);
  bool moves = c < 1.0 && correction(&e, true, slope);
  double largest = 0.0;
  for (uint32_t i = 0; moves && i < e.n; i++) {
    largest = fmax(largest, magnitude(slope[i]));
  }
  double more = moves ? c / (1.0 - c) * largest * (1.0 + 1e-12) : 0.0;
  ModelInterval whole_line = {-HUGE_VAL, HUGE_VAL};
  for (uint32_t i = 0; i < e.n; i++) {
    ModelInterval d = whole_line;
    if (moves) d = model_interval_add(slope[i], (ModelInterval){-more, more});
    regs[solve->unknowns[i]] = (ModelDual){widened(e.u[i], box[i]), d};
  }
  return true;
}

bool model_program_encloses(const ModelProgram* program) {
  for (uint32_t i = 0; i < program->solve_count; i++) {
    if (program->solves[i].count > SIZE_MAX_BLOCK) return false;
  }
  return true;
}

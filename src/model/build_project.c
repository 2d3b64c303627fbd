// SPDX-License-Identifier: MIT
//
// The way back to a few constraints as straight code.
//
// With residuals r, their Jacobian G and weights W (what the states measure), the smallest
// change that fulfils the linearised constraints is W G^T lambda, G G^T lambda = -r with the
// columns of G weighted. G G^T is positive definite unless constraints depend on each other, so it
// is factored without a choice of pivots, and what is zero by structure is never touched.
#include "model/build_internal.h"

#define PROJECT_ROWS  16u
#define PROJECT_MAX   1500u  // multiplications
#define PROJECT_PIVOT 1e-13  // of the entry it began with: below, the constraints are dependent

static uint32_t op2(TapeGraph* graph, IrOp op, uint32_t a, uint32_t b) {
  return tape_op(graph, op, a, b, b);
}

/// to := to + a b, or to - a b; TAPE_NONE is 0.
static void add_product(TapeGraph* graph, uint32_t* to, uint32_t a, uint32_t b, bool minus) {
  if (a == TAPE_NONE || b == TAPE_NONE) return;
  uint32_t product = op2(graph, IR_MUL, a, b);
  if (*to == TAPE_NONE) {
    *to = minus ? op2(graph, IR_NEG, product, product) : product;
  } else {
    *to = op2(graph, minus ? IR_SUB : IR_ADD, *to, product);
  }
}

typedef struct Projector {
  TapeGraph* graph;
  uint32_t c;
  uint32_t a[PROJECT_ROWS][PROJECT_ROWS];  // G G^T, then its factors
  uint32_t order[PROJECT_ROWS];
  uint32_t inverse[PROJECT_ROWS];
  uint32_t right[PROJECT_ROWS];
  uint32_t sound;  // 1 where no pivot is lost
} Projector;

static bool is_before(const Projector* p, uint32_t done, uint32_t row) {
  for (uint32_t k = 0; k < done; k++) {
    if (p->order[k] == row) return true;
  }
  return false;
}

/// The row not eliminated yet that is connected with the fewest others.
static uint32_t next_row(const Projector* p, uint32_t done) {
  uint32_t best = TAPE_NONE;
  uint32_t best_degree = 0;
  for (uint32_t i = 0; i < p->c; i++) {
    if (is_before(p, done, i)) continue;
    uint32_t degree = 0;
    for (uint32_t j = 0; j < p->c; j++) {
      degree += p->a[i][j] != TAPE_NONE && !is_before(p, done, j);
    }
    if (best != TAPE_NONE && degree >= best_degree) continue;
    best = i;
    best_degree = degree;
  }
  return best;
}

static void require_pivot(Projector* p, uint32_t pivot, uint32_t before) {
  TapeGraph* graph = p->graph;
  uint32_t least = op2(graph, IR_MUL, before, tape_const(graph, PROJECT_PIVOT));
  uint32_t holds = op2(graph, IR_GT, pivot, least);
  p->sound = p->sound == TAPE_NONE ? holds : op2(graph, IR_AND, p->sound, holds);
}

/// right := -(G G^T)^-1 right
static void solve(Projector* p, const uint32_t* diagonal) {
  TapeGraph* graph = p->graph;
  for (uint32_t k = 0; k < p->c; k++) {
    uint32_t row = next_row(p, k);
    p->order[k] = row;
    require_pivot(p, p->a[row][row], diagonal[row]);
    p->inverse[row] = op2(graph, IR_DIV, tape_const(graph, 1.0), p->a[row][row]);
    for (uint32_t i = 0; i < p->c; i++) {
      if (p->a[i][row] == TAPE_NONE || is_before(p, k + 1, i)) continue;
      uint32_t factor = op2(graph, IR_MUL, p->a[i][row], p->inverse[row]);
      for (uint32_t j = 0; j < p->c; j++) {
        if (!is_before(p, k + 1, j)) add_product(graph, &p->a[i][j], factor, p->a[row][j], true);
      }
      add_product(graph, &p->right[i], factor, p->right[row], true);
    }
  }
  for (uint32_t k = p->c; k-- > 0;) {
    uint32_t row = p->order[k];
    uint32_t sum = p->right[row];
    for (uint32_t m = k + 1; m < p->c; m++) {
      // rows behind hold the solution with its sign turned already
      add_product(graph, &sum, p->a[row][p->order[m]], p->right[p->order[m]], false);
    }
    uint32_t value = op2(graph, IR_MUL, sum, p->inverse[row]);
    p->right[row] = op2(graph, IR_NEG, value, value);
  }
}

/// The largest square of the distance to a constraint.
static uint32_t distance_squared(Projector* p, const uint32_t* residuals,
                                 const uint32_t* diagonal) {
  TapeGraph* graph = p->graph;
  uint32_t largest = TAPE_NONE;
  for (uint32_t i = 0; i < p->c; i++) {
    uint32_t square = op2(graph, IR_MUL, residuals[i], residuals[i]);
    uint32_t part = op2(graph, IR_DIV, square, diagonal[i]);
    largest = largest == TAPE_NONE ? part : op2(graph, IR_MAX, largest, part);
  }
  return largest;
}

static bool is_small(const ProjectSystem* system) {
  uint64_t c = system->row_count;
  return c > 0 && c <= PROJECT_ROWS &&
         (uint64_t)system->entry_count * c + c * c * c / 3 <= PROJECT_MAX;
}

bool project_values(TapeGraph* graph, const ProjectSystem* system, uint32_t* sound,
                    uint32_t* distance, uint32_t* changes) {
  if (!is_small(system)) return false;
  Projector p = {.graph = graph, .c = system->row_count, .sound = TAPE_NONE};
  uint32_t diagonal[PROJECT_ROWS];
  Arena* arena = graph->arena;
  // rows of G, columns by weight
  uint32_t* g = ARENA_ARRAY(arena, uint32_t, (size_t)p.c * system->state_count);
  for (uint32_t i = 0; i < p.c * system->state_count; i++) {
    g[i] = TAPE_NONE;
  }
  for (uint32_t k = 0; k < system->entry_count; k++) {
    const ModelEntry* entry = &system->entries[k];
    add_product(graph, &g[(size_t)entry->row * system->state_count + entry->column], entry->reg,
                system->weights[entry->column], false);
  }
  for (uint32_t i = 0; i < p.c; i++) {
    for (uint32_t k = 0; k < p.c; k++) {
      p.a[i][k] = TAPE_NONE;
      for (uint32_t j = 0; j < system->state_count; j++) {
        add_product(graph, &p.a[i][k], g[(size_t)i * system->state_count + j],
                    g[(size_t)k * system->state_count + j], false);
      }
    }
    if (p.a[i][i] == TAPE_NONE) return false;
    diagonal[i] = p.a[i][i];
    p.right[i] = system->residuals[i];
  }
  *distance = distance_squared(&p, system->residuals, diagonal);
  solve(&p, diagonal);
  *sound = p.sound;
  for (uint32_t j = 0; j < system->state_count; j++) {
    changes[j] = TAPE_NONE;
    for (uint32_t i = 0; i < p.c; i++) {
      add_product(graph, &changes[j], g[(size_t)i * system->state_count + j], p.right[i], false);
    }
    if (changes[j] == TAPE_NONE) continue;
    changes[j] = op2(graph, IR_MUL, changes[j], system->weights[j]);
  }
  return true;
}

// SPDX-License-Identifier: MIT
//
// Units of equations and unknowns, found from the coefficients.
//
// What is to be called zero, and which of many solutions is the smallest, must not depend on the
// units of a model. Factors by which the logarithms of all entries are small in the mean (Curtis
// and Reid 1972) follow every change of units. They are found by averages over rows and columns in
// turn. Alone these would take as many turns as units have to travel through the matrix; so first a
// tree of entries is made 1, from one row or column to the next, and this takes the units away at
// once.
#include "model/solve_balance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 6  // of averages; what is left is no matter of units

/// Rows are the first nodes, columns those behind them; entries are edges.
typedef struct Balance {
  const ModelSolve* solve;
  uint32_t rows, nodes, count;
  double* size;     // per edge: logarithm of its entry; infinite: 0
  double* factor;   // per node: logarithm
  uint32_t* edges;  // of the nodes, one after the other
  uint32_t* begin;  // per node and one: its first edge
  uint32_t* queue;
  bool* reached;
} Balance;

static uint32_t row_of(const Balance* b, uint32_t edge) {
  uint32_t beside = edge < b->solve->entry_count ? 0 : b->solve->count;
  return beside + b->solve->entries[edge].row;
}

static uint32_t column_of(const Balance* b, uint32_t edge) {
  return b->rows + b->solve->entries[edge].column;
}

static uint32_t other_end(const Balance* b, uint32_t edge, uint32_t node) {
  return node < b->rows ? column_of(b, edge) : row_of(b, edge);
}

static void list_edges(Balance* b) {
  memset(b->begin, 0, ((size_t)b->nodes + 2) * sizeof *b->begin);
  uint32_t* next = b->begin + 1;  // ends of the nodes, once all edges are in
  for (uint32_t k = 0; k < b->count; k++) {
    next[row_of(b, k) + 1]++;
    next[column_of(b, k) + 1]++;
  }
  for (uint32_t i = 1; i <= b->nodes; i++) {
    next[i] += next[i - 1];
  }
  for (uint32_t k = 0; k < b->count; k++) {
    b->edges[next[row_of(b, k)]++] = k;
    b->edges[next[column_of(b, k)]++] = k;
  }
}

/// Factors for which the edges of a tree are 1.
static void follow_tree(Balance* b) {
  memset(b->reached, 0, b->nodes * sizeof *b->reached);
  for (uint32_t root = 0; root < b->nodes; root++) {
    if (b->reached[root]) continue;
    uint32_t queued = 0;
    b->queue[queued++] = root;
    b->reached[root] = true;
    b->factor[root] = 0.0;
    for (uint32_t at = 0; at < queued; at++) {
      uint32_t node = b->queue[at];
      for (uint32_t e = b->begin[node]; e < b->begin[node + 1]; e++) {
        uint32_t other = other_end(b, b->edges[e], node);
        if (b->reached[other] || isinf(b->size[b->edges[e]])) continue;
        b->reached[other] = true;
        b->factor[other] = -b->size[b->edges[e]] - b->factor[node];
        b->queue[queued++] = other;
      }
    }
  }
}

/// One turn: rows, then columns.
static void average(Balance* b) {
  for (uint32_t node = 0; node < b->nodes; node++) {
    double sum = 0.0;
    uint32_t count = 0;
    for (uint32_t e = b->begin[node]; e < b->begin[node + 1]; e++) {
      double size = b->size[b->edges[e]];
      if (isinf(size)) continue;
      sum += size + b->factor[other_end(b, b->edges[e], node)];
      count++;
    }
    if (count) b->factor[node] = -sum / count;
  }
}

bool model_balance(const ModelSolve* solve, const double* regs, double* row, double* column) {
  uint32_t rows = solve->count * (solve->relax_count ? 2 : 1);
  size_t count = (size_t)solve->entry_count + solve->relax_count;
  size_t nodes = (size_t)rows + solve->count;
  size_t places = 2 * count + 2 * nodes + 2;
  double* room =
      malloc((count + nodes) * sizeof(double) + places * sizeof(uint32_t) + nodes * sizeof(bool));
  if (!room) return false;
  Balance b = {.solve = solve, .rows = rows, .nodes = (uint32_t)nodes, .count = (uint32_t)count};
  b.size = room;
  b.factor = room + count;
  b.edges = (uint32_t*)(b.factor + nodes);
  b.begin = b.edges + 2 * count;
  b.queue = b.begin + nodes + 2;
  b.reached = (bool*)(b.queue + nodes);
  bool finite = true;
  for (uint32_t k = 0; k < count; k++) {
    double size = fabs(regs[solve->entries[k].reg]);
    finite &= size <= DBL_MAX;
    b.size[k] = size > 0.0 ? base_log2(size) : (double)-INFINITY;
  }
  if (finite) {
    list_edges(&b);
    follow_tree(&b);
    for (int turn = 0; turn < TURNS; turn++) {
      average(&b);
    }
    for (uint32_t i = 0; i < rows; i++) {
      row[i] = ldexp(1.0, (int)rint(b.factor[i]));
    }
    for (uint32_t j = 0; j < solve->count; j++) {
      column[j] = ldexp(1.0, (int)rint(b.factor[rows + j]));
    }
  }
  free(room);
  return finite;
}

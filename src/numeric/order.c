// SPDX-License-Identifier: MIT
//
// Orders that keep neighbours close: reverse Cuthill-McKee from an end of the graph. Ties go to the
// smaller number, so the order depends on the graph alone.
#include "numeric/internal.h"

typedef struct Graph {
  const uint32_t* begin;
  const uint32_t* neighbours;
  uint32_t* mark;  // per node: number of the last search that saw it; UINT32_MAX: ordered
  uint32_t search;
} Graph;

static uint32_t degree(const Graph* g, uint32_t node) {
  return g->begin[node + 1] - g->begin[node];
}

/// Nodes by distance from `root` into `out`. Returns their number; the first of the farthest level
/// goes to `level`, the number of levels to `depth`.
static uint32_t spread(Graph* g, uint32_t root, uint32_t* out, uint32_t* level, uint32_t* depth) {
  uint32_t stamp = ++g->search;
  uint32_t count = 1;
  uint32_t begin = 0;
  out[0] = root;
  g->mark[root] = stamp;
  *depth = 0;
  while (begin < count) {
    *level = begin;
    uint32_t end = count;
    for (uint32_t i = begin; i < end; i++) {
      for (uint32_t k = g->begin[out[i]]; k < g->begin[out[i] + 1]; k++) {
        uint32_t node = g->neighbours[k];
        if (g->mark[node] == UINT32_MAX || g->mark[node] == stamp) {
          continue;
        }
        g->mark[node] = stamp;
        out[count++] = node;
      }
    }
    begin = end;
    (*depth)++;
  }
  return count;
}

/// A node at an end of the connected piece of `node` (George and Liu).
static uint32_t find_end(Graph* g, uint32_t node, uint32_t* out) {
  uint32_t level = 0;
  uint32_t depth = 0;
  uint32_t count = spread(g, node, out, &level, &depth);
  for (uint32_t round = 0; round < 8; round++) {
    uint32_t next = out[level];
    for (uint32_t i = level; i < count; i++) {
      if (degree(g, out[i]) < degree(g, next)) {
        next = out[i];
      }
    }
    uint32_t further = 0;
    count = spread(g, next, out, &level, &further);
    if (further <= depth) {
      return node;
    }
    node = next;
    depth = further;
  }
  return node;
}

/// Sort by degree, then number; the lists are short.
static void sort_by_degree(const Graph* g, uint32_t* nodes, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    uint32_t node = nodes[i];
    uint32_t at = i;
    while (at > 0 && (degree(g, nodes[at - 1]) > degree(g, node) ||
                      (degree(g, nodes[at - 1]) == degree(g, node) && nodes[at - 1] > node))) {
      nodes[at] = nodes[at - 1];
      at--;
    }
    nodes[at] = node;
  }
}

#define SORT_MAX 64  // nodes with more neighbours make no band

void num_order_band(uint32_t n, const uint32_t* begin, const uint32_t* neighbours, uint32_t* order,
                    uint32_t* work) {
  Graph g = {.begin = begin, .neighbours = neighbours, .mark = work};
  uint32_t* out = work + n;
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) {
    g.mark[i] = 0;
  }
  for (uint32_t first = 0; first < n; first++) {
    if (g.mark[first] == UINT32_MAX) {
      continue;
    }
    uint32_t at = count;
    uint32_t end = find_end(&g, first, out);
    order[count++] = end;
    g.mark[end] = UINT32_MAX;
    for (; at < count; at++) {
      uint32_t from = count;
      for (uint32_t k = begin[order[at]]; k < begin[order[at] + 1]; k++) {
        uint32_t node = neighbours[k];
        if (g.mark[node] == UINT32_MAX) {
          continue;
        }
        g.mark[node] = UINT32_MAX;
        order[count++] = node;
      }
      if (count - from <= SORT_MAX) {
        sort_by_degree(&g, order + from, count - from);
      }
    }
  }
  for (uint32_t i = 0; i < n / 2; i++) {
    uint32_t keep = order[i];
    order[i] = order[n - 1 - i];
    order[n - 1 - i] = keep;
  }
}

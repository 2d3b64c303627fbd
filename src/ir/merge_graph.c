// SPDX-License-Identifier: MIT
//
// Which quantities may be computed by a selection.
//
// Nodes are the quantities that explicit equations compute, edges lead to the computed quantities
// that any of their equations read, in whatever state; all implicit equations are one node. Two
// things make alternatives more than another value:
// * A loop. The equations of one combination of states may be a straight line where those of all
//   of them together are a loop, so what lies on a loop, or between two, stays as it is written.
// * A guard of an automaton that reads the quantity, directly or by way of others. It may reject a
//   mode because of what the mode computes, and is asked when equations are replaced.
#include "ir/merge.h"

typedef struct Graph {
  Merge* m;
  uint32_t count;                     // nodes: the variables, then that of the implicit equations
  BASE_VEC(uint32_t) from, to;        // edges
  uint32_t *reads_begin, *reads;      // what a node reads
  uint32_t *readers_begin, *readers;  // who reads a node
} Graph;

/// The node that computes what a leaf reads; IR_NONE for states, numbers and the like.
static uint32_t node_of(const Graph* g, IrLeaf leaf) {
  if (leaf.kind != IR_LEAF_VAR) return IR_NONE;
  const MergeVar* var = &g->m->vars[leaf.id];
  if (var->implicit) return g->count - 1;
  return var->explicit && leaf.order >= var->order ? leaf.id : IR_NONE;
}

static void find_edges(Graph* g) {
  const IrModel* model = g->m->model;
  for (uint32_t i = 0; i < model->equations.count; i++) {
    const IrEquation* e = &model->equations.data[i];
    uint32_t node = g->count - 1;
    if (merge_is_explicit(g->m, e) && !g->m->vars[e->lhs_var].implicit) node = e->lhs_var;
    for (uint32_t k = 0; k < e->term.leaf_count; k++) {
      uint32_t read = node_of(g, ir_leaf(model, e->term, k));
      if (read == IR_NONE || read == node) continue;
      base_vec_push(g->m->scratch, &g->from, node);
      base_vec_push(g->m->scratch, &g->to, read);
    }
  }
}

/// Lists of edge ends: list[begin[n] .. begin[n + 1]) are the `end` of the edges whose `at` is n.
static void make_lists(Graph* g, const uint32_t* at, const uint32_t* end, uint32_t** begin,
                       uint32_t** list) {
  Arena* arena = g->m->scratch;
  *begin = ARENA_ARRAY(arena, uint32_t, (size_t)g->count + 2);
  *list = ARENA_ARRAY(arena, uint32_t, (size_t)g->from.count + 1);
  uint32_t* next = *begin + 1;
  for (uint32_t i = 0; i < g->from.count; i++) {
    next[at[i] + 1]++;
  }
  for (uint32_t n = 0; n < g->count; n++) {
    next[n + 1] += next[n];
  }
  for (uint32_t i = 0; i < g->from.count; i++) {
    (*list)[next[at[i]]++] = end[i];
  }
}

/// Take away, again and again, nodes that have no `ahead` among those left.
static void peel(const Graph* g, bool* gone, const uint32_t* ahead_begin, const uint32_t* ahead,
                 const uint32_t* behind_begin, const uint32_t* behind) {
  uint32_t* left = ARENA_ARRAY(g->m->scratch, uint32_t, g->count);
  uint32_t* stack = ARENA_ARRAY(g->m->scratch, uint32_t, g->count);
  uint32_t depth = 0;
  for (uint32_t n = 0; n < g->count; n++) {
    for (uint32_t k = ahead_begin[n]; k < ahead_begin[n + 1]; k++) {
      left[n] += !gone[ahead[k]];
    }
    if (!gone[n] && left[n] == 0) stack[depth++] = n;
  }
  while (depth > 0) {
    uint32_t n = stack[--depth];
    gone[n] = true;
    for (uint32_t k = behind_begin[n]; k < behind_begin[n + 1]; k++) {
      if (!gone[behind[k]] && --left[behind[k]] == 0) stack[depth++] = behind[k];
    }
  }
}

static void block_loops(const Graph* g) {
  bool* gone = ARENA_ARRAY(g->m->scratch, bool, g->count);
  peel(g, gone, g->reads_begin, g->reads, g->readers_begin, g->readers);
  peel(g, gone, g->readers_begin, g->readers, g->reads_begin, g->reads);
  for (uint32_t n = 0; n + 1 < g->count; n++) {
    g->m->vars[n].blocked |= !gone[n];
  }
}

static void block_guards(const Graph* g) {
  const IrModel* model = g->m->model;
  bool* seen = ARENA_ARRAY(g->m->scratch, bool, g->count);
  uint32_t* stack = ARENA_ARRAY(g->m->scratch, uint32_t, g->count);
  uint32_t depth = 0;
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    IrTerm guard = model->transitions.data[i].guard;
    for (uint32_t k = 0; k < guard.leaf_count; k++) {
      IrLeaf leaf = ir_leaf(model, guard, k);
      if (leaf.kind != IR_LEAF_ATOM) continue;
      IrTerm term = model->atoms.data[leaf.id].g;
      for (uint32_t j = 0; j < term.leaf_count; j++) {
        uint32_t node = node_of(g, ir_leaf(model, term, j));
        if (node == IR_NONE || seen[node]) continue;
        seen[node] = true;
        stack[depth++] = node;
      }
    }
  }
  while (depth > 0) {
    uint32_t node = stack[--depth];
    if (node + 1 < g->count) g->m->vars[node].blocked = true;
    for (uint32_t k = g->reads_begin[node]; k < g->reads_begin[node + 1]; k++) {
      if (seen[g->reads[k]]) continue;
      seen[g->reads[k]] = true;
      stack[depth++] = g->reads[k];
    }
  }
}

void merge_block_loops_and_guards(Merge* m) {
  Graph g = {.m = m, .count = m->model->vars.count + 1};
  find_edges(&g);
  make_lists(&g, g.from.data, g.to.data, &g.reads_begin, &g.reads);
  make_lists(&g, g.to.data, g.from.data, &g.readers_begin, &g.readers);
  block_loops(&g);
  block_guards(&g);
}

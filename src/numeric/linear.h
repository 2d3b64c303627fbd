// SPDX-License-Identifier: MIT
//
// Shared by linear.c, block.c, border.c and sparse.c only.
#ifndef SALTUS_NUMERIC_LINEAR_H
#define SALTUS_NUMERIC_LINEAR_H

#include "numeric/internal.h"

/// KLU's objects for one pattern, compressed by columns.
typedef struct NumSparse NumSparse;

/// Blocks along a line and their factors (block.c).
typedef struct NumBlocks {
  uint32_t size, count;    // unknowns of a block, blocks
  uint32_t middle;         // elimination meets here: count / 2
  const uint32_t* order;   // size * count; UINT32_MAX before the first and behind the last unknown
  const uint32_t* source;  // 3 size^2 per block, before | own | next, by rows: entry of J
  double *lower, *upper;   // factors, size^2 and 2 size^2 per block
  double* y;               // size * count
} NumBlocks;

#define NUM_BLOCK_MAX 4

/// Factors of c - J, `values` being followed by a 0 that stands for every entry that J has not.
/// False: elimination without exchange of rows would not be accurate.
bool num_blocks_factor(const NumBlocks* f, const double* values, double c);
/// b becomes the solution for the right-hand side b + add; `add` may be NULL.
void num_blocks_solve(const NumBlocks* f, double* b, const double* add);

/// A few unknowns beside a system of simple structure (border.c).
typedef struct NumBorder NumBorder;

#define NUM_BORDER_MAX 8

/// `out` NULL and infinite cost when there is no border.
SltStatus num_border_create(const SltAllocator* a, const NumPattern* p, NumBorder** out,
                            double* cost);
void num_border_free(NumBorder* border);
SltStatus num_border_factor(NumBorder* border, const double* values, double c);
void num_border_solve(NumBorder* border, double* b);

struct NumLinear {
  SltAllocator allocator;
  NumLinearKind kind;
  uint32_t n;             // rows, auxiliary ones included
  uint32_t entry_count;   // of J
  uint32_t below, above;  // band
  size_t store_count;
  NumLinearRows rows;
  const uint32_t* begin;  // pattern, copied
  const uint32_t* columns;
  const uint32_t* place;     // dense, band, sparse: where an entry of J goes in `store`...
  const uint32_t* diagonal;  // ... and the diagonal entry of a state
  const uint32_t* order;     // band, blocks: order[new] = old
  const uint32_t* position;  // blocks: its inverse
  NumBlocks blocks;
  bool pivoted;  // blocks: the factors are those of a band, with rows exchanged
  double* values;
  double*
      store;  // matrix, then its factors (sparse: the matrix alone; blocks: factors of either kind)
  double* lower;     // band: factors below the diagonal
  double* scratch;   // n
  double* extended;  // n, for right-hand sides; NULL without auxiliary unknowns
  uint32_t* pivot;
  NumSparse* sparse;
  NumBorder* border;
  double cost;        // estimate by which the kind was chosen
  size_t block_size;  // bytes behind this struct, itself included
};

/// What elimination would cost, in rough nanoseconds with six solutions; infinite when it cannot be
/// done.
SltStatus num_sparse_create(const NumPattern* pattern, NumSparse** out, double* cost);
void num_sparse_free(NumSparse* sparse);
/// Number of entries, and where those of J and of the diagonal go.
size_t num_sparse_count(const NumSparse* sparse);
void num_sparse_places(const NumSparse* sparse, const NumPattern* pattern, uint32_t* place,
                       uint32_t* diagonal);
SltStatus num_sparse_factor(NumSparse* sparse, double* values);
void num_sparse_solve(NumSparse* sparse, double* b);

#endif

// SPDX-License-Identifier: MIT
//
// Shared by linear.c and sparse.c only.
#ifndef SALTUS_NUMERIC_LINEAR_H
#define SALTUS_NUMERIC_LINEAR_H

#include "numeric/internal.h"

/// KLU's objects for one pattern, compressed by columns.
typedef struct NumSparse NumSparse;

struct NumLinear {
  SltAllocator allocator;
  NumLinearKind kind;
  uint32_t n;             // rows
  uint32_t entry_count;   // of J
  uint32_t below, above;  // band
  size_t store_count;
  NumLinearRows rows;
  const uint32_t* begin;  // pattern, copied
  const uint32_t* columns;
  const size_t* place;     // per entry of J: where it goes in `store`
  const size_t* diagonal;  // per state: where its diagonal entry is
  const uint32_t* order;   // band: order[new] = old
  double* values;
  double* store;    // matrix, then its factors (sparse: the matrix alone)
  double* lower;    // band: factors below the diagonal
  double* scratch;  // n
  uint32_t* pivot;
  NumSparse* sparse;
  double cost;        // estimate by which the kind was chosen
  size_t block_size;  // bytes behind this struct, itself included
};

/// What elimination would cost, in rough nanoseconds with six solutions; infinite when it cannot be
/// done.
SltStatus num_sparse_create(const NumPattern* pattern, NumSparse** out, double* cost);
void num_sparse_free(NumSparse* sparse);
/// Number of entries, and where those of J and of the diagonal go.
size_t num_sparse_count(const NumSparse* sparse);
void num_sparse_places(const NumSparse* sparse, const NumPattern* pattern, size_t* place,
                       size_t* diagonal);
SltStatus num_sparse_factor(NumSparse* sparse, double* values);
void num_sparse_solve(NumSparse* sparse, double* b);

#endif

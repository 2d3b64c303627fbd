// SPDX-License-Identifier: MIT
//
// The part of KLU's interface that the library calls, for FMUs with sources: they have to build
// where there is a C compiler and nothing else. Factors are found column by column with row
// pivoting; there is no ordering against fill-in beyond the number of entries of each column.
#ifndef SALTUS_PORTABLE_KLU_H
#define SALTUS_PORTABLE_KLU_H

#define KLU_OK            0
#define KLU_SINGULAR      1
#define KLU_OUT_OF_MEMORY (-2)

typedef struct klu_common {
  double tol;  // the diagonal is taken where it is as large as this share of the largest entry
  int scale;   // rows are divided by their largest entries unless this is 0
  int status, singular_col;
  double rgrowth, flops;
} klu_common;

typedef struct klu_symbolic {
  int n;
  int* Q;                      // order of columns
  double lnz, unz, est_flops;  // estimates, as if nothing were filled in
} klu_symbolic;

/// A factor by columns: those of column k from begin[k] on. Rows of L are those of the matrix, rows
/// of U are numbers of pivots.
typedef struct klu_factors {
  int* begin;
  int* rows;
  double* values;
  int room;
} klu_factors;

typedef struct klu_numeric {
  int n, lnz, unz;
  klu_factors l, u;
  int* pivot;     // row of each pivot
  double* Udiag;  // the pivots
  double* scale;  // of the rows
  double* work;   // by row; 0 between calls
  int* number;    // of the pivot of each row; -1: none yet
  double flops;
} klu_numeric;

int klu_defaults(klu_common* common);
klu_symbolic* klu_analyze(int n, int* begin, int* rows, klu_common* common);
klu_numeric* klu_factor(int* begin, int* rows, double* values, klu_symbolic* symbolic,
                        klu_common* common);
/// With the pivots of before.
int klu_refactor(int* begin, int* rows, double* values, klu_symbolic* symbolic,
                 klu_numeric* numeric, klu_common* common);
int klu_solve(klu_symbolic* symbolic, klu_numeric* numeric, int stride, int count, double* b,
              klu_common* common);
int klu_rgrowth(int* begin, int* rows, double* values, klu_symbolic* symbolic, klu_numeric* numeric,
                klu_common* common);
int klu_flops(klu_symbolic* symbolic, klu_numeric* numeric, klu_common* common);
int klu_free_symbolic(klu_symbolic** symbolic, klu_common* common);
int klu_free_numeric(klu_numeric** numeric, klu_common* common);

#endif

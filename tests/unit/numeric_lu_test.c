// SPDX-License-Identifier: MIT
#include "numeric/numeric.h"
#include "test.h"

#define N_MAX 30

typedef struct System {
  double a[N_MAX * N_MAX], lu[N_MAX * N_MAX];
  double x[N_MAX], b[N_MAX], scale[N_MAX], scratch[N_MAX];
  uint32_t pivot[N_MAX];
} System;

TEST(known_factors) {
  // rows need exchange: the first pivot is 0
  double a[9] = {0, 1, 2, 3, 4, 5, 6, 7, 9};
  double b[3] = {5, 26, 47};  // solution 1, 2, 3/2 checked below by substitution
  double scale[3];
  double scratch[3];
  uint32_t pivot[3];
  CHECK(num_lu_factor(3, a, 1e-14, scale, pivot, NULL) == SLT_OK, "factor");
  num_lu_solve(3, a, pivot, scratch, b);
  CHECK_NEAR(b[1] + 2 * b[2], 5, 1e-13, 0);
  CHECK_NEAR(3 * b[0] + 4 * b[1] + 5 * b[2], 26, 1e-13, 0);
  CHECK_NEAR(6 * b[0] + 7 * b[1] + 9 * b[2], 47, 1e-13, 0);
}

TEST(random_systems) {
  static System s;
  uint64_t seed = 1;
  for (uint32_t n = 1; n <= N_MAX; n++) {
    for (int k = 0; k < 20; k++) {
      for (uint32_t i = 0; i < n; i++) {
        double row_scale = pow(10.0, test_uniform(&seed, -8.0, 8.0));  // badly scaled rows
        for (uint32_t j = 0; j < n; j++) {
          s.a[i * n + j] = row_scale * (test_uniform(&seed, -1.0, 1.0) + (i == j ? 3.0 : 0.0));
        }
        s.x[i] = test_uniform(&seed, -1.0, 1.0);
      }
      memcpy(s.lu, s.a, sizeof s.a);
      CHECK(num_lu_factor(n, s.lu, 1e-12, s.scale, s.pivot, NULL) == SLT_OK, "factor");
      for (uint32_t i = 0; i < n; i++) {
        s.b[i] = 0.0;
        for (uint32_t j = 0; j < n; j++) {
          s.b[i] += s.a[i * n + j] * s.x[j];
        }
      }
      num_lu_solve(n, s.lu, s.pivot, s.scratch, s.b);
      for (uint32_t i = 0; i < n; i++) {
        CHECK_NEAR(s.b[i], s.x[i], 1e-11, 0);
      }

      // A^T y = A^T x, each row of A by its own unit
      for (uint32_t j = 0; j < n; j++) {
        s.b[j] = 0.0;
        for (uint32_t i = 0; i < n; i++) {
          s.b[j] += s.a[i * n + j] * s.x[i];
        }
      }
      num_lu_solve_transposed(n, s.lu, s.pivot, s.scratch, s.b);
      for (uint32_t j = 0; j < n; j++) {
        double back = 0.0;
        double want = 0.0;
        double size = 0.0;
        for (uint32_t i = 0; i < n; i++) {
          back += s.a[i * n + j] * s.b[i];
          want += s.a[i * n + j] * s.x[i];
          size += fabs(s.a[i * n + j] * s.x[i]);
        }
        CHECK_NEAR(back, want, 1e-11 * size, 0);
      }
    }
  }
}

TEST(hilbert) {
  double a[16];
  double b[4];
  double scale[4];
  double scratch[4];
  uint32_t pivot[4];
  for (int i = 0; i < 4; i++) {
    b[i] = 0.0;
    for (int j = 0; j < 4; j++) {
      a[4 * i + j] = 1.0 / (1 + i + j);
      b[i] += a[4 * i + j];
    }
  }
  CHECK(num_lu_factor(4, a, 1e-14, scale, pivot, NULL) == SLT_OK, "factor");
  num_lu_solve(4, a, pivot, scratch, b);
  for (int i = 0; i < 4; i++) {
    CHECK_NEAR(b[i], 1.0, 1e-11, 0);
  }
}

TEST(singular_matrices_name_the_column) {
  double scale[3];
  uint32_t pivot[3];
  uint32_t bad = 99;
  double dependent[9] = {1, 2, 3, 2, 4, 6, 1, 0, 1};
  CHECK(num_lu_factor(3, dependent, 1e-12, scale, pivot, &bad) == SLT_ERR_STRUCTURE, "rows");
  CHECK(bad == 2, "last column");
  double empty[9] = {1, 0, 2, 3, 0, 4, 5, 0, 6};
  CHECK(num_lu_factor(3, empty, 1e-12, scale, pivot, &bad) == SLT_ERR_STRUCTURE, "column");
  CHECK(bad == 1, "empty column");
  double row[9] = {1, 2, 3, 0, 0, 0, 4, 5, 6};
  CHECK(num_lu_factor(3, row, 0.0, scale, pivot, &bad) == SLT_ERR_STRUCTURE, "row of zeros");
  double nan[4] = {1, 2, (double)NAN, 4};
  CHECK(num_lu_factor(2, nan, 1e-12, scale, pivot, NULL) == SLT_ERR_NOT_FINITE, "nan");
  double infinite[4] = {1, 2, 3, HUGE_VAL};
  CHECK(num_lu_factor(2, infinite, 1e-12, scale, pivot, NULL) == SLT_ERR_NOT_FINITE, "infinity");

  // scale does not matter: a tiny row is not a singular one
  double tiny[4] = {1e-300, 2e-300, 3, 4};
  CHECK(num_lu_factor(2, tiny, 1e-12, scale, pivot, NULL) == SLT_OK, "tiny row");
  CHECK(num_lu_factor(0, NULL, 1e-12, scale, pivot, NULL) == SLT_OK, "empty");
}

TEST(multilinear_systems_are_enclosed) {
  double alpha[3] = {0.25, 0.5, 0.75};
  double total = 0.0;
  for (uint32_t p = 0; p < 8; p++) {
    total += num_multilinear_weight(p, 7, alpha);
  }
  CHECK(fabs(total - 1.0) < 1e-15, "weights sum to 1");
  CHECK(num_multilinear_weight(1, 3, alpha) == 0.25 * 0.5, "a pattern of two");

  // two equations, each with its own coefficient: 1 - 4 a = 0, 1 - 2 b = 0
  for (double width = 0.0; width < 2.0; width += 0.1) {
    NumInterval values[2][NUM_PATTERNS];
    for (uint32_t p = 0; p < 4; p++) {
      double first = p & 1u ? -3.0 : 1.0;
      double second = p & 2u ? -1.0 : 1.0;
      values[0][p] = (NumInterval){first - width, first + width};
      values[1][p] = (NumInterval){second - width, second + width};
    }
    bool inside = num_multilinear_inside(values, 2, alpha);
    CHECK(width > 0.05 || inside, "numbers");
    CHECK(width < 0.95 || !inside, "a rate that may vanish leaves the box");
  }
  NumInterval same[2][NUM_PATTERNS] = {{{1, 1}, {-1, -1}, {1, 1}, {-1, -1}},
                                       {{1, 1}, {-1, -1}, {1, 1}, {-1, -1}}};
  CHECK(!num_multilinear_inside(same, 2, alpha), "singular");
}

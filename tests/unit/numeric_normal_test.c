// SPDX-License-Identifier: MIT
//
// Sparse normal equations against dense elimination; square sparse systems.
#include "numeric/numeric.h"
#include "test.h"

enum { ROWS = 30, COLUMNS = 50, ENTRIES_MAX = ROWS * COLUMNS };

static uint32_t random_pattern(uint64_t* seed, uint32_t columns, NumEntry* entries,
                               double* values) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < ROWS; i++) {
    for (uint32_t j = 0; j < columns; j++) {
      if (j != i && test_random(seed) % 12 != 0) continue;
      entries[count] = (NumEntry){i, j};
      values[count++] = test_uniform(seed, -1.0, 1.0) + (j == i ? 3.0 : 0.0);
    }
  }
  return count;
}

TEST(normal_equations_of_random_matrices) {
  uint64_t seed = 3;
  static NumEntry entries[ENTRIES_MAX];
  static double values[ENTRIES_MAX];
  static double g[ROWS][COLUMNS];
  SltAllocator allocator = base_allocator(NULL);
  for (int round = 0; round < 50; round++) {
    uint32_t count = random_pattern(&seed, COLUMNS, entries, values);
    NumNormal* normal = NULL;
    CHECK(num_normal_create(&allocator, entries, count, ROWS, COLUMNS, &normal) == SLT_OK, "made");
    for (int again = 0; again < 2; again++) {
      double b[ROWS];
      double x[ROWS];
      memset(g, 0, sizeof g);
      for (uint32_t k = 0; k < count; k++) {
        values[k] *= 1.0 + 0.1 * again;
        g[entries[k].row][entries[k].column] = values[k];
      }
      for (uint32_t i = 0; i < ROWS; i++) {
        x[i] = b[i] = test_uniform(&seed, -1.0, 1.0);
      }
      CHECK(num_normal_factor(normal, values, 0.0, 1e-12) == SLT_OK, "regular");
      num_normal_solve(normal, x);
      for (uint32_t i = 0; i < ROWS; i++) {
        double sum = 0.0;
        for (uint32_t k = 0; k < ROWS; k++) {
          for (uint32_t j = 0; j < COLUMNS; j++) {
            sum += g[i][j] * g[k][j] * x[k];
          }
        }
        CHECK_NEAR(sum, b[i], 1e-10, 1e-10);
      }
    }
    num_normal_free(normal);
  }
}

TEST(rows_that_depend_on_each_other_are_found) {
  static const NumEntry entries[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 2}};
  static const double values[] = {1.0, 2.0, 2.0, 4.0, 1.0};
  SltAllocator allocator = base_allocator(NULL);
  NumNormal* normal = NULL;
  CHECK(num_normal_create(&allocator, entries, 5, 3, 3, &normal) == SLT_OK, "made");
  CHECK(num_normal_factor(normal, values, 0.0, 1e-12) == SLT_ERR_STRUCTURE, "dependent");
  // with something on the diagonal: the smallest solution, nearly
  double b[3] = {1.0, 2.0, 3.0};
  CHECK(num_normal_factor(normal, values, 1e-13, 0.0) == SLT_OK, "regularised");
  num_normal_solve(normal, b);
  CHECK_NEAR((b[0] + 2.0 * b[1]) * 5.0, 1.0, 1e-4, 1e-4);
  CHECK_NEAR(b[2], 3.0, 1e-9, 1e-9);
  num_normal_free(normal);
  static const NumEntry twice[] = {{0, 0}, {0, 0}};
  CHECK(num_normal_create(&allocator, twice, 2, 1, 1, &normal) == SLT_ERR_ARGUMENT, "twice");
  num_normal_free(NULL);
}

TEST(square_systems) {
  uint64_t seed = 8;
  static NumEntry entries[ENTRIES_MAX];
  static double values[ENTRIES_MAX];
  for (int round = 0; round < 20; round++) {
    uint32_t count = random_pattern(&seed, ROWS, entries, values);
    // rows upside down: pivots are not on the diagonal
    for (uint32_t k = 0; k < count; k++) {
      entries[k].row = ROWS - 1 - entries[k].row;
    }
    // a value in two parts
    entries[count] = entries[0];
    values[count++] = 0.25;
    NumSquare* square = NULL;
    CHECK(num_square_create(entries, values, count, ROWS, 1e-13, NULL, &square) == SLT_OK, "made");
    double b[ROWS];
    double x[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
      x[i] = b[i] = test_uniform(&seed, -1.0, 1.0);
    }
    num_square_solve(square, x);
    for (uint32_t k = 0; k < count; k++) {
      b[entries[k].row] -= values[k] * x[entries[k].column];
    }
    for (uint32_t i = 0; i < ROWS; i++) {
      CHECK_NEAR(b[i], 0.0, 1e-11, 1e-11);
    }
    num_square_free(square);
  }
  static const NumEntry singular[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  static const double same[] = {1.0, 1.0, 3.0, 3.0};
  NumSquare* square = NULL;
  uint32_t bad = 9;
  CHECK(num_square_create(singular, same, 4, 2, 1e-13, &bad, &square) == SLT_ERR_STRUCTURE, "rank");
  CHECK(bad < 2 && square == NULL, "named");
}

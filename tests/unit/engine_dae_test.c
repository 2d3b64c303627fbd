// SPDX-License-Identifier: MIT
//
// Scales of quantities and of rows, from inside.
#include "engine/dae/parts.h"
#include "test.h"

#include <math.h>

/// Two rows over three quantities: a x + b y = r0, c y + d z = r1.
static void complete(const double* slopes, const double* residuals, double* scale) {
  static const ModelEntry entries[] = {{0, 0, 2}, {0, 1, 3}, {1, 1, 4}, {1, 2, 5}};
  DaeRows rows = {.entries = entries, .entry_count = 4, .row_count = 2, .column_count = 3};
  double out[6] = {residuals[0], residuals[1], slopes[0], slopes[1], slopes[2], slopes[3]};
  double row[2];
  double found[3];
  dae_complete_scales(&rows, out, row, found, scale);
}

TEST(unknown_scales_follow_from_the_rows) {
  const double slopes[] = {2.0, 4.0, 8.0, 0.5};
  const double none[] = {0.0, 0.0};
  double scale[] = {6.0, 0.0, 0.0};
  complete(slopes, none, scale);
  CHECK(scale[0] == 6.0 && scale[1] == 3.0 && scale[2] == 48.0, "from row to row");
  const double off[] = {0.0, 10.0};
  double zero[] = {0.0, 0.0, 0.0};
  complete(slopes, off, zero);
  CHECK(zero[2] == 20.0 && zero[1] == 1.25 && zero[0] == 2.5, "from what a row is off by");
  double nothing[] = {0.0, 0.0, 0.0};
  complete(slopes, none, nothing);
  CHECK(nothing[0] == 1.0 && nothing[1] == 1.0, "nothing tells");
}

TEST(scales_change_with_the_units) {
  const double slopes[] = {2.0, 4.0, 8.0, 0.5};
  const double off[] = {0.0, 10.0};
  for (int k = -40; k <= 40; k += 20) {
    double unit = ldexp(1.0, k);  // of the second quantity
    const double moved[] = {2.0, 4.0 / unit, 8.0 / unit, 0.5};
    double scale[] = {0.0, 0.0, 0.0};
    double wanted[] = {0.0, 0.0, 0.0};
    complete(slopes, off, wanted);
    complete(moved, off, scale);
    CHECK(scale[0] == wanted[0] && scale[1] == wanted[1] * unit && scale[2] == wanted[2], "bits");
  }
}

TEST(distances_are_relative) {
  CHECK(dae_row_distance(0.0, 0.0) == 0.0, "an empty row that holds");
  CHECK(dae_row_distance(1e-300, 0.0) == 1.0, "one that cannot");
  CHECK(dae_row_distance(-3e-12, 6e-12) == 0.5, "any units");
}

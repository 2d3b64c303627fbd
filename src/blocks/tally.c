// SPDX-License-Identifier: MIT
//
// Statistics of observations and of levels over time. Successive values of a queue are correlated,
// so the confidence interval comes from the means of long batches, which nearly are not (Law,
// Simulation Modeling and Analysis, 9.5.3). The number of batches is bounded: when all are full,
// neighbours are joined and batches are twice as long from then on.
#include "blocks/blocks.h"

#include <math.h>

#define BATCHES_MIN 8  // fewer finished batches say nothing about an error

void slt_tally_add(SltTally* tally, double value) {
  tally->count++;
  if (tally->count == 1) {
    tally->least = value;
    tally->greatest = value;
  } else if (value < tally->least) {
    tally->least = value;
  } else if (value > tally->greatest) {
    tally->greatest = value;
  }
  // Welford
  double delta = value - tally->mean;
  tally->mean += delta / (double)tally->count;
  tally->m2 += delta * (value - tally->mean);

  if (tally->batch_size == 0) tally->batch_size = 1;
  tally->batch_sum[tally->batch_count] += value;
  if (++tally->batch_fill < tally->batch_size) return;
  tally->batch_fill = 0;
  if (++tally->batch_count < SLT_BATCHES) return;
  for (size_t i = 0; i < SLT_BATCHES / 2; i++) {
    tally->batch_sum[i] = tally->batch_sum[2 * i] + tally->batch_sum[2 * i + 1];
  }
  for (uint32_t i = SLT_BATCHES / 2; i < SLT_BATCHES; i++) {
    tally->batch_sum[i] = 0.0;
  }
  tally->batch_count = SLT_BATCHES / 2;
  tally->batch_size *= 2;
}

/// Add `area` over the time from level->t to `t` to the batches; the value is constant.
static void spread(SltLevel* level, double t) {
  double from = level->t;
  while (from < t) {
    double end = level->t_begin + (double)(level->batch_count + 1) * level->batch_length;
    double to = t < end ? t : end;
    level->batch_area[level->batch_count] += level->value * (to - from);
    from = to;
    if (to < end) return;
    if (++level->batch_count < SLT_BATCHES) continue;
    for (size_t i = 0; i < SLT_BATCHES / 2; i++) {
      level->batch_area[i] = level->batch_area[2 * i] + level->batch_area[2 * i + 1];
    }
    for (uint32_t i = SLT_BATCHES / 2; i < SLT_BATCHES; i++) {
      level->batch_area[i] = 0.0;
    }
    level->batch_count = SLT_BATCHES / 2;
    level->batch_length *= 2.0;
  }
}

void slt_level_set(SltLevel* level, double t, double value) {
  if (!level->begun) {
    *level = (SltLevel){
        .begun = true, .t_begin = t, .t = t, .value = value, .least = value, .greatest = value};
    return;
  }
  if (t > level->t) {
    level->area += level->value * (t - level->t);
    // the first change of time fixes the first length of a batch
    if (level->batch_length == 0.0) level->batch_length = t - level->t_begin;
    // a pause much longer than all batches: lengthen them at once instead of in many rounds
    while (t - level->t_begin > 1e6 * level->batch_length && level->batch_count == 0) {
      level->batch_length *= 2.0;
    }
    spread(level, t);
    level->t = t;
  }
  level->value = value;
  if (value < level->least) level->least = value;
  if (value > level->greatest) level->greatest = value;
}

/// Half width of the confidence interval from batch means.
static double half_width(const double* sums, uint32_t count, double size, double confidence) {
  if (count < BATCHES_MIN || !(confidence > 0.0) || !(confidence < 1.0)) return (double)NAN;
  double mean = 0.0;
  for (uint32_t i = 0; i < count; i++) {
    mean += sums[i] / size;
  }
  mean /= (double)count;
  double squares = 0.0;
  for (uint32_t i = 0; i < count; i++) {
    double d = sums[i] / size - mean;
    squares += d * d;
  }
  double degrees = (double)count - 1.0;
  double t = slt_student_quantile(0.5 + 0.5 * confidence, degrees);
  return t * sqrt(squares / degrees / (double)count);
}

SltSummary slt_tally_summary(const SltTally* tally, double confidence) {
  if (!tally || tally->count == 0) {
    double nan = (double)NAN;
    return (SltSummary){0.0, nan, nan, nan, nan, nan};
  }
  double n = (double)tally->count;
  return (SltSummary){.count = n,
                      .mean = tally->mean,
                      .deviation = n > 1.0 ? sqrt(tally->m2 / (n - 1.0)) : (double)NAN,
                      .least = tally->least,
                      .greatest = tally->greatest,
                      .half_width = half_width(tally->batch_sum, tally->batch_count,
                                               (double)tally->batch_size, confidence)};
}

SltSummary slt_level_summary(const SltLevel* level, double t, double confidence) {
  if (!level || !level->begun) {
    double nan = (double)NAN;
    return (SltSummary){0.0, nan, nan, nan, nan, nan};
  }
  SltLevel now = *level;
  slt_level_set(&now, t, now.value);
  double length = now.t - now.t_begin;
  return (SltSummary){
      .count = length,
      .mean = length > 0.0 ? now.area / length : now.value,
      .deviation = (double)NAN,
      .least = now.least,
      .greatest = now.greatest,
      .half_width = half_width(now.batch_area, now.batch_count, now.batch_length, confidence)};
}

/// P(|T| <= t) for Student's distribution with n degrees.
static double student_two_sided(double t, double n) {
  return 1.0 - blk_beta_share(0.5 * n, 0.5, n / (n + t * t));
}

double slt_student_quantile(double p, double degrees) {
  if (!(p > 0.0) || !(p < 1.0) || !(degrees > 0.0)) return (double)NAN;
  if (p == 0.5) return 0.0;
  double wanted = fabs(2.0 * p - 1.0);
  double lo = 0.0;
  double hi = 1.0;
  while (student_two_sided(hi, degrees) < wanted && hi < 1e12) {
    hi *= 2.0;
  }
  for (int i = 0; i < 200 && hi - lo > 1e-13 * hi; i++) {
    double middle = 0.5 * (lo + hi);
    if (student_two_sided(middle, degrees) < wanted) {
      lo = middle;
    } else {
      hi = middle;
    }
  }
  double t = 0.5 * (lo + hi);
  return p < 0.5 ? -t : t;
}

// SPDX-License-Identifier: MIT
//
// Histograms, quantiles, replications and the end of the warm-up.
#include "blocks/blocks.h"

#include <math.h>
#include <stdlib.h>

#define MSER_BATCH 5

SltStatus slt_histogram_init(SltHistogram* histogram, double lo, double hi, double* bins,
                             uint32_t count) {
  if (!histogram || !bins || count == 0 || !(lo < hi) || !isfinite(hi - lo)) {
    return SLT_ERR_ARGUMENT;
  }
  *histogram = (SltHistogram){.lo = lo, .hi = hi, .bins = bins, .bin_count = count};
  for (uint32_t i = 0; i < count; i++) {
    bins[i] = 0.0;
  }
  return SLT_OK;
}

void slt_histogram_add(SltHistogram* histogram, double value, double weight) {
  if (!histogram || !(weight > 0.0) || isnan(value)) return;
  histogram->total += weight;
  if (value < histogram->lo) {
    histogram->below += weight;
  } else if (value >= histogram->hi) {
    histogram->above += weight;
  } else {
    double at = (value - histogram->lo) / (histogram->hi - histogram->lo);
    uint32_t bin = (uint32_t)(at * histogram->bin_count);
    histogram->bins[bin < histogram->bin_count ? bin : histogram->bin_count - 1] += weight;
  }
}

double slt_histogram_quantile(const SltHistogram* histogram, double p) {
  if (!histogram || !(histogram->total > 0.0) || !(p >= 0.0) || !(p <= 1.0)) return (double)NAN;
  double rest = p * histogram->total - histogram->below;
  if (rest < 0.0) return -HUGE_VAL;  // below the bins: all that is known
  double width = (histogram->hi - histogram->lo) / histogram->bin_count;
  for (uint32_t i = 0; i < histogram->bin_count; i++) {
    double weight = histogram->bins[i];
    if (rest <= weight && weight > 0.0) return histogram->lo + width * (i + rest / weight);
    rest -= weight;
  }
  return histogram->above > 0.0 ? HUGE_VAL : histogram->hi;
}

static int compare_numbers(const void* a, const void* b) {
  double x = *(const double*)a;
  double y = *(const double*)b;
  return (x > y) - (x < y);
}

double slt_quantile(double* values, size_t count, double p) {
  if (!values || count == 0 || !(p >= 0.0) || !(p <= 1.0)) return (double)NAN;
  qsort(values, count, sizeof *values, compare_numbers);
  double at = p * (double)(count - 1);
  size_t below = (size_t)at;
  if (below + 1 >= count) return values[count - 1];
  return values[below] + (at - (double)below) * (values[below + 1] - values[below]);
}

void slt_level_restart(SltLevel* level, double t) {
  if (!level || !level->begun) return;
  double value = level->value;
  *level = (SltLevel){0};
  slt_level_set(level, t, value);
}

size_t slt_warmup_end(const double* values, size_t count) {
  size_t batches = values ? count / MSER_BATCH : 0;
  double sum = 0.0;
  double squares = 0.0;
  double best = HUGE_VAL;
  size_t cut = 0;
  // from the end, so that each batch joins those behind it; at most half is left out
  for (size_t i = batches; i-- > 0;) {
    double mean = 0.0;
    for (size_t k = 0; k < MSER_BATCH; k++) {
      mean += values[i * MSER_BATCH + k] / MSER_BATCH;
    }
    sum += mean;
    squares += mean * mean;
    double n = (double)(batches - i);
    double error = (squares - sum * sum / n) / (n * n);
    if (i <= batches / 2 && error <= best) {
      best = error;
      cut = i;
    }
  }
  return cut * MSER_BATCH;
}

SltSummary slt_replications_summary(const double* results, size_t count, double confidence) {
  SltTally tally = {0};
  for (size_t i = 0; results && i < count; i++) {
    slt_tally_add(&tally, results[i]);
  }
  SltSummary summary = slt_tally_summary(&tally, confidence);
  summary.half_width = (double)NAN;
  if (count > 1 && confidence > 0.0 && confidence < 1.0) {  // replications are independent
    double t = slt_student_quantile(0.5 + 0.5 * confidence, (double)count - 1.0);
    summary.half_width = t * summary.deviation / sqrt((double)count);
  }
  return summary;
}

SltStatus slt_world_replicate(const SltWorldOptions* options, uint32_t count, SltReplicationFn* fn,
                              void* user, uint32_t measures, double* results) {
  if (!fn || !results || measures == 0 || count == 0) return SLT_ERR_ARGUMENT;
  SltWorldOptions own = options ? *options : slt_world_options();
  uint64_t seed = own.seed;
  for (uint32_t i = 0; i < count; i++) {
    SltWorld* world = NULL;
    own.seed = seed + i;
    SLT_TRY(slt_world_create(&own, &world));
    double row[64] = {0};
    SltStatus status = measures <= 64 ? fn(world, user, row) : SLT_ERR_ARGUMENT;
    slt_world_free(world);
    if (status < 0) return status;
    for (uint32_t k = 0; k < measures; k++) {
      results[(size_t)k * count + i] = row[k];
    }
  }
  return SLT_OK;
}

// SPDX-License-Identifier: MIT
//
// Tables of points: linear, or cubic Hermite with slopes that keep monotone data monotone.
#include "model/model.h"

#include <math.h>

/// Segment i (between points i and i+1) that x lies in; the end segments go on. NaN gives 0.
static uint32_t find_segment(const ModelTable* table, double x) {
  uint32_t low = 0;
  uint32_t high = table->count - 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (x >= table->x[middle]) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

static double linear_value(const ModelTable* table, uint32_t i, double x, int order) {
  double slope = (table->y[i + 1] - table->y[i]) / (table->x[i + 1] - table->x[i]);
  if (order == 0) return table->y[i] + slope * (x - table->x[i]);
  return order == 1 ? slope : 0.0;
}

/// y0 + s (d0 + s (c + s b)) with s the distance from the left point.
static double cubic_value(const ModelTable* table, uint32_t i, double x, int order) {
  double h = table->x[i + 1] - table->x[i];
  double s = x - table->x[i];
  double mean = (table->y[i + 1] - table->y[i]) / h;
  double left = table->slope[i];
  double right = table->slope[i + 1];
  double c = (3.0 * mean - 2.0 * left - right) / h;
  double b = (left + right - 2.0 * mean) / (h * h);
  if (order == 0) return table->y[i] + s * (left + s * (c + s * b));
  if (order == 1) return left + s * (2.0 * c + s * (3.0 * b));
  return 2.0 * c + 6.0 * b * s;
}

double model_pack(ModelPacks* packs, double before, double value) {
  if (!packs || !(before >= 0.0)) return (double)NAN;
  uint64_t number = ++packs->count;
  uint64_t at = number % MODEL_PACKS;
  packs->value[at] = value;
  packs->before[at] = (uint64_t)before;
  packs->number[at] = number;
  return (double)number;
}

/// The arguments that end with a record, in their order.
static double foreign_value(const ModelForeign* foreign, double last, int order) {
  ModelPacks* packs = foreign->packs;
  uint32_t begin = MODEL_PACK_ARGS_MAX;
  if (!(last >= 1.0)) return (double)NAN;
  for (uint64_t number = (uint64_t)last; number;) {
    uint64_t at = number % MODEL_PACKS;
    if (packs->number[at] != number || begin == 0) return (double)NAN;
    packs->args[--begin] = packs->value[at];
    number = packs->before[at];
  }
  return foreign->value(foreign->user, packs->args + begin, MODEL_PACK_ARGS_MAX - begin, order);
}

double model_table_value(const ModelTable* table, double x, int order) {
  if (table->foreign) return foreign_value(table->foreign, x, order);
  if (table->history) return model_history_value(table->history, x, order);
  if (table->count == 0) return 0.0 * x;
  if (table->count == 1) return order == 0 ? table->y[0] + 0.0 * x : 0.0;
  uint32_t i = find_segment(table, x);
  return table->slope ? cubic_value(table, i, x, order) : linear_value(table, i, x, order);
}

// ---- enclosures ---------------------------------------------------------------------------------

static ModelInterval exact(double value) {
  return (ModelInterval){value, value};
}

static ModelInterval difference(double a, double b) {
  return model_interval_sub(exact(a), exact(b));
}

static ModelInterval scaled(double factor, ModelInterval a) {
  return model_interval_mul(exact(factor), a);
}

/// base + s*rest: one level of Horner's scheme.
static ModelInterval level(ModelInterval base, ModelInterval s, ModelInterval rest) {
  return model_interval_add(base, model_interval_mul(s, rest));
}

/// linear_value and cubic_value over the part of segment i that x lies in.
static ModelInterval segment_enclose(const ModelTable* table, uint32_t i, ModelInterval x,
                                     int order) {
  ModelInterval h = difference(table->x[i + 1], table->x[i]);
  ModelInterval mean = model_interval_div(difference(table->y[i + 1], table->y[i]), h);
  if (i > 0 && x.lo < table->x[i]) x.lo = table->x[i];
  if (i + 2 < table->count && x.hi > table->x[i + 1]) x.hi = table->x[i + 1];
  ModelInterval s = model_interval_sub(x, exact(table->x[i]));
  ModelInterval y = exact(table->y[i]);
  if (!table->slope) {
    if (order == 0) return level(y, s, mean);
    return order == 1 ? mean : exact(0.0);
  }
  ModelInterval left = exact(table->slope[i]);
  ModelInterval right = exact(table->slope[i + 1]);
  ModelInterval sum = model_interval_add(left, right);
  ModelInterval bend =
      model_interval_sub(model_interval_sub(scaled(3.0, mean), scaled(2.0, left)), right);
  ModelInterval c = model_interval_div(bend, h);
  ModelInterval twist = model_interval_sub(sum, scaled(2.0, mean));
  ModelInterval b = model_interval_div(twist, model_interval_mul(h, h));
  if (order == 0) return level(y, s, level(left, s, level(c, s, b)));
  if (order == 1) return level(left, s, level(scaled(2.0, c), s, scaled(3.0, b)));
  return order == 2 ? level(scaled(2.0, c), s, scaled(6.0, b)) : scaled(6.0, b);
}

ModelInterval model_table_enclose(const ModelTable* table, ModelInterval x, int order) {
  // nothing is known about it but values
  if (table->foreign) return (ModelInterval){-(double)INFINITY, (double)INFINITY};
  if (table->history) return model_history_enclose(table->history, x, order);
  if (table->count == 0) return exact(0.0);
  if (table->count == 1) return exact(order == 0 ? table->y[0] : 0.0);
  uint32_t first = find_segment(table, x.lo);
  uint32_t last = find_segment(table, x.hi);
  ModelInterval all = segment_enclose(table, first, x, order);
  for (uint32_t i = first + 1; i <= last; i++) {
    all = model_interval_hull(all, segment_enclose(table, i, x, order));
  }
  return all;
}

bool model_table_one_segment(const ModelTable* table, ModelInterval x) {
  if (table->foreign) return false;
  if (table->history) return model_history_one_piece(table->history, x);
  return table->count < 2 || find_segment(table, x.lo) == find_segment(table, x.hi);
}

// ---- slopes of cubic tables ---------------------------------------------------------------------

/// Slope at an end from the two segments next to it, limited so that it does not overshoot.
static double end_slope(double h0, double h1, double mean0, double mean1) {
  double slope = ((2.0 * h0 + h1) * mean0 - h0 * mean1) / (h0 + h1);
  if (slope * mean0 <= 0.0) return 0.0;
  double size = slope < 0.0 ? -slope : slope;
  double limit = mean0 < 0.0 ? -3.0 * mean0 : 3.0 * mean0;
  return mean0 * mean1 <= 0.0 && size > limit ? 3.0 * mean0 : slope;
}

void model_table_slopes(const double* x, const double* y, uint32_t count, double* slope) {
  // weighted harmonic means of the neighbouring segments (Fritsch and Butland, SIAM J. Sci. Stat.
  // Comput. 5, 1984), 0 at extrema
  if (count == 0) return;
  slope[0] = 0.0;
  if (count == 1) return;
  double h0 = x[1] - x[0];
  double mean0 = (y[1] - y[0]) / h0;
  if (count == 2) {
    slope[0] = slope[1] = mean0;
    return;
  }
  for (uint32_t i = 1; i + 1 < count; i++) {
    double h1 = x[i + 1] - x[i];
    double mean1 = (y[i + 1] - y[i]) / h1;
    if (i == 1) slope[0] = end_slope(h0, h1, mean0, mean1);
    if (i + 2 == count) slope[i + 1] = end_slope(h1, h0, mean1, mean0);
    double w0 = 2.0 * h1 + h0;
    double w1 = h1 + 2.0 * h0;
    slope[i] = mean0 * mean1 > 0.0 ? (w0 + w1) / (w0 / mean0 + w1 / mean1) : 0.0;
    h0 = h1;
    mean0 = mean1;
  }
}

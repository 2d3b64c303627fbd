// SPDX-License-Identifier: MIT
//
// Where values stand on an axis, and its marks.
#include "record/figure.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

double range_half(PlotRange r) {
  // the halves keep a range over all doubles finite
  return 0.5 * r.hi - 0.5 * r.lo;
}

double plot_position(PlotRange range, double value) {
  double span = range_half(range);
  return span > 0.0 ? (0.5 * value - 0.5 * range.lo) / span : 0.5;
}

double axis_position(const Axis* axis, double value) {
  if (axis->log) value = value > 0.0 ? log10(value) : (double)NAN;
  return isfinite(value) ? plot_position(axis->range, value) : (double)NAN;
}

// ---- marks of an axis ---------------------------------------------------------------------------

static double power_of_ten(int exponent) {
  return pow(10.0, exponent);
}

/// The multiples of the step that lie in the range.
static bool place_ticks(PlotTicks* ticks, PlotRange range) {
  double step = ticks->mantissa * power_of_ten(ticks->exponent);
  double first = ceil(range.lo / step - 1e-9);
  double last = floor(range.hi / step + 1e-9);
  if (!(fabs(first) < 1e14) || !(fabs(last) < 1e14)) return false;
  ticks->first = (int64_t)first;
  ticks->last = (int64_t)last;
  return true;
}

/// 10, 5, 2, 1, 0.5 ...
static void refine_ticks(PlotTicks* ticks) {
  if (ticks->mantissa == 1) {
    ticks->mantissa = 5;
    ticks->exponent--;
  } else {
    ticks->mantissa = ticks->mantissa == 5 ? 2 : 1;
  }
}

PlotTicks plot_ticks(PlotRange range, uint32_t count) {
  const PlotTicks none = {.first = 0, .last = -1, .mantissa = 1};
  double span = 2.0 * range_half(range);
  if (!(span > 0.0) || !isfinite(span) || count == 0) return none;
  double raw = span / count;
  if (raw < DBL_MIN) return none;  // powers of ten between denormal numbers are none
  int exponent = (int)floor(log10(raw));
  double part = raw / power_of_ten(exponent) * (1.0 - 1e-6);  // rounding must not double the step
  PlotTicks ticks = {.exponent = exponent};
  ticks.mantissa = part <= 1.0 ? 1 : part <= 2.0 ? 2 : part <= 5.0 ? 5 : 1;
  if (part > 5.0) ticks.exponent++;
  if (!place_ticks(&ticks, range)) return none;
  // one mark alone does not tell the scale
  if (count >= 2 && ticks.last <= ticks.first) {
    PlotTicks finer = ticks;
    refine_ticks(&finer);
    if (place_ticks(&finer, range)) ticks = finer;
  }
  double largest = fmax(fabs(range.lo), fabs(range.hi));
  ticks.scientific = largest >= 1e6 || largest < 1e-3;
  return ticks;
}

double plot_tick_value(const PlotTicks* ticks, int64_t k) {
  double whole = (double)(k * ticks->mantissa);
  // dividing by a power of ten rounds once, multiplying by a negative one would round twice
  return ticks->exponent < 0 ? whole / power_of_ten(-ticks->exponent)
                             : whole * power_of_ten(ticks->exponent);
}

uint32_t plot_tick_text(const PlotTicks* ticks, int64_t k, char* out) {
  if (!ticks->scientific || k == 0) {
    return number_write(out, k == 0 ? 0.0 : plot_tick_value(ticks, k));
  }
  // digits and exponent are known exactly: write them as d.ddde±x
  int64_t whole = k * ticks->mantissa;
  int exponent = ticks->exponent;
  while (whole % 10 == 0) {
    whole /= 10;
    exponent++;
  }
  char digits[NUMBER_TEXT_MAX];
  uint32_t count = number_write(digits, fabs((double)whole));
  uint32_t length = 0;
  if (whole < 0) out[length++] = '-';
  out[length++] = digits[0];
  if (count > 1) {
    out[length++] = '.';
    memcpy(out + length, digits + 1, count - 1);
    length += count - 1;
  }
  exponent += (int)count - 1;
  if (exponent != 0) {
    out[length++] = 'e';
    length += number_write(out + length, exponent);
  }
  out[length] = '\0';
  return length;
}

// ---- their texts --------------------------------------------------------------------------------

/// A digit or a minus in small and raised; NULL for anything else.
static const char* raised(char letter) {
  static const char* const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (letter == '-') return "⁻";
  return letter >= '0' && letter <= '9' ? digits[letter - '0'] : NULL;
}

uint32_t axis_power_text(int exponent, char* out) {
  char plain[16];
  snprintf(plain, sizeof plain, "%d", exponent);
  uint32_t length = (uint32_t)sprintf(out, "10");
  for (const char* at = plain; *at; at++) {
    length += (uint32_t)sprintf(out + length, "%s", raised(*at));
  }
  return length;
}

Str axis_unit_text(Arena* arena, Str label) {
  uint32_t unit = label.length;
  while (unit > 0 && label.data[unit - 1] != '[')
    unit--;
  if (unit == 0 || label.data[label.length - 1] != ']') return label;
  // a raised letter takes up to three bytes
  char* out = arena_alloc(arena, unit + 3 * (size_t)(label.length - unit) + 1, 1);
  memcpy(out, label.data, unit);
  uint32_t length = unit;
  bool power = false;
  for (uint32_t i = unit; i < label.length; i++) {
    char letter = label.data[i];
    const char* small = raised(letter);
    power = letter == '^' || (power && small);
    if (letter == '^') continue;
    const char* text = power ? small : letter == '*' ? "·" : NULL;
    length += (uint32_t)sprintf(out + length, text ? "%s" : "%.1s", text ? text : &label.data[i]);
  }
  return (Str){out, length};
}

/// A number as it is printed: with a real minus.
static void number_text(double value, bool plain, char* out) {
  char text[NUMBER_TEXT_MAX];
  number_write(text, value);
  snprintf(out, sizeof((AxisTick*)NULL)->text, "%s%s", text[0] == '-' && !plain ? "−" : "",
           text[0] == '-' && !plain ? text + 1 : text);
}

/// A place for the mark; one outside of the axis gets the spare place behind the last.
static AxisTick* add_tick(const Axis* axis, double value, bool minor, AxisTicks* out) {
  double at = plot_position(axis->range, value);
  if (out->count == AXIS_TICKS_MAX || !(at >= -1e-9) || !(at <= 1.0 + 1e-9))
    return &out->ticks[AXIS_TICKS_MAX];
  AxisTick* tick = &out->ticks[out->count++];
  *tick = (AxisTick){.at = at, .minor = minor};
  return tick;
}

static void linear_ticks(const Axis* axis, uint32_t count, bool plain, AxisTicks* out) {
  PlotTicks ticks = plot_ticks(axis->range, count);
  bool factored = ticks.scientific && !plain;
  if (factored && ticks.last >= ticks.first) {
    double largest = fmax(fabs(axis->range.lo), fabs(axis->range.hi));
    out->factor = (int)floor(log10(largest));
  }
  for (int64_t k = ticks.first; k <= ticks.last; k++) {
    AxisTick* tick = add_tick(axis, plot_tick_value(&ticks, k), false, out);
    if (plain) {
      plot_tick_text(&ticks, k, tick->text);
    } else {
      PlotTicks scaled = ticks;
      scaled.exponent -= out->factor;
      number_text(k == 0 ? 0.0 : plot_tick_value(&scaled, k), false, tick->text);
    }
  }
}

/// Powers of ten as numbers where these are short, else raised.
static void decade_text(int exponent, bool plain, bool short_ones, char* out) {
  if (plain || short_ones) {
    number_text(pow(10.0, exponent), plain, out);
  } else {
    axis_power_text(exponent, out);
  }
}

/// Less than a decade: the marks of a linear axis, where they stand on this one.
static void narrow_log_ticks(const Axis* axis, uint32_t count, bool plain, AxisTicks* out) {
  PlotTicks ticks =
      plot_ticks((PlotRange){pow(10.0, axis->range.lo), pow(10.0, axis->range.hi)}, count);
  for (int64_t k = ticks.first; k <= ticks.last; k++) {
    double value = plot_tick_value(&ticks, k);
    if (value > 0.0) number_text(value, plain, add_tick(axis, log10(value), false, out)->text);
  }
}

static void log_ticks(const Axis* axis, uint32_t count, bool plain, AxisTicks* out) {
  int first = (int)ceil(axis->range.lo - 1e-9);
  int last = (int)floor(axis->range.hi + 1e-9);
  bool short_ones = first >= -3 && last <= 4;
  int every = (last - first) / (int)(count ? count : 1) + 1;
  bool few = last - first < 2;  // decades alone do not tell the scale
  for (int decade = first - 1; decade <= last; decade++) {
    for (int digit = 1; digit < 10; digit++) {
      bool named = digit == 1 || (few && (digit == 2 || digit == 5));
      bool shown = named && decade % every == 0;
      if (!shown && (every > 1 || last - first > 8)) continue;
      AxisTick* tick = add_tick(axis, decade + log10(digit), !shown, out);
      if (!shown) continue;
      if (digit == 1) {
        decade_text(decade, plain, short_ones, tick->text);
      } else {
        number_text(digit * pow(10.0, decade), plain, tick->text);
      }
    }
  }
}

void axis_ticks(const Axis* axis, uint32_t count, bool plain, AxisTicks* out) {
  out->count = 0;
  out->factor = 0;
  if (!axis->log) {
    linear_ticks(axis, count, plain, out);
  } else if (2.0 * range_half(axis->range) < 1.0 && fabs(axis->range.lo) < 300.0) {
    narrow_log_ticks(axis, count, plain, out);
  } else if (fabs(axis->range.lo) < 320.0 && fabs(axis->range.hi) < 320.0) {
    log_ticks(axis, count, plain, out);
  }
}

// SPDX-License-Identifier: MIT
#include "base/unit.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#define SAME_UNIT  1e-9  // relative
#define DEPTH_MAX  20u   // parentheses
#define NUMBER_MAX 1e30
#define POWER_MAX  100.0

typedef struct NamedUnit {
  const char* name;
  double power[UNIT_BASES];
  double factor;
  double offset;
} NamedUnit;

static const NamedUnit named[] = {
    {"m", {1, 0, 0, 0, 0, 0, 0}, 1, 0},
    {"g", {0, 1, 0, 0, 0, 0, 0}, 1e-3, 0},
    {"s", {0, 0, 1, 0, 0, 0, 0}, 1, 0},
    {"A", {0, 0, 0, 1, 0, 0, 0}, 1, 0},
    {"K", {0, 0, 0, 0, 1, 0, 0}, 1, 0},
    {"mol", {0, 0, 0, 0, 0, 1, 0}, 1, 0},
    {"cd", {0, 0, 0, 0, 0, 0, 1}, 1, 0},
    {"N", {1, 1, -2, 0, 0, 0, 0}, 1, 0},
    {"Pa", {-1, 1, -2, 0, 0, 0, 0}, 1, 0},
    {"J", {2, 1, -2, 0, 0, 0, 0}, 1, 0},
    {"W", {2, 1, -3, 0, 0, 0, 0}, 1, 0},
    {"V", {2, 1, -3, -1, 0, 0, 0}, 1, 0},
    {"Ohm", {2, 1, -3, -2, 0, 0, 0}, 1, 0},
    {"ohm", {2, 1, -3, -2, 0, 0, 0}, 1, 0},
    {"Ω", {2, 1, -3, -2, 0, 0, 0}, 1, 0},
    {"S", {-2, -1, 3, 2, 0, 0, 0}, 1, 0},
    {"F", {-2, -1, 4, 2, 0, 0, 0}, 1, 0},
    {"H", {2, 1, -2, -2, 0, 0, 0}, 1, 0},
    {"C", {0, 0, 1, 1, 0, 0, 0}, 1, 0},
    {"T", {0, 1, -2, -1, 0, 0, 0}, 1, 0},
    {"Wb", {2, 1, -2, -1, 0, 0, 0}, 1, 0},
    {"Hz", {0, 0, -1, 0, 0, 0, 0}, 1, 0},
    {"bar", {-1, 1, -2, 0, 0, 0, 0}, 1e5, 0},
    {"l", {3, 0, 0, 0, 0, 0, 0}, 1e-3, 0},
    {"L", {3, 0, 0, 0, 0, 0, 0}, 1e-3, 0},
    {"t", {0, 1, 0, 0, 0, 0, 0}, 1e3, 0},
    {"Wh", {2, 1, -2, 0, 0, 0, 0}, 3600, 0},
    {"min", {0, 0, 1, 0, 0, 0, 0}, 60, 0},
    {"h", {0, 0, 1, 0, 0, 0, 0}, 3600, 0},
    {"d", {0, 0, 1, 0, 0, 0, 0}, 86400, 0},
    {"degC", {0, 0, 0, 0, 1, 0, 0}, 1, 273.15},
    {"°C", {0, 0, 0, 0, 1, 0, 0}, 1, 273.15},
    {"degF", {0, 0, 0, 0, 1, 0, 0}, 5.0 / 9.0, 459.67 * 5.0 / 9.0},
    {"°F", {0, 0, 0, 0, 1, 0, 0}, 5.0 / 9.0, 459.67 * 5.0 / 9.0},
    {"rad", {0, 0, 0, 0, 0, 0, 0}, 1, 0},
    {"deg", {0, 0, 0, 0, 0, 0, 0}, 0.017453292519943295, 0},
    {"rpm", {0, 0, -1, 0, 0, 0, 0}, 0.10471975511965977, 0},
    {"%", {0, 0, 0, 0, 0, 0, 0}, 0.01, 0},
};

static const struct {
  const char* name;
  double factor;
} prefixes[] = {{"p", 1e-12}, {"n", 1e-9}, {"u", 1e-6}, {"µ", 1e-6}, {"m", 1e-3}, {"c", 1e-2},
                {"d", 1e-1},  {"h", 1e2},  {"k", 1e3},  {"M", 1e6},  {"G", 1e9}};

Unit unit_one(void) {
  return (Unit){.factor = 1.0};
}

// ---- from a text --------------------------------------------------------------------------------

static bool find_named(Str name, double factor, Unit* out) {
  for (size_t i = 0; i < SLT_COUNT(named); i++) {
    if (!str_equal(name, str_from_c(named[i].name))) continue;
    if (factor != 1.0 && named[i].offset != 0.0) return false;
    *out = (Unit){.factor = named[i].factor * factor, .offset = named[i].offset};
    memcpy(out->power, named[i].power, sizeof out->power);
    return true;
  }
  return false;
}

static bool find_unit(Str name, Unit* out) {
  if (find_named(name, 1.0, out)) return true;
  for (size_t i = 0; i < SLT_COUNT(prefixes); i++) {
    Str prefix = str_from_c(prefixes[i].name);
    bool begins = name.length > prefix.length && memcmp(name.data, prefix.data, prefix.length) == 0;
    if (!begins) continue;
    Str rest = {name.data + prefix.length, name.length - prefix.length};
    if (find_named(rest, prefixes[i].factor, out)) return true;
  }
  return false;
}

Unit unit_product(Unit a, Unit b, double sign) {
  Unit out = {.factor = sign > 0.0 ? a.factor * b.factor : a.factor / b.factor,
              .offset = (double)NAN};
  for (int i = 0; i < UNIT_BASES; i++) {
    out.power[i] = a.power[i] + sign * b.power[i];
  }
  return out;
}

Unit unit_power(Unit a, double exponent) {
  if (exponent == 1.0) return a;
  for (int i = 0; i < UNIT_BASES; i++) {
    a.power[i] *= exponent;
  }
  a.factor = base_pow(a.factor, exponent);
  a.offset = (double)NAN;
  return a;
}

/// A text being read: factors parted by '*', '/', '.' or a space.
typedef struct UnitText {
  const char *at, *end;
  uint32_t depth;
  bool ok;
} UnitText;

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static double read_number(UnitText* t, bool allow_sign) {
  double value = 0.0;
  Str rest = {t->at, (uint32_t)(t->end - t->at)};
  uint32_t length = number_read(rest, allow_sign, &value);
  t->at += length;
  t->ok = t->ok && length > 0 && fabs(value) < NUMBER_MAX;
  return value;
}

static double read_exponent(UnitText* t) {
  double exponent = read_number(t, true);
  t->ok = t->ok && fabs(exponent) <= POWER_MAX;
  return exponent;
}

static Unit read_product(UnitText* t);

static Unit read_single(UnitText* t) {
  Unit unit = unit_one();
  if (t->at < t->end && *t->at == '(') {
    t->at++;
    t->ok = t->ok && ++t->depth < DEPTH_MAX;
    if (t->ok) unit = read_product(t);
    t->ok = t->ok && t->at < t->end && *t->at++ == ')';
    return unit;
  }
  if (t->at < t->end && is_digit(*t->at)) {
    unit.factor = read_number(t, false);
    return unit;
  }
  Str name = {t->at, 0};
  while (t->at < t->end && is_name_byte(*t->at)) {
    t->at++;
    name.length++;
  }
  t->ok = t->ok && find_unit(name, &unit);
  return unit;
}

static Unit read_factor(UnitText* t) {
  Unit unit = read_single(t);
  if (!t->ok || t->at == t->end) return unit;
  if (*t->at == '^') {
    t->at++;
    return unit_power(unit, read_exponent(t));
  }
  bool power = *t->at == '-' || is_digit(*t->at);  // m2, s-1
  return power ? unit_power(unit, read_exponent(t)) : unit;
}

static Unit read_product(UnitText* t) {
  Unit unit = read_factor(t);
  while (t->ok && t->at < t->end && strchr("*/. ", *t->at)) {
    double sign = *t->at == '/' ? -1.0 : 1.0;
    t->at++;
    unit = unit_product(unit, read_factor(t), sign);
  }
  return unit;
}

bool unit_read(Str text, Unit* out) {
  UnitText t = {.at = text.data, .end = text.data + text.length, .ok = text.length > 0};
  Unit unit = t.ok ? read_product(&t) : unit_one();
  if (!t.ok || t.at != t.end || !isfinite(unit.factor) || !(unit.factor > 0.0)) return false;
  bool temperature = unit_same_dimension(unit, (Unit){.power[UNIT_KELVIN] = 1.0});
  if (!temperature && isnan(unit.offset)) unit.offset = 0.0;
  *out = unit;
  return true;
}

// ---- to a text ----------------------------------------------------------------------------------

bool unit_same_dimension(Unit a, Unit b) {
  for (int i = 0; i < UNIT_BASES; i++) {
    if (fabs(a.power[i] - b.power[i]) > SAME_UNIT) return false;
  }
  return true;
}

double unit_convert(Unit from, Unit to, double value) {
  double shift = isnan(from.offset) || isnan(to.offset) ? 0.0 : from.offset - to.offset;
  if (fabs(from.factor / to.factor - 1.0) <= SAME_UNIT) return value + shift / to.factor;
  return (value * from.factor + shift) / to.factor;
}

bool unit_equal(Unit a, Unit b) {
  if (!unit_same_dimension(a, b) || fabs(a.factor / b.factor - 1.0) > SAME_UNIT) return false;
  if (isnan(a.offset) || isnan(b.offset)) return true;
  return fabs(a.offset - b.offset) <= SAME_UNIT * (fabs(a.offset) + fabs(b.offset));
}

/// `kg*m`, or `/s^2`: the base units with powers of one sign.
static void append_powers(TextBuffer* out, Unit unit, double sign) {
  static const char* const bases[] = {"m", "kg", "s", "A", "K", "mol", "cd"};
  for (int i = 0; i < UNIT_BASES; i++) {
    double power = sign * unit.power[i];
    if (!(power > 0.0)) continue;
    if (sign < 0.0 && out->length == 0) text_append_char(out, '1');
    if (out->length) text_append_char(out, sign < 0.0 ? '/' : '*');
    text_append_c(out, bases[i]);
    if (power == 1.0) continue;
    text_append_char(out, '^');
    text_append_double(out, power);
  }
}

Str unit_text(Arena* arena, Unit unit) {
  bool pure = unit_equal(unit, unit_one());
  for (size_t i = 0; i < SLT_COUNT(named) && !pure; i++) {
    Unit other = {.factor = named[i].factor, .offset = named[i].offset};
    memcpy(other.power, named[i].power, sizeof other.power);
    if (unit_equal(unit, other)) return str_from_c(named[i].name);
  }
  TextBuffer out = {.arena = arena};
  if (fabs(unit.factor - 1.0) > SAME_UNIT) text_append_double(&out, unit.factor);
  append_powers(&out, unit, 1.0);
  append_powers(&out, unit, -1.0);
  return out.length ? text_str(&out) : STR_LIT("1");
}

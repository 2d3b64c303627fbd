// SPDX-License-Identifier: MIT
//
// Units of measurement: from their texts ("kW", "J/(kg*K)", "degC") to what they mean, and back.
#ifndef SALTUS_BASE_UNIT_H
#define SALTUS_BASE_UNIT_H

#include "base/text.h"

enum {
  UNIT_METRE,
  UNIT_KILOGRAM,
  UNIT_SECOND,
  UNIT_AMPERE,
  UNIT_KELVIN,
  UNIT_MOLE,
  UNIT_CANDELA,
  UNIT_BASES
};

/// A value v of this unit is v * factor + offset in base units.
typedef struct Unit {
  double power[UNIT_BASES];
  double factor;
  double offset;  // of scales that do not begin at zero; NaN where that is not known
} Unit;

/// The pure number.
Unit unit_one(void);
/// False when the text is no unit.
bool unit_read(Str text, Unit* out);
/// The shortest usual text of a unit.
Str unit_text(Arena* arena, Unit unit);

/// a * b, or a / b with a negative sign. Products do not know where their scale begins.
Unit unit_product(Unit a, Unit b, double sign);
Unit unit_power(Unit a, double exponent);

/// Whether values of one can be given in the other.
bool unit_same_dimension(Unit a, Unit b);
/// A value in another unit of the same dimension.
double unit_convert(Unit from, Unit to, double value);
/// Whether values of both are the same numbers, as far as is known.
bool unit_equal(Unit a, Unit b);

#endif

// SPDX-License-Identifier: MIT
//
// Numbers to and from text, independent of the locale.
#ifndef SALTUS_BASE_NUMBER_H
#define SALTUS_BASE_NUMBER_H

#include "base/text.h"

#define NUMBER_TEXT_MAX 32  // longest text number_write() produces, with its NUL

/// Shortest decimal that reads back to the same double: "0.1", "1e-06" never, "1e-6" yes, "NaN",
/// "Inf", "-Inf". Plain notation for 1e-5 <= |value| < 1e17, else exponent notation without '+' or
/// leading zeros. -0 is "-0". Returns the length; `out` has room for NUMBER_TEXT_MAX bytes.
uint32_t number_write(char* out, double value);

/// Correctly rounded value of the longest decimal number at the start of `s`: digits with optional
/// point, optional exponent, optional leading sign when `allow_sign`. Returns the bytes read, 0
/// when there is none. Out of range gives infinity (or 0) with the bytes still counted.
uint32_t number_read(Str s, bool allow_sign, double* value);

#endif

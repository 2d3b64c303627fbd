// SPDX-License-Identifier: MIT
#include "base/number_table.h"

const NumberPower number_powers[NUMBER_POWER_MAX - NUMBER_POWER_MIN + 1] = {
#include "base/number_table.inc"
};

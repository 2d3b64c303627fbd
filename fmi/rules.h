// SPDX-License-Identifier: MIT
#ifndef SALTUS_FMI_RULES_H
#define SALTUS_FMI_RULES_H

#include "read.h"

typedef void FmuRuleFn(void* user, const char* text);

/// What of a description the standard does not allow, one text for each; returns how many.
uint32_t fmu_rules(const FmuDescription* description, FmuRuleFn* found, void* user);

#endif

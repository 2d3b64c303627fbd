// SPDX-License-Identifier: MIT
//
// The only writable data of the library. It is part of the dialect's contract: the paper's programs
// read and write these variables by name, and its procedures take no handle.
#include "cdcsis/cdcsis.h"

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
double cdcsis_simtime;
double cdcsis_step;
double* cdcsis_ptrans;
int cdcsis_stest;
int cdcsis_sj;

CdcsisState cdcsis_state;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

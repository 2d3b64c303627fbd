// SPDX-License-Identifier: MIT
//
// The part of AMD's interface that the library calls; see klu.h.
#ifndef SALTUS_PORTABLE_AMD_H
#define SALTUS_PORTABLE_AMD_H

#define AMD_OK             0
#define AMD_OK_BUT_JUMBLED 1
#define AMD_OUT_OF_MEMORY  (-1)

/// Columns by their numbers of entries, the fewest first.
int amd_order(int n, const int* begin, const int* rows, int* order, double* control, double* info);

#endif

// SPDX-License-Identifier: MIT
//
// Linear complementarity: z >= 0, w = M z + q >= 0, and of each pair one is zero.
#ifndef SALTUS_ENGINE_CONTACT_COMPLEMENTARITY_H
#define SALTUS_ENGINE_CONTACT_COMPLEMENTARITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Doubles of work space for n pairs.
size_t eng_lcp_room(uint32_t n);

/// Solve by Lemke's method with lexicographic ratios, in units of the diagonal.
/// `m` is n x n by rows. False: there is no solution, or none that the method can reach; z is zero.
bool eng_lcp_solve(uint32_t n, const double* m, const double* q, double* z, double* w,
                   double* work);

/// Whether more than one solution can be expected: a pair that a force of its own pulls together.
bool eng_lcp_ambiguous(uint32_t n, const double* m);

/// Solve a x = b for the members of `in` (the others are 0): Gauss with row pivots. `carries` tells
/// which of them were solved for; those whose rows depend on rows before them are left at 0.
void eng_dense_solve(uint32_t n, const double* a, const double* b, const bool* in, double* x,
                     bool* carries, double* work);

#endif

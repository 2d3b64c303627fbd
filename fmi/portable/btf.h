// SPDX-License-Identifier: MIT
//
// The part of BTF's interface that the library calls; see klu.h.
#ifndef SALTUS_PORTABLE_BTF_H
#define SALTUS_PORTABLE_BTF_H

/// Strongly connected components of a square matrix whose column j is `columns[j]` of the one
/// given. Permutes `columns` and fills `order` so that the blocks from `blocks[k]` on make it upper
/// triangular. Returns how many there are.
int btf_strongcomp(int n, int* begin, int* rows, int* columns, int* order, int* blocks, int* work);

#endif

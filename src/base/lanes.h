// SPDX-License-Identifier: MIT
//
// Eight numbers side by side. Where the machine has registers for four of them, functions may have
// a second version that computes with such halves; each operation is that of the numbers, so the
// bits are those of a loop over them.
#ifndef SALTUS_BASE_LANES_H
#define SALTUS_BASE_LANES_H

#define BASE_LANES 8

#if defined(__GNUC__) && defined(__x86_64__)
#define BASE_LANES_WIDE       1
/// Of a function with halves, which may run where BASE_LANES_ARE_WIDE().
#define BASE_LANES_TARGET     __attribute__((target("avx2")))
#define BASE_LANES_ARE_WIDE() __builtin_cpu_supports("avx2")
/// Of a function that becomes part of both versions.
#define BASE_LANES_BOTH       static inline __attribute__((always_inline))
typedef double BaseHalf __attribute__((vector_size(4 * BASE_LANES), aligned(8), may_alias));
/// The half at a place: to be written, or to be read.
#define BASE_HALF_AT(place) (*(BaseHalf*)(void*)(place))
#define BASE_HALF_OF(place) (*(const BaseHalf*)(const void*)(place))
#else
#define BASE_LANES_WIDE 0
#define BASE_LANES_BOTH static inline
#endif

#endif

// SPDX-License-Identifier: MIT
//
// Which parameters a member has. Everything is a function of the member's number: nothing is drawn
// one after the other, so any worker can make any member, and a sweep can go on anywhere.
#include "experiment/design.h"

#include "experiment/measure.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_TEN 22  // highest power of ten without rounding

SltStatus slt_design_create(const SltModel* model, SltDesign** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!model) return SLT_ERR_ARGUMENT;
  SltDesign* design = calloc(1, sizeof *design);
  if (!design) return SLT_ERR_NOMEM;
  design->model = model;
  *out = design;
  return SLT_OK;
}

void slt_design_free(SltDesign* design) {
  if (!design) return;
  for (uint32_t i = 0; i < design->count; i++) {
    parameter_clear(&design->axes[i].parameter);
    free(design->axes[i].values);
    free(design->axes[i].file);
  }
  free(design->axes);
  free(design->correlation);
  free(design->factor);
  free(design);
}

uint32_t slt_design_parameter_count(const SltDesign* design) {
  return design ? design->count : 0;
}

const char* slt_design_parameter_name(const SltDesign* design, uint32_t parameter) {
  return design && parameter < design->count ? design->axes[parameter].parameter.name : NULL;
}

const char* slt_design_parameter_file(const SltDesign* design, uint32_t parameter) {
  return design && parameter < design->count ? design->axes[parameter].file : NULL;
}

SltStatus slt_design_check_names(const SltDesign* design, const SltMeasures* measures,
                                 SltProblem* problem) {
  static const char* const own[] = {"member", "status", "message"};
  if (!design || !measures) return SLT_ERR_ARGUMENT;
  for (uint32_t i = 0; i < slt_measures_count(measures); i++) {
    const char* name = slt_measures_name(measures, i);
    bool taken = false;
    for (uint32_t k = 0; k < SLT_COUNT(own); k++)
      taken |= strcmp(name, own[k]) == 0;
    for (uint32_t k = 0; k < design->count; k++)
      taken |= strcmp(name, design->axes[k].parameter.name) == 0;
    if (!taken || !measures->own[i]) continue;  // a parameter may be measured under its name
    return problem_set(problem, SLT_ERR_ARGUMENT, "another name: 'peak = max(x)'",
                       "the measure `%s` has the name of another column", name);
  }
  return SLT_OK;
}

// ---- values of one parameter --------------------------------------------------------------------

/// The number with the fewest decimals that rounding of numbers of this size takes for `value`:
/// 0.6:0.9:4 has 0.7, and not its neighbour.
static double shortest_decimal(double value, double size) {
  double power = 1.0;
  for (int places = 0; places <= EXACT_TEN; places++, power *= 10.0) {
    double whole = floor(value * power + 0.5);
    if (fabs(whole) > 0x1p53) break;
    if (fabs(whole / power - value) <= 4.0 * DBL_EPSILON * size) return whole / power;
  }
  return value;
}

static double listed_value(const DesignAxis* axis, uint64_t k) {
  if (axis->spread == SPREAD_LIST) return axis->values[k];
  if (axis->count == 1) return axis->a;
  if (k == axis->count - 1) return axis->b;
  double last = (double)(axis->count - 1);
  double share = (double)k / last;
  if (axis->spread == SPREAD_LOG) return axis->a * base_pow(axis->b / axis->a, share);
  double value = (axis->a * (last - (double)k) + axis->b * (double)k) / last;
  if (!isfinite(value)) value = axis->a + (axis->b - axis->a) * share;
  return shortest_decimal(value, fmax(fabs(axis->a), fabs(axis->b)));
}

/// The value below which a share u of the distribution lies.
static double drawn_value(const DesignAxis* axis, double u) {
  double a = axis->a;
  double b = axis->b;
  if (axis->count > 0) {
    uint64_t k = (uint64_t)(u * (double)axis->count);
    return listed_value(axis, k < axis->count ? k : axis->count - 1);
  }
  switch (axis->spread) {
  case SPREAD_LOG: return a * base_pow(b / a, u);
  case SPREAD_NORMAL: return a + b * normal_quantile(u);
  case SPREAD_LOGNORMAL: return base_exp(a + b * normal_quantile(u));
  case SPREAD_TRIANGULAR: {
    double c = axis->c;  // least a, most likely b, greatest c
    double turn = (b - a) / (c - a);
    return u < turn ? a + sqrt(u * (c - a) * (b - a)) : c - sqrt((1.0 - u) * (c - a) * (c - b));
  }
  case SPREAD_RANGE:
  case SPREAD_LIST:
  default: return a + (b - a) * u;
  }
}

// ---- shares -------------------------------------------------------------------------------------

/// A number in (0, 1) from 53 bits.
static double unit(uint64_t bits) {
  return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b) {
  return hash_mix(hash_mix(seed ^ UINT64_C(0x9e3779b97f4a7c15), a), b);
}

/// Where k goes in a permutation of 0..n-1 that the key names: Feistel rounds on the next even
/// number of bits, walked until it falls below n. Takes no memory for the n.
static uint64_t permute(uint64_t k, uint64_t n, uint64_t key) {
  uint32_t half = 1;
  while (half < 32 && (UINT64_C(1) << (2 * half)) < n)
    half++;
  uint64_t mask = (UINT64_C(1) << half) - 1;
  do {
    uint64_t left = k >> half;
    uint64_t right = k & mask;
    for (uint64_t round = 0; round < 6; round++) {
      uint64_t next = left ^ (mix(key, right, round) & mask);
      left = right;
      right = next;
    }
    k = left << half | right;
  } while (k >= n);
  return k;
}

/// Direction numbers of Sobol's sequence: Joe and Kuo, SIAM J. Sci. Comput. 30 (2008), the first
/// dimensions of their table. Degree, coefficients of the polynomial, initial numbers.
static const struct {
  uint8_t degree, polynomial;
  uint8_t m[7];
} sobol_table[DESIGN_SOBOL_MAX - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

/// Bits of number k of the sequence in one dimension, from the top of 64.
static uint64_t sobol_bits(uint64_t k, uint32_t dimension) {
  uint64_t v[64];
  for (uint32_t i = 0; i < 64; i++) {
    uint64_t m = 1;
    uint32_t degree = dimension ? sobol_table[dimension - 1].degree : 0;
    if (dimension && i < degree) m = sobol_table[dimension - 1].m[i];
    v[i] = m << (63 - i);
    if (!dimension || i < degree) continue;
    v[i] = v[i - degree] ^ (v[i - degree] >> degree);
    for (uint32_t j = 1; j < degree; j++) {
      if (sobol_table[dimension - 1].polynomial >> (degree - 1 - j) & 1) v[i] ^= v[i - j];
    }
  }
  uint64_t gray = k ^ (k >> 1);
  uint64_t bits = 0;
  for (uint32_t i = 0; i < 64 && gray; i++, gray >>= 1) {
    if (gray & 1) bits ^= v[i];
  }
  return bits;
}

static double share_of(const SltDesign* d, uint64_t member, uint32_t axis) {
  uint64_t seed = mix(d->seed, 1, axis);
  switch (d->sampling) {
  case SLT_SAMPLE_LHS: {
    double inside = unit(mix(seed, member, 2));
    double u = ((double)permute(member, d->members, seed) + inside) / (double)d->members;
    return u < 1.0 ? u : nextafter(1.0, 0.0);
  }
  case SLT_SAMPLE_SOBOL: return unit(sobol_bits(member, axis) ^ mix(seed, 3, 4));
  case SLT_SAMPLE_GRID:
  case SLT_SAMPLE_RANDOM:
  default: return unit(mix(seed, member, 5));
  }
}

// ---- members ------------------------------------------------------------------------------------

/// Draws with the correlations asked for: normal numbers times Cholesky's factor, back to shares.
static void correlate(const SltDesign* d, double* shares) {
  for (uint32_t i = 0; i < d->count; i++)
    shares[i] = normal_quantile(shares[i]);
  // a row needs those before it: the last one goes first
  for (uint32_t i = d->count; i-- > 0;) {
    double sum = 0.0;
    for (uint32_t j = 0; j <= i; j++)
      sum += d->factor[design_place(i, j)] * shares[j];
    double u = 0.5 * base_erfc(-sum * 0.7071067811865476);
    shares[i] = u > 0.0 ? (u < 1.0 ? u : nextafter(1.0, 0.0)) : 0x1p-54;
  }
}

static void find_values(const SltDesign* design, uint64_t member, double* values) {
  if (design->sampling == SLT_SAMPLE_GRID) {
    for (uint32_t i = design->count; i-- > 0;) {
      values[i] = listed_value(&design->axes[i], member % design->axes[i].count);
      member /= design->axes[i].count;
    }
    return;
  }
  for (uint32_t i = 0; i < design->count; i++)
    values[i] = share_of(design, member, i);
  if (design->correlated) correlate(design, values);
  for (uint32_t i = 0; i < design->count; i++)
    values[i] = drawn_value(&design->axes[i], values[i]);
}

void slt_design_member(const SltDesign* design, uint64_t member, double* values) {
  if (!design || !values || member >= design->members) return;
  find_values(design, member, values);
  // the table tells the seeds that are used
  for (uint32_t i = 0; i < design->count; i++) {
    if (design->axes[i].parameter.kind == PARAMETER_SEED) values[i] = floor(values[i] + 0.5);
  }
}

double design_grid_value(const SltDesign* design, uint64_t member, uint32_t axis) {
  for (uint32_t i = design->count - 1; i > axis; i--)
    member /= design->axes[i].count;
  const DesignAxis* own = &design->axes[axis];
  double value = listed_value(own, member % own->count);
  return own->parameter.kind == PARAMETER_SEED ? floor(value + 0.5) : value;
}

uint64_t slt_design_member_count(const SltDesign* design) {
  return design ? design->members : 0;
}

static SltStatus grid(SltDesign* d, SltProblem* problem) {
  d->members = 1;
  for (uint32_t i = 0; i < d->count; i++) {
    const DesignAxis* axis = &d->axes[i];
    if (axis->count == 0) {
      return problem_set(problem, SLT_ERR_ARGUMENT,
                         "give values (k=1,2,5 or k=0:10:101), or --sample lhs N to draw them",
                         "a grid needs values of `%s`, not a distribution", axis->parameter.name);
    }
    if (d->members > DESIGN_MEMBERS_MAX / axis->count) {
      return problem_set(problem, SLT_ERR_LIMIT,
                         "fewer values, or --sample sobol N for N members all over the region",
                         "the grid has more than 10^15 members");
    }
    d->members *= axis->count;
  }
  return SLT_OK;
}

SltStatus slt_design_sample(SltDesign* design, SltSampling sampling, uint64_t count, uint64_t seed,
                            SltProblem* problem) {
  if (!design) return SLT_ERR_ARGUMENT;
  if (problem) *problem = (SltProblem){.message = ""};
  design->sampling = sampling;
  design->seed = seed;
  if (design->correlated && sampling == SLT_SAMPLE_GRID) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "add --sample lhs N",
                       "members of a grid are not drawn: they have no correlation");
  }
  if (sampling == SLT_SAMPLE_GRID) return grid(design, problem);
  if (count == 0 || count > DESIGN_MEMBERS_MAX) {
    return problem_set(problem, SLT_ERR_LIMIT, NULL, "a sample has 1 to 10^15 members");
  }
  if (sampling == SLT_SAMPLE_SOBOL && design->count > DESIGN_SOBOL_MAX) {
    return problem_set(problem, SLT_ERR_LIMIT, "--sample lhs takes any number",
                       "Sobol's sequence is known here for %d parameters", DESIGN_SOBOL_MAX);
  }
  design->members = count;
  return design->correlated ? design_factorise(design) : SLT_OK;  // some may have come since
}

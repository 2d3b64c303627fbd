// SPDX-License-Identifier: MIT
//
// What follows from the linear equations of a mode: eigenvalues, responses, equilibria.
#include "experiment/experiment.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QR_SWEEPS    60     // per eigenvalue
#define STEADY_STEPS 200    // of Newton's method
#define STEADY_SMALL 1e-13  // relative change of the states with which it ends
#define SINGULAR     1e-12  // pivots that are rounding, beside the largest entry
#define INDIFFERENT  1e-9   // real parts that count as zero, beside the largest eigenvalue

typedef double complex Complex;

// ---- motions that keep what is held -------------------------------------------------------------

#define DEPENDENT 1e-9  // what is left of a direction that others contain

/// Orthonormal directions: those in which what is held changes, and the others, in which the motion
/// is free.
typedef struct Basis {
  uint32_t n, rank;
  double* rows;  // n of them, `rank` of the first kind
  double* back;  // along each of those: the way to where all is 0
} Basis;

static double* basis_row(const Basis* basis, uint32_t i) {
  return basis->rows + (size_t)i * basis->n;
}

static double product(const double* a, const double* b, uint32_t n) {
  double sum = 0.0;
  for (uint32_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/// Make row `count` orthogonal to those before, twice for the sake of rounding, and of length 1;
/// `value` follows. Returns what was left of a row of length 1.
static double orthogonalize(const Basis* basis, uint32_t count, double* value) {
  double* row = basis_row(basis, count);
  for (uint32_t k = 0; k < 2 * count; k++) {
    double share = product(row, basis_row(basis, k % count), basis->n);
    for (uint32_t i = 0; i < basis->n; i++)
      row[i] -= share * basis_row(basis, k % count)[i];
    if (value) *value -= share * basis->back[k % count];
  }
  double length = sqrt(product(row, row, basis->n));
  for (uint32_t i = 0; length > 0.0 && i < basis->n; i++)
    row[i] /= length;
  if (value && length > 0.0) *value /= length;
  return length;
}

/// The state that the directions so far contain least of.
static uint32_t freest_state(const Basis* basis, uint32_t count) {
  uint32_t best = 0;
  double least = HUGE_VAL;
  for (uint32_t i = 0; i < basis->n; i++) {
    double sum = 0.0;
    for (uint32_t k = 0; k < count; k++)
      sum += basis_row(basis, k)[i] * basis_row(basis, k)[i];
    if (sum < least) best = i;
    least = fmin(least, sum);
  }
  return best;
}

static SltStatus basis_init(Basis* basis, const SltLinear* l) {
  uint32_t n = l->state_count;
  *basis = (Basis){.n = n, .rows = calloc((size_t)n * n + n + 1, sizeof(double))};
  if (!basis->rows) return SLT_ERR_NOMEM;
  basis->back = basis->rows + (size_t)n * n;
  for (uint32_t i = 0; i < l->held_count && basis->rank < n; i++) {
    const double* held = l->held_rows + (size_t)i * n;
    double length = sqrt(product(held, held, n));
    if (!(length > 0.0)) continue;
    double value = -l->held[i] / length;
    for (uint32_t k = 0; k < n; k++)
      basis_row(basis, basis->rank)[k] = held[k] / length;
    if (!(orthogonalize(basis, basis->rank, &value) > DEPENDENT)) continue;
    basis->back[basis->rank++] = value;
  }
  for (uint32_t k = basis->rank; k < n; k++) {
    double* row = basis_row(basis, k);
    uint32_t state = freest_state(basis, k);
    memset(row, 0, n * sizeof *row);
    row[state] = 1.0;
    orthogonalize(basis, k, NULL);
  }
  return SLT_OK;
}

static void basis_clear(Basis* basis) {
  free(basis->rows);
}

/// `a` in the free directions. Where nothing is held that is `a` itself, to the bit.
static void restrict_matrix(const Basis* basis, const SltLinear* l, Complex* out) {
  uint32_t n = basis->n;
  uint32_t m = n - basis->rank;
  for (uint32_t i = 0; i < m; i++) {
    for (uint32_t j = 0; j < m; j++) {
      const double* to = basis_row(basis, basis->rank + i);
      const double* from = basis_row(basis, basis->rank + j);
      double sum = 0.0;
      for (uint32_t k = 0; basis->rank && k < n; k++)
        sum += to[k] * product(l->a + (size_t)k * n, from, n);
      out[(size_t)i * m + j] = basis->rank ? sum : l->a[(size_t)i * n + j];
    }
  }
}

// ---- eigenvalues --------------------------------------------------------------------------------

/// Rows and columns in the same units, by powers of two, as far as that makes them alike.
static void balance(uint32_t n, Complex* a) {
  for (bool again = true; again;) {
    again = false;
    for (uint32_t i = 0; i < n; i++) {
      double row = 0.0;
      double column = 0.0;
      for (uint32_t j = 0; j < n; j++) {
        if (j == i) continue;
        row += cabs(a[(size_t)i * n + j]);
        column += cabs(a[(size_t)j * n + i]);
      }
      if (!(row > 0.0 && column > 0.0)) continue;
      double factor = ldexp(1.0, (int)round(0.5 * base_log2(row / column)));
      if (!(column * factor + row / factor < 0.95 * (column + row))) continue;
      again = true;
      for (uint32_t j = 0; j < n; j++) {
        a[(size_t)i * n + j] /= factor;
        a[(size_t)j * n + i] *= factor;
      }
    }
  }
}

/// Zeros below the first subdiagonal, by elimination with pivots.
static void reduce(uint32_t n, Complex* a) {
  for (uint32_t k = 1; k + 1 < n; k++) {
    uint32_t best = k;
    for (uint32_t i = k + 1; i < n; i++) {
      if (cabs(a[(size_t)i * n + k - 1]) > cabs(a[(size_t)best * n + k - 1])) best = i;
    }
    if (a[(size_t)best * n + k - 1] == 0.0) continue;
    for (uint32_t j = 0; best != k && j < n; j++) {
      Complex keep = a[(size_t)best * n + j];
      a[(size_t)best * n + j] = a[(size_t)k * n + j];
      a[(size_t)k * n + j] = keep;
    }
    for (uint32_t j = 0; best != k && j < n; j++) {
      Complex keep = a[(size_t)j * n + best];
      a[(size_t)j * n + best] = a[(size_t)j * n + k];
      a[(size_t)j * n + k] = keep;
    }
    for (uint32_t i = k + 1; i < n; i++) {
      Complex factor = a[(size_t)i * n + k - 1] / a[(size_t)k * n + k - 1];
      if (factor == 0.0) continue;
      for (uint32_t j = 0; j < n; j++)
        a[(size_t)i * n + j] -= factor * a[(size_t)k * n + j];
      for (uint32_t j = 0; j < n; j++)
        a[(size_t)j * n + k] += factor * a[(size_t)j * n + i];
    }
  }
}

/// The eigenvalue of the last two by two block that is nearer to its corner (Wilkinson's shift).
static Complex shift_of(uint32_t n, const Complex* a, uint32_t last) {
  Complex p = a[(size_t)(last - 1) * n + last - 1];
  Complex q = a[(size_t)(last - 1) * n + last];
  Complex r = a[(size_t)last * n + last - 1];
  Complex s = a[(size_t)last * n + last];
  Complex half = 0.5 * (p - s);
  Complex root = csqrt(half * half + q * r);
  Complex one = half + root;
  Complex other = half - root;
  return s + (cabs(one) < cabs(other) ? one : other);
}

/// One step of the QR algorithm on rows and columns first..last of a Hessenberg matrix.
static void qr_step(uint32_t n, Complex* a, uint32_t first, uint32_t last, Complex shift,
                    Complex* turns) {
  for (uint32_t i = first; i <= last; i++)
    a[(size_t)i * n + i] -= shift;
  for (uint32_t k = first; k < last; k++) {
    Complex x = a[(size_t)k * n + k];
    Complex y = a[(size_t)(k + 1) * n + k];
    double size = hypot(cabs(x), cabs(y));
    Complex c = size > 0.0 ? x / size : 1.0;
    Complex s = size > 0.0 ? y / size : 0.0;
    turns[2 * (size_t)k] = c;
    turns[2 * (size_t)k + 1] = s;
    for (uint32_t j = k; j <= last; j++) {
      Complex u = a[(size_t)k * n + j];
      Complex v = a[(size_t)(k + 1) * n + j];
      a[(size_t)k * n + j] = conj(c) * u + conj(s) * v;
      a[(size_t)(k + 1) * n + j] = c * v - s * u;
    }
  }
  for (uint32_t k = first; k < last; k++) {
    Complex c = turns[2 * (size_t)k];
    Complex s = turns[2 * (size_t)k + 1];
    uint32_t end = k + 2 <= last ? k + 2 : last;
    for (uint32_t i = first; i <= end; i++) {
      Complex u = a[(size_t)i * n + k];
      Complex v = a[(size_t)i * n + k + 1];
      a[(size_t)i * n + k] = u * c + v * s;
      a[(size_t)i * n + k + 1] = v * conj(c) - u * conj(s);
    }
  }
  for (uint32_t i = first; i <= last; i++)
    a[(size_t)i * n + i] += shift;
}

/// Eigenvalues into the diagonal; false where the algorithm does not settle.
static bool find_eigenvalues(uint32_t n, Complex* a, Complex* turns) {
  balance(n, a);
  reduce(n, a);
  uint32_t last = n - 1;
  for (uint32_t sweeps = 0; last > 0;) {
    uint32_t first = last;
    while (first > 0) {
      double beside =
          cabs(a[(size_t)first * n + first]) + cabs(a[(size_t)(first - 1) * n + first - 1]);
      if (cabs(a[(size_t)first * n + first - 1]) <= DBL_EPSILON * beside) break;
      first--;
    }
    if (first == last) {
      last--;
      sweeps = 0;
      continue;
    }
    if (++sweeps > QR_SWEEPS) return false;
    Complex shift = sweeps % 11 == 10
                        ? a[(size_t)last * n + last] + cabs(a[(size_t)last * n + last - 1])
                        : shift_of(n, a, last);
    qr_step(n, a, first, last, shift, turns);
  }
  return true;
}

static int larger_real_part(const void* a, const void* b) {
  const double* x = a;
  const double* y = b;
  // conjugate ones stay together
  if (fabs(x[0] - y[0]) > 1e-9 * (fabs(x[0]) + fabs(y[0]))) return x[0] < y[0] ? 1 : -1;
  return (x[1] < y[1]) - (x[1] > y[1]);
}

SltStatus slt_linear_eigenvalues(const SltLinear* linear, double* real, double* imaginary,
                                 uint32_t* count) {
  if (count) *count = 0;
  if (!linear || !real || !imaginary) return SLT_ERR_ARGUMENT;
  Basis basis;
  SLT_TRY(basis_init(&basis, linear));
  uint32_t n = linear->state_count - basis.rank;
  if (count) *count = n;
  Complex* a = calloc((size_t)n * n + 2 * (size_t)n + 1, sizeof *a);
  double* pairs = calloc(2 * (size_t)n + 1, sizeof *pairs);
  SltStatus status = a && pairs ? SLT_OK : SLT_ERR_NOMEM;
  if (status >= 0) restrict_matrix(&basis, linear, a);
  for (size_t i = 0; status >= 0 && i < (size_t)n * n; i++) {
    if (!isfinite(creal(a[i]))) status = SLT_ERR_NOT_FINITE;
  }
  basis_clear(&basis);
  if (status >= 0 && !find_eigenvalues(n, a, a + (size_t)n * n)) status = SLT_ERR_NOT_FINITE;
  for (uint32_t i = 0; status >= 0 && i < n; i++) {
    Complex value = a[(size_t)i * n + i];
    // what is real comes out so up to rounding
    bool flat = fabs(cimag(value)) <= 1e-13 * cabs(value);
    pairs[2 * (size_t)i] = creal(value);
    pairs[2 * (size_t)i + 1] = flat ? 0.0 : cimag(value);
  }
  if (status >= 0) qsort(pairs, n, 2 * sizeof *pairs, larger_real_part);
  for (uint32_t i = 0; status >= 0 && i < n; i++) {
    real[i] = pairs[2 * (size_t)i];
    imaginary[i] = pairs[2 * (size_t)i + 1];
  }
  free(a);
  free(pairs);
  return status;
}

// ---- linear systems -----------------------------------------------------------------------------

static void swap_values(Complex* one, Complex* other) {
  Complex keep = *one;
  *one = *other;
  *other = keep;
}

/// Column k of all other rows is cleared by row `rank`.
static void clear_column(uint32_t n, Complex* a, Complex* x, uint32_t rank, uint32_t k) {
  for (uint32_t i = 0; i < n; i++) {
    Complex factor = i == rank ? 0.0 : a[(size_t)i * n + k] / a[(size_t)rank * n + k];
    if (factor == 0.0) continue;
    for (uint32_t j = k; j < n; j++)
      a[(size_t)i * n + j] -= factor * a[(size_t)rank * n + j];
    x[i] -= factor * x[rank];
  }
}

/// x := a^-1 x by elimination with pivots; columns without one leave their unknown at 0. Returns
/// the rank.
static uint32_t solve(uint32_t n, Complex* a, Complex* x) {
  double largest = 0.0;
  uint32_t rank = 0;
  uint32_t* pivots = calloc((size_t)n + 1, sizeof *pivots);
  if (!pivots) return 0;
  for (size_t i = 0; i < (size_t)n * n; i++)
    largest = fmax(largest, cabs(a[i]));
  for (uint32_t k = 0; k < n; k++) {
    uint32_t best = rank;
    for (uint32_t i = rank; i < n; i++) {
      if (cabs(a[(size_t)i * n + k]) > cabs(a[(size_t)best * n + k])) best = i;
    }
    if (rank == n || !(cabs(a[(size_t)best * n + k]) > SINGULAR * largest)) continue;
    for (uint32_t j = 0; j < n; j++)
      swap_values(&a[(size_t)rank * n + j], &a[(size_t)best * n + j]);
    swap_values(&x[rank], &x[best]);
    clear_column(n, a, x, rank, k);
    pivots[rank++] = k;
  }
  for (uint32_t i = 0; i < rank; i++)
    x[i] /= a[(size_t)i * n + pivots[i]];
  for (uint32_t i = rank; i < n; i++)
    x[i] = 0.0;
  // pivots ascend: from the last one on every value moves to its place
  for (uint32_t i = rank; i-- > 0;) {
    Complex value = x[i];
    if (pivots[i] != i) x[i] = 0.0;
    x[pivots[i]] = value;
  }
  free(pivots);
  return rank;
}

SltStatus slt_linear_response(const SltLinear* linear, uint32_t output, uint32_t input,
                              double omega, double* real, double* imaginary) {
  if (!linear || output >= linear->output_count || input >= linear->input_count || !real ||
      !imaginary) {
    return SLT_ERR_ARGUMENT;
  }
  uint32_t n = linear->state_count;
  uint32_t m = linear->input_count;
  Complex* a = calloc((size_t)n * n + n + 1, sizeof *a);
  if (!a) return SLT_ERR_NOMEM;
  Complex* x = a + (size_t)n * n;
  for (size_t i = 0; i < (size_t)n * n; i++)
    a[i] = -linear->a[i];
  for (uint32_t i = 0; i < n; i++) {
    a[(size_t)i * n + i] += omega * (Complex)I;
    x[i] = linear->b[(size_t)i * m + input];
  }
  bool regular = solve(n, a, x) == n;
  Complex response = linear->d[(size_t)output * m + input];
  for (uint32_t i = 0; i < n; i++)
    response += linear->c[(size_t)output * n + i] * x[i];
  free(a);
  *real = creal(response);
  *imaginary = cimag(response);
  return regular && isfinite(*real) && isfinite(*imaginary) ? SLT_OK : SLT_ERR_NOT_FINITE;
}

// ---- equilibria ---------------------------------------------------------------------------------

/// How far a point is from standing still, and from where what is held is 0.
static double residual(const SltLinear* l) {
  double sum = product(l->f, l->f, l->state_count);
  for (uint32_t i = 0; i < l->held_count; i++) {
    const double* row = l->held_rows + (size_t)i * l->state_count;
    double length = product(row, row, l->state_count);
    if (length > 0.0) sum += l->held[i] * l->held[i] / length;
  }
  return sqrt(sum);
}

/// Newton's step: first to where what is held is 0, then along it; `f` is spoilt.
static void find_step(const Basis* basis, const SltLinear* l, Complex* a, double* f, double* step) {
  uint32_t n = basis->n;
  uint32_t m = n - basis->rank;
  Complex* x = a + (size_t)m * m;
  for (uint32_t k = 0; k < basis->rank; k++) {
    for (uint32_t i = 0; i < n; i++)
      step[i] += basis->back[k] * basis_row(basis, k)[i];
  }
  for (uint32_t i = 0; i < n; i++)
    f[i] = l->f[i] + (basis->rank ? product(l->a + (size_t)i * n, step, n) : 0.0);
  restrict_matrix(basis, l, a);
  for (uint32_t i = 0; i < m; i++)
    x[i] = basis->rank ? -product(basis_row(basis, basis->rank + i), f, n) : -f[i];
  solve(m, a, x);
  for (uint32_t i = 0; i < n; i++) {
    double sum = basis->rank ? 0.0 : creal(x[i]);
    for (uint32_t k = 0; basis->rank && k < m; k++)
      sum += creal(x[k]) * basis_row(basis, basis->rank + k)[i];
    step[i] += sum;
  }
}

/// Newton's step from a point: largest change relative to the largest state so far (an equilibrium
/// may be the origin), infinite where there is none.
static double newton_step(const SltLinear* l, double* largest, double* step) {
  uint32_t n = l->state_count;
  Basis basis;
  Complex* a = calloc((size_t)n * n + n + 1, sizeof *a);
  double* f = calloc((size_t)n + 1, sizeof *f);
  bool good = a && f && basis_init(&basis, l) >= 0;
  memset(step, 0, n * sizeof *step);
  if (good) {
    find_step(&basis, l, a, f, step);
    basis_clear(&basis);
  }
  double size = 0.0;
  for (uint32_t i = 0; i < n; i++) {
    size = fmax(size, fabs(step[i]));
    *largest = fmax(*largest, fabs(l->x[i]));
  }
  free(a);
  free(f);
  return good && isfinite(size) ? size / *largest : HUGE_VAL;
}

/// Go on from a point, half as far as long as that does not help.
static SltStatus take_step(SltSim* sim, const double* step, SltLinear** at) {
  uint32_t n = (*at)->state_count;
  double* x = calloc((size_t)n + 1, sizeof *x);
  if (!x) return SLT_ERR_NOMEM;
  SltStatus status = SLT_ERR_STEP;
  double before = residual(*at);
  for (double share = 1.0; status == SLT_ERR_STEP && share > 1e-6; share *= 0.5) {
    SltLinear* next = NULL;
    for (uint32_t i = 0; i < n; i++)
      x[i] = (*at)->x[i] + share * step[i];
    SltStatus made = slt_sim_linearize(sim, x, NULL, 0, NULL, 0, &next);
    if (made == SLT_ERR_NOMEM) status = made;
    if (made < 0) continue;
    double after = residual(next);
    if (after < before || (after <= before && share == 1.0)) {
      slt_linear_free(*at);
      *at = next;
      status = SLT_OK;
    } else {
      slt_linear_free(next);
    }
  }
  free(x);
  return status;
}

static SltStability stability_of(const double* real, const double* imaginary, uint32_t n) {
  double largest = 0.0;
  for (uint32_t i = 0; i < n; i++)
    largest = fmax(largest, hypot(real[i], imaginary[i]));
  double most = n ? real[0] : -1.0;
  if (most > INDIFFERENT * largest) return SLT_UNSTABLE;
  return most < -INDIFFERENT * largest ? SLT_STABLE : SLT_INDIFFERENT;
}

SltStatus slt_sim_steady(SltSim* sim, SltLinear** out, SltStability* stability) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!sim || !stability) return SLT_ERR_ARGUMENT;
  SltLinear* at = NULL;
  SLT_TRY(slt_sim_linearize(sim, NULL, NULL, 0, NULL, 0, &at));
  uint32_t n = at->state_count;
  double first = residual(at);
  double largest = DBL_MIN;
  double* work = calloc(3 * (size_t)n + 1, sizeof *work);
  SltStatus status = work ? SLT_OK : SLT_ERR_NOMEM;
  bool found = n == 0;
  for (int k = 0; status >= 0 && !found && k < STEADY_STEPS; k++) {
    double size = newton_step(at, &largest, work);
    found = residual(at) == 0.0 || size <= STEADY_SMALL;
    if (!found) status = take_step(sim, work, &at);
    // rounding ends the search where it cannot get better
    if (status == SLT_ERR_STEP && size <= 1e-8) {
      status = SLT_OK;
      found = true;
    }
  }
  if (status >= 0 && !found) status = SLT_ERR_STEP;
  uint32_t count = 0;
  if (status >= 0) status = slt_linear_eigenvalues(at, work + n, work + 2 * (size_t)n, &count);
  if (status >= 0) *stability = stability_of(work + n, work + 2 * (size_t)n, count);
  // a motion that no equilibrium ends: the best that was found is none
  if (status >= 0 && residual(at) > 1e-8 * first) status = SLT_ERR_STEP;
  free(work);
  if (status < 0) {
    slt_linear_free(at);
    return status;
  }
  *out = at;
  return SLT_OK;
}

// SPDX-License-Identifier: MIT
//
// A quantity over a stretch of motion. The dense output of every method is a polynomial of degree 7
// at most, so for states one piece is exact; what is computed from them is smooth, and is halved
// until the last coefficients are rounding.
#include "experiment/experiment.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TAIL       1e-13  // of the largest magnitude so far: rounding of the values themselves
#define NOISE      1e-6   // ... more of it, where a difference of large numbers is taken
#define ALIKE      3      // times that halves are no better than a whole, where there is noise
#define WIDE       12     // halvings everywhere...
#define DEEP       4096   // ...and so many beyond them, near kinks and jumps
#define BISECTIONS 200

// cos(m pi / 24)
#define C1  0.9914448613738104
#define C2  0.9659258262890683
#define C3  0.9238795325112867
#define C4  0.8660254037844387
#define C5  0.7933533402912352
#define C6  0.7071067811865476
#define C7  0.6087614290087207
#define C8  0.5
#define C9  0.38268343236508984
#define C10 0.25881904510252074
#define C11 0.1305261922200517

/// cos(k (2 i + 1) pi / 24): the values of the basis at the points of one half.
static const double halves[CURVE_POINTS][CURVE_POINTS / 2] = {
    {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, {C1, C3, C5, C7, C9, C11},     {C2, C6, C10, -C10, -C6, -C2},
    {C3, C9, -C9, -C3, -C3, -C9},   {C4, 0.0, -C4, -C4, 0.0, C4},  {C5, -C9, -C1, -C11, C3, C7},
    {C6, -C6, -C6, C6, C6, -C6},    {C7, -C3, -C11, C1, -C9, -C5}, {C8, -1.0, C8, C8, -1.0, C8},
    {C9, -C3, C3, -C9, -C9, C3},    {C10, -C6, C2, -C2, C6, -C10}, {C11, -C9, C7, -C5, C3, -C1},
};

/// Coefficients of the interpolant at Chebyshev's points of the first kind: both ends stay out,
/// where other equations may hold.
static SltStatus fit(CurvePiece* piece, CurveFn* value, void* user) {
  double t[CURVE_POINTS];
  double y[CURVE_POINTS];
  double middle = 0.5 * (piece->a + piece->b);
  double half = 0.5 * (piece->b - piece->a);
  // a piece of a few roundings has no points between its ends; the right one belongs to what
  // follows
  double last = nextafter(piece->b, piece->a);
  for (int i = 0; i < CURVE_POINTS; i++) {
    double x = i < CURVE_POINTS / 2 ? -halves[1][i] : halves[1][CURVE_POINTS - 1 - i];
    double point = middle + half * x;
    t[i] = point < piece->a ? piece->a : point > last ? last : point;
  }
  SLT_TRY(value(user, t, CURVE_POINTS, y));
  // the basis is even or odd, so that values at opposite points go together
  double sums[2][CURVE_POINTS / 2];
  for (int i = 0; i < CURVE_POINTS / 2; i++) {
    sums[0][i] = y[CURVE_POINTS - 1 - i] + y[i];
    sums[1][i] = y[CURVE_POINTS - 1 - i] - y[i];
  }
  for (int k = 0; k < CURVE_POINTS; k++) {
    double sum = 0.0;
    for (int i = 0; i < CURVE_POINTS / 2; i++)
      sum += sums[k % 2][i] * halves[k][i];
    piece->c[k] = (k ? 2.0 : 1.0) / CURVE_POINTS * sum;
  }
  return SLT_OK;
}

/// What the last coefficients leave out of a piece; NaN where there is nothing to resolve.
static double tail_of(const CurvePiece* piece, double* scale) {
  for (int k = 0; k < CURVE_POINTS; k++) {
    double size = fabs(piece->c[k]);
    if (!isfinite(size)) return (double)NAN;
    if (size > *scale) *scale = size;
  }
  const double* c = piece->c;
  return fabs(c[CURVE_POINTS - 1]) + fabs(c[CURVE_POINTS - 2]) + fabs(c[CURVE_POINTS - 3]);
}

/// How far a piece is off at its ends: a kink beyond its outermost points shows there alone.
static SltStatus look_at_ends(const CurvePiece* piece, CurveFn* value, void* user, double* tail) {
  const double ends[] = {piece->a, piece->b};
  double y[SLT_COUNT(ends)];
  SLT_TRY(value(user, ends, SLT_COUNT(ends), y));
  for (size_t i = 0; i < SLT_COUNT(ends); i++)
    *tail = fmax(*tail, fabs(y[i] - curve_value(piece, ends[i])));
  return SLT_OK;
}

/// A half of something that waits.
typedef struct Part {
  double end;
  double whole;    // what is left out of both halves together
  double first;    // ... of the first half; NaN: this is the first
  uint32_t depth;  // halvings so far
} Part;

typedef struct Walk {
  Part parts[CURVE_DEPTH];  // the nearest on top
  uint32_t waiting;
  uint32_t deep;   // halvings below those that are made everywhere
  uint32_t alike;  // times in a row that both halves were no better than the whole
  double noise;
} Walk;

/// Halving makes something smooth better, and of something with a kink one of the halves. Where
/// neither gets better, again and again, it is rounding of the quantity itself.
static void note_noise(Walk* walk, const Part* part, double tail, double scale) {
  if (isnan(part->first)) return;
  bool small = tail <= NOISE * scale;
  walk->alike = small && tail + part->first > part->whole ? walk->alike + 1 : 0;
  if (walk->alike >= ALIKE) walk->noise = fmax(walk->noise, tail);
}

/// Whether a piece is halved. What turns very often within a stretch is only resolved deep down.
static bool is_halved(Walk* walk, const Part* part, double tail, double scale) {
  if (!(tail > fmax(TAIL * scale, walk->noise)) || walk->waiting == CURVE_DEPTH) return false;
  return part->depth < WIDE || walk->deep++ < DEEP;
}

SltStatus curve_walk(double a, double b, bool kinks, double* scale, const CurveReader* reader,
                     void* user) {
  Walk walk;  // most of its parts are never used
  walk.waiting = 1;
  walk.deep = walk.alike = 0;
  walk.noise = 0.0;
  walk.parts[0] = (Part){.end = b, .first = (double)NAN};
  while (walk.waiting > 0) {
    Part* part = &walk.parts[walk.waiting - 1];
    CurvePiece piece = {.a = a, .b = part->end};
    double middle = 0.5 * (piece.a + piece.b);
    SLT_TRY(fit(&piece, reader->value, user));
    double tail = tail_of(&piece, scale);
    if (kinks) SLT_TRY(look_at_ends(&piece, reader->value, user, &tail));
    note_noise(&walk, part, tail, *scale);
    if (walk.waiting > 1 && isnan(part->first)) part[-1].first = tail;
    bool halved = middle > piece.a && middle < piece.b && is_halved(&walk, part, tail, *scale);
    if (halved && reader->matters) halved = reader->matters(user, &piece, tail);
    if (halved) {
      *part = (Part){part->end, tail, (double)NAN, part->depth + 1};
      walk.parts[walk.waiting++] = (Part){middle, tail, (double)NAN, part->depth};
      continue;
    }
    SLT_TRY(reader->take(user, &piece));
    a = piece.b;
    walk.waiting--;
  }
  return SLT_OK;
}

double curve_value(const CurvePiece* piece, double t) {
  // Clenshaw's sum
  double x = (2.0 * t - piece->a - piece->b) / (piece->b - piece->a);
  double d = 0.0;
  double e = 0.0;
  for (int k = CURVE_POINTS - 1; k > 0; k--) {
    double next = 2.0 * x * d - e + piece->c[k];
    e = d;
    d = next;
  }
  return x * d - e + piece->c[0];
}

/// Integral of T_n over [-1, 1].
static double basis_integral(int n) {
  return n % 2 ? 0.0 : 2.0 / (1.0 - (double)n * n);
}

double curve_integral(const CurvePiece* piece) {
  double sum = 0.0;
  for (int k = 0; k < CURVE_POINTS; k += 2)
    sum += piece->c[k] * basis_integral(k);
  return 0.5 * (piece->b - piece->a) * sum;
}

double curve_square_integral(const CurvePiece* piece) {
  // T_i T_j = (T_(i+j) + T_|i-j|) / 2
  double sum = 0.0;
  for (int i = 0; i < CURVE_POINTS; i++) {
    for (int j = 0; j < CURVE_POINTS; j++) {
      double product = basis_integral(i + j) + basis_integral(i > j ? i - j : j - i);
      sum += 0.5 * piece->c[i] * piece->c[j] * product;
    }
  }
  return 0.5 * (piece->b - piece->a) * sum;
}

double curve_spread(const CurvePiece* piece) {
  double sum = 0.0;
  for (int k = 1; k < CURVE_POINTS; k++)
    sum += fabs(piece->c[k]);
  return sum;
}

// ---- roots --------------------------------------------------------------------------------------

typedef struct Power {
  double c[CURVE_POINTS];
  int degree;
} Power;

/// The degree without the coefficients that are rounding of the values.
static int degree_of(const CurvePiece* piece) {
  double largest = 0.0;
  for (int k = 0; k < CURVE_POINTS; k++)
    largest = fmax(largest, fabs(piece->c[k]));
  int degree = CURVE_POINTS - 1;
  double rest = fabs(piece->c[degree]);
  while (degree > 0 && rest <= CURVE_POINTS * DBL_EPSILON * largest)
    rest += fabs(piece->c[--degree]);
  return degree;
}

/// Coefficients of Chebyshev's polynomials in powers of x in [-1, 1].
static Power to_powers(const double* c, int degree) {
  Power out = {.degree = degree};
  double before[CURVE_POINTS] = {1.0};      // T_0
  double basis[CURVE_POINTS] = {0.0, 1.0};  // T_1
  out.c[0] = c[0];
  for (int k = 1; k <= degree; k++) {
    for (int i = 0; i <= k; i++)
      out.c[i] += c[k] * basis[i];
    double next[CURVE_POINTS] = {0.0};
    for (int i = 0; i <= degree; i++)
      next[i] = (i ? 2.0 * basis[i - 1] : 0.0) - before[i];
    memcpy(before, basis, sizeof before);
    memcpy(basis, next, sizeof basis);
  }
  return out;
}

static double power_value(const Power* p, double x) {
  double sum = 0.0;
  for (int i = p->degree; i >= 0; i--)
    sum = sum * x + p->c[i];
  return sum;
}

static Power derivative(const Power* p) {
  Power out = {.degree = p->degree > 0 ? p->degree - 1 : 0};
  for (int i = 1; i <= p->degree; i++)
    out.c[i - 1] = i * p->c[i];
  return out;
}

/// The root in [lo, hi], over which p is monotone and changes its sign: Newton's method inside of a
/// bracket.
static double monotone_root(const Power* p, const Power* slope, double lo, double hi) {
  bool rising = power_value(p, hi) > 0.0;
  double x = 0.5 * (lo + hi);
  for (int i = 0; i < BISECTIONS; i++) {
    double y = power_value(p, x);
    if (y == 0.0) return x;
    if ((y > 0.0) == rising) {
      hi = x;
    } else {
      lo = x;
    }
    double next = x - y / power_value(slope, x);
    if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
    if (next == x || !(next > lo && next < hi)) return x;
    x = next;
  }
  return x;
}

/// Roots in [-1, 1], ascending: between the roots of the derivative the polynomial is monotone.
static uint32_t roots(const Power* p, double* out) {
  // from the highest derivative, which is constant, down to the polynomial itself
  Power chain[CURVE_POINTS];
  int levels = 0;
  chain[levels++] = *p;
  while (chain[levels - 1].degree > 0) {
    chain[levels] = derivative(&chain[levels - 1]);
    levels++;
  }
  uint32_t count = 0;
  for (int level = levels - 2; level >= 0; level--) {
    double turns[CURVE_POINTS + 1];
    uint32_t turn_count = count;
    memcpy(turns, out, count * sizeof *out);
    turns[turn_count] = 1.0;
    count = 0;
    double lo = -1.0;
    for (uint32_t i = 0; i <= turn_count; i++) {
      double y_lo = power_value(&chain[level], lo);
      double y_hi = power_value(&chain[level], turns[i]);
      if (y_lo == 0.0 && (count == 0 || out[count - 1] < lo)) out[count++] = lo;
      if ((y_lo < 0.0 && y_hi > 0.0) || (y_lo > 0.0 && y_hi < 0.0)) {
        out[count++] = monotone_root(&chain[level], &chain[level + 1], lo, turns[i]);
      }
      lo = turns[i];
    }
    if (count > CURVE_POINTS - 1) count = CURVE_POINTS - 1;
  }
  return count;
}

static uint32_t roots_in_time(const CurvePiece* piece, const Power* p, double* times) {
  double x[2 * CURVE_POINTS];
  uint32_t count = roots(p, x);
  for (uint32_t i = 0; i < count; i++)
    times[i] = 0.5 * (piece->a + piece->b) + 0.5 * (piece->b - piece->a) * x[i];
  return count;
}

uint32_t curve_crossings(const CurvePiece* piece, double level, double* times) {
  Power p = to_powers(piece->c, degree_of(piece));
  p.c[0] -= level;
  return roots_in_time(piece, &p, times);
}

uint32_t curve_turns(const CurvePiece* piece, double* times) {
  int degree = degree_of(piece);
  double slope[CURVE_POINTS + 1] = {0.0};
  double varying = 0.0;
  for (int k = degree; k > 0; k--) {
    slope[k - 1] = slope[k + 1] + 2.0 * k * piece->c[k];
    if (k > 1) varying += fabs(slope[k - 1]);
  }
  slope[0] *= 0.5;
  if (fabs(slope[0]) > varying) return 0;  // monotone
  Power p = to_powers(slope, degree > 0 ? degree - 1 : 0);
  return roots_in_time(piece, &p, times);
}

double curve_time_below(const CurvePiece* piece, double level) {
  double spread = curve_spread(piece);
  if (piece->c[0] + spread <= level) return piece->b - piece->a;
  if (piece->c[0] - spread > level) return 0.0;
  double times[CURVE_POINTS + 1];
  uint32_t count = curve_crossings(piece, level, times);
  times[count] = piece->b;
  double sum = 0.0;
  double from = piece->a;
  for (uint32_t i = 0; i <= count; i++) {
    if (curve_value(piece, 0.5 * (from + times[i])) <= level) sum += times[i] - from;
    from = times[i];
  }
  return sum;
}

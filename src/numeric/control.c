// SPDX-License-Identifier: MIT
//
// Step size control: a PI controller for the error, a bound for stability, the first step.
//
// Accepted full step:  h' = h * 0.9 * err^-(q - 0.75 beta) * err_prev^beta, factor within [0.2, 5]
// (Gustafsson; HNW II, IV.2), q = 1 / order of the estimate, beta = 0.2 q. Not larger than h after
// a rejection. A step cut short by its target says little about h: the wanted step stays, unless
// the error of the short one already asks for less. Stability (Novikov): the proposal may grow
// beyond h only while |h lambda| stays within the method's real interval. Growth alone is limited:
// an overestimate costs a step, not the run. The estimate of lambda fades slowly.
//
// Stiffness is suspected from every step that is as long as wanted, whether it wants to grow or
// not: where the error estimate itself is made of a fast component, the step settles just below the
// end of the stability interval, or at the fraction of it where that component's error passes the
// test. The suspicion is cheap to have; who acts on it finds out by trying whether a stiff method
// pays.
#include "numeric/internal.h"

#define SAFETY             0.9
#define GROWTH_MAX         5.0
#define SHRINK_MIN         0.2
#define SHRINK_FAILED      0.25
#define SHRINK_AGAIN       0.4
#define ERROR_FLOOR        1e-10  // below it the estimate is rounding
#define ERROR_TELLING      1e-4   // below it a shortened step tells nothing about h
#define ERROR_TELLING_LOG2 -13.287712379549449
#define STABILITY_MARGIN   0.95
#define STABILITY_SUSPECT  0.7  // part of the interval from which on a step looks stiff
#define LAMBDA_MEMORY      0.8  // a fast component that has died out is not seen any more
#define STIFF_HITS         15   // HNW II, IV.2
#define CALM_STEPS         6
#define LOOK_EVERY         8         // steps that do not want to grow
#define FIRST_SHARE        0.01      // of the time in which the state moves by its size
#define BLIND_SHORTEST     0x1p-100  // steps looked at where the state has no size or does not move
#define BLIND_LONGEST      0x1p100
#define BLIND_GROWTH       8.0
#define BLIND_BEND         0.05
#define BLIND_SHARE        1e-4
#define SPAN_SHARE         0x1p-17  // of the time somebody is interested in, where all is at rest
#define SPAN_SHORTEST      0x1p-24  // ... least part of it that is looked at

// log2 and 2^y for the step control: no branches, no division, since they stand between the error
// of one step and the first stage of the next. Polynomials through Chebyshev nodes.

typedef union Bits {
  double value;
  uint64_t bits;
} Bits;

/// log2 of a positive normal number, absolute error < 6e-6; log2(1) = 0.
static inline double control_log2(double value) {
  const uint64_t sqrt_half = 0x3fe6a09e667f3bcdULL;
  const uint64_t one = 0x3ff0000000000000ULL;
  Bits m = {.value = value};
  uint64_t biased = m.bits - sqrt_half + one;  // exponent + 1023 on top, mantissa from sqrt(1/2)
  double e = (double)((int32_t)(biased >> 52) - 1023);
  m.bits -= (biased & 0xfff0000000000000ULL) - one;
  double t = m.value - 1.0;
  double t2 = t * t;
  double low = 1.442700440013496 - t * 0.7211957523938721;
  double middle = 0.47992557347074644 - t * 0.3669257709573897;
  double high = 0.316898187156837 - t * 0.20228926373030143;
  return e + t * (low + t2 * (middle + t2 * high));
}

/// 2^y for |y| <= 1000, relative error < 4e-6.
static inline double control_exp2(double y) {
  const double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  Bits shifted = {.value = y + shift};
  double t = y - (shifted.value - shift);
  double t2 = t * t;
  double low = 0.9999999999999998 + t * 0.693121045203427;
  double high = 0.24022349038020335 + t * 0.055921975842256264 + t2 * 0.009666368515387469;
  Bits scale = {.bits = ((shifted.bits & 0xffff) + 1023) << 52};  // low bits: the integer
  return scale.value * (low + t2 * high);
}

double num_power(double base, double exponent) {
  double y = exponent * control_log2(base);
  return control_exp2(num_min(num_max(y, -1000.0), 1000.0));
}

double num_norm_squared(const NumStepper* s, const double* v) {
  // four partial sums in a fixed pattern: independent of how the compiler vectorises
  const size_t n = s->n;
  double sum0 = 0.0;
  double sum1 = 0.0;
  double sum2 = 0.0;
  double sum3 = 0.0;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    sum0 += v[i] * v[i];
    sum1 += v[i + 1] * v[i + 1];
    sum2 += v[i + 2] * v[i + 2];
    sum3 += v[i + 3] * v[i + 3];
  }
  sum0 += i < n ? v[i] * v[i] : 0.0;
  sum1 += i + 1 < n ? v[i + 1] * v[i + 1] : 0.0;
  sum2 += i + 2 < n ? v[i + 2] * v[i + 2] : 0.0;
  double total = (sum0 + sum1) + (sum2 + sum3);
  if (s->options.norm == NUM_NORM_MAX && num_finite(total)) {
    double largest = 0.0;
    for (i = 0; i < n; i++) {
      largest = num_max(largest, num_abs(v[i]));
    }
    return largest * largest;
  }
  return n ? total * s->n_inverse : 0.0;
}

/// Smallest step that moves t and that the options allow.
static double h_floor(const NumStepper* s) {
  double rounding = 8.0 * DBL_EPSILON * num_abs(s->t);
  return num_max(num_max(s->options.h_min, rounding), DBL_MIN);
}

static double h_bounded(const NumStepper* s, double h) {
  if (s->options.h_max > 0.0) {
    h = num_min(h, s->options.h_max);
  }
  return num_max(h, h_floor(s));
}

typedef struct Proposal {
  double h;
  double lambda;  // estimate; < 0: not made
  double error_log2;
  bool limited;  // by stability
  bool stiff;    // stability may be what holds the steps back, as this trial shows
  bool whole;    // the trial was as long as wanted
} Proposal;

/// A step that does not want to grow is asked now and then, and each one while there is a
/// suspicion.
static bool looks_for_stiffness(const NumStepper* s) {
  return s->control.stiff_hits > 0 || s->counters.steps % LOOK_EVERY == 0;
}

static Proposal propose(const NumStepper* s) {
  const NumKernel* kernel = s->method->kernel;
  const double h = s->trial.h;
  const double wanted = s->h_wanted;
  const double q = kernel->error_exponent;
  const double error = num_max(s->error_squared, ERROR_FLOOR * ERROR_FLOOR);
  const double growth = s->control.after_rejection ? 1.0 : GROWTH_MAX;
  Proposal p = {.lambda = -1.0, .whole = h >= 0.99 * wanted};
  p.error_log2 = 0.5 * control_log2(error);
  double reference = p.whole ? h : wanted;  // growth beyond it is subject to stability
  if (p.whole) {
    double beta = 0.2 * q;
    double y = (0.75 * beta - q) * p.error_log2 + beta * s->control.error_log2;
    p.h = h * num_min(num_max(SAFETY * control_exp2(y), SHRINK_MIN), growth);
  } else {
    p.h = num_max(wanted, growth * h);
    if (s->trial.error > ERROR_TELLING) {
      p.h = num_min(p.h, h * SAFETY * control_exp2(-q * p.error_log2));
    }
  }
  bool probes = s->options.stability && kernel->probe && !s->trial.replaced;
  if (probes && (p.h > reference || (p.whole && looks_for_stiffness(s)))) {
    double seen = kernel->probe(s) / h;
    double bound = STABILITY_MARGIN * s->method->stability;
    p.stiff = num_max(p.h, reference) * seen > STABILITY_SUSPECT * s->method->stability;
    p.lambda = num_max(seen, LAMBDA_MEMORY * s->control.lambda);
    if (p.h > reference && p.h * p.lambda > bound) {
      p.h = num_max(reference, bound / p.lambda);
      p.limited = true;
    }
  }
  p.h = h_bounded(s, p.h);
  return p;
}

double num_stepper_proposal(NumStepper* s) {
  SLT_ASSERT(s->trial.pending);
  if (s->method->multistep) {
    return s->h_proposed;
  }
  return s->method->adaptive ? propose(s).h : s->options.h0;
}

static void note_stability(NumStepper* s, const Proposal* p) {
  NumControl* c = &s->control;
  c->lambda = p->lambda;
  s->counters.stability_limited += p->limited;
  if (p->stiff) {
    c->calm_steps = 0;
    if (c->stiff_hits < STIFF_HITS) {
      c->stiff_hits++;
    }
    c->stiff_suspected = c->stiff_hits == STIFF_HITS;
    return;
  }
  c->calm_steps++;
  if (c->calm_steps >= CALM_STEPS) {
    c->stiff_hits = 0;
    c->stiff_suspected = false;
  }
}

void num_control_accept(NumStepper* s, bool part) {
  NumControl* c = &s->control;
  s->counters.steps++;
  if (s->method->multistep) {
    // the method has its own control; after an event it is only a bound
    c->h_next = h_bounded(s, s->h_proposed);
    c->after_rejection = false;
    return;
  }
  if (!s->method->adaptive) {
    // a fixed step has nothing to adapt, but it can be too long to be stable
    c->h_next = s->options.h0;
    c->after_rejection = false;
    if (s->options.stability && s->method->kernel->probe) {
      double v = s->method->kernel->probe(s);
      bool beyond = v > s->method->stability;
      Proposal p = {.lambda = v / s->trial.h, .limited = beyond, .stiff = beyond};
      note_stability(s, &p);
    }
    return;
  }
  Proposal p = propose(s);
  if (p.lambda >= 0.0) {
    note_stability(s, &p);
  }
  if (p.whole) {
    c->error_log2 = num_max(p.error_log2, ERROR_TELLING_LOG2);
  }
  c->h_next = part ? num_min(p.h, num_max(s->trial.h, s->h_wanted)) : p.h;
  c->after_rejection = false;
}

SltStatus num_stepper_reject(NumStepper* s) {
  double factor = SHRINK_FAILED;
  if (s->failed) {
    s->counters.failed++;
  } else {
    s->counters.rejected++;
    if (s->trial.error > 1.0) {
      double power = num_power(s->trial.error, -s->method->kernel->error_exponent);
      factor = num_max(SAFETY * power, SHRINK_MIN);
      // in a layer of a stiff component the error does not follow the order of the method
      if (s->method->stiff && s->control.after_rejection) {
        factor = num_min(factor, SHRINK_AGAIN);
      }
    }
  }
  if (s->scales.open) {
    num_scale_reject(s);
  }
  s->trial.pending = false;
  s->control.after_rejection = true;
  double least = h_floor(s);
  double h = s->h_tried * factor;
  s->control.h_next = num_max(h, least);
  double rounding = 2.0 * DBL_EPSILON * num_abs(s->t);  // h_tried is a difference of two times
  return s->h_tried > least + rounding ? SLT_OK : SLT_ERR_STEP;
}

/// Norm of v by the weights of the committed state, components without a scale left out.
static double norm_at_start(NumStepper* s, const double* v, const double* minus) {
  for (uint32_t i = 0; i < s->n; i++) {
    double difference = minus ? v[i] - minus[i] : v[i];
    s->scaled[i] = s->scales.value[i] > 0.0 ? difference / num_stepper_weight(s, i) : 0.0;
  }
  return num_sqrt(num_norm_squared(s, s->scaled));
}

/// f at the end of an Euler step, into `out`.
static SltStatus euler_probe(NumStepper* s, const double* f, double h, double* out) {
  for (size_t i = 0; i < s->n; i++) {
    s->stage_x[i] = s->x[i] + h * f[i];
  }
  SLT_TRY(num_rhs(s, s->t + h, s->stage_x, out));
  double zero = 0.0;
  for (size_t i = 0; i < s->n; i++) {
    zero += out[i] - out[i];
  }
  return zero == 0.0 ? SLT_OK : SLT_ERR_NOT_FINITE;
}

/// Two numbers per component that tell how far its motion over an Euler step of length h is from a
/// straight one, both free of units: by its derivative half way, and by where the step ends.
/// Negative: f has no values there.
static SltStatus bends_over(NumStepper* s, const double* f, double h, double* slope, double* end) {
  double* middle = s->scaled;
  double* last = s->k;
  SLT_TRY(euler_probe(s, f, 0.5 * h, middle));
  SLT_TRY(euler_probe(s, f, h, last));
  for (size_t i = 0; i < s->n; i++) {
    double mean = 0.5 * (f[i] + last[i]);
    double largest = num_max(num_max(num_abs(f[i]), num_abs(last[i])), num_abs(middle[i]));
    bool known = s->scales.value[i] > 0.0;  // then what its weight covers is no motion
    bool seen = !known || h * num_max(num_abs(mean - middle[i]), num_abs(mean - f[i])) > s->atol[i];
    slope[i] = seen && largest > 0.0 ? (mean - middle[i]) / largest : 0.0;
    double straight = s->x[i] + h * f[i];
    double bent = s->x[i] + h * mean;
    double size = num_max(num_max(num_abs(s->x[i]), num_abs(straight)), num_abs(bent));
    end[i] = seen && size > 0.0 ? (bent - straight) / size : 0.0;
  }
  return SLT_OK;
}

/// Whether the motion over a step of length h is about as straight as over the shortest one, of
/// which `slope` and `end` tell.
static bool straight_over(NumStepper* s, const double* f, double h, const double* slope,
                          const double* end) {
  double *slope_now = s->scaled, *end_now = s->stage_x;
  if (bends_over(s, f, h, slope_now, end_now) < 0) {
    return false;
  }
  double most = 0.0;
  for (size_t i = 0; i < s->n; i++) {
    most = num_max(most, num_abs(slope_now[i] - slope[i]));
    most = num_max(most, num_abs(end_now[i] - end[i]));
  }
  return most <= BLIND_BEND;
}

/// A step over which the motion is nearly straight, where no size of the states says how fast they
/// move: looked for from the shortest one up, since a periodic motion can look straight over far
/// longer ones. (A motion that goes with a power of the time since the start is as bent over any
/// step: what counts is a change of that.) Negative: nothing is ever bent, time has no scale yet.
static double straight_step(NumStepper* s, const double* f, double shortest, double longest) {
  double *slope = s->dense, *end = s->dense + s->n_max;
  if (bends_over(s, f, shortest, slope, end) < 0 || !(longest > shortest)) {
    return shortest;
  }
  double h = shortest;
  while (h < longest && straight_over(s, f, BLIND_GROWTH * h, slope, end)) {
    h *= BLIND_GROWTH;
  }
  return h < longest ? h : -1.0;
}

SltStatus num_first_step(NumStepper* s, double t_bound, double span, uint32_t order, double* out) {
  const double* f = NULL;
  SLT_TRY(num_stepper_derivative(s, &f));
  double bound = t_bound - s->t;
  double longest = h_bounded(s, bound > 0.0 ? num_min(bound, BLIND_LONGEST) : BLIND_LONGEST);
  double d0 = norm_at_start(s, s->scales.value, NULL);
  double d1 = norm_at_start(s, f, NULL);
  if (!(d1 > 0.0) || !(d0 > 0.0) || !(d0 / d1 < BLIND_LONGEST)) {
    bool asked = span > 0.0 && num_finite(span);
    double guess = asked ? SPAN_SHARE * span : BLIND_SHORTEST;
    double shortest = num_max(h_floor(s), asked ? SPAN_SHORTEST * span : BLIND_SHORTEST);
    double h = straight_step(s, f, shortest, asked ? num_min(span, longest) : longest);
    *out = h_bounded(s, num_min(h > 0.0 ? BLIND_SHARE * h : guess, longest));
    return SLT_OK;
  }
  double h = h_bounded(s, num_min(FIRST_SHARE * (d0 / d1), longest));
  // second derivative from an Euler step; a point where f has no value is moved closer
  double* probe = s->k;
  SltStatus status = SLT_ERR_NOT_FINITE;
  for (uint32_t tries = 0; status < 0 && tries < 12; tries++) {
    if (tries > 0) {
      h *= 0.1;
    }
    status = euler_probe(s, f, h, probe);
  }
  double h1 = h;
  if (status >= 0) {
    // rate at which the motion changes, and what it reaches at that rate, in tolerances
    double rate = num_max(d1 / d0, norm_at_start(s, probe, f) / (h * d1));
    double reach = d1 / rate;
    h1 = num_power(0.01 / reach, 1.0 / (double)(order + 1)) / rate;
    h1 = num_finite(h1) ? num_min(100.0 * h, h1) : h;
  }
  *out = h_bounded(s, num_min(h1, longest));
  return SLT_OK;
}

SltStatus num_stepper_choose_h(NumStepper* s, double t_bound, double span) {
  return num_first_step(s, t_bound, span, s->method->order, &s->control.h_next);
}

SltStatus num_stepper_choose_h_held(NumStepper* s, double t_bound, double span, NumRhs* flow) {
  SLT_TRY(num_stepper_choose_h(s, t_bound, span));
  if (s->control.h_next > BLIND_SHORTEST) {
    return SLT_OK;
  }
  NumRhs* rhs = s->rhs;
  s->rhs = flow;
  SltStatus status = num_stepper_choose_h(s, t_bound, span);
  s->rhs = rhs;
  return status;
}

// SPDX-License-Identifier: MIT
//
// Derivatives by extrapolated differences, where a run does something that is not differentiated
// along with it. A run on each side of the parameter, ever closer to it; quotients of runs with the
// same sequence of events are smooth in the distance, so that Richardson's extrapolation applies
// (Ridders, Adv. Eng. Software 4, 1982), and its tableau tells the error. Left and right are looked
// at separately: where they do not agree there is no derivative, whatever the central quotient
// says.
#include "experiment/sens.h"

#include <math.h>

#define SENS_LEVELS  8      // of the tableau
#define SENS_RATIO   1.7    // of two distances of the tableau
#define SENS_CLOSER  5      // times that an extrapolation begins anew nearer by
#define SENS_GOOD    1e-9   // relative error with which that ends
#define SENS_SETTLED 1e-3   // relative error above which nothing has been found
#define SENS_PILE    1e-4   // distance within which other events mean that events accumulate here
#define SENS_LIMIT   1e-5   // of a sequence: how near its limit point may lie to where it is told
#define SENS_AGREE   20.0   // sides may differ by so many times their errors
#define SENS_NOISE   1e-8   // of values, relative: what tolerances leave
#define SENS_FLAT    1e-12  // of values, relative: what is no change at all

typedef struct Limit {
  double value;  // NaN: none was found
  double error;
} Limit;

/// The limit of quotients at distances h, h/ratio, h/ratio^2...; their error has powers of h that
/// are multiples of `step`.
static Limit extrapolate(const double* quotients, uint32_t count, int step) {
  double tableau[SENS_LEVELS][SENS_LEVELS];
  Limit best = {(double)NAN, HUGE_VAL};
  for (uint32_t i = 0; i < count; i++) {
    tableau[0][i] = quotients[i];
    for (uint32_t j = 1; j <= i; j++) {
      double factor = base_pow(SENS_RATIO, (double)(step * (int)j));
      tableau[j][i] = (tableau[j - 1][i] * factor - tableau[j - 1][i - 1]) / (factor - 1.0);
      double error = fmax(fabs(tableau[j][i] - tableau[j - 1][i]),
                          fabs(tableau[j][i] - tableau[j - 1][i - 1]));
      if (!(error < best.error)) continue;
      best = (Limit){tableau[j][i], error};
    }
  }
  return best;
}

/// The largest distance from which on, towards the parameter, the sequence on a side is that at the
/// parameter itself, or else that right beside it; 0: there is none. Runs in between that have
/// another one do not count: where a body comes to rest, roundings decide about the last events.
static SltStatus settled_distance(Sens* s, int side, uint32_t measure, double* out,
                                  uint64_t* beside) {
  uint64_t here = sens_signature(s, &s->nominal, 0, measure);
  uint64_t seen[SENS_SEARCH];
  double h[SENS_SEARCH];
  for (uint32_t k = SENS_SEARCH; k-- > 0;) {
    Probe* probe = NULL;
    h[k] = s->options->reach * s->scale * base_pow(0.25, k);
    SLT_TRY(sens_probe(s, h[k], side, &probe));
    seen[k] = sens_signature(s, probe, side, measure);
  }
  uint32_t k = 0;
  while (k < SENS_SEARCH && (here == 0 || seen[k] != here))
    k++;
  if (k == SENS_SEARCH) {
    here = seen[--k];
    while (here != 0 && k > 0 && seen[k - 1] == here)
      k--;
  }
  *beside = here;
  *out = here != 0 ? h[k] : 0.0;
  return SLT_OK;
}

/// The limit from distances of at most h; side 0: left, 1: right, 2: central.
static SltStatus limit_from(Sens* s, int side, uint32_t measure, double h, Limit* out) {
  double quotients[SENS_LEVELS];
  double f = s->nominal.values[0][measure];
  for (uint32_t i = 0; i < SENS_LEVELS; i++) {
    Probe* below = NULL;
    Probe* above = NULL;
    if (side != 1) SLT_TRY(sens_probe(s, h, 0, &below));
    if (side != 0) SLT_TRY(sens_probe(s, h, 1, &above));
    double left = below ? below->values[0][measure] : f;
    double right = above ? above->values[1][measure] : f;
    quotients[i] = (right - left) / (side == 2 ? 2.0 * h : h);
    h /= SENS_RATIO;
  }
  *out = extrapolate(quotients, SENS_LEVELS, side == 2 ? 2 : 1);
  return SLT_OK;
}

/// The same from ever smaller distances as long as that helps: near a singularity (a grazing event
/// on the other side) only those are of use that are smaller than the distance to it.
static SltStatus limit_of(Sens* s, int side, uint32_t measure, double h, Limit* out) {
  *out = (Limit){(double)NAN, HUGE_VAL};
  for (int i = 0; h > 0.0 && i < SENS_CLOSER; i++, h *= 0.0625) {
    Limit limit;
    SLT_TRY(limit_from(s, side, measure, h, &limit));
    if (limit.error < out->error) *out = limit;
    if (out->error <= SENS_GOOD * fabs(out->value)) break;
  }
  return SLT_OK;
}

/// What counts as much of a measure: what it is made of may have been larger than it is now.
static double measure_size(const Sens* s, uint32_t measure) {
  return fmax(fabs(s->nominal.values[0][measure]), s->sizes[measure]);
}

/// Whether a limit is one: its error is small beside it, or beside what the measure itself is.
static bool is_settled(const Sens* s, const Limit* limit, double size) {
  if (isnan(limit->value)) return false;
  return limit->error <= SENS_SETTLED * fabs(limit->value) ||
         limit->error * s->scale <= SENS_NOISE * size;
}

/// Whether the value right beside the parameter is another than the limit leads to: the measure
/// jumps there, or is noise that quotients over larger distances do not show.
static SltStatus drop_contradicted(Sens* s, int side, uint32_t measure, Limit* limit) {
  Probe* probe = NULL;
  double h = s->options->reach * s->scale * base_pow(0.25, SENS_SEARCH - 1);
  SLT_TRY(sens_probe(s, h, side, &probe));
  double f = s->nominal.values[0][measure];
  double change = (probe->values[side][measure] - f) * (side ? 1.0 : -1.0);
  double slack = SENS_NOISE * measure_size(s, measure) + 4.0 * fabs(limit->value) * h;
  if (!(fabs(change) <= slack)) limit->value = (double)NAN;
  return SLT_OK;
}

// ---- the verdict --------------------------------------------------------------------------------

/// `fail`: there are no values on either side.
static const char* reason_of(bool left, bool right, bool fail) {
  if (fail) return "the runs beside the parameter fail, or have no value";
  if (left && right) return "left and right differ";
  if (left) return "there is none to the right";
  return right ? "there is none to the left"
               : "the differences do not settle: a grazing event, a jump, or noise";
}

static void judge(const Sens* s, const Limit sides[2], const Limit* central,
                  const uint64_t beside[2], double size, SltDerivative* out) {
  bool same = beside[0] != 0 && beside[0] == beside[1];
  bool left = is_settled(s, &sides[0], size);
  bool right = is_settled(s, &sides[1], size);
  out->left = left ? sides[0].value : (double)NAN;
  out->right = right ? sides[1].value : (double)NAN;
  out->derivative = (double)NAN;
  out->error = fmax(left ? sides[0].error : 0.0, right ? sides[1].error : 0.0);
  double apart = fabs(sides[0].value - sides[1].value);
  double slack = SENS_AGREE * out->error +
                 SENS_SETTLED * 0.01 * fmax(fabs(sides[0].value), fabs(sides[1].value)) +
                 SENS_NOISE * size / s->scale;
  if (left && right && apart <= slack) {
    bool better = same && central->error < out->error;
    out->verdict = SLT_DERIVATIVE_EXISTS;
    out->derivative = better ? central->value : 0.5 * (sides[0].value + sides[1].value);
    if (better) out->error = central->error;
    return;
  }
  out->verdict = left || right ? SLT_DERIVATIVE_ONE_SIDED : SLT_DERIVATIVE_NONE;
  out->reason = reason_of(left, right, beside[0] == 0 && beside[1] == 0);
}

/// Whether a measure reads the run where events accumulate: since a run knows the limit point to
/// some millionths of the sequence only, the motion is at rest there on both sides of the
/// parameter.
static bool reads_at_limit(const Sens* s, const Track* track, double horizon) {
  double until = fmin(horizon, s->t_end);
  uint32_t i = track->count;
  while (i > 0 && track->t[i - 1] > until)
    i--;
  return i > 0 && until - track->t[i - 1] <= SENS_LIMIT * (until - track->t[0]);
}

/// What is the same on both sides wherever one looks near by does not depend on the parameter,
/// whatever events lead to it: where a bouncing body comes to rest.
static SltStatus judge_flat(Sens* s, uint32_t measure, SltDerivative* out) {
  double flat = SENS_FLAT * measure_size(s, measure);
  double near = s->options->reach * s->scale * base_pow(0.5, SENS_SEARCH);
  double h = near;
  for (uint32_t k = 0; k < SENS_SEARCH; k++) {
    Probe* probe = NULL;
    int side = k % 2 ? 1 : 0;
    SLT_TRY(sens_probe(s, h, side, &probe));
    if (side == 1) h *= 0.25;
    double change = probe->values[side][measure] - s->nominal.values[0][measure];
    if (probe->status[side] < 0 || !(fabs(change) <= flat)) return SLT_OK;
  }
  out->verdict = SLT_DERIVATIVE_EXISTS;
  out->derivative = out->left = out->right = 0.0;
  out->error = flat / near;
  out->reason = NULL;
  return SLT_OK;
}

SltStatus sens_by_differences(Sens* s, uint32_t measure, SltDerivative* out) {
  Limit sides[2];
  Limit central = {(double)NAN, HUGE_VAL};
  double distance[2];
  uint64_t beside[2];
  for (int side = 0; side < 2; side++) {
    SLT_TRY(settled_distance(s, side, measure, &distance[side], &beside[side]));
    SLT_TRY(limit_of(s, side, measure, distance[side], &sides[side]));
    SLT_TRY(drop_contradicted(s, side, measure, &sides[side]));
  }
  // right beside a limit point of events a run cannot tell one side from the other
  const Track* track = &s->nominal.track[0];
  double horizon = measure_horizon(s->measures, measure, s->nominal.values[0]);
  bool piles = track->accumulates && track->t_accumulation <= horizon;
  for (int side = 0; side < 2; side++) {
    if (piles && distance[side] < SENS_PILE * s->scale) sides[side].value = (double)NAN;
  }
  bool same = beside[0] != 0 && beside[0] == beside[1];
  if (same) SLT_TRY(limit_of(s, 2, measure, fmin(distance[0], distance[1]), &central));
  judge(s, sides, &central, beside, measure_size(s, measure), out);
  bool rests = piles && !reads_at_limit(s, track, horizon);
  if (rests && out->verdict != SLT_DERIVATIVE_EXISTS) SLT_TRY(judge_flat(s, measure, out));
  if (piles && out->verdict != SLT_DERIVATIVE_EXISTS) {
    out->reason = "accumulation: infinitely many events come together where the measure is taken";
  }
  return SLT_OK;
}

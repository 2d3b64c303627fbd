// SPDX-License-Identifier: MIT
//
// Verdicts on derivatives that were followed along runs. The one at the parameter itself is exact
// where the events that lead to the measure cross their boundaries one by one. Whether they do is
// seen beside it: a run with derivatives on each side, at two distances. Where events graze, the
// derivative grows without bound as the distance shrinks; where two change their order it has
// another limit on each side; where the measure jumps it says nothing about the other side.
#include "experiment/sens.h"

#include <math.h>

#define FAR      1e-5  // distance of the first run, relative to the parameter
#define CLOSER   4e-3  // ... and of the second, relative to that of the first
#define LOOKS    2     // times that runs are made ever closer, where sides do not agree
#define GROWS    4.0   // times that a derivative grows from one to the other, where it is infinite
#define AGREES   1e-5  // relative difference of the two sides
#define SPREAD   4.0   // times the difference of two derivatives of one side
#define QUOTIENT 1e-4  // ... and of the quotient of the values
#define STEEPER  10.0  // times the change of the values: what no derivative of theirs comes to
#define ROUNDING 1e-8  // of values, relative: what tolerances leave

typedef struct Side {
  bool settled;  // it has a limit
  bool grows;    // it has none: the derivative is infinite
  bool jumps;    // ... the measure itself jumps
  bool noise;    // the values do not change as the derivative says: the motion has forgotten it
  bool alike;    // the sequence of events is the same at both distances
  bool same[2];  // sequence of events as at the parameter: far, near
  double slope[2];
  double value[2];
  double limit;
} Side;

/// `slope` at the parameter itself, NaN where it is not known.
static SltStatus look_beside(Sens* s, uint32_t measure, int side, double far, double slope,
                             Side* out) {
  const double distance[2] = {far, CLOSER * far};
  uint64_t here = sens_signature(s, &s->nominal, 0, measure);
  uint64_t there[2];
  for (int k = 0; k < 2; k++) {
    Probe* probe = NULL;
    SLT_TRY(sens_slope_probe(s, distance[k], side, &probe));
    there[k] = sens_signature(s, probe, side, measure);
    out->same[k] = there[k] == here;
    out->slope[k] = there[k] ? probe->slopes[side][measure] : (double)NAN;
    out->value[k] = probe->values[side][measure];
  }
  double f = s->nominal.values[0][measure];
  double sign = side ? 1.0 : -1.0;
  double change = sign * (out->value[1] - f);
  double size = fmax(s->sizes[measure], fmax(fabs(f), fabs(out->value[1])));
  bool alike = there[0] == there[1] && isfinite(out->slope[0]);
  out->alike = alike;
  // a derivative that bends may be small far away; one that is infinite is no more so beside it
  bool bounded = out->same[1] && fabs(slope) <= GROWS * fabs(out->slope[1]);
  out->grows = alike && !bounded && fabs(out->slope[1]) > GROWS * fabs(out->slope[0]) &&
               fabs(out->slope[1]) * distance[0] > ROUNDING * size;
  // what the slope beside it does not explain, up to the bend of a root
  double most = 4.0 * fmax(fabs(out->slope[1]), alike ? fabs(out->slope[0]) : 0.0) * distance[1];
  out->jumps = !(fabs(change) <= most + ROUNDING * size);
  out->noise = fabs(out->slope[1]) * distance[1] > STEEPER * fabs(change) + ROUNDING * size;
  out->settled = isfinite(out->slope[1]) && !out->grows && !out->jumps;
  out->limit = out->slope[1];
  if (alike) {
    double share = distance[1] / (distance[0] - distance[1]);
    out->limit += share * (out->slope[1] - out->slope[0]);
  }
  return SLT_OK;
}

/// What tolerances leave of a quotient of values.
static double quotient_noise(const Sens* s, uint32_t measure, double far) {
  return 0.1 * ROUNDING * s->sizes[measure] / far;
}

/// Whether the values of the runs on both sides say the same as the derivative.
static bool is_believable(const Sens* s, uint32_t measure, const Side sides[2], double far,
                          double slope) {
  if (sides[0].noise || sides[1].noise) return false;
  if (!sides[0].same[0] || !sides[1].same[0]) return true;  // nothing to compare with
  double quotient = (sides[1].value[0] - sides[0].value[0]) / (2.0 * far);
  double bend = fabs(sides[1].slope[0] - sides[0].slope[0]);
  return fabs(quotient - slope) <= QUOTIENT * fabs(slope) + bend + quotient_noise(s, measure, far);
}

static const char* reason_of(const Side sides[2], bool settled) {
  if (sides[0].grows || sides[1].grows) return "grazing: the derivative is infinite on one side";
  if (sides[0].jumps || sides[1].jumps) {
    return "the measure jumps: the sequence of events is another on the other side";
  }
  if (!settled) return "there is no derivative on one side";
  bool other = !sides[0].same[1] || !sides[1].same[1];
  return other ? "the sequence of events changes here: left and right differ"
               : "left and right differ";
}

/// `noise`: what tolerances may leave of a derivative that is none.
static void judge(const Side sides[2], double slope, double noise, SltDerivative* out) {
  bool left = sides[0].settled;
  bool right = sides[1].settled;
  double apart = fabs(sides[0].limit - sides[1].limit);
  double size = fmax(fabs(sides[0].limit), fabs(sides[1].limit));
  double slack = AGREES * size + noise;
  // how far derivatives of one side differ tells what a difference of the sides is worth
  for (int side = 0; side < 2; side++) {
    double spread = fabs(sides[side].slope[1] - sides[side].slope[0]);
    if (sides[side].alike) slack += SPREAD * spread;
  }
  out->left = left ? sides[0].limit : (double)NAN;
  out->right = right ? sides[1].limit : (double)NAN;
  out->derivative = (double)NAN;
  out->error = (double)NAN;
  if (left && right && apart <= slack) {
    double middle = 0.5 * (sides[0].limit + sides[1].limit);
    // two events that change their order without a trace leave nothing at the point itself
    bool here = fabs(slope - middle) <= slack;
    out->verdict = SLT_DERIVATIVE_EXISTS;
    out->derivative = here ? slope : middle;
    out->error = fmax(fabs(slope - middle) * here, here ? 0.0 : apart);
    out->left = out->right = out->derivative;
    return;
  }
  out->verdict = left || right ? SLT_DERIVATIVE_ONE_SIDED : SLT_DERIVATIVE_NONE;
  out->reason = reason_of(sides, left && right);
  out->error = left && right ? 0.0 : out->error;
}

/// The verdict from runs at `far` and nearer.
static SltStatus judge_at(Sens* s, uint32_t measure, double slope, double far, SltDerivative* out,
                          bool* found) {
  Side sides[2] = {{0}};
  *found = false;
  for (int side = 0; side < 2; side++)
    SLT_TRY(look_beside(s, measure, side, far, slope, &sides[side]));
  bool known = false;
  for (int side = 0; side < 2; side++)
    known |= isfinite(sides[side].slope[1]);
  bool at = isfinite(slope);
  if (!known || (!at && sides[0].same[1] && sides[1].same[1])) return SLT_OK;
  if (at && !is_believable(s, measure, sides, far, slope)) return SLT_OK;
  judge(sides, slope, ROUNDING * s->sizes[measure] / s->scale, out);
  *found = true;
  return SLT_OK;
}

/// Where a derivative bends within the distance of the runs, or the events change, its sides only
/// seem to differ, or the values to contradict it: what is no derivative is none closer by either.
/// Values that differ by little more than their noise contradict nothing.
SltStatus sens_along(Sens* s, uint32_t measure, double slope, SltDerivative* out, bool* found) {
  double far = FAR * s->scale;
  SLT_TRY(judge_at(s, measure, slope, far, out, found));
  for (int i = 1; i < LOOKS && !(*found && out->verdict == SLT_DERIVATIVE_EXISTS); i++) {
    SltDerivative closer = *out;
    bool again = false;
    far *= CLOSER;
    bool tells = quotient_noise(s, measure, far) <= QUOTIENT * fabs(slope);
    if (!*found && !tells) return SLT_OK;
    closer.reason = NULL;
    SLT_TRY(judge_at(s, measure, slope, far, &closer, &again));
    if (!again || closer.verdict != SLT_DERIVATIVE_EXISTS) continue;
    *out = closer;
    *found = true;
  }
  return SLT_OK;
}

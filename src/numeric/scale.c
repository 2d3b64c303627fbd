// SPDX-License-Identifier: MIT
//
// Scales: what the components of the state measure, as far as the run has seen them. The absolute
// part of the error weights is taken from them, so that results do not depend on the units of a
// model. A component that has only been 0 so far has no scale: where it ends is used instead.
// Motion that sets out from 0 like a power of the time (a root at its branch point) has the same
// relative error over any step: where shorter steps do not help it is not tested, and the step is
// kept short. A component that others hold near 0 moves by the rounding of its rate; while bounds
// of that rounding are known, no weight is smaller.
#include "numeric/internal.h"

#define NOISE_STEPS 64    // that a bound of the rounding is good for
#define OPEN_STEP   1e-4  // longest step that is not tested, in times that others move by their scale
#define OPEN_FALL   0.5  // of the error from one rejected trial to the next: less is no progress

void num_scale_absolute(NumStepper* s) {
  if (!s->options.by_scale) {
    return;
  }
  const double share = NUM_SCALE_SHARE * s->options.rtol;
  int open = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    s->atol[i] = share * s->scales.value[i];
    open |= !(s->scales.value[i] > 0.0);
  }
  s->scales.open = open != 0;
}

/// Components without a scale: the way they go in the step stands for it, or the way to its end.
static void weigh_open(NumStepper* s) {
  // so that a step divided by it does not overflow
  double least = DBL_MIN * num_max(1.0, 8.0 * s->trial.h);
  for (uint32_t i = 0; i < s->n; i++) {
    double way = num_abs(s->trial.h * s->trial.f0[i]);
    if (!(s->scales.value[i] > 0.0)) {
      s->atol[i] = way > 0.0 || !s->scales.untested ? num_max(s->options.rtol * way, least)
                                                    : (double)INFINITY;
    }
  }
}

void num_scale_reject(NumStepper* s) {
  // an error that follows the order of the method falls far more
  bool hopeless = s->control.after_rejection && s->trial.error > OPEN_FALL * s->scales.open_error;
  s->scales.untested = s->scales.open && (s->scales.untested || hopeless);
  s->scales.open_error = s->trial.error;
}

void num_scale_begin(NumStepper* s) {
  if (!s->options.by_scale) {
    return;
  }
  if (s->scales.open) {
    weigh_open(s);
  }
  if (s->scales.noise_steps == 0) {
    return;
  }
  const double share = NUM_SCALE_SHARE * s->options.rtol;
  for (uint32_t i = 0; i < s->n; i++) {
    double least = NUM_NOISE_SHARE * s->trial.h * s->scales.noise[i];
    s->atol[i] = num_max(s->scales.value[i] > 0.0 ? share * s->scales.value[i] : s->atol[i], least);
  }
}

double* num_stepper_noise(NumStepper* s, bool use) {
  s->scales.noise_steps = use ? NOISE_STEPS : 0;
  return s->scales.noise;
}

/// Time in which the motion covers the scale of some component; infinite where nothing moves.
static double time_scale(const NumStepper* s) {
  double shortest = (double)INFINITY;
  for (uint32_t i = 0; i < s->n; i++) {
    if (s->scales.value[i] > 0.0) {
      shortest = num_min(shortest, s->scales.value[i] / num_abs(s->trial.f0[i]));
    }
  }
  return shortest;
}

bool num_scale_too_far(const NumStepper* s) {
  bool moved = false;
  for (uint32_t i = 0; s->scales.open && i < s->n; i++) {
    moved = moved || (!num_finite(s->atol[i]) && s->trial.x[i] != 0.0);
  }
  return moved && s->trial.h > OPEN_STEP * time_scale(s);
}

/// Scales that cover a point, members of a family alike.
static void cover(NumStepper* s, const double* x) {
  const uint32_t* family = s->scales.family;
  for (uint32_t i = 0; i < s->n; i++) {
    uint32_t first = family ? family[i] : i;
    double size = num_abs(x[i]);
    if (size >= NUM_SCALE_LEAST) {
      s->scales.value[first] = num_max(s->scales.value[first], size);
    }
  }
  for (uint32_t i = 0; family && i < s->n; i++) {
    s->scales.value[i] = s->scales.value[family[i]];
  }
}

static bool outgrown(const NumStepper* s, const double* restrict x) {
  const double* restrict scale = s->scales.value;
  int grown = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    grown |= num_abs(x[i]) > scale[i];
  }
  return grown != 0;
}

void num_stepper_cover(NumStepper* s, const double* size) {
  if (outgrown(s, size)) {
    cover(s, size);
    s->scales.epoch++;
    num_scale_absolute(s);
  }
}

void num_scale_note(NumStepper* s, const double* x) {
  bool quiet = s->scales.noise_steps == 1;
  s->scales.untested = false;
  s->scales.noise_steps -= s->scales.noise_steps > 0;
  if (outgrown(s, x) || quiet) {
    cover(s, x);
    s->scales.epoch++;
    num_scale_absolute(s);
  }
}

void num_stepper_set_scales(NumStepper* s, uint32_t n, const double* scale,
                            const uint32_t* family) {
  SLT_ASSERT(n <= s->n_max);
  s->n = n;
  s->scales.family = family;
  s->scales.noise_steps = 0;
  for (uint32_t i = 0; i < n; i++) {
    s->scales.value[i] = scale[i];
  }
  s->scales.epoch++;
  num_scale_absolute(s);
}

double num_stepper_weight(const NumStepper* s, uint32_t i) {
  double absolute = num_finite(s->atol[i]) ? s->atol[i] : 0.0;
  return absolute + s->options.rtol * num_abs(s->x[i]);
}

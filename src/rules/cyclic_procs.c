// SPDX-License-Identifier: MIT
//
// One step of each procedure. The order of the operations is part of the definition: results are
// the same bits everywhere.
#include "rules/cyclic.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586

/// A time as a whole number of cycles, at least `least`.
static uint32_t cycles(double time, double dt, uint32_t least) {
  double n = floor(time / dt + 0.5);
  if (!(n > (double)least)) return least;
  return n < 1e8 ? (uint32_t)n : 100000000u;
}

uint32_t cyclic_memory(const RulesModel* m, const RulesRule* rule, double dt) {
  switch ((int)rule->procedure) {
  case RULES_DELAY: return 1 + cycles(rules_param(m, rule, RULES_PARAM_T, 0.0), dt, 0);
  case RULES_DIFFERENTIATION: return 2;
  case RULES_PID: return 3;
  case RULES_OSCILLATOR:
  case RULES_COUNTER:
  case RULES_TIMER: return 1;
  default: return 0;
  }
}

static void set_limits(const RulesModel* m, CyclicRule* r) {
  r->p[0] = rules_param(m, r->source, RULES_PARAM_LO, -HUGE_VAL);
  r->p[1] = rules_param(m, r->source, RULES_PARAM_UP, HUGE_VAL);
}

/// Levels of a relay: p[0] lower, p[1] upper.
static void set_levels(const RulesModel* m, CyclicRule* r) {
  r->p[1] = r->k * rules_param(m, r->source, RULES_PARAM_UP, 1.0);
  r->p[0] = r->source->params[RULES_PARAM_LO]
                ? r->k * rules_param(m, r->source, RULES_PARAM_LO, 0.0)
                : -r->p[1];
  r->p[2] = rules_param(m, r->source, RULES_PARAM_ZONE, 0.0);
}

static void prepare_pid(const RulesModel* m, CyclicRule* r) {
  set_limits(m, r);
  r->p[2] = rules_param(m, r->source, RULES_PARAM_TI, 0.0);
  r->p[3] = rules_param(m, r->source, RULES_PARAM_TD, 0.0);
  r->p[4] = rules_param(m, r->source, RULES_PARAM_FILTER, 0.1 * r->p[3]);
}

void cyclic_prepare(const RulesModel* m, CyclicRule* r, double dt) {
  const RulesRule* s = r->source;
  switch ((int)r->procedure) {
  case RULES_PROPORTIONAL: r->p[0] = rules_param(m, s, RULES_PARAM_K2, 0.0); break;
  case RULES_ADDING: r->p[0] = rules_param(m, s, RULES_PARAM_K2, 1.0); break;
  case RULES_INTEGRAL:
  case RULES_SATURATION: set_limits(m, r); break;
  case RULES_DIFFERENTIATION: r->p[0] = rules_param(m, s, RULES_PARAM_FILTER, 0.0); break;
  case RULES_SMOOTHING: r->p[0] = rules_param(m, s, RULES_PARAM_T, 0.0); break;
  case RULES_RELAY:
  case RULES_HYSTERESIS: set_levels(m, r); break;
  case RULES_DEAD_ZONE:
  case RULES_BACKLASH: r->p[0] = rules_param(m, s, RULES_PARAM_ZONE, 0.0); break;
  case RULES_DELAY: r->count = cycles(rules_param(m, s, RULES_PARAM_T, 0.0), dt, 0); break;
  case RULES_QUANTISE: r->p[0] = rules_param(m, s, RULES_PARAM_QUANTUM, 1.0); break;
  case RULES_SAMPLE_HOLD:
  case RULES_NOISE:
    r->count = cycles(rules_param(m, s, RULES_PARAM_PERIOD, 0.0), dt, 1);
    r->p[0] = rules_param(m, s, RULES_PARAM_SEED, 1.0);
    break;
  case RULES_SINE:
  case RULES_COSINE:
  case RULES_EXPONENTIAL:
  case RULES_LOGARITHM:
  case RULES_SQUARE_ROOT:
    r->p[0] = rules_param(m, s, RULES_PARAM_K2, 1.0);
    r->p[1] = rules_param(m, s, RULES_PARAM_PHASE, 0.0);
    break;
  case RULES_POWER:
    r->p[0] = rules_param(m, s, RULES_PARAM_EXPONENT, 2.0);
    r->p[1] = s->arg[1].expr ? 1.0 : 0.0;
    break;
  case RULES_STEP:
  case RULES_RAMP:
    r->p[0] = rules_param(m, s, RULES_PARAM_START, 0.0);
    r->p[1] = rules_param(m, s, RULES_PARAM_SLOPE, 1.0);
    break;
  case RULES_PULSE:
    r->p[0] = rules_param(m, s, RULES_PARAM_START, 0.0);
    r->p[1] = rules_param(m, s, RULES_PARAM_PERIOD, 1.0);
    r->p[2] = rules_param(m, s, RULES_PARAM_WIDTH, 0.5);
    break;
  case RULES_SINE_SOURCE:
    r->p[0] = rules_param(m, s, RULES_PARAM_FREQUENCY, 1.0);
    r->p[1] = rules_param(m, s, RULES_PARAM_PHASE, 0.0);
    break;
  case RULES_OSCILLATOR:
    r->p[0] = rules_param(m, s, RULES_PARAM_T, 1.0);
    r->p[1] = rules_param(m, s, RULES_PARAM_DAMPING, 0.0);
    break;
  case RULES_PID: prepare_pid(m, r); break;
  default: break;
  }
}

// ---- steps
// ----------------------------------------------------------------------------------------

static double clamp(double value, const double* limits) {
  if (value < limits[0]) return limits[0];
  return value > limits[1] ? limits[1] : value;
}

static double step_derivative(RulesCyclic* c, const CyclicRule* r, double a) {
  double* mem = c->memory + r->memory;
  double before = mem[1] != 0.0 ? mem[0] : a;
  mem[1] = 1.0;
  if (r->p[0] > 0.0) {
    // filtered: T y' + y = K a'
    double z = before + (a - before) * c->dt / (r->p[0] + c->dt);
    mem[0] = z;
    return r->k * (a - z) / r->p[0];
  }
  mem[0] = a;
  return r->k * (a - before) / c->dt;
}

/// Ring buffer: what was written `count` cycles ago.
static double step_delay(RulesCyclic* c, const CyclicRule* r, double a) {
  double* ring = c->memory + r->memory;
  uint32_t size = r->count + 1;
  if (c->n == 0) {
    for (uint32_t i = 0; i < size; i++)
      ring[i] = c->v[r->target];
  }
  uint32_t at = (uint32_t)(c->n % size);
  ring[at] = r->k * a;
  return ring[(at + 1) % size];
}

static double pid_error(const RulesCyclic* c, const CyclicRule* r) {
  return r->second ? c->v[r->a] - c->v[r->b] : c->v[r->a];
}

static void filter_error(RulesCyclic* c, const CyclicRule* r, double e) {
  double* mem = c->memory + r->memory;
  if (!(r->p[3] > 0.0)) return;
  if (mem[2] == 0.0) mem[1] = e;
  mem[2] = 1.0;
  mem[1] = mem[1] + (e - mem[1]) * c->dt / (r->p[4] + c->dt);
}

static double step_pid(RulesCyclic* c, const CyclicRule* r) {
  double* mem = c->memory + r->memory;  // integral, filter, begun
  double e = pid_error(c, r);
  filter_error(c, r, e);
  double derivative = r->p[3] > 0.0 ? r->p[3] * (e - mem[1]) / r->p[4] : 0.0;
  double v = r->k * (e + mem[0] + derivative);
  bool stopped = (v > r->p[1] && r->k * e > 0.0) || (v < r->p[0] && r->k * e < 0.0);
  if (r->p[2] > 0.0 && !stopped) mem[0] = mem[0] + e * c->dt / r->p[2];
  return clamp(v, r->p);
}

static double step_oscillator(RulesCyclic* c, const CyclicRule* r, double a) {
  double* v = c->memory + r->memory;
  double y = c->v[r->target];
  double t = r->p[0];
  *v = *v + c->dt * (r->k * a - y - 2.0 * r->p[1] * t * *v) / (t * t);
  return y + *v * c->dt;
}

static double slope_at(const double* p) {
  return (p[3] - p[1]) / (p[2] - p[0]);
}

static double knot_slope(const RulesRule* s, uint32_t i) {
  const double* p = s->points + 2 * (size_t)i;
  if (i == 0) return slope_at(p);
  if (i + 1 == s->point_count) return slope_at(p - 2);
  double left = p[0] - p[-2];
  double right = p[2] - p[0];
  return (slope_at(p - 2) * right + slope_at(p) * left) / (left + right);
}

static double step_table(const CyclicRule* r, double a) {
  const RulesRule* s = r->source;
  uint32_t last = s->point_count - 1;
  if (!s->extrapolate) {
    if (a < s->points[0]) return r->k * s->points[1];
    if (a >= s->points[2 * (size_t)last]) return r->k * s->points[2 * (size_t)last + 1];
  }
  uint32_t cell = 0;
  while (cell + 1 < last && a >= s->points[2 * (size_t)(cell + 1)])
    cell++;
  const double* p = s->points + 2 * (size_t)cell;
  double d = a - p[0];
  double slope = slope_at(p);
  if (!s->cubic) return r->k * (p[1] + d * slope);
  double h = p[2] - p[0];
  double m0 = knot_slope(s, cell);
  double m1 = knot_slope(s, cell + 1);
  double c2 = (3.0 * slope - 2.0 * m0 - m1) / h;
  double c3 = (m0 + m1 - 2.0 * slope) / (h * h);
  return r->k * (p[1] + d * (m0 + d * (c2 + d * c3)));
}

static double step_division(RulesCyclic* c, const CyclicRule* r, double a, double b) {
  if (b == 0.0) {
    c->divisions++;
    return c->v[r->target];
  }
  return r->k * a / b;
}

static double step_relay(const CyclicRule* r, double a, double y) {
  if (a > 0.0) return r->p[1];
  if (a < 0.0) return r->p[0];
  return r->keep ? y : 0.0;
}

static double step_source(const RulesCyclic* c, const CyclicRule* r) {
  double t = c->t;
  switch ((int)r->procedure) {
  case RULES_STEP: return t >= r->p[0] ? r->k : 0.0;
  case RULES_RAMP: return t >= r->p[0] ? r->k * r->p[1] * (t - r->p[0]) : 0.0;
  case RULES_PULSE: {
    if (t < r->p[0]) return 0.0;
    double phase = (t - r->p[0]) - r->p[1] * floor((t - r->p[0]) / r->p[1]);
    return phase < r->p[2] ? r->k : 0.0;
  }
  default: return r->k * base_sin(TWO_PI * r->p[0] * t + r->p[1]);
  }
}

/// What depends on the present value of the variable.
static double step_memory(RulesCyclic* c, const CyclicRule* r, double a, double b, bool rising) {
  double y = c->v[r->target];
  switch ((int)r->procedure) {
  case RULES_INTEGRAL: return clamp(y + r->k * a * c->dt, r->p);
  case RULES_SMOOTHING: return y + (r->k * a - y) * c->dt / (r->p[0] + c->dt);
  case RULES_HYSTERESIS:
    if (a >= r->p[2]) return r->p[1];
    return a <= -r->p[2] ? r->p[0] : y;
  case RULES_BACKLASH:
    if (r->k * a - r->p[0] > y) return r->k * a - r->p[0];
    return r->k * a + r->p[0] < y ? r->k * a + r->p[0] : y;
  case RULES_SAMPLE_HOLD: return c->n % r->count == 0 ? r->k * a : y;
  case RULES_COUNTER: return rising ? y + r->k : y;
  case RULES_TIMER: return (rising && r->restart ? 0.0 : y) + r->k * c->dt;
  case RULES_LATCH:
    if (b > 0.0) return 0.0;
    return a > 0.0 ? r->k : y;
  case RULES_NOISE:
    if (c->n % r->count != 0) return y;
    uint64_t drawn = c->n / r->count;
    return r->k * noise_normal(c->seed, r->p[0], (double)drawn);
  default: return step_source(c, r);
  }
}

double cyclic_step(RulesCyclic* c, const CyclicRule* r, bool rising) {
  double a = c->v[r->a];
  double b = c->v[r->b];
  switch ((int)r->procedure) {
  case RULES_MULTIPLICATION: return r->k * a * b;
  case RULES_PROPORTIONAL: return r->k * a + r->p[0];
  case RULES_ADDING: return r->second ? r->k * a + r->p[0] * b : r->k * a;
  case RULES_DIVISION: return step_division(c, r, a, b);
  case RULES_DIFFERENTIATION: return step_derivative(c, r, a);
  case RULES_ABSOLUTE: return r->k * fabs(a);
  case RULES_RELAY: return step_relay(r, a, c->v[r->target]);
  case RULES_DEAD_ZONE:
    if (a > r->p[0]) return r->k * (a - r->p[0]);
    return a < -r->p[0] ? r->k * (a + r->p[0]) : 0.0;
  case RULES_SATURATION: return clamp(r->k * a, r->p);
  case RULES_DELAY: return step_delay(c, r, a);
  case RULES_QUANTISE: return r->p[0] * floor(r->k * a / r->p[0] + 0.5);
  case RULES_TABLE: return step_table(r, a);
  case RULES_SINE: return r->k * base_sin(r->p[0] * a + r->p[1]);
  case RULES_COSINE: return r->k * base_cos(r->p[0] * a + r->p[1]);
  case RULES_EXPONENTIAL: return r->k * base_exp(r->p[0] * a);
  case RULES_LOGARITHM: return r->k * base_log(r->p[0] * a);
  case RULES_SQUARE_ROOT: return r->k * sqrt(r->p[0] * a);
  case RULES_POWER: return r->k * base_pow(a, r->p[1] != 0.0 ? b : r->p[0]);
  case RULES_MINIMUM: return r->k * (a < b ? a : b);
  case RULES_MAXIMUM: return r->k * (a < b ? b : a);
  case RULES_SELECT: return r->k * (b > 0.0 ? a : c->v[r->c]);
  case RULES_SIGN: return r->k * (a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0);
  case RULES_OSCILLATOR: return step_oscillator(c, r, a);
  case RULES_PID: return step_pid(c, r);
  case RULES_ASSIGN: return r->first ? r->k * a : r->k;
  default: return step_memory(c, r, a, b, rising);
  }
}

void cyclic_idle(RulesCyclic* c, const CyclicRule* r) {
  switch ((int)r->procedure) {
  case RULES_DELAY: (void)step_delay(c, r, c->v[r->a]); break;
  case RULES_DIFFERENTIATION: (void)step_derivative(c, r, c->v[r->a]); break;
  case RULES_PID: filter_error(c, r, pid_error(c, r)); break;
  default: break;
  }
}

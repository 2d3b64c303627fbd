// SPDX-License-Identifier: MIT
//
// An integrator of one's own around a model, as an importer of FMI does in model exchange: the
// model gives rates and event indicators and carries out events, the program below steps.
//
//   cc exchange.c $(pkg-config --cflags --libs saltus) -lm -o exchange
#include <saltus/saltus.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST 8  // states, and indicators

static const char model_text[] = "// a heater with a switch, in air that somebody else knows\n"
                                 "T' = 0.1 * (air - T) + 3 * on;  T(t0) = 15;\n"
                                 "air(t0) = 10;\n"
                                 "on = 1;\n"
                                 "state off [T >= 22] { on = 0; } from init, heating;\n"
                                 "state heating [T <= 18] {} from off;\n"
                                 "at 12 { set T = T - 2; }\n";

typedef struct Stepper {
  SltSim* sim;
  SltQuantity states[MOST], air;
  uint32_t state_count, indicator_count;
  double t, x[MOST], z[MOST];  // the point, and the indicators there
} Stepper;

/// Go to a point; the air changes continuously, so it is no event.
static SltStatus go(Stepper* s, double t, const double* x) {
  SltStatus status = slt_sim_exchange_input(s->sim, s->air, 10.0 + 0.1 * t);
  return status < 0 ? status : slt_sim_exchange_point(s->sim, t, x);
}

/// One step of Heun's method from the point of the stepper.
static SltStatus heun(Stepper* s, double h, double* x) {
  double first[MOST] = {0};
  double second[MOST] = {0};
  SltStatus status = go(s, s->t, s->x);
  if (status >= 0) status = slt_sim_exchange_rates(s->sim, first);
  for (uint32_t i = 0; i < s->state_count; i++)
    x[i] = s->x[i] + h * first[i];
  if (status >= 0) status = go(s, s->t + h, x);
  if (status >= 0) status = slt_sim_exchange_rates(s->sim, second);
  for (uint32_t i = 0; i < s->state_count; i++)
    x[i] = s->x[i] + 0.5 * h * (first[i] + second[i]);
  return status < 0 ? status : go(s, s->t + h, x);
}

/// Whether an indicator differs in sign from that at the point of the stepper.
static bool crosses(Stepper* s) {
  double z[MOST] = {0};
  if (slt_sim_exchange_indicators(s->sim, z, s->indicator_count) < 0) return false;
  for (uint32_t i = 0; i < s->indicator_count; i++) {
    if ((z[i] > 0) != (s->z[i] > 0)) return true;
  }
  return false;
}

/// A step of at most h that ends at the first crossing, which bisection finds.
static SltStatus step(Stepper* s, double h) {
  double x[MOST] = {0};
  SltStatus status = heun(s, h, x);
  double before = 0.0;
  double after = h;
  if (status >= 0 && crosses(s)) {
    while (status >= 0 && after - before > 1e-12) {
      double middle = 0.5 * (before + after);
      status = heun(s, middle, x);
      if (crosses(s)) {
        after = middle;
      } else {
        before = middle;
      }
    }
    if (status >= 0) status = heun(s, after, x);
  }
  s->t += after;
  memcpy(s->x, x, sizeof x);
  return status;
}

/// The event at the point: states may have other values afterwards, and indicators other signs.
static SltStatus carry_out(Stepper* s, double* next) {
  bool restarts = false;
  SltStatus status = slt_sim_exchange_event(s->sim, next, &restarts);
  if (status < 0) return status;
  for (uint32_t i = 0; i < s->state_count; i++) {
    if (slt_sim_exchange_computes(s->sim, s->states[i])) continue;
    s->x[i] = slt_sim_get(s->sim, s->states[i]);
    if (slt_sim_exchange_computed(s->sim, s->states[i])) puts("a state is integrated again");
  }
  printf("%7.4f  T = %.3f, %s%s\n", s->t, s->x[0], slt_sim_automaton_state(s->sim, 0),
         restarts ? ", the integrator begins anew" : "");
  return status;
}

static SltStatus integrate(Stepper* s, double end) {
  double next = (double)INFINITY;
  SltStatus status = carry_out(s, &next);
  while (status == SLT_OK && s->t < end) {
    bool event = false;
    double h = fmin(0.01, fmin(end, next) - s->t);
    status = slt_sim_exchange_indicators(s->sim, s->z, s->indicator_count);
    if (status >= 0) status = step(s, h);
    if (s->t > next - 1e-9) s->t = next;  // not a rounding beside it
    if (status >= 0) status = go(s, s->t, s->x);
    if (status >= 0) status = slt_sim_exchange_step(s->sim, &event);
    if (status >= 0 && (event || s->t >= next)) status = carry_out(s, &next);
  }
  return status;
}

int main(void) {
  Stepper s = {.t = 0.0};
  SltModel* model = NULL;
  SltSimOptions options = slt_sim_options();
  SltStatus status = slt_model_compile("heater", model_text, strlen(model_text), NULL, &model);
  if (status >= 0) status = slt_sim_create(model, &options, &s.sim);
  if (status >= 0) status = slt_sim_start(s.sim);
  if (status >= 0) status = slt_sim_find(s.sim, "air", &s.air);
  if (status >= 0) status = slt_sim_exchange_states(s.sim, s.states, MOST, &s.state_count);
  if (status >= 0) status = slt_sim_exchange_begin(s.sim, s.states, s.state_count, 0.0);
  if (status >= 0) {
    s.indicator_count = slt_sim_exchange_indicator_count(s.sim);
    printf("%u state, %u event indicators\n", s.state_count, s.indicator_count);
    if (s.indicator_count > MOST) status = SLT_ERR_LIMIT;
  }
  for (uint32_t i = 0; status >= 0 && i < s.state_count; i++)
    s.x[i] = slt_sim_get(s.sim, s.states[i]);
  if (status >= 0) status = integrate(&s, 20.0);
  if (status < 0) fprintf(stderr, "%s\n", slt_status_text(status));
  slt_sim_free(s.sim);
  slt_model_free(model);
  return status < 0;
}

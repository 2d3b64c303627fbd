// SPDX-License-Identifier: MIT
//
// A controller around a model: every period it reads an output and writes an input. Between the
// periods the model moves on its own, with events of its own. How finely the time in between is
// asked for changes nothing: the values come from dense output, and the results are the same bits.
//
//   cc control.c $(pkg-config --cflags --libs saltus) -o control
#include <saltus/saltus.h>

#include <stdio.h>
#include <string.h>

static const char model_text[] =
    "// a room with a heater, whose power comes from outside, and a window\n"
    "const capacity = 1000, loss = 2, outside = 5;\n"
    "capacity * T' = power - conductance * (T - outside);  T(t0) = 15;\n"
    "window: conductance = loss;\n"
    "power(t0) = 0;        // no equation determines it: an input\n"
    "energy' = power;\n"
    "state open [T >= 21.5] { window: conductance = 4 * loss; } from init, closed;\n"
    "state closed [T <= 20.5] {} from open;\n"
    "at 400 { goto open; } // somebody opens it all the same\n";

enum { PERIODS = 60 };
static const double period = 10.0;

typedef struct Result {
  double temperature, energy;
  uint64_t events;
} Result;

/// Proportional and integral part, with a limit.
static double controller(double wanted, double measured, double* integral) {
  double error = wanted - measured;
  double power = 20.0 * error + *integral;
  if (power > 0.0 && power < 100.0) *integral += 3.0 * error;
  return power < 0.0 ? 0.0 : power > 100.0 ? 100.0 : power;
}

/// The loop, with `pieces` advances per period; prints when `report`.
static SltStatus simulate(const SltModel* model, int pieces, int report, Result* result) {
  SltSimOptions options = slt_sim_options();
  options.rtol = 1e-9;
  SltSim* sim = NULL;
  SltQuantity temperature;
  SltQuantity power;
  SltQuantity energy;
  SltStatus status = slt_sim_create(model, &options, &sim);
  if (status >= 0) status = slt_sim_find(sim, "T", &temperature);
  if (status >= 0) status = slt_sim_find(sim, "power", &power);
  if (status >= 0) status = slt_sim_find(sim, "energy", &energy);
  if (status >= 0) status = slt_sim_start(sim);
  double integral = 0.0;
  for (int k = 0; k < PERIODS && status >= 0; k++) {
    double measured = slt_sim_get(sim, temperature);
    status = slt_sim_set(sim, power, controller(21.0, measured, &integral));
    if (report && k % 6 == 0) {
      printf("%6g s  %8.4f degrees  %8.4f W  window %s\n", slt_sim_time(sim), measured,
             slt_sim_get(sim, power), slt_sim_automaton_state(sim, 0));
    }
    // computed, not accumulated: the last piece ends exactly at the period's end
    for (int piece = 1; piece <= pieces && status >= 0; piece++) {
      double to = period * (k + (double)piece / pieces);
      do {
        status = slt_sim_advance(sim, to, NULL);
      } while (status == SLT_EVENT);
    }
  }
  if (status >= 0) {
    result->temperature = slt_sim_get(sim, temperature);
    result->energy = slt_sim_get(sim, energy);
    result->events = slt_sim_statistics(sim).instants;
  } else if (sim) {
    fputs(slt_sim_error(sim).rendered, stderr);
  }
  slt_sim_free(sim);
  return status;
}

int main(void) {
  SltModel* model = NULL;
  if (slt_model_compile("room", model_text, strlen(model_text), NULL, &model) < 0) return 1;
  Result whole = {0.0, 0.0, 0};
  Result pieces = {0.0, 0.0, 0};
  SltStatus status = simulate(model, 1, 1, &whole);
  if (status >= 0) status = simulate(model, 17, 0, &pieces);
  slt_model_free(model);
  if (status < 0) return 1;

  printf("after %g s: %.6f degrees, %.4f J used, %llu events\n", PERIODS * period,
         whole.temperature, whole.energy, (unsigned long long)whole.events);
  int same = memcmp(&whole.temperature, &pieces.temperature, sizeof whole.temperature) == 0 &&
             memcmp(&whole.energy, &pieces.energy, sizeof whole.energy) == 0;
  printf("17 advances per period instead of 1: %s\n", same ? "the same bits" : "other results");
  return same ? 0 : 1;
}

// SPDX-License-Identifier: MIT
//
// A simulated tank with a controller written in C, as in a control system's test bench or in
// training equipment: every 10 ms the controller reads the level and moves the valve, and the
// tank's rules are scanned once. Nothing is allocated while it runs.
#define _POSIX_C_SOURCE 199309L
#include <saltus/saltus_rules.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

// the valve is a state without a rule: an input
static const char tank[] =
    "## Constants\n\n"
    "| name | value | unit |\n|---|---|---|\n"
    "| area | 2 | m2 |\n| supply | 0.5 | m3/s |\n| outlet | 0.2 | m2.5/s |\n\n"
    "## States\n\n"
    "| name | initial | unit | kind |\n|---|---|---|---|\n"
    "| valve command | 0 | | real |\n| valve | 0 | | real |\n| inflow | 0 | m3/s | real |\n"
    "| root of level | 0 | | real |\n| outflow | 0 | m3/s | real |\n| net | 0 | m3/s | real |\n"
    "| level | 0.5 | m | real |\n| alarm | false | | logical |\n| alarms | 0 | | real |\n\n"
    "## Predicates\n\n"
    "| name | relation |\n|---|---|\n| too high | level > 1.1 |\n| normal | level < 1.05 |\n\n"
    "## Situations\n\n"
    "| situation | when | then |\n|---|---|---|\n| | too high | alarm |\n| | normal | not alarm "
    "|\n\n"
    "## Rules\n\n"
    "| # | variable | procedure | coefficient | argument 1 | argument 2 | situation | parameter | "
    "value |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
    "| 1 | valve | smoothing | 1 | valve command | | EverTrue | time constant | 1.5 |\n"
    "| 2 | inflow | multiplication | 1 | valve | supply | EverTrue | | |\n"
    "| 3 | root of level | square root | 1 | level | | EverTrue | | |\n"
    "| 4 | outflow | multiplication | 1 | root of level | outlet | EverTrue | | |\n"
    "| 5 | net | adding | 1 | inflow | outflow | EverTrue | second coefficient | -1 |\n"
    "| 6 | level | integral | 1/area | net | | EverTrue | lower limit | 0 |\n"
    "| 7 | alarms | counter | 1 | | | alarm | | |\n";

/// What runs in the controller: a PI law with a limited valve.
typedef struct Controller {
  double setpoint, gain, integral_time, integral;
} Controller;

static double controller_step(Controller* c, double level, double dt) {
  double error = c->setpoint - level;
  double wanted = c->gain * (error + c->integral);
  if (wanted > 0.0 && wanted < 1.0) c->integral += error * dt / c->integral_time;
  return wanted < 0.0 ? 0.0 : wanted > 1.0 ? 1.0 : wanted;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  (void)user;
  fputs(diagnostic->rendered, stderr);
}

static int control(SltCyclic* plant, double dt) {
  uint32_t level = 0;
  uint32_t valve = 0;
  uint32_t alarms = 0;
  if (slt_cyclic_find(plant, "level", &level) < 0) return 1;
  if (slt_cyclic_find(plant, "valve command", &valve) < 0) return 1;
  if (slt_cyclic_find(plant, "alarms", &alarms) < 0) return 1;
  Controller controller = {.setpoint = 1.0, .gain = 2.0, .integral_time = 8.0};
  double longest = 0.0;
  for (int cycle = 0; cycle < 6000; cycle++) {
    double begun = seconds();
    double command = controller_step(&controller, slt_cyclic_get(plant, level), dt);
    slt_cyclic_set(plant, valve, command);
    if (slt_cyclic_cycle(plant) < 0) return 1;
    double taken = seconds() - begun;
    if (taken > longest) longest = taken;
    if (cycle % 1000 == 999) {
      printf("t = %4.0f s  level %.4f m  valve %.3f\n", slt_cyclic_time(plant),
             slt_cyclic_get(plant, level), command);
    }
  }
  printf("alarms: %.0f; longest cycle %.0f us of %.0f us\n", slt_cyclic_get(plant, alarms),
         1e6 * longest, 1e6 * dt);
  double end = slt_cyclic_get(plant, level);
  return end > 0.99 && end < 1.01 ? 0 : 1;
}

int main(void) {
  const double dt = 0.01;
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = print_diagnostic;
  SltRules* rules = NULL;
  SltCyclic* plant = NULL;
  int failed = slt_rules_compile("tank.rules.md", tank, strlen(tank), &options, &rules) < 0 ||
               slt_cyclic_create(rules, dt, NULL, &plant) < 0;
  if (!failed) failed = control(plant, dt);
  slt_cyclic_free(plant);
  slt_rules_free(rules);
  return failed;
}

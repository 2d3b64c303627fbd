// SPDX-License-Identifier: MIT
//
// Cyclic execution of the plant in models/rules/plant.rules.md (378 rules: boiler, 14 tanks, PID
// loops, interlocks) at dt = 1 ms. Wanted: 100 times faster than the clock or better. Prints
// nanoseconds per rule and how many times faster than the clock it runs (best of several runs).
// Run from the root of the source tree, or give the model's path.
#include "bench.h"

#include <saltus/saltus_rules.h>

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "models/rules/plant.rules.md";
  const int cycles = bench_smoke() ? 10 : 50000;
  SltRules* rules = NULL;
  SltCyclic* plant = NULL;
  if (slt_rules_compile_file(path, NULL, &rules) < 0 ||
      slt_cyclic_create(rules, 1e-3, NULL, &plant) < 0) {
    fprintf(stderr, "cannot run %s\n", path);
    slt_rules_free(rules);
    return 1;
  }
  double best = 1e9;
  for (int run = 0; run < (bench_smoke() ? 1 : 5); run++) {
    slt_cyclic_reset(plant);
    double begun = bench_cpu();
    for (int i = 0; i < cycles; i++)
      slt_cyclic_cycle(plant);
    double taken = bench_cpu() - begun;
    if (taken < best) best = taken;
  }
  uint32_t count = slt_rules_settings(rules).rule_count;
  printf("%u rules: %.2f us a cycle, %.1f ns a rule, %.0f times faster than the clock\n", count,
         1e6 * best / cycles, 1e9 * best / cycles / count, cycles * 1e-3 / best);
  BenchRow row = bench_row("plant", "cyclic execution of 378 rules at 1 ms");
  row.unit = "cycle";
  row.units = cycles;
  row.saltus_s = best;
  row.limit_s = cycles * 1e-3 / 100.0;
  bench_print(&row);
  slt_cyclic_free(plant);
  slt_rules_free(rules);
  return 0;
}

// SPDX-License-Identifier: MIT
//
// Equations, a table of rules, opaque blocks and a process in one simulation. The equations are a
// tank that drains; the table is a heater with a thermostat; an opaque block computes the heat of
// the water; a process is the operator who looks every five minutes and opens the inflow for a
// while when the level is low. They exchange signals through a few doubles. A hose that is measured
// in a file disturbs the temperature.
#include <saltus/saltus.h>

#include <stdio.h>
#include <string.h>

static const char tank[] = "const area = 2;\n"
                           "inflow(t0) = 0;\n"
                           "inflow' = 0;\n"
                           "level(t0) = 2;\n"
                           "area * level' = inflow - 0.1;\n";

static const char heater[] = "## States\n\n"
                             "| name | initial | kind |\n|---|---|---|\n"
                             "| water temperature | 18 | |\n| heating power | 0 | |\n"
                             "| on | false | logical |\n\n"
                             "## Predicates\n\n| name | relation |\n|---|---|\n"
                             "| too cold | `water temperature` <= 17 |\n"
                             "| warm again | `water temperature` >= 18 |\n\n"
                             "## Situations\n\n| when | then |\n|---|---|\n"
                             "| too cold | on |\n| warm again | not on |\n\n"
                             "## Rules\n\n"
                             "| variable | procedure | coefficient | argument 1 | situation |\n"
                             "|---|---|---|---|---|\n"
                             "| heating power | proportional | 0.5 | 1 | on |\n";

static const char hose[] = "minute,celsius\n0,15\n30,15\n30,40\n60,40\n61,15\n";

typedef struct Plant {
  double level, inflow;  // shared with the model
  double heat[2];        // temperature and its rate
  double power;          // of the heater
  double hose;           // of the measured signal
  int openings, switches;
} Plant;

static void warm(SltWorld* world, void* user) {
  (void)world;
  Plant* plant = user;
  plant->heat[1] = 0.05 * (14.0 - plant->heat[0]) + plant->power;
  if (plant->inflow > 0.0) {
    plant->heat[1] += plant->inflow / (2.0 * plant->level) * (plant->hose - plant->heat[0]);
  }
}

static void operator_life(SltWorld* world, void* user) {
  Plant* plant = user;
  while (slt_process_wait(world, 5.0) == SLT_OK) {
    if (plant->level > 1.0) continue;
    plant->inflow = 0.5;
    plant->openings++;
    if (slt_process_wait(world, 7.5) != SLT_OK) return;
    plant->inflow = 0.0;
  }
}

static SltStatus to_stdout(void* user, const char* data, size_t length) {
  (void)user;
  return fwrite(data, 1, length, stdout) == length ? SLT_OK : SLT_ERR_IO;
}

/// Compile a model and let it take part in the world. What is its own is freed in main.
static SltStatus join(SltWorld* world, const char* name, const char* text, SltModel** model,
                      SltSim** sim, SltMember** member) {
  SltSimOptions options = slt_sim_options();
  SltStatus status = slt_model_compile(name, text, strlen(text), NULL, model);
  if (status >= 0) status = slt_sim_create(*model, &options, sim);
  if (status >= 0) status = slt_sim_start(*sim);
  return status >= 0 ? slt_world_add_model(world, *sim, 0.1, member) : status;
}

/// The thermostat has switched.
static void count_switch(SltWorld* world, void* user) {
  (void)world;
  ((Plant*)user)->switches++;
}

static SltStatus build(SltWorld* world, SltModel** models, SltSim** sims, SltSignal* signal,
                       Plant* plant) {
  SltMember* water = NULL;
  SltMember* thermostat = NULL;
  SltStatus status = join(world, "tank", tank, &models[0], &sims[0], &water);
  if (status >= 0) status = slt_member_input(water, "inflow", &plant->inflow);
  if (status >= 0) status = slt_member_output(water, "level", &plant->level);
  // the name says that these are tables
  if (status >= 0) {
    status = join(world, "heater.rules.md", heater, &models[1], &sims[1], &thermostat);
  }
  if (status >= 0) status = slt_member_input(thermostat, "water temperature", &plant->heat[0]);
  if (status >= 0) status = slt_member_output(thermostat, "heating power", &plant->power);
  if (status >= 0) slt_member_on_event(thermostat, count_switch, plant);
  if (status >= 0) status = slt_world_add_signal(world, signal, &plant->hose);
  SltBlockSpec spec = {.kind = SLT_BLOCK_CONTINUOUS, .priority = 1, .fn = warm, .user = plant};
  if (status >= 0) status = slt_block_schedule(world, &spec, NULL);
  if (status >= 0) {
    status = slt_integrator_create(world, 1, &plant->heat[1], &plant->heat[0], "heat",
                                   (SltTransaction){0}, NULL);
  }
  if (status >= 0) status = slt_process_start(world, 0.0, operator_life, plant, "operator", NULL);
  if (status >= 0) status = slt_world_watch(world, &plant->level, 0.0, "level");
  if (status >= 0) status = slt_world_watch(world, &plant->heat[0], 0.0, "temperature");
  return status;
}

int main(void) {
  Plant plant = {.level = 2.0, .heat = {18.0, 0.0}};
  SltModel* models[2] = {NULL, NULL};
  SltSim* sims[2] = {NULL, NULL};
  SltTable* table = NULL;
  SltSignal* signal = NULL;
  SltWorld* world = NULL;
  SltWorldOptions options = slt_world_options();
  options.method = "dp54";
  SltStatus status = slt_table_read_csv(hose, strlen(hose), &table, NULL);
  if (status >= 0) {
    status = slt_signal_create(table, "minute", "celsius", SLT_SIGNAL_LINEAR, &signal);
  }
  if (status >= 0) status = slt_world_create(&options, &world);
  if (status >= 0) status = build(world, models, sims, signal, &plant);
  if (status >= 0) status = slt_world_run(world, 120.0, 1.0);

  SltPlotOptions plot = slt_plot_options();
  plot.format = SLT_PLOT_TERMINAL;
  if (status >= 0) {
    status = slt_table_plot(slt_world_table(world), &plot, (SltWriter){to_stdout, NULL}, NULL);
  }
  printf("openings = %d\nswitches = %d\nlevel = %.6g\ntemperature = %.6g\n", plant.openings,
         plant.switches, plant.level, plant.heat[0]);
  if (status < 0) fprintf(stderr, "failed: %s\n", slt_status_text(status));
  bool good = status >= 0 && plant.openings >= 2 && plant.level > 0.5 && plant.level < 3.0 &&
              plant.heat[0] > 16.5;
  slt_world_free(world);
  slt_signal_free(signal);
  slt_table_free(table);
  for (int i = 0; i < 2; i++) {
    slt_sim_free(sims[i]);
    slt_model_free(models[i]);
  }
  return !good;
}

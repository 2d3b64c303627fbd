// SPDX-License-Identifier: MIT
//
// A compiled model, opaque blocks and a process in one simulation. The model is a tank that drains
// by its own equations; an opaque block computes the heat of the water, a process is the operator
// who looks every five minutes and opens the inflow for a while when the level is low. They
// exchange signals through three doubles. A hose that is measured in a file disturbs the
// temperature.
#include <saltus/saltus.h>

#include <stdio.h>
#include <string.h>

static const char tank[] = "const area = 2;\n"
                           "inflow(t0) = 0;\n"
                           "inflow' = 0;\n"
                           "level(t0) = 2;\n"
                           "area * level' = inflow - 0.1;\n";

static const char hose[] = "minute,celsius\n0,15\n30,15\n30,40\n60,40\n61,15\n";

typedef struct Plant {
  double level, inflow;  // shared with the model
  double heat[2];        // temperature and its rate
  double hose;           // of the measured signal
  int openings;
} Plant;

static void warm(SltWorld* world, void* user) {
  (void)world;
  Plant* plant = user;
  plant->heat[1] = 0.05 * (18.0 - plant->heat[0]);
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

static SltStatus build(SltWorld* world, SltSim* sim, SltSignal* signal, Plant* plant) {
  SltMember* member = NULL;
  SltStatus status = slt_world_add_model(world, sim, 0.5, &member);
  if (status >= 0) status = slt_member_input(member, "inflow", &plant->inflow);
  if (status >= 0) status = slt_member_output(member, "level", &plant->level);
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
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltTable* table = NULL;
  SltSignal* signal = NULL;
  SltWorld* world = NULL;
  SltSimOptions sim_options = slt_sim_options();
  SltWorldOptions options = slt_world_options();
  options.method = "dp54";
  SltStatus status = slt_model_compile("tank", tank, strlen(tank), NULL, &model);
  if (status >= 0) status = slt_sim_create(model, &sim_options, &sim);
  if (status >= 0) status = slt_sim_start(sim);
  if (status >= 0) status = slt_table_read_csv(hose, strlen(hose), &table, NULL);
  if (status >= 0) {
    status = slt_signal_create(table, "minute", "celsius", SLT_SIGNAL_LINEAR, &signal);
  }
  if (status >= 0) status = slt_world_create(&options, &world);
  if (status >= 0) status = build(world, sim, signal, &plant);
  if (status >= 0) status = slt_world_run(world, 120.0, 1.0);

  SltPlotOptions plot = slt_plot_options();
  plot.format = SLT_PLOT_TERMINAL;
  if (status >= 0) {
    status = slt_table_plot(slt_world_table(world), &plot, (SltWriter){to_stdout, NULL}, NULL);
  }
  printf("openings = %d\nlevel = %.6g\ntemperature = %.6g\n", plant.openings, plant.level,
         plant.heat[0]);
  if (status < 0) fprintf(stderr, "failed: %s\n", slt_status_text(status));
  bool good = status >= 0 && plant.openings >= 2 && plant.level > 0.5 && plant.level < 3.0;
  slt_world_free(world);
  slt_signal_free(signal);
  slt_table_free(table);
  slt_sim_free(sim);
  slt_model_free(model);
  return !good;
}

// SPDX-License-Identifier: MIT
//
// laws_bounce N: a ball that bounces N times, and nothing else. figures.py counts the calls of one
// more bounce with it.
#include <saltus/saltus.h>

#include <stdlib.h>
#include <string.h>

static const char ball[] =
    "y' = v;      y(t0) = 1;\n"
    "v' = -9.81;  v(t0) = 0;\n"
    "state bounce [y <= 0] && [v < 0] { v(t0) = -0.9*v; } from init, bounce;\n";

int main(int argc, char** argv) {
  int bounces = argc > 1 ? atoi(argv[1]) : 1;
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  if (slt_model_compile("ball", ball, strlen(ball), NULL, &model) != SLT_OK) return 1;
  if (slt_sim_create(model, &options, &sim) != SLT_OK || slt_sim_start(sim) != SLT_OK) return 1;
  for (int i = 0; i < bounces; i++) {
    if (slt_sim_advance(sim, 100.0, NULL) != SLT_EVENT) return 1;
  }
  slt_sim_free(sim);
  slt_model_free(model);
  return 0;
}

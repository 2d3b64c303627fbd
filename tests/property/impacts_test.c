// SPDX-License-Identifier: MIT
//
// Impacts one after the other keep their times: a ball that is thrown up again whenever it has
// become slow, against the closed form. An event placed always to one side of its crossing would be
// late by half a unit in the last place each time, and every impact would pass that on to those
// after it.
#include "test.h"

#include <saltus/saltus.h>

#define BOUNCES 8000

static const char ball[] = "const k = 0.9, v_min = 0.05, a = 9.81;\n"
                           "y' = v;   y(t0) = 0;\n"
                           "v' = -a;  v(t0) = sqrt(2 * a);\n"
                           "last(t0) = 0;\n"
                           "macro rebound = -k * v;\n"
                           "state flight [y <= 0] && noEvent[v < 0] {\n"
                           "  v(t0) = if(rebound < v_min, sqrt(2 * a), rebound);\n"
                           "  y(t0) = 0;\n"
                           "  last(t0) = time;\n"
                           "} from init, flight;\n";

/// Time of the bounce with that number.
static double exact(int count) {
  double v0 = sqrt(2.0 * 9.81);
  double v = v0;
  long double t = 0.0L;
  for (int i = 0; i < count; i++) {
    t += 2.0L * (long double)v / 9.81L;
    v = 0.9 * v < 0.05 ? v0 : 0.9 * v;
  }
  return (double)t;
}

TEST(the_last_of_many_impacts_comes_in_time) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("ball", ball, strlen(ball), NULL, &model) == SLT_OK, "compile");
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  double t = exact(BOUNCES);
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t + 1e-6, NULL);
  }
  CHECK(status == SLT_OK, slt_sim_error(sim).message);
  SltStatistics statistics = slt_sim_statistics(sim);
  CHECK(statistics.instants == BOUNCES, "number of bounces");
  CHECK(statistics.not_certified == 0, "all proved");
  SltQuantity last;
  CHECK(slt_sim_find(sim, "last", &last) == SLT_OK, "last");
  double error = fabs(slt_sim_get(sim, last) - t) / t;
  CHECK(error < 1e-11, "time of the last bounce");
  slt_sim_free(sim);
  slt_model_free(model);
}

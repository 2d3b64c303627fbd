// SPDX-License-Identifier: MIT
//
// The room of detection: places of event indicators, bounds of what is known of them.
#include "api/handles.h"
#include "engine/detect/follow.h"
#include "test.h"

#include <saltus/saltus.h>

#include <math.h>

// Places in the list of a mode, for lists of every kind of gaps.
TEST(atoms_have_their_places) {
  uint32_t atoms[30];
  for (uint32_t step = 1; step <= 4; step++) {
    for (uint32_t count = 0; count <= SLT_COUNT(atoms); count++) {
      for (uint32_t i = 0; i < count; i++) {
        atoms[i] = 5 + i * step;
      }
      ModelMode mode = {.atoms = atoms, .atom_count = count};
      for (uint32_t id = 0; id < 5 + (count + 1) * step; id++) {
        bool there = id >= 5 && (id - 5) % step == 0 && (id - 5) / step < count;
        CHECK(eng_atom_place(&mode, id) == (there ? (id - 5) / step : MODEL_NONE), "place");
      }
    }
  }
}

// The rounding of the time in g has the unit of g, whatever the units of time and of g are.
TEST(rounding_of_time_has_no_unit) {
  NumStepper stepper = {0};
  EngSim* sim = calloc(1, sizeof *sim);
  CHECK(sim != NULL, "memory");
  sim->stepper = &stepper;
  for (int unit = -40; unit <= 40; unit += 8) {
    double second = ldexp(1.0, unit);
    sim->core.t = 3.0 * second;
    stepper.control.h_next = 0.5 * second;
    double plain = eng_time_rho(sim, 7.0 / second);
    CHECK(plain > 0.0 && plain < 1e-12, "small");
    CHECK(eng_time_rho(sim, -7.0 / second) == plain, "either way");
    CHECK(eng_time_rho(sim, 14.0 / second) == 2.0 * plain, "in proportion to the slope");
    // a step longer than the time so far counts more
    stepper.control.h_next = 30.0 * second;
    CHECK(fabs(eng_time_rho(sim, 7.0 / second) - 10.0 * plain) <= 1e-9 * plain, "by the step");
    sim->core.t = 0.0;
    stepper.control.h_next = 0.0;
    CHECK(eng_time_rho(sim, 7.0 / second) == 0.0, "exact at zero");
  }
  free(sim);
}

// Relations hold as they are written.
TEST(relations_as_written) {
  CHECK(eng_relation_holds(MODEL_REL_GE, 0.0) && !eng_relation_holds(MODEL_REL_GT, 0.0), "zero");
  CHECK(eng_relation_holds(MODEL_REL_EQ, 0.0) && !eng_relation_holds(MODEL_REL_EQ, 1e-300),
        "equal");
  CHECK(eng_relation_holds(MODEL_REL_GT, 1e-300) && !eng_relation_holds(MODEL_REL_GE, -1e-300),
        "beside it");
}

/// n and k at the end of a run, of the model's first discrete variables.
static void run(const char* text, double end, double* n, double* k) {
  SltModel* model = NULL;
  SltSim* sim = NULL;
  CHECK(slt_model_compile("test.lisma", text, strlen(text), NULL, &model) == SLT_OK, text);
  SltSimOptions options = slt_sim_options();
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK && slt_sim_start(sim) == SLT_OK, text);
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, end, NULL);
  }
  CHECK(status == SLT_OK, text);
  SltQuantity at[2];
  CHECK(slt_sim_find(sim, "n", &at[0]) == SLT_OK && slt_sim_find(sim, "k", &at[1]) == SLT_OK, text);
  *n = slt_sim_get(sim, at[0]);
  *k = slt_sim_get(sim, at[1]);
  slt_sim_free(sim);
  slt_model_free(model);
}

// Where an event stops the motion on its surface, nothing moves the relations that share it any
// more: the one that held up to there is over, whichever of the two is the strict one.
TEST(complementary_relations_agree_where_the_motion_stops) {
  static const char* const pairs[][3] = {{"x <= 0", "x > 0", "x <= 0"},
                                         {"x < 0", "x >= 0", "x < 0"},
                                         {"x <= 0", "x >= 0", "x < 0"},
                                         {"x < 0", "x > 0", "x <= 0"},
                                         {"-2*x >= 0", "3*x > 0", "x <= 0"}};
  static const double units[] = {1e-9, 1.0, 1e9};
  for (size_t i = 0; i < SLT_COUNT(pairs); i++) {
    for (size_t u = 0; u < SLT_COUNT(units); u++) {
      char text[500];
      snprintf(text, sizeof text,
               "n(t0) = 0; k(t0) = 0; x' = -x - 0.3*%g; x(t0) = %g;"
               "state s [%s] { x' = 0; set n = n + 1; } from init;"
               "automaton q { state a [%s] { set k = k + 1; } from init, b;"
               " state b [%s] {} from a; }",
               units[u], units[u], pairs[i][0], pairs[i][1], pairs[i][2]);
      double n = 0.0;
      double k = 0.0;
      run(text, 3.0, &n, &k);
      CHECK(n == 1.0 && k == 1.0, text);
    }
  }
}

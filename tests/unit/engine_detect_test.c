// SPDX-License-Identifier: MIT
//
// The room of detection: places of event indicators, bounds of what is known of them.
#include "engine/detect/follow.h"
#include "test.h"

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

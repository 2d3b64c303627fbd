// SPDX-License-Identifier: MIT
//
// Impacts one after the other keep their times: a ball that is thrown up again whenever it has
// become slow, against the closed form. An event placed always to one side of its crossing would be
// late by half a unit in the last place each time, and every impact would pass that on to those
// after it.
//
// Two weights on a rope over a pulley, the heavier one above a floor: the impacts of either contact
// set off those of the other, and whatever the restitutions are, both come to rest in the end.
#include "references.h"

#define BOUNCES 8000
#define PAIRS   120

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

/// Both contacts, declared or written as resets of the speeds.
static void describe_contacts(ModelText* text, Dice* dice) {
  double light = dice_number(dice, 0.2, 2.0);
  double heavy = light * dice_number(dice, 1.1, 8.0);
  double rope = dice_number(dice, 0.0, 0.9);
  double floor = dice_number(dice, 0.0, 0.9);
  say(text, "const m = %.17g, M = %.17g, e = %g, f = %g;\n", light, heavy, rope, floor);
  if (dice_chance(dice, 0.5)) {
    say(text, "m*va' = -m*G + R;  M*vb' = -M*G + R + N;\n"
              "contact rope { gap = a + b; velocity = va + vb; force = R; restitution = e; }\n"
              "contact floor { gap = b + h; velocity = vb; force = N; restitution = f; }\n");
    return;
  }
  say(text, "va' = -G;  vb' = -G;  const s = (1 + e)/(m + M);\n"
            "automaton A { state rope [a + b <= 0] && [va + vb < 0] {\n"
            "  set va = va - s*M*(va + vb), vb = vb - s*m*(va + vb); } from init, rope; }\n"
            "automaton B { state floor [b <= -h] && [vb < 0] {\n"
            "  set vb = -f*vb; } from init, floor; }\n");
}

TEST(a_rope_and_a_floor_bring_each_other_to_rest) {
  static const double units[] = {1.0, 1e-9, 1e-6, 1e6};
  static char names[][REF_NAME] = {"a", "b", "va", "vb"};
  for (uint64_t seed = 1; seed <= test_cases(PAIRS); seed++) {
    Dice dice = {seed * 1000003u};
    static ModelText text;
    text.length = 0;
    double unit = units[dice_whole(&dice, 0, 3)];
    double h = unit * dice_number(&dice, 0.3, 3.0);
    say(&text, "const G = %.17g, h = %.17g;\n", 9.81 * unit, h);
    say(&text, "a' = va;  b' = vb;  a(t0) = 0;  b(t0) = 0;  va(t0) = 0;  vb(t0) = 0;\n");
    describe_contacts(&text, &dice);
    double end = 60.0;
    double values[1][REF_VALUE];
    char message[256] = "";
    bool right = run_at(&text, names, 4, &end, 1, values, message);
    for (int i = 0; right && i < 4; i++) {
      double rest = i == 0 ? h : i == 1 ? -h : 0.0;
      right = fabs(values[0][i] - rest) <= 1e-6 * unit;
    }
    if (!right) print_error("seed %llu: %s\n%s", (unsigned long long)seed, message, text.data);
    CHECK(right, "at rest");
  }
}

// SPDX-License-Identifier: MIT
//
// The room of sliding: coefficients of groups against their closed forms, the search for exits, and
// surfaces of a run seen from inside.
#include "api/handles.h"
#include "engine/detect/follow.h"
#include "engine/sliding/sides.h"
#include "test.h"

#include <saltus/saltus.h>

static uint64_t dice = 1;

static double draw(double lo, double hi) {
  dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return lo + (hi - lo) * ((double)(dice >> 11) / 9007199254740992.0);
}

// ---- coefficients -------------------------------------------------------------------------------

TEST(weights_of_all_patterns_sum_to_one) {
  for (uint32_t i = 0; i < 100; i++) {
    double alpha[ENG_GROUP_MAX] = {draw(0, 1), draw(0, 1), draw(0, 1)};
    double sum = 0.0;
    for (uint32_t pattern = 0; pattern < ENG_SIDES_MAX; pattern++) {
      sum += num_multilinear_weight(pattern, 7, alpha);
    }
    CHECK(fabs(sum - 1.0) < 1e-15, "sum of weights");
  }
}

TEST(one_surface_has_a_closed_form) {
  for (uint32_t i = 0; i < 200; i++) {
    double size = pow(10.0, draw(-12, 12));
    double below = size * draw(0.01, 1.0);
    double above = -size * draw(0.01, 1.0);
    double values[1][ENG_SIDES_MAX] = {{below, above}};
    double wanted[ENG_GROUP_MAX] = {size * draw(-0.001, 0.001)};
    double alpha[ENG_GROUP_MAX] = {0.5};
    CHECK(num_multilinear_solve((const double(*)[ENG_SIDES_MAX])values, 1, 1, 0, wanted, alpha),
          "solved");
    CHECK(fabs(alpha[0] - (below - wanted[0]) / (below - above)) < 1e-12, "coefficient");
  }
}

TEST(several_surfaces_keep_their_rates) {
  uint32_t solved = 0;
  for (uint32_t i = 0; i < 300; i++) {
    uint32_t count = 2 + i % 2;
    double values[ENG_GROUP_MAX][ENG_SIDES_MAX];
    double unit[ENG_GROUP_MAX];
    for (uint32_t k = 0; k < count; k++) {
      unit[k] = pow(10.0, draw(-9, 9));
      for (uint32_t p = 0; p < 1u << count; p++) {
        // each surface attracts, and the others disturb it
        double own = p >> k & 1u ? -1.0 : 1.0;
        values[k][p] = unit[k] * (own + draw(-0.4, 0.4));
      }
    }
    double rest[ENG_GROUP_MAX] = {0.0, 0.0, 0.0};
    double alpha[ENG_GROUP_MAX] = {0.5, 0.5, 0.5};
    uint32_t mask = (1u << count) - 1u;
    if (!num_multilinear_solve((const double(*)[ENG_SIDES_MAX])values, count, mask, 0, rest, alpha))
      continue;
    solved++;
    for (uint32_t k = 0; k < count; k++) {
      double rate = 0.0;
      for (uint32_t p = 0; p <= mask; p++) {
        rate += num_multilinear_weight(p, mask, alpha) * values[k][p];
      }
      CHECK(fabs(rate) < 1e-12 * unit[k], "the surface stays where it is");
    }
  }
  CHECK(solved > 290, "most systems have a solution");
}

// ---- exits --------------------------------------------------------------------------------------

/// A coefficient that dips below zero for a short time.
typedef struct Dip {
  NumExit exit;
  double at, width, depth;
} Dip;

static SltStatus look_at_dip(NumExit* e, double t, bool* above) {
  const Dip* d = (const Dip*)e;
  double u = (t - d->at) / d->width;
  e->coefficient = 0.5 - d->depth * exp(-u * u);
  *above = e->coefficient >= 1.0;
  if (!(e->coefficient > 0.0 && e->coefficient < 1.0)) e->surface = 3;
  return SLT_OK;
}

/// The largest value of the bell over a piece is known.
static bool prove_dip(NumExit* e, double l, double r) {
  const Dip* d = (const Dip*)e;
  double nearest = d->at < l ? l : d->at > r ? r : d->at;
  double u = (nearest - d->at) / d->width;
  return 0.5 - d->depth * exp(-u * u) > 0.0;
}

TEST(an_exit_inside_a_step_is_found) {
  for (uint32_t i = 0; i < 200; i++) {
    Dip dip = {.exit = {.look = look_at_dip, .prove = prove_dip},
               .at = draw(0.5, 9.5),
               .width = pow(10.0, draw(-4, 0)),
               .depth = i % 2 ? draw(0.6, 2.0) : draw(0.1, 0.45)};
    double first = dip.at - dip.width * sqrt(log(dip.depth / 0.5));
    if (i % 2 && first < 1e-6) continue;
    num_exit_search(&dip.exit, 0.0, 10.0);
    CHECK(!dip.exit.undecided, "proved");
    if (i % 2) {
      CHECK(fabs(dip.exit.t - first) < 1e-9 && dip.exit.left == 3 && !dip.exit.above, "exit");
    } else {
      CHECK(isinf(dip.exit.t), "no exit");
    }
  }
}

// ---- in a run -----------------------------------------------------------------------------------

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("test.lisma", text, strlen(text), NULL, &model) == SLT_OK, text);
  return model;
}

static SltSim* run_to(SltModel* model, double t) {
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK && slt_sim_start(sim) == SLT_OK, "start");
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t, NULL);
  }
  CHECK(status == SLT_OK, "run");
  return sim;
}

static const struct {
  const char* text;
  uint32_t surfaces, groups, rows;
} motions[] = {
    {"x' = -sign(x); x(t0) = 0.5;", 1, 1, 2},
    // two that do not know of each other share their rows
    {"x' = -sign(x); x(t0) = 0.5; y' = -2*sign(y); y(t0) = 0.5;", 2, 2, 2},
    // two that do have all combinations of sides
    {"x' = -sign(x) - 0.5*sign(y); x(t0) = 0.5; y' = 0.5*sign(x) - sign(y); y(t0) = 0.3;", 2, 1, 4},
    // two that add up in a third quantity have rows of their own
    {"x' = -sign(x); x(t0) = 0.5; y' = -2*sign(y); y(t0) = 0.5; s' = sign(x) + sign(y); s(t0) = 0;",
     2, 2, 3},
    // the surface is the same, whatever the factors of its relations
    {"x' = if(x > 0, -1, 0) + if(1e-3*x <= 0, 1, 0); x(t0) = 0.5;", 1, 1, 2},
};

TEST(surfaces_are_sorted_by_what_depends_on_them) {
  for (size_t i = 0; i < sizeof motions / sizeof *motions; i++) {
    SltModel* model = compile(motions[i].text);
    SltSim* sim = run_to(model, 2.0);
    const EngSlide* slide = &sim->engine->core.slide;
    CHECK(slide->count == motions[i].surfaces, motions[i].text);
    CHECK(slide->group_count == motions[i].groups, motions[i].text);
    CHECK(slide->rows == motions[i].rows, motions[i].text);
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

// ---- snapshots ----------------------------------------------------------------------------------

// motions along surfaces of all kinds, with what else may read them
static const char* const sliders[] = {
    "x' = -sign(x); x(t0) = 0.5; F = 0.7*sign(x);",
    "x' = -sign(x) + 0.9*sin(5*time); x(t0) = 0.5;",
    "x' = v; F = 0.7*sign(v); v' = -sign(x + v*abs(v)/2); v(t0) = 1e-6;",
    "x' = v; v' = -2*sign(x) - sign(v); x(t0) = 0.02; n' = if(v > 0, 1, 0);",
    "x' = -sign(x)*sqrt(abs(x)); x(t0) = 0.1; y' = abs(x) - sign(y); y(t0) = 0.2;",
    "x' = -sign(x) - 0.5*sign(y); x(t0) = 0.5; y' = 0.5*sign(x) - sign(y); y(t0) = 0.3;",
    "state up [x < 0] { x' = 1; } from init, down; state down [x > 0] { x' = -2; } from init, up;"
    "x' = -2; x(t0) = 0.4; y' = x;",
};

static void go_to(SltSim* sim, double t) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t, NULL);
  }
  CHECK(status == SLT_OK, "run");
}

TEST(a_motion_along_surfaces_goes_on_from_a_snapshot_with_the_same_bits) {
  for (size_t i = 0; i < sizeof sliders / sizeof *sliders; i++) {
    SltModel* model = compile(sliders[i]);
    uint32_t slid = 0;
    for (uint32_t turn = 0; turn < 8; turn++) {
      SltSim* straight = run_to(model, 4.0);
      SltSim* sim = run_to(model, draw(0.1, 2.5));
      size_t size = slt_sim_snapshot_size(sim);
      void* saved = malloc(size);
      CHECK(saved && slt_sim_snapshot_save(sim, saved, size) == SLT_OK, "save");
      slid += sim->engine->core.slide.count > 0;
      go_to(sim, 3.0);
      CHECK(slt_sim_snapshot_restore(sim, saved, size) == SLT_OK, sliders[i]);
      free(saved);
      go_to(sim, 4.0);
      CHECK(memcmp(sim->engine->env, straight->engine->env,
                   sim->engine->model->env_count * sizeof(double)) == 0,
            sliders[i]);
      slt_sim_free(straight);
      slt_sim_free(sim);
    }
    CHECK(slid > 0, sliders[i]);
    slt_model_free(model);
  }
}

// ---- surfaces and contacts together -------------------------------------------------------------

/// A body that comes to rest at a wall by bouncing, with dry friction; the push turns round.
static const char braked[] =
    "x' = v; x(t0) = 0.1; v' = -2*cos(time) - %g*sign(v);"
    "automaton c { state hit [x <= 0] && [v < 0] { set v = -0.2*v; } from init, hit; }";

TEST(eng_slide_complementarity_lets_friction_and_wall_hold_together) {
  static const double levels[] = {0.2, 0.5, 1.0};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    char text[400];
    snprintf(text, sizeof text, braked, levels[i]);
    SltModel* model = compile(text);
    SltSim* sim = run_to(model, 1.0);
    EngSim* engine = sim->engine;
    CHECK(engine->core.contact.count == 1, "the gap is closed");
    // it leaves where the pull is more than the friction
    double leaves = acos(-levels[i] / 2.0);
    go_to(sim, leaves - 1e-3);
    CHECK(fabs(engine->x[1]) < 1e-9, "held up to there");
    CHECK(engine->core.slide.count == 1, "by friction in the end");
    bool active = engine->core.contact.active;
    engine->core.contact.active = false;  // as in an instant
    CHECK(eng_slide_complementarity(engine), "a problem with a solution");
    engine->core.contact.active = active;
    double alpha = engine->sliding.motion.alpha[0];
    CHECK(alpha > 0.5 && alpha < 1.0, "of the friction against leaving");
    go_to(sim, leaves + 0.2);
    CHECK(engine->core.contact.count == 0 && engine->x[1] > 1e-3, "gone");
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

TEST(side_solve_linked_keeps_a_stack_of_any_height) {
  for (uint32_t n = 2; n <= 9; n += 7) {
    // blocks on each other with friction between them, pushed at the bottom below all levels
    char text[3000];
    size_t used = 0;
    for (uint32_t k = 1; k <= n; k++) {
      used += (size_t)snprintf(text + used, sizeof text - used, "v%u' = ", k);
      if (k == 1)
        used += (size_t)snprintf(text + used, sizeof text - used, "0.1*sin(time) - 3*sign(v1)");
      if (k > 1)
        used += (size_t)snprintf(text + used, sizeof text - used, "-sign(v%u - v%u)", k, k - 1);
      if (k < n)
        used += (size_t)snprintf(text + used, sizeof text - used, " + sign(v%u - v%u)", k + 1, k);
      used += (size_t)snprintf(text + used, sizeof text - used, "; v%u(t0) = %g;\n", k, 0.01 * k);
    }
    SltModel* model = compile(text);
    SltSim* sim = run_to(model, 3.0);
    for (uint32_t k = 0; k < n; k++) {
      CHECK(fabs(sim->engine->x[k]) < 1e-6, "all of them stand");
    }
    CHECK(sim->engine->core.slide.count == n, "by their frictions");
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

// ---- flags --------------------------------------------------------------------------------------

TEST(eng_sets_only_flags_tells_flags_from_resets) {
  SltModel* model = compile("x' = f; x(t0) = 1; f(t0) = -1; n(t0) = 0;"
                            "automaton a { state low [x <= 0] { set f = 1; } from init, high;"
                            " state high [x > 0] { set f = -1; } from low; }"
                            "automaton b { state up [x >= 2] { set n = n + 1; } from init, down; "
                            "state down [x < 2] {} from up; }"
                            "automaton c { state hit [x <= -5] { set x = 5; } from init, back; "
                            "state back [x > 6] {} from hit; }");
  SltSim* sim = run_to(model, 0.5);
  const EngSim* engine = sim->engine;
  uint32_t flags = 0;
  uint32_t others = 0;
  for (uint32_t i = 0; i < engine->model->transition_count; i++) {
    const ModelTransition* t = &engine->model->transitions[i];
    bool resets = engine->model->automata[t->automaton].states[t->to].action_count > 0;
    flags += resets && eng_sets_only_flags(engine, t);
    others += resets && !eng_sets_only_flags(engine, t);
  }
  CHECK(flags >= 2 && others >= 2, "numbers that nothing moves, and nothing else");
  go_to(sim, 2.0);
  CHECK(engine->core.slide.count == 1 && fabs(engine->x[0]) < 1e-9, "it slides between the states");
  slt_sim_free(sim);
  slt_model_free(model);
}

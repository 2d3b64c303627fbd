// SPDX-License-Identifier: MIT
//
// The object between two concentric circles against the exact solution: every flight is a chord,
// angular momentum and speed never change, so all reflections follow from the first. No limit on
// the step: the inner circle is met and left well inside one step. SALTUS_CASES sets the number of
// random starts, SALTUS_SEED repeats a failing one.
#include "test.h"

#include <saltus/saltus.h>

#define R_OUTER 5.0
#define R_INNER 1.0
#define T_END   100.0

static const char billiard[] =
    "const R_O = 5, R_I = 1, x0 = 3, y0 = 0, vx0 = 1, vy0 = 0;\n"
    "macro r = sqrt(x*x + y*y);\n"
    "macro outward = x*vx + y*vy;\n"
    "x' = vx;  x(t0) = x0;  y' = vy;  y(t0) = y0;\n"
    "vx' = 0;  vx(t0) = vx0;  vy' = 0;  vy(t0) = vy0;\n"
    "L = x*vy - y*vx;\n"
    "state motion (bilateral(eps = 0)[r >= R_O] && noEvent[outward >= 0]) ||\n"
    "             (bilateral(eps = 0)[r <= R_I] && noEvent[outward <= 0]) {\n"
    "  vx(t0) = vx - 2*outward/r/r*x;\n"
    "  vy(t0) = vy - 2*outward/r/r*y;\n"
    "} from init, motion;\n";

typedef struct Start {
  double x, y, vx, vy;
} Start;

/// Reflection k is at first + k*leg.
typedef struct Exact {
  double first, leg;
} Exact;

typedef struct Events {
  const Exact* exact;
  uint32_t count, uncertified;
  double worst;  // error of an event time
} Events;

static void keep_event(void* user, const SltEvent* event) {
  Events* events = user;
  if (event->kind != SLT_EVENT_STATE) return;
  double t = events->exact->first + events->count * events->exact->leg;
  events->worst = fmax(events->worst, fabs(event->t - t));
  events->uncertified += !event->certified;
  events->count++;
}

static Exact solve(const Start* s) {
  double L = s->x * s->vy - s->y * s->vx;
  double speed = hypot(s->vx, s->vy);
  double outward = (s->x * s->vx + s->y * s->vy) / speed;
  double a = L / speed;  // distance of the line from the centre
  double outer = sqrt(R_OUTER * R_OUTER - a * a);
  bool hits = fabs(a) < R_INNER;
  double inner = hits ? sqrt((R_INNER - a) * (R_INNER + a)) : 0.0;
  bool inwards = outward < 0.0;
  double first = hits && inwards ? -outward - inner : outer - outward;
  double leg = hits ? outer - inner : 2.0 * outer;
  return (Exact){first / speed, leg / speed};
}

static Start draw(uint64_t* seed, bool grazing) {
  double r = test_uniform(seed, 1.1, 4.9);
  double phi = test_uniform(seed, -3.14, 3.14);
  double speed = test_uniform(seed, 0.5, 3.0);
  double a = test_uniform(seed, -1.0, 1.0) * r;
  if (grazing) {
    double miss = pow(10.0, test_uniform(seed, -9.0, -3.0));
    double side = test_uniform(seed, 0.0, 1.0) < 0.5 ? -1.0 : 1.0;
    a = side * (R_INNER + (test_uniform(seed, 0.0, 1.0) < 0.5 ? -miss : miss));
  }
  double outward = sqrt((r - a) * (r + a));
  if (test_uniform(seed, 0.0, 1.0) < 0.5) outward = -outward;
  double c = cos(phi);
  double s = sin(phi);
  return (Start){r * c, r * s, speed * (outward * c - a * s) / r,
                 speed * (outward * s + a * c) / r};
}

static void run(const SltModel* model, const Start* start, double t_end, Events* events,
                double* momentum) {
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  slt_sim_set_constant(sim, "x0", start->x);
  slt_sim_set_constant(sim, "y0", start->y);
  slt_sim_set_constant(sim, "vx0", start->vx);
  slt_sim_set_constant(sim, "vy0", start->vy);
  slt_sim_on_event(sim, keep_event, events);
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t_end, NULL);
  }
  CHECK(status == SLT_OK, slt_sim_error(sim).message);
  SltQuantity L;
  slt_sim_find(sim, "L", &L);
  *momentum = slt_sim_get(sim, L);
  slt_sim_free(sim);
}

static SltModel* compile(void) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("billiard", billiard, strlen(billiard), NULL, &model) == SLT_OK,
        "compile");
  return model;
}

TEST(random_starts_reflect_as_geometry_says) {
  SltModel* model = compile();
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(1000);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    Start start = draw(&seed, (first + k) % 4 == 0);
    Exact exact = solve(&start);
    double L = start.x * start.vy - start.y * start.vx;
    uint32_t expected = 0;
    while (exact.first + expected * exact.leg < T_END) {
      expected++;
    }
    Events events = {.exact = &exact};
    double momentum = 0.0;
    run(model, &start, T_END, &events, &momentum);
    char name[200];
    snprintf(name, sizeof name,
             "SALTUS_SEED=%llu: %u of %u reflections, %u not certified, times "
             "within %.3g, momentum %.17g for %.17g",
             (unsigned long long)(first + k), events.count, expected, events.uncertified,
             events.worst, momentum, L);
    CHECK(events.count == expected, name);
    CHECK(events.uncertified == 0, name);
    CHECK(fabs(momentum - L) <= 1e-6 * fabs(L), name);
    // a graze is conditioned like 1/sqrt(miss)
    CHECK(events.worst <= 1e-6, name);
  }
  slt_model_free(model);
}

TEST(all_reflections_until_1e5) {
  SltModel* model = compile();
  Start start = {3.0, 0.0, sqrt(35.0) / 6.0, 1.0 / 6.0};
  Exact exact = solve(&start);
  Events events = {.exact = &exact};
  double momentum = 0.0;
  run(model, &start, 1e5, &events, &momentum);
  CHECK(events.count == 24337, "count");
  CHECK(events.uncertified == 0, "certified");
  CHECK_NEAR(events.worst, 0.0, 1e-6, 0.0);
  CHECK_NEAR(momentum, 0.5, 1e-6, 0.0);
  slt_model_free(model);
}

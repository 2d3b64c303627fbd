// SPDX-License-Identifier: MIT
//
// Every type of event is detected and placed as its row of the table says: random guards, random
// eps, steps of all sizes. SALTUS_CASES sets the number of cases, SALTUS_SEED repeats a failing
// one.
#include "test.h"

#include <saltus/saltus.h>

#define MAX_EVENTS 64
#define T_END      10.0

typedef struct Events {
  double t[MAX_EVENTS], g[MAX_EVENTS];
  uint32_t count;
  SltSim* sim;
  SltQuantity level;
} Events;

static void keep_event(void* user, const SltEvent* event) {
  Events* events = user;
  if (event->kind != SLT_EVENT_STATE || event->t == 0.0) return;
  if (events->count < MAX_EVENTS) events->t[events->count] = event->t;
  events->count++;
}

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("case", text, strlen(text), NULL, &model) == SLT_OK, text);
  return model;
}

/// Window of a type, as lower and upper bound of g in units of eps.
typedef struct Type {
  const char* name;
  double lo, hi;
} Type;

static const Type types[] = {{"unilateral", -1.0, 0.0},
                             {"bilateral", 0.0, 1.0},
                             {"", -1.0, 1.0},
                             {"ordinary", -1.0, 1.0},
                             {"shortliving", -1.0, 1.0}};

/// Run to T_END; g at each event into `events`.
static void run(const SltModel* model, const char* const* names, const double* values,
                uint32_t count, const SltSimOptions* options, Events* events) {
  CHECK(slt_sim_create(model, options, &events->sim) == SLT_OK, "create");
  SltSim* sim = events->sim;
  for (uint32_t i = 0; i < count; i++) {
    CHECK(slt_sim_set_constant(sim, names[i], values[i]) == SLT_OK, names[i]);
  }
  slt_sim_on_event(sim, keep_event, events);
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  CHECK(slt_sim_find(sim, "level", &events->level) == SLT_OK, "level");
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, T_END, NULL);
    if (status == SLT_EVENT && events->count > 0 && events->count <= MAX_EVENTS) {
      events->g[events->count - 1] = slt_sim_get_before(sim, events->level);
    }
  }
  CHECK(status == SLT_OK, slt_sim_error(sim).message);
  slt_sim_free(sim);
}

static void check_type(const Type* type, const char* method, uint64_t cases) {
  char text[600];
  snprintf(text, sizeof text,
           "const w = 1, L = 0.5;\n"
           "x' = 1; x(t0) = 0; y' = w*z; z' = -w*y; y(t0) = -1; z(t0) = 0;\n"
           "level = y - L;  n(t0) = 0;\n"
           "state hit %s[y - L >= 0] { set n = n + 1; } from init, hit;\n",
           type->name);
  SltModel* model = compile(text);
  static const char* const names[] = {"w", "L"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  for (uint64_t k = 0; k < cases; k++) {
    uint64_t seed = first + k;
    double values[2] = {test_uniform(&seed, 0.3, 3.0), test_uniform(&seed, -0.95, 0.95)};
    SltSimOptions options = slt_sim_options();
    options.method = method;
    options.rtol = 1e-9;
    options.atol = 1e-12;
    options.event_eps = pow(10.0, test_uniform(&seed, -8.0, -3.0));
    options.gamma = test_uniform(&seed, 0.3, 0.8);
    options.h_max = pow(10.0, test_uniform(&seed, -1.0, 1.0));
    // y = -cos(w t) rises through L once a period
    double root = (3.14159265358979323846 - acos(values[1])) / values[0];
    double period = 2.0 * 3.14159265358979323846 / values[0];
    double slope = values[0] * sqrt(1.0 - values[1] * values[1]);
    Events events = {.count = 0};
    run(model, names, values, 2, &options, &events);
    uint32_t expected = 0;
    char name[300];
    for (; root + expected * period < T_END - 0.05; expected++) {
      double eps = options.event_eps;
      snprintf(name, sizeof name,
               "%s %s SALTUS_SEED=%llu event %u of %u at %.17g, g %g, eps %g, "
               "root %.17g",
               type->name, method, (unsigned long long)(first + k), expected, events.count,
               events.t[expected], events.g[expected], eps, root + expected * period);
      CHECK(events.count > expected, name);
      double g = events.g[expected];
      CHECK(g >= type->lo * eps - 1e-15 && g <= type->hi * eps + 1e-15, name);
      // where g has this value, and the error of the integration
      double t = root + expected * period + g / slope;
      CHECK_NEAR(events.t[expected], t, 1e-6 + eps * eps / slope / slope * 10.0, 0.0);
    }
    CHECK(events.count <= expected + 1, name);
  }
  slt_model_free(model);
}

TEST(events_lie_in_the_window_of_their_type) {
  for (size_t i = 0; i < SLT_COUNT(types); i++) {
    check_type(&types[i], "dp54", test_cases(1500));
    check_type(&types[i], "merson", test_cases(500));
  }
}

TEST(auxiliary_relations_are_read_at_mesh_points) {
  SltModel* model = compile("const L = 1;\n"
                            "x' = 1; x(t0) = 0; level = x - L; n(t0) = 0;\n"
                            "state hit noEvent[x - L > 0] { set n = n + 1; } from init, hit;\n");
  static const char* const names[] = {"L"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  for (uint64_t k = 0; k < 500; k++) {
    uint64_t seed = first + k;
    double L = test_uniform(&seed, 0.1, 9.0);
    SltSimOptions options = slt_sim_options();
    options.method = "rk4";
    options.step = test_uniform(&seed, 0.01, 0.9);
    Events events = {.count = 0};
    run(model, names, &L, 1, &options, &events);
    double mesh = options.step * (floor(L / options.step) + 1.0);
    CHECK(events.count == 1, "once");
    CHECK_NEAR(events.t[0], mesh, 1e-9, 0.0);
    CHECK(events.g[0] > 0.0 && events.g[0] <= options.step * 1.000001, "behind the boundary");
  }
  slt_model_free(model);
}

TEST(time_relations_hit_their_time) {
  SltModel* model = compile("const a = 1, b = 0.1;\n"
                            "x' = cos(time); x(t0) = 0; level = time - a; n(t0) = 0;\n"
                            "state hit [time >= a + 7*b] { set n = n + 1; } from init, hit;\n");
  static const char* const names[] = {"a", "b"};
  uint64_t first = test_setting("SALTUS_SEED", 1);
  for (uint64_t k = 0; k < 500; k++) {
    uint64_t seed = first + k;
    double values[2] = {test_uniform(&seed, 0.1, 2.0), test_uniform(&seed, 0.0, 1.0)};
    SltSimOptions options = slt_sim_options();
    Events events = {.count = 0};
    run(model, names, values, 2, &options, &events);
    CHECK(events.count == 1, "once");
    CHECK_NEAR(events.t[0], values[0] + 7.0 * values[1], 0.0, 4e-16);
  }
  slt_model_free(model);
}

// ---- extrapolation ------------------------------------------------------------------------------

/// g over the steps of a run under extrapolation: largest |g_(n+1) - gamma g_n| / h^2.
static double deviation(const char* method, double gamma) {
  SltModel* model = compile("x' = 1 + 0.2*x; x(t0) = 0.9; level = x*x - 1; n(t0) = 0;\n"
                            "state hit [x*x - 1 >= 0] { set n = n + 1; } from init, hit;\n");
  SltSimOptions options = slt_sim_options();
  options.method = method;
  options.detection = SLT_DETECTION_EXTRAPOLATION;
  options.gamma = gamma;
  options.h0 = 1.0;
  options.rtol = 1e-3;
  options.event_eps = 1e-9;
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  SltQuantity level;
  slt_sim_find(sim, "level", &level);
  double worst = 0.0;
  double t = 0.0;
  double g = slt_sim_get(sim, level);
  uint32_t steps = 0;
  while (slt_sim_advance_step(sim, T_END, NULL) == SLT_OK && g < -1e-5) {
    double h = slt_sim_time(sim) - t;
    double next = slt_sim_get(sim, level);
    // only steps that extrapolation has chosen: its prediction is linear
    if (h < 0.2) worst = fmax(worst, fabs(next - gamma * g) / (h * h));
    t = slt_sim_time(sim);
    g = next;
    steps++;
  }
  CHECK(steps > 5, "steps");
  slt_sim_free(sim);
  slt_model_free(model);
  return worst;
}

TEST(extrapolation_reduces_g_by_gamma) {
  static const char* const methods[] = {"merson", "dp54",  "bs32",  "dop853",
                                        "rodas3", "rodas", "rodas5"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    for (int k = 3; k <= 8; k++) {
      // g'' is at most 4 here
      double worst = deviation(methods[i], 0.1 * k);
      CHECK(worst > 0.0 && worst < 4.0, methods[i]);
    }
  }
}

/// The model is not defined beyond its boundary: it must never be asked there.
static void check_domain(const char* rhs, const char* guard, double empty) {
  char text[400];
  snprintf(text, sizeof text,
           "h' = %s; h(t0) = 1; level = -h; n(t0) = 0;\n"
           "state empty unilateral[%s] { h' = 0; set n = n + 1; } from init;\n",
           rhs, guard);
  SltModel* model = compile(text);
  static const double sizes[] = {0.0, 0.01, 0.3, 5.0};
  static const char* const methods[] = {"merson", "dp54", "dop853", "rodas", "rodas5"};
  for (size_t i = 0; i < SLT_COUNT(sizes); i++) {
    for (size_t m = 0; m < SLT_COUNT(methods); m++) {
      SltSimOptions options = slt_sim_options();
      options.method = methods[m];
      if (sizes[i] > 0.0) options.h0 = sizes[i];
      Events events = {.count = 0};
      run(model, NULL, NULL, 0, &options, &events);
      CHECK(events.count == 1, text);
      CHECK(events.g[0] >= -1e-6 && events.g[0] <= 0.0, text);
      CHECK_NEAR(events.t[0], empty, 0.05, 0.0);
    }
  }
  slt_model_free(model);
}

TEST(a_tank_runs_empty) {
  check_domain("-sqrt(h)", "h <= 0", 2.0);
  check_domain("-h^0.75", "h <= 0", 4.0 * (1.0 - pow(1e-6, 0.25)));
  check_domain("-sqrt(h)*sqrt(h) - 0.5 + 0*ln(h)", "h <= 0", log(3.0));
  check_domain("-1/(1 + asin(sqrt(1 - h)))", "h <= 0", 1.7854);
}

TEST(a_parabola_just_below_and_just_above) {
  SltModel* model = compile("const L = 1;\n"
                            "x' = 2 - 2*time; x(t0) = 0; level = x - L; n(t0) = 0;\n"
                            "state hit bilateral(eps = 1e-12)[x >= L] { set n = n + 1; }"
                            " from init, hit;\n");
  static const char* const names[] = {"L"};
  static const double steps[] = {0.01, 0.3, 1.0, 3.0};
  for (size_t i = 0; i < SLT_COUNT(steps); i++) {
    SltSimOptions options = slt_sim_options();
    options.h_max = steps[i];
    double L = 1.0 - 1e-9;
    Events below = {.count = 0};
    run(model, names, &L, 1, &options, &below);
    CHECK(below.count == 1, "just reached");
    CHECK_NEAR(below.t[0], 1.0 - sqrt(1e-9), 1e-9, 0.0);
    L = 1.0 + 1e-9;
    Events above = {.count = 0};
    run(model, names, &L, 1, &options, &above);
    CHECK(above.count == 0, "just missed");
  }
  slt_model_free(model);
}

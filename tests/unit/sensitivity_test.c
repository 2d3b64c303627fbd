// SPDX-License-Identifier: MIT
//
// Sensitivities of a run, the equations of a mode, and maps, through the C interface.
#include "test.h"

#include <saltus/saltus_experiment.h>

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("m.lisma", text, strlen(text), NULL, &model) == SLT_OK, "compile");
  return model;
}

static SltSim* create(const SltModel* model) {
  SltSimOptions options = slt_sim_options();
  options.rtol = 1e-12;
  options.atol = 1e-15;
  options.method = "dop853";
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  return sim;
}

/// Run to t_end and follow the sensitivities; the number of instants.
static int follow(SltSim* sim, SltSensitivity* s, double t_end) {
  int events = 0;
  SltStatus status = slt_sim_start(sim);
  while (status >= 0 && status != SLT_END && slt_sim_time(sim) < t_end) {
    double until = t_end;
    status = slt_sim_ahead(sim, &until);
    if (status != SLT_OK) continue;
    if (until > t_end) until = t_end;
    CHECK(slt_sensitivity_stretch(s, until) == SLT_OK, "stretch");
    status = slt_sim_advance(sim, until, NULL);
    events += status == SLT_EVENT;
  }
  CHECK(status >= 0, "run");
  return events;
}

static const char ball[] = "const k = 0.8, h = 10, a = 9.81;\nmacro energy = a*y + v^2/2;\n"
                           "y' = v; y(t0) = h;\nv' = -a; v(t0) = 0;\nspeed = abs(v);\n"
                           "state b [y <= 0] && [v < 0] { set v = -k*v; } from init, b;\n";

TEST(a_ball_and_its_derivatives) {
  SltModel* model = compile(ball);
  SltSim* sim = create(model);
  SltSensitivity* s = NULL;
  const SltSensitivityParameter parameters[] = {{"k", false}, {"h", false}, {"v", true}};
  CHECK(slt_sensitivity_create(sim, parameters, 3, &s) == SLT_OK, "create");
  CHECK(follow(sim, s, 2.0) == 1, "one impact");
  CHECK(slt_sensitivity_gap(s) == NULL, "no gap");
  double t1 = sqrt(20.0 / 9.81);
  double u = 9.81 * t1;
  double row[3];
  CHECK(slt_sensitivity_time(s, row) == SLT_OK, "time");
  CHECK_NEAR(row[0], 0.0, 0.0, 1e-15);
  CHECK_NEAR(row[1], 1.0 / u, 1e-12, 0.0);
  CHECK_NEAR(row[2], 1.0 / 9.81, 1e-12, 0.0);
  SltQuantity q;
  CHECK(slt_sim_find(sim, "y", &q) == SLT_OK, "y");
  CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, row) == SLT_OK, "get");
  CHECK_NEAR(row[0], u * (2.0 - t1), 1e-11, 0.0);
  // along the moving instant the height stays at the floor
  CHECK(slt_sensitivity_get(s, SLT_WHEN_BEFORE, q, row) == SLT_OK, "before");
  CHECK_NEAR(row[1], 0.0, 1e-12, 0.0);
  CHECK(slt_sim_find(sim, "v", &q) == SLT_OK, "v");
  CHECK(slt_sensitivity_get(s, SLT_WHEN_BEFORE, q, row) == SLT_OK, "before");
  CHECK_NEAR(row[1], -9.81 / u, 1e-12, 0.0);
  CHECK(slt_sensitivity_get(s, SLT_WHEN_AFTER, q, row) == SLT_OK, "after");
  CHECK_NEAR(row[0], u, 1e-12, 0.0);
  CHECK_NEAR(row[1], 0.8 * 9.81 / u, 1e-12, 0.0);
  // what is computed from states: a variable, a derivative, a macro
  double speed[3];
  CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, row) == SLT_OK, "v now");
  CHECK(slt_sim_find(sim, "speed", &q) == SLT_OK, "speed");
  CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, speed) == SLT_OK, "speed now");
  CHECK_NEAR(fabs(speed[0]), fabs(row[0]), 1e-14, 0.0);
  CHECK(slt_sim_find(sim, "energy", &q) == SLT_OK, "energy");
  CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, row) == SLT_OK, "energy now");
  CHECK_NEAR(row[0], 0.8 * u * u, 1e-11, 0.0);  // k^2 u^2/2 from the impact on
  slt_sensitivity_free(s);
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(what_cannot_be_followed_is_said) {
  SltModel* model = compile("const d = 1;\nx' = -delay(x, d, 1, linear); x(t0) = 1;\n");
  SltSim* sim = create(model);
  SltSensitivity* s = NULL;
  const SltSensitivityParameter bad = {"q", false};
  const SltSensitivityParameter good = {"d", false};
  CHECK(slt_sensitivity_create(sim, &bad, 1, &s) == SLT_ERR_NOT_FOUND && !s, "unknown");
  CHECK(slt_sensitivity_create(sim, &good, 0, &s) == SLT_ERR_ARGUMENT, "none");
  CHECK(slt_sensitivity_create(sim, &good, 1, &s) == SLT_OK, "create");
  follow(sim, s, 1.5);
  CHECK(slt_sensitivity_gap(s) != NULL, "gap");
  double row[1];
  SltQuantity q;
  CHECK(slt_sim_find(sim, "x", &q) == SLT_OK, "x");
  CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, row) == SLT_ERR_UNSUPPORTED, "unknown");
  CHECK(slt_sensitivity_time(s, row) == SLT_ERR_UNSUPPORTED, "time");
  SltSensitivity* late = NULL;
  CHECK(slt_sensitivity_create(sim, &good, 1, &late) == SLT_ERR_ARGUMENT, "late");
  slt_sensitivity_free(s);
  slt_sensitivity_free(NULL);
  slt_sim_free(sim);
  slt_model_free(model);
}

/// Every operation of the tape against differences.
TEST(operations_are_differentiated) {
  static const char* const terms[] = {
      "sin(x)*cos(p)",       "tan(x) + asin(p/3)",
      "acos(x/4) + atan(p)", "sinh(x)*cosh(p)",
      "tanh(x) + asinh(p)",  "acosh(2 + x) + atanh(p/4)",
      "exp(x) - ln(1 + p)",  "log10(2 + x)*sqrt(p)",
      "erf(x)*gamma(1 + p)", "x^p",
      "(1 + p)^x",           "abs(x - 3)*sign(p)",
      "atan2(x, p)",         "min(x, p) + max(x, 2*p)",
      "mod(x + 7, p)",       "1/(x + p)",
      "if(x > p, x^2, p^3)", "-x + floor(p + 0.5)",
  };
  for (size_t i = 0; i < SLT_COUNT(terms); i++) {
    char text[300];
    snprintf(text, sizeof text, "const p = 0.7;\nx' = 0; x(t0) = 1.3;\nz = %s;\n", terms[i]);
    SltModel* model = compile(text);
    double values[4];
    double h = 1e-3;
    for (int k = 0; k < 4; k++) {
      SltSim* sim = create(model);
      SltQuantity q;
      CHECK(slt_sim_set_constant(sim, "p", 0.7 + h * (k < 2 ? k - 2 : k - 1)) == SLT_OK, "set");
      CHECK(slt_sim_start(sim) >= 0 && slt_sim_find(sim, "z", &q) == SLT_OK, terms[i]);
      values[k] = slt_sim_get(sim, q);
      slt_sim_free(sim);
    }
    double expected = (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * h);
    SltSim* sim = create(model);
    SltLinear* linear = NULL;
    SltQuantity p;
    SltQuantity z;
    CHECK(slt_sim_start(sim) >= 0 && slt_sim_find(sim, "p", &p) == SLT_OK &&
              slt_sim_find(sim, "z", &z) == SLT_OK,
          "find");
    CHECK(slt_sim_linearize(sim, NULL, &p, 1, &z, 1, &linear) == SLT_OK, terms[i]);
    CHECK_NEAR(linear->d[0], expected, 1e-8, 1e-9);
    slt_linear_free(linear);
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

/// Derivatives of a quantity at the end of a run by each parameter, forwards and backwards.
static void both_ways(const char* text, const char* name, double t_end,
                      const SltSensitivityParameter* parameters, uint32_t count) {
  double rows[2][8];
  SltModel* model = compile(text);
  for (int way = 0; way < 2; way++) {
    SltSim* sim = create(model);
    SltSensitivity* s = NULL;
    SltQuantity q;
    SltStatus made = way ? slt_sensitivity_create_adjoint(sim, parameters, count, &s)
                         : slt_sensitivity_create(sim, parameters, count, &s);
    CHECK(made == SLT_OK && slt_sim_find(sim, name, &q) == SLT_OK, text);
    follow(sim, s, t_end);
    CHECK(slt_sensitivity_gap(s) == NULL, text);
    if (way) {
      uint32_t marks[3];
      CHECK(slt_sensitivity_mark(s, SLT_WHEN_NOW, q, &marks[0]) == SLT_OK && marks[0] == 0, text);
      CHECK(slt_sensitivity_mark(s, SLT_WHEN_BEFORE, q, &marks[1]) == SLT_OK, text);
      CHECK(slt_sensitivity_mark_time(s, &marks[2]) == SLT_OK && marks[2] == 2, text);
      const double weights[3] = {1.0, 0.25, -0.5};
      CHECK(slt_sensitivity_gradient(s, weights, 2, rows[1]) == SLT_ERR_ARGUMENT, "too few");
      CHECK(slt_sensitivity_gradient(s, weights, 3, rows[1]) == SLT_OK, text);
      CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, rows[0]) == SLT_ERR_UNSUPPORTED, "forwards");
    } else {
      double before[8];
      double time[8];
      uint32_t mark = 0;
      CHECK(slt_sensitivity_get(s, SLT_WHEN_NOW, q, rows[0]) == SLT_OK, text);
      CHECK(slt_sensitivity_get(s, SLT_WHEN_BEFORE, q, before) == SLT_OK, text);
      CHECK(slt_sensitivity_time(s, time) == SLT_OK, text);
      for (uint32_t k = 0; k < count; k++)
        rows[0][k] += 0.25 * before[k] - 0.5 * time[k];
      CHECK(slt_sensitivity_mark(s, SLT_WHEN_NOW, q, &mark) == SLT_ERR_UNSUPPORTED, "backwards");
      CHECK(slt_sensitivity_mark_time(s, &mark) == SLT_ERR_UNSUPPORTED, "backwards");
      CHECK(slt_sensitivity_gradient(s, time, 0, before) == SLT_ERR_UNSUPPORTED, "backwards");
    }
    slt_sensitivity_free(s);
    slt_sim_free(sim);
  }
  for (uint32_t k = 0; k < count; k++)
    CHECK_NEAR(rows[1][k], rows[0][k], 1e-12, 1e-14);
  slt_model_free(model);
}

TEST(backwards_is_forwards) {
  const SltSensitivityParameter ball_parameters[] = {
      {"k", false}, {"h", false}, {"a", false}, {"v", true}};
  both_ways(ball, "y", 6.0, ball_parameters, 4);
  both_ways(ball, "energy", 6.0, ball_parameters, 4);
  both_ways(ball, "speed", 6.0, ball_parameters, 4);
  const SltSensitivityParameter pq[] = {{"p", false}, {"q", false}, {"x", true}};
  // equations that are solved together, linear and not, also where assignments read them
  both_ways("const p = 0.7, q = 1.4;\nx' = u; x(t0) = 0.3;\nu + exp(w)*p = x*q;\nw^3 + w + p*u = "
            "time;\nstate up [w + u >= 0.2*q] { set x = x - 0.3*w*p; } from init, up;\n",
            "w", 1.5, pq, 3);
  // times that depend on parameters, states entered, what only one mode has
  both_ways("const p = 0.7, q = 0.25;\nx' = if(x > 0.8, q, p*cos(x)); x(t0) = 0.2;\nc(t0) = 1;\nat "
            "p each q repeat 3 { set c = c + x*time; }\nz = c*x;\n",
            "z", 2.0, pq, 3);
  both_ways("const p = 1, q = 2;\nx' = -p*sqrt(x); x(t0) = 4;\nz(t0) = 0; z' = 0;\nstate low [x <= "
            "1 + p/4] { x' = -p*x; z' = -q*z; set z = x*p + time; } from init;\n",
            "z", 4.0, pq, 3);
}

/// More states than are solved at once: the stretch is iterated, forwards and backwards.
TEST(backwards_is_forwards_for_many_states) {
  static char text[20000];
  size_t at = (size_t)snprintf(text, sizeof text,
                               "const p = 0.7, q = 0.4;\nx(t0) = 1; x' = 0;\n"
                               "y0' = p*(x - y0); y0(t0) = 0;\n");
  for (int i = 1; i < 60; i++) {
    at += (size_t)snprintf(text + at, sizeof text - at, "y%d' = p*(y%d - y%d); y%d(t0) = 0;\n", i,
                           i - 1, i, i);
  }
  snprintf(text + at, sizeof text - at,
           "state full [y3 >= q] { set y3 = y2*0.1; } from init, full;\n");
  const SltSensitivityParameter pq[] = {{"p", false}, {"q", false}, {"x", true}};
  both_ways(text, "y10", 12.0, pq, 3);
}

TEST(what_cannot_be_followed_backwards_is_said) {
  static const char* const texts[] = {
      "const p = 1;\nx' = -delay(x, p); x(t0) = 1;\n",
      "const p = 1;\nx' = 0.3*time - p*sign(x); x(t0) = 0.2;\n",
      "const p = 1;\nx'' = -f*x; y'' = -f*y - 9.81; x^2 + y^2 = p^2;\nx(t0) = 0; x'(t0) = 1; y(t0) "
      "~= -1;\n",
  };
  const SltSensitivityParameter p = {"p", false};
  for (size_t i = 0; i < SLT_COUNT(texts); i++) {
    SltModel* model = compile(texts[i]);
    SltSim* sim = create(model);
    SltSensitivity* s = NULL;
    SltQuantity q;
    uint32_t mark = 0;
    double out = 0.0;
    CHECK(slt_sensitivity_create_adjoint(sim, &p, 1, &s) == SLT_OK, texts[i]);
    follow(sim, s, 1.0);
    CHECK(slt_sensitivity_gap(s) && strstr(slt_sensitivity_gap(s), "on the way back"), texts[i]);
    CHECK(slt_sim_find(sim, "x", &q) == SLT_OK, "x");
    CHECK(slt_sensitivity_mark(s, SLT_WHEN_NOW, q, &mark) == SLT_ERR_UNSUPPORTED, texts[i]);
    CHECK(slt_sensitivity_gradient(s, &out, 0, &out) == SLT_ERR_UNSUPPORTED, texts[i]);
    slt_sensitivity_free(s);
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

static SltStatus count_points(void* user, const SltMapPoint* point) {
  double* last = user;
  if (point->boundary) *last = point->parameters[0];
  return SLT_OK;
}

TEST(a_map_has_its_boundary) {
  SltModel* model = compile("const p = 1;\nx' = 1; x(t0) = 0;\nstate up [x >= p] from init;\n");
  SltDesign* design = NULL;
  SltProblem problem;
  CHECK(slt_design_create(model, &design) == SLT_OK, "design");
  CHECK(slt_design_add(design, "p=1:3:3", &problem) == SLT_OK, "add");
  CHECK(slt_design_sample(design, SLT_SAMPLE_GRID, 0, 0, &problem) == SLT_OK, "grid");
  SltMapOptions options = slt_map_options();
  double boundary = 0.0;
  options.t_end = 1.75;
  options.on_point = count_points;
  options.user = &boundary;
  CHECK(slt_map_run(model, design, &options, &problem) == SLT_OK, "map");
  CHECK_NEAR(boundary, 1.75, 1e-11, 0.0);
  slt_design_free(design);
  slt_model_free(model);
}

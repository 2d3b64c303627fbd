// SPDX-License-Identifier: MIT
//
// Formulas, curves, designs, measures and sweeps through the C interface.
#include "experiment/experiment.h"
#include "test.h"

#include <stdatomic.h>

// ---- formulas -----------------------------------------------------------------------------------

static SltStatus letter(void* user, FormulaParser* parser, Str name, bool call, uint32_t* leaf) {
  (void)user;
  (void)parser;
  if (call) return SLT_END;
  *leaf = (uint32_t)(name.data[0] - 'a');
  return name.length == 1 && *leaf < 3 ? SLT_OK : SLT_ERR_NOT_FOUND;
}

static SltStatus read_formula(const char* text, Formula* out) {
  static FormulaParser parser;
  parser = (FormulaParser){.at = text, .end = text + strlen(text), .leaf = letter};
  return formula_read(&parser, out);
}

TEST(formulas_have_values_and_derivatives) {
  static const char* const texts[] = {
      "a + b*c - 2",
      "a^2 / (b + 3)",
      "sin(a)*cos(b) + exp(c)",
      "-a^b",
      "sqrt(a) + abs(-c)",
      "max(a, b) + min(b, c)",
      "atan2(a, b)",
      "ln(a)*tan(b)/cosh(c)",
      "a - b - c",
      "2^a^b",
      "erf(a) + asinh(b) - atanh(c/4)",
      "(((a)))*1e-3",
  };
  const double at[3] = {1.25, 0.75, 1.5};
  for (size_t i = 0; i < SLT_COUNT(texts); i++) {
    Formula formula;
    CHECK(read_formula(texts[i], &formula) == SLT_OK, texts[i]);
    double partials[3];
    formula_partials(&formula, at, 3, partials);
    for (int k = 0; k < 3; k++) {
      double h = 1e-4;
      double moved[4];
      for (int s = 0; s < 4; s++) {
        double x[3] = {at[0], at[1], at[2]};
        x[k] += h * (s < 2 ? s - 2 : s - 1);
        moved[s] = formula_value(&formula, x);
      }
      double slope = (moved[0] - 8.0 * moved[1] + 8.0 * moved[2] - moved[3]) / (12.0 * h);
      CHECK_NEAR(partials[k], slope, 1e-9, 1e-9);
    }
    formula_clear(&formula);
  }
}

TEST(formulas_that_are_none) {
  static const char* const texts[] = {"",       "a +", "(a",   "a)",     "foo(a)", "a b",
                                      "max(a)", "d",   "1..2", "a ** b", "`a",     "sin a"};
  for (size_t i = 0; i < SLT_COUNT(texts); i++) {
    Formula formula;
    CHECK(read_formula(texts[i], &formula) < 0, texts[i]);
  }
  char deep[400];
  memset(deep, '(', 200);
  strcpy(deep + 200, "a");
  Formula formula;
  CHECK(read_formula(deep, &formula) < 0, "depth");
}

// ---- curves -------------------------------------------------------------------------------------

typedef struct Kept {
  CurvePiece pieces[CURVE_DEPTH];
  uint32_t count;
  double (*value)(double);
} Kept;

static SltStatus kept_value(void* user, const double* t, uint32_t count, double* values) {
  for (uint32_t i = 0; i < count; i++)
    values[i] = ((Kept*)user)->value(t[i]);
  return SLT_OK;
}

static SltStatus keep(void* user, const CurvePiece* piece) {
  Kept* kept = user;
  kept->pieces[kept->count++] = *piece;
  return SLT_OK;
}

static double wave(double t) {
  return exp(-0.3 * t) * sin(7.0 * t);
}

TEST(curves_are_exact_to_rounding) {
  Kept kept = {.value = wave};
  double scale = 0.0;
  CHECK(curve_walk(0.0, 3.0, false, &scale, &(CurveReader){kept_value, keep, NULL}, &kept) ==
            SLT_OK,
        "walk");
  double integral = 0.0;
  double square = 0.0;
  double below = 0.0;
  uint32_t turns = 0;
  for (uint32_t i = 0; i < kept.count; i++) {
    double times[CURVE_POINTS];
    integral += curve_integral(&kept.pieces[i]);
    square += curve_square_integral(&kept.pieces[i]);
    below += curve_time_below(&kept.pieces[i], 0.0);
    uint32_t count = curve_turns(&kept.pieces[i], times);
    for (uint32_t k = 0; k < count; k++, turns++) {
      double expected = (atan(7.0 / 0.3) + turns * 3.141592653589793) / 7.0;
      CHECK_NEAR(times[k], expected, 1e-10, 0.0);
    }
  }
  double d = 0.3 * 0.3 + 49.0;
  double end = exp(-0.9) * (-0.3 * sin(21.0) - 7.0 * cos(21.0)) / d;
  CHECK_NEAR(integral, end + 7.0 / d, 1e-13, 0.0);
  CHECK(turns == 7, "turns");
  double lo = 0.0;  // time below zero: half-waves
  for (int k = 0; k < 7; k += 2)
    lo += 3.141592653589793 / 7.0;
  CHECK_NEAR(below, 3.0 - lo + (7.0 * 3.141592653589793 / 7.0 - 3.0), 2e-1, 0.0);
  CHECK(square > 0.0, "square");
}

TEST(normal_quantiles_invert_the_distribution) {
  for (double p = 1e-12; p < 1.0; p = p < 0.01 ? p * 3.0 : p + 0.0137) {
    double x = normal_quantile(p);
    CHECK_NEAR(0.5 * erfc(-x / sqrt(2.0)), p, 0.0, 1e-13);
  }
}

// ---- designs and sweeps -------------------------------------------------------------------------

static const char fall[] = "const k = 0.8, h = 2;\ny' = v; y(t0) = h;\nv' = -9.81; v(t0) = 0;\n"
                           "state b [y <= 0] && [v < 0] { v(t0) = -k*v; } from init, b;\n";

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("m.lisma", text, strlen(text), NULL, &model) == SLT_OK, "compile");
  return model;
}

typedef struct Collected {
  uint64_t next;
  double sum;
  uint32_t stop_after;
} Collected;

static SltStatus collect(void* user, const SltSweepRow* row) {
  Collected* c = user;
  CHECK(row->member == c->next, "order");
  c->next++;
  c->sum += row->values[0] * (double)(row->member + 1) + row->values[1];
  return c->stop_after && c->next >= c->stop_after ? SLT_ERR_IO : SLT_OK;
}

static void own_measure(void* user, SltSim* sim, SltStatus status, double* values) {
  (void)user;
  values[0] = status >= 0 ? slt_sim_time(sim) : -1.0;
}

TEST(sweeps_give_the_same_in_any_number_of_threads) {
  SltModel* model = compile(fall);
  SltDesign* design = NULL;
  SltMeasures* measures = NULL;
  static const char* const texts[] = {"time(main.b)"};
  CHECK(slt_measures_create(model, texts, 1, &measures, NULL) == SLT_OK, "measures");
  CHECK(slt_design_create(model, &design) == SLT_OK, "design");
  CHECK(slt_design_add(design, "h=1:2:40", NULL) == SLT_OK, "h");
  CHECK(slt_design_add(design, "k=0.3,0.5,0.8", NULL) == SLT_OK, "k");
  CHECK(slt_design_sample(design, SLT_SAMPLE_GRID, 0, 0, NULL) == SLT_OK, "grid");
  CHECK(slt_design_member_count(design) == 120, "members");
  double sums[3];
  static const uint32_t jobs[] = {1, 2, 7};
  for (int i = 0; i < 3; i++) {
    Collected c = {0};
    SltSweepOptions options = slt_sweep_options();
    options.jobs = jobs[i];
    options.t_end = 1.5;
    options.on_row = collect;
    options.own = own_measure;
    options.own_count = 1;
    options.user = &c;
    CHECK(slt_sweep_run(model, design, measures, &options) == SLT_OK, "sweep");
    CHECK(c.next == 120, "rows");
    sums[i] = c.sum;
    c = (Collected){.stop_after = 17};
    CHECK(slt_sweep_run(model, design, measures, &options) == SLT_ERR_IO,
          "a row that fails ends it");
    CHECK(c.next == 17, "no row after it");
  }
  CHECK(sums[0] == sums[1] && sums[0] == sums[2], "same bits");
  slt_measures_free(measures);
  slt_design_free(design);
  slt_model_free(model);
}

TEST(latin_hypercubes_permute_without_memory) {
  SltModel* model = compile(fall);
  SltDesign* design = NULL;
  CHECK(slt_design_create(model, &design) == SLT_OK, "design");
  CHECK(slt_design_add(design, "h=0:1", NULL) == SLT_OK, "h");
  static const uint64_t counts[] = {1, 2, 3, 7, 100, 1023, 1025};
  for (size_t i = 0; i < SLT_COUNT(counts); i++) {
    for (uint64_t seed = 0; seed < 3; seed++) {
      bool seen[1025] = {false};
      CHECK(slt_design_sample(design, SLT_SAMPLE_LHS, counts[i], seed, NULL) == SLT_OK, "sample");
      for (uint64_t m = 0; m < counts[i]; m++) {
        double value = 0.0;
        slt_design_member(design, m, &value);
        uint64_t stratum = (uint64_t)(value * (double)counts[i]);
        CHECK(stratum < counts[i] && !seen[stratum], "each stratum once");
        seen[stratum] = true;
      }
    }
  }
  slt_design_free(design);
  slt_model_free(model);
}

/// Steps that are computed together with those of other runs are the same steps: with functions,
/// branches, an event that some runs have earlier than others, and runs that end before the others.
TEST(lanes_leave_the_runs_as_they_are) {
  SltModel* model =
      compile("const a = 1;\n"
              "x' = y + 0.1*cos(3*x); x(t0) = a;\n"
              "y' = -sin(x)*exp(-0.1*a) - 0.05*y*abs(y) + max(x, a)/(1 + x*x); y(t0) = 0;\n"
              "state low [x >= 2.5] { set y = -0.5*y; } from init, low;\n"
              "experiment { end = 5; }\n");
  enum { RUNS = 8 };
  SltSim* plain[RUNS];
  SltSim* lanes[RUNS + 1] = {NULL};
  SltSimOptions options = slt_sim_options();
  SltQuantity x;
  uint32_t served = 0;
  for (int i = 0; i < RUNS; i++) {
    CHECK(slt_sim_create(model, &options, &plain[i]) == SLT_OK, "create");
    CHECK(slt_sim_create(model, &options, &lanes[i + 1]) == SLT_OK, "create");
    for (int k = 0; k < 2; k++) {
      SltSim* sim = k ? lanes[i + 1] : plain[i];
      CHECK(slt_sim_set_constant(sim, "a", 0.3 + 0.2 * i) == SLT_OK, "set");
      CHECK(slt_sim_start(sim) >= SLT_OK, "start");
    }
  }
  CHECK(slt_sim_find(plain[0], "x", &x) == SLT_OK, "find");
  CHECK(slt_sims_prepare(NULL, 3) == 0, "nobody");
  bool on = true;
  for (int round = 0; on; round++) {
    on = false;
    served += slt_sims_prepare(lanes, RUNS + 1);
    if (round % 5 == 0) slt_sims_prepare(lanes + 4, 5);
    for (int i = 0; i < RUNS; i++) {
      double a = 0.0;
      double b = 0.0;
      double stop = 2.0 + 0.3 * i;
      if (slt_sim_time(plain[i]) >= stop) continue;
      on = true;
      SltStatus first = slt_sim_advance_step(plain[i], stop, &a);
      SltStatus second = slt_sim_advance_step(lanes[i + 1], stop, &b);
      CHECK(first == second && a == b, "same step");
      CHECK(slt_sim_get(plain[i], x) == slt_sim_get(lanes[i + 1], x), "same bits");
      SltStatistics p = slt_sim_statistics(plain[i]);
      SltStatistics q = slt_sim_statistics(lanes[i + 1]);
      CHECK(p.evaluations == q.evaluations, "same work");
    }
  }
  CHECK(served > 5 * RUNS, "lanes were used");
  for (int i = 0; i < RUNS; i++) {
    slt_sim_free(plain[i]);
    slt_sim_free(lanes[i + 1]);
  }
  slt_model_free(model);
}

/// States, their derivatives, and what is computed from them.
static const char motion[] = "const w = 3;\ny' = v; y(t0) = 1;\nv' = -w*w*y; v(t0) = 0;\nz'' = -z "
                             "+ p; z(t0) = 0; z'(t0) = 1;\n"
                             "p = abs(y) + v;\n";
/// The same names, with motion that is brought back onto a constraint.
static const char held[] =
    "y' = v - 2*y*p; y(t0) = 0.6; v' = w - 2*v*p; v(t0) = 0; w(t0) = 0; w' = -w - 1;\n"
    "y^2 + z^2 = 1; z' = v - 2*z*p; z(t0) = 0.8;\n";

static void check_courses(const char* text, const char* method) {
  static const char* const names[] = {"y", "v", "z'", "p", "z", "y", "time"};
  enum { NAMES = SLT_COUNT(names), TIMES = 21 };
  SltModel* model = compile(text);
  SltSimOptions options = slt_sim_options();
  options.method = method;
  SltSim* sim = NULL;
  SltQuantity q[NAMES];
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, method);
  for (int k = 0; k < NAMES; k++)
    CHECK(slt_sim_find(sim, names[k], &q[k]) == SLT_OK, names[k]);
  CHECK(slt_sim_start(sim) == SLT_OK, "start");
  for (double at = 0.0; at < 2.0;) {
    double t[TIMES];
    double values[NAMES * TIMES];
    double until = 0.0;
    CHECK(slt_sim_ahead(sim, &until) == SLT_OK, "ahead");
    for (int i = 0; i < TIMES; i++)
      t[i] = at + (until - at) * ((7 * i) % TIMES) / TIMES;
    CHECK(slt_sim_course(sim, q, NAMES, t, TIMES, values) == SLT_OK, "course");
    CHECK(slt_sim_course(sim, q, NAMES, &until, 1, values) == SLT_ERR_ARGUMENT, "outside");
    CHECK(slt_sim_course(sim, q, NAMES, t, TIMES, values) == SLT_OK, "course");
    for (int i = 0; i < TIMES; i++) {
      CHECK(slt_sim_look(sim, t[i]) == SLT_OK, "look");
      for (int k = 0; k < NAMES; k++)
        CHECK(values[k * TIMES + i] == slt_sim_get(sim, q[k]), names[k]);
    }
    CHECK(slt_sim_advance(sim, until, &at) >= SLT_OK, "advance");
  }
  slt_sim_free(sim);
  slt_model_free(model);
}

TEST(courses_are_what_looks_see) {
  static const char* const methods[] = {"dp54", "dop853", "rodas", "bs32", "auto"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++)
    check_courses(motion, methods[i]);
  check_courses(held, "auto");
}

/// Looking into a stretch changes nothing, in whatever order.
TEST(looking_leaves_the_run_as_it_is) {
  SltModel* model = compile(fall);
  SltSimOptions options = slt_sim_options();
  SltSim* plain = NULL;
  SltSim* looked = NULL;
  SltQuantity y;
  CHECK(slt_sim_create(model, &options, &plain) == SLT_OK, "create");
  CHECK(slt_sim_create(model, &options, &looked) == SLT_OK, "create");
  CHECK(slt_sim_find(plain, "y", &y) == SLT_OK, "find");
  CHECK(slt_sim_look(looked, 0.1) == SLT_ERR_ARGUMENT, "before the start");
  CHECK(slt_sim_start(plain) == SLT_OK && slt_sim_start(looked) == SLT_OK, "start");
  for (double t = 0.0; t < 2.0;) {
    double until = 0.0;
    CHECK(slt_sim_ahead(looked, &until) == SLT_OK, "ahead");
    CHECK(until > t, "a stretch");
    CHECK(slt_sim_look(looked, until) == SLT_ERR_ARGUMENT, "its end is not inside");
    for (int i = 9; i >= 0; i--)
      CHECK(slt_sim_look(looked, t + (until - t) * i / 10.0) == SLT_OK, "look");
    double a = 0.0;
    double b = 0.0;
    SltStatus first = slt_sim_advance(looked, fmin(until, 2.0), &a);
    SltStatus second = slt_sim_advance(plain, fmin(until, 2.0), &b);
    CHECK(first == second && a == b, "same status");
    CHECK(slt_sim_get(looked, y) == slt_sim_get(plain, y), "same bits");
    t = a;
  }
  slt_sim_free(plain);
  slt_sim_free(looked);
  slt_model_free(model);
}

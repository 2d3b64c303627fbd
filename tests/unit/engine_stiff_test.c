// SPDX-License-Identifier: MIT
//
// Runs with stiff methods and with auto: snapshots go on with the same bits, steps take no memory.
#include "api/handles.h"
#include "engine/run/run.h"
#include "saltus/saltus.h"
#include "test.h"

// events, blocks, a surface that is slid along, changing numbers of states, a wide and a banded
// Jacobian; `auto` changes over in the first ones
static const struct {
  const char* name;
  const char* text;
  double end;
} models[] = {
    {"driven", "x' = -1e5 * (x - cos(time)) - sin(time); x(t0) = 1;\n", 10.0},
    {"oscillator", "y' = z; z' = 100 * (1 - y * y) * z - y; y(t0) = 2; z(t0) = 0;\n", 300.0},
    {"sensor",
     "T' = (10 - T) / 60 + u; s' = (T - s) / 1e-3; T(t0) = 15; s(t0) = 15; u(t0) = 1;\n"
     "state off [s >= 21] { set u = 0; } from init, on;\n"
     "state on [s <= 19] { set u = 1; } from off;\n",
     60.0},
    {"block", "x' = -1e3 * (x - y); x(t0) = 1; y + y ^ 3 = cos(time); y(t0) ~ 0.6;\n", 5.0},
    {"pendulum",
     "x' = v; y' = w; v' = -s * x; w' = -s * y - 9.81; x * x + y * y = 1;\n"
     "x(t0) = 1; y(t0) = 0; v(t0) = 0; w(t0) = 0;\n",
     3.0},
    {"slides",
     "x' = y; y' = u - 0.1 * y; f' = (y - f) / 1e-3; x(t0) = 1; y(t0) = 0; f(t0) = 0;\n"
     "u = if(x + y > 0, -2, 2);\n",
     4.0},
    {"other states",
     "x' = v; a: v' = -x; x(t0) = 1; v(t0) = 0; b: z = x;\n"
     "state held [x <= 0] { a: v = -1; b: z' = 1; } from init;\n"
     "state free_again [z >= 1] {} from held;\n",
     6.0},
    {"line",
     "const N = 40; c[0] = 1; c[N+1] = 0;\n"
     "for i = 1:N { c[i]' = 1e3 * (c[i-1] - 2 * c[i] + c[i+1]) - c[i] ^ 2; c[i](t0) = 0; }\n",
     1.0},
    {"scattered",
     "const N = 60;\n"
     "for i = 0:N-1 { q[i]' = q[mod(7 * i + 3, N)] - 40 * q[i] + sin(q[mod(11 * i + 1, N)]);\n"
     "  q[i](t0) = i / N; }\n",
     3.0},
};

static const char* const methods[] = {"rodas3", "rodas", "rodas5", "auto"};

static SltStatus advance_to(SltSim* sim, double t) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, t, NULL);
  }
  return status;
}

/// Everything that can be read, mixed.
static uint64_t digest(SltSim* sim) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i < slt_sim_column_count(sim); i++) {
    SltQuantity quantity;
    if (slt_sim_find(sim, slt_sim_column_name(sim, i), &quantity) < 0) continue;
    double value = slt_sim_get(sim, quantity);
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * UINT64_C(0x100000001b3);
  }
  return hash;
}

TEST(stiff_runs_go_on_from_snapshots_without_memory) {
  FOR_CASES(c, models) {
    for (size_t m = 0; m < SLT_COUNT(methods); m++) {
      char name[80];
      snprintf(name, sizeof name, "%s, %s", c->name, methods[m]);
      TestAllocator memory = {0};
      SltCompileOptions compile_options = slt_compile_options();
      compile_options.allocator = test_allocator(&memory);
      SltModel* model = NULL;
      CHECK(slt_model_compile(c->name, c->text, strlen(c->text), &compile_options, &model) ==
                SLT_OK,
            name);
      SltSimOptions options = slt_sim_options();
      options.allocator = test_allocator(&memory);
      options.method = methods[m];
      SltSim* sim = NULL;
      CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, name);
      CHECK(slt_sim_start(sim) >= 0 && advance_to(sim, 0.37 * c->end) == SLT_OK, name);
      size_t size = slt_sim_snapshot_size(sim);
      void* snapshot = malloc(size);
      assert_non_null(snapshot);
      CHECK(slt_sim_snapshot_save(sim, snapshot, size) == SLT_OK, name);
      CHECK(advance_to(sim, c->end) == SLT_OK, name);
      uint64_t want = digest(sim);
      uint64_t requests = memory.requests;
      CHECK(slt_sim_snapshot_restore(sim, snapshot, size) == SLT_OK, name);
      CHECK(advance_to(sim, 0.5 * c->end) == SLT_OK, name);
      CHECK(advance_to(sim, c->end) == SLT_OK, name);
      CHECK(digest(sim) == want, name);
      CHECK(memory.requests == requests, name);
      free(snapshot);
      slt_sim_free(sim);
      slt_model_free(model);
      CHECK(memory.live_blocks == 0, name);
    }
  }
}

static uint32_t family_of(const SltSim* sim, const char* name) {
  const Model* model = sim->engine->model;
  for (uint32_t i = 0; i < model->var_count; i++) {
    if (str_equal(model->vars[i].name, str_from_c(name))) return model->vars[i].family;
  }
  test_fail(__FILE__, __LINE__, name, "no such variable");
}

// The end of a row of cells has the scale of the cells, in whatever units its equation is written;
// what is added with quite another coefficient has not.
TEST(ends_of_rows_have_the_scale_of_their_cells) {
  static const struct {
    const char* text;
    bool joined;
  } rows[] = {
      {"last' = cell2 - last;", true},
      {"last' = 1e-9*cell2 - 1e-9*last;", true},
      {"last' = (1e6*cell2 - 2*(1e6*last))/1e6;", true},
      {"const k = 3; last' = k*cell2 - k*last;", true},
      {"last' = cell2 - 1e3*last;", false},
      {"const k = 3; last' = k*cell2 - last;", false},
      {"const k = 3, m = 3; last' = k*cell2 - m*last;", false},
      {"last' = cell2*last - last;", false},
  };
  for (size_t i = 0; i < SLT_COUNT(rows); i++) {
    char text[300];
    snprintf(text, sizeof text, "for i = 1:2 { cell[i]' = -i*cell[i]; cell[i](t0) = 1; } %s",
             rows[i].text);
    SltModel* model = NULL;
    SltSim* sim = NULL;
    CHECK(slt_model_compile("test.lisma", text, strlen(text), NULL, &model) == SLT_OK, text);
    SltSimOptions options = slt_sim_options();
    CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, text);
    CHECK(family_of(sim, "cell1") == family_of(sim, "cell2"), "a loop");
    CHECK((family_of(sim, "last") == family_of(sim, "cell2")) == rows[i].joined, text);
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

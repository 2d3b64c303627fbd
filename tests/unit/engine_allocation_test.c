// SPDX-License-Identifier: MIT
//
// Steps take no memory, from whomever: every call of the C library's functions is counted (the
// linker leads them here). Modes that have been entered before included, explicit and implicit.
#include "test.h"

#include <saltus/saltus.h>

static size_t calls;

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* pointer, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __wrap_malloc(size_t size);
void* __wrap_calloc(size_t count, size_t size);
void* __wrap_realloc(void* pointer, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size);

void* __wrap_malloc(size_t size) {
  calls++;
  return __real_malloc(size);
}

void* __wrap_calloc(size_t count, size_t size) {
  calls++;
  return __real_calloc(count, size);
}

void* __wrap_realloc(void* pointer, size_t size) {
  calls++;
  return __real_realloc(pointer, size);
}

void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  calls++;
  return __real_aligned_alloc(alignment, size);
}

static const struct {
  const char *name, *text;
  double warm, end;
  const char* method;
} cases[] = {
    {"explicit", "x' = v; x(t0) = 1; v' = -x - 0.1*v + sin(time); v(t0) = 0;", 1.0, 50.0, NULL},
    {"explicit, high order", "x' = v; x(t0) = 1; v' = -x; v(t0) = 0;", 1.0, 50.0, "dop853"},
    {"events",
     "y' = v; y(t0) = 1; v' = -9.81; v(t0) = 0;\n"
     "state b unilateral[y <= 0] && v < 0 { set v = 5; set y = 0; } from init, b;",
     3.0, 50.0, NULL},
    {"switching modes",
     "x' = abs(x) - x; x(t0) = 0.5; w' = 0;\n"
     "y' = w; y(t0) = 0; w(t0) = 1;\n"
     "state up [y <= -1] { set w = 1; } from init, down;\n"
     "state down [y >= 1] { set w = -1; } from init, up;",
     5.0, 80.0, NULL},
    {"time events",
     "const a = 1; x' = -x + y; x(t0) = 0; y(t0) = 0;\nat 0.5 each 0.5 repeat * { set y = a - y; }",
     2.0, 40.0, NULL},
    {"linear block", "x' = v; x(t0) = 1; v' = -a - b; v(t0) = 0; a + 2*b = x; a - b = 3*v;", 1.0,
     40.0, NULL},
    {"nonlinear block", "x' = -z; x(t0) = 1; z*z*z + z = x;", 0.5, 20.0, NULL},
    {"index 3",
     "const L = 1; x' = u; y' = v; u' = -s*x; v' = -s*y - 9.81; x*x + y*y = L*L;\n"
     "x(t0) = 1; y(t0) ~= 0; u(t0) = 0; v(t0) ~= 0;",
     1.0, 20.0, NULL},
};

static SltModel* compile(const char* name, const char* text) {
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("model.lisma", text, strlen(text), NULL, &model);
  return status == SLT_OK ? model : (fprintf(stderr, "%s: %d\n", name, status), NULL);
}

TEST(steps_take_no_memory) {
  for (size_t i = 0; i < SLT_COUNT(cases); i++) {
    SltModel* model = compile(cases[i].name, cases[i].text);
    CHECK(model != NULL, cases[i].name);
    SltSimOptions options = slt_sim_options();
    options.method = cases[i].method;
    SltSim* sim = NULL;
    CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, cases[i].name);
    CHECK(slt_sim_start(sim) >= 0, cases[i].name);
    SltStatus status = SLT_EVENT;
    while (status == SLT_EVENT) {
      status = slt_sim_advance(sim, cases[i].warm, NULL);
    }
    CHECK(status == SLT_OK, cases[i].name);
    size_t before = calls;
    CHECK(before > 0, "the functions are counted");
    status = SLT_EVENT;
    while (status == SLT_EVENT) {
      status = slt_sim_advance(sim, cases[i].end, NULL);
    }
    CHECK(status == SLT_OK, cases[i].name);
    CHECK(slt_sim_statistics(sim).steps > 20, cases[i].name);
    char what[100];
    snprintf(what, sizeof what, "%s: %zu calls in %llu steps", cases[i].name, calls - before,
             (unsigned long long)slt_sim_statistics(sim).steps);
    CHECK(calls == before, what);
    slt_sim_free(sim);
    slt_model_free(model);
  }
}

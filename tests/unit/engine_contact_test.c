// SPDX-License-Identifier: MIT
//
// The room of contacts: complementarity against enumeration, and closed contacts of a run seen from
// inside.
#include "api/handles.h"
#include "engine/contact/work.h"
#include "test.h"

#include <saltus/saltus.h>

// ---- complementarity ----------------------------------------------------------------------------

enum { SIZE_MAX_LCP = 5, CASES = 400 };

static uint64_t dice = 1;

static double draw(void) {
  dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(dice >> 11) / 9007199254740992.0 * 2.0 - 1.0;
}

/// A matrix for which there is exactly one solution: B B' + a little, and no longer symmetric.
static void draw_matrix(uint32_t n, double* m) {
  double b[SIZE_MAX_LCP * SIZE_MAX_LCP];
  for (uint32_t i = 0; i < n * n; i++) {
    b[i] = draw();
  }
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < n; k++) {
      double sum = i == k ? 0.3 : i < k ? 0.2 : -0.2;
      for (uint32_t j = 0; j < n; j++) {
        sum += b[i * n + j] * b[k * n + j];
      }
      m[i * n + k] = sum;
    }
  }
}

/// z by trying which of them are not zero.
static bool enumerate(uint32_t n, const double* m, const double* q, double* z) {
  double work[200];
  double right[SIZE_MAX_LCP];
  bool in[SIZE_MAX_LCP];
  bool carries[SIZE_MAX_LCP];
  for (uint32_t mask = 0; mask < 1u << n; mask++) {
    for (uint32_t i = 0; i < n; i++) {
      in[i] = (mask >> i & 1u) != 0;
      right[i] = -q[i];
    }
    num_dense_solve_members(n, m, right, in, z, carries, work);
    bool fits = true;
    for (uint32_t i = 0; i < n; i++) {
      double w = q[i];
      for (uint32_t k = 0; k < n; k++) {
        w += m[i * n + k] * z[k];
      }
      fits &= z[i] >= 0.0 && w >= -1e-12;
    }
    if (fits) return true;
  }
  return false;
}

TEST(num_lcp_solve_finds_what_enumeration_finds) {
  double m[SIZE_MAX_LCP * SIZE_MAX_LCP];
  double q[SIZE_MAX_LCP];
  double z[SIZE_MAX_LCP];
  double w[SIZE_MAX_LCP];
  double wanted[SIZE_MAX_LCP];
  double work[200];
  CHECK(num_lcp_room(SIZE_MAX_LCP) <= SLT_COUNT(work), "room");
  for (uint32_t k = 0; k < CASES; k++) {
    uint32_t n = 1 + k % SIZE_MAX_LCP;
    draw_matrix(n, m);
    for (uint32_t i = 0; i < n; i++) {
      q[i] = draw();
    }
    CHECK(num_lcp_solve(n, m, q, z, w, work), "solved");
    CHECK(!num_lcp_ambiguous(n, m), "unique");
    CHECK(enumerate(n, m, q, wanted), "enumerated");
    for (uint32_t i = 0; i < n; i++) {
      CHECK_NEAR(z[i], wanted[i], 1e-10, 1e-10);
      CHECK(z[i] * w[i] == 0.0, "complementary");
    }
  }
}

TEST(num_lcp_solve_does_not_depend_on_units) {
  double m[9];
  double q[3];
  double z[3];
  double w[3];
  double z_scaled[3];
  double work[200];
  for (uint32_t k = 0; k < CASES; k++) {
    draw_matrix(3, m);
    double unit[3];
    for (uint32_t i = 0; i < 3; i++) {
      q[i] = draw();
      unit[i] = ldexp(1.0, (int)(draw() * 40.0));
    }
    CHECK(num_lcp_solve(3, m, q, z, w, work), "solved");
    for (uint32_t i = 0; i < 9; i++) {
      m[i] *= unit[i / 3] * unit[i % 3];
    }
    for (uint32_t i = 0; i < 3; i++) {
      q[i] *= unit[i];
    }
    CHECK(num_lcp_solve(3, m, q, z_scaled, w, work), "solved in other units");
    for (uint32_t i = 0; i < 3; i++) {
      CHECK_NEAR(z_scaled[i] * unit[i], z[i], 1e-9, 1e-9);
    }
  }
}

TEST(num_lcp_solve_says_where_there_is_none) {
  double z[1];
  double w[1];
  double work[20];
  CHECK(!num_lcp_solve(1, (double[]){-1.0}, (double[]){-1.0}, z, w, work), "none");
  CHECK(z[0] == 0.0, "zero");
  CHECK(num_lcp_ambiguous(1, (double[]){-1.0}), "ambiguous");
  CHECK(num_lcp_solve(1, (double[]){-1.0}, (double[]){1.0}, z, w, work), "one of two");
}

TEST(num_dense_solve_members_leaves_out_what_repeats) {
  // the third row is the sum of the others: three legs of a table in one plane
  double a[] = {2.0, 1.0, 3.0, 1.0, 2.0, 3.0, 3.0, 3.0, 6.0};
  double b[] = {1.0, 2.0, 3.0};
  double x[3];
  double work[60];
  bool in[] = {true, true, true};
  bool carries[3];
  num_dense_solve_members(3, a, b, in, x, carries, work);
  CHECK(carries[0] + carries[1] + carries[2] == 2, "rank");
  for (uint32_t i = 0; i < 3; i++) {
    CHECK_NEAR(a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2], b[i], 1e-12, 0.0);
  }
  in[1] = false;
  num_dense_solve_members(3, a, b, in, x, carries, work);
  CHECK(x[1] == 0.0 && !carries[1], "left out");
}

// ---- runs ---------------------------------------------------------------------------------------

typedef struct Run {
  SltModel* model;
  SltSim* sim;
  EngSim* engine;
} Run;

static Run begin(const char* text) {
  Run run = {0};
  CHECK(slt_model_compile("test.lisma", text, strlen(text), NULL, &run.model) == SLT_OK, text);
  SltSimOptions options = slt_sim_options();
  CHECK(slt_sim_create(run.model, &options, &run.sim) == SLT_OK, "create");
  CHECK(slt_sim_start(run.sim) == SLT_OK, "start");
  run.engine = run.sim->engine;
  return run;
}

static void advance(Run* run, double t) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(run->sim, t, NULL);
  }
  CHECK(status >= 0, "advance");
}

static void end(Run* run) {
  slt_sim_free(run->sim);
  slt_model_free(run->model);
}

#define BALL(n, height) \
  "y" n "' = v" n ";  v" n "' = -9.81;  y" n "(t0) = " height ";  v" n "(t0) = 0;\n" \
  "automaton b" n " { state hit [y" n " <= 0] && noEvent[v" n " < 0] { set v" n " = -0.5*v" n \
  "; } from init, hit; }\n"

TEST(contacts_take_no_memory_before_one_closes) {
  Run run = begin(BALL("1", "1"));
  advance(&run, 0.5);
  CHECK(run.engine->core.contact.count == 0 && !run.engine->contact.work, "in flight");
  advance(&run, 3.0);
  CHECK(run.engine->core.contact.count == 1 && run.engine->contact.work, "at rest");
  CHECK(eng_contact_valid(run.engine), "valid");
  CHECK(eng_contact_holds_automaton(run.engine, 0), "held");
  end(&run);
}

TEST(independent_contacts_are_groups_of_their_own) {
  Run run = begin(BALL("1", "1") BALL("2", "2") BALL("3", "3"));
  advance(&run, 10.0);
  EngSim* sim = run.engine;
  CHECK(sim->core.contact.count == 3 && sim->contact.work->group_count == 3, "groups");
  // the reaction takes the weight: direction times lambda is 9.81
  double dx[6];
  CHECK(eng_contact_flow(sim, 10.0, sim->x, dx) >= 0, "flow");
  CHECK(eng_contact_rhs(sim, 10.0, sim->x, dx) >= 0, "reactions");
  for (uint32_t i = 0; i < 6; i++) {
    CHECK_NEAR(dx[i], 0.0, 1e-9, 0.0);
  }
  for (uint32_t i = 0; i < 3; i++) {
    const Row* row = &sim->contact.work->rows[i];
    CHECK_NEAR(row->lambda * sim->contact.work->entries[row->entry_begin].d, 9.81, 1e-9, 0.0);
    CHECK(sim->contact.closed[i].carries, "carries");
  }
  end(&run);
}

TEST(contacts_that_share_speeds_are_solved_together) {
  Run run =
      begin("x' = u;  y' = v;  u' = -3;  v' = -9.81;\n"
            "x(t0) = 1;  y(t0) = 0.7;  u(t0) = 0;  v(t0) = 0;\n"
            "automaton f { state b [y <= 0] && noEvent[v < 0] { set v = -0.3*v; } from init, "
            "b; }\n"
            "automaton s { state b [x + y <= 0] && noEvent[u + v < 0] { set u = u - 0.65*(u + "
            "v), v = v - 0.65*(u + v); } from init, b; }\n");
  advance(&run, 20.0);
  EngSim* sim = run.engine;
  CHECK(sim->core.contact.count == 2 && sim->contact.work->group_count == 1, "group");
  CHECK_NEAR(slt_sim_get(run.sim, (SltQuantity){SLT_KIND_TIME, 0, 0}), 20.0, 0.0, 0.0);
  // x + y = 0 and y = 0 hold: both reactions push, by the masses' own weights
  const Row* rows = sim->contact.work->rows;
  CHECK(rows[0].lambda > 0.0 && rows[1].lambda > 0.0, "push");
  double a[4];
  eng_contact_matrix(sim, 0, 20.0, sim->x, a);
  for (uint32_t i = 0; i < 2; i++) {
    const Row* row = &rows[sim->contact.work->members[i]];
    double sum = row->flow;
    for (uint32_t k = 0; k < 2; k++) {
      sum += a[2 * i + k] * rows[sim->contact.work->members[k]].lambda;
    }
    CHECK_NEAR(sum, 0.0, 1e-9, 0.0);
  }
  end(&run);
}

TEST(a_contact_that_the_model_does_not_have_is_not_valid) {
  Run run = begin(BALL("1", "1"));
  advance(&run, 5.0);
  EngSim* sim = run.engine;
  EngContact kept = sim->contact.closed[0];
  sim->contact.closed[0].transition = sim->model->transition_count;
  CHECK(!eng_contact_valid(sim), "transition");
  sim->contact.closed[0] = kept;
  sim->contact.closed[0].atom = sim->model->atom_count;
  CHECK(!eng_contact_valid(sim), "relation");
  sim->contact.closed[0] = kept;
  sim->core.contact.count = sim->contact.impact_count + 1;
  CHECK(!eng_contact_valid(sim), "count");
  sim->core.contact.count = 1;
  CHECK(eng_contact_valid(sim), "as it was");
  end(&run);
}

TEST(a_firing_that_comes_soon_is_suspect) {
  Run run = begin(BALL("1", "1"));
  advance(&run, 0.1);
  EngSim* sim = run.engine;
  CHECK(!eng_zeno_is_suspect(sim, 0), "never fired");
  double t = sim->core.t;
  for (uint32_t i = 0; i < 6; i++) {
    sim->core.t = t + 1.0 - pow(0.5, i);
    eng_zeno_note(sim, 0);
  }
  CHECK(sim->contact.accumulations[0].count == 6, "a sequence");
  CHECK_NEAR(sim->contact.accumulations[0].ratio, 0.5, 1e-9, 0.0);
  CHECK(eng_zeno_is_suspect(sim, 0), "it shrinks");
  sim->core.t = t + 100.0;
  eng_zeno_note(sim, 0);
  CHECK(sim->contact.accumulations[0].count == 2, "a new one");
  sim->core.t = t;
  end(&run);
}

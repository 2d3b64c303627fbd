// SPDX-License-Identifier: MIT
//
// Faults and narrow places of worlds: every message has a test, here or in blocks_world_test.c.
#include "blocks/blocks.h"
#include "blocks_messages.h"
#include "test.h"

#include <saltus/saltus.h>

static SltWorld* world_with(Messages* messages, const char* method) {
  SltWorldOptions options = slt_world_options();
  options.on_message = keep_message;
  options.user = messages;
  options.method = method;
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  return world;
}

static void schedule(SltWorld* world, SltBlockKind kind, SltBlockFn* fn, void* user) {
  SltBlockSpec spec = {.kind = kind, .fn = fn, .user = user, .name = "block"};
  CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "schedule");
}

static void integrate(SltWorld* world, double* x) {
  CHECK(slt_integrator_create(world, 1, &x[1], &x[0], "x", (SltTransaction){0}, NULL) == SLT_OK,
        "integrator");
}

static void nothing(SltWorld* world, void* user) {
  (void)world;
  (void)user;
}

TEST(a_time_that_is_no_number) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal");
  CHECK(slt_world_call(world, (double)NAN, nothing, NULL, NULL) == SLT_ERR_ARGUMENT, "refused");
  CHECK(strcmp(messages.code, "W0902") == 0, messages.text);
  slt_world_free(world);
}

static void ask_for_event(SltWorld* world, void* user) {
  *(int*)user += slt_world_event(world, -1.0, 1);
}

TEST(an_event_outside_of_a_check_block) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal");
  int events = 0;
  CHECK(slt_world_call(world, 1.0, ask_for_event, &events, NULL) == SLT_OK, "call");
  CHECK(slt_world_run(world, 2.0, 0.0) == SLT_OK, "run");
  CHECK(events == 0 && strcmp(messages.code, "W0906") == 0, messages.text);
  slt_world_free(world);
}

TEST(units_that_nobody_has) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal");
  SltResource* desk = NULL;
  CHECK(slt_resource_create(world, "desk", 2, &desk) == SLT_OK, "resource");
  CHECK(slt_resource_release(desk, 1, (SltTransaction){0}) == SLT_ERR_ARGUMENT, "refused");
  CHECK(strcmp(messages.code, "W0910") == 0 && strstr(messages.text, "desk"), messages.text);
  CHECK(slt_resource_in_use(desk) == 0, "as it was");
  slt_world_free(world);
}

TEST(a_graph_that_comes_late) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal");
  double x[2] = {0.0, 1.0};
  integrate(world, x);
  CHECK(slt_world_watch(world, &x[0], 0.0, "first") == SLT_OK, "in time");
  CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, "run");
  CHECK(slt_world_watch(world, &x[1], 0.0, "second") < 0, "refused");
  CHECK(strcmp(messages.code, "W0911") == 0 && strstr(messages.text, "second"), messages.text);
  CHECK(slt_world_run(world, 2.0, 0.1) == SLT_OK, "goes on");
  CHECK(slt_table_column_count(slt_world_table(world)) == 2, "columns");
  slt_world_free(world);
}

static void explode(SltWorld* world, void* user) {
  (void)world;
  double* x = user;
  x[1] = x[0] * x[0];
}

TEST(a_step_that_does_not_come_to_an_end) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "dp54");
  double x[2] = {1.0, 0.0};
  integrate(world, x);
  schedule(world, SLT_BLOCK_CONTINUOUS, explode, x);
  CHECK(slt_world_run(world, 2.0, 0.1) == SLT_ERR_STEP, "ends");  // 1/(1 - t)
  CHECK(strcmp(messages.code, "E0902") == 0, messages.text);
  CHECK_NEAR(slt_world_time(world), 1.0, 1e-4, 0.0);
  slt_world_free(world);
}

static void flutter(SltWorld* world, void* user) {
  double* x = user;
  if (slt_world_event(world, x[0], 1)) x[0] = 1e-10;
}

TEST(state_events_without_progress) {
  Messages messages = {0};
  SltWorldOptions options = slt_world_options();
  options.on_message = keep_message;
  options.user = &messages;
  options.method = "dp54";
  options.h_max = 1e-7;
  options.t_start = 1e3;  // 1e-10 is nothing there
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  double x[2] = {1e-10, -1.0};
  integrate(world, x);
  schedule(world, SLT_BLOCK_CHECK, flutter, x);
  CHECK(slt_world_run(world, 1e3 + 1.0, 0.1) == SLT_ERR_ZENO, "ends");
  CHECK(strcmp(messages.code, "E0904") == 0, messages.text);
  slt_world_free(world);
}

TEST(a_step_of_zero) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal");
  double x[2] = {0.0, 1.0};
  integrate(world, x);
  CHECK(slt_world_run(world, 1.0, 0.0) == SLT_ERR_ARGUMENT, "refused");
  CHECK(strcmp(messages.code, "E0905") == 0, messages.text);
  slt_world_free(world);
}

TEST(a_model_that_fails_ends_the_run) {
  static const char text[] = "x(t0) = 1;\nx' = 1/(1 - time);\n";
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  CHECK(slt_model_compile("m", text, sizeof text - 1, NULL, &model) == SLT_OK, "compile");
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK && slt_sim_start(sim) >= 0, "sim");
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "dp54");
  SltMember* member = NULL;
  CHECK(slt_world_add_model(world, sim, 0.25, &member) == SLT_OK, "member");
  CHECK(slt_world_run(world, 2.0, 0.1) < 0, "fails");
  CHECK(strcmp(messages.code, "E0908") == 0, messages.text);
  slt_world_free(world);
  slt_sim_free(sim);
  slt_model_free(model);
}

// A stack beyond the guarded ones is watched by a canary; the process writes over it on purpose.
static void overrun(SltWorld* world, void* user) {
  (void)user;
  BlkProcess* process = world->processes.running;
  memset(process->context.stack + process->context.guard, 0, 8);
}

static void wait_long(SltWorld* world, void* user) {
  (void)user;
  (void)slt_process_wait(world, 10.0);
}

TEST(a_process_that_overruns_its_stack) {
  Messages messages = {0};
  SltWorldOptions options = slt_world_options();
  options.on_message = keep_message;
  options.user = &messages;
  options.stack_size = 16384;
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  for (int i = 0; i < 8192; i++) {
    CHECK(slt_process_start(world, 0.0, wait_long, NULL, NULL, NULL) == SLT_OK, "guarded");
  }
  CHECK(slt_process_start(world, 1.0, overrun, NULL, "greedy", NULL) == SLT_OK, "canary");
  CHECK(slt_world_run(world, 2.0, 0.0) == SLT_ERR_LIMIT, "ends");
  CHECK(strcmp(messages.code, "E0907") == 0 && strstr(messages.text, "greedy"), messages.text);
  slt_world_free(world);
}

// ---- what a block may do to itself and to others ------------------------------------------------

typedef struct Self {
  double x[2];
  SltBlock block;
  SltIntegrator integrator;
  int calls;
} Self;

static void cancel_itself(SltWorld* world, void* user) {
  Self* self = user;
  self->calls++;
  CHECK(slt_block_cancel(world, self->block) == SLT_OK, "cancel");
  CHECK(slt_block_is_alive(world, self->block), "until it returns");
}

TEST(a_block_cancels_itself) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal");
  Self self = {.x = {0.0, 1.0}};
  integrate(world, self.x);
  SltBlockSpec spec = {.kind = SLT_BLOCK_CHECK, .fn = cancel_itself, .user = &self};
  CHECK(slt_block_schedule(world, &spec, &self.block) == SLT_OK, "check block");
  CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, "run");
  CHECK(self.calls == 1 && messages.count == 0, "once");
  CHECK(!slt_block_is_alive(world, self.block), "gone");
  slt_world_free(world);
}

static void lose_integrator(SltWorld* world, void* user) {
  Self* self = user;
  CHECK(slt_integrator_cancel(world, self->integrator) == SLT_OK, "cancel");
  self->calls++;
}

TEST(a_block_loses_its_integrator) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    Messages messages = {0};
    SltWorld* world = world_with(&messages, methods[i]);
    Self self = {.x = {0.0, 1.0}};
    CHECK(slt_integrator_create(world, 1, &self.x[1], &self.x[0], "x", (SltTransaction){0},
                                &self.integrator) == SLT_OK,
          "integrator");
    CHECK(slt_world_call(world, 0.5, lose_integrator, &self, NULL) == SLT_OK, "call");
    CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, "run");
    CHECK_NEAR(self.x[0], 0.5, 1e-12, 0.0);
    CHECK(!slt_integrator_is_alive(world, self.integrator) && messages.count == 0, methods[i]);
    slt_world_free(world);
  }
}

typedef struct Crowd {
  SltBlock blocks[20];
  int calls;
} Crowd;

static void cancel_others(SltWorld* world, void* user) {
  Crowd* crowd = user;
  // the first that runs takes out all that come after it in this very pass, and itself
  if (crowd->calls++ > 0) return;
  for (int i = 0; i < 20; i++) {
    CHECK(slt_block_cancel(world, crowd->blocks[i]) == SLT_OK, "cancel");
  }
}

TEST(blocks_cancel_each_other_while_they_are_gone_through) {
  static const SltBlockKind kinds[] = {SLT_BLOCK_DISCRETE, SLT_BLOCK_CHECK};
  for (size_t k = 0; k < SLT_COUNT(kinds); k++) {
    Messages messages = {0};
    SltWorld* world = world_with(&messages, "literal");
    Crowd crowd = {.calls = 0};
    double x[2] = {0.0, 1.0};
    integrate(world, x);
    for (int i = 0; i < 20; i++) {
      SltBlockSpec spec = {.kind = kinds[k], .t = 0.35, .fn = cancel_others, .user = &crowd};
      CHECK(slt_block_schedule(world, &spec, &crowd.blocks[i]) == SLT_OK, "schedule");
    }
    CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, "run");
    CHECK(crowd.calls == 1 && messages.count == 0, "only the first has run");
    for (int i = 0; i < 20; i++) {
      CHECK(!slt_block_is_alive(world, crowd.blocks[i]), "gone");
    }
    slt_world_free(world);
  }
}

// ---- dips between probes ------------------------------------------------------------------------

typedef struct Dip {
  double x[2];  // the time
  int shape;
  double depth;
  double centre;
  double found[4];
  int count;
} Dip;

static double dip_value(const Dip* dip) {
  double u = dip->x[0] - dip->centre;
  switch (dip->shape) {
  case 0: return u * u - dip->depth;
  case 1: return 1.0 - cos(u) - dip->depth;
  case 2: return u * u * (1.0 + u * u) + 0.1 * u * u * u - dip->depth;
  default: return cosh(2.0 * u) - 1.0 - dip->depth;
  }
}

static void look_for_dip(SltWorld* world, void* user) {
  Dip* dip = user;
  if (slt_world_event(world, dip_value(dip), 1) && dip->count < 4) {
    dip->found[dip->count++] = slt_world_time(world);
  }
}

TEST(a_dip_between_two_probes_is_found) {
  for (int shape = 0; shape < 4; shape++) {
    for (int place = 0; place < 25; place++) {
      for (int below = 0; below < 2; below++) {
        Messages messages = {0};
        SltWorld* world = world_with(&messages, "dp54");
        Dip dip = {.x = {0.0, 1.0},
                   .shape = shape,
                   .depth = below ? 1e-8 : -1e-8,
                   .centre = 0.2 + 0.0323 * place};
        integrate(world, dip.x);
        schedule(world, SLT_BLOCK_CHECK, look_for_dip, &dip);
        CHECK(slt_world_run(world, 1.3, 1.3) == SLT_OK, "run");
        CHECK(dip.count == below, "one event, or none");
        if (below) {
          CHECK(fabs(dip.found[0] - dip.centre) < 2e-4 && dip.found[0] < dip.centre, "entered");
        }
        slt_world_free(world);
      }
    }
  }
}

/// Two signals that dip at different places of one step: the earlier one comes first, and the one
/// that is below zero at the beginning and rises makes no event.
static void look_for_two(SltWorld* world, void* user) {
  Dip* dips = user;
  for (int i = 0; i < 2; i++) {
    Dip seen = dips[i];
    seen.x[0] = dips[0].x[0];
    if (slt_world_event(world, dip_value(&seen), (uint64_t)i)) {
      if (dips[i].count < 4) dips[i].found[dips[i].count++] = slt_world_time(world);
    }
  }
  if (slt_world_event(world, dips[0].x[0] - 0.401, 7)) dips[0].count = 100;
}

TEST(two_dips_in_one_step) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "dp54");
  Dip dips[2] = {{.x = {0.0, 1.0}, .depth = 1e-6, .centre = 0.7123},
                 {.depth = 1e-6, .centre = 0.4}};
  integrate(world, dips[0].x);
  schedule(world, SLT_BLOCK_CHECK, look_for_two, dips);
  CHECK(slt_world_run(world, 1.3, 1.3) == SLT_OK, "run");
  CHECK(dips[0].count == 1 && dips[1].count == 1, "one each");
  CHECK_NEAR(dips[0].found[0], 0.7123 - 1e-3, 1e-9, 0.0);
  CHECK_NEAR(dips[1].found[0], 0.4 - 1e-3, 1e-9, 0.0);
  slt_world_free(world);
}

// SPDX-License-Identifier: MIT
//
// Integrators and state events: the literal way bit by bit against its definition, the located way
// against closed forms, and structure that changes under way.
#include "blocks/blocks.h"
#include "test.h"

typedef struct Ball {
  double y[3];  // height, speed, acceleration
  double restitution;
  double t_bounce[64];
  int bounces;
} Ball;

static void gravity(SltWorld* world, void* user) {
  (void)world;
  ((Ball*)user)->y[2] = -10.0;
}

static void floor_check(SltWorld* world, void* user) {
  Ball* ball = user;
  if (!slt_world_event(world, ball->y[0], 1)) return;
  if (ball->bounces < 64) ball->t_bounce[ball->bounces++] = slt_world_time(world);
  ball->y[1] = -ball->restitution * ball->y[1];
}

static SltWorld* ball_world(Ball* ball, const char* method) {
  SltWorldOptions options = slt_world_options();
  options.method = method;
  options.rtol = 1e-9;
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  CHECK(slt_integrator_create(world, 2, &ball->y[1], &ball->y[0], "y", (SltTransaction){0}, NULL) ==
            SLT_OK,
        "integrator");
  SltBlockSpec spec = {.kind = SLT_BLOCK_CONTINUOUS, .priority = 1, .fn = gravity, .user = ball};
  CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "gravity");
  spec = (SltBlockSpec){
      .kind = SLT_BLOCK_CHECK, .priority = -1, .fn = floor_check, .user = ball, .name = "floor"};
  CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "check");
  return world;
}

TEST(literal_step_bit_by_bit) {
  Ball ball = {.y = {1.0, 0.0, 0.0}, .restitution = 0.5};
  SltWorld* world = ball_world(&ball, "literal");
  CHECK(slt_world_run(world, 0.5, 0.1) == SLT_OK, "run");

  // the definition, written out: y' = v, v' = -10
  double y = 1.0;
  double v = 0.0;
  double t = 0.0;
  double last = y;
  double te = 0.0;
  for (int n = 1; te == 0.0; n++) {
    double t1 = 0.0 + n * 0.1;
    for (int redo = 0; redo < 2; redo++) {
      double h = t1 - t;
      double k1 = v;
      double k2 = v + 0.5 * h * -10.0;
      double k3 = v + 0.5 * h * -10.0;
      double k4 = v + h * -10.0;
      double y1 = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
      double v1 = v + h / 6.0 * (-10.0 + 2.0 * -10.0 + 2.0 * -10.0 + -10.0);
      if (redo == 0 && y1 <= 0.0) {
        te = t + last / (last - y1) * h;
        t1 = te;
        continue;
      }
      y = y1;
      v = v1;
      t = t1;
      last = y1;
      break;
    }
  }
  CHECK(ball.bounces == 1, "one bounce");
  CHECK(ball.t_bounce[0] == te, "time of the event, bit by bit");
  double h = 0.5 - te;
  v = -0.5 * v;
  double k2 = v + 0.5 * h * -10.0;
  y = y + h / 6.0 * (v + 2.0 * k2 + 2.0 * k2 + (v + h * -10.0));
  CHECK(ball.y[0] == y, "height, bit by bit");
  CHECK(slt_world_statistics(world).rollbacks == 1, "one roll-back");
  slt_world_free(world);
}

TEST(located_bounces) {
  static const char* const methods[] = {"bs32", "dp54", "dop853", "merson"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    Ball ball = {.y = {1.0, 0.0, 0.0}, .restitution = 0.5};
    SltWorld* world = ball_world(&ball, methods[i]);
    CHECK(slt_world_run(world, 1.32, 0.01) == SLT_OK, methods[i]);
    double t = sqrt(2.0 / 10.0);
    double flight = 2.0 * t;
    for (int k = 0; k < 6; k++) {
      CHECK(ball.bounces > k, methods[i]);
      CHECK_NEAR(ball.t_bounce[k], t, 1e-11, 0.0);
      flight *= 0.5;
      t += flight;
    }
    slt_world_free(world);
  }
}

static void stop_falling(SltWorld* world, void* user) {
  Ball* ball = user;
  (void)ball;
  CHECK(slt_world_cancel(world, "y") == SLT_OK, "cancel");
}

TEST(a_cancelled_integrator_keeps_its_values) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    Ball ball = {.y = {1000.0, 0.0, 0.0}};
    SltWorld* world = ball_world(&ball, methods[i]);
    CHECK(slt_world_call(world, 1.0, stop_falling, &ball, NULL) == SLT_OK, "call");
    CHECK(slt_world_run(world, 3.0, 0.1) == SLT_OK, methods[i]);
    CHECK_NEAR(ball.y[0], 995.0, 1e-9, 0.0);
    CHECK_NEAR(ball.y[1], -10.0, 1e-9, 0.0);
    slt_world_free(world);
  }
}

// two decays, one of which begins later; a jump makes an event without roll-back
typedef struct Decay {
  double a[2], b[2];
  int events;
  double t_event;
  SltIntegrator second;
} Decay;

static void rates(SltWorld* world, void* user) {
  (void)world;
  Decay* d = user;
  d->a[1] = -d->a[0];
  d->b[1] = -2.0 * d->b[0];
}

static void begin_second(SltWorld* world, void* user) {
  Decay* d = user;
  d->b[0] = 1.0;
  CHECK(slt_integrator_create(world, 1, &d->b[1], &d->b[0], "b", (SltTransaction){0}, &d->second) ==
            SLT_OK,
        "second");
}

static void jump(SltWorld* world, void* user) {
  (void)world;
  ((Decay*)user)->a[0] = -1.0;
}

static void sign_check(SltWorld* world, void* user) {
  Decay* d = user;
  if (slt_world_event(world, d->a[0], 5)) {
    d->events++;
    d->t_event = slt_world_time(world);
  }
}

TEST(structure_changes_and_jumps) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    Decay d = {.a = {1.0, 0.0}};
    SltWorldOptions options = slt_world_options();
    options.method = methods[i];
    options.rtol = 1e-10;
    options.atol = 1e-12;
    SltWorld* world = NULL;
    CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
    CHECK(slt_integrator_create(world, 1, &d.a[1], &d.a[0], "a", (SltTransaction){0}, NULL) ==
              SLT_OK,
          "a");
    SltBlockSpec spec = {.kind = SLT_BLOCK_CONTINUOUS, .priority = 1, .fn = rates, .user = &d};
    CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "rates");
    spec = (SltBlockSpec){.kind = SLT_BLOCK_CHECK, .fn = sign_check, .user = &d};
    CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "check");
    CHECK(slt_world_call(world, 0.33, begin_second, &d, NULL) == SLT_OK, "begin");
    CHECK(slt_world_call(world, 1.5, jump, &d, NULL) == SLT_OK, "jump");
    CHECK(slt_world_run(world, 1.0, 0.01) == SLT_OK, "first part");
    CHECK_NEAR(d.a[0], exp(-1.0), 1e-9, 0.0);
    CHECK(slt_world_run(world, 2.0, 0.01) == SLT_OK, "second part");
    CHECK_NEAR(d.b[0], exp(-2.0 * (2.0 - 0.33)), 1e-8, 0.0);
    CHECK_NEAR(d.a[0], -exp(-0.5), 1e-8, 0.0);
    CHECK(d.events == 1 && d.t_event == 1.5, "the jump is an event at its own time");
    slt_world_free(world);
  }
}

// ---- check blocks that act, and are taken back --------------------------------------------------

typedef struct Actor {
  double x[2], y[2];
  int scheduled, ran;
} Actor;

static void follow_up(SltWorld* world, void* user) {
  (void)world;
  ((Actor*)user)->ran++;
}

/// Wants a follow-up in every pass, but a pass that is taken back must not leave one.
static void eager(SltWorld* world, void* user) {
  Actor* actor = user;
  (void)slt_world_call(world, slt_world_time(world) + 100.0, follow_up, actor, NULL);
  if (slt_world_event(world, actor->x[0], 1)) actor->scheduled++;
  (void)slt_random_uniform(slt_world_random(world, 3), 0.0, 1.0);
}

TEST(what_a_pass_wanted_is_undone_with_it) {
  Actor actor = {.x = {0.55, -1.0}};
  SltWorld* world = NULL;
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
  CHECK(slt_integrator_create(world, 1, &actor.x[1], &actor.x[0], "x", (SltTransaction){0}, NULL) ==
            SLT_OK,
        "x");
  SltBlockSpec spec = {.kind = SLT_BLOCK_CHECK, .fn = eager, .user = &actor};
  CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "check");
  CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, "run");
  CHECK(actor.scheduled == 1, "one event");
  // kept passes: the begin, ten points of the grid, one event
  CHECK(slt_world_statistics(world).pending == 12, "pending");
  SltRandom expected;
  slt_random_init(&expected, 1, 3);
  for (int i = 0; i < 12; i++) {
    (void)slt_random_uniform(&expected, 0.0, 1.0);
  }
  CHECK(memcmp(&expected, slt_world_random(world, 3), sizeof expected) == 0, "random stream");
  slt_world_free(world);
}

// ---- order of blocks ----------------------------------------------------------------------------

typedef struct Order {
  char text[64];
  size_t length;
} Order;

typedef struct Letter {
  Order* order;
  char letter;
} Letter;

static void write_letter(SltWorld* world, void* user) {
  (void)world;
  Letter* letter = user;
  if (letter->order->length + 1 < sizeof letter->order->text) {
    letter->order->text[letter->order->length++] = letter->letter;
  }
}

TEST(blocks_run_by_priority) {
  Order order = {{0}, 0};
  SltWorld* world = NULL;
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
  Letter letters[6] = {{&order, 'a'}, {&order, 'b'}, {&order, 'c'},
                       {&order, 'd'}, {&order, 'e'}, {&order, 'f'}};
  static const struct {
    SltBlockKind kind;
    int32_t priority;
  } specs[] = {{SLT_BLOCK_CHECK, -2},     {SLT_BLOCK_CHECK, -1},     {SLT_BLOCK_CONTINUOUS, 1},
               {SLT_BLOCK_CONTINUOUS, 9}, {SLT_BLOCK_CONTINUOUS, 1}, {SLT_BLOCK_DISCRETE, 0}};
  for (size_t i = 0; i < SLT_COUNT(specs); i++) {
    SltBlockSpec spec = {.kind = specs[i].kind,
                         .priority = specs[i].priority,
                         .fn = write_letter,
                         .user = &letters[i]};
    CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "schedule");
  }
  CHECK(slt_world_run(world, 0.0, 1.0) == SLT_OK, "the first instant");
  // discrete, then everything continuous with the new values, then the checks
  CHECK(strcmp(order.text, "fdceba") == 0, order.text);
  slt_world_free(world);
}

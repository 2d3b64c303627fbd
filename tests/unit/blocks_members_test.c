// SPDX-License-Identifier: MIT
//
// What lives in a world beside blocks: compiled models, measured signals, a clock, input callbacks.
#include "blocks/blocks.h"
#include "test.h"

#include <saltus/saltus.h>

static SltWorld* new_world(const char* method) {
  SltWorldOptions options = slt_world_options();
  options.method = method;
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  return world;
}

// ---- a compiled model ---------------------------------------------------------------------------

// the model integrates its input; the world integrates the model's output
static const char ramp_text[] = "u(t0) = 1;\n"
                                "u' = 0;\n"
                                "x(t0) = 0;\n"
                                "x' = u;\n"
                                "state low (x >= 2) { u(t0) = u; } from init;\n";

typedef struct Coupled {
  double u, x, z[2];
  int events;
  double t_event;
} Coupled;

static void pass_on(SltWorld* world, void* user) {
  (void)world;
  Coupled* c = user;
  c->z[1] = c->x;
}

static void model_event(SltWorld* world, void* user) {
  Coupled* c = user;
  c->events++;
  c->t_event = slt_world_time(world);
}

static void halve(SltWorld* world, void* user) {
  (void)world;
  ((Coupled*)user)->u = 0.5;
}

TEST(a_compiled_model_takes_part) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("ramp", ramp_text, sizeof ramp_text - 1, NULL, &model) == SLT_OK,
        "compile");
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "sim");
  CHECK(slt_sim_start(sim) >= 0, "start");
  Coupled c = {.u = 1.0};
  SltWorld* world = new_world("dp54");
  SltMember* member = NULL;
  CHECK(slt_world_add_model(world, sim, 0.25, &member) == SLT_OK, "member");
  CHECK(slt_member_input(member, "u", &c.u) == SLT_OK, "input");
  CHECK(slt_member_output(member, "x", &c.x) == SLT_OK, "output");
  CHECK(slt_member_output(member, "no such", &c.x) == SLT_ERR_NOT_FOUND, "unknown name");
  slt_member_on_event(member, model_event, &c);
  SltBlockSpec spec = {.kind = SLT_BLOCK_CONTINUOUS, .priority = 1, .fn = pass_on, .user = &c};
  CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "block");
  CHECK(slt_integrator_create(world, 1, &c.z[1], &c.z[0], "z", (SltTransaction){0}, NULL) == SLT_OK,
        "integrator");
  // a block of the world changes the model's input at a meeting
  CHECK(slt_world_call(world, 1.0, halve, &c, NULL) == SLT_OK, "call");
  CHECK(slt_world_run(world, 4.0, 0.1) == SLT_OK, "run");
  // x = t up to the meeting that sees the new input, then half as fast; 2 is reached between
  // meetings
  CHECK(c.events == 1, "one event");
  double t_switch = c.t_event - (2.0 - 1.0) / 0.5;  // where the slope changed if x was 1 there
  CHECK(t_switch > 0.99 && t_switch < 1.26, "held between meetings");
  CHECK_NEAR(c.x, 2.0 + 0.5 * (4.0 - c.t_event), 1e-9, 0.0);
  CHECK(c.z[0] > 3.0 && c.z[0] < 7.0, "the world integrates what the model publishes");
  slt_world_free(world);
  slt_sim_free(sim);
  slt_model_free(model);
}

// ---- tables, equations and blocks together
// -------------------------------------------------------

/// A thermostat in three languages: the room is a block of the world, the controller a table of
/// rules, the meter of the energy a set of equations with an event.
typedef struct House {
  double temperature[2];
  double power, energy;
  double switched[4];
  int switches, invoices;
} House;

static const char controller_text[] =
    "## States\n\n"
    "| name | initial | kind |\n|---|---|---|\n"
    "| room | 20 | |\n| power | 0 | |\n| heating | true | logical |\n"
    "\n## Predicates\n\n| name | relation |\n|---|---|\n"
    "| cold | room <= 19 |\n| warm | room >= 21 |\n"
    "\n## Situations\n\n| situation | when | then |\n|---|---|---|\n"
    "| | cold | heating |\n| | warm | not heating |\n"
    "\n## Rules\n\n"
    "| variable | procedure | coefficient | argument 1 | situation |\n"
    "|---|---|---|---|---|\n"
    "| power | proportional | 2 | 1 | heating |\n";
static const char meter_text[] = "power(t0) = 0; power' = 0;\n"
                                 "energy(t0) = 0; energy' = power;\n"
                                 "state invoice [energy >= 5] { set energy = energy - 5; } "
                                 "from init, invoice;\n";

static void cool(SltWorld* world, void* user) {
  (void)world;
  House* house = user;
  house->temperature[1] = -0.1 * (house->temperature[0] - 10.0) + house->power;
}

static void on_switch(SltWorld* world, void* user) {
  House* house = user;
  if (house->switches < 4) house->switched[house->switches++] = slt_world_time(world);
}

static void on_invoice(SltWorld* world, void* user) {
  (void)world;
  ((House*)user)->invoices++;
}

static SltSim* start(const char* name, const char* text, SltModel** model) {
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  CHECK(slt_model_compile(name, text, strlen(text), NULL, model) == SLT_OK, name);
  CHECK(slt_sim_create(*model, &options, &sim) == SLT_OK, name);
  CHECK(slt_sim_start(sim) >= 0, name);
  return sim;
}

static void run_house(House* house, double every) {
  *house = (House){.temperature = {20.0, 0.0}, .power = 2.0};
  SltModel* models[2] = {NULL, NULL};
  SltSim* controller = start("controller.rules.md", controller_text, &models[0]);
  SltSim* meter = start("meter", meter_text, &models[1]);
  SltWorld* world = new_world("dp54");
  SltMember* members[2] = {NULL, NULL};
  CHECK(slt_world_add_model(world, controller, every, &members[0]) == SLT_OK, "rules");
  CHECK(slt_world_add_model(world, meter, every, &members[1]) == SLT_OK, "equations");
  CHECK(slt_member_input(members[0], "room", &house->temperature[0]) == SLT_OK, "room");
  CHECK(slt_member_output(members[0], "power", &house->power) == SLT_OK, "power");
  CHECK(slt_member_input(members[1], "power", &house->power) == SLT_OK, "metered");
  CHECK(slt_member_output(members[1], "energy", &house->energy) == SLT_OK, "energy");
  slt_member_on_event(members[0], on_switch, house);
  slt_member_on_event(members[1], on_invoice, house);
  SltBlockSpec spec = {.kind = SLT_BLOCK_CONTINUOUS, .priority = 1, .fn = cool, .user = house};
  CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "block");
  CHECK(slt_integrator_create(world, 1, &house->temperature[1], &house->temperature[0], "room",
                              (SltTransaction){0}, NULL) == SLT_OK,
        "integrator");
  CHECK(slt_world_run(world, 7.0, 0.5) == SLT_OK, "run");
  slt_world_free(world);
  for (int i = 0; i < 2; i++) {
    slt_sim_free(i ? meter : controller);
    slt_model_free(models[i]);
  }
}

TEST(rules_equations_and_blocks_exchange_signals) {
  // off at 21, on at 19, off again: closed forms of the thermostat
  static const double exact[3] = {1.0536051565782628, 3.0603121093226394, 5.067019062066974};
  static const double distances[] = {1e-2, 1e-3};
  for (size_t i = 0; i < SLT_COUNT(distances); i++) {
    House house;
    run_house(&house, distances[i]);
    CHECK(house.switches >= 3, "switches");
    for (int k = 0; k < 3; k++) {
      // held for at most one meeting each time
      double late = house.switched[k] - exact[k];
      CHECK(late > -1e-9 && late < (2.0 + 2.0 * k) * distances[i], "when");
    }
    // 2 a day while heating: what was metered, and an invoice for every 5
    double heated = 2.0 * (house.switched[0] + house.switched[2] - house.switched[1]);
    CHECK(house.invoices == (int)(heated / 5.0), "invoices");
    CHECK_NEAR(house.energy + 5.0 * house.invoices, heated, 8.0 * distances[i], 0.0);
  }
}

// ---- measured signals ---------------------------------------------------------------------------

TEST(a_measured_signal_is_an_input) {
  static const char csv[] = "t,u\n0,0\n1,2\n1,5\n2,5\n3,\n4,1\n";
  SltTable* table = NULL;
  CHECK(slt_table_read_csv(csv, sizeof csv - 1, &table, NULL) == SLT_OK, "csv");
  SltSignal* linear = NULL;
  SltSignal* steps = NULL;
  CHECK(slt_signal_create(table, "t", "u", SLT_SIGNAL_LINEAR, &linear) == SLT_OK, "linear");
  CHECK(slt_signal_create(table, "t", "v", SLT_SIGNAL_STEP, &steps) == SLT_ERR_NOT_FOUND, "name");
  CHECK(slt_signal_create(table, "t", "u", SLT_SIGNAL_STEP, &steps) == SLT_OK, "step");
  CHECK_NEAR(slt_signal_value(linear, 0.5), 1.0, 1e-15, 0.0);
  CHECK_NEAR(slt_signal_value(linear, 1.0), 5.0, 1e-15, 0.0);
  CHECK_NEAR(slt_signal_value(linear, 3.0), 3.0, 1e-15, 0.0);
  CHECK_NEAR(slt_signal_value(linear, 9.0), 1.0, 1e-15, 0.0);
  CHECK_NEAR(slt_signal_value(steps, 0.9), 0.0, 1e-15, 0.0);
  CHECK_NEAR(slt_signal_value(steps, -1.0), 0.0, 1e-15, 0.0);
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    double u = 0.0;
    double x = 0.0;
    SltWorld* world = new_world(methods[i]);
    CHECK(slt_world_add_signal(world, linear, &u) == SLT_OK, "add");
    CHECK(slt_integrator_create(world, 1, &u, &x, "x", (SltTransaction){0}, NULL) == SLT_OK, "x");
    CHECK(slt_world_run(world, 4.0, 0.3) == SLT_OK, methods[i]);
    // steps end at the corners: a triangle, a rectangle and a trapezium without any error
    CHECK_NEAR(x, 1.0 + 5.0 + 6.0, 1e-9, 0.0);
    slt_world_free(world);
  }
  slt_signal_free(linear);
  slt_signal_free(steps);
  slt_table_free(table);
}

// ---- pace and input -----------------------------------------------------------------------------

typedef struct FakeClock {
  double now;
  int sleeps;
} FakeClock;

static double fake_now(void* user) {
  return ((FakeClock*)user)->now;
}

static void fake_sleep(void* user, double t) {
  FakeClock* clock = user;
  clock->sleeps++;
  clock->now = t;
}

typedef struct Driver {
  FakeClock* clock;
  double wheel, x;
  int calls;
} Driver;

static void read_wheel(SltWorld* world, void* user) {
  Driver* driver = user;
  driver->calls++;
  driver->wheel = slt_world_time(world) < 0.5 ? 1.0 : -1.0;
  // the driver is slow once
  if (driver->calls == 4) driver->clock->now += 0.5;
}

TEST(driver_in_the_loop) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    FakeClock clock = {100.0, 0};
    Driver driver = {.clock = &clock};
    SltWorld* world = new_world(methods[i]);
    CHECK(slt_integrator_create(world, 1, &driver.wheel, &driver.x, "x", (SltTransaction){0},
                                NULL) == SLT_OK,
          "x");
    SltClock source = {fake_now, fake_sleep, &clock};
    CHECK(slt_world_pace(world, 2.0, &source) == SLT_OK, "pace");
    slt_world_on_input(world, read_wheel, &driver);
    CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, methods[i]);
    CHECK_NEAR(driver.x, 0.0, 1e-9, 0.0);
    CHECK(driver.calls == 11, "at every sample");
    SltWorldStatistics s = slt_world_statistics(world);
    CHECK(s.overruns > 0 && s.worst_lateness > 0.3, "lateness is reported");
    CHECK_NEAR(clock.now, 100.5, 0.2, 0.0);
    slt_world_free(world);
  }
  SltWorld* world = new_world("literal");
  CHECK(slt_world_pace(world, 100.0, NULL) == SLT_OK, "system clock");
  CHECK(slt_world_run(world, 1.0, 0.5) == SLT_OK, "run");
  slt_world_free(world);
}

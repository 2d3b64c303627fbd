// SPDX-License-Identifier: MIT
//
// The CDCSIS dialect: the engine of the paper's chapter 5 bit by bit and against converged values,
// and every procedure of chapter 4.
#include "test.h"

#include <saltus/cdcsis.h>

// ---- the engine ---------------------------------------------------------------------------------

static double pom, k, T1, T2, T3, omb1, omb2, m, Ip, F1, omega;
static double y[3], alfa[3], fi[3], yp[4], alfap[4], fip[4];
static int drop_force;

void blocks(void) {
  switch (sj) {
  case 1:
    pom = F1 * sin(fi[0]);
    y[2] = (pom - k * y[0]) / m - 2.0 * omb1 * y[1];
    alfa[2] = (pom * 0.7 - k * 0.81 * alfa[0]) / Ip - 2.0 * omb2 * alfa[1];
    break;
  case 2: fi[2] = 0.0; break;
  case 3: fi[2] = -omega / T3; break;
  case 4:
    cancel("in1");
    if (drop_force) F1 = 0.0;
    break;
  }
}

static void engine_begin(void) {
  T1 = 5.0;
  T2 = 1.0;
  T3 = 5.0;
  omega = 100.;
  k = 1.e6;
  m = 500.;
  Ip = 250;
  F1 = 1000.;
  omb1 = 0.1418 * sqrt(k / m);
  omb2 = 0.1418 * sqrt(k * 0.81 / Ip);
  memset(y, 0, sizeof y);
  memset(fi, 0, sizeof fi);
  memset(alfa, 0, sizeof alfa);
  fi[2] = omega / T1;
  schedule(0.0, 1, 1, 0, "y,alfa");
  schedule(T1, 2, 0, 0, "T1");
  schedule(T1 + T2, 3, 0, 0, "T2");
  schedule(T1 + T2 + T3, 4, 0, 0, "T2");
  graf(&y[0], 0.01, "vertical displacement");
  graf(&alfa[0], 0.01, "turning");
  graf(&fi[1], 50.0, "turning velocity");
  integr(2, &fi[1], fi, fip, "in1");
  integr(2, &y[1], y, yp, "int y");
  integr(2, &alfa[1], alfa, alfap, "int alfa");
}

/// Right sides of the engine for the vector (fi, fi', y, y', alfa, alfa').
static void engine_rates(const double* s, double acceleration, double* d) {
  double force = F1 * sin(s[0]);
  d[0] = s[1];
  d[1] = acceleration;
  d[2] = s[3];
  d[3] = (force - k * s[2]) / m - 2.0 * omb1 * s[3];
  d[4] = s[5];
  d[5] = (force * 0.7 - k * 0.81 * s[4]) / Ip - 2.0 * omb2 * s[5];
}

/// One step of the definition; the first `frozen` components keep their values.
static void engine_step(double* s, double h, double acceleration, int frozen) {
  double stages[4][6];
  double at[6];
  static const double parts[] = {0.0, 0.5, 0.5, 1.0};
  for (int stage = 0; stage < 4; stage++) {
    for (int i = 0; i < 6; i++) {
      double part = parts[stage] == 0.5 ? 0.5 * h : h;
      at[i] = stage == 0 || i < frozen ? s[i] : s[i] + part * stages[stage - 1][i];
    }
    engine_rates(at, acceleration, stages[stage]);
  }
  double sixth = h / 6.0;
  for (int i = frozen; i < 6; i++) {
    s[i] = s[i] + sixth * (stages[0][i] + 2.0 * stages[1][i] + 2.0 * stages[2][i] + stages[3][i]);
  }
}

TEST(engine_literal_bit_by_bit) {
  beg(0.0);
  cdcsis_output(NULL);
  engine_begin();
  wait(T1 + T2 + T3 + 0.5, 0.02);
  CHECK(cdcsis_status() == SLT_OK && simtime == 11.5, "run");
  const SltTable* table = slt_world_table(cdcsis_world());
  double s[6] = {0};
  double t = 0.0;
  double acceleration = 20.0;
  uint32_t row = 0;
  double greatest = 0.0;
  for (int n = 0; n <= 575; n++) {
    double next = 0.0 + n * 0.02;
    if (n > 0) engine_step(s, next - t, acceleration, t >= 11.0 ? 2 : 0);
    t = next;
    if (t == 5.0) acceleration = 0.0;
    if (t == 6.0) acceleration = -20.0;
    // an event gives a row before and a row after
    uint32_t copies = n > 0 && (t == 5.0 || t == 6.0 || t == 11.0) ? 2 : 1;
    for (uint32_t c = 0; c < copies; c++, row++) {
      CHECK(slt_table_value(table, row, 0) == t, "time");
      CHECK(slt_table_value(table, row, 1) == s[2], "y");
      CHECK(slt_table_value(table, row, 2) == s[4], "alfa");
      CHECK(slt_table_value(table, row, 3) == s[1], "fi'");
    }
    greatest = fmax(greatest, fabs(s[2]));
    // independently computed, see the reference values of the literal method
    if (n == 150) CHECK_NEAR(s[2], -0.0006999004313105487, 1e-12, 0.0);
    if (n == 275) CHECK_NEAR(s[2], 0.00023070493197404127, 1e-12, 0.0);
  }
  CHECK(row == slt_table_row_count(table), "rows");
  CHECK_NEAR(greatest, 0.0033444423652468002, 1e-12, 0.0);
  CHECK_NEAR(fi[0], 600.0, 1e-9, 0.0);
  beg(0.0);
}

TEST(engine_located) {
  static const struct {
    const char* method;
    int drop;
    double y_end;
  } cases[] = {{"dp54", 0, 4.458963683433322e-05}, {"dop853", 1, -1.4661805494070382e-06}};
  FOR_CASES(c, cases) {
    beg(0.0);
    cdcsis_output(NULL);
    drop_force = c->drop;
    CHECK(cdcsis_method(c->method) == SLT_OK, c->method);
    CHECK(cdcsis_tolerance(1e-10, 1e-14) == SLT_OK, c->method);
    engine_begin();
    wait(3.0, 0.001);
    CHECK_NEAR(y[0], -0.0007351192882102206, 1e-8, 0.0);
    wait(5.0, 0.001);
    CHECK_NEAR(y[0], 0.0002286865228992471, 1e-8, 0.0);
    wait(5.5, 0.001);
    CHECK_NEAR(y[0], 0.0002445965789516919, 1e-8, 0.0);
    CHECK_NEAR(alfa[0], 0.00039376650055669173, 1e-8, 0.0);
    wait(8.0, 0.001);
    CHECK_NEAR(y[0], -0.001071147896827816, 1e-8, 0.0);
    wait(11.0, 0.001);
    CHECK_NEAR(alfa[0], 3.327998792105818e-05, 1e-8, 0.0);
    wait(11.5, 0.001);
    CHECK_NEAR(y[0], c->y_end, 1e-8, 0.0);
    CHECK_NEAR(fi[0], 600.0, 1e-6, 0.0);
    const SltTable* table = slt_world_table(cdcsis_world());
    double greatest[2] = {0.0, 0.0};
    double t_greatest = 0.0;
    for (uint32_t r = 0; r < slt_table_row_count(table); r++) {
      for (uint32_t i = 0; i < 2; i++) {
        double value = fabs(slt_table_value(table, r, i + 1));
        if (value <= greatest[i]) continue;
        greatest[i] = value;
        if (i == 0) t_greatest = slt_table_value(table, r, 0);
      }
    }
    CHECK_NEAR(greatest[0], 0.003478133859699151, 2e-6, 0.0);
    CHECK_NEAR(greatest[1], 0.0030505596166590615, 5e-6, 0.0);
    CHECK_NEAR(t_greatest, 9.048133024738979, 0.005, 0.0);
  }
  drop_force = 0;
  cdcsis_method("literal");
  beg(0.0);
}

// ---- procedures ---------------------------------------------------------------------------------

typedef struct Lines {
  int count;
  char last[400];
} Lines;

static void keep_line(void* user, const char* line) {
  Lines* lines = user;
  lines->count++;
  snprintf(lines->last, sizeof lines->last, "%s", line);
}

static char history[64];
static size_t history_length;
static struct rblock handle;

static void history_blocks(void) {
  if (history_length + 1 < sizeof history) history[history_length++] = (char)('0' + sj);
  switch (sj) {
  case 1: hold(1.0, 2); break;
  case 2:
    CHECK(ptrans && *ptrans == 7.0, "the same transaction");
    if (simtime < 3.5) hold(0.5, 2);
    break;
  case 3: cancel("x"); break;
  case 4:
    wait(100.0, 1.0);  // refused
    beg(5.0);          // refused
    break;
  case 5: cancelblock(&handle); break;
  }
}

TEST(hold_cancel_and_faults) {
  beg(0.0);
  Lines messages = {0};
  cdcsis_on_message(keep_line, &messages);
  double transaction = 7.0;
  history_length = 0;
  memset(history, 0, sizeof history);
  schedule(2.0, 1, 0, &transaction, "life");  // 1 at 2, 2 at 3, 3.5
  schedule(0.5, 6, 0, 0, "x");
  schedule(0.75, 7, 0, 0, "x");
  schedule(0.25, 3, 0, 0, "killer");
  handle = schedule(5.0, 8, 0, 0, "handle");
  schedule(4.0, 5, 0, 0, "cancels by handle");
  struct rblock copy = handle;
  cdcsis_wait(4.5, 1.0, history_blocks);
  CHECK(strcmp(history, "31225") == 0, history);
  CHECK(messages.count == 0, messages.last);
  cancelblock(&copy);
  CHECK(messages.count == 1 && strstr(messages.last, "W0904"), "stale copy");
  schedule(6.0, 4, 0, 0, "nested");
  cdcsis_wait(7.0, 1.0, history_blocks);
  CHECK(simtime == 7.0 && messages.count == 3, "nested wait and beg are refused");
  cdcsis_wait(6.0, 1.0, history_blocks);
  CHECK(messages.count == 4, "an end in the past");
  beg(3.0);
  CHECK(simtime == 3.0, "beg");
  cdcsis_on_message(NULL, NULL);
}

static double ball[3];
static double wall_times[4];
static int wall_count, by_address;
static double memory_a;

static void ball_blocks(void) {
  double p = 0.0;
  switch (sj) {
  case 1: ball[2] = -10.0; break;
  case 2:
    if (by_address ? event(ball[0], &memory_a) : event(ball[0], p)) {
      if (wall_count < 4) wall_times[wall_count++] = simtime;
      ball[1] = -ball[1];
    }
    break;
  }
}

TEST(event_by_value_and_by_address) {
  double first[2][4];
  for (by_address = 0; by_address < 2; by_address++) {
    beg(0.0);
    wall_count = 0;
    ball[0] = 1.0;
    ball[1] = 0.0;
    schedule(0.0, 1, 1, 0, "gravity");
    schedule(0.0, 2, -1, 0, "floor");
    integr(2, &ball[1], ball, 0, "ball");
    cdcsis_wait(3.0, 0.01, ball_blocks);
    CHECK(wall_count == 3, "bounces");
    memcpy(first[by_address], wall_times, sizeof wall_times);
  }
  CHECK(memcmp(first[0], first[1], 3 * sizeof(double)) == 0, "same bits");
  CHECK_NEAR(first[0][0], sqrt(0.2), 1e-4, 0.0);
  beg(0.0);
}

TEST(check_prints) {
  beg(0.0);
  Lines lines = {0};
  cdcsis_on_print(keep_line, &lines);
  cdcsis_output(NULL);
  stest = 30;
  CHECK(test() == 1, "test");
  engine_begin();  // ten procedures
  CHECK(stest == 20 && lines.count == 10, "procedures");
  CHECK(strstr(lines.last, "integr 2 \"int alfa\""), lines.last);
  wait(1.0, 0.02);
  CHECK(stest == 0 && lines.count == 30 && test() == 0, "all printed");
  CHECK(strstr(lines.last, "block 1 \"y,alfa\""), lines.last);
  const SltTable* table = slt_world_table(cdcsis_world());
  CHECK(slt_table_row_count(table) > 40 && slt_table_row_count(table) < 51, "graphs begin later");
  CHECK(slt_table_value(table, 0, 0) > 0.05, "not at the start");
  cdcsis_on_print(NULL, NULL);
  beg(0.0);
}

static double square_a[] = {-1.0, 1.0, 1.0, -1.0, -1.0, 0.0, 1000.0};
static double square_b[] = {-1.0, -1.0, 1.0, 1.0, -1.0, 0.0, 0.5};

static void anim_blocks(void) {
  anim(10.0, 5.0, 2.0, 2.0, simtime, 0.0, 0.5 * simtime, 7, square_a, square_b);
}

typedef struct Text {
  char* data;
  size_t length;
} Text;

static SltStatus append(void* user, const char* data, size_t length) {
  Text* text = user;
  text->data = realloc(text->data, text->length + length + 1);
  memcpy(text->data + text->length, data, length);
  text->length += length;
  text->data[text->length] = '\0';
  return SLT_OK;
}

TEST(animation_and_page) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    beg(0.0);
    Lines messages = {0};
    cdcsis_on_message(keep_line, &messages);
    cdcsis_output(NULL);
    cdcsis_method(methods[i]);
    ball[0] = 1.0;
    ball[1] = 0.0;
    ball[2] = -0.1;
    schedule(0.0, 1, 1, 0, "draw");
    integr(2, &ball[1], ball, 0, "ball");
    graf(&ball[0], 0.3, "</script>\"x\"");
    anim(10.0, 5.0, 0.5, 2.0, 0.0, 0.0, 0.0, 7, square_a, square_b);  // fixed, and too small
    cdcsis_wait(2.0, 0.1, anim_blocks);
    CHECK(messages.count == 1 && strstr(messages.last, "W0912"), "clipped");
    CHECK(slt_world_frame_count(cdcsis_world()) == 21, methods[i]);
    Text text = {0};
    CHECK(slt_world_write_html(cdcsis_world(), "a < b", (SltWriter){append, &text}) == SLT_OK,
          "html");
    CHECK(!strstr(text.data, "</script>\"x\"") && strstr(text.data, "a \\u003c b"), "escaped");
    CHECK(strstr(text.data, "\"amplitude\":1.2"), "the amplitude was doubled twice");
    CHECK(!strstr(text.data, "http:") || !strstr(text.data, "src="), "self-contained");
    text.length = 0;
    CHECK(slt_world_write_svg(cdcsis_world(), 0, (SltWriter){append, &text}) == SLT_OK, "svg");
    CHECK(strstr(text.data, "<svg") && strstr(text.data, ">\xe2\x88\x92"
                                                         "1<"),
          "axis");
    CHECK(slt_world_write_svg(cdcsis_world(), 1, (SltWriter){append, &text}) == SLT_ERR_ARGUMENT,
          "no such graph");
    text.length = 0;
    CHECK(slt_world_write_csv(cdcsis_world(), (SltWriter){append, &text}) == SLT_OK, "csv");
    CHECK(strncmp(text.data, "time,\"</script>\"\"x\"\"\"\n0,1\n", 26) == 0, "csv");
    free(text.data);
    cdcsis_on_message(NULL, NULL);
  }
  cdcsis_method("literal");
  beg(0.0);
}

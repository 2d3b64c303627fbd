// SPDX-License-Identifier: MIT
//
// A choice between equations, however it is written: random cells that switch between two laws of
// motion, coupled in rings of three, each text alone (few combinations of states: one set of
// equations per combination) and four times side by side (many: alternatives become selections).
// The rings do not touch each other, so the first of many moves as the one alone; and all texts of
// a model move alike. Texts that are nothing but choices need one set of equations.
#include "references.h"

#define CASES 40

#define RING    3
#define RINGS   4
#define SAMPLES 6
#define T_END   3.0
#define NEAR    2e-5  // runs differ in their steps, and late events by what comes of it

typedef struct Cells {
  double cool[RING], heat[RING], rate[RING], couple, start[RING], low, high;
} Cells;

static Cells draw_cells(Dice* d) {
  Cells c = {.couple = dice_number(d, 0.02, 0.2),
             .low = dice_number(d, -0.6, -0.2),
             .high = dice_number(d, 0.2, 0.6)};
  for (int i = 0; i < RING; i++) {
    c.cool[i] = dice_number(d, -2.5, -1.2);
    c.heat[i] = dice_number(d, 1.2, 2.5);
    c.rate[i] = dice_number(d, 0.1, 0.6);
    c.start[i] = dice_number(d, -0.15, 0.15);
  }
  return c;
}

/// How a text writes the choice. In all of them %1$d is the number of the cell and %2$d that of the
/// next one.
typedef struct Spelling {
  const char* name;
  bool choice;  // the same structure in every state
  const char* outside;
  const char* off;
  const char* on;
} Spelling;

#define HEAT "c%1$d - r%1$d*x%1$d + k*x%2$d"
#define COOL "d%1$d - r%1$d*x%1$d + k*x%2$d"

static const Spelling spellings[] = {
    {"state", true, "x%1$d' = " HEAT ";", "x%1$d' = " COOL ";", ""},
    {"both states", true, "x%1$d' = " HEAT ";", "x%1$d' = " COOL ";", "x%1$d' = " HEAT ";"},
    {"label", true, "l%1$d: x%1$d' = " HEAT ";", "l%1$d: x%1$d' = " COOL ";", ""},
    {"labelled group", true, "l%1$d: x%1$d' = q%1$d - r%1$d*x%1$d; l%1$d: q%1$d = c%1$d + k*x%2$d;",
     "l%1$d: q%1$d = d%1$d + k*x%2$d; l%1$d: x%1$d' = q%1$d - r%1$d*x%1$d;", ""},
    {"guest in a group", true, "all: x%1$d' = " HEAT ";", "x%1$d' = " COOL ";", ""},
    {"delete", true, "l%1$d: x%1$d' = " HEAT ";", "delete l%1$d; x%1$d' = " COOL ";", ""},
    {"if block", true, "x%1$d' = " HEAT "; if (a%1$d.off) { x%1$d' = " COOL "; }", "", ""},
    {"if else", true, "if (!a%1$d.off) { x%1$d' = " HEAT "; } else { x%1$d' = " COOL "; }", "", ""},
    {"blocks in blocks", true,
     "if (a%1$d.on) { x%1$d' = " HEAT "; } else { if (a%1$d.off) { x%1$d' = " COOL
     "; } else { x%1$d' = " HEAT "; } }",
     "", ""},
    {"if()", true, "x%1$d' = if(a%1$d.off, d%1$d, c%1$d) - r%1$d*x%1$d + k*x%2$d;", "", ""},
    {"if(not)", true, "x%1$d' = if(!a%1$d.off, c%1$d, d%1$d) - r%1$d*x%1$d + k*x%2$d;", "", ""},
    {"flag", true, "x%1$d' = f%1$d - r%1$d*x%1$d + k*x%2$d; f%1$d(t0) = c%1$d;",
     "set f%1$d = d%1$d;", "set f%1$d = c%1$d;"},
    {"variable", true, "x%1$d' = q%1$d - r%1$d*x%1$d + k*x%2$d; q%1$d = c%1$d;", "q%1$d = d%1$d;",
     ""},
    {"variable of a variable", true,
     "x%1$d' = p%1$d + k*x%2$d; p%1$d = q%1$d - r%1$d*x%1$d; q%1$d = c%1$d;", "q%1$d = d%1$d;", ""},
    // what is computed from what is not the same in the two states
    {"other direction", false,
     "x%1$d' = p%1$d - r%1$d*x%1$d + k*x%2$d; p%1$d = q%1$d; q%1$d = c%1$d;",
     "q%1$d = p%1$d; p%1$d = d%1$d;", ""},
    {"implicit", false, "x%1$d' = q%1$d - r%1$d*x%1$d + k*x%2$d; l%1$d: q%1$d - c%1$d = 0;",
     "l%1$d: 2*q%1$d = 2*d%1$d;", ""},
};
#define SPELLINGS ((int)(sizeof spellings / sizeof *spellings))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
static void say_part(ModelText* text, const char* part, int cell, int next) {
  size_t room = REF_TEXT - text->length;
  int n = snprintf(text->data + text->length, room, part, cell, next);
  CHECK(n >= 0 && (size_t)n < room, "the text fits");
  text->length += (size_t)n;
}
#pragma GCC diagnostic pop

static ModelText cells_text(const Cells* c, const Spelling* s, int rings) {
  ModelText text = {.length = 0};
  say(&text, "const k = %.17g;\n", c->couple);
  for (int i = 0; i < rings * RING; i++) {
    int k = i % RING;
    int cell = i + 1;
    int next = i - k + (k + 1) % RING + 1;
    say(&text, "const c%d = %.17g, d%d = %.17g, r%d = %.17g; x%d(t0) = %.17g;\n", cell, c->heat[k],
        cell, c->cool[k], cell, c->rate[k], cell, c->start[k]);
    say_part(&text, s->outside, cell, next);
    say(&text, "\nautomaton a%d {\n  state off [x%d >= %.17g] {", cell, cell, c->high);
    say_part(&text, s->off, cell, next);
    say(&text, "} from init, on;\n  state on [x%d <= %.17g] {", cell, c->low);
    say_part(&text, s->on, cell, next);
    say(&text, "} from off;\n}\n");
  }
  return text;
}

static uint32_t modes_entered(const ModelText* text) {
  SltModel* model = NULL;
  SltSim* sim = NULL;
  SltSimOptions options = slt_sim_options();
  CHECK(slt_model_compile("model", text->data, text->length, NULL, &model) == SLT_OK, text->data);
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK && slt_sim_start(sim) >= SLT_OK,
        text->data);
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    status = slt_sim_advance(sim, T_END, NULL);
  }
  uint32_t modes = slt_sim_statistics(sim).modes;
  slt_sim_free(sim);
  slt_model_free(model);
  return modes;
}

static void check_near(double (*run)[REF_VALUE], double (*reference)[REF_VALUE],
                       const ModelText* text, const char* what) {
  for (int s = 0; s < SAMPLES; s++) {
    for (int i = 0; i < RING; i++) {
      bool near = fabs(run[s][i] - reference[s][i]) <= NEAR;
      if (!near) {
        fprintf(stderr, "x%d at sample %d: %.12g, %s %.12g\n%s", i + 1, s, run[s][i], what,
                reference[s][i], text->data);
      }
      CHECK(near, what);
    }
  }
}

TEST(choices_mean_the_same_however_they_are_written) {
  char names[RING][REF_NAME], message[256] = "";
  double times[SAMPLES];
  for (int i = 0; i < RING; i++) {
    snprintf(names[i], REF_NAME, "x%d", i + 1);
  }
  for (int s = 0; s < SAMPLES; s++) {
    times[s] = T_END * (s + 1) / SAMPLES;
  }
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint64_t cases = test_cases(CASES);
  for (uint64_t seed = first; seed < first + cases; seed++) {
    Dice dice = {seed};
    Cells cells = draw_cells(&dice);
    double reference[SAMPLES][REF_VALUE];
    for (int s = 0; s < SPELLINGS; s++) {
      double alone[SAMPLES][REF_VALUE], among[SAMPLES][REF_VALUE];
      ModelText one = cells_text(&cells, &spellings[s], 1);
      ModelText many = cells_text(&cells, &spellings[s], RINGS);
      bool ran = run_at(&one, names, RING, times, SAMPLES, alone, message) &&
                 run_at(&many, names, RING, times, SAMPLES, among, message);
      if (!ran) fprintf(stderr, "%s\n%s", message, one.data);
      CHECK(ran, spellings[s].name);
      if (s == 0) memcpy(reference, alone, sizeof reference);
      check_near(alone, reference, &one, "in the first text");
      check_near(among, alone, &many, "alone");
      if (spellings[s].choice) CHECK(modes_entered(&many) == 1, spellings[s].name);
    }
  }
}

// SPDX-License-Identifier: MIT
//
// Random planar systems that switch at one or two lines, against two references. The first one
// follows the field of one side to the first line it meets and asks the fields on both sides there:
// crossing or sliding, and when. The other is brute force: small steps with the field of the side
// it is on, chattering along the lines; where the motion ends is compared with it. Besides, every
// event of every run is held against the fields at its place. Each family is compiled once; each
// case is a run with its own constants.
// SALTUS_CASES sets the number of cases, SALTUS_SEED repeats a failing one.
#include "test.h"

#include <saltus/saltus.h>

#define CASES 10000

#define T_END        1.0
#define STEPS        1500   // of the coarsest reference
#define REFINED      24000  // ... of the finest
#define CLEAR        1e-6   // rates below leave open which kind of point it is
#define CORNER_CLEAR 0.01   // ... and how a motion goes on from a corner
#define NEAR         1e-5   // of a line: on it, up to the tolerance of the run
#define FIRST_SHARE  999    // of a thousand first events that must be comparable
#define END_SHARE    960    // ... ends, where there are corners to choose from; else all
#define AGREEMENT    0.02   // references that differ by more say nothing about the end

/// Fields on the sides: x' = a x + b; side bit i is set where line i is positive.
typedef struct System {
  double a[4][4], b[4][2];
  double c[2][3];  // lines c0 x + c1 y + c2
  uint32_t lines;
  double start[2];
} System;

static const char one_line[] =
    "const c00 = 1, c01 = 0, c02 = 0, x0 = 0, y0 = 0;\n"
    "const a00 = 0, a01 = 0, a02 = 0, a03 = 0, b00 = 0, b01 = 0;\n"
    "const a10 = 0, a11 = 0, a12 = 0, a13 = 0, b10 = 0, b11 = 0;\n"
    "macro s = c00*x + c01*y + c02;\n"
    "x' = if(s > 0, a10*x + a11*y + b10, a00*x + a01*y + b00);  x(t0) = x0;\n"
    "y' = if(s > 0, a12*x + a13*y + b11, a02*x + a03*y + b01);  y(t0) = y0;\n";

static const char two_lines[] =
    "const c00 = 1, c01 = 0, c02 = 0, c10 = 0, c11 = 1, c12 = 0, x0 = 0, y0 = 0;\n"
    "const a00 = 0, a01 = 0, a02 = 0, a03 = 0, b00 = 0, b01 = 0;\n"
    "const a10 = 0, a11 = 0, a12 = 0, a13 = 0, b10 = 0, b11 = 0;\n"
    "const a20 = 0, a21 = 0, a22 = 0, a23 = 0, b20 = 0, b21 = 0;\n"
    "const a30 = 0, a31 = 0, a32 = 0, a33 = 0, b30 = 0, b31 = 0;\n"
    "macro s = c00*x + c01*y + c02;\n"
    "macro r = c10*x + c11*y + c12;\n"
    "x' = if(r > 0, if(s > 0, a30*x + a31*y + b30, a20*x + a21*y + b20),\n"
    "        if(s > 0, a10*x + a11*y + b10, a00*x + a01*y + b00));  x(t0) = x0;\n"
    "y' = if(r > 0, if(s > 0, a32*x + a33*y + b31, a22*x + a23*y + b21),\n"
    "        if(s > 0, a12*x + a13*y + b11, a02*x + a03*y + b01));  y(t0) = y0;\n";

static void draw_system(uint64_t* seed, uint32_t lines, System* out) {
  out->lines = lines;
  for (uint32_t side = 0; side < 1u << lines; side++) {
    for (uint32_t i = 0; i < 4; i++) {
      out->a[side][i] = test_uniform(seed, -1.5, 1.5);
    }
    for (uint32_t i = 0; i < 2; i++) {
      out->b[side][i] = test_uniform(seed, -2.0, 2.0);
    }
  }
  double angle = test_uniform(seed, 0.0, 6.283185307179586);
  for (uint32_t k = 0; k < lines; k++) {
    out->c[k][0] = cos(angle);
    out->c[k][1] = sin(angle);
    out->c[k][2] = test_uniform(seed, -0.3, 0.3);
    angle += test_uniform(seed, 0.5, 2.6);
  }
  out->start[0] = test_uniform(seed, -1.0, 1.0);
  out->start[1] = test_uniform(seed, -1.0, 1.0);
}

static double line(const System* s, uint32_t k, const double* x) {
  return s->c[k][0] * x[0] + s->c[k][1] * x[1] + s->c[k][2];
}

static uint32_t side_of(const System* s, const double* x) {
  uint32_t side = 0;
  for (uint32_t k = 0; k < s->lines; k++) {
    if (line(s, k, x) > 0.0) side |= 1u << k;
  }
  return side;
}

static void field(const System* s, uint32_t side, const double* x, double* f) {
  const double* a = s->a[side];
  f[0] = a[0] * x[0] + a[1] * x[1] + s->b[side][0];
  f[1] = a[2] * x[0] + a[3] * x[1] + s->b[side][1];
}

static double rate(const System* s, uint32_t side, uint32_t k, const double* x) {
  double f[2];
  field(s, side, x, f);
  return s->c[k][0] * f[0] + s->c[k][1] * f[1];
}

typedef enum Kind { KIND_NONE, KIND_CROSSING, KIND_SLIDING, KIND_OPEN } Kind;

/// What the references meet first, and where they end.
typedef struct Result {
  Kind kind;
  double t;
  double end[2];
  double speed;       // largest on the way
  double nearest[2];  // point nearest to both lines
} Result;

static void rk4(const System* s, uint32_t side, double h, const double* x, double* out) {
  double f[4][2];
  double at[2];
  static const double way[] = {0.0, 0.5, 0.5, 1.0};
  for (uint32_t k = 0; k < 4; k++) {
    for (uint32_t i = 0; i < 2; i++) {
      at[i] = x[i] + (k ? way[k] * h * f[k - 1][i] : 0.0);
    }
    field(s, side, at, f[k]);
  }
  for (uint32_t i = 0; i < 2; i++) {
    out[i] = x[i] + h / 6.0 * (f[0][i] + 2.0 * f[1][i] + 2.0 * f[2][i] + f[3][i]);
  }
}

/// The first line met, by steps of order 4 and bisection of the one that crosses it.
static void first_event(const System* s, Result* out) {
  double x[2] = {s->start[0], s->start[1]};
  double h = T_END / STEPS;
  uint32_t side = side_of(s, x);
  out->kind = KIND_NONE;
  for (uint32_t i = 0; i < STEPS; i++) {
    double next[2];
    rk4(s, side, h, x, next);
    if (side_of(s, next) == side) {
      x[0] = next[0];
      x[1] = next[1];
      continue;
    }
    double lo = 0.0;
    double hi = h;
    for (uint32_t k = 0; k < 60; k++) {
      double middle = 0.5 * (lo + hi);
      rk4(s, side, middle, x, next);
      if (side_of(s, next) == side) {
        lo = middle;
      } else {
        hi = middle;
      }
    }
    rk4(s, side, hi, x, next);
    uint32_t k = (side_of(s, next) ^ side) & 1u ? 0 : 1;
    double sign = side >> k & 1u ? -1.0 : 1.0;
    double behind = rate(s, side ^ 1u << k, k, next) * sign;
    double ahead = rate(s, side, k, next) * sign;
    bool corner = s->lines == 2 && fabs(line(s, 1 - k, next)) < NEAR;
    out->t = i * h + hi;
    out->kind = corner || fabs(behind) < CLEAR || ahead < CLEAR ? KIND_OPEN
                : behind > 0.0                                  ? KIND_CROSSING
                                                                : KIND_SLIDING;
    return;
  }
}

static void brute_force(const System* s, uint32_t steps, Result* out) {
  double x[2] = {s->start[0], s->start[1]};
  double h = T_END / steps;
  uint32_t side = side_of(s, x);
  double closest = (double)INFINITY;
  out->speed = 0.0;
  for (uint32_t i = 0; i < steps; i++) {
    double f[2];
    double middle[2];
    field(s, side, x, f);
    out->speed = fmax(out->speed, fabs(f[0]) + fabs(f[1]));
    for (uint32_t k = 0; k < 2; k++) {
      middle[k] = x[k] + 0.5 * h * f[k];
    }
    field(s, side, middle, f);
    for (uint32_t k = 0; k < 2; k++) {
      x[k] += h * f[k];
    }
    double far = fmax(fabs(line(s, 0, x)), s->lines > 1 ? fabs(line(s, 1, x)) : 0.0);
    if (far < closest) {
      closest = far;
      out->nearest[0] = x[0];
      out->nearest[1] = x[1];
    }
    side = side_of(s, x);
  }
  out->end[0] = x[0];
  out->end[1] = x[1];
}

#define RECORDS 16  // of one instant that are looked at

/// A record: which line, and what happens there.
typedef struct Note {
  SltEventKind kind;
  uint32_t line;
  bool above;  // a crossing leads to the side where the line is positive
  double share;
} Note;

typedef struct Seen {
  Kind kind;
  double t;
  uint32_t instants;
  bool escaping, chatters;
  Note notes[RECORDS];
  uint32_t note_count;
  uint32_t events;  // held against the fields
} Seen;

static void see_event(void* user, const SltEvent* event) {
  Seen* seen = user;
  if (event->kind == SLT_EVENT_CHATTER) seen->chatters = true;
  if (event->n == 0) {
    seen->instants++;
    seen->note_count = 0;
  }
  if (event->atom_count == 1 && seen->note_count < RECORDS) {
    seen->notes[seen->note_count++] = (Note){.kind = event->kind,
                                             .line = event->atoms[0][0] == 's' ? 0 : 1,
                                             .above = event->to && strcmp(event->to, "true") == 0,
                                             .share = event->share};
  }
  if (seen->kind != KIND_NONE) return;
  if (event->kind == SLT_EVENT_STATE) seen->kind = KIND_CROSSING;
  if (event->kind == SLT_EVENT_SLIDE_IN) seen->kind = KIND_SLIDING;
  seen->t = event->t;
}

static void see_warning(void* user, const SltDiagnostic* message) {
  Seen* seen = user;
  if (strcmp(message->code, "W0804") == 0) seen->escaping = true;
}

static void set(SltSim* sim, const char* name, double value) {
  CHECK(slt_sim_set_constant(sim, name, value) == SLT_OK, name);
}

static void set_system(SltSim* sim, const System* s) {
  char name[32];
  for (uint32_t side = 0; side < 1u << s->lines; side++) {
    for (uint32_t i = 0; i < 4; i++) {
      snprintf(name, sizeof name, "a%u%u", side, i);
      set(sim, name, s->a[side][i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
      snprintf(name, sizeof name, "b%u%u", side, i);
      set(sim, name, s->b[side][i]);
    }
  }
  for (uint32_t k = 0; k < s->lines; k++) {
    for (uint32_t i = 0; i < 3; i++) {
      snprintf(name, sizeof name, "c%u%u", k, i);
      set(sim, name, s->c[k][i]);
    }
  }
  set(sim, "x0", s->start[0]);
  set(sim, "y0", s->start[1]);
}

/// Hold the records of the last instant against the fields at its place. Where both lines meet
/// the other one has no side, and nothing is said.
static void check_events(const System* s, Seen* seen, const double* x, const char* what) {
  for (uint32_t i = 0; i < seen->note_count; i++) {
    const Note* note = &seen->notes[i];
    uint32_t k = note->line;
    if (s->lines == 2 && fabs(line(s, 1 - k, x)) < NEAR) continue;
    uint32_t side = side_of(s, x);
    double below = rate(s, side & ~(1u << k), k, x);
    double above = rate(s, side | 1u << k, k, x);
    char text[300];
    snprintf(text, sizeof text, "%s: record %d at line %u, rates %.9g below and %.9g above, g %.3g",
             what, (int)note->kind, k, below, above, line(s, k, x));
    CHECK(fabs(line(s, k, x)) < NEAR, text);
    if (note->kind == SLT_EVENT_SLIDE_IN) {
      CHECK(below > -CLEAR && above < CLEAR, text);
      CHECK(fabs(note->share - below / (below - above)) < 1e-3, text);
    } else if (note->kind == SLT_EVENT_SLIDE_OUT) {
      CHECK(fabs(note->share == 1.0 ? above : below) < 1e-3, text);
    } else if (note->kind == SLT_EVENT_STATE) {
      CHECK(note->above ? above > -1e-3 : below < 1e-3, text);
    }
    seen->events++;
  }
  seen->note_count = 0;
}

static void simulate(const SltModel* model, const System* s, const char* what, Seen* seen,
                     double* end) {
  SltSimOptions options = slt_sim_options();
  options.rtol = 1e-7;
  options.max_events = 20000;
  options.max_steps = 200000;
  SltSim* sim = NULL;
  CHECK(slt_sim_create(model, &options, &sim) == SLT_OK, "create");
  set_system(sim, s);
  slt_sim_on_event(sim, see_event, seen);
  slt_sim_on_warning(sim, see_warning, seen);
  CHECK(slt_sim_start(sim) == SLT_OK, what);
  SltQuantity x;
  SltQuantity y;
  CHECK(slt_sim_find(sim, "x", &x) == SLT_OK && slt_sim_find(sim, "y", &y) == SLT_OK, what);
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    end[0] = slt_sim_get(sim, x);
    end[1] = slt_sim_get(sim, y);
    check_events(s, seen, end, what);
    status = slt_sim_advance(sim, T_END, NULL);
  }
  char failure[600];
  snprintf(failure, sizeof failure, "%s: %s", what,
           status == SLT_OK ? "" : slt_sim_error(sim).message);
  CHECK(status == SLT_OK, failure);
  end[0] = slt_sim_get(sim, x);
  end[1] = slt_sim_get(sim, y);
  slt_sim_free(sim);
}

static SltModel* compile(const char* text) {
  SltModel* model = NULL;
  CHECK(slt_model_compile("case", text, strlen(text), NULL, &model) == SLT_OK, text);
  return model;
}

static double distance(const double* a, const double* b) {
  return fmax(fabs(a[0] - b[0]), fabs(a[1] - b[1]));
}

/// Ways that lead off the corner of two lines: into a side, or along a half line.
static uint32_t exits_of_corner(double r[4][2]) {
  uint32_t exits = 0;
  for (uint32_t side = 0; side < 4; side++) {
    bool leaves = true;
    for (uint32_t k = 0; k < 2; k++) {
      leaves &= side >> k & 1u ? r[side][k] > 0.0 : r[side][k] < 0.0;
    }
    exits += leaves;
  }
  for (uint32_t k = 0; k < 2; k++) {
    for (uint32_t other = 0; other < 2; other++) {
      uint32_t low = other << (1 - k);
      uint32_t high = low | 1u << k;
      if (!(r[low][k] > 0.0 && r[high][k] < 0.0)) continue;
      double share = r[low][k] / (r[low][k] - r[high][k]);
      double along = (1.0 - share) * r[low][1 - k] + share * r[high][1 - k];
      exits += other ? along > 0.0 : along < 0.0;
    }
  }
  return exits;
}

/// Whether some mean of the four rates is zero: then the motion may also stay.
static bool may_stay(double r[4][2]) {
  for (uint32_t i = 0; i < 360; i++) {
    double nx = cos(i * 0.017453292519943295);
    double ny = sin(i * 0.017453292519943295);
    bool all = true;
    for (uint32_t side = 0; side < 4; side++) {
      all &= nx * r[side][0] + ny * r[side][1] > 0.0;
    }
    if (all) return false;
  }
  return true;
}

/// Whether a motion that meets the corner of the lines can go on in several ways: the choice is a
/// convention then, and chattering makes another one.
static bool corner_is_open(const System* s, const double* nearest) {
  if (s->lines < 2 || fmax(fabs(line(s, 0, nearest)), fabs(line(s, 1, nearest))) > 0.004) {
    return false;
  }
  double det = s->c[0][0] * s->c[1][1] - s->c[0][1] * s->c[1][0];
  double corner[2] = {(s->c[0][1] * s->c[1][2] - s->c[0][2] * s->c[1][1]) / det,
                      (s->c[0][2] * s->c[1][0] - s->c[0][0] * s->c[1][2]) / det};
  double r[4][2];
  for (uint32_t side = 0; side < 4; side++) {
    for (uint32_t k = 0; k < 2; k++) {
      r[side][k] = rate(s, side, k, corner);
      if (fabs(r[side][k]) < CORNER_CLEAR) return true;
    }
  }
  uint32_t exits = exits_of_corner(r);
  return exits > 1 || (exits == 1 && may_stay(r));
}

/// What was compared over a family.
typedef struct Tally {
  uint64_t cases, first, ends, events, corners;
} Tally;

/// Ends of two references with steps of which one is half the other, refined until they agree.
static double references(const System* s, Result* coarse, Result* fine) {
  double open = (double)INFINITY;
  brute_force(s, STEPS, coarse);
  for (uint32_t steps = 2 * STEPS; steps <= REFINED; steps *= 2) {
    brute_force(s, steps, fine);
    open = distance(coarse->end, fine->end);
    if (open <= AGREEMENT * (1.0 + fine->speed)) break;
    *coarse = *fine;
  }
  return open;
}

static void check_system(const SltModel* model, const System* s, const char* what, Tally* tally) {
  Result first = {.kind = KIND_NONE};
  Result coarse;
  Result fine;
  first_event(s, &first);
  double open = references(s, &coarse, &fine);
  Seen seen = {.kind = KIND_NONE};
  double end[2];
  simulate(model, s, what, &seen, end);
  char text[400];
  snprintf(text, sizeof text,
           "%s: kind %d at %.9g, reference %d at %.9g; ends (%.7g, %.7g), "
           "reference (%.7g, %.7g)",
           what, (int)seen.kind, seen.t, (int)first.kind, first.t, end[0], end[1], fine.end[0],
           fine.end[1]);
  CHECK(!seen.chatters, text);
  tally->cases++;
  tally->events += seen.events;
  if (first.kind == KIND_NONE || (first.kind != KIND_OPEN && first.t < T_END - 1e-4)) {
    CHECK(seen.kind == first.kind, text);
    CHECK(first.kind == KIND_NONE || fabs(seen.t - first.t) < 1e-5, text);
    tally->first++;
  }
  double size = 1.0 + fine.speed;
  bool corner = corner_is_open(s, fine.nearest);
  tally->corners += corner;
  if (open > AGREEMENT * size || corner) return;
  CHECK(distance(end, fine.end) <= 10.0 * open + 2e-3 * size, text);
  tally->ends++;
}

static void check_family(const char* model_text, uint32_t lines, uint64_t cases) {
  SltModel* model = compile(model_text);
  uint64_t first = test_setting("SALTUS_SEED", 1);
  Tally tally = {0};
  if (getenv("SALTUS_SEED")) cases = 1;
  for (uint64_t i = 0; i < cases; i++) {
    uint64_t seed = (first + i) * 0x9e3779b97f4a7c15u + lines;
    System system;
    draw_system(&seed, lines, &system);
    char what[80];
    snprintf(what, sizeof what, "%u lines, SALTUS_SEED=%llu", lines,
             (unsigned long long)(first + i));
    check_system(model, &system, what, &tally);
  }
  char text[200];
  snprintf(text, sizeof text, "of %llu: first events %llu, ends %llu, open corners %llu",
           (unsigned long long)tally.cases, (unsigned long long)tally.first,
           (unsigned long long)tally.ends, (unsigned long long)tally.corners);
  if (getenv("SALTUS_TELL")) printf("%s, events %llu\n", text, (unsigned long long)tally.events);
  CHECK(cases == 1 || tally.first * 1000 >= cases * FIRST_SHARE, text);
  CHECK(cases == 1 || tally.ends * 1000 >= cases * (lines == 1 ? FIRST_SHARE : END_SHARE), text);
  CHECK(cases == 1 || tally.events > cases / 4, text);
  slt_model_free(model);
}

TEST(one_line_is_crossed_or_slid_along) {
  check_family(one_line, 1, test_cases(CASES) / 2);
}

TEST(two_lines_are_crossed_or_slid_along) {
  check_family(two_lines, 2, test_cases(CASES) / 2);
}

/// A start on the line: the rates on both sides say what happens.
TEST(starts_on_a_line_are_classified) {
  SltModel* model = compile(one_line);
  uint64_t cases = test_cases(CASES) / 10;
  uint64_t first = test_setting("SALTUS_SEED", 1);
  uint32_t counts[3] = {0, 0, 0};
  for (uint64_t i = 0; i < cases; i++) {
    uint64_t seed = (first + i) * 0x9e3779b97f4a7c15u + 77u;
    System s;
    draw_system(&seed, 1, &s);
    s.c[0][0] = 1.0;
    s.c[0][1] = 0.0;
    s.c[0][2] = 0.0;
    s.start[0] = 0.0;
    double below = rate(&s, 0, 0, s.start);
    double above = rate(&s, 1, 0, s.start);
    if (fabs(below) < CLEAR || fabs(above) < CLEAR) continue;
    char what[80];
    snprintf(what, sizeof what, "start, SALTUS_SEED=%llu", (unsigned long long)(first + i));
    Seen seen = {.kind = KIND_NONE};
    double end[2];
    simulate(model, &s, what, &seen, end);
    bool slides = below > 0.0 && above < 0.0;
    bool escapes = below < 0.0 && above > 0.0;
    CHECK(seen.escaping == escapes, what);
    CHECK((seen.kind == KIND_SLIDING && seen.t == 0.0) == slides, what);
    counts[slides ? 0 : escapes ? 1 : 2]++;
  }
  CHECK(counts[0] > 0 && counts[1] > 0 && counts[2] > 0, "all kinds occur");
  slt_model_free(model);
}

// SPDX-License-Identifier: MIT
//
// Thermostats: many rooms with their own automata, coupled through the supply they share. What does
// an event cost that concerns one room of N?
//
// Definition: T_i' = (To - T_i)/tau_i + q_i s u_i, s' = (1 - 0.2 Non/N - s)/60, To = 5 + 5 sin(2 pi
// t/86400); u_i goes off at 20.5 + d_i + sp, on at 19.5 + d_i + sp; every 60 s sp = clamp(0.5 -
// Non/N, -0.4, 0.4). tau_i in 5000..10000, q_i tau_i in 27..35, d_i in -0.3..0.3 and T_i(0) between
// the two limits, all by fractional parts of multiples of the golden ratio; all off, s = 1, sp = 0.
// N = 100, 1000, 1e4, T = 3600. Error: of s at the end against the opponent with windows of a
// fiftieth.
// Opponent: local multirate code. In a window every room moves by its own Taylor polynomial with
// the supply as predicted at its beginning; rooms whose limit is passed wait in a heap by the time
// of their crossing; a switch touches its room and the supply, which has a closed form; at the end
// of the window the rooms are corrected by the integral of what the prediction missed. Budget: 4
// times its time; time per event from N = 100 to 1e4 grows by less than 3.
#define BENCH_NATIVE
#include "bench.h"

#define GOLDEN 0.6180339887498949
#define PI     3.14159265358979323846
#define WINDOW 5.0

static double share(double x) {
  return x - floor(x);
}

typedef struct Rooms {
  SltModel* model;
  long n;
  double end;
  double* tau;
  double* q;
  double* d;
  double* start;
  double* T;
  double* begun;  // of the part of the window since the room switched last
  bool* on;
  double* due;  // heap: times...
  long* room;   // ...and rooms
  long heap_count;
  double reference;
  double events;
} Rooms;

// ---- opponent -----------------------------------------------------------------------------------

/// s over time: limit + gap exp(-(t - from)/60).
typedef struct Supply {
  double from, limit, gap;
} Supply;

static double supply_at(const Supply* s, double t) {
  return s->limit + s->gap * exp((s->from - t) / 60.0);
}

static void supply_turn(Supply* s, double t, double load) {
  double value = supply_at(s, t);
  s->limit = 1.0 - 0.2 * load;
  s->gap = value - s->limit;
  s->from = t;
}

static double supply_integral(const Supply* s, double a, double b) {
  return s->limit * (b - a) +
         60.0 * s->gap * (exp((s->from - a) / 60.0) - exp((s->from - b) / 60.0));
}

/// Polynomials of the shared quantities from the beginning of the window on.
typedef struct Shared {
  double t;
  double outside[3], supply[4];
} Shared;

/// T after dt from a point at distance `a` behind the beginning of the window; its slope.
static double move(const Rooms* r, const Shared* w, long i, double a, double dt, double* slope) {
  const double* o = w->outside;
  const double* s = w->supply;
  double heat = r->on[i] ? r->q[i] : 0.0;
  double cool = 1.0 / r->tau[i];
  // inputs and their derivatives at the point
  double f0 =
      cool * (o[0] + a * (o[1] + a * o[2])) + heat * (s[0] + a * (s[1] + a * (s[2] + a * s[3])));
  double f1 = cool * (o[1] + 2.0 * a * o[2]) + heat * (s[1] + a * (2.0 * s[2] + 3.0 * a * s[3]));
  double f2 = 2.0 * cool * o[2] + heat * (2.0 * s[2] + 6.0 * a * s[3]);
  double f3 = heat * 6.0 * s[3];
  double d1 = f0 - cool * r->T[i];
  double d2 = f1 - cool * d1;
  double d3 = f2 - cool * d2;
  double d4 = f3 - cool * d3;
  *slope = d1 + dt * (d2 + dt * (d3 / 2.0 + dt * d4 / 6.0));
  return r->T[i] + dt * (d1 + dt * (d2 / 2.0 + dt * (d3 / 6.0 + dt * d4 / 24.0)));
}

static void heap_push(Rooms* r, double t, long room) {
  long at = r->heap_count++;
  while (at > 0 && r->due[(at - 1) / 2] > t) {
    r->due[at] = r->due[(at - 1) / 2];
    r->room[at] = r->room[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  r->due[at] = t;
  r->room[at] = room;
}

static long heap_pop(Rooms* r, double* t) {
  long top = r->room[0];
  *t = r->due[0];
  double last = r->due[--r->heap_count];
  long room = r->room[r->heap_count];
  long at = 0;
  for (;;) {
    long child = 2 * at + 1;
    if (child >= r->heap_count) break;
    if (child + 1 < r->heap_count && r->due[child + 1] < r->due[child]) child++;
    if (r->due[child] >= last) break;
    r->due[at] = r->due[child];
    r->room[at] = r->room[child];
    at = child;
  }
  r->due[at] = last;
  r->room[at] = room;
  return top;
}

/// When the room reaches its limit in the rest of the window, if it does.
static void look_ahead(Rooms* r, const Shared* w, long i, double a, double width, double sp) {
  double limit = (r->on[i] ? 20.5 : 19.5) + r->d[i] + sp;
  double sign = r->on[i] ? 1.0 : -1.0;
  double rest = width - a;
  double slope = 0.0;
  double end = move(r, w, i, a, rest, &slope);
  if (sign * (end - limit) < 0.0) return;
  double dt = rest * (limit - r->T[i]) / (end - r->T[i]);
  for (int k = 0; k < 4; k++) {
    double value = move(r, w, i, a, dt, &slope) - limit;
    double step = value / slope;
    dt -= step;
    if (fabs(step) < 1e-13 * (1.0 + w->t)) break;
  }
  heap_push(r, w->t + a + fmin(fmax(dt, 0.0), rest), i);
}

static double simulate(Rooms* r, double window, double* events) {
  long n = r->n;
  long count_on = 0;
  double sp = 0.0;
  double t = 0.0;
  long tick = 1;
  *events = 0.0;
  for (long i = 0; i < n; i++) {
    r->T[i] = r->start[i];
    r->on[i] = false;
  }
  Supply supply = {0.0, 1.0, 0.0};
  while (t < r->end) {
    double next = fmin(fmin(t + window, 60.0 * (double)tick), r->end);
    double width = next - t;
    double year = 2.0 * PI / 86400.0;
    double e = supply_at(&supply, t) - supply.limit;
    Shared w = {
        t,
        {5.0 + 5.0 * sin(year * t), 5.0 * year * cos(year * t), -2.5 * year * year * sin(year * t)},
        {supply.limit + e, -e / 60.0, e / 7200.0, -e / 1296000.0}};
    Supply predicted = supply;
    r->heap_count = 0;
    for (long i = 0; i < n; i++) {
      r->begun[i] = 0.0;
      look_ahead(r, &w, i, 0.0, width, sp);
    }
    // integral of what the prediction misses, from the beginning of the window
    double missed = 0.0;
    double seen = t;
    while (r->heap_count > 0) {
      double at = 0.0;
      long i = heap_pop(r, &at);
      missed += supply_integral(&supply, seen, at) - supply_integral(&predicted, seen, at);
      seen = at;
      double slope = 0.0;
      double a = at - t;
      r->T[i] = move(r, &w, i, r->begun[i], a - r->begun[i], &slope);
      if (r->on[i]) r->T[i] += r->q[i] * missed;
      r->on[i] = !r->on[i];
      // what is missed before it switches on is not its own
      if (r->on[i]) r->T[i] -= r->q[i] * missed;
      r->begun[i] = a;
      count_on += r->on[i] ? 1 : -1;
      supply_turn(&supply, at, (double)count_on / (double)n);
      *events += 1.0;
    }
    missed += supply_integral(&supply, seen, next) - supply_integral(&predicted, seen, next);
    for (long i = 0; i < n; i++) {
      double slope = 0.0;
      r->T[i] = move(r, &w, i, r->begun[i], width - r->begun[i], &slope);
      if (r->on[i]) r->T[i] += r->q[i] * missed;
    }
    t = next;
    if (t < 60.0 * (double)tick) continue;
    tick++;
    sp = fmin(fmax(0.5 - (double)count_on / (double)n, -0.4), 0.4);
    *events += 1.0;
    for (long i = 0; i < n; i++) {
      double limit = (r->on[i] ? 20.5 : 19.5) + r->d[i] + sp;
      if (r->on[i] ? r->T[i] < limit : r->T[i] > limit) continue;
      r->on[i] = !r->on[i];
      count_on += r->on[i] ? 1 : -1;
    }
    supply_turn(&supply, t, (double)count_on / (double)n);
  }
  return supply_at(&supply, r->end);
}

static double by_hand(void* user) {
  Rooms* r = user;
  return fabs(simulate(r, WINDOW, &r->events) - r->reference);
}

// ---- Saltus -------------------------------------------------------------------------------------

static const char text[] =
    "To = 5 + 5 * sin(2 * pi * time / 86400);\n"
    "s' = (1 - 0.2 * Non / N - s) / 60;  s(t0) = 1;\n"
    "sp(t0) = 0;\n"
    "Non(t0) = 0;\n"
    "const phi = 0.6180339887498949;\n"
    "for i = 1:N {\n"
    "  const tau_[i] = 5000 + 5000 * mod(i * phi, 1), d_[i] = 0.6 * mod(3 * i * phi, 1) - 0.3;\n"
    "  const q_[i] = (27 + 8 * mod(2 * i * phi, 1)) / tau_[i];\n"
    "  T_[i]' = (To - T_[i]) / tau_[i] + q_[i] * s * u_[i];\n"
    "  T_[i](t0) = 19.5 + d_[i] + mod(5 * i * phi, 1);\n"
    "  u_[i](t0) = 0;\n"
    "  automaton room_[i] {\n"
    "    state off [T_[i] >= 20.5 + d_[i] + sp] { set u_[i] = 0, Non = Non - 1; } from on;\n"
    "    state on [T_[i] <= 19.5 + d_[i] + sp] { set u_[i] = 1, Non = Non + 1; } from init, off;\n"
    "  }\n"
    "}\n"
    "at 60 each 60 repeat * { set sp = max(-0.4, min(0.4, 0.5 - Non / N)); }\n";

static double by_saltus(void* user) {
  Rooms* r = user;
  SltSim* sim = bench_start(r->model, NULL);
  bench_advance(sim, r->end);
  double error = fabs(bench_value(sim, "s") - r->reference);
  slt_sim_free(sim);
  return error;
}

// ---- rows ---------------------------------------------------------------------------------------

static void* room_for(long n, size_t size) {
  void* data = calloc((size_t)n, size);
  if (!data) exit(1);
  return data;
}

static void run(const char* name, const char* what, long n, double end) {
  Rooms r = {.n = n, .end = end};
  double** numbers[] = {&r.tau, &r.q, &r.d, &r.start, &r.T, &r.begun, &r.due};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    *numbers[k] = room_for(n, sizeof(double));
  }
  r.on = room_for(n, sizeof *r.on);
  r.room = room_for(n, sizeof *r.room);
  for (long i = 0; i < n; i++) {
    double k = (double)(i + 1);
    r.tau[i] = 5000.0 + 5000.0 * share(k * GOLDEN);
    r.d[i] = 0.6 * share(3.0 * k * GOLDEN) - 0.3;
    r.q[i] = (27.0 + 8.0 * share(2.0 * k * GOLDEN)) / r.tau[i];
    r.start[i] = 19.5 + r.d[i] + share(5.0 * k * GOLDEN);
  }
  r.reference = simulate(&r, WINDOW / 50.0, &r.events);
  char head[40];
  snprintf(head, sizeof head, "const N = %ld;\n", n);
  char* whole = room_for((long)(sizeof head + sizeof text), 1);
  strcpy(whole, head);
  strcat(whole, text);
  r.model = bench_model("thermostats", whole);
  BenchRow row = bench_row(name, what);
  row.opponent = "local multirate code, heap of crossings";
  row.unit = "event";
  row.budget = 4.0;
  row.error_budget = 1e-5;
  bench_compare(&row, by_hand, by_saltus, &r);
  row.units = r.events;
  bench_print(&row);
  slt_model_free(r.model);
  free(whole);
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    free(*numbers[k]);
  }
  free(r.on);
  free(r.room);
}

int main(void) {
  run("thermostats-100", "thermostats, N = 100", 100, bench_size(3600.0, 60.0));
  if (bench_smoke()) return 0;
  run("thermostats-1000", "thermostats, N = 1000", 1000, bench_size(3600.0, 60.0));
  run("thermostats-10000", "thermostats, N = 1e4", 10000, bench_size(3600.0, 60.0));
  return 0;
}

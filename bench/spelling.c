// SPDX-License-Identifier: MIT
//
// One model, several texts: what does the spelling of a choice cost?
//
// Definition: each model below is written in texts that mean the same (a flag, a state that
// replaces an equation, a labelled group, delete and add, an `if` block, `if()`, max(), a part, an
// intermediate variable, ...) for N = 100, 1e4 and 1e5. For each, in a process of its own: seconds
// from the text to the end of the first step; largest memory up to there; seconds of a short step
// without events; seconds of a run per event. Budget: the slowest text takes at most twice what the
// fastest takes, in all four. Times are those of the thread on a processor; a text that takes more
// than LIMIT seconds of it, or more than 4 GB, is told as "not reached".
//
// Usage: spelling [MODEL [TEXT [N]]] runs a part of it.
#define _DEFAULT_SOURCE  // struct rusage in full
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT      20
#define MEMORY     (4ul << 30)
#define STEPS      8
#define SHORT_STEP 1e-6  // of the run: no event falls into a few of them

typedef struct Text {
  const char* name;
  const char* text;
} Text;

typedef struct Problem {
  const char* name;
  const char* what;
  const char* head;  // of all texts
  Text texts[12];
  double end[3];  // of the runs with N = 100, 1e4, 1e5
} Problem;

#define THERMOSTAT(body) \
  "for i = 1:N {\n  const a_[i] = 0.1 + 0.05 * mod(i * phi, 1);\n" \
  "  T_[i](t0) = 19.2 + 1.6 * mod(3 * i * phi, 1);\n" body "}\n"
#define COOL "T_[i]' = -a_[i] * (T_[i] - 10);"
#define HEAT "T_[i]' = -a_[i] * (T_[i] - 10) + 2;"
#define ROOM(off, on) \
  "  automaton r_[i] {\n    state off [T_[i] >= 21] {" off "} from init, on;\n" \
  "    state on [T_[i] <= 19] {" on "} from off;\n  }\n"

// 1-D: a rod that is heated where it is colder than 1, the more the colder
#define ROD(body) \
  "T_0 = 0; T_[N+1] = 2;\nfor i = 1:N {\n  T_[i](t0) = 0.9 + 0.2 * mod(i * phi, 1);\n" body "}\n"
#define FLOW "4 * (T_[i-1] - 2 * T_[i] + T_[i+1])"
// 2-D
#define PLATE(body) \
  "const M = floor(sqrt(N));\nfor i = 0:M+1 { T[i,0] = 0; T[i,M+1] = 2; }\n" \
  "for i = 1:M { T[0,i] = 0; T[M+1,i] = 2; }\n" \
  "for i = 1:M { for j = 1:M {\n" \
  "  T[i,j](t0) = 0.9 + 0.2 * mod((i + 7 * j) * phi, 1);\n" body "} }\n"
#define FLOW_2D "4 * (T[i-1,j] + T[i+1,j] + T[i,j-1] + T[i,j+1] - 4 * T[i,j])"
// cars with play in their couplings
#define TRAIN(body) \
  "x_0 = 0.3 * sin(time); v_0 = 0.3 * cos(time);\nF_[N+1] = 0;\nfor i = 1:N {\n" \
  "  x_[i]' = v_[i]; v_[i]' = F_[i] - F_[i+1] - 0.2 * v_[i];\n" \
  "  x_[i](t0) = 0.15 * mod(i * phi, 1); v_[i](t0) = 0;\n" body "}\n"
#define PLAY "x_[i-1] - x_[i]"

static const Problem problems[] = {
    {"thermostats",
     "rooms with a thermostat each",
     "const phi = 0.6180339887498949;\n",
     {{"flag", THERMOSTAT("  T_[i]' = -a_[i] * (T_[i] - 10) + u_[i]; u_[i](t0) = 2;\n" ROOM(
                   "set u_[i] = 0;", "set u_[i] = 2;"))},
      {"state", THERMOSTAT("  " HEAT "\n" ROOM(COOL, ""))},
      {"both states", THERMOSTAT("  " HEAT "\n" ROOM(COOL, HEAT))},
      {"label", THERMOSTAT("  heat_[i]: " HEAT "\n" ROOM("heat_[i]: " COOL, ""))},
      {"delete", THERMOSTAT("  heat_[i]: " HEAT "\n" ROOM("delete heat_[i]; " COOL, ""))},
      {"if block", THERMOSTAT("  " HEAT "\n  if (r_[i].off) { " COOL " }\n" ROOM("", ""))},
      {"if else", THERMOSTAT("  if (r_[i].off) { " COOL " } else { " HEAT " }\n" ROOM("", ""))},
      {"if()",
       THERMOSTAT("  T_[i]' = -a_[i] * (T_[i] - 10) + if(r_[i].off, 0, 2);\n" ROOM("", ""))},
      {"variable",
       THERMOSTAT("  T_[i]' = -a_[i] * (T_[i] - 10) + q_[i]; q_[i] = 2;\n" ROOM("q_[i] = 0;", ""))},
      {"part", "part Room(a = 0.1, T0 = 20) {\n  T' = -a * (T - 10) + 2; T(t0) = T0;\n"
               "  automaton r { state off [T >= 21] { T' = -a * (T - 10); } from init, on;\n"
               "    state on [T <= 19] {} from off; }\n}\n"
               "Room rooms[N](a = 0.1 + 0.05 * mod(i * phi, 1), "
               "T0 = 19.2 + 1.6 * mod(3 * i * phi, 1));\n"}},
     {20.0, 4.0, 1.0}},
    {"rod",
     "a rod that is heated where it is cold",
     "const phi = 0.6180339887498949;\n",
     {{"if()", ROD("  T_[i]' = " FLOW " + if(T_[i] < 1, 1 - T_[i], 0);\n")},
      {"max", ROD("  T_[i]' = " FLOW " + max(0, 1 - T_[i]);\n")},
      {"if block",
       ROD("  T_[i]' = " FLOW ";\n  if (T_[i] < 1) { T_[i]' = " FLOW " + 1 - T_[i]; }\n")},
      {"label", ROD("  cell_[i]: T_[i]' = " FLOW ";\n"
                    "  if (T_[i] < 1) { cell_[i]: T_[i]' = " FLOW " + 1 - T_[i]; }\n")},
      {"state",
       ROD("  T_[i]' = " FLOW ";\n  automaton c_[i] {\n"
           "    state cold [T_[i] < 1] { T_[i]' = " FLOW " + 1 - T_[i]; } from init, warm;\n"
           "    state warm [T_[i] >= 1] {} from cold;\n  }\n")},
      {"flag",
       ROD("  T_[i]' = " FLOW " + u_[i] * (1 - T_[i]); u_[i](t0) = 0;\n  automaton c_[i] {\n"
           "    state cold [T_[i] < 1] { set u_[i] = 1; } from init, warm;\n"
           "    state warm [T_[i] >= 1] { set u_[i] = 0; } from cold;\n  }\n")},
      {"variable", ROD("  T_[i]' = " FLOW " + q_[i];\n"
                       "  if (T_[i] < 1) { q_[i] = 1 - T_[i]; } else { q_[i] = 0; }\n")}},
     {1.0, 0.05, 0.005}},
    {"plate",
     "a plate that is heated where it is cold",
     "const phi = 0.6180339887498949;\n",
     {{"if()", PLATE("  T[i,j]' = " FLOW_2D " + if(T[i,j] < 1, 1 - T[i,j], 0);\n")},
      {"max", PLATE("  T[i,j]' = " FLOW_2D " + max(0, 1 - T[i,j]);\n")},
      {"if block", PLATE("  T[i,j]' = " FLOW_2D ";\n"
                         "  if (T[i,j] < 1) { T[i,j]' = " FLOW_2D " + 1 - T[i,j]; }\n")},
      {"state", PLATE("  T[i,j]' = " FLOW_2D ";\n  automaton c[i,j] {\n"
                      "    state cold [T[i,j] < 1] { T[i,j]' = " FLOW_2D
                      " + 1 - T[i,j]; } from init, warm;\n"
                      "    state warm [T[i,j] >= 1] {} from cold;\n  }\n")}},
     {1.0, 0.05, 0.005}},
    {"train",
     "cars with play in their couplings",
     "const phi = 0.6180339887498949;\n",
     {{"if()", TRAIN("  d_[i] = " PLAY ";\n  F_[i] = if(d_[i] > 0.1, 50 * (d_[i] - 0.1), "
                     "if(d_[i] < -0.1, 50 * (d_[i] + 0.1), 0));\n")},
      {"max",
       TRAIN("  d_[i] = " PLAY ";\n  F_[i] = 50 * (max(0, d_[i] - 0.1) + min(0, d_[i] + 0.1));\n")},
      {"macro", TRAIN("  macro d_[i] = " PLAY ";\n  F_[i] = if(d_[i] > 0.1, 50 * (d_[i] - 0.1), "
                      "if(d_[i] < -0.1, 50 * (d_[i] + 0.1), 0));\n")},
      {"if block", TRAIN("  d_[i] = " PLAY ";\n  if (d_[i] > 0.1) { F_[i] = 50 * (d_[i] - 0.1); }\n"
                         "  else if (d_[i] < -0.1) { F_[i] = 50 * (d_[i] + 0.1); }\n"
                         "  else { F_[i] = 0; }\n")},
      {"state", TRAIN("  F_[i] = 0;\n  automaton c_[i] {\n"
                      "    state taut [" PLAY " > 0.1] { F_[i] = 50 * (" PLAY
                      " - 0.1); } from init, loose;\n"
                      "    state pushed [" PLAY " < -0.1] { F_[i] = 50 * (" PLAY
                      " + 0.1); } from init, loose;\n"
                      "    state loose [" PLAY " <= 0.1 && " PLAY
                      " >= -0.1] {} from taut, pushed;\n  }\n")}},
     {10.0, 0.2, 0.02}},
};
#define PROBLEMS (sizeof problems / sizeof *problems)

typedef struct Cost {
  double ready, bytes, step, run, events, steps;
} Cost;

static char* write_text(const Problem* problem, const Text* text, long n) {
  size_t size = strlen(problem->head) + strlen(text->text) + 64;
  char* whole = malloc(size);
  if (!whole) exit(1);
  snprintf(whole, size, "const N = %ld;\n%s%s", n, problem->head, text->text);
  return whole;
}

static void send(int end, const Cost* cost) {
  if (write(end, cost, sizeof *cost) != (ssize_t)sizeof *cost) _exit(1);
}

/// In a process of its own; what is known so far is sent after each part.
static void measure(const Problem* problem, const Text* text, long n, double t_end, int out) {
  double none = (double)NAN;
  Cost cost = {none, none, none, none, none, none};
  char* whole = write_text(problem, text, n);
  SltSimOptions options = slt_sim_options();
  options.method = "dp54";
  double began = bench_cpu();
  SltModel* model = bench_model(text->name, whole);
  SltSim* sim = bench_start(model, &options);
  if (slt_sim_advance_step(sim, t_end, NULL) < 0) _exit(1);
  cost.ready = bench_cpu() - began;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  cost.bytes = 1024.0 * (double)usage.ru_maxrss;
  send(out, &cost);

  SltSimOptions small = options;
  small.h0 = small.h_max = SHORT_STEP * t_end;
  SltSim* other = bench_start(model, &small);
  if (slt_sim_advance_step(other, t_end, NULL) < 0) _exit(1);
  cost.step = HUGE_VAL;
  for (int i = 0; i < STEPS; i++) {
    began = bench_cpu();
    if (slt_sim_advance_step(other, t_end, NULL) < 0) _exit(1);
    cost.step = fmin(cost.step, bench_cpu() - began);
  }
  slt_sim_free(other);
  send(out, &cost);

  began = bench_cpu();
  bench_advance(sim, t_end);
  cost.run = bench_cpu() - began;
  SltStatistics stats = slt_sim_statistics(sim);
  cost.events = (double)stats.instants;
  cost.steps = (double)stats.steps;
  send(out, &cost);
  _exit(0);
}

static void print_cost(const Problem* problem, const Text* text, long n, const Cost* cost) {
  printf("{\"spelling\": \"%s\", \"what\": \"%s\", \"text\": \"%s\", \"n\": %ld", problem->name,
         problem->what, text->name, n);
  bench_field("ready_s", cost->ready);
  bench_field("bytes", cost->bytes);
  bench_field("step_s", cost->step);
  bench_field("run_s", cost->run);
  bench_field("event_s", cost->events > 0.0 ? cost->run / cost->events : (double)NAN);
  bench_field("events", cost->events);
  bench_field("steps", cost->steps);
  printf("}\n");
  fflush(stdout);
}

static void run(const Problem* problem, const Text* text, long n, double t_end) {
  double none = (double)NAN;
  Cost cost = {none, none, none, none, none, none};
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    setrlimit(RLIMIT_CPU, &(struct rlimit){LIMIT, LIMIT});
#ifndef __SANITIZE_ADDRESS__  // which reserves far more than it uses
    setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY, MEMORY});
#endif
    measure(problem, text, n, t_end, ends[1]);
  }
  close(ends[1]);
  Cost sent;
  while (child > 0 && read(ends[0], &sent, sizeof sent) == (ssize_t)sizeof sent)
    cost = sent;
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  print_cost(problem, text, n, &cost);
}

int main(int count, char** words) {
  static const long sizes[] = {100, 10000, 100000};
  int sizes_used = bench_smoke() ? 1 : 3;
  for (size_t p = 0; p < PROBLEMS; p++) {
    if (count > 1 && strcmp(words[1], problems[p].name) != 0) continue;
    for (int s = 0; s < sizes_used; s++) {
      if (count > 3 && atol(words[3]) != sizes[s]) continue;
      for (const Text* text = problems[p].texts; text->name; text++) {
        if (count > 2 && *words[2] && strcmp(words[2], text->name) != 0) continue;
        double end = problems[p].end[s] * (bench_smoke() ? 0.01 : 1.0);
        run(&problems[p], text, sizes[s], end);
      }
    }
  }
  return 0;
}

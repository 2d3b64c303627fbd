// SPDX-License-Identifier: MIT
//
// Cost over size: a chain of N cells with one guard each, N = 10 ... 1e6.
//
// Definition: c_i' = 0.2 (c_(i-1) - c_i) + (1 while c_i < 10, else 0) - c_i, c_0 = 0, from rest. No
// guard is reached: what is measured is the size alone. For each N, in a process of its own:
// seconds from the text to the end of the first step, seconds of each further step (Dormand-Prince,
// 6 evaluations), and the largest memory of the process. Each is a point of the picture that
// scripts/bench.py draws. Time is that of the thread on a processor; a size that takes more than
// 60 s of it ends the curve.
#define _DEFAULT_SOURCE  // struct rusage in full
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT 60
#define STEPS 5

static void measure(long n) {
  char text[600];
  snprintf(text, sizeof text,
           "c_0 = 0;\n"
           "for i = 1:%ld {\n"
           "  c_[i]' = 0.2 * (c_[i-1] - c_[i]) + if(c_[i] < 10, 1, 0) - c_[i];\n"
           "  c_[i](t0) = 0;\n"
           "}\n",
           n);
  double began = bench_cpu();
  SltModel* model = bench_model("size", text);
  SltSimOptions options = slt_sim_options();
  options.method = "dp54";
  SltSim* sim = bench_start(model, &options);
  if (slt_sim_advance_step(sim, 1.0, NULL) < 0) exit(1);
  double ready = bench_cpu() - began;
  began = bench_cpu();
  for (int i = 0; i < STEPS; i++) {
    if (slt_sim_advance_step(sim, 1.0, NULL) < 0) exit(1);
  }
  double step = (bench_cpu() - began) / STEPS;
  slt_sim_free(sim);
  slt_model_free(model);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf(
      "{\"curve\": \"cells\", \"n\": %ld, \"ready_s\": %.6g, \"step_s\": %.6g, \"bytes\": %.6g}\n",
      n, ready, step, 1024.0 * (double)usage.ru_maxrss);
  fflush(stdout);
}

int main(void) {
  long largest = bench_smoke() ? 100 : 1000000;
  for (long n = 10; n <= largest; n *= 10) {
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      setrlimit(RLIMIT_CPU, &(struct rlimit){LIMIT, LIMIT});
      measure(n);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      fprintf(stderr, "size: N = %ld is not reached within %d s\n", n, LIMIT);
      break;
    }
  }
  return 0;
}

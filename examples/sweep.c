// SPDX-License-Identifier: MIT
//
// One model, many runs: a sweep over a constant in two threads, and branches from a snapshot. The
// model is compiled once and shared; each run belongs to the thread that uses it.
//
//   cc sweep.c $(pkg-config --cflags --libs saltus) -lpthread -o sweep
#include <saltus/saltus.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char model_text[] = "// a ball that bounces and comes to rest\n"
                                 "const k = 0.8, v_rest = 0.05;\n"
                                 "y' = v;   y(t0) = 2;\n"
                                 "v' = -g;  v(t0) = 0;\n"
                                 "bounces(t0) = 0;\n"
                                 "state rest [y <= 0] && [v <= 0] && [v > -v_rest] {\n"
                                 "  y' = 0;  y(t0) = 0;\n"
                                 "  v' = 0;  v(t0) = 0;\n"
                                 "  stop \"at rest\";\n"
                                 "} from bounce;\n"
                                 "state bounce [y <= 0] && [v < 0] {\n"
                                 "  v(t0) = -k * v;\n"
                                 "  set bounces = bounces + 1;\n"
                                 "} from init, bounce;\n";

// ---- sweep --------------------------------------------------------------------------------------

enum { CASES = 7, THREADS = 2 };

typedef struct Case {
  double k;
  double t_rest, bounces;
  SltStatus status;
} Case;

typedef struct Worker {
  pthread_t thread;
  const SltModel* model;
  Case* cases;
  int first;  // takes every THREADS-th case from here
} Worker;

static SltStatus run_to_rest(SltSim* sim, double* t_rest, double* bounces) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT)
    status = slt_sim_advance(sim, 100.0, t_rest);
  SltQuantity count;
  if (status >= 0) status = slt_sim_find(sim, "bounces", &count);
  if (status >= 0) *bounces = slt_sim_get(sim, count);
  return status;
}

static SltStatus run_case(const SltModel* model, Case* c) {
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(model, &options, &sim);
  if (status >= 0) status = slt_sim_set_constant(sim, "k", c->k);
  if (status >= 0) status = slt_sim_start(sim);
  if (status >= 0) status = run_to_rest(sim, &c->t_rest, &c->bounces);
  slt_sim_free(sim);
  return status;
}

static void* work(void* user) {
  Worker* worker = user;
  for (int i = worker->first; i < CASES; i += THREADS) {
    Case* c = &worker->cases[i];
    c->status = run_case(worker->model, c);
  }
  return NULL;
}

static int sweep(const SltModel* model) {
  Case cases[CASES];
  for (int i = 0; i < CASES; i++) {
    cases[i] = (Case){.k = 0.3 + 0.1 * i};
  }
  Worker workers[THREADS];
  int started = 0;
  for (; started < THREADS; started++) {
    workers[started] = (Worker){.model = model, .cases = cases, .first = started};
    if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) break;
  }
  for (int i = 0; i < started; i++) {
    pthread_join(workers[i].thread, NULL);
  }
  if (started < THREADS) return 1;
  printf("   k   at rest after  bounces\n");
  for (int i = 0; i < CASES; i++) {
    if (cases[i].status < 0) return 1;
    printf("%4.1f  %11.6f s  %7g\n", cases[i].k, cases[i].t_rest, cases[i].bounces);
  }
  return 0;
}

// ---- branches -----------------------------------------------------------------------------------

/// Run to t = 1, then see what pushes of different strength do from there.
static int branches(const SltModel* model) {
  static const double pushes[] = {0.0, 2.0, 5.0, 0.0};
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  SltQuantity v = {SLT_KIND_VARIABLE, 0, 0};
  void* snapshot = NULL;
  size_t size = 0;
  SltStatus status = slt_sim_create(model, &options, &sim);
  if (status >= 0) status = slt_sim_start(sim);
  while (status >= 0) {
    status = slt_sim_advance(sim, 1.0, NULL);
    if (status != SLT_EVENT) break;
  }
  if (status >= 0) {
    size = slt_sim_snapshot_size(sim);
    snapshot = malloc(size);
    status = snapshot ? slt_sim_snapshot_save(sim, snapshot, size) : SLT_ERR_NOMEM;
  }
  if (status >= 0) status = slt_sim_find(sim, "v", &v);
  for (size_t i = 0; i < sizeof pushes / sizeof *pushes && status >= 0; i++) {
    double t_rest = 0.0;
    double bounces = 0.0;
    status = slt_sim_snapshot_restore(sim, snapshot, size);
    if (status >= 0 && pushes[i] > 0.0) {
      status = slt_sim_set(sim, v, slt_sim_get(sim, v) + pushes[i]);
    }
    if (status >= 0) status = run_to_rest(sim, &t_rest, &bounces);
    if (status >= 0) printf("a push of %g m/s at t = 1: at rest after %.6f s\n", pushes[i], t_rest);
  }
  free(snapshot);
  slt_sim_free(sim);
  return status < 0;
}

int main(void) {
  SltModel* model = NULL;
  if (slt_model_compile("ball", model_text, strlen(model_text), NULL, &model) < 0) return 1;
  int failed = sweep(model);
  if (!failed) failed = branches(model);
  slt_model_free(model);
  return failed;
}

// SPDX-License-Identifier: MIT
//
// The stages of a step where there are many states and several threads: sums over the stages before
// and right-hand sides are made part by part. Operations and their order are those of dp54 itself
// (numeric/erk_dp54.c), so that the bits are the same.
#include "engine/run/run.h"

#define CHUNK 512  // of a sum that stays in the cache

/// x + h times a sum of stages.
typedef struct Row {
  const NumStages* stages;
  const NumStageRow* row;
  double* out;
} Row;

static const double* stage_rates(const NumStages* s, uint32_t stage) {
  return stage == 1 ? s->k1 : s->k + (size_t)(stage - 2) * s->stride;
}

static void add_chunk(const Row* job, size_t begin, size_t n) {
  const NumStageRow* row = job->row;
  const double* restrict x = job->stages->x + begin;
  double* restrict out = job->out + begin;
  double h = job->stages->h;
  double sum[CHUNK];
  const double* restrict first = stage_rates(job->stages, row->terms[0].stage) + begin;
  for (size_t i = 0; i < n; i++) {
    sum[i] = row->terms[0].a * first[i];
  }
  for (uint32_t term = 1; term < row->count; term++) {
    const double* restrict k = stage_rates(job->stages, row->terms[term].stage) + begin;
    double a = row->terms[term].a;
    for (size_t i = 0; i < n; i++) {
      sum[i] += a * k[i];
    }
  }
  for (size_t i = 0; i < n; i++) {
    out[i] = x[i] + h * sum[i];
  }
}

static void add_part(void* user, size_t begin, size_t end) {
  for (size_t at = begin; at < end; at += CHUNK) {
    add_chunk(user, at, end - at < CHUNK ? end - at : CHUNK);
  }
}

SltStatus eng_stages_of_team(void* user, const NumStages* s) {
  EngSim* sim = user;
  size_t n = sim->core.mode->state_count;
  size_t last = SLT_COUNT(num_dp54_rows) - 1;
  for (size_t r = 0; r <= last; r++) {
    const NumStageRow* row = &num_dp54_rows[r];
    Row job = {.stages = s, .row = row, .out = r == last ? s->x_end : s->y};
    base_team_run(sim->values.flow_context.team, n, CHUNK, add_part, &job);
    double t = row->c == 1.0 ? s->t_end : s->t + row->c * s->h;
    double* rates = r == last ? s->k7 : s->k + r * s->stride;
    SLT_TRY(eng_rhs(sim, t, job.out, rates));
  }
  return SLT_OK;
}

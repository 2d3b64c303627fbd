// SPDX-License-Identifier: MIT
//
// All stages of trials of dp54 in one go: of a single step in parts, by several threads; of several
// steps at once, over lanes. Operations and their order are those of dp54 itself (erk_dp54.c), so
// that the bits are the same.
#include "numeric/internal.h"

#include <string.h>

#define LAST (SLT_COUNT(num_dp54_rows) - 1)  // its argument is the end of the step

static double stage_time(const NumStageRow* row, double t, double h, double t_end) {
  return row->c == 1.0 ? t_end : t + row->c * h;
}

// ---- in parts -----------------------------------------------------------------------------------

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

SltStatus num_stages_by_team(const NumStages* s, size_t n, BaseTeam* team, NumRhs* rhs,
                             void* user) {
  for (size_t r = 0; r <= LAST; r++) {
    const NumStageRow* row = &num_dp54_rows[r];
    Row job = {.stages = s, .row = row, .out = r == LAST ? s->x_end : s->y};
    base_team_run(team, n, CHUNK, add_part, &job);
    double* rates = r == LAST ? s->k7 : s->k + r * s->stride;
    SLT_TRY(rhs(user, stage_time(row, s->t, s->h, s->t_end), job.out, rates));
  }
  return SLT_OK;
}

// ---- over lanes ---------------------------------------------------------------------------------

#define L NUM_LANES

bool num_ahead_possible(const NumStepper* s) {
  return s->method->kernel->rows && s->f_known && s->n > 0;
}

size_t num_lanes_room(const NumStepper* s) {
  // x, and f at the begin, the stages and the end
  return base_mul_size((size_t)(s->method->kernel->row_count + 2) * L, s->n);
}

/// A number of each row side by side, for all numbers of the rows.
static void spread(double* lanes, const double* const* rows, uint32_t n) {
  for (uint32_t i = 0; i < n; i++, lanes += L) {
    for (uint32_t lane = 0; lane < L; lane++) {
      lanes[lane] = rows[lane][i];
    }
  }
}

/// The other way round.
static void collect(double* const* rows, const double* lanes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++, lanes += L) {
    for (uint32_t lane = 0; lane < L; lane++) {
      rows[lane][i] = lanes[lane];
    }
  }
}

/// Arguments of the right-hand side: x + h times a sum of stages, lane by lane.
static void add_lanes(const NumStageRow* row, size_t size, const double* x, const double* k,
                      const double* h, double* out) {
  for (size_t i = 0; i < size; i++) {
    double sum = row->terms[0].a * k[(row->terms[0].stage - 1) * size + i];
    for (uint32_t term = 1; term < row->count; term++) {
      sum += row->terms[term].a * k[(row->terms[term].stage - 1) * size + i];
    }
    out[i] = x[i] + h[i % L] * sum;
  }
}

#if BASE_LANES_WIDE
/// In one piece: a wide load of what was written one by one has to wait for the cache.
BASE_LANES_TARGET static void spread_wide(double* lanes, const double* const* rows, uint32_t n) {
  for (uint32_t i = 0; i < n; i++, lanes += L) {
    BASE_HALF_AT(lanes) = (BaseHalf){rows[0][i], rows[1][i], rows[2][i], rows[3][i]};
    BASE_HALF_AT(lanes + L / 2) = (BaseHalf){rows[4][i], rows[5][i], rows[6][i], rows[7][i]};
  }
}

BASE_LANES_TARGET static void add_wide(const NumStageRow* row, size_t size, const double* x,
                                       const double* k, const double* h, double* out) {
  for (size_t i = 0; i < size; i += L) {
    const double* first = k + (row->terms[0].stage - 1) * size + i;
    BaseHalf low = row->terms[0].a * BASE_HALF_OF(first);
    BaseHalf high = row->terms[0].a * BASE_HALF_OF(first + L / 2);
    for (uint32_t term = 1; term < row->count; term++) {
      const double* next = k + (row->terms[term].stage - 1) * size + i;
      low += row->terms[term].a * BASE_HALF_OF(next);
      high += row->terms[term].a * BASE_HALF_OF(next + L / 2);
    }
    BASE_HALF_AT(out + i) = BASE_HALF_OF(x + i) + BASE_HALF_OF(h) * low;
    BASE_HALF_AT(out + i + L / 2) = BASE_HALF_OF(x + i + L / 2) + BASE_HALF_OF(h + L / 2) * high;
  }
}
#endif

typedef struct LaneOperations {
  void (*spread)(double* lanes, const double* const* rows, uint32_t n);
  void (*add)(const NumStageRow* row, size_t size, const double* x, const double* k,
              const double* h, double* out);
} LaneOperations;

static LaneOperations lane_operations(void) {
#if BASE_LANES_WIDE
  if (BASE_LANES_ARE_WIDE()) return (LaneOperations){spread_wide, add_wide};
#endif
  return (LaneOperations){spread, add_lanes};
}

/// The stages into the rows of the trials to come. Stage 2 is of no use after the others.
static void keep_stages(NumStepper* const* steppers, const double* k, size_t size) {
  uint32_t n = steppers[0]->n;
  uint32_t last = steppers[0]->method->kernel->row_count - 1;
  double* rows[L];
  for (uint32_t r = 1; r < last; r++) {
    for (uint32_t lane = 0; lane < L; lane++)
      rows[lane] = steppers[lane]->k + r * (size_t)steppers[lane]->n_max;
    collect(rows, k + (r + 1) * size, n);
  }
  for (uint32_t lane = 0; lane < L; lane++)
    rows[lane] = steppers[lane]->f_row[num_next_row(steppers[lane])];
  collect(rows, k + (last + 1) * size, n);
}

/// The argument of the last stage but one, or the end of the step.
static void keep_argument(NumStepper* const* steppers, const double* y, bool end) {
  double* rows[L];
  for (uint32_t lane = 0; lane < L; lane++) {
    NumStepper* s = steppers[lane];
    rows[lane] = end ? s->x_row[num_next_row(s)] : s->stage_x;
  }
  collect(rows, y, steppers[0]->n);
}

void num_lanes_run(const NumLane* lanes, uint32_t count, NumLanesRhs* rhs, void* user, double* room,
                   double* y) {
  uint32_t n = lanes[0].stepper->n;
  size_t size = (size_t)n * L;
  const NumKernel* kernel = lanes[0].stepper->method->kernel;
  uint32_t last = kernel->row_count - 1;
  double* x = room;
  double* k = x + size;
  double h[L];
  double t[L];
  const double* x_rows[L];
  const double* f_rows[L];
  NumStepper* steppers[L];
  double targets[L];
  for (uint32_t lane = 0; lane < L; lane++) {
    // lanes that nobody needs repeat the first one
    const NumLane* from = &lanes[lane < count ? lane : 0];
    NumStepper* s = from->stepper;
    steppers[lane] = s;
    targets[lane] = from->target;
    h[lane] = from->target - s->t;
    x_rows[lane] = s->x;
    f_rows[lane] = s->f_row[s->row];
  }
  LaneOperations operations = lane_operations();
  operations.spread(x, x_rows, n);
  operations.spread(k, f_rows, n);
  for (uint32_t r = 0; r <= last; r++) {
    const NumStageRow* row = &kernel->rows[r];
    operations.add(row, size, x, k, h, y);
    for (uint32_t lane = 0; lane < L; lane++)
      t[lane] = stage_time(row, steppers[lane]->t, h[lane], targets[lane]);
    rhs(user, t, y, k + (r + 1) * size);
    if (r + 1 >= last) keep_argument(steppers, y, r == last);
  }
  keep_stages(steppers, k, size);
  for (uint32_t lane = 0; lane < count; lane++) {
    NumStepper* s = steppers[lane];
    // what is left of the step before has lost its stages
    if (!s->trial.dense_ready) s->trial.valid = false;
    s->ahead = (NumAhead){.kernel = kernel, .t = s->t, .t_end = targets[lane]};
  }
}

bool num_ahead_take(NumStepper* s) {
  bool same = s->ahead.kernel == s->method->kernel;
  s->ahead.kernel = NULL;
  return same && s->ahead.t == s->trial.t0 && s->ahead.t_end == s->trial.t;
}

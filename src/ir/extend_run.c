// SPDX-License-Identifier: MIT
//
// Runs in tables of words.
#include "ir/extend.h"

/// Whether row `c` follows `b` as `b` follows `a`.
static bool follows(const ExtendTable* t, uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t* x = t->words + (size_t)a * t->width;
  const uint32_t* y = t->words + (size_t)b * t->width;
  const uint32_t* z = t->words + (size_t)c * t->width;
  for (uint32_t w = 0; w < t->width; w++) {
    if (z[w] - y[w] != y[w] - x[w]) return false;
    if (y[w] != x[w] && !(t->free >> w & 1)) return false;
  }
  return true;
}

/// Number of blocks of `period` rows from row `begin` on that follow each other.
static uint32_t count_blocks(const ExtendTable* t, uint32_t begin, uint32_t period) {
  uint32_t row = begin + 2 * period;
  while (row < t->count && follows(t, row - 2 * period, row - period, row)) {
    row++;
  }
  uint32_t blocks = (row < t->count ? row : t->count) - begin;
  return blocks / period;
}

static ExtendRun longest_run(const ExtendTable* t, uint32_t begin) {
  ExtendRun best = {.begin = begin, .period = 1, .count = 1};
  uint32_t room = (t->count - begin) / EXTEND_RUN_MIN;
  uint32_t most = room < EXTEND_PERIOD_MAX ? room : EXTEND_PERIOD_MAX;
  for (uint32_t period = 1; period <= most; period++) {
    uint32_t blocks = count_blocks(t, begin, period);
    bool longer = (uint64_t)blocks * period > (uint64_t)best.count * best.period;
    if (blocks >= EXTEND_RUN_MIN && longer) {
      best.period = period;
      best.count = blocks;
    }
  }
  return best;
}

void extend_find_runs(Arena* arena, const ExtendTable* table, ExtendRuns* runs) {
  for (uint32_t row = 0; row < table->count;) {
    ExtendRun run = longest_run(table, row);
    uint32_t words = run.period * table->width;
    run.base = table->words + (size_t)row * table->width;
    run.step = ARENA_ARRAY(arena, uint32_t, words);
    run.slope = ARENA_ARRAY(arena, uint32_t, words);
    for (uint32_t w = 0; w < words && run.count > 1; w++) {
      run.step[w] = run.base[words + w] - run.base[w];
    }
    base_vec_push(arena, runs, run);
    row += run.count * run.period;
  }
}

/// `joined` gets the slopes between it and `next`, or must have them already.
static bool join_run(const ExtendTable* t, ExtendRun* joined, const ExtendRun* now,
                     const ExtendRun* next, bool first) {
  if (now->period != next->period) return false;
  uint32_t count_slope = next->count - now->count;
  if (first) joined->count_slope = count_slope;
  if (joined->count_slope != count_slope || next->count < now->count) return false;
  uint32_t words = now->period * t->width;
  for (uint32_t w = 0; w < words; w++) {
    uint32_t slope = next->base[w] - now->base[w];
    if (first) joined->slope[w] = slope;
    if (joined->slope[w] != slope || now->step[w] != next->step[w]) return false;
    if (slope != 0 && !(t->free >> (w % t->width) & 1)) return false;
  }
  return true;
}

bool extend_join_runs(Arena* arena, const ExtendTable* tables, ExtendRuns* samples) {
  for (uint32_t s = 0; s < EXTEND_SAMPLES; s++) {
    samples[s] = (ExtendRuns){0};
    extend_find_runs(arena, &tables[s], &samples[s]);
    if (samples[s].count != samples[0].count) return false;
  }
  for (uint32_t i = 0; i < samples[0].count; i++) {
    ExtendRun* joined = &samples[0].data[i];
    for (uint32_t s = 0; s + 1 < EXTEND_SAMPLES; s++) {
      bool same =
          join_run(&tables[0], joined, &samples[s].data[i], &samples[s + 1].data[i], s == 0);
      if (!same) return false;
    }
  }
  return true;
}

bool extend_apply_slopes(ExtendRuns* runs, const ExtendTable* table, uint32_t more) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    ExtendRun* run = &runs->data[i];
    uint64_t count = run->count + (uint64_t)run->count_slope * more;
    rows += count * run->period;
    if (count > UINT32_MAX || rows > UINT32_MAX / 2) return false;
    run->count = (uint32_t)count;
    for (uint32_t w = 0; w < run->period * table->width; w++) {
      run->base[w] += run->slope[w] * more;
    }
  }
  return true;
}

uint32_t extend_rows(const ExtendRuns* runs) {
  uint32_t rows = 0;
  for (uint32_t i = 0; i < runs->count; i++) {
    rows += runs->data[i].count * runs->data[i].period;
  }
  return rows;
}

/// One row of a block, in all blocks.
static void write_column(const ExtendRun* run, uint32_t row, uint32_t width, char* out,
                         size_t stride) {
  uint32_t words[EXTEND_WORDS_MAX];
  uint32_t step[EXTEND_WORDS_MAX];
  uint32_t moving[EXTEND_WORDS_MAX];
  uint32_t moving_count = 0;
  for (uint32_t w = 0; w < width; w++) {
    words[w] = run->base[row * width + w];
    step[w] = run->step[row * width + w];
    if (step[w]) moving[moving_count++] = w;
  }
  for (uint32_t k = 0; k < run->count; k++) {
    memcpy(out + (size_t)k * run->period * stride, words, width * sizeof *words);
    for (uint32_t m = 0; m < moving_count; m++) {
      words[moving[m]] += step[moving[m]];
    }
  }
}

void extend_write(const ExtendRuns* runs, uint32_t width, void* out, size_t stride) {
  char* at = out;
  for (uint32_t i = 0; i < runs->count; i++) {
    const ExtendRun* run = &runs->data[i];
    for (uint32_t row = 0; row < run->period; row++) {
      write_column(run, row, width, at + row * stride, stride);
    }
    at += (size_t)run->count * run->period * stride;
  }
}

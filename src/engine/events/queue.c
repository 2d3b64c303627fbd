// SPDX-License-Identifier: MIT
//
// Time events. Firing k of a schedule is at start + k*period, one multiplication and one addition,
// so a million ticks do not drift. Times that rounding alone tells apart (3*0.1 and 0.3) are one.
#include "engine/run/run.h"

#include <float.h>
#include <math.h>

#define SAME_ULPS 4.0  // roundings between times that are one

static double tick_time(const EngSchedule* schedule) {
  return schedule->start + (double)schedule->fired * schedule->period;
}

/// Whether two times are one, with respect to the numbers that a tick is computed from.
static bool is_same_time(const EngSchedule* schedule, double a, double b) {
  double terms = fmax(fabs(schedule->start), (double)schedule->fired * schedule->period);
  return fabs(a - b) <= SAME_ULPS * DBL_EPSILON * fmax(terms, fabs(b));
}

/// Set up the next firing, or switch the schedule off.
static void schedule_next(EngSim* sim, uint32_t index) {
  const ModelSchedule* model = &sim->model->schedules[index];
  EngSchedule* schedule = &sim->instant.schedules[index];
  bool more = schedule->fired == 0 || model->periodic;
  schedule->active = more && (model->count < 0 || schedule->fired < model->count);
  schedule->next = schedule->active ? tick_time(schedule) : (double)INFINITY;
  // the last tick of an experiment is not lost to rounding
  if (is_same_time(schedule, schedule->next, sim->options.t_end))
    schedule->next = sim->options.t_end;
}

/// Whether the first of two that are due at once is carried out before the second.
static bool goes_before(const EngSim* sim, uint32_t first, uint32_t second) {
  int32_t a = sim->model->schedules[first].priority;
  int32_t b = sim->model->schedules[second].priority;
  return a != b ? a > b : first < second;
}

static void find_next(EngSim* sim) {
  bool any = sim->model->schedule_count > 0;
  sim->core.calendar.t_schedule = any ? sim->instant.due[0].t : (double)INFINITY;
}

/// Times that the period cannot tell apart would stop the run.
static SltStatus fail_period(EngSim* sim, uint32_t index, double t) {
  return eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0808, &sim->model->schedules[index].span,
                  "at t = %s the period %s of this 'at' is too short: adding it leaves the time as "
                  "it is",
                  eng_number(t).text, eng_number(sim->instant.schedules[index].period).text);
}

#define FIRINGS_MAX 9007199254740992.0  // counts beyond are not exact

/// Firings before the start of the run are past; they are counted without a loop.
static SltStatus skip_past(EngSim* sim, uint32_t index) {
  const ModelSchedule* model = &sim->model->schedules[index];
  EngSchedule* schedule = &sim->instant.schedules[index];
  double t0 = sim->core.t;
  if (!(schedule->start < t0)) return SLT_OK;
  schedule->fired = 1;
  if (!model->periodic) return SLT_OK;
  double k = ceil((t0 - schedule->start) / schedule->period);
  // so many of them are over before the run begins
  if (model->count >= 0 && k > (double)model->count) {
    schedule->fired = model->count;
    return SLT_OK;
  }
  // firing k is start + k*period: neither the count nor the sum may be lost in rounding
  if (!(k < FIRINGS_MAX)) return fail_period(sim, index, t0);
  schedule->fired = (int64_t)k;
  // the quotient may be off by its rounding, by one at most
  if (schedule->start + (k - 1.0) * schedule->period >= t0) schedule->fired--;
  if (tick_time(schedule) < t0) schedule->fired++;
  double before = schedule->start + (double)(schedule->fired - 1) * schedule->period;
  return tick_time(schedule) > before ? SLT_OK : fail_period(sim, index, t0);
}

SltStatus eng_queue_init(EngSim* sim) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < sim->model->schedule_count; i++) {
    const ModelSchedule* model = &sim->model->schedules[i];
    EngSchedule* schedule = &sim->instant.schedules[i];
    *schedule = (EngSchedule){.start = eng_eval(sim, &model->start)};
    if (model->periodic) schedule->period = eng_eval(sim, &model->period);
    if (!isfinite(schedule->start) || !isfinite(schedule->period)) {
      return eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0808, &model->span,
                      "the time of this 'at' is not a finite number");
    }
    if (model->periodic && schedule->period <= 0.0) {
      eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0808, &model->span,
               "the period of this 'at' is %s; it must be greater than 0",
               eng_number(schedule->period).text);
      return sim->error.status;
    }
    SLT_TRY(skip_past(sim, i));
    schedule_next(sim, i);
    base_due_add(sim->instant.due, &count, schedule->next, i);
  }
  find_next(sim);
  return SLT_OK;
}

SltStatus eng_queue_take(EngSim* sim, double t) {
  uint32_t* due = sim->events.due;
  uint32_t count = sim->model->schedule_count;
  sim->events.due_count = 0;
  for (uint32_t n = 0; n < sim->model->schedule_count; n++) {
    uint32_t i = sim->instant.due[0].id;
    EngSchedule* schedule = &sim->instant.schedules[i];
    if (!schedule->active) break;
    if (schedule->next > t && !is_same_time(schedule, schedule->next, t)) break;
    schedule->fired++;
    schedule_next(sim, i);
    if (schedule->next <= t) return fail_period(sim, i, t);
    base_due_drop(sim->instant.due, &count);
    base_due_add(sim->instant.due, &count, schedule->next, i);
    uint32_t at = sim->events.due_count++;
    for (; at > 0 && goes_before(sim, i, due[at - 1]); at--) {
      due[at] = due[at - 1];
    }
    due[at] = i;
  }
  find_next(sim);
  return SLT_OK;
}

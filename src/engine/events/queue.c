// SPDX-License-Identifier: MIT
//
// Time events. Firing k of a schedule is at start + k*period, one multiplication and one addition,
// so a million ticks do not drift.
#include "engine/internal.h"

#include <math.h>

static double tick_time(const EngSchedule* schedule) {
  return schedule->start + (double)schedule->fired * schedule->period;
}

/// Set up the next firing, or switch the schedule off.
static void schedule_next(EngSim* sim, uint32_t index) {
  const ModelSchedule* model = &sim->model->schedules[index];
  EngSchedule* schedule = &sim->schedules[index];
  bool more = schedule->fired == 0 || model->periodic;
  schedule->active = more && (model->count < 0 || schedule->fired < model->count);
  schedule->next = schedule->active ? tick_time(schedule) : (double)INFINITY;
}

static void find_next(EngSim* sim) {
  double next = (double)INFINITY;
  for (uint32_t i = 0; i < sim->model->schedule_count; i++) {
    if (sim->schedules[i].active && sim->schedules[i].next < next) next = sim->schedules[i].next;
  }
  sim->core.t_schedule = next;
}

SltStatus eng_queue_init(EngSim* sim) {
  for (uint32_t i = 0; i < sim->model->schedule_count; i++) {
    const ModelSchedule* model = &sim->model->schedules[i];
    EngSchedule* schedule = &sim->schedules[i];
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
    // firings before the start of the run are past: count them without a loop
    double t0 = sim->core.t;
    if (schedule->start < t0) {
      schedule->fired = 1;
      if (model->periodic) {
        double k = ceil((t0 - schedule->start) / schedule->period);
        schedule->fired = k < 9e18 ? (int64_t)k : INT64_MAX;
        while (schedule->fired > 0 &&
               schedule->start + (double)(schedule->fired - 1) * schedule->period >= t0) {
          schedule->fired--;
        }
        while (tick_time(schedule) < t0) {
          schedule->fired++;
        }
      }
    }
    schedule_next(sim, i);
  }
  find_next(sim);
  return SLT_OK;
}

/// A period too short to be seen at the present time would stop it.
static SltStatus check_period(EngSim* sim, uint32_t index, double t) {
  const EngSchedule* schedule = &sim->schedules[index];
  if (schedule->next > t) return SLT_OK;
  return eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0808, &sim->model->schedules[index].span,
                  "at t = %s the period %s of this 'at' is too short: adding it leaves the time as "
                  "it is",
                  eng_number(t).text, eng_number(schedule->period).text);
}

SltStatus eng_queue_take(EngSim* sim, double t) {
  sim->events.due_count = 0;
  for (uint32_t i = 0; i < sim->model->schedule_count; i++) {
    EngSchedule* schedule = &sim->schedules[i];
    if (!schedule->active || schedule->next > t) continue;
    schedule->fired++;
    schedule_next(sim, i);
    SLT_TRY(check_period(sim, i, t));
    // insertion by priority keeps the order of the text among equals
    int32_t priority = sim->model->schedules[i].priority;
    uint32_t at = sim->events.due_count++;
    while (at > 0 && sim->model->schedules[sim->events.due[at - 1]].priority < priority) {
      sim->events.due[at] = sim->events.due[at - 1];
      at--;
    }
    sim->events.due[at] = i;
  }
  find_next(sim);
  return SLT_OK;
}

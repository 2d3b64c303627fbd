// SPDX-License-Identifier: MIT
//
// Members on threads. Workers take the next number and put the result into its slot of a ring; the
// caller's thread hands the slots out in order. The ring bounds memory: no worker runs further
// ahead than it is long.
#define _POSIX_C_SOURCE 200809L
#include "experiment/design.h"
#include "experiment/measure.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_COOKIE  0x51a17006u
#define SWEEP_JOBS    1024
#define SWEEP_MESSAGE 400
#define SWEEP_AHEAD   256        // slots per worker
#define SWEEP_LANES   8          // members that a worker has under way
#define SWEEP_TRIES   7          // rounds without steps in common; then members run one by one
#define SWEEP_PAUSE   1023       // most rounds between tries to compute steps together
#define SWEEP_POLL_NS 20000000L  // rows wait at most so long

typedef struct Slot {
  bool ready;
  SltStatus status;
  char code[16];
  char message[SWEEP_MESSAGE];
  double* parameters;
  double* values;
} Slot;

typedef struct Sweep {
  const SltModel* model;
  const SltDesign* design;
  const SltMeasures* measures;
  const SltSweepOptions* options;
  double t_end;
  uint32_t value_count;
  Slot* slots;
  uint64_t slot_count;
  double* numbers;  // of all slots

  pthread_mutex_t lock;
  pthread_cond_t ready;  // a slot was filled
  pthread_cond_t room;   // a slot was handed out
  uint64_t next;         // member to be taken by a worker
  uint64_t out;          // member to be handed out
  uint64_t end;
  atomic_bool cancelled;
} Sweep;

SltSweepOptions slt_sweep_options(void) {
  return (SltSweepOptions){.sim = slt_sim_options(), .t_end = (double)NAN, .cookie = SWEEP_COOKIE};
}

// ---- one member ---------------------------------------------------------------------------------

static bool is_cancelled(void* user, double t) {
  Sweep* sweep = user;
  (void)t;
  return atomic_load_explicit(&sweep->cancelled, memory_order_relaxed);
}

static void note_failure(Slot* slot, SltSim* sim, SltStatus status) {
  slot->status = status;
  SltRunError error = {.code = NULL};
  if (sim) error = slt_sim_error(sim);
  const char* message = error.message && error.status < 0 ? error.message : slt_status_text(status);
  snprintf(slot->message, sizeof slot->message, "%s", message);
  snprintf(slot->code, sizeof slot->code, "%s", error.code && error.status < 0 ? error.code : "");
}

SltStatus slt_design_sim_create(const SltModel* model, const SltDesign* design, uint64_t member,
                                const SltSimOptions* options, SltSim** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!model || !design || !options || member >= design->members) return SLT_ERR_ARGUMENT;
  double* values = malloc((design->count + (size_t)1) * sizeof *values);
  if (!values) return SLT_ERR_NOMEM;
  slt_design_member(design, member, values);
  SltSimOptions own = *options;
  for (uint32_t i = 0; i < design->count; i++) {
    bool seed = design->axes[i].parameter.kind == PARAMETER_SEED;
    if (seed && values[i] >= 0.0 && values[i] < 0x1p63) own.seed = (uint64_t)values[i];
  }
  SltStatus status = slt_sim_create(model, &own, out);
  for (uint32_t i = 0; status >= 0 && i < design->count; i++)
    status = parameter_set(&design->axes[i].parameter, *out, values[i]);
  free(values);
  if (status >= 0) return SLT_OK;
  slt_sim_free(*out);
  *out = NULL;
  return status;
}

/// A member on its way.
typedef struct Runner {
  uint64_t member;
  Slot* slot;
  Measuring* measuring;  // NULL: there is none
} Runner;

static void close_member(Sweep* sweep, Slot* slot, SltSim* sim, SltStatus status) {
  const SltSweepOptions* options = sweep->options;
  slot->status = status;
  if (status < 0) note_failure(slot, sim, status);
  uint32_t measured = slt_measures_count(sweep->measures);
  if (options->own) options->own(options->user, sim, status, slot->values + measured);
  slt_sim_free(sim);
}

/// False: the member is over already.
static bool open_member(Sweep* sweep, Runner* runner, SltSim** sim) {
  Slot* slot = runner->slot;
  slot->message[0] = '\0';
  slot->code[0] = '\0';
  for (uint32_t i = 0; i < sweep->value_count; i++)
    slot->values[i] = (double)NAN;
  slt_design_member(sweep->design, runner->member, slot->parameters);
  SltStatus status =
      slt_design_sim_create(sweep->model, sweep->design, runner->member, &sweep->options->sim, sim);
  if (status < 0) {
    note_failure(slot, NULL, status);
    return false;
  }
  slt_sim_on_step(*sim, is_cancelled, sweep);
  slt_sim_on_round(*sim, is_cancelled, sweep);
  status = measuring_begin(sweep->measures, *sim, sweep->t_end, NULL, NULL, &runner->measuring);
  if (status >= 0) return true;
  close_member(sweep, slot, *sim, status);
  *sim = NULL;
  return false;
}

// ---- workers ------------------------------------------------------------------------------------

static Slot* slot_of(Sweep* sweep, uint64_t member) {
  return &sweep->slots[member % sweep->slot_count];
}

/// The next member for a worker; `waits`: for room, where there is none. False: there is no more,
/// or no room.
static bool take_member(Sweep* sweep, bool waits, uint64_t* member) {
  pthread_mutex_lock(&sweep->lock);
  while (waits && sweep->next < sweep->end && sweep->next >= sweep->out + sweep->slot_count &&
         !atomic_load(&sweep->cancelled))
    pthread_cond_wait(&sweep->room, &sweep->lock);
  bool taken = sweep->next < sweep->end && sweep->next < sweep->out + sweep->slot_count &&
               !atomic_load(&sweep->cancelled);
  if (taken) *member = sweep->next++;
  pthread_mutex_unlock(&sweep->lock);
  return taken;
}

static void finish_member(Sweep* sweep, Slot* slot) {
  pthread_mutex_lock(&sweep->lock);
  slot->ready = true;
  // waking the caller for every short member would cost more than the member
  bool much = sweep->next - sweep->out >= sweep->slot_count / 2;
  if (much || sweep->next == sweep->end) pthread_cond_signal(&sweep->ready);
  pthread_mutex_unlock(&sweep->lock);
}

/// The work of a thread: a few members side by side, whose steps are computed together where that
/// is possible. A member that is over makes room for the next one.
typedef struct Lanes {
  Runner runners[SWEEP_LANES];
  SltSim* sims[SWEEP_LANES];
  uint32_t count;   // with a run
  uint32_t misses;  // rounds in a row in which no steps could be computed together
  uint32_t pause;   // rounds until that is tried again, after too many of them...
  uint32_t rounds;  // ...and so many so far
} Lanes;

static void fill_lanes(Sweep* sweep, Lanes* lanes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    while (!lanes->sims[i]) {
      Runner* runner = &lanes->runners[i];
      if (!take_member(sweep, lanes->count == 0, &runner->member)) return;
      runner->slot = slot_of(sweep, runner->member);
      if (open_member(sweep, runner, &lanes->sims[i])) {
        lanes->count++;
      } else {
        finish_member(sweep, runner->slot);
      }
    }
  }
}

/// Let all members go on: by a step, or to their ends.
static void go_on(Sweep* sweep, Lanes* lanes, bool whole) {
  for (uint32_t i = 0; i < SWEEP_LANES; i++) {
    Runner* runner = &lanes->runners[i];
    bool on = lanes->sims[i] != NULL;
    if (!on) continue;
    do {
      on = measuring_go_on(runner->measuring, whole);
    } while (on && whole);
    if (on) continue;
    SltStatus status = measuring_end(runner->measuring, runner->slot->values);
    close_member(sweep, runner->slot, lanes->sims[i], status);
    finish_member(sweep, runner->slot);
    lanes->sims[i] = NULL;
    lanes->count--;
  }
}

/// Compute the next steps together where that is possible; false: members run one by one for now.
static bool prepare(Lanes* lanes) {
  bool together = slt_sims_prepare(lanes->sims, SWEEP_LANES) > 0;
  lanes->misses = together ? 0 : lanes->misses + 1;
  if (together) lanes->pause = 0;
  if (lanes->misses <= SWEEP_TRIES) return true;
  lanes->pause = lanes->pause < SWEEP_PAUSE ? 2 * lanes->pause + 1 : SWEEP_PAUSE;
  lanes->rounds = 0;
  return false;
}

static void* work(void* user) {
  Sweep* sweep = user;
  Lanes lanes = {.count = 0};
  for (;;) {
    bool tries = lanes.rounds++ >= lanes.pause;
    fill_lanes(sweep, &lanes, tries ? SWEEP_LANES : 1);
    if (lanes.count == 0) return NULL;
    go_on(sweep, &lanes, !tries || !prepare(&lanes));
  }
}

static void cancel(Sweep* sweep) {
  atomic_store(&sweep->cancelled, true);
  pthread_mutex_lock(&sweep->lock);
  pthread_cond_broadcast(&sweep->room);
  pthread_mutex_unlock(&sweep->lock);
}

/// Wait until the next member is done, asking the caller now and then; false when he cancels.
static bool wait_for_next(Sweep* sweep) {
  const SltSweepOptions* o = sweep->options;
  pthread_mutex_lock(&sweep->lock);
  while (!slot_of(sweep, sweep->out)->ready) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SWEEP_POLL_NS;
    if (until.tv_nsec >= 1000000000L) {
      until.tv_nsec -= 1000000000L;
      until.tv_sec++;
    }
    pthread_cond_timedwait(&sweep->ready, &sweep->lock, &until);
    pthread_mutex_unlock(&sweep->lock);
    if (o->cancel && o->cancel(o->user)) return false;
    pthread_mutex_lock(&sweep->lock);
  }
  pthread_mutex_unlock(&sweep->lock);
  return !(o->cancel && o->cancel(o->user));
}

static SltStatus hand_out(Sweep* sweep, uint64_t member) {
  const SltSweepOptions* o = sweep->options;
  Slot* slot = slot_of(sweep, member);
  // that is no property of the member
  if (slot->status == SLT_ERR_NOMEM) return SLT_ERR_NOMEM;
  SltSweepRow row = {.member = member,
                     .parameters = slot->parameters,
                     .values = slot->values,
                     .status = slot->status,
                     .code = slot->code[0] ? slot->code : NULL,
                     .message = slot->message[0] ? slot->message : NULL};
  return o->on_row ? o->on_row(o->user, &row) : SLT_OK;
}

/// Members that are done, from the next one on.
static uint64_t count_ready(Sweep* sweep) {
  pthread_mutex_lock(&sweep->lock);
  uint64_t member = sweep->out;
  while (member < sweep->next && member < sweep->out + sweep->slot_count &&
         slot_of(sweep, member)->ready)
    member++;
  pthread_mutex_unlock(&sweep->lock);
  return member - sweep->out;
}

static SltStatus hand_out_all(Sweep* sweep) {
  while (sweep->out < sweep->end) {
    if (!wait_for_next(sweep)) return SLT_ERR_CANCELLED;
    uint64_t count = count_ready(sweep);
    for (uint64_t i = 0; i < count; i++)
      SLT_TRY(hand_out(sweep, sweep->out + i));
    pthread_mutex_lock(&sweep->lock);
    for (uint64_t i = 0; i < count; i++)
      slot_of(sweep, sweep->out++)->ready = false;
    pthread_cond_broadcast(&sweep->room);
    pthread_mutex_unlock(&sweep->lock);
  }
  return SLT_OK;
}

// ---- the sweep ----------------------------------------------------------------------------------

static SltStatus make_slots(Sweep* sweep, uint32_t jobs) {
  uint32_t parameters = sweep->design->count;
  size_t width = (size_t)parameters + sweep->value_count + 1;
  sweep->slot_count = (uint64_t)jobs * SWEEP_AHEAD;
  sweep->slots = calloc(sweep->slot_count, sizeof *sweep->slots);
  sweep->numbers = calloc(sweep->slot_count, width * sizeof *sweep->numbers);
  if (!sweep->slots || !sweep->numbers) return SLT_ERR_NOMEM;
  for (uint64_t i = 0; i < sweep->slot_count; i++) {
    sweep->slots[i].parameters = sweep->numbers + i * width;
    sweep->slots[i].values = sweep->slots[i].parameters + parameters;
  }
  return SLT_OK;
}

static SltStatus run_threads(Sweep* sweep, uint32_t jobs) {
  pthread_t* threads = calloc(jobs, sizeof *threads);
  if (!threads) return SLT_ERR_NOMEM;
  uint32_t started = 0;
  while (started < jobs && pthread_create(&threads[started], NULL, work, sweep) == 0)
    started++;
  SltStatus status = started > 0 ? hand_out_all(sweep) : SLT_ERR_NOMEM;
  if (status < 0) cancel(sweep);
  for (uint32_t i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  free(threads);
  return status;
}

static uint32_t job_count(const SltSweepOptions* options, uint64_t members) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t jobs = options->jobs ? options->jobs : cores > 0 ? (uint64_t)cores : 1;
  if (jobs > SWEEP_JOBS) jobs = SWEEP_JOBS;
  if (jobs > members) jobs = members;
  return jobs > 0 ? (uint32_t)jobs : 1;
}

static double end_time(const SltModel* model, double given) {
  if (!isnan(given)) return given;
  double end = slt_model_experiment(model).end;
  return isnan(end) ? 10.0 : end;
}

SltStatus slt_sweep_run(const SltModel* model, const SltDesign* design, const SltMeasures* measures,
                        const SltSweepOptions* options) {
  if (!model || !design || !options || options->cookie != SWEEP_COOKIE) return SLT_ERR_ARGUMENT;
  uint64_t members = slt_design_member_count(design);
  if (options->first >= members) return SLT_OK;
  uint64_t count = members - options->first;
  if (options->count && options->count < count) count = options->count;
  SltMeasures* none = NULL;
  static const char* const no_texts[] = {NULL};
  if (!measures) SLT_TRY(slt_measures_create(model, no_texts, 0, &none, NULL));
  Sweep sweep = {.model = model,
                 .design = design,
                 .measures = measures ? measures : none,
                 .options = options,
                 .t_end = end_time(model, options->t_end),
                 .value_count = slt_measures_count(measures) + options->own_count,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .ready = PTHREAD_COND_INITIALIZER,
                 .room = PTHREAD_COND_INITIALIZER,
                 .next = options->first,
                 .out = options->first,
                 .end = options->first + count};
  uint32_t jobs = job_count(options, count);
  SltStatus status = make_slots(&sweep, jobs);
  if (status >= 0) status = run_threads(&sweep, jobs);
  free(sweep.slots);
  free(sweep.numbers);
  slt_measures_free(none);
  return status;
}

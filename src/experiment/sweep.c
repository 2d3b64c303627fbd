// SPDX-License-Identifier: MIT
//
// Members on threads. Workers take the next number and put the result into its slot of a ring; the
// caller's thread hands the slots out in order. The ring bounds memory: no worker runs further
// ahead than it is long.
#define _POSIX_C_SOURCE 200809L
#include "experiment/design.h"

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
  double values[DESIGN_AXES];
  slt_design_member(design, member, values);
  SltSimOptions own = *options;
  for (uint32_t i = 0; i < design->count; i++) {
    bool seed = design->axes[i].parameter.kind == PARAMETER_SEED;
    if (seed && values[i] >= 0.0 && values[i] < 0x1p63) own.seed = (uint64_t)values[i];
  }
  SLT_TRY(slt_sim_create(model, &own, out));
  for (uint32_t i = 0; i < design->count; i++) {
    SltStatus status = parameter_set(&design->axes[i].parameter, *out, values[i]);
    if (status >= 0) continue;
    slt_sim_free(*out);
    *out = NULL;
    return status;
  }
  return SLT_OK;
}

static void run_member(Sweep* sweep, uint64_t member, Slot* slot) {
  const SltSweepOptions* options = sweep->options;
  slot->status = SLT_OK;
  slot->message[0] = '\0';
  slot->code[0] = '\0';
  for (uint32_t i = 0; i < sweep->value_count; i++)
    slot->values[i] = (double)NAN;
  slt_design_member(sweep->design, member, slot->parameters);
  SltSim* sim = NULL;
  SltStatus status =
      slt_design_sim_create(sweep->model, sweep->design, member, &options->sim, &sim);
  if (status < 0) {
    note_failure(slot, NULL, status);
    return;
  }
  slt_sim_on_step(sim, is_cancelled, sweep);
  status = slt_measures_run(sweep->measures, sim, sweep->t_end, slot->values);
  slot->status = status;
  if (status < 0) note_failure(slot, sim, status);
  uint32_t measured = slt_measures_count(sweep->measures);
  if (options->own) options->own(options->user, sim, status, slot->values + measured);
  slt_sim_free(sim);
}

// ---- workers ------------------------------------------------------------------------------------

static Slot* slot_of(Sweep* sweep, uint64_t member) {
  return &sweep->slots[member % sweep->slot_count];
}

static void* work(void* user) {
  Sweep* sweep = user;
  pthread_mutex_lock(&sweep->lock);
  for (;;) {
    while (sweep->next < sweep->end && sweep->next >= sweep->out + sweep->slot_count &&
           !atomic_load(&sweep->cancelled))
      pthread_cond_wait(&sweep->room, &sweep->lock);
    if (sweep->next >= sweep->end || atomic_load(&sweep->cancelled)) break;
    uint64_t member = sweep->next++;
    pthread_mutex_unlock(&sweep->lock);
    run_member(sweep, member, slot_of(sweep, member));
    pthread_mutex_lock(&sweep->lock);
    slot_of(sweep, member)->ready = true;
    // waking the caller for every short member would cost more than the member
    bool much = sweep->next - sweep->out >= sweep->slot_count / 2;
    if (much || sweep->next == sweep->end) pthread_cond_signal(&sweep->ready);
  }
  pthread_mutex_unlock(&sweep->lock);
  return NULL;
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

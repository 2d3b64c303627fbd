// SPDX-License-Identifier: MIT
//
// The process of a block: it has the FMU, and nothing else of the run.
#define _GNU_SOURCE
#include "block_wire.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_LIMIT ((rlim_t)4 << 30)
#define NUDGES       24  // doublings of a rounding of the time by which an event may lie behind it
#define AT_ONCE      64.0  // roundings of the time: what is due within them is due now
#define AGAIN        10    // events that follow at once

typedef struct Process {
  Foreign f;
  const BlockLayout* l;
  Wire* wire;
  bool* positive;         // domains of the indicators
  double *x, *z, *rates;  // work space
  void* slots[BLOCK_SLOTS];
  bool ended;  // a completed step has ended the simulation
} Process;

static bool set_inputs(Process* p, const double* u, bool held) {
  return foreign_set(&p->f, p->l->inputs, u, p->l->input_count, held);
}

static bool get_outputs(Process* p, double* y) {
  return foreign_get(&p->f, p->l->outputs, p->l->output_count, y);
}

/// What has its usual value is left alone: some variables cannot be set at all.
static bool set_changed(Foreign* f, const FmuItem** items, const double* values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] == items[i]->start) continue;
    if (!foreign_set(f, &items[i], &values[i], 1, true)) return false;
  }
  return true;
}

static bool prepare(Foreign* f, void* user) {
  const Process* p = user;
  const BlockLayout* l = p->l;
  const double* values = p->wire->numbers + 2;
  const double* starts = values + l->parameter_count;
  const double* inputs = starts + l->start_count;
  return set_changed(f, l->parameters, values, l->parameter_count) &&
         set_changed(f, l->starts, starts, l->start_count) &&
         (inputs[0] == 0.0 || foreign_set(f, l->inputs, inputs + 1, l->input_count, true));
}

/// Indicators as they are after an event: the domains that count from here on.
static bool take_domains(Process* p, double* z) {
  if (!foreign_indicators(&p->f, z)) return false;
  for (uint32_t i = 0; i < p->l->indicator_count; i++)
    p->positive[i] = z[i] > 0.0;
  return true;
}

static bool crossed(Process* p, bool* answer) {
  *answer = false;
  if (!foreign_indicators(&p->f, p->z)) return false;
  for (uint32_t i = 0; i < p->l->indicator_count; i++)
    *answer |= (p->z[i] > 0.0) != p->positive[i];
  return true;
}

static bool initialize(Process* p) {
  double* n = p->wire->numbers;
  const BlockLayout* l = p->l;
  double start = n[0];
  bool changed = false;
  if (!foreign_initialize(&p->f, start, (double)INFINITY, n[1], prepare, p)) return false;
  if (l->exchange && (p->f.states != l->state_count || p->f.indicators != l->indicator_count)) {
    snprintf(p->f.problem, sizeof p->f.problem,
             "it has other numbers of states or indicators than its description");
    return false;
  }
  if (l->exchange || p->f.events) {
    ForeignStatus status = foreign_event(&p->f, &changed);
    if (status == FOREIGN_FAILED) return false;
    p->ended = status == FOREIGN_ENDED;  // told by an event at the start
  }
  n[l->state_count] = l->exchange && !p->ended ? p->f.next_event : start;
  if (l->exchange && !foreign_states(&p->f, n)) return false;
  if (!get_outputs(p, n + l->state_count + 1)) return false;
  return !l->exchange || take_domains(p, n + l->state_count + 1 + l->output_count);
}

/// Tell the FMU a point: time, inputs, states.
static bool go(Process* p, const double* point) {
  return foreign_set_point(&p->f, point[0], point + 1 + p->l->input_count) &&
         set_inputs(p, point + 1, false);
}

static bool has_nan(const double* values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (isnan(values[i])) return true;
  }
  return false;
}

static bool look(Process* p) {
  double* n = p->wire->numbers;
  const BlockLayout* l = p->l;
  if (!go(p, n) || !foreign_derivatives(&p->f, p->rates) || !foreign_indicators(&p->f, p->z) ||
      !get_outputs(p, n + l->state_count + l->indicator_count)) {
    return false;
  }
  // a point without indicators has no values at all: shorter steps are tried
  for (uint32_t i = 0; i < l->state_count && has_nan(p->z, l->indicator_count); i++)
    p->rates[i] = (double)NAN;
  memcpy(n, p->rates, l->state_count * sizeof *n);
  memcpy(n + l->state_count, p->z, l->indicator_count * sizeof *n);
  return true;
}

/// The FMU is not told why there is an event; it looks at its relations itself. A crossing that was
/// located up to rounding may not have happened yet where it looks: go on along the motion until it
/// has.
static bool go_behind(Process* p, const double* point, bool due) {
  const double* x = point + 1 + p->l->input_count;
  bool there = due;
  memcpy(p->x, x, p->l->state_count * sizeof *x);
  if (!go(p, point) || (!there && !crossed(p, &there))) return false;
  if (there) return true;
  if (!foreign_derivatives(&p->f, p->rates)) return false;
  double ahead = DBL_EPSILON * fmax(fabs(point[0]), DBL_MIN / DBL_EPSILON);
  for (int k = 0; k < NUDGES && !there; k++, ahead *= 2.0) {
    for (uint32_t i = 0; i < p->l->state_count; i++)
      p->x[i] = x[i] + ahead * p->rates[i];
    if (!foreign_set_point(&p->f, point[0] + ahead, p->x) || !crossed(p, &there)) return false;
  }
  if (there) return true;
  memcpy(p->x, x, p->l->state_count * sizeof *x);
  return go(p, point);
}

/// An indicator that an event has left at zero is in the domain z <= 0; where the motion takes it
/// out of there at once, that is an event of its own, at the same time. The states are then those a
/// few roundings later.
static bool leaves_at_once(Process* p, double t, bool* answer) {
  size_t size = p->l->state_count * sizeof *p->x;
  double ahead = AT_ONCE * DBL_EPSILON * fabs(t);
  *answer = false;
  if (!foreign_derivatives(&p->f, p->rates)) return false;
  for (uint32_t i = 0; i < p->l->state_count; i++)
    p->rates[i] = p->x[i] + ahead * p->rates[i];
  if (!foreign_set_point(&p->f, t + ahead, p->rates) || !crossed(p, answer)) return false;
  if (*answer) memcpy(p->x, p->rates, size);
  return *answer || foreign_set_point(&p->f, t, p->x);
}

/// Whether a time event is due now.
static bool is_due(const Process* p, double t) {
  return p->f.next_event <= t + AT_ONCE * fmax(DBL_EPSILON * fabs(t), DBL_MIN);
}

/// The answer to an event: states are in place already.
static void put_event(const Process* p, double next, bool ended) {
  double* n = p->wire->numbers + p->l->state_count;
  n[0] = next;
  n[1] = ended;
  for (uint32_t i = 0; i < p->l->indicator_count; i++)
    n[2 + i] = p->positive[i] ? 1.0 : -1.0;
}

/// A step of the integrator is over: whether the FMU wants an event there, or has ended.
static bool done(Process* p, bool* wanted) {
  ForeignStatus status = foreign_step_done(&p->f, wanted);
  p->ended = status == FOREIGN_ENDED;
  return status != FOREIGN_FAILED;
}

/// Events of the FMU at one time, until none is left; `any`: they have changed states.
static ForeignStatus settle_events(Process* p, double t, bool* any) {
  const size_t size = p->l->state_count * sizeof *p->x;
  bool changed = false;
  ForeignStatus status = foreign_event(&p->f, &changed);
  for (int k = 0; k < AGAIN && status == FOREIGN_OK; k++) {
    bool more = false;
    // FMUs say that states have changed also where only their motion has
    if (changed && !foreign_states(&p->f, p->rates)) return FOREIGN_FAILED;
    changed = changed && memcmp(p->x, p->rates, size) != 0;
    if (changed) memcpy(p->x, p->rates, size);
    *any |= changed;
    if (!take_domains(p, p->z) || !leaves_at_once(p, t, &more)) return FOREIGN_FAILED;
    if (!more && !is_due(p, t)) break;
    if (!foreign_enter_event(&p->f)) return FOREIGN_FAILED;
    status = foreign_event(&p->f, &changed);
  }
  return status;
}

static bool handle_event(Process* p) {
  double* n = p->wire->numbers;
  const BlockLayout* l = p->l;
  bool wanted = n[1 + l->input_count + l->state_count] != 0.0;
  if (!p->ended && !go_behind(p, n, wanted || n[0] >= p->f.next_event)) return false;
  // a step that ends in an event is a step; one that wants an event was told before
  if (!wanted && !done(p, &wanted)) return false;
  if (p->ended) {  // nothing else may be asked of it
    memmove(n, n + 1 + l->input_count, l->state_count * sizeof *n);
    put_event(p, (double)INFINITY, true);
    return true;
  }
  if (!foreign_enter_event(&p->f) || !set_inputs(p, n + 1, true)) return false;
  double t = n[0];
  bool any = false;
  ForeignStatus status = settle_events(p, t, &any);
  if (status == FOREIGN_FAILED) return false;
  if (status == FOREIGN_OK && is_due(p, t)) {
    snprintf(
        p->f.problem, sizeof p->f.problem,
        "its time events follow each other without time going on: the next one is at t = %.17g",
        p->f.next_event);
    return false;
  }
  // states that the FMU has not changed are those of the run, not the ones a few roundings later
  memmove(n, any ? p->x : n + 1 + l->input_count, l->state_count * sizeof *n);
  put_event(p, p->f.next_event, status == FOREIGN_ENDED);
  return true;
}

static bool step(Process* p) {
  double* n = p->wire->numbers;
  double reached = n[0];
  bool event = false;
  ForeignStatus status = foreign_step(&p->f, n[0], n[1], &reached, &event);
  if (status == FOREIGN_FAILED) return false;
  n[0] = reached;
  n[1] = event;
  n[2] = status == FOREIGN_ENDED;
  return true;
}

static bool arrive(Process* p) {
  double* n = p->wire->numbers;
  bool ended = false;
  bool changed = false;
  if (p->ended) n[0] = BLOCK_OVER;
  if (n[0] == BLOCK_OVER) return get_outputs(p, n + 1);  // nothing else may be asked of it
  // values of discrete inputs may be set in event mode alone, where there is one
  bool event = p->f.events;
  if (event && !foreign_enter_event(&p->f)) return false;
  if (!set_inputs(p, n + 1, true)) return false;
  if (event) {
    ForeignStatus status = foreign_event(&p->f, &changed);
    if (status == FOREIGN_FAILED) return false;
    ended = status == FOREIGN_ENDED;
  }
  n[0] = ended;
  return get_outputs(p, n + 1);
}

static bool direction(Process* p) {
  double* n = p->wire->numbers;
  const BlockLayout* l = p->l;
  uint32_t which = (uint32_t)n[1 + l->input_count + l->state_count];
  if (!go(p, n)) return false;
  const FmuItem* by =
      which <= l->input_count ? l->inputs[which - 1] : l->states[which - 1 - l->input_count];
  return foreign_direction(&p->f, by, l->outputs, l->output_count, n);
}

static bool answer(Process* p) {
  uint32_t slot = (uint32_t)p->wire->numbers[0];
  bool wanted = false;
  bool good = false;
  switch (p->wire->op) {
  case BLOCK_INIT: return initialize(p);
  case BLOCK_POINT: return look(p);
  case BLOCK_DIRECTION: return direction(p);
  case BLOCK_EVENT: return handle_event(p);
  case BLOCK_DONE:
    good = done(p, &wanted);
    p->wire->numbers[0] = wanted || p->ended;
    return good;
  case BLOCK_STEP: return step(p);
  case BLOCK_ARRIVE: return arrive(p);
  case BLOCK_KEEP:
    if (p->slots[slot]) foreign_drop(&p->f, &p->slots[slot]);
    return foreign_keep(&p->f, &p->slots[slot]);
  case BLOCK_BACK: p->ended = false; return foreign_put_back(&p->f, p->slots[slot]);
  case BLOCK_QUIT: break;
  }
  return false;
}

static void set_limits(void) {
  struct rlimit memory = {MEMORY_LIMIT, MEMORY_LIMIT};
  struct rlimit none = {0, 0};
#if !defined(__SANITIZE_ADDRESS__)
  (void)setrlimit(RLIMIT_AS, &memory);
#else
  (void)memory;
#endif
  (void)setrlimit(RLIMIT_CORE, &none);
  // an interrupt is for the program, which ends this process in its own time
  (void)signal(SIGINT, SIG_IGN);
}

/// Ends the process with its owner, whatever the FMU is doing. (The kernel's own notice of a
/// parent's death tells of the thread that has made the process, which may end long before.)
static void* watch_owner(void* owner) {
  struct timespec moment = {.tv_nsec = 200000000};
  while (getppid() == *(const pid_t*)owner)
    (void)nanosleep(&moment, NULL);
  kill(-getpid(), SIGKILL);  // with what it has started
  _exit(1);
}

static bool receive(int from) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(from, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

void block_process(const FmuDescription* d, const char* folder, const BlockLayout* layout,
                   Wire* wire, pid_t owner, int from, int to) {
  pthread_t watcher = 0;
  Process p = {.l = layout, .wire = wire};
  size_t n = layout->state_count;
  size_t m = layout->indicator_count;
  set_limits();
  // what it prints is not ours
  if (!freopen("/dev/null", "w", stdout)) _exit(1);
  p.positive = calloc(m + 1, sizeof *p.positive);
  p.x = calloc(2 * n + m + 1, sizeof *p.x);
  if (!p.positive || !p.x) _exit(1);
  p.rates = p.x + n;
  p.z = p.rates + n;
  if (pthread_create(&watcher, NULL, watch_owner, &owner) != 0) _exit(1);
  bool open = foreign_open(&p.f, d, folder, layout->exchange);
  p.f.returns = layout->exchange ? d->me_states : d->cs_states;
  while (receive(from)) {
    if (wire->op == BLOCK_QUIT) {
      if (open) foreign_close(&p.f);
      _exit(0);
    }
    uint64_t ticket = wire->ticket;
    p.f.problem[0] = open ? '\0' : p.f.problem[0];
    wire->good = open && answer(&p);
    if (!wire->good) snprintf(wire->problem, sizeof wire->problem, "%s", p.f.problem);
    if (write(to, &ticket, sizeof ticket) != (ssize_t)sizeof ticket) _exit(1);
  }
  _exit(0);
}

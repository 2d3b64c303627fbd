// SPDX-License-Identifier: MIT
//
// A block of a run: what its process answers, remembered by what it was asked with.
//
// An FMU has a memory that events change. In its place stands the number n of events so far: all
// answers are functions of their arguments and n. Programs may ask for an earlier n (an event that
// was only tried, a run that is put back); then the state of the FMU before that event is put back
// where the FMU can do so.
#define _GNU_SOURCE
#include "block_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 2000                          // for the end of a process that is told to quit
#define TICKET      UINT64_C(0x9e3779b97f4a7c15)  // odd and of all bytes: what nobody writes by chance
#define NEVER       1e300                         // a time event that does not come
#define HERE_MAX    1000                          // events at one communication point
#define EPOCHS      8u                            // events whose results are remembered

/// What is known of a column of derivatives.
enum { RATES_KNOWN = 1, INDICATORS_KNOWN = 2 };  // outputs with the rates

/// What an event has made: the state of things with number n.
typedef struct Epoch {
  bool known;
  double n;
  double t;         // co-simulation: communication point
  double lead;      // ... up to which the FMU has gone ahead
  bool lead_event;  // ... and there is an event there
  bool lead_ended;  // ... or it has ended the simulation there
  bool ended;
  double next;      // time event
  double* point;    // arguments of the event that led here
  double* states;   // after it
  bool* positive;   // domains of the indicators
  double* outputs;  // co-simulation
} Epoch;

struct Block {
  const FmuFile* file;
  const BlockLayout* l;
  double t_start, rtol, seconds;
  pid_t pid;
  pid_t owner;  // who made that process: the child of a fork has no part in it
  int to, from;
  Wire* wire;
  size_t wire_size;
  bool begun, failed, keeps;
  double present;                                          // n that the FMU itself is at
  bool (*again)(struct Block* block, const double* args);  // carries an event out
  double* arguments;  // of the present point: time, n, parameters, inputs, states
  uint32_t argument_count;
  bool has_point;
  double *rates, *z, *y;
  double* columns;  // derivatives of rates, indicators and outputs by each argument; NULL: none yet
  uint8_t* known;   // ... which of them are those of the present point
  uint64_t slope_points;  // points that the FMU was asked for derivatives at
  bool slopes_here;       // the present one is among them
  bool wrong_slopes;      // the FMU's own derivatives are none of its values
  double* sizes;          // largest magnitudes of arguments
  double* parameters;     // the FMU was initialised with; start values behind them
  double* told;           // inputs that it was initialised with
  Epoch epochs[EPOCHS];
  double* memory;
  bool* truths;
  char problem[1200];
};

// ---- the process --------------------------------------------------------------------------------

static bool fail(Block* b, const char* text) {
  if (!b->failed) snprintf(b->problem, sizeof b->problem, "%s", text);
  b->failed = true;
  return false;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_ours(const Block* b) {
  return b->pid > 0 && b->owner == getpid();
}

static void end_process(Block* b, int* status) {
  if (!is_ours(b)) return;
  kill(-b->pid, SIGKILL);  // and what it has left behind
  kill(b->pid, SIGKILL);
  while (waitpid(b->pid, status, 0) < 0 && errno == EINTR) {
  }
  b->pid = 0;
}

/// Whether the process has ended or stands still (`stands`); it is still to be waited for.
static bool is_over(const Block* b, bool* stands) {
  siginfo_t info = {0};
  bool gone = waitid(P_PID, (id_t)b->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0;
  *stands = !gone && info.si_pid == b->pid && info.si_code == CLD_STOPPED;
  return gone || info.si_pid == b->pid;
}

/// Nobody answers any more: wait a little for the end of the process, then end it.
static bool lost(Block* b) {
  char text[200];
  int status = 0;
  struct timespec moment = {.tv_nsec = 10000000};
  bool stands = false;
  bool silent = !is_over(b, &stands);
  for (int i = 0; i < PATIENCE_MS / 10 && silent; i++) {
    (void)nanosleep(&moment, NULL);
    silent = !is_over(b, &stands);
  }
  end_process(b, &status);
  if (stands) {
    snprintf(text, sizeof text, "it has stopped its process");
  } else if (silent) {
    snprintf(text, sizeof text, "it has closed what it was to answer through");
  } else if (WIFSIGNALED(status)) {
    snprintf(text, sizeof text, "it crashed: %s", strsignal(WTERMSIG(status)));
  } else {
    snprintf(text, sizeof text, "it ended its process with status %d", WEXITSTATUS(status));
  }
  return fail(b, text);
}

/// What has come back, if it is the ticket; otherwise why not.
static bool read_answer(Block* b, uint64_t ticket, bool* answered) {
  uint64_t answer = 0;
  ssize_t got = read(b->from, &answer, sizeof answer);
  *answered = got == (ssize_t)sizeof answer && answer == ticket;
  if (*answered || (got < 0 && errno == EINTR)) return true;
  if (got == 0) return lost(b);
  return fail(b,
              got > 0 ? "it has written into what it was to answer through" : "it does not answer");
}

/// Wait for the ticket to come back, until a moment of now().
static bool await(Block* b, uint64_t ticket, double deadline) {
  bool stands = false;
  for (bool answered = false; !answered;) {
    struct pollfd wait = {.fd = b->from, .events = POLLIN};
    double left = deadline - now();
    int ready = left > 0.0 ? poll(&wait, 1, left < 1.0 ? (int)(left * 1000.0) + 1 : 1000) : 0;
    if (ready > 0 && !read_answer(b, ticket, &answered)) return false;
    if (ready == 0 && is_over(b, &stands)) return lost(b);
    if (left <= 0.0) {
      int status = 0;
      char text[100];
      end_process(b, &status);
      snprintf(text, sizeof text, "a call did not end within %g s", b->seconds);
      return fail(b, text);
    }
  }
  return true;
}

/// One question; numbers are in the wire before and after.
static bool ask(Block* b, BlockOp op) {
  char byte = 0;
  double deadline = now() + b->seconds;
  if (b->failed) return false;
  if (!is_ours(b)) {
    return fail(b, "its process belongs to the one that this one was forked from: a new run has "
                   "one of its own");
  }
  // to begin may take long: models are solved for their initial values then
  if (op == BLOCK_INIT) deadline += 9.0 * b->seconds;
  b->wire->op = op;
  uint64_t ticket = b->wire->ticket += TICKET;
  if (write(b->to, &byte, 1) != 1) return lost(b);
  if (!await(b, ticket, deadline)) return false;
  if (b->wire->good) return true;
  b->wire->problem[sizeof b->wire->problem - 1] = '\0';
  return fail(b, b->wire->problem[0] ? b->wire->problem : "a call failed");
}

static bool begin_process(Block* b) {
  int there[2];
  int back[2];
  if (pipe2(there, O_CLOEXEC) != 0) return fail(b, "no files for a process");
  if (pipe2(back, O_CLOEXEC) != 0) {
    close(there[0]);
    close(there[1]);
    return fail(b, "no files for a process");
  }
  fflush(NULL);
  b->owner = getpid();
  b->pid = fork();
  if (b->pid == 0) {
    (void)setpgid(0, 0);  // a group, which ends with it
    close(there[1]);
    close(back[0]);
    block_process(&b->file->d, b->file->folder, b->l, b->wire, b->owner, there[0], back[1]);
  }
  if (b->pid > 0) (void)setpgid(b->pid, b->pid);
  close(there[0]);
  close(back[1]);
  b->to = there[1];
  b->from = back[0];
  return b->pid > 0 ? true : fail(b, "no process can be made");
}

/// Let the process end by itself, for a while.
static void quit_process(Block* b) {
  int status = 0;
  if (is_ours(b)) {
    char byte = 0;
    struct pollfd end = {.fd = b->from, .events = POLLIN};
    b->wire->op = BLOCK_QUIT;
    if (!b->failed && write(b->to, &byte, 1) == 1) (void)poll(&end, 1, PATIENCE_MS);
  }
  end_process(b, &status);
  if (b->to >= 0) close(b->to);
  if (b->from >= 0) close(b->from);
  b->to = b->from = -1;
}

// ---- life ---------------------------------------------------------------------------------------

static bool handle_event(Block* b, const double* args);
static bool communicate(Block* b, const double* args);

static bool take_memory(Block* b) {
  const BlockLayout* l = b->l;
  size_t n = l->state_count;
  size_t m = l->indicator_count;
  size_t o = l->output_count;
  size_t args = 3 + (size_t)l->parameter_count + l->input_count + n;
  b->argument_count = (uint32_t)args;
  b->wire_size = sizeof(Wire) + block_numbers(l) * sizeof(double);
  b->memory = calloc(2 * args + l->parameter_count + l->start_count + l->input_count + n + m + o +
                         EPOCHS * (args + n + o) + 1,
                     sizeof(double));
  b->truths = calloc(EPOCHS * m + 1, sizeof(bool));
  void* shared =
      mmap(NULL, b->wire_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  b->wire = shared == MAP_FAILED ? NULL : shared;
  if (!b->memory || !b->truths || !b->wire) return fail(b, "out of memory");
  double* at = b->memory;
  b->arguments = at;
  b->sizes = at += args;
  b->parameters = at += args;
  b->told = at += l->parameter_count + l->start_count;
  b->rates = at += l->input_count;
  b->z = at += n;
  b->y = at += m;
  at += o;
  for (uint32_t i = 0; i < EPOCHS; i++) {
    Epoch* epoch = &b->epochs[i];
    epoch->point = at;
    epoch->states = at += args;
    epoch->outputs = at += n;
    at += o;
    epoch->positive = b->truths + i * m;
  }
  return true;
}

Block* block_create(const FmuFile* file, double t_start, double rtol, double seconds, char* problem,
                    size_t size) {
  Block* b = calloc(1, sizeof *b);
  if (!b) {
    snprintf(problem, size, "out of memory");
    return NULL;
  }
  b->file = file;
  b->l = &file->layout;
  b->t_start = t_start;
  b->rtol = rtol;
  b->seconds = seconds;
  b->to = b->from = -1;
  b->again = b->l->exchange ? handle_event : communicate;
  b->keeps = b->l->exchange ? file->d.me_states : file->d.cs_states;
  if (take_memory(b) && begin_process(b)) return b;
  snprintf(problem, size, "%s", b->problem);
  block_close(b);
  return NULL;
}

void block_close(void* block) {
  Block* b = block;
  quit_process(b);
  if (b->wire) munmap(b->wire, b->wire_size);
  free(b->memory);
  free(b->truths);
  free(b->columns);
  free(b->known);
  free(b);
}

const char* block_problem(void* block) {
  const Block* b = block;
  return b->failed ? b->problem : NULL;
}

// ---- events and what they leave -----------------------------------------------------------------

static Epoch* epoch_of(Block* b, double n) {
  Epoch* epoch = &b->epochs[(uint64_t)n % EPOCHS];
  return epoch->known && epoch->n == n ? epoch : NULL;
}

static Epoch* new_epoch(Block* b, double n) {
  Epoch* epoch = &b->epochs[(uint64_t)n % EPOCHS];
  epoch->known = true;
  epoch->n = n;
  epoch->ended = epoch->lead_ended = false;
  return epoch;
}

static void take_domains(const Block* b, Epoch* epoch, const double* z) {
  for (uint32_t i = 0; i < b->l->indicator_count; i++)
    epoch->positive[i] = z[i] > 0.0;
}

/// The state of the FMU before the event that comes next, so that one can come back to it.
static bool keep(Block* b) {
  if (!b->keeps) return true;
  b->wire->numbers[0] = (double)((uint64_t)b->present % BLOCK_SLOTS);
  return ask(b, BLOCK_KEEP);
}

/// Bring the FMU to where it was with number n: back to a state that was kept, or forwards through
/// events that it has had already.
static bool go_back(Block* b, double n) {
  while (n > b->present && epoch_of(b, b->present + 1.0)) {
    size_t size = b->argument_count * sizeof(double);
    double* args = malloc(size);
    if (!args) return fail(b, "out of memory");
    memcpy(args, epoch_of(b, b->present + 1.0)->point, size);
    bool good = args[1] == b->present && b->again(b, args);
    free(args);
    if (!good) return fail(b, "an event of it cannot be made again");
  }
  if (n == b->present) return true;
  bool there = b->keeps && n < b->present && b->present - n < BLOCK_SLOTS && epoch_of(b, n);
  if (!there) {
    return fail(b, b->keeps ? "the run goes back further than states of it were kept"
                            : "the run goes back, and the FMU cannot (no canGetAndSetFMUState)");
  }
  b->wire->numbers[0] = (double)((uint64_t)n % BLOCK_SLOTS);
  if (!ask(b, BLOCK_BACK)) return false;
  b->present = n;
  b->has_point = false;
  return true;
}

/// From the instance to the first point.
static bool initialize(Block* b, bool inputs) {
  const BlockLayout* l = b->l;
  double* n = b->wire->numbers;
  size_t given = (size_t)l->parameter_count + l->start_count;
  n[0] = b->t_start;
  n[1] = b->rtol;
  memcpy(n + 2, b->parameters, given * sizeof *n);
  n[2 + given] = inputs;
  memcpy(n + 3 + given, b->told, l->input_count * sizeof *n);
  return ask(b, BLOCK_INIT);
}

/// What the FMU has answered to its initialisation.
static void take_start(Block* b, Epoch* epoch) {
  const BlockLayout* l = b->l;
  const double* n = b->wire->numbers;
  memcpy(epoch->states, n, l->state_count * sizeof *n);
  epoch->next = fmin(n[l->state_count], NEVER);
  take_domains(b, epoch, n + l->state_count + 1 + l->output_count);
}

/// Begin with the parameters and start values of the model, inputs being what they usually are.
static bool begin(Block* b, const double* given) {
  const BlockLayout* l = b->l;
  if (b->begun || b->failed) return !b->failed;
  b->begun = true;
  memcpy(b->parameters, given, ((size_t)l->parameter_count + l->start_count) * sizeof *given);
  for (uint32_t i = 0; i < l->input_count; i++)
    b->told[i] = isnan(l->inputs[i]->start) ? 0.0 : l->inputs[i]->start;
  if (!initialize(b, false)) return false;
  Epoch* epoch = new_epoch(b, 0.0);
  take_start(b, epoch);
  epoch->t = b->t_start;
  epoch->lead = b->t_start;
  memcpy(epoch->outputs, b->wire->numbers + l->state_count + 1, l->output_count * sizeof(double));
  return true;
}

/// Begin anew with inputs of the model, where they are others: initial values may follow from them.
/// A process of its own for that: not every FMU can be reset.
static bool begin_with(Block* b, const double* inputs) {
  size_t size = b->l->input_count * sizeof *inputs;
  Epoch* epoch = epoch_of(b, 0.0);
  if (b->failed || !epoch) return false;
  if (b->present > 0.0 || memcmp(b->told, inputs, size) == 0) return true;
  memcpy(b->told, inputs, size);
  quit_process(b);
  b->has_point = false;
  if (!begin_process(b) || !initialize(b, true)) return false;
  take_start(b, epoch);
  return true;
}

// ---- co-simulation ------------------------------------------------------------------------------

/// Let the FMU go ahead to the next point of the grid, or to its own event before it. `here`: that
/// event is at the very time.
static bool lead(Block* b, Epoch* epoch, double length, bool* here) {
  double* n = b->wire->numbers;
  double count = floor((epoch->t - b->t_start) / length + 0.5);
  double target = b->t_start + (count + 1.0) * length;
  // a communication point between those of the grid: the next one of it
  if (target - epoch->t > length * (1.0 + 1e-9)) target = b->t_start + count * length;
  n[0] = epoch->t;
  n[1] = target - epoch->t;
  if (!ask(b, BLOCK_STEP)) return false;
  bool stands = !(n[0] > epoch->t) && n[2] == 0.0;
  *here = stands && n[1] != 0.0;
  if (stands && !*here) return fail(b, "a step makes no progress");
  bool early = n[0] < target - 1e-9 * length;
  epoch->lead = early ? n[0] : target;
  epoch->lead_event = n[1] != 0.0;
  epoch->lead_ended = n[2] != 0.0;
  epoch->next = epoch->lead;
  return true;
}

/// Hand inputs over and take outputs, with the event that the FMU has where it has come to.
static bool arrive(Block* b, Epoch* epoch, const double* inputs, double event) {
  double* n = b->wire->numbers;
  n[0] = event;
  memcpy(n + 1, inputs, b->l->input_count * sizeof *n);
  if (!ask(b, BLOCK_ARRIVE)) return false;
  memcpy(epoch->outputs, n + 1, b->l->output_count * sizeof *n);
  return true;
}

/// The end of the simulation, at the time of the epoch.
static bool end_there(Epoch* epoch) {
  epoch->ended = true;
  epoch->next = epoch->t;
  return true;
}

/// Go ahead from a communication point, with the FMU's own events there.
static bool leave_point(Block* b, Epoch* epoch, const double* inputs, double length) {
  bool here = true;
  for (int k = 0; k < HERE_MAX; k++) {
    if (!keep(b) || !lead(b, epoch, length, &here)) return false;
    if (!here) return true;
    if (!arrive(b, epoch, inputs, 1.0)) return false;
    if (b->wire->numbers[0] != 0.0) return end_there(epoch);
  }
  return fail(b, "its events follow each other without time going on");
}

/// The state at the last communication point once more, and a step to `t` before its lead.
static bool step_again(Block* b, Epoch* from, double t) {
  double* n = b->wire->numbers;
  n[0] = (double)((uint64_t)from->n % BLOCK_SLOTS);
  if (!ask(b, BLOCK_BACK)) return false;
  if (!(t > from->t)) return true;
  n[0] = from->t;
  n[1] = t - from->t;
  from->lead_event = false;
  from->lead_ended = false;
  if (!ask(b, BLOCK_STEP)) return false;
  return n[0] >= t - 1e-9 * (t - from->t) ? true : fail(b, "a step that was made again is shorter");
}

/// A communication point: inputs are handed over, outputs taken, and the FMU goes ahead.
static bool communicate(Block* b, const double* args) {
  const BlockLayout* l = b->l;
  double* n = b->wire->numbers;
  double t = args[0];
  const double* inputs = args + 2 + l->parameter_count;
  double length = args[b->argument_count - 1];
  Epoch* from = epoch_of(b, args[1]);
  if (!from) return fail(b, "the run goes back further than states of it were kept");
  if (!(length > 0.0)) return fail(b, "the distance of its communication points is not positive");
  if (!go_back(b, args[1])) return false;
  bool before = t < from->lead;
  if (before && b->keeps && !step_again(b, from, t)) return false;
  bool stays = before && !b->keeps;
  double event = from->lead_ended ? BLOCK_OVER : from->lead_event;
  double lead_to = from->lead;
  Epoch* epoch = new_epoch(b, args[1] + 1.0);
  if (!arrive(b, epoch, inputs, event)) return false;
  memcpy(epoch->point, args, b->argument_count * sizeof *args);
  epoch->t = t;
  b->present = epoch->n;
  if (stays) {
    // it cannot go back: what it is told counts from where it is
    epoch->t = lead_to;
    epoch->lead = epoch->next = lead_to;
    epoch->lead_ended = n[0] == BLOCK_OVER;
    return true;
  }
  return n[0] != 0.0 ? end_there(epoch) : leave_point(b, epoch, inputs, length);
}

// ---- model exchange -----------------------------------------------------------------------------

static void put_point(Block* b, const double* args) {
  const BlockLayout* l = b->l;
  double* n = b->wire->numbers;
  n[0] = args[0];
  memcpy(n + 1, args + 2 + l->parameter_count, (l->input_count + l->state_count) * sizeof *n);
}

static bool look(Block* b, const double* args) {
  const BlockLayout* l = b->l;
  const double* n = b->wire->numbers;
  // the wish for an event is no part of the point
  size_t size = (b->argument_count - 1) * sizeof *args;
  if (b->has_point && memcmp(b->arguments, args, size) == 0) return true;
  if (!go_back(b, args[1])) return false;
  if (memcmp(b->parameters, args + 2, l->parameter_count * sizeof *args) != 0) {
    return fail(b, "its parameters cannot change during a run");
  }
  put_point(b, args);
  if (!ask(b, BLOCK_POINT)) return false;
  memcpy(b->arguments, args, size);
  memcpy(b->rates, n, (l->state_count + l->indicator_count + l->output_count) * sizeof *n);
  b->has_point = true;
  b->slopes_here = false;
  if (b->known) memset(b->known, 0, b->argument_count);
  return true;
}

static bool handle_event(Block* b, const double* args) {
  const BlockLayout* l = b->l;
  double* n = b->wire->numbers;
  if (!go_back(b, args[1]) || !keep(b)) return false;
  put_point(b, args);
  n[1 + l->input_count + l->state_count] = args[b->argument_count - 1];
  if (!ask(b, BLOCK_EVENT)) return false;
  Epoch* epoch = new_epoch(b, args[1] + 1.0);
  memcpy(epoch->point, args, b->argument_count * sizeof *args);
  memcpy(epoch->states, n, l->state_count * sizeof *n);
  epoch->next = fmin(n[l->state_count], NEVER);
  epoch->ended = n[l->state_count + 1] != 0.0;
  take_domains(b, epoch, n + l->state_count + 2);
  b->present = epoch->n;
  b->has_point = false;
  return true;
}

/// What the arguments measure is told by points of the motion: what is tried on the way may be
/// anything.
static void take_sizes(Block* b, const double* args) {
  for (uint32_t i = 0; i < b->argument_count; i++)
    b->sizes[i] = fmax(b->sizes[i], fabs(args[i]));
}

bool block_step(void* block) {
  Block* b = block;
  if (!b->l->exchange || !b->has_point || b->failed) return false;
  take_sizes(b, b->arguments);
  if (b->file->d.no_completed_step) return false;
  return ask(b, BLOCK_DONE) && b->wire->numbers[0] != 0.0;
}

// ---- answers ------------------------------------------------------------------------------------

static bool same_event(const Block* b, const Epoch* epoch, const double* args) {
  return epoch && memcmp(epoch->point, args, b->argument_count * sizeof *args) == 0;
}

/// What the event at a point makes.
static double after_event(Block* b, const double* args, uint32_t kind, uint32_t which) {
  Epoch* epoch = epoch_of(b, args[1] + 1.0);
  if (!same_event(b, epoch, args)) {
    bool good = b->again(b, args);
    epoch = good ? epoch_of(b, args[1] + 1.0) : NULL;
  }
  if (!epoch) return (double)NAN;
  if (kind == ITEM_STATE) return epoch->states[which];
  return which == 0 ? epoch->n : which == 1 ? epoch->next : epoch->ended;
}

static double at_point(Block* b, const double* args, uint32_t kind, uint32_t which) {
  if (!look(b, args)) return (double)NAN;
  if (kind == ITEM_RATE) return b->rates[which];
  if (kind == ITEM_OUTPUT) return b->y[which];
  const Epoch* epoch = epoch_of(b, args[1]);
  if (!epoch) return (double)NAN;
  // zero is the domain of what is below: it ends the other one as a negative number does
  if (b->z[which] == 0.0) return epoch->positive[which] ? -DBL_MIN : DBL_MIN;
  return epoch->positive[which] ? b->z[which] : -b->z[which];
}

static double value(Block* b, const double* args, uint32_t count) {
  double item = args[count - 1];
  if (b->failed || !(item >= 0.0 && item < (double)ITEM_CLASSES * BLOCK_CLASS)) return (double)NAN;
  uint32_t kind = (uint32_t)item / BLOCK_CLASS;
  uint32_t which = (uint32_t)item % BLOCK_CLASS;
  if (kind == ITEM_TOLD) return begin(b, args) ? 0.0 : (double)NAN;
  if (!b->begun) return (double)NAN;
  const Epoch* epoch = NULL;
  if (kind == ITEM_START || kind == ITEM_FIRST) {
    // the number of events is in front, inputs behind it where they matter
    if (count > 2 && !begin_with(b, args + 1)) return (double)NAN;
    epoch = epoch_of(b, 0.0);
    if (!epoch) return (double)NAN;
    return kind == ITEM_START ? epoch->states[which] : epoch->next;
  }
  if (count == 2) {
    epoch = epoch_of(b, args[0]);
    return epoch ? epoch->outputs[which] : (double)NAN;
  }
  bool event = kind == ITEM_STATE || kind == ITEM_EVENT;
  return event ? after_event(b, args, kind, which) : at_point(b, args, kind, which);
}

static uint32_t value_count(const BlockLayout* l) {
  return l->state_count + l->indicator_count + l->output_count;
}

/// Whether the FMU itself has the derivatives of its rates and outputs by an argument.
static bool has_slopes(const Block* b, uint32_t by) {
  return b->file->d.directional && !b->wrong_slopes && by >= 2 + b->l->parameter_count;
}

static bool ask_column(Block* b, const double* args, uint32_t by, double* column) {
  const BlockLayout* l = b->l;
  double* n = b->wire->numbers;
  put_point(b, args);
  n[1 + l->input_count + l->state_count] = (double)(by - (2 + l->parameter_count) + 1);
  if (!ask(b, BLOCK_DIRECTION)) return false;
  memcpy(column, n, l->state_count * sizeof *n);
  memcpy(column + l->state_count + l->indicator_count, n + l->state_count,
         l->output_count * sizeof *n);
  b->slope_points += !b->slopes_here;
  b->slopes_here = true;
  return true;
}

/// Differences of rates, indicators and outputs by one argument, moved by about `reach` of its
/// size, are in the wire: how far it moved.
static bool differ(Block* b, const double* args, uint32_t by, double reach, double* step) {
  double old = args[by];
  double size = fmax(b->sizes[by], fabs(old));
  volatile double moved = old + reach * (size > 0.0 ? size : 1.0);
  double* there = malloc(b->argument_count * sizeof *there);
  if (!there) return fail(b, "out of memory");
  memcpy(there, args, b->argument_count * sizeof *there);
  there[by] = moved;
  put_point(b, there);
  free(there);
  *step = moved - old;
  if (!ask(b, BLOCK_POINT)) return false;
  for (uint32_t i = 0; i < value_count(b->l); i++)
    b->wire->numbers[i] -= b->rates[i];
  return true;
}

/// Hold what the FMU says of its rates against differences: wrong derivatives make steps short, not
/// results wrong, so nobody would see it. (Outputs may be of types that differences are lost in.)
static bool test_column(Block* b, const double* args, uint32_t by, const double* column) {
  uint32_t count = b->l->state_count;
  if (!(b->sizes[by] > 0.0 || args[by] != 0.0)) return true;
  double* far = malloc((count + 1u) * sizeof *far);
  if (!far) return fail(b, "out of memory");
  double step[2] = {0.0, 0.0};
  bool good = differ(b, args, by, FOREIGN_FAR * FOREIGN_NEAR, &step[1]);
  memcpy(far, b->wire->numbers, count * sizeof *far);
  good = good && differ(b, args, by, FOREIGN_NEAR, &step[0]);
  for (uint32_t i = 0; good && i < count; i++) {
    double change[2] = {b->wire->numbers[i], far[i]};
    b->wrong_slopes |= foreign_belied(column[i], b->rates[i], change, step);
  }
  free(far);
  return good;
}

/// The column by differences; `part`: its indicators alone.
static bool take_differences(Block* b, const double* args, uint32_t by, bool part, double* column) {
  double step = 0.0;
  if (!differ(b, args, by, FOREIGN_NEAR, &step)) return false;
  uint32_t first = part ? b->l->state_count : 0;
  uint32_t end = part ? first + b->l->indicator_count : value_count(b->l);
  for (uint32_t i = first; i < end; i++)
    column[i] = b->wire->numbers[i] / step;
  b->known[by] |= part ? INDICATORS_KNOWN : INDICATORS_KNOWN | RATES_KNOWN;
  return true;
}

/// Derivatives of the point by one argument: those of the FMU, compared with differences from time
/// to time, or differences where it has none, as for indicators. NULL: the block has failed.
static const double* column_by(Block* b, const double* args, uint32_t by, bool indicator) {
  size_t count = value_count(b->l);
  if (!b->known) {
    b->columns = calloc(b->argument_count * count + 1, sizeof *b->columns);
    b->known = calloc(b->argument_count, sizeof *b->known);
    if (!b->columns || !b->known) fail(b, "out of memory");
  }
  if (b->failed) return NULL;
  double* column = b->columns + by * count;
  if (b->known[by] & (indicator ? INDICATORS_KNOWN : RATES_KNOWN)) return column;
  if (!indicator && has_slopes(b, by)) {
    if (!ask_column(b, args, by, column)) return NULL;
    bool tests = (b->slope_points & (b->slope_points - 1)) == 0;
    if (tests && !test_column(b, args, by, column)) return NULL;
    b->known[by] |= RATES_KNOWN;
    if (has_slopes(b, by)) return column;
  }
  return take_differences(b, args, by, has_slopes(b, by), column) ? column : NULL;
}

/// A derivative of a value of the point by one of its arguments.
static double slope(Block* b, const double* given, uint32_t count) {
  uint32_t by = (uint32_t)given[count - 1];
  double item = given[count - 2];
  uint32_t kind = (uint32_t)item / BLOCK_CLASS;
  uint32_t which = (uint32_t)item % BLOCK_CLASS;
  const BlockLayout* l = b->l;
  bool moves = by == 0 || (by >= 2 + l->parameter_count && by + 1 < b->argument_count);
  bool point = kind == ITEM_OUTPUT || kind == ITEM_RATE || kind == ITEM_GUARD;
  if (!moves || !point || count < b->argument_count + 2) return 0.0;
  if (isnan(at_point(b, given, kind, which)) && b->failed) return (double)NAN;
  const double* column = column_by(b, given, by, kind == ITEM_GUARD);
  if (!column) return (double)NAN;
  if (kind == ITEM_RATE) return column[which];
  if (kind == ITEM_OUTPUT) return column[l->state_count + l->indicator_count + which];
  const Epoch* epoch = epoch_of(b, given[1]);
  double z = column[l->state_count + which];
  return !epoch ? (double)NAN : epoch->positive[which] ? z : -z;
}

double block_value(void* block, const double* args, uint32_t count, int order) {
  Block* b = block;
  if (count < 1 || (order > 0 && count < 2)) return (double)NAN;
  // what is tried on the way to a solution may be anything; the FMU is not asked with it
  for (uint32_t i = 0; i < count; i++) {
    if (!isfinite(args[i])) return (double)NAN;
  }
  return order == 0 ? value(b, args, count) : order == 1 ? slope(b, args, count) : 0.0;
}

// SPDX-License-Identifier: MIT
#define _XOPEN_SOURCE 700
#include "clock.h"
#include "run.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define TICK_MS     100   // at most ten updates a second
#define PATIENCE_MS 5000  // for a run to come to the end of a step
#define QUIET_START 0.3   // a bar for less would only flicker
#define LINES_AFTER 2.0   // without a terminal: silence for short runs, then a line now and then
#define LINES_EVERY 5.0
#define BAR_WIDTH   24

// Written by signal handlers, so they must be global. The step callback reads two flags and nothing
// else: asking the clock at every step would cost as much as the step.
static volatile sig_atomic_t ticked;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static volatile sig_atomic_t
    ended_by;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

static const Progress* volatile present;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static volatile sig_atomic_t
    end_tick;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// Leave from a signal handler: the run does not come to where it is asked, or somebody does not
/// want to wait for it.
static void leave(void) {
  static const char text[] = "saltus: ended at once; what was written before is whole\n";
  if (present && present->on_leave) present->on_leave(present->user);
  output_drop_fresh();
  ssize_t told = write(STDERR_FILENO, text, sizeof text - 1);
  (void)told;
  _exit(ended_by ? CLI_SIGNAL + (int)ended_by : CLI_RUN);
}

static void on_tick(int signal_number) {
  (void)signal_number;
  ticked = 1;
  bool late = present && present->limits.seconds > 0.0 &&
              wall_clock() - present->begun >= present->limits.seconds;
  if (!ended_by && !late) return;
  if (++end_tick >= PATIENCE_MS / TICK_MS) leave();
}

/// The first signal asks the run to end, a second one does not wait for it. Programs like `timeout`
/// send each of theirs twice at once, to a process and to its group: that is one.
static void on_end(int signal_number) {
  bool again = ended_by != 0 && end_tick > 0;
  ended_by = signal_number;
  if (again) leave();
}

static void print_events(const Progress* p) {
  if (!p->sim) return;
  unsigned long long events = slt_sim_statistics(p->sim).instants;
  fprintf(stderr, ", %llu event%s", events, events == 1 ? "" : "s");
}

/// How long what is counted will still take, in words.
static void print_remaining(const Progress* p, double t, double speed) {
  double seconds = speed > 0.0 ? (p->t_end - t) / speed : 0.0;
  if (seconds < 1.0) return;
  if (seconds < 120.0) {
    fprintf(stderr, ", %.0f s left", seconds);
  } else if (seconds < 7200.0) {
    fprintf(stderr, ", %.0f min left", seconds / 60.0);
  } else {
    fprintf(stderr, ", %.1f h left", seconds / 3600.0);
  }
}

static void print_count(const Progress* p, double t, double speed) {
  fprintf(stderr, "%.0f of %.0f %s, %.3g per second", t, p->t_end, p->what, speed);
  print_remaining(p, t, speed);
}

static void print_bar(Progress* p, double part, double t, double speed) {
  char t_text[32];
  char end_text[32];
  char speed_text[32];
  char bar[BAR_WIDTH + 1];
  int filled = (int)(part * BAR_WIDTH);
  for (int i = 0; i < BAR_WIDTH; i++)
    bar[i] = i < filled ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  snprintf(t_text, sizeof t_text, "%.4g", t);
  snprintf(speed_text, sizeof speed_text, "%.3g", speed);
  fprintf(stderr, "\r[%s] %3.0f %%  ", bar, floor(100.0 * part));
  if (p->what) {
    print_count(p, t, speed);
  } else {
    fprintf(stderr, "t = %s of %s, %s per second", t_text, cli_number_text(p->t_end, end_text),
            speed_text);
    print_remaining(p, t, speed);
  }
  print_events(p);
  fputs("\033[K", stderr);
  fflush(stderr);
  p->shown = true;
}

static void print_line(Progress* p, double part, double t, double speed) {
  fprintf(stderr, "%.0f %%, ", floor(100.0 * part));
  if (p->what) {
    print_count(p, t, speed);
  } else {
    fprintf(stderr, "t = %.6g, %.3g per second", t, speed);
    print_remaining(p, t, speed);
  }
  print_events(p);
  fputc('\n', stderr);
}

static void show(Progress* p, double t) {
  double elapsed = wall_clock() - p->begun;
  double span = p->t_end - p->t_start;
  double part = span > 0.0 ? fmin(fmax((t - p->t_start) / span, 0.0), 1.0) : 0.0;
  double speed = elapsed > 0.0 ? (t - p->t_start) / elapsed : 0.0;
  if (p->terminal) {
    if (elapsed >= QUIET_START) print_bar(p, part, t, speed);
  } else if (elapsed >= LINES_AFTER && elapsed - p->printed >= LINES_EVERY) {
    p->printed = elapsed;
    print_line(p, part, t, speed);
  }
}

/// Whether a limit was reached, and which.
static bool is_over(Progress* p) {
  const RunLimits* limits = &p->limits;
  if (p->sim && (limits->steps || limits->events)) {
    SltStatistics s = slt_sim_statistics(p->sim);
    if (limits->steps && s.steps >= limits->steps) p->limit = "--max-steps";
    if (limits->events && s.instants >= limits->events) p->limit = "--max-events";
  }
  if (limits->seconds > 0.0 && ticked && wall_clock() - p->begun >= limits->seconds) {
    p->limit = "--timeout";
  }
  return p->limit != NULL;
}

bool progress_poll(Progress* progress, double t) {
  if (ended_by || is_over(progress)) return true;
  if (!ticked) return false;
  ticked = 0;
  progress->ticks++;
  if (progress->on_tick) progress->on_tick(progress->user);
  if (!progress->quiet) show(progress, t);
  return false;
}

static bool on_step(void* user, double t) {
  return progress_poll(user, t);
}

static void set_handler(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, NULL);
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};

/// Signals that somebody has the program ignore stay ignored: `nohup`, a job in the background.
static void set_ends(void (*handler)(int)) {
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction now;
    if (sigaction(ends[i], NULL, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    set_handler(ends[i], handler, 0);
  }
}

void signals_tidy(void) {
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction now;
    bool known = sigaction(ends[i], NULL, &now) == 0;
    if (known && now.sa_handler == SIG_DFL) set_handler(ends[i], output_on_signal, 0);
  }
}

static void set_timer(long milliseconds) {
  struct timeval interval = {.tv_sec = 0, .tv_usec = (suseconds_t)(milliseconds * 1000)};
  struct itimerval timer = {.it_interval = interval, .it_value = interval};
  setitimer(ITIMER_REAL, &timer, NULL);
}

void progress_begin(Progress* progress) {
  progress->terminal = isatty(STDERR_FILENO);
  // rows that come out on the same terminal show the progress better than a bar between them
  if (progress->to_stdout && progress->terminal && isatty(STDOUT_FILENO)) progress->quiet = true;
  progress->begun = wall_clock();
  progress->printed = LINES_AFTER - LINES_EVERY;
  ended_by = 0;
  ticked = 0;
  end_tick = 0;
  present = progress;
  set_ends(on_end);
  set_handler(SIGALRM, on_tick, SA_RESTART);
  if (progress->sim) slt_sim_on_step(progress->sim, on_step, progress);
  if (progress->sim) slt_sim_on_round(progress->sim, on_step, progress);
  set_timer(TICK_MS);
}

void progress_hide(Progress* progress) {
  if (!progress->shown) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  progress->shown = false;
}

double progress_end(Progress* progress) {
  set_timer(0);
  present = NULL;
  // the handler of ticks stays: one that is on its way would end the program
  set_ends(output_on_signal);
  if (progress->sim) slt_sim_on_step(progress->sim, NULL, NULL);
  if (progress->sim) slt_sim_on_round(progress->sim, NULL, NULL);
  progress_hide(progress);
  return wall_clock() - progress->begun;
}

int progress_signal(void) {
  return (int)ended_by;
}

// SPDX-License-Identifier: MIT
//
// `saltus run M.fmu` and `saltus check M.fmu`. An FMU is foreign code: it is loaded in a child
// process with limits, which sends rows back; whatever becomes of the child is a message here.
#define _XOPEN_SOURCE 700
#include "cli.h"
#include "clock.h"

#include <string.h>

bool fmu_is_named(int argc, char** argv) {
  for (int i = 0; i < argc; i++) {
    if (argv[i][0] != '-' && path_ends_with(argv[i], ".fmu")) return true;
  }
  return false;
}

#if SALTUS_HAVE_FMI_IMPORT
#include "../fmi/block.h"
#include "../fmi/rules.h"
#include "../fmi/simulate.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_LIMIT ((rlim_t)4 << 30)
#define SECONDS      600.0  // that an FMU may take, unless --timeout says otherwise
#define ROWS         500.0
#define CELL_MAX     40                 // bytes of a number and what is around it
#define INPUT_MAX    ((size_t)1 << 30)  // bytes of signals
#define PATIENCE_MS  2000               // for the end of an FMU that has nothing more to tell

typedef enum FmuOption {
  FMU_UNTIL,
  FMU_FROM,
  FMU_EVERY,
  FMU_RTOL,
  FMU_SET,
  FMU_INPUT,
  FMU_OUT,
  FMU_OUTPUT,
  FMU_INTERFACE,
  FMU_TIMEOUT,
  FMU_QUIET,
  FMU_OPTION_COUNT
} FmuOption;

static const OptionSpec fmu_specs[FMU_OPTION_COUNT] = {
    [FMU_UNTIL] = {"--until", NULL, OPTION_VALUE},
    [FMU_FROM] = {"--from", NULL, OPTION_VALUE},
    [FMU_EVERY] = {"--every", NULL, OPTION_VALUE},
    [FMU_RTOL] = {"--rtol", NULL, OPTION_VALUE},
    [FMU_SET] = {"--set", NULL, OPTION_VALUE},
    [FMU_INPUT] = {"--input", NULL, OPTION_VALUE},
    [FMU_OUT] = {"--out", NULL, OPTION_VALUE},
    [FMU_OUTPUT] = {"--output", "-o", OPTION_VALUE},
    [FMU_INTERFACE] = {"--interface", NULL, OPTION_VALUE},
    [FMU_TIMEOUT] = {"--timeout", NULL, OPTION_VALUE},
    [FMU_QUIET] = {"--quiet", "-q", OPTION_FLAG},
};

/// One command from its arguments to its exit status.
typedef struct FmuJob {
  const char* path;
  const char* csv;
  const char* input_path;
  double until, from, every, rtol, seconds;
  int interface;  // 0 me, 1 cs, -1 open
  bool quiet;
  CliSettings settings;
  CliNames out;
  FmuDescription d;
  char folder[1100];
  FmuSetting* sets;
  SltTable* input_table;
  const double** input_columns;
  const FmuItem** input_items;
  FmuInputs inputs;
  const FmuItem** columns;
  uint32_t column_count, column_room;
} FmuJob;

static int parse(const char* command, int argc, char** argv, FmuJob* job) {
  static const char* const interfaces[] = {"me", "cs"};
  OptionParser parser = {.command = command,
                         .specs = fmu_specs,
                         .spec_count = FMU_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    bool good = true;
    switch (option) {
    case OPTION_BAD: return CLI_USAGE;
    case OPTION_WORD: good = cli_one_model(command, parser.value, &job->path); break;
    case FMU_UNTIL: good = option_time("--until", parser.value, &job->until); break;
    case FMU_FROM: good = option_time("--from", parser.value, &job->from); break;
    case FMU_EVERY: good = option_span("--every", parser.value, &job->every); break;
    case FMU_RTOL: good = option_positive("--rtol", parser.value, &job->rtol); break;
    case FMU_TIMEOUT: good = option_positive("--timeout", parser.value, &job->seconds); break;
    case FMU_SET: good = cli_settings_add(&job->settings, parser.value); break;
    case FMU_OUT: good = cli_names_parse("--out", parser.value, &job->out); break;
    case FMU_OUTPUT:
      job->csv = parser.value;
      good = csv_path_check(job->csv);
      break;
    case FMU_INPUT: job->input_path = parser.value; break;
    case FMU_INTERFACE:
      job->interface = option_choice("--interface", parser.value, interfaces, 2);
      good = job->interface >= 0;
      break;
    case FMU_QUIET: job->quiet = true; break;
    default: break;
    }
    if (!good) return CLI_USAGE;
  }
  return CLI_DONE;
}

/// A variable, or the first element of an array; NULL for none.
static const FmuItem* look_up(const FmuJob* job, const char* name) {
  size_t length = strlen(name);
  const FmuItem* first = NULL;
  for (uint32_t i = 0; i < job->d.count; i++) {
    const FmuItem* item = &job->d.items[i];
    if (strcmp(item->name, name) == 0) return item;
    bool starts = item->elements && item->element == 0 && strncmp(item->name, name, length) == 0;
    if (starts && item->name[length] == '[' && !first) first = item;
  }
  if (!first) cli_error("the FMU has no variable `%s`", name);
  return first;
}

/// One number of the FMU.
static const FmuItem* find_item(const FmuJob* job, const char* name) {
  const FmuItem* item = look_up(job, name);
  if (!item || strcmp(item->name, name) == 0) return item;
  cli_error("`%s` is an array of the FMU: its elements are `%s` to `%s`", name, item->name,
            item[item->elements - 1].name);
  return NULL;
}

/// A column for an item, or for so many elements from it on.
static bool add_column(FmuJob* job, const FmuItem* item, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (job->column_count == job->column_room) {
      uint32_t wanted = job->column_room ? 2 * job->column_room : 64;
      void* moved = realloc((void*)job->columns, wanted * sizeof *job->columns);
      if (!moved) {
        cli_error("out of memory");
        return false;
      }
      job->columns = moved;
      job->column_room = wanted;
    }
    job->columns[job->column_count++] = item + i;
  }
  return true;
}

static bool is_number(const FmuItem* item) {
  return item->type == FMU_REAL || item->type == FMU_INTEGER || item->type == FMU_BOOLEAN;
}

/// What is recorded: what was asked for, else all single numbers that are no parameters.
static int choose_columns(FmuJob* job) {
  job->sets = calloc(job->settings.count + 1u, sizeof *job->sets);
  if (!job->sets) {
    cli_error("out of memory");
    return CLI_RUN;
  }
  for (uint32_t i = 0; i < job->settings.count; i++) {
    job->sets[i] =
        (FmuSetting){find_item(job, job->settings.items[i].name), job->settings.items[i].value};
    if (!job->sets[i].item) return CLI_MODEL;
  }
  for (uint32_t i = 0; i < job->out.count; i++) {
    const FmuItem* item = look_up(job, job->out.items[i]);
    if (item && !is_number(item)) cli_error("`%s` is no number and cannot be recorded", item->name);
    if (!item || !is_number(item)) return CLI_MODEL;
    if (!add_column(job, item, strcmp(item->name, job->out.items[i]) == 0 ? 1 : item->elements))
      return CLI_RUN;
  }
  for (uint32_t i = 0; job->out.count == 0 && i < job->d.count; i++) {
    const FmuItem* item = &job->d.items[i];
    if (!is_number(item) || item->array || item->parameter || item->independent) continue;
    if (!add_column(job, item, 1)) return CLI_RUN;
  }
  return CLI_DONE;
}

/// A column of inputs, or the times: numbers without gaps, times in order.
static bool check_column(const FmuJob* job, uint32_t column, bool times) {
  const double* values = slt_table_column(job->input_table, column);
  const char* name = slt_table_column_name(job->input_table, column);
  for (uint32_t i = 0; i < slt_table_row_count(job->input_table); i++) {
    if (!isfinite(values[i])) {
      cli_error("%s: row %u of %s is no finite number", job->input_path, i + 1, name);
      return false;
    }
    if (times && i && values[i] < values[i - 1]) {
      cli_error("%s: row %u is earlier than the one before", job->input_path, i + 1);
      return false;
    }
  }
  return true;
}

/// Whether there was a column for it before.
static bool is_placed(const FmuJob* job, const FmuItem* item, bool times) {
  if (times) return job->inputs.time != NULL;
  for (uint32_t i = 0; i < job->inputs.count; i++) {
    if (job->input_items[i] == item) return true;
  }
  return false;
}

static bool place_columns(FmuJob* job) {
  uint32_t count = slt_table_column_count(job->input_table);
  job->input_columns = calloc(count, sizeof *job->input_columns);
  job->input_items = calloc(count, sizeof *job->input_items);
  if (!job->input_columns || !job->input_items) return false;
  for (uint32_t i = 0; i < count; i++) {
    const char* name = slt_table_column_name(job->input_table, i);
    bool times = strcmp(name, "time") == 0;
    const FmuItem* item = times ? NULL : find_item(job, name);
    if (!check_column(job, i, times) || (!times && !item)) return false;
    if (item && !item->input) {
      cli_error("%s is no input of the FMU", name);
      return false;
    }
    if (is_placed(job, item, times)) {
      cli_error("%s has two columns `%s`", job->input_path, name);
      return false;
    }
    if (times) {
      job->inputs.time = slt_table_column(job->input_table, i);
    } else {
      job->input_columns[job->inputs.count] = slt_table_column(job->input_table, i);
      job->input_items[job->inputs.count++] = item;
    }
  }
  if (!job->inputs.time) cli_error("%s has no column `time`", job->input_path);
  return job->inputs.time != NULL;
}

/// Signals for inputs from a CSV file.
static int read_inputs(FmuJob* job) {
  char* text = NULL;
  size_t length = 0;
  uint32_t line = 0;
  if (!job->input_path) return CLI_DONE;
  SltStatus status = slt_file_read(job->input_path, true, INPUT_MAX, NULL, &text, &length);
  if (status >= 0) status = slt_table_read_csv(text, length, &job->input_table, &line);
  free(text);
  if (status == SLT_ERR_SYNTAX) {
    cli_error("%s, line %u: this is no row of numbers", job->input_path, line);
  } else if (status == SLT_ERR_NOT_FOUND) {
    cli_error("there is no file %s", job->input_path);
  } else if (status < 0) {
    cli_error("%s: %s", job->input_path, slt_status_text(status));
  } else if (slt_table_row_count(job->input_table) == 0) {
    cli_error("%s has no rows", job->input_path);
    status = SLT_ERR_ARGUMENT;
  }
  if (status < 0 || !place_columns(job)) return CLI_USAGE;
  job->inputs.columns = job->input_columns;
  job->inputs.items = job->input_items;
  job->inputs.row_count = slt_table_row_count(job->input_table);
  return CLI_DONE;
}

static int choose_run(FmuJob* job, FmuRun* run) {
  const FmuDescription* d = &job->d;
  bool exchange = job->interface == 0 || (job->interface < 0 && d->me && !d->me_tool);
  if ((exchange ? d->me : d->cs) == NULL) {
    cli_error("%s has no interface for %s", job->path,
              exchange ? "model exchange" : "co-simulation");
    return CLI_USAGE;
  }
  if (exchange ? d->me_tool : d->cs_tool) {
    cli_error("%s needs the tool that made it", job->path);
    return CLI_MODEL;
  }
  double start = !isnan(job->from) ? job->from : !isnan(d->start) ? d->start : 0.0;
  double stop = !isnan(job->until) ? job->until : isfinite(d->stop) ? d->stop : start + 10.0;
  double every = !isnan(job->every) ? job->every : d->step > 0.0 ? d->step : (stop - start) / ROWS;
  if (!(stop > start) || !(every > 0.0) || (stop - start) / every > 1e9) {
    cli_error("the run would have no time, or too many rows");
    return CLI_USAGE;
  }
  *run = (FmuRun){.exchange = exchange,
                  .start = start,
                  .stop = stop,
                  .every = every,
                  .tolerance = !isnan(job->rtol)    ? job->rtol
                               : d->tolerance > 0.0 ? d->tolerance
                                                    : 1e-6,
                  .settings = job->sets,
                  .setting_count = job->settings.count,
                  .inputs = job->input_table ? &job->inputs : NULL};
  return CLI_DONE;
}

// ---- the child ----------------------------------------------------------------------------------

typedef enum Tag { TAG_ROW = 'R', TAG_END = 'E' } Tag;

typedef struct Ending {
  FmuSummary summary;
  uint32_t lost;  // column from 1 that was the first to have no number, 0 for none
  double lost_at;
  bool good;
  char problem[1000];
} Ending;

typedef struct Child {
  const FmuJob* job;
  int to;
  double* row;
  uint32_t lost;
  double lost_at;
} Child;

static bool send_all(int to, const void* data, size_t length) {
  const char* at = data;
  while (length > 0) {
    ssize_t sent = write(to, at, length);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    length -= (size_t)sent;
  }
  return true;
}

static bool send_row(void* user, Foreign* foreign, double t) {
  Child* child = user;
  char tag = TAG_ROW;
  child->row[0] = t;
  if (!foreign_get(foreign, child->job->columns, child->job->column_count, child->row + 1))
    return false;
  for (uint32_t i = 1; i <= child->job->column_count && !child->lost; i++) {
    if (!isnan(child->row[i])) continue;
    child->lost = i;
    child->lost_at = t;
  }
  return send_all(child->to, &tag, 1) &&
         send_all(child->to, child->row, (child->job->column_count + 1u) * sizeof(double));
}

static void set_limits(double seconds) {
  struct rlimit memory = {MEMORY_LIMIT, MEMORY_LIMIT};
  struct rlimit none = {0, 0};
  struct rlimit time = {(rlim_t)seconds + 1, (rlim_t)seconds + 2};
#if !defined(__SANITIZE_ADDRESS__)
  (void)setrlimit(RLIMIT_AS, &memory);
#else
  (void)memory;
#endif
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)setrlimit(RLIMIT_CPU, &time);
}

/// Never returns: what the FMU left behind ends with the process.
static void be_child(const FmuJob* job, FmuRun run, int to) {
  Child child = {.job = job, .to = to, .row = calloc(job->column_count + 1u, sizeof(double))};
  Ending end = {.good = false};
  Foreign foreign = {.d = NULL};
  set_limits(job->seconds);
  // what it prints is not ours
  if (!freopen("/dev/null", "w", stdout)) _exit(CLI_RUN);
  run.on_row = send_row;
  run.user = &child;
  if (child.row && foreign_open(&foreign, &job->d, job->folder, run.exchange)) {
    end.good = fmu_simulate(&foreign, &run, &end.summary);
  }
  snprintf(end.problem, sizeof end.problem, "%s", foreign.problem);
  end.lost = child.lost;
  end.lost_at = child.lost_at;
  char tag = TAG_END;
  bool sent = send_all(to, &tag, 1) && send_all(to, &end, sizeof end);
  if (end.good) foreign_close(&foreign);
  _exit(sent ? CLI_DONE : CLI_RUN);
}

// ---- the parent ---------------------------------------------------------------------------------

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): signals have no argument
static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
  interrupted = number;
}

/// Whether the process has ended or stands still (`stands`); it is still to be waited for.
static bool is_over(pid_t pid, bool* stands) {
  siginfo_t info = {0};
  bool gone = waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0;
  *stands = !gone && info.si_pid == pid && info.si_code == CLD_STOPPED;
  return gone || info.si_pid == pid;
}

/// False at the end, also where processes of the FMU's own keep the pipe open, at the limit of
/// time, and on a signal.
static bool receive(pid_t pid, int from, void* data, size_t length, double deadline) {
  char* at = data;
  bool stands = false;
  while (length > 0) {
    double left = deadline - wall_clock();
    struct pollfd wait = {.fd = from, .events = POLLIN};
    if (left <= 0.0 || interrupted) return false;
    int ready = poll(&wait, 1, left < 1.0 ? (int)(left * 1000.0) + 1 : 1000);
    if (ready == 0 && is_over(pid, &stands)) return false;
    if (ready <= 0) continue;
    ssize_t got = read(from, at, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    length -= (size_t)got;
  }
  return true;
}

typedef bool RowFn(void* user, const double* row, uint32_t count);

typedef struct Outcome {
  Ending end;
  bool ended;  // the child has told how it ended
  bool timeout;
  bool garbled;  // what came is no row
  bool hangs;    // when it is freed
  bool stands;   // it has stopped its process by a signal
  int status;    // of the process
  uint64_t rows;
} Outcome;

/// Run the FMU in a child and hand on its rows.
static bool run_child(const FmuJob* job, const FmuRun* run, RowFn* on_row, void* user,
                      Outcome* out) {
  int pipes[2];
  *out = (Outcome){.ended = false};
  size_t size = (job->column_count + 1u) * sizeof(double);
  double* row = malloc(size);
  if (!row || pipe(pipes) != 0) {
    free(row);
    cli_error("no memory or files for a child process");
    return false;
  }
  struct sigaction action = {.sa_handler = on_signal};
  struct sigaction old_interrupt;
  struct sigaction old_terminate;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    (void)setpgid(0, 0);  // a group, which ends with it
    close(pipes[0]);
    be_child(job, *run, pipes[1]);
  }
  if (pid > 0) (void)setpgid(pid, pid);
  close(pipes[1]);
  sigaction(SIGINT, &action, &old_interrupt);
  sigaction(SIGTERM, &action, &old_terminate);
  double deadline = wall_clock() + job->seconds;
  for (char tag = 0; pid > 0 && receive(pid, pipes[0], &tag, 1, deadline);) {
    if (tag == TAG_END) {
      out->ended = receive(pid, pipes[0], &out->end, sizeof out->end, deadline);
      break;
    }
    out->garbled = tag != TAG_ROW;
    if (out->garbled || !receive(pid, pipes[0], row, size, deadline)) break;
    out->rows++;
    if (!on_row(user, row, job->column_count + 1)) break;
  }
  if (pid > 0 && !out->ended) (void)is_over(pid, &out->stands);
  out->timeout = !out->ended && wall_clock() >= deadline;
  // all is told: what is left to it is to clear up
  struct pollfd end = {.fd = pipes[0], .events = POLLIN};
  if (out->ended) out->hangs = poll(&end, 1, PATIENCE_MS) == 0;
  close(pipes[0]);
  // it has ended, and then this is for what it has left behind; or it hangs
  if (pid > 0) kill(-pid, SIGKILL);
  if (pid > 0) kill(pid, SIGKILL);
  while (pid > 0 && waitpid(pid, &out->status, 0) < 0 && errno == EINTR) {
  }
  sigaction(SIGINT, &old_interrupt, NULL);
  sigaction(SIGTERM, &old_terminate, NULL);
  free(row);
  if (pid < 0) cli_error("no child process can be made");
  return pid > 0;
}

/// What became of a run, in words; the exit status.
static int report(const FmuJob* job, const Outcome* out) {
  char seconds[32];
  if (interrupted) {
    cli_note("interrupted");
    return CLI_SIGNAL + (int)interrupted;
  }
  if (out->ended && out->end.good) return CLI_DONE;
  if (out->ended) {
    cli_error("%s: %s", path_base(job->path), out->end.problem);
    return CLI_RUN;
  }
  if (out->timeout || (WIFSIGNALED(out->status) && WTERMSIG(out->status) == SIGXCPU)) {
    cli_error("%s did not end within %s s", path_base(job->path),
              cli_number_text(job->seconds, seconds));
    cli_hint("--timeout gives it longer");
  } else if (out->stands) {
    cli_error("%s has stopped its process", path_base(job->path));
  } else if (out->garbled) {
    cli_error("%s has written into what its rows are sent through", path_base(job->path));
  } else if (WIFSIGNALED(out->status)) {
    cli_error("%s crashed: %s", path_base(job->path), strsignal(WTERMSIG(out->status)));
    cli_hint("the fault is in the library of the FMU; it ran in a process of its own");
  } else {
    cli_error("%s ended its process with status %d", path_base(job->path),
              WEXITSTATUS(out->status));
  }
  return CLI_RUN;
}

/// What is wrong with the end of an FMU whose run was good; NULL: nothing.
static const char* fault_at_end(const Outcome* out) {
  if (out->hangs) return "it does not end when it is freed";
  return WIFSIGNALED(out->status) ? "it crashes when it is freed" : NULL;
}

// ---- run ----------------------------------------------------------------------------------------

static bool put_text(Output* csv, const char* text, size_t length) {
  return output_write(csv, text, length) >= 0;
}

/// The line with the names; free() it.
static char* header_of(const FmuJob* job) {
  size_t size = sizeof "time\n";
  for (uint32_t i = 0; i < job->column_count; i++)
    size += 2 * strlen(job->columns[i]->name) + 3;
  char* header = malloc(size);
  if (!header) return NULL;
  char* to = header + snprintf(header, size, "time");
  for (uint32_t i = 0; i < job->column_count; i++) {
    const char* name = job->columns[i]->name;
    bool quote = strpbrk(name, ",\"\r\n") != NULL;
    *to++ = ',';
    if (quote) *to++ = '"';
    for (; *name; name++) {
      if (*name == '"') *to++ = '"';
      *to++ = *name;
    }
    if (quote) *to++ = '"';
  }
  *to = '\0';
  return header;
}

static bool put_row(void* user, const double* row, uint32_t count) {
  char line[8192];
  size_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (i) line[used++] = ',';
    if (!isnan(row[i])) used += slt_number_text(row[i], line + used);
    if (sizeof line - used > CELL_MAX) continue;
    if (!put_text(user, line, used)) return false;
    used = 0;
  }
  line[used++] = '\n';
  return put_text(user, line, used);
}

static void summarize(const FmuJob* job, const FmuRun* run, const Outcome* out, const char* csv) {
  const FmuSummary* s = &out->end.summary;
  char t[32];
  if (job->quiet || !out->ended) return;
  cli_note("%s as %s to t = %s: %llu steps, %llu events, %llu rows in %s%s", path_base(job->path),
           run->exchange ? "model exchange" : "co-simulation", cli_number_text(s->t, t),
           (unsigned long long)s->steps, (unsigned long long)s->events,
           (unsigned long long)out->rows, csv, s->ended ? "; the FMU has ended it" : "");
  if (s->implicit) {
    cli_note("it is stiff at times: %llu steps are implicit", (unsigned long long)s->implicit);
  } else if (s->steps > 1000 && s->stiff > s->steps / 2) {
    cli_note("it is stiff, and has too many states for an implicit method here");
  }
  if (run->exchange && s->events) {
    cli_note("events of a foreign FMU are sampled, not proved: one that lasts shorter than a part "
             "of a step can be missed");
  }
  if (out->end.lost) {
    cli_note("%s is not a number at t = %s; its cells stay empty while that lasts",
             job->columns[out->end.lost - 1]->name, cli_number_text(out->end.lost_at, t));
  }
  if (out->end.good && fault_at_end(out)) cli_note("%s", fault_at_end(out));
  if (s->unsaid) {
    cli_note("an event has changed states without saying so: the run goes on with those before it");
  }
  if (s->jumps) {
    cli_note("event indicator %u jumps over zero: its events are located by bisection alone, as "
             "exactly as it jumps",
             s->jumping);
  }
}

static int simulate(FmuJob* job) {
  FmuRun run;
  Outcome out;
  int exit = choose_columns(job);
  if (exit == CLI_DONE) exit = read_inputs(job);
  if (exit == CLI_DONE) exit = choose_run(job, &run);
  if (exit != CLI_DONE) return exit;
  char usual[300];
  const char* base = path_base(job->path);
  snprintf(usual, sizeof usual, "%.*s.csv", (int)(strlen(base) - strlen(".fmu")), base);
  if (!inputs_add(job->path) || (job->input_path && !inputs_add(job->input_path)))
    return out_of_memory();
  char* header = header_of(job);
  Output csv = {.path = job->csv ? job->csv : usual, .csv = true};
  if (header && !job->csv && !output_is_ours(usual, header)) {
    cli_error("%s exists and was not written by saltus, or was changed since; it was left as it is",
              usual);
    cli_hint("`-o %s` overwrites it, another name keeps it", usual);
    free(header);
    return CLI_USAGE;
  }
  if (!header || !output_open(&csv)) {
    exit = header ? CLI_USAGE : CLI_RUN;
    free(header);
    return exit;
  }
  bool begun = put_text(&csv, header, strlen(header)) && put_text(&csv, "\n", 1) &&
               run_child(job, &run, put_row, &csv, &out);
  output_close(&csv);
  exit = csv.error ? output_report(&csv, "rows") : begun ? report(job, &out) : CLI_RUN;
  if (begun && !csv.error) summarize(job, &run, &out, csv.path);
  free(header);
  return exit;
}

// ---- check --------------------------------------------------------------------------------------

typedef struct Digest {
  uint64_t hash, rows, empty;
} Digest;

static bool hash_row(void* user, const double* row, uint32_t count) {
  Digest* digest = user;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, &row[i], sizeof bits);
    digest->hash = (digest->hash ^ bits) * 1099511628211u;
    digest->empty += isnan(row[i]) ? 1 : 0;
  }
  digest->rows++;
  return true;
}

static void print_rule(void* user, const char* text) {
  (void)user;
  cli_print(stdout, "  %s\n", text);
}

/// A function that belongs to a later phase than the first: an error is the right answer.
static uint32_t check_order(FmuJob* job, FmuRun run) {
  Digest digest = {0, 0, 0};
  Outcome out;
  run.early = true;
  if (!run_child(job, &run, hash_row, &digest, &out)) return 1;
  bool ends = report(job, &out) == CLI_DONE;
  if (ends && !out.end.summary.early) return 0;
  printf("  a call of %s before initialization %s\n", run.exchange ? "EnterEventMode" : "DoStep",
         ends ? "is accepted" : "ends the process");
  return 1;
}

/// Two runs of one interface: whether they end, and are the same.
static uint32_t check_interface(FmuJob* job, bool exchange) {
  FmuRun run;
  uint32_t findings = 0;
  job->interface = exchange ? 0 : 1;
  printf("%s:\n", exchange ? "model exchange" : "co-simulation");
  if (choose_run(job, &run) != CLI_DONE) return 1;
  Digest digests[2] = {{0, 0, 0}, {0, 0, 0}};
  Outcome out;
  for (int i = 0; i < 2; i++) {
    run.probe = i == 1;
    if (!run_child(job, &run, hash_row, &digests[i], &out)) return 1;
    if (report(job, &out) != CLI_DONE) {
      printf("  a run does not come to its end\n");
      return 1;
    }
  }
  const FmuSummary* s = &out.end.summary;
  printf("  runs to t = %.9g: %llu steps, %llu events\n", s->t, (unsigned long long)s->steps,
         (unsigned long long)s->events);
  if (fault_at_end(&out)) {
    printf("  %s\n", fault_at_end(&out));
    findings++;
  }
  findings += check_order(job, run);
  if (s->remembers) {
    printf("  values at a point depend on what was looked at before: relations are not frozen "
           "between events\n");
    findings++;
  }
  if (s->unsaid) {
    printf("  an event changes states and does not say so: importers go on with those before it\n");
    findings++;
  }
  if (s->slopes) {
    printf("  directional derivatives are not those of its rates, as differences show them\n");
    findings++;
  }
  if (s->forgets) {
    printf("  a saved state that is put back is not what it was\n");
    findings++;
  }
  if (digests[0].hash != digests[1].hash) {
    printf("  two equal runs give different values: it is not deterministic\n");
    findings++;
  }
  if (digests[0].empty) {
    printf("  %llu values are not numbers (NaN)\n", (unsigned long long)digests[0].empty);
    findings++;
  }
  if (s->jumps) {
    printf("  event indicator %u jumps over zero: importers cannot tell how far its event is\n",
           s->jumping);
    findings++;
  }
  if (s->most > 1e6 || (s->events && s->least > 0.0 && s->least < 1e-6)) {
    printf(
        "  event indicators have sizes from %.3g to %.3g; the standard asks for the order of 1\n",
        s->least, s->most);
    findings++;
  }
  return findings;
}

static int check(FmuJob* job) {
  int exit = choose_columns(job);
  if (exit != CLI_DONE) return exit;
  cli_print(stdout, "%s: FMI %u.0, %s, %u variables\n", path_base(job->path), job->d.version,
            job->d.name, job->d.count);
  uint32_t findings = fmu_rules(&job->d, print_rule, NULL);
  if (job->d.me && !job->d.me_tool) findings += check_interface(job, true);
  if (job->d.cs && !job->d.cs_tool && !interrupted) findings += check_interface(job, false);
  if (interrupted) return CLI_SIGNAL + (int)interrupted;
  printf(findings ? "%u finding%s\n" : "nothing found\n", findings, findings == 1 ? "" : "s");
  return stdout_finish(findings ? CLI_MODEL : CLI_DONE);
}

int command_fmu(const char* command, int argc, char** argv) {
  double none = (double)NAN;
  FmuJob job = {.until = none,
                .from = none,
                .every = none,
                .rtol = none,
                .seconds = SECONDS,
                .interface = -1};
  char problem[600] = "";
  int exit = parse(command, argc, argv, &job);
  bool unpacked = false;
  if (exit == CLI_DONE) {
    unpacked = fmu_unpack(job.path, job.folder, sizeof job.folder, problem, sizeof problem);
    bool good = unpacked && fmu_describe(job.folder, &job.d, problem, sizeof problem);
    if (!good) {
      cli_error("%s: %s", job.path, problem);
      exit = CLI_MODEL;
    } else {
      exit = strcmp(command, "check") == 0 ? check(&job) : simulate(&job);
    }
  }
  if (unpacked) fmu_remove(job.folder);
  fmu_description_free(&job.d);
  free(job.sets);
  free((void*)job.columns);
  free((void*)job.input_columns);
  free((void*)job.input_items);
  slt_table_free(job.input_table);
  cli_settings_clear(&job.settings);
  cli_names_clear(&job.out);
  return exit;
}

// ---- FMUs inside of models ----------------------------------------------------------------------

#define CALL_SECONDS 10.0  // that a call of an FMU in a model may take, and ten times that to begin

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): files to remove at the end
static FmuHost* host;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as `host`
static bool described;

static void free_host(void) {
  fmu_host_free(host);
  host = NULL;
}

static SltStatus describe_and_keep(void* user, const char* name, const char* path, SltWriter text,
                                   char* problem, size_t problem_size) {
  if (!inputs_add(path)) return SLT_ERR_NOMEM;
  described = true;
  return fmu_host_foreign(host)->describe(user, name, path, text, problem, problem_size);
}

const SltForeign* cli_foreign(void) {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as `host`
  static SltForeign foreign;
  if (!host) {
    host = fmu_host_create(CALL_SECONDS);
    if (!host) return NULL;
    (void)atexit(free_host);
    foreign = *fmu_host_foreign(host);
    foreign.describe = describe_and_keep;
  }
  return &foreign;
}

bool cli_foreign_used(void) {
  return described;
}

#else

bool cli_foreign_used(void) {
  return false;
}

const SltForeign* cli_foreign(void) {
  return NULL;
}

int command_fmu(const char* command, int argc, char** argv) {
  (void)command;
  (void)argc;
  (void)argv;
  cli_error("this program was built without libzip or expat, which FMUs are read with");
  cli_hint("install libzip-dev and libexpat1-dev and build it again");
  return CLI_USAGE;
}

#endif

// SPDX-License-Identifier: MIT
//
// `saltus run --cyclic DT`: the literal scan of rule tables at a fixed period, at full speed or at
// the pace of the clock.
#include "cyclic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct CyclicRun {
  const RunOptions* options;
  ModelSource* source;
  SltRules* rules;
  SltCyclic* plant;
  double dt, start, end;
  uint64_t cycles;
  uint32_t* places;  // of the columns
  const char** names;
  uint32_t column_count;
  Output csv;
  Output events;
  CyclicWatch watch;
  Report report;
  char* default_csv;
  char* text;  // rows kept for a picture or a report
  size_t length, capacity;
  bool interrupted;
  Progress progress;
  Pace pace;
} CyclicRun;

// ---- rows ---------------------------------------------------------------------------------------

/// Shortest of the usual lengths that reads back to the same number.
static int number_text(char* out, size_t size, double value) {
  for (int digits = 15; digits < 17; digits++) {
    int length = snprintf(out, size, "%.*g", digits, value);
    if (strtod(out, NULL) == value) return length;
  }
  return snprintf(out, size, "%.17g", value);
}

static bool append(CyclicRun* run, const char* text, size_t length) {
  if (run->length + length + 1 > run->capacity) {
    size_t wanted = 2 * run->capacity + length + 4096;
    char* grown = realloc(run->text, wanted);
    if (!grown) return false;
    run->text = grown;
    run->capacity = wanted;
  }
  memcpy(run->text + run->length, text, length);
  run->length += length;
  return true;
}

static bool writes_rows(const CyclicRun* run) {
  return !run->options->explain || run->options->csv;
}

/// A line is complete in memory: hand it on, and keep it only if somebody looks at it later.
static bool finish_line(CyclicRun* run, size_t begin) {
  if (!append(run, "\n", 1)) return false;
  SltStatus status = SLT_OK;
  if (writes_rows(run)) {
    status = output_write(&run->csv, run->text + begin, run->length - begin);
  }
  if (!run->options->plot && !run->options->report) run->length = 0;
  return status >= 0;
}

static bool write_header(CyclicRun* run) {
  size_t begin = run->length;
  bool fine = append(run, "time", 4);
  for (uint32_t i = 0; i < run->column_count && fine; i++) {
    const char* name = run->names[i];
    bool quote = strpbrk(name, ",\"\r\n") != NULL;
    fine = append(run, quote ? ",\"" : ",", quote ? 2 : 1);
    for (const char* at = name; *at && fine; at++) {
      if (*at == '"') fine = append(run, "\"", 1);
      fine = fine && append(run, at, 1);
    }
    if (quote && fine) fine = append(run, "\"", 1);
  }
  return fine && finish_line(run, begin);
}

static bool write_row(CyclicRun* run) {
  size_t begin = run->length;
  char cell[40];
  int length = number_text(cell, sizeof cell, slt_cyclic_time(run->plant));
  bool fine = append(run, cell, (size_t)length);
  for (uint32_t i = 0; i < run->column_count && fine; i++) {
    cell[0] = ',';
    length = 1 + number_text(cell + 1, sizeof cell - 1, slt_cyclic_get(run->plant, run->places[i]));
    fine = append(run, cell, (size_t)length);
  }
  return fine && finish_line(run, begin);
}

// ---- preparation --------------------------------------------------------------------------------

static int choose_columns(CyclicRun* run) {
  const CliNames* wanted = &run->options->out;
  uint32_t all = slt_cyclic_column_count(run->plant);
  run->column_count = wanted->count ? wanted->count : all;
  run->places = malloc((run->column_count + 1) * sizeof *run->places);
  run->names = malloc((run->column_count + 1) * sizeof *run->names);
  if (!run->places || !run->names) return out_of_memory();
  for (uint32_t i = 0; i < run->column_count; i++) {
    run->names[i] = wanted->count ? wanted->items[i] : slt_cyclic_column_name(run->plant, i);
    if (slt_cyclic_find(run->plant, run->names[i], &run->places[i]) >= 0) continue;
    cli_error("--out: the model has no `%s`", run->names[i]);
    return CLI_MODEL;
  }
  return CLI_DONE;
}

static int choose_times(CyclicRun* run) {
  const RunOptions* o = run->options;
  SltRulesSettings settings = slt_rules_settings(run->rules);
  run->dt = isnan(o->cyclic) ? settings.cycle : o->cyclic;
  if (isnan(run->dt)) {
    cli_error("the model asks for cyclic execution and gives no cycle");
    cli_hint("--cyclic DT, or a row `cycle` in the table of settings");
    return CLI_USAGE;
  }
  run->start = isnan(settings.start) ? 0.0 : settings.start;
  run->end = !isnan(o->until) ? o->until : !isnan(settings.end) ? settings.end : 10.0;
  double cycles = floor((run->end - run->start) / run->dt + 0.5);
  if (!(cycles >= 0.0) || cycles > 1e15) {
    cli_error("the run would have no end");
    cli_hint("give an end after the start with --until");
    return CLI_USAGE;
  }
  run->cycles = (uint64_t)cycles;
  return CLI_DONE;
}

/// Options that mean nothing where tables are scanned.
static int check_options(const RunOptions* o) {
  if (o->solver) {
    cli_error("%s has no meaning in cyclic execution, which only scans the tables", o->solver);
    return CLI_USAGE;
  }
  if (o->checkpoint || o->resume) {
    cli_error("cyclic execution keeps no checkpoints: --%s is for located runs",
              o->resume ? "resume" : "checkpoint");
    return CLI_USAGE;
  }
  if (o->limits.events) {
    cli_error("cyclic execution locates no events: --max-events limits nothing");
    return CLI_USAGE;
  }
  if (o->events && path_ends_with(o->events, ".csv")) {
    cli_error("cyclic execution writes its events as JSON lines only");
    cli_hint("--events FILE.jsonl");
    return CLI_USAGE;
  }
  if (o->format.id != SLT_FORMAT_CSV) {
    cli_error("cyclic execution writes its rows as CSV only");
    cli_hint("`saltus convert rows.csv rows.mat` makes other files of them");
    return CLI_USAGE;
  }
  return CLI_DONE;
}

static SltStatus write_line(const CyclicRun* run, const SltEvent* event) {
  SltWriter writer = {stdout_write, NULL};
  if (run->options->events) writer = (SltWriter){output_write, (void*)&run->events};
  return slt_event_write(event, writer);
}

static void on_event(void* user, const SltEvent* event) {
  CyclicRun* run = user;
  if (run->options->events || run->options->explain_json) write_line(run, event);
  if (run->options->report) report_event(&run->report, event);
}

static int open_outputs(CyclicRun* run) {
  const RunOptions* o = run->options;
  run->default_csv = path_title(run->source->name, ".csv");
  if (!run->default_csv) return out_of_memory();
  if (!run_outputs_spare(o, run->default_csv)) return CLI_USAGE;
  run->csv.path = o->csv ? o->csv : run->default_csv;
  run->events.path = o->events;
  if (writes_rows(run) && !o->csv && !output_is_ours(run->default_csv, "")) {
    cli_error("%s exists and was not written by saltus; it was left as it is", run->default_csv);
    cli_hint("`-o %s` overwrites it, another name keeps it", run->default_csv);
    return CLI_USAGE;
  }
  if (writes_rows(run) && !output_open(&run->csv)) return CLI_USAGE;
  return !o->events || output_open(&run->events) ? CLI_DONE : CLI_USAGE;
}

/// Somebody wants to know what changes at once; otherwise nobody looks.
static bool watches(const RunOptions* o) {
  return o->events || o->report || o->explain;
}

static int begin_watch(CyclicRun* run) {
  const RunOptions* o = run->options;
  if (!watches(o)) return CLI_DONE;
  if (o->report) {
    SltFigure* figure = figure_make(&o->figure, NULL, NULL);
    if (!report_begin(&run->report, NULL, NULL, figure) || !figure) return out_of_memory();
  }
  run->watch = (CyclicWatch){.on_event = on_event, .user = run, .all = o->explain_all};
  if (o->report) {
    run->watch.story = run->report.story.file;
    run->watch.all = true;
  } else if (o->explain && !o->explain_json) {
    run->watch.story = stdout;
    char start[32];
    char end[32];
    char dt[32];
    cli_print(stdout, "%s from t = %s to t = %s, cyclic with dt = %s\n", run->source->name,
              cli_number_text(run->start, start), cli_number_text(run->end, end),
              cli_number_text(run->dt, dt));
  }
  return cyclic_watch_begin(&run->watch, run->plant, run->dt) ? CLI_DONE : out_of_memory();
}

static int prepare(CyclicRun* run) {
  const RunOptions* o = run->options;
  if (path_ends_with(o->model, ".lisma")) {
    cli_error("--cyclic scans rule tables; %s holds equations", o->model);
    return CLI_USAGE;
  }
  run->rules = rules_load(run->source, &o->settings, false);
  if (!run->rules) return CLI_MODEL;
  int exit = choose_times(run);
  if (exit == CLI_DONE) exit = check_options(o);
  if (exit != CLI_DONE) return exit;
  if (slt_cyclic_create(run->rules, run->dt, NULL, &run->plant) < 0) return out_of_memory();
  slt_cyclic_seed(run->plant, o->sim.seed);
  exit = choose_columns(run);
  if (exit == CLI_DONE) exit = open_outputs(run);
  return exit == CLI_DONE ? begin_watch(run) : exit;
}

// ---- the run ------------------------------------------------------------------------------------

/// Cycles between two rows; a row stands at the cycle nearest to its time.
static double row_distance(const CyclicRun* run) {
  const RunOptions* o = run->options;
  if (o->all_steps) return 1.0;
  double every = o->every;
  if (isnan(every) && !o->samples) every = slt_rules_settings(run->rules).every;
  double samples = o->samples ? (double)o->samples : 500.0;
  double distance = isnan(every) ? (double)run->cycles / samples : every / run->dt;
  return distance > 1.0 ? distance : 1.0;
}

static int report_interrupt(const CyclicRun* run) {
  char t[32];
  unsigned long long rows = output_row_count(&run->csv);
  const char* limit = run->progress.limit;
  cli_note("%s at t = %s", limit ? limit : "interrupted",
           cli_number_text(slt_cyclic_time(run->plant), t));
  cli_note("%llu row%s in %s", rows, rows == 1 ? " is" : "s are", run->csv.path);
  if (limit) return CLI_RUN;
  return CLI_SIGNAL + progress_signal();
}

static int run_cycles(CyclicRun* run, double* wall) {
  bool fine = write_header(run) && write_row(run);
  double distance = row_distance(run);
  double rows = 1.0;
  uint64_t due = (uint64_t)floor(distance + 0.5);
  SltStatus status = SLT_OK;
  run->progress = (Progress){.t_start = run->start,
                             .t_end = run->end,
                             .quiet = run->options->quiet,
                             .limits = run->options->limits,
                             .to_stdout = strcmp(run->csv.path, "-") == 0 || run->options->explain};
  progress_begin(&run->progress);
  pace_begin(&run->pace, run->options->realtime);
  for (uint64_t cycle = 1; cycle <= run->cycles && fine; cycle++) {
    pace_wait(&run->pace, (double)(cycle - 1) * run->dt, run->dt);
    run->interrupted = progress_poll(&run->progress, slt_cyclic_time(run->plant));
    if (run->options->limits.steps && cycle > run->options->limits.steps) {
      run->progress.limit = "--max-steps was reached";
      run->interrupted = true;
    }
    if (run->interrupted) break;
    status = slt_cyclic_cycle(run->plant);
    if (status < 0) break;
    if (watches(run->options)) cyclic_watch_cycle(&run->watch);
    if (cycle < due && cycle < run->cycles) continue;
    fine = write_row(run);
    rows += 1.0;
    due = (uint64_t)floor(rows * distance + 0.5);
  }
  *wall = progress_end(&run->progress);
  cyclic_watch_end(&run->watch);
  if (run->interrupted) return report_interrupt(run);
  // what cannot be written is told of by its output; what is left is memory
  if (!fine && !run->csv.error) return out_of_memory();
  if (status >= 0) return fine ? CLI_DONE : CLI_RUN;
  SltCyclicProblem problem = slt_cyclic_problem(run->plant);
  cli_error("%s:%u: rule %s gives no finite number for `%s`", problem.file, problem.line,
            problem.rule, problem.variable);
  char t[32];
  cli_note("the rows up to t = %s are kept", cli_number_text(slt_cyclic_time(run->plant), t));
  return CLI_RUN;
}

static void print_summary(FILE* out, const CyclicRun* run, double wall) {
  char t[32];
  char dt[32];
  char speed[32];
  double span = (double)run->cycles * run->dt;
  cli_print(out, "%s: done at t = %s, cyclic with dt = %s\n", path_base(run->options->model),
            cli_number_text(slt_cyclic_time(run->plant), t), cli_number_text(run->dt, dt));
  cli_print(out, "  cycles       %llu of %u rules\n", (unsigned long long)run->cycles,
            slt_rules_settings(run->rules).rule_count);
  cli_print(out, "  wall time    %.2f ms, %s times as fast as the clock\n", 1e3 * wall,
            cli_number_text(wall > 0.0 ? floor(span / wall + 0.5) : 0.0, speed));
  pace_print(out, &run->pace, "cycles began");
  SltCyclicProblem problem = slt_cyclic_problem(run->plant);
  if (problem.divisions > 0) {
    cli_print(out, "  divisions    %llu by zero; the variable kept its value\n",
              (unsigned long long)problem.divisions);
  }
  if (watches(run->options)) {
    cli_print(out, "  changes      of predicates, situations and logical states in %llu cycle%s\n",
              (unsigned long long)run->watch.instants, run->watch.instants == 1 ? "" : "s");
  }
  if (writes_rows(run)) {
    cli_print(out, "  rows         %llu in %s\n",
              (unsigned long long)(run->csv.lines ? run->csv.lines - 1 : 0), run->csv.path);
  }
  if (run->options->events) {
    cli_print(out, "  events       %llu in %s\n", (unsigned long long)run->events.lines,
              run->events.path);
  }
}

static int draw(const CyclicRun* run, const SltTable* table) {
  const CliFigure* settings = &run->options->figure;
  SltFigure* figure = figure_make(settings, NULL, path_base(run->options->model));
  int exit = CLI_RUN;
  if (figure && slt_figure_add(figure, table, path_base(run->options->model)) >= 0) {
    exit = figure_write(figure, settings, table, run->options->plot);
  }
  slt_figure_free(figure);
  return exit;
}

static int write_report(CyclicRun* run, const SltTable* table, double wall) {
  ReportText summary = {0};
  if (!text_open(&summary)) return out_of_memory();
  print_summary(summary.file, run, wall);
  fflush(summary.file);
  char* title = path_title(run->source->name, "");
  RunSummary about = {.model = title ? title : run->source->name};
  ReportRun report = {.summary = &about,
                      .summary_text = summary.data,
                      .rules = run->rules,
                      .period = run->dt,
                      .table = table,
                      .options = run->options,
                      .source = run->source};
  bool added = slt_figure_add(run->report.figure, table, report.summary->model) >= 0;
  int exit = added ? report_write(&run->report, &report, SLT_OK) : out_of_memory();
  text_clear(&summary);
  free(title);
  return exit;
}

/// Pictures and pages of the rows that were kept.
static int write_products(CyclicRun* run, double wall) {
  const RunOptions* o = run->options;
  SltTable* table = NULL;
  if (!o->plot && !o->report) return CLI_DONE;
  if (slt_table_read_csv(run->text, run->length, &table, NULL) < 0) return out_of_memory();
  int exit = o->plot ? draw(run, table) : CLI_DONE;
  if (o->report && exit == CLI_DONE) exit = write_report(run, table, wall);
  slt_table_free(table);
  return exit;
}

/// Whether the settings of tables ask for cyclic execution.
static bool is_asked_for(ModelSource* source) {
  if (!source->folder && !path_ends_with(source->name, ".rules.md")) return false;
  SltRules* rules = rules_load(source, NULL, true);
  bool wanted = rules && slt_rules_settings(rules).cyclic;
  slt_rules_free(rules);
  return wanted;
}

bool cyclic_is_wanted(const RunOptions* options, ModelSource* source) {
  return !isnan(options->cyclic) || is_asked_for(source);
}

void cyclic_tell_located(ModelSource* source) {
  if (is_asked_for(source)) {
    cli_note(
        "%s asks for cyclic execution, which `saltus run` alone knows: here its events are located",
        source->name);
  }
}

static int close_outputs(CyclicRun* run, int exit) {
  output_close(&run->csv);
  output_close(&run->events);
  int rows = writes_rows(run) ? output_report(&run->csv, "rows") : CLI_DONE;
  int events = run->options->events ? output_report(&run->events, "events") : CLI_DONE;
  return rows != CLI_DONE ? rows : events != CLI_DONE ? events : exit;
}

int cyclic_run(const RunOptions* options, ModelSource* source) {
  CyclicRun run = {
      .options = options, .source = source, .csv = {.fd = -1, .csv = true}, .events = {.fd = -1}};
  double wall = 0.0;
  int exit = prepare(&run);
  if (exit == CLI_DONE) {
    exit = close_outputs(&run, run_cycles(&run, &wall));
    if (exit == CLI_DONE) exit = write_products(&run, wall);
    if (exit == CLI_DONE && !options->quiet && !options->explain) {
      print_summary(stderr, &run, wall);
    }
  }
  output_close(&run.csv);
  output_close(&run.events);
  cyclic_watch_clear(&run.watch);
  report_clear(&run.report);
  slt_cyclic_free(run.plant);
  slt_rules_free(run.rules);
  free(run.places);
  free((void*)run.names);
  free(run.default_csv);
  free(run.text);
  return exit;
}

// SPDX-License-Identifier: MIT
//
// saltus sweep: many runs of a model, a row for each.
#define _POSIX_C_SOURCE 200809L
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum SweepOption {
  SWEEP_VARY = TRIAL_OPTION_COUNT,
  SWEEP_SAMPLE,
  SWEEP_CORRELATE,
  SWEEP_SEED,
  SWEEP_JOBS,
  SWEEP_OUTPUT,
  SWEEP_TRAJECTORIES,
  SWEEP_RESUME,
  SWEEP_MAP,
  SWEEP_PLOT,
  SWEEP_OPTION_COUNT
} SweepOption;

static const OptionSpec specs[SWEEP_OPTION_COUNT] = {
    TRIAL_SPECS,
    TRIAL_UNTIL_SPEC,
    TRIAL_MEASURE_SPEC,
    [SWEEP_VARY] = {"--vary", NULL, OPTION_VALUE},
    [SWEEP_SAMPLE] = {"--sample", NULL, OPTION_VALUE},
    [SWEEP_CORRELATE] = {"--correlate", NULL, OPTION_VALUE},
    [SWEEP_SEED] = {"--seed", NULL, OPTION_VALUE},
    [SWEEP_JOBS] = {"--jobs", "-j", OPTION_VALUE},
    [SWEEP_OUTPUT] = {"--output", "-o", OPTION_VALUE},
    [SWEEP_TRAJECTORIES] = {"--trajectories", NULL, OPTION_VALUE},
    [SWEEP_RESUME] = {"--resume", NULL, OPTION_FLAG},
    [SWEEP_MAP] = {"--map", NULL, OPTION_FLAG},
    [SWEEP_PLOT] = {"--plot", NULL, OPTION_VALUE},
};

// ---- options ------------------------------------------------------------------------------------

/// `--sample lhs 1000`: the number is the next word.
static bool read_sample(SweepCommand* c, OptionParser* parser) {
  static const char* const words[] = {"grid", "random", "lhs", "sobol"};
  int choice = option_choice("--sample", parser->value, words, 4);
  if (choice < 0) return false;
  c->sampling = (SltSampling)choice;
  if (c->sampling == SLT_SAMPLE_GRID) return true;
  if (parser->at >= parser->argc) {
    cli_error("--sample %s needs the number of members", words[choice]);
    cli_hint("--sample %s 1000", words[choice]);
    return false;
  }
  return option_count("--sample", parser->argv[parser->at++], 1, UINT64_C(1000000000000000),
                      &c->sample_count);
}

static bool read_option(SweepCommand* c, int option, OptionParser* parser) {
  const char* text = parser->value;
  if (option < TRIAL_OPTION_COUNT) return trial_option(&c->trial, (TrialOption)option, text);
  switch (option) {
  case SWEEP_VARY: return texts_add(&c->vary, text) && trial_vary(&c->trial, text);
  case SWEEP_SAMPLE: return read_sample(c, parser);
  case SWEEP_CORRELATE: return texts_add(&c->correlate, text);
  case SWEEP_SEED: return option_count("--seed", text, 0, UINT64_MAX, &c->seed);
  case SWEEP_JOBS: return option_count("--jobs", text, 1, 1024, &c->jobs);
  case SWEEP_OUTPUT: c->output = text; return true;
  case SWEEP_TRAJECTORIES: c->trajectories = text; return true;
  case SWEEP_RESUME: c->resume = true; return true;
  case SWEEP_MAP: c->map = true; return true;
  case SWEEP_PLOT: c->plot = text; return plot_path_check("--plot", text);
  default: return false;
  }
}

static int read_options(SweepCommand* c, int argc, char** argv) {
  OptionParser parser = {.command = "sweep",
                         .specs = specs,
                         .spec_count = SWEEP_OPTION_COUNT,
                         .argc = argc,
                         .argv = argv};
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    bool good = option == OPTION_WORD ? cli_one_model("sweep", parser.value, &c->trial.path)
                                      : read_option(c, option, &parser);
    if (!good) return CLI_USAGE;
  }
  // a map has no measures, and no members
  static const OptionRule rules[] = {{TRIAL_MEASURE, SWEEP_MAP, true},
                                     {SWEEP_TRAJECTORIES, SWEEP_MAP, true},
                                     {SWEEP_RESUME, SWEEP_MAP, true}};
  if (!option_rules_hold(&parser, rules, sizeof rules / sizeof *rules)) return CLI_USAGE;
  if (c->vary.count == 0) {
    cli_error("sweep needs something that varies");
    cli_hint("--vary k=0:10:101 takes 101 values of k, --vary 'k~normal(1, 0.1)' draws them");
    return CLI_USAGE;
  }
  c->trial.sim.seed = c->seed;
  if (c->plot && !c->map && c->output && strcmp(c->output, "-") == 0) {
    cli_error("--plot draws rows that are in a file, not on standard output");
    cli_hint("-o FILE.csv");
    return CLI_USAGE;
  }
  return CLI_DONE;
}

// ---- preparation --------------------------------------------------------------------------------

static int make_design(SweepCommand* c) {
  SltProblem problem;
  SltStatus status = slt_design_create(c->trial.model, &c->design);
  if (status < 0) return out_of_memory();
  status = design_vary(c->design, &c->vary, &problem);
  if (status < 0) return problem_print("--vary", &problem, status);
  for (uint32_t i = 0; i < c->correlate.count; i++) {
    status = slt_design_correlate(c->design, c->correlate.items[i], &problem);
    if (status < 0) return problem_print("--correlate", &problem, status);
  }
  status = slt_design_sample(c->design, c->sampling, c->sample_count, c->seed, &problem);
  if (status < 0) return problem_print(NULL, &problem, status);
  if (!output_allowed(c->plot)) return CLI_USAGE;
  if (c->map) return CLI_DONE;
  int exit = trial_measures(&c->trial, &c->measures);
  if (exit != CLI_DONE) return exit;
  status = slt_design_check_names(c->design, c->measures, &problem);
  if (status < 0) return problem_print(NULL, &problem, status);
  if (slt_measures_count(c->measures) == 0 && !c->trajectories) {
    cli_error("sweep needs to know what to measure");
    cli_hint("--measure 'max(x)', `measure peak = max(x);` in the model, or --trajectories FOLDER");
    return CLI_USAGE;
  }
  return CLI_DONE;
}

static char* join(const char* a, const char* b) {
  size_t first = strlen(a);
  size_t second = strlen(b);
  char* out = malloc(first + second + 1);
  if (!out) return NULL;
  memcpy(out, a, first);
  memcpy(out + first, b, second);
  out[first + second] = '\0';
  return out;
}

/// Lines go to the file itself, or beside it where its format is written as a whole.
static int name_files(SweepCommand* c) {
  char* title = path_title(c->trial.source.name, ".sweep.csv");
  const char* path = c->output ? c->output : title;
  c->format = slt_format_get(SLT_FORMAT_CSV);
  int exit = path ? CLI_DONE : out_of_memory();
  bool stream = path && strcmp(path, "-") == 0;
  if (path && !stream && slt_format_find(path, &c->format) < 0 && strchr(path_base(path), '.')) {
    cli_error("-o %s: rows of a sweep cannot be written like this", path);
    cli_hint("files of rows end in .csv, .csv.gz, .jsonl, .mat or .h5; - is standard output");
    exit = CLI_USAGE;
  } else if (path && c->format.missing) {
    cli_error("-o %s: %s files cannot be written here", path, c->format.ending);
    cli_hint("install the package %s; a build without it has to be made again", c->format.missing);
    exit = CLI_USAGE;
  } else if (path && stream && c->resume) {
    cli_error("--resume goes on with a file, not with standard output");
    exit = CLI_USAGE;
  }
  if (exit == CLI_DONE) {
    c->csv_path = join(path, c->format.id == SLT_FORMAT_CSV ? "" : ".part.csv");
    c->mark_path = stream ? NULL : join(path, ".part");
    if (!c->csv_path || (!stream && !c->mark_path)) exit = out_of_memory();
  }
  free(title);
  return exit;
}

static SltStatus hash_into(void* user, const char* data, size_t length) {
  slt_sweep_text_seen(user, data, length);
  return SLT_OK;
}

static void hash_text(SltSweepText* hash, const char* text) {
  slt_sweep_text_seen(hash, text, strlen(text) + 1);
}

/// What decides about the rows: model, options, version. A sweep goes on only where this is the
/// same.
static bool make_identity(SweepCommand* c) {
  const SltSimOptions* sim = &c->trial.sim;
  SltSweepText* hash = NULL;
  if (slt_sweep_text_create(c->design, NULL, NULL, 0, (SltWriter){hash_into, NULL}, &hash) < 0) {
    return false;
  }
  hash_text(hash, slt_version());
  hash_text(hash, sim->method ? sim->method : "");
  for (uint32_t i = 0; i < c->vary.count; i++)
    hash_text(hash, c->vary.items[i]);
  for (uint32_t i = 0; i < c->correlate.count; i++)
    hash_text(hash, c->correlate.items[i]);
  for (uint32_t i = 0; i < slt_measures_count(c->measures); i++)
    hash_text(hash, slt_measures_name(c->measures, i));
  for (uint32_t i = 0; i < c->trial.measures.count; i++)
    hash_text(hash, c->trial.measures.items[i]);
  double numbers[] = {c->trial.t_start,    c->trial.t_end,         sim->rtol, sim->atol, sim->h_max,
                      (double)c->sampling, (double)c->sample_count};
  slt_sweep_text_seen(hash, (const char*)numbers, sizeof numbers);
  slt_sweep_text_seen(hash, (const char*)&c->seed, sizeof c->seed);
  SltStatus status =
      slt_model_explain(c->trial.model, SLT_EXPLAIN_IR, (SltWriter){hash_into, hash});
  slt_sweep_text_digest(hash, c->identity);
  slt_sweep_text_free(hash);
  return status >= 0;
}

// ---- going on -----------------------------------------------------------------------------------

/// Whether a line is the one of this number: the names first, then the members in their order.
static bool is_line(const char* line, uint64_t number) {
  char* end = NULL;
  if (number == 0) return strncmp(line, "member,", strlen("member,")) == 0;
  return line[0] >= '0' && line[0] <= '9' && strtoull(line, &end, 10) == number - 1 && *end == ',';
}

/// Lines that are there already, into the digest; what follows the last whole one is dropped.
static int read_back(SweepCommand* c) {
  // a pipe must not be waited for
  int fd = open(c->csv_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  FILE* file = fd >= 0 ? fdopen(fd, "rb") : NULL;
  if (!file) {
    cli_error("cannot read %s: %s", c->csv_path, strerror(errno));
    if (fd >= 0) close(fd);
    return CLI_USAGE;
  }
  char* line = NULL;
  size_t capacity = 0;
  uint64_t whole = 0;
  uint64_t lines = 0;
  bool fits = true;
  for (ssize_t length = 0; (length = getline(&line, &capacity, file)) > 0;) {
    if (line[length - 1] != '\n') break;
    fits = fits && is_line(line, lines);
    c->failed += strstr(line, ",failed,") != NULL;  // only those have a message behind it
    slt_sweep_text_seen(c->text, line, (size_t)length);
    whole += (uint64_t)length;
    lines++;
  }
  free(line);
  fclose(file);
  if (!fits || lines == 0 || lines - 1 > slt_design_member_count(c->design)) {
    cli_error("%s does not hold the first rows of this sweep in their order", c->csv_path);
    cli_hint("leave out --resume to begin anew");
    return CLI_USAGE;
  }
  c->done = lines - 1;
  return output_continue(&c->csv, whole, lines, NULL) ? CLI_DONE : CLI_USAGE;
}

static int resume(SweepCommand* c) {
  size_t length = 0;
  if (access(c->mark_path, F_OK) != 0) {
    cli_error("there is no %s: no sweep was interrupted here", c->mark_path);
    cli_hint("leave out --resume to begin one");
    return CLI_USAGE;
  }
  char* mark = input_read(c->mark_path, "mark", false, SOURCE_LIMIT, &length);
  if (!mark) return CLI_USAGE;
  bool same = length >= SLT_DIGEST_TEXT - 1 && memcmp(mark, c->identity, SLT_DIGEST_TEXT - 1) == 0;
  free(mark);
  if (!same) {
    cli_error("%s was begun with another model or other options", c->csv_path);
    cli_hint("repeat them as they were, or leave out --resume to begin anew");
    return CLI_USAGE;
  }
  return read_back(c);
}

static int begin_anew(SweepCommand* c) {
  if (!c->output && !output_is_ours(c->csv_path, "member")) {
    cli_error("%s exists and was not written by saltus; it was left as it is", c->csv_path);
    cli_hint("`-o %s` overwrites it, another name keeps it", c->csv_path);
    return CLI_USAGE;
  }
  bool implied = c->format.id != SLT_FORMAT_CSV;
  if (!inputs_spare(c->csv_path) || (implied && !output_implied(c->csv_path))) return CLI_USAGE;
  if (c->mark_path && !output_implied(c->mark_path)) return CLI_USAGE;
  int marked =
      c->mark_path ? output_replace(c->mark_path, c->identity, SLT_DIGEST_TEXT - 1) : CLI_DONE;
  if (marked != CLI_DONE) return marked;
  if (!output_open(&c->csv)) return CLI_USAGE;
  return slt_sweep_text_header(c->text) < 0 ? output_report(&c->csv, "rows") : CLI_DONE;
}

// ---- the sweep ----------------------------------------------------------------------------------

/// The whole run of a member once more, recorded: the same bits as the one that was measured.
static SltStatus write_trajectory(SweepCommand* c, const SltSweepRow* row) {
  char path[1200];
  snprintf(path, sizeof path, "%.1000s/member-%llu.csv", c->trajectories,
           (unsigned long long)row->member);
  // their names differ: only files that were read can be in the way, and nobody counts a million of
  // them
  Output out = {.path = path, .fd = -1, .csv = true, .again = true};
  if (!output_implied(path) || !inputs_spare(path) || !output_open(&out)) return SLT_ERR_IO;
  SltSim* sim = NULL;
  SltRecorder* recorder = NULL;
  const char* bad = NULL;
  SltRecorderOptions options = slt_recorder_options();
  options.rows = (SltWriter){output_write, &out};
  options.names = c->trial.experiment.out_count ? c->trial.experiment.out : NULL;
  options.name_count = c->trial.experiment.out_count;
  options.every = c->trial.experiment.every;
  SltStatus status =
      slt_design_sim_create(c->trial.model, c->design, row->member, &c->trial.sim, &sim);
  if (status >= 0) status = slt_recorder_create(sim, &options, &recorder, &bad);
  if (status >= 0) {
    slt_recorder_run(recorder, c->trial.t_end);  // how it ended stands in the row
    status = slt_recorder_finish(recorder);
  }
  slt_recorder_free(recorder);
  slt_sim_free(sim);
  output_close(&out);
  return out.error ? SLT_ERR_IO : status;
}

void sweep_failure(const SltSweepRow* row, char* out) {
  snprintf(out, 300, "member %llu: %s", (unsigned long long)row->member,
           row->message ? row->message : "");
}

SltStatus sweep_trajectory(SweepCommand* c, const SltSweepRow* row) {
  return c->trajectories ? write_trajectory(c, row) : SLT_OK;
}

static SltStatus take_row(void* user, const SltSweepRow* row) {
  SweepCommand* c = user;
  if (row->status < 0) c->failed++;
  if (row->status < 0 && !c->first_failure[0]) sweep_failure(row, c->first_failure);
  SltStatus status = sweep_trajectory(c, row);
  if (status >= 0) status = slt_sweep_text_row(c->text, row);
  c->done += status >= 0;
  for (uint32_t i = 0; status >= 0 && i < slt_measures_count(c->measures); i++) {
    if (isfinite(row->values[i])) slt_tally_add(&c->tallies[i], row->values[i]);
  }
  return status;
}

static bool is_cancelled(void* user) {
  SweepCommand* c = user;
  return progress_poll(&c->progress, (double)c->done);
}

static void leave(void* user) {
  const SweepCommand* c = user;
  output_leave(&c->csv);
}

/// In the format of the file, which is another one than that of the lines.
static int write_table(const SweepCommand* c, const SltTable* table) {
  Output out = {.path = c->output, .fd = -1, .whole = true, .packed = true};
  if (!output_open(&out)) return CLI_USAGE;
  SltStatus status = slt_table_write(table, c->format.id, (SltWriter){output_write, &out});
  output_close(&out);
  if (out.error || status < 0) return output_report(&out, "rows");
  remove(c->csv_path);
  return CLI_DONE;
}

static int draw_rows(const SweepCommand* c, const SltTable* table) {
  Output out = {.path = c->plot, .fd = -1, .whole = true};
  if (!output_open(&out)) return CLI_USAGE;
  SltStatus status = slt_sweep_picture(c->design, table, plot_path_format(c->plot),
                                       (SltWriter){output_write, &out});
  output_close(&out);
  if (status == SLT_ERR_ARGUMENT) {
    cli_error("there is nothing to draw: the rows have no measures");
    return CLI_USAGE;
  }
  return status < 0 || out.error ? output_report(&out, "picture") : CLI_DONE;
}

/// All rows are there: what needs them as a whole.
static int use_whole(const SweepCommand* c) {
  bool other = c->format.id != SLT_FORMAT_CSV;
  if (!other && !c->plot) return CLI_DONE;
  size_t length = 0;
  char* content = input_read(c->csv_path, "table", false, TABLE_LIMIT, &length);
  SltTable* table = NULL;
  uint32_t line = 0;
  if (!content || slt_table_read_csv(content, length, &table, &line) < 0) {
    free(content);
    cli_error("the rows in %s cannot be read", c->csv_path);
    return CLI_RUN;
  }
  free(content);
  int exit = c->plot ? draw_rows(c, table) : CLI_DONE;
  if (exit == CLI_DONE && other) exit = write_table(c, table);
  slt_table_free(table);
  return exit;
}

/// Whether members are drawn, by samples or by seeds, so that a mean estimates something.
static bool is_drawn(const SweepCommand* c) {
  bool drawn = c->sampling != SLT_SAMPLE_GRID;
  for (uint32_t i = 0; i < c->vary.count; i++)
    drawn = drawn || strncmp(c->vary.items[i], "seed=", 5) == 0;
  return drawn;
}

static void print_statistics(const SweepCommand* c) {
  uint64_t seen = 0;
  for (uint32_t i = 0; i < slt_measures_count(c->measures); i++)
    seen = c->tallies[i].count > seen ? c->tallies[i].count : seen;
  // what was there before --resume, or came from other processes, is in the rows alone
  if (seen < 2 || seen + c->failed < c->done) return;
  bool drawn = is_drawn(c);
  fprintf(stderr, "%-20s %12s %12s %12s %12s%s\n", "measure", "mean", "deviation", "least",
          "greatest", drawn ? "  95 % of the mean" : "");
  for (uint32_t i = 0; i < slt_measures_count(c->measures); i++) {
    SltSummary s = slt_tally_summary(&c->tallies[i], 0.95);
    if (c->tallies[i].count < 2) continue;
    cli_print(stderr, "%-20s %12.6g %12.4g %12.6g %12.6g", slt_measures_name(c->measures, i),
              s.mean, s.deviation, s.least, s.greatest);
    if (drawn && isfinite(s.half_width)) fprintf(stderr, "  +- %.3g", s.half_width);
    fputc('\n', stderr);
  }
}

static void print_summary(const SweepCommand* c, double wall) {
  char digest[SLT_DIGEST_TEXT];
  slt_sweep_text_digest(c->text, digest);
  fprintf(stderr, "%llu members in %.3g s", (unsigned long long)c->done, wall);
  if (c->failed) fprintf(stderr, ", %llu failed", (unsigned long long)c->failed);
  fputc('\n', stderr);
  if (c->first_failure[0]) cli_print(stderr, "  first: %s\n", c->first_failure);
  print_statistics(c);
  const char* path = c->output ? c->output : c->csv_path;
  if (strcmp(path, "-") != 0) cli_print(stderr, "rows: %s\n", path);
  fprintf(stderr, "digest: %s\n", digest);
}

static int finish(SweepCommand* c, SltStatus status, double wall) {
  uint64_t members = slt_design_member_count(c->design);
  output_close(&c->csv);
  if (c->csv.error) return output_report(&c->csv, "rows");
  if (status == SLT_ERR_CANCELLED) {
    cli_note("interrupted: %llu of %llu members are in %s", (unsigned long long)c->done,
             (unsigned long long)members, c->csv_path);
    if (c->mark_path) cli_hint("the same command with --resume goes on");
    int signal_number = progress_signal();
    return signal_number ? CLI_SIGNAL + signal_number : CLI_RUN;
  }
  if (status < 0) {
    cli_error("the sweep ended: %s", slt_status_text(status));
    return CLI_RUN;
  }
  int exit = use_whole(c);
  if (exit != CLI_DONE) return exit;
  if (c->mark_path) remove(c->mark_path);
  if (!c->trial.quiet) print_summary(c, wall);
  c->whole = true;
  return c->failed ? CLI_RUN : CLI_DONE;
}

SltSweepOptions sweep_options(const SweepCommand* c) {
  SltSweepOptions options = slt_sweep_options();
  options.sim = c->trial.sim;
  options.t_end = c->trial.t_end;
  options.jobs = (uint32_t)c->jobs;
  options.first = c->done;
  return options;
}

/// `cluster` NULL: this process alone.
static int run_sweep(SweepCommand* c, Cluster* cluster) {
  SltSweepOptions options = sweep_options(c);
  c->tallies = calloc(slt_measures_count(c->measures) + 1, sizeof *c->tallies);
  if (!c->tallies) return out_of_memory();
  options.on_row = take_row;
  options.cancel = is_cancelled;
  options.user = c;
  c->progress = (Progress){.t_end = (double)slt_design_member_count(c->design),
                           .t_start = 0.0,
                           .what = "members",
                           .quiet = c->trial.quiet,
                           .to_stdout = strcmp(c->csv_path, "-") == 0,
                           .on_leave = leave,
                           .user = c};
  progress_begin(&c->progress);
  SltStatus status = cluster ? sweep_coordinate(c, cluster)
                             : slt_sweep_run(c->trial.model, c->design, c->measures, &options);
  double wall = progress_end(&c->progress);
  return finish(c, status, wall);
}

static int prepare(SweepCommand* c) {
  int exit = trial_open(&c->trial, "sweep");
  if (exit == CLI_DONE) exit = make_design(c);
  if (c->map) return exit;
  if (exit == CLI_DONE) exit = name_files(c);
  if (exit != CLI_DONE) return exit;
  if (c->trajectories && !folder_make(c->trajectories)) {
    cli_error("cannot make the folder %s: %s", c->trajectories, strerror(errno));
    return CLI_USAGE;
  }
  c->csv = (Output){.path = c->csv_path, .fd = -1, .csv = true};
  SltStatus status = slt_sweep_text_create(c->design, c->measures, NULL, 0,
                                           (SltWriter){output_write, &c->csv}, &c->text);
  if (status < 0 || !make_identity(c)) {
    cli_error("out of memory");
    return CLI_RUN;
  }
  return c->resume ? resume(c) : begin_anew(c);
}

/// One of several processes: the first writes, the others run members.
static int run_ranks(SweepCommand* c) {
  Cluster* cluster = cluster_join();
  if (!cluster) return CLI_USAGE;
  bool first = cluster_rank(cluster) == 0;
  int exit = CLI_DONE;
  if (first) {
    exit = prepare(c);
    // those that wait for work would wait for ever
    if (exit != CLI_DONE) cluster_abort(cluster, exit);
    if (exit == CLI_DONE) exit = run_sweep(c, cluster);
    if (exit != CLI_DONE && !c->whole) cluster_abort(cluster, exit);
  } else {
    exit = trial_open(&c->trial, "sweep");
    if (exit == CLI_DONE) exit = make_design(c);
    if (exit == CLI_DONE) exit = sweep_serve(c, cluster);
  }
  cluster_leave(cluster);
  return exit;
}

int command_sweep(int argc, char** argv) {
  SweepCommand c = {.trial = trial_defaults(), .csv = {.fd = -1}};
  int exit = read_options(&c, argc, argv);
  bool ranks = !c.map && cluster_is_wanted();
  if (exit == CLI_DONE) exit = ranks ? run_ranks(&c) : prepare(&c);
  if (exit == CLI_DONE && !ranks) {
    exit = c.map ? sweep_map(&c.trial, c.design, (uint32_t)c.jobs, c.output, c.plot)
                 : run_sweep(&c, NULL);
  }
  output_close(&c.csv);
  slt_sweep_text_free(c.text);
  free(c.tallies);
  slt_measures_free(c.measures);
  slt_design_free(c.design);
  trial_close(&c.trial);
  texts_clear(&c.vary);
  texts_clear(&c.correlate);
  free(c.csv_path);
  free(c.mark_path);
  return exit;
}

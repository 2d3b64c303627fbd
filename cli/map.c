// SPDX-License-Identifier: MIT
//
// saltus sweep --map: which values of the parameters give which sequence of events.
#define _POSIX_C_SOURCE 200809L
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct MapCommand {
  const SltDesign* design;
  Output csv;
  Progress progress;
  uint64_t points, boundaries, cut;
  uint32_t sequences;
  char** spellings;   // by number of the sequence
  uint32_t* numbers;  // of the points, for the picture; NULL: none
  double* at;         // of the boundaries
  size_t at_capacity;
} MapCommand;

static bool is_cancelled(void* user) {
  MapCommand* c = user;
  return progress_poll(&c->progress, 0.0);
}

static void write_header(MapCommand* c) {
  OutputLine row;
  FILE* line = line_open(&row, &c->csv);
  if (!line) return;
  fputs("kind", line);
  for (uint32_t i = 0; i < slt_design_parameter_count(c->design); i++)
    cell_text(line, false, slt_design_parameter_name(c->design, i));
  fputs(",sequence,beyond,along,events\n", line);
  line_close(&row);
}

/// Keep what a sequence is, for the list at the end.
static void keep_spelling(MapCommand* c, uint32_t sequence, const char* spelling) {
  if (sequence == UINT32_MAX || sequence < c->sequences) return;
  char** spellings = realloc(c->spellings, (sequence + 1u) * sizeof *spellings);
  if (!spellings) return;
  c->spellings = spellings;
  while (c->sequences <= sequence)
    c->spellings[c->sequences++] = NULL;
  c->spellings[sequence] = strdup(spelling);
}

static void keep_for_picture(MapCommand* c, const SltMapPoint* point) {
  if (!point->boundary) {
    c->numbers[c->points] = point->sequence;
    return;
  }
  size_t d = slt_design_parameter_count(c->design);
  size_t need = (c->boundaries + 1) * d;
  if (need > c->at_capacity) {
    double* at = realloc(c->at, 2 * need * sizeof *at);
    if (!at) return;
    c->at = at;
    c->at_capacity = 2 * need;
  }
  memcpy(c->at + c->boundaries * d, point->parameters, d * sizeof *c->at);
}

static int draw(const MapCommand* c, const char* path) {
  Output out = {.path = path, .fd = -1, .whole = true};
  if (!output_open(&out)) return CLI_USAGE;
  SltStatus status = slt_map_picture(c->design, c->numbers, c->at, c->at ? c->boundaries : 0,
                                     (const char* const*)c->spellings, c->sequences,
                                     plot_path_format(path), (SltWriter){output_write, &out});
  output_close(&out);
  if (status == SLT_ERR_ARGUMENT) {
    cli_error("maps of one or two parameters can be drawn");
    return CLI_USAGE;
  }
  return status < 0 || out.error ? output_report(&out, "picture") : CLI_DONE;
}

static SltStatus take_point(void* user, const SltMapPoint* point) {
  MapCommand* c = user;
  OutputLine row;
  FILE* line = line_open(&row, &c->csv);
  if (!line) return SLT_ERR_NOMEM;
  fputs(point->boundary ? "boundary" : "point", line);
  for (uint32_t i = 0; i < slt_design_parameter_count(c->design); i++)
    cell_number(line, false, point->parameters[i]);
  const uint32_t numbers[] = {point->sequence, point->beyond};
  for (int i = 0; i < 2; i++)
    cell_number(line, false, numbers[i] == UINT32_MAX ? (double)NAN : (double)numbers[i]);
  cell_text(line, false, point->boundary ? slt_design_parameter_name(c->design, point->axis) : "");
  cell_text(line, false, point->spelling);
  fputc('\n', line);
  line_close(&row);
  if (c->numbers) keep_for_picture(c, point);
  *(point->boundary ? &c->boundaries : &c->points) += 1;
  c->cut += point->more;
  keep_spelling(c, point->sequence, point->spelling);
  keep_spelling(c, point->beyond, point->beyond_spelling);
  return c->csv.error ? SLT_ERR_IO : SLT_OK;
}

static void print_summary(const MapCommand* c) {
  if (c->cut) {
    cli_note("between %llu neighbours there are more boundaries than were located",
             (unsigned long long)c->cut);
    cli_hint("a finer grid there finds them");
  }
  fprintf(stderr, "%llu points, %u sequences of events, %llu boundaries\n",
          (unsigned long long)c->points, c->sequences, (unsigned long long)c->boundaries);
  for (uint32_t i = 0; i < c->sequences && i < 20; i++) {
    const char* text = c->spellings[i] ? c->spellings[i] : "";
    cli_print(stderr, "  %u: %s\n", i, text[0] ? text : "(no event)");
  }
}

int sweep_map(const Trial* trial, const SltDesign* design, uint32_t jobs, const char* output,
              const char* plot) {
  MapCommand c = {.design = design, .csv = {.fd = -1}};
  char* title = path_title(trial->source.name, ".map.csv");
  c.csv = (Output){.path = output ? output : title, .fd = -1, .late = true, .csv = true};
  if (!c.csv.path || (output && !csv_path_check(output)) || !output_open(&c.csv)) {
    free(title);
    return CLI_USAGE;
  }
  SltMapOptions options = slt_map_options();
  SltProblem problem = {.message = ""};
  options.sim = trial->sim;
  options.t_end = trial->t_end;
  options.jobs = jobs;
  options.on_point = take_point;
  options.cancel = is_cancelled;
  options.user = &c;
  c.progress = (Progress){.t_end = 1.0,
                          .what = "map",
                          .quiet = trial->quiet,
                          .to_stdout = strcmp(c.csv.path, "-") == 0};
  if (plot && slt_design_member_count(design) <= 1000000) {
    c.numbers = calloc((size_t)slt_design_member_count(design) + 1, sizeof *c.numbers);
  }
  write_header(&c);
  progress_begin(&c.progress);
  SltStatus status = slt_map_run(trial->model, design, &options, &problem);
  progress_end(&c.progress);
  output_close(&c.csv);
  int exit = CLI_DONE;
  if (c.csv.error) {
    exit = output_report(&c.csv, "rows");
  } else if (status == SLT_ERR_CANCELLED) {
    exit = CLI_SIGNAL + progress_signal();
  } else if (status < 0) {
    exit = problem_print(NULL, &problem, status);
  } else if (!trial->quiet) {
    print_summary(&c);
  }
  if (exit == CLI_DONE && plot && c.numbers) exit = draw(&c, plot);
  free(c.numbers);
  free(c.at);
  for (uint32_t i = 0; i < c.sequences; i++)
    free(c.spellings[i]);
  free(c.spellings);
  free(title);
  return exit;
}

// SPDX-License-Identifier: MIT
//
// A run of the workbench as a file: the run is made once more with a recorder, so that what is
// written is what `saltus run` would write.
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "page.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS_MAX     50000.0  // a run that takes longer is for the command line
#define PANELS_MAX 20

/// What is made while the run goes on.
typedef struct Export {
  SltSim* sim;
  SltRecorder* recorder;
  Report report;
  bool reported;
  ModelSource source;  // its name
  Replay replay;
  double deadline, begun;
  bool late;
} Export;

static bool on_step(void* user, double t) {
  Export* e = user;
  (void)t;
  e->late = wall_clock() > e->deadline;
  return e->late;
}

static void on_event(void* user, const SltEvent* event) {
  Export* e = user;
  if (e->reported) report_event(&e->report, event);
}

static void on_warning(void* user, const SltDiagnostic* d) {
  Export* e = user;
  if (e->reported) report_warning(&e->report, &e->source, d);
}

static void export_clear(Export* e) {
  report_clear(&e->report);
  slt_recorder_free(e->recorder);
  slt_sim_free(e->sim);
  replay_clear(&e->replay);
}

static bool read_changes(Replay* replay, const Json* json, const JsonNode* list) {
  for (const JsonNode* c = json_first(json, list); c; c = json_next(json, c)) {
    const char* name = json_text(json_member(json, c, "name"));
    if (!name) continue;
    ReplayChange* grown = realloc(replay->changes, (replay->count + 1) * sizeof *grown);
    if (!grown) return false;
    replay->changes = grown;
    char* copy = strdup(name);
    if (!copy) return false;
    grown[replay->count++] = (ReplayChange){.t = json_number(json, c, "t", 0.0),
                                            .value = json_number(json, c, "value", 0.0),
                                            .name = copy};
  }
  return true;
}

static double start_of(const SltExperiment* experiment) {
  return isnan(experiment->start) ? 0.0 : experiment->start;
}

/// Rows and columns as `saltus run` chooses them; a picture of the page's charts may need any of
/// them.
static SltRecorderOptions recorder_of(const SltExperiment* experiment, const char* as, double span,
                                      bool replays, Text* out) {
  SltRecorderOptions recorder = slt_recorder_options();
  bool mat = strcmp(as, "mat") == 0;
  if (strcmp(as, "svg") != 0 && experiment->out_count > 0) {
    recorder.names = experiment->out;
    recorder.name_count = experiment->out_count;
  }
  recorder.every = experiment->every;
  recorder.all_steps =
      !replays && isnan(recorder.every) && figure_has_log_time(&(CliFigure){0}, experiment);
  // a run in pieces has one grid
  if (replays && isnan(recorder.every) && span > 0.0) recorder.every = span / recorder.samples;
  recorder.keep = strcmp(as, "svg") == 0 || strcmp(as, "report") == 0;
  if (!recorder.keep) recorder.rows = (SltWriter){text_keep, out};
  if (mat) recorder.format = SLT_FORMAT_MAT;
  return recorder;
}

static SltStatus create(Page* page, Export* e, const char* as, const Json* json,
                        const JsonNode* request, double end, Text* out) {
  SltExperiment experiment = slt_model_experiment(page->model);
  SltSimOptions options = slt_sim_options();
  SltStatus status = slt_sim_create(page->model, &options, &e->sim);
  const JsonNode* set = json_member(json, request, "set");
  for (const JsonNode* m = json_first(json, set); m && status >= 0; m = json_next(json, m)) {
    if (m->key && m->kind == JSON_NUMBER) status = slt_sim_set_constant(e->sim, m->key, m->number);
  }
  if (status >= 0 && !read_changes(&e->replay, json, json_member(json, request, "changes"))) {
    status = SLT_ERR_NOMEM;
  }
  SltRecorderOptions recorder =
      recorder_of(&experiment, as, end - start_of(&experiment), e->replay.count > 0, out);
  if (status >= 0) status = slt_recorder_create(e->sim, &recorder, &e->recorder, NULL);
  return status;
}

static SltStatus write_figure(const Export* e, const Json* json, const JsonNode* request,
                              Text* out) {
  SltFigure* figure = NULL;
  SltStatus status = slt_figure_create(&figure);
  const JsonNode* panels = json_member(json, request, "panels");
  int count = 0;
  for (const JsonNode* p = json_first(json, panels); p && status >= 0 && count < PANELS_MAX;
       p = json_next(json, p), count++) {
    const char* names = json_text(json_member(json, p, "names"));
    const char* x = json_text(json_member(json, p, "x"));
    const JsonNode* log = json_member(json, p, "log");
    if (!names) continue;
    status = slt_figure_set(figure, "panel", names);
    if (status >= 0 && x) status = slt_figure_set(figure, "x", x);
    if (status >= 0 && log && log->kind == JSON_TRUE) status = slt_figure_set(figure, "log", "y");
  }
  if (status >= 0) status = slt_figure_add(figure, slt_recorder_table(e->recorder), "");
  if (status >= 0) {
    status = slt_figure_write(figure, SLT_PLOT_SVG, false, (SltWriter){text_keep, out});
  }
  slt_figure_free(figure);
  return status;
}

static SltStatus write_report(Page* page, Export* e, const Json* json, const JsonNode* request,
                              SltStatus ended, Text* out) {
  const JsonNode* text = json_member(json, request, "text");
  SltExperiment experiment = slt_model_experiment(page->model);
  RunOptions options = {.sim = slt_sim_options()};
  char* copy = json_text(text) ? strdup(text->text) : NULL;
  ModelSource source = {.name = e->source.name, .text = copy, .length = copy ? strlen(copy) : 0};
  SltRunError error = slt_sim_error(e->sim);
  if (ended < 0) e->report.failure = error.rendered ? error.rendered : slt_status_text(ended);
  const Output nowhere = {.fd = -1};
  const Pace pace = {0};
  RunSummary summary = {.csv = &nowhere,
                        .events = &nowhere,
                        .pace = &pace,
                        .model = source.name,
                        .sim = e->sim,
                        .t = slt_sim_time(e->sim),
                        .stopped = ended == SLT_END,
                        .unfinished = ended < 0,
                        .undetermined = "",
                        .wall = wall_clock() - e->begun};
  const ReportRun about = {.summary = &summary,
                           .model = page->model,
                           .table = slt_recorder_table(e->recorder),
                           .options = &options,
                           .experiment = &experiment,
                           .source = &source};
  size_t size = 0;
  char* made = report_make(&e->report, &about, ended, &size);
  free(copy);
  if (!made) return SLT_ERR_NOMEM;
  text_put(out, made, size);
  free(made);
  return out->failed ? SLT_ERR_NOMEM : SLT_OK;
}

static SltStatus write_as(Page* page, Export* e, const char* as, const Json* json,
                          const JsonNode* request, SltStatus ended, Text* out) {
  bool rows = strcmp(as, "csv") == 0 || strcmp(as, "mat") == 0;
  if (rows) return SLT_OK;  // they were written while the run went on
  if (strcmp(as, "svg") == 0) return write_figure(e, json, request, out);
  if (strcmp(as, "report") == 0) return write_report(page, e, json, request, ended, out);
  return SLT_ERR_UNSUPPORTED;
}

/// Bytes behind the JSON, in the place of the numbers.
static void put_bytes(PageReply* reply, const Text* bytes) {
  size_t count = (bytes->length + sizeof(double) - 1) / sizeof(double);
  reply->numbers = calloc(count + 1, sizeof(double));
  if (!reply->numbers) {
    reply->failed = true;
    return;
  }
  if (bytes->length) memcpy(reply->numbers, bytes->data, bytes->length);
  reply->number_count = reply->number_capacity = count;
  text_put_format(&reply->json, "{\"bytes\":%zu}", bytes->length);
}

void page_export(Page* page, const Json* json, const JsonNode* request) {
  const char* as = json_text(json_member(json, request, "as"));
  if (!page->model || !as) {
    page_refuse(page->reply, "there is nothing to write");
    return;
  }
  SltExperiment experiment = slt_model_experiment(page->model);
  double end = json_number(json, request, "until", isnan(experiment.end) ? 10.0 : experiment.end);
  const char* path = json_text(json_member(json, request, "path"));
  Export e = {.begun = wall_clock(), .source = {.name = path ? path : ""}};
  e.deadline = e.begun + 1e-3 * MS_MAX;
  Text out = {0};
  SltStatus status = create(page, &e, as, json, request, end, &out);
  if (status >= 0 && strcmp(as, "report") == 0) {
    const CliFigure settings = {0};
    SltFigure* figure = figure_make(&settings, &experiment, NULL);
    if (figure) status = slt_figure_add(figure, slt_recorder_table(e.recorder), "");
    e.reported = report_begin(&e.report, e.sim, page->model, figure) && figure;
    if (!e.reported) status = SLT_ERR_NOMEM;
  }
  SltStatus ended = SLT_OK;
  if (status >= 0) {
    slt_recorder_on_event(e.recorder, on_event, &e);
    slt_sim_on_step(e.sim, on_step, &e);
    slt_sim_on_warning(e.sim, on_warning, &e);
    ended = replay_run(&e.replay, e.sim, e.recorder, end);
    status = slt_recorder_finish(e.recorder);
    if (status >= 0) status = write_as(page, &e, as, json, request, ended, &out);
  }
  if (e.late) {
    page_refuse(page->reply, "the run takes too long to be written from here");
  } else if (status < 0 || out.failed) {
    page_refuse(page->reply, "this cannot be written: %s", slt_status_text(status));
  } else {
    put_bytes(page->reply, &out);
  }
  free(out.data);
  export_clear(&e);
}

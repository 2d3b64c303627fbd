// SPDX-License-Identifier: MIT
//
// A run of the workbench. It goes on a slice at a time, so that the page can draw, change a value
// or begin anew between two slices; what is written during a run is kept with its time, and a run
// with the same list of changes has the same bits.
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "page.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES        1000u  // rows of a run beside those of events
#define SAMPLES_MAX    1000000u
#define SLICE_MS       40.0  // unless the page asks for another
#define SLICE_MS_MAX   10000.0
#define NUMBERS_MAX    ((size_t)4 << 20)  // of one answer
#define MARKS_MAX      256u               // places to go back to
#define MARK_BYTES_MAX ((size_t)64 << 20)
#define COLUMNS_MAX    300u  // quantities that are handed to the page
#define AUTOMATA_MAX   32u
#define CHANGES_MAX    100000u
#define COSTS_SHOWN    12u

// ---- rows ---------------------------------------------------------------------------------------

/// Numbers of a row: the time, the columns, the shortest step since the row before.
static size_t width_of(const PageRun* run) {
  return (size_t)run->column_count + 2;
}

static void put_row(PageRun* run, PageReply* reply, bool before) {
  if (slt_sim_time(run->sim) < run->grid.begin) return;
  size_t need = reply->number_count + width_of(run);
  if (need > reply->number_capacity) {
    size_t capacity = 2 * need + 1024;
    double* grown = realloc(reply->numbers, capacity * sizeof *grown);
    if (!grown) {
      reply->failed = true;
      return;
    }
    reply->numbers = grown;
    reply->number_capacity = capacity;
  }
  double* to = reply->numbers + reply->number_count;
  *to++ = slt_sim_time(run->sim);
  for (uint32_t i = 0; i < run->column_count; i++) {
    *to++ = before ? slt_sim_get_before(run->sim, run->columns[i])
                   : slt_sim_get(run->sim, run->columns[i]);
  }
  double present = slt_sim_statistics(run->sim).t - run->step_from;
  *to = fmin(run->step, present > 0.0 ? present : run->step_last);
  if (!before) run->step = (double)INFINITY;
  reply->number_count = need;
  run->row_count++;
}

static double grid_time(const PageGrid* grid) {
  if (grid->next >= grid->count) return grid->end;
  return grid->begin + (double)grid->next * (grid->end - grid->begin) / (double)grid->count;
}

static void grid_pass(PageGrid* grid, double t) {
  while (grid->next < grid->count && grid_time(grid) <= t)
    grid->next++;
}

// ---- what the run tells -------------------------------------------------------------------------

/// Where there is no room for it the graph is drawn as if it had not happened.
static void keep_turn(PageRun* run, const SltEvent* event) {
  if (run->event_count == run->turn_capacity) {
    uint64_t capacity = run->turn_capacity ? 2 * run->turn_capacity : 256;
    PageTurn* grown = realloc(run->turns, (size_t)capacity * sizeof *grown);
    if (!grown) return;
    memset(grown + run->turn_capacity, 0, (size_t)(capacity - run->turn_capacity) * sizeof *grown);
    run->turns = grown;
    run->turn_capacity = capacity;
  }
  if (run->event_count > run->turn_capacity) return;
  run->turns[run->event_count] = (PageTurn){.automaton = event->automaton,
                                            .from = event->from,
                                            .to = event->to,
                                            .n = event->n,
                                            .line = event->line,
                                            .kind = event->kind,
                                            .event_class = event->event_class,
                                            .kink = event->kink};
}

static void on_event(void* user, const SltEvent* event) {
  PageRun* run = user;
  keep_turn(run, event);
  run->event_count++;
  slt_story_event(run->story, event);
}

void page_run_graph(const PageRun* run, SltGraph* graph) {
  uint64_t count = run->event_count < run->turn_capacity ? run->event_count : run->turn_capacity;
  for (uint64_t i = 0; i < count; i++) {
    const PageTurn* turn = &run->turns[i];
    slt_graph_event(graph, &(SltEvent){.automaton = turn->automaton,
                                       .from = turn->from,
                                       .to = turn->to,
                                       .n = turn->n,
                                       .line = turn->line,
                                       .kind = turn->kind,
                                       .event_class = turn->event_class,
                                       .kink = turn->kink});
  }
}

static void on_warning(void* user, const SltDiagnostic* d) {
  PageRun* run = user;
  if (run->warning_count++ > 100) return;
  bool any = run->warnings.length > 0;
  Text* out = &run->warnings;
  page_separate(out, &any);
  text_put_format(out, "{\"code\":\"%s\",\"line\":%u,\"file\":", d->code, d->line);
  text_put_json(out, d->file ? d->file : "", d->file ? strlen(d->file) : 0);
  text_put_format(out, ",\"text\":");
  text_put_json(out, d->message, strlen(d->message));
  text_put_format(out, ",\"hint\":");
  text_put_json(out, d->hint ? d->hint : "", d->hint ? strlen(d->hint) : 0);
  text_put_format(out, "}");
}

/// Between steps: whether the slice is over. Every slice makes a step.
static bool on_step(void* user, double t) {
  PageRun* run = user;
  if (t > run->step_from) run->step = fmin(run->step, run->step_last = t - run->step_from);
  run->step_from = t;
  if (run->slice_steps++ == 0) return false;
  return (run->slice_steps & 15) == 0 && wall_clock() >= run->deadline;
}

// ---- places to go back to -----------------------------------------------------------------------

static void drop_marks(PageRun* run, uint32_t from) {
  while (run->mark_count > from) {
    PageMark* mark = &run->marks[--run->mark_count];
    run->mark_bytes -= mark->size;
    free(mark->snapshot);
  }
}

/// Every second one goes, and new ones come half as often.
static void thin_marks(PageRun* run) {
  uint32_t kept = 1;
  for (uint32_t i = 1; i < run->mark_count; i++) {
    if (i % 2 == 0) {
      run->marks[kept++] = run->marks[i];
    } else {
      run->mark_bytes -= run->marks[i].size;
      free(run->marks[i].snapshot);
    }
  }
  run->mark_count = kept;
  run->mark_every *= 2;
}

static void keep_mark(PageRun* run) {
  if (run->mark_seen++ % run->mark_every != 0) return;
  size_t size = slt_sim_snapshot_size(run->sim);
  if (size > MARK_BYTES_MAX / 4) return;
  if (run->mark_count >= MARKS_MAX || run->mark_bytes + size > MARK_BYTES_MAX) thin_marks(run);
  if (!run->marks) run->marks = malloc(MARKS_MAX * sizeof *run->marks);
  void* snapshot = run->marks ? malloc(size) : NULL;
  if (!snapshot || slt_sim_snapshot_save(run->sim, snapshot, size) < 0) {
    free(snapshot);
    return;
  }
  run->mark_bytes += size;
  run->marks[run->mark_count++] = (PageMark){
      .t = slt_sim_time(run->sim),
      .rows = run->row_count,
      .events = run->event_count,
      .changes = run->change_next,
      .snapshot = snapshot,
      .size = size,
  };
}

// ---- changes ------------------------------------------------------------------------------------

/// All that is to happen at the present time has happened.
static SltStatus finish_instant(PageRun* run, PageReply* reply) {
  for (;;) {
    SltStatus status = slt_sim_advance(run->sim, slt_sim_time(run->sim), NULL);
    if (status != SLT_EVENT) return status;
    put_row(run, reply, true);
    put_row(run, reply, false);
  }
}

static bool keep_change(PageRun* run, double t, const char* name, double value) {
  if (run->change_count >= CHANGES_MAX) return false;
  PageChange* grown = realloc(run->changes, (run->change_count + 1) * sizeof *grown);
  if (grown) run->changes = grown;
  size_t size = strlen(name) + 1;
  char* copy = grown ? malloc(size) : NULL;
  if (!copy) return false;
  memcpy(copy, name, size);
  run->changes[run->change_count++] = (PageChange){t, value, copy};
  return true;
}

static void drop_changes(PageRun* run, uint32_t from) {
  while (run->change_count > from)
    free(run->changes[--run->change_count].name);
  if (run->change_next > from) run->change_next = from;
}

// ---- the run ------------------------------------------------------------------------------------

void page_run_clear(PageRun* run) {
  slt_story_free(run->story);
  slt_recorder_free(run->recorder);
  free(run->turns);
  slt_sim_free(run->sim);
  drop_marks(run, 0);
  drop_changes(run, 0);
  free(run->marks);
  free(run->changes);
  free(run->columns);
  free(run->column_names.data);
  free(run->events.data);
  free(run->told.data);
  free(run->warnings.data);
  *run = (PageRun){0};
}

/// One more column, if the run knows the quantity; its name is kept as a member of a JSON array.
static SltStatus add_column(PageRun* run, const char* name) {
  SltQuantity quantity;
  SltStatus status = slt_sim_find(run->sim, name, &quantity);
  if (status < 0) return status;
  SltQuantity* grown = realloc(run->columns, (run->column_count + 1) * sizeof *grown);
  if (!grown) return SLT_ERR_NOMEM;
  run->columns = grown;
  run->columns[run->column_count++] = quantity;
  bool any = run->column_names.length > 0;
  page_separate(&run->column_names, &any);
  text_put_json(&run->column_names, name, strlen(name));
  return run->column_names.failed ? SLT_ERR_NOMEM : SLT_OK;
}

/// The variables; a large model hands over those its experiment names, or the first.
static SltStatus add_variables(PageRun* run, const SltModel* model) {
  SltExperiment e = slt_model_experiment(model);
  uint32_t count = slt_sim_column_count(run->sim);
  bool chosen = count > COLUMNS_MAX && e.out_count > 0;
  if (chosen) count = e.out_count;
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; status >= 0 && i < count && i < COLUMNS_MAX; i++)
    status = add_column(run, chosen ? e.out[i] : slt_sim_column_name(run->sim, i));
  return status;
}

static SltStatus add_macro(void* user, const SltName* name) {
  PageRun* run = user;
  bool wanted = name->quantity.kind == SLT_KIND_MACRO && run->column_count < COLUMNS_MAX;
  return wanted ? add_column(run, name->name) : SLT_OK;
}

/// What the drawing is made of, the energy, and the states of the automata.
static SltStatus add_others(PageRun* run, const SltModel* model) {
  SltStatus status = SLT_OK;
  for (uint32_t i = 0; i < slt_model_shape_count(model); i++) {
    SltShape shape = slt_model_shape(model, i);
    for (uint32_t k = 0; status >= 0 && k < shape.number_count; k++)
      status = add_column(run, shape.numbers[k]);
  }
  if (status >= 0 && add_column(run, SLT_ENERGY_NAME) == SLT_ERR_NOMEM) return SLT_ERR_NOMEM;
  uint32_t automata = slt_sim_automaton_count(run->sim);
  for (uint32_t i = 0; status >= 0 && i < automata && i < AUTOMATA_MAX; i++) {
    Text name = {0};
    text_put_format(&name, "%s.state", slt_sim_automaton_name(run->sim, i));
    text_put(&name, "", 1);
    status = name.failed ? SLT_ERR_NOMEM : add_column(run, name.data);
    free(name.data);
  }
  return status;
}

static SltStatus find_columns(PageRun* run, const SltModel* model) {
  SltStatus status = add_variables(run, model);
  if (status >= 0) status = slt_model_names(model, add_macro, run);
  return status >= 0 ? add_others(run, model) : status;
}

static SltStatus listen_to(PageRun* run) {
  SltRecorderOptions options = slt_recorder_options();
  options.events = (SltWriter){text_keep, &run->events};
  SltStatus status = slt_recorder_create(run->sim, &options, &run->recorder, NULL);
  if (status >= 0) {
    status = slt_story_create(run->sim, true, (SltWriter){text_keep, &run->told}, &run->story);
  }
  if (status < 0) return status;
  slt_recorder_on_event(run->recorder, on_event, run);
  slt_sim_on_warning(run->sim, on_warning, run);
  return SLT_OK;
}

static SltSimOptions read_options(const Json* json, const JsonNode* request) {
  SltSimOptions options = slt_sim_options();
  options.t_start = json_number(json, request, "start", options.t_start);
  options.rtol = json_number(json, request, "rtol", options.rtol);
  options.atol = json_number(json, request, "atol", options.atol);
  options.seed = (uint64_t)json_count(json_member(json, request, "seed"), UINT32_MAX);
  const char* method = json_text(json_member(json, request, "method"));
  if (method && method[0]) options.method = method;
  return options;
}

static bool set_constants(Page* page, PageRun* run, const Json* json, const JsonNode* set) {
  for (const JsonNode* m = json_first(json, set); m; m = json_next(json, m)) {
    if (!m->key || m->kind != JSON_NUMBER) continue;
    SltStatus status = slt_sim_set_constant(run->sim, m->key, m->number);
    if (status >= 0) continue;
    page_refuse(page->reply, "the constant '%.100s' cannot be set to %g", m->key, m->number);
    return false;
  }
  return true;
}

static bool read_changes(PageRun* run, const Json* json, const JsonNode* list) {
  for (const JsonNode* c = json_first(json, list); c; c = json_next(json, c)) {
    const char* name = json_text(json_member(json, c, "name"));
    if (!name) continue;
    double t = json_number(json, c, "t", (double)NAN);
    if (!keep_change(run, t, name, json_number(json, c, "value", (double)NAN))) return false;
  }
  return true;
}

static void choose_grid(PageRun* run, const SltModel* model, const Json* json,
                        const JsonNode* request) {
  SltExperiment e = slt_model_experiment(model);
  double start = isnan(e.start) ? 0.0 : e.start;
  run->t_start = json_number(json, request, "start", start);
  run->t_end = json_number(json, request, "until", isnan(e.end) ? 10.0 : e.end);
  uint32_t samples = json_count(json_member(json, request, "samples"), SAMPLES_MAX);
  // rows as close as the model asks for, and never fewer than a picture needs
  double asked = isnan(e.every) ? 0.0 : (run->t_end - run->t_start) / e.every;
  if (samples == 0 && asked > SAMPLES) samples = (uint32_t)fmin(ceil(asked), SAMPLES_MAX);
  const JsonNode* window = json_member(json, request, "window");
  run->grid =
      (PageGrid){.begin = run->t_start, .end = run->t_end, .count = samples ? samples : SAMPLES};
  const JsonNode* from = json_first(json, window);
  const JsonNode* to = from ? json_next(json, from) : NULL;
  if (to && from->number >= run->t_start && to->number > from->number) {
    run->grid.begin = from->number;
    run->grid.end = run->t_end = fmin(to->number, run->t_end);
  }
}

/// Make the run that a request describes, up to its first instant. False after a refusal.
static bool create_run(Page* page, PageRun* run, const Json* json, const JsonNode* request) {
  if (!page->model) {
    page_refuse(page->reply, "there is no model");
    return false;
  }
  SltSimOptions options = read_options(json, request);
  const char* problem = NULL;
  SltStatus status = slt_sim_options_check(page->model, &options, &problem);
  if (status >= 0) status = slt_sim_create(page->model, &options, &run->sim);
  if (status >= 0) status = find_columns(run, page->model);
  if (status >= 0) status = listen_to(run);
  if (status >= 0) status = slt_sim_note_costs(run->sim);
  if (status < 0) {
    page_refuse(page->reply, "%s", problem ? problem : slt_status_text(status));
    return false;
  }
  if (!set_constants(page, run, json, json_member(json, request, "set"))) return false;
  choose_grid(run, page->model, json, request);
  if (!(run->t_end >= run->t_start)) {
    page_refuse(page->reply, "the run would end before it starts");
    return false;
  }
  run->mark_every = 1;
  if (!read_changes(run, json, json_member(json, request, "changes"))) {
    page_refuse(page->reply, "there are too many changes");
    return false;
  }
  return true;
}

static void note_end(PageRun* run, SltStatus status) {
  if (status == SLT_ERR_CANCELLED || (status >= 0 && status != SLT_END)) return;
  run->state = status == SLT_END ? PAGE_STOPPED : PAGE_FAILED;
}

static void start(PageRun* run, PageReply* reply) {
  run->step = (double)INFINITY;
  run->step_last = (double)NAN;
  run->step_from = run->t_start;
  SltStatus status = slt_sim_start(run->sim);
  note_end(run, status);
  if (status < 0) return;
  put_row(run, reply, false);
  grid_pass(&run->grid, run->t_start);
  keep_mark(run);
}

/// The next time something is to be done: a row, a change, the end of what was asked for.
static double next_time(const PageRun* run, double to) {
  double t = fmin(grid_time(&run->grid), fmin(to, run->t_end));
  if (run->change_next < run->change_count) t = fmin(t, run->changes[run->change_next].t);
  return fmax(t, slt_sim_time(run->sim));
}

static SltStatus make_changes(PageRun* run, PageReply* reply) {
  double t = slt_sim_time(run->sim);
  bool any = false;
  while (run->change_next < run->change_count && !(run->changes[run->change_next].t > t)) {
    SltStatus status = finish_instant(run, reply);
    const PageChange* change = &run->changes[run->change_next++];
    if (status >= 0) status = replay_write(run->sim, change->name, change->value);
    if (status < 0 || status == SLT_END) return status;
    any = true;
  }
  // values that follow from a change are seen at once
  return any ? (put_row(run, reply, false), SLT_OK) : SLT_OK;
}

/// Rows of what was reached; whether an instant was.
static bool put_reached(PageRun* run, PageReply* reply, SltStatus status) {
  bool instant = status == SLT_EVENT || status == SLT_END;
  if (instant) {
    put_row(run, reply, true);
    run->instant_count++;
  }
  if (status >= 0) put_row(run, reply, false);
  if (status == SLT_EVENT) keep_mark(run);
  return instant;
}

/// Go on until `to`, for `events` instants or until the slice is over.
static void go_on(PageRun* run, PageReply* reply, double to, uint32_t events, double ms) {
  run->slice_steps = 0;
  run->deadline = wall_clock() + 1e-3 * ms;
  slt_sim_on_step(run->sim, on_step, run);
  uint64_t rounds = 0;
  while (run->state == PAGE_RUNNING && reply->number_count < NUMBERS_MAX) {
    if ((++rounds & 63) == 0 && wall_clock() >= run->deadline) break;
    SltStatus status = make_changes(run, reply);
    double t = next_time(run, to);
    if (status >= 0 && status != SLT_END) status = slt_sim_advance(run->sim, t, NULL);
    note_end(run, status);
    if (status == SLT_ERR_CANCELLED) break;
    if (put_reached(run, reply, status) && events > 0 && --events == 0) break;
    double now = slt_sim_time(run->sim);
    grid_pass(&run->grid, now);
    if (status == SLT_OK && now >= run->t_end) run->state = PAGE_DONE;
    if (status == SLT_OK && now >= to) break;
  }
  slt_sim_on_step(run->sim, NULL, NULL);
  if (run->state == PAGE_FAILED) put_row(run, reply, false);
}

// ---- answers ------------------------------------------------------------------------------------

typedef struct Constants {
  SltSim* sim;
  Text* out;
  bool any;
} Constants;

static SltStatus put_constant(void* user, const SltName* name) {
  Constants* constants = user;
  if (name->quantity.kind != SLT_KIND_CONSTANT) return SLT_OK;
  page_separate(constants->out, &constants->any);
  text_put_json(constants->out, name->name, strlen(name->name));
  text_put(constants->out, ":", 1);
  page_put_number(constants->out, slt_sim_get(constants->sim, name->quantity));
  return SLT_OK;
}

static void put_constants(Page* page, Text* out) {
  Constants constants = {.sim = page->run.sim, .out = out};
  slt_model_names(page->model, put_constant, &constants);
}

static void put_error(PageRun* run, Text* out) {
  SltRunError error = slt_sim_error(run->sim);
  text_put_format(out, ",\"failure\":{\"code\":\"%s\",\"line\":%u,\"text\":",
                  error.code ? error.code : "", error.line);
  const char* text = error.rendered ? error.rendered : slt_status_text(error.status);
  text_put_json(out, text, strlen(text));
  text_put_format(out, "}");
}

/// What became of the energy that the model declares.
static void put_energy(const SltStatistics* s, Text* out) {
  if (isnan(s->energy_start)) return;
  text_put_format(out, ",\"energyStart\":");
  page_put_number(out, s->energy_start);
  text_put_format(out, ",\"energyMotion\":");
  page_put_number(out, s->energy_motion);
  text_put_format(out, ",\"energyEvents\":");
  page_put_number(out, s->energy_events);
  text_put_format(out, ",\"energyGained\":");
  page_put_number(out, s->energy_gained);
}

static void put_statistics(PageRun* run, Text* out) {
  SltStatistics s = slt_sim_statistics(run->sim);
  text_put_format(out,
                  ",\"statistics\":{\"steps\":%llu,\"rejected\":%llu,\"evaluations\":%llu,"
                  "\"guards\":%llu,\"instants\":%llu,\"notCertified\":%llu,\"modes\":%u",
                  (unsigned long long)s.steps, (unsigned long long)s.rejected,
                  (unsigned long long)s.evaluations, (unsigned long long)s.guard_evaluations,
                  (unsigned long long)s.instants, (unsigned long long)s.not_certified, s.modes);
  put_energy(&s, out);
  text_put_format(out, ",\"reason\":");
  text_put_json(out, s.method_reason ? s.method_reason : "",
                s.method_reason ? strlen(s.method_reason) : 0);
  text_put_format(out, ",\"method\":");
  text_put_json(out, s.method ? s.method : "", s.method ? strlen(s.method) : 0);
  text_put_format(out, "}");
}

/// Relations and variables that cost most, the dearest first.
static void put_costs(const PageRun* run, SltCostOf of, const char* name, Text* out) {
  SltCost best[COSTS_SHOWN];
  size_t count = 0;
  for (uint32_t i = 0; i < slt_sim_cost_count(run->sim, of); i++) {
    SltCost cost = slt_sim_cost(run->sim, of, i);
    if (cost.steps == 0) continue;
    if (count < COSTS_SHOWN) {
      count++;
    } else if (best[count - 1].steps >= cost.steps) {
      continue;
    }
    size_t at = count - 1;
    for (; at > 0 && best[at - 1].steps < cost.steps; at--)
      best[at] = best[at - 1];
    best[at] = cost;
  }
  text_put_format(out, ",\"%s\":[", name);
  for (size_t i = 0; i < count; i++) {
    text_put_format(out, "%s{\"steps\":%llu,\"line\":%u,\"name\":", i ? "," : "",
                    (unsigned long long)best[i].steps, best[i].line);
    text_put_json(out, best[i].name, strlen(best[i].name));
    text_put(out, "}", 1);
  }
  text_put(out, "]", 1);
}

static void put_changes(const PageRun* run, Text* out) {
  text_put_format(out, ",\"changes\":[");
  for (uint32_t i = 0; i < run->change_count; i++) {
    if (i) text_put(out, ",", 1);
    text_put_format(out, "{\"t\":");
    page_put_number(out, run->changes[i].t);
    text_put_format(out, ",\"name\":");
    text_put_json(out, run->changes[i].name, strlen(run->changes[i].name));
    text_put_format(out, ",\"value\":");
    page_put_number(out, run->changes[i].value);
    text_put_format(out, "}");
  }
  text_put_format(out, "]");
}

/// Records are lines; in the answer they are members of an array.
static void put_events(PageRun* run, Text* out) {
  slt_recorder_finish(run->recorder);
  text_put_format(out, ",\"events\":[");
  for (size_t i = 0; i + 1 < run->events.length; i++) {
    if (run->events.data[i] == '\n') run->events.data[i] = ',';
  }
  if (run->events.length > 0) text_put(out, run->events.data, run->events.length - 1);
  text_put_format(out, "]");
  run->events.length = 0;
}

static void put_text(Text* out, const char* name, Text* text) {
  text_put_format(out, ",\"%s\":", name);
  text_put_json(out, text->data ? text->data : "", text->length);
  text->length = 0;
}

/// Everything that is new since the last answer.
static void put_answer(Page* page) {
  static const char* const states[] = {"running", "done", "stopped", "failed"};
  PageRun* run = &page->run;
  Text* out = &page->reply->json;
  size_t width = width_of(run);
  text_put_format(out, "{\"state\":\"%s\",\"t\":", states[run->state]);
  page_put_number(out, slt_sim_time(run->sim));
  text_put_format(out, ",\"end\":");
  page_put_number(out, run->t_end);
  text_put_format(out, ",\"width\":%zu,\"rows\":%zu,\"instants\":%llu", width,
                  page->reply->number_count / width, (unsigned long long)run->instant_count);
  put_events(run, out);
  if (run->state != PAGE_RUNNING && run->story) {
    SltStatus status = run->state == PAGE_FAILED    ? slt_sim_error(run->sim).status
                       : run->state == PAGE_STOPPED ? SLT_END
                                                    : SLT_OK;
    slt_story_end(run->story, status);
    slt_story_free(run->story);
    run->story = NULL;
  }
  put_text(out, "story", &run->told);
  text_put_format(out, ",\"warnings\":[");
  text_put(out, run->warnings.data, run->warnings.length);
  text_put_format(out, "]");
  run->warnings.length = 0;
  put_statistics(run, out);
  if (run->state != PAGE_RUNNING) {
    put_costs(run, SLT_COST_OF_RELATION, "relations", out);
    put_costs(run, SLT_COST_OF_VARIABLE, "limits", out);
  }
  put_changes(run, out);
  if (run->state == PAGE_FAILED) put_error(run, out);
}

static double slice_of(const Json* json, const JsonNode* request) {
  return fmin(fmax(json_number(json, request, "ms", SLICE_MS), 0.0), SLICE_MS_MAX);
}

void page_start(Page* page, const Json* json, const JsonNode* request) {
  PageRun* run = &page->run;
  page_run_clear(run);
  if (!create_run(page, run, json, request)) {
    page_run_clear(run);
    return;
  }
  start(run, page->reply);
  double to = json_number(json, request, "to", (double)INFINITY);
  if (run->state == PAGE_RUNNING) go_on(run, page->reply, to, 0, slice_of(json, request));
  put_answer(page);
  text_put_format(&page->reply->json, ",\"constants\":{");
  put_constants(page, &page->reply->json);
  text_put_format(&page->reply->json, "},\"columns\":[");
  text_put(&page->reply->json, run->column_names.data, run->column_names.length);
  text_put_format(&page->reply->json, "]}");
}

static bool has_run(Page* page) {
  if (!page->run.sim) page_refuse(page->reply, "there is no run");
  return page->run.sim != NULL;
}

void page_more(Page* page, const Json* json, const JsonNode* request) {
  if (!has_run(page)) return;
  double to = json_number(json, request, "to", (double)INFINITY);
  uint32_t events = json_count(json_member(json, request, "events"), UINT32_MAX);
  go_on(&page->run, page->reply, to, events, slice_of(json, request));
  put_answer(page);
  text_put_format(&page->reply->json, "}");
}

void page_change(Page* page, const Json* json, const JsonNode* request) {
  if (!has_run(page)) return;
  PageRun* run = &page->run;
  const char* name = json_text(json_member(json, request, "name"));
  double value = json_number(json, request, "value", (double)NAN);
  if (!name || run->state != PAGE_RUNNING) {
    page_refuse(page->reply, "there is no run that goes on");
    return;
  }
  SltStatus status = finish_instant(run, page->reply);
  if (status >= 0 && status != SLT_END) status = replay_write(run->sim, name, value);
  if (status < 0) {
    page_refuse(page->reply, "'%.100s' cannot be changed during the run", name);
    return;
  }
  // what was planned behind this time is replaced by what is done now
  drop_changes(run, run->change_next);
  if (keep_change(run, slt_sim_time(run->sim), name, value)) run->change_next = run->change_count;
  put_row(run, page->reply, false);
  put_answer(page);
  text_put_format(&page->reply->json, "}");
}

void page_back(Page* page, const Json* json, const JsonNode* request) {
  if (!has_run(page)) return;
  PageRun* run = &page->run;
  double to = fmax(json_number(json, request, "to", run->t_start), run->t_start);
  uint32_t i = run->mark_count;
  while (i > 1 && run->marks[i - 1].t > to)
    i--;
  if (i == 0) {
    page_refuse(page->reply, "the run is too large to go back");
    return;
  }
  const PageMark* mark = &run->marks[i - 1];
  if (slt_sim_snapshot_restore(run->sim, mark->snapshot, mark->size) < 0) {
    page_refuse(page->reply, "the run cannot go back");
    return;
  }
  uint64_t rows = mark->rows;
  uint64_t events = mark->events;
  uint32_t made = mark->changes;
  double from = mark->t;
  drop_marks(run, i);
  run->row_count = rows;
  run->event_count = events;
  run->state = PAGE_RUNNING;
  run->step_from = from;
  run->grid.next = 0;
  grid_pass(&run->grid, from);
  // changes made before the mark are part of it; those behind it up to `to` are made again
  uint32_t kept = made;
  while (kept < run->change_count && run->changes[kept].t <= to)
    kept++;
  drop_changes(run, kept);
  run->change_next = made;
  if (!run->story) {
    slt_story_create(run->sim, true, (SltWriter){text_keep, &run->told}, &run->story);
  }
  go_on(run, page->reply, to, 0, SLICE_MS_MAX);
  put_answer(page);
  text_put_format(&page->reply->json, ",\"keepRows\":%llu,\"keepEvents\":%llu}",
                  (unsigned long long)rows, (unsigned long long)events);
}

/// Rows of a window only: the run once more, with rows close to each other.
void page_rows(Page* page, const Json* json, const JsonNode* request) {
  PageRun present = page->run;
  page->run = (PageRun){0};
  PageRun* run = &page->run;
  if (create_run(page, run, json, request)) {
    start(run, page->reply);
    if (run->state == PAGE_RUNNING) {
      go_on(run, page->reply, run->grid.end, 0, slice_of(json, request));
    }
    size_t width = width_of(run);
    text_put_format(&page->reply->json, "{\"width\":%zu,\"rows\":%zu,\"complete\":%s}", width,
                    page->reply->number_count / width,
                    run->state == PAGE_RUNNING ? "false" : "true");
  }
  page_run_clear(run);
  page->run = present;
}

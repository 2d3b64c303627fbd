// SPDX-License-Identifier: MIT
//
// Experiments that the workbench asks for: members of a sweep, derivatives of measures, fits to
// data. Each answer takes a bounded time: a sweep goes on with the member that the page names, the
// others are cut off.
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "page.h"

#include <saltus/saltus_experiment.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX       64u
#define ANSWER_MS       30000.0
#define MEMBERS_MAX     1000000u
#define MEMBERS_A_SLICE 20000u

/// What all requests have: measures, settings, a time to end.
typedef struct Trial {
  SltModel* model;
  SltMeasures* measures;
  SltSimOptions options;
  SltOverride set[TEXTS_MAX];
  uint32_t set_count;
  double t_end, deadline;
  SltProblem problem;
} Trial;

/// The texts of an array.
static uint32_t read_texts(const Json* json, const JsonNode* list, const char** out) {
  uint32_t count = 0;
  for (const JsonNode* m = json_first(json, list); m && count < TEXTS_MAX; m = json_next(json, m)) {
    const char* text = json_text(m);
    if (text) out[count++] = text;
  }
  return count;
}

/// Length of the first clause of a hint, with what separates it from the next.
static size_t clause_length(const char* hint, size_t* separator) {
  const char* semicolon = strstr(hint, "; ");
  const char* choice = strstr(hint, ", or ");
  const char* end = choice && (!semicolon || choice < semicolon) ? choice : semicolon;
  *separator = !end ? 0 : end == semicolon ? 2 : 5;
  return end ? (size_t)(end - hint) : strlen(hint);
}

static bool is_about_commands(const char* clause) {
  return strstr(clause, "--") || strstr(clause, "`saltus ");
}

/// Words of a problem; what a hint says about the command line helps nobody in the page.
static void refuse(PageReply* reply, const Trial* trial, SltStatus status) {
  char hint[sizeof trial->problem.hint] = "";
  size_t used = 0;
  size_t separator = 0;
  for (const char* at = trial->problem.hint; *at;) {
    char clause[sizeof hint];
    size_t length = clause_length(at, &separator);
    snprintf(clause, sizeof clause, "; %.*s", (int)length, at);
    if (!is_about_commands(clause) && used + length + 3 < sizeof hint) {
      memcpy(hint + used, clause, length + 3);
      used += length + 2;
    }
    at += length + separator;
  }
  const char* message =
      trial->problem.message[0] ? trial->problem.message : slt_status_text(status);
  page_refuse(reply, "%s%s", message, hint);
}

static bool open_trial(Page* page, const Json* json, const JsonNode* request, Trial* trial) {
  *trial = (Trial){.model = page->model, .options = slt_sim_options()};
  if (!page->model) {
    page_refuse(page->reply, "there is no model");
    return false;
  }
  const JsonNode* set = json_member(json, request, "set");
  for (const JsonNode* m = json_first(json, set); m && trial->set_count < TEXTS_MAX;
       m = json_next(json, m)) {
    if (m->key && m->kind == JSON_NUMBER)
      trial->set[trial->set_count++] = (SltOverride){m->key, m->number};
  }
  SltExperiment e = slt_model_experiment(page->model);
  trial->t_end = json_number(json, request, "until", isnan(e.end) ? 10.0 : e.end);
  trial->deadline = wall_clock() + 1e-3 * json_number(json, request, "ms", ANSWER_MS);
  const char* texts[TEXTS_MAX];
  uint32_t count = read_texts(json, json_member(json, request, "measures"), texts);
  if (count == 0) return true;
  SltStatus status =
      slt_measures_create(page->model, texts, count, &trial->measures, &trial->problem);
  if (status < 0) refuse(page->reply, trial, status);
  return status >= 0;
}

static bool is_over(void* user) {
  return wall_clock() >= ((const Trial*)user)->deadline;
}

static void put_names(Text* out, const char* key, uint32_t count,
                      const char* (*name)(const void*, uint32_t), const void* of) {
  text_put_format(out, "\"%s\":[", key);
  for (uint32_t i = 0; i < count; i++) {
    if (i) text_put(out, ",", 1);
    text_put_json(out, name(of, i), strlen(name(of, i)));
  }
  text_put_format(out, "]");
}

// ---- sweeps -------------------------------------------------------------------------------------

static const char* parameter_name(const void* design, uint32_t i) {
  return slt_design_parameter_name(design, i);
}

static const char* measure_name(const void* measures, uint32_t i) {
  return slt_measures_name(measures, i);
}

/// Parameters and measures of a member; false when its run has failed.
static bool run_member(const Trial* trial, const SltDesign* design, uint64_t member, double* row) {
  uint32_t parameters = slt_design_parameter_count(design);
  uint32_t measures = slt_measures_count(trial->measures);
  slt_design_member(design, member, row);
  for (uint32_t i = 0; i < measures; i++)
    row[parameters + i] = (double)NAN;
  SltSim* sim = NULL;
  SltStatus status = slt_design_sim_create(trial->model, design, member, &trial->options, &sim);
  for (uint32_t i = 0; status >= 0 && i < trial->set_count; i++) {
    bool varied = false;
    for (uint32_t p = 0; p < parameters; p++)
      varied = varied || strcmp(slt_design_parameter_name(design, p), trial->set[i].name) == 0;
    if (!varied) status = slt_sim_set_constant(sim, trial->set[i].name, trial->set[i].value);
  }
  if (status >= 0) status = slt_measures_run(trial->measures, sim, trial->t_end, row + parameters);
  slt_sim_free(sim);
  return status >= 0;
}

static void run_members(const Trial* trial, const SltDesign* design, uint64_t from,
                        PageReply* reply) {
  uint64_t members = slt_design_member_count(design);
  size_t width = slt_design_parameter_count(design) + slt_measures_count(trial->measures);
  uint64_t most = members > from ? members - from : 0;
  if (most > MEMBERS_A_SLICE) most = MEMBERS_A_SLICE;
  reply->numbers = malloc((most * width + 1) * sizeof *reply->numbers);
  reply->failed = !reply->numbers;
  uint64_t failed = 0;
  // every answer has a member, or the page would ask for ever
  for (uint64_t i = 0; reply->numbers && i < most && (i == 0 || wall_clock() < trial->deadline);
       i++) {
    failed += !run_member(trial, design, from + i, reply->numbers + reply->number_count);
    reply->number_count += width;
  }
  text_put_format(&reply->json, "{\"members\":%llu,\"failed\":%llu,", (unsigned long long)members,
                  (unsigned long long)failed);
  put_names(&reply->json, "parameters", slt_design_parameter_count(design), parameter_name, design);
  text_put(&reply->json, ",", 1);
  put_names(&reply->json, "measures", slt_measures_count(trial->measures), measure_name,
            trial->measures);
  text_put_format(&reply->json, "}");
}

void page_sweep(Page* page, const Json* json, const JsonNode* request) {
  Trial trial;
  SltDesign* design = NULL;
  bool good = open_trial(page, json, request, &trial);
  SltStatus status = good ? slt_design_create(page->model, &design) : SLT_ERR_ARGUMENT;
  const char* texts[TEXTS_MAX];
  uint32_t count = read_texts(json, json_member(json, request, "design"), texts);
  for (uint32_t i = 0; status >= 0 && i < count; i++)
    status = slt_design_add(design, texts[i], &trial.problem);
  if (status >= 0) status = slt_design_sample(design, SLT_SAMPLE_GRID, 0, 0, &trial.problem);
  double from = json_number(json, request, "from", 0.0);
  if (good && status < 0) {
    refuse(page->reply, &trial, status);
  } else if (good && (slt_measures_count(trial.measures) == 0 || !(from >= 0.0) ||
                      slt_design_member_count(design) > MEMBERS_MAX)) {
    page_refuse(page->reply, "a sweep in the page has a measure and at most %u runs", MEMBERS_MAX);
  } else if (good) {
    run_members(&trial, design, (uint64_t)from, page->reply);
  }
  slt_design_free(design);
  slt_measures_free(trial.measures);
}

// ---- derivatives --------------------------------------------------------------------------------

typedef struct Derivatives {
  Trial* trial;
  Text* out;
  bool any;
} Derivatives;

static bool derivatives_over(void* user) {
  return is_over(((const Derivatives*)user)->trial);
}

static void put_member(Text* out, const char* key, double value) {
  text_put_format(out, ",\"%s\":", key);
  page_put_number(out, value);
}

static void put_derivative(void* user, const SltDerivative* d) {
  static const char* const verdicts[] = {"exists", "one-sided", "none"};
  Derivatives* all = user;
  Text* out = all->out;
  page_separate(out, &all->any);
  text_put_format(out, "{\"verdict\":\"%s\",\"parameter\":", verdicts[d->verdict]);
  text_put_json(out, d->parameter, strlen(d->parameter));
  text_put_format(out, ",\"measure\":");
  text_put_json(out, d->measure, strlen(d->measure));
  text_put_format(out, ",\"reason\":");
  text_put_json(out, d->reason ? d->reason : "", d->reason ? strlen(d->reason) : 0);
  put_member(out, "at", d->at);
  put_member(out, "value", d->value);
  put_member(out, "derivative", d->derivative);
  put_member(out, "left", d->left);
  put_member(out, "right", d->right);
  put_member(out, "error", d->error);
  text_put_format(out, ",\"changes\":[");
  page_put_number(out, d->changes_at[0]);
  text_put(out, ",", 1);
  page_put_number(out, d->changes_at[1]);
  text_put_format(out, "]}");
}

/// Settings of constants that are not among the named ones.
static uint32_t other_settings(const Trial* trial, const char* const* names, uint32_t count,
                               SltOverride* out) {
  uint32_t others = 0;
  for (uint32_t i = 0; i < trial->set_count; i++) {
    bool named = false;
    for (uint32_t k = 0; k < count; k++)
      named = named || strcmp(names[k], trial->set[i].name) == 0;
    if (!named) out[others++] = trial->set[i];
  }
  return others;
}

/// The value a parameter has by the page's settings; NaN: the model's.
static double value_set(const Trial* trial, const char* name) {
  for (uint32_t i = 0; i < trial->set_count; i++) {
    if (strcmp(trial->set[i].name, name) == 0) return trial->set[i].value;
  }
  return (double)NAN;
}

void page_sens(Page* page, const Json* json, const JsonNode* request) {
  Trial trial;
  bool good = open_trial(page, json, request, &trial);
  const char* names[TEXTS_MAX];
  double at[TEXTS_MAX];
  uint32_t count = read_texts(json, json_member(json, request, "parameters"), names);
  for (uint32_t i = 0; i < count; i++)
    at[i] = value_set(&trial, names[i]);
  if (good) {
    SltOverride others[TEXTS_MAX];
    Text* out = &page->reply->json;
    Derivatives all = {.trial = &trial, .out = out};
    SltSensOptions options = slt_sens_options();
    options.t_end = trial.t_end;
    options.settings = others;
    options.setting_count = other_settings(&trial, names, count, others);
    options.on_derivative = put_derivative;
    options.cancel = derivatives_over;
    options.user = &all;
    text_put_format(out, "{\"derivatives\":[");
    SltStatus status =
        slt_sens_run(page->model, trial.measures, names, at, count, &options, &trial.problem);
    text_put_format(out, "]}");
    if (status < 0) refuse(page->reply, &trial, status);
  }
  slt_measures_free(trial.measures);
}

// ---- fits ---------------------------------------------------------------------------------------

static void put_fit(Text* out, const SltFitParameter* parameters, uint32_t count,
                    const SltFitResult* result) {
  text_put_format(out, "{\"converged\":%s,\"points\":%llu,\"runs\":%u",
                  result->converged ? "true" : "false", (unsigned long long)result->points,
                  result->runs);
  put_member(out, "rms", result->rms);
  put_member(out, "condition", result->condition);
  text_put_format(out, ",\"parameters\":[");
  for (uint32_t i = 0; i < count; i++) {
    text_put_format(out, "%s{\"name\":", i ? "," : "");
    text_put_json(out, parameters[i].name, strlen(parameters[i].name));
    put_member(out, "value", parameters[i].value);
    put_member(out, "deviation", parameters[i].deviation);
    put_member(out, "low", parameters[i].interval[0]);
    put_member(out, "high", parameters[i].interval[1]);
    text_put_format(out, "}");
  }
  text_put_format(out, "]}");
}

void page_fit(Page* page, const Json* json, const JsonNode* request) {
  Trial trial;
  if (!open_trial(page, json, request, &trial)) return;
  const JsonNode* text = json_member(json, request, "data");
  const char* names[TEXTS_MAX];
  uint32_t count = read_texts(json, json_member(json, request, "parameters"), names);
  SltTable* table = NULL;
  uint32_t line = 0;
  if (!json_text(text) || slt_table_read_csv(text->text, text->length, &table, &line) < 0) {
    page_refuse(page->reply, "line %u of the data: this is no table of numbers", line);
    return;
  }
  SltFitParameter parameters[TEXTS_MAX];
  SltOverride others[TEXTS_MAX];
  uint32_t other_count = other_settings(&trial, names, count, others);
  for (uint32_t i = 0; i < count; i++) {
    parameters[i] = (SltFitParameter){.name = names[i],
                                      .start = value_set(&trial, names[i]),
                                      .lower = (double)-INFINITY,
                                      .upper = (double)INFINITY};
  }
  SltFitData data = {.table = table, .settings = others, .setting_count = other_count};
  SltFitOptions options = slt_fit_options();
  options.cancel = is_over;
  options.user = &trial;
  SltFitResult result = {0};
  SltStatus status =
      slt_fit_run(page->model, &data, 1, parameters, count, &options, &result, &trial.problem);
  if (status < 0) {
    refuse(page->reply, &trial, status);
  } else {
    put_fit(&page->reply->json, parameters, count, &result);
  }
  slt_table_free(table);
}

// SPDX-License-Identifier: MIT
//
// What the workbench asks about a model: compile it, what is in it, how it is built.
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OVERRIDES_MAX 1000

typedef struct Messages {
  Text* out;
  bool any;
} Messages;

static void put_message(void* user, const SltDiagnostic* m) {
  static const char* const severities[] = {"note", "warning", "error"};
  Messages* messages = user;
  Text* out = messages->out;
  page_separate(out, &messages->any);
  text_put_format(out, "{\"severity\":\"%s\",\"code\":\"%s\",\"line\":%u,\"text\":",
                  severities[m->severity], m->code, m->line);
  text_put_json(out, m->rendered, strlen(m->rendered));
  text_put_format(out, "}");
}

/// The members of an object of numbers, at most OVERRIDES_MAX.
static uint32_t read_overrides(const Json* json, const JsonNode* set, SltOverride* out) {
  uint32_t count = 0;
  for (const JsonNode* m = json_first(json, set); m && count < OVERRIDES_MAX;
       m = json_next(json, m)) {
    if (m->key && m->kind == JSON_NUMBER) out[count++] = (SltOverride){m->key, m->number};
  }
  return count;
}

static void put_setting(Text* out, const char* name, double value) {
  if (isnan(value)) return;
  text_put_format(out, "\"%s\":", name);
  page_put_number(out, value);
  text_put(out, ",", 1);
}

static void put_experiment(const SltModel* model, Text* out) {
  SltExperiment e = slt_model_experiment(model);
  text_put_format(out, "{");
  put_setting(out, "start", e.start);
  put_setting(out, "end", e.end);
  put_setting(out, "every", e.every);
  put_setting(out, "rtol", e.rtol);
  put_setting(out, "atol", e.atol);
  text_put_format(out, "\"method\":");
  text_put_json(out, e.method ? e.method : "", e.method ? strlen(e.method) : 0);
  text_put_format(out, ",\"out\":[");
  for (uint32_t i = 0; i < e.out_count; i++) {
    if (i) text_put(out, ",", 1);
    text_put_json(out, e.out[i], strlen(e.out[i]));
  }
  text_put_format(out, "]}");
}

static bool begins_panel(const char* setting) {
  for (uint32_t i = 0; i < slt_figure_key_count(); i++) {
    SltFigureKey key = slt_figure_key(i);
    if (key.begins_panel && strcmp(key.name, setting) == 0) return true;
  }
  return false;
}

/// The model's settings of its picture; NULL: it has no panels, or they cannot be made.
static SltFigure* create_figure(const SltExperiment* e) {
  SltFigure* figure = NULL;
  bool panels = false;
  SltStatus status = slt_figure_create(&figure);
  for (uint32_t i = 0; i < e->plot_count && status >= 0; i++) {
    panels = panels || begins_panel(e->plot[i].name);
    status = slt_figure_set(figure, e->plot[i].name, e->plot[i].text);
  }
  if (status >= 0 && panels) return figure;
  slt_figure_free(figure);
  return NULL;
}

typedef struct Header {
  Text names, row;
} Header;

/// One more column, with a number that any axis has a place for.
static SltStatus add_to_header(void* user, const SltName* name) {
  Header* header = user;
  SltKind kind = name->quantity.kind;
  if (kind != SLT_KIND_VARIABLE && kind != SLT_KIND_MACRO) return SLT_OK;
  for (uint32_t order = 0; order <= name->derivatives; order++) {
    text_put_format(&header->names, ",\"%s%.*s\"", name->name, (int)order, "''''''''");
    text_put_format(&header->row, ",1");
  }
  return SLT_OK;
}

/// A table of one row that has the columns of the model's runs; NULL: there is no memory.
static SltTable* create_columns(const SltModel* model) {
  Header header = {0};
  SltTable* table = NULL;
  text_put_format(&header.names, "time");
  text_put_format(&header.row, "\n1");
  SltStatus status = slt_model_names(model, add_to_header, &header);
  text_put(&header.names, header.row.data, header.row.length);
  if (status >= 0 && !header.names.failed && !header.row.failed)
    slt_table_read_csv(header.names.data, header.names.length, &table, NULL);
  free(header.names.data);
  free(header.row.data);
  return table;
}

/// The panels that the model asks for, as SLT_PLOT_JSON, or null.
static void put_figure(const SltModel* model, Text* out) {
  SltExperiment e = slt_model_experiment(model);
  SltFigure* figure = create_figure(&e);
  SltTable* columns = figure ? create_columns(model) : NULL;
  Text written = {0};
  SltStatus status = columns ? slt_figure_add(figure, columns, "") : SLT_ERR_NOT_FOUND;
  if (status >= 0)
    status = slt_figure_write(figure, SLT_PLOT_JSON, false, (SltWriter){text_keep, &written});
  if (status >= 0 && !written.failed) {
    text_put(out, written.data, written.length);
  } else {
    text_put_format(out, "null");
  }
  free(written.data);
  slt_figure_free(figure);
  slt_table_free(columns);
}

static void put_name(Text* out, const char* key, const char* text) {
  text_put_format(out, "\"%s\":", key);
  text_put_json(out, text, strlen(text));
}

static void put_drawing(const SltModel* model, Text* out) {
  for (uint32_t i = 0; i < slt_model_shape_count(model); i++) {
    SltShape shape = slt_model_shape(model, i);
    text_put_format(out, "%s{", i ? "," : "");
    put_name(out, "kind", shape.kind);
    text_put(out, ",", 1);
    put_name(out, "text", shape.text);
    text_put(out, ",", 1);
    put_name(out, "colour", shape.colour);
    text_put_format(out, ",\"numbers\":[");
    for (uint32_t k = 0; k < shape.number_count; k++) {
      if (k) text_put(out, ",", 1);
      text_put_json(out, shape.numbers[k], strlen(shape.numbers[k]));
    }
    text_put_format(out, "]}");
  }
}

static void put_controls(const SltModel* model, Text* out) {
  for (uint32_t i = 0; i < slt_model_control_count(model); i++) {
    SltControl control = slt_model_control(model, i);
    text_put_format(out, "%s{", i ? "," : "");
    put_name(out, "name", control.name);
    text_put_format(out, ",\"low\":");
    page_put_number(out, control.low);
    text_put_format(out, ",\"high\":");
    page_put_number(out, control.high);
    text_put_format(out, ",\"values\":[");
    for (uint32_t k = 0; k < control.value_count; k++) {
      if (k) text_put(out, ",", 1);
      page_put_number(out, control.values[k]);
    }
    text_put_format(out, "]}");
  }
}

void page_compile(Page* page, const Json* json, const JsonNode* request) {
  Text* out = &page->reply->json;
  const char* path = json_text(json_member(json, request, "path"));
  const JsonNode* text = json_member(json, request, "text");
  if (!path || !json_text(text)) {
    page_refuse(page->reply, "there is nothing to compile");
    return;
  }
  page_run_clear(&page->run);
  slt_model_free(page->model);
  page->model = NULL;
  page_set_base(page, path);
  SltOverride* overrides = malloc(OVERRIDES_MAX * sizeof *overrides);
  if (!overrides) {
    page->reply->failed = true;
    return;
  }
  Messages messages = {.out = out};
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = put_message;
  options.user = &messages;
  options.load = page_load;
  options.load_user = page;
  options.overrides = overrides;
  options.override_count = read_overrides(json, json_member(json, request, "set"), overrides);
  Text reads = {0};
  page->reads = &reads;
  text_put_format(out, "{\"messages\":[");
  SltStatus status = slt_model_compile(path, text->text, text->length, &options, &page->model);
  page->reads = NULL;
  free(overrides);
  text_put_format(out, "],\"ok\":%s,\"reads\":[", status >= 0 ? "true" : "false");
  text_put(out, reads.data ? reads.data : "", reads.length);
  text_put(out, "]", 1);
  free(reads.data);
  if (status >= 0) {
    text_put_format(out, ",\"experiment\":");
    put_experiment(page->model, out);
    text_put_format(out, ",\"figure\":");
    put_figure(page->model, out);
    text_put_format(out, ",\"names\":");
    slt_model_explain(page->model, SLT_EXPLAIN_NAMES, (SltWriter){text_keep, out});
    text_put_format(out, ",\"drawing\":[");
    put_drawing(page->model, out);
    text_put_format(out, "],\"controls\":[");
    put_controls(page->model, out);
    text_put_format(out, "]");
  }
  text_put_format(out, "}");
}

/// A text that the library writes, as {"text":"..."}.
static void put_written(PageReply* reply, SltStatus status, Text* written) {
  if (status < 0) {
    page_refuse(reply, "%s", slt_status_text(status));
  } else {
    text_put_format(&reply->json, "{\"text\":");
    text_put_json(&reply->json, written->data ? written->data : "", written->length);
    text_put_format(&reply->json, "}");
  }
  free(written->data);
}

static bool has_model(Page* page) {
  if (!page->model) page_refuse(page->reply, "there is no model");
  return page->model != NULL;
}

void page_structure(Page* page) {
  if (!has_model(page)) return;
  Text written = {0};
  SltStatus status =
      slt_model_explain(page->model, SLT_EXPLAIN_TEXT, (SltWriter){text_keep, &written});
  put_written(page->reply, status, &written);
}

void page_graph(Page* page) {
  if (!has_model(page)) return;
  Text written = {0};
  SltGraph* graph = NULL;
  SltStatus status = slt_graph_create(page->model, &graph);
  if (status >= 0) {
    page_run_graph(&page->run, graph);
    status = slt_graph_write(graph, "", (SltWriter){text_keep, &written});
  }
  slt_graph_free(graph);
  put_written(page->reply, status, &written);
}

void page_rules(Page* page, const Json* json, const JsonNode* request) {
  const char* path = json_text(json_member(json, request, "path"));
  const JsonNode* text = json_member(json, request, "text");
  const char* form = json_text(json_member(json, request, "form"));
  if (!path || !json_text(text)) {
    page_refuse(page->reply, "there are no tables");
    return;
  }
  page_set_base(page, path);
  SltCompileOptions options = slt_compile_options();
  options.load = page_load;
  options.load_user = page;
  SltRules* rules = NULL;
  Text written = {0};
  SltStatus status = slt_rules_compile(path, text->text, text->length, &options, &rules);
  if (status >= 0) {
    bool equations = form && strcmp(form, "lisma") == 0;
    status = slt_rules_write(rules, equations ? SLT_RULES_LISMA : SLT_RULES_EXPLANATION,
                             (SltWriter){text_keep, &written});
  }
  slt_rules_free(rules);
  put_written(page->reply, status, &written);
}

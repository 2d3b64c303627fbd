// SPDX-License-Identifier: MIT
//
// Public face of figures: argument checks, memory, and the choice of a canvas.
#include "record/record.h"

#include <math.h>
#include <string.h>

#define PLOT_COOKIE 0x506c6f74u

struct SltFigure {
  SltAllocator allocator;
  Arena arena;
  jmp_buf on_oom;  // set anew by every function that may allocate
  FigureWish wish;
  bool failed;  // an event was lost for want of memory
};

bool slt_name_matches(const char* pattern, const char* name) {
  return pattern && name && figure_matches(str_from_c(pattern), str_from_c(name));
}

uint32_t slt_figure_key_count(void) {
  return FIGURE_KEY_COUNT;
}

SltFigureKey slt_figure_key(uint32_t index) {
  if (index >= FIGURE_KEY_COUNT) return (SltFigureKey){.name = NULL};
  const FigureKey* key = &figure_keys[index];
  return (SltFigureKey){.name = key->name,
                        .value = key->value,
                        .about = key->about,
                        .begins_panel = figure_key_begins_panel((FigureKeyId)index),
                        .is_flag = key->kind == FIGURE_FLAG};
}

SltStatus slt_figure_create(SltFigure** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  SltAllocator allocator = base_allocator(NULL);
  SltFigure* figure = base_alloc(&allocator, sizeof *figure);
  *out = figure;
  if (!figure) return SLT_ERR_NOMEM;
  figure->allocator = allocator;
  arena_init(&figure->arena, &allocator, &figure->on_oom);
  figure_init(&figure->wish, &figure->arena);
  return SLT_OK;
}

void slt_figure_free(SltFigure* figure) {
  if (!figure) return;
  SltAllocator allocator = figure->allocator;
  arena_free(&figure->arena);
  base_free(&allocator, figure, sizeof *figure);
}

SltStatus slt_figure_set(SltFigure* figure, const char* key, const char* value) {
  if (!figure || !key || !value) return SLT_ERR_ARGUMENT;
  FigureKeyId id = figure_key_find(str_from_c(key));
  if (id == FIGURE_KEY_COUNT) return SLT_ERR_NOT_FOUND;
  if (!figure_value_fits(id, str_from_c(value))) return SLT_ERR_ARGUMENT;
  if (setjmp(figure->on_oom)) return SLT_ERR_NOMEM;
  figure_set(&figure->wish, id, str_from_c(value));
  return SLT_OK;
}

SltStatus slt_figure_add(SltFigure* figure, const SltTable* table, const char* name) {
  if (!figure || !table || !name) return SLT_ERR_ARGUMENT;
  if (setjmp(figure->on_oom)) return SLT_ERR_NOMEM;
  FigureTable entry = {table, str_copy(&figure->arena, str_from_c(name))};
  base_vec_push(&figure->arena, &figure->wish.tables, entry);
  return SLT_OK;
}

SltStatus slt_figure_columns(SltFigure* figure, const char* names) {
  if (!figure || !names) return SLT_ERR_ARGUMENT;
  if (setjmp(figure->on_oom)) return SLT_ERR_NOMEM;
  figure->wish.names = str_copy(&figure->arena, str_from_c(names));
  return SLT_OK;
}

/// Names repeat: keep one of each.
static Str kept_name(SltFigure* figure, const char* name, Str last) {
  if (!name) return (Str){0};
  return str_equal(last, str_from_c(name)) ? last : str_copy(&figure->arena, str_from_c(name));
}

void slt_figure_event(void* user, const SltEvent* event) {
  SltFigure* figure = user;
  if (!figure || !event) return;
  figure->wish.has_records = true;
  if (event->kind == SLT_EVENT_INITIAL) return;
  if (setjmp(figure->on_oom)) {
    figure->failed = true;
    return;
  }
  uint32_t count = figure->wish.events.count;
  FigureEvent last = {0};
  if (count) last = figure->wish.events.data[count - 1];
  FigureEvent kept = {.t = event->t,
                      .kind = events_kind_text(event->kind),
                      .class = events_class_text(event->event_class),
                      .automaton = kept_name(figure, event->automaton, last.automaton),
                      .to = kept_name(figure, event->to, last.to)};
  base_vec_push(&figure->arena, &figure->wish.events, kept);
}

typedef struct Drawing {
  const Figure* figure;
  Arena* arena;
} Drawing;

/// Memory that runs out here must not take the canvas's with it.
static SltStatus draw_guarded(void* user, const PlotCanvas* canvas) {
  const Drawing* drawing = user;
  Arena* arena = drawing->arena;
  jmp_buf on_oom;
  jmp_buf* outer = arena->on_oom;
  arena->on_oom = &on_oom;
  SltStatus status = SLT_ERR_NOMEM;
  if (!setjmp(on_oom)) status = figure_draw(drawing->figure, canvas, arena);
  arena->on_oom = outer;
  return status;
}

static SltStatus draw(const Figure* figure, SltPlotFormat format, Sink* sink, Arena* arena) {
  Drawing drawing = {figure, arena};
  if (format == SLT_PLOT_TERMINAL) return figure_text(figure, sink, arena);
  if (format == SLT_PLOT_JSON) return figure_json(figure, sink, arena);
  return plot_on(format, draw_guarded, &drawing, sink);
}

/// Plan and draw with memory of its own.
static SltStatus write_figure(FigureWish* wish, SltPlotFormat format, SltWriter writer, Str* bad) {
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  jmp_buf on_oom;
  Arena arena;
  arena_init(&arena, NULL, &on_oom);
  SltStatus status = SLT_ERR_NOMEM;
  if (!setjmp(on_oom)) {
    Figure figure;
    status = figure_plan(wish, &arena, &figure, bad);
    if (status >= 0) status = draw(&figure, format, &sink, &arena);
  }
  arena_free(&arena);
  sink_clear(&sink);
  return status;
}

const char* slt_figure_missing(SltFigure* figure) {
  if (!figure || setjmp(figure->on_oom)) return NULL;
  Figure planned;
  Str bad = {0};
  SltStatus status = figure_plan(&figure->wish, &figure->arena, &planned, &bad);
  return status == SLT_ERR_NOT_FOUND ? str_copy(&figure->arena, bad).data : NULL;
}

SltStatus slt_figure_write(SltFigure* figure, SltPlotFormat format, bool colour, SltWriter writer) {
  if (!figure || !writer.write) return SLT_ERR_ARGUMENT;
  if (figure->failed) return SLT_ERR_NOMEM;
  figure->wish.colour = colour;
  Str bad = {0};
  return write_figure(&figure->wish, format, writer, &bad);
}

// ---- pictures of one table ----------------------------------------------------------------------

SltPlotOptions slt_plot_options(void) {
  return (SltPlotOptions){.format = SLT_PLOT_SVG, .cookie = PLOT_COOKIE};
}

/// Names as a list of a figure: in backquotes, so that they are taken as they are.
static Str quoted_names(Arena* arena, const SltPlotOptions* options) {
  TextBuffer list = {.arena = arena};
  for (uint32_t i = 0; i < options->name_count; i++) {
    if (i) text_append_char(&list, ',');
    text_append_char(&list, '`');
    text_append_c(&list, options->names[i]);
    text_append_char(&list, '`');
  }
  return text_str(&list);
}

static SltStatus plot(const SltTable* table, const SltPlotOptions* options, SltWriter writer,
                      Arena* arena, const char** bad_name) {
  FigureWish wish;
  figure_init(&wish, arena);
  wish.colour = options->colour;
  if (options->title) wish.title = str_from_c(options->title);
  if (options->x) wish.x = str_from_c(options->x);
  if (options->names) wish.names = quoted_names(arena, options);
  if (options->names && options->name_count == 0) return SLT_ERR_ARGUMENT;
  if (options->width) wish.size[0] = options->width;
  if (options->height) wish.size[1] = options->height;
  base_vec_push(arena, &wish.tables, (FigureTable){.table = table});
  Str bad = {0};
  SltStatus status = write_figure(&wish, options->format, writer, &bad);
  if (status != SLT_ERR_NOT_FOUND || !bad_name) return status;
  *bad_name = options->x;
  for (uint32_t i = 0; i < options->name_count; i++) {
    if (str_equal(bad, str_from_c(options->names[i]))) *bad_name = options->names[i];
  }
  return status;
}

SltStatus slt_table_plot(const SltTable* table, const SltPlotOptions* options, SltWriter writer,
                         const char** bad_name) {
  if (bad_name) *bad_name = NULL;
  if (!table || !options || options->cookie != PLOT_COOKIE || !writer.write) {
    return SLT_ERR_ARGUMENT;
  }
  if (!options->names && options->name_count > 0) return SLT_ERR_ARGUMENT;
  jmp_buf on_oom;
  Arena arena;
  arena_init(&arena, NULL, &on_oom);
  SltStatus status = SLT_ERR_NOMEM;
  if (!setjmp(on_oom)) status = plot(table, options, writer, &arena, bad_name);
  arena_free(&arena);
  return status;
}

// SPDX-License-Identifier: MIT
//
// Diagnostics as text for people. Source text is shown to a terminal, so nothing in it may act on
// the terminal: control characters, invalid UTF-8 and characters that reorder text become '?'.
#include "base/base.h"

#define WINDOW_MAX    160  // characters of a source line that are shown
#define WINDOW_BEFORE 60   // of these, before the span when the line is cut

#define STYLE_RESET "\033[0m"
#define STYLE_BOLD  "\033[1m"
#define STYLE_CYAN  "\033[1;36m"

typedef struct Renderer {
  TextBuffer out;
  const Source* source;
  const char* accent;  // colour of the carets
  bool colour;
} Renderer;

static void style(Renderer* r, const char* sequence) {
  if (r->colour) text_append_c(&r->out, sequence);
}

/// Append one character of `s` at `at` in harmless form; returns its length in bytes.
static uint32_t append_character(TextBuffer* out, Str s, uint32_t at) {
  uint32_t code = 0;
  uint32_t size = utf8_decode(s.data + at, s.length - at, &code);
  if (size && utf8_is_printable(code)) {
    text_append(out, (Str){s.data + at, size});
  } else {
    text_append_char(out, code == '\t' ? ' ' : '?');
  }
  return size ? size : 1;
}

static void append_clean(TextBuffer* out, Str s) {
  for (uint32_t i = 0; i < s.length;) {
    i += append_character(out, s, i);
  }
}

static void append_repeated(TextBuffer* out, char c, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    text_append_char(out, c);
  }
}

/// Characters [first, first + count) of a line.
static void append_window(TextBuffer* out, Str line, uint32_t first, uint32_t count) {
  uint32_t i = 0;
  for (uint32_t column = 0; column < first && i < line.length; column++) {
    uint32_t size = utf8_decode(line.data + i, line.length - i, NULL);
    i += size ? size : 1;
  }
  for (uint32_t shown = 0; shown < count && i < line.length; shown++) {
    i += append_character(out, line, i);
  }
}

/// Characters of the span on its first line; an empty one still gets a caret. `line` counts in the
/// whole text.
static uint32_t underline_length(const Source* source, Span span, uint32_t line) {
  Str text = source_line(source, line);
  uint32_t line_begin = source->line_starts[line - 1];
  uint32_t line_end = line_begin + text.length;
  uint32_t begin = span.begin < line_end ? span.begin : line_end;
  uint32_t end = span.end < line_end ? span.end : line_end;
  if (end <= begin) return 1;
  return utf8_count((Str){source->text.data + begin, end - begin});
}

/// The line of the span with carets under it.
static void render_excerpt(Renderer* r, Span written) {
  const Source* source = r->source;
  Span span = source_shown(source, written);
  uint32_t line = 0;
  uint32_t column = 0;
  source_place(source, span.begin, &line, &column);
  const SourcePart* part = source_part(source, span.begin);
  uint32_t whole = line + (part ? part->first_line - 1 : 0);
  Str text = source_line(source, whole);
  uint32_t width = utf8_count(text);
  if (column > width + 1) column = width + 1;  // inside the line's end
  uint32_t carets = underline_length(source, span, whole);

  // a long line is cut to a window that starts a little before the span
  uint32_t first = 0;
  if (width > WINDOW_MAX && column - 1 + carets > WINDOW_MAX) {
    first = column - 1 > WINDOW_BEFORE ? column - 1 - WINDOW_BEFORE : 0;
    if (first > width - WINDOW_MAX) first = width - WINDOW_MAX;
  }
  bool cut_left = first > 0;
  bool cut_right = width > first + WINDOW_MAX;
  uint32_t indent = column - 1 - first;
  uint32_t room = WINDOW_MAX > indent ? WINDOW_MAX - indent : 1;
  if (carets > room) carets = room;

  style(r, STYLE_CYAN);
  text_append_format(&r->out, "%5u |", line);
  style(r, STYLE_RESET);
  if (width) text_append_char(&r->out, ' ');
  if (cut_left) text_append_c(&r->out, "…");
  append_window(&r->out, text, first, WINDOW_MAX);
  if (cut_right) text_append_c(&r->out, "…");
  text_append_char(&r->out, '\n');

  style(r, STYLE_CYAN);
  text_append_c(&r->out, "      |");
  style(r, STYLE_RESET);
  append_repeated(&r->out, ' ', indent + (cut_left ? 2 : 1));
  style(r, r->accent);
  append_repeated(&r->out, '^', carets);
  style(r, STYLE_RESET);
  text_append_char(&r->out, '\n');
}

static bool has_text(const Renderer* r) {
  return r->source && r->source->text.length > 0;
}

/// "name:line:column: "; without a text only the name, as far as there is one.
static void render_place(Renderer* r, Span span) {
  if (!r->source) return;
  style(r, STYLE_BOLD);
  append_clean(&r->out, source_name(r->source, span.begin));
  if (has_text(r)) {
    uint32_t line = 0;
    uint32_t column = 0;
    source_place(r->source, span.begin, &line, &column);
    text_append_format(&r->out, ":%u:%u", line, column);
  }
  if (has_text(r) || r->source->name.length) text_append_char(&r->out, ':');
  style(r, STYLE_RESET);
  text_append_char(&r->out, ' ');
}

static const char* severity_word(SltSeverity severity) {
  switch (severity) {
  case SLT_ERROR: return "error";
  case SLT_WARNING: return "warning";
  case SLT_NOTE: break;
  }
  return "note";
}

static const char* severity_colour(SltSeverity severity) {
  switch (severity) {
  case SLT_ERROR: return "\033[1;31m";
  case SLT_WARNING: return "\033[1;33m";
  case SLT_NOTE: break;
  }
  return STYLE_CYAN;
}

static void render_notes(Renderer* r, const Diag* diag) {
  r->accent = STYLE_CYAN;
  for (uint32_t i = 0; i < diag->notes.count; i++) {
    const DiagNote* note = &diag->notes.data[i];
    text_append_c(&r->out, "  ");
    render_place(r, note->span);
    style(r, STYLE_CYAN);
    text_append_c(&r->out, "note");
    style(r, STYLE_RESET);
    text_append_c(&r->out, ": ");
    append_clean(&r->out, note->text);
    text_append_char(&r->out, '\n');
    if (has_text(r)) render_excerpt(r, note->span);
  }
}

Str diag_render(Arena* arena, const Source* source, const Diag* diag, bool colour) {
  SltSeverity severity = diag_code_severity(diag->code);
  Renderer r = {.out = {.arena = arena},
                .source = source,
                .accent = severity_colour(severity),
                .colour = colour};
  render_place(&r, diag->span);
  style(&r, r.accent);
  text_append_format(&r.out, "%s[%s]", severity_word(severity), diag_code_text(diag->code));
  style(&r, STYLE_RESET);
  text_append_c(&r.out, ": ");
  style(&r, STYLE_BOLD);
  append_clean(&r.out, diag->message);
  style(&r, STYLE_RESET);
  text_append_char(&r.out, '\n');
  if (has_text(&r)) render_excerpt(&r, diag->span);

  if (diag->hint.length) {
    style(&r, STYLE_CYAN);
    text_append_c(&r.out, "  = hint");
    style(&r, STYLE_RESET);
    text_append_c(&r.out, ": ");
    append_clean(&r.out, diag->hint);
    text_append_char(&r.out, '\n');
  }
  render_notes(&r, diag);
  return text_str(&r.out);
}

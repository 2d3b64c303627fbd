// SPDX-License-Identifier: MIT
#include "base/diag.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct CodeInfo {
  const char* text;
  const char* name;
  SltSeverity severity;
  const char* title;
} CodeInfo;

static const CodeInfo code_info[] = {
#define X(id, text, name, severity, title) {text, name, severity, title},
#include "base/diag_codes.def"
#undef X
    {"E0000", "E_UNKNOWN", SLT_ERROR, "unknown code"},
};

static const CodeInfo* info_of(DiagCode code) {
  size_t last = SLT_COUNT(code_info) - 1;
  size_t index = (size_t)code;
  return &code_info[index < last ? index : last];
}

const char* diag_code_text(DiagCode code) {
  return info_of(code)->text;
}

const char* diag_code_name(DiagCode code) {
  return info_of(code)->name;
}

const char* diag_code_title(DiagCode code) {
  return info_of(code)->title;
}

SltSeverity diag_code_severity(DiagCode code) {
  return info_of(code)->severity;
}

void source_init(Source* source, Arena* arena, Str name, Str text) {
  *source = (Source){.name = name, .text = text, .line_count = 1};
  for (uint32_t i = 0; i < text.length; i++) {
    source->line_count += text.data[i] == '\n';
  }
  source->line_starts = ARENA_ARRAY(arena, uint32_t, source->line_count);
  uint32_t line = 1;
  for (uint32_t i = 0; i < text.length; i++) {
    if (text.data[i] == '\n') source->line_starts[line++] = i + 1;
  }
}

const SourcePart* source_part(const Source* source, uint32_t offset) {
  const SourcePart* found = NULL;
  for (uint32_t i = 0; i < source->part_count && source->parts[i].begin <= offset; i++) {
    found = &source->parts[i];
  }
  return found;
}

Span source_shown(const Source* source, Span span) {
  const SourcePart* part = source_part(source, span.begin);
  return part && part->generated ? part->asked_at : span;
}

static uint32_t shown_offset(const Source* source, uint32_t offset) {
  if (offset > source->text.length) offset = source->text.length;
  return source_shown(source, (Span){offset, offset}).begin;
}

Str source_name(const Source* source, uint32_t offset) {
  const SourcePart* part = source_part(source, shown_offset(source, offset));
  return part ? part->name : source->name;
}

/// Index of the line in the whole text.
static uint32_t find_line(const Source* source, uint32_t offset) {
  uint32_t low = 0;
  uint32_t high = source->line_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (source->line_starts[middle] <= offset) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

uint32_t source_line_number(const Source* source, uint32_t offset) {
  offset = shown_offset(source, offset);
  const SourcePart* part = source_part(source, offset);
  return find_line(source, offset) + 1 - (part ? part->first_line - 1 : 0);
}

void source_place(const Source* source, uint32_t offset, uint32_t* line, uint32_t* column) {
  offset = shown_offset(source, offset);
  uint32_t start = source->line_starts[find_line(source, offset)];
  *line = source_line_number(source, offset);
  *column = 1;
  if (offset > start) *column += utf8_count((Str){source->text.data + start, offset - start});
}

Str source_line(const Source* source, uint32_t line) {
  if (line == 0 || line > source->line_count) return STR_LIT("");
  uint32_t begin = source->line_starts[line - 1];
  uint32_t end = line < source->line_count ? source->line_starts[line] - 1 : source->text.length;
  if (begin == end) return STR_LIT("");
  if (source->text.data[end - 1] == '\r') end--;
  return (Str){source->text.data + begin, end - begin};
}

void diag_init(DiagList* list, Arena* arena, const Source* source) {
  *list = (DiagList){.arena = arena, .source = source};
}

/// Errors and warnings have separate limits: a flood of warnings must not hide the error.
static bool diag_count(DiagList* list, SltSeverity severity) {
  if (severity == SLT_ERROR) return list->error_count++ < DIAG_LIMIT;
  if (severity == SLT_WARNING) return list->warning_count++ < DIAG_LIMIT;
  return list->items.count < 3 * DIAG_LIMIT;
}

/// Beyond the limit callers get the free slot behind the kept items: reused and never shown.
static bool is_scratch(const DiagList* list, const Diag* diag) {
  return diag == list->items.data + list->items.count;
}

bool diag_is_kept(const DiagList* list, const Diag* diag) {
  return !is_scratch(list, diag);
}

/// A mistake in a part or a loop is met once for each instance, and reported once.
static bool diag_is_known(const DiagList* list, const Diag* diag) {
  for (uint32_t i = 0; i < list->items.count; i++) {
    const Diag* known = &list->items.data[i];
    bool same = known->code == diag->code && known->span.begin == diag->span.begin &&
                known->span.end == diag->span.end;
    if (same && str_equal(known->message, diag->message)) return true;
  }
  return false;
}

Diag* diag_add(DiagList* list, DiagCode code, Span span, const char* format, ...) {
  bool kept = diag_count(list, diag_code_severity(code));
  base_vec_reserve(list->arena, &list->items, 1);
  Diag* diag = &list->items.data[list->items.count];
  *diag = (Diag){.code = code, .span = span};
  if (!kept) return diag;

  va_list args;
  va_start(args, format);
  diag->message = str_format_va(list->arena, format, args);
  va_end(args);
  if (diag_is_known(list, diag)) return diag;
  list->items.count++;
  return diag;
}

void diag_hint(DiagList* list, Diag* diag, const char* format, ...) {
  if (is_scratch(list, diag)) return;
  va_list args;
  va_start(args, format);
  diag->hint = str_format_va(list->arena, format, args);
  va_end(args);
}

void diag_note(DiagList* list, Diag* diag, Span span, const char* format, ...) {
  if (is_scratch(list, diag)) return;
  va_list args;
  va_start(args, format);
  Str text = str_format_va(list->arena, format, args);
  va_end(args);
  base_vec_push(list->arena, &diag->notes, (DiagNote){.span = span, .text = text});
}

void diag_copy(DiagList* list, const Diag* diag) {
  Diag* copy = diag_add(list, diag->code, diag->span, "%.*s", STR_ARGS(diag->message));
  if (diag->hint.length) diag_hint(list, copy, "%.*s", STR_ARGS(diag->hint));
  for (uint32_t i = 0; i < diag->notes.count; i++) {
    const DiagNote* note = &diag->notes.data[i];
    diag_note(list, copy, note->span, "%.*s", STR_ARGS(note->text));
  }
}

void diag_sort(DiagList* list) {
  // insertion sort: stable, and the list is short and nearly in order
  for (uint32_t i = 1; i < list->items.count; i++) {
    Diag moving = list->items.data[i];
    uint32_t at = i;
    for (; at > 0 && list->items.data[at - 1].span.begin > moving.span.begin; at--) {
      list->items.data[at] = list->items.data[at - 1];
    }
    list->items.data[at] = moving;
  }
}

// SPDX-License-Identifier: MIT
//
// Diagnostics: what is wrong with a model, where, and what to do about it.
//
// Every message has a code from diag_codes.h, a span, and optionally a hint and notes that point at
// other places. A list keeps up to DIAG_LIMIT errors; what comes after is counted, not kept.
#ifndef SALTUS_BASE_DIAG_H
#define SALTUS_BASE_DIAG_H

#include "base/text.h"

#define DIAG_LIMIT 100  // errors kept per compilation

typedef enum DiagCode {
#define X(id, text, name, severity, title) DIAG_##id,
#include "base/diag_codes.def"
#undef X
  DIAG_CODE_COUNT
} DiagCode;

/// A file inside a text that was put together from several.
typedef struct SourcePart {
  Str name;
  Str asked;            // the name it was asked for by, relative to the folder of the text
  uint32_t begin;       // offset of its first byte
  uint32_t first_line;  // 1-based, in the whole text
  bool generated;       // nobody has written it: it stands for a file in another form
  Span asked_at;        // where a generated one was asked for
} SourcePart;

/// A text with a name, and the starts of its lines.
typedef struct Source {
  Str name;
  Str text;
  uint32_t* line_starts;
  uint32_t line_count;
  const SourcePart* parts;  // in order of `begin`; what lies before the first belongs to `name`
  uint32_t part_count;
} Source;

void source_init(Source* source, Arena* arena, Str name, Str text);
/// The place to show for a span: what nobody has written is shown where it was asked for.
Span source_shown(const Source* source, Span span);
/// 1-based line and column (in characters) of a byte offset, counted inside its part.
void source_place(const Source* source, uint32_t offset, uint32_t* line, uint32_t* column);
/// The line alone: cheap, however long the line is.
uint32_t source_line_number(const Source* source, uint32_t offset);
/// One line of the whole text without its end; `line` is 1-based.
Str source_line(const Source* source, uint32_t line);
/// The part an offset lies in; NULL when it belongs to the source itself.
const SourcePart* source_part(const Source* source, uint32_t offset);
/// Name of the file an offset lies in.
Str source_name(const Source* source, uint32_t offset);

typedef struct DiagNote {
  Span span;
  Str text;
} DiagNote;

typedef struct Diag {
  DiagCode code;
  Span span;
  Str message;  // lower case, no full stop
  Str hint;     // empty when there is none
  BASE_VEC(DiagNote) notes;
} Diag;

typedef struct DiagList {
  Arena* arena;
  const Source* source;
  BASE_VEC(Diag) items;
  uint32_t error_count;    // all errors, kept or not
  uint32_t warning_count;  // all warnings
} DiagList;

void diag_init(DiagList* list, Arena* arena, const Source* source);

/// Whether a message will be shown; hints that are costly to find are not worth it otherwise.
bool diag_is_kept(const DiagList* list, const Diag* diag);

/// Add a message; the returned pointer is valid until the next diag_add. Never NULL: beyond the
/// limit it is a scratch object that nobody shows.
Diag* diag_add(DiagList* list, DiagCode code, Span span, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_hint(DiagList* list, Diag* diag, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_note(DiagList* list, Diag* diag, Span span, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

/// Add a message of another list, with its hint and notes.
void diag_copy(DiagList* list, const Diag* diag);

/// Sort by place, stable.
void diag_sort(DiagList* list);

const char* diag_code_text(DiagCode code);   // "E0203"
const char* diag_code_name(DiagCode code);   // "E_UNKNOWN_NAME"
const char* diag_code_title(DiagCode code);  // one line for the manual
SltSeverity diag_code_severity(DiagCode code);

/// "name:line:column: error[E0203]: message", the source line with carets, hint, notes. Every line
/// ends with a newline. An empty text (a message about the file itself) shows no place or line.
Str diag_render(Arena* arena, const Source* source, const Diag* diag, bool colour);

#endif

// SPDX-License-Identifier: MIT
//
// Rows of a sweep as CSV. Lines are made whole before they are written: whatever ends a sweep
// leaves whole lines behind, and every row is one line.
#include "experiment/design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct SltSweepText {
  const SltDesign* design;
  const SltMeasures* measures;
  const char* const* own_names;
  uint32_t own_count;
  SltWriter writer;
  Sha256 hash;
  char* line;
  size_t length, capacity;
  bool failed;  // out of memory
};

SltStatus slt_sweep_text_create(const SltDesign* design, const SltMeasures* measures,
                                const char* const* own_names, uint32_t own_count, SltWriter writer,
                                SltSweepText** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!design || !writer.write || (own_count > 0 && !own_names)) return SLT_ERR_ARGUMENT;
  SltSweepText* text = calloc(1, sizeof *text);
  if (!text) return SLT_ERR_NOMEM;
  text->design = design;
  text->measures = measures;
  text->own_names = own_names;
  text->own_count = own_count;
  text->writer = writer;
  sha256_init(&text->hash);
  *out = text;
  return SLT_OK;
}

void slt_sweep_text_free(SltSweepText* text) {
  if (!text) return;
  free(text->line);
  free(text);
}

// ---- cells --------------------------------------------------------------------------------------

static void put(SltSweepText* text, const char* data, size_t length) {
  if (text->length + length > text->capacity) {
    size_t capacity = 2 * (text->length + length) + 64;
    char* line = realloc(text->line, capacity);
    text->failed |= !line;
    if (!line) return;
    text->line = line;
    text->capacity = capacity;
  }
  memcpy(text->line + text->length, data, length);
  text->length += length;
}

/// A cell of text; a line end inside of it becomes a blank.
static void put_text(SltSweepText* text, const char* cell) {
  if (text->length > 0) put(text, ",", 1);
  bool quote = strpbrk(cell, ",\"\r\n") != NULL;
  if (quote) put(text, "\"", 1);
  for (const char* at = cell; *at; at++) {
    bool line_end = *at == '\n' || *at == '\r';
    if (*at == '"') put(text, "\"", 1);
    put(text, line_end ? " " : at, 1);
  }
  if (quote) put(text, "\"", 1);
}

static void put_number(SltSweepText* text, double value) {
  char number[NUMBER_TEXT_MAX];
  put(text, ",", 1);
  if (!isnan(value)) put(text, number, number_write(number, value));
}

static SltStatus end_line(SltSweepText* text) {
  put(text, "\n", 1);
  if (text->failed) return SLT_ERR_NOMEM;
  SltStatus status = text->writer.write(text->writer.user, text->line, text->length);
  sha256_add(&text->hash, text->line, text->length);
  text->length = 0;
  return status;
}

// ---- lines --------------------------------------------------------------------------------------

SltStatus slt_sweep_text_header(SltSweepText* text) {
  if (!text) return SLT_ERR_ARGUMENT;
  put_text(text, "member");
  for (uint32_t i = 0; i < text->design->count; i++)
    put_text(text, slt_design_parameter_name(text->design, i));
  for (uint32_t i = 0; i < slt_measures_count(text->measures); i++)
    put_text(text, slt_measures_name(text->measures, i));
  for (uint32_t i = 0; i < text->own_count; i++)
    put_text(text, text->own_names[i]);
  put_text(text, "status");
  put_text(text, "message");
  return end_line(text);
}

/// "E0802: why", or an empty cell.
static void put_message(SltSweepText* text, const SltSweepRow* row) {
  char cell[600] = "";
  const char* code = row->code ? row->code : "";
  size_t used = strlen(code) < 32 ? strlen(code) : 0;
  size_t length = row->message ? strlen(row->message) : 0;
  if (length > sizeof cell - 36) length = sizeof cell - 36;
  memcpy(cell, code, used);
  if (used > 0) {
    memcpy(cell + used, ": ", 2);
    used += 2;
  }
  if (length > 0) memcpy(cell + used, row->message, length);
  cell[used + length] = '\0';
  put_text(text, cell);
}

SltStatus slt_sweep_text_row(SltSweepText* text, const SltSweepRow* row) {
  if (!text || !row) return SLT_ERR_ARGUMENT;
  char number[NUMBER_TEXT_MAX];
  put(text, number, number_write(number, (double)row->member));
  for (uint32_t i = 0; i < text->design->count; i++)
    put_number(text, row->parameters[i]);
  for (uint32_t i = 0; i < slt_measures_count(text->measures) + text->own_count; i++)
    put_number(text, row->values[i]);
  put_text(text, row->status < 0 ? "failed" : row->status == SLT_END ? "stopped" : "done");
  put_message(text, row);
  return end_line(text);
}

void slt_sweep_text_seen(SltSweepText* text, const char* data, size_t length) {
  if (text && data) sha256_add(&text->hash, data, length);
}

void slt_sweep_text_digest(const SltSweepText* text, char out[SLT_DIGEST_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  Sha256 copy = text->hash;
  Digest digest = sha256_digest(&copy);
  for (size_t i = 0; i < DIGEST_BYTES; i++) {
    out[2 * i] = digits[digest.bytes[i] >> 4];
    out[2 * i + 1] = digits[digest.bytes[i] & 15];
  }
  out[SLT_DIGEST_TEXT - 1] = '\0';
}

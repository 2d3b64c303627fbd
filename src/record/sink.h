// SPDX-License-Identifier: MIT
//
// A buffered way to a caller's SltWriter. Small pieces are collected; the writer sees large ones,
// and only whole units (rows, lines) as long as a unit fits the buffer, so that what is written
// before a failure can be read. The first error sticks: later output is dropped.
#ifndef SALTUS_RECORD_SINK_H
#define SALTUS_RECORD_SINK_H

#include "base/base.h"

#define SINK_BYTES ((size_t)64 << 10)

typedef struct Sink {
  SltWriter writer;
  SltAllocator allocator;
  char* data;
  size_t used;
  size_t complete;   // bytes up to the end of the last whole unit
  SltStatus status;  // the first error, else SLT_OK
} Sink;

/// Takes its buffer at once. A writer without a function swallows everything.
SltStatus sink_init(Sink* sink, SltWriter writer);
/// Frees the buffer without writing it.
void sink_clear(Sink* sink);
/// Hand everything to the writer.
SltStatus sink_flush(Sink* sink);

/// A place for `length` more bytes after writing what is complete; NULL when none are wanted.
char* sink_make_room(Sink* sink, size_t length);

/// The same where there is room already. `length` is far below the buffer's size; add what was
/// written to `used`.
static inline char* sink_room(Sink* sink, size_t length) {
  bool ready = sink->data && sink->status >= 0 && SINK_BYTES - sink->used >= length;
  return ready ? sink->data + sink->used : sink_make_room(sink, length);
}

void sink_bytes(Sink* sink, const char* data, size_t length);
void sink_str(Sink* sink, Str text);
void sink_c(Sink* sink, const char* text);
void sink_char(Sink* sink, char c);
void sink_unsigned(Sink* sink, uint64_t value);
/// Shortest decimal that reads back to the same double.
void sink_double(Sink* sink, double value);
/// Two decimals at most, trailing zeros dropped; for coordinates of pictures.
void sink_coordinate(Sink* sink, double value);
/// A text of JSON, in quotes; null for NULL. UTF-8 stays as it is, bytes that are none become
/// U+FFFD.
void sink_json(Sink* sink, const char* text);
/// What was written so far may be read on its own.
void sink_end_unit(Sink* sink);

#endif

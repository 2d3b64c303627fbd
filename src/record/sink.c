// SPDX-License-Identifier: MIT
#include "record/sink.h"

#include <math.h>
#include <string.h>

SltStatus sink_init(Sink* sink, SltWriter writer) {
  *sink = (Sink){.writer = writer, .allocator = base_allocator(NULL), .status = SLT_OK};
  if (!writer.write) return SLT_OK;
  sink->data = base_alloc(&sink->allocator, SINK_BYTES);
  if (!sink->data) sink->status = SLT_ERR_NOMEM;
  return sink->status;
}

void sink_clear(Sink* sink) {
  base_free(&sink->allocator, sink->data, SINK_BYTES);
  *sink = (Sink){.status = SLT_OK};
}

static void sink_write(Sink* sink, const char* data, size_t length) {
  if (length == 0 || sink->status < 0 || !sink->writer.write) return;
  SltStatus status = sink->writer.write(sink->writer.user, data, length);
  if (status < 0) sink->status = status;
}

/// Make room: write the whole units, or everything when one unit alone fills the buffer.
static void sink_drain(Sink* sink) {
  size_t count = sink->complete ? sink->complete : sink->used;
  sink_write(sink, sink->data, count);
  memmove(sink->data, sink->data + count, sink->used - count);
  sink->used -= count;
  sink->complete = 0;
}

SltStatus sink_flush(Sink* sink) {
  sink_write(sink, sink->data, sink->used);
  sink->used = 0;
  sink->complete = 0;
  return sink->status;
}

char* sink_make_room(Sink* sink, size_t length) {
  if (!sink->data || sink->status < 0) return NULL;
  while (SINK_BYTES - sink->used < length)
    sink_drain(sink);
  return sink->data + sink->used;
}

void sink_bytes(Sink* sink, const char* data, size_t length) {
  while (length > 0) {
    size_t piece = length < SINK_BYTES / 4 ? length : SINK_BYTES / 4;
    char* to = sink_room(sink, piece);
    if (!to) return;
    memcpy(to, data, piece);
    sink->used += piece;
    data += piece;
    length -= piece;
  }
}

void sink_str(Sink* sink, Str text) {
  sink_bytes(sink, text.data, text.length);
}

void sink_c(Sink* sink, const char* text) {
  sink_bytes(sink, text, strlen(text));
}

void sink_char(Sink* sink, char c) {
  char* to = sink_room(sink, 1);
  if (!to) return;
  *to = c;
  sink->used++;
}

void sink_unsigned(Sink* sink, uint64_t value) {
  char digits[24];
  size_t at = sizeof digits;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  sink_bytes(sink, digits + at, sizeof digits - at);
}

void sink_double(Sink* sink, double value) {
  char* to = sink_room(sink, NUMBER_TEXT_MAX);
  if (to) sink->used += number_write(to, value);
}

void sink_coordinate(Sink* sink, double value) {
  if (!(fabs(value) < 1e9)) value = 0.0;  // a picture has no such place; keep the file readable
  long long hundredths = llround(value * 100.0);
  if (hundredths < 0) {
    sink_char(sink, '-');
    hundredths = -hundredths;
  }
  sink_unsigned(sink, (uint64_t)(hundredths / 100));
  unsigned rest = (unsigned)(hundredths % 100);
  if (rest == 0) return;
  sink_char(sink, '.');
  sink_char(sink, (char)('0' + rest / 10));
  if (rest % 10) sink_char(sink, (char)('0' + rest % 10));
}

static void write_control(Sink* sink, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  const char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
  sink_bytes(sink, escape, sizeof escape);
}

void sink_json(Sink* sink, const char* text) {
  if (!text) {
    sink_c(sink, "null");
    return;
  }
  sink_char(sink, '"');
  size_t length = strlen(text);
  for (size_t i = 0; i < length;) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x80) {
      uint32_t size = utf8_decode(text + i, length - i, NULL);
      sink_bytes(sink, size ? text + i : "\xEF\xBF\xBD", size ? size : 3);
      i += size ? size : 1;
      continue;
    }
    i++;
    switch (c) {
    case '"': sink_c(sink, "\\\""); break;
    case '\\': sink_c(sink, "\\\\"); break;
    case '\n': sink_c(sink, "\\n"); break;
    case '\r': sink_c(sink, "\\r"); break;
    case '\t': sink_c(sink, "\\t"); break;
    default:
      if (c < 0x20 || c == 0x7f) {
        write_control(sink, c);
      } else {
        sink_char(sink, (char)c);
      }
    }
  }
  sink_char(sink, '"');
}

void sink_end_unit(Sink* sink) {
  sink->complete = sink->used;
}

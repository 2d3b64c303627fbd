// SPDX-License-Identifier: MIT
//
// Rows as CSV, plain or compressed (RFC 1952). The header is kept until the rows begin: a recording
// that fails before has written nothing.
#include "record/csv.h"
#include "record/row_sink.h"

#include <string.h>

#ifdef SALTUS_LIBRARY_ZLIB
#include "base/library.h"

#include <zlib.h>
#endif

/// A row that is kept until the first one with numbers.
typedef struct Header {
  const SltAllocator* allocator;
  char* text;
  size_t length, capacity;
} Header;

typedef struct CsvSink {
  RowSink base;
  CsvWriter csv;
  CsvWriter heading;
  CsvWriter units;
  Header header, unit_header;
  SltStatus (*end_writer)(void* writer);  // NULL: the caller's own, nothing to do
  void* writer;
} CsvSink;

/// SltWriteFn of a header, which may be longer than the buffer of a sink.
static SltStatus keep_header(void* user, const char* data, size_t length) {
  Header* h = user;
  size_t need = base_add_size(h->length, length);
  if (need > h->capacity) {
    size_t capacity = need < SIZE_MAX / 2 ? 2 * need : need;
    char* grown = base_realloc(h->allocator, h->text, h->capacity, capacity);
    if (!grown) return SLT_ERR_NOMEM;
    h->text = grown;
    h->capacity = capacity;
  }
  memcpy(h->text + h->length, data, length);
  h->length = need;
  return SLT_OK;
}

static SltStatus csv_sink_column(RowSink* sink, const char* name, const char* unit) {
  CsvSink* s = (CsvSink*)sink;
  csv_text(&s->heading, name);
  csv_text(&s->units, unit);
  return s->heading.sink.status < 0 ? s->heading.sink.status : s->units.sink.status;
}

static SltStatus write_header(CsvSink* s, CsvWriter* writer, const Header* header) {
  csv_end_row(writer);
  SLT_TRY(csv_flush(writer));
  sink_bytes(&s->csv.sink, header->text, header->length);
  sink_end_unit(&s->csv.sink);
  return s->csv.sink.status;
}

static SltStatus csv_sink_begin(RowSink* sink) {
  CsvSink* s = (CsvSink*)sink;
  SLT_TRY(write_header(s, &s->heading, &s->header));
  return sink->unit_row ? write_header(s, &s->units, &s->unit_header) : SLT_OK;
}

static SltStatus csv_sink_row(RowSink* sink, const RowCell* cells, uint32_t count) {
  CsvSink* s = (CsvSink*)sink;
  for (uint32_t i = 0; i < count; i++) {
    if (cells[i].text) {
      csv_text(&s->csv, cells[i].text);
    } else {
      csv_number(&s->csv, cells[i].value);
    }
  }
  return csv_end_row(&s->csv);
}

static SltStatus csv_sink_flush(RowSink* sink) {
  return csv_flush(&((CsvSink*)sink)->csv);
}

static SltStatus csv_sink_finish(RowSink* sink) {
  CsvSink* s = (CsvSink*)sink;
  SLT_TRY(csv_flush(&s->csv));
  return s->end_writer ? s->end_writer(s->writer) : SLT_OK;
}

static void csv_sink_clear(CsvSink* s) {
  SltAllocator allocator = s->base.allocator;
  csv_clear(&s->csv);
  csv_clear(&s->heading);
  csv_clear(&s->units);
  base_free(&allocator, s->header.text, s->header.capacity);
  base_free(&allocator, s->unit_header.text, s->unit_header.capacity);
  base_free(&allocator, s, sizeof *s);
}

static void csv_sink_free(RowSink* sink) {
  csv_sink_clear((CsvSink*)sink);
}

static const RowSinkClass csv_class = {
    .column = csv_sink_column,
    .begin = csv_sink_begin,
    .row = csv_sink_row,
    .flush = csv_sink_flush,
    .finish = csv_sink_finish,
    .free = csv_sink_free,
};

SltStatus csv_sink_create(SltWriter writer, RowSink** out) {
  SltAllocator allocator = base_allocator(NULL);
  CsvSink* s = base_alloc(&allocator, sizeof *s);
  if (!s) return SLT_ERR_NOMEM;
  s->base = (RowSink){.class = &csv_class, .allocator = allocator};
  SltStatus status = csv_init(&s->csv, writer);
  s->header.allocator = s->unit_header.allocator = &s->base.allocator;
  if (status >= 0) status = csv_init(&s->heading, (SltWriter){keep_header, &s->header});
  if (status >= 0) status = csv_init(&s->units, (SltWriter){keep_header, &s->unit_header});
  if (status < 0) {
    csv_sink_clear(s);
    return status;
  }
  *out = &s->base;
  return SLT_OK;
}

// ---- compressed ---------------------------------------------------------------------------------

#ifdef SALTUS_LIBRARY_ZLIB

#define ZLIB_LIST(X) X(deflateInit2_) X(deflate) X(deflateEnd)

typedef struct Zlib {
  ZLIB_LIST(LIBRARY_MEMBER)
} Zlib;

static bool zlib_load(Zlib* zlib) {
  static const char* const names[] = {ZLIB_LIST(LIBRARY_NAME)};
  return library_load(SALTUS_LIBRARY_ZLIB, names, SLT_COUNT(names), zlib);
}

bool csv_has_gz(void) {
  Zlib zlib;
  return zlib_load(&zlib);
}

#define GZIP_BYTES ((size_t)32 << 10)

typedef struct Gzip {
  SltAllocator allocator;
  SltWriter writer;
  Zlib zlib;
  z_stream stream;
  char buffer[GZIP_BYTES];
} Gzip;

/// Memory by the allocator of everything else, so that a failure to give some is one like others.
static voidpf gzip_alloc(voidpf user, uInt items, uInt size) {
  size_t total = base_add_size(base_mul_size(items, size), sizeof(max_align_t));
  char* block = base_alloc(user, total);
  if (!block) return Z_NULL;
  memcpy(block, &total, sizeof total);
  return block + sizeof(max_align_t);
}

static void gzip_free(voidpf user, voidpf pointer) {
  size_t total = 0;
  char* block = (char*)pointer - sizeof(max_align_t);
  memcpy(&total, block, sizeof total);
  base_free(user, block, total);
}

/// What was given is in the file behind a point at which reading can end.
static SltStatus gzip_put(Gzip* g, const char* data, size_t length, int flush) {
  int code = Z_OK;
  do {
    uInt piece = length < UINT32_MAX / 2 ? (uInt)length : UINT32_MAX / 2;
    g->stream.next_in = (z_const Bytef*)data;
    g->stream.avail_in = piece;
    do {
      g->stream.next_out = (Bytef*)g->buffer;
      g->stream.avail_out = (uInt)sizeof g->buffer;
      code = g->zlib.deflate(&g->stream, length == piece ? flush : Z_NO_FLUSH);
      if (code == Z_STREAM_ERROR) return SLT_ERR_NOMEM;
      size_t made = sizeof g->buffer - g->stream.avail_out;
      if (made) SLT_TRY(g->writer.write(g->writer.user, g->buffer, made));
    } while (g->stream.avail_out == 0 || g->stream.avail_in > 0);
    data += piece;
    length -= piece;
  } while (length > 0);
  return SLT_OK;
}

static SltStatus gzip_write(void* user, const char* data, size_t length) {
  return gzip_put(user, data, length, Z_SYNC_FLUSH);
}

static SltStatus gzip_end(void* user) {
  return gzip_put(user, NULL, 0, Z_FINISH);
}

static void csv_gz_sink_free(RowSink* sink) {
  Gzip* g = ((CsvSink*)sink)->writer;
  g->zlib.deflateEnd(&g->stream);
  SltAllocator allocator = g->allocator;
  base_free(&allocator, g, sizeof *g);
  csv_sink_clear((CsvSink*)sink);
}

static const RowSinkClass csv_gz_class = {
    .column = csv_sink_column,
    .begin = csv_sink_begin,
    .row = csv_sink_row,
    .flush = csv_sink_flush,
    .finish = csv_sink_finish,
    .free = csv_gz_sink_free,
};

SltStatus csv_gz_sink_create(SltWriter writer, RowSink** out) {
  enum { GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8 };  // 16: with the head and tail of a gzip file
  SltAllocator allocator = base_allocator(NULL);
  Gzip* g = base_alloc(&allocator, sizeof *g);
  if (!g) return SLT_ERR_NOMEM;
  if (!zlib_load(&g->zlib)) {
    base_free(&allocator, g, sizeof *g);
    return SLT_ERR_UNSUPPORTED;
  }
  g->allocator = allocator;
  g->writer = writer;
  g->stream.zalloc = gzip_alloc;
  g->stream.zfree = gzip_free;
  g->stream.opaque = &g->allocator;
  int code =
      g->zlib.deflateInit2_(&g->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                            Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof g->stream);
  SltStatus status =
      code == Z_OK ? csv_sink_create((SltWriter){gzip_write, g}, out) : SLT_ERR_NOMEM;
  if (status < 0) {
    if (code == Z_OK) g->zlib.deflateEnd(&g->stream);
    base_free(&allocator, g, sizeof *g);
    return status;
  }
  CsvSink* s = (CsvSink*)*out;
  s->base.class = &csv_gz_class;
  s->end_writer = gzip_end;
  s->writer = g;
  return SLT_OK;
}

#else

bool csv_has_gz(void) {
  return false;
}

SltStatus csv_gz_sink_create(SltWriter writer, RowSink** out) {
  (void)writer;
  *out = NULL;
  return SLT_ERR_UNSUPPORTED;
}

#endif

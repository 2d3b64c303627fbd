// SPDX-License-Identifier: MIT
#include "record/record.h"
#include "test.h"

/// Collects what is written; fails from the `fail_after`-th byte on when that is not 0.
typedef struct Collected {
  char* data;
  size_t length, capacity;
  size_t calls;
  size_t fail_after;
} Collected;

static SltStatus collect(void* user, const char* data, size_t length) {
  Collected* c = user;
  c->calls++;
  if (c->fail_after && c->length + length > c->fail_after) return SLT_ERR_IO;
  if (c->length + length > c->capacity) {
    c->capacity = 2 * (c->length + length);
    c->data = realloc(c->data, c->capacity);
  }
  memcpy(c->data + c->length, data, length);
  c->length += length;
  return SLT_OK;
}

static Str collected(const Collected* c) {
  return (Str){c->data, (uint32_t)c->length};
}

TEST(csv_quotes_what_rfc_4180_asks_for) {
  static const struct {
    const char* name;
    const char* cell;
    const char* want;
  } cases[] = {
      {"plain", "x", "x\n"},
      {"comma", "a,b", "\"a,b\"\n"},
      {"quote", "a\"b", "\"a\"\"b\"\n"},
      {"line feed", "a\nb", "\"a\nb\"\n"},
      {"carriage return", "a\rb", "\"a\rb\"\n"},
      {"blank", "a b", "a b\n"},
      {"other scripts", "высота", "высота\n"},
      {"none", NULL, "\n"},
  };
  FOR_CASES(c, cases) {
    Collected out = {0};
    CsvWriter csv;
    CHECK(csv_init(&csv, (SltWriter){collect, &out}) == SLT_OK, c->name);
    csv_text(&csv, c->cell);
    csv_end_row(&csv);
    CHECK(csv_flush(&csv) == SLT_OK, c->name);
    CHECK_STR(collected(&out), c->want, c->name);
    csv_clear(&csv);
    free(out.data);
  }
}

TEST(csv_numbers_are_shortest_and_nan_is_empty) {
  Collected out = {0};
  CsvWriter csv;
  csv_init(&csv, (SltWriter){collect, &out});
  const double values[] = {0.1, (double)NAN, 1e-6, -0.0, 1.0 / 3.0, 5e-324, (double)INFINITY, 42};
  for (size_t i = 0; i < SLT_COUNT(values); i++)
    csv_number(&csv, values[i]);
  csv_end_row(&csv);
  csv_number(&csv, (double)NAN);
  csv_number(&csv, (double)NAN);
  csv_end_row(&csv);
  csv_flush(&csv);
  CHECK_STR(collected(&out), "0.1,,1e-6,-0,0.3333333333333333,5e-324,Inf,42\n,\n", "row");
  CHECK(csv.rows == 2, "rows");
  csv_clear(&csv);
  free(out.data);
}

TEST(csv_hands_over_whole_rows) {
  Collected out = {0};
  CsvWriter csv;
  csv_init(&csv, (SltWriter){collect, &out});
  size_t calls = 0;
  for (int i = 0; i < 20000; i++) {
    csv_number(&csv, i);
    csv_number(&csv, i / 7.0);
    csv_end_row(&csv);
    if (out.calls != calls) CHECK(out.data[out.length - 1] == '\n', "a call ends with a row");
    calls = out.calls;
  }
  csv_flush(&csv);
  CHECK(out.calls > 1 && out.calls < 20, "few large writes");
  size_t lines = 0;
  for (size_t i = 0; i < out.length; i++)
    lines += out.data[i] == '\n';
  CHECK(lines == 20000, "nothing lost");
  csv_clear(&csv);
  free(out.data);
}

TEST(csv_row_larger_than_the_buffer) {
  Collected out = {0};
  CsvWriter csv;
  csv_init(&csv, (SltWriter){collect, &out});
  size_t size = 3 * SINK_BYTES;
  char* text = malloc(size + 1);
  memset(text, 'x', size);
  text[size] = '\0';
  csv_text(&csv, text);
  csv_text(&csv, "y");
  csv_end_row(&csv);
  csv_flush(&csv);
  CHECK(out.length == size + 3, "length");
  CHECK(memcmp(out.data + size, ",y\n", 3) == 0, "end");
  csv_clear(&csv);
  free(text);
  free(out.data);
}

TEST(csv_error_sticks) {
  Collected out = {.fail_after = 100000};
  CsvWriter csv;
  csv_init(&csv, (SltWriter){collect, &out});
  SltStatus status = SLT_OK;
  for (int i = 0; i < 100000 && status >= 0; i++) {
    csv_number(&csv, i / 3.0);
    status = csv_end_row(&csv);
  }
  CHECK(status == SLT_ERR_IO, "reported");
  size_t calls = out.calls;
  csv_number(&csv, 1.0);
  CHECK(csv_end_row(&csv) == SLT_ERR_IO, "row");
  CHECK(csv_flush(&csv) == SLT_ERR_IO, "flush");
  CHECK(out.calls == calls, "the writer is left alone after its error");
  CHECK(out.length > 0 && out.data[out.length - 1] == '\n', "what is there ends with a row");
  csv_clear(&csv);
  free(out.data);
}

TEST(csv_without_a_writer_swallows) {
  CsvWriter csv;
  CHECK(csv_init(&csv, (SltWriter){NULL, NULL}) == SLT_OK, "init");
  csv_number(&csv, 1.0);
  CHECK(csv_end_row(&csv) == SLT_OK && csv_flush(&csv) == SLT_OK, "quiet");
  csv_clear(&csv);
}

TEST(coordinates_have_two_decimals) {
  static const struct {
    const char* name;
    double value;
    const char* want;
  } cases[] = {
      {"whole", 12.0, "12"},        {"tenth", 0.5, "0.5"},     {"hundredth", 1.239, "1.24"},
      {"negative", -3.07, "-3.07"}, {"small", -0.001, "0"},    {"not finite", (double)NAN, "0"},
      {"far", 1e300, "0"},          {"round up", 9.999, "10"},
  };
  FOR_CASES(c, cases) {
    Collected out = {0};
    Sink sink;
    sink_init(&sink, (SltWriter){collect, &out});
    sink_coordinate(&sink, c->value);
    sink_flush(&sink);
    CHECK_STR(collected(&out), c->want, c->name);
    sink_clear(&sink);
    free(out.data);
  }
}

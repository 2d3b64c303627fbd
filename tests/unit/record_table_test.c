// SPDX-License-Identifier: MIT
#include "record/record.h"
#include "test.h"

static SltTable* read_text(const char* text, SltStatus want, uint32_t* line) {
  SltTable* table = NULL;
  SltStatus status = slt_table_read_csv(text, strlen(text), &table, line);
  CHECK(status == want, text);
  CHECK((table != NULL) == (status == SLT_OK), text);
  return table;
}

TEST(table_reads_numbers_texts_and_gaps) {
  uint32_t line = 0;
  SltTable* t = read_text("time,x,m.state\n0,1.5,on\n0.1,,off\n0.2,-2e3,on\n", SLT_OK, &line);
  assert_int_equal(slt_table_column_count(t), 3);
  assert_int_equal(slt_table_row_count(t), 3);
  assert_string_equal(slt_table_column_name(t, 2), "m.state");
  CHECK(slt_table_value(t, 0, 1) == 1.5 && slt_table_value(t, 2, 1) == -2000.0, "numbers");
  CHECK(isnan(slt_table_value(t, 1, 1)) && !slt_table_text(t, 1, 1), "gap");
  assert_string_equal(slt_table_text(t, 1, 2), "off");
  assert_string_equal(slt_table_text(t, 2, 2), "on");
  CHECK(isnan(slt_table_value(t, 2, 2)), "a text is no number");
  CHECK(slt_table_text(t, 0, 1) == NULL, "a number is no text");
  CHECK(table_text_id(t, 0, 2) == table_text_id(t, 2, 2), "texts are shared");
  slt_table_free(t);
}

TEST(table_reads_what_spreadsheets_write) {
  static const struct {
    const char* name;
    const char* text;
  } cases[] = {
      {"LF", "time,\"a,b\"\n0,1\n2,3\n"},
      {"CRLF", "time,\"a,b\"\r\n0,1\r\n2,3\r\n"},
      {"BOM", "\xEF\xBB\xBFtime,\"a,b\"\n0,1\n2,3\n"},
      {"no last line end", "time,\"a,b\"\n0,1\n2,3"},
      {"CRLF, no last line end", "time,\"a,b\"\r\n0,1\r\n2,3\r"},
      {"blanks", " time ,\"a,b\"\n 0, 1\n2 ,3 \n"},
      {"quoted numbers", "time,\"a,b\"\n\"0\",\"1\"\n2,3\n"},
      {"empty lines", "time,\"a,b\"\n0,1\n\n2,3\n\n\n"},
      {"signs", "time,\"a,b\"\n+0,1\n2,+3\n"},
  };
  FOR_CASES(c, cases) {
    uint32_t line = 0;
    SltTable* t = read_text(c->text, SLT_OK, &line);
    CHECK(slt_table_row_count(t) == 2 && slt_table_column_count(t) == 2, c->name);
    CHECK(strcmp(slt_table_column_name(t, 0), "time") == 0, c->name);
    CHECK(strcmp(slt_table_column_name(t, 1), "a,b") == 0, c->name);
    CHECK(slt_table_value(t, 1, 0) == 2.0 && slt_table_value(t, 1, 1) == 3.0, c->name);
    slt_table_free(t);
  }
}

TEST(table_names_the_line_that_is_wrong) {
  static const struct {
    const char* text;
    uint32_t line;
  } cases[] = {
      {"", 1},
      {"\n", 1},
      {"a,b\n1,2\n3\n", 3},
      {"a,b\n1,2\n3,4,5\n", 3},
      {"a,b\n1,\"2\n3,4\n", 2},
      {"a,b\n1,2\n\n3,\"4\"5\n", 4},
      {"a,b\n1,2\"\n", 2},
      {"a,b\n\"1\n1\",2\n3\n", 4},
      {"a\rb\n1\n", 0},
  };
  FOR_CASES(c, cases) {
    uint32_t line = 0;
    if (c->line == 0) {
      slt_table_free(read_text(c->text, SLT_OK, &line));
      continue;
    }
    read_text(c->text, SLT_ERR_SYNTAX, &line);
    if (line != c->line) print_error("line %u\n", line);
    CHECK(line == c->line, c->text);
  }
  uint32_t line = 0;
  SltTable* table = NULL;
  CHECK(slt_table_read_csv("a\n1\0\n", 5, &table, &line) == SLT_ERR_SYNTAX && line == 2, "NUL");
  CHECK(slt_table_read_csv(NULL, 0, &table, NULL) == SLT_ERR_SYNTAX, "nothing");
  CHECK(slt_table_read_csv(NULL, 3, &table, NULL) == SLT_ERR_ARGUMENT, "no text");
}

TEST(table_special_numbers) {
  uint32_t line = 0;
  SltTable* t = read_text("a,b,c,d\nNaN,Inf,-Inf,1e999\n", SLT_OK, &line);
  CHECK(isnan(slt_table_value(t, 0, 0)) && !slt_table_text(t, 0, 0), "NaN");
  CHECK(isinf(slt_table_value(t, 0, 1)) && slt_table_value(t, 0, 2) < 0.0, "infinities");
  CHECK(isinf(slt_table_value(t, 0, 3)), "overflow");
  slt_table_free(t);
}

TEST(table_separators) {
  uint32_t line = 0;
  static const char* const texts[] = {"time;\"a;b\";c\n0,5;-1,25e2;\n1;x,y;3.5\n",
                                      "time\t\"a;b\"\tc\n0,5\t-1,25e2\t\n1\tx,y\t3.5\n"};
  FOR_CASES(text, texts) {
    SltTable* t = read_text(*text, SLT_OK, &line);
    CHECK(slt_table_column_count(t) == 3 && !strcmp(slt_table_column_name(t, 1), "a;b"), *text);
    CHECK(slt_table_value(t, 0, 0) == 0.5 && slt_table_value(t, 0, 1) == -125.0, *text);
    CHECK(isnan(slt_table_value(t, 0, 2)) && slt_table_value(t, 1, 2) == 3.5, *text);
    CHECK(!strcmp(slt_table_text(t, 1, 1), "x,y"), *text);
    slt_table_free(t);
  }
  read_text("a;b\n1,5;2;3\n", SLT_ERR_SYNTAX, &line);
  CHECK(line == 2, "one cell too many");
}

TEST(table_cells_outside_are_nothing) {
  uint32_t line = 0;
  SltTable* t = read_text("a\n1\n", SLT_OK, &line);
  CHECK(isnan(slt_table_value(t, 1, 0)) && isnan(slt_table_value(t, 0, 1)), "value");
  CHECK(!slt_table_text(t, 9, 9) && !slt_table_column_name(t, 1), "text");
  CHECK(slt_table_row_count(NULL) == 0 && slt_table_column_count(NULL) == 0, "NULL");
  slt_table_free(t);
  slt_table_free(NULL);
}

TEST(table_grows) {
  SltTable* t = table_create();
  CHECK(table_add_column(t, STR_LIT("n"), "", false) == SLT_OK, "column");
  CHECK(table_add_column(t, STR_LIT("text"), "", true) == SLT_OK, "column");
  char text[32];
  for (uint32_t i = 0; i < 20000; i++) {
    CHECK(table_add_row(t) == SLT_OK, "row");
    table_set_number(t, 0, i);
    // the column of texts begins late, and repeats
    if (i < 5000) continue;
    snprintf(text, sizeof text, "state %u", i % 1000);
    CHECK(table_set_text(t, 1, str_from_c(text)) == SLT_OK, "text");
  }
  CHECK(t->text_count == 1001, "interned");
  CHECK(!slt_table_text(t, 4999, 1), "none before");
  assert_string_equal(slt_table_text(t, 12345, 1), "state 345");
  CHECK(slt_table_value(t, 19999, 0) == 19999.0, "last");
  CHECK(table_find(t, "text") == 1 && table_find(t, "x") == UINT32_MAX, "find");
  table_free(t);
}

// SPDX-License-Identifier: MIT
#include "record/record.h"
#include "test.h"

typedef struct Picture {
  char* data;
  size_t length, capacity;
} Picture;

static SltStatus collect(void* user, const char* data, size_t length) {
  Picture* p = user;
  if (p->length + length + 1 > p->capacity) {
    p->capacity = 2 * (p->length + length + 1);
    p->data = realloc(p->data, p->capacity);
  }
  memcpy(p->data + p->length, data, length);
  p->length += length;
  p->data[p->length] = '\0';
  return SLT_OK;
}

static SltTable* table_of(const char* text) {
  SltTable* table = NULL;
  CHECK(slt_table_read_csv(text, strlen(text), &table, NULL) == SLT_OK, text);
  return table;
}

static Picture draw(const char* csv, SltPlotOptions options) {
  SltTable* table = table_of(csv);
  Picture p = {0};
  SltStatus status = slt_table_plot(table, &options, (SltWriter){collect, &p}, NULL);
  CHECK(status == SLT_OK, csv);
  slt_table_free(table);
  return p;
}

static uint32_t count(const char* text, const char* what) {
  uint32_t n = 0;
  for (const char* at = strstr(text, what); at; at = strstr(at + 1, what))
    n++;
  return n;
}

TEST(marks_are_round_numbers) {
  static const struct {
    const char* name;
    double lo, hi;
    uint32_t count;
    const char* want;
  } cases[] = {
      {"unit", 0.0, 1.0, 5, "0 0.2 0.4 0.6 0.8 1 "},
      {"ten", 0.0, 10.0, 5, "0 2 4 6 8 10 "},
      {"negative", -1.0, 1.0, 4, "-1 -0.5 0 0.5 1 "},
      {"thirds", 0.0, 0.3, 3, "0 0.1 0.2 0.3 "},
      {"offset", 300.0, 300.3, 3, "300 300.1 300.2 300.3 "},
      {"large", 0.0, 3e6, 3, "0 1e6 2e6 3e6 "},
      {"larger", 1.5e7, 1.7e7, 4, "1.5e7 1.55e7 1.6e7 1.65e7 1.7e7 "},
      {"small", 0.0, 4e-7, 2, "0 2e-7 4e-7 "},
      {"negative small", -4e-7, 0.0, 2, "-4e-7 -2e-7 0 "},
      {"no span", 1.0, 1.0, 4, ""},
      {"no count", 0.0, 1.0, 0, ""},
  };
  FOR_CASES(c, cases) {
    PlotTicks ticks = plot_ticks((PlotRange){c->lo, c->hi}, c->count);
    char all[256] = "";
    for (int64_t k = ticks.first; k <= ticks.last; k++) {
      char text[NUMBER_TEXT_MAX];
      plot_tick_text(&ticks, k, text);
      strcat(all, text);
      strcat(all, " ");
    }
    CHECK_STR(str_from_c(all), c->want, c->name);
  }
}

static uint32_t panels_of(const char* csv) {
  SltTable* table = table_of(csv);
  TEST_ARENA(arena);
  PlotSpec spec;
  SltPlotOptions options = slt_plot_options();
  CHECK(plot_spec_prepare(&spec, &arena, table, &options, NULL) == SLT_OK, csv);
  uint32_t panels = spec.panel_count;
  arena_free(&arena);
  slt_table_free(table);
  return panels;
}

TEST(panels_follow_the_scales) {
  CHECK(panels_of("t,a,b\n0,1,2\n1,3,5\n") == 1, "alike");
  CHECK(panels_of("t,a,b\n0,1,20\n1,3,500\n") == 2, "different");
  CHECK(panels_of("t,a,b\n0,0,300\n1,1,301\n") == 2, "same span, far apart");
  CHECK(panels_of("t,a,b\n0,0,0.5\n1,1,0.5\n") == 1, "a constant within");
  CHECK(panels_of("t,a\n0,5\n1,5\n") == 1, "a constant alone");
  CHECK(panels_of("t,a,b,c,d,e,f,g,h\n0,0,0,0,0,0,0,0,0\n1,1,1,1,50,50,3e3,3e3,1e9\n") == 4,
        "more lines than panels");
  CHECK(panels_of("t,a,b,c,d,e,f,g,h\n0,0,0,0,0,0,0,0,0\n1,1,1e2,1e4,1e6,1e8,1e10,1e12,1e14\n") <=
            PLOT_PANELS_MAX,
        "never more than fit");
}

TEST(svg_shows_jumps_gaps_and_states) {
  SltPlotOptions options = slt_plot_options();
  options.title = "a <b> & \"c\"";
  Picture p = draw("time,x,m.state\n0,0,on\n1,1,on\n1,0,off\n2,1,off\n3,,off\n4,1,off\n", options);
  CHECK(strncmp(p.data, "<svg xmlns=", 11) == 0, "begin");
  CHECK(strcmp(p.data + p.length - 7, "</svg>\n") == 0, "end");
  CHECK(count(p.data, "a &lt;b&gt; &amp; &quot;c&quot;") == 2, "title escaped");
  CHECK(count(p.data, "stroke-dasharray=\"1.5 3\"") == 1, "jump");
  CHECK(count(p.data, ">on</text>") == 1 && count(p.data, ">off</text>") == 1, "states");
  CHECK(count(p.data, ">m.state</text>") == 1, "name of the band");
  CHECK(count(p.data, "nan") == 0 && count(p.data, "inf") == 0, "numbers");
  // the curve has three parts: before the jump, after it, behind the gap
  const char* curve = strstr(p.data, "stroke-width=\"1.8\"");
  curve = curve ? strstr(curve + 1, "stroke-width=\"1.8\"") : NULL;
  CHECK(curve != NULL, "curve");
  const char* begin = curve;
  while (*begin != '<')
    begin--;
  uint32_t moves = 0;
  for (const char* at = begin; at < curve; at++)
    moves += *at == 'M';
  CHECK(moves == 3, "parts");
  free(p.data);
}

TEST(svg_of_hostile_names_is_well_formed) {
  SltPlotOptions options = slt_plot_options();
  Picture p = draw("time,\"<script>\",\"\x01\xff&\",s\n0,1,2,<b>\n1,2,3,&\n2,2,3,&\n", options);
  CHECK(count(p.data, "<script>") == 0 && count(p.data, "&lt;script&gt;") == 1, "markup");
  CHECK(count(p.data, "\x01") == 0 && count(p.data, "\xff") == 0, "bytes");
  CHECK(count(p.data, "\xEF\xBF\xBD\xEF\xBF\xBD&amp;") == 1, "replaced");
  free(p.data);
}

TEST(svg_size_follows_the_picture) {
  char* csv = malloc(8u << 20);
  size_t at = (size_t)sprintf(csv, "time,x\n");
  for (int i = 0; i < 100000; i++) {
    at += (size_t)sprintf(csv + at, "%d,%d\n", i / 2, (i * 7919) % 1000);  // jumps everywhere
  }
  Picture p = draw(csv, slt_plot_options());
  CHECK(p.length < 150000, "thinned");
  free(p.data);
  free(csv);
}

TEST(extreme_values_can_be_drawn) {
  static const char* const cases[] = {
      "t,x\n0,-1.7e308\n1,1.7e308\n",
      "t,x\n0,5e-324\n1,0\n",
      "t,x\n0,1\n",
      "t,x\n1e300,1\n1.0001e300,2\n",
      "t,x\n0,Inf\n1,2\n2,-Inf\n",
      "t,x\n0,1\n0,2\n0,3\n",
      "t,x\n0,1\n1,1.0000000000000002\n",
      "t,x\n5,1\n4,2\n6,0\n",
      "t,x\n-1.7e308,1\n1.7e308,2\n",
      "t,s\n0,a\n1,b\n",
  };
  for (size_t i = 0; i < SLT_COUNT(cases); i++) {
    SltPlotOptions options = slt_plot_options();
    Picture p = draw(cases[i], options);
    CHECK(count(p.data, "nan") == 0 && count(p.data, "inf") == 0, cases[i]);
    free(p.data);
    options.format = SLT_PLOT_TERMINAL;
    p = draw(cases[i], options);
    free(p.data);
  }
}

TEST(terminal_picture_keeps_its_width) {
  static const char csv[] = "time,x,y,m.state\n0,0,1,a\n1,1,2,a\n1,3,2,b\n2,1,-1,b\n10,0,1,c\n";
  for (uint32_t width = 0; width < 140; width += 7) {
    for (int colour = 0; colour < 2; colour++) {
      SltPlotOptions options = slt_plot_options();
      options.format = SLT_PLOT_TERMINAL;
      options.width = width;
      options.colour = colour;
      Picture p = draw(csv, options);
      CHECK((count(p.data, "\033[") > 0) == (colour == 1), "colours");
      uint32_t limit = width == 0 ? 80 : width < 30 ? 30 : width;
      for (char* line = strtok(p.data, "\n"); line && !colour; line = strtok(NULL, "\n")) {
        CHECK(utf8_count(str_from_c(line)) <= limit, line);
      }
      free(p.data);
    }
  }
}

TEST(terminal_picture_shows_names_and_no_controls) {
  SltPlotOptions options = slt_plot_options();
  options.format = SLT_PLOT_TERMINAL;
  Picture p = draw("time,\"a\x1b[2J\",s.state\n0,1,\"x\x07\"\n1,2,y\n2,1,y\n", options);
  CHECK(count(p.data, "\x1b") == 0 && count(p.data, "\x07") == 0, "controls");
  CHECK(count(p.data, "a?[2J") == 1 && count(p.data, "│y") == 1, "names");
  free(p.data);
}

TEST(plot_says_what_it_cannot_draw) {
  SltTable* t = table_of("time,x,s\n0,1,a\n1,2,a\n");
  SltPlotOptions options = slt_plot_options();
  const char* names[] = {"x", "nothing"};
  const char* bad = NULL;
  Picture p = {0};
  SltWriter writer = {collect, &p};
  options.names = names;
  options.name_count = 2;
  CHECK(slt_table_plot(t, &options, writer, &bad) == SLT_ERR_NOT_FOUND, "name");
  CHECK(bad == names[1], "which");
  options.name_count = 1;
  options.x = "nowhere";
  CHECK(slt_table_plot(t, &options, writer, &bad) == SLT_ERR_NOT_FOUND, "axis");
  CHECK(bad && strcmp(bad, "nowhere") == 0, "which");
  options.x = "s";
  CHECK(slt_table_plot(t, &options, writer, &bad) == SLT_ERR_ARGUMENT, "axis of texts");
  options = slt_plot_options();
  CHECK(slt_table_plot(NULL, &options, writer, &bad) == SLT_ERR_ARGUMENT, "no table");
  options.cookie = 0;
  CHECK(slt_table_plot(t, &options, writer, &bad) == SLT_ERR_ARGUMENT, "no defaults");
  slt_table_free(t);
  t = table_of("time,x\n");
  options = slt_plot_options();
  CHECK(slt_table_plot(t, &options, writer, &bad) == SLT_ERR_ARGUMENT, "no rows");
  slt_table_free(t);
  t = table_of("time,x\n0,\n1,\n");
  CHECK(slt_table_plot(t, &options, writer, &bad) == SLT_ERR_ARGUMENT, "no values");
  slt_table_free(t);
  CHECK(p.length == 0, "nothing written");
  free(p.data);
}

static SltStatus refuse(void* user, const char* data, size_t length) {
  (void)user;
  (void)data;
  (void)length;
  return SLT_ERR_IO;
}

TEST(plot_reports_the_writers_error) {
  SltTable* t = table_of("time,x\n0,1\n1,2\n");
  SltPlotOptions options = slt_plot_options();
  CHECK(slt_table_plot(t, &options, (SltWriter){refuse, NULL}, NULL) == SLT_ERR_IO, "SVG");
  options.format = SLT_PLOT_TERMINAL;
  CHECK(slt_table_plot(t, &options, (SltWriter){refuse, NULL}, NULL) == SLT_ERR_IO, "terminal");
  slt_table_free(t);
}

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

/// Plan a figure of one table with settings `key=value` and look at it.
static SltStatus plan(const char* csv, const char* const* settings, Arena* arena, Figure* out) {
  SltTable* table = table_of(csv);
  FigureWish* wish = ARENA_NEW(arena, FigureWish);
  figure_init(wish, arena);
  for (; settings && *settings; settings++) {
    Str all = str_from_c(*settings);
    uint32_t equals = (uint32_t)(strchr(*settings, '=') - *settings);
    FigureKeyId key = figure_key_find((Str){all.data, equals});
    Str value = {all.data + equals + 1, all.length - equals - 1};
    CHECK(key < FIGURE_KEY_COUNT && figure_value_fits(key, value), *settings);
    figure_set(wish, key, value);
  }
  base_vec_push(arena, &wish->tables, (FigureTable){table, STR_LIT("a")});
  Str bad;
  SltStatus status = figure_plan(wish, arena, out, &bad);
  // what is looked at below are numbers of panels and lines, not the rows
  slt_table_free(table);
  return status;
}

static uint32_t panels_of(const char* csv) {
  TEST_ARENA(arena);
  Figure figure;
  CHECK(plan(csv, NULL, &arena, &figure) == SLT_OK, csv);
  uint32_t panels = figure.panel_count;
  arena_free(&arena);
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
            FIGURE_PANELS_MAX,
        "never more than fit");
}

TEST(units_do_not_share_a_panel) {
  CHECK(panels_of("time,a,b\ns,m,m\n0,1,2\n1,3,5\n") == 1, "one unit");
  CHECK(panels_of("time,a,b\ns,m,K\n0,1,2\n1,3,5\n") == 2, "two units");
}

TEST(settings_behind_a_panel_are_its_own) {
  static const char csv[] = "time,a,b,c\n0,1,2,5\n1,3,5,7\n2,4,6,8\n";
  const char* settings[] = {"yrange=0:9", "panel=a,b", "log=y",     "panel=c",
                            "yrange=:20", "y2=a",      "phase=a,b", NULL};
  TEST_ARENA(arena);
  Figure f;
  CHECK(plan(csv, settings, &arena, &f) == SLT_OK, "plan");
  CHECK(f.panel_count == 3, "panels");
  CHECK(f.panels[0].line_count == 2 && f.panels[1].line_count == 2 && f.panels[2].line_count == 1,
        "lines");
  CHECK(f.panels[0].axes[AXIS_Y].log && !f.panels[1].axes[AXIS_Y].log, "log");
  CHECK(f.panels[1].axes[AXIS_Y].range.hi == 20.0 && f.panels[2].axes[AXIS_Y].range.hi == 9.0,
        "ranges");
  CHECK(f.panels[1].lines[1].axis == AXIS_Y2 && f.panels[0].lines[1].axis == AXIS_Y, "right axis");
  CHECK(f.panels[0].has_time && !f.panels[2].has_time, "time");
  CHECK(f.panels[0].lines[0].colour == f.panels[1].lines[1].colour, "a quantity keeps its colour");
  arena_free(&arena);
}

TEST(patterns_mean_columns) {
  static const struct {
    const char *pattern, *name;
    bool want;
  } cases[] = {{"room*.T", "room[3].T", true},
               {"room*.T", "room[3].q", false},
               {"*", "", true},
               {"a?c", "abc", true},
               {"a?c", "ac", false},
               {"*a*b", "xaxbyb", true},
               {"x", "x", true},
               {"x", "xx", false}};
  FOR_CASES(c, cases) {
    CHECK(figure_matches(str_from_c(c->pattern), str_from_c(c->name)) == c->want, c->name);
  }
  TEST_ARENA(arena);
  Figure f;
  const char* all[] = {"panel=r*", NULL};
  CHECK(plan("time,r1,r2,q\n0,1,2,3\n1,2,3,4\n", all, &arena, &f) == SLT_OK, "pattern");
  CHECK(f.panel_count == 1 && f.panels[0].line_count == 2, "both");
  const char* none[] = {"panel=z*", NULL};
  CHECK(plan("time,r1\n0,1\n1,2\n", none, &arena, &f) == SLT_ERR_NOT_FOUND, "none");
  arena_free(&arena);
}

TEST(logarithmic_marks_are_decades) {
  const struct {
    double lo, hi;
    const char* want;
  } cases[] = {{0.0, 3.0, "1 10 100 1000 "},
               {-9.0, 0.0, "10⁻⁹ 10⁻⁶ 10⁻³ 10⁰ "},
               {0.0, 1.0, "1 2 5 10 "},
               {log10(0.12), log10(0.41), "0.2 0.3 0.4 "}};
  FOR_CASES(c, cases) {
    Axis axis = {.range = {c->lo, c->hi}, .log = true};
    AxisTicks ticks;
    axis_ticks(&axis, 4, false, &ticks);
    char all[256] = "";
    double before = -1.0;
    for (uint32_t i = 0; i < ticks.count; i++) {
      CHECK(ticks.ticks[i].at > before, "in order");
      before = ticks.ticks[i].at;
      if (!ticks.ticks[i].minor) strcat(strcat(all, ticks.ticks[i].text), " ");
    }
    CHECK_STR(str_from_c(all), c->want, c->want);
  }
}

TEST(every_value_on_a_logarithmic_axis_has_its_place_or_none) {
  Axis axis = {.range = {-2.0, 2.0}, .log = true};
  CHECK(fabs(axis_position(&axis, 1.0) - 0.5) < 1e-15, "middle");
  CHECK(isnan(axis_position(&axis, 0.0)) && isnan(axis_position(&axis, -1.0)), "no logarithm");
}

// ---- colours ------------------------------------------------------------------------------------

static double linear(uint32_t byte) {
  double c = byte / 255.0;
  return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(uint32_t rgb) {
  return 0.2126 * linear(rgb >> 16 & 255) + 0.7152 * linear(rgb >> 8 & 255) +
         0.0722 * linear(rgb & 255);
}

/// CIE L*a*b* as seen through a matrix of colour vision.
static void lab_of(uint32_t rgb, const double eye[3][3], double out[3]) {
  static const double xyz[3][3] = {
      {0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
  static const double white[3] = {0.9505, 1.0, 1.089};
  double light[3] = {linear(rgb >> 16 & 255), linear(rgb >> 8 & 255), linear(rgb & 255)};
  double seen[3];
  double f[3];
  for (int i = 0; i < 3; i++) {
    seen[i] = eye[i][0] * light[0] + eye[i][1] * light[1] + eye[i][2] * light[2];
    seen[i] = fmin(fmax(seen[i], 0.0), 1.0);
  }
  for (int i = 0; i < 3; i++) {
    double v = (xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2]) / white[i];
    f[i] = v > 0.008856 ? cbrt(v) : 7.787 * v + 16.0 / 116.0;
  }
  out[0] = 116.0 * f[1] - 16.0;
  out[1] = 500.0 * (f[0] - f[1]);
  out[2] = 200.0 * (f[1] - f[2]);
}

/// Usual vision, and none of each kind of cone (Machado, Oliveira, Fernandes 2009).
TEST(colours_can_be_told_apart_by_all_eyes) {
  static const double eyes[4][3][3] = {{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}},
                                       {{0.152286, 1.052583, -0.204868},
                                        {0.114503, 0.786281, 0.099216},
                                        {-0.003882, -0.048116, 1.051998}},
                                       {{0.367322, 0.860646, -0.227968},
                                        {0.280085, 0.672501, 0.047413},
                                        {-0.011820, 0.042940, 0.968881}},
                                       {{1.255528, -0.076749, -0.178779},
                                        {-0.078411, 0.930809, 0.147602},
                                        {0.004733, 0.691367, 0.303900}}};
  for (int is_dark = 0; is_dark < 2; is_dark++) {
    const FigureTheme* theme = figure_theme(is_dark);
    double ground = luminance(theme->canvas);
    for (int a = 0; a < FIGURE_COLOURS; a++) {
      double light = luminance(theme->lines[a]);
      CHECK((fmax(light, ground) + 0.05) / (fmin(light, ground) + 0.05) >= 3.0, "contrast");
      for (int b = 0; b < a; b++) {
        for (int eye = 0; eye < 4; eye++) {
          double x[3];
          double y[3];
          lab_of(theme->lines[a], eyes[eye], x);
          lab_of(theme->lines[b], eyes[eye], y);
          CHECK(hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]) >= 12.0, "distance");
        }
      }
    }
  }
}

// ---- figures ------------------------------------------------------------------------------------

static Picture draw_figure(const char* const* csv, const char* const* settings) {
  SltFigure* figure = NULL;
  SltTable* tables[4] = {NULL};
  CHECK(slt_figure_create(&figure) == SLT_OK, "create");
  for (uint32_t i = 0; csv[i]; i++) {
    tables[i] = table_of(csv[i]);
    CHECK(slt_figure_add(figure, tables[i], i ? "second" : "first") == SLT_OK, "add");
  }
  for (; *settings; settings += 2)
    CHECK(slt_figure_set(figure, settings[0], settings[1]) == SLT_OK, settings[0]);
  Picture p = {0};
  CHECK(slt_figure_write(figure, SLT_PLOT_SVG, false, (SltWriter){collect, &p}) == SLT_OK, "write");
  slt_figure_free(figure);
  for (uint32_t i = 0; i < 4; i++)
    slt_table_free(tables[i]);
  return p;
}

TEST(tables_are_laid_over_each_other) {
  const char* csv[] = {"time,h,q\n0,1,5\n1,2,6\n", "time,h\n0,2\n2,3\n", NULL};
  const char* one[] = {"panel", "h", NULL};
  Picture p = draw_figure(csv, one);
  CHECK(count(p.data, ">first</text>") == 1 && count(p.data, ">second</text>") == 1, "names");
  CHECK(count(p.data, ">h</text>") == 1, "the axis is the quantity's");
  free(p.data);
  const char* two[] = {"panel", "h,q", NULL};
  p = draw_figure(csv, two);
  CHECK(count(p.data, ">h, first</text>") == 1 && count(p.data, ">h, second</text>") == 1, "both");
  CHECK(count(p.data, "stroke-dasharray=\"7 4\"") == 2, "the second table is dashed");
  free(p.data);
}

TEST(events_are_marked) {
  const char* csv[] = {"time,x,m.state\n0,0,a\n1,1,a\n1,0,b\n3,1,b\n3,0,b\n9,1,b\n", NULL};
  const char* all[] = {"marks", "all", NULL};
  Picture p = draw_figure(csv, all);
  CHECK(count(p.data, ">2 events</text>") == 1, "instants of the table");
  free(p.data);
  const char* state[] = {"marks", "m", NULL};
  p = draw_figure(csv, state);
  CHECK(count(p.data, ">1 event</text>") == 1, "changes of a state");
  free(p.data);
}

TEST(bands_have_no_internal_names) {
  const char* csv[] = {"time,x,drum@6.state,main.state\n0,0,a,c\n1,1,b,d\n2,0,b,d\n", NULL};
  const char* settings[] = {"title", "T", NULL};
  Picture p = draw_figure(csv, settings);
  CHECK(count(p.data, "@") == 0 && count(p.data, ">drum</text>") == 1, "a row of a table");
  CHECK(count(p.data, ">state</text>") == 1, "the only automaton");
  free(p.data);
}

TEST(ranges_cut_and_labels_are_said) {
  const char* csv[] = {"time,x\ns,m\n0,0\n1,100\n2,0\n", NULL};
  const char* settings[] = {"yrange", "0:10", "xlabel", "hours <h>", "title", "T", NULL};
  Picture p = draw_figure(csv, settings);
  CHECK(count(p.data, "<svg") == 2 && count(p.data, "</svg>") == 2, "cut by a picture inside");
  CHECK(count(p.data, ">hours &lt;h&gt;</text>") == 1, "label");
  CHECK(count(p.data, ">x [m]</text>") == 1 && count(p.data, "rotate(-90") == 1, "name and unit");
  free(p.data);
}

TEST(histograms_count_intervals) {
  const char* csv[] = {"time,x\n0,0\n1,1\n1,0\n2,1\n2,0\n3,1\n3,0\n7,1\n7,0\n", NULL};
  const char* settings[] = {"histogram", "events", NULL};
  Picture p = draw_figure(csv, settings);
  CHECK(count(p.data, ">interval</text>") == 1 && count(p.data, ">count</text>") == 1, "axes");
  CHECK(count(p.data, "fill-opacity=\"0.25\"") == 1, "bars");
  free(p.data);
  FigureLine line = {.axis = AXIS_Y};
  TEST_ARENA(arena);
  double values[1000];
  for (int i = 0; i < 1000; i++)
    values[i] = (i * 7919 % 1000) / 10.0;
  figure_histogram(values, 1000, false, &arena, &line);
  double sum = 0.0;
  for (uint32_t i = 2; i < line.count; i += 2)
    sum += line.y[i];
  CHECK(sum == 1000.0, "nothing is lost");
  arena_free(&arena);
}

TEST(a_block_becomes_shades) {
  char* csv = malloc(4u << 20);
  size_t at = (size_t)sprintf(csv, "time,x\n");
  for (int i = 0; i < 60000; i++)
    at += (size_t)sprintf(csv + at, "%d,%.4f\n", i, sin(i * 0.7));
  const char* tables[] = {csv, NULL};
  const char* settings[] = {"density", "auto", NULL};
  Picture p = draw_figure(tables, settings);
  CHECK(count(p.data, "fill-opacity") >= 4, "shades");
  CHECK(p.length < 1500000, "size");
  free(p.data);
  const char* off[] = {"density", "off", NULL};
  p = draw_figure(tables, off);
  CHECK(count(p.data, "fill-opacity") == 0, "as a line");
  free(p.data);
  free(csv);
}

/// Shades of a picture with one line, x(i) for i < rows.
static bool is_shaded(double (*x)(int, int), int rows, const char* const* settings) {
  char* csv = malloc(64u * (size_t)rows + 64);
  size_t at = (size_t)sprintf(csv, "time,x,y\n");
  for (int i = 0; i < rows; i++)
    at += (size_t)sprintf(csv + at, "%d,%.6f,%.6f\n", i, x(i, rows), x(i + rows / 4, rows));
  const char* tables[] = {csv, NULL};
  Picture p = draw_figure(tables, settings);
  bool shaded = count(p.data, "fill-opacity") >= 4;
  free(p.data);
  free(csv);
  return shaded;
}

static double late_noise(int i, int rows) {
  return i < rows / 2 ? 3.0 * i / rows : sin(i * 2.1);
}

static double few_rows(int i, int rows) {
  (void)rows;
  return i % 2;
}

static double same_way(int i, int rows) {
  return sin(i * 6.283185307179586 / (rows / 4));
}

TEST(shades_where_a_part_is_a_block) {
  const char* panel[] = {"panel", "x", NULL};
  const char* phase[] = {"phase", "x,y", NULL};
  CHECK(is_shaded(late_noise, 6000, panel), "half of the picture");
  CHECK(is_shaded(few_rows, 1500, panel), "two rows per pixel, up and down");
  CHECK(!is_shaded(few_rows, 150, panel), "each line can be seen");
  CHECK(!is_shaded(same_way, 6000, panel), "four waves");
  CHECK(!is_shaded(same_way, 60000, phase), "one curve, four times");
}

TEST(texts_of_marks_keep_apart) {
  const char* csv[] = {"time,a,b\n0,-4,1000000.5\n1,2,1000000.7\n2,0,1000000.6\n", NULL};
  for (int height = 140; height < 400; height += 10) {
    char size[32];
    snprintf(size, sizeof size, "%d:%d", height + 100, height);
    const char* settings[] = {"phase", "a,b", "panel", "a", "size", size, NULL};
    Picture p = draw_figure(csv, settings);
    double last_x = 0.0;
    double last_y = -100.0;
    for (const char* at = p.data; (at = strstr(at, "<text")) != NULL; at++) {
      double x = 0.0;
      double y = 0.0;
      if (sscanf(at, "<text x=\"%lf\" y=\"%lf\"", &x, &y) != 2 || !strstr(at, "text-anchor"))
        continue;
      if (strncmp(strstr(at, "text-anchor"), "text-anchor=\"end\"", 17) == 0) {
        CHECK(x != last_x || fabs(y - last_y) >= 12.0, size);
        last_x = x;
        last_y = y;
      }
    }
    free(p.data);
  }
}

TEST(curves_in_space_have_three_axes) {
  const char* csv[] = {"time,x,y,z\n0,0,0,0\n1,1,0,1\n2,1,1,2\n3,0,1,3\n", NULL};
  for (int angle = -170; angle < 180; angle += 35) {
    char view[32];
    snprintf(view, sizeof view, "%d:20", angle);
    const char* settings[] = {"phase", "x,y,z", "view", view, NULL};
    Picture p = draw_figure(csv, settings);
    CHECK(count(p.data, ">x</text>") == 1 && count(p.data, ">y</text>") == 1 &&
              count(p.data, ">z</text>") == 1,
          view);
    CHECK(count(p.data, "nan") == 0, view);
    free(p.data);
  }
}

TEST(wrong_settings_are_refused) {
  static const struct {
    const char *key, *value;
    SltStatus want;
  } cases[] = {{"nothing", "1", SLT_ERR_NOT_FOUND},
               {"yrange", "5:1", SLT_ERR_ARGUMENT},
               {"yrange", "5", SLT_ERR_ARGUMENT},
               {"yrange", "a:b", SLT_ERR_ARGUMENT},
               {"theme", "blue", SLT_ERR_ARGUMENT},
               {"legend", "up", SLT_ERR_ARGUMENT},
               {"equal", "yes", SLT_ERR_ARGUMENT},
               {"panel", " ", SLT_ERR_ARGUMENT},
               {"yrange", "1:", SLT_OK},
               {"xrange", "-1,1", SLT_OK},
               {"title", "", SLT_OK}};
  SltFigure* figure = NULL;
  CHECK(slt_figure_create(&figure) == SLT_OK, "create");
  FOR_CASES(c, cases) {
    CHECK(slt_figure_set(figure, c->key, c->value) == c->want, c->value);
  }
  slt_figure_free(figure);
  slt_figure_free(NULL);
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
  CHECK(count(p.data, ">m</text>") == 1, "name of the band");
  CHECK(count(p.data, "nan") == 0 && count(p.data, "inf") == 0, "numbers");
  // the curve has three parts: before the jump, after it, behind the gap
  const char* curve = strstr(p.data, "stroke-width=\"1.8\"");
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
  CHECK(p.length < 600000, "thinned");
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

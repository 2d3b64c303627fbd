// SPDX-License-Identifier: MIT
#include "record/record.h"
#include "test.h"

static char written[4096];
static size_t written_length;

static SltStatus collect(void* user, const char* data, size_t length) {
  (void)user;
  if (written_length + length > sizeof written) return SLT_ERR_IO;
  memcpy(written + written_length, data, length);
  written_length += length;
  return SLT_OK;
}

static Str line_of(const SltEvent* event) {
  written_length = 0;
  Sink sink;
  sink_init(&sink, (SltWriter){collect, NULL});
  events_write(&sink, event);
  sink_flush(&sink);
  sink_clear(&sink);
  written[written_length < sizeof written ? written_length : sizeof written - 1] = '\0';
  return (Str){written, (uint32_t)written_length};
}

TEST(event_has_all_fields_in_their_order) {
  const char* atoms[] = {"y <= 0", "v < 0"};
  const SltChange changes[] = {{"v", -4.5, 3.6}, {"n", 0.0, 1.0}};
  const SltChange impulses[] = {{"v'", 0.0, 8.1}};
  const SltEvent event = {.t = 0.5,
                          .n = 2,
                          .iter = 1,
                          .kind = SLT_EVENT_STATE,
                          .event_class = SLT_CLASS_PINNACLE,
                          .automaton = "main",
                          .from = "init",
                          .to = "bounce",
                          .atoms = atoms,
                          .atom_count = 2,
                          .type = SLT_ATOM_UNILATERAL,
                          .line = 12,
                          .bracket = {0.4999, 0.5},
                          .slope = 4.5,
                          .certified = true,
                          .changes = changes,
                          .change_count = 2,
                          .impulses = impulses,
                          .impulse_count = 1};
  CHECK_STR(line_of(&event),
            "{\"t\":0.5,\"n\":2,\"iter\":1,\"kind\":\"state\",\"class\":\"pinnacle\","
            "\"automaton\":\"main\",\"from\":\"init\",\"to\":\"bounce\","
            "\"atom\":[\"y <= 0\",\"v < 0\"],\"type\":\"unilateral\",\"line\":12,"
            "\"bracket\":[0.4999,0.5],\"slope\":4.5,\"certified\":true,"
            "\"changed\":{\"v\":[-4.5,3.6],\"n\":[0,1]},\"impulses\":{\"v'\":8.1}}\n",
            "full");
}

TEST(details_come_behind_the_fields_of_all) {
  const SltTruth truths[] = {{"y <= 0", -0.0, 0.0, true, true, true},
                             {"N < 0", (double)NAN, 2.5, false, false, false}};
  const SltEquivalent equivalents[] = {{"F", 0.5, -0.5, 0.25}, {"v'", 1.0, (double)INFINITY, 0.0}};
  const SltEvent event = {.kind = SLT_EVENT_SLIDE_IN,
                          .type = SLT_ATOM_NONE,
                          .truths = truths,
                          .truth_count = 2,
                          .has_cause = true,
                          .caused_by = 3,
                          .has_residual = true,
                          .residual = {0.5, 1e-16},
                          .has_share = true,
                          .share = 0.25,
                          .equivalents = equivalents,
                          .equivalent_count = 2};
  CHECK(strstr(line_of(&event).data,
               "\"guard\":[{\"atom\":\"y <= 0\",\"holds\":true,\"g\":0,\"armed\":true,"
               "\"located\":true},{\"atom\":\"N < 0\",\"holds\":false,\"g\":null,\"pulse\":2.5,"
               "\"armed\":false,\"located\":false}],\"caused_by\":3,\"residual\":[0.5,1e-16],"
               "\"share\":0.25,\"equivalent\":{\"F\":[0.5,-0.5,0.25],\"v'\":[1,null,0]}}") != NULL,
        "details");
}

TEST(what_is_not_there_is_null) {
  const SltEvent event = {.t = (double)INFINITY,
                          .kind = SLT_EVENT_STOP,
                          .event_class = SLT_CLASS_INTERIOR,
                          .from = "ignored without an automaton",
                          .type = SLT_ATOM_NONE,
                          .bracket = {(double)NAN, 1.0},
                          .slope = (double)NAN,
                          .text = "done"};
  CHECK_STR(line_of(&event),
            "{\"t\":null,\"n\":0,\"iter\":0,\"kind\":\"stop\",\"class\":\"interior\","
            "\"automaton\":null,\"from\":null,\"to\":null,\"atom\":[],\"type\":null,\"line\":null,"
            "\"bracket\":[null,1],\"slope\":null,\"certified\":false,\"changed\":{},"
            "\"impulses\":{},\"text\":\"done\"}\n",
            "empty");
}

TEST(strings_are_escaped_and_utf8_is_kept) {
  static const struct {
    const char* name;
    const char* text;
    const char* want;
  } cases[] = {
      {"quote", "say \"stop\"", "\"say \\\"stop\\\"\""},
      {"backslash", "a\\b", "\"a\\\\b\""},
      {"line ends", "a\nb\rc\td", "\"a\\nb\\rc\\td\""},
      {"control", "a\x01\x1f\x7f", "\"a\\u0001\\u001f\\u007f\""},
      {"utf-8", "Fy реакц. 中 🎈", "\"Fy реакц. 中 🎈\""},
      {"not utf-8", "a\xff\xc3", "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
  };
  FOR_CASES(c, cases) {
    const SltEvent event = {.kind = SLT_EVENT_STOP, .type = SLT_ATOM_NONE, .text = c->text};
    Str line = line_of(&event);
    size_t length = strlen(c->want);
    CHECK(line.length > length + 2, c->name);
    CHECK(memcmp(line.data + line.length - length - 2, c->want, length) == 0, c->name);
  }
}

TEST(words_of_the_contract) {
  static const char* const kinds[] = {"initial", "time",   "state",   "slide-in", "slide-out",
                                      "zeno",    "reinit", "chatter", "limit",    "stop"};
  for (size_t i = 0; i < SLT_COUNT(kinds); i++) {
    CHECK_STR(str_from_c(events_kind_text((SltEventKind)i)), kinds[i], "kind");
  }
  static const char* const classes[] = {"interior", "mythical", "pinnacle", "boundary", "sliding"};
  for (size_t i = 0; i < SLT_COUNT(classes); i++) {
    CHECK_STR(str_from_c(events_class_text((SltEventClass)i)), classes[i], "class");
  }
  static const char* const types[] = {"critical",    "unilateral", "bilateral",
                                      "shortliving", "noEvent",    "time"};
  for (size_t i = 0; i < SLT_COUNT(types); i++) {
    CHECK_STR(str_from_c(events_type_text((SltAtomType)i)), types[i], "type");
  }
  CHECK(events_type_text(SLT_ATOM_NONE) == NULL, "none");
}

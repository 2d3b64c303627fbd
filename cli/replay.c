// SPDX-License-Identifier: MIT
//
// A run with values that were changed while it went on, from a list of them: lines of JSON, each
// with the time `t`, the `name` of a constant or variable and its `value`. The workbench writes
// such lists.
#include "json.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SltStatus replay_write(SltSim* sim, const char* name, double value) {
  SltQuantity quantity;
  SltStatus status = slt_sim_find(sim, name, &quantity);
  if (status < 0) return status;
  return quantity.kind == SLT_KIND_CONSTANT ? slt_sim_set_constant(sim, name, value)
                                            : slt_sim_set(sim, quantity, value);
}

void replay_clear(Replay* replay) {
  for (uint32_t i = 0; i < replay->count; i++)
    free(replay->changes[i].name);
  free(replay->changes);
  *replay = (Replay){0};
}

/// One line; false when it is no change, or without memory.
static bool add_line(Replay* replay, char* line, size_t length) {
  Json json;
  bool good = json_read(line, length, &json);
  const JsonNode* root = good ? &json.nodes[0] : NULL;
  const JsonNode* t = json_member(&json, root, "t");
  const JsonNode* name = json_member(&json, root, "name");
  const JsonNode* value = json_member(&json, root, "value");
  good = t && t->kind == JSON_NUMBER && json_text(name) && value && value->kind == JSON_NUMBER;
  ReplayChange* grown = good ? realloc(replay->changes, (replay->count + 1) * sizeof *grown) : NULL;
  if (grown) {
    replay->changes = grown;
    grown[replay->count] = (ReplayChange){.t = t->number, .value = value->number};
    grown[replay->count].name = malloc(name->length + 1);
    if (grown[replay->count].name) {
      memcpy(grown[replay->count++].name, name->text, name->length + 1);
    } else {
      grown = NULL;
    }
  }
  json_clear(&json);
  return grown != NULL;
}

bool replay_read(const char* path, Replay* out) {
  size_t length = 0;
  char* text = input_read(path, "list of changes", false, SOURCE_LIMIT, &length);
  if (!text) return false;
  bool good = true;
  unsigned line = 0;
  for (size_t at = 0; good && at < length;) {
    char* end = memchr(text + at, '\n', length - at);
    size_t size = end ? (size_t)(end - text) - at : length - at;
    char* copy = malloc(size + 1);
    line++;
    if (copy) memcpy(copy, text + at, size);
    if (copy) copy[size] = '\0';
    bool blank = copy && strspn(copy, " \t\r") == size;
    good = copy && (blank || add_line(out, copy, size));
    bool early =
        good && out->count > 1 && out->changes[out->count - 1].t < out->changes[out->count - 2].t;
    if (!good || early) {
      cli_error(early ? "%s:%u: this change comes before the one above it"
                      : "%s:%u: this is no change; one is {\"t\":1.5,\"name\":\"k\",\"value\":0.5}",
                path, line);
      good = false;
    }
    free(copy);
    at += size + 1;
  }
  free(text);
  return good;
}

SltStatus replay_run(const Replay* replay, SltSim* sim, SltRecorder* recorder, double t_end) {
  for (uint32_t i = 0; i < replay->count && replay->changes[i].t <= t_end; i++) {
    const ReplayChange* change = &replay->changes[i];
    // what happens at this time happens before
    SltStatus status = slt_recorder_run(recorder, change->t);
    if (status < 0 || status == SLT_END) return status;
    status = replay_write(sim, change->name, change->value);
    if (status < 0) {
      char t[32];
      cli_error("--replay: %s cannot be changed at t = %s", change->name,
                cli_number_text(change->t, t));
      return status;
    }
  }
  return slt_recorder_run(recorder, t_end);
}

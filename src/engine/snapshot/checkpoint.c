// SPDX-License-Identifier: MIT
//
// Checkpoints: a snapshot that another process can go on from.
//
//   Head | note of the caller | list of modes | snapshot (sim.c), its pointers to modes replaced by
//   places in the list | seal
//
// A snapshot is the memory of a run, with the numbers by which it finds its way in its own tables,
// and somebody who can write one can do with the program what he likes. So everything stands under
// a seal (HMAC-SHA256) with the caller's key, and nothing is looked at before it has been verified.
// The list has every mode of the run in the order in which it was first asked for. The process that
// goes on asks for them in the same order, so that everything that depends on it (ids, modes that
// stand for many) is as it was. What has to fit is compared before anything is changed: the build
// of the program, the text of the model and its tables, its constants, the options of the run.
#include "engine/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHECKPOINT_MAGIC  UINT64_C(0x31504b435554ac53)
#define CHECKPOINT_FORMAT 2u
#define DAMAGED           "it is damaged"

typedef struct Head {
  uint64_t magic;
  uint32_t format;
  uint32_t core_size;  // tells builds with another layout apart
  char version[32];
  uint64_t block_size, stepper_size;
  uint64_t model_hash;
  uint32_t automaton_count, mode_count;
  uint64_t note_size, snapshot_size;
  char method[32];
  double numbers[9];
  uint64_t counts[6];
} Head;

// ---- the list of modes --------------------------------------------------------------------------

static SltStatus note_mode(EngSim* sim, const uint32_t* states, const ModelMode* mode) {
  EngModeList* list = &sim->known;
  size_t n = sim->model->automaton_count;
  uint32_t place = list->places.count;
  const BaseKey* again = NULL;
  if (base_keys_find(&list->places, (uintptr_t)mode)) return SLT_OK;
  SLT_TRY(ENG_MORE(sim, list->modes, (size_t)place + 1));
  SLT_TRY(ENG_MORE(sim, list->states, (place + 1) * n));
  SLT_TRY(eng_keys_add(sim, &list->places, (uintptr_t)mode, place, &again));
  list->modes[place] = mode;
  if (n) memcpy(list->states + place * n, states, n * sizeof *states);
  return SLT_OK;
}

SltStatus eng_get_mode(EngSim* sim, const uint32_t* states, const ModelMode** out,
                       const Diag** failure) {
  SltStatus status = sim->provider.get(sim->provider.user, states, out, failure);
  sim->memory.lost |= status == SLT_ERR_NOMEM;
  return status < 0 ? status : note_mode(sim, states, *out);
}

/// Place in the list + 1, 0 for none, as a pointer that is none.
static const ModelMode* place_of(const EngSim* sim, const ModelMode* mode) {
  const BaseKey* known = base_keys_find(&sim->known.places, (uintptr_t)mode);
  uintptr_t place = known ? (uintptr_t)known->note + 1 : 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is a number that a pointer's place keeps
  return (const ModelMode*)place;
}

static bool mode_at(const EngSim* sim, const ModelMode** mode) {
  uintptr_t place = (uintptr_t)*mode;
  if (place > sim->known.places.count) return false;
  *mode = place ? sim->known.modes[place - 1] : NULL;
  return true;
}

/// All pointers in the plain data of a run.
static void core_modes(EngCore* core, const ModelMode** list[2]) {
  list[0] = &core->mode;
  list[1] = &core->mode_before;
}

// ---- what has to fit ----------------------------------------------------------------------------

static uint64_t hash_model(const Model* model) {
  uint64_t hash = hash_mix(model->env_count, model->atom_count);
  if (model->source) hash = hash_bytes(model->source->text.data, model->source->text.length, hash);
  for (uint32_t i = 0; i < model->table_count; i++) {
    const ModelTable* table = &model->tables[i];
    hash = hash_bytes(table->x, table->count * sizeof(double), hash);
    hash = hash_bytes(table->y, table->count * sizeof(double), hash);
  }
  return hash;
}

static Head head_of(const EngSim* sim) {
  const EngOptions* o = &sim->options;
  Head head = {.magic = CHECKPOINT_MAGIC,
               .format = CHECKPOINT_FORMAT,
               .core_size = (uint32_t)sizeof sim->core,
               .block_size = sim->storage.size,
               .stepper_size = sim->storage.stepper_size,
               .model_hash = hash_model(sim->model),
               .automaton_count = sim->model->automaton_count,
               .mode_count = sim->known.places.count,
               .snapshot_size = eng_snapshot_size(sim),
               .numbers = {o->t_start, o->rtol, o->atol, o->h0, o->h_min, o->h_max, o->step,
                           o->event_eps, o->gamma},
               .counts = {(uint64_t)o->detection, (uint64_t)o->sliding, (uint64_t)o->zeno, o->seed,
                          o->max_events, o->max_steps}};
  snprintf(head.version, sizeof head.version, "%s", SLT_VERSION);
  snprintf(head.method, sizeof head.method, "%s", o->method_auto ? "auto" : o->method->name);
  return head;
}

/// What does not fit, in words; false when everything does.
static bool differs(EngSim* sim, const Head* head) {
  static const char* const numbers[] = {"the start", "rtol", "atol",      "h0",   "hmin",
                                        "hmax",      "step", "event-eps", "gamma"};
  static const char* const counts[] = {"the detection", "sliding",         "zeno",
                                       "the seed",      "the event limit", "the step limit"};
  Head own = head_of(sim);
  char* text = sim->report.checkpoint_text;
  size_t room = sizeof sim->report.checkpoint_text;
  if (strncmp(own.version, head->version, sizeof own.version) != 0 ||
      own.core_size != head->core_size) {
    snprintf(text, room, "it was written by another build of the program (version %.31s)",
             head->version);
    return true;
  }
  if (own.model_hash != head->model_hash || own.automaton_count != head->automaton_count) {
    snprintf(text, room, "the model has changed since");
    return true;
  }
  if (strncmp(own.method, head->method, sizeof own.method) != 0) {
    snprintf(text, room, "the method was %.31s and is %.31s", head->method, own.method);
    return true;
  }
  for (size_t i = 0; i < SLT_COUNT(numbers); i++) {
    bool open = isnan(own.numbers[i]) && isnan(head->numbers[i]);  // not given, both times
    if (open || own.numbers[i] == head->numbers[i]) continue;
    snprintf(text, room, "%s was %s and is %s", numbers[i], eng_number(head->numbers[i]).text,
             eng_number(own.numbers[i]).text);
    return true;
  }
  for (size_t i = 0; i < SLT_COUNT(counts); i++) {
    if (own.counts[i] == head->counts[i]) continue;
    snprintf(text, room, "%s is not what it was", counts[i]);
    return true;
  }
  if (own.block_size != head->block_size || own.stepper_size != head->stepper_size) {
    snprintf(text, room, "it was written by another build of the program");
    return true;
  }
  return false;
}

/// Constants as they are here against those of the saved environment.
static bool constants_differ(EngSim* sim, const char* snapshot) {
  const char* env = snapshot + sizeof sim->core + ((char*)sim->env - sim->storage.block);
  for (uint32_t p = 0; p < sim->model->param_count; p++) {
    const ModelParam* param = &sim->model->params[p];
    double given = sim->values.params_given[p];
    double here = isnan(given) ? eng_eval(sim, &param->value) : given;
    double there = 0.0;
    memcpy(&there, env + param->env * sizeof there, sizeof there);
    sim->env[param->env] = here;
    if (here == there) continue;
    snprintf(sim->report.checkpoint_text, sizeof sim->report.checkpoint_text,
             "the constant %.*s was %s and is %s",
             (int)(param->name.length < 60 ? param->name.length : 60), param->name.data,
             eng_number(there).text, eng_number(here).text);
    return true;
  }
  return false;
}

// ---- saving and restoring -----------------------------------------------------------------------

static size_t list_size(const EngSim* sim) {
  return (size_t)sim->known.places.count * sim->model->automaton_count * sizeof(uint32_t);
}

size_t eng_checkpoint_size(const EngSim* sim, size_t note_size) {
  size_t own = sizeof(Head) + list_size(sim) + eng_snapshot_size(sim) + sizeof(Digest);
  return base_add_size(own, note_size);
}

static Digest seal_of(const SltKey* key, const void* data, size_t size) {
  return sha256_hmac(key ? key->bytes : NULL, key ? sizeof key->bytes : 0, data, size);
}

SltStatus eng_checkpoint_save(const EngSim* sim, const SltKey* key, const void* note,
                              size_t note_size, void* buffer, size_t size) {
  if (size < eng_checkpoint_size(sim, note_size) || !sim->core.started || sim->core.failed) {
    return SLT_ERR_ARGUMENT;
  }
  char* out = buffer;
  Head head = head_of(sim);
  head.note_size = note_size;
  size_t list = list_size(sim);
  size_t used = sizeof head;
  memcpy(out, &head, sizeof head);
  if (note_size) memcpy(out + used, note, note_size);
  used += note_size;
  if (list) memcpy(out + used, sim->known.states, list);
  used += list;
  char* snapshot = out + used;
  SLT_TRY(eng_snapshot_save(sim, snapshot, head.snapshot_size));
  EngCore core;
  memcpy(&core, snapshot, sizeof core);
  const ModelMode** modes[2];
  core_modes(&core, modes);
  for (uint32_t i = 0; i < SLT_COUNT(modes); i++) {
    *modes[i] = place_of(sim, *modes[i]);
  }
  memcpy(snapshot, &core, sizeof core);
  used += head.snapshot_size;
  Digest seal = seal_of(key, out, used);
  memcpy(out + used, &seal, sizeof seal);
  return SLT_OK;
}

static SltStatus refuse(EngSim* sim, const char* text, const char** why) {
  if (text) snprintf(sim->report.checkpoint_text, sizeof sim->report.checkpoint_text, "%s", text);
  if (why) *why = sim->report.checkpoint_text;
  return SLT_ERR_ARGUMENT;
}

/// Whether the sizes in the head are those of the file and of the run.
static bool sizes_fit(const EngSim* sim, const Head* head, size_t size) {
  size_t list = base_mul_size(head->mode_count, (size_t)head->automaton_count * sizeof(uint32_t));
  size_t fixed = sizeof sim->core + sim->storage.size + sim->storage.stepper_size;
  size_t whole = base_add_size(sizeof *head + sizeof(Digest), (size_t)head->note_size);
  whole = base_add_size(base_add_size(whole, list), (size_t)head->snapshot_size);
  return whole == size && head->snapshot_size >= fixed;
}

/// Ask for the modes of the list in its order. What is wrong in words, or NULL.
static const char* fetch_modes(EngSim* sim, const Head* head, const char* list, SltStatus* status) {
  size_t n = head->automaton_count;
  for (uint32_t i = 0; i < head->mode_count; i++) {
    const ModelMode* mode = NULL;
    const Diag* failure = NULL;
    if (n) memcpy(sim->probe.states, list + i * n * sizeof(uint32_t), n * sizeof(uint32_t));
    for (uint32_t a = 0; a < n; a++) {
      if (sim->probe.states[a] >= sim->model->automata[a].state_count) return DAMAGED;
    }
    *status = eng_get_mode(sim, sim->probe.states, &mode, &failure);
    if (*status == SLT_ERR_NOMEM) return "out of memory";
    if (*status < 0) return "one of its modes cannot be compiled any more";
  }
  return NULL;
}

/// The seal is compared in a time that does not depend on where it differs.
static bool is_sealed(const SltKey* key, const char* in, size_t size) {
  Digest seal = seal_of(key, in, size - sizeof seal);
  uint8_t differences = 0;
  for (size_t i = 0; i < sizeof seal; i++) {
    differences |= (uint8_t)(seal.bytes[i] ^ (uint8_t)in[size - sizeof seal + i]);
  }
  return differences == 0;
}

SltStatus eng_checkpoint_restore(EngSim* sim, const SltKey* key, const void* buffer, size_t size,
                                 void* note, size_t note_size, const char** why) {
  const char* in = buffer;
  Head head;
  if (sim->core.started) return refuse(sim, "the run has begun already", why);
  head = (Head){.magic = 0};
  memcpy(&head, in, size < sizeof head ? size : sizeof head);
  if (head.magic != CHECKPOINT_MAGIC) return refuse(sim, "it is no checkpoint", why);
  if (size < sizeof head + sizeof(Digest)) return refuse(sim, "it is not whole", why);
  if (head.format != CHECKPOINT_FORMAT) {
    return refuse(sim, "it was written by another version of the program", why);
  }
  if (!is_sealed(key, in, size)) {
    return refuse(sim, "it is damaged, or was not written by this user on this machine", why);
  }
  head.version[sizeof head.version - 1] = '\0';
  head.method[sizeof head.method - 1] = '\0';
  if (differs(sim, &head)) return refuse(sim, NULL, why);
  if (!sizes_fit(sim, &head, size) || head.note_size != note_size) {
    return refuse(sim, DAMAGED, why);
  }
  if (note_size) memcpy(note, in + sizeof head, note_size);
  const char* list = in + sizeof head + note_size;
  const char* snapshot = list + (size_t)head.mode_count * head.automaton_count * sizeof(uint32_t);
  if (constants_differ(sim, snapshot)) return refuse(sim, NULL, why);
  SltStatus status = SLT_OK;
  const char* problem = fetch_modes(sim, &head, list, &status);
  if (status == SLT_ERR_NOMEM) return status;
  if (problem) return refuse(sim, problem, why);
  EngCore core;
  memcpy(&core, snapshot, sizeof core);
  const ModelMode** modes[2];
  core_modes(&core, modes);
  for (uint32_t i = 0; i < SLT_COUNT(modes); i++) {
    if (!mode_at(sim, modes[i])) return refuse(sim, DAMAGED, why);
  }
  if (!core.mode) return refuse(sim, DAMAGED, why);
  status = eng_snapshot_take(sim, &core, snapshot, (size_t)head.snapshot_size);
  return status == SLT_ERR_ARGUMENT ? refuse(sim, DAMAGED, why) : status;
}

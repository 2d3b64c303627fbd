// SPDX-License-Identifier: MIT
//
// The build as a whole: creation, and the cache of compiled modes behind the provider.
//
// Three maps lead to the equations of a product mode: the whole vector of states; the states of
// those automata that edit equations; the list of active equations. Only the last one decides what
// is analysed and compiled, the others make it cheap to find.
#include "model/build_internal.h"

#include <string.h>

#define WORD_SLOTS_MIN 16

// ---------------------------------------------------------------------------------------------
// maps from words

static uint64_t words_hash(const uint32_t* words, uint32_t count) {
  return hash_bytes(words, count * sizeof *words, count);
}

static WordEntry** words_slot(const WordMap* map, uint64_t hash, const uint32_t* words,
                              uint32_t count) {
  uint32_t mask = map->slot_count - 1;
  for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
    WordEntry** slot = &map->slots[i];
    const WordEntry* entry = *slot;
    if (!entry) return slot;
    bool same = entry->hash == hash && entry->count == count;
    if (same && (count == 0 || memcmp(entry->words, words, count * sizeof *words) == 0))
      return slot;
  }
}

void* words_find(const WordMap* map, const uint32_t* words, uint32_t count) {
  if (map->slot_count == 0) return NULL;
  const WordEntry* entry = *words_slot(map, words_hash(words, count), words, count);
  return entry ? entry->value : NULL;
}

static void words_grow(WordMap* map, Arena* arena) {
  WordMap larger = {.slot_count = map->slot_count ? 2 * map->slot_count : WORD_SLOTS_MIN,
                    .count = map->count};
  larger.slots = ARENA_ARRAY(arena, WordEntry*, larger.slot_count);
  for (uint32_t i = 0; i < map->slot_count; i++) {
    WordEntry* entry = map->slots[i];
    if (entry) *words_slot(&larger, entry->hash, entry->words, entry->count) = entry;
  }
  *map = larger;
}

void words_add(WordMap* map, Arena* arena, const uint32_t* words, uint32_t count, void* value) {
  uint32_t* copy = ARENA_ARRAY(arena, uint32_t, count);
  if (count) memcpy(copy, words, count * sizeof *copy);
  WordEntry* entry = ARENA_NEW(arena, WordEntry);
  *entry =
      (WordEntry){.hash = words_hash(words, count), .words = copy, .count = count, .value = value};
  if (2 * (map->count + 1) > map->slot_count) words_grow(map, arena);
  *words_slot(map, entry->hash, copy, count) = entry;
  map->count++;
}

// ---------------------------------------------------------------------------------------------
// creation

bool build_guarded(ModelBuild* build, BuildWork* work, void* argument) {
  jmp_buf out_of_memory;
  build->arena.on_oom = &out_of_memory;
  arena_init(&build->scratch, &build->allocator, &out_of_memory);
  arena_init(&build->work, &build->allocator, &out_of_memory);
  bool done = false;
  if (setjmp(out_of_memory) == 0) {
    work(build, argument);
    done = true;
  }
  arena_free(&build->scratch);
  arena_free(&build->work);
  build->arena.on_oom = NULL;
  return done;
}

static void build_all(ModelBuild* build, void* argument) {
  (void)argument;
  const IrModel* ir = build->ir;
  sym_init(&build->sym, &build->arena, ir);
  tape_init(&build->graph, &build->arena);
  build_layout(&build->layout, &build->arena, ir);
  build->model.source = ir->source;
  build->model.env_count = build->layout.env_count;
  build->model.numbers = ir->numbers.data;
  build->model.start_time_env = build->layout.start_time_env;
  build_variables(build);
  build_automata(build);
}

SltStatus model_build_create(const SltAllocator* allocator, const IrModel* ir, ModelBuild** out) {
  *out = NULL;
  SltAllocator memory = base_allocator(allocator);
  ModelBuild* build = base_alloc(&memory, sizeof *build);
  if (!build) return SLT_ERR_NOMEM;
  build->allocator = memory;
  build->ir = ir;
  arena_init(&build->arena, &memory, NULL);
  if (pthread_mutex_init(&build->mutex, NULL) != 0) {
    base_free(&memory, build, sizeof *build);
    return SLT_ERR_NOMEM;
  }
  if (!build_guarded(build, build_all, NULL)) {
    model_build_free(build);
    return SLT_ERR_NOMEM;
  }
  *out = build;
  return SLT_OK;
}

void model_build_free(ModelBuild* build) {
  if (!build) return;
  SltAllocator memory = build->allocator;
  arena_free(&build->arena);
  pthread_mutex_destroy(&build->mutex);
  base_free(&memory, build, sizeof *build);
}

size_t model_build_memory(ModelBuild* build) {
  pthread_mutex_lock(&build->mutex);
  size_t bytes = build->arena.total;
  pthread_mutex_unlock(&build->mutex);
  return bytes;
}

const Model* model_build_model(const ModelBuild* build) {
  return &build->model;
}

// ---------------------------------------------------------------------------------------------
// equations of a mode

static BuildSet* new_set(ModelBuild* build, const uint32_t* mode, const uint32_t* equations,
                         uint32_t count) {
  BuildSet* set = ARENA_NEW(&build->arena, BuildSet);
  set->sym = sym_analyse(&build->sym, &build->arena, &build->scratch, equations, count, mode);
  set->failure = set->sym->failure;
  if (!set->failure) set->failure = build_hidden_room(build, set->sym);
  words_add(&build->sets, &build->arena, equations, count, set);
  set->id = build->set_count++;
  return set;
}

/// What is known about a mode so far, and if nothing is, its key.
static BuildSet* find_set(ModelBuild* build, const uint32_t* mode, uint32_t** edits) {
  *edits = ARENA_ARRAY(&build->scratch, uint32_t, build->editor_count);
  for (uint32_t i = 0; i < build->editor_count; i++) {
    (*edits)[i] = mode[build->editors[i]];
  }
  return words_find(&build->edits, *edits, build->editor_count);
}

/// The active equations of a mode. IR_NONE and the failure when its bodies contradict each other.
static uint32_t find_equations(ModelBuild* build, const uint32_t* mode, uint32_t** equations,
                               const Diag** failure) {
  const IrModel* ir = build->ir;
  *equations = ARENA_ARRAY(&build->scratch, uint32_t, ir->equations.count);
  IrConflict conflict = {0};
  uint32_t count = ir_mode_equations(ir, &build->scratch, mode, *equations, &conflict);
  if (count == IR_NONE) *failure = sym_conflict(&build->sym, &build->scratch, &conflict, mode);
  return count;
}

BuildSet* build_set(ModelBuild* build, const uint32_t* mode) {
  uint32_t* edits = NULL;
  BuildSet* set = find_set(build, mode, &edits);
  if (set) return set;

  uint32_t* equations = NULL;
  const Diag* failure = NULL;
  uint32_t count = find_equations(build, mode, &equations, &failure);
  if (failure) {
    set = ARENA_NEW(&build->arena, BuildSet);
    set->failure = failure;
    set->id = build->set_count++;
  } else {
    set = words_find(&build->sets, equations, count);
    if (!set) set = new_set(build, mode, equations, count);
  }
  words_add(&build->edits, &build->arena, edits, build->editor_count, set);
  return set;
}

const Diag* build_failure(ModelBuild* build, const uint32_t* mode, const SymMode** out) {
  uint32_t* edits = NULL;
  const BuildSet* set = find_set(build, mode, &edits);
  *out = set ? set->sym : NULL;
  if (set) return set->failure;
  uint32_t* equations = NULL;
  const Diag* failure = NULL;
  uint32_t count = find_equations(build, mode, &equations, &failure);
  if (failure) return failure;
  Arena* scratch = &build->scratch;
  const SymMode* sym = sym_analyse(&build->sym, scratch, scratch, equations, count, mode);
  *out = sym;
  return sym->failure ? sym->failure : build_hidden_room(build, sym);
}

// ---------------------------------------------------------------------------------------------
// the provider

/// A mode of the cache: compiled, or the reason why not.
typedef struct CachedMode {
  const ModelMode* mode;
  const Diag* failure;
} CachedMode;

typedef struct Request {
  const uint32_t* mode;
  CachedMode answer;
} Request;

static void answer_request(ModelBuild* build, void* argument) {
  Request* request = argument;
  BuildSet* set = build_set(build, request->mode);
  const Diag* failure = build->failure ? build->failure : set->failure;
  if (!failure && build_is_shared(build, set)) {
    // not remembered by its states: there may be any number of such modes
    request->answer = (CachedMode){.mode = build_mode(build, set, request->mode)};
    return;
  }
  CachedMode* cached = ARENA_NEW(&build->arena, CachedMode);
  cached->failure = failure;
  if (!failure) cached->mode = build_mode(build, set, request->mode);
  words_add(&build->modes, &build->arena, request->mode, build->ir->automata.count, cached);
  set->mode_count++;
  request->answer = *cached;
}

/// A mode that all product modes with its equations share, once there is one. Takes no memory.
static const ModelMode* find_shared(ModelBuild* build, const uint32_t* mode) {
  for (uint32_t i = 0; i < build->editor_count; i++) {
    build->edit_words[i] = mode[build->editors[i]];
  }
  const BuildSet* set = words_find(&build->edits, build->edit_words, build->editor_count);
  bool usable = set && !set->failure && !build->failure && build_is_shared(build, set);
  return usable ? set->shared : NULL;
}

static SltStatus get_mode(void* user, const uint32_t* mode, const ModelMode** out,
                          const Diag** failure) {
  ModelBuild* build = user;
  *out = NULL;
  if (failure) *failure = NULL;
  pthread_mutex_lock(&build->mutex);
  Request request = {.mode = mode};
  const CachedMode* cached = words_find(&build->modes, mode, build->ir->automata.count);
  if (cached) request.answer = *cached;
  if (!cached) request.answer.mode = find_shared(build, mode);
  bool known = cached || request.answer.mode || build_guarded(build, answer_request, &request);
  pthread_mutex_unlock(&build->mutex);
  if (!known) return SLT_ERR_NOMEM;
  if (failure) *failure = request.answer.failure;
  *out = request.answer.mode;
  return request.answer.failure ? SLT_ERR_STRUCTURE : SLT_OK;
}

typedef struct StiffRequest {
  const uint32_t* mode;
  const BuildSet* set;
} StiffRequest;

static void answer_stiff(ModelBuild* build, void* argument) {
  StiffRequest* request = argument;
  BuildSet* set = build_set(build, request->mode);
  if (!set->failure && !set->stiff_known) {
    build_compile_set(build, set);
    const ModelStiff* stiff = build_stiff(build, set);
    set->stiff = stiff;
    set->stiff_known = true;
  }
  request->set = set;
}

static SltStatus get_stiff(void* user, const uint32_t* mode, const ModelStiff** out) {
  ModelBuild* build = user;
  StiffRequest request = {.mode = mode};
  pthread_mutex_lock(&build->mutex);
  bool known = build_guarded(build, answer_stiff, &request);
  pthread_mutex_unlock(&build->mutex);
  *out = known ? request.set->stiff : NULL;
  if (!known) return SLT_ERR_NOMEM;
  return *out ? SLT_OK : SLT_ERR_LIMIT;
}

static void answer_rates(ModelBuild* build, void* argument) {
  StiffRequest* request = argument;
  BuildSet* set = build_set(build, request->mode);
  if (!set->failure && !set->rates_known) {
    build_compile_set(build, set);
    set->rates = build_rates(build, set);
    set->rates_known = true;
  }
  request->set = set;
}

static SltStatus get_rates(void* user, const uint32_t* mode, const ModelRates** out) {
  ModelBuild* build = user;
  StiffRequest request = {.mode = mode};
  pthread_mutex_lock(&build->mutex);
  bool known = build_guarded(build, answer_rates, &request);
  pthread_mutex_unlock(&build->mutex);
  *out = known ? request.set->rates : NULL;
  return known ? SLT_OK : SLT_ERR_NOMEM;
}

ModelProvider model_build_provider(ModelBuild* build) {
  return (ModelProvider){.get = get_mode,
                         .stiff = get_stiff,
                         .rates = get_rates,
                         .culprit = build_find_culprit,
                         .user = build};
}

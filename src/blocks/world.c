// SPDX-License-Identifier: MIT
//
// Creation and end of a world, messages, names, random streams.
#include "blocks/blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORLD_COOKIE 0x51a17010u

SltWorldOptions slt_world_options(void) {
  return (SltWorldOptions){.method = "literal",
                           .rtol = 1e-6,
                           .atol = 1e-9,
                           .probes = 4,
                           .max_chain = 1000000,
                           .seed = 1,
                           .stack_size = 65536,
                           .cookie = WORLD_COOKIE};
}

/// NULL with `literal` set for the literal way; SLT_ERR_NOT_FOUND for what cannot be used.
static SltStatus find_method(const char* name, const NumMethod** out) {
  *out = NULL;
  if (!name || strcmp(name, "literal") == 0) return SLT_OK;
  const NumMethod* method = num_method_find(str_from_c(name));
  if (!method || !method->adaptive || method->stiff || method->multistep) return SLT_ERR_NOT_FOUND;
  *out = method;
  return SLT_OK;
}

static bool options_valid(const SltWorldOptions* o) {
  return o->cookie == WORLD_COOKIE && isfinite(o->t_start) && o->rtol > 0.0 && o->atol >= 0.0 &&
         o->h_max >= 0.0 && o->probes >= 1 && o->probes <= 64 && o->max_chain >= 1 &&
         o->stack_size >= 16384;
}

/// Values of a world in which nothing has happened yet.
static void world_begin(SltWorld* world, double t) {
  world->t = t;
  world->record.t_sampled = -HUGE_VAL;
  world->passes.t_fired = -HUGE_VAL;
  world->nodes.count = 1;  // index 0 is nobody, everywhere
  world->motion.integrator_count = 1;
  world->transactions.count = 1;
  world->transactions.request_count = 1;
  world->processes.count = 1;
  world->names.count = 1;
  world->memory.count = 0;
  world->passes.present = 1;
  world->passes.instant = 1;
  world->motion.stepper_fresh = true;
}

SltStatus slt_world_create(const SltWorldOptions* options, SltWorld** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  SltWorldOptions defaults = slt_world_options();
  if (!options) options = &defaults;
  const NumMethod* method = NULL;
  if (!options_valid(options) || find_method(options->method, &method) < 0) {
    return SLT_ERR_ARGUMENT;
  }
  SltAllocator allocator = base_allocator(&options->allocator);
  SltWorld* world = base_alloc(&allocator, sizeof *world);
  if (!world) return SLT_ERR_NOMEM;
  world->allocator = allocator;
  world->options = *options;
  world->options.method = NULL;  // belongs to the caller
  world->method = method;
  world_begin(world, options->t_start);
  *out = world;
  return SLT_OK;
}

static void free_array(SltWorld* world, void* array, uint32_t capacity, size_t size) {
  base_free(&world->allocator, array, capacity * size);
}

static void clear_names(SltWorld* world) {
  for (uint32_t i = 1; i < world->names.count; i++) {
    base_free(&world->allocator, world->names.all[i].text, world->names.all[i].length + 1u);
  }
  free_array(world, world->names.all, world->names.capacity, sizeof *world->names.all);
  free_array(world, world->names.slots, world->names.slot_count, sizeof *world->names.slots);
}

static void clear_transactions(SltWorld* world) {
  for (uint32_t i = 1; i < world->transactions.count; i++) {
    BlkTransaction* transaction = &world->transactions.all[i];
    if (transaction->alive && transaction->destroy) transaction->destroy(transaction->data);
  }
  free_array(world, world->transactions.all, world->transactions.capacity,
             sizeof *world->transactions.all);
}

/// Free everything but the world itself, and zero what it held.
void blk_clear(SltWorld* world) {
  blk_processes_clear(world);
  if (world->free_members) world->free_members(world);
  clear_transactions(world);
  blk_resources_clear(world);
  blk_stores_clear(world);
  blk_watch_clear(world);
  blk_scene_clear(world);
  blk_guides_clear(world);
  blk_memory_clear(world);
  blk_stepper_free(world);
  blk_heap_clear(&world->queue, &world->allocator);
  free_array(world, world->soon.ring, world->soon.capacity, sizeof *world->soon.ring);
  free_array(world, world->nodes.all, world->nodes.capacity, sizeof *world->nodes.all);
  for (int i = 0; i < 2; i++) {
    free_array(world, world->nodes.active[i], world->nodes.active_capacity[i],
               sizeof *world->nodes.active[i]);
  }
  free_array(world, world->motion.integrators, world->motion.integrator_capacity,
             sizeof *world->motion.integrators);
  free_array(world, world->motion.order, world->motion.order_capacity, sizeof *world->motion.order);
  free_array(world, world->motion.vectors, world->motion.vector_capacity,
             6 * sizeof *world->motion.vectors);
  free_array(world, world->transactions.requests, world->transactions.request_capacity,
             sizeof *world->transactions.requests);
  free_array(world, world->journal.ops, world->journal.capacity, sizeof *world->journal.ops);
  free_array(world, world->regions.all, world->regions.capacity, sizeof *world->regions.all);
  base_free(&world->allocator, world->regions.shadow, world->regions.shadow_size);
  clear_names(world);
  for (BlkStream* stream = world->streams; stream;) {
    BlkStream* next = stream->next;
    base_free(&world->allocator, stream, sizeof *stream);
    stream = next;
  }
}

void slt_world_free(SltWorld* world) {
  if (!world || world->phase != BLK_IDLE) return;
  blk_clear(world);
  SltAllocator allocator = world->allocator;
  base_free(&allocator, world, sizeof *world);
}

SltStatus slt_world_reset(SltWorld* world, double t) {
  if (!world || world->phase != BLK_IDLE || world->running || !isfinite(t)) {
    return SLT_ERR_ARGUMENT;
  }
  blk_clear(world);
  SltAllocator allocator = world->allocator;
  SltWorldOptions options = world->options;
  const NumMethod* method = world->method;
  memset(world, 0, sizeof *world);
  world->allocator = allocator;
  world->options = options;
  world->method = method;
  world_begin(world, t);
  return SLT_OK;
}

SltStatus slt_world_set_method(SltWorld* world, const char* method) {
  if (!world || world->phase != BLK_IDLE) return SLT_ERR_ARGUMENT;
  const NumMethod* found = NULL;
  SLT_TRY(find_method(method, &found));
  world->method = found;
  world->dirty = true;
  return SLT_OK;
}

SltStatus slt_world_set_tolerance(SltWorld* world, double rtol, double atol) {
  if (!world || world->phase != BLK_IDLE || !(rtol > 0.0) || !(atol >= 0.0)) {
    return SLT_ERR_ARGUMENT;
  }
  world->options.rtol = rtol;
  world->options.atol = atol;
  if (world->motion.stepper) num_stepper_set_tolerance(world->motion.stepper, rtol, atol, NULL);
  return SLT_OK;
}

double slt_world_time(const SltWorld* world) {
  return world ? world->t : (double)NAN;
}

double slt_world_step(const SltWorld* world) {
  return world ? world->h : (double)NAN;
}

void slt_world_stop(SltWorld* world) {
  if (world) world->stop = true;
}

SltRunError slt_world_error(const SltWorld* world) {
  return world ? world->failure.error : (SltRunError){.status = SLT_ERR_ARGUMENT, .message = ""};
}

SltWorldStatistics slt_world_statistics(const SltWorld* world) {
  if (!world) return (SltWorldStatistics){0};
  SltWorldStatistics statistics = world->statistics;
  statistics.pending =
      (uint64_t)world->queue.count - world->queue.dead + world->soon.count - world->soon.dead;
  return statistics;
}

SltStatus blk_grow(SltWorld* world, void* array, uint32_t* capacity, uint32_t wanted, size_t size) {
  if (wanted <= *capacity) return SLT_OK;
  uint32_t more = *capacity < 16 ? 16 : *capacity;
  while (more < wanted) {
    if (more > UINT32_MAX / 2) return SLT_ERR_NOMEM;
    more *= 2;
  }
  void* old = NULL;
  memcpy(&old, array, sizeof old);
  size_t old_size = *capacity * size;
  size_t new_size = base_mul_size(more, size);
  unsigned char* data = base_realloc(&world->allocator, old, old_size, new_size);
  if (!data) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
  void* moved = data;
  memcpy(array, &moved, sizeof moved);
  *capacity = more;
  return SLT_OK;
}

// ---- messages -----------------------------------------------------------------------------------

static void message_va(SltWorld* world, SltSeverity severity, const char* code, char* text,
                       const char* format, va_list args) {
  if (vsnprintf(text, BLK_TEXT_MAX, format, args) < 0) text[0] = '\0';
  if (world->options.on_message) {
    world->options.on_message(world->options.user, severity, code, world->t, text);
  }
}

void blk_message(SltWorld* world, SltSeverity severity, DiagCode code, const char* format, ...) {
  char text[BLK_TEXT_MAX];
  va_list args;
  va_start(args, format);
  message_va(world, severity, diag_code_text(code), text, format, args);
  va_end(args);
}

SltStatus blk_fail(SltWorld* world, SltStatus status, DiagCode code, const char* format, ...) {
  if (world->failure.status < 0) return world->failure.status;
  va_list args;
  va_start(args, format);
  message_va(world, SLT_ERROR, diag_code_text(code), world->failure.text, format, args);
  va_end(args);
  char t[NUMBER_TEXT_MAX];
  t[number_write(t, world->t)] = '\0';
  (void)snprintf(world->failure.rendered, sizeof world->failure.rendered, "error[%s] at t = %s: %s",
                 diag_code_text(code), t, world->failure.text);
  world->failure.error = (SltRunError){.status = status,
                                       .code = diag_code_text(code),
                                       .t = world->t,
                                       .message = world->failure.text,
                                       .rendered = world->failure.rendered};
  world->failure.status = status;
  world->stop = true;
  return status;
}

bool blk_may_change(SltWorld* world) {
  if (world->phase != BLK_CONTINUOUS) return true;
  if (!(world->failure.warned & BLK_WARN_CONTINUOUS)) {
    blk_message(
        world, SLT_WARNING, DIAG_W0903,
        "continuous block '%s' tries to change the system; ignored (let a discrete or check "
        "block do it)",
        blk_name_text(world,
                      world->nodes.current ? world->nodes.all[world->nodes.current].name : 0));
    world->failure.warned |= BLK_WARN_CONTINUOUS;
  }
  return false;
}

// ---- names --------------------------------------------------------------------------------------

static uint32_t* name_slot(const SltWorld* world, const char* text, size_t length) {
  uint32_t mask = world->names.slot_count - 1;
  uint32_t at = (uint32_t)hash_bytes(text, length, 0) & mask;
  while (world->names.slots[at]) {
    const BlkName* name = &world->names.all[world->names.slots[at]];
    if (name->length == length && memcmp(name->text, text, length) == 0) break;
    at = (at + 1) & mask;
  }
  return &world->names.slots[at];
}

uint32_t blk_name_find(const SltWorld* world, const char* text) {
  if (!text || !*text || !world->names.slot_count) return 0;
  return *name_slot(world, text, strlen(text));
}

static SltStatus grow_names(SltWorld* world) {
  SLT_TRY(blk_grow(world, &world->names.all, &world->names.capacity, world->names.count + 1,
                   sizeof *world->names.all));
  if (2 * (world->names.count + 1) <= world->names.slot_count) return SLT_OK;
  uint32_t* old = world->names.slots;
  uint32_t old_count = world->names.slot_count;
  uint32_t count = old_count ? 2 * old_count : 64;
  uint32_t* slots = base_alloc(&world->allocator, base_mul_size(count, sizeof *slots));
  if (!slots) return blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
  world->names.slots = slots;
  world->names.slot_count = count;
  for (uint32_t i = 1; i < world->names.count; i++) {
    *name_slot(world, world->names.all[i].text, world->names.all[i].length) = i;
  }
  base_free(&world->allocator, old, old_count * sizeof *old);
  return SLT_OK;
}

uint32_t blk_name(SltWorld* world, const char* text) {
  if (!text || !*text) return 0;
  uint32_t found = blk_name_find(world, text);
  if (found) return found;
  if (grow_names(world) < 0) return 0;
  size_t length = strlen(text);
  char* copy = length < UINT32_MAX ? base_alloc(&world->allocator, length + 1) : NULL;
  if (!copy) {
    (void)blk_fail(world, SLT_ERR_NOMEM, DIAG_E0909, "out of memory");
    return 0;
  }
  memcpy(copy, text, length + 1);
  uint32_t* slot = name_slot(world, copy, length);
  *slot = world->names.count;
  world->names.all[world->names.count] = (BlkName){copy, (uint32_t)length};
  return world->names.count++;
}

const char* blk_name_text(const SltWorld* world, uint32_t name) {
  return name ? world->names.all[name].text : "";
}

// ---- random streams of the world ----------------------------------------------------------------

SltRandom* slt_world_random(SltWorld* world, uint32_t stream) {
  if (!world) return NULL;
  for (BlkStream* s = world->streams; s; s = s->next) {
    if (s->number == stream) return &s->random;
  }
  BlkStream* made = base_alloc(&world->allocator, sizeof *made);
  if (!made) return NULL;
  made->number = stream;
  slt_random_init(&made->random, world->options.seed, stream);
  made->saved = made->random;
  made->next = world->streams;
  world->streams = made;
  return &made->random;
}

void blk_streams_save(SltWorld* world) {
  for (BlkStream* s = world->streams; s; s = s->next) {
    s->saved = s->random;
  }
}

void blk_streams_restore(SltWorld* world) {
  for (BlkStream* s = world->streams; s; s = s->next) {
    s->random = s->saved;
  }
}

SltStatus slt_world_register(SltWorld* world, void* memory, size_t size) {
  if (!world || !memory || size == 0) return SLT_ERR_ARGUMENT;
  SLT_TRY(blk_grow(world, &world->regions.all, &world->regions.capacity, world->regions.count + 1,
                   sizeof *world->regions.all));
  world->regions.all[world->regions.count++] = (BlkRegion){memory, size};
  return SLT_OK;
}

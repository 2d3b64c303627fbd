// SPDX-License-Identifier: MIT
#if defined(__linux__)
#define _GNU_SOURCE  // mremap
#endif
#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Under AddressSanitizer the unused parts of an arena are poisoned and every block is followed by a
// gap, so that overruns and stale pointers inside an arena are found like those of malloc.
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_CHECKED 1
#endif
#endif
#ifdef ARENA_CHECKED
#include <sanitizer/asan_interface.h>
#define ARENA_GAP 8
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ARENA_GAP                             0
#endif

// Large blocks are mappings of their own: what is freed goes back to the system at once (the C
// library keeps it in its heap, in holes between what stays), growing moves no bytes, and huge
// pages make a million first touches of pages into a few thousand. Not under AddressSanitizer,
// which watches the C library's blocks.
#if defined(__linux__) && !defined(ARENA_CHECKED)
#include <sys/mman.h>
#define ALLOC_MAPS 1
#endif
#define MAP_MIN ((size_t)1 << 20)

#define ARENA_CHUNK_MIN  ((size_t)16 << 10)
#define ARENA_CHUNK_MID  ((size_t)1 << 20)   // up to here chunks double the arena...
#define ARENA_CHUNK_MAX  ((size_t)16 << 20)  // ...and then add an eighth
#define ARENA_SEARCH_MAX 64  // chunks looked at for a block that may grow with its chunk

struct ArenaChunk {
  ArenaChunk* prev;
  size_t capacity;  // of data
  size_t used;
  size_t newest;  // where the newest block starts; it can grow in place
  bool single;    // holds one large block, which may grow together with the chunk
  bool zeroed;    // what is not used yet is zero
  max_align_t data[];
};

static void* libc_realloc(void* user, void* pointer, size_t old_size, size_t size) {
  (void)user;
  (void)old_size;
  if (size == 0) {
    free(pointer);
    return NULL;
  }
  return realloc(pointer, size);
}

#ifdef ALLOC_MAPS

/// Zeroed.
static void* map_block(size_t size) {
  void* block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return NULL;
  return block;
}

/// Between the C library's heap and a mapping.
static void* move_block(void* pointer, size_t old_size, size_t size) {
  void* moved = size >= MAP_MIN ? map_block(size) : malloc(size);
  if (!moved) return NULL;
  memcpy(moved, pointer, old_size < size ? old_size : size);
  if (old_size >= MAP_MIN) {
    munmap(pointer, old_size);
  } else {
    free(pointer);
  }
  return moved;
}

static void* system_realloc(void* user, void* pointer, size_t old_size, size_t size) {
  bool was_mapped = pointer && old_size >= MAP_MIN;
  if (!was_mapped && size < MAP_MIN) return libc_realloc(user, pointer, old_size, size);
  if (size == 0) {
    munmap(pointer, old_size);
    return NULL;
  }
  if (!pointer) return map_block(size);
  if (!was_mapped || size < MAP_MIN) return move_block(pointer, old_size, size);
  void* moved = mremap(pointer, old_size, size, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return NULL;
  return moved;
}

/// Zeroed memory from where it costs nothing until it is used.
static void* system_calloc(size_t size) {
  return size >= MAP_MIN ? map_block(size) : calloc(1, size);
}

#else

#define system_realloc libc_realloc

static void* system_calloc(size_t size) {
  return calloc(1, size);
}

#endif

SltAllocator base_allocator(const SltAllocator* given) {
  if (given && given->realloc_fn) return *given;
  return (SltAllocator){.realloc_fn = system_realloc};
}

SltAllocator base_foreign_allocator(const SltAllocator* given) {
  if (given->realloc_fn != system_realloc) return *given;
  return (SltAllocator){.realloc_fn = libc_realloc};
}

// size 0 means "free" to an allocator, so an empty block is one byte long
static size_t block_size(size_t size) {
  return size ? size : 1;
}

static void link_owned(BaseOwner* owner, BaseOwned* block) {
  if (block->before) block->before->behind = block;
  if (!block->before) owner->first = block;
  if (block->behind) block->behind->before = block;
}

static void unlink_owned(BaseOwner* owner, const BaseOwned* block) {
  if (block->before) block->before->behind = block->behind;
  if (!block->before) owner->first = block->behind;
  if (block->behind) block->behind->before = block->before;
}

/// Zeroed where it is new, like base_realloc().
static void* owner_realloc(void* user, void* pointer, size_t old_size, size_t size) {
  BaseOwner* owner = user;
  BaseOwned* block = pointer ? (BaseOwned*)((char*)pointer - sizeof(BaseOwned)) : NULL;
  (void)old_size;
  if (size == 0) {
    unlink_owned(owner, block);
    base_free(&owner->inner, block, block->size);
    return NULL;
  }
  size_t whole = base_add_size(sizeof(BaseOwned), size);
  BaseOwned* moved = base_realloc(&owner->inner, block, block ? block->size : 0, whole);
  owner->lost |= !moved;
  if (!moved) return NULL;
  if (!block) moved->behind = owner->first;
  moved->size = whole;
  link_owned(owner, moved);
  return moved->data;
}

SltAllocator base_owner_allocator(BaseOwner* owner) {
  return (SltAllocator){.realloc_fn = owner_realloc, .user = owner};
}

void base_owner_free(BaseOwner* owner) {
  while (owner->first) {
    BaseOwned* block = owner->first;
    owner->first = block->behind;
    base_free(&owner->inner, block, block->size);
  }
}

void* base_alloc(const SltAllocator* a, size_t size) {
  return base_realloc(a, NULL, 0, size);
}

void* base_realloc(const SltAllocator* a, void* pointer, size_t old_size, size_t size) {
  size = block_size(size);
  old_size = pointer ? block_size(old_size) : 0;
  if (size > PTRDIFF_MAX) return NULL;
  // the C library knows which pages are zero already, and those cost nothing until they are used
  if (!pointer && a->realloc_fn == system_realloc) return system_calloc(size);
  char* moved = a->realloc_fn(a->user, pointer, old_size, size);
  if (a->realloc_fn == owner_realloc) return moved;
  if (moved && size > old_size) memset(moved + old_size, 0, size - old_size);
  return moved;
}

void base_free(const SltAllocator* a, void* pointer, size_t size) {
  if (pointer) a->realloc_fn(a->user, pointer, block_size(size), 0);
}

size_t base_mul_size(size_t a, size_t b) {
  return a != 0 && b > SIZE_MAX / a ? SIZE_MAX : a * b;
}

size_t base_add_size(size_t a, size_t b) {
  return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

void arena_init(Arena* arena, const SltAllocator* allocator, jmp_buf* on_oom) {
  *arena = (Arena){.on_oom = on_oom, .allocator = base_allocator(allocator)};
}

void arena_free(Arena* arena) {
  for (ArenaChunk* chunk = arena->head; chunk;) {
    ArenaChunk* prev = chunk->prev;
    ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->capacity);
    base_free(&arena->allocator, chunk, sizeof *chunk + chunk->capacity);
    chunk = prev;
  }
  arena->head = NULL;
  arena->total = 0;
}

_Noreturn static void arena_fail(Arena* arena) {
  longjmp(*arena->on_oom, 1);
}

/// Take a chunk with room for `capacity` bytes, or leave. Blocks are zeroed when they are taken,
/// unless the C library has done it for the whole chunk.
static ArenaChunk* chunk_create(Arena* arena, size_t capacity) {
  size_t bytes = base_add_size(sizeof(ArenaChunk), capacity);
  if (bytes > PTRDIFF_MAX) arena_fail(arena);
  bool plain = arena->allocator.realloc_fn == system_realloc;
  ArenaChunk* chunk = plain ? system_calloc(bytes)
                            : arena->allocator.realloc_fn(arena->allocator.user, NULL, 0, bytes);
  if (!chunk) arena_fail(arena);
  *chunk = (ArenaChunk){.capacity = capacity, .zeroed = plain};
  ASAN_POISON_MEMORY_REGION(chunk->data, capacity);
  arena->total += bytes;
  return chunk;
}

/// Where a block of this alignment would start in the chunk, as an offset into its data.
static size_t chunk_offset(const ArenaChunk* chunk, size_t align) {
  uintptr_t base = (uintptr_t)chunk->data;
  uintptr_t at = (base + chunk->used + (align - 1)) & ~(uintptr_t)(align - 1);
  return (size_t)(at - base);
}

/// Zero `size` bytes at offset `at` and count everything before their end as used.
static void* chunk_take(ArenaChunk* chunk, size_t at, size_t size) {
  char* block = (char*)chunk->data + at;
  size_t end = at + size;
  chunk->used = end + ARENA_GAP <= chunk->capacity ? end + ARENA_GAP : chunk->capacity;
  ASAN_UNPOISON_MEMORY_REGION(block, size);
  return chunk->zeroed ? block : memset(block, 0, size);
}

static void* chunk_take_block(ArenaChunk* chunk, size_t at, size_t size) {
  chunk->newest = at;
  return chunk_take(chunk, at, size);
}

void* arena_alloc(Arena* arena, size_t size, size_t align) {
  size = block_size(size);  // every block has its own address
  ArenaChunk* chunk = arena->head;
  if (chunk && !chunk->single) {
    size_t at = chunk_offset(chunk, align);
    bool fits = at <= chunk->capacity && size <= chunk->capacity - at;
    if (fits) return chunk_take_block(chunk, at, size);
  }

  // the alignment of the data is max_align_t's; more needs room to move
  size_t slack = align > _Alignof(max_align_t) ? align : 0;
  size_t wanted = base_add_size(size, slack);
  size_t usual = arena->total < ARENA_CHUNK_MIN ? ARENA_CHUNK_MIN : arena->total;
  if (usual > ARENA_CHUNK_MID) {
    usual = arena->total / 8 > ARENA_CHUNK_MID ? arena->total / 8 : ARENA_CHUNK_MID;
    if (usual > ARENA_CHUNK_MAX) usual = ARENA_CHUNK_MAX;
  }
  bool single = wanted > usual / 4;
  ArenaChunk* fresh = chunk_create(arena, single ? wanted : usual);
  fresh->single = single;
  if (single && chunk && !chunk->single) {
    // behind the head, whose free room stays in use for small blocks
    fresh->prev = chunk->prev;
    chunk->prev = fresh;
  } else {
    fresh->prev = chunk;
    arena->head = fresh;
  }
  return chunk_take_block(fresh, chunk_offset(fresh, align), size);
}

/// The link to a chunk that holds only this block, so that both can grow; NULL if there is none.
static ArenaChunk** find_single(Arena* arena, const void* block) {
  ArenaChunk** link = &arena->head;
  for (int i = 0; i < ARENA_SEARCH_MAX && *link; i++, link = &(*link)->prev) {
    if ((*link)->single && (const void*)(*link)->data == block) return link;
  }
  return NULL;
}

/// Whether a block of this size is a mapping of its own, so that what is added to it is zero.
static bool is_mapped(const Arena* arena, size_t bytes) {
#ifdef ALLOC_MAPS
  return arena->allocator.realloc_fn == system_realloc && bytes >= MAP_MIN;
#else
  (void)arena;
  (void)bytes;
  return false;
#endif
}

static void* grow_single(Arena* arena, ArenaChunk** link, size_t old_size, size_t size) {
  size_t old_capacity = (*link)->capacity;
  size_t bytes = base_add_size(sizeof(ArenaChunk), size);
  if (bytes > PTRDIFF_MAX) arena_fail(arena);
  ASAN_UNPOISON_MEMORY_REGION((*link)->data, old_capacity);
  ArenaChunk* chunk = arena->allocator.realloc_fn(arena->allocator.user, *link,
                                                  sizeof(ArenaChunk) + old_capacity, bytes);
  if (!chunk) arena_fail(arena);
  *link = chunk;
  chunk->capacity = size;
  chunk->used = size;
  arena->total += size - old_capacity;
  // the tail of a mapping that grew is zero already, and must not be touched before it is used
  char* tail = (char*)chunk->data + old_size;
  size_t known = chunk->zeroed && is_mapped(arena, sizeof(ArenaChunk) + old_capacity)
                     ? old_capacity - old_size
                     : size - old_size;
  memset(tail, 0, known);
  return chunk->data;
}

void* arena_grow(Arena* arena, void* old, size_t old_size, size_t size, size_t align) {
  if (!old) return arena_alloc(arena, size, align);
  if (size <= old_size) return old;

  // the newest block of the current chunk extends in place
  ArenaChunk* head = arena->head;
  bool newest = (char*)old == (char*)head->data + head->newest;
  if (newest && size <= head->capacity - head->newest) {
    chunk_take(head, head->newest + old_size, size - old_size);
    return old;
  }

  ArenaChunk** link = align <= _Alignof(max_align_t) ? find_single(arena, old) : NULL;
  if (link && size > (*link)->capacity) return grow_single(arena, link, old_size, size);

  void* moved = arena_alloc(arena, size, align);
  memcpy(moved, old, old_size);
  ASAN_POISON_MEMORY_REGION(old, old_size);
  return moved;
}

void base_vec_reserve_bytes(Arena* arena, void** data, uint32_t count, uint32_t* capacity,
                            size_t element_size, uint32_t extra) {
  if (extra <= *capacity - count) return;
  if (extra > UINT32_MAX - count) arena_fail(arena);
  uint32_t wanted = count + extra;
  uint32_t twice = *capacity > UINT32_MAX / 2 ? UINT32_MAX : 2 * *capacity;
  if (wanted < twice) wanted = twice;
  if (wanted < 8) wanted = 8;

  // `data` is a T* seen as void*: copying its bytes keeps the compiler's aliasing rules
  void* block = NULL;
  memcpy(&block, data, sizeof block);
  block = arena_grow(arena, block, base_mul_size(element_size, *capacity),
                     base_mul_size(element_size, wanted), _Alignof(max_align_t));
  memcpy(data, &block, sizeof block);
  *capacity = wanted;
}

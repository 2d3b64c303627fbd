// SPDX-License-Identifier: MIT
//
// Memory: one realloc-style allocator, and arenas on top of it.
//
// Compile stages use arenas: nothing is freed singly, and running out of memory leaves through the
// one jmp_buf set at the API boundary, so the code between has no failure paths. Runs use the
// allocator directly and report SLT_ERR_NOMEM.
#ifndef SALTUS_BASE_ALLOC_H
#define SALTUS_BASE_ALLOC_H

#include <saltus/saltus_rt.h>

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Never returns a null `realloc_fn`: fills in our own on top of the C library's where none is
/// given. Blocks must be given back with the size they were taken with.
SltAllocator base_allocator(const SltAllocator* given);
/// The same for blocks that change hands with code outside, which may know the C library only.
SltAllocator base_foreign_allocator(const SltAllocator* given);

/// Zeroed memory or NULL.
void* base_alloc(const SltAllocator* a, size_t size);
void* base_realloc(const SltAllocator* a, void* pointer, size_t old_size, size_t size);
void base_free(const SltAllocator* a, void* pointer, size_t size);

/// Knows the blocks that were taken through its allocator, and gives them back all at once.
typedef struct BaseOwner {
  SltAllocator inner;
  struct BaseOwned* first;
  bool lost;  // a block was asked for and not given
} BaseOwner;

/// The allocator of an owner, which must stay where it is.
SltAllocator base_owner_allocator(BaseOwner* owner);
/// Give back everything that has not been given back.
void base_owner_free(BaseOwner* owner);

/// A block of an owner: the user's bytes stand behind it.
typedef struct BaseOwned {
  struct BaseOwned *before, *behind;
  size_t size;  // with this
  max_align_t data[];
} BaseOwned;

/// Bytes of a block that was taken through the allocator of an owner; 0 for NULL.
static inline size_t base_owned_size(const void* block) {
  if (!block) return 0;
  return ((const BaseOwned*)((const char*)block - sizeof(BaseOwned)))->size - sizeof(BaseOwned);
}

/// a * b, or SIZE_MAX when it does not fit; no allocator gives SIZE_MAX bytes.
size_t base_mul_size(size_t a, size_t b);
/// a + b, or SIZE_MAX when it does not fit.
size_t base_add_size(size_t a, size_t b);

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
  ArenaChunk* head;  // newest chunk; older ones are linked behind it
  jmp_buf* on_oom;   // never NULL while the arena is in use
  SltAllocator allocator;
  size_t total;  // bytes taken from the allocator
} Arena;

void arena_init(Arena* arena, const SltAllocator* allocator, jmp_buf* on_oom);
void arena_free(Arena* arena);

/// Zeroed memory, valid until arena_free(). Never returns NULL: leaves through `on_oom`.
void* arena_alloc(Arena* arena, size_t size, size_t align);

/// Move a block to a larger one (in place when it is the newest). The tail is zeroed.
void* arena_grow(Arena* arena, void* old, size_t old_size, size_t size, size_t align);

#define ARENA_NEW(arena, T) ((T*)arena_alloc((arena), sizeof(T), _Alignof(T)))
#define ARENA_ARRAY(arena, T, count) \
  ((T*)arena_alloc((arena), base_mul_size(sizeof(T), (count)), _Alignof(T)))

/// Growable array inside an arena:
/// `BASE_VEC(Token) tokens = {0}; base_vec_push(arena, &tokens, token);`
#define BASE_VEC(...) \
  struct { \
    __VA_ARGS__* data; \
    uint32_t count; \
    uint32_t capacity; \
  }

/// Make room for `extra` more elements.
#define base_vec_reserve(arena, vec, extra) \
  base_vec_reserve_bytes((arena), (void**)&(vec)->data, (vec)->count, &(vec)->capacity, \
                         sizeof *(vec)->data, (extra))

#define base_vec_push(arena, vec, ...) \
  (base_vec_reserve((arena), (vec), 1), (vec)->data[(vec)->count++] = (__VA_ARGS__))

void base_vec_reserve_bytes(Arena* arena, void** data, uint32_t count, uint32_t* capacity,
                            size_t element_size, uint32_t extra);

#endif

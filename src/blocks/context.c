// SPDX-License-Identifier: MIT
#if defined(__linux__) || defined(__APPLE__)
#define _DEFAULT_SOURCE 1  // MAP_ANONYMOUS
#endif
#include "blocks/context.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// BLK_CONTEXT_PORTABLE: for testing the fallback where it is not needed
#if defined(__ELF__) && defined(__x86_64__) && !defined(__ILP32__) && !defined(BLK_CONTEXT_PORTABLE)
#define CONTEXT_NATIVE 1
#elif defined(__ELF__) && defined(__aarch64__) && !defined(BLK_CONTEXT_PORTABLE)
#define CONTEXT_NATIVE 1
#else
#define CONTEXT_NATIVE 0
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CONTEXT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define CONTEXT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONTEXT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define CONTEXT_TSAN 1
#endif
#endif
#ifdef CONTEXT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CONTEXT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_COLOURS 32u  // lines of the cache over which the beginnings of stacks are spread
#define CANARY        UINT64_C(0x5a17c0de5a17c0de)

// ---- the switch ---------------------------------------------------------------------------------

#if CONTEXT_NATIVE

/// Save the registers a function has to keep, store the stack pointer in *from, take up `to`.
void blk_context_switch(void** from, void* to) __attribute__((visibility("hidden")));
/// First return address of a context: calls blk_context_main with what was prepared.
void blk_context_start(void) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
// Six registers, and the control words of SSE and x87: those are compared, since writing them waits
// for all arithmetic under way and they nearly never differ. The return is a jump: a `ret` would go
// to where the processor does not expect it, and spoil its guesses for the returns after it.
__asm__(".text\n"
        ".hidden blk_context_switch\n"
        ".globl blk_context_switch\n"
        ".type blk_context_switch,@function\n"
        "blk_context_switch:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  subq $8, %rsp\n"
        "  stmxcsr (%rsp)\n"
        "  fnstcw 4(%rsp)\n"
        "  movq %rsp, (%rdi)\n"
        "  movl (%rsp), %eax\n"
        "  movzwl 4(%rsp), %ecx\n"
        "  movq %rsi, %rsp\n"
        "  cmpl %eax, (%rsp)\n"
        "  je 1f\n"
        "  ldmxcsr (%rsp)\n"
        "1:\n"
        "  cmpw %cx, 4(%rsp)\n"
        "  je 2f\n"
        "  fldcw 4(%rsp)\n"
        "2:\n"
        "  addq $8, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  popq %rcx\n"
        "  jmpq *%rcx\n"
        ".size blk_context_switch,.-blk_context_switch\n"
        ".hidden blk_context_start\n"
        ".globl blk_context_start\n"
        ".type blk_context_start,@function\n"
        "blk_context_start:\n"
        "  movq %r12, %rdi\n"
        "  xorl %ebp, %ebp\n"  // the end of the chain of frames
        "  callq *%r13\n"
        "  ud2\n"
        ".size blk_context_start,.-blk_context_start\n");
#define SAVED_WORDS 8
static void prepare_stack(void** top, void (*main_fn)(void*), void* argument) {
  uint32_t mxcsr = 0;
  uint16_t control = 0;
  __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(control));
  uint32_t words[2] = {mxcsr, control};
  memcpy(&top[0], words, sizeof words);
  top[1] = NULL;                              // r15
  top[2] = NULL;                              // r14
  memcpy(&top[3], &main_fn, sizeof main_fn);  // r13
  top[4] = argument;                          // r12
  top[5] = NULL;                              // rbx
  top[6] = NULL;                              // rbp
  void (*start)(void) = blk_context_start;
  memcpy(&top[7], &start, sizeof start);
}
#else
// x19-x30 and the low halves of v8-v15
__asm__(".text\n"
        ".hidden blk_context_switch\n"
        ".globl blk_context_switch\n"
        ".type blk_context_switch,%function\n"
        "blk_context_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size blk_context_switch,.-blk_context_switch\n"
        ".hidden blk_context_start\n"
        ".globl blk_context_start\n"
        ".type blk_context_start,%function\n"
        "blk_context_start:\n"
        "  mov x0, x19\n"
        "  mov x29, xzr\n"
        "  blr x20\n"
        "  brk #1\n"
        ".size blk_context_start,.-blk_context_start\n");
#define SAVED_WORDS 20
static void prepare_stack(void** top, void (*main_fn)(void*), void* argument) {
  memset(top, 0, SAVED_WORDS * sizeof *top);
  top[0] = argument;                          // x19
  memcpy(&top[1], &main_fn, sizeof main_fn);  // x20
  void (*start)(void) = blk_context_start;
  memcpy(&top[11], &start, sizeof start);  // x30
}
#endif

static void exchange(void** from, void* to) {
  blk_context_switch(from, to);
}

#else

typedef struct Machine {
  ucontext_t inside, outside;
} Machine;

#endif

// ---- stacks -------------------------------------------------------------------------------------

static size_t page_size(void) {
  long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? (size_t)size : 4096;
}

SltStatus blk_context_create(BlkContext* context, size_t size, bool guarded) {
  *context = (BlkContext){0};
  size_t page = page_size();
  size_t whole = ((size + page - 1) / page + 1) * page;
  void* memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return SLT_ERR_NOMEM;
  // a guard splits the mapping, and the system allows only so many of them
  if (guarded && mprotect(memory, page, PROT_NONE) != 0) {
    (void)munmap(memory, whole);
    return SLT_ERR_NOMEM;
  }
  context->stack = memory;
  context->size = whole;
  context->guard = page;
  context->guarded = guarded;
  if (!guarded) {
    uint64_t canary = CANARY;
    memcpy(context->stack + page, &canary, sizeof canary);
  }
#if !CONTEXT_NATIVE
  context->machine =
      mmap(NULL, sizeof(Machine), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (context->machine == MAP_FAILED) {
    (void)munmap(memory, whole);
    *context = (BlkContext){0};
    return SLT_ERR_NOMEM;
  }
#endif
#ifdef CONTEXT_TSAN
  context->fiber = __tsan_create_fiber(0);
#endif
  return SLT_OK;
}

void blk_context_free(BlkContext* context) {
  if (!context->stack) return;
#ifdef CONTEXT_TSAN
  __tsan_destroy_fiber(context->fiber);
#endif
#ifdef CONTEXT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(context->stack, context->size);
#endif
#if !CONTEXT_NATIVE
  (void)munmap(context->machine, sizeof(Machine));
#endif
  (void)munmap(context->stack, context->size);
  *context = (BlkContext){0};
}

bool blk_context_overrun(const BlkContext* context) {
  if (context->guarded) return false;  // and its last page is not touched for nothing
  uint64_t canary = 0;
  memcpy(&canary, context->stack + context->guard, sizeof canary);
  return canary != CANARY;
}

// ---- entering and leaving -----------------------------------------------------------------------

/// Runs on the new stack.
static void context_main(void* user) {
  BlkContext* context = user;
#ifdef CONTEXT_ASAN
  __sanitizer_finish_switch_fiber(NULL, &context->back_stack, &context->back_size);
#endif
  context->fn(context->user);
  blk_context_leave(context, true);
}

#if !CONTEXT_NATIVE
static void context_main_split(unsigned high, unsigned low) {
  context_main((void*)((uintptr_t)high << 32 | low));
}
#endif

void blk_context_prepare(BlkContext* context, BlkContextFn* fn, void* user) {
  context->fn = fn;
  context->user = user;
#ifdef CONTEXT_ASAN
  // what the last user of this stack has left behind is nobody's any more
  ASAN_UNPOISON_MEMORY_REGION(context->stack + context->guard, context->size - context->guard);
#endif
#if CONTEXT_NATIVE
  // The mapping ends at a page, and so do all others: begun at the same place in their pages, the
  // stacks would share a few lines of the cache. Every distance is a multiple of 64, so that
  // blk_context_start finds its stack aligned as the ABI asks.
  size_t page = ((uintptr_t)context->stack / context->size) & (STACK_COLOURS - 1);
  size_t colour = 64 * (1 + page);
  void** frame = (void**)(void*)(context->stack + context->size - colour) - SAVED_WORDS;
  prepare_stack(frame, context_main, context);
  context->stack_pointer = frame;
#else
  Machine* machine = context->machine;
  (void)getcontext(&machine->inside);
  machine->inside.uc_stack.ss_sp = context->stack + context->guard;
  machine->inside.uc_stack.ss_size = context->size - context->guard;
  machine->inside.uc_link = NULL;
  uintptr_t address = (uintptr_t)context;
  makecontext(&machine->inside, (void (*)(void))context_main_split, 2, (unsigned)(address >> 32),
              (unsigned)(address & 0xffffffffu));
#endif
}

void blk_context_enter(BlkContext* context) {
#ifdef CONTEXT_ASAN
  void* fake = NULL;
  __sanitizer_start_switch_fiber(&fake, context->stack + context->guard,
                                 context->size - context->guard);
#endif
#ifdef CONTEXT_TSAN
  context->back_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(context->fiber, 0);
#endif
#if CONTEXT_NATIVE
  exchange(&context->back_pointer, context->stack_pointer);
#else
  Machine* machine = context->machine;
  (void)swapcontext(&machine->outside, &machine->inside);
#endif
#ifdef CONTEXT_ASAN
  __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

void blk_context_leave(BlkContext* context, bool last) {
#ifdef CONTEXT_ASAN
  void* fake = NULL;
  __sanitizer_start_switch_fiber(last ? NULL : &fake, context->back_stack, context->back_size);
#else
  (void)last;
#endif
#ifdef CONTEXT_TSAN
  __tsan_switch_to_fiber(context->back_fiber, 0);
#endif
#if CONTEXT_NATIVE
  exchange(&context->stack_pointer, context->back_pointer);
#else
  Machine* machine = context->machine;
  (void)swapcontext(&machine->inside, &machine->outside);
#endif
#ifdef CONTEXT_ASAN
  __sanitizer_finish_switch_fiber(fake, &context->back_stack, &context->back_size);
#endif
}

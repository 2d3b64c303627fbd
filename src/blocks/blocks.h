// SPDX-License-Identifier: MIT
//
// blocks: combined simulation with opaque blocks. A clock, a queue of events, integrators over the
// user's memory, blocks in three kinds, and on the same clock transactions, resources, stores and
// processes. The public functions (saltus_world.h) are defined here, with their argument checks: a
// second layer of wrappers would only repeat them.
//
// Invariants. Objects are slots in pools, named by index and generation; index 0 is nobody. The
// queue's order is (time, priority descending, order of scheduling) and total. While a block runs,
// cancelling only writes into the journal, which is worked off when the block returns; while check
// blocks are probed everything that changes the world goes there, so that a step can be taken back.
// The lists of active blocks are iterated by index and get holes, never shifts, during a pass.
#ifndef SALTUS_BLOCKS_H
#define SALTUS_BLOCKS_H

#include "base/base.h"
#include "blocks/context.h"
#include "model/model.h"
#include "numeric/numeric.h"
#include "record/record.h"

#include <saltus/saltus_world.h>

#define BLK_PRIORITY_MAX 32767
#define BLK_TEXT_MAX     320
#define BLK_STREAMS_MAX  1024  // blocks of random streams are found by number

// ---- queue --------------------------------------------------------------------------------------

/// 24 bytes, so that the four children of an entry lie close together. Time is kept as an integer
/// of the same order: an entry compares as one number of 128 bits, without a branch.
typedef struct BlkEntry {
  uint64_t key;    // blk_time_key(time)
  uint64_t order;  // (BLK_PRIORITY_MAX - priority) << 48 | sequence
  uint32_t slot, generation;
} BlkEntry;

/// A number with the order of `t`, which is not NaN.
static inline uint64_t blk_time_key(double t) {
  uint64_t bits = 0;
  t += 0.0;  // one zero
  __builtin_memcpy(&bits, &t, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static inline double blk_key_time(uint64_t key) {
  uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
  double t = 0.0;
  __builtin_memcpy(&t, &bits, sizeof t);
  return t;
}

/// A heap with four children per entry. Entries of slots that have moved on are dead: skipped when
/// they come to the top, swept out when they are the majority.
typedef struct BlkHeap {
  BlkEntry* data;
  uint32_t count, capacity, dead;
} BlkHeap;

uint64_t blk_order(int32_t priority, uint64_t sequence);
bool blk_entry_before(const BlkEntry* a, const BlkEntry* b);
SltStatus blk_heap_push(BlkHeap* heap, const SltAllocator* allocator, BlkEntry entry);
/// Remove the first entry; count > 0.
BlkEntry blk_heap_pop(BlkHeap* heap);
/// Keep only the entries `keep` says; the order of the rest does not change.
void blk_heap_sweep(BlkHeap* heap, bool (*keep)(const void* user, const BlkEntry* entry),
                    const void* user);
void blk_heap_clear(BlkHeap* heap, const SltAllocator* allocator);

// ---- objects ------------------------------------------------------------------------------------

typedef enum BlkState { BLK_FREE, BLK_RESERVED, BLK_PENDING, BLK_ACTIVE, BLK_RUNNING } BlkState;

typedef struct BlkNode {
  SltBlockFn* fn;
  void* user;
  uint32_t generation;
  uint32_t name;
  int32_t priority;
  uint32_t chain;       // how many zero-delay events led to this one
  uint32_t owner;       // transaction
  uint32_t next, prev;  // in the owner's list; `next` also links free nodes
  uint8_t kind, state;
  bool soon;  // pending in `soon`, not in the heap
} BlkNode;

typedef struct BlkIntegrator {
  const double* in;
  double* out;
  uint32_t count, generation, name, owner, next, prev;
  uint32_t offset;  // in the vector of all states
  uint8_t state;
} BlkIntegrator;

typedef struct BlkTransaction {
  void* data;
  SltDestroyFn* destroy;
  uint32_t generation, next_free;
  uint32_t nodes, integrators, requests;  // heads of its lists
  bool alive, ending;
} BlkTransaction;

typedef struct BlkRequest {
  SltResource* resource;
  SltBlockFn* fn;
  void* user;
  double t;
  uint32_t generation, owner, next, prev;  // list of the owner's
  uint64_t order;                          // blk_order(): who comes first
  uint32_t before, behind;                 // neighbours in the line
  uint32_t units;
  bool alive, granted;  // granted ones live on only for their owner's sake
  bool in_line;
} BlkRequest;

/// Units in the hands of a process, which somebody of higher priority may take away.
typedef struct BlkHolder {
  uint32_t process, generation;
  uint32_t units;
  int32_t priority;
} BlkHolder;

struct SltResource {
  SltWorld* world;
  SltResource* link;
  uint32_t name;
  uint32_t units, in_use, waiting;
  // who comes behind everybody else joins the line; who has to go before somebody waits in the heap
  uint32_t line_first, line_last;
  BlkHeap queue;
  SltTally wait_tally;
  SltLevel queue_level, use_level;
  uint64_t requests, granted, withdrawn, waited, preempted;
  BlkHolder* holders;  // processes, in the order of their grants
  uint32_t holder_count, holder_capacity;
};

typedef struct BlkFetch {
  SltItemFn* fn;  // NULL: does not want any more
  void* user;
  SltMatchFn* match;  // NULL: any item
  void* match_user;
} BlkFetch;

/// A ring of fixed-size elements that grows.
typedef struct BlkRing {
  unsigned char* data;
  uint32_t first, count, capacity;
} BlkRing;

struct SltStore {
  SltWorld* world;
  SltStore* link;
  uint32_t name, capacity;
  BlkRing items;        // void*
  BlkRing fetches;      // BlkFetch
  BlkRing putters;      // BlkProcess*: wait for room
  SltBeforeFn* before;  // order of the items; NULL: as they came
  void* before_user;
};

typedef struct BlkProcess BlkProcess;
struct BlkProcess {
  SltWorld* world;
  SltProcessFn* fn;
  void* user;
  BlkProcess* link;  // free list
  uint32_t index, generation, name;
  SltBlock wake;     // the pending event that resumes it
  SltStatus status;  // what the waiting call returns
  SltRequest request;
  SltResource* resource;  // of the request
  uint32_t units;
  int32_t priority;
  void* item;
  SltConditionFn* condition;
  void* condition_user;
  SltBlock check;  // of until_event
  SltQuantityFn* quantity;
  BlkProcess* awaits;  // whose end it waits for
  uint32_t awaited;    // how many wait for its end
  BlkContext context;
  bool alive, started, cancelled;
};

// ---- journal ------------------------------------------------------------------------------------

typedef enum BlkOpKind {
  BLK_OP_CANCEL_NODE,
  BLK_OP_CANCEL_INTEGRATOR,
  BLK_OP_END_TRANSACTION,
  BLK_OP_INSERT_NODE,      // undo: free the node
  BLK_OP_ADD_INTEGRATOR,   // undo: free the slot
  BLK_OP_NEW_TRANSACTION,  // nothing to do; undo: end it
  BLK_OP_REQUEST,          // undo: free the request
  BLK_OP_CANCEL_REQUEST,
  BLK_OP_RELEASE,
  BLK_OP_SET_UNITS,
  BLK_OP_PUT,
  BLK_OP_GET,
  BLK_OP_START_PROCESS,  // undo: free the process
  BLK_OP_CANCEL_PROCESS,
  BLK_OP_INTERRUPT_PROCESS
} BlkOpKind;

typedef struct BlkOp {
  BlkOpKind kind;
  uint32_t index, generation;
  uint32_t units, owner;
  double t;
  int32_t priority;
  void* object;
  void* user;
  SltItemFn* fetch;
} BlkOp;

// ---- state events -------------------------------------------------------------------------------

/// What `event` knows about one (transaction, site).
typedef struct BlkMemory {
  uint64_t transaction, site;
  double x, x_last;          // in the present pass, and in the last one that was kept
  uint64_t pass, pass_last;  // numbers of those passes
  double x_earlier;          // in the pass kept before the last one
  uint64_t pass_earlier;
  uint64_t fired_instant;  // does not fire or arm again within the same instant
  double t_cross;          // literal: interpolated time
  bool crossed, forced;
} BlkMemory;

typedef enum BlkPhase { BLK_IDLE, BLK_CONTINUOUS, BLK_DISCRETE, BLK_CHECK, BLK_FINAL } BlkPhase;

typedef enum BlkPassKind {
  BLK_PASS_PROBE,  // event() returns false and notes; changes of the world go into the journal
  BLK_PASS_LIVE    // event() returns true where a memory is forced or has crossed
} BlkPassKind;

// ---- pictures -----------------------------------------------------------------------------------

typedef struct BlkWatch {
  const double* signal;
  double amplitude;  // doubled as needed; 0: automatic
} BlkWatch;

typedef struct BlkShape {
  double* points;  // a then b
  uint32_t count;
  double field_x, field_y, size_x, size_y;
  const void *key, *a, *b;  // identity
  uint32_t object;          // number of the object, shared by its shapes
} BlkShape;

typedef struct BlkPlace {
  uint32_t shape;
  double x, y, angle;
} BlkPlace;

typedef struct BlkFrame {
  double t;
  uint32_t first, count;  // in places
} BlkFrame;

typedef struct BlkScene {
  BlkShape* shapes;
  uint32_t shape_count, shape_capacity, object_count;
  BlkPlace* places;  // of committed frames
  uint32_t place_count, place_capacity;
  BlkFrame* frames;
  uint32_t frame_count, frame_capacity;
  BlkPlace* now;  // poses of the present instant
  uint32_t now_count, now_capacity;
  BlkPlace* fixed;  // poses given outside of runs
  uint32_t fixed_count, fixed_capacity;
  bool clip_warned;
} BlkScene;

/// Somebody who wants to see graphs and frames while they come.
typedef struct BlkWatcher {
  SltWriter writer;        // its function NULL: nobody
  uint32_t shapes, fixed;  // told so far
  bool begun;
} BlkWatcher;

// ---- the world ----------------------------------------------------------------------------------

typedef struct BlkName {
  char* text;
  uint32_t length;
} BlkName;

typedef struct BlkMemoryTable {
  BlkMemory* data;
  uint32_t count, capacity;
  uint32_t* slots;
  uint32_t slot_count;
  uint32_t* touched;  // memories of the present pass
  uint32_t touched_count, touched_capacity;
} BlkMemoryTable;

typedef struct BlkRegion {
  void* memory;
  size_t size;
} BlkRegion;

typedef struct BlkStream {
  SltRandom random, saved;
  uint32_t number;
  struct BlkStream* next;
} BlkStream;

/// Samples at base + next * step.
typedef struct BlkGrid {
  double base, step;
  uint64_t next;
} BlkGrid;

/// A ring of events without delay and priority: in order by themselves.
typedef struct BlkSoon {
  BlkEntry* ring;
  uint32_t first, count, capacity, dead;
} BlkSoon;

/// Scheduled and active blocks.
typedef struct BlkNodes {
  BlkNode* all;
  uint32_t count, capacity, free;
  uint32_t* active[2];  // continuous, check; 0 is a hole
  uint32_t active_count[2], active_capacity[2], holes[2];
  uint32_t pass_depth;
  uint32_t current;  // running node
  uint32_t chain;    // of the running event
} BlkNodes;

/// Integrators, and the stepper that moves them.
typedef struct BlkMotion {
  bool layout_changed;
  bool derivative_known;  // k1 holds the derivative at (t, committed state)

  BlkIntegrator* integrators;
  uint32_t integrator_count, integrator_capacity, integrator_free;
  uint32_t* order;  // active integrators in order of creation
  uint32_t order_count, order_capacity;
  uint32_t state_count;
  double* vectors;  // y0, k1, k2, k3, k4, y: rows of vector_capacity
  uint32_t vector_capacity;
  void* stepper_storage;
  size_t stepper_size;
  NumStepper* stepper;
  uint32_t stepper_capacity;
  const NumMethod* stepper_method;
  bool stepper_fresh;  // has never been started
  bool stepper_stale;  // must restart from the user's memory
} BlkMotion;

/// Transactions of the queueing blocks, and what they wait for.
typedef struct BlkTransactions {
  BlkTransaction* all;
  uint32_t count, capacity, free, alive;

  BlkRequest* requests;
  uint32_t request_count, request_capacity, request_free;
  SltResource* resources;
  SltStore* stores;
} BlkTransactions;

/// What blocks have asked for during a pass.
typedef struct BlkJournal {
  BlkOp* ops;
  uint32_t count, capacity;
  bool busy;
} BlkJournal;

/// Check passes and the instant they belong to.
typedef struct BlkPasses {
  uint64_t present, kept;  // number of the present check pass, of the last kept one
  uint64_t instant;
  uint64_t instant_events;
  bool live, fired;
  double t_fired;
  uint32_t fired_chain;
  bool after_event;  // the step that follows is probed closely at its begin
} BlkPasses;

/// Processes with stacks of their own.
typedef struct BlkProcesses {
  BlkProcess** all;
  uint32_t count, capacity;
  BlkProcess* idle;  // finished, with their stacks
  BlkProcess* running;
  uint32_t condition_count;
  void* scheduler_stack[BLK_CONTEXT_WORDS];
} BlkProcesses;

/// Names by number, and a table to find them.
typedef struct BlkNames {
  BlkName* all;
  uint32_t count, capacity;
  uint32_t* slots;
  uint32_t slot_count;
} BlkNames;

/// Memory of the user that a rejected step puts back.
typedef struct BlkRegions {
  BlkRegion* all;
  uint32_t count, capacity;
  unsigned char* shadow;
  size_t shadow_size;
} BlkRegions;

/// What is written down while the world runs.
typedef struct BlkRecord {
  BlkWatch* watches;
  uint32_t watch_count, watch_capacity;
  SltTable* table;
  BlkScene scene;
  BlkWatcher watcher;
  bool off;
  double t_sampled;
} BlkRecord;

/// The clock that the world keeps up with.
typedef struct BlkPace {
  double factor;
  SltClock clock;
  double clock_start, t_start;
  SltBlockFn* on_input;
  void* input_user;
} BlkPace;

/// The first error of the run, and what was warned about.
typedef struct BlkFailure {
  SltStatus status;
  SltRunError error;
  char text[BLK_TEXT_MAX];
  char rendered[BLK_TEXT_MAX + 64];
  uint32_t warned;  // bits of warnings given once
} BlkFailure;

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): fields stand by meaning
struct SltWorld {
  SltAllocator allocator;
  SltWorldOptions options;
  const NumMethod* method;  // NULL: literal

  double t;  // simulation time, also of stages
  double h;  // present step
  BlkGrid grid;
  double t_end;
  BlkPhase phase;
  bool probing, running, stop, plain, plain_known;
  bool dirty;  // user code may have changed what the right-hand sides read
  BlkMotion motion;

  BlkHeap queue;
  BlkSoon soon;
  uint64_t sequence;
  BlkNodes nodes;
  BlkTransactions transactions;
  BlkJournal journal;

  BlkMemoryTable memory;
  BlkPasses passes;
  BlkProcesses processes;
  BlkNames names;

  BlkStream* streams;
  BlkRegions regions;
  BlkRecord record;

  SltMember* members;
  void (*free_members)(SltWorld* world);
  BlkPace pace;
  void* guides;  // of added signals, see signal.c

  SltWorldStatistics statistics;
  BlkFailure failure;
};

// ---- inner interface ----------------------------------------------------------------------------

#define BLK_WARN_CONTINUOUS 1u
#define BLK_WARN_CROWD      2u
#define BLK_WARN_PROCESS    4u

/// Grow an array of the world by doubling so that it holds `wanted` elements; the tail is zeroed.
SltStatus blk_grow(SltWorld* world, void* array, uint32_t* capacity, uint32_t wanted, size_t size);
void blk_message(SltWorld* world, SltSeverity severity, DiagCode code, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
/// Note the first error of a run; returns `status`.
SltStatus blk_fail(SltWorld* world, SltStatus status, DiagCode code, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
uint32_t blk_name(SltWorld* world, const char* text);
uint32_t blk_name_find(const SltWorld* world, const char* text);
const char* blk_name_text(const SltWorld* world, uint32_t name);
/// Whether the world may be changed now; warns when a continuous block tries.
bool blk_may_change(SltWorld* world);
void blk_clear(SltWorld* world);

// schedule.c
uint32_t blk_node_new(SltWorld* world, const SltBlockSpec* spec);
void blk_node_free(SltWorld* world, uint32_t index);
SltStatus blk_node_insert(SltWorld* world, uint32_t index, double t);
void blk_node_cancel(SltWorld* world, uint32_t index);
SltStatus blk_node_activate(SltWorld* world, uint32_t index);
/// Schedule `fn` at the present time on behalf of the kernel; not journaled.
SltStatus blk_call_now(SltWorld* world, SltBlockFn* fn, void* user, uint32_t owner, SltBlock* out);
/// Time of the next event, HUGE_VAL when there is none.
double blk_queue_time(SltWorld* world);
/// Take out the next event; there is one, and blk_queue_time() has just been asked.
/// Take the first event out of the queue unless it comes after `t_end`.
bool blk_queue_take(SltWorld* world, double t_end, BlkEntry* out);
BlkEntry blk_queue_pop(SltWorld* world);
void blk_call_node(SltWorld* world, uint32_t index);
void blk_close_holes(SltWorld* world);

// journal.c
SltStatus blk_journal_add(SltWorld* world, const BlkOp* op);
void blk_journal_apply(SltWorld* world);
void blk_journal_undo(SltWorld* world);

// integrator.c
void blk_integrator_remove(SltWorld* world, uint32_t index);
SltStatus blk_integrator_activate(SltWorld* world, uint32_t index);
SltStatus blk_layout(SltWorld* world);
void blk_gather(const SltWorld* world, double* y);
void blk_scatter(SltWorld* world, const double* y);
double* blk_row(const SltWorld* world, uint32_t row);
/// Run the continuous blocks at time `t`; the derivatives go to `dy` unless it is NULL.
SltStatus blk_pass(SltWorld* world, double t, double* dy);

// transaction.c
void blk_owner_link(SltWorld* world, uint32_t owner, uint32_t node);
void blk_owner_unlink(SltWorld* world, uint32_t node);
uint32_t blk_owner_find(const SltWorld* world, SltTransaction handle);
void blk_transaction_end(SltWorld* world, uint32_t index);

// event.c
SltStatus blk_check_pass(SltWorld* world, BlkPassKind kind);
void blk_check_keep(SltWorld* world);
void blk_check_forget(SltWorld* world);
bool blk_memory_crosses(const SltWorld* world, const BlkMemory* memory);
bool blk_has_checks(const SltWorld* world);
void blk_memory_clear(SltWorld* world);

// literal.c, located.c
SltStatus blk_step_literal(SltWorld* world, double target);
SltStatus blk_step_located(SltWorld* world, double target);
void blk_stepper_free(SltWorld* world);

// run.c
bool blk_due(SltWorld* world, double t);
/// Take a row and a frame at the present time.
SltStatus blk_sample(SltWorld* world);
double blk_grid_time(const SltWorld* world, uint64_t n);
bool blk_wants_samples(const SltWorld* world);
double blk_time_eps(double t);
void blk_streams_save(SltWorld* world);
void blk_streams_restore(SltWorld* world);

// resource.c, store.c, process.c
void blk_request_apply(SltWorld* world, uint32_t index, int32_t priority);
void blk_request_free(SltWorld* world, uint32_t index);
void blk_request_withdraw(SltWorld* world, uint32_t index);
void blk_resource_release(SltResource* resource, uint32_t units, uint32_t owner);
void blk_resource_serve(SltResource* resource);
/// A process has got what it asked for; whether it still has so many units.
void blk_holder_add(SltResource* resource, const BlkProcess* process);
/// What a process has just got is another's.
void blk_holder_give(SltResource* resource, const BlkProcess* from, const BlkProcess* to);
bool blk_holder_has(const SltResource* resource, const BlkProcess* process, uint32_t units);
void blk_resources_clear(SltWorld* world);
SltStatus blk_ring_push(SltWorld* world, BlkRing* ring, const void* element, size_t size);
bool blk_ring_pop(BlkRing* ring, void* element, size_t size);
SltStatus blk_store_put(SltStore* store, void* item);
SltStatus blk_store_get(SltStore* store, const BlkFetch* fetch);
void blk_stores_clear(SltWorld* world);
void blk_stores_forget(SltWorld* world, SltItemFn* fn, const void* user);
void blk_process_resume(SltWorld* world, void* process);
void blk_process_wake(SltWorld* world, BlkProcess* process, SltStatus status);
void blk_process_cancel(SltWorld* world, BlkProcess* process);
/// Let a waiting process go on with SLT_INTERRUPTED; false when it does not wait.
bool blk_process_interrupt(SltWorld* world, BlkProcess* process);
void blk_process_release(SltWorld* world, BlkProcess* process);
/// Leave the running process until somebody wakes it.
SltStatus blk_process_sleep(SltWorld* world);
bool blk_conditions(SltWorld* world);
void blk_processes_clear(SltWorld* world);

// special.c
double blk_log_gamma(double x);  // x > 0
/// Share of a beta distribution below x: the regularised incomplete beta function I_x(a, b).
double blk_beta_share(double a, double b, double x);
/// Share of a gamma distribution with shape a and scale 1 below x: P(a, x).
double blk_gamma_share(double a, double x);

// watch.c, scene.c, signal.c
SltStatus blk_watch_row(SltWorld* world);
void blk_watch_clear(SltWorld* world);
SltStatus blk_scene_commit(SltWorld* world);
void blk_scene_clear(SltWorld* world);
/// Tell the watcher what the last sample has brought.
void blk_watcher_tell(SltWorld* world);
void blk_guides_clear(SltWorld* world);
void blk_pace_begin(SltWorld* world);
void blk_pace_wait(SltWorld* world);

#endif

// SPDX-License-Identifier: MIT
//
// Blocks and transactions: simulation inside the user's own program. A world has a clock, a queue
// of events, integrators over the user's memory, and blocks: functions that compute right-hand
// sides (continuous), act once (discrete) or look for events (check). Elements come and go as
// transactions; resources, stores and processes stand on the same clock.
//
//   SltWorldOptions options = slt_world_options();
//   SltWorld* world = NULL;
//   slt_world_create(&options, &world);
//   slt_integrator_create(world, 2, &x[1], &x[0], "x", (SltTransaction){0}, NULL);  // x[0]' = x[1]
//   slt_block_schedule(world, &(SltBlockSpec){.kind = SLT_BLOCK_CONTINUOUS, .fn = force}, NULL);
//   slt_world_run(world, 10.0, 0.01);
//   slt_world_free(world);
//
// A world belongs to one thread at a time; worlds share nothing, so several may run at once. Except
// where a comment says otherwise, handles are checked: a stale one is ignored with a warning.
// Included by <saltus/saltus.h>.
#ifndef SALTUS_WORLD_H
#define SALTUS_WORLD_H

#include <saltus/saltus_rt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SltWorld SltWorld;  ///< One combined simulation. One thread at a time.
typedef struct SltResource
    SltResource;                     ///< Units that are taken and given back. Owned by its world.
typedef struct SltStore SltStore;    ///< Items that wait to be fetched. Owned by its world.
typedef struct SltSignal SltSignal;  ///< A measured curve. Immutable: share it between threads.
typedef struct SltMember SltMember;  ///< A compiled model living in a world. Owned by the world.

// Handles are small values; copies are as good as the original. All zero is "none".
typedef struct SltBlock {
  uint32_t index, generation;
} SltBlock;
typedef struct SltIntegrator {
  uint32_t index, generation;
} SltIntegrator;
typedef struct SltTransaction {
  uint32_t index, generation;
} SltTransaction;
typedef struct SltRequest {
  uint32_t index, generation;
} SltRequest;
typedef struct SltProcess {
  uint32_t index, generation;
} SltProcess;

/// Receives warnings and errors of a world. `code` is stable and documented in docs/cdcsis.md;
/// pointers are valid during the call only.
typedef void SltMessageFn(void* user, SltSeverity severity, const char* code, double t,
                          const char* text);

/// Options of a world: take them from slt_world_options(), then change what you need.
typedef struct SltWorldOptions {
  double t_start;      ///< time at creation [0]
  const char* method;  ///< "literal", or an adaptive method of slt_method_get() [literal]
  double rtol;         ///< of adaptive methods, > 0 [1e-6]
  double atol;         ///< of adaptive methods, >= 0 [1e-9]
  double h_max;        ///< largest step of adaptive methods; 0: no limit [0]
  uint32_t probes;     ///< looks at the check blocks per adaptive step, at least [4]; never further
                       ///< apart than the samples of a run
  uint32_t max_chain;  ///< zero-delay events following from each other at one instant [1000000]
  uint64_t seed;       ///< of slt_world_random() [1]
  size_t stack_size;   ///< of a process, bytes [65536]
  bool debug;          ///< run check blocks twice and report those that are not idempotent
  SltMessageFn* on_message;  ///< NULL: messages are dropped
  void* user;                ///< of on_message
  SltAllocator allocator;    ///< zeroed: the C library's
  uint32_t cookie;           ///< set by slt_world_options()
} SltWorldOptions;

/// Options with every field at its default.
SLT_API SltWorldOptions slt_world_options(void);

/// Make a world.
/// @param options  from slt_world_options(); copied. NULL for the defaults.
/// @param out      receives the world, NULL on failure; free it with slt_world_free().
/// @return SLT_OK, SLT_ERR_ARGUMENT (a field out of range, unknown or unsuitable method),
///         SLT_ERR_NOMEM.
SLT_API SltStatus slt_world_create(const SltWorldOptions* options, SltWorld** out);

/// Free a world and everything it owns. Processes that still wait are resumed with
/// SLT_ERR_CANCELLED so that they can clean up. Accepts NULL. Not from inside a block.
SLT_API void slt_world_free(SltWorld* world);

/// Forget every block, integrator, transaction, process, resource, store, signal, member, graph and
/// picture, and set the clock. Handles and pointers to them become stale. Random streams restart.
/// @return SLT_OK, or SLT_ERR_ARGUMENT inside a block or when `t` is not finite.
SLT_API SltStatus slt_world_reset(SltWorld* world, double t);

/// Choose the way of integration from here on; as SltWorldOptions.method.
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT (inside a block).
SLT_API SltStatus slt_world_set_method(SltWorld* world, const char* method);

/// Tolerances of adaptive methods from here on. @return SLT_OK or SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_world_set_tolerance(SltWorld* world, double rtol, double atol);

/// Run to `t_end`. May be called again with a later end.
///
/// literal: Runge-Kutta steps of length `step`, shortened to hit events; state events by one linear
/// interpolation. Otherwise: steps by error control, state events located on dense output, and
/// `step` is only the distance of samples.
/// @param t_end  not before the current time; events at t_end still happen.
/// @param step   > 0; distance of the samples and step of the literal way. May be 0 as long as
///               there is nothing continuous, nothing watched and no pace.
/// @return SLT_OK, SLT_END (slt_world_stop), SLT_ERR_ARGUMENT (also when called from a block),
///         SLT_ERR_NOT_FINITE, SLT_ERR_STEP, SLT_ERR_LIMIT (endless zero-delay loop), SLT_ERR_ZENO,
///         SLT_ERR_NOMEM. After an error the world may be read and freed, or reset.
SLT_API SltStatus slt_world_run(SltWorld* world, double t_end, double step);

/// End the run after the present instant. The next slt_world_run() goes on from there.
SLT_API void slt_world_stop(SltWorld* world);

/// Simulation time. Inside a continuous block the time of the stage that is computed.
SLT_API double slt_world_time(const SltWorld* world);
/// Length of the present step.
SLT_API double slt_world_step(const SltWorld* world);

/// The error that ended the last run; status SLT_OK when there was none.
SLT_API SltRunError slt_world_error(const SltWorld* world);

/// What a world has done so far.
typedef struct SltWorldStatistics {
  uint64_t events;        ///< discrete events executed
  uint64_t state_events;  ///< calls of slt_world_event() that returned true
  uint64_t steps;         ///< accepted steps
  uint64_t passes;        ///< passes over the continuous blocks
  uint64_t checks;        ///< passes over the check blocks
  uint64_t rollbacks;     ///< steps cut back to a state event
  uint64_t pending;       ///< events in the queue now
  uint64_t overruns;      ///< samples that came late under a pace
  double worst_lateness;  ///< of them, in seconds of the clock
} SltWorldStatistics;

SLT_API SltWorldStatistics slt_world_statistics(const SltWorld* world);

// ---- blocks -------------------------------------------------------------------------------------

/// What a block does. It may call every function of the world except slt_world_run, _reset, _free.
typedef void SltBlockFn(SltWorld* world, void* user);

typedef enum SltBlockKind {
  SLT_BLOCK_DISCRETE = 0,    ///< once, at its time
  SLT_BLOCK_CONTINUOUS = 1,  ///< in every evaluation from its time on
  SLT_BLOCK_CHECK = 2        ///< at the end of every step and instant from its time on
} SltBlockKind;

typedef struct SltBlockSpec {
  SltBlockKind kind;
  double t;                    ///< when; a time in the past means now, with a warning
  int32_t priority;            ///< larger first, then in order of scheduling; |priority| <= 32767
  SltBlockFn* fn;              ///< not NULL
  void* user;                  ///< of fn; borrowed
  const char* name;            ///< for cancelling and messages; copied; may repeat; NULL for none
  SltTransaction transaction;  ///< whose block this is; zeroed: nobody's
} SltBlockSpec;

/// Order a block into the calculation.
/// Continuous blocks must be functions of time and integrated memory. Check blocks must come to the
/// same result when they are repeated: a step may be taken back to a state event. Effects on the
/// world of a pass that is taken back are undone; writes into the user's memory are not.
/// @param out  receives the handle; may be NULL.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_block_schedule(SltWorld* world, const SltBlockSpec* spec, SltBlock* out);

/// Short form for a discrete block without name and transaction: call `fn` at time `t`.
SLT_API SltStatus slt_world_call(SltWorld* world, double t, SltBlockFn* fn, void* user,
                                 SltBlock* out);

/// Go on after `dt` with fn(world, user): a block with kind, priority, name and transaction of the
/// block that is running. Only inside a block.
SLT_API SltStatus slt_block_hold(SltWorld* world, double dt, SltBlockFn* fn, void* user,
                                 SltBlock* out);

/// Take a block out. Inside a block this takes effect when the running block returns.
/// @return SLT_OK, or SLT_ERR_NOT_FOUND (with a warning) for a stale handle.
SLT_API SltStatus slt_block_cancel(SltWorld* world, SltBlock block);
/// Whether the block is scheduled or active.
SLT_API bool slt_block_is_alive(const SltWorld* world, SltBlock block);
/// The block that is running; none outside of blocks.
SLT_API SltBlock slt_block_current(const SltWorld* world);
/// The name it was given; "" for none or a stale handle. Lives as long as the world.
SLT_API const char* slt_block_name(const SltWorld* world, SltBlock block);

/// Take out every block and integrator of that name. Inside a block as slt_block_cancel().
/// @return SLT_OK, or SLT_ERR_NOT_FOUND (with a warning) when there is none.
SLT_API SltStatus slt_world_cancel(SltWorld* world, const char* name);

/// State event; only inside a check block. True at the moment at which `x` leaves the positive
/// values. The time of the event is then the time of the world.
/// @param site  tells the events of one transaction apart; choose any number.
SLT_API bool slt_world_event(SltWorld* world, double x, uint64_t site);

/// Memory that check blocks are watched over in debug mode, beside integrators and graphs.
SLT_API SltStatus slt_world_register(SltWorld* world, void* memory, size_t size);

/// Integrate a vector: `out`' = `in`. The memory is the user's and must stay valid until the
/// integrator is cancelled; `in` and `out` may overlap. The present values of `out` are the initial
/// values. After cancelling, `out` keeps its values.
/// @param count  length of both vectors, > 0.
SLT_API SltStatus slt_integrator_create(SltWorld* world, uint32_t count, const double* in,
                                        double* out, const char* name, SltTransaction transaction,
                                        SltIntegrator* handle);
/// As slt_block_cancel().
SLT_API SltStatus slt_integrator_cancel(SltWorld* world, SltIntegrator integrator);
SLT_API bool slt_integrator_is_alive(const SltWorld* world, SltIntegrator integrator);

// ---- transactions -------------------------------------------------------------------------------

/// Called when a transaction ends, to free its data.
typedef void SltDestroyFn(void* data);

/// An element that enters, moves through the system and leaves. Blocks, integrators and requests
/// can belong to it.
/// @param data     the user's; may be NULL.
/// @param destroy  may be NULL.
SLT_API SltStatus slt_transaction_create(SltWorld* world, void* data, SltDestroyFn* destroy,
                                         SltTransaction* out);
/// End it: its blocks, integrators and requests are cancelled, then its data destroyed. Inside a
/// block this takes effect when the running block returns, so a block may end its own transaction.
SLT_API SltStatus slt_transaction_end(SltWorld* world, SltTransaction transaction);
/// NULL for a stale handle.
SLT_API void* slt_transaction_data(const SltWorld* world, SltTransaction transaction);
SLT_API bool slt_transaction_is_alive(const SltWorld* world, SltTransaction transaction);
/// Number of living transactions.
SLT_API uint32_t slt_transaction_count(const SltWorld* world);
/// The transaction of the running block; none when it has none.
SLT_API SltTransaction slt_transaction_current(const SltWorld* world);

// ---- resources and stores -----------------------------------------------------------------------

/// @param units  capacity, > 0.
/// @param out    receives the resource; freed with the world.
SLT_API SltStatus slt_resource_create(SltWorld* world, const char* name, uint32_t units,
                                      SltResource** out);

typedef struct SltRequestSpec {
  uint32_t units;              ///< wanted, 1..capacity; 0 means 1
  int32_t priority;            ///< larger first, then first come first served; |priority| <= 32767
  SltBlockFn* fn;              ///< called as an event at the moment the units are granted
  void* user;                  ///< of fn
  SltTransaction transaction;  ///< its end withdraws the request and gives granted units back
} SltRequestSpec;

/// Ask for units. Whoever stands first in the queue is served first, also when a later, smaller
/// request could be served at once.
/// @param out  receives a handle for slt_request_cancel(); may be NULL.
SLT_API SltStatus slt_resource_request(SltResource* resource, const SltRequestSpec* spec,
                                       SltRequest* out);
/// Withdraw a request that still waits. SLT_ERR_NOT_FOUND when it was granted already.
SLT_API SltStatus slt_request_cancel(SltResource* resource, SltRequest request);
/// Give units back. Units granted to a transaction are given back in its name: pass the same one.
/// @return SLT_OK, SLT_ERR_ARGUMENT (more than are in use; nothing happens, with a warning).
SLT_API SltStatus slt_resource_release(SltResource* resource, uint32_t units,
                                       SltTransaction transaction);
/// Change the capacity; units in use beyond a smaller one are kept until they are released.
SLT_API SltStatus slt_resource_set_units(SltResource* resource, uint32_t units);
SLT_API uint32_t slt_resource_in_use(const SltResource* resource);
SLT_API uint32_t slt_resource_queue_length(const SltResource* resource);

/// Items come in at one end and are fetched at the other, first in, first out.
/// @param capacity  largest number of items; 0: no limit.
SLT_API SltStatus slt_store_create(SltWorld* world, const char* name, uint32_t capacity,
                                   SltStore** out);
/// Receives an item, as an event.
typedef void SltItemFn(SltWorld* world, void* user, void* item);
/// Put an item in. @return SLT_OK, SLT_ERR_LIMIT when the store is full (processes can wait:
/// slt_process_put), SLT_ERR_NOMEM.
SLT_API SltStatus slt_store_put(SltStore* store, void* item);
/// Fetch an item, now or as soon as there is one; fetchers are served in order.
SLT_API SltStatus slt_store_get(SltStore* store, SltItemFn* fn, void* user);
SLT_API uint32_t slt_store_count(const SltStore* store);
/// Whether item `a` is to be fetched before item `b`.
typedef bool SltBeforeFn(const void* a, const void* b, void* user);
/// Keep the items in an order: a priority store. Equal ones stay as they came. NULL: as they come.
/// @return SLT_OK, or SLT_ERR_ARGUMENT when the store is not empty.
SLT_API SltStatus slt_store_sort(SltStore* store, SltBeforeFn* before, void* user);
/// Whether an item suits who fetches.
typedef bool SltMatchFn(const void* item, void* user);

// ---- processes ----------------------------------------------------------------------------------

/// The life of one element as a function: it waits where it has to. Runs on a stack of its own
/// (SltWorldOptions.stack_size); must return, not jump or exit. When a waiting call returns
/// SLT_ERR_CANCELLED the process should clean up and return; it cannot wait any more.
typedef void SltProcessFn(SltWorld* world, void* user);

/// Start a process at time `t`. `name` may be NULL; `out` may be NULL.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, SLT_ERR_CANCELLED while the world is freed.
SLT_API SltStatus slt_process_start(SltWorld* world, double t, SltProcessFn* fn, void* user,
                                    const char* name, SltProcess* out);
/// Resume it with SLT_ERR_CANCELLED at the present time.
SLT_API SltStatus slt_process_cancel(SltWorld* world, SltProcess process);
SLT_API bool slt_process_is_alive(const SltWorld* world, SltProcess process);
/// Let a waiting process go on at the present time: its waiting call returns SLT_INTERRUPTED, and
/// what it waited for is given up. @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT (it does not
/// wait).
SLT_API SltStatus slt_process_interrupt(SltWorld* world, SltProcess process);
/// The process that is running; none outside of processes.
SLT_API SltProcess slt_process_current(const SltWorld* world);

// The following only inside a process; elsewhere they return SLT_ERR_ARGUMENT.

/// Let `dt` >= 0 pass. @return SLT_OK, SLT_INTERRUPTED or SLT_ERR_CANCELLED.
SLT_API SltStatus slt_process_wait(SltWorld* world, double dt);
/// Wait for units of a resource, at most `patience` (HUGE_VAL: for ever).
/// @return SLT_OK, SLT_END when patience was at an end, SLT_ERR_CANCELLED, SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_process_request(SltWorld* world, SltResource* resource, uint32_t units,
                                      int32_t priority, double patience);
/// The same, and if units are missing take them from processes of lower priority, the least
/// important and the latest first. Their waiting call returns SLT_INTERRUPTED; they have lost the
/// units and must not release them.
SLT_API SltStatus slt_process_preempt(SltWorld* world, SltResource* resource, uint32_t units,
                                      int32_t priority, double patience);
/// Wait for an item. @return as slt_process_wait().
SLT_API SltStatus slt_process_get(SltWorld* world, SltStore* store, void** item);
/// Wait for the first item that suits; others may overtake. @return as slt_process_wait().
SLT_API SltStatus slt_process_get_if(SltWorld* world, SltStore* store, SltMatchFn* suits,
                                     void* user, void** item);
/// Wait for room in a store and put an item in. @return as slt_process_wait().
SLT_API SltStatus slt_process_put(SltWorld* world, SltStore* store, void* item);

/// A condition on whatever the user likes; looked at after every instant and step.
typedef bool SltConditionFn(SltWorld* world, void* user);
/// Wait until a condition holds. @return as slt_process_wait().
SLT_API SltStatus slt_process_until(SltWorld* world, SltConditionFn* fn, void* user);
/// A quantity that is watched.
typedef double SltQuantityFn(SltWorld* world, void* user);
/// Wait for the state event at which the quantity leaves the positive values.
SLT_API SltStatus slt_process_until_event(SltWorld* world, SltQuantityFn* fn, void* user);

/// Wait for the end of another process. @return as slt_process_wait().
SLT_API SltStatus slt_process_join(SltWorld* world, SltProcess process);

typedef enum SltWaitKind {
  SLT_WAIT_TIME,      ///< until `time` has passed
  SLT_WAIT_UNITS,     ///< `units` of `resource`, with `priority`
  SLT_WAIT_ITEM,      ///< an item of `store`; it is in `item` then
  SLT_WAIT_END,       ///< the end of `process`
  SLT_WAIT_CONDITION  ///< `condition` with `user`
} SltWaitKind;

/// One of several things to wait for. Fields that its kind does not need may be zero.
typedef struct SltWait {
  SltWaitKind kind;
  double time;
  SltResource* resource;
  uint32_t units;
  int32_t priority;
  SltStore* store;
  SltProcess process;
  SltConditionFn* condition;
  void* user;
  void* item;
  bool done;         ///< has come true: units are granted, the item is there
  SltStatus status;  ///< of this one
} SltWait;

/// Wait until one of them is done; several are, if they come true at the same time. What is not
/// done is given up.
/// @return SLT_OK, SLT_INTERRUPTED (nothing more is waited for), SLT_ERR_CANCELLED, SLT_ERR_NOMEM.
SLT_API SltStatus slt_process_any(SltWorld* world, SltWait* waits, uint32_t count);
/// Wait until all of them are done. @return as slt_process_any().
SLT_API SltStatus slt_process_all(SltWorld* world, SltWait* waits, uint32_t count);

// ---- random numbers -----------------------------------------------------------------------------

/// A stream of random numbers (xoshiro256++). Each call takes exactly one number from it.
typedef struct SltRandom {
  uint64_t state[4];
} SltRandom;

/// Streams of one seed are independent of each other.
SLT_API void slt_random_init(SltRandom* random, uint64_t seed, uint64_t stream);
SLT_API double slt_random_uniform(SltRandom* random, double lo, double hi);
SLT_API double slt_random_exponential(SltRandom* random, double mean);
SLT_API double slt_random_normal(SltRandom* random, double mean, double deviation);
/// Mean and deviation of the variable itself (not of its logarithm); mean > 0.
SLT_API double slt_random_lognormal(SltRandom* random, double mean, double deviation);
/// One of `values` with the given weights (>= 0, not all 0); NULL weights: equally likely.
SLT_API double slt_random_empirical(SltRandom* random, const double* values, const double* weights,
                                    uint32_t count);
SLT_API double slt_random_triangular(SltRandom* random, double least, double likely,
                                     double greatest);
/// Shape > 0; the deviation is mean / sqrt(shape).
SLT_API double slt_random_gamma(SltRandom* random, double shape, double mean);
/// The sum of so many exponential times, all together of this mean.
SLT_API double slt_random_erlang(SltRandom* random, uint32_t stages, double mean);
SLT_API double slt_random_weibull(SltRandom* random, double shape, double scale);
/// Between 0 and 1, with the mean a / (a + b).
SLT_API double slt_random_beta(SltRandom* random, double a, double b);
SLT_API uint64_t slt_random_poisson(SltRandom* random, double mean);
/// 0 .. count - 1 with the given weights (>= 0, not all 0).
SLT_API uint32_t slt_random_discrete(SltRandom* random, const double* weights, uint32_t count);
/// 0 .. count - 1.
SLT_API uint32_t slt_random_index(SltRandom* random, uint32_t count);
/// A stream of the world's seed, kept by the world: it goes back with a step that is taken back.
/// NULL when memory is exhausted. The pointer lives until slt_world_reset().
SLT_API SltRandom* slt_world_random(SltWorld* world, uint32_t stream);

// ---- statistics ---------------------------------------------------------------------------------

#define SLT_BATCHES 64

/// Observations one by one (waiting times), with batch means. Zeroed storage is an empty one.
typedef struct SltTally {
  uint64_t count;
  double mean, m2, least, greatest;
  double batch_sum[SLT_BATCHES];
  uint64_t batch_size;   ///< observations per batch; doubles when the batches are full
  uint64_t batch_fill;   ///< in the last, unfinished batch
  uint32_t batch_count;  ///< finished batches
} SltTally;

SLT_API void slt_tally_add(SltTally* tally, double value);

/// A quantity that keeps its value for a time (queue lengths). Zeroed storage is an empty one.
typedef struct SltLevel {
  bool begun;
  double t_begin, t, value;
  double area;  ///< integral since t_begin
  double least, greatest;
  double batch_area[SLT_BATCHES];
  double batch_length;
  uint32_t batch_count;
} SltLevel;

/// The quantity has `value` from time `t` on.
SLT_API void slt_level_set(SltLevel* level, double t, double value);

typedef struct SltSummary {
  double count;  ///< observations, or time
  double mean;
  double deviation;  ///< of single observations; NaN for levels
  double least, greatest;
  double half_width;  ///< mean +- half_width is the confidence interval (batch means, Student)
} SltSummary;

/// @param confidence  in (0, 1), e.g. 0.95.
SLT_API SltSummary slt_tally_summary(const SltTally* tally, double confidence);
/// The level up to time `t`.
SLT_API SltSummary slt_level_summary(const SltLevel* level, double t, double confidence);
/// Begin anew at time `t` with the present value, e.g. after the warm-up.
SLT_API void slt_level_restart(SltLevel* level, double t);

/// Shares of values in equal bins between `lo` and `hi`.
typedef struct SltHistogram {
  double lo, hi;
  double* bins;  ///< weight in each; the user's memory
  uint32_t bin_count;
  double below, above, total;
} SltHistogram;

/// @param bins  `count` numbers; must stay valid as long as the histogram.
SLT_API SltStatus slt_histogram_init(SltHistogram* histogram, double lo, double hi, double* bins,
                                     uint32_t count);
/// @param weight  1 for observations, the time it lasted for a level.
SLT_API void slt_histogram_add(SltHistogram* histogram, double value, double weight);
/// The value that a share `p` of the weight lies below, interpolated within its bin; -HUGE_VAL or
/// HUGE_VAL beyond the bins, NaN when there is nothing.
SLT_API double slt_histogram_quantile(const SltHistogram* histogram, double p);
/// The same of values that are kept, which it puts in order; interpolated between neighbours.
SLT_API double slt_quantile(double* values, size_t count, double p);

/// How many of the first values belong to the warm-up and should be left out: where the standard
/// error of the mean of the rest is smallest (MSER-5), at most half of them. Ask it about a trial
/// run: one that is cut where it suits itself best comes out a little too quiet (waiting times of
/// queues by 0.5 to 3.5 %).
SLT_API size_t slt_warmup_end(const double* values, size_t count);

/// Results of independent replications: the interval is Student's.
SLT_API SltSummary slt_replications_summary(const double* results, size_t count, double confidence);
/// Build the model in a new world, run it, and write down what is asked for. The world is freed
/// after it: processes that still wait are resumed then, with SLT_ERR_CANCELLED, so what they touch
/// before they return must not be on the stack of this function, nor freed by it.
typedef SltStatus SltReplicationFn(SltWorld* world, void* user, double* measures);
/// Run a model `count` times, each in a world of its own with the seeds `options->seed`, + 1, ...
/// @param measures  numbers per replication, at most 64.
/// @param results   measure k of replication i goes to results[k * count + i].
/// @return SLT_OK, or the first error.
SLT_API SltStatus slt_world_replicate(const SltWorldOptions* options, uint32_t count,
                                      SltReplicationFn* fn, void* user, uint32_t measures,
                                      double* results);
/// Quantile of Student's distribution, used above; p in (0, 1).
SLT_API double slt_student_quantile(double p, double degrees);

typedef struct SltResourceStatistics {
  SltSummary waiting;  ///< time from request to grant, zero waits included
  SltSummary queue;    ///< requests waiting
  SltSummary in_use;   ///< units
  uint64_t requests, granted, withdrawn;
  uint64_t waited;     ///< granted later than asked
  uint64_t preempted;  ///< taken away from a process
} SltResourceStatistics;

/// Figures with confidence limits of 95 %.
SLT_API SltResourceStatistics slt_resource_statistics(const SltResource* resource);
/// All resources and stores as a table for people.
SLT_API SltStatus slt_world_write_report(const SltWorld* world, SltWriter writer);
/// Forget what was counted so far, e.g. after the warm-up.
SLT_API void slt_resource_clear_statistics(SltResource* resource);

// ---- graphs and animation -----------------------------------------------------------------------

/// Record a signal at every sample and at both sides of every event, as a graph.
/// @param amplitude  the axis goes from -amplitude to amplitude, doubled as often as the signal
///                   needs it; 0: from the least to the greatest value.
/// @param name       copied; the title.
SLT_API SltStatus slt_world_watch(SltWorld* world, const double* signal, double amplitude,
                                  const char* name);
/// No samples and pictures are taken while this is off. On at the start.
SLT_API void slt_world_record(SltWorld* world, bool on);
/// The recorded rows: `time`, then the graphs in order. Owned by the world; NULL when empty.
SLT_API const SltTable* slt_world_table(const SltWorld* world);
SLT_API uint32_t slt_world_graph_count(const SltWorld* world);

/// A drawing that is moved and turned: a polygon line through (a[i], b[i]). Where a[i] >= 1000:
/// b[i] > 0 is a circle of radius b[i] around the previous point, b[i] < 0 lifts the pen.
typedef struct SltPose {
  double field_x, field_y;  ///< visible field in user coordinates, > 0; its centre is the origin
  double size_x, size_y;    ///< |a| <= size_x, |b| <= size_y; beyond it is clipped with a warning
  double x, y, angle;       ///< place and turning of the drawing's origin
  uint32_t count;
  const double* a;
  const double* b;
  const void* key;  ///< tells drawings with the same a, b, count apart; may be NULL
} SltPose;

/// One pose of a drawing at the present time. Called from a block it makes the frames of an
/// animation; called outside of a run it is a fixed picture.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_world_pose(SltWorld* world, const SltPose* pose);
/// Number of frames so far.
SLT_API uint32_t slt_world_frame_count(const SltWorld* world);

/// Write the rows as CSV; the graph `graph` as SVG; everything as one self-contained HTML page with
/// charts and a playable animation.
/// @return SLT_OK, SLT_ERR_ARGUMENT (no such graph), SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_world_write_csv(const SltWorld* world, SltWriter writer);
SLT_API SltStatus slt_world_write_svg(const SltWorld* world, uint32_t graph, SltWriter writer);
SLT_API SltStatus slt_world_write_html(const SltWorld* world, const char* title, SltWriter writer);

/// Hand graphs and frames to `writer` as lines of JSON while they come: `{"graphs":[{"name":...}]}`
/// once, then
/// `{"row":[t, ...]}`, `{"shape":{"a":[...],"b":[...]},"field":[x, y]}` where a drawing is new,
/// `{"fixed":[...]}` and
/// `{"frame":[t, [shape, x, y, angle], ...]}`. A writer that fails is not called again. `{NULL,
/// NULL}` ends it.
/// @return SLT_OK, SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_world_on_sample(SltWorld* world, SltWriter writer);

// ---- measured signals, models, real time --------------------------------------------------------

typedef enum SltSignalKind { SLT_SIGNAL_LINEAR = 0, SLT_SIGNAL_STEP = 1 } SltSignalKind;

/// A curve from two columns of a table: times (not decreasing) and values. Rows with an empty cell
/// are left out. Before the first and after the last time the end value is kept.
/// @return SLT_OK, SLT_ERR_ARGUMENT (no rows, times decrease), SLT_ERR_NOT_FOUND (no such column),
///         SLT_ERR_NOMEM.
SLT_API SltStatus slt_signal_create(const SltTable* table, const char* time, const char* value,
                                    SltSignalKind kind, SltSignal** out);
SLT_API void slt_signal_free(SltSignal* signal);
SLT_API double slt_signal_value(const SltSignal* signal, double t);
/// Keep `*target` at the signal's value: a continuous block of priority 32767. Steps end at the
/// signal's jumps and corners. The signal must outlive the world.
SLT_API SltStatus slt_world_add_signal(SltWorld* world, const SltSignal* signal, double* target);

/// A started run of a compiled model takes part in the world: it meets the world every `every` time
/// units and at each of its own events. There it publishes its outputs and takes over its inputs,
/// which it then holds. The run must outlive the world and must stand at the world's time.
/// @param out  receives the member; freed with the world.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_world_add_model(SltWorld* world, SltSim* sim, double every, SltMember** out);
/// Write `*from` into the model's variable `name` at every meeting.
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_NOMEM.
SLT_API SltStatus slt_member_input(SltMember* member, const char* name, const double* from);
/// Write the model's quantity `name` into `*to` at every meeting.
SLT_API SltStatus slt_member_output(SltMember* member, const char* name, double* to);
/// Called as a part of the meeting, after the outputs are published, when the model had an event.
SLT_API void slt_member_on_event(SltMember* member, SltBlockFn* fn, void* user);

/// A clock to keep pace with; both functions count seconds.
typedef struct SltClock {
  double (*now)(void* user);
  void (*sleep_until)(void* user, double t);
  void* user;
} SltClock;

/// Keep pace: `speed` units of simulation time per second of the clock, checked at every sample.
/// Late samples are counted, not skipped. `speed` 0 turns it off.
/// @param clock  NULL: the system's monotonic clock.
SLT_API SltStatus slt_world_pace(SltWorld* world, double speed, const SltClock* clock);

/// Called at every sample (with pace: when it is due) before the step from there begins: the place
/// to read devices and write the inputs of blocks.
SLT_API void slt_world_on_input(SltWorld* world, SltBlockFn* fn, void* user);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: MIT
//
// Saltus runtime: run a compiled model. Everything an embedding program or an exported model
// needs once the model exists; compiling one from text is in <saltus/saltus.h>.
//
// Conventions. Handles are opaque. Every `create` has a `free` that accepts NULL. Text going in is
// NUL-terminated UTF-8 unless a length stands beside it. Functions return a status: 0 is success,
// positive values inform, negative values are errors. The library never prints, exits, aborts or
// reads the environment.
#ifndef SALTUS_RT_H
#define SALTUS_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define SLT_API
#else
#define SLT_API __attribute__((visibility("default")))
#endif

#define SLT_VERSION_MAJOR 0
#define SLT_VERSION_MINOR 1
#define SLT_VERSION_PATCH 0
#define SLT_VERSION       "0.1.0"

/// All status codes: name, value, text. The values are part of the ABI.
/// 0 ok, > 0 information, < 0 error: `status < 0` is the only test a caller needs.
#define SLT_STATUS_LIST(X) \
  X(SLT_OK, 0, "ok") \
  X(SLT_EVENT, 1, "stopped at an event") \
  X(SLT_END, 2, "the model has stopped the run") \
  X(SLT_INTERRUPTED, 3, "another process has interrupted the waiting") \
  X(SLT_ERR_ARGUMENT, -1, "invalid argument") \
  X(SLT_ERR_NOMEM, -2, "out of memory") \
  X(SLT_ERR_IO, -3, "reading or writing failed") \
  X(SLT_ERR_NOT_FOUND, -4, "no such name") \
  X(SLT_ERR_UNSUPPORTED, -5, "not available in this build") \
  X(SLT_ERR_CANCELLED, -6, "cancelled by the caller") \
  X(SLT_ERR_SYNTAX, -10, "the model text has errors; see the diagnostics") \
  X(SLT_ERR_SEMANTIC, -11, "the model has no valid meaning; see the diagnostics") \
  X(SLT_ERR_NOT_FINITE, -20, "a model function returned NaN or infinity") \
  X(SLT_ERR_NO_CONVERGENCE, -21, "an iteration did not converge") \
  X(SLT_ERR_MODE_LOOP, -22, "modes repeat at one instant; see the trace") \
  X(SLT_ERR_STEP, -23, "the step size fell below its minimum") \
  X(SLT_ERR_STRUCTURE, -24, "a mode's equations cannot be solved; see the error") \
  X(SLT_ERR_INVARIANT, -25, "a mode left its invariant with no transition enabled") \
  X(SLT_ERR_LIMIT, -26, "a limit of the run was reached") \
  X(SLT_ERR_ZENO, -27, "infinitely many events accumulate at one time")

/// Result of a call.
typedef enum SltStatus {
#define SLT_X(name, value, text) name = value,
  SLT_STATUS_LIST(SLT_X)
#undef SLT_X
} SltStatus;

/// The text of a status code; never NULL, static.
SLT_API const char* slt_status_text(SltStatus status);

/// Version of the library that is linked, "major.minor.patch"; static.
SLT_API const char* slt_version(void);

/// Memory comes from one realloc-style function. `pointer` NULL allocates, `size` 0 frees (returns
/// NULL); `old_size` is what was asked for before. Returns NULL when memory is exhausted.
typedef void* SltReallocFn(void* user, void* pointer, size_t old_size, size_t size);

/// Allocator given per compile and per run; `realloc_fn` NULL means the C library's.
typedef struct SltAllocator {
  SltReallocFn* realloc_fn;
  void* user;
} SltAllocator;

/// Receives bytes in order. Returns SLT_OK, or a negative status that ends the writing.
typedef SltStatus SltWriteFn(void* user, const char* data, size_t length);

/// A place where text goes: a file, a buffer, a socket. Owned by the caller.
typedef struct SltWriter {
  SltWriteFn* write;
  void* user;
} SltWriter;

/// Read a whole file into memory. Only regular files are read and opening never waits, so that a
/// name from a model or a message cannot block a program on a pipe, a terminal or a device.
/// @param streams    pipes, sockets and terminals too, which are read to their end; "-" is standard
///                   input.
/// @param limit      bytes; a longer file is refused before memory is taken for it.
/// @param allocator  gives `content`, which the caller frees with it; NULL: the C library's.
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT (it is no regular file), SLT_ERR_LIMIT,
///         SLT_ERR_NOMEM, SLT_ERR_IO.
SLT_API SltStatus slt_file_read(const char* path, bool streams, size_t limit,
                                const SltAllocator* allocator, char** content, size_t* length);

/// Write a text in a form that can be shown on a terminal whoever wrote it: control characters,
/// those that reorder text, and bytes that are no UTF-8 become '?'; line ends and tabulators stay.
/// Messages and stories of the library are to be shown through it: they hold names and texts of the
/// model.
/// @return SLT_OK, SLT_ERR_ARGUMENT, or the writer's error.
SLT_API SltStatus slt_write_clean(SltWriter writer, const char* text, size_t length);

#define SLT_NUMBER_TEXT 32  ///< bytes of the longest text of a number, its NUL included

/// The shortest decimal text that reads back to the same number, whatever the locale.
/// @param out  room for SLT_NUMBER_TEXT bytes.
/// @return the length.
SLT_API uint32_t slt_number_text(double value, char* out);

/// How grave a diagnostic is.
typedef enum SltSeverity { SLT_NOTE = 0, SLT_WARNING = 1, SLT_ERROR = 2 } SltSeverity;

/// One message about a model. All pointers are valid during the sink's call only.
typedef struct SltDiagnostic {
  const char* code;  ///< stable and documented, e.g. "E0203"
  SltSeverity severity;
  const char* file;      ///< name of the source as given to the compiler
  uint32_t line;         ///< 1-based
  uint32_t column;       ///< 1-based, in characters
  size_t begin, end;     ///< bytes of the source it speaks of
  const char* message;   ///< what is wrong
  const char* hint;      ///< what to do about it, or NULL
  const char* rendered;  ///< the whole message as text: place, source line, carets, notes, hint
} SltDiagnostic;

/// Receives diagnostics in source order.
typedef void SltDiagnosticFn(void* user, const SltDiagnostic* diagnostic);

// ---- foreign blocks -----------------------------------------------------------------------------

/// Blocks of a model that come from files and are computed outside of the library:
/// `fmu pump = "pump.fmu";`. The library asks for the text of a part that stands for the file, and
/// during a run for the values that this text looks up with `table(BLOCK, WHAT, arguments...)` of a
/// `data BLOCK = "FILE", foreign;`. Calls for one block come from one thread at a time.
typedef struct SltForeign {
  /// Write the part, under the name by which the model knows the file.
  /// @param name     as the model writes it; the part is to have this name.
  /// @param path     the same seen from here: relative names are those beside the model.
  /// @param problem  receives what is wrong in words, where the answer is negative.
  SltStatus (*describe)(void* user, const char* name, const char* path, SltWriter text,
                        char* problem, size_t problem_size);
  /// Make a block for a run that starts at `t_start`.
  /// @return SLT_OK or an error with `problem` in words.
  SltStatus (*open)(void* user, const char* path, double t_start, double rtol, void** block,
                    char* problem, size_t problem_size);
  /// A value for `count` numbers: the arguments of the call in the part, then what is asked for.
  /// The same numbers give the same value. `order` 1: its derivative by one of the arguments, whose
  /// number stands behind all others.
  double (*value)(void* block, const double* args, uint32_t count, int order);
  /// A step of the integration has ended at the last point that values were asked for.
  /// @return whether the block wants an event: its part's `:want` becomes 1. May be NULL.
  bool (*step)(void* block);
  /// Why the block has failed; NULL: it has not.
  const char* (*problem)(void* block);
  void (*close)(void* block);
  void* user;
} SltForeign;

// ---- models and runs ----------------------------------------------------------------------------

typedef struct SltModel SltModel;  ///< Compiled model. Immutable: share it between threads.
typedef struct SltSim SltSim;      ///< One run. Used by one thread at a time.

/// Free a model. No run of it may exist any more. Accepts NULL.
SLT_API void slt_model_free(SltModel* model);

/// How events are detected (see the manual, "Events").
typedef enum SltDetection {
  SLT_DETECTION_EXPERIMENT = -1,    ///< what the model's experiment says, else certified
  SLT_DETECTION_CERTIFIED = 0,      ///< by type, and proved on every accepted step
  SLT_DETECTION_COMBINED = 1,       ///< the algorithm that suits the type of each event
  SLT_DETECTION_EXTRAPOLATION = 2,  ///< extrapolation for every event
  SLT_DETECTION_INTERPOLATION = 3   ///< a sign test at step ends for every event
} SltDetection;

/// Motion along boundaries at which the flows on both sides point (see the manual, "Sliding").
typedef enum SltSliding {
  SLT_SLIDING_FILIPPOV = 0,  ///< the combination of the flows that stays on the boundary
  SLT_SLIDING_OFF = 1,       ///< none: what chatters is followed with a minimal distance in time
  SLT_SLIDING_UTKIN = 2      ///< the combination of the switched values that stays there
} SltSliding;

/// What follows infinitely many events in finite time (see the manual, "Accumulating events").
typedef enum SltZeno {
  SLT_ZENO_AUTO = 0,  ///< a state of the model for it, or a contact; otherwise the run fails
  SLT_ZENO_STOP = 1,  ///< the run fails
  SLT_ZENO_DWELL = 2  ///< as auto; instead of failing every mode is kept for a while
} SltZeno;

/// Options of a run: take them from slt_sim_options(), then change what you need. A field that is
/// NaN means: what the model's experiment says, else the default in brackets.
typedef struct SltSimOptions {
  double t_start;          ///< start of the run [0]
  const char* method;      ///< name from slt_method_get(); NULL: the experiment's, else "auto"
  double rtol;             ///< relative tolerance, > 0 [1e-6]
  double atol;             ///< absolute tolerance, >= 0 [rtol/1000 times each scale]
  double h0;               ///< first step; [chosen]
  double h_min;            ///< smallest step [16 roundings of the time]
  double h_max;            ///< largest step [no limit]
  double step;             ///< step of fixed-step methods
  double event_eps;        ///< what counts as a guard's boundary, for all [0: rounding]
  double gamma;            ///< reduction per step of extrapolation, in (0, 1) [0.6]
  SltDetection detection;  ///< how events are detected [the experiment's, else certified]
  SltSliding sliding;      ///< motion along boundaries
  SltZeno zeno;            ///< what follows an accumulation of events
  uint64_t seed;           ///< of the random streams
  uint64_t max_events;     ///< instants before the run stops with SLT_ERR_LIMIT; 0: no limit
  uint64_t max_steps;      ///< steps before the run stops with SLT_ERR_LIMIT; 0: no limit
  uint32_t threads;        ///< of a run with many states, the caller's included; same bits [1]
  SltAllocator allocator;  ///< zeroed: the C library's
  uint32_t cookie;         ///< set by slt_sim_options(); do not touch
} SltSimOptions;

/// Options with every field at its default.
SLT_API SltSimOptions slt_sim_options(void);

/// Check options against a model without making a run.
/// @param problem  receives what is wrong in words (static), NULL when nothing is; may be NULL.
/// @return SLT_OK or SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_sim_options_check(const SltModel* model, const SltSimOptions* options,
                                        const char** problem);

/// Make a run of `model`, which must outlive it. Takes no memory later within known modes.
/// @param options  from slt_sim_options(); copied.
/// @param out      receives the run, NULL on failure; free it with slt_sim_free().
/// @return SLT_OK, SLT_ERR_ARGUMENT (a field out of range, unknown method), SLT_ERR_NOMEM.
SLT_API SltStatus slt_sim_create(const SltModel* model, const SltSimOptions* options, SltSim** out);

/// Free a run. Accepts NULL.
SLT_API void slt_sim_free(SltSim* sim);

/// Set a constant of the model. Constants computed from it follow; those that were set themselves
/// keep their values. Before slt_sim_start() initial values follow too; during a run it takes
/// effect from the current time on, and guards that now hold fire at the next advance.
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT: not finite, or makes another constant so;
/// the
///         constant shapes the model, e.g. as a loop bound, and can only be set when compiling;
///         during a run: it decides when an `at` or a delay is due, which is fixed at the start, or
///         nothing but initial values depends on it.
SLT_API SltStatus slt_sim_set_constant(SltSim* sim, const char* name, double value);

/// Give a variable `x`, or a derivative `x'`, another initial value before slt_sim_start(). Initial
/// values computed from it follow.
/// @return SLT_OK, SLT_ERR_NOT_FOUND (no such variable, or the model gives it no initial value),
///         SLT_ERR_ARGUMENT (already started, or no finite number), SLT_ERR_NOMEM.
SLT_API SltStatus slt_sim_set_initial(SltSim* sim, const char* name, double value);

/// Evaluate the initial values and run the initial instant: guards that hold at the start fire.
/// @return SLT_OK, SLT_END (the model stopped at once), or the error of the instant.
SLT_API SltStatus slt_sim_start(SltSim* sim);

/// Advance to exactly `t_stop`, or to the first instant (event) before or at it. After SLT_EVENT
/// the values are those after the instant, and slt_sim_get_before() gives those before it.
///
/// Values between steps come from dense output: advancing in pieces gives the same bits as
/// advancing at once, unless values are written in between. On error the values stay at the last
/// accepted point: the run may be read, recorded and freed, but not advanced again.
/// @param sim      borrowed; not NULL; started.
/// @param t_stop   not before the current time.
/// @param reached  receives the time reached, on failure too; may be NULL.
/// @return SLT_OK (at t_stop), SLT_EVENT, SLT_END (the model stopped the run), or an error.
SLT_API SltStatus slt_sim_advance(SltSim* sim, double t_stop, double* reached);

/// Like slt_sim_advance(), but also returns SLT_OK at the end of each step of the integrator.
SLT_API SltStatus slt_sim_advance_step(SltSim* sim, double t_stop, double* reached);

/// Runs of one model that go on side by side, all by the caller's thread: compute what their next
/// steps need together, over SIMD lanes, as far as they are in the same mode; of 32 at most. Lanes
/// are eight: with more runs than that there are companions also where modes and methods differ.
/// Each run then goes on (slt_sim_advance_step(), slt_sim_ahead()) as it would have without, to the
/// bit; this only saves time, where steps are short and there are at least three runs. Returns the
/// number of runs that were served. NULL among the runs is allowed.
SLT_API uint32_t slt_sims_prepare(SltSim* const* sims, uint32_t count);

/// Make the next stretch of motion without carrying out what happens at its end. Between the
/// present time and `until` values can be looked at in any order with slt_sim_look(): they are
/// smooth there. slt_sim_advance() goes on as if nobody had looked.
/// @param until  receives the end of the stretch.
/// @return SLT_OK, SLT_EVENT (something had still to happen at the present time, as after
///         slt_sim_advance(); ask again), SLT_END (the model has stopped the run), an error of the
///         run, SLT_ERR_CANCELLED, SLT_ERR_ARGUMENT (not started, or values were written since the
///         last advance).
SLT_API SltStatus slt_sim_ahead(SltSim* sim, double* until);
/// Go to a time inside the stretch, forwards or backwards: slt_sim_get() then gives values there.
/// @param t  from the time slt_sim_ahead() was called at, and before its `until`.
/// @return SLT_OK, SLT_ERR_ARGUMENT (outside of the stretch).
SLT_API SltStatus slt_sim_look(SltSim* sim, double t);

/// Current time.
SLT_API double slt_sim_time(const SltSim* sim);

/// What a name of the model stands for.
typedef enum SltKind {
  SLT_KIND_VARIABLE = 0,
  SLT_KIND_DERIVATIVE = 1,  ///< x', x''
  SLT_KIND_CONSTANT = 2,
  SLT_KIND_MACRO = 3,
  SLT_KIND_MODE = 4,  ///< AUTOMATON.state: the state an automaton is in
  SLT_KIND_TIME = 5
} SltKind;

/// A handle for reading and writing a quantity quickly; valid for every run of the same model.
typedef struct SltQuantity {
  SltKind kind;
  uint32_t index;
  uint32_t order;  ///< of a derivative
} SltQuantity;

/// A name of a model: what programs offer to their users before there is a run. Pointers live as
/// long as the model.
typedef struct SltName {
  SltQuantity quantity;  ///< a variable, constant, macro, or the state of an automaton
  const char* name;      ///< of an automaton without `.state`
  const char* unit;      ///< of a variable; "" for none
  bool discrete;         ///< a variable that no equation determines: it keeps what is written to it
  bool input;            ///< ... and that the model itself never writes
  bool fixed;            ///< a constant that shapes the model: it can only be set when compiling
  uint32_t derivatives;  ///< highest derivative of a variable that can be asked for
  uint32_t states;       ///< of an automaton
  uint32_t line;         ///< of the text; 0 for none
  bool tunable;          ///< a constant that can be changed during a run, and then acts
  bool follows;          ///< a constant whose value is computed from other constants
} SltName;

/// Receives the names of a model; returning a negative status ends the listing with it.
typedef SltStatus SltNameFn(void* user, const SltName* name);

/// List a model's names: variables in the order of the text, then constants, macros, automata.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, or what `visit` returned.
SLT_API SltStatus slt_model_names(const SltModel* model, SltNameFn* visit, void* user);
/// Name of a state of an automaton: `quantity` of its name, `state` as slt_sim_get() numbers them.
/// NULL when there is none.
SLT_API const char* slt_model_state_name(const SltModel* model, SltQuantity quantity,
                                         uint32_t state);

/// Find a quantity by name: `x`, `x'`, a constant, a macro, `AUTOMATON.state`, `time`. An index may
/// be written as in the model's text: `x[3]` is `x3`.
/// @return SLT_OK or SLT_ERR_NOT_FOUND.
SLT_API SltStatus slt_sim_find(const SltSim* sim, const char* name, SltQuantity* out);

/// An initial value that the model gives as a number, or what was set in its place.
typedef struct SltInitial {
  SltQuantity quantity;  ///< a variable or derivative
  double value;          ///< the initial instant may have made another one of it. NaN: it follows
                         ///< from what can be set itself (constants, other variables, the time of
                         ///< the start), or it is drawn
  bool guess;            ///< the search for consistent values begins there
  bool reads;            ///< it follows from variables, not from constants alone
} SltInitial;

/// The initial values that a model gives, of a run that has started.
/// @return false where there is no `index`-th one.
SLT_API bool slt_sim_initial(const SltSim* sim, uint32_t index, SltInitial* out);

/// Present value. For SLT_KIND_MODE the number of the state. NaN when the quantity is undetermined
/// in the present mode (slt_sim_is_determined() tells).
SLT_API double slt_sim_get(SltSim* sim, SltQuantity quantity);

/// Value just before the last instant.
SLT_API double slt_sim_get_before(SltSim* sim, SltQuantity quantity);
/// Quantities at times inside the stretch that slt_sim_ahead() has made: what slt_sim_look() and
/// slt_sim_get() give there, at a fraction of the cost where they are states. The run may be left
/// at one of the times.
/// @param values  receives a row of `time_count` values for each quantity.
/// @return SLT_OK, SLT_ERR_ARGUMENT (a time outside of the stretch).
SLT_API SltStatus slt_sim_course(SltSim* sim, const SltQuantity* quantities, uint32_t count,
                                 const double* times, uint32_t time_count, double* values);

/// Whether the present mode determines the quantity.
SLT_API bool slt_sim_is_determined(const SltSim* sim, SltQuantity quantity);

/// Name of the state an automaton is in; NULL if `quantity` is not of kind SLT_KIND_MODE.
SLT_API const char* slt_sim_mode_name(const SltSim* sim, SltQuantity quantity);
/// The same just before the last instant.
SLT_API const char* slt_sim_mode_name_before(const SltSim* sim, SltQuantity quantity);

/// Unit of a quantity, as the model gives it or as it follows from its equations: "" when none is
/// known. Derivatives are per second. `out` receives at most `size` bytes with the closing zero.
/// @return SLT_OK, SLT_ERR_ARGUMENT, or SLT_ERR_LIMIT when there is not enough room.
SLT_API SltStatus slt_sim_unit(const SltSim* sim, SltQuantity quantity, char* out, size_t size);

/// A value in another unit: 25 of "degC" is 298.15 of "K".
/// @return SLT_OK, SLT_ERR_NOT_FOUND (a text is no unit), SLT_ERR_ARGUMENT (different quantities).
SLT_API SltStatus slt_unit_convert(double value, const char* from, const char* to, double* out);

/// Write a variable at the current time: an input or a discrete variable, or the state of an
/// integrated one. Takes effect from here on; guards that now hold fire at the next advance.
/// @return SLT_OK, SLT_ERR_ARGUMENT (not a variable, or computed by the equations of this mode).
SLT_API SltStatus slt_sim_set(SltSim* sim, SltQuantity quantity, double value);

/// What somebody else has to integrate in place of slt_sim_advance(), as the standard FMI calls it
/// in model exchange: variables and derivatives of a started run.
/// @param out    receives them; NULL: only their number is asked for.
/// @return SLT_OK, SLT_ERR_ARGUMENT (not started), SLT_ERR_LIMIT (not enough room).
SLT_API SltStatus slt_sim_exchange_states(const SltSim* sim, SltQuantity* out, uint32_t capacity,
                                          uint32_t* count);
/// From here on the caller integrates these.
/// @param accuracy  relative tolerance of the caller's integrator, 0 for unknown: flights of an
///                  impact that are lower than it, compared with the highest one, come to rest.
/// @return SLT_OK; SLT_ERR_UNSUPPORTED: the model reads the past (`delay`), the method is one that
///         does not locate events, or the mode integrates something else; SLT_ERR_ARGUMENT: not
///         started, has failed; SLT_ERR_NOMEM.
SLT_API SltStatus slt_sim_exchange_begin(SltSim* sim, const SltQuantity* states, uint32_t count,
                                         double accuracy);
/// Number of event indicators, whatever the mode.
SLT_API uint32_t slt_sim_exchange_indicator_count(const SltSim* sim);
/// Go to a point, forwards or backwards: slt_sim_get() gives values there. What the present mode
/// does not integrate keeps what the model makes of it. No relation and no mode changes.
/// @param values  one for each state.
/// @return SLT_OK, SLT_ERR_ARGUMENT (not finite).
SLT_API SltStatus slt_sim_exchange_point(SltSim* sim, double t, const double* values);
/// Rates of the states at the point; 0 for what the present mode computes or keeps.
/// @return SLT_OK, SLT_ERR_ARGUMENT; SLT_ERR_NOT_FINITE, SLT_ERR_NO_CONVERGENCE: the equations have
///         no values here, another point may be tried.
SLT_API SltStatus slt_sim_exchange_rates(SltSim* sim, double* rates);
/// Whether the equations of the present mode compute a state of the caller: until a mode integrates
/// it again, the caller's value for it has no say.
SLT_API bool slt_sim_exchange_computes(const SltSim* sim, SltQuantity state);
/// The same of the mode before the last instant, as slt_sim_get_before() reads it.
SLT_API bool slt_sim_exchange_computed(const SltSim* sim, SltQuantity state);
/// Give an input another value without an event: one that changes continuously.
/// @return SLT_OK, SLT_ERR_ARGUMENT (computed by the model).
SLT_API SltStatus slt_sim_exchange_input(SltSim* sim, SltQuantity input, double value);
/// Event indicators at the point. There is an event where one changes between z > 0 and z <= 0.
/// They are continuous between events, and no event leaves one at zero: a relation that stands at
/// its boundary after its event counts as beyond it by a few roundings.
/// @return SLT_OK, SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_sim_exchange_indicators(SltSim* sim, double* z, uint32_t count);
/// A step of the caller's integrator ends at the point.
/// @param event  receives whether an event is due here: something has changed that no indicator
///               tells, an indicator has changed, or states are to be brought back to constraints.
/// @return SLT_OK, an error of the run.
SLT_API SltStatus slt_sim_exchange_step(SltSim* sim, bool* event);
/// Carry out the event at the point: indicators that have changed, times that are due, values that
/// were written by slt_sim_set(). Nothing due is no error. States may have other values afterwards.
/// @param next      receives the time of the next time event; INFINITY for none.
/// @param restarts  receives whether the motion goes on in another way: an integrator has to begin
///                  anew, also where no state has another value.
/// @return SLT_OK, SLT_END (the model has stopped the run), an error of the run;
///         SLT_ERR_UNSUPPORTED: the mode entered integrates what is not among the states.
SLT_API SltStatus slt_sim_exchange_event(SltSim* sim, double* next, bool* restarts);

/// Number of automata, in canonical order, and their names (static as long as the model).
/// Implicit switches (`if`, `abs`, ...) are not counted.
SLT_API uint32_t slt_sim_automaton_count(const SltSim* sim);
SLT_API const char* slt_sim_automaton_name(const SltSim* sim, uint32_t automaton);
/// Name of the state an automaton is in now.
SLT_API const char* slt_sim_automaton_state(const SltSim* sim, uint32_t automaton);

/// Number of states of an automaton, and their names in the order of the text (they live as long as
/// the model); NULL behind the last.
SLT_API uint32_t slt_sim_state_count(const SltSim* sim, uint32_t automaton);
SLT_API const char* slt_sim_state_name(const SltSim* sim, uint32_t automaton, uint32_t state);

/// Number of constants of the model that can be set before a run, and their names (they live as
/// long as the model); NULL behind the last.
SLT_API uint32_t slt_sim_constant_count(const SltSim* sim);
SLT_API const char* slt_sim_constant_name(const SltSim* sim, uint32_t constant);

/// Number of variables a recording holds by default: all visible variables of the model (not
/// constants or macros), in order of first appearance in its text.
SLT_API uint32_t slt_sim_column_count(const SltSim* sim);
/// Name of one of them, as slt_sim_find() takes it; lives as long as the model. NULL when `column`
/// is not below slt_sim_column_count().
SLT_API const char* slt_sim_column_name(const SltSim* sim, uint32_t column);

/// Bytes needed to save the whole state of a run as it is now. Where the model has delays or slides
/// along surfaces they change as the run goes on: ask before each save.
SLT_API size_t slt_sim_snapshot_size(const SltSim* sim);
/// Save into `buffer` of slt_sim_snapshot_size() bytes. Valid for this run only.
SLT_API SltStatus slt_sim_snapshot_save(const SltSim* sim, void* buffer, size_t size);
/// Go back to a saved state; the run then continues with the same bits.
SLT_API SltStatus slt_sim_snapshot_restore(SltSim* sim, const void* buffer, size_t size);

/// What a checkpoint is sealed with.
typedef struct SltKey {
  uint8_t bytes[32];
} SltKey;

/// A checkpoint: the whole state of a run as bytes that another process goes on from with the same
/// bits. It belongs to the build of the library, the model, its constants and the options of the
/// run; that is checked. It becomes the memory of the run, so it is sealed with a key: one that was
/// changed, or made by somebody who does not have the key, is refused. Bytes needed for one, as the
/// run is now, with a note of `note_size` bytes of the caller's own.
SLT_API size_t slt_sim_checkpoint_size(const SltSim* sim, size_t note_size);
/// Save into `buffer` of slt_sim_checkpoint_size() bytes. May be called between steps, from the
/// callback of slt_sim_on_step().
/// @param key   NULL: the seal tells damage, but anybody can make it. Only for bytes that stay
/// where
///              nobody else can write.
/// @param note  kept with it and under the same seal; NULL where note_size is 0.
/// @return SLT_OK, or SLT_ERR_ARGUMENT: the run has not started or has failed, or the buffer is too
/// small.
SLT_API SltStatus slt_sim_checkpoint_save(const SltSim* sim, const SltKey* key, const void* note,
                                          size_t note_size, void* buffer, size_t size);
/// Go on from there, in place of slt_sim_start().
/// @param key   as for saving.
/// @param note  receives the note, which must have been of this size; NULL where that is 0.
/// @param why  set to what does not fit, in words; lives as long as the run. May be NULL.
/// @return SLT_OK; SLT_ERR_ARGUMENT: it does not fit, is damaged, or the run has started;
///         SLT_ERR_NOMEM. A run that a damaged checkpoint was tried on is only good for
///         slt_sim_free().
SLT_API SltStatus slt_sim_checkpoint_restore(SltSim* sim, const SltKey* key, const void* buffer,
                                             size_t size, void* note, size_t note_size,
                                             const char** why);

// ---- events -------------------------------------------------------------------------------------

typedef enum SltEventKind {
  SLT_EVENT_INITIAL,
  SLT_EVENT_TIME,
  SLT_EVENT_STATE,
  SLT_EVENT_SLIDE_IN,
  SLT_EVENT_SLIDE_OUT,
  SLT_EVENT_ZENO,
  SLT_EVENT_REINIT,
  SLT_EVENT_CHATTER,
  SLT_EVENT_LIMIT,
  SLT_EVENT_STOP
} SltEventKind;

typedef enum SltEventClass {
  SLT_CLASS_INTERIOR,
  SLT_CLASS_MYTHICAL,
  SLT_CLASS_PINNACLE,
  SLT_CLASS_BOUNDARY,
  SLT_CLASS_SLIDING
} SltEventClass;

typedef enum SltAtomType {
  SLT_ATOM_CRITICAL,
  SLT_ATOM_UNILATERAL,
  SLT_ATOM_BILATERAL,
  SLT_ATOM_SHORTLIVING,
  SLT_ATOM_NOEVENT,
  SLT_ATOM_TIME,
  SLT_ATOM_NONE  ///< nothing was located: level-triggered, initial, stop
} SltAtomType;

/// What made a transition fire.
typedef enum SltCause {
  SLT_CAUSE_NONE,      ///< the record is no transition
  SLT_CAUSE_CROSSING,  ///< a relation of its guard was located here
  SLT_CAUSE_LEVEL,     ///< its guard holds already: at the start, or since values or states changed
  SLT_CAUSE_CANDIDATE,  ///< its guard holds in a mode that was only tried, which is thereby
                        ///< mythical
  SLT_CAUSE_FLOW,       ///< the flow on a surface leads there
  SLT_CAUSE_TIME        ///< `at`
} SltCause;

/// A variable changed by an event.
typedef struct SltChange {
  const char* name;
  double before, after;
} SltChange;

/// A relation of a guard when it was asked.
typedef struct SltTruth {
  const char* atom;  ///< source text
  double g;          ///< holds for g > 0 or g >= 0; NaN where it has no value
  double pulse;      ///< weight of a pulse in g, which then decides by its sign; 0 for none
  bool holds;
  bool armed;    ///< false while it lingers at its boundary and keeps its truth
  bool located;  ///< its crossing is what the instant was placed at
} SltTruth;

/// A quantity that the two sides of a boundary compute differently, and its value while the motion
/// slides along it.
typedef struct SltEquivalent {
  const char* name;
  double without;  ///< on the side where the relation does not hold
  double with;     ///< ... where it holds
  double value;    ///< between them, or what the combined motion makes of it
} SltEquivalent;

/// One record: a fired transition, a firing of `at`, or one of the other kinds. Pointers are valid
/// during the callback only.
typedef struct SltEvent {
  double t;
  uint32_t n;     ///< counts the records of the instant from 0
  uint32_t iter;  ///< round of the event iteration; transitions fired together share it
  SltEventKind kind;
  SltEventClass event_class;
  SltCause cause;            ///< of a transition; what went before it stands in the records before
  const char* automaton;     ///< NULL for `at` without goto
  const char* from;          ///< NULL with automaton
  const char* to;            ///< NULL with automaton
  const char* const* atoms;  ///< source texts of the relations that hold in the guard
  uint32_t atom_count;
  SltAtomType type;   ///< of the relation that was located
  uint32_t line;      ///< of the model's text; 0 for none
  double bracket[2];  ///< the event time lies in between; [t, t] for time conditions
  double slope;       ///< of g at the event; NaN when there is none
  bool certified;     ///< proved that no earlier crossing was missed
  bool kink;          ///< the switch of abs, max or min: slopes change there, values do not
  const char* text;   ///< of a stop, an error, a warning; NULL for none
  const SltChange* changes;
  uint32_t change_count;
  uint32_t computed_count;    ///< the last of the changes follow from the others by equations
  const SltChange* impulses;  ///< name and value (in `after`)
  uint32_t impulse_count;
  const SltChange* candidate;  ///< mythical: what the discarded mode would have changed
  uint32_t candidate_count;
  const char* const* undetermined;  ///< variables that nothing determines from here on; with the
                                    ///< last record of the instant
  uint32_t undetermined_count;
  bool has_energy;   ///< the model declares an energy, and this is the last record of the instant
  double energy[2];  ///< before and after the instant
  const SltTruth* truths;  ///< of a transition: all relations of its guard
  uint32_t truth_count;
  bool has_cause;      ///< a record of an earlier round of the instant made this one possible
  uint32_t caused_by;  ///< its `n`
  bool has_residual;   ///< the mode entered has constraints
  double residual[2];  ///< largest distance to one of them, relative: as entered, as committed
  bool has_share;      ///< sliding begins or ends
  double share;        ///< of the side where the relation holds
  const SltEquivalent* equivalents;  ///< where sliding begins
  uint32_t equivalent_count;
} SltEvent;

/// Receives event records in order, as they happen.
typedef void SltEventFn(void* user, const SltEvent* event);
SLT_API void slt_sim_on_event(SltSim* sim, SltEventFn* fn, void* user);

/// Write a record as one line of JSON: what recorders write for it.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_event_write(const SltEvent* event, SltWriter writer);

/// A run told in words: for each instant what fired and why, the modes that were only tried, what
/// changed, and how the motion goes on.
typedef struct SltStory SltStory;

/// Begin the story of a run, which must outlive it.
/// @param all     tell every instant; otherwise those that repeat are counted.
/// @param writer  receives the text.
/// @param out     receives the story, NULL on failure; free it with slt_story_free().
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_story_create(const SltSim* sim, bool all, SltWriter writer, SltStory** out);
/// Free a story. Accepts NULL.
SLT_API void slt_story_free(SltStory* story);
/// Take a record: an SltEventFn for slt_sim_on_event() or slt_recorder_on_event(), with the story
/// as its user.
SLT_API void slt_story_event(void* story, const SltEvent* event);
/// Tell what is left, and how the run ended.
/// @param status  of the run.
/// @return SLT_OK, SLT_ERR_ARGUMENT, or the writer's error.
SLT_API SltStatus slt_story_end(SltStory* story, SltStatus status);

/// A picture of the model's automata: states, transitions with their guards, and what of them was
/// visited.
typedef struct SltGraph SltGraph;

/// Make the picture of a model, which must outlive it.
/// @param out  receives the graph, NULL on failure; free it with slt_graph_free().
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_graph_create(const SltModel* model, SltGraph** out);
/// Free a graph. Accepts NULL.
SLT_API void slt_graph_free(SltGraph* graph);
/// Count a record: an SltEventFn for slt_sim_on_event() or slt_recorder_on_event(), with the graph
/// as its user. Once it was called, the picture tells what was visited, how often and of which
/// class.
SLT_API void slt_graph_event(void* graph, const SltEvent* event);
/// Write it as one SVG file.
/// @param title  not NULL.
/// @return SLT_OK, SLT_ERR_ARGUMENT (also: the model has neither automata nor switches),
///         SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_graph_write(const SltGraph* graph, const char* title, SltWriter writer);
/// Write it in the language of Graphviz (`dot -Tsvg` draws it).
/// @return as slt_graph_write().
SLT_API SltStatus slt_graph_write_dot(const SltGraph* graph, const char* title, SltWriter writer);
/// List the states that were never entered though the run has been in a state before them: a line
/// for each transition that was not taken, with its guard and place; the first twenty. Writes
/// nothing where there are none.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_graph_write_unreached(const SltGraph* graph, SltWriter writer);

/// Warnings of a run (conflicting assignments and the like); the text says all.
typedef void SltWarningFn(void* user, const SltDiagnostic* diagnostic);
SLT_API void slt_sim_on_warning(SltSim* sim, SltWarningFn* fn, void* user);

/// The run ends here: warn of what only its end shows, variables that stayed below the absolute
/// tolerance. Changes nothing; `sim` may be NULL.
SLT_API void slt_sim_conclude(SltSim* sim);

/// Asked between steps; returning true ends the advance with SLT_ERR_CANCELLED. The run is then
/// intact and may be advanced again. `t` is how far the integration has come.
typedef bool SltCancelFn(void* user, double t);
SLT_API void slt_sim_on_step(SltSim* sim, SltCancelFn* fn, void* user);
/// Ask that function now: for programs that do much with one step, such as writing a million rows
/// of it. Recorders do so.
SLT_API bool slt_sim_is_cancelled(const SltSim* sim);
/// Asked in every round of an instant, which may have a million of them; returning true ends the
/// run with SLT_ERR_CANCELLED. What was recorded before stays; the run is between two modes, and
/// can neither be advanced nor saved.
SLT_API void slt_sim_on_round(SltSim* sim, SltCancelFn* fn, void* user);

/// Why a run failed. Pointers live as long as the run.
typedef struct SltRunError {
  SltStatus status;  ///< SLT_OK when nothing failed
  const char* code;  ///< "E0801"; documented
  double t;          ///< time of the failure
  uint32_t line;     ///< place in the model; 0 when there is none
  uint32_t column;
  const char* message;   ///< what happened
  const char* hint;      ///< what to try, or NULL
  const char* rendered;  ///< everything as text, with the source line
} SltRunError;

/// The error of the last failing call.
SLT_API SltRunError slt_sim_error(SltSim* sim);

/// What a run has cost so far.
typedef struct SltStatistics {
  double t;                    ///< how far the integration has come
  uint64_t steps;              ///< accepted steps
  uint64_t rejected;           ///< rejected and failed trials
  uint64_t evaluations;        ///< of the right-hand side
  uint64_t guard_evaluations;  ///< of the guards on dense output
  uint64_t instants;           ///< without the initial one and stops
  uint64_t records;            ///< event records
  uint64_t by_class[5];        ///< records by SltEventClass, initial and stop left out
  uint64_t not_certified;      ///< records whose detection was not proved
  uint64_t silent;             ///< crossings that fired nothing
  uint64_t not_proved;        ///< relations over a step whose proof was given up; looked at plainly
  uint32_t modes;             ///< compiled equation sets visited
  const char* method;         ///< method in use
  const char* method_reason;  ///< why, when chosen automatically; else NULL
  double energy_start;        ///< declared energy at the start; NaN when the model declares none
  double energy_events;       ///< what events have changed in sum
  double energy_gained;       ///< what those that created energy have added
  double energy_motion;       ///< what the motion between events has changed in sum
} SltStatistics;

SLT_API SltStatistics slt_sim_statistics(const SltSim* sim);

/// What one relation or one variable has cost: where to look when a run is slow.
typedef struct SltCost {
  const char* name;  ///< text of the relation, or name of the variable; lives as long as the run
  uint32_t line;     ///< of the relation in the model; 0: none
  uint64_t steps;    ///< over which the relation was followed closely; in which the variable had
                     ///< the largest error by its tolerance, which decides about the next step
} SltCost;

typedef enum SltCostOf { SLT_COST_OF_RELATION, SLT_COST_OF_VARIABLE } SltCostOf;

/// Count from now on; without it nothing is counted. Snapshots do not hold the counts.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_sim_note_costs(SltSim* sim);
/// Number of relations or variables, and what one of them has cost (index < count).
SLT_API uint32_t slt_sim_cost_count(const SltSim* sim, SltCostOf of);
SLT_API SltCost slt_sim_cost(const SltSim* sim, SltCostOf of, uint32_t index);

/// An integration method.
typedef struct SltMethod {
  const char* name;
  const char* description;
  uint32_t order;
  uint32_t stages;
  uint32_t dense_order;
  bool adaptive;
} SltMethod;

/// Number of methods, and one of them (index < count).
SLT_API uint32_t slt_method_count(void);
SLT_API SltMethod slt_method_get(uint32_t index);

// ---- recording ----------------------------------------------------------------------------------

typedef struct SltRecorder SltRecorder;  ///< Runs a simulation and writes what happens.
typedef struct SltTable SltTable;        ///< Recorded rows in memory.

/// Forms in which rows are written.
typedef enum SltFormatId {
  SLT_FORMAT_CSV = 0,         ///< RFC 4180, LF, shortest decimals
  SLT_FORMAT_CSV_GZ = 1,      ///< the same compressed
  SLT_FORMAT_JSON_LINES = 2,  ///< an object per row
  SLT_FORMAT_MAT = 3,         ///< MAT-file of level 5
  SLT_FORMAT_HDF5 = 4         ///< a data set per column
} SltFormatId;

typedef struct SltFormat {
  SltFormatId id;
  const char* ending;       ///< of files: ".csv"
  const char* description;  ///< for people
  bool whole;               ///< written when all rows are there, not row by row
  bool continues;           ///< rows can be added to a file that another process has begun
  const char* missing;      ///< package with the library that is not here; NULL: none
} SltFormat;

/// Number of formats, and one of them (index < count).
SLT_API uint32_t slt_format_count(void);
SLT_API SltFormat slt_format_get(uint32_t index);
/// The format that a file has by the ending of its name.
/// @return SLT_OK, SLT_ERR_NOT_FOUND, SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_format_find(const char* path, SltFormat* out);

/// Instants that get rows of their own, before and after, beside those of the grid.
typedef enum SltEventRows {
  SLT_EVENT_ROWS_CHANGES = 0,  ///< those that change a recorded quantity
  SLT_EVENT_ROWS_MODES = 1,  ///< also those that change the state of an automaton, or begin or end
                             ///< sliding or a contact; switches in equations (`if`, `abs`) do not
                             ///< count
  SLT_EVENT_ROWS_ALL = 2,    ///< every instant that has an event record
  SLT_EVENT_ROWS_NONE = 3
} SltEventRows;

/// Options of a recorder: take them from slt_recorder_options().
typedef struct SltRecorderOptions {
  double every;              ///< distance of the rows; NaN: `samples` instead
  uint32_t samples;          ///< number of equidistant rows after the first [500]
  bool all_steps;            ///< a row per step of the integrator instead
  SltEventRows event_rows;   ///< which instants get rows [changes]
  const char* const* names;  ///< quantities to record, `x` or `x in UNIT`; NULL: all variables in
                             ///< source order
  uint32_t name_count;
  SltWriter rows;      ///< write NULL: none
  SltFormatId format;  ///< of the rows [CSV]
  SltWriter events;    ///< JSON lines; write NULL: none
  bool event_table;    ///< ... or CSV: time, states, relations and changes in a line each
  bool keep;           ///< keep the rows in memory for slt_recorder_table()
  bool bands;          ///< ... with the states of the automata, and rows where only these change,
                       ///< as pictures show them [true]
  bool unit_row;       ///< in CSV, a second row with the units of the columns
  uint32_t cookie;
} SltRecorderOptions;

SLT_API SltRecorderOptions slt_recorder_options(void);

/// Attach a recorder to a run that is not started yet. Both belong to the caller; free the recorder
/// first. It takes over slt_sim_on_event(); pass events on with slt_recorder_on_event().
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, SLT_ERR_UNSUPPORTED (the format), or
///         SLT_ERR_NOT_FOUND with the offending name in `bad_name` (borrowed from options); there
///         SLT_ERR_ARGUMENT has the name of a quantity that cannot be given in its unit.
SLT_API SltStatus slt_recorder_create(SltSim* sim, const SltRecorderOptions* options,
                                      SltRecorder** out, const char** bad_name);
SLT_API void slt_recorder_free(SltRecorder* recorder);
SLT_API void slt_recorder_on_event(SltRecorder* recorder, SltEventFn* fn, void* user);

/// Called with the time of each row just before it is written: a program that keeps pace with a
/// clock waits here. The present values are those of the run at that time, or after the instant
/// there. While a function is set, rows are handed to the writers one by one. NULL turns it off.
typedef void SltRowFn(void* user, double t);
SLT_API void slt_recorder_on_row(SltRecorder* recorder, SltRowFn* fn, void* user);

/// Where a recording stands: beside a checkpoint of the run, all that is needed to go on with it.
typedef struct SltRecorderMark {
  double t_start, t_row;
  double grid_start, grid_step, grid_span;
  uint32_t grid_count;
  bool has_row, all_steps;
  bool end_row;      ///< the last row stands there because the run ended: a recording that goes on
                     ///< is to drop it
  uint64_t columns;  ///< hash of the header
} SltRecorderMark;

/// Hand everything recorded so far to the writers and tell where the recording stands. May be
/// called from the callback of slt_sim_on_step().
/// @return SLT_OK; SLT_ERR_ARGUMENT: nothing was recorded yet, or rows are kept in memory; an error
///         of writing.
SLT_API SltStatus slt_recorder_mark(SltRecorder* recorder, SltRecorderMark* out);
/// Go on behind rows that are written already; the run was restored from its checkpoint. There is
/// no header then.
/// @param why  set to what does not fit, in words; may be NULL.
/// @return SLT_OK or SLT_ERR_ARGUMENT.
SLT_API SltStatus slt_recorder_continue(SltRecorder* recorder, const SltRecorderMark* mark,
                                        const char** why);

/// Start the run if it is not started, and record it up to `t_end`. Rows already written stay
/// whatever happens; the last row is at the time reached.
/// @return SLT_OK, SLT_END, an error of the run or of writing, SLT_ERR_CANCELLED.
SLT_API SltStatus slt_recorder_run(SltRecorder* recorder, double t_end);

/// Hand what is recorded to the writers now, instead of when there is more of it. May be called
/// from the callback of slt_sim_on_step().
/// @return SLT_OK, SLT_ERR_ARGUMENT, or an error of writing.
SLT_API SltStatus slt_recorder_flush(SltRecorder* recorder);

/// End the recording: formats that are written as a whole are written now. A recording without it
/// has rows up to the last run, where its format allows that.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, SLT_ERR_LIMIT (more than the format can hold),
/// or
///         an error of writing.
SLT_API SltStatus slt_recorder_finish(SltRecorder* recorder);

/// Rows recorded so far.
SLT_API uint64_t slt_recorder_row_count(const SltRecorder* recorder);

/// The rows kept so far; owned by the recorder. NULL unless `keep`.
SLT_API const SltTable* slt_recorder_table(const SltRecorder* recorder);
/// Take the rows kept so far; free them with slt_table_free(). They outlive recorder, run and
/// model. The recorder is then only good for slt_recorder_free(). NULL unless `keep`.
SLT_API SltTable* slt_recorder_take_table(SltRecorder* recorder);

// ---- tables and pictures ------------------------------------------------------------------------

/// Read a table from CSV text (RFC 4180, a header line, numbers; empty cells are undetermined). A
/// header with semicolons or tabs says that these separate cells; numbers may have decimal commas
/// then.
/// @param bad_line  receives the line of the first error; may be NULL.
/// @return SLT_OK, SLT_ERR_SYNTAX, SLT_ERR_NOMEM.
SLT_API SltStatus slt_table_read_csv(const char* text, size_t length, SltTable** out,
                                     uint32_t* bad_line);
/// Free a table of slt_table_read_csv() or slt_recorder_take_table(). Accepts NULL.
SLT_API void slt_table_free(SltTable* table);
SLT_API uint32_t slt_table_column_count(const SltTable* table);
SLT_API uint32_t slt_table_row_count(const SltTable* table);
SLT_API const char* slt_table_column_name(const SltTable* table, uint32_t column);
/// Unit of a column; "" when it has none, NULL for no such column.
SLT_API const char* slt_table_column_unit(const SltTable* table, uint32_t column);
/// The numbers of a column, one per row, in one piece: NaN where undetermined or text. Valid as
/// long as the table, and no rows are added to it. NULL for no such column, or no rows.
SLT_API const double* slt_table_column(const SltTable* table, uint32_t column);
/// NaN where undetermined or text.
SLT_API double slt_table_value(const SltTable* table, uint32_t row, uint32_t column);
/// Text of a cell that is not a number (the state of an automaton), else NULL.
SLT_API const char* slt_table_text(const SltTable* table, uint32_t row, uint32_t column);

/// Write a table in another format. In MAT-files (MATLAB, Octave, Scilab, SciPy) a column is a
/// vector, states of automata are characters, NaN is undetermined; names that are no identifiers
/// there are spelt with letters (x' is der_x), and the cell array `names` holds them as they are.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, SLT_ERR_UNSUPPORTED (the library is not
///         here), SLT_ERR_LIMIT, or the writer's error.
SLT_API SltStatus slt_table_write(const SltTable* table, SltFormatId format, SltWriter writer);

typedef enum SltPlotFormat {
  SLT_PLOT_SVG,
  SLT_PLOT_TERMINAL,
  SLT_PLOT_PNG,
  SLT_PLOT_PDF,
  SLT_PLOT_JSON  ///< of a figure: which columns stand where, for a program that draws them itself
} SltPlotFormat;

/// Options of a picture: take them from slt_plot_options().
typedef struct SltPlotOptions {
  SltPlotFormat format;
  const char* title;         ///< NULL for none
  const char* x;             ///< column of the horizontal axis; NULL: the first
  const char* const* names;  ///< columns to draw; NULL: all numbers
  uint32_t name_count;
  uint32_t width, height;  ///< pixels, or characters for the terminal; 0: default
  bool colour;             ///< terminal: use colours
  uint32_t cookie;
} SltPlotOptions;

SLT_API SltPlotOptions slt_plot_options(void);

/// Draw a table. Jumps (two rows at one time) are drawn as jumps, empty cells as gaps, text columns
/// (states of automata) as a band of named intervals.
/// @return SLT_OK, SLT_ERR_NOT_FOUND (`bad_name` receives it), SLT_ERR_ARGUMENT (nothing to draw),
///         SLT_ERR_UNSUPPORTED (PNG or PDF without cairo), or the writer's error.
SLT_API SltStatus slt_table_plot(const SltTable* table, const SltPlotOptions* options,
                                 SltWriter writer, const char** bad_name);

// ---- figures ------------------------------------------------------------------------------------

/// A figure is described by settings, in the words of the command line and of the experiment of a
/// model: `panel` "h1,h2", `y2` "T", `log` "y". Those before the first panel are about all panels,
/// those behind one about this panel. Without panels all columns are drawn, those of like unit and
/// size together.
typedef struct SltFigure SltFigure;

typedef struct SltFigureKey {
  const char* name;
  const char* value;  ///< what it takes, for people: "LO:HI"
  const char* about;  ///< for people
  bool begins_panel;  ///< the settings behind it are about one panel
  bool is_flag;       ///< takes on or off
} SltFigureKey;

/// Whether a pattern means a name: `*` stands for any letters, `?` for one. False for NULL.
SLT_API bool slt_name_matches(const char* pattern, const char* name);

/// Number of settings, and one of them (index < count).
SLT_API uint32_t slt_figure_key_count(void);
SLT_API SltFigureKey slt_figure_key(uint32_t index);

/// @param out  receives the figure, NULL on failure; free it with slt_figure_free().
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_figure_create(SltFigure** out);
/// Free a figure. Accepts NULL.
SLT_API void slt_figure_free(SltFigure* figure);
/// Take a setting; later ones win.
/// @return SLT_OK, SLT_ERR_NOT_FOUND (no such key), SLT_ERR_ARGUMENT (the value is none of its),
///         SLT_ERR_NOMEM.
SLT_API SltStatus slt_figure_set(SltFigure* figure, const char* key, const char* value);
/// Draw a table too; it must outlive the figure. Lines of several tables are laid over each other.
/// @param name  of the table in legends, not NULL.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_figure_add(SltFigure* figure, const SltTable* table, const char* name);
/// Only these columns, where no panels are asked for: names or patterns separated by commas.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_figure_columns(SltFigure* figure, const char* names);
/// Take note of an event that may be marked: an SltEventFn with the figure as its user. Without any
/// the rows of the tables tell when there were events.
SLT_API void slt_figure_event(void* figure, const SltEvent* event);
/// A name or pattern of the settings that no table has; NULL: there is none. Valid as long as the
/// figure. Tables may still be without rows.
SLT_API const char* slt_figure_missing(SltFigure* figure);
/// Draw.
/// @param colour  on the terminal: use colours.
/// @return SLT_OK, SLT_ERR_NOT_FOUND (see slt_figure_missing()), SLT_ERR_ARGUMENT (nothing to
/// draw),
///         SLT_ERR_UNSUPPORTED (PNG or PDF without cairo), SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_figure_write(SltFigure* figure, SltPlotFormat format, bool colour,
                                   SltWriter writer);

#ifdef __cplusplus
}
#endif

#endif

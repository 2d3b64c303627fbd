// SPDX-License-Identifier: MIT
//
// Saltus: compile a model from text, ask what it is, run it.
//
//   SltModel* model = NULL;
//   slt_model_compile_file("ball.lisma", NULL, &model);
//   SltSimOptions options = slt_sim_options();
//   SltSim* sim = NULL;
//   slt_sim_create(model, &options, &sim);
//   slt_sim_start(sim);
//   while (slt_sim_advance(sim, 10.0, NULL) == SLT_EVENT) { ... }
//   slt_sim_free(sim);
//   slt_model_free(model);
#ifndef SALTUS_H
#define SALTUS_H

#include <saltus/saltus_rt.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A constant's value set from outside before compilation. In rule tables also a cell of a rule,
/// `rule 2.coefficient` or `rule 2.time constant`: it becomes a constant of that name, which runs
/// can vary; NaN leaves it the value of the table.
typedef struct SltOverride {
  const char* name;
  double value;
} SltOverride;

/// Gives the content of a file that a model names (`data`). `content` is freed by the compiler with
/// the allocator's function; it holds `length` bytes. Returns what slt_file_read() does:
/// SLT_ERR_NOT_FOUND where there is no such file.
typedef SltStatus SltLoadFn(void* user, const char* name, const SltAllocator* allocator,
                            char** content, size_t* length);

/// Where the file stands that the last call of SltLoadFn has given, for messages about it; NULL: in
/// the folder of the model, under the name it was asked for. The text is copied.
typedef const char* SltPlaceFn(void* user);

/// Options of a compilation: take them from slt_compile_options().
typedef struct SltCompileOptions {
  const SltOverride* overrides;  ///< borrowed during the call
  uint32_t override_count;
  SltDiagnosticFn* on_diagnostic;  ///< NULL: diagnostics are dropped
  void* user;                      ///< of on_diagnostic
  bool colour;                     ///< rendered diagnostics with terminal colours
  SltLoadFn* load;                 ///< NULL: `data` files cannot be read (compile_file: from disk)
  SltPlaceFn* place;               ///< NULL: all files stand in the folder of the model
  void* load_user;
  const SltForeign* foreign;  ///< what `fmu` asks; copied; NULL: there are no foreign blocks
  bool structure;             ///< look at modes that a run may come to, and warn [false]
  /// Macros that are conditions, predicates and situations of rule tables that become variables
  /// with the value 1 where they hold and 0 elsewhere. Their changes are located as all others.
  /// Other names in the list are left alone. Borrowed during the call.
  const char* const* observe;
  uint32_t observe_count;
  SltAllocator allocator;  ///< zeroed: the C library's
  uint32_t cookie;         ///< set by slt_compile_options()
} SltCompileOptions;

/// Options with every field at its default.
SLT_API SltCompileOptions slt_compile_options(void);

/// Compile LISMA text, or a document of rule tables when `name` ends in ".rules.md".
/// @param name     shown in messages; not NULL.
/// @param text     `length` bytes of UTF-8; copied.
/// @param options  may be NULL for the defaults.
/// @param out      receives the model, NULL on failure; free it with slt_model_free().
/// @return SLT_OK (there may have been warnings), SLT_ERR_SYNTAX, SLT_ERR_SEMANTIC,
///         SLT_ERR_NOT_FOUND (an override names no constant; a diagnostic says which),
///         SLT_ERR_ARGUMENT, SLT_ERR_NOMEM.
SLT_API SltStatus slt_model_compile(const char* name, const char* text, size_t length,
                                    const SltCompileOptions* options, SltModel** out);

/// Read a file and compile it; `data` files and included tables are found relative to it. A folder
/// that holds a file "rules.csv" is a model of rule tables.
/// @return as slt_model_compile(), and SLT_ERR_IO when the file cannot be read.
SLT_API SltStatus slt_model_compile_file(const char* path, const SltCompileOptions* options,
                                         SltModel** out);

/// How many modes (combinations of states that change equations) the compilation has not looked at:
/// all but the first one, unless options.structure asked for more. Modes are analysed when a run
/// enters them.
SLT_API double slt_model_unchecked_modes(const SltModel* model);

/// The text of a model in LISMA with its layout in order: indentation, spaces, blank lines.
/// Comments and the author's lines stay, and so does the meaning.
/// @param options  for the messages; NULL: none.
/// @return SLT_OK, SLT_ERR_SYNTAX (nothing is written), SLT_ERR_ARGUMENT, SLT_ERR_NOMEM, or the
///         writer's error.
SLT_API SltStatus slt_format(const char* name, const char* text, size_t length,
                             const SltCompileOptions* options, SltWriter writer);

/// What a name in a text stands for.
typedef enum SltSymbolKind {
  SLT_SYMBOL_CONSTANT = 0,
  SLT_SYMBOL_MACRO = 1,
  SLT_SYMBOL_VARIABLE = 2,
  SLT_SYMBOL_TABLE = 3,  ///< `data`
  SLT_SYMBOL_LABEL = 4,  ///< of an equation
  SLT_SYMBOL_STATE = 5,  ///< of an automaton
  SLT_SYMBOL_AUTOMATON = 6,
  SLT_SYMBOL_ELEMENT = 7,  ///< contact, friction
  SLT_SYMBOL_FUNCTION = 8,
  SLT_SYMBOL_PART = 9,
  SLT_SYMBOL_PORT = 10,
  SLT_SYMBOL_INSTANCE = 11  ///< of a part
} SltSymbolKind;

/// A name that a text in LISMA declares. Pointers are valid during the visitor's call only.
typedef struct SltSymbol {
  SltSymbolKind kind;
  const char* name;               ///< without indices
  const char* container;          ///< the automaton of a state, else the part; NULL: none
  const char* part;               ///< the part it is declared in; NULL: none
  const char* type;               ///< of an instance: its part; else NULL
  size_t begin, end;              ///< bytes of the name, indices included
  size_t whole_begin, whole_end;  ///< bytes of the statement that declares it
} SltSymbol;

typedef void SltSymbolFn(void* user, const SltSymbol* symbol);

/// List what a text in LISMA declares, each name where it stands first; for editors. A text with
/// mistakes gives what could be read of it.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_LIMIT (too long), SLT_ERR_NOMEM.
SLT_API SltStatus slt_outline(const char* text, size_t length, SltSymbolFn* visit, void* user);

/// A setting of a figure (saltus_rt.h) as the experiment states it.
typedef struct SltExperimentSetting {
  const char* name;
  const char* text;
} SltExperimentSetting;

/// Defaults of a run as the model's experiment states them; NaN and NULL mean "not given".
typedef struct SltExperiment {
  double start, end, every, step, h0, h_min, h_max, rtol, atol, event_eps, gamma;
  const char* method;
  const char* const* out;  ///< names to record
  uint32_t out_count;
  const SltExperimentSetting* plot;  ///< settings of a picture, in order
  uint32_t plot_count;
} SltExperiment;

/// Pointers live as long as the model.
SLT_API SltExperiment slt_model_experiment(const SltModel* model);

/// Measures that the model declares (`measure peak = max(y);`): their number, name and text, which
/// live as long as the model; NULL behind the last.
SLT_API uint32_t slt_model_measure_count(const SltModel* model);
SLT_API const char* slt_model_measure_name(const SltModel* model, uint32_t measure);
SLT_API const char* slt_model_measure_text(const SltModel* model, uint32_t measure);

/// A shape of the drawing that the model declares (`animate { circle(x, y, 0.1); }`). Pointers live
/// as long as the model.
typedef struct SltShape {
  const char* kind;            ///< circle, line, polygon, rect, arrow, spring, trace, text
  const char* const* numbers;  ///< names for slt_sim_find() of what places it; they are recordable
  uint32_t number_count;
  const char* text;    ///< {k:.2f} stands for its k-th number; "" but for texts
  const char* colour;  ///< as it is written; "": the drawer's choice
} SltShape;

/// Number of shapes, and one of them; an empty one behind the last.
SLT_API uint32_t slt_model_shape_count(const SltModel* model);
SLT_API SltShape slt_model_shape(const SltModel* model, uint32_t shape);

/// Name for slt_sim_find() of the energy that a model declares.
#define SLT_ENERGY_NAME "{energy}"

/// A constant or discrete variable that the model wants to be changed by hand (`control k =
/// 0:10;`). Pointers live as long as the model.
typedef struct SltControl {
  const char* name;
  double low, high;      ///< NaN: no range is given
  const double* values;  ///< to choose from; with 0 and 1 it is a switch
  uint32_t value_count;
} SltControl;

/// Number of controls, and one of them; an empty one behind the last.
SLT_API uint32_t slt_model_control_count(const SltModel* model);
SLT_API SltControl slt_model_control(const SltModel* model, uint32_t control);

/// A quantity of a port of the model that others may join: of a part that stands in the model
/// itself, whose port no `connect` joins and whose variables the model names. Pointers live as long
/// as the model.
typedef struct SltPortQuantity {
  const char* port;      ///< `motor.shaft`; quantities of one port follow each other
  const char* name;      ///< in the port: `tau`
  const char* variable;  ///< of the model: `motor.shaft.tau`
  const char* given;     ///< the variable that an equation says it is; "" for none
  bool through;          ///< sums to zero where ports are joined, else it is equal there
} SltPortQuantity;

/// Number of quantities of all ports, and one of them; an empty one behind the last.
SLT_API uint32_t slt_model_port_quantity_count(const SltModel* model);
SLT_API SltPortQuantity slt_model_port_quantity(const SltModel* model, uint32_t quantity);

typedef enum SltExplainFormat {
  SLT_EXPLAIN_TEXT,  ///< structure of the modes, for people
  SLT_EXPLAIN_JSON,  ///< the same as data
  SLT_EXPLAIN_IR,    ///< the intermediate representation
  SLT_EXPLAIN_NAMES  ///< as data, without the modes: variables, constants, automata, transitions
} SltExplainFormat;

/// Write what the model is: variables, equations, automata, and for each mode what determines what.
/// @return SLT_OK, SLT_ERR_NOMEM, or the writer's error.
SLT_API SltStatus slt_model_explain(const SltModel* model, SltExplainFormat format,
                                    SltWriter writer);

// ---- machine code
// --------------------------------------------------------------------------------
//
// Equations can be compiled by the machine's C compiler while a run is going on with its own
// interpreter; results have the same bits either way. The library starts no compiler and writes no
// file unless it is told where they are.

/// When equations are compiled.
typedef enum SltNativeWhen {
  SLT_NATIVE_OFF = 0,
  SLT_NATIVE_AUTO = 1,  ///< in the background, once a run has been long enough for it to pay
  SLT_NATIVE_ON = 2     ///< every mode when it is entered; the run waits for the compiler
} SltNativeWhen;

/// Take them from slt_native_options().
typedef struct SltNativeOptions {
  SltNativeWhen when;    ///< [SLT_NATIVE_AUTO]
  const char* compiler;  ///< absolute path of a C compiler that takes gcc's options; NULL: none
  const char* cache;     ///< folder for compiled code, made when missing; it must belong to the
                         ///< user and be closed to others
  uint64_t cache_limit;  ///< bytes kept there, the longest unused go first [64 MiB]
  uint32_t cookie;       ///< set by slt_native_options()
} SltNativeOptions;

/// Options with every field at its default.
SLT_API SltNativeOptions slt_native_options(void);

/// Let runs of the model use machine code. To be called once, before the first run is made;
/// nothing is started or opened yet. Whatever goes wrong later leaves the interpreter in force and
/// a note in the report. A compiler is a child process: while one is at work, a program that
/// collects all its children's exits may take this one's too.
/// @param options  from slt_native_options(); copied.
/// @return SLT_OK, SLT_ERR_ARGUMENT (also for a second call), SLT_ERR_NOMEM.
SLT_API SltStatus slt_model_set_native(SltModel* model, const SltNativeOptions* options);

/// What has become of it.
typedef struct SltNativeReport {
  uint32_t programs;  ///< that run as machine code: equations, guards, their slopes, by mode
  uint32_t compiled;  ///< calls of the compiler that have given code
  uint32_t loaded;    ///< found in the cache instead
  const char* note;   ///< why equations were not compiled that should have been (static), or NULL
} SltNativeReport;

/// May be called by any thread while runs are going on. All zero without slt_model_set_native().
SLT_API SltNativeReport slt_model_native_report(const SltModel* model);

/// End a compiler that works for the model, with its children. For a program that is about to end
/// without freeing its models; may be called from a signal handler.
SLT_API void slt_model_native_kill(const SltModel* model);

/// What is in a cache folder.
typedef struct SltNativeCache {
  uint64_t entries, bytes;
} SltNativeCache;

/// Look at a cache folder; one that does not exist is empty.
/// @param problem  receives why it cannot be used (static); may be NULL.
/// @return SLT_OK, SLT_ERR_ARGUMENT, SLT_ERR_IO.
SLT_API SltStatus slt_native_cache_info(const char* folder, SltNativeCache* out,
                                        const char** problem);

/// Remove entries, the longest unused first, until at most `limit` bytes are left; 0 removes all.
/// Runs that use them are not disturbed.
/// @param removed  receives the number of entries removed; may be NULL.
/// @return as slt_native_cache_info().
SLT_API SltStatus slt_native_cache_trim(const char* folder, uint64_t limit, uint64_t* removed,
                                        const char** problem);

#ifdef __cplusplus
}
#endif

// ---- blocks and transactions --------------------------------------------------------------------
//
// Simulation inside the user's own program: opaque blocks, integrators, events, transactions,
// queues, processes; a compiled model can take part.
#include <saltus/saltus_world.h>  // IWYU pragma: export

#endif

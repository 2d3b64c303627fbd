// SPDX-License-Identifier: MIT
//
// Shared by the build_*.c files only.
#ifndef SALTUS_MODEL_BUILD_INTERNAL_H
#define SALTUS_MODEL_BUILD_INTERNAL_H

#include "model/build.h"
#include "symbolic/symbolic.h"

#include <pthread.h>

// ---------------------------------------------------------------------------------------------
// tapes (build_tape.c)

/// A value of a program being built: an operation on earlier values, or a leaf. Equal values are
/// one value, also across equations.
typedef struct TapeValue {
  uint32_t op;  // ModelOp, or one of TapeLeaf
  uint32_t a, b, c;
} TapeValue;

typedef enum TapeLeaf {
  TAPE_TIME = MODEL_OP_COUNT,
  TAPE_STATE,  // a: number of the state
  TAPE_INPUT,  // a: environment index
  TAPE_CONST,  // a, b: bits of the number
  TAPE_TRIAL,  // an unknown of a block as its equations see it
  TAPE_BODY,   // a: number of the block; what its unknowns decide on comes behind
  TAPE_PICK    // a: SOLVE value, b: TAPE_TRIAL: the unknown once it is solved for
} TapeLeaf;

/// A block of equations in a graph. Made by tape_body, filled, then closed by tape_solve.
///
/// A block may come with a solution that was found in another way: where `accept` is not 0 at run
/// time, `offers` are taken and the body is not run.
typedef struct TapeSolve {
  uint32_t count;
  bool linear;
  bool tries;               // nothing is said when it has no solution: others come behind it
  uint32_t id;              // named in messages
  uint32_t body;            // value of TAPE_BODY
  const uint32_t* trials;   // values of TAPE_TRIAL
  const bool* yields;       // see ModelSolve
  const uint32_t* guesses;  // values; nonlinear blocks only
  const uint32_t* residuals;
  const ModelEntry* entries;  // of the Jacobian; `reg` is the value
  uint32_t entry_count;
  uint32_t relax_count;       // further entries, of the relaxation: see ModelSolve
  const ModelSparse* sparse;  // NULL: as a full matrix
  uint32_t accept;            // value
  const uint32_t* offers;     // values; NULL for none
} TapeSolve;

#define TAPE_NONE UINT32_MAX

typedef struct TapeGraph {
  Arena* arena;  // of the work space
  BASE_VEC(TapeValue) values;
  BASE_VEC(TapeSolve) solves;
  uint64_t* slots;  // open addressing: {generation, part of the hash, value}
  uint32_t slot_count;
  uint32_t generation;  // of the program, 1 .. 255; slots of others are free
  // work space of tape_finish
  BASE_VEC(uint32_t) last_use;  // per value: position behind its last use; 0 when it is dead
  BASE_VEC(uint32_t) reg;       // per value
  BASE_VEC(uint32_t) free_regs;
} TapeGraph;

void tape_init(TapeGraph* graph, Arena* arena);
/// Forget all values; cheap.
void tape_reset(TapeGraph* graph);
/// Make room for about this many values more.
void tape_reserve(TapeGraph* graph, uint64_t more);
uint32_t tape_time(TapeGraph* graph);
/// A new value each time: the caller remembers it.
uint32_t tape_state(TapeGraph* graph, uint32_t state);
uint32_t tape_input(TapeGraph* graph, uint32_t env);
uint32_t tape_const(TapeGraph* graph, double value);
bool tape_is_const(const TapeGraph* graph, uint32_t value, double* number);
/// Operation of the IR on values; exactly as written up to the choice of equal operations.
uint32_t tape_op(TapeGraph* graph, IrOp op, uint32_t a, uint32_t b, uint32_t c);
uint32_t tape_table(TapeGraph* graph, uint32_t data, uint32_t argument);
uint32_t tape_trial(TapeGraph* graph);
/// Values made from here on to tape_solve are computed at every trial of the unknowns.
uint32_t tape_body(TapeGraph* graph);
/// Close a block: `picks` receives the values of the solved unknowns.
void tape_solve(TapeGraph* graph, TapeSolve solve, uint32_t* picks);

/// A partial derivative: `column` is the number of a state, TAPE_TIME_COLUMN for time.
typedef struct TapeSlope {
  uint32_t column, value;
} TapeSlope;

#define TAPE_TIME_COLUMN UINT32_MAX

/// Work space for slopes of one graph (build_slopes.c).
typedef struct TapeSlopes {
  Arena* arena;
  BASE_VEC(uint32_t) adjoint;  // per value: its adjoint + 1
  BASE_VEC(uint32_t) heap;     // values to be looked at, the newest on top
  BASE_VEC(uint32_t) column;   // per state: its slope + 1
  const uint32_t* cut;         // values below cut_count that count as unknowns: column + 1, or 0
  uint32_t cut_count;
  BASE_VEC(TapeSlope) found;  // the result, by column
  uint64_t visited;           // values looked at, over all outputs
} TapeSlopes;

void tape_slopes_init(TapeSlopes* slopes, Arena* arena, uint32_t state_count);
/// All partial derivatives of a value that are not zero, into slopes->found; what is behind a value
/// that counts as an unknown (other than this one) is left to that unknown. The graph has no blocks
/// of equations. New values are made in it.
void tape_slopes(TapeSlopes* slopes, TapeGraph* graph, uint32_t value);
/// Values between many states and many readers, ascending: a mean of all cells in the equation of
/// each. Seen through them the slopes would be a full matrix. Returns their number.
uint32_t tape_wide_values(const TapeGraph* graph, Arena* scratch, const uint32_t** out);

// ---------------------------------------------------------------------------------------------
// torn blocks of linear equations (build_tear.c)

/// sum over j of a(i, j) u(j) + rest(i) = 0
typedef struct TearSystem {
  uint32_t count;
  const ModelEntry* entries;  // by row; `reg` is the value
  uint32_t entry_count;
  const uint32_t* rests;    // values; TAPE_NONE for 0
  const uint32_t* rows;     // as in SymBlock
  const uint32_t* columns;  // as in SymBlock
  uint32_t torn_count;
} TearSystem;

/// The unknowns one after the other, without iteration; `accept` is 1 where they can be trusted:
/// no pivot has lost its digits, and the equations that determine what was torn hold to rounding.
/// False when the coefficients leave a pivot that is always 0.
bool tear_linear(TapeGraph* graph, const TearSystem* system, uint32_t* unknowns, uint32_t* accept);

/// Number of operations that these outputs need.
uint32_t tape_count(TapeGraph* graph, const uint32_t* outputs, uint32_t output_count);
/// The program that computes `outputs`, in `arena`, without what they do not need. The register of
/// each output is in graph->reg until the graph changes.
ModelProgram tape_finish(TapeGraph* graph, Arena* arena, uint32_t state_count,
                         const uint32_t* outputs, uint32_t output_count);

/// Find the repetitions of a program and give it a roll, if that pays (build_roll.c). The program
/// gets more registers.
void tape_roll(Arena* arena, Arena* scratch, ModelProgram* program);

// ---------------------------------------------------------------------------------------------
// large blocks (build_sparse.c)

/// Tables for the elimination of a block with these entries (by rows; `reg` is the value, TAPE_NONE
/// where it is not known); NULL where a full matrix is as good. `graph` may be NULL.
const ModelSparse* build_sparse(ModelBuild* build, TapeGraph* graph, const ModelEntry* entries,
                                uint32_t entry_count, uint32_t n);

// ---------------------------------------------------------------------------------------------
// the way back to constraints (build_project.c)

typedef struct ProjectSystem {
  const uint32_t* residuals;  // values, one per constraint
  uint32_t row_count;
  const ModelEntry* entries;  // of their Jacobian; `reg` is the value
  uint32_t entry_count;
  const uint32_t* weights;  // per state: the value of its weight
  uint32_t state_count;
} ProjectSystem;

/// The largest square of a distance to a constraint, the smallest change of each state that
/// fulfils them once linearised (TAPE_NONE: none), and a truth that says whether it can be trusted.
/// False when there are too many of them.
bool project_values(TapeGraph* graph, const ProjectSystem* system, uint32_t* sound,
                    uint32_t* distance, uint32_t* changes);

// ---------------------------------------------------------------------------------------------
// layout of the environment (build_layout.c)

typedef struct BuildLayout {
  uint32_t param_begin;      // parameter p of the IR is at param_begin + p
  const uint32_t* var_env;   // per variable
  const uint8_t* var_order;  // per variable: highest order that anything reads or sets
  const uint8_t* var_slots;  // per variable: environment entries, more than var_order + 1 for
                             // states that are derivatives which stand in no equation
  uint32_t atom_begin;
  const uint32_t* test_env;   // per state of the IR; MODEL_NONE when nobody asks
  const uint32_t* entry_env;  // per automaton
  uint32_t start_time_env;
  uint32_t env_count;
  // quantities: every order of every variable and `extra_orders` more, which differentiating what
  // anything reads once more can need
  const uint32_t* var_quantity;
  uint32_t extra_orders;
  uint32_t quantity_count;
} BuildLayout;

void build_layout(BuildLayout* layout, Arena* arena, const IrModel* ir);

// ---------------------------------------------------------------------------------------------
// cache (build_cache.c)

typedef struct WordEntry {
  uint64_t hash;
  const uint32_t* words;
  uint32_t count;
  void* value;
} WordEntry;

/// Map from sequences of words.
typedef struct WordMap {
  WordEntry** slots;
  uint32_t slot_count;
  uint32_t count;
} WordMap;

void* words_find(const WordMap* map, const uint32_t* words, uint32_t count);
void words_add(WordMap* map, Arena* arena, const uint32_t* words, uint32_t count, void* value);

/// Programs for the atoms of a mode.
typedef struct AtomPrograms {
  ModelProgram g, g_flow, gdot;
} AtomPrograms;

/// What all product modes with the same active equations share.
typedef struct BuildSet {
  uint32_t id;
  const SymMode* sym;   // NULL when the bodies contradict each other
  const Diag* failure;  // NULL when it can run
  bool compiled;
  uint32_t mode_count;           // product modes that use it
  const uint32_t* state_of_var;  // first state of each variable that has states
  uint32_t state_count;
  const uint32_t* state_env;
  uint32_t held_count, first_held;
  const ModelVarMode* vars;
  const uint64_t* provenance;  // see ModelMode; NULL until asked for, or without automata
  ModelProgram rhs, full;
  const uint32_t* full_env;
  const uint32_t* atoms;  // that the equations themselves read, ascending
  uint32_t atom_count;
  const AtomPrograms* programs;   // of all atoms, where they were made with the equations; or NULL
  const ModelMode* shared;        // for all product modes at once, see build_mode.c; may be NULL
  const ModelImplicit* implicit;  // NULL in explicit modes
  bool stiff_known;               // somebody asked for...
  const ModelStiff* stiff;        // ...the Jacobian; NULL: too large
  bool rates_known;               // ... for what is computed...
  const ModelRates* rates;        // ...from rates; NULL: nothing
} BuildSet;

struct ModelBuild {
  SltAllocator allocator;
  pthread_mutex_t mutex;  // guards all below but `model` and what it points to
  Arena arena;            // results
  Arena scratch;          // of the call in progress
  Arena work;             // of one pass over one program, and empty between passes
  const IrModel* ir;
  Sym sym;
  BuildLayout layout;
  Model model;
  TapeGraph graph;                 // for programs over the environment
  BASE_VEC(uint32_t) step_values;  // work space of build_emit
  BASE_VEC(ModelShape*) shapes;    // per node of the pool: its program over the environment
  const uint32_t* editors;         // automata whose states influence the equations
  uint32_t editor_count;
  uint32_t* edit_words;  // room for their states
  const Diag* failure;   // of what does not depend on the mode; NULL when it is sound
  WordMap modes;         // product mode -> ModelMode
  WordMap edits;         // states of the editors -> BuildSet
  WordMap sets;          // active equations -> BuildSet
  uint32_t set_count;
};

/// Call `work` with both arenas ready; false when memory ran out. Scratch memory is freed.
typedef void BuildWork(ModelBuild* build, void* argument);
bool build_guarded(ModelBuild* build, BuildWork* work, void* argument);

/// The analysed equations of a mode; programs come with build_compile_set. Under the lock.
BuildSet* build_set(ModelBuild* build, const uint32_t* mode);

/// ModelProvider.culprit over a build (build_culprit.c).
bool build_find_culprit(void* user, const uint32_t* mode, const double* env, double t,
                        ModelCulprit* out);
/// Why the equations of a mode cannot be solved, or NULL. Nothing else is kept: their analysis, in
/// `out`, lasts as long as the guarded call. Under the lock.
const Diag* build_failure(ModelBuild* build, const uint32_t* mode, const SymMode** out);

// ---------------------------------------------------------------------------------------------
// programs (build_program.c)

/// Finds the value of a leaf that is a variable.
typedef struct BuildScope BuildScope;
struct BuildScope {
  uint32_t (*variable)(const BuildScope* scope, TapeGraph* graph, IrLeaf leaf);
};

/// Put a term into the graph; returns its value. A NULL scope reads variables from the environment.
uint32_t build_emit(ModelBuild* build, TapeGraph* graph, const BuildScope* scope, SymTerm term);
/// A term over the environment; one that is not there is 0. Shapes are compiled once.
ModelTerm build_term(ModelBuild* build, IrTerm term);
/// Distinct atoms that a row reads, ascending.
const uint32_t* build_row_atoms(Arena* arena, const IrLeaf* row, uint32_t count, uint32_t* found);

// ---------------------------------------------------------------------------------------------
// the parts of Model

void build_variables(ModelBuild* build);  // build_variables.c: variables, parameters, starts...
void build_automata(ModelBuild* build);   // build_automata.c: atoms, automata, actions, schedules

// build_mode.c
/// Which variables share their scale.
void build_families(ModelBuild* build, ModelVar* vars);
/// Programs of the equations. Frees scratch memory on the way: nothing of the caller's may be
/// there.
void build_compile_set(ModelBuild* build, BuildSet* set);
/// Frees scratch memory on the way: nothing of the caller's may be there.
const ModelMode* build_mode(ModelBuild* build, BuildSet* set, const uint32_t* mode);
/// Whether a set has had so many product modes that all others share one.
bool build_is_shared(const ModelBuild* build, const BuildSet* set);

/// The Jacobian of a compiled set, and its blocks as algebraic equations; NULL when it is too
/// large.
const ModelStiff* build_stiff(ModelBuild* build, const BuildSet* set);
/// What it computes from the rates of its states; NULL: nothing.
const ModelRates* build_rates(ModelBuild* build, const BuildSet* set);

// build_implicit.c

/// Position of an equation of the model among those of the mode.
uint32_t build_equation_place(const SymMode* sym, uint32_t equation);
/// Constraints, system Jacobian and texts of an implicit mode; NULL for explicit ones.
const ModelImplicit* build_implicit(ModelBuild* build, const BuildSet* set);
/// How impulses of what is solved for act on the atoms; NULL where there can be none.
const ModelImpulse* build_impulse(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                                  uint32_t count);
/// Why the derivatives of the mode have no room; NULL when they have.
const Diag* build_hidden_room(ModelBuild* build, const SymMode* sym);

uint32_t build_line(const ModelBuild* build, Span span);
/// `line 8`, or `line 8 of parts/electrical.lisma` where another file was included.
Str build_place(const ModelBuild* build, Arena* arena, Span span);

// ---------------------------------------------------------------------------------------------
// facts about atoms (build_slice.c)

/// Per variable: hash of the equations it is computed through. Modes that share their equations
/// share it.
const uint64_t* build_provenance(ModelBuild* build, BuildSet* set);
/// Per atom: the same of its g; 0 when it reads none.
const uint64_t* build_slices(ModelBuild* build, const BuildSet* set, const uint32_t* atoms,
                             uint32_t count);
/// What each output of a program needs; NULL for programs that solve blocks.
const ModelSlices* build_output_slices(ModelBuild* build, const ModelProgram* program);
/// Per output: ModelClass.
const uint8_t* build_classes(ModelBuild* build, const ModelProgram* program);
/// Which states each output reads, a bit for each; NULL where there are more than 64, or outputs
/// are computed together only.
const uint64_t* build_states_read(ModelBuild* build, const ModelProgram* program);
/// Which outputs, among those of class OTHER, are functions of one polynomial of time and states;
/// NULL when none is.
const ModelForms* build_forms(ModelBuild* build, const ModelProgram* program,
                              const uint8_t* classes);

#endif

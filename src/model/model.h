// SPDX-License-Identifier: MIT
//
// model: a model ready to run. Plain tables and programs, no syntax, no symbols: everything the
// engine needs, and all that is left of a model when only the runtime is linked.
//
// Values live in the *environment*, one array of doubles per run, laid out by ModelLayout:
// parameters, the values and derivatives of all variables, truth values, entry times. Programs are
// register tapes that read the environment (copied in by `bind`) and, for the programs of a mode,
// the time and the state vector of that mode (passed at each call).
//
// The equations of a product mode are compiled on first entry. The engine asks a ModelProvider for
// a ModelMode; the full library compiles it lazily (build_*.c), the bare runtime carries a table.
#ifndef SALTUS_MODEL_H
#define SALTUS_MODEL_H

#include "base/base.h"
#include "model/interval.h"

#include <stdatomic.h>

#define MODEL_NONE UINT32_MAX

// ---------------------------------------------------------------------------------------------
// programs

/// Operations of the tape: name, number of register operands. Truth values are 0 and 1.
#define MODEL_OP_OF_FUNCTION(X, name, ...) X(name, 1)
#define MODEL_OP_LIST(X) \
  X(MOVE, 1) \
  X(NEG, 1) \
  X(ADD, 2) \
  X(SUB, 2) \
  X(MUL, 2) \
  X(DIV, 2) \
  X(POW, 2) \
  X(SQUARE, 1) \
  X(RECIP, 1) \
  BASE_FUNCTIONS(MODEL_OP_OF_FUNCTION, X) \
  X(SQRT, 1) \
  X(ABS, 1) \
  X(SIGN, 1) \
  X(FLOOR, 1) \
  X(CEIL, 1) \
  X(ATAN2, 2) \
  X(POLYGAMMA, 2) \
  X(MIN, 2) \
  X(MAX, 2) \
  X(MOD, 2) \
  X(LT, 2) \
  X(LE, 2) \
  X(GT, 2) \
  X(GE, 2) \
  X(EQ, 2) \
  X(NE, 2) \
  X(AND, 2) \
  X(OR, 2) \
  X(NOT, 1) \
  X(SELECT, 2) /* a where dst is 1, b where it is 0; dst is a share, moved there first */ \
  X(TABLE, 1)  /* b: index of the table */ \
  X(TABLE_SLOPE, 1) \
  X(TABLE_CURVE, 1) /* second derivative */ \
  X(RANDOM, 0) \
  X(UNIFORM, 2) \
  X(NORMAL, 2) \
  X(NOISE, 2) \
  X(EXPONENTIAL, 1) \
  X(PACK, 2)  /* one more argument behind those of a: see ModelPacks */ \
  X(SOLVE, 0) /* dst: index of the block, a: length of its body, which comes next */ \
  X(END, 0)

/// What the operations do beyond the C library's functions of the same name (a NaN always comes
/// through): MIN is a < b ? a : b, MAX is a > b ? a : b, MOD is a - b*floor(a/b), SIGN(0) is 0.
typedef enum ModelOp {
#define X(name, operands) MODEL_OP_##name,
  MODEL_OP_LIST(X)
#undef X
      MODEL_OP_COUNT
} ModelOp;

/// Number of register operands of an operation.
uint32_t model_op_operands(uint32_t op);

typedef struct ModelInstr {
  uint32_t op;  // ModelOp
  uint32_t dst, a, b;
} ModelInstr;

typedef struct ModelInput {
  uint32_t reg, env;
} ModelInput;

/// An entry of a sparse matrix whose value is in a register (or among the outputs of a program).
typedef struct ModelEntry {
  uint32_t row, column, reg;
} ModelEntry;

/// Tables for the elimination of a large block without a choice of pivots: pivot k is the entry in
/// row rows[k] and column columns[k]; the factors below name columns by the numbers of their
/// pivots.
typedef struct ModelSparse {
  uint32_t count;
  const uint32_t *rows, *columns;
  const uint32_t *lower_begin, *lower;  // columns before the pivot, ascending, per row
  const uint32_t *upper_begin, *upper;  // columns behind it
  const uint32_t *entry_begin, *entry, *entry_column;  // entries of ModelSolve in each row
} ModelSparse;

/// Numbers of work space for its factors.
size_t model_sparse_room(const ModelSparse* sparse);

/// A block of equations that a program solves: the body behind the SOLVE instruction computes
/// residuals (and, unless the block is linear, Jacobian) from trial values of the unknowns. The
/// unknowns keep their registers. Where no solution is found they are NaN.
///
/// Torn blocks come with a solution: where the register `accept` is not 0, the unknowns are copied
/// from `offers` and nothing is solved.
typedef struct ModelSolve {
  uint32_t count;
  bool tries;   // of the torn unknowns alone: the whole block comes behind, so failing is no news
  bool linear;  // solved from 0 with one refinement; otherwise Newton's method from the guesses
  uint32_t id;  // block of the mode, for messages
  uint32_t accept;            // register
  const uint32_t* offers;     // registers; NULL: always solved
  const uint32_t* unknowns;   // registers
  const uint32_t* guesses;    // registers; none in linear blocks
  const uint32_t* guess_env;  // where they come from; MODEL_NONE: nowhere
  const bool* yields;         // per unknown, see ModelVar; NULL: none does
  const uint32_t* residuals;
  const ModelEntry* entries;
  uint32_t entry_count;
  // Where equations of states that are switched may lack rank or contradict each other: behind the
  // entries, slopes of what stands in their place in another state (solve_relax.c).
  uint32_t relax_count;
  const ModelSparse* sparse;  // NULL: eliminated as a full matrix
  uint32_t work;              // first of model_solve_room registers of work space
} ModelSolve;

/// Which instructions each output of a program needs, so that one output can be computed alone.
/// Registers are given by last use over the whole tape, so any part of it that is closed under what
/// it reads can be run in order on the same registers.
typedef struct ModelSlices {
  const uint32_t* begin;   // output_count + 1: where the instructions of each output begin
  const uint32_t* instrs;  // numbers of instructions, ascending for each output
  const uint8_t* whole;    // per output: 1 when its part is too long to be listed
} ModelSlices;

/// A register that an output of a program reads.
typedef void ModelReadFn(void* user, uint32_t reg);

/// Where one operand of an operation comes from when the operation runs over many instances.
typedef enum ModelLaneKind {
  MODEL_LANE_NONE,
  MODEL_LANE_LOCAL,   // at: number of an earlier operation of the same instance
  MODEL_LANE_EVEN,    // instance k: register at + k * stride
  MODEL_LANE_FIXED,   // at: number among `fixed` of the loop; the same register for all instances
  MODEL_LANE_LISTED,  // instance k: register list[k]
  MODEL_LANE_RUNS     // the same where most registers follow each other: `at` runs of them
} ModelLaneKind;

/// Instances from `begin` up to the next run: register reg + (k - begin). All of them are states,
/// or none.
typedef struct ModelLaneRun {
  uint32_t begin, reg;
} ModelLaneRun;

typedef struct ModelLane {
  uint32_t kind;  // ModelLaneKind
  uint32_t at;
  int32_t stride;
  union {
    const uint32_t* list;
    const ModelLaneRun* runs;  // and one behind the last
  };
} ModelLane;

/// The run of instance k.
static inline const ModelLaneRun* model_lane_run(const ModelLane* lane, uint32_t k) {
  const ModelLaneRun* run = lane->runs;
  for (uint32_t count = lane->at; count > 1;) {
    uint32_t half = count / 2;
    if (run[half].begin <= k) run += half;
    count -= half;
  }
  return run;
}

typedef enum ModelLaneTarget {
  MODEL_TARGET_LANE,      // lane register `target`, for the rest of the instance alone
  MODEL_TARGET_REGISTER,  // instance k: register target + k
  MODEL_TARGET_OUTPUT     // instance k: output target + k
} ModelLaneTarget;

/// One operation of a loop.
typedef struct ModelLoopStep {
  uint32_t op;  // ModelOp
  uint32_t table;
  ModelLane a, b, c;  // c: condition of SELECT
  ModelLane copy;     // registers of the tape that receive the values too
  uint32_t kind;      // ModelLaneTarget
  uint32_t target;
} ModelLoopStep;

#define MODEL_LOOP_LANES     128  // instances per block
#define MODEL_LOOP_STEPS     256  // most operations of an instance
#define MODEL_LOOP_REGISTERS 40   // most lane registers, those of `fixed` included

/// A stretch of the tape that repeats the same operations on other registers: equations of one
/// shape. Runs operation by operation over blocks of instances.
typedef struct ModelLoop {
  const ModelInstr* before;  // what stands between the loop before and this one, with its end; NULL
  const ModelLoopStep* steps;
  uint32_t step_count;
  uint32_t count;         // instances
  bool apart;             // none reads what another one computes
  const uint32_t* fixed;  // registers that all instances read; lane register i holds the i-th
  uint32_t fixed_count;
} ModelLoop;

/// Outputs that are read from registers when everything has run.
typedef struct ModelOutputRun {
  uint32_t output, reg, count;
} ModelOutputRun;

/// A program with its repetitions as loops; the same bits as its code.
typedef struct ModelRoll {
  const ModelLoop* loops;
  uint32_t loop_count;
  const ModelInstr* after;  // behind the last loop, with its end; NULL
  const ModelOutputRun* outputs;
  uint32_t output_count;
  bool loops_only;  // no straight code: states need not be in registers
} ModelRoll;

struct ModelCode;

/// Registers: [0] time, [1 .. state_count] states, then inputs, constants and temporaries.
typedef struct ModelProgram {
  const ModelInstr* code;  // ends with MODEL_OP_END
  const ModelInput* inputs;
  const double* consts;
  const uint32_t* outputs;  // registers
  const ModelSolve* solves;
  const ModelSlices* slices;  // NULL: outputs are computed together only
  struct ModelCode* native;   // place for compiled code; NULL: the tape alone
  const ModelRoll* roll;      // NULL: nothing repeats often enough
  uint32_t code_count;        // without the end
  uint32_t state_count;       // 0 for programs over the environment alone
  uint32_t reg_count;
  uint32_t input_count;
  uint32_t const_begin, const_count;
  uint32_t output_count;
  uint32_t solve_count;
} ModelProgram;

#define MODEL_PIECE_DEGREE 7  // highest degree of a piece of a history

/// A polynomial over a stretch of time, in the Bernstein basis of its degree.
typedef struct ModelPiece {
  double t0, t1;
  double c[MODEL_PIECE_DEGREE + 1];
  uint32_t degree;
  uint32_t level;  // which derivative jumps at t0: 0 the value itself, 1 its slope...
} ModelPiece;

/// What a variable was: pieces that follow each other in time. Only those from `begin` to `end` are
/// looked at; before and behind them the value is that of their ends.
typedef struct ModelHistory {
  const ModelPiece* pieces;
  uint32_t begin, end;
} ModelHistory;

/// The largest coefficient of a piece.
double model_piece_size(const ModelPiece* piece);
/// Value, slope or curvature of a history at time t.
double model_history_value(const ModelHistory* history, double t, int order);
/// The same for all times t, and one derivative more (order 3); whether all of t is in one piece.
ModelInterval model_history_enclose(const ModelHistory* history, ModelInterval t, int order);
bool model_history_one_piece(const ModelHistory* history, ModelInterval t);

/// Arguments of foreign functions. A register holds one number, so PACK writes the argument down
/// here, with a link to those before it, and gives the number of the record. Records are never
/// changed, only written over when many others have come: a program may hold several lists, and
/// lists that begin alike, in any order.
#define MODEL_PACKS         (1u << 17)
#define MODEL_PACK_ARGS_MAX 8192u

typedef struct ModelPacks {
  double value[MODEL_PACKS];
  uint64_t before[MODEL_PACKS];  // number of the record before it; 0: none
  uint64_t number[MODEL_PACKS];  // its own; others have written over what was asked for
  uint64_t count;
  double args[MODEL_PACK_ARGS_MAX];  // of the call in progress
} ModelPacks;

/// Write down one more argument; NaN where there are no packs.
double model_pack(ModelPacks* packs, double before, double value);

/// A function that is computed outside of the library; it depends on its arguments alone.
typedef struct ModelForeign {
  /// Value for `count` arguments, the last of which says what is asked for. `order` 1: its
  /// derivative by the argument of the number that stands behind them. NaN where it has none.
  double (*value)(void* user, const double* args, uint32_t count, int order);
  void* user;
  ModelPacks* packs;
} ModelForeign;

/// Points of a table; x strictly increasing. Beyond the ends the end segments go on. Or the history
/// of a variable, or a foreign function, which a run puts in its place.
typedef struct ModelTable {
  const double* x;
  const double* y;
  const double* slope;  // cubic: slopes at the points; NULL for linear
  uint32_t count;
  const ModelHistory* history;  // NULL for points
  const ModelForeign* foreign;  // NULL unless it stands for a foreign function
} ModelTable;

/// Value (order 0), slope (1) or curvature (2) of a table.
double model_table_value(const ModelTable* table, double x, int order);
/// Slopes at the points of a cubic table such that the curve is monotone where the points are.
void model_table_slopes(const double* x, const double* y, uint32_t count, double* slope);

/// One stream of random numbers (splittable, seeded; see random.c).
typedef struct ModelRandom {
  uint64_t state[4];
} ModelRandom;

void model_random_seed(ModelRandom* random, uint64_t seed, uint64_t stream);
double model_random_uniform(ModelRandom* random);      // in (0, 1)
double model_random_normal(ModelRandom* random);       // mean 0, deviation 1; takes one number
double model_random_exponential(ModelRandom* random);  // mean 1; takes one number

/// How programs are run near the end of their roots (roots.c).
typedef struct ModelRoots {
  const double* tolerance;  // per state
  uint32_t state_count;
  double* room;  // the same per register, and as many for `inverse`
  size_t capacity;
  double* inverse;  // per register that is a root near its end, or a multiple of one: what to
                    // multiply with where its derivative divides by it; 0: nothing else
  double share;     // of the tolerance of its argument: half the width of a chord
  bool strict;      // no values beyond the chords
  double nearest;   // argument of a root, in tolerances, that came nearest to zero
} ModelRoots;

/// What programs need beside registers. `random` may be NULL where no random function can occur.
typedef struct ModelContext {
  const ModelTable* tables;
  ModelRandom* random;
  ModelPacks* packs;      // NULL in models without foreign functions
  uint64_t seed;          // of the run, for noise
  uint32_t* failed;       // id of a block that was not solved, left alone otherwise; may be NULL
  uint32_t* least;        // id of a block that does not determine all its unknowns; likewise
  uint32_t* contradicts;  // id of a block whose equations contradict each other; NULL: it fails
  BaseTeam* team;         // for long loops; NULL: one thread
  ModelRoots* roots;      // NULL: as always
} ModelContext;

#define MODEL_PIVOT_MIN       1e-13  // relative to the largest entry of the row
#define MODEL_LINEAR_RESIDUAL 1e-9   // relative; above it the matrix was singular in all but name

/// Registers of work space of a block: a full matrix only where the block is small or nothing else
/// is known.
#define MODEL_FULL_MAX 300u
#define MODEL_RELAX_SCALE \
  7  // times the count: where a relaxed block leaves the units of its unknowns
static inline size_t model_solve_room(uint32_t count, const ModelSparse* sparse) {
  size_t full = !sparse || count <= MODEL_FULL_MAX ? (size_t)count * count : 0;
  return full + 5 * (size_t)count + (sparse ? model_sparse_room(sparse) : 0);
}

typedef enum ModelSolved {
  MODEL_UNSOLVED,
  MODEL_SOLVED,
  MODEL_SOLVED_LEAST,  // the equations agree but do not determine everything: the smallest solution
  MODEL_CONTRADICTS    // they contradict each other: the solution that a trace of what they replace
                       // gives
} ModelSolved;

/// Solve a block; `run` executes its body on the registers. The unknowns are NaN when that fails.
typedef void ModelBody(void* user);
ModelSolved model_solve(const ModelSolve* solve, double* regs, ModelBody* run, void* user);
/// Take what was found in another way; false when the block has to be solved.
static inline bool model_solve_accept(const ModelSolve* solve, double* regs) {
  if (!solve->offers || regs[solve->accept] == 0.0) return false;
  for (uint32_t i = 0; i < solve->count; i++) {
    regs[solve->unknowns[i]] = regs[solve->offers[i]];
  }
  return true;
}
/// What became of a block, to the context.
void model_solve_note(ModelSolved solved, const ModelSolve* solve, const ModelContext* context);
/// The same on enclosures: values and slopes of the unknowns for all inputs in their intervals.
/// False when nothing could be shown; their registers are then undefined.
bool model_solve_enclose(const ModelSolve* solve, ModelDual* regs, ModelBody* run, void* user);
/// Whether all blocks of a program are small enough to be enclosed.
bool model_program_encloses(const ModelProgram* program);

// ---------------------------------------------------------------------------------------------
// machine code in place of the tape

/// What compiled code calls. Functions of the C library come from here, not from its own linking:
/// the same function gives the same bits.
#define MODEL_HOST_OF_FUNCTION(X, name, word, call, ...) X(call)
#define MODEL_HOST_UNARY(X)                              BASE_FUNCTIONS(MODEL_HOST_OF_FUNCTION, X) X(floor) X(ceil)
#define MODEL_HOST_BINARY(X)                             X(base_pow) X(base_atan2) X(base_polygamma)

typedef struct ModelHost {
#define X(name) double (*name)(double);
  MODEL_HOST_UNARY(X)
#undef X
#define X(name) double (*name)(double, double);
  MODEL_HOST_BINARY(X)
#undef X
  double (*table)(const ModelContext* context, uint32_t table, double x, int order);
  void (*solve)(const ModelProgram* program, const ModelContext* context, uint32_t index,
                double* regs, ModelBody* body, void* user);
} ModelHost;

extern const ModelHost model_host;

/// `x` and `out` do not overlap.
/// Does what model_program_run or model_program_run_block does with the program, to the bit.
/// Registers are bound; afterwards they hold the unknowns of blocks, and nothing else that counts.
typedef void ModelRunFn(const ModelHost* host, const ModelProgram* program,
                        const ModelContext* context, double* regs, double t, const double* x,
                        double* out);
typedef void ModelBlockFn(const ModelHost* host, const ModelProgram* program,
                          const ModelContext* context, double* regs, const double* t,
                          const double* x, double* out);

/// The stages of a step of Dormand-Prince 5(4) with the program as right-hand side, as NumStages in
/// numeric.h describes them.
typedef struct ModelStages {
  double t, h, t_end;
  const double *x, *k1;
  double* k;
  size_t stride;
  double *y, *x_end, *k7;
} ModelStages;

typedef void ModelStagesFn(const ModelHost* host, const ModelProgram* program,
                           const ModelContext* context, double* regs, const ModelStages* stages);

/// Where compiled code is put when it is ready. Programs that are copies of each other share it.
typedef struct ModelCode {
  _Atomic(ModelRunFn*) run;  // NULL: not there
  _Atomic(ModelBlockFn*) block;
  _Atomic(ModelStagesFn*) stages;
  bool claimed;  // the rest belongs to whoever attaches code, under his lock
  uint64_t work;
} ModelCode;

// ---------------------------------------------------------------------------------------------
// running programs

/// Copy constants and inputs into the registers; to be repeated whenever the environment changed.
/// `regs` has room for reg_count doubles.
void model_program_bind(const ModelProgram* program, const double* env, double* regs);
/// The inputs alone, where the constants are in place. Returns whether one of them has changed.
bool model_program_bind_inputs(const ModelProgram* program, const double* env, double* regs);

/// Guesses of nonlinear blocks from the environment, everything else left alone.
void model_program_guess(const ModelProgram* program, const double* env, double* regs);

/// What model_program_run does with a program that has a roll. Bound registers; `straight` executes
/// code to its end.
typedef void ModelStraightFn(const ModelProgram* program, const ModelContext* context,
                             const ModelInstr* code, double* regs);
/// `x`: the states, which are not in the registers; NULL: they are.
void model_roll_run(const ModelProgram* program, const ModelContext* context, double* regs,
                    const double* x, double* out, ModelStraightFn* straight);

/// model_program_run() without compiled code.
void model_program_interpret(const ModelProgram* program, const ModelContext* context, double* regs,
                             double t, const double* x, double* out);

/// Execute code of a program near the end of its roots; false: not possible, nothing counts.
bool model_roots_execute(const ModelProgram* program, const ModelContext* context,
                         const ModelInstr* code, double* regs);
/// model_program_run() there.
void model_roots_run(const ModelProgram* program, const ModelContext* context, double* regs,
                     double t, const double* x, double* out);
/// States that are added or subtracted have one unit, and the larger of their tolerances: what has
/// always been zero has none of its own.
void model_roots_share(const ModelProgram* program, double* tolerance);
/// Whether a program may have roots that model_roots_run() replaces.
bool model_program_has_roots(const ModelProgram* program);

/// model_program_run() away from there.
static inline void model_program_run_plain(const ModelProgram* program, const ModelContext* context,
                                           double* regs, double t, const double* x, double* out) {
  ModelRunFn* run =
      program->native ? atomic_load_explicit(&program->native->run, memory_order_acquire) : NULL;
  if (run) {
    run(&model_host, program, context, regs, t, x, out);
  } else {
    model_program_interpret(program, context, regs, t, x, out);
  }
}

/// Execute on bound registers. `x` holds state_count values (may be NULL when that is 0); `out`
/// receives output_count values.
static inline void model_program_run(const ModelProgram* program, const ModelContext* context,
                                     double* regs, double t, const double* x, double* out) {
  // one call on each way, so that nothing has to be kept over it
  if (context->roots) {
    model_roots_run(program, context, regs, t, x, out);
  } else {
    model_program_run_plain(program, context, regs, t, x, out);
  }
}

/// Outputs that follow each other, and the registers, or the states, that they are.
typedef struct ModelPartOutput {
  uint32_t output, from, count;
} ModelPartOutput;

/// Part of a program: the instructions that some of its outputs need, in their order.
typedef struct ModelPart {
  const ModelInstr* code;          // ends with MODEL_OP_END
  const uint32_t* reads;           // states that it reads
  const ModelPartOutput* plain;    // outputs that are states
  const ModelPartOutput* outputs;  // ... and that are other registers
  uint32_t read_count, plain_count, output_count;
} ModelPart;

/// Execute a part on bound registers; all other outputs stay as they are. Same bits as the whole
/// run.
void model_program_run_part(const ModelProgram* program, const ModelContext* context,
                            const ModelPart* part, double* regs, double t, const double* x,
                            double* out);

/// Outputs that are a multiple of states: out = factor * x for all runs.
void model_scale_states(const ModelPartOutput* runs, uint32_t count, double factor,
                        const double* restrict x, double* restrict out);

/// Gives one state at the time that is looked at.
typedef double ModelStateFn(const void* user, uint32_t state);

/// Visit the registers that the slice of an output reads, as often as it does.
void model_program_visit_reads(const ModelProgram* program, uint32_t output, ModelReadFn* visit,
                               void* user);
/// For each key the outputs that read it. `key`: what a register holds at the beginning, MODEL_NONE
/// for nothing; `seen`: room for as many as there are keys. False: memory is short, or not all
/// outputs have slices.
bool model_program_list_readers(const ModelProgram* program, const uint32_t* key,
                                uint32_t key_count, uint32_t* seen, const SltAllocator* a,
                                BaseLists* readers);
/// One output alone, on bound registers: asks for the states that it reads. Same bits as the whole
/// run. False, and nothing done, where the program has no slice for it.
bool model_program_run_output(const ModelProgram* program, const ModelContext* context,
                              double* regs, double t, ModelStateFn* state, const void* user,
                              uint32_t output, double* value);

/// Programs of single outputs (single.c): one per shape, on registers of its own, and for each
/// output a row of the program's registers that are copied into the first of these.
typedef struct ModelSingleShape {
  uint32_t code;                     // begin in `code`; ends with MODEL_OP_END
  uint32_t state_count, leaf_count;  // copied registers: states, then others
  uint32_t output;
  uint32_t length;  // instructions
} ModelSingleShape;

typedef struct ModelSingles {
  ModelInstr* code;
  ModelSingleShape* shapes;
  uint32_t* shape;      // per output; MODEL_NONE: only with the others
  uint32_t* row_begin;  // per output
  uint32_t* rows;
  uint32_t output_count, shape_count;
  size_t code_capacity, shape_capacity, row_capacity;  // for giving them back
} ModelSingles;

#define MODEL_SINGLE_LENGTH 64   // most instructions
#define MODEL_SINGLE_REGS   160  // registers of a shape, at most

/// Made from the slices of a program. False where there is no memory; the singles are empty then,
/// as they are for a program without slices.
bool model_singles_init(ModelSingles* singles, const ModelProgram* program, const SltAllocator* a);
void model_singles_clear(ModelSingles* singles, const SltAllocator* a);

/// model_program_run_output() by the shape of the output, if it has one. Registers are read only.
bool model_singles_run(const ModelSingles* singles, const ModelProgram* program,
                       const ModelContext* context, double* regs, double t, ModelStateFn* state,
                       const void* user, uint32_t output, double* value);

/// What a register is between two events, as far as switches go.
typedef enum ModelSwitched {
  MODEL_SWITCHED_FIXED,  // the same all the time, whatever the switches
  MODEL_SWITCHED_FREE,   // moves with time and states, and depends on no switch
  MODEL_SWITCHED_KNOWN,  // one number for each position of the switches
  MODEL_SWITCHED_SHIFT,  // what is free, plus what is known
  MODEL_SWITCHED_OTHER
} ModelSwitched;

/// What an instruction makes of its operands (a, b; c: the condition of a selection); `depends`:
/// some of them depend on switches.
ModelSwitched model_switched_by(const ModelInstr* pc, uint32_t operands, ModelSwitched a,
                                ModelSwitched b, ModelSwitched c, bool depends);

/// How a value depends on time and states, with the inputs that stand still.
typedef enum ModelClass { MODEL_CLASS_FIXED, MODEL_CLASS_AFFINE, MODEL_CLASS_OTHER } ModelClass;

/// ModelClass of each output; inputs from the place `moving` of the environment on move like states
/// (UINT32_MAX: none does). `scratch` has room for reg_count bytes.
void model_program_classes(const ModelProgram* program, uint32_t moving, uint8_t* scratch,
                           uint8_t* out);
/// Whether all outputs but that of the state itself are affine in a state, by factors that nothing
/// but events changes.
bool model_program_affine_in(const ModelProgram* program, uint32_t state, uint8_t* scratch);

#define MODEL_LANES BASE_LANES  // points per block

/// The same for MODEL_LANES points at once: every register has that many lanes, adjacent; `t`, `x`
/// and `out` likewise. Same bits per lane as the scalar run. `x` may be the registers of the states
/// themselves. Lanes from `used` on repeat the first one, and cost nothing where lanes are computed
/// one by one.
void model_program_bind_block(const ModelProgram* program, const double* env, double* regs);
void model_program_run_block(const ModelProgram* program, const ModelContext* context, double* regs,
                             const double* t, const double* x, uint32_t used, double* out);
/// Whether the program runs in blocks whatever it computes: nothing is solved for or drawn in it.
bool model_program_has_lanes(const ModelProgram* program);
/// model_program_bind_block() with inputs of each lane's own, from registers that are bound.
void model_program_bind_lanes(const ModelProgram* program, const double* const* bound,
                              double* regs);

/// What does not move while time flows.
ModelDual model_dual_fixed(double value);

/// The same for enclosures: registers of duals, inputs and constants as points at rest.
void model_program_bind_dual(const ModelProgram* program, const double* env, ModelDual* regs);

/// Enclose every output over `time` and the states `x`, which hold intervals of the values and of
/// the derivatives along the motion that is looked at; time has the derivative 0 where it stands.
/// Where nothing can be said (a pole, a domain left) the enclosure is the whole line.
void model_program_enclose(const ModelProgram* program, const ModelContext* context,
                           ModelDual* regs, ModelDual time, const ModelDual* x, ModelDual* out);

/// Bounds of the values of outputs, as model_program_enclose has them but for rounding, for
/// programs of many instances of few shapes: block by block, `count` outputs from `output` on at a
/// time, all outputs in some order. Bounds of the states lie side by side; `regs` are bound
/// registers of the program, of which inputs and constants are read; `room` has place for
/// model_program_bound_room() intervals.
typedef void ModelBoundFn(void* user, uint32_t output, uint32_t count, const double* lo,
                          const double* hi);
void model_program_bound(const ModelProgram* program, const ModelContext* context,
                         const double* regs, ModelInterval t, const double* x_lo,
                         const double* x_hi, ModelInterval* room, ModelBoundFn* take, void* user);
/// Whether a program can be bounded in this way, and what room that takes (mostly none).
bool model_program_has_bounds(const ModelProgram* program);
size_t model_program_bound_room(const ModelProgram* program);

/// Half widths of the outputs of any program at times `t` where the states may be off by `off`, and
/// a share of the largest magnitude on top; not finite where nothing can be said. Block by block
/// where the program can be bounded in this way, else by enclosures. `room` has place for
/// model_program_spread_room() duals.
void model_program_spread(const ModelProgram* program, const ModelContext* context,
                          const double* env, ModelInterval t, const double* x, const double* off,
                          double share, double* width, ModelDual* room);
size_t model_program_spread_room(const ModelProgram* program);

/// Which outputs of `out` depend on states that are marked (HUGE_VAL), at once or by way of the
/// rates in `rhs`: not 0. States that follow from marked ones are marked too. `room` has place for
/// model_reach_room() numbers (reach.c).
void model_reach(const ModelProgram* rhs, const ModelProgram* out, const ModelContext* context,
                 const double* env, double t, const double* x, double* marks, double* depends,
                 double* room);
size_t model_reach_room(const ModelProgram* rhs, const ModelProgram* out);

#define MODEL_BOUND_LANES 64  // most outputs at a time

/// Whether none of `n` values (at most MODEL_BOUND_LANES) comes within its exclusion bound of zero;
/// NaN stands for one that always does. `candidate` has room for MODEL_BOUND_LANES numbers: 1 for
/// those that do, else 0.
bool model_bounds_clear(uint32_t n, const double* restrict lo, const double* restrict hi,
                        const double* restrict exclusion, double* restrict candidate);

/// Whether the largest magnitude of each value is at most twice, and at least `least_share` of, the
/// size given for it; zero is never too small.
bool model_bounds_fit(uint32_t n, const double* restrict lo, const double* restrict hi,
                      const double* restrict sizes, double least_share);
/// Bounds moved outwards by a share of the largest magnitude.
void model_bounds_widen(uint32_t n, double share, double* restrict lo, double* restrict hi);

/// The same for `count` outputs; others may stay as they were.
void model_program_enclose_some(const ModelProgram* program, const ModelContext* context,
                                ModelDual* regs, ModelDual time, const ModelDual* x,
                                const uint32_t* outputs, uint32_t count, ModelDual* out);

typedef ModelDual ModelStateDualFn(const void* user, uint32_t state);

/// One output alone; false where the program has no slice for it.
bool model_program_enclose_output(const ModelProgram* program, const ModelContext* context,
                                  ModelDual* regs, ModelDual time, ModelStateDualFn* state,
                                  const void* user, uint32_t output, ModelDual* value);

// ---------------------------------------------------------------------------------------------
// polynomials along a step (form.c)
//
// Along a step states are polynomials of time, so a polynomial of time and states is one too, and
// its Bernstein form bounds it without the losses of interval arithmetic. Outputs that are a
// function of one such polynomial and of nothing else that moves, as sqrt(x*x + y*y) - r is, are
// bounded through it.

#define MODEL_FORM_DEGREE_MAX 16

/// A polynomial on the unit interval; the coefficients are off by `error` at most.
typedef struct ModelForm {
  uint32_t degree;
  double size;  // largest magnitude of a coefficient
  double error;
  double c[MODEL_FORM_DEGREE_MAX + 1];
} ModelForm;

typedef enum ModelFormKind {
  MODEL_FORM_TIME,
  MODEL_FORM_STATE,  // index: number of the state
  MODEL_FORM_FIXED,  // index: register of an input or a constant
  MODEL_FORM_VALUE   // index: operation that computed it
} ModelFormKind;

typedef struct ModelFormOperand {
  uint32_t kind, index;
} ModelFormOperand;

typedef struct ModelFormOp {
  uint32_t op;  // MOVE, NEG, ADD, SUB, MUL, SQUARE, or DIV by what is fixed
  ModelFormOperand a, b;
} ModelFormOp;

/// A polynomial of time and states in a program.
typedef struct ModelPolynomial {
  const ModelFormOp* ops;
  uint32_t op_count;
  uint32_t degree;  // in time and states together
  ModelFormOperand result;
} ModelPolynomial;

/// An output as a function of one polynomial.
typedef struct ModelComposed {
  uint32_t polynomial;     // MODEL_NONE: it is not
  uint32_t reg;            // where the program has the polynomial...
  uint32_t before;         // ...from this one of the instructions below on
  const uint32_t* instrs;  // numbers of instructions that compute the output from it
  uint32_t instr_count;
} ModelComposed;

typedef struct ModelForms {
  const ModelPolynomial* polynomials;
  uint32_t polynomial_count;
  const ModelComposed* outputs;
} ModelForms;

/// The motion of the states along a step.
typedef struct ModelMotion {
  double t0, t1;
  const double* control;  // Bernstein coefficients of the states, MODEL_LANES apart
  uint32_t degree;        // of the states, at most MODEL_LANES - 1
  double ulps;            // roundings in the coefficients of the states
} ModelMotion;

/// The polynomial with these Bernstein coefficients at u in [0, 1], and its slope there: within
/// some `2 * degree` units in the last place of the largest coefficient (of their largest
/// difference times the degree).
double model_form_value(uint32_t degree, const double* c, double u, double* slope);
/// Bounds of the coefficients, between which the polynomial stays, and of their differences, which
/// have the signs of its slopes.
void model_form_hull(uint32_t degree, const double* c, ModelInterval* value, ModelInterval* change);
/// Where coefficients that fall and then rise (or, `sign` -1, rise and then fall) turn, by the
/// polygon of their differences, and the second derivative there. Negative: nowhere.
double model_form_turn(uint32_t degree, const double* c, double sign, double* bend);
/// Whether a polynomial falls first and then rises, with one turn: the differences, which are the
/// Bernstein coefficients of its slope, change their sign once, whatever rounding has done to them.
/// (One that is zero up to rounding may stand in between: it makes no difference which sign it
/// has.) With `sign` -1: whether it rises first and then falls.
bool model_form_turns_once(uint32_t degree, const double* c, double noise, double sign);
/// Where the polynomial rises through the level on (from, until], by Newton's method within
/// bisection; its slope there.
double model_form_root(uint32_t degree, const double* c, double from, double until, double start,
                       double level, double* slope);
/// The same for a parabola with the values at the ends and the slope at the beginning.
double model_form_parabola_root(uint32_t degree, const double* c, double level);

/// The polynomial along a motion; `regs` are bound registers of its program. False: its degree is
/// beyond MODEL_FORM_DEGREE_MAX, or a value is out of the ordinary.
bool model_form_along(const ModelPolynomial* polynomial, const ModelMotion* motion,
                      const double* regs, ModelForm* out);

/// The output from enclosures of its polynomial and of the polynomial's slope; `regs` are bound.
ModelDual model_program_enclose_composed(const ModelProgram* program, const ModelContext* context,
                                         ModelDual* regs, const ModelComposed* composed,
                                         uint32_t output, ModelDual argument);

// ---------------------------------------------------------------------------------------------
// terms

/// What all terms of one shape share: a million initial values that differ in their numbers and in
/// the variables they read have one program.
typedef struct ModelShape {
  ModelProgram program;  // over the environment; `env` of an input is a slot of the term
  uint32_t steps;        // instructions up to the last that compares or rounds to a whole number
  bool tabled;           // bit k of `table`: the truth when the inputs are the bits of k
  uint64_t table;
} ModelShape;

#define MODEL_ARG_NUMBER 0x80000000u  // in an argument: index of a number, not of the environment

/// A value to be computed from the environment.
typedef struct ModelTerm {
  const ModelShape* shape;  // NULL: there is none
  const uint32_t* args;     // per slot: environment index, or MODEL_ARG_NUMBER and a number
} ModelTerm;

/// Value of an argument.
static inline double model_arg(uint32_t arg, const double* numbers, const double* env) {
  return arg & MODEL_ARG_NUMBER ? numbers[arg & ~MODEL_ARG_NUMBER] : env[arg];
}

/// How many values a term reads, numbers among them, and where the k-th stands in the environment;
/// MODEL_NONE for a number.
static inline uint32_t model_term_inputs(const ModelTerm* term) {
  return term->shape->program.input_count;
}

static inline uint32_t model_term_input(const ModelTerm* term, uint32_t k) {
  uint32_t arg = term->args[term->shape->program.inputs[k].env];
  return arg & MODEL_ARG_NUMBER ? MODEL_NONE : arg;
}

/// Value of a term that is there. `regs` has room for Model.scratch_regs doubles.
double model_term_value(const ModelTerm* term, const ModelContext* context, const double* numbers,
                        const double* env, double t, double* regs);

/// How far rounding may have moved the time, and values of the environment.
typedef struct ModelRounding {
  ModelInterval time;
  uint32_t begin;  // entries before it are exact
  double (*of)(void* user, uint32_t env);
  void* user;
} ModelRounding;
/// The same where the values are known up to rounding: on a jump of a comparison or of floor, ceil,
/// mod, sign within that, both sides are equal, and the value is whole, or 0. `bounds` has room for
/// Model.scratch_regs intervals (rounded.c).
double model_term_rounded(const ModelTerm* term, const ModelContext* context, const double* numbers,
                          const double* env, double t, const ModelRounding* rounding, double* regs,
                          ModelInterval* bounds);
/// How many instructions of a program there are up to the last such operation; 0: it has none.
uint32_t model_program_steps(const ModelProgram* program);
/// One instruction other than SOLVE and END, and code to its end.
void model_instr_run(const ModelInstr* instr, const ModelContext* context, double* regs);
void model_code_run(const ModelInstr* code, const ModelContext* context, double* regs);

// ---------------------------------------------------------------------------------------------
// derivatives (tangent.c)

/// How the history of a variable moves: the row of what table `table` gives at a time,
/// differentiated `order` times by it.
typedef bool ModelHistoryFn(void* user, uint32_t table, double at, int order, double* row);

/// How what a program reads moves in each of `count` directions: rows of `count` numbers.
typedef struct ModelSeeds {
  uint32_t count;
  const double* time;    // one row; NULL: it stands still, as below
  const double* states;  // a row for each
  const double* env;     // a row for each place of the environment
  uint32_t env_count;
  ModelHistoryFn* history;  // NULL: it does not move
  void* user;               // ... of it
} ModelSeeds;

/// Numbers of work space.
size_t model_tangent_room(const ModelProgram* program, uint32_t count);
/// Outputs and how they move, from the environment itself: nothing is bound before. False: an
/// operation has no derivative that is known (a random number, equations that are not solved).
bool model_program_tangent(const ModelProgram* program, const ModelContext* context,
                           const double* env, double t, const double* x, const ModelSeeds* seeds,
                           double* room, double* out, double* d_out);
/// The same for a term.
bool model_term_tangent(const ModelTerm* term, const ModelContext* context, const double* numbers,
                        const double* env, double t, const ModelSeeds* seeds, double* room,
                        double* out, double* d_out);

/// The other way round (adjoint.c): weights of the outputs to weights of what a program reads,
/// which is the time, the states, and the inputs in their order; they are added to `bars`. False:
/// an operation has no derivative that is known, or reads a history.
bool model_program_adjoint(const ModelProgram* program, const ModelContext* context,
                           const double* read, const double* weights, double* bars);

// ---------------------------------------------------------------------------------------------
// tables

typedef enum ModelVarKind { MODEL_VAR_UNKNOWN, MODEL_VAR_DISCRETE } ModelVarKind;

typedef struct ModelVar {
  Str name;
  Str unit;             // empty when none
  uint8_t kind;         // ModelVarKind
  uint8_t max_order;    // highest order that can be asked for
  uint8_t slots;        // the environment holds orders 0 .. slots - 1
  bool hidden;          // helper of the front end: not a column
  bool inactive_zero;   // where undetermined: 0 instead of the last value
  bool memory;          // of a contact: the speed that its impact leaves
  bool delay;           // of an `after`: a finite time that is not below 0
  bool yields;          // the last to hold where several forces can
  bool unbounded;       // discrete, and may be infinite or no number
  double nominal;       // 1 where none is given
  bool sized;           // it is given
  uint32_t family;      // variable that stands for those of the same kind: they share their scale
  uint32_t env;         // of the value; derivative k is at env + k
  uint32_t appearance;  // order of first appearance in the source
  Span span;
} ModelVar;

typedef struct ModelParam {
  Str name;
  Str unit;  // empty when none
  uint32_t env;
  ModelTerm value;  // reads parameters that come before it
  bool structural;  // fixed at compilation
  bool hidden;
  bool unbounded;  // may be infinite, or no number
  bool acts;       // something reads it while a run goes on, not initial values alone
  bool due;        // it decides when a schedule or a delay is due
  bool follows;    // its value is computed from other parameters
  uint32_t appearance;
  Span span;
} ModelParam;

/// A named expression that can be recorded (`macro`); literal evaluation on the environment.
typedef struct ModelMacro {
  Str name;
  Str unit;  // empty when none
  ModelTerm value;
  Span span;
} ModelMacro;

/// Initial value; the list is in order of evaluation.
typedef struct ModelStart {
  uint32_t var;
  uint8_t order;
  bool reads;  // other variables
  bool fixed;  // false: a guess
  ModelTerm value;
  Span span;
} ModelStart;

typedef enum ModelAtomType {
  MODEL_ATOM_CRITICAL,
  MODEL_ATOM_UNILATERAL,
  MODEL_ATOM_BILATERAL,
  MODEL_ATOM_SHORTLIVING,
  MODEL_ATOM_NOEVENT,
  MODEL_ATOM_PULSE,  // read on candidates with pulses, never followed
  MODEL_ATOM_STRUCK  // the same of the pulses that resets demand
} ModelAtomType;

typedef enum ModelRelation { MODEL_REL_GT, MODEL_REL_GE, MODEL_REL_EQ } ModelRelation;

typedef enum ModelWhen { MODEL_NOW, MODEL_PRE, MODEL_POST } ModelWhen;

/// A quantity that an atom reads directly.
typedef struct ModelRead {
  uint32_t var;
  uint8_t order;
  uint8_t when;  // ModelWhen
} ModelRead;

/// What the text says about an atom: shared by the instances of a loop.
typedef struct ModelAtomText {
  Str text;  // as written
  uint32_t line;
  Span span;
} ModelAtomText;

/// Its own settings, where it has any.
typedef struct ModelAtomOptions {
  const ModelTerm* eps;    // NULL: default of the run
  const ModelTerm* gamma;  // NULL: default of the run
} ModelAtomOptions;

typedef struct ModelAtom {
  const ModelRead* reads;
  const ModelAtomText* written;
  const ModelAtomOptions* options;  // NULL: all as the run has it
  uint32_t env;                     // where its truth is
  uint32_t read_count;
  uint8_t type;      // ModelAtomType
  uint8_t relation;  // ModelRelation
  bool bipolar;      // becoming false matters too
  bool kink;         // what it switches is continuous there
  bool continuous;   // reads time or a variable that moves between events, and is followed
  bool time_only;    // reads time, parameters and discrete values only
} ModelAtom;

/// A truth over atoms and mode tests.
typedef struct ModelGuard {
  ModelTerm term;  // absent: always true
  const uint32_t* atoms;
  uint32_t atom_count;
  bool has_mode_test;
} ModelGuard;

typedef struct ModelAction {
  uint32_t var;
  uint8_t order;
  bool guess;     // only a guess for re-initialisation
  uint32_t env;   // target
  uint32_t rank;  // place in the text; the actions of a group stand in this order
  ModelTerm value;
  Span span;
} ModelAction;

typedef struct ModelTransition {
  uint32_t automaton;
  const uint32_t* from;
  uint32_t from_count;
  uint32_t to;
  ModelGuard guard;
  bool zeno;                            // enabled only when the events of its automaton accumulate
  bool instead;                         // ... in place of the last of them
  bool by_lot;                          // among those enabled with it that are so, one is drawn
  bool negated;                         // the guard is the negation of what its span says
  bool made;                            // by an element: only its relations have words for it
  uint32_t action_begin, action_count;  // besides the entry actions of the target
  uint32_t line;
  Span span;
} ModelTransition;

/// What the text says about a state: shared by the instances of a loop.
typedef struct ModelStateText {
  Str name;
  Span invariant_span;
  bool stops;
  bool keeps;  // it stops the run and has no equations: those of the state before it stay
  Str stop_text;
  uint32_t line;
  Span span;
} ModelStateText;

typedef struct ModelState {
  const ModelStateText* written;
  const uint32_t* outgoing;             // transitions that start here, in order of priority
  const ModelGuard* invariant;          // NULL when there is none
  uint32_t action_begin, action_count;  // entry actions
  uint32_t outgoing_count;
  uint32_t test_env;  // where "this automaton is in this state" is, MODEL_NONE when nobody asks
} ModelState;

typedef enum ModelAutomatonKind { MODEL_AUTOMATON_USER, MODEL_AUTOMATON_SWITCH } ModelAutomatonKind;

typedef struct ModelAutomaton {
  Str name;
  uint8_t kind;
  bool hidden;
  bool yields;                  // friction: moves after the impacts of contacts
  bool ranked;                  // the model gives it a priority among automata
  bool has_bodies;              // its state influences which equations are active
  const ModelGuard* condition;  // SWITCH: state 1 while true, state 0 while false; else NULL
  uint32_t parent_automaton, parent_state;  // SWITCH nested in a state's body; else MODEL_NONE
  const ModelState* states;
  uint32_t state_count;
  uint32_t entry_env;  // time of entry of the present state, MODEL_NONE when nobody asks
  uint32_t rank;       // place in the text: who comes first in a round
  uint32_t line;
  Span span;
} ModelAutomaton;

/// A value read some time later.
typedef struct ModelDelay {
  uint32_t table;           // through which it is read
  uint32_t var;             // whose value
  uint32_t lag;             // variable that is the delay now; MODEL_NONE: it is `time` throughout
  ModelTerm time;           // how long, or at most
  const ModelTerm* before;  // value before the start; NULL: that at the start
  bool linear;              // straight lines between steps
  Str text;
  Span span;
} ModelDelay;

/// A block of the model that is computed outside of the library.
typedef struct ModelForeignBlock {
  uint32_t table;  // through which it is asked
  Str name;        // of the data in its part: `pump.:block`
  Str file;        // as the model writes it
  Span span;
} ModelForeignBlock;

typedef struct ModelGoto {
  uint32_t automaton, state;
} ModelGoto;

typedef struct ModelSchedule {
  ModelTerm start;
  ModelTerm period;
  bool periodic;
  int64_t count;  // -1 for ever
  int32_t priority;
  uint32_t action_begin, action_count;
  const ModelGoto* gotos;
  uint32_t goto_count;
  bool stops;
  Str stop_text;
  uint32_t line;
  Span span;
} ModelSchedule;

/// What runs are asked for, for those who make experiments.
typedef struct ModelMeasure {
  Str name, text;
} ModelMeasure;

/// A shape of the drawing that goes with a run.
typedef struct ModelFigure {
  Str kind, text, colour;
  const char* const* numbers;  // names of macros
  uint32_t number_count;
} ModelFigure;

/// A quantity of a port that the model leaves to others.
typedef struct ModelPortQuantity {
  Str port, name, variable, given;  // as in IrPortQuantity
  bool through;
} ModelPortQuantity;

/// What is changed by hand during a run.
typedef struct ModelControl {
  Str name;
  double low, high;  // NaN: no range
  const double* values;
  uint32_t value_count;
} ModelControl;

/// Defaults of a run as the model states them; NaN and empty text mean "not given".
typedef struct ModelExperiment {
  double start, end, every, step, h0, hmin, hmax, rtol, atol, eventeps, gamma;
  Str method, detection;
  const Str* out;
  uint32_t out_count;
  const ModelMeasure* measures;
  uint32_t measure_count;
  const ModelFigure* figures;
  uint32_t figure_count;
  const ModelControl* controls;
  uint32_t control_count;
  const ModelMeasure* plot;  // settings of the picture, in order
  uint32_t plot_count;
} ModelExperiment;

/// Everything about a model that does not depend on the mode. Immutable.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): there is one, and pairs stay together
typedef struct Model {
  const Source* source;
  uint32_t env_count;  // the engine keeps two of these: present values, then those before an event
                       // (pre(x) of env index i is read at env_count + i)
  const ModelParam* params;  // in order of evaluation
  uint32_t param_count;
  const ModelVar* vars;  // in canonical order
  uint32_t var_count;
  uint32_t named_count;     // of them at the front are in the natural order of their names, among
                            // them all visible ones
  const uint32_t* columns;  // visible variables in order of first appearance
  uint32_t column_count;
  const ModelMacro* macros;
  uint32_t macro_count;
  const ModelPortQuantity* ports;
  uint32_t port_count;
  const ModelStart* starts;
  uint32_t start_count;
  const ModelAtom* atoms;
  uint32_t atom_count;
  const ModelAutomaton* automata;  // in canonical order
  uint32_t automaton_count;
  const ModelTransition* transitions;
  uint32_t transition_count;
  const ModelAction* actions;
  uint32_t action_count;
  const ModelSchedule* schedules;
  uint32_t schedule_count;
  const ModelTable* tables;
  uint32_t table_count;
  const ModelDelay* delays;
  uint32_t delay_count;
  const ModelForeignBlock* foreigns;
  uint32_t foreign_count;
  const ModelTerm* energy;  // NULL when not declared
  Span energy_span;
  uint32_t start_time_env;  // start of the run; MODEL_NONE when nobody asks
  const double* numbers;    // of the terms
  uint32_t scratch_regs;    // enough registers for any program in these tables
  ModelExperiment experiment;
} Model;

/// How a variable is determined in one mode.
typedef enum ModelRole {
  MODEL_ROLE_DISCRETE,
  MODEL_ROLE_STATE,  // orders 0 .. state_order-1 are states
  MODEL_ROLE_ALGEBRAIC,
  MODEL_ROLE_UNDETERMINED  // the equations of this mode do not determine it: it keeps its value
} ModelRole;

typedef struct ModelVarMode {
  uint8_t role;         // ModelRole
  uint8_t state_order;  // number of states of this variable (highest derivative order)
  bool loose;           // undetermined though equations read it, or computed from such values
} ModelVarMode;

/// A value or derivative of a variable: what the equations of an implicit mode are about.
typedef struct ModelQuantity {
  uint32_t var;
  uint32_t order;
  uint32_t env;
  uint32_t state;  // number of the state; MODEL_NONE for what is solved for
} ModelQuantity;

/// An equation of the mode, differentiated `level` times.
typedef struct ModelRow {
  uint32_t equation;  // in ModelImplicit.equations
  uint32_t level;
  bool top;  // level is the equation's offset: determines what is solved for
} ModelRow;

typedef struct ModelEquationText {
  Str text, place;
  Span span;
} ModelEquationText;

/// A mode whose equations are differentiated or solved in blocks, or whose initial values may
/// contradict them. Without constraints and with very many equations there is no system: then
/// quantity_count is 0.
///
/// All derivatives below those solved for are states. `constraint` computes, from time and states,
/// the equations of lower levels (one output per row, 0 when they hold) and behind them the entries
/// of their Jacobian. `system` computes all rows and their Jacobian from time and quantities.
typedef struct ModelImplicit {
  const ModelQuantity* quantities;  // by variable, then order
  uint32_t quantity_count;
  const ModelRow* rows;  // constraints by level, then the top rows
  uint32_t row_count, constraint_count;
  ModelProgram constraint;
  const ModelEntry* constraint_entries;  // column: state; reg: number of the output
  uint32_t constraint_entry_count;
  // few constraints: one step of Newton's method back to them as a program over time, states and
  // their weights.
  // Outputs: the largest square of a distance, whether the rest can be trusted, then the change of
  // each of project_states. No outputs where they are too many.
  ModelProgram project;
  const uint32_t* project_states;
  ModelProgram system;
  const ModelEntry* system_entries;  // column: quantity; reg: number of the output
  uint32_t system_entry_count;
  const uint32_t* top;  // per variable: its quantity that is solved for, MODEL_NONE for none
  const ModelEquationText* equations;
  uint32_t equation_count;
  const uint32_t* block_begin;  // equations of block b: block_equations[block_begin[b]] ...
  const uint32_t* block_equations;
  uint32_t block_count;
  uint32_t freedom, index;
  bool repeats;   // constraints of contacts say the same twice: forces are the smallest ones
  bool iterates;  // blocks are solved by Newton's method, from guesses
  bool lean;      // whatever the mode computes, its derivatives are computed from: with blocks
                  // that do not iterate, there is nothing to do between two steps
  bool settles;   // at the start the system is solved as a whole first
  bool fixes_computed;  // initial values fix something that the mode computes
  bool
      explicit_order;  // all unknowns are computed one after the other; the system serves the start
} ModelImplicit;

/// Derivatives of g of the mode's atoms with respect to what is solved for.
typedef struct ModelImpulse {
  ModelProgram slopes;        // over quantities
  const ModelEntry* entries;  // row: atom of the mode; column: quantity; reg: number of the output
  uint32_t entry_count;
} ModelImpulse;

/// A mode as stiff methods see it: what `rhs` solves in blocks are algebraic unknowns behind the
/// states, and the equations of the blocks are residuals behind the derivatives. Both programs are
/// over time, states and algebraic unknowns.
typedef struct ModelStiff {
  uint32_t algebraic;
  uint32_t auxiliary;        // rows behind the algebraic ones, for the elimination alone
  const uint32_t* unknowns;  // registers of `rhs` that hold them once it has run
  ModelProgram stage;        // derivatives and residuals
  ModelProgram jacobian;     // entries of their Jacobian, then derivatives with respect to time
  const uint32_t* begin;     // row i has entries begin[i] .. begin[i + 1] - 1...
  const uint32_t* columns;   // ...in these columns, ascending
  uint32_t entry_count;
  const uint32_t* time_rows;  // rows that depend on time
  uint32_t time_count;
} ModelStiff;

/// The compiled equations of one product mode. Immutable.
typedef struct ModelMode {
  uint32_t id;  // distinct equations have distinct ids within one provider
  uint32_t state_count;
  const uint32_t* state_env;  // environment index of each state
  const ModelVarMode* vars;   // per variable
  uint32_t held_count;        // undetermined variables that equations read
  uint32_t first_held;        // the first of them
  ModelProgram rhs;           // derivatives of the states
  ModelProgram full;          // all algebraic values and derivatives...
  const uint32_t* full_env;   // ...and where they go in the environment
  const uint32_t* atoms;      // atoms that matter in this mode (ascending)
  uint32_t atom_count;
  bool shared;  // for all product modes with these equations: `atoms` are all of the
                // model, and the states tell which of them matter
  const uint32_t* equation_atoms;  // atoms that the equations read
  uint32_t equation_atom_count;
  const uint64_t* atom_slice;     // hash of the equations g is computed through; 0: none, g reads
                                  // states, discrete values, parameters and time directly
  const uint64_t* provenance;     // per variable: hash of the equations it is computed through, 0
                                  // where it is not; NULL in models without automata
  const uint8_t* atom_class;      // ModelClass of g_flow
  const uint8_t* slope_class;     // ModelClass of gdot: fixed where g is linear in time
  const uint64_t* atom_states;    // bit i: g_flow reads state i; NULL with more than 64 states
  ModelProgram g;                 // value of g of each of them; pre(x) is read from the environment
  ModelProgram g_flow;            // the same between events, where pre(x) is x
  ModelProgram gdot;              // its total time derivative (0 for atoms that are not continuous)
  const ModelForms* forms;        // outputs of g_flow by polynomials; NULL where there are none
  const ModelImplicit* implicit;  // NULL in explicit modes
  bool relaxed;  // equations of several automata may lack rank, or contradict each other...
  const uint32_t* complementary;  // ...and the relations by which these change their states
  uint32_t complementary_count;
  const ModelImpulse* impulse;  // NULL where nothing can be impulsive
} ModelMode;

/// Gives the compiled equations of product modes. `get` may be called by several threads.
/// What a mode computes from the rates of its states, with these read from the environment: as they
/// are where something that the equations do not have acts on the states too.
typedef struct ModelRates {
  ModelProgram program;
  const uint32_t* env;       // where its outputs go: algebraic values, then...
  uint32_t algebraic_count;  // ...rates themselves, from the other rates
} ModelRates;

/// An expression whose value is not finite though what it is made of is.
typedef struct ModelCulprit {
  Span span;       // of its equation
  Str text;        // lives as long as the provider
  bool condition;  // the text is the condition under which the model says that there is no number
  double value;
} ModelCulprit;

typedef struct ModelProvider {
  /// `mode[a]` is the state of automaton a. On failure returns a negative status and `failure`
  /// points at a message that lives as long as the provider.
  SltStatus (*get)(void* user, const uint32_t* mode, const ModelMode** out, const Diag** failure);
  /// For a mode that `get` gave: its Jacobian, made when it is first asked for. May be NULL: none
  /// is known. SLT_ERR_LIMIT: it has too many entries.
  SltStatus (*stiff)(void* user, const uint32_t* mode, const ModelStiff** out);
  /// ... and what it computes from rates; `out` NULL: nothing. May be NULL.
  SltStatus (*rates)(void* user, const uint32_t* mode, const ModelRates** out);
  /// What in the equations of a mode is not finite at these values; false when it is not known. May
  /// be NULL.
  bool (*culprit)(void* user, const uint32_t* mode, const double* env, double t, ModelCulprit* out);
  void* user;
  /// Asked between steps, `evaluations` of the mode's equations after the last time; may attach
  /// code to its programs, and to those of `stiff` if a stiff method is at work (NULL: none).
  /// Returns the number of evaluations to wait before asking again. May be NULL.
  uint64_t (*tune)(void* tuner, const ModelMode* mode, const ModelStiff* stiff,
                   uint64_t evaluations);
  void* tuner;
} ModelProvider;

typedef void ModelVisitFn(void* user, uint32_t index);
/// Visit the states that g_flow of an atom of the mode reads, some more than once; false where they
/// are not known (exec.c).
bool model_mode_reads(const ModelMode* mode, uint32_t index, ModelVisitFn* visit, void* user);
/// Whether an output reads an input at `first_env` of the environment or behind it.
bool model_output_reads_input(const ModelProgram* program, uint32_t output, uint32_t first_env);

/// What the values that a mode computes are computed from (origins.c).
typedef struct ModelOrigins {
  const ModelProgram* program;  // `full` of the mode; NULL: not found yet
  uint32_t mode_id;
  uint32_t* of;      // three per instruction: who computed its operands, instruction + 1; 0: a leaf
  uint32_t* last;    // per register: who computed it last, likewise
  uint32_t* env;     // per register: what it holds a copy of; MODEL_NONE
  uint32_t* output;  // per place of the environment: the register it comes from; MODEL_NONE
  uint32_t *stack, *seen, stamp;
} ModelOrigins;
/// `room` has place for model_origins_room() numbers.
void model_origins_find(ModelOrigins* o, const ModelMode* mode, uint32_t env_count, uint32_t* room);
size_t model_origins_room(const ModelProgram* program, uint32_t env_count);
/// Visit the places of the environment that a computed value comes from, some more than once.
/// Whether it is solved for together with others; then these are all that the program reads.
bool model_origins_visit(ModelOrigins* o, uint32_t env, ModelVisitFn* visit, void* user);

#define MODEL_RANK_NONE UINT32_MAX

/// The smallest solution of a x = b (n rows of n, both overwritten) into x. Returns the rank, or
/// MODEL_RANK_NONE when the equations contradict each other: those beyond the rank may be off by
/// rounding relative to `size`, the size of b. Small is what is so times `weight` (NULL: 1).
/// Unknowns that `yields` names (NULL: none) are small before others are. `order` is work space for
/// n numbers.
uint32_t model_rank_solve(uint32_t n, double* a, double* b, double size, const double* weight,
                          const bool* yields, double* order, double* x);

#endif

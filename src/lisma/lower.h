// SPDX-License-Identifier: MIT
//
// What the parts of the resolver and of lowering share: syntax tree to IR.
//
// The work goes in four passes. (1) resolve_decl.c collects what has to be known before anything
// else can be read: constants, macros, tables, automata and their states. (2) lower_block() walks
// all statements once; a `for` walks its body once per instance with the index bound to a number.
// Every expression goes straight into hash-consed shapes, so no tree is kept per instance. A name
// that is nothing else becomes a variable at its first use. (3) lower_finish.c decides what can
// only be seen at the end: which variables are discrete, which names nothing declares, which states
// cannot be reached. (4) The model is put into canonical order and verified.
//
// Piecewise functions outside of actions become SELECT over switches (lower_switch.c); a switch is
// shared by all places with the same condition, so that one surface stays one surface.
#ifndef SALTUS_LISMA_LOWER_H
#define SALTUS_LISMA_LOWER_H

#include "lisma/lisma.h"
#include "lisma/map.h"
#include "lisma/units.h"

#define LOWER_INSTANCES_MAX 20000000u     // instances of all loops together
#define LOWER_LEAVES_MAX    50000000u     // names and numbers in all expressions together
#define LOWER_ENERGY_NAME   "{energy}"    // of the energy among the macros
#define LOWER_DEPTH_MAX     2000u         // nodes on a path, with macros and constants followed
#define LOWER_INDEX_MAX     1000000000.0  // largest value of an index
#define LOWER_ORDER_MAX     15u           // highest derivative

// larger models are written by loops, where a slip in a name shows in many places
#define LOWER_STRAY_VARS_MAX 5000u

typedef enum ValueType { VALUE_BAD, VALUE_NUMBER, VALUE_CONDITION } ValueType;

enum {
  VALUE_VARIES = 1,  // reads time, a variable, a mode
  VALUE_INDEX = 2,   // reads a loop index
  VALUE_PARAM = 4,   // reads a constant
  VALUE_WHEN = 8,    // reads pre() or post()
  VALUE_NEVER = 16,  // a condition that is false whatever the variables are
  VALUE_ALWAYS = 32  // ... that is true
};

/// A lowered expression in the term under construction.
typedef struct Value {
  ExprId e;
  uint8_t type;  // ValueType; VALUE_BAD: an error was reported
  uint8_t flags;
} Value;

// ---------------------------------------------------------------------------------------------
// names

typedef enum SymbolKind {
  SYM_NONE,
  SYM_PARAM,     // index: constants, which are the model's parameters
  SYM_MACRO,     // index: macros
  SYM_DATA,      // index: data of the model
  SYM_VAR,       // index: vars of the model
  SYM_FUNCTION,  // index: functions of the model
  SYM_BUILTIN    // index: Builtin
} SymbolKind;

typedef enum Builtin {
  BUILTIN_PI,
  BUILTIN_E,
  BUILTIN_G,
  BUILTIN_TIME,
  BUILTIN_T0,
  BUILTIN_TRUE,
  BUILTIN_FALSE,
  BUILTIN_INF,
  BUILTIN_NAN
} Builtin;

#define BUILTIN_NAME_COUNT 11  // time has three

/// What a name means; beside the name table, by name id. Values, automata and states have names
/// of their own: a state may be called like a variable.
typedef struct Symbol {
  uint8_t kind;      // SymbolKind
  bool is_variable;  // declared as one somewhere in the text; known before it is one
  bool is_index;     // of some loop
  bool told;         // a message said what is wrong with it
  uint32_t index;
  uint32_t automaton;  // index + 1 of the automaton of this name, 0 for none
  uint32_t owner;      // index + 1 of an automaton that has a state of this name
} Symbol;

/// A loop index and its value.
typedef struct Binding {
  uint32_t name;
  bool scaled;   // its loop is one of those that are run for a few instances only (lower_scale.c)
  uint16_t sum;  // nesting depth of the sum or product whose innermost index it is; 0: of none
  double value;  // a whole number
} Binding;

/// The values of a range.
typedef struct RangeValues {
  int64_t first, last;  // empty when last < first
  bool scaled;          // they are those of a sample
} RangeValues;

/// The indices in force at a place, innermost last.
typedef struct Bindings {
  Binding* data;
  uint32_t count;
} Bindings;

/// What to return to behind a definition.
typedef struct BindingMark {
  uint32_t base, count;
  struct CallFrame* frame;  // names of the function around
} BindingMark;

/// How a written name becomes a name: by its address in the tree.
typedef struct NameRef {
  const char* written;  // head of the name that this was made for; NULL: not made yet
  uint32_t head;        // name id of a plain name
  uint32_t root;        // node of the index tree for a name with indices
  // the only index is a loop index and a number: x_[i], x_[i-1]
  uint32_t index;  // name id of the loop index; 0: anything else
  int32_t offset;
} NameRef;

/// Names that differ only in the values of their indices, one level per index: `dense[value]` is
/// the next level, or the name id at the last one. Large values are in Lower.sparse.
typedef struct IndexNode {
  BASE_VEC(uint32_t) dense;
} IndexNode;

typedef enum EvalState { EVAL_NEW, EVAL_BUSY, EVAL_DONE, EVAL_FAILED } EvalState;

typedef struct Constant {
  const AstExpr* value;
  uint32_t name;
  Span span;  // of the name
  Bindings bindings;
  bool overridden;
  uint8_t state;  // EvalState
  double number;  // with EVAL_DONE
} Constant;

typedef struct Macro {
  const AstExpr* value;
  uint32_t name;
  Span span;
  Bindings bindings;
  bool busy;           // being inlined: a use of it now is a cycle
  bool failed;         // an error inside was reported
  uint32_t memo_term;  // number of the term in which `memo` is valid
  uint32_t memo_scope;
  Value memo;
} Macro;

typedef enum CheckState { CHECK_NEW, CHECK_BUSY, CHECK_DONE } CheckState;

/// A function of the model, or one of the language that is written in it (prelude.def).
typedef struct UserFunction {
  AstFunction* ast;
  uint32_t name;
  Span span;
  bool prelude;
  uint8_t check;  // CheckState
} UserFunction;

typedef struct CallFrame CallFrame;

/// An argument or a local name of a function: an expression and the place it is read in. It is
/// lowered where it is used, once per term.
typedef struct Local {
  uint32_t name;
  const AstExpr* value;
  const CallFrame* frame;  // around it: of the caller for an argument, own for a local name
  uint32_t base, count;    // indices in force there
  bool busy;               // being lowered: a use of it now is a cycle
  uint32_t memo_term, memo_scope;
  Value memo;
} Local;

#define FUNCTION_NAMES_MAX 32u       // arguments and local names
#define FUNCTION_DEPTH_MAX 100u      // functions inside of functions
#define FUNCTION_WORK_MAX  5000000u  // calls from one call, each counted with those around it

/// A function that is being written out.
struct CallFrame {
  const CallFrame* parent;  // the call around it
  uint32_t function;
  BindingMark mark;  // what to return to
  uint32_t count;
  Local locals[FUNCTION_NAMES_MAX];
};

/// What to return to behind an argument.
typedef struct LocalMark {
  BindingMark bindings;
  CallFrame* frame;
} LocalMark;

/// A call that was written out, whose arguments were all numbers. Another one with the same
/// arguments in the same term is the same expression.
typedef struct KnownCall {
  const ExprId* args;
  uint32_t scope;
  Value value;
} KnownCall;

/// What is known about a variable beside IrVar; by variable index.
/// A name that belongs to an element of an array of parts, tank[3].h, and where it was first met.
typedef struct ElementMember {
  uint32_t name;
  uint32_t length;  // of the name of the element
  Span span;
} ElementMember;

typedef struct VarInfo {
  uint32_t first;  // smallest place where it is written
  uint32_t flags;
  uint32_t uses;    // in equations
  uint32_t start;   // index + 1 of its initial value in the model's starts
  uint32_t group;   // body in which it was last given a value...
  uint32_t action;  // ... and where, in Lower.actions
} VarInfo;

enum {
  VAR_IN_EQUATION = 1,
  VAR_STRONG = 2,  // under ' in an equation, or alone on a left side
  VAR_FIXED = 4,   // has x(t0) = e
  VAR_GUESS = 8,   // has x(t0) ~ e
  VAR_SET = 16,    // an action assigns it
  VAR_HIDDEN = 32,
  VAR_DETERMINED = 64,  // by an equation that does not name it as its result
  VAR_HELPER = 128      // made for a call: not shown
};

// ---------------------------------------------------------------------------------------------
// expressions

/// Where an expression stands.
typedef enum ScopeKind {
  SCOPE_EQUATION,  // piecewise functions become located switches
  SCOPE_GUARD,     // conditions that are located: guards, `if`, invariants
  SCOPE_ACTION,    // evaluated in the instant
  SCOPE_START,
  SCOPE_CONSTANT,  // only numbers, indices and constants
  SCOPE_SCHEDULE,  // ... and t0
  SCOPE_LITERAL    // evaluated as it stands: energy, recorded macros
} ScopeKind;

typedef struct Scope {
  uint8_t kind;        // ScopeKind
  bool literal;        // inside noEvent(..): no switches
  bool events;         // SCOPE_GUARD: a guard, which may read pre() and post()
  bool in_atom;        // inside a relation that is located: continuous functions stay as they are
  bool equation;       // variables found here stand in an equation
  bool entry_is_now;   // t0 is the present time (entry actions)
  uint32_t automaton;  // whose entry time t0 is; IR_NONE for the start of the run
  IrTerm guard;        // SCOPE_ACTION: the condition on which it happens, where there is just one
} Scope;

/// Attributes of the atoms made by a condition.
typedef struct AtomStyle {
  uint8_t type;  // IrAtomType
  bool bipolar;
  bool shared;   // atoms of switches: equal ones are one
  bool kink;     // what it switches is continuous there
  bool inside;   // already inside `[ ]`
  bool judge;    // find out whether it can hold at all: guards
  bool negated;  // what is wanted is that it does not hold
  Str text;      // of a relation that is not written out
  IrTerm eps, gamma;
} AtomStyle;

// ---------------------------------------------------------------------------------------------
// automata

/// A state of a declared automaton. All of them stand in one list.
typedef struct StateInfo {
  uint32_t name;
  uint32_t automaton;
  uint32_t index;             // inside the automaton; 0 is init
  uint32_t next;              // next state of the automaton in `states`, IR_NONE at the end
  Span span;                  // of its name at the first declaration
  const AstState* with_body;  // the declaration that has the body; NULL when there is none yet
  const AstName* like_name;
  bool edits;      // its body changes equations
  bool split;      // declared with different resets: they belong to the transitions
  bool alike;      // ... although they are the same: each asks the relations of its own guard
  uint32_t ways;   // declarations that lead to it
  bool is_parent;  // some `like` names it
  bool suspect;    // a mistake in its heading was told: say nothing more about how it is reached
  uint32_t like;   // in `states`, IR_NONE without
  uint32_t body;   // of the model, IR_NONE when it edits nothing
  uint32_t ir;     // in the model's states
} StateInfo;

typedef struct AutomatonInfo {
  uint32_t name;
  Span span;
  uint32_t first, last, count;  // its states
  bool yields;                  // to impacts
  uint32_t wish;                // variable + 1: where an `after` sends it; 0 when none does
} AutomatonInfo;

/// Where a statement stands.
typedef struct Site {
  uint32_t body;       // body that equations go into
  uint32_t automaton;  // of the enclosing state: model index, IR_NONE at top level
  uint32_t owner;      // automaton that states are declared in; IR_NONE for the unnamed one
  bool actions;        // initial values are actions: inside a state or `at`
  bool in_at;
  uint32_t fixed_if;  // depth of `if` blocks decided at compilation around this place
  IrTerm guard;       // the condition on which the actions happen, where there is just one
} Site;

/// An equation or deletion written inside an `if` that was decided at compilation: it edits the
/// body it stands in.
typedef struct FixedEdit {
  uint32_t body;
  uint32_t depth;
  uint32_t label;     // name id, 0: by left side
  uint32_t equation;  // index, IR_NONE for a deletion
} FixedEdit;

/// Something that all places with the same term share.
typedef struct Shared {
  IrTerm term;
  uint32_t extra;  // more of the key
  uint32_t hash;
  uint32_t index;  // what it is: atom, automaton, variable
} Shared;

typedef struct SharedTable {
  uint32_t* slots;  // open addressing: index + 1 in items, 0 = free
  uint32_t slot_count;
  BASE_VEC(Shared) items;
} SharedTable;

/// Tables that turn the number of a cell into what holds in it; IR_NONE before they are made.
typedef struct TableCells {
  uint32_t knots, values, slopes;  // by number of the cell
  uint32_t places;                 // from the argument to the number
} TableCells;

#define EXPERIMENT_KEY_COUNT 14

/// A name whose use can be judged only at the end.
typedef struct NameUse {
  uint32_t name;
  Span span;
} NameUse;

/// The term that goes on behind a nested one.
typedef struct TermFrame {
  IrTermBuilder builder;
  uint32_t term_number;
} TermFrame;

// ---------------------------------------------------------------------------------------------

/// A model that is lowered for a few instances of its loops, so that the others can be told from
/// them (lower_scale.c).
typedef struct Scale {
  Str name;             // of the constant that bounds the loops; empty: a number
  double size;          // its value
  double sample;        // what it is here, in bounds and indices alone
  uint32_t placing;     // depth of bounds and indices being evaluated
  uint32_t conditions;  // depth of conditions being lowered
  double fixed;         // largest index that does not count
  double instances;     // of all loops of the sample
  double offset;        // largest distance of an index from the one that counts
  bool failed;          // instances may differ in more than numbers and places
} Scale;

/// A priority that is written: of the transition or automaton with this index.
typedef struct PriorityOf {
  uint32_t index;
  double value;
} PriorityOf;

/// A port on one side of the border of its part, and the ports it is joined with.
typedef struct PortNode {
  uint32_t first, across, through;  // its names in port_names, and how many
  uint32_t root;                    // of its set
  uint32_t next;                    // in the list of its set, in order of appearance; IR_NONE
  bool outer;                       // seen from inside of its part
  bool joined;
  bool open;                // equations of the model say what goes through it
  uint8_t use;              // AstPortUse
  const AstPort* terminal;  // a port of the model as a whole; NULL: it is inside
  Span span;
} PortNode;

/// Names and what they mean.
typedef struct LowerNames {
  BASE_VEC(NameRef) refs_written;  // by the number of an AstName
  Map refs;  // address of an AstName without a number -> index + 1 in ref_list
  BASE_VEC(NameRef) ref_list;
  NameTable template_names;  // texts of names with holes for the values of the indices
  Map templates;             // template -> index + 1 in index_nodes
  const LismaUnits* units;   // NULL in models without
  bool open;                 // names that nothing determines are no mistake
  Map pasted_units;          // name with an index -> what the units call it
  LismaMeetings meetings;    // spellings that gave one name, where there are units
  Map met;                   // family, member: is among them
  BASE_VEC(IndexNode) index_nodes;
  BASE_VEC(ElementMember) members;
  Map sparse;  // (node, value) -> child
  BASE_VEC(Symbol) symbols;
  BASE_VEC(Constant) constants;
  BASE_VEC(Macro) macros;
  BASE_VEC(VarInfo) vars;
  BASE_VEC(Binding) bindings;
  uint32_t binding_base;  // those before it belong to the place that uses a definition
  uint32_t place_offset, place_line, place_column;  // last place that was named
  TextBuffer text;                                  // for pasting names
  bool shadow_meant[BUILTIN_NAME_COUNT];            // by a `const`: nobody needs to be told
  Span shadowed[BUILTIN_NAME_COUNT];  // where the model declares such a name; empty if not
  Map place_names;                    // name id -> how often it was wanted again
} LowerNames;

/// A value that a name is given somewhere.
typedef struct NamedValue {
  uint32_t name;  // name id of the head
  uint32_t next;  // place + 1 of the next one that copies the same name
  const AstExpr* value;
} NamedValue;

/// Functions of the text and of the prelude, and the parts that were read.
typedef struct LowerFunctions {
  Map ids;  // name id -> function + 1
  BASE_VEC(UserFunction) user;
  Map prelude;  // name id -> user function + 1; filled when first needed
  bool prelude_read;
  CallFrame* frame;      // the function being written out; NULL outside of all
  uint32_t depth, work;  // calls around the present place; since the outermost one
  Map results;           // term and function, arguments -> known call + 1
  BASE_VEC(KnownCall) known;
  Map logical;  // name id of a head, with `[` behind it that of all its indices: given a condition
  BASE_VEC(NamedValue) copies;         // values that may be conditions under another name
  BASE_VEC(const AstInstance*) parts;  // all instances that were read
  Map parts_seen;
  Map elements;                 // name id of an element of an array of parts -> 1
  const AstInstance* instance;  // the part whose statements are read; NULL outside of all
} LowerFunctions;

/// Automata, their states, and the body that is being read.
typedef struct LowerAutomata {
  BASE_VEC(AutomatonInfo) all;  // as numbered in the model, which adds switches behind them
  BASE_VEC(StateInfo) states;
  Map state_ids;   // (automaton, name id) -> index + 1 in states; large automata only
  Map mode_tests;  // (automaton, state) -> index + 1
  BASE_VEC(uint32_t) switch_tests;  // automaton -> index + 1 of the test of its state 1
  uint32_t main;               // model index of the unnamed automaton, IR_NONE when there is none
  BASE_VEC(IrAction) actions;  // of the body being read
  uint32_t action_group;       // counts bodies
  BASE_VEC(IrGoto) gotos;      // of the `at` being read
  Str stop;                    // of the body being read
  ExprId invariant;            // of the state being read, in the term under construction
  Span invariant_span;

  BASE_VEC(PriorityOf) transition_priorities, automaton_priorities;
  uint32_t met;  // automata whose statements were read: their order in the text
} LowerAutomata;

/// The term under construction, and what terms share.
typedef struct LowerTerms {
  IrTermBuilder builder;
  uint32_t number;  // of the term under construction, for memos
  uint32_t count;
  Scope scope;
  const AstExpr* zeno_operand;  // the word `zeno` in the guard at hand; NULL when it is not there
  bool level_is_known;          // of the friction at hand: a number, whatever happens
  SharedTable shared_atoms;
  SharedTable switches;
  SharedTable cells;
  Map relation_texts;           // address of a relation in a part -> name id of its text
  BASE_VEC(TableCells) tables;  // by data index
  BASE_VEC(FixedEdit) fixed_edits;
  Map starts;  // (variable, order) -> index + 1 in starts; derivatives only
} LowerTerms;

/// Connections.
typedef struct LowerPorts {
  BASE_VEC(PortNode) all;
  BASE_VEC(uint32_t) names;  // name ids of variables
  Map ids;                   // (name id of the first variable, outer) -> index + 1 in ports
} LowerPorts;

/// How far the walk over the text is, and its limits.
typedef struct LowerWalk {
  Map reported;  // (code, span): a mistake in a loop is told once
  Map refused;   // address of a loop that is too large, or whose bounds are wrong
  Diag ignored;  // stands in for a message that is not shown
  uint32_t depth;
  uint64_t work;  // nodes of syntax trees visited
  uint64_t instances;
  uint32_t reduced;  // terms of sums and products so far
  uint16_t sums;     // sums and products around
  bool selected;     // the innermost index of the innermost sum or product was asked for
  uint32_t max_instances, max_leaves;
  bool stopped;    // a limit was hit: leave as fast as possible
  bool uncertain;  // some equation could not be read: do not conclude from what is missing
} LowerWalk;

/// What the text says about the run.
typedef struct LowerSettings {
  Span energy_span;
  Span experiment_keys[EXPERIMENT_KEY_COUNT];  // where each setting is given; empty if it is not
  BASE_VEC(NameUse) outputs;                   // columns asked for by `out`
  BASE_VEC(NameUse) derivatives;               // derivatives read or set outside of equations
} LowerSettings;

typedef struct Lower {
  IrModel* m;
  Arena* arena;    // of the model
  Arena* scratch;  // dies after lowering
  const Source* source;
  const LismaOptions* options;
  DiagList* diags;
  const AstModel* ast;
  LowerNames names;
  LowerFunctions functions;
  LowerAutomata automata;
  LowerTerms terms;
  LowerPorts ports;

  // state of the walk
  Scale* scale;  // NULL: all instances are made
  LowerWalk walk;
  LowerSettings settings;
} Lower;

// lower.c -------------------------------------------------------------------------------------

/// Report once per place. Never NULL.
Diag* lower_report(Lower* l, DiagCode code, Span span, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
Str lower_name(const Lower* l, uint32_t name);
/// Text of a number, in scratch memory.
Str lower_number_text(Lower* l, double value);
/// Whether a name is that of a member of a part: `upper.A`.
bool lower_is_member(Str name);
/// " with i = 3, j = 4": the loop indices in force; empty outside of loops.
Str lower_instance_text(Lower* l);
/// "if@LINE:COL[i=3]" with "#2" behind it when it is taken.
uint32_t lower_place_name(Lower* l, const char* prefix, Span span);
/// "after:LINE[i=3]", for what people see, with "#2" behind it when it is taken.
uint32_t lower_line_name(Lower* l, const char* prefix, Span span);
/// Count one visited node; false when the limits are exceeded, which is reported.
bool lower_enter(Lower* l, Span span);
void lower_leave(Lower* l);

// resolve.c -----------------------------------------------------------------------------------

void resolve_init(Lower* l);
/// Find the names that stand for conditions, once functions and macros are known.
void resolve_logical(Lower* l);
/// Whether a name is given conditions as its values, in any spelling of it.
bool lower_is_logical(Lower* l, const AstName* name);
/// Name id of a written name with its indices replaced; 0 after an error.
uint32_t resolve_name(Lower* l, const AstName* name);
/// Name id of a plain name or of a word.
uint32_t resolve_plain(Lower* l, const AstName* name);
Symbol* resolve_symbol(Lower* l, uint32_t name);
/// Give a name its meaning as a value.
void resolve_define(Lower* l, uint32_t name, SymbolKind kind, uint32_t index);
/// The innermost loop index of this name, or NULL.
const Binding* resolve_binding(Lower* l, uint32_t name);
/// The variable of this name, made if it is new. `span`: where it is written.
uint32_t resolve_var(Lower* l, uint32_t name, Span span);
/// Note a use of the derivative of `var` outside of equations.
void resolve_note_derivative(Lower* l, uint32_t var, Span span);
/// A variable beside whatever its name means until now, determined by an equation.
uint32_t resolve_new_var(Lower* l, uint32_t name, Span span);
/// A hidden discrete variable.
uint32_t resolve_hidden_var(Lower* l, uint32_t name, Span span);
/// "a constant", "a macro"...
const char* resolve_kind_text(uint32_t kind);
Span resolve_symbol_span(const Lower* l, Symbol symbol);
Bindings resolve_keep_bindings(Lower* l);
/// A definition sees the indices around it, not those of the place that uses it.
BindingMark resolve_enter_bindings(Lower* l, Bindings bindings);
void resolve_leave_bindings(Lower* l, BindingMark mark);
void resolve_bind(Lower* l, uint32_t name, double value);
void resolve_bind_in(Lower* l, uint32_t name, double value, const RangeValues* range);
void resolve_unbind(Lower* l);

// lower_scale.c -------------------------------------------------------------------------------

/// Lower the model for a few instances of its largest loops and extend it to all of them. False
/// when that cannot be done, which is not an error; nothing was reported then.
bool lower_by_samples(Lower* l);
/// The passes over the whole model, with its verification; in lower.c.
bool lower_whole(Lower* l, Str* why);
/// Give up on samples, if this is one: something may be different in instances not looked at.
void scale_fail(Lower* l);
/// A loop index is read as a number.
void scale_note_index(Lower* l, const Binding* binding);
/// A number stands inside of a bound or an index.
void scale_note_number(Lower* l, double number);
/// Something is declared that may not depend on a loop that is sampled.
void scale_note_declaration(Lower* l);
/// The value of an index or bound that counts: i, i + 1, N, N - 1. False: it is something else.
bool scale_place(Lower* l, const AstExpr* expr, double* value);

// resolve_near.c ------------------------------------------------------------------------------

/// The known name that is most like this one; empty when none is near.
Str resolve_near_value(Lower* l, Str name);
/// Whether the arrays of parts have all elements whose members the model names.
bool resolve_check_elements(Lower* l);
Str resolve_near_state(Lower* l, uint32_t automaton, Str name);
Str resolve_near_automaton(Lower* l, Str name);
/// Among the labels of global equations.
Str resolve_near_label(Lower* l, Str name);
Str resolve_near_word(Str name, const char* const* words, size_t count);
/// Report a name that nothing declares, with the best hint there is.
void resolve_unknown(Lower* l, uint32_t name, Span span, bool constant_needed);

// resolve_decl.c ------------------------------------------------------------------------------

void resolve_declarations(Lower* l);
/// A state of an automaton by name, in `states`; IR_NONE when there is none.
uint32_t resolve_state(const Lower* l, uint32_t automaton, uint32_t name);
/// Constants to parameters, macros to recordable expressions.
void resolve_lower_constants(Lower* l);
void resolve_lower_macros(Lower* l);

// resolve_eval.c ------------------------------------------------------------------------------

/// Value of an expression over numbers, indices and constants; marks the constants as structural.
/// False after reporting what is wrong.
bool resolve_eval(Lower* l, const AstExpr* expr, double* value);
/// ... that must be a whole number not larger than LOWER_INDEX_MAX in size; `what` names it.
bool resolve_eval_whole(Lower* l, const AstExpr* expr, const char* what, DiagCode code,
                        double* value);
/// ... as a bound of a loop or an index: where the sizes of samples count. `scaled`: whether they
/// do here; may be NULL.
bool resolve_eval_place(Lower* l, const AstExpr* expr, const char* what, DiagCode code,
                        double* value, bool* scaled);
/// Value of a constant; false when it is in error, which was reported.
/// Whether an expression says itself that it may be infinite: by `inf`, by `nan`, or by a constant
/// that is.
bool resolve_names_unbounded(Lower* l, const AstExpr* e);
bool resolve_constant(Lower* l, uint32_t constant, double* value);
/// Follow a use of a macro: false on a cycle, which is reported.
bool resolve_enter_macro(Lower* l, uint32_t macro, Span use, BindingMark* mark);
void resolve_leave_macro(Lower* l, uint32_t macro, BindingMark mark);
/// Value of a term that reads numbers and parameters only.
bool resolve_term_value(Lower* l, IrTerm term, double* value);

// resolve_loop.c ------------------------------------------------------------------------------

typedef void LoopBody(Lower* l, const AstBlock* body, void* user);

/// Declare the constants of a block that has not been walked yet, for as long as it is weighed.
uint32_t resolve_try_constants(Lower* l, const AstBlock* block);
void resolve_forget_constants(Lower* l, uint32_t mark);

/// Run `body` once for every value of a `for`. Reports limits and bad bounds.
void resolve_loop(Lower* l, const AstStatement* loop, LoopBody* body, void* user);

typedef enum LoopFit {
  LOOP_REFUSED,  // and reported
  LOOP_OPEN,     // some bounds inside of it are made of constants that are declared elsewhere
  LOOP_FITS
} LoopFit;

/// Check the size of a loop before any work.
LoopFit resolve_loop_fits(Lower* l, const AstStatement* loop);
/// Terms that a sum or product has, with those inside of it; an estimate from above where a range
/// depends on another index.
double resolve_terms(Lower* l, const AstExpr* reduction);

bool resolve_range(Lower* l, const AstRange* range, RangeValues* values);

// resolve_match.c -----------------------------------------------------------------------------

/// Decide which variables are discrete and which names nothing determines. On a canonical model.
void resolve_kinds(Lower* l);

// lower_expr.c --------------------------------------------------------------------------------

TermFrame lower_begin(Lower* l);
/// Root {0} gives an absent term.
IrTerm lower_end(Lower* l, TermFrame frame, ExprId root);
/// A term of its own from the present row; construction goes on.
IrTerm lower_snapshot(Lower* l, ExprId root);
ExprId lower_leaf(Lower* l, IrLeaf leaf);
ExprId lower_op(Lower* l, IrOp op, ExprId a, ExprId b);
/// An expression that must be a number, in the term under construction.
Value lower_value(Lower* l, const AstExpr* expr);
/// ... or a condition, which is 1 or 0: a whole side of an equation, a value, an argument.
Value lower_scalar(Lower* l, const AstExpr* expr);
/// What memos depend on beside the term.
uint32_t lower_scope_key(const Lower* l);
/// A whole term in the given scope; absent after errors. `flags` may be NULL.
IrTerm lower_term(Lower* l, const AstExpr* expr, Scope scope, uint8_t* flags);
/// A variable with its derivative order, as the left side of an equation, an action or an
/// argument of pre(): `x`, `x'`, `der(x, 2)`. False without a message when `expr` is no such thing.
bool lower_variable(Lower* l, const AstExpr* expr, uint32_t* var, uint32_t* order);
/// The variable that a reset or initial value speaks of; reports misuse.
bool lower_target(Lower* l, const AstName* name, uint32_t order, bool action, uint32_t* var);
Value lower_value_bad(void);

// lower_call.c --------------------------------------------------------------------------------

typedef struct Function {
  const char* name;
  uint8_t op;  // IrOp
  uint8_t arity;
  uint8_t kind;  // FunctionKind
} Function;

typedef enum FunctionKind {
  FUNCTION_PLAIN,
  FUNCTION_PIECEWISE,  // abs min max: continuous, with a kink
  FUNCTION_JUMPING,    // sign floor ceil mod
  FUNCTION_RANDOM,
  FUNCTION_SPECIAL  // der pre post noEvent table
} FunctionKind;

const Function* lower_find_function(Lower* l, const AstName* callee);
void lower_init_functions(Lower* l);
Value lower_call(Lower* l, const AstExpr* expr);
/// Derivative order of `der(x, n)`.
bool lower_der_order(Lower* l, const AstExpr* expr, uint32_t* order);
bool lower_has_arity(Lower* l, const AstExpr* call, const Function* function);

// lower_function.c ----------------------------------------------------------------------------

void lower_declare_function(Lower* l, const AstFunction* function);
/// The function of the model that a call names, or one of the prelude; IR_NONE when it is neither.
uint32_t lower_find_user_function(Lower* l, const AstName* callee);
/// Mistakes in functions, whether something calls them or not: names and functions that are not
/// there, and functions that call themselves.
void lower_check_functions(Lower* l);
/// Mistakes in parts that nothing is made of; `written` is the model before its expansion.
void lower_check_unused_parts(Lower* l, const AstModel* written);
/// Tell of a call of what is no function.
void lower_check_callee(Lower* l, const AstExpr* call);
/// A function that is called inside of itself.
void lower_report_recursion(Lower* l, const UserFunction* f, const AstExpr* call);
/// Begin and end writing out a call. False after reporting.
bool lower_enter_function(Lower* l, const AstExpr* call, uint32_t function, CallFrame* frame);
void lower_leave_function(Lower* l, CallFrame* frame);
/// The value of a call of such a function, as a number or as a condition.
Value lower_user_call(Lower* l, const AstExpr* call, uint32_t function);
/// The local name that a plain name means; NULL when it is none.
Local* lower_local(Lower* l, const AstName* name);
/// Go to the place of a local name's value. False on a cycle, which is reported.
bool lower_enter_local(Lower* l, Local* local, LocalMark* mark);
void lower_leave_local(Lower* l, Local* local, LocalMark mark);
Value lower_local_value(Lower* l, Local* local, uint32_t order, Span span);
/// Whether an expression is a condition, names and functions looked up.
bool lower_means_condition(Lower* l, const AstExpr* expr);

// lower_connect.c -----------------------------------------------------------------------------

void lower_port(Lower* l, const AstStatement* statement);
void lower_connect(Lower* l, const AstStatement* statement);
/// The equations of all connections, behind the last statement.
void lower_connections(Lower* l);

// lower_alike.c -------------------------------------------------------------------------------

/// Warn of names that look like others and are not.
void lower_check_alike(Lower* l);

// lower_delay.c -------------------------------------------------------------------------------

Value lower_delay(Lower* l, const AstExpr* expr);
/// Helper variables are no columns; on a model in its final order.
void lower_hide_helpers(Lower* l);

// lower_cond.c --------------------------------------------------------------------------------

/// Whether an expression is a condition by its form; a name is not looked up.
bool lower_is_condition(const AstExpr* expr);
Value lower_condition(Lower* l, const AstExpr* expr, AtomStyle style);
/// Every relation in it is inside noEvent.
bool lower_is_unlocated(const AstExpr* expr);
/// Truth of an automaton's being in a state.
ExprId lower_mode_leaf(Lower* l, uint32_t automaton, uint32_t state);
/// g of `a rel b` in the term under construction. For `!=` it is that of `==`.
ExprId lower_oriented(Lower* l, IrOp relation, ExprId a, ExprId b, uint8_t* atom_relation);
uint32_t lower_add_atom(Lower* l, IrTerm g, uint8_t relation, AtomStyle style, Span span);
/// The entry for an equal term, or NULL. A term that is found is taken out of the model again.
const Shared* lower_find_shared(Lower* l, SharedTable* table, IrTerm term, uint32_t extra);
void lower_add_shared(Lower* l, SharedTable* table, IrTerm term, uint32_t extra, uint32_t index);

// lower_switch.c ------------------------------------------------------------------------------

/// True while the condition in the present term holds: the state of a shared switch.
ExprId lower_switch(Lower* l, ExprId condition, Span span);
Value lower_conditional(Lower* l, const AstExpr* expr);
/// abs, min, max, sign, floor, ceil, mod of lowered arguments.
Value lower_piecewise(Lower* l, const Function* function, const Value* args, Span span);
Value lower_table(Lower* l, uint32_t data, Value argument, Span span);
/// The same, where reading it beyond its ends is an error.
Value lower_fenced_table(Lower* l, uint32_t data, Value argument, Span span);
/// A new switch automaton without bodies; returns its index.
uint32_t lower_add_switch(Lower* l, IrTerm condition, uint32_t parent_body, Span span);

// lower_range.c -------------------------------------------------------------------------------

/// VALUE_NEVER / VALUE_ALWAYS of a relation g, whatever its variables are.
uint8_t lower_range_truth(Lower* l, ExprId g, uint8_t relation);

// lower_block.c -------------------------------------------------------------------------------

void lower_block(Lower* l, const AstBlock* block, const Site* site);
uint32_t lower_add_body(Lower* l, uint32_t automaton, uint32_t state);
void lower_init(Lower* l, const AstStatement* statement, const Site* site);
/// Index + 1 of an initial value in the model's starts; 0 for none.
uint32_t lower_find_start(const Lower* l, uint32_t var, uint32_t order);

// lower_state.c -------------------------------------------------------------------------------

void lower_automata(Lower* l);
void lower_state(Lower* l, const AstStatement* statement, const Site* site);
void lower_automaton(Lower* l, const AstStatement* statement, const Site* site);
void lower_at(Lower* l, const AstStatement* statement);
/// Begin a group of simultaneous actions; move it into the model and return its first one.
void lower_begin_actions(Lower* l);
uint32_t lower_flush_actions(Lower* l);
void lower_goto(Lower* l, const AstStatement* statement);
/// In the term that lower_state() keeps open for it.
void lower_invariant(Lower* l, const AstStatement* statement, const Site* site);
void lower_stop(Lower* l, const AstStatement* statement);
/// A state of an automaton by its written name, in `states`; IR_NONE after reporting.
uint32_t lower_find_state(Lower* l, uint32_t automaton, const AstName* name);
uint32_t lower_find_automaton(Lower* l, const AstName* name);

// lower_override.c ----------------------------------------------------------------------------

/// The value from outside for a constant; NULL when there is none.
const LismaOverride* lower_find_override(Lower* l, Str name);
/// Initial values from outside take the place of those in the text.
void lower_override_starts(Lower* l);

// lower_after.c -------------------------------------------------------------------------------

void lower_after(Lower* l, const AstStatement* statement, const Site* site);
/// `control A.s;`
void lower_state_control(Lower* l, const AstName* automaton, const AstName* state, Span span);
/// True while the equations of a body are in force: all automata around it are in their states.
ExprId lower_body_holds(Lower* l, uint32_t body);
/// The present group of actions happens whenever a condition comes to hold, in an automaton of that
/// name, which is returned. The frame in which the condition stands ends here.
uint32_t lower_entry_resets(Lower* l, uint32_t name, TermFrame frame, ExprId holds, Span span);

// lower_settings.c ----------------------------------------------------------------------------

void lower_attributes(Lower* l, const AstStatement* statement);
void lower_experiment(Lower* l, const AstStatement* statement);
void lower_measure(Lower* l, const AstStatement* statement);
// lower_drawing.c
void lower_animate(Lower* l, const AstStatement* statement);
void lower_control(Lower* l, const AstStatement* statement);
/// Controls name constants and variables: looked at when all are known.
void lower_check_controls(Lower* l);
void lower_check_outputs(Lower* l);

// lower_data.c --------------------------------------------------------------------------------

/// Read the file of a `data` statement into the model; IR_NONE after reporting.
uint32_t lower_data(Lower* l, const AstStatement* statement, uint32_t name);
uint32_t lower_add_data(Lower* l, uint32_t name, const double* x, const double* y, uint32_t count,
                        uint8_t interpolation, Span span);

// lower_finish.c ------------------------------------------------------------------------------

/// Checks and decisions that need the whole model, before it is canonical.
void lower_finish(Lower* l);

/// Names on left sides that look misspelt; the model has no errors.
void lower_warn_of_strays(Lower* l);

#endif

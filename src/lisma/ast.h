// SPDX-License-Identifier: MIT
//
// Syntax tree of a LISMA model.
//
// The tree says what was written, not what it means: no name is resolved, no type is checked, and a
// `for` is one node with its body once, so the size of the tree is proportional to the text. All of
// it lives in the arena given to lisma_parse(); texts (`Str`) point into the source text, which
// must outlive the tree. Lists are plain arrays {data, count}. Every node has the bytes it was read
// from.
//
// Invariants consumers may rely on
// * No path in an expression tree has more than AST_DEPTH_MAX nodes, and blocks nest at most
//   AST_BLOCK_DEPTH_MAX deep: plain recursion is safe. Long sums and products are one AST_CHAIN
//   node each, however many terms they have.
// * Pointers are never NULL unless a comment says so.
// * After a parse without errors the tree holds no AST_ERROR; the statements stand only where the
//   language allows them (placement is checked by the parser, see docs/grammar.md); the arguments
//   of sum, prod and the event types have the right form.
#ifndef SALTUS_LISMA_AST_H
#define SALTUS_LISMA_AST_H

#include "base/base.h"

#define AST_DEPTH_MAX       1000  // nodes on a path of an expression tree
#define AST_BLOCK_DEPTH_MAX 200   // blocks inside blocks
#define AST_NAME_MAX        1000  // bytes of a word or a name in backquotes

/// A list in an arena.
#define AST_LIST(T) \
  struct { \
    T* data; \
    uint32_t count; \
  }

typedef struct AstExpr AstExpr;
typedef struct AstStatement AstStatement;

typedef AST_LIST(AstExpr*) AstExprList;

// ---------------------------------------------------------------------------------------------
// Names

/// `[i+1]` or `[i,j]` inside a name, with the letters or digits glued behind it: `x[i]a` has one
/// index with the tail "a". One subscript pastes (`x_[i]` with i = 3 is x_3), several give the
/// name T[3,4].
typedef struct AstIndex {
  Span span;               // from '[' to ']'
  AstExprList subscripts;  // at least one
  Str tail;                // empty when nothing is glued behind the bracket
  bool element;            // of an array of parts: the name keeps the brackets, tank[3].h
} AstIndex;

typedef AST_LIST(AstIndex) AstIndexList;

typedef struct AstName AstName;

/// A name as written: head, then any number of indices. Most names are a head only. Members of
/// parts are a path of names, which is one name once the parts are expanded (expand.c).
struct AstName {
  Span span;        // including backquotes, indices and tails
  Str head;         // without backquotes
  bool quoted;      // written in backquotes: then never a contextual word (`energy`, `t0`, ...)
  uint32_t number;  // counts the names of a text from 1 on; 0: made, not written
  AstIndexList indices;
  AstName* member;  // what stands behind a '.'; NULL when nothing does
};

typedef AST_LIST(AstName) AstNameList;

// ---------------------------------------------------------------------------------------------
// Expressions: arithmetic and conditions share one grammar, types are checked later

typedef enum AstExprKind {
  AST_ERROR,        // stands where an expression could not be read; only after a reported error
  AST_NUMBER,       // 1.5
  AST_NAME,         // x, x_[i], x', x''
  AST_QUALIFIED,    // NAME.STATE: "automaton NAME is in STATE"; NAME.state: the state it is in;
                    // or a member of a part, which is an AST_NAME once the parts are expanded
  AST_CALL,         // sin(x), der(x, 2), noEvent(expr), x(t0)
  AST_REDUCTION,    // sum(i = 1:N, expr), prod(...)
  AST_CONDITIONAL,  // if(c, a, b)
  AST_ATOM,         // [rel], unilateral[rel], unilateral(eps = 1e-8)[rel]
  AST_UNARY,        // + - !
  AST_POWER,        // a ^ b
  AST_CHAIN         // operands of one precedence level in the order of the text: a - b + c
} AstExprKind;

/// Precedence levels of chains, weakest first.
typedef enum AstLevel {
  AST_LEVEL_IMPLIES,
  AST_LEVEL_OR,
  AST_LEVEL_XOR,
  AST_LEVEL_AND,
  AST_LEVEL_EQUALITY,
  AST_LEVEL_RELATION,
  AST_LEVEL_ADD,
  AST_LEVEL_MULTIPLY
} AstLevel;

/// Operators inside a chain: name, level, canonical text. Word forms (`or and mod`) are not kept.
#define AST_OP_LIST(X) \
  X(AST_OP_IMPLIES, AST_LEVEL_IMPLIES, "implies") \
  X(AST_OP_XOR, AST_LEVEL_XOR, "xor") \
  X(AST_OP_OR, AST_LEVEL_OR, "||") \
  X(AST_OP_AND, AST_LEVEL_AND, "&&") \
  X(AST_OP_EQ, AST_LEVEL_EQUALITY, "==") \
  X(AST_OP_NE, AST_LEVEL_EQUALITY, "!=") \
  X(AST_OP_LT, AST_LEVEL_RELATION, "<") \
  X(AST_OP_LE, AST_LEVEL_RELATION, "<=") \
  X(AST_OP_GT, AST_LEVEL_RELATION, ">") \
  X(AST_OP_GE, AST_LEVEL_RELATION, ">=") \
  X(AST_OP_ADD, AST_LEVEL_ADD, "+") \
  X(AST_OP_SUB, AST_LEVEL_ADD, "-") \
  X(AST_OP_MUL, AST_LEVEL_MULTIPLY, "*") \
  X(AST_OP_DIV, AST_LEVEL_MULTIPLY, "/") \
  X(AST_OP_MOD, AST_LEVEL_MULTIPLY, "%")

typedef enum AstOp {
#define X(name, level, text) name,
  AST_OP_LIST(X)
#undef X
} AstOp;

typedef enum AstUnaryOp { AST_UNARY_PLUS, AST_UNARY_MINUS, AST_UNARY_NOT } AstUnaryOp;

/// Type words of atoms. AST_EVENT_PLAIN is a bare `[rel]`; a relation without brackets is no atom
/// node at all, lowering gives it the plain type. The last two have no word: elements make them.
#define AST_EVENT_LIST(X) \
  X(AST_EVENT_PLAIN, "") \
  X(AST_EVENT_UNILATERAL, "unilateral") \
  X(AST_EVENT_BILATERAL, "bilateral") \
  X(AST_EVENT_ORDINARY, "ordinary") \
  X(AST_EVENT_SHORTLIVING, "shortliving") \
  X(AST_EVENT_NO_EVENT, "noEvent") \
  X(AST_EVENT_PULSE, "pulse") \
  X(AST_EVENT_STRUCK, "struck")

typedef enum AstEvent {
#define X(name, text) name,
  AST_EVENT_LIST(X)
#undef X
} AstEvent;

/// One operand of a chain and the operator in front of it.
typedef struct AstLink {
  AstOp op;      // of the first operand: without meaning
  Span op_span;  // empty for the first operand
  AstExpr* operand;
} AstLink;

typedef AST_LIST(AstLink) AstLinkList;

/// `a` or `a:b`.
typedef struct AstRange {
  Span span;
  AstExpr* first;
  AstExpr* last;  // NULL when the range is one value
} AstRange;

typedef AST_LIST(AstRange) AstRangeList;

/// One loop of a reduction: `i = 1:N`.
typedef struct AstIterator {
  Span span;
  Str variable;
  Span variable_span;
  AstRange range;
} AstIterator;

typedef AST_LIST(AstIterator) AstIteratorList;

struct AstExpr {
  AstExprKind kind;
  uint16_t depth;        // nodes on the longest path down, this one included; at most AST_DEPTH_MAX
  uint16_t order;        // AST_NAME: derivative marks, 0 for x, 2 for x''
  Span span;             // including parentheses around it
  const AstExpr* usual;  // of what is given for a parameter, where there are units: its default
  union {
    struct {  // AST_NUMBER
      double number;
      Str unit;  // the text behind it, without its quotes; empty when there is none
      Span unit_span;
    };

    struct {  // AST_NAME
      AstName name;
    } name;

    struct {  // AST_QUALIFIED
      AstName* automaton;
      AstName* state;
    } qualified;

    /// AST_CALL. `der(x, 2)`, `pre(x)`, `noEvent(expr)`, `table(NAME, x)` are calls like any other.
    /// Callee and arguments are unchecked; `order` is 0 except in a left-over `x'(t0)` that is
    /// not the left side of an initial value.
    struct {
      AstName* callee;
      uint32_t order;
      AstExprList args;
    } call;

    struct {         // AST_REDUCTION: nested loops, the first one outermost
      bool product;  // prod rather than sum
      AstIteratorList iterators;
      AstExpr* body;
    } reduction;

    struct {  // AST_CONDITIONAL
      AstExpr* condition;
      AstExpr* then_value;
      AstExpr* else_value;
    } conditional;

    struct {  // AST_ATOM
      AstEvent type;
      Str text;        // of a relation that the model does not write out; empty otherwise
      AstExpr* eps;    // NULL when not given
      AstExpr* gamma;  // NULL when not given
      AstExpr* condition;
    } atom;

    struct {  // AST_UNARY
      AstUnaryOp op;
      AstExpr* operand;
    } unary;

    struct {  // AST_POWER, right-associative
      AstExpr* base;
      AstExpr* exponent;
    } power;

    struct {  // AST_CHAIN: at least two links, evaluated from the left
      AstLevel level;
      AstLinkList links;
    } chain;
  } as;
};

// ---------------------------------------------------------------------------------------------
// Statements

typedef struct AstBlock {
  Span span;  // with its braces; the whole text for a model
  AST_LIST(AstStatement) statements;
} AstBlock;

/// The value of a setting: an expression or a text.
typedef struct AstValue {
  Span span;
  AstExpr* expr;  // NULL: it is a text
  Str text;       // without its quotes
  bool in_text;   // stands in braces inside of the text before it
} AstValue;

typedef AST_LIST(AstValue) AstValueList;

/// Where the format begins that ends a value in braces of a text, ":.2f"; `end` when there is none.
uint32_t ast_format_begin(Str text, uint32_t begin, uint32_t end);

/// `key = value, value;` in an attribute list or experiment, `shape(value, value);` in a drawing.
/// Keys are unchecked.
typedef struct AstSetting {
  Span span;
  Str key;
  Span key_span;
  AstValueList values;  // at least one, but for shapes
  bool is_shape;
} AstSetting;

typedef AST_LIST(AstSetting) AstSettingList;

/// `a = expr` of a const or macro. `const a = b = 1` gives one definition with two names.
typedef struct AstDefinition {
  Span span;
  AstNameList names;  // at least one; exactly one in a macro
  AstExpr* value;     // shared by the names
} AstDefinition;

typedef AST_LIST(AstDefinition) AstDefinitionList;

typedef enum AstInitForm {
  AST_INIT_T0,    // x(t0) = e
  AST_INIT_ZERO,  // x(0) = e
  AST_INIT_IC,    // ic x = e
  AST_INIT_SET    // set x = e
} AstInitForm;

/// One initial value; inside a state or `at`, one reset.
typedef struct AstInit {
  Span span;
  AstName name;
  uint32_t order;  // 1 for x'(t0)
  bool guess;      // `~` or `~=`
  bool hidden;     // memory of a part or element: discrete, and no column
  bool rebound;    // ... the speed that the impact of a contact leaves
  AstExpr* value;
} AstInit;

typedef AST_LIST(AstInit) AstInitList;

typedef struct AstBranch {
  Span span;
  AstExpr* condition;  // NULL: the `else` branch, always the last
  AstBlock body;
} AstBranch;

typedef AST_LIST(AstBranch) AstBranchList;

typedef struct AstData {
  AstName name;
  Str file;  // without its quotes
  Span file_span;
  AstValueList options;  // column and kind of interpolation, unchecked; may be empty
  bool foreign;          // `data NAME = "file", foreign;`: a function from outside of the library
} AstData;

/// A declaration of a state. One without a body and one with a body may name the same state.
typedef struct AstState {
  AstName name;
  AstExpr* guard;     // NULL when there is none
  AstExpr* priority;  // NULL when there is none
  bool by_lot;        // `priority random`
  AstName* like;      // NULL when there is none
  bool made;          // of an element
  bool zeno;          // entered in place of the last event of an accumulation (elements only)
  bool pulse;         // entered by pulses of the level of a friction (elements only)
  bool has_body;
  AstBlock body;     // only with has_body
  AstNameList from;  // empty when there is no `from`
} AstState;

typedef enum AstElementKind { AST_ELEMENT_CONTACT, AST_ELEMENT_FRICTION } AstElementKind;

/// A physical element: what was written, and the equations and the automaton it stands for.
typedef struct AstElement {
  AstElementKind kind;
  AstName name;
  AstSettingList settings;
  AstExpr* restitution;  // of a contact, for the check of its range; NULL when there is none
  AstExpr* kinetic;      // levels of a friction, for the check that they fit; NULL in a contact
  AstExpr* stiction;
  const AstName* yields;  // force of a friction; NULL in a contact
  AstBlock body;          // empty after a reported error
} AstElement;

/// `function f(x, y) = expr;` or `function f(x, y) { a = expr; ... return expr; }`
typedef struct AstFunction {
  AstName name;
  AstNameList parameters;    // plain words
  AstDefinitionList locals;  // one name each
  AstExpr* result;
  bool of_part;  // once expanded: reads the indices of the arrays around the call
} AstFunction;

/// `after delay [condition] persistent trigger { resets }`
typedef struct AstAfter {
  AstExpr* delay;
  AstExpr* condition;
  bool persistent;  // fires though the condition has fallen meanwhile
  bool trigger;     // resets take the values of the trigger
  AstBlock body;
} AstAfter;

/// A parameter of a part with its default, or an argument of an instance.
typedef struct AstArgument {
  Span span;
  AstName name;
  AstExpr* value;  // NULL: a parameter without a default
} AstArgument;

typedef AST_LIST(AstArgument) AstArgumentList;

/// `part Tank(A = 1, k) { ... }`
typedef struct AstPart {
  AstName name;
  bool is_word;  // the name has a meaning before the name of an instance
  AstArgumentList parameters;
  AstBlock body;
} AstPart;

/// What equations outside of its part do with a port.
typedef enum AstPortUse {
  AST_PORT_UNUSED,
  AST_PORT_NAMED,  // some name its variables
  AST_PORT_GIVEN   // some state or branch has equations for them
} AstPortUse;

/// `port p { across v; through i; }`: variables p.v and p.i, joined by `connect`.
typedef struct AstPort {
  AstName name;
  AstNameList across, through;
  uint8_t use;     // AstPortUse, once expanded
  bool outermost;  // ... its part is one of the model itself, and no array
} AstPort;

/// One name of `Tank upper(A = 2), row[10](A = i);`.
typedef struct AstInstance {
  Span span;
  AstName type;
  AstName name;               // its head; indices stand in `sizes`
  AstIteratorList sizes;      // of an array; a variable that is empty has the usual name
  AstArgumentList arguments;  // each with a value
  bool behind_state;          // the statement before is a state without `from`
  bool fmu;                   // written as `fmu name = "type" (arguments);`
  bool tried;                 // nobody has written it: it shows mistakes in a part without any
  bool element;               // once expanded: the loops of its array are around it
  AstArgumentList usual;      // once expanded, where there are units: the defaults of `arguments`
  AstBlock body;              // once expanded: the statements of the part under their new names
} AstInstance;

typedef AST_LIST(AstInstance) AstInstanceList;

/// One port of a `connect`, once expanded: its variables under their names.
typedef struct AstConnection {
  Span span;
  AstNameList across, through;
  bool outer;  // a port of the part around, seen from its inside: what enters there leaves here
} AstConnection;

typedef AST_LIST(AstConnection) AstConnectionList;

typedef enum AstStatementKind {
  AST_CONST,       // const a = 1, b = c = 2;
  AST_MACRO,       // macro k = expr;
  AST_DATA,        // data NAME = "file.csv", column;
  AST_EQUATION,    // lbl: lhs = rhs;
  AST_INIT,        // x(t0) = e;  ic x = 1, y = 2;  set x = e;
  AST_DELETE,      // delete lbl;
  AST_ATTRIBUTES,  // x { nominal = 10; unit = "m"; }
  AST_ENERGY,      // energy = expr;  (top level, no label, no backquotes)
  AST_EXPERIMENT,  // experiment { end = 10; }
  AST_MEASURE,     // measure peak = max(y);
  AST_ANIMATE,     // animate { circle(x, y, 0.1); }
  AST_CONTROL,     // control k = 0:10;  control on = 0, 1;  control m;
  AST_ELEMENT,     // contact c { gap = y; force = N; }  friction f { ... }
  AST_FOR,         // for i = 1:N, 7 { ... }
  AST_IF,          // if (c) { ... } else if (d) { ... } else { ... }
  AST_STATE,       // state S [g] like P { ... } from A, B;
  AST_AUTOMATON,   // automaton A { state ... }
  AST_AT,          // at T each P repeat N priority K { ... }
  AST_INVARIANT,   // invariant [rel];
  AST_STOP,        // stop "text";
  AST_GOTO,        // goto STATE;  goto NAME.STATE;
  AST_FUNCTION,    // function f(x) = expr;
  AST_PART,        // part Tank(A = 1) { ... }
  AST_PORT,        // port p { across v; through i; }
  AST_INSTANCE,    // Tank upper(A = 2), lower;
  AST_CONNECT,     // connect(a.p, b.p);
  AST_INCLUDE,     // include "file.lisma";
  AST_AFTER        // after 0.5 [x > 1] persistent { ... }
} AstStatementKind;

/// AST_EQUATION
typedef struct AstEquationStatement {
  AstName* label;  // NULL when there is none
  AstExpr* lhs;
  AstExpr* rhs;
  bool element;  // of a contact or a friction
} AstEquationStatement;

/// AST_INIT
typedef struct AstInitStatement {
  AstInitForm form;
  AstInitList items;  // at least one; exactly one for AST_INIT_T0 and AST_INIT_ZERO
} AstInitStatement;

/// AST_ATTRIBUTES; AST_EXPERIMENT and AST_ANIMATE leave the name empty
typedef struct AstAttributesStatement {
  AstName name;
  AstSettingList settings;
} AstAttributesStatement;

/// AST_MEASURE: a formula that experiments understand, not the model
typedef struct AstMeasureStatement {
  AstName name;
  AstExpr* formula;
} AstMeasureStatement;

/// AST_CONTROL: values that are offered, or a lowest and a highest one; or a state to be entered
typedef struct AstControlStatement {
  AstName name;
  const AstName* state;  // once expanded: of the automaton `name`; NULL for none
  AstValueList values;
  bool is_range;
} AstControlStatement;

/// AST_FOR
typedef struct AstLoopStatement {
  Str variable;
  Span variable_span;
  AstRangeList ranges;  // at least one
  AstBlock body;
} AstLoopStatement;

/// AST_AUTOMATON: only states inside
typedef struct AstAutomatonStatement {
  AstName* name;
  AstExpr* priority;  // NULL when there is none
  Str initial;        // name of its first state; empty for `init`
  bool yields;        // of an element that waits for impacts: friction
  AstBlock body;
} AstAutomatonStatement;

/// AST_AT
typedef struct AstAtStatement {
  AstExpr* time;
  AstExpr* each;        // NULL: once
  AstExpr* repeat;      // NULL: no count given
  bool repeat_forever;  // `repeat *`
  AstExpr* priority;    // NULL: the default
  AstBlock body;
} AstAtStatement;

/// AST_STOP
typedef struct AstStopStatement {
  Str text;  // empty when none was given
  Span text_span;
} AstStopStatement;

/// AST_GOTO
typedef struct AstJumpStatement {
  AstName* automaton;  // NULL: the automaton around, or `main`
  AstName* state;
} AstJumpStatement;

/// AST_PORT
typedef struct AstPortStatement {
  AstPort* port;
} AstPortStatement;

/// AST_CONNECT
typedef struct AstConnectStatement {
  AstExprList ports;              // as written
  AstConnectionList connections;  // once expanded
} AstConnectStatement;

/// AST_INCLUDE
typedef struct AstIncludeStatement {
  Str file;
  Span file_span;
} AstIncludeStatement;

struct AstStatement {
  AstStatementKind kind;
  Span span;  // with the closing ';' or '}'
  union {
    AstDefinitionList definitions;  // AST_CONST, AST_MACRO

    AstData* data;  // AST_DATA

    AstEquationStatement equation;

    AstInitStatement init;

    AstNameList labels;  // AST_DELETE

    AstAttributesStatement attributes;

    AstElement* element;  // AST_ELEMENT

    AstExpr* energy;  // AST_ENERGY

    AstMeasureStatement measure;

    AstControlStatement control;

    AstLoopStatement loop;

    AstBranchList branches;  // AST_IF: at least one, the first has a condition

    AstState* state;  // AST_STATE

    AstAutomatonStatement automaton;

    AstAtStatement at;

    AstExpr* invariant;  // AST_INVARIANT

    AstStopStatement stop;

    AstJumpStatement jump;

    AstFunction* function;  // AST_FUNCTION

    AstPart* part;  // AST_PART

    AstPortStatement port;

    AstInstanceList instances;  // AST_INSTANCE: at least one; once expanded, exactly one

    AstConnectStatement connect;

    AstIncludeStatement include;

    AstAfter* after;  // AST_AFTER
  } as;
};

typedef struct AstModel {
  const Source* source;
  AstBlock body;
  AstInstanceList unused;  // once expanded: one of each part of the text that has none
  uint32_t name_count;     // names of the text have the numbers 1 to this
  bool has_parts;          // something in it is to be expanded (expand.c)
  bool has_units;          // something is given a unit: then all of them are checked (units.c)
} AstModel;

/// A name without indices: `head` is all of it.
static inline bool ast_name_is_plain(const AstName* name) {
  return name->indices.count == 0;
}

/// The contextual word `word`: plain and not in backquotes.
static inline bool ast_name_is_word(const AstName* name, Str word) {
  return !name->quoted && ast_name_is_plain(name) && str_equal(name->head, word);
}

/// Level and canonical text of an operator; text of an event type ("" for the plain one).
AstLevel ast_op_level(AstOp op);
const char* ast_op_text(AstOp op);
/// A name, or a path through parts (`a.b.x`), that is written as an expression.
bool ast_path(const AstExpr* e, AstName* out);
/// The i-th expression directly inside of another, subscripts and bounds included; NULL behind the
/// last.
AstExpr* ast_child(const AstExpr* e, uint32_t i);
/// Whether the i-th child of an expression is a word chosen from a list: `table(d, x, hold)`.
bool ast_is_choice(const AstExpr* e, uint32_t i);
const char* ast_event_text(AstEvent type);

#endif

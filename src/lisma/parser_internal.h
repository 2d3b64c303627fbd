// SPDX-License-Identifier: MIT
//
// What the parts of the parser share. parser.c: tokens, messages, recovery, lists; parser_expr.c:
// names and expressions; parser_statement.c: statements; parser_block.c: statements with bodies;
// parser_check.c: what the grammar leaves open (placement of statements, form of arguments);
// parser_hint.c: what to write instead.
//
// Messages. A mistake the parser cannot look through calls parser_fail(), which says whether to
// report it, and everything is silent until the statement ends ("recovering"). A mistake with an
// obvious correction calls parser_mend() and goes on as if it had been corrected.
#ifndef SALTUS_LISMA_PARSER_INTERNAL_H
#define SALTUS_LISMA_PARSER_INTERNAL_H

#include "lisma/ast.h"
#include "lisma/lexer.h"

/// Where a statement stands; bits, so that a set of places is one number.
typedef enum Place {
  PLACE_TOP = 1,
  PLACE_STATE = 2,
  PLACE_IF = 4,
  PLACE_AT = 8,
  PLACE_AUTOMATON = 16,
  PLACE_PART = 32
} Place;

/// The block being read. `for` takes over the place of the block around it.
typedef struct BlockFrame {
  const struct BlockFrame* outer;  // NULL for the model
  Place place;
  bool in_loop;
  bool unclosed;  // a '}' is probably missing: a state stands inside a state
  uint32_t told;  // the message about it, as an index into the list; beyond it when not kept
  Span open;      // its '{'
} BlockFrame;

typedef struct Parser {
  Arena* arena;
  const Source* source;
  DiagList* diags;
  Lexer lexer;
  Token tok;              // current token
  Token next;             // the second token of look-ahead
  uint32_t previous_end;  // where the token before `tok` ends

  bool measuring;     // inside of a measure, where `at(x, t)` is a reading
  bool recovering;    // an error was reported; silence until the next statement
  bool after_gap;     // a ';' was assumed here: a statement that fails at once is the same mistake
  bool behind_state;  // the statement before is a state without `from`
  uint32_t nesting;   // expressions inside expressions
  uint32_t block_depth;  // blocks inside blocks
  uint32_t name_count;   // names so far
  bool has_units;        // texts behind numbers, `unit` of variables
  bool has_parts;        // parts, instances, connections, files to include

  unsigned char* scratch;  // stack of unfinished lists
  size_t scratch_used;
  size_t scratch_capacity;

  bool declares_dt;          // the model has its own `dt`
  BASE_VEC(Span) quotients;  // left sides that look like dx/dt
} Parser;

// parser.c ------------------------------------------------------------------------------------

void parser_advance(Parser* p);
bool parser_accept(Parser* p, TokenKind kind);
Span parser_here(const Parser* p);  // just behind the previous token
Span parser_since(const Parser* p, uint32_t begin);
Str parser_token_text(const Parser* p, const Token* token);
/// "the name 'x'", "the number 5", "';'": for messages.
Str parser_describe(const Parser* p, const Token* token);

/// Enter recovery. True: report now, once. False: this is a consequence of what was reported.
bool parser_fail(Parser* p);
/// True unless recovering: the mistake can be reported and reading goes on.
bool parser_mend(const Parser* p);
/// Consume `kind`, or report `message` just behind the previous token.
bool parser_expect(Parser* p, TokenKind kind, const char* message);
/// Consume the closing bracket of `open`, or report it missing.
bool parser_close(Parser* p, TokenKind kind, Span open);
/// Consume the '=' behind `what`; '==' is mended.
bool parser_expect_assign(Parser* p, const char* what);
/// Consume the ';' that ends `what`.
void parser_end_statement(Parser* p, const char* what);

bool parser_starts_statement(const Token* token);
/// Skip to the end of a broken statement that began at `begin`.
void parser_synchronise(Parser* p, uint32_t begin);
void parser_skip_block(Parser* p);
/// Skip to the '{' of a broken heading; false if the statement ends before it.
bool parser_seek_block(Parser* p);

/// Lists under construction are pushed onto one stack and then moved into the arena, so that they
/// take no more room than they need.
void parser_push(Parser* p, const void* item, size_t size);
void* parser_take(Parser* p, size_t mark, size_t size, size_t align, uint32_t* count);
#define PARSER_TAKE(p, mark, T, list) \
  ((list).data = (T*)parser_take((p), (mark), sizeof(T), _Alignof(T), &(list).count))

// parser_expr.c -------------------------------------------------------------------------------

/// A name, or `what` is reported missing. Reserved words are mended.
bool parser_expect_name(Parser* p, const char* what, AstName* name);
/// ... that may be a path: a.b.c
bool parser_expect_path(Parser* p, const char* what, AstName* name);
AstNameList parser_name_list(Parser* p, const char* what);
/// A word without index (loop variables, settings).
bool parser_expect_word(Parser* p, const char* what, Str* word, Span* span);
uint16_t parser_primes(Parser* p);
/// Report the current reserved word as a name, and take it for one.
void parser_mend_reserved(Parser* p);

AstExpr* parser_expr(Parser* p);
/// The delay of `after`: a number or a name, with factors and divisors.
AstExpr* parser_delay(Parser* p);
/// An expression where '=' is mended to '=='.
AstExpr* parser_condition(Parser* p);
/// Go on behind an operand that is already read.
AstExpr* parser_expr_from(Parser* p, AstExpr* operand);
AstExpr* parser_conditional_rest(Parser* p, Span open, uint32_t begin, AstExpr* condition);
AstRange parser_range(Parser* p);
/// A number, a name, a call, something in brackets.
AstExpr* parser_operand(Parser* p);
/// The number at hand, with its unit.
AstExpr* parser_number(Parser* p);

AstExpr* parser_error_expr(Parser* p);
AstExpr* parser_node(Parser* p, AstExprKind kind, Span span, uint32_t child_depth);

/// The second token can only be the name that belongs to a contextual word in front of it.
bool parser_next_is_name(const Parser* p);

// parser_statement.c --------------------------------------------------------------------------

/// Read one statement. False when there is nothing to keep.
bool parser_statement(Parser* p, BlockFrame* frame, AstStatement* out);
/// Finish an equation or initial value whose left side is read.
bool parser_sides(Parser* p, const BlockFrame* frame, uint32_t begin, AstName* label, AstExpr* lhs,
                  AstStatement* out);

/// `{ key = value; ... }`, the '{' being the present token.
AstSettingList parser_settings(Parser* p);
/// Shapes stand in drawings, settings in everything else: E0132.
void parser_check_settings(Parser* p, const AstSettingList* settings, bool shapes);

// parser_element.c ----------------------------------------------------------------------------

/// `contact NAME { ... }` or `friction NAME { ... }`.
bool parser_element(Parser* p, AstStatement* out);

// parser_part.c -------------------------------------------------------------------------------

bool parser_function(Parser* p, AstStatement* out);
bool parser_part(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_port(Parser* p, AstStatement* out);
bool parser_include(Parser* p, AstStatement* out);
/// `fmu pump = "pump.fmu" (p0 = 1e5);`: an instance of the part that stands for the file.
bool parser_fmu(Parser* p, AstStatement* out);
/// `TYPE NAME`: nothing else begins with two names.
bool parser_at_instance(const Parser* p);
bool parser_instance(Parser* p, bool behind_state, AstStatement* out);
/// `connect(a, b)`, which is read like a call; the present token is the ';' behind it.
bool parser_is_connect(const AstExpr* call);
bool parser_connect(Parser* p, AstExpr* call, AstStatement* out);

// parser_block.c ------------------------------------------------------------------------------

bool parser_for(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_if(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_state(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_automaton(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_at(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_every(Parser* p, const BlockFrame* frame, AstStatement* out);
bool parser_after(Parser* p, const BlockFrame* frame, AstStatement* out);
/// `{ ... }` behind `what`; false when there is none.
bool parser_block(Parser* p, const BlockFrame* outer, Place place, const char* what,
                  AstBlock* block);
/// Statements up to the '}' of the frame, or up to the end of the text for the model.
void parser_statements(Parser* p, BlockFrame* frame, AstBlock* block);

// parser_check.c ------------------------------------------------------------------------------

/// An argument of a call: `expr`, or `name = first:last`.
typedef struct Argument {
  Span span;
  Str name;  // empty when it has none
  Span name_span;
  AstRange range;
} Argument;

typedef AST_LIST(Argument) ArgumentList;

/// Turn `callee(arguments)` into a call or a reduction.
AstExpr* parser_make_call(Parser* p, const AstName* callee, uint32_t order, ArgumentList arguments,
                          Span span);
/// Parameters of `type(eps = .., gamma = ..)[condition]`.
void parser_atom_parameters(Parser* p, ArgumentList arguments, AstExpr* atom, uint32_t* depth);
void parser_check_placement(Parser* p, BlockFrame* frame, const AstStatement* statement);
void parser_check_quotient(Parser* p, const AstExpr* lhs);
void parser_check_end(Parser* p);
void parser_note_declared(Parser* p, const AstName* name);

// parser_hint.c -------------------------------------------------------------------------------

/// What to write instead of a statement that is no equation; `lhs` is what was read of it.
void parser_hint_statement(Parser* p, Diag* diag, const AstExpr* lhs);
/// The nearest of some words that a name may be a slip of; NULL for none.
const char* parser_nearest(Str name, const char* const* words, size_t count);
/// Make a message one about the word at the beginning of the statement, and name the one meant.
void parser_hint_word(Parser* p, Diag* diag, Span span, const char* word);
/// The same as a message of its own.
void parser_report_word(Parser* p, Span span, const char* word);
/// Why a statement might not end where it does.
void parser_hint_end(Parser* p, Diag* diag);
/// What to write instead of the present token, where an operand was expected.
void parser_hint_operand(Parser* p, Diag* diag);

#endif

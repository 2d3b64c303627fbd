// SPDX-License-Identifier: MIT
//
// Expansion of parts, shared by its files:
//
//   expand.c            components: the tree of instances, and the statements that stand for each
//   expand_table.c      names of a part and what they are
//   expand_name.c       names under the prefix of a component, paths through components
//   expand_argument.c   parameters, and those that depend on the index of an array
//   expand_expr.c       copies of expressions
//   expand_statement.c  copies of statements
//   expand_port.c       ports and connections
#ifndef SALTUS_LISMA_EXPAND_INTERNAL_H
#define SALTUS_LISMA_EXPAND_INTERNAL_H

#include "lisma/ast.h"
#include "lisma/map.h"

typedef struct Table Table;
typedef struct Component Component;

typedef enum MemberKind {
  MEMBER_VALUE,      // variable, macro, label
  MEMBER_SHARED,     // constant, macro, table: what parts see of the model around them
  MEMBER_FUNCTION,   // ... likewise
  MEMBER_PARAMETER,  // index: of the part's parameters
  MEMBER_INSTANCE,
  MEMBER_PORT,
  MEMBER_AUTOMATON,  // or element
  MEMBER_STATE       // of the part's unnamed automaton
} MemberKind;

typedef struct Member {
  uint8_t kind;  // MemberKind
  bool indexed;  // z[k]: with its index written out, z3 is an element
  uint32_t index;
  const AstInstance* instance;
  const AstPort* port;
  Span span;
} Member;

/// The names of a part, or of the model itself.
struct Table {
  const AstPart* part;  // NULL for the model
  const AstBlock* body;
  NameTable names;
  BASE_VEC(Member) members;  // by name id
  BASE_VEC(Str) hidden;      // loop indices and arguments around the present place
  uint32_t instance_count;
  bool used;  // something is made of it
};

/// An instance, or the model itself.
struct Component {
  Component* parent;            // NULL for the model
  const AstInstance* instance;  // NULL for the model
  Table* table;
  AstName prefix;         // name of the instance, with the indices of arrays; empty for the model
  Str shared;             // ... without them
  AstExpr** substitutes;  // per parameter: its value where it depends on an index, else NULL
  Str* variables;         // of the loops of an array
  uint32_t depth;
  BASE_VEC(Component*) children;
};

/// A port of an instance and what it is a copy of.
typedef struct PortCopy {
  const AstInstance* instance;
  const AstPort* port;
  AstPort* copy;
} PortCopy;

typedef struct Expander {
  Arena* arena;
  const AstModel* model;
  DiagList* diags;
  Table* top;
  NameTable part_names;
  BASE_VEC(Table*) parts;  // by name id
  uint32_t name_count, loop_count;
  uint64_t work;
  bool stopped;
  Map uses;         // (instance, port) -> AstPortUse
  bool reads;       // the present expression determines nothing: a guard, a time, a value to set
  bool computes;    // ... is the right side of `name = ...`
  uint32_t bodies;  // of states and branches around the present place
  BASE_VEC(PortCopy) copies;  // ports of all instances
} Expander;

typedef BASE_VEC(AstStatement) Statements;

/// Count one more node of the tree that is made; false, and told, when there are too many.
bool expand_count_work(Expander* x, Span span);

// ---------------------------------------------------------------------------------------------
// names of a part

/// Names that differ from a written one in so many letters are no longer meant by it.
static inline uint32_t expand_near_limit(Str name) {
  return name.length > 4 ? 3 : name.length > 1 ? 2 : 1;
}

/// NULL when the part has no such name.
Member* expand_find_member(const Table* table, Str name);
/// Whether a loop index or an argument of this name stands around the present place.
bool expand_is_hidden(const Table* table, Str name);
/// The tables of all parts of the model, and of the model itself.
void expand_collect_parts(Expander* x);

// ---------------------------------------------------------------------------------------------
// names under a prefix

/// A name in the making: head, indices and the text behind the last of them.
typedef struct NameMaker {
  Expander* x;
  TextBuffer text;  // of the head, or of the tail of the last index
  AstName name;
  BASE_VEC(AstIndex) indices;
} NameMaker;

NameMaker expand_begin_name(Expander* x, const AstName* prefix);
void expand_append_word(NameMaker* m, Str word);
void expand_append_index(NameMaker* m, AstIndex index);
AstName expand_end_name(NameMaker* m, const AstName* written);

/// A name as it is, with its indices looked up.
AstName expand_keep_name(Expander* x, Component* u, const AstName* written);
/// NAME behind the prefix of a component.
AstName expand_own_name(Expander* x, Component* u, const AstName* written);
/// The name of a function of a component: without indices, one for all elements of an array.
AstName expand_function_name(Expander* x, const Component* u, const AstName* written);

typedef enum PathKind {
  PATH_BAD,
  PATH_NAME,
  PATH_VALUE,
  PATH_STATE,
  PATH_PORT,
  PATH_PART
} PathKind;

typedef struct Path {
  uint8_t kind;  // PathKind
  AstName name;  // PATH_NAME, PATH_PORT, PATH_PART; the automaton of PATH_STATE
  AstName state;
  const AstExpr* value;  // PATH_VALUE
  const AstPort* port;
  bool outer;  // a port of the component itself
} Path;

/// The part of a component that an instance stands for; NULL when it is in error.
Component* expand_find_child(const Component* u, const Member* member);
bool expand_is_own(const Component* u, const AstName* name);
/// What a written name, or path, means in a component.
Path expand_find_path(Expander* x, Component* u, const AstName* name);
Path expand_report_path(Expander* x, const AstName* name, const char* message);
/// A name that has to be a name: of a target, a label, a setting.
AstName expand_copy_target(Expander* x, Component* u, const AstName* name);
/// The name of a control, which may be a state.
void expand_copy_control(Expander* x, Component* u, const AstStatement* s, AstStatement* out);

// ---------------------------------------------------------------------------------------------
// parameters

void expand_check_arguments(Expander* x, const Table* table, const AstInstance* instance);
void expand_report_argument(Expander* x, const AstPart* part, Span span, Str name,
                            const char* message);
/// Name of the i-th index of an array as it is written: i, j, k unless it is given.
Str expand_index_word(const AstInstance* instance, uint32_t i);
AstExpr* expand_loop_variable(Expander* x, Str variable, Span span);
/// The value of a parameter, in the words of the model; NULL when there is none.
AstExpr* expand_parameter_value(Expander* x, Component* u, uint32_t index);
/// Find the parameters that depend on an index: those that read others that do, too.
/// The arguments of an instance and the defaults they stand for.
void expand_keep_defaults(Expander* x, Component* u, AstInstance* copy);
void expand_find_substitutes(Expander* x, Component* u);

// ---------------------------------------------------------------------------------------------
// copies

/// Which statements of a block: all, those of the unnamed automaton, or all others.
typedef enum Filter { FILTER_ALL, FILTER_STATES, FILTER_OTHERS } Filter;

AstExpr* expand_copy_expr(Expander* x, Component* u, const AstExpr* e);
AstExpr* expand_copy_optional(Expander* x, Component* u, const AstExpr* e);
AstExprList expand_copy_exprs(Expander* x, Component* u, const AstExprList* list);
AstRange expand_copy_range(Expander* x, Component* u, const AstRange* range);

void expand_copy_filtered(Expander* x, Component* u, const AstStatement* s, Filter filter,
                          Statements* out);
AstFunction* expand_copy_function(Expander* x, Component* u, const AstFunction* f);
AstBlock expand_copy_block(Expander* x, Component* u, const AstBlock* block, Filter filter);
/// The statements that stand for an instance.
void expand_instance(Expander* x, Component* parent, const AstInstance* instance, Statements* out);

void expand_copy_port(Expander* x, Component* u, const AstStatement* s, AstStatement* out);
void expand_copy_connect(Expander* x, Component* u, const AstStatement* s, AstStatement* out);
void expand_copy_equation(Expander* x, Component* u, const AstStatement* s, AstStatement* out);
/// A variable of a port is named outside of its part.
void expand_use_port(Expander* x, const Component* owner, const AstPort* port);
/// What the text outside of the parts does with their ports.
void expand_note_uses(Expander* x);

#endif

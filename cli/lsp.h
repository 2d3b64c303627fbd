// SPDX-License-Identifier: MIT
//
// The language server (Language Server Protocol 3.17): what an editor shows while a model is
// written. lsp_stdio.c speaks with an editor over standard input and output, page.c with the
// workbench; lsp.c understands messages, lsp_document.c knows texts and places in them,
// lsp_files.c the files that a model includes, lsp_names.c finds what words mean, lsp_view.c,
// lsp_words.c and lsp_answers.c know the rest.
#ifndef SALTUS_CLI_LSP_H
#define SALTUS_CLI_LSP_H

#include "json.h"
#include "text.h"

/// A piece of a text: bytes.
typedef struct Place {
  size_t begin, end;
} Place;

/// A replacement that a message proposes.
typedef struct Fix {
  Place place;
  char* text;
} Fix;

typedef struct Document Document;
typedef struct LspServer LspServer;

/// A name that the text declares.
typedef struct Symbol {
  const Document* document;  // that declares it
  SltSymbolKind kind;
  char* name;
  char* container;  // "" where there is none
  char* part;       // it is declared in; "" in the model itself
  char* type;       // of an instance: its part
  Place place, whole;
} Symbol;

/// Where the files are that a model names.
typedef struct LspFiles {
  SltLoadFn* load;  // NULL: beside the model
  void* user;
} LspFiles;

/// A text that is open in the editor, or included by one that is.
struct Document {
  char* uri;
  char* path;  // of a file:, else the URI itself
  char* text;  // NUL-terminated
  size_t length;
  bool lisma;  // not a document of rule tables
  bool wide;   // characters of a line count in UTF-8 bytes, not in UTF-16 units
  LspFiles files;
  SltModel* model;  // NULL where the text has errors
  Symbol* symbols;
  size_t symbol_count;
  const Symbol** by_name;  // the symbols, sorted; NULL without memory
  Fix* fixes;
  size_t fix_count;
  const LspServer* server;
  Document** included;  // all files that the model includes
  size_t included_count;
  const Document* root;  // the model that includes it; NULL for one that is open
  bool fixed;            // came with the program: nothing in it is renamed
};

/// Takes a message for the editor, which is freed by the caller; false when it cannot be sent.
typedef bool LspSendFn(void* user, const Text* body);

/// The server's side of a conversation.
struct LspServer {
  LspSendFn* send;
  void* user;  // of send
  LspFiles files;
  Document** documents;
  size_t document_count;
  bool wide;      // positions count bytes
  bool ready;     // initialize has come
  bool stopping;  // shutdown has come
  bool exit;
  bool broken;  // nothing can be sent any more, or memory is exhausted
};

// ---- lsp.c --------------------------------------------------------------------------------------

/// Take a message of `length` bytes followed by a NUL, which is read in place.
void lsp_take(LspServer* server, char* text, size_t length);
/// The same for one that was read already.
void lsp_take_json(LspServer* server, const Json* json);
/// Close all documents.
void lsp_clear(LspServer* server);

// ---- lsp_document.c -----------------------------------------------------------------------------

/// "/models/my ball.lisma" from "file:///models/my%20ball.lisma"; free() it. NULL without memory.
char* lsp_path_of(const char* uri);
/// NULL without memory. Free with document_free().
Document* document_open(const char* uri, const char* text, size_t length, bool wide);
void document_free(Document* document);

/// Byte of a position {line, character} that the editor sent.
size_t document_byte(const Document* document, const Json* json, const JsonNode* position);
/// {"start":...,"end":...} of a place.
void document_put_range(const Document* document, Place place, Text* out);

/// The word around or just before a byte; false when there is none.
bool document_word_at(const Document* document, size_t byte, Place* out);
/// The next word from *at on that stands in no comment or string; *at moves behind it.
bool document_next_word(const Document* document, size_t* at, Place* out);
bool document_is_word(const Document* document, Place place, const char* word);
/// The end of the comment or string that begins at a byte; the byte itself where none does.
size_t document_skip_silent(const Document* document, size_t at);
/// Bytes and, as the editor counts them, characters of the letter at a byte.
size_t document_letter(const Document* document, size_t at, uint32_t* characters);
void symbol_free(Symbol* symbol);
/// For slt_outline(): a symbol of a document, `user`.
void document_keep_symbol(void* user, const SltSymbol* symbol);

// ---- lsp_files.c --------------------------------------------------------------------------------

/// Load a file for the compilation of a document, `user`, and keep it if it is a model.
SltStatus lsp_load(void* user, const char* name, const SltAllocator* allocator, char** content,
                   size_t* length);
/// The documents of one model: the one that is compiled, then what it includes; NULL behind the
/// last.
const Document* document_family(const Document* document, size_t index);
/// A document as the file that another open one includes, where names are known in both; itself if
/// none does.
const Document* document_as_included(const LspServer* server, const Document* document);

// ---- lsp_words.c --------------------------------------------------------------------------------

/// A word of the language.
typedef struct LspWord {
  const char* word;
  const char* form;  // how it is used
  const char* text;
} LspWord;

/// NULL behind the last.
const LspWord* lsp_word_get(size_t index);
/// NULL when the word is none of the language's.
const LspWord* lsp_word_find(const Document* document, Place place);
bool lsp_word_is_function(const LspWord* word);

// ---- lsp_names.c --------------------------------------------------------------------------------

/// What a symbol is to people and to the protocol.
typedef struct LspKind {
  const char* text;
  int symbol, complete, token;
} LspKind;

const LspKind* lsp_kind(SltSymbolKind kind);
/// Put the symbols in order, to be found.
void lsp_index_symbols(Document* document);
/// The word that ends where an index or a dot begins: `row` in `row[3].q`.
bool lsp_word_before(const Document* document, size_t dot, Place* out);
/// The declaration that a word means: through the part it is in, or the path before it; NULL for
/// none.
const Symbol* lsp_symbol_at(const Document* document, Place word);
/// The function around a word that is an argument or a local name of it; NULL for none.
const Symbol* lsp_function_around(const Document* document, Place word);
/// Whether a word is the key of a setting: of an element, an experiment, attributes.
bool lsp_is_key(const Document* document, Place word);
/// How a run calls the quantity that a word means, with a closing zero.
void lsp_put_path(const Document* document, Place word, const Symbol* symbol, Text* out);
/// The part of a name, in whatever file; NULL for none.
const Symbol* lsp_part_named(const Document* document, const char* name);
void answer_symbols(const Document* document, Text* out);
void answer_definition(const Document* document, size_t byte, Text* out);
/// Every place of what the word means: as locations, or as highlights.
void answer_references(const Document* document, size_t byte, bool locations, Text* out);
/// What would be renamed; null when nothing can be.
void answer_prepare_rename(const Document* document, size_t byte, Text* out);
/// False when the name cannot be one, or means something already; `why` says so.
bool answer_rename(const Document* document, size_t byte, const char* name, Text* out, Text* why);

// ---- lsp_view.c ---------------------------------------------------------------------------------

void answer_signature(const Document* document, size_t byte, Text* out);
void answer_folding(const Document* document, Text* out);
void answer_tokens(const Document* document, Text* out);
/// The names of the kinds of tokens, as a list in JSON.
extern const char lsp_token_legend[];

// ---- lsp_answers.c ------------------------------------------------------------------------------

/// Compile, and write the parameters of textDocument/publishDiagnostics. Finds symbols and fixes.
void answer_diagnostics(Document* document, Text* out);
void answer_hover(const Document* document, size_t byte, Text* out);
void answer_completion(const Document* document, size_t byte, Text* out);
void answer_formatting(const Document* document, Text* out);
void answer_actions(const Document* document, Place asked, Text* out);

#endif

// SPDX-License-Identifier: MIT
#include "lisma/lexer.h"
#include "test.h"

/// The tokens of a text as "KIND:text KIND:text", and the codes of its diagnostics behind a bar.
static Str lex(Arena* arena, Str text) {
  Source source;
  DiagList diags;
  Lexer lexer;
  TextBuffer out = {.arena = arena};
  source_init(&source, arena, STR_LIT("test"), text);
  diag_init(&diags, arena, &source);
  lexer_init(&lexer, &source, &diags);
  static const char* const names[] = {
#define X(name, shown) #name,
      TOKEN_LIST(X)
#undef X
  };
  for (Token t = lexer_next(&lexer); t.kind != TOK_END; t = lexer_next(&lexer)) {
    if (out.length) text_append_char(&out, ' ');
    text_append_format(&out, "%s:%.*s", names[t.kind] + 4, (int)(t.inner.end - t.inner.begin),
                       text.data + t.inner.begin);
  }
  if (diags.items.count) text_append_c(&out, " |");
  for (uint32_t i = 0; i < diags.items.count; i++) {
    text_append_format(&out, " %s@%u", diag_code_text(diags.items.data[i].code),
                       diags.items.data[i].span.begin);
  }
  return text_str(&out);
}

typedef struct LexCase {
  const char* text;
  const char* want;
} LexCase;

static void check_cases(const LexCase* cases, size_t count) {
  TEST_ARENA(arena);
  for (size_t i = 0; i < count; i++) {
    CHECK_STR(lex(&arena, str_from_c(cases[i].text)), cases[i].want, cases[i].text);
  }
  arena_free(&arena);
}

TEST(words_and_reserved_words) {
  static const LexCase cases[] = {
      {"", ""},
      {"x _a x2 State", "WORD:x WORD:_a WORD:x2 WORD:State"},
      {"const macro state from for if else at automaton",
       "CONST:const MACRO:macro STATE:state FROM:from FOR:for IF:if ELSE:else AT:at "
       "AUTOMATON:automaton"},
      {"constant statex", "WORD:constant WORD:statex"},
      {"длина Δx µ é", "WORD:длина WORD:Δx WORD:µ WORD:é"},
      {"`Fy реакц.`=1", "QUOTED:Fy реакц. ASSIGN:= NUMBER:1"},
      {"`state`", "QUOTED:state"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(numbers) {
  static const LexCase cases[] = {
      {"1 1. .5 1e-6 2.5E+3 007",
       "NUMBER:1 NUMBER:1. NUMBER:.5 NUMBER:1e-6 NUMBER:2.5E+3 NUMBER:007"},
      {"1:4", "NUMBER:1 COLON:: NUMBER:4"},
      {"1.:N", "NUMBER:1. COLON:: WORD:N"},
      {"1..", "NUMBER:1.. | E0105@0"},
      {"1..4", "NUMBER:1..4 | E0105@0"},
      {"2x + 1", "NUMBER:2x PLUS:+ NUMBER:1 | E0105@0"},
      {"1e999", "NUMBER:1e999 | E0105@0"},
      {"1e-999", "NUMBER:1e-999 | W0101@0"},
      {"0e-999", "NUMBER:0e-999"},
      {"A.B x.5", "WORD:A DOT:. WORD:B WORD:x NUMBER:.5"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(operators) {
  static const LexCase cases[] = {
      {"==!=<=>=~=&&||", "EQ:== NE:!= LE:<= GE:>= GUESS:~= AND:&& OR:||"},
      {"= ~ < > + - * / % ^ ! ' . , ; :",
       "ASSIGN:= GUESS:~ LT:< GT:> PLUS:+ MINUS:- STAR:* SLASH:/ PERCENT:% CARET:^ BANG:! PRIME:' "
       "DOT:. COMMA:, SEMICOLON:; COLON::"},
      {"x''", "WORD:x PRIME:' PRIME:'"},
      {"a<-1", "WORD:a LT:< MINUS:- NUMBER:1"},
      {":= =< => <> =~ ** & |",
       "ASSIGN::= LE:=< GE:=> NE:<> GUESS:=~ CARET:** AND:& OR:| | E0103@0 E0103@3 E0103@6 E0103@9 "
       "E0103@12 E0103@15 E0103@18 E0103@20"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(brackets_depend_on_their_neighbour) {
  static const LexCase cases[] = {
      {"x[i]", "WORD:x INDEX:[ WORD:i RBRACKET:]"},
      {"x [i]", "WORD:x LBRACKET:[ WORD:i RBRACKET:]"},
      {"x[i]2a", "WORD:x INDEX:[ WORD:i RBRACKET:] TAIL:2a"},
      {"x[i]a[j]", "WORD:x INDEX:[ WORD:i RBRACKET:] WORD:a INDEX:[ WORD:j RBRACKET:]"},
      {"x[i][j]", "WORD:x INDEX:[ WORD:i RBRACKET:] INDEX:[ WORD:j RBRACKET:]"},
      {"`a b`[1]", "QUOTED:a b INDEX:[ NUMBER:1 RBRACKET:]"},
      {"unilateral[y]", "WORD:unilateral LBRACKET:[ WORD:y RBRACKET:]"},
      {"[a]and[b]", "LBRACKET:[ WORD:a RBRACKET:] WORD:and LBRACKET:[ WORD:b RBRACKET:]"},
      {"not[a]", "WORD:not LBRACKET:[ WORD:a RBRACKET:]"},
      {"invariant[a]", "WORD:invariant LBRACKET:[ WORD:a RBRACKET:]"},
      {"set[a]", "WORD:set INDEX:[ WORD:a RBRACKET:]"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(blanks_and_comments) {
  static const LexCase cases[] = {
      {"a//b\nc", "WORD:a WORD:c"},
      {"a/*b\n*/c/**/d", "WORD:a WORD:c WORD:d"},
      {"a/*/b*/c", "WORD:a WORD:c"},
      {"a\r\nb\tc\fd", "WORD:a WORD:b WORD:c WORD:d"},
      {"\xef\xbb\xbfx", "WORD:x"},
      {"a /* b", "WORD:a | E0106@2"},
      {"a */ b", "WORD:a BAD:*/ WORD:b | E0103@2"},
      {"a\xc2\xa0"
       "b\xc2\xa0"
       "c",
       "WORD:a WORD:b WORD:c | E0103@1"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(texts) {
  static const LexCase cases[] = {
      {"\"a // b\" x", "STRING:a // b WORD:x"},
      {"\"\"", "STRING:"},
      {"\"abc;\nx", "STRING:abc SEMICOLON:; WORD:x | E0106@0"},
      {"\"abc; }\r\nx", "STRING:abc SEMICOLON:; RBRACE:} WORD:x | E0106@0"},
      {"“a”", "STRING:a | E0103@0"},
      {"`abc\nx", "BAD:`abc WORD:x | E0106@0"},
      {"``", "QUOTED: | E0103@0"},
      {"x\" = 1;", "WORD:x BAD:\" = 1 SEMICOLON:; | E0106@1"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(typeset_characters_become_what_was_meant) {
  static const LexCase cases[] = {
      {"a × b − c", "WORD:a STAR:× WORD:b MINUS:− WORD:c | E0103@2 E0103@7"},
      {"≤ ≥ ≠ ≈", "LE:≤ GE:≥ NE:≠ GUESS:≈ | E0103@0 E0103@4 E0103@8 E0103@12"},
      {"x’ y′", "WORD:x PRIME:’ WORD:y PRIME:′ | E0103@1 E0103@6"},
      {"x² ∞", "WORD:x BAD:² BAD:∞ | E0103@1 E0103@4"},
      {"@ #", "BAD:@ BAD:# | E0103@0 E0103@2"},
  };
  check_cases(cases, SLT_COUNT(cases));
}

TEST(wrong_bytes_are_told_once) {
  TEST_ARENA(arena);
  CHECK_STR(lex(&arena, STR_LIT("a\0b\0c")), "WORD:a BAD: WORD:b BAD: WORD:c | E0104@1", "NUL");
  Str broken = STR_LIT("a \xff\xfe b // \xff\n\xc3");
  Str got = lex(&arena, broken);
  CHECK(strstr(got.data, "E0104@2") != NULL, "invalid UTF-8");
  CHECK(strstr(strstr(got.data, "E0104") + 1, "E0104") == NULL, "only once");
  CHECK_STR(lex(&arena, STR_LIT("// \xff")), " | E0104@3", "in a comment");
  CHECK_STR(lex(&arena, STR_LIT("\xed\xa0\x80")), "BAD:\xed\xa0\x80 | E0104@0", "surrogate");
  arena_free(&arena);
}

TEST(names_have_a_limit) {
  TEST_ARENA(arena);
  char* text = arena_alloc(&arena, 1001, 1);
  memset(text, 'x', 1001);
  CHECK(!strstr(lex(&arena, (Str){text, 1000}).data, "E0703"), "1000 bytes");
  CHECK(strstr(lex(&arena, (Str){text, 1001}).data, "E0703@0") != NULL, "1001 bytes");
  arena_free(&arena);
}

TEST(texts_have_a_limit) {
  TEST_ARENA(arena);
  size_t size = (size_t)LEXER_SOURCE_MAX + 1;
  char* text = malloc(size);
  CHECK(text != NULL, "memory");
  memset(text, ' ', size);
  text[size - 2] = 'x';
  CHECK_STR(lex(&arena, (Str){text, (uint32_t)size - 1}), "WORD:x", "at the limit");
  CHECK_STR(lex(&arena, (Str){text, (uint32_t)size}), " | E0704@0", "beyond it");
  free(text);
  arena_free(&arena);
}

TEST(letters) {
  static const uint32_t letters[] = {0xe9,  0x3b1,  0x42f,  0x5d0,  0x627,
                                     0x915, 0x3042, 0x4e00, 0xac00, 0x1d400};
  FOR_CASES(c, letters) CHECK(lexer_is_letter(*c, true), "letter");
  static const uint32_t others[] = {0xa0,   0xab,   0xd7,   0xf7,    0x2014,
                                    0x2019, 0x2212, 0x2264, 0x221e,  0x3000,
                                    0x3002, 0xfeff, 0xfffd, 0x1f600, 0x10ffff};
  FOR_CASES(c, others) CHECK(!lexer_is_letter(*c, false), "no letter");
  CHECK(!lexer_is_letter(0x301, true) && lexer_is_letter(0x301, false), "combining mark");
}

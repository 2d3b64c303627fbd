// SPDX-License-Identifier: MIT
#include "test.h"

#include <inttypes.h>

static double from_bits(uint64_t bits) {
  double value = 0.0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t to_bits(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double read_all(const char* text) {
  double value = (double)NAN;
  uint32_t length = number_read(str_from_c(text), true, &value);
  CHECK(length == strlen(text), text);
  return value;
}

/// What the C library reads must be what we read, bit for bit.
static void check_read(const char* text) {
  double want = strtod(text, NULL);
  double got = read_all(text);
  if (to_bits(want) != to_bits(got)) {
    print_error("'%s': read %.17g, expected %.17g\n", text, got, want);
    test_fail(__FILE__, __LINE__, text, "wrong value");
  }
}

/// The significant digits alone: "0.0120" gives "12".
static uint32_t digits_of(const char* text, char* out) {
  uint32_t count = 0;
  for (; *text && *text != 'e'; text++) {
    bool leading = count == 0 && *text == '0';
    if (*text >= '0' && *text <= '9' && !leading) out[count++] = *text;
  }
  while (count > 0 && out[count - 1] == '0') {
    count--;
  }
  out[count] = '\0';
  return count;
}

/// Reads back with the C library and with ours, has as few digits as possible, and is the closest
/// decimal with so many digits.
static void check_write(double value) {
  char text[NUMBER_TEXT_MAX];
  uint32_t length = number_write(text, value);
  CHECK(length < NUMBER_TEXT_MAX && length == strlen(text), text);
  CHECK(to_bits(strtod(text, NULL)) == to_bits(value), text);
  CHECK(to_bits(read_all(text)) == to_bits(value), text);

  // %.*e gives the closest decimal of a number of digits: one digit less must not read back
  char trial[40];
  char digits[40];
  char closest[40];
  int count = (int)digits_of(text, digits);
  CHECK(count <= 17, text);
  if (count > 1) {
    snprintf(trial, sizeof trial, "%.*e", count - 2, value);
    CHECK(to_bits(strtod(trial, NULL)) != to_bits(value), text);
  }
  snprintf(trial, sizeof trial, "%.*e", count - 1, value);
  if (to_bits(strtod(trial, NULL)) == to_bits(value)) {
    digits_of(trial, closest);
    CHECK(strcmp(digits, closest) == 0, text);
  }
}

TEST(write_forms) {
  static const struct {
    double value;
    const char* text;
  } cases[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {1.0, "1"},
      {-1.0, "-1"},
      {0.1, "0.1"},
      {-0.25, "-0.25"},
      {0.3, "0.3"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1e-5, "0.00001"},
      {1.5e-5, "0.000015"},
      {9.999999999999999e-6, "9.999999999999999e-6"},
      {1e-6, "1e-6"},
      {1.25e-6, "1.25e-6"},
      {123.456, "123.456"},
      {1e15, "1000000000000000"},
      {1e16, "10000000000000000"},
      {12345678901234568.0, "12345678901234568"},
      {99999999999999984.0, "99999999999999980"},
      {1e17, "1e17"},
      {1.5e17, "1.5e17"},
      {1e21, "1e21"},
      {1e22, "1e22"},
      {1e23, "1e23"},
      {9007199254740991.0, "9007199254740991"},
      {9007199254740992.0, "9007199254740992"},
      {9007199254740994.0, "9007199254740994"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e308"},
      {-1.7976931348623157e308, "-1.7976931348623157e308"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {2.225073858507201e-308, "2.225073858507201e-308"},
      {-1.2345678901234567e-105, "-1.2345678901234567e-105"},
      {1e-100, "1e-100"},
      {3.141592653589793, "3.141592653589793"},
      {0.000012345678901234568, "0.000012345678901234568"},
      {1234567890.125, "1234567890.125"},
      {(double)INFINITY, "Inf"},
      {-(double)INFINITY, "-Inf"},
      {(double)NAN, "NaN"},
      {-(double)NAN, "NaN"},
  };
  FOR_CASES(c, cases) {
    char text[NUMBER_TEXT_MAX];
    uint32_t length = number_write(text, c->value);
    CHECK_STR(((Str){text, length}), c->text, c->text);
    CHECK(text[length] == '\0', c->text);
  }
}

TEST(read_forms) {
  static const struct {
    const char* text;
    bool sign;
    uint32_t length;
    double value;
  } cases[] = {
      {"", true, 0, 0.0},
      {"x", true, 0, 0.0},
      {".", true, 0, 0.0},
      {"-", true, 0, 0.0},
      {"-.", true, 0, 0.0},
      {".e5", true, 0, 0.0},
      {"-1", false, 0, 0.0},
      {"+1", true, 2, 1.0},
      {"-1", true, 2, -1.0},
      {"--1", true, 0, 0.0},
      {"1", false, 1, 1.0},
      {"1.", false, 2, 1.0},
      {".5", false, 2, 0.5},
      {"1.5.2", false, 3, 1.5},
      {"1e", false, 1, 1.0},
      {"1e+", false, 1, 1.0},
      {"1e-x", false, 1, 1.0},
      {"1e5", false, 3, 1e5},
      {"1E+5", false, 4, 1e5},
      {"1.e-2", false, 5, 0.01},
      {"12abc", false, 2, 12.0},
      {"0x10", false, 1, 0.0},
      {"1,5", false, 1, 1.0},
      {"1 2", false, 1, 1.0},
      {"00012.500", false, 9, 12.5},
      {"1e400", false, 5, (double)INFINITY},
      {"-1e400", true, 6, -(double)INFINITY},
      {"1e-400", false, 6, 0.0},
      {"0e999999999999999999999", false, 23, 0.0},
      {"1e999999999999999999999", false, 23, (double)INFINITY},
      {"1e-99999999999999999999", false, 23, 0.0},
      {"0.0000000000000000000000000000000000000001e40", false, 45, 1.0},
      {"10000000000000000000000000000000000000000e-40", false, 45, 1.0},
      {"Inf", true, 0, 0.0},
      {"NaN", true, 0, 0.0},
  };
  FOR_CASES(c, cases) {
    double value = 77.0;
    uint32_t length = number_read(str_from_c(c->text), c->sign, &value);
    CHECK(length == c->length, c->text);
    CHECK(value == c->value, c->text);
  }
  double value = 1.0;
  CHECK(number_read((Str){NULL, 0}, true, &value) == 0, "null text");
  CHECK(number_read(STR_LIT("-0"), true, &value) == 2 && signbit(value), "negative zero");
  CHECK(number_read((Str){"123456", 3}, true, &value) == 3 && value == 123.0, "length counts");
}

TEST(read_hard_cases) {
  static const char* const cases[] = {
      "9007199254740993",
      "9007199254740992.9999999999999999999999",
      "9007199254740993.00000000000000000000000000000001",
      "9007199254740995",
      "1e23",
      "8.98846567431158e307",
      "1.7976931348623157e308",
      "1.7976931348623158e308",
      "1.797693134862315807e308",
      "1.7976931348623159e308",
      "179769313486231580793e289",
      "4.9e-324",
      "5e-324",
      "2.4703282292062327208e-324",
      "2.4703282292062328e-324",
      "2.47032822920623272e-324",
      "2.2250738585072011e-308",
      "2.2250738585072012e-308",
      "2.2250738585072014e-308",
      "2.225073858507201e-308",
      "6.631236846766476e-316",
      "3."
      "2378839133029012895883524125015321748630376694231080599012970495523019706706765657868357425"
      "87799557860615776559838283435514391084153169252689190564396459577394618038928365305143463955"
      "1"
      "00356696665629202017331344031730044369360205258345803431471660032699580731300954848363975548"
      "6"
      "90010751530018881758184174569652173110473696022749934638425380623369774736560008997404060967"
      "4"
      "98028389191878963968575439222206416981462690113342524002724385941651051293552601421155333430"
      "2"
      "25237291523843322331326138431477823591142408800030775170625915670728657003151953664260769822"
      "4"
      "94937951845801530895238439819708403389937873241463484205608000027270531106827387907791444918"
      "5"
      "34771598750162812548862768493201518991668028251730299953143924168545708663913273274694463908"
      "6"
      "72332293360571640",
      "7.2057594037927933e16",
      "72057594037927936.5",
      "72057594037927944",
      "72057594037927945",
      "123456789012345678901234567890",
      "1.00000005960464477550",
      "1.000000059604644775390625",
      "1.00000000000000011102230246251565",
      "1.00000000000000011102230246251565404236316680908203125",
      "1.00000000000000011102230246251565404236316680908203126",
      "1.00000000000000011102230246251565404236316680908203124",
      "1.00000000000000033306690738754696",
      "0."
      "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
      "6929495644600919.5",
      "3.7455744005952583e15",
      "2.0e-20",
      "9214843084008499",
      "1e22",
      "1e-22",
      "123456789012345e22",
      "123456789012345e-22",
      "999999999999999e22",
      "30078505129381147446200",
      "1777820000000000000001",
      "0.500000000000000166533453693773481063544750213623046875",
      "3.518437208883201171875e13",
      "62.5364939768271845828",
      "8.10109172351e-10",
      "1.50000000000000011102230246251565",
      "9007199254740991.4999999999999999999999999999999995",
      "1.1754941406275178592461758986628081843312458647327962400313859427181746759860647699724722e-"
      "38"};
  for (size_t i = 0; i < SLT_COUNT(cases); i++) {
    check_read(cases[i]);
  }
}

TEST(powers_of_two) {
  for (int n = -1074; n <= 1023; n++) {
    double value = ldexp(1.0, n);
    check_write(value);
    check_write(nextafter(value, 0.0));
    check_write(nextafter(value, (double)INFINITY));
  }
}

TEST(powers_of_ten) {
  for (int n = -345; n <= 310; n++) {
    char text[32];
    for (int d = 1; d <= 9; d++) {
      snprintf(text, sizeof text, "%de%d", d, n);
      check_read(text);
      double value = read_all(text);
      if (value == 0.0 || !isfinite(value)) continue;
      check_write(value);
      if (n > -300) {
        char out[NUMBER_TEXT_MAX];
        char digits[40];
        number_write(out, value);
        CHECK(digits_of(out, digits) == 1, text);
      }
    }
  }
}

// The promise of shortness and of reading back, on random bits of every exponent.
TEST(random_bits_round_trip) {
  uint64_t state = 1;
  for (uint32_t i = 0; i < 1000000; i++) {
    double value = from_bits(test_random(&state));
    if (!isfinite(value)) continue;
    check_write(value);
  }
}

TEST(random_short_decimals_are_kept) {
  uint64_t state = 2;
  for (uint32_t i = 0; i < 200000; i++) {
    char text[40];
    uint64_t digits = test_random(&state) % UINT64_C(1000000000000000);
    int exponent = (int)(test_random(&state) % 600) - 300;
    snprintf(text, sizeof text, "%" PRIu64 "e%d", digits, exponent);
    double value = read_all(text);
    CHECK(to_bits(value) == to_bits(strtod(text, NULL)), text);
    char out[NUMBER_TEXT_MAX];
    char kept[40];
    number_write(out, value);
    CHECK(digits_of(out, kept) <= 15, text);
  }
}

TEST(subnormals) {
  uint64_t state = 3;
  for (uint32_t i = 0; i < 100000; i++) {
    double value = from_bits(test_random(&state) >> (12 + i % 52));
    if (value > 0.0) check_write(value);
  }
  for (uint64_t bits = 1; bits < 1000; bits++) {
    check_write(from_bits(bits));
  }
}

// Random decimals of any length, most of them beyond what a 64-bit integer holds.
TEST(random_long_decimals) {
  uint64_t state = 4;
  for (uint32_t i = 0; i < 100000; i++) {
    char text[128];
    size_t count = 1 + test_random(&state) % 60;
    size_t point = test_random(&state) % (count + 1);
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
      if (k == point) text[at++] = '.';
      text[at++] = (char)('0' + test_random(&state) % 10);
    }
    snprintf(text + at, sizeof text - at, "e%d", (int)(test_random(&state) % 700) - 350);
    check_read(text);
  }
}

// Exact midpoints between doubles, and one digit to either side of them.
TEST(midpoints) {
  uint64_t state = 5;
  for (uint32_t i = 0; i < 3000; i++) {
    uint64_t bits = test_random(&state) & ~(UINT64_C(1) << 63);
    if (i % 3 == 0) bits = (UINT64_C(1023) + test_random(&state) % 60) << 52 | bits >> 12;
    if (i % 16 == 0) bits >>= 12;
    double low = from_bits(bits);
    double high = from_bits(bits + 1);
    if (!isfinite(low) || !isfinite(high)) continue;

    // glibc prints exactly; x87 long doubles hold the midpoint exactly
    char text[1400];
    long double middle = ((long double)low + (long double)high) / 2.0L;
    snprintf(text, sizeof text - 8, "%.1150Lf", middle);
    check_read(text);
    size_t length = strlen(text);
    memcpy(text + length, "001", 4);
    check_read(text);
    while (length > 0 && (text[length - 1] == '0' || text[length - 1] == '.')) {
      length--;
    }
    text[length] = '\0';
    if (length > 0 && text[length - 1] > '0' && strchr(text, '.')) {
      text[length - 1]--;
      check_read(text);
    }
  }
}

TEST(very_long_texts) {
  size_t length = 100000;
  char* text = malloc(length + 1);
  assert_non_null(text);
  memset(text, '0', length);
  text[length] = '\0';
  text[1] = '.';
  CHECK(read_all(text) == 0.0, "zeros");
  text[length - 1] = '1';
  CHECK(read_all(text) == 0.0, "tiny");
  text[0] = '1';
  CHECK(read_all(text) == 1.0, "one and a bit");
  memcpy(text, "9007199254740993.", 17);
  CHECK(read_all(text) == 9007199254740994.0, "a bit more than a midpoint");
  text[length - 1] = '0';
  CHECK(read_all(text) == 9007199254740992.0, "a midpoint");
  memset(text, '9', length);
  CHECK(read_all(text) == (double)INFINITY, "nines");
  memcpy(text + length - 7, "e-99993", 7);
  CHECK(read_all(text) == 1.0, "nines scaled");
  free(text);
}

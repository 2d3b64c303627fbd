// SPDX-License-Identifier: MIT
//
// Reading numbers: any bytes; what is read agrees with the C library and survives being written.
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool condition) {
  if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return 0;
  double value = 0.0;
  uint32_t length = number_read((Str){(const char*)data, (uint32_t)size}, true, &value);
  require(length <= size);
  if (length == 0) return 0;

  char* copy = malloc((size_t)length + 1);
  if (!copy) return 0;
  memcpy(copy, data, length);
  copy[length] = '\0';
  char* end = NULL;
  double want = strtod(copy, &end);
  require(end == copy + length);
  require(memcmp(&want, &value, sizeof value) == 0);
  free(copy);

  char text[NUMBER_TEXT_MAX];
  uint32_t written = number_write(text, value);
  double again = 0.0;
  bool finite = value - value == 0.0;
  if (finite) {
    require(number_read((Str){text, written}, true, &again) == written);
    require(memcmp(&again, &value, sizeof value) == 0);
  }
  return 0;
}

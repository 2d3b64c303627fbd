// SPDX-License-Identifier: MIT
//
// Stands in for libFuzzer: feeds every file of the folders and files given to the target, in the
// order of their names, so that what fuzzing once found stays fixed in every build.
#define _DEFAULT_SOURCE  // scandir
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static int replay_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return 1;
  }
  struct stat info;
  size_t size = fstat(fileno(file), &info) == 0 ? (size_t)info.st_size : 0;

  // a block of exactly this size, so that AddressSanitizer sees a read beyond the input
  uint8_t* data = malloc(size ? size : 1);
  size_t got = data ? fread(data, 1, size, file) : 0;
  fclose(file);
  if (data && got == size) LLVMFuzzerTestOneInput(data, size);
  free(data);
  return got == size ? 0 : 1;
}

static int replay_folder(const char* folder, unsigned* count) {
  struct dirent** entries = NULL;
  int n = scandir(folder, &entries, NULL, alphasort);
  int failed = n < 0;
  if (failed) perror(folder);
  for (int i = 0; i < n; i++) {
    if (entries[i]->d_name[0] != '.') {
      size_t size = strlen(folder) + strlen(entries[i]->d_name) + 2;
      char* path = malloc(size);
      if (path) {
        snprintf(path, size, "%s/%s", folder, entries[i]->d_name);
        failed |= replay_file(path);
        free(path);
        (*count)++;
      }
    }
    free(entries[i]);
  }
  free(entries);
  return failed;
}

int main(int argc, char** argv) {
  unsigned count = 0;
  int failed = 0;
  LLVMFuzzerTestOneInput((const uint8_t*)"", 0);
  for (int i = 1; i < argc; i++) {
    struct stat info;
    bool folder = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode);
    if (folder) {
      failed |= replay_folder(argv[i], &count);
    } else {
      failed |= replay_file(argv[i]);
      count++;
    }
  }
  printf("%u inputs replayed\n", count);
  return failed;
}

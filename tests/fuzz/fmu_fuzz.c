// SPDX-License-Identifier: MIT
//
// Any bytes are a model description of an FMU or none; the part that is written for one can be read
// whatever its names are.
#include "../fmi/block.c"  // NOLINT(bugprone-suspicious-include): as the program does

#include <saltus/saltus.h>

#define TEXT_MAX ((size_t)1 << 16)  // of a part that is compiled

typedef struct Written {
  char data[TEXT_MAX];
  size_t length;
} Written;

static SltStatus keep(void* user, const char* data, size_t length) {
  Written* written = user;
  if (length > TEXT_MAX - 64 - written->length) return SLT_ERR_LIMIT;
  memcpy(written->data + written->length, data, length);
  written->length += length;
  return SLT_OK;
}

static void compile_part(const FmuFile* file) {
  static Written written;
  written.length = 0;
  Text text = {.writer = {keep, &written}};
  put_head(&text, file, "block");
  put_variables(&text, &file->layout);
  put_events(&text, &file->layout);
  if (text.status < 0) return;
  SltCompileOptions options = slt_compile_options();
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("part", written.data, written.length, &options, &model);
  slt_model_free(model);
  // the data of the part are not there, but the text can be read
  if (status == SLT_ERR_SYNTAX) __builtin_trap();
}

/// One folder for all inputs of this process.
static const char* folder(void) {
  static char name[64];
  if (name[0]) return name;
  snprintf(name, sizeof name, "/tmp/saltus-fuzz-fmu-XXXXXX");
  if (!mkdtemp(name)) exit(2);
  return name;
}

__attribute__((destructor)) static void remove_folder(void) {
  fmu_remove(folder());
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char path[128];
  char problem[512] = "";
  snprintf(path, sizeof path, "%s/modelDescription.xml", folder());
  FILE* out = fopen(path, "wb");
  if (!out) return 0;
  size_t put_out = fwrite(data, 1, size, out);
  if (fclose(out) != 0 || put_out != size) return 0;
  FmuFile* file = calloc(1, sizeof *file);
  if (!file) return 0;
  bool described = fmu_describe(folder(), &file->d, problem, sizeof problem);
  if (described && lay_out(file, problem, sizeof problem)) {
    compile_part(file);
  } else if (!problem[0]) {
    __builtin_trap();  // a reason is given
  }
  free_file(file, false);
  return 0;
}

// SPDX-License-Identifier: MIT
#define _XOPEN_SOURCE 700
#include "read.h"

#include "archive.h"

#include <errno.h>
#include <expat.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 20000
#define BYTES_MAX   ((uint64_t)2 << 30)  // of all files, unpacked
#define XML_MAX     ((long)256 << 20)
#define ITEMS_MAX   4000000u

// ---- the archive --------------------------------------------------------------------------------

static int remove_one(const char* path, const struct stat* info, int kind, struct FTW* place) {
  (void)info;
  (void)kind;
  (void)place;
  (void)remove(path);
  return 0;
}

void fmu_remove(const char* folder) {
  (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/// A name that stays inside: no root, no "..", no backslash, no control character.
static bool is_inside(const char* name) {
  if (name[0] == '/' || name[0] == '\0' || strlen(name) > 1000) return false;
  for (const char* at = name; *at; at++) {
    if (*at == '\\' || (unsigned char)*at < 0x20) return false;
  }
  for (const char* part = name; part;) {
    const char* end = strchr(part, '/');
    size_t length = end ? (size_t)(end - part) : strlen(part);
    if ((length == 2 && part[0] == '.' && part[1] == '.') || (length == 1 && part[0] == '.'))
      return false;
    part = end ? end + 1 : NULL;
  }
  return true;
}

/// Make the folders above a file.
static bool make_folders(char* path, size_t from) {
  for (char* at = path + from; (at = strchr(at, '/')) != NULL; at++) {
    *at = '\0';
    bool good = mkdir(path, 0700) == 0 || errno == EEXIST;
    *at = '/';
    if (!good) return false;
  }
  return true;
}

static bool copy_entry(const Archive* archive, uint64_t index, const char* path, uint64_t* budget) {
  zip_file_t* from = archive->f.zip_fopen_index(archive->zip, index, 0);
  if (!from) return false;
  int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0700);
  bool good = to >= 0;
  char buffer[65536];
  zip_int64_t got = 0;
  while (good && (got = archive->f.zip_fread(from, buffer, sizeof buffer)) > 0) {
    good = (uint64_t)got <= *budget && write(to, buffer, (size_t)got) == got;
    *budget -= good ? (uint64_t)got : 0;
  }
  if (to >= 0) close(to);
  archive->f.zip_fclose(from);
  return good && got == 0;
}

static bool unpack_all(const Archive* archive, const char* folder, char* problem, size_t size) {
  zip_int64_t count = archive->f.zip_get_num_entries(archive->zip, 0);
  uint64_t budget = BYTES_MAX;
  if (count > ENTRIES_MAX) {
    snprintf(problem, size, "it has %lld files, more than %d", (long long)count, ENTRIES_MAX);
    return false;
  }
  for (zip_int64_t i = 0; i < count; i++) {
    const char* name = archive->f.zip_get_name(archive->zip, (zip_uint64_t)i, ZIP_FL_ENC_GUESS);
    char path[2200];
    if (!name || !is_inside(name)) {
      snprintf(problem, size, "it has a file that would be written outside of its folder");
      return false;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!make_folders(path, strlen(folder) + 1)) {
      snprintf(problem, size, "cannot make the folder of %s", name);
      return false;
    }
    if (name[strlen(name) - 1] == '/') continue;
    if (!copy_entry(archive, (zip_uint64_t)i, path, &budget)) {
      snprintf(problem, size, "cannot unpack %s: damaged, or more than %llu bytes", name,
               (unsigned long long)BYTES_MAX);
      return false;
    }
  }
  return true;
}

bool fmu_unpack(const char* path, char* folder, size_t size, char* problem, size_t problem_size) {
  const char* temporary = getenv("TMPDIR");
  snprintf(folder, size, "%s/saltus-fmu-XXXXXX",
           temporary && temporary[0] == '/' ? temporary : "/tmp");
  Archive archive;
  if (!archive_open(&archive, path, ZIP_RDONLY, problem, problem_size)) return false;
  bool good = mkdtemp(folder) != NULL;
  if (!good) snprintf(problem, problem_size, "cannot make a folder %s", folder);
  if (good && !unpack_all(&archive, folder, problem, problem_size)) {
    fmu_remove(folder);
    good = false;
  }
  archive.f.zip_discard(archive.zip);
  return good;
}

// ---- the description ----------------------------------------------------------------------------

// clang-format off
#define EXPAT_LIST(X) \
  X(XML_ParserCreate) X(XML_ParserFree) X(XML_SetUserData) X(XML_SetElementHandler) \
  X(XML_SetEntityDeclHandler) X(XML_Parse) X(XML_StopParser) X(XML_GetErrorCode) \
  X(XML_ErrorString) X(XML_GetCurrentLineNumber)
// clang-format on

typedef struct Expat {
  EXPAT_LIST(LIBRARY_MEMBER)
} Expat;

typedef struct Reader {
  Expat expat;
  XML_Parser parser;
  FmuDescription* d;
  char* problem;
  size_t problem_size;
  bool failed, in_variables, in_derivatives, in_outputs;
} Reader;

static void stop(Reader* r, const char* text) {
  if (r->failed) return;
  r->failed = true;
  snprintf(r->problem, r->problem_size, "modelDescription.xml, line %lu: %s",
           (unsigned long)r->expat.XML_GetCurrentLineNumber(r->parser), text);
  r->expat.XML_StopParser(r->parser, XML_FALSE);
}

static const char* value_of(const char** attributes, const char* name) {
  for (; *attributes; attributes += 2) {
    if (strcmp(attributes[0], name) == 0) return attributes[1];
  }
  return NULL;
}

static bool is_true(const char** attributes, const char* name) {
  const char* value = value_of(attributes, name);
  return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static char* copy_of(Reader* r, const char* text) {
  char* copy = malloc(strlen(text ? text : "") + 1);
  if (!copy) {
    stop(r, "out of memory");
  } else {
    memcpy(copy, text ? text : "", strlen(text ? text : "") + 1);
  }
  return copy;
}

static double number_of(const char** attributes, const char* name) {
  const char* value = value_of(attributes, name);
  return value ? strtod(value, NULL) : (double)NAN;
}

static void read_root(Reader* r, const char** a) {
  const char* version = value_of(a, "fmiVersion");
  FmuDescription* d = r->d;
  d->version = version && version[0] == '2' ? 2 : version && version[0] == '3' ? 3 : 0;
  if (!d->version) {
    stop(r, "only versions 2 and 3 of the standard are known here");
    return;
  }
  if (d->name || d->token) {
    stop(r, "a description stands inside of another one");
    return;
  }
  d->name = copy_of(r, value_of(a, "modelName"));
  d->token = copy_of(r, value_of(a, d->version == 2 ? "guid" : "instantiationToken"));
  const char* indicators = value_of(a, "numberOfEventIndicators");
  d->indicators = indicators ? (uint32_t)strtoul(indicators, NULL, 10) : 0;
  if (d->indicators > ITEMS_MAX) stop(r, "too many event indicators");
}

static void read_interface(Reader* r, const char** a, bool exchange) {
  FmuDescription* d = r->d;
  const char* identifier = value_of(a, "modelIdentifier");
  if (!identifier || !is_inside(identifier) || strchr(identifier, '/')) {
    stop(r, "modelIdentifier is missing or no name");
    return;
  }
  char** place = exchange ? &d->me : &d->cs;
  if (*place) return;
  *place = copy_of(r, identifier);
  bool tool = is_true(a, "needsExecutionTool");
  bool states = is_true(a, "canGetAndSetFMUstate") || is_true(a, "canGetAndSetFMUState");
  if (exchange) {
    d->me_tool = tool;
    d->me_states = states;
    d->directional =
        is_true(a, "providesDirectionalDerivative") || is_true(a, "providesDirectionalDerivatives");
    d->no_completed_step = is_true(a, "completedIntegratorStepNotNeeded");
    if (d->version == 3) d->no_completed_step = !is_true(a, "needsCompletedIntegratorStep");
  } else {
    d->cs_tool = tool;
    d->cs_states = states;
    d->event_mode = is_true(a, "hasEventMode");
  }
}

/// A value reference or an index: a whole number of 32 bits.
static bool read_reference(const char* text, uint32_t* out) {
  char* end = NULL;
  unsigned long long value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
  *out = (uint32_t)value;
  return end && *end == '\0' && value <= UINT32_MAX;
}

/// One more derivative of a state or output, by its index or reference.
static void add_unknown(Reader* r, uint32_t** list, uint32_t* count, const char* value) {
  if ((*count & (*count - 1)) == 0) {
    size_t wanted = *count ? 2 * (size_t)*count : 1;
    uint32_t* moved = wanted <= ITEMS_MAX ? realloc(*list, wanted * sizeof *moved) : NULL;
    if (!moved) {
      stop(r, "too many unknowns in ModelStructure");
      return;
    }
    *list = moved;
  }
  uint32_t* next = &(*list)[(*count)++];
  *next = 0;
  if (value && !read_reference(value, next)) stop(r, "ModelStructure refers to no number");
}

static int compare_references(const void* a, const void* b) {
  const FmuItem* x = *(const FmuItem* const*)a;
  const FmuItem* y = *(const FmuItem* const*)b;
  if (x->reference != y->reference) return x->reference < y->reference ? -1 : 1;
  return (x > y) - (x < y);
}

static bool sort_references(FmuDescription* d) {
  d->by_reference = calloc((size_t)d->count + 1, sizeof *d->by_reference);
  for (uint32_t i = 0; i < d->count && d->by_reference; i++)
    d->by_reference[i] = &d->items[i];
  if (d->by_reference)
    qsort((void*)d->by_reference, d->count, sizeof *d->by_reference, compare_references);
  return d->by_reference != NULL;
}

/// The first variable with a reference; NULL for none.
static const FmuItem* item_of(const FmuDescription* d, uint32_t reference) {
  uint32_t low = 0;
  for (uint32_t high = d->count; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    if (d->by_reference[middle]->reference < reference) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = low < d->count && d->by_reference[low]->reference == reference;
  return found ? d->by_reference[low] : NULL;
}

/// The i-th state by its derivative.
const FmuItem* fmu_state(const FmuDescription* d, uint32_t i) {
  const FmuItem* rate = NULL;
  uint32_t unknown = i < d->state_count ? d->unknowns[i] : 0;
  if (i >= d->state_count) return NULL;
  if (d->version == 2) {
    rate = unknown >= 1 && unknown <= d->count ? &d->items[unknown - 1] : NULL;
    bool known = rate && rate->derivative >= 1 && rate->derivative <= d->count;
    return known ? &d->items[rate->derivative - 1] : NULL;
  }
  rate = item_of(d, unknown);
  bool known = rate && rate->derivative >= 1 && rate->derivative - 1 <= UINT32_MAX;
  return known ? item_of(d, (uint32_t)(rate->derivative - 1)) : NULL;
}

/// What stands in the element of the variable in version 3, in one of its own in version 2.
static void read_details(FmuItem* item, uint32_t version, const char** a) {
  const char* derivative = value_of(a, "derivative");
  const char* start = value_of(a, "start");
  const char* unit = value_of(a, "unit");
  if (derivative) item->derivative = strtoull(derivative, NULL, 10) + (version == 3 ? 1 : 0);
  if (start && item->type == FMU_BOOLEAN) {
    item->start = strcmp(start, "true") == 0 || strcmp(start, "1") == 0 ? 1.0 : 0.0;
  } else if (start && item->type != FMU_STRING && item->type != FMU_OTHER) {
    item->start = strtod(start, NULL);
  }
  item->has_start = item->has_start || start;
  if (unit) snprintf(item->unit, sizeof item->unit, "%s", unit);
}

static FmuType type_of(const char* name) {
  if (strcmp(name, "Real") == 0 || strncmp(name, "Float", 5) == 0) return FMU_REAL;
  if (strcmp(name, "Integer") == 0 || strcmp(name, "Enumeration") == 0) return FMU_INTEGER;
  if (strncmp(name, "Int", 3) == 0 || strncmp(name, "UInt", 4) == 0) return FMU_INTEGER;
  if (strcmp(name, "Boolean") == 0) return FMU_BOOLEAN;
  return strcmp(name, "String") == 0 ? FMU_STRING : FMU_OTHER;
}

static void read_variable(Reader* r, const char* element, const char** a) {
  FmuDescription* d = r->d;
  const char* name = value_of(a, "name");
  const char* reference = value_of(a, "valueReference");
  if (!name || !reference) {
    stop(r, "a variable without name or valueReference");
    return;
  }
  uint32_t number = 0;
  if (!read_reference(reference, &number)) {
    stop(r, "a valueReference that is no whole number from 0 to 4294967295");
    return;
  }
  if (d->count == d->capacity) {
    uint32_t wanted = d->capacity ? d->capacity * 2 : 64;
    FmuItem* moved = wanted <= ITEMS_MAX ? realloc(d->items, wanted * sizeof *moved) : NULL;
    if (!moved) {
      stop(r, "too many variables");
      return;
    }
    d->items = moved;
    d->capacity = wanted;
  }
  FmuItem* item = &d->items[d->count];
  const char* causality = value_of(a, "causality");
  const char* variability = value_of(a, "variability");
  if (!causality) causality = "local";
  *item = (FmuItem){.type = d->version == 3 ? type_of(element) : FMU_OTHER,
                    .reference = number,
                    .input = strcmp(causality, "input") == 0,
                    .output = strcmp(causality, "output") == 0,
                    .parameter = strstr(causality, "arameter") != NULL,
                    .local = strcmp(causality, "local") == 0,
                    .independent = strcmp(causality, "independent") == 0,
                    .start = (double)NAN};
  if (d->version == 3) read_details(item, 3, a);
  const char* initial = value_of(a, "initial");
  bool real = item->type == FMU_REAL || d->version == 2;
  snprintf(item->causality, sizeof item->causality, "%s", causality);
  snprintf(item->variability, sizeof item->variability, "%s",
           variability       ? variability
           : item->parameter ? "fixed"
           : real            ? "continuous"
                             : "discrete");
  snprintf(item->initial, sizeof item->initial, "%s", initial ? initial : "");
  item->said = variability != NULL;
  item->held = variability && strcmp(variability, "continuous") != 0;
  snprintf(item->native, sizeof item->native, "%s", element);
  item->name = copy_of(r, name);
  if (item->name) d->count++;
}

/// An element of ModelStructure that is an output or a derivative.
static bool read_unknown(Reader* r, const char* element, const char** a) {
  FmuDescription* d = r->d;
  bool unknown = d->version == 2 && strcmp(element, "Unknown") == 0;
  bool output = unknown ? r->in_outputs : strcmp(element, "Output") == 0;
  bool state = unknown ? r->in_derivatives : strcmp(element, "ContinuousStateDerivative") == 0;
  const char* value = value_of(a, unknown ? "index" : "valueReference");
  if (output) add_unknown(r, &d->outputs, &d->output_count, value);
  if (state) add_unknown(r, &d->unknowns, &d->state_count, value);
  return output || state;
}

static void on_start(void* user, const char* element, const char** a) {
  Reader* r = user;
  FmuDescription* d = r->d;
  if (r->failed) return;
  bool last = d->count > 0;
  if (strcmp(element, "fmiModelDescription") == 0) {
    read_root(r, a);
  } else if (!d->version) {
    stop(r, "this is no description of an FMU");
  } else if (strcmp(element, "ModelExchange") == 0 || strcmp(element, "CoSimulation") == 0) {
    read_interface(r, a, element[0] == 'M');
  } else if (strcmp(element, "DefaultExperiment") == 0) {
    d->start = number_of(a, "startTime");
    d->stop = number_of(a, "stopTime");
    d->tolerance = number_of(a, "tolerance");
    d->step = number_of(a, "stepSize");
  } else if (strcmp(element, "ModelVariables") == 0) {
    r->in_variables = true;
  } else if (strcmp(element, "Derivatives") == 0) {
    r->in_derivatives = true;
  } else if (strcmp(element, "Outputs") == 0) {
    r->in_outputs = true;
  } else if (!r->in_variables && read_unknown(r, element, a)) {
    return;
  } else if (!r->in_variables && d->version == 3 && strcmp(element, "EventIndicator") == 0) {
    d->indicators++;
  } else if (r->in_variables && strcmp(element, "ScalarVariable") == 0) {
    read_variable(r, element, a);
  } else if (r->in_variables && d->version == 2 && last && type_of(element) != FMU_OTHER) {
    d->items[d->count - 1].type = type_of(element);
    read_details(&d->items[d->count - 1], 2, a);
  } else if (r->in_variables && d->version == 3 && strcmp(element, "Start") == 0 && last) {
    d->items[d->count - 1].has_start = true;
  } else if (r->in_variables && d->version == 3 && strcmp(element, "Dimension") == 0 && last) {
    d->items[d->count - 1].array = true;
  } else if (r->in_variables && d->version == 3 && value_of(a, "valueReference")) {
    read_variable(r, element, a);
  }
}

static void on_end(void* user, const char* element) {
  Reader* r = user;
  if (strcmp(element, "ModelVariables") == 0) r->in_variables = false;
  if (strcmp(element, "Derivatives") == 0) r->in_derivatives = false;
  if (strcmp(element, "Outputs") == 0) r->in_outputs = false;
}

/// No description needs entities of its own; they are how a small file becomes a large one.
static void on_entity(void* user, const char* name, int parameter, const char* value, int length,
                      const char* base, const char* system, const char* public,
                      const char* notation) {
  (void)name;
  (void)parameter;
  (void)value;
  (void)length;
  (void)base;
  (void)system;
  (void)public;
  (void)notation;
  stop(user, "declarations of entities are not read");
}

static bool parse_file(Reader* r, FILE* file) {
  char buffer[65536];
  long total = 0;
  for (bool more = true; more && !r->failed;) {
    size_t got = fread(buffer, 1, sizeof buffer, file);
    more = got == sizeof buffer;
    total += (long)got;
    if (total > XML_MAX) stop(r, "the file is too long");
    if (!r->failed && r->expat.XML_Parse(r->parser, buffer, (int)got, !more) == XML_STATUS_ERROR &&
        !r->failed) {
      stop(r, r->expat.XML_ErrorString(r->expat.XML_GetErrorCode(r->parser)));
    }
  }
  return !r->failed;
}

bool fmu_describe(const char* folder, FmuDescription* out, char* problem, size_t problem_size) {
  double none = (double)NAN;
  *out = (FmuDescription){.start = none, .stop = none, .tolerance = none, .step = none};
  char path[1200];
  snprintf(path, sizeof path, "%s/modelDescription.xml", folder);
  FILE* file = fopen(path, "rb");
  if (!file) {
    snprintf(problem, problem_size, "it has no modelDescription.xml");
    return false;
  }
  static const char* const names[] = {EXPAT_LIST(LIBRARY_NAME)};
  Reader r = {.d = out, .problem = problem, .problem_size = problem_size};
  bool good = library_load(SALTUS_LIBRARY_EXPAT, names, sizeof names / sizeof *names, &r.expat);
  if (!good) {
    snprintf(problem, problem_size, "expat cannot be loaded; install the package libexpat1");
  } else {
    r.parser = r.expat.XML_ParserCreate(NULL);
    good = r.parser != NULL;
    if (!good) snprintf(problem, problem_size, "out of memory");
  }
  if (good) {
    r.expat.XML_SetUserData(r.parser, &r);
    r.expat.XML_SetElementHandler(r.parser, on_start, on_end);
    r.expat.XML_SetEntityDeclHandler(r.parser, on_entity);
    good = parse_file(&r, file);
    r.expat.XML_ParserFree(r.parser);
  }
  fclose(file);
  if (good && !sort_references(out)) {
    snprintf(problem, problem_size, "out of memory");
    good = false;
  }
  if (good && !out->me && !out->cs) {
    snprintf(problem, problem_size, "it is neither for model exchange nor for co-simulation");
    good = false;
  }
  if (!good) fmu_description_free(out);
  return good;
}

void fmu_description_free(FmuDescription* d) {
  for (uint32_t i = 0; i < d->count; i++)
    free(d->items[i].name);
  free(d->items);
  free((void*)d->by_reference);
  free(d->unknowns);
  free(d->outputs);
  free(d->name);
  free(d->token);
  free(d->me);
  free(d->cs);
  *d = (FmuDescription){.version = 0};
}

bool fmu_library(const FmuDescription* d, const char* folder, const char* identifier, char* path,
                 size_t size) {
#if defined(__aarch64__)
  static const char* const places[] = {"aarch64-linux", NULL};
#else
  static const char* const places[] = {"x86_64-linux", "linux64", NULL};
#endif
  for (int i = d->version == 2 && places[1] ? 1 : 0; i >= 0 && places[i]; i--) {
    snprintf(path, size, "%s/binaries/%s/%s.so", folder, places[i], identifier);
    if (access(path, R_OK) == 0) return true;
  }
  return false;
}

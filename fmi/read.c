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
#define ARRAY_MAX   10000u    // elements of an array that is taken apart
#define APART_MAX   1000000u  // ... and all that come of it

#define DIMENSIONS_MAX 8

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

/// A dimension of an array: its size, or the parameter whose value that is.
typedef struct Extent {
  uint32_t item;
  bool refers;
  uint64_t size;
} Extent;

/// References to variables, as the structure of the model lists them.
typedef struct References {
  uint32_t* list;
  uint32_t count;
} References;

typedef struct Reader {
  Expat expat;
  XML_Parser parser;
  FmuDescription* d;
  char* problem;
  size_t problem_size;
  bool failed, in_variables, in_derivatives, in_outputs, in_initials;
  References outputs, rates, guards;
  Extent* extents;  // in the order of the items
  uint32_t extent_count;
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

#define BLANKS " \t\r\n"

/// Whether a text, up to blanks, is a number. INF and NaN are.
static bool read_number(const char* text, double* out) {
  char* end = NULL;
  *out = strtod(text, &end);
  return end != text && end[strspn(end, BLANKS)] == '\0';
}

static double number_of(Reader* r, const char** attributes, const char* name) {
  const char* text = value_of(attributes, name);
  double value = (double)NAN;
  char problem[100];
  if (!text || read_number(text, &value)) return value;
  snprintf(problem, sizeof problem, "%s is no number", name);
  stop(r, problem);
  return (double)NAN;
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
  d->indicators = indicators && d->version == 2 ? (uint32_t)strtoul(indicators, NULL, 10) : 0;
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

/// Room for one more where the number of entries is a power of 2; NULL where there is none.
static void* grown(void* list, uint32_t count, size_t size) {
  if ((count & (count - 1)) != 0) return list;
  size_t wanted = count ? 2 * (size_t)count : 1;
  return wanted <= ITEMS_MAX ? realloc(list, wanted * size) : NULL;
}

/// One more output, derivative of a state or event indicator, by its index or reference.
static void add_unknown(Reader* r, References* to, const char* value) {
  uint32_t* moved = grown(to->list, to->count, sizeof *moved);
  if (!moved) {
    stop(r, "too many unknowns in ModelStructure");
    return;
  }
  to->list = moved;
  uint32_t* next = &to->list[to->count++];
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

/// The variable that ModelStructure means: an index from 1 in version 2, a reference in version 3;
/// the first element of an array. NULL for none.
static const FmuItem* item_meant(const FmuDescription* d, uint32_t place) {
  if (d->version == 3) return item_of(d, place);
  return place >= 1 && place <= d->count ? &d->items[place - 1] : NULL;
}

/// An initial unknown: whether inputs are among what it depends on. Where that is not told, they
/// are.
static void read_initial(const FmuDescription* d, uint32_t place, const char* dependencies) {
  const FmuItem* unknown = item_meant(d, place);
  bool inputs = dependencies == NULL;
  for (const char* at = dependencies; at && !inputs;) {
    char* end = NULL;
    unsigned long known = strtoul(at, &end, 10);
    if (end == at) break;
    const FmuItem* item = known <= UINT32_MAX ? item_meant(d, (uint32_t)known) : NULL;
    inputs = item && item->input;
    at = end;
  }
  if (unknown) d->items[unknown - d->items].by_inputs = inputs;
}

static bool is_numeric(const FmuItem* item) {
  return item->type == FMU_REAL || item->type == FMU_INTEGER || item->type == FMU_BOOLEAN;
}

/// The next of the start values, and what stands behind it; NULL where there is none, or no value.
static const char* next_start(const FmuItem* item, const char* text, double* value) {
  text += strspn(text, BLANKS);
  size_t length = strcspn(text, BLANKS);
  if (length == 0) return NULL;
  if (item->type != FMU_BOOLEAN) {
    char* end = NULL;
    double number = strtod(text, &end);
    if (end != text + length) return NULL;
    *value = number;
    return end;
  }
  static const char* const words[] = {"false", "0", "true", "1"};
  for (size_t i = 0; i < 4; i++) {
    if (length != strlen(words[i]) || strncmp(text, words[i], length) != 0) continue;
    *value = i < 2 ? 0.0 : 1.0;
    return text + length;
  }
  return NULL;
}

/// What stands in the element of the variable in version 3, in one of its own in version 2.
static void read_details(Reader* r, FmuItem* item, uint32_t version, const char** a) {
  const char* derivative = value_of(a, "derivative");
  const char* start = value_of(a, "start");
  const char* unit = value_of(a, "unit");
  if (derivative) item->derivative = strtoull(derivative, NULL, 10) + (version == 3 ? 1 : 0);
  if (start && is_numeric(item)) {
    const char* rest = next_start(item, start, &item->start);
    if (!rest) stop(r, "a start value that is none of its type");
    free(item->starts);
    item->starts = rest && rest[strspn(rest, BLANKS)] ? copy_of(r, start) : NULL;
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
                    .shapes = strcmp(causality, "structuralParameter") == 0,
                    .start = (double)NAN};
  if (d->version == 3) read_details(r, item, 3, a);
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

/// An element of ModelStructure that is an output, a derivative, an indicator or an initial
/// unknown.
static bool read_unknown(Reader* r, const char* element, const char** a) {
  FmuDescription* d = r->d;
  bool unknown = d->version == 2 && strcmp(element, "Unknown") == 0;
  bool output = unknown ? r->in_outputs : strcmp(element, "Output") == 0;
  bool state = unknown ? r->in_derivatives : strcmp(element, "ContinuousStateDerivative") == 0;
  const char* value = value_of(a, unknown ? "index" : "valueReference");
  bool guard = d->version == 3 && strcmp(element, "EventIndicator") == 0;
  if (output) add_unknown(r, &r->outputs, value);
  if (state) add_unknown(r, &r->rates, value);
  if (guard) add_unknown(r, &r->guards, value);
  bool initial = unknown ? r->in_initials : strcmp(element, "InitialUnknown") == 0;
  uint32_t place = 0;
  if (initial && d->by_reference && value && read_reference(value, &place))
    read_initial(d, place, value_of(a, "dependencies"));
  return output || state || guard || initial;
}

static void read_extent(Reader* r, const char** a) {
  const char* refers = value_of(a, "valueReference");
  const char* size = value_of(a, "start");
  Extent* moved = grown(r->extents, r->extent_count, sizeof *moved);
  if (!moved || (!refers && !size)) {
    stop(r, moved ? "a dimension without a size" : "too many dimensions");
    if (moved) r->extents = moved;
    return;
  }
  r->extents = moved;
  r->extents[r->extent_count++] =
      (Extent){r->d->count - 1, refers != NULL, strtoull(refers ? refers : size, NULL, 10)};
  r->d->items[r->d->count - 1].array = true;
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
  } else if (strcmp(element, "ScheduledExecution") == 0) {
    d->scheduled = true;
  } else if (strcmp(element, "DefaultExperiment") == 0) {
    d->start = number_of(r, a, "startTime");
    d->stop = number_of(r, a, "stopTime");
    d->tolerance = number_of(r, a, "tolerance");
    d->step = number_of(r, a, "stepSize");
  } else if (strcmp(element, "ModelVariables") == 0) {
    if (d->by_reference) stop(r, "a second list of variables");
    r->in_variables = true;
  } else if (strcmp(element, "Derivatives") == 0) {
    r->in_derivatives = true;
  } else if (strcmp(element, "Outputs") == 0) {
    r->in_outputs = true;
  } else if (strcmp(element, "InitialUnknowns") == 0) {
    r->in_initials = true;
  } else if (!r->in_variables && read_unknown(r, element, a)) {
    return;
  } else if (r->in_variables && d->version == 2 && last && type_of(element) != FMU_OTHER) {
    d->items[d->count - 1].type = type_of(element);
    read_details(r, &d->items[d->count - 1], 2, a);
  } else if (r->in_variables && d->version == 3 && strcmp(element, "Start") == 0 && last) {
    d->items[d->count - 1].has_start = true;
  } else if (r->in_variables && d->version == 3 && strcmp(element, "Dimension") == 0 && last) {
    read_extent(r, a);
  } else if (r->in_variables && (strcmp(element, "ScalarVariable") == 0 ||
                                 (d->version == 3 && value_of(a, "valueReference")))) {
    read_variable(r, element, a);
  }
}

static void on_end(void* user, const char* element) {
  Reader* r = user;
  if (strcmp(element, "ModelVariables") == 0) {
    r->in_variables = false;
    if (!r->failed && !r->d->by_reference && !sort_references(r->d)) stop(r, "out of memory");
  }
  if (strcmp(element, "Derivatives") == 0) r->in_derivatives = false;
  if (strcmp(element, "Outputs") == 0) r->in_outputs = false;
  if (strcmp(element, "InitialUnknowns") == 0) r->in_initials = false;
}

static void free_items(FmuDescription* d) {
  for (uint32_t i = 0; i < d->count; i++) {
    free(d->items[i].name);
    free(d->items[i].starts);
  }
  free(d->items);
  d->items = NULL;
  d->count = 0;
}

// ---- arrays -------------------------------------------------------------------------------------

/// Sizes of the array whose dimensions begin at `extent`; the number of elements, 0 where it cannot
/// be told or is too large.
static uint32_t count_elements(const Reader* r, uint32_t extent, uint32_t dimensions,
                               uint32_t* sizes) {
  uint64_t total = dimensions <= DIMENSIONS_MAX ? 1 : 0;
  for (uint32_t i = 0; i < dimensions && total > 0; i++) {
    const Extent* e = &r->extents[extent + i];
    const FmuItem* by = e->refers ? item_of(r->d, (uint32_t)e->size) : NULL;
    double told = by ? by->start : (double)NAN;
    uint64_t size = !e->refers ? e->size : told >= 0.0 && told <= ARRAY_MAX ? (uint64_t)told : 0;
    if (size > ARRAY_MAX) size = 0;
    sizes[i] = (uint32_t)size;
    total *= size;
    if (total > ARRAY_MAX) total = 0;
  }
  return (uint32_t)total;
}

/// `NAME[2,3]`, indices from 1, the last one counting fastest.
static char* element_name(const char* name, uint32_t element, const uint32_t* sizes,
                          uint32_t dimensions) {
  char text[DIMENSIONS_MAX * 12 + 4] = "";
  uint32_t rest = element;
  uint32_t below = 1;
  for (uint32_t i = 1; i < dimensions; i++)
    below *= sizes[i];
  for (uint32_t i = 0; i < dimensions; i++) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%c%u", i ? ',' : '[', rest / below + 1);
    rest %= below;
    if (i + 1 < dimensions) below /= sizes[i + 1];
  }
  size_t size = strlen(name) + strlen(text) + 2;
  char* full = malloc(size);
  if (full) snprintf(full, size, "%s%s]", name, text);
  return full;
}

/// Items for the elements of an array. One start value alone is that of all of them.
static bool put_elements(FmuDescription* to, const FmuItem* array, uint32_t count,
                         const uint32_t* sizes, uint32_t dimensions) {
  const char* starts = array->starts;
  FmuItem item = *array;
  item.array = false;
  item.starts = NULL;
  item.elements = count;
  for (uint32_t i = 0; i < count; i++) {
    item.element = i;
    item.name = element_name(array->name, i, sizes, dimensions);
    if (starts) starts = next_start(array, starts, &item.start);
    if (array->starts && !starts) item.start = (double)NAN;
    if (!item.name) return false;
    to->items[to->count++] = item;
  }
  return true;
}

/// Dimensions of the item, which begin at `extent`.
static uint32_t count_dimensions(const Reader* r, uint32_t item, uint32_t extent) {
  uint32_t count = 0;
  while (extent + count < r->extent_count && r->extents[extent + count].item == item)
    count++;
  return count;
}

/// Take arrays apart into their elements. The references are in order, and have to be again
/// afterwards.
static bool take_apart(Reader* r) {
  FmuDescription* d = r->d;
  uint32_t sizes[DIMENSIONS_MAX];
  uint64_t total = 0;
  for (uint32_t i = 0, extent = 0; i < d->count; i++) {
    uint32_t dimensions = count_dimensions(r, i, extent);
    uint32_t elements = dimensions ? count_elements(r, extent, dimensions, sizes) : 0;
    total += elements ? elements : 1;
    extent += dimensions;
  }
  FmuDescription apart = {.count = 0};
  bool good = total - d->count <= APART_MAX;
  apart.items = good ? calloc(total + 1, sizeof *apart.items) : NULL;
  good = apart.items != NULL;
  for (uint32_t i = 0, extent = 0; good && i < d->count; i++) {
    FmuItem* item = &d->items[i];
    uint32_t dimensions = count_dimensions(r, i, extent);
    uint32_t elements = dimensions ? count_elements(r, extent, dimensions, sizes) : 0;
    extent += dimensions;
    if (elements && is_numeric(item)) {
      good = put_elements(&apart, item, elements, sizes, dimensions);
    } else {
      apart.items[apart.count++] = *item;
      item->name = item->starts = NULL;
    }
  }
  free_items(good ? d : &apart);
  if (!good) return false;
  d->items = apart.items;
  d->count = apart.count;
  return true;
}

/// How many numbers the variable with a reference is.
static uint32_t numbers_of(const FmuDescription* d, uint32_t reference) {
  const FmuItem* item = item_of(d, reference);
  return item && item->elements ? item->elements : 1;
}

/// Whether all numbers of a variable are known: it is no array that was left as it is.
static bool is_whole(const FmuItem* item) {
  return item && !item->array;
}

/// The variable that a derivative is of; NULL for none.
static const FmuItem* integral_of(const FmuDescription* d, const FmuItem* rate) {
  if (!rate || rate->derivative == 0 || rate->derivative - 1 > UINT32_MAX) return NULL;
  uint32_t place = (uint32_t)(rate->derivative - 1);
  if (d->version == 2) return place < d->count ? &d->items[place] : NULL;
  const FmuItem* state = item_of(d, place);
  return state && state->elements == rate->elements ? state + rate->element : NULL;
}

/// States by their derivatives, and the number of indicators.
static bool resolve(Reader* r) {
  FmuDescription* d = r->d;
  d->whole = true;
  for (uint32_t i = 0; i < r->guards.count; i++) {
    d->indicators += numbers_of(d, r->guards.list[i]);
    d->whole &= is_whole(item_of(d, r->guards.list[i]));
  }
  size_t total = 0;
  for (uint32_t i = 0; i < r->rates.count; i++)
    total += d->version == 2 ? 1 : numbers_of(d, r->rates.list[i]);
  d->states = calloc(2 * total + 1, sizeof *d->states);
  d->rates = d->states + total;
  for (uint32_t i = 0; d->states && i < r->rates.count; i++) {
    uint32_t place = r->rates.list[i];
    const FmuItem* rate = item_meant(d, place);
    d->whole &= is_whole(rate);
    uint32_t count = d->version == 2 ? 1 : numbers_of(d, place);
    for (uint32_t k = 0; k < count; k++, d->state_count++) {
      d->rates[d->state_count] = rate ? rate + k : NULL;
      d->states[d->state_count] = integral_of(d, rate ? rate + k : NULL);
    }
  }
  d->outputs = r->outputs.list;
  d->output_count = r->outputs.count;
  r->outputs.list = NULL;
  return d->states != NULL && d->indicators <= ITEMS_MAX;
}

static bool conclude(Reader* r) {
  FmuDescription* d = r->d;
  bool good = d->by_reference || sort_references(d);
  if (good && r->extent_count) {
    good = take_apart(r);
    free((void*)d->by_reference);
    d->by_reference = NULL;
    good = good && sort_references(d);
  }
  good = good && resolve(r);
  if (!good) snprintf(r->problem, r->problem_size, "it has too many variables");
  return good;
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

/// Whether it has an interface that is known here, and asks for nothing that is not: without ticks
/// of its clocks it would run and be wrong.
static bool can_be_run(const FmuDescription* d, char* problem, size_t size) {
  for (uint32_t i = 0; i < d->count && (d->me || d->cs); i++) {
    if (!d->items[i].input || strcmp(d->items[i].native, "Clock") != 0) continue;
    snprintf(problem, size,
             "it has a clock that the importer has to tick, `%s`; clocks are not known here",
             d->items[i].name);
    return false;
  }
  if (!d->me && !d->cs) {
    snprintf(problem, size, "it is neither for model exchange nor for co-simulation%s",
             d->scheduled ? "; scheduled execution is not known here" : "");
  }
  return d->me || d->cs;
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
  good = good && conclude(&r);
  free(r.outputs.list);
  free(r.rates.list);
  free(r.guards.list);
  free(r.extents);
  good = good && can_be_run(out, problem, problem_size);
  if (!good) fmu_description_free(out);
  return good;
}

void fmu_description_free(FmuDescription* d) {
  free_items(d);
  free((void*)d->by_reference);
  free((void*)d->states);
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

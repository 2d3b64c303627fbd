// SPDX-License-Identifier: MIT
//
// The file is made in memory by the library's core driver and goes out as one piece: a file that is
// there is whole. Names may contain what HDF5 takes for a path ('/'), so data sets are numbered
// "1", "2", ... where a name cannot be one, and their attribute "name" has it; the attribute "unit"
// is there where one is known.
#include "record/table_hdf5.h"

#ifdef SALTUS_LIBRARY_HDF5

#include "base/library.h"

#include <hdf5.h>
#include <string.h>

#define GROWTH      ((size_t)1 << 20)  // bytes by which the image grows
#define CHUNK_ROWS  4096
#define COMPRESSION 4

// constants of the header call these two; here the library is open when they are used
#undef H5CHECK
#define H5CHECK
#undef H5OPEN
#define H5OPEN

// functions in use, and the variables behind the library's constants
// clang-format off
#define HDF5_LIST(X) \
  X(H5open) X(H5Eset_auto2) X(H5Tcopy) X(H5Tset_size) X(H5Tset_cset) X(H5Tset_strpad) \
  X(H5Tclose) X(H5Screate) X(H5Screate_simple) X(H5Sclose) X(H5Acreate2) X(H5Awrite) X(H5Aclose) \
  X(H5Pcreate) X(H5Pset_chunk) X(H5Pset_shuffle) X(H5Pset_deflate) X(H5Pset_char_encoding) \
  X(H5Pset_fapl_core) X(H5Pset_link_creation_order) X(H5Pclose) X(H5Zfilter_avail) X(H5Dcreate2) \
  X(H5Dwrite) X(H5Dclose) X(H5Lexists) X(H5Fcreate) X(H5Fflush) X(H5Fget_file_image) X(H5Fclose) \
  X(H5T_C_S1_g) X(H5T_NATIVE_DOUBLE_g) X(H5P_CLS_DATASET_CREATE_ID_g) \
  X(H5P_CLS_LINK_CREATE_ID_g) X(H5P_CLS_FILE_ACCESS_ID_g) X(H5P_CLS_FILE_CREATE_ID_g)
// clang-format on

typedef struct Hdf5 {
  HDF5_LIST(LIBRARY_MEMBER)
} Hdf5;

static bool hdf5_load(Hdf5* h) {
  static const char* const names[] = {HDF5_LIST(LIBRARY_NAME)};
  return library_load(SALTUS_LIBRARY_HDF5, names, SLT_COUNT(names), h) && h->H5open() >= 0;
}

bool table_has_hdf5(void) {
  Hdf5 h;
  return hdf5_load(&h);
}

/// A type of texts of `size` bytes in UTF-8.
static hid_t text_type(const Hdf5* h, size_t size) {
  hid_t type = h->H5Tcopy(*h->H5T_C_S1_g);
  h->H5Tset_size(type, size ? size : 1);
  h->H5Tset_cset(type, H5T_CSET_UTF8);
  h->H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

static bool add_attribute(const Hdf5* h, hid_t owner, const char* name, const char* value) {
  hid_t type = text_type(h, strlen(value));
  hid_t space = h->H5Screate(H5S_SCALAR);
  hid_t attribute = h->H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool good = attribute >= 0 && h->H5Awrite(attribute, type, value) >= 0;
  if (attribute >= 0) h->H5Aclose(attribute);
  h->H5Sclose(space);
  h->H5Tclose(type);
  return good;
}

/// Columns are compressed in pieces; an empty one is not cut.
static hid_t storage_of(const Hdf5* h, uint32_t rows) {
  hid_t list = h->H5Pcreate(*h->H5P_CLS_DATASET_CREATE_ID_g);
  hsize_t chunk = rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
  if (rows == 0) return list;
  h->H5Pset_chunk(list, 1, &chunk);
  if (h->H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
    h->H5Pset_shuffle(list);
    h->H5Pset_deflate(list, COMPRESSION);
  }
  return list;
}

static bool write_set(const Hdf5* h, hid_t file, const char* link, const TableColumn* column,
                      hid_t type, uint32_t rows, const void* data) {
  hsize_t size = rows;
  hid_t space = h->H5Screate_simple(1, &size, NULL);
  hid_t storage = storage_of(h, rows);
  hid_t names = h->H5Pcreate(*h->H5P_CLS_LINK_CREATE_ID_g);
  h->H5Pset_char_encoding(names, H5T_CSET_UTF8);
  hid_t set = h->H5Dcreate2(file, link, type, space, names, storage, H5P_DEFAULT);
  bool good = set >= 0 && add_attribute(h, set, "name", column->name) &&
              (!column->unit[0] || add_attribute(h, set, "unit", column->unit)) &&
              (rows == 0 || h->H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  if (set >= 0) h->H5Dclose(set);
  h->H5Pclose(names);
  h->H5Pclose(storage);
  h->H5Sclose(space);
  return good;
}

static bool write_states(const Hdf5* h, hid_t file, const SltTable* table, uint32_t column,
                         const char* link, Arena* arena) {
  size_t width = 1;
  for (uint32_t row = 0; row < table->row_count; row++) {
    uint32_t id = table_text_id(table, row, column);
    if (id && table->texts[id].length > width) width = table->texts[id].length;
  }
  char* data = ARENA_ARRAY(arena, char, base_mul_size(width, (size_t)table->row_count + 1));
  for (uint32_t row = 0; row < table->row_count; row++) {
    uint32_t id = table_text_id(table, row, column);
    if (id) memcpy(data + row * width, table->texts[id].data, table->texts[id].length);
  }
  hid_t type = text_type(h, width);
  bool good = write_set(h, file, link, &table->columns[column], type, table->row_count, data);
  h->H5Tclose(type);
  return good;
}

/// A name that is a path to HDF5, or taken already, gives way to a number.
static const char* link_of(const Hdf5* h, hid_t file, const char* name, uint32_t number,
                           char fallback[16]) {
  bool plain = name[0] && !strchr(name, '/') && strcmp(name, ".") != 0;
  if (plain && h->H5Lexists(file, name, H5P_DEFAULT) == 0) return name;
  snprintf(fallback, 16, "%u", number);
  return fallback;
}

static bool write_columns(const Hdf5* h, hid_t file, const SltTable* table, Arena* arena) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const TableColumn* column = &table->columns[i];
    if (column->hidden) continue;
    char fallback[16];
    const char* link = link_of(h, file, column->name, ++number, fallback);
    bool good = table_is_text(table, i) ? write_states(h, file, table, i, link, arena)
                                        : write_set(h, file, link, column, *h->H5T_NATIVE_DOUBLE_g,
                                                    table->row_count, column->values);
    if (!good) return false;
  }
  return true;
}

/// The finished file as bytes.
static bool write_image(const Hdf5* h, hid_t file, Sink* sink, Arena* arena) {
  ssize_t size =
      h->H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 ? h->H5Fget_file_image(file, NULL, 0) : -1;
  if (size < 0) return false;
  char* image = ARENA_ARRAY(arena, char, (size_t)size);
  if (h->H5Fget_file_image(file, image, (size_t)size) != size) return false;
  sink_bytes(sink, image, (size_t)size);
  return true;
}

SltStatus table_write_hdf5(const SltTable* table, Sink* sink, Arena* arena) {
  Hdf5 functions;
  const Hdf5* h = &functions;
  if (!hdf5_load(&functions)) return SLT_ERR_UNSUPPORTED;
  h->H5Eset_auto2(H5E_DEFAULT, NULL, NULL);  // the library must not print
  hid_t access = h->H5Pcreate(*h->H5P_CLS_FILE_ACCESS_ID_g);
  hid_t layout = h->H5Pcreate(*h->H5P_CLS_FILE_CREATE_ID_g);
  h->H5Pset_fapl_core(access, GROWTH, false);
  h->H5Pset_link_creation_order(layout, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  hid_t file = h->H5Fcreate("saltus", H5F_ACC_TRUNC, layout, access);
  jmp_buf* outer = arena->on_oom;
  jmp_buf inner;
  volatile bool good = false;
  arena->on_oom = &inner;
  if (setjmp(inner) == 0) {
    good = file >= 0 && write_columns(h, file, table, arena) && write_image(h, file, sink, arena);
  }
  arena->on_oom = outer;
  if (file >= 0) h->H5Fclose(file);
  h->H5Pclose(layout);
  h->H5Pclose(access);
  // what goes wrong in a file in memory is memory
  return good ? sink_flush(sink) : SLT_ERR_NOMEM;
}

#else

bool table_has_hdf5(void) {
  return false;
}

SltStatus table_write_hdf5(const SltTable* table, Sink* sink, Arena* arena) {
  (void)table;
  (void)sink;
  (void)arena;
  return SLT_ERR_UNSUPPORTED;
}

#endif

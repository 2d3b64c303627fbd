// SPDX-License-Identifier: MIT
//
// h5_tool FILE: the columns of a result in HDF5, in their order, as JSON: {"name", "unit",
// "values"} each.
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_text(const char* text, size_t size) {
  putchar('"');
  for (size_t i = 0; i < size && text[i]; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\') putchar('\\');
    if (c < 32) {
      printf("\\u%04x", c);
    } else {
      putchar(c);
    }
  }
  putchar('"');
}

static void print_attribute(hid_t set, const char* name) {
  if (H5Aexists(set, name) <= 0) {
    fputs("null", stdout);
    return;
  }
  hid_t attribute = H5Aopen(set, name, H5P_DEFAULT);
  hid_t type = H5Aget_type(attribute);
  size_t size = H5Tget_size(type);
  char* text = calloc(size + 1, 1);
  if (text && H5Aread(attribute, type, text) >= 0) print_text(text, size);
  free(text);
  H5Tclose(type);
  H5Aclose(attribute);
}

static void print_values(hid_t set) {
  hid_t space = H5Dget_space(set);
  hid_t type = H5Dget_type(set);
  size_t rows = (size_t)H5Sget_simple_extent_npoints(space);
  bool text = H5Tget_class(type) == H5T_STRING;
  size_t size = text ? H5Tget_size(type) : sizeof(double);
  char* data = calloc(rows + 1, size);
  if (data && rows > 0)
    H5Dread(set, text ? type : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  for (size_t i = 0; data && i < rows; i++) {
    double value = 0.0;
    if (i) putchar(',');
    if (text) {
      print_text(data + i * size, size);
    } else {
      memcpy(&value, data + i * size, sizeof value);
      if (value - value == 0.0) {
        printf("%.17g", value);
      } else {
        fputs("null", stdout);
      }
    }
  }
  free(data);
  H5Tclose(type);
  H5Sclose(space);
}

int main(int argc, char** argv) {
  hid_t file = argc == 2 ? H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
  H5G_info_t info;
  if (file < 0 || H5Gget_info(file, &info) < 0) return 1;
  putchar('[');
  for (hsize_t i = 0; i < info.nlinks; i++) {
    hid_t set = H5Oopen_by_idx(file, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, H5P_DEFAULT);
    if (set < 0) return 1;
    fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
    print_attribute(set, "name");
    fputs(",\"unit\":", stdout);
    print_attribute(set, "unit");
    fputs(",\"values\":[", stdout);
    print_values(set);
    fputs("]}", stdout);
    H5Oclose(set);
  }
  puts("]");
  H5Fclose(file);
  return 0;
}

# SPDX-License-Identifier: MIT
"""A reader of MAT-files of level 5, as far as the program writes them."""
import struct

HEAD = 128
INT8, INT32, UINT32, DOUBLE, MATRIX, UTF8 = 1, 5, 6, 9, 14, 16
CELL, CHAR, NUMBERS = 1, 4, 6


def element(data, at):
    """Type, content, and where the next element begins."""
    kind, size = struct.unpack_from("<II", data, at)
    if at + 8 + size > len(data):
        raise ValueError(f"an element at {at} reaches beyond the end of the file")
    return kind, data[at + 8:at + 8 + size], at + 8 + (size + 7) // 8 * 8


def rows_of(values, rows, columns):
    return [[values[c * rows + r] for c in range(columns)] for r in range(rows)]


def matrix(content):
    """Name and rows of an array."""
    kind, flags, at = element(content, 0)
    assert kind == UINT32 and len(flags) == 8
    array = flags[0]
    kind, dims, at = element(content, at)
    assert kind == INT32
    rows, columns = struct.unpack("<ii", dims)
    kind, name, at = element(content, at)
    assert kind == INT8
    if array == CELL:
        cells = []
        while at < len(content):
            kind, cell, at = element(content, at)
            assert kind == MATRIX
            cells.append(matrix(cell)[1])
        assert len(cells) == rows * columns
        return name.decode(), rows_of(cells, rows, columns)
    kind, raw, at = element(content, at)
    assert at == len(content), "something behind the data"
    if array == CHAR:
        assert kind == UTF8
        text = raw.decode("utf-8")
        assert len(text) == rows * columns
        return name.decode(), ["".join(row).rstrip() for row in rows_of(text, rows, columns)]
    assert (array, kind) == (NUMBERS, DOUBLE)
    values = struct.unpack(f"<{rows * columns}d", raw)
    return name.decode(), rows_of(values, rows, columns)


def read(path):
    """Names to rows: lists of numbers, texts, or cells."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[124:128] == b"\x00\x01IM", "not little endian of version 1"
    at, found = HEAD, {}
    while at < len(data):
        kind, content, at = element(data, at)
        assert kind == MATRIX
        name, rows = matrix(content)
        found[name] = rows
    return found

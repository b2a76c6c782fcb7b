"""SQLite database files of one table and one index, built page by page (https://sqlite.org/fileformat2.html).

Rows come in the order of their rowids and are all there, so both B-trees are filled from left to right and
no page is ever split: ten times as fast as inserting.  A file is the pages of a database with the empty
table (its root is page 2) and the empty index (page 3), which SQLite itself has made, with these two filled.

Terms: an *entry* is a row of the table, or its columns in the index and its rowid.  Every page but the last
of a level is followed by a *key* that its parent holds: in a table the largest rowid of the page, in an index
an entry of its own.  Entries and keys are named by their place, 0 … n − 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

Buffer = NDArray[np.uint8]
Index = NDArray[np.int64]

PAGE = 4096
TABLE, INDEX = 0, 1
_ROOTS, _FIXED_PAGES = 2, 3
_INTERIOR, _LEAF = np.array([0x05, 0x02]), np.array([0x0D, 0x0A])
_PAGES_AT = 28
_ZERO, _ONE, _REAL = 8, 9, 7
_WIDTHS = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0])
"""Bytes of a value by its serial type."""


@compiled(inline=True)
def _put(out: Buffer, at: int, value: int) -> int:
    out[np.uint64(at)] = np.uint8(value & 0xFF)
    return at + 1


@compiled(inline=True)
def _put_big_endian(out: Buffer, at: int, value: int, width: int) -> int:
    for shift in range(8 * width - 8, -8, -8):
        at = _put(out, at, value >> shift)
    return at


@compiled(inline=True)
def _put_varint(out: Buffer, at: int, value: int) -> int:
    """Write a number below 2³⁵: seven bits a byte, the highest first."""
    for shift in (28, 21, 14, 7):
        if value >> shift:
            at = _put(out, at, (value >> shift) & 127 | 128)
    return _put(out, at, value & 127)


@compiled(inline=True)
def _serial_type(value: int) -> int:
    if value == 0 or value == 1:
        return _ONE if value else _ZERO
    size = value if value >= 0 else ~value
    if size < 1 << 7:
        return 1
    if size < 1 << 15:
        return 2
    if size < 1 << 23:
        return 3
    if size < 1 << 31:
        return 4
    return 5 if size < 1 << 47 else 6


@compiled()
def _put_record(
    out: Buffer, at: int, bits: Index, is_null: Buffer, is_real: Buffer, columns: Index, row: int, rowid: int
) -> int:
    """Write a record of some columns of a row, and its rowid if that is above 0; return where it ends."""
    count = columns.size + (rowid > 0)
    head, body = _put(out, at, count + 1), at + 1 + count
    for k in range(columns.size):
        column = columns[k]
        value = bits[column, row]
        kind = 0 if is_null[column, row] else _REAL if is_real[column] else _serial_type(value)
        head = _put(out, head, kind)
        body = _put_big_endian(out, body, value, _WIDTHS[kind])
    if rowid > 0:
        kind = _serial_type(rowid)
        _put(out, head, kind)
        body = _put_big_endian(out, body, rowid, _WIDTHS[kind])
    return body


@compiled()
def _put_cell(cell: Buffer, out: Buffer, start: int, count: int, content: int, head: int, size: int) -> int:
    """Add a cell to the page at `start`, from its end downwards; return where content begins, −1 if it is full.

    `head` are the bytes of the page's header, `count` and `content` tell what it holds.
    """
    content -= size
    if head + 2 * (count + 1) > content:
        return -1
    for k in range(size):
        out[np.uint64(start + content + k)] = cell[np.uint64(k)]
    _put_big_endian(out, start + head + 2 * count, content, 2)
    return content


@compiled(inline=True)
def _finish_page(out: Buffer, start: int, kind: int, head: int, count: int, content: int) -> None:
    """Write the header of a page, and zeros between its cell pointers and its cells."""
    for k in range(head + 2 * count, content):
        _put(out, start + k, 0)
    _put_big_endian(out, start, kind, 1)
    _put_big_endian(out, start + 1, 0, 2)
    _put_big_endian(out, start + 3, count, 2)
    _put_big_endian(out, start + 5, content, 2)
    _put(out, start + 7, 0)


@compiled()
def _entry_cell(
    cell: Buffer,
    at: int,
    tree: int,
    bits: Index,
    is_null: Buffer,
    is_real: Buffer,
    columns: Index,
    row: int,
    rowid: int,
) -> int:
    """Write the cell of an entry at `at`; return where it ends."""
    record = at + 16
    end = _put_record(cell, record, bits, is_null, is_real, columns, row, rowid if tree == INDEX else 0)
    at = _put_varint(cell, at, end - record)
    if tree == TABLE:
        at = _put_varint(cell, at, rowid)
    for k in range(record, end):
        at = _put(cell, at, cell[k])
    return at


@compiled()
def _build_leaves(
    tree: int,
    bits: Index,
    is_null: Buffer,
    is_real: Buffer,
    columns: Index,
    order: Index,
    first: int,
    n: int,
    out: Buffer,
    base: int,
    pages: int,
    children: Index,
    keys: Index,
) -> int:
    """Fill leaves after page `pages` with n entries; return how many: page k is ``children[k]``."""
    cell = np.empty(64 + 9 * (bits.shape[0] + 2), np.uint8)
    leaves, entry = 0, 0
    while entry < n or leaves == 0:
        page = pages + leaves + 1
        start, count, content, before = base + (page - 1) * PAGE, 0, PAGE, PAGE
        while entry < n:
            row = order[first + entry] if tree == INDEX else first + entry
            size = _entry_cell(cell, 0, tree, bits, is_null, is_real, columns, row, row - first + 1)
            placed = _put_cell(cell, out, start, count, content, 8, size)
            if placed < 0:
                break
            before, content = content, placed
            count, entry = count + 1, entry + 1
        if tree == INDEX and entry == n - 1:  # one is left, and it would be the key: the next leaf needs one
            count, content, entry = count - 1, before, entry - 1
        _finish_page(out, start, _LEAF[tree], 8, count, content)
        children[leaves], keys[leaves] = page, entry if tree == INDEX else entry - 1
        leaves += 1
        entry += tree == INDEX and entry < n
    return leaves


@compiled()
def _build_interior(
    tree: int,
    bits: Index,
    is_null: Buffer,
    is_real: Buffer,
    columns: Index,
    order: Index,
    first: int,
    out: Buffer,
    base: int,
    pages: int,
    children: Index,
    keys: Index,
    n: int,
) -> int:
    """Fill pages after page `pages` that point to n children; return how many, which replace the children."""
    cell = np.empty(64 + 9 * (bits.shape[0] + 2), np.uint8)
    made, child = 0, 0
    while child < n:
        page = pages + made + 1
        start, count, content, before = base + (page - 1) * PAGE, 0, PAGE, PAGE
        while child < n - 1:
            at = _put_big_endian(cell, 0, children[child], 4)
            if tree == INDEX:
                row = order[first + keys[child]]
                at = _entry_cell(cell, at, tree, bits, is_null, is_real, columns, row, row - first + 1)
            else:
                at = _put_varint(cell, at, keys[child] + 1)
            placed = _put_cell(cell, out, start, count, content, 12, at)
            if placed < 0:
                break
            before, content = content, placed
            count, child = count + 1, child + 1
        if child == n - 2:  # the last page would point to one child only
            count, content, child = count - 1, before, child - 1
        _finish_page(out, start, _INTERIOR[tree], 12, count, content)
        _put_big_endian(out, start + 8, children[child], 4)
        children[made], keys[made] = page, keys[child]
        made += 1
        child += 1
    return made


@compiled()
def _build_tree(
    tree: int,
    bits: Index,
    is_null: Buffer,
    is_real: Buffer,
    columns: Index,
    order: Index,
    first: int,
    n: int,
    out: Buffer,
    base: int,
    pages: int,
    children: Index,
    keys: Index,
) -> int:
    """Fill a B-tree after page `pages`, move its top to its root page; return the pages there are now."""
    level = _build_leaves(tree, bits, is_null, is_real, columns, order, first, n, out, base, pages, children, keys)
    pages += level
    while level > 1:
        level = _build_interior(
            tree, bits, is_null, is_real, columns, order, first, out, base, pages, children, keys, level
        )
        pages += level
    top, root = base + (pages - 1) * PAGE, base + (_ROOTS + tree - 1) * PAGE
    out[root : root + PAGE] = out[top : top + PAGE]
    return pages - 1


@compiled()
def build_files(
    bits: Index,
    is_null: Buffer,
    is_real: Buffer,
    indexed: Index,
    order: Index,
    edges: Index,
    empty: Buffer,
    out: Buffer,
    ends: Index,
) -> None:
    """Fill `out` with whole database files, one after the other.

    Parameters
    ----------
    bits
        Columns of the table, shape (columns, rows): whole numbers, or the bits of float64.
    is_null, is_real
        Where a value is missing, same shape; which columns are float64.
    indexed
        Columns of the index; empty where there is none.
    order
        Rows in the order of the index, within each file.
    edges
        Where the rows of each file begin, and the number of rows, shape (files + 1,).
    empty
        The database with no rows: schema, table, index (if any).
    out
        Output; :func:`room` says how large.
    ends
        Output: where each file ends, shape (files + 1,), from 0.
    """
    every = np.arange(bits.shape[0])
    most = np.max(np.diff(edges)) if edges.size > 1 else 0
    children, keys = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    ends[0] = 0
    for k in range(edges.size - 1):
        base, first, n = ends[k], edges[k], edges[k + 1] - edges[k]
        out[base : base + empty.size] = empty
        pages = empty.size // PAGE
        pages = _build_tree(TABLE, bits, is_null, is_real, every, order, first, n, out, base, pages, children, keys)
        if indexed.size:
            pages = _build_tree(
                INDEX, bits, is_null, is_real, indexed, order, first, n, out, base, pages, children, keys
            )
        _put_big_endian(out, base + _PAGES_AT, pages, 4)
        ends[k + 1] = base + pages * PAGE


def room(columns: int, indexed: int, rows: Index) -> int:
    """Return bytes that are enough for files with so many rows each.

    Examples
    --------
    >>> room(4, 2, np.array([1, 20])) // PAGE
    7
    """
    pages = np.full(rows.size, _FIXED_PAGES if indexed else _ROOTS)
    for values in (columns, indexed + 1) if indexed else (columns,):
        cell = 10 * values + 16
        leaves = -(-rows * cell // (PAGE - 12 - cell))
        pages += np.where(leaves > 1, leaves + leaves // 8 + 3, 0)
    return (int(pages.sum()) + 1) * PAGE

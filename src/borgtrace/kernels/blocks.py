"""Move bytes a block at a time, and float32 that lie anywhere in some bytes, marking which are missing.

The caller knows that a whole block is there, and writes later what the end of one overwrites.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BLOCK = 32
"""Bytes of a block: a register of a processor of ten years ago."""
FLOATS = BLOCK // 4
"""Values of a block."""


@intrinsic
def move_block(
    _typing: Any,
    source: Any,
    first: Any,
    target: Any,
    at: Any,
) -> Any:
    """Move ``source[first : first + BLOCK]`` to ``target[at : at + BLOCK]``; these do not overlap."""

    def generate(
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
    ) -> Any:
        block = ir.VectorType(ir.IntType(8), BLOCK).as_pointer()
        places = []
        for number in (0, 2):
            array = context.make_array(signature.args[number])(context, builder, arguments[number])
            byte = builder.gep(array.data, [arguments[number + 1]])
            places.append(builder.bitcast(byte, block))
        # align=1: a block begins at any byte.
        builder.store(builder.load(places[0], align=1), places[1], align=1)
        return context.get_dummy_value()

    return types.void(source, first, target, at), generate


def _moving(count: int) -> Any:
    """Return a function that compiles the move of so many values."""

    def generate(
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
    ) -> Any:
        source, at, values, mask, place, fill = arguments
        arrays = []
        for number, array in ((0, source), (2, values), (3, mask)):
            arrays.append(context.make_array(signature.args[number])(context, builder, array).data)
        floats = ir.VectorType(ir.FloatType(), count)
        flags = ir.VectorType(ir.IntType(8), count)
        source_place = builder.bitcast(builder.gep(arrays[0], [at]), floats.as_pointer())
        # align=1: a record of a file begins at any byte.
        moved = builder.load(source_place, align=1)
        is_known = builder.fcmp_ordered("ord", moved, moved)
        fills = ir.Constant(floats, ir.Undefined)
        for number in range(count):
            fills = builder.insert_element(fills, fill, ir.IntType(32)(number))
        filled = builder.select(is_known, moved, fills)
        values_place = builder.bitcast(builder.gep(arrays[1], [place]), floats.as_pointer())
        mask_place = builder.bitcast(builder.gep(arrays[2], [place]), flags.as_pointer())
        builder.store(filled, values_place, align=4)
        builder.store(builder.zext(is_known, flags), mask_place, align=1)
        return context.get_dummy_value()

    return generate


@intrinsic
def move_floats(
    _typing: Any,
    source: Any,
    at: Any,
    values: Any,
    mask: Any,
    place: Any,
    fill: Any,
) -> Any:
    """Move :data:`FLOATS` values from byte `at` of `source` to ``values[place]`` and behind.

    Where one is NaN, `fill` stands in its place; `mask` becomes True where none is.
    """
    return types.void(source, at, values, mask, place, fill), _moving(FLOATS)


@intrinsic
def move_float(
    _typing: Any,
    source: Any,
    at: Any,
    values: Any,
    mask: Any,
    place: Any,
    fill: Any,
) -> Any:
    """Move one value, as :func:`move_floats` does."""
    return types.void(source, at, values, mask, place, fill), _moving(1)

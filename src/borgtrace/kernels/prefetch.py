"""Ask the processor for memory ahead of time, where it cannot guess what is read next."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def prefetch(_typing: Any, values: Any, at: Any) -> Any:
    """Begin to load ``values[at]``; nothing happens where it lies outside the array."""

    def generate(
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
    ) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(
            builder.gep(array.data, [arguments[1]]),
            ir.IntType(8).as_pointer(),
        )
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        # For reading, kept in every cache, of data.
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(values, at), generate

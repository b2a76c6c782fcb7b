"""The CPU that shipped machine code is compiled for, and whether this machine can run that."""

import platform
from functools import cache

import llvmlite.binding as llvm

PORTABLE_CPU = "x86-64-v3"
"""The level of x86-64 with AVX2 and FMA, as its ABI defines it: Intel since Haswell, AMD since Excavator."""
_FEATURES = frozenset(
    {
        # Level 2.
        *("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"),
        # Level 3; that the system saves the wide registers is part of LLVM's answer about AVX.
        *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    }
)
"""What the level asks of a CPU, as LLVM names it."""


@cache
def runs_portable_code() -> bool:
    """Whether the CPU of this machine has all that :data:`PORTABLE_CPU` asks."""
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return False
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in _FEATURES)


def portable_target(target: tuple[str, str, str]) -> tuple[str, str, str]:
    """Return Numba's description of a target of the same system, with the portable CPU.

    Parameters
    ----------
    target
        System, CPU and features, as Numba's code generator describes what it compiles for.
    """
    return (target[0], PORTABLE_CPU, "")

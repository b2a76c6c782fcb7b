"""Choose where PyTorch computes, and hold what it computes there to the seed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from borgtrace.errors import EngineError, UsageError

NAMES = "auto, cpu, cuda, cuda:0, … or mps"
_PATTERN = re.compile(r"auto|cpu|cuda(:\d{1,3})?|mps")
SHARE_OF_FREE = 0.7
"""Of the free memory of a device: the rest is for batches, and for what the layers keep of them."""


def import_torch(user: str) -> Any:
    """Import PyTorch, or say how to install it.

    Parameters
    ----------
    user
        What needs it.

    Raises
    ------
    EngineError
        It is not installed.
    """
    try:
        import torch
    except ImportError:
        raise EngineError(user, "needs torch", way_out="pip install torch") from None
    return torch


def check_device(option: str, name: str) -> None:
    """Refuse what is no name of a device; whether there is one is asked when it is used.

    Raises
    ------
    UsageError
        Another name.

    Examples
    --------
    >>> check_device("--device", "cuda:1")
    """
    if not _PATTERN.fullmatch(name):
        raise UsageError(option, "no such device", expected=NAMES, got=name)


def available_devices() -> list[str]:
    """Return the devices of this machine, the fastest first; ``cpu`` is always the last."""
    torch = import_torch("a device")
    devices = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def device_of(name: str, option: str = "--device") -> Any:
    """Return the ``torch.device`` of a name.

    Parameters
    ----------
    name
        ``"auto"``, the fastest that there is; ``"cpu"``; ``"cuda"``, the first GPU of CUDA, or ``"cuda:1"``; ``"mps"``.
    option
        What errors name.

    Raises
    ------
    UsageError
        It is no name of a device, or this machine has none of this name.
    EngineError
        PyTorch is not installed.
    """
    check_device(option, name)
    torch = import_torch(f"{option} {name}")
    available = available_devices()
    wanted = available[0] if name == "auto" else name
    if wanted == "cuda":
        wanted = "cuda:0"
    if wanted not in available:
        raise UsageError(
            option,
            "PyTorch finds no such device",
            expected=" or ".join(available),
            got=name,
            way_out="auto takes the fastest that there is",
        )
    return torch.device(wanted)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let each operation of PyTorch run in one thread: the number of threads changes the last digits."""
    torch = import_torch("learning")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


@contextmanager
def reproducible(seed: int) -> Iterator[Any]:
    """Let the seed alone decide what is learned on a device; yield the generator of the order of examples.

    Random numbers are drawn on the CPU whatever the device, so that all learn the same examples in the same order.

    Parameters
    ----------
    seed
        Of the layers, and of the order of examples.
    """
    torch = import_torch("learning")
    # Of cuBLAS: without it sums on CUDA may come in any order.  Read when CUDA is first used.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # TF32 drops 13 bits of each factor, so that a GPU would agree with a CPU to three digits only.
    exact = torch.backends.cudnn.flags(
        enabled=torch.backends.cudnn.enabled,
        benchmark=False,
        deterministic=True,
        allow_tf32=False,
    )
    # The program's own generator stays as it was.
    with one_thread(), exact, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield torch.default_generator


def fits(device: Any, n_bytes: int) -> bool:
    """Return whether so many bytes may stay on a device; on a CPU, where they are already, they may."""
    torch = import_torch("learning")
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
    elif device.type == "mps":
        free = torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()
    else:
        return True
    return bool(n_bytes <= SHARE_OF_FREE * free)

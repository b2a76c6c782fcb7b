"""Trained forecasters in a file that holds arrays and text, and no code."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from borgtrace.errors import SourceError, check_names, first_line, shell_word
from borgtrace.forecast.forecasters import OwnForecaster, array_of_shape
from borgtrace.forecast.registry import SAVABLE
from borgtrace.forecast.series import HORIZONS
from borgtrace.forecast.trained import TrainedForecaster
from borgtrace.storage import open_regular, refuse_shortage, replacing

FORMAT = "borgtrace forecasters 1"
"""What a file says of itself; the number goes up when files can no longer be read."""
_HEADER = "header"
_WAY_OUT = "make one: borgtrace forecast STORE --save FILE"
"""Where a file is there, it is somebody's: no command is proposed that would replace it."""
_PICKLE = b"\x80"
"""The first byte of a pickle, in which earlier versions saved forecasters."""


class SavedForecasters(NamedTuple):
    """Forecasters by name, and the slot from which on they may be judged."""

    begin: int
    forecasters: dict[str, TrainedForecaster]


def save(
    path: Path,
    store_digest: str,
    resource: str,
    cut: int,
    trained: Mapping[str, TrainedForecaster],
) -> None:
    """Write trained forecasters into a file.

    Parameters
    ----------
    path
        The file, which is replaced.
    store_digest, resource, cut
        What they were trained on, and the slot before which they have seen all.
    trained
        Ours, by name.
    """
    header = {
        "format": FORMAT,
        "store": store_digest,
        "resource": resource,
        "cut": cut,
        "forecasters": list(trained),
    }
    arrays: dict[str, Any] = {_HEADER: np.array(json.dumps(header))}
    for name, forecaster in trained.items():
        for part, values in _arrays_of(forecaster).items():
            arrays[f"{name}/{part}"] = values
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load(
    path: str,
    store_digest: str,
    resource: str,
) -> SavedForecasters:
    """Load saved forecasters; nothing in the file is run.

    Parameters
    ----------
    path
        What ``borgtrace forecast --save`` wrote.
    store_digest, resource
        What they will be judged on.

    Raises
    ------
    SourceError
        Where there is no such file, it holds something else, or it is a pickle, as earlier versions wrote.
    UsageError
        Where they were trained on another resource.
    """
    if not Path(path).is_file():
        command = f"borgtrace forecast STORE --save {shell_word(path)}"
        raise SourceError(path, "no such file", way_out=f"make one: {command}")
    with open_regular(Path(path)) as file:
        if file.read(1) == _PICKLE:
            raise SourceError(
                path,
                "a pickle, which can run code",
                expected="forecasters saved as arrays",
                got="a file of an earlier version, or of another program",
                way_out="train them again: borgtrace forecast STORE --save FILE",
            )
    try:
        header, arrays = _read(Path(path))
        trained = {name: _restored(name, arrays) for name in header["forecasters"]}
        begin = int(header["cut"]) if header["store"] == store_digest else 0
        trained_resource = str(header["resource"])
    # Another file may be wrong in any way.
    except Exception as error:
        refuse_shortage(error, Path(path))
        raise SourceError(
            path,
            "not forecasters that were saved",
            got=first_line(error),
            way_out=_WAY_OUT,
        ) from error
    check_names("--resource", [resource], [trained_resource])
    # Of another store they have seen nothing: there all hours may be judged.
    return SavedForecasters(begin, trained)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of a file, which takes no more memory than it has bytes."""
    with zipfile.ZipFile(path) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("a compressed member")
    with np.load(path, allow_pickle=False) as members:
        arrays = dict(members)
    header = json.loads(str(arrays.pop(_HEADER)))
    if header["format"] != FORMAT:
        raise ValueError(f"the format {header['format']!r}")
    return header, arrays


def _arrays_of(trained: TrainedForecaster) -> dict[str, Any]:
    """Return what a forecaster of ours learned, and how much it errs, as arrays by name."""
    # Foreign ones are refused before anything is trained: a file holds no code that could read their arrays.
    assert isinstance(trained.forecaster, OwnForecaster)
    errors = {"factor": trained.factor, "floor": np.array(trained.floor)}
    return {**errors, **trained.forecaster.arrays()}


def _restored(name: str, arrays: Mapping[str, Any]) -> TrainedForecaster:
    """Return a forecaster of the program's own, with what it had learned."""
    forecaster = SAVABLE[name]()
    prefix = f"{name}/"
    own_arrays = {
        key.removeprefix(prefix): values for key, values in arrays.items() if key.startswith(prefix)
    }
    factor = array_of_shape(own_arrays["factor"], (HORIZONS,))
    floor = float(array_of_shape(own_arrays["floor"], ()))
    forecaster.restore(own_arrays)
    return TrainedForecaster(forecaster, factor, floor)

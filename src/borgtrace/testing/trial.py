"""One trial of an extension: it is called, and what it does beside answering is noticed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from borgtrace.errors import BorgtraceError
from borgtrace.extensions import failure_of_extension, words_of

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_NUMBER = re.compile(r"[0-9][0-9,.]*")
_QUOTED = 40
"""Characters that are quoted of what was printed."""


class ContractError(AssertionError):
    """What an extension does that the contract of its kind forbids.

    Parameters
    ----------
    name
        What the extension is called.
    failures
        Everything that is wrong, one sentence each.
    """

    def __init__(self, name: str, failures: Sequence[str]) -> None:
        super().__init__(f"{name}: " + "; ".join(failures))
        self.failures = tuple(failures)


@dataclass
class Trials:
    """Everything that an extension did wrong so far, one sentence each, without repetitions.

    Attributes
    ----------
    failures
        The sentences, by what they say without its numbers.
    """

    failures: dict[str, str] = field(default_factory=dict)

    def add(self, failure: str, where: str = "") -> None:
        """Add what is wrong, unless the same is known of other input.

        Parameters
        ----------
        failure
            What is wrong.
        where
            On which input; empty where that says it all.
        """
        sentence = f"{where}, {failure}" if where else failure
        self.failures.setdefault(_NUMBER.sub("#", failure), sentence)

    def call(self, where: str, function: Callable[[], Any], inputs: Iterable[Any] = ()) -> Any:
        """Call a function of the extension and return its result; None where it fails.

        Parameters
        ----------
        where
            On what it is called, for the sentence.
        function
            What is called.
        inputs
            Arrays that it must not change.
        """
        arrays = [value for value in inputs if isinstance(value, np.ndarray)]
        before = [array.copy() for array in arrays]
        printed = io.StringIO()
        result = None
        try:
            with redirect_stdout(printed):
                result = function()
        except BorgtraceError as error:
            self.add(_without_where(error), where)
        # It is somebody's code: whatever it raises is its fault.
        except Exception as error:
            located = failure_of_extension(error)
            line = f" in {located.where}" if located else ""
            self.add(f"it raises {type(error).__name__}{line}: {words_of(error)}", where)
        if printed.getvalue():
            self.add(printed_in_words(printed.getvalue()))
        for array, copy in zip(arrays, before, strict=True):
            if not np.array_equal(array, copy, equal_nan=array.dtype.kind == "f"):
                self.add("it changes its input: work on a copy")
        return result

    def raise_all(self, name: str) -> None:
        """Raise an error with every sentence, where there is any.

        Parameters
        ----------
        name
            What the extension is called.

        Raises
        ------
        ContractError
            Something is wrong.
        """
        if self.failures:
            raise ContractError(name, list(self.failures.values()))


def printed_in_words(text: str) -> str:
    """Say that an extension prints, and what.

    Examples
    --------
    >>> printed_in_words("here ")
    "it prints to stdout ('here'), which is for data: print to stderr"
    """
    return f"it prints to stdout ({text.strip()[:_QUOTED]!r}), which is for data: print to stderr"


def _without_where(error: BorgtraceError) -> str:
    """Return the message of an error without the place, which the sentence names."""
    return str(error).removeprefix(f"{error.where}: ")


def check_words(trials: Trials, extension: Any) -> None:
    """Check the name and the sentence of an extension.

    Parameters
    ----------
    trials
        Where failures go.
    extension
        A class or an object with `name` and `about`.
    """
    name = getattr(extension, "name", None)
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        trials.add(f"its name is {name!r}: write small letters and hyphens, such as peak-of-hour")
    about = getattr(extension, "about", None)
    if not isinstance(about, str) or not about.strip():
        trials.add("it has no attribute `about`: a few words on what it does, for lists")


def same_bytes(first: Any, second: Any) -> bool:
    """Whether two results are equal to the last bit, arrays and what holds them.

    Parameters
    ----------
    first, second
        Arrays, numbers, or mappings of these.
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            same_bytes(first[key], second[key]) for key in first
        )
    one, other = np.asarray(first), np.asarray(second)
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()

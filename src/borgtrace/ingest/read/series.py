"""One series as a file holds it: labels and samples as texts, whatever the form of the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_SERIES = 1 << 26
"""Bytes of one series, which is read whole; 11,000 points of a range query take 400 KB."""


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one series; the others of it may come later, or in another file.

    Parameters
    ----------
    labels
        Its labels; the name of the metric is ``__name__``.
    times, values
        Texts of the samples: seconds since 1970, and values.  What is no text is refused later.
    is_instant
        Whether it is of an instant query or another snapshot, which has one sample of each series.
    """

    labels: Mapping[str, str]
    times: Sequence[Any]
    values: Sequence[Any]
    is_instant: bool = False


@dataclass(frozen=True, slots=True)
class OddSeries:
    """What stands in the place of a series and is none, or a sample that is none.

    Parameters
    ----------
    raw
        Its text.
    reason
        The reason code of its refusal; of a series that is left out, where `is_left_out`.
    is_left_out
        Whether it is sound, but of a kind that is not read.
    """

    raw: str
    reason: str = "unparsable_value"
    is_left_out: bool = False


@dataclass
class ReadingNotes:
    """What was noticed while a file was read.

    Parameters
    ----------
    n_warnings
        Warnings of the server about its answer.
    """

    n_warnings: int = 0


def seconds_of_milliseconds(text: Any) -> Any:
    """Return a time in ms as text in seconds; what is no whole number stays, with a mark that no number has.

    Examples
    --------
    >>> seconds_of_milliseconds("1793491200050"), seconds_of_milliseconds("x")
    ('1793491200.050', '?x')
    """
    if not isinstance(text, str) or not text.isdecimal() or len(text) < 4:
        return f"?{text}"
    return f"{text[:-3]}.{text[-3:]}"

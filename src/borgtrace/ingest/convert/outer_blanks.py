"""Names that a reader has to change: hardly a file has one, and to trim all names copies them."""

import numpy as np
import pyarrow as pa

from borgtrace.ingest.read.text_fields import BLANKS
from borgtrace.kernels.arrays import Bytes, ShortIndex
from borgtrace.kernels.compiled import compiled

_FIRST_BLANK, _SECOND_BLANK = (np.uint8(ord(blank)) for blank in BLANKS)


def has_outer_blanks(names: pa.StringArray) -> bool:
    """Return whether any name is empty or missing, or has a blank at either end.

    Examples
    --------
    >>> has_outer_blanks(pa.array(["a", "b c"])), has_outer_blanks(pa.array(["a", "b "]))
    (False, True)
    >>> has_outer_blanks(pa.array(["a", ""])), has_outer_blanks(pa.array([], pa.string()))
    (True, False)
    """
    if not len(names):
        return False
    _, ends, text = names.buffers()
    bounds = np.frombuffer(ends, np.int32)[names.offset : names.offset + len(names) + 1]
    return names.null_count > 0 or _has_outer_blanks(np.frombuffer(text or b"", np.uint8), bounds)


@compiled(makes_arrays=False)
def _has_outer_blanks(text: Bytes, bounds: ShortIndex) -> bool:
    for i in range(len(bounds) - 1):
        if bounds[i] == bounds[i + 1]:
            return True
        for code in (text[bounds[i]], text[bounds[i + 1] - 1]):
            if code == _FIRST_BLANK or code == _SECOND_BLANK:
                return True
    return False

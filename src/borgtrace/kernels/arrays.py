"""Names for the types of arrays that numeric code passes around, by their elements."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
"""Computed numbers."""
Values = NDArray[np.float32]
"""Usage as it was measured or drawn: most of the data."""
Index = NDArray[np.int64]
"""Positions, counts, ids."""
ShortIndex = NDArray[np.int32]
"""Positions within a job or a text: four bytes each."""
Flags = NDArray[np.bool_]
"""Yes or no."""
Bytes = NDArray[np.uint8]
"""Raw text, bitmaps, and bytes to be written."""
Words = NDArray[np.uint64]
"""Eight bytes each: hashes, bits of numbers."""

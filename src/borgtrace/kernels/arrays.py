"""Types of the arrays that numeric code hands around, one word for each kind of element."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
"""Everything that is computed."""
Values = NDArray[np.float32]
"""Usage as it was measured or drawn, of which there is most."""
Index = NDArray[np.int64]
"""Positions, counts, identities."""
Flags = NDArray[np.bool_]
"""Yes or no."""
Bytes = NDArray[np.uint8]
"""Raw text, bits, and images of what is written."""
Words = NDArray[np.uint64]
"""Eight bytes at a time: hashes, bits of numbers."""

"""Frames of pandas: the library is 80 MB that nothing here needs, and so an extra."""

from typing import Any

from borgtrace.errors import EngineError


def import_pandas() -> Any:
    """Import pandas, or say how to install it.

    Raises
    ------
    EngineError
        It is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise EngineError(
            "to_pandas",
            "pandas is not installed",
            way_out='pip install "borgtrace[pandas]"',
        ) from None
    return pandas

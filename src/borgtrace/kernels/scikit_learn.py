"""scikit-learn, with SciPy 200 MB, which two things need: boosted trees of `forecast` and clusters of usage."""

from importlib.util import find_spec

from borgtrace.errors import EngineError

WAY_OUT = 'pip install "borgtrace[trees]"'


def has_scikit_learn() -> bool:
    """Return whether it is installed, without importing it."""
    return find_spec("sklearn") is not None


def check_scikit_learn(user: str) -> None:
    """Say how to install it where it is missing.

    Parameters
    ----------
    user
        What needs it.

    Raises
    ------
    EngineError
        It is not installed.
    """
    if not has_scikit_learn():
        raise EngineError(user, "needs scikit-learn", way_out=WAY_OUT)

"""The version of the code, kept apart so that anything may import it."""

__version__ = "0.1.0"

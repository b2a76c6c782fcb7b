"""Ideas of others: code of a file that the user names, or of a package that is installed beside, used as our own is.

Code runs only where a user names it, by ``--from``, by its name among those of an installed package, or in Python.
"""

from borgtrace.extensions.failures import (
    failure_of_extension,
    line_of_function,
    quiet_output,
    words_of,
)
from borgtrace.extensions.origins import digest_of_code, source_of_code, sources_of
from borgtrace.extensions.registry import YOUR_OWN, Registry, kind_of
from borgtrace.extensions.sources import import_source
from borgtrace.extensions.workers import guarded

__all__ = [
    "YOUR_OWN",
    "Registry",
    "digest_of_code",
    "failure_of_extension",
    "guarded",
    "import_source",
    "kind_of",
    "line_of_function",
    "quiet_output",
    "source_of_code",
    "sources_of",
    "words_of",
]

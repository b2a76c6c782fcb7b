"""``borgtrace dialect``: a first draft of the format of own data."""

from pathlib import Path
from typing import Literal


def dialect(
    action: Literal["sniff", "list"], file: Path | None = None, as_json: bool = False
) -> None:
    """Write a first draft of the format of a file, which says what was guessed; or list the known formats.

    Correct the draft, then: borgtrace ingest FILE --dialect own.toml --store STORE

    Example: borgtrace dialect sniff own.csv > own.toml
    """
    import tomllib

    from borgtrace.cli._printing import print_json
    from borgtrace.errors import SourceError, UsageError
    from borgtrace.ingest.find.sniffing import sniff
    from borgtrace.schema.dialects import DIALECTS

    if action == "list":
        titles = {name: known.title for name, known in DIALECTS.items()}
        if as_json:
            print_json(titles, indent=1)
        else:
            print(*(f"{name}: {title}" for name, title in titles.items()), sep="\n")
        return
    if file is None:
        raise UsageError("FILE", "no file named", way_out="borgtrace dialect sniff FILE > own.toml")
    if not file.is_file():
        raise SourceError(str(file), "no such file", way_out="check the path")
    draft = sniff(file).text()
    if as_json:
        print_json(tomllib.loads(draft), indent=1)
    else:
        print(draft, end="")

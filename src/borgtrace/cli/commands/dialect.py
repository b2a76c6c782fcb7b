"""``borgtrace dialect``: draft a declaration for data of your own, and list the known formats."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption

ActionArgument = Annotated[
    Literal["sniff", "list"],
    Argument(metavar="sniff|list", help="Sniff files, or list the known formats."),
]
OwnFilesArgument = Annotated[
    list[Path] | None,
    Argument(
        metavar="[FILE…]",
        help="Usage as CSV, Parquet or JSON lines; with files of tasks and of machines beside it.",
    ),
]


@command(reads=["files"])
def dialect(
    action: ActionArgument,
    files: OwnFilesArgument = None,
    as_json: JsonOption = False,
) -> None:
    """Draft the format of files, or list the known formats.

    The draft says what was guessed. Correct the draft, then: borgtrace ingest FILE --dialect own.toml --store STORE.
    Several files are of one cluster: usage, the requests and lives of its tasks, and its machines.

    Example: borgtrace dialect sniff own.csv > own.toml
    """
    import sys
    import tomllib

    from borgtrace.cli.console import talk
    from borgtrace.cli.guesses import guess_grid
    from borgtrace.cli.printing import print_json
    from borgtrace.errors import SourceError, UsageError, shell_word
    from borgtrace.ingest.find.guessed_values import columns_with_values
    from borgtrace.ingest.find.joint_drafts import sniff_all
    from borgtrace.schema.dialects import DIALECTS

    if action == "list":
        titles = {name: known.title for name, known in DIALECTS.items()}
        if as_json:
            print_json(titles, indent=1)
            return
        for name, title in titles.items():
            print(f"{name}: {title}")
        return
    if not files:
        raise UsageError("FILE", "no file named", way_out="borgtrace dialect sniff FILE > own.toml")
    for file in files:
        if not file.is_file():
            raise SourceError(str(file), "no such file", way_out="check the path")
    joint = sniff_all(files)
    for fault in joint.faults.values():
        raise fault
    # Beside the draft, which is usually written to a file.
    talk.print(guess_grid(columns_with_values(joint.draft)), soft_wrap=False)
    draft = joint.draft.text()
    if as_json:
        print_json(tomllib.loads(draft), indent=1)
    else:
        print(draft, end="")
    names = " ".join(shell_word(file) for file in files)
    if sys.stdout.isatty() and not as_json:
        talk.print(f"To correct it: borgtrace dialect sniff {names} > own.toml")
        talk.print(f"Then: borgtrace ingest {names} --dialect own.toml --store own.store")

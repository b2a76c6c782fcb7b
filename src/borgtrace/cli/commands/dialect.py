"""``borgtrace dialect``: draft a declaration for data of your own, and list the known formats."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument

from borgtrace.cli.command import command
from borgtrace.cli.options import FromOption, JsonOption

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
    sources: FromOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draft the format of files, or list the known formats, those of installed packages and of --from included.

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

    if action == "list":
        print_formats(sources, as_json=as_json)
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
    if sys.stdout.isatty() and not as_json:
        names = " ".join(shell_word(file) for file in files)
        talk.print(f"To correct it: borgtrace dialect sniff {names} > own.toml")
        sizes = sizes_to_state(tomllib.loads(draft))
        capacity = f" --capacity {sizes}" if sizes else ""
        condition = f", with the size of your largest machine in place of {sizes}" if sizes else ""
        talk.print(f"Then{condition}:")
        talk.print(f"borgtrace ingest {names} --dialect own.toml{capacity} --store own.store")


def print_formats(sources: Sequence[str] | None, *, as_json: bool) -> None:
    """Print the name and title of each format, and where those of others come from.

    Parameters
    ----------
    sources
        Values of ``--from``.
    as_json
        Print the titles by name as JSON instead.
    """
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.printing import print_json
    from borgtrace.schema.dialects import DIALECT_KINDS

    names_in_own_code(sources, DIALECT_KINDS)
    if as_json:
        print_json({name: known.title for name, known in DIALECT_KINDS.items()}, indent=1)
        return
    for name, known in DIALECT_KINDS.items():
        is_ours = name in DIALECT_KINDS.own
        origin = "" if is_ours else f" (from {DIALECT_KINDS.origin(name)})"
        print(f"{name}: {known.title}{origin}")


def sizes_to_state(draft: Mapping[str, Any]) -> str:
    """Return an example of the size of the largest machine, where amounts need one that no file tells; else nothing.

    Parameters
    ----------
    draft
        The format, as it is drafted.

    Examples
    --------
    >>> usage = {"cpu": {"unit": "cores"}, "memory": {"unit": "fraction_of_machine"}}
    >>> sizes_to_state({"usage": usage}), sizes_to_state({"usage": usage, "machines": {}})
    ('8cores', '')
    """
    if "machines" in draft:
        return ""
    amounts = draft.get("usage", {})
    sizes = []
    for resource, example in (("cpu", "8cores"), ("memory", "32GiB")):
        amount = amounts.get(resource)
        if amount is not None and amount.get("unit") != "fraction_of_machine":
            sizes.append(example)
    return ",".join(sizes)

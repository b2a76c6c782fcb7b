"""Check that a store is what its manifest says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from borgtrace.errors import StoreError, first_line
from borgtrace.schema import TABLES
from borgtrace.storage import as_path, refuse_shortage
from borgtrace.store.compatibility import unreadable
from borgtrace.store.layout import FORMAT_VERSION, Layout
from borgtrace.store.manifest import Manifest, read_manifest
from borgtrace.store.store_checks import (
    CheckOutcome,
    check_arrays,
    check_columns,
    check_conservation,
    check_content,
    check_digest,
    check_files,
    check_index,
    check_order,
    check_quarantine,
    check_rows,
    check_seal,
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was checked, whether it holds, and what was found."""

    name: str
    holds: bool
    found: str


def as_error(root: Path, checks: Sequence[CheckResult]) -> StoreError | None:
    """Return the error for the checks of a store that failed, if any."""
    failed = ", ".join(check.name for check in checks if not check.holds)
    return unreadable(root, "the store is damaged", failed) if failed else None


def verify(
    root: Path, progress: Callable[[str], None] = lambda name: None, threads: int = 1
) -> list[CheckResult]:
    """Check a store from its files alone.

    Parameters
    ----------
    root
        The store.
    progress
        Called with the name of each check before it runs.
    threads
        How many files or row groups are read at a time.

    Returns
    -------
    list of CheckResult
        All checks, those that fail included; files that are not as they were written are not read any further.

    Raises
    ------
    StoreError
        When there is no finished store.

    Notes
    -----
    Reads every file once for its digest, every column once for the content digests, the key columns once more. A
    damaged file can make the library that parses it end the process: so digests are compared first. A store of format
    1.0 has no digests of single files: its one digest, over all of them, is compared, and the rest is read anyway.
    """
    manifest = read_manifest(root)
    layout = Layout(as_path(root))
    progress("files")
    changed: list[str] = []
    results = [_run(root, "files", partial(check_files, manifest, layout, threads, changed))]
    for check in _checks(manifest, layout, threads):
        progress(check.name)
        unread = [name for name in changed if name.startswith(check.reads)]
        if unread:
            found = f"not read: {unread[0]} is not as it was written"
            results.append(CheckResult(check.name, False, found))
        else:
            results.append(_run(root, check.name, check.run))
    return results


class _Check(NamedTuple):
    """A check to run, and where the files are that it parses."""

    name: str
    run: Callable[[], CheckOutcome]
    reads: tuple[str, ...] = ()


def _run(root: Path, name: str, check: Callable[[], CheckOutcome]) -> CheckResult:
    try:
        finding = check()
    # Damage is what we look for: whatever a library says of a file is a finding, and the other checks still run.
    except Exception as error:
        # What the machine lacks is no damage.
        refuse_shortage(error, root)
        return CheckResult(name, False, first_line(error))
    return CheckResult(name, finding.holds, finding.found)


def _checks(manifest: Manifest, layout: Layout, threads: int) -> Iterator[_Check]:
    contents: dict[str, str] = {}
    # Of a store of this version they are never missing.
    has_contents = bool(manifest.content) or manifest.format_version == FORMAT_VERSION
    if manifest.format_version != "1.0":
        yield _Check("seal", partial(check_seal, layout))
    yield _Check("conservation", partial(check_conservation, manifest))
    yield _Check("quarantine", partial(check_quarantine, manifest, layout), ("quarantine/",))
    for name, table in TABLES.items():
        reads = (f"{name}/",)
        yield _Check(f"{name}: rows", partial(check_rows, name, manifest, layout), reads)
        yield _Check(f"{name}: columns", partial(check_columns, table, manifest, layout), reads)
        yield _Check(f"{name}: order", partial(check_order, table, layout), reads)
        if has_contents:
            check = partial(
                check_content,
                table,
                manifest,
                layout,
                threads,
                contents,
            )
            yield _Check(f"{name}: content", check, reads)
    if has_contents:
        yield _Check("digest", partial(check_digest, manifest, contents))
    yield _Check("index", partial(check_index, manifest, layout), ("tasks/",))
    yield _Check("arrays", partial(check_arrays, manifest, layout), ("instance_usage/",))

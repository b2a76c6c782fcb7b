"""Compare what two versions of the code produce from the same input: ``compare_versions.py OLD NEW WORK``.

OLD and NEW are checkouts (a clone, a worktree); WORK is a folder for their output.  What OLD produced
is kept there and used again.  Both versions make synthetic raw files of 2011 and 2019, ingest them, the
real parts beside the project (where they are) and the flattened 2019 sample, and answer every question,
run every experiment, build a dataset and export jobs.  Then each output is compared: raw files byte by
byte, tables of stores by the content digest that NEW computes of both, results row by row in declared order
(so that files, row groups and codecs do not matter), everything else by content.  The exit status is 1
where anything differs.

The stores are ingested once per version from the raw files that OLD generated.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TRACE = Path(__file__).resolve().parents[2] / "shared" / "trace"
CELLS = {
    "2011": ("--machines", "60", "--hours", "12", "--seed", "1"),
    "2019-json": ("--generation", "2019", "--machines", "40", "--hours", "8", "--seed", "2"),
    "2019-parquet": (
        *(
            "--generation",
            "2019",
            "--machines",
            "30",
            "--hours",
            "6",
            "--seed",
            "3",
            "--format",
            "parquet",
        ),
    ),
    "2011-clean": ("--machines", "30", "--hours", "6", "--seed", "4", "--no-anomalies"),
}
"""Synthetic cells by name, with the options of ``synth``."""
SMALL = (
    "--tasks",
    "2000",
    "--realizations",
    "400",
    "--instances",
    "2",
    "--size",
    "100",
    "--samples",
    "200",
)
"""A scale at which all experiments take a minute or two."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", default="", help="compare only outputs whose path contains this")
    given = parser.parse_args()
    old, new = given.work / "old", given.work / "new"
    sys.path.insert(0, str(given.new.resolve() / "src"))
    if not (old / "finished").exists():
        produce(given.old.resolve(), old, old)
        (old / "finished").touch()
    produce(given.new.resolve(), new, old, given.only)
    return compare(old, new, given.only)


def produce(code: Path, out: Path, raw_from: Path, only: str = "") -> None:
    """Run every command of one version."""
    out.mkdir(parents=True, exist_ok=True)
    for cell, options in CELLS.items():
        run(code, out, f"raw/{cell}", "synth", out / "raw" / cell, *options, only=only)
    sources = {cell: raw_from / "raw" / cell for cell in CELLS}
    if TRACE.is_dir():
        sources["real"] = TRACE / "clusterdata-2011-2"
        sources["kaggle"] = TRACE / "kaggle-2019" / "slice.csv"
    for name, source in sources.items():
        cell = ("--cell", "1") if name == "kaggle" else ()
        run(
            code,
            out,
            f"store/{name}",
            "ingest",
            source,
            "--store",
            out / "store" / name,
            *cell,
            only=only,
        )
        store = out / "store" / name
        run(
            code,
            out,
            f"analyze/{name}",
            "analyze",
            store,
            "--out",
            out / "analyze" / name,
            only=only,
        )
    for name in ("2011", "2019-json"):
        store = out / "store" / name
        run(
            code,
            out,
            f"colocate/{name}",
            "colocate",
            store,
            *SMALL,
            "--out",
            out / "colocate" / name,
            only=only,
        )
        run(
            *(
                code,
                out,
                f"dataset/{name}",
                "dataset",
                store,
                out / "dataset" / name,
                "--max-length",
                "200",
            ),
            *("--sample", "500", "--seed", "7", "--format", "npz"),
            only=only,
        )
        run(
            *(
                code,
                out,
                f"export/{name}",
                "export",
                store,
                out / "export" / name,
                "--layout",
                "jobs",
            ),
            *("--format", "csv"),
            only=only,
        )


def run(
    code: Path, out: Path, name: str, command: str, *arguments: str | Path, only: str = ""
) -> None:
    """Run one command with one version's code, unless its output is there or not asked for."""
    target = out / name
    if target.exists() or (only and not name.startswith(("raw", "store")) and only not in name):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(code / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "borgtrace", command, *map(str, arguments)],
        env=environment,
        cwd=out,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {out.name} {name}", flush=True)
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)


def compare(old: Path, new: Path, only: str) -> int:
    """Print each output that differs; return the exit status."""
    names = {
        path.relative_to(old)
        for path in old.rglob("*")
        if path.is_file() and is_output(path.relative_to(old))
    }
    differences = 0
    for name in sorted(names):
        if only and only not in str(name):
            continue
        found = difference(old / name, new / name) if (new / name).exists() else "is missing"
        if found:
            differences += 1
            print(f"{name}: {found}")
    for kind in sorted((old / "store").iterdir() if (old / "store").exists() else ()):
        differences += compare_stores(kind, new / "store" / kind.name)
    print(f"{differences} differences")
    return 1 if differences else 0


def compare_stores(old: Path, new: Path) -> int:
    """Print the content digests of both stores' tables; return how many differ.

    The new version computes both: a digest does not depend on which version wrote the files.
    """
    from borgtrace.store.content import content_digests

    before, after = content_digests(old), content_digests(new)
    for table in before:
        if before[table] == after[table]:
            print(f"store/{old.name}/{table}: {before[table][:16] or 'empty'} in both")
        else:
            print(f"store/{old.name}/{table}: {difference(old / table, new / table) or 'differs'}")
    return sum(before[table] != after[table] for table in before)


def is_output(name: Path) -> bool:
    """Whether a file is compared by itself; tables of stores are compared whole, charts and logs not at all."""
    if name.parts[0] == "raw":
        return name.suffix in (".gz", ".json", ".csv")
    if name.parts[0] == "store":
        return name.parts[2:3] == ("traces",)
    return (
        name.parts[0] != "store"
        and name.suffix in (".parquet", ".npz", ".gz", ".csv")
        and name.name != "claims.csv"
    )


def difference(old: Path, new: Path) -> str:
    """Say how two files, or two folders of Parquet files, differ; empty where they are equal."""
    if old.is_dir() or (old.suffix == ".parquet" and "raw" not in old.parts):
        before, after = table_digests(old), table_digests(new)
        return "; ".join(
            f"column {column}: {before.get(column, 'absent')[:12]} became {after.get(column, 'absent')[:12]}"
            for column in sorted(before.keys() | after.keys())
            if before.get(column) != after.get(column)
        )
    if old.suffix == ".npz":
        with np.load(old) as a, np.load(new) as b:
            return (
                ""
                if set(a) == set(b) and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)
                else "differs"
            )
    return "" if content(old) == content(new) else "differs"


def content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def table_digests(path: Path) -> dict[str, str]:
    """Return a digest of each column of a Parquet file or of a folder of them, and the number of rows."""
    parts = sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]
    if not parts:
        return {}
    table = pa.concat_tables([pq.read_table(part) for part in parts], promote_options="permissive")
    digests = {"(rows)": str(table.num_rows)}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        digest = hashlib.sha256(str(column.type).encode())
        for value in column.to_pylist():
            digest.update(repr(value).encode())
        digests[name] = digest.hexdigest()
    return digests


if __name__ == "__main__":
    sys.exit(main())

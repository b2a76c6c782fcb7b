"""Google's tables of 2019 with flat columns: each field of a nested record as a column of its own.

So pandas writes them (json_normalize: average_usage.cpus), and so do views of BigQuery (average_usage_cpus). Values are
those of 2019, and the rows belong to its trace; tables without nested records are the same in both forms.
"""

from dataclasses import replace

from borgtrace.schema.dialects.google2019 import DIALECT as GOOGLE_2019
from borgtrace.schema.dialects.google2019 import INSTANCE_EVENTS, INSTANCE_USAGE, MACHINE_EVENTS
from borgtrace.schema.dialects.raw import RawTable

_JOINTS = ("_", "__")
"""What joins the names of a record and of its field, beside a point."""


def _flat(raw: RawTable) -> RawTable:
    """Return a raw table whose nested fields are columns of their own, by any of their names."""
    nested = [field for field in raw.fields if len(field.path) > 1]
    spellings = []
    for field in nested:
        record, _, inner = field.name.partition(".")
        records = [record, *(other for other, name in raw.spellings if name == record)]
        names = [f"{name}{joint}{inner}" for name in records for joint in (".", *_JOINTS)]
        spellings += [(name, field.name) for name in names if name != field.name]
    return replace(
        raw,
        fields=tuple(replace(field, is_whole=True) for field in raw.fields),
        spellings=tuple(spellings),
        marks=tuple(field.name for field in nested),
    )


_TABLES = (MACHINE_EVENTS, INSTANCE_EVENTS, INSTANCE_USAGE)

DIALECT = replace(
    GOOGLE_2019,
    name="flat-2019",
    title="Google cluster trace 2019 with flat columns",
    tables={raw.name: _flat(raw) for raw in _TABLES},
    formats=("parquet", "json", "csv"),
    # Published nested alone.
    publication=None,
)

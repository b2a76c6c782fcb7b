"""What the fields of a raw file say about its columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.ingest.files.raw_layout import Field, NeedsValidation, raw_layout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.read import delimited
from borgtrace.ingest.read.records import record_types
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019, RawField
from borgtrace.schema.dialects.declaration import declared_dialect


def test_what_the_fields_of_a_layout_say() -> None:
    order = tuple(field.name for field in GOOGLE_2011.tables["task_events"].fields)
    events = raw_layout(GOOGLE_2011, "task_events", order)
    assert events.columns[:6] == (
        "time",
        "missing_type",
        "collection_id",
        "instance_index",
        "machine_id",
        "type",
    )
    assert (events.width, events.table.time) == (13, "time")
    assert (events.is_converted, events.derives_dedicated) == (False, False)
    assert raw_layout(GOOGLE_2011, "task_usage").table.time == "start_time"
    machines = raw_layout(GOOGLE_2019, "machine_attributes")
    fields = {field.name: field for field in machines.fields}
    # A flag that is left out is false; a name that is left out is no row.
    assert [name for name, field in fields.items() if field.has_default] == ["is_deleted"]
    assert not machines.derives_dedicated
    nested = raw_layout(GOOGLE_2019, "instance_events")
    # FACTS §8: the machine −1 is one of its own; the flag that says so stands behind the machine.
    assert nested.derives_dedicated
    assert nested.columns[nested.columns.index("machine_id") + 1] == "is_on_dedicated_machine"
    kinds = {field.name: field for field in nested.fields}
    assert kinds["type"].codes[0] == "SUBMIT"
    assert not kinds["type"].has_words
    assert kinds["priority"].codes == {}
    assert kinds["priority"].null_codes == ()
    assert kinds["missing_type"].null_codes == (0,)
    assert not kinds["time"].is_scaled
    assert not kinds["time"].is_text


def test_a_column_of_numbers_is_read_as_text_where_its_field_is_a_date_or_has_words() -> None:
    column = raw_layout(GOOGLE_2011, "machine_events").table.column("time")
    for raw, is_text, is_dated, is_scaled in (
        (RawField("t", "time"), False, False, False),
        (RawField("t", "time", zone="UTC"), True, True, False),
        (RawField("t", "time", words=((">24", 30.0),)), True, False, False),
        (RawField("t", "time", scale=1e6), False, False, True),
        (RawField("t", "time", offset=600), False, False, True),
    ):
        field = Field(raw, column, GOOGLE_2011, 1)
        assert (field.is_text, field.is_dated, field.is_scaled) == (is_text, is_dated, is_scaled)


def test_a_line_with_quotes_is_left_to_the_validating_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('5,1,"name",b,0\n')
    fields = tuple(field.name for field in GOOGLE_2011.tables["machine_attributes"].fields)
    source = Source(
        path,
        GOOGLE_2011,
        "machine_attributes",
        "csv",
        order=fields,
    )
    layout = raw_layout(GOOGLE_2011, "machine_attributes", fields)
    with pytest.raises(NeedsValidation):
        list(delimited.read_delimited(source, layout))
    own = declared_dialect({"clock": "relative", "machines": {"machine": "node"}}, "own.toml")
    path.write_text('"n1"\n')
    with pytest.raises(NeedsValidation):
        list(
            delimited.read_delimited(
                Source(path, own, "machines", "csv"),
                raw_layout(own, "machines", ("node",)),
            )
        )


def test_records_are_typed_by_their_columns() -> None:
    types = record_types(raw_layout(GOOGLE_2019, "machine_attributes"))
    assert types == {
        "time": "BIGINT",
        "machine_id": "BIGINT",
        "name": "VARCHAR",
        "value": "VARCHAR",
        "deleted": "VARCHAR",
    }

"""The flattened sample of 2019 (borg_traces_data.csv): CSV with a header, one row of three joined v3 records.

The file joins instance_events, collection_events and instance_usage of eight cells, and is passed around with extra
columns. Its codes are v3's; its own labels (event, failed) are not trusted.
"""

from dataclasses import replace

from borgtrace.schema.dialects.google2019 import (
    COLLECTION_EVENTS,
    INSTANCE_EVENTS,
    INSTANCE_USAGE,
)
from borgtrace.schema.dialects.google2019 import DIALECT as GOOGLE_2019
from borgtrace.schema.dialects.raw import Flattened

# Those three that the file joins; it has no machine events.
_TABLES = (INSTANCE_EVENTS, COLLECTION_EVENTS, INSTANCE_USAGE)

DIALECT = replace(
    GOOGLE_2019,
    name="kaggle-2019",
    title="Flattened sample of Google cluster trace 2019",
    tables={table.name: table for table in _TABLES},
    formats=("kaggle",),
    # Published apart, if at all.
    publication=None,
    flattened=Flattened(
        header=frozenset({"instance_events_type", "collections_events_type", "cluster"}),
        cell="cluster",
        # The finest of the three: an event comes again with every window of its instance.
        table="instance_usage",
        renamed={
            ("instance_events", "type"): "instance_events_type",
            ("collection_events", "type"): "collections_events_type",
        },
        literals=frozenset(
            {
                "resource_request",
                "constraint",
                "start_after_collection_ids",
                "average_usage",
                "maximum_usage",
                "random_sample_usage",
                "cpu_usage_distribution",
                "tail_cpu_usage_distribution",
            }
        ),
    ),
)

"""The index of an export: one line per task."""

from pathlib import Path

import pyarrow.csv as pa_csv

from borgtrace.export.jobs.layout import JobsLayout
from borgtrace.store import Store

COLUMNS = ("path", "user", "app", "job", "task", "length", "maximum")


def write_index(
    store: Store,
    path: Path,
    layout: JobsLayout,
    *,
    has_header: bool,
) -> int:
    """Write the index, one line per task in order of path; return the number of tasks.

    Users and applications (logical names) are dense numbers by first appearance over the SUBMIT events of
    jobs, in order of job; jobs that were never seen to be submitted come after all others.

    Parameters
    ----------
    store
        Where from.
    path
        The file to write.
    layout
        Gives the paths.
    has_header
        Whether the first line names the columns.
    """
    # The header is written separately: once, not with every batch.
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    tasks = 0
    with path.open("wb") as file:
        if has_header:
            file.write((",".join(COLUMNS) + "\n").encode())
        for batch in store.stream(index_query(layout)):
            pa_csv.write_csv(batch, file, options)
            tasks += batch.num_rows
    return tasks


def index_query(layout: JobsLayout) -> str:
    """Return the query of the index, in the order of its lines.

    Parameters
    ----------
    layout
        Gives the paths.
    """
    return f"""
        -- Submitted jobs come first, in order of job, then those that were never seen to be submitted: the place where
        -- a user or an application first appears gives it its number.
        WITH usage AS (
            SELECT *, {layout.path_sql} AS path FROM tasks WHERE collection_type = 'JOB' AND n_windows > 0
        ), submitted AS (
            SELECT collection_id, coalesce(arg_min("user", (time, source_part, source_row)), '') AS owner,
                   coalesce(arg_min(collection_logical_name, (time, source_part, source_row)), '') AS name
            FROM collection_events WHERE type = 'SUBMIT' GROUP BY collection_id
        ), unsubmitted AS (
            SELECT collection_id, coalesce(any_value("user"), '') AS owner,
                   coalesce(any_value(collection_logical_name), '') AS name
            FROM usage WHERE collection_id NOT IN (SELECT collection_id FROM submitted) GROUP BY collection_id
        ), placed AS (
            SELECT *, row_number() OVER (ORDER BY is_submitted DESC, collection_id) AS place
            FROM (SELECT *, true AS is_submitted FROM submitted UNION ALL SELECT *, false FROM unsubmitted)
        ), first_seen AS (
            SELECT collection_id, min(place) OVER (PARTITION BY owner) AS owner_place,
                   min(place) OVER (PARTITION BY name) AS name_place
            FROM placed
        ), numbered AS (
            SELECT collection_id, dense_rank() OVER (ORDER BY owner_place) - 1 AS "user",
                   dense_rank() OVER (ORDER BY name_place) - 1 AS app
            FROM first_seen
        )
        SELECT path, numbered."user", app, collection_id AS job, instance_index AS task, n_windows AS length,
               max_average_cpu::FLOAT AS maximum
        FROM usage JOIN numbered USING (collection_id)
        ORDER BY path, instance_index
    """

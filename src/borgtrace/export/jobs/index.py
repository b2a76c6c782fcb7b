"""The index of an export: ``path,user,app,job,task,length,maximum``, one line per task, in order of path."""

from pathlib import Path

import pyarrow.csv as pa_csv

from borgtrace.export.jobs.layout import JobsLayout
from borgtrace.store import Store

COLUMNS = ("path", "user", "app", "job", "task", "length", "maximum")
# Submitted jobs come first, in order of job, then those that were never seen to be submitted: the place at
# which a user or an application first appears gives it its number.
_INDEX = """
with usage as (
    select *, {path} as path from tasks where collection_type = 'JOB' and n_windows > 0
), submitted as (
    select collection_id, coalesce(arg_min("user", (time, source_part, source_row)), '') as owner,
           coalesce(arg_min(collection_logical_name, (time, source_part, source_row)), '') as name
    from collection_events where type = 'SUBMIT' group by collection_id
), unsubmitted as (
    select collection_id, coalesce(any_value("user"), '') as owner,
           coalesce(any_value(collection_logical_name), '') as name
    from usage where collection_id not in (select collection_id from submitted) group by collection_id
), placed as (
    select *, row_number() over (order by is_submitted desc, collection_id) as place
    from (select *, true as is_submitted from submitted union all select *, false from unsubmitted)
), first_seen as (
    select collection_id, min(place) over (partition by owner) as owner_place,
           min(place) over (partition by name) as name_place
    from placed
), numbered as (
    select collection_id, dense_rank() over (order by owner_place) - 1 as "user",
           dense_rank() over (order by name_place) - 1 as app
    from first_seen
)
select path, numbered."user", app, collection_id as job, instance_index as task, n_windows as length,
       max_average_cpu::float as maximum
from usage join numbered using (collection_id) order by path, instance_index
"""


def write_index(store: Store, path: Path, layout: JobsLayout, *, has_header: bool) -> int:
    """Write the index; return the number of tasks.

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
    # The header is written by hand: once, not with every batch.
    options = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    tasks = 0
    with path.open("wb") as file:
        if has_header:
            file.write((",".join(COLUMNS) + "\n").encode())
        for batch in store.stream(_INDEX.format(path=layout.path_sql)):
            pa_csv.write_csv(batch, file, options)
            tasks += batch.num_rows
    return tasks

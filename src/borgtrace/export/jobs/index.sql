-- Submitted jobs come first, in order of job, then those that were never seen to be submitted: the place at
-- which a user or an application first appears gives it its number.
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

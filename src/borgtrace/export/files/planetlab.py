"""Files of PlanetLab, as CloudSim reads them: a folder for each day, a file for each VM, 288 percentages in it."""

from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from borgtrace.export.files.queries import ExportQuery, MachineSize, read_query
from borgtrace.schema.time import TRACE_START
from borgtrace.store import Store

_SLOT = timedelta(minutes=5)
_DAY = timedelta(days=1)
_SLOTS_OF_DAY = _DAY // _SLOT
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FILES = """
    SELECT day, collection_id, instance_index FROM days ORDER BY part
"""
_LINES = """
    SELECT part, least(round(100 * coalesce(used, 0)), 100)::INTEGER || chr(10) AS line
    FROM days
    CROSS JOIN (SELECT unnest(range($slots_of_day)) AS slot)
    LEFT JOIN means USING (day, collection_id, instance_index, slot)
    ORDER BY part, slot
"""


def planetlab_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the query of ``20110303/7_0``: the day, and the job and the index of a task.

    Parameters
    ----------
    store
        Where from.
    size
        Not needed: percentages are of what a task requests, else of the largest machine.
    """
    manifest = store.manifest
    start = manifest.dialect.wall_clock(TRACE_START, manifest.cell)
    days_sql = read_query("planetlab")
    parameters = {
        # From the clock of the trace to that of UTC, whose days begin at midnight.
        "shift": (start - _EPOCH) // _MICROSECOND - TRACE_START,
        "zero": TRACE_START,
        "slot": _SLOT // _MICROSECOND,
        "slots_of_day": _SLOTS_OF_DAY,
    }
    files = store.sql(days_sql + _FILES, parameters).to_pylist()
    names = []
    for file in files:
        day = _EPOCH + _DAY * file["day"]
        folder = PurePosixPath(f"{day:%Y%m%d}")
        names.append(str(folder / f"{file['collection_id']}_{file['instance_index']}"))
    query = ExportQuery(
        sql=days_sql + _LINES,
        parameters=parameters,
        file_name=names.__getitem__,
        n_files=0,
    )
    return [query]

"""Names of machines, jobs, tasks and users: their own where the store knows it, else their id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from borgtrace.errors import harmless
from borgtrace.store.store import Store

SHORT = 8
"""Letters of a hash that are shown."""
_HASH = re.compile(r"(?=.*[A-Za-z])(?:[A-Za-z0-9+/]{43}=|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})")
"""The texts that Google publishes for names, and what SHA-1 and SHA-256 look like; digits alone are a number."""


def is_hash(name: str) -> bool:
    """Whether a name is a hash, which nobody reads.

    Examples
    --------
    >>> is_hash(40 * "a"), is_hash(40 * "1")
    (True, False)
    """
    return _HASH.fullmatch(name) is not None


def short_name(name: str) -> str:
    """Return a name as it is shown: the first letters of a hash, which nobody reads; any other name whole.

    Examples
    --------
    >>> short_name("web-7"), short_name("KRTzcRzuT60cS+R7tXuLDIJxr6GYJE0d1mqVZzHsnCE=")
    ('web-7', 'KRTzcRzu')
    """
    return name[:SHORT] if is_hash(name) else name


def line_of_name(name: str) -> str:
    r"""Return a name as it is shown within a line of text: one that others chose may break it.

    Examples
    --------
    >>> print(line_of_name("web\n7"), line_of_name("KRTzcRzuT60cS+R7tXuLDIJxr6GYJE0d1mqVZzHsnCE="))
    web\n7 KRTzcRzu
    """
    return harmless(short_name(name)).replace("\n", "\\n").replace("\t", "\\t")


class Names:
    """Names of a store's machines, jobs and tasks, read as they are asked for.

    Parameters
    ----------
    store
        An open store.

    Notes
    -----
    Converted traces have names of their own, and ids that are made from them. Google's have ids and hashes: there a
    thing is called by its id, and a hash stands beside it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs: dict[int, str] = {}

    @cached_property
    def are_own(self) -> bool:
        """Whether the store has names that people gave."""
        return self._store.manifest.dialect.conversion is not None

    @cached_property
    def machines(self) -> dict[int, str]:
        """Names of all machines by id; empty where they have none."""
        if not self.are_own:
            return {}
        query = """
            SELECT machine_id AS id, min(value) AS name
            FROM machine_attributes
            WHERE name = 'name'
            GROUP BY machine_id
        """
        return {row["id"]: row["name"] for row in self._store.sql(query).to_pylist()}

    def jobs(self, ids: Iterable[int]) -> dict[int, str]:
        """Return what jobs are called, by id: the id itself where nobody gave a name.

        Parameters
        ----------
        ids
            Collections.
        """
        wanted = dict.fromkeys(ids)
        missing = [job for job in wanted if job not in self._jobs]
        if missing and self.are_own:
            query = """
                SELECT collection_id AS id, min(collection_name) AS name
                FROM collection_events
                WHERE list_contains($ids, collection_id) AND collection_name IS NOT NULL
                GROUP BY collection_id
            """
            for row in self._store.sql(query, {"ids": missing}).to_pylist():
                self._jobs[row["id"]] = line_of_name(row["name"])
        for job in missing:
            self._jobs.setdefault(job, str(job))
        return {job: self._jobs[job] for job in wanted}

    def machine(self, machine_id: int) -> str:
        """Return what a machine is called."""
        return line_of_name(self.machines.get(machine_id, str(machine_id)))

    def job(self, collection_id: int) -> str:
        """Return what a job is called."""
        return self.jobs([collection_id])[collection_id]

    def task(self, collection_id: int, instance_index: int) -> str:
        """Return what a task is called: its job's name, with its index where the job has several."""
        job = self.job(collection_id)
        first, end = self._store.rows_of_collection(collection_id)
        is_alone = end - first <= 1 and instance_index == 0 and self.are_own
        return job if is_alone else f"{job}:{instance_index}"

    def task_and_ids(self, collection_id: int, instance_index: int) -> str:
        """Return what a task is called, with its job's id and its index in brackets where that is another text."""
        ids = f"{collection_id}:{instance_index}"
        name = self.task(collection_id, instance_index)
        return name if name == ids else f"{name} ({ids})"

    def machine_and_id(self, machine_id: int) -> str:
        """Return what a machine is called, with its id in brackets where that is another text."""
        return with_id(self.machine(machine_id), machine_id)

    def job_and_id(self, collection_id: int) -> str:
        """Return what a job is called, with its id in brackets where that is another text."""
        return with_id(self.job(collection_id), collection_id)


def with_id(name: str, id_: int) -> str:
    """Return a name with an id in brackets, where that is another text.

    Examples
    --------
    >>> with_id("web-7", 42), with_id("42", 42)
    ('web-7 (42)', '42')
    """
    return name if name == str(id_) else f"{name} ({id_})"

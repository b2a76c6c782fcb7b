"""The published buckets → raw files, whole and checked.

Example
-------
>>> from pathlib import Path
>>> from borgtrace import fetch
>>> with fetch.Session(connections=4) as session:  # doctest: +SKIP
...     plan = fetch.make_plan(session, fetch.bucket("2011"), Path("raw"), parts="0-9")
...     for outcome in fetch.fetch_files(session, plan):
...         print(outcome.file.path, outcome.error or "whole")
"""

from borgtrace.fetch.bucket import Bucket, bucket
from borgtrace.fetch.ledger import Ledger
from borgtrace.fetch.plan import FetchPlan, RemoteFile
from borgtrace.fetch.planning import make_plan
from borgtrace.fetch.retry import Backoff, Listener
from borgtrace.fetch.run import FetchOutcome, fetch_files
from borgtrace.fetch.session import Session
from borgtrace.fetch.version import Version

__all__ = [
    "Backoff",
    "Bucket",
    "FetchOutcome",
    "FetchPlan",
    "Ledger",
    "Listener",
    "RemoteFile",
    "Session",
    "Version",
    "bucket",
    "fetch_files",
    "make_plan",
]

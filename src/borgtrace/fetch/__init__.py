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
from borgtrace.fetch.plan import Plan, RemoteFile, make_plan
from borgtrace.fetch.retry import Backoff, Listener
from borgtrace.fetch.run import Outcome, fetch_files
from borgtrace.fetch.session import Session
from borgtrace.fetch.version import Version

__all__ = [
    "Backoff",
    "Bucket",
    "Ledger",
    "Listener",
    "Outcome",
    "Plan",
    "RemoteFile",
    "Session",
    "Version",
]
__all__ += ["bucket", "fetch_files", "make_plan"]

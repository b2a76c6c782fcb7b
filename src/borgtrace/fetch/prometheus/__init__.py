"""Usage of containers from a Prometheus server → answers of its HTTP API as files, which an ingest reads.

Example
-------
>>> from pathlib import Path
>>> from borgtrace.fetch import prometheus
>>> address = prometheus.parse_address("http://localhost:9090")
>>> day = prometheus.Stretch(1_793_491_200, 1_793_577_600)
>>> request = prometheus.FetchRequest(Path("answers"), matchers=(), period=day, step=60)
>>> with prometheus.PrometheusServer(address) as server:  # doctest: +SKIP
...     plan = prometheus.make_query_plan(server, request)
...     for answer in prometheus.fetch_answers(server, plan):
...         print(answer.metric.name, answer.facts.n_samples)
"""

from borgtrace.fetch.prometheus.address import parse_address
from borgtrace.fetch.prometheus.credentials import Credentials, parse_headers, read_secret
from borgtrace.fetch.prometheus.folder import AnswerFolder
from borgtrace.fetch.prometheus.metrics import is_rule
from borgtrace.fetch.prometheus.plan import FetchRequest, PlannedMetric, QueryPlan
from borgtrace.fetch.prometheus.planning import make_query_plan
from borgtrace.fetch.prometheus.run import ReceivedAnswer, fetch_answers
from borgtrace.fetch.prometheus.selector import parse_selector
from borgtrace.fetch.prometheus.server import PrometheusServer
from borgtrace.fetch.prometheus.stretches import Stretch
from borgtrace.fetch.prometheus.unfinished import UnfinishedFetch, unfinished_fetch

__all__ = [
    "Credentials",
    "AnswerFolder",
    "FetchRequest",
    "Stretch",
    "PlannedMetric",
    "PrometheusServer",
    "QueryPlan",
    "ReceivedAnswer",
    "UnfinishedFetch",
    "fetch_answers",
    "is_rule",
    "make_query_plan",
    "parse_address",
    "parse_headers",
    "parse_selector",
    "read_secret",
    "unfinished_fetch",
]

"""Answers of Prometheus to range queries (``/api/v1/query_range``), one metric in each file.

CPU time and memory of containers as cAdvisor counts them, what kube-state-metrics says of requests and owners of pods
and of nodes.  A container is a task of its own, called namespace/pod/container; the owner of its pod is its logical
name.  Sources: the HTTP API of Prometheus, the metrics of cAdvisor and of kube-state-metrics.
"""

from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Conversion

PROMETHEUS = converted_dialect(
    "prometheus",
    "Answers of Prometheus",
    read_tables("prometheus"),
    Conversion(clock="epoch", is_scattered=True),
    STEPS,
    formats=("prometheus",),
)

"""Alibaba's GPU trace of 2023 (openb): nodes and pods of a cluster with shared GPUs, CSV with headers.

Pods name no node, so questions about machines have nothing to go by.  A pod that was Running or Pending when it was
deleted was killed then, unless that is the last instant of the trace.  Source: the README of
``cluster-trace-gpu-v2023``.
"""

from datetime import timedelta

from borgtrace.schema.dialects import licences
from borgtrace.schema.dialects.converted import STEPS, converted_dialect
from borgtrace.schema.dialects.raw import read_tables
from borgtrace.schema.dialects.trace_format import Conversion

OPENB = converted_dialect(
    "openb",
    "Alibaba GPU trace 2023",
    read_tables("openb"),
    Conversion(is_cut=True),
    {**STEPS, "Succeeded": "FINISH", "Failed": "FAIL", "Running": "KILL", "Pending": "KILL"},
    absent={"machine_id": "pods name no node"},
    span=timedelta(days=149),
    licence=licences.ALIBABA,
)

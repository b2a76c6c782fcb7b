"""Answers of monitoring systems and other files that hold usage, or seem to, and are no table of it."""

from __future__ import annotations

from tests.ingest.kinds.kind import InputKind

ANSWERS = "What other systems answer"

KINDS = (
    InputKind(
        ANSWERS,
        "Datadog",
        '{"status": "ok", "series": [{"metric": "kubernetes.cpu.usage.total", "pointlist": [[1793491200000, 5.0]]}]}\n',
        refusal="an answer of Datadog: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "New Relic",
        '{"facets": [{"name": "web-0", "timeSeries": [{"beginTimeSeconds": 1793491200}]}]}\n',
        refusal="an answer of New Relic: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "Google Cloud Monitoring",
        '{"timeSeries": [{"metric": {"type": "kubernetes.io/container/cpu/core_usage_time"}, '
        '"points": [{"value": {"doubleValue": 1.5}}]}]}\n',
        refusal="an answer of Google Cloud Monitoring: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "Azure Monitor",
        '{"timespan": "PT1H", "value": [{"name": {"value": "Percentage CPU"}, "timeseries": [{"data": []}]}]}\n',
        refusal="an answer of Azure Monitor: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "get-metric-statistics of CloudWatch",
        '{"Label": "CPUUtilization", "Datapoints": [{"Timestamp": "2026-11-01T00:00:00Z", "Average": 4.2}]}\n',
        refusal="an answer of get-metric-statistics (CloudWatch), which names no task: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "Kubecost, OpenCost",
        '{"code": 200, "data": [{"web-0": {"cpuCoreUsageAverage": 0.5}}]}\n',
        refusal="allocations of Kubecost or OpenCost, which are means over a whole window: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "a VerticalPodAutoscaler",
        '{"kind": "VerticalPodAutoscaler", "status": {}}\n',
        refusal="recommendations of a VerticalPodAutoscaler, and no usage: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "stats/summary of a kubelet",
        '{"node": {"nodeName": "n1"}, "pods": [{"podRef": {"name": "web-0"}}]}\n',
        refusal="a summary of a kubelet (stats/summary): not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "the API of docker",
        '{"read": "2026-11-01T00:00:00Z", "name": "/web", "cpu_stats": {"cpu_usage": {"total_usage": 5}}}\n',
        refusal="stats of the API of docker: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "the API of cAdvisor",
        '{"/docker/abc": {"stats": [{"timestamp": "2026-11-01T00:00:00Z", "cpu": {"usage": {"total": 1}}}]}}\n',
        refusal="stats of the API of cAdvisor: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "JSON of InfluxDB",
        '{"results": [{"series": [{"name": "cpu", "columns": ["time", "mean"], "values": []}]}]}\n',
        refusal="an answer of InfluxDB: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "lines of InfluxDB",
        "cpu,pod=web-0 usage=0.5 1793491200000000000\n",
        refusal="lines of InfluxDB (line protocol): not read",
    ),
    InputKind(
        ANSWERS,
        "Graphite",
        '[{"target": "pods.web-0.cpu", "datapoints": [[0.5, 1793491200]]}]\n',
        refusal="an answer of Graphite: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "OpenTSDB",
        '[{"metric": "cpu", "tags": {"pod": "web-0"}, "dps": {"1793491200": 0.5}}]\n',
        refusal="an answer of OpenTSDB: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "JSON of a panel of Grafana",
        '[{"schema": {"fields": [{"name": "Time"}]}, "data": {"values": [[1793491200000]]}}]\n',
        refusal="a panel of Grafana as JSON: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "kubectl get nodes -o json",
        '{"kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]}\n',
        refusal="nodes or pods as kubectl lists them, without usage: not read",
        name="a.json",
    ),
    InputKind(
        ANSWERS,
        "kubectl get pods",
        "NAME    READY   STATUS    RESTARTS   AGE\nweb-0   1/1     Running   0          5d\n",
        refusal="nodes or pods as kubectl lists them, without usage: not read",
    ),
    InputKind(
        ANSWERS,
        "logfmt",
        "level=info ts=2026-11-01T00:00:00Z pod=web-0 cpu=0.5\n",
        refusal="lines of names and values (logfmt): not read",
    ),
    InputKind(
        ANSWERS,
        "rows of MySQL below each other",
        "*************************** 1. row ***************************\n pod: web-0\n",
        refusal="rows of MySQL as \\G prints them: not read",
    ),
    InputKind(
        ANSWERS,
        "the log of HTCondor",
        "000 (001.000.000) 11/01 00:00:00 Job submitted from host: <1.1.1.1>\n",
        refusal="the log of HTCondor: not read",
    ),
    InputKind(
        ANSWERS,
        "a table of Emacs",
        "|-----+-----|\n| pod | cpu |\n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        ANSWERS,
        "a notebook of Jupyter",
        '{"cells": [], "nbformat": 4}\n',
        refusal="a notebook of Jupyter, and no table",
        name="a.ipynb",
    ),
    InputKind(
        ANSWERS,
        "a table of HTML",
        "<table>\n<tr><th>pod</th></tr>\n</table>\n",
        refusal="a table of a web page is not read",
    ),
    InputKind(
        ANSWERS,
        "a pickle",
        b"\x80\x04\x95\x10\x00",
        refusal="a pickle of Python is not read",
        name="a.pkl",
    ),
    InputKind(
        ANSWERS,
        "an array of NumPy",
        b"\x93NUMPY\x01\x00v\x00{}",
        refusal="an array of NumPy is not read",
        name="a.npy",
    ),
)

"""What a fetch from a Prometheus server shows: the plan, its progress, and the counts at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.filesize import decimal
from rich.progress import TextColumn
from rich.table import Table

from borgtrace.cli.clock_times import parse_clock_time, parse_step, utc
from borgtrace.cli.console import RateColumn, counted, progress, talk, working
from borgtrace.cli.download import say_retrying
from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.cli.ingestion import duration
from borgtrace.cli.printing import print_json
from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import Listener
from borgtrace.fetch.prometheus import (
    AnswerFolder,
    FetchRequest,
    PrometheusServer,
    QueryPlan,
    ReceivedAnswer,
    Stretch,
    fetch_answers,
    is_rule,
    make_query_plan,
    parse_selector,
)

LATE = 300
"""Seconds before now that are left out by default: a server may still receive samples of them."""
_LATE_START = 3600
"""Seconds after the first time asked for, within which samples should begin."""
BYTES_PER_SAMPLE = 4
"""Of a packed answer, roughly: measured on Prometheus and VictoriaMetrics with steps of a minute."""


def period_of(since: str, until: str, step: int, now: float) -> Stretch:
    """Return the times to ask for, on the grid of the step.

    Parameters
    ----------
    since, until
        What the user wrote; `until` may be empty.
    step
        Seconds between samples.
    now
        Seconds since 1970.

    Raises
    ------
    UsageError
        They are no times, or in the wrong order.
    """
    first = parse_clock_time(since, "--since", now)
    last = parse_clock_time(until, "--until", now) if until else now - LATE
    # Whole steps since 1970: the next fetch into the folder meets the same grid.
    period = Stretch(-int(-first // step) * step, int(last // step) * step)
    if period.first >= period.last:
        raise UsageError(
            "--since and --until",
            "no step lies between them",
            expected="--since before --until, by more than a --step",
            got=f"{utc(first)} to {utc(last)}",
        )
    return period


def plan_query(
    server: PrometheusServer,
    folder: Path,
    *,
    since: str,
    until: str,
    selector: str,
    step: str,
) -> QueryPlan:
    """Return what a fetch would do, as a user words it.

    Parameters
    ----------
    server
        Whom to ask.
    folder
        Where answers are kept.
    since, until, selector, step
        The options.
    """
    if server.access.is_secret and server.address.startswith("http:") and not is_local(server):
        talk.print(
            f"! {server.address} is no https: anybody on the way to it can read the credentials",
            style="yellow",
        )
    seconds = parse_step(step)
    period = period_of(since, until, seconds, time.time())
    request = FetchRequest(folder, parse_selector(selector), period, seconds)
    with working(f"Asking {server.address} what it knows …"):
        return make_query_plan(server, request)


def is_local(server: PrometheusServer) -> bool:
    """Return whether a server is on this machine, or at the near end of a tunnel."""
    host = urlsplit(server.address).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def print_query_plan(plan: QueryPlan, *, as_json: bool) -> None:
    """Print what a fetch would do."""
    if as_json:
        print_json(plan_facts(plan), indent=1)
        return
    grid = Table("metric", box=None, header_style="bold")
    for heading in ("series", "samples", "here", "queries"):
        grid.add_column(heading, justify="right")
    step = plan.request.step
    for metric in plan.metrics:
        points = sum(each.points(step) for each in (*metric.present, *metric.todo))
        n_here = sum(each.points(step) for each in metric.present)
        grid.add_row(
            metric.name,
            f"{metric.n_series:,}" if metric.n_samples else "unknown",
            f"{metric.n_samples:,}" if metric.n_samples else "unknown",
            f"{100 * n_here / max(points, 1):.0f} %",
            f"{plan.n_queries(metric):,}",
        )
    # On stdout: what a dry run prints is its answer.
    out = HarmlessConsole(soft_wrap=True)
    out.print(f"{plan.server}: {span_of(plan)}")
    out.print(grid)
    for line in missing_metrics(plan):
        out.print(line)
    size = decimal(plan.n_to_come * BYTES_PER_SAMPLE)
    out.print(f"\nTo fetch about {counted(plan.n_to_come, 'sample')}, {size}")


def span_of(plan: QueryPlan) -> str:
    """Return the times that are asked for, in words."""
    period = plan.request.period
    step = duration_of_step(plan.request.step)
    return f"{utc(period.first)} to {utc(period.last)}, every {step}"


def duration_of_step(step: int) -> str:
    """Return a step in words.

    Examples
    --------
    >>> duration_of_step(60), duration_of_step(90), duration_of_step(300)
    ('minute', '90 s', '5 min')
    """
    if step % 60:
        return f"{step} s"
    return "minute" if step == 60 else f"{step // 60} min"


def missing_metrics(plan: QueryPlan) -> list[str]:
    """Name what the server cannot tell."""
    lines = []
    if not plan.has_windows:
        lines.append(
            "The server does not know last_over_time (Prometheus does since 2.26): where a scrape is missing or a "
            "container has ended, its last sample is repeated for up to 5 min"
        )
    for wanted in plan.unknown:
        names = " or ".join(group[0] for group in wanted.names if not is_rule(group[0]))
        lines.append(f"Not on the server: {wanted.title} ({names})")
    for name in plan.unmatched:
        lines.append(f"No series for the selector: {name}")
    for metric in plan.metrics:
        labels = metric.wanted.lacking(metric.name, plan.request.matchers)
        if labels:
            lines.append(
                f"Without the condition on {' and '.join(labels)}, which it lacks: {metric.name}"
            )
    return lines


def plan_facts(plan: QueryPlan) -> dict[str, Any]:
    """Return a plan as plain data, for JSON."""
    metrics = []
    for metric in plan.metrics:
        metrics.append(
            {
                "metric": metric.name,
                "series": metric.n_series if metric.n_samples else None,
                "samples": metric.n_samples or None,
                "queries": plan.n_queries(metric),
                "to_come": [[each.first, each.last] for each in metric.todo],
            }
        )
    period = plan.request.period
    return {
        "server": plan.server,
        "folder": str(plan.request.folder),
        "selector": plan.query.selector,
        "since": period.first,
        "until": period.last,
        "step": plan.request.step,
        "metrics": metrics,
        "unknown": [group[0] for wanted in plan.unknown for group in wanted.names],
        "unmatched": list(plan.unmatched),
        "samples_to_come": plan.n_to_come,
    }


@dataclass
class LiveFetch:
    """One fetch as the command does it: with a progress bar, and with what the server warns of."""

    server: PrometheusServer
    plan: QueryPlan
    jobs: int
    started: float = field(default_factory=time.monotonic)
    answers: list[ReceivedAnswer] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Fetch what there is to fetch.

        Raises
        ------
        SourceError
            The server gives up, or has no sample of the usage.
        """
        plan = self.plan
        talk.print(f"Asking {plan.server}: {span_of(plan)}")
        talk.print(f"about {counted(plan.n_to_come, 'sample')} to come")
        for line in missing_metrics(plan):
            talk.print(line, style="dim")
        with progress(TextColumn("{task.percentage:>3.0f}%"), RateColumn()) as bars:
            bar = bars.add_task("fetch", total=max(plan.n_to_come, 1), unit="samples")
            self.server.listener = Listener(retrying=say_retrying)
            arriving = fetch_answers(self.server, plan, jobs=self.jobs, on_halving=self.say_halving)
            for answer in arriving:
                self.answers.append(answer)
                self.note(answer.facts.warnings)
                expected = answer.metric.expected_samples(answer.interval, plan.request.step)
                bars.update(bar, description=answer.metric.name, advance=expected)
        self.check()

    def say_halving(self, metric: str, reason: str) -> None:
        """Say once of each metric that its queries are made shorter."""
        if metric not in self.notes:
            self.notes.add(metric)
            talk.print(f"↓ {metric}: {reason}; asking for less at once", style="yellow")

    def note(self, warnings: Sequence[str]) -> None:
        """Print what the server warns of, each warning once."""
        for warning in warnings:
            shown = self.server.access.hide(warning)
            if shown not in self.notes:
                self.notes.add(shown)
                talk.print(
                    f"! {self.plan.server} warns: {shown}; what it returned may lack something",
                    style="yellow",
                )

    def check(self) -> None:
        """Say from when on there are samples of the usage.

        Raises
        ------
        SourceError
            There is none.
        """
        plan = self.plan
        if any(metric.present for metric in plan.metrics if metric.wanted.is_usage):
            return
        times = []
        for answer in self.answers:
            if answer.metric.wanted.is_usage and answer.facts.first is not None:
                times.append(answer.facts.first)
        if not times:
            raise SourceError(
                plan.server,
                "no sample of any container in this period",
                expected=span_of(plan),
                way_out="check --since and --until",
            )
        if min(times) - plan.request.period.first > _LATE_START:
            talk.print(
                f"Samples begin at {utc(min(times))}: nothing older matches, or the server keeps no more",
                style="yellow",
            )

    def finish(self, folder: Path, *, as_json: bool) -> None:
        """Print the account."""
        seconds = time.monotonic() - self.started
        kept = AnswerFolder.read(folder, self.plan.query)
        n_files = kept.n_files()
        n_samples = sum(answer.facts.n_samples for answer in self.answers)
        if as_json:
            facts = plan_facts(self.plan)
            facts["samples"] = n_samples
            facts["queries"] = len(self.answers)
            facts["files"] = n_files
            facts["bytes"] = kept.size()
            facts["warnings"] = sorted(self.notes)
            facts["seconds"] = round(seconds, 3)
            print_json(facts, indent=1)
        talk.print(
            f"{counted(n_samples, 'sample')} came in {duration(seconds)}; {folder} holds "
            f"{counted(n_files, 'file')}, {decimal(kept.size())}."
        )

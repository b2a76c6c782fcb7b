"""A server that is busy, slow, cut off or wrong: what comes in the end is whole, and nothing is asked twice."""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from tests.fetch.fake_prometheus import FakePrometheus, Reply, Request, api_error, serving
from tests.fetch.small_cluster import MINUTE, START, cluster

from borgtrace.errors import SourceError
from borgtrace.fetch import Backoff
from borgtrace.fetch.prometheus import (
    AnswerFolder,
    FetchRequest,
    PrometheusServer,
    QueryPlan,
    Stretch,
    fetch_answers,
    make_query_plan,
    parse_selector,
)
from borgtrace.fetch.prometheus.answers import judge_answer
from borgtrace.fetch.retry import Stopped

CPU = "container_cpu_usage_seconds_total"
TOO_MANY = "query processing would load too many samples into memory in query execution"
HOURS = Stretch(START, START + 119 * MINUTE)
Serve = Callable[..., FakePrometheus]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves the small cluster until the test ends."""
    with ExitStack() as stack:

        def start(**options: object) -> FakePrometheus:
            fake = FakePrometheus(cluster(), **options)  # type: ignore[arg-type]
            return stack.enter_context(serving(fake))

        yield start


def connect(fake: FakePrometheus, **options: object) -> PrometheusServer:
    """Connect impatiently."""
    backoff = Backoff(base=0.001, cap=0.01)
    return PrometheusServer(fake.url, **{"backoff": backoff, "timeout": 2.0, **options})  # type: ignore[arg-type]


def request_of(folder: Path, period: Stretch = HOURS) -> FetchRequest:
    return FetchRequest(folder, parse_selector('{container="app"}'), period, MINUTE)


def fetch(fake: FakePrometheus, folder: Path, jobs: int = 2, **options: object) -> QueryPlan:
    with connect(fake, **options) as server:
        plan = make_query_plan(server, request_of(folder))
        for _ in fetch_answers(server, plan, jobs=jobs):
            pass
        return plan


def samples(folder: Path, metric: str = CPU) -> Counter[tuple[str, int, str]]:
    """Count the samples of a metric in all files of a folder: pod, time and value."""
    found: Counter[tuple[str, int, str]] = Counter()
    for file in (folder / metric).glob("*.json.gz"):
        for series in json.loads(gzip.decompress(file.read_bytes()))["data"]["result"]:
            found.update((series["metric"]["pod"], at, value) for at, value in series["values"])
    return found


def all_samples(fake: FakePrometheus, metric: str = CPU) -> Counter[tuple[str, int, str]]:
    chosen = [one for one in fake.series if one.metric == metric]
    return Counter((one.labels["pod"], at, value) for one in chosen for at, value in one.samples)


@cache
def bomb() -> bytes:
    """Return 80 MiB of blanks, packed."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    blanks = b" " * (1 << 20)
    return b"".join(packer.compress(blanks) for _ in range(80)) + packer.flush()


def of_samples(fake: FakePrometheus, metric: str = CPU) -> list[Request]:
    return [each for each in fake.requests if each.is_of_samples and each.metric == metric]


class Faults:
    """Commits a fault at the first requests for samples of CPU time, and answers the rest."""

    def __init__(self, *faults: Reply | str) -> None:
        self.left = list(faults)

    def __call__(self, request: Request) -> Reply | str | None:
        if request.is_of_samples and request.metric == CPU and self.left:
            return self.left.pop(0)
        return None


@pytest.mark.parametrize(
    "faults",
    [
        (Reply(503, "overloaded", "text/plain"),),
        (Reply(502, "<html>bad gateway</html>", "text/html"),) * 2,
        (Reply(500, "", "text/plain"),),
        (Reply(429, "", "text/plain", {"Retry-After": "0"}),) * 3,
        ("cut",),
        ("reset",),
        ("plain",),
        (Reply(200, "<html>Please log in</html>", "text/html"),),
        (Reply(200, b"\x1f\x8b\x08nonsense", headers={"Content-Encoding": "gzip"}),),
        (Reply(200, "not JSON", "application/json"),),
        (Reply(200, '{"status":"success","data":{"resultType":"vector","result":[]}}'),),
        (Reply(200, '{"status":"success","isPartial":true,"data":{}}'),),
        (Reply(200, '["no", "answer"]'),),
        (api_error(503, "timeout", "query timed out in expression evaluation"),),
        (api_error(422, "execution", TOO_MANY),),
        (
            api_error(
                400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries"
            ),
        ),
        (api_error(200, "execution", TOO_MANY),),
        (Reply(504, "<html>gateway time-out</html>", "text/html"),),
        (Reply(413, "entity too large", "text/plain"),),
    ],
    ids=lambda faults: (
        str(getattr(faults[0], "status", faults[0])) + getattr(faults[0], "kind", "")
    ),
)
def test_a_fault_leaves_no_trace_in_what_is_kept(
    serve: Serve, tmp_path: Path, faults: tuple[Reply | str, ...]
) -> None:
    fake = serve(choose=Faults(*faults))
    fetch(fake, tmp_path)
    assert samples(tmp_path) == all_samples(fake)
    assert [path.name for path in tmp_path.rglob("*.incomplete")] == []


def test_what_is_too_much_is_asked_for_in_halves(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> Reply | None:
        if request.is_of_samples and request.metric == CPU and request.n_points > 16:
            return api_error(422, "execution", TOO_MANY)
        return None

    fake = serve(choose=choose)
    fetch(fake, tmp_path, jobs=1)
    lengths = [each.n_points for each in of_samples(fake)]
    # 120, 60 and 30 are refused; then 15 at a time.
    assert lengths[:4] == [120, 60, 30, 15]
    assert samples(tmp_path) == all_samples(fake)
    # Longer ones are tried again, but not each time.
    assert sum(length > 16 for length in lengths[4:]) <= 2


def test_a_moment_that_is_too_much_is_an_error(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> Reply | None:
        return api_error(422, "execution", TOO_MANY) if request.is_of_samples else None

    fake = serve(choose=choose)
    with pytest.raises(SourceError) as error:
        fetch(fake, tmp_path)
    assert str(error.value) == (
        f"{fake.url}: {CPU}: too much for the server, even for one moment: got the server answers 422 Unprocessable "
        f"Entity ({TOO_MANY}); choose fewer containers with --selector, such as one namespace at a time"
    )


def test_what_is_no_matter_of_size_is_said_to_be_none(serve: Serve, tmp_path: Path) -> None:
    """As Thanos answers where one of its stores is away, and partial answers were refused."""
    away = "receive series from Addr: 10.0.0.7:10901: no such host"

    def choose(request: Request) -> Reply | None:
        return api_error(422, "execution", away) if request.is_of_samples else None

    fake = serve(choose=choose)
    with pytest.raises(SourceError) as error:
        fetch(fake, tmp_path)
    assert str(error.value) == (
        f"{fake.url}: {CPU}: the server gives up even the smallest query: got the server answers 422 Unprocessable "
        f"Entity ({away}); see to the server, then run the same command again: what has arrived is kept"
    )


@pytest.mark.parametrize("fault", [Reply(503, "", "text/plain"), "cut"])
def test_a_server_that_breaks_off_long_answers_gives_short_ones(
    serve: Serve, tmp_path: Path, fault: Reply | str
) -> None:
    """As a proxy does that ends whatever takes more than its seconds."""

    def choose(request: Request) -> Reply | str | None:
        is_long = request.is_of_samples and request.metric == CPU and request.n_points > 40
        return fault if is_long else None

    fake = serve(choose=choose)
    fetch(fake, tmp_path)
    assert samples(tmp_path) == all_samples(fake)
    assert max(each.n_points for each in of_samples(fake)[-2:]) <= 40


def test_silence_is_too_much(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> str | None:
        is_long = request.is_of_samples and request.metric == CPU and request.n_points > 60
        return "stall" if is_long else None

    fake = serve(choose=choose, stall=1.0)
    fetch(fake, tmp_path, timeout=0.3)
    assert samples(tmp_path) == all_samples(fake)
    assert of_samples(fake)[0].n_points == 120


def test_retry_after_is_obeyed_by_all_queries(serve: Serve, tmp_path: Path) -> None:
    times: list[float] = []
    refused: list[float] = []

    def choose(request: Request) -> Reply | None:
        if request.is_of_samples:
            times.append(time.monotonic())
        if request.is_of_samples and not refused:
            refused.append(times[-1])
            return Reply(429, "", "text/plain", {"Retry-After": "1"})
        return None

    fetch(serve(choose=choose), tmp_path, jobs=1)
    later = [at for at in times if at > refused[0]]
    assert later[0] - refused[0] >= 1.0


def test_queries_come_no_faster_than_asked_for(serve: Serve, tmp_path: Path) -> None:
    times: list[float] = []

    def choose(request: Request) -> None:
        times.append(time.monotonic())

    fetch(serve(choose=choose), tmp_path, rate=20.0)
    # 5 metrics: a check, three lists of names, and two queries of each.
    assert len(times) == 14
    assert times[-1] - times[0] >= 13 / 20.0 - 0.05


def test_a_dead_server_is_given_up(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> Reply | None:
        return Reply(503, "", "text/plain") if request.is_of_samples else None

    fake = serve(choose=choose)
    with pytest.raises(SourceError) as error:
        fetch(fake, tmp_path)
    assert str(error.value) == (
        f"{fake.url}: {CPU}: gave up after 8 attempts: the server answers 503 Service Unavailable; "
        "run the same command again later: what has arrived is kept"
    )


def test_what_is_here_is_not_asked_for_again(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> Reply | None:
        is_second = request.metric == "kube_pod_owner" and request.is_of_samples
        return Reply(403, "forbidden", "text/plain") if is_second and not allowed else None

    allowed: list[bool] = []
    fake = serve(choose=choose)
    with pytest.raises(SourceError):
        fetch(fake, tmp_path)
    n_before = len(of_samples(fake))
    assert n_before == 1
    allowed.append(True)
    fetch(fake, tmp_path)
    assert len(of_samples(fake)) == n_before
    # A day later only what is new.
    later = Stretch(START, START + 139 * MINUTE)
    with connect(fake) as server:
        plan = make_query_plan(server, request_of(tmp_path, later))
        for _ in fetch_answers(server, plan):
            pass
    asked = of_samples(fake)[n_before:]
    assert [(int(each.parameters["start"]), each.n_points) for each in asked] == [
        (START + 120 * MINUTE, 20)
    ]
    assert samples(tmp_path) == all_samples(fake)


@pytest.mark.parametrize("damage", ["cut", "other", "gone"])
def test_a_damaged_answer_is_asked_for_again(serve: Serve, tmp_path: Path, damage: str) -> None:
    fake = serve()
    fetch(fake, tmp_path)
    (file,) = (tmp_path / CPU).iterdir()
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content[:-1] if damage == "cut" else content[:-1] + b"!")
    fetch(fake, tmp_path)
    assert len(of_samples(fake)) == 2
    assert samples(tmp_path) == all_samples(fake)


def test_a_copied_folder_is_known_by_its_digests(serve: Serve, tmp_path: Path) -> None:
    fake = serve()
    fetch(fake, tmp_path)
    for file in tmp_path.rglob("*.json.gz"):
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content)
    fetch(fake, tmp_path)
    assert len(of_samples(fake)) == 1


def test_an_answer_without_series_has_no_file(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> Reply | None:
        is_long = request.is_of_samples and request.n_points > 100
        return api_error(422, "execution", TOO_MANY) if is_long else None

    fake = serve(choose=choose)
    before = Stretch(START - 600 * MINUTE, START + 119 * MINUTE)
    with connect(fake) as server:
        plan = make_query_plan(server, request_of(tmp_path, before))
        kept = list(fetch_answers(server, plan))
        again = make_query_plan(server, request_of(tmp_path, before))
    assert sum(answer.facts.n_series == 0 for answer in kept) >= 1
    assert not any(metric.todo for metric in again.metrics)
    files = list(tmp_path.rglob("*.json.gz"))
    for file in files:
        assert judge_answer(gzip.decompress(file.read_bytes())).n_series
    assert AnswerFolder.read(tmp_path, plan.query).n_files() == len(files)


def test_a_server_that_lists_no_names_is_asked_for_all_metrics(
    serve: Serve, tmp_path: Path
) -> None:
    def choose(request: Request) -> Reply | None:
        is_list = request.function.startswith("label/")
        return Reply(404, "not found", "text/plain") if is_list else None

    fake = serve(choose=choose)
    plan = fetch(fake, tmp_path)
    # Usage, requests, limits, owners of pods and of their owners, labels, nodes, ends and restarts.
    assert len(plan.metrics) == 12
    assert samples(tmp_path) == all_samples(fake)


def test_a_server_that_refuses_unknown_parameters_is_asked_without(
    serve: Serve, tmp_path: Path
) -> None:
    def choose(request: Request) -> Reply | None:
        is_unknown = "nocache" in request.parameters
        return api_error(400, "bad_data", 'Unknown name "nocache"') if is_unknown else None

    fake = serve(choose=choose)
    fetch(fake, tmp_path)
    assert samples(tmp_path) == all_samples(fake)


def test_a_server_without_windows_repeats_samples_and_is_asked_all_the_same(
    serve: Serve, tmp_path: Path
) -> None:
    def choose(request: Request) -> Reply | None:
        is_window = "last_over_time" in request.parameters.get("query", "")
        return (
            api_error(400, "bad_data", 'unknown function "last_over_time"') if is_window else None
        )

    fake = serve(choose=choose)
    plan = fetch(fake, tmp_path)
    assert not plan.has_windows
    assert not all_samples(fake) - samples(tmp_path)
    # The last pod ends after an hour: its last sample is repeated for five minutes.
    repeated = samples(tmp_path) - all_samples(fake)
    assert [(pod, at - START) for pod, at, _ in sorted(repeated)] == [
        ("pod-3", minute * MINUTE) for minute in (60, 61, 62, 63)
    ]
    owners = {pod for pod, _, _ in samples(tmp_path, "kube_pod_owner")}
    assert owners == {"pod-0", "pod-1", "pod-2", "pod-3"}


def test_a_pod_between_two_hours_has_an_owner(serve: Serve, tmp_path: Path) -> None:
    """Windows of what hardly changes lie side by side: a pod of two minutes is in one of them."""
    fake = serve()
    short = next(one for one in fake.series if one.metric == "kube_pod_owner")
    fake.series.append(type(short)({**short.labels, "pod": "short"}, short.samples[61:63]))
    fetch(fake, tmp_path)
    owners = {pod for pod, _, _ in samples(tmp_path, "kube_pod_owner")}
    assert owners == {"pod-0", "pod-1", "pod-2", "pod-3", "short"}


def test_an_answer_that_expands_is_not_unpacked(serve: Serve, tmp_path: Path) -> None:
    """64 MiB of blanks are a few kilobytes of gzip: no more is unpacked, and half is asked for."""
    fault = Reply(200, bomb(), headers={"Content-Encoding": "gzip"})
    fake = serve(choose=Faults(fault))
    fetch(fake, tmp_path)
    assert [each.n_points for each in of_samples(fake)] == [120, 60, 60]
    assert samples(tmp_path) == all_samples(fake)


def test_a_short_answer_that_expands_is_refused(serve: Serve, tmp_path: Path) -> None:
    fault = Reply(200, bomb(), headers={"Content-Encoding": "gzip"})
    fake = serve(choose=lambda request: fault if request.function == "query" else None)
    with pytest.raises(SourceError) as error:
        fetch(fake, tmp_path)
    assert str(error.value) == (
        f"{fake.url}: the server answers no query at all: got the answer is too long; try later"
    )


def test_a_stop_ends_a_query_that_is_not_answered(serve: Serve, tmp_path: Path) -> None:
    def choose(request: Request) -> str | None:
        return "stall" if request.is_of_samples else None

    fake = serve(choose=choose, stall=20.0)
    with connect(fake, timeout=30.0) as server:
        plan = make_query_plan(server, request_of(tmp_path))
        answers = fetch_answers(server, plan)
        timer = threading.Timer(0.3, server.stop)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Stopped):
            next(iter(answers))
        assert time.monotonic() - began < 5

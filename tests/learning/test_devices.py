"""Names of devices: which there are, and what is said where there is none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from borgtrace.errors import UsageError
from borgtrace.learning.devices import available_devices, check_device, device_of, one_thread


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "cuda:0", "cuda:12", "mps"])
def test_names_of_devices(name: str) -> None:
    check_device("--device", name)


@pytest.mark.parametrize(
    "name", ["", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "cuda\n"]
)
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_device("--device", name)
    assert str(caught.value) == str(
        UsageError(
            "--device",
            "no such device",
            expected="auto, cpu, cuda, cuda:0, … or mps",
            got=name,
        )
    )


def test_a_device_that_is_not_there_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert device_of("auto") == torch.device("cpu")
    with pytest.raises(UsageError) as caught:
        device_of("cuda:1")
    assert str(caught.value) == (
        "--device: PyTorch finds no such device: expected cpu, got cuda:1; auto takes the fastest that there is"
    )


def test_the_fastest_device_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert available_devices() == ["cuda:0", "cuda:1", "mps", "cpu"]
    assert device_of("auto") == device_of("cuda") == torch.device("cuda:0")


def test_the_number_of_threads_comes_back_after_an_error() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    inside = []
    with pytest.raises(ZeroDivisionError), one_thread():
        inside.append(torch.get_num_threads() / 0)
    with one_thread():
        inside.append(torch.get_num_threads())
    assert inside == [1]
    assert torch.get_num_threads() == before


def test_learning_needs_numpy_and_torch_alone() -> None:
    """A machine with a GPU often has neither DuckDB nor Ibis."""
    code = """
import sys
import borgtrace.learning.devices, borgtrace.learning.examples
import borgtrace.learning.lstm, borgtrace.learning.resident_traces
print(*{name.partition(".")[0] for name in sys.modules} & {"duckdb", "ibis", "pyarrow", "numba", "torch"})
"""
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed.split() == []

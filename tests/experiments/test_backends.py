"""Cells on Dask and on Ray: the same bytes as here, with a policy of the user's own among them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.experiments.test_laboratory import OWN, assert_same

RUN = """
import sys
from contextlib import contextmanager
from pathlib import Path

import borgtrace
from borgtrace.extensions import import_source


@contextmanager
def here():
    yield ""


@contextmanager
def dask():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster):
            yield "dask"


@contextmanager
def ray():
    import ray
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    yield "ray"
    ray.shutdown()


def main():
    name, stores, out, own = sys.argv[1:]
    policy = import_source(own).Own()
    with globals()[name]() as backend:
        result = borgtrace.experiment(
            stores=[f"{stores}/a", f"{stores}/b"],
            policies={"half": ["borg:phi=0.5"], "own": [policy]},
            resources="cpu",
            horizon="10m",
            out=out,
            jobs=2 if backend else 1,
            backend=backend,
        )
    print(result.n_computed)


if __name__ == "__main__":
    main()
"""


def run(name: str, stores: Path, folder: Path) -> Path:
    script = folder / "run.py"
    script.write_text(RUN, encoding="utf-8")
    own = folder / "own_share.py"
    own.write_text(OWN.format(name="own-share", share="self.share"), encoding="utf-8")
    out = folder / name
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    }
    ended = subprocess.run(
        [sys.executable, str(script), name, str(stores), str(out), str(own)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split()[-1] == "4"
    return out


@pytest.mark.wide
@pytest.mark.parametrize(("name", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_backend_changes_no_byte(stores: Path, tmp_path: Path, name: str, module: str) -> None:
    if find_spec(module) is None:
        pytest.skip(
            f"{name} is not installed: pip install {'dask distributed' if name == 'dask' else name}"
        )
    assert_same(run("here", stores, tmp_path), run(name, stores, tmp_path))

"""Commands without the rights of root, which may read and write anywhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from warm import warm_commands

# Root has its rights as long as it has its capabilities.
AS_OTHERS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


class OrdinaryUser(NamedTuple):
    """Who runs commands: a folder of stand-ins for them, and an environment without credentials or a network."""

    commands: Path
    environment: dict[str, str]


@pytest.fixture(scope="session")
def ordinary_user(
    own_cache: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OrdinaryUser]:
    """A user who is not root, in a home of their own."""
    if AS_OTHERS and not shutil.which("setpriv"):
        pytest.skip("root reads and writes anywhere, and setpriv is not installed")
    folder = tmp_path_factory.mktemp("user")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {
        "HOME": str(folder),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    }
    with warm_commands(folder / "bin", environment, AS_OTHERS) as commands:
        yield OrdinaryUser(commands, environment)

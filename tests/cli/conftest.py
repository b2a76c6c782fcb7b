"""Commands without the rights of root, which may read and write anywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Commands


class OrdinaryUser(NamedTuple):
    """Who runs commands: a folder of stand-ins for them, and an environment without credentials or a network."""

    commands: Path
    environment: dict[str, str]


@pytest.fixture(scope="session")
def ordinary_user(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> OrdinaryUser:
    """A user who is not root, in a home of their own."""
    folder = tmp_path_factory.mktemp("user")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {
        "HOME": str(folder),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    }
    return OrdinaryUser(commands(folder / "bin", is_root=False), environment)

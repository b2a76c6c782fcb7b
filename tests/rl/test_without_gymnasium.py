"""What is said where Gymnasium is not installed."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
sys.modules["gymnasium"] = None
from borgtrace.errors import EngineError
try:
    import borgtrace.rl
except EngineError as error:
    print(error)
"""


def test_the_way_to_install_it_is_named() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=240
    )
    assert ended.stderr == ""
    assert ended.stdout == 'borgtrace.rl: needs gymnasium; pip install "borgtrace[rl]"\n'

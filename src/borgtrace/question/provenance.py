"""The provenance of a result: store, parameters, engine and code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from borgtrace.lifecycle import code_version


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a result was computed from and with."""

    store: str = ""
    digest: str = ""
    generation: str = "2011"
    cell: str = ""
    is_synthetic: bool = False
    where: str = ""
    engine: str = "duckdb"
    code_version: str = field(default_factory=code_version)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    is_simulated: bool = False
    extensions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Code of others by name: where it came from (``source``), and the digest of its file (``sha256``)."""

    def __str__(self) -> str:
        origin = ""
        if self.is_simulated:
            origin = ", simulated"
        elif self.is_synthetic:
            origin = ", synthetic"
        where = f", where {self.where}" if self.where else ""
        parameters = f", parameters {json.dumps(dict(self.parameters))}" if self.parameters else ""
        store = f"{self.store} ({self.generation}{self.cell}{origin}, {self.digest[:12]}){where}"
        engine = f"engine {self.engine}, {self.seconds:.2f} s{parameters}"
        extensions = "".join(
            f", {name} from {code['source']} ({code['sha256'][:12]})"
            for name, code in self.extensions.items()
        )
        return f"store {store}, borgtrace {self.code_version}{extensions}, {engine}"

"""Is what a command ends with an answer, or one plain sentence with a way out?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from borgtrace.cli.app import COMMANDS
from walking.running import Ended

Verdict = Literal["answer", "sentence", "DEAD END"]
PLACEHOLDER = re.compile(r"\b(STORE|SRC|STATEMENT)\b|<[a-z]+>|\bNone\b(?! of)|\bnan\b")
"""What nobody can paste, or read."""
RAW_NUMBER = re.compile(r"(?<![\w./:-])\d{9,}(?!\w|\.\d)")
"""µs, or an id: people read neither. Hashes and paths hold letters beside."""
HINT = re.compile(r"borgtrace ([a-z]+)( [a-z]+)?")
REFUSAL = re.compile(r"^borgtrace: (?P<cause>.{12,})$")
NOT_APPLICABLE = re.compile(r"not applicable: (?P<cause>.{12,})", re.IGNORECASE)
WAY_OUT = re.compile(
    r"[;:,] (try|check|make|start|take|takes|choose|ingest|merge|name|use|set|add|give|query|fetch|begin|"
    r"write|see|rename|remove|drop|this takes|it takes|another)\b"
    r"|\bneeds?\b|\bneeded\b|\btakes?\b|borgtrace [a-z]+ |--[a-z]+"
)
"""What a reader is told to do, or to bring."""
NOTHING_TO_DO = (
    re.compile(r"nothing is known to have run"),
    re.compile(r"does not say on which machines tasks ran"),
    re.compile(r"Its usage was not measured"),
    re.compile(r"the store is as it was written"),
)
"""Ends of commands that have nothing to do and no way out to give."""


def verdict_on(ended: Ended) -> Verdict:
    """Return how a command ended, as a stranger would judge it who reads its last lines."""
    if "Traceback" in ended.stdout + ended.stderr or not ended.last_line:
        return "DEAD END"
    last_lines = ended.stderr.strip().splitlines()[-3:] or ended.stdout.strip().splitlines()[-3:]
    if faults_of(last_lines):
        return "DEAD END"
    sentences = [line for line in ended.stderr.splitlines() if is_refusal(line)]
    if ended.code == 0 and not is_refusal(ended.last_line):
        return "answer"
    return "sentence" if any(map(has_way_out, sentences)) else "DEAD END"


def faults_of(lines: Sequence[str]) -> list[str]:
    """Return what nobody should have to read in the last lines of a command."""
    faults = []
    for line in lines:
        faults += [f"placeholder {match[0]}" for match in PLACEHOLDER.finditer(line)]
        hints = [" ".join(match[0].split()[1:]) for match in HINT.finditer(line)]
        faults += [f"no command {hint}" for hint in hints if not is_command(hint)]
        # Rows hold ids where people gave no names; sentences should not.
        if line == lines[-1] and not line.startswith(("digest", '"', "ok ")):
            faults += [f"raw number {match[0]}" for match in RAW_NUMBER.finditer(line)]
    return faults


def is_command(hint: str) -> bool:
    """Return whether a hint begins with a command; its second word may be an argument."""
    return hint in COMMANDS or hint.split(maxsplit=1)[0] in COMMANDS


def is_refusal(line: str) -> bool:
    """Return whether a line says that there is no answer."""
    return bool(REFUSAL.match(line) or NOT_APPLICABLE.search(line))


def has_way_out(sentence: str) -> bool:
    """Return whether a sentence says what to do, or that there is nothing to do."""
    cause = (NOT_APPLICABLE.search(sentence) or REFUSAL.match(sentence) or [""])[0]
    is_allowed = any(ending.search(sentence) for ending in NOTHING_TO_DO)
    return is_allowed or bool(WAY_OUT.search(cause))

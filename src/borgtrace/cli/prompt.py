"""The prompt of ``borgtrace sql STORE``: queries typed one after the other, with completion and history."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from pygments.lexers.sql import SqlLexer

from borgtrace.errors import BorgtraceError, EngineError
from borgtrace.schema import TABLES

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import FuzzyWordCompleter
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.lexers import PygmentsLexer
except ImportError:
    raise EngineError(
        "sql",
        "its prompt needs prompt-toolkit",
        way_out='pip install "borgtrace[prompt]", or give a query: borgtrace sql STORE "select …"',
    ) from None

_HINT = "End a query with ; and Enter.  Tab completes.  Ctrl-C stops a query, Ctrl-D leaves.  .tables lists the tables."
_WORDS = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY ALL",
        "ORDER BY",
        "LIMIT",
        "HAVING",
        "JOIN",
        "USING",
        "WITH",
        "AS",
    ),
    *(
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS NULL",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "DESC",
        "DISTINCT",
    ),
    *(
        "count(*)",
        "sum(",
        "avg(",
        "min(",
        "max(",
        "median(",
        "quantile_cont(",
        "round(",
        "FILTER",
        "OVER",
        "EXPLAIN",
    ),
)


def run_prompt(answer: Callable[[str], None]) -> None:
    """Read queries until the end of the input; an error or Ctrl-C ends a query, not the prompt.

    Parameters
    ----------
    answer
        Runs one query and prints its rows.
    """
    session: PromptSession[str] = PromptSession(
        "sql> ",
        completer=completer(),
        history=FileHistory(str(_history())),
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        key_bindings=_bindings(),
        prompt_continuation="...> ",
        bottom_toolbar=_HINT,
        complete_while_typing=False,
    )
    while True:
        try:
            text = session.prompt().strip().removesuffix(";").strip()
            if text == ".tables":
                print(*TABLES, sep="\n")
            elif text:
                answer(text)
        except EOFError:
            return
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
        except BorgtraceError as error:
            print(f"borgtrace: {error}", file=sys.stderr)


def completer() -> FuzzyWordCompleter:
    """Return what completes tables, their columns and words of SQL, a few letters of each being enough."""
    columns = (column.name for table in TABLES.values() for column in table.columns)
    return FuzzyWordCompleter(sorted({*_WORDS, *TABLES, *columns}))


def _history() -> Path:
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "borgtrace"
    home.mkdir(parents=True, exist_ok=True)
    return home / "sql_history"


def _bindings() -> KeyBindings:
    """Let Enter end a query that ends with a semicolon, and a command; else it begins a new line."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        text = event.current_buffer.text.strip()
        if not text or text.endswith(";") or text.startswith("."):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return bindings

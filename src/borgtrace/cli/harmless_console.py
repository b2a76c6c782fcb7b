"""The Rich console that commands print with, which prints no control characters; see :mod:`borgtrace.cli.terminal`."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from borgtrace.errors import harmless


class HarmlessConsole(Console):
    """A console of Rich whose own control characters pass, and those of what it prints do not.

    Square brackets are no markup: names hold them.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, **options})

    def render(
        self,
        renderable: RenderableType,
        options: ConsoleOptions | None = None,
    ) -> Iterable[Segment]:
        """Render an object, and make the text of what comes out harmless."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))

"""The reference pages, made from the code whenever the site is built: they cannot go stale.

MkDocs calls the functions whose names begin with ``on_`` (see ``hooks`` in mkdocs.yml).  ``python
docs/gen_reference.py DIR`` writes the pages into a folder, for reading without a site.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate import (
    api,
    changelog,
    citations,
    commands,
    errors,
    estimators,
    gallery,
    input_kinds,
    notebooks,
    papers,
    question_pages,
    reasons,
)

TOPICS = {
    f"questions/{question_pages.slug(topic)}.md": partial(question_pages.page, topic)
    for topic in question_pages.topics()
}
NOTEBOOKS = {f"notebooks/{name}.md": partial(notebooks.page, name) for name in notebooks.NAMES}
PAGES = {
    "papers.md": papers.page,
    "gallery.md": gallery.page,
    "changelog.md": changelog.page,
    "citations.md": citations.page,
    "reference/commands.md": commands.page,
    "reference/recipes.md": question_pages.index,
    "reference/estimators.md": estimators.page,
    "reference/errors.md": errors.page,
    "reference/reasons.md": reasons.page,
    "reference/inputs.md": input_kinds.page,
    "reference/api.md": api.page,
    **NOTEBOOKS,
    **TOPICS,
}
UNITS = "units.md"
_SHOWS_CPU = re.compile(r"\bCPU\b|_cpu\b")
"""What makes a page one that shows amounts of CPU."""


def on_config(config):
    """Put the pages of the topics into the table of contents, behind their index."""
    config.nav.append({"Questions by topic": list(TOPICS)})
    return config


def on_files(files, config):
    """Add the generated pages to the site."""
    from mkdocs.structure.files import File

    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Say on every page that shows CPU where it is written what 1.0 means."""
    path = page.file.src_uri
    if path == UNITS or not _SHOWS_CPU.search(markdown):
        return markdown
    way = "../" * path.count("/") + UNITS
    return f'{markdown}\n\n---\n\n*[What does "CPU 1.0" mean?]({way}) The largest machine of the trace.*\n'


if __name__ == "__main__":
    for path, page in PAGES.items():
        target = Path(sys.argv[1], path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page(), encoding="utf-8")

"""The reference pages, made from the code whenever the site is built: they cannot go stale.

MkDocs calls :func:`on_files` (see ``hooks`` in mkdocs.yml).  ``python docs/gen_reference.py DIR`` writes
the pages into a folder, for reading without a site.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate import api, commands, errors, estimators, papers, reasons, recipes

PAGES = {
    "papers.md": papers.page,
    "reference/commands.md": commands.page,
    "reference/recipes.md": recipes.page,
    "reference/estimators.md": estimators.page,
    "reference/errors.md": errors.page,
    "reference/reasons.md": reasons.page,
    "reference/api.md": api.page,
}


def on_files(files, config):
    """Add the generated pages to the site."""
    from mkdocs.structure.files import File

    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files


if __name__ == "__main__":
    for path, page in PAGES.items():
        target = Path(sys.argv[1], path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page(), encoding="utf-8")

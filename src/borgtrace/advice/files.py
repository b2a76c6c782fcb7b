"""The files of an advice: the page, tables, charts, and YAML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.advice.manifests import owner_patches, resources_yaml, vpa_yaml
from borgtrace.report.answer_files import write_result
from borgtrace.storage import as_path, write_file

if TYPE_CHECKING:
    from borgtrace.advice.advice import Advice


RESOURCES = "resources.yaml"
AUTOSCALERS = "vpa.yaml"


@dataclass(frozen=True, slots=True)
class AdviceFiles:
    """What was written.

    Attributes
    ----------
    page
        The page.
    folder
        Tables, charts and YAML.
    n_patches
        Owners in ``resources.yaml``; no file where there are none.
    """

    page: Path
    folder: Path
    n_patches: int


def write_advice(advice: Advice, page: str | Path) -> AdviceFiles:
    """Write an advice: a page, and beside it a folder of its name with the tables, charts and YAML.

    Parameters
    ----------
    advice
        What to write.
    page
        The HTML file; files that are there are replaced, each at once.
    """
    path = as_path(page)
    folder = path.with_suffix("") if path.suffix else path.parent / f"{path.name}.files"
    for result in advice.results:
        write_result(result, folder, png=False)
    patches = owner_patches(advice.workloads)
    n_patchable = sum(patch.is_patchable for patch in patches)
    # An earlier advice may have left files: what nothing is advised for must not be applied.
    for name in (RESOURCES, AUTOSCALERS):
        (folder / name).unlink(missing_ok=True)
    if n_patchable:
        write_file(folder / RESOURCES, resources_yaml(patches))
    if patches:
        write_file(folder / AUTOSCALERS, vpa_yaml(patches))
    write_file(path, advice.to_html())
    return AdviceFiles(path, folder, n_patchable)

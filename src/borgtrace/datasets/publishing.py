"""What a dataset says to who publishes or finds it, in the words of Hugging Face, Croissant and DataCite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from borgtrace.datasets.features import series_unit
from borgtrace.datasets.formats import parquet
from borgtrace.datasets.metadata import Metadata
from borgtrace.datasets.selection import INSTANCE_NAMES
from borgtrace.schema import Dialect
from borgtrace.store.citation import CC_BY, is_cc_by

CROISSANT_FILE = "croissant.json"
HOMEPAGE = "https://github.com/borgtrace/borgtrace"
KEYWORDS = ("cluster-trace", "time-series", "resource-usage", "borgtrace")
IDENTITY_MEANINGS = {
    "collection_id": "Id of the job.",
    "instance_index": "Index of the task in its job.",
    "length": "Windows of the trace.",
    "first_time": "Start of the first window, µs on the trace's own clock.",
}
CROISSANT_TYPES = {"int64": "sc:Integer", "float": "sc:Float", "string": "sc:Text"}
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The words of Croissant 1.1, as its specification gives them."""


def title_of(about: Metadata, dialect: Dialect) -> str:
    """Return the title of a dataset: what it is of, and that it is synthetic where it is."""
    store = about.raw["store"]
    instances = INSTANCE_NAMES[about.raw["options"]["selection"].get("instances", "tasks")]
    cell = f", cell {store['cell']}" if store["cell"] else ""
    made = "synthetic cell in the format of " if store["synthetic"] else ""
    return f"Usage of {instances}s over time: {made}{dialect.title}{cell}"


def has_cc_by(about: Metadata, dialect: Dialect) -> bool:
    """Whether the trace is published under CC-BY 4.0."""
    return is_cc_by(dialect, is_synthetic=about.raw["store"]["synthetic"] is not None)


def front_matter(about: Metadata, dialect: Dialect) -> str:
    """Return the head of the card: YAML that Hugging Face reads, with the files of each set where these are Parquet.

    Parameters
    ----------
    about
        The dataset.
    dialect
        The format of its trace.
    """
    tags = [*KEYWORDS, "synthetic"] if about.raw["store"]["synthetic"] else list(KEYWORDS)
    values: dict[str, Any] = {
        "pretty_name": title_of(about, dialect),
        "license": "cc-by-4.0" if has_cc_by(about, dialect) else "other",
        "task_categories": ["time-series-forecasting"],
        "tags": tags,
    }
    if about.format == "parquet":
        files = [{"split": name, "path": f"{name}/*.parquet"} for name in about.files]
        values["configs"] = [{"config_name": "default", "data_files": files}]
    # JSON is YAML, and quotes whatever a name of a trace holds.
    lines = [f"{name}: {json.dumps(value)}" for name, value in values.items()]
    return "\n".join(["---", *lines, "---", ""])


def croissant(about: Metadata, dialect: Dialect) -> dict[str, Any]:
    """Return the dataset in Croissant's JSON-LD; its records are described where the files are Parquet.

    Parameters
    ----------
    about
        The dataset.
    dialect
        The format of its trace.
    """
    version = about.raw["code_version"].partition("+")[0]
    described: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": re.sub(r"\W+", "-", title_of(about, dialect)),
        "description": f"{title_of(about, dialect)}. Made by borgtrace; see README.md.",
        "url": HOMEPAGE,
        "version": version,
        "identifier": about.raw["identity"],
        "keywords": list(KEYWORDS),
        "citeAs": "; ".join(work.text for work in dialect.citations),
        "distribution": [_file_set(name, about.format) for name in about.files],
    }
    if has_cc_by(about, dialect):
        described["license"] = CC_BY
    if about.format == "parquet":
        described["recordSet"] = [_record_set(name, about) for name in about.files]
    return described


def _file_set(name: str, file_format: str) -> dict[str, Any]:
    mime_types = {"parquet": "application/x-parquet", "npz": "application/zip"}
    return {
        "@type": "cr:FileSet",
        "@id": f"{name}-files",
        "encodingFormat": mime_types.get(file_format, "application/octet-stream"),
        "includes": f"{name}/*.{file_format}",
    }


def _record_set(name: str, about: Metadata) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "description": f"One record per trace of the set {name}.",
        "field": list(_fields(name, about)),
    }


def _fields(name: str, about: Metadata) -> Iterator[dict[str, Any]]:
    """Yield the columns of the files of a set."""
    meanings = dict(IDENTITY_MEANINGS)
    for scaling in about.scalings:
        unit = series_unit(scaling.feature)
        meanings[scaling.feature] = (
            f"Window by window, from {unit}: (x − {scaling.offset:.9g}) ÷ {scaling.divisor:.9g}."
        )
    for column in parquet.schema(about.names):
        is_series = column.name in about.names.series
        value_type = column.type.value_type if is_series else column.type
        field: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{name}/{column.name}",
            "description": meanings.get(column.name, "What is known of the task."),
            "dataType": CROISSANT_TYPES[str(value_type)],
            "source": {
                "fileSet": {"@id": f"{name}-files"},
                "extract": {"column": column.name},
            },
        }
        if is_series:
            field |= {"isArray": True, "arrayShape": "-1"}
        yield field

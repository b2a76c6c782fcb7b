"""Walk a Vega-Lite specification: its unit views, with the data and encodings that they inherit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

COMPOSITIONS = ("layer", "hconcat", "vconcat", "concat")
DERIVATIONS = ("aggregate", "bin", "timeUnit")
"""What a channel may do with values before they are drawn."""
GROUPING_CHANNELS = (
    "color",
    "fill",
    "stroke",
    "strokeDash",
    "detail",
    "facet",
    "row",
    "column",
    "shape",
    "opacity",
)


@dataclass(frozen=True, slots=True)
class View:
    """A unit view: its own specification and what it inherits from the views around it.

    ``rows`` is the list that the specification holds, one object for all views that draw it; ``is_derived`` says
    that rows are transformed, aggregated or binned before they are drawn; ``is_first`` is false for all layers of a
    layered view but the first, and ``is_layer`` true for all of them.
    """

    spec: dict[str, Any]
    rows: list[dict[str, Any]]
    encoding: dict[str, Any]
    is_derived: bool
    facets: tuple[str, ...] = ()
    is_first: bool = True
    is_layer: bool = False

    @property
    def mark(self) -> str:
        """Type of the mark."""
        mark = self.spec["mark"]
        return str(mark["type"] if isinstance(mark, dict) else mark)

    def fields(self, *channels: str) -> list[str]:
        """Return the fields that some channels show."""
        fields = []
        for channel in channels:
            encoding = self.encoding.get(channel)
            if isinstance(encoding, dict) and "field" in encoding:
                fields.append(str(encoding["field"]))
        return fields

    def groups(self) -> list[str]:
        """Return the fields that tell one line from another."""
        return [*self.fields(*GROUPING_CHANNELS), *self.facets]


def unit_views(spec: dict[str, Any]) -> Iterator[View]:
    """Yield all unit views of a specification.

    Examples
    --------
    >>> layered = {"encoding": {"x": {"field": "t"}}, "layer": [{"mark": "line"}, {"mark": "point"}]}
    >>> [(view.mark, view.fields("x")) for view in unit_views(layered)]
    [('line', ['t']), ('point', ['t'])]
    """
    outermost = View(
        spec={},
        rows=[],
        encoding={},
        is_derived=False,
    )
    yield from views_within(spec, outermost, spec.get("datasets", {}))


def views_within(
    spec: dict[str, Any], parent: View, datasets: Mapping[str, list[dict[str, Any]]]
) -> Iterator[View]:
    """Yield the unit views of a part of a specification.

    Parameters
    ----------
    spec
        The part.
    parent
        What it inherits.
    datasets
        Rows by name.
    """
    data = spec.get("data", {})
    # Data, encodings and facets are inherited, as Vega-Lite has it.
    encoding = {**parent.encoding, **spec.get("encoding", {})}
    view = View(
        spec=spec,
        rows=data.get("values", datasets.get(data.get("name"), parent.rows)),
        encoding=encoding,
        is_derived=parent.is_derived or bool(spec.get("transform")) or computes(encoding),
        facets=parent.facets + facet_fields(spec),
        is_first=parent.is_first,
        is_layer=parent.is_layer,
    )
    if "mark" in spec:
        yield view
    is_layered = "layer" in spec
    for number, child in enumerate(children(spec)):
        # Parts of a concatenation are views of their own; only layers share one.
        is_first = view.is_first and (number == 0 or not is_layered)
        around = replace(view, is_first=is_first, is_layer=view.is_layer or is_layered)
        yield from views_within(child, around, datasets)


def children(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a composed specification."""
    parts = []
    for key in COMPOSITIONS:
        parts += spec.get(key, ())
    if isinstance(spec.get("spec"), dict):
        parts.append(spec["spec"])
    return parts


def facet_fields(spec: dict[str, Any]) -> tuple[str, ...]:
    """Return the fields by which a specification is divided into panels."""
    facet = spec.get("facet", {})
    parts = [facet] if "field" in facet else facet.values()
    return tuple(str(part["field"]) for part in parts)


def computes(encoding: dict[str, Any]) -> bool:
    """Return whether values are aggregated or binned before they are drawn."""
    for channel in encoding.values():
        if isinstance(channel, dict) and any(channel.get(name) for name in DERIVATIONS):
            return True
    return False

"""Walks a Vega-Lite specification: its unit views, with the data and encodings they inherit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

_CHILDREN = ("layer", "hconcat", "vconcat", "concat")
_GROUPING = (
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
        found = (self.encoding.get(channel) for channel in channels)
        return [str(item["field"]) for item in found if isinstance(item, dict) and "field" in item]

    def groups(self) -> list[str]:
        """Return the fields that tell one line from another."""
        return [*self.fields(*_GROUPING), *self.facets]


def unit_views(spec: dict[str, Any]) -> Iterator[View]:
    """Yield all unit views of a specification.

    Examples
    --------
    >>> layered = {"encoding": {"x": {"field": "t"}}, "layer": [{"mark": "line"}, {"mark": "point"}]}
    >>> [(view.mark, view.fields("x")) for view in unit_views(layered)]
    [('line', ['t']), ('point', ['t'])]
    """
    yield from _walk(spec, View({}, [], {}, False), spec.get("datasets", {}))


def _walk(
    spec: dict[str, Any], around: View, datasets: Mapping[str, list[dict[str, Any]]]
) -> Iterator[View]:
    data = spec.get("data", {})
    # Data, encodings and facets are inherited, as Vega-Lite has it.
    rows = data.get("values", datasets.get(data.get("name"), around.rows))
    encoding = {**around.encoding, **spec.get("encoding", {})}
    derived = around.is_derived or bool(spec.get("transform")) or _computes(encoding)
    inside = View(
        spec,
        rows,
        encoding,
        derived,
        around.facets + _facet_fields(spec),
        around.is_first,
        around.is_layer,
    )
    if "mark" in spec:
        yield inside
    for number, child in enumerate(_children(spec)):
        # Parts of a concatenation are views of their own; only layers share one.
        is_first = inside.is_first and (number == 0 or "layer" not in spec)
        is_layer = inside.is_layer or "layer" in spec
        yield from _walk(child, replace(inside, is_first=is_first, is_layer=is_layer), datasets)


def _children(spec: dict[str, Any]) -> list[dict[str, Any]]:
    children = [child for key in _CHILDREN for child in spec.get(key, ())]
    return [*children, spec["spec"]] if isinstance(spec.get("spec"), dict) else children


def _facet_fields(spec: dict[str, Any]) -> tuple[str, ...]:
    facet = spec.get("facet", {})
    parts = [facet] if "field" in facet else facet.values()
    return tuple(str(part["field"]) for part in parts)


def _computes(encoding: dict[str, Any]) -> bool:
    channels = (channel for channel in encoding.values() if isinstance(channel, dict))
    return any(
        channel.get("aggregate") or channel.get("bin") or channel.get("timeUnit")
        for channel in channels
    )

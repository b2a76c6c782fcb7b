"""Estimators: the fit tests that decide whether tasks may share a machine."""

from __future__ import annotations

import inspect

from borgtrace.placement.estimators.registry import estimators
from generate.text import docstring, plain, table

INTRO = """# Estimators

An estimator decides from the observed usage of tasks alone whether one more task fits on a machine. Write it as
`name:parameter`, such as `gpa:0.001`.

`python benchmarks/estimator_limits.py` measured where each of them is wrong. Instances of 1,000 synthetic tasks are
packed by Best Fit without rebalancing, and judged by 10,000 draws that no estimator has seen. The *heavier tail* is
the same pool with bursts of 12 times the usage in 1 % of the windows. A task that does not fit even on an empty
machine counts as one more machine. *Pareto tails* (`--pareto`) are 200 tasks with means of .01 to .05, whose usage
has such a tail, up to a whole machine. All but `gpa-covariance` take tasks as independent.
"""


def page() -> str:
    """Return the page."""
    found = estimators()
    rows = [
        [f"[`{name}`](#{name})", kind.symbol, "yes" if kind.targets else "no", plain(kind.about)]
        for name, kind in found.items()
    ]
    blocks = [
        INTRO,
        table(["name", "parameter", "is it an overflow target?", "what it does"], rows),
    ]
    for name, kind in found.items():
        blocks.append(f"## {name} {{ #{name} }}\n\n{_range(kind)}\n\n{_text(kind)}")
    return "\n\n".join(blocks) + "\n"


def _range(kind) -> str:
    high = "∞" if kind.high == float("inf") else f"{kind.high:g}"
    closing = "]" if kind.includes_high else ")"
    paper = ", ".join(f"{value:g}" for value in kind.paper)
    return f"Parameter {kind.symbol} in ({kind.low:g}, {high}{closing}." + (
        f" Published runs use {paper}." if paper else ""
    )


def _text(kind) -> str:
    module = inspect.getdoc(sys_module(kind)) or ""
    return docstring(kind) if kind.__doc__ else plain(module)


def sys_module(kind):
    """Return the module a class is defined in."""
    return inspect.getmodule(kind)

"""The Python interface: what each public package offers, from its ``__all__``."""

from __future__ import annotations

import importlib
import inspect

from generate.text import docstring, first_sentence

PACKAGES = (
    "borgtrace",
    "borgtrace.interactive.question_list",
    "borgtrace.interactive.answer",
    "borgtrace.interactive.trace",
    "borgtrace.interactive.machine",
    "borgtrace.advice",
    "borgtrace.assistants",
    "borgtrace.reproduction",
    "borgtrace.errors",
    "borgtrace.store",
    "borgtrace.ingest",
    "borgtrace.fetch",
    "borgtrace.synth",
    "borgtrace.lifecycle",
    "borgtrace.notation",
    "borgtrace.question",
    "borgtrace.question.charts",
    "borgtrace.catalog",
    "borgtrace.testing",
    "borgtrace.datasets",
    "borgtrace.export",
    "borgtrace.colocation",
    "borgtrace.overcommit",
    "borgtrace.experiments",
    "borgtrace.forecast",
    "borgtrace.forecast.adapters",
    "borgtrace.forecast.board",
    "borgtrace.scheduling",
    "borgtrace.scheduling.gpus",
    "borgtrace.rl",
    "borgtrace.placement",
    "borgtrace.engine",
    "borgtrace.report",
    "borgtrace.first_screen",
    "borgtrace.schema",
)

INTRO = """# Python

You can call everything that the commands do from Python. The names on this page are public; other modules, and names
with a leading underscore, are not.
"""


def public(package: str) -> dict[str, object]:
    """Return the public functions, classes and modules of a package by name."""
    module = importlib.import_module(package)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            n
            for n, v in vars(module).items()
            if not n.startswith("_") and getattr(v, "__module__", "") == package
        ]
    return {name: getattr(module, name) for name in names if name != "__version__"}


def page() -> str:
    """Return the page."""
    blocks = [INTRO.strip()]
    for package in PACKAGES:
        names = public(package)
        listed = ", ".join(_link(package, name, thing) for name, thing in sorted(names.items()))
        blocks.append(
            f"## {package} {{ #{package} }}\n\n{first_sentence(importlib.import_module(package))}\n\n{listed}."
        )
        blocks += [
            _entry(package, name, thing) for name, thing in names.items() if _has_entry(thing)
        ]
    return "\n\n".join(blocks) + "\n"


def _has_entry(thing: object) -> bool:
    return callable(thing) and not inspect.ismodule(thing)


def _link(package: str, name: str, thing: object) -> str:
    """Name something public, as a link to where it is described; what is plain data has no description of its own."""
    if inspect.ismodule(thing):
        return f"[`{name}`](#{thing.__name__})"
    return f"[`{name}`](#{package}.{name})" if _has_entry(thing) else f"`{name}`"


def _entry(package: str, name: str, thing: object) -> str:
    text = f"### {name} {{ #{package}.{name} }}\n\n"
    if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        text += f"```text\n{_signature(name, thing)}\n```\n\n"
    text += docstring(thing)
    if inspect.isclass(thing):
        methods = [
            f"- `{_signature(n, m)}` – {first_sentence(m)}"
            for n, m in vars(thing).items()
            if not n.startswith("_") and inspect.isfunction(m)
        ]
        text += "\n\n" + "\n".join(methods) if methods else ""
    return text


def _signature(name: str, thing: object) -> str:
    try:
        signature = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return name
    signature = signature.replace("borgtrace.", "").replace("'", "")
    return f"{name}{signature}".replace("(self, ", "(").replace("(self)", "()")

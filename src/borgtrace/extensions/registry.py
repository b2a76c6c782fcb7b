"""What users can name of one kind: ours, those of installed packages, and those of files that they name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Generic, TypeVar

from borgtrace.errors import UsageError
from borgtrace.extensions.origins import source_of_module
from borgtrace.extensions.sources import import_source

Extension = TypeVar("Extension")

OURS = "borgtrace"
YOUR_OWN = "one of your own: name its file with --from"
"""The way out where a name is unknown and a command takes code of the user's own."""


class Registry(Mapping[str, Extension], Generic[Extension]):
    """Everything of one kind by name: ours first, then those of packages by name, then those of files.

    A package names what it offers in an entry point of the group; it is imported when its name is asked for.

    Parameters
    ----------
    noun
        What one is called, such as ``policy``.
    group
        Of entry points, such as ``borgtrace.policies``.
    own
        Ours by name.
    is_extension
        Whether an object of a foreign module is one; base classes without an implementation are left out.
    wanted
        What it has to be, for messages.

    Examples
    --------
    >>> colours = Registry("colour", "example.colours", {"red": str}, lambda value: value is str, "str")
    >>> list(colours), colours.origin("red")
    (['red'], 'borgtrace')
    """

    def __init__(
        self,
        noun: str,
        group: str,
        own: Mapping[str, Extension],
        is_extension: Callable[[Any], bool],
        wanted: str,
    ) -> None:
        self.noun = noun
        self.group = group
        self.wanted = wanted
        self._own = own
        self._is_extension = is_extension
        self._of_files: dict[str, Extension] = {}
        self._origins: dict[str, str] = {}
        self._loaded: dict[str, Extension] = {}
        self._sources: dict[str, dict[str, str]] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        """Entry points of installed packages by name, sorted; the first of a name, and none of ours."""
        found: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: entry.name):
            if entry.name in self._own or entry.name in found:
                origin = self._origins.get(entry.name, OURS)
                warnings.warn(
                    f"{_package_of(entry)} offers the {self.noun} {entry.name}, which {origin} has: it is left out",
                    stacklevel=2,
                )
                continue
            found[entry.name] = entry
            self._origins[entry.name] = _package_of(entry)
        return found

    def __getitem__(self, name: str) -> Extension:
        """Return what has a name.

        Raises
        ------
        KeyError
            Nothing has it.
        UsageError
            The package that offers it cannot be imported.
        """
        if name in self._own:
            return self._own[name]
        if name in self._of_files:
            return self._of_files[name]
        return self._load(self._installed[name])

    def __contains__(self, name: object) -> bool:
        """Whether something has a name; nothing is imported."""
        return name in self._own or name in self._of_files or name in self._installed

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._installed
        yield from (name for name in self._of_files if name not in self._installed)

    def __len__(self) -> int:
        return len(set(self._installed) | set(self._of_files)) + len(self._own)

    @property
    def own(self) -> Mapping[str, Extension]:
        """Ours alone: what is taken where nothing is named, so that no package changes an answer."""
        return self._own

    @property
    def named(self) -> tuple[str, ...]:
        """Names of ours, and of those in files that the user named: what is tried where an answer tries all."""
        return (*self._own, *self._of_files)

    def origin(self, name: str) -> str:
        """Return where one comes from: ``borgtrace``, a package with its version, or what the user named."""
        return OURS if name in self._own else self._origins[name]

    def source(self, extension: Extension) -> dict[str, str]:
        """Return ``source`` and ``sha256`` of the code that an object of others came from; nothing for one of ours.

        Parameters
        ----------
        extension
            As the registry returned it; nothing is known of another one of its name.
        """
        name = name_of(extension)
        if name in self._own or self._loaded.get(name) is not extension:
            return {}
        return self._sources[name]

    def module_of(self, name: str) -> str:
        """Return the module in which an installed package has what it offers under a name.

        Raises
        ------
        KeyError
            No package offers it.
        """
        return self._installed[name].module

    def add_from(self, source: str, option: str = "--from") -> list[str]:
        """Import a file or module, add what it has of this kind, and return the names of these.

        Parameters
        ----------
        source
            What the user wrote after ``--from``.
        option
            The option, where it is another one.

        Raises
        ------
        UsageError
            It cannot be imported, or has one whose name is taken.
        """
        module = import_source(source, option)
        names = []
        for extension in self._extensions_of(module):
            self._add(extension, source)
            self._remember(name_of(extension), extension, module)
            names.append(name_of(extension))
        return names

    def _extensions_of(self, module: ModuleType) -> list[Extension]:
        extensions: dict[int, Extension] = {}
        for value in vars(module).values():
            if not self._is_extension(value) or inspect.isabstract(value):
                continue
            # A module may import ours, and have two names for one thing.
            if not self._is_ours(value):
                extensions[id(value)] = value
        return list(extensions.values())

    def _is_ours(self, value: Any) -> bool:
        name = name_of(value)
        return name in self._own and self._own[name] is value

    def _add(self, extension: Extension, source: str) -> None:
        name = name_of(extension)
        if not isinstance(name, str) or not name:
            raise UsageError(
                source,
                f"{with_article(self.noun)} without a name",
                expected=f'name = "…" in {_shown(extension)}',
            )
        if self._of_files.get(name) is extension:
            return
        # The module of a package that offers it may be named, too: then a file of others may use it.
        entry = self._installed.get(name)
        if entry is not None and entry.module == source and self[name] is extension:
            self._of_files[name] = extension
            return
        if name in self:
            raise UsageError(
                source,
                f"{self.origin(name)} has {with_article(self.noun)} of this name",
                got=name,
                way_out="give it another name",
            )
        self._of_files[name] = extension
        self._origins[name] = source

    def _remember(self, name: str, extension: Extension, module: ModuleType) -> None:
        """Remember which code one came from."""
        self._loaded[name] = extension
        self._sources[name] = source_of_module(module)

    def _load(self, entry: EntryPoint) -> Extension:
        package = _package_of(entry)
        module = import_source(entry.module)
        value: Any = module
        for attribute in entry.attr.split(".") if entry.attr else ():
            value = getattr(value, attribute, None)
        if not self._is_extension(value):
            raise UsageError(
                package,
                f"its entry point {entry.name} is no {self.noun}",
                expected=self.wanted,
                got=entry.value,
                way_out=f"mend or uninstall {package.rpartition(' ')[0]}",
            )
        if name_of(value) != entry.name:
            raise UsageError(
                package,
                f"a {self.noun} has another name than its entry point",
                expected=entry.name,
                got=str(name_of(value)),
            )
        extension: Extension = value
        self._remember(entry.name, extension, module)
        return extension


def name_of(extension: Any) -> Any:
    """Return what users call an extension; None where it has no name."""
    return getattr(extension, "name", None)


def kind_of(value: object) -> str:
    """Return what a value is, for a message: a class that stands in the place of its object, or an object.

    Examples
    --------
    >>> kind_of(3), kind_of(int)
    ('an object of the class int', 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"an object of the class {type(value).__name__}"


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article.

    Examples
    --------
    >>> with_article("question"), with_article("estimator")
    ('a question', 'an estimator')
    """
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _shown(extension: Any) -> str:
    return getattr(extension, "__name__", None) or repr(extension)


def _package_of(entry: EntryPoint) -> str:
    """Return the package of an entry point, with its version."""
    if entry.dist is None:
        return entry.module
    return f"package {entry.dist.name} {entry.dist.version}"

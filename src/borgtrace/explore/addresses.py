"""Parse the explorer's addresses: names, ids, criteria and formats, each read or refused."""

from collections.abc import Sequence

from starlette.requests import Request

from borgtrace.errors import UsageError
from borgtrace.explore.grid import RESOURCES

MEDIA_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
CRITERIA = ("user", "priority", "name", "relation", "value")
"""Parameters of an address that choose jobs."""
FORM_OF_TABLE = ("do", "column", "operator", "value")
"""Parameters of the form that adds a condition to a table."""
LARGEST_ID = 2**63 - 1


def form_of(request: Request) -> str:
    """Return the format of an address of data.

    Raises
    ------
    UsageError
        There is no such format.
    """
    form: str = request.path_params["form"]
    check_name("format", form, tuple(MEDIA_TYPES))
    return form


def resource_of(request: Request) -> str:
    """Return the resource of an address, CPU by default.

    Raises
    ------
    UsageError
        There is no such resource.
    """
    resource = request.query_params.get("resource", "cpu")
    check_name("resource", resource, RESOURCES)
    return resource


def with_form(query: Sequence[tuple[str, str]]) -> list[tuple[str, str]] | None:
    """Return the parameters of an address with what a form of a table adds to them; None where there is no form.

    Parameters
    ----------
    query
        Parameters of the address.
    """
    form = dict(query)
    if "do" not in form:
        return None
    kept = [(name, value) for name, value in query if name not in FORM_OF_TABLE]
    column = form.get("column", "")
    if form["do"] == "count":
        return [*kept, ("count", column)]
    operator = form.get("operator", "is")
    return [*kept, ("filter", f"{column}:{operator}:{form.get('value', '')}")]


def parameters_of(request: Request) -> list[tuple[str, str]]:
    """Return all parameters of an address in their order."""
    return request.query_params.multi_items()


def criteria_of(request: Request) -> dict[str, str]:
    """Return the parameters of an address that choose jobs."""
    query = request.query_params
    return {name: query[name] for name in CRITERIA if name in query}


def id_of(request: Request, name: str) -> int:
    """Return an id of an address.

    Raises
    ------
    UsageError
        It is no number, or too large.
    """
    return number_of(request.path_params[name], name)


def number_of(text: str, name: str) -> int:
    """Read a number of an address.

    Raises
    ------
    UsageError
        It is no number, or too large.
    """
    is_number = text.isascii() and text.isdecimal() and int(text) <= LARGEST_ID
    if not is_number:
        raise UsageError(name, "not a number", expected="an id", got=repr(text[:40]))
    return int(text)


def check_name(kind: str, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a name that there is not.

    Raises
    ------
    UsageError
        It is not one of those that are allowed.
    """
    if name not in allowed:
        raise UsageError(kind, "unknown", expected=" or ".join(allowed), got=repr(name[:40]))

"""References of what a picture shows, as BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import normalize

from borgtrace.schema.dialects import Citation

YEAR = re.compile(r"\b(?:19|20)\d\d\b")
INITIALS = re.compile(r"^(?:[^\W\d_]\.[ -]?)+")
SPECIAL = re.compile(r"([&%$#_{}])")


def bibtex(works: Iterable[Citation]) -> str:
    """Return an entry for each work.

    Examples
    --------
    >>> work = Citation("M. Tirmazi, A. Barker: Borg: the Next Generation. EuroSys 2020.", "https://doi.org/10/x")
    >>> print(bibtex([work]))
    @misc{tirmazi2020,
      author = {M. Tirmazi and A. Barker},
      title = {{Borg: the Next Generation}},
      howpublished = {EuroSys 2020},
      year = {2020},
      url = {https://doi.org/10/x},
    }
    <BLANKLINE>
    """
    entries = []
    keys: dict[str, int] = {}
    for work in works:
        fields = fields_of(work)
        key = key_of(fields)
        keys[key] = keys.get(key, 0) + 1
        # A second work of the same author and year is told apart by a letter.
        suffix = "" if keys[key] == 1 else chr(ord("a") + keys[key] - 1)
        lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items()]
        entries.append(f"@misc{{{key}{suffix},\n{''.join(lines)}}}\n")
    return "\n".join(entries)


def fields_of(work: Citation) -> dict[str, str]:
    """Return the fields of an entry: author, title and where it appeared, else the whole text as a note."""
    authors, colon, rest = work.text.partition(": ")
    title, point, venue = rest.partition(". ")
    fields: dict[str, str] = {}
    if colon and point:
        fields["author"] = " and ".join(author(name) for name in authors.split(", "))
        fields["title"] = f"{{{escaped(title)}}}"
        fields["howpublished"] = escaped(venue.rstrip("."))
    else:
        fields["note"] = escaped(work.text)
    # The first: a report may have been revised since.
    year = YEAR.search(venue if colon and point else work.text)
    if year:
        fields["year"] = year[0]
    if work.address:
        fields["url"] = work.address
    return fields


def author(name: str) -> str:
    """Write the name of an author; one without initials is that of a group, and is kept together.

    Examples
    --------
    >>> author("M. Tirmazi"), author("Alibaba Group")
    ('M. Tirmazi', '{Alibaba Group}')
    """
    return escaped(name) if INITIALS.match(name) else f"{{{escaped(name)}}}"


def key_of(fields: dict[str, str]) -> str:
    """Return what an entry is cited by: the first author's name and the year."""
    first = fields.get("author", fields.get("note", "")).partition(" and ")[0]
    name = INITIALS.sub("", first).split()
    # Without accents: not every BibTeX reads them in a key.
    plain = normalize("NFKD", name[0] if name else "").lower()
    letters = re.sub(r"[^a-z]", "", plain)
    return f"{letters or 'work'}{fields.get('year', '')}"


def escaped(text: str) -> str:
    r"""Write a text for LaTeX.

    Examples
    --------
    >>> print(escaped("R&D of 50 %"))
    R\&D of 50 \%
    """
    return SPECIAL.sub(r"\\\1", text)

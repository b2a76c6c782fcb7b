"""JSON lines: typed chunks from DuckDB's reader, or of own data, from our own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from borgtrace.engine.identifiers import literal, quoted
from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import LONGEST_LINE, LineLengths, plain_file
from borgtrace.ingest.read.flat_records import read_record_lines
from borgtrace.ingest.read.json_token_counts import Tokens, tokens_in, tokens_of
from borgtrace.ingest.read.records import read_flat, record_types
from borgtrace.ingest.read.strange_text import is_strange
from borgtrace.storage import open_regular, plain_path

_BLOCK = 1 << 19
_QUOTED = re.compile(rb'"(?:start_)?time"\s*:\s*"')


def read_json_lines(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of flat records.

    Parameters
    ----------
    source
        The file.
    layout
        What a record holds.

    Raises
    ------
    NeedsValidation
        Where a record cannot be read, or the file's tokens are not those of its values (known at the end only).
    SourceError
        Where the file cannot be read to its end.
    """
    if layout.is_converted:
        # What a field of own data looks like nobody says: no count of tokens tells whether it was read as it stands.
        yield from read_record_lines(source, layout)
        return
    if not layout.is_plain:
        raise NeedsValidation
    columns_sql = ", ".join(
        f"{quoted(name)}: {literal(type_sql)}" for name, type_sql in record_types(layout).items()
    )
    # DuckDB's own gzip reader is slower than ISA-L's, and does not verify checksums.
    with plain_file(source) as path:
        tokens = _count_tokens(path, source.path)
        relation_sql = f"""
            read_json(
                {literal(str(plain_path(path)))},
                format = 'newline_delimited',
                compression = 'uncompressed',
                hive_partitioning = false,
                maximum_object_size = {LONGEST_LINE},
                columns = {{{columns_sql}}}
            )
        """
        for flat in read_flat(path, relation_sql, layout):
            tokens -= tokens_of(flat)
            yield flat
    # Only at the end is it known whether DuckDB skipped or rounded anything on the way.
    if tokens.any():
        raise NeedsValidation


def _count_tokens(path: Path, named: Path) -> Tokens:
    """Count the tokens of a copy of the file `named`, or raise `NeedsValidation` where they cannot be relied on."""
    last = b"\n"
    lengths = LineLengths(named)
    with open_regular(path) as stream:
        # Tokens tell only where integers are in quotes, as BigQuery writes them.
        if not _QUOTED.search(stream.read(1 << 14)):
            raise NeedsValidation
        stream.seek(0)
        tokens = tokens_in(b"")
        # Whole lines, so that no word is cut in two.
        while block := stream.read(_BLOCK) + stream.readline(LONGEST_LINE + 1):
            lengths.look(block)
            # DuckDB reads escapes in a string, and 0x10, in a way of its own.
            if b"\\" in block or is_strange(block):
                raise NeedsValidation
            tokens += tokens_in(block)
            last = block[-1:]
    # A last line without its newline is a line.
    tokens[0] += last != b"\n"
    return tokens

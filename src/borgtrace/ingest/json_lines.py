"""JSON lines: typed chunks from DuckDB's reader, fed through a pipe, and its lines."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from borgtrace.ingest.json_token_counts import TokenCounts, tokens_of
from borgtrace.ingest.raw_layout import NeedsValidation, RawLayout
from borgtrace.ingest.record_pipe import RecordPipe
from borgtrace.ingest.records import read_flat, record_types
from borgtrace.ingest.sources import Source
from borgtrace.ingest.streams import open_stream
from borgtrace.ingest.validating_reader import line_blocks

_LONGEST_RECORD = 1 << 24


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
    columns = ", ".join(f"\"{name}\": '{kind}'" for name, kind in record_types(layout).items())
    with RecordPipe(source) as pipe:
        # Tokens can only be counted on where integers are in quotes, as BigQuery writes them.
        if not pipe.has_quoted_integers:
            raise NeedsValidation
        reader = (
            f"read_json('{pipe.path}', format='newline_delimited', compression='uncompressed', "
            f"maximum_object_size={_LONGEST_RECORD}, columns={{{columns}}})"
        )
        tokens = TokenCounts()
        try:
            for flat in read_flat(reader, layout):
                tokens += tokens_of(flat)
                yield flat
        except NeedsValidation:
            # A truncated file breaks the parser too: the reader's own error says why.
            pipe.raise_fault()
            raise
        # Only at the end is it known whether DuckDB skipped or rounded anything on the way.
        pipe.finish()
        if tokens != pipe.tokens:
            raise NeedsValidation


def json_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the lines of a file, numbered."""
    with open_stream(source.path, is_gzip=source.is_gzip) as stream:
        yield from line_blocks(stream)

"""The questions: one module each, with its result, its chart and what papers claim about it.

Modules whose name starts with an underscore hold expressions that several questions share.
"""

from pathlib import Path

from borgtrace.schema.data_files import read_rows

TOPICS = {
    int(row["order"]): row["heading"] for row in read_rows(Path(__file__).with_name("topics.csv"))
}
"""Headings on pages; a question stands under the last whose number its `order` reaches."""

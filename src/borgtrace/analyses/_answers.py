"""What is declared of the answers: their tables, what papers and documents claim about them, and charts."""

from pathlib import Path

from borgtrace.analyses._trend import interval_above, interval_includes
from borgtrace.question.listed_claims import ListedClaims
from borgtrace.schema.tables import read_declarations

RESULTS = read_declarations(Path(__file__).with_name("results.columns"))
"""The declared answers."""
CLAIMS = ListedClaims(
    Path(__file__).with_name("claims.toml"), criteria=(interval_above, interval_includes)
)
"""What is claimed about them."""
CHARTS = Path(__file__).with_name("charts.toml")
"""How they are drawn, where that takes no function."""

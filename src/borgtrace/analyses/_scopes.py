"""On which stores the claims of this package can be judged."""

from borgtrace.recipe import Scope
from borgtrace.schema.time import DAY

IN_2011 = Scope(traces=("2011",))
LIKE_2011 = Scope(traces=("2011",), is_general=True)
"""Published of 2011, but a shape or a ratio that other traces may share."""
MONTH_2011 = Scope(traces=("2011",), span=28 * DAY)
"""For numbers that grow with the trace: a synthetic day cannot have them."""
TOTALS_2011 = Scope(traces=("2011",), span=28 * DAY, tasks=10_000_000)
"""For numbers of tasks: those of the whole trace, not of a smaller synthetic cell."""
IN_2019 = Scope(traces=("2019",))
LIKE_2019 = Scope(traces=("2019",), is_general=True)
MONTH_2019 = Scope(traces=("2019",), span=28 * DAY)
IN_BOTH = Scope(traces=("2011", "2019"))
EXACT = Scope(span=0, tasks=0, is_whole=False, is_row_wise=True)
"""For what arithmetic promises of any rows."""
LIKE_2014 = Scope(traces=("2014",), is_general=True)
"""Published of Borg cells of 2014, of which there is no public trace."""

"""Google's power traces of May 2019 (PowerData 2019): 57 power domains, those of the eight cells and two more.

CSV with headers, a file for each domain and one that maps machines to domains; the clock is that of the traces of 2019,
and a store may hold both.  Sources: ``PowerData2019.md``, ``power_trace_analysis_colab.ipynb``, and readers of the
published files, whose rows are in no order.
"""

from dataclasses import replace

from borgtrace.schema.dialects.google2019 import GOOGLE_2019
from borgtrace.schema.dialects.raw import read_tables

POWERDATA_2019 = replace(
    GOOGLE_2019,
    name="powerdata-2019",
    title="Google power trace 2019",
    formats=("csv",),
    tables=read_tables("powerdata2019"),
    publication=None,
)

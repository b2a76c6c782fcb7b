"""Google's power traces of May 2019 (PowerData 2019): 57 power domains, those of the eight cells and two more.

CSV with headers: a file for each domain, such as cella_pdu6.csv.gz, and machine_to_pdu_mapping.csv.gz, which maps
machines to domains. The clock is that of the traces of 2019, and a store may hold both.

Sources: PowerData2019.md, power_trace_analysis_colab.ipynb, and readers of the published files, whose rows are in no
order.
"""

from dataclasses import replace

from borgtrace.schema.dialects.google2019 import DIALECT as GOOGLE_2019
from borgtrace.schema.dialects.raw import RawField, RawTable

POWER = RawTable(
    name="power",
    table="power_measurements",
    fields=(
        RawField("time", "time", is_mandatory=True),
        RawField("cell", "cell", is_mandatory=True),
        RawField("pdu", "pdu", is_mandatory=True),
        RawField("measured_power_util", "measured_power_util"),
        RawField("production_power_util", "production_power_util"),
        RawField("bad_measurement_data", "bad_measurement_data", is_mandatory=True),
        RawField("bad_production_power_data", "bad_production_power_data", is_mandatory=True),
    ),
)

MACHINE_DOMAINS = RawTable(
    name="machine_to_pdu_mapping",
    table="machine_power_domains",
    fields=(
        RawField("machine_id", "machine_id", is_mandatory=True),
        RawField("cell", "cell", is_mandatory=True),
        RawField("pdu", "pdu", is_mandatory=True),
    ),
)

DIALECT = replace(
    GOOGLE_2019,
    name="powerdata-2019",
    title="Google power trace 2019",
    tables={table.name: table for table in (POWER, MACHINE_DOMAINS)},
    formats=("csv",),
    # Published apart, if at all.
    publication=None,
)

"""Scopes that several claims share: of which trace, and how much of it, a claim can be judged on."""

from dataclasses import replace

from borgtrace.question.scope import Scope
from borgtrace.schema.time import DAY

OF_2011 = Scope(traces=("2011",))
LIKE_2011 = replace(OF_2011, is_general=True)
"""Published of 2011, but a shape or a ratio that other traces may share."""
MONTH_2011 = replace(OF_2011, span=28 * DAY)
"""For numbers that grow with the trace: a synthetic day cannot have them."""
CELL_2011 = replace(MONTH_2011, is_of_this_cell=True)
"""For numbers of machines, jobs, tasks or users, and for extremes: those of the cell, which no other cell has."""
TASKS_2011 = replace(OF_2011, tables=("instance_events",))
MACHINES_2011 = replace(OF_2011, tables=("machine_events", "instance_events"))
"""Events tell how long the trace lasts, and so how long a machine that never came back was away."""
LIMITS_2011 = replace(OF_2011, tables=("instance_events", "collection_events"))
JOB_EVENTS_2011 = replace(MONTH_2011, tables=("collection_events",))
"""For events of jobs, whoever counts them in the answer."""

OF_2019 = Scope(traces=("2019",))
LIKE_2019 = replace(OF_2019, is_general=True)
MONTH_2019 = replace(OF_2019, span=28 * DAY)
CELL_2019 = replace(MONTH_2019, is_of_this_cell=True)
LIKE_MONTH_2019 = replace(MONTH_2019, is_general=True)
LIMITS_2019 = replace(OF_2019, tables=("instance_events", "collection_events"))
SWITCHES_2019 = replace(OF_2019, tables=("instance_events", "collection_events", "machine_events"))
"""The switch of a machine stands in the events of machines."""

OF_BOTH = Scope(traces=("2011", "2019"))
LIKE_2014 = Scope(traces=("2014",), is_general=True)
"""Published of Borg cells of 2014, of which there is no public trace."""

ALIBABA_2018 = Scope(traces=("alibaba-2018",), span=7 * DAY, tasks=0)
OPENB = Scope(traces=("openb",), span=0, tasks=0)
PODS = replace(OPENB, tasks=8_000)
"""For numbers of pods: the other lists are samples of the default one."""
AZURE_2019 = Scope(traces=("azure-2019",), span=29 * DAY, tasks=2_000_000)

EXACT = Scope(span=0, tasks=0, is_whole=False, is_row_wise=True)
"""For what arithmetic promises of any rows."""
ALL_TABLES = Scope(
    tables=("instance_events", "collection_events", "instance_usage", "machine_events")
)
"""A target whose table is missing is not measured: without all of them the share is of others."""

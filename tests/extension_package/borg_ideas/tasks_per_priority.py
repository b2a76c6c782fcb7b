"""How many tasks are there of each priority?

Tasks whose priority is known, counted by it.
"""

import altair as alt

from borgtrace import Question
from borgtrace.question import Answer, Column, charts

ANSWER = Answer(
    grain="priority",
    key=[Column("priority", "int32", "rank", "Priority of the tasks.")],
    columns=[Column("n_tasks", "int64", "count", "Tasks that have it.")],
)


def compute(tables):
    known = tables.tasks.filter(tables.tasks.priority.notnull())
    return known.group_by("priority").agg(n_tasks=known.count())


def chart(answer):
    bars = charts.base(answer.to_pylist(), "Tasks by priority").mark_bar()
    return bars.encode(x=alt.X("priority:O"), y=alt.Y("n_tasks:Q", title="tasks"))


QUESTION = Question(
    name="tasks_per_priority",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["tasks"],
)

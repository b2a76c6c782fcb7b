"""How many tasks does a user have?

Tasks whose user is known, counted by user.
"""

import altair as alt

from borgtrace import Question
from borgtrace.question import Answer, Column, charts

ANSWER = Answer(
    grain="user",
    key=[Column("user", "string", "id", "User.")],
    columns=[Column("n_tasks", "int64", "count", "Tasks of the user.")],
)


def compute(tables):
    known = tables.tasks.filter(tables.tasks.user.notnull())
    return known.group_by("user").agg(n_tasks=known.count())


def chart(answer):
    bars = charts.base(answer.to_pylist(), "Tasks by user").mark_bar()
    return bars.encode(x=alt.X("n_tasks:Q", title="tasks"), y=alt.Y("user:N", sort="-x"))


QUESTION = Question(
    name="tasks_per_user",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["tasks"],
)

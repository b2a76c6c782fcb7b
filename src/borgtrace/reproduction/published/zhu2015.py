"""Zhu et al.: ten observations and two measures on the trace of 2011."""

from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper

PAPER = PublishedPaper(
    name="zhu2015",
    mark="Zhu",
    trace="Google cluster trace 2011",
    note=(
        "The list follows the numbers that the paper gives its figures, methods, observations and measures. "
        "The queue and the running tasks are named by their methods, 3-2 and 3-3."
    ),
    items=(
        PublishedItem(
            name="Fig. 1",
            title="Life cycle of a task",
            axes="from one event to the next",
            answers=(ItemAnswer(question="transitions", panel=0, is_wide=True),),
        ),
        PublishedItem(
            name="Method 3",
            title="Tasks, submissions, schedulings and completions of the whole trace",
            axes="a count a row",
            answers=(
                ItemAnswer(
                    question="task_totals",
                    claims=(
                        "S4-total-new",
                        "S4-total-completed",
                        "S4-total-submitted",
                        "S4-total-scheduled",
                        "S4-total-tasks",
                        "S4-total-finished",
                    ),
                    shape="table",
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 2",
            title="Distribution of submissions, schedulings and completions over time",
            axes="x: time; y: share of each total (CDF)",
            answers=(
                ItemAnswer(question="submissions", claims=(), panel=0),
                ItemAnswer(question="submission_distances", shape="nothing"),
            ),
        ),
        PublishedItem(
            name="Fig. 3",
            title="The same, each weighted by its total over that of new tasks",
            axes="x: time; y: share of the total of new tasks",
            answers=(
                ItemAnswer(question="submissions", panel=1),
                ItemAnswer(
                    question="task_totals",
                    claims=("S4-weight-completed", "S4-weight-submitted", "S4-weight-scheduled"),
                    shape="nothing",
                ),
            ),
        ),
        PublishedItem(
            name="Observation 3",
            title="Resubmissions concentrate in two periods",
            axes="x: time; y: submissions",
            answers=(ItemAnswer(question="resubmissions"),),
        ),
        PublishedItem(
            name="Methods 3-2 and 3-3",
            title="Tasks in the queue, and tasks that run (observations 5, 7 and 8)",
            axes="x: time; y: tasks",
            answers=(ItemAnswer(question="queue_length"),),
            note=(
                "The published formulas leave out tasks that are evicted while they wait; "
                "both ways of counting are drawn."
            ),
        ),
        PublishedItem(
            name="Fig. 6",
            title="Scheduling time, as a moving average (observation 9)",
            axes="x: time; y: mean wait before scheduling",
            answers=(
                ItemAnswer(question="moving_averages", panel=0),
                ItemAnswer(
                    question="load_and_times", claims=("S4-obs9-scheduling",), shape="nothing"
                ),
                ItemAnswer(question="delay_by_eligibility", shape="nothing"),
            ),
        ),
        PublishedItem(
            name="Fig. 7",
            title="Execution time, as a moving average (observation 9)",
            axes="x: time; y: mean run",
            answers=(
                ItemAnswer(question="moving_averages", panel=1),
                ItemAnswer(
                    question="load_and_times", claims=("S4-obs9-execution",), shape="nothing"
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 8",
            title="Execution time of finished tasks",
            axes="x: execution time (log); y: share of the finished tasks (CDF)",
            answers=(ItemAnswer(question="run_times", panel=-1),),
        ),
        PublishedItem(
            name="Fig. 9",
            title="What is allocated and used, production and the rest",
            axes="x: time; y: CPU, and memory",
            answers=(
                ItemAnswer(question="utilization"),
                ItemAnswer(
                    question="task_totals",
                    claims=("S4-production-tasks", "S4-production-share"),
                    shape="nothing",
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 10",
            title="Change of the cell's usage from one sample to the next",
            axes="x: relative change; y: share of the time",
            answers=(
                ItemAnswer(question="window_change", claims=("S4-fig10-cpu", "S4-fig10-memory")),
            ),
        ),
        PublishedItem(
            name="Fig. 11",
            title="Share of the CPU that short tasks use",
            axes="x: execution time; y: share of the CPU",
            answers=(ItemAnswer(question="cpu_by_duration"),),
        ),
        PublishedItem(
            name="Over-consumption",
            title="Usage of tasks above their request",
            axes="x: peak over request; y: share of the tasks",
            answers=(ItemAnswer(question="over_request"),),
        ),
        PublishedItem(
            name="Measure 1",
            title="Reserve the previous usage and 20 % more",
            axes="x: margin; y: what is reclaimed, and how often it does not suffice",
            answers=(
                ItemAnswer(question="reservation", is_wide=True),
                ItemAnswer(question="window_change", claims=("S4-measure1-task",), shape="nothing"),
                ItemAnswer(
                    question="sampling_period", claims=("S4-measure1-margin",), shape="nothing"
                ),
            ),
        ),
        PublishedItem(
            name="Measure 2",
            title="Sample more often than every five minutes",
            axes="x: sampling period; y: margin that is needed",
            answers=(
                ItemAnswer(question="sampling_period", claims=("S4-measure2", "S4-measure2-below")),
            ),
        ),
    ),
)

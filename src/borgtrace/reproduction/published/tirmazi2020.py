"""Tirmazi et al., EuroSys 2020: Borg in 2019 beside Borg in 2011."""

from borgtrace.reproduction.axes import hours_above, mean_shares, shares_over_time
from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper

PAPER = PublishedPaper(
    name="tirmazi2020",
    mark="Tirmazi",
    trace="Google cluster traces 2011 and 2019",
    note=(
        "Figures of the paper show 2011 beside the eight cells of 2019; a store is one cell of one year. "
        "Several side by side: borgtrace compare."
    ),
    items=(
        PublishedItem(
            name="Table 1",
            title="The traces in numbers",
            axes="a trace a column",
            answers=(
                ItemAnswer(question="machine_shapes", shape="table"),
                ItemAnswer(question="job_arrivals", claims=("TIR-days",), shape="nothing"),
            ),
            note="Of its rows the machines and shapes, and the length of the trace.",
        ),
        PublishedItem(
            name="Fig. 1",
            title="Shapes of machines",
            axes="x: CPU; y: memory; size: number of machines",
            answers=(ItemAnswer(question="machine_shapes"),),
        ),
        PublishedItem(
            name="Fig. 2",
            title="Share of the cell that each tier uses, hour by hour",
            axes="x: time; y: share of the CPU, and of the memory, stacked by tier",
            answers=(ItemAnswer(question="utilization", claims=(), draw=shares_over_time("used")),),
        ),
        PublishedItem(
            name="Fig. 3",
            title="Mean share of the cell that each tier uses",
            axes="a bar for each cell: share of the CPU, and of the memory, stacked by tier",
            answers=(ItemAnswer(question="utilization", claims=(), draw=mean_shares("used")),),
        ),
        PublishedItem(
            name="Fig. 4",
            title="Share of the cell that each tier is allocated, hour by hour",
            axes="x: time; y: share of the CPU, and of the memory, stacked by tier",
            answers=(ItemAnswer(question="utilization", draw=shares_over_time("allocated")),),
        ),
        PublishedItem(
            name="Fig. 5",
            title="Mean share of the cell that each tier is allocated",
            axes="a bar for each cell: share of the CPU, and of the memory, stacked by tier",
            answers=(ItemAnswer(question="utilization", claims=(), draw=mean_shares("allocated")),),
        ),
        PublishedItem(
            name="Fig. 6",
            title="Utilization of machines",
            axes="x: share of the machine used; y: share of the machines above it (CCDF)",
            answers=(ItemAnswer(question="machine_utilization"),),
        ),
        PublishedItem(
            name="Fig. 7",
            title="Most frequent transitions of tasks",
            axes="from one event to the next",
            answers=(ItemAnswer(question="transitions", is_wide=True),),
        ),
        PublishedItem(
            name="Alloc sets",
            title="What alloc sets hold (section 5)",
            axes="a share a row",
            answers=(ItemAnswer(question="alloc_sets", shape="table"),),
        ),
        PublishedItem(
            name="Evictions",
            title="Which collections see evictions (section 6)",
            axes="by tier: share of the collections",
            answers=(ItemAnswer(question="hazards"),),
        ),
        PublishedItem(
            name="Job dependencies",
            title="How jobs with a parent end, and jobs without",
            axes="a kind of end a column",
            answers=(ItemAnswer(question="parents"),),
        ),
        PublishedItem(
            name="Batch queueing",
            title="What each scheduler handles",
            axes="by scheduler and tier: jobs",
            answers=(ItemAnswer(question="schedulers"),),
        ),
        PublishedItem(
            name="Fig. 8",
            title="Jobs an hour",
            axes="x: jobs an hour; y: share of the hours above it (CCDF)",
            answers=(
                ItemAnswer(
                    question="job_arrivals",
                    claims=(
                        "TIR-jobs-mean-2011",
                        "TIR-jobs-median-2011",
                        "TIR-jobs-mean-2019",
                        "TIR-jobs-median-2019",
                    ),
                    draw=hours_above({"jobs": ("n_jobs",)}, "jobs an hour"),
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 9",
            title="New and all tasks an hour",
            axes="x: tasks an hour; y: share of the hours above it (CCDF)",
            answers=(
                ItemAnswer(
                    question="resubmissions",
                    draw=hours_above(
                        {"new": ("n_new",), "all": ("n_new", "n_again")}, "tasks an hour"
                    ),
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 10",
            title="How long jobs wait until their first task runs",
            axes="x: delay (log); y: share of the jobs, by tier",
            answers=(ItemAnswer(question="job_delay"),),
        ),
        PublishedItem(
            name="Fig. 11",
            title="Tasks of a job, by tier",
            axes="x: tasks (log); y: share of the jobs (CCDF)",
            answers=(ItemAnswer(question="job_sizes"),),
        ),
        PublishedItem(
            name="Table 2",
            title="Resource-hours of jobs",
            axes="a statistic a row: CPU-hours and memory-hours",
            answers=(ItemAnswer(question="job_usage", shape="table"),),
        ),
        PublishedItem(
            name="Fig. 12",
            title="Resource-hours of jobs, the tail",
            axes="x: resource-hours (log); y: share of the jobs above it (log, CCDF)",
            answers=(ItemAnswer(question="job_usage", claims=()),),
        ),
        PublishedItem(
            name="Fig. 13",
            title="Memory-hours over CPU-hours of jobs",
            axes="x: CPU-hours; y: median of the memory-hours",
            answers=(ItemAnswer(question="job_memory"),),
        ),
        PublishedItem(
            name="Fig. 14",
            title="Slack at the peak, with and without Autopilot",
            axes="x: slack; y: share of the jobs, by the way of scaling",
            answers=(ItemAnswer(question="vertical_scaling"),),
        ),
    ),
)

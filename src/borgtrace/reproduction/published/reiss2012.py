"""Reiss et al., SoCC 2012: heterogeneity and dynamicity of the trace of 2011."""

from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper

PAPER = PublishedPaper(
    name="reiss2012",
    mark="Reiss",
    trace="Google cluster trace 2011",
    note=(
        "Only Table 1 is known here by its number; the other results are named by what they show, "
        "heterogeneity first, dynamicity after it."
    ),
    items=(
        PublishedItem(
            name="Table 1",
            title="Machines by shape",
            axes="a row for each platform, CPU and memory: number of machines",
            answers=(ItemAnswer(question="machine_shapes", shape="table"),),
        ),
        PublishedItem(
            name="Users",
            title="Jobs of each user",
            axes="x: users by rank; y: jobs",
            answers=(ItemAnswer(question="jobs_per_owner"),),
        ),
        PublishedItem(
            name="Tasks per job",
            title="Jobs by their number of tasks",
            axes="x: tasks (log); y: share of the jobs",
            answers=(ItemAnswer(question="tasks_per_job"),),
        ),
        PublishedItem(
            name="Job durations",
            title="How long jobs last",
            axes="x: duration (log); y: share of the jobs",
            answers=(ItemAnswer(question="job_durations"),),
        ),
        PublishedItem(
            name="Requests of tasks",
            title="CPU and memory requests of tasks",
            axes="x: request; y: share of the tasks",
            needs="needs a question about the distribution of requests; there is none",
        ),
        PublishedItem(
            name="Machine churn",
            title="How long machines are away",
            axes="x: time away; y: share of the absences",
            answers=(ItemAnswer(question="machine_downtime"),),
        ),
        PublishedItem(
            name="Evictions",
            title="How often tasks are evicted, by priority",
            axes="x: priority; y: evictions over time at risk",
            answers=(ItemAnswer(question="hazards"),),
        ),
        PublishedItem(
            name="Utilization",
            title="What is used and requested, hour by hour",
            axes="x: time; y: share of the cell's CPU, and memory",
            answers=(ItemAnswer(question="utilization"),),
            note="Drawn in largest machines; the line is the capacity of the cell.",
        ),
        PublishedItem(
            name="Short jobs",
            title="Share of the CPU that short tasks use",
            axes="x: duration; y: share of the CPU",
            answers=(ItemAnswer(question="cpu_by_duration"),),
        ),
        PublishedItem(
            name="Change from hour to hour",
            title="Change of the usage of tasks between two hours",
            axes="x: relative change; y: share of the tasks, weighted by duration",
            answers=(ItemAnswer(question="hourly_change"),),
        ),
        PublishedItem(
            name="Constraints",
            title="Machines on which tasks with constraints may run, and how long they wait",
            axes="x: share of the machines that are eligible; y: wait",
            answers=(
                ItemAnswer(question="delay_by_eligibility"),
                ItemAnswer(question="eligible_machines", shape="table"),
            ),
        ),
    ),
)

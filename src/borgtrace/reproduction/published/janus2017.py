"""Janus and Rzadca, SoCC 2017: colocation by the instantaneous usage of tasks."""

from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper

MACHINES_AND_OVERFLOW = "x: machines over the least possible (m); y: share of overflows (q, log)"

PAPER = PublishedPaper(
    name="janus2017",
    mark="Janus",
    trace="Google cluster trace 2011",
    note=(
        "Experiments draw samples. The paper's sizes, 50 instances and 10,000 samples for each number of tasks, "
        "are taken with --paper-scale."
    ),
    items=(
        PublishedItem(
            name="Section 2",
            title="Tasks are assumed to be independent",
            axes="a correlation a row",
            answers=(ItemAnswer(question="task_correlation"),),
        ),
        PublishedItem(
            name="Section 3.1",
            title="Which tasks are left out, and why",
            axes="a step a row: tasks left",
            answers=(
                ItemAnswer(question="colocation_preparation", shape="table"),
                ItemAnswer(question="trace_lengths", shape="nothing"),
                ItemAnswer(question="data_quality", shape="nothing"),
            ),
        ),
        PublishedItem(
            name="Fig. 1",
            title="Mean of k one-second samples against that of the window averages",
            axes="x: samples k; y: relative difference, as boxes",
            answers=(ItemAnswer(question="relative_difference"),),
        ),
        PublishedItem(
            name="Fig. 2",
            title="Standard deviation of tasks, by samples and by averages",
            axes="x: standard deviation; y: share of the tasks (CDF)",
            answers=(ItemAnswer(question="usage_deviation"),),
        ),
        PublishedItem(
            name="Fig. 3",
            title="Standard deviation over the mean of tasks",
            axes="x: mean; y: standard deviation, with the line of regression",
            answers=(ItemAnswer(question="deviation_regression", is_wide=True),),
        ),
        PublishedItem(
            name="Section 3.4",
            title="Do two windows of a task have one distribution?",
            axes="a length of the windows a row: share of the tasks that differ",
            answers=(ItemAnswer(question="usage_stationarity"),),
        ),
        PublishedItem(
            name="Fig. 4",
            title="Sixteen shapes of usage",
            axes="x: usage in hundredths of a machine; y: share of the samples; a panel a cluster",
            answers=(ItemAnswer(question="usage_shapes", is_wide=True),),
        ),
        PublishedItem(
            name="Table 1",
            title="Sums of N tasks: how often normality is rejected, and their mean",
            axes="a column for each N from 10 to 500",
            answers=(ItemAnswer(question="sum_normality", shape="table"),),
        ),
        PublishedItem(
            name="Fig. 5",
            title="Examples of sums of 10, 50 and 500 tasks",
            axes="x: total usage; y: density, with the normal law",
            answers=(ItemAnswer(question="sum_examples"),),
        ),
        PublishedItem(
            name="Fig. 6",
            title="Error of the normal law at high percentiles",
            axes="x: tasks N; y: relative error, as boxes; a panel for each percentile",
            answers=(ItemAnswer(question="percentile_error"),),
        ),
        PublishedItem(
            name="Fig. 7 to 9",
            title="Machines and overflows of each estimator (section 5.2)",
            axes=MACHINES_AND_OVERFLOW,
            answers=(ItemAnswer(question="packing_base"),),
        ),
        PublishedItem(
            name="Fig. 10",
            title="Averages in place of instantaneous usage (section 5.3)",
            axes=MACHINES_AND_OVERFLOW,
            answers=(ItemAnswer(question="packing_averages"),),
        ),
        PublishedItem(
            name="Fig. 11",
            title="Machines of other sizes (section 5.4)",
            axes="x: capacity; y: share of overflows (q, log)",
            answers=(ItemAnswer(question="packing_capacities"),),
        ),
        PublishedItem(
            name="Fig. 12",
            title="Fewer observations of each task (section 5.5)",
            axes="x: share of the observations (log); y: machines, and overflows",
            answers=(ItemAnswer(question="packing_clairvoyance"),),
        ),
        PublishedItem(
            name="Fig. 13",
            title="Without rebalancing",
            axes="x: estimator; y: change of the overflows",
            answers=(ItemAnswer(question="packing_rebalancing"),),
        ),
    ),
)

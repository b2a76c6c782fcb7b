"""Bashir et al., EuroSys 2021: overcommitment by predicted peaks."""

from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper

HISTORY = "history=2h,warmup=1h50m"
N_SIGMA = f"nsigma:n=5,{HISTORY}"
PERCENTILE = f"task-percentile:q=99,{HISTORY}"
POLICIES = ("limit", "borg:phi=0.9", PERCENTILE, N_SIGMA, f"{N_SIGMA}+{PERCENTILE}")
"""Those of the paper, with the parameters of its published simulator."""

PAPER = PublishedPaper(
    name="bashir2021",
    mark="Bashir",
    trace="Google cluster trace 2019, and machines in production",
    note="Its figures are named by what they show: policies against an oracle that knows the next 24 hours "
    "(less where the store is too short).",
    items=(
        PublishedItem(
            name="Policies",
            title="Violations, their severity and the savings of each policy",
            axes="x: share of the instants with a violation; y: savings",
            answers=(
                ItemAnswer(
                    question="overcommit",
                    parameters={"policies": POLICIES, "resources": ("cpu",)},
                    is_wide=True,
                ),
            ),
            note="The paper has a distribution over machines for each; the table has their percentiles.",
        ),
        PublishedItem(
            name="Policies, in numbers",
            title="The same as a table",
            axes="a policy a row",
            answers=(
                ItemAnswer(
                    question="overcommit",
                    parameters={"policies": POLICIES, "resources": ("cpu",)},
                    claims=(),
                    shape="table",
                ),
            ),
        ),
        PublishedItem(
            name="Parameters",
            title="N-sigma and percentiles with other parameters",
            axes="x: violations; y: savings; a point for each parameter",
            answers=(
                ItemAnswer(
                    question="overcommit",
                    parameters={
                        "policies": (
                            *(f"nsigma:n={n},{HISTORY}" for n in (2, 3, 5, 10)),
                            *(f"task-percentile:q={q},{HISTORY}" for q in (80, 90, 95, 99)),
                        ),
                        "resources": ("cpu",),
                    },
                    claims=(),
                    is_wide=True,
                ),
            ),
            note="Which parameters the paper tried is not known here.",
        ),
        PublishedItem(
            name="Production",
            title="Two groups of machines in production, with the policy and without",
            axes="x: usage, and CPU scheduling latency; y: share of the machines",
            needs="needs machines on which the policy runs; a replay changes no placement",
        ),
    ),
)

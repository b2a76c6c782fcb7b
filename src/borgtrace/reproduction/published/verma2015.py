"""Verma et al., EuroSys 2015: Borg, with its experiments in cell compaction."""

import pyarrow as pa

from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper


def compaction(*what_ifs: str, claims: tuple[str, ...] = ()) -> tuple[ItemAnswer, ...]:
    """Return how many machines the cell needs, as it is and with what is tried, drawn and as a table.

    Parameters
    ----------
    what_ifs
        Rows beside that of the cell as it is.
    claims
        Ids of the claims that belong there.
    """
    parameters = {"what_ifs": ("limits", *what_ifs)}
    table = ItemAnswer(question="compaction", parameters=parameters, claims=(), shape="table")
    if not what_ifs:
        # One bar is no figure.
        return (table,)
    figure = ItemAnswer(
        question="compaction", parameters=parameters, claims=claims, lacks=nothing_tried
    )
    return figure, table


def nothing_tried(answer: pa.Table) -> str:
    """Return why none of what was tried could be packed; empty where something was."""
    tried = [row for row in answer.to_pylist() if row["what_if"] != "limits"]
    if any(row["machines"] is not None for row in tried):
        return ""
    return "; ".join(dict.fromkeys(row["note"] for row in tried))


PAPER = PublishedPaper(
    name="verma2015",
    mark="Verma",
    trace="15 cells of Google in 2014, none of them published",
    note=(
        "The cells of the paper are not public: each number is of another cell than the paper's. "
        "Compaction packs the tasks of one moment, the busiest of the store, in 11 orders; "
        "bars show the 90th percentile."
    ),
    items=(
        PublishedItem(
            name="Fig. 2",
            title="Life cycle of jobs and tasks",
            axes="from one event to the next",
            answers=(ItemAnswer(question="transitions", panel=0, is_wide=True),),
        ),
        PublishedItem(
            name="Start-up latency",
            title="How long tasks wait to be scheduled (section 3.2)",
            axes="x: wait (log); y: share of the tasks",
            answers=(ItemAnswer(question="scheduling_delay"),),
        ),
        PublishedItem(
            name="Fig. 3",
            title="Why tasks are stopped: evictions by cause, production and the rest",
            axes="x: cause; y: stops per task and week",
            answers=(ItemAnswer(question="hazards"),),
            note="A trace says that a task was evicted, not why.",
        ),
        PublishedItem(
            name="Fig. 4",
            title="How far cells can be compacted",
            axes="x: machines left; y: share of the cells",
            answers=compaction(),
            note="The paper has a curve over 15 cells; a store is one cell, and one bar.",
        ),
        PublishedItem(
            name="Fig. 5",
            title="Production and the rest in cells of their own",
            axes="x: machines more; y: cells",
            answers=compaction(
                "segregated",
                "reclaimed",
                "reclaimed-segregated",
                claims=("BORG-segregated",),
            ),
        ),
        PublishedItem(
            name="Fig. 6",
            title="Large users in cells of their own",
            axes="x: machines more; y: cells",
            answers=compaction("users-10tib", "users-100tib"),
        ),
        PublishedItem(
            name="Fig. 7",
            title="A cell divided into 2, 5 and 10 smaller ones",
            axes="x: machines more; y: cells",
            answers=compaction("cells-2", "cells-5", "cells-10"),
        ),
        PublishedItem(
            name="Fig. 8",
            title="CPU and memory requests of tasks: no sizes of buckets fit",
            axes="x: request; y: share of the tasks",
            needs="needs a question about the distribution of requests; there is none",
        ),
        PublishedItem(
            name="Fig. 9",
            title="Requests rounded up to powers of two",
            axes="x: machines more; y: cells",
            answers=compaction("powers-of-two"),
        ),
        PublishedItem(
            name="Fig. 10",
            title="Without what is reclaimed from requests",
            axes="x: machines more; y: cells",
            answers=compaction("reclaimed"),
        ),
        PublishedItem(
            name="Fig. 11",
            title="Reclaiming harder: margins over four weeks, and memory that ran out",
            axes="x: week; y: share of the capacity, and events of memory running out",
            answers=(ItemAnswer(question="reservation", claims=(), is_wide=True),),
            note="The paper changed a live cell; here margins are replayed on recorded usage.",
        ),
        PublishedItem(
            name="Fig. 12",
            title="What the largest users' jobs reserve and use",
            axes="x: time; y: CPU, and memory",
            answers=(ItemAnswer(question="utilization", claims=()),),
            note="By tier, in place of single jobs.",
        ),
        PublishedItem(
            name="CPI",
            title="Cycles per instruction and the company on the machine (section 5.2)",
            axes="x: tasks on the machine, and its CPU usage; y: change of CPI",
            answers=(ItemAnswer(question="interference"),),
        ),
        PublishedItem(
            name="Fig. 13",
            title="How long threads wait for a CPU, by load",
            axes="x: load of the machine; y: share of the waits above 1 ms, and above 5 ms",
            needs="needs waits of threads, which only the kernel of a machine knows; no trace has them",
        ),
    ),
)

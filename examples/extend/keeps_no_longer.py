"""A scheduler: a task goes where it keeps a machine busy least longer, as in NILAS, then where least is left."""

from borgtrace import Scheduler


def score(task, machine):
    """Return the class of hours by which the task keeps the machine longer, and what would be left of it."""
    cpu_left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    memory_left = (machine.memory_free - task.memory) / machine.memory_capacity
    step = 0
    # NaN is not longer: of a task of which nothing is known only what is left counts.
    if task.expected_life > machine.remaining_life:
        longer = task.expected_life - machine.remaining_life
        step = 1
        bound = 0.25
        while step < 6 and longer > bound:
            step += 1
            bound *= 4
    return 4 * step + cpu_left + memory_left


SCHEDULER = Scheduler(
    name="keeps-no-longer",
    about="where a task keeps a machine least longer, then least is left",
    score=score,
    knows_lifetimes=True,
)

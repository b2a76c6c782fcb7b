"""A scheduler: the machine with the most memory left."""

from borgtrace import Scheduler


def score(task, machine):
    """Return how little memory would be left."""
    return task.memory - machine.memory_free


SCHEDULER = Scheduler(name="roomiest", about="the machine with the most memory left", score=score)

"""A scheduler: one platform is spared for production, as long as other machines have room."""

from borgtrace import Scheduler, attribute_number

SPARED = attribute_number("fbRaJ3V7ttOPN42C2rzk55d3xI3QEEq1mE0/BxBGlVo=")


def score(task, machine):
    """Return what would be left of a machine, and more than that where its platform is meant for others."""
    cpu_left = (machine.cpu_free - task.cpu) / machine.cpu_capacity
    memory_left = (machine.memory_free - task.memory) / machine.memory_capacity
    left = cpu_left + memory_left
    if machine.attributes[0] == SPARED and task.priority < 9:
        left += 10
    return left


SCHEDULER = Scheduler(
    name="spared-platform",
    about="one platform is spared for production",
    score=score,
    attributes=("platform_id",),
)

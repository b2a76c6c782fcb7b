"""A scheduler for shared GPUs: tasks that take a share of one go to a device that is shared already."""

from borgtrace import Scheduler


def score(task, machine):
    """Return whether the task breaks a whole device, and between equal machines how much would be left."""
    breaks = 0 < task.gpu < 1
    for free in machine.devices:
        if task.gpu <= free < 1:
            breaks = False
    left = (machine.gpu_free - task.gpu) / 8 + machine.cpu_free - task.cpu
    return 2 * breaks + left / 2


def device(task, machine):
    """Choose the shared device with the most room; where none has enough, a whole one."""
    chosen = -1
    most = 0.0
    for place, free in enumerate(machine.devices):
        if task.gpu <= free < 1 and free > most:
            chosen = place
            most = free
        elif free == 1 and most == 0:
            chosen = place
    return chosen


SCHEDULER = Scheduler(
    name="broken-first",
    about="as few whole devices are broken as can be, and shares have room to grow",
    score=score,
    device=device,
)

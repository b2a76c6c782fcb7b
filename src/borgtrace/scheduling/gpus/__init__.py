"""GPU scheduling: pods that share devices or take whole ones, beside CPU and memory, as in FGD (ATC 2023)."""

from borgtrace.scheduling.gpus.folder import GpuFolder, open_folder
from borgtrace.scheduling.gpus.gpu_options import GPU_SCHEDULER_KINDS, GpuOptions
from borgtrace.scheduling.gpus.gpu_question import open_gpu_trace
from borgtrace.scheduling.gpus.gpu_queue import GPU_QUEUE, GpuQueueOptions
from borgtrace.scheduling.gpus.gpu_scheduling import GPU_SCHEDULING, GpuSchedulingOptions
from borgtrace.scheduling.gpus.policies import GPU_POLICIES
from borgtrace.scheduling.gpus.policy import GpuPolicy
from borgtrace.scheduling.gpus.workload import GpuWorkload

__all__ = [
    "GPU_POLICIES",
    "GPU_QUEUE",
    "GPU_SCHEDULER_KINDS",
    "GPU_SCHEDULING",
    "GpuFolder",
    "GpuOptions",
    "GpuPolicy",
    "GpuQueueOptions",
    "GpuSchedulingOptions",
    "GpuWorkload",
    "open_folder",
    "open_gpu_trace",
]

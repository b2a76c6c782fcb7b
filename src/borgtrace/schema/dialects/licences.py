"""Terms under which traces are published, as one sentence for pages made of them."""

GOOGLE = "Google's cluster traces are published under the license CC-BY 4.0."
ALIBABA = "Alibaba's traces are published for research or study; their folders hold no license."
AZURE = "Azure's traces are published under the license CC-BY 4.0."
OPENDC = "OpenDC is published under the license MIT; terms of the workloads beside it are not stated."
WORKLOADS = "Logs of the Parallel Workloads Archive are published under terms of their own, one by one."

"""Estimators: fit tests for tasks that share a machine, one small class in one file each.

To add one, write a subclass of :class:`~borgtrace.placement.Estimator` with a name in a new module here; the
contract suite, the experiments and the command line find it by itself.
"""

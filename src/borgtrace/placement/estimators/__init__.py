"""Estimators: fit tests for tasks that share a machine, one small class in one file each.

To add one, write a subclass of :class:`~borgtrace.placement.Estimator` in a new module here and list it in
:mod:`~borgtrace.placement.estimators.registry`; the contract suite, the experiments and the command line then have it.
"""

"""Estimators: fit tests for tasks that share a machine, one small class in one file each.

To add one, write a subclass of :class:`Estimator` in a new module here and decorate it with ``@register``; the
contract suite, the experiments and the command line find it by itself.
"""

from __future__ import annotations

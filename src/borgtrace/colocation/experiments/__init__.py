"""Experiments: the figures and tables of Janus & Rzadca (SoCC'17) and what lies past them, one question per module.

To add one, write a module here that declares its result, computes it from a study, draws it, and ends with
``EXPERIMENT = Experiment(…)``; the command line, the report and the contract suite find it by itself.
"""

"""Experiments: the figures and tables of Janus & Rzadca (SoCC'17) and what lies past them, a module for each."""

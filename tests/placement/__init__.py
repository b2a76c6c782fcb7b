"""Tests of estimators and packing that need no pool."""

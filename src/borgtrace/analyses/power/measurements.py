"""Measurements of power domains, as Google's notebook of PowerData 2019 reads them."""

import ibis.expr.types as ir

from borgtrace.analyses.shared.windows import fixed, int_sum, level

DOMAIN = ("cell", "pdu")


def is_good(rows: ir.Table) -> ir.BooleanColumn:
    """Whether neither flag is set: "bad" means bad, against the format document and with the notebook."""
    return ~rows.bad_measurement_data & ~rows.bad_production_power_data


def mean(value: ir.NumericColumn, where: ir.BooleanColumn | None = None) -> ir.FloatingColumn:
    """Return the mean of shares, the same in whatever order they come; NULL without one.

    Parameters
    ----------
    value
        Shares of what a domain can supply.
    where
        Rows that count; all of them where None.
    """
    return level(int_sum(fixed(value), where), value.count(where=where).nullif(0))

"""Foreign rows → canonical rows: codes, units and clocks of Google's traces, and whole other formats."""

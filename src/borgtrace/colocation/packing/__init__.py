"""Packing tasks onto machines: instances, ways of packing, how they are judged, and which is advised."""

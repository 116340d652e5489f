"""Explicit-state search under SC, TSO and PSO, with store buffers whose choices are delayed."""

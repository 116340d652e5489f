"""Measured runs of Dekker, beside other tools where they are on PATH. `python -m benchmarks --help` says how."""

"""Engines: each folder has an `engine.py` with `run(task) -> Result`. They never import one another."""

"""Relaxed stateless model checking: every trace that the model allows, exactly once, on the native core."""

"""The oracle: enumerate every candidate execution, keep those the model accepts. Pure Python, simple on purpose."""

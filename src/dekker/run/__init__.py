"""Running many tasks."""

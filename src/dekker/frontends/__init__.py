"""Readers of program texts: each folder turns one kind of source into a `Program`."""

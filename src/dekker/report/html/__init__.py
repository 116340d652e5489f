"""Answers as HTML: one file that needs nothing else, for a browser."""

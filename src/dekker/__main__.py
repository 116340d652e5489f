"""`python -m dekker`."""

from dekker.cli import main

main()

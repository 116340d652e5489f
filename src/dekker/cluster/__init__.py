"""The same units of work on a cluster: who decides what is done next, what workers do, and how they are reached."""

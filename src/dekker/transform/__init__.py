"""Verification by transformation: which pairs of accesses a model may delay so that it can be seen, and programs in
which those delays are spelled out (Alglave, Kroening, Nimal and Tautschnig, ESOP 2013)."""

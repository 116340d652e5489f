"""How results reach a person or another program."""

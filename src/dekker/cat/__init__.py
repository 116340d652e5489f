"""Memory models in the `.cat` language: parser and compiler.

`compile_model` turns the text of a `.cat` file into a `Model`, whose `program` says which executions are allowed.
"""

from dekker.cat.compiler import compile_model
from dekker.cat.model import Model

__all__ = ["Model", "compile_model"]

"""Memory models in the `.cat` language: parser and compiler.

`compiler.compile_model` turns the text of a `.cat` file into a `Model`, whose `program` says which executions are
allowed.
"""

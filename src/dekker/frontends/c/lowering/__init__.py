"""From LLVM IR to the program representation."""

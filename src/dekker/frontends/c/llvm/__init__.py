"""Reader of LLVM IR text: what clang writes with `-S -emit-llvm`, versions 14 to 22, with opaque pointers."""

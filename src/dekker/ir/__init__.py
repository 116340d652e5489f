"""The program representation that all front ends produce and all engines consume."""

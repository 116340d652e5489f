"""The model that a program is checked against if none is named."""

from __future__ import annotations

DEFAULT_MODELS = {
    "PPC": "power",
    "X86": "tso",
    "X86_64": "tso",
    "ARM": "armv7",
    "AArch64": "aarch64",
    "RISCV": "riscv",
    "C": "cpp20",
}
"""By the architectures of litmus tests; the other front ends name theirs."""


def default_model(architecture: str) -> str:
    """For a `Program.architecture`."""
    return DEFAULT_MODELS.get(architecture, "sc")

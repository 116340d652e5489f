"""What functions do that a program calls and does not define."""

from __future__ import annotations

from dekker.frontends.c.runtime.basic import BASIC
from dekker.frontends.c.runtime.cplusplus import CPLUSPLUS
from dekker.frontends.c.runtime.interface import External, ExternalCall, Runtime

RUNTIME = Runtime(BASIC, CPLUSPLUS)

__all__ = ["RUNTIME", "External", "ExternalCall", "Runtime"]

"""Call stacks as a person reads them: without what the runtime library puts around functions."""

from __future__ import annotations

from dekker.replay.demangle import demangled
from dekker.replay.world import Frame, Stack, World
from dekker.witness import Frames, WitnessFrame

_OF_THE_LIBRARY = "%"


def to_frames(stack: Stack) -> Frames:
    shown = [frame for frame in stack if not frame.function.startswith(_OF_THE_LIBRARY)]
    return tuple(map(_to_frame, shown or stack[-1:]))


def _to_frame(frame: Frame) -> WitnessFrame:
    function = demangled(frame.function)
    if frame.span is None:
        return WitnessFrame(function, "", 0, 0)
    return WitnessFrame(function, frame.span.source.name, frame.span.line, frame.span.column)


def function_of_thread(world: World, thread: int) -> str:
    """The name of the function that a thread runs; the runtime library may have put another one around it."""
    start = world.starts.get(thread)
    if start is None:
        return ""
    name = start.function.name
    if name.startswith(_OF_THE_LIBRARY):
        inner = [function.name for function in world.functions_among(start.arguments)]
        name = next((found for found in inner if not found.startswith(_OF_THE_LIBRARY)), "main")
    return demangled(name)

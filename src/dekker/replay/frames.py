"""Call stacks as a person reads them: without what the runtime library puts around functions."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.ir.program import Function
from dekker.replay.demangle import demangled
from dekker.replay.world import Frame, Stack, World
from dekker.source import is_library
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


def shown_function(calls: Sequence[str]) -> str:
    """What the innermost of these functions is called where a person reads it."""
    return demangled(next((name for name in reversed(calls) if not name.startswith(_OF_THE_LIBRARY)), calls[-1]))


def function_of_thread(world: World, thread: int) -> str:
    """The name of the function that a thread runs; a library may have put others around it."""
    start = world.starts.get(thread)
    if start is None:
        return ""
    name = start.function.name
    if name.startswith(_OF_THE_LIBRARY):
        inner = [function.name for function in world.functions_among(start.arguments)]
        name = next((found for found in inner if not found.startswith(_OF_THE_LIBRARY)), "main")
    function = world.program.function_by_name[name]
    return demangled(name if not _is_library(function) else world.first_of_user.get(thread, name))


def _is_library(function: Function) -> bool:
    span = next((span for span in function.spans if span is not None), None)
    return span is not None and is_library(span.source.name)


def note_function(world: World, thread: int, function: Function) -> None:
    """The first function that a thread calls in a file of the user's is what it is there for."""
    if (
        thread not in world.first_of_user
        and not function.name.startswith(_OF_THE_LIBRARY)
        and not _is_library(function)
    ):
        world.first_of_user[thread] = function.name

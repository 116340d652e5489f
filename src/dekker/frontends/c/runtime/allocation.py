"""`malloc` and its like. Memory that was allocated has an address of its own for ever, so that what uses it after its
release is found out."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.lowering.byte_loops import copy_any
from dekker.frontends.c.lowering.expressions import binary, select
from dekker.frontends.c.lowering.function import register_name
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ONE, ZERO, Const, Expr, Reg
from dekker.ir.instructions import Allocate, Assign, Free, Measure, Store

_HALF = 0xFFFF_FFFF
_EINVAL = 22


def allocate(call: ExternalCall, size: Expr, *, align: int = 16, zeroed: bool = False) -> Expr:
    call.emitter.emit(Allocate(call.register, size, align, zeroed=zeroed))
    return Reg(call.register)


def _malloc(call: ExternalCall) -> Expr:
    return allocate(call, call.argument(0))


def _calloc(call: ExternalCall) -> Expr:
    return allocate(call, _product(call, 0), zeroed=True)


def _product(call: ExternalCall, first: int) -> Expr:
    """Of two arguments; one that does not fit into 64 bits becomes more than there is."""
    count, size = call.argument(first), call.argument(first + 1)
    if isinstance(count, Const) and isinstance(size, Const):
        return Const(min(count.value * size.value, mask(64)))
    fits: Expr = ONE
    for part in (count, size):
        fits = binary("and", 64, fits, binary("ule", 64, part, Const(_HALF))) if not isinstance(part, Const) else fits
    return select(fits, binary("mul", 64, count, size), Const(mask(64)))


def _reallocarray(call: ExternalCall) -> Expr:
    return reallocate(call, call.argument(0), _product(call, 1))


def _realloc(call: ExternalCall) -> Expr:
    return reallocate(call, call.argument(0), call.argument(1))


def reallocate(call: ExternalCall, old: Expr, size: Expr) -> Expr:
    """New memory, always: programs must not rely on keeping the old. A size of 0 releases it and yields null."""
    e, result = call.emitter, call.register
    size = e.keep(size)
    end, fresh, length = e.new_label(), e.new_label(), e.temporary()
    target = e.temporary()
    e.emit(Assign(target, ZERO))
    e.branch(binary("eq", 64, old, ZERO), fresh)
    e.emit(Measure(length, old))
    release = e.new_label()
    e.branch(binary("eq", 64, size, ZERO), release)
    e.emit(Allocate(target, size))
    smaller = e.keep(select(binary("ult", 64, Reg(length), size), Reg(length), size))
    copy_any(call.lowering, Reg(target), old, smaller, _element_width(call))
    e.place(release)
    e.emit(Free(old))
    e.jump(end)
    e.place(fresh)
    e.emit(Allocate(target, size))
    e.place(end)
    e.emit(Assign(result, Reg(target)))
    return Reg(result)


def _element_width(call: ExternalCall) -> int:
    """The size of what the program keeps in the memory, as far as the code around tells; 8 if it does not."""
    f = call.lowering
    steps = [step for block in f.blocks for step in block.instructions]
    pointers = {name for name in f.definitions if register_name(name) == call.register}
    places = {step.address.value for step in steps if isinstance(step, syntax.Store) and _is_one(step.value, pointers)}
    loads = (step for step in steps if isinstance(step, syntax.Load) and step.address.value in places)
    pointers |= {step.result for step in loads if step.result is not None}
    for step in steps:
        if isinstance(step, syntax.ElementPointer) and _is_one(step.base, pointers):
            sizes = {f.layout.store_size(leaf.type) for leaf in f.layout.leaves(step.type)}
            if len(sizes) == 1 and sizes <= {1, 2, 4, 8}:
                return sizes.pop()
    return 8


def _is_one(operand: syntax.Operand, names: set[str]) -> bool:
    return isinstance(operand.value, syntax.Local) and operand.value.name in names


def _alignment(call: ExternalCall, index: int) -> int:
    align = call.constant(index)
    return align if align and align & align - 1 == 0 else 4096


def _is_power_of_two(number: Expr) -> Expr:
    lower = binary("sub", 64, number, ONE)
    only_bit = binary("eq", 64, binary("and", 64, number, lower), ZERO)
    return binary("and", 64, only_bit, binary("ne", 64, number, ZERO))


def _aligned_alloc(call: ExternalCall) -> Expr:
    call.emitter.require(_is_power_of_two(call.argument(0)), f"`{call.name}`: the alignment is no power of 2")
    return allocate(call, call.argument(1), align=_alignment(call, 0))


def _posix_memalign(call: ExternalCall) -> Expr:
    """`EINVAL` for an alignment that is no power of 2 or less than that of a pointer."""
    e, align = call.emitter, call.argument(1)
    result, end = e.temporary(), e.new_label()
    e.emit(Assign(result, Const(_EINVAL)))
    e.branch_unless(binary("and", 64, _is_power_of_two(align), binary("uge", 64, align, Const(8))), end)
    e.emit(Store(call.argument(0), allocate(call, call.argument(2), align=_alignment(call, 1)), 8))
    e.emit(Assign(result, ZERO))
    e.place(end)
    return Reg(result)


def _page_aligned(call: ExternalCall) -> Expr:
    return allocate(call, call.argument(0), align=4096)


def _usable_size(call: ExternalCall) -> Expr:
    call.emitter.emit(Measure(call.register, call.argument(0)))
    return Reg(call.register)


def free(call: ExternalCall) -> None:
    """Releasing the null pointer does nothing."""
    address = call.argument(0)
    if isinstance(address, Const):
        return
    done = call.emitter.new_label()
    call.emitter.branch(binary("eq", 64, address, ZERO), done)
    call.emitter.emit(Free(address))
    call.emitter.place(done)


ALLOCATION: Mapping[str, External] = {
    "malloc": External(_malloc),
    "calloc": External(_calloc),
    "aligned_alloc": External(_aligned_alloc),
    "memalign": External(_aligned_alloc),
    "posix_memalign": External(_posix_memalign),
    "realloc": External(_realloc),
    "reallocarray": External(_reallocarray),
    "valloc": External(_page_aligned),
    "malloc_usable_size": External(_usable_size),
    **dict.fromkeys(("free", "cfree"), External(free)),
}

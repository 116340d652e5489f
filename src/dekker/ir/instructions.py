"""The instructions of a thread.

Memory instructions carry their size in bytes and their `Order`. Loads zero-extend unless `signed`. Where an instruction
produces a value its first field names the register that takes it.
"""

from __future__ import annotations

from enum import Enum

from dekker.ir.expressions import Expr
from dekker.records import dataclass


class Order(Enum):
    """Memory orders: those of C11, plus the weaker acquire of ARM's LDAPR. `PLAIN` is not atomic in C; hardware
    accesses without annotation are `PLAIN` too."""

    PLAIN = "plain"
    RELAXED = "relaxed"
    CONSUME = "consume"
    ACQUIRE_PC = "acquire_pc"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"

    @property
    def atomic(self) -> bool:
        return self is not Order.PLAIN


@dataclass(frozen=True, slots=True)
class Assign:
    dst: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Load:
    """`exclusive` makes it a load-linked. A `loose` one belongs to the specification: its address orders the load
    itself, and nothing behind it."""

    dst: str
    address: Expr
    size: int
    order: Order = Order.PLAIN
    signed: bool = False
    exclusive: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Store:
    """A `copy` moves bytes, whatever they hold: they may be indeterminate."""

    address: Expr
    value: Expr
    size: int
    order: Order = Order.PLAIN
    copy: bool = False


@dataclass(frozen=True, slots=True)
class StoreConditional:
    """Succeeds (`status` becomes 0) only if the closest load-linked before it in the thread is still unpaired and read
    the same address, and no other thread wrote there in between; it may always fail (`status` becomes 1, no write)."""

    status: str
    address: Expr
    value: Expr
    size: int
    order: Order = Order.PLAIN


@dataclass(frozen=True, slots=True)
class Rmw:
    """Atomically reads the old value into `dst` (if any) and writes `op(old, operand)`. A `quiet` exchange only reads
    if what it would write is there already."""

    dst: str | None
    op: str
    address: Expr
    operand: Expr
    size: int
    order: Order = Order.PLAIN
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class CompareExchange:
    """Reads the old value into `dst`, if given; if it equals `expected`, writes `desired`. `success`, if given, becomes
    1 or 0, and then there is a `dst`. A `weak` one may fail although the values are equal. A failed one is a load of
    order `failure_order`."""

    dst: str | None
    success: str | None
    address: Expr
    expected: Expr
    desired: Expr
    size: int
    order: Order = Order.PLAIN
    failure_order: Order = Order.PLAIN
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """`kind` is a name in `ir.fences.FENCES`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Jump:
    target: str


@dataclass(frozen=True, slots=True)
class Branch:
    """Goes to `target` if the condition is not 0, else on to the next instruction. What follows depends on the
    condition, unless the branch is `loose`: one that belongs to the specification, and that no code stands for."""

    condition: Expr
    target: str
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    dst: str | None
    function: Expr
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Spawn:
    """Starts a thread that runs `function`; `dst` becomes its identifier."""

    dst: str | None
    function: Expr
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Waits for a thread to end; `dst` becomes what its function returned."""

    dst: str | None
    thread: Expr


@dataclass(frozen=True, slots=True)
class Detach:
    """Nobody joins the thread. 0 stands for the one that runs. A thread is joined or detached at most once."""

    thread: Expr


@dataclass(frozen=True, slots=True)
class Assume:
    """A thread whose assumption fails stops there; its run is blocked, not complete. What follows depends on the
    condition, as behind a branch, unless it is `loose`."""

    condition: Expr
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Await:
    """Goes on if the condition is not 0. Otherwise the thread goes back to `target` and reads again, until it holds.

    Unless an update among them has written, the steps from `target` to here have no effect when the condition fails,
    and do then the same again if their reads return the same: stores in them are to variables of calls that have ended.
    So engines follow such a round only once: a thread whose condition fails stops there, waiting, and its run is
    blocked, not complete. After a round in which an update has written it goes back as by a jump."""

    condition: Expr
    target: str


@dataclass(frozen=True, slots=True)
class Assert:
    """A thread whose assertion fails stops there. What follows depends on the condition, as behind a branch; if it is
    `loose`, as one that no code stands for, what follows does not, and may have happened when it fails."""

    condition: Expr
    message: str
    loose: bool = False

    @property
    def is_limit(self) -> bool:
        """Whether it is the runtime library that cannot go on, not the program that is wrong."""
        return self.message.endswith(" not supported")


@dataclass(frozen=True, slots=True)
class Refuse:
    """What cannot be followed. If an execution comes here there is no answer but an error."""

    message: str


@dataclass(frozen=True, slots=True)
class Print:
    """Has no effect; a witness shows `text` with its directives, those of C's `printf`, filled in."""

    text: str
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Choose:
    """`dst` becomes any value from `low` to `high`, both included. `partial`: the program would take others, too.
    `pointer`: it stands for one, null or not."""

    dst: str
    low: int
    high: int
    partial: bool = False
    pointer: bool = False


@dataclass(frozen=True, slots=True)
class Allocate:
    """`dst` becomes the address of a new object. `stack` objects end with their function; `permanent` ones need not be
    released, and those of the stack end with their thread. A `confined` object is one that no pointer outlives, so that
    nobody can notice its end."""

    dst: str
    size: Expr
    align: int = 16
    zeroed: bool = False
    stack: bool = False
    permanent: bool = False
    confined: bool = False


@dataclass(frozen=True, slots=True)
class Free:
    address: Expr


@dataclass(frozen=True, slots=True)
class EndScope:
    """The block is left in which a variable of the stack lives: the object at `address`, if there is one, ends, and
    `dst` becomes 0. `confined` as in `Allocate`."""

    dst: str
    address: Expr
    confined: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """`dst` becomes the size of the object that begins at `address`; it must be one that `Free` could release."""

    dst: str
    address: Expr


@dataclass(frozen=True, slots=True)
class Recycle:
    """`dst` becomes 0, or the start of any object of this size that was ever freed. Whether that one may be had is for
    what follows to find out (`ir.passes.reuse`)."""

    dst: str
    size: Expr


@dataclass(frozen=True, slots=True)
class Renew:
    """The freed object that begins at `address` is one that was just allocated, with new content. An execution in which
    it has another size than this is blocked."""

    address: Expr
    size: Expr
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class AtomicBegin:
    """From here to `AtomicEnd` no other thread takes a step."""


@dataclass(frozen=True, slots=True)
class AtomicEnd:
    pass


@dataclass(frozen=True, slots=True)
class Exit:
    """Ends the thread, or with `everything` the whole program, which returns `status`.

    The end of the program may come late: whatever other threads do after it they could have done before. So engines may
    let them go on, but nobody sees a thread end that ended the program, and threads that wait then do not wait for
    ever."""

    everything: bool = False
    status: Expr | None = None


Instruction = (
    Assign
    | Load
    | Store
    | StoreConditional
    | Rmw
    | CompareExchange
    | Fence
    | Jump
    | Branch
    | Call
    | Return
    | Spawn
    | Join
    | Detach
    | Assume
    | Await
    | Assert
    | Refuse
    | Print
    | Choose
    | Allocate
    | Free
    | EndScope
    | Measure
    | Recycle
    | Renew
    | AtomicBegin
    | AtomicEnd
    | Exit
)

MEMORY_ACCESSES = (Load, Store, StoreConditional, Rmw, CompareExchange)

"""Turns backward jumps of loops that only wait into awaits.

A loop that reads shared memory until it likes what it sees has executions with any number of rounds, and all of them
are alike. Here a *back edge* is a jump or branch to itself or to something before it, its *head* is where it goes, its
*body* is all that leads from the head to the back edge without passing the head again, and a *round* is one way
through the body that ends with the back edge taken. A back edge is converted if

1. every way from the start of the function to it passes its head: no jump from outside leads into the body;
2. its rounds consist of loads, fences, assignments, jumps, branches, awaits, assertions, compare-exchanges,
   store-conditionals and calls of functions that only read (`callees` says which do);
3. no round contains a compare-exchange or store-conditional that succeeded: whoever follows the code from a success on,
   with the result that tells of it known, never takes the back edge; nor from a call on that returns what it returns
   after a success in the function. So `while (!cas(…))`, `cmp; b.ne loop` behind
   a compare-and-swap, `cbnz w3, loop` behind `stxr w3, …` and `bne- loop` behind `stwcx.` are recognised by what they
   compute, whatever registers and flags they use. What control reaches only behind a success is in no round;
4. nothing is carried from round to round: what a round writes (registers, and which load-linked is open) is not read
   any more once control is at the head, neither in the next round nor behind the loop nor in a final state,
   unless it holds the same number each time control reaches the head (`while (!cas(&x, &e, 1)) e = 0;`). A call begins
   with new registers.

Several back edges, nested loops and loops that share a head need nothing more: each back edge is judged by itself.

Why that is exact for final states
- An execution of the new program that is complete takes no converted back edge; it is an execution of the old one.
- Take a complete execution of the old one with a round in it, and take that round out. By 3 it consists of reads and
  fences. By 4 the thread goes on as before, with the same values. The final state is the same, because by 4 it shows
  no register of that round (it shows those of the last round, which stays; a count of rounds is carried and prevents
  the conversion). No read took its value from the round. What is left are some of the events with the same
  relations between them, and models allow that: fewer reads and fences make fewer cycles. That is so if no
  definition of the model subtracts something in which a read or a fence stands in the middle;
  `cat.forgetting` decides it, and loops are left as they are under other models. Rounds are finitely many, so that in
  the end none is left.

What else changes
- Counts: executions that differ in the number of rounds are one.
- What happens in failed rounds only (an access outside of all objects, a failed assertion, a data race) is seen in
  executions that end with that round: they are blocked, and engines report what goes wrong there.
- A back edge becomes an await; but if each of its rounds contains a store-conditional it becomes an assumption, because
  such a thread does not wait: its store-conditional may succeed in the next round. If only some rounds contain one, the
  back edge is left alone. For the same reason a weak compare-exchange in the body of an await becomes a strong one
  if its failure always ends in the back edge, and prevents the conversion if not.

Exchanges
- An exchange that finds what it writes changes nothing. With `quiet_exchanges` rounds may contain such ones, of numbers
  that are known, if each of them then always leads to the back edge. They become quiet: they write only if they change
  something. If one does and control still takes the back edge (`while (exchange(&x, 1) != 0);` finds 2), the
  await sees that the round has written, and goes back as the loop did.
- No other value that such a round reads may be used behind the loop: see below.
- Why that is exact, under the models of `run.prepare`: take a round out whose exchange U = (Ur, Uw) read what it wrote
  from a write w. Nothing lies between w and Uw in coherence. Those that read from Uw read the same from w now, and
  the writes that come after what they read are the same. All other relations only lose events. What is new are pairs
  of reads-from (w, r). What they add to the model's orders was there before:
  - sc, tso, pso, riscv: co from w to Uw and rf from Uw to r are both in the global order.
  - cpp20, rc11: r synchronises with what w belongs to, because release sequences go on through updates; eco has co; rf.
  - aarch64: if w is of another thread, rfe, rmw and rfe are; if not, lws from w to Uw and rfe. In a chain of rounds,
    lws leads from the first read to the last write.
  - power: ppo holds po-loc from reads to writes, so w, Ur, Uw and r are in happens-before. If w is of the same thread,
    what comes before w by ppo or a fence comes before Uw so, too. A cumulative fence behind r begins at Uw, which is
    behind w in coherence. Pairs of reads between which a write comes (rdw) are new only if r is in the loop, in the
    last round; then no order from it matters, because its value is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.ir.expressions import ZERO, Binary, Expr
from dekker.ir.flow import Resource, defined, live_at_starts, predecessors, successors
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Await,
    Branch,
    Call,
    CompareExchange,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Rmw,
    StoreConditional,
)
from dekker.ir.passes.callees import Callees
from dekker.ir.passes.following import Knowledge, after_conditional_write, follow
from dekker.ir.passes.retrying import Retry, expects_what_was_read
from dekker.ir.passes.symbolic import evaluate
from dekker.ir.program import Function, Program
from dekker.ir.property import RegisterValue, observables
from dekker.records import dataclass

HARMLESS = (Assert, Assign, Load, Fence, Jump, Branch, Await, CompareExchange, StoreConditional)
AGAIN, OUT, UNDECIDED = "again", "out", "undecided"

_OPPOSITE = {"eq": "ne", "slt": "sge", "sgt": "sle", "ult": "uge", "ugt": "ule"}
_OPPOSITE |= {right: left for left, right in _OPPOSITE.items()}

Numbers = dict[str, int]


def wait_in_loops(program: Program, *, quiet_exchanges: bool = False, data_races: bool = False) -> Program:
    """The program with awaits for all back edges that fulfil the conditions. With `quiet_exchanges` also for those
    that are about exchanges, and assumptions for those of loops that try again (`retrying`); where the model knows
    `data_races`, not if there is a plain access in a round, because a race in one that fails would not be seen."""
    if all(next(_back_edges(function), None) is None for function in program.functions):
        return program
    callees = Callees(program)
    functions = tuple(
        _convert(function, observed_registers(program, function), callees, quiet_exchanges, data_races)
        for function in program.functions
    )
    return program if functions == program.functions else replace(program, functions=functions)


def observed_registers(program: Program, function: Function) -> frozenset[str]:
    """The registers of the function that final states show."""
    prop = program.property
    formulas = [prop.condition.formula] if prop.condition is not None else []
    formulas += [prop.filter] if prop.filter is not None else []
    shown = {*prop.observed, *(item for formula in formulas for item in observables(formula))}
    return frozenset(
        item.register
        for item in shown
        if isinstance(item, RegisterValue) and program.threads[item.thread].function == function.name
    )


def _convert(
    function: Function, observed: frozenset[str], callees: Callees, quiet_exchanges: bool, data_races: bool
) -> Function:
    edges = list(_back_edges(function))
    if not edges:
        return function
    live = live_at_starts(function, observed)
    facts = _Facts(function, callees, predecessors(function), live, _constants(function), quiet_exchanges, data_races)
    body = list(function.body)
    for index in edges:
        for position, instruction in _replacements(facts, index):
            body[position] = instruction
    return replace(function, body=tuple(body))


def _back_edges(function: Function) -> Iterator[int]:
    for index, instruction in enumerate(function.body):
        if isinstance(instruction, Jump | Branch) and function.labels[instruction.target] <= index:
            yield index


@dataclass(frozen=True)
class _Facts:
    """`live[i]` and `constants[i]` hold at instruction i, before it is done."""

    function: Function
    callees: Callees
    predecessors: list[list[int]]
    live: list[frozenset[Resource]]
    constants: list[Numbers]
    quiet_exchanges: bool
    data_races: bool


@dataclass(frozen=True)
class _Loop:
    facts: _Facts
    edge: int
    head: int
    body: frozenset[int]

    def members(self, *kinds: type[Instruction]) -> list[int]:
        return [index for index in sorted(self.body) if isinstance(self.facts.function.body[index], kinds)]


def _replacements(facts: _Facts, edge: int) -> list[tuple[int, Instruction]]:
    """What to put in the place of a back edge, and of weak compare-exchanges in its body; nothing if it must stay."""
    loop = _loop(facts, edge)
    if loop is None or not _only_reads(loop):
        return []
    jump = facts.function.body[edge]
    assert isinstance(jump, Jump | Branch)
    holds = _negation(jump.condition) if isinstance(jump, Branch) else ZERO
    if _carried(loop):
        weak = list(_weak_exchanges(loop))
        if not _retries(loop) or not all(_ends_of_failure(loop, index) == {AGAIN} for index, _ in weak):
            return []
        return [*((index, replace(exchange, weak=False)) for index, exchange in weak), (edge, Assume(holds))]
    quiet = _exchanges(loop)
    if quiet and (loop.members(StoreConditional) or _uses_what_was_read(loop)):
        return []
    if loop.members(StoreConditional):
        return [] if _reachable_without_conditional(loop) else [(edge, Assume(holds))]
    weak = list(_weak_exchanges(loop))
    if not all(_ends_of_failure(loop, index) == {AGAIN} for index, _ in [*weak, *quiet]):
        return []
    return [
        *((index, replace(exchange, weak=False)) for index, exchange in weak),
        *((index, replace(exchange, quiet=True)) for index, exchange in quiet),
        (edge, Await(holds, jump.target)),
    ]


def _retries(loop: _Loop) -> bool:
    facts = loop.facts
    if not facts.quiet_exchanges or loop.members(StoreConditional, Rmw, Call):
        return False
    body = facts.function.body
    if facts.data_races and any(getattr(body[index], "order", None) is Order.PLAIN for index in _in_rounds(loop)):
        return False
    known: Knowledge = dict(facts.constants[loop.head])
    steps = follow(facts.function, loop.head, known, loop.body.__contains__, nothing_succeeds=True, once=True)
    return steps is not None and expects_what_was_read(
        Retry(facts.function, loop.head, loop.edge, loop.body, facts.predecessors, _carried(loop), steps, known)
    )


def _exchanges(loop: _Loop) -> list[tuple[int, Rmw]]:
    body = loop.facts.function.body
    found = ((index, body[index]) for index in sorted(_in_rounds(loop)))
    return [(index, step) for index, step in found if isinstance(step, Rmw)]


def _uses_what_was_read(loop: _Loop) -> bool:
    """Whether something behind the loop reads a register that was loaded in a round, other than by an exchange."""
    function, live = loop.facts.function, loop.facts.live
    loaded = frozenset[Resource]().union(
        *(
            defined(function.body[index])
            for index in _in_rounds(loop)
            if isinstance(function.body[index], Load | CompareExchange | Call)
        )
    )
    leaving = (step for index in loop.body for step in successors(function, index) if step not in loop.body)
    return any(not loaded.isdisjoint(live[step]) for step in leaving)


def _weak_exchanges(loop: _Loop) -> Iterator[tuple[int, CompareExchange]]:
    for index in loop.members(CompareExchange):
        instruction = loop.facts.function.body[index]
        if isinstance(instruction, CompareExchange) and instruction.weak:
            yield index, instruction


def _loop(facts: _Facts, edge: int) -> _Loop | None:
    """The back edge with its body, unless there is a way into it that does not pass its head."""
    jump = facts.function.body[edge]
    assert isinstance(jump, Jump | Branch)
    head = facts.function.labels[jump.target]
    body = _leading_to(facts, edge, {head})
    return None if head != 0 and 0 in body else _Loop(facts, edge, head, frozenset(body | {head}))


def _leading_to(facts: _Facts, index: int, barriers: set[int]) -> set[int]:
    """The instruction, and all from which control reaches it without passing a barrier in between. Barriers where such
    ways begin are part of the result."""
    found = {index}
    pending = [] if index in barriers else [index]
    while pending:
        for earlier in facts.predecessors[pending.pop()]:
            if earlier not in found:
                found.add(earlier)
                if earlier not in barriers:
                    pending.append(earlier)
    return found


def _only_reads(loop: _Loop) -> bool:
    """Conditions 2 and 3."""
    return all(_is_harmless(loop, index) for index in _in_rounds(loop)) and all(
        _ends(loop, index + 1, known) <= {OUT} for index in loop.body for known in _successes(loop, index)
    )


def _in_rounds(loop: _Loop) -> frozenset[int]:
    """The instructions of the body that control may reach without a success, and perhaps some more."""
    facts = loop.facts
    known: Knowledge = dict(facts.constants[loop.head])
    steps = follow(facts.function, loop.head, known, loop.body.__contains__, nothing_succeeds=True)
    return loop.body if steps is None else frozenset(step.position for step in steps)


def _is_harmless(loop: _Loop, index: int) -> bool:
    instruction = loop.facts.function.body[index]
    if isinstance(instruction, Call):
        return loop.facts.callees.of(instruction).only_reads
    if isinstance(instruction, Rmw):
        known = evaluate(instruction.operand, loop.facts.constants[index].get)
        is_exchange = instruction.op == "xchg" and instruction.dst is not None and isinstance(known, int)
        return loop.facts.quiet_exchanges and is_exchange
    return isinstance(instruction, HARMLESS)


def _successes(loop: _Loop, index: int) -> Iterator[Knowledge]:
    return loop.facts.callees.successes(loop.facts.function.body[index], dict(loop.facts.constants[index]))


def _carried(loop: _Loop) -> frozenset[Resource]:
    """What violates condition 4."""
    written = frozenset[Resource]().union(*(defined(loop.facts.function.body[index]) for index in _in_rounds(loop)))
    return (written & loop.facts.live[loop.head]) - loop.facts.constants[loop.head].keys()


def _reachable_without_conditional(loop: _Loop) -> bool:
    conditionals = set(loop.members(StoreConditional))
    return loop.head not in conditionals and loop.head in _leading_to(loop.facts, loop.edge, conditionals | {loop.head})


def _negation(condition: Expr) -> Expr:
    """An expression that is not 0 exactly if the condition is."""
    if isinstance(condition, Binary) and condition.op in _OPPOSITE:
        return replace(condition, op=_OPPOSITE[condition.op])
    return Binary("eq", 64, condition, ZERO)


# --- following the code


def _ends_of_failure(loop: _Loop, index: int) -> set[str]:
    known: Knowledge = dict(loop.facts.constants[index])
    return _ends(loop, index + 1, after_conditional_write(loop.facts.function.body[index], known, succeeded=False))


def _ends(loop: _Loop, start: int, known: Knowledge) -> set[str]:
    """How control may go on from `start`: it takes the back edge (`AGAIN`), or reaches the head in another way or
    leaves the body (`OUT`)."""

    def inside(index: int) -> bool:
        return index in loop.body and index != loop.head

    steps = follow(loop.facts.function, start, known, inside)
    if steps is None:
        return {UNDECIDED}
    leaving = [step for step in steps if step.following is None or not inside(step.following)]
    ends = {AGAIN if (step.position, step.following) == (loop.edge, loop.head) else OUT for step in leaving}
    return ends if inside(start) else {OUT}


def _constants(function: Function) -> list[Numbers]:
    """For every instruction and the end of the function, the registers that always hold the same number there."""
    found: list[Numbers | None] = [None] * (len(function.body) + 1)
    found[0] = {}
    pending = [0]
    while pending:
        index = pending.pop()
        before = found[index]
        if before is None or index == len(function.body):
            continue
        after = _numbers_after(function.body[index], before)
        for successor in successors(function, index):
            known = found[successor]
            common = after if known is None else dict(after.items() & known.items())
            if common != known:
                found[successor] = common
                pending.append(successor)
    return [numbers or {} for numbers in found]


def _numbers_after(instruction: Instruction, before: Numbers) -> Numbers:
    kept = {name: value for name, value in before.items() if name not in defined(instruction)}
    if isinstance(instruction, Assign):
        value = evaluate(instruction.value, before.get)
        if isinstance(value, int):
            kept[instruction.dst] = value
    return kept

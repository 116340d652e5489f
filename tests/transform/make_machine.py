"""Writes `src/dekker/transform/machine/*.ir`: the abstract machine as engines run it, compiled from `machine.c`.

Run it after a change of that file: `python tests/transform/make_machine.py`.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from dekker.frontends import parse_files
from dekker.ir.expressions import Address, is_unset
from dekker.ir.instructions import Assert, Assign, Assume, Branch, Call, Instruction
from dekker.ir.passes.specification import ASKED
from dekker.ir.program import Function, Program
from dekker.ir.text import print_program
from dekker.transform.machine import FEATURES, FOLDER, PARAMETERS, PRIMITIVES, SLOT_COUNT, THREAD_COUNT

_HEADER = """\
#include <stdint.h>
typedef uintptr_t dk_pointer;
extern void __VERIFIER_assume(int);
"""

_MAIN = """
int main(void) {
#ifdef DK_READS
  dk_read_later(0, 0, 0, 0, 0);
  dk_is_open(0);
  dk_bind(0, dk_result(0) + dk_wait_for_read(0));
#endif
#ifdef DK_NON_ATOMIC
  dk_link_to(0, 0, 0);
  dk_store_conditional(0, 0, 0, 0, 0, 0, 0, 0);
#endif
  dk_read(0, 0, 0, 0, 0);
  dk_write(0, 0, 0, 0, 0, 0, 0, 0);
  dk_before_update(0, 0, 0, 0);
  dk_fence(0, 0);
  dk_drain(0);
  dk_discard(0, 0);
  dk_new_thread();
  dk_leave(0);
  dk_finish();
  dk_confirm();
}
"""


def machine_text(model: str) -> str:
    """The file of a model, as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.c"
        path.write_text(_source(model), encoding="utf-8")
        program = parse_files((str(path),))
    return print_program(_stripped(program, model))


def _source(model: str) -> str:
    lines = [f"#define {feature} 1" for feature in FEATURES[model]]
    lines += [f"#define DK_SLOT_COUNT {SLOT_COUNT}", f"#define DK_THREAD_COUNT {THREAD_COUNT}"]
    for name in PARAMETERS:
        lines += [f"unsigned long long {name.lower()}_(void) {{ return 0; }}", f"#define {name} {name.lower()}_()"]
    for name, (kind, parameters) in PRIMITIVES.items():
        lines.append(f"{kind} {name}({parameters}) {{ {'return 0;' if kind != 'void' else ''} }}")
    machine = (FOLDER / "machine.c").read_text(encoding="utf-8")
    return "\n".join([_HEADER, *lines, machine, _MAIN])


def _stripped(program: Program, model: str) -> Program:
    left_out = {"main", *PRIMITIVES, *(f"{name.lower()}_" for name in PARAMETERS)}
    kept = (item for item in program.functions if item.name.removesuffix(ASKED) not in left_out)
    functions = tuple(_without_marks(item) for item in kept if not item.name.endswith(ASKED))
    return replace(program, name=f"machine-{model}", functions=functions, threads=())


def _without_marks(function: Function) -> Function:
    """Shifts stay in range by construction, all variables are set, and what the machine assumes is no specification:
    it runs under SC, where that makes no difference."""
    starts: list[int] = []
    kept: list[Instruction] = []
    for step in function.body:
        starts.append(len(kept))
        match step:
            case Assert(loose=True):
                continue
            case Assign(value=value) if is_unset(value):
                continue
            case Assume() | Branch():
                step = replace(step, loose=False)
            case Call(function=Address(symbol)):
                step = replace(step, function=Address(symbol.removesuffix(ASKED)))
        kept.append(step)
    starts.append(len(kept))
    labels = {name: starts[index] for name, index in function.labels.items()}
    return Function(function.name, function.parameters, tuple(kept), labels)


if __name__ == "__main__":
    for name in FEATURES:
        (FOLDER / f"{name}.ir").write_text(machine_text(name), encoding="utf-8")

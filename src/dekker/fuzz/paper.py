"""Random programs in the language of the RSMC paper: loads, stores, dependencies, branches and fences of POWER."""

from __future__ import annotations

from random import Random

VARIABLES = ("x", "y", "z")
FENCES = ("sync", "lwsync", "isync", "eieio")


def paper_program(seed: int) -> str:
    random = Random(seed)
    threads, n_labels = [], 0
    variables = VARIABLES[: random.randint(1, 3)]
    budget = random.choice((4, 4, 5, 5, 6, 8))
    count = random.randint(2, 3)
    for number in range(count):
        statements: list[str] = []
        loaded: list[str] = []
        for _ in range(random.randint(1, max(1, min(4, budget - (count - number - 1))))):
            budget -= 1
            statements += _access(random, number, variables, loaded)
            if random.random() < 0.15:
                statements.append(random.choice(FENCES))
        n_labels, lines = _labelled(random, statements, loaded, number, n_labels)
        threads.append("\n".join([f"thread P{number}:", *lines]))
    initial = " ".join(f"{name} = 0" for name in variables)
    locations = f"locations [{' '.join(f'{name};' for name in variables)}]"
    return "\n".join([initial, *threads, locations, f"exists (x={random.randint(0, 3)})"]) + "\n"


def _access(random: Random, number: int, variables: tuple[str, ...], loaded: list[str]) -> list[str]:
    variable = random.choice(variables)
    if random.random() < 0.5:
        register = f"r{number}{len(loaded)}"
        depends = bool(loaded) and random.random() < 0.3
        place = f"[&{variable} + {loaded[-1]} - {loaded[-1]}]" if depends else variable
        loaded.append(register)
        return [f"{register} := {place}"]
    value = str(random.randint(1, 3))
    if loaded and random.random() < 0.4:
        value = f"{random.choice(loaded)} + {random.randint(0, 1)}"
    return [f"{variable} := {value}"]


def _labelled(
    random: Random, statements: list[str], loaded: list[str], number: int, n_labels: int
) -> tuple[int, list[str]]:
    """With a branch to the end in some of them, behind the read of what it tests."""
    end = f"E{number}"
    defined = {line.split(" ")[0]: at for at, line in enumerate(statements)}
    if loaded and random.random() < 0.3:
        register = random.choice(loaded)
        statements.insert(defined[register] + 1, f"if {register} = {random.randint(0, 1)} goto {end}")
    lines = [f"L{n_labels + i}: {statement};" for i, statement in enumerate(statements)]
    return n_labels + len(lines), [*lines, f"{end}: t{number} := 0;"]

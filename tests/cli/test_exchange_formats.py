"""Each format that is written validates against its schema, and says what is the case."""

from __future__ import annotations

import hashlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
import yaml
from tests.cli.calls import Outcome, dekker

from dekker.report.json_schema import NAMES, json_schema

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCHEMAS = ROOT / "tests" / "schemas"
PETERSON = str(EXAMPLES / "c" / "table1" / "peterson.c")
SB = str(EXAMPLES / "litmus" / "dekker-x86.litmus")
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"

LOCKED = """#include <pthread.h>
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *add(void *unused) {
  pthread_mutex_lock(&m);
  x = x + 1;
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t;
  int n = __VERIFIER_nondet_int();
  pthread_create(&t, 0, add, 0);
  pthread_mutex_lock(&m);
  int seen = x;
  pthread_mutex_unlock(&m);
  if (seen == 1 && n == -1)
    reach_error();
  pthread_join(t, 0);
}
"""
ODD = '#include <assert.h>\n#include <stdio.h>\nint main(void) { int x = 0; assert(x && "<script>&amp;\\001"); }\n'
RACE = """#include <pthread.h>
int x;
void *write(void *unused) { x = 1; return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, write, 0); x = 2; pthread_join(t, 0); }
"""


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    return written(tmp_path, LOCKED)


def written(folder: Path, text: str, name: str = "program.c") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def exported(option: str, file: Path, *arguments: str) -> tuple[str, Outcome]:
    outcome = dekker(*arguments, option, str(file))
    return file.read_text(encoding="utf-8") if file.exists() else "", outcome


def validate(content: object, schema: str | dict[str, Any]) -> None:
    if isinstance(schema, str):
        schema = json.loads((SCHEMAS / schema).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(content)


def validate_xml(text: str, schema: str) -> ET.Element:
    xmlschema.XMLSchema(str(SCHEMAS / schema)).validate(text)
    return ET.fromstring(text)


# --- GraphML


def graph_of(text: str) -> tuple[dict[str, str], list[tuple[str, str, dict[str, str]]], ET.Element]:
    root = validate_xml(text, "graphml-witness.xsd")
    graph = root.find(f"{GRAPHML}graph")
    assert graph is not None
    keys = {(key.get("for"), key.get("id")) for key in root.iter(f"{GRAPHML}key")}
    for kind in ("graph", "node", "edge"):
        for element in root.iter(f"{GRAPHML}{kind}"):
            assert all((kind, item.get("key")) in keys for item in element.findall(f"{GRAPHML}data"))
    edges = [(edge.get("source", ""), edge.get("target", ""), data_of(edge)) for edge in graph.iter(f"{GRAPHML}edge")]
    return data_of(graph), edges, graph


def data_of(element: ET.Element) -> dict[str, str]:
    return {item.get("key", ""): item.text or "" for item in element.findall(f"{GRAPHML}data")}


def test_a_violation_witness_in_graphml(locked: Path, tmp_path: Path) -> None:
    text, outcome = exported("--witness-graphml", tmp_path / "w", "check", str(locked), "--model", "sc")
    assert outcome.status == 1
    about, edges, graph = graph_of(text)
    assert about["witness-type"] == "violation_witness"
    assert about["programhash"] == hashlib.sha256(locked.read_bytes()).hexdigest()
    assert about["specification"] == "CHECK( init(main()), LTL(G ! call(reach_error())) )"
    assert {"sourcecodelang", "producer", "programfile", "architecture", "creationtime"} <= about.keys()
    marks = [(node.get("id"), data_of(node)) for node in graph.iter(f"{GRAPHML}node")]
    assert [node for node, data in marks if data.get("entry") == "true"] == ["N0"]
    assert [node for node, data in marks if data.get("violation") == "true"] == [edges[-1][1]]
    assert [(source, target) for source, target, _ in edges] == [(f"N{n}", f"N{n + 1}") for n in range(len(edges))]
    steps = [(data["threadId"], data.get("startline", data.get("enterFunction"))) for _, _, data in edges]
    assert steps[:2] == [("0", "main"), ("0", "14")]
    assert steps[-1] == ("0", "20")
    assert steps.index(("0", "15")) < steps.index(("1", "add")) < steps.index(("1", "8")) < steps.index(("0", "17"))
    created = {data["createThread"]: data.get("startline") for _, _, data in edges if "createThread" in data}
    assert created == {"0": None, "1": "15"}
    (open_number,) = (data for _, _, data in edges if "assumption" in data)
    assert open_number["assumption"] == "\\result == -1"
    assert open_number["assumption.resultfunction"] == "__VERIFIER_nondet_int"


def test_a_correctness_witness_in_graphml(tmp_path: Path) -> None:
    arguments = ("check", PETERSON, "--model", "tso", "--witness-graphml", str(tmp_path / "w"), "--", "-DFENCED")
    assert dekker(*arguments).status == 0
    about, edges, _ = graph_of((tmp_path / "w").read_text(encoding="utf-8"))
    assert (about["witness-type"], edges) == ("correctness_witness", [])


def test_a_data_race_has_a_property_of_its_own(tmp_path: Path) -> None:
    text, _ = exported("--witness-graphml", tmp_path / "w", "check", str(written(tmp_path, RACE)))
    assert graph_of(text)[0]["specification"] == "CHECK( init(main()), LTL(G ! data-race) )"


# --- YAML


def test_a_violation_witness_in_yaml(locked: Path, tmp_path: Path) -> None:
    text, outcome = exported("--witness-yaml", tmp_path / "w", "check", str(locked), "--model", "sc")
    assert outcome.status == 1
    content = yaml.safe_load(text)
    validate(content, "yaml-witness.json")
    (entry,) = content
    task = entry["metadata"]["task"]
    assert task["input_file_hashes"] == {str(locked): hashlib.sha256(locked.read_bytes()).hexdigest()}
    first, last = (segment["segment"][0]["waypoint"] for segment in entry["content"])
    assert (first["type"], first["constraint"]["value"]) == ("function_return", "\\result == -1")
    lines = LOCKED.split("\n")
    assert lines[first["location"]["line"] - 1][first["location"]["column"] - 1] == ")"
    assert last["type"] == "target"
    assert lines[last["location"]["line"] - 1][last["location"]["column"] - 1 :] == "reach_error();"


@pytest.mark.parametrize(
    ("option", "arguments", "says"),
    [
        ("--witness-graphml", (PETERSON, "--model", "tso"), "is none under sc"),
        ("--witness-yaml", (PETERSON, "--model", "tso"), "is none under sc"),
        ("--witness-yaml", (PETERSON, "--model", "sc"), "consists of invariants"),
        ("--witness-graphml", (PETERSON, "--model", "sc", "--max-traces", "1"), "the verdict is UNKNOWN"),
        ("--witness-graphml", (SB, "--model", "sc"), "is about a C program"),
    ],
)
def test_what_has_no_witness(option: str, arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    alone = dekker("check", *arguments)
    text, outcome = exported(option, tmp_path / "w", "check", *arguments)
    assert (text, outcome.status) == ("", alone.status)
    assert says in outcome.err


def test_a_deadlock_has_no_property(tmp_path: Path) -> None:
    program = "#include <pthread.h>\nint main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
    program += "  pthread_mutex_lock(&m); pthread_mutex_lock(&m); }\n"
    _, outcome = exported("--witness-yaml", tmp_path / "w", "check", str(written(tmp_path, program)), "--model", "sc")
    assert "SV-COMP has no property for a deadlock" in outcome.err


# --- SARIF


def sarif(tmp_path: Path, *arguments: str) -> Any:
    text, _ = exported("--sarif", tmp_path / "s", *arguments)
    content = json.loads(text)
    validate(content, "sarif.json")
    for run in content["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]
    return content


def test_sarif_of_a_violation(tmp_path: Path) -> None:
    (run,) = sarif(tmp_path, "check", PETERSON, "--model", "tso")["runs"]
    (result,) = run["results"]
    assert result["message"]["text"].startswith(
        "assertion under tso: the assertion `inside == me` fails. The run is none"
    )
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 34, "startColumn": 3, "endColumn": 23}
    (flow,) = result["codeFlows"]
    assert [thread["id"] for thread in flow["threadFlows"]] == [
        "thread 0 (main)",
        "thread 1 (worker)",
        "thread 2 (worker)",
    ]
    second = [
        step["location"]["physicalLocation"]["region"]["startLine"] for step in flow["threadFlows"][2]["locations"]
    ]
    assert second == [16, 18, 20, 33, 34, 34]
    assert not any("executionOrder" in step for thread in flow["threadFlows"] for step in thread["locations"])


def test_sarif_of_an_interleaving_has_an_order(locked: Path, tmp_path: Path) -> None:
    (run,) = sarif(tmp_path, "check", str(locked), "--model", "sc")["runs"]
    threads = run["results"][0]["codeFlows"][0]["threadFlows"]
    orders = [step["executionOrder"] for thread in threads for step in thread["locations"]]
    assert sorted(orders) == list(range(1, len(orders) + 1))


def test_sarif_of_several_models(tmp_path: Path) -> None:
    content = sarif(tmp_path, "compare", PETERSON, "--models", "sc,tso")
    assert [(run["properties"]["verdict"], len(run["results"])) for run in content["runs"]] == [
        ("SAFE", 0),
        ("UNSAFE", 1),
    ]


def test_sarif_of_races_and_undecided_programs(tmp_path: Path) -> None:
    (run,) = sarif(tmp_path, "check", str(written(tmp_path, RACE)))["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["data-race"]
    (run,) = sarif(tmp_path, "check", PETERSON, "--model", "sc", "--max-traces", "1")["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "undecided" in note["message"]["text"]


def test_sarif_of_odd_names(tmp_path: Path) -> None:
    sarif(tmp_path, "check", str(written(tmp_path, ODD, "a b&<c>.c")), "--model", "sc")


# --- JUnit


def junit(text: str) -> list[tuple[str, str, str]]:
    """Suite, case and what is wrong with it."""
    root = validate_xml(text, "junit.xsd")
    found = []
    for suite in root.iter("testsuite"):
        cases = suite.findall("testcase")
        problems = [case.find("failure") or case.find("error") or next(iter(case), None) for case in cases]
        tags = ["" if problem is None else problem.tag for problem in problems]
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(tags.count("failure"))
        assert suite.get("errors") == str(tags.count("error"))
        found += [(suite.get("name", ""), case.get("name", ""), tag) for case, tag in zip(cases, tags, strict=True)]
    return found


def test_junit_of_litmus_tests(tmp_path: Path) -> None:
    paths = (SB, str(EXAMPLES / "no-such-file.litmus"))
    text, outcome = exported("--junit", tmp_path / "j", "litmus", *paths, "--model", "sc", "--quiet")
    assert outcome.status == 2
    assert junit(text) == [("sc", "dekker-x86", "failure"), ("sc", paths[1], "error")]
    assert "States 3" in text


def test_junit_of_checks(tmp_path: Path) -> None:
    text, _ = exported("--junit", tmp_path / "j", "check", PETERSON, "--model", "tso")
    assert [tag for _, _, tag in junit(text)] == ["failure"]
    assert "The run that shows it" in text
    text, _ = exported("--junit", tmp_path / "j", "compare", PETERSON, "--models", "sc,tso", "--max-traces", "3")
    assert [tag for _, _, tag in junit(text)] == ["error", "failure"]


def test_junit_of_odd_texts(tmp_path: Path) -> None:
    text, _ = exported("--junit", tmp_path / "j", "check", str(written(tmp_path, ODD)), "--model", "sc")
    (problem,) = ET.fromstring(text).iter("failure")
    assert "<script>&amp;" in (problem.text or "")


# --- JSON


def test_the_schemas_are_schemas() -> None:
    assert [line.split()[0] for line in dekker("schema").out.splitlines()] == list(NAMES)
    for name in NAMES:
        jsonschema.Draft202012Validator.check_schema(json.loads(dekker("schema", name).out))
    assert dekker("schema", "no-such-schema").status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", PETERSON, "--model", "tso"),
        ("check", PETERSON, "--model", "tso", "--engine", "states"),
        ("check", PETERSON, "--model", "tso", "--engine", "auto", "--keep-going"),
        ("check", PETERSON, "--model", "sc", "--max-traces", "1"),
        ("check", SB),
        ("compare", PETERSON, "--models", "sc,tso,rc11"),
        ("compare", SB, "--models", "sc,rc11"),
        ("fences", PETERSON, "--model", "tso", "--minimal"),
        ("modular", str(EXAMPLES / "lang" / "burns-unbounded.lang")),
        ("modular", str(EXAMPLES / "lang" / "spin-lock-without-barrier.lang")),
    ],
)
def test_json_validates(arguments: tuple[str, ...]) -> None:
    validate(json.loads(dekker(*arguments, "--json", "-").out), json_schema(arguments[0]))


def test_json_of_cycles_validates() -> None:
    validate(
        json.loads(dekker("show", PETERSON, "--cycles", "--model", "tso", "--json", "-").out), json_schema("cycles")
    )


def test_json_of_litmus_tests_and_witnesses_validates(tmp_path: Path) -> None:
    paths = (str(EXAMPLES / "litmus"), str(EXAMPLES / "rsmc" / "load-buffering.rsmc"), "no-such-file")
    lines = dekker("litmus", *paths, "--json", "-", "--explain", "--witness", str(tmp_path / "w")).out.splitlines()
    assert len(lines) >= 9
    for line in lines:
        validate(json.loads(line), json_schema("litmus"))
    files = list((tmp_path / "w").iterdir())
    assert len(files) >= 5
    for file in files:
        validate(json.loads(file.read_text(encoding="utf-8")), json_schema("witness"))


def test_a_schema_refuses_what_is_not_described() -> None:
    content = json.loads(dekker("check", PETERSON, "--model", "tso", "--json", "-").out)
    content["violation"]["witness"]["events"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError):
        validate(content, json_schema("check"))


# --- logs of herd

LOG = re.compile(
    r"Test (?P<name>\S+) (?P<kind>Allowed|Forbidden|Required)\n"
    r"States (?P<states>\d+)\n"
    r"(?P<table>(?:(?:[^\s;=]+=[^;]*; ?)+\n)*)"
    r"(?P<verdict>Ok|No|Undef|Unknown)\n"
    r"Witnesses\n"
    r"Positive: (?P<positive>\d+) Negative: (?P<negative>\d+)\n"
    r"(?:Flag \S+\n)*"
    r"Condition (?P<condition>(?:exists|~exists|forall) .*)\n"
    r"Observation (?P=name) (?P<observation>Always|Sometimes|Never) (?P<satisfying>\d+) (?P<others>\d+)\n"
    r"(?:(?!Test |States |Time ).*\n)*"
    r"Time (?P=name) \d+\.\d\d\n\n"
)


def test_logs_are_those_of_herd() -> None:
    """Records one after the other, each line where readers of such logs look for it."""
    text = dekker("litmus", str(EXAMPLES / "litmus")).out
    position, names = 0, []
    while position < len(text):
        found = LOG.match(text, position)
        assert found is not None, text[position : position + 300]
        assert int(found["states"]) == len(found["table"].splitlines())
        counts = found["positive"], found["negative"]
        assert (found["satisfying"], found["others"]) == (counts[::-1] if found["kind"] == "Forbidden" else counts)
        names.append(found["name"])
        position = found.end()
    assert len(names) == len(list((EXAMPLES / "litmus").glob("*.litmus")))


@pytest.mark.parametrize("command", ["check", "compare"])
def test_what_goes_to_stdout_stands_alone(command: str) -> None:
    json.loads(dekker(command, PETERSON, "-m", "tso", "--sarif", "-").out)
    ET.fromstring(dekker(command, PETERSON, "-m", "tso", "--junit", "-").out.encode())
    ET.fromstring(dekker("litmus", "examples/litmus/dekker-x86.litmus", "--junit", "-").out.encode())

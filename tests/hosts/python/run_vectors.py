#!/usr/bin/env python3
"""Runs every vector against the component.

    run_vectors.py [--component FILE] [VECTORS.json]...
"""

import argparse
import base64
import json
import pathlib
import sys

from ghyll_policy import Policy, PolicyError, check_lines
from judge import COMPONENT

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "vectors"


def expand(value):
    """Long strings in full."""
    if isinstance(value, dict):
        if "repeat" in value:
            long = value["repeat"] * value["times"]
            return value.get("before", "") + long + value.get("after", "")
        return {key: expand(item) for key, item in value.items()}
    return [expand(item) for item in value] if isinstance(value, list) else value


def bytes_of(part):
    if isinstance(part, str):
        return part.encode("utf-8")
    if "base64" in part:
        return base64.b64decode(part["base64"])
    return part["text"].encode("utf-8")


def ask(policy, interface, case):
    """The answer as the vectors spell it."""
    names = policy.parameters(interface, case["call"])
    try:
        answer = policy.call(interface, case["call"], *(case["args"][name] for name in names))
    except PolicyError as error:
        return {"err": error.code}
    if case["call"] == "encode-line" and "line" not in case.get("ok", {"line": ""}):
        del answer["line"]
    return {"ok": answer}


def ask_about_file(policy, args, cuts):
    """The file's lines and last cursor, with the file cut as told."""
    data = b"".join(map(bytes_of, args["file"]))
    if isinstance(cuts, dict):
        cuts = range(cuts["every"], len(data), cuts["every"])
    edges = [0, *cuts, len(data)]
    chunks = [data[start:end] for start, end in zip(edges, edges[1:])]
    cursor, rest, lines = args["cursor"], b"", []
    at_end = cursor["at_end"]
    for number, chunk in enumerate(chunks, 1):
        rest += chunk
        cursor = {**cursor, "at_end": at_end and number == len(chunks)}
        checked = check_lines(policy, rest, cursor, args["limits"])
        cursor, rest = checked["cursor"], rest[checked["consumed"]:]
        lines += checked["lines"]
    for line in lines:
        for key in ("problems", "warnings"):
            line[key] = [fault["code"] for fault in line[key]]
    return {"ok": {"lines": lines, "cursor": {key: cursor[key] for key in ("bytes", "lines", "chain")}}}


def answers(policy, interface, case):
    if case["call"] == "check-lines":
        for cuts in case["cuts"]:
            yield "cut %s" % cuts, ask_about_file(policy, case["args"], cuts)
    else:
        yield "", ask(policy, interface, case)


def main():
    arguments = argparse.ArgumentParser(description="Runs every vector against the component.")
    arguments.add_argument("files", nargs="*", type=pathlib.Path)
    arguments.add_argument("--component", default=COMPONENT)
    options = arguments.parse_args()
    policy = Policy(options.component)
    count = failed = 0
    for file in options.files or sorted(VECTORS.glob("*.json")):
        vectors = json.loads(file.read_text("utf-8"))
        interface = vectors["interface"].split("/")[1].split("@")[0]
        for case in vectors["cases"]:
            case = expand(case)
            count += 1
            expected = {key: case[key] for key in ("ok", "err") if key in case}
            wrong = [(how, got) for how, got in answers(policy, interface, case) if got != expected]
            failed += bool(wrong)
            for how, got in wrong:
                print("%s: %s %s\n  expected %.2000s\n  answered %.2000s"
                      % (file.name, case["name"], how, json.dumps(expected), json.dumps(got)))
    print("%d cases, %d failed" % (count, failed))
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())

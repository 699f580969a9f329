#!/usr/bin/env python3
"""Derives the vectors from the contract.

    derive.py            writes the JSON files beside this script
    derive.py --check    says whether they are what would be written
    derive.py --tree DIR writes audit trees, healthy and damaged, for hosts

`policy.py` and `lines.py` are an implementation of their own, from the
contract alone; `cases/` says what is asked and, wherever a person can know it,
what the answer must be. Nothing here reads the component's output.
"""

import argparse
import json
import pathlib
import sys

import cases
from cases import hints, lines, operators, paths, records, trees, units

HERE = pathlib.Path(__file__).resolve().parent
MODULES = (hints, units, paths, records, lines, operators)


def spell(value):
    """Long strings in their short spelling."""
    if isinstance(value, cases.Repeated):
        return value.spelled
    if isinstance(value, dict):
        return {key: spell(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [spell(item) for item in value]
    return value


def text_of(collected):
    """One case a line, so that a change shows as the cases it changes."""
    rows = [json.dumps(spell(case), separators=(",", ":")) for case in collected.cases]
    head = json.dumps("ghyll:policy/%s@0.1.0" % collected.interface)
    return '{"interface":%s,"cases":[\n%s\n]}\n' % (head, ",\n".join(rows))


def main():
    arguments = argparse.ArgumentParser(description="Derives the vectors from the contract.")
    arguments.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments.add_argument("--tree", metavar="DIR", type=pathlib.Path, help="write audit trees")
    options = arguments.parse_args()
    if options.tree:
        trees.write(options.tree)
        return 0
    stale = []
    for module in MODULES:
        collected = module.build()
        file = HERE / (collected.file + ".json")
        text = text_of(collected)
        if options.check:
            if not file.exists() or file.read_text("ascii") != text:
                stale.append(file.name)
        else:
            file.write_text(text, "ascii")
        print("%-15s %4d cases" % (file.name, len(collected.cases)))
    if stale:
        print("not what the contract derives: " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

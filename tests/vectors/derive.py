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

# Every code of the contract the policy can answer with.
CODES = set("""
    attestation-id-empty attestation-arrow-id-empty attestation-op-id-empty op-id-required
    op-id-too-long op-id-invalid-characters attestation-attested-by-role-empty
    attestation-kind-invalid attestation-depth-type-requires-clause-id
    attestation-on-the-spot-rejects-clause-id attestation-verdict-invalid
    attestation-pass-id-empty attestation-self-cert-forbidden attestation-role-invalid
    attestation-timestamp-invalid attestation-hint-malformed attestation-payload-malformed
    attestation-reason-invalid verdict-unit-invalid verdict-unit-unexpected-field
    verdict-inspected-empty verdict-unit-missing-field verdict-residue-too-long
    verdict-unit-insufficient attestation-chain-invalid attestation-line-too-long
    attestation-line-malformed attestation-line-partial attestation-chain-broken
    attestation-path-mismatch attestation-chain-absent attestation-id-malformed
    attestation-grid-version-invalid grid-id-invalid-characters
""".split())
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
    head = json.dumps("ghyll:policy/%s@0.2.0" % collected.interface)
    return '{"interface":%s,"cases":[\n%s\n]}\n' % (head, ",\n".join(rows))


def codes_of(collected):
    """The codes a file's cases answer with."""
    for case in collected.cases:
        if "err" in case:
            yield case["err"]
        elif case["call"] == "check-lines":
            for line in case["ok"]["lines"]:
                yield from line["problems"] + line["warnings"]


def main():
    arguments = argparse.ArgumentParser(description="Derives the vectors from the contract.")
    arguments.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments.add_argument("--tree", metavar="DIR", type=pathlib.Path, help="write audit trees")
    options = arguments.parse_args()
    if options.tree:
        trees.write(options.tree)
        return 0
    stale, seen = [], set()
    for module in MODULES:
        collected = module.build()
        file = HERE / (collected.file + ".json")
        text = text_of(collected)
        seen.update(codes_of(collected))
        if options.check:
            if not file.exists() or file.read_text("ascii") != text:
                stale.append(file.name)
        else:
            file.write_text(text, "ascii")
        print("%-15s %4d cases" % (file.name, len(collected.cases)))
    assert seen == CODES, seen ^ CODES
    if stale:
        print("not what the contract derives: " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

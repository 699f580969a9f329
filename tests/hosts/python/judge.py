#!/usr/bin/env python3
"""What the policy says of one record, as JSON.

    judge.py [--prev-chain CHAIN] [--component FILE] [RECORD.json]

The record is a line of an audit file or an element of `ghyll attestations
--json`; without a file it is read from stdin. Keys it lacks are empty, a chain
it has is not looked at. Exit status: 0 valid, 1 not, 2 not a record at all.
"""

import argparse
import json
import pathlib
import sys

from ghyll_policy import FIELDS, Policy, PolicyError

COMPONENT = pathlib.Path(__file__).resolve().parents[3] / "guest" / "ghyll-policy.wasm"
ABSENT = {"grid_version": 0, "unit_payload_json": "{}", "hint_json": "{}"}


def record_of(given):
    """All fields of a record from those given."""
    if not isinstance(given, dict):
        raise TypeError("not a JSON object")
    rec = {key: given.get(key, ABSENT.get(key, "")) for key in FIELDS}
    for key, value in rec.items():
        if type(value) is not (int if key == "grid_version" else str):
            raise TypeError("%s is of the wrong type" % key)
    if not 0 <= rec["grid_version"] < 1 << 64:
        raise ValueError("grid_version is beyond 64 bits")
    return rec


def judge(policy, rec, prev_chain):
    """The code (empty when valid), the path and the line a record has."""
    answer = {"code": "", "detail": "", "path": "", "truncated": False, "substituted": [],
              "chain": "", "line": ""}
    for interface, function, *more in (
        ("records", "encode-line", prev_chain),
        ("paths", "encode-attestation-path"),
        ("records", "validate", {"max_residue_bytes": 0}),
    ):
        try:
            answer.update(policy.call(interface, function, rec, *more) or {})
        except PolicyError as error:
            # The last one asked is the one that counts.
            answer.update(code=error.code, detail=error.detail)
    return answer


def main():
    arguments = argparse.ArgumentParser(description="What the policy says of one record, as JSON.")
    arguments.add_argument("record", nargs="?", help="a file; stdin without it")
    arguments.add_argument("--prev-chain", default="", help="the chain of the line before it")
    arguments.add_argument("--component", default=COMPONENT)
    options = arguments.parse_args()
    try:
        with open(options.record, encoding="utf-8") if options.record else sys.stdin as source:
            rec = record_of(json.load(source))
        answer = judge(Policy(options.component), rec, options.prev_chain)
    except (OSError, ValueError, TypeError) as error:
        print("judge.py: %s" % error, file=sys.stderr)
        return 2
    print(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return 1 if answer["code"] else 0


if __name__ == "__main__":
    sys.exit(main())

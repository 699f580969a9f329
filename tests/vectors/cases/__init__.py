"""The cases, one module for each interface, and what they share."""

import policy

# A record that is valid as it stands; cases change what they are about.
RECORD = {
    "attestation_id": "att-A-checkout-C1-v1",
    "kind": "depth-type",
    "arrow_id": "A-checkout",
    "clause_id": "C1",
    "op_id": "alice@example.com",
    "attested_by_role": "operator",
    "source_role": "analyst",
    "target_role": "architect",
    "adversary_role": "",
    "verdict": "pass",
    "reason": "",
    "timestamp": "2026-03-04T10:11:12.123456789Z",
    "grid_version": 1,
    "pass_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "context": "checkout",
    "stratum": "design",
    "unit": "confirm",
    "unit_payload_json": "{}",
    "hint_json": "{}",
}
LIMITS = {"max_residue_bytes": 0}


def record(**changes):
    unknown = changes.keys() - RECORD.keys()
    assert not unknown, unknown
    return {**RECORD, **changes}


def repeat(text, times, before="", after=""):
    """A long string that the JSON spells shortly, see README.md."""
    return Repeated(text, times, before, after)


class Repeated(str):
    def __new__(cls, text, times, before, after):
        self = super().__new__(cls, before + text * times + after)
        self.spelled = {"repeat": text, "times": times}
        if before:
            self.spelled["before"] = before
        if after:
            self.spelled["after"] = after
        return self


class Cases:
    """Collects the cases of one interface.

    `expect` is what whoever wrote the case takes from the contract by hand: a
    code, or a value. It must agree with the derivation; a case without it
    stands on the derivation alone.
    """

    def __init__(self, interface, file=None):
        self.interface = interface
        self.file = file or interface
        self.cases = []
        self.names = set()

    def add(self, call, name, args, expect=None, code=None):
        assert name not in self.names, "two cases named %s" % name
        self.names.add(name)
        case = {"name": name, "call": call, "args": args}
        function = getattr(policy, call.replace("-", "_"))
        try:
            case["ok"] = function(*args.values())
        except policy.Refused as refused:
            case["err"] = refused.code
        assert case.get("err") == code, (name, case.get("err"), code)
        if call == "encode-line" and "ok" in case and len(case["ok"]["line"]) > 1 << 16:
            # A long line stands for itself by its chain, which is its hash.
            del case["ok"]["line"]
        if expect is not None:
            assert case["ok"] == expect, (name, case["ok"], expect)
        self.cases.append(case)

    def count(self, *calls):
        return sum(case["call"] in calls for case in self.cases)

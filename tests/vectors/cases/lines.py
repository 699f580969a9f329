"""Files of lines, judged."""

import base64
import json

import lines as second
import policy
from cases import LIMITS, Cases, record

HERE = "v1/checkout/stratum-design/analyst__architect/01890a5d-ac96-774b-bcce-b302099a8057.jsonl"
BROKEN = "attestation-chain-broken"
MALFORMED = "attestation-line-malformed"
PARTIAL = "attestation-line-partial"
MISPLACED = "attestation-path-mismatch"
ABSENT = "attestation-chain-absent"
NOTE = '{"residue":"looked"}'


def rounds(count, ref="att-A-checkout-C1-v1", **changes):
    """Records as they follow each other: one round after the other."""
    return [
        record(
            attestation_id=policy.attestation_id(ref, number),
            timestamp="2026-03-04T10:11:%02d.000000000Z" % number,
            **changes,
        )
        for number in range(1, count + 1)
    ]


def written(records, chain=""):
    """The records as a host writes them to one file, a line each, no line end."""
    out = []
    for rec in records:
        line = policy.encode_line(rec, chain)
        chain = line["chain"]
        out.append(line["line"].encode()[:-1])
    return out


def chained(raw, previous=""):
    """Any object's bytes with the chain that would be theirs."""
    chain = policy.link(previous, raw)
    return policy.with_chain(raw.decode(), chain).encode(), chain


def legacy(drop=(), spaced=False, **changes):
    """A line from before chains; its keys may be fewer and stand anywhere."""
    rec = {key: value for key, value in record(**changes).items() if key not in drop}
    separators = (", ", ": ") if spaced else (",", ":")
    return json.dumps(rec, ensure_ascii=False, separators=separators).encode()


def parts(data):
    """A file's bytes as the JSON spells them: text where they are text."""
    long = max(data.split(b"x" * 4096), key=len) if b"x" * 4096 in data else None
    if long is not None:
        at = data.index(b"x" * 4096)
        rest = data[at:].lstrip(b"x")
        middle = {"repeat": "x", "times": len(data) - at - len(rest)}
        return parts(data[:at]) + [middle] + parts(rest)
    if not data:
        return []
    try:
        return [{"text": data.decode("utf-8")}]
    except UnicodeDecodeError:
        return [{"base64": base64.b64encode(data).decode("ascii")}]


def build():
    out = Cases("records", file="lines")

    def file(name, data, problems, warnings=None, surface=None, at_end=True, start=None,
             limits=LIMITS, cuts=(), expect=None):
        """`problems` and `warnings` are what each line earns, by hand."""
        if isinstance(data, list):
            data = b"".join(line + b"\n" for line in data)
        cursor = {"surface": surface or {"tree": HERE}, "bytes": 0, "lines": 0, "chain": "", "skipped": 0,
                  "at_end": at_end, **(start or {})}
        found = second.check_file(data, cursor, limits)
        assert [line["problems"] for line in found["lines"]] == problems, (
            name, [line["problems"] for line in found["lines"]])
        warned = [line["warnings"] for line in found["lines"]]
        assert warned == (warnings or [[] for _ in problems]), (name, warned)
        for key, value in (expect or {}).items():
            assert found["lines"][0]["rec"][key] == value, (name, key)
        every = [] if len(data) > 1 << 16 else [{"every": 97}]
        out.names.add(name)
        out.cases.append({
            "name": name,
            "call": "check-lines",
            "args": {"file": parts(data), "cursor": cursor, "limits": limits},
            "cuts": [[], [len(data)], *every, *cuts],
            "ok": found,
        })

    three = rounds(3)
    whole = written(three)
    joined = b"".join(line + b"\n" for line in whole)

    # Healthy.
    file("empty file", b"", [])
    file("one line", written(three[:1]), [[]])
    file("three rounds", whole, [[], [], []], cuts=[{"every": 1}])
    for cut in (1, len(whole[0]), len(whole[0]) + 1, len(whole[0]) + 2, len(joined) - 1):
        file("cut at byte %d" % cut, whole, [[], [], []], cuts=[[cut]])
    file("flat, one file's lines", whole, [[], [], []], surface="flat")
    others = written(rounds(2, pass_id="p2"))
    file("flat, lines of two files", [whole[0], others[0], whole[1], others[1]], [[]] * 4, surface="flat")
    scripts = rounds(2, reason="", op_id="山田🦊", hint_json='{"concept":"éü\U0010ffff"}')
    lines = written(scripts)
    inside = [n for n, byte in enumerate(b"\n".join(lines) + b"\n") if byte & 0xC0 == 0x80]
    file("cut inside every character", lines, [[], []], cuts=[[n] for n in inside])
    file("cut three times in one character", lines, [[], []], cuts=[inside[2:5], {"every": 1}])
    every = written(rounds(1, unit="write-residue-note", hint_json=r'{"concept":"\"\\\u0001\n"}',
                           unit_payload_json=policy.encode_unit_payload(
                               {"inspected": ["a\"b"], "residue": "".join(map(chr, range(0x30)))})))
    file("every escape", every, [[]], cuts=[{"every": 5}])
    init = written(rounds(1, attested_by_role="init", kind="on-the-spot", clause_id=""))
    file("init", init, [[]], surface={"tree": "v1/init/stratum-init/init/%s.jsonl" % record()["pass_id"]})
    moved = written(rounds(1, context="", pass_id="a/b"))
    file("a replaced and an encoded value", moved, [[]], surface={
        "tree": "v1/h-e3b0c44298fc1c149afbf4c8996fb924/stratum-design/analyst__architect/a_b.jsonl"})
    shared = written([record(context="a/b"), record(context="a_b", attestation_id="x.r9")])
    file("two identities in one file", shared, [[], []], surface={"tree": HERE.replace("checkout", "a_b")})
    file("largest version", written(rounds(1, grid_version=2**53 - 1)), [[]],
         surface={"tree": HERE.replace("v1", "v9007199254740991")})
    ids = [record(attestation_id=text) for text in
           ("a.r2", "a.r10", "a.r1", "a.r0", "a.r02", "a.r", "a.r2x", "a.r2.r3", "a.r4294967295",
            "a.r4294967296", "a.r99999999999999999999", "a.R2", "r2", "a.r+2", "a.r２", "\"é\\\n\".r3")]
    file("ids and their rounds", written(ids), [
        ["attestation-id-malformed"] if policy.split_id(rec["attestation_id"])[1] == 0 else [] for rec in ids])
    file("versions out of range", written([record(grid_version=version) for version in (0, 2**53, 2**64 - 1)]),
         [["attestation-grid-version-invalid"]] * 3, surface="flat")
    given = {"arrow_id": "A-checkout", "clause_id": "C1", "concept": "x \"y\"", "attestation_ref": "r",
             "subject": "5e" * 32, "locations": ["a.rs:1"], "basis": "b\n", "residue": "é"}
    file("a hint with all its keys", written([record(hint_json=policy.encode_hint(given))]), [[]])
    file("hints of other records", written([
        record(hint_json=policy.encode_hint({**given, **other}))
        for other in ({"arrow_id": "A"}, {"clause_id": "C2"}, {"subject": "5E" * 32}, {"basis": "x" * 4097})]),
        [["attestation-hint-malformed"]] * 4)
    file("lines that share much with the one before", written([
        record(op_id=op, source_role=role, context=context, pass_id="p")
        for op, role, context in (("a", "s", "c"), ("a", "s", "c"), ("a b", "s", "c"), ("a b", "s", "d"),
                                  ("a", "a__b", "c"), ("a", "a__b", "c"), ("a", "operator", "c"), ("a", "s", "c"))]),
        [[], [], ["op-id-invalid-characters"], ["op-id-invalid-characters"], ["attestation-role-invalid"],
         ["attestation-role-invalid"], ["attestation-self-cert-forbidden"], []], surface="flat")

    # Where a check goes on.
    go_on = {"bytes": len(whole[0]) + 1, "lines": 1, "chain": json.loads(whole[0])["chain"]}
    file("going on", whole[1:], [[], []], start=go_on)
    file("going on with another chain", whole[1:], [[BROKEN], []], start={**go_on, "chain": "ab" * 32})
    file("going on after zeros", whole, [[], [], []], start={"chain": "0" * 64})
    file("not at the end, a rest", joined + whole[0][:100], [[], [], []], at_end=False)
    file("not at the end, only a rest", whole[0], [], at_end=False)
    file("not at the end, half a character", joined + "é".encode()[:1], [[], [], []], at_end=False)

    # Partial lines.
    file("partial line", joined + whole[0][:100], [[], [], [], [PARTIAL]])
    file("line without its end", b"\n".join(whole), [[], [], [PARTIAL]])
    file("only a partial line", b"{", [[PARTIAL]])
    file("partial line in half a character", joined + "{\"op_id\":\"é".encode()[:-1], [[], [], [], [PARTIAL]])
    file("partial line, flat", joined + b"{", [[], [], [], [PARTIAL]], surface="flat")

    # Not a record.
    body = policy.object_text(three[0]).encode()

    def junk(name, line, *more, flat=False):
        file("malformed: " + name, [line], [[MALFORMED, *more]], surface="flat" if flat else None)

    junk("empty line", b"")
    junk("spaces", b"  ")
    junk("words", b"not json")
    junk("nul bytes", b"\0" * 64)
    junk("not utf-8", b"\xff\xfe{}")
    junk("overlong utf-8", whole[0].replace(b"alice", b"al\xc0\xafce"), BROKEN)
    junk("surrogate in utf-8", whole[0].replace(b"alice", b"al\xed\xa0\x80ce"), BROKEN)
    junk("array", b"[" + whole[0] + b"]")
    junk("two objects", whole[0] + whole[0], BROKEN)
    junk("rest behind the object", whole[0] + b" x")
    junk("carriage return", whole[0] + b"\r")
    junk("byte order mark", b"\xef\xbb\xbf" + whole[0], BROKEN)
    junk("cut short", whole[0][:-1])
    junk("unknown key", whole[0].replace(b'"chain"', b'"note":"x","chain"'), BROKEN)
    junk("unknown key, legacy", legacy()[:-1] + b',"note":"x"}', flat=True)
    junk("key twice", legacy()[:-1] + b',"kind":"depth-type"}')
    junk("chain twice", whole[0][:-1] + b',"chain":"%s"}' % (b"0" * 64), BROKEN)
    junk("key of another case", legacy().replace(b'"kind"', b'"Kind"'))
    junk("null", legacy().replace(b'"reason":""', b'"reason":null'))
    junk("number for a string", legacy().replace(b'"reason":""', b'"reason":1'))
    junk("object for a payload", legacy().replace(b'"unit_payload_json":"{}"', b'"unit_payload_json":{}'))
    junk("string for the version", legacy().replace(b'"grid_version":1', b'"grid_version":"1"'))
    junk("negative version", legacy().replace(b'"grid_version":1', b'"grid_version":-1'))
    junk("fractional version", legacy().replace(b'"grid_version":1', b'"grid_version":1.5'))
    junk("version beyond 64 bits", legacy().replace(b'"grid_version":1', b'"grid_version":18446744073709551616'))
    junk("chain a number", legacy()[:-1] + b',"chain":1}')
    junk("chain null", legacy()[:-1] + b',"chain":null}')
    junk("raw line feed escape missing", legacy().replace(b'"reason":""', b'"reason":"\t"'))
    junk("lone surrogate", legacy().replace(b'"reason":""', b'"reason":"\\ud800"'))
    junk("control character, and its own chain", chained(body.replace(b"alice", b"al\tice"))[0])
    junk("chain at the end of words", chained(b'x{"a":"b"}')[0])
    junk("time beyond 64 bits", legacy(timestamp=1 << 64))
    junk("time before 64 bits", legacy(timestamp=-(1 << 63) - 1))
    junk("fractional time", legacy().replace(b'"2026-03-04T10:11:12.123456789Z"', b"1.5"))
    junk("time null", legacy(timestamp=None))
    file("malformed between healthy ones", [whole[0], b"oops", whole[1], whole[2]],
         [[], [MALFORMED], [BROKEN], []])
    file("malformed in place of a healthy one", [whole[0], b"oops", whole[2]], [[], [MALFORMED], [BROKEN]])
    file("flat, malformed between healthy ones", [whole[0], b"oops", whole[1]],
         [[], [MALFORMED], []], surface="flat")

    # Not the bytes a chained line must have.
    def spelled(name, line):
        file("not canonical: " + name, [line], [[MALFORMED]])

    spelled("a space", chained(body.replace(b'"kind":', b'"kind": '))[0])
    spelled("two keys swapped", chained(body.replace(
        b'"kind":"depth-type","arrow_id":"A-checkout"', b'"arrow_id":"A-checkout","kind":"depth-type"'))[0])
    spelled("an escape too many", chained(body.replace(b"alice", b"\\u0061lice"))[0])
    spelled("an escaped slash", chained(body.replace(b'"reason":""', b'"reason":"\\/"'))[0])
    spelled("a key missing", chained(body.replace(b'"reason":"",', b""))[0])

    front = b'{"chain":"%s",' % json.loads(whole[0])["chain"].encode() + body[1:]
    spelled("chain in front", front)
    spelled("chain that is none", policy.with_chain(body.decode(), "abc").encode())
    spelled("chain in upper case", policy.with_chain(body.decode(), "AB" * 32).encode())
    spelled("chain empty", policy.with_chain(body.decode(), "").encode())
    stamp = b'"timestamp":"%s"' % three[0]["timestamp"].encode()
    spelled("time with an exponent", chained(body.replace(stamp, b'"timestamp":1e18'))[0])
    file("time in nanoseconds, chained", [chained(body.replace(stamp, b'"timestamp":1772619072123456789'))[0]],
         [[]], expect={"timestamp": "2026-03-04T10:11:12.123456789Z"})

    # Too long, counted with the line end.
    mebibyte = b"x" * (1 << 20)
    half = [len(joined) + (1 << 19)]
    file("line of a mebibyte", joined + mebibyte[1:] + b"\n" + joined,
         [[], [], [], [MALFORMED], [BROKEN], [], []], cuts=[half])
    file("line of a mebibyte and one", joined + mebibyte + b"\n" + joined,
         [[], [], [], [MALFORMED], [BROKEN], [], []], cuts=[half])
    file("overlong and partial", mebibyte, [[PARTIAL, MALFORMED]])
    file("long and partial", mebibyte[1:], [[PARTIAL]])

    # Broken chains.
    file("first line gone", whole[1:], [[BROKEN], []])
    file("middle line gone", [whole[0], whole[2]], [[], [BROKEN]])
    file("two swapped", [whole[1], whole[0], whole[2]], [[BROKEN], [BROKEN], [BROKEN]])
    file("a line twice", [whole[0], whole[0], whole[1]], [[], [BROKEN], []])
    edited = whole[0].replace(b"alice", b"malice")
    file("first line edited", [edited, *whole[1:]], [[BROKEN], [], []])
    file("last line edited", [*whole[:2], whole[2].replace(b'"reason":""', b'"reason":"ok"')], [[], [], [BROKEN]])
    file("flat, an edited line cannot be seen", [edited], [[]], surface="flat")
    other = written(three, "ab" * 32)
    file("lines of another history", other, [[BROKEN], [], []])
    file("a forged line linked rightly", [whole[0], *written([three[1]], go_on["chain"]),
                                          *written([three[2]], "cd" * 32)], [[], [], [BROKEN]])

    # Records that belong elsewhere.
    file("another file's lines", whole, [[MISPLACED]] * 3, surface={"tree": HERE.replace("checkout", "cart")})
    file("another version's lines", whole, [[MISPLACED]] * 3, surface={"tree": HERE.replace("v1", "v2")})
    file("case of the path counts", whole[:1], [[MISPLACED]], surface={"tree": HERE.replace("checkout", "Checkout")})
    file("no path at all", whole[:1], [[MISPLACED]], surface={"tree": ""})
    file("misplaced and broken", whole[1:2], [[BROKEN, MISPLACED]], surface={"tree": "v1/x.jsonl"})

    # Records that should not have been written.
    def invalid(name, *codes, limits=LIMITS, **changes):
        file("invalid: " + name, written([record(**changes)]), [list(codes)], limits=limits)

    invalid("id", "attestation-id-empty", attestation_id="")
    invalid("arrow", "attestation-arrow-id-empty", arrow_id=" ")
    invalid("no op-id", "attestation-op-id-empty", op_id="")
    invalid("op-id", "op-id-invalid-characters", op_id="../alice")
    invalid("long op-id", "op-id-too-long", op_id="a" * 257)
    invalid("attested-by", "attestation-attested-by-role-empty", attested_by_role="")
    invalid("kind", "attestation-kind-invalid", kind="x")
    invalid("clause missing", "attestation-depth-type-requires-clause-id", clause_id="")
    invalid("clause given", "attestation-on-the-spot-rejects-clause-id", kind="on-the-spot")
    invalid("verdict", "attestation-verdict-invalid", verdict="x")
    invalid("pass-id", "attestation-pass-id-empty", pass_id="")
    invalid("own work", "attestation-self-cert-forbidden", attested_by_role="analyst")
    invalid("own adversary", "attestation-self-cert-forbidden", adversary_role="Analyst")
    invalid("own work and adversary", "attestation-self-cert-forbidden", "attestation-self-cert-forbidden",
            attested_by_role="analyst", adversary_role="analyst")
    invalid("role", "attestation-role-invalid", source_role="a__b")
    invalid("hint", "attestation-hint-malformed", hint_json="[]")
    invalid("payload", "attestation-payload-malformed", unit_payload_json='{"x":1}')
    invalid("reason", "attestation-reason-invalid", reason="a\x1bb")
    invalid("evidence missing", "verdict-inspected-empty", unit="record-locations-inspected")
    invalid("evidence unexpected", "verdict-unit-unexpected-field", unit_payload_json=NOTE)
    invalid("note missing", "verdict-unit-missing-field", unit="write-residue-note")
    invalid("note too long", "verdict-residue-too-long", unit="write-residue-note",
            unit_payload_json=NOTE, limits={"max_residue_bytes": 5})
    invalid("unit empty", "verdict-unit-invalid", unit="")
    invalid("unit", "verdict-unit-invalid", unit="x")
    invalid("insufficient", "verdict-unit-insufficient", verdict="fail")
    invalid("several things", "attestation-id-empty", "op-id-invalid-characters",
            "attestation-kind-invalid", "attestation-reason-invalid", attestation_id="", op_id="a b",
            kind="x", reason="\n")
    bad_time, _ = chained(body.replace(b"10:11:01.000000000Z", b"10:11:01Z"))
    file("invalid: time", [bad_time], [["attestation-timestamp-invalid"]])
    file("flat, invalid all the same", written([record(kind="x")]), [["attestation-kind-invalid"]], surface="flat")
    file("flat, chained lines need their pass", written([record(pass_id="")]),
         [["attestation-pass-id-empty"]], surface="flat")

    # Lines from before.
    def old(name, line, problems=(), surface="flat", **expect):
        file("legacy: " + name, [line], [list(problems)], [[ABSENT]], surface=surface, expect=expect)

    old("no chain", legacy())
    old("no chain, in the tree", legacy(), surface={"tree": HERE})
    old("in the tree at the wrong place", legacy(), [MISPLACED], surface={"tree": "v1/x.jsonl"})
    old("spaces", legacy(spaced=True))
    old("spaces around", b" " + legacy() + b"\t ")
    old("keys in another order", json.dumps(dict(sorted(record().items())), separators=(",", ":")).encode())
    old("escapes", legacy().replace(b"alice", b"\\u0061lice"), op_id="alice@example.com")
    old("no pass", legacy(drop=["pass_id"]), pass_id="")
    old("no pass, in the tree", legacy(drop=["pass_id"]), ["attestation-pass-id-empty"], surface={"tree": HERE})
    old("pass blank", legacy(pass_id=" "), ["attestation-pass-id-empty"])
    old("pass empty", legacy(pass_id=""))
    old("no unit", legacy(drop=["unit"]), unit="")
    old("no unit, a verdict that needs one", legacy(drop=["unit", "unit_payload_json"], verdict="fail"))
    old("no unit, a payload", legacy(drop=["unit"], unit_payload_json=NOTE), ["verdict-unit-unexpected-field"])
    old("no unit, an empty payload spelled out", legacy(drop=["unit"], unit_payload_json='{"inspected":[]}'))
    old("no unit, a broken payload", legacy(drop=["unit"], unit_payload_json="["), ["attestation-payload-malformed"])
    old("unit empty", legacy(unit=""), ["verdict-unit-invalid"])
    old("no payload", legacy(drop=["unit_payload_json"]), unit_payload_json="{}")
    old("no hint", legacy(drop=["hint_json"]), hint_json="{}")
    old("no adversary, reason, context and stratum",
        legacy(drop=["adversary_role", "reason", "context", "stratum"]), context="")
    old("no version", legacy(drop=["grid_version"]), grid_version=0)
    old("version zero", legacy(grid_version=0), ["attestation-grid-version-invalid"])
    old("no version, in the tree", legacy(drop=["grid_version"]), surface={"tree": HERE.replace("v1", "v0")})
    old("no op-id", legacy(drop=["op_id"]), ["attestation-op-id-empty"])
    old("no time", legacy(drop=["timestamp"]), ["attestation-timestamp-invalid"])
    old("no fraction", legacy(timestamp="2026-03-04T10:11:12Z"), timestamp="2026-03-04T10:11:12.000000000Z")
    old("three digits", legacy(timestamp="2026-03-04T10:11:12.120Z"), timestamp="2026-03-04T10:11:12.120000000Z")
    old("ten digits", legacy(timestamp="2026-03-04T10:11:12.1234567890Z"), ["attestation-timestamp-invalid"])
    old("an offset", legacy(timestamp="2026-03-04T10:11:12+01:00"), ["attestation-timestamp-invalid"])
    for nanos, text in [
        (0, "1970-01-01T00:00:00.000000000Z"),
        (1772619072123456789, "2026-03-04T10:11:12.123456789Z"),
        (1709164800000000001, "2024-02-29T00:00:00.000000001Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (2**63 - 1, "2262-04-11T23:47:16.854775807Z"),
    ]:
        old("time %d" % nanos, legacy(timestamp=nanos), timestamp=text)
    old("nothing but braces", b"{}", [
        "attestation-id-empty", "attestation-arrow-id-empty", "attestation-op-id-empty",
        "attestation-attested-by-role-empty", "attestation-kind-invalid", "attestation-verdict-invalid",
        "attestation-timestamp-invalid"])
    lines = [legacy(), legacy(attestation_id="x")]
    chain = policy.link(policy.link("", lines[0]), lines[1])
    file("legacy lines and then chained ones", lines + written(rounds(2), chain), [[]] * 4,
         [[ABSENT], [ABSENT], [], []])
    file("a legacy line gone before chained ones", lines[1:] + written(rounds(2), chain),
         [[], [BROKEN], []], [[ABSENT], [], []])
    file("a chainless line among chained ones", [whole[0], lines[0], whole[1]],
         [[], [], [BROKEN]], [[], [ABSENT], []])

    assert len(out.cases) >= 40
    return out

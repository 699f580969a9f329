"""What is a valid record, how one reads as a line, and ids."""

import policy
from cases import LIMITS, Cases, record, repeat

NOTE = '{"residue":"looked"}'
SEEN = '{"inspected":["a.rs:1"]}'
CHAIN = "5e" * 32


def build():
    out = Cases("records")

    def valid(name, code=None, limits=LIMITS, **changes):
        out.add("validate", name, {"rec": record(**changes), "limits": limits}, code=code)

    # Healthy records.
    valid("pass, confirmed")
    valid("pass with locations", unit="record-locations-inspected", unit_payload_json=SEEN)
    valid("pass with a note", unit="write-residue-note", unit_payload_json=NOTE)
    valid("fail with locations", verdict="fail", unit="record-locations-inspected", unit_payload_json=SEEN)
    valid("fail with a note", verdict="fail", unit="write-residue-note", unit_payload_json=NOTE)
    for verdict in ("insufficient-basis", "accepted-risk", "route-upstream"):
        valid(verdict + " with a note", verdict=verdict, unit="write-residue-note", unit_payload_json=NOTE)
    valid("on the spot", kind="on-the-spot", clause_id="", attestation_id="att-A-checkout-v1")
    valid("on the spot by init", kind="on-the-spot", clause_id="", attested_by_role="init")
    valid("three roles", adversary_role="skeptic")
    valid("a hint", hint_json='{"arrow_id":"A-checkout","concept":"x"}')
    valid("a hint of another shape", hint_json=' { "any" : [ 1 , null , {} ] } ')
    valid("a payload in another order", unit="write-residue-note",
          unit_payload_json=' {"residue": "x", "inspected": ["a"]} ')
    valid("empty locations spelled out", unit_payload_json='{"inspected":[],"residue":""}')
    valid("context and stratum empty", context="", stratum="")
    valid("roles empty", source_role="", target_role="")
    valid("an id of any shape", attestation_id="x")
    valid("an op-id of json", op_id='{"a":"b"}')

    # One fault each, in the contract's order.
    valid("id empty", "attestation-id-empty", attestation_id="")
    valid("id blank", "attestation-id-empty", attestation_id=" \t")
    valid("arrow empty", "attestation-arrow-id-empty", arrow_id="")
    valid("arrow blank", "attestation-arrow-id-empty", arrow_id="\u00a0")
    valid("op-id empty", "attestation-op-id-empty", op_id="")
    valid("op-id blank", "attestation-op-id-empty", op_id=" ")
    valid("op-id too long", "op-id-too-long", op_id=repeat("a", 257))
    valid("op-id invalid", "op-id-invalid-characters", op_id="a/b")
    valid("op-id with override", "op-id-invalid-characters", op_id="a\u202eb")
    valid("attested-by empty", "attestation-attested-by-role-empty", attested_by_role="")
    valid("attested-by blank", "attestation-attested-by-role-empty", attested_by_role=" ")
    valid("kind empty", "attestation-kind-invalid", kind="")
    valid("kind unknown", "attestation-kind-invalid", kind="clause")
    valid("kind in upper case", "attestation-kind-invalid", kind="DEPTH-TYPE")
    valid("kind with a space", "attestation-kind-invalid", kind="on-the-spot ", clause_id="")
    valid("depth-type without clause", "attestation-depth-type-requires-clause-id", clause_id="")
    valid("depth-type with a blank clause", "attestation-depth-type-requires-clause-id", clause_id=" ")
    rejects = "attestation-on-the-spot-rejects-clause-id"
    valid("on the spot with a clause", rejects, kind="on-the-spot")
    valid("on the spot with a blank clause", rejects, kind="on-the-spot", clause_id=" ")
    valid("verdict empty", "attestation-verdict-invalid", verdict="")
    valid("verdict unknown", "attestation-verdict-invalid", verdict="maybe")
    valid("verdict in upper case", "attestation-verdict-invalid", verdict="PASS")
    valid("verdict abbreviated", "attestation-verdict-invalid", verdict="p")
    valid("skip is no verdict", "attestation-verdict-invalid", verdict="skip")
    valid("pass-id empty", "attestation-pass-id-empty", pass_id="")
    valid("pass-id blank", "attestation-pass-id-empty", pass_id="\u2003")

    own = "attestation-self-cert-forbidden"
    valid("attested by the source", own, attested_by_role="analyst")
    valid("attested by the target", own, attested_by_role="architect")
    valid("attested by the source in another case", own, attested_by_role=" ANALYST ")
    valid("attested by the target, spaces there", own, target_role="\tOperator\n")
    valid("attested by the source beyond ascii", own, attested_by_role="ÄÖ", source_role="äö")
    valid("attested by the adversary is allowed", attested_by_role="skeptic", adversary_role="skeptic")
    valid("adversary is the source", own, adversary_role="Analyst")
    valid("adversary is the target", own, adversary_role="architect ")
    valid("init from init", own, attested_by_role="init", source_role="INIT")
    valid("init does not look at the adversary", attested_by_role="init", adversary_role="analyst")
    valid("source and target the same", source_role="a", target_role="a")

    valid("source with double underscore", "attestation-role-invalid", source_role="a__b")
    valid("target with double underscore", "attestation-role-invalid", target_role="__")
    valid("adversary with double underscore", "attestation-role-invalid", adversary_role="a__")
    valid("init does not look at role names", attested_by_role="init", source_role="a__b")
    valid("attested-by with double underscore", attested_by_role="a__b")

    # Timestamps.
    for name, text in [
        ("least", "0000-01-01T00:00:00.000000000Z"),
        ("largest", "9999-12-31T23:59:59.999999999Z"),
        ("leap day", "2024-02-29T00:00:00.000000000Z"),
        ("leap day of a 400th year", "2000-02-29T00:00:00.000000000Z"),
        ("before 1970", "1969-12-31T23:59:59.999999999Z"),
    ]:
        valid("time: " + name, timestamp=text)
    for name, text in [
        ("empty", ""),
        ("words", "yesterday"),
        ("no fraction", "2026-03-04T10:11:12Z"),
        ("six digits", "2026-03-04T10:11:12.123456Z"),
        ("ten digits", "2026-03-04T10:11:12.1234567890Z"),
        ("comma", "2026-03-04T10:11:12,123456789Z"),
        ("offset", "2026-03-04T10:11:12.123456789+00:00"),
        ("no zone", "2026-03-04T10:11:12.123456789"),
        ("small t", "2026-03-04t10:11:12.123456789Z"),
        ("small z", "2026-03-04T10:11:12.123456789z"),
        ("space for t", "2026-03-04 10:11:12.123456789Z"),
        ("space before", " 2026-03-04T10:11:12.123456789Z"),
        ("line feed behind", "2026-03-04T10:11:12.123456789Z\n"),
        ("month 0", "2026-00-04T10:11:12.123456789Z"),
        ("month 13", "2026-13-04T10:11:12.123456789Z"),
        ("day 0", "2026-03-00T10:11:12.123456789Z"),
        ("april 31st", "2026-04-31T10:11:12.123456789Z"),
        ("no leap day", "2026-02-29T10:11:12.123456789Z"),
        ("no leap day in 1900", "1900-02-29T10:11:12.123456789Z"),
        ("hour 24", "2026-03-04T24:00:00.000000000Z"),
        ("minute 60", "2026-03-04T10:60:12.123456789Z"),
        ("leap second", "2016-12-31T23:59:60.000000000Z"),
        ("arabic digits", "٢٠٢٦-03-04T10:11:12.123456789Z"),
        ("short year", "26-03-04T10:11:12.123456789Z"),
        ("signed year", "+2026-03-04T10:11:12.123456789Z"),
        ("unix nanoseconds", "1772619072123456789"),
        ("nul in it", "2026-03-04T10:11:12.12345678\0Z"),
    ]:
        valid("time: " + name, "attestation-timestamp-invalid", timestamp=text)

    # JSON in strings.
    for name, text in [
        ("empty", ""), ("blank", " "), ("array", "[]"), ("string", '"x"'), ("number", "1"),
        ("null", "null"), ("words", "hint"), ("open", "{"), ("trailing comma", '{"a":1,}'),
        ("two objects", "{}{}"), ("trailing words", "{} x"), ("single quotes", "{'a':1}"),
        ("bare key", "{a:1}"), ("not a number", '{"a":NaN}'), ("comment", "{}//x"),
        ("raw line feed in a string", '{"a":"\n"}'), ("nul behind", "{}\0"),
        ("byte order mark", "\ufeff{}"), ("no-break space behind", "{}\u00a0"),
        ("leading zero", '{"a":01}'), ("bad escape", '{"a":"\\x41"}'),
    ]:
        valid("hint: " + name, "attestation-hint-malformed", hint_json=text)
        valid("payload: " + name, "attestation-payload-malformed", unit_payload_json=text)
    for name, text in [
        ("unknown key", '{"note":"x"}'),
        ("unknown key besides", '{"residue":"x","more":1}'),
        ("twice", '{"residue":"x","residue":"x"}'),
        ("locations twice", '{"inspected":["a"],"inspected":["a"]}'),
        ("twice by escape", '{"residue":"x","\\u0072esidue":"y"}'),
        ("other case", '{"Residue":"x"}'),
        ("residue null", '{"residue":null}'),
        ("residue a number", '{"residue":1}'),
        ("residue a list", '{"residue":["x"]}'),
        ("locations a string", '{"inspected":"a"}'),
        ("locations null", '{"inspected":null}'),
        ("a location a number", '{"inspected":["a",1]}'),
        ("a location null", '{"inspected":[null]}'),
        ("a location a list", '{"inspected":[["a"]]}'),
        ("a location an object", '{"inspected":[{}]}'),
    ]:
        valid("payload shape: " + name, "attestation-payload-malformed",
              unit="write-residue-note", unit_payload_json=text)
    valid("payload with an escaped key", unit="write-residue-note", unit_payload_json='{"\\u0072esidue":"x"}')

    half = "payload shape: half a surrogate pair"
    valid(half, "attestation-payload-malformed", unit="write-residue-note",
          unit_payload_json='{"residue":"\\ud800"}')
    valid("payload: a surrogate pair", unit="write-residue-note",
          unit_payload_json='{"residue":"\\ud83e\\udd8a"}')
    # A hint need only be an object, whatever reading it would take.
    valid("hint: deep", hint_json='{"a":' + "[" * 400 + "]" * 400 + "}")
    valid("hint: half a surrogate pair", hint_json='{"a":"\\ud800"}')
    valid("hint: beyond any double", hint_json='{"a":[1e999,-0,0.1e-999]}')
    valid("hint: a key twice", hint_json='{"a":1,"a":2}')

    hinted = "attestation-hint-malformed"
    valid("hint: of this arrow and clause", hint_json='{"arrow_id":"A-checkout","clause_id":"C1","subject":"%s"}' % CHAIN)
    valid("hint: of another arrow", hinted, hint_json='{"arrow_id":"A-cart"}')
    valid("hint: of another clause", hinted, hint_json='{"clause_id":"C2"}')
    valid("hint: of no clause", hinted, hint_json='{"clause_id":""}')
    valid("hint: on the spot, of a clause", hinted, kind="on-the-spot", clause_id="", hint_json='{"clause_id":"C1"}')
    valid("hint: on the spot, of the arrow", kind="on-the-spot", clause_id="",
          hint_json='{"arrow_id":"A-checkout","clause_id":""}')
    valid("hint: of another ref", hint_json='{"attestation_ref":"att-x-v1"}')
    valid("hint: a subject that is none", hinted, hint_json='{"subject":"none"}')
    valid("hint: a location that is none", hinted, hint_json='{"locations":[1]}')
    valid("hint: basis too long", hinted, hint_json=repeat("x", 4097, '{"basis":"', '"}'))

    # Rounds and versions.
    for digits in ("2", "10", "999999", "1000000"):
        valid("round " + digits, attestation_id="a.r" + digits)
    for digits in ("0", "1", "02", "1000001", "4294967298", "99999999999999999999"):
        valid("round " + digits, "attestation-id-malformed", attestation_id="a.r" + digits)
    for name in ("a.r", "a.r2x", "a.R1", ".r1", "a.r+1", "a.r１"):
        valid("no round at all: " + name, attestation_id=name)
    valid("largest version", grid_version=2**53 - 1)
    for number in (0, 2**53, 2**63, 2**64 - 1):
        valid("version %d" % number, "attestation-grid-version-invalid", grid_version=number)
    valid("a round comes behind evidence", "verdict-unit-invalid", attestation_id="a.r1", unit="?")
    valid("a version comes behind a round", "attestation-id-malformed", attestation_id="a.r1", grid_version=0)

    # Reason.
    valid("reason: 4096 bytes", reason=repeat("x", 4096))
    valid("reason: 4097 bytes", "attestation-reason-invalid", reason=repeat("x", 4097))
    valid("reason: 2048 two-byte characters", reason=repeat("é", 2048))
    valid("reason: 2049 two-byte characters", "attestation-reason-invalid", reason=repeat("é", 2049))
    valid("reason: an annotation", reason="path-truncated:context")
    valid("reason: hostile but printable", reason='"}\u202e,\u2028<script>')
    for name, char in [("nul", "\0"), ("tab", "\t"), ("line feed", "\n"), ("carriage return", "\r"),
                       ("escape", "\x1b"), ("delete", "\x7f"), ("next line", "\x85"), ("c1", "\x9b")]:
        valid("reason: " + name, "attestation-reason-invalid", reason="a%sb" % char)

    # Evidence.
    unexpected = "verdict-unit-unexpected-field"
    valid("unit empty", "verdict-unit-invalid", unit="")
    valid("unit unknown", "verdict-unit-invalid", unit="shrug")
    valid("confirm with evidence", unexpected, unit_payload_json=SEEN)
    valid("locations missing", "verdict-inspected-empty", verdict="fail",
          unit="record-locations-inspected")
    valid("locations with a note", unexpected, unit="record-locations-inspected",
          unit_payload_json='{"inspected":["a"],"residue":"x"}')
    valid("note missing", "verdict-unit-missing-field", unit="write-residue-note")
    valid("note blank once unescaped", "verdict-unit-missing-field", unit="write-residue-note",
          unit_payload_json='{"residue":"\\u0020\\n"}')
    valid("note at the default limit", unit="write-residue-note",
          unit_payload_json=repeat("x", 16384, '{"residue":"', '"}'))
    valid("note over the default limit", "verdict-residue-too-long", unit="write-residue-note",
          unit_payload_json=repeat("x", 16385, '{"residue":"', '"}'))
    few = {"max_residue_bytes": 4}
    valid("note at a limit, escapes count once", limits=few, unit="write-residue-note",
          unit_payload_json='{"residue":"\\u0041\\n\\"x"}')
    valid("note over a limit", "verdict-residue-too-long", limits=few, unit="write-residue-note",
          unit_payload_json='{"residue":"12345"}')
    valid("note over a limit in bytes", "verdict-residue-too-long", limits=few,
          unit="write-residue-note", unit_payload_json='{"residue":"\\u00e9\\u00e9x"}')

    little = "verdict-unit-insufficient"
    valid("fail confirmed", little, verdict="fail")
    for verdict in ("insufficient-basis", "accepted-risk", "route-upstream"):
        valid(verdict + " confirmed", little, verdict=verdict)
        valid(verdict + " with locations", little, verdict=verdict,
              unit="record-locations-inspected", unit_payload_json=SEEN)

    # Which fault is the first.
    broken = dict(attestation_id="", arrow_id="", op_id="", attested_by_role="", kind="", verdict="",
                  pass_id="", source_role="a__b", timestamp="", hint_json="", unit_payload_json="",
                  reason="\0", unit="")
    order = [
        ("attestation_id", "attestation-id-empty"),
        ("arrow_id", "attestation-arrow-id-empty"),
        ("op_id", "attestation-op-id-empty"),
        ("attested_by_role", "attestation-attested-by-role-empty"),
        ("kind", "attestation-kind-invalid"),
        ("verdict", "attestation-verdict-invalid"),
        ("pass_id", "attestation-pass-id-empty"),
        ("source_role", "attestation-role-invalid"),
        ("timestamp", "attestation-timestamp-invalid"),
        ("hint_json", "attestation-hint-malformed"),
        ("unit_payload_json", "attestation-payload-malformed"),
        ("reason", "attestation-reason-invalid"),
        ("unit", "verdict-unit-invalid"),
    ]
    for field, code in order:
        valid("first of the rest: " + field, code, **broken)
        del broken[field]
    valid("clause comes before verdict", "attestation-depth-type-requires-clause-id", clause_id="", verdict="")
    valid("self-cert comes before role names", own, adversary_role="analyst", target_role="a__b")
    valid("self-cert comes before time", own, attested_by_role="analyst", timestamp="")
    valid("evidence comes before sufficiency", unexpected, verdict="fail", unit_payload_json=SEEN)
    valid("too long comes before insufficient", "verdict-inspected-empty", verdict="accepted-risk",
          unit="record-locations-inspected")

    # Lines.
    def line(name, prev_chain="", code=None, **changes):
        out.add("encode-line", name, {"rec": record(**changes), "prev_chain": prev_chain}, code=code)

    line("line: first of a file")
    line("line: first of a file, zeros", "0" * 64)
    line("line: linked", CHAIN)
    line("line: everything empty", **{
        key: "" for key in record() if key not in ("timestamp", "grid_version")
    })
    line("line: largest version", grid_version=2**64 - 1)
    line("line: version doubles cannot hold", grid_version=2**53 + 1)
    line("line: json in strings", op_id='{"op":"x"}', hint_json='{"concept":"a \\"b\\""}',
         unit_payload_json='{"residue":"\\\\n"}')
    line("line: looks like a chain", reason='x","chain":"%s"}' % CHAIN)
    line("line: short escapes", reason="\b\f\n\r\t")
    line("line: every control", reason="".join(map(chr, range(0x20))))
    line("line: nothing more is escaped", reason="/\x7f\x80\u2028\u2029\ufeff<>&'")
    line("line: other scripts", context="zahlung/über", op_id="山田", reason="🦊\U0010ffff")
    line("line: quotes and backslashes everywhere", **{
        key: '\\"\\' for key in record() if key not in ("timestamp", "grid_version")
    })
    line("line: an invalid record still has a line", kind="x", verdict="", unit="?")
    line("line: init", attested_by_role="init", kind="on-the-spot", clause_id="")
    time = "attestation-timestamp-invalid"
    line("line: no time", code=time, timestamp="")
    line("line: time without fraction", code=time, timestamp="2026-03-04T10:11:12Z")
    line("line: time of no real day", code=time, timestamp="2026-02-30T10:11:12.000000000Z")
    line("line: time in nanoseconds", code=time, timestamp="1772619072123456789")
    for name, chain in [
        ("short", "5e" * 31), ("odd", "0" * 63), ("long", "0" * 65), ("upper case", "5E" * 32),
        ("blank", " "), ("no hex", "g" * 64), ("fullwidth", "０" * 64), ("line feed behind", "0" * 64 + "\n"),
        ("spaces around", " " + CHAIN + " "),
    ]:
        line("line: previous chain " + name, chain, "attestation-chain-invalid")
    # The line of the base record with an empty reason is 545 bytes long.
    rest = (1 << 20) - 545
    line("line: one byte below a mebibyte", reason=repeat("x", rest - 1))
    line("line: a mebibyte", reason=repeat("x", rest))
    line("line: a mebibyte and one", code="attestation-line-too-long", reason=repeat("x", rest + 1))
    line("line: a mebibyte by escaping", code="attestation-line-too-long", reason=repeat("\x01", 180_000))

    def annotated(name, reason, via="", substituted=(), expect=None):
        code = None if expect is not None else "attestation-reason-invalid"
        args = {"reason": reason, "via": via, "substituted": list(substituted)}
        out.add("annotate-reason", "annotate: " + name, args, expect=expect, code=code)

    annotated("nothing", "", expect="")
    annotated("nothing to add", " said ", expect=" said ")
    for way in ("terminal", "pipe", "command", "script"):
        annotated(way, "said", way, expect="said via:" + way)
    annotated("only the way", "", "pipe", expect="via:pipe")
    annotated("only a segment", "", "", ["pass-id"], expect="path-truncated:pass-id")
    annotated("everything", "said", "script", ["context", "stratum", "role-pair", "pass-id"],
              expect="said via:script path-truncated:context path-truncated:stratum"
                     " path-truncated:role-pair path-truncated:pass-id")
    annotated("3072 bytes", repeat("é", 1536), "terminal", expect="é" * 1536 + " via:terminal")
    annotated("3074 bytes", repeat("é", 1537))
    annotated("a control character", "a\nb")
    annotated("another way", "", "mail")
    annotated("another segment", "", "", ["version"])
    annotated("too many segments", "", "", ["context"] * 200)

    for number, verdict in enumerate(policy.SEVERITY, 1):
        out.add("verdict-severity", "severity: " + verdict, {"verdict": verdict}, expect=number)
    for verdict in ("", "skip", "PASS"):
        out.add("verdict-severity", "severity: no verdict " + repr(verdict), {"verdict": verdict}, expect=0)

    # Ids.
    for identity, ref, round in [
        ("att-A-C1-v1", "att-A-C1-v1", 1), ("att-A-C1-v1.r2", "att-A-C1-v1", 2),
        ("a.r1000000", "a", 1_000_000), ("a.r1000001", "a", 0), ("a.r1", "a", 0), ("a.r02", "a", 0),
        ("a.r0", "a", 0), ("a.r99999999999999999999", "a", 0), ("a.r2.r3", "a.r2", 3), ("a.r", "a.r", 1),
        (".r2", ".r2", 1), ("", "", 1), ("a.r2x", "a.r2x", 1), ("a.R2", "a.R2", 1), ("a.r２", "a.r２", 1),
        ("é.r7", "é", 7),
    ]:
        out.add("ref-and-round", "id taken apart: " + repr(identity), {"attestation_id": identity},
                expect={"attestation_ref": ref, "round": round})
    def named(name, expect, ref, round):
        out.add("attestation-id", name, {"attestation_ref": ref, "round": round}, expect=expect)

    named("id: first round", "att-A-C1-v1", "att-A-C1-v1", 1)
    named("id: second round", "att-A-C1-v1.r2", "att-A-C1-v1", 2)
    named("id: tenth round", "att-A-C1-v1.r10", "att-A-C1-v1", 10)
    named("id: largest round", "att-A-v1.r4294967295", "att-A-v1", 2**32 - 1)
    named("id: round zero is the first", "att-A-v1", "att-A-v1", 0)
    named("id: empty ref", ".r2", "", 2)
    named("id: ref that ends like a round", "a.r2.r3", "a.r2", 3)

    assert out.count("validate", "encode-line") >= 100
    return out

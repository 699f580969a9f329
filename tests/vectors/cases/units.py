"""The shape of evidence."""

from cases import Cases, repeat

UNEXPECTED = "verdict-unit-unexpected-field"
EMPTY = "verdict-inspected-empty"
MISSING = "verdict-unit-missing-field"
TOO_LONG = "verdict-residue-too-long"
INVALID = "verdict-unit-invalid"


def build():
    out = Cases("units")

    def unit(name, unit, inspected=(), residue="", most=0, code=None):
        out.add(
            "validate-unit-payload",
            name,
            {
                "unit": unit,
                "payload": {"inspected": list(inspected), "residue": residue},
                "max_residue_bytes": most,
            },
            code=code,
        )

    unit("confirm", "confirm")
    unit("confirm: a location", "confirm", ["a.rs:1"], code=UNEXPECTED)
    unit("confirm: a blank location", "confirm", [""], code=UNEXPECTED)
    unit("confirm: a residue", "confirm", residue="x", code=UNEXPECTED)
    unit("confirm: a blank residue", "confirm", residue=" ", code=UNEXPECTED)
    unit("confirm: both", "confirm", ["a.rs:1"], "x", code=UNEXPECTED)
    unit("confirm: too long a residue is unexpected", "confirm", residue="xx", most=1, code=UNEXPECTED)

    locations = "record-locations-inspected"
    unit("locations: one", locations, ["a.rs:1"])
    unit("locations: many", locations, ["l%d" % n for n in range(100)])
    unit("locations: twice the same", locations, ["a", "a"])
    unit("locations: one blank among others", locations, ["", "a", " "])
    unit("locations: non-ascii", locations, ["ä/ö:7"])
    unit("locations: hostile text", locations, ["../../etc\0\n\u202e"])
    unit("locations: zero-width space is not blank", locations, ["\u200b"])
    unit("locations: unit separator is not blank", locations, ["\x1f"])
    unit("locations: longer than any residue", locations, [repeat("x", 20_000)])
    unit("locations: none", locations, code=EMPTY)
    unit("locations: one empty", locations, [""], code=EMPTY)
    unit("locations: all blank", locations, ["", " ", "\t", "\u3000", "\u0085"], code=EMPTY)
    unit("locations: a residue", locations, ["a"], "x", code=UNEXPECTED)
    unit("locations: a blank residue", locations, ["a"], " ", code=UNEXPECTED)
    unit("locations: none and a residue", locations, [], "x", code=EMPTY)
    unit("locations: blank and a residue", locations, [" "], "x", code=EMPTY)

    note = "write-residue-note"
    unit("note", note, residue="looked at it")
    unit("note: with locations", note, ["a.rs:1"], "looked at it")
    unit("note: with blank locations", note, ["", " "], "looked at it")
    unit("note: one character", note, residue="x")
    unit("note: surrounded by blanks", note, residue=" \n x \n ")
    unit("note: several lines", note, residue="one\ntwo\n")
    unit("note: zero-width space is not blank", note, residue="\u200b")
    unit("note: none", note, code=MISSING)
    unit("note: blank", note, residue=" \t\n", code=MISSING)
    unit("note: no-break spaces", note, residue="\u00a0\u2003", code=MISSING)
    unit("note: locations but no note", note, ["a.rs:1"], code=MISSING)
    unit("note: blank and too long is missing", note, residue="     ", most=2, code=MISSING)
    unit("note: default limit less one", note, residue=repeat("x", 16383))
    unit("note: default limit", note, residue=repeat("x", 16384))
    unit("note: default limit and one", note, residue=repeat("x", 16385), code=TOO_LONG)
    unit("note: limit counts bytes", note, residue=repeat("é", 8192))
    unit("note: limit counts bytes, not characters", note, residue=repeat("é", 8193), code=TOO_LONG)
    unit("note: limit counts utf-8, not utf-16", note, residue=repeat("🦊", 4097), code=TOO_LONG)
    unit("note: smaller limit", note, residue="1234567890", most=10)
    unit("note: smaller limit and one", note, residue="1234567890x", most=10, code=TOO_LONG)
    unit("note: blanks around count", note, residue=" 12345678 x", most=10, code=TOO_LONG)
    unit("note: limit of one byte", note, residue="x", most=1)
    unit("note: larger limit", note, residue=repeat("x", 20_000), most=20_000)
    unit("note: largest limit", note, residue=repeat("x", 100_000), most=2**32 - 1)
    unit("note: locations do not count", note, [repeat("x", 100)], "x", most=1)

    for name, word in [
        ("empty", ""),
        ("blank", " "),
        ("unknown", "shrug"),
        ("upper case", "CONFIRM"),
        ("space before", " confirm"),
        ("space behind", "confirm "),
        ("snake case", "write_residue_note"),
        ("part", "record-locations"),
        ("nul behind", "confirm\0"),
        ("a verdict", "pass"),
    ]:
        unit("unit " + name, word, code=INVALID)
    unit("unit unknown, with evidence", "shrug", ["a"], "x", code=INVALID)
    unit("unit long", repeat("confirm", 1000), code=INVALID)

    def encode(name, expect, inspected=(), residue=""):
        payload = {"inspected": list(inspected), "residue": residue}
        out.add("encode-unit-payload", name, {"payload": payload}, expect=expect)

    encode("payload: empty", "{}")
    encode("payload: one location", '{"inspected":["a.rs:1-2"]}', ["a.rs:1-2"])
    encode("payload: two locations", '{"inspected":["a","b"]}', ["a", "b"])
    encode("payload: a blank location stays", '{"inspected":[""]}', [""])
    encode("payload: note", '{"residue":"x"}', residue="x")
    encode("payload: both", '{"inspected":["a"],"residue":"x"}', ["a"], "x")
    encode("payload: a blank note stays", '{"residue":" "}', residue=" ")
    encode("payload: quotes", '{"inspected":["\\""],"residue":"\\\\"}', ['"'], "\\")
    encode("payload: line ends", '{"residue":"a\\nb\\r\\tc"}', residue="a\nb\r\tc")
    encode("payload: every control", None, residue="".join(map(chr, range(0x21))))
    encode("payload: controls in long form", '{"residue":"\\u0001\\u001b\\u001f"}', residue="\x01\x1b\x1f")
    encode("payload: nothing more", '{"residue":"/\x7f\u2028é🦊"}', residue="/\x7f\u2028é🦊")
    def read(name, text, code=None, inspected=(), residue=""):
        whole = None if code else {"inspected": list(inspected), "residue": residue}
        out.add("decode-unit-payload", "read: " + name, {"text": text}, expect=whole, code=code)

    bad = "attestation-payload-malformed"
    read("empty", "{}")
    read("both", '{"inspected":["a","b"],"residue":"x"}', None, ["a", "b"], "x")
    read("spaced and escaped", '{ "residue" : "\\u0041\\n" }', None, (), "A\n")
    read("no object", "[]", bad)
    read("unknown key", '{"note":"x"}', bad)
    read("twice", '{"residue":"x","residue":"x"}', bad)
    read("half a surrogate pair", '{"residue":"\\ud800"}', bad)
    read("long", repeat("x", 30_000, '{"residue":"', '"}'), None, (), "x" * 30_000)

    def infer(name, expect, inspected=(), residue=""):
        payload = {"inspected": list(inspected), "residue": residue}
        out.add("infer-unit", "infer: " + name, {"payload": payload}, expect=expect)

    infer("nothing", "confirm")
    infer("locations", locations, ["a"])
    infer("a blank location", locations, [""])
    infer("a note", note, (), "x")
    infer("a blank note", note, (), " ")
    infer("both", note, ["a"], "x")

    return out

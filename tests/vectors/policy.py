"""The policy a second time, from the contract alone.

The expected values in the vectors come from here and not from the component,
so that a mistake has to be made twice, in two languages, to go unseen. Plain
and slow on purpose: every function is one rule of the contract, in its order.
Python's standard library only.
"""

import hashlib
import json
import re

ZERO_CHAIN = "0" * 64
MAX_COMPONENT = 255
MAX_OP_ID = 256
MAX_REASON = 4096
MAX_LINE = 1 << 20
DEFAULT_RESIDUE = 16384

KINDS = ("depth-type", "on-the-spot")
UNITS = ("confirm", "record-locations-inspected", "write-residue-note")
# The least unit each verdict needs, as an index into UNITS.
NEEDED_UNIT = {
    "pass": 0,
    "fail": 1,
    "insufficient-basis": 2,
    "accepted-risk": 2,
    "route-upstream": 2,
}
FIELDS = (
    "attestation_id kind arrow_id clause_id op_id attested_by_role source_role "
    "target_role adversary_role verdict reason timestamp grid_version pass_id "
    "context stratum unit unit_payload_json hint_json"
).split()


class Refused(Exception):
    """The policy says no; `code` is the whole of what vectors compare."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


# --- characters -------------------------------------------------------------

# Unicode's White_Space property; Python's own `str.strip` knows a few more.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
# Unicode's general category Cf, written out because `unicodedata` is only as
# new as the Python it came with.
FORMAT_RANGES = (
    (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F),
    (0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0001, 0xE0001), (0xE0020, 0xE007F),
)


def trim(text):
    return text.strip(WHITE_SPACE)


def blank(text):
    return trim(text) == ""


def same(one, other):
    """How roles are compared: trimmed, in any case."""
    return trim(one).lower() == trim(other).lower()


def is_control(char):
    return ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F


def is_format(char):
    return any(low <= ord(char) <= high for low, high in FORMAT_RANGES)


def size(text):
    return len(text.encode("utf-8"))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# --- JSON -------------------------------------------------------------------

SHORT_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f",
    "\n": "\\n", "\r": "\\r", "\t": "\\t",
}


def json_string(text):
    """Escaped as JSON requires and no further."""
    parts = []
    for char in text:
        if char in SHORT_ESCAPES:
            parts.append(SHORT_ESCAPES[char])
        elif ord(char) < 0x20:
            parts.append("\\u%04x" % ord(char))
        else:
            parts.append(char)
    return '"' + "".join(parts) + '"'


def parse_object(text):
    """The object a JSON text holds as a list of pairs, or None."""

    def pairs(items):
        return Pairs(items)

    def no_constant(name):
        raise ValueError(name)

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=no_constant)
    except ValueError:
        return None
    return value if isinstance(value, Pairs) else None


class Pairs(list):
    """An object's members in order, duplicates kept."""


# --- hints and names ----------------------------------------------------------


def synthesize_hint(c, definition):
    return {
        "arrow_id": definition["id"],
        "clause_id": c["clause_id"],
        "concept": c["concept"],
        "attestation_ref": c["depth_type_attestation_ref"],
    }


def encode_members(members):
    return "{" + ",".join(json_string(key) + ":" + value for key, value in members) + "}"


def encode_hint(h):
    keys = ("arrow_id", "clause_id", "concept", "attestation_ref")
    return encode_members([(key, json_string(h[key])) for key in keys if h[key] != ""])


def attestation_ref(arrow_id, clause_id, grid_version):
    parts = ["att", arrow_id] + ([clause_id] if clause_id != "" else [])
    return "-".join(parts) + "-v%d" % grid_version


def attestation_id(ref, round):
    return ref if round < 2 else "%s.r%d" % (ref, round)


def split_id(identity):
    """An id's ref and round."""
    match = re.fullmatch(r"(.+)\.r([1-9][0-9]{0,9})", identity, re.DOTALL)
    if match and 2 <= int(match[2]) < 1 << 32:
        return match[1], int(match[2])
    return identity, 1


# --- evidence -----------------------------------------------------------------


def validate_unit_payload(unit, payload, max_residue_bytes):
    inspected, residue = payload["inspected"], payload["residue"]
    if unit == "confirm":
        if inspected or residue:
            raise Refused("verdict-unit-unexpected-field")
    elif unit == "record-locations-inspected":
        if all(blank(location) for location in inspected):
            raise Refused("verdict-inspected-empty")
        if residue:
            raise Refused("verdict-unit-unexpected-field")
    elif unit == "write-residue-note":
        if blank(residue):
            raise Refused("verdict-unit-missing-field")
        if size(residue) > (max_residue_bytes or DEFAULT_RESIDUE):
            raise Refused("verdict-residue-too-long")
    else:
        raise Refused("verdict-unit-invalid")


def encode_unit_payload(payload):
    members = []
    if payload["inspected"]:
        items = ",".join(json_string(location) for location in payload["inspected"])
        members.append(("inspected", "[" + items + "]"))
    if payload["residue"]:
        members.append(("residue", json_string(payload["residue"])))
    return encode_members(members)


def parse_payload(text):
    """The payload a record carries, or None when it is none."""
    members = parse_object(text)
    payload = {"inspected": [], "residue": ""}
    if members is None or len({key for key, _ in members}) != len(members):
        return None
    for key, value in members:
        if key == "inspected":
            if type(value) is not list or not all(map(is_text, value)):
                return None
        elif key != "residue" or not is_text(value):
            return None
        payload[key] = value
    return payload


def is_text(value):
    """Whether a JSON value is a string that text can hold: JSON can also spell
    half a surrogate pair."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


# --- paths ----------------------------------------------------------------------

DEVICES = {"con", "prn", "aux", "nul"} | {
    name + str(number) for name in ("com", "lpt") for number in range(1, 10)
}


def component(value, prefix="", suffix=""):
    """A value as a component of a path, and whether it had to be hashed."""
    segment = re.sub(r"[^A-Za-z0-9._-]", "_", value)
    if segment.endswith("."):
        segment = segment[:-1] + "_"
    hashed = (
        value in ("", ".", "..")
        or any(is_control(char) or ord(char) > 0x7F for char in value)
        or value.split(".")[0].lower() in DEVICES
        or len(prefix + segment + suffix) > MAX_COMPONENT
    )
    if hashed:
        segment = "h-" + sha256(value.encode("utf-8"))[:32]
    return prefix + segment + suffix, hashed


def encode_attestation_path(rec):
    if blank(rec["pass_id"]):
        raise Refused("attestation-pass-id-empty")
    if same(rec["attested_by_role"], "init"):
        context = stratum = pair = "init"
    else:
        context, stratum = rec["context"], rec["stratum"]
        check_role_names(rec)
        check_adversary(rec)
        roles = [rec["source_role"], rec["adversary_role"], rec["target_role"]]
        if roles[1] == "":
            del roles[1]
        pair = "__".join(roles)
    parts = [
        ("context", component(context)),
        ("stratum", component(stratum, prefix="stratum-")),
        ("role-pair", component(pair)),
        ("pass-id", component(rec["pass_id"], suffix=".jsonl")),
    ]
    substituted = [name for name, (_, hashed) in parts if hashed]
    return {
        "path": "/".join(["v%d" % rec["grid_version"]] + [text for _, (text, _) in parts]),
        "truncated": bool(substituted),
        "substituted": substituted,
    }


def check_role_names(rec):
    for role in ("source_role", "target_role", "adversary_role"):
        if "__" in rec[role]:
            raise Refused("attestation-role-invalid")


def check_adversary(rec):
    adversary = rec["adversary_role"]
    if adversary != "" and any(same(adversary, rec[r]) for r in ("source_role", "target_role")):
        raise Refused("attestation-self-cert-forbidden")


# --- operators --------------------------------------------------------------------


def validate_op_id(op_id):
    if blank(op_id):
        raise Refused("op-id-required")
    if size(op_id) > MAX_OP_ID:
        raise Refused("op-id-too-long")
    if (
        any(is_control(c) or c in WHITE_SPACE or c in "/\\" or is_format(c) for c in op_id)
        or ".." in op_id
        or op_id[0] in ".-"
        or op_id[-1] == "."
    ):
        raise Refused("op-id-invalid-characters")


# --- records ------------------------------------------------------------------------


def days_in_month(year, month):
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def real_time(text, fraction):
    """Whether the text is an RFC 3339 UTC time whose fraction matches."""
    match = re.fullmatch(
        r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})" + fraction + "Z", text
    )
    if not match:
        return False
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    return (
        1 <= month <= 12
        and 1 <= day <= days_in_month(year, month)
        and hour <= 23
        and minute <= 59
        and second <= 59
    )


def strict_time(text):
    return real_time(text, r"\.[0-9]{9}")


def faults(rec, limits, unit_absent=False, pass_optional=False):
    """Every code a record earns, in the contract's order."""
    found = []

    def fault(broken, code):
        if broken:
            found.append(code)

    fault(blank(rec["attestation_id"]), "attestation-id-empty")
    fault(blank(rec["arrow_id"]), "attestation-arrow-id-empty")
    if blank(rec["op_id"]):
        found.append("attestation-op-id-empty")
    else:
        found += refusals(validate_op_id, rec["op_id"])
    fault(blank(rec["attested_by_role"]), "attestation-attested-by-role-empty")
    kind, clause = rec["kind"], rec["clause_id"]
    fault(kind not in KINDS, "attestation-kind-invalid")
    fault(kind == "depth-type" and blank(clause), "attestation-depth-type-requires-clause-id")
    fault(kind == "on-the-spot" and clause != "", "attestation-on-the-spot-rejects-clause-id")
    fault(rec["verdict"] not in NEEDED_UNIT, "attestation-verdict-invalid")
    fault(blank(rec["pass_id"]) and not pass_optional, "attestation-pass-id-empty")
    by = rec["attested_by_role"]
    init = same(by, "init")
    ends = (rec["source_role"], rec["target_role"])
    own = not blank(by) and any(same(by, role) for role in ends)
    fault(own, "attestation-self-cert-forbidden")
    if not init:
        found += refusals(check_adversary, rec) + refusals(check_role_names, rec)
    fault(not strict_time(rec["timestamp"]), "attestation-timestamp-invalid")
    fault(parse_object(rec["hint_json"]) is None, "attestation-hint-malformed")
    payload = parse_payload(rec["unit_payload_json"])
    fault(payload is None, "attestation-payload-malformed")
    reason = rec["reason"]
    too_long = size(reason) > MAX_REASON
    fault(too_long or any(map(is_control, reason)), "attestation-reason-invalid")
    if unit_absent:
        fault(payload not in (None, EMPTY_PAYLOAD), "verdict-unit-unexpected-field")
        return found
    unit = rec["unit"]
    if payload is not None:
        found += refusals(validate_unit_payload, unit, payload, limits["max_residue_bytes"])
    elif unit not in UNITS:
        found.append("verdict-unit-invalid")
    needed = NEEDED_UNIT.get(rec["verdict"])
    if needed is not None and unit in UNITS:
        fault(UNITS.index(unit) < needed, "verdict-unit-insufficient")
    return found


EMPTY_PAYLOAD = {"inspected": [], "residue": ""}


def refusals(rule, *arguments):
    try:
        rule(*arguments)
    except Refused as refused:
        return [refused.code]
    return []


def validate(rec, limits):
    found = faults(rec, limits)
    if found:
        raise Refused(found[0])


def object_text(rec):
    """The record's object without its chain."""
    members = []
    for key in FIELDS:
        value = rec[key]
        members.append((key, "%d" % value if key == "grid_version" else json_string(value)))
    return encode_members(members)


def with_chain(text, chain):
    return text[:-1] + ',"chain":"' + chain + '"}'


def link(previous, raw):
    return sha256((previous or ZERO_CHAIN).encode("ascii") + raw)


def encode_line(rec, prev_chain):
    if not strict_time(rec["timestamp"]):
        raise Refused("attestation-timestamp-invalid")
    if prev_chain != "" and not re.fullmatch("[0-9a-f]{64}", prev_chain):
        raise Refused("attestation-chain-invalid")
    text = object_text(rec)
    chain = link(prev_chain, text.encode("utf-8"))
    line = with_chain(text, chain) + "\n"
    if size(line) > MAX_LINE:
        raise Refused("attestation-line-too-long")
    return {"line": line, "chain": chain}

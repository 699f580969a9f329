"""The policy a second time, from the contract alone.

The expected values in the vectors come from here and not from the component,
so that a mistake has to be made twice, in two languages, to go unseen. Plain
and slow on purpose: every function is one rule of the contract, in its order.
Python's standard library only.
"""

import hashlib
import json
import re
import unicodedata

ZERO_CHAIN = "0" * 64
MAX_COMPONENT = 255
MAX_OP_ID = 256
MAX_REASON = 4096
MAX_CALLER_REASON = 3072
MAX_STATEMENT = 4096
MAX_ROUND = 1_000_000
MAX_VERSION = (1 << 53) - 1
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
# Default_Ignorable_Code_Point, unassigned ones included.
IGNORABLE_RANGES = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)
# Of these, what stands for no character (yet); the rest is marks and letters.
IGNORABLE_UNASSIGNED = (
    (0x2065, 0x2065), (0xFFF0, 0xFFF8), (0xE0000, 0xE0000), (0xE0002, 0xE001F), (0xE0080, 0xE00FF),
    (0xE01F0, 0xE0FFF),
)
# Drawn as nothing though no property says so: braille without dots, the Khitan
# filler, the null notehead, two Egyptian blanks.
BLANK_LOOKING = "\u2800\U00016fe4\U0001d159\U00013441\U00013442"
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
    return role_key(one) == role_key(other)


def is_control(char):
    return ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F


def within(char, ranges):
    return any(low <= ord(char) <= high for low, high in ranges)


def is_unseen(char):
    """Whether an id may not contain it, for it cannot be seen. A plain blank can."""
    return (
        is_control(char)
        or within(char, FORMAT_RANGES)
        or within(char, IGNORABLE_RANGES)
        or char in BLANK_LOOKING
        or char in WHITE_SPACE and char != " "
    )


def unshown():
    """Ranges of what text that is shown may not contain."""
    parts = [(0, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), *FORMAT_RANGES, *IGNORABLE_UNASSIGNED]
    ranges = []
    for start, end in sorted(parts):
        if ranges and start <= ranges[-1]["end"] + 1:
            ranges[-1]["end"] = max(end, ranges[-1]["end"])
        else:
            ranges.append({"start": start, "end": end})
    return ranges


def is_nfc(text):
    return unicodedata.normalize("NFC", text) == text


# Of the standard's confusables.txt what the cases need, each by its prototype.
CONFUSABLES = {
    "0": "O", "1": "l", "I": "l", "|": "l", "m": "rn", "\u0430": "a", "\u0435": "e",
    "\u0440": "p", "\u0443": "y", "\u0445": "x", "\u0410": "A", "\u0391": "A", "\u03bf": "o",
    "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2212": "-", "\U0001d41a": "a",
    "\uff21": "A", "\u2024": ".", "\u00a0": " ", "\u2003": " ", "\u2225": "ll",
}


def skeleton(text):
    """UTS 39: decompose, drop what is not seen, take each one's prototype, decompose."""
    seen = [c for c in unicodedata.normalize("NFD", text) if not within(c, IGNORABLE_RANGES)]
    return unicodedata.normalize("NFD", "".join(CONFUSABLES.get(c, c) for c in seen))


def role_key(role):
    return trim(role).lower()


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
        **{key: c[key] for key in ("subject", "locations", "basis", "residue")},
    }


def encode_members(members):
    return "{" + ",".join(json_string(key) + ":" + value for key, value in members) + "}"


def encode_hint(h):
    spell = {key: json_string for key in HINT_KEYS}
    spell["locations"] = json_list
    return encode_members([(key, spell[key](h[key])) for key in HINT_KEYS if h[key]])


HINT_KEYS = (
    "arrow_id clause_id concept attestation_ref subject locations basis residue"
).split()


def json_list(texts):
    return "[" + ",".join(map(json_string, texts)) + "]"


def hint_members(text):
    """What a hint says of the keys that mean something; None if it is malformed."""
    members = parse_object(text)
    if members is None:
        return None
    given = {}
    for key, value in members:
        if key not in HINT_KEYS:
            continue
        if key in given:
            return None
        if key == "locations":
            if type(value) is not list or not all(map(is_text, value)) or len(value) > 64:
                return None
            if any(size(location) > 1024 for location in value):
                return None
        elif not is_text(value):
            return None
        given[key] = value
    if any(size(given.get(key, "")) > MAX_STATEMENT for key in ("basis", "residue")):
        return None
    if "subject" in given and not re.fullmatch("[0-9a-f]{64}", given["subject"]):
        return None
    return given


def decode_hint(text):
    given = hint_members(text)
    if given is None:
        raise Refused("attestation-hint-malformed")
    return {key: given.get(key, [] if key == "locations" else "") for key in HINT_KEYS}


def is_hint_of(rec):
    given = hint_members(rec["hint_json"])
    return given is not None and all(
        given.get(key, rec[key]) == rec[key] for key in ("arrow_id", "clause_id")
    )


def attestation_ref(arrow_id, clause_id, grid_version):
    parts = ["att", arrow_id] + ([clause_id] if clause_id != "" else [])
    return "-".join(parts) + "-v%d" % grid_version


def attestation_id(ref, round):
    return ref if round < 2 else "%s.r%d" % (ref, round)


def split_id(identity):
    """An id's ref and round."""
    match = re.fullmatch(r"(.+)\.r([0-9]+)", identity, re.DOTALL)
    if not match:
        return identity, 1
    ref, digits = match[1], match[2]
    counted = not digits.startswith("0") and len(digits) <= 7 and 2 <= int(digits) <= MAX_ROUND
    return ref, int(digits) if counted else 0


def ref_and_round(identity):
    ref, round = split_id(identity)
    return {"attestation_ref": ref, "round": round}


def annotate_reason(reason, via, substituted):
    parts = [reason] if reason else []
    if via:
        parts.append("via:" + via)
    parts += ["path-truncated:" + segment for segment in substituted]
    whole = " ".join(parts)
    if (
        size(reason) > MAX_CALLER_REASON
        or any(map(is_control, reason))
        or via not in ("", "terminal", "pipe", "command", "script")
        or set(substituted) - {"context", "stratum", "role-pair", "pass-id"}
        or size(whole) > MAX_REASON
    ):
        raise Refused("attestation-reason-invalid")
    return whole


SEVERITY = ("pass", "accepted-risk", "insufficient-basis", "fail", "route-upstream")


def verdict_severity(verdict):
    return SEVERITY.index(verdict) + 1 if verdict in SEVERITY else 0


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


def decode_unit_payload(text):
    payload = parse_payload(text)
    if payload is None:
        raise Refused("attestation-payload-malformed")
    return payload


def infer_unit(payload):
    return UNITS[2 if payload["residue"] else 1 if payload["inspected"] else 0]


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


def belong(folder, names):
    """Which names can be, below the folder, a path or on the way to one."""
    before = folder.split("/") if folder else []
    good = all(fits(before[:n], part) for n, part in enumerate(before)) and len(before) < 5
    return [good and fits(before, name) for name in names]


def fits(before, name):
    """Whether a record has a path that goes on with the name."""
    depth = len(before)
    if depth == 0:
        # Older lines that name no grid stand below v0.
        return bool(re.fullmatch("v(0|[1-9][0-9]*)", name)) and int(name[1:]) <= MAX_VERSION
    prefix = "stratum-" if depth == 2 else ""
    suffix = ".jsonl" if depth == 4 else ""
    if depth > 4 or len(name) < len(prefix + suffix):
        return False
    value = name[len(prefix):len(name) - len(suffix)]
    # A value that comes out as itself is one that came out as this.
    if component(value, prefix, suffix) != (name, False):
        return False
    if depth != 3:
        return True
    if name == "init":
        return before[1:] == ["init", "stratum-init"]
    return "__" in name or bool(re.fullmatch("h-[0-9a-f]{32}", name))


# --- operators --------------------------------------------------------------------


def validate_op_id(op_id):
    if blank(op_id):
        raise Refused("op-id-required")
    if size(op_id) > MAX_OP_ID:
        raise Refused("op-id-too-long")
    if (
        any(c in " /\\" or is_unseen(c) for c in op_id)
        or not is_nfc(op_id)
        or ".." in op_id
        or op_id[0] in ".-"
        or op_id[-1] == "."
    ):
        raise Refused("op-id-invalid-characters")


def check_grid_id(id):
    if any(map(is_unseen, id)) or id.startswith(" ") or id.endswith(" ") or not is_nfc(id):
        raise Refused("grid-id-invalid-characters")


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


def faults(rec, limits, unit_absent=False, version_absent=False, pass_optional=False):
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
    fault(not is_hint_of(rec), "attestation-hint-malformed")
    payload = parse_payload(rec["unit_payload_json"])
    fault(payload is None, "attestation-payload-malformed")
    reason = rec["reason"]
    too_long = size(reason) > MAX_REASON
    fault(too_long or any(map(is_control, reason)), "attestation-reason-invalid")
    if unit_absent:
        fault(payload not in (None, EMPTY_PAYLOAD), "verdict-unit-unexpected-field")
    else:
        found += evidence_faults(rec, payload, limits)
    fault(split_id(rec["attestation_id"])[1] == 0, "attestation-id-malformed")
    fault(not (version_absent or 1 <= rec["grid_version"] <= MAX_VERSION), "attestation-grid-version-invalid")
    return found


def evidence_faults(rec, payload, limits):
    found = []
    unit = rec["unit"]
    if payload is not None:
        found += refusals(validate_unit_payload, unit, payload, limits["max_residue_bytes"])
    elif unit not in UNITS:
        found.append("verdict-unit-invalid")
    needed = NEEDED_UNIT.get(rec["verdict"])
    if needed is not None and unit in UNITS:
        if UNITS.index(unit) < needed:
            found.append("verdict-unit-insufficient")
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

"""`check-lines` a second time: a whole file, judged from the contract alone.

There are no chunks here. That a file cut into chunks comes to the same
judgement is what the vectors ask of the component.

Where the contract leaves a choice, this is the one taken: a line that is no
record has no ref and round 0; a line links to what the one before it states,
however broken; an overlong line and a partial one leave the chain as it was,
and the cursor stands in front of the partial one; a line's problems are its
chain, its form, its content and its place, but for what is no record at all,
where its form comes first.
"""

import re

import policy
from policy import FIELDS, MAX_LINE, Refused

MAX_U64 = (1 << 64) - 1
MALFORMED = "attestation-line-malformed"
PARTIAL = "attestation-line-partial"
BROKEN = "attestation-chain-broken"


def check_file(data, cursor, limits):
    """Every line from where the cursor stands, and where it stands then.

    The cursor's surface is `"flat"` or `{"tree": path}`.
    """
    lines, chain = [], cursor["chain"]
    offset = 0
    for raw in data.split(b"\n"):
        ended = offset + len(raw) < len(data)
        length = len(raw) + ended
        if not ended and (length == 0 or not cursor["at_end"]):
            break
        overlong = len(raw) + 1 > MAX_LINE
        if not ended:
            line = no_record(chain, [PARTIAL] + [MALFORMED] * overlong)
        elif overlong:
            line = no_record(chain, [MALFORMED])
        else:
            line = check_line(raw, chain, cursor["surface"], limits)
        place = {
            "number": cursor["lines"] + len(lines) + 1,
            "offset": cursor["bytes"] + offset,
            "length": length,
        }
        lines.append({**place, **line})
        if ended:
            chain = line["chain"]
            offset += length
    whole = sum(PARTIAL not in line["problems"] for line in lines)
    return {
        "lines": lines,
        "cursor": {
            "bytes": cursor["bytes"] + offset,
            "lines": cursor["lines"] + whole,
            "chain": chain,
        },
    }


def no_record(chain, problems, chained=False):
    return {
        "rec": None,
        "attestation_ref": "",
        "round": 0,
        "chain": chain,
        "chained": chained,
        "path": "",
        "problems": problems,
        "warnings": [],
    }


def check_line(raw, previous, surface, limits):
    tree = surface["tree"] if surface != "flat" else None
    # A chain is checked on the bytes as they are, whatever they mean.
    ending = re.search(rb',"chain":"([0-9a-f]{64})"}$', raw)
    ending_chain = ending[1].decode() if ending else None
    problems = []
    if ending and tree is not None:
        if policy.link(previous, raw[: ending.start()] + b"}") != ending_chain:
            problems.append(BROKEN)
    parsed = parse_line(raw)
    if parsed is None:
        chain = ending_chain or policy.link(previous, raw)
        return no_record(chain, [MALFORMED] + problems, chained=bool(ending))
    rec, absent, stated, number = parsed
    chained = stated is not None
    is_chain = chained and re.fullmatch("[0-9a-f]{64}", stated)
    if chained and not (is_chain and canonical(rec, stated, number) == raw):
        problems.append(MALFORMED)
    if not chained:
        rec["timestamp"] = nine_digits(rec["timestamp"])
    problems += policy.faults(
        rec,
        limits,
        unit_absent="unit" in absent,
        version_absent="grid_version" in absent,
        pass_optional=tree is None and not chained and rec["pass_id"] == "",
    )
    try:
        path = policy.encode_attestation_path(rec)["path"]
    except Refused:
        path = ""
    if tree is not None and path not in ("", tree):
        problems.append("attestation-path-mismatch")
    ref, round = policy.split_id(rec["attestation_id"])
    return {
        "rec": rec,
        "attestation_ref": ref,
        "round": round,
        "chain": stated if is_chain else policy.link(previous, raw),
        "chained": chained,
        "path": path,
        "problems": problems,
        "warnings": [] if chained else ["attestation-chain-absent"],
    }


def canonical(rec, chain, number):
    """The bytes of the line this record is written as."""
    text = policy.object_text(rec)
    if number is not None:
        text = text.replace('"timestamp":"%s"' % rec["timestamp"], '"timestamp":%d' % number, 1)
    return policy.with_chain(text, chain).encode("utf-8")


def nine_digits(time):
    """A legacy line's time may have fewer digits; as a record it has all."""
    if not policy.real_time(time, r"(\.[0-9]{1,9})?"):
        return time
    whole, _, fraction = time[:-1].partition(".")
    return "%s.%sZ" % (whole, fraction.ljust(9, "0"))


def parse_line(raw):
    """The record of a line, the keys it lacks, its chain, and its time where that
    is a number; None if it is no record."""
    if raw.endswith(b"\r"):
        return None
    try:
        members = policy.parse_object(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    if members is None:
        return None
    given = dict(members)
    if len(given) != len(members) or given.keys() - {*FIELDS, "chain"}:
        return None
    rec = {key: "" for key in FIELDS}
    rec.update(grid_version=0, unit_payload_json="{}", hint_json="{}")
    for key, value in given.items():
        number = type(value) is int
        if key == "grid_version":
            if not number or not 0 <= value <= MAX_U64:
                return None
        elif key == "timestamp" and number:
            if not -(1 << 63) <= value <= MAX_U64:
                return None
            value = unix_time(value)
        elif not policy.is_text(value):
            return None
        if key != "chain":
            rec[key] = value
    number = given["timestamp"] if type(given.get("timestamp")) is int else None
    return rec, rec.keys() - given.keys(), given.get("chain"), number


def unix_time(nanos):
    """Nanoseconds since 1970 as RFC 3339, by counting years and months."""
    seconds, fraction = divmod(nanos, 10**9)
    days, second = divmod(seconds, 86400)
    year, month = 1970, 1
    while days < 0:
        year -= 1
        days += year_length(year)
    while days >= year_length(year):
        days -= year_length(year)
        year += 1
    while days >= policy.days_in_month(year, month):
        days -= policy.days_in_month(year, month)
        month += 1
    return "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ" % (
        year, month, days + 1, second // 3600, second // 60 % 60, second % 60, fraction
    )


def year_length(year):
    return sum(policy.days_in_month(year, month) for month in range(1, 13))

"""The ghyll policy component in Python: load it, call it.

    policy = Policy("guest/ghyll-policy.wasm")
    policy.call("operators", "validate-op-id", "alice@example.com")

Values are plain: a WIT record is a dict with `_` for `-` in its keys, a list of
bytes is `bytes`, an option is the value or None, and a cursor's surface is
`"flat"` or `{"tree": path}`. An error of the policy is raised as `PolicyError`.
"""

import json

import wasmtime
from wasmtime import component as wit

PACKAGE = "ghyll:policy"
VERSION = "0.2.0"
# What the contract says a call may need.
MEMORY_LIMIT = 128 << 20


class PolicyError(Exception):
    """The policy refuses. `code` is stable, `detail` is for people."""

    def __init__(self, code, detail):
        super().__init__("%s: %s" % (code, detail))
        self.code = code
        self.detail = detail


class Policy:
    def __init__(self, file):
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        self.store.set_limits(memory_size=MEMORY_LIMIT)
        loaded = wit.Component.from_file(engine, str(file))
        # An empty linker: the component imports nothing, so it can do nothing.
        self.instance = wit.Linker(engine).instantiate(self.store, loaded)
        self.functions = {}

    def call(self, interface, function, *arguments):
        call, parameters, result = self.function(interface, function)
        lowered = [lower(value, type) for value, (_, type) in zip(arguments, parameters)]
        answer = call(self.store, *lowered)
        call.post_return(self.store)
        if isinstance(result, wit.ResultType):
            # Told apart by a tag only where both sides are of one Python type.
            if isinstance(answer, wit.Variant):
                failed, answer = answer.tag == "err", answer.payload
            else:
                failed = isinstance(answer, wit.Record)
            if failed:
                raise PolicyError(answer.code, answer.detail)
        return lift(answer)

    def parameters(self, interface, function):
        """The names of a function's parameters."""
        return [name.replace("-", "_") for name, _ in self.function(interface, function)[1]]

    def function(self, interface, function):
        key = (interface, function)
        if key not in self.functions:
            name = "%s/%s@%s" % (PACKAGE, interface, VERSION)
            outer = self.instance.get_export_index(self.store, name)
            inner = outer and self.instance.get_export_index(self.store, function, outer)
            if not inner:
                raise LookupError("the component exports no %s#%s" % (name, function))
            found = self.instance.get_func(self.store, inner)
            type = found.type(self.store)
            self.functions[key] = (found, type.params, type.result)
        return self.functions[key]


def lower(value, type):
    """A plain value as wasmtime takes it for a WIT type."""
    if isinstance(type, wit.RecordType):
        record = wit.Record()
        for name, field in type.fields:
            setattr(record, name, lower(value[name.replace("-", "_")], field))
        return record
    if isinstance(type, wit.VariantType):
        # The one variant there is: a surface, by its case or its case's value.
        return value["tree"] if isinstance(value, dict) else None
    return value


def lift(value):
    """What wasmtime gives as a plain value."""
    if isinstance(value, wit.Variant):
        # The one variant of records there is: what a line holds.
        return {value.tag: lift(value.payload)}
    if isinstance(value, wit.Record):
        plain = {name.replace("-", "_"): lift(field) for name, field in vars(value).items()}
        if "surface" in plain:
            plain["surface"] = "flat" if plain["surface"] is None else {"tree": plain["surface"]}
        return plain
    if isinstance(value, list):
        return [lift(item) for item in value]
    return value


FIELDS = (
    "attestation_id kind arrow_id clause_id op_id attested_by_role source_role "
    "target_role adversary_role verdict reason timestamp grid_version pass_id "
    "context stratum unit unit_payload_json hint_json"
).split()


def line_of(checked, line, chunk, origin):
    """A judged line with what it says: `rec` (None without a record),
    `attestation_ref`, `chain`, and `path` itself.

    The component says where the values of an ordinary line stand, so they are
    read from the chunk it was given, which stands at `origin` in its file.
    """
    plain = {key: value for key, value in line.items() if key != "content"}
    index = line["path"]
    plain["path"] = "" if index is None else checked["paths"][index]
    (holds, content), = line["content"].items()
    if holds == "no-record":
        return {**plain, "rec": None, "attestation_ref": "", "chain": content}
    if holds == "other":
        return {**plain, **content}
    start = line["offset"] - origin

    def text(span):
        at = start + span["offset"]
        return json.loads(b'"%s"' % chunk[at:at + span["length"]])

    rec = {key: text(content[key]) for key in FIELDS}
    rec["grid_version"] = int(rec["grid_version"])
    return {**plain, "rec": rec, "attestation_ref": text(content["attestation_ref"]), "chain": text(content["chain"])}


def check_lines(policy, chunk, cursor, limits):
    """`check-lines`, with what each line says."""
    checked = policy.call("records", "check-lines", chunk, cursor, limits)
    lines = [line_of(checked, line, chunk, cursor["bytes"]) for line in checked["lines"]]
    return {**checked, "lines": lines}

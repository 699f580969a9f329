//! The grid: its files, its YAML and what it declares.

use super::pages;

pages! {
    GRID_POINTER_MISSING = "grid-pointer-missing": ".ghyll/grid.current is not there, so no grid is in force.",
        "Restore it from version control (in a sparse checkout, `git sparse-checkout add .ghyll`); it is one line, such as v1.";
    GRID_POINTER_MALFORMED = "grid-pointer-malformed": ".ghyll/grid.current is not one line such as v1.",
        "Restore it from version control, or write the line anew.";
    GRID_POINTER_STALE = "grid-pointer-stale": ".ghyll/grid.current names an older grid than the newest there is.",
        "Have it name the newest version: a grid is replaced by a newer one, never by an older one.";
    GRID_VERSION_MISSING = "grid-version-missing": "The file of a grid version is not there or cannot be read.",
        "Restore .ghyll/grid.v<N>.yaml from version control; grids are never removed.";
    GRID_VERSION_EXISTS = "grid-version-exists": "That version of the grid is there already, and a grid is written once.",
        "Bring the change into force as the next version: `ghyll grid next FILE`.";
    GRID_VERSION_OUT_OF_ORDER = "grid-version-out-of-order": "A grid other than the next version was to be written.",
        "`ghyll grid next FILE` gives it the right number, whatever the file says.";
    GRID_VERSION_MISMATCH = "grid-version-mismatch": "The version a grid names is not that of its file.",
        "Make `version:` the number in the file's name.";
    GRID_CHANGED_IN_PLACE = "grid-changed-in-place": "A grid was edited after records were made under it.",
        "Restore the file from version control, and bring the change into force with `ghyll grid next FILE`.";
    GRID_UNATTESTED = "grid-unattested": "Earlier grids of this project were attested, and the one in force is not.",
        "Read it, then `ghyll init attest --op-id ID` puts your name to it.";
    GRID_TOO_LARGE = "grid-too-large": "The grid is larger than a grid may be.",
        "Split it into fewer arrows or shorter texts; the message names the limit.";
    GRID_NOT_UTF8 = "grid-not-utf8": "The grid is not UTF-8 text.",
        "Save it as UTF-8.";
    GRID_SYMLINK_REFUSED = "grid-symlink-refused": "The grid or its pointer is a symbolic link, and below .ghyll none is followed.",
        "Put the file itself in its place.";
    GRID_NOT_A_FILE = "grid-not-a-file": "Where the grid should be is something else.",
        "Put the file itself in its place.";
    GRID_READ_FAILED = "grid-read-failed": "The grid cannot be read.",
        "Look at the path and its permissions.";
    GRID_WRITE_FAILED = "grid-write-failed": "The grid could not be written; the one in force stays.",
        "Look at the permissions of .ghyll and the free space.";
    GRID_INVALID = "grid-invalid": "The grid declares something a grid may not.",
        "The message names each line; `ghyll grid check FILE` judges a file before it is in force.";
    GRID_MUST_BE_MAP = "grid-must-be-map": "Something that has keys was to be written with keys.",
        "Write `key: value` lines there.";
    GRID_KEY_UNKNOWN = "grid-key-unknown": "The grid uses a key there is not.",
        "Take the one that is suggested; `ghyll grid schema` lists them.";
    GRID_KEY_DUPLICATE = "grid-key-duplicate": "A key is given twice in one place.",
        "Remove one of them.";
    GRID_KEY_INVALID = "grid-key-invalid": "A key is not plain text.",
        "Write keys as words.";
    GRID_FIELD_MISSING = "grid-field-missing": "A key that has to be there is missing.",
        "Add it on the line named.";
    GRID_FIELD_BLANK = "grid-field-blank": "A value is blank.",
        "Fill it in on the line named.";
    GRID_FIELD_MUST_BE_TEXT = "grid-field-must-be-text": "A value is not text.",
        "Put it in quotes.";
    GRID_ID_INVALID = "grid-id-invalid": "An id is one that cannot be part of a ref or a path.",
        "Use letters, digits, dots, dashes and underscores.";
    GRID_ID_INVALID_CHARACTERS = "grid-id-invalid-characters": "An id has characters that cannot be seen, or is not in the normal form NFC.",
        "Type it anew without invisible characters.";
    GRID_IDS_LOOK_ALIKE = "grid-ids-look-alike": "Two ids of one kind look the same and are not.",
        "Rename one of them.";
    GRID_PATH_COLLISION = "grid-path-collision": "Two contexts, strata or roles differ only in case, which not every disk tells apart.",
        "Rename one of them.";
    GRID_ROLE_INVALID = "grid-role-invalid": "A role contains __, which separates roles in paths, or is no name.",
        "Use a single dash or underscore.";
    GRID_ROLE_RESERVED = "grid-role-reserved": "`init` is who attests a project's beginning, and no role.",
        "Give the role another name.";
    GRID_ROLES_EQUAL = "grid-roles-equal": "An arrow goes from a role to itself.",
        "Name two roles.";
    GRID_ADVERSARY_ROLE_CONFLICT = "grid-adversary-role-conflict": "The adversary is a party to the arrow.",
        "Name a role that is neither its source nor its target.";
    GRID_REF_AMBIGUOUS = "grid-ref-ambiguous": "Two ids give the same attestation ref.",
        "Rename one of them.";
    GRID_ARROWS_EMPTY = "grid-arrows-empty": "The grid has no arrow.",
        "Declare at least one; `ghyll init --example` shows how.";
    GRID_ARROWS_MUST_BE_LIST = "grid-arrows-must-be-list": "`arrows` is not a list.",
        "Begin each arrow with a dash.";
    GRID_ARROW_ID_DUPLICATE = "grid-arrow-id-duplicate": "Two arrows have the same id.",
        "Rename one of them.";
    GRID_ARROW_CLAUSES_EMPTY = "grid-arrow-clauses-empty": "An arrow has no clause, so nothing would decide it.",
        "Declare at least one clause.";
    GRID_ARROW_CLAUSES_MUST_BE_LIST = "grid-arrow-clauses-must-be-list": "`clauses` is not a list.",
        "Begin each clause with a dash.";
    GRID_CLAUSE_ID_DUPLICATE = "grid-clause-id-duplicate": "Two clauses of an arrow have the same id.",
        "Rename one of them.";
    GRID_CLAUSE_EVAL_INVALID = "grid-clause-eval-invalid": "`eval` is neither machine nor attested.",
        "Write `machine` for a command that decides, `attested` for a person.";
    GRID_CLAUSE_RUN_EMPTY = "grid-clause-run-empty": "A machine clause has no command.",
        "Give `run` as a list: the program, then its arguments.";
    GRID_CLAUSE_RUN_MUST_BE_LIST = "grid-clause-run-must-be-list": "`run` is not a list.",
        "Write it as [program, argument, …]; no shell reads it, [sh, -c, '…'] does.";
    GRID_CLAUSE_RUN_ARGUMENT_INVALID = "grid-clause-run-argument-invalid": "An argument of `run` is no text a program can be given.",
        "Put it in quotes, without NUL characters.";
    GRID_CLAUSE_RUN_UNEXPECTED = "grid-clause-run-unexpected": "An attested clause has `run`, and no command decides it.",
        "Remove `run`, or make it `eval: machine`.";
    GRID_CLAUSE_TIMEOUT_UNEXPECTED = "grid-clause-timeout-unexpected": "A clause without a command has a timeout.",
        "Remove `timeout-s`, or make it `eval: machine`.";
    GRID_COVERS_INVALID = "grid-covers-invalid": "`covers` is no list of globs.",
        "Write paths from the project's root, with * and **, and ! in front to leave out.";
    GRID_YAML_SYNTAX = "grid-yaml-syntax": "The grid is not YAML.",
        "Look at the line and column named; most often it is the indentation.";
    GRID_YAML_TOO_DEEP = "grid-yaml-too-deep": "The grid is nested deeper than any grid has to be.",
        "Nest it less deeply.";
    GRID_YAML_ALIAS = "grid-yaml-alias": "The grid uses an anchor or alias, which a grid may not: it says what it says in place.",
        "Write the value out.";
    GRID_YAML_TAG = "grid-yaml-tag": "The grid uses a YAML tag, which a grid may not.",
        "Remove the word that begins with !.";
    GRID_YAML_SEVERAL_DOCUMENTS = "grid-yaml-several-documents": "The file holds more than one YAML document.",
        "Keep one, without a --- line in between.";
    INSUFFICIENT_BASIS_ROUNDS_MAX_MUST_BE_INTEGER = "insufficient-basis-rounds-max-must-be-integer": "`insufficient-basis-rounds-max` is not a whole number.",
        "Write digits alone, without quotes.";
    INSUFFICIENT_BASIS_ROUNDS_MAX_MUST_BE_POSITIVE = "insufficient-basis-rounds-max-must-be-positive": "`insufficient-basis-rounds-max` is less than 1.",
        "Write 1 or more.";
    INSUFFICIENT_BASIS_ROUNDS_MAX_TOO_LARGE = "insufficient-basis-rounds-max-too-large": "`insufficient-basis-rounds-max` is larger than it may be.",
        "The message names the most it may be.";
    MODAL_PENDING_MAX_LEN_MUST_BE_INTEGER = "modal-pending-max-len-must-be-integer": "`modal-pending-max-len` is not a whole number.",
        "Write digits alone, without quotes.";
    MODAL_PENDING_MAX_LEN_MUST_BE_POSITIVE = "modal-pending-max-len-must-be-positive": "`modal-pending-max-len` is less than 1.",
        "Write 1 or more.";
    MODAL_PENDING_MAX_LEN_TOO_LARGE = "modal-pending-max-len-too-large": "`modal-pending-max-len` is larger than it may be.",
        "The message names the most it may be.";
    RESIDUE_NOTE_MAX_BYTES_MUST_BE_INTEGER = "residue-note-max-bytes-must-be-integer": "`residue-note-max-bytes` is not a whole number.",
        "Write digits alone, without quotes.";
    RESIDUE_NOTE_MAX_BYTES_MUST_BE_POSITIVE = "residue-note-max-bytes-must-be-positive": "`residue-note-max-bytes` is less than 1.",
        "Write 1 or more.";
    RESIDUE_NOTE_MAX_BYTES_TOO_LARGE = "residue-note-max-bytes-too-large": "`residue-note-max-bytes` is larger than it may be.",
        "The message names the most it may be.";
    TIMEOUT_S_MUST_BE_INTEGER = "timeout-s-must-be-integer": "`timeout-s` is not a whole number.",
        "Write digits alone, without quotes.";
    TIMEOUT_S_MUST_BE_POSITIVE = "timeout-s-must-be-positive": "`timeout-s` is less than 1.",
        "Write 1 or more.";
    TIMEOUT_S_TOO_LARGE = "timeout-s-too-large": "`timeout-s` is larger than it may be.",
        "The message names the most it may be.";
    VERSION_MUST_BE_INTEGER = "version-must-be-integer": "`version` is not a whole number.",
        "Write digits alone, without quotes.";
    VERSION_MUST_BE_POSITIVE = "version-must-be-positive": "`version` is less than 1.",
        "Write 1 or more.";
    VERSION_TOO_LARGE = "version-too-large": "`version` is larger than it may be.",
        "The message names the most it may be.";
    GRID_COVER_INVALID = "grid-cover-invalid": "A glob of `covers` cannot be meant: it leaves the project, or is no glob.",
        "Write paths from the project's root, with `/`, and without `..`.";
    GRID_COVERS_EMPTY = "grid-covers-empty": "`covers` names no file that would be covered.",
        "List at least one glob without `!`, or leave `covers` out.";
    GRID_COVERS_MUST_BE_LIST = "grid-covers-must-be-list": "`covers` is no list of globs.",
        "Write it as covers: [\"src/**\", \"!src/generated/**\"].";
    GRID_UNCHANGED = "grid-unchanged": "The file says what the grid in force says already.",
        "Nothing: there is no need of a next version.";
    MIN_TIER_MUST_BE_INTEGER = "min-tier-must-be-integer": "`min-tier` is no whole number.",
        "Write it as digits, without quotes.";
    MIN_TIER_MUST_BE_POSITIVE = "min-tier-must-be-positive": "`min-tier` is 0 or less.",
        "Write 1 or more.";
    MIN_TIER_TOO_LARGE = "min-tier-too-large": "`min-tier` is larger than it may be.",
        "The message names the most it may be.";
}

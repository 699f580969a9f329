//! The project, its files, the engine's database and the command line.

use super::pages;

pages! {
    USAGE = "usage": "The command line, or a line typed at a prompt, cannot be meant.",
        "`ghyll help COMMAND` shows how a command is written, `/help` the commands of a session.";
    PROJECT_NOT_FOUND = "project-not-found": "There is no .ghyll in the directory named, nor, where none was named, in the current one or any parent.",
        "Go to the project, name it with --dir, or start one with `ghyll init`; where git's sparse checkout leaves it out, `git sparse-checkout add .ghyll`.";
    PROJECT_ALREADY_INITIALISED = "project-already-initialised": "The directory is a project already.",
        "`ghyll status` shows where it stands; another grid comes into force with `ghyll grid next FILE`.";
    PROJECT_UNREADABLE = "project-unreadable": "A directory or file of the project cannot be used.",
        "Look at who owns the path named and what its permissions are.";
    PROJECT_OWNER_UNTRUSTED = "project-owner-untrusted": "The project belongs to another user, and a grid may run commands.",
        "If you trust whoever owns it, list its path in GHYLL_TRUST.";
    SESSION_LOCKED = "session-locked": "Another process is writing to the project and did not get done in time.",
        "The message names it; try again when it is done, or end it.";
    IO_FAILED = "io-failed": "Something could not be read or written, a full disk or standard output among it.",
        "The message says what and why; nothing that was recorded is lost.";
    BROKEN_PIPE = "broken-pipe": "Whoever read the output has heard enough.",
        "Nothing: the command did what it had to.";
    ENGINE_DB_NEWER = "engine-db-newer": "engine.db was written by a newer ghyll.",
        "Use that version, or remove .ghyll/engine.db: everything in it but machine runs comes out of the tree again.";
    ENGINE_DB_VERSION = "engine-db-version": "engine.db has a form this ghyll does not read.",
        "`ghyll engine rebuild-index` makes it anew from the tree.";
    ENGINE_DB_CORRUPT = "engine-db-corrupt": "engine.db is damaged.",
        "`ghyll engine rebuild-index` makes it anew from the tree.";
    ENGINE_DB_LOCKED = "engine-db-locked": "Another process has engine.db.",
        "Try again in a moment; `ghyll engine status` says who has the project.";
    ENGINE_DB_UNUSABLE = "engine-db-unusable": "engine.db cannot be opened, read or written.",
        "Look at the path's permissions and the free space; `ghyll engine rebuild-index` makes it anew.";
    POLICY_COMPONENT_FAILED = "policy-component-failed": "The policy component could not be asked, or did not answer in time.",
        "Nothing was recorded. Try again; if it stays so, report it with what you did.";
    COMPONENT_WRITE_FAILED = "component-write-failed": "The component could not be written to the file named.",
        "Give `--output` a path that can be written.";
    DEMO_WRITE_FAILED = "demo-write-failed": "The sample project could not be laid out.",
        "Set TMPDIR to a directory with room that can be written.";
    EDITOR_FAILED = "editor-failed": "The editor could not be run, or ended with an error, so the note was not taken.",
        "Set VISUAL or EDITOR to one that waits until the file is closed, or type << for several lines.";
    LOG_FILTER_INVALID = "log-filter-invalid": "What --log or GHYLL_LOG says is no filter.",
        "Write a level (error, warn, info, debug, trace) or TARGET=LEVEL, separated by commas, e.g. ghyll=debug.";
    CODE_UNKNOWN = "code-unknown": "There is no such code.",
        "`ghyll explain` lists them all.";
    CHECKPOINT_UNREADABLE = "checkpoint-unreadable": "The checkpoint file cannot be read.",
        "Name a file that `ghyll engine checkpoint` wrote.";
    CHECKPOINT_WRITE_FAILED = "checkpoint-write-failed": "The checkpoint could not be written.",
        "Make room or give the right to write below .ghyll, and take it again.";
    CHECKPOINT_MALFORMED = "checkpoint-malformed": "The file is no checkpoint.",
        "Name a file that `ghyll engine checkpoint` wrote, and none that was edited since.";
    CHECKPOINT_VERSION = "checkpoint-version": "The checkpoint is of a version this ghyll does not read.",
        "Use the ghyll that wrote it, or a newer one.";
    CHECKPOINT_ROOT_MISMATCH = "checkpoint-root-mismatch": "The checkpoint's root is not that of the files it lists: it was edited or cut.",
        "Fetch it anew from where it was committed or signed.";
    FILE_NOT_ORDINARY = "file-not-ordinary": "What was named is a directory, a device or a pipe, not a file.",
        "Name an ordinary file.";
    FILE_NOT_TEXT = "file-not-text": "The file is not UTF-8.",
        "Save it as UTF-8; the message says where it stops being that.";
    FILE_TOO_LONG = "file-too-long": "The file is longer than is read.",
        "The message names the most it may be.";
    FILE_UNREADABLE = "file-unreadable": "The file cannot be read.",
        "Look at the path and its permissions.";
    PROJECT_FILE_INVALID = "project-file-invalid": "Something else stands where a file of the project belongs.",
        "Move what is named away; ghyll makes the file anew.";
    SESSION_ID_INVALID = "session-id-invalid": "A session's id could not be a file name.",
        "Whoever uses the library has to give another id; ghyll itself does.";
    SESSION_LOCK_LOST = "session-lock-lost": "The project's lock file was removed or replaced while it was held, so nothing was written.",
        "Leave `.ghyll/lock` alone, and do again what was being done.";
    SIGNALS_UNHEARD = "signals-unheard": "ghyll cannot hear that it is told to end, so it would leave commands running.",
        "Look at the limits of this process; the message says what the system refused.";
    CPU_TIME_EXCEEDED = "cpu-time-exceeded": "The processor time that this process may use is over.",
        "Raise the limit (`ulimit -t`); what was acknowledged is on record.";
    GIT_FILE_WRITE_FAILED = "git-file-write-failed": "A file for git could not be written.",
        "Look at the permissions of .ghyll, and run `ghyll init --git` again.";
    OUTPUT_WRITE_FAILED = "output-write-failed": "A file could not be written.",
        "Give a path that can be written.";
    IMPORT_NOT_EARLIER_DESIGN = "import-not-earlier-design": "The directory is no project of the earlier design.",
        "Name the directory that holds its attestations.";
}

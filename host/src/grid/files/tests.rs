use super::*;

use cap_std::ambient_authority;
use tempfile::TempDir;

fn text(context: &str) -> String {
    format!(
        "arrows:
  - id: A
    source-role: analyst
    target-role: architect
    stratum: 1
    context: {context}
    clauses: [{{id: C1, concept: agreed, eval: attested}}]
"
    )
}

fn directory() -> (TempDir, Dir) {
    let temp = tempfile::tempdir().unwrap();
    let ghyll = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
    (temp, ghyll)
}

fn names(ghyll: &Dir) -> Vec<String> {
    let entries = ghyll.entries().unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn code<T: std::fmt::Debug>(result: Result<T, GridError>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn what_was_written_is_in_force_and_older_versions_stay() {
    let (_temp, ghyll) = directory();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    assert_eq!(names(&ghyll), ["grid.current", "grid.v1.yaml"]);
    assert_eq!(ghyll.read_to_string("grid.current").unwrap(), "v1\n");
    assert_eq!(ghyll.read_to_string("grid.v1.yaml").unwrap(), text("one"));
    Grid::write(&ghyll, 2, &text("two")).unwrap();
    let active = Grid::read_active(&ghyll).unwrap();
    assert_eq!((active.version, &*active.arrows[0].context), (2, "two"));
    let first = Grid::read_version(&ghyll, 1).unwrap();
    assert_eq!((first.version, &*first.arrows[0].context), (1, "one"));
    // 10 is newer than 9, whatever their names' order.
    for version in 3..=11 {
        Grid::write(&ghyll, version, &text("more")).unwrap();
    }
    assert_eq!(Grid::active_version(&ghyll).unwrap(), 11);
}

#[test]
fn a_version_is_never_changed() {
    let (_temp, ghyll) = directory();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    assert_eq!(
        code(Grid::write(&ghyll, 1, &text("other"))),
        "grid-version-exists"
    );
    Grid::write(&ghyll, 2, &text("two")).unwrap();
    // Not even the same text again: it would bring back an older grid.
    assert_eq!(
        code(Grid::write(&ghyll, 1, &text("one"))),
        "grid-version-exists"
    );
    for version in [0, 4, u64::MAX] {
        let refused = Grid::write(&ghyll, version, &text("three"));
        assert_eq!(code(refused), "grid-version-out-of-order", "{version}");
    }
    assert_eq!(
        code(Grid::write(&ghyll, 3, "arrows: []")),
        "grid-arrows-empty"
    );
    assert_eq!(code(Grid::set_pointer(&ghyll, 1)), "grid-pointer-stale");
    assert_eq!(code(Grid::set_pointer(&ghyll, 3)), "grid-version-missing");
    assert_eq!(
        names(&ghyll),
        ["grid.current", "grid.v1.yaml", "grid.v2.yaml"]
    );
    assert_eq!(ghyll.read_to_string("grid.v1.yaml").unwrap(), text("one"));
    assert_eq!(Grid::active_version(&ghyll).unwrap(), 2);
}

#[test]
fn the_grid_is_there_before_the_pointer_and_writing_again_completes_it() {
    let (_temp, ghyll) = directory();
    // Nothing can be renamed over a directory that is not empty.
    ghyll.create_dir_all("grid.current/in-the-way").unwrap();
    assert_eq!(
        code(Grid::write(&ghyll, 1, &text("one"))),
        "grid-write-failed"
    );
    assert_eq!(
        names(&ghyll),
        ["grid.current", "grid.v1.yaml"],
        "no temporary file stays"
    );
    ghyll.remove_dir_all("grid.current").unwrap();

    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-missing");
    assert_eq!(
        code(Grid::write(&ghyll, 1, &text("other"))),
        "grid-version-exists"
    );
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-missing");
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    assert_eq!(Grid::active_version(&ghyll).unwrap(), 1);

    // The same with an older pointer, and with leftovers of a crash around.
    ghyll.write("grid.v2.yaml", text("two")).unwrap();
    let leftover = ".grid.current.0123456789abcdef.tmp".to_owned();
    ghyll.write(&leftover, "v").unwrap();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-stale");
    Grid::write(&ghyll, 2, &text("two")).unwrap();
    assert_eq!(Grid::active_version(&ghyll).unwrap(), 2);
    assert_eq!(ghyll.read_to_string(&leftover).unwrap(), "v");
}

#[test]
fn the_pointer_is_one_canonical_line() {
    let (_temp, ghyll) = directory();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    for good in ["v1", "v1\n", "v1\r\n"] {
        ghyll.write("grid.current", good).unwrap();
        assert_eq!(Grid::active_version(&ghyll).unwrap(), 1, "{good:?}");
    }
    for bad in [
        "",
        "\n",
        "v",
        "1",
        "V1",
        "v01",
        "v0",
        "v+1",
        "v-1",
        "v1.0",
        " v1",
        "v1 ",
        "v1\r",
        "v1\r\n\r\n",
        "v1\n\r",
        "v1\n\n",
        "v9007199254740992",
        "v1\nv1\n",
        "v99999999999999999999",
        "v\u{661}",
        "\u{feff}v1",
    ] {
        ghyll.write("grid.current", bad).unwrap();
        assert_eq!(
            code(Grid::read_active(&ghyll)),
            "grid-pointer-malformed",
            "{bad:?}"
        );
    }
    ghyll.write("grid.current", [b'v', 0xff]).unwrap();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-malformed");
    ghyll.write("grid.current", "v1".repeat(1000)).unwrap();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-malformed");
    ghyll.write("grid.current", "v\u{1b}[2J\u{202e}").unwrap();
    insta::assert_snapshot!(
        Grid::read_active(&ghyll).unwrap_err(),
        @r#"grid.current: expected one line like "v1", found "v\u{1b}[2J\u{202e}"; restore it from git, or write the newest version's "v<N>" into it"#
    );
}

#[test]
fn the_pointer_names_the_newest_version_there_is() {
    let (_temp, ghyll) = directory();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-missing");
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    ghyll.write("grid.current", "v2\n").unwrap();
    insta::assert_snapshot!(
        Grid::read_active(&ghyll).unwrap_err(),
        @"grid.v2.yaml: grid version v2 does not exist"
    );
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-version-missing");
    assert_eq!(code(Grid::read_version(&ghyll, 2)), "grid-version-missing");
    ghyll.write("grid.current", "v1\n").unwrap();
    // Names that are no versions do not count.
    for name in [
        "grid.v07.yaml",
        "grid.v0.yaml",
        "grid.v9.yml",
        "grid.v+9.yaml",
        ".grid.v9.yaml",
    ] {
        ghyll.write(name, "").unwrap();
    }
    assert_eq!(Grid::active_version(&ghyll).unwrap(), 1);
    ghyll.write("grid.v10.yaml", text("ten")).unwrap();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-pointer-stale");
    insta::assert_snapshot!(
        Grid::read_active(&ghyll).unwrap_err(),
        @"grid.current: the pointer names v1, but v10 exists; write v10 again, or a newer version, to bring it into force"
    );
}

#[test]
fn a_file_that_is_no_grid_text_is_refused() {
    let (_temp, ghyll) = directory();
    ghyll
        .write("grid.v1.yaml", b"arrows:\n  - id: \xff\n")
        .unwrap();
    let error = Grid::read_version(&ghyll, 1).unwrap_err();
    assert_eq!(error.code(), "grid-not-utf8");
    assert_eq!(error.to_string(), "grid.v1.yaml:2: not UTF-8 text");
    ghyll
        .write("grid.v1.yaml", " ".repeat(MAX_BYTES + 1))
        .unwrap();
    assert_eq!(code(Grid::read_version(&ghyll, 1)), "grid-too-large");
    ghyll.write("grid.v1.yaml", "arrows: []\n").unwrap();
    insta::assert_snapshot!(
        Grid::read_version(&ghyll, 1).unwrap_err(),
        @r#"grid.v1.yaml:1: grid-arrows-empty: "arrows" needs at least one entry"#
    );
    ghyll.create_dir("grid.v2.yaml").unwrap();
    assert_eq!(code(Grid::read_version(&ghyll, 2)), "grid-not-a-file");
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed() {
    let (_temp, ghyll) = directory();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    ghyll.rename("grid.v1.yaml", &ghyll, "elsewhere").unwrap();
    ghyll.symlink("elsewhere", "grid.v1.yaml").unwrap();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-symlink-refused");
    assert_eq!(
        code(Grid::write(&ghyll, 1, &text("one"))),
        "grid-symlink-refused"
    );
    ghyll.rename("elsewhere", &ghyll, "grid.v1.yaml").unwrap();
    ghyll.remove_file("grid.current").unwrap();
    ghyll.write("elsewhere", "v1\n").unwrap();
    ghyll.symlink("elsewhere", "grid.current").unwrap();
    assert_eq!(code(Grid::read_active(&ghyll)), "grid-symlink-refused");
    // Writing replaces the link and leaves what it points to alone.
    Grid::write(&ghyll, 2, &text("two")).unwrap();
    assert_eq!(Grid::active_version(&ghyll).unwrap(), 2);
    assert_eq!(ghyll.read_to_string("elsewhere").unwrap(), "v1\n");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_grid_is_not_waited_for() {
    let (temp, ghyll) = directory();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    for name in ["grid.v1.yaml", "grid.current"] {
        ghyll.rename(name, &ghyll, "kept").unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(temp.path().join(name))
            .status();
        assert!(made.unwrap().success());
        assert_eq!(code(Grid::read_active(&ghyll)), "grid-not-a-file");
        ghyll.rename("kept", &ghyll, name).unwrap();
    }
    assert!(Grid::read_active(&ghyll).is_ok());
}

#[test]
fn a_file_that_came_there_meanwhile_is_not_overwritten() {
    let (_temp, ghyll) = directory();
    ghyll.write("grid.v1.yaml", "somebody else's").unwrap();
    assert_eq!(
        code(create(&ghyll, "grid.v1.yaml", b"ours", 1)),
        "grid-version-exists"
    );
    assert_eq!(names(&ghyll), ["grid.v1.yaml"]);
    assert_eq!(
        ghyll.read_to_string("grid.v1.yaml").unwrap(),
        "somebody else's"
    );
}

#[cfg(unix)]
#[test]
fn who_may_read_and_write_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;

    let (temp, ghyll) = directory();
    Grid::write(&ghyll, 1, &text("one")).unwrap();
    let mode = |name: &str| {
        let metadata = std::fs::metadata(temp.path().join(name)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    let plain = temp.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    for name in ["grid.v1.yaml", "grid.current"] {
        assert_eq!(mode(name), mode("plain"), "{name} is made by the umask");
    }
    let pointer = temp.path().join("grid.current");
    std::fs::set_permissions(&pointer, std::fs::Permissions::from_mode(0o664)).unwrap();
    Grid::write(&ghyll, 2, &text("two")).unwrap();
    assert_eq!(mode("grid.current"), 0o664);
}

#[test]
fn versions_are_listed_with_the_digests_of_their_bytes() {
    let (_temp, ghyll) = directory();
    for version in 1..=10 {
        Grid::write(&ghyll, version, &text("one")).unwrap();
    }
    assert_eq!(
        Grid::versions(&ghyll).unwrap(),
        (1..=10).collect::<Vec<_>>()
    );
    ghyll.write("grid.v1.yaml", b"abc\xff").unwrap();
    assert_eq!(
        Grid::digest_of(&ghyll, 1).unwrap(),
        "8e3b08dc1236880bf0c55873db58b12d8bf0398b1b17c9686e015ccfe098d35d"
    );
    assert_eq!(code(Grid::digest_of(&ghyll, 11)), "grid-version-missing");
}

//! What stands under a name.

use cap_std::fs::{FileType, Metadata};

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A socket, device or other thing that has no place here.
    Other,
}

pub(super) fn kind_of(meta: &Metadata) -> Kind {
    kind(meta.file_type())
}

pub(super) fn kind(kind: FileType) -> Kind {
    if kind.is_symlink() {
        Kind::Symlink
    } else if kind.is_dir() {
        Kind::Dir
    } else if kind.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

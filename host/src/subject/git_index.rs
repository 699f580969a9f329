//! What git tracks: the paths in its index file.
//!
//! Only the paths are read, for that is all that is asked. An index of a kind
//! that is not known here is refused: a list that may lack a file would pass
//! for the whole.

/// The largest index that is read, in bytes; a million files take about 100 MB.
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// Seconds, device, owner and the like, before the object's id.
const FIXED: usize = 40;
const EXTENDED: u16 = 0x4000;

/// The tracked paths, in order of their bytes.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    names: Vec<u8>,
    /// Where each begins and ends in `names`.
    spans: Vec<(u32, u32)>,
}

impl Tracked {
    /// Reads an index whose object ids have `oid` bytes, 20 or 32.
    pub(super) fn parse(bytes: &[u8], oid: usize) -> Result<Self, &'static str> {
        const SHORT: &str = "an index of git's that ends too early";
        let mut rest = bytes.strip_prefix(b"DIRC").ok_or("no index of git's")?;
        let version = take_u32(&mut rest).ok_or(SHORT)?;
        let count = take_u32(&mut rest).ok_or(SHORT)?;
        if !(2..=4).contains(&version) {
            return Err("an index of git's of an unknown version");
        }
        let mut tracked = Self::default();
        let mut name = Vec::new();
        for _ in 0..count {
            let entry = rest;
            take(&mut rest, FIXED + oid).ok_or(SHORT)?;
            let mut head = FIXED + oid + 2;
            if take_u16(&mut rest).ok_or(SHORT)? & EXTENDED != 0 {
                take_u16(&mut rest).ok_or(SHORT)?;
                head += 2;
            }
            if version == 4 {
                let drop = take_varint(&mut rest).ok_or(SHORT)?;
                let keep = name
                    .len()
                    .checked_sub(drop)
                    .ok_or("a damaged index of git's")?;
                name.truncate(keep);
            } else {
                name.clear();
            }
            let end = rest.iter().position(|byte| *byte == 0).ok_or(SHORT)?;
            let suffix = take(&mut rest, end).ok_or(SHORT)?;
            name.extend(suffix);
            if version == 4 {
                take(&mut rest, 1).ok_or(SHORT)?;
            } else {
                // Padded with at least one zero to a multiple of eight.
                let padded = (head + end + 8) & !7;
                rest = entry.get(padded..).ok_or(SHORT)?;
            }
            tracked.push(&name)?;
        }
        // Extensions, then the file's own digest.
        while rest.len() > oid {
            let kind = take(&mut rest, 4).ok_or(SHORT)?;
            let size = take_u32(&mut rest).ok_or(SHORT)? as usize;
            take(&mut rest, size).ok_or(SHORT)?;
            match kind {
                b"link" => {
                    return Err(
                        "a split index; `git update-index --no-split-index` makes it whole",
                    );
                }
                // Directories outside of a sparse checkout: nothing in them is on disk.
                b"sdir" => {}
                [b'A'..=b'Z', ..] => {}
                _ => return Err("an index of git's with an extension that is not known"),
            }
        }
        Ok(tracked)
    }

    fn push(&mut self, name: &[u8]) -> Result<(), &'static str> {
        const LARGE: &str = "an index of git's that is too large";
        let last = self.spans.last().and_then(|span| self.name(*span));
        match last.map(|last| last.cmp(name)) {
            // The sides of an unfinished merge.
            Some(std::cmp::Ordering::Equal) => return Ok(()),
            Some(std::cmp::Ordering::Greater) => return Err("a damaged index of git's"),
            _ if name.is_empty() => return Err("a damaged index of git's"),
            _ => {}
        }
        let start = u32::try_from(self.names.len()).map_err(|_| LARGE)?;
        self.names.extend(name);
        let end = u32::try_from(self.names.len()).map_err(|_| LARGE)?;
        self.spans.push((start, end));
        Ok(())
    }

    fn name(&self, (start, end): (u32, u32)) -> Option<&[u8]> {
        self.names.get(start as usize..end as usize)
    }

    /// The first tracked path that is not before `path`.
    fn from(&self, path: &[u8]) -> Option<&[u8]> {
        let before = |span: &(u32, u32)| self.name(*span).is_some_and(|name| name < path);
        let at = self.spans.partition_point(before);
        self.spans.get(at).and_then(|span| self.name(*span))
    }

    /// Whether exactly this path is tracked.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.from(path) == Some(path)
    }

    /// Whether the directory is tracked itself (as a repository in the
    /// repository) or something in it is; `""` is the whole work tree.
    pub(super) fn has_below(&self, dir: &[u8]) -> bool {
        if dir.is_empty() {
            return !self.spans.is_empty();
        }
        let mut below = dir.to_vec();
        below.push(b'/');
        self.has(dir)
            || self
                .from(&below)
                .is_some_and(|name| name.starts_with(&below))
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes, 4)?.try_into().ok().map(u32::from_be_bytes)
}

fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes, 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// A number in sevens of bits, each further one standing for one more.
fn take_varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *take(bytes, 1)?.first()?;
        value = value.checked_shl(7)? | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
        if value > u32::MAX as usize {
            return None;
        }
    }
}

//! Which names can stand in the audit tree.

use alloc::vec::Vec;

use super::segment::{MAX_COMPONENT_BYTES, is_hash, is_segment};
use crate::ids::MAX_GRID_VERSION;
use crate::roles::has_separator;

/// Of `names` in `folder` (below the root of the tree, empty for the root
/// itself), which are the path of a record or lead to one: what
/// [`encode_attestation_path`](crate::encode_attestation_path) cannot give has no place there, be it a copy, a
/// sidecar of another system or a name cut short. `folder` is judged too.
///
/// ```
/// use ghyll_policy::belong;
///
/// assert_eq!(belong("", &["v1", "v01", ".DS_Store"]), [true, false, false]);
/// assert_eq!(belong("v1/shop/stratum-domain/a__b", &["p1.jsonl", "p1.jsonl~"]), [true, false]);
/// ```
pub fn belong<T: AsRef<str>>(folder: &str, names: &[T]) -> Vec<bool> {
    let mut parts = [""; 5];
    let mut depth = 0;
    let mut good = true;
    if !folder.is_empty() {
        for part in folder.split('/') {
            good = good && depth < 4 && is_component(&parts, depth, part);
            if let Some(place) = parts.get_mut(depth) {
                *place = part;
            }
            depth += 1;
        }
    }
    names
        .iter()
        .map(|name| good && is_component(&parts, depth, name.as_ref()))
        .collect()
}

/// Whether `name` can be the component at `depth` behind the `parts` before it.
fn is_component(parts: &[&str; 5], depth: usize, name: &str) -> bool {
    if name.len() > MAX_COMPONENT_BYTES {
        return false;
    }
    let [_, context, stratum, ..] = *parts;
    match depth {
        0 => name.strip_prefix('v').is_some_and(is_version),
        1 => is_segment(name),
        2 => name.strip_prefix("stratum-").is_some_and(is_segment),
        3 if name == "init" => context == "init" && stratum == "stratum-init",
        3 => is_segment(name) && (has_separator(name) || is_hash(name)),
        4 => name.strip_suffix(".jsonl").is_some_and(is_segment),
        _ => false,
    }
}

fn is_version(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit())
        // An older line that names no grid stands below `v0`.
        && (digits == "0" || !digits.starts_with('0'))
        && digits.parse().is_ok_and(|version: u64| version <= MAX_GRID_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn what_belongs() {
        let all = |path: &str| {
            let parts: Vec<&str> = path.split('/').collect();
            (0..parts.len()).all(|n| belong(&parts[..n].join("/"), &parts[n..=n]) == [true])
        };
        let long = "x".repeat(249);
        for path in [
            "v1/shop/stratum-domain/a__b/p1.jsonl",
            "v9007199254740991/a.b/stratum-.x/a__b__c/-.jsonl",
            "v1/init/stratum-init/init/p.jsonl",
            "v2/init/stratum-x/_____/p.jsonl",
            "v1/h-e3b0c44298fc1c149afbf4c8996fb924/stratum-h-0/h-e3b0c44298fc1c149afbf4c8996fb924/h-1.jsonl",
            "v1/stratum-x/stratum-stratum-/a__b/.jsonl.jsonl",
            "v1/s/stratum-a__b",
            &format!("v1/c/stratum-s/a__b/{long}.jsonl"),
        ] {
            assert!(all(path), "{path}");
        }
        for path in [
            "",
            "v",
            "v00",
            "v01",
            "v+1",
            "V1",
            "v9007199254740992",
            "v1/",
            "v1/a b",
            "v1/ä",
            "v1/..",
            "v1/end.",
            "v1/CON",
            "v1/nul.txt",
            "v1/c/strata-s",
            "v1/c/stratum-",
            "v1/c/stratum-nul",
            "v1/c/stratum-s/a_b",
            "v1/c/stratum-s/init",
            "v1/init/stratum-s/init",
            "v1/c/stratum-s/h-E3b0c44298fc1c149afbf4c8996fb924",
            "v1/c/stratum-s/a__b/p",
            "v1/c/stratum-s/a__b/.jsonl",
            "v1/c/stratum-s/a__b/._p.jsonl~",
            "v1/c/stratum-s/a__b/p..jsonl",
            "v1/c/stratum-s/a__b/p 2.jsonl",
            "v1/c/stratum-s/a__b/com1.jsonl",
            &format!("v1/c/stratum-s/a__b/x{long}.jsonl"),
            "v1/c/stratum-s/a__b/p.jsonl/x",
        ] {
            assert!(!all(path), "{path}");
        }
        assert_eq!(belong("v1/x/y", &["a__b"]), [false]);
        assert_eq!(belong::<&str>("", &[]), [false; 0]);
    }
}

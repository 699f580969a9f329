//! SHA-256, of one message or of many.
//!
//! Where the processor has instructions for it, one message after another is
//! fastest. A component cannot use them, but it can do the same with four words
//! at once, so there four messages are hashed together.

#[cfg(any(test, all(target_arch = "wasm32", target_feature = "simd128")))]
mod lanes;
#[cfg(any(test, all(target_arch = "wasm32", target_feature = "simd128")))]
mod words;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

/// A SHA-256.
pub(crate) type Digest = [u8; 32];

/// As many bytes as are hashed at a time.
type Block = [u8; 64];

/// What is to be hashed.
#[derive(Clone)]
pub(crate) struct Message<'a> {
    head: Option<Block>,
    body: Cow<'a, [u8]>,
    /// At most one byte.
    last: &'static [u8],
}

impl<'a> Message<'a> {
    /// Just these bytes.
    pub(crate) fn of(body: &'a [u8]) -> Self {
        Self {
            head: None,
            body: Cow::Borrowed(body),
            last: b"",
        }
    }

    /// An object behind a chain. A line holds its object but for the final
    /// brace, which is added where `open`.
    pub(crate) fn behind(chain: &str, object: &'a [u8], open: bool) -> Self {
        let last: &[u8] = if open { b"}" } else { b"" };
        match chain.as_bytes().try_into() {
            Ok(head) => Self {
                head: Some(head),
                body: Cow::Borrowed(object),
                last,
            },
            // A host may begin a file with anything.
            Err(_) => Self {
                head: None,
                body: Cow::Owned([chain.as_bytes(), object].concat()),
                last,
            },
        }
    }
}

/// The hash of a message.
pub(crate) fn digest(message: &Message<'_>) -> Digest {
    let mut hash = Sha256::new();
    hash.update(message.head.as_ref().map_or(&[][..], |head| head));
    hash.update(&message.body);
    hash.update(message.last);
    hash.finalize().into()
}

/// The hashes of messages.
pub(crate) fn digests(messages: &[Message<'_>]) -> Vec<Digest> {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    if messages.len() > 1 {
        return lanes::digests(messages);
    }
    messages.iter().map(digest).collect()
}

//! A mapping from characters to a few characters, packed.
//!
//! The data are made by `cargo xtask unicode`: a `u16` number of blocks; for
//! each block its first key (three bytes) and where its entries start behind
//! the index (`u16`); then the entries. An entry is the distance of its key to
//! the one before it, times eight, plus how many values it has (7 means seven
//! and as many more as the next number says), then the values. Numbers are in
//! groups of seven bits, the lowest first, the eighth bit saying that more
//! come. So fifteen thousand characters take forty thousand bytes, and a look-up
//! reads one block.

/// One mapping.
pub(super) struct Table(pub(super) &'static [u8]);

impl Table {
    /// What `c` is mapped to; nothing where it is not.
    pub(super) fn get(&self, c: char) -> Values {
        self.find(u32::from(c)).unwrap_or_default()
    }

    fn find(&self, wanted: u32) -> Option<Values> {
        let (blocks, rest) = self.0.split_first_chunk::<2>()?;
        let blocks = usize::from(u16::from_le_bytes(*blocks));
        let (index, data) = rest.split_at_checked(blocks.checked_mul(5)?)?;
        let (index, _) = index.as_chunks::<5>();
        let first = |[a, b, c, _, _]: &[u8; 5]| u32::from_le_bytes([*a, *b, *c, 0]);
        let block = index.partition_point(|entry| first(entry) <= wanted);
        let entry = index.get(block.checked_sub(1)?)?;
        let start = |[.., low, high]: &[u8; 5]| usize::from(u16::from_le_bytes([*low, *high]));
        let end = index.get(block).map_or(data.len(), start);
        let mut values = Values {
            data: data.get(start(entry)..end)?,
            left: 0,
        };
        let mut key = first(entry);
        loop {
            let head = values.number()?;
            key = key.checked_add(head >> 3)?;
            values.left = head & 7;
            if values.left == 7 {
                values.left = values.left.checked_add(values.number()?)?;
            }
            if key >= wanted {
                return (key == wanted).then_some(values);
            }
            while values.next().is_some() {}
        }
    }
}

/// What a character is mapped to.
#[derive(Default)]
pub(super) struct Values {
    data: &'static [u8],
    left: u32,
}

impl Values {
    fn number(&mut self) -> Option<u32> {
        let mut number = 0;
        for shift in [0, 7, 14, 21] {
            let (byte, rest) = self.data.split_first()?;
            self.data = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

impl Iterator for Values {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        self.number()
    }
}

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ghyll_tests::properties::check_lines(data));

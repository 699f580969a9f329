//! Every vector, in every host.

use ghyll_tests::judge::{Judge, Native};
use ghyll_tests::vectors;

fn agrees(judge: &dyn Judge) {
    let cases = vectors::cases();
    assert!(cases.len() > 800, "only {} cases", cases.len());
    let wrong: Vec<String> = cases.iter().flat_map(|case| vectors::ask(judge, case)).collect();
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_native_library_agrees() {
    agrees(&Native);
}

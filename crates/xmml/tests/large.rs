//! The time to read a file grows linearly with its length. An algorithm that searched all couplings for each
//! coupling, or counted lines from the beginning for each mistake, would take minutes for this file.

use ligament_xmml::convert;
use std::fmt::Write;

const ELEMENT_COUNT: usize = 100_000;

/// Returns a model whose instances form a ring. If `wrong` is set, each coupling has a mistake.
fn ring(wrong: bool, in_one_line: bool) -> String {
    let mut text = String::from(
        "<model id=\"ring\" xmml_version=\"0.4\">\n<definitions><submodel id=\"one\"><ports><in id=\"left\" \
         operator=\"S\"/><out id=\"right\" operator=\"Oi\"/></ports></submodel></definitions>\n<topology>\n",
    );
    for at in 0..ELEMENT_COUNT {
        let _ = writeln!(text, "<instance id=\"i{at}\" submodel=\"one\"/>");
    }
    for at in 0..ELEMENT_COUNT {
        let port = if wrong { "lift" } else { "left" };
        let _ = writeln!(text, "<coupling from=\"i{at}.right\" to=\"i{}.{port}\"/>", (at + 1) % ELEMENT_COUNT);
    }
    text.push_str("</topology>\n</model>\n");
    if in_one_line {
        text = text.replace('\n', "");
    }
    text
}

#[test]
fn a_file_with_many_couplings_is_read() {
    for in_one_line in [false, true] {
        let converted = convert(&ring(false, in_one_line), "ring.xmml").unwrap();
        assert_eq!(converted.text.matches(".right: i").count(), ELEMENT_COUNT);
    }
}

#[test]
fn a_file_with_many_mistakes_is_refused_with_the_place_of_each() {
    let problems = convert(&ring(true, false), "ring.xmml").unwrap_err();
    assert_eq!(problems.len(), ELEMENT_COUNT);
    for (at, problem) in problems.iter().enumerate() {
        assert_eq!((problem.line, problem.column), (at as u32 + 4 + ELEMENT_COUNT as u32, 1));
    }
    let problems = convert(&ring(true, true), "ring.xmml").unwrap_err();
    assert_eq!(problems.len(), ELEMENT_COUNT);
    assert!(problems.windows(2).all(|two| two[0].line == 1 && two[0].column < two[1].column));
}

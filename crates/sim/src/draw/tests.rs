use super::{Listing, Name, Picture, html, svg};
use crate::timeline::{Activity, At, BULK, Flight, Iteration, Span, Timeline};

const AT: At = At {
    instr: 0,
    iterations: 0,
};

fn name(op: &str) -> Name {
    Name {
        op: op.into(),
        location: "k.mlir:1:2".into(),
        in_loop: true,
    }
}

fn listing(op: &str) -> Listing {
    Listing {
        instrs: vec![name(op)],
        loops: vec![name(op)],
    }
}

/// A warp that runs and waits in turn, in so many iterations of ten cycles, each with a copy.
fn timeline(iterations: u32) -> Timeline {
    let mut timeline = Timeline {
        warps: vec![Vec::new()],
        iterations: vec![Vec::new()],
        copies: Vec::new(),
    };
    for number in 0..iterations {
        let start = 10 * u64::from(number);
        let (middle, end) = (start + 4, start + 10);
        let span = |kind, start, end| Span {
            kind,
            start,
            end,
            at: AT,
        };
        timeline.warps[0].extend([
            span(Activity::Busy, start, middle),
            span(Activity::Wait, middle, end),
        ]);
        timeline.iterations[0].push(Iteration {
            of: 0,
            depth: 0,
            number,
            start,
            end,
        });
        timeline.copies.push(Flight {
            warp: 0,
            lane: BULK.into(),
            at: AT,
            issued: start,
            lands: end,
            observed: Some(end),
            read: None,
        });
    }
    timeline
}

fn with_picture<T>(op: &str, timeline: &Timeline, draw: impl Fn(&[Vec<Picture>]) -> T) -> T {
    let picture = Picture {
        title: op,
        listing: &listing(op),
        iterations: &[Box::new([3])],
        timeline,
    };
    draw(&[vec![picture]])
}

#[test]
fn names_never_become_markup() {
    let hostile = "</script></title><b a=\"'&\u{1}{data}";
    let drawn = with_picture(hostile, &timeline(2), svg);
    assert!(!drawn.contains("<b") && !drawn.contains('\u{1}') && !drawn.contains("'&"));
    assert!(drawn.contains("&lt;/script&gt;&lt;/title&gt;&lt;b a=&quot;&#39;&amp;\u{fffd}{data}"));
    let page = with_picture(hostile, &timeline(2), html::html);
    let plain = with_picture("op", &timeline(2), html::html);
    for element in ["<b", "</script", "</title"] {
        assert_eq!(
            page.matches(element).count(),
            plain.matches(element).count(),
            "{element}"
        );
    }
    assert!(page.contains("\\u003c/script>"));
}

#[test]
fn a_page_holds_its_timeline_as_json() {
    let page = with_picture("op", &timeline(2), html::html);
    let (_, data) = page.split_once("id=\"data\">").expect("the data's element");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let picture = &data["groups"][0][0];
    assert_eq!(
        picture["summary"],
        "20 cycles; warps wait 12: 12 for copies, 0 at block barriers, 0 at mbarriers"
    );
    assert_eq!(picture["places"], serde_json::json!([["op", "k.mlir:1:2", "3"]]));
    let rows = picture["rows"].as_array().expect("rows");
    let items: Vec<String> = rows.iter().map(|row| row["items"].to_string()).collect();
    assert_eq!(
        items,
        [
            "[0,10,0,0,10,20,0,1]",
            "[0,4,0,0,4,10,1,0,10,14,0,0,14,20,1,0]",
            "[0,10,0,10,null,10,20,0,20,null]"
        ]
    );
}

#[test]
fn a_page_is_cut_and_says_so() {
    // Four items in each iteration.
    let (all, cut) = (100, 17);
    let page = with_picture("op", &timeline(all), |groups| html::page(groups, cut * 4));
    assert!(page.contains("\"cut\":{\"at\":170,\"items\":332}"));
    assert!(page.contains("[160,170,0,16]") || page.contains(",160,170,0,16]"));
    let whole = with_picture("op", &timeline(all), html::html);
    assert!(whole.contains("\"cut\":null"));
}

#[test]
fn a_picture_of_a_long_timeline_is_no_larger_than_its_pixels() {
    let bars = |iterations| {
        with_picture("op", &timeline(iterations), svg)
            .matches("<title>")
            .count()
    };
    assert_eq!(bars(10), 4 * 10);
    let (long, longer) = (bars(20_000), bars(200_000));
    assert!(long < 2 * 4 * 1200 && longer <= long, "{long}, then {longer}");
}

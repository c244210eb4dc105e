//! The limits of a job's log: long lines, invalid text, and many lines.

use serde_json::{Value, json};
use tenure_e2e::{SeededRandom, Server, assert_fields, on_both_stores, path};

const LINE_BYTES_MAX: usize = 64 << 10;

async fn count(server: &Server, job: &Value) -> usize {
    server.rows(&path(job, "logs")).await.len()
}

#[test]
fn a_line_over_64_kib_is_refused_with_its_whole_request() {
    on_both_stores(async |server| {
        let job = server.create_claimed(json!({ "type": "a" })).await;
        let append = async |text: String| {
            let lines = json!({ "lines": [{ "text": "before" }, { "text": text }] });
            server.report(&job, "logs", lines).await
        };
        append("x".repeat(LINE_BYTES_MAX)).await.expect(200);
        assert_eq!(count(&server, &job).await, 2);
        for bytes in [LINE_BYTES_MAX + 1, 1_000_000] {
            let problem = append("x".repeat(bytes)).await.problem(413, "too_large");
            assert_eq!(problem["limit"], LINE_BYTES_MAX);
        }
        // The limit counts bytes, not characters.
        append("ü".repeat(LINE_BYTES_MAX / 2 + 1)).await.problem(413, "too_large");
        assert_eq!(count(&server, &job).await, 2, "all of an append or nothing");
    });
}

#[test]
fn invalid_utf8_is_refused_and_unusual_characters_are_kept() {
    on_both_stores(async |server| {
        let job = server.create_claimed(json!({ "type": "a" })).await;
        let (start, end) = (&br#"{"lines":[{"text":""#[..], &br#""}]}"#[..]);
        for junk in
            [&b"\xff\xfe"[..], b"a\xc3(", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"a\x00b", b"a\x01b"]
        {
            let body = [start, junk, end].concat();
            server.post_text(&path(&job, "logs"), body).await.problem(400, "malformed");
        }
        assert_eq!(count(&server, &job).await, 0);
        let odd = [
            "\u{1}\u{1b}[31m\u{7f}",
            "a\r\nb\tc",
            "\u{fffd}\u{feff}",
            "\u{10ffff} 🦀 \u{202e}",
            "data: x\n\nid: 9",
        ];
        let lines: Vec<Value> = odd.iter().map(|text| json!({ "text": text })).collect();
        server.report_ok(&job, "logs", json!({ "lines": lines })).await;
        assert_eq!(server.column(&path(&job, "logs"), "text").await, odd);
        server.succeed(&job).await;
        let received = server.stream(&path(&job, "stream"), None).await.rest().await;
        let lines = received.iter().filter(|it| it.event == "log");
        let texts: Vec<&Value> = lines.map(|it| &it.data["text"]).collect();
        assert_eq!(texts, odd, "a line cannot pretend to be an event");
    });
}

#[test]
fn a_reconnecting_reader_gets_a_hundred_thousand_lines_in_order() {
    const LINES: usize = 100_000;
    const APPEND: usize = 10_000;
    on_both_stores(async |server| {
        let job = server.create_claimed(json!({ "type": "a" })).await;
        let too_many = json!({ "lines": vec![json!({ "text": "x" }); APPEND + 1] });
        server.report(&job, "logs", too_many).await.problem(400, "malformed");
        let write = async {
            for part in 0..LINES / APPEND {
                let lines: Vec<Value> = (0..APPEND)
                    .map(|n| json!({ "text": format!("line {}", part * APPEND + n + 1) }))
                    .collect();
                server.report_ok(&job, "logs", json!({ "lines": lines })).await;
            }
            server.succeed(&job).await;
        };
        let read = async {
            let (mut chance, mut next, mut last) = (SeededRandom::new(), 1, None::<String>);
            loop {
                let mut stream = server.stream(&path(&job, "stream"), last.as_deref()).await;
                for _ in 0..=chance.below(20_000) {
                    let received = stream.next().await.expect("a stream ends with the status");
                    if received.event == "status" {
                        assert_eq!(received.data["state"], "succeeded");
                        return next - 1;
                    }
                    assert_fields(&received.data, json!({ "n": next, "text": format!("line {next}") }));
                    next += 1;
                    last = Some(received.id);
                }
            }
        };
        let (received, ()) = tokio::join!(read, write);
        assert_eq!(received, LINES);
        let tail = path(&job, &format!("logs?after={}", LINES - 2));
        assert_eq!(server.column(&tail, "n").await, [LINES - 1, LINES]);
    });
}

//! What the decoder makes of small streams, whole, byte by byte and cut at random.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::fuzzing;
use proptest::prelude::*;

/// Decodes `input` whole, byte by byte and in two parts at every offset, and compares what comes out, one line per
/// event: `name|data|id@offset`, then the error, the pending bytes and the retry time where there are any.
#[track_caller]
fn check(input: impl AsRef<[u8]>, expect: &[&str]) {
    check_limited(input, SseLimits::default(), expect);
}

#[track_caller]
fn check_limited(input: impl AsRef<[u8]>, limits: SseLimits, expect: &[&str]) {
    let input = input.as_ref();
    assert_eq!(decode(&[input], limits), expect, "whole");
    assert_eq!(decode(&input.chunks(1).collect::<Vec<_>>(), limits), expect, "byte by byte");
    for cut in 0..=input.len() {
        let (head, tail) = input.split_at(cut);
        assert_eq!(decode(&[head, tail], limits), expect, "cut at {cut}");
    }
}

fn decode(chunks: &[&[u8]], limits: SseLimits) -> Vec<String> {
    let mut out = Vec::new();
    let mut decoder = SseDecoder::new(limits);
    for chunk in chunks {
        let result = decoder
            .feed(chunk, |event| out.push(format!("{}|{}|{}@{}", event.name, event.data, event.id, event.offset)));
        if let Err(error) = result {
            assert_eq!(decoder.feed(b"data: x\n\n", |_| panic!("fed after a fault")), Err(error));
            let (at, told) = match error {
                SseError::TooLarge { offset, limit } => (offset, format!("too large @{offset} > {limit}")),
                SseError::InvalidUtf8 { offset } => (offset, format!("not utf-8 @{offset}")),
            };
            assert_eq!(decoder.finish().bytes, at, "the stream ends for it where its fault is");
            out.push(told);
            return out;
        }
    }
    let end = decoder.finish();
    assert_eq!(end.bytes, chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    if end.pending > 0 {
        out.push(format!("pending {}", end.pending));
    }
    out.extend(decoder.retry().map(|retry| format!("retry {retry}")));
    out
}

#[test]
fn a_fault_behind_an_open_event_ends_the_stream_there() {
    check(b"data: a\n\ndata: b\ndata: \xfc\n\n", &["|a|@0", "not utf-8 @23"]);
    check_limited(
        "data: a\n\ndata: b\ndata: long\n",
        SseLimits { max_event_bytes: 12 },
        &["|a|@0", "too large @22 > 12"],
    );
}

#[test]
fn lf() {
    check("data: a\n\ndata: b\n\n", &["|a|@0", "|b|@9"]);
}

#[test]
fn crlf() {
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["|a|@0", "|b|@11"]);
}

#[test]
fn lone_cr() {
    check("data: a\r\rdata: b\r\r", &["|a|@0", "|b|@9"]);
}

#[test]
fn mixed_line_ends() {
    check("data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\n\r", &["|a|@0", "|b|@10", "|c|@20", "|d|@30"]);
}

#[test]
fn s002_crlf_cut_between_cr_and_lf_is_one_line_end() {
    check("data: {\"choices\":\r\ndata: []}\r\n\r\ndata: [DONE]\r\n\r\n", &["|{\"choices\":\n[]}|@0", "|[DONE]|@32"]);
}

#[test]
fn byte_order_mark_at_the_start_only() {
    check("\u{feff}data: a\n\n\u{feff}data: b\n\ndata: c\n\n", &["|a|@0", "|c|@24"]);
}

#[test]
fn byte_order_mark_after_a_blank_line_is_text() {
    check("\n\u{feff}data: a\n\ndata: b\n\n", &["|b|@13"]);
}

#[test]
fn byte_order_mark_alone_on_the_first_line() {
    check("\u{feff}\ndata: a\n\n", &["|a|@4"]);
}

#[test]
fn only_one_byte_order_mark_is_dropped() {
    check("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["|b|@15"]);
}

#[test]
fn byte_order_mark_before_a_comment() {
    check("\u{feff}: hello\n\ndata: a\n\n", &["|a|@12"]);
}

#[test]
fn comments_do_not_break_an_event() {
    check(": one\ndata: a\n: two\n:\ndata: b\n\n: three\n\n", &["|a\nb|@6"]);
}

#[test]
fn no_space_and_two_spaces_after_the_colon() {
    check("data:a\n\ndata:  b\n\ndata:\tc\n\n", &["|a|@0", "| b|@8", "|\tc|@18"]);
}

#[test]
fn many_data_lines_are_joined() {
    check("data: a\ndata\ndata: c\ndata:\n\n", &["|a\n\nc\n|@0"]);
}

#[test]
fn empty_data_is_an_event_and_no_data_is_none() {
    check("data\n\ndata:\n\nevent: x\n\nid: 1\n\n\n\ndata: a\n\n", &["||@0", "||@6", "|a|1@32"]);
}

#[test]
fn event_name_lasts_for_one_event_and_the_last_one_wins() {
    check("event: a\nevent: b\ndata: 1\n\ndata: 2\n\n", &["b|1|@0", "|2|@27"]);
    check("data: 1\nevent: a\nevent\n\n", &["|1|@0"]);
}

#[test]
fn id_lasts_until_replaced() {
    check("id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", &["|a|7@0", "|b|7@15", "|c|@24"]);
}

#[test]
fn id_with_nul_is_ignored() {
    check("id: 7\ndata: a\n\nid: 8\0\ndata: b\n\n", &["|a|7@0", "|b|7@15"]);
}

#[test]
fn nul_passes_in_data_and_name() {
    check("event: x\0y\ndata: a\0b\n\n", &["x\0y|a\0b|@0"]);
}

#[test]
fn retry_takes_digits_only() {
    check("retry: 250\n\n", &["retry 250"]);
    check("retry: 250\nretry: 1s\nretry: -4\nretry:\nretry: +5\nretry: ٣\n\n", &["retry 250"]);
    check("retry: 99999999999999999999999\n\n", &["retry 18446744073709551615"]);
}

#[test]
fn unknown_fields_and_near_misses_are_ignored() {
    check("foo: a\nDATA: b\n data: c\ndata : d\ndatax: e\ndat: f\ndata: g\n\n", &["|g|@49"]);
}

#[test]
fn colons_in_a_value_stay() {
    check("data: a: b\ndata::c\n\n", &["|a: b\n:c|@0"]);
}

#[test]
fn multibyte_text_cut_anywhere() {
    check("event: ü\ndata: 日本 🦀\n\n", &["ü|日本 🦀|@0"]);
}

#[test]
fn an_event_without_its_blank_line_is_not_dispatched() {
    check("data: a\n\ndata: b\n", &["|a|@0", "pending 8"]);
    check("data: a\n\ndata: b", &["|a|@0", "pending 7"]);
    check("data: a\n\n:keep", &["|a|@0", "pending 5"]);
    check("data: a\n\nevent: x\n: c\nda", &["|a|@0", "pending 15"]);
    check("data: a\n\n:keep\n", &["|a|@0"]);
    check("", &[]);
}

#[test]
fn invalid_utf8_is_a_fault_with_its_offset() {
    check(b"data: a\n\ndata: b\xffc\n\ndata: d\n\n", &["|a|@0", "not utf-8 @16"]);
    check(b"data: \xe2\x82\n\n", &["not utf-8 @6"]);
    check(b": \x80\n", &["not utf-8 @2"]);
    check(b"data: a\nevent: \xc0\xaf\n\n", &["not utf-8 @15"]);
    check(b"data: a\ndata: \xed\xa0\x80\n\n", &["not utf-8 @14"]);
}

#[test]
fn invalid_utf8_in_a_line_that_never_ends_is_pending() {
    check(b"data: \xff", &["pending 7"]);
}

#[test]
fn size_is_capped_per_event_at_the_first_byte_beyond() {
    let limits = SseLimits { max_event_bytes: 10 };
    check_limited("data: abcd\n\ndata: efgh\n\n", limits, &["|abcd|@0", "|efgh|@12"]);
    check_limited("data: abcd\n\ndata: efghi\n\n", limits, &["|abcd|@0", "too large @22 > 10"]);
    check_limited("data: abcdefghijkl", limits, &["too large @10 > 10"]);
    check_limited("data\ndata\ndata\n\n", limits, &["too large @12 > 10"]);
    check_limited("id: 1\nevent: x\n\n", limits, &["too large @11 > 10"]);
}

#[test]
fn comments_do_not_add_up_but_each_is_capped() {
    let limits = SseLimits { max_event_bytes: 10 };
    check_limited("data: a\n:keep\n:keep\n:\nfoo\n\n", limits, &["too large @11 > 10"]);
    check_limited(":keepalive\n:keepalive\n:keepalive\ndata: abcd\n\n", limits, &["|abcd|@33"]);
    check_limited(":keepalive!\n", limits, &["too large @10 > 10"]);
}

#[test]
fn s032_long_lines_work_and_the_default_cap_ends_them() {
    for size in [65_535, 65_536, 1 << 20, (16 << 20) + 1] {
        let line = format!("data: {}\n\n", "A".repeat(size));
        let mut sizes = Vec::new();
        let mut decoder = SseDecoder::default();
        for chunk in line.as_bytes().chunks(16_384) {
            decoder.feed(chunk, |event| sizes.push(event.data.len())).unwrap();
        }
        assert_eq!(sizes, [size]);
    }
    let limit = SseLimits::default().max_event_bytes;
    let mut decoder = SseDecoder::default();
    let error = std::iter::repeat_n([b'A'; 16_384], 2_000)
        .find_map(|chunk| decoder.feed(&chunk, |_| panic!("no line ended")).err());
    assert_eq!(error, Some(SseError::TooLarge { offset: limit as u64, limit }));
}

/// Stream text made of the pieces that matter, so that most cases have events in them.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "data: ", "data:", "data", "event: ", "id: ", "retry: 5", ": c", "\n", "\n\n", "\r", "\r\n", "\r\r", "\u{feff}",
            "x", "ü", "🦀", "\0", " ", ":",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// For every partition of the bytes the events, the fault and the end are those of the reference parser, which
    /// sees the whole stream at once.
    #[test]
    fn any_partition_agrees_with_the_reference(bytes in stream(), sizes in prop::collection::vec(0_usize..9, 1..8)) {
        fuzzing::sse_bytes(&bytes);
        fuzzing::sse_partition(&bytes, &sizes);
    }

    #[test]
    fn arbitrary_bytes_agree_with_the_reference(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzzing::sse_bytes(&bytes);
    }
}

#[test]
fn committed_corpus_and_regressions_replay() {
    assert!(fuzzing::replay("sse_bytes", fuzzing::sse_bytes) >= 12);
    assert!(fuzzing::replay("sse_split_invariance", fuzzing::sse_split_invariance) >= 12);
}

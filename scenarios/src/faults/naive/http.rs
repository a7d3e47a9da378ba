//! One blocking HTTP request, and the pieces of its chunked body as they were sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The largest piece that is read.
const PIECE_LIMIT: usize = 64 << 20;

/// Posts a chat request; gives the pieces of the body. A body that breaks off gives the pieces before the break, and one
/// that is compressed an error, unless the caller does not care.
pub fn post(base_url: &str, body: &str, any_encoding: bool) -> Result<Vec<Vec<u8>>, String> {
    let rest = base_url.strip_prefix("http://").ok_or("the base URL must start with http://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).map_err(|e| format!("cannot connect to {host}: {e}"))?;
    let path = path.trim_end_matches('/');
    let head = format!(
        "POST /{path}/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).map_err(|e| e.to_string())?;
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).map_err(|e| e.to_string())?;
    let mut chunked = false;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).map_err(|e| e.to_string())?;
        if line.trim().is_empty() {
            break;
        }
        if line.to_ascii_lowercase().starts_with("content-encoding:") && !any_encoding {
            return Err(format!("the body is compressed: {}", line.trim()));
        }
        chunked |= line.to_ascii_lowercase().starts_with("transfer-encoding: chunked");
    }
    if !status.contains(" 200") {
        let mut text = String::new();
        let _ = reader.take(4096).read_to_string(&mut text);
        return Err(format!("{}: {text}", status.trim()));
    }
    Ok(if chunked { chunks(&mut reader) } else { whole(&mut reader) })
}

fn whole(reader: &mut impl Read) -> Vec<Vec<u8>> {
    let mut body = Vec::new();
    let _ = reader.read_to_end(&mut body);
    vec![body]
}

fn chunks(reader: &mut impl BufRead) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() {
            return pieces;
        }
        let Ok(size) = usize::from_str_radix(line.trim(), 16) else { return pieces };
        if size == 0 || size > PIECE_LIMIT {
            return pieces;
        }
        let mut piece = vec![0; size];
        if reader.read_exact(&mut piece).is_err() {
            return pieces;
        }
        pieces.push(piece);
        let mut end = [0; 2];
        if reader.read_exact(&mut end).is_err() {
            return pieces;
        }
    }
}

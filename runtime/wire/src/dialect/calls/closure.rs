//! When the arguments of a call look complete.

/// Watches argument text go by and knows when its outermost bracket has been closed. It does not judge the text: it only
/// tells a head that follows a complete call from one that repeats itself.
#[derive(Debug, Default)]
pub(super) struct Closure {
    depth: usize,
    in_string: bool,
    escaped: bool,
    pub(super) closed: bool,
}

impl Closure {
    pub(super) fn feed(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

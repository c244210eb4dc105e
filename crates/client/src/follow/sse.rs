//! Parser of server-sent events: accepts pieces of any size.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentEvent {
    /// `message` if the event has no name.
    pub(crate) name: String,
    /// The last id, of this event or an earlier one.
    pub(crate) id: Option<String>,
    /// Its lines, joined.
    pub(crate) text: String,
}

/// Assembles events from the pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    after_return: bool,
    id: Option<String>,
    name: String,
    text: Option<String>,
    retry_ms: Option<u64>,
}

impl Reader {
    /// Continues behind the event with this id.
    pub(crate) fn after(id: Option<String>) -> Self {
        Self { id, ..Self::default() }
    }

    /// Takes the next piece and gives the events that it completes.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<SentEvent> {
        let mut sent = Vec::new();
        for &byte in piece {
            let ends = match byte {
                // The second half of CRLF ends nothing.
                b'\n' => !self.after_return,
                b'\r' => true,
                _ => {
                    self.line.push(byte);
                    false
                }
            };
            self.after_return = byte == b'\r';
            if ends {
                let line = std::mem::take(&mut self.line);
                sent.extend(self.end_line(&String::from_utf8_lossy(&line)));
            }
        }
        sent
    }

    /// How long the server wants a client to wait before it connects again.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn end_line(&mut self, line: &str) -> Option<SentEvent> {
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.text {
                Some(text) => {
                    text.push('\n');
                    text.push_str(value);
                }
                None => self.text = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.retry_ms = value.parse().ok().or(self.retry_ms),
            // A comment, which keeps the connection warm, or a field of a later day.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SentEvent> {
        let name = std::mem::take(&mut self.name);
        let text = self.text.take()?;
        let name = if name.is_empty() { "message".to_owned() } else { name };
        Some(SentEvent { name, id: self.id.clone(), text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: warm\r\nid: 1\r\nevent: log\r\ndata: one\r\ndata:  two\r\n\r\n\
                          :\n\nid\nid: 7\ndata: grün\n\nevent: log\n\nretry: 250\nnew: x\rdata\r\r";

    fn received(piece_bytes: usize) -> Vec<(String, Option<String>, String)> {
        let mut reader = Reader::default();
        let bytes = STREAM.trim_start_matches('\u{feff}').as_bytes();
        let sent = bytes.chunks(piece_bytes).flat_map(|piece| reader.push(piece)).collect::<Vec<_>>();
        assert_eq!(reader.retry_ms(), Some(250));
        sent.into_iter().map(|sent| (sent.name, sent.id, sent.text)).collect()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_were_cut() {
        let expected = vec![
            ("log".to_owned(), Some("1".to_owned()), "one\n two".to_owned()),
            ("message".to_owned(), Some("7".to_owned()), "grün".to_owned()),
            ("message".to_owned(), Some("7".to_owned()), String::new()),
        ];
        for piece_bytes in 1..=STREAM.len() {
            assert_eq!(received(piece_bytes), expected, "in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn half_an_event_is_none() {
        let mut reader = Reader::default();
        assert_eq!(reader.push(b"id: 3\ndata: half"), []);
    }
}

//! A minimal HTTP client for servers on this machine.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail};

const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Sends one request on a new connection and returns the body; any status but 2xx is an error. Each header ends with
/// `\r\n`.
pub(crate) fn request(
    address: impl ToSocketAddrs,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(ANSWER_MAX))?;
    write!(
        socket,
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        socket.peer_addr()?,
        body.len()
    )?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer is incomplete")?;
    if !head.split(' ').nth(1).is_some_and(|status| status.starts_with('2')) {
        bail!("{method} {path}: {head}\n{body}");
    }
    Ok(body.to_owned())
}

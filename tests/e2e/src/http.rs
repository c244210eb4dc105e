//! HTTP requests and their replies.

use std::time::Duration;

use reqwest::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::Value;
use tokio::time::timeout;

use crate::{DEADLINE, in_time};

/// A client without a proxy.
pub fn http_client() -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().timeout(Duration::from_mins(1))
}

/// A request that is not sent yet.
pub struct Request {
    pub(crate) builder: reqwest::RequestBuilder,
    pub(crate) path: String,
}

impl Request {
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    /// Replaces the server's key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        let bearer = format!("Bearer {key}").parse().unwrap();
        self.builder = self.builder.headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]));
        self
    }

    #[must_use]
    pub fn idempotent(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    #[must_use]
    pub fn json(mut self, body: &Value) -> Self {
        self.builder = self.builder.header("content-type", "application/json").body(body.to_string());
        self
    }

    /// A body without a content type.
    #[must_use]
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.builder = self.builder.body(body.into());
        self
    }

    /// The response before its body is read.
    pub async fn open(self) -> reqwest::Response {
        let Self { builder, path } = self;
        in_time(&path, builder.send()).await.unwrap_or_else(|error| panic!("{path}: {error:?}"))
    }

    pub async fn send(self) -> Reply {
        let path = self.path.clone();
        self.try_send().await.unwrap_or_else(|error| panic!("{path}: {error:?}"))
    }

    /// For servers that may be shutting down.
    pub async fn try_send(self) -> Result<Reply, reqwest::Error> {
        let Self { builder, path } = self;
        let exchange = async {
            let response = builder.send().await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let text = response.text().await?;
            let body = serde_json::from_str(&text).unwrap_or(Value::Null);
            Ok(Reply { path: path.clone(), status, headers, text, body })
        };
        timeout(DEADLINE * 2, exchange).await.unwrap_or_else(|_| panic!("no answer: {path}"))
    }
}

/// A whole response.
#[derive(Clone, Debug)]
pub struct Reply {
    path: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// The body as JSON, or null.
    pub body: Value,
}

impl Reply {
    /// The body of a reply with this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.path, self.text);
        self.body
    }

    /// The body of a reply that repeats an earlier one.
    #[track_caller]
    pub fn expect_replay(self) -> Value {
        assert_eq!(self.header("idempotent-replayed"), Some("true"), "{}: {}", self.path, self.text);
        self.expect(200)
    }

    /// A problem with this status and code and every field of a problem.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.path, self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.path);
        let body = &self.body;
        assert_eq!(body["code"], code, "{}: {}", self.path, self.text);
        assert_eq!(body["type"], format!("/problems/{code}"), "{}", self.text);
        assert_eq!(body["status"], status, "{}", self.text);
        let path = self.path.split('?').next().unwrap_or_default();
        assert_eq!(body["instance"], path, "{}", self.text);
        for field in ["title", "detail"] {
            assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {}", self.text);
        }
        self.body
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

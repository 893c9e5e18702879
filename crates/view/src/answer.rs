//! Answers to requests, and the headers that all of them have.

use hyper::body::Bytes;
use hyper::{Response, header};

use crate::slice::{Slice, SliceError};
use crate::wire;

/// The outcome of a request.
pub(crate) struct HttpAnswer {
    pub status: u16,
    pub kind: &'static str,
    pub body: Bytes,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const BINARY: &str = "application/octet-stream";

/// Headers of every answer.
const HEADERS: &[(&str, &str)] = &[
    ("Allow", "GET"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
];

impl HttpAnswer {
    pub fn refused(status: u16, why: impl ToString) -> HttpAnswer {
        HttpAnswer {
            status,
            kind: TEXT,
            body: why.to_string().into(),
        }
    }

    /// The response. `sent` makes its body.
    pub fn into_response<B>(self, sent: impl FnOnce(Bytes) -> B) -> Response<B> {
        let mut response = Response::builder()
            .status(self.status)
            .header(header::CONTENT_TYPE, self.kind);
        for (name, value) in HEADERS {
            response = response.header(*name, *value);
        }
        response
            .body(sent(self.body))
            .expect("constant headers are valid")
    }

    pub fn json(value: &serde_json::Value) -> HttpAnswer {
        HttpAnswer {
            status: 200,
            kind: JSON,
            body: value.to_string().into(),
        }
    }

    pub fn slice(slice: Result<Slice, SliceError>) -> HttpAnswer {
        match slice {
            Ok(slice) => HttpAnswer {
                status: 200,
                kind: BINARY,
                body: wire::encode(&slice).into(),
            },
            Err(error @ SliceError::Unreadable(_)) => HttpAnswer::refused(500, error),
            Err(error) => HttpAnswer::refused(400, error),
        }
    }
}

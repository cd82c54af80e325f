//! What these tests ask of an agent beside its answers: errors, instructions, refused calls, and the size of an answer.

use rmcp::model::{CallToolRequestParams, JsonObject};
use tiktoken_rs::o200k_base_singleton;

use crate::agent::{Agent, Answer};

impl Answer {
    /// The kind of an error, what to do, and the message.
    pub(crate) fn error(&self) -> [String; 3] {
        assert!(self.is_error, "{}", self.text);
        let json = self.json();
        [&json["error"], &json["do"], &json["untrusted"]["message"]].map(|of| of.as_str().unwrap().to_owned())
    }

    /// Tokens of the tokenizer `o200k_base`.
    pub(crate) fn tokens(&self) -> usize {
        o200k_base_singleton().encode_ordinary(&self.text).len()
    }
}

impl Agent {
    pub(crate) fn instructions(&self) -> String {
        self.client.peer_info().unwrap().instructions.clone().unwrap()
    }

    /// Whether a call is refused by the protocol.
    pub(crate) async fn is_refused(&self, tool: &'static str) -> bool {
        let params = CallToolRequestParams::new(tool).with_arguments(JsonObject::new());
        self.client.call_tool(params).await.is_err()
    }
}

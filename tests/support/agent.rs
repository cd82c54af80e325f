//! An agent: an MCP client of the SDK that starts the program.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, Tool};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::Value;
use tokio::process::{Child, Command};

pub(crate) struct Agent {
    pub(crate) client: RunningService<RoleClient, ()>,
    /// Killed when it is dropped.
    _server: Child,
}

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    /// The content of an answer that is no error.
    pub(crate) fn good(&self) -> Value {
        assert!(!self.is_error, "{}", self.text);
        self.json()
    }
}

impl Agent {
    /// Starts the server with these arguments, and initializes the connection.
    pub(crate) async fn start(args: &[&str]) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_shindan"))
            .arg("mcp")
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let streams = (server.stdout.take().unwrap(), server.stdin.take().unwrap());
        Self { client: ().serve(streams).await.unwrap(), _server: server }
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.client.list_all_tools().await.unwrap()
    }

    /// Calls a tool with arguments as a JSON object.
    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> Answer {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.client.call_tool(params).await.unwrap();
        let [content] = &result.content[..] else { panic!("{result:?}") };
        let text = content.as_text().unwrap().text.clone();
        Answer { is_error: result.is_error == Some(true), text }
    }
}

//! What a message says, in a record.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::recorder::as_json;

/// What a message says, as JSON. It is kept as the algorithm's own type, and put into words only when somebody reads
/// it: most records of a long run are never looked at. Copies share both.
#[derive(Clone)]
pub struct Content(Arc<dyn Said>);

trait Said: Send + Sync {
    fn json(&self) -> &Value;
}

impl Said for Value {
    fn json(&self) -> &Value {
        self
    }
}

struct Message<M> {
    message: M,
    json: OnceLock<Value>,
}

impl<M: Serialize + Send + Sync> Said for Message<M> {
    fn json(&self) -> &Value {
        self.json.get_or_init(|| as_json(&self.message))
    }
}

impl Content {
    /// Of a message, which must be plain data.
    pub fn of(message: impl Serialize + Send + Sync + 'static) -> Self {
        Content(Arc::new(Message { message, json: OnceLock::new() }))
    }
}

impl From<Value> for Content {
    fn from(json: Value) -> Self {
        Content(Arc::new(json))
    }
}

impl Deref for Content {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.json()
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Content {}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Content::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skeptron_core::NodeId;

    use super::*;

    #[derive(Serialize)]
    enum Said {
        Request { node: NodeId },
    }

    #[test]
    fn a_message_is_its_json() {
        let said = Content::of(Said::Request { node: NodeId::new(4) });
        let read = Content::from(json!({"Request": {"node": 5}}));
        assert_eq!(said, read);
        assert_ne!(said, Content::from(json!("Request")));
        assert_eq!(serde_json::to_string(&said).unwrap(), r#"{"Request":{"node":5}}"#);
        assert_eq!(serde_json::from_str::<Content>(r#"{"Request":{"node":5}}"#).unwrap(), said);
        assert_eq!(said["Request"]["node"], 5);
    }
}

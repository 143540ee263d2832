//! The JSON of etcd's gateway: numbers of 64 bits are strings, but may be sent as numbers; bytes are base64.

/// Whether a field has the value that it has without being set.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

macro_rules! number {
    ($module:ident, $number:ty) => {
        pub(crate) mod $module {
            use serde::de::Error as _;
            use serde::{Deserialize, Deserializer, Serializer};

            #[derive(Deserialize)]
            #[serde(untagged)]
            enum Written {
                Number($number),
                Text(String),
            }

            pub(crate) fn serialize<S: Serializer>(
                value: &$number,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_str(value)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$number, D::Error> {
                match Written::deserialize(deserializer).map_err(|_| wrong::<D>())? {
                    Written::Number(number) => Ok(number),
                    Written::Text(text) => text.parse().map_err(|_| wrong::<D>()),
                }
            }

            fn wrong<'de, D: Deserializer<'de>>() -> D::Error {
                D::Error::custom("expected a whole number of 64 bits, as a string or as a number")
            }
        }
    };
}

number!(int64, i64);
number!(uint64, u64);

pub(crate) mod bytes {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD
            .decode(text)
            .map_err(|why| D::Error::custom(format!("illegal base64: {why}")))
    }
}

pub(crate) mod list_of_bytes {
    use serde::ser::SerializeSeq as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Owned(#[serde(with = "super::bytes")] Vec<u8>);

    struct Borrowed<'a>(&'a [u8]);

    impl Serialize for Borrowed<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            super::bytes::serialize(self.0, serializer)
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        values: &[Vec<u8>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(values.len()))?;
        for value in values {
            list.serialize_element(&Borrowed(value))?;
        }
        list.end()
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let list = Vec::<Owned>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|Owned(value)| value).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::proto::etcdserverpb::{LeaseGrantRequest, LeaseTimeToLiveResponse, ResponseHeader};

    #[test]
    fn numbers_are_strings_and_bytes_base64() {
        let header = ResponseHeader { cluster_id: u64::MAX, revision: -1, ..Default::default() };
        let answer = LeaseTimeToLiveResponse {
            header: Some(header),
            id: 1 << 60,
            ttl: -1,
            granted_ttl: 0,
            keys: vec![b"a/1".to_vec()],
        };
        let text = serde_json::to_string(&answer).unwrap();
        let expected = "{\"header\":{\"cluster_id\":\"18446744073709551615\",\"revision\":\"-1\"},\
                        \"ID\":\"1152921504606846976\",\"TTL\":\"-1\",\"keys\":[\"YS8x\"]}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<LeaseTimeToLiveResponse>(&text).unwrap(), answer);
    }

    #[test]
    fn numbers_may_come_as_numbers_and_unknown_fields_are_ignored() {
        let read = |text: &str| serde_json::from_str::<LeaseGrantRequest>(text);
        assert_eq!(
            read("{\"TTL\": 60, \"ID\": \"7\"}").unwrap(),
            LeaseGrantRequest { ttl: 60, id: 7 }
        );
        assert_eq!(read("{\"more\": []}").unwrap(), LeaseGrantRequest::default());
        for wrong in ["{\"TTL\": \"x\"}", "{\"TTL\": 1.5}", "{\"TTL\": []}", "{", "7"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

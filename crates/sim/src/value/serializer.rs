//! Makes a [`Value`] of whatever serde can serialise.

use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Number;
use skeptron_core::NodeId;
use thiserror::Error;

use super::{Brackets, Value};

/// Why something has no value.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct NoValue(String);

impl ser::Error for NoValue {
    fn custom<T: std::fmt::Display>(why: T) -> Self {
        NoValue(why.to_string())
    }
}

type Made = Result<Value, NoValue>;

/// The serializer; no human-readable one, so that nodes are counted from 0 here.
pub(super) struct ToValue;

impl Serializer for ToValue {
    type Ok = Value;
    type Error = NoValue;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Items;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, v: bool) -> Made {
        Ok(Value::Bool(v))
    }

    fn serialize_i8(self, v: i8) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_i16(self, v: i16) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_i32(self, v: i32) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_i64(self, v: i64) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_u8(self, v: u8) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_u16(self, v: u16) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_u32(self, v: u32) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_u64(self, v: u64) -> Made {
        Ok(Value::Number(v.into()))
    }

    fn serialize_f32(self, v: f32) -> Made {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Made {
        let number = Number::from_f64(v).ok_or_else(|| NoValue(format!("{v} is no number")))?;
        Ok(Value::Number(number))
    }

    fn serialize_char(self, v: char) -> Made {
        Ok(Value::Name(v.to_string().into()))
    }

    fn serialize_str(self, v: &str) -> Made {
        Ok(Value::Name(v.to_string().into()))
    }

    fn serialize_bytes(self, v: &[u8]) -> Made {
        let bytes = v.iter().map(|&byte| Value::Number(byte.into()));
        Ok(Value::Items(Brackets::List, bytes.collect()))
    }

    fn serialize_none(self) -> Made {
        Ok(Value::None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made {
        Ok(Value::Some(Box::new(value.serialize(ToValue)?)))
    }

    fn serialize_unit(self) -> Made {
        Ok(Value::Items(Brackets::Tuple, Vec::new()))
    }

    fn serialize_unit_struct(self, name: &'static str) -> Made {
        Ok(Value::Name(name.into()))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made {
        Ok(Value::Name(variant.into()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Made {
        Ok(match (name, value.serialize(ToValue)?) {
            ("NodeId", Value::Number(index)) => {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                let index = index.ok_or_else(|| NoValue("a node is an index".into()))?;
                Value::Node(NodeId::new(index))
            }
            ("NodeSet", Value::Items(_, nodes)) => Value::Items(Brackets::Set, nodes),
            (_, value) => value,
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Made {
        Ok(Value::Variant(variant, Box::new(value.serialize(ToValue)?)))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items, NoValue> {
        Ok(Items::new(Brackets::List, len))
    }

    fn serialize_tuple(self, len: usize) -> Result<Items, NoValue> {
        Ok(Items::new(Brackets::Tuple, Some(len)))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Items, NoValue> {
        Ok(Items::new(Brackets::Tuple, Some(len)))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Items, NoValue> {
        Ok(Items { variant: Some(variant), ..Items::new(Brackets::Tuple, Some(len)) })
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Items, NoValue> {
        Ok(Items::new(Brackets::Set, len.map(|len| 2 * len)))
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Fields, NoValue> {
        Ok(Fields { name, fields: Vec::with_capacity(len) })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Fields, NoValue> {
        Ok(Fields { name: variant, fields: Vec::with_capacity(len) })
    }
}

/// A collection that is being told.
pub(super) struct Items {
    variant: Option<&'static str>,
    brackets: Brackets,
    items: Vec<Value>,
}

impl Items {
    fn new(brackets: Brackets, len: Option<usize>) -> Self {
        Items { variant: None, brackets, items: Vec::with_capacity(len.unwrap_or_default()) }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoValue> {
        self.items.push(value.serialize(ToValue)?);
        Ok(())
    }

    fn made(self) -> Made {
        let items = Value::Items(self.brackets, self.items);
        Ok(match self.variant {
            Some(variant) => Value::Variant(variant, Box::new(items)),
            None => items,
        })
    }
}

/// Each of serde's traits for collections, by its method that takes an item.
macro_rules! collects {
    ($($of:ident :: $take:ident)*) => {$(
        impl $of for Items {
            type Ok = Value;
            type Error = NoValue;

            fn $take<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoValue> {
                self.push(value)
            }

            fn end(self) -> Made {
                self.made()
            }
        }
    )*};
}

collects! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

impl SerializeMap for Items {
    type Ok = Value;
    type Error = NoValue;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NoValue> {
        self.push(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoValue> {
        self.push(value)
    }

    fn end(self) -> Made {
        self.made()
    }
}

/// A struct that is being told.
pub(super) struct Fields {
    name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

/// Both of serde's traits for named fields.
macro_rules! names {
    ($($of:ident)*) => {$(
        impl $of for Fields {
            type Ok = Value;
            type Error = NoValue;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), NoValue> {
                self.fields.push((key, value.serialize(ToValue)?));
                Ok(())
            }

            fn end(self) -> Made {
                Ok(Value::Fields(self.name, self.fields))
            }
        }
    )*};
}

names! { SerializeStruct SerializeStructVariant }

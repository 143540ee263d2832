//! Compiles `proto/` with protox, so that nobody needs protoc, and gives every field the form that it has
//! in the JSON of etcd's gateway.

use protox::prost_reflect::prost_types::FieldDescriptorProto;
use protox::prost_reflect::prost_types::field_descriptor_proto::{Label, Type};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = ["rpc.proto", "kv.proto", "lock.proto", "election.proto"];
    let compiled = protox::compile(files, ["proto"])?;
    let mut builder = tonic_prost_build::configure()
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)]")
        .type_attribute(".", "#[serde(default)]");
    for file in &compiled.file {
        for message in &file.message_type {
            for field in &message.field {
                let path = format!(".{}.{}.{}", file.package(), message.name(), field.name());
                builder = builder.field_attribute(path, in_json(field));
            }
        }
    }
    builder.compile_fds(compiled)?;
    Ok(())
}

/// Numbers of 64 bits are strings, bytes are base64, and what is not set is left out.
fn in_json(field: &FieldDescriptorProto) -> String {
    let is_list = field.label() == Label::Repeated;
    let form = match field.r#type() {
        Type::Int64 => ", with = \"crate::json::int64\"",
        Type::Uint64 => ", with = \"crate::json::uint64\"",
        Type::Bytes if is_list => ", with = \"crate::json::list_of_bytes\"",
        Type::Bytes => ", with = \"crate::json::bytes\"",
        _ => "",
    };
    let name = field.name();
    let left_out = "skip_serializing_if = \"crate::json::is_default\"";
    format!("#[serde(rename = \"{name}\", {left_out}{form})]")
}

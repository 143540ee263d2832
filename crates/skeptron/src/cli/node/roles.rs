//! `[[api.roles]]`: who may do what.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_net::api::Role;

use super::fields::{Field, Kind, Raw};
use super::settings::{Origin, Settings};

/// One `[[api.roles]]` as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoleSetting {
    /// What it says, by key.
    pub(super) values: BTreeMap<&'static str, Raw>,
    /// Where.
    pub(super) origin: Origin,
}

/// The keys of a `[[api.roles]]`.
pub(super) fn fields() -> [Field; 7] {
    [
        ("name", Kind::Text),
        ("token", Kind::Secret),
        ("token_file", Kind::Text),
        ("certificate", Kind::Text),
        ("lock", Kind::List),
        ("list", Kind::List),
        ("admin", Kind::Switch),
    ]
    .map(|(key, kind)| Field { key, kind, default: None, about: "" })
}

/// All roles of the settings.
pub(super) fn all(settings: &Settings) -> Result<Vec<Role>> {
    let mut roles: Vec<Role> = Vec::new();
    for setting in &settings.roles {
        let role = role(settings, setting).with_context(|| setting.origin.to_string())?;
        for other in &roles {
            ensure!(other.name != role.name, "{}: `{}` is there twice", setting.origin, role.name);
            let same_token = role.token.is_some() && role.token == other.token;
            let same_certificate =
                role.certificate.is_some() && role.certificate == other.certificate;
            ensure!(
                !same_token && !same_certificate,
                "{}: `{}` is known by the same token or certificate as `{}`",
                setting.origin,
                role.name,
                other.name
            );
        }
        roles.push(role);
    }
    Ok(roles)
}

fn role(settings: &Settings, RoleSetting { values, .. }: &RoleSetting) -> Result<Role> {
    let text = |key: &str| match values.get(key) {
        Some(Raw::One(text)) => Some(text.clone()),
        _ => None,
    };
    let list = |key: &str| match values.get(key) {
        Some(Raw::Many(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let Some(name) = text("name") else { bail!("this [[api.roles]] lacks its `name`") };
    ensure!(
        (1..=64).contains(&name.len()) && !name.contains(|c: char| c == '/' || c.is_control()),
        "`{name}`: the name of a role has 1 to 64 bytes, no `/` and no control characters"
    );
    let token = match (text("token"), text("token_file")) {
        (Some(_), Some(_)) => {
            bail!("`{name}` has a token and a token_file; leave out one of the two")
        }
        (None, Some(file)) => Some(settings.read_beside(&file)?),
        (token, None) => token,
    };
    let certificate = text("certificate");
    ensure!(
        token.is_some() || certificate.is_some(),
        "nobody can have the role `{name}`: give it a token, a token_file or a certificate"
    );
    ensure!(token.as_deref() != Some(""), "the token of `{name}` is empty");
    let admin = text("admin").as_deref() == Some("true");
    Ok(Role { name, token, certificate, lock: list("lock"), list: list("list"), admin })
}

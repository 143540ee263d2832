//! `[[api.roles]]`: who may do what.

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_net::api::Role;

use super::fields::RoleTable;
use super::settings::Loaded;

/// All roles of the settings.
pub(super) fn all(loaded: &Loaded) -> Result<Vec<Role>> {
    let mut roles: Vec<Role> = Vec::new();
    for (place, table) in &loaded.settings.api.roles {
        let origin = loaded.origin(&format!("api.roles.{place}"));
        let role = role(loaded, table).with_context(|| origin.to_string())?;
        for other in &roles {
            ensure!(other.name != role.name, "{origin}: `{}` is there twice", role.name);
            let same_token = role.token.is_some() && role.token == other.token;
            let same_certificate =
                role.certificate.is_some() && role.certificate == other.certificate;
            ensure!(
                !same_token && !same_certificate,
                "{origin}: `{}` is known by the same token or certificate as `{}`",
                role.name,
                other.name
            );
        }
        roles.push(role);
    }
    Ok(roles)
}

fn role(loaded: &Loaded, table: &RoleTable) -> Result<Role> {
    let RoleTable { name, token, token_file, certificate, lock, list, admin } = table.clone();
    ensure!(
        (1..=64).contains(&name.len()) && !name.contains(|c: char| c == '/' || c.is_control()),
        "`{name}`: the name of a role has 1 to 64 bytes, no `/` and no control characters"
    );
    let token = match (token, token_file) {
        (Some(_), Some(_)) => {
            bail!("`{name}` has a token and a token_file; leave out one of the two")
        }
        (None, Some(file)) => Some(loaded.read_beside(&file)?),
        (token, None) => token.map(|token| token.0),
    };
    ensure!(
        token.is_some() || certificate.is_some(),
        "nobody can have the role `{name}`: give it a token, a token_file or a certificate"
    );
    ensure!(token.as_deref() != Some(""), "the token of `{name}` is empty");
    let (lock, list) = (lock.unwrap_or_default(), list.unwrap_or_default());
    Ok(Role { name, token, certificate, lock, list, admin: admin.unwrap_or_default() })
}

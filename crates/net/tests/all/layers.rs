//! Lower layers import nothing from higher ones.

use std::collections::BTreeMap;
use std::path::Path;

/// From below; what stands in one line does not know each other or is one layer.
const LAYERS: &[&[&str]] = &[
    &["pause", "tls", "view"],
    &["observe"],
    &["supervise"],
    &["config"],
    &["link"],
    &["etcd", "service"],
    &["error"],
    &["shell"],
    &["node"],
    &["api", "cluster"],
];

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn lower_layers_import_nothing_from_higher_ones() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut seen = BTreeMap::new();
    for path in all {
        let inside = path.strip_prefix(&source).unwrap();
        let is_test =
            inside.components().any(|part| part.as_os_str().to_string_lossy().contains("tests"));
        let module = inside.iter().next().unwrap().to_string_lossy();
        let module = module.trim_end_matches(".rs").to_string();
        if is_test || module == "lib" {
            continue;
        }
        let mine = layer(&module).unwrap_or_else(|| panic!("`{module}` has no layer"));
        for used in std::fs::read_to_string(&path).unwrap().split("crate::").skip(1) {
            let used: String =
                used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Some(theirs) = layer(&used) else { continue };
            assert!(theirs <= mine, "{module} imports {used}, which lies above it");
            *seen.entry(module.clone()).or_insert(0) += 1;
        }
    }
    assert!(seen.len() >= 7, "{seen:?}");
}

//! The page, what it is told first, and who may have it.

use serde_json::json;
use skeptron_core::catalogue;

use super::server::Lab;

#[test]
fn the_page_is_served_with_all_that_guards_it() {
    let lab = Lab::start();
    let page = lab.get("/");
    assert_eq!(page.status, 200);
    for header in [
        "content-type: text/html",
        "content-security-policy: default-src 'self'; img-src 'self' data: blob:; object-src 'none'; \
         base-uri 'none'; frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-cache",
        "etag: \"",
    ] {
        assert!(page.headers.contains(header), "{header}: {}", page.headers);
    }
    assert!(page.text().contains("/ui/main.js"));
    for (path, kind) in [
        ("/ui/main.js", "text/javascript"),
        ("/ui/style.css", "text/css"),
        ("/ui/icon.svg", "image/svg+xml"),
        ("/ui/jsconfig.json", "application/json"),
    ] {
        let file = lab.get(path);
        assert_eq!(file.status, 200, "{path}");
        assert!(file.headers.contains(&format!("content-type: {kind}")), "{path}");
    }
}

#[test]
fn a_file_that_is_known_is_not_sent_again() {
    let lab = Lab::start();
    let first = lab.get("/ui/main.js");
    let tag = first.headers.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let again = lab.ask("GET", "/ui/main.js", &format!("If-None-Match: {tag}\r\n"), "");
    assert_eq!((again.status, again.text().as_str()), (304, ""));
    let other = lab.ask("GET", "/ui/main.js", "If-None-Match: \"other\"\r\n", "");
    assert_eq!(other.status, 200);
}

#[test]
fn nothing_else_is_served() {
    let lab = Lab::start();
    for path in [
        "/nothing",
        "/ui/nothing.js",
        "/ui/",
        "/ui/../Cargo.toml",
        "/ui/%2e%2e/Cargo.toml",
        "/ui/..%2fCargo.toml",
        "/lab/runs/0",
        "/lab/runs/../about",
        "/lab/runs/00000000000000000000000000000000/states?chunk=0",
        "/lab/runs/00000000000000000000000000000000/export?format=svg",
    ] {
        let answer = lab.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json(404)["error"].is_string(), "{path}");
    }
    assert_eq!(lab.ask("POST", "/", "", "").status, 405);
    assert_eq!(lab.get("/lab/runs").status, 405);
    assert_eq!(lab.ask("DELETE", "/lab/about", "", "").status, 405);
}

#[test]
fn the_page_is_told_what_there_is() {
    let lab = Lab::start();
    let about = lab.get("/lab/about").json(200);
    assert_eq!((&about["runs"], &about["cluster"]), (&json!(true), &json!(false)));
    assert_eq!(about["limits"]["nodes"], 100);
    let algorithms = lab.get("/lab/algorithms").json(200);
    let names: Vec<&str> =
        algorithms.as_array().unwrap().iter().map(|info| info["name"].as_str().unwrap()).collect();
    let mutexes = catalogue::all().map(|info| info.name);
    let all: Vec<&str> = mutexes.chain(catalogue::elections().map(|info| info.name)).collect();
    assert_eq!(names, all);
    for info in algorithms.as_array().unwrap() {
        assert!(!info["variables"].as_array().unwrap().is_empty(), "{info}");
        assert!(!info["claims"].as_array().unwrap().is_empty(), "{info}");
    }
}

/// A page of somebody else must not use the lab through the browser of whoever runs it.
#[test]
fn pages_of_others_are_refused() {
    let lab = Lab::start();
    let own = format!("Origin: http://{}\r\n", lab.host);
    assert_eq!(lab.ask("GET", "/lab/about", &own, "").status, 200);
    let body = json!({ "sim": { "algorithm": "central" } }).to_string();
    for foreign in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://127.0.0.1:1\r\n",
        "Host: evil.example\r\n",
    ] {
        assert_eq!(lab.ask("GET", "/lab/about", foreign, "").status, 403, "{foreign}");
        assert_eq!(lab.ask("POST", "/lab/runs", foreign, &body).status, 403, "{foreign}");
    }
}

# For scripts that build the workspace bench/; sourced in the root of the repository.
# `target` is the product's folder of builds, which bench/ shares.
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target

# The folder of a package that bench/ depends on.
package() {
    cargo metadata --manifest-path bench/Cargo.toml --locked --offline --format-version 1 \
        --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" |
        grep -oE "\"manifest_path\":\"[^\"]*/$1(-[0-9.]+)?/Cargo.toml\"" | cut -d'"' -f4 | xargs dirname
}

# Fetches what bench/ depends on, and sets PROTOC to what a package among it brings. Others may be too new for raft.
fetch() {
    local host said
    host=$(rustc -vV | sed -n 's/^host: //p')
    said=$(cargo fetch --quiet --manifest-path bench/Cargo.toml --locked --target "$host" 2>&1) || {
        echo "$said" >&2
        case $said in
            *--locked*) echo "bench/Cargo.lock is older than the product's crates: cargo update --workspace --manifest-path bench/Cargo.toml" >&2; exit 1 ;;
        esac
        return 1
    }
    case $host in
        x86_64-*-linux-*) PROTOC=$(package protoc-bin-vendored-linux-x86_64)/bin/protoc ;;
        aarch64-*-linux-*) PROTOC=$(package protoc-bin-vendored-linux-aarch_64)/bin/protoc ;;
        *) [ -n "${PROTOC:-}" ] || { echo "set PROTOC to a protoc of version 3, to build etcd-client" >&2; return 1; } ;;
    esac
    export PROTOC
}

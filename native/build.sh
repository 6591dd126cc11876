#!/bin/sh
# Compile the codec and install it into a virtual environment: build.sh VENV.
# Where that is impossible, say so: the Python functions do the same work, more slowly.
set -u
here=$(cd "$(dirname "$0")" && pwd)
venv=$(cd "$1" && pwd)
target=$venv/native
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))') || exit
module=$site/headrace_native.abi3.so

sources() { cat "$here/build.sh" "$here/Cargo.toml" "$here/crates.lock" "$here"/src/*.rs | cksum; }

stripped() { sed -e 1,2d -e '/^source = /d' "$1"; }

# Make Cargo.lock: that of crates.lock, with the registry that this cargo names in one of its own.
lock() {
    cd "$here" || return
    test -f Cargo.lock && test "$(stripped Cargo.lock)" = "$(stripped crates.lock)" && return
    cargo generate-lockfile && origin=$(grep -m 1 '^source = ' Cargo.lock) || return
    { sed -n 1,2p Cargo.lock; stripped crates.lock; } |
        awk -v origin="$origin" '/^checksum = / { print origin } { print }' > Cargo.lock.new &&
        mv Cargo.lock.new Cargo.lock
}

build() {
    lock && PYO3_NO_PYTHON=1 cargo build --release --locked --target-dir "$target"
}

test -f "$module" && test "$(cat "$target/sources" 2>/dev/null)" = "$(sources)" && exit
if ! command -v cargo >/dev/null; then
    echo "cargo is not installed: the codec runs in Python; \`make native\` compiles it later"
    exit
fi
mkdir -p "$target"
if (build) >"$target/build.log" 2>&1; then
    # Under another name first: a process may have mapped the old file.
    cp "$target/release/libheadrace_native.so" "$module.new" && mv "$module.new" "$module" \
        && sources >"$target/sources" && echo "the codec is compiled"
else
    echo "the codec cannot be compiled, so it runs in Python: see $target/build.log"
fi

//! The list of programs: one source, several ways to build it.

use super::{Fate, Program};

const fn program(
    name: &'static str,
    chain: &'static str,
    build: &'static [&'static str],
) -> Program {
    Program {
        name,
        chain,
        build,
        fate: Fate::Kept,
    }
}

/// What takes the name of a program that runs: other functions at the same addresses.
pub(super) const REPLACEMENT: Program = program("ekc-other", "tail", &["gcc -O2 -o @ tail.c"]);

/// All of them.
pub const PROGRAMS: &[Program] = &[
    // Optimization and frame pointers.
    program("ekc-o0", "calls", &["gcc -O0 -o @ calls.c"]),
    program("ekc-o1", "calls", &["gcc -O1 -o @ calls.c"]),
    program(
        "ekc-o2",
        "calls",
        &["gcc -O2 -fomit-frame-pointer -o @ calls.c"],
    ),
    program("ekc-o3", "calls", &["gcc -O3 -o @ calls.c"]),
    program("ekc-os", "calls", &["gcc -Os -o @ calls.c"]),
    program(
        "ekc-fp",
        "calls",
        &["gcc -O2 -fno-omit-frame-pointer -o @ calls.c"],
    ),
    // Linking.
    program("ekc-no-pie", "calls", &["gcc -O2 -no-pie -o @ calls.c"]),
    program("ekc-static", "calls", &["gcc -O2 -static -o @ calls.c"]),
    program(
        "ekc-static-pie",
        "calls",
        &["gcc -O2 -static-pie -o @ calls.c"],
    ),
    program("ekc-musl", "calls-musl", &["musl-gcc -O2 -o @ calls.c"]),
    program(
        "ekc-musl-static",
        "calls-musl",
        &["musl-gcc -O2 -static -o @ calls.c"],
    ),
    // Unwind information and symbols: none, only frame pointers, in another section, in another file.
    program(
        "ekc-no-tables",
        "calls",
        &[
            "gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer -o @ calls.c",
        ],
    ),
    program(
        "ekc-debug-frame",
        "calls",
        &["gcc -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -o @ calls.c"],
    ),
    program(
        "ekc-stripped",
        "calls-stripped",
        &["gcc -O2 -s -o @ calls.c"],
    ),
    program(
        "ekc-split",
        "calls",
        &[
            "gcc -O2 -g -o @ calls.c",
            "objcopy --only-keep-debug @ @.debug",
            "objcopy --strip-all --add-gnu-debuglink=@.debug @",
        ],
    ),
    // Files that go while their process runs.
    Program {
        fate: Fate::Deleted,
        ..program("ekc-deleted", "calls", &["gcc -O2 -o @ calls.c"])
    },
    Program {
        fate: Fate::Replaced,
        ..program("ekc-replaced", "calls", &["gcc -O2 -o @ calls.c"])
    },
    // Depth.
    program(
        "ekc-deep300",
        "deep300",
        &["gcc -O2 -DDEPTH=300 -o @ deep.c"],
    ),
    program(
        "ekc-deep5000",
        "deep5000",
        &["gcc -O2 -DDEPTH=5000 -o @ deep.c"],
    ),
    // Ways into a function other than a call, and out of it other than a return.
    program("ekc-handler", "handler", &["gcc -O2 -o @ handler.c"]),
    program(
        "ekc-altstack",
        "handler",
        &["gcc -O2 -DALTERNATE -o @ handler.c"],
    ),
    program("ekc-noreturn", "noreturn", &["gcc -O2 -o @ noreturn.c"]),
    program("ekc-tail", "tail", &["gcc -O2 -o @ tail.c"]),
    program("ekc-longjmp", "jump", &["gcc -O2 -o @ jump.c"]),
    program("ekc-vfork", "vfork", &["gcc -O2 -o @ vfork.c"]),
    program("ekc-thread", "thread", &["gcc -O2 -pthread -o @ thread.c"]),
    program("ekc-frames", "frames", &["gcc -O2 -o @ frames.c"]),
    program("ekc-frames-o0", "frames", &["gcc -O0 -o @ frames.c"]),
    // The kernel, the vDSO, libraries.
    program(
        "ekc-reads",
        "reads",
        &["gcc -O2 -fomit-frame-pointer -o @ reads.c"],
    ),
    program(
        "ekc-reads-fp",
        "reads",
        &["gcc -O2 -fno-omit-frame-pointer -o @ reads.c"],
    ),
    program("ekc-clock", "clock", &["gcc -O2 -o @ clock.c"]),
    program(
        "ekc-load",
        "load",
        &[
            "gcc -O2 -shared -fPIC -o @.so plugin.c",
            "gcc -O2 -o @ load.c",
        ],
    ),
    program(
        "ekc-lazy",
        "linkage",
        &[
            "gcc -O2 -shared -fPIC -o @.so tiny.c",
            "gcc -O2 -o @ linkage.c @.so -Wl,-z,lazy",
        ],
    ),
    program(
        "ekc-now",
        "linkage",
        &[
            "gcc -O2 -shared -fPIC -o @.so tiny.c",
            "gcc -O2 -o @ linkage.c @.so -Wl,-z,now -fcf-protection=full -Wl,-z,ibtplt",
        ],
    ),
    // Called by others than the program: a timer, the C library, the start of a context.
    program(
        "ekc-interrupts",
        "interrupts",
        &["gcc -O2 -o @ interrupts.c"],
    ),
    program("ekc-callback", "callback", &["gcc -O2 -o @ callback.c"]),
    program("ekc-context", "context", &["gcc -O2 -o @ context.c"]),
    program("ekc-early", "early", &["gcc -O2 -o @ early.c"]),
    program("ekc-early-stat", "early", &["gcc -O2 -static -o @ early.c"]),
    program("ekc-lost", "lost", &["gcc -O2 -o @ lost.c lost.s"]),
    // Other languages.
    program(
        "ekc-assembly",
        "bare",
        &["gcc -O2 -fno-omit-frame-pointer -o @ bare.c bare.s"],
    ),
    program(
        "ekc-exceptions",
        "exceptions",
        &["g++ -O2 -o @ exceptions.cpp"],
    ),
    program(
        "ekc-templates",
        "templates",
        &["g++ -O2 -o @ templates.cpp"],
    ),
    program(
        "ekc-rust-v0",
        "calls-v0",
        &["rustc --edition 2024 -O -C symbol-mangling-version=v0 -o @ calls.rs"],
    ),
    program(
        "ekc-rust-legacy",
        "calls-legacy",
        &[
            "env RUSTC_BOOTSTRAP=1 rustc -Z unstable-options --edition 2024 -O -C symbol-mangling-version=legacy -o @ calls.rs",
        ],
    ),
    program(
        "ekc-go",
        "calls-go",
        &["env CGO_ENABLED=0 go build -o @ calls.go"],
    ),
    program(
        "ekc-go-stripped",
        "calls-go",
        &["env CGO_ENABLED=0 go build -ldflags=-s -o @ calls.go"],
    ),
    program(
        "ekc-go-pie",
        "calls-go",
        &["env CGO_ENABLED=0 go build -buildmode=pie -o @ calls.go"],
    ),
    program(
        "ekc-cgo",
        "cgo",
        &["env CGO_ENABLED=1 go build -o @ cgo/main.go"],
    ),
];

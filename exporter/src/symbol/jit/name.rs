//! Names as compilers of the run time write them, without what tells how they compiled.

use evenkeel_otlp::model::FrameType;

use super::Runtime;

/// V8's words before a function (`CodeEventListener` in src/logging/code-events.h); the first
/// three say only that it is one.
const V8_FUNCTIONS: [&str; 3] = ["JS:", "LazyCompile:", "Function:"];
const V8_OTHERS: [&str; 7] = [
    "Script:",
    "Eval:",
    "RegExp:",
    "Builtin:",
    "BytecodeHandler:",
    "Stub:",
    "Wasm:",
];

/// .NET's words behind a method, in brackets (`PerfMap::LogJITCompiledMethod` in
/// src/coreclr/vm/perfmap.cpp).
const DOTNET_TIERS: [&str; 9] = [
    "[Tier0]",
    "[Tier1]",
    "[OptimizedTier1]",
    "[OptimizedTier1OSR]",
    "[InstrumentedTier]",
    "[InstrumentedTierOptimized]",
    "[Optimized]",
    "[MinOptJitted]",
    "[PreJIT]",
];

/// Whether a name has the form of V8's.
pub(super) fn is_of_v8(name: &str) -> bool {
    let mut prefixes = V8_FUNCTIONS.iter().chain(&V8_OTHERS);
    prefixes.any(|prefix| name.starts_with(prefix))
}

/// The name of a function, one for all tiers that it was compiled in, and what kind of code it is.
pub(super) fn folded(name: &str, runtime: Runtime) -> (&str, FrameType) {
    if runtime == Runtime::Jvm {
        return (name, FrameType::Jvm);
    }
    if let Some(rest) = V8_FUNCTIONS
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
    {
        // Interpreted, baseline, Maglev, optimized; a quote where it was entered in a loop.
        let function = rest.trim_start_matches(['~', '^', '+', '*']);
        let function = if function.len() < rest.len() {
            function.strip_prefix('\'').unwrap_or(function)
        } else {
            function
        };
        return (function.trim_start(), FrameType::V8Js);
    }
    if is_of_v8(name) {
        return (name, FrameType::V8Js);
    }
    let method = DOTNET_TIERS
        .iter()
        .find_map(|tier| name.strip_suffix(tier))
        .unwrap_or(name);
    (method.trim_end(), FrameType::Native)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tiers of a function are one function.
    #[test]
    fn tiers() {
        for tier in ["~", "^", "+", "*", "*'", "+'", ""] {
            let name = format!("JS:{tier}hotNode /srv/app/s.js:1:17");
            assert_eq!(
                folded(&name, Runtime::Other),
                ("hotNode /srv/app/s.js:1:17", FrameType::V8Js)
            );
        }
        let lazy = "LazyCompile:*processTicks node:internal/process:60:35";
        assert_eq!(
            folded(lazy, Runtime::Other).0,
            "processTicks node:internal/process:60:35"
        );
        assert_eq!(
            folded("JS:~ /srv/a.js:1:1", Runtime::Other).0,
            "/srv/a.js:1:1"
        );
        assert_eq!(
            folded(
                "int32 [app] Program::Main()[OptimizedTier1]",
                Runtime::Other
            ),
            ("int32 [app] Program::Main()", FrameType::Native)
        );
    }

    /// What is no tier stays, and so does all that Java writes.
    #[test]
    fn others() {
        let expression = r"RegExp:(?:^|\/)\.?\.$";
        assert_eq!(
            folded(expression, Runtime::Other),
            (expression, FrameType::V8Js)
        );
        for java in ["int Hot.hotJava(int)", "Interpreter", "JS:~x"] {
            assert_eq!(folded(java, Runtime::Jvm), (java, FrameType::Jvm));
        }
        assert_eq!(
            folded("wasm::trampoline[3]", Runtime::Other),
            ("wasm::trampoline[3]", FrameType::Native)
        );
    }
}

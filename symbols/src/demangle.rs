//! Names for people out of names for linkers.
//!
//! Symbol names come from the files of profiled processes and may be made to harm: the length of
//! what goes in, the depth and the length of what comes out are bounded, and whatever meets a
//! bound stays as it is.

use std::{borrow::Cow, fmt};

use evenkeel_otlp::model::FrameType;

use super::cpp_name::demangle_cpp;

/// Longest mangled name that is demangled, in bytes. The longest of the 102,446 names that clang,
/// LLVM and libstdc++ export has 629.
const MAX_MANGLED_BYTES: usize = 4096;

/// Longest demangled name, in bytes. Back references make output exponential in the input.
const MAX_DEMANGLED_BYTES: usize = 4096;

/// A name for people and what kind of code it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demangled<'a> {
    /// The name; the mangled one where nothing better is known.
    pub name: Cow<'a, str>,
    /// Rust where the mangling says so, else native.
    pub frame_type: FrameType,
}

/// Demangles Rust (legacy and v0) and C++ names; everything else stays as it is.
///
/// Legacy Rust names are C++ names by form, so only those are taken for Rust whose last component
/// is `h` and 16 hex digits. The hash is not printed, so that builds compare.
pub fn demangle(mangled: &str) -> Demangled<'_> {
    let as_it_is = |frame_type| Demangled {
        name: Cow::Borrowed(mangled),
        frame_type,
    };
    let as_rust = |name| Demangled {
        name: Cow::Owned(name),
        frame_type: FrameType::Rust,
    };
    let is_v0 =
        mangled.starts_with("_R") && mangled[2..].starts_with(|c: char| c.is_ascii_uppercase());
    let is_legacy = is_legacy_rust(mangled);
    if mangled.len() > MAX_MANGLED_BYTES {
        return as_it_is(if is_legacy {
            FrameType::Rust
        } else {
            FrameType::Native
        });
    }
    if is_v0 || is_legacy {
        return match rust(mangled) {
            Some(name) => as_rust(name),
            None if is_legacy => as_it_is(FrameType::Rust),
            None => as_it_is(FrameType::Native),
        };
    }
    if let Some(name) = demangle_cpp(mangled) {
        return Demangled {
            name: Cow::Owned(name),
            frame_type: FrameType::Native,
        };
    }
    as_it_is(FrameType::Native)
}

/// Whether a name has the form of a Go symbol: a package path, a dot, a name (`main.main`,
/// `net/http.(*conn).serve`). C compilers put dots before suffixes of their own.
pub fn is_go(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let Some((package, rest)) = last.split_once('.') else {
        return name.starts_with("go:") || name.starts_with("type:");
    };
    let first = rest.split('.').next().unwrap_or(rest);
    !package.is_empty()
        && !rest.is_empty()
        && !name.starts_with('_')
        && !matches!(
            first,
            "isra" | "part" | "constprop" | "cold" | "llvm" | "lto_priv" | "localalias"
        )
        && !first.starts_with(|c: char| c.is_ascii_digit())
}

/// `_ZN` and components, the last of which is `17h` and 16 hex digits, then `E` and perhaps a
/// suffix of the compiler's (`.llvm.123`, `.cold`).
fn is_legacy_rust(mangled: &str) -> bool {
    let body = match mangled.find('.') {
        // Legacy names hold `..` for `::` inside components; a suffix comes after the last `E`.
        Some(_) => match mangled.rfind("E.") {
            Some(end) => &mangled[..=end],
            None => mangled,
        },
        None => mangled,
    };
    let Some(body) = body
        .strip_prefix("_ZN")
        .or_else(|| body.strip_prefix("__ZN"))
        .and_then(|body| body.strip_suffix('E'))
    else {
        return false;
    };
    let Some(hash_at) = body.len().checked_sub(19) else {
        return false;
    };
    body.as_bytes()[hash_at..].starts_with(b"17h")
        && body.as_bytes()[hash_at + 3..]
            .iter()
            .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}

fn rust(mangled: &str) -> Option<String> {
    use fmt::Write as _;
    let symbol = rustc_demangle::try_demangle(mangled).ok()?;
    let mut text = BoundedText::default();
    // `#` leaves out the hashes.
    write!(text, "{symbol:#}").ok()?;
    text.finish()
}

/// Text that refuses to grow beyond [`MAX_DEMANGLED_BYTES`].
#[derive(Debug, Default)]
struct BoundedText(String);

impl BoundedText {
    fn finish(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_DEMANGLED_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn name(mangled: &str) -> String {
        demangle(mangled).name.into_owned()
    }

    /// Each mangling comes out as its language writes it, and names its language.
    #[test]
    fn manglings() {
        for (mangled, expected, frame_type) in [
            (
                "_ZN12_GLOBAL__N_113single_threadE",
                "(anonymous namespace)::single_thread",
                FrameType::Native,
            ),
            (
                "_ZN5space3fooEii",
                "space::foo(int, int)",
                FrameType::Native,
            ),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
                FrameType::Rust,
            ),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1234567890",
                "core::fmt::Formatter::pad",
                FrameType::Rust,
            ),
            (
                "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h5a7a5a7a5a7a5a7aE",
                "<alloc::string::String as core::fmt::Debug>::fmt",
                FrameType::Rust,
            ),
            (
                "_RNvNtCs1234_7mycrate3foo3bar",
                "mycrate::foo::bar",
                FrameType::Rust,
            ),
            ("malloc", "malloc", FrameType::Native),
            ("main.main", "main.main", FrameType::Native),
            ("_Znonsense(", "_Znonsense(", FrameType::Native),
            ("_R", "_R", FrameType::Native),
            ("_Register_class", "_Register_class", FrameType::Native),
            ("_RE", "_RE", FrameType::Native),
            ("", "", FrameType::Native),
        ] {
            let demangled = demangle(mangled);
            assert_eq!(demangled.name, expected);
            assert_eq!(demangled.frame_type, frame_type, "{mangled}");
        }
    }

    /// A C++ name whose last component only looks a little like a hash is not taken for Rust.
    #[test]
    fn no_hash_no_rust() {
        for mangled in [
            "_ZN1a17h0123456789abcdegE",
            "_ZN1a17H0123456789abcdefE",
            "_ZN1a16h0123456789abcdeE",
            "_ZN1a17h0123456789ABCDEFE",
        ] {
            assert_eq!(demangle(mangled).frame_type, FrameType::Native, "{mangled}");
            assert!(name(mangled).starts_with("a::"), "{mangled}");
        }
    }

    /// Two builds of one Rust function have one name.
    #[test]
    fn builds_group() {
        assert_eq!(
            name("_ZN3app4spin17h1111111111111111E"),
            name("_ZN3app4spin17h2222222222222222E")
        );
        assert_eq!(
            name("_RNvCsaaaaaaaaaaa_3app4spin"),
            name("_RNvCsbbbbbbbbbbb_3app4spin")
        );
    }

    /// Go symbols have a package; suffixes of C compilers are none.
    #[test]
    fn go_form() {
        for go in [
            "main.main",
            "runtime.mallocgc",
            "net/http.(*conn).serve",
            "github.com/a/b.c/d.F.func1",
            "type:.eq.main.T",
        ] {
            assert!(is_go(go), "{go}");
        }
        for other in [
            "malloc",
            "f.isra.0",
            "f.cold",
            "_start.x",
            "f.part.1.constprop.2",
            "x.123",
        ] {
            assert!(!is_go(other), "{other}");
        }
    }

    /// Names that are made to nest, to repeat or to be long cost less than 100 ms each, even in a
    /// build without optimisation, and no stack overflows on 2 MiB.
    #[test]
    fn hostile_names() {
        let repeat = |head: &str, part: &str, tail: &str, times: usize| {
            format!("{head}{}{tail}", part.repeat(times))
        };
        let mut names = vec![
            repeat("_Z1f", "I", "", 4000),
            repeat("_Z1f", "P", "i", 4000),
            repeat("_Z1f", "FvP", "i", 1300),
            repeat("_Z1fI", "1aI", "iE", 1300),
            repeat("_ZN", "1a", "E", 2000),
            repeat("_Z", "N1aI", "E", 1000),
            repeat("_Z1fIX", "cv", "E", 1900),
            repeat("_Z1fIXad", "L_Z1f", "EE", 800),
            repeat("_Z", "dlps", "", 1000),
            repeat("_Z1fDT", "cl", "E", 2000),
            repeat("_ZZ", "Z1fv", "E", 1000),
            repeat("_ZT", "h1_", "", 1000),
            repeat("_RN", "v", "C1a1b", 4000),
            repeat("_R", "NvC1a", "1b", 600),
            repeat("_RI", "C1aI", "E", 1000),
            repeat("_RMC0", "R", "u", 4000),
            repeat("_RNvC1a", "B_", "1f", 1000),
            "_Z".to_owned() + &"_".repeat(4000),
            "x".repeat(1 << 20),
        ];
        // Back references that double at every step: exponential output.
        let mut doubling = String::from("_Z1fSt4pairIiiE");
        let mut rust_doubling = String::from("_RINvC1a1fTuuE");
        for step in 0..60u32 {
            let reference = match step {
                0 => "S_".to_owned(),
                _ => format!(
                    "S{}_",
                    char::from_digit((step - 1) % 36, 36)
                        .expect("digit")
                        .to_ascii_uppercase()
                ),
            };
            doubling.push_str(&format!("St4pairI{reference}{reference}E"));
            rust_doubling.push_str(&format!("TB{}_B{}_E", step % 10, step % 10));
        }
        rust_doubling.push('E');
        names.push(doubling);
        names.push(rust_doubling);
        let worst = names
            .iter()
            .map(|mangled| {
                let started = Instant::now();
                let demangled = demangle(mangled);
                assert!(demangled.name.len() <= mangled.len().max(MAX_DEMANGLED_BYTES));
                (started.elapsed(), &mangled[..mangled.len().min(20)])
            })
            .max();
        assert!(
            worst.is_some_and(|(time, _)| time < Duration::from_millis(100)),
            "{worst:?}"
        );
    }

    /// Any change of a few letters in real names gives some text and never a panic.
    #[test]
    fn changed_names() {
        let seeds = [
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1",
            "_RNvMs_NtCs1234_7mycrate3fooINtB4_3BarNtNtC3std3vec3VecE3baz",
        ];
        let alphabet = b"_ZNSRIE0123456789abcstTPKFvXLMDCB.$";
        let mut state = 1u64;
        let mut next = |limit: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % limit
        };
        for _ in 0..20_000 {
            let mut bytes = seeds[next(3)].as_bytes().to_vec();
            for _ in 0..next(6) {
                let at = next(bytes.len());
                bytes[at] = alphabet[next(alphabet.len())];
            }
            let text = String::from_utf8(bytes).expect("ASCII");
            assert!(!demangle(&text).name.is_empty());
        }
    }
}

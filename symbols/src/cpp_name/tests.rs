//! Against expectations, against another demangler, and against hostile names.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use object::{Object as _, ObjectSymbol as _};

use super::demangle_cpp;

/// Each construct of the grammar comes out as `c++filt` writes it.
#[test]
fn constructs() {
    for (mangled, expected) in [
        (
            "_ZN12_GLOBAL__N_113single_threadE",
            "(anonymous namespace)::single_thread",
        ),
        ("_Z1fv", "f()"),
        ("_ZN5space3fooEii", "space::foo(int, int)"),
        ("_Z1fPFivE", "f(int (*)())"),
        ("_Z1fRA3_Ki", "f(int const (&) [3])"),
        ("_Z1fM1AFvvE", "f(void (A::*)())"),
        ("_Z1fM1AKFvvE", "f(void (A::*)() const)"),
        ("_Z1fM1Ai", "f(int A::*)"),
        ("_Z1fPFPFvvEiE", "f(void (*(*)(int))())"),
        ("_ZNK1A1gEv", "A::g() const"),
        ("_ZNR1A1gEv", "A::g() &"),
        ("_ZN1AC1Ev", "A::A()"),
        ("_ZN1AD0Ev", "A::~A()"),
        ("_ZN1AIiEC2ERKS0_", "A<int>::A(A<int> const&)"),
        ("_ZN1AcvbEv", "A::operator bool()"),
        ("_ZN1AplERKS_", "A::operator+(A const&)"),
        ("_Znwm", "operator new(unsigned long)"),
        ("_Z3fooIiEvT_", "void foo<int>(int)"),
        ("_Z3fooIiEPFvvET_", "void (*foo<int>(int))()"),
        ("_Z3fooIJidEEvDpT_", "void foo<int, double>(int, double)"),
        ("_Z3fooIJEEvDpT_", "void foo<>()"),
        ("_Z3fooIRiEvOT_", "void foo<int&>(int&)"),
        ("_Z3fooIKiEvRKT_", "void foo<int const>(int const&)"),
        // `S1_` is the `T_` of `bar`, but in `foo` it means the lambda.
        (
            "_Z3fooIZ3barIiEvT_EUlvE_EvS1_",
            "void foo<bar<int>(int)::{lambda()#1}>(bar<int>(int)::{lambda()#1})",
        ),
        (
            "_ZZ1fiEd_NKUlvE_clEv",
            "f(int)::{default arg#1}::{lambda()#1}::operator()() const",
        ),
        (
            "_Z3fooILi3ELb1ELm7ELin2EEvv",
            "void foo<3, true, 7ul, -2>()",
        ),
        ("_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)"),
        (
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
        ),
        (
            "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
            "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
        ),
        (
            "_ZZ4mainENKUlvE_clEv",
            "main::{lambda()#1}::operator()() const",
        ),
        ("_ZZ4mainENUt_1gEv", "main::{unnamed type#1}::g()"),
        ("_ZZ1fvE1x", "f()::x"),
        ("_ZTV1A", "vtable for A"),
        ("_ZGVZ1fvE1x", "guard variable for f()::x"),
        ("_ZThn8_N1A1gEv", "non-virtual thunk to A::g()"),
        ("_ZN1A1gB5cxx11Ev", "A::g[abi:cxx11]()"),
        ("_ZL1fv.isra.0", "f() [clone .isra.0]"),
        (
            "_ZNSdC1Ev",
            "std::basic_iostream<char, std::char_traits<char> >::basic_iostream()",
        ),
        ("_ZSt3cin@@GLIBCXX_3.4", "std::cin"),
    ] {
        assert_eq!(
            demangle_cpp(mangled).as_deref(),
            Some(expected),
            "{mangled}"
        );
    }
}

/// What is no name, is cut off or holds an expression stays as it is.
#[test]
fn refused() {
    for mangled in [
        "_Z",
        "_Z3fo",
        "_ZN1A",
        "_ZNE",
        "_ZN1AEE",
        "_Z1fT_",
        "_Z1fS_",
        "_Z1fS9_",
        "_ZNSt",
        "_Z1fIXadL_Z1gvEEEvv",
        "_Z1fDTcl1gE",
        "_Z99999999999999999999999a",
        "_ZN1AIiEIiEE",
        "_Zé",
        "_Z1fi junk",
        "malloc",
    ] {
        assert_eq!(demangle_cpp(mangled), None, "{mangled}");
    }
}

/// Of the names of the C++ library on this machine, at least 97 % are demangled, and all of
/// those exactly as `c++filt` demangles them.
#[test]
fn as_the_other_demangler() {
    let library = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
        .map(|triple| format!("/usr/lib/{triple}/libstdc++.so.6"))
        .into_iter()
        .find_map(|path| fs::read(path).ok());
    let Some(library) = library else {
        eprintln!("SKIPPED: no libstdc++ is installed");
        return;
    };
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(&*library).expect("ELF");
    let names: Vec<&str> = elf
        .dynamic_symbols()
        .filter_map(|symbol| symbol.name().ok())
        // With an empty pack, `c++filt` writes `>>` and `, )` where it has nothing to separate.
        .filter(|name| name.starts_with("_Z") && !name.contains("JE"))
        .collect();
    let directory = tempfile::tempdir().expect("temporary directory");
    let list = directory.path().join("names");
    fs::write(&list, names.join("\n")).expect("write");
    let input = fs::File::open(&list).expect("open");
    let Ok(output) = Command::new("c++filt").stdin(input).output() else {
        eprintln!("SKIPPED: c++filt does not run here");
        return;
    };
    let expected = String::from_utf8(output.stdout).expect("text");
    let mut demangled = 0;
    let mut different = Vec::new();
    for (name, expected) in names.iter().zip(expected.lines()) {
        let Some(ours) = demangle_cpp(name) else {
            continue;
        };
        demangled += 1;
        if ours != expected {
            different.push(format!("{name}\n  ours    {ours}\n  c++filt {expected}"));
        }
    }
    assert!(
        different.is_empty(),
        "{} of {demangled}:\n{}",
        different.len(),
        different[..different.len().min(25)].join("\n")
    );
    assert!(
        demangled * 100 >= names.len() * 97,
        "{demangled} of {}",
        names.len()
    );
}

/// Names that are made to repeat, to nest and to double, each within 4 KiB, cost under 50 ms in
/// a build without optimisation, and no stack overflows.
#[test]
fn hostile() {
    let tokens = [
        "I", "E", "i", "1a", "N", "S_", "T_", "S0_", "St", "P", "K", "F", "v", "L", "_Z", "J",
        "nw", "C1", "D0", "Ul", "Ut", "_", "A", "M", "Dp", "cl", "cv", "DT", "X", "R", "O", "A5_",
        "Z", "B1a", "0", "9", "U1a", "Do", "Dv2_", "z", "sr", "ad",
    ];
    let heads = [
        "_Z",
        "_Z1f",
        "_ZN",
        "_Z1fI",
        "_ZN1aI",
        "_ZZ",
        "_Z1fIJ",
        "_ZTV",
        "_ZN1aIJidEE",
    ];
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % limit
    };
    let mut doubling = String::from("_Z1fSt4pairIiiE");
    for step in 0..36usize {
        let reference = match step {
            0 => "S_".to_owned(),
            _ => format!(
                "S{}_",
                char::from_digit(step as u32 - 1, 36)
                    .expect("digit")
                    .to_ascii_uppercase()
            ),
        };
        doubling.push_str(&format!("St4pairI{reference}{reference}E"));
    }
    let mut names = vec![doubling];
    for _ in 0..3_000 {
        let mut name = heads[next(heads.len())].to_owned();
        for _ in 0..=next(3) {
            let unit: String = (0..=next(4)).map(|_| tokens[next(tokens.len())]).collect();
            let most = if next(3) == 0 { 1_000 } else { 30 };
            name.push_str(&unit.repeat(1 + next(most)));
        }
        name.truncate(4096);
        names.push(name);
    }
    let worst = names
        .iter()
        .map(|name| {
            let started = Instant::now();
            let _ = demangle_cpp(name);
            (started.elapsed(), &name[..name.len().min(60)])
        })
        .max();
    assert!(
        worst.is_some_and(|(time, _)| time < Duration::from_millis(50)),
        "{worst:?}"
    );
}

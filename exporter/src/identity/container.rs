//! From `/proc/PID/cgroup` to the container and the pod.
//!
//! The forms are those of opentelemetry-ebpf-profiler's rule (the identifier is 64 hexadecimal
//! digits, or 32 and a decimal number on Fargate) and of `tests/cases/cgroup.tsv`. The deepest
//! container of a path counts, so that a node that is itself a container (kind) hides nothing.

/// Longest text that is read: 16 hierarchies with paths of `PATH_MAX` bytes.
pub const MAX_CGROUP_BYTES: usize = 64 << 10;

/// Most lines that are looked at; the kernel has at most 16 hierarchies and the unified one.
const MAX_LINES: usize = 64;

/// What the cgroup of a process says about its container. All absent for a plain process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerFacts {
    /// `container.id`: 64 lower-case hexadecimal digits, or 32, a dash and a number.
    pub container_id: Option<String>,
    /// The identifier of the pod in its cgroup: a UUID with dashes, or the 32 digits of a static
    /// pod's configuration hash, which is not the API's UID.
    pub pod_uid: Option<String>,
    /// The runtime, where the path tells; a monitor of a container (`conmon`) has a runtime and no
    /// container.
    pub runtime: Option<&'static str>,
    /// Quality of service of the pod.
    pub qos: Option<&'static str>,
}

impl ContainerFacts {
    /// Reads the text of `/proc/PID/cgroup`, of version 1, 2 or both. At most
    /// [`MAX_CGROUP_BYTES`] are looked at. Never fails: what is not recognised is absent.
    pub fn parse(text: &[u8]) -> Self {
        let mut best = Self::default();
        for path in paths(text) {
            let facts = Self::from_path(path);
            if facts.container_id.is_some() {
                return facts;
            }
            if best == Self::default() {
                best = facts;
            }
        }
        best
    }

    fn from_path(path: &[u8]) -> Self {
        let mut facts = Self::default();
        let mut parent: &[u8] = b"";
        let mut in_kubepods = false;
        for component in path
            .split(|byte| *byte == b'/')
            .filter(|component| !component.is_empty())
        {
            // `SLICE:RUNTIME:ID` is how runtimes that were given a systemd slice but use cgroupfs
            // name their cgroup.
            let mut parts = component.split(|byte| *byte == b':');
            let first = parts.next().unwrap_or(component);
            let slice = strip_suffix(first, b".slice");
            in_kubepods |= slice == b"kubepods" || contains(slice, b"kubepods-");
            if let Some(qos) = qos_class(slice) {
                facts.qos = Some(qos);
            }
            if let Some(uid) = pod_uid(slice) {
                facts.pod_uid = Some(uid);
                if in_kubepods && facts.qos.is_none() {
                    facts.qos = Some("guaranteed");
                }
            }
            match (parts.next(), parts.next()) {
                (Some(prefix), Some(id)) => facts.enter(prefix, id, parent),
                _ => facts.enter_component(first, parent),
            }
            parent = component;
        }
        if facts.pod_uid.is_none() {
            facts.qos = None;
        }
        facts
    }

    /// `ID`, `PREFIX-ID`, either with `.scope`; `lxc.payload.NAME`.
    fn enter_component(&mut self, component: &[u8], parent: &[u8]) {
        let name = strip_suffix(component, b".scope");
        if name.starts_with(b"lxc.") || name == b"lxc" {
            self.runtime = Some("lxc");
            return;
        }
        let id = container_id_at_end(name);
        let prefix = name.get(..name.len() - id.len()).unwrap_or_default();
        if let Some(prefix) = prefix.strip_suffix(b"-") {
            self.enter(prefix, id, parent);
        } else if prefix.is_empty() {
            self.enter(b"", id, parent);
        }
    }

    fn enter(&mut self, prefix: &[u8], id: &[u8], parent: &[u8]) {
        if !is_container_id(id) {
            return;
        }
        let runtime = match prefix {
            b"docker" => Some("docker"),
            b"cri-containerd" | b"containerd" | b"nerdctl" => Some("containerd"),
            b"crio" | b"crio-conmon" => Some("cri-o"),
            b"libpod" | b"libpod-payload" | b"libpod-conmon" => Some("podman"),
            b"" => match parent {
                b"docker" => Some("docker"),
                b"libpod_parent" => Some("podman"),
                _ => None,
            },
            _ => None,
        };
        self.runtime = runtime;
        // The monitor of a container runs beside it, on the host's account.
        self.container_id =
            (!contains(prefix, b"conmon")).then(|| String::from_utf8_lossy(id).into_owned());
    }
}

/// The paths of the lines `ID:CONTROLLERS:PATH`, bounded.
pub(super) fn paths(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(text).map(|(_, path)| path)
}

/// Controllers and path of each line, without the mark of a removed cgroup.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let text = text.get(..MAX_CGROUP_BYTES).unwrap_or(text);
    text.split(|byte| *byte == b'\n')
        .take(MAX_LINES)
        .filter_map(|line| {
            let mut fields = line.splitn(3, |byte| *byte == b':');
            let id = fields.next()?;
            let controllers = fields.next()?;
            let path = fields.next()?;
            id.iter()
                .all(u8::is_ascii_digit)
                .then_some((controllers, strip_suffix(path, b" (deleted)")))
        })
}

/// The tail that could be a container identifier: hexadecimal digits, possibly `-DIGITS`.
fn container_id_at_end(name: &[u8]) -> &[u8] {
    let hex = |text: &[u8]| {
        text.iter()
            .rev()
            .take_while(|byte| is_lower_hex(**byte))
            .count()
    };
    let tail = |length: usize| name.get(name.len() - length..).unwrap_or_default();
    let length = hex(name);
    let before = name.get(..name.len() - length).unwrap_or_default();
    if length < 64
        && let Some(head) = before.strip_suffix(b"-")
        && hex(head) >= 32
    {
        return tail(length + 1 + hex(head));
    }
    tail(length)
}

fn is_container_id(id: &[u8]) -> bool {
    match id.len() {
        64 => id.iter().copied().all(is_lower_hex),
        // The number of a Fargate container has ten digits or so.
        34..=53 => {
            let (task, number) = id.split_at(32);
            task.iter().copied().all(is_lower_hex)
                && number
                    .strip_prefix(b"-")
                    .is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
        }
        _ => false,
    }
}

fn qos_class(slice: &[u8]) -> Option<&'static str> {
    [("burstable", "-burstable"), ("besteffort", "-besteffort")]
        .into_iter()
        .find_map(|(class, suffix)| {
            (slice == class.as_bytes()
                || contains(slice, b"kubepods") && contains(slice, suffix.as_bytes()))
            .then_some(class)
        })
}

/// `podUID` or `...-podUID`, the UID as a UUID with dashes or (systemd) underscores, or bare.
fn pod_uid(slice: &[u8]) -> Option<String> {
    let start = slice.windows(3).rposition(|window| window == b"pod")?;
    if !matches!(slice.get(..start)?.last(), None | Some(b'-')) {
        return None;
    }
    let uid = slice.get(start + 3..)?;
    let valid = match uid.len() {
        36 => uid.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => matches!(byte, b'-' | b'_'),
            _ => is_lower_hex(*byte),
        }),
        32 => uid.iter().copied().all(is_lower_hex),
        _ => false,
    };
    valid.then(|| String::from_utf8_lossy(uid).replace('_', "-"))
}

fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn strip_suffix<'a>(text: &'a [u8], suffix: &[u8]) -> &'a [u8] {
    text.strip_suffix(suffix).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::Random;

    const ID: &str = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd";

    fn parse(text: &str) -> ContainerFacts {
        ContainerFacts::parse(text.as_bytes())
    }

    /// Every line of the cases gives exactly the expected columns.
    #[test]
    fn cases() {
        let cases = include_str!("../../tests/cases/cgroup.tsv");
        let mut seen = 0;
        for line in cases.lines().skip(1) {
            let columns: Vec<_> = line.split('\t').collect();
            let [id, _, content, container, pod, runtime, qos] = columns[..] else {
                panic!("{line}");
            };
            let facts = parse(&content.replace("\\n", "\n"));
            let actual = [
                facts.container_id.as_deref().unwrap_or_default(),
                facts.pod_uid.as_deref().unwrap_or_default(),
                facts.runtime.unwrap_or_default(),
                facts.qos.unwrap_or_default(),
            ];
            assert_eq!(actual, [container, pod, runtime, qos], "{id}");
            seen += 1;
        }
        assert_eq!(seen, 20);
    }

    /// Forms beyond the cases: relative paths of a cgroup namespace, nested nodes, monitors,
    /// rootless containers, static pods, containers that run systemd, removed cgroups.
    #[test]
    fn further_forms() {
        let uid = "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0";
        let dashed = uid.replace('_', "-");
        for (path, container, pod, runtime, qos) in [
            (format!("/../../podXYZ/{ID}"), ID, "", "", ""),
            (
                format!("/../kubepods-burstable-pod{uid}.slice/cri-containerd-{ID}.scope"),
                ID,
                &*dashed,
                "containerd",
                "burstable",
            ),
            (
                format!(
                    "/docker/{}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{uid}.slice/cri-containerd-{ID}.scope",
                    "0".repeat(64)
                ),
                ID,
                &*dashed,
                "containerd",
                "guaranteed",
            ),
            (
                format!("/kubepods.slice/kubepods-pod{uid}.slice/crio-conmon-{ID}.scope"),
                "",
                &*dashed,
                "cri-o",
                "guaranteed",
            ),
            (
                format!(
                    "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope"
                ),
                ID,
                "",
                "podman",
                "",
            ),
            (
                format!("/kubepods/pod0ebb429fa86d481c2630fac53db1c91c/{ID}"),
                ID,
                "0ebb429fa86d481c2630fac53db1c91c",
                "",
                "guaranteed",
            ),
            (
                format!("/docker/{ID}/system.slice/nginx.service"),
                ID,
                "",
                "docker",
                "",
            ),
            (
                format!("/system.slice/docker-{ID}.scope/init"),
                ID,
                "",
                "docker",
                "",
            ),
            (format!("/docker/{ID} (deleted)"), ID, "", "docker", ""),
            (
                "/user.slice/vte-spawn-4fb9a1b2-6d2a-4b2c-9c1d-2f6f0c1d3e4a.scope".to_owned(),
                "",
                "",
                "",
                "",
            ),
            (format!("/system.slice/x{ID}.scope"), "", "", "", ""),
            (format!("/docker/{}", ID.to_uppercase()), "", "", "", ""),
        ] {
            let facts = parse(&format!("0::{path}"));
            assert_eq!(
                facts.container_id.as_deref().unwrap_or_default(),
                container,
                "{path}"
            );
            assert_eq!(facts.pod_uid.as_deref().unwrap_or_default(), pod, "{path}");
            assert_eq!(facts.runtime.unwrap_or_default(), runtime, "{path}");
            assert_eq!(facts.qos.unwrap_or_default(), qos, "{path}");
        }
    }

    /// Text without end, without lines, of any bytes: bounded work, nothing but hexadecimal digits
    /// and dashes ever comes out.
    #[test]
    fn hostile_text() {
        let mut random = Random::new(1);
        let fragments: [&[u8]; 14] = [
            b"0::/",
            b"/",
            b"docker-",
            ID.as_bytes(),
            b".scope",
            b"\n",
            b":",
            b"kubepods",
            b"-pod",
            b"pod",
            b".slice",
            b"-",
            b"\xff\x00\x1b",
            b"lxc.",
        ];
        for _ in 0..20_000 {
            let mut text = Vec::new();
            for _ in 0..random.below(12) {
                text.extend_from_slice(fragments[random.below(fragments.len())]);
                if random.below(4) == 0 {
                    text.extend(random.bytes(5));
                }
            }
            let facts = ContainerFacts::parse(&text);
            for value in [facts.container_id, facts.pod_uid].into_iter().flatten() {
                assert!(value.bytes().all(|byte| is_lower_hex(byte) || byte == b'-'));
            }
        }
        let mut huge = vec![b'/'; 8 << 20];
        huge.extend_from_slice(format!("\n0::/docker/{ID}").as_bytes());
        assert_eq!(ContainerFacts::parse(&huge), ContainerFacts::default());
    }
}

//! The systemd service that a cgroup belongs to.

use super::{
    container::lines,
    text::{MAX_NAME_BYTES, printable},
};

/// The name of the service unit without `.service`, unescaped (`\x2d`), from the text of
/// `/proc/PID/cgroup`: the innermost one of the path, and below the container if there is one, as
/// the unit of a container runtime is not what runs in the container.
///
/// `None` for sessions, scopes, `init.scope` and the service manager of a user.
pub fn service_unit(cgroup: &[u8], container_id: Option<&str>) -> Option<String> {
    // systemd keeps its own tree in its named hierarchy or in the unified one.
    let unit_of = |wanted: &[u8]| {
        lines(cgroup)
            .find(|(controllers, _)| *controllers == wanted)
            .and_then(|(_, path)| unit_in_path(path, container_id))
    };
    unit_of(b"name=systemd").or_else(|| unit_of(b""))
}

fn unit_in_path(path: &[u8], container_id: Option<&str>) -> Option<String> {
    path.rsplit(|byte| *byte == b'/')
        .take_while(|component| !container_id.is_some_and(|id| is_container(component, id)))
        .filter_map(|component| component.strip_suffix(b".service"))
        .find(|unit| !unit.is_empty())
        // Everything in a user's session runs below `user@UID.service`: it is the manager.
        .filter(|unit| !unit.starts_with(b"user@"))
        .map(|unit| printable(&unescape(unit), MAX_NAME_BYTES))
}

fn is_container(component: &[u8], id: &str) -> bool {
    let name = component.strip_suffix(b".scope").unwrap_or(component);
    name.ends_with(id.as_bytes())
}

/// Undoes `systemd-escape`: `\xNN` is a byte.
fn unescape(unit: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(unit.len());
    let mut rest = unit;
    while let [first, tail @ ..] = rest {
        let escaped = tail.strip_prefix(b"x").and_then(|digits| {
            let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        if *first == b'\\'
            && let Some(byte) = escaped
        {
            bytes.push(byte);
            rest = tail.get(3..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(cgroup: &str, container: Option<&str>) -> Option<String> {
        service_unit(cgroup.as_bytes(), container)
    }

    /// The innermost service counts; scopes, sessions and user managers are none.
    #[test]
    fn finds_services() {
        for (path, expected) in [
            ("/system.slice/nginx.service", Some("nginx")),
            ("/system.slice/nginx.service/worker", Some("nginx")),
            (
                "/system.slice/system-postgresql.slice/postgresql@14-main.service",
                Some("postgresql@14-main"),
            ),
            (r"/system.slice/my\x2dapp.service", Some("my-app")),
            (
                r"/system.slice/evil\x0a\x1bapp\xzz.service",
                Some(r"evil\x0a\x1bapp\xzz"),
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service",
                Some("foot"),
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/init.scope",
                None,
            ),
            ("/user.slice/user-1000.slice/session-3.scope", None),
            ("/init.scope", None),
            ("/.service", None),
            ("/", None),
        ] {
            assert_eq!(
                unit(&format!("0::{path}"), None).as_deref(),
                expected,
                "{path}"
            );
        }
    }

    /// On hybrid hosts the named hierarchy counts, whatever line comes first.
    #[test]
    fn hybrid_hosts() {
        let text = "4:memory:/a.service\n1:name=systemd:/system.slice/b.service\n0::/c.service";
        assert_eq!(unit(text, None).as_deref(), Some("b"));
        assert_eq!(
            unit("1:name=systemd:/\n0::/c.service", None).as_deref(),
            Some("c")
        );
    }

    /// The runtime's unit above a container is not the container's service; systemd's within is.
    #[test]
    fn containers() {
        let id = "5".repeat(64);
        let outside = format!("0::/system.slice/containerd.service/docker-{id}.scope/init");
        assert_eq!(unit(&outside, Some(&id)), None);
        let inside = format!("0::/docker/{id}/system.slice/nginx.service");
        assert_eq!(unit(&inside, Some(&id)).as_deref(), Some("nginx"));
    }
}

//! The limits that a capture raises for itself and that the recorded command must not inherit.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files and locked memory: what a capture raises.
const RAISED: [Resource; 2] = [Resource::Nofile, Resource::Memlock];

/// The limits of this process at some time.
#[derive(Clone, Debug)]
pub(super) struct Limits(Vec<(Resource, Rlimit)>);

impl Limits {
    /// Those of now.
    pub(super) fn current() -> Self {
        Self::of(RAISED)
    }

    fn of(resources: impl IntoIterator<Item = Resource>) -> Self {
        let limit = |resource| (resource, getrlimit(resource));
        Self(resources.into_iter().map(limit).collect())
    }

    /// Does something under these limits, and goes back to those of now.
    ///
    /// Limits are the whole process's, and a child can be given its own only by unsafe code between
    /// fork and exec. Descriptors that are open stay open meanwhile; of the reader's thread, which
    /// may want to open a file above the lower limit within this millisecond, that file would be
    /// counted as unreadable.
    pub(super) fn around<T>(&self, action: impl FnOnce() -> T) -> T {
        let now = Self::of(self.0.iter().map(|(resource, _)| *resource));
        self.set();
        let result = action();
        now.set();
        result
    }

    fn set(&self) {
        for (resource, limit) in &self.0 {
            if getrlimit(*resource) == *limit {
                continue;
            }
            if let Err(error) = setrlimit(*resource, *limit) {
                tracing::debug!(?resource, ?limit, %error, "A limit cannot be set.");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A child has the limits of before, this process those of now. (Of core files: no other test of
    /// this process depends on that limit.)
    #[test]
    fn a_child_does_not_inherit_a_raised_limit() {
        let now = getrlimit(Resource::Core);
        let before = Limits(vec![(
            Resource::Core,
            Rlimit {
                current: Some(0),
                maximum: now.maximum,
            },
        )]);
        let raised = Rlimit {
            current: now.maximum,
            maximum: now.maximum,
        };
        assert_ne!(raised.current, Some(0), "this host allows no core files");
        setrlimit(Resource::Core, raised).unwrap();
        let child = before.around(|| Command::new("sh").args(["-c", "ulimit -c"]).output());
        assert_eq!(child.unwrap().stdout, b"0\n");
        assert_eq!(getrlimit(Resource::Core), raised);
        setrlimit(Resource::Core, now).unwrap();
    }
}

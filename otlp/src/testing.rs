//! Windows for the tests of this crate.

use std::sync::Arc;

use crate::model::{
    Attribute, BuildIds, Frame, FrameType, Function, Line, Mapping, Profile, ProfileGroup,
    ProfileKind, Resource, Sample, Span, ValueType, Window,
};

/// A native frame of `app`, a new allocation each time.
pub(crate) fn frame(name: &str, address: u64) -> Arc<Frame> {
    Arc::new(Frame {
        mapping: Some(Arc::new(Mapping {
            start: 0x1000,
            limit: 0x10_0000,
            file_offset: 0x1000,
            filename: "app".into(),
            build_ids: BuildIds {
                gnu: Some("0123456789abcdef".into()),
                ..BuildIds::default()
            },
        })),
        address: 0x1000 + address,
        lines: vec![Line {
            function: Arc::new(Function {
                name: name.into(),
                system_name: "".into(),
                file: "app.c".into(),
            }),
            line: 7,
            column: 0,
        }],
        frame_type: Some(FrameType::Native),
    })
}

pub(crate) fn sample(stack: Vec<Arc<Frame>>, thread: &str, value: i64) -> Sample {
    Sample {
        stack: stack.into(),
        attributes: Arc::from([Attribute::new("thread.name", thread)]),
        value,
    }
}

pub(crate) fn on_cpu(samples: Vec<Sample>) -> Profile {
    Profile {
        kind: ProfileKind {
            sample_type: ValueType {
                name: "samples",
                unit: "count",
            },
            period_type: ValueType {
                name: "cpu",
                unit: "nanoseconds",
            },
            period: 10_101_010,
        },
        samples,
    }
}

/// One group, of the service `checkout`.
pub(crate) fn window(profiles: Vec<Profile>) -> Window {
    Window {
        span: Span {
            start_unix_nanos: 1_700_000_000_000_000_000,
            duration_nanos: 10_000_000_000,
        },
        profiles: vec![ProfileGroup {
            resource: Arc::new(Resource {
                attributes: vec![Attribute::new("service.name", "checkout")],
            }),
            profiles,
        }],
        metrics: Vec::new(),
    }
}

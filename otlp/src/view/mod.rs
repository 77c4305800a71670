//! Reading OTLP without copying it: borrowed accessors that resolve indices and references.
//!
//! They take what any sender produced. An index out of range reads as "not set" (the zero value of
//! its table) and never panics; [`crate::invariants`] is what names such faults.
//!
//! ```
//! use evenkeel_otlp::view::ProfilesView;
//! # let request = Default::default();
//! for profile in ProfilesView::new(&request).profiles() {
//!     for sample in profile.samples() {
//!         for frame in sample.frames() {
//!             let _name = frame.lines().next().map(|line| line.function());
//!         }
//!         let _value = sample.value();
//!     }
//! }
//! ```

mod attributes;
mod dictionary;
mod metrics;
mod profiles;

pub(crate) use self::dictionary::Dictionary;
pub use self::{
    attributes::{Attributes, ValueRef},
    metrics::{ExplicitHistogram, MetricView, MetricsView, PointValueView, PointView, Temporality},
    profiles::{
        BuildId, FrameView, LineView, ProfileView, ProfilesView, SampleView, ValueTypeView,
    },
};

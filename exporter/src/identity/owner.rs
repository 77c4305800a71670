//! Whose samples these are: a container, or a service of the host.

use std::{collections::HashMap, sync::Arc};

use evenkeel_otlp::model::{Attribute, Resource, Value};
use evenkeel_semconv::attribute;

use super::{
    attributes::SourcedAttributes,
    host::HostIdentity,
    instance_id,
    kubernetes::PodContainer,
    service::{ServiceName, ServiceNameSource},
};

/// `service.name` of the owner that stands for all others when there are too many.
pub const OVERFLOW_SERVICE_NAME: &str = "[other]";

/// Most owners at a time; each is a group of its own in every export.
pub const MAX_OWNERS: usize = 4096;

/// A group of processes with one resource: one container and service name (and, should processes of
/// one name claim different resource attributes, one such claim). Equal owners are one `Arc`, so
/// that pointers can be compared.
#[derive(Debug, PartialEq, Eq)]
pub struct Owner {
    /// Attributes of the host, the service and the container.
    pub resource: Arc<Resource>,
    /// `service.name` in the resource.
    pub service_name: Arc<str>,
    /// `container.id` in the resource.
    pub container_id: Option<Arc<str>>,
    claim: Claim,
}

/// What makes an owner different from another one of the same host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    pub(super) service_name: Arc<str>,
    pub(super) container_id: Option<Arc<str>>,
    pub(super) runtime: Option<&'static str>,
    /// Attributes that the process claims; sorted, keys unique.
    pub(super) attributes: Arc<[(Arc<str>, Arc<str>)]>,
    /// What the cluster says of the container.
    pub(super) pod: Option<Arc<PodContainer>>,
}

/// Namespace in which a process's own word is worth more than its pod's.
const SERVICE_NAMESPACE: &str = "service.";

impl Owner {
    /// Whether what one takes from the other is its own affair: they are one container or, without
    /// containers, one service.
    pub fn is_with(&self, other: &Self) -> bool {
        match (&self.container_id, &other.container_id) {
            (Some(own), Some(others)) => own == others,
            (None, None) => self.service_name == other.service_name,
            _ => false,
        }
    }
}

/// All owners of the host, bounded.
#[derive(Debug)]
pub(super) struct Owners {
    host: SourcedAttributes,
    unique_name: String,
    known: HashMap<Claim, Arc<Owner>>,
    capacity: usize,
    /// Times that an owner was not made because of the bound.
    pub(super) refused: u64,
}

impl Owners {
    pub(super) fn new(host: &HostIdentity, capacity: usize) -> Self {
        Self {
            host: host.shared_attributes(),
            unique_name: host.unique_name().to_owned(),
            known: HashMap::new(),
            capacity,
            refused: 0,
        }
    }

    /// The one owner of this claim. When there are too many, processes lose first the attributes
    /// they claim and then their own owner.
    pub(super) fn intern(
        &mut self,
        service_name: ServiceName,
        claim: impl FnOnce(Arc<str>) -> Claim,
    ) -> (Arc<Owner>, ServiceNameSource) {
        let claim = claim(service_name.value);
        if let Some(owner) = self.known.get(&claim) {
            return (Arc::clone(owner), service_name.source);
        }
        if self.known.len() >= self.capacity {
            self.forget_unused();
        }
        if self.known.len() < self.capacity {
            return (self.add(claim), service_name.source);
        }
        self.refused += 1;
        let bare = Claim {
            attributes: Arc::from([]),
            ..claim
        };
        if let Some(owner) = self.known.get(&bare) {
            return (Arc::clone(owner), service_name.source);
        }
        // One beyond the capacity.
        let other = Claim {
            service_name: OVERFLOW_SERVICE_NAME.into(),
            container_id: None,
            runtime: None,
            attributes: Arc::from([]),
            pod: None,
        };
        let owner = match self.known.get(&other) {
            Some(owner) => Arc::clone(owner),
            None => self.add(other),
        };
        (owner, ServiceNameSource::Overflow)
    }

    /// The same claim on what is known of the host now.
    pub(super) fn renew(&mut self, owner: &Owner) -> Arc<Owner> {
        match self.known.get(&owner.claim) {
            Some(owner) => Arc::clone(owner),
            None => self.add(owner.claim.clone()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn forget_unused(&mut self) {
        self.known.retain(|_, owner| Arc::strong_count(owner) > 1);
    }

    fn add(&mut self, claim: Claim) -> Arc<Owner> {
        let owner = Arc::new(Owner {
            resource: Arc::new(self.resource(&claim)),
            service_name: Arc::clone(&claim.service_name),
            container_id: claim.container_id.clone(),
            claim: claim.clone(),
        });
        self.known.insert(claim, Arc::clone(&owner));
        owner
    }

    fn resource(&self, claim: &Claim) -> Resource {
        let mut attributes: Vec<Attribute> = Vec::with_capacity(24);
        let text = |key, value: &Arc<str>| Attribute::new(key, Value::String(Arc::clone(value)));
        attributes.push(text(attribute::SERVICE_NAME, &claim.service_name));
        if let Some(id) = &claim.container_id {
            attributes.push(text(attribute::CONTAINER_ID, id));
        }
        if let Some(runtime) = claim.runtime {
            attributes.push(Attribute::new(attribute::CONTAINER_RUNTIME_NAME, runtime));
        }
        attributes.extend(self.host.iter().map(|(key, sourced)| Attribute {
            key: key.to_owned().into(),
            value: Value::String(Arc::clone(&sourced.value)),
        }));
        // What we know for ourselves wins over what a process says of itself.
        let (own_service, own_rest): (Vec<_>, Vec<_>) = claim
            .attributes
            .iter()
            .partition(|(key, _)| key.starts_with(SERVICE_NAMESPACE));
        let pod = claim.pod.iter().flat_map(|pod| pod.attributes.iter());
        for (key, value) in own_service.into_iter().chain(pod).chain(own_rest) {
            if !attributes.iter().any(|known| known.key == **key) {
                attributes.push(Attribute {
                    key: key.to_string().into(),
                    value: Value::String(Arc::clone(value)),
                });
            }
        }
        if !attributes
            .iter()
            .any(|known| known.key == attribute::SERVICE_INSTANCE_ID)
        {
            let id = instance_id::derive(
                &self.unique_name,
                claim.container_id.as_deref(),
                &claim.service_name,
            );
            attributes.push(Attribute::new(attribute::SERVICE_INSTANCE_ID, id));
        }
        attributes.sort_by(|one, other| one.key.cmp(&other.key));
        Resource { attributes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(capacity: usize) -> Owners {
        let mut host = HostIdentity::default();
        host.insert(attribute::HOST_ID, "h", "test");
        host.insert(attribute::CLOUD_REGION, "r", "test");
        Owners::new(&host, capacity)
    }

    fn intern(owners: &mut Owners, name: &str, claims: &[(&str, &str)]) -> Arc<Owner> {
        let service_name = ServiceName {
            value: name.into(),
            source: ServiceNameSource::Executable,
        };
        let attributes = claims.iter().map(|(k, v)| ((*k).into(), (*v).into()));
        let (owner, _) = owners.intern(service_name, |service_name| Claim {
            service_name,
            container_id: Some("c".into()),
            runtime: None,
            attributes: attributes.collect(),
            pod: None,
        });
        owner
    }

    fn value(owner: &Owner, key: &str) -> Option<String> {
        let found = owner.resource.attributes.iter().find(|a| a.key == key)?;
        match &found.value {
            Value::String(text) => Some(text.to_string()),
            other => panic!("{other:?}"),
        }
    }

    /// Equal owners are one; the resource is sorted, unique and has host, service and container.
    #[test]
    fn equal_owners_are_one() {
        let mut owners = owners(10);
        let (one, same) = (intern(&mut owners, "a", &[]), intern(&mut owners, "a", &[]));
        assert!(Arc::ptr_eq(&one, &same));
        assert!(!Arc::ptr_eq(&one, &intern(&mut owners, "b", &[])));
        let keys: Vec<_> = one.resource.attributes.iter().map(|a| &a.key).collect();
        assert!(keys.is_sorted_by(|left, right| left < right));
        assert_eq!(value(&one, attribute::HOST_ID).as_deref(), Some("h"));
        assert_eq!(value(&one, attribute::CONTAINER_ID).as_deref(), Some("c"));
        assert_eq!(value(&one, attribute::SERVICE_NAME).as_deref(), Some("a"));
    }

    /// Two services in one container are one; without containers the service counts.
    #[test]
    fn containers_come_before_services() {
        let mut owners = owners(10);
        let mut owner = |name: &str, container: Option<&str>| {
            let service_name = ServiceName {
                value: name.into(),
                source: ServiceNameSource::Executable,
            };
            let claim = |service_name| Claim {
                service_name,
                container_id: container.map(Into::into),
                runtime: None,
                attributes: Arc::from([]),
                pod: None,
            };
            owners.intern(service_name, claim).0
        };
        assert!(owner("a", Some("c")).is_with(&owner("b", Some("c"))));
        assert!(!owner("a", Some("c")).is_with(&owner("a", Some("d"))));
        assert!(!owner("a", Some("c")).is_with(&owner("a", None)));
        assert!(owner("a", None).is_with(&owner("a", None)));
        assert!(!owner("a", None).is_with(&owner("b", None)));
    }

    /// A process adds attributes, but none that the host has; its own instance id is kept.
    #[test]
    fn claims_do_not_override() {
        let mut owners = owners(10);
        let claims = [
            (attribute::CLOUD_REGION, "fake"),
            (attribute::SERVICE_INSTANCE_ID, "i"),
            ("team", "t"),
        ];
        let owner = intern(&mut owners, "a", &claims);
        assert_eq!(value(&owner, attribute::CLOUD_REGION).as_deref(), Some("r"));
        assert_eq!(value(&owner, "team").as_deref(), Some("t"));
        assert_eq!(
            value(&owner, attribute::SERVICE_INSTANCE_ID).as_deref(),
            Some("i")
        );
    }

    /// Beyond the bound processes share owners, and it is counted; unused ones make room.
    #[test]
    fn number_is_bounded() {
        let mut owners = owners(3);
        let held: Vec<_> = (0..100)
            .map(|n| intern(&mut owners, &format!("s{n}"), &[]))
            .collect();
        assert_eq!(owners.len(), 4);
        assert_eq!(owners.refused, 97);
        assert_eq!(&*held[99].service_name, OVERFLOW_SERVICE_NAME);
        let claimed = intern(&mut owners, "s0", &[("team", "t")]);
        assert!(Arc::ptr_eq(&claimed, &held[0]));
        drop((held, claimed));
        assert_eq!(&*intern(&mut owners, "new", &[]).service_name, "new");
        assert_eq!(owners.len(), 1);
    }
}

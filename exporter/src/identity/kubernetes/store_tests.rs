use super::*;
use crate::identity::kubernetes::fake_api::pod;

fn store(pods: usize, containers: usize) -> (Store, Pods, Arc<Figures>) {
    let (target, figures) = (Pods::default(), Arc::<Figures>::default());
    let bounds = Bounds { pods, containers };
    let store = Store::new(
        AllowedMetadata::default(),
        bounds,
        target.clone(),
        Arc::clone(&figures),
    );
    (store, target, figures)
}

fn parsed(name: &str, ids: &[&str]) -> Pod {
    let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
    serde_json::from_value(pod(name, &ids)).unwrap()
}

/// Both bounds hold, what finds no room is counted, and pods that are gone make room first.
#[test]
fn bounds() {
    let (mut store, target, figures) = store(2, 3);
    assert!(store.apply(&parsed("a", &["a1", "a2"])));
    assert!(!store.apply(&parsed("b", &["b1", "b2"])));
    assert!(store.apply(&parsed("c", &["c1"])));
    assert!(!store.apply(&parsed("d", &[])));
    assert_eq!(figures.statistics().refused, 2);
    store.delete(&parsed("a", &[]));
    assert!(store.apply(&parsed("b", &["b1", "b2"])));
    store.publish();
    assert!(target.container("a1").is_none() && target.container("b2").is_some());
    let statistics = figures.statistics();
    assert_eq!((statistics.pods, statistics.containers), (2, 3));
}

/// An update replaces a pod's containers; a list makes the rest go, but not at once.
#[test]
fn updates_and_lists() {
    let (mut store, target, figures) = store(10, 10);
    store.begin_list();
    store.apply(&parsed("a", &["a1"]));
    store.apply(&parsed("b", &["b1"]));
    store.end_list();
    store.apply(&parsed("a", &["a2"]));
    store.publish();
    assert!(target.container("a1").is_none() && target.container("a2").is_some());
    let revision = target.revision();
    store.publish();
    assert_eq!(target.revision(), revision);
    // A list that breaks off says nothing about the pods that it did not reach.
    store.begin_list();
    store.begin_list();
    store.apply(&parsed("b", &["b1"]));
    store.end_list();
    store.publish();
    assert_eq!(figures.statistics().pods, 1);
    assert!(target.container("a2").is_some());
    store.pods.values_mut().for_each(|known| {
        known.gone = known.gone.and_then(|gone| gone.checked_sub(GRACE * 2));
    });
    store.publish();
    assert!(target.container("a2").is_none() && target.container("b1").is_some());
}

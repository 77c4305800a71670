//! An API server and kubelet for tests, well and unwell, over plain sockets so that it can break any
//! rule of HTTP.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring};
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};

/// How the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As the real one does.
    Serve,
    /// 403 to everything.
    Forbidden,
    /// Lists, and 410 to each watch.
    GoneStatus,
    /// Lists, and the event ERROR with 410 in each watch.
    GoneEvent,
    /// 200 with a page of HTML.
    Html,
    /// Lists, and lines that are no events in each watch.
    GarbageEvents,
    /// A line without an end.
    EndlessLine,
    /// Pages without an end.
    EndlessList,
    /// Accepts and says nothing.
    Hang,
}

struct State {
    mode: Mode,
    open: bool,
    stopped: bool,
    pods: Vec<Value>,
    /// Events by resource version, which is their index plus one.
    events: Vec<Value>,
    requests: Vec<String>,
    longest_answer: usize,
}

/// The server; it ends when dropped.
pub(super) struct FakeApi {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeApi {
    pub(super) fn start(pods: Vec<Value>) -> Self {
        Self::start_with(pods, None)
    }

    /// The same behind TLS, with a certificate that nobody knows.
    pub(super) fn start_with_tls(pods: Vec<Value>) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self::start_with(pods, Some(Arc::new(config)))
    }

    fn start_with(pods: Vec<Value>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            mode: Mode::Serve,
            open: true,
            stopped: false,
            pods,
            events: Vec::new(),
            requests: Vec::new(),
            longest_answer: 0,
        }));
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || accept(listener, address, tls.as_ref(), &shared));
        Self {
            address,
            state,
            thread: Some(thread),
        }
    }

    pub(super) fn set_mode(&self, mode: Mode) {
        self.state.lock().unwrap().mode = mode;
    }

    /// Closes the port and all connections, or opens it again.
    pub(super) fn set_open(&self, open: bool) {
        self.state.lock().unwrap().open = open;
    }

    pub(super) fn add(&self, mut pod: Value) {
        let mut state = self.state.lock().unwrap();
        let version = state.events.len() + 1;
        pod["metadata"]["resourceVersion"] = json!(version.to_string());
        state.pods.push(pod.clone());
        state.events.push(json!({"type": "ADDED", "object": pod}));
    }

    pub(super) fn delete(&self, name: &str) {
        let mut state = self.state.lock().unwrap();
        let version = state.events.len() + 1;
        let index = state
            .pods
            .iter()
            .position(|pod| pod["metadata"]["name"] == name)
            .unwrap();
        let mut pod = state.pods.remove(index);
        pod["metadata"]["resourceVersion"] = json!(version.to_string());
        state.events.push(json!({"type": "DELETED", "object": pod}));
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(super) fn longest_answer(&self) -> usize {
        self.state.lock().unwrap().longest_answer
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.state.lock().unwrap().stopped = true;
        let _ = self.thread.take().unwrap().join();
    }
}

fn accept(
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<&Arc<ServerConfig>>,
    state: &Arc<Mutex<State>>,
) {
    let mut listener = Some(listener);
    loop {
        let (open, stopped) = {
            let state = state.lock().unwrap();
            (state.open, state.stopped)
        };
        if stopped {
            return;
        }
        if !open {
            listener = None;
        } else if listener.is_none() {
            listener = TcpListener::bind(address).ok();
        }
        if let Some(listener) = &listener {
            listener.set_nonblocking(true).unwrap();
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).unwrap();
                let (tls, state) = (tls.cloned(), Arc::clone(state));
                std::thread::spawn(move || {
                    // Clients may go at any time.
                    let _ = serve(stream, tls, &state);
                });
                continue;
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn serve(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    state: &Mutex<State>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    match tls {
        None => respond(&mut { stream }, state),
        Some(tls) => {
            let connection = ServerConnection::new(tls).map_err(std::io::Error::other)?;
            respond(&mut StreamOwned::new(connection, stream), state)
        }
    }
}

/// A connection, with TLS or without.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

fn respond(stream: &mut dyn Stream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 16 << 10 {
        if stream.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let mode = {
        let mut state = state.lock().unwrap();
        state.requests.push(target.clone());
        state.mode
    };
    let is_watch = target.contains("watch=true");
    match mode {
        Mode::Forbidden => status(stream, 403, "Forbidden"),
        Mode::GoneStatus if is_watch => status(stream, 410, "Expired"),
        Mode::Html => answer(stream, 200, "<html><body>It works</body></html>"),
        Mode::Hang => {
            wait_for_change(state, mode);
            Ok(())
        }
        Mode::EndlessLine => endless_line(stream, state),
        Mode::EndlessList if !is_watch => {
            let first = parameter(&target, "continue").unwrap_or(0);
            let pods: Vec<_> = (first..first + 100)
                .map(|number| pod(&format!("pod-{number}"), &[format!("{number:064x}")]))
                .collect();
            list(stream, &pods, first + 100, true)
        }
        _ if is_watch => watch(stream, state, mode, &target),
        _ if target.starts_with("/api/v1/nodes/") => answer(
            stream,
            200,
            &json!({"metadata": {"name": "node-1", "uid": "node-uid"}}).to_string(),
        ),
        _ if target.starts_with("/api/v1/namespaces/") => answer(
            stream,
            200,
            &json!({"metadata": {"name": "kube-system", "uid": "cluster-uid"}}).to_string(),
        ),
        _ => {
            let first = parameter(&target, "continue").unwrap_or(0);
            let limit = parameter(&target, "limit").unwrap_or(usize::MAX);
            let (pods, more) = {
                let state = state.lock().unwrap();
                let pods: Vec<_> = state.pods.iter().skip(first).take(limit).cloned().collect();
                let more = first + pods.len() < state.pods.len();
                (pods, more)
            };
            let next = first + pods.len();
            let version = state.lock().unwrap().events.len();
            list(stream, &pods, if more { next } else { version }, more)
        }
    }
}

fn parameter(target: &str, name: &str) -> Option<usize> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}

fn answer(stream: &mut dyn Stream, code: u16, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn status(stream: &mut dyn Stream, code: u16, reason: &str) -> std::io::Result<()> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason,
        "code": code,
    });
    answer(stream, code, &body.to_string())
}

/// `next` is where the next page begins if there is `more`, else the version of the list.
fn list(stream: &mut dyn Stream, pods: &[Value], next: usize, more: bool) -> std::io::Result<()> {
    let mut metadata = json!({"resourceVersion": next.to_string()});
    if more {
        metadata["continue"] = json!(next.to_string());
    }
    let body = json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": pods});
    answer(stream, 200, &body.to_string())
}

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";

fn watch(
    stream: &mut dyn Stream,
    state: &Mutex<State>,
    mode: Mode,
    target: &str,
) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD.as_bytes())?;
    match mode {
        Mode::GoneEvent => {
            let error = json!({"kind": "Status", "status": "Failure", "message": "too old",
                "reason": "Expired", "code": 410});
            return writeln!(stream, "{}", json!({"type": "ERROR", "object": error}));
        }
        Mode::GarbageEvents => {
            stream.write_all(b"\xff\xfe{{{\n{\"type\":\"ADDED\",\"object\":7}\n[]\n")?;
        }
        _ => {}
    }
    let mut next = parameter(target, "resourceVersion").unwrap_or(0);
    loop {
        let events: Vec<_> = {
            let state = state.lock().unwrap();
            if state.stopped || !state.open || state.mode != mode {
                return Ok(());
            }
            state.events.iter().skip(next).cloned().collect()
        };
        for event in events {
            writeln!(stream, "{event}")?;
            next += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn endless_line(stream: &mut dyn Stream, state: &Mutex<State>) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD.as_bytes())?;
    let mut sent = 0;
    let block = [b'x'; 64 << 10];
    loop {
        let result = stream.write(&block);
        let mut state = state.lock().unwrap();
        sent += *result.as_ref().unwrap_or(&0);
        state.longest_answer = state.longest_answer.max(sent);
        result?;
        if state.stopped {
            return Ok(());
        }
    }
}

fn wait_for_change(state: &Mutex<State>, mode: Mode) {
    loop {
        {
            let state = state.lock().unwrap();
            if state.stopped || state.mode != mode {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A running pod with containers of these ids.
pub(super) fn pod(name: &str, ids: &[String]) -> Value {
    let statuses: Vec<_> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| {
            json!({
                "name": format!("c{number}"), "image": "i", "imageID": "", "ready": true,
                "restartCount": 0, "containerID": format!("containerd://{id}"),
            })
        })
        .collect();
    json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "resourceVersion": "1",
        },
        "spec": {"nodeName": "node-1", "containers": []},
        "status": {"containerStatuses": statuses},
    })
}

/// Waits for something, 10 s at most.
pub(super) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

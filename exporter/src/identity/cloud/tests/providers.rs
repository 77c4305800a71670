//! What each provider's answers become.

use std::{collections::BTreeMap, fs, path::PathBuf};

use evenkeel_semconv::attribute;
use serde_json::Value;

use super::{
    super::Provider,
    PATIENCE, learn,
    server::{Answer, Request, Server},
};

fn case(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    fs::read_to_string(path.join(name)).unwrap()
}

/// EC2 with its token, as the fixture has it.
pub(super) fn aws(request: &Request) -> Answer {
    if request.path == "/latest/api/token" {
        let lifetime = request.header("x-aws-ec2-metadata-token-ttl-seconds");
        return match (request.method.as_str(), lifetime) {
            ("PUT", Some("21600")) => Answer::text(&format!("token-{}", request.number)),
            _ => Answer::status(400),
        };
    }
    if request.header("x-aws-ec2-metadata-token").is_none() {
        return Answer::status(401);
    }
    match request.path.as_str() {
        "/latest/dynamic/instance-identity/document" => {
            Answer::text(&case("imds_aws_identity.json"))
        }
        "/latest/meta-data/hostname" => Answer::text("ip-10-0-1-23.internal"),
        "/latest/meta-data/instance-life-cycle" => Answer::text("spot"),
        _ => Answer::status(404),
    }
}

/// The tree of the fixture, a value at a time: `machine-type` is `machineType` in the document.
pub(super) fn gcp(request: &Request) -> Answer {
    if request.header("metadata-flavor") != Some("Google") {
        return Answer::status(403);
    }
    let tree: Value = serde_json::from_str(&case("imds_gcp_recursive.json")).unwrap();
    let camel = |name: &str| {
        let mut words = name.split('-');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| {
            name + &word[..1].to_uppercase() + &word[1..]
        })
    };
    let path = request.path.strip_prefix("/computeMetadata/v1/").unwrap();
    let value = path.split('/').try_fold(&tree, |tree, name| {
        tree.get(name).or_else(|| tree.get(camel(name)))
    });
    let answer = match value {
        Some(Value::String(text)) => Answer::text(text),
        Some(other) => Answer::text(&other.to_string()),
        None => Answer::status(404),
    };
    answer.with("metadata-flavor", "Google")
}

pub(super) fn azure(request: &Request) -> Answer {
    if request.header("metadata") != Some("true") || !request.path.contains("api-version=") {
        return Answer::status(400);
    }
    assert!(request.path.starts_with("/metadata/instance/compute?"));
    let document: Value = serde_json::from_str(&case("imds_azure_instance.json")).unwrap();
    Answer::text(&document["compute"].to_string()).with("content-type", "application/json")
}

/// A web server that gives the same page for every path.
fn page(_request: &Request) -> Answer {
    let text = case("imds_html_200.txt");
    let (head, body) = text.split_once("\n\n").unwrap();
    assert!(head.contains("Content-Type: text/html"));
    Answer::text(body).with("content-type", "text/html")
}

type Values = BTreeMap<String, String>;

fn attributes(provider: Provider, answer: fn(&Request) -> Answer) -> Values {
    let server = Server::start(answer);
    let learned = learn(provider, &server, PATIENCE).unwrap();
    assert!(
        learned
            .iter()
            .all(|(_, found)| found.source == provider.source())
    );
    learned
        .iter()
        .map(|(key, found)| (key.to_owned(), found.value.to_string()))
        .collect()
}

/// The documents of the table become exactly its values.
#[test]
fn cases() {
    let table = case("imds_expect.tsv");
    let mut lines = table.lines().filter(|line| !line.is_empty());
    let keys: Vec<_> = lines.next().unwrap().split('\t').collect();
    let mut seen = 0;
    for line in lines {
        let cells: Vec<_> = line.split('\t').collect();
        let values = match cells[0] {
            "imds_aws_identity.json" => attributes(Provider::Aws, aws),
            "imds_azure_instance.json" => attributes(Provider::Azure, azure),
            "imds_gcp_recursive.json" => attributes(Provider::Gcp, gcp),
            "imds_html_200.txt" => {
                for provider in Provider::ALL {
                    let server = Server::start(page);
                    let wait = std::time::Duration::from_millis(100);
                    assert_eq!(learn(provider, &server, wait), None, "{provider}");
                    assert!(!server.requests().is_empty(), "{provider}");
                }
                Values::new()
            }
            other => panic!("an unknown case: {other}"),
        };
        for (key, cell) in keys.iter().zip(&cells).skip(1) {
            let expected = match (*key, *cell) {
                ("note", _) => continue,
                (_, "(none)" | "(omit: empty)") => None,
                // The table leaves the spelling and Kubernetes open.
                ("cloud.platform", _) if cells[0].contains("azure") => Some("azure.vm"),
                ("cloud.platform", _) if cells[0].contains("aws") => Some("aws_ec2"),
                ("cloud.platform", _) => Some("gcp_kubernetes_engine"),
                (_, cell) => Some(cell),
            };
            assert_eq!(values.get(*key).map(String::as_str), expected, "{line}");
        }
        for (key, value) in &values {
            assert!(!value.contains("SECRET"), "{key}");
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// Secrets are not even asked for.
#[test]
fn gcp_secrets_are_not_requested() {
    let server = Server::start(gcp);
    let learned = learn(Provider::Gcp, &server, PATIENCE).unwrap();
    assert_eq!(learned.value(attribute::K8S_CLUSTER_NAME), Some("demo"));
    for request in server.requests() {
        let secret = ["recursive", "kube-env", "ssh-keys", "service-accounts"];
        assert!(
            !secret.iter().any(|name| request.contains(name)),
            "{request}"
        );
    }
}

/// Terms and families are told from what the providers say.
#[test]
fn terms_and_families() {
    let aws = attributes(Provider::Aws, aws);
    assert_eq!(aws[attribute::EVENKEEL_HOST_LIFE_CYCLE], "spot");
    assert_eq!(aws[attribute::EVENKEEL_HOST_CPU_ALLOTMENT], "burstable");
    assert_eq!(aws[attribute::HOST_IMAGE_ID], "ami-0123456789abcdef0");
    let gcp = attributes(Provider::Gcp, gcp);
    assert_eq!(gcp[attribute::EVENKEEL_HOST_LIFE_CYCLE], "on_demand");
    assert_eq!(gcp[attribute::EVENKEEL_HOST_CPU_ALLOTMENT], "burstable");
    assert!(!gcp.contains_key(attribute::HOST_IMAGE_ID));
    // The document does not say on what terms.
    let azure = attributes(Provider::Azure, azure);
    assert!(!azure.contains_key(attribute::EVENKEEL_HOST_LIFE_CYCLE));
    assert_eq!(azure[attribute::EVENKEEL_HOST_CPU_ALLOTMENT], "burstable");
}

fn expect(provider: Provider, answer: fn(&Request) -> Answer, expected: &[(&str, &str)]) {
    let expected: Values = expected
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    assert_eq!(attributes(provider, answer), expected, "{provider}");
}

/// Plain values below a path.
fn value(request: &Request, below: &str, values: &[(&str, &str)]) -> Answer {
    let name = request.path.strip_prefix(below);
    let found = values.iter().find(|(known, _)| Some(*known) == name);
    found.map_or_else(|| Answer::status(404), |(_, value)| Answer::text(value))
}

/// Providers with a document.
#[test]
fn documents() {
    let oracle = |request: &Request| {
        if request.path != "/opc/v2/instance/"
            || request.header("authorization") != Some("Bearer Oracle")
        {
            return Answer::status(404);
        }
        Answer::text(
            r#"{"id":"ocid1.instance.x","displayName":"web","shape":"VM.Standard.E4.Flex",
            "canonicalRegionName":"eu-frankfurt-1","availabilityDomain":"EMIr:EU-FRANKFURT-1-AD-1",
            "image":"ocid1.image.x","shapeConfig":{"baselineOcpuUtilization":"BASELINE_1_8"},
            "metadata":{"ssh_authorized_keys":"SECRET","user_data":"SECRET",
            "oke-cluster-display-name":"blue"}}"#,
        )
    };
    expect(
        Provider::Oracle,
        oracle,
        &[
            ("cloud.availability_zone", "EMIr:EU-FRANKFURT-1-AD-1"),
            ("cloud.platform", "oracle_cloud_oke"),
            ("cloud.provider", "oracle_cloud"),
            ("cloud.region", "eu-frankfurt-1"),
            ("cloud.resource_id", "ocid1.instance.x"),
            ("evenkeel.host.cpu.allotment", "burstable"),
            ("host.id", "ocid1.instance.x"),
            ("host.image.id", "ocid1.image.x"),
            ("host.name", "web"),
            ("host.type", "VM.Standard.E4.Flex"),
            ("k8s.cluster.name", "blue"),
        ],
    );
    let droplet = |_: &Request| {
        Answer::text(
            r#"{"droplet_id":2756294,"hostname":"web","region":"nyc3","public_keys":["SECRET"]}"#,
        )
    };
    expect(
        Provider::DigitalOcean,
        droplet,
        &[
            ("cloud.provider", "digitalocean"),
            ("cloud.region", "nyc3"),
            ("host.id", "2756294"),
            ("host.name", "web"),
        ],
    );
    let vultr = |_: &Request| {
        Answer::text(
            r#"{"instance-v2-id":"4d2c-1","instanceid":"17","hostname":"web",
            "region":{"regioncode":"EWR"}}"#,
        )
    };
    expect(
        Provider::Vultr,
        vultr,
        &[
            ("cloud.platform", "vultr.cloud_compute"),
            ("cloud.provider", "vultr"),
            ("cloud.region", "ewr"),
            ("host.id", "4d2c-1"),
            ("host.name", "web"),
        ],
    );
    let scaleway = |_: &Request| {
        Answer::text(
            r#"{"id":"11","name":"web","commercial_type":"DEV1-S","organization":"o-1",
            "location":{"zone_id":"fr-par-1"},"image":{"id":"im-1","name":"Debian"}}"#,
        )
    };
    expect(
        Provider::Scaleway,
        scaleway,
        &[
            ("cloud.account.id", "o-1"),
            ("cloud.availability_zone", "fr-par-1"),
            ("cloud.platform", "scaleway_cloud_compute"),
            ("cloud.provider", "scaleway_cloud"),
            ("cloud.region", "fr-par"),
            ("host.id", "11"),
            ("host.image.id", "im-1"),
            ("host.name", "web"),
            ("host.type", "DEV1-S"),
        ],
    );
    let openstack = |request: &Request| match request.path.as_str() {
        "/openstack/latest/meta_data.json" => Answer::text(
            r#"{"uuid":"d8e0","hostname":"web.novalocal","availability_zone":"nova",
            "project_id":"f7ac","admin_pass":"SECRET"}"#,
        ),
        "/latest/meta-data/instance-type" => Answer::text("m1.small"),
        _ => Answer::status(404),
    };
    expect(
        Provider::OpenStack,
        openstack,
        &[
            ("cloud.account.id", "f7ac"),
            ("cloud.availability_zone", "nova"),
            ("cloud.provider", "openstack"),
            ("host.id", "d8e0"),
            ("host.name", "web.novalocal"),
            ("host.type", "m1.small"),
        ],
    );
}

/// Providers with a token and a document.
#[test]
fn documents_behind_tokens() {
    let akamai = |request: &Request| match request.path.as_str() {
        "/v1/token" if request.method == "PUT" => Answer::text("t"),
        "/v1/instance" if request.header("metadata-token") == Some("t") => Answer::text(
            r#"{"id":12345,"label":"web","type":"g6-standard-2","region":"us-ord",
            "account_euuid":"E-1","image":{"id":"linode/debian12","label":"Debian 12"}}"#,
        ),
        _ => Answer::status(401),
    };
    expect(
        Provider::Akamai,
        akamai,
        &[
            ("cloud.account.id", "E-1"),
            ("cloud.platform", "akamai_cloud.compute"),
            ("cloud.provider", "akamai_cloud"),
            ("cloud.region", "us-ord"),
            ("host.id", "12345"),
            ("host.image.id", "linode/debian12"),
            ("host.name", "web"),
            ("host.type", "g6-standard-2"),
        ],
    );
    let ibm = |request: &Request| {
        assert_eq!(request.header("host"), Some("api.metadata.cloud.ibm.com"));
        if request.path.starts_with("/identity/v1/token?version=") {
            return match request.header("metadata-flavor") {
                Some("ibm") => Answer::text(r#"{"access_token":"t"}"#),
                _ => Answer::status(400),
            };
        }
        if request.header("authorization") != Some("Bearer t") {
            return Answer::status(401);
        }
        Answer::text(
            r#"{"id":"0717-1","name":"web","crn":"crn:v1:bluemix:public:is:us-south-1:a/acc::instance:0717-1",
            "profile":{"name":"bx2-2x8"},"zone":{"name":"us-south-1"},"image":{"id":"r006"}}"#,
        )
    };
    expect(
        Provider::Ibm,
        ibm,
        &[
            ("cloud.account.id", "acc"),
            ("cloud.availability_zone", "us-south-1"),
            ("cloud.platform", "ibm_cloud.vpc"),
            ("cloud.provider", "ibm_cloud"),
            ("cloud.region", "us-south"),
            (
                "cloud.resource_id",
                "crn:v1:bluemix:public:is:us-south-1:a/acc::instance:0717-1",
            ),
            ("host.id", "0717-1"),
            ("host.image.id", "r006"),
            ("host.name", "web"),
            ("host.type", "bx2-2x8"),
        ],
    );
}

/// Providers that are asked for one value at a time.
#[test]
fn single_values() {
    let alibaba = |request: &Request| {
        if request.path == "/latest/api/token" {
            return Answer::text("t");
        }
        if request.header("x-aliyun-ecs-metadata-token") != Some("t") {
            return Answer::status(403);
        }
        value(
            request,
            "/latest/meta-data/",
            &[
                ("instance-id", "i-bp1"),
                ("hostname", "web"),
                ("image-id", "m-1"),
                ("instance/instance-type", "ecs.g7.large"),
                ("owner-account-id", "17"),
                ("region-id", "cn-hangzhou"),
                ("zone-id", "cn-hangzhou-i"),
            ],
        )
    };
    let common = |platform, provider| {
        vec![
            ("cloud.account.id", "17"),
            ("cloud.availability_zone", "cn-hangzhou-i"),
            ("cloud.platform", platform),
            ("cloud.provider", provider),
            ("cloud.region", "cn-hangzhou"),
            ("host.id", "i-bp1"),
            ("host.image.id", "m-1"),
            ("host.name", "web"),
            ("host.type", "ecs.g7.large"),
        ]
    };
    let mut expected = common("alibaba_cloud_ecs", "alibaba_cloud");
    expected.push(("evenkeel.host.cpu.allotment", "full"));
    expect(Provider::Alibaba, alibaba, &expected);
    let tencent = |request: &Request| {
        assert_eq!(request.header("host"), Some("metadata.tencentyun.com"));
        value(
            request,
            "/latest/meta-data/",
            &[
                ("instance-id", "i-bp1"),
                ("instance-name", "web"),
                ("instance/image-id", "m-1"),
                ("instance/instance-type", "ecs.g7.large"),
                ("app-id", "17"),
                ("placement/region", "cn-hangzhou"),
                ("placement/zone", "cn-hangzhou-i"),
            ],
        )
    };
    expect(
        Provider::Tencent,
        tencent,
        &common("tencent_cloud_cvm", "tencent_cloud"),
    );
    let hetzner = |request: &Request| {
        value(
            request,
            "/hetzner/v1/metadata/",
            &[
                ("instance-id", "42"),
                ("hostname", "web"),
                ("region", "eu-central"),
                ("availability-zone", "fsn1-dc14"),
            ],
        )
    };
    expect(
        Provider::Hetzner,
        hetzner,
        &[
            ("cloud.availability_zone", "fsn1-dc14"),
            ("cloud.platform", "hetzner.cloud_server"),
            ("cloud.provider", "hetzner"),
            ("cloud.region", "eu-central"),
            ("host.id", "42"),
            ("host.name", "web"),
        ],
    );
}

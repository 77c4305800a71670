//! Names of container images.

/// Name, tag and digest of an image reference: `[REGISTRY/]NAME[:TAG][@DIGEST]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image<'a> {
    pub(super) name: &'a str,
    pub(super) tag: Option<&'a str>,
    pub(super) digest: Option<&'a str>,
}

impl<'a> Image<'a> {
    /// None for an empty reference and for a bare digest, which is all that some runtimes tell.
    pub(super) fn parse(reference: &'a str) -> Option<Self> {
        let (rest, digest) = match reference.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (reference, None),
        };
        // A colon before the last slash belongs to the port of the registry.
        let base = rest.rfind('/').map_or(0, |slash| slash + 1);
        let colon = rest.get(base..)?.find(':').map(|colon| base + colon);
        let (name, tag) = match colon {
            Some(colon) => (rest.get(..colon)?, rest.get(colon + 1..)),
            None => (rest, None),
        };
        (!name.is_empty() && name != "sha256").then_some(Self {
            name,
            tag: tag.filter(|tag| !tag.is_empty()),
            digest: digest.filter(|digest| !digest.is_empty()),
        })
    }

    /// `service.version` by the image (semantic conventions 1.44, "Kubernetes attributes"): `TAG`,
    /// `TAG@DIGEST` or the digest.
    pub(super) fn version(&self) -> Option<String> {
        match (self.tag, self.digest) {
            (Some(tag), Some(digest)) => Some(format!("{tag}@{digest}")),
            (Some(text), None) | (None, Some(text)) => Some(text.to_owned()),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Image;

    #[test]
    fn references() {
        let cases = [
            ("nginx", Some(("nginx", None, None))),
            ("nginx:1.27", Some(("nginx", Some("1.27"), None))),
            ("host:5000/a/b", Some(("host:5000/a/b", None, None))),
            (
                "host:5000/a/b:v1@sha256:ab",
                Some(("host:5000/a/b", Some("v1"), Some("sha256:ab"))),
            ),
            ("a@sha256:ab", Some(("a", None, Some("sha256:ab")))),
            ("sha256:abcdef", None),
            ("", None),
            ("@sha256:ab", None),
            ("a:", Some(("a", None, None))),
        ];
        for (reference, expected) in cases {
            let image = Image::parse(reference).map(|image| (image.name, image.tag, image.digest));
            assert_eq!(image, expected, "{reference}");
        }
        let version = |reference| Image::parse(reference).and_then(|image| image.version());
        assert_eq!(version("a:1@sha256:b").as_deref(), Some("1@sha256:b"));
        assert_eq!(version("a"), None);
    }
}

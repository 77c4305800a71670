//! Whether and where to ask.

use std::str::FromStr;

use super::{
    client::{ENDPOINT_VARIABLE, Endpoint},
    provider::{Provider, UnknownProvider},
};
use crate::settings::{Problem, Problems};

/// The variable behind `--cloud`.
pub const CLOUD_VARIABLE: &str = "EVENKEEL_CLOUD";

/// Which metadata service to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// That of the provider that the host's own files point to; none if they point to none.
    #[default]
    Auto,
    /// None.
    Off,
    /// That of this provider, whatever the files say.
    Provider(Provider),
}

impl FromStr for Choice {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            name => name.parse().map(Self::Provider),
        }
    }
}

/// How the cloud is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloudSettings {
    /// Which service.
    pub choice: Choice,
    /// Where it answers, if not at the provider's own address.
    pub endpoint: Option<Endpoint>,
}

impl CloudSettings {
    /// Checks the argument of `--cloud` and the variables behind it.
    pub fn new(
        argument: Option<&str>,
        lookup: &dyn Fn(&str) -> Option<String>,
        problems: &mut Problems,
    ) -> Self {
        let variable = |name| lookup(name).filter(|value| !value.is_empty());
        let (setting, choice) = match argument {
            Some(text) => ("--cloud", Some(text.to_owned())),
            None => (CLOUD_VARIABLE, variable(CLOUD_VARIABLE)),
        };
        let choice = choice.map_or(Choice::Auto, |text| {
            text.parse().unwrap_or_else(|_| {
                let names: Vec<_> = Provider::ALL.iter().map(|known| known.name()).collect();
                let allowed = format!("auto, off or one of {}", names.join(", "));
                problems.0.push(Problem::value(setting, &text, &allowed));
                Choice::Off
            })
        });
        let endpoint = variable(ENDPOINT_VARIABLE).and_then(|text| {
            text.parse()
                .inspect_err(|_| {
                    let allowed = "http:// with an IP address and a port";
                    problems
                        .0
                        .push(Problem::value(ENDPOINT_VARIABLE, &text, allowed));
                })
                .ok()
        });
        Self { choice, endpoint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(argument: Option<&str>, variables: &[(&str, &str)]) -> (CloudSettings, usize) {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut problems = Problems::default();
        let settings = CloudSettings::new(argument, &lookup, &mut problems);
        (settings, problems.0.len())
    }

    /// The argument wins over the variable; wrong ones are problems and ask nobody.
    #[test]
    fn settings() {
        let choice = |argument, variable| {
            let (settings, problems) = read(argument, &[(CLOUD_VARIABLE, variable)]);
            (settings.choice, problems)
        };
        assert_eq!(choice(None, ""), (Choice::Auto, 0));
        assert_eq!(choice(None, "off"), (Choice::Off, 0));
        assert_eq!(
            choice(Some("aws"), "off"),
            (Choice::Provider(Provider::Aws), 0)
        );
        assert_eq!(choice(None, "amazon"), (Choice::Off, 1));
        assert_eq!(choice(Some(""), "aws"), (Choice::Off, 1));
        let (settings, problems) = read(None, &[(ENDPOINT_VARIABLE, "localhost")]);
        assert_eq!((settings.endpoint, problems), (None, 1));
    }
}

//! Questions as words of a command line, and back: all of it follows from what clap and serde know of
//! the question's type.

use anyhow::{Result, anyhow};
use clap::{Arg, ArgAction, Args, Command};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// What a person can ask. Its fields are the options of a command, by the same names.
pub trait Request: Args + Clone + Default + Serialize {
    /// The command that asks it.
    const COMMAND: &'static str;
    /// Options that the command names even where they are the default.
    const ALWAYS: &'static [&'static str] = &[];

    /// The question with what the command has to say besides what was given, such as the name of a file.
    #[must_use]
    fn in_full(&self) -> Self {
        self.clone()
    }

    /// The command that asks the same.
    fn command(&self) -> String {
        let command = ["skeptron"].into_iter().chain(Self::COMMAND.split(' ')).map(String::from);
        let options = words(&self.in_full()).into_iter().flat_map(Word::spoken);
        command.chain(options).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    /// The question that these words ask after the command's name.
    ///
    /// # Errors
    /// If they are no options of the command.
    fn parse(words: &str) -> Result<Self> {
        parsed(words)
    }

    /// Refuses what the command line would refuse, such as two options that exclude each other.
    ///
    /// # Errors
    /// What the command line would say.
    fn validated(self) -> Result<Self> {
        let mut words: Vec<Word> = words(&self.in_full());
        words.sort_by_key(|word| word.option.is_none());
        let positional = words.partition_point(|word| word.option.is_some());
        let mut typed: Vec<String> =
            words.drain(..positional).flat_map(Word::unmistakable).collect();
        typed.push("--".into());
        typed.extend(words.into_iter().flat_map(|word| word.values));
        of_typed::<Self>(typed)?;
        Ok(self)
    }
}

/// The question of nobody who says anything: every option has its default.
pub(crate) fn unasked<Q: Args>() -> Q {
    of_words([]).unwrap_or_else(|error| panic!("every option has a default: {error}"))
}

/// The options of a question, in the order of the command line; their ids are the names of its fields.
pub(crate) fn options<Q: Args>() -> Vec<Arg> {
    clap_command::<Q>().get_arguments().cloned().collect()
}

/// An option as it is typed, by the name of its field.
pub(crate) fn long(field: &str) -> String {
    format!("--{}", field.replace('_', "-"))
}

/// The question that these words ask.
///
/// # Errors
/// What the command line would say.
pub(crate) fn of_typed<Q: Args>(words: Vec<String>) -> Result<Q> {
    of_words(words)
        .map_err(|error| anyhow!(usage(&error).trim_start_matches("error: ").to_string()))
}

/// All that a question says, by the names of its fields.
pub(crate) fn fields<Q: Serialize>(question: &Q) -> Map<String, Value> {
    match serde_json::to_value(question) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("a question is an object: {other:?}"),
    }
}

/// What is not as it is if nobody says anything, by the names of the options.
fn given<Q: Request>(question: &Q) -> Map<String, Value> {
    let (mut given, usual) = (fields(question), fields(&Q::default()));
    given
        .retain(|name, value| usual.get(name) != Some(value) || Q::ALWAYS.contains(&name.as_str()));
    given
}

/// A question as the page has it: only what was given is said, and what is null was not given.
#[derive(Clone, Debug, Default)]
pub struct Given<Q>(pub Q);

impl<Q: Request> Serialize for Given<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        given(&self.0).serialize(serializer)
    }
}

impl<'de, Q: DeserializeOwned> Deserialize<'de> for Given<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        fields.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(fields)).map(Given).map_err(D::Error::custom)
    }
}

fn clap_command<Q: Args>() -> Command {
    Q::augment_args(Command::new("question").no_binary_name(true))
}

/// What these words say, split at spaces.
///
/// # Errors
/// If they are no such options.
pub fn parsed<A: Args>(words: &str) -> Result<A> {
    Ok(of_words(words.split_whitespace().map(String::from))?)
}

fn of_words<Q: Args>(words: impl IntoIterator<Item = String>) -> Result<Q, clap::Error> {
    Q::from_arg_matches(&clap_command::<Q>().try_get_matches_from(words)?)
}

/// An option with what is said of it, or what stands alone.
struct Word {
    /// As it is typed: `-n` or `--order`.
    option: Option<String>,
    values: Vec<String>,
}

/// What was given, in the order of the type's fields.
fn words<Q: Request>(question: &Q) -> Vec<Word> {
    let given = given(question);
    let command = clap_command::<Q>();
    let said = |arg: &Arg| Some(of_argument(arg, given.get(arg.get_id().as_str())?));
    command.get_arguments().filter_map(said).flatten().collect()
}

fn of_argument(arg: &Arg, value: &Value) -> Vec<Word> {
    let long = || arg.get_long().map(|long| format!("--{long}"));
    let option = arg.get_short().map(|short| format!("-{short}")).or_else(long);
    let word = |values: Vec<String>| Word { option: option.clone(), values };
    match (value, arg.get_action()) {
        (_, ArgAction::SetTrue) => vec![word(Vec::new())],
        (Value::Array(values), _) => {
            let values: Vec<String> = values.iter().map(text).collect();
            match arg.get_value_delimiter() {
                Some(delimiter) => vec![word(vec![values.join(&delimiter.to_string())])],
                None => values.into_iter().map(|value| word(vec![value])).collect(),
            }
        }
        (value, _) => vec![word(vec![text(value)])],
    }
}

/// A value as it is typed.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => number.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

impl Word {
    /// As people type it.
    fn spoken(self) -> Vec<String> {
        match (self.option, self.values.first()) {
            (Some(option), Some(value)) if value.starts_with('-') && option.starts_with("--") => {
                vec![format!("{option}={value}")]
            }
            (option, _) => option.into_iter().chain(self.values).collect(),
        }
    }

    /// So that no value is taken for an option.
    fn unmistakable(self) -> Option<String> {
        let option = self.option?;
        Some(match self.values.first() {
            None => option,
            Some(value) if option.starts_with("--") => format!("{option}={value}"),
            Some(value) => format!("{option}{value}"),
        })
    }
}

/// A word as a shell wants it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    if word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// What clap says of a mistake, in one line.
pub(crate) fn usage(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let paragraphs = text.split("\n\n").take_while(|p| !p.starts_with("Usage:"));
    let one_line = |p: &str| p.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = paragraphs.filter(|p| !p.starts_with("For more information")).map(one_line);
    said.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::{
        CheckRequest, CompareRequest, OptimiseRequest, QuorumRequest, SimOptions, StructureRequest,
        SystemArgs,
    };
    use super::*;

    fn again<Q: Request>(words: &str) {
        assert_eq!(Q::parse(words).unwrap().command(), format!("skeptron {} {words}", Q::COMMAND));
    }

    #[test]
    fn a_command_says_what_was_given_and_asks_the_same_again() {
        again::<SimOptions>("lamport --seed 1");
        again::<SimOptions>(
            "bully -n 5 --latency uniform:1..2 --order any --loss 0.5 --crash 5@0 --crash 4@1 --seed 7",
        );
        again::<CheckRequest>(
            "maekawa -n 3 --quorum fano --requests 1,1,2 --crashes 1 --judge progress,bypass --bypass 2 --keep-going",
        );
        again::<CheckRequest>("maekawa -n 3 --maximise delay");
        again::<CheckRequest>("--all --elections -n 3");
        again::<CompareRequest>("--elections bully ring -n 4,8 --seeds 1000");
        again::<QuorumRequest>("wall --rows 1,2,3 --p 0.25 --capacities 1,2.5 --of P2");
        again::<StructureRequest>("star:P2 --rates 1,5,1");
        again::<OptimiseRequest>("--rates 4,3,2,1 --busiest 0.5");
    }

    #[test]
    fn who_says_nothing_gets_what_clap_has_as_defaults() {
        fn usual<Q: Request>() {
            let parsed: Q = unasked();
            assert!(given(&parsed).keys().all(|name| Q::ALWAYS.contains(&name.as_str())));
        }
        usual::<SimOptions>();
        usual::<CheckRequest>();
        usual::<CompareRequest>();
        usual::<QuorumRequest>();
        usual::<StructureRequest>();
        usual::<OptimiseRequest>();
    }

    #[test]
    fn a_text_takes_the_place_of_a_file() {
        let text = Some("[[1]]".to_string());
        let command = QuorumRequest { text: text.clone(), ..QuorumRequest::default() }.command();
        assert_eq!(command, "skeptron quorum my.quorums");
        let asked = CheckRequest { text, at: Some(3), ..CheckRequest::default() };
        assert_eq!(asked.command(), "skeptron check --from run.jsonl --at 3");
        assert!(asked.clone().validated().is_ok());
        let other =
            CheckRequest { system: SystemArgs { nodes: Some(3), ..asked.system.clone() }, ..asked };
        let refused = other.validated().unwrap_err().to_string();
        assert!(refused.contains("--nodes"), "{refused}");
    }

    #[test]
    fn what_looks_like_an_option_is_no_option() {
        let named =
            |name: &str| CheckRequest { algorithm: Some(name.into()), ..Default::default() };
        assert!(named("--all").validated().is_ok_and(|asked| !asked.all));
        let ring = SimOptions::parse("bully --ring=--seed").unwrap();
        assert_eq!(ring.command(), "skeptron sim bully --ring=--seed --seed 1");
        assert!(ring.validated().is_ok());
    }

    #[test]
    fn the_page_gives_and_gets_only_what_is_not_usual() {
        let told = r#"{"algorithm":"central","nodes":null,"loss":0.5,"crash":null,"seed":1}"#;
        let Given(asked) = serde_json::from_str::<Given<SimOptions>>(told).unwrap();
        assert_eq!(asked, SimOptions::parse("central --loss 0.5").unwrap());
        let told = serde_json::to_value(Given(asked)).unwrap();
        assert_eq!(told, serde_json::json!({ "algorithm": "central", "loss": 0.5, "seed": 1 }));
        let unknown = serde_json::from_str::<Given<SimOptions>>(r#"{"algorithm":"x","node":3}"#);
        assert!(unknown.unwrap_err().to_string().contains("`node`"));
    }
}

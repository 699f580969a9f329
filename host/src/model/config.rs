//! Which models there are: `[models]` in `.ghyll/config.toml`, or the
//! environment.
//!
//! `config.toml` travels with the project, so no key may be in it: a key comes
//! from `GHYLL_MODEL_API_KEY`, or from a file that is named here and lies
//! elsewhere. A [`Key`] has no `Debug` and no `Display`, and no error here
//! repeats what it could not read, for that might be one.

mod endpoint;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use endpoint::Endpoint;
use toml::{Table, Value};

use crate::files::bounded::{ReadError, read_below, read_text, text};
use crate::files::disk::CapDisk;
use crate::project::Project;

/// The file, in `.ghyll`.
pub const CONFIG_FILE: &str = "config.toml";
/// Where a model answers, in place of the file.
pub const URL_ENV: &str = "GHYLL_MODEL_URL";
/// Which model: the one at [`URL_ENV`], or one of the file's.
pub const NAME_ENV: &str = "GHYLL_MODEL_NAME";
/// The key for models that name no file with their own.
pub const KEY_ENV: &str = crate::runtime::WITHHELD_ENV;

/// The largest file read, in bytes.
const CONFIG_MAX: u64 = 256 * 1024;
/// The largest file with a key, in bytes.
const KEY_MAX: u64 = 8 * 1024;
/// What may be said of a model.
const FIELDS: [&str; 5] = ["name", "url", "model", "tier", "key-file"];

/// Why no model can be asked.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// The file says something that it cannot.
    #[error("{}{}: {what}", path.display(), match line { Some(n) => format!(":{n}"), None => String::new() })]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where in it, from 1, if that is known.
        line: Option<usize>,
        /// What is wrong.
        what: String,
    },
    /// A key where everybody who has the project reads it.
    #[error("{}: {field:?} of the model {model:?} looks like a key, and this file is shared with the project", path.display())]
    KeyInConfig {
        /// The file.
        path: PathBuf,
        /// The model.
        model: String,
        /// Which field.
        field: String,
    },
    /// There is a name and nowhere to ask.
    #[error("no url is given for the model {0:?}")]
    UrlMissing(String),
    /// There is somewhere to ask and no name.
    #[error("no model is named for the url of {0}")]
    NameMissing(String),
    /// A url that cannot be asked. It is not repeated, for it may hold a key.
    #[error("the url of {of} {why}")]
    UrlInvalid {
        /// Whose.
        of: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nobody configured a model of this name.
    #[error("no model {name:?} is configured{}", match nearest { Some(n) => format!("; did you mean {n:?}?"), None => String::new() })]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// None may do the work.
    #[error("the work asks for a model of tier {need}, and the highest configured is {have}")]
    TierUnmet {
        /// What the clauses ask for.
        need: u32,
        /// The highest there is.
        have: u32,
    },
    /// The file with the key cannot be read.
    #[error("the key of {model:?} cannot be read from {}: {source}", path.display())]
    KeyUnreadable {
        /// The model.
        model: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// What should be a key cannot be one.
    #[error("the key of {model:?} ({from}) is no key: {why}")]
    KeyInvalid {
        /// The model.
        model: String,
        /// Where it comes from.
        from: String,
        /// Why.
        why: &'static str,
    },
}

impl ConfigError {
    /// The public code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "config-unreadable",
            Self::Invalid { .. } => "config-invalid",
            Self::KeyInConfig { .. } => "model-key-in-config",
            Self::UrlMissing(_) => "model-url-missing",
            Self::NameMissing(_) => "model-name-missing",
            Self::UrlInvalid { .. } => "model-url-invalid",
            Self::Unknown { .. } => "model-unknown",
            Self::TierUnmet { .. } => "model-tier-unmet",
            Self::KeyUnreadable { .. } => "model-key-unreadable",
            Self::KeyInvalid { .. } => "model-key-invalid",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "make it a text file that you can read",
            Self::Invalid { .. } => "[models.NAME] takes url, model, tier and key-file",
            Self::KeyInConfig { .. } => {
                "take it out, and change it if it was committed; a key comes from \
                 GHYLL_MODEL_API_KEY, or from a file elsewhere that key-file names"
            }
            Self::UrlMissing(_) => "set GHYLL_MODEL_URL, or configure the model",
            Self::NameMissing(_) => "set GHYLL_MODEL_NAME, or give `model`",
            Self::UrlInvalid { .. } => "a url is written http(s)://HOST[:PORT]/…/v1",
            Self::Unknown { .. } => "configure it in .ghyll/config.toml, or unset GHYLL_MODEL_NAME",
            Self::TierUnmet { .. } => "configure one of that tier",
            Self::KeyUnreadable { .. } => "make key-file a text file that you can read",
            Self::KeyInvalid { .. } => "a key is one line of printable ASCII",
        }
    }
}

/// A key. It is sent to its endpoint and told to nobody else.
#[derive(Clone)]
pub struct Key(Arc<str>);

impl Key {
    /// A key out of a text, blanks around it left out; `None` if there is
    /// nothing else.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Option<Self>, &'static str> {
        match text.trim() {
            "" => Ok(None),
            key if key.contains('\n') => Err("it has several lines"),
            key if !key.bytes().all(|b| b.is_ascii_graphic()) => {
                Err("it has blanks or characters that are not ASCII")
            }
            key => Ok(Some(Self(key.into()))),
        }
    }

    /// The key itself, for the header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// One model that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What operators call it.
    pub name: String,
    /// Where it answers.
    pub endpoint: Endpoint,
    /// What the endpoint calls it.
    pub model: String,
    /// How much it can do, from 1; `None` for the environment's, which is
    /// taken for everything.
    pub tier: Option<u32>,
    /// Where its key is, if it has one of its own.
    pub key_file: Option<PathBuf>,
}

/// Reads the environment.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<OsString>;

/// The process's own environment.
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn variable(env: Environment<'_>, name: &str) -> Option<String> {
    let value = env(name)?.to_string_lossy().trim().to_owned();
    (!value.is_empty()).then_some(value)
}

impl Choice {
    /// The key to send, if there is one: the model's own, else the
    /// environment's.
    ///
    /// # Errors
    /// `model-key-unreadable`, `model-key-invalid`.
    pub fn key(&self, env: Environment<'_>) -> Result<Option<Key>, ConfigError> {
        let (text, from) = match &self.key_file {
            Some(path) => {
                let text =
                    read_text(path, KEY_MAX).map_err(|source| ConfigError::KeyUnreadable {
                        model: self.name.clone(),
                        path: path.clone(),
                        source,
                    })?;
                (text, path.display().to_string())
            }
            None => match variable(env, KEY_ENV) {
                Some(text) => (text, KEY_ENV.to_owned()),
                None => return Ok(None),
            },
        };
        let invalid = |why| ConfigError::KeyInvalid {
            model: self.name.clone(),
            from: from.clone(),
            why,
        };
        let key = Key::parse(&text).map_err(invalid)?;
        if key.is_none() {
            return Err(invalid("it is empty"));
        }
        Ok(key)
    }
}

/// The models of a project: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models(Vec<Choice>);

impl Models {
    /// What is configured for a project; `None` if nothing is, which is no
    /// fault. The environment stands in the place of the file.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn of(project: &Project, env: Environment<'_>) -> Result<Option<Self>, ConfigError> {
        let (url, name) = (variable(env, URL_ENV), variable(env, NAME_ENV));
        if let Some(url) = url {
            let name = name.ok_or_else(|| ConfigError::NameMissing(URL_ENV.to_owned()))?;
            return Ok(Some(Self(vec![Choice {
                endpoint: endpoint(&url, URL_ENV)?,
                model: name.clone(),
                name,
                tier: None,
                key_file: None,
            }])));
        }
        let all = read(project)?;
        let Some(name) = name else {
            return Ok((!all.is_empty()).then_some(Self(all)));
        };
        if all.is_empty() {
            return Err(ConfigError::UrlMissing(name));
        }
        match all.iter().find(|choice| choice.name == name) {
            // Somebody asked for this one, whatever the work.
            Some(choice) => Ok(Some(Self(vec![Choice {
                tier: None,
                ..choice.clone()
            }]))),
            None => Err(ConfigError::Unknown {
                nearest: crate::text::nearest(&name, all.iter().map(|c| c.name.as_str())),
                name,
            }),
        }
    }

    /// The model of the lowest tier that is at least `least`, and as far as
    /// there are such, `raised` tiers above that.
    ///
    /// # Errors
    /// `model-tier-unmet` if none is of tier `least`.
    pub fn for_tier(&self, least: u32, raised: u32) -> Result<&Choice, ConfigError> {
        let need = least.saturating_add(raised);
        let tier = |choice: &&Choice| choice.tier.unwrap_or(u32::MAX);
        let fit = self.0.iter().filter(|c| tier(c) >= need).min_by_key(tier);
        // Of equal ones, the first that is named.
        let highest = || self.0.iter().rev().max_by_key(tier);
        match fit.or_else(highest) {
            Some(choice) if tier(&choice) >= least => Ok(choice),
            other => Err(ConfigError::TierUnmet {
                need: least,
                have: other.as_ref().map_or(0, tier),
            }),
        }
    }
}

fn endpoint(url: &str, of: &str) -> Result<Endpoint, ConfigError> {
    Endpoint::parse(url).map_err(|why| ConfigError::UrlInvalid {
        of: of.to_owned(),
        why,
    })
}

fn read(project: &Project) -> Result<Vec<Choice>, ConfigError> {
    let path = project.path_of(CONFIG_FILE);
    let unreadable = |source| ConfigError::Unreadable {
        path: path.clone(),
        source,
    };
    let disk = CapDisk::new(project.ghyll()).map_err(|e| unreadable(e.into()))?;
    let Some(bytes) = read_below(&disk, CONFIG_FILE, CONFIG_MAX).map_err(unreadable)? else {
        return Ok(Vec::new());
    };
    let source = text(bytes).map_err(unreadable)?;
    let invalid = |line, what| ConfigError::Invalid {
        path: path.clone(),
        line,
        what,
    };
    let file: Table = toml::from_str(&source).map_err(|error| {
        let before = error.span().and_then(|span| source.get(..span.start));
        let line = before.map(|text| text.matches('\n').count() + 1);
        // Its own words would show the line.
        invalid(line, "not as TOML is written".to_owned())
    })?;
    if let Some(other) = file.keys().find(|key| *key != "models") {
        return Err(invalid(None, format!("there is no setting {other:?}")));
    }
    let mut all: Vec<Choice> = Vec::new();
    for (name, fields) in named(file.get("models")).map_err(|what| invalid(None, what))? {
        let choice = choice(&path, project.root(), &name, fields)?;
        if all.iter().any(|other| other.name == choice.name) {
            return Err(invalid(None, format!("two models are named {name:?}")));
        }
        all.push(choice);
    }
    Ok(all)
}

/// The models of a file: `[models.NAME]` each, or `[[models]]` with a `name`.
fn named(models: Option<&Value>) -> Result<Vec<(String, &Table)>, String> {
    let shape = || "models is a table of tables, or an array of them".to_owned();
    match models {
        None => Ok(Vec::new()),
        Some(Value::Table(tables)) => tables
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.as_table().ok_or_else(shape)?)))
            .collect(),
        Some(Value::Array(tables)) => tables
            .iter()
            .map(|value| {
                let table = value.as_table().ok_or_else(shape)?;
                let name = table.get("name").and_then(Value::as_str);
                let name = name.ok_or("a model has no name")?;
                Ok((name.to_owned(), table))
            })
            .collect(),
        Some(_) => Err(shape()),
    }
}

fn choice(path: &Path, root: &Path, name: &str, fields: &Table) -> Result<Choice, ConfigError> {
    let invalid = |what| ConfigError::Invalid {
        path: path.to_owned(),
        line: None,
        what,
    };
    if let Some(field) = fields.keys().find(|field| is_secret(field)) {
        return Err(ConfigError::KeyInConfig {
            path: path.to_owned(),
            model: name.to_owned(),
            field: field.clone(),
        });
    }
    let wrong = |field: &str, what: &str| invalid(format!("{field} of the model {name:?} {what}"));
    if let Some(field) = fields.keys().find(|f| !FIELDS.contains(&f.as_str())) {
        return Err(wrong(&format!("{field:?}"), "is no setting"));
    }
    let string = |field: &str| match fields.get(field) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.as_str())),
        Some(_) => Err(wrong(field, "is no text")),
    };
    if string("name")?.is_some_and(|said| said != name) {
        return Err(wrong("name", "is not that of its table"));
    }
    let url = string("url")?.ok_or_else(|| ConfigError::UrlMissing(name.to_owned()))?;
    let tier = match fields.get("tier") {
        None => 1,
        Some(Value::Integer(n)) => u32::try_from(*n)
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| wrong("tier", "is not 1 or more"))?,
        Some(_) => return Err(wrong("tier", "is no number")),
    };
    Ok(Choice {
        name: name.to_owned(),
        endpoint: endpoint(url, &format!("the model {name:?}"))?,
        model: string("model")?
            .ok_or_else(|| ConfigError::NameMissing(format!("the model {name:?}")))?
            .to_owned(),
        tier: Some(tier),
        key_file: string("key-file")?.map(|file| located(root, file)),
    })
}

/// Whether a setting of this name would hold a key.
fn is_secret(field: &str) -> bool {
    let field = field.to_lowercase().replace(['_', '-'], "");
    field != "keyfile"
        && [
            "key",
            "token",
            "secret",
            "password",
            "authorization",
            "bearer",
        ]
        .iter()
        .any(|word| field.contains(word))
}

/// Where a file is: `~/` is the home directory, and what is not absolute is
/// below the project's root.
fn located(root: &Path, file: &str) -> PathBuf {
    match (file.strip_prefix("~/"), std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        _ => root.join(file),
    }
}

#[cfg(test)]
mod tests;

use super::*;

const NOTHING: Environment<'static> = &|_| None;

fn project(config: Option<&str>) -> (tempfile::TempDir, Project) {
    let dir = tempfile::tempdir().unwrap();
    let project = Project::create(dir.path()).unwrap();
    if let Some(config) = config {
        std::fs::write(project.path_of(CONFIG_FILE), config).unwrap();
    }
    (dir, project)
}

fn models(config: &str) -> Result<Models, ConfigError> {
    let (_dir, project) = project(Some(config));
    Models::of(&project, NOTHING).map(|models| models.expect("some"))
}

fn env(of: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
    move |name| {
        let found = of.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.into())
    }
}

const TWO: &str = "
[models.small]
url = \"http://127.0.0.1:1/v1\"
model = \"s\"
[models.large]
url = \"https://models.example/api/v1/\"
model = \"l\"
tier = 3
";

#[test]
fn nothing_configured_is_no_fault() {
    for config in [None, Some(""), Some("# models to come\n")] {
        assert_eq!(Models::of(&project(config).1, NOTHING).unwrap(), None);
    }
}

#[test]
fn tables_and_an_array_say_the_same() {
    let array = "[[models]]\nname = \"a\"\nurl = \"http://h/v1\"\nmodel = \"m\"\ntier = 2\n";
    let table = "[models.a]\nurl = \"http://h/v1\"\nmodel = \"m\"\ntier = 2\n";
    assert_eq!(models(array).unwrap(), models(table).unwrap());
    assert!(models(&array.repeat(2)).is_err());
}

#[test]
fn the_lowest_tier_that_will_do_is_taken_and_routes_raise_it() {
    let models = models(TWO).unwrap();
    let name = |least, raised| models.for_tier(least, raised).unwrap().name.clone();
    assert_eq!(name(1, 0), "small");
    assert_eq!(name(1, 1), "large");
    assert_eq!(name(3, 0), "large");
    assert_eq!(name(2, 9), "large", "raised as far as there are models");
    let error = models.for_tier(4, 0).unwrap_err();
    assert_eq!(error.code(), "model-tier-unmet");
}

#[test]
fn the_environment_stands_in_the_place_of_the_file() {
    let (_dir, project) = project(Some(TWO));
    let of = |env: Environment<'_>| Models::of(&project, env);
    let both = env(&[(URL_ENV, "http://h:2/v1"), (NAME_ENV, "m")]);
    let choice = of(&both).unwrap().unwrap();
    let choice = choice.for_tier(7, 0).unwrap();
    assert_eq!((choice.model.as_str(), choice.endpoint.port()), ("m", 2));
    let named = of(&env(&[(NAME_ENV, "small")])).unwrap().unwrap();
    assert_eq!(named.for_tier(7, 0).unwrap().model, "s");
    let unknown = of(&env(&[(NAME_ENV, "smal")])).unwrap_err();
    assert_eq!(unknown.code(), "model-unknown");
    assert!(unknown.to_string().contains("did you mean \"small\""));
    let nameless = of(&env(&[(URL_ENV, "http://h/v1")])).unwrap_err();
    assert_eq!(nameless.code(), "model-name-missing");
    std::fs::remove_file(project.path_of(CONFIG_FILE)).unwrap();
    let nowhere = of(&env(&[(NAME_ENV, "small")])).unwrap_err();
    assert_eq!(nowhere.code(), "model-url-missing");
}

#[test]
fn what_cannot_be_meant_is_refused_and_not_repeated() {
    let with = |line: &str| {
        models(&format!(
            "[models.a]\nmodel = \"m\"\nurl = \"http://h/v1\"\n{line}"
        ))
        .unwrap_err()
    };
    for (line, code) in [
        ("api-key = \"s3cret-s3cret\"", "model-key-in-config"),
        ("api_key = \"s3cret-s3cret\"", "model-key-in-config"),
        ("token = \"s3cret-s3cret\"", "model-key-in-config"),
        ("key = \"s3cret-s3cret\"", "model-key-in-config"),
        ("headers = \"s3cret-s3cret\"", "config-invalid"),
        ("tier = 0", "config-invalid"),
        ("tier = \"s3cret-s3cret\"", "config-invalid"),
        ("key-file = 3", "config-invalid"),
        ("key-file = s3cret-s3cret", "config-invalid"),
    ] {
        let error = with(line);
        assert_eq!(error.code(), code, "{line}");
        let said = format!("{error} {error:?}");
        assert!(!said.contains("s3cret-s3cret"), "{said}");
    }
    let line = with("key-file = s3cret-s3cret").to_string();
    assert!(line.contains("config.toml:4"), "{line}");
    for (url, why) in [
        ("http://h", "/v1"),
        ("http://h/v2", "/v1"),
        ("ftp://h/v1", "http"),
        ("h/v1", "url"),
        ("http://u:s3cret@h/v1", "password"),
        ("http://h/v1?key=s3cret", "query"),
        ("", "no text"),
    ] {
        let error = models(&format!("[models.a]\nmodel = \"m\"\nurl = {url:?}\n")).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains(why) && !said.contains("s3cret"),
            "{url}: {said}"
        );
    }
    let error = models("[models.a]\nmodel = \"m\"\n").unwrap_err();
    assert_eq!(error.code(), "model-url-missing");
    let error = models("[desk]\n").unwrap_err();
    assert_eq!(error.code(), "config-invalid");
}

#[test]
fn a_key_is_its_models_own_else_the_environments() {
    let (dir, project) = project(Some(
        "[models.a]\nmodel = \"m\"\nurl = \"http://h/v1\"\nkey-file = \"../key\"\n\
         [models.b]\nmodel = \"m\"\nurl = \"http://h/v1\"\ntier = 2\n",
    ));
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(elsewhere.path(), "own-own-own\n").unwrap();
    let models = Models::of(&project, NOTHING).unwrap().unwrap();
    let env = env(&[(KEY_ENV, "environments")]);
    let key = |choice: &Choice| {
        let key = choice.key(&env).map_err(|e| e.code())?;
        Ok(key.map(|key| key.expose().to_owned()))
    };
    let (mut a, b) = (models.0[0].clone(), &models.0[1]);
    assert_eq!(a.key_file, Some(project.root().join("../key")));
    assert_eq!(key(b), Ok(Some("environments".to_owned())));
    assert!(b.key(NOTHING).unwrap().is_none());
    a.key_file = Some(elsewhere.path().to_owned());
    assert_eq!(key(&a), Ok(Some("own-own-own".to_owned())));
    std::fs::write(elsewhere.path(), "-----BEGIN\nsomething else\n").unwrap();
    assert_eq!(key(&a), Err("model-key-invalid"));
    std::fs::write(elsewhere.path(), "\n").unwrap();
    assert_eq!(key(&a), Err("model-key-invalid"));
    a.key_file = Some(dir.path().to_owned());
    assert_eq!(key(&a), Err("model-key-unreadable"));
}

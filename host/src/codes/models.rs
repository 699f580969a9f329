//! Models and chats.

use super::pages;

pages! {
    CONFIG_UNREADABLE = "config-unreadable": "`.ghyll/config.toml` cannot be read.",
        "Look at its permissions; without models in it the file may be removed.";
    CONFIG_INVALID = "config-invalid": "`.ghyll/config.toml` says what it cannot mean.",
        "Look at the line named.";
    MODEL_KEY_IN_CONFIG = "model-key-in-config": "A key stands in the configuration, which is shared with the project.",
        "Take it out and change it; give it as GHYLL_MODEL_API_KEY or in a file of its own.";
    MODEL_KEY_UNREADABLE = "model-key-unreadable": "The file that holds the model's key cannot be read.",
        "Look at the path and its permissions.";
    MODEL_KEY_INVALID = "model-key-invalid": "What stands for the model's key is none.",
        "Write the key alone, on one line.";
    MODEL_URL_MISSING = "model-url-missing": "A model has no url.",
        "Give it one that ends in /v1.";
    MODEL_URL_INVALID = "model-url-invalid": "A model's url cannot be used.",
        "Write it as https://host/v1; the message says what is wrong.";
    MODEL_NAME_MISSING = "model-name-missing": "A url is given, and no model is named for it.",
        "Set GHYLL_MODEL_NAME, or `model` in the configuration.";
    MODEL_UNKNOWN = "model-unknown": "No model of this name is configured.",
        "Look at `[models]` in `.ghyll/config.toml`.";
    MODEL_TIER_UNMET = "model-tier-unmet": "The work asks for a higher tier than any model has.",
        "Configure a model of that tier, or lower `min-tier` in the next grid.";
    MODEL_UNREACHABLE = "model-unreachable": "Nothing answers at the model's url.",
        "Look whether the endpoint runs, and at the url.";
    MODEL_CERTIFICATE_REFUSED = "model-certificate-refused": "The endpoint's certificate is not accepted.",
        "Look at the url and the machine's clock and certificates.";
    MODEL_TIMEOUT = "model-timeout": "The model did not answer in time.",
        "Try again; nothing was recorded or lost.";
    MODEL_UNAUTHORISED = "model-unauthorised": "The endpoint does not accept the key.",
        "Look at GHYLL_MODEL_API_KEY or the key's file.";
    MODEL_REDIRECTED = "model-redirected": "The endpoint points elsewhere, where a key is not sent.",
        "Configure the url it points to, if that is meant.";
    MODEL_REFUSED = "model-refused": "The model refused the request.",
        "The message says what it said.";
    MODEL_UNAVAILABLE = "model-unavailable": "The model is not available just now.",
        "Try again later; nothing was recorded or lost.";
    MODEL_REPLY_MALFORMED = "model-reply-malformed": "What the endpoint sent is no reply of a model.",
        "Look whether the url is that of an OpenAI-compatible /v1.";
    MODEL_REPLY_TOO_LONG = "model-reply-too-long": "The model's reply is longer than is read.",
        "Ask for less at once.";
    MODEL_REPLY_CUT_OFF = "model-reply-cut-off": "The connection ended in the middle of the reply.",
        "Say it again; nothing was recorded or lost.";
    MODEL_CANCELLED = "model-cancelled": "The reply was called off.",
        "Nothing: say it again if it was not meant.";
    MODEL_CALL_FAILED = "model-call-failed": "The call to the model failed.",
        "The message says why.";
    CHAT_UNREADABLE = "chat-unreadable": "The chat to go on with cannot be read.",
        "Look at the file named, or begin a new one without --resume.";
    CHAT_WRITE_FAILED = "chat-write-failed": "The chat could not be written; this turn is not kept.",
        "Make room or mend the permissions below .ghyll/chats.";
}

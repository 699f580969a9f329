// Shared by the build script, which compiles the component, and the host,
// which runs it: wasmtime refuses code compiled under another configuration.

/// How the policy component is compiled and run: its calls can be interrupted
/// by an epoch, so that none outlives its deadline.
pub(crate) fn engine_config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    config.wasm_component_model(true);
    config
}

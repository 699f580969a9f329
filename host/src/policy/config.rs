// Shared by the build script, which compiles the component, and the host,
// which runs it: wasmtime refuses code compiled under another configuration.

/// Linear memory the component may use, in bytes; the contract states it.
pub(crate) const MEMORY_LIMIT: usize = 128 << 20;

/// How the policy component is compiled and run: its calls can be interrupted
/// by an epoch, so that none outlives its deadline, and an instance reserves
/// the addresses it may use and no more, so that it runs where a process may
/// have only a few hundred mebibytes of them.
pub(crate) fn engine_config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config.epoch_interruption(true);
    config.wasm_component_model(true);
    config.memory_reservation(MEMORY_LIMIT as u64);
    config.memory_reservation_for_growth(0);
    config.memory_guard_size(1 << 16);
    config.memory_may_move(false);
    config
}

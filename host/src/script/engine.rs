//! The language scripts are written in: Rhai, less everything that reaches out.
//!
//! Built up from nothing, so that what a newer Rhai adds does not come in by
//! itself. Of the core package nothing is taken: it can sleep and exit.

use std::sync::Arc;

use rhai::packages::{
    ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicIteratorPackage, BasicMapPackage,
    BasicMathPackage, BasicStringPackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::{Engine, LexError, OptimizationLevel, Token};

use super::guard::Guard;
use super::{bounded, fault};

/// An engine that can compute, within the limits of `guard`, and log.
pub(super) fn sandbox(guard: &Arc<Guard>, log: &Arc<dyn Fn(&str) + Send + Sync>) -> Engine {
    let mut engine = Engine::new_raw();
    ArithmeticPackage::new().register_into_engine(&mut engine);
    LogicPackage::new().register_into_engine(&mut engine);
    BasicMathPackage::new().register_into_engine(&mut engine);
    BasicStringPackage::new().register_into_engine(&mut engine);
    MoreStringPackage::new().register_into_engine(&mut engine);
    BasicIteratorPackage::new().register_into_engine(&mut engine);
    BasicFnPackage::new().register_into_engine(&mut engine);
    BasicArrayPackage::new().register_into_engine(&mut engine);
    BasicMapPackage::new().register_into_engine(&mut engine);
    // `curry` makes values that no limit of Rhai's counts.
    for word in ["eval", "import", "export", "curry"] {
        engine.disable_symbol(word);
    }
    engine.set_optimization_level(OptimizationLevel::None);
    // A name that is not there is found before anything runs.
    engine.set_strict_variables(true);
    limit(&mut engine, guard);
    fault::register(&mut engine);
    bounded::register(&mut engine, guard);
    let (printed, debugged) = (Arc::clone(log), Arc::clone(log));
    engine.on_print(move |text| printed(text));
    engine.on_debug(move |text, _, _| debugged(text));
    engine
}

fn limit(engine: &mut Engine, guard: &Arc<Guard>) {
    let limits = guard.limits;
    engine
        .set_max_call_levels(limits.calls)
        .set_max_expr_depths(limits.expressions, limits.expressions)
        .set_max_variables(limits.variables)
        .set_max_functions(1000)
        .set_max_modules(0)
        .set_max_string_size(limits.string)
        .set_max_array_size(limits.array)
        .set_max_map_size(limits.map);
    let watch = Arc::clone(guard);
    engine.on_progress(move |_| watch.step().map(|why| why.to_owned().into()));
    let watch = Arc::clone(guard);
    #[allow(deprecated)] // it is not: Rhai marks what may still change this way
    engine.on_var(move |name, _, context| watch.used(name, &context).map(|()| None));
    // Reading a script takes time and memory too.
    let watch = Arc::clone(guard);
    #[allow(deprecated)]
    engine.on_parse_token(move |token, _, _| match watch.look() {
        None => token,
        Some(why) => Token::LexError(LexError::Runtime(why.to_owned()).into()),
    });
}

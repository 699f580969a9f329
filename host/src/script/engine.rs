//! The language scripts are written in: Rhai, less everything that reaches out.
//!
//! Built up from nothing, so that what a newer Rhai adds does not come in by
//! itself. Of the core package nothing is taken: it can sleep and exit.

use std::sync::Arc;

use rhai::packages::{
    ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicIteratorPackage, BasicMapPackage,
    BasicMathPackage, BasicStringPackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::{
    Dynamic, Engine, EvalAltResult, ImmutableString, NativeCallContext, OptimizationLevel, Position,
};

use super::fault;
use super::guard::Guard;

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
    for word in ["eval", "import", "export"] {
        engine.disable_symbol(word);
    }
    engine.set_optimization_level(OptimizationLevel::None);
    // A name that is not there is found before anything runs.
    engine.set_strict_variables(true);
    limit(&mut engine, guard);
    fault::register(&mut engine);
    engine.register_fn(
        "parse_json",
        |context: NativeCallContext<'_>, text: &str| {
            context.engine().parse_json(text, true).map(Dynamic::from)
        },
    );
    engine.register_fn("replace", replace);
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
    engine.on_progress(move |_| watch.step().map(Dynamic::from));
    let scales = Arc::clone(guard);
    #[allow(deprecated)] // it is not: Rhai marks what may still change this way
    engine.on_var(move |_, _, context| match scales.weigh(&context) {
        None => Ok(None),
        Some(why) => Err(EvalAltResult::ErrorTerminated(why.into(), Position::NONE).into()),
    });
}

/// `replace` of the package makes the text first and looks at its length
/// afterwards, which a script could use to take all memory there is.
fn replace(
    context: NativeCallContext<'_>,
    text: &mut ImmutableString,
    find: &str,
    with: &str,
) -> Result<(), Box<EvalAltResult>> {
    let times = text.matches(find).count();
    let length = text.len().saturating_add(times.saturating_mul(with.len()));
    if length > context.engine().max_string_size() {
        let what = "Length of string".to_owned();
        return Err(EvalAltResult::ErrorDataTooLarge(what, Position::NONE).into());
    }
    *text = text.replace(find, with).into();
    Ok(())
}

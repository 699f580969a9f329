//! Steps, for tests that have others act between any two of them.
//!
//! Whatever another process could come between says here that it is about to
//! happen: a call to the disk, a transaction, taking the lock and letting it go.
//! A release build has nothing of it.

/// Something is about to be done.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn step() {}

#[cfg(debug_assertions)]
pub use stepping::{each_step, step};

#[cfg(debug_assertions)]
mod stepping {
    use std::cell::RefCell;

    type Hook = Box<dyn FnMut()>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Something is about to be done.
    pub fn step() {
        // Taken out meanwhile, for what it does has steps of its own.
        let hook = HOOK.try_with(|slot| slot.try_borrow_mut().ok()?.take());
        if let Ok(Some(mut hook)) = hook {
            hook();
            let _ = HOOK.try_with(|slot| slot.replace(Some(hook)));
        }
    }

    /// Has `hook` called before each step of this thread, while `act` runs.
    pub fn each_step<T>(hook: impl FnMut() + 'static, act: impl FnOnce() -> T) -> T {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                HOOK.with(|slot| slot.take());
            }
        }
        let _off = Off;
        HOOK.with(|slot| slot.replace(Some(Box::new(hook))));
        act()
    }
}

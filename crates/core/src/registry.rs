//! `registry!`: a room's visible list, one line an entry.
//!
//! Adding a mechanism, receiver, probe or finding is its file and its line in such a list.

/// Declares the modules of a list and the list itself: `pub` before an entry makes its module public.
///
/// ```text
/// syscost_core::registry! {
///     /// Every mechanism, in the order of reports.
///     pub static ALL: dyn Mechanism = [
///         send::SEND,
///         pub sendfile::SendFile,
///     ];
/// }
/// ```
///
/// `cargo fmt` does not see modules that a macro declares, so `.ci/run` also checks every file by name:
/// `git ls-files '*.rs' | xargs rustfmt --check --edition 2024`.
#[macro_export]
macro_rules! registry {
    (
        $(#[$about:meta])*
        $vis:vis static $list:ident: dyn $kind:path = [
            $($entry_vis:vis $module:ident::$entry:ident),+ $(,)?
        ];
    ) => {
        $($entry_vis mod $module;)+

        $(#[$about])*
        $vis static $list: &[&dyn $kind] = &[$(&$module::$entry),+];
    };
}

//! Imports of each file, read from the compiler's tokens: comments, strings and aliases cannot mislead it. What only
//! tests import does not count. A path counts for the file that declares its item, also where a list hands it on.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::str::FromStr;

type Path = Vec<String>;

/// A file of a crate: what it declares, what it hands on under which name, and the paths that its code names.
#[derive(Default)]
struct Module {
    /// It has files of its own below it: these are its list, not its imports.
    lists: bool,
    declared: BTreeSet<String>,
    handed_on: Vec<(String, Path)>,
    named: Vec<Path>,
}

/// The modules of a crate by their paths (`["cells", "seen"]`).
pub struct Modules(BTreeMap<Path, Module>);

impl Modules {
    /// Of files by their path below `src/`, each with its text.
    pub fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Modules {
        let mut modules: BTreeMap<Path, Module> = files.map(|(path, text)| read(path, text)).collect();
        let parents: BTreeSet<Path> =
            modules.keys().filter_map(|path| Some(path.split_last()?.1.to_vec())).collect();
        for (path, module) in &mut modules {
            module.lists = parents.contains(path);
        }
        Modules(modules)
    }

    /// The file that a path leads to. What no file declares ends at the deepest module of the path.
    fn resolve(&self, path: &[String], patience: usize) -> Path {
        let mut at: Path = Vec::new();
        for (place, name) in path.iter().enumerate() {
            at.push(name.clone());
            if self.0.contains_key(&at) {
                continue;
            }
            at.pop();
            let Some(list) = self.0.get(&at) else { break };
            if patience == 0 || list.declared.contains(name) {
                break;
            }
            let leads = |(as_name, to): &&(String, Path)| {
                as_name == name || (as_name == "*" && self.declares(&self.resolve(to, patience - 1), name))
            };
            let Some((as_name, to)) = list.handed_on.iter().find(leads) else { break };
            let mut onward = to.clone();
            onward.extend((as_name == "*").then(|| name.clone()));
            onward.extend_from_slice(&path[place + 1..]);
            return self.resolve(&onward, patience - 1);
        }
        at
    }

    fn declares(&self, module: &[String], name: &str) -> bool {
        let mut child = module.to_vec();
        child.push(name.to_string());
        self.0.contains_key(&child) || self.0.get(module).is_some_and(|module| module.declared.contains(name))
    }

    /// The modules that one imports; a list's own entries do not count.
    pub fn imports(&self, module: &[String]) -> BTreeSet<Path> {
        let Module { lists, named, .. } = &self.0[module];
        let other =
            |to: &Path| to != module && !(*lists && to.starts_with(module)) && self.0.contains_key(to);
        named.iter().map(|path| self.resolve(path, 8)).filter(other).collect()
    }

    /// Files that import themselves by others: of each such circle the files in the order of their imports.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let mut circles: Vec<Vec<String>> = Vec::new();
        for start in self.0.keys() {
            let name = start.join("::");
            if !circles.iter().any(|circle| circle.contains(&name)) {
                circles.extend(self.back_to(start));
            }
        }
        circles
    }

    /// The shortest way of imports from a file back to it.
    fn back_to(&self, start: &Path) -> Option<Vec<String>> {
        let mut ways = VecDeque::from([(start.clone(), vec![start.join("::")])]);
        let mut seen = BTreeSet::new();
        while let Some((module, names)) = ways.pop_front() {
            for next in self.imports(&module) {
                let names: Vec<String> = names.iter().cloned().chain([next.join("::")]).collect();
                if next == *start {
                    return Some(names);
                }
                if seen.insert(next.clone()) {
                    ways.push_back((next, names));
                }
            }
        }
        None
    }

    /// Imports of a module that stands below the importing one in the crate's list, as `a imports b`.
    pub fn upward(&self, list: &[&str]) -> Vec<String> {
        let place =
            |path: &Path| list.iter().position(|name| path.first().is_some_and(|first| first == name));
        let arrows = |module: &Path| {
            let own = place(module);
            let below = self.imports(module).into_iter().filter(move |to| own.is_some() && place(to) > own);
            below.map(|to| format!("{} imports {}", module.join("::"), to.join("::"))).collect::<Vec<_>>()
        };
        self.0.keys().flat_map(arrows).collect()
    }
}

fn read(path: &str, text: &str) -> (Path, Module) {
    let mut names: Path = path.trim_end_matches(".rs").split('/').map(str::to_string).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    let tokens = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut module = Module::default();
    walk(&mut module, &names, &tokens.into_iter().collect::<Vec<_>>(), true);
    (names, module)
}

/// Everything that a stretch of tokens names, without items that are for tests alone. `here` is the module that it
/// stands in, also one within the file; `outer` says whether items there are items of the file.
fn walk(module: &mut Module, here: &[String], tokens: &[TokenTree], outer: bool) {
    let mut at = 0;
    while at < tokens.len() {
        if for_tests(&tokens[at..]) {
            at += 2;
            while !ends_item(tokens.get(at)) {
                at += 1;
            }
        } else if let TokenTree::Group(group) = &tokens[at] {
            walk(module, here, &group.stream().into_iter().collect::<Vec<_>>(), false);
        } else if let Some(word) = ident(tokens.get(at)) {
            let next = ident(tokens.get(at + 1));
            match (word.as_str(), next) {
                ("use", _) => {
                    let public = at > 0 && is_public(&tokens[..at]);
                    let end =
                        (at..tokens.len()).find(|at| is_punct(&tokens[*at], ';')).unwrap_or(tokens.len());
                    for (name, path) in tree(here, &tokens[at + 1..end]) {
                        module.handed_on.extend(public.then(|| (name, path.clone())));
                        module.named.push(path);
                    }
                    at = end;
                }
                ("mod", Some(name)) => {
                    if let Some(TokenTree::Group(inside)) = tokens.get(at + 2) {
                        let inner: Path = here.iter().cloned().chain([name]).collect();
                        walk(module, &inner, &inside.stream().into_iter().collect::<Vec<_>>(), false);
                        at += 2;
                    } else {
                        at += 1;
                    }
                }
                (kind, Some(name)) if outer && DECLARES.contains(&kind) => {
                    module.declared.insert(name);
                    at += 1;
                }
                _ if colons(tokens, at + 1) => {
                    let (path, end) = path_of(here, tokens, at);
                    module.named.extend(path);
                    at = end;
                }
                _ => {}
            }
        }
        at += 1;
    }
}

const DECLARES: [&str; 9] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static", "macro"];

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn colons(tokens: &[TokenTree], at: usize) -> bool {
    tokens.get(at..at + 2).is_some_and(|two| two.iter().all(|token| is_punct(token, ':')))
}

/// Does an attribute begin here that leaves the next item to tests: `#[test]`, `#[cfg(test)]`, `#[cfg(any(test, ..))]`?
fn for_tests(tokens: &[TokenTree]) -> bool {
    let [sign, TokenTree::Group(group), ..] = tokens else { return false };
    let attribute = group.stream().to_string().replace(' ', "");
    is_punct(sign, '#')
        && ["test", "cfg(test)", "cfg(any(test,"]
            .iter()
            .any(|mark| attribute == *mark || (mark.ends_with(',') && attribute.starts_with(mark)))
}

fn ends_item(token: Option<&TokenTree>) -> bool {
    match token {
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        Some(token) => is_punct(token, ';'),
        None => true,
    }
}

/// Do the tokens end with `pub` or `pub(..)`?
fn is_public(before: &[TokenTree]) -> bool {
    let word = match before {
        [.., word, TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => Some(word),
        [.., word] => Some(word),
        [] => None,
    };
    ident(word).is_some_and(|word| word == "pub")
}

/// A first word of a path, as the module that it means; other crates' names mean none of ours.
fn begin(here: &[String], word: &str) -> Path {
    match word {
        "crate" => Vec::new(),
        "self" => here.to_vec(),
        "super" => here[..here.len().saturating_sub(1)].to_vec(),
        child => here.iter().cloned().chain([child.to_string()]).collect(),
    }
}

fn step(path: &mut Path, word: String) {
    match word.as_str() {
        "super" => drop(path.pop()),
        "self" => {}
        _ => path.push(word),
    }
}

/// A path within code, and where its last word stands. `Type::NAME` of another crate is told by no module.
fn path_of(here: &[String], tokens: &[TokenTree], start: usize) -> (Option<Path>, usize) {
    let mut at = start;
    let mut path = begin(here, &ident(tokens.get(at)).expect("a word"));
    while colons(tokens, at + 1) {
        let Some(word) = ident(tokens.get(at + 3)) else { break };
        step(&mut path, word);
        at += 3;
    }
    (Some(path), at)
}

/// The leaves of a tree of `use`: the name that each has here, and its path.
fn tree(base: &[String], tokens: &[TokenTree]) -> Vec<(String, Path)> {
    let mut leaves = Vec::new();
    for branch in tokens.split(|token| is_punct(token, ',')) {
        let Some(first) = ident(branch.first()) else {
            continue;
        };
        leaf(begin(base, &first), branch, 0, &mut leaves);
    }
    leaves
}

fn leaf(mut path: Path, branch: &[TokenTree], mut at: usize, leaves: &mut Vec<(String, Path)>) {
    while colons(branch, at + 1) {
        match branch.get(at + 3) {
            Some(TokenTree::Ident(word)) => step(&mut path, word.to_string()),
            Some(TokenTree::Group(group)) => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                for branch in inside.split(|token| is_punct(token, ',')) {
                    let Some(first) = ident(branch.first()) else {
                        continue;
                    };
                    let mut path = path.clone();
                    step(&mut path, first);
                    leaf(path, branch, 0, leaves);
                }
                return;
            }
            _ => {
                leaves.push(("*".to_string(), path));
                return;
            }
        }
        at += 3;
    }
    let own = path.last().cloned().unwrap_or_default();
    let name = match ident(branch.get(at + 1)).as_deref() {
        Some("as") => ident(branch.get(at + 2)).unwrap_or(own),
        _ => own,
    };
    leaves.push((name, path));
}

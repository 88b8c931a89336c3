//! Answers about texts, remembered: each cell is looked at for every layout that a table may have.

use std::cell::RefCell;
use std::collections::HashMap;

/// More texts than any table of results repeats.
const MOST: usize = 4096;

pub struct Memo<T>(RefCell<HashMap<String, T>>);

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo(RefCell::default())
    }
}

impl<T: Clone> Memo<T> {
    pub fn of(&self, text: &str, answer: impl FnOnce(&str) -> T) -> T {
        if let Some(known) = self.0.borrow().get(text) {
            return known.clone();
        }
        let answer = answer(text);
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(text.into(), answer.clone());
        answer
    }
}

//! A formula over named numbers, worked out: what a prediction says and what it computes is one text.

/// The value of `text`: numbers, names, `+ - * /`, parentheses, and `max(a, b)`. `None`: a name is unknown.
pub fn value(text: &str, named: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut formula = Formula { rest: text, named };
    let value = formula.sum();
    debug_assert!(formula.rest.trim().is_empty(), "not a formula: {text}");
    value
}

struct Formula<'a, N> {
    rest: &'a str,
    named: N,
}

impl<N: Fn(&str) -> Option<f64>> Formula<'_, N> {
    /// Takes this sign where it comes next.
    fn takes(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start();
        let taken = rest.strip_prefix(sign);
        self.rest = taken.unwrap_or(rest);
        taken.is_some()
    }

    fn sum(&mut self) -> Option<f64> {
        let mut sum = self.product();
        loop {
            if self.takes('+') {
                sum = sum.zip(self.product()).map(|(a, b)| a + b);
            } else if self.takes('-') {
                sum = sum.zip(self.product()).map(|(a, b)| a - b);
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut product = self.factor();
        loop {
            if self.takes('*') {
                product = product.zip(self.factor()).map(|(a, b)| a * b);
            } else if self.takes('/') {
                product = product.zip(self.factor()).map(|(a, b)| a / b);
            } else {
                return product;
            }
        }
    }

    fn factor(&mut self) -> Option<f64> {
        if self.takes('(') {
            let inner = self.sum();
            self.takes(')');
            return inner;
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if word == "max" && self.takes('(') {
            let first = self.sum();
            self.takes(',');
            let second = self.sum();
            self.takes(')');
            return first.zip(second).map(|(a, b)| a.max(b));
        }
        word.parse().ok().or_else(|| (self.named)(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_worked_out_by_the_usual_rules() {
        let of = |text: &str| {
            value(text, |name| match name {
                "a" => Some(2.0),
                "b_1" => Some(10.0),
                _ => None,
            })
        };
        assert_eq!(of("a + b_1 * 3 - 1"), Some(31.0));
        assert_eq!(of("3/2 * (a + b_1) / 2 / 3"), Some(3.0));
        assert_eq!(of("a * max(0, a - b_1) + max(a, b_1)"), Some(10.0));
        assert_eq!(of("b_1 - a - a"), Some(6.0));
        assert_eq!(of("a + unknown"), None);
    }
}

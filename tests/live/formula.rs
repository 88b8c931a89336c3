//! A reader of the formulas that predictions state: names, numbers, + - * / and parentheses.

/// The value of a formula; an error names what cannot be read or is not known.
pub fn evaluate(formula: &str, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
    let mut reader = Reader { tokens: tokens(formula), at: 0, value };
    let result = reader.sum()?;
    match reader.tokens.get(reader.at) {
        None => Ok(result),
        Some(rest) => Err(format!("{rest:?} is left over in {formula:?}")),
    }
}

/// The names in a formula.
pub fn names(formula: &str) -> Vec<String> {
    let is_name = |token: &String| token.starts_with(|c: char| c.is_alphabetic());
    tokens(formula).into_iter().filter(is_name).collect()
}

fn tokens(formula: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut open = false;
    for c in formula.chars() {
        let belongs = c.is_alphanumeric() || c == '_' || c == '.';
        match tokens.last_mut() {
            Some(last) if belongs && open => last.push(c),
            _ if !c.is_whitespace() => tokens.push(c.into()),
            _ => {}
        }
        open = belongs;
    }
    tokens
}

struct Reader<'a> {
    tokens: Vec<String>,
    at: usize,
    value: &'a dyn Fn(&str) -> Option<f64>,
}

impl Reader<'_> {
    fn next_if(&mut self, wanted: &str) -> bool {
        let is = self.tokens.get(self.at).is_some_and(|token| token == wanted);
        self.at += usize::from(is);
        is
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut sum = self.product()?;
        loop {
            if self.next_if("+") {
                sum += self.product()?;
            } else if self.next_if("-") {
                sum -= self.product()?;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut product = self.factor()?;
        loop {
            if self.next_if("*") {
                product *= self.factor()?;
            } else if self.next_if("/") {
                product /= self.factor()?;
            } else {
                return Ok(product);
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        if self.next_if("(") {
            let inner = self.sum()?;
            return if self.next_if(")") { Ok(inner) } else { Err("a parenthesis is open".into()) };
        }
        let token = self.tokens.get(self.at).cloned().ok_or("the formula ends too early")?;
        self.at += 1;
        if let Ok(number) = token.parse() {
            return Ok(number);
        }
        (self.value)(&token).ok_or_else(|| format!("{token} is no input"))
    }
}

#[test]
fn a_formula_is_read_as_written() {
    let value = |name: &str| (name == "a_b").then_some(5.0);
    assert_eq!(evaluate("2 + 3 * a_b / (4 - 1.5)", &value), Ok(8.0));
    assert!(evaluate("a_b +", &value).is_err() && evaluate("(a_b", &value).is_err());
    assert_eq!(evaluate("c", &value), Err("c is no input".into()));
    assert_eq!(names("2 * a_b + c"), ["a_b", "c"]);
}

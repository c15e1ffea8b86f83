#[allow(unused)]
fn like_for_tests<A: PartialEq<B>, B>(_actual: impl FnOnce() -> A, expected: B) -> B { expected }
struct MadeForTests<T>(std::marker::PhantomData<T>);
trait NotMadeForTests<T> { fn made(&self) -> T { unimplemented!() } }
impl<T> NotMadeForTests<T> for MadeForTests<T> {}
impl<T: Default> MadeForTests<T> { fn made(&self) -> T { T::default() } }
fn shown_for_tests(value: &dyn std::fmt::Debug) -> String {
    // The two zeros are equal.
    let plain = |part: &String| match part.trim() {
        "-0.0" => "0.0".to_string(),
        part => part.to_string(),
    };
    let mut open = vec![(' ', vec![String::new()])];
    let text = format!("{:?}", value);
    let (mut quote, mut escaped) = (None, false);
    for c in text.chars() {
        let depth = open.len();
        let parts = &mut open[depth - 1].1;
        if quote.is_none() && c == ',' {
            parts.push(String::new());
        } else if quote.is_none() && "{[(".contains(c) {
            open.push((c, vec![String::new()]));
        } else if quote.is_none() && "}])".contains(c) && depth > 1 {
            let (opening, mut parts) = open.pop().unwrap();
            if opening == '{' {
                parts.sort_by_key(|part| part.trim().to_string());
            }
            let parts: Vec<String> = parts.iter().map(plain).collect();
            let whole = format!("{}{}{}", opening, parts.join(", "), c);
            open[depth - 2].1.last_mut().unwrap().push_str(&whole);
        } else {
            if quote == Some(c) && !escaped {
                quote = None;
            } else if quote.is_none() && (c == '"' || c == '\'') {
                quote = Some(c);
            }
            escaped = c == '\\' && !escaped;
            parts.last_mut().unwrap().push(c);
        }
    }
    open.iter().map(|(_, parts)| parts.iter().map(plain).collect::<Vec<_>>().join(", ")).collect()
}

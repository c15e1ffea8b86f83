mod calls_for_tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
    use std::hash::Hash;

    pub enum Given {
        Word(String),
        Text(String),
        List(Vec<Given>),
        Map(Vec<(String, Given)>),
    }

    struct Reader {
        text: Vec<char>,
        at: usize,
    }

    impl Reader {
        fn next(&mut self) -> char {
            while self.text[self.at].is_whitespace() {
                self.at += 1;
            }
            self.text[self.at]
        }

        fn ends(&mut self, end: char) -> bool {
            if self.next() == ',' {
                self.at += 1;
            }
            let found = self.next() == end;
            if found {
                self.at += 1;
            }
            found
        }

        fn quoted(&mut self) -> String {
            let mut found = String::new();
            self.at += 1;
            while self.text[self.at] != '"' {
                let mut c = self.text[self.at];
                if c == '\\' {
                    self.at += 1;
                    c = match self.text[self.at] {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'u' => {
                            let code: String = self.text[self.at + 1..self.at + 5].iter().collect();
                            self.at += 4;
                            char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap()
                        }
                        other => other,
                    };
                }
                found.push(c);
                self.at += 1;
            }
            self.at += 1;
            found
        }

        fn value(&mut self) -> Given {
            match self.next() {
                '"' => Given::Text(self.quoted()),
                '[' => {
                    self.at += 1;
                    let mut all = vec![];
                    while !self.ends(']') {
                        all.push(self.value());
                    }
                    Given::List(all)
                }
                '{' => {
                    self.at += 1;
                    let mut all = vec![];
                    while !self.ends('}') {
                        let key = self.quoted();
                        self.next();
                        self.at += 1;
                        all.push((key, self.value()));
                    }
                    Given::Map(all)
                }
                _ => {
                    let mut word = String::new();
                    while !",]}: ".contains(self.text[self.at]) {
                        word.push(self.text[self.at]);
                        self.at += 1;
                    }
                    Given::Word(word)
                }
            }
        }
    }

    pub fn unfit() -> ! {
        panic!("the function has other parameters than the case has arguments")
    }

    pub trait Read: Sized {
        fn read(given: &Given) -> Self;
    }
    pub trait Show {
        fn show(&self, out: &mut String);
    }

    macro_rules! numbers {
        ($($number:ty)*) => {$(
            impl Read for $number {
                fn read(given: &Given) -> Self {
                    match given {
                        Given::Word(word) => word.parse().unwrap_or_else(|_| unfit()),
                        _ => unfit(),
                    }
                }
            }
        )*};
    }
    numbers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool);

    macro_rules! shown_as_they_are {
        ($($number:ty)*) => {$(
            impl Show for $number {
                fn show(&self, out: &mut String) {
                    out.push_str(&self.to_string());
                }
            }
        )*};
    }
    shown_as_they_are!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize bool);

    impl Show for f64 {
        fn show(&self, out: &mut String) {
            let text = format!("{:?}", self);
            out.push_str(&text.replace("inf", "Infinity"));
        }
    }
    impl Show for f32 {
        fn show(&self, out: &mut String) {
            f64::from(*self).show(out);
        }
    }

    impl Read for char {
        fn read(given: &Given) -> Self {
            match given {
                Given::Text(text) if text.chars().count() == 1 => text.chars().next().unwrap(),
                _ => unfit(),
            }
        }
    }
    impl Read for String {
        fn read(given: &Given) -> Self {
            match given {
                Given::Text(text) => text.clone(),
                _ => unfit(),
            }
        }
    }
    impl Show for str {
        fn show(&self, out: &mut String) {
            out.push('"');
            for c in self.chars() {
                if c == '"' || c == '\\' || c < ' ' {
                    out.push_str(&format!("\\u{:04x}", c as u32));
                } else {
                    out.push(c);
                }
            }
            out.push('"');
        }
    }
    impl Show for String {
        fn show(&self, out: &mut String) {
            self.as_str().show(out);
        }
    }
    impl Show for char {
        fn show(&self, out: &mut String) {
            self.to_string().show(out);
        }
    }
    impl Show for () {
        fn show(&self, out: &mut String) {
            out.push_str("null");
        }
    }
    impl<T: Show + ?Sized> Show for &T {
        fn show(&self, out: &mut String) {
            (**self).show(out);
        }
    }
    impl<T: Show> Show for Option<T> {
        fn show(&self, out: &mut String) {
            match self {
                Some(value) => value.show(out),
                None => out.push_str("null"),
            }
        }
    }
    impl<T: Read> Read for Option<T> {
        fn read(given: &Given) -> Self {
            match given {
                Given::Word(word) if word == "null" => None,
                other => Some(T::read(other)),
            }
        }
    }

    fn show_all<T: Show>(all: impl Iterator<Item = T>, out: &mut String) {
        out.push('[');
        for (number, item) in all.enumerate() {
            if number > 0 {
                out.push(',');
            }
            item.show(out);
        }
        out.push(']');
    }
    fn read_all<T: Read, All: FromIterator<T>>(given: &Given) -> All {
        match given {
            Given::List(all) => all.iter().map(T::read).collect(),
            _ => unfit(),
        }
    }

    impl<T: Read> Read for Vec<T> {
        fn read(given: &Given) -> Self {
            read_all(given)
        }
    }
    impl<T: Show> Show for Vec<T> {
        fn show(&self, out: &mut String) {
            show_all(self.iter(), out);
        }
    }
    impl<T: Show> Show for [T] {
        fn show(&self, out: &mut String) {
            show_all(self.iter(), out);
        }
    }
    impl<T: Show, const N: usize> Show for [T; N] {
        fn show(&self, out: &mut String) {
            show_all(self.iter(), out);
        }
    }
    impl<T: Read + Eq + Hash> Read for HashSet<T> {
        fn read(given: &Given) -> Self {
            read_all(given)
        }
    }
    impl<T: Show> Show for HashSet<T> {
        fn show(&self, out: &mut String) {
            show_all(self.iter(), out);
        }
    }
    impl<T: Show> Show for BTreeSet<T> {
        fn show(&self, out: &mut String) {
            show_all(self.iter(), out);
        }
    }
    impl<A: Show, B: Show> Show for (A, B) {
        fn show(&self, out: &mut String) {
            out.push('[');
            self.0.show(out);
            out.push(',');
            self.1.show(out);
            out.push(']');
        }
    }
    impl<A: Read, B: Read> Read for (A, B) {
        fn read(given: &Given) -> Self {
            match given {
                Given::List(all) if all.len() == 2 => (A::read(&all[0]), B::read(&all[1])),
                _ => unfit(),
            }
        }
    }

    fn read_map<A: Read, B: Read, All: FromIterator<(A, B)>>(given: &Given) -> All {
        let key = |name: &String| match std::any::type_name::<A>() {
            "alloc::string::String" => A::read(&Given::Text(name.clone())),
            _ => A::read(&Given::Word(name.clone())),
        };
        match given {
            Given::Map(all) => all.iter().map(|(name, value)| (key(name), B::read(value))).collect(),
            _ => unfit(),
        }
    }
    fn show_map<A: std::fmt::Display, B: Show>(all: impl Iterator<Item = (A, B)>, out: &mut String) {
        out.push('{');
        for (number, (name, value)) in all.enumerate() {
            if number > 0 {
                out.push(',');
            }
            name.to_string().show(out);
            out.push(':');
            value.show(out);
        }
        out.push('}');
    }
    impl<A: Read + Eq + Hash, B: Read> Read for HashMap<A, B> {
        fn read(given: &Given) -> Self {
            read_map(given)
        }
    }
    impl<A: Read + Ord, B: Read> Read for BTreeMap<A, B> {
        fn read(given: &Given) -> Self {
            read_map(given)
        }
    }
    impl<A: std::fmt::Display, B: Show> Show for HashMap<A, B> {
        fn show(&self, out: &mut String) {
            show_map(self.iter(), out);
        }
    }
    impl<A: std::fmt::Display, B: Show> Show for BTreeMap<A, B> {
        fn show(&self, out: &mut String) {
            show_map(self.iter(), out);
        }
    }

    impl Read for &'static str {
        fn read(given: &Given) -> Self {
            Box::leak(String::read(given).into_boxed_str())
        }
    }
    impl<T: Read> Read for &'static [T] {
        fn read(given: &Given) -> Self {
            Box::leak(Vec::read(given).into_boxed_slice())
        }
    }
    impl<T: Read> Read for &'static mut [T] {
        fn read(given: &Given) -> Self {
            Box::leak(Vec::read(given).into_boxed_slice())
        }
    }
    macro_rules! references {
        ($($kind:ty, $($item:ident)?;)*) => {$(
            impl$(<$item: Read>)? Read for &'static $kind {
                fn read(given: &Given) -> Self {
                    Box::leak(Box::new(Read::read(given)))
                }
            }
            impl$(<$item: Read>)? Read for &'static mut $kind {
                fn read(given: &Given) -> Self {
                    Box::leak(Box::new(Read::read(given)))
                }
            }
        )*};
    }
    references!(Vec<T>, T; String,;);

    pub trait Call<Parameters> {
        fn call(self, given: &[Given], out: &mut String);
    }
    macro_rules! calls {
        ($($parameter:ident $number:tt)*) => {
            impl<F, R: Show, $($parameter: Read),*> Call<($($parameter,)*)> for F
            where
                F: FnOnce($($parameter),*) -> R,
            {
                #[allow(unused)]
                fn call(self, given: &[Given], out: &mut String) {
                    let count = 0 $(+ { let _ = $number; 1 })*;
                    if given.len() != count {
                        unfit();
                    }
                    self($($parameter::read(&given[$number])),*).show(out);
                }
            }
        };
    }
    calls!();
    calls!(A 0);
    calls!(A 0 B 1);
    calls!(A 0 B 1 C 2);
    calls!(A 0 B 1 C 2 D 3);
    calls!(A 0 B 1 C 2 D 3 E 4);
    calls!(A 0 B 1 C 2 D 3 E 4 G 5);
    calls!(A 0 B 1 C 2 D 3 E 4 G 5 H 6);

    pub fn call<Parameters>(mark: &str, called: impl Call<Parameters>) {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut std::io::stdin(), &mut text).unwrap();
        text.push(' ');
        let given = Reader { text: text.chars().collect(), at: 0 }.value();
        let mut out = String::new();
        match given {
            Given::List(all) => called.call(&all, &mut out),
            _ => unfit(),
        }
        println!("\n{} 0 {}", mark, out);
    }
}

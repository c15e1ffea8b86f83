mod calls_for_tests {
    use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
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
    impl<T: Show, E: std::fmt::Debug> Show for Result<T, E> {
        fn show(&self, out: &mut String) {
            self.as_ref().unwrap().show(out);
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

    macro_rules! collections {
        ($($kind:ident $($bound:ident)*;)*) => {$(
            impl<T: Read $(+ $bound)*> Read for $kind<T> {
                fn read(given: &Given) -> Self {
                    read_all(given)
                }
            }
            impl<T: Show> Show for $kind<T> {
                fn show(&self, out: &mut String) {
                    show_all(self.iter(), out);
                }
            }
        )*};
    }
    collections!(Vec; VecDeque; LinkedList; HashSet Eq Hash; BTreeSet Ord; BinaryHeap Ord;);
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
    impl<T: Read, const N: usize> Read for [T; N] {
        fn read(given: &Given) -> Self {
            Vec::read(given).try_into().unwrap_or_else(|_| unfit())
        }
    }
    macro_rules! tuples {
        ($($item:ident $number:tt)*) => {
            impl<$($item: Show),*> Show for ($($item,)*) {
                fn show(&self, out: &mut String) {
                    let all: &[&dyn Fn(&mut String)] = &[$(&|out| self.$number.show(out)),*];
                    out.push('[');
                    for (number, show) in all.iter().enumerate() {
                        if number > 0 {
                            out.push(',');
                        }
                        show(out);
                    }
                    out.push(']');
                }
            }
            impl<$($item: Read),*> Read for ($($item,)*) {
                fn read(given: &Given) -> Self {
                    let count = 0 $(+ { let _ = $number; 1 })*;
                    match given {
                        Given::List(all) if all.len() == count => ($($item::read(&all[$number]),)*),
                        _ => unfit(),
                    }
                }
            }
        };
    }
    tuples!(A 0 B 1);
    tuples!(A 0 B 1 C 2);
    tuples!(A 0 B 1 C 2 D 3);

    fn read_map<A: Read, B: Read, All: FromIterator<(A, B)>>(given: &Given) -> All {
        let key = |name: &String| match std::any::type_name::<A>() {
            "alloc::string::String" | "&str" | "char" => A::read(&Given::Text(name.clone())),
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
    impl<T: Read> Read for &'static T {
        fn read(given: &Given) -> Self {
            Box::leak(Box::new(T::read(given)))
        }
    }
    impl<T: Read> Read for &'static mut T {
        fn read(given: &Given) -> Self {
            Box::leak(Box::new(T::read(given)))
        }
    }

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

    fn given() -> Vec<Given> {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut std::io::stdin(), &mut text).unwrap();
        text.push(' ');
        match (Reader { text: text.chars().collect(), at: 0 }).value() {
            Given::List(all) => all,
            _ => unfit(),
        }
    }

    #[allow(unused)]
    pub fn call<Parameters>(mark: &str, called: impl Call<Parameters>) {
        let mut out = String::new();
        called.call(&given(), &mut out);
        println!("\n{} 0 {}", mark, out);
    }

    #[allow(unused)]
    pub fn call_method<Parameters>(mark: &str, called: impl Call<Parameters>) {
        let (mut all, mut out) = (given(), String::new());
        all.insert(0, Given::Word(String::new()));
        called.call(&all, &mut out);
        println!("\n{} 0 {}", mark, out);
    }
}

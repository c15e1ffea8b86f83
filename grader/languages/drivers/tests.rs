macro_rules! as_for_tests {
    ($one:expr, $other:expr) => {
        match &($other) {
            other_for_tests => {
                // So both have types that can be compared, and what later values rest on is done.
                let _ = *(&($one)) == *other_for_tests;
                other_for_tests
            }
        }
    };
}

#[allow(unused)]
fn panic_message_for_tests(body: impl FnOnce()) -> String {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(()) => String::new(),
        Err(thrown) => match (thrown.downcast_ref::<&str>(), thrown.downcast_ref::<String>()) {
            (Some(text), _) => text.to_string(),
            (_, Some(text)) => text.to_string(),
            _ => "something else".to_string(),
        },
    }
}

#[allow(unused)]
fn panicked_for_tests(body: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err()
}

fn run_for_tests(tests: &[fn()]) {
    let ended = tests.iter().map(|test| std::panic::catch_unwind(test)).collect::<Vec<_>>();
    if ended.iter().any(|each| each.is_err()) {
        std::process::exit(101);
    }
}

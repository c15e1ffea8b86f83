mod list_nodes_for_tests {
    use crate::calls_for_tests::{unfit, Given, Read, Show};
    use crate::ListNode;

    impl Read for Option<Box<ListNode>> {
        fn read(given: &Given) -> Self {
            let all = match given {
                Given::List(all) => all,
                _ => unfit(),
            };
            let mut first = None;
            for value in all.iter().rev() {
                first = Some(Box::new(ListNode { val: Read::read(value), next: first }));
            }
            first
        }
    }
    impl Show for Option<Box<ListNode>> {
        fn show(&self, out: &mut String) {
            let mut all = vec![];
            let mut node = self;
            while let Some(found) = node {
                all.push(&found.val);
                node = &found.next;
            }
            all.show(out);
        }
    }
}

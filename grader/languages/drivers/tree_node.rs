mod tree_nodes_for_tests {
    use crate::calls_for_tests::{unfit, Given, Read, Show};
    use crate::TreeNode;
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    type Link = Option<Rc<RefCell<TreeNode>>>;

    // The values of a tree level by level, with null for a missing child.
    impl Read for Link {
        fn read(given: &Given) -> Self {
            let all = match given {
                Given::List(all) => all,
                _ => unfit(),
            };
            let nodes: Vec<Link> = all
                .iter()
                .map(|value| match value {
                    Given::Word(word) if word == "null" => None,
                    value => Some(Rc::new(RefCell::new(TreeNode {
                        val: Read::read(value),
                        left: None,
                        right: None,
                    }))),
                })
                .collect();
            let mut free = nodes.iter().skip(1);
            for node in nodes.iter().flatten() {
                node.borrow_mut().left = free.next().cloned().flatten();
                node.borrow_mut().right = free.next().cloned().flatten();
            }
            nodes.first().cloned().flatten()
        }
    }
    impl Show for Link {
        fn show(&self, out: &mut String) {
            let mut all = vec![];
            let mut known = 0;
            let mut waiting = VecDeque::from(vec![self.clone()]);
            while let Some(node) = waiting.pop_front() {
                all.push(node.as_ref().map(|found| found.borrow().val));
                if let Some(found) = node {
                    known = all.len();
                    waiting.push_back(found.borrow().left.clone());
                    waiting.push_back(found.borrow().right.clone());
                }
            }
            all[..known].show(out);
        }
    }
}

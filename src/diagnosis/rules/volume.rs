use crate::diagnosis::Rule;

pub(super) const RULES: &[Rule] = &[];

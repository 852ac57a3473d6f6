//! Tokens, and which of them stand for an asynchronous access.

/// A token: a set of asynchronous accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Token(pub u32);

/// Says whether `token` stands for the access that `tokens`, in order, stand for.
pub(crate) fn set(tokens: &mut Vec<Token>, token: Token, stands: bool) {
    match (tokens.binary_search(&token), stands) {
        (Err(place), true) => tokens.insert(place, token),
        (Ok(place), false) => {
            tokens.remove(place);
        }
        _ => {}
    }
}

/// Binds tokens to others, all at once. If it `adds`, bound ones keep what they stand for.
pub(crate) fn bind(tokens: &mut Vec<Token>, bindings: &[(Token, Token)], adds: bool) {
    if bindings.is_empty() {
        return;
    }
    let bound = bindings.iter().filter(|(from, _)| tokens.contains(from));
    let bound: Vec<Token> = bound.map(|(_, to)| *to).collect();
    for (_, to) in bindings {
        let stands = bound.contains(to);
        if stands || !adds {
            set(tokens, *to, stands);
        }
    }
}

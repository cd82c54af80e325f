//! Failures that a program prints as a form of several lines.

/// Lines of a description that are joined.
const DESCRIBED: usize = 6;

/// Bytes of a line that a summary has room for.
const SHOWN: usize = 130;

/// The text under `Description:` of Spring Boot's startup failure, without the advice that follows it.
pub(super) fn spring_description(lines: &[&str]) -> Option<String> {
    let failed = lines.iter().rposition(|line| *line == "APPLICATION FAILED TO START")?;
    let rest = lines.get(failed..)?;
    let described = rest.iter().position(|line| *line == "Description:")?;
    let is_text = |line: &&&str| **line != "Action:" && !line.starts_with("- Bean method");
    let text: Vec<&str> = rest.iter().skip(described + 1).take_while(is_text).take(DESCRIBED).copied().collect();
    let first = *text.first()?;
    // A list, or labels with values, belongs to the sentence above it.
    let is_part = |_: &&&str| first.ends_with(':');
    let is_name = |line: &&&str| !line.strip_prefix("Property: ").is_some_and(|name| first.contains(name));
    // A cycle is drawn with lines, and each bean has the place of its definition.
    let parts = text.iter().skip(1).filter(is_part).filter(is_name);
    let parts = parts.map(|line| line.trim_start_matches(|c: char| !c.is_alphanumeric()));
    let parts = parts.map(|line| line.split(" defined in ").next().unwrap_or(line));
    let parts = parts.map(|line| line.split(": defined by ").next().unwrap_or(line));
    let parts: Vec<&str> = parts.filter(|line| line.contains(char::is_alphanumeric)).collect();
    let has_value = parts.iter().any(|line| line.starts_with("Value: "));
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|line| !(has_value && line.starts_with("Reason: ")))
        .map(|line| line.replacen(": ", " ", 1))
        .collect();
    if parts.is_empty() {
        return Some(first.to_owned());
    }
    let described = format!("{}: {}", first.trim_end_matches([':', '.']), parts.join(", "));
    // The origin of a long property is its name in capitals, for which a summary has no room.
    if has_value && described.len() > SHOWN {
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|line| !line.starts_with("Origin ")).collect();
        return Some(format!("{}: {}", first.trim_end_matches([':', '.']), parts.join(", ")));
    }
    Some(described)
}

/// The first field that zod rejects, and the message. zod prints JSON over many lines.
pub(super) fn zod_error(lines: &[&str]) -> Option<String> {
    let begin = lines.iter().rposition(|line| line.starts_with("ZodError: ["))?;
    let rest = lines.get(begin + 1..)?;
    let value = |line: &&str, name: &str| Some(line.strip_prefix(name)?.trim_matches([' ', ':', '"', ',']).to_owned());
    let path = rest.iter().position(|line| line.starts_with("\"path\": ["))?;
    let field = rest.get(path + 1)?.trim_matches(['"', ',']);
    let message = rest.iter().find_map(|line| value(line, "\"message\""))?;
    Some(format!("ZodError: {field}: {message}"))
}

/// The framework that the host of .NET does not find.
pub(super) fn dotnet_host(lines: &[&str]) -> Option<String> {
    let begin = lines.iter().rposition(|line| line.starts_with("You must install or update .NET"))?;
    let rest = lines.get(begin..)?;
    let framework = rest.iter().find_map(|line| line.strip_prefix("Framework: "))?;
    let found = rest.iter().position(|line| line.starts_with("The following frameworks were found"));
    let found = found.and_then(|at| rest.get(at + 1)).and_then(|line| line.split(" at [").next());
    Some(match found {
        Some(found) => format!("the .NET framework {framework} was not found, only {found}"),
        None => format!("the .NET framework {framework} was not found"),
    })
}

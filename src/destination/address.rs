//! Addresses of destinations, as typed.

use std::fmt;
use std::str::FromStr;

/// The kinds of destinations, each with the beginning of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Amazon S3, and servers that speak its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
    /// A folder, as of a network file system.
    Folder,
}

const SCHEMES: [(Scheme, &str); 4] =
    [(Scheme::S3, "s3"), (Scheme::Google, "gs"), (Scheme::Azure, "az"), (Scheme::Folder, "file")];

impl Scheme {
    /// The word before `://`.
    pub fn name(self) -> &'static str {
        SCHEMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}

/// The address of a destination: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
/// `az://CONTAINER/PREFIX` or `file:///FOLDER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What kind of destination it is.
    pub scheme: Scheme,
    /// The bucket, or the container of Azure; empty for a folder.
    pub bucket: String,
    /// What the keys of all objects begin with, without a slash at either end;
    /// for a folder its absolute path, without the first slash.
    pub prefix: String,
}

/// What is wrong with an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{typed}` is no destination: {problem}")]
pub struct AddressError {
    typed: String,
    problem: String,
}

/// Whether a text is meant as an address, and not as the path of a folder.
pub fn is_address(typed: &str) -> bool {
    let begins = |(_, name): &(Scheme, &str)| {
        typed.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && typed[name.len()..].starts_with(":/")
    };
    typed.contains("://") || SCHEMES.iter().any(begins)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.name(), self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(typed: &str) -> Result<Self, AddressError> {
        let wrong =
            |problem: &str| AddressError { typed: typed.to_owned(), problem: problem.to_owned() };
        let (name, rest) = typed
            .split_once("://")
            .ok_or_else(|| wrong("write two slashes behind the colon, as in s3://bucket/prefix"))?;
        let known = SCHEMES.iter().find(|(_, known)| name.eq_ignore_ascii_case(known));
        let (scheme, _) = known
            .ok_or_else(|| wrong("it begins with none of s3://, gs://, az:// and file:///"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        match scheme {
            Scheme::Folder if !bucket.is_empty() => {
                return Err(wrong(
                    "write the absolute path of a folder, as in file:///shared/runs",
                ));
            }
            Scheme::Folder if prefix.trim_matches('/').is_empty() => {
                return Err(wrong("it names no folder"));
            }
            Scheme::Folder => {}
            _ if bucket.is_empty() => return Err(wrong("it names no bucket")),
            _ if !bucket.chars().all(|c| is_of_bucket(*scheme, c)) => {
                return Err(wrong(
                    "the name of a bucket consists of letters, digits, dots, hyphens and \
                     underscores",
                ));
            }
            _ => {}
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if let Some(problem) = problem_of(prefix) {
            return Err(wrong(problem));
        }
        Ok(Self { scheme: *scheme, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

/// Azure's container may name its account: `container@account`.
fn is_of_bucket(scheme: Scheme, c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c) || (scheme == Scheme::Azure && c == '@')
}

/// Characters that mean something else in an address, or that stores and
/// systems write in different ways.
const UNCLEAR: &str = "?#%*\\\"<>|";

fn problem_of(prefix: &str) -> Option<&'static str> {
    if prefix.is_empty() {
        return None;
    }
    if prefix.split('/').any(|part| ["", ".", ".."].contains(&part)) {
        return Some("every part between two slashes is a name");
    }
    let unclear = |c: char| c.is_control() || UNCLEAR.contains(c);
    prefix.contains(unclear).then_some("leave out ? # % * \\ \" < > | and control characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_alike() {
        for (typed, scheme, bucket, prefix) in [
            ("s3://bucket", Scheme::S3, "bucket", ""),
            ("s3://bucket/", Scheme::S3, "bucket", ""),
            ("S3://b.u-c_ket/runs/of mine/", Scheme::S3, "b.u-c_ket", "runs/of mine"),
            ("gs://bucket/a", Scheme::Google, "bucket", "a"),
            ("az://container@account/a/b", Scheme::Azure, "container@account", "a/b"),
            ("file:///shared/läufe", Scheme::Folder, "", "shared/läufe"),
        ] {
            assert!(is_address(typed), "{typed}");
            let address: Address = typed.parse().unwrap();
            assert_eq!(
                (address.scheme, &*address.bucket, &*address.prefix),
                (scheme, bucket, prefix)
            );
            assert_eq!(address.to_string().parse(), Ok(address));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (typed, problem) in [
            ("s4://bucket", "begins with none of"),
            ("https://bucket.s3.amazonaws.com/a", "begins with none of"),
            ("s3:/bucket/a", "two slashes"),
            ("s3://", "names no bucket"),
            ("s3:///a", "names no bucket"),
            ("s3://key:secret@bucket/a", "the name of a bucket"),
            ("s3://bucket:9000/a", "the name of a bucket"),
            ("s3://bucket/a//b", "every part"),
            ("s3://bucket/../a", "every part"),
            ("s3://bucket//a", "every part"),
            ("s3://bucket/a?versionId=1", "leave out"),
            ("s3://bucket/a%2fb", "leave out"),
            ("s3://bucket/a\nb", "leave out"),
            ("file://host/a", "absolute path"),
            ("file:///", "no folder"),
        ] {
            assert!(is_address(typed), "{typed}");
            let error = typed.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(problem), "{typed}: {error}");
        }
    }

    #[test]
    fn a_path_is_no_address() {
        for path in
            ["part-1", "/tmp/part", "./s3/bucket", "C:\\runs", "c:/runs", "a:b", "s3", "s3:x", ""]
        {
            assert!(!is_address(path), "{path}");
        }
    }
}

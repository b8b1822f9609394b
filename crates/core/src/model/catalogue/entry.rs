//! How an entry of the catalogue is written.

/// Joins texts that are known when the program is built.
macro_rules! joined {
    ($($part:expr),+) => {{
        const PARTS: &[&str] = &[$($part),+];
        const BYTES: [u8; length(PARTS)] = bytes(PARTS);
        match str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("whole texts are joined"),
        }
    }};
}

pub(super) const fn length(parts: &[&str]) -> usize {
    match parts {
        [] => 0,
        [first, rest @ ..] => first.len() + length(rest),
    }
}

pub(super) const fn bytes<const N: usize>(parts: &[&str]) -> [u8; N] {
    let (mut bytes, mut part, mut at, mut written) = ([0; N], 0, 0, 0);
    while part < parts.len() {
        if at < parts[part].len() {
            bytes[written] = parts[part].as_bytes()[at];
            (at, written) = (at + 1, written + 1);
        } else {
            (part, at) = (part + 1, 0);
        }
    }
    bytes
}

/// Id, section and meaning of a measure that follows from another one.
macro_rules! derived {
    (lower_bound $of:ident) => { derived!($of "_lo" "lower") };
    (upper_bound $of:ident) => { derived!($of "_hi" "upper") };
    ($of:ident $suffix:literal $which:literal) => {
        (
            joined!($of.id, $suffix),
            "reference §7",
            joined!($which, " bound of the 95 % interval of `", $of.id, "`"),
        )
    };
}

/// Declares measures, a constant each, and lists them in their order: that of the
/// columns. An entry is: constant, id, (name for people,) unit, direction, column,
/// section, meaning; or the constant and what it follows from: `lower_bound` or
/// `upper_bound` of a measure, with a column where it is its own.
macro_rules! measures {
    ($list:ident: $(
        $name:ident
        $($id:literal $(($label:literal))? $([$kind:expr])? $({$nature:ident})?
          $unit:ident $direction:ident $column:ident $section:literal: $meaning:literal)?
        $(: $how:ident $of:ident $($own_column:ident)?)?;
    )*) => {
        $(
            $(#[doc = concat!("`", $id, "`: ", $meaning, ".")])?
            $(#[doc = concat!("`", stringify!($how), "` of [`", stringify!($of), "`].")])?
            pub const $name: &Measure = &{
                $(Measure {
                    id: $id,
                    label: concat!($($label)?),
                    unit: Unit::$unit,
                    direction: Direction::$direction,
                    column: Column::$column,
                    section: $section,
                    meaning: $meaning,
                    kind: [$($kind,)? None][0],
                    nature: [$(Nature::$nature,)? Nature::Plain][0],
                })?
                $({
                    let (id, section, meaning) = derived!($how $of);
                    let column = [$(Column::$own_column,)? $of.column][0];
                    Measure { id, section, meaning, column, label: "", ..*$of }
                })?
            };
        )*

        pub(super) const $list: &[&Measure] = &[$($name),*];
    };
}

//! Where a value stands on an axis, and which values are marked.
//!
//! It draws nothing.

/// An axis of powers of ten, with a place for zero in front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    /// Where zero stands.
    zero: f64,
    /// Where one stands.
    one: f64,
    /// How wide a factor of ten is.
    decade: f64,
    decades: u32,
}

/// How much room zero has in front of one.
const ZERO: f64 = 36.0;

impl Log {
    /// From zero to at least `largest`, between two places.
    pub(super) fn new(largest: f64, from: f64, to: f64) -> Self {
        let decades = largest.max(10.0).log10().ceil() as u32;
        let one = from + ZERO;
        Self { zero: from, one, decade: (to - one) / f64::from(decades), decades }
    }

    pub(super) fn at(self, value: f64) -> f64 {
        if value < 1.0 { self.zero } else { self.one + value.log10() * self.decade }
    }

    /// The marked places, each with its label.
    pub(super) fn marks(self) -> impl Iterator<Item = (f64, String)> {
        let powers = (0..=self.decades).map(|power| 10_f64.powi(power as i32));
        std::iter::once(0.0).chain(powers).map(move |value| (self.at(value), short(value)))
    }
}

/// A count, shortened: `0`, `950`, `12k`, `1.5M`.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let tenths = (scaled * 10.0).round() / 10.0;
    if tenths.fract() == 0.0 || tenths.abs() >= 10.0 {
        format!("{}{unit}", tenths.round())
    } else {
        format!("{tenths}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let shown = [0.0, 7.0, 950.0, 1000.0, 1540.0, 12_345.0, 2e6].map(short);
        assert_eq!(shown, ["0", "7", "950", "1k", "1.5k", "12k", "2M"]);
    }

    #[test]
    fn zero_stands_in_front_of_one() {
        let axis = Log::new(900.0, 0.0, 336.0);
        assert_eq!([0.0, 1.0, 10.0, 1000.0].map(|value| axis.at(value)), [0.0, 36.0, 136.0, 336.0]);
        assert_eq!(axis.marks().count(), 5);
    }
}

//! Figures of a sample: counts, order statistics, ratios. Whole numbers where the sample is whole.
//!
//! Quantiles are nearest-rank, so each is a value that occurred; nothing is interpolated or fitted.

use serde::{Deserialize, Serialize};

/// Order statistics of a sample.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Summary {
    /// Size of the sample.
    pub n: u64,
    /// Smallest.
    pub min: i64,
    /// 10 % are at most this.
    pub p10: i64,
    /// Half are at most this.
    pub median: i64,
    /// 90 % are at most this.
    pub p90: i64,
    /// Largest.
    pub max: i64,
}

impl Summary {
    /// Of a sample in any order; `None` of none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        Some(Self {
            n: values.len() as u64,
            min: *values.first()?,
            p10: quantile(&values, 10)?,
            median: quantile(&values, 50)?,
            p90: quantile(&values, 90)?,
            max: *values.last()?,
        })
    }
}

/// The smallest value that at least `percent` of the sorted sample do not exceed.
fn quantile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Share {
    /// How many are.
    pub of: u64,
    /// Of how many.
    pub all: u64,
}

impl Share {
    /// Counts one more.
    pub fn count(&mut self, is: bool) {
        self.of += u64::from(is);
        self.all += 1;
    }

    /// Counts another sample too.
    pub fn add(&mut self, other: Self) {
        self.of += other.of;
        self.all += other.all;
    }

    /// Between 0 and 1; `None` of none.
    #[must_use]
    pub fn ratio(self) -> Option<f64> {
        (self.all > 0).then(|| self.of as f64 / self.all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let summary = Summary::of((1..=10).rev()).unwrap();
        let Summary { n, min, p10, median, p90, max } = summary;
        assert_eq!((n, min, p10, median, p90, max), (10, 1, 1, 5, 9, 10));
        assert_eq!(Summary::of([7]).unwrap().median, 7);
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn a_share_of_nothing_has_no_ratio() {
        let mut share = Share::default();
        assert_eq!(share.ratio(), None);
        share.count(true);
        share.count(false);
        assert_eq!(share.ratio(), Some(0.5));
    }
}

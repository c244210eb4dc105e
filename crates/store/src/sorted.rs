//! A sorted collection that needs little more memory than its elements, also while it grows. With millions of waiting jobs this decides
//! whether they fit: a B-tree that grows at its end is half empty, and a hash map that grows needs three times its size for a moment.

use std::collections::VecDeque;

use crate::prelude::*;

/// Elements of one vector: few enough to move them at each change.
const SEGMENT_MAX: usize = 64;
/// A vector with less room than this is not made smaller.
const CAPACITY_MIN: usize = 8;

/// What elements are ordered and found by.
pub(crate) trait Sorted {
    type Key: Ord + Copy;

    fn key(&self) -> Self::Key;
}

impl Sorted for JobId {
    type Key = Self;

    fn key(&self) -> Self {
        *self
    }
}

impl<A: Ord + Copy, B: Ord + Copy> Sorted for (A, B) {
    type Key = Self;

    fn key(&self) -> Self {
        *self
    }
}

/// Elements with different keys, in order.
#[derive(Debug)]
pub(crate) struct SortedVecs<T> {
    /// None of them is empty.
    segments: VecDeque<Vec<T>>,
    len: usize,
}

impl<T> Default for SortedVecs<T> {
    fn default() -> Self {
        Self { segments: VecDeque::new(), len: 0 }
    }
}

impl<T: Sorted> SortedVecs<T> {
    /// Adds an element, or replaces the one with its key.
    pub(crate) fn insert(&mut self, element: T) {
        let key = element.key();
        let number = self.segment_of(&key);
        let Some(segment) = self.segments.get_mut(number) else {
            self.segments.push_back(vec![element]);
            self.len += 1;
            return;
        };
        match segment.binary_search_by_key(&key, T::key) {
            Ok(place) => segment[place] = element,
            Err(place) => {
                self.insert_at(number, place, element);
                self.len += 1;
            }
        }
    }

    fn insert_at(&mut self, number: usize, place: usize, element: T) {
        let is_last = number + 1 == self.segments.len();
        let segment = &mut self.segments[number];
        if segment.len() < SEGMENT_MAX {
            segment.insert(place, element);
        } else if is_last && place == SEGMENT_MAX {
            // Elements mostly arrive in order: the segment stays full.
            self.segments.push_back(vec![element]);
        } else {
            let mut rest = segment.split_off(SEGMENT_MAX / 2);
            match place.checked_sub(segment.len()) {
                Some(place) => rest.insert(place, element),
                None => segment.insert(place, element),
            }
            self.segments.insert(number + 1, rest);
        }
    }

    pub(crate) fn remove(&mut self, key: &T::Key) -> Option<T> {
        let number = self.segment_of(key);
        let segment = self.segments.get_mut(number)?;
        let place = segment.binary_search_by_key(key, T::key).ok()?;
        let removed = segment.remove(place);
        if segment.is_empty() {
            self.segments.remove(number);
        } else if segment.capacity() >= CAPACITY_MIN && segment.len() * 4 <= segment.capacity() {
            segment.shrink_to(segment.len() * 2);
        }
        self.len -= 1;
        Some(removed)
    }

    pub(crate) fn get(&self, key: &T::Key) -> Option<&T> {
        let segment = self.segments.get(self.segment_of(key))?;
        segment.binary_search_by_key(key, T::key).ok().map(|place| &segment[place])
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.segments.front()?.first()
    }

    pub(crate) fn pop_first(&mut self) -> Option<T> {
        let key = self.first()?.key();
        self.remove(&key)
    }

    /// Removes some first elements, which are next to each other in memory, if the last of them and so all of them are in a range that
    /// begins with the first element.
    pub(crate) fn pop_segment_if(&mut self, is_inside: impl Fn(&T) -> bool) -> Option<Vec<T>> {
        let segment = self.segments.pop_front_if(|segment| segment.last().is_some_and(&is_inside))?;
        self.len -= segment.len();
        Some(segment)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.segments.iter().flatten()
    }

    /// The elements after a key.
    pub(crate) fn after(&self, key: &T::Key) -> impl Iterator<Item = &T> {
        let number = self.segment_of(key);
        let segments = self.segments.iter().skip(number).enumerate();
        segments.flat_map(move |(count, segment)| {
            let skipped = if count == 0 { segment.partition_point(|it| it.key() <= *key) } else { 0 };
            &segment[skipped..]
        })
    }

    /// The number of first elements for which `is_before` is true, if it is true for no element after one for which it is false. A
    /// binary search: asks for few elements.
    pub(crate) fn partition_point(&self, mut is_before: impl FnMut(&T) -> bool) -> usize {
        let full = self.segments.partition_point(|segment| segment.last().is_some_and(&mut is_before));
        let rest = self.segments.get(full).map_or(0, |segment| segment.partition_point(is_before));
        self.segments.iter().take(full).map(Vec::len).sum::<usize>() + rest
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The number of the segment that has an element with this key, if there is one.
    fn segment_of(&self, key: &T::Key) -> usize {
        self.segments.partition_point(|segment| segment[0].key() <= *key).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn is_the_same(sorted: &SortedVecs<(u32, u32)>, set: &BTreeSet<(u32, u32)>) {
        assert!(sorted.iter().eq(set), "{sorted:?}");
        assert_eq!(
            (sorted.len(), sorted.is_empty(), sorted.first()),
            (set.len(), set.is_empty(), set.first())
        );
        for segment in &sorted.segments {
            assert!(!segment.is_empty() && segment.capacity() <= SEGMENT_MAX);
            assert!(segment.len() * 4 > segment.capacity() || segment.capacity() < CAPACITY_MIN);
        }
    }

    #[test]
    fn elements_are_in_order_however_they_come_and_go() {
        let (mut sorted, mut set) = (SortedVecs::default(), BTreeSet::new());
        let mut random: u32 = 7;
        for round in 0..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let element = (random >> 21, 0);
            // The collection grows, stays, and shrinks to nothing.
            let grows = match round {
                0..6_000 => true,
                6_000..12_000 => random.is_multiple_of(2),
                _ => false,
            };
            if grows {
                sorted.insert(element);
                set.insert(element);
            } else {
                assert_eq!(sorted.remove(&element).is_some(), set.remove(&element));
                assert_eq!(sorted.get(&element), None);
            }
            assert_eq!(sorted.after(&element).next(), set.range((element.0, 1)..).next());
            if round % 10 == 0 {
                let mut asked = 0;
                let count = sorted.partition_point(|it| {
                    asked += 1;
                    *it < element
                });
                assert_eq!(count, set.range(..element).count());
                assert!(asked <= 2 * (set.len() + 2).ilog2() + 4, "{asked} of {}", set.len());
            }
            if round % 100 == 0 {
                is_the_same(&sorted, &set);
            }
        }
        while let Some(segment) = sorted.pop_segment_if(|(element, _)| *element < 200) {
            assert!(segment.iter().all(|element| set.remove(element) && element.0 < 200));
        }
        is_the_same(&sorted, &set);
        while let Some(first) = sorted.pop_first() {
            assert!(set.remove(&first));
        }
        is_the_same(&sorted, &set);
        assert!(set.is_empty());
    }

    #[test]
    fn segments_are_full_if_elements_arrive_in_order() {
        let mut sorted = SortedVecs::default();
        for n in 0..10_000_u32 {
            sorted.insert((n, n));
        }
        assert_eq!(sorted.segments.len(), 10_000_usize.div_ceil(SEGMENT_MAX));
        assert!(sorted.after(&(9_997, 9_997)).eq(&[(9_998, 9_998), (9_999, 9_999)]));
        assert_eq!(sorted.after(&(9_999, 9_999)).count(), 0);
    }
}

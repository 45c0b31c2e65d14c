//! Compares routes with their definition: each element that the receiver wants comes once, from the rank that
//! has it, to its place.

use ligament_exchange::{index_text, Coverage, IndexMap, MapError, Part, PartLayout, Route};
use ligament_wire::{Array, ArrayOrder, Value};
use proptest::prelude::*;

/// The description of a part, as the test draws it.
#[derive(Clone, Debug)]
enum DrawnPart {
    Block { start: Vec<u64>, shape: Vec<u64> },
    Range { begin: u64, end: u64 },
    List(Vec<i64>),
}

impl DrawnPart {
    fn part(&self) -> Part<'_> {
        match self {
            DrawnPart::Block { start, shape } => Part::Block { start, shape },
            DrawnPart::Range { begin, end } => Part::Range { begin: *begin, end: *end },
            DrawnPart::List(numbers) => Part::List(numbers),
        }
    }
}

fn orders() -> impl Strategy<Value = ArrayOrder> {
    prop_oneof![Just(ArrayOrder::RowMajor), Just(ArrayOrder::ColumnMajor)]
}

fn parts(array: Vec<u64>) -> impl Strategy<Value = DrawnPart> {
    let total: u64 = array.iter().product();
    let blocks = array
        .iter()
        .map(|&length| (0..=length).prop_flat_map(move |start| (Just(start), 0..=length - start)))
        .collect::<Vec<_>>()
        .prop_map(|axes| DrawnPart::Block {
            start: axes.iter().map(|axis| axis.0).collect(),
            shape: axes.iter().map(|axis| axis.1).collect(),
        });
    let ranges = (0..=total)
        .prop_flat_map(move |begin| (Just(begin), begin..=total))
        .prop_map(|(begin, end)| DrawnPart::Range { begin, end });
    let lists = Just((0..total as i64).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_flat_map(|all| (0..=all.len(), Just(all)))
        .prop_map(|(count, all)| DrawnPart::List(all[..count].to_vec()));
    prop_oneof![blocks, ranges, lists]
}

fn arrays() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1u64..6, 1..4)
}

fn arrays_and_two_parts() -> impl Strategy<Value = (Vec<u64>, DrawnPart, DrawnPart)> {
    arrays().prop_flat_map(|array| (Just(array.clone()), parts(array.clone()), parts(array)))
}

/// Returns the numbers of all elements of a part in the order of their places, by the definition.
fn numbers(array: &[u64], part: &DrawnPart, order: ArrayOrder) -> Vec<u64> {
    match part {
        DrawnPart::Range { begin, end } => (*begin..*end).collect(),
        DrawnPart::List(numbers) => numbers.iter().map(|&number| number as u64).collect(),
        DrawnPart::Block { start, shape } => {
            let count: u64 = shape.iter().product();
            let mut all = Vec::new();
            for place in 0..count {
                let mut index = vec![0; shape.len()];
                let mut left = place;
                let axes: Vec<usize> = match order {
                    ArrayOrder::RowMajor => (0..shape.len()).rev().collect(),
                    ArrayOrder::ColumnMajor => (0..shape.len()).collect(),
                };
                for axis in axes {
                    index[axis] = start[axis] + left % shape[axis];
                    left /= shape[axis];
                }
                all.push(index.iter().zip(array).fold(0, |number, (i, length)| number * length + i));
            }
            all
        }
    }
}

proptest! {
    #[test]
    fn a_route_copies_the_elements_that_both_parts_have(
        (array, from, to) in arrays_and_two_parts(),
        from_order in orders(),
        to_order in orders(),
    ) {
        let maps = [&from, &to].map(|part| IndexMap::new(&array, part.part()).unwrap());
        let sender = PartLayout { map: &maps[0], order: from_order };
        let receiver = PartLayout { map: &maps[1], order: to_order };
        let route = Route::new(&array, sender, receiver);
        let (sent, wanted) = (numbers(&array, &from, from_order), numbers(&array, &to, to_order));
        let expected: Vec<u32> =
            wanted.iter().map(|number| if sent.contains(number) { *number as u32 } else { u32::MAX }).collect();
        let source: Vec<u8> = sent.iter().flat_map(|number| (*number as u32).to_ne_bytes()).collect();
        let mut target = vec![0xff; wanted.len() * 4];
        route.copy(4, &source, &mut target);
        let target: Vec<u32> =
            target.chunks_exact(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        prop_assert_eq!(&target, &expected);
        prop_assert_eq!(route.len(), expected.iter().filter(|&&number| number != u32::MAX).count() as u64);
        // The coverage has the elements of the route, each once. Its first gap is the first element that the
        // sender does not have.
        let mut coverage = Coverage::new(maps[1].len());
        prop_assert_eq!(coverage.add(&route), Ok(()));
        let gap = expected.iter().position(|&number| number == u32::MAX).map(|place| place as u64);
        prop_assert_eq!(coverage.gap(), gap);
        if !route.is_empty() {
            let twice = coverage.add(&route).unwrap_err();
            prop_assert_ne!(expected[twice as usize], u32::MAX);
        }
        for (place, number) in wanted.iter().enumerate() {
            prop_assert_eq!(maps[1].number_at(&array, to_order, place as u64), Some(*number));
        }
    }

    #[test]
    fn a_map_comes_back_from_a_message(
        (array, part) in arrays().prop_flat_map(|array| (Just(array.clone()), parts(array))),
    ) {
        let map = IndexMap::new(&array, part.part()).unwrap();
        let back = IndexMap::from_value(&array, &map.to_value()).unwrap();
        prop_assert_eq!(back, map);
    }

    #[test]
    fn a_wrong_map_of_another_rank_is_refused_or_harmless(
        array in arrays(),
        begin in prop::collection::vec(0u64..40, 0..6),
        place in prop::collection::vec(prop_oneof![0u64..40, Just(u64::MAX)], 0..6),
        length in prop::option::of(prop::collection::vec(prop_oneof![0u64..9, Just(u64::MAX)], 0..6)),
    ) {
        let list = |numbers: &Vec<u64>| {
            Value::Array(Array::from_slice(numbers, &[numbers.len()], ArrayOrder::RowMajor).unwrap())
        };
        let mut entries = vec![("begin".to_owned(), list(&begin)), ("place".to_owned(), list(&place))];
        entries.extend(length.as_ref().map(|length| ("length".to_owned(), list(length))));
        let Some(map) = IndexMap::from_value(&array, &Value::Map(entries)) else { return Ok(()) };
        let total: u64 = array.iter().product();
        let all = IndexMap::new(&array, Part::Range { begin: 0, end: total }).unwrap();
        let order = ArrayOrder::RowMajor;
        let route = Route::new(&array, PartLayout { map: &map, order }, PartLayout { map: &all, order });
        route.copy(1, &vec![7; map.len() as usize], &mut vec![0; total as usize]);
    }
}

#[test]
fn parts_beyond_the_array_are_refused_with_the_place() {
    let array = [4, 5];
    let text = |part: Part<'_>| IndexMap::new(&array, part).unwrap_err().to_string();
    assert!(
        text(Part::Block { start: &[0, 3], shape: &[4, 3] }).contains("3 to 6 (not included) of dimension 1")
    );
    assert!(text(Part::Block { start: &[0], shape: &[4] }).contains("has 1 dimensions"));
    assert!(text(Part::Block { start: &[u64::MAX, 0], shape: &[2, 1] }).contains("dimension 0"));
    assert!(text(Part::Range { begin: 3, end: 21 }).contains("from 3 to 21"));
    assert!(text(Part::Range { begin: 3, end: 2 }).contains("from 3 to 2"));
    assert_eq!(
        IndexMap::new(&array, Part::List(&[0, -1])),
        Err(MapError::Index { index: -1, at: 1, length: 20 })
    );
    assert_eq!(IndexMap::new(&array, Part::List(&[3, 4, 9, 8, 4])), Err(MapError::Twice { index: 4 }));
    assert_eq!(index_text(&array, 13), "(2, 3)");
    assert_eq!(index_text(&[20], 13), "13");
}

#[test]
fn a_part_that_is_larger_than_the_caches_is_copied_too() {
    let array = [3, 1500, 1001];
    let order = ArrayOrder::RowMajor;
    let map = |start: &[u64], shape: &[u64]| IndexMap::new(&array, Part::Block { start, shape }).unwrap();
    let whole = map(&[0, 0, 0], &array);
    let source: Vec<u8> = (0..3 * 1500 * 1001u32).flat_map(u32::to_ne_bytes).collect();
    for (start, shape) in
        [([1, 3, 0], [2, 1400, 1001]), ([0, 0, 0], [3, 1500, 1001]), ([0, 0, 7], [3, 1500, 30])]
    {
        let part = map(&start, &shape);
        let mut target = vec![0xff; part.len() as usize * 4];
        let sender = PartLayout { map: &whole, order };
        Route::new(&array, sender, PartLayout { map: &part, order }).copy(4, &source, &mut target);
        for (place, bytes) in (0..).zip(target.chunks_exact(4)) {
            let number = u64::from(u32::from_ne_bytes(bytes.try_into().unwrap()));
            assert_eq!(part.number_at(&array, order, place), Some(number));
        }
    }
}

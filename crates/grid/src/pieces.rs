//! The pieces in which two neighbouring blocks exchange their ghosts. Both blocks cut what travels from one to
//! the other in the same way, so a piece needs no description.

use crate::region::Region;
use std::ops::Range;

/// Size of a piece, in bytes, unless a row is longer. A block packs and unpacks pieces in turns, so that a
/// piece is still in the cache of a core when it is read.
const PIECE_BYTES: usize = 32 << 10;

/// The pieces of one exchange with a neighbour.
#[derive(Debug)]
pub struct Neighbour {
    /// The number of the neighbouring block.
    pub block: usize,
    /// The slot of both ports that leads to it.
    pub slot: u32,
    pub outgoing: Vec<Piece>,
    pub incoming: Vec<Piece>,
}

/// A message between two neighbours.
#[derive(Debug, Default)]
pub struct Piece {
    pub bytes: usize,
    rows: Vec<FieldRows>,
}

/// Rows of a region of a field. `field` is the place of the field in the exchange.
#[derive(Debug)]
struct FieldRows {
    field: usize,
    region: Region,
    rows: Range<usize>,
}

impl FieldRows {
    fn bytes(&self) -> usize {
        self.rows.len() * self.region.row_bytes()
    }
}

impl Piece {
    /// Cuts regions into pieces.
    pub fn cut(regions: Vec<(usize, Region)>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut room = 0;
        for (field, region) in regions {
            let (rows, row_bytes) = (region.rows(), region.row_bytes());
            let mut begin = 0;
            while begin < rows {
                if room < row_bytes {
                    pieces.push(Piece::default());
                    room = PIECE_BYTES.max(row_bytes);
                }
                let end = rows.min(begin + room / row_bytes);
                let added = FieldRows { field, region: region.clone(), rows: begin..end };
                if let Some(piece) = pieces.last_mut() {
                    room -= added.bytes();
                    piece.bytes += added.bytes();
                    piece.rows.push(added);
                }
                begin = end;
            }
        }
        pieces
    }

    /// Copies the rows out of the arrays of the fields.
    pub fn pack(&self, fields: &[&mut [u8]], mut out: &mut [u8]) {
        for one in &self.rows {
            let (here, rest) = out.split_at_mut(one.bytes());
            one.region.pack(fields[one.field], one.rows.clone(), here);
            out = rest;
        }
    }

    /// Copies the rows into the arrays of the fields.
    pub fn unpack(&self, mut packed: &[u8], fields: &mut [&mut [u8]]) {
        for one in &self.rows {
            let (here, rest) = packed.split_at(one.bytes());
            one.region.unpack(here, one.rows.clone(), fields[one.field]);
            packed = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::ArrayOrder;

    #[test]
    fn pieces_have_whole_rows_and_all_of_them() {
        let region =
            |rows: usize, row: usize| Region::new(&[rows, row], ArrayOrder::RowMajor, 1, &[0..rows, 0..row]);
        for (rows, row) in [(1, 1), (100, 1000), (3, 100_000), (70_000, 1), (4, 20_000)] {
            let pieces = Piece::cut(vec![(0, region(rows, row)), (1, region(rows, row))]);
            assert_eq!(pieces.iter().map(|piece| piece.bytes).sum::<usize>(), 2 * rows * row);
            assert!(pieces.iter().all(|piece| piece.bytes > 0 && piece.bytes <= PIECE_BYTES.max(row)));
            let data: Vec<u8> = (0..rows * row).map(|i| (i % 251) as u8).collect();
            let (mut first, mut second) = (data.clone(), data.clone());
            let mut back = vec![vec![0u8; rows * row]; 2];
            for piece in &pieces {
                let mut packed = vec![0; piece.bytes];
                piece.pack(&[&mut first, &mut second], &mut packed);
                let [one, two] = &mut back[..] else { unreachable!() };
                piece.unpack(&packed, &mut [one, two]);
            }
            assert!(back[0] == data && back[1] == data);
        }
    }
}

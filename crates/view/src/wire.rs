//! The binary form of columns for the page: typed arrays that it uses directly.
//!
//! The first four bytes are the length of a JSON text, little-endian. The JSON text follows, padded with blanks to a
//! multiple of 8. Then follow the arrays, each at an offset that is a multiple of 8. The JSON names rows, matching
//! rows (`matching`) and, for each column, `name`, `type` (`u8`, `u32`, `f32`, `f64`, `text`), `offset` in bytes, and
//! the texts of a text column.

use serde_json::json;

use crate::slice::{ColumnValues, Slice};

/// Serialises a slice.
pub(crate) fn encode(slice: &Slice) -> Vec<u8> {
    let mut data = Vec::new();
    let mut columns = Vec::new();
    for (name, cells) in &slice.columns {
        data.resize(data.len().next_multiple_of(8), 0);
        let offset = data.len();
        let (kind, texts) = match cells {
            ColumnValues::U8(all) => {
                data.extend_from_slice(all);
                ("u8", None)
            }
            ColumnValues::U32(all) => {
                data.extend(all.iter().flat_map(|v| v.to_le_bytes()));
                ("u32", None)
            }
            ColumnValues::F32(all) => {
                data.extend(all.iter().flat_map(|v| v.to_le_bytes()));
                ("f32", None)
            }
            ColumnValues::F64(all) => {
                data.extend(all.iter().flat_map(|v| v.to_le_bytes()));
                ("f64", None)
            }
            ColumnValues::Text(all, texts) => {
                data.extend(all.iter().flat_map(|v| v.to_le_bytes()));
                ("text", Some(&texts.all))
            }
        };
        columns.push(json!({ "name": name, "type": kind, "offset": offset, "texts": texts }));
    }
    let header = json!({ "rows": slice.rows, "matching": slice.matching, "columns": columns });
    let mut header = header.to_string().into_bytes();
    header.resize((header.len() + 4).next_multiple_of(8) - 4, b' ');
    let mut bytes = (header.len() as u32).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(data);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn arrays_are_where_the_header_says() {
        let slice = Slice {
            columns: vec![
                ("a".into(), ColumnValues::U8(vec![1, 2, 3])),
                ("b".into(), ColumnValues::F64(vec![0.5, 2.0, 4.0])),
            ],
            rows: 3,
            matching: 7,
        };
        let bytes = encode(&slice);
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        assert_eq!((length + 4) % 8, 0);
        let header: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        assert_eq!(header["matching"], 7);
        let offset = header["columns"][1]["offset"].as_u64().unwrap() as usize;
        assert_eq!(offset % 8, 0);
        let at = 4 + length + offset;
        assert_eq!(f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()), 0.5);
        assert_eq!(bytes.len(), 4 + length + offset + 24);
    }
}

use super::*;

/// All frames of a stream that arrives in pieces, until one is wrong.
fn cut(bytes: &[u8], piece: usize, most: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut unframer = Unframer::new(most);
    let mut frames = Vec::new();
    let mut rest = bytes;
    loop {
        loop {
            match unframer.next_body() {
                Ok(Some(frame)) => frames.push(frame.to_vec()),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        if rest.is_empty() {
            return (frames, None);
        }
        let room = unframer.room();
        let taken = room.len().min(piece).min(rest.len());
        assert!(taken > 0, "there is always room for more");
        room[..taken].copy_from_slice(&rest[..taken]);
        unframer.filled(taken);
        rest = &rest[taken..];
        assert!(unframer.buffer.len() <= (LENGTH_BYTES + most).max(Unframer::READ_BYTES));
    }
}

#[test]
fn frames_come_out_as_they_went_in_however_they_are_cut() {
    let bodies: Vec<Vec<u8>> =
        [0, 1, 3, 200, 70_000, 5, 200_000, 0].iter().map(|&n| vec![n as u8; n]).collect();
    let mut bytes = Vec::new();
    for body in &bodies {
        append_frame(&mut bytes, body, 1 << 20).unwrap();
    }
    for piece in [1, 2, 7, 1000, 65_536, usize::MAX] {
        let (frames, error) = cut(&bytes, piece, 1 << 20);
        let decoded: Vec<Vec<u8>> = frames.iter().map(|frame| decode(frame).unwrap()).collect();
        assert_eq!((decoded, error), (bodies.clone(), None), "in pieces of {piece}");
    }
}

#[test]
fn a_length_that_is_too_large_is_refused_before_anything_is_kept() {
    let mut bytes = vec![0; LENGTH_BYTES];
    bytes[..LENGTH_BYTES].copy_from_slice(&101u32.to_le_bytes());
    let (frames, error) = cut(&bytes, 1, 100);
    assert!(frames.is_empty());
    assert_eq!(error, Some(FrameError::TooLong { length: 101, most: 100 }));
    let mut out = vec![7];
    let long = append_frame(&mut out, &vec![0u8; 100], 100);
    assert_eq!(long, Err(FrameError::TooLong { length: 101, most: 100 }));
    assert_eq!(out, [7]);
}

#[test]
fn a_body_must_be_understood_to_its_last_byte() {
    let envelope = Envelope { epoch: 1, payload: Payload::Wake { lock: "orders/42" } };
    let bytes = postcard::to_stdvec(&envelope).unwrap();
    assert_eq!(decode::<Envelope<'_>>(&bytes), Ok(envelope));
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(decode::<Envelope<'_>>(&longer), Err(FrameError::Garbage));
    for end in 0..bytes.len() {
        assert_eq!(decode::<Envelope<'_>>(&bytes[..end]), Err(FrameError::Garbage));
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(5_000))]

    /// Whatever comes, in whatever pieces: frames, an error or nothing, but never a panic, and never
    /// more memory than one frame may take.
    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
        piece in 1usize..50,
        most in 0usize..300,
    ) {
        let (frames, _) = cut(&bytes, piece, most);
        for frame in frames {
            proptest::prop_assert!(frame.len() <= most);
            let _ = decode::<Envelope<'_>>(&frame);
        }
    }

    /// Bytes changed in something that was right.
    #[test]
    fn any_mutation_is_survived(
        place in 0usize..1000,
        byte in proptest::num::u8::ANY,
        end in 0usize..1000,
    ) {
        let kept = vec![("a", 1, None), ("orders/42", 2, None), ("", 3, None)];
        let envelope = Envelope { epoch: 1 << 40, payload: Payload::Announce { kept, last: true } };
        let mut bytes = postcard::to_stdvec(&envelope).unwrap();
        let length = bytes.len();
        bytes[place % length] = byte;
        bytes.truncate(end % (length + 1));
        if let Ok(other) = decode::<Envelope<'_>>(&bytes) {
            let again = postcard::to_stdvec(&other).unwrap();
            proptest::prop_assert_eq!(decode(&again), Ok(other));
        }
    }
}

//! Where a voter's log is kept: the operations that survive a crash in a known way, and a disk in
//! memory that crashes on demand.

use std::io;

/// One file, and a second one that replaces it. Nothing is durable before it was synced.
pub trait Disk {
    /// The whole file; none if there is none.
    ///
    /// # Errors
    /// Of the system. After any error the process must end: what is on the disk is unknown.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;
    /// Appends to the file.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Makes the file's contents durable.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn sync(&mut self) -> io::Result<()>;
    /// Writes the second file, from its beginning.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn write_new(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes the second file's contents durable.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn sync_new(&mut self) -> io::Result<()>;
    /// Puts the second file in the place of the first.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn rename_new(&mut self) -> io::Result<()>;
    /// Makes the new name durable.
    ///
    /// # Errors
    /// As for [`Disk::read`].
    fn sync_folder(&mut self) -> io::Result<()>;
}

/// A disk in memory, for tests and simulations.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    file: Option<Contents>,
    new: Option<Contents>,
    /// What is found after a crash if the new name was not synced.
    before_rename: Option<Option<Contents>>,
    /// Operations until the disk fails.
    fails_in: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    bytes: Vec<u8>,
    synced: usize,
}

impl MemoryDisk {
    /// A disk with a file of these bytes, all durable.
    #[must_use]
    pub fn with_file(bytes: Vec<u8>) -> Self {
        let synced = bytes.len();
        MemoryDisk { file: Some(Contents { bytes, synced }), ..MemoryDisk::default() }
    }

    /// The file as a process sees it.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|file| file.bytes.as_slice())
    }

    /// Fails from the operation after the next `operations` on.
    pub fn fail_after(&mut self, operations: u32) {
        self.fails_in = Some(operations);
    }

    /// What a crash leaves. `draw(n)` chooses from `0..n`: how much of what was not synced survives, whether its
    /// last byte is wrong, and which name is found.
    pub fn crash(&mut self, mut draw: impl FnMut(u64) -> u64) {
        if let Some(before) = self.before_rename.take()
            && draw(2) == 0
        {
            self.file = before;
        }
        if let Some(Contents { bytes, synced }) = &mut self.file {
            let unsynced = bytes.len() - *synced;
            bytes.truncate(*synced + draw(unsynced as u64 + 1) as usize);
            if bytes.len() > *synced && draw(2) == 0 {
                *bytes.last_mut().expect("not empty") ^= 0x40;
            }
            *synced = bytes.len();
        }
        self.new = None;
        self.fails_in = None;
    }

    fn operate(&mut self) -> io::Result<()> {
        match &mut self.fails_in {
            Some(0) => Err(io::Error::other("the simulated disk failed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn existing(contents: &mut Option<Contents>) -> io::Result<&mut Contents> {
        contents.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl Disk for MemoryDisk {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.operate()?;
        Ok(self.bytes().map(<[u8]>::to_vec))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.operate()?;
        Self::existing(&mut self.file)?.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.operate()?;
        let file = Self::existing(&mut self.file)?;
        file.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        file.synced = file.synced.min(file.bytes.len());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.operate()?;
        let file = Self::existing(&mut self.file)?;
        file.synced = file.bytes.len();
        Ok(())
    }

    fn write_new(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.operate()?;
        self.new = Some(Contents { bytes: bytes.to_vec(), synced: 0 });
        Ok(())
    }

    fn sync_new(&mut self) -> io::Result<()> {
        self.operate()?;
        let new = Self::existing(&mut self.new)?;
        new.synced = new.bytes.len();
        Ok(())
    }

    fn rename_new(&mut self) -> io::Result<()> {
        self.operate()?;
        let new = self.new.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let former = self.file.replace(new);
        self.before_rename.get_or_insert(former);
        Ok(())
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        self.operate()?;
        self.before_rename = None;
        Ok(())
    }
}

//! Files that a command writes: whole at its end, or not at all. What was there before stays until then.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::NamedTempFile;

/// A file that is to be written.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// The option that asked for it, and its path.
    name: String,
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file, with these rights.
    File(Permissions),
    /// A device or a pipe: nothing is kept there.
    Stream(File),
}

impl OutputFile {
    /// Sees that it can be written, before a long run rather than after it.
    ///
    /// # Errors
    /// If it cannot.
    pub(crate) fn create(option: &str, path: &Path) -> Result<Self> {
        let name = format!("{option} {}", path.display());
        // A link stays one: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let place = Place::of(&path).with_context(|| name.clone())?;
        Ok(OutputFile { name, path, place })
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// If that fails; then it is as it was before.
    pub(crate) fn write(self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let OutputFile { name, path, place } = self;
        let write = || match place {
            Place::Stream(file) => filled(file, fill).map(drop),
            Place::File(rights) => {
                let beside = filled(beside(&path, rights)?, fill)?;
                beside.persist(&path).map(drop).map_err(|error| error.error)
            }
        };
        write().context(name)
    }
}

impl OutputFile {
    /// There is nothing to write: what was there before would be taken for it.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) fn remove(self) -> Result<()> {
        let Place::File(_) = self.place else { return Ok(()) };
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context(self.name),
            _ => Ok(()),
        }
    }
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let rights = match fs::metadata(path) {
            Ok(known) if !known.is_file() => return File::create(path).map(Place::Stream),
            // Whoever may not write to it may not replace it, either.
            Ok(known) => File::options().append(true).open(path).map(|_| known.permissions())?,
            Err(_) => Permissions::from_mode(0o666),
        };
        beside(path, rights.clone())?.close()?;
        Ok(Place::File(rights))
    }
}

fn filled<W: Write>(file: W, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<W> {
    let mut buffered = BufWriter::new(file);
    fill(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)
}

/// A new file in the same folder, to be renamed.
fn beside(path: &Path, rights: Permissions) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Of a folder that is missing the error should not name the file beside.
    fs::metadata(folder)?;
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part").permissions(rights);
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let output = OutputFile::create("--html", &path).unwrap();
        let failed = output.write(|out| {
            out.write_all(b"half")?;
            assert_eq!(fs::read_to_string(&path)?, "old");
            Err(io::Error::other("no more"))
        });
        assert!(format!("{:#}", failed.unwrap_err()).ends_with(": no more"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        let output = OutputFile::create("--html", &path).unwrap();
        output.write(|out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let output = OutputFile::create("--html", &link).unwrap();
        output.write(|out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let device = OutputFile::create("--html", Path::new("/dev/null")).unwrap();
        device.write(|out| out.write_all(b"new")).unwrap();
    }

    #[test]
    fn a_folder_that_is_missing_is_said_before_the_work() {
        let error = OutputFile::create("--trace", Path::new("/nowhere/at/all.txt")).unwrap_err();
        assert!(format!("{error:#}").starts_with("--trace /nowhere/at/all.txt: "), "{error:#}");
    }
}

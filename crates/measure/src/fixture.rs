//! A machine made of files, for tests.

use std::fs;
use syscost_host::files::Root;

pub struct Machine(tempfile::TempDir);

impl Machine {
    pub fn empty() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn root(&self) -> Root {
        Root::at(self.0.path())
    }
}

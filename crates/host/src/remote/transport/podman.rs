//! podman: a process in a running container of this user. Source: podman-exec(1).

use super::{Transport, owned, plain_name};

pub struct Podman;

impl Transport for Podman {
    fn name(&self) -> &'static str {
        "podman"
    }

    fn form(&self) -> &'static str {
        "podman:NAME"
    }

    fn place(&self, text: &str) -> Result<String, String> {
        plain_name("container", text, "._-")
    }

    fn words(&self, place: &str) -> Vec<String> {
        owned(&["podman", "exec", "-i", place])
    }

    fn install(&self) -> &'static str {
        "install podman: apt-get install podman"
    }

    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (
                &["no container with name", "no such container"],
                "name a container that `podman ps` of the same user shows: root has others than you",
            ),
            (
                &["state improper", "is not running", "on running containers"],
                "start it: podman start {place}",
            ),
            (&[""], "see what it says: {command} true"),
        ]
    }
}

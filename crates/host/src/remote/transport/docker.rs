//! docker: a process in a running container, by the daemon that the command talks to (DOCKER_HOST, its context).
//! Source: docker container exec(1).

use super::{Transport, owned, plain_name};

pub struct Docker;

impl Transport for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn form(&self) -> &'static str {
        "docker:NAME"
    }

    fn place(&self, text: &str) -> Result<String, String> {
        plain_name("container", text, "._-")
    }

    fn words(&self, place: &str) -> Vec<String> {
        owned(&["docker", "exec", "-i", place])
    }

    fn install(&self) -> &'static str {
        "install docker's command (apt-get install docker.io), or use podman:NAME"
    }

    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (
                &["permission denied while trying to connect", "dial unix"],
                "let your user reach the daemon: run as root, or join the group docker",
            ),
            (
                &["cannot connect to the docker daemon", "is the docker daemon running"],
                "start the daemon (systemctl start docker), or name another one: DOCKER_HOST",
            ),
            (&["no such container"], "name a container that `docker ps` shows"),
            (&["is not running", "is paused", "is restarting"], "start it: docker start {place}"),
            (&[""], "see what it says: {command} true"),
        ]
    }
}

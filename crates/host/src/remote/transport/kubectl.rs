//! kubectl: a process in a container of a pod, by the cluster and the user of your kubeconfig. Source: kubectl exec --help.

use super::{Transport, owned, plain_name};

pub struct Kubectl;

impl Transport for Kubectl {
    fn name(&self) -> &'static str {
        "kubectl"
    }

    fn form(&self) -> &'static str {
        "kubectl:[NAMESPACE/]POD[:CONTAINER]"
    }

    fn place(&self, text: &str) -> Result<String, String> {
        let (namespace, pod, container) = parts(text);
        for (what, name) in [("namespace", namespace), ("pod", Some(pod)), ("container", container)] {
            name.map_or(Ok(()), |name| plain_name(what, name, ".-").map(drop))?;
        }
        Ok(text.to_string())
    }

    fn words(&self, place: &str) -> Vec<String> {
        let (namespace, pod, container) = parts(place);
        let mut words = owned(&["kubectl", "exec", "-i"]);
        words.extend(namespace.map(|name| format!("--namespace={name}")));
        words.extend(container.map(|name| format!("--container={name}")));
        words.extend(owned(&[pod, "--"]));
        words
    }

    fn install(&self) -> &'static str {
        "install kubectl (https://kubernetes.io/docs/tasks/tools), of a version near the cluster's"
    }

    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (
                &[
                    "connection to the server",
                    "unable to connect to the server",
                    "no configuration",
                    "context",
                ],
                "choose a cluster that answers: kubectl config get-contexts; kubectl cluster-info",
            ),
            (
                &["forbidden", "unauthorized"],
                "your role has to allow `create` of pods/exec in that namespace: kubectl auth can-i create pods/exec",
            ),
            (
                &["is not valid for pod", "container not found", "container name must be specified"],
                "name one of its containers: kubectl:[NAMESPACE/]POD:CONTAINER (kubectl describe pod)",
            ),
            (
                &["not found", "unable to upgrade", "completed pod", "does not have a host"],
                "name a pod that runs: kubectl get pods --all-namespaces --field-selector=status.phase=Running",
            ),
            (&[""], "see what it says: {command} true"),
        ]
    }
}

/// Namespace, pod and container. What does not belong to the form is left in the pod's name, which then is none.
fn parts(text: &str) -> (Option<&str>, &str, Option<&str>) {
    let (namespace, rest) = text.split_once('/').map_or((None, text), |(name, rest)| (Some(name), rest));
    let (pod, container) = rest.rsplit_once(':').map_or((rest, None), |(pod, name)| (pod, Some(name)));
    (namespace, pod, container)
}

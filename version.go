package volsim

// KubernetesVersion is the version of Kubernetes whose rules are held.
const KubernetesVersion = "v1.36.3"

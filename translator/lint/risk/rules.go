package risk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// Level is how much a finding matters.
type Level int

// The levels.
const (
	low Level = iota
	medium
	high
	critical
)

// String returns the name of a level.
func (l Level) String() string { return [...]string{"low", "medium", "high", "critical"}[l] }

// rule is a power with the requests that need it.
type rule struct {
	code diag.Code
	// word names the power in lists; rules about who holds one have none.
	word string
	// can completes the sentence "a subject can ...".
	can string
	// level holds for an account that has the power in the whole cluster.
	level  Level
	probes []probe
}

// probe is the requests of every verb for every resource. A resource may have a
// subresource; empty members are open.
type probe struct {
	verbs, groups, resources []string
	// isCluster marks resources without a namespace.
	isCluster bool
	// namespace is the only one in which the requests are dangerous; empty for every one.
	namespace string
	// names are as dangerous as all: a rule that lists one matters as much as one without
	// names.
	names []string
}

// other stands for every verb, group, resource or name that no document names.
const other = "writ-any-other"

const systemNamespace = "kube-system"

var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "update", "patch"}
	core   = []string{""}
)

func namespaced(verbs, groups []string, resources ...string) probe {
	return probe{verbs: verbs, groups: groups, resources: resources}
}

func clusterWide(verbs, groups []string, resources ...string) probe {
	return probe{verbs: verbs, groups: groups, resources: resources, isCluster: true}
}

var (
	rbac      = []string{"rbac.authorization.k8s.io"}
	admission = []string{"admissionregistration.k8s.io"}
	signing   = []string{"certificates.k8s.io"}
)

// named returns a probe of which some names are as dangerous as all.
func (p probe) named(names ...string) probe {
	p.names = names
	return p
}

var allPowers = rule{diag.RiskAllPowers, Everything, "do everything", critical, []probe{namespaced([]string{other}, []string{other}, other)}}

// rules are the powers that are looked for, each holder of all powers aside.
var rules = []rule{
	{diag.RiskReadSecrets, "secrets", "read Secrets", high, []probe{namespaced(reads, core, "secrets")}},
	{diag.RiskCreatePods, "workloads", "create or change pods", high, []probe{namespaced(writes, core, "pods")}},
	{diag.RiskCreateWorkloads, "workloads", "create or change workloads", high, []probe{
		namespaced(writes, []string{"apps"}, "deployments", "daemonsets", "statefulsets", "replicasets"),
		namespaced(writes, []string{"batch"}, "jobs", "cronjobs"),
		namespaced(writes, core, "replicationcontrollers"),
	}},
	{diag.RiskExec, "exec", "run commands in pods", high, []probe{
		namespaced([]string{"create", "get"}, core, "pods/exec", "pods/attach"),
		namespaced([]string{"update", "patch"}, core, "pods/ephemeralcontainers"),
	}},
	{diag.RiskPortForward, "port-forward", "connect to ports of pods", medium, []probe{namespaced([]string{"create", "get"}, core, "pods/portforward", "pods/proxy", "services/proxy")}},
	{diag.RiskNodeProxy, "nodes/proxy", "use the API of kubelets", high, []probe{clusterWide([]string{"get", "create"}, core, "nodes/proxy")}},
	{diag.RiskAccountToken, "tokens", "issue tokens of service accounts", high, []probe{namespaced([]string{"create"}, core, "serviceaccounts/token")}},
	{diag.RiskImpersonate, "impersonate", "impersonate others", critical, []probe{
		clusterWide([]string{"impersonate"}, core, "users"),
		clusterWide([]string{"impersonate"}, core, "groups").named("system:masters", "kubeadm:cluster-admins"),
		clusterWide([]string{"impersonate"}, []string{"authentication.k8s.io"}, "uids", "userextras/"+other),
		namespaced([]string{"impersonate"}, core, "serviceaccounts"),
	}},
	{diag.RiskBindEscalate, "bind and escalate", "bind or extend roles beyond its own permissions", critical, []probe{
		// An API server asks for bind in the namespace of the binding, also about ClusterRoles.
		namespaced([]string{"bind"}, rbac, "roles", "clusterroles").named("cluster-admin"),
		namespaced([]string{"escalate"}, rbac, "roles"), clusterWide([]string{"escalate"}, rbac, "clusterroles"),
	}},
	{diag.RiskWriteRoles, "roles", "write roles or bindings", medium, []probe{
		namespaced(writes, rbac, "roles", "rolebindings"), clusterWide(writes, rbac, "clusterroles", "clusterrolebindings"),
	}},
	{diag.RiskAdmission, "admission", "change admission webhooks or policies", high, []probe{clusterWide([]string{"create", "update", "patch", "delete", "deletecollection"}, admission,
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings")}},
	{diag.RiskCertificates, "certificates", "approve or sign certificates", high, []probe{
		// Changing a request's approval or status is rejected by an API server without these
		// verbs. Certificates of these signers are accepted by it.
		clusterWide([]string{"approve", "sign"}, signing, "signers").named(
			"kubernetes.io/*", "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"),
	}},
	{diag.RiskCreateVolumes, "volumes", "create PersistentVolumes, hostPath ones included", high, []probe{clusterWide([]string{"create"}, core, "persistentvolumes")}},
	{diag.RiskSystemConfig, "kube-system", "change ConfigMaps of kube-system", high, []probe{{
		// Those that matter exist: creating others changes nothing.
		verbs: []string{"update", "patch"}, groups: core, resources: []string{"configmaps"}, namespace: systemNamespace,
		names: []string{"aws-auth", "coredns"},
	}}},
	{diag.RiskChangeNodes, "nodes", "change or delete nodes", medium, []probe{clusterWide([]string{"update", "patch", "delete", "deletecollection"}, core, "nodes", "nodes/status")}},
	{diag.RiskServiceStatus, "status", "change the status of services or pods", medium, []probe{namespaced([]string{"update", "patch"}, core, "services/status", "pods/status")}},
	{diag.RiskDelete, "delete", "delete workloads or data", medium, []probe{
		namespaced([]string{"delete", "deletecollection"}, core, "pods", "secrets", "configmaps", "persistentvolumeclaims", "services"),
		namespaced([]string{"create"}, core, "pods/eviction"),
		namespaced([]string{"delete", "deletecollection"}, []string{"apps"}, "deployments", "daemonsets", "statefulsets"),
		clusterWide([]string{"delete", "deletecollection"}, core, "namespaces", "persistentvolumes"),
		// The objects of a kind are deleted with its definition.
		clusterWide([]string{"delete", "deletecollection"}, []string{"apiextensions.k8s.io"}, "customresourcedefinitions"),
	}},
	{diag.RiskDeleteEvents, "events", "delete events", medium, []probe{
		namespaced([]string{"delete", "deletecollection"}, []string{"", "events.k8s.io"}, "events"),
	}},
	{diag.RiskWildcardVerbs, Wildcards, "use every verb, also those that later versions add", medium, []probe{{verbs: []string{other}}}},
}

// The rules about who holds a power, whatever it is beyond discovery.
var (
	everybody      = rule{diag.RiskEverybody, "", "do more than discover the API", high, []probe{{}}}
	defaultAccount = rule{diag.RiskDefaultAccount, "", "do more than discover the API, and so can every pod without an account of its own", medium, []probe{{}}}
)

// isAbout reports whether a rule looks at a holder: all but two look at every one.
func (r *rule) isAbout(principal string) bool {
	switch r {
	case &everybody:
		return isEverybody(principal)
	case &defaultAccount:
		return isDefaultAccount(principal)
	}
	return true
}

// instance names the request of an example that a condition allows, of a rule about any
// request.
func (r *rule) instance(example map[string]any, condition statement.Condition) string {
	if r.probes[0].resources != nil || example == nil {
		return ""
	}
	text := func(key string) string { value, _ := example[key].(string); return value }
	thing := cmp.Or(text("path"), strings.TrimSuffix(text("resource")+"/"+text("subresource"), "/"))
	if group := text("apiGroup"); group != "" && group != other {
		if isOfAnyResource(condition) && !slices.Contains(vocabulary.Resources([]string{group}), thing) {
			thing = "resources of " + group // the one of the example is of another group
		} else {
			thing += "." + group
		}
	}
	if kind := text("resource"); kind == other || kind == statement.OtherWord+"s" {
		thing = "every resource"
	}
	verb, name := text("verb"), text("name")
	if verb == other {
		verb = "every verb on"
	}
	if name == other {
		name = ""
	}
	if r.word == Wildcards {
		return "on " + thing
	}
	return strings.TrimSuffix(verb+" "+thing+" "+name, " ")
}

func isOfAnyResource(condition statement.Condition) bool {
	rule, isKubernetes := condition.(*statement.KubernetesRule)
	return isKubernetes && slices.Contains(rule.Resources, "*")
}

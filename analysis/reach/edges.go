package reach

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Class is how certain a hop or a path is.
type Class int

// The classes, the best one first.
const (
	Certain Class = iota
	Assumed
	Possible
	never
)

var classNames = []string{"certain", "assumed", "possible"}

func (c Class) String() string { return classNames[c] }

// ParseClass returns the class of a name, or false.
func ParseClass(name string) (Class, bool) {
	c := Class(slices.Index(classNames, name))
	return c, c >= Certain
}

// MarshalText implements encoding.TextMarshaler.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Groups of the API whose resources edges name.
const (
	rbacGroup      = "rbac.authorization.k8s.io"
	writGroup      = "writ.dev"
	denyGroup      = tables.BreakglassGroup
	certificates   = "certificates.k8s.io"
	authentication = "authentication.k8s.io"
	admissionGroup = "admissionregistration.k8s.io"
)

// edge is a way to another identity: requests that are all allowed, and whom they lead to.
type edge struct {
	name    string
	asks    []ask
	becomes becomes
	class   Class
	assumes string // what must exist or run, for an assumed edge
	why     string // for an edge that is possible at best
	source  string // what states the edge
}

// ask is a set of requests of which one is needed.
type ask struct {
	verbs     []string
	group     string
	resources []string // NAME or NAME/SUB
	isNamed   bool     // the requests have a name, except list and watch
	name      string   // the name, if it is fixed
}

// becomes is whom an edge leads to.
type becomes int

const (
	accountsThere becomes = iota // every account of the namespace of the requests
	everyAccount                 // every account
	everyNode                    // every node and every account
	aSink                        // a cluster administrator
	anybody                      // any user and group but system:masters
	anyNode                      // any node
)

// isNamespaced reports whether the requests of an edge are in a namespace.
func (b becomes) isNamespaced() bool { return b == accountsThere || b == everyNode }

var (
	create  = []string{"create"}
	edits   = []string{"update", "patch"}
	writes  = []string{"create", "update", "patch"}
	readers = []string{"get", "list", "watch"}
	pods    = []string{"pods"}
	secrets = []string{"secrets"}
)

func podSub(sub string, verbs []string) []ask {
	return []ask{{verbs: verbs, resources: []string{"pods/" + sub}, isNamed: true}}
}

// workloads are the resources whose controllers create pods, by API group.
var workloads = []ask{
	{group: "apps", resources: []string{"deployments", "daemonsets", "replicasets", "statefulsets"}},
	{group: "batch", resources: []string{"jobs", "cronjobs"}},
	{group: "", resources: []string{"replicationcontrollers"}},
}

const (
	goodPractices = "Kubernetes, RBAC Good Practices: "
	aPod          = "a pod runs as it"
)

// edges are the edges that are requests and whom they lead to. Those whose result depends
// on names in the requests are in impersonation.go and changes.go.
var edges = withWorkloads([]edge{
	{name: "pod-create", asks: []ask{{verbs: create, resources: pods}}, becomes: accountsThere,
		source: goodPractices + "workload creation"},
	{name: "pod-edit", asks: []ask{{verbs: edits, resources: pods, isNamed: true}}, becomes: accountsThere, class: Assumed, assumes: aPod,
		source: goodPractices + "workload creation; the image of a pod can be changed"},
	{name: "exec", asks: podSub("exec", create), becomes: accountsThere, class: Assumed, assumes: aPod,
		source: "Kubernetes, Authorization: exec asks for create of pods/exec, since 1.35 for WebSockets too"},
	{name: "attach", asks: podSub("attach", create), becomes: accountsThere, class: Assumed, assumes: aPod,
		source: "Kubernetes, Authorization: attach asks for create of pods/attach"},
	{name: "ephemeral", asks: podSub("ephemeralcontainers", edits), becomes: accountsThere, class: Assumed, assumes: aPod,
		source: "Kubernetes, Ephemeral Containers: they run beside the others, as the account of the pod"},
	{name: "portforward", asks: podSub("portforward", create), becomes: accountsThere, class: Possible, why: "service",
		source: "Kubernetes, kubectl port-forward: what a service of the pod gives away"},
	{name: "secret-read", asks: []ask{{verbs: readers, resources: secrets, isNamed: true}}, becomes: accountsThere, class: Assumed, assumes: "it has a token Secret",
		source: goodPractices + "listing secrets"},
	{name: "secret-mint", asks: []ask{{verbs: create, resources: secrets}, {verbs: readers, resources: secrets, isNamed: true}}, becomes: accountsThere,
		source: "Kubernetes, Managing Service Accounts: the control plane fills a token into a Secret of an account"},
	{name: "csr", asks: signing("kubernetes.io/kube-apiserver-client"), becomes: anybody,
		source: goodPractices + "CSRs and certificate issuing; admission refuses system:masters (CertificateSubjectRestriction)"},
	{name: "csr", asks: signing("kubernetes.io/kube-apiserver-client-kubelet"), becomes: anyNode,
		source: "Kubernetes, Certificate Signing Requests: this signer makes clients of kubelets"},
	{name: "admission", asks: []ask{{verbs: writes, group: admissionGroup, resources: []string{"mutatingwebhookconfigurations"}, isNamed: true}}, becomes: aSink, class: Assumed,
		assumes: "an administrator writes a binding", source: goodPractices + "control admission webhooks"},
	{name: "admission", asks: []ask{
		{verbs: writes, group: admissionGroup, resources: []string{"mutatingadmissionpolicies"}, isNamed: true},
		{verbs: writes, group: admissionGroup, resources: []string{"mutatingadmissionpolicybindings"}, isNamed: true}},
		becomes: aSink, class: Assumed, assumes: "an administrator writes a binding", source: "Kubernetes, Mutating Admission Policy"},
	{name: "nodes-proxy", asks: []ask{{verbs: []string{"get", "create"}, resources: []string{"nodes/proxy"}, isNamed: true}}, becomes: everyAccount, class: Assumed,
		assumes: "its pod runs on the node", source: goodPractices + "access to proxy subresource of nodes"},
	{name: "node-escape", asks: []ask{{verbs: create, resources: pods}}, becomes: everyNode, class: Possible, why: "pod-security-admission",
		source: "Bad Pods: a privileged pod is root on its node"},
})

// signing returns what a certificate of a signer takes.
func signing(signer string) []ask {
	return []ask{
		{verbs: create, group: certificates, resources: []string{"certificatesigningrequests"}},
		{verbs: edits, group: certificates, resources: []string{"certificatesigningrequests/approval"}, isNamed: true},
		{verbs: []string{"approve"}, group: certificates, resources: []string{"signers"}, isNamed: true, name: signer},
	}
}

// withWorkloads adds the edges of workloads behind that of creating pods, one for each API
// group.
func withWorkloads(list []edge) []edge {
	var out []edge
	for _, verbs := range [][]string{create, edits} {
		for _, w := range workloads {
			e := edge{name: "workload-create", becomes: accountsThere, source: goodPractices + "workload creation"}
			w.verbs = verbs
			if w.isNamed = &verbs[0] != &create[0]; w.isNamed {
				e.name, e.class, e.assumes = "workload-edit", Assumed, "there is one"
			}
			e.asks = []ask{w}
			out = append(out, e)
		}
	}
	return append(append(list[:1:1], out...), list[1:]...)
}

// split returns the name of a resource and its subresource.
func split(resource string) (name, sub string) {
	name, sub, _ = strings.Cut(resource, "/")
	return name, sub
}

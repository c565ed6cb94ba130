package companion

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
)

// Names of what is printed.
const (
	// ProbeName is the ConfigMap whose creation a companion refuses.
	ProbeName = "writ-companion-probe"
	// probeSlice is the key of its data that names the slice which refuses it.
	probeSlice = "slice"

	digestAnnotation = "writ.dev/companion"
	slicePrefix      = "writ-companion-"
)

// Bounds of a slice.
const (
	maxValidations = 100
	maxBytes       = 256 << 10
	maxMessage     = 500
)

// exemptUsers and exemptGroups are never asked about: the conditions of writ kubernetes config
// leave them out of reviews, and no review reaches system:masters.
var (
	exemptUsers  = []string{"system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"}
	exemptGroups = []string{"system:masters", "system:nodes", "system:serviceaccounts:kube-system"}
)

// Slice is a policy; its binding has its name.
type Slice struct {
	Name        string
	Policy      Policy
	Annotations map[string]string
}

// Policy is the spec of a ValidatingAdmissionPolicy.
type Policy struct {
	FailurePolicy    string       `json:"failurePolicy" yaml:"failurePolicy"`
	MatchConstraints Constraints  `json:"matchConstraints" yaml:"matchConstraints"`
	MatchConditions  []Named      `json:"matchConditions,omitempty" yaml:"matchConditions,omitempty"`
	Variables        []Named      `json:"variables,omitempty" yaml:"variables,omitempty"`
	Validations      []Validation `json:"validations" yaml:"validations"`
}

// Constraints are the requests of a policy.
type Constraints struct {
	MatchPolicy   string  `json:"matchPolicy" yaml:"matchPolicy"`
	ResourceRules []Rules `json:"resourceRules" yaml:"resourceRules"`
}

// Rules are operations on resources.
type Rules struct {
	APIGroups     []string `json:"apiGroups" yaml:"apiGroups,flow"`
	APIVersions   []string `json:"apiVersions" yaml:"apiVersions,flow"`
	Operations    []string `json:"operations" yaml:"operations,flow"`
	Resources     []string `json:"resources" yaml:"resources,flow"`
	ResourceNames []string `json:"resourceNames,omitempty" yaml:"resourceNames,omitempty,flow"`
}

// Named is an expression with a name.
type Named struct {
	Name       string `json:"name" yaml:"name"`
	Expression string `json:"expression" yaml:"expression"`
}

// Validation is an expression that must be true.
type Validation struct {
	Expression string `json:"expression" yaml:"expression"`
	Message    string `json:"message" yaml:"message"`
	Reason     string `json:"reason" yaml:"reason"`

	source string
}

// wholeObjects are the resources whose requests have the object as their body: a scale, an
// eviction or a token is another one.
var wholeObjects = []string{"*", "*/status", "*/ephemeralcontainers", "*/resize", "*/finalize", "*/approval"}

// variables are what expressions read.
func (b *builder) variables() []Named {
	extra := func(key string) string {
		k := quote(key)
		return fmt.Sprintf(`has(request.userInfo.extra) && %s in request.userInfo.extra && size(request.userInfo.extra[%s]) == 1 ? request.userInfo.extra[%s][0] : ""`, k, k, k)
	}
	return append(Requester(), []Named{
		{"group", `request.resource.group`},
		{"resource", `request.resource.resource`},
		{"sub", `has(request.subResource) ? request.subResource : ""`},
		{"target", `variables.resource + (variables.sub == "" ? "" : "/" + variables.sub)`},
		// The review of a Namespace that exists is about that namespace.
		{"isNamespace", `request.resource.group == "" && request.resource.resource == "namespaces"`},
		{"space", `variables.isNamespace ? (request.operation == "CREATE" || !has(request.name) ? "" : request.name) : (has(request.namespace) ? request.namespace : "")`},
		{"namespaceLabels", `variables.space == "" ? dyn({}) : variables.isNamespace ? (has(oldObject.metadata.labels) ? oldObject.metadata.labels : dyn({})) : ` +
			`(has(namespaceObject.metadata.labels) ? dyn(namespaceObject.metadata.labels) : dyn({}))`},
		{"name", `request.operation == "CREATE" && variables.sub == "" ? (has(object.metadata.name) ? object.metadata.name : "") : (has(request.name) ? request.name : "")`},
		// A decision must allow an update for the object as it was and as it becomes.
		{"objects", `request.operation == "CREATE" ? [object] : request.operation == "UPDATE" ? [oldObject, object] : [oldObject]`},
		{"before", `request.operation == "CREATE" ? dyn({}) : oldObject`},
		// The server sets the status of these when they are created, whatever the request has.
		{"setsStatus", `request.operation == "CREATE" && (variables.group in ["apps", "batch"] || variables.group == "" && variables.resource in ` +
			`["namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "replicationcontrollers", "resourcequotas", "services"])`},
		{"session", extra(b.SessionKey)},
		{"escalation", extra(b.EscalationKey)},
	}...)
}

// Requester returns the variables that subjects are compared with.
func Requester() []Named {
	return []Named{
		{"user", `has(request.userInfo.username) ? request.userInfo.username : ""`},
		{"groups", `has(request.userInfo.groups) ? request.userInfo.groups : []`},
	}
}

// asks leaves out those whom no review is about, but for the probe: administrators send it too.
func asks() Named {
	probe := fmt.Sprintf(`request.operation == "CREATE" && request.resource.group == "" && request.resource.resource == "configmaps" && has(object.metadata.name) && object.metadata.name == %q`, ProbeName)
	return Named{"asked", probe + fmt.Sprintf(` || !(has(request.userInfo.username) && %s) && !(has(request.userInfo.groups) && request.userInfo.groups.exists(g, %s))`,
		isIn("request.userInfo.username", exemptUsers), isIn("g", exemptGroups))}
}

// slice puts validations into policies, and computes the digest.
func (c *Companion) slice(all []Validation, variables []Named) {
	var groups [][]Validation
	size := maxBytes
	for _, v := range all {
		own := len(v.Expression) + len(v.Message) + len(v.source) + 100
		if n := len(groups); n == 0 || size+own > maxBytes-(16<<10) || len(groups[n-1]) == maxValidations-1 {
			groups, size = append(groups, nil), 0
		}
		size += own
		groups[len(groups)-1] = append(groups[len(groups)-1], v)
	}
	if len(groups) == 0 {
		groups = [][]Validation{nil}
	}
	hash := sha256.New()
	for i, group := range groups {
		p := Policy{
			FailurePolicy: "Fail", Variables: variables, MatchConditions: []Named{asks()},
			MatchConstraints: Constraints{"Exact", []Rules{
				{[]string{"*"}, []string{"*"}, []string{"CREATE", "UPDATE", "DELETE"}, wholeObjects, nil},
			}},
			Validations: group,
		}
		hash.Write(jsontext.Marshal(p))
		c.Slices = append(c.Slices, Slice{Name: fmt.Sprintf("%s%d", slicePrefix, i+1), Policy: p, Annotations: make(map[string]string)})
	}
	c.Digest = hex.EncodeToString(hash.Sum(nil))
	for i := range c.Slices {
		s := &c.Slices[i]
		s.Annotations[digestAnnotation] = c.Digest
		s.Policy.Validations = append([]Validation{probe(i+1, c.Digest)}, s.Policy.Validations...)
		for at, v := range s.Policy.Validations {
			if v.source != "" {
				s.Annotations[fmt.Sprintf("writ.dev/source-%d", at)] = v.source
			}
		}
	}
}

// DigestOf returns the digest that the annotations of a slice have; empty: they are those of
// another object.
func DigestOf(annotations map[string]string) string { return annotations[digestAnnotation] }

// Probe returns the ConfigMap whose creation a slice refuses.
func Probe(namespace string, slice int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": ProbeName, "namespace": namespace},
		"data": map[string]any{probeSlice: strconv.Itoa(slice)},
	}
}

// ProbeMessage is the message with which a companion refuses its probe.
func ProbeMessage(digest string) string { return "writ companion " + digest }

// StaticSuffix ends the names of policies that an API server reads from its disk.
const StaticSuffix = ".static.k8s.io"

var probeAnswer = regexp.MustCompile(`^configmaps "` + ProbeName + `" is forbidden: ValidatingAdmissionPolicy '` + slicePrefix + `(\d+)(` + regexp.QuoteMeta(StaticSuffix) +
	`)?' with binding '` + slicePrefix + `(\d+)(` + regexp.QuoteMeta(StaticSuffix) + `)?' denied request: ` + ProbeMessage("([0-9a-f]{64})") + `$`)

// ProbeDigest returns the digest in the message with which an API server answers the probe of
// a slice, empty for a message that is not of the policy of that slice.
func ProbeDigest(message string, slice int) string {
	found := probeAnswer.FindStringSubmatch(message)
	if n := strconv.Itoa(slice); found == nil || found[1] != n || found[3] != n || found[2] != found[4] {
		return ""
	}
	return found[5]
}

// probe refuses the ConfigMap that names a slice; the first slice one that names none too.
func probe(slice int, digest string) Validation {
	named := fmt.Sprintf(`(has(object.data) && %q in object.data ? object.data[%q] : "1") != "%d"`, probeSlice, probeSlice, slice)
	return Validation{
		Expression: fmt.Sprintf(`request.operation != "CREATE" || variables.resource != "configmaps" || variables.group != "" || variables.name != %q || %s`, ProbeName, named),
		Message:    ProbeMessage(digest), Reason: "Forbidden",
	}
}

// message says what a write that fails the check of a part is.
func (p *part) message() string {
	out := "denied by " + p.title
	if p.what != "" {
		out += ": " + p.what
	}
	if !p.deny {
		out = "not allowed: " + p.title + " allows it only if " + p.what
	}
	return Message(out)
}

// Message returns a text as the message of a validation, which is one line of bounded length.
func Message(text string) string {
	out := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	for len(out) > maxMessage {
		_, size := utf8.DecodeLastRuneInString(out)
		out = out[:len(out)-size]
	}
	return out
}

package decision

import "time"

// Decision is the answer to a Request. Its zero value allows nothing and denies
// nothing. Its lists and pointers may be shared with other callers and must not be
// written.
type Decision struct {
	Allowed bool `json:"allowed"`
	// Denied means an explicit denial or an evaluation error. Never true beside
	// Allowed.
	Denied   bool      `json:"denied"`
	Reason   string    `json:"reason"`
	Warnings []string  `json:"warnings"`
	Matched  []Matched `json:"matched"`
	// PodSecurity is what pod security made of the pod; nil where none was
	// evaluated.
	PodSecurity *PodSecurity `json:"podSecurity,omitempty"`
	// Pods is what each deny policy made of the pod, in the order they were asked;
	// a policy after the first denial is not asked.
	Pods []PodOutcome `json:"-"`
	// LabelsUnknown says that a deny rule decided only because the labels of the
	// namespace are not known.
	LabelsUnknown bool `json:"-"`
	// EvaluationError is why no decision was reached, empty if one was. A decision
	// with an evaluation error denies and must not be cached.
	EvaluationError string `json:"-"`
	// Revision is the revision of the bundle that answered.
	Revision string `json:"-"`
	// Expires is until when the decision holds, where the clock was read for
	// it. Zero: as long as the revision.
	Expires time.Time `json:"-"`
}

// Matched is one rule that matched, joined with the binding that applies it.
type Matched struct {
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Rule       int      `json:"rule"`
	Source     string   `json:"source"`
	Effect     string   `json:"effect"`
	APIVersion string   `json:"apiVersion"`
	Role       *RoleRef `json:"role,omitempty"`
}

// PodSecurity is one policy's judgement of a pod.
type PodSecurity struct {
	Policy  string   `json:"policy"`
	Action  string   `json:"action"` // allow, warn or deny
	Score   int      `json:"score"`
	Factors []string `json:"factors"`
}

// PodOutcome is what one deny policy made of a pod it was to judge.
type PodOutcome struct {
	Policy string
	// Action is allow, warn or deny. An exempt pod and an open fail mode allow, a
	// closed one denies.
	Action string
	// Evaluated says that factors and a score were computed.
	Evaluated bool
	Score     int
	Factors   []string
	// Override says that an escalation's override settled it.
	Override bool
}

// Facts are facts of a request that only its cluster knows.
type Facts struct {
	// Pod is the pod behind the request, which pod security would judge.
	Pod bool
	// NamespaceLabels are the labels of the request's namespace.
	NamespaceLabels bool
}

// RoleRef names the role a binding names.
type RoleRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// WhoCan answers "who can do this?": principals for each of whom, tried alone,
// the decision is allowed. Lists are sorted, each name once, never nil.
type WhoCan struct {
	Users           []string
	Groups          []string
	ServiceAccounts []string // as system:serviceaccount:NS:NAME
	// Except are the subjects of bindings with a matching deny rule: members of
	// a listed group who are among them may still be denied.
	Except   []Exception
	Warnings []string
	// Reason is why no principal is listed, if one policy denies every request.
	Reason string
	// EvaluationError is why there is no answer, empty if there is one.
	EvaluationError string
	Revision        string
}

// Exception is a subject a matching deny rule is bound to.
type Exception struct {
	Kind string // User or Group
	Name string
	// Step is that of the order over all families at which the rule denies: 3
	// for the master namespace, 5 for the request's own.
	Step int
}

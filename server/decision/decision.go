package decision

import (
	"context"
	"time"
)

// Decision is the answer to a Request. Its zero value allows nothing and
// denies nothing. What its lists and pointers lead to may be shared with every
// other caller that asked the same: it is read, never written.
type Decision struct {
	Allowed bool `json:"allowed"`
	// Denied means an explicit deny, or trouble while evaluating. Never true
	// beside Allowed.
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
	// Trouble is why no decision could be reached, empty where one was. A
	// decision with trouble is denied and must not be cached.
	Trouble string `json:"-"`
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

// Wants is what a request lacks that policies in its scope read.
type Wants struct {
	// Pod says that pod security would judge the pod behind the request.
	Pod bool
	// NamespaceLabels says that labels of the request's namespace may be read.
	NamespaceLabels bool
}

// RoleRef names the role a binding names.
type RoleRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Evaluator answers requests. Trouble is part of the decision (denied, with
// Trouble set), not an error: every door has to refuse alike. Implementations
// are safe for concurrent use and keep neither the request nor what it points to.
type Evaluator interface {
	Evaluate(ctx context.Context, r *Request) Decision
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
	// Reason says why nobody is listed, where one thing denies everybody.
	Reason   string
	Trouble  string
	Revision string
}

// Exception is a subject a matching deny rule is bound to.
type Exception struct {
	Kind string // User or Group
	Name string
	// Step is that of the order over all families at which the rule denies: 3
	// for the master namespace, 5 for the request's own.
	Step int
}

// Wanter says what a request should be completed with before it is evaluated.
type Wanter interface {
	// Wants looks at what the request lacks. The error is trouble while
	// evaluating; then nothing is known of what is wanted.
	Wants(ctx context.Context, r *Request) (Wants, error)
}

// Reviewer also answers who-can: r has neither user nor groups.
type Reviewer interface {
	Evaluator
	WhoCan(ctx context.Context, r *Request) WhoCan
}

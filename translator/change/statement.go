package change

import (
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// The points that statements belong to.
const (
	PointAccess     = "access"
	PointVisibility = "visibility"
	PointGateway    = "gateway"
)

// The families of statements, beside those of tables.
const (
	familyDeny       = "denyPolicy"
	familyVisibility = "visibility"
)

// The outcomes of decisions.
const (
	outcomeAllow = "allow"
	outcomeDeny  = "deny"
	outcomeNone  = "none"

	outcomePartial = "partial"
	outcomeShown   = "shown"
	outcomeHidden  = "hidden"
)

// Statement is one rule joined with where it holds and for whom, as reports show it.
type Statement struct {
	ID        int            `json:"id"`
	In        []string       `json:"in,omitempty"`
	Family    string         `json:"family"`
	Effect    string         `json:"effect"`
	Step      int            `json:"step,omitempty"`
	Subjects  []string       `json:"subjects,omitempty"`
	Namespace string         `json:"namespace,omitempty"`
	Rule      any            `json:"rule,omitempty"`
	AppliesTo map[string]any `json:"appliesTo,omitempty"`
	// Policy, Order, Permissions, Entries and Clusters belong to the point visibility.
	Policy      string         `json:"policy,omitempty"`
	Order       []any          `json:"order,omitempty"`
	Permissions []string       `json:"permissions,omitempty"`
	Entries     map[string]any `json:"entries,omitempty"`
	Clusters    map[string]any `json:"clusters,omitempty"`

	Documents []Document `json:"documents"`
}

// Document is a document that a statement stands for.
type Document struct {
	In        string `json:"in,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`

	role, roleSource string // the key and the source of the role of a binding
}

// statement is a Statement with what the search needs.
type statement struct {
	family    string
	effect    string
	step      int
	subjects  []string // nil: everybody
	namespace string   // empty: every namespace, and none
	condition condition
	documents []Document
	// opaque is the reason why the statement does not decide by its lists alone: pod,
	// cel or extension:NAME. Empty for all others.
	opaque string
	// rank orders statements: the lowest one that fits decides. It equals step at the
	// point access.
	rank []byte
	// content identifies the rule and its place, without subjects and documents.
	content string
}

// condition is the part of a statement that a request matches or not, without its
// subjects and its namespace. The request is matched in stages.
type condition interface {
	// match returns 0 if the statement cannot match, whatever later stages bring. Bits
	// tell apart values on which a later stage depends; more bits match more requests.
	match(at stage, r *request) uint8
	// last is the last stage with a condition.
	last() stage
	// mention adds the values that the condition can tell apart.
	mention(v *values)
	// describe sets the rule, and what is particular to the family, as documents write it.
	describe(s *Statement)
	// without returns the condition reduced by what another one covers: the same
	// condition if it covers nothing, nil if it covers everything.
	without(other condition) condition
}

func (s *statement) holds(principals []string) bool {
	if s.subjects == nil {
		return true
	}
	for _, p := range principals {
		if _, found := slices.BinarySearch(s.subjects, p); found { // subjects are sorted
			return true
		}
	}
	return false
}

// match matches one stage, the namespace of the statement included.
func (s *statement) match(at stage, r *request) uint8 {
	if at == stageNamespace && s.namespace != "" && r.namespace != s.namespace {
		return 0
	}
	return s.condition.match(at, r)
}

func (s *statement) last() stage {
	if s.namespace != "" {
		return max(stageNamespace, s.condition.last())
	}
	return s.condition.last()
}

// fits reports whether a complete request fits the statement, subjects aside.
func (s *statement) fits(r *request) bool {
	for at := stage(0); at < stages; at++ {
		if s.match(at, r) == 0 {
			return false
		}
	}
	return true
}

// scopeOf returns appliesTo of a deny policy.
func scopeOf(p *tables.DenyPolicy) map[string]any {
	scope := make(map[string]any)
	for key, globs := range map[string][]tables.PathGlob{
		"clusters": p.Clusters, "tenants": p.Tenants, "sessions": p.Sessions, "escalationRefs": p.EscalationRefs,
	} {
		if len(globs) > 0 {
			scope[key] = globTexts(globs)
		}
	}
	if len(p.ReferredBy) > 0 {
		scope["referredBy"] = p.ReferredBy
	}
	return scope
}

func globTexts(globs []tables.PathGlob) []string {
	texts := make([]string, 0, len(globs))
	for _, g := range globs {
		text, err := g.MarshalText()
		if err != nil {
			panic(err) // every pattern has a text
		}
		texts = append(texts, string(text))
	}
	return texts
}

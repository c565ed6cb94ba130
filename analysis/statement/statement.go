// Package statement states what documents grant and deny: each statement is a rule joined
// with its subjects and its place. Tables come in; statements, and requests that fit some
// of them and not others, go out. The package must not know who compares statements or
// asks about them.
//
// # Terms
//
//   - A principal is "user:NAME" or "group:NAME".
//   - A World has the statements of one revision.
//   - A Search constructs a request, stage by stage: each stage chooses one of its parts.
//   - An opaque statement reads what no list expresses: a pod, CEL or an extension.
//
// # Design
//
// A search goes attribute by attribute over the values that statements name, one other
// value, and one value for each region of their patterns. Of the values of an attribute
// only those that leave the fewest exceptions are tried: the conditions on further
// attributes do not depend on the choice, except where the key of a stage says so. The
// search is therefore complete and short. The rejected alternative walks the product of
// the values of all attributes: it does not depend on the form of rules, but its cost
// grows with the revision.
package statement

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/dates"
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
	familyDebug      = "debugSession"
	familyVisibility = "visibility"
)

// The outcomes of decisions.
const (
	OutcomeAllow = "allow"
	OutcomeDeny  = "deny"
	OutcomeNone  = "none"

	OutcomePartial = "partial"
	OutcomeShown   = "shown"
	outcomeHidden  = "hidden"
)

// JSON is a statement as reports show it.
type JSON struct {
	ID        int      `json:"id"`
	In        []string `json:"in,omitempty"`
	Family    string   `json:"family"`
	Effect    string   `json:"effect"`
	Step      Step     `json:"step,omitzero"`
	Subjects  []string `json:"subjects,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	// Session is the BreakglassSession that gives the statement to its user, and Issuer the
	// only one of its requests; nil for any.
	Session string  `json:"session,omitempty"`
	Issuer  *string `json:"issuer,omitempty"`
	// Rule is a *Row, at the point visibility the index of the rule.
	Rule any `json:"rule,omitempty"`
	// AppliesTo has the patterns that a request must match, by the name of the list.
	AppliesTo map[string][]string `json:"appliesTo,omitempty"`
	// Policy, Order, Permissions, Entries and Clusters belong to the point visibility.
	Policy      string               `json:"policy,omitempty"`
	Order       []any                `json:"order,omitempty"`
	Permissions []string             `json:"permissions,omitempty"`
	Entries     map[string]TypeEntry `json:"entries,omitempty"`
	Clusters    *Clusters            `json:"clusters,omitempty"`

	Documents []Document `json:"documents"`

	// From and Until are when the statement begins and ends, in answers to who can do what;
	// empty without that bound.
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
}

// Step is the step of a statement in the order of evaluation. At the point visibility a statement
// has no step.
type Step int

// noStep is the step at the point visibility.
const noStep Step = -1

// IsZero reports whether JSON leaves the step out.
func (s Step) IsZero() bool { return s == noStep }

// Document is a document that a statement stands for.
type Document struct {
	In        string `json:"in,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`
	// Subjects are those that a binding names, in the answers to who can do what: others of
	// the statement have it by its other documents.
	Subjects []string `json:"subjects,omitempty"`

	// Binding is where the binding of a rule is written; empty for rules without one.
	Binding Written `json:"binding,omitzero"`
	// Role is the key of the role of a binding.
	Role string `json:"-"`
}

// Written is where a document is written: FILE:LINE, or the name of an object.
type Written struct {
	Source string `json:"source"`
}

// Place returns what a person edits to change a statement: the binding, or the document of
// the rule itself.
func (d *Document) Place() string { return cmp.Or(d.Binding.Source, d.Source) }

// Statement is a Statement with what the search needs.
type Statement struct {
	family    string
	Effect    string
	Step      int
	Subjects  []string // nil: everybody
	Namespace string   // empty: every namespace, and none
	Condition Condition
	Documents []Document
	// Dates is when the statement holds; nil: always. Content does not
	// include it.
	Dates *dates.Period
	// Session lends Base, a statement of the group of the session, to its user; both are nil
	// for all other statements.
	Session *tables.Session
	Base    *Statement
	// Opaque is the reason why the statement does not decide by its lists alone: pod,
	// cel or extension:NAME. Empty for all others.
	Opaque string
	// Rank orders statements: the lowest one that fits decides. It equals step at the
	// point access.
	Rank []byte
	// Content identifies the rule and its place, without subjects and documents.
	Content string
}

// Condition is the part of a statement that a request matches or not, without its
// subjects and its namespace. The request is matched in stages.
type Condition interface {
	// Match returns 0 if the statement cannot match, whatever later stages bring. Bits
	// tell apart values on which a later stage depends; more bits match more requests.
	Match(at stage, r *Request) uint8
	// last is the last stage with a condition.
	last() stage
	// filter is the condition on the namespace and its labels, nil if every one matches.
	filter() *tables.NamespaceFilter
	// Mention adds the values that the condition can tell apart.
	Mention(v *Values)
	// Describe sets the rule, and what is particular to the family, as documents write it.
	Describe(s *JSON)
	// Without returns the condition reduced by what another one covers: the same
	// condition if it covers nothing, nil if it covers everything.
	Without(other Condition) Condition
}

// Holds reports whether one of some principals is a subject of the statement.
func (s *Statement) Holds(principals []string) bool {
	if s.Subjects == nil {
		return true
	}
	for _, p := range principals {
		if _, found := slices.BinarySearch(s.Subjects, p); found { // subjects are sorted
			return true
		}
	}
	return false
}

// Match matches one stage, the namespace of the statement included.
func (s *Statement) Match(at stage, r *Request) uint8 {
	if at == stageNamespace && s.Namespace != "" && r.Namespace != s.Namespace {
		return 0
	}
	return s.Condition.Match(at, r)
}

func (s *Statement) last() stage {
	if s.Namespace != "" {
		return max(stageNamespace, s.Condition.last())
	}
	return s.Condition.last()
}

// Fits reports whether a complete request fits the statement, subjects aside.
func (s *Statement) Fits(r *Request) bool {
	for at := range stages {
		if s.Match(at, r) == 0 {
			return false
		}
	}
	return true
}

// scopeOf returns appliesTo of a deny policy.
func scopeOf(p *tables.DenyPolicy) map[string][]string {
	scope := make(map[string][]string)
	for i, globs := range p.Scope() {
		if len(*globs) > 0 {
			scope[tables.ScopeAttributes[i].List] = GlobTexts(*globs)
		}
	}
	if len(p.ReferredBy) > 0 {
		scope["referredBy"] = p.ReferredBy
	}
	return scope
}

// plainEscape is an escape that a pattern does not need: tables have each character of a
// class with one.
var plainEscape = regexp.MustCompile(`\\([^-^!*?{}\[\]\\])`)

// GlobTexts returns patterns as documents write them.
func GlobTexts(globs []tables.PathGlob) []string {
	texts := make([]string, 0, len(globs))
	for _, g := range globs {
		text, err := g.MarshalText()
		if err != nil {
			panic(err) // every pattern has a text
		}
		texts = append(texts, plainEscape.ReplaceAllString(string(text), "$1"))
	}
	return texts
}

// AreApart reports whether t never fits in the namespace of s.
func AreApart(s, t *Statement) bool {
	return s.Namespace != "" && t.fitIn(s.Namespace) == never
}

// SortedIDs sorts a list in place and returns each ID of it once, never nil.
func SortedIDs(ids []int) []int {
	slices.Sort(ids)
	if ids = slices.Compact(ids); ids == nil {
		return []int{}
	}
	return ids
}

// JSONOf returns what identifies a condition.
func JSONOf(c Condition) string {
	var s JSON
	c.Describe(&s)
	return JSONText(s)
}

// Verdict is a decision as an engine makes it.
type Verdict struct {
	// Outcome is allow, deny or none at the point access; deny, partial, allow, shown or
	// hidden at visibility; allow, none or "deny STATUS" at gateway.
	Outcome string
	// Target is the path at the point gateway, "GATEWAY > ROUTE", or empty.
	Target   string
	Decision json.RawMessage
}

// Judge decides a request of a point by one revision. It returns an error if the request
// is invalid.
type Judge func(ctx context.Context, point string, request []byte) (Verdict, error)

// VerdictOf reads a decision of a point. items states whether the request had items.
func VerdictOf(point string, items bool, decision []byte) (Verdict, error) {
	var d struct {
		Allowed  bool            `json:"allowed"`
		Denied   bool            `json:"denied"`
		Decision string          `json:"decision"`
		Visible  []int           `json:"visible"`
		Status   json.RawMessage `json:"status"`
		Target   struct {
			Gateway string `json:"gateway"`
			Route   string `json:"route"`
		} `json:"target"`
	}
	if err := json.Unmarshal(decision, &d); err != nil {
		return Verdict{}, fmt.Errorf("read the decision: %w", err)
	}
	v := Verdict{Outcome: OutcomeNone, Decision: decision}
	switch {
	case point == PointVisibility && items && len(d.Visible) > 0:
		v.Outcome = OutcomeShown
	case point == PointVisibility && items:
		v.Outcome = outcomeHidden
	case point == PointVisibility:
		v.Outcome = d.Decision
	case d.Allowed:
		v.Outcome = OutcomeAllow
	case d.Denied && point == PointGateway:
		v.Outcome = OutcomeDeny + " " + string(d.Status)
	case d.Denied:
		v.Outcome = OutcomeDeny
	}
	if d.Target.Route != "" {
		v.Target = d.Target.Gateway + " > " + d.Target.Route
	}
	return v, nil
}

// Encode returns a request as JSON.
func Encode(object map[string]any) []byte {
	return jsontext.Encode(object)
}

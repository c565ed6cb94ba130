package deny

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// resolvedPolicy is a policy with the escalations whose denyPolicyRefs list it.
type resolvedPolicy struct {
	Document   *DenyPolicy
	ReferredBy []*BreakglassEscalation
}

// resolution is the deny policies and escalations of a directory, in the order of
// positions.
type resolution struct {
	DenyPolicies []resolvedPolicy
	Escalations  []*BreakglassEscalation
	Cluster      string // the only one whose requests are decided; empty for all
}

// resolver is the state of following the references of one directory.
type resolver struct {
	*directory.Directory
	out          *resolution
	denyPolicies []*DenyPolicy
}

// resolve follows the references between deny policies and escalations.
func resolve(d *directory.Directory) *resolution {
	r := &resolver{
		Directory:    d,
		out:          &resolution{Cluster: d.Cluster, Escalations: directory.DocumentsOf[*BreakglassEscalation](d)},
		denyPolicies: directory.DocumentsOf[*DenyPolicy](d),
	}
	referredBy := make(map[*DenyPolicy][]*BreakglassEscalation)
	for _, e := range r.out.Escalations {
		for _, ref := range e.DenyPolicyRefs {
			if policy := r.referredPolicy(ref); policy != nil {
				referredBy[policy] = append(referredBy[policy], e)
			}
		}
	}
	escalations := escalationNames{names: make([]string, 0, len(r.out.Escalations)), known: make(map[string]bool)}
	for _, e := range r.out.Escalations {
		escalations.names = append(escalations.names, e.Name)
	}
	slices.Sort(escalations.names)
	for _, p := range r.denyPolicies {
		for _, ref := range p.EscalationRefs {
			r.escalationRef(ref, &escalations)
		}
		r.out.DenyPolicies = append(r.out.DenyPolicies, resolvedPolicy{p, referredBy[p]})
	}
	return r.out
}

// referredPolicy is the policy a denyPolicyRefs entry names, nil with a
// diagnostic if it does not exist.
func (r *resolver) referredPolicy(ref syntax.Text) *DenyPolicy {
	id := directory.Identity{Family: family, Kind: kindDenyPolicy, Namespace: "", Name: ref.Value}
	if policy, ok := r.Find(id).(*DenyPolicy); ok {
		return policy
	}
	danglingReference(r.Directory, ref, id, "denyPolicyRefs", r.denyPolicies)
	return nil
}

// escalationRef checks an entry of escalationRefs. Without a wildcard it names an
// escalation, or with no letter at all requests that are under none; with one it
// should fit some.
func (r *resolver) escalationRef(ref EscalationRef, escalations *escalationNames) {
	name, literal := ref.Glob.Literal()
	switch {
	case !literal && !r.Partial && !escalations.match(ref):
		r.List.Add(ref.Diagnostic(diag.Warning, diag.EmptyReference, "declare the escalation in this directory, or look how its name is spelt",
			"glob %q of escalationRefs fits no BreakglassEscalation", ref.Value))
	case literal && name != "":
		id := directory.Identity{Family: family, Kind: kindEscalation, Namespace: "", Name: name}
		if r.Find(id) == nil {
			danglingReference(r.Directory, ref.Text, id, "escalationRefs", r.out.Escalations)
		}
	}
}

func danglingReference[D syntax.Document](r *directory.Directory, ref syntax.Text, id directory.Identity, field string, declared []D) {
	if r.IsUndecoded(ref.At, id.Kind, id.Name) {
		return
	}
	d := ref.Diagnostic(diag.Error, diag.DanglingReference, "declare it in this directory",
		"%s names the %s %q, which is not declared", field, id.Kind, ref.Value)
	if close := directory.Near(r, id.Name, declared, func(*syntax.Header) bool { return true }); close != nil {
		d.Hint = fmt.Sprintf("did you mean %q?", close.Name)
		d.Related = directory.Related(close)
	}
	r.List.Add(d)
}

// escalationNames is the set of declared escalations, for matching globs.
type escalationNames struct {
	names []string        // sorted
	known map[string]bool // results so far, by pattern
}

// longestGlob bounds what a pattern is compared by, which takes the product of
// both lengths. Names in a cluster are at most a quarter of it.
const longestGlob = 1024

// match reports whether a glob matches a name. "*" always does: it also matches
// requests without an escalation.
func (e *escalationNames) match(ref EscalationRef) bool {
	if ref.Glob.MatchesAll() || len(ref.Value) > longestGlob {
		return true
	}
	if result, known := e.known[ref.Value]; known {
		return result
	}
	prefix := ref.Glob.Prefix()
	from, _ := slices.BinarySearch(e.names, prefix)
	matched := false
	for _, name := range e.names[from:] {
		if !strings.HasPrefix(name, prefix) {
			break
		}
		if matched = len(name) > longestGlob || ref.Glob.Match(name); matched {
			break
		}
	}
	e.known[ref.Value] = matched
	return matched
}

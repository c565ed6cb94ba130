// Package resolve finds what only all documents together tell: references
// between them, duplicates, what an aggregated role holds, whether extensions
// compile beside each other. Decoded documents come in, followed references and
// diagnostics go out. It knows no tables and no bundle, and never changes a
// document it was given.
//
// # Design
//
// Documents are put in the order of their positions first, so that neither the
// order of files nor that of goroutines shows in a diagnostic. Every lookup goes
// through a map, which is kept and follows the documents that come and go; nothing
// is compared pair by pair over the directory.
package resolve

import (
	"slices"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/visibility"
)

// DefaultMaster is the name of the Origin master namespace unless one is set.
const DefaultMaster = "master"

// Options say how documents are read together.
type Options struct {
	// Master is the Origin master namespace; empty means DefaultMaster.
	Master string
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool
	// Partial says that some file or document could not be read. What is not
	// there is then no reason for a warning, nor for calling the directory empty.
	Partial bool
}

// Resolved is the documents of a directory with their references followed. All
// lists are in the order of positions. Where the diagnostics beside it hold an
// error, it is what could be followed.
type Resolved struct {
	Master             string
	Partial            bool // as in Options
	KubernetesRoles    []KubernetesRole
	KubernetesBindings []KubernetesBinding
	OriginRoles        []*access.OriginRole
	OriginBindings     []OriginBinding
	DenyPolicies       []DenyPolicy
	Escalations        []*deny.BreakglassEscalation
	Gateways           []*document.Gateway
	Routes             []HTTPRoute
	InheritedPolicies  []InheritedPolicy
	Extensions         []*extension.Extension
	Tests              []*decisiontest.DecisionTest
	// MonitorAccessPolicies and MetricSources are as written.
	MonitorAccessPolicies []*visibility.MonitorAccessPolicy
	MetricSources         []*visibility.MetricSource
}

// KubernetesRole is a role with its effective rules.
type KubernetesRole struct {
	Document *access.KubernetesRole
	// Rules are the document's own, or those of the roles it aggregates.
	Rules []access.KubernetesRule
}

// KubernetesBinding is a binding with the role it names.
type KubernetesBinding struct {
	Document *access.KubernetesBinding
	Role     *access.KubernetesRole
}

// Meta is the document's.
func (r KubernetesRole) Meta() *syntax.Header { return r.Document.Meta() }

// Meta is the document's.
func (b KubernetesBinding) Meta() *syntax.Header { return b.Document.Meta() }

// Meta is the document's.
func (b OriginBinding) Meta() *syntax.Header { return b.Document.Meta() }

// OriginBinding is a binding with the role it names.
type OriginBinding struct {
	Document *access.OriginBinding
	Role     *access.OriginRole
}

// DenyPolicy is a policy with the escalations whose denyPolicyRefs list it.
type DenyPolicy struct {
	Document   *deny.DenyPolicy
	ReferredBy []*deny.BreakglassEscalation
}

// Resolve reads documents together. The result does not depend on their order.
func Resolve(documents []syntax.Document, o Options) (*Resolved, diag.List) {
	return new(Resolver).Resolve(documents, o)
}

// Resolver reads documents together, time and again, most of which it has seen
// before. What comes out does not depend on what it has seen. The zero value has
// seen nothing. It is not safe for concurrent use.
type Resolver struct {
	names names
	// good is what came of the last documents, if they had no errors.
	good *Resolved
}

// Resolve reads documents together. The list is kept and must not be changed.
func (s *Resolver) Resolve(documents []syntax.Document, o Options) (*Resolved, diag.List) {
	if o.Master == "" {
		o.Master = DefaultMaster
	}
	documents = inOrder(documents)
	r := &resolver{
		master:  o.Master,
		partial: o.Partial,
		out:     &Resolved{Master: o.Master, Partial: o.Partial},
		names:   &s.names,
		before:  new(Resolved),
	}
	if changed := s.names.update(documents); s.good != nil && !slices.ContainsFunc(changed, isReferredTo) {
		r.before = s.good
	}
	s.good = nil
	r.sort(documents)
	if !o.AllowEmpty && !o.Partial && r.policies == 0 {
		r.list.Add(diag.Diagnostic{
			Code:    diag.NoDocuments,
			Message: "the directory holds no policy document",
			Hint:    "an unmounted volume looks like this; say --allow-empty where it is meant",
		})
	}
	r.kubernetes()
	r.origin()
	r.denyPolicy()
	r.visibility()
	r.gateway()
	r.extensions()
	if !r.list.HasErrors() {
		s.good = r.out
	}
	return r.out, r.list
}

// isReferredTo reports whether a binding may be followed to the document, or is wrong
// without it.
func isReferredTo(d syntax.Document) bool {
	switch d.(type) {
	case *access.KubernetesRole, *access.OriginRole, *access.OriginPolicy, *access.OriginPolicyBinding:
		return true
	}
	return false
}

// follow follows the references of bindings. Those that were followed before lead
// where they led.
func follow[B interface {
	comparable
	syntax.Document
}, F syntax.Document](bindings []B, before []F, of func(F) B, lead func(B) (F, bool)) []F {
	out := make([]F, 0, len(bindings))
	for _, b := range bindings {
		for len(before) > 0 && of(before[0]) != b && comparePositions(before[0], b) < 0 {
			before = before[1:]
		}
		if len(before) > 0 && of(before[0]) == b {
			out = append(out, before[0])
		} else if followed, ok := lead(b); ok {
			out = append(out, followed)
		}
	}
	return out
}

// resolver is the state of one Resolve.
type resolver struct {
	master  string
	partial bool
	out     *Resolved
	list    diag.List
	names   *names
	// before is what bindings led to before, as far as they still do.
	before   *Resolved
	policies int // policy documents, duplicates included

	kubernetesRoles    []*access.KubernetesRole
	kubernetesBindings []*access.KubernetesBinding
	originBindings     []*access.OriginBinding
	denyPolicies       []*deny.DenyPolicy
	originContainers   []*access.OriginPolicyBinding
	// originPolicies holds the Policy of each namespace.
	originPolicies map[string]*access.OriginPolicy

	routeDocuments    []*document.HTTPRoute
	inheritedPolicies []*document.InheritedPolicy
	// conflicts holds the policies whose identity another one has.
	conflicts map[*document.InheritedPolicy]tables.Rejection
	// elsewhere finds a gateway or route by kind and name, whatever its namespace.
	elsewhere map[[2]string]*syntax.Header
	// suggested counts the near names looked for: see near.
	suggested int
}

// sort deals documents out by kind, the second of each identity left out.
func (r *resolver) sort(documents []syntax.Document) {
	r.originPolicies = make(map[string]*access.OriginPolicy)
	r.conflicts = make(map[*document.InheritedPolicy]tables.Rejection)
	r.elsewhere = make(map[[2]string]*syntax.Header)
	for _, d := range documents {
		switch d.(type) {
		case *extension.Extension, *decisiontest.DecisionTest:
		default:
			r.policies++
		}
		if module, ok := d.(*extension.Extension); ok {
			r.out.Extensions = append(r.out.Extensions, module)
			continue
		}
		if !r.claim(d) {
			if policy, ok := d.(*document.InheritedPolicy); ok {
				r.conflicts[policy] = tables.Conflicted
				r.inheritedPolicies = append(r.inheritedPolicies, policy)
			}
			continue
		}
		switch d := d.(type) {
		case *access.KubernetesRole:
			r.kubernetesRoles = append(r.kubernetesRoles, d)
		case *access.KubernetesBinding:
			r.kubernetesBindings = append(r.kubernetesBindings, d)
		case *access.OriginRole:
			r.out.OriginRoles = append(r.out.OriginRoles, d)
		case *access.OriginBinding:
			r.originBindings = append(r.originBindings, d)
		case *access.OriginPolicyBinding:
			r.originContainers = append(r.originContainers, d)
		case *access.OriginPolicy:
			r.claimPolicy(d)
		case *deny.DenyPolicy:
			r.denyPolicies = append(r.denyPolicies, d)
		case *deny.BreakglassEscalation:
			r.out.Escalations = append(r.out.Escalations, d)
		case *visibility.MonitorAccessPolicy:
			r.out.MonitorAccessPolicies = append(r.out.MonitorAccessPolicies, d)
		case *visibility.MetricSource:
			r.out.MetricSources = append(r.out.MetricSources, d)
		case *document.Gateway:
			r.out.Gateways = append(r.out.Gateways, d)
			r.elsewhere[[2]string{d.Kind, d.Name}] = &d.Header
		case *document.HTTPRoute:
			r.routeDocuments = append(r.routeDocuments, d)
			r.elsewhere[[2]string{d.Kind, d.Name}] = &d.Header
		case *document.InheritedPolicy:
			r.inheritedPolicies = append(r.inheritedPolicies, d)
		case *decisiontest.DecisionTest:
			r.out.Tests = append(r.out.Tests, d)
		}
	}
}

// inOrder returns the documents in the order of their positions. Documents come
// sorted from a snapshot, so the test for it is nearly always all the work.
func inOrder(documents []syntax.Document) []syntax.Document {
	if slices.IsSortedFunc(documents, comparePositions) {
		return documents
	}
	out := slices.Clone(documents)
	slices.SortStableFunc(out, comparePositions)
	return out
}

func comparePositions(a, b syntax.Document) int { return a.Meta().At.Compare(b.Meta().At) }

// Changes walks over two lists in the order of positions and returns which of the
// documents of the first are not in the second, and the other way round.
func Changes[D syntax.Document](before, now []D, same func(a, b D) bool) (gone, come []D) {
	for len(before) > 0 && len(now) > 0 {
		if same(before[0], now[0]) {
			before, now = before[1:], now[1:]
			continue
		}
		order := comparePositions(before[0], now[0])
		if order <= 0 {
			gone, before = append(gone, before[0]), before[1:]
		}
		if order >= 0 {
			come, now = append(come, now[0]), now[1:]
		}
	}
	return append(gone, before...), append(come, now...)
}

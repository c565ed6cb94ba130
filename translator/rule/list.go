package rule

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Truth is whether a request matches.
type Truth uint8

// The values of Truth, in their order.
const (
	No      Truth = iota
	unknown       // the request does not state what decides
	Yes
)

func truth(matches bool) Truth {
	if matches {
		return Yes
	}
	return No
}

// Attribute is what a list compares of a request.
type Attribute uint8

// The attributes of requests.
const (
	Verb Attribute = iota
	Group
	Target // resource and subresource
	Path
	Name
	Namespace       // and its labels
	NamespaceLabels // alone, in Open
	scope           // the first of tables.ScopeAttributes, in their order
	attributes      = scope + Attribute(len(tables.ScopeAttributes))
)

// The attributes of tables.Scope that are unlike the others.
const (
	Cluster    = scope + tables.ScopeCluster
	escalation = scope + tables.ScopeEscalation
)

// Scopes are the attributes of tables.Scope.
const Scopes = all &^ (1<<scope - 1)

// inScope returns a member of tables.ScopeAttributes as an attribute.
func inScope(i int) Attribute { return scope + Attribute(i) }

// ScopeIndex returns the index of an attribute in tables.ScopeAttributes, or false if it is not
// there.
func (a Attribute) ScopeIndex() (int, bool) { return int(a) - int(scope), a >= scope }

// Referred are the attributes for which an escalation that refers to a policy stands.
var Referred = referred()

func referred() (s Attributes) {
	for i := range tables.ScopeAttributes {
		if tables.ScopeAttributes[i].IsReferred {
			s |= Set(inScope(i))
		}
	}
	return s
}

// Attributes is a set of attributes.
type Attributes uint16

// Set returns a set.
func Set(list ...Attribute) (s Attributes) {
	for _, a := range list {
		s |= 1 << a
	}
	return s
}

// Has reports whether the set has an attribute.
func (s Attributes) Has(a Attribute) bool { return s&(1<<a) != 0 }

// List is the entries of a rule for one attribute. Without Any and Denied every value matches.
type List struct {
	Of Attribute
	// Star states that "*" among the entries stands for every value.
	Star bool
	// Touches states how a request for all values matches: a denial must match a part of
	// them, a grant all.
	Touches bool
	// Any are entries of which one must match, and Not those that must not.
	Any, Not []string
	// Denied is set for lists that only deny policies have.
	Denied *Denied
}

// Denied are the entries of a deny policy for one attribute that are not plain words.
type Denied struct {
	// Some requires a value that is not empty.
	Some bool
	// Globs are patterns of which one must match; none: every value matches.
	Globs []tables.PathGlob
	// Prefixes begin a verb; with Plain, what follows is not empty and has no colon.
	Prefixes []string
	Plain    bool
	// Filter is a condition on the namespace.
	Filter *tables.NamespaceFilter
	// Targets are resources with subresources; nil: every one. A path has none of both.
	Targets []tables.DenyResource
	// Keys are patterns of the subresource.
	Keys []tables.PathGlob
}

// Alternative is lists that must all match.
type Alternative []List

// Rule matches a request if one of its alternatives does.
type Rule []Alternative

// Match returns whether a request matches.
func (r Rule) Match(w *Words) Truth {
	out := No
	for i := range r {
		if out = max(out, r[i].Match(w)); out == Yes {
			break
		}
	}
	return out
}

// Match returns whether a request matches all lists. Verb and target of a denial match in one
// form.
func (a Alternative) Match(w *Words) Truth {
	if w.spellings == nil {
		return a.match(w, all, nil)
	}
	out := No
	for i := range w.spellings {
		if out = max(out, a.match(w, verbAndTarget, &w.spellings[i])); out == Yes {
			break
		}
	}
	if out == No {
		return No
	}
	return min(out, a.match(w, all&^verbAndTarget, nil))
}

// all is the set of all attributes.
const all Attributes = 1<<attributes - 1

const verbAndTarget Attributes = 1<<Verb | 1<<Target

// MatchOf is Match by the lists of some attributes alone.
func (a Alternative) MatchOf(w *Words, of Attributes) Truth {
	if w.spellings == nil {
		return a.match(w, of, nil)
	}
	out := No
	for i := range w.spellings {
		out = max(out, a.match(w, of, &w.spellings[i]))
	}
	return out
}

func (a Alternative) match(w *Words, of Attributes, s *Spelling) Truth {
	out := Yes
	for i := range a {
		if l := &a[i]; of.Has(l.Of) {
			if out = min(out, l.match(w, s)); out == No {
				return No
			}
		}
	}
	return out
}

func (l *List) match(w *Words, s *Spelling) Truth {
	if w.Open.Has(l.Of) {
		return unknown
	}
	switch l.Of {
	case Verb:
		if s != nil {
			return truth(l.hasVerb(s.Verb))
		}
		return truth(l.covers(&w.verb))
	case Target:
		if s != nil {
			return truth(l.hasTarget(w, s.Subresource))
		}
		return truth(l.covers(&w.target))
	case Path:
		if l.Denied != nil {
			return truth(w.Path == "")
		}
		return truth(w.Path != "" && slices.ContainsFunc(l.Any, func(entry string) bool { return CoversPath(entry, w.Path) }))
	case Namespace:
		return matchFilter(l.Denied.Filter, w)
	default:
		return l.matchText(*w.text(l.Of), w.Longest)
	}
}

// text returns an attribute that is one text.
func (r *Request) text(a Attribute) *string {
	switch a {
	case Verb:
		return &r.Verb
	case Group:
		return &r.Group
	case Path:
		return &r.Path
	case Name:
		return &r.Name
	case Namespace:
		return &r.Namespace
	case Target, NamespaceLabels: // more than one text
		return nil
	default:
		return r.At(int(a - scope))
	}
}

// covers reports whether an entry matches a request, and no negative one does.
func (l *List) covers(w *words) bool {
	switch {
	case w.none:
		return false
	case w.whole && l.Touches:
		return len(l.Any) > 0 && !slices.Contains(l.Not, "*")
	case w.whole:
		return len(l.Not) == 0 && slices.Contains(l.Any, "*")
	}
	return w.hasAny(l.Any) && !w.hasAny(l.Not)
}

func (l *List) matchText(value string, longest int) Truth {
	if d := l.Denied; d != nil {
		if d.Some && value == "" {
			return No
		}
		if len(d.Globs) > 0 {
			return matchGlobs(d.Globs, value, longest)
		}
	}
	return truth(l.Any == nil || slices.Contains(l.Any, value) || l.Star && slices.Contains(l.Any, "*"))
}

// hasVerb compares a verb with the entries of a deny policy.
func (l *List) hasVerb(verb string) bool {
	if l.Denied == nil || len(l.Denied.Prefixes) == 0 {
		return l.Any == nil || slices.Contains(l.Any, verb)
	}
	if l.Any != nil && !slices.Contains(l.Any, verb) {
		return false
	}
	return slices.ContainsFunc(l.Denied.Prefixes, func(prefix string) bool {
		rest, ok := strings.CutPrefix(verb, prefix)
		return ok && (!l.Denied.Plain || rest != "" && !strings.Contains(rest, ":"))
	})
}

// hasTarget compares resource and subresource with the entries of a deny policy.
func (l *List) hasTarget(w *Words, subresource string) bool {
	d := l.Denied
	if len(d.Keys) > 0 && matchGlobs(d.Keys, subresource, w.Longest) == No {
		return false
	}
	return d.Targets == nil || slices.ContainsFunc(d.Targets, func(t tables.DenyResource) bool {
		return hasSubresource(&t, subresource) && (t.Resources == nil || slices.ContainsFunc(w.resources, func(resource string) bool {
			return slices.Contains(t.Resources, resource)
		}))
	})
}

func hasSubresource(t *tables.DenyResource, subresource string) bool {
	return (!t.NeedsSubresource || subresource != "") && (t.Subresources == nil || slices.Contains(t.Subresources, subresource))
}

func matchGlobs(globs []tables.PathGlob, value string, longest int) Truth {
	if longest > 0 && len(value) > longest {
		return unknown
	}
	return truth(slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return MatchGlob(g, value) }))
}

// FitsAny reports whether a value matches one of some patterns; an empty list fits every value.
func FitsAny(globs []tables.PathGlob, value string) bool {
	return len(globs) == 0 || matchGlobs(globs, value, 0) == Yes
}

// MatchGlob compares the ends of the value first: most patterns are a literal or a prefix.
func MatchGlob(g tables.PathGlob, value string) bool {
	if literal, ok := g.Literal(); ok {
		return literal == value
	}
	return g.MatchesAll() || strings.HasPrefix(value, g.Prefix()) && strings.HasSuffix(value, g.Suffix()) && g.Match(value)
}

// matchFilter matches a namespace. Nothing is known of the labels of what is not in one, so
// that no term matches it.
func matchFilter(f *tables.NamespaceFilter, w *Words) Truth {
	if f == nil {
		return Yes
	}
	named := No
	if len(f.Patterns) > 0 {
		named = matchGlobs(f.Patterns, w.Namespace, w.Longest)
	}
	switch {
	case named == Yes || w.Namespace == "" || len(f.Terms) == 0:
		return named
	case w.NamespaceLabels == nil || w.Open.Has(NamespaceLabels):
		return unknown
	}
	return max(named, truth(slices.ContainsFunc(f.Terms, func(term []tables.LabelRequirement) bool {
		return !slices.ContainsFunc(term, func(q tables.LabelRequirement) bool { return !holds(&q, w.NamespaceLabels) })
	})))
}

// holds reports whether labels fulfil a requirement.
func holds(q *tables.LabelRequirement, labels map[string]string) bool {
	value, ok := labels[q.Key]
	switch q.Operator {
	case tables.In:
		return ok && slices.Contains(q.Values, value)
	case tables.NotIn:
		return !ok || !slices.Contains(q.Values, value)
	case tables.Exists:
		return ok
	case tables.DoesNotExist:
		return !ok
	}
	return false
}

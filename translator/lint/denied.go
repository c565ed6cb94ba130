package lint

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// denyRules returns the rules of the deny policies that hold now, for requests without a session and
// an escalation: an author of documents has none. A policy of some clusters or tenants counts, because
// it is not known where the documents will be used.
func denyRules(deny *tables.Deny, now dates.Instant) []*tables.DenyRule {
	if deny == nil {
		return nil
	}
	var out []*tables.DenyRule
	for i := range deny.Policies {
		p := &deny.Policies[i]
		if !p.Dates.Holds(now) || !rule.FitsAny(p.Sessions, "") || !rule.FitsAny(p.EscalationRefs, "") {
			continue
		}
		for n := range p.Rules {
			out = append(out, &p.Rules[n])
		}
	}
	return out
}

// deniesIn reports whether a rule denies requests in a namespace, or anywhere if it is empty. A rule for
// labels of namespaces does, because they are not known.
func deniesIn(r *tables.DenyRule, namespace string) bool {
	f := r.Namespaces
	return namespace == "" || f == nil || len(f.Terms) > 0 || rule.FitsAny(f.Patterns, namespace)
}

// denial is what one action and one entry of resources of a deny rule deny.
type denial struct {
	source string // of the rule
	// denies are for each dimension of a tuple: whether an entry has a request that is denied.
	denies []func(entry string) bool
}

// of returns the entries of allowed tuples that a denial takes away, nil if it takes none.
func (d denial) of(picked []class) []class {
	var out []class
	for i, c := range picked {
		entries := elements.Filter(c.entries, d.denies[i])
		if len(entries) == 0 {
			return nil
		}
		out = append(out, class{c.matches, entries})
	}
	return out
}

// withoutGroup is a denial of tuples of Origin, which have a verb and a kind.
func (d denial) withoutGroup() denial {
	return denial{d.source, []func(string) bool{d.denies[0], d.denies[2]}}
}

// text says of a tuple what takes it away.
func (d denial) text(tuple string) string { return tuple + " (denied by " + d.source + ")" }

// denials returns what deny policies take of tuples of a verb, a group, a resource and a name.
func (h ruleSet) denials() []denial {
	var out []denial
	for _, r := range h.denied {
		for i := range r.Actions {
			a := &r.Actions[i]
			for n := range r.Resources {
				out = append(out, denial{r.Source, []func(string) bool{
					func(verb string) bool { return deniesVerb(a, strings.ToLower(verb)) },
					func(group string) bool { return isDenied(a.Groups, group) },
					func(resource string) bool { return deniesResource(&r.Resources[n], strings.ToLower(resource)) },
					func(name string) bool { return deniesName(r, name) },
				}})
			}
		}
	}
	return out
}

// isDenied reports whether a list of a deny rule, nil for everything, has an entry of a role or a part of
// it.
func isDenied(list []string, entry string) bool {
	return list == nil || entry == "*" || slices.Contains(list, entry)
}

func deniesVerb(a *tables.DenyAction, verb string) bool {
	return isDenied(a.Verbs, verb) && (verb == "*" || strings.HasPrefix(verb, a.VerbPrefix))
}

func deniesResource(d *tables.DenyResource, entry string) bool {
	if entry == "*" {
		return true
	}
	resource, sub, hasSub := strings.Cut(entry, "/")
	if !slices.ContainsFunc(rule.Resources(resource), func(word string) bool { return isDenied(d.Resources, word) }) {
		return false
	}
	switch {
	case !hasSub:
		return !d.NeedsSubresource && isDenied(d.Subresources, "")
	case sub == "*":
		return d.Subresources == nil || slices.ContainsFunc(d.Subresources, func(s string) bool { return s != "" })
	}
	return isDenied(d.Subresources, sub)
}

func deniesName(r *tables.DenyRule, name string) bool {
	return name == "" || rule.FitsAny(r.Names, name)
}

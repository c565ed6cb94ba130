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
	// of returns what the denial takes away of allowed tuples, as tuples.
	of func(picked []class) [][]class
}

// byDimension returns what a denial takes away if for each dimension of a tuple it is known whether
// an entry has a request that is denied.
func byDimension(denies []func(entry string) bool) func(picked []class) [][]class {
	return func(picked []class) [][]class {
		var out []class
		for i, c := range picked {
			entries := elements.Filter(c.entries, denies[i])
			if len(entries) == 0 {
				return nil
			}
			out = append(out, class{c.matches, entries})
		}
		return [][]class{out}
	}
}

// byPair is byDimension for tuples of two dimensions that are not independent.
func byPair(denies func(a, b string) bool) func(picked []class) [][]class {
	return func(picked []class) (out [][]class) {
		for _, a := range picked[0].entries {
			entries := elements.Filter(picked[1].entries, func(b string) bool { return denies(a, b) })
			if len(entries) > 0 {
				out = append(out, []class{{picked[0].matches, []string{a}}, {picked[1].matches, entries}})
			}
		}
		return out
	}
}

// text says of a tuple what takes it away.
func (d denial) text(tuple string) string { return tuple + " (denied by " + d.source + ")" }

// denials returns what deny policies take of tuples of a verb, a group, a resource and a name.
func (h ruleSet) denials() []denial {
	var out []denial
	h.eachDenial(func(r *tables.DenyRule, a *tables.DenyAction, d *tables.DenyResource) {
		out = append(out, denial{r.Source, byDimension([]func(string) bool{
			func(verb string) bool { return deniesVerb(a, strings.ToLower(verb)) },
			func(group string) bool { return isDenied(a.Groups, group) },
			func(resource string) bool { return deniesResource(d, strings.ToLower(resource)) },
			func(name string) bool { return deniesName(r, name) },
		})})
	})
	return out
}

// originDenials returns what deny policies take of tuples of a verb and a kind of an Origin rule. A
// kind stands for its subresources as well, a verb for others, and exec and proxy for subresources.
func (h ruleSet) originDenials(wanted *tables.OriginRule) []denial {
	var out []denial
	h.eachDenial(func(r *tables.DenyRule, a *tables.DenyAction, d *tables.DenyResource) {
		rows := rule.Deny(&tables.DenyRule{
			Actions:   []tables.DenyAction{{Verbs: a.Verbs, VerbPrefix: a.VerbPrefix}},
			Resources: []tables.DenyResource{*d},
		})
		out = append(out, denial{r.Source, byPair(func(verb, kind string) bool {
			if base, _, _ := strings.Cut(kind, "/"); base != "*" && !deniesKind(d, base) {
				return false
			}
			tuple := &tables.OriginRule{Verbs: []string{verb}, NotVerbs: wanted.NotVerbs, Kinds: []string{kind}, NotKinds: wanted.NotKinds}
			return slices.ContainsFunc(requestsOf(tuple, a, d), func(q rule.Request) bool {
				words := rule.DenialWords(&q)
				return rows.Match(&words) == rule.Yes
			})
		})})
	})
	return out
}

// eachDenial calls a function with each action and each entry of resources of the deny rules.
func (h ruleSet) eachDenial(call func(*tables.DenyRule, *tables.DenyAction, *tables.DenyResource)) {
	for _, r := range h.denied {
		for i := range r.Actions {
			for n := range r.Resources {
				call(r, &r.Actions[i], &r.Resources[n])
			}
		}
	}
}

// requestsOf returns requests that a rule of one verb and one kind matches: of all that it matches,
// those that an action on resources tells apart.
func requestsOf(tuple *tables.OriginRule, a *tables.DenyAction, d *tables.DenyResource) []rule.Request {
	const other = "other" // a word that no rule has
	verb := tuple.Verbs[0]
	verbs := slices.Concat(a.Verbs, rule.Narrower(verb), rule.Streams[:], []string{a.VerbPrefix + other, verb})
	resource, sub, hasSub := strings.Cut(tuple.Kinds[0], "/")
	resources, subs := []string{resource}, []string{sub, ""} // exec without a subresource has one
	if resource == "*" {
		resources = append(slices.Clone(d.Resources), other)
	}
	if !hasSub {
		subs = slices.Concat([]string{""}, d.Subresources, rule.Streaming(), []string{other})
	}
	var out []rule.Request
	for _, resource := range resources {
		for _, sub := range subs {
			for _, verb := range verbs {
				q := rule.Request{Verb: verb, Resource: resource, Subresource: sub}
				words := rule.OriginWords(&q)
				if verb != "*" && rule.MatchOrigin(tuple, &words) {
					out = append(out, q)
				}
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
	if !deniesKind(d, resource) {
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

// deniesKind reports whether an entry of a deny rule has a resource, in any of its forms.
func deniesKind(d *tables.DenyResource, resource string) bool {
	return slices.ContainsFunc(rule.Resources(resource), func(word string) bool { return isDenied(d.Resources, word) })
}

func deniesName(r *tables.DenyRule, name string) bool {
	return name == "" || rule.FitsAny(r.Names, name)
}

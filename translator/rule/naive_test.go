package rule

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/tables"
)

// A naive reading of entries: each entry is compared with the request, instead of words of the
// request with entries.

func naiveWord(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func naiveKubernetes(k *tables.KubernetesRule, r *Request) bool {
	if !naiveWord(k.Verbs, r.Verb) || (r.Path != "") != (len(k.Paths) > 0) {
		return false
	}
	if r.Path != "" {
		return slices.ContainsFunc(k.Paths, func(entry string) bool {
			prefix := strings.TrimRight(entry, "*")
			return entry == r.Path || prefix != entry && strings.HasPrefix(r.Path, prefix)
		})
	}
	return naiveWord(k.Groups, r.Group) && (len(k.Names) == 0 || slices.Contains(k.Names, r.Name)) &&
		slices.ContainsFunc(k.Resources, func(entry string) bool {
			kind, sub, slash := strings.Cut(entry, "/")
			return entry == "*" || slash == (r.Subresource != "") && sub == r.Subresource && (kind == r.Resource || slash && kind == "*")
		})
}

func naiveKind(entry, resource, subresource string) bool {
	kind, sub, slash := strings.Cut(entry, "/")
	resource = strings.ToLower(resource)
	return (!slash || strings.EqualFold(sub, subresource)) &&
		(kind == "*" || kind == resource || tables.Plural(kind) == resource || tables.Plural(resource) == kind)
}

func naiveWhole(deny bool, entries, negated []string) bool {
	if deny {
		return len(entries) > 0 && !slices.Contains(negated, "*")
	}
	return slices.Contains(entries, "*") && len(negated) == 0
}

func naiveOrigin(o *tables.OriginRule, r *Request) bool {
	if r.Path != "" {
		return false
	}
	sub := strings.ToLower(r.Subresource)
	verb := strings.ToLower(r.Verb)
	if sub == "" && (verb == "exec" || verb == "proxy") {
		sub = verb
	}
	list := func(entries, negated []string, covers func(string) bool) bool {
		return slices.ContainsFunc(entries, covers) && !slices.ContainsFunc(negated, covers)
	}
	verbs := list(o.Verbs, o.NotVerbs, func(entry string) bool {
		switch {
		case entry == "*":
			return true
		case sub == "exec" || sub == "attach":
			return entry == "exec"
		case sub == "proxy" || sub == "portforward":
			return entry == "proxy"
		}
		return entry == verb || entry == "update" && verb == "patch" || entry == "delete" && verb == "deletecollection" ||
			entry == "impersonate" && strings.HasPrefix(verb, "impersonate:")
	})
	if verb == "*" && !slices.Contains([]string{"exec", "attach", "proxy", "portforward"}, sub) {
		verbs = naiveWhole(o.Deny, o.Verbs, o.NotVerbs)
	}
	if r.Resource == "*" {
		return verbs && naiveWhole(o.Deny, o.Kinds, o.NotKinds)
	}
	return verbs && list(o.Kinds, o.NotKinds, func(entry string) bool { return naiveKind(entry, r.Resource, sub) })
}

// naiveForms are all forms of a request: verb, subresource and resource.
func naiveForms(r *Request) (out [][3]string) {
	verbs, subs := []string{r.Verb, strings.ToLower(r.Verb)}, []string{r.Subresource, strings.ToLower(r.Subresource)}
	var actions [][2]string
	for _, verb := range verbs {
		for _, sub := range subs {
			actions = append(actions, [2]string{verb, sub})
		}
	}
	if v := verbs[1]; r.Subresource == "" && r.Path == "" && (v == "exec" || v == "proxy") {
		actions = append(actions, [2]string{r.Verb, v}, [2]string{v, v})
		if v == "exec" {
			actions = append(actions, [2]string{"create", v})
		}
	}
	for _, a := range actions {
		out = append(out, [3]string{a[0], a[1], r.Resource})
		for _, word := range tables.KindSynonyms(strings.ToLower(r.Resource)) {
			if r.Path == "" {
				out = append(out, [3]string{a[0], a[1], word})
			}
		}
	}
	return out
}

func naiveGlobs(globs []tables.PathGlob, value string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return g.MatchesAll() || g.Match(value) })
}

func naiveFilter(f *tables.NamespaceFilter, r *Request) Truth {
	switch {
	case f == nil, len(f.Patterns) > 0 && naiveGlobs(f.Patterns, r.Namespace):
		return Yes
	case r.Namespace == "" || len(f.Terms) == 0:
		return No
	case r.NamespaceLabels == nil:
		return unknown
	}
	for _, term := range f.Terms {
		fits := true
		for _, q := range term {
			value, has := r.NamespaceLabels[q.Key]
			switch q.Operator {
			case tables.In:
				fits = fits && has && slices.Contains(q.Values, value)
			case tables.NotIn:
				fits = fits && !(has && slices.Contains(q.Values, value))
			case tables.Exists:
				fits = fits && has
			case tables.DoesNotExist:
				fits = fits && !has
			}
		}
		if fits {
			return Yes
		}
	}
	return No
}

func naiveTargets(targets []tables.DenyResource, resource, sub string) bool {
	return slices.ContainsFunc(targets, func(t tables.DenyResource) bool {
		return (!t.NeedsSubresource || sub != "") && (t.Subresources == nil || slices.Contains(t.Subresources, sub)) &&
			(t.Resources == nil || slices.Contains(t.Resources, resource))
	})
}

func naiveDeny(d *tables.DenyRule, r *Request) Truth {
	fits := r.Path == "" && slices.ContainsFunc(naiveForms(r), func(f [3]string) bool {
		return naiveTargets(d.Resources, f[2], f[1]) && slices.ContainsFunc(d.Actions, func(a tables.DenyAction) bool {
			return (a.Verbs == nil || slices.Contains(a.Verbs, f[0])) && strings.HasPrefix(f[0], a.VerbPrefix) && (a.Groups == nil || slices.Contains(a.Groups, r.Group))
		})
	})
	if !fits || d.NeedsName && r.Name == "" || !naiveGlobs(d.Names, r.Name) {
		return No
	}
	return naiveFilter(d.Namespaces, r)
}

func naiveImpersonation(i *tables.ImpersonationRule, r *Request) Truth {
	out := No
	for _, f := range naiveForms(r) {
		verb := f[0]
		if i.Identity == nil && i.Action == nil && (verb == "impersonate" || strings.HasPrefix(verb, "impersonate:") || strings.HasPrefix(verb, "impersonate-on:")) {
			return Yes
		}
		if d := i.Identity; d != nil && slices.Contains(d.Verbs, verb) && (len(d.Resources) == 0 || slices.Contains(d.Resources, f[2])) &&
			naiveGlobs(d.Names, r.Name) && naiveGlobs(d.ExtraKeys, f[1]) {
			out = max(out, naiveFilter(d.Namespaces, r))
		}
		parts := strings.Split(verb, ":")
		if a := i.Action; a != nil && len(parts) == 3 && parts[0] == "impersonate-on" && slices.Contains(a.Modes, parts[1]) && parts[2] != "" &&
			(a.Verbs == nil || slices.Contains(a.Verbs, parts[2])) && (a.Groups == nil || slices.Contains(a.Groups, r.Group)) &&
			(len(a.Resources) == 0 || naiveTargets(a.Resources, f[2], f[1])) {
			out = Yes
		}
	}
	return out
}

func naiveScope(p *tables.DenyPolicy, r *Request) bool {
	return naiveGlobs(p.Clusters, r.Cluster) && naiveGlobs(p.Tenants, r.Tenant) &&
		(slices.Contains(p.ReferredBy, r.Escalation) || naiveGlobs(p.Sessions, r.Session) && naiveGlobs(p.EscalationRefs, r.Escalation))
}

var (
	drawnVerbs     = []string{"get", "Get", "patch", "update", "deletecollection", "delete", "exec", "EXEC", "proxy", "create", "impersonate", "impersonate:user-info", "IMPERSONATE:user-info", "impersonate:new", "impersonate-on:user-info:get", "impersonate-on:user-info:a:b", "impersonate-on:user-info:", "*"}
	drawnGroups    = []string{"", "apps", "authentication.k8s.io", "*"}
	drawnResources = []string{"pods", "Pod", "pod", "policies", "policy", "users", "secrets", "*"}
	drawnSubs      = []string{"", "exec", "Exec", "attach", "log", "proxy", "status"}
	drawnNames     = []string{"", "a", "ab", "x/y", "*"}
	drawnGlobs     = []string{"*", "**", "a*", "a**b", "?", `\*`, "", "[ab]", "a", "?*"}
	drawnPaths     = []string{"/api", "/api/", "/api/v1", "/"}
	drawnEntries   = []string{"*", "pods", "pod", "pods/exec", "pods/log", "*/log", "*/exec", "policy", "policies", "secrets", "pods/status"}
)

type drawn struct{ *rapid.T }

func (d drawn) some(from []string, least int, label string) []string {
	return tables.Once(rapid.SliceOfN(rapid.SampledFrom(from), least, 3).Draw(d.T, label))
}

// orAll returns some entries or nil, which is every word.
func (d drawn) orAll(from []string, label string) []string {
	if rapid.Bool().Draw(d.T, "all "+label) {
		return nil
	}
	return d.some(from, 1, label)
}

func (d drawn) globs(label string) (out []tables.PathGlob) {
	for _, text := range d.some(drawnGlobs, 0, label) {
		g, problem, _ := tables.ParsePathGlob(text)
		if problem != "" {
			d.Fatalf("%s: %s", text, problem)
		}
		out = append(out, g)
	}
	return out
}

func (d drawn) filter(label string) *tables.NamespaceFilter {
	f := &tables.NamespaceFilter{Patterns: d.globs(label)}
	if rapid.Bool().Draw(d.T, label+" terms") {
		operator := rapid.SampledFrom([]tables.Operator{tables.In, tables.NotIn, tables.Exists, tables.DoesNotExist}).Draw(d.T, "operator")
		q := tables.LabelRequirement{Key: "k", Operator: operator}
		if operator == tables.In || operator == tables.NotIn {
			q.Values = []string{"v"}
		}
		f.Terms = [][]tables.LabelRequirement{{q}}
	}
	if len(f.Patterns)+len(f.Terms) == 0 {
		return nil
	}
	return f
}

func (d drawn) targets() (out []tables.DenyResource) {
	for range rapid.IntRange(1, 2).Draw(d.T, "targets") {
		out = append(out, tables.DenyResource{Resources: d.orAll(drawnResources[:7], "resources"), Subresources: d.orAll(drawnSubs, "subresources"),
			NeedsSubresource: rapid.Bool().Draw(d.T, "needs a subresource")})
	}
	return out
}

func (d drawn) request() *Request {
	one := func(from []string, label string) string { return rapid.SampledFrom(from).Draw(d.T, label) }
	r := &Request{Verb: one(drawnVerbs, "verb"), Scope: tables.Scope{
		Cluster: one(drawnNames, "cluster"), Tenant: one(drawnNames, "tenant"), Session: one(drawnNames, "session"), Escalation: one(drawnNames, "escalation")}}
	if rapid.IntRange(0, 5).Draw(d.T, "path") == 0 {
		r.Path = one(drawnPaths, "path")
		return r
	}
	r.Group, r.Resource, r.Subresource = one(drawnGroups, "group"), one(drawnResources, "resource"), one(drawnSubs, "subresource")
	r.Name, r.Namespace = one(drawnNames, "name"), one(drawnNames, "namespace")
	r.NamespaceLabels = rapid.SampledFrom([]map[string]string{nil, {}, {"k": "v"}, {"k": "w"}}).Draw(d.T, "labels")
	return r
}

// Words and lists match the same requests as entries that are compared one by one.
func TestMatchesLikeANaiveReading(t *testing.T) {
	seen := map[string]map[Truth]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{t}
		k := tables.KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: d.some(drawnVerbs, 1, "verbs")}}
		if rapid.IntRange(0, 3).Draw(t, "paths") == 0 {
			k.Paths = d.some([]string{"*", "/api", "/api/*", "/api*", "/ap**"}, 1, "paths")
		} else {
			k.Groups, k.Resources, k.Names = d.some(drawnGroups, 1, "groups"), d.some(drawnEntries, 1, "entries"), d.some(drawnNames, 0, "names")
		}
		verbs := []string{"*", "get", "patch", "update", "deletecollection", "delete", "exec", "proxy", "impersonate", "impersonate:user-info"}
		o := tables.OriginRule{Deny: rapid.Bool().Draw(t, "deny"), Verbs: d.some(verbs, 0, "verbs"), NotVerbs: d.some(verbs, 0, "not verbs"),
			Kinds: d.some(drawnEntries, 0, "kinds"), NotKinds: d.some(drawnEntries, 0, "not kinds")}
		deny := tables.DenyRule{Resources: d.targets(), Names: d.globs("names"), NeedsName: rapid.Bool().Draw(t, "needs a name"), Namespaces: d.filter("namespaces")}
		for range rapid.IntRange(1, 2).Draw(t, "actions") {
			deny.Actions = append(deny.Actions, tables.DenyAction{Verbs: d.orAll(drawnVerbs[:16], "verbs"), Groups: d.orAll(drawnGroups, "groups"),
				VerbPrefix: rapid.SampledFrom([]string{"", "impersonate:"}).Draw(t, "prefix")})
		}
		var i tables.ImpersonationRule
		if rapid.Bool().Draw(t, "identity") {
			i.Identity = &tables.ImpersonatedIdentity{Verbs: d.some([]string{"impersonate", "impersonate:user-info"}, 1, "verbs"), Names: d.globs("names"),
				Resources: d.orAll([]string{"users", "pods"}, "identities"), ExtraKeys: d.globs("keys"), Namespaces: d.filter("namespaces")}
		}
		if rapid.Bool().Draw(t, "action") {
			i.Action = &tables.ImpersonatedAction{Modes: []string{"user-info"}, Verbs: d.orAll([]string{"get", "delete"}, "verbs"), Groups: d.orAll(drawnGroups, "groups")}
			if rapid.Bool().Draw(t, "targets") {
				i.Action.Resources = d.targets()
			}
		}
		p := tables.DenyPolicy{Clusters: d.globs("clusters"), Tenants: d.globs("tenants"), Sessions: d.globs("sessions"), EscalationRefs: d.globs("escalations"), ReferredBy: d.some(drawnNames, 0, "referred by")}
		for range 8 {
			r := d.request()
			var room Lists
			kubernetes, origin, denial := KubernetesWords(r), OriginWords(r), DenialWords(r)
			for _, c := range []struct {
				family    string
				got, want Truth
			}{
				{"Kubernetes", Kubernetes(&k, &room).Match(&kubernetes), truth(naiveKubernetes(&k, r))},
				{"a Kubernetes leaf", truth(MatchKubernetes(&k, &kubernetes)), truth(naiveKubernetes(&k, r))},
				{"an Origin leaf", truth(MatchOrigin(&o, &origin)), truth(naiveOrigin(&o, r))},
				{"Origin", Origin(&o, &room).Match(&origin), truth(naiveOrigin(&o, r))},
				{"deny", Deny(&deny).Match(&denial), naiveDeny(&deny, r)},
				{"impersonation", Impersonation(&i).Match(&denial), naiveImpersonation(&i, r)},
				{"scope", Scope(&p).Match(&denial), truth(naiveScope(&p, r))},
			} {
				if c.got != c.want {
					t.Fatalf("%s: got %d, want %d, for %+v", c.family, c.got, c.want, *r)
				}
				if seen[c.family] == nil {
					seen[c.family] = make(map[Truth]int)
				}
				seen[c.family][c.got]++
			}
		}
	})
	for family, got := range seen {
		if got[Yes] == 0 || got[No] == 0 {
			t.Errorf("%s: got %v, want requests that match and others", family, got)
		}
	}
}

// A request whose attributes are open is unknown where some value matches and some does not.
func TestOpenAttributesBoundTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{t}
		p := tables.DenyPolicy{Clusters: d.globs("clusters"), Sessions: d.globs("sessions"), EscalationRefs: d.globs("escalations"), ReferredBy: d.some(drawnNames, 0, "referred by")}
		r := d.request()
		open := DenialWords(r)
		open.Open = Referred
		got := Scope(&p).Match(&open)
		for _, session := range drawnNames {
			for _, escalation := range drawnNames {
				in := *r
				in.Session, in.Escalation = session, escalation
				w := DenialWords(&in)
				if one := Scope(&p).Match(&w); got != unknown && one != got {
					t.Fatalf("got %d with an open session, and %d for session %q and escalation %q", got, one, session, escalation)
				}
			}
		}
	})
}

package access

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// samplePair is a request that a rule decides and a similar one that it must not decide.
// hit is nil if no request was found. Both lack the requester and the namespace.
type samplePair struct {
	hit, miss map[string]any
}

func sampleKubernetes(row tables.KubernetesRule) samplePair {
	if len(row.Verbs) == 0 {
		return samplePair{}
	}
	hit := map[string]any{"verb": emit.OrDefault(row.Verbs[0], "get")}
	if len(row.Paths) > 0 {
		hit["path"] = samplePath(row.Paths[0])
		return samplePair{hit, missKubernetes(row, hit)}
	}
	if len(row.Groups) == 0 || len(row.Resources) == 0 {
		return samplePair{}
	}
	hit["apiGroup"] = emit.OrDefault(row.Groups[0], "")
	resource, subresource, _ := strings.Cut(row.Resources[0], "/")
	if resource == "" {
		return samplePair{}
	}
	hit["resource"], hit["subresource"] = emit.OrDefault(resource, "pods"), subresource
	if len(row.Names) > 0 {
		hit["name"] = row.Names[0]
	}
	return samplePair{hit, missKubernetes(row, hit)}
}

// missKubernetes changes one attribute of the hit to a value that the rule does not
// match. For a rule that matches everything, it changes the requester.
func missKubernetes(row tables.KubernetesRule, hit map[string]any) map[string]any {
	miss := maps.Clone(hit)
	switch {
	case !slices.Contains(row.Verbs, "*"):
		miss["verb"] = emit.StrangeVerb
	case len(row.Paths) > 0 && !slices.ContainsFunc(row.Paths, func(p string) bool { return rule.CoversPath(p, emit.StrangePath) }):
		miss["path"] = emit.StrangePath
	case len(row.Paths) == 0 && !slices.Contains(row.Groups, "*"):
		miss["apiGroup"] = emit.StrangeGroup
	case len(row.Paths) == 0 && !slices.ContainsFunc(row.Resources, func(r string) bool { return strings.HasPrefix(r, "*") }):
		miss["resource"] = emit.StrangeResource
	default:
		miss[otherRequester] = true
	}
	return miss
}

// otherRequester marks a request of a user that the binding does not name.
const otherRequester = "other requester"

func samplePath(pattern string) string {
	if path := strings.TrimRight(pattern, "*"); path != pattern && path != "" {
		return path
	}
	return emit.OrDefault(pattern, "/healthz")
}

func sampleOrigin(row tables.OriginRule) samplePair {
	verb, ok := sampleEntry(row.Verbs, row.NotVerbs, "get", "create", "exec", emit.StrangeVerb)
	if !ok {
		return samplePair{}
	}
	kind, ok := sampleEntry(row.Kinds, row.NotKinds, "pods", "secrets", emit.StrangeResource)
	if !ok {
		return samplePair{}
	}
	hit := map[string]any{"verb": verb}
	resource, subresource, _ := strings.Cut(kind, "/")
	hit["resource"], hit["subresource"] = emit.OrDefault(resource, emit.StrangeResource), subresource
	if !rule.MatchesVerb(&row, verb, subresource) || !restrict(hit, row.Restrictions) {
		return samplePair{}
	}
	miss := maps.Clone(hit)
	switch {
	case !rule.MatchesVerb(&tables.OriginRule{Verbs: row.Verbs}, emit.StrangeVerb, subresource):
		miss["verb"] = emit.StrangeVerb
	case !slices.ContainsFunc(row.Kinds, func(k string) bool { return strings.HasPrefix(k, "*") }):
		miss["resource"] = emit.StrangeResource
	default:
		miss[otherRequester] = true
	}
	return samplePair{hit, miss}
}

// sampleEntry returns a value that a list covers and that no negative entry may cover.
// It returns false if no candidate is such a value.
func sampleEntry(positive, negative []string, candidates ...string) (string, bool) {
	if slices.Contains(negative, "*") {
		return "", false
	}
	if !slices.Contains(positive, "*") {
		candidates = positive
	}
	for _, candidate := range candidates {
		if !mayOverlap(negative, candidate) {
			return candidate, true
		}
	}
	return "", false
}

// mayOverlap over-approximates: two words count as overlapping if they might, so that
// samples are never wrong.
func mayOverlap(entries []string, candidate string) bool {
	kind, sub, _ := strings.Cut(candidate, "/")
	return slices.ContainsFunc(entries, func(entry string) bool {
		word, entrySub, _ := strings.Cut(entry, "/")
		alike := word == "*" || strings.HasPrefix(word, stem(kind)) || strings.HasPrefix(kind, stem(word))
		return alike && (entrySub == "" || sub == "" || entrySub == sub)
	})
}

// stem removes the ending of a plural, so that singular and plural have the same stem.
func stem(word string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(word, "s"), "e"), "i")
}

// restrict adds the attributes that the restrictions read, so that they hold. It returns
// false for restrictions that it cannot fulfil, such as those of extensions.
func restrict(hit map[string]any, r *tables.Restrictions) bool {
	if r == nil {
		return true
	}
	if r.Extension != "" || r.Expression != "" || !selectFields(hit, r.Select) || r.SameMinion && !strings.HasPrefix(hit["resource"].(string), "pod") {
		return false
	}
	if len(r.Fields) > 0 {
		switch hit["verb"] {
		case "get", "list", "watch":
		case "update", "create":
			hit["fields"] = []string{r.Fields[0]}
		default:
			return false
		}
	}
	if len(r.Labels) > 0 {
		labels := make(map[string]string)
		for _, entry := range r.Labels {
			value := ""
			if entry.Value != nil {
				value = *entry.Value
			}
			if have, ok := labels[entry.Key]; ok && have != "" && value != "" && have != value {
				return false
			} else if value != "" || !ok {
				labels[entry.Key] = value
			}
		}
		hit["labels"] = labels
	}
	if r.SameMinion {
		attributes := map[string]any{"minion": "n1", "podMinion": "n1"}
		if selected, ok := hit["attributes"].(map[string]any); ok {
			maps.Copy(attributes, selected)
		}
		hit["attributes"] = attributes
	}
	return true
}

// selectFields adds a field selector that has the entries. It returns false if no request
// with these verbs has one, or if no object has all of them.
func selectFields(hit map[string]any, entries []tables.Entry) bool {
	if len(entries) == 0 {
		return true
	}
	verb, _ := hit["verb"].(string)
	resource, _ := hit["resource"].(string)
	subresource, _ := hit["subresource"].(string)
	var requirements []any
	for _, e := range entries {
		if strings.HasPrefix(e.Key, "metadata.") {
			return false // it depends on the name and the namespace
		}
		requirements = append(requirements, map[string]any{"key": e.Key, "operator": "In", "values": []any{*e.Value}})
	}
	hit["attributes"] = map[string]any{selector.FieldKey: requirements}
	return selector.Counts(verb, resource, subresource) &&
		selector.OfFields(selector.Fields(hit["attributes"].(map[string]any)), "", "").Has(entries) == selector.All
}

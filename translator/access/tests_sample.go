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

// sampleKubernetes returns the samples of a rule by its first entries.
func sampleKubernetes(row tables.KubernetesRule) samplePair {
	if len(row.Verbs) == 0 {
		return samplePair{}
	}
	hit := map[string]any{"verb": emit.OrDefault(row.Verbs[0], "get")}
	if len(row.Paths) > 0 {
		hit["path"] = samplePath(row.Paths[0])
	} else {
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
	}
	return samplePair{hit, missOf(hit, func(r *rule.Request) bool {
		w := rule.KubernetesWords(r)
		return rule.MatchKubernetes(&row, &w)
	})}
}

// otherRequester marks a request of a user that the binding does not name.
const otherRequester = "other requester"

// missOf changes one attribute of the hit to a value with which the rule does not match. For a
// rule that matches with any of them, it changes the requester.
func missOf(hit map[string]any, matches func(*rule.Request) bool) map[string]any {
	for _, strange := range [...][2]string{
		{"verb", emit.StrangeVerb}, {"path", emit.StrangePath}, {"apiGroup", emit.StrangeGroup}, {"resource", emit.StrangeResource},
	} {
		miss := maps.Clone(hit)
		if miss[strange[0]] = strange[1]; hit[strange[0]] != nil && !matches(requestOf(miss)) {
			return miss
		}
	}
	miss := maps.Clone(hit)
	miss[otherRequester] = true
	return miss
}

// requestOf returns what entries compare of a sample.
func requestOf(sample map[string]any) *rule.Request {
	text := func(key string) string {
		value, _ := sample[key].(string)
		return value
	}
	return &rule.Request{
		Verb: text("verb"), Path: text("path"), Group: text("apiGroup"), Resource: text("resource"), Subresource: text("subresource"), Name: text("name"),
	}
}

func samplePath(pattern string) string {
	if path := strings.TrimRight(pattern, "*"); path != pattern && path != "" {
		return path
	}
	return emit.OrDefault(pattern, "/healthz")
}

// sampleOrigin returns the samples of a rule by the first of its entries that it matches, since
// negative entries may take them away.
func sampleOrigin(row tables.OriginRule) samplePair {
	matches := func(r *rule.Request) bool {
		w := rule.OriginWords(r)
		return rule.MatchOrigin(&row, &w)
	}
	for _, kind := range entriesOr(row.Kinds, "pods", "secrets", emit.StrangeResource) {
		for _, verb := range entriesOr(row.Verbs, "get", "create", "exec", emit.StrangeVerb) {
			resource, subresource, _ := strings.Cut(kind, "/")
			hit := map[string]any{"verb": verb, "resource": emit.OrDefault(resource, emit.StrangeResource), "subresource": subresource}
			if matches(requestOf(hit)) && restrict(hit, row.Restrictions) {
				return samplePair{hit, missOf(hit, matches)}
			}
		}
	}
	return samplePair{}
}

// entriesOr returns entries, or the others if all values match.
func entriesOr(entries []string, others ...string) []string {
	if slices.Contains(entries, "*") {
		return others
	}
	return entries
}

// restrict adds the attributes that the restrictions read, so that they hold. It returns
// false for restrictions that it cannot fulfil, such as those of extensions.
func restrict(hit map[string]any, r *tables.Restrictions) bool {
	if r == nil {
		return true
	}
	if r.Extension != "" || r.Expression != "" || !selectFields(hit, r.Select) {
		return false
	}
	if r.SameMinion && !strings.HasPrefix(hit["resource"].(string), "pod") {
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

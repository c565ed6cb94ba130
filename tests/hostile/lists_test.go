package hostile

import (
	"maps"
	"net/url"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
)

const listPath = "/v1/lists/:resource"

var listAttack = &attack{
	target: "FuzzList",
	routes: []string{"GET " + listPath, "HEAD " + listPath},
	draw: func(d random.Source, s *site, route string) *request {
		drawn := s.drawAccess(d)
		for drawn.Path != "" || drawn.Resource == "" || drawn.Resource == "." || drawn.Resource == ".." {
			drawn = s.drawAccess(d)
		}
		r := get(route)
		given := url.Values{"verb": {drawn.Verb}, "apiGroup": {drawn.APIGroup}, "subresource": {drawn.Subresource}, "cluster": {drawn.Cluster}}
		if d.Once(2) {
			given["user"], given["group"] = []string{drawn.User}, drawn.Groups
		}
		if d.Once(4) {
			given.Set("limit", d.One([]string{"1", "2", "0", "x"}))
		}
		r.path, r.query = "/v1/lists/"+url.PathEscape(drawn.Resource), given.Encode()
		r.from(d, "t-auditor", "t-auditor", "t-alice")
		return r
	},
	judge: judgeList,
}

// FuzzList asks in which namespaces a subject may do something.
func FuzzList(f *testing.F) { listAttack.fuzz(f) }

// judgeList compares the namespaces and the names of a list with the oracle. About others
// only auditors ask.
func judgeList(x *exchange) string {
	own := x.caller()
	if own == nil {
		return "a caller without credentials gets an answer"
	}
	if x.sent.Method == "HEAD" {
		return ""
	}
	asked, _ := x.decoded()["question"].(map[string]any)
	if !contains(own.groups, "auditors") && text(asked["user"]) != own.name {
		return "a caller that is not an auditor asks about another one"
	}
	allows := func(namespace, name string) (bool, bool) {
		request := map[string]any{}
		maps.Copy(request, asked)
		request["namespace"], request["name"] = namespace, name
		r, ok := accessOf(request)
		return ok && x.site.allows(r), ok
	}
	if text(asked["resource"]) == "namespaces" && text(asked["apiGroup"]) == "" {
		return ""
	}
	if x.decoded()["total"] == nil || x.sent.URL.Query().Get("limit") != "" {
		return ""
	}
	listed := map[string]any{}
	items, _ := x.decoded()["items"].([]any)
	for _, each := range items {
		item, _ := each.(map[string]any)
		listed[text(item["namespace"])] = item["names"]
	}
	for _, namespace := range random.Namespaces {
		names, isListed := listed[namespace]
		var list []string
		named, isList := names.([]any)
		for _, name := range named {
			list = append(list, text(name))
		}
		for _, name := range []string{"", "a", "web-1"} {
			allowed, ok := allows(namespace, name)
			if !ok {
				continue
			}
			switch {
			case allowed && !isListed && x.decoded()["others"].(map[string]any)["kind"] == "never":
				return "a namespace is missing: " + namespace
			case !allowed && names == "*":
				return "every name is listed, and the oracle denies " + name + " in " + namespace
			case isList && allowed != contains(list, name):
				return "the names of " + namespace + " are not those that the oracle allows: " + name
			}
		}
	}
	return ""
}

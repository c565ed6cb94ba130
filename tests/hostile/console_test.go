package hostile

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// proposals are documents that are compared with those that are served. Half of them have
// no mistake.
var proposals = []string{
	"", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: added}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n" +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: added}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: added}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: added}]\n",
	"{", "kind: x", "a: &a [*a]",
}

const explanationPath = "/v1/explanations/:point"

var consoleAttack = &attack{
	target: "FuzzConsole",
	routes: []string{
		"POST " + explanationPath, "GET /v1/events", "GET /v1/rates", "GET /v1/names", "GET /v1/matrix", "GET /v1/subject", "GET /v1/role", "GET /v1/documents", "GET /v1/documents/*path",
		"GET /v1/rules", "GET /v1/topology", "GET /v1/revisions", "GET /v1/diff", "POST /v1/diff", "GET /v1/risks", "GET /v1/sessions", "GET /v1/log",
	},
	draw: func(d random.Source, s *site, route string) *request {
		q := s.drawAccess(d)
		if route == "POST /v1/diff" {
			content := d.One(proposals)
			isWhole := len(content) < 20 && d.Once(2) // without everything else, much differs
			r := post(d, "/v1/diff", written(map[string]any{"documents": []any{map[string]any{"path": "new.yaml", "content": content}}, "whole": isWhole && content != ""}))
			r.header = r.header[:1]
			r.from(d, "t-auditor")
			return r
		}
		if strings.HasPrefix(route, "POST") {
			asked := strict([]byte(q.JSON()))
			r := post(d, "/v1/explanations/access", q.JSON())
			if d.Once(3) { // about itself
				delete(asked, "user")
				delete(asked, "groups")
				r.body = []byte(written(asked))
			} else {
				r.header = r.header[:1]
				r.from(d, "t-auditor")
			}
			return r
		}
		r := get(route)
		revision := s.policies.Loaded().Revision
		switch route {
		case "GET /v1/names":
			r.query = "field=" + d.One([]string{"user", "groups", "verb", "resource", "namespace"}) + "&prefix=" + d.One([]string{"", "a", "%27"})
		case "GET /v1/subject":
			r.query = url.Values{"subject": {q.User + "x"}, "limit": {"3"}}.Encode()
		case "GET /v1/role":
			roles := statement.Of(s.policies).Access.Roles
			keys := make([]string, 0, roles.Len())
			for key := range roles.All() {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			role := roles.At(d.One(keys))
			r.query = url.Values{"family": {role.Family}, "namespace": {role.Namespace}, "name": {role.Name}}.Encode()
		case "GET /v1/matrix":
			r.query = url.Values{"resource": {q.Resource}, "namespace": {q.Namespace}, "limit": {"3"}, "format": {d.One([]string{"", "csv"})}}.Encode()
			if q.Resource == "" {
				r.query = "of=what&limit=3&subject=" + url.QueryEscape(q.User+"x")
			}
		case "GET /v1/documents/*path":
			paths := make([]string, 0, len(s.files))
			for path := range s.files {
				paths = append(paths, path)
			}
			slices.Sort(paths)
			r.path = "/v1/documents/" + d.One(paths)
		case "GET /v1/rules":
			r.query = "never=1&limit=5"
		case "GET /v1/topology":
			r.query = "format=" + d.One([]string{"json", "dot", "mermaid"})
		case "GET /v1/diff":
			r.query = "from=" + revision[:12] + "&to=" + revision
		case "GET /v1/risks":
			r.query = "severity=" + d.One([]string{"", "low", "high"}) + "&subject=" + d.One([]string{"", "a", "%27"})
		case "GET /v1/sessions":
			r.query = "state=" + d.One([]string{"", "holds", "ended"}) + "&user=" + d.One([]string{"", "a", "%27"}) + "&cluster=" + d.One([]string{"", "prod-eu.1"})
		case "GET /v1/log":
			r.query = "outcome=deny&user=a"
		}
		r.from(d, "t-auditor")
		return r
	},
	judge: judgeConsole,
}

// FuzzConsole asks for what the web console shows.
func FuzzConsole(f *testing.F) { consoleAttack.fuzz(f) }

// judgeConsole compares explanations with the oracle. All else is for auditors.
func judgeConsole(x *exchange) string {
	own := x.caller()
	switch {
	case own == nil:
		return "a caller without credentials is answered"
	case !strings.HasPrefix(x.sent.URL.Path, "/v1/explanations/") && !contains(own.groups, "auditors"):
		return "a caller that is not an auditor is answered"
	case !strings.HasPrefix(x.sent.URL.Path, "/v1/explanations/"):
		return ""
	}
	answer := x.decoded()
	request, _ := answer["request"].(map[string]any)
	if !contains(own.groups, "auditors") {
		groups := groupsOf(map[string]any{"groups": request["groups"]})
		if request["user"] != own.name || !slices.Equal(sortedTexts(groups), sortedTexts(own.groups)) {
			return "a caller that is not an auditor asks about others"
		}
		if excerpts, _ := answer["excerpts"].([]any); len(excerpts) > 0 {
			return "a caller that is not an auditor sees documents"
		}
	}
	if !strings.HasSuffix(x.sent.URL.Path, "/access") {
		return ""
	}
	for _, each := range append(list(answer["whatIf"]), answer) {
		shown, _ := each.(map[string]any)
		asked, ok := shown["request"].(map[string]any)
		r, valid := accessOf(asked)
		if !ok || !valid {
			return "a shown request is not one: " + written(shown)
		}
		if (shown["outcome"] == "allow") != x.site.allows(r) {
			return "a shown outcome is not the decision: " + written(asked)
		}
	}
	return ""
}

func list(value any) []any {
	list, _ := value.([]any)
	return slices.Clone(list)
}

func sortedTexts(list []string) []string { return slices.Sorted(slices.Values(list)) }

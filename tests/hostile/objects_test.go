package hostile

import (
	"net/url"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
)

const objectsPath = "/api/:version/ns/:namespace/:resource"

var objectsAttack = &attack{
	target: "FuzzOriginObjects",
	routes: []string{"GET " + objectsPath, "HEAD " + objectsPath, "GET " + objectsPath + "/:name", "HEAD " + objectsPath + "/:name"},
	draw: func(d random.Source, s *site, route string) *request {
		r := get(route)
		var roles []string
		for _, namespace := range append([]string{"master"}, random.Namespaces...) {
			for _, role := range s.policies.Tables().Access().OriginObjects("Role", namespace, "") {
				roles = append(roles, url.PathEscape(namespace)+"/roles/"+url.PathEscape(role.Metadata.Name))
			}
		}
		r.path = "/api/v1/ns/" + d.One(append(roles, "hammer/roles/none"))
		if !strings.HasSuffix(route, "/:name") {
			namespace, _, _ := strings.Cut(r.path, "/roles/")
			r.path = namespace + "/" + d.One([]string{"roles", "roleBindings", "POLICIES"})
		}
		r.from(d, "t-auditor")
		return r
	},
	judge: func(x *exchange) string {
		own := x.caller()
		if own == nil || !contains(own.groups, "auditors") {
			return "a caller that is not an auditor is answered"
		}
		if x.sent.Method == "HEAD" {
			return ""
		}
		objects := []any{x.decoded()}
		if items, isList := x.decoded()["items"].([]any); isList {
			objects = items
		}
		parts := strings.Split(x.sent.URL.Path, "/")
		for _, each := range objects {
			object, _ := each.(map[string]any)
			metadata, _ := object["metadata"].(map[string]any)
			if metadata["namespace"] != parts[4] || len(parts) > 6 && metadata["name"] != parts[6] {
				return "an object of another namespace or name is shown"
			}
			if role, isBinding := object["roleRef"].(map[string]any); isBinding {
				if len(x.site.policies.Tables().Access().OriginObjects("Role", text(role["namespace"]), text(role["name"]))) != 1 {
					return "a binding names a role that does not exist"
				}
			}
		}
		return ""
	},
}

// FuzzOriginObjects asks for roles, role bindings and policies as objects.
func FuzzOriginObjects(f *testing.F) { objectsAttack.fuzz(f) }

func text(value any) string {
	out, _ := value.(string)
	return out
}

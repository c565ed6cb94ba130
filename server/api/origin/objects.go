package origin

import (
	"net/http"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// kinds are the kinds of objects by the path segment that lists them.
var kinds = map[string]string{"roles": "Role", "rolebindings": "RoleBinding", "policies": "Policy"}

// objectList is the answer for all objects of a kind.
type objectList struct {
	Kind       string                `json:"kind"`
	APIVersion string                `json:"apiVersion"`
	Items      []tables.OriginObject `json:"items"`
}

// Objects returns the handler that shows the roles, role bindings and policies of a
// namespace, all or the one with the path value name.
func (s *Reviews) Objects() http.HandlerFunc {
	return s.only(http.MethodGet, s.Service.List(exchange.List{Form: exchange.Status, Answer: showObjects}))
}

func showObjects(r *http.Request, p decision.Policies) ([]byte, *exchange.Refusal) {
	kind := kinds[strings.ToLower(r.PathValue("resource"))]
	list := objectList{Kind: kind + "List", APIVersion: r.PathValue("version")}
	list.Items = p.Tables().Access().OriginObjects(kind, r.PathValue("namespace"), r.PathValue("name"))
	for i := range list.Items {
		list.Items[i].Kind, list.Items[i].APIVersion = kind, list.APIVersion
	}
	var answer any = list
	if name := r.PathValue("name"); name != "" {
		if len(list.Items) == 0 {
			return nil, &exchange.Refusal{
				Status:  http.StatusNotFound,
				Message: kind + " " + exchange.Line(name, exchange.MaxName) + " not found",
			}
		}
		answer = list.Items[0]
	}
	return append(jsontext.Marshal(answer), '\n'), nil
}

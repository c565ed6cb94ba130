package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/translator/tables"
)

// Guard lets only some change policy documents, what admission and the API server are made of,
// and writ's own deployment.
type Guard struct {
	// Writers may change them: "user:NAME" or "group:NAME", at least one. Controllers alone may
	// change the status of break-glass documents.
	Writers, Controllers []string
	// Namespace is that of writ.
	Namespace string
	// Gateways guards gateways and routes too.
	Gateways bool
}

const guardName = "writ-guard"

// Validate returns an error if a principal has another form, or no writer is named.
func (g *Guard) Validate() error {
	if len(g.Writers) == 0 {
		return fmt.Errorf("a guard needs a writer: without one no user can change policy documents")
	}
	for _, p := range slices.Concat(g.Writers, g.Controllers) {
		kind, name, _ := strings.Cut(p, ":")
		if kind+":" != tables.UserPrefix && kind+":" != tables.GroupPrefix || name == "" {
			return fmt.Errorf("%q must be user:NAME or group:NAME", p)
		}
	}
	return nil
}

// groups are the API groups of policy documents.
func (g *Guard) groups() []string {
	out := []string{tables.BreakglassGroup, "clusterpulse.io", "kuadrant.io", "rbac.authorization.k8s.io", "writ.dev"}
	if g.Gateways {
		out = append(out, "gateway.networking.k8s.io")
	}
	return out
}

// policy returns the admission policy. It looks at policy documents, and at all that could take it
// or writ out of the way: admission policies, aggregated APIs, definitions of the guarded groups,
// and the objects of writ's own namespace. Writers may change these, and controllers may change
// the status of break-glass documents; the API server's own accounts do what they do everywhere.
func (g *Guard) policy() companion.Slice {
	all := func(groups []string, resources ...string) companion.Rules {
		return companion.Rules{APIGroups: groups, APIVersions: []string{"*"}, Operations: []string{"CREATE", "UPDATE", "DELETE"}, Resources: resources}
	}
	groups := companion.List(g.groups())
	status := fmt.Sprintf(`request.resource.group == %q && has(request.subResource) && request.subResource == "status"`, tables.BreakglassGroup)
	return companion.Slice{Name: guardName, Policy: companion.Policy{
		FailurePolicy: "Fail",
		MatchConstraints: companion.Constraints{MatchPolicy: "Exact", ResourceRules: []companion.Rules{
			all(g.groups(), "*/*"),
			all([]string{"admissionregistration.k8s.io"}, "*/*"),
			all([]string{"apiregistration.k8s.io"}, "apiservices"),
			all([]string{"apiextensions.k8s.io"}, "customresourcedefinitions"),
			all([]string{""}, "configmaps", "secrets", "services"),
			all([]string{"apps"}, "deployments", "deployments/scale"),
		}},
		MatchConditions: []companion.Named{
			{Name: "guarded", Expression: fmt.Sprintf(`request.resource.group in ["", "apps"] ? `+
				`has(request.namespace) && request.namespace == %q && !(request.resource.resource == "configmaps" && `+
				`has(request.name) && request.name in ["kube-root-ca.crt", %q]) : `+
				`request.resource.group != "apiextensions.k8s.io" || (request.operation != "DELETE" && object.spec.group in %s) || `+
				`(request.operation != "CREATE" && oldObject.spec.group in %s)`, g.Namespace, companion.ProbeName, groups, groups)},
			{Name: "not-system", Expression: `!(request.userInfo.username == "system:apiserver" || ` +
				`request.userInfo.username == "system:serviceaccount:kube-system:clusterrole-aggregation-controller" && ` +
				`request.operation == "UPDATE" && request.resource.resource == "clusterroles" || ` +
				`request.userInfo.username in ["system:serviceaccount:kube-system:generic-garbage-collector", ` +
				`"system:serviceaccount:kube-system:namespace-controller"] && request.operation == "DELETE")`},
		},
		Variables: companion.Requester(),
		Validations: []companion.Validation{
			{Expression: fmt.Sprintf("(%s) || %s", status, companion.IsSubject(g.Writers)), Reason: "Forbidden",
				Message: companion.Message("only " + strings.Join(g.Writers, ", ") + " may change policy documents (" + guardName + ")")},
			{Expression: fmt.Sprintf("!(%s) || %s", status, companion.IsSubject(slices.Clip(append([]string{}, g.Controllers...)))), Reason: "Forbidden",
				Message: companion.Message("only " + cmp.Or(strings.Join(g.Controllers, ", "), "a --controller, which is not set,") + " may change the status of break-glass documents (" + guardName + ")")},
		},
	}}
}

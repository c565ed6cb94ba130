package agreement

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
)

// askingGateway asks the access point about what the identity of a request holds.
const askingGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: forms-net, name: edge}
spec: {gatewayClassName: g, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {namespace: forms-net, name: asks}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  rules:
    authorization:
      asked:
        kubernetesSubjectAccessReview:
          user: {selector: auth.identity.user}
          authorizationGroups: {selector: auth.identity.groups}
          resourceAttributes:
            verb: {selector: auth.identity.verb}
            group: {selector: auth.identity.group}
            resource: {selector: auth.identity.resource}
            subresource: {selector: auth.identity.subresource}
            namespace: {selector: auth.identity.namespace}
            name: {selector: auth.identity.name}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: forms-net, name: all}
spec: {parentRefs: [{name: edge}], rules: [{name: all}]}
`

// throughGateway is the gateway request whose policy asks the access request.
func throughGateway(t *testing.T, r oracle.Request) string {
	t.Helper()
	identity := map[string]any{
		"user": r.User, "groups": append([]string{}, r.Groups...), "verb": r.Verb, "group": r.APIGroup, "resource": r.Resource,
		"subresource": r.Subresource, "namespace": r.Namespace, "name": r.Name,
	}
	return written(t, map[string]any{
		"request": map[string]any{"host": "a.example", "method": "GET", "path": "/"},
		"gateway": map[string]any{"namespace": "forms-net", "name": "edge"}, "auth": map[string]any{"identity": identity},
	})
}

// points are the ways to ask whether a request is allowed. Each reports whether it is.
type points map[string]func(oracle.Request) bool

// pointsOf are those of a bundle: the embedded engine's own, and HTTP.
func pointsOf(t *testing.T, bundle *bundles.Bundle) points {
	t.Helper()
	e, err := engine.Activate(context.Background(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := api.New(api.Options{
		Current: func() decision.Policies { return e }, Metrics: metrics.New(), Rule: auth.Rule{Loopback: true},
	})
	return points{
		"gateway": func(r oracle.Request) bool {
			d := gatewayDecision(t, e, throughGateway(t, r))
			return d != nil && d.Allowed
		},
		"review":        func(r oracle.Request) bool { return reviewAllows(t, h, r) },
		"Origin review": func(r oracle.Request) bool { return originReviewAllows(t, h, r) },
		"canonical": func(r oracle.Request) bool {
			a, _ := ofEngine(t, e, r.JSON())
			return a.Allowed
		},
	}
}

func reviewAllows(t *testing.T, h http.Handler, r oracle.Request) bool {
	t.Helper()
	spec := map[string]any{"user": r.User, "groups": append([]string{}, r.Groups...), "resourceAttributes": map[string]any{
		"verb": r.Verb, "group": r.APIGroup, "resource": r.Resource, "subresource": r.Subresource, "namespace": r.Namespace, "name": r.Name,
	}}
	body := map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
	return answered(t, h, "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
}

// originReviewAllows asks about the user, or about the first group of a request without a user:
// such a review has one subject, and the API group "".
func originReviewAllows(t *testing.T, h http.Handler, r oracle.Request) bool {
	t.Helper()
	if r.Namespace == "" || r.User == "" && len(r.Groups) == 0 {
		return false
	}
	spec := map[string]any{"verb": r.Verb, "resourceKind": r.Resource, "resourceName": r.Name, "userName": r.User}
	if r.Subresource != "" {
		spec["resourceKind"] = r.Resource + "/" + r.Subresource
	}
	if r.User == "" {
		delete(spec, "userName")
		spec["groupName"] = r.Groups[0]
	}
	if r.Labels != nil {
		spec["content"] = map[string]any{"metadata": map[string]any{"labels": r.Labels}}
	}
	body := map[string]any{"apiVersion": "v1", "kind": "SubjectAccessReview", "spec": spec}
	return answered(t, h, "/api/v1/ns/"+url.PathEscape(r.Namespace)+"/subjectaccessreviews", body)
}

// answered posts a review and reports whether it is allowed.
func answered(t *testing.T, h http.Handler, path string, body any) bool {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(written(t, body)))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: got %d %s", path, w.Code, w.Body)
	}
	status, _ := tree(t, w.Body.Bytes()).(map[string]any)["status"].(map[string]any)
	return status["allowed"] == true
}

// unscoped writes a deny policy for each denial, in every scope: by a rule, or by pod
// security where it can be. Reviews of the Origin API have the API group "", whatever the
// kind.
func unscoped(all []denial) string {
	var text strings.Builder
	for i, d := range all {
		if c := d.canonical; c.Resource == "pods" && c.APIGroup == "" && c.Subresource != "" && i%2 == 0 {
			fmt.Fprintf(&text, `---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: forms-%d}
spec: {podSecurityRules: {appliesTo: {subresources: [%q]}, riskFactors: {}, thresholds: [{maxScore: 0, action: deny}]}}
`, i, c.Subresource)
			continue
		}
		fmt.Fprintf(&text, `---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: forms-%d}
spec: {rules: [{verbs: [%q], apiGroups: [%q, ""], resources: [%q], subresources: [%q]}]}
`, i, d.canonical.Verb, d.canonical.APIGroup, d.canonical.Resource, d.canonical.Subresource)
	}
	return text.String()
}

// What any family of documents allows in some spelling at some point, a deny policy that
// names the canonical form denies there.
func TestNoSpellingEscapesADenialAtAnyPoint(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	granted := map[string]int{}
	points := []string{"gateway", "review", "Origin review", "canonical"}
	lacking := func() bool { return slices.ContainsFunc(points, func(p string) bool { return granted[p] == 0 }) }
	// Some worlds grant nothing: more are tried until each point grants something.
	least := firstWorld() + uint64(max(denyWorlds()/8, 2))
	for seed := firstWorld(); seed < least || lacking() && seed < least+20; seed++ {
		generate := access.Generate
		if seed%2 == 0 {
			generate = access.GenerateDeny
		}
		files, world := generate(seed)
		all := denials(seed, world)
		files["asking.yaml"] = askingGateway
		before := pointsOf(t, build(t, seed, files))
		files["forms.yaml"] = unscoped(all)
		bundle := build(t, seed, files)
		after := pointsOf(t, bundle)
		stock := stockPoint(t, bundle, "gateway")
		for i, d := range all {
			for j, spelling := range d.spellings {
				spelling.Cluster = ""
				for point, allows := range before {
					if !allows(spelling) {
						continue
					}
					granted[point]++
					if after[point](spelling) {
						t.Fatalf("world %d, %s: %s escapes the policy of %s", seed, point, spelling.JSON(), d.canonical.JSON())
					}
					if point == "gateway" && (i+j)%(4*stockEvery) == 0 && stockLets(t, stock, spelling) {
						t.Fatalf("world %d, %s of OPA: %s escapes the policy of %s", seed, point, spelling.JSON(), d.canonical.JSON())
					}
				}
			}
		}
	}
	t.Logf("granted: %v", granted)
	for _, point := range points {
		if granted[point] == 0 {
			t.Errorf("%s: no request is granted without the policies", point)
		}
	}
}

// Each part of the definition of forms is needed for what gateways ask.
func TestEachPartOfTheFormsIsNeededByGateways(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	const seed = 1 // a world that has spellings for each part
	files, world := access.Generate(seed)
	all := denials(seed, world)
	files["asking.yaml"] = askingGateway + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything}
rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: everything}]
`
	files["forms.yaml"] = unscoped(all)
	bundle := build(t, seed, files)
	escapes := func(b *bundles.Bundle) string {
		stock := stockPoint(t, b, "gateway")
		for _, d := range all {
			for _, spelling := range d.spellings {
				spelling.User, spelling.Groups = "everything", nil // is granted each spelling
				if stockLets(t, stock, spelling) {
					return spelling.JSON()
				}
			}
		}
		return ""
	}
	if got := escapes(bundle); got != "" {
		t.Fatalf("the library as it is: %s", got)
	}
	for _, row := range partsOfForms {
		if escapes(withoutPart(t, bundle, row.name, row.part, row.without)) == "" {
			t.Errorf("%s: no spelling escapes without it", row.name)
		}
	}
}

func stockLets(t *testing.T, stock rego.PreparedEvalQuery, r oracle.Request) bool {
	t.Helper()
	d, _ := guardedByStock(t, stock, throughGateway(t, r)).(map[string]any)
	return d["allowed"] == true
}

// withoutPart is a bundle whose definition of forms lacks a part.
func withoutPart(t *testing.T, bundle *bundles.Bundle, name, part, without string) *bundles.Bundle {
	t.Helper()
	content := string(bundle.Files[formsPath])
	if !strings.Contains(content, part) {
		t.Fatalf("%s: %q is not in %s", name, part, formsPath)
	}
	broken := &bundles.Bundle{Manifest: bundle.Manifest, Tables: bundle.Tables, Data: bundle.Data, Files: maps.Clone(bundle.Files)}
	broken.Files[formsPath] = []byte(strings.Replace(content, part, without, 1))
	return broken
}

// Package revisions activates documents, and makes random ones of the point access with
// requests about them, for tests of package change and of those below it.
package revisions

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// Of translates documents and activates them. Documents with errors end the test.
func Of(t *testing.T, documents []string) *diff.Side {
	t.Helper()
	side, list := OfFiles(t, files(documents))
	if side == nil {
		t.Fatalf("%v\n%s", list, strings.Join(documents, "\n"))
	}
	return side
}

func files(documents []string) []source.File {
	return []source.File{source.NewFile("all.yaml", []byte(strings.Join(documents, "\n---\n")))}
}

// OfFiles translates the documents of files and activates them. It returns nil and the
// diagnostics if they have errors.
func OfFiles(t *testing.T, files []source.File) (*diff.Side, diag.List) {
	t.Helper()
	return activated(t, files, engine.Options{})
}

func activated(t *testing.T, files []source.File, o engine.Options) (*diff.Side, diag.List) {
	t.Helper()
	e, list := Engine(t, source.Snapshot{Files: files}, o)
	if e == nil {
		return nil, list
	}
	return &diff.Side{World: statement.Of(e), Judge: judge.Of(e)}, list
}

// Engine translates the documents of a snapshot and activates them. It returns nil and the
// diagnostics if they have errors.
func Engine(t *testing.T, snapshot source.Snapshot, o engine.Options) (*engine.Engine, diag.List) {
	t.Helper()
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), snapshot)
	if result == nil {
		return nil, list
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return e, list
}

// Random makes random documents of the families of the point access.
type Random struct{ *rand.Rand }

func (random Random) some(from ...string) string {
	var out []string
	for _, v := range from {
		if random.IntN(3) == 0 {
			out = append(out, fmt.Sprintf("%q", v))
		}
	}
	if out == nil {
		out = []string{fmt.Sprintf("%q", from[random.IntN(len(from))])}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Documents returns documents, each of which may be replaced by the one at its index in
// others.
func (random Random) Documents() []string {
	out := []string{
		"{kind: Policy, apiVersion: writ.dev/v1, metadata: {name: p, namespace: shop}}",
		"{kind: PolicyBinding, apiVersion: writ.dev/v1, metadata: {name: shop, namespace: shop}}",
	}
	for i := range 3 {
		names := ""
		if random.IntN(4) == 0 { // "" covers requests without a name
			names = ", resourceNames: " + random.some("a", "")
		}
		out = append(out, fmt.Sprintf(`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: k%d}, rules: [{verbs: %s, apiGroups: ["", apps], resources: %s%s}]}`,
			i, random.some("get", "delete", "update", "*"), random.some("pods", "secrets", "pods/exec", "*"), names))
		kind, where := "RoleBinding", "namespace: shop, "
		if random.IntN(2) == 0 {
			kind, where = "ClusterRoleBinding", ""
		}
		out = append(out, fmt.Sprintf(`{kind: %s, apiVersion: rbac.authorization.k8s.io/v1, metadata: {%sname: k%d}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: k%d}, subjects: [{kind: Group, name: g%d}, {kind: User, name: u%d}]}`,
			kind, where, i, i, random.IntN(3), random.IntN(2)))
	}
	for i := range 3 {
		namespace := []string{"shop", "master"}[random.IntN(2)]
		restriction := ""
		if random.IntN(3) == 0 {
			restriction = ", attributeRestrictions: {" + random.Pick("labelsContain: [tier]", "labelsContain: [tier]", "labelsContain: [tier=x]",
				"fieldsSelect: [type=x]", "fieldsSelect: [type=y, metadata.namespace=shop]", "fieldsSelect: [metadata.name=a], labelsContain: [tier]") + "}"
		}
		out = append(out, fmt.Sprintf(`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o%d, namespace: master}, rules: [{deny: %v, verbs: %s, resourceKinds: %s%s}]}`,
			i, random.IntN(2) == 0, random.some("get", "delete", "update", "list", "*", "-get"), random.some("Pod", "secrets", "*", "-pods"), restriction),
			fmt.Sprintf(`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o%d, namespace: %s}, roleRef: {namespace: master, name: o%d}, groupNames: [g%d], userNames: [u%d]}`,
				i, namespace, i, random.IntN(3), random.IntN(2)))
	}
	for i := range 2 {
		out = append(out, fmt.Sprintf(`{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d%d}, spec: {appliesTo: {clusters: %s}, rules: [{verbs: %s, apiGroups: [""], resources: %s, namespaces: {patterns: %s}%s}]}}`,
			i, random.some("prod-*", "*", "lab", "?ab", "prod**1"), random.some("get", "delete"), random.some("pods", "secrets", "*/exec"),
			random.some("sh*", "lab", "*", "**", "s**p", "?hop", "l?b*", "[l-s]*", `la\b`, ""), random.Pick("", "", fmt.Sprintf(", resourceNames: %s", random.some("a", "a**", "?", "", "*")))))
	}
	return out
}

// Pick returns one of some values.
func (random Random) Pick(from ...string) string { return from[random.IntN(len(from))] }

// Request returns a request about what documents name.
func (random Random) Request() map[string]any {
	r := map[string]any{"user": random.Pick("u0", "u1", "other"), "verb": random.Pick("get", "delete", "update", "patch", "list", "*", "GET"),
		"resource": random.Pick("pods", "secrets", "Pod", "configmaps", "*"), "apiGroup": random.Pick("", "", "apps")}
	for _, member := range [][]string{{"namespace", "shop", "lab", ""}, {"cluster", "prod-1", "lab", ""}, {"subresource", "exec", "", "", ""}, {"name", "a", "b", "", ""}} {
		if v := random.Pick(member[1:]...); v != "" {
			r[member[0]] = v
		}
	}
	groups := []string{}
	for _, g := range []string{"g0", "g1", "g2"} {
		if random.IntN(3) == 0 {
			groups = append(groups, g)
		}
	}
	r["groups"] = groups
	if random.IntN(3) == 0 {
		q := map[string]any{"key": random.Pick("type", "type", "metadata.name"), "operator": random.Pick("In", "NotIn"), "values": []any{random.Pick("x", "y", "a")}}
		r["attributes"] = map[string]any{"fieldSelector": []any{q}}
	}
	if random.IntN(4) == 0 {
		q := map[string]any{"key": "tier", "operator": random.Pick("In", "NotIn"), "values": []any{random.Pick("x", "y")}}
		r["attributes"] = map[string]any{"labelSelector": []any{q, map[string]any{"key": "tier", "operator": "Exists"}}}
	}
	if random.IntN(2) == 0 {
		r["labels"] = map[string]string{random.Pick("tier", "other"): "x"}
	}
	return r
}

// Principals returns the principals that a request holds and documents name.
func Principals(r map[string]any) []string {
	out := []string{}
	if u, _ := r["user"].(string); u != "other" && u != "" {
		out = append(out, "user:"+u)
	}
	groups, _ := r["groups"].([]string)
	for _, g := range groups {
		out = append(out, "group:"+g)
	}
	return out
}

// PointOf returns the point of a request: an action is for visibility.
func PointOf(r map[string]any) string {
	if r["action"] != nil {
		return statement.PointVisibility
	}
	return statement.PointAccess
}

// Outcome returns how a revision decides a request.
func Outcome(t *testing.T, s *diff.Side, r map[string]any) string {
	t.Helper()
	v, err := s.Judge(t.Context(), PointOf(r), []byte(Text(r)))
	if err != nil {
		t.Fatal(err)
	}
	return v.Outcome
}

// Text returns a request as JSON.
func Text(r map[string]any) string {
	out, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(out)
}

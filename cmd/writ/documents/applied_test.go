package documents

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// part decodes files that may refer to documents of others.
func part(t *testing.T, isCluster bool, files map[string]string) Part {
	t.Helper()
	s := source.Snapshot{Origins: []source.Origin{{Cluster: isCluster}}}
	for path, content := range files {
		s.Files = append(s.Files, source.File{Path: path, Content: source.TextOf([]byte(content)), Hash: sha256.Sum256([]byte(content)), Object: isCluster})
	}
	decoder := translator.New(translator.Options{AllowEmpty: true})
	decoder.Translate(t.Context(), s)
	if len(decoder.Documents()) == 0 {
		t.Fatal("no documents")
	}
	return Part{s, decoder.Documents()}
}

func contentOf(t *testing.T, s source.Snapshot, path string) string {
	t.Helper()
	for _, f := range s.Files {
		if f.Path == path {
			if f.Hash != sha256.Sum256(f.Content.Bytes()) {
				t.Errorf("%s: the hash is of another content", path)
			}
			return string(f.Content.Bytes())
		}
	}
	t.Fatalf("no file %s", path)
	return ""
}

// What the API server and its controllers write does not differ: an escalation stays ready, a
// route as old as it was. What is new is as old as the comparison, and not approved.
func TestApplyKeepsWhatTheServerWrites(t *testing.T) {
	base := part(t, true, map[string]string{
		"kube:BreakglassEscalation/fix": `{"apiVersion":"breakglass.t-caas.telekom.com/v1alpha1","kind":"BreakglassEscalation","metadata":{"name":"fix","uid":"u1","creationTimestamp":"2026-01-01T00:00:00Z"},` +
			`"spec":{"escalatedGroup":"admins","allowed":{"groups":["a"]},"approvers":{"groups":["b"]}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		"kube:HTTPRoute/shop/old": `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"old","namespace":"shop","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"parentRefs":[{"name":"g"}]}}`,
	})
	applied := part(t, false, map[string]string{"all.yaml": `# first
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassEscalation
metadata: {name: fix, uid: forged}
spec: {escalatedGroup: admins, allowed: {groups: [a]}, approvers: {groups: [b]}}
status: {conditions: [{type: Ready, status: "False"}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: old, namespace: shop, creationTimestamp: 2020-01-01T00:00:00Z}
spec: {parentRefs: [{name: g}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: new, namespace: shop, labels: {n: "07", b: "yes"}}
spec: {parentRefs: [{name: g, port: 80}]}
`})
	got, err := Apply(base, applied, nil, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if got.Added != 1 || got.Replaced != 2 || got.Pruned != 0 || len(got.Snapshot.Files) != 1 {
		t.Errorf("got %d added, %d replaced, %d pruned, %d files", got.Added, got.Replaced, got.Pruned, len(got.Snapshot.Files))
	}
	lines := strings.Split(contentOf(t, got.Snapshot, "all.yaml"), "\n")
	for number, want := range map[int][]string{
		2:  {`"uid":"u1"`, `"status":"True"`},
		8:  {`"name":"old"`, `"creationTimestamp":"2026-01-01T00:00:00Z"`},
		13: {`"name":"new"`, `"creationTimestamp":"2026-05-01T00:00:00Z"`, `"n":"07"`, `"b":"yes"`, `"port":80`},
	} {
		for _, text := range want {
			if len(lines) < number || !strings.Contains(lines[number-1], text) {
				t.Errorf("line %d has no %s in\n%s", number, text, strings.Join(lines, "\n"))
			}
		}
	}
	if strings.Contains(strings.Join(lines, ""), "forged") {
		t.Error("a uid of the directory is that of no object")
	}
}

func TestApplyReplacesAsAWhole(t *testing.T) {
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"NAME","labels":{"app":"shop"},"annotations":{"track":"shop:x/y"}},"rules":[]}`
	base := part(t, true, map[string]string{"kube:ClusterRole/a": strings.ReplaceAll(role, "NAME", "a"), "kube:ClusterRole/b": strings.ReplaceAll(role, "NAME", "b")})
	applied := part(t, false, map[string]string{"a.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: []\n"})
	for _, row := range []struct {
		prune string
		want  int
	}{
		{"label:app=shop", 1},
		{"label:app=sho*", 0},
		{"annotation:track=shop:*", 1},
		{"annotation:track=*/y", 1},
		{"annotation:track=shop", 0},
		{"annotation:track=*x*x*", 0},
		{"annotation:other=*", 0},
	} {
		prune, err := ParsePrune(row.prune)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Apply(base, applied, []Prune{prune}, time.Now())
		if err != nil || got.Pruned != row.want || got.Replaced != 1 || len(got.Snapshot.Files) != 2-row.want {
			t.Errorf("%s: got %+v, %v, want %d pruned", row.prune, got, err, row.want)
		}
		if file := got.Snapshot.Files[0]; file.Path != "a.yaml" || file.Origin != 1 {
			t.Errorf("got %+v: the applied file stays as it is, of its own origin", file)
		}
	}
}

// A document that cannot be read by two readers alike is not applied.
func TestApplyRefuses(t *testing.T) {
	base := part(t, false, map[string]string{"a.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: []\n"})
	content := &base.Snapshot.Files[0].Content
	*content = source.TextOf(append([]byte("x: {<<: {a: 1}}\n---\n"), content.Bytes()...))
	if _, err := Apply(base, base, nil, time.Now()); err == nil || !strings.Contains(err.Error(), "merge keys") {
		t.Errorf("got %v", err)
	}
}

package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// byLabels are documents whose decision on a deletion depends on the labels of the object, and
// whose decision on a get does not.
const byLabels = `kind: Role
apiVersion: writ.dev/v1
metadata: {name: edit, namespace: master}
rules:
- {verbs: ["*"], resourceKinds: [deployments]}
- {deny: true, verbs: [delete], resourceKinds: [deployments], attributeRestrictions: {labelsContain: [protected]}}
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: edit, namespace: master}
roleRef: {name: edit}
userNames: ["system:serviceaccount:hammer:builder"]
`

// BenchmarkFacts is the webhook over a connection with and without a look-up at an API server,
// which answers at once: what the look-up costs writ, and not the network.
func BenchmarkFacts(b *testing.B) {
	result, list := translator.New(translator.Options{}).Translate(b.Context(), source.Snapshot{Files: []source.File{source.NewFile("p.yaml", []byte(byLabels))}})
	if result == nil {
		b.Fatal(list)
	}
	built, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		b.Fatal(err)
	}
	policies, err := engine.Activate(b.Context(), built, engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	looked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/deployments/web") {
			looked++
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"hammer","labels":{"app":"web"}}}`)
	}))
	defer server.Close()
	handler := func(facts string) http.Handler {
		dir := b.TempDir()
		config := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}", server.URL)
		path := filepath.Join(dir, "clusters.yaml")
		for name, content := range map[string]string{"k.yaml": config, "clusters.yaml": "clusters: [{name: main, kubeconfig: k.yaml, default: true" + facts + "}]"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		clusters, err := cluster.Read(path, cluster.Options{})
		if err != nil {
			b.Fatal(err)
		}
		m := metrics.New()
		return New(Options{Current: serving(cache.New(cache.Options{Entries: 1000}, m).Of(policies)), Metrics: m, Rule: openRule, Clusters: clusters})
	}
	remove := strings.Replace(asked, `"verb":"get"`, `"verb":"delete"`, 1)
	for _, row := range []struct {
		name, facts, review string
		looks               bool
	}{
		{"not-needed", ", facts: [labels]", asked, false},
		{"off", "", remove, false},
		{"looked-up", ", facts: [labels]", remove, true},
	} {
		b.Run(row.name, func(b *testing.B) {
			looked = 0
			benchmarkReview(b, handler(row.facts), row.review)
			if (looked > 0) != row.looks {
				b.Fatalf("got %d look-ups", looked)
			}
		})
	}
}

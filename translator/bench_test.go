package translator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// generated is a directory of n roles and n bindings of both families, in files
// of a hundred roles each.
func generated(n int) source.Snapshot {
	var s source.Snapshot
	const each = 100
	for from := 0; from < n; from += each {
		var text strings.Builder
		for i := from; i < min(n, from+each); i++ {
			writeDocuments(&text, i)
		}
		s.Files = append(s.Files, file(fmt.Sprintf("part-%06d.yaml", from), text.String()))
	}
	return s
}

func writeDocuments(text *strings.Builder, i int) {
	namespace := fmt.Sprintf("ns-%d", i%100)
	if i%2 == 0 {
		fmt.Fprintf(text, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: role-%d
  namespace: %s
rules:
  - apiGroups: [apps]
    resources: [deployments, deployments/scale]
    verbs: [get, list, watch]
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [config-%[1]d]
    verbs: [update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: binding-%[1]d
  namespace: %[2]s
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: role-%[1]d
subjects:
  - kind: User
    name: user-%[1]d
  - kind: Group
    name: group-%[3]d
---
`, i, namespace, i/10)
		return
	}
	fmt.Fprintf(text, `apiVersion: writ.dev/v1
kind: Role
metadata:
  name: role-%d
  namespace: master
rules:
  - verbs: ["*", -delete]
    resourceKinds: [DeploymentConfig, Pod]
  - deny: true
    verbs: [delete]
    resourceKinds: [Secret]
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata:
  name: binding-%[1]d
  namespace: %[2]s
roleRef:
  namespace: master
  name: role-%[1]d
userNames: [user-%[1]d]
groupNames: [group-%[3]d]
---
`, i, namespace, i/10)
}

// file is a file of a snapshot as a source makes it.
func file(path, content string) source.File {
	return source.NewFile(path, []byte(content))
}

func BenchmarkTranslate(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		snapshot := generated(n)
		b.Run(fmt.Sprintf("cold/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustTranslate(b, New(Options{}), snapshot)
			}
		})
		b.Run(fmt.Sprintf("one-changed/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			translator := New(Options{})
			mustTranslate(b, translator, snapshot)
			first := string(snapshot.Files[0].Content.Bytes())
			turn := 0
			for b.Loop() {
				turn++
				changed := source.Snapshot{Files: append([]source.File{
					file(snapshot.Files[0].Path, strings.ReplaceAll(first, "user-0", fmt.Sprintf("user-0-%d", turn))),
				}, snapshot.Files[1:]...)}
				mustTranslate(b, translator, changed)
			}
		})
	}
}

func mustTranslate(tb testing.TB, t *Translator, s source.Snapshot) *Result {
	tb.Helper()
	result, list := t.Translate(context.Background(), s)
	if result == nil {
		tb.Fatalf("%d diagnostics, the first %+v", len(list), list[0])
	}
	return result
}

// BenchmarkPhases is what is done again when one file changes, by phase.
func BenchmarkPhases(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		var documents []syntax.Document
		for _, f := range generated(n).Files {
			some := Kinds().Decode(f.Path, f.Content.Bytes(), syntax.Options{}).Documents
			documents = append(documents, some...)
		}
		p := &phases{families: registered()}
		_, tables, _ := p.lower(documents, directory.Options{})
		b.Run(fmt.Sprintf("lower/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(&phases{families: registered()}).lower(documents, directory.Options{})
			}
		})
		b.Run(fmt.Sprintf("emit/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := p.emit(tables, emit.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

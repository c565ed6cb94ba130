package filters

import (
	"testing"
	"time"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// A filter is kept for equal questions until it ends. Users whom a request without a
// namespace cannot tell apart have filters of their own.
func TestFiltersAreKept(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const rbac = "rbac.authorization.k8s.io"
	documents := []map[string]any{{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "r"},
		"rules": []any{map[string]any{"verbs": []string{"get"}, "apiGroups": []string{""}, "resources": []string{"pods"}}}}}
	for user, namespace := range map[string]string{"u": "a", "v": "b"} {
		metadata := map[string]any{"name": user, "namespace": namespace}
		if user == "v" {
			metadata["annotations"] = map[string]string{"writ.dev/not-after": "2026-01-01T00:01:00Z"}
		}
		documents = append(documents, map[string]any{"apiVersion": rbac + "/v1", "kind": "RoleBinding", "metadata": metadata,
			"roleRef": map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": "r"}, "subjects": []any{map[string]any{"apiGroup": rbac, "kind": "User", "name": user}}})
	}
	c := cache.New(cache.Options{Entries: 100, Now: func() time.Time { return now }}, metrics.New())
	p := activateAt(t, documents, func() time.Time { return now })
	// ask returns the first parameter of a filter, or its kind, and marks the filter.
	ask := func(user, target string, columns any) any {
		t.Helper()
		question := map[string]any{"request": map[string]any{"user": user, "verb": "get", "resource": "pods"}, "columns": columns}
		a, refused := answer(t, c.Of(p), decision.Access, target, question)
		if refused != nil {
			t.Fatal(refused)
		}
		if len(a.Args) == 0 {
			return string(a.Kind)
		}
		found := a.Args[0]
		a.Args[0] = "kept"
		return found
	}
	for _, row := range []struct {
		about, user, target string
		columns             any
		want                any
	}{
		{"a question", "u", "sql+sqlite", nil, "a"},
		{"an equal question", "u", "sql+sqlite", nil, "kept"},
		{"another user", "v", "sql+sqlite", nil, "b"},
		{"a user without bindings", "w", "sql+sqlite", nil, "never"},
		{"another target", "u", "sql+postgresql", nil, "a"},
		{"other columns", "u", "sql+sqlite", map[string]any{"namespace": "ns"}, "a"},
		{"the other user again", "v", "sql+sqlite", nil, "kept"},
	} {
		if got := ask(row.user, row.target, row.columns); got != row.want {
			t.Errorf("%s: got %v, want %v", row.about, got, row.want)
		}
	}
	now = now.Add(time.Minute + time.Second)
	if got := ask("v", "sql+sqlite", nil); got != "never" {
		t.Errorf("after the end of the binding: got %v, want never", got)
	}
	if got := ask("u", "sql+sqlite", nil); got != "kept" {
		t.Errorf("a filter without an end: got %v, want the one that is kept", got)
	}
}

package reach_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

// The gate tries few revisions; make soak tries more, from another seed.
var (
	pairs = flag.Int("pairs", 10, "random revisions")
	seed  = flag.Uint64("seed", 0, "first seed of the revisions")
)

type object = map[string]any

const (
	rbac  = "rbac.authorization.k8s.io"
	certs = "certificates.k8s.io"
)

// maker makes small revisions in which subjects become others.
type maker struct{ *rand.Rand }

func pick[T any](m maker, from ...T) T { return from[m.IntN(len(from))] }

func (m maker) rule() object {
	rule := func(group, resource string, verbs ...string) object {
		out := object{"apiGroups": []string{group}, "resources": []string{resource}, "verbs": []string{pick(m, verbs...)}}
		if m.IntN(4) == 0 {
			out["resourceNames"] = []string{pick(m, "u0", "g0", "sa", "own")}
		}
		return out
	}
	switch m.IntN(12) {
	case 0:
		return rule("", "pods", "create", "patch", "*")
	case 1:
		return rule("apps", "deployments", "create", "update")
	case 2:
		return rule("", pick(m, "pods/exec", "pods/attach", "pods/ephemeralcontainers", "pods/portforward"), "create", "get", "patch")
	case 3:
		return rule("", "serviceaccounts/token", "create")
	case 4:
		return object{"apiGroups": []string{""}, "resources": []string{"secrets"}, "verbs": []string{pick(m, "create", "get"), pick(m, "list", "watch", "get")}}
	case 5:
		return rule("", pick(m, "users", "groups", "serviceaccounts"), "impersonate")
	case 6:
		return object{"apiGroups": []string{""}, "resources": []string{"users", "groups"}, "verbs": []string{"impersonate"}}
	case 7:
		return rule("authentication.k8s.io", pick(m, "users", "serviceaccounts", "groups"), "impersonate:user-info", "impersonate:serviceaccount", "*")
	case 8:
		return object{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{pick(m, "impersonate-on:user-info:create", "impersonate-on:serviceaccount:create")}}
	case 9:
		return object{"apiGroups": []string{certs}, "resources": []string{"certificatesigningrequests", "certificatesigningrequests/approval", "signers"}, "verbs": []string{"create", "update", "approve"}}
	case 10:
		return rule("", "nodes/proxy", "get", "create")
	}
	return rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "create", "patch")
}

func meta(namespace, name string) object {
	if namespace == "" {
		return object{"name": name}
	}
	return object{"namespace": namespace, "name": name}
}

func (m maker) documents() (out []object) {
	for i := range 5 {
		name := fmt.Sprintf("r%d", i)
		out = append(out, object{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": meta("", name), "rules": []object{m.rule(), m.rule()}})
		kind, namespace := "ClusterRoleBinding", ""
		if m.IntN(2) == 0 {
			kind, namespace = "RoleBinding", pick(m, "n0", "n1")
		}
		subject := pick(m,
			object{"kind": "User", "apiGroup": rbac, "name": pick(m, "u0", "u1")},
			object{"kind": "Group", "apiGroup": rbac, "name": pick(m, "g0", "system:serviceaccounts")},
			object{"kind": "ServiceAccount", "namespace": pick(m, "n0", "n1"), "name": "sa"})
		out = append(out, object{"apiVersion": rbac + "/v1", "kind": kind, "metadata": meta(namespace, "b"+name),
			"roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": name}, "subjects": []object{subject}})
	}
	for i := range m.IntN(3) {
		spec := object{"rules": []object{{"verbs": []string{pick(m, "create", "*", "impersonate")}, "apiGroups": []string{pick(m, "", "*", "apps")},
			"resources": []string{pick(m, "pods", "*", "secrets", "users")}, "subresources": []string{pick(m, "*", "")}}}}
		if m.IntN(2) == 0 {
			spec["appliesTo"] = object{"clusters": []string{"prod-*"}}
		}
		out = append(out, object{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": meta("", fmt.Sprintf("d%d", i)), "spec": spec})
	}
	return out
}

func texts(t *testing.T, documents []object) (out []string) {
	t.Helper()
	for _, d := range documents {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// options are those of a revision, whose changes are made to its documents.
func options(t *testing.T, documents []object, side *diff.Side) reach.Options {
	same := func(a, b object) bool {
		return a["apiVersion"] == b["apiVersion"] && a["kind"] == b["kind"] && fmt.Sprint(a["metadata"].(object)["namespace"], a["metadata"].(object)["name"]) == fmt.Sprint(b["metadata"].(object)["namespace"], b["metadata"].(object)["name"])
	}
	return reach.Options{
		World: side.World, Judge: side.Judge, Now: time.Unix(0, 0), Class: reach.Possible, MaxHops: 8, MaxIdentities: 100_000,
		Rebuild: func(_ context.Context, adds, removes []map[string]any) (statement.Judge, error) {
			left := slices.DeleteFunc(slices.Clone(documents), func(d object) bool {
				return slices.ContainsFunc(slices.Concat(adds, removes), func(c object) bool { return same(c, d) })
			})
			return revisions.Of(t, texts(t, append(left, adds...))).Judge, nil
		},
	}
}

// A naive search tries every edge by decisions of the engine. The subjects, administrators and roles
// that it reaches are what is reported, with the same class and as many hops; and nothing else is.
func TestPathsAreThoseOfANaiveSearch(t *testing.T) {
	found, absent := make(map[reach.Class]int), 0
	for n := range *pairs {
		m := maker{rand.New(rand.NewPCG(*seed+uint64(n), 9))}
		documents := m.documents()
		side := revisions.Of(t, texts(t, documents))
		x := &naive{t: t, judge: side.Judge, known: make(map[string]bool), documents: statement.JSONText(documents), accounts: accountsOf(documents), granted: grantedBy(documents)}
		targets := slices.Concat(subjects, slices.Sorted(maps.Keys(administrators)), slices.Sorted(maps.Keys(x.granted)))
		for _, from := range []string{"user:u0", "user:u1", "group:g0", account("n0", "sa")} {
			best := x.search(from)
			o := options(t, documents, side)
			o.From, o.To = []string{from}, targets
			o.Known = subjects
			report, err := reach.Find(t.Context(), o)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", *seed+uint64(n), err, strings.Join(texts(t, documents), "\n"))
			}
			for _, to := range o.To {
				i := slices.IndexFunc(report.Paths, func(p reach.Path) bool { return p.To == to })
				want, isReached := best[to]
				switch {
				case i < 0 && !isReached:
					absent++
				case i < 0:
					t.Fatalf("seed %d: %s reaches %s, %v in %d hops: not reported\n%s", *seed+uint64(n), from, to, want.class, want.hops, strings.Join(texts(t, documents), "\n"))
				case !isReached || report.Paths[i].Class != want.class || len(report.Paths[i].Hops) != want.hops:
					t.Fatalf("seed %d: %s reaches %s: got %s, want %v\n%s", *seed+uint64(n), from, to, statement.JSONText(report.Paths[i]), want, strings.Join(texts(t, documents), "\n"))
				default:
					found[want.class]++
				}
			}
		}
	}
	t.Logf("%v reached, %d not", found, absent)
	if found[reach.Certain] == 0 || found[reach.Assumed] == 0 || found[reach.Possible] == 0 || absent == 0 {
		t.Errorf("%v reached, %d not: the test proves too little", found, absent)
	}
}

// reached returns the pairs of some subjects and all targets that have a path.
func reached(t *testing.T, documents []object) map[string]bool {
	t.Helper()
	o := options(t, documents, revisions.Of(t, texts(t, documents)))
	o.From, o.To = []string{"user:u0", "user:u1", "group:g0", account("n0", "sa")}, append(slices.Clone(subjects), reach.ClusterAdmin)
	o.Known, o.GitOnly = subjects, true
	report, err := reach.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]bool)
	for _, p := range report.Paths {
		if len(p.Hops) > 0 {
			out[p.Subject+" reaches "+p.To] = true
		}
	}
	return out
}

// A deny policy adds no path, a grant takes none away, and what is granted in namespaces alone
// never leads to the administrator of the cluster.
func TestDenialsTakeAndGrantsAddPaths(t *testing.T) {
	fewer, more := 0, 0
	for n := range *pairs {
		m := maker{rand.New(rand.NewPCG(*seed+uint64(n), 10))}
		documents := m.documents()
		before := reached(t, documents)
		deny := object{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": meta("", "more"), "spec": object{"rules": []object{{"verbs": []string{"*"},
			"apiGroups": []string{"*"}, "resources": []string{pick(m, "*", "*", "pods", "secrets", "users")}}}}}
		for p := range reached(t, append(slices.Clone(documents), deny)) {
			if !before[p] {
				t.Errorf("seed %d: %s because of a deny policy", *seed+uint64(n), p)
			}
			fewer--
		}
		fewer += len(before)
		grant := []object{
			{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": meta("", "more"), "rules": []object{m.rule(), m.rule()}},
			{"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": meta("", "more"), "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "more"},
				"subjects": []object{{"kind": "User", "apiGroup": rbac, "name": "u0"}}},
		}
		after := reached(t, append(slices.Clone(documents), grant...))
		for p := range before {
			if !after[p] {
				t.Errorf("seed %d: not any more, because of a grant: %s", *seed+uint64(n), p)
			}
		}
		more += len(after) - len(before)
		local := slices.DeleteFunc(slices.Clone(documents), func(d object) bool { return d["kind"] == "ClusterRoleBinding" })
		for p := range reached(t, local) {
			if strings.HasSuffix(p, " "+reach.ClusterAdmin) {
				t.Errorf("seed %d: %s by grants in namespaces", *seed+uint64(n), p)
			}
		}
	}
	if fewer == 0 || more == 0 {
		t.Errorf("%d paths fewer, %d more: the test proves too little", fewer, more)
	}
}

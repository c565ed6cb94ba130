package kube

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/source"
)

var rules = object{"rules": []any{object{"verbs": []any{"get"}}}}

// read returns the paths of a snapshot, and its diagnostics as "file code".
func read(t *testing.T, s *Source) (snapshot source.Snapshot, paths, diagnostics []string) {
	t.Helper()
	snapshot, list, err := s.Snapshot(t.Context())
	check(t, err)
	for _, f := range snapshot.Files {
		paths = append(paths, f.Path)
	}
	for _, d := range list {
		diagnostics = append(diagnostics, d.Position.String()+" "+string(d.Code)+" "+d.Message)
	}
	return snapshot, paths, diagnostics
}

func wantText(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if joined := strings.Join(got, " "); joined != want {
		t.Errorf("%s: got %q, want %q", what, joined, want)
	}
}

func TestSnapshotHasAllKinds(t *testing.T) {
	a := newAPIServer(t)
	a.served["writ.dev/v1"] = []string{"roles/Role/namespaced"}
	a.set(func() {
		a.put("clusterroles", "", "system:node", rules)
		a.put("clusterroles", "", "a\nb", rules)
		a.put("clusterrolebindings", "", "all", nil)
		a.put("roles", "shop", "view", rules)
	})
	snapshot, paths, diagnostics := read(t, a.open(t, "kube:", nil))
	wantText(t, "paths", paths, `kube:ClusterRole/a\nb kube:ClusterRole/system:node kube:ClusterRoleBinding/all `+
		"kube:Role.writ.dev/shop/view kube:Role/shop/view")
	wantText(t, "diagnostics", diagnostics, "")
	o := snapshot.Origins[0]
	wantText(t, "unserved", o.Unserved, "AuthPolicy.kuadrant.io")
	if !o.Cluster || !snapshot.Files[0].Object {
		t.Error("the snapshot is not that of a cluster")
	}
	want := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","name":"system:node"},"rules":[{"verbs":["get"]}]}`
	if got := string(snapshot.Files[1].Content.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Annotations of writ are dates; all others are not policy.
func TestSnapshotKeepsDates(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() {
		a.put("clusterrolebindings", "", "until", object{"metadata": object{"name": "until", "annotations": object{
			"writ.dev/not-after": "2026-03-01T10:00:00Z", "kubectl.kubernetes.io/last-applied-configuration": "{}",
		}}})
	})
	snapshot, _, _ := read(t, a.open(t, "kube:", nil))
	want := `"metadata":{"annotations":{"writ.dev/not-after":"2026-03-01T10:00:00Z"},"name":"until"}`
	if got := string(snapshot.Files[0].Content.Bytes()); !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSnapshotIsNarrowed(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() {
		a.put("clusterroles", "", "c", rules)
		a.put("roles", "shop", "view", rules)
		a.put("roles", "hammer", "view", rules)
		a.put("rolebindings", "shop", "view", nil)
	})
	for _, row := range []struct{ location, want, diagnostics string }{
		{"kube:?namespace=shop", "kube:ClusterRole/c kube:Role/shop/view kube:RoleBinding/shop/view", ""},
		{"kube:?kinds=Role", "kube:Role/hammer/view kube:Role/shop/view", ""},
		{"kube:?kinds=ClusterRole,Role.rbac.authorization.k8s.io&namespace=hammer", "kube:ClusterRole/c kube:Role/hammer/view", ""},
		{"kube:?kinds=Role.writ.dev,ClusterRole", "kube:ClusterRole/c",
			"kube:Role.writ.dev unknown-kind the API server does not serve Role.writ.dev, which kinds= names"},
	} {
		t.Run(row.location, func(t *testing.T) {
			_, paths, diagnostics := read(t, a.open(t, row.location, nil))
			wantText(t, "paths", paths, row.want)
			wantText(t, "diagnostics", diagnostics, row.diagnostics)
		})
	}
}

// A cluster without a session is not an unmounted volume.
func TestSessionsAloneMayBeEmpty(t *testing.T) {
	const version = "breakglass.t-caas.telekom.com/v1alpha1"
	a := newAPIServer(t)
	a.set(func() {
		a.served[version] = []string{"breakglasssessions/BreakglassSession/namespaced", "debugsessions/DebugSession/namespaced", "denypolicies/DenyPolicy"}
	})
	for location, want := range map[string]bool{
		"kube:":                         false,
		"kube:?kinds=BreakglassSession": true,
		"kube:?kinds=BreakglassSession,DebugSession": true,
		"kube:?kinds=BreakglassSession,DenyPolicy":   false,
		"kube:?kinds=Role":                           false,
	} {
		snapshot, _, diagnostics := read(t, a.open(t, location, func(o *Options) {
			for _, name := range []string{"BreakglassSession", "DebugSession", "DenyPolicy"} {
				o.Kinds = append(o.Kinds, source.Kind{APIVersion: version, Name: name})
			}
		}))
		if got := snapshot.MayBeEmpty(); got != want || len(diagnostics) > 0 {
			t.Errorf("%s: MayBeEmpty = %t with %q, want %t", location, got, diagnostics, want)
		}
	}
}

func TestOpenRejectsUnknownKinds(t *testing.T) {
	_, err := Open(Options{Location: source.KubeLocation{Kinds: []string{"Rol"}}, Kinds: []source.Kind{{APIVersion: rbac, Name: "Role"}}})
	if err == nil || !strings.Contains(err.Error(), `"Rol" is not a kind that writ reads; did you mean "Role"?`) {
		t.Errorf("got %v", err)
	}
}

// What is enforced in another version would be missing silently.
func TestOtherVersionsAreErrors(t *testing.T) {
	a := newAPIServer(t)
	a.served["kuadrant.io/v1beta2"] = []string{"authpolicies/AuthPolicy/namespaced"}
	_, _, diagnostics := read(t, a.open(t, "kube:", nil))
	if len(diagnostics) != 1 || !strings.HasPrefix(diagnostics[0], "kube:AuthPolicy unknown-kind the API server serves AuthPolicy.kuadrant.io in version v1beta2 and not in v1") {
		t.Errorf("got %q", diagnostics)
	}
	a.set(func() { a.served["kuadrant.io/v1"] = a.served["kuadrant.io/v1beta2"] })
	if _, _, diagnostics = read(t, a.open(t, "kube:", nil)); len(diagnostics) != 0 {
		t.Errorf("served in our version as well: got %q", diagnostics)
	}
	a.set(func() {
		delete(a.served, "kuadrant.io/v1")
		a.served["kuadrant.io/v1beta2"] = []string{"kuadrants/Kuadrant/namespaced"}
	})
	if _, _, diagnostics = read(t, a.open(t, "kube:", nil)); len(diagnostics) != 0 {
		t.Errorf("a group with other kinds: got %q", diagnostics)
	}
}

func TestListsAreContinued(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			a.put("clusterroles", "", name, rules)
		}
		a.page = 2
	})
	want := "kube:ClusterRole/a kube:ClusterRole/b kube:ClusterRole/c kube:ClusterRole/d kube:ClusterRole/e"
	_, paths, _ := read(t, a.open(t, "kube:", nil))
	wantText(t, "paths", paths, want)
	if n := a.count("list clusterroles"); n != 3 {
		t.Errorf("got %d pages, want 3", n)
	}
	a.set(func() { a.expire = true })
	_, paths, _ = read(t, a.open(t, "kube:", nil))
	wantText(t, "paths after the token is too old", paths, want)
}

// A source that cannot be read is an error, never an empty source.
func TestUnreadable(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(a *apiServer)
		want   []string
	}{
		{"forbidden", func(a *apiServer) { a.forbidden["list rolebindings"], a.forbidden["list roles"] = true, true }, []string{
			`cannot list resource "rolebindings"; grant the verbs list and watch on resource "rolebindings" of API group "rbac.authorization.k8s.io" in the cluster scope`,
			`cannot list resource "roles"`,
		}},
		{"not ready", func(a *apiServer) { a.unready = true }, []string{"/readyz"}},
		{"gone", func(a *apiServer) { a.gone = true }, []string{"connection refused"}},
		{"an item that is not an object", func(a *apiServer) {
			a.raw["/apis/rbac.authorization.k8s.io/v1/roles"] = `{"kind":"RoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[1]}`
		}, []string{"list roles"}},
		{"an object without a name", func(a *apiServer) {
			a.raw["/apis/rbac.authorization.k8s.io/v1/roles"] = `{"kind":"RoleList","apiVersion":"rbac.authorization.k8s.io/v1","items":[{"metadata":{}}]}`
		}, []string{"an object of kind Role has no name"}},
		{"half a list", func(a *apiServer) {
			a.raw["/apis/rbac.authorization.k8s.io/v1/roles"] = `{"kind":"RoleList","items":[{"meta`
		}, []string{"list roles"}},
		{"half a discovery", func(a *apiServer) { a.raw["/apis"] = `{"groups":[` }, []string{"read /apis"}},
		{"discovery of a group fails", func(a *apiServer) { a.raw["/apis/rbac.authorization.k8s.io/v1"] = `x` }, []string{"read /apis/rbac"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAPIServer(t)
			a.set(func() { row.change(a) })
			_, _, err := a.open(t, "kube:", nil).Snapshot(t.Context())
			for _, want := range row.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() {
		a.put("roles", "shop", "a", rules)
		a.put("roles", "shop", "b", rules)
	})
	for _, limits := range []source.Limits{{MaxEntries: 1}, {MaxBytes: 10}} {
		_, _, diagnostics := read(t, a.open(t, "kube:", func(o *Options) { o.Limits = limits }))
		if len(diagnostics) != 1 || !strings.Contains(diagnostics[0], "too-large") {
			t.Errorf("%+v: got %q", limits, diagnostics)
		}
	}
}

func TestSnapshotEndsInTime(t *testing.T) {
	a := newAPIServer(t)
	a.mu.Lock() // no answer
	s := a.open(t, "kube:", func(o *Options) { o.Timeout = 20 * time.Millisecond })
	_, _, err := s.Snapshot(t.Context())
	a.mu.Unlock()
	if err == nil || !strings.Contains(err.Error(), "no complete answer of the API server within 20ms") {
		t.Errorf("got %v", err)
	}
}

// Annotations by which tools mark what they have applied are kept where they are asked for.
func TestAnnotationsThatAreAskedFor(t *testing.T) {
	object := map[string]any{"metadata": map[string]any{"name": "a", "annotations": map[string]any{"track": "x", "other": "y", "writ.dev/from": "z"}}}
	for want, names := range map[string][]string{
		`{"metadata":{"annotations":{"track":"x","writ.dev/from":"z"},"name":"a"}}`: {"track"},
		`{"metadata":{"annotations":{"writ.dev/from":"z"},"name":"a"}}`:             nil,
	} {
		if text, err := json.Marshal(prune(object, names...)); err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
	}
}

// Sessions are approved and end in their status, and lead to their escalations by owner
// references. Of all other objects the status is not policy.
func TestStatusOfSessionsIsPolicy(t *testing.T) {
	type fields = map[string]any
	owners := []any{fields{"kind": "BreakglassEscalation", "name": "fix", "uid": "u1"}}
	metadata := fields{"name": "s", "uid": "u2", "ownerReferences": owners, "resourceVersion": "7"}
	conditions := []any{fields{"type": "Ready", "status": "False", "lastTransitionTime": "2026-03-01T10:00:00Z"}, fields{"type": "Other"}}
	for _, row := range []struct{ version, kind, want string }{
		{"breakglass.t-caas.telekom.com/v1alpha1", "BreakglassSession",
			`"metadata":{"name":"s","ownerReferences":[{"kind":"BreakglassEscalation","name":"fix","uid":"u1"}],"uid":"u2"},"status":{"state":"Approved"}}`},
		{"breakglass.t-caas.telekom.com/v1alpha1", "DebugSession", `"uid":"u2"},"status":{"state":"Approved"}}`},
		{"breakglass.t-caas.telekom.com/v1alpha1", "BreakglassEscalation", `"uid":"u2"},"status":{"conditions":[{"status":"False","type":"Ready"}]}}`},
		{"breakglass.t-caas.telekom.com/v1alpha1", "DenyPolicy", `"metadata":{"name":"s"}}`},
		{"rbac.authorization.k8s.io/v1", "BreakglassSession", `"metadata":{"name":"s"}}`},
	} {
		text, err := json.Marshal(prune(fields{
			"apiVersion": row.version, "kind": row.kind, "metadata": metadata, "status": fields{"state": "Approved", "conditions": conditions},
		}))
		if err != nil || !strings.HasSuffix(string(text), row.want) {
			t.Errorf("%s: got %s, %v, want the end %s", row.kind, text, err, row.want)
		}
	}
}

package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/assertion"
)

// proveAgain verifies after an edit, and returns how many assertions were proven again.
func proveAgain(t *testing.T, side *diff.Side, list []assertion.Assertion, before *verify.Report, at time.Time) (*verify.Report, int) {
	t.Helper()
	proven := 0
	report, err := verify.Run(t.Context(), &verify.Input{
		Side: side, Assertions: list, Now: at, SetNow: func(time.Time) {}, Before: before, Pause: func() { proven++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	return report, proven
}

func reportText(t *testing.T, report *verify.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// town is documents of several namespaces, each of which an edit replaces.
type town struct {
	writer
	documents []string
	added     int
	shield    [3]string
}

func (w writer) town() *town {
	o := &town{writer: w}
	for i := range 3 {
		o.documents = append(o.documents, o.role(i))
	}
	for i := range 8 {
		o.documents = append(o.documents, o.binding(i))
	}
	o.shield = [3]string{o.Pick("x0", "x1"), o.Pick("x0", "x0", "x7"), "n1"}
	o.documents = append(o.documents, o.shielded())
	return o
}

// shielded is a role that lets a user read secrets everywhere, before another one is denied that
// in a namespace.
func (o *town) shielded() string {
	user, denied, namespace := o.shield[0], o.shield[1], o.shield[2]
	return strings.Join([]string{
		"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: shield}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}",
		"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: shield}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shield}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: " + user + "}]}",
		"{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, rules: [{deny: true, verbs: [get], resourceKinds: [secrets]}]}",
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: " + namespace + "}, roleRef: {namespace: master, name: o}, userNames: [" + denied + "]}",
	}, "\n---\n")
}

func (o *town) role(i int) string {
	return fmt.Sprintf("{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r%d}, rules: [{apiGroups: [%q], resources: [%s], verbs: [%s]}]}",
		i, o.Pick("", "", "shop.example"), o.Pick("pods", "pods", "configmaps", "secrets", "widgets"), o.Pick("get", "get, list", "delete", "paint"))
}

func (o *town) binding(i int) string {
	kind, where := "RoleBinding", fmt.Sprintf(", namespace: n%d", o.IntN(5))
	if o.IntN(8) == 0 {
		kind, where = "ClusterRoleBinding", ""
	}
	return fmt.Sprintf("{kind: %s, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b%d%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r%d}, subjects: [{kind: %s, apiGroup: rbac.authorization.k8s.io, name: x%d}]}",
		kind, i, where, o.IntN(3), o.Pick("User", "Group"), o.IntN(5))
}

// viewer is a visibility policy for a user.
func viewer(name, user string) string {
	return fmt.Sprintf("{kind: MonitorAccessPolicy, apiVersion: clusterpulse.io/v1alpha1, metadata: {name: %s, namespace: ops}, spec: {identity: {subjects: {users: [%s]}}, access: {effect: Allow}, scope: {clusters: {default: all}}}}", name, user)
}

// edit replaces, adds or removes a document.
func (o *town) edit() {
	o.documents = slices.Clone(o.documents)
	switch i := o.IntN(len(o.documents)); {
	case i < 3 && o.IntN(2) == 0:
		o.documents[i] = o.role(i)
	case o.IntN(20) == 0:
		o.added++
		o.documents = append(o.documents, fmt.Sprintf("{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d%d}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [%s]}]}}", o.added, o.Pick("pods", "secrets")))
	case strings.Contains(o.documents[i], "name: shield"):
		at := o.IntN(3)
		o.shield[at] = o.Pick("x0", "x1", "x7")
		if at == 2 {
			o.shield[at] = o.Pick("n1", "n2", "master")
		}
		o.documents[i] = o.shielded()
	case o.IntN(10) == 0:
		o.added++
		o.documents = append(o.documents, viewer(fmt.Sprint("v", o.added), fmt.Sprint("x", o.IntN(7))))
	case o.IntN(4) == 0:
		o.added++
		o.documents = append(o.documents, o.binding(100+o.added))
	case i > 2 && o.IntN(4) == 0 && len(o.documents) > 6:
		o.documents = slices.Delete(o.documents, i, i+1)
	case i > 2:
		o.added++
		o.documents[i] = o.binding(100 + o.added)
	}
}

// assertions returns some that mostly hold.
func (o *town) assertions(n int) []byte {
	var list []any
	who := func() string { return o.Pick("user:x", "group:x") + fmt.Sprint(o.IntN(6)) }
	for i := range n {
		stranger := o.Pick("user:x7", "group:xx", "user:x")
		of := object{"namespace": fmt.Sprint("n", o.IntN(6)), "resource": o.Pick("pods", "secrets", "configmaps", "widgets.shop.example", "nodes"), "verb": o.Pick("get", "delete", "update", "paint", "list")}
		if o.IntN(4) == 0 {
			delete(of, o.Pick("namespace", "resource", "verb"))
		}
		a := object{"name": fmt.Sprint("a", i), "of": of}
		switch o.IntN(11) {
		case 9:
			a["always"], a["allow"], of["holds"] = "allowed", []any{"vacuous"}, stranger
		case 10:
			a[o.Pick("never", "always")] = "allowed"
			of["holds"] = o.pickHolds(who)
		case 0:
			a["implies"] = []any{who(), who()}
		case 1:
			a["within"] = []any{object{"verbs": []any{"get", "list"}, "apiGroups": []any{"*"}, "resources": []any{"*"}}}
		case 2:
			a["disjoint"], a["alone"] = []any{object{"verb": "delete"}, object{"verb": o.Pick("paint", "get")}}, true
			delete(of, "verb")
		case 3:
			a["never"], of["holds"] = "allowed", object{"only": who()}
		case 4:
			a["never"] = "denied"
			if o.IntN(2) == 0 {
				a["of"] = object{"namespace": o.Pick("n1", "n1", "n2"), "verb": "get", "resource": o.Pick("secrets", "secrets", "pods"), "holds": object{"only": o.Pick("user:x0", "user:x1")}}
			}
		default:
			a["never"], a["unless"] = "allowed", object{"holds": []any{who(), who(), who()}}
		}
		list = append(list, a)
	}
	text, err := json.Marshal(object{"apiVersion": "writ.dev/v1", "kind": "Assertions", "metadata": object{"name": "d"}, "spec": object{"assertions": list}})
	if err != nil {
		panic(err)
	}
	return text
}

// pickHolds returns a condition on principals, with or without patterns, on the named ones among
// others.
func (o *town) pickHolds(who func() string) any {
	only := object{"only": []any{who(), who()}}
	switch o.IntN(4) {
	case 0:
		return []any{only, object{"prefix": o.Pick("user:x", "user:x1", "group:y")}}
	case 1:
		return object{"not": only}
	case 2:
		return object{"like": o.Pick("user:x*", "user:?1")}
	}
	return only
}

// After random edits, one upon the other, the verdicts are those of a whole run.
func TestAgainIsAWholeRun(t *testing.T) {
	edits := max(20, gate.Times(4))
	kept, all := 0, 0
	for n := uint64(0); edits > 0; n++ {
		o := writer{revisions.Random{Rand: rand.New(rand.NewPCG(gate.Seed()+n, 11))}}.town()
		text := o.assertions(20)
		list := decoded(t, text)
		report := run(t, revisions.Of(t, o.documents), list)
		for step := 0; step < 10 && edits > 0; step++ {
			edits--
			o.edit()
			if o.IntN(5) == 0 {
				list = slices.Clone(list)
				i := o.IntN(len(list))
				list[i] = decoded(t, o.assertions(len(list)))[i]
			}
			side := revisions.Of(t, o.documents)
			whole := run(t, side, list)
			again, proven := proveAgain(t, side, list, report, now)
			kept, all = kept+len(list)-proven, all+len(list)
			if got, want := reportText(t, again), reportText(t, whole); got != want {
				t.Fatalf("seed %d, step %d: after an edit the verdicts are not those of a whole run\n%s\n---\n%s\n%s\n%s",
					gate.Seed()+n, step, got, want, text, strings.Join(o.documents, "\n"))
			}
			report = again
		}
	}
	if kept*8 < all {
		t.Errorf("%d of %d are not proven again: the test shows too little", kept, all)
	}
	t.Logf("%d of %d are not proven again", kept, all)
}

// An edit proves again only what it can reach.
func TestAgainProvesWhatAnEditReaches(t *testing.T) {
	binding := func(namespace, user string) string {
		return fmt.Sprintf("{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b, namespace: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}]}", namespace, user)
	}
	role := func(verbs string) string {
		return "{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: view}, rules: [{apiGroups: [''], resources: [pods], verbs: [" + verbs + "]}]}"
	}
	list := decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
		{"name": "shop", "never": "allowed", "of": {"verb": "delete", "resource": "pods", "namespace": "shop"}},
		{"name": "lab", "never": "allowed", "of": {"verb": "delete", "resource": "pods", "namespace": "lab"}},
		{"name": "reads of lab", "never": "allowed", "of": {"verb": "get", "resource": "pods", "namespace": "lab"}, "unless": {"holds": ["user:ann", "user:bob", "user:eve"]}},
		{"name": "secrets", "never": "allowed", "of": {"resource": "secrets"}},
		{"name": "eve", "never": "allowed", "of": {"holds": {"only": "user:eve"}, "resource": "secrets"}, "allow": ["vacuous"]}]}}`))
	of := func(documents ...string) *diff.Side {
		return revisions.Of(t, append(documents, viewer("u", "bob")))
	}
	first := of(role("get"), binding("shop", "ann"), binding("lab", "bob"))
	before := run(t, first, list)
	for _, row := range []struct {
		name string
		side *diff.Side
		at   time.Time
		want int // with "eve", which is vacuous, where that is known
	}{
		{"nothing", first, now, 0},
		{"a binding in lab", of(role("get"), binding("shop", "ann"), binding("lab", "ann")), now, 2},
		{"a new principal", of(role("get"), binding("shop", "eve"), binding("lab", "bob")), now, 3},
		{"a verb of the role", of(role("get, delete"), binding("shop", "ann"), binding("lab", "bob")), now, 3},
		{"the time, without dates", first, now.Add(time.Hour), 0},
		{"what a known principal sees", of(role("get"), binding("shop", "ann"), binding("lab", "bob"), viewer("v", "ann")), now, 0},
		{"what a new principal sees", of(role("get"), binding("shop", "ann"), binding("lab", "bob"), viewer("v", "eve")), now, 5},
	} {
		report, proven := proveAgain(t, row.side, list, before, row.at)
		whole, _ := proveAgain(t, row.side, list, nil, row.at)
		if proven != row.want || !bytes.Equal([]byte(reportText(t, report)), []byte(reportText(t, whole))) {
			t.Errorf("%s: %d proven again, want %d\n%s", row.name, proven, row.want, reportText(t, report))
		}
	}
}

// What holds because nothing denies is kept until something may; what holds because what is denied
// is allowed before is proven again without what allows it.
func TestAgainOfDenials(t *testing.T) {
	o := writer{revisions.Random{Rand: rand.New(rand.NewPCG(1, 1))}}.town()
	list := decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
		{"name": "shielded", "never": "denied", "of": {"verb": "get", "resource": "secrets", "namespace": "n1", "holds": {"only": "user:x0"}}},
		{"name": "quiet", "never": "denied", "of": {"verb": "get", "resource": "secrets", "namespace": "n2", "holds": {"only": "user:x0"}}}]}}`))
	of := func(user, namespace string) *diff.Side {
		o.shield = [3]string{user, "x0", namespace}
		return revisions.Of(t, []string{o.shielded(), viewer("u", "x0"),
			"{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b, namespace: n2}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shield}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: x1}]}"})
	}
	before := run(t, of("x0", "n1"), list)
	for _, row := range []struct {
		name            string
		side            *diff.Side
		proven          int
		shielded, quiet string
	}{
		{"nothing", of("x0", "n1"), 0, verify.Holds, verify.Holds},
		{"another user is allowed", of("x1", "n1"), 1, verify.Fails, verify.Holds},
		{"denied everywhere", of("x0", "master"), 2, verify.Fails, verify.Fails},
	} {
		report, proven := proveAgain(t, row.side, list, before, now)
		if got := [2]string{report.Assertions[0].Verdict, report.Assertions[1].Verdict}; proven != row.proven || got != [2]string{row.shielded, row.quiet} {
			t.Errorf("%s: %d proven again, verdicts %s; want %d, %s and %s", row.name, proven, got, row.proven, row.shielded, row.quiet)
		}
	}
}

package companion

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/tests/gate"
)

// reviewed is the answer to the review of a write while a companion is in force. With facts it
// states the labels and the node of an object that exists.
func (w *write) reviewed(t *testing.T, p decision.Policies, c *companion.Companion, facts bool) (d decision.Decision, isDeferred bool) {
	t.Helper()
	r := w.ask()
	if spec, _ := w.before["spec"].(map[string]any); facts && w.before != nil && w.verb != "deletecollection" {
		r.Labels = labelsOf(w.before)
		if node, ok := spec["nodeName"].(string); ok && w.resource == "pods" && node != "" {
			r.Attributes = map[string]any{decision.AttributePodNode: node}
		}
	}
	strict := p.Access(t.Context(), r)
	if by, ok := access.Defer(t.Context(), p, c, r, &strict); ok {
		return by, true
	}
	return strict, false
}

// possible are the decisions on a write for all objects, by the values that the documents of
// draw compare.
func (w *write) possible(t *testing.T, p decision.Policies) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	w.couldBe(t, p, func(d string) bool {
		out[d] = true
		return len(out) == 3
	})
	return out
}

// The review and the companion together never let a write pass that the decision on the object
// denies, or one that the review allowed for other objects only. Where the companion has every
// condition, the review is deferred exactly if the object decides.
func TestDeferring(t *testing.T) {
	counts := map[string]int{}
	for seed := range 4 + 4*gate.Effort() {
		d := draw{rand.New(rand.NewPCG(uint64(seed), 11))}
		documents := d.documents()
		p := activate(t, documents)
		c := companion.Make(statement.NewWorld(*p.Tables()), companion.Options{Cluster: cluster})
		a := newAdmission(t, c)
		for i := range 100 {
			w := d.write()
			counts["writes"]++
			facts := i%4 == 1
			by, isDeferred := w.reviewed(t, p, c, facts)
			answer, on := outcome(t, by), w.onObject(t, p)
			refused := a.refuses(w)
			fail := func(what string) {
				t.Helper()
				t.Errorf("seed %d: %s\n%s\nreview %s (%v, %s), on the object %s, refused %v\nrefusals %v\n%s", seed, what,
					encode(map[string]any{"user": w.user, "groups": w.groups, "request": w.request(), "verb": w.verb, "before": w.before, "after": w.after, "namespace": w.namespaceLabels}),
					answer, isDeferred, by.Reason, on, shortened(refused), c.Refused, encode(documents))
			}
			if isDeferred {
				counts["deferred, "+answer]++
			}
			if isDeferred && facts {
				counts["with facts"]++
			}
			passes := answer != denied && len(refused) == 0
			switch {
			case passes && on == denied && (isDeferred || len(c.Refused) == 0):
				fail("passes, and is denied")
			case passes && answer == allowed && isDeferred && on != allowed:
				fail("allowed for other objects, and passes")
			case isDeferred && len(refused) > 0 && on == allowed:
				fail("refused, and allowed")
			case isDeferred && len(refused) > 0:
				counts["refused"]++
			case isDeferred:
				counts["passes"]++
			}
			if len(c.Refused) == 0 && i%4 == 0 {
				w.compare(t, p, isDeferred, answer, counts, fail)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Log(counts)
	for name, least := range map[string]int{"deferred, allowed": 20, "deferred, none": 200, "refused": 20, "passes": 50, "as all objects": 50, "with facts": 200} {
		if counts[name] < counts["writes"]/least {
			t.Errorf("got %d writes of %q of %d: the test says little", counts[name], name, counts["writes"])
		}
	}
}

// shortened are messages without the expressions.
func shortened(messages []string) (out []string) {
	for _, m := range messages {
		first, _, _ := strings.Cut(m, "\n")
		out = append(out, first)
	}
	return out
}

// compare compares the answer to a review with the decisions for all objects.
func (w *write) compare(t *testing.T, p decision.Policies, isDeferred bool, answer string, counts map[string]int, fail func(string)) {
	t.Helper()
	all := w.possible(t, p)
	want := answer
	switch {
	case all[allowed]:
		want = allowed
	case all[none]:
		want = none
	case all[denied]:
		want = denied
	}
	switch {
	case answer == want:
		counts["as all objects"]++
	case isDeferred && answer == allowed && all[none] && !all[allowed], isDeferred && all[denied] && len(all) == 1:
		counts["conditions that exclude each other"]++ // the companion refuses every object
	default:
		fail(fmt.Sprintf("the review is not what it is for all objects: %v", all))
	}
}

// What the companion lacks, or does not know of, makes a review strict: each row is a world that
// is deferred but for one thing.
func TestReviewsThatStayStrict(t *testing.T) {
	const group = "breakglass.t-caas.telekom.com/v1alpha1"
	tier, protected := object{"labelsContain": []string{"tier"}}, object{"labelsContain": []string{"protected"}}
	bound := func(name, user string, rule object) []map[string]any {
		return []map[string]any{role(name, rule), bind(name, "shop", user)}
	}
	kinds, all := []string{"ConfigMap", "Pod"}, []string{"*"}
	gold := bound("gold", "ann", rules(all, kinds, false, tier))
	with := func(more ...[]map[string]any) (out []map[string]any) {
		for _, documents := range append(more, gold) {
			out = append(out, documents...)
		}
		return out
	}
	edited := func(documents []map[string]any, at int, edit func(map[string]any)) []map[string]any {
		edit(documents[at])
		return documents
	}
	names := func(more object) []map[string]any {
		spec := object{"rules": []any{object{"verbs": []string{"create"}, "apiGroups": []string{""}, "resources": []string{"configmaps"}, "resourceNames": []string{"db-*"}}}}
		maps.Copy(spec, more)
		return []map[string]any{{"apiVersion": group, "kind": "DenyPolicy", "metadata": object{"name": "p"}, "spec": spec}}
	}
	session := func(granted string) []map[string]any {
		return []map[string]any{{"apiVersion": group, "kind": "BreakglassSession", "metadata": object{"name": "s", "namespace": "b"}, "spec": object{"cluster": cluster, "user": "ann", "grantedGroup": granted},
			"status": object{"state": "Approved", "approvedAt": "2020-01-01T00:00:00Z", "expiresAt": "2222-01-01T00:00:00Z"}}}
	}
	lent := edited(bound("lent", "bob", rules(all, kinds, true, protected)), 1, func(b map[string]any) { b["groupNames"] = []string{"oncall"} })
	masters := edited(bound("lent", "bob", rules(all, kinds, true, protected)), 1, func(b map[string]any) { b["groupNames"] = []string{"system:masters"} })
	node := func(names ...string) []map[string]any {
		documents := bound("node", "system:node:n1", rules(all, []string{"Pod"}, false, object{"kind": "sameMinionRestriction"}))
		documents[1]["userNames"] = append([]string{"system:node:n1"}, names...)
		return documents
	}
	for _, row := range []struct {
		name       string
		documents  []map[string]any
		w          write
		extra      string // the node of the user
		options    companion.Options
		isDeferred bool
	}{
		{name: "printed", documents: gold, w: write{verb: "delete"}, isDeferred: true},
		{name: "with a denial", documents: with(bound("no", "ann", rules(all, kinds, true, protected))), w: write{verb: "update"}, isDeferred: true},
		{name: "cel that denies nothing yet", documents: with(bound("no", "ann", rules(all, kinds, true, object{"kind": "cel", "expression": `request.user == "x"`}))), w: write{verb: "update"}},
		{name: "an index", documents: with(bound("no", "ann", rules([]string{"update"}, kinds, true, object{"fieldsMutatable": []string{"spec.x[0]"}}))), w: write{verb: "update"}},
		{name: "an index, of an operation besides", documents: with(bound("no", "ann", rules([]string{"update"}, kinds, true, object{"fieldsMutatable": []string{"spec.x[0]"}}))), w: write{verb: "delete"}, isDeferred: true},
		{name: "patch apart", documents: with(bound("no", "ann", rules([]string{"patch"}, kinds, true, protected))), w: write{verb: "patch"}},
		{name: "delete apart", documents: bound("gold", "ann", rules([]string{"deletecollection"}, kinds, false, tier)), w: write{verb: "deletecollection"}},
		{name: "dated", documents: edited(bound("gold", "ann", rules(all, kinds, false, tier)), 1, func(b map[string]any) { b["notAfter"] = "2222-01-01T00:00:00Z" }), w: write{verb: "delete"}},
		{name: "a dated denial for every object", documents: with(edited(bound("no", "ann", rules(all, kinds, true, nil)), 1, func(b map[string]any) { b["notAfter"] = "2222-01-01T00:00:00Z" })), w: write{verb: "delete"}},
		{name: "names of new objects", documents: with(names(nil)), w: write{verb: "create"}, isDeferred: true},
		{name: "names, of sessions", documents: with(names(object{"appliesTo": object{"sessions": []string{"x*"}}}), session("other")), w: write{verb: "create"}},
		{name: "names, of sessions, of an object that exists", documents: with(names(object{"appliesTo": object{"sessions": []string{"x*"}}}), session("other")), w: write{verb: "update"}, isDeferred: true},
		{name: "too many subjects", documents: gold, w: write{verb: "delete"}, options: companion.Options{MaxSubjects: -1}},
		{name: "without a session", documents: with(lent), w: write{verb: "delete"}, isDeferred: true},
		{name: "a session of another group", documents: with(lent, session("other")), w: write{verb: "delete"}, isDeferred: true},
		{name: "a session", documents: with(lent, session("oncall")), w: write{verb: "delete"}},
		{name: "a session of a group that is left out", documents: with(masters, session("system:masters")), w: write{verb: "delete"}},
		{name: "a node", documents: node(), w: write{user: "system:node:n1", verb: "update", resource: "pods"}, isDeferred: true},
		{name: "a node that says so", documents: node(), w: write{user: "system:node:n1", verb: "update", resource: "pods"}, extra: "n1", isDeferred: true},
		{name: "a node that says another", documents: node(), w: write{user: "system:node:n1", verb: "update", resource: "pods"}, extra: "n2"},
		{name: "a user who is not a node", documents: node("ann"), w: write{user: "system:node:n1", verb: "update", resource: "pods"}},
		{name: "a scale", documents: gold, w: write{verb: "update", sub: "scale"}},
		{name: "a read", documents: gold, w: write{verb: "get"}},
		{name: "a review", documents: bound("gold", "ann", rules(all, all, false, object{"fieldsMutatable": []string{"spec"}})), w: write{verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews"}},
		{name: "an admission policy", documents: bound("gold", "ann", rules(all, all, false, tier)), w: write{verb: "delete", group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicybindings"}},
		{name: "a cluster-scoped object", documents: []map[string]any{role("all", rules(all, all, false, tier)), bind("all", "master", "ann")}, w: write{verb: "delete", resource: "nodes"}, isDeferred: true},
	} {
		p := activate(t, row.documents)
		row.options.Cluster = cluster
		c := companion.Make(statement.NewWorld(*p.Tables()), row.options)
		w := row.w
		w.user, w.resource, w.name, w.before = cmp.Or(w.user, "ann"), cmp.Or(w.resource, "configmaps"), "web", object{"metadata": object{}}
		if w.resource != "nodes" {
			w.in = "shop"
		}
		r := w.ask()
		if row.extra != "" {
			r.Attributes = map[string]any{decision.AttributeNode: row.extra}
		}
		strict := p.Access(t.Context(), r)
		if by, isDeferred := access.Defer(t.Context(), p, c, r, &strict); isDeferred != row.isDeferred {
			t.Errorf("%s: got deferred %v (%s), strictly %s, refusals %v", row.name, isDeferred, by.Reason, strict.Reason, c.Refused)
		} else if isDeferred && (!by.Deferred || strict.Deferred || strict.Allowed) {
			t.Errorf("%s: the strict decision must stay as it is", row.name)
		}
	}
}

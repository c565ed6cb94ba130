package mutants_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/mutants"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

const policy = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: read}, rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [settings], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: read, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}
`

const (
	secrets = `    - {name: no secrets, never: allowed, of: {resource: secrets}}` + "\n"
	exact   = `    - {name: exactly, equals: [{verbs: [get], apiGroups: [""], resources: [configmaps], resourceNames: [settings], namespaces: [shop]}], of: {holds: {only: "group:dev"}}}` + "\n"
	idle    = `    - {name: no nodes, never: allowed, of: {resource: nodes, verb: patch, name: n}, allow: [vacuous]}` + "\n"
)

// score tries all mutants of the policy with assertions.
func score(t *testing.T, list string) *mutants.Report {
	t.Helper()
	return scoreOf(t, policy, settings.Settings{}, list)
}

// scoreOf is score of a policy under settings.
func scoreOf(t *testing.T, policy string, s settings.Settings, list string) *mutants.Report {
	t.Helper()
	at := time.Unix(0, 0)
	now := func() time.Time { return at }
	var snapshot source.Snapshot
	for _, f := range [][2]string{{"assert.yaml", "apiVersion: writ.dev/v1\nkind: Assertions\nmetadata: {name: d}\nspec:\n  assertions:\n" + list}, {"policy.yaml", policy}} {
		snapshot.Files = append(snapshot.Files, source.NewFile(f[0], []byte(f[1])))
	}
	c := &assertions.Compiler{Settings: s, Activate: func(ctx context.Context, b *bundles.Bundle) (*diff.Side, error) {
		e, err := engine.Activate(ctx, b, engine.Options{Now: now})
		if err != nil {
			return nil, err
		}
		return &diff.Side{World: statement.Of(e), Judge: judge.Of(e)}, nil
	}}
	result, diagnostics := translator.New(translator.Options{Settings: s}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(diagnostics)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	side, err := c.Activate(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	set := assertions.Of(result.Directory.Documents(), snapshot, c.Compile)
	setNow := func(to time.Time) { at = to }
	before, err := set.Verify(t.Context(), side, nil, at, setNow)
	if err != nil {
		t.Fatal(err)
	}
	if before.Fails() {
		t.Fatalf("%+v", before.Assertions)
	}
	report, err := mutants.Run(t.Context(), &mutants.Options{
		Snapshot: snapshot, Side: side, Documents: result.Directory.Documents(), Set: set, Before: before, Compile: c.Compile, N: 1000, Seed: 1, Now: at, SetNow: setNow,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// An assertion more is noticed in the score; one that notices nothing is idle; each survivor
// has what an assertion would need.
func TestScore(t *testing.T) {
	few := score(t, secrets+idle)
	if few.Killed == 0 || few.Survived == 0 || few.Score == nil || few.Drawn != few.Sites || !slices.Equal(few.Idle, []string{"d/no nodes"}) {
		t.Fatalf("got %+v", few)
	}
	if few.Killed+few.Survived+few.DoesNotCompile+few.Equivalent+few.Undecided != few.Drawn {
		t.Errorf("the counts of %+v are not those of all mutants", few)
	}
	operators := make(map[string]bool)
	for _, s := range few.Survivors {
		operators[s.Operator] = true
		if !strings.HasPrefix(s.Source, "policy.yaml:") || s.Text == "" || s.Title == "" || len(s.Witness) == 0 || len(s.Class) == 0 {
			t.Errorf("a survivor lacks something: %+v", s)
		}
	}
	if !operators["names-dropped"] || !operators["verb-added"] {
		t.Errorf("got the survivors %v", operators)
	}
	more := score(t, secrets+exact)
	if *more.Score <= *few.Score || len(more.Idle) != 0 {
		t.Errorf("one assertion more: from %v to %v, idle %v", *few.Score, *more.Score, more.Idle)
	}
	one, err := json.Marshal(few)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(score(t, secrets+idle))
	if err != nil || string(one) != string(again) {
		t.Errorf("two runs differ:\n%s\n%s", one, again)
	}
}

// A binding is widened to the master namespace, whatever its name is and however it names a role
// of there.
func TestBindingsAreWidenedToTheMasterNamespace(t *testing.T) {
	const role = `{apiVersion: writ.dev/v1, kind: Role, metadata: {name: read, namespace: root}, rules: [{verbs: [get], resourceKinds: [configmaps]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: read, namespace: shop}, groupNames: [dev], `
	for _, reference := range []string{"roleRef: {namespace: root, name: read}}\n", "roleName: read, referencesGlobalRole: true}\n"} {
		report := scoreOf(t, role+reference, settings.Settings{settings.MasterNamespace: {Text: "root"}}, idle)
		if !slices.ContainsFunc(report.Survivors, func(s mutants.Survivor) bool { return s.Operator == "binding-widened" }) {
			t.Errorf("%s: got %+v, want a binding in the master namespace", reference, report.Survivors)
		}
	}
}
